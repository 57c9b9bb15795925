#pragma once

#include <functional>
#include <memory>

#include "autograd/ops.h"
#include "core/mask.h"
#include "core/registry.h"
#include "nn/module.h"

namespace lookback {

/// Attention of a recurrent decoder: queries against the encoder's states. What does not depend on
/// the query is worked out once a batch by prepare(). An attention of one's own implements
/// prepare() and attend(); one with a faster way for many queries overrides attend_all() too, and
/// tests hold the two equal.
class Attention : public Module {
 public:
  struct Sizes {
    int64_t query = 0;   ///< units of the decoder's state
    int64_t values = 0;  ///< units of one encoder state

    /// `units` of an attention's options, -1 (`auto`) being as many as the query has.
    int64_t resolved(int64_t units) const { return units > 0 ? units : query; }
  };

  /// What share() lays out is the score's own; it derives from this.
  struct Shared {
    virtual ~Shared() = default;
  };

  struct Keys {
    Variable projected;  ///< what queries are held against; meaning and shape are the score's own
    Variable values;     ///< (B, S, values): what is mixed; as many units as were handed in
    Mask mask;           ///< (B, S)
    std::shared_ptr<const Shared> shared = nullptr;  ///< what share() laid out
  };
  virtual Keys prepare(const Variable& values, const Mask& mask) const = 0;
  /// The same keys for a loop of single queries, with what every one of them multiplies by laid out once.
  virtual Keys share(const Keys& keys) const { return keys; }
  /// query (B, query) -> context (B, values) and weights (B, S).
  virtual Attended attend(const Variable& query, const Keys& keys) const = 0;
  /// Many queries a sentence at once: (B, T, query) -> context (B, T, values), weights (B, T, S).
  virtual Attended attend_all(const Variable& queries, const Keys& keys) const;
};

/// An attention reads its options from its section of the config, refuses sizes that do not fit it,
/// and gives a maker.
using AttentionMaker = std::function<std::unique_ptr<Attention>()>;
using AttentionFactory = std::function<AttentionMaker(Section&, const Attention::Sizes&)>;
/// The scores that `attention.type` may name: bahdanau, luong, scaled_dot, and what a program adds.
/// (`none` is the absence of one and belongs to the decoder.)
Registry<AttentionFactory>& attentions();

}  // namespace lookback
