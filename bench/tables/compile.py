"""What it takes until a kernel runs: compiled from PTX, or out of the cache on disk."""
import os
import tempfile
import time

import compile_time
from kernels import run

from .common import JUDGED, Table, judged, median, missing, pin, progress, why_failed

NAME, TITLE = "compile", "From PTX to a running kernel, milliseconds"
BUILDS = ["start"]

# Milliseconds.
TARGETS = {"first": 8, "later": 5, "10k runs": 50, "30k runs": 100, "warm": 1, "process": 4}
LARGE = {"10k": "straight:4600", "30k": "straight:13900"}  # LLVM instructions, on avx512
SMALL_COUNT = 8
BLOCKS = ["-b", "256"]  # as programs launch them; few, which may run long, wait for the best code


def small(i):
    """A kernel as small as they come, none of which is in the cache because of another."""
    body = f"ld.global.u32 %r3, [%d5]; mad.lo.u32 %r1, %r3, {2 * i + 3}, %r1; add.u32 %r1, %r1, {i};"
    return compile_time.kernel(f"small{i}", body)


def looped(i):
    """The same with a loop."""
    body = (f"mov.u32 %r3, 0; L: ld.global.u32 %r4, [%d5]; mad.lo.u32 %r1, %r1, {2 * i + 3}, %r4; add.u64 %d5, %d5, 512;"
            "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 20; @%p1 bra L;")
    return compile_time.kernel(f"looped{i}", body)


def write_all(folder):
    """{"small": [paths], "10k": [path], ..}"""
    texts = {"small": [small(i) for i in range(SMALL_COUNT)], "looped": [looped(i) for i in range(SMALL_COUNT)], **{k: [compile_time.ptx(v)] for k, v in LARGE.items()}}
    paths = {kind: [os.path.join(folder, f"{kind}{i}.ptx") for i in range(len(all_))] for kind, all_ in texts.items()}
    for kind, all_ in texts.items():
        for path, content in zip(paths[kind], all_):
            with open(path, "w", encoding="ascii") as file:
                file.write(content)
    return paths


class Runs:
    """Times of processes by what they did; results that differ from the reference interpreter's are told."""

    def __init__(self, bench, program, folder):
        self.bench, self.program, self.folder = bench, program, folder
        self.times, self.bad, self.count = {}, [], 0

    def fresh_cache(self):
        self.count += 1
        return os.path.join(self.folder, f"cache{self.count}")

    def one(self, paths, cache, env=None, options=()):
        """[(milliseconds, checksum)] of the files, or []"""
        env = {"HEDDLE_CACHE": cache, **(env or {})}
        result = self.bench.run_cuda(self.program, [*options, *paths], 2, env=env)
        rows = [line.split(",") for line in result[1].splitlines()]
        if result[0] or len(rows) != len(paths) + 1:
            self.bad.append(why_failed(result))
            return []
        self.add("start", float(rows[0][1]))
        return [(float(row[1]), row[2]) for row in rows[1:]]

    def add(self, what, ms):
        self.times.setdefault(what, []).append(ms)

    def compare(self, kind, paths):
        """Both kinds of code with the reference."""
        want = [sum_ for _, sum_ in self.one(paths, "off", {"HEDDLE_DEVICE": "interp"})]
        for how, env in (("", {}), (", best code", {"HEDDLE_DEBUG": "sync"})):
            have = [sum_ for _, sum_ in self.one(paths, self.fresh_cache(), env)]
            if not want or have != want:
                self.bad.append(f"{kind}{how}: results differ from the reference interpreter's")

    def small(self, paths):
        cache = self.fresh_cache()
        for how in ("", "warm "):
            for i, (ms, _) in enumerate(self.one(paths, cache)):
                self.add(how + ("later" if i else "first"), ms)

    def looped(self, paths):
        for how, options in (("looped ", BLOCKS), ("lone ", [])):
            for i, (ms, _) in enumerate(self.one(paths, self.fresh_cache(), options=options)):
                self.add(how + ("later" if i else "first"), ms)

    def large(self, kind, paths):
        cache, sync = self.fresh_cache(), {"HEDDLE_DEBUG": "sync"}
        for how, where, env in (("runs", self.fresh_cache(), {}), ("best", cache, sync), ("warm", cache, {}),
                                ("quick", self.fresh_cache(), {**sync, "HEDDLE_FAULT": "jit.best"})):
            for ms, _ in self.one(paths, where, env):
                self.add(f"{kind} {how}", ms)


