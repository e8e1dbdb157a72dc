#!/usr/bin/env python3
"""heddle prof --kernel: counters agree with values computed by hand, on every device and level: test_prof_kernel.py HEDDLE"""
import csv
import io
import json
import os
import sys
import tempfile

from support import Tap
from prof_counters import HERE, CounterBench

heddle = os.path.abspath(sys.argv[1])
tap = Tap()

INST, THREADS, ON = "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "smsp__thread_inst_executed_pred_on.sum"
OP = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
REQUESTS, SECTORS = "l1tex__t_requests_pipe_lsu_mem_{}_op_{}.sum", "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared{}.sum"
BRANCHES, DIVERGENT = "smsp__inst_executed_op_branch.sum", "heddle__branches_divergent.sum"
EFFICIENCY = "smsp__sass_average_branch_targets_threads_uniform.pct"
IDEAL = "memory_l2_theoretical_sectors_global_ideal"


def banks(ways):
    """Four warps store, load and store, `ways` words of the same bank each: 8 instructions each."""
    return {INST: 32, CONFLICTS.format(""): 12 * (ways - 1), CONFLICTS.format("_op_ld"): 4 * (ways - 1), CONFLICTS.format("_op_st"): 8 * (ways - 1),
            WAVEFRONTS.format(""): 12 * ways, "heddle__requests_mem_shared.sum": 12, "heddle__bytes_mem_shared.sum": 12 * 128,
            "heddle__inst_executed_op_barrier.sum": 4}


# Kernel, grid, block: what the launch counts, by hand from counters.ptx. Two blocks of 64 threads are four warps.
EXPECTED = {
    ("coalesced", 2, 64): {INST: 4 * 8, THREADS: 128 * 8, ON: 128 * 8, OP.format("fadd"): 128, "heddle__flop_sp.sum": 128, OP.format("integer"): 256,
                           OP.format("memory"): 3 * 128, OP.format("control"): 128, REQUESTS.format("global", "ld"): 4, SECTORS.format("global", "ld"): 16,
                           REQUESTS.format("global", "st"): 4, SECTORS.format("global", "st"): 16, IDEAL: 32, "heddle__bytes_mem_global.sum": 1024,
                           "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": 4, "launch__thread_count": 128,
                           "heddle__lane_efficiency.pct": 100, "launch__block_size": 64, "launch__grid_size": 2},
    # 40 threads: the second warp has 8, which need one sector.
    ("coalesced", 1, 40): {INST: 2 * 8, THREADS: 40 * 8, SECTORS.format("global", "ld"): 4 + 1, REQUESTS.format("global", "ld"): 2,
                           "smsp__thread_inst_executed_per_inst_executed.ratio": 20, "heddle__bytes_mem_global_op_ld.sum": 160},
    ("strided", 2, 64): {INST: 32, SECTORS.format("global", "ld"): 4 * 32, SECTORS.format("global", "st"): 4 * 32, IDEAL: 2 * 4 * 8,
                         OP.format("dfma"): 128, "heddle__flop_dp.sum": 256, "derived__memory_l2_theoretical_sectors_global_excessive": 2 * 4 * 24},
    ("misaligned", 2, 64): {INST: 28, SECTORS.format("global", "ld"): 4 * 5, SECTORS.format("global", "st"): 4 * 5, IDEAL: 2 * 4 * 4},
    ("banks2", 2, 64): banks(2),
    ("banks8", 2, 64): banks(8),
    ("banks32", 2, 64): banks(32),
    # 16 bytes for each lane: four passes, none of them a conflict.
    ("wide", 2, 64): {CONFLICTS.format(""): 0, WAVEFRONTS.format(""): 12 * 4},
    ("broadcast", 2, 64): {INST: 28, SECTORS.format("global", "ld"): 4, REQUESTS.format("global", "ld"): 4, CONFLICTS.format(""): 0,
                           WAVEFRONTS.format("_op_ld"): 4, WAVEFRONTS.format("_op_st"): 4},
    # 8 of 32 lanes take the branch, the others come to the next one.
    ("divergent", 2, 64): {INST: 4 * (8 + 2 + 2 + 2), THREADS: 4 * (8 * 32 + 2 * 24 + 2 * 8 + 2 * 32), ON: 4 * (7 * 32 + 8 + 2 * 24 + 2 * 8 + 2 * 32),
                           BRANCHES: 8, DIVERGENT: 4, EFFICIENCY: 50, OP.format("fadd"): 4 * 24, OP.format("fmul"): 4 * 16},
    # Lanes make 1 to 8 turns: 8 turns of the warp, of 32, 28, 24 .. 4 lanes, all but the last of which part.
    ("turns", 2, 64): {INST: 4 * (4 + 8 * 3 + 4), THREADS: 4 * (4 * 32 + 144 * 3 + 4 * 32), BRANCHES: 4 * 8, DIVERGENT: 4 * 7},
    ("atomics", 2, 64): {INST: 28, REQUESTS.format("global", "red"): 4, SECTORS.format("global", "red"): 4, REQUESTS.format("global", "atom"): 4,
                         SECTORS.format("global", "atom"): 16, "heddle__atomic_passes.sum": 4 * 32 + 4, "heddle__requests_atomic.sum": 8,
                         "heddle__atomic_contention.ratio": 16.5},
    # Word tid % 4 of each lane: 4 words of 8 sectors with 2 lanes of each; then the same word of all.
    ("locals", 2, 64): {INST: 44, REQUESTS.format("local", "st"): 8, REQUESTS.format("local", "ld"): 4, SECTORS.format("local", "st"): 4 * (16 + 4),
                        SECTORS.format("local", "ld"): 4 * 16, "heddle__bytes_mem_local.sum": 12 * 128, SECTORS.format("global", "st"): 4},
    ("barriers", 2, 64): {INST: 4 * (2 + 5 * 4), "heddle__inst_executed_op_barrier.sum": 20, BRANCHES: 20, DIVERGENT: 0, EFFICIENCY: 100},
    # 8 of 64 threads have the guard: the second warp of each block is gone behind the first return.
    ("guarded", 2, 64): {INST: 2 * (6 + 4) + 2 * 6, THREADS: 2 * (6 * 32 + 4 * 8) + 2 * 6 * 32, ON: 2 * (4 * 32 + 8 + 24 + 4 * 8) + 2 * (4 * 32 + 0 + 32),
                         REQUESTS.format("global", "st"): 2, SECTORS.format("global", "st"): 2},
    ("product", 2, 64): {INST: 24, "heddle__inst_executed_op_tensor.sum": 4},
    ("generic", 2, 64): {INST: 40, REQUESTS.format("global", "ld"): 4, SECTORS.format("global", "ld"): 16, WAVEFRONTS.format("_op_st"): 4,
                         CONFLICTS.format(""): 0},
}
LAUNCHES = [f"{name}:{grid}:{block}" for name, grid, block in EXPECTED]


