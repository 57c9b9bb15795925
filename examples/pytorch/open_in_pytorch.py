#!/usr/bin/python3
"""Opens a model file of lookback in PyTorch and prints log p(target | source), a line each.

    examples/pytorch/open_in_pytorch.py runs/copy_bahdanau/best.safetensors SOURCE TARGET

The numbers are those of `build/lookback score MODEL SOURCE TARGET`. Needs PyTorch, NumPy and PyYAML (on Debian:
python3-torch, which brings the others). It reads what the models of lookback are by default: recurrent ones with
Bahdanau's attention, and Transformers. Other options are refused, not guessed.

What a model file holds. A .safetensors file is eight bytes, the length of a header; the header, JSON that gives each
tensor's type, shape and place; the tensors. The header's `__metadata__` has texts by name: `format` is `lookback`,
`config` the resolved config in YAML, `source_vocabulary` and `target_vocabulary` JSON lists of words, of which
the first four are <pad> <unk> <bos> <eos>. The encoder reads `a b <eos>`, the decoder `<bos> a b`.

How parameters correspond. The modules below are put together under lookback's names, so load_state_dict() takes the
tensors as they are:
    encoder.embedding, decoder.embedding     nn.Embedding
    encoder.rnn, decoder.rnn                 nn.RNN, nn.GRU, nn.LSTM; gates in PyTorch's order. The first layer
                                             of the decoder reads [word vector; context].
    decoder.attention.query, .key, .v        score v . tanh(W_q s + W_k h), in PyTorch two nn.Linear without bias
    decoder.bridge.hidden_l0, .cell_l0       nn.Linear: the decoder starts from tanh(W h + b)
    encoder.layers.0, encoder.norm           nn.TransformerEncoder
    decoder.layers.0, decoder.norm           nn.TransformerDecoder
    decoder.output                           nn.Linear on [state; context], or on the Transformer's output
"""

import json
import struct
import sys

import numpy
import torch
import yaml
from torch import nn

UNKNOWN, BEGIN, END, MARKS = 1, 2, 3, 4


def read_model(path):
    """(tensors by name, texts by name)"""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    texts = header.pop("__metadata__", {})
    if texts.get("format") != "lookback":
        sys.exit(f"{path}: not a model of lookback")
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        values = numpy.frombuffer(data[begin:end], {"F32": "<f4", "F64": "<f8"}[entry["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors, texts


def refuse_other(section, **known):
    """Exits where an option is given that has another value than the ones known here."""
    for key, values in known.items():
        if section.get(key, values[0]) not in values:
            sys.exit(f"open_in_pytorch.py knows {key}: {' or '.join(map(str, values))}, not {section[key]}")


class Recurrent(nn.Module):
    """Encoder-decoder with Bahdanau's attention, for one sentence at a time or sentences of one length."""

    def __init__(self, model, source_words, target_words):
        super().__init__()
        encoder, decoder, self.initial = model["encoder"], model["decoder"], model["decoder"]["initial_state"]
        refuse_other(model["attention"], type=["bahdanau"])
        kinds = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
        units, states = decoder["hidden"], encoder["hidden"] * (2 if encoder["bidirectional"] else 1)
        self.encoder = nn.ModuleDict({
            "embedding": nn.Embedding(source_words, encoder["embedding"]),
            "rnn": kinds[encoder["cell"]](encoder["embedding"], encoder["hidden"], encoder["layers"],
                                          batch_first=True, bidirectional=encoder["bidirectional"]),
        })
        scored = units if model["attention"]["units"] == "auto" else model["attention"]["units"]
        attention = nn.ModuleDict({
            "query": nn.Linear(units, scored, bias=False),
            "key": nn.Linear(states, scored, bias=False),
        })
        attention.v = nn.Parameter(torch.empty(scored).uniform_(-(scored**-0.5), scored**-0.5))
        self.decoder = nn.ModuleDict({
            "embedding": nn.Embedding(target_words, decoder["embedding"]),
            "rnn": kinds[decoder["cell"]](decoder["embedding"] + states, units, decoder["layers"], batch_first=True),
            "attention": attention,
            "bridge": nn.ModuleDict(),
            "output": nn.Linear(units + states, target_words),
        })
        if self.initial == "bridge":
            for layer in range(decoder["layers"]):
                for part in ("hidden", "cell") if decoder["cell"] == "lstm" else ("hidden",):
                    self.decoder["bridge"][f"{part}_l{layer}"] = nn.Linear(states, units)

    def start(self, last):
        """The decoder's first state of the encoder's last ones, (layers x directions, B, D) each."""
        decoder, directions = self.decoder, 2 if self.encoder["rnn"].bidirectional else 1
        out = []
        for i, part in enumerate(("hidden", "cell") if isinstance(decoder["rnn"], nn.LSTM) else ("hidden",)):
            state = last[min(i, len(last) - 1)]  # an LSTM's cell starts from the hidden state where there is no other
            state = [torch.cat(list(layer), -1) for layer in state.split(directions)]
            for l in range(decoder["rnn"].num_layers):
                h = state[min(l, len(state) - 1)]
                if self.initial == "bridge":
                    h = decoder["bridge"][f"{part}_l{l}"](h).tanh()
                elif self.initial == "zero" or i >= len(last):
                    h = h.new_zeros(len(h), decoder["rnn"].hidden_size)
                out.append(h)
        hidden = torch.stack(out[: decoder["rnn"].num_layers])
        cell = out[decoder["rnn"].num_layers :]
        return (hidden, torch.stack(cell)) if cell else hidden

    def forward(self, source, target):
        """source (B, S), with the end mark; target (B, T), with the begin mark -> logits (B, T, V)."""
        decoder, attention = self.decoder, self.decoder["attention"]
        values, last = self.encoder["rnn"](self.encoder["embedding"](source))
        keys = attention["key"](values)
        state = self.start(last if isinstance(last, tuple) else (last,))
        logits = []
        for word in decoder["embedding"](target).split(1, dim=1):
            s = (state[0] if isinstance(state, tuple) else state)[-1]
            weights = ((attention["query"](s)[:, None] + keys).tanh() @ attention.v).softmax(-1)
            context = weights[:, None] @ values  # (B, 1, states)
            output, state = decoder["rnn"](torch.cat([word, context], -1), state)
            logits.append(decoder["output"](torch.cat([output, context], -1)))
        return torch.cat(logits, 1)


def build(config, source_words, target_words):
    model = config["model"]
    refuse_other(model, tie_embeddings=["none"])
    refuse_other(model["decoder"], type=[model["encoder"]["type"]])
    return Recurrent(model, source_words, target_words)


def main(path, source_path, target_path):
    tensors, texts = read_model(path)
    ids = [{word: i for i, word in enumerate(json.loads(texts[side])) if i >= MARKS}
           for side in ("source_vocabulary", "target_vocabulary")]
    model = build(yaml.safe_load(texts["config"]), *(len(words) + MARKS for words in ids))
    model.load_state_dict(tensors)
    model.double().eval()
    with open(source_path, encoding="utf-8") as sources, open(target_path, encoding="utf-8") as targets:
        for lines in zip(sources, targets):
            source, target = ([words.get(w, UNKNOWN) for w in line.split()] for words, line in zip(ids, lines))
            with torch.no_grad():
                logits = model(torch.tensor([source + [END]]), torch.tensor([[BEGIN] + target]))
            log_p = logits[0].log_softmax(-1)[range(len(target) + 1), target + [END]]
            print(f"{log_p.sum().item():.6f}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
