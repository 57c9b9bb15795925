"""Recurrent encoders and decoders in PyTorch, for step.py. Sequences run time first."""

import torch
from torch import nn
from torch.nn import functional as F


class Fixed(nn.Module):
    """c = last encoder state; s_0 = c; logits_t = W_o [s_t; c] + b_o.

    With `context` once, the share of c in the logits is one product a sentence: W_s s_t + W_c c.
    With joint, [s_t; c] is built and multiplied at every position.
    """

    def __init__(self, case, context):
        super().__init__()
        recurrent = nn.LSTM if case.cell == "lstm" else nn.GRU
        self.once = context == "once"
        self.source_embedding = nn.Embedding(case.words, case.embedding)
        self.encoder = recurrent(case.embedding, case.hidden)
        self.target_embedding = nn.Embedding(case.words, case.embedding)
        self.decoder = recurrent(case.embedding, case.hidden)
        self.output = nn.Linear(2 * case.hidden, case.words)

    def forward(self, source, target):
        _, last = self.encoder(self.source_embedding(source))
        states, _ = self.decoder(self.target_embedding(target), last)
        context = last[0] if isinstance(last, tuple) else last  # (1, B, D)
        if self.once:
            of_states, of_context = self.output.weight.chunk(2, dim=1)
            logits = F.linear(states, of_states)
            logits += F.linear(context, of_context, self.output.bias)
            return logits.flatten(0, 1)
        features = torch.cat([states, context.expand_as(states)], dim=2)
        return self.output(features.flatten(0, 1))


class Attending(nn.Module):
    """c_t = attention(s_(t-1), h); s_t = cell([y_t; c_t], s_(t-1));
    logits_t = W_o [s_t; c_t] + b_o.

    The batch of the benchmark has no padding, so no mask is applied. With `form` hoisted, the
    embedding's share of the gates is one product for all steps (with `words` once, for every word of
    the vocabulary, looked up then), and the gates are written out; with cell, each step calls
    nn.GRUCell or nn.LSTMCell.
    """

    def __init__(self, case, form, words):
        super().__init__()
        E, D = case.embedding, case.hidden
        lstm = case.cell == "lstm"
        self.form, self.lstm, self.sizes = form, lstm, (E, D)
        self.words_once = words == "once"
        self.source_embedding = nn.Embedding(case.words, E)
        self.encoder = (nn.LSTM if lstm else nn.GRU)(E, D)
        self.target_embedding = nn.Embedding(case.words, E)
        self.cell = (nn.LSTMCell if lstm else nn.GRUCell)(E + D, D)
        self.key = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(2 * D, case.words)

    def attend(self, state, keys, memory):
        """The context (B, D) of a state (B, D)."""
        raise NotImplementedError

    def forward(self, source, target):
        encoded, last = self.encoder(self.source_embedding(source))
        memory = encoded.transpose(0, 1).contiguous()  # (B, S, D)
        keys = self.key(memory)
        state = tuple(part[0] for part in last) if self.lstm else last[0]
        if self.form == "cell":
            inputs = self.target_embedding(target).unbind(0)  # (B, E) each
            step = self.cell_step
        else:
            of_word, of_context = self.cell.weight_ih.split(self.sizes, dim=1)
            bias = self.cell.bias_ih
            if self.lstm:  # both biases are added to the same sum
                bias = bias + self.cell.bias_hh
            if self.words_once:
                table = F.linear(self.target_embedding.weight, of_word, bias)  # (V, gates)
                inputs = F.embedding(target, table).unbind(0)
            else:
                inputs = F.linear(self.target_embedding(target), of_word, bias).unbind(0)
            step = self.hoisted_step(of_context)
        states, contexts = [], []
        for word in inputs:
            hidden = state[0] if self.lstm else state
            context = self.attend(hidden, keys, memory)
            state = step(word, context, state)
            states.append(state[0] if self.lstm else state)
            contexts.append(context)
        features = torch.cat([torch.stack(states), torch.stack(contexts)], dim=2)
        return self.output(features.flatten(0, 1))

    def cell_step(self, word, context, state):
        return self.cell(torch.cat([word, context], dim=1), state)

    def hoisted_step(self, of_context):
        """Returns step(word's share of the gates, context, state) -> next state."""
        D = self.sizes[1]
        of_context = of_context.t()
        of_state, bias = self.cell.weight_hh, self.cell.bias_hh

        def gru(word, context, state):
            i_rz, i_n = torch.addmm(word, context, of_context).split([2 * D, D], dim=1)
            h_rz, h_n = F.linear(state, of_state, bias).split([2 * D, D], dim=1)
            r, z = torch.sigmoid(i_rz + h_rz).chunk(2, dim=1)
            n = torch.tanh(torch.addcmul(i_n, r, h_n))
            return torch.lerp(n, state, z)

        of_state_t = of_state.t()

        def lstm(word, context, state):
            # In the order i, f, o, g, one sigmoid serves three gates. The order of the rows of a
            # weight that is drawn at random is a name only.
            hidden, cell = state
            gates = torch.addmm(torch.addmm(word, context, of_context), hidden, of_state_t)
            i, f, o = torch.sigmoid(gates[:, :3 * D]).chunk(3, dim=1)
            cell = torch.addcmul(f * cell, i, torch.tanh(gates[:, 3 * D:]))
            return o * torch.tanh(cell), cell

        return lstm if self.lstm else gru


class Bahdanau(Attending):
    """a_tj = softmax_j v^T tanh(W_s s_(t-1) + W_h h_j); c_t = sum_j a_tj h_j."""

    def __init__(self, case, form, words):
        super().__init__(case, form, words)
        D = case.hidden
        self.query = nn.Linear(D, D, bias=False)
        self.v = nn.Parameter(torch.empty(D).uniform_(-1, 1) / D**0.5)

    def attend(self, state, keys, memory):
        energy = (self.query(state).unsqueeze(1) + keys).tanh_()  # (B, S, D)
        score = torch.mv(energy.flatten(0, 1), self.v).view(energy.shape[:2])
        weights = torch.softmax(score, dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)


class Luong(Attending):
    """a_tj = softmax_j s_(t-1)^T W_a h_j; c_t = sum_j a_tj h_j. W_a h_j is worked out once."""

    def attend(self, state, keys, memory):
        score = torch.bmm(keys, state.unsqueeze(2))  # (B, S, 1)
        weights = torch.softmax(score, dim=1)
        return torch.bmm(weights.transpose(1, 2), memory).squeeze(1)


def build(case, options):
    """The model: module(source (S, B), target input (T, B)) -> logits (T * B, V)."""
    if case.attention == "none":
        return Fixed(case, options.context)
    return {"bahdanau": Bahdanau, "luong": Luong}[case.attention](
        case, options.decoder, options.words)
