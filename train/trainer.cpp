#include "train/trainer.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "core/files.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/batches_ahead.h"
#include "train/run_folder.h"
#include "train/step.h"
#include "train/train_state.h"

namespace lookback {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// After this many steps in a row without a finite gradient there is no way back.
constexpr int64_t kHopeless = 100;

/// One run of train(): the pieces, and the loop over steps.
class Training {
 public:
  Training(const Recipe& recipe, const TrainRun& run);
  ~Training() {  // also where a step throws
    if (run_.log_file) log_close_file();
  }
  TrainResult go();

 private:
  bool resumes() const { return run_.start == TrainRun::Start::kResume; }
  void open_folder();
  void step();
  void report();
  void validate();
  void save(bool best);
  bool finished() const;

  Recipe recipe_;
  const TrainOptions& options_;
  const TrainRun& run_;
  std::optional<RunFolder> folder_;
  TrainResult out_;
  std::optional<BatchesAhead> batches_;
  std::vector<Module::Named> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  Schedule schedule_;
  Products products_ = Products::kFloat;
  TrainState state_;
  int64_t total_steps_ = 0;
  int64_t validated_step_ = -1;
  Clock::time_point begin_ = Clock::now(), reported_ = Clock::now();
  double rate_ = 0, norm_ = 0;
  int64_t tokens_ = 0;  // since the last report
};

Training::Training(const Recipe& recipe, const TrainRun& run)
    : recipe_(recipe), options_(recipe_.train), run_(run) {
  set_threads(options_.thread_count());
  if (!run.folder.empty() && resumes()) {
    folder_.emplace(run.folder, run.start);
    folder_->adopt_config(recipe_);
  }
  // Data and model come before the folder: whatever is wrong with them leaves no trace on the disk.
  out_.data = make_dataset(recipe_.data, recipe_.seed, options_.batch);
  total_steps_ = options_.steps > 0 ? options_.steps : out_.data->steps_in_epochs(options_.epochs);
  if (options_.steps == 0) total_steps_ = std::max<int64_t>(1, total_steps_ / options_.accumulate);
  out_.data->held_out(Split::kValid);
  batches_.emplace(*out_.data, options_.accumulate);
  out_.model =
      recipe_.model(out_.data->source_vocabulary().size(), out_.data->target_vocabulary().size());
  for (Split split : {Split::kTrain, Split::kValid, Split::kTest})
    out_.data->refuse_longer(split, position_limits(*out_.model));
  out_.model->initialize(recipe_.seed);
  parameters_ = out_.model->parameters();
  optimizer_ = options_.optimizer.make(parameters_);
  schedule_ = options_.schedule(total_steps_);
  if (!run.folder.empty()) open_folder();
  // Only now, for it may warn, and log.txt is to say so.
  products_ = run_.products ? *run_.products : options_.products();
}

void Training::open_folder() {
  if (!folder_) folder_.emplace(run_.folder, run_.start);
  if (resumes()) {
    state_ = TrainState::load(folder_->file("state.safetensors"), *out_.model, *optimizer_);
    if (state_.step > total_steps_)
      fail_user("{}: this run has made {} steps already, more than the {} asked for", run_.folder,
                state_.step, total_steps_);
    folder_->cut_metrics_after(state_.step);
  } else {
    out_.data->source_vocabulary().save(folder_->file("source.vocabulary.txt"));
    out_.data->target_vocabulary().save(folder_->file("target.vocabulary.txt"));
  }
  // A run that is killed before its first validation can be resumed too: from the start. The config
  // comes last, for by it a folder is known to hold a run.
  if (!resumes()) state_.save(folder_->file("state.safetensors"), *out_.model, *optimizer_);
  write_file(folder_->file("config.yaml"), recipe_.resolved.yaml());
  if (run_.log_file) log_to_file(folder_->file("log.txt"));
}

void Training::step() {
  Pass pass{.training = true,
            .key = {.seed = recipe_.seed,
                    .purpose = 0,
                    .step = static_cast<uint64_t>(state_.step),
                    .index = 0}};
  StepOptions options{.shards = options_.shards,
                      .label_smoothing = options_.label_smoothing,
                      .products = products_};
  int64_t next = state_.step + 1;
  if (next < total_steps_) options.meanwhile = [this, next] { batches_->make(next); };
  StepResult result =
      forward_backward(*out_.model, parameters_, batches_->take(state_.step), pass, options);
  ++state_.step;
  tokens_ += result.tokens;
  rate_ = options_.optimizer.rate * schedule_(state_.step);
  norm_ = result.gradients.norm;
  if (!std::isfinite(norm_)) {
    ++state_.skipped;
    std::string names;
    for (const std::string& name : result.gradients.not_finite)
      names += (names.empty() ? "" : ", ") + name;
    log_warn("step {}: skipped, the gradient is not finite in {}", state_.step,
             names.empty() ? "its norm" : names);
    if (++state_.skipped_in_row >= kHopeless)
      fail(
          "training stopped: {} steps in a row had gradients that are not finite (a lower "
          "train.optimizer.lr "
          "or a smaller train.clip_norm may help)",
          kHopeless);
    return;
  }
  state_.skipped_in_row = 0;
  {
    ProfileScope timed(Phase::kAround, "optimiser");
    optimizer_->step(result.gradients, rate_, clip_factor(norm_, options_.clip_norm));
  }
  state_.loss += result.loss;
  state_.nll += result.nll;
  ++state_.steps_summed;
}

void Training::report() {
  ProfileScope timed(Phase::kAround, "logging");
  // Where every step since the last report was skipped there is no mean: 0 / 0 is NaN, null in JSON.
  double count = static_cast<double>(state_.steps_summed);
  Progress progress{.step = state_.step,
                    .total_steps = total_steps_,
                    .loss = state_.loss / count,
                    .nll = state_.nll / count,
                    .learning_rate = rate_,
                    .gradient_norm = norm_,
                    .tokens_per_second = static_cast<double>(tokens_) / seconds_since(reported_),
                    .elapsed = seconds_since(begin_)};
  state_.loss = state_.nll = 0;
  state_.steps_summed = tokens_ = 0;
  reported_ = Clock::now();
  if (folder_)
    folder_->metric({{"event", "train"},
                     {"step", progress.step},
                     {"loss", progress.loss},
                     {"nll", progress.nll},
                     {"lr", progress.learning_rate},
                     {"grad_norm", progress.gradient_norm},
                     {"tokens_per_second", progress.tokens_per_second},
                     {"elapsed_s", progress.elapsed}});
  if (run_.on_progress) run_.on_progress(progress);
}

void Training::validate() {
  ProfileScope timed(Phase::kAround, "validation");
  Clock::time_point start = Clock::now();
  out_.last = evaluate(*out_.model, out_.data->held_out(Split::kValid));
  reported_ += Clock::now() - start;  // validation is no training time
  validated_step_ = state_.step;
  if (!std::isfinite(out_.last.all.nll))
    fail(
        "training stopped at step {}: the validation nll is not finite, the weights have run away (a lower train.optimizer.lr or a smaller train.clip_norm may help)",
        state_.step);
  double value = out_.last.metric(options_.metric);
  bool better =
      more_is_better(options_.metric) ? value > state_.best_metric : value < state_.best_metric;
  bool best = std::isfinite(value) && (state_.best_step == 0 || better);
  if (best) {
    state_.best_metric = value;
    state_.best_step = state_.step;
  }
  state_.strikes = best ? 0 : state_.strikes + 1;
  if (folder_) {
    ProfileScope timed_inside(Phase::kAround, "logging");
    Json line{{"event", "validate"}, {"step", state_.step}};
    line.update(out_.last.json());
    line.erase("by_length");
    line["best"] = best;
    line["elapsed_s"] = seconds_since(begin_);
    folder_->metric(line);
  }
  save(best);
  ProfileScope timed_inside(Phase::kAround, "logging");
  if (run_.on_validation) run_.on_validation(state_.step, out_.last, best);
}

/// In this order a kill between two writes loses nothing: the state goes last, and what an older
/// state does again comes out the same.
void Training::save(bool best) {
  if (!folder_) return;
  ProfileScope timed(Phase::kAround, "checkpoints");
  ModelFile file{.model = out_.model.get(),
                 .config = &recipe_.resolved,
                 .source = &out_.data->source_vocabulary(),
                 .target = &out_.data->target_vocabulary(),
                 .step = state_.step};
  if (best) save_model(folder_->file("best.safetensors"), file);
  save_model(folder_->file("last.safetensors"), file);
  state_.save(folder_->file("state.safetensors"), *out_.model, *optimizer_);
}

bool Training::finished() const {
  return state_.step >= total_steps_ ||
         (options_.patience > 0 && state_.strikes >= options_.patience);
}

TrainResult Training::go() {
  if (run_.on_start)
    run_.on_start({.step = state_.step,
                   .total_steps = total_steps_,
                   .parameters = out_.model->parameter_count(),
                   .threads = threads(),
                   .shards = options_.shards,
                   .data = out_.data->description()});
  int64_t first = state_.step;
  std::optional<Profile> profile;
  if (run_.profile) profile.emplace();
  begin_ = reported_ = Clock::now();
  while (!finished()) {
    step();
    if (state_.step % options_.log_every == 0 || state_.step == total_steps_) report();
    if (state_.step % options_.validate_every == 0 || state_.step == total_steps_) validate();
    // Only after a validation that was due: the resumed run would not make up for it.
    if (run_.stop && run_.stop->load() && !finished()) {
      out_.interrupted = true;
      if (validated_step_ != state_.step) save(false);
      break;
    }
  }
  // A run that was resumed when it was over has yet to say how good it is.
  if (!out_.interrupted && validated_step_ != state_.step) {
    ProfileScope timed(Phase::kAround, "validation");
    out_.last = evaluate(*out_.model, out_.data->held_out(Split::kValid));
  }
  if (profile) out_.profile = profile->report();
  out_.step = state_.step;
  out_.steps_made = state_.step - first;
  out_.best_step = state_.best_step;
  out_.best_metric = state_.best_metric;
  out_.skipped = state_.skipped;
  out_.seconds = seconds_since(begin_);
  return std::move(out_);
}

}  // namespace

TrainResult train(const Recipe& recipe, const TrainRun& run) {
  return Training(recipe, run).go();
}

}  // namespace lookback
