#!/usr/bin/env python3
"""heddle prof --kernel: the host's roofline, with work known by hand: test_prof_roofline.py HEDDLE"""
import csv
import io
import json
import os
import statistics
import sys
import tempfile

from prof_counters import CounterBench, HERE
from support import Tap, variants

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
R = "heddle__roofline_"
SECTION = "SpeedOfLight_RooflineChart"
PEAKS = [R + f"peak_{what}.per_second" for what in ("sp", "dp", "dram", "l3", "l2", "l1")]

# Kernel: operations in f32 and f64, bytes that are asked for; counters.ptx, two blocks of 64 threads.
WORK = {"coalesced": (128, 0, 32 * 32), "strided": (0, 256, 256 * 32), "misaligned": (0, 0, 40 * 32), "banks2": (0, 0, 0)}


class Roofline(CounterBench):
    roofline = ()

    def __init__(self, folder):
        super().__init__(heddle, tap, folder)
        self.env["HEDDLE_FAULT"] = "roofline.busy"  # what other tests take the CPUs for is measured with the rest, and kept
        self.program = self.build(os.path.join(HERE, "counters.cu"), "-lcuda")

    def prof(self, *args, launches, code=0, **env):
        return self.count(self.program, os.path.join(HERE, "counters.ptx"), *launches, options=args, code=code, **env)

    def notes(self):
        return [text for text, in self.rows(f"SELECT text FROM HEDDLE_NOTES WHERE section = '{SECTION}' ORDER BY rowid")]

    def show(self, *args):
        return self.run("prof", "kernels", *args, "report.sqlite").stdout


def near(got, want):
    return got is not None and abs(got - want) <= 1e-6 * abs(want) + 1


def check_values(name, of, sp, dp, size):
    """Rates and parts are what the definitions make of work, time and peaks."""
    seconds, flop = of[R + "time.median"] / 1e9, sp + dp
    peak_sp, peak_dp, dram = of[R + "peak_sp.per_second"], of[R + "peak_dp.per_second"], of[R + "peak_dram.per_second"]
    tap.eq((of[R + "flop.sum"], of[R + "bytes.sum"]), (flop, size), f"{name}: operations and bytes")
    tap.ok(near(of[R + "flop.sum.per_second"], flop / seconds), f"{name}: operations a second", of)
    tap.ok(near(of[R + "bytes.sum.per_second"], size / seconds), f"{name}: bytes a second", of)
    tap.eq(of.get(R + "intensity.ratio"), flop / size if size else None, f"{name}: intensity")
    compute = (sp / peak_sp + dp / peak_dp) / seconds * 100
    if flop:
        tap.ok(abs(of[R + "compute.pct"] - compute) < 1e-6 * compute, f"{name}: part of the compute roof", of)
        roof = min(peak_dp if dp else peak_sp, flop / size * dram)
        tap.ok(near(of[R + "attainable.per_second"], roof), f"{name}: the roof over it", of)
    else:
        tap.ok(R + "compute.pct" not in of and R + "attainable.per_second" not in of, f"{name}: no compute roof", of)
    if not size:
        tap.ok(R + "memory.pct" not in of and R + "roof.pct" not in of, f"{name}: no roof at all", of)
        return
    tap.ok(abs(of[R + "memory.pct"] - size / seconds / dram * 100) < 1e-3, f"{name}: part of DRAM's", of)
    levels = [of[p] for p in PEAKS[2:] if p in of]
    memory = size / seconds / next((p for p in levels if p >= size / seconds), levels[-1]) * 100
    tap.ok(abs(of[R + "roof.pct"] - max(compute, memory)) < 1e-3, f"{name}: the roof that bounds it", of)


def test_work(bench):
    """The first launch of each is counted, three more are not: the median is theirs."""
    for name, (sp, dp, size) in WORK.items():
        bench.prof("-c", "1", launches=[f"{name}:2:64"] * 4 + [f"{name}:3:64", "wide:2:64"])
        got = bench.values()
        tap.eq(([n for n, _ in got], got[0][1][R + "launches_uncounted.sum"]), ([name], 3), f"{name}: those of that grid that were not counted")
        counted = bench.rows("SELECT start FROM HEDDLE_LAUNCHES")[0][0]
        plain = [d for s, d in bench.rows("SELECT start, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = mangledName "
                                          f"WHERE value = '{name}' AND gridX = 2") if s != counted]
        tap.eq(got[0][1][R + "time.median"], statistics.median(plain), f"{name}: their median")
        tap.eq(all(got[0][1].get(p, 0) > 0 for p in PEAKS[:3]), True, "peaks of compute and memory")
        check_values(name, got[0][1], sp, dp, size)


