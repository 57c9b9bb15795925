#include "study/study_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "core/files.h"
#include "core/numbers.h"
#include "study/learning_curve.h"
#include "study/page_figures.h"

namespace lookback {
namespace {

bool is_share(const std::string& metric) {
  return metric == "sequence_accuracy" || metric == "token_accuracy";
}

std::string label_of(const std::string& metric) {
  static const std::map<std::string, std::string> kLabels = {
      {"sequence_accuracy", "sentences exactly right"},
      {"token_accuracy", "tokens right, teacher forcing"},
      {"nll", "nll a token"},
      {"perplexity", "perplexity"},
      {"bleu", "BLEU"}};
  return kLabels.at(metric);
}

/// `71k`, `1.2M`
std::string short_count(int64_t count) {
  double value = static_cast<double>(count);
  if (value >= 9.995e5) return format("{:.1f}M", value / 1e6);
  return value >= 1e3 ? format("{:.0f}k", value / 1e3) : format("{}", count);
}

/// An interval of shares ends at 0 and 1, whatever Student's t makes of few seeds.
MeanInterval as_shown(MeanInterval m, const std::string& metric) {
  if (is_share(metric)) m.low = std::max(0.0, m.low), m.high = std::min(1.0, m.high);
  return m;
}

/// A mean with its interval: `87.3% (85.1 to 89.4)`
std::string text_of(const MeanInterval& measured, const std::string& metric) {
  MeanInterval m = as_shown(measured, metric);
  if (m.count == 0) return "";
  bool share = is_share(metric);
  int decimals = share || metric == "bleu" || metric == "length" ? 1 : 3;
  double factor = share ? 100 : 1;
  std::string text = format("{:.{}f}{}", m.mean * factor, decimals, share ? "%" : "");
  if (m.count < 2) return text;
  return text +
         format(" ({:.{}f} to {:.{}f})", m.low * factor, decimals, m.high * factor, decimals);
}

/// Builds the report of one study piece by piece.
class Writer {
 public:
  Writer(const StudyPlan& plan, const StudyResults& results, const std::string& folder)
      : plan_(plan), results_(results), folder_(folder), points_(points_of(plan, results)) {
    metric_ = plan.show.metric;
    // BLEU is of whole test sets; by length stands what teacher forcing gives.
    by_length_ = metric_ == "bleu" ? "token_accuracy" : metric_;
    for (const StudyCell& cell : plan.cells)
      own_lengths_ = own_lengths_ || !cell.test.lengths.empty();
    for (const StudyPoint& point : points_)
      for (const CellResult* result : point.seeds) {
        any_length_ = any_length_ || result->by_length.size() > 1;
        any_bleu_ = any_bleu_ || result->bleu >= 0;
        any_gradients_ = any_gradients_ || !result->gradients.start.empty();
        task_ = task_ || result->longest > 0;
      }
  }

  StudyReport write(const std::string& command) {
    out_.page.title = plan_.title;
    out_.page.subtitle = subtitle();
    if (!plan_.about.empty()) text("", plan_.about);
    failures();
    gradients();
    if (any_length_ && (!any_gradients_ || own_lengths_)) by_length();
    if (any_length_ && !plan_.show.across.empty()) across();
    table();
    learning_curves();
    text("How to read this", reading());
    code("Repeat it", command, false);
    code("The study", plan_.resolved.yaml(), true);
    return std::move(out_);
  }

 private:
  std::string subtitle() const {
    int64_t cells = static_cast<int64_t>(results_.entries.size());
    std::string text = format("{} of {} models trained", results_.finished(), cells);
    size_t seeds = 0;
    for (const StudyPoint& point : points_) seeds = std::max(seeds, point.seeds.size());
    if (seeds > 1) text += format("; means over {} seeds with 95% intervals", seeds);
    if (results_.interrupted) text += "; interrupted";
    return text;
  }

  void text(const std::string& title, const std::string& words) {
    out_.page.blocks.push_back(TextBlock{title, words});
  }
  void code(const std::string& title, const std::string& words, bool folded) {
    out_.page.blocks.push_back(CodeBlock{title, words, folded});
  }
  void figure(const std::string& name, Figure figure) {
    out_.figures.emplace_back(name, figure);
    out_.page.blocks.push_back(CurvesBlock{std::move(figure)});
  }

