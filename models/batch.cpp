#include "models/batch.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace lookback {
namespace {

/// Fills the source side: each sentence, its end mark, then padding.
void fill_source(Batch& batch, int64_t count, auto&& sentence) {
  int64_t longest = 0;
  for (int64_t b = 0; b < count; ++b) {
    batch.source_lengths.push_back(static_cast<int64_t>(sentence(b).size()) + 1);
    longest = std::max(longest, batch.source_lengths.back());
  }
  batch.source = IdMatrix(count, longest, kPad);
  for (int64_t b = 0; b < count; ++b) {
    const std::vector<Id>& ids = sentence(b);
    std::copy(ids.begin(), ids.end(), &batch.source.at(b, 0));
    batch.source.at(b, static_cast<int64_t>(ids.size())) = kEnd;
  }
}

/// The chosen rows of a matrix, cut to `columns`.
IdMatrix take(const IdMatrix& from, std::span<const int64_t> rows, int64_t columns) {
  IdMatrix out(static_cast<int64_t>(rows.size()), columns, kPad);
  for (int64_t i = 0; i < out.rows; ++i) {
    const Id* row = from.values.data() + rows[i] * from.columns;
    std::copy(row, row + columns, out.values.data() + i * columns);
  }
  return out;
}

Lengths take(const Lengths& from, std::span<const int64_t> rows) {
  Lengths out;
  for (int64_t row : rows) out.push_back(from[row]);
  return out;
}

}  // namespace

int64_t Batch::target_tokens() const {
  return std::accumulate(target_lengths.begin(), target_lengths.end(), int64_t{0});
}

Batch make_batch(std::span<const Example> examples) {
  if (examples.empty()) fail("[make_batch] no examples; a batch holds at least one");
  Batch batch;
  int64_t count = static_cast<int64_t>(examples.size()), longest = 0;
  fill_source(batch, count,
              [&](int64_t b) -> const std::vector<Id>& { return examples[b].source; });
  for (const Example& example : examples) {
    batch.target_lengths.push_back(static_cast<int64_t>(example.target.size()) + 1);
    longest = std::max(longest, batch.target_lengths.back());
  }
  batch.decoder_input = IdMatrix(count, longest, kPad);
  batch.target = IdMatrix(count, longest, kPad);
  for (int64_t b = 0; b < count; ++b) {
    const std::vector<Id>& ids = examples[b].target;
    int64_t length = static_cast<int64_t>(ids.size());
    batch.decoder_input.at(b, 0) = kBegin;
    for (int64_t t = 0; t < length; ++t) {
      batch.decoder_input.at(b, t + 1) = ids[t];
      batch.target.at(b, t) = ids[t];
    }
    batch.target.at(b, length) = kEnd;
  }
  return batch;
}

Batch make_source_batch(std::span<const std::vector<Id>> sources) {
  if (sources.empty()) fail("[make_source_batch] no sentences; a batch holds at least one");
  Batch batch;
  fill_source(batch, static_cast<int64_t>(sources.size()),
              [&](int64_t b) -> const std::vector<Id>& { return sources[b]; });
  return batch;
}

Batch select(const Batch& batch, std::span<const int64_t> rows) {
  if (rows.empty()) fail("[select] no rows; a batch holds at least one sentence");
  for (int64_t row : rows) {
    if (row < 0 || row >= batch.size())
      fail("[select] row {} of a batch of {}; rows are 0 to {}", row, batch.size(),
           batch.size() - 1);
  }
  Batch out;
  out.source_lengths = take(batch.source_lengths, rows);
  out.source = take(batch.source, rows,
                    *std::max_element(out.source_lengths.begin(), out.source_lengths.end()));
  if (batch.target.rows == 0) return out;  // made for decoding: it has no target side
  out.target_lengths = take(batch.target_lengths, rows);
  int64_t longest = *std::max_element(out.target_lengths.begin(), out.target_lengths.end());
  out.decoder_input = take(batch.decoder_input, rows, longest);
  out.target = take(batch.target, rows, longest);
  return out;
}

}  // namespace lookback
