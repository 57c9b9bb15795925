#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "autograd/ops.h"
#include "core/allocator.h"
#include "core/gemm.h"
#include "nn/recurrent.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kUnits = 64, kRecurrentBatch = 16;

/// One forward pass that can be repeated.
struct Subject {
  ComplexityMeasured::Row row;
  std::function<Variable()> forward;
  Numbers milliseconds;
};

/// What does not change from one pass to the next.
void count(Subject& subject) {
  uint64_t flops = gemm_flops(), before = memory_counts().in_use_bytes;
  reset_memory_peak();
  Variable result = subject.forward();
  subject.row.flops = gemm_flops() - flops;
  subject.row.bytes = memory_counts().peak_bytes - before;
}

/// Short passes are repeated, so that a busy machine's pauses fall on all lengths alike.
void time(Subject& subject) {
  constexpr double kLeast = 40;  // milliseconds
  auto begin = std::chrono::steady_clock::now();
  double passes = 0, taken = 0;
  while (taken < kLeast) {
    subject.forward();
    ++passes;
    taken =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  subject.milliseconds.push_back(taken / passes);
}

/// Forward as training runs it: with the weights kept for backward.
Subject attention(int64_t batch, int64_t head_count, int64_t length, int64_t units, uint64_t seed) {
  Variable x(normals({batch, length, 3 * units}, seed, "attention"), true);
  int64_t size = units / head_count;
  return {.row = {.length = length, .units = units},
          .forward =
              [=] {
                return dot_product_attention(heads(x, head_count, size),
                                             heads(x, head_count, size, units),
                                             heads(x, head_count, size, 2 * units),
                                             {.way = AttentionWay::kMaterialised})
                    .context;
              },
          .milliseconds = {}};
}

Subject recurrent(const std::shared_ptr<Recurrent>& layer, int64_t length, uint64_t seed) {
  Variable x = normals({kRecurrentBatch, length, kUnits}, seed, "recurrent");
  Lengths lengths(kRecurrentBatch, length);
  return {.row = {.length = length, .units = kUnits},
          .forward = [=] { return (*layer)(x, lengths, {}, {}).states; },
          .milliseconds = {}};
}

}  // namespace

ComplexityMeasured measure_complexity(const LabOptions& options) {
  return measure_complexity_to(8192, options);
}

ComplexityMeasured measure_complexity_to(int64_t longest, const LabOptions& options) {
  auto layer = std::make_shared<Recurrent>(
      Recurrent::Options{.cell = "rnn", .input = kUnits, .hidden = kUnits});
  draw_parameters(*layer, options.seed);
  std::vector<Subject> narrow_heads, wide, chains;
  for (int64_t length = 256; length <= longest; length *= 2) {
    narrow_heads.push_back(attention(1, 1, length, kUnits, options.seed));
    chains.push_back(recurrent(layer, length, options.seed));
    if (length * 2 >= longest) wide.push_back(attention(1, 1, length, 2 * kUnits, options.seed));
  }
  ComplexityMeasured out;
  out.batch = 2;
  out.heads = 4;
  Subject many = attention(out.batch, out.heads, 512, kUnits, options.seed);
  count(many);
  out.many = many.row;

  std::vector<std::vector<Subject>*> groups{&narrow_heads, &wide, &chains};
  for (std::vector<Subject>* group : groups)
    for (Subject& subject : *group) {
      give_up_if_stopped(options);
      count(subject);
    }
  // Round after round over all lengths: what slows the machine for a while slows all of them.
  for (int round = 0; round < (options.full ? 25 : 5); ++round)
    for (std::vector<Subject>* group : groups)
      for (Subject& subject : *group) {
        give_up_if_stopped(options);
        time(subject);
      }
  auto rows = [](std::vector<Subject>& group, std::vector<ComplexityMeasured::Row>& into) {
    for (Subject& subject : group) {
      subject.row.milliseconds = median(subject.milliseconds);
      into.push_back(subject.row);
    }
  };
  rows(narrow_heads, out.attention);
  rows(wide, out.wide);
  rows(chains, out.recurrent);
  if (!options.full) out.left_out = "25 rounds of timing instead of 5";
  return out;
}

