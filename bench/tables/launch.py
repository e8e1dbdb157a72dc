"""What a launch costs, whether kernels come forward by themselves, and what an idle context costs."""
import os

from .common import JUDGED, Table, judged, lines_of, median, missing, pin, progress
from kernels import BENCH, run

NAME, TITLE = "launch", "Launch latency, microseconds"
BUILDS = ["ocl", "omp", "native"]

# Microseconds, one thread: the launch call alone, and launched and waited for.
TARGETS = {"enqueue 1x32": 0.28, "sync 1x32": 0.36, "enqueue 64x256": 0.6, "sync 64x256": 0.9}
PROGRESS_US = 100
IDLE = 0.001  # CPU seconds in a second: nothing, as far as a clock can tell


def shapes(result):
    """{"enqueue 1x32": microseconds}"""
    rows = [line.split(",") for line in result[1].splitlines()]
    return {f"{row[0]} {row[1]}x{row[2]}": float(row[3]) for row in rows if len(row) == 4}


def pocl(bench, threads):
    program = bench.built("ocl")
    env = {"POCL_MAX_PTHREAD_COUNT": str(threads), "POCL_AFFINITY": "1", "CLDIR": BENCH + "/ocl",
           "POCL_CACHE_DIR": os.path.join(bench.setup.out, "pocl_cache")}
    return shapes(run(pin(threads) + [program, "launch"], env)) if program else {}


def latency(bench, program):
    quick, rounds = ["-q"] if bench.quick else [], 2 if bench.quick else bench.rounds
    builds = {"was": bench.setup.against, "cuda": bench.setup}
    ways = {f"{name}{threads}": (lambda t=threads, s=setup: shapes(bench.run_cuda(program, quick, t, setup=s)))
            for name, setup in builds.items() if setup for threads in (1, 2)}
    ways.update({"pocl1": lambda: pocl(bench, 1), "pocl2": lambda: pocl(bench, 2)})
    times = {way: {} for way in ways}
    for r in range(rounds):
        for way, measure_way in ways.items():
            progress(f"launch latency, round {r + 1} of {rounds}: {way}")
            for what, us in (measure_way() if r == 0 or not way.startswith("pocl") else {}).items():
                times[way].setdefault(what, []).append(us)
    return {way: {what: median(us) for what, us in row.items()} for way, row in times.items()}


def latency_table(bench, program):
    values = latency(bench, program)
    table = Table(TITLE, ["launch", *values, *JUDGED], values)
    for what, us in values["cuda1"].items():
        table.add(what, *[row.get(what) for row in values.values()], *judged(us, TARGETS.get(what)))
    table.notes.append("targets are for one thread; enqueue: the call alone; sync: launched and waited for; "
                       "touch_sync: the same of a kernel with an addition per thread")
    return table


def fork_join(bench):
    program = bench.built("omp_launch")
    if not program:
        return []
    rows = [line.split(",") for line in bench.run_host(program, threads=2)[1].splitlines()]
    return [f"libomp, 2 threads: fork-join, idle {row[2]} us: {row[3]} us" for row in rows if len(row) == 4]


def native_table(bench, program):
    """Of a kernel that does nothing, in bursts of one program: the kinds in turns, and the builds."""
    builds = {name: setup for name, setup in (("was1", bench.setup.against), ("cuda1", bench.setup)) if setup}
    times = {name: {} for name in builds}
    for r in range(1 if bench.quick else bench.rounds):
        for name, setup in builds.items():
            progress(f"native kernels, round {r + 1}: {name}")
            for what, ns, *_ in (line.split(",") for line in bench.run_cuda(program, [], 1, setup=setup)[1].splitlines()):
                times[name].setdefault(what, []).append(float(ns))
    values = {name: {what: median(ns) for what, ns in row.items()} for name, row in times.items()}
    table = Table("Launches of a compiled and of native kernels, ns each in bursts of 64", ["kind", *values], values)
    for what in values["cuda1"]:
        table.add(what, *[row.get(what) for row in values.values()])
    return table


def progress_table(bench, program):
    progress("progress without calls")
    result = bench.run_cuda(program, ["-q"] if bench.quick else [], 2)
    rows = [line.split(",") for line in result[1].splitlines()]
    table = Table("Kernels that nobody waits for, and idle contexts", ["what", "median", "worst", "check", *JUDGED],
                  rows)
    for row in rows:
        if row[0] == "progress":
            us = float(row[3])
            table.add(f"seen by the host, {row[1]}x{row[2]}, us", us, float(row[4]), row[5], *judged(us, PROGRESS_US))
    idle = lines_of(result, 2).get("idle")
    if idle:
        table.add("idle context, CPU s per s", f"{float(idle[0]):.6f}", "", "", *judged(float(idle[0]), IDLE))
    return table


def measure(bench):
    program, waiting = bench.built(bench.flavour, "launch"), bench.built(bench.flavour, "progress")
    if not program or not waiting or not bench.heddle():
        return [missing(TITLE, f"bench/out/{bench.flavour}/launch or progress is not built")]
    table = latency_table(bench, program)
    table.notes += fork_join(bench)
    native = bench.built("native")
    return [table] + ([native_table(bench, native)] if native else []) + [progress_table(bench, waiting)]
