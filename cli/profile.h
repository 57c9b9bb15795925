#pragma once

#include <cstdint>
#include <string>

#include "core/profile.h"

namespace lookback::cli {

/// Every row, in milliseconds a step.
std::string profile_table(const ProfileReport& profile, int64_t steps);

/// The loop of a training: its steps' phases and what is done around them, in seconds.
std::string time_line(const ProfileReport& profile, int64_t steps);

}  // namespace lookback::cli
