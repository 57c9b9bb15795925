// What attention changed, to be seen in about a minute: the same GRU learns to copy letters without
// and with attention. Without, the whole sentence must fit into one vector, and the copy falls
// apart as sentences grow; with attention the decoder may look back.
//
//   ./dev demo [FIGURE.svg]        (default: runs/demo/bottleneck.svg)
//
// It is also an example of a program of one's own on top of lookback: read a config, change some of
// its keys, train, evaluate, draw. It ends with 1 if what it shows is not what it says.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "study/figure.h"
#include "train/trainer.h"

using namespace lookback;

namespace {

std::atomic<bool> interrupted = false;  // Ctrl-C: train() ends after the step it is in

/// One model to train: a config, and what differs from it here.
struct Contender {
  std::string name;
  std::string config;
  std::vector<std::string> changes = {};
};

struct Outcome {
  std::string name;
  int64_t parameters = 0;
  double seconds = 0;
  Evaluation test;

  /// The share of held-out sentences of n letters that are exactly right, end mark included.
  double right(int64_t n) const {
    for (const Evaluation::Length& row : test.by_length)
      if (row.from == n) return row.measures.sequence_accuracy;
    fail("no held-out sentence has {} letters", n);
  }
};

/// On a terminal one line that is redrawn; in a pipe a line now and then.
void show(const Contender& contender, const Progress& p) {
  bool terminal = isatty(STDOUT_FILENO), last = p.step == p.total_steps;
  if (!terminal && !last && p.step % 500 != 0) return;
  std::printf("%s  %-28s step %4ld of %ld   nll %.3f   %4.1f s%s", terminal ? "\r\033[K" : "",
              contender.name.c_str(), static_cast<long>(p.step), static_cast<long>(p.total_steps),
              p.nll, p.elapsed, terminal && !last ? "" : "\n");
  std::fflush(stdout);
}

/// Trains one model and measures it on sentences that it has never seen.
Outcome run(const Contender& contender) {
  Config config = Config::from_file(contender.config);
  config.set("data.held_out.examples=4000");  // 200 of each length, for smooth curves
  config.set("train.shards=2");               // the same sums on any number of cores
  config.set("train.log_every=20");
  config.set("train.validate.every=100000");  // only at the end
  for (const std::string& change : contender.changes) config.set(change);

  TrainRun options;  // no folder: the trained model stays in memory
  options.stop = &interrupted;
  options.on_progress = [&](const Progress& progress) { show(contender, progress); };
  TrainResult trained = train(read_recipe(config), options);
  if (trained.interrupted) return {};
  return {.name = contender.name,
          .parameters = trained.model->parameter_count(),
          .seconds = trained.seconds,
          .test = evaluate(*trained.model, trained.data->held_out(Split::kTest), {.bucket = 1})};
}

/// `1234567` -> `1,234,567`
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
  return text;
}

std::string percent(double share) {
  return format("{:.1f}%", 100 * share);
}

bool terminal_knows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      std::string locale = value;
      return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    }
  return false;
}

/// A bar for a share, in eighths of a character.
std::string bar(double share) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr int kWidth = 16;
  int eighths = static_cast<int>(share * 8 * kWidth + 0.5), used = (eighths + 7) / 8;
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8] + std::string(static_cast<size_t>(kWidth - used), ' ');
}

void print_table(const Outcome& left, const Outcome& right) {
  bool bars = terminal_knows_utf8();
  int width = bars ? 24 : 18;
  std::printf("\nSentences copied exactly, by length (200 held-out sentences each):\n\n");
  std::printf("  letters   %-*s  %s\n", width, left.name.c_str(), right.name.c_str());
  for (const Evaluation::Length& row : left.test.by_length) {
    std::printf("  %7ld", static_cast<long>(row.from));
    for (const Outcome* side : {&left, &right}) {
      double share = side->right(row.from);
      std::printf("   %6s %-*s", percent(share).c_str(), bars ? 0 : width - 8,
                  bars ? bar(share).c_str() : "");
    }
    std::printf("\n");
  }
}

