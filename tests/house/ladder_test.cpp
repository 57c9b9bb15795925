// Holds the shape of the source tree: which folder includes which, where each outside library comes
// in, how long a file may grow. The checks are functions over (path, text) pairs, so that made-up
// bad trees show that they can fail.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace lookback {
namespace {

/// Path from the root of the project, with forward slashes, and the whole text.
struct Source {
  std::string path;
  std::string text;
};

/// One sentence each; empty when all is well.
using Complaints = std::vector<std::string>;

const std::vector<std::string> kLadder = {"core",  "autograd", "nn", "models",
                                          "train", "study",    "cli"};
constexpr size_t kMostLines = 450;

/// An outside library: what its includes begin with, the path that its one file (or folder, with a
/// slash at the end) begins with, and whether that must be a single file.
struct Library {
  std::string include;
  std::string home;
  bool one_file;
};

const std::vector<Library> kLibraries = {
    {"dnnl", "core/gemm", true},
    {"oneapi/dnnl", "core/gemm", true},
    {"yaml-cpp/", "core/config", true},
    {"spdlog/", "core/log", true},
    {"nlohmann/", "core/json.h", true},
    {"fmt/", "core/error.h", true},
    {"CLI/", "cli/", false},
    {"hwy/", "core/kernels/", false},
    {"gtest/", "tests/", false},
    {"gmock/", "tests/", false},
    {"benchmark/", "bench/", false},
};

bool is_header(std::string_view path) {
  return path.ends_with(".h");
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

/// Rung of a folder on the ladder: 0 for core; -1 for what is not on it.
int rung(const std::string& folder) {
  auto found = std::find(kLadder.begin(), kLadder.end(), folder);
  return found == kLadder.end() ? -1 : static_cast<int>(found - kLadder.begin());
}

struct Include {
  std::string name;
  bool quoted;
  size_t line;
};

/// Every #include of a file, also those with blanks in unusual places.
std::vector<Include> includes(const std::string& text) {
  std::vector<Include> found;
  std::istringstream lines(text);
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    std::string_view rest = line;
    auto skip_blanks = [&rest] {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    };
    auto skip = [&](std::string_view word) {
      skip_blanks();
      if (!rest.starts_with(word)) return false;
      rest.remove_prefix(word.size());
      return true;
    };
    if (!skip("#") || !skip("include")) continue;
    skip_blanks();
    if (rest.empty() || (rest.front() != '"' && rest.front() != '<')) continue;
    bool quoted = rest.front() == '"';
    rest.remove_prefix(1);
    found.push_back({std::string(rest.substr(0, rest.find(quoted ? '"' : '>'))), quoted, number});
  }
  return found;
}

std::string place(const Source& source, const Include& include) {
  return source.path + ":" + std::to_string(include.line) + ": includes " + include.name;
}

/// A folder of the ladder includes itself and the folders above it, and names them from the root.
Complaints climbing_includes(const std::vector<Source>& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    int own = rung(folder_of(source.path));
    if (own < 0) continue;
    for (const Include& include : includes(source.text)) {
      int other = include.name.find('/') == std::string::npos ? -1 : rung(folder_of(include.name));
      if (other > own) {
        complaints.push_back(place(source, include) + ", which stands below " + kLadder[own]);
      } else if (other < 0 && include.quoted) {
        complaints.push_back(place(source, include) +
                             ", which is not a path from the root into a folder of the ladder");
      }
    }
  }
  return complaints;
}

/// Each outside library is included at its home only, and by one file where that is the rule.
Complaints strayed_libraries(const std::vector<Source>& sources) {
  Complaints complaints;
  std::map<std::string, std::set<std::string>> users;  // home -> files that include the library
  for (const Source& source : sources) {
    for (const Include& include : includes(source.text)) {
      for (const Library& library : kLibraries) {
        if (!include.name.starts_with(library.include)) continue;
        if (!source.path.starts_with(library.home)) {
          complaints.push_back(place(source, include) + ", which belongs to " + library.home);
        } else if (library.one_file) {
          users[library.home].insert(source.path);
        }
      }
    }
  }
  for (const auto& [home, files] : users) {
    if (files.size() == 1) continue;
    std::string complaint = "the library of " + home + " is included by more than one file:";
    for (const std::string& file : files) complaint += " " + file;
    complaints.push_back(complaint);
  }
  return complaints;
}

/// No source outside of tests grows beyond kMostLines.
Complaints long_files(const std::vector<Source>& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (source.path.starts_with("tests/")) continue;
    size_t lines = std::count(source.text.begin(), source.text.end(), '\n');
    if (!source.text.empty() && source.text.back() != '\n') ++lines;
    if (lines > kMostLines) {
      complaints.push_back(source.path + " has " + std::to_string(lines) + " lines; at most " +
                           std::to_string(kMostLines) + ", one idea a file");
    }
  }
  return complaints;
}

/// Every header begins with #pragma once; -inl.h files, which Highway includes once per processor
/// target, are the exception.
Complaints unguarded_headers(const std::vector<Source>& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (!is_header(source.path) || source.path.ends_with("-inl.h")) continue;
    if (source.text != "#pragma once" && !source.text.starts_with("#pragma once\n")) {
      complaints.push_back(source.path + " does not begin with #pragma once");
    }
  }
  return complaints;
}

std::string joined(const Complaints& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += complaint + "\n";
  return text;
}

