#!/usr/bin/env python3
"""heddle prof --sample: where host code spends its time, with stacks: test_prof_sample.py HEDDLE

Shares are of processor time, and programs use as much of it as they say, so a busy machine changes nothing but how long it takes."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from support import Bench, Tap, message

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample.cu")


def function(frame):
    """Its name, without parameters and what compilers add to a copy of it."""
    return frame.split("(")[0].split(" ")[-1].split(".")[0]


class Report:
    """Samples of a report: [(thread, weight, [function, innermost first])]."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.samples = []
        if not self.db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'COMPOSITE_EVENTS'").fetchone()[0]:
            return
        at = {}
        for sample, thread, weight in self.db.execute("SELECT id, globalTid, cpuCycles FROM COMPOSITE_EVENTS ORDER BY id"):
            at[sample] = len(self.samples)
            self.samples.append((thread, weight, []))
        for sample, name in self.db.execute("SELECT c.id, value FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol ORDER BY c.id, stackDepth"):
            self.samples[at[sample]][2].append(name)

    def total(self):
        return sum(weight for _, weight, _ in self.samples)

    def share(self, *names):
        """Of the samples' time, what was in a function called by the next one and so on, or in what these called."""
        inside = 0
        for _, weight, stack in self.samples:
            rest = list(names)
            for frame in stack:
                if rest and function(frame) == rest[0]:
                    rest.pop(0)
            inside += 0 if rest else weight
        return inside / max(1, self.total())

    def reach(self, root):
        """The share of whole stacks, which end there."""
        return sum(weight for _, weight, stack in self.samples if root in stack) / max(1, self.total())


class Programs(Bench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder)
        self.program = self.build(SOURCE)

    def sample(self, mode, *args, code=0, program=None):
        name = "mode-" + mode
        got = self.run("prof", "-f", "-o", name, "--sample", *args, program or self.program, mode)
        tap.ok(got.returncode == code, f"{mode}: the program's status", f"{got.returncode}, not {code}: {got.stdout[-500:]}{got.stderr[-1500:]}")
        return Report(os.path.join(self.folder, name + ".sqlite"))


def near(have, want):
    return abs(have - want) < 0.15


def test_hot(bench):
    r = bench.sample("hot", "--export", "chrome,perfetto")
    f, g = r.share("spin", "hot_f", "main"), r.share("spin", "hot_g", "main")
    tap.ok(near(f, 0.7) and near(g, 0.3), "shares of functions, called from main()", f"{f} {g} of {len(r.samples)}")
    tap.ok(near(r.total() / 1e9, 1.0) or r.total() > 1e9, "the time is the program's", str(r.total()))
    tap.ok(r.reach("_start") > 0.9, "stacks are whole", str(r.samples[:3]))
    states = r.db.execute("SELECT DISTINCT label FROM COMPOSITE_EVENTS JOIN ENUM_SAMPLING_THREAD_STATE e ON e.id = threadState").fetchall()
    tap.eq(states, [("Running",)], "a thread that is sampled runs")
    orphans = r.db.execute("SELECT count(*) FROM SAMPLING_CALLCHAINS WHERE id NOT IN (SELECT id FROM COMPOSITE_EVENTS)").fetchone()[0]
    gaps = r.db.execute("SELECT count(*) FROM (SELECT count(*) n, max(stackDepth) d FROM SAMPLING_CALLCHAINS GROUP BY id) WHERE n <> d + 1").fetchone()[0]
    tap.eq((orphans, gaps), (0, 0), "each frame has a sample and a place in its stack")
    end, = r.db.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()
    tap.eq(r.db.execute("SELECT count(*) FROM COMPOSITE_EVENTS WHERE start < 0 OR start > ?", (end,)).fetchone()[0], 0, "samples are inside the recording")
    tap.eq(r.db.execute("SELECT count(*), count(DISTINCT globalTid) FROM ThreadNames WHERE globalTid IN (SELECT globalTid FROM COMPOSITE_EVENTS)").fetchone(),
           (1, 1), "the thread has one name")
    tap.eq(r.db.execute("SELECT count(*) FROM PROCESSES").fetchone()[0], 1, "and is of one process")
    text = bench.run("prof", "stats", "mode-hot.sqlite").stdout
    tap.ok("(host_samples_sum):" in text and "(host_samples_tree):" in text, "reports have the samples", text)
    got = json.loads(bench.run("prof", "stats", "--json", "-r", "host_samples_sum,host_samples_tree", "mode-hot.sqlite").stdout)
    rows = {function(row["Function"]): row for row in got["host_samples_sum"]}
    tap.ok(rows["spin"]["Self (%)"] > 50 and rows["main"]["Total (%)"] > 90 and rows["main"]["Self (%)"] < 10 and rows["hot_f"]["Total (%)"] > rows["hot_g"]["Total (%)"],
           "by function", str(got["host_samples_sum"]))
    tree = [(row["Depth"], function(row["Call Tree"].strip()), row["Total (%)"]) for row in got["host_samples_tree"]]
    main = next(i for i, row in enumerate(tree) if row[1] == "main")
    below = [row for row in tree[main + 1:] if row[0] == tree[main][0] + 1]
    tap.eq([row[1] for row in below[:2]], ["hot_f", "hot_g"], "by calls, the largest first")
    totals = []
    for depth, _, share in tree:
        totals[depth:] = [share]
        tap.ok(depth == 0 or share <= totals[depth - 1] + 0.2, "a call has no more than its caller", str(tree)) if depth and share > totals[depth - 1] + 0.2 else None


