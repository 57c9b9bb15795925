#include "train/sgd.h"

namespace lookback {

void read(Section& section, Sgd::Options& o) {
  section.read("lr", o.lr, at_least(0));
  section.read("momentum", o.momentum, from_below(0, 1));
  section.read("weight_decay", o.weight_decay, at_least(0));
}

Sgd::Sgd(const Options& options, std::vector<Module::Named> parameters)
    : options_(options), parameters_(std::move(parameters)) {
  if (options_.momentum == 0) return;
  for (const Module::Named& p : parameters_) momentum_.push_back(Tensor::zeros(p.variable.shape()));
}

void Sgd::step(const ParameterGradients& gradients, double rate, double factor) {
  std::vector<int64_t> sizes;
  for (const Tensor& gradient : gradients.tensors)
    sizes.push_back(gradient.defined() ? gradient.count() : 0);
  const Real scale = static_cast<Real>(factor), decay = static_cast<Real>(options_.weight_decay);
  const Real size = static_cast<Real>(rate), momentum = static_cast<Real>(options_.momentum);
  over_pieces(sizes, [&](size_t p, int64_t begin, int64_t end) {
    Real* w = parameters_[p].variable.leaf_value().data();
    const Real* g = gradients.tensors[p].data();
    Real* b = momentum_.empty() ? nullptr : momentum_[p].data();
    for (int64_t i = begin; i < end; ++i) {
      Real gradient = g[i] * scale + decay * w[i];
      if (b) gradient = b[i] = momentum * b[i] + gradient;
      w[i] -= size * gradient;
    }
  });
}

std::vector<NamedTensor> Sgd::state() const {
  std::vector<NamedTensor> out;
  for (size_t p = 0; p < momentum_.size(); ++p)
    out.push_back({"optimizer.momentum." + parameters_[p].name, momentum_[p]});
  return out;
}

void Sgd::load(const TensorFile& file) {
  for (size_t p = 0; p < momentum_.size(); ++p)
    file.copy_to("optimizer.momentum." + parameters_[p].name, momentum_[p]);
}

}  // namespace lookback
