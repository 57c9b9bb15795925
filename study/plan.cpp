#include "study/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "core/numbers.h"
#include "core/random.h"
#include "study/test_data.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

std::string absolute(const Config& path) {
  const std::string& text = path.scalar();
  return text.starts_with('/') || path.folder().empty() ? text : path.folder() + "/" + text;
}

[[noreturn]] void refuse(const Config& at, const std::string& path, const std::string& text) {
  fail_user("{}: {}: {}", at.place(), path, text);
}

/// A configuration that others start from, as an absolute path.
std::string base_of(const Config& value, const std::string& path) {
  if (value.kind() != Config::Kind::kScalar) refuse(value, path, "must be a path");
  std::string file = absolute(value);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) refuse(value, path, format("{}: no such file", file));
  return file;
}

/// Keys that a study gives each model itself.
void check_key(const Config& at, const std::string& path, const std::string& key) {
  if (key == "seed") refuse(at, path, "seed: belongs under the study's own `seeds`");
  if (key == "name" || key == "train.threads")
    refuse(at, path, key + ": is the study's own to give; every model runs on one thread");
}

/// Keys with their values, as they stand under `set` or under a choice.
struct Settings {
  std::string base;  ///< another configuration to start from; empty: the study's
  std::vector<std::pair<std::string, Config>> recipe, test;
};

Settings read_settings(const Config& map, const std::string& path) {
  Settings out;
  if (map.kind() == Config::Kind::kNone) return out;
  if (map.kind() != Config::Kind::kMap)
    refuse(map, path, "must be a map of keys to values, like {model.encoder.hidden: 32}");
  for (const auto& [key, value] : map.fields()) {
    if (key == "base") {
      out.base = base_of(value, path + ".base");
    } else if (key.starts_with("test.")) {
      out.test.emplace_back(key.substr(5), value);
    } else {
      check_key(value, path, key);
      out.recipe.emplace_back(key, value);
    }
  }
  return out;
}

struct Choice {
  std::string label;
  Settings settings;
};
struct Axis {
  std::string name;
  std::vector<Choice> choices;
};

Axis read_axis(const std::string& name, const Config& value) {
  std::string path = "vary." + name;
  if (name.empty()) refuse(value, "vary", "an axis needs a name");
  // The columns of results.csv beside the axes.
  for (const char* column : {"seed", "seeds", "parameters", "seconds", "examples", "tokens", "nll",
                             "token_accuracy", "sequence_accuracy", "moment", "position",
                             "distance", "gradient", "source_from", "source_to", "source_length"})
    if (name == column)
      refuse(value, path,
             format("is a column of the results{}; call the axis something else",
                    name == "seed" ? ", and seeds belong under `seeds`" : ""));
  check_key(value, path, name);
  Axis axis{name, {}};
  if (value.kind() == Config::Kind::kList) {
    for (const Config& item : value.items()) {
      if (item.kind() != Config::Kind::kScalar)
        refuse(item, path, "a list holds plain values, which the key of that name takes");
      Settings settings;
      if (name.starts_with("test."))
        settings.test.emplace_back(name.substr(5), item);
      else
        settings.recipe.emplace_back(name, item);
      axis.choices.push_back({item.scalar(), settings});
    }
  } else if (value.kind() == Config::Kind::kMap) {
    for (const auto& [label, settings] : value.fields())
      axis.choices.push_back({label, read_settings(settings, path + "." + label)});
  } else {
    refuse(value, path,
           "must be a map of choices, like {small: {model.encoder.hidden: 32}}, or, where its name "
           "is a key, a list of values");
  }
  if (axis.choices.empty()) refuse(value, path, "has no choices, so the grid is empty");
  std::set<std::string> seen;
  for (const Choice& choice : axis.choices)
    if (!seen.insert(choice.label).second)
      refuse(value, path, format("\"{}\" stands there twice", choice.label));
  return axis;
}

std::vector<Axis> read_axes(const Config& study, Config& resolved) {
  const Config* vary = study.find("vary");
  if (!vary || vary->kind() == Config::Kind::kNone)
    refuse(study, "vary", "is missing; name what varies, like {model: {A: {...}, B: {...}}}");
  if (vary->kind() != Config::Kind::kMap) refuse(*vary, "vary", "must be a map of axes");
  if (vary->fields().empty()) refuse(*vary, "vary", "is empty, so the grid is empty");
  resolved.field("vary") = *vary;
  std::vector<Axis> axes;
  for (const auto& [name, value] : vary->fields()) axes.push_back(read_axis(name, value));
  return axes;
}