def test_traces(bench):
    want = Report(os.path.join(bench.folder, "mode-hot.sqlite")).samples
    with open(os.path.join(bench.folder, "mode-hot.json")) as file:
        trace = json.load(file)
    frames, stacks = trace["stackFrames"], []
    for sample in trace["samples"]:
        at, stack = sample["sf"], []
        while at:
            stack.append(frames[at]["name"])
            at = frames[at].get("parent")
        stacks.append((sample["tid"], sample["weight"], stack))
    tap.eq(stacks, [(thread & 0xffffff, weight, stack) for thread, weight, stack in want], "Chrome: samples with their stacks")
    tap.ok(all(frame["category"] for frame in frames.values()), "and modules")
    with open(os.path.join(bench.folder, "mode-hot.perfetto-trace"), "rb") as file:
        packets = [message(packet) for packet in message(file.read())[1]]
    names, frames, modules, stacks, got = {}, {}, {}, {}, []
    for packet in (packet for packet in packets if 66 in packet):
        for interned in map(message, packet.get(12, [])):
            names.update((row[1][0], row[2][0].decode()) for row in map(message, interned.get(5, [])))
            modules.update((row[1][0], row[7][0]) for row in map(message, interned.get(19, [])))
            frames.update((row[1][0], (row[2][0], row[3][0])) for row in map(message, interned.get(6, [])))
            stacks.update((row[1][0], row[2]) for row in map(message, interned.get(7, [])))
        sample = message(packet[66][0])
        got.append((sample[3][0], sample[6][0], [names[frames[frame][0]] for frame in reversed(stacks[sample[4][0]])]))
    tap.eq(got, [(thread & 0xffffff, weight, stack) for thread, weight, stack in want], "Perfetto: the same")
    first = next(packet for packet in packets if 66 in packet)
    tap.ok(first[13] == [3] and all(module in modules for _, module in frames.values()), "its tables begin with the first sample", str(first))


def test_nothing(bench):
    got = bench.run("prof", "-f", "-o", "none", bench.program, "hot")
    r = Report(os.path.join(bench.folder, "none.sqlite"))
    tap.ok(got.returncode == 0 and not r.samples and "host_samples" not in bench.run("prof", "stats", "none.sqlite").stdout, "unasked, nothing is sampled", got.stderr)
    for args in (("--sample=0",), ("--sample=10001",), ("--sample=x",), ("--sample", "--sample-depth", "0"), ("--sample", "--sample-depth", "961"),
                 ("--sample-depth", "3")):
        tap.eq(bench.run("prof", *args, bench.program).returncode, 2, f"{' '.join(args)} is refused")


