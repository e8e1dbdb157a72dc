#!/usr/bin/env python3
"""What heddle check and heddle gdb have started ends when they are killed: test_orphans.py HEDDLE"""
import os
import signal
import subprocess
import sys
import tempfile
import time

from support import Tap, clean_env, has_gdb, variants

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hang.cu")
PATIENCE_S = 100


def running(path):
    """Processes that execute this file, or have it as an argument; not those that have ended."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
            with open("/proc/%s/stat" % name) as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except (OSError, IndexError):
            continue
        if name.isdigit() and path in words and state not in "ZX":
            found.append(int(name))
    return found


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.env = clean_env("CUDA_")
        self.env.update(HEDDLE_CACHE=os.path.join(folder, "cache"), HEDDLE_THREADS="1", TMPDIR=folder, HOME=folder, **variants.current().env())
        self.program = os.path.join(folder, "hang")
        got = subprocess.run(variants.current().command(heddle, SOURCE, self.program), capture_output=True, text=True, env=self.env, timeout=200)
        tap.ok(got.returncode == 0, "builds", got.stdout + got.stderr)

    def start(self, *args):
        return subprocess.Popen([heddle, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)

    def kill(self, process, what):
        """Its command is killed; the program is to end."""
        tap.ok(running(self.program), "%s: it runs" % what)
        process.kill()
        process.wait()
        tap.ok(wait_until(lambda: not running(self.program)), "%s: the program ends with it" % what, running(self.program))
        for pid in running(self.program):
            os.kill(pid, signal.SIGKILL)


def wait_for(process, text, times=1):
    """Reads until it has printed a text that often."""
    seen = ""
    while seen.count(text) < times:
        got = process.stdout.readline()
        if not got:
            break
        seen += got
    tap.ok(seen.count(text) == times, "prints '%s'" % text.strip(), seen)


def test_check(bench):
    process = bench.start("check", bench.program, "wait")
    wait_for(process, "runs\n")
    bench.kill(process, "heddle check")
    script = "%s wait & (%s wait &) ; exec %s wait" % (bench.program, bench.program, bench.program)
    process = bench.start("check", "sh", "-c", script)
    wait_for(process, "runs\n", 3)
    tap.ok(len(running(bench.program)) >= 3, "processes of a script", running(bench.program))
    bench.kill(process, "heddle check of a script")
    process = bench.start("check", "--target-processes", "application-only", "sh", "-c", "exec " + bench.program + " wait")
    wait_for(process, "runs\n")
    bench.kill(process, "application-only")
    process = bench.start("check", bench.program)
    wait_for(process, "runs\n")
    out, _ = process.communicate("\n", timeout=PATIENCE_S)
    tap.ok("done 128 no error" in out and "ERROR SUMMARY: 0 errors" in out and process.returncode == 0, "a program that ends is not disturbed", out)


def test_left(bench):
    """What is to survive does: a child that nobody waits for, when heddle check has come to its end."""
    marker = os.path.join(bench.folder, "marker")
    with open(marker, "w") as file:
        file.write("while [ -e %s ]; do sleep 0.05; done\n" % marker)
    process = bench.start("check", "--require-cuda-init", "no", "--target-processes", "application-only", "sh", "-c",
                          "sh %s </dev/null >/dev/null 2>&1 &" % marker)
    process.communicate(timeout=PATIENCE_S)
    tap.ok(len(running(marker)) == 1, "a child that is not waited for goes on", running(marker))
    os.unlink(marker)
    tap.ok(wait_until(lambda: not running(marker)), "until it ends by itself")


def test_gdb(bench):
    if not has_gdb():
        tap.skip("no gdb 13 with Python")
        return
    process = bench.start("gdb", "-ex", "echo ready\\n", bench.program, "wait")
    wait_for(process, "ready\n")
    bench.kill(process, "heddle gdb before the program begins")
    process = bench.start("gdb", "-ex", "set cuda break_on_launch all", "-ex", "run", bench.program, "wait")
    wait_for(process, "[Switching focus")
    bench.kill(process, "heddle gdb at a stop")
    process = bench.start("gdb", "-ex", "run", bench.program, "wait")
    wait_for(process, "runs\n")
    bench.kill(process, "heddle gdb while a kernel runs")


def test_core(bench):
    if not has_gdb():
        return
    core = os.path.join(os.path.dirname(SOURCE), "../fuzz/corpus/core/kernel.core")
    process = bench.start("gdb", "-ex", "echo ready\\n", "--core", core)
    wait_for(process, "ready\n")
    tap.ok(len(running(core)) >= 1, "a core dump has a server")
    process.kill()
    process.wait()
    tap.ok(wait_until(lambda: not running(core)), "which ends with its debugger")


with tempfile.TemporaryDirectory() as folder:
    bench = Bench(folder)
    test_check(bench)
    test_left(bench)
    test_gdb(bench)
    test_core(bench)
tap.done()
