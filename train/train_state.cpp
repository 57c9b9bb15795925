#include "train/train_state.h"

#include "core/error.h"
#include "core/json.h"

namespace lookback {
namespace {

/// Calls f(name, field) for every field: one list for writing and reading.
template <class State, class F>
void fields(State& s, F&& f) {
  f("step", s.step);
  f("best_step", s.best_step);
  f("best_metric", s.best_metric);
  f("strikes", s.strikes);
  f("skipped", s.skipped);
  f("skipped_in_row", s.skipped_in_row);
  f("loss", s.loss);
  f("nll", s.nll);
  f("steps_summed", s.steps_summed);
}

}  // namespace

void TrainState::save(const std::string& path, const Module& model,
                      const Optimizer& optimizer) const {
  std::vector<NamedTensor> tensors = optimizer.state();
  for (const Module::Named& p : model.parameters())
    tensors.push_back({"model." + p.name, p.variable.value()});
  Json values;
  fields(*this, [&](const char* name, const auto& value) { values[name] = value; });
  save_tensors(path, tensors, {{"format", "lookback-state"}, {"state", json_text(values)}});
}

TrainState TrainState::load(const std::string& path, Module& model, Optimizer& optimizer) {
  TensorFile file = load_tensors(path);
  if (!file.metadata.contains("format") || file.metadata.at("format") != "lookback-state")
    fail_user("{}: a safetensors file, but not the state of a lookback run", path);
  TrainState out;
  Json values = parse_json(file.text("state"), path);
  fields(out, [&](const char* name, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    bool good = values.contains(name) && values[name].is_number();
    if constexpr (std::is_integral_v<Value>)
      good = good && values[name].is_number_integer() && values[name].template get<Value>() >= 0 &&
             values[name].template get<Value>() <= int64_t{1} << 53;
    if (!good) fail_user("{}: its state has no sound \"{}\"", path, name);
    value = values[name].template get<Value>();
  });
  load_parameters(model, file, "model.");
  optimizer.load(file);
  return out;
}

}  // namespace lookback