def test_threads(bench):
    r = bench.sample("threads")
    long, short = r.share("in_thread"), r.share("in_short")
    tap.ok(long > 0.35 and short > 0.1, "threads, those that end soon too", f"{long} {short} of {len(r.samples)}")
    tap.ok(len({thread for thread, _, stack in r.samples if "in_thread" in map(function, stack)}) == 3, "whose they are")
    r = bench.sample("fork")
    tap.ok(near(r.share("in_child", "main"), 0.74), "children of fork()", f"{r.share('in_child', 'main')} of {len(r.samples)}")
    tap.eq((r.db.execute("SELECT count(*) FROM PROCESSES").fetchone()[0], len({thread for thread, _, _ in r.samples})), (3, 3), "are processes")
    r = bench.sample("exec")
    tap.ok(near(r.share("hot_f"), 0.7 * 0.92) and r.share("hot_g") > 0.2, "exec()", f"{r.share('hot_f')} {r.share('hot_g')}")
    r = bench.sample("exit", code=7)
    tap.ok(r.share("in_thread") > 0.3 and r.share("hot_f") > 0.01, "exit() beside threads that run", f"{r.share('in_thread')} of {len(r.samples)}")


def test_signals(bench):
    r = bench.sample("signals")
    tap.ok(r.share("hot_f", "main") > 0.5, "beside SIGPROF, SIGSEGV and real-time signals of the program's", str(r.share("hot_f", "main")))
    r = bench.sample("masked")
    tap.ok(r.share("in_masked") > 0.4 and r.share("hot_f", "main") > 0.2, "threads that block all signals", f"{r.share('in_masked')} {r.share('hot_f', 'main')}")
    r = bench.sample("exec-masked")
    tap.ok(near(r.share("hot_f", "main"), 0.7), "and processes that are started so", str(r.share("hot_f", "main")))
    r = bench.sample("reset")
    tap.ok(r.share("hot_f", "main") > 0.8, "a program that sets all signals to their defaults", str(r.share("hot_f", "main")))
    r = bench.sample("handler")
    tap.ok(r.share("in_handler", "on_alarm", "main") > 0.8, "through a handler of the program's", str(r.samples[:1]))
    bench.sample("waits")
    bench.sample("locks")


def test_stacks(bench):
    r = bench.sample("deep", "--sample-depth", "40")
    cut = [stack for _, _, stack in r.samples if stack[-1] == "[truncated at 40 frames]"]
    tap.ok(len(cut) > 0.8 * len(r.samples) and all(len(stack) == 41 for stack in cut), "a stack that is cut says so", str(r.samples[:1]))
    tree = bench.run("prof", "stats", "-r", "host_samples_tree", "mode-deep.sqlite").stdout
    tap.ok("[truncated at 40 frames]" in tree and sum("deep" in line for line in tree.splitlines()[5:]) == 1, "functions that call themselves are one line", tree)
    r = bench.sample("context")
    tap.ok(r.share("spin", "in_context") > 0.8, "on a stack of the program's making", str(r.samples[:1]))
    if not shutil.which("strip") or bench.variant.builder == "static":
        tap.skip("stripped: no strip, or a static runtime, which is found by its symbols")
        return
    stripped = shutil.copy(bench.program, os.path.join(bench.folder, "stripped"))
    subprocess.run(["strip", stripped], check=True)
    r = bench.sample("hot", program=stripped)
    names = {}
    for _, weight, stack in r.samples:
        for name in set(stack):
            if name.startswith("stripped+0x"):
                names[name] = names.get(name, 0) + weight / r.total()
    shares = sorted(names.values(), reverse=True)
    tap.ok(len(names) < 12 and any(near(s, 0.7) for s in shares) and any(near(s, 0.3) for s in shares) and sum(s > 0.9 for s in shares) >= 2,
           "functions without names are told apart", str(names))