  void failures() {
    if (results_.failed() == 0) return;
    TableBlock block{
        .title = format("{} of {} models failed", results_.failed(), results_.entries.size()),
        .note = "The same command tries them again; the others are kept.",
        .columns = {"model", "why"},
        .rows = {}};
    for (const StudyResults::Entry& entry : results_.entries)
      if (!entry.failure.empty()) block.rows.push_back({entry.cell->label(), entry.failure});
    out_.page.blocks.push_back(std::move(block));
  }

  /// The choices of the axis that has a figure each; one empty one where there is none.
  std::vector<std::string> panels() const {
    for (const StudyAxis& axis : plan_.axes)
      if (axis.name == plan_.show.panels) return axis.labels;
    return {""};
  }
  bool in_panel(const StudyPoint& point, const std::string& panel) const {
    return panel.empty() || choice_of(plan_, point.choices, plan_.show.panels) == panel;
  }
  /// Panels whose names look alike in ASCII are numbered.
  std::string with_panel(const std::string& name, const std::string& panel) const {
    if (panel.empty()) return name;
    std::string out = name + "_";
    for (char c : panel) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    auto taken = [&](const std::string& wanted) {
      return std::any_of(out_.figures.begin(), out_.figures.end(),
                         [&](const auto& figure) { return figure.first == wanted; });
    };
    std::string unique = out;
    for (int i = 2; taken(unique); ++i) unique = format("{}_{}", out, i);
    return unique;
  }
  std::vector<std::string> left_out_of_names(const std::string& more = "") const {
    return {plan_.show.panels, more};
  }

  Series series_of(const StudyPoint& point) const {
    Series series{.name = name_of(plan_, point, left_out_of_names()),
                  .points = {},
                  .detail = short_count(point.seeds[0]->parameters) + " parameters"};
    std::map<std::pair<int64_t, int64_t>, std::vector<double>> values;
    for (const CellResult* result : point.seeds)
      for (const Evaluation::Length& row : result->by_length)
        values[{row.from, row.to}].push_back(Evaluation{row.measures, {}}.metric(by_length_));
    for (const auto& [length, seeds] : values) {
      MeanInterval mean = as_shown(mean_interval(seeds), by_length_);
      series.points.emplace_back(0.5 * static_cast<double>(length.first + length.second),
                                 mean.mean);
      if (point.seeds.size() > 1) series.intervals.emplace_back(mean.low, mean.high);
    }
    return series;
  }

  void by_length() {
    for (const std::string& panel : panels()) {
      Figure f{.title = panel.empty() ? plan_.title : format("{}: {}", plan_.title, panel),
               .subtitle = trained_lengths(panel),
               .x_label = "source length, tokens",
               .y_label = label_of(by_length_),
               .series = {}};
      for (const StudyPoint& point : points_)
        if (!point.seeds.empty() && in_panel(point, panel)) f.series.push_back(series_of(point));
      if (f.series.empty()) continue;
      if (is_share(by_length_)) f.percent = true, f.y_range = std::pair(0.0, 1.0);
      figure(with_panel("by_length", panel), std::move(f));
    }
  }

  /// Where all of a panel were trained on the same lengths.
  std::string trained_lengths(const std::string& panel) const {
    std::set<int64_t> longest;
    for (const StudyPoint& point : points_)
      for (const CellResult* result : point.seeds)
        if (in_panel(point, panel)) longest.insert(result->longest);
    if (longest.size() != 1 || *longest.begin() == 0) return "";
    return format("trained on sources of at most {} tokens", *longest.begin());
  }

