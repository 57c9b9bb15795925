#include "train/recipe.h"

#include <algorithm>

#include "core/log.h"
#include "core/threads.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

void read_length(Section& section, TrainOptions& o) {
  bool by_steps = section.has("steps"), by_epochs = section.has("epochs");
  if (by_steps == by_epochs)
    section.refuse(by_steps ? "epochs" : "steps",
                   by_steps ? "give either steps or epochs, not both"
                            : "is missing; say how long to train, by steps or by epochs");
  if (by_steps)
    section.read("steps", o.steps, between(1, 1e9));
  else
    section.read("epochs", o.epochs, between(1, 1e6));
}

/// A shard for each core, as long as each has a sentence: even one each goes faster side by side than
/// every op of both cut in two (docs/performance.md).
int64_t automatic_shards(const BatchOptions& batch) {
  int64_t least = batch.unit == "tokens" ? 128 : 1;
  return std::clamp<int64_t>(batch.size / least, 1, available_cores());
}

TrainOptions read_train(Section section) {
  TrainOptions o;
  read_length(section, o);
  Section batch = section.section("batch");
  read(batch, o.batch);
  Section optimizer = section.section("optimizer");
  o.optimizer = optimizers().choose(optimizer, "type", "adam")(optimizer);
  Section schedule = section.section("schedule");
  o.schedule = schedules().choose(schedule, "type", "constant")(schedule);
  section.read("clip_norm", o.clip_norm, at_least(0));
  section.read("label_smoothing", o.label_smoothing, from_below(0, 1));
  section.read("accumulate", o.accumulate, between(1, 1e4));
  section.read_choice("precision", o.precision, {"f32", "bf16"});
  section.read_or_auto("threads", o.threads, between(1, 1024));
  section.read_or_auto("shards", o.shards, between(1, 1024));
  if (o.shards < 0) {
    o.automatic_shards = true;
    o.shards = automatic_shards(o.batch);
    section.record("shards", std::to_string(o.shards));
  }
  section.read("log_every", o.log_every, at_least(1));
  Section validate = section.section("validate");
  validate.read("every", o.validate_every, at_least(1));
  validate.read_choice("metric", o.metric, metric_names());
  validate.read("patience", o.patience, at_least(0));
  return o;
}

}  // namespace

namespace {

Recipe read_all(const Config& config, Config& resolved) {
  Recipe recipe;
  Section root(config, resolved);
  recipe.name = "model";
  read_name(root, recipe.name);
  root.read("seed", recipe.seed);
  Section data = root.section("data");
  recipe.data = read_data(data);
  Section model = root.section("model");
  recipe.model = read_model(model, one_vocabulary(recipe.data));
  recipe.train = read_train(root.section("train"));
  Section decode = root.section("decode");
  read(decode, recipe.decode);
  return recipe;
}

}  // namespace

void read_name(Section& root, std::string& name) {
  root.read("name", name);
  if (name.empty() || name.find_first_of("/\\") != std::string::npos || name[0] == '.')
    root.refuse("name", format("must be usable as a folder's name, but is \"{}\"", name));
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    root.refuse("name", "must be usable as a folder's name, but holds a control character");
}

Products TrainOptions::products() const {
  if (precision != "bf16") return Products::kFloat;
  if (bf16_products()) return Products::kBf16;
  log_warn(
      "train.precision: bf16: this processor has no products of bf16 numbers (AVX512_BF16); they stay in float");
  return Products::kFloat;
}

int TrainOptions::thread_count() const {
  return threads > 0 ? static_cast<int>(threads) : available_cores();
}

Recipe read_recipe(const Config& config) {
  Config resolved;
  Recipe recipe;
  try {
    recipe = read_all(config, resolved);
  } catch (const UserError&) {
    // A key that is missing is often there, misspelt; then that is what to say.
    refuse_misspelt(config, resolved);
    throw;
  }
  refuse_unknown(config, resolved);
  recipe.resolved = std::move(resolved);
  return recipe;
}

}  // namespace lookback
