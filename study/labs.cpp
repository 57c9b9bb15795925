#include "study/labs.h"

#include <algorithm>

#include "study/labs/built_in.h"
#include "study/labs/trained.h"

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
  give_up_if_stopped(options);
  return judge(measure(options));
}

/// In the order of the tutorial.
constexpr BuiltIn kBuiltIn[] = {
    {"bottleneck", "2.4.1",
     "A fixed vector forgets as S grows, whatever its size; attention does not.",
     measured<measure_bottleneck>},
    {"path", "2.4.1; 2.4.3",
     "Through a recurrent state, what a position contributes decays with the distance; through "
     "attention the path is O(1).",
     measured<measure_path>},
    {"scores", "2.4.2, definitions 2.4.2 and 2.4.3",
     "Additive and concat are one function under W_a = [W_s W_h]; dot needs d_s = d_h and general "
     "does not; a side twice as large doubles a dot score.",
     measured<measure_scores>},
    {"keys_values", "2.4.3; misconception 4",
     "An output is a convex combination of V's rows: V is what is fetched, K only points.",
     measured<measure_keys_values>},
    {"variance", "2.4.4, theorem 2.4.1",
     "An inner product of d_k independent standard normal pairs has standard deviation sqrt(d_k); "
     "divided by sqrt(d_k), 1.",
     measured<measure_variance>},
    {"saturation", "2.4.4 (4)",
     "Large scores saturate softmax: dp2/dc = p2 (1 - p2) falls from 0.25 to 4.54e-05 at c = 10, "
     "entropy falls, and without the scale the gradients at Q and K vanish as d_k grows.",
     measured<measure_saturation>},
    {"extremes", "2.4.4 (5)",
     "The largest of T_k standard normal scores grows like sqrt(2 ln T_k), from below.",
     measured<measure_extremes>},
    {"mask", "2.4.5, definition 2.4.5; 2.4.8",
     "A mask before softmax gives the future weight exactly 0 and rows that sum to 1; after it "
     "they do not; a mask of 0 leaks; a query that may see nothing gets zeros, not NaN.",
     measured<measure_mask>},
    {"equivariance", "2.4.5, theorem 2.4.2",
     "Without positions and mask, reordering the input reorders the output and changes nothing "
     "else; positions or a causal mask break that.",
     measured<measure_equivariance>},
    {"complexity", "2.4.6, theorem 2.4.3; Q3",
     "Attention takes 4 B T^2 d operations: twice the length is four times the time and memory, twice "
     "the width as well eight times the time and still four times the memory; an RNN is linear.",
     measured<measure_complexity>},
    {"memory", "2.4.6 (4)",
     "Standard attention keeps a T x T matrix for backward, 134 MB a head in 16 bits at T = 8192; "
     "working blocks out again does not.",
     measured<measure_memory>},
    {"hand", "2.4.6, example 2.4.1",
     "Attention over three positions, worked out by hand, gives the printed weights and outputs; "
     "the first output stays (3, 4) at any temperature.",
     measured<measure_hand>},
    {"kv_cache", "2.4.6, shapes box",
     "The cache of keys and values falls by g = H / n_kv where g query heads share them.",
     measured<measure_cache>},
    {"explain", "2.4.7",
     "A weight is no contribution: before one is read as an explanation, ablation, other seeds, "
     "gradients and a known cause have to agree with it.",
     measured<measure_explain>},
    {"heads", "2.4.7", "Many heads can be taken out with little loss.", measured<measure_heads>},
    {"axis", "2.4.8, misconception 2",
     "Softmax runs along the keys; along the queries the rows do not sum to 1.",
     measured<measure_axis>},
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
