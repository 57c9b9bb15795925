#include <algorithm>
#include <cctype>

#include "core/config.h"
#include "core/log.h"

namespace lookback {

namespace {

std::string lower(const std::string& text) {
  std::string out = text;
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Damerau-Levenshtein distance (optimal string alignment): how many letters must be put in, left
/// out, replaced, or swapped with their neighbour.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// The maps in which a key is known, as dotted paths; `out` grows.
void find_key(const Config& resolved, const std::string& key, const std::string& path,
              std::vector<std::string>& out) {
  for (const auto& [name, value] : resolved.fields()) {
    std::string here = path.empty() ? name : path + "." + name;
    if (name == key) out.push_back(here);
    find_key(value, key, here, out);
  }
}

bool set_by_hand(const Config* value) {
  return value && value->place().starts_with("--set ");
}

void refuse_unknown(const Config& source, const Config& resolved, const Config& root,
                    const std::string& path) {
  std::vector<std::string> known;
  for (const auto& [key, value] : resolved.fields()) known.push_back(key);
  for (const auto& [key, value] : source.fields()) {
    std::string here = path.empty() ? key : path + "." + key;
    if (const Config* found = resolved.find(key)) {
      refuse_unknown(value, *found, root, here);
      continue;
    }
    // `--set train.steps=null` takes a key of the file away.
    if (value.kind() == Config::Kind::kNone && set_by_hand(&value)) continue;
    if (set_by_hand(source.find("type")) && !set_by_hand(&value)) {
      log_warn("{}: {} does not apply to type {} and is left out", value.place(), here,
               source.find("type")->scalar());
      continue;
    }
    std::string text = value.place();
    if (text != "--set " + here) text += ": " + here;
    text += ": unknown key";
    std::vector<std::string> elsewhere;
    find_key(root, key, "", elsewhere);
    std::string near = nearest(key, known);
    if (!near.empty()) {
      text += format("; did you mean \"{}\"?", near);
    } else if (elsewhere.size() == 1) {
      text += format("; did you mean {}?", elsewhere[0]);
    }
    text += known.empty() ? " (no key is known here)" : format(" (known: {})", list(known));
    throw UserError(text);
  }
}

}  // namespace

void refuse_misspelt(const Config& source, const Config& resolved) {
  std::vector<std::string> missed;  // what was asked for and is not there
  for (const auto& [key, value] : resolved.fields())
    if (!source.find(key)) missed.push_back(key);
  for (const auto& [key, value] : source.fields()) {
    if (const Config* found = resolved.find(key)) refuse_misspelt(value, *found);
    std::string near = resolved.find(key) ? "" : nearest(key, missed);
    if (!near.empty())
      fail_user("{}: {}: unknown key; did you mean \"{}\"?", value.place(), key, near);
  }
}

void refuse_unknown(const Config& source, const Config& resolved) {
  // A list or a scalar where a map is known has been refused by whoever read it, or was replaced by
  // record(); only maps have keys to hold against.
  refuse_unknown(source, resolved, resolved, "");
}

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  std::string typed = lower(name), best;
  const size_t limit = std::max<size_t>(1, typed.size() / 3);
  size_t best_distance = limit + 1;
  for (const std::string& candidate : known) {
    std::string word = lower(candidate);
    size_t d = distance(typed, word);
    // The beginning of a name (`optim`) counts as near, yet less than a slip of one letter.
    if (typed.size() >= 3 && word.starts_with(typed)) d = std::min(d, limit);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string unknown_name(const std::string& kind, const std::string& name,
                         const std::vector<std::string>& known) {
  std::string near = nearest(name, known);
  std::string text = format("unknown {} \"{}\"", kind, name);
  if (!near.empty()) text += format("; did you mean \"{}\"?", near);
  return text + format(" (known: {})", list(known));
}

}  // namespace lookback
