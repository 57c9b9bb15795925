#include "train/adam.h"

#include <cmath>

#include "core/kernels/adam.h"

namespace lookback {

void read(Section& section, Adam::Options& o) {
  section.read("lr", o.lr, at_least(0));
  section.read("betas", o.betas, from_below(0, 1));
  if (o.betas.size() != 2)
    section.refuse("betas", format("must be two numbers, but has {}", o.betas.size()));
  section.read("eps", o.eps, above(0));
  section.read("weight_decay", o.weight_decay, at_least(0));
}

Adam::Adam(const Options& options, std::vector<Module::Named> parameters)
    : options_(options), parameters_(std::move(parameters)), steps_(parameters_.size(), 0) {
  for (const Module::Named& p : parameters_) {
    first_.push_back(Tensor::zeros(p.variable.shape()));
    second_.push_back(Tensor::zeros(p.variable.shape()));
  }
}

void Adam::step(const ParameterGradients& gradients, double rate, double factor) {
  std::vector<int64_t> sizes;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    bool moves = gradients.tensors[p].defined();
    if (moves) ++steps_[p];
    sizes.push_back(moves ? first_[p].count() : 0);
  }
  kernels::AdamStep all{
      .beta1 = static_cast<Real>(options_.betas[0]),
      .beta2 = static_cast<Real>(options_.betas[1]),
      .keep1 = static_cast<Real>(1 - options_.betas[0]),
      .keep2 = static_cast<Real>(1 - options_.betas[1]),
      .rate = 0,
      .unbias = 0,
      .eps = static_cast<Real>(options_.eps),
      .scale = static_cast<Real>(factor),
      .added = static_cast<Real>(options_.decoupled ? 0 : options_.weight_decay),
      .shrink = static_cast<Real>(options_.decoupled ? 1 - rate * options_.weight_decay : 1)};
  over_pieces(sizes, [&](size_t p, int64_t begin, int64_t end) {
    double t = static_cast<double>(steps_[p]);
    kernels::AdamStep step = all;
    step.rate = static_cast<Real>(rate / (1 - std::pow(options_.betas[0], t)));
    step.unbias = static_cast<Real>(1 / std::sqrt(1 - std::pow(options_.betas[1], t)));
    kernels::adam(step, gradients.tensors[p].data() + begin,
                  parameters_[p].variable.leaf_value().data() + begin, first_[p].data() + begin,
                  second_[p].data() + begin, end - begin);
  });
}

std::vector<NamedTensor> Adam::state() const {
  std::vector<NamedTensor> out;
  Tensor steps({static_cast<int64_t>(steps_.size())});
  for (size_t p = 0; p < parameters_.size(); ++p) {
    out.push_back({"optimizer.first." + parameters_[p].name, first_[p]});
    out.push_back({"optimizer.second." + parameters_[p].name, second_[p]});
    steps.data()[p] = static_cast<Real>(steps_[p]);  // exact up to 2^24 steps
  }
  out.push_back({"optimizer.steps", steps});
  return out;
}

void Adam::load(const TensorFile& file) {
  Tensor steps({static_cast<int64_t>(steps_.size())});
  for (size_t p = 0; p < parameters_.size(); ++p) {
    file.copy_to("optimizer.first." + parameters_[p].name, first_[p]);
    file.copy_to("optimizer.second." + parameters_[p].name, second_[p]);
  }
  file.copy_to("optimizer.steps", steps);
  for (size_t p = 0; p < steps_.size(); ++p) steps_[p] = static_cast<int64_t>(steps.data()[p]);
}

}  // namespace lookback
