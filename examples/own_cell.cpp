// A layer of one's own in one file: the minimal gated unit (Zhou et al., 2016), a GRU with one
// gate,
//
//     f  = sigmoid(W_f [h; x] + b_f)
//     h' = (1 - f) h + f tanh(W_h [f h; x] + b_h)
//
// trained on the copy task through a YAML file that has never heard of it. Run:
//
//     ./dev build example_own_cell && build/example_own_cell configs/copy_bahdanau.yaml

#include <cstdio>

#include "autograd/ops.h"
#include "core/log.h"
#include "nn/cell.h"
#include "nn/linear.h"
#include "train/trainer.h"

namespace {

using namespace lookback;

class MinimalGatedUnit final : public Cell {
 public:
  explicit MinimalGatedUnit(const Options& options)
      : Cell(options),
        forget_({.inputs = options.hidden + options.input, .outputs = options.hidden}),
        fresh_({.inputs = options.hidden + options.input, .outputs = options.hidden}) {
    child("forget", forget_);  // parameters get dotted names: encoder.rnn.forget.weight_l0, ...
    child("fresh", fresh_);
  }

  // One step, (B, E) and (B, D) -> (B, D). Padding, both directions, teacher forcing, decoding and
  // gradients follow from it.
  CellState step(const Variable& input, const CellState& state) const override {
    const Variable& h = state.hidden;
    Variable f = sigmoid(forget_(concat(std::vector{h, input}, -1)));
    Variable fresh = tanh(fresh_(concat(std::vector{f * h, input}, -1)));
    return {h + f * (fresh - h), {}};
  }

 private:
  Linear forget_, fresh_;
};

}  // namespace

int main(int argc, char** argv) try {
  const char* path = argc > 1 ? argv[1] : "configs/copy_bahdanau.yaml";
  cells().add("mgu", "minimal gated unit (Zhou et al., 2016)", [](const Cell::Options& options) {
    return std::make_unique<MinimalGatedUnit>(options);
  });

  Config config = Config::from_file(path);
  config.set("model.encoder.cell=mgu");
  config.set("model.decoder.cell=mgu");
  TrainRun run;  // no folder: the model stays in memory
  run.on_progress = [](const Progress& p) {
    std::printf("step %4ld of %ld   nll %.4f   %.0f tokens/s\n", static_cast<long>(p.step),
                static_cast<long>(p.total_steps), p.nll, p.tokens_per_second);
  };
  TrainResult result = train(read_recipe(config), run);
  std::printf("%ld parameters, held-out sentences exactly right: %.1f%%\n",
              static_cast<long>(result.model->parameter_count()),
              100 * result.last.all.sequence_accuracy);
} catch (const lookback::UserError& error) {
  lookback::log_error("{}", error.what());
  return 2;
} catch (const std::exception& error) {
  lookback::log_error("{}", error.what());
  return 1;
}