def test_kernels(bench):
    r = bench.sample("kernels")
    ids = [at for at, in r.db.execute("SELECT c.id FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = module WHERE s.value = '[CUDA kernel]' ORDER BY 1")]
    inside = [r.samples[at - 1][2] for at in ids]
    tap.eq(len(ids), len(set(ids)), "a stack has one kernel at most")
    tap.ok(inside, "kernels that a waiting thread executes are frames", str(r.samples[:2]))
    tap.ok(all("long_kernel(unsigned" in stack[0] and "main" in stack for stack in inside), "innermost, below what waits for them", str(inside[:2]))
    tap.eq(len({thread for thread, _, _ in r.samples}), 1, "Heddle's own threads are not host code")


def test_ranges(bench):
    got = bench.run("prof", "-f", "-o", "range", "--sample", "-c", "cudaProfilerApi", bench.program, "hot")
    tap.ok(got.returncode == 0 and not Report(os.path.join(bench.folder, "range.sqlite")).samples, "outside of a range nothing is sampled", got.stderr)
    got = bench.run("prof", "-f", "-o", "little", "--sample", "--limit", "1", bench.program, "deep")
    tap.eq(got.returncode, 0, "a limit that is reached")
    got = bench.run("prof", "-f", "-o", "slow", "--sample=20", bench.program, "hot")
    n = len(Report(os.path.join(bench.folder, "slow.sqlite")).samples)
    tap.ok(got.returncode == 0 and 10 <= n <= 30, "as often as is asked for", str(n))


def test_sanitizers(bench):
    """Programs whose C library is in part a sanitizer's."""
    if bench.variant.builder != "cc":
        tap.skip("sanitizers: with heddle cc only")
        return
    for name in ("address", "thread"):
        program = os.path.join(bench.folder, "with-" + name)
        got = subprocess.run(bench.variant.command(bench.heddle, SOURCE, program, "-Xcompiler", "-fsanitize=" + name), capture_output=True, text=True, env=bench.env, timeout=200)
        if got.returncode:
            tap.skip(f"{name}: {got.stderr.splitlines()[-1] if got.stderr else 'it cannot be built'}")
            continue
        r = bench.sample("threads", program=program)
        tap.ok(r.share("in_thread") > 0.3 and r.share("in_short") > 0.05, f"under -fsanitize={name}", f"{r.share('in_thread')} {r.share('in_short')}")
        r = bench.sample("kernels", program=program)
        # ThreadSanitizer has a thread of its own, which is the program's.
        stacks = {thread: stack for thread, _, stack in r.samples if not any("BackgroundThread" in frame for frame in stack)}
        tap.ok(len(stacks) == 1, "without Heddle's own threads", str(stacks))


def test_nsys(bench):
    """As Nsight Systems, which samples unless it is told not to."""
    def profile(name, *args):
        got = bench.run("nsys", "profile", "-o", name, *args, bench.program, "hot")
        tap.eq(got.returncode, 0, f"nsys profile {' '.join(args)}")
        return Report(os.path.join(bench.folder, name + ".sqlite")), got.stderr

    r, _ = profile("usual")
    tap.ok(near(r.share("hot_f", "main"), 0.7), "host code is sampled by default", str(len(r.samples)))
    r, _ = profile("not", "--sample=none", "--cpuctxsw=none")
    tap.eq(len(r.samples), 0, "unless that is refused")
    r, told = profile("bare", "-s", "system-wide", "--backtrace=none", "--sampling-frequency=100")
    tap.ok("not sampled" in told and r.samples and all(len(stack) <= 2 for _, _, stack in r.samples), "without stacks", told)
    r, _ = profile("period", "--sample=process-tree", "--sampling-period=30000000", "--samples-per-backtrace=1", "-b", "dwarf")
    tap.ok(50 <= len(r.samples) <= 150, "each so many cycles", str(len(r.samples)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Programs(folder)
        test_hot(bench)
        test_traces(bench)
        test_nothing(bench)
        test_threads(bench)
        test_signals(bench)
        test_stacks(bench)
        test_kernels(bench)
        test_ranges(bench)
        test_sanitizers(bench)
        test_nsys(bench)
    tap.done()


main()
