#include "study/labs/small_models.h"
#include "study/labs/trained.h"
#include "study/source_gradients.h"

namespace lookback {
namespace {

constexpr int64_t kLength = 40;
constexpr double kFarBelow = 1e-5;

std::vector<Example> sources(int64_t count) {
  SmallTask task{format("{{type: copy, symbols: 20, max_length: {}}}", kLength)};
  Recipe recipe = small_recipe(task, {.name = "GRU", .model = recurrent("gru", "{type: none}")});
  return test_examples(std::get<TaskDataOptions>(recipe.data), {kLength}, count);
}

}  // namespace

PathMeasured measure_path(const LabOptions& options) {
  SmallTask task{"{type: copy, symbols: 20, max_length: 20}"};
  struct Kind {
    std::string name, model;
    bool attends;
    double rate;
  };
  const std::vector<Kind> kinds = {
      {"RNN, fixed", recurrent("rnn", "{type: none}"), false, 1e-3},
      {"GRU, fixed", recurrent("gru", "{type: none}"), false, 1e-2},
      {"LSTM, fixed", recurrent("lstm", "{type: none}"), false, 1e-2},
      {"GRU, Bahdanau", recurrent("gru", "{type: bahdanau}"), true, 5e-3},
      {"GRU, Luong dot", recurrent("gru", "{type: luong, score: dot, query: current}"), true, 3e-3},
      {"GRU, Luong general", recurrent("gru", "{type: luong, score: general, query: current}"),
       true, 3e-3},
      {"Transformer", small_transformer(2), true, 2e-3}};
  std::vector<Example> examples = sources(options.full ? 50 : 10);
  PathMeasured out;
  std::vector<SmallModel> models;
  for (const Kind& kind : kinds) {
    SmallModel model{.name = kind.name,
                     .model = kind.model,
                     .rate = kind.rate,
                     .steps = options.full ? 1500 : 500,
                     .seed = options.seed};
    give_up_if_stopped(options);
    out.rows.push_back({kind.name,
                        kind.attends,
                        last_output_gradients(*untrained(task, model).model, examples),
                        {}});
    // Quick: one of each kind is trained.
    if (options.full || kind.name == "GRU, fixed" || kind.name == "GRU, Luong dot")
      models.push_back(model);
  }
  std::vector<TrainResult> trained = train_all(task, models, options);
  for (size_t i = 0; i < models.size(); ++i)
    for (PathMeasured::Row& row : out.rows)
      if (row.model == models[i].name)
        row.after = last_output_gradients(*trained[i].model, examples);
  if (!options.full)
    out.left_out = "training the other five models, and 1,500 steps instead of 500";
  return out;
}

LabReport judge(const PathMeasured& measured) {
  Judge judge;
  auto ratio = [](const Numbers& norms) { return norms.front() / norms.back(); };
  auto name = [](const PathMeasured::Row& row) {
    return row.model + format(", first over last of {} positions", row.before.size());
  };
  for (const PathMeasured::Row& row : measured.rows) {
    if (row.before.empty()) continue;
    Json& numbers = judge.numbers()[row.model];
    numbers = {{"before", row.before}, {"after", row.after}};
    if (row.attends)
      judge.between(name(row), 0.3, 3, ratio(row.before));
    else
      judge.at_most(name(row), kFarBelow, ratio(row.before));
  }
  // What training makes of it is another question, so no claim is held against it but this one:
  // a fixed context that has learned anything has learned to let the gradient pass.
  for (const PathMeasured::Row& row : measured.rows)
    if (!row.after.empty() && !row.attends)
      judge.at_least("the same after training: " + row.model, 100 * ratio(row.before),
                     ratio(row.after));
  return std::move(judge).report(measured.left_out);
}

}  // namespace lookback
