#include "train/split.h"

#include "core/random.h"

namespace lookback {

const char* split_name(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kValid:
      return "valid";
    case Split::kTest:
      return "test";
  }
  return "";
}

Split split_of(uint64_t held_out_seed, const std::vector<Id>& source) {
  uint64_t hash = mix({held_out_seed, purpose("split"), source.size(), 0});
  for (Id id : source) hash = mix({hash, static_cast<uint64_t>(id), 0, 0});
  uint64_t part = hash % 8;
  return part == 0 ? Split::kValid : part == 1 ? Split::kTest : Split::kTrain;
}

}  // namespace lookback
