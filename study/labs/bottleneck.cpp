#include "study/cell.h"
#include "study/labs/small_models.h"
#include "study/labs/trained.h"

namespace lookback {
namespace {

constexpr int64_t kLongest = 20;

struct Kind {
  std::string name, cell, attention;
  int64_t units, embedding;
  double rate;
};

/// By length, from what one model does on the held-out set.
Numbers right_by_length(const TrainResult& trained) {
  Evaluation test = evaluate(*trained.model, trained.data->held_out(Split::kTest), {.bucket = 1});
  Numbers out(kLongest, 0);
  for (const Evaluation::Length& row : test.by_length)
    out.at(static_cast<size_t>(row.from - 1)) = row.measures.sequence_accuracy;
  return out;
}

double half_right(const Numbers& right) {
  CellResult curve;
  for (size_t i = 0; i < right.size(); ++i) {
    int64_t n = static_cast<int64_t>(i) + 1;
    curve.by_length.push_back({n, n, {.examples = 1, .sequence_accuracy = right[i]}});
  }
  return curve.half_right_length();
}

}  // namespace

BottleneckMeasured measure_bottleneck(const LabOptions& options) {
  std::vector<Kind> kinds = {{"GRU, fixed", "gru", "{type: none}", 64, 32, 1e-2},
                             {"GRU, fixed", "gru", "{type: none}", 128, 32, 1e-2},
                             {"GRU, Bahdanau", "gru", "{type: bahdanau}", 32, 16, 6e-3}};
  if (options.full) {
    kinds.insert(kinds.begin(), {"GRU, fixed", "gru", "{type: none}", 32, 16, 1e-2});
    kinds.push_back({"GRU, fixed", "gru", "{type: none}", 256, 32, 1e-2});
    kinds.push_back({"LSTM, fixed", "lstm", "{type: none}", 64, 32, 1e-2});
    kinds.push_back(
        {"GRU, Luong dot", "gru", "{type: luong, score: dot, query: current}", 64, 32, 3e-3});
  }
  const uint64_t seeds = options.full ? 3 : 1;
  std::vector<SmallModel> models;
  for (const Kind& kind : kinds)
    for (uint64_t seed = 0; seed < seeds; ++seed)
      models.push_back({.name = kind.name,
                        .model = recurrent(kind.cell, kind.attention, kind.units, kind.embedding),
                        .rate = kind.rate,
                        .steps = 1500,
                        .seed = options.seed + seed});
  SmallTask task{format("{{type: copy, symbols: 20, max_length: {}}}", kLongest), 2000};
  std::vector<TrainResult> trained = train_all(task, models, options);
  BottleneckMeasured out;
  for (size_t k = 0; k < kinds.size(); ++k) {
    BottleneckMeasured::Row row{.model = kinds[k].name,
                                .attends = kinds[k].attention != "{type: none}",
                                .units = kinds[k].units,
                                .right = Numbers(kLongest, 0)};
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      const TrainResult& one = trained[k * seeds + seed];
      row.parameters = one.model->parameter_count();
      Numbers right = right_by_length(one);
      for (size_t i = 0; i < right.size(); ++i)
        row.right[i] += right[i] / static_cast<double>(seeds);
    }
    row.half = half_right(row.right);
    out.rows.push_back(std::move(row));
  }
  if (!options.full)
    out.left_out =
        "two more seeds, fixed contexts of 32 and 256 units, the LSTM and Luong's attention (the "
        "study configs/studies/bottleneck.yaml has them all)";
  return out;
}

LabReport judge(const BottleneckMeasured& measured) {
  Judge judge;
  auto percent = [](double share) { return format("{:.1f}%", 100 * share); };
  const BottleneckMeasured::Row* before = nullptr;
  for (const BottleneckMeasured::Row& row : measured.rows) {
    std::string name = format("{}, {} units", row.model, row.units);
    judge.numbers()[name] = {{"parameters", row.parameters},
                             {"right_by_length", row.right},
                             {"half_right_length", row.half}};
    if (row.attends) {
      double least = 1;
      for (double right : row.right) least = smaller(least, right);
      judge.check(name + ": sentences of 1 to 20 letters right", "97% or more at each",
                  percent(least) + " or more", least >= 0.97);
      continue;
    }
    double most = 0;
    for (size_t n = 14; n <= row.right.size(); ++n) most = larger(most, row.right[n - 1]);
    if (row.units == 64) {
      judge.check(name + ": of 4 letters right", "90% or more", percent(row.right.at(3)),
                  row.right.at(3) >= 0.9);
      judge.check(name + ": from 14 letters on right", "5% or less", percent(most) + " or less",
                  most <= 0.05);
    }
    if (row.model == "GRU, fixed") {
      // A vector twice as large holds twice as much if size were all; it buys a few letters.
      if (before && row.units == 2 * before->units)
        judge.check(format("half are right up to, {} then {} units", before->units, row.units),
                    "less than 1.6 times as long",
                    format("{:.1f} then {:.1f} letters", before->half, row.half),
                    row.half < 1.6 * before->half);
      before = &row;
    }
  }
  return std::move(judge).report(measured.left_out);
}

}  // namespace lookback
