#include "study/source_gradients.h"

#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

SourceGradients source_gradients(const EncoderDecoder& model, const Example& example,
                                 const std::vector<int64_t>& targets) {
  Batch batch = make_batch(std::vector{example});
  Tensor vectors;
  {
    NoGrad no_history;
    vectors = model.embed(batch.source).value().clone();
  }
  Variable leaf(vectors, true);
  Variable logits = model.forward(batch, model.encode(leaf, batch.source_lengths));
  std::vector<int64_t> which = targets;
  if (which.empty()) {
    which.resize(static_cast<size_t>(batch.target.columns));
    std::iota(which.begin(), which.end(), 0);
  }
  int64_t positions = vectors.size(1), units = vectors.size(2);
  SourceGradients out;
  for (int64_t t : which) {
    if (t < 0 || t >= batch.target.columns)
      fail("[source_gradients] target {} of {}", t, batch.target.columns);
    IdMatrix only = batch.target;
    for (int64_t other = 0; other < only.columns; ++other)
      if (other != t) only.at(0, other) = kPad;
    Tensor gradient =
        backward(cross_entropy(logits, only, {.ignore = kPad, .divide_by = 1})).of(leaf);
    std::vector<double> norm(static_cast<size_t>(positions)), product(norm.size());
    for (int64_t j = 0; gradient.defined() && j < positions; ++j) {
      double squares = 0, dot = 0;
      for (int64_t i = 0; i < units; ++i) {
        double g = gradient.data()[j * units + i];
        squares += g * g;
        dot += g * vectors.data()[j * units + i];
      }
      norm[static_cast<size_t>(j)] = std::sqrt(squares);
      product[static_cast<size_t>(j)] = dot;
    }
    out.norm.push_back(std::move(norm));
    out.product.push_back(std::move(product));
  }
  return out;
}

std::vector<double> last_output_gradients(const EncoderDecoder& model,
                                          const std::vector<Example>& examples) {
  std::vector<double> mean;
  for (const Example& example : examples) {
    if (example.target.empty()) fail("[last_output_gradients] an example without target tokens");
    int64_t last = static_cast<int64_t>(example.target.size()) - 1;
    std::vector<double> norm = source_gradients(model, example, {last}).norm.at(0);
    norm.pop_back();
    if (mean.empty()) mean.resize(norm.size());
    if (norm.size() != mean.size())
      fail("[last_output_gradients] sources of {} and {} tokens", mean.size(), norm.size());
    for (size_t j = 0; j < norm.size(); ++j)
      mean[j] += norm[j] / static_cast<double>(examples.size());
  }
  return mean;
}

}  // namespace lookback
