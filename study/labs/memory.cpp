#include <cmath>

#include "autograd/ops.h"
#include "core/allocator.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kUnits = 64;

struct Results {
  Tensor context, query, keys, values;
};

struct Inputs {
  Variable query, keys, values;
  Tensor arriving;  // gradient at the context
};

Results run(const Inputs& in, AttentionWay way, bool causal, int place, MemoryMeasured::Row& row) {
  uint64_t before = memory_counts().in_use_bytes;
  reset_memory_peak();
  Variable context = dot_product_attention(heads(in.query, 1, kUnits), heads(in.keys, 1, kUnits),
                                           heads(in.values, 1, kUnits),
                                           {.mask = causal ? Mask::causal() : Mask(), .way = way})
                         .context;
  uint64_t own = static_cast<uint64_t>(context.count()) * sizeof(Real);
  row.kept[place] = memory_counts().in_use_bytes - before - own;
  Gradients gradients = backward(context, in.arriving);
  row.peak[place] = memory_counts().peak_bytes - before;
  return {context.value(), gradients.of(in.query), gradients.of(in.keys), gradients.of(in.values)};
}

double share(const Tensor& a, const Tensor& b) {
  return largest_difference(a, b) / largest_size(a);
}

MemoryMeasured::Row measure(int64_t length, bool causal, const LabOptions& options) {
  auto leaf = [&](const char* what) {
    return Variable(normals({1, length, kUnits}, options.seed, what), true);
  };
  Inputs in{leaf("query"), leaf("keys"), leaf("values"),
            normals({1, length, kUnits}, options.seed, "arriving")};
  MemoryMeasured::Row row{.length = length, .causal = causal};
  Results kept = run(in, AttentionWay::kMaterialised, causal, 0, row);
  give_up_if_stopped(options);
  Results blocks = run(in, AttentionWay::kBlockwise, causal, 1, row);
  row.output = share(kept.context, blocks.context);
  row.gradient = larger(share(kept.query, blocks.query),
                        larger(share(kept.keys, blocks.keys), share(kept.values, blocks.values)));
  return row;
}

std::string megabytes(double bytes) {
  return format("{:.1f} MB", bytes / 1e6);
}

}  // namespace

MemoryMeasured measure_memory(const LabOptions& options) {
  return measure_memory_to(8192, options);
}

MemoryMeasured measure_memory_to(int64_t longest, const LabOptions& options) {
  MemoryMeasured out;
  for (bool causal : {false, true})
    for (int64_t length = 1024; length <= longest; length *= 2) {
      if (causal && !options.full) continue;
      give_up_if_stopped(options);
      out.rows.push_back(measure(length, causal, options));
    }
  release_cached_memory();  // hundreds of megabytes that nobody after this asks for
  if (!options.full) out.left_out = "the same under a causal mask";
  return out;
}

LabReport judge(const MemoryMeasured& m) {
  Judge judge;
  Json rows = Json::array();
  Numbers peaks[2];
  double output = 0, gradient = 0;
  for (const auto& row : m.rows) {
    output = larger(output, row.output);
    gradient = larger(gradient, row.gradient);
    rows.push_back({{"t", row.length},
                    {"causal", row.causal},
                    {"kept_bytes", row.kept[0]},
                    {"kept_bytes_blockwise", row.kept[1]},
                    {"peak_bytes", row.peak[0]},
                    {"peak_bytes_blockwise", row.peak[1]},
                    {"output_difference", row.output},
                    {"gradient_difference", row.gradient}});
    if (row.causal) continue;
    double length = static_cast<double>(row.length), matrix = length * length * 4;
    double kept = static_cast<double>(row.kept[0]) * 4 / sizeof(Real);
    judge.check(format("kept for backward, T = {}", row.length),
                "T^2 x 4 bytes = " + megabytes(matrix), megabytes(kept),
                std::abs(kept / matrix - 1) <= 0.01);
    for (int way = 0; way < 2; ++way) peaks[way].push_back(static_cast<double>(row.peak[way]));
  }
  const auto& last = m.rows.back();
  double length = static_cast<double>(last.length), matrix = length * length * 2;
  double half = static_cast<double>(last.kept[0]) * 2 / sizeof(Real);
  judge.check(format("in 16 bits, by half, T = {}", last.length),
              "T^2 x 2 bytes = " + megabytes(matrix), megabytes(half),
              std::abs(half / matrix - 1) <= 0.01);
  double few = static_cast<double>(last.kept[1]);
  judge.check(format("block by block: kept, T = {}", last.length), "4 T bytes, below 0.1 MB",
              format("{:.3f} MB", few / 1e6), few < 1e5);
  judge.check(format("peaks at T = {}", last.length), "blocks below a tenth",
              format("{}, {}", megabytes(peaks[0].back()), megabytes(peaks[1].back())),
              peaks[1].back() < 0.1 * peaks[0].back());
  auto growth = [&](int way) { return peaks[way].back() / peaks[way].at(peaks[way].size() - 2); };
  // Inputs, gradients, one block of scores and what products lay out are linear in T.
  judge.check("peak, the last T x 2: x", "4, in 3.4 to 4.1", short_text(growth(0)),
              growth(0) >= 3.4 && growth(0) <= 4.1);
  judge.check("peak block by block, the last T x 2: x", "2, in 1.8 to 2.1", short_text(growth(1)),
              growth(1) >= 1.8 && growth(1) <= 2.1);
  judge.at_most("outputs differ by, as a share", 1e-4, output);
  judge.at_most("gradients differ by, as a share", 1e-4, gradient);
  judge.numbers() = {
      {"rows", rows}, {"peak_growth", growth(0)}, {"peak_growth_blockwise", growth(1)}};
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
