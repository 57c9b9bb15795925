#!/usr/bin/python3
"""Measures one training step of lookback's benchmark models in PyTorch 1.13 on the CPU.

The models are those of configs/bench, each in the fastest formulation that we know of in PyTorch:
nn.GRU and nn.LSTM wherever a whole sequence can be handed over; where attention sits in the loop,
whatever does not wait for the step before is computed for all steps at once, outside of the loop;
the Transformer's layers written out or PyTorch's own. An option chooses the other formulation, so
that the claim can be checked. cases.py has the shapes, recurrent.py and transformer.py the models.

    step.py --case NAME --threads N --steps N [--json]

Needs: apt-get install python3-torch (with OpenBLAS's default flavour, pthread: docs/performance.md)
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import sys
import time

from cases import CASES, Recurrent, step_gflop

# Steps that do not count: ten, or fewer where they are long.
WARM_UP_MOST, WARM_UP_LEAST, WARM_UP_SECONDS = 10, 3, 3.0


def build(case, options):
    if isinstance(case, Recurrent):
        from recurrent import build as build_recurrent
        return build_recurrent(case, options)
    from transformer import Transformer
    return Transformer(case, options)


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


def training_step(case, options):
    """Returns (the model's parameters, a function that makes one step and returns the loss)."""
    import torch
    from torch.nn import functional as F

    model = build(case, options)
    parameters = list(model.parameters())
    # What configs/bench leaves at lookback's defaults.
    optimizer = torch.optim.Adam(parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8,
                                 foreach=not options.no_foreach)
    batch_first = not isinstance(case, Recurrent) and options.batch_first

    def ids(length):
        drawn = torch.randint(4, case.words, (length, case.batch))  # 0 .. 3 are marks
        return drawn.t().contiguous() if batch_first else drawn

    source, target, labels = ids(case.source), ids(case.target), ids(case.target).flatten()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(source, target), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return loss.item()

    return parameters, step


def warm_up(step):
    start = time.perf_counter()
    for index in range(WARM_UP_MOST):
        if index >= WARM_UP_LEAST and time.perf_counter() - start > WARM_UP_SECONDS:
            break
        step()


def measure(name, options):
    """Runs warm-up and measured steps; returns the figures as a dictionary."""
    import torch

    case = CASES[name]
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    parameters, step = training_step(case, options)
    warm_up(step)
    times = []
    for _ in range(options.steps):
        start = time.perf_counter()
        loss = step()
        times.append((time.perf_counter() - start) * 1e3)
    median = statistics.median(times)
    return {
        "case": name,
        "threads": options.threads,
        "parameters": sum(p.numel() for p in parameters),
        "steps": options.steps,
        "step_ms": median,
        "min_ms": min(times),
        "tokens_per_second": case.batch * case.target / median * 1e3,
        "gflops": step_gflop(name) / median * 1e3,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "kernel": blas_kernel(),
        "torch": torch.__version__,
        "loss": loss,
    }


def refuse_others(parser, options):
    """No option is ignored: those of another kind of model end the program."""
    case = CASES[options.case]
    kind = ("Transformer" if not isinstance(case, Recurrent) else
            "fixed context" if case.attention == "none" else "attention in the loop")
    kinds = {"context": "fixed context", "decoder": "attention in the loop",
             "words": "attention in the loop", "layers": "Transformer", "batch_first": "Transformer",
             "causal_blocks": "Transformer"}
    for name, of in kinds.items():
        if getattr(options, name) and kind != of:
            parser.error(f"--{name.replace('_', '-')} is for cases of the kind: {of}; "
                         f"{options.case} is of the kind: {kind}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", choices=sorted(CASES), required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--words", choices=["once", "each"],
                        help="attention in the loop, gates written out: a word vector's share of the "
                             "gates once for each word of the vocabulary, or at every position "
                             "(default: whichever was faster here, once for Luong, each for Bahdanau)")
    parser.add_argument("--context", choices=["once", "joint"],
                        help="fixed context: its share of the logits once a sentence (default), or at "
                             "every position")
    parser.add_argument("--decoder", choices=["hoisted", "cell"],
                        help="attention in the loop: own gates with hoisted input product (default), or "
                             "nn.GRUCell and nn.LSTMCell")
    parser.add_argument("--layers", choices=["own", "torch"],
                        help="Transformer: layers written out (default for transformer_long), or "
                             "PyTorch's (default otherwise)")
    parser.add_argument("--batch-first", action="store_true",
                        help="Transformer with --layers torch: (B, T, D) instead of (T, B, D)")
    parser.add_argument("--causal-blocks", type=int,
                        help="Transformer with --layers own: causal attention in so many blocks of "
                             "queries, without the keys that come later (default: 4 for "
                             "transformer_long, else 1)")
    parser.add_argument("--no-foreach", action="store_true", help="Adam one tensor at a time")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    options = parser.parse_args()
    refuse_others(parser, options)
    options.context = options.context or "once"
    options.decoder = options.decoder or "hoisted"
    # Whatever was faster here, where both were measured.
    long = options.case == "transformer_long"
    if options.layers is None:
        options.layers = "own" if long else "torch"
    if options.causal_blocks is None:
        options.causal_blocks = 4 if long and options.layers == "own" else 1
    if options.words is None:
        options.words = "once" if options.case == "lstm_luong" else "each"
    if min(options.threads, options.steps, options.causal_blocks) < 1:
        parser.error("--threads, --steps and --causal-blocks must be at least 1")
    if options.batch_first and options.layers != "torch":
        parser.error("--batch-first needs --layers torch")
    if options.causal_blocks > 1 and options.layers != "own":
        parser.error("--causal-blocks needs --layers own")
    return options


def main():
    options = parse_arguments()
    if "OPENBLAS_CORETYPE" in os.environ:
        print("warning: OPENBLAS_CORETYPE is set; OpenBLAS does not choose its kernel itself",
              file=sys.stderr)
    result = measure(options.case, options)
    if options.json:
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