class Counters(CounterBench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder)
        self.program = self.build(os.path.join(HERE, "counters.cu"), "-lcuda")

    def prof(self, *args, launches=LAUNCHES, code=0, **env):
        return self.count(self.program, os.path.join(HERE, "counters.ptx"), *launches, options=args, code=code, **env)


def test_by_hand(bench):
    bench.prof()
    got = bench.values()
    tap.eq([name for name, _ in got], [name for name, _, _ in EXPECTED], "launches in their order")
    for (name, _, block), (_, of) in zip(EXPECTED, got):
        want = EXPECTED[name, 1 if block == 40 else 2, block]
        tap.eq({k: of.get(k) for k in want}, want, f"{name}, blocks of {block}")
    tap.eq([of[INST] > 0 and of["gpu__time_duration.sum"] > 0 for _, of in got], [True] * len(got), "each has a duration")
    tap.eq(bench.rows("SELECT count(*) FROM HEDDLE_LAUNCHES h JOIN CUPTI_ACTIVITY_KIND_KERNEL k USING (correlationId) WHERE h.start = k.start "
                      "AND h.end = k.end AND h.gridX = k.gridX AND h.streamId = k.streamId"), [(len(got),)], "each is a kernel of the recording")


def test_sums(bench):
    sums = {(launch, name): value for launch, name, value in
            bench.rows("SELECT launchId, name, sum(value) FROM HEDDLE_SOURCE_METRICS GROUP BY launchId, name")}
    wrong = [(launch, name, value) for launch, name, value in bench.rows("SELECT launchId, name, value FROM HEDDLE_METRICS")
             if (launch, name) in sums and sums[launch, name] != value]
    tap.eq(wrong, [], "lines add up to the launch's values")
    tap.ok(len(sums) > 10 * len(LAUNCHES), "there are lines")
    lines = bench.rows("SELECT line, value FROM HEDDLE_SOURCE_METRICS WHERE launchId = 0 AND name = 'smsp__inst_executed.sum' ORDER BY line")
    tap.eq([line for line, _ in lines], list(range(11, 19)), "without .loc they are the PTX's")


def test_devices(bench):
    bench.same_everywhere(lambda **env: bench.prof(**env), "all kernels")


