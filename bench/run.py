#!/usr/bin/env python3
"""Compares the CPU device with PoCL, with C + OpenMP and with what the machine can do: tables beside their targets.

    bench/run.py [--build DIR] [--quick] [--rounds N] [--only a,b] [--skip a,b] [--impl i,j] [--json F] [--md F]
                 [--flavour cuda|cuda-static|cuda-heddle] [--no-build] [--against DIR]

Tables: kernels, floor, matrices (and attention), compile, launch, copies. --only and --skip take names of tables and of
kernels: `--only floor,saxpy`.

Implementations, each with 1 and 2 threads (pinned to CPU 0, or 0 and 1):
    cuda1 cuda2   the CUDA programs on the CPU device (heddle run)
    pocl1 pocl2   the same in OpenCL on PoCL; kernels that OpenCL cannot express have none
    base1 base2   C + OpenMP, clang -O3 -march=native
    best1 best2   the same with -mprefer-vector-width=512 -ffast-math
    was1 was2     the CUDA programs with the build of --against, before and after a change: kernels and launches
Every round runs all implementations of a kernel one after the other; the tables show medians over rounds and
ratios of those. The first round checks all results. The other tables (tables/) follow, each with runs of its own; a
target that is missed is printed as such and fails nothing.
"""
import argparse
import json
import os
import shutil
import sys

import kernels
from kernels import BENCH, NAMES, Setup, result_line, run
from tables import TABLES, machine
from tables.common import Bench, Table, geomean, median, missing, progress, ratio

IMPLS = ["cuda1", "pocl1", "base1", "best1", "cuda2", "pocl2", "base2", "best2"]
# (repetitions, warm-ups) where one run of PoCL takes long
SLOW = {"sgemm_naive": (1, 1), "sgemm_tiled16": (3, 1), "sgemm_tiled32": (3, 1), "sgemm_reg": (5, 1),
        "nbody": (5, 1), "mandelbrot": (5, 1), "blackscholes": (5, 1)}
# name, slower over faster
RATIOS = [("cuda/was 1T", "cuda1", "was1"), ("cuda/was 2T", "cuda2", "was2"),
          ("PoCL/cuda 1T", "pocl1", "cuda1"), ("PoCL/cuda 2T", "pocl2", "cuda2"),
          ("cuda/best 1T", "cuda1", "best1"), ("cuda/best 2T", "cuda2", "best2")]


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


def fill_cache(setup, args, names):
    """Best code, which a short process would not live to see: every kernel is measured in its own."""
    for n in names:
        progress(f"compiling: {n}")
        cmd, env = command(setup, "cuda1", n, args.flavour, True)
        run(cmd + kernels.quick_args(n) + ["-n"], {**env, "HEDDLE_DEBUG": "sync"})


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


def kernel_table(results, impls):
    ratios = [r for r in RATIOS if r[1] in impls and r[2] in impls]
    head = ["kernel"] + [f"{i} ms" for i in impls] + [r[0] for r in ratios] + ["checks"]
    table = Table("Kernels beside C + OpenMP and PoCL", head, results)
    columns = {r[0]: [] for r in ratios}
    for n, row in results.items():
        ms = {i: median(row[i]["ms"]) for i in impls}
        cells = [n] + [ms[i] for i in impls]
        for title, slow, fast in ratios:
            value = ratio(ms[slow], ms[fast])
            cells.append(value)
            if value:
                columns[title].append(value)
        bad = [f"{i} {row[i]['check']}" for i in impls if implemented(i, n) and row[i]["check"] != "PASS"]
        table.add(*cells, ", ".join(bad) or "all PASS")
    means = {k: geomean(v) for k, v in columns.items()}
    table.add("geometric mean", *[""] * len(impls), *means.values(), "")
    return table, means


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


