#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "core/random.h"

namespace lookback {

/// How a parameter's elements are drawn.
struct Initializer {
  enum class Kind { kConstant, kUniform, kNormal } kind = Kind::kConstant;
  double scale = 0;  ///< the constant; the bound of [-scale, scale); the standard deviation
};
inline Initializer constant(double value) {
  return {Initializer::Kind::kConstant, value};
}
inline Initializer uniform(double bound) {
  return {Initializer::Kind::kUniform, bound};
}
inline Initializer normal(double deviation) {
  return {Initializer::Kind::kNormal, deviation};
}

/// A layer or a model: parameters by name, and other modules inside it. Names of nested parameters
/// are dotted: `encoder.embedding.weight`. A module registers what it has in its constructor and
/// needs no copy, clone or save code; checkpoints and optimisers go by parameters().
class Module {
 public:
  struct Named {
    std::string name;
    Variable variable;
    Initializer initializer;
  };

  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// All parameters, those of modules inside included, in the order of registration.
  std::vector<Named> parameters() const;
  int64_t parameter_count() const;
  /// Draws every parameter anew. What one gets depends on the seed, its own name and shape alone,
  /// so adding a layer changes no other layer's start.
  void initialize(uint64_t seed);

 protected:
  /// Registers a parameter of this module. Its elements are undefined until initialize() or a load.
  Variable parameter(const std::string& name, const Shape& shape, const Initializer& initializer);
  /// Registers a module that is a member of this one. An empty name puts its parameters at this
  /// module's own level; a suffix is appended to their names (`weight_ih` + `_l0`).
  void child(const std::string& name, Module& module, const std::string& suffix = "");

 private:
  struct Entry {
    Named own;                       // a parameter, where there is no module
    const Module* module = nullptr;  // or a module inside this one,
    std::string name, suffix;        // and how its parameters are called here
  };
  std::vector<Entry> entries_;
};

/// What one run through a model depends on besides its inputs. Passed along, never remembered.
struct Pass {
  bool training = false;  ///< dropout is active
  RandomKey key;  ///< of this training step; index = number of the first sentence in the batch
  /// Numbers of the sentences in the step, where they are a part of a batch and not in its order;
  /// empty: key.index and on.
  std::vector<uint64_t> sentences = {};

  uint64_t sentence(int64_t b) const {
    return sentences.empty() ? key.index + static_cast<uint64_t>(b)
                             : sentences[static_cast<size_t>(b)];
  }
};

/// Dropout at a place named by `site`, in training only.
Variable drop(const Variable& x, double p, const Pass& pass, const std::string& site);

/// How a recurrent layer drops units of what goes into it.
struct Dropout {
  double p = 0;
  /// One draw for each unit of a sentence, the same at all of its positions (Gal and Ghahramani,
  /// 2016); the recurrent connections themselves are left whole. Else each position has its own.
  bool variational = false;
};
/// Of all positions at once, x (B, T, D), or of one alone, number `position` in a loop, x (B, D).
/// The two agree where the draw is variational.
Variable drop(const Variable& x, const Dropout& how, const Pass& pass, const std::string& site,
              int64_t position = -1);

}  // namespace lookback
