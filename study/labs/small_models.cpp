#include "study/labs/small_models.h"

#include "study/threads_as_before.h"

namespace lookback {

std::string recurrent(const std::string& cell, const std::string& attention, int64_t hidden,
                      int64_t embedding) {
  return format(
      "{{encoder: {{cell: {0}, embedding: {3}, hidden: {2}}}, decoder: {{cell: {0}, embedding: {3}, "
      "hidden: {2}}}, attention: {1}}}",
      cell, attention, hidden, embedding);
}

std::string small_transformer(int64_t layers) {
  std::string side =
      format("{{type: transformer, width: 64, heads: 4, feed_forward: 128, layers: {}, norm: pre}}",
             layers);
  return format("{{encoder: {0}, decoder: {0}}}", side);
}

Recipe small_recipe(const SmallTask& task, const SmallModel& model) {
  return read_recipe(Config::from_text(
      format("name: lab\nseed: {}\n"
             "data: {{task: {}, held_out: {{examples: {}}}}}\n"
             "model: {}\n"
             "train:\n  steps: {}\n  batch: {{size: 64}}\n"
             "  optimizer: {{type: adam, lr: {}, betas: [0.9, 0.98]}}\n"
             "  schedule: {{type: linear_decay, warmup: 100}}\n"
             "  validate: {{every: 1000000}}\n  shards: 1\n  threads: 1\n",
             model.seed, task.task, task.held_out, model.model, model.steps, model.rate),
      "lab"));
}

std::vector<TrainResult> train_all(const SmallTask& task, const std::vector<SmallModel>& models,
                                   const LabOptions& options) {
  std::vector<TrainResult> out(models.size());
  ThreadsAsBefore restored;
  parallel_tasks(static_cast<int64_t>(models.size()), [&](int64_t i) {
    TrainRun run;
    run.log_file = false;
    run.stop = options.stop;
    size_t at = static_cast<size_t>(i);
    out[at] = train(small_recipe(task, models[at]), run);
  });
  give_up_if_stopped(options);
  return out;
}

TrainResult untrained(const SmallTask& task, const SmallModel& model) {
  Recipe recipe = small_recipe(task, model);
  TrainResult out;
  out.data = make_dataset(recipe.data, recipe.seed, recipe.train.batch);
  out.model =
      recipe.model(out.data->source_vocabulary().size(), out.data->target_vocabulary().size());
  out.model->initialize(recipe.seed);
  return out;
}

}  // namespace lookback
