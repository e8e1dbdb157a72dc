#!/usr/bin/env python3
"""The project of tests/cc/meson through Meson with Heddle's toolkit, then its test: test_meson.py HEDDLE [MESON]..."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap  # noqa: E402

HEDDLE = os.path.abspath(sys.argv[1])
TOOLKIT = os.path.join(os.path.dirname(HEDDLE), "cuda")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meson")
MESONS = [path for path in map(shutil.which, sys.argv[2:] or ["meson"]) if path]
tap = Tap()


def run(*args):
    """As a user's shell has it whose toolkit is Heddle's."""
    env = {name: value for name, value in os.environ.items() if name != "CUDA_HOME"}
    env.update(CUDA_PATH=TOOLKIT, PATH=os.path.join(TOOLKIT, "bin") + os.pathsep + env["PATH"])
    return subprocess.run(args, capture_output=True, text=True, timeout=300, check=False, env=env)


def check(meson, build):
    done = run(meson, "setup", build, SOURCE)
    tap.ok(done.returncode == 0 and "YES 13.0" in done.stdout and "WARNING: Could not" not in done.stdout,
           "Meson takes Heddle's nvcc and toolkit", done.stdout[-3000:] + done.stderr[-2000:])
    if done.returncode:
        return
    done = run(meson, "compile", "-C", build)
    tap.ok(done.returncode == 0, "the project is built", (done.stdout + done.stderr)[-4000:])
    done = run(HEDDLE, "run", meson, "test", "-C", build)
    tap.ok(done.returncode == 0 and "Ok:                 1" in done.stdout, "and its test passes", done.stdout + done.stderr)


for program in MESONS:
    with tempfile.TemporaryDirectory() as folder:
        check(program, os.path.join(folder, "build"))
if not MESONS:
    tap.skip("no Meson")
tap.done()
