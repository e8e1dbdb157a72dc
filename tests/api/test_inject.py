#!/usr/bin/env python3
"""CUDA_INJECTION64_PATH: test_inject.py PROGRAM TOOL: a tool that works, and paths of none."""
import os
import subprocess
import sys

PROGRAM, TOOL = sys.argv[1:3]
COUNT = FAILED = 0


def check(passed, name, done):
    global COUNT, FAILED
    COUNT += 1
    FAILED += not passed
    print(f"{'ok' if passed else 'not ok'} {COUNT} - {name}")
    if not passed:
        print("# " + "\n# ".join((done.stdout + done.stderr).splitlines()))


def run(path):
    env = {**os.environ, "HEDDLE_DEVICE": "interp"}
    env.pop("CUDA_INJECTION64_PATH", None)
    if path is not None:
        env["CUDA_INJECTION64_PATH"] = path
    return subprocess.run([PROGRAM], env=env, capture_output=True, text=True, timeout=60)


done = run(TOOL)
check(done.returncode == 0 and done.stdout == "done\n# tool: 3 launches, 3 kernels\n", "a tool sees what happens", done)
done = run("/nowhere/tool.so")
check(done.returncode == 0 and done.stdout == "done\n" and "CUDA_INJECTION64_PATH: /nowhere/tool.so" in done.stderr,
      "a path of nothing is told, and the program goes on", done)
done = run("libm.so.6")
check(done.returncode == 0 and "has no InitializeInjection()" in done.stderr, "a library that is no tool", done)
done = run("")
check(done.returncode == 0 and done.stdout == "done\n" and not done.stderr, "an empty path is none", done)
done = run(None)
check(done.returncode == 0 and done.stdout == "done\n" and not done.stderr, "none", done)
print(f"1..{COUNT}")
sys.exit(FAILED != 0)
