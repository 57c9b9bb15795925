#!/usr/bin/python3
"""Measures one training step of lookback's benchmark models in PyTorch 1.13 on the CPU.

The models are those of configs/bench, in the fastest formulation that we know of in PyTorch:
sequences run time first; nn.GRU and nn.LSTM wherever a whole sequence can be handed over; where
attention sits in the loop, the keys are projected once, and the embedding, its share of the cell's
input product and the output layer are computed for all steps at once, outside of the loop.

    step.py --case gru_fixed|lstm_fixed|gru_bahdanau|toy --threads N --steps N [--json]

Needs: apt-get install python3-torch libopenblas0-openmp
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import sys
import time

# case: (cell, attention, B, S, T, V, E, D)
CASES = {
    "gru_fixed": ("gru", False, 64, 30, 30, 1000, 128, 256),
    "lstm_fixed": ("lstm", False, 64, 30, 30, 1000, 128, 256),
    "gru_bahdanau": ("gru", True, 64, 30, 30, 1000, 128, 256),
    "toy": ("gru", True, 32, 20, 20, 64, 64, 128),
}


def step_gflop(case):
    """Multiply-adds of every matrix product in one training step, in 10^9 floating-point operations.

    A product of (M, K) x (K, N) is 2MNK forward and twice that backward. The score's product with
    v and the weighted sum of the states count as the products that they are; the gradient of the
    first layer's input (the embedding) is needed and counted.
    """
    cell, attention, B, S, T, V, E, D = CASES[case]
    gates = 4 if cell == "lstm" else 3
    forward = 2 * B * S * gates * D * (E + D)  # encoder
    forward += 2 * B * T * gates * D * (E + D + (D if attention else 0))  # decoder
    forward += 2 * B * T * 2 * D * V  # output layer
    if attention:
        forward += 2 * B * S * D * D  # keys
        forward += 2 * B * T * D * D  # queries
        forward += 2 * B * T * S * (D + D)  # scores, contexts
    return 3 * forward / 1e9


def build(case, decoder):
    """Returns the model: module(source (S, B), target input (T, B)) -> logits (T * B, V)."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    cell, attention, B, S, T, V, E, D = CASES[case]

    class Fixed(nn.Module):
        """c = last encoder state; s_0 = c; logits_t = W_o [s_t; c] + b_o."""

        def __init__(self):
            super().__init__()
            recurrent = nn.LSTM if cell == "lstm" else nn.GRU
            self.source_embedding = nn.Embedding(V, E)
            self.encoder = recurrent(E, D)
            self.target_embedding = nn.Embedding(V, E)
            self.decoder = recurrent(E, D)
            self.output = nn.Linear(2 * D, V)

        def forward(self, source, target):
            _, last = self.encoder(self.source_embedding(source))
            states, _ = self.decoder(self.target_embedding(target), last)
            context = last[0] if cell == "lstm" else last  # (1, B, D)
            features = torch.cat([states, context.expand_as(states)], dim=2)
            return self.output(features.flatten(0, 1))

    class Bahdanau(nn.Module):
        """a_tj = softmax_j v^T tanh(W_s s_(t-1) + W_h h_j); c_t = sum_j a_tj h_j;
        s_t = GRU([y_t; c_t], s_(t-1)); logits_t = W_o [s_t; c_t] + b_o."""

        def __init__(self):
            super().__init__()
            self.source_embedding = nn.Embedding(V, E)
            self.encoder = nn.GRU(E, D)
            self.target_embedding = nn.Embedding(V, E)
            self.cell = nn.GRUCell(E + D, D)
            self.query = nn.Linear(D, D, bias=False)
            self.key = nn.Linear(D, D, bias=False)
            self.v = nn.Parameter(torch.empty(D).uniform_(-1, 1) / D**0.5)
            self.output = nn.Linear(2 * D, V)

        def attend(self, state, keys, memory, padding):
            energy = (self.query(state).unsqueeze(1) + keys).tanh_()  # (B, S, D)
            score = torch.mv(energy.flatten(0, 1), self.v).view(padding.shape).masked_fill(padding, float("-inf"))
            weights = torch.softmax(score, dim=1)
            return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)  # (B, D)

        def forward(self, source, target):
            encoded, last = self.encoder(self.source_embedding(source))
            memory = encoded.transpose(0, 1).contiguous()  # (B, S, D)
            keys = self.key(memory)
            padding = (source == 0).t().contiguous()  # (B, S)
            state = last[0]
            embedded = self.target_embedding(target)  # (T, B, E)
            states, contexts = [], []
            if decoder == "cell":
                for word in embedded.unbind(0):
                    context = self.attend(state, keys, memory, padding)
                    state = self.cell(torch.cat([word, context], dim=1), state)
                    states.append(state)
                    contexts.append(context)
            else:  # hoisted: the embedding's share of the gates for all steps at once
                of_word, of_context = self.cell.weight_ih.split([E, D], dim=1)
                inputs = F.linear(embedded, of_word, self.cell.bias_ih)
                of_context = of_context.t()
                for word in inputs.unbind(0):
                    context = self.attend(state, keys, memory, padding)
                    i_rz, i_n = torch.addmm(word, context, of_context).split([2 * D, D], dim=1)
                    hidden = F.linear(state, self.cell.weight_hh, self.cell.bias_hh)
                    h_rz, h_n = hidden.split([2 * D, D], dim=1)
                    r, z = torch.sigmoid(i_rz + h_rz).chunk(2, dim=1)
                    n = torch.tanh(torch.addcmul(i_n, r, h_n))
                    state = torch.lerp(n, state, z)
                    states.append(state)
                    contexts.append(context)
            features = torch.cat([torch.stack(states), torch.stack(contexts)], dim=2)
            return self.output(features.flatten(0, 1))

    return Bahdanau() if attention else Fixed()


