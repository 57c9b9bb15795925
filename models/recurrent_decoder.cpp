#include "models/recurrent_decoder.h"

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

void read(Section& section, RecurrentDecoder::Options& o, const MemoryShape& memory) {
  section.read_choice("cell", o.cell, cells().names());
  section.read("embedding", o.embedding, between(1, 65536));
  section.read("hidden", o.hidden, between(1, 65536));
  section.read("layers", o.layers, between(1, 64));
  section.read("dropout", o.dropout, from_below(0, 1));
  section.read("variational", o.variational);
  section.read_choice("initial_state", o.initial_state, {"last", "bridge", "zero"});
  if (o.initial_state != "zero" && memory.layers == 0)
    section.refuse(
        "initial_state",
        format("\"{}\" needs the last state of a recurrent encoder, and this one is none; "
               "use initial_state: zero",
               o.initial_state));
  if (o.initial_state == "last" && (memory.states != o.hidden || memory.layers != o.layers))
    section.refuse("initial_state",
                   format("\"last\" hands the encoder's last states on unchanged, so the decoder "
                          "needs hidden: {} "
                          "and layers: {}, but has {} and {}; or use initial_state: bridge",
                          memory.states, memory.layers, o.hidden, o.layers));
}

void read_attending(Section& attention, RecurrentDecoder::Options& o) {
  attention.read_choice("query", o.query, {"previous", "current"});
  attention.read("input_feeding", o.input_feeding);
  if (o.input_feeding && o.query != "current")
    attention.refuse(
        "input_feeding",
        "feeds the attentional state of a step to the next one, and only query: current "
        "makes such a state (with query: previous the context enters the cell anyway); "
        "add query: current");
}

int64_t RecurrentDecoder::features(const Options& o, const MemoryShape& memory) {
  return o.query == "current" ? o.hidden : o.hidden + memory.states;
}

namespace {
/// What enters the first cell beside the word vector.
int64_t late_inputs(const RecurrentDecoder::Options& o, int64_t states, bool attends) {
  if (o.query == "current") return o.input_feeding ? o.hidden : 0;
  return attends ? states : 0;
}
}  // namespace

RecurrentDecoder::RecurrentDecoder(const Options& o, const MemoryShape& memory,
                                   std::unique_ptr<Attention> attention, int64_t words,
                                   const Variable& vectors)
    : options_(o),
      memory_(memory),
      attention_(std::move(attention)),
      embedding_({.words = words, .size = o.embedding, .scaled = o.tie}, vectors),
      rnn_({.cell = o.cell,
            .input = o.embedding + late_inputs(o, memory.states, attention_ != nullptr),
            .hidden = o.hidden,
            .layers = o.layers,
            .dropout = o.dropout,
            .variational = o.variational,
            .site = "decoder"}),
      output_({.inputs = features(o, memory), .words = words},
              o.tie ? embedding_.weight() : Variable()) {
  if (asks_after_step() && !attention_)
    fail("[recurrent_decoder] the query is the current state, but there is no attention to ask");
  if (o.input_feeding && !asks_after_step())
    fail("[recurrent_decoder] input feeding needs query: current");
  child("embedding", embedding_);
  child("rnn", rnn_);
  if (attention_) child("attention", *attention_);
  if (asks_after_step()) {
    attentional_ = std::make_unique<Linear>(
        Linear::Options{.inputs = memory.states + o.hidden, .outputs = o.hidden, .bias = false});
    child("attentional", *attentional_);
  }
  if (o.initial_state == "bridge")
    for (int64_t layer = 0; layer < o.layers; ++layer) {
      hidden_bridges_.push_back(std::make_unique<Linear>(Linear::Options{memory.states, o.hidden}));
      child(format("bridge.hidden_l{}", layer), *hidden_bridges_.back());
      if (!rnn_.cell(layer).has_cell()) continue;
      cell_bridges_.push_back(std::make_unique<Linear>(Linear::Options{memory.states, o.hidden}));
      child(format("bridge.cell_l{}", layer), *cell_bridges_.back());
    }
  child("output", output_);
}

