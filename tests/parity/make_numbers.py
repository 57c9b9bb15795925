#!/usr/bin/python3
"""Writes numbers.safetensors: inputs, weights, results and gradients that PyTorch computed.

    /usr/bin/python3 tests/parity/make_numbers.py        (Debian 12: python3-torch, 1.13)

Every tensor is called CASE/NAME. Inputs are rounded to float32 before PyTorch computes in float64, so that the
numbers are exact to float32. The loss of a case is sum_i c_i y_i over its results y, with the coefficients c
stored beside them as CASE/coefficient.RESULT; gradients are CASE/gradient.NAME. parity_test.cpp reads the file.
"""

import json
import pathlib
import struct

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(1)
numbers = {}


def draw(*shape):
    return torch.randn(shape).double()  # float32 values, float64 arithmetic


def parameters(module):
    """Parameters rounded to float32, in float64."""
    module.float()
    module.double()
    return dict(module.named_parameters())


def record(case, leaves, results, constants=None):
    """Stores a case: leaves (with their gradients), results, and what needs no gradient."""
    loss = 0
    for name, result in results.items():
        coefficient = draw(*result.shape)
        numbers[f"{case}/coefficient.{name}"] = coefficient
        numbers[f"{case}/{name}"] = result
        loss = loss + (coefficient * result).sum()
    loss.backward()
    for name, leaf in leaves.items():
        numbers[f"{case}/{name}"] = leaf
        numbers[f"{case}/gradient.{name}"] = leaf.grad
    for name, constant in (constants or {}).items():
        numbers[f"{case}/{name}"] = constant


def recurrent(kind, layers, bidirectional):
    batch, positions, inputs, units = 3, 5, 3, 4
    module = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[kind](
        inputs, units, layers, batch_first=True, bidirectional=bidirectional
    )
    leaves = parameters(module)
    stacked = layers * (2 if bidirectional else 1)
    x = draw(batch, positions, inputs).requires_grad_()
    h0 = draw(stacked, batch, units).requires_grad_()
    c0 = draw(stacked, batch, units).requires_grad_()
    lengths = torch.tensor([3, 5, 2])
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, last = module(packed, (h0, c0) if kind == "lstm" else h0)
    states, _ = pad_packed_sequence(out, batch_first=True, total_length=positions)
    results = {"states": states, "last_hidden": last[0] if kind == "lstm" else last}
    leaves.update(x=x, hidden=h0)
    if kind == "lstm":
        results["last_cell"] = last[1]
        leaves["cell"] = c0
    record(f"{kind}_{layers}_{'both' if bidirectional else 'forward'}", leaves, results, {"lengths": lengths})


def embedding():
    module = nn.Embedding(7, 4)
    leaves = parameters(module)
    ids = torch.tensor([[1, 6, 1], [0, 2, 6]])
    record("embedding", leaves, {"output": module(ids)}, {"ids": ids})


def linear(bias):
    module = nn.Linear(5, 4, bias=bias)
    leaves = parameters(module)
    leaves["x"] = draw(3, 2, 5).requires_grad_()
    record("linear_bias" if bias else "linear", leaves, {"output": module(leaves["x"])})


def cross_entropy(smoothing, reduction):
    logits = (3 * draw(2, 4, 6)).float().double().requires_grad_()
    targets = torch.tensor([[1, 5, 2, 0], [3, 0, 0, 0]])
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=smoothing, reduction=reduction)
    record(
        f"cross_entropy_{reduction}_{smoothing}",
        {"logits": logits},
        {"loss": loss(logits.reshape(8, 6), targets.reshape(8))},
        {"targets": targets},
    )


def write(path):
    header, data = {}, b""
    for name, tensor in numbers.items():
        raw = tensor.detach().float().contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header["__metadata__"] = {"made_by": f"tests/parity/make_numbers.py, torch {torch.__version__}"}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


for kind in ("rnn", "gru", "lstm"):
    for layers in (1, 2):
        for bidirectional in (False, True):
            recurrent(kind, layers, bidirectional)
embedding()
linear(bias=True)
linear(bias=False)
for smoothing in (0.0, 0.1):
    for reduction in ("mean", "sum"):
        cross_entropy(smoothing, reduction)
write(pathlib.Path(__file__).parent / "numbers.safetensors")
