#!/usr/bin/env python3
"""heddle nsys and heddle ncu: Nsight's commands, and NVTX ranges that choose launches: test_nsight.py HEDDLE"""
import csv
import glob
import io
import os
import sqlite3
import subprocess
import sys
import tempfile

import prof_invariants
from support import Bench, Tap

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsight.cu")
KERNELS = ["first", "first", "second", "second", "second", "first", "first"]


class Commands(Bench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder, TMPDIR=folder)
        self.program = self.build(SOURCE)
        self.commands = os.path.join(os.path.dirname(heddle), "cuda/profilers")

    def command(self, name, *args, code=4, **env):
        """Of the toolkit folder, as scripts call it."""
        got = subprocess.run([os.path.join(self.commands, name), *args], capture_output=True, text=True, env={**self.env, **env}, cwd=self.folder, timeout=200)
        tap.eq(got.returncode, code, f"{name} {' '.join(args)}"[:90])
        return got

    def rows(self, report, sql):
        return sqlite3.connect(os.path.join(self.folder, report + ".sqlite")).execute(sql).fetchall()

    def kernels(self, report):
        return [name for name, in self.rows(report, "SELECT value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName ORDER BY start")]

    def counted(self, *args):
        """Kernels that ncu prints, in their order."""
        got = self.command("ncu", *args, "--csv", "--page", "raw", "--metrics", "smsp__inst_executed.sum", self.program)
        lines = got.stdout.splitlines()
        table = "\n".join(line for line in lines if line.startswith('"'))
        rows = list(csv.DictReader(io.StringIO(table)))
        return [row["Kernel Name"].split("(")[0] for row in rows[1:]], got


def test_place(bench):
    """Programs that look for the commands find the vendor's, or none, unless the folder is in PATH."""
    look = "command -v nsys ncu || true"
    tap.eq(bench.run("run", "sh", "-c", look, PATH="/usr/bin:/bin").stdout,
           subprocess.run(["sh", "-c", look], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, timeout=60).stdout, "they are in nobody's way")
    got = bench.run("run", "sh", "-c", "nsys --version; ncu --version", PATH=bench.commands + ":/usr/bin:/bin")
    tap.eq([line.rsplit(" ", 1)[0] for line in got.stdout.splitlines()], ["Heddle's nsys, version", "Heddle's ncu, version"], "and there for who wants them")


def test_nsys(bench):
    got = bench.command("nsys", "profile", "-t", "cuda,nvtx,osrt", "-o", "one.nsys-rep", "--stats=true", "--force-overwrite", "true", "-s", "none",
                        "--cuda-memory-usage=true", "-e", "COLOUR=green,OTHER=1", bench.program)
    tap.ok("cudaSuccess green" in got.stdout and "** CUDA GPU Kernel Summary" in got.stdout, "the program ran, with its variables, and tables came", got.stdout)
    tap.eq(sorted(bench.kernels("one")), sorted(KERNELS), "its kernels")
    tap.eq(prof_invariants.orphans(sqlite3.connect(os.path.join(bench.folder, "one.sqlite"))), [], "with their calls")
    got = bench.command("nsys", "profile", "-t", "cuda,cublas,cudnn", "-fo", "one", bench.program, code=2)
    tap.ok("--force-overwrite=o" in got.stderr, "a bad value", got.stderr)
    got = bench.command("nsys", "profile", "--trace=cuda,cublas", "--output=%q{COLOUR}-%%", "--capture-range=cudaProfilerApi", bench.program, COLOUR="red")
    tap.ok("nothing of it is recorded" in got.stderr, "a library that Heddle does not have is told", got.stderr)
    tap.eq(bench.kernels("red-%"), ["first"], "the first range, and no other")
    bench.command("nsys", "profile", "-c", "cudaProfilerApi", "--capture-range-end", "repeat", "-o", "all", bench.program)
    tap.eq(bench.kernels("all"), ["first", "first"], "all ranges")
    bench.command("nsys", "profile", "-c", "nvtx", "-p", "inner", "-o", "inner", bench.program)
    tap.eq(bench.kernels("inner"), ["second"], "an NVTX range")
    got = bench.command("nsys", "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", "--force-export=true", "one.nsys-rep", code=0)
    tap.ok(got.stdout.splitlines()[0].startswith("Time (%),"), "stats", got.stdout)
    plain = bench.run("prof", "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", "one.sqlite").stdout
    tap.eq(got.stdout, plain, "as of heddle prof")
    tap.ok("cuda_api_sum" in bench.command("nsys", "stats", "--help-reports", code=0).stdout, "which reports there are")
    for args, why in ((("launch", "x"), "no sessions"), (("profile", "--sample=gpu", "x"), "--sample=gpu"), (("profile", "--sampling-frequency=7", "x"), "100 to 8000"), (("profile", "--cpuctxsw=process-tree", "x"), "switches"), (("profile", "--gpu-metrics-set=1", "x"), "--gpu-metrics-set"),
                      (("profile", "-t", "cuda,magic", "x"), "magic"), (("profile", "--capture-range-end=stop-shutdown", "x"), "not ended"), (("profile",), "which program"),
                      (("profile", "-o", "%n", "x"), "%q{NAME}"), (("stats",), "which report"), (("stats", "-f", "tsv", "one"), "tsv"), ((), "profile, or stats"),
                      (("export", "one"), "SQLite"), (("profile", "-e", "novalue", "x"), "NAME=VALUE"), (("profile", "--output"), "needs a value")):
        got = bench.command("nsys", *args, code=2)
        tap.ok(why in got.stderr and got.stderr.startswith("heddle: nsys: "), f"refused, and why: {why}", got.stderr)