  /// Where accuracy falls to one half, over an axis of sizes.
  void across() {
    for (const std::string& panel : panels()) {
      Figure f{.title = "Half of the sentences are right up to this length",
               .subtitle = format("{}{}the longest length tested where it is never less", panel,
                                  panel.empty() ? "" : "; "),
               .x_label = plan_.show.across,
               .y_label = "source length, tokens",
               .series = {}};
      std::map<std::string, size_t> at;
      for (const StudyPoint& point : points_) {
        if (point.seeds.empty() || !in_panel(point, panel)) continue;
        std::string name = name_of(plan_, point, left_out_of_names(plan_.show.across));
        auto [found, is_new] = at.emplace(name, f.series.size());
        if (is_new) f.series.push_back({.name = name, .points = {}});
        Series& series = f.series[found->second];
        MeanInterval half =
            point.over_seeds([](const CellResult& r) { return r.half_right_length(); });
        series.points.emplace_back(
            *parse_number(choice_of(plan_, point.choices, plan_.show.across)), half.mean);
        bool open = to_the_end(point);  // then seeds say nothing of how much greater it is
        series.intervals.emplace_back(open ? half.mean : half.low, open ? half.mean : half.high);
      }
      for (Series& series : f.series) by_rising_x(series);
      if (!f.series.empty()) figure(with_panel("half_right_length", panel), std::move(f));
    }
  }

  static bool to_the_end(const StudyPoint& point) {
    return std::any_of(point.seeds.begin(), point.seeds.end(),
                       [](const CellResult* r) { return r->half_right_to_the_end(); });
  }
  /// `7.5 (6.7 to 8.3)`; `40 or more` where a seed is half right to the end.
  static std::string half_right(const StudyPoint& point) {
    MeanInterval mean = point.over_seeds([](const CellResult& r) { return r.half_right_length(); });
    return to_the_end(point) ? format("{:.1f} or more", mean.mean) : text_of(mean, "length");
  }

  static void by_rising_x(Series& series) {
    std::vector<size_t> order(series.points.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return series.points[a].first < series.points[b].first; });
    Series sorted = series;
    for (size_t i = 0; i < order.size(); ++i) {
      sorted.points[i] = series.points[order[i]];
      sorted.intervals[i] = series.intervals[order[i]];
    }
    series = std::move(sorted);
  }

  void table() {
    TableBlock block{.title = "Every model",
                     .note = table_note(),
                     .columns = {"model", "seeds", "parameters", "steps"},
                     .rows = {}};
    auto column = [&](const std::string& name) { block.columns.push_back(name); };
    if (metric_ != "bleu") column(label_of(metric_));
    if (any_bleu_) column("BLEU");
    if (task_ && any_length_) column("half-right length");
    if (metric_ != "nll") column("nll a token");
    column("s");
    for (const StudyPoint& point : points_) {
      if (point.seeds.empty()) continue;
      const CellResult& first = *point.seeds[0];
      std::vector<std::string> row = {name_of(plan_, point), format("{}", point.seeds.size()),
                                      short_count(first.parameters), format("{}", first.steps)};
      auto add = [&](const std::string& metric) {
        row.push_back(text_of(
            point.over_seeds([&](const CellResult& r) { return r.metric(metric); }), metric));
      };
      if (metric_ != "bleu") add(metric_);
      if (any_bleu_) add("bleu");
      if (task_ && any_length_) row.push_back(half_right(point));
      if (metric_ != "nll") add("nll");
      row.push_back(
          format("{:.1f}", point.over_seeds([](const CellResult& r) { return r.seconds; }).mean));
      block.rows.push_back(std::move(row));
    }
    if (!block.rows.empty()) out_.page.blocks.push_back(std::move(block));
  }

  std::string table_note() const {
    std::string note =
        task_ ? "On held-out sentences of the lengths that were trained on" : "On the test set";
    note +=
        "; in brackets the 95% interval of the mean over seeds. s: seconds of training on one "
        "core beside other models.";
    if (task_ && any_length_)
      note +=
          " Half-right length: the greatest source length at which half of the sentences are "
          "right.";
    return note;
  }

  void gradients() {
    if (!any_gradients_) return;
    TableBlock block{
        .title = "First over last position",
        .note =
            "The gradient that reaches the first source position, over the one that reaches the "
            "last; the smallest and the largest of the seeds.",
        .columns = {"model", "before training", "after training"},
        .rows = {}};
    for (bool end : {false, true}) {
      Figure f{.title = end ? "How far back the last output reaches, after training"
                            : "How far back the last output reaches, before training",
               .subtitle = "the norm of d nll(last output) / d(word vector) at each position",
               .x_label = "positions back from the end of the source",
               .y_label = "gradient norm",
               .series = {},
               .log_y = true};
      for (const StudyPoint& point : points_) {
        if (point.seeds.empty()) continue;
        Series series{.name = name_of(plan_, point), .points = {}};
        size_t n = norms(*point.seeds[0], end).size();
        for (size_t back = 0; back < n; ++back) {
          std::vector<double> values;
          for (const CellResult* r : point.seeds) values.push_back(norms(*r, end).at(n - 1 - back));
          series.points.emplace_back(static_cast<double>(back), mean_interval(values).mean);
        }
        f.series.push_back(std::move(series));
      }
      figure(end ? "gradient_after" : "gradient_before", std::move(f));
    }
    for (const StudyPoint& point : points_) {
      if (point.seeds.empty()) continue;
      block.rows.push_back({name_of(plan_, point), ratios(point, false), ratios(point, true)});
    }
    out_.page.blocks.push_back(std::move(block));
  }

