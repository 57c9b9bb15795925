#include <algorithm>
#include <cmath>

#include "core/allocator.h"
#include "nn/multi_head_attention.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kBatch = 4, kHeads = 8, kSize = 16, kWidth = kHeads * kSize;

/// Decodes token by token; what the cache holds at the end, in bytes.
uint64_t decode(const MultiHeadAttention& layer, const Tensor& x, Tensor& outputs) {
  int64_t tokens = x.size(1);
  uint64_t before = memory_counts().in_use_bytes;
  Variable cache = Tensor::zeros({kBatch, 0, layer.cache_width()});
  for (int64_t t = 0; t < tokens; ++t) {
    Tensor y = layer.next(narrow(x, 1, t, 1), cache).value();
    for (int64_t b = 0; b < kBatch; ++b)
      std::copy_n(y.data() + b * kWidth, kWidth, outputs.data() + (b * tokens + t) * kWidth);
  }
  return memory_counts().in_use_bytes - before;
}

/// The layer with one key and value head for each query head that gives what `few` gives: each of
/// its key and value heads stands once for every query head that shares it.
void repeat_heads(const MultiHeadAttention& few, int64_t pairs, MultiHeadAttention& all) {
  for (const char* name : {"out_proj.weight", "out_proj.bias"})
    parameter_of(all, name).leaf_value().copy_from(parameter_of(few, name).value());
  for (const char* name : {"in_proj_weight", "in_proj_bias"}) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < kWidth; ++row) rows.push_back(row);
    for (int64_t part = 0; part < 2; ++part)  // keys, then values
      for (int64_t head = 0; head < kHeads; ++head)
        for (int64_t i = 0; i < kSize; ++i)
          rows.push_back(kWidth + (part * pairs + head / (kHeads / pairs)) * kSize + i);
    parameter_of(all, name).leaf_value().copy_from(parameter_of(few, name).value().take(rows));
  }
}

CacheMeasured::Row measure(int64_t pairs, const Tensor& x, uint64_t seed) {
  MultiHeadAttention few({.width = kWidth, .heads = kHeads, .key_value_heads = pairs});
  MultiHeadAttention all({.width = kWidth, .heads = kHeads});
  draw_parameters(few, seed);
  draw_parameters(all, seed);
  repeat_heads(few, pairs, all);
  Tensor got(x.shape()), repeated(x.shape());
  CacheMeasured::Row row{.pairs = pairs};
  row.bytes = decode(few, x, got);
  decode(all, x, repeated);
  row.repeated = largest_difference(got, repeated);
  row.unbroken =
      largest_difference(got, few.self(x, {.mask = Mask::causal(), .pass = {}}).context.value());
  return row;
}

}  // namespace

CacheMeasured measure_cache(const LabOptions& options) {
  NoGrad quiet;
  CacheMeasured out;
  out.batch = kBatch;
  out.heads = kHeads;
  out.size = kSize;
  out.tokens = options.full ? 512 : 64;
  Tensor x = normals({kBatch, out.tokens, kWidth}, options.seed, "x");
  for (int64_t pairs : {kHeads, kHeads / 2, int64_t{1}}) {
    give_up_if_stopped(options);
    out.rows.push_back(measure(pairs, x, options.seed));
  }
  if (!options.full) out.left_out = "512 tokens instead of 64";
  return out;
}

LabReport judge(const CacheMeasured& m) {
  Judge judge;
  Json rows = Json::array();
  for (const auto& row : m.rows) {
    uint64_t claimed =
        static_cast<uint64_t>(m.batch * m.tokens * 2 * row.pairs * m.size) * sizeof(Real);
    // Beside the numbers themselves stands what manages their memory, some tens of bytes.
    judge.check(
        format("n_kv = {}: bytes held", row.pairs), grouped(claimed) + " within 1%",
        grouped(row.bytes),
        std::abs(static_cast<double>(row.bytes) / static_cast<double>(claimed) - 1) <= 0.01);
    rows.push_back({{"n_kv", row.pairs},
                    {"bytes", row.bytes},
                    {"off_repeated_heads", row.repeated},
                    {"off_causal_self_attention", row.unbroken}});
  }
  for (const auto& row : m.rows) {
    if (row.pairs == m.heads) continue;
    // Each step reads the whole cache once, so the bytes that it must fetch fall alike.
    judge.within_share(format("n_kv = {}: less to hold, and to read a step, by", row.pairs),
                       static_cast<double>(m.heads) / static_cast<double>(row.pairs),
                       static_cast<double>(m.rows.front().bytes) / static_cast<double>(row.bytes),
                       0.01);
  }
  for (const auto& row : m.rows) {
    if (row.pairs == m.heads) continue;
    judge.at_most(format("n_kv = {}: outputs off repeated heads", row.pairs), 1e-5, row.repeated);
  }
  for (const auto& row : m.rows)
    judge.at_most(format("n_kv = {}: outputs off attention at once", row.pairs), 1e-5,
                  row.unbroken);
  judge.numbers() = {{"batch", m.batch},
                     {"heads", m.heads},
                     {"head_units", m.size},
                     {"tokens", m.tokens},
                     {"rows", rows}};
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
