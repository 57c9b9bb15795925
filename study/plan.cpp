#include "study/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "core/numbers.h"
#include "core/random.h"
#include "study/axes.h"
#include "study/test_data.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

/// `seeds: 3` is 1, 2, 3.
std::vector<uint64_t> read_seeds(Section& root, const Config& study) {
  const Config* given = study.find("seeds");
  std::vector<double> values = {1, 2, 3};
  if (given && given->kind() == Config::Kind::kScalar) {
    int64_t count = 3;
    root.read("seeds", count, between(1, 1000));
    values.clear();
    for (int64_t i = 1; i <= count; ++i) values.push_back(static_cast<double>(i));
  } else {
    root.read("seeds", values, between(0, 1e15));
  }
  if (values.empty()) root.refuse("seeds", "holds no seed, so the grid is empty");
  std::vector<uint64_t> seeds;
  for (double value : values) {
    if (value != std::floor(value))
      root.refuse("seeds", format("{} is no whole number", number_text(value)));
    if (std::count(seeds.begin(), seeds.end(), static_cast<uint64_t>(value)))
      root.refuse("seeds", format("{} stands there twice", number_text(value)));
    seeds.push_back(static_cast<uint64_t>(value));
  }
  return seeds;
}

/// Numbers of a list, or of {from, to, step}.
std::vector<int64_t> read_lengths(Section& test, const Config* given) {
  const Range range = between(1, 1e5);
  std::vector<double> values;
  if (given && given->kind() == Config::Kind::kMap) {
    Section span = test.section("lengths");
    int64_t from = 1, to = 0, step = 1;
    span.read("from", from, range);
    if (!span.has("to")) span.refuse("to", "is missing");
    span.read("to", to, range);
    span.read("step", step, range);
    for (int64_t n = from; n <= to; n += step) values.push_back(static_cast<double>(n));
    if (values.empty()) span.refuse("to", format("{} is below from, which is {}", to, from));
  } else {
    test.read("lengths", values, range);
  }
  std::vector<int64_t> lengths;
  for (double value : values) {
    if (value != std::floor(value))
      test.refuse("lengths", format("{} is no whole number", number_text(value)));
    lengths.push_back(static_cast<int64_t>(value));
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

StudyTest read_test(Section& test, const Config* given) {
  StudyTest o;
  o.lengths = read_lengths(test, given ? given->find("lengths") : nullptr);
  test.read("examples", o.examples, between(1, 1e6));
  test.read("bucket", o.bucket, between(1, 1e5));
  test.read("bleu", o.bleu);
  test.read("gradient_length", o.gradient_length, between(0, 1e5));
  test.read("gradient_examples", o.gradient_examples, between(1, 1e5));
  test.read_choice("checkpoint", o.checkpoint, {"last", "best"});
  return o;
}

void check_axis(Section& show, const std::string& key, const std::string& name,
                const std::vector<GridAxis>& axes) {
  std::vector<std::string> names;
  for (const GridAxis& axis : axes) names.push_back(axis.name);
  if (!name.empty() && std::count(names.begin(), names.end(), name) == 0)
    show.refuse(key, unknown_name("axis", name, names));
}

StudyShow read_show(Section show, const std::vector<GridAxis>& axes) {
  StudyShow o;
  std::vector<std::string> known = metric_names();
  known.push_back("bleu");
  show.read_choice("metric", o.metric, known);
  show.read("panels", o.panels);
  check_axis(show, "panels", o.panels, axes);
  show.read("across", o.across);
  check_axis(show, "across", o.across, axes);
  for (const GridAxis& axis : axes)
    for (const AxisChoice& choice : axis.choices)
      if (axis.name == o.across && !parse_number(choice.label))
        show.refuse("across",
                    format("its choices must be numbers, and \"{}\" is none", choice.label));
  return o;
}

/// A label as a part of a folder's name. It follows from the label alone, so that a folder stays
/// the label's own when choices come and go: where letters, digits and blanks do not say it all, a
/// hash of the label stands behind them.
std::string slug(const std::string& label) {
  constexpr size_t kLongest = 60;
  std::string out;
  bool whole = !label.empty() && label.size() <= kLongest;
  for (size_t i = 0; i < label.size() && out.size() < kLongest; ++i) {
    char c = label[i];
    bool blank = c == ' ' || (c == ',' && i + 1 < label.size() && label[i + 1] == ' ');
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_')
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
    whole = whole && (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || blank);
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  if (!whole || out.starts_with('.'))
    out += format("{}{:08x}", out.empty() ? "" : "-", purpose(label) & 0xffffffff);
  return out.starts_with('.') ? "_" + out : out;
}

/// Everything that one point of the grid, without its seed, is made from.
struct Grid {
  const Config& study;
  std::string base;
  std::vector<std::string> settings;
  std::vector<uint64_t> seeds;
  Settings common = {};
  std::set<std::string> folders = {};

  void add(const std::vector<const AxisChoice*>& point, std::vector<StudyCell>& cells) {
    std::string from = base, folder;
    std::vector<std::string> choices;
    for (const AxisChoice* choice : point) {
      choices.push_back(choice->label);
      folder += slug(choice->label) + "-";
      if (choice->settings.base.empty()) continue;
      if (from != base && from != choice->settings.base)
        fail_user("{}: vary: two axes give a base each, {} and {}", study.place(), from,
                  choice->settings.base);
      from = choice->settings.base;
    }
    if (from.empty())
      fail_user("{}: base: is missing; name the configuration that every cell starts from",
                study.place());
    Config config = Config::from_file(from), test = Config::of_map();
    if (const Config* given = study.find("test")) test.field("test") = *given;
    auto lay = [&](const Settings& settings) {
      for (const auto& [key, value] : settings.recipe) config.set(key, value);
      for (const auto& [key, value] : settings.test) test.set("test." + key, value);
    };
    lay(common);
    for (const AxisChoice* choice : point) lay(choice->settings);
    for (const std::string& setting : settings) {
      for (const char* own : {"seed", "name", "train.threads"})
        if (setting.starts_with(std::string(own) + "="))
          fail_user("--set {}: is the study's own to give{}", own,
                    std::string(own) == "seed" ? "; use --seeds" : "");
      (setting.starts_with("test.") ? test : config).set(setting);
    }
    // A cell runs on one thread, beside others: its bits must not depend on how many there are.
    if (const Config* train = config.find("train"); !train || !train->find("shards"))
      config.set("train.shards=1");

    Config read_back;
    Section root(test, read_back), section = root.section("test");
    StudyTest options = read_test(section, test.find("test"));
    refuse_unknown(test, read_back);
    if (!folders.insert(folder).second)
      fail_user("{}: vary: two combinations would have the folder {}; rename a choice",
                study.place(), folder);
    const Config* own_test = study.find("test");
    std::optional<TaskDataOptions> data;
    for (uint64_t seed : seeds) {
      StudyCell cell{.folder = format("{}seed{}", folder, seed),
                     .choices = choices,
                     .seed = seed,
                     .config = config,
                     .recipe = {},
                     .test = options,
                     .test_data = {}};
      cell.config.set(format("seed={}", seed));
      cell.config.set("train.threads=1");
      cell.recipe = read_recipe(cell.config);
      if (!data)
        data = test_data(cell.config, cell.recipe, options,
                         own_test ? own_test->place() : study.place());
      cell.test_data = data;
      cells.push_back(std::move(cell));
    }
  }
};

/// All combinations, the last axis fastest.
void for_each_point(const std::vector<GridAxis>& axes,
                    const std::function<void(const std::vector<const AxisChoice*>&)>& body) {
  std::vector<size_t> at(axes.size(), 0);
  for (;;) {
    std::vector<const AxisChoice*> point;
    for (size_t i = 0; i < axes.size(); ++i) point.push_back(&axes[i].choices[at[i]]);
    body(point);
    size_t i = axes.size();
    while (i > 0 && ++at[i - 1] == axes[i - 1].choices.size()) at[--i] = 0;
    if (i == 0) return;
  }
}

StudyPlan read_all(const Config& study, const std::vector<std::string>& settings,
                   Config& resolved) {
  StudyPlan plan;
  Section root(study, resolved);
  plan.name = "study";
  read_name(root, plan.name);
  plan.title = plan.name;
  root.read("title", plan.title);
  root.read("about", plan.about);
  std::string base;
  if (const Config* given = study.find("base"); given && given->kind() != Config::Kind::kNone)
    read_base(*given, "base");
  root.read_path("base", base);
  // Known, so that a misspelt one is told from them.
  for (const char* key : {"set", "vary", "skip"}) resolved.field(key);
  Grid grid{.study = study, .base = base, .settings = settings, .seeds = read_seeds(root, study)};
  if (const Config* common = study.find("set")) {
    resolved.field("set") = *common;
    grid.common = read_settings(*common, "set");
    if (!grid.common.base.empty())
      refuse_at(*common, "set.base", "belongs one level up, beside set");
  }
  std::vector<GridAxis> axes = read_axes(study, resolved);
  std::vector<Skip> skips = read_skips(study, axes, resolved);
  plan.show = read_show(root.section("show"), axes);
  Section test = root.section("test");
  read_test(test, study.find("test"));
  for (const GridAxis& axis : axes) {
    plan.axes.push_back({axis.name, {}});
    for (const AxisChoice& choice : axis.choices) plan.axes.back().labels.push_back(choice.label);
  }
  refuse_unknown(study, resolved);
  for_each_point(axes, [&](const std::vector<const AxisChoice*>& point) {
    std::vector<std::string> labels;
    for (const AxisChoice* choice : point) labels.push_back(choice->label);
    for (const Skip& skip : skips)
      if (skip.matches(labels)) return;
    grid.add(point, plan.cells);
  });
  if (plan.cells.empty()) root.refuse("skip", "leaves nothing of the grid");
  bool bleu = std::any_of(plan.cells.begin(), plan.cells.end(),
                          [](const StudyCell& cell) { return cell.test.bleu; });
  if (plan.show.metric == "bleu" && !bleu)
    root.refuse("test", "show.metric is bleu, which is measured with test.bleu: true alone");
  return plan;
}

}  // namespace

std::string StudyCell::label() const {
  std::string out;
  for (const std::string& choice : choices) out += choice + ", ";
  return out + format("seed {}", seed);
}

StudyPlan read_study(const Config& given, const StudyForm& form) {
  if (given.kind() != Config::Kind::kMap)
    fail_user("{}: a study is a map of keys: name, base, vary, seeds, test", given.place());
  Config study = given;
  const Config* over = given.find("full");
  study.remove("full");
  auto read = [&](const Config& chosen) {
    Config resolved;
    StudyPlan plan;
    try {
      plan = read_all(chosen, form.settings, resolved);
    } catch (const UserError&) {
      refuse_misspelt(chosen, resolved);
      throw;
    }
    plan.resolved = std::move(resolved);
    return plan;
  };
  auto with_seeds = [&](Config chosen) {
    if (form.seeds > 0) chosen.set("seeds", Config::of_scalar(std::to_string(form.seeds)));
    return chosen;
  };
  if (!over) {
    if (form.full)
      fail_user("{}: full: is missing: this study has no full form; leave --full out",
                given.place());
    return read(with_seeds(study));
  }
  if (over->kind() != Config::Kind::kMap)
    fail_user("{}: full: must be a map of the keys that the full form has otherwise",
              over->place());
  Config full = study;
  full.merge(*over);
  // A mistake in the long form is found before it costs an hour.
  StudyPlan quick_plan = read(with_seeds(study)), full_plan = read(with_seeds(full));
  return form.full ? std::move(full_plan) : std::move(quick_plan);
}

}  // namespace lookback