def test_while_counted(bench):
    got = bench.prof("--section", SECTION, launches=["coalesced:2:64"] * 2)
    for _, of in bench.values():
        tap.eq((of[R + "launches_uncounted.sum"], of[R + "time.median"]), (0, of["gpu__time_duration.sum"]), "the time is that of the counted launch")
        check_values("while counted", of, *WORK["coalesced"])
    tap.ok("Achieved Performance (While Counted)" in got.stdout and "Arithmetic Intensity (" not in got.stdout, "labels say so", got.stdout)
    tap.ok(sum("while counted" in note for note in bench.notes()) == 2, "and a line", bench.notes())
    launch = json.loads(bench.show("--json"))[0]
    tap.ok(R + "flop.sum.per_second" in launch["while_counted"] and R + "flop.sum" not in launch["while_counted"], "JSON says which", launch["while_counted"])
    tap.ok(any("while counted" in note["text"] for note in launch["notes"]), "and why", launch["notes"])
    bench.prof("-c", "1", "--section", SECTION, launches=["coalesced:2:64"] * 2)
    launch = json.loads(bench.show("--json"))[0]
    tap.eq(launch["while_counted"], [], "with a launch that was not counted none is")
    tap.ok("While Counted" not in bench.show("--section", SECTION), "nor said to be")


def test_missing(bench):
    bench.prof("-c", "2", launches=["product:2:64", "banks2:2:64"])
    product, banks = (of for _, of in bench.values())
    tap.ok(R + "flop.sum" not in product and R + "compute.pct" not in product and R + "bytes.sum.per_second" in product, "products: no operations", product)
    notes = bench.notes()
    for text in ("matrix products are not counted", "none on floating point numbers", "does not access global memory"):
        tap.ok(sum(text in note for note in notes) == 1, f"told: {text}", notes)
    tap.eq(banks[R + "bytes.sum"], 0, "no bytes")


def test_kept(bench):
    def peaks(*args, **env):
        bench.prof("-c", "1", *args, launches=["coalesced:2:64"], **env)
        of = bench.values()[0][1]
        return {p: of.get(p) for p in [*PEAKS, R + "threads.sum"]}
    first = peaks()
    tap.eq(peaks(), first, "what was measured is kept")
    again = peaks("--roofline", "again")
    tap.ok(again != first, "and measured again when asked", (again, first))
    tap.eq(peaks(), again, "which is kept then")
    last = peaks("--roofline", "again", HEDDLE_FAULT="")
    busy = any("Other programs had the CPUs" in note for note in bench.notes())
    tap.eq(peaks(), again if busy else last, "unless other programs had the CPUs: " + ("they had" if busy else "they had not"))
    again = peaks()
    one = peaks(HEDDLE_THREADS="1")
    tap.eq((one[R + "threads.sum"], again[R + "threads.sum"]), (1, 2), "one thread is measured by itself")
    tap.ok(peaks(HEDDLE_CACHE="off")[PEAKS[0]] > 0, "without a cache too")
    own, levels = variants.current().level, ["generic", *variants.host_levels(heddle)]
    others = [level for level in levels if level != (levels[-1] if own == "best" else own)]
    if others:
        tap.ok(peaks(HEDDLE_CPU=others[0])[PEAKS[0]] not in (0, again[PEAKS[0]]), "other vectors are measured by themselves")
    else:
        tap.skip("the host has one level")
    none = peaks("--roofline", "none")
    tap.eq(none, dict.fromkeys(first), "none: no peaks")
    tap.ok("Roofline" not in bench.show(), "and no section")
    tap.ok("n/a" in bench.show("--section", SECTION), "unless it is asked for")
    bench.prof("--roofline", "first", launches=["coalesced:2:64"], code=2)


def test_pages(bench):
    bench.prof("-c", "1", launches=["coalesced:2:64"] * 2)
    rows = list(csv.reader(io.StringIO(bench.show("--csv", "--section", SECTION))))
    tap.ok(all(len(row) == len(rows[0]) == 20 for row in rows), "details: each row has all columns")
    tap.eq([row[14] for row in rows if row[12] == "Floating Point Operations"], ["128"], "a metric")
    tap.ok([row[16] for row in rows if row[15] == SECTION] and all(row[17] for row in rows if row[15] == SECTION), "notes are rules", rows)
    rows = list(csv.reader(io.StringIO(bench.show("--csv", "--page", "raw", "--metrics", R + "intensity.ratio"))))
    tap.eq([row[11:] for row in rows], [[R + "intensity.ratio"], ["flop/byte"], ["0.12"]], "raw")
    tap.ok(SECTION in bench.run("prof", "--list-sections").stdout and R + "flop.sum" in bench.run("prof", "--query-metrics").stdout, "listed")


with tempfile.TemporaryDirectory() as top:
    b = Roofline(top)
    for test in (test_work, test_while_counted, test_missing, test_kept, test_pages):
        test(b)
tap.done()
