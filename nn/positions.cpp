#include "nn/positions.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {
namespace {

constexpr int64_t kReady = 512;

void wave(int64_t position, Real* row, int64_t width) {
  for (int64_t column = 0; column < width; ++column) {
    double power = static_cast<double>(column / 2 * 2) / static_cast<double>(width);
    double angle = static_cast<double>(position) * std::pow(10000.0, -power);
    row[column] = static_cast<Real>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace

Positions::Positions(const Options& o) : options_(o) {
  if (o.kind == "learned") {
    weight_ = parameter("weight", {o.max_positions, o.width}, normal(0.02));
  } else if (o.kind == "sinusoidal") {
    first_waves_ = Tensor({kReady, o.width});
    for (int64_t p = 0; p < kReady; ++p) wave(p, first_waves_.data() + p * o.width, o.width);
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

void Positions::waves(int64_t position, Real* row) const {
  int64_t width = options_.width;
  if (position < kReady)
    std::copy_n(first_waves_.data() + position * width, width, row);
  else
    wave(position, row, width);
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
  for (int64_t i = 0; i < rows.size(0) * length; ++i)
    waves(at.values[static_cast<size_t>(i)], rows.data() + i * width);
  return x + Variable(rows);
}

Variable Positions::at(const Variable& x, int64_t position) const {
  if (options_.kind == "none") return x;
  check(0, position + 1);
  if (weight_.defined())
    return x + embedding(weight_, IdMatrix(x.size(0), 1, static_cast<Id>(position)));
  Tensor row({1, 1, x.size(2)});
  waves(position, row.data());
  return x + Variable(row);
}

}  // namespace lookback
