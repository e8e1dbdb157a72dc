#!/usr/bin/env python3
"""What `heddle check` costs: a benchmark, nothing passes or fails.

    bench/checker.py [--build DIR] [--tool TOOL,..] [--rounds N] [--full] [--timeout S]
                     [--threads N] [--json FILE] [KERNEL ..]

Runs the CUDA programs of bench/ plainly and under each tool in turns, with warm caches, and prints the time that the
program itself measured (kernels alone) and the memory of its process, under a tool over plain, and their geometric
means beside the targets. A program that does not end in time is left out of the means and named.
"""
import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys

import kernels

# Times slower, times as much memory.
TARGETS = {"memcheck": (3, 3), "initcheck": (4, 3), "racecheck": (12, 9), "racecheck-shared": (6, 9), "synccheck": (None, None),
           "schedcheck": (None, None)}
WORDS = {"racecheck-shared": ["racecheck", "--racecheck-global", "no"]}  # others: their name


def run_measured(words, env, limit_s):
    """(output, or None when it did not end; peak memory in KiB of the largest process) by a process that waits for nothing else."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            out = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s, check=False).stdout.decode()
        except subprocess.TimeoutExpired:
            out = None
        rss = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        os.write(write, json.dumps([out, rss]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(answer)


def milliseconds(name, out):
    """What the program printed, `name,median_ms,..,PASS`; None: something went wrong."""
    for line in (out or "").splitlines():
        row = line.split(",")
        if row[0] == name and row[-1] == "PASS":
            return float(row[1])
    return None


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def measure(name, tool, heddle, program, args):
    """[(plain ms, checked ms, plain KiB, checked KiB)] by round; [] when a run failed."""
    env = dict(os.environ, HEDDLE_THREADS=str(args.threads))
    words = [program] + ([] if args.full else kernels.quick_args(name)) + ["-r", "3", "-w", "1"]
    rounds = []
    for i in range(args.rounds + 1):  # the first one fills the cache
        plain, plain_kib = run_measured([heddle, "run"] + words, env, args.timeout)
        checked, checked_kib = run_measured([heddle, "check", "--tool", *WORDS.get(tool, [tool])] + words, env, args.timeout)
        both = milliseconds(name, plain), milliseconds(name, checked)
        if None in both:
            return []
        if i:
            rounds.append(both + (plain_kib, checked_kib))
    return rounds


def table(tool, names, setup, args):
    ratios, rows = [], []
    print(f"\n{tool}\n{'kernel':<18}{'plain ms':>10}{'checked ms':>12}{'ratio':>8}{'memory':>8}")
    for name in names:
        rounds = measure(name, tool, setup.heddle, setup.program("cuda", name), args)
        if not rounds:
            print(f"{name:<18}  did not end with PASS in {args.timeout} s")
            rows.append({"kernel": name})
            continue
        plain, checked, plain_kib, checked_kib = (statistics.median(column) for column in zip(*rounds))
        ratios.append((checked / plain, checked_kib / plain_kib))
        rows.append({"kernel": name, "plain_ms": plain, "checked_ms": checked, "memory": ratios[-1][1]})
        print(f"{name:<18}{plain:>10.3g}{checked:>12.4g}{ratios[-1][0]:>8.2f}{ratios[-1][1]:>8.2f}", flush=True)
    means = [mean([r[i] for r in ratios]) for i in (0, 1)]
    judged = [f"{m:.2f}" + (f" (target {t}{'' if m <= t else ', MISSED'})" if t else "") for m, t in zip(means, TARGETS[tool])]
    print(f"geometric mean of {len(ratios)} of {len(names)}: {judged[0]} times slower, {judged[1]} times the memory")
    return {"tool": tool, "rows": rows, "time": means[0], "memory": means[1]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"))
    p.add_argument("--tool", default=",".join(TARGETS))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--timeout", type=float, default=60)
    p.add_argument("--full", action="store_true", help="the programs' own sizes")
    p.add_argument("--json")
    p.add_argument("kernel", nargs="*")
    args = p.parse_args()
    tools, names = args.tool.split(","), args.kernel or kernels.NAMES[:20]
    wrong = [t for t in tools if t not in TARGETS] + [n for n in names if n not in kernels.NAMES]
    if wrong:
        p.error(f"not a tool or kernel: {', '.join(wrong)}")
    setup = kernels.Setup(args.build)
    missing = [n for n in names if not os.path.exists(setup.program("cuda", n))]
    if missing:
        p.error(f"not built (bench/build.sh): {', '.join(missing)}")
    results = [table(tool, names, setup, args) for tool in tools]
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
