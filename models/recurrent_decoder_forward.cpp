#include "autograd/ops.h"
#include "models/recurrent_decoder.h"

// Teacher forcing. The ways differ in what must wait for what: a way that needs nothing of the step
// before but the cell's state does all positions at once, the others go step by step.

namespace lookback {

/// One step of all layers. `late` is what stands beside the word vector in the first one's input.
void RecurrentDecoder::advance(const Loop& loop, int64_t t, const Variable& late,
                               std::vector<CellState>& states, const Pass& pass) const {
  states[0] = loop[0]->step(t, late, states[0]);
  for (int64_t layer = 1; layer < options_.layers; ++layer) {
    size_t at = static_cast<size_t>(layer);
    Variable below =
        drop(states[at - 1].hidden, dropout(), pass, format("decoder.layer{}", layer), t);
    states[at] = loop[at]->step(t, below, states[at]);
  }
}

RecurrentDecoder::Loop RecurrentDecoder::loop(const Variable& embedded) const {
  Loop out;
  for (int64_t layer = 0; layer < options_.layers; ++layer)
    out.push_back(rnn_.cell(layer).steps(layer == 0 ? embedded : Variable()));
  return out;
}

Variable RecurrentDecoder::all_states(const Variable& embedded, const Lengths& lengths,
                                      const Memory& memory, const Pass& pass) const {
  return rnn_(embedded, lengths, initial(memory).layers, pass).states;
}

LinearLogits RecurrentDecoder::fixed_context_logits(const Variable& states, const Memory& memory,
                                                    const Pass& pass) const {
  // W_o [s; c] = W_s s + W_c c, and c is the same at every step: its share is worked out once a
  // sentence.
  Variable context = drop(memory.last.back().hidden, options_.dropout, pass, "decoder.context");
  int64_t units = options_.hidden;
  return {.x = states,
          .weight = narrow(output_.weight(), 1, 0, units),
          .bias = output_.bias(),
          .base = linear(context, narrow(output_.weight(), 1, units, memory_.states))};
}

/// [s_t; c_t] of all steps.
Variable RecurrentDecoder::attend_before(const Variable& embedded, const Memory& memory,
                                         const Pass& pass) const {
  Loop layers = loop(embedded);
  Attention::Keys keys = attention_->share(this->keys(memory));
  Moment now = initial(memory);
  std::vector<Variable> states, contexts;
  for (int64_t t = 0; t < embedded.size(1); ++t) {
    contexts.push_back(attention_->attend(now.top(), keys).context);
    advance(layers, t, contexts.back(), now.layers, pass);
    states.push_back(now.top());
  }
  return concat(std::vector{stack(states, 1), stack(contexts, 1)}, -1);
}

/// h~_t of all steps, from all s_t.
Variable RecurrentDecoder::attend_after(const Variable& states, const Memory& memory) const {
  return attentional(attention_->attend_all(states, keys(memory)).context, states);
}

/// h~_t of all steps, each fed to the next.
Variable RecurrentDecoder::attend_and_feed(const Variable& embedded, const Memory& memory,
                                           const Pass& pass) const {
  Loop layers = loop(embedded);
  Attention::Keys keys = attention_->share(this->keys(memory));
  SharedWeight weight(attentional_->weight());
  Moment now = initial(memory);
  std::vector<Variable> out;
  for (int64_t t = 0; t < embedded.size(1); ++t) {
    advance(layers, t, now.fed, now.layers, pass);
    now.fed = attentional(attention_->attend(now.top(), keys).context, now.top(), &weight);
    out.push_back(now.fed);
  }
  return stack(out, 1);
}

std::optional<LinearLogits> RecurrentDecoder::output(const IdMatrix& inputs, const Lengths& lengths,
                                                     const Memory& memory, const Pass& pass) const {
  Variable embedded = drop(embedding_.by_word(inputs), dropout(), pass, "decoder.embedding");
  auto dropped = [&](const Variable& features) {
    return drop(features, dropout(), pass, "decoder.output");
  };
  if (!attention_)
    return fixed_context_logits(dropped(all_states(embedded, lengths, memory, pass)), memory, pass);
  if (!asks_after_step()) return output_.pending(dropped(attend_before(embedded, memory, pass)));
  if (options_.input_feeding)
    return output_.pending(dropped(attend_and_feed(embedded, memory, pass)));
  return output_.pending(
      dropped(attend_after(all_states(embedded, lengths, memory, pass), memory)));
}

}  // namespace lookback
