#!/usr/bin/env python3
"""heddle ps, and Ctrl-C while kernels run: test_ps.py HEDDLE"""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile

from support import Tap, clean_env, variants

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hang.cu")
PATIENCE_S = 100
with open(SOURCE) as file:
    LINES = file.read().splitlines()


def line(mark):
    return next(i + 1 for i, text in enumerate(LINES) if "mark: %s */" % mark in text)


def default_interrupt():
    """Whoever runs the tests may have it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Bench:
    def __init__(self, folder):
        self.env = clean_env("CUDA_")
        self.env.update(HEDDLE_CACHE=os.path.join(folder, "cache"), HEDDLE_THREADS="2", **variants.current().env())
        self.program = os.path.join(folder, "hang")
        got = subprocess.run(variants.current().command(heddle, SOURCE, self.program, "-lineinfo"), capture_output=True, text=True, env=self.env, timeout=200)
        tap.ok(got.returncode == 0, "builds", got.stdout + got.stderr)

    def start(self, *args, stderr=subprocess.PIPE, **env):
        """The program, when its kernel runs."""
        process = subprocess.Popen([heddle, "run", self.program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                   text=True, env={**self.env, **env}, preexec_fn=default_interrupt)
        tap.eq(process.stdout.readline(), "runs\n", "a program runs %s" % " ".join(args))
        return process

    def ps(self, *args):
        return subprocess.run([heddle, "ps", *map(str, args)], capture_output=True, text=True, env=self.env, timeout=PATIENCE_S)


def end(process, text="\n"):
    out, error = process.communicate(text, timeout=PATIENCE_S)
    return out, error or ""


def test_report(bench):
    process = bench.start()
    got = bench.ps(process.pid)
    tap.eq((got.returncode, got.stderr), (0, ""), "heddle ps PID")
    tap.ok(re.search(r"kernel hang<<<\(2,1,1\),\(64,1,1\)>>> on device 0 for \d+\.\d s, 2 of 2 blocks have begun$", got.stdout, re.M), "the kernel",
           got.stdout)
    tap.ok(re.search(r"block \([01],0,0\) and 1 more: 2 of 2 warps wait", got.stdout), "its blocks, which are at the same", got.stdout)
    tap.ok("warp 0 at barrier 1, where 32 of 64 threads have arrived" in got.stdout, "a barrier", got.stdout)
    tap.ok("warp 1 in a loop with ld, %s:%d" % (SOURCE, line("loop")) in got.stdout, "a loop, with its place", got.stdout)
    tap.ok(re.search(r"hang.cu:%d, at 0x[0-9a-f]{9,} \(now 0x0\)$" % line("loop"), got.stdout, re.M), "and what it reads there", got.stdout)
    got = bench.ps("--json", process.pid)
    report = json.loads(got.stdout)
    kernel = report["report"]["devices"][0]["kernels"][0]
    tap.eq((report["pid"], kernel["kernel"], kernel["grid"], kernel["blocks"], kernel["begun"]), (process.pid, "hang", [2, 1, 1], 2, 2), "as JSON")
    tap.ok(1 <= kernel["threads"] <= kernel["threads_of"], "threads that execute it", str(kernel))
    tap.eq(sum(w["blocks"] for w in kernel["waits"]), 2, "with all blocks")
    tap.ok(report["report"]["devices"][0]["memory_B"] >= 12 and kernel["running_ns"] > 0, "and numbers", got.stdout)
    later = json.loads(bench.ps("--json", process.pid).stdout)["report"]["devices"][0]["kernels"][0]
    tap.ok(later["running_ns"] > kernel["running_ns"] and later["grid_id"] == kernel["grid_id"], "it runs on", later)
    got = bench.ps()
    tap.ok(re.search(r"^ +%d +\d+\.\d +.*hang" % process.pid, got.stdout, re.M) and "kernel hang<<<" in got.stdout, "heddle ps lists it", got.stdout)
    listed = json.loads(bench.ps("--json").stdout)["processes"]
    tap.ok(process.pid in [p["pid"] for p in listed], "as JSON, too")
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)  # it is stopped a little later
    got = bench.ps(process.pid)
    tap.ok(got.returncode == 1 and "does not answer: it is stopped" in got.stderr, "a process that is stopped", got.stderr)
    process.send_signal(signal.SIGCONT)
    tap.eq(end(process)[0], "done 128 no error\n", "a process that was looked at goes on")
    got = bench.ps(process.pid)
    tap.ok(got.returncode == 1 and "there is no process" in got.stderr, "until it has ended", got.stderr)


def test_others(bench):
    """In place: by threads. The reference device does not know. A kernel that has ended."""
    process = bench.start(CUDA_ENABLE_COREDUMP_ON_EXCEPTION="1")
    got = bench.ps(process.pid)
    tap.ok("32 threads of warp 0 wait at barrier 1, where 32 of 64 threads have arrived" in got.stdout, "an interpreted kernel", got.stdout)
    tap.eq(end(process)[0], "done 128 no error\n", "which goes on")
    process = bench.start(HEDDLE_DEVICE="interp")
    report = json.loads(bench.ps("--json", process.pid).stdout)["report"]
    tap.eq((report["devices"][0]["name"], report["devices"][0]["kernels"]), ("interp", None), "a device that does not know")
    tap.eq(end(process)[0], "done 128 no error\n", "and goes on")
    process = bench.start("idle")
    report = json.loads(bench.ps("--json", process.pid).stdout)["report"]
    tap.eq(report["devices"][0]["kernels"], [], "a program without kernels")
    process.kill()
    end(process)


def test_interrupt(bench):
    process = bench.start("wait", HEDDLE_DEBUG="waits")
    process.send_signal(signal.SIGINT)
    out, error = end(process)
    tap.eq((process.returncode, out), (-signal.SIGINT, ""), "Ctrl-C ends a program")
    tap.ok(re.search(r"^heddle: kernel hang<<<\(2,1,1\),\(64,1,1\)>>> has run for", error, re.M) and
           "warp 0 at barrier 1, where 32 of 64 threads have arrived" in error, "and says who waits where", error)
    process = bench.start("wait")
    process.send_signal(signal.SIGINT)
    tap.eq((end(process), process.returncode), (("", ""), -signal.SIGINT), "in a pipe it says nothing")
    ours, theirs = pty.openpty()
    process = bench.start("wait", stderr=theirs)
    os.close(theirs)
    process.send_signal(signal.SIGINT)
    end(process)
    tap.eq(process.returncode, -signal.SIGINT, "on a terminal it ends")
    tap.ok(b"kernel hang<<<" in os.read(ours, 65536), "with the report")
    os.close(ours)
    process = bench.start("idle", HEDDLE_DEBUG="waits")
    process.send_signal(signal.SIGINT)
    tap.eq((end(process), process.returncode), (("", ""), -signal.SIGINT), "without a kernel there is nothing to say")
    for how in ("first", "later"):
        process = bench.start(how, HEDDLE_DEBUG="waits")
        process.send_signal(signal.SIGINT)
        out, error = end(process)
        tap.eq((process.returncode, out, error), (0, "done 128 no error\n", ""), "a program that handles Ctrl-C itself, %s" % how)


def test_usage(bench):
    for args, why in ((["x"], "no number of a process"), (["1", "2"], "a second process"), (["--all"], "unknown option"), (["0"], "no number")):
        got = bench.ps(*args)
        tap.ok(got.returncode == 2 and why in got.stderr, "refused: " + " ".join(args), got.stderr)
    tap.ok(bench.ps("--help").stdout.startswith("usage: heddle ps"), "--help")
    got = bench.ps(os.getpid())
    tap.ok(got.returncode == 1 and "does not use CUDA" in got.stderr, "a process without CUDA", got.stderr)


with tempfile.TemporaryDirectory() as folder:
    bench = Bench(folder)
    test_report(bench)
    test_others(bench)
    test_interrupt(bench)
    test_usage(bench)
tap.done()
