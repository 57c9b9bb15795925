#!/usr/bin/python3
"""Writes numbers.safetensors: weights, inputs, results and gradients that PyTorch computed.

    /usr/bin/python3 tests/parity/make_numbers.py        (Debian 12: python3-torch, 1.13)

The cases stand in files by subject, beside the tests that read them: layers.py and layers_test.cpp, and so on;
recording.py says how a case is stored.
"""

import pathlib

import torch

import layers
import losses
import optimisers
import recording
import transformers

for subject in (layers, losses, optimisers, transformers):
    torch.manual_seed(1)  # for each: a case more in one changes no number of another
    subject.make()
recording.write(pathlib.Path(__file__).parent / "numbers.safetensors")
