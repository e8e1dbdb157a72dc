#!/usr/bin/env python3
"""Compares the CPU device with PoCL and with C + OpenMP on the kernels of bench/, in one interleaved run.

    bench/run.py [--build DIR] [--quick] [--rounds N] [--only a,b] [--impl i,j] [--json F] [--md F]
                 [--flavour cuda|cuda-static|cuda-heddle] [--no-build] [--skip launch,start] [--against DIR]

Implementations, each with 1 and 2 threads (pinned to CPU 0, or 0 and 1):
    cuda1 cuda2   the CUDA programs on the CPU device (heddle run)
    pocl1 pocl2   the same in OpenCL on PoCL; kernels that OpenCL cannot express have none
    base1 base2   C + OpenMP, clang -O3 -march=native
    best1 best2   the same with -mprefer-vector-width=512 -ffast-math
    was1 was2     the CUDA programs with the build of --against: before and after a change
Every round runs all implementations of a kernel one after the other; the tables show medians over rounds and
ratios of those. The first round checks all results. Launch latency and warm start follow.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import sys
import time

import kernels
from kernels import BENCH, NAMES, Setup, result_line, run

IMPLS = ["cuda1", "pocl1", "base1", "best1", "cuda2", "pocl2", "base2", "best2"]
# (repetitions, warm-ups) where one run of PoCL takes long
SLOW = {"sgemm_naive": (1, 1), "sgemm_tiled16": (3, 1), "sgemm_tiled32": (3, 1), "sgemm_reg": (5, 1),
        "nbody": (5, 1), "mandelbrot": (5, 1), "blackscholes": (5, 1)}
# name, slower over faster
RATIOS = [("cuda/was 1T", "cuda1", "was1"), ("cuda/was 2T", "cuda2", "was2"),
          ("PoCL/cuda 1T", "pocl1", "cuda1"), ("PoCL/cuda 2T", "pocl2", "cuda2"),
          ("cuda/best 1T", "cuda1", "best1"), ("cuda/best 2T", "cuda2", "best2")]


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def prioritise(level):
    """Autogroup scheduling ignores nice; ask for a larger share while measuring. Needs root; harmless otherwise."""
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(level))
    except OSError:
        pass


def command(setup, impl, name, flavour, quick):
    """The command line without sizes, and the environment."""
    threads = impl[-1]
    cpus = "0" if threads == "1" else "0,1"
    reps, warm = SLOW.get(name, (11, 2))
    if quick:
        reps, warm = min(reps, 5), 1
    if impl.startswith(("cuda", "was")):
        env = {"HEDDLE_THREADS": threads}
        cmd = (setup.against if impl.startswith("was") else setup).cuda(flavour, name)
    elif impl.startswith("pocl"):
        env = {"POCL_MAX_PTHREAD_COUNT": threads, "POCL_AFFINITY": "1", "CLDIR": BENCH + "/ocl",
               "POCL_CACHE_DIR": setup.out + "/pocl_cache"}
        cmd = [setup.out + "/ocl", name]
    else:
        env = {"OMP_NUM_THREADS": threads, "OMP_PROC_BIND": "close",
               "OMP_PLACES": "{0}" if threads == "1" else "{0},{1}"}
        cmd = [f"{setup.out}/omp_{impl[:-1]}", name]
        reps, warm = (5, 1) if quick else (15, 3)
    return ["taskset", "-c", cpus] + cmd + ["-r", str(reps), "-w", str(warm), "-v"], env


def available(setup, impl, flavour):
    if impl.startswith("was"):
        return setup.against is not None and available(setup.against, "cuda1", flavour)
    if impl.startswith("cuda"):
        return os.path.exists(setup.heddle) and os.path.isdir(os.path.join(setup.out, flavour))
    return os.path.exists(setup.out + ("/ocl" if impl.startswith("pocl") else f"/omp_{impl[:-1]}"))


def implemented(impl, name):
    return not impl.startswith("pocl") or os.path.exists(f"{BENCH}/ocl/{name}.cl")


def measure_kernels(setup, args, names, impls):
    """{name: {impl: {"ms": [...], "check": str}}}"""
    results = {n: {i: {"ms": [], "check": "-"} for i in impls} for n in names}
    for r in range(args.rounds):
        for n in names:
            for i in (i for i in impls if implemented(i, n)):
                progress(f"round {r + 1} of {args.rounds}: {n} {i}")
                cmd, env = command(setup, i, n, args.flavour, args.quick)
                cmd += kernels.quick_args(n) if args.quick else []
                status, out, err = run(cmd + ([] if r == 0 else ["-n"]), env)
                fields = result_line(n, out)
                cell = results[n][i]
                if not fields:
                    cell["check"] = "ERROR"
                    lines = (err or out).strip().splitlines()
                    cell["error"] = f"status {status}: {lines[-1] if lines else 'no output'}"
                    continue
                cell["ms"].append(float(fields[1]))
                if r == 0:
                    cell["check"] = fields[3]
                    cell["first_ms"] = float(fields[5])
    progress("")
    return results


def median(values):
    return statistics.median(values) if values else None


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def text(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}" if value < 100 else f"{value:.0f}"


def kernel_table(results, impls):
    ratios = [r for r in RATIOS if r[1] in impls and r[2] in impls]
    head = ["kernel"] + [f"{i} ms" for i in impls] + [r[0] for r in ratios] + ["checks"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    columns = {r[0]: [] for r in ratios}
    for n, row in results.items():
        ms = {i: median(row[i]["ms"]) for i in impls}
        cells = [n] + [text(ms[i]) for i in impls]
        for title, slow, fast in ratios:
            value = ms[slow] / ms[fast] if ms[slow] and ms[fast] else None
            cells.append(text(value))
            if value:
                columns[title].append(value)
        bad = [f"{i} {row[i]['check']}" for i in impls if implemented(i, n) and row[i]["check"] != "PASS"]
        lines.append("| " + " | ".join(cells + [", ".join(bad) or "all PASS"]) + " |")
    means = [text(geomean(columns[r[0]])) for r in ratios]
    lines.append("| " + " | ".join(["geometric mean"] + [""] * len(impls) + means + [""]) + " |")
    return lines, {k: geomean(v) for k, v in columns.items()}


def measure_launch(setup, args):
    """{implementation: {"enqueue 1x32": us, ...}}"""
    results = {}
    for impl in ("was1", "was2", "cuda1", "cuda2", "pocl1", "pocl2"):
        if not available(setup, impl, args.flavour):
            continue
        progress(f"launch latency: {impl}")
        cmd, env = command(setup, impl, "launch", args.flavour, False)
        cmd = cmd[:cmd.index("-r")] + (["-q"] if args.quick and impl.startswith("cuda") else [])
        _, out, _ = run(cmd, env)
        results[impl] = {f"{f[0]} {f[1]}x{f[2]}": float(f[3])
                         for f in (line.split(",") for line in out.splitlines()) if len(f) == 4}
    if os.path.exists(setup.out + "/omp_launch"):
        _, out, _ = run(["taskset", "-c", "0,1", setup.out + "/omp_launch"],
                        {"OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "close", "OMP_PLACES": "{0},{1}"})
        results["libomp2"] = {f"fork-join, idle {f[2]} us": float(f[3])
                              for f in (line.split(",") for line in out.splitlines()) if len(f) == 4}
    progress("")
    return results


def launch_table(results):
    impls = [i for i in results if i != "libomp2" and results[i]]
    if not impls:
        return []
    lines = ["| launch, us (median) | " + " | ".join(impls) + " |", "|---|" + "---|" * len(impls)]
    for key in results[impls[0]]:
        lines.append("| " + " | ".join([key] + [text(results[i].get(key)) for i in impls]) + " |")
    for key, value in results.get("libomp2", {}).items():
        lines.append(f"\nlibomp, 2 threads: {key}: {text(value)} us")
    return lines


def measure_start(setup, args):
    """Milliseconds of a whole process: the program that leaves main at once, plain and under heddle run, and the
    short vecadd with a warm code cache."""
    program = setup.program(args.flavour, "start")
    if not os.path.exists(program) or not os.path.exists(setup.heddle):
        return {}
    commands = {"nothing, plain": [program, "-nothing"],
                "nothing, heddle run": [setup.heddle, "run", program, "-nothing"],
                "vecadd, heddle run": [setup.heddle, "run", program]}
    times = {key: [] for key in commands}
    run(commands["vecadd, heddle run"])  # fills the cache
    for r in range(5 if args.quick else 31):
        progress(f"warm start {r}")
        for key, cmd in commands.items():
            t0 = time.monotonic()
            status, _, _ = run(["taskset", "-c", "0,1"] + cmd)
            if status == 0:
                times[key].append((time.monotonic() - t0) * 1e3)
    progress("")
    return {key: median(values) for key, values in times.items()}


def start_table(results):
    plain, warm = results.get("nothing, plain"), results.get("vecadd, heddle run")
    lines = [f"{key}: {text(value)} ms" for key, value in results.items()]
    if plain and warm:
        lines.append(f"warm start of vecadd adds {warm - plain:.1f} ms")
    return lines


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"))
    p.add_argument("--quick", action="store_true", help="small sizes, one round")
    p.add_argument("--rounds", type=int)
    p.add_argument("--only", default="")
    p.add_argument("--impl", default=",".join(IMPLS))
    p.add_argument("--flavour", default="")
    p.add_argument("--json")
    p.add_argument("--md")
    p.add_argument("--skip", default="")
    p.add_argument("--no-build", action="store_true")
    p.add_argument("--against", help="build folder of another version")
    args = p.parse_args()
    if args.against and args.impl == ",".join(IMPLS):
        args.impl = "was1,cuda1,was2,cuda2"
    args.rounds = args.rounds or (1 if args.quick else 5)
    return args


def main():
    args = parse_args()
    setup = Setup(args.build)
    setup.against = Setup(args.against) if args.against else None
    if not args.flavour:  # nvcc's programs where there is an nvcc, ours otherwise
        args.flavour = "cuda" if shutil.which(os.environ.get("NVCC", "nvcc")) else "cuda-heddle"
    if not args.no_build:
        progress("building the benchmarks")
        status, _, err = run([BENCH + "/build.sh", args.flavour, "ocl", "omp"],
                             {"HEDDLE": setup.heddle, "OUT": setup.out})
        progress("")
        if status:
            print("\n".join(err.strip().splitlines()[-5:]), file=sys.stderr)
    names = [n for n in NAMES if not args.only or n in args.only.split(",")]
    impls = [i for i in args.impl.split(",") if available(setup, i, args.flavour)]
    missing = [i for i in args.impl.split(",") if i not in impls]
    prioritise(-20)
    try:
        results = measure_kernels(setup, args, names, impls)
        launch = {} if "launch" in args.skip else measure_launch(setup, args)
        start = {} if "start" in args.skip else measure_start(setup, args)
    finally:
        prioritise(0)
    table, means = kernel_table(results, impls)
    report = table + [""] + launch_table(launch) + [""] + start_table(start)
    if missing:
        report.append("not measured (not built): " + ", ".join(missing))
    errors = [f"{n} {i}: {c['error']}" for n, row in results.items() for i, c in row.items() if "error" in c]
    print("\n".join(report + errors))
    if args.md:
        with open(args.md, "w", encoding="utf-8") as file:
            file.write("\n".join(report) + "\n")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"flavour": args.flavour, "quick": args.quick, "rounds": args.rounds,
                       "kernels": results, "geomeans": means, "launch": launch, "start": start},
                      file, indent=1)
    bad = [1 for row in results.values() for c in row.values() if c["check"] in ("FAIL", "ERROR")]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
