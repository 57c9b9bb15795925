#include "train/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/threads.h"

namespace lookback {
namespace {

constexpr int64_t kPiece = 1 << 15;

struct Piece {
  size_t which;
  int64_t begin, end;
};

std::vector<Piece> pieces_of(const std::vector<int64_t>& sizes) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int64_t begin = 0; begin < sizes[i]; begin += kPiece)
      pieces.push_back({i, begin, std::min(begin + kPiece, sizes[i])});
  return pieces;
}

void run(const std::vector<Piece>& pieces, const std::function<void(size_t)>& body) {
  // A group of pieces a task: one piece alone is too little to be worth fetching.
  size_t group = std::max<size_t>(1, pieces.size() / 16);
  int64_t groups = static_cast<int64_t>((pieces.size() + group - 1) / group);
  parallel_tasks(groups, [&](int64_t g) {
    size_t begin = static_cast<size_t>(g) * group;
    for (size_t i = begin; i < std::min(begin + group, pieces.size()); ++i) body(i);
  });
}

/// Eight sums side by side, for one alone would wait for every addition before the next.
double sum_of_squares(const Real* x, int64_t count) {
  constexpr int64_t kSums = 8;
  std::array<double, kSums> sums{};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int64_t j = 0; j < kSums; ++j)
      sums[static_cast<size_t>(j)] += static_cast<double>(x[i + j]) * x[i + j];
  for (; i < count; ++i) sums[0] += static_cast<double>(x[i]) * x[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void over_pieces(const std::vector<int64_t>& sizes,
                 const std::function<void(size_t, int64_t, int64_t)>& body) {
  std::vector<Piece> pieces = pieces_of(sizes);
  run(pieces, [&](size_t i) { body(pieces[i].which, pieces[i].begin, pieces[i].end); });
}

ParameterGradients reduce(const std::vector<Module::Named>& parameters,
                          std::vector<Gradients> shards) {
  ParameterGradients out;
  std::vector<std::vector<Tensor>> others(parameters.size());
  std::vector<int64_t> sizes;
  for (size_t p = 0; p < parameters.size(); ++p) {
    out.tensors.emplace_back();
    for (const Gradients& shard : shards) {
      Tensor gradient = shard.of(parameters[p].variable);
      if (!gradient.defined()) continue;
      if (!out.tensors[p].defined())
        out.tensors[p] = std::move(gradient);
      else
        others[p].push_back(std::move(gradient));
    }
    sizes.push_back(out.tensors[p].defined() ? out.tensors[p].count() : 0);
  }
  shards.clear();
  // Summing in place must not write into a tensor that somebody else still holds.
  for (size_t p = 0; p < parameters.size(); ++p)
    if (!others[p].empty() && !out.tensors[p].unique()) out.tensors[p] = out.tensors[p].clone();

  std::vector<Piece> pieces = pieces_of(sizes);
  std::vector<double> squares(pieces.size());
  run(pieces, [&](size_t i) {
    auto [p, begin, end] = pieces[i];
    Real* sum = out.tensors[p].data();
    for (const Tensor& other : others[p])
      for (int64_t j = begin; j < end; ++j) sum[j] += other.data()[j];
    squares[i] = sum_of_squares(sum + begin, end - begin);
  });
  double total = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    total += squares[i];
    const std::string& name = parameters[pieces[i].which].name;
    if (!std::isfinite(squares[i]) && (out.not_finite.empty() || out.not_finite.back() != name))
      out.not_finite.push_back(name);
  }
  out.norm = std::sqrt(total);
  return out;
}

}  // namespace lookback
