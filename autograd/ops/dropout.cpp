#include <algorithm>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/threads.h"

namespace lookback {

Variable dropout(const Variable& x, double p, const RandomKey& key) {
  if (!(p >= 0 && p < 1)) fail("[dropout] p must be in [0, 1), but is {}", p);
  if (p == 0) return x;
  int64_t rows = x.rank() == 0 ? 1 : x.size(0), width = rows ? x.count() / rows : 0;
  Real keep = static_cast<Real>(1 / (1 - p));
  Tensor factor(x.shape()), out(x.shape());
  parallel_for(rows, std::max<int64_t>(1, (1 << 12) / (width + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   RandomKey own = key;
                   own.index += static_cast<uint64_t>(r);
                   Random random(own);
                   for (int64_t i = r * width; i < (r + 1) * width; ++i) {
                     factor.data()[i] = random.bits() * 0x1.0p-32 < p ? 0 : keep;
                     out.data()[i] = factor.data()[i] * x.value().data()[i];
                   }
                 }
               });
  return GraphBuilder("dropout", {x}).result(out, [factor](OutputGradients g, GradientSink& into) {
    Tensor dx(factor.shape());
    parallel_for(dx.count(), 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dx.data()[i] = factor.data()[i] * g[0].data()[i];
    });
    into.add(0, dx);
  });
}

}  // namespace lookback
