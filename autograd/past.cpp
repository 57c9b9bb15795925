#include "autograd/past.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops/attention_problem.h"
#include "core/error.h"
#include "core/kernels/softmax.h"
#include "core/kernels/vector.h"

namespace lookback {

int64_t Past::bytes() const {
  int64_t count = 0;
  for (const std::vector<Tensor>& layer : layers_)
    for (const Tensor& token : layer) count += token.count();
  return count * static_cast<int64_t>(sizeof(Real));
}

void Past::append(int64_t layer, const Tensor& keys_and_values) {
  std::vector<Tensor>& tokens = layers_.at(static_cast<size_t>(layer));
  if (keys_and_values.rank() != 2 || keys_and_values.size(0) != batch_ ||
      (!tokens.empty() && tokens[0].size(1) != keys_and_values.size(1)))
    fail("[past] {} does not fit {} sentences", keys_and_values.shape().text(), batch_);
  tokens.push_back(keys_and_values);
  if (tokens.size() <= rows_.size()) return;
  std::vector<int64_t>& rows = rows_.emplace_back(static_cast<size_t>(batch_));
  std::iota(rows.begin(), rows.end(), int64_t{0});
}

Tensor Past::attend(int64_t layer, const Heads& query, int64_t key_value_heads) const {
  const std::vector<Tensor>& tokens = layers_.at(static_cast<size_t>(layer));
  const int64_t count = tokens.empty() ? 0 : static_cast<int64_t>(tokens.size()), K = query.size,
                H = query.count, G = key_value_heads;
  if (query.x.rank() != 3 || query.x.size(0) != batch_ || query.x.size(1) != 1 || count == 0 ||
      G < 1 || H % G != 0 || tokens[0].size(1) != 2 * G * K)
    fail("[past] queries {} do not fit {} tokens of {} sentences, {} heads of keys",
         query.x.shape().text(), count, batch_, G);
  const int64_t width = 2 * G * K;
  const Real scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(K)));
  HeadView q = view(query);
  Tensor context({batch_, 1, H * K});
  int64_t piece = std::max<int64_t>(1, (1 << 18) / (H * count * 2 * K));
  over_pieces(batch_, piece, [&](int64_t begin, int64_t end) {
    std::vector<const Real*> places(tokens.size());
    Tensor room({count});
    Real* weights = room.data();
    for (int64_t b = begin; b < end; ++b) {
      for (size_t s = 0; s < places.size(); ++s)
        places[s] = tokens[s].data() + rows_[s][static_cast<size_t>(b)] * width;
      for (int64_t h = 0; h < H; ++h) {
        int64_t key = h / (H / G) * K;
        kernels::dots(query.x.value().data() + q.at(b, h), {places.data(), key, count, K}, weights);
        kernels::scaled_softmax(scale, weights, count);
        Real* out = context.data() + (b * H + h) * K;
        std::fill_n(out, K, Real{0});
        kernels::add_weighted(weights, kernels::PlacedRows{places.data(), G * K + key, count, K},
                              out);
      }
    }
  });
  return context;
}

Past Past::take(std::span<const int64_t> sentences) const {
  if (layers_.empty()) return {};
  Past out = *this;
  out.batch_ = static_cast<int64_t>(sentences.size());
  for (int64_t sentence : sentences)
    if (sentence < 0 || sentence >= batch_)
      fail("[past] there is no sentence {} among {}", sentence, batch_);
  for (size_t t = 0; t < rows_.size(); ++t) {
    out.rows_[t].resize(sentences.size());
    for (size_t i = 0; i < sentences.size(); ++i)
      out.rows_[t][i] = rows_[t][static_cast<size_t>(sentences[i])];
  }
  return out;
}

}  // namespace lookback
