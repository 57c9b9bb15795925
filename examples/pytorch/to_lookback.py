#!/usr/bin/python3
"""Trains a model in PyTorch, to say letters in reverse, and writes it as a model file of lookback.

    examples/pytorch/to_lookback.py reverse.safetensors
    build/lookback evaluate reverse.safetensors
    echo "a b c d" | build/lookback translate reverse.safetensors

With `--model gru` it is a recurrent model with attention, else nn.Transformer.

What a file needs to be opened by lookback: parameters in float32 under lookback's names (modules.py says which they
are), and in its header's __metadata__ these texts:
    format              lookback
    config              YAML (JSON is YAML too): what the model is made of, and on what data lookback's `evaluate`
                        shall measure it. Keys that are left out have lookback's defaults; train.steps must be
                        there, though nothing trains any more.
    source_vocabulary,  JSON lists of words: <pad> <unk> <bos> <eos>, then the model's own, in the order of the
    target_vocabulary   rows of its tables. For the data of a built-in task they are the task's symbols.
    step                how many steps it was trained
"""

import argparse
import json
import struct

import torch
from torch.nn.functional import cross_entropy

from modules import build
from open_in_pytorch import BEGIN, END, MARKS

LETTERS = "abcdefgh"
SHORTEST, LONGEST = 1, 6
SIDE = {"type": "transformer", "width": 32, "heads": 4, "feed_forward": 64, "layers": 2, "norm": "pre",
        "activation": "relu", "positions": "sinusoidal"}
MODELS = {
    "transformer": {"encoder": SIDE, "decoder": SIDE},
    "gru": {
        "encoder": {"type": "recurrent", "cell": "gru", "embedding": 16, "hidden": 32, "layers": 1,
                    "bidirectional": True},
        "decoder": {"type": "recurrent", "cell": "gru", "embedding": 16, "hidden": 32, "layers": 1,
                    "initial_state": "bridge"},
        "attention": {"type": "bahdanau", "units": 32},
    },
}


def config_of(name):
    return {
        "name": f"reverse_{name}",
        "data": {"task": {"type": "reverse", "symbols": len(LETTERS), "min_length": SHORTEST, "max_length": LONGEST}},
        "model": MODELS[name],
        "train": {"steps": 1},
    }


def train(model, steps):
    """Teacher forcing on fresh sentences, those of a batch of one length."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        length = int(torch.randint(SHORTEST, LONGEST + 1, ()))
        letters = torch.randint(MARKS, MARKS + len(LETTERS), (64, length))
        begin, end = torch.full((64, 1), BEGIN), torch.full((64, 1), END)
        logits = model(torch.cat([letters, end], 1), torch.cat([begin, letters.flip(1)], 1))
        loss = cross_entropy(logits.flatten(0, 1), torch.cat([letters.flip(1), end], 1).flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * min(1, step / 50, 2 * (1 - (step - 1) / steps))
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.4f}")


def write_model(path, parameters, texts):
    header, data = {"__metadata__": texts}, b""
    for name, tensor in parameters.items():
        raw = tensor.float().contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", help="the model file to write")
    parser.add_argument("--model", choices=MODELS, default="transformer")
    parser.add_argument("--steps", type=int, default=600)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    config, words = config_of(arguments.model), ["<pad>", "<unk>", "<bos>", "<eos>", *LETTERS]
    model = build(config, len(words), len(words))
    train(model, arguments.steps)
    write_model(arguments.output, model.state_dict(), {
        "format": "lookback",
        "config": json.dumps(config),
        "source_vocabulary": json.dumps(words),
        "target_vocabulary": json.dumps(words),
        "step": str(arguments.steps),
    })


if __name__ == "__main__":
    main()