Figure draw(const std::vector<Outcome>& outcomes) {
  Figure figure{
      .title = "One vector forgets, looking back does not",
      .subtitle =
          "Copying random letters, after 1,500 training steps of 64 sentences for each model",
      .x_label = "letters in the sentence",
      .y_label = "sentences exactly right",
      .series = {},
      .y_range = std::pair(0.0, 1.0),
      .percent = true};
  for (const Outcome& outcome : outcomes) {
    Series series{.name = outcome.name,
                  .points = {},
                  .detail = grouped(outcome.parameters) + " parameters",
                  .dashed = figure.series.size() >= 2};
    for (const Evaluation::Length& row : outcome.test.by_length)
      series.points.emplace_back(row.from, row.measures.sequence_accuracy);
    figure.series.push_back(series);
  }
  return figure;
}

/// Prints one verdict and passes it on.
bool check(bool held, const std::string& text) {
  std::printf("  %s  %s\n", held ? "ok    " : "FAILED", text.c_str());
  return held;
}

/// Holds the outcomes to what this demo says.
bool judge(const Outcome& fixed, const Outcome& attention, const Outcome& large,
           const Outcome& tiny) {
  double worst = 0;
  for (int64_t n = 14; n <= 20; ++n) worst = std::max(worst, fixed.right(n));
  double tiny_all = tiny.test.all.sequence_accuracy, large_all = large.test.all.sequence_accuracy;
  std::printf("\nWhat was to be seen:\n");
  bool all =
      check(attention.right(20) >= 0.98,
            format("with attention {} of the sentences of 20 letters are right (at least 98%)",
                   percent(attention.right(20))));
  all &=
      check(fixed.right(4) >= 0.9,
            format("the fixed context has learned the task: {} right at 4 letters (at least 90%)",
                   percent(fixed.right(4))));
  all &= check(
      worst <= 0.05,
      format("but it forgets: at most {} right from 14 letters on (at most 5%)", percent(worst)));
  all &= check(tiny_all > large_all && tiny.right(20) > large.right(20),
               format("{} parameters with attention beat {} without: {} against {} of all "
                      "sentences, {} against {} at 20 letters",
                      grouped(tiny.parameters), grouped(large.parameters), percent(tiny_all),
                      percent(large_all), percent(tiny.right(20)), percent(large.right(20))));
  std::printf(
      "\nThe last line is a statement about equal steps on this task: after the same 1,500 steps, "
      "a\n"
      "fixed context %.0f times as large is behind. With more steps it remembers more, so this "
      "shows\n"
      "what a model learns for its training, not what it could never learn.\n",
      static_cast<double>(large.parameters) / static_cast<double>(tiny.parameters));
  return all;
}

int demo(const std::string& figure_path) {
  auto sizes = [](int embedding, int hidden) -> std::vector<std::string> {
    return {
        format("model.encoder.embedding={}", embedding), format("model.encoder.hidden={}", hidden),
        format("model.decoder.embedding={}", embedding), format("model.decoder.hidden={}", hidden)};
  };
  std::vector<std::string> tiny = sizes(16, 32);
  tiny.push_back("train.optimizer.lr=6e-3");  // a small model learns best at a higher rate
  const std::vector<Contender> contenders = {
      {"fixed context, D=64", "configs/copy_fixed.yaml"},
      {"attention, D=64", "configs/copy_bahdanau.yaml"},
      {"fixed context, D=312", "configs/copy_fixed.yaml", sizes(32, 312)},
      {"attention, D=32", "configs/copy_bahdanau.yaml", tiny},
  };
  std::printf("Four GRU encoder-decoders learn to copy 1 to 20 letters, 1,500 steps each.\n\n");
  std::vector<Outcome> outcomes;
  for (const Contender& contender : contenders) {
    outcomes.push_back(run(contender));
    if (interrupted) {
      std::printf("\ninterrupted; nothing was written\n");
      return 130;
    }
  }
  print_table(outcomes[0], outcomes[1]);
  bool held = judge(outcomes[0], outcomes[1], outcomes[2], outcomes[3]);
  std::filesystem::path folder = std::filesystem::path(figure_path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  write_file(figure_path, svg(draw(outcomes)));
  std::printf("\nAll four curves: %s\n", figure_path.c_str());
  return held ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int) { interrupted = true; });
  std::signal(SIGTERM, [](int) { interrupted = true; });
  try {
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) fail_user("usage: {} [FIGURE.svg]", argv[0]);
    return demo(argc == 2 ? argv[1] : "runs/demo/bottleneck.svg");
  } catch (const UserError& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 1;
  }
}
