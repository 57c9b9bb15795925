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
  section.read_choice("initial_state", o.initial_state, {"last", "bridge", "zero"});
  if (o.initial_state == "last" && (memory.states != o.hidden || memory.layers != o.layers))
    section.refuse("initial_state",
                   format("\"last\" hands the encoder's last states on unchanged, so the decoder "
                          "needs hidden: {} "
                          "and layers: {}, but has {} and {}; or use initial_state: bridge",
                          memory.states, memory.layers, o.hidden, o.layers));
  if (o.initial_state == "bridge" && memory.layers == 0)
    section.refuse("initial_state",
                   "\"bridge\" needs a recurrent encoder; use initial_state: zero");
}

RecurrentDecoder::RecurrentDecoder(const Options& o, const MemoryShape& memory,
                                   std::unique_ptr<Attention> attention, int64_t words,
                                   const Variable& vectors)
    : options_(o),
      memory_(memory),
      attention_(std::move(attention)),
      embedding_({.words = words, .size = o.embedding, .scaled = o.tie}, vectors),
      rnn_({.cell = o.cell,
            .input = o.embedding + (attention_ ? memory.states : 0),
            .hidden = o.hidden,
            .layers = o.layers,
            .dropout = o.dropout,
            .site = "decoder"}),
      output_({.inputs = o.hidden + memory.states, .words = words},
              o.tie ? embedding_.weight() : Variable()) {
  child("embedding", embedding_);
  child("rnn", rnn_);
  if (attention_) child("attention", *attention_);
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

std::vector<CellState> RecurrentDecoder::initial(const Memory& memory) const {
  std::vector<CellState> out;
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
    out.push_back(state);
  }
  return out;
}

DecoderState RecurrentDecoder::pack(const std::vector<CellState>& states) const {
  DecoderState out;
  for (const CellState& state : states) {
    out.parts.push_back(state.hidden);
    if (state.cell.defined()) out.parts.push_back(state.cell);
  }
  return out;
}

std::vector<CellState> RecurrentDecoder::states(const DecoderState& state) const {
  std::vector<CellState> out;
  size_t at = 0;
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    out.push_back({state.parts.at(at++), {}});
    if (rnn_.cell(layer).has_cell()) out.back().cell = state.parts.at(at++);
  }
  return out;
}

DecoderState RecurrentDecoder::start(const Memory& memory) const {
  return pack(initial(memory));
}

/// One step with attention: c_t from s_(t-1), then all layers.
Attended RecurrentDecoder::advance(const Cell::Steps& first, int64_t t,
                                   std::vector<CellState>& states, const Memory& memory,
                                   const Pass& pass) const {
  Attended attended = attention_->attend(states.back().hidden, keys(memory));
  states[0] = first.step(t, attended.context, states[0]);
  for (int64_t layer = 1; layer < options_.layers; ++layer) {
    size_t at = static_cast<size_t>(layer);
    Variable below =
        drop(states[at - 1].hidden, options_.dropout, pass, format("decoder.layer{}.{}", layer, t));
    states[at] = rnn_.cell(layer).step(below, states[at]);
  }
  return attended;
}

Variable RecurrentDecoder::fixed_context_logits(const Variable& states, const Memory& memory,
                                                const Pass& pass) const {
  // W_o [s; c] = W_s s + W_c c, and c is the same at every step: its share is worked out once a
  // sentence.
  Variable context = drop(memory.last.back().hidden, options_.dropout, pass, "decoder.context");
  int64_t units = options_.hidden;
  Variable of_states = linear(states, narrow(output_.weight(), 1, 0, units), output_.bias());
  Variable of_context = linear(context, narrow(output_.weight(), 1, units, memory_.states));
  return of_states + reshape(of_context, {context.size(0), 1, of_context.size(1)});
}

Variable RecurrentDecoder::attention_forward(const Variable& embedded, const Memory& memory,
                                             const Pass& pass) const {
  std::unique_ptr<Cell::Steps> first = rnn_.cell(0).steps(embedded);
  std::vector<CellState> now = initial(memory);
  std::vector<Variable> hidden, contexts;
  for (int64_t t = 0; t < embedded.size(1); ++t) {
    contexts.push_back(advance(*first, t, now, memory, pass).context);
    hidden.push_back(now.back().hidden);
  }
  std::vector<Variable> both{stack(hidden, 1), stack(contexts, 1)};
  return output_(drop(concat(both, -1), options_.dropout, pass, "decoder.output"));
}

Variable RecurrentDecoder::forward(const IdMatrix& inputs, const Lengths& lengths,
                                   const Memory& memory, const Pass& pass) const {
  Variable embedded = drop(embedding_(inputs), options_.dropout, pass, "decoder.embedding");
  if (attention_) return attention_forward(embedded, memory, pass);
  Recurrent::Output out = rnn_(embedded, lengths, initial(memory), pass);
  return fixed_context_logits(drop(out.states, options_.dropout, pass, "decoder.output"), memory,
                              pass);
}

Step RecurrentDecoder::step(std::span<const Id> previous, const DecoderState& state,
                            const Memory& memory) const {
  IdMatrix ids(static_cast<int64_t>(previous.size()), 1, kPad);
  ids.values.assign(previous.begin(), previous.end());
  Variable input = reshape(embedding_(ids), {ids.rows, options_.embedding});
  std::vector<CellState> now = states(state);
  Attended attended{.context = memory.last.empty() ? Variable() : memory.last.back().hidden,
                    .weights = {}};
  if (attention_) {
    attended = attention_->attend(now.back().hidden, keys(memory));
    input = concat(std::vector{input, attended.context}, -1);
  }
  for (int64_t layer = 0; layer < options_.layers; ++layer) {
    CellState& at = now[static_cast<size_t>(layer)];
    at = rnn_.cell(layer).step(input, at);
    input = at.hidden;
  }
  Variable weights = attended.weights;
  if (weights.defined()) weights = reshape(weights, {ids.rows, 1, 1, weights.size(1)});
  return {output_(concat(std::vector{input, attended.context}, -1)), weights, pack(now)};
}

}  // namespace lookback
