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
  // A short one, but not so short that it shows nothing.
  std::vector<int64_t> lengths = possible_lengths(*task);
  auto length = std::lower_bound(lengths.begin(), lengths.end() - 1, 5);
  Random random({.seed = 1, .purpose = purpose("tasks.example")});
  Example example = task->sample(*length, random);
  return {{"name", name},
          {"description", entry.description},
          {"options", options},
          {"example",
           {{"source", task->source_vocabulary().decode(example.source)},
            {"target", task->target_vocabulary().decode(example.target)}}}};
}

/// A long sentence without its middle.
std::string shown(const Json& sentence) {
  std::string text = sentence.get<std::string>();
  std::vector<std::string_view> words = split_words(text);
  if (words.size() <= 14) return text;
  std::string out;
  for (size_t i = 0; i < 8; ++i) out += format("{} ", words[i]);
  out += format("... ({} more) ...", words.size() - 10);
  for (size_t i = words.size() - 2; i < words.size(); ++i) out += format(" {}", words[i]);
  return out;
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
    text += format("  {}  ->  {}\n\n", shown(task["example"]["source"]),
                   shown(task["example"]["target"]));
  }
  print(text + "lookback generate copy --set symbols=8 --examples 5 writes examples as text.\n");
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
