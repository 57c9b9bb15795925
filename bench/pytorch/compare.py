#!/usr/bin/python3
"""Measures lookback and PyTorch side by side and prints a Markdown table.

The two take turns, several rounds in one run, so that a change of the machine's mood meets both.
PyTorch runs at the best of three settings (one thread; two with sleeping and two with spinning
workers) and with an allocator that gives no memory back between steps, which is its fastest here.
lookback runs as it comes: no setting, no environment. Both figures are medians over the rounds of
each round's median step; the least step of all rounds stands beside them.

    bench/pytorch/compare.py [--case NAME]... [--rounds 3] [--steps 30]
    bench/pytorch/compare.py --only pytorch      (or lookback: one side alone)
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
from step import CASES, step_gflop  # noqa: E402

PYTHON = "/usr/bin/python3"  # Debian's, which has python3-torch
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "268435456",
}
# name: (threads, environment)
SETTINGS = {
    "1 thread": (1, {}),
    "2 threads, passive": (2, {"OMP_WAIT_POLICY": "passive"}),
    "2 threads": (2, {}),
}


def clean_environment():
    """This process's environment without what would tilt either side."""
    tilting = ("OMP_", "GOMP_", "OPENBLAS_", "MKL_", "DNNL_", "ONEDNN_", "MALLOC_")
    return {k: v for k, v in os.environ.items() if not k.startswith(tilting)}


def run_json(command, environment):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: exit {done.returncode} from: {' '.join(map(str, command))}")
    return json.loads(done.stdout)


def run_pytorch(case, setting, steps):
    threads, extra = SETTINGS[setting]
    command = [PYTHON, HERE / "step.py", "--case", case, "--threads", str(threads),
               "--steps", str(steps), "--json"]
    return run_json(command, {**clean_environment(), **KEEP_MEMORY, **extra})


def run_lookback(binary, case, steps):
    _, _, B, S, T, *_ = CASES[case]
    command = [binary, "bench", f"configs/bench/{case}.yaml", "--batch", str(B),
               "--source-length", str(S), "--target-length", str(T), "--steps", str(steps), "--json"]
    return run_json(command, clean_environment())


def summary(rounds):
    """Median and least step over the rounds of one side at one setting."""
    medians = [r["step_ms"] for r in rounds]
    least = [r["min_ms"] for r in rounds if "min_ms" in r]
    return {**rounds[-1], "step_ms": statistics.median(medians), "least_ms": min(least or medians)}


def measure(case, arguments):
    """Returns (lookback or None, PyTorch's best or None, {setting: figures})."""
    ours, theirs = [], {}
    settings = list(SETTINGS) if arguments.only != "lookback" else []
    for index in range(arguments.rounds):
        print(f"{case}: round {index + 1} of {arguments.rounds}", file=sys.stderr)
        for setting in settings or [None]:
            # lookback runs before each of PyTorch's settings: as many turns, spread as evenly.
            if arguments.only != "pytorch":
                ours.append(run_lookback(arguments.binary, case, arguments.steps))
            if setting:
                theirs.setdefault(setting, []).append(run_pytorch(case, setting, arguments.steps))
    theirs = {setting: summary(rounds) for setting, rounds in theirs.items()}
    best = min(theirs, key=lambda setting: theirs[setting]["step_ms"]) if theirs else None
    if best:
        theirs[best]["setting"] = best
    return summary(ours) if ours else None, theirs.get(best), theirs


def row(case, side, figures, ratio):
    _, _, B, _, T, *_ = CASES[case]
    step = figures["step_ms"]
    rate = f"{figures['gemm_rate']:.0%}" if "gemm_rate" in figures else ""
    setting = figures.get("setting") or f"{figures['threads']} threads, {figures['shards']} shards"
    return (f"| {case} | {side} | {setting} | {figures['parameters']:,} | {step:.1f} | "
            f"{figures['least_ms']:.1f} | {B * T / step * 1e3:,.0f} | "
            f"{step_gflop(case) / step * 1e3:.1f} | {rate} | {figures['peak_rss_mb']:.0f} | "
            f"{ratio} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", choices=sorted(CASES), action="append",
                        help="may be given several times; all cases if left out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--only", choices=["pytorch", "lookback"])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "lookback")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.steps < 1:
        parser.error("--rounds and --steps must be at least 1")
    arguments.binary = arguments.binary.resolve()
    if arguments.only != "pytorch" and not arguments.binary.is_file():
        sys.exit(f"compare.py: {arguments.binary} is missing; `./dev build` makes it")
    if arguments.only != "lookback" and subprocess.run(
            [PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit("compare.py: PyTorch is missing; apt-get install python3-torch libopenblas0-openmp")

    before = os.getloadavg()
    if before[0] > 0.3:
        print(f"warning: load average is {before[0]:.2f} before the start; other work disturbs the "
              "figures", file=sys.stderr)

    results = [(case, *measure(case, arguments)) for case in arguments.case or CASES]
    kernels = {best["kernel"] for _, _, best, _ in results if best}

    print("| case | program | setting | parameters | step, ms | least, ms | target tokens/s "
          "| GFLOP/s | of peak | peak MB | times PyTorch's speed |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case, ours, best, _ in results:
        if best:
            print(row(case, "PyTorch", best, "1.00" if ours else ""))
        if ours:
            print(row(case, "lookback", ours,
                      f"**{best['step_ms'] / ours['step_ms']:.2f}**" if best else ""))
    if kernels:
        print("\nPyTorch's settings, median step (least) in ms:\n")
        print("| case | " + " | ".join(SETTINGS) + " |")
        print("| --- |" + " ---: |" * len(SETTINGS))
        for case, _, _, theirs in results:
            cells = [f"{r['step_ms']:.1f} ({r['least_ms']:.1f})" for r in theirs.values()]
            print(f"| {case} | " + " | ".join(cells) + " |")
    shapes = "; ".join(
        "{}: B={} S={} T={} V={} E={} D={}".format(case, *CASES[case][2:]) for case, *_ in results)
    print(f"\n{shapes}. Medians of {arguments.rounds} alternating rounds of {arguments.steps} steps"
          + (f"; PyTorch's products: {', '.join(sorted(kernels))}" if kernels else "")
          + f". Load average before {before[0]:.2f}, after {os.getloadavg()[0]:.2f}.")


if __name__ == "__main__":
    main()