/// Every .h and .cpp of the project's own folders; what lies in build folders is not the project's.
const std::vector<Source>& project() {
  static const std::vector<Source> sources = [] {
    std::vector<Source> found;
    const std::filesystem::path root = LOOKBACK_SOURCE_DIR;
    std::vector<std::string> folders = kLadder;
    folders.insert(folders.end(), {"tests", "bench", "examples"});
    for (const std::string& folder : folders) {
      if (!std::filesystem::is_directory(root / folder)) continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
        std::string extension = entry.path().extension().string();
        if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        found.push_back({entry.path().lexically_relative(root).generic_string(), text.str()});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Source& a, const Source& b) { return a.path < b.path; });
    return found;
  }();
  return sources;
}

TEST(Ladder, TheTreeIsFound) {
  EXPECT_GT(project().size(), 20u);
  EXPECT_TRUE(std::any_of(project().begin(), project().end(), [](const Source& source) {
    return source.path == "core/error.h" && source.text.find("#include") != std::string::npos;
  }));
}

TEST(Ladder, NoIncludeClimbs) {
  Complaints complaints = climbing_includes(project());
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Ladder, EachOutsideLibraryHasOneHome) {
  Complaints complaints = strayed_libraries(project());
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Ladder, NoFileIsLong) {
  Complaints complaints = long_files(project());
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Ladder, EveryHeaderBeginsWithPragmaOnce) {
  Complaints complaints = unguarded_headers(project());
  EXPECT_TRUE(complaints.empty()) << joined(complaints);
}

TEST(Ladder, ComplainsOfAClimbingInclude) {
  EXPECT_EQ(climbing_includes({{"core/a.cpp", "#include <vector>\n#include \"nn/gru.h\"\n"}}),
            Complaints{"core/a.cpp:2: includes nn/gru.h, which stands below core"});
  EXPECT_EQ(climbing_includes({{"train/a.h", "  #  include \"cli/main.h\"\n"}}).size(), 1u);
  EXPECT_EQ(climbing_includes({{"autograd/ops/a.cpp", "#include <models/batch.h>\n"}}).size(), 1u);
  for (size_t own = 0; own < kLadder.size(); ++own) {
    for (size_t other = 0; other < kLadder.size(); ++other) {
      Source source{kLadder[own] + "/a.cpp", "#include \"" + kLadder[other] + "/b.h\"\n"};
      EXPECT_EQ(climbing_includes({source}).size(), other > own ? 1u : 0u)
          << source.path << ": " << source.text;
    }
  }
}

TEST(Ladder, ComplainsOfIncludesThatAreNotPathsFromTheRoot) {
  EXPECT_EQ(climbing_includes({{"nn/a.cpp", "#include \"gru.h\"\n"}}).size(), 1u);
  EXPECT_EQ(climbing_includes({{"nn/a.cpp", "#include \"../train/loss.h\"\n"}}).size(), 1u);
  EXPECT_EQ(climbing_includes({{"nn/a.cpp", "#include \"tests/support/a.h\"\n"}}).size(), 1u);
}

TEST(Ladder, LeavesTestsAndProgramsOutsideTheLadderAlone) {
  EXPECT_TRUE(climbing_includes({{"tests/core/a_test.cpp", "#include \"train/loss.h\"\n"},
                                 {"examples/a.cpp", "#include \"train/loss.h\"\n"}})
                  .empty());
}

TEST(Ladder, ComplainsOfALibraryOutsideItsHome) {
  EXPECT_EQ(strayed_libraries({{"nn/linear.cpp", "#include <dnnl.hpp>\n"}}),
            Complaints{"nn/linear.cpp:1: includes dnnl.hpp, which belongs to core/gemm"});
  for (const Library& library : kLibraries) {
    Source source{"models/a.cpp", "#include <" + library.include + "x.h>\n"};
    EXPECT_EQ(strayed_libraries({source}).size(), 1u) << source.text;
  }
  EXPECT_EQ(
      strayed_libraries({{"tests/train/a_test.cpp", "#include <nlohmann/json.hpp>\n"}}).size(), 1u);
  EXPECT_TRUE(strayed_libraries({{"cli/a.cpp", "#include <CLI/CLI.hpp>\n"},
                                 {"cli/b.cpp", "#include <CLI/CLI.hpp>\n"},
                                 {"core/kernels/a.cpp", "#include \"hwy/highway.h\"\n"}})
                  .empty());
}

TEST(Ladder, ComplainsOfASecondFileThatIncludesALibrary) {
  Complaints complaints = strayed_libraries({{"core/gemm.cpp", "#include <dnnl.hpp>\n"},
                                             {"core/gemm_cache.cpp", "#include \"dnnl.hpp\"\n"}});
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_NE(complaints[0].find("core/gemm.cpp core/gemm_cache.cpp"), std::string::npos)
      << complaints[0];
}

TEST(Ladder, ComplainsOfALongFile) {
  std::string lines;
  for (size_t i = 0; i < kMostLines; ++i) lines += "\n";
  EXPECT_TRUE(long_files({{"nn/a.cpp", lines}}).empty());
  EXPECT_EQ(long_files({{"nn/a.cpp", lines + "x"}}).size(), 1u);
  EXPECT_TRUE(long_files({{"tests/nn/a_test.cpp", lines + "x"}}).empty());
}

TEST(Ladder, ComplainsOfAHeaderWithoutPragmaOnce) {
  EXPECT_EQ(unguarded_headers({{"nn/a.h", "#include <vector>\n#pragma once\n"}}).size(), 1u);
  EXPECT_EQ(unguarded_headers({{"nn/a.h", ""}}).size(), 1u);
  EXPECT_TRUE(unguarded_headers({{"nn/a.h", "#pragma once\n"}, {"nn/a.cpp", ""}}).empty());
}

}  // namespace
}  // namespace lookback
