#include "study/scaling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "core/error.h"
#include "core/log.h"
#include "core/numbers.h"
#include "study/labs/judge.h"
#include "study/threads_as_before.h"

namespace lookback {
namespace {

/// The scalar under `a.b.c`; "" where there is none.
std::string text_at(const Config& config, const std::string& path) {
  const Config* at = &config;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');)
    if (!(at = at->find(key))) return "";
  return at->scalar();
}

/// 0 where there is no whole number.
int64_t number_at(const Config& config, const std::string& path) {
  return parse_whole(text_at(config, path)).value_or(0);
}

/// Measures along one axis after the other.
class Measuring {
 public:
  Measuring(const Config& config, const BenchOptions& shape)
      : config_(config), shape_(shape), recipe_(read_recipe(config)) {
    shape_.profile = shape_.peak = false;
    // A processor without bf16 says so once, not at every size.
    if (recipe_.train.products() == Products::kFloat) config_.set("train.precision=f32");
    out_.name = recipe_.name;
    out_.steps = shape_.steps;
  }

  Scaling run() {
    for (const char* side : {"encoder", "decoder"})
      transformer_.push_back(text_at(recipe_.resolved, format("model.{}.type", side)) ==
                             "transformer");
    const int64_t width = width_of("encoder"), symbols = number_at(recipe_.resolved, kSymbols);
    const int threads = recipe_.train.thread_count();
    const int64_t words = symbols > 0 ? symbols + kMarks : 0;
    out_.shape = format("B={} S={} T={} D={}{} threads={}", shape_.batch, shape_.source_length,
                        shape_.target_length, width, words ? format(" V={}", words) : "", threads);
    axis({"B", "sentences"}, shape_.batch, 1, 1, [](int64_t size, Config& config, BenchOptions& o) {
      o.batch = size;
      config.set(format("train.batch={{size: {}}}", size));
    });
    axis({"S", "source tokens"}, shape_.source_length, 1, transformer_[0] ? 2 : 1,
         [](int64_t size, Config&, BenchOptions& o) { o.source_length = size; });
    axis({"T", "target tokens"}, shape_.target_length, 1, transformer_[1] ? 2 : 1,
         [](int64_t size, Config&, BenchOptions& o) { o.target_length = size; });
    axis({"D", "units"}, width, 1, 2, [&](int64_t size, Config& config, BenchOptions&) {
      for (const char* side : {"encoder", "decoder"}) set_width(config, side, size, width);
    });
    if (words > 0)
      axis({"V", "words"}, words, kMarks + 1, 1, [](int64_t size, Config& config, BenchOptions&) {
        config.set(format("{}={}", kSymbols, size - kMarks));
      });
    std::vector<int64_t> counts;
    for (int count = 1; count <= threads; ++count) counts.push_back(count);
    axis({"threads", "threads"}, counts, -1, [](int64_t size, Config& config, BenchOptions&) {
      config.set(format("train.threads={}", size));
    });
    return std::move(out_);
  }

 private:
  static constexpr const char* kSymbols = "data.task.symbols";
  struct Name {
    std::string letter, name;
  };
  using Change = std::function<void(int64_t size, Config& config, BenchOptions& options)>;

  int64_t width_of(const std::string& side) const {
    bool transformer = transformer_.at(side == "encoder" ? 0 : 1);
    return number_at(recipe_.resolved,
                     format("model.{}.{}", side, transformer ? "width" : "hidden"));
  }

  /// Both sides grow alike, a Transformer's feed-forward networks with them.
  void set_width(Config& config, const std::string& side, int64_t size, int64_t base) const {
    auto scaled = [&](const std::string& key) {
      std::string path = format("model.{}.{}", side, key);
      config.set(format("{}={}", path, number_at(recipe_.resolved, path) * size / base));
    };
    if (transformer_.at(side == "encoder" ? 0 : 1)) {
      scaled("width");
      scaled("feed_forward");
    } else {
      scaled("hidden");
    }
  }

  void axis(const Name& name, int64_t base, int64_t least, double asymptotic,
            const Change& change) {
    axis(name, sizes_around(base, least), asymptotic, change);
  }

  void axis(const Name& name, const std::vector<int64_t>& sizes, double asymptotic,
            const Change& change) {
    ScalingAxis axis{
        .letter = name.letter, .name = name.name, .points = {}, .asymptotic = asymptotic};
    for (int64_t size : sizes) {
      Config config = config_;
      BenchOptions options = shape_;
      try {
        change(size, config, options);
        BenchResult result = bench(read_recipe(config), options);
        axis.points.push_back(
            {static_cast<double>(size), result.step_ms, result.gemm_gflops * result.step_ms / 1e3});
        log_info("{} = {}: {:.1f} ms", name.letter, size, result.step_ms);
      } catch (const UserError& error) {  // a width that heads do not divide, positions that end
        axis.left_out.push_back(format("{} = {}: {}", name.letter, size, error.what()));
      }
    }
    out_.axes.push_back(std::move(axis));
  }