namespace {

using Rows = std::vector<ComplexityMeasured::Row>;

template <class Field>
double fitted(const Rows& rows, Field field) {
  Numbers x, y;
  for (const auto& row : rows) {
    x.push_back(static_cast<double>(row.length));
    y.push_back(static_cast<double>(row.*field));
  }
  return exponent(x, y);
}

Json numbers(const Rows& rows) {
  Json out = Json::array();
  for (const auto& row : rows)
    out.push_back({{"t", row.length},
                   {"d", row.units},
                   {"flops", row.flops},
                   {"peak_bytes", row.bytes},
                   {"milliseconds", row.milliseconds}});
  return out;
}

template <class Number>
double ratio(Number a, Number b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

uint64_t operations(int64_t batch, int64_t length, int64_t units) {
  return static_cast<uint64_t>(4 * batch * length * length * units);
}

}  // namespace

LabReport judge(const ComplexityMeasured& m) {
  using Row = ComplexityMeasured::Row;
  Judge judge;
  size_t exact = 0;
  for (const Row& row : m.attention) exact += row.flops == operations(1, row.length, row.units);
  for (const Row& row : m.wide) exact += row.flops == operations(1, row.length, row.units);
  size_t sizes = m.attention.size() + m.wide.size();
  const Row &half = m.attention.at(m.attention.size() - 2), &last = m.attention.back(),
            &wide = m.wide.back();
  judge.exactly(format("operations, T = {}, d = {}", last.length, last.units),
                operations(1, last.length, last.units), last.flops);
  judge.exactly(format("operations, B = {}, H = {}, T = {}, d = {}", m.batch, m.heads,
                       m.many.length, m.many.units),
                operations(m.batch, m.many.length, m.many.units), m.many.flops);
  judge.check("4 B T^2 d to the operation", format("at all {} sizes", sizes),
              format("at {}", exact), exact == sizes);
  std::string longer = format("T {} -> {}", half.length, last.length);
  judge.near(longer + ": operations x", 4, ratio(last.flops, half.flops), 0);
  judge.near(longer + ", d x 2: operations x", 8, ratio(wide.flops, half.flops), 0);
  // Beside the scores stands what the products lay out for themselves, which does not grow with T.
  judge.near(longer + ": memory x", 4, ratio(last.bytes, half.bytes), 0.4);
  judge.near(longer + ", d x 2: memory x", 4, ratio(wide.bytes, half.bytes), 0.4);
  // Time is what a shared machine makes of it: bands, and the fit over all lengths.
  auto times = [&](const std::string& what, const char* claimed, double low, double high,
                   double measured) {
    judge.check(what, format("{}, in {} to {}", claimed, low, high), short_text(measured),
                measured >= low && measured <= high);
  };
  times(longer + ": time x", "4", 2.8, 5.7, ratio(last.milliseconds, half.milliseconds));
  times(longer + ", d x 2: time x", "8", 4, 11.5, ratio(wide.milliseconds, half.milliseconds));
  std::string range = format("T = {} to {}", m.attention.front().length, last.length);
  judge.between("attention, " + range + ": time ~ T^k, k", 1.7, 2.3,
                fitted(m.attention, &Row::milliseconds));
  judge.between("attention: memory ~ T^k, k", 1.75, 2.05, fitted(m.attention, &Row::bytes));
  judge.between("RNN: operations ~ T^k, k", 0.98, 1.02, fitted(m.recurrent, &Row::flops));
  judge.between("RNN: time ~ T^k, k", 0.8, 1.2, fitted(m.recurrent, &Row::milliseconds));
  judge.between("RNN: memory ~ T^k, k", 0.9, 1.1, fitted(m.recurrent, &Row::bytes));
  judge.numbers() = {{"attention", numbers(m.attention)},
                     {"attention_wide", numbers(m.wide)},
                     {"attention_many_heads", numbers({m.many})},
                     {"rnn", numbers(m.recurrent)},
                     {"time_exponent", fitted(m.attention, &Row::milliseconds)},
                     {"rnn_time_exponent", fitted(m.recurrent, &Row::milliseconds)}};
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
