#include <algorithm>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/kernels/vector.h"

namespace lookback {

Variable embedding(const Variable& weight, const IdMatrix& ids) {
  if (weight.rank() != 2)
    fail("[embedding] the table must be (V, E), not {}", weight.shape().text());
  int64_t words = weight.size(0), width = weight.size(1);
  Tensor out({ids.rows, ids.columns, width});
  for (size_t i = 0; i < ids.values.size(); ++i) {
    Id id = ids.values[i];
    if (id < 0 || id >= words)
      fail("[embedding] id {} at ({}, {}) is outside the table of {} words", id,
           static_cast<int64_t>(i) / ids.columns, static_cast<int64_t>(i) % ids.columns, words);
    std::copy_n(weight.value().data() + id * width, width,
                out.data() + static_cast<int64_t>(i) * width);
  }
  return GraphBuilder("embedding", {weight})
      .result(out, [ids, width](OutputGradients g, GradientSink& into) {
        Tensor& table = into.accumulated(0);
        for (size_t i = 0; i < ids.values.size(); ++i)
          kernels::add_scaled(1, g[0].data() + static_cast<int64_t>(i) * width,
                              table.data() + ids.values[i] * width, width);
      });
}

}  // namespace lookback
