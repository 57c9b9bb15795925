#include "train/vocabulary.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace lookback {
namespace {

constexpr std::array<const char*, kMarks> kMarkTokens = {"<pad>", "<unk>", "<bos>", "<eos>"};

bool is_mark(std::string_view word) {
  return std::find(kMarkTokens.begin(), kMarkTokens.end(), word) != kMarkTokens.end();
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0;;) {
    size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) return words;
    at = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
}

Vocabulary::Vocabulary(const std::vector<std::string>& words)
    : tokens_(kMarkTokens.begin(), kMarkTokens.end()) {
  for (const std::string& word : words) {
    if (word.empty() || word.find_first_of(" \t\n") != std::string::npos)
      fail("[vocabulary] word {}: \"{}\" is empty or holds a blank or a line end", size(), word);
    if (is_mark(word)) fail("[vocabulary] word {} is spelled like the mark {}", size(), word);
    if (!ids_.emplace(word, static_cast<Id>(size())).second)
      fail("[vocabulary] the word \"{}\" occurs twice", word);
    tokens_.push_back(word);
  }
}

Vocabulary Vocabulary::from_counts(const WordCounts& counts, const VocabularyLimits& limits,
                                   const std::string& text) {
  std::vector<std::pair<int64_t, std::string>> kept;
  int64_t most = 0;
  for (const auto& [word, count] : counts) {
    if (is_mark(word)) continue;
    most = std::max(most, count);
    if (count >= limits.min_frequency) kept.emplace_back(count, word);
  }
  if (kept.empty())
    fail_user(
        "{}: the vocabulary is empty: no word occurs {} times or more (the most frequent occurs "
        "{}); lower min_frequency or give more text",
        text, limits.min_frequency, most);
  // The counts come sorted by their words, so a stable sort leaves ties in the order of bytes.
  std::stable_sort(kept.begin(), kept.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (limits.max_size > 0 && static_cast<int64_t>(kept.size()) > limits.max_size)
    kept.resize(static_cast<size_t>(limits.max_size));
  std::vector<std::string> words;
  for (auto& [count, word] : kept) words.push_back(std::move(word));
  return Vocabulary(words);
}

Id Vocabulary::id(std::string_view word) const {
  auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

const std::string& Vocabulary::token(Id id) const {
  if (id < 0 || id >= size())
    fail("[vocabulary] id {} in a vocabulary of {}; ids are 0 to {}", id, size(), size() - 1);
  return tokens_[static_cast<size_t>(id)];
}

std::vector<Id> Vocabulary::encode(std::string_view line) const {
  std::vector<Id> ids;
  for (std::string_view word : split_words(line)) ids.push_back(id(word));
  return ids;
}

std::string Vocabulary::decode(const std::vector<Id>& ids) const {
  std::string text;
  for (Id id : ids) {
    const std::string& word = token(id);
    if (id < kMarks && id != kUnknown) continue;
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

std::string Vocabulary::to_json() const {
  return json_text(Json(tokens_));
}

Vocabulary Vocabulary::from_json(const std::string& text, const std::string& where) {
  Json json = parse_json(text, where);
  bool list = json.is_array() && std::all_of(json.begin(), json.end(),
                                             [](const Json& item) { return item.is_string(); });
  if (!list) fail_user("{}: no vocabulary; expected a JSON list of tokens", where);
  std::vector<std::string> tokens = json;
  if (tokens.size() < kMarks || !std::equal(kMarkTokens.begin(), kMarkTokens.end(), tokens.begin()))
    fail_user("{}: no vocabulary of this program; it must begin with <pad> <unk> <bos> <eos>",
              where);
  tokens.erase(tokens.begin(), tokens.begin() + kMarks);
  try {
    return Vocabulary(tokens);
  } catch (const Error& error) {
    fail_user("{}: {}", where, error.what());
  }
}

void Vocabulary::save(const std::string& path) const {
  std::string text;
  for (const std::string& token : tokens_) text += token + '\n';
  write_file(path, text);
}

}  // namespace lookback
