// The pages of docs/ and the README: links lead somewhere, and a tutorial's twin in another language
// has the same commands and figures.

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.h"

namespace lookback {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = LOOKBACK_SOURCE_DIR;

std::vector<fs::path> pages() {
  std::vector<fs::path> out = {kRoot / "README.md", kRoot / "examples/pytorch/README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") out.push_back(entry.path());
  return out;
}

/// Without fenced blocks, where a lambda looks like a link.
std::string prose(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```"))
      code = !code;
    else if (!code)
      out += line + "\n";
  }
  return out;
}

/// What stands in round brackets after square ones, anchors and addresses left out.
std::vector<std::string> links(const std::string& page) {
  std::vector<std::string> out;
  const std::string text = prose(page);
  const std::regex link(R"(\]\(([^)#\s]+)[^)]*\))");
  for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at)
    if ((*at)[1].str().find("://") == std::string::npos) out.push_back((*at)[1].str());
  return out;
}

/// Links that lead nowhere.
std::vector<std::string> broken(const fs::path& folder, const std::string& text) {
  std::vector<std::string> out;
  for (const std::string& link : links(text))
    if (!fs::exists(folder / link)) out.push_back(link);
  return out;
}

/// Lines that are indented as code is.
std::vector<std::string> commands(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("    ")) out.push_back(line);
  return out;
}

std::vector<std::string> figures(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string& link : links(text))
    if (link.ends_with(".svg")) out.push_back(link);
  return out;
}

TEST(Docs, EveryLinkLeadsSomewhere) {
  for (const fs::path& page : pages())
    EXPECT_EQ(broken(page.parent_path(), read_file(page.string())), std::vector<std::string>{})
        << page;
  EXPECT_EQ(broken(kRoot, "[a](README.md#words) [b](gone.md) ![c](docs/gone.svg \"title\")"),
            (std::vector<std::string>{"gone.md", "docs/gone.svg"}));
}

TEST(Docs, TheTutorialsTwinHasTheSameCommandsAndFigures) {
  std::string english = read_file((kRoot / "docs/tutorial.md").string()),
              chinese = read_file((kRoot / "docs/tutorial.zh.md").string());
  EXPECT_EQ(commands(english), commands(chinese));
  EXPECT_EQ(figures(english), figures(chinese));
  EXPECT_GT(commands(english).size(), 20u);
}

/// Placeholders that a writer meant to fill.
TEST(Docs, NothingIsLeftToFill) {
  for (const fs::path& page : pages())
    EXPECT_EQ(read_file(page.string()).find("@@"), std::string::npos) << page;
}

}  // namespace
}  // namespace lookback
