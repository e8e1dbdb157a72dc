#!/usr/bin/env python3
"""What each pass gains: every kernel with all passes and without one, in turns.

    bench/ablation.py [--build DIR] [--passes gen_full,gen_coarsen] [--only a,b] [--rounds N] [--least 0.03]

One thread, pinned to CPU 0. The table has the medians' ratios, without over with: above 1 the pass gains. Kernels
that a pass does not move by --least are left out of its row. A round before them makes the best code and checks
all results.
"""
import argparse
import os
import statistics
import sys

import kernels
import run as bench
from kernels import NAMES, Setup, result_line

sys.path.insert(0, os.path.join(kernels.ROOT, "tests", "differential"))
import engine  # noqa: E402


def measure(setup, flavour, names, passes, rounds):
    """{name: {"" or the pass left out: [ms]}}"""
    times = {n: {p: [] for p in [""] + passes} for n in names}
    for r in range(rounds + 1):
        for n in names:
            for p in times[n]:
                bench.progress(f"round {r} of {rounds}: {n} {p}")
                cmd, env = bench.command(setup, "cuda1", n, flavour, r == 0)
                if p:
                    env["HEDDLE_SKIP_PASS"] = p
                if r == 0:
                    env["HEDDLE_DEBUG"] = "sync"
                status, out, err = kernels.run(cmd + ([] if r == 0 else ["-n"]), env)
                fields = result_line(n, out)
                if not fields or (r == 0 and fields[3] != "PASS"):
                    raise SystemExit(f"{n} without {p or 'nothing'}: status {status} {(fields or [err.strip()])[-1]}")
                if r:
                    times[n][p].append(float(fields[1]))
    bench.progress("")
    return times


def table(times, passes, least):
    lines = ["| left out | all kernels | those that it moves |", "|---|---|---|"]
    for p in passes:
        ratio = {n: statistics.median(t[p]) / statistics.median(t[""]) for n, t in times.items()}
        moved = sorted((n for n in ratio if abs(ratio[n] - 1) >= least), key=lambda n: -ratio[n])
        lines.append(f"| `{p}` | {bench.geomean(list(ratio.values())):.2f} | " +
                     ", ".join(f"{n} {ratio[n]:.2f}" for n in moved) + " |")
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="See the head of the file.")
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"))
    p.add_argument("--passes", default=",".join(engine.passes(kernels.ROOT)))
    p.add_argument("--only", default=",".join(NAMES))
    p.add_argument("--flavour", default="cuda")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--least", type=float, default=0.03)
    args = p.parse_args()
    passes = args.passes.split(",")
    unknown = [name for name in passes if name not in engine.passes(kernels.ROOT)]
    if unknown:
        raise SystemExit(f"no such pass: {', '.join(unknown)} (there are {', '.join(engine.passes(kernels.ROOT))})")
    bench.prioritise(-20)
    try:
        times = measure(Setup(args.build), args.flavour, args.only.split(","), passes, args.rounds)
    finally:
        bench.prioritise(0)
    print("\n".join(table(times, passes, args.least)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
