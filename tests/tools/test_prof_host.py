#!/usr/bin/env python3
"""heddle prof --kernel --host-counters: of threads of the host, also with counters of a processor that a library makes up: test_prof_host.py HEDDLE FAKE"""
import os
import sys
import tempfile

from prof_counters import CounterBench
from support import Tap, write

heddle, fake = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
tap = Tap()
H = "heddle__host_"
SECTION = "HostCounters"
PROGRAM = """
__global__ void fill(int *to) { to[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void meet(int *to) { while (atomicAdd(to, 0) < blockIdx.x); atomicAdd(to, 1); }
int main(int argc, char **)
{
    int *to, blocks = argc > 1 ? 16 : 16384; // with an argument less, for a slow device
    cudaMalloc(&to, 16 << 20);
    for (int i = 0; i < 5; i++)
        fill<<<blocks, 256>>>(to);
    cudaMemset(to, 0, 4);
    meet<<<2, 1>>>(to);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    fill<<<blocks / 2, 256, 0, stream>>>(to);
    fill<<<blocks / 2, 128, 0, stream>>>(to);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaGraphLaunch(exec, stream);
    return cudaDeviceSynchronize();
}
"""


class Host(CounterBench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder)
        self.program = self.build(write(os.path.join(folder, "host.cu"), PROGRAM))

    def prof(self, *args, code=0, words=(), **env):
        return self.count(self.program, *words, options=("--roofline", "none", *args), code=code, **env)

    def values(self):
        """[{metric: value}] of the launches."""
        of = {launch: {} for launch, in self.rows("SELECT launchId FROM HEDDLE_LAUNCHES ORDER BY launchId")}
        for launch, name, value in self.rows(f"SELECT launchId, name, value FROM HEDDLE_METRICS WHERE name LIKE '{H}%'"):
            of[launch][name] = value
        return list(of.values())

    def notes(self):
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'HEDDLE_NOTES'"):
            return []
        return [text for text, in self.rows(f"SELECT text FROM HEDDLE_NOTES WHERE section = '{SECTION}' ORDER BY rowid")]


def test_software(bench):
    """What a thread may always know of itself. The first of five launches touches 16 MiB."""
    bench.prof("--host-counters", "-k", "fill", "-c", "1")
    of, = bench.values()
    tap.eq(of[H + "launches_uncounted.sum"], 4, "of the other four")
    table = bench.rows("SELECT h.* FROM HEDDLE_HOST_COUNTERS h JOIN HEDDLE_LAUNCHES l USING (correlationId, globalPid)")
    tap.ok(len(table) == 1 and table[0][6] > 0, "the counted one, which touches memory first, has page faults", table)
    tap.ok(of[H + "task_clock.sum"] > 0 and 1 <= of[H + "threads.sum"] <= 3, "processor time of threads", of)
    tap.ok(H + "context_switches.sum" in of and H + "page_faults.sum" in of, "switches and faults", of)
    tap.eq(bench.rows("SELECT count(*) FROM HEDDLE_HOST_COUNTERS WHERE threads > 0 AND taskClock > 0")[0][0], 5 + 4, "every launch has a row, but those that wait")
    got = bench.run("prof", "kernels", "--section", SECTION, "report.sqlite").stdout
    tap.ok("Task Clock" in got and "While Counted" not in got, "a section", got)


def test_while_counted(bench):
    bench.prof("--host-counters")
    of = bench.values()
    for i in range(5):
        tap.eq(of[i][H + "launches_uncounted.sum"], 0, "all of them counted")
    tap.ok(len({v[H + "task_clock.sum"] for v in of[:5]}) > 1, "each has its own", of)
    tap.eq(of[5], {}, "blocks that wait for each other: nothing is known")
    notes = bench.notes()
    tap.ok(sum("of code that counts" in note for note in notes) == len(of) - 1 and sum("wait for each other" in note for note in notes) == 1, "told", notes)
    tap.ok("Task Clock (While Counted)" in bench.run("prof", "kernels", "report.sqlite").stdout, "labels say so")


