#include "nn/module.h"

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

Variable Module::parameter(const std::string& name, const Shape& shape,
                           const Initializer& initializer) {
  Variable variable(Tensor::zeros(shape), true);
  entries_.push_back(
      {.own = {name, variable, initializer}, .module = nullptr, .name = {}, .suffix = {}});
  return variable;
}

void Module::child(const std::string& name, Module& module, const std::string& suffix) {
  entries_.push_back({.own = {}, .module = &module, .name = name, .suffix = suffix});
}

std::vector<Module::Named> Module::parameters() const {
  std::vector<Named> out;
  for (const Entry& entry : entries_) {
    if (!entry.module) {
      out.push_back(entry.own);
      continue;
    }
    for (Named& inner : entry.module->parameters()) {
      inner.name = (entry.name.empty() ? "" : entry.name + ".") + inner.name + entry.suffix;
      out.push_back(std::move(inner));
    }
  }
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (out[i].name == out[j].name)
        fail("[module] two parameters are called \"{}\"", out[i].name);
  return out;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const Named& p : parameters()) count += p.variable.count();
  return count;
}

void Module::initialize(uint64_t seed) {
  for (Named& p : parameters()) {
    Random random({.seed = seed, .purpose = purpose("parameter"), .step = purpose(p.name)});
    double scale = p.initializer.scale;
    for (Real& value : p.variable.leaf_value().values()) switch (p.initializer.kind) {
        case Initializer::Kind::kConstant:
          value = static_cast<Real>(scale);
          break;
        case Initializer::Kind::kUniform:
          value = static_cast<Real>(random.uniform(-scale, scale));
          break;
        case Initializer::Kind::kNormal:
          value = static_cast<Real>(scale * random.normal());
          break;
      }
  }
}

Variable drop(const Variable& x, double p, const Pass& pass, const std::string& site) {
  if (!pass.training || p == 0) return x;
  RandomKey key = pass.key;
  key.purpose = purpose("dropout." + site);
  return dropout(x, p, key);
}

Variable drop(const Variable& x, const Dropout& how, const Pass& pass, const std::string& site,
              int64_t position) {
  if (!pass.training || how.p == 0) return x;
  if (!how.variational)
    return drop(x, how.p, pass, position < 0 ? site : format("{}.{}", site, position));
  if (x.rank() == 2) return drop(x, how.p, pass, site);
  return x * drop(Tensor::full({x.size(0), 1, x.size(2)}, 1), how.p, pass, site);
}

}  // namespace lookback
