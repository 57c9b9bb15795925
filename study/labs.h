#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/registry.h"

namespace lookback {

/// One thing that a lab measured.
struct Finding {
  std::string what;      ///< `standard deviation of q.k, d_k = 256`
  std::string claimed;   ///< `16 within 5%`
  std::string measured;  ///< `15.98`
  bool holds = false;
};

struct LabReport {
  std::vector<Finding> findings;
  Json numbers = Json::object();  ///< all that was measured, for --json
  std::string left_out;           ///< what the quick form did not do; empty: nothing
  bool holds() const;             ///< all findings hold, and there is one
};

struct LabOptions {
  bool full = false;  ///< more sizes, seeds and steps; minutes instead of seconds
  uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< set by a signal: give up soon, with Interrupted
};

/// A lab was asked to stop before it was done.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};
/// Interrupted once the signal has come; labs call it between two measurements.
void give_up_if_stopped(const LabOptions& options);

/// A claim of the tutorial (section 2.4) as an experiment, measured with the library's own layers.
struct Lab {
  std::string section;  ///< `2.4.4, theorem 2.4.1`
  std::function<LabReport(const LabOptions&)> run;
};

/// By name; an entry's description is the claim in a sentence.
Registry<Lab>& labs();
/// All of them in the order of the tutorial; what a program has added comes last.
std::vector<std::string> lab_order();

}  // namespace lookback