def blas_kernel():
    """The name of the kernel set that OpenBLAS chose for this processor, or the library's name."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "blas" in line and ".so" in line}
    for path in sorted(paths):
        try:
            name = ctypes.CDLL(path).openblas_get_corename
        except AttributeError:
            continue
        name.restype = ctypes.c_char_p
        return "OpenBLAS " + name().decode()
    return ", ".join(sorted(paths)) or "unknown"


def measure(case, threads, steps, warm_up=10, decoder="hoisted", foreach=True):
    """Runs warm-up and `steps` measured steps; returns the figures as a dictionary."""
    import torch
    from torch.nn import functional as F

    _, _, B, S, T, V, _, _ = CASES[case]
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = build(case, decoder)
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-3, foreach=foreach)
    source = torch.randint(4, V, (S, B))
    target = torch.randint(4, V, (T, B))
    labels = torch.randint(4, V, (T * B,))

    times = []
    for index in range(warm_up + steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(source, target), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        loss.item()
        if index >= warm_up:
            times.append((time.perf_counter() - start) * 1e3)
    median = statistics.median(times)
    return {
        "case": case,
        "threads": threads,
        "parameters": sum(p.numel() for p in parameters),
        "steps": steps,
        "step_ms": median,
        "min_ms": min(times),
        "tokens_per_second": B * T / median * 1e3,
        "gflops": step_gflop(case) / median * 1e3,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "kernel": blas_kernel(),
        "torch": torch.__version__,
        "loss": loss.item(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", choices=sorted(CASES), required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--decoder", choices=["hoisted", "cell"], default="hoisted",
                        help="Bahdanau: own gates with hoisted input product, or nn.GRUCell")
    parser.add_argument("--no-foreach", action="store_true", help="Adam one tensor at a time")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    arguments = parser.parse_args()
    if arguments.threads < 1 or arguments.steps < 1:
        parser.error("--threads and --steps must be at least 1")
    if "OPENBLAS_CORETYPE" in os.environ:
        print("warning: OPENBLAS_CORETYPE is set; OpenBLAS does not choose its kernel itself",
              file=sys.stderr)

    result = measure(arguments.case, arguments.threads, arguments.steps,
                     decoder=arguments.decoder, foreach=not arguments.no_foreach)
    if arguments.json:
        print(json.dumps(result))
        return
    print("{case}: PyTorch {torch}, {threads} thread(s), {kernel}".format(**result))
    print("parameters  {parameters:,}".format(**result))
    print("step        {step_ms:.2f} ms median, {min_ms:.2f} ms least of {steps}".format(**result))
    print("tokens/s    {tokens_per_second:,.0f}".format(**result))
    print("products    {gflops:.1f} GFLOP/s".format(**result))
    print("peak RSS    {peak_rss_mb:.0f} MB".format(**result))


if __name__ == "__main__":
    main()
