// A page for the terminal.

#include <algorithm>

#include "core/error.h"
#include "study/page.h"
#include "study/page_json.h"
#include "study/plot_text.h"
#include "study/text_width.h"

namespace lookback {
namespace {

constexpr size_t kMostMaps = 4;

class Writer {
 public:
  explicit Writer(size_t width) : width_(width) {}

  std::string take() { return std::move(out_); }

  void heading(const std::string& title, char rule) {
    if (title.empty()) return;
    size_t longest = 0;
    for (const std::string& line : wrapped(printable(title), width_)) {
      this->line(line);
      longest = std::max(longest, text_width(line));
    }
    line(std::string(longest, rule));
  }

  /// Text that flows: single line ends are blanks, empty lines part paragraphs.
  void paragraphs(const std::string& text) {
    std::string paragraph;
    auto close = [&] {
      if (paragraph.empty()) return;
      for (const std::string& each : wrapped(paragraph, width_)) line(each);
      paragraph.clear();
    };
    std::string rest = printable(text);
    bool first = true;
    for (size_t start = 0; start <= rest.size();) {
      size_t end = std::min(rest.find('\n', start), rest.size());
      std::string one = rest.substr(start, end - start);
      one.erase(0, std::min(one.find_first_not_of(' '), one.size()));
      start = end + 1;
      if (one.empty()) {
        close();
        continue;
      }
      if (paragraph.empty() && !first) gap();
      first = false;
      paragraph += (paragraph.empty() ? "" : " ") + one;
    }
    close();
  }

  void block(const TextBlock& text) {
    heading(text.title, '-');
    paragraphs(text.text);
  }

  void block(const CurvesBlock& curves) {
    heading(curves.figure.title, '-');
    paragraphs(curves.figure.subtitle);
    gap();
    lines(plot_text(curves.figure, width_));
  }

  void block(const TableBlock& table) {
    check_sizes(table);
    heading(table.title, '-');
    if (table.columns.empty()) {
      line("(no columns)");
    } else {
      columns(table);
      if (table.rows.empty()) line("(no rows)");
    }
    note(table.note);
  }

  void block(const HeatmapBlock& block) {
    heading(block.title, '-');
    if (block.maps.empty()) line("(no map)");
    size_t count = block.maps.size() > kMostMaps ? 1 : block.maps.size();
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) gap();
      if (!block.maps[i].name.empty()) paragraphs(block.maps[i].name);
      lines(heatmap_text(block.maps[i], width_));
    }
    if (count < block.maps.size()) line(format("(and {} maps more)", block.maps.size() - count));
    note(block.note);
  }

  void block(const CodeBlock& code) {
    if (code.folded) return;
    heading(code.title, '-');
    std::string text = printable(code.code);
    for (size_t start = 0; start < text.size();) {
      size_t end = std::min(text.find('\n', start), text.size());
      line(end > start ? "    " + text.substr(start, end - start) : "");
      start = end + 1;
    }
  }

  void gap() {
    if (!out_.empty()) out_ += '\n';
  }

 private:
  void line(const std::string& text) { out_ += text + "\n"; }
  void lines(const std::vector<std::string>& all) {
    for (const std::string& one : all) line(one);
  }
  void note(const std::string& text) {
    if (text.empty()) return;
    gap();
    paragraphs(text);
  }

  /// A table too wide has its widest columns of words narrowed, so far as they stay readable, and
  /// their cells wrapped.
  void columns(const TableBlock& table) {
    constexpr size_t kGap = 2, kReadable = 12;
    std::vector<bool> numbers = number_columns(table);
    size_t count = table.columns.size();
    std::vector<size_t> widths(count, 1);
    auto fit = [&](const std::vector<std::string>& row) {
      for (size_t k = 0; k < count; ++k)
        for (const std::string& part : wrapped(printable(row[k]), std::string::npos))
          widths[k] = std::max(widths[k], text_width(part));
    };
    fit(table.columns);
    for (const auto& row : table.rows) fit(row);
    auto total = [&] {
      size_t sum = kGap * (count - 1);
      for (size_t width : widths) sum += width;
      return sum;
    };
    while (total() > width_) {
      size_t widest = count;
      for (size_t k = 0; k < count; ++k)
        if (!numbers[k] && widths[k] > kReadable && (widest == count || widths[k] > widths[widest]))
          widest = k;
      if (widest == count) break;
      --widths[widest];
    }
    row(table.columns, widths, numbers, kGap);
    std::string rule;
    for (size_t k = 0; k < count; ++k)
      rule += std::string(k ? kGap : 0, ' ') + std::string(widths[k], '-');
    line(rule);
    for (const auto& cells : table.rows) row(cells, widths, numbers, kGap);
  }

  void row(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
           const std::vector<bool>& numbers, size_t between) {
    std::vector<std::vector<std::string>> parts;
    size_t tall = 1;
    for (size_t k = 0; k < cells.size(); ++k) {
      parts.push_back(wrapped(printable(cells[k]), widths[k]));
      tall = std::max(tall, parts.back().size());
    }
    for (size_t level = 0; level < tall; ++level) {
      std::string text;
      for (size_t k = 0; k < cells.size(); ++k) {
        std::string part = level < parts[k].size() ? parts[k][level] : "";
        text += std::string(k ? between : 0, ' ') + padded(part, widths[k], numbers[k]);
      }
      line(text.substr(0, text.find_last_not_of(' ') + 1));
    }
  }

  size_t width_;
  std::string out_;
};

}  // namespace

std::string plain_text(const Page& page, int width) {
  size_t columns = static_cast<size_t>(std::max(20, width));
  Writer writer(columns);
  writer.heading(page.title, '=');
  writer.paragraphs(page.subtitle);
  std::string out = writer.take();
  for (const Block& block : page.blocks) {
    Writer part(columns);
    std::visit([&](const auto& one) { part.block(one); }, block);
    std::string text = part.take();
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  }
  return out;
}

}  // namespace lookback
