#!/usr/bin/env python3
"""What counters (`heddle prof --kernel`) cost: a benchmark, nothing passes or fails.

    bench/counters.py [--build DIR] [--rounds N] [--cold] [--full] [--timeout S] [--threads N] [--json FILE] [KERNEL ..]

Runs the CUDA programs of bench/ plainly and with counters in turns, and prints the time that the program itself
measured (kernels alone), counted over plain, and the geometric mean beside the target. The code cache has the best
code of both; --cold: there is none, so that processes start with code that was made quickly. A program that does not
end in time is left out of the mean and named.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import kernels
from checker import mean, milliseconds

TARGET = 4  # times slower


def run(words, env, limit_s):
    try:
        return subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s, check=False).stdout.decode()
    except subprocess.TimeoutExpired:
        return None


def measure(name, setup, args, folder):
    """[(plain ms, counted ms)] by round; [] when a run failed."""
    env = dict(os.environ, HEDDLE_THREADS=str(args.threads), **({"HEDDLE_CACHE": "off"} if args.cold else {}))
    words = [setup.program("cuda", name)] + ([] if args.full else kernels.quick_args(name)) + ["-r", "3", "-w", "1"]
    report = ["-f", "-o", os.path.join(folder, "report"), "--page", "raw", "--csv", "--metrics", "smsp__inst_executed.sum"]
    rounds = []
    for i in range(args.rounds + 1):  # the first one fills the cache
        now = env if i or args.cold else dict(env, HEDDLE_DEBUG="sync")
        both = (milliseconds(name, run([setup.heddle, "run"] + words, now, args.timeout)),
                milliseconds(name, run([setup.heddle, "prof", "--kernel"] + report + words, now, args.timeout)))
        if None in both:
            return []
        if i:
            rounds.append(both)
    return rounds


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--timeout", type=float, default=60)
    p.add_argument("--cold", action="store_true", help="without the code cache")
    p.add_argument("--full", action="store_true", help="the programs' own sizes")
    p.add_argument("--json")
    p.add_argument("kernel", nargs="*")
    args = p.parse_args()
    names = args.kernel or kernels.NAMES[:20]
    setup = kernels.Setup(args.build)
    wrong = [n for n in names if n not in kernels.NAMES or not os.path.exists(setup.program("cuda", n))]
    if wrong:
        p.error(f"no kernels, or not built (bench/build.sh): {', '.join(wrong)}")
    ratios, rows = [], []
    print(f"{'kernel':<18}{'plain ms':>10}{'counted ms':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            rounds = measure(name, setup, args, folder)
            if not rounds:
                print(f"{name:<18}  did not end with PASS in {args.timeout} s")
                continue
            plain, counted = (statistics.median(column) for column in zip(*rounds))
            ratios.append(counted / plain)
            rows.append({"kernel": name, "plain_ms": plain, "counted_ms": counted})
            print(f"{name:<18}{plain:>10.3g}{counted:>12.4g}{ratios[-1]:>8.2f}", flush=True)
    print(f"geometric mean of {len(ratios)} of {len(names)}: {mean(ratios):.2f} times slower (target {TARGET})")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