def test_filters(bench):
    def names(*args):
        bench.prof(*args)
        return [name for name, _ in bench.values()]
    tap.eq(names("-k", "strided"), ["strided"], "--kernel-name")
    tap.eq(names("-k", "regex:^banks"), ["banks2", "banks8", "banks32"], "an expression")
    tap.eq(names("-s", "3", "-c", "2"), ["misaligned", "banks2"], "--launch-skip, --launch-count")
    tap.eq(names("-k", "regex:banks", "--launch-skip", "1", "--launch-count", "1"), ["banks8"], "together")
    got = bench.prof("-k", "nobody", code=0)
    tap.ok("no launch was counted" in got.stderr, "nothing was counted", got.stderr)


def test_pages(bench):
    got = bench.prof("-k", "coalesced", "-c", "1")
    for text in ("coalesced (2, 1, 1)x(64, 1, 1)", "Section: Launch Statistics", "Executed Instructions",
                 "n/a (only a device that works cycle by cycle knows it): Compute (SM) Throughput", "n/a (only a device with caches knows it): L1/TEX Hit Rate",
                 "n/a (Branch Instructions: 0): Branch Efficiency", "Duration (While Counted)", "Single Precision Rate (While Counted)"):
        tap.ok(text in got.stdout, f"details: {text}", got.stdout)
    show = lambda *args: bench.run("prof", "kernels", *args, "report.sqlite").stdout
    rows = list(csv.reader(io.StringIO(show("--csv"))))
    tap.eq(rows[0][:5] + rows[0][11:15], ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Section Name", "Metric Name", "Metric Unit",
                                           "Metric Value"], "columns of the details")
    tap.eq([row[14] for row in rows if row[12] == "Executed Instructions"], ["32"], "a row for each metric")
    tap.ok(all(len(row) == len(rows[0]) == 20 for row in rows), "each has all columns")
    rows = list(csv.reader(io.StringIO(show("--csv", "--page", "raw", "--metrics", f"{INST},{ON}"))))
    tap.eq([row[11:] for row in rows], [[INST, ON], ["inst", "inst"], ["32", "1024"]], "raw: names, units, values")
    tap.eq(json.loads(show("--json", "--section", "LaunchStats"))[0]["metrics"]["launch__block_size"], 64, "JSON")
    ratio = "smsp__sass_average_branch_targets_threads_uniform.pct"
    tap.eq({row[12]: row[14:18] for row in csv.reader(io.StringIO(show("--csv"))) if row[12] == "Branch Efficiency"},
           {"Branch Efficiency": ["n/a", "", "", "Branch Instructions: 0"]}, "why a ratio has no value: CSV")
    rows = list(csv.reader(io.StringIO(show("--csv", "--page", "raw", "--metrics", ratio))))
    tap.eq(rows[2][11:], ["n/a (Branch Instructions: 0)"], "raw CSV")
    tap.eq(json.loads(show("--json", "--metrics", f"{ratio},sm__cycles_active.avg"))[0]["missing"],
           {ratio: "Branch Instructions: 0", "sm__cycles_active.avg": "only a device that works cycle by cycle knows it"}, "JSON")
    lines = list(csv.DictReader(io.StringIO(show("--csv", "--page", "source"))))
    tap.eq((len(lines), {line["Executed Instructions"] for line in lines}), (8, {"4"}), "source: a row for each line")


def test_errors(bench):
    for args, what in ((("--metrics", "nothing"), "no metric 'nothing'"), (("--section", "Nothing"), "no section 'Nothing'"),
                       (("--page", "first"), "--page"), (("-k", "regex:("), "--kernel-name"), (("-c", "0"), "--launch-count"), (("-s", "x"), "--launch-skip")):
        got = bench.prof(*args, code=2)
        tap.ok(what in got.stderr, f"{' '.join(args)}: told", got.stderr)
    got = bench.run("prof", "-k", "x", bench.program)
    tap.ok(got.returncode == 2 and "--kernel" in got.stderr, "-k without --kernel", got.stderr)
    got = bench.run("run", bench.program, os.path.join(HERE, "counters.ptx"), HEDDLE_COUNT="what;dir=.")
    tap.ok(got.returncode != 0 and "HEDDLE_COUNT" in got.stderr, "a malformed variable", got.stderr)
    tap.ok("smsp__inst_executed.sum" in bench.run("prof", "--query-metrics").stdout, "--query-metrics")
    tap.ok("InstructionStats" in bench.run("prof", "--list-sections").stdout, "--list-sections")


with tempfile.TemporaryDirectory() as top:
    b = Counters(top)
    for test in (test_by_hand, test_sums, test_devices, test_filters, test_pages, test_errors):
        test(b)
tap.done()
