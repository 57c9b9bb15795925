#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/ops.h"
#include "core/safetensors.h"
#include "train/checkpoint.h"

namespace lookback::testing {

/// What tests/parity/make_numbers.py wrote.
inline const TensorFile& parity_numbers() {
  static const TensorFile file =
      load_tensors(LOOKBACK_SOURCE_DIR "/tests/parity/numbers.safetensors");
  return file;
}

/// One case that PyTorch computed: weights, inputs, results, and the gradients of the loss
/// sum_i c_i y_i over its results. recording.py says how it is stored.
///
/// Equal means within 1e-5 of each number in float and 1e-10 in double; where a number is small
/// beside its tensor's largest, within 1e-6 (1e-11) of the largest.
class Parity {
 public:
  explicit Parity(std::string name) : name_(std::move(name)) {}

  bool has(const std::string& kind, const std::string& name) const {
    return parity_numbers().find(key(kind, name)) != nullptr;
  }
  const Tensor& get(const std::string& kind, const std::string& name) const {
    return parity_numbers().get(key(kind, name));
  }
  /// Opens PyTorch's state dict, as a model file is opened; every parameter's gradient is compared.
  void load(Module& module) {
    load_parameters(module, parity_numbers(), name_ + "/parameter.");
    for (const Module::Named& p : module.parameters()) leaves_.push_back(p);
  }
  /// An input; its gradient is compared if PyTorch gave one.
  Variable input(const std::string& name) {
    bool leaf = has("gradient", name);
    Variable out(get("input", name).clone(), leaf);
    if (leaf) leaves_.push_back({name, out, {}});
    return out;
  }
  IdMatrix ids(const std::string& name) const {
    const Tensor& t = get("input", name);
    IdMatrix out(t.size(0), t.size(1), 0);
    for (int64_t i = 0; i < t.count(); ++i)
      out.values[static_cast<size_t>(i)] = static_cast<Id>(t.data()[i]);
    return out;
  }
  Lengths lengths(const std::string& name = "lengths") const {
    Lengths out;
    for (Real length : get("input", name).values()) out.push_back(static_cast<int64_t>(length));
    return out;
  }

  /// Holds a result against PyTorch's and lets it count in the loss.
  void result(const std::string& name, const Variable& ours) {
    const Tensor& coefficient = get("coefficient", name);
    expect_equal("result", name, ours.value(), &coefficient);
    Variable part = sum(ours * Variable(coefficient));
    loss_ = loss_.defined() ? loss_ + part : part;
  }
  /// Holds any tensor against PyTorch's. Where `counts` is 0 it is padding, and is not compared.
  void expect_equal(const std::string& kind, const std::string& name, const Tensor& ours,
                    const Tensor* counts = nullptr) const {
    SCOPED_TRACE(key(kind, name));
    const Tensor& theirs = get(kind, name);
    ASSERT_TRUE(ours.defined());
    ASSERT_EQ(ours.shape(), theirs.shape());
    double largest = 0;
    for (Real value : theirs.values()) largest = std::max<double>(largest, std::abs(value));
    constexpr double kRelative = std::is_same_v<Real, double> ? 1e-10 : 1e-5;
    for (int64_t i = 0; i < ours.count(); ++i) {
      if (counts && counts->data()[i] == 0) continue;
      ASSERT_NEAR(ours.data()[i], theirs.data()[i],
                  kRelative * (std::abs(theirs.data()[i]) + 0.1 * largest))
          << i;
    }
  }
  /// Every gradient that PyTorch gave, of parameters and inputs.
  void expect_gradients() const {
    Gradients gradients = backward(loss_);
    for (const Module::Named& leaf : leaves_)
      expect_equal("gradient", leaf.name, gradients.of(leaf.variable));
    size_t given = 0;
    for (const NamedTensor& t : parity_numbers().tensors)
      given += t.name.starts_with(key("gradient", ""));
    EXPECT_EQ(leaves_.size(), given) << name_ << ": a gradient is not compared";
  }

 private:
  std::string key(const std::string& kind, const std::string& name) const {
    return name_ + "/" + kind + "." + name;
  }

  std::string name_;
  std::vector<Module::Named> leaves_;
  Variable loss_;
};

}  // namespace lookback::testing
