#!/usr/bin/python3
"""Opens a model file of lookback in PyTorch and prints log p(target | source), a line each.

    examples/pytorch/open_in_pytorch.py runs/copy_bahdanau/best.safetensors SOURCE TARGET

The numbers are those of `build/lookback score MODEL SOURCE TARGET`. Needs PyTorch, NumPy and PyYAML (on Debian:
python3-torch, which brings the others). It opens recurrent models with Bahdanau's attention, and Transformers;
modules.py says which parameter is which.

What a model file holds. A .safetensors file is eight bytes, the length of a header; the header, JSON that gives each
tensor's type, shape and place; the tensors. The header's `__metadata__` has texts by name: `format` is `lookback`,
`config` the resolved config in YAML, `source_vocabulary` and `target_vocabulary` JSON lists of words, of which
the first four are <pad> <unk> <bos> <eos>. The encoder reads `a b <eos>`, the decoder `<bos> a b`.
"""

import json
import struct
import sys

import numpy
import torch
import yaml

from modules import build

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
