#!/usr/bin/env python3
"""Checks the twenty kernels on the CPU device, as TAP.

    bench/check.py [--build DIR] [--flavours a,b,...]

1. Small sizes in every flavour that can be built here: nvcc with the shared and the static runtime, heddle cc,
   and the first of them again with HEDDLE_CPU=avx2: each program has to print PASS.
2. Very small sizes on the CPU device and on the reference interpreter (HEDDLE_DEVICE=interp): the result arrays
   must be the same, bit for bit.
"""
import argparse
import itertools
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import kernels
from kernels import BENCH, NAMES, Setup, result_line, run

FLAVOURS = ["cuda", "cuda-static", "cuda-heddle"]
# The order in which atomics arrive does not matter for these results; everything else is deterministic too.


def check_pass(setup, flavour, name, env, label):
    status, out, err = run(setup.cuda(flavour, name) + kernels.small_args(name) + ["-r", "1", "-w", "1"], env, 120)
    fields = result_line(name, out)
    why = (err or out).strip().splitlines()
    return (bool(fields) and fields[3] == "PASS" and status == 0, f"{label} {name}",
            f"status {status}: {why[-1] if why else 'no output'}")


def dump(setup, flavour, name, env, path):
    cmd = setup.cuda(flavour, name) + kernels.tiny_args(name) + ["-r", "1", "-w", "1", "-dump", path]
    status, out, err = run(cmd, env, 300)
    lines = (err or out).strip().splitlines()
    if not os.path.exists(path):
        return None, f"status {status}: {lines[-1] if lines else 'no dump'}"
    with open(path, "rb") as file:
        return file.read(), ""


def check_interp(setup, flavour, name, tmp):
    cpu, why_cpu = dump(setup, flavour, name, {}, os.path.join(tmp, name + ".cpu"))
    ref, why_ref = dump(setup, flavour, name, {"HEDDLE_DEVICE": "interp"}, os.path.join(tmp, name + ".ref"))
    if cpu is None or ref is None:
        return False, f"cpu = interp {name}", why_cpu or "interp: " + why_ref
    differing = [i for i in range(0, min(len(cpu), len(ref)), 4) if cpu[i:i + 4] != ref[i:i + 4]]
    where = differing[0] if differing else 0
    return (cpu == ref, f"cpu = interp {name}",
            f"{len(differing)} of {len(ref) // 4} words differ, first at {where // 4}: "
            f"cpu {cpu[where:where + 4][::-1].hex()} interp {ref[where:where + 4][::-1].hex()}")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"))
    p.add_argument("--flavours", default=",".join(FLAVOURS + ["avx2", "interp"]))
    args = p.parse_args()
    wanted = args.flavours.split(",")
    out = os.environ.get("OUT") or os.path.join(os.path.abspath(args.build), "bench-out")
    setup = Setup(args.build, out)
    built, broken = [], []
    if not os.path.exists(setup.heddle):
        print("1..0 # SKIP no heddle tool")
        return 0
    for f in FLAVOURS:
        if f != "cuda-heddle" and not shutil.which(os.environ.get("NVCC", "nvcc")):
            print(f"# {f}: no nvcc here")
            continue
        if f not in wanted and f != "cuda-heddle":
            continue
        status, _, err = run([BENCH + "/build.sh", f], {"HEDDLE": setup.heddle, "OUT": out}, 900)
        if status == 0:
            built.append(f)
        elif f in wanted:
            broken.append((False, f"build {f}", (err.strip().splitlines() or ["failed"])[-1]))
    failures = 0
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(os.cpu_count()) as pool:
        checks = [pool.submit(check_pass, setup, f, name, {}, f) for f in built if f in wanted for name in NAMES]
        if built and "avx2" in wanted:
            checks += [pool.submit(check_pass, setup, built[0], name, {"HEDDLE_CPU": "avx2"}, "avx2") for name in NAMES]
        if built and "interp" in wanted:
            checks += [pool.submit(check_interp, setup, built[0], name, tmp) for name in NAMES]
        print(f"1..{len(broken) + len(checks)}")
        results = itertools.chain(broken, (check.result() for check in checks))
        for number, (passed, what, why) in enumerate(results, 1):
            failures += not passed
            print(f"{'ok' if passed else 'not ok'} {number} - {what}" + ("" if passed else f"\n# {why}"), flush=True)
    return 1 if failures else 0


sys.exit(main())
