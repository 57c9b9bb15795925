"""The Markdown that compare.py prints and writes."""

import datetime
import os
import re
import shlex
import subprocess
import sys

from cases import CASES, step_gflop

BEGIN, END = "<!-- compare:begin -->", "<!-- compare:end -->"


def row(result, side, ratio):
    figures = result.ours if side == "lookback" else result.best
    case, step = CASES[result.case], figures["step_ms"]
    rate = f"{figures['gemm_rate']:.0%}" if "gemm_rate" in figures else ""
    setting = figures.get("setting") or f"{figures['threads']} threads, {figures['shards']} shards"
    return (f"| {result.case} | {side} | {setting} | {figures['parameters']:,} | {step:.1f} | "
            f"{figures['least_ms']:.1f} | {case.batch * case.target / step * 1e3:,.0f} | "
            f"{step_gflop(result.case) / step * 1e3:.1f} | {rate} | "
            f"{figures['peak_rss_mb']:.0f} | {ratio} |")


def steps_table(results):
    lines = ["| case | program | setting | parameters | step, ms | least, ms | target tokens/s "
             "| GFLOP/s | of peak | peak MB | times PyTorch's speed |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for result in results:
        if result.best:
            lines.append(row(result, "PyTorch", "1.00" if result.ours else ""))
        if result.ours:
            ratio = f"**{result.ratio():.2f}**" if result.best else ""
            lines.append(row(result, "lookback", ratio))
    return lines


def ratios_table(results):
    """Against what is required; only where both sides ran."""
    lines = ["", "Times PyTorch's speed, against what is required; *paired* is of PyTorch's best "
             "run of a round and lookback's run beside it:", "",
             "| case | required | of medians | paired, median (least to most) | reached "
             "| peak memory, PyTorch / lookback |",
             "| --- | ---: | ---: | ---: | --- | ---: |"]
    for result in results:
        required = CASES[result.case].required
        paired = result.paired_median()
        reached = "" if required is None else "yes" if paired >= required else "no"
        memory = result.best["peak_rss_mb"] / result.ours["peak_rss_mb"]
        lines.append(f"| {result.case} | {required or ''} | {result.ratio():.2f} | "
                     f"{paired:.2f} ({min(result.paired):.2f} to {max(result.paired):.2f}) | "
                     f"{reached} | {memory:.1f} |")
    return lines


def settings_table(results, settings):
    lines = ["", "PyTorch's settings, median step (least) in ms:", "",
             "| case | " + " | ".join(settings) + " |", "| --- |" + " ---: |" * len(settings)]
    for result in results:
        cells = [f"{r['step_ms']:.1f} ({r['least_ms']:.1f})" for r in result.theirs.values()]
        lines.append(f"| {result.case} | " + " | ".join(cells) + " |")
    return lines


def processor():
    with open("/proc/cpuinfo") as info:
        found = re.search(r"^model name\s*:\s*(.+)$", info.read(), re.MULTILINE)
    return found[1] if found else "unknown processor"


def compiler():
    """The gcc of this machine, which need not be the one that built the binary of --binary."""
    try:
        done = subprocess.run(["gcc", "-dumpfullversion"], stdout=subprocess.PIPE, text=True)
    except FileNotFoundError:
        return None
    return f"gcc {done.stdout.strip()}" if done.returncode == 0 else None


def machine_line(results, load_before):
    parts = [f"{processor()}, {len(os.sched_getaffinity(0))} cores", compiler()]
    best = next((r.best for r in results if r.best), None)
    ours = next((r.ours for r in results if r.ours), None)
    if best:
        parts.append(f"PyTorch {best['torch']} with {best['kernel']}")
    if ours and "onednn" in ours:
        parts.append(f"oneDNN {ours['onednn']}")
    command = shlex.join(["bench/pytorch/compare.py", *sys.argv[1:]])
    parts.append(f"load average {load_before:.2f} before, {os.getloadavg()[0]:.2f} after")
    parts.append(f"{datetime.date.today()}: `{command}`")
    return "Machine: " + "; ".join(part for part in parts if part) + "."


def markdown(results, settings, arguments, load_before):
    lines = steps_table(results)
    if all(r.paired for r in results):
        lines += ratios_table(results)
    if all(r.theirs for r in results) and len(settings) > 1:
        lines += settings_table(results, settings)
    shapes = "; ".join(f"{r.case}: {CASES[r.case].shape()}, {r.steps} steps" for r in results)
    lines += ["", f"{shapes}. Medians of {arguments.rounds} alternating rounds."]
    if arguments.set:
        lines[-1] += f" lookback with {', '.join(f'`{s}`' for s in arguments.set)}."
    if arguments.pytorch_option:
        lines[-1] += f" PyTorch with {', '.join(f'`{o}`' for o in arguments.pytorch_option)}."
    return "\n".join(lines + ["", machine_line(results, load_before)]) + "\n"


def split_at_markers(path):
    """What stands up to the first marker and from the second one on. ValueError without them."""
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ValueError(f"{path} needs one line {BEGIN} and, below it, one line {END}")
    return text[:text.index(BEGIN) + len(BEGIN)], text[text.index(END):]


def write_between_markers(path, text):
    before, after = split_at_markers(path)
    path.write_text(f"{before}\n{text}{after}")