/// Combinations to leave out: a list of maps from axis to a label, or a list of labels.
struct Skip {
  std::vector<std::vector<std::string>> labels;  ///< of each axis; none: any
  bool matches(const std::vector<std::string>& choices) const {
    for (size_t i = 0; i < choices.size(); ++i)
      if (!labels[i].empty() && std::count(labels[i].begin(), labels[i].end(), choices[i]) == 0)
        return false;
    return true;
  }
};

std::vector<Skip> read_skips(const Config& study, const std::vector<Axis>& axes, Config& resolved) {
  std::vector<Skip> skips;
  const Config* list = study.find("skip");
  if (!list || list->kind() == Config::Kind::kNone) return skips;
  if (list->kind() != Config::Kind::kList)
    refuse(*list, "skip", "must be a list of maps from an axis to labels of it");
  resolved.field("skip") = *list;
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  for (const Config& item : list->items()) {
    if (item.kind() != Config::Kind::kMap || item.fields().empty())
      refuse(item, "skip", "must be a list of maps from an axis to labels of it");
    Skip skip{.labels = std::vector<std::vector<std::string>>(axes.size())};
    for (const auto& [name, value] : item.fields()) {
      auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) refuse(value, "skip", unknown_name("axis", name, names));
      const Axis& axis = axes[static_cast<size_t>(at - names.begin())];
      std::vector<std::string> known;
      for (const Choice& choice : axis.choices) known.push_back(choice.label);
      std::vector<Config> given =
          value.kind() == Config::Kind::kList ? value.items() : std::vector<Config>{value};
      for (const Config& label : given) {
        if (label.kind() != Config::Kind::kScalar)
          refuse(label, "skip", format("{}: must be a label or a list of labels", name));
        if (std::count(known.begin(), known.end(), label.scalar()) == 0)
          refuse(label, "skip", unknown_name("choice of " + name, label.scalar(), known));
        skip.labels[static_cast<size_t>(at - names.begin())].push_back(label.scalar());
      }
    }
    skips.push_back(skip);
  }
  return skips;
}

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
                const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) names.push_back(axis.name);
  if (!name.empty() && std::count(names.begin(), names.end(), name) == 0)
    show.refuse(key, unknown_name("axis", name, names));
}

StudyShow read_show(Section show, const std::vector<Axis>& axes) {
  StudyShow o;
  std::vector<std::string> known = metric_names();
  known.push_back("bleu");
  show.read_choice("metric", o.metric, known);
  show.read("panels", o.panels);
  check_axis(show, "panels", o.panels, axes);
  show.read("across", o.across);
  check_axis(show, "across", o.across, axes);
  for (const Axis& axis : axes)
    for (const Choice& choice : axis.choices)
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

  void add(const std::vector<const Choice*>& point, std::vector<StudyCell>& cells) {
    std::string from = base, folder;
    std::vector<std::string> choices;
    for (const Choice* choice : point) {
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
    for (const Choice* choice : point) lay(choice->settings);
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
void for_each_point(const std::vector<Axis>& axes,
                    const std::function<void(const std::vector<const Choice*>&)>& body) {
  std::vector<size_t> at(axes.size(), 0);
  for (;;) {
    std::vector<const Choice*> point;
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
    base_of(*given, "base");
  root.read_path("base", base);
  // Known, so that a misspelt one is told from them.
  for (const char* key : {"set", "vary", "skip"}) resolved.field(key);
  Grid grid{.study = study, .base = base, .settings = settings, .seeds = read_seeds(root, study)};
  if (const Config* common = study.find("set")) {
    resolved.field("set") = *common;
    grid.common = read_settings(*common, "set");
    if (!grid.common.base.empty()) refuse(*common, "set.base", "belongs one level up, beside set");
  }
  std::vector<Axis> axes = read_axes(study, resolved);
  std::vector<Skip> skips = read_skips(study, axes, resolved);
  plan.show = read_show(root.section("show"), axes);
  Section test = root.section("test");
  read_test(test, study.find("test"));
  for (const Axis& axis : axes) {
    plan.axes.push_back({axis.name, {}});
    for (const Choice& choice : axis.choices) plan.axes.back().labels.push_back(choice.label);
  }
  refuse_unknown(study, resolved);
  for_each_point(axes, [&](const std::vector<const Choice*>& point) {
    std::vector<std::string> labels;
    for (const Choice* choice : point) labels.push_back(choice->label);
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
