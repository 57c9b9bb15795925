#include "core/mask.h"

#include "core/error.h"

namespace lookback {

Mask::Mask(int64_t rows, int64_t columns, std::vector<uint8_t> allowed)
    : rows_(rows), columns_(columns) {
  if (static_cast<int64_t>(allowed.size()) != rows * columns)
    fail("[mask] {} flags do not fill ({}, {})", allowed.size(), rows, columns);
  allowed_ = std::make_shared<const std::vector<uint8_t>>(std::move(allowed));
}

Mask Mask::from_lengths(const Lengths& lengths, int64_t columns) {
  std::vector<uint8_t> allowed(lengths.size() * static_cast<size_t>(columns), 0);
  for (size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > columns)
      fail("[mask] length {} of sentence {} does not fit {} columns", lengths[b], b, columns);
    for (int64_t s = 0; s < lengths[b]; ++s) allowed[b * static_cast<size_t>(columns) + s] = 1;
  }
  return Mask(static_cast<int64_t>(lengths.size()), columns, std::move(allowed));
}

Mask Mask::causal() {
  return Mask().and_causal();
}

Mask Mask::and_causal() const {
  Mask out = *this;
  out.causal_ = true;
  return out;
}

Mask Mask::take(std::span<const int64_t> sentences) const {
  if (!defined()) return *this;
  std::vector<uint8_t> allowed;
  for (int64_t b : sentences) allowed.insert(allowed.end(), row(b), row(b) + columns_);
  Mask out(static_cast<int64_t>(sentences.size()), columns_, std::move(allowed));
  out.causal_ = causal_;
  return out;
}

}  // namespace lookback
