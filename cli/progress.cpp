#include "cli/progress.h"

#include <cmath>

#include "core/log.h"

namespace lookback::cli {

std::string duration(double seconds) {
  auto whole = static_cast<int64_t>(std::lround(seconds));
  if (seconds < 9.95) return format("{:.1f}s", seconds);
  if (whole < 60) return format("{}s", whole);
  if (whole < 3600) return format("{}m{:02}s", whole / 60, whole % 60);
  return format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

void ProgressLine::step(const Progress& p) {
  auto done = static_cast<double>(p.step - first_step_);
  double seconds_left = p.elapsed / done * static_cast<double>(p.total_steps - p.step);
  std::string elapsed = duration(p.elapsed), left = duration(seconds_left);
  // Under label smoothing the loss is not the nll, which is the one to compare.
  steps_ = format("step {}/{}  nll {:.4f}", p.step, p.total_steps, p.nll);
  speed_ = format(" | {}, {} left | {:.0f} tok/s | lr {:.3g}", elapsed, left, p.tokens_per_second,
                  p.learning_rate);
  show(format("{}  lr {:.3g}  {:.0f} tokens/s  {} elapsed  {} left", steps_, p.learning_rate,
              p.tokens_per_second, elapsed, left));
}

void ProgressLine::validation(int64_t step, const Evaluation& evaluation, bool best) {
  const Measures& all = evaluation.all;
  validation_ = format(" | valid {:.4f}, {:.1f}%", all.nll, 100 * all.sequence_accuracy);
  show(format(
      "step {}: validation nll {:.4f}  perplexity {:.3f}  tokens {:.2f}%  sequences {:.2f}%{}",
      step, all.nll, all.perplexity(), 100 * all.token_accuracy, 100 * all.sequence_accuracy,
      best ? "  (best so far)" : ""));
}

void ProgressLine::show(const std::string& line) const {
  if (!log_has_status()) {
    log_info("{}", line);
    return;
  }
  log_detail("{}", line);
  log_status(steps_ + validation_ + speed_);
}

void ProgressLine::finish() {
  log_status("");
}

}  // namespace lookback::cli
