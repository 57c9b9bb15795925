#include <algorithm>

#include "study/labs/samples.h"
#include "study/labs/small_models.h"
#include "study/labs/trained.h"

namespace lookback {
namespace {

constexpr int64_t kLayers = 2, kHeads = 4, kWidth = 64;

/// Takes a head out of a layer while it lives: its columns of W_o are zero, so nothing of it
/// reaches the sum.
class WithoutHead {
 public:
  WithoutHead(const Module& model, const std::string& attention, int64_t head)
      : weight_(parameter_of(model, attention + ".out_proj.weight")),
        before_(weight_.value().clone()) {
    int64_t size = kWidth / kHeads;
    Tensor& w = weight_.leaf_value();
    for (int64_t row = 0; row < kWidth; ++row)
      std::fill_n(w.data() + row * kWidth + head * size, size, Real{0});
  }
  ~WithoutHead() { weight_.leaf_value().copy_from(before_); }
  WithoutHead(const WithoutHead&) = delete;
  WithoutHead& operator=(const WithoutHead&) = delete;

 private:
  Variable weight_;
  Tensor before_;
};

}  // namespace

HeadsMeasured measure_heads(const LabOptions& options) {
  SmallTask task{"{type: copy, symbols: 20, max_length: 20}"};
  std::vector<TrainResult> trained = train_all(task,
                                               {{.name = "Transformer",
                                                 .model = small_transformer(kLayers),
                                                 .rate = 2e-3,
                                                 .steps = options.full ? 900 : 500,
                                                 .seed = options.seed}},
                                               options);
  const EncoderDecoder& model = *trained[0].model;
  const std::vector<Example>& held_out = trained[0].data->held_out(Split::kTest);
  HeadsMeasured out;
  Measures whole = evaluate(model, held_out).all;
  out.nll = whole.nll;
  out.right = whole.sequence_accuracy;
  struct Place {
    const char *said, *path;
  };
  for (const Place& place : {Place{"encoder {} self", "encoder.layers.{}.self_attn"},
                             Place{"decoder {} self", "decoder.layers.{}.self_attn"},
                             Place{"decoder {} cross", "decoder.layers.{}.multihead_attn"}})
    for (int64_t layer = 0; layer < kLayers; ++layer)
      for (int64_t head = 0; head < kHeads; ++head) {
        give_up_if_stopped(options);
        WithoutHead removed(model, format(fmt::runtime(place.path), layer), head);
        Measures m = evaluate(model, held_out).all;
        out.rows.push_back(
            {format(fmt::runtime(place.said), layer + 1) + format(", head {}", head + 1), m.nll,
             m.sequence_accuracy});
      }
  if (!options.full) out.left_out = "900 training steps instead of 500";
  return out;
}

LabReport judge(const HeadsMeasured& measured) {
  Judge judge;
  constexpr double kLittle = 0.05;  // nats a token
  double little = 0;
  const HeadsMeasured::Row* most = nullptr;
  for (const HeadsMeasured::Row& row : measured.rows) {
    judge.numbers()["heads"][row.head] = {{"nll", row.nll}, {"sequence_accuracy", row.right}};
    little += row.nll - measured.nll < kLittle;
    if (!most || row.nll > most->nll) most = &row;
  }
  judge.numbers()["whole"] = {{"nll", measured.nll}, {"sequence_accuracy", measured.right}};
  if (!most) return std::move(judge).report();
  judge.at_least("whole model: share of sentences right", 0.9, measured.right);
  double count = static_cast<double>(measured.rows.size());
  judge.check(format("of {} heads, taken out one at a time", measured.rows.size()),
              format("most cost less than {} nats a token", kLittle), format("{:.0f} do", little),
              little > count / 2);
  // Were every head useless, the model would not use attention at all.
  judge.check(
      "the costliest: " + most->head, "costs at least 0.002 nats a token",
      format("nll {:.4f} -> {:.4f}, {:.0f}% right", measured.nll, most->nll, 100 * most->right),
      most->nll - measured.nll >= 0.002);
  return std::move(judge).report(measured.left_out);
}

}  // namespace lookback
