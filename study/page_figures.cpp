#include "study/page_figures.h"

#include <cctype>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "study/heatmap_figure.h"

namespace lookback {
namespace {

std::string name_of(const std::string& title) {
  std::string out;
  for (char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() ? "figure" : out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> svg_figures(const Page& page) {
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> taken;
  std::string title;
  auto add = [&](std::string text) {
    std::string name = name_of(title), unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
    out.emplace_back(unique, std::move(text));
  };
  for (const Block& block : page.blocks) {
    if (auto* curves = std::get_if<CurvesBlock>(&block)) {
      title = curves->figure.title;
      add(svg(curves->figure));
    } else if (auto* maps = std::get_if<HeatmapBlock>(&block); maps && !maps->maps.empty()) {
      if (!maps->title.empty()) title = maps->title;  // else it goes on with the one before
      add(svg(maps->maps[0], title, maps->note));
    }
  }
  return out;
}

void write_figures(const std::vector<std::pair<std::string, std::string>>& figures,
                   const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder + "/figures", error);  // of an older model
  std::filesystem::create_directories(folder + "/figures", error);
  if (error) fail_user("{}/figures: cannot be made: {}", folder, error.message());
  for (const auto& [name, text] : figures) write_file(folder + "/figures/" + name + ".svg", text);
}

}  // namespace lookback
