#!/usr/bin/env python3
"""Random CUDA C (gen_cuda.py) through real compilers: the host's answer, the reference interpreter's and those of the
CPU device must be the same (TAP).

    test_cuda.py --interp RUN_INTERP --driver RUN_DRIVER --heddle HEDDLE [--seeds FIRST:COUNT] [--builds NAME,...]
                 [--levels "avx512 avx2 generic"] [--every] [--keep DIR]

Builds: nvcc without optimisation and with -G, nvcc -O3 and heddle cc for old and new targets; what has no compiler
here is skipped. Each build runs on one level in turn; --every: on all of them.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import engine  # noqa: E402
import gen_cuda  # noqa: E402
from gen_frame import BLOCKS, THREADS  # noqa: E402

# Contraction would round otherwise than the host does. HEDDLE stands for the tool.
BUILDS = {
    "nvcc-75-G": ["nvcc", "-ptx", "-w", "-arch=compute_75", "-fmad=false", "-G"],
    "nvcc-75": ["nvcc", "-ptx", "-w", "-arch=compute_75", "-fmad=false", "-O3"],
    "nvcc-120": ["nvcc", "-ptx", "-w", "-arch=compute_120", "-fmad=false", "-O3"],
    "heddle-75": ["HEDDLE", "cc", "-ptx", "-w", "-arch=sm_75", "-fmad=false", "-O3"],
    "heddle-90-O0": ["HEDDLE", "cc", "-ptx", "-w", "-arch=sm_90", "-fmad=false", "-O0"],
}
BATCH = 15
count = failed = 0


def ok(passed, what, notes=()):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {what}", flush=True)
    for note in notes:
        print(f"# {note}"[:300])


def compiled(command, what):
    # A sanitized `heddle cc` ends without freeing what it had.
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    p = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=env)
    if p.returncode:
        ok(False, what, (p.stderr or p.stdout).splitlines()[-5:])
    return p.returncode == 0


def host_runner(where, cu):
    """What computes the same on the host, a device for engine.py."""
    path = f"{where}/host"
    batch = [f"{where}/batch.o"]
    return engine.Device("host", [path]) if (
        compiled(["gcc", "-O1", "-c", f"{HERE}/batch.c", "-o", batch[0]], "batch.c") and
        compiled(["g++", "-x", "c++", "-std=c++17", "-O1", "-w", "-fwrapv", "-ffp-contract=off", f"-I{HERE}", cu, "-x", "none", *batch,
                  "-o", path], "the host's program")) else None


def difference(a, b):
    at = next(i for i in range(0, len(a), 4) if a[i:i + 4] != b[i:i + 4])
    row, thread = divmod(at // 4, THREADS * BLOCKS)
    return f"row {row} thread {thread}: {a[at:at + 4][::-1].hex()} and {b[at:at + 4][::-1].hex()}"


def check_build(where, name, seeds, reference, devices):
    """All answers of one build against the host's."""
    for d in devices:
        wrong = []
        for seed, (want, why_none), (got, why) in zip(seeds, reference, d.run(where, len(seeds))):
            if want is None or got is None:
                wrong.append(f"seed {seed}: host: {why_none or 'runs'}; {d.name}: {why or 'runs'}")
            elif want != got:
                wrong.append(f"seed {seed}: host and {d.name}: {difference(want, got)}")
        wrong += [f"lost its form: {line}" for line in d.slower]
        ok(not wrong, f"seeds {seeds[0]} to {seeds[-1]}, {name}, {d.name}", wrong)


def check_batch(where, args, seeds, builds, turn):
    cu = f"{where}/{seeds[0]}.cu"
    with open(cu, "w", encoding="ascii") as f:
        f.write(gen_cuda.source(seeds, args.size))
    engine.write_job(where, seeds, gen_cuda.OUT_B)
    host = host_runner(where, cu)
    if not host:
        return
    open(f"{where}/ptx", "wb").close()
    reference = host.run(where, len(seeds))
    for i, name in enumerate(builds):
        command = [args.heddle if w == "HEDDLE" else w for w in BUILDS[name]]
        if not compiled(command + [cu, "-o", f"{where}/ptx"], f"{name} compiles seeds {seeds[0]} to {seeds[-1]}"):
            continue
        levels = args.here if args.every else [args.here[(turn + i) % len(args.here)]]
        devices = [engine.device(n, args.interp, args.driver) for n in ["noopt", "opt"] + [f"cpu/{level}" for level in levels]]
        check_build(where, name, seeds, reference, devices)
        if args.keep:
            shutil.copy(f"{where}/ptx", f"{args.keep}/{seeds[0]}.{name}.ptx")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--interp", "--driver", "--heddle"):
        p.add_argument(option, required=True)
    p.add_argument("--seeds", default="1:15")
    p.add_argument("--size", type=int, default=8)
    p.add_argument("--builds", default=",".join(BUILDS))
    p.add_argument("--levels", default="avx512 avx2 generic")
    p.add_argument("--every", action="store_true", help="every level instead of one in turn")
    p.add_argument("--keep", help="folder for the PTX")
    args = p.parse_args()
    args.heddle = os.path.abspath(args.heddle)
    builds = [b for b in args.builds.split(",") if BUILDS[b][0] == "HEDDLE" or shutil.which(BUILDS[b][0])]
    if not shutil.which("g++") or not builds:
        print("1..0 # SKIP no compiler for the host, or none for kernels")
        return 0
    first, number = (int(n) for n in args.seeds.split(":"))
    with tempfile.TemporaryDirectory(prefix="cuda-") as where:
        args.here, _ = engine.levels_here(args.driver, args.levels.split(), where)
        for turn, at in enumerate(range(first, first + number, BATCH)):
            seeds = list(range(at, min(at + BATCH, first + number)))
            check_batch(where, args, seeds, builds, turn)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
