#!/usr/bin/env python3
"""heddle checkpoint, as cuda-checkpoint: test_checkpoint.py CUDA_CHECKPOINT LIBCUDA

The process that it works on is a Python that calls the driver, when it is told to by a line."""
import os
import subprocess
import sys

from support import Tap

command, libcuda = sys.argv[1:3]
tap = Tap()
TARGET = f"""
import ctypes, sys
cuda = ctypes.CDLL({libcuda!r})
assert cuda.cuInit(0) == 0
n = ctypes.c_int()
print("ready", flush=True)
for line in sys.stdin:
    assert cuda.cuDeviceGetCount(ctypes.byref(n)) == 0
    print("devices", n.value, flush=True)
"""


def run(*args):
    return subprocess.run([command, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def start(text):
    return subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "HEDDLE_DEVICES": "2"})


def state(pid):
    return run("--get-state", "--pid", pid).stdout.strip()


def test_actions(pid):
    tap.eq(state(pid), "running", "its state")
    got = run("--get-restore-tid", "--pid", pid)
    tap.ok(os.path.exists(f"/proc/{pid}/task/{got.stdout.strip()}"), "its thread", got.stdout + got.stderr)
    for action, after in (("lock", "locked"), ("checkpoint", "checkpointed"), ("restore", "locked"), ("unlock", "running")):
        got = run("--action", action, "--pid", pid, "--timeout", "20000")
        tap.eq((got.returncode, got.stdout, got.stderr), (0, "", ""), action)
        tap.eq(state(pid), after, f"after it: {after}")
    got = run("--action", "unlock", "-p", pid)
    tap.eq(got.returncode, 1, "unlock what runs")
    tap.ok("it is running, not locked" in got.stderr and "ILLEGAL_STATE" in got.stderr, "says why", got.stderr)
    got = run("--get-state", "--pid", pid, "--json")
    tap.ok('"state": "running"' in got.stdout and f'"pid": {pid}' in got.stdout, "--json", got.stdout)


def test_toggle(target, pid):
    tap.eq(run("--toggle", "--pid", pid).returncode, 0, "toggle")
    tap.eq(state(pid), "checkpointed", "it can be saved")
    target.stdin.write("\n")
    target.stdin.flush()
    tap.eq(state(pid), "checkpointed", "its call waits")
    tap.eq(run("--toggle", "--pid", pid).returncode, 0, "toggle again")
    tap.eq(target.stdout.readline(), "devices 2\n", "and has its answer")
    tap.eq(run("--action", "lock", "--pid", pid).returncode, 0, "lock")
    got = run("--toggle", "--pid", pid)
    tap.ok(got.returncode == 1 and "it is locked, not running" in got.stderr, "locked is neither", got.stderr)
    tap.eq(run("--action", "unlock", "--pid", pid).returncode, 0, "unlock")


def test_usage(pid):
    for args in ([], ["--toggle"], ["--pid", pid], ["--action", "stop", "--pid", pid], ["--toggle", "--pid", "0x7"],
                 ["--toggle", "--pid"], ["--toggle", "--get-state", "--pid", pid], ["--toggle", "--pid", pid, "stop"],
                 ["--action", "lock", "--pid", pid, "--timeout", "-1"], ["--toggle", "--pid", "99999999999"]):
        got = run(*args)
        tap.ok(got.returncode == 2 and got.stderr.startswith("heddle: cuda-checkpoint: "), f"wrong usage: {' '.join(args)}", got.stderr)
    tap.eq(state(pid), "running", "nothing happened")


def test_others():
    idle = start("input()")
    got = run("--get-state", "--pid", str(idle.pid))
    tap.ok(got.returncode == 1 and "does not use CUDA" in got.stderr, "a process without CUDA", got.stderr)
    idle.communicate("\n")
    got = run("--toggle", "--pid", str(idle.pid))
    tap.ok(got.returncode == 1 and "there is no process" in got.stderr, "one that has ended", got.stderr)


def main():
    target = start(TARGET)
    tap.eq(target.stdout.readline(), "ready\n", "a process uses CUDA")
    pid = str(target.pid)
    test_actions(pid)
    test_toggle(target, pid)
    test_usage(pid)
    test_others()
    target.communicate()
    tap.eq(target.returncode, 0, "the process ends as it would have")
    tap.done()


main()
