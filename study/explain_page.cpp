#include "study/explain_page.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace lookback {
namespace {

std::vector<std::string> tokens(const std::vector<Id>& ids, const Vocabulary& vocabulary) {
  std::vector<std::string> out;
  for (Id id : ids) out.push_back(vocabulary.token(id));
  return out;
}

std::string joined(const std::vector<Id>& ids, const Vocabulary& vocabulary) {
  return vocabulary.decode(ids);
}

std::string share(double value) {
  return std::isfinite(value) ? format("{:.0f}%", 100 * value) : "";
}
std::string number(double value) {
  return std::isfinite(value) ? format("{:.2f}", value) : "";
}

/// Rows scaled so that the largest magnitude of each is 1: what moves one output most.
Grid by_row(Grid grid) {
  for (std::vector<double>& row : grid) {
    double most = 0;
    for (double value : row) most = std::max(most, std::abs(value));
    for (double& value : row) value = most > 0 ? value / most : 0;
  }
  return grid;
}

TableBlock check_table(const WeightVerdict& verdict) {
  TableBlock block{.title = "Do the weights agree with what moves the output?",
                   .note =
                       "Over output tokens, the end mark not counted. Rank: Spearman's correlation "
                       "over source positions. Same place: how often the largest weight stands "
                       "where the largest effect is. They agree where that is 80% or more and "
                       "ranks are not opposed (-0.5); most effects are near 0, and the ranks of "
                       "those are noise.",
                   .columns = {"check", "what it asks", "rank", "same place", "agrees"},
                   .rows = {}};
  for (const WeightCheck& c : verdict.checks)
    block.rows.push_back({c.name, c.what, number(c.agreement.rank), share(c.agreement.top),
                          c.passes ? "yes" : "no"});
  return block;
}

/// Which source token is first by each measure, an output token a row.
TableBlock token_table(const Explanation& e, const TokenNames& names) {
  TableBlock block{.title = "Token by token",
                   .note =
                       "The source position, counted from 1, where each measure is largest, "
                       "whichever way it pulls.",
                   .columns = {"output", "p"},
                   .rows = {}};
  Grid product = magnitudes(e.product);
  auto first = [&](const Grid& grid, size_t t) {
    size_t at = largest(grid[t]);
    return format("{} ({})", names.source.token(e.source[at]), at + 1);
  };
  if (!e.weights.empty()) block.columns.insert(block.columns.end(), {"weight", "", "ablation"});
  block.columns.insert(block.columns.end(), {"erasure", "gradient", "input x gradient"});
  block.columns.erase(block.columns.begin() + 1);
  for (size_t t = 0; t < e.target.size(); ++t) {
    std::vector<std::string> row = {names.target.token(e.target[t])};
    if (!e.weights.empty()) {
      row.push_back(first(e.mean_weights, t));
      row.push_back(share(*std::max_element(e.mean_weights[t].begin(), e.mean_weights[t].end())));
      row.push_back(first(e.ablation, t));
    }
    row.insert(row.end(), {first(e.erasure, t), first(e.gradient, t), first(product, t)});
    block.rows.push_back(std::move(row));
  }
  return block;
}

}  // namespace

std::vector<Heatmap> weight_maps(const Explanation& e, const TokenNames& names) {
  std::vector<Heatmap> maps;
  if (e.weights.empty()) return maps;
  std::vector<std::string> rows = tokens(e.target, names.target),
                           columns = tokens(e.source, names.source);
  size_t layers = e.weights.size(), heads = e.weights[0].size();
  bool several = layers * heads > 1;
  maps.push_back({.name = several ? "mean of all heads" : "weights",
                  .rows = rows,
                  .columns = columns,
                  .values = e.mean_weights});
  for (size_t layer = 0; several && layer < layers; ++layer)
    for (size_t head = 0; head < e.weights[layer].size(); ++head)
      maps.push_back({.name = format("layer {}, head {}", layer + 1, head + 1),
                      .rows = rows,
                      .columns = columns,
                      .values = e.weights[layer][head]});
  return maps;
}

Page explanation_page(const std::vector<Explanation>& seeds, const WeightVerdict& verdict,
                      const TokenNames& names, const std::string& command) {
  const Explanation& e = seeds.at(0);
  Page page{.title = "What the output rests on",
            .subtitle = format("{} -> {}  (log-probability {:.3g})", joined(e.source, names.source),
                               joined(e.target, names.target), e.log_probability),
            .blocks = {}};
  page.blocks.push_back(TextBlock{"", verdict.sentence});
  if (!verdict.checks.empty()) page.blocks.push_back(check_table(verdict));
  page.blocks.push_back(token_table(e, names));
  std::vector<std::string> rows = tokens(e.target, names.target),
                           columns = tokens(e.source, names.source);
  auto add = [&](const std::string& title, const std::string& note, const Grid& grid) {
    if (grid.empty()) return;
    page.blocks.push_back(HeatmapBlock{
        title, note, {{.name = title, .rows = rows, .columns = columns, .values = grid}}});
  };
  if (!e.weights.empty())
    page.blocks.push_back(HeatmapBlock{"Attention weights",
                                       "Each row sums to 1: where the decoder looked.",
                                       weight_maps(e, names)});
  for (size_t i = 1; i < seeds.size(); ++i)
    if (!seeds[i].weights.empty())
      page.blocks.push_back(HeatmapBlock{format("Attention weights of model {}", i + 1), "",
                                         weight_maps(seeds[i], names)});
  const std::string scaled = " Scaled so that the largest of each row is 1.";
  add("Ablation",
      "How much the output's log-probability falls when a position is hidden from attention." +
          scaled,
      by_row(e.ablation));
  add("Erasure",
      "How much it falls when the position's word vector is set to zero before the encoder." +
          scaled,
      by_row(e.erasure));
  add("Gradient", "The norm of the gradient at the word vector." + scaled, by_row(e.gradient));
  add("Input x gradient", "The word vector times its gradient." + scaled, by_row(e.product));
  page.blocks.push_back(CodeBlock{"Repeat it", command, false});
  return page;
}

}  // namespace lookback
