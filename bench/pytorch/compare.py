#!/usr/bin/python3
"""Measures lookback and PyTorch side by side and prints Markdown tables.

The two take turns, several rounds in one run, so that a change of the machine's mood meets both.
PyTorch runs at the best of three settings (one thread; two with sleeping and two with spinning
workers) and with an allocator that gives no memory back between steps, which is its fastest here.
lookback runs as it comes: no environment, and no setting but those of --set. Both figures are
medians over the rounds of each round's median step; the least step of all rounds stands beside
them. The paired ratio is of a round's two neighbours: PyTorch's best run and lookback's before.

    bench/pytorch/compare.py [--case NAME]... [--rounds 3] [--steps N] [--quick]
    bench/pytorch/compare.py --only pytorch      (or lookback: one side alone)
    bench/pytorch/compare.py --set train.shards=1      (lookback with a changed configuration)
    bench/pytorch/compare.py --write docs/performance.md      (between the two markers there)
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
from cases import CASES  # noqa: E402
from report import markdown, split_at_markers, write_between_markers  # noqa: E402

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
QUICK = ["1 thread", "2 threads, passive"]  # one of them is the best


def clean_environment():
    """This process's environment without what would tilt either side."""
    tilting = ("OMP_", "GOMP_", "OPENBLAS_", "MKL_", "DNNL_", "ONEDNN_", "MALLOC_")
    return {k: v for k, v in os.environ.items() if not k.startswith(tilting)}


def run_json(command, environment):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: exit {done.returncode} from: {' '.join(map(str, command))}")
    return json.loads(done.stdout)


def run_pytorch(name, setting, steps, options):
    threads, extra = SETTINGS[setting]
    command = [PYTHON, HERE / "step.py", "--case", name, "--threads", str(threads),
               "--steps", str(steps), "--json", *options]
    return run_json(command, {**clean_environment(), **KEEP_MEMORY, **extra})


def run_lookback(binary, name, steps, settings):
    case = CASES[name]
    command = [binary, "bench", f"configs/bench/{name}.yaml", "--batch", str(case.batch),
               "--source-length", str(case.source), "--target-length", str(case.target),
               "--steps", str(steps), "--json"]
    for setting in settings:
        command += ["--set", setting]
    return run_json(command, clean_environment())


def summary(rounds):
    """Median and least step, and the most memory, over the rounds of one side at one setting."""
    medians = [r["step_ms"] for r in rounds]
    least = [r["min_ms"] for r in rounds if "min_ms" in r]
    return {**rounds[-1], "step_ms": statistics.median(medians), "least_ms": min(least or medians),
            "peak_rss_mb": max(r["peak_rss_mb"] for r in rounds)}


@dataclass
class Result:
    """The figures of one case; those of a side that did not run are empty."""

    case: str
    steps: int
    ours: dict | None = None
    best: dict | None = None  # of PyTorch's settings
    theirs: dict = field(default_factory=dict)  # setting: figures
    paired: list = field(default_factory=list)  # ratios, one a round

    def ratio(self):
        return self.best["step_ms"] / self.ours["step_ms"]

    def paired_median(self):
        return statistics.median(self.paired)


def measure(name, settings, arguments):
    result = Result(name, arguments.steps or CASES[name].steps)
    ours, theirs = [], {}
    for index in range(arguments.rounds):
        print(f"{name}: round {index + 1} of {arguments.rounds}", file=sys.stderr)
        pairs = []  # (PyTorch's step, lookback's)
        for setting in settings or [None]:
            # lookback runs before each of PyTorch's settings: as many turns, spread as evenly.
            if arguments.only != "pytorch":
                ours.append(run_lookback(arguments.binary, name, result.steps, arguments.set))
            if setting:
                theirs.setdefault(setting, []).append(
                    run_pytorch(name, setting, result.steps, arguments.pytorch_option))
            if setting and ours:
                pairs.append((theirs[setting][-1]["step_ms"], ours[-1]["step_ms"]))
        if pairs:
            pytorch, lookback = min(pairs)
            result.paired.append(pytorch / lookback)
    result.theirs = {setting: summary(rounds) for setting, rounds in theirs.items()}
    if ours:
        result.ours = summary(ours)
    if theirs:
        best = min(result.theirs, key=lambda setting: result.theirs[setting]["step_ms"])
        result.best = {**result.theirs[best], "setting": best}
    if result.ours and result.best and result.ours["parameters"] != result.best["parameters"]:
        sys.exit(f"compare.py: {name} has {result.ours['parameters']:,} parameters in lookback and "
                 f"{result.best['parameters']:,} in PyTorch; these are two different models")
    return result


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", choices=sorted(CASES), action="append",
                        help="may be given several times; all cases if left out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="timed steps of a run (default: by case)")
    parser.add_argument("--quick", action="store_true",
                        help=f"of PyTorch's settings only: {', '.join(QUICK)}")
    parser.add_argument("--only", choices=["pytorch", "lookback"])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="set a key of lookback's configuration; may be repeated")
    parser.add_argument("--pytorch-option", action="append", default=[], metavar="OPTION",
                        help="an option of step.py, as in --pytorch-option=--layers=torch; may be "
                             "repeated")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE",
                        help="also write the tables between the two markers of a Markdown file")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build" / "lookback")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or (arguments.steps is not None and arguments.steps < 1):
        parser.error("--rounds and --steps must be at least 1")
    arguments.binary = arguments.binary.resolve()
    return arguments


def check_needs(arguments):
    """Whatever would fail after the measurement fails before it."""
    if arguments.write:
        try:
            split_at_markers(arguments.write)
        except (OSError, ValueError) as error:
            sys.exit(f"compare.py: {error}")
    if arguments.only != "pytorch" and not arguments.binary.is_file():
        sys.exit(f"compare.py: {arguments.binary} is missing; `./dev build` makes it")
    if arguments.only != "lookback" and subprocess.run(
            [PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit("compare.py: PyTorch is missing: "
                 "apt-get install python3-torch")


def main():
    arguments = parse_arguments()
    check_needs(arguments)
    before = os.getloadavg()[0]
    if before > 0.3:
        print(f"warning: load average is {before:.2f} before the start; other work disturbs the "
              "figures", file=sys.stderr)
    settings = [] if arguments.only == "lookback" else QUICK if arguments.quick else list(SETTINGS)
    results = [measure(name, settings, arguments) for name in arguments.case or CASES]
    text = markdown(results, settings, arguments, before)
    print(text, end="")
    if arguments.write:
        write_between_markers(arguments.write, text)


if __name__ == "__main__":
    main()
