#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/tasks.h"

namespace lookback::testing {

/// The task that a section `data.task` describes.
inline std::unique_ptr<Task> make_task(const std::string& yaml) {
  Config source = Config::from_text(yaml, "test.yaml"), resolved;
  Section section(source, resolved);
  std::unique_ptr<Task> task = tasks().choose(section, "type", "copy")(section);
  refuse_unknown(source, resolved);
  return task;
}

/// An example, words joined by blanks.
struct Pair {
  std::string source, target;
};
inline Pair as_text(const Task& task, const Example& example) {
  return {task.source_vocabulary().decode(example.source),
          task.target_vocabulary().decode(example.target)};
}

inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::string_view word : split_words(line)) words.emplace_back(word);
  return words;
}

}  // namespace lookback::testing