void RecurrentDecoder::prepare(Memory& memory) const {
  if (!attention_) return;
  Attention::Keys keys = attention_->prepare(memory.states, memory.mask);
  memory.prepared = {keys.projected, keys.values};
}

Attention::Keys RecurrentDecoder::keys(const Memory& memory) const {
  return {memory.prepared.at(0), memory.prepared.at(1), memory.mask};
}

Variable RecurrentDecoder::attentional(const Variable& context, const Variable& state,
                                       const SharedWeight* laid_out) const {
  Variable joined = concat(std::vector{context, state}, -1);
  return tanh(laid_out ? linear(joined, *laid_out) : (*attentional_)(joined));
}

RecurrentDecoder::Moment RecurrentDecoder::initial(const Memory& memory) const {
  Moment out;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    CellState state = rnn_.cell(layer).zeros(memory.batch());
    if (options_.initial_state != "zero") {
      // With fewer encoder layers than decoder layers, the upper ones all start from the last.
      const CellState& from = memory.last[static_cast<size_t>(std::min(layer, memory_.layers - 1))];
      bool bridge = options_.initial_state == "bridge";
      size_t at = static_cast<size_t>(layer);
      state.hidden = bridge ? tanh((*hidden_bridges_[at])(from.hidden)) : from.hidden;
      if (state.cell.defined() && bridge)
        state.cell = tanh((*cell_bridges_[at])(from.cell.defined() ? from.cell : from.hidden));
      else if (state.cell.defined() && from.cell.defined())
        state.cell = from.cell;
    }
    out.layers.push_back(state);
  }
  if (options_.input_feeding) out.fed = Tensor::zeros({memory.batch(), options_.hidden});
  return out;
}

DecoderState RecurrentDecoder::pack(const Moment& moment) const {
  DecoderState out;
  for (const CellState& state : moment.layers) {
    out.parts.push_back(state.hidden);
    if (state.cell.defined()) out.parts.push_back(state.cell);
  }
  if (moment.fed.defined()) out.parts.push_back(moment.fed);
  return out;
}

RecurrentDecoder::Moment RecurrentDecoder::unpack(const DecoderState& state) const {
  Moment out;
  size_t at = 0;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    out.layers.push_back({state.parts.at(at++), {}});
    if (rnn_.cell(layer).has_cell()) out.layers.back().cell = state.parts.at(at++);
  }
  if (options_.input_feeding) out.fed = state.parts.at(at);
  return out;
}

DecoderState RecurrentDecoder::start(const Memory& memory) const {
  return pack(initial(memory));
}

Step RecurrentDecoder::step(std::span<const Id> previous, const DecoderState& state,
                            const Memory& memory) const {
  IdMatrix ids(static_cast<int64_t>(previous.size()), 1, kPad);
  ids.values.assign(previous.begin(), previous.end());
  Variable x = reshape(embedding_(ids), {ids.rows, options_.embedding});
  Moment now = unpack(state);
  bool after = asks_after_step();
  Attended seen{.context = memory.last.empty() ? Variable() : memory.last.back().hidden,
                .weights = {}};
  if (attention_ && !after) seen = attention_->attend(now.top(), keys(memory));
  if (attention_ && !after) x = concat(std::vector{x, seen.context}, -1);
  if (now.fed.defined()) x = concat(std::vector{x, now.fed}, -1);
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    CellState& at = now.layers[static_cast<size_t>(layer)];
    at = rnn_.cell(layer).step(x, at);
    x = at.hidden;
  }
  if (after) seen = attention_->attend(x, keys(memory));
  Variable features =
      after ? attentional(seen.context, x) : concat(std::vector{x, seen.context}, -1);
  if (now.fed.defined()) now.fed = features;
  Variable weights = seen.weights;
  if (weights.defined()) weights = reshape(weights, {ids.rows, 1, 1, weights.size(1)});
  return {output_(features), weights, pack(now)};
}

}  // namespace lookback