def process_ms(bench, runs):
    """A short vecadd with a warm cache, and the same program leaving main at once, plain and under `heddle run`."""
    program = bench.built(bench.flavour, "start")
    if not program:
        return
    ours = [bench.setup.heddle, "run", program]
    commands = {"nothing": [program, "-nothing"], "nothing, heddle run": ours + ["-nothing"], "vecadd": ours}
    env = {"HEDDLE_CACHE": os.path.join(runs.folder, "vecadd"), "HEDDLE_THREADS": "2"}
    run(commands["vecadd"], env)  # fills the cache
    for _ in range(7 if bench.quick else 31):
        for what, command in commands.items():
            t0 = time.monotonic()
            status, _, err = run(pin(2) + command, env)
            runs.add(what, (time.monotonic() - t0) * 1e3)
            if status and what == "vecadd":
                runs.bad.append(f"vecadd: {err.strip()}")


def rows_of(times):
    """(what, milliseconds, target)"""
    ms = {what: median(values) for what, values in times.items()}
    process = ms["vecadd"] - ms["nothing"] if "vecadd" in ms else None
    yield "small kernel, first of a process", ms.get("first"), TARGETS["first"]
    yield "small kernel, each later one", ms.get("later"), TARGETS["later"]
    yield "  with a loop, 256 blocks, first of a process", ms.get("looped first"), TARGETS["first"]
    yield "  with a loop, 256 blocks, each later one", ms.get("looped later"), TARGETS["later"]
    yield "  with a loop, one block, first of a process", ms.get("lone first"), None
    yield "  with a loop, one block, each later one", ms.get("lone later"), TARGETS["later"]
    for kind in LARGE:
        yield f"{kind} LLVM instructions, until it has run", ms.get(f"{kind} runs"), TARGETS[f"{kind} runs"]
        yield f"{kind} LLVM instructions, quick code waited for", ms.get(f"{kind} quick"), None
        yield f"{kind} LLVM instructions, best code waited for", ms.get(f"{kind} best"), None
        yield f"{kind} LLVM instructions, from the cache", ms.get(f"{kind} warm"), None
    yield "small kernel from the cache, first of a process", ms.get("warm first"), None
    yield "small kernel from the cache, each later one", ms.get("warm later"), TARGETS["warm"]
    yield "whole process of a vecadd, warm, beside one that does nothing", process, TARGETS["process"]
    yield "  of which heddle run of nothing", ms["nothing, heddle run"] - ms["nothing"] if process else None, None
    yield "driver and context", ms.get("start"), None


def measure(bench):
    program = bench.built("ptx")
    if not program or not bench.heddle():
        return [missing(TITLE, "bench/out/ptx is not built")]
    with tempfile.TemporaryDirectory() as folder:
        runs, paths = Runs(bench, program, folder), write_all(folder)
        for kind, files in paths.items():
            runs.compare(kind, files)
        runs.times.clear()
        for r in range(3 if bench.quick else 4 * bench.rounds):
            progress(f"compile times, round {r + 1}")
            runs.small(paths["small"])
            runs.looped(paths["looped"])
            for kind in LARGE if bench.quick or r < bench.rounds else ():
                runs.large(kind, paths[kind])
        progress("warm start")
        process_ms(bench, runs)
    table = Table(TITLE, ["what", "ms", *JUDGED], runs.times)
    for what, ms, target in rows_of(runs.times):
        table.add(what, ms, *judged(ms, target))
    table.notes.append("two threads, 64 threads of a kernel, medians of processes, each with a new cache unless said; "
                       "programs do not wait for quick or best code")
    table.notes += sorted(set(runs.bad))
    return [table]
