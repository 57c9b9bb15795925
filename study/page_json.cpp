#include "study/page_json.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/error.h"
#include "study/axis.h"
#include "study/heatmap_figure.h"
#include "study/text_width.h"

namespace lookback {
namespace {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json texts(const std::vector<std::string>& words) {
  Json list = Json::array();
  for (const std::string& word : words) list.push_back(printable(word));
  return list;
}

Json pairs(const std::vector<std::pair<double, double>>& values) {
  Json list = Json::array();
  for (const auto& [first, second] : values)
    list.push_back(Json::array({number(first), number(second)}));
  return list;
}

Json axis_json(const Axis& axis) {
  return {{"low", axis.low}, {"high", axis.high}, {"log", axis.log}};
}

Json stops_json(bool diverging) {
  auto list = [&](bool dark) {
    Json colours = Json::array();
    for (const char* colour : heatmap_colours(diverging, dark)) colours.push_back(colour);
    return colours;
  };
  return {{"light", list(false)}, {"dark", list(true)}};
}

Json block_json(const TextBlock& block) {
  return {{"kind", "text"}, {"title", printable(block.title)}, {"text", printable(block.text)}};
}

Json block_json(const CurvesBlock& block) {
  const Figure& figure = block.figure;
  Json series = Json::array(), notes = Json::array();
  for (size_t i = 0; i < figure.series.size(); ++i) {
    const Series& one = figure.series[i];
    Look drawn_as = look(figure, i);
    series.push_back({{"name", printable(one.name)},
                      {"detail", printable(one.detail)},
                      {"colour", printable(drawn_as.colour)},
                      {"dashes", drawn_as.dashes},
                      {"marker", drawn_as.marker},
                      {"points", pairs(one.points)},
                      {"intervals", pairs(one.intervals)}});
  }
  for (const Note& note : figure.notes)
    notes.push_back({{"x", number(note.x)}, {"y", number(note.y)}, {"text", printable(note.text)}});
  return {{"kind", "curves"},
          {"title", printable(figure.title)},
          {"subtitle", printable(figure.subtitle)},
          {"x_label", printable(figure.x_label)},
          {"y_label", printable(figure.y_label)},
          {"percent", figure.percent},
          {"band", printable(figure.band)},
          {"x", axis_json(x_axis(figure, 10))},
          {"y", axis_json(y_axis(figure, 6))},
          {"series", series},
          {"notes", notes}};
}

Json block_json(const TableBlock& block) {
  check_sizes(block);
  Json rows = Json::array();
  for (const auto& row : block.rows) rows.push_back(texts(row));
  return {{"kind", "table"},
          {"title", printable(block.title)},
          {"note", printable(block.note)},
          {"columns", texts(block.columns)},
          {"numbers", number_columns(block)},
          {"rows", rows}};
}

Json block_json(const HeatmapBlock& block) {
  Json maps = Json::array();
  for (const Heatmap& map : block.maps) {
    check_sizes(map);
    HeatmapScale scale = heatmap_scale(map);
    Json values = Json::array();
    for (const auto& row : map.values) {
      Json list = Json::array();
      for (double value : row) list.push_back(number(value));
      values.push_back(list);
    }
    maps.push_back(
        {{"name", printable(map.name)},
         {"row_label", printable(map.row_label)},
         {"column_label", printable(map.column_label)},
         {"rows", texts(map.rows)},
         {"columns", texts(map.columns)},
         {"values", values},
         {"scale", {{"low", scale.low}, {"high", scale.high}, {"diverging", scale.diverging}}}});
  }
  return {{"kind", "heatmaps"},
          {"title", printable(block.title)},
          {"note", printable(block.note)},
          {"maps", maps}};
}

Json block_json(const CodeBlock& block) {
  return {{"kind", "code"},
          {"title", printable(block.title)},
          {"code", printable(block.code)},
          {"folded", block.folded}};
}

enum class Cell { number, text, neither };

Cell kind_of(const std::string& cell) {
  size_t digits = 0, letters = 0, others = 0;
  bool leading_digit = false;
  for (char c : cell) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (std::isdigit(byte)) {
      leading_digit = leading_digit || letters == 0;
      ++digits;
    } else if (std::isalpha(byte)) {
      ++letters;
    } else if (c != ' ') {
      ++others;
    }
  }
  if (cell == "nan" || cell == "inf" || cell == "-inf" || cell == "n/a") return Cell::neither;
  if (digits == 0) return letters == 0 && others <= 3 ? Cell::neither : Cell::text;
  // `12.5 ms`, `-1.2e-05`, `0.91 (0.88 to 0.93)`, `63k`; not `2 layers of 4`.
  return leading_digit && letters <= 4 ? Cell::number : Cell::text;
}

}  // namespace

void check_sizes(const TableBlock& table) {
  for (const auto& row : table.rows)
    if (row.size() != table.columns.size())
      fail("[table] {} has {} columns and a row of {}", table.title, table.columns.size(),
           row.size());
}

std::vector<bool> number_columns(const TableBlock& table) {
  std::vector<bool> numbers;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    size_t found = 0, texts = 0;
    for (const auto& row : table.rows) {
      Cell kind = kind_of(row.at(column));
      found += kind == Cell::number;
      texts += kind == Cell::text;
    }
    numbers.push_back(found > 0 && texts == 0);
  }
  return numbers;
}

Json page_json(const Page& page) {
  Json blocks = Json::array();
  for (const Block& block : page.blocks)
    blocks.push_back(std::visit([](const auto& one) { return block_json(one); }, block));
  return {{"title", printable(page.title)},
          {"subtitle", printable(page.subtitle)},
          {"sequential", stops_json(false)},
          {"diverging", stops_json(true)},
          {"blocks", blocks}};
}

std::string script_json(const Json& json) {
  // `<`, `>` and `&` stand in texts only, where their escapes mean the same.
  std::string out;
  for (char c : json_text(json)) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace lookback