def build(setup, args, tables):
    """What cannot be built is missing in the tables, which say so."""
    wanted = {target for t in tables for target in getattr(t, "BUILDS", ())}
    if args.kernels:
        wanted |= {"ocl", "omp"}
    progress("building the benchmarks")
    status, _, err = run([BENCH + "/build.sh", args.flavour, *sorted(wanted)],
                         {"HEDDLE": setup.heddle, "OUT": setup.out}, timeout_s=1800)
    progress("")
    if status:
        print("\n".join(err.strip().splitlines()[-5:]), file=sys.stderr)


def compare_kernels(setup, args, names):
    """The table, the JSON file's part, and whether all results were right."""
    impls = [i for i in args.impl.split(",") if available(setup, i, args.flavour)]
    absent = [i for i in args.impl.split(",") if i not in impls]
    results = measure_kernels(setup, args, names, impls)
    table, means = kernel_table(results, impls)
    if absent:
        table.notes.append("not measured (not built): " + ", ".join(absent))
    table.notes += [f"{n} {i}: {c['error']}" for n, row in results.items() for i, c in row.items() if "error" in c]
    bad = any(c["check"] in ("FAIL", "ERROR") for row in results.values() for c in row.values())
    return table, {"kernels": results, "geomeans": means}, not bad


def measure_table(module, bench):
    """A table that cannot be made takes no other with it."""
    try:
        return module.measure(bench)
    except (OSError, ValueError, ArithmeticError, LookupError) as error:
        return [missing(module.TITLE, f"{type(error).__name__}: {error}")]
    finally:
        progress("")


def choose(args):
    """Names of kernels and modules of tables; without kernels in --only, a table of kernels has all of them."""
    only, skip = [[w for w in words.split(",") if w] for words in (args.only, args.skip)]
    known = list(NAMES) + ["kernels"] + [t.NAME for t in TABLES]
    unknown = [w for w in only + skip if w not in known]
    if unknown:
        raise SystemExit(f"no such table or kernel: {', '.join(unknown)} (there are {', '.join(known)})")
    names = [n for n in NAMES if n in only] or [n for n in NAMES if n not in skip]
    args.kernels = "kernels" not in skip and (not only or any(w in only for w in NAMES + ["kernels"]))
    wanted = only or (["launch"] if args.against else [t.NAME for t in TABLES])
    return names, [t for t in TABLES if t.NAME in wanted and t.NAME not in skip]


def write_files(args, bench, host, tables, values):
    lines = [line for t in tables for line in t.markdown()]
    if args.md:
        with open(args.md, "w", encoding="utf-8") as file:
            file.write("\n".join(["# Heddle's benchmarks", "", *machine.markdown(host), ""] + lines) + "\n")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"machine": host, "flavour": args.flavour, "quick": args.quick, "rounds": bench.rounds,
                       **values}, file, indent=1)


def main():
    args = parse_args()
    setup = Setup(args.build)
    setup.against = Setup(args.against) if args.against else None
    if not args.flavour:  # nvcc's programs where there is an nvcc, ours otherwise
        args.flavour = "cuda" if shutil.which(os.environ.get("NVCC", "nvcc")) else "cuda-heddle"
    names, modules = choose(args)
    if not args.no_build:
        build(setup, args, modules)
    bench = Bench(setup, args.flavour, args.quick, args.rounds, names)
    host, tables, values, right = machine.describe(setup), [], {}, True
    print("\n".join(machine.plain(host)) + "\n", flush=True)
    prioritise(-20)
    try:
        if args.kernels or any(m.NAME == "floor" for m in modules):
            for version in filter(None, (setup.against, setup)):
                fill_cache(version, args, names)
        if args.kernels:
            table, values, right = compare_kernels(setup, args, names)
            tables.append(table)
            print("\n".join(table.plain()), flush=True)
        for module in modules:
            made = measure_table(module, bench)
            values[module.NAME] = {t.title: t.values for t in made}
            tables += made
            print("\n".join(line for t in made for line in t.plain()), flush=True)
    finally:
        prioritise(0)
    write_files(args, bench, host, tables, values)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
