#include "study/results.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/numbers.h"

namespace lookback {
namespace {

/// A field of a CSV file (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string line(const std::vector<std::string>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : ",") + field(fields[i]);
  return out + "\n";
}

std::string number(double value) {
  return std::isfinite(value) ? number_text(value) : "";
}
std::string number(int64_t value) {
  return std::to_string(value);
}

std::vector<std::string> with(std::vector<std::string> head, std::vector<std::string> tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

std::vector<std::string> axis_names(const StudyPlan& plan) {
  std::vector<std::string> names;
  for (const StudyAxis& axis : plan.axes) names.push_back(axis.name);
  return names;
}

std::vector<std::string> cell_fields(const StudyCell& cell) {
  return with(cell.choices, {std::to_string(cell.seed)});
}

}  // namespace

std::vector<StudyPoint> points_of(const StudyPlan& plan, const StudyResults& results) {
  std::vector<StudyPoint> points;
  for (const StudyCell& cell : plan.cells)
    if (points.empty() || points.back().choices != cell.choices)
      points.push_back({cell.choices, {}, {}});
  for (const StudyResults::Entry& entry : results.entries) {
    if (!entry.result) continue;
    auto point = std::find_if(points.begin(), points.end(), [&](const StudyPoint& p) {
      return p.choices == entry.cell->choices;
    });
    point->seeds.push_back(&*entry.result);
    point->folders.push_back("cells/" + entry.cell->folder);
  }
  return points;
}

std::string name_of(const StudyPlan& plan, const StudyPoint& point,
                    const std::vector<std::string>& but) {
  std::string name;
  for (size_t i = 0; i < plan.axes.size(); ++i) {
    const std::string& axis = plan.axes[i].name;
    if (std::count(but.begin(), but.end(), axis)) continue;
    name += name.empty() ? "" : ", ";
    // A bare number says little: `D = 64`, `model.encoder.hidden = 64`.
    bool bare = parse_number(point.choices[i]).has_value();
    name += bare ? axis + " = " + point.choices[i] : point.choices[i];
  }
  return name.empty() ? plan.name : name;
}

const std::string& choice_of(const StudyPlan& plan, const std::vector<std::string>& choices,
                             const std::string& axis) {
  for (size_t i = 0; i < plan.axes.size(); ++i)
    if (plan.axes[i].name == axis) return choices[i];
  fail("[study] no axis \"{}\"", axis);
}

std::string results_csv(const StudyPlan& plan, const StudyResults& results) {
  std::string text = line(
      with(axis_names(plan), {"seed", "parameters", "seconds", "source_from", "source_to",
                              "examples", "tokens", "nll", "token_accuracy", "sequence_accuracy"}));
  for (const StudyResults::Entry& entry : results.entries) {
    if (!entry.result) continue;
    for (const Evaluation::Length& row : entry.result->by_length)
      text +=
          line(with(cell_fields(*entry.cell),
                    {number(entry.result->parameters), number(entry.result->seconds),
                     number(row.from), number(row.to), number(row.measures.examples),
                     number(row.measures.tokens), number(row.measures.nll),
                     number(row.measures.token_accuracy), number(row.measures.sequence_accuracy)}));
  }
  return text;
}

std::string cells_csv(const StudyPlan& plan, const StudyResults& results) {
  std::string text = line(
      with(axis_names(plan), {"seed", "parameters", "steps", "seconds", "examples", "tokens", "nll",
                              "token_accuracy", "sequence_accuracy", "bleu", "half_right_length"}));
  for (const StudyResults::Entry& entry : results.entries) {
    if (!entry.result) continue;
    const CellResult& r = *entry.result;
    const Measures& m = r.held_out.all;
    text += line(with(
        cell_fields(*entry.cell),
        {number(r.parameters), number(r.steps), number(r.seconds), number(m.examples),
         number(m.tokens), number(m.nll), number(m.token_accuracy), number(m.sequence_accuracy),
         number(r.metric("bleu")), number(r.half_right_length())}));
  }
  return text;
}

std::string means_csv(const StudyPlan& plan, const StudyResults& results) {
  const std::vector<std::string> metrics = {"sequence_accuracy", "token_accuracy", "nll"};
  std::vector<std::string> head = with(axis_names(plan), {"seeds", "source_from", "source_to"});
  for (const std::string& metric : metrics)
    head = with(head, {metric, metric + "_low", metric + "_high"});
  std::string text = line(head);
  for (const StudyPoint& point : points_of(plan, results)) {
    std::map<std::pair<int64_t, int64_t>, std::vector<const Measures*>> by_length;
    for (const CellResult* result : point.seeds)
      for (const Evaluation::Length& row : result->by_length)
        by_length[{row.from, row.to}].push_back(&row.measures);
    for (const auto& [length, seeds] : by_length) {
      std::vector<std::string> row =
          with(point.choices, {number(static_cast<int64_t>(seeds.size())), number(length.first),
                               number(length.second)});
      for (const std::string& metric : metrics) {
        std::vector<double> values;
        for (const Measures* m : seeds) values.push_back(Evaluation{*m, {}}.metric(metric));
        MeanInterval mean = mean_interval(values);
        row = with(row, {number(mean.mean), number(mean.low), number(mean.high)});
      }
      text += line(row);
    }
  }
  return text;
}

std::string gradients_csv(const StudyPlan& plan, const StudyResults& results) {
  std::string head = line(with(
      axis_names(plan), {"seed", "moment", "source_length", "position", "distance", "gradient"}));
  std::string text;
  for (const StudyResults::Entry& entry : results.entries) {
    if (!entry.result) continue;
    auto add = [&](const char* moment, const std::vector<double>& norms) {
      int64_t n = static_cast<int64_t>(norms.size());
      for (int64_t j = 0; j < n; ++j)
        text += line(
            with(cell_fields(*entry.cell), {moment, number(n), number(j + 1), number(n - 1 - j),
                                            number(norms[static_cast<size_t>(j)])}));
    };
    add("start", entry.result->gradients.start);
    add("end", entry.result->gradients.end);
  }
  return text.empty() ? "" : head + text;
}

}  // namespace lookback
