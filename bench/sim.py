#!/usr/bin/env python3
"""How fast the simulated GPU executes code, beside the reference interpreter: the same launches in turns.

    bench/sim.py [--build DIR] [--flavour F] [--only a,b] [--rounds N] [--quick] [--json FILE]

For each of the 32 kernels: the warp instructions of its launches, how many million of them the sim device executes in
a second (HEDDLE_DEBUG=counts: time of launches only, on one thread, pinned to one CPU), and the time of the
interpreter over that of the sim device. The interpreter executes operations of the IR, which are not instructions; so
times of the same launches are compared. Medians over rounds. The target is TARGET million at median of the kernels;
one that is missed is printed as MISSED and fails nothing.
"""
import argparse
import json
import os
import statistics
import sys

import kernels
import simulated
from kernels import NAMES, Setup
from tables.common import Table, geomean, progress

TARGET = 7


def once(setup, args, name, device):
    """(instructions, ns) of a run's launches without the first repetition's, which warms up."""
    size = kernels.tiny_args(name) if args.quick else kernels.small_args(name)
    told = simulated.told(["taskset", "-c", str(args.cpu)] + setup.cuda(args.flavour, name) + size + ["-r", "2", "-w", "1", "-n"],
                          device=device)
    if told.error or not told.launches:
        raise SystemExit(f"{name} on {device}: {told.error or 'no launch was told of'}")
    later = told.launches[len(told.launches) // 3:]
    return sum(launch[2] for launch in later), sum(launch[1] for launch in later)


def measure(setup, args, names):
    """{name: {"instructions", "per_s": millions, "ratio": interp's time over the sim device's}}"""
    values = {}
    for n in names:
        speeds, ratios, counts = [], [], set()
        for r in range(args.rounds):
            progress(f"{n}: round {r + 1} of {args.rounds}")
            instructions, ns = once(setup, args, n, "sim")
            _, other_ns = once(setup, args, n, "interp")
            speeds.append(instructions / ns * 1e3)
            ratios.append(other_ns / ns)
            counts.add(instructions)
        values[n] = {"instructions": max(counts), "per_s": statistics.median(speeds), "ratio": statistics.median(ratios)}
    progress("")
    return values


def table_of(values):
    table = Table("Simulated GPU, one core", ["kernel", "instructions", "M/s", "interp/sim"], values)
    for n, v in values.items():
        table.add(n, str(v["instructions"]), f"{v['per_s']:.2f}", f"{v['ratio']:.2f}")
    middle = statistics.median(v["per_s"] for v in values.values())
    table.add("median", "", f"{middle:.2f}", f"{statistics.median(v['ratio'] for v in values.values()):.2f}")
    table.add("geometric mean", "", f"{geomean([v['per_s'] for v in values.values()]):.2f}",
              f"{geomean([v['ratio'] for v in values.values()]):.2f}")
    table.notes.append(f"target: {TARGET} M/s at median" + ("" if middle >= TARGET else ": MISSED"))
    return table


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"), help="Heddle's build folder")
    p.add_argument("--flavour", default=simulated.default_flavour(), help="cuda: nvcc's programs; cuda-heddle: heddle cc's")
    p.add_argument("--only", default=",".join(NAMES), help="names of kernels, a comma list")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--cpu", type=int, default=0, help="that everything runs on")
    p.add_argument("--quick", action="store_true", help="smallest sizes")
    p.add_argument("--no-build", action="store_true", help="the programs of bench/cuda are there")
    p.add_argument("--json", help="writes all numbers to this file")
    args = p.parse_args()
    setup = Setup(args.build)
    if not args.no_build:
        simulated.build(setup, args.flavour)
    values = measure(setup, args, args.only.split(","))
    print("\n".join(table_of(values).plain()))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"flavour": args.flavour, "kernels": values}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
