#!/usr/bin/env python3
"""Native kernels of C++ programs, by each compiler, and what tools say of them: test_native.py HEDDLE INCLUDE"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from support import Bench, Tap

heddle, include = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native.cu")
NOTE = "kernel lib::scale is native"


def test_program(bench, name, program):
    for form in ("avx512", "avx2", "generic"):
        why = bench.lacks(form)
        if why:
            tap.skip(f"{name}: {why}")
            continue
        got = bench.run("run", program, "fine", HEDDLE_CPU=form)
        tap.eq((got.stdout, got.returncode), ("wrong 0\n", 0), f"{name}, {form}: right")
    got = bench.run("run", program, "throw")
    lines = got.stdout.split("\n")
    tap.ok("launch cudaSuccess" in lines and "wait cudaErrorLaunchFailure" in lines and "destroyed" in lines,
           f"{name}: an exception on a device's thread is the context's error, its frames are unwound", got.stdout + got.stderr)
    tap.ok("native kernel lib::scale, tile" in got.stderr and "std::out_of_range: tile" in got.stderr, f"{name}: and named", got.stderr)
    got = bench.run("run", program, "throw_here")
    tap.eq(got.stdout, "destroyed\nlaunch cudaErrorLaunchFailure\nwait cudaErrorLaunchFailure\n", f"{name}: inline the launch says so")
    got = bench.run("run", program, "fine", HEDDLE_DEVICE="interp")
    tap.ok("cudaErrorNotSupported" in got.stdout and 'lib::scale_here is a function of the host' in got.stderr,
           f"{name}: a device without native kernels names it", got.stdout + got.stderr)


def nvcc(bench, kind):
    program = os.path.join(bench.folder, "native_" + kind)
    got = subprocess.run(["nvcc", "-arch=compute_80", "-cudart", kind, "-I", include, SOURCE, "-o", program, "-ldl"], capture_output=True, text=True, timeout=300)
    tap.ok(got.returncode == 0, f"nvcc -cudart {kind} builds", got.stdout + got.stderr)
    return program


def test_prof(bench, program):
    got = bench.run("prof", "-f", "-o", "report", program, "fine")
    tap.eq(got.returncode, 0, "heddle prof")
    db = sqlite3.connect(os.path.join(bench.folder, "report.sqlite"))
    rows = db.execute("SELECT value, count(*), min(end - start) >= 0, min(gridX), max(blockX) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName "
                      "WHERE value LIKE 'lib::%' GROUP BY value ORDER BY value").fetchall()
    tap.eq(rows, [("lib::scale", 3, 1, 64, 1), ("lib::scale_here", 3, 1, 64, 1)], "rows as of any kernel")
    rows = db.execute("SELECT n.value, a.value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds n ON n.id = demangledName LEFT JOIN StringIds a ON a.id = argumentsId "
                      "GROUP BY 1, 2 ORDER BY 1").fetchall()
    tap.ok(("lib::scale", "by=2", 2) in rows and any(not argument for _, argument, _ in rows), "what native kernels say of their parameters, and compiled ones do not", str(rows))
    got = bench.run("prof", "stats", "-r", "heddle_kern_args_sum", "--format", "json", "report.sqlite")
    rows = [(r["Name"], r["Arguments"], r["Instances"]) for r in json.loads(got.stdout)["heddle_kern_args_sum"]]
    tap.eq(sorted(rows), [("lib::scale", "by=2", 2), ("lib::scale", "by=3", 1), ("lib::scale_here", "by=0", 1), ("lib::scale_here", "by=2", 2)], "a report by kernel and arguments")
    bench.run("prof", "export", "--type", "chrome", "-o", "trace.json", "report.sqlite")
    with open(os.path.join(bench.folder, "trace.json"), encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
    tap.eq({e["args"].get("arguments") for e in events}, {"by=0", "by=2", "by=3", None}, "in traces")
    got = bench.run("prof", "stats", "report.sqlite")
    tap.ok("lib::scale_here" in got.stdout, "in the statistics", got.stdout + got.stderr)
    got = bench.run("advise", "report.sqlite")
    tap.ok(got.returncode in (0, 1) and "Traceback" not in got.stderr, "heddle advise reads it", got.stdout + got.stderr)
    got = bench.run("prof", "--kernel", "--roofline", "none", "-f", "-o", "counted", program, "fine")
    tap.ok("lib::scale" in got.stdout + got.stderr and "native kernel" in got.stdout + got.stderr, "counters say why it has none",
           got.stdout + got.stderr)


def test_check(bench, program):
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck", "schedcheck"):
        got = bench.run("check", "--tool", tool, program, "fine")
        out = got.stdout + got.stderr
        tap.ok(got.returncode == 0 and "wrong 0" in out and ("0 errors" in out or "0 hazards" in out), f"{tool}: nothing found", out)
        tap.eq(out.count(NOTE + ","), 1, f"{tool}: says once that it does not look into it")


with tempfile.TemporaryDirectory() as folder:
    bench = Bench(heddle, tap, folder)
    cc = bench.build(SOURCE, "-I", include)
    test_program(bench, "heddle cc", cc)
    for kind in ("shared", "static"):
        if shutil.which("nvcc"):
            test_program(bench, "nvcc " + kind, nvcc(bench, kind))
        else:
            tap.skip("no nvcc")
    test_prof(bench, cc)
    test_check(bench, cc)
sys.exit(tap.done())
