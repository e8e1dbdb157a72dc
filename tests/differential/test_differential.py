#!/usr/bin/env python3
"""Random kernels must give the same bytes on every device (TAP); scripts/campaign runs many of them.

    test_differential.py --interp RUN_INTERP --driver RUN_DRIVER [--devices cpu,cpu/avx2;cpu/avx512,-vbmi]
                         [--turns DEVICES [--each N]] [--style drawn|compiled] [--seeds FIRST:COUNT] [--size N] [--reduce]

Devices as engine.py has them, separated by blanks. Every seed runs on all of --devices, and on N of --turns, where each
has as many seeds as every other that this host can execute. "forms" there: the best, quick, plain and simple code of each
level. A failing seed is printed with the first differing register;
--reduce deletes lines of the program while the devices still disagree.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import engine  # noqa: E402


def reduced(where, args, seed, devices):
    lines = engine.reduce(where, args.style, seed, args.size, devices)
    print("# reduced to:" if lines else "# it agrees when it is alone")
    for s in lines or []:
        print(f"#   {s}")


def turns_here(args):
    """The names of --turns that this host can execute."""
    names = [n for name in args.turns.split() for n in (engine.level_forms() if name == "forms" else [name])]
    levels = list(dict.fromkeys(n.partition(":")[0][4:] for n in names if n.startswith("cpu/")))
    with tempfile.TemporaryDirectory(prefix="differential-") as where:
        good, refused = engine.levels_here(args.driver, levels, where)
    for level, why in refused:
        print(f"# not here: {level}: {why}")
    return [n for n in names if not n.startswith("cpu/") or n.partition(":")[0][4:] in good]


def run(args, where, seeds, devices, turns):
    """{seed: [(device, what differs)]}."""
    trouble = engine.run_batch(where, args.style, seeds, devices, args.size) if len(devices) > 1 or not turns else {}
    for k, device in enumerate(turns):
        mine = [s for i, s in enumerate(seeds) if any((i * args.each + j) % len(turns) == k for j in range(args.each))]
        for seed, found in engine.run_batch(where, args.style, mine, [devices[0], device], args.size).items() if mine else []:
            trouble.setdefault(seed, []).extend(found)
    return trouble


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--interp", required=True)
    p.add_argument("--driver", required=True)
    p.add_argument("--devices", default="noopt opt interp cpu")
    p.add_argument("--turns", default="")
    p.add_argument("--each", type=int, default=1)
    p.add_argument("--style", choices=sorted(engine.STYLES), default="drawn")
    p.add_argument("--seeds", default="1:20")
    p.add_argument("--size", type=int)
    p.add_argument("--passes", action="store_true", help="also without one of the passes each")
    p.add_argument("--reduce", action="store_true")
    args = p.parse_args()
    names = args.devices.split() + [f"cpu:-{name}" for name in engine.passes(ROOT) if args.passes]
    devices = [engine.device(name, args.interp, args.driver) for name in names]
    turns = [engine.device(name, args.interp, args.driver) for name in turns_here(args)]
    first, count = (int(n) for n in args.seeds.split(":"))
    seeds = range(first, first + count)
    with tempfile.TemporaryDirectory(prefix="differential-") as where:
        trouble = run(args, where, seeds, devices, turns)
        print(f"1..{count + 1}")
        for i, seed in enumerate(seeds, 1):
            print(f"{'not ' if seed in trouble else ''}ok {i} - seed {seed}")
            for other, what in trouble.get(seed, []):
                print(f"# {what}")
                if args.reduce:
                    reduced(where, args, seed, [devices[0], other])
    slower = [f"{d.name}: {line}" for d in devices + turns for line in d.slower]
    print(f"{'not ' if slower else ''}ok {count + 1} - every kernel runs in the form that was asked for")
    for line in slower[:10]:
        print(f"# {line}")
    return 1 if trouble or slower else 0


if __name__ == "__main__":
    sys.exit(main())