  Config config_;
  BenchOptions shape_;
  Recipe recipe_;
  std::vector<bool> transformer_;  // encoder, decoder
  Scaling out_;
};

std::string exponent_text(double value) {
  return std::isfinite(value) ? format("{:.2f}", value) : "-";
}

bool counts(const ScalingAxis& axis) {  // products do not change with the threads
  return axis.letter != "threads";
}

Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

/// Measured times, and what the counted products alone would give, from the configuration's own size on.
Figure figure(const ScalingAxis& axis) {
  Series measured{.name = "measured", .points = {}}, theory{.name = "asymptotic", .points = {}};
  Series counted{.name = "by counted products", .points = {}, .dashed = true};
  theory.dashed = true;
  const ScalingPoint& last = axis.points.back();
  for (const ScalingPoint& p : axis.points) {
    double x = counts(axis) ? std::log2(p.size) : p.size;
    measured.points.emplace_back(x, p.step_ms);
    if (counts(axis)) counted.points.emplace_back(x, last.step_ms * p.gflop / last.gflop);
    theory.points.emplace_back(x, last.step_ms * std::pow(p.size / last.size, axis.asymptotic));
  }
  Figure out{.title = format("Step time by {}", axis.name),
             .subtitle = "dashed: what theory gives, through the last point",
             .x_label = counts(axis) ? format("log2 of {}", axis.letter) : axis.name,
             .y_label = "ms a step",
             .series = {measured},
             .log_y = true};
  if (counts(axis)) out.series.push_back(std::move(counted));
  out.series.push_back(std::move(theory));
  return out;
}

TableBlock points_table(const ScalingAxis& axis) {
  TableBlock out{.title = "",
                 .note = "",
                 .columns = {axis.letter, "ms a step", "GFLOP a step", "GFLOP/s"},
                 .rows = {}};
  for (const std::string& why : axis.left_out)
    out.note += (out.note.empty() ? "Left out: " : "; ") + why;
  for (const ScalingPoint& p : axis.points)
    out.rows.push_back({format("{}", p.size), format("{:.2f}", p.step_ms),
                        format("{:.3g}", p.gflop), format("{:.1f}", p.gflop / p.step_ms * 1e3)});
  return out;
}

}  // namespace

double upper_exponent(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  Numbers x, y;
  for (size_t i = points.size() - std::min<size_t>(3, points.size()); i < points.size(); ++i) {
    x.push_back(points[i].first);
    y.push_back(points[i].second);
  }
  return exponent(x, y);
}

std::vector<int64_t> sizes_around(int64_t size, int64_t least) {
  std::vector<int64_t> out;
  for (double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    int64_t next = std::llround(factor * static_cast<double>(size));
    if (next >= least && (out.empty() || next > out.back())) out.push_back(next);
  }
  return out;
}

double ScalingAxis::measured() const {
  std::vector<std::pair<double, double>> all;
  for (const ScalingPoint& p : points) all.emplace_back(p.size, p.step_ms);
  return upper_exponent(all);
}

double ScalingAxis::counted() const {
  std::vector<std::pair<double, double>> all;
  for (const ScalingPoint& p : points) all.emplace_back(p.size, p.gflop);
  return upper_exponent(all);
}

Scaling measure_scaling(const Config& config, const BenchOptions& shape) {
  ThreadsAsBefore threads;
  return Measuring(config, shape).run();
}

Json Scaling::json() const {
  Json out{{"name", name}, {"shape", shape}, {"steps", steps}, {"axes", Json::array()}};
  for (const ScalingAxis& axis : axes) {
    Json one{{"axis", axis.letter},
             {"measured", number_json(axis.measured())},
             {"asymptotic", axis.asymptotic},
             {"left_out", axis.left_out},
             {"points", Json::array()}};
    one["counted"] = counts(axis) ? number_json(axis.counted()) : Json();
    for (const ScalingPoint& p : axis.points)
      one["points"].push_back({{"size", p.size}, {"step_ms", p.step_ms}, {"gflop", p.gflop}});
    out["axes"].push_back(std::move(one));
  }
  return out;
}

Page scaling_page(const Scaling& scaling, const std::string& command) {
  Page page{
      .title = format("How a step of {} grows", scaling.name),
      .subtitle = format("{}; medians, timed steps of each size: {}", scaling.shape, scaling.steps),
      .blocks = {}};
  TableBlock exponents{
      .title = "Exponents",
      .note =
          "k of time = a size^k, one size changed at a time: the slope of log time over log size by "
          "least squares over the upper three points. By counted products: the same of the "
          "floating-point operations of the matrix products, which leave out elementwise work, "
          "softmax and products of a single row. Asymptotic: where this size outgrows all others.",
      .columns = {"size", "measured", "by counted products", "asymptotic"},
      .rows = {}};
  for (const ScalingAxis& axis : scaling.axes)
    exponents.rows.push_back(
        {axis.letter == axis.name ? axis.letter : format("{}, {}", axis.letter, axis.name),
         exponent_text(axis.measured()), counts(axis) ? exponent_text(axis.counted()) : "-",
         format("{:g}", axis.asymptotic)});
  page.blocks.push_back(std::move(exponents));
  for (const ScalingAxis& axis : scaling.axes) {
    if (axis.points.size() > 1) page.blocks.push_back(CurvesBlock{figure(axis)});
    page.blocks.push_back(points_table(axis));
  }
  page.blocks.push_back(CodeBlock{"Repeat it", command, false});
  return page;
}

}  // namespace lookback
