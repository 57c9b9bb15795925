"""Recurrent layers, embedding, linear, layer norm."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from recording import draw, exact, record


def recurrent(kind, layers, bidirectional):
    batch, positions, width, units = 3, 5, 3, 4
    module = exact(
        {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[kind](
            width, units, layers, batch_first=True, bidirectional=bidirectional
        )
    )
    stacked = layers * (2 if bidirectional else 1)
    x = draw(batch, positions, width).requires_grad_()
    h0 = draw(stacked, batch, units).requires_grad_()
    c0 = draw(stacked, batch, units).requires_grad_()
    lengths = torch.tensor([3, 5, 2])
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, last = module(packed, (h0, c0) if kind == "lstm" else h0)
    states, _ = pad_packed_sequence(out, batch_first=True, total_length=positions)
    results = {"states": states, "last_hidden": last[0] if kind == "lstm" else last}
    inputs = {"x": x, "hidden": h0, "lengths": lengths}
    if kind == "lstm":
        results["last_cell"] = last[1]
        inputs["cell"] = c0
    record(f"{kind}_{layers}_{'both' if bidirectional else 'forward'}", module, inputs, results)


def embedding():
    module = exact(nn.Embedding(7, 4))
    ids = torch.tensor([[1, 6, 1], [0, 2, 6]])
    record("embedding", module, {"ids": ids}, {"output": module(ids)})


def linear(bias):
    module = exact(nn.Linear(5, 4, bias=bias))
    x = draw(3, 2, 5).requires_grad_()
    record("linear_bias" if bias else "linear", module, {"x": x}, {"output": module(x)})


def layer_norm():
    module = exact(nn.LayerNorm(6))
    x = draw(3, 2, 6).requires_grad_()
    record("layer_norm", module, {"x": x}, {"output": module(x)})


def make():
    for kind in ("rnn", "gru", "lstm"):
        for layers in (1, 2, 3):
            for bidirectional in (False, True):
                recurrent(kind, layers, bidirectional)
    embedding()
    linear(bias=True)
    linear(bias=False)
    layer_norm()
