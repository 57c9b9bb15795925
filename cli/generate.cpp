#include <filesystem>

#include "cli/cli.h"
#include "core/files.h"
#include "core/log.h"
#include "train/dataset.h"
#include "train/tasks.h"

namespace lookback::cli {
namespace {

struct Options {
  std::string task, split = "train", output;
  std::vector<std::string> settings;
  std::optional<uint64_t> seed;
  int64_t examples = 1000;
};

std::shared_ptr<const Task> make_task(const Options& options) {
  const TaskFactory& factory = lookback::tasks().get(options.task);
  Config given = Config::of_map(), resolved;
  for (const std::string& setting : options.settings) given.set(setting);
  Section section(given, resolved);
  std::shared_ptr<const Task> task = factory(section);
  refuse_unknown(given, resolved);
  return task;
}

/// Fresh examples of a split; neighbours have different lengths.
std::vector<Example> fresh(const Task& task, Split split, uint64_t held_out_seed, uint64_t seed,
                           int64_t count) {
  std::vector<int64_t> lengths = lengths_with(task, split, held_out_seed);
  std::vector<Example> examples;
  for (int64_t i = 0; i < count; ++i) {
    Random random({.seed = seed,
                   .purpose = purpose("generate"),
                   .step = static_cast<uint64_t>(split),
                   .index = static_cast<uint64_t>(i)});
    int64_t length = lengths[static_cast<size_t>(i) % lengths.size()];
    examples.push_back(draw(task, split, held_out_seed, length, random));
  }
  return examples;
}

std::vector<Example> make_examples(const Options& options,
                                   const std::shared_ptr<const Task>& task) {
  TaskDataOptions data;
  data.task = task;
  Split split = Split::kTrain;
  for (Split s : {Split::kValid, Split::kTest})
    if (options.split == split_name(s)) split = s;
  if (split == Split::kTrain || options.seed)
    return fresh(*task, split, data.held_out_seed, options.seed.value_or(1), options.examples);
  // The very set that training validates on, or that `evaluate` measures.
  data.held_out_examples = options.examples;
  return make_task_dataset(data, 1, {})->held_out(split);
}

/// Both files or none: where the second cannot be written, the first is what it was.
void write_pair(const std::string& prefix, const std::string& source, const std::string& target) {
  std::string path = prefix + ".source";
  std::optional<std::string> before;
  if (std::filesystem::exists(path)) before = read_file(path);
  write_file(path, source);
  try {
    write_file(prefix + ".target", target);
  } catch (...) {
    std::error_code ignored;
    if (before)
      write_file(path, *before);
    else
      std::filesystem::remove(path, ignored);
    throw;
  }
}

}  // namespace

int generate(const Words& words) {
  Options options;
  Arguments arguments(
      "generate",
      "Writes examples of a made-up task as text: to PREFIX.source and PREFIX.target, or source, "
      "tab, target\n"
      "to standard output. Lengths are spread evenly; no example of one split occurs in another.",
      "  lookback generate copy --examples 5\n"
      "  lookback generate reverse --set symbols=50 --set max_length=25 --examples 40000 --output "
      "train");
  arguments.needed("TASK", options.task, "A task by name; `lookback tasks` lists them");
  arguments.texts("--set", "KEY=VALUE", options.settings,
                  "An option of the task, like symbols=50; may be repeated");
  arguments.whole("--examples", options.examples, between(1, 1e7), "How many (default 1000)");
  arguments.choice("--split", options.split, {"train", "valid", "test"},
                   "Which split to draw from (default train)");
  arguments.seed("--seed", options.seed,
                 "Fresh examples by this seed. Without it: train uses seed 1; valid and test are "
                 "the fixed sets\n"
                 "that training and evaluate use");
  arguments.text("--output", "PREFIX", options.output, "Write PREFIX.source and PREFIX.target");
  if (!arguments.parse(words)) return 0;

  std::shared_ptr<const Task> task = make_task(options);
  std::vector<Example> examples = make_examples(options, task);
  const bool to_files = !options.output.empty();
  std::string pairs, sources, targets;
  for (const Example& example : examples) {
    std::string source = task->source_vocabulary().decode(example.source);
    std::string target = task->target_vocabulary().decode(example.target);
    if (to_files) {
      sources += source + "\n";
      targets += target + "\n";
    } else {
      pairs += source + "\t" + target + "\n";
    }
  }
  if (!to_files) {
    print(pairs);
    return 0;
  }
  write_pair(options.output, sources, targets);
  log_info("{} ({}, {} split): {}.source and {}.target",
           counted(static_cast<int64_t>(examples.size()), "example"), task->description(),
           options.split, options.output, options.output);
  return 0;
}

}  // namespace lookback::cli
