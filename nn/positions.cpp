#include "nn/positions.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {
namespace {

constexpr int64_t kFirst = 512;

}  // namespace

Sinusoids::Sinusoids(int64_t width) : width_(width) {
  for (int64_t column = 0; column < width; column += 2)
    rates_.push_back(std::pow(10000.0, -static_cast<double>(column) / static_cast<double>(width)));
  first_.resize(static_cast<size_t>(kFirst) * rates_.size());
  for (int64_t p = 0; p < kFirst; ++p) wave(p, first_.data() + p * pairs());
}

/// sin and cos of position times each rate.
void Sinusoids::wave(int64_t position, Angle* row) const {
  for (double rate : rates_) {
    double angle = static_cast<double>(position) * rate;
    *row++ = {std::sin(angle), std::cos(angle)};
  }
}

void Sinusoids::fill(const Id* positions, int64_t count, Real* rows) const {
  std::vector<Angle> far(rates_.size());
  int64_t far_from = 0;  // where the first positions' rows are added to; 0: as they are
  for (int64_t i = 0; i < count; ++i) {
    int64_t near = positions[i] % kFirst, begin = positions[i] - near;
    if (begin != far_from) wave(begin, far.data());
    far_from = begin;
    const Angle* row = first_.data() + near * pairs();
    Real* out = rows + i * width_;
    for (int64_t column = 0; column < width_; ++column) {
      const Angle &a = row[column / 2], &b = far[static_cast<size_t>(column / 2)];
      bool even = column % 2 == 0;
      double value = even ? a.sin : a.cos;
      // sin(a + b) = sin a cos b + cos a sin b,  cos(a + b) = cos a cos b - sin a sin b
      if (begin > 0) value = value * b.cos + (even ? a.cos : -a.sin) * b.sin;
      out[column] = static_cast<Real>(value);
    }
  }
}

Positions::Positions(const Options& o) : options_(o) {
  if (o.kind == "learned") {
    weight_ = parameter("weight", {o.max_positions, o.width}, normal(0.02));
  } else if (o.kind == "sinusoidal") {
    sinusoids_ = Sinusoids(o.width);
  } else if (o.kind != "none") {
    fail("[positions] there is no kind \"{}\"; it must be sinusoidal, learned or none", o.kind);
  }
}

void Positions::check(int64_t sentence, int64_t tokens) const {
  if (limit() >= 0 && tokens > limit())
    fail("[positions] sentence {} has {} tokens, but the learned table ends at {} (max_positions)",
         sentence, tokens, limit());
}

int64_t Positions::offset(int64_t sentence, int64_t tokens, const Pass& pass) const {
  if (!pass.training || options_.random_offset == 0) return 0;
  RandomKey key = pass.key;
  key.purpose = purpose("positions");
  key.index = pass.sentence(sentence);
  int64_t drawn = Random(key).below(options_.random_offset + 1);
  return limit() < 0 ? drawn : std::min(drawn, limit() - tokens);
}

Variable Positions::operator()(const Variable& x, const Lengths& lengths, const Pass& pass) const {
  if (options_.kind == "none") return x;
  int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  IdMatrix at(batch, length, 0);
  bool moved = false;
  for (int64_t b = 0; b < batch; ++b) {
    check(b, lengths[static_cast<size_t>(b)]);
    int64_t start = offset(b, lengths[static_cast<size_t>(b)], pass);
    moved |= start > 0;
    for (int64_t s = 0; s < length; ++s) at.at(b, s) = static_cast<Id>(start + s);
  }
  if (weight_.defined()) {
    // A batch's padding may reach past the table although none of its sentences does.
    for (Id& position : at.values) position = std::min(position, static_cast<Id>(limit() - 1));
    return x + embedding(weight_, at);
  }
  Tensor rows({moved ? batch : 1, length, width});
  sinusoids_.fill(at.values.data(), rows.size(0) * length, rows.data());
  return x + Variable(rows);
}

Variable Positions::at(const Variable& x, int64_t position) const {
  if (options_.kind == "none") return x;
  check(0, position + 1);
  if (weight_.defined())
    return x + embedding(weight_, IdMatrix(x.size(0), 1, static_cast<Id>(position)));
  Tensor row({1, 1, x.size(2)});
  Id id = static_cast<Id>(position);
  sinusoids_.fill(&id, 1, row.data());
  return x + Variable(row);
}

}  // namespace lookback
