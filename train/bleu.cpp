#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

using Counts = std::map<std::vector<Id>, int64_t>;

Counts grams(const std::vector<Id>& tokens, size_t n) {
  Counts out;
  for (size_t i = 0; i + n <= tokens.size(); ++i)
    ++out[std::vector<Id>(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                          tokens.begin() + static_cast<std::ptrdiff_t>(i + n))];
  return out;
}

}  // namespace

double bleu(const std::vector<std::vector<Id>>& hypotheses,
            const std::vector<std::vector<Id>>& references) {
  if (hypotheses.size() != references.size())
    fail("[bleu] {} hypotheses for {} references", hypotheses.size(), references.size());
  double log_precision = 0, hypothesis_length = 0, reference_length = 0;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    hypothesis_length += static_cast<double>(hypotheses[i].size());
    reference_length += static_cast<double>(references[i].size());
  }
  for (size_t n = 1; n <= 4; ++n) {
    int64_t matches = 0, total = 0;
    for (size_t i = 0; i < hypotheses.size(); ++i) {
      Counts reference = grams(references[i], n);
      for (const auto& [gram, count] : grams(hypotheses[i], n)) {
        auto found = reference.find(gram);
        if (found != reference.end()) matches += std::min(count, found->second);
        total += count;
      }
    }
    if (matches == 0) return 0;
    log_precision += std::log(static_cast<double>(matches) / static_cast<double>(total)) / 4;
  }
  double brevity = std::min(0.0, 1 - reference_length / hypothesis_length);
  return 100 * std::exp(log_precision + brevity);
}

}  // namespace lookback
