#include "train/tasks.h"

#include <algorithm>

#include "cli/cli.h"
#include "core/numbers.h"

namespace lookback::cli {
namespace {

/// The value of an option as a JSON number, truth value or text.
Json value_of(const Config& config) {
  const std::string& text = config.scalar();
  if (!config.quoted()) {
    if (auto whole = parse_whole(text)) return *whole;
    if (auto number = parse_number(text)) return *number;
    if (text == "true" || text == "false") return text == "true";
  }
  return text;
}

/// A task with all its defaults.
Json describe(const std::string& name, const Registry<TaskFactory>::Entry& entry) {
  Config given = Config::of_map(), resolved;
  Section section(given, resolved);
  std::unique_ptr<Task> task = entry.factory(section);
  Json options = Json::object();
  for (const auto& [key, value] : resolved.fields()) options[key] = value_of(value);
  int64_t length = std::clamp<int64_t>(5, task->min_length(), task->max_length());
  Random random({.seed = 1, .purpose = purpose("tasks.example")});
  Example example = task->sample(length, random);
  return {{"name", name},
          {"description", entry.description},
          {"options", options},
          {"example",
           {{"source", task->source_vocabulary().decode(example.source)},
            {"target", task->target_vocabulary().decode(example.target)}}}};
}

void print_text(const Json& all) {
  std::string text;
  for (const Json& task : all) {
    std::string options, set = "type: " + task["name"].get<std::string>();
    for (const auto& [key, value] : task["options"].items())
      set += format(", {}: {}", key, json_text(value));
    text +=
        format("{}: {}\n", task["name"].get<std::string>(), task["description"].get<std::string>());
    text += format("  data: {{task: {{{}}}}}\n", set);
    text += format("  {}  ->  {}\n\n", task["example"]["source"].get<std::string>(),
                   task["example"]["target"].get<std::string>());
  }
  print(text + "lookback generate TASK --set symbols=8 --examples 5 writes examples as text.\n");
}

}  // namespace

int tasks(const Words& words) {
  bool json = false;
  Arguments arguments(
      "tasks", "The made-up tasks that are built in: options with their defaults, and an example.",
      "  lookback tasks\n  lookback tasks --json");
  arguments.flag("--json", json,
                 "Print one JSON object: {tasks: [{name, description, options, example}]}");
  if (!arguments.parse(words)) return 0;

  Json all = Json::array();
  for (const auto& [name, entry] : lookback::tasks().entries())
    all.push_back(describe(name, entry));
  if (json) {
    print_json({{"tasks", all}});
  } else {
    print_text(all);
  }
  return 0;
}

}  // namespace lookback::cli
