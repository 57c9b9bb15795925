#include "train/corpus.h"

#include <utility>

#include "core/error.h"
#include "core/files.h"

namespace lookback {
namespace {

TextPair read_pair(Section& corpus, const std::string& key) {
  TextPair pair;
  Section section = corpus.section(key);
  for (auto [side, path] : {std::pair("source", &pair.source), std::pair("target", &pair.target)}) {
    if (!section.has(side)) section.refuse(side, "missing; name a text file, one sentence a line");
    section.read_path(side, *path);
    if (path->empty()) section.refuse(side, "empty; name a text file, one sentence a line");
  }
  return pair;
}

std::vector<std::string> read_side(const std::string& path) {
  std::vector<std::string> lines = read_lines(path);
  if (lines.empty()) fail_user("{}: the file is empty; expected one sentence a line", path);
  return lines;
}

void count_words(const std::vector<std::string>& lines, WordCounts& counts) {
  for (const std::string& line : lines) {
    for (std::string_view word : split_words(line)) {
      auto found = counts.find(word);
      if (found == counts.end()) found = counts.emplace(std::string(word), 0).first;
      ++found->second;
    }
  }
}

}  // namespace

void read(Section& section, CorpusOptions& options) {
  options.train = read_pair(section, "train");
  options.valid = read_pair(section, "valid");
  if (section.has("test")) options.test = read_pair(section, "test");
  section.read_choice("level", options.level, {"word"});
  section.read("min_frequency", options.min_frequency, at_least(1));
  section.read("max_vocabulary", options.max_vocabulary, at_least(0));
  section.read("max_length", options.max_length, at_least(1));
  section.read("joint_vocabulary", options.joint_vocabulary);
}

ParallelText read_text(const TextPair& files) {
  ParallelText text;
  text.source = read_side(files.source);
  text.target = read_side(files.target);
  if (text.source.size() != text.target.size())
    fail_user("{} has {} lines but {} has {}; parallel text needs as many lines on both sides",
              files.source, text.source.size(), files.target, text.target.size());
  return text;
}

ParallelText read_training_text(const TextPair& files, int64_t max_length) {
  ParallelText all = read_text(files), kept;
  size_t most = static_cast<size_t>(max_length);
  for (size_t i = 0; i < all.source.size(); ++i) {
    size_t source = split_words(all.source[i]).size(), target = split_words(all.target[i]).size();
    if (source == 0 || target == 0) {
      ++kept.dropped_empty;
    } else if (source > most || target > most) {
      ++kept.dropped_long;
    } else {
      kept.source.push_back(std::move(all.source[i]));
      kept.target.push_back(std::move(all.target[i]));
      kept.lines.push_back(static_cast<int64_t>(i) + 1);
    }
  }
  if (kept.size() == all.size()) kept.lines.clear();
  if (kept.source.empty())
    fail_user(
        "{}, {}: no training pair is left: {} with a side of more than {} words, {} with an empty "
        "side; raise data.corpus.max_length or give other text",
        files.source, files.target, kept.dropped_long, max_length, kept.dropped_empty);
  return kept;
}

Vocabularies build_vocabularies(const ParallelText& text, const TextPair& files,
                                const CorpusOptions& options) {
  VocabularyLimits limits{.min_frequency = options.min_frequency,
                          .max_size = options.max_vocabulary};
  WordCounts source, target;
  count_words(text.source, source);
  count_words(text.target, options.joint_vocabulary ? source : target);
  if (options.joint_vocabulary) {
    Vocabulary both =
        Vocabulary::from_counts(source, limits, format("{}, {}", files.source, files.target));
    return {both, both};
  }
  return {Vocabulary::from_counts(source, limits, files.source),
          Vocabulary::from_counts(target, limits, files.target)};
}

std::vector<Example> encode(const ParallelText& text, const Vocabulary& source,
                            const Vocabulary& target) {
  std::vector<Example> examples(text.source.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    examples[i].source = source.encode(text.source[i]);
    examples[i].target = target.encode(text.target[i]);
  }
  return examples;
}

}  // namespace lookback
