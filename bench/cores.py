#!/usr/bin/env python3
"""What sums of tensor cores (HEDDLE_MMA) cost: a benchmark, nothing passes or fails.

    bench/cores.py [--build DIR] [--rounds N] [ARCHITECTURE ..]

Runs `warps` of tensor/ (matrix instructions alone) under the rule that is the default and under each architecture's in turns, with one thread and in processor
time, and prints medians of GF/s and how many times slower that is. `build.sh tensor` builds it.
"""
import argparse
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("architectures", nargs="*", default=["sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
    args = parser.parse_args()
    heddle = os.path.join(args.build, "tools/heddle/heddle")
    rules = ["chain"] + args.architectures
    found = {}
    path = os.path.join(HERE, "out", "tensor", "warps")
    if not os.path.exists(path):
        sys.exit(f"cores.py: {path} is not there; `bench/build.sh tensor` builds it")
    for rule in rules * args.rounds:
        env = dict(os.environ, HEDDLE_MMA=rule, HEDDLE_THREADS="1", BENCH_PROCESSOR_TIME="1")
        out = subprocess.run([heddle, "run", path, "-q"], env=env, stdout=subprocess.PIPE, check=True).stdout.decode()
        for line in out.splitlines():
            name, rate, _ = line.rsplit(",", 2)
            found.setdefault(name, {}).setdefault(rule, []).append(float(rate))
    print("| | " + " | ".join(rules) + " |\n" + "|---" * (len(rules) + 1) + "|")
    for name, by_rule in found.items():
        rate = {rule: statistics.median(rates) for rule, rates in by_rule.items()}
        print(f"| {name} | {rate['chain']:.0f} | " + " | ".join(f"{rate[r]:.1f}, {rate['chain'] / rate[r]:.1f}" for r in rules[1:]) + " |")


if __name__ == "__main__":
    main()