def test_processor(bench):
    """Cycles 1000, instructions 2000, references 100, misses 25, branch misses 7 each time that a thread has worked on a launch."""
    for running, scale in ((100, 1), (25, 4)):
        bench.prof("--host-counters", "-k", "fill", "-c", "1", LD_PRELOAD=fake, FAKE_PERF_RUNNING=str(running))
        rows = bench.rows("SELECT cycles, instructions, cacheReferences, cacheMisses, branchMisses, countedPercent FROM HEDDLE_HOST_COUNTERS")
        times = [row[0] / 1000 / scale for row in rows]
        tap.ok(len(rows) == 9 and all(t >= 1 and t == int(t) for t in times), "each launch at least once", rows)
        tap.eq(rows, [tuple(n * t * scale for n in (1000, 2000, 100, 25, 7)) + (running,) for t in times], f"running {running} % of the time")
        of, = bench.values()
        tap.eq((of[H + "ipc.ratio"], of[H + "llc_miss.pct"], of[H + "counted.pct"]), (2, 25, running), "ratios")
        tap.ok(abs(of[H + "instructions.sum"] - 2 * of[H + "cycles.sum"]) <= 1, "medians", of)
        tap.eq([note for note in bench.notes() if "Scaled" in note], [] if running == 100 else ["Scaled: the processor had counters for some of these for 25.0 % of the time only."], "scaled values say so")


def test_refused(bench):
    paranoid = open("/proc/sys/kernel/perf_event_paranoid").read().strip()
    bench.prof("--host-counters", "-k", "fill", "-c", "1", LD_PRELOAD=fake, FAKE_PERF_ERRNO="13")
    of, = bench.values()
    tap.ok(H + "cycles.sum" not in of and H + "counted.pct" not in of and of[H + "task_clock.sum"] > 0, "not permitted: no cycles, but a clock", of)
    tap.eq(bench.notes(), ["n/a: cycles, instructions, LLC references, LLC misses, branch misses (EACCES: Permission denied); perf_event_paranoid is " + paranoid], "why, in one line")
    bench.prof("--host-counters", "-k", "fill", "-c", "1", LD_PRELOAD=fake, FAKE_PERF_WITHOUT="3")
    of, = bench.values()
    tap.ok(of[H + "llc_references.sum"] > 0 and H + "llc_misses.sum" not in of and H + "llc_miss.pct" not in of and of[H + "branch_misses.sum"] > 0, "one event is missing", of)
    tap.eq(bench.notes(), ["n/a: LLC misses (ENOENT: No such file or directory); perf_event_paranoid is " + paranoid], "only that one")
    bench.prof("--host-counters", "-k", "fill", "-c", "1", LD_PRELOAD=fake, FAKE_PERF_RUNNING="0")
    of, = bench.values()
    tap.ok(H + "cycles.sum" not in of, "never running: not known", of)


def test_unasked(bench):
    bench.prof("-k", "fill", "-c", "1")
    tap.eq(bench.values(), [{}], "not asked: none")
    tap.eq(bench.rows("SELECT name FROM sqlite_master WHERE name IN ('HEDDLE_HOST_COUNTERS', 'HEDDLE_NOTES')"), [], "nor tables of them")
    got = bench.run("prof", "--host-counters", bench.program)
    tap.ok(got.returncode == 2 and "--kernel" in got.stderr, "belongs to --kernel", got.stderr)
    bench.prof("--host-counters", "-k", "fill", "-c", "1", words=["small"], HEDDLE_DEVICE="interp", HEDDLE_CACHE="off")
    of, = bench.values()
    tap.eq((of[H + "launches_uncounted.sum"], of[H + "threads.sum"]), (4, 1), "the reference device has one thread")


with tempfile.TemporaryDirectory() as top:
    b = Host(top)
    for test in (test_software, test_while_counted, test_processor, test_refused, test_unasked):
        test(b)
tap.done()
