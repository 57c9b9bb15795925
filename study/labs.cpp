#include "study/labs.h"

#include <algorithm>

#include "study/labs/built_in.h"

namespace lookback {
namespace {

struct BuiltIn {
  const char* name;
  const char* section;
  const char* claim;
  LabReport (*run)(const LabOptions&);
};

template <auto measure>
LabReport measured(const LabOptions& options) {
  return judge(measure(options));
}

/// In the order of the tutorial.
constexpr BuiltIn kBuiltIn[] = {
    {"variance", "2.4.4, theorem 2.4.1",
     "An inner product of d_k independent standard normal pairs has standard deviation sqrt(d_k); "
     "divided by sqrt(d_k), 1.",
     measured<measure_variance>},
    {"hand", "2.4.6, example 2.4.1",
     "Attention over three positions, worked out by hand, gives the printed weights and outputs; "
     "the first output stays (3, 4) at any temperature.",
     measured<measure_hand>},
};

}  // namespace

bool LabReport::holds() const {
  return !findings.empty() &&
         std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.holds; });
}

void give_up_if_stopped(const LabOptions& options) {
  if (options.stop && options.stop->load()) throw Interrupted();
}

Registry<Lab>& labs() {
  static Registry<Lab> registry = [] {
    Registry<Lab> r("lab");
    for (const BuiltIn& lab : kBuiltIn) r.add(lab.name, lab.claim, {lab.section, lab.run});
    return r;
  }();
  return registry;
}

std::vector<std::string> lab_order() {
  std::vector<std::string> order;
  for (const BuiltIn& lab : kBuiltIn) order.emplace_back(lab.name);
  for (const std::string& name : labs().names())
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  return order;
}

}  // namespace lookback