def test_ncu(bench):
    got, told = bench.counted()
    tap.eq(got, KERNELS, "ncu counts all")
    tap.ok("heddle-ncu-" not in told.stderr, "and names no file that is gone", told.stderr)
    tap.eq(bench.counted("-k", "second", "-s", "1", "--launch-count=1")[0], ["second"], "-k, -s, -c")
    tap.eq(bench.counted("--kernel-name", "regex:^f", "-c", "3")[0], ["first"] * 3, "an expression")
    got = bench.command("ncu", "--set", "full", "-o", "kept.ncu-rep", "-k", "second", "--target-processes", "all", bench.program)
    tap.ok("Launch Statistics" not in got.stdout and os.path.exists(os.path.join(bench.folder, "kept.sqlite")), "-o keeps a report, and prints nothing", got.stdout)
    got = bench.command("ncu", "-i", "kept.ncu-rep", "--page", "details", "--section", "LaunchStats", code=0)
    tap.ok(got.stdout.count("Launch Statistics") == 3 and "Speed Of Light" not in got.stdout, "-i shows it", got.stdout)
    bench.command("ncu", "-o", "kept", bench.program, code=1)
    got = bench.command("ncu", "--set=basic", "-c", "1", bench.program)
    tap.ok("Launch Statistics" in got.stdout and "Memory Workload" not in got.stdout, "--set basic", got.stdout)
    tap.ok("LaunchStats" in bench.command("ncu", "--list-sections", code=0).stdout, "--list-sections")
    tap.ok("all sections" in bench.command("ncu", "--list-sets", code=0).stdout, "--list-sets")
    tap.ok("smsp__inst_executed.sum" in bench.command("ncu", "--query-metrics", code=0).stdout, "--query-metrics")
    for args, why in ((("--replay-mode", "range", "x"), "replay"), (("--profile-from-start=off", "x"), "--nvtx-include"), (("--devices", "0", "x"), "--devices"), ((), "which program"),
                      (("-i", "kept", "x"), "runs nothing"), (("--page", "session", "x"), "session"), (("--nvtx=1", "x"), "--nvtx"),
                      (("--target-processes", "application-only", "x"), "all processes")):
        got = bench.command("ncu", *args, code=2)
        tap.ok(why in got.stderr and got.stderr.startswith("heddle: ncu: "), f"refused, and why: {why}", got.stderr)
    tap.eq(glob.glob(os.path.join(bench.folder, "heddle-ncu-*")), [], "nothing is left")


def test_ranges(bench):
    for ranges, want in ((["early/"], ["first"]), (["outer/"], ["first", "second", "second"]), (["outer/inner"], ["second"]), (["[outer]"], ["first", "second"]),
                         (["inner]"], ["second"]), (["started"], ["second"]), (["mine@outer/"], ["second"]), (["early/", "inner/"], ["first", "second"]),
                         (["nothing/"], [])):
        got, _ = bench.counted("--nvtx", *(word for text in ranges for word in ("--nvtx-include", text)))
        tap.eq(got, want, f"in {' or '.join(ranges)}")
    tap.eq(bench.counted("--nvtx", "--nvtx-exclude", "outer/")[0], ["first", "second", "first", "first"], "not in a range")
    tap.eq(bench.counted("--nvtx", "--nvtx-include", "outer/", "--nvtx-exclude", "inner/", "-s", "1")[0], ["second"], "in one and not in the other, the second of these")
    got = bench.run("prof", "--kernel", "--nvtx", "--nvtx-include", "inner/", "-f", "-o", "direct", "--roofline", "none", bench.program)
    tap.eq((got.returncode, bench.rows("direct", "SELECT count(*) FROM HEDDLE_LAUNCHES")), (4, [(1,)]), "heddle prof --kernel takes them, too")
    for args, why in ((("--kernel", "--nvtx-include", "A//B"), "a name is missing"), (("--kernel", "--nvtx-include", "a;b"), "not possible"), (("--nvtx-include", "A/"), "--kernel")):
        got = bench.run("prof", *args, bench.program)
        tap.ok(got.returncode == 2 and why in got.stderr, f"refused: {args[-1]}", got.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="heddle-nsight-") as folder:
        bench = Commands(folder)
        for test in (test_place, test_nsys, test_ncu, test_ranges):
            test(bench)
    tap.done()


main()