  static const std::vector<double>& norms(const CellResult& result, bool end) {
    return end ? result.gradients.end : result.gradients.start;
  }
  static std::string ratios(const StudyPoint& point, bool end) {
    std::vector<double> values;
    for (const CellResult* r : point.seeds)
      if (const std::vector<double>& g = norms(*r, end); !g.empty())
        values.push_back(g.front() / g.back());
    if (values.empty()) return "";
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    std::string text = format("{:.2g}", *low);
    return values.size() == 1 ? text : text + format(" to {:.2g}", *high);
  }

  void learning_curves() {
    bool accuracy = is_share(metric_);
    for (const std::string& panel : panels()) {
      Figure f{
          .title = panel.empty() ? "Learning" : "Learning: " + panel,
          .subtitle = "",
          .x_label = "training step",
          .y_label = accuracy ? "validation sentences exactly right" : "validation nll a token",
          .series = {}};
      if (accuracy) f.percent = true, f.y_range = std::pair(0.0, 1.0);
      for (const StudyPoint& point : points_) {
        if (point.seeds.empty() || !in_panel(point, panel)) continue;
        std::vector<LearningCurve> runs;
        for (const std::string& cell : point.folders)
          runs.push_back(read_learning_curve(folder_ + "/" + cell));
        f.series.push_back(mean_curve(name_of(plan_, point, left_out_of_names()), runs, accuracy));
      }
      bool moves = std::any_of(f.series.begin(), f.series.end(),
                               [](const Series& s) { return s.points.size() > 1; });
      if (moves) figure(with_panel("learning", panel), std::move(f));
    }
  }

  std::string reading() const {
    std::string text =
        "A sentence counts as right when every token of it, end mark included, is the most probable "
        "one under teacher forcing; greedy decoding then says exactly the reference. The band about "
        "a curve is the 95% interval of the mean over seeds (Student's t).";
    text +=
        "\n\nModels are compared at the steps that the study gives them. A model that "
        "fails here has not learned the task in these steps; with more steps, or more "
        "units, it may do better.";
    return text +
           "\n\nBeside this page results.csv has every number by source length, cells.csv every "
           "number of a whole test set, means.csv the means over seeds.";
  }

  const StudyPlan& plan_;
  const StudyResults& results_;
  std::string folder_, metric_, by_length_;
  std::vector<StudyPoint> points_;
  bool own_lengths_ = false, any_length_ = false, any_bleu_ = false, any_gradients_ = false,
       task_ = false;
  StudyReport out_;
};

}  // namespace

StudyReport make_report(const StudyPlan& plan, const StudyResults& results,
                        const std::string& folder, const std::string& command) {
  return Writer(plan, results, folder).write(command);
}

void write_report(const StudyPlan& plan, const StudyResults& results, const StudyReport& report,
                  const std::string& folder) {
  // What an older form of the study left must not stand beside the new numbers.
  std::error_code error;
  std::filesystem::remove(folder + "/gradients.csv", error);
  write_file(folder + "/results.csv", results_csv(plan, results));
  write_file(folder + "/cells.csv", cells_csv(plan, results));
  write_file(folder + "/means.csv", means_csv(plan, results));
  if (std::string gradients = gradients_csv(plan, results); !gradients.empty())
    write_file(folder + "/gradients.csv", gradients);
  std::vector<std::pair<std::string, std::string>> figures;
  for (const auto& [name, figure] : report.figures) figures.emplace_back(name, svg(figure));
  write_figures(figures, folder);
  write_file(folder + "/report.html", html(report.page));
}

}  // namespace lookback
