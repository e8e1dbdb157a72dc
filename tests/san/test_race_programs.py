#!/usr/bin/env python3
"""What racecheck says of races.cu, on both devices: test_race_programs.py HEDDLE (cc|nvcc)"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap, find_nvcc  # noqa: E402

HEDDLE, COMPILER = os.path.abspath(sys.argv[1]), sys.argv[2]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "races.cu")
RACES = ("alias far_alias through_pointer through_variable chosen counted tiles_before tiles_after halves rows "
         "copied_early copied_own_early copied_mbarrier_early").split()
NONE = "apart one_allocation far other_pointer tiles copied copied_all copied_own copied_mbarrier".split()
tap = Tap()


def build(folder):
    out = os.path.join(folder, "races")
    compiler = [find_nvcc(), "-arch=compute_80", "-cudart", "shared"] if COMPILER == "nvcc" else [HEDDLE, "cc", "-arch=compute_80"]
    done = subprocess.run([*compiler, "-O2", "-lineinfo", SOURCE, "-o", out], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, f"{COMPILER} builds the program", done.stdout + done.stderr)
    return out if done.returncode == 0 else None


def check(program, name, device):
    env = dict(os.environ, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M", HEDDLE_DEVICE=device)
    done = subprocess.run([HEDDLE, "check", "--tool", "racecheck", program, name], env=env, capture_output=True, text=True,
                          timeout=100, check=False)
    found = re.search(r"RACECHECK SUMMARY: (\d+) hazards? displayed", done.stdout)
    races = found and int(found[1]) > 0
    tap.ok(found and bool(races) == (name in RACES), f"{name}, {device}: {'a race' if name in RACES else 'none'}",
           done.stdout + done.stderr)
    tap.ok("no error" in done.stdout, f"{name}, {device}: runs to its end", done.stdout)


if COMPILER == "nvcc" and not find_nvcc():
    tap.skip("no nvcc")
else:
    with tempfile.TemporaryDirectory() as at:
        built = build(at)
        for case in RACES + NONE if built else ():
            for kind in ("cpu", "interp"):
                check(built, case, kind)
tap.done()
