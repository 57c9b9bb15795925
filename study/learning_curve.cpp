#include "study/learning_curve.h"

#include <cmath>
#include <fstream>
#include <map>
#include <optional>

#include "core/json.h"
#include "study/statistics.h"

namespace lookback {

LearningCurve read_learning_curve(const std::string& run_folder) {
  LearningCurve out;
  std::ifstream file(run_folder + "/metrics.jsonl");
  double elapsed = 0;
  for (std::string text; std::getline(file, text);) {
    Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) continue;
    auto number = [&](const char* key) {
      return line.contains(key) && line[key].is_number() ? line[key].get<double>() : std::nan("");
    };
    std::string event =
        line.contains("event") && line["event"].is_string() ? line["event"].get<std::string>() : "";
    double now = number("elapsed_s");
    if (now < elapsed) out.seconds += elapsed;  // a resumed run counts from 0 again
    if (std::isfinite(now)) elapsed = now;
    if (event == "train") {
      out.train_step.push_back(number("step"));
      out.train_nll.push_back(number("nll"));
    } else if (event == "validate") {
      out.valid_step.push_back(number("step"));
      out.valid_nll.push_back(number("nll"));
      out.valid_sequence_accuracy.push_back(number("sequence_accuracy"));
    }
  }
  out.seconds += elapsed;
  return out;
}

Series mean_curve(const std::string& name, const std::vector<LearningCurve>& runs, bool accuracy) {
  std::map<double, std::vector<double>> by_step;
  for (const LearningCurve& run : runs)
    for (size_t i = 0; i < run.valid_step.size(); ++i)
      by_step[run.valid_step[i]].push_back(accuracy ? run.valid_sequence_accuracy[i]
                                                    : run.valid_nll[i]);
  Series series{.name = name, .points = {}};
  for (const auto& [step, values] : by_step)
    if (values.size() == runs.size()) series.points.emplace_back(step, mean_interval(values).mean);
  return series;
}

}  // namespace lookback
