#include "nn/layer_norm.h"

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

LayerNorm::LayerNorm(const Options& o) : eps_(o.eps) {
  if (o.size < 1) fail("[layer_norm] needs at least one unit, not {}", o.size);
  weight_ = parameter("weight", {o.size}, constant(1));
  bias_ = parameter("bias", {o.size}, constant(0));
}

Variable LayerNorm::operator()(const Variable& x) const {
  return layer_norm(x, weight_, bias_, eps_);
}

}  // namespace lookback
