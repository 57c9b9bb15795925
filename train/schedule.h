#pragma once

#include <functional>

#include "core/registry.h"

namespace lookback {

/// The learning rate of step 1, 2, ... as a share of the optimiser's `lr`. A pure function, so a
/// resumed run has the same rates.
using Schedule = std::function<double(int64_t step)>;
/// A schedule as its section describes it; told the run's total steps.
using ScheduleMaker = std::function<Schedule(int64_t total_steps)>;
using ScheduleFactory = std::function<ScheduleMaker(Section&)>;

/// Each has `warmup: n`, in which the rate rises linearly from 1/n.
///     constant
///     linear_decay   constant, then linearly down to `floor` over the last `decay` share of the steps
///     cosine         half a cosine from 1 to `floor` after the warm-up
///     inverse_sqrt   sqrt(warmup / step) after the warm-up
///     noam           inverse_sqrt that peaks at (width * warmup)^-0.5 (Vaswani et al., 2017, section 5.3)
Registry<ScheduleFactory>& schedules();

}  // namespace lookback
