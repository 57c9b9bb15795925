#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lookback {
namespace {

/// The share that a warm-up of n steps leaves of step s: s / n, then 1.
double risen(int64_t step, int64_t warmup) {
  return step >= warmup ? 1 : static_cast<double>(step) / static_cast<double>(warmup);
}

ScheduleMaker constant(Section& section) {
  int64_t warmup = 0;
  section.read("warmup", warmup, at_least(0));
  return [=](int64_t) -> Schedule { return [=](int64_t step) { return risen(step, warmup); }; };
}

ScheduleMaker linear_decay(Section& section) {
  int64_t warmup = 0;
  double decay = 0.4, floor = 0.02;
  section.read("warmup", warmup, at_least(0));
  section.read("decay", decay, between(0, 1));
  section.read("floor", floor, between(0, 1));
  return [=](int64_t total) -> Schedule {
    double length = decay * static_cast<double>(total), begin = static_cast<double>(total) - length;
    return [=](int64_t step) {
      double gone =
          length > 0 ? std::clamp((static_cast<double>(step) - begin) / length, 0.0, 1.0) : 0;
      return risen(step, warmup) * (1 - gone * (1 - floor));
    };
  };
}

ScheduleMaker cosine(Section& section) {
  int64_t warmup = 0;
  double floor = 0;
  section.read("warmup", warmup, at_least(0));
  section.read("floor", floor, between(0, 1));
  return [=](int64_t total) -> Schedule {
    double length = std::max(1.0, static_cast<double>(total - warmup));
    return [=](int64_t step) {
      if (step < warmup) return risen(step, warmup);
      double gone = std::min(1.0, static_cast<double>(step - warmup) / length);
      return floor + (1 - floor) * (1 + std::cos(std::numbers::pi * gone)) / 2;
    };
  };
}

ScheduleMaker inverse_sqrt(Section& section) {
  int64_t warmup = 4000;
  section.read("warmup", warmup, at_least(1));
  return [=](int64_t) -> Schedule {
    return [=](int64_t step) {
      return step < warmup ? risen(step, warmup)
                           : std::sqrt(static_cast<double>(warmup) / static_cast<double>(step));
    };
  };
}

ScheduleMaker noam(Section& section) {
  int64_t warmup = 4000, width = 512;
  section.read("warmup", warmup, at_least(1));
  section.read("width", width, at_least(1));
  return [=](int64_t) -> Schedule {
    return [=](int64_t step) {
      double s = static_cast<double>(step), w = static_cast<double>(warmup);
      return std::min(1 / std::sqrt(s), s / (w * std::sqrt(w))) /
             std::sqrt(static_cast<double>(width));
    };
  };
}

}  // namespace

Registry<ScheduleFactory>& schedules() {
  static Registry<ScheduleFactory> registry = [] {
    Registry<ScheduleFactory> r("schedule");
    r.add("constant", "warm-up, then the same rate", constant);
    r.add("linear_decay", "warm-up, constant, then a linear fall at the end", linear_decay);
    r.add("cosine", "warm-up, then half a cosine", cosine);
    r.add("inverse_sqrt", "warm-up, then falling as 1 / sqrt(step)", inverse_sqrt);
    r.add("noam", "the Transformer paper's schedule", noam);
    return r;
  }();
  return registry;
}

}  // namespace lookback
