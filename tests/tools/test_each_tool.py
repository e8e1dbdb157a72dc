#!/usr/bin/env python3
"""One program with each tool, however it was built: test_each_tool.py HEDDLE"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

import prof_invariants
from support import Bench, Tap, has_gdb

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "each.cu")
ANSWER = "17 10 cudaSuccess\n"
# By name, how often the program calls them; <<<>>> is cudaLaunchKernel.
CALLS = {"cudaLaunchKernel": 9, "cudaGraphLaunch": 2, "cudaMalloc": 1, "cudaMemset": 1, "cudaMemsetAsync": 1, "cudaMemcpyAsync": 1}
KERNELS = {"add": 6 + 1 + 2, "gather": 1}


def test_run(bench, program):
    got = bench.run("run", program)
    tap.eq((got.stdout, got.returncode), (ANSWER, 0), "run")
    got = bench.run("run", program)
    tap.eq((got.stdout, got.returncode), (ANSWER, 0), "run, with what is cached")


def test_doctor(bench, program):
    told = json.loads(bench.run("doctor", "--json", program).stdout)
    want = {"cc": "shared", "shared": "shared", "static": "embedded"}[bench.variant.builder]
    tap.eq((told["should_run"], told["runtime"]), (True, want), "doctor")


def test_prof(bench, program):
    got = bench.run("prof", "-f", "-o", "all", "--stats", "--export", "chrome", program)
    tap.eq(got.returncode, 0, "prof")
    db = sqlite3.connect(os.path.join(bench.folder, "all.sqlite"))
    kernels = dict(db.execute("SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName GROUP BY 1"))
    tap.eq(kernels, KERNELS, "its kernels")
    tap.eq(prof_invariants.orphans(db), [], "each has its call, as have copies and fills")
    tap.eq(prof_invariants.early(db), [], "which begins first")
    calls = prof_invariants.calls(db)
    tap.eq({name: calls.get(name) for name in CALLS}, CALLS, "calls by the names that the program has")
    tap.eq([name for name in calls if name.startswith("_") or "Configuration" in name], [], "and none that only compilers write")
    with open(os.path.join(bench.folder, "all.json"), encoding="utf-8") as file:
        tap.eq(prof_invariants.bad_arrows(json.load(file)), [], "arrows of Chrome's trace, also those of graphs")
    tap.ok(re.search(r"^ +[\d.]+ +\d+ +9 .*  cudaLaunchKernel$", got.stdout, re.M), "in the table", got.stdout)
    got = bench.run("prof", "-f", "-o", "some", "--launch-skip", "2", "--launch-count", "3", program)
    db = sqlite3.connect(os.path.join(bench.folder, "some.sqlite"))
    tap.eq((prof_invariants.orphans(db), prof_invariants.calls(db).get("cudaLaunchKernel")), ([], 3), "three launches, with three calls")
    got = bench.run("prof", "-f", "-o", "count", "--kernel", "--roofline", "none", "-k", "add", "-c", "2", program)
    tap.eq(sqlite3.connect(os.path.join(bench.folder, "count.sqlite")).execute("SELECT count(*) FROM HEDDLE_LAUNCHES").fetchone(), (2,), "counters of two")


def test_advise(bench, program):
    told = json.loads(bench.run("advise", "--json", "all.sqlite").stdout)
    tap.eq((told["kernels"], told["copies"]), (10, 1), "advise")


def test_check(bench, program):
    got = bench.run("check", program)
    tap.ok(got.returncode == 0 and "ERROR SUMMARY: 0 errors" in got.stdout, "check of a program without faults", got.stdout)
    got = bench.run("check", program, "wild")
    tap.ok("Invalid __global__" in got.stdout and re.search(r"in add|add\(int", got.stdout), "check finds a fault", got.stdout)


def test_beside(bench, program):
    """ps, smi and checkpoint look at it while it waits."""
    process = subprocess.Popen([heddle, "run", program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=bench.env)
    tap.eq(process.stdout.readline(), "waits\n", "it waits")
    told = json.loads(bench.run("ps", "--json").stdout)
    tap.ok(process.pid in [p["pid"] for p in told["processes"]], "ps", told)
    told = bench.run("smi", "--query-compute-apps=pid", "--format=csv,noheader").stdout.split()
    tap.ok(str(process.pid) in told, "smi", told)
    tap.eq(bench.run("checkpoint", "--toggle", "--pid", str(process.pid)).returncode, 0, "checkpoint")
    tap.eq(bench.run("checkpoint", "--get-state", "--pid", str(process.pid)).stdout, "checkpointed\n", "it can be saved")
    tap.eq(bench.run("checkpoint", "--toggle", "--pid", str(process.pid)).returncode, 0, "and goes on")
    out, _ = process.communicate("\n", timeout=100)
    tap.eq((out, process.returncode), (ANSWER, 0), "with the same results")


def test_gdb(bench, program):
    if not has_gdb():
        return tap.skip("no gdb 13 with Python")
    got = bench.run("gdb", "-batch", "-ex", "set cuda break_on_launch all", "-ex", "run", "-ex", "info cuda kernels", "-ex", "set cuda break_on_launch none",
                    "-ex", "continue", program, HOME=bench.folder)
    tap.ok(re.search(r"\(32,1,1\) \(128,1,1\) .*add", got.stdout) and ANSWER in got.stdout, "gdb stops in its kernel", got.stdout + got.stderr)
    return None


def main():
    with tempfile.TemporaryDirectory(prefix="heddle-each-") as folder:
        bench = Bench(heddle, tap, folder, HEDDLE_REGISTRY=os.path.join(folder, "registry"))
        program = bench.build(SOURCE)
        for test in (test_run, test_doctor, test_prof, test_advise, test_check, test_beside, test_gdb):
            test(bench, program)
    tap.done()


main()
