#!/usr/bin/env python3
"""The project of tests/cc/cmake through CMake with heddle-nvcc, then its programs: test_cmake.py HEDDLE CMAKE..."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap  # noqa: E402

HEDDLE = os.path.abspath(sys.argv[1])
NVCC = os.path.join(os.path.dirname(HEDDLE), "heddle-nvcc")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cmake")
CMAKES = [path for path in map(shutil.which, sys.argv[2:] or ["cmake"]) if path]
PROGRAMS = ("whole_Static", "whole_Shared", "separable", "plain", "of_shared", "api")
tap = Tap()


def run(*args, **env):
    return subprocess.run(args, capture_output=True, text=True, timeout=600, check=False, env=dict(os.environ, **env))


def configure(cmake, source, build, generator, arch):
    done = run(HEDDLE, "run", cmake, "-S", source, "-B", build, "-G", generator, f"-DCMAKE_CUDA_COMPILER={NVCC}",
               f"-DCMAKE_CUDA_ARCHITECTURES={arch}")
    good = done.returncode == 0 and "The CUDA compiler identification is NVIDIA 13.0" in done.stdout
    tap.ok(good, f"{generator}, {arch}: CMake takes heddle-nvcc for nvcc", done.stdout[-3000:] + done.stderr[-3000:])
    return good


def build_all(cmake, build, *options):
    # So that the linker finds what a shared library of the project needs, where no CUDA is installed.
    done = run(HEDDLE, "run", cmake, "--build", build, "--parallel", "2", *options)
    tap.ok(done.returncode == 0, f"{' '.join(options)} is built".strip(), (done.stdout + done.stderr)[-4000:])
    return done.returncode == 0


def check_programs(build, programs, **env):
    for name in programs:
        done = run(HEDDLE, "run", os.path.join(build, name), **env)
        tap.ok(done.returncode == 0 and done.stdout.endswith(": right\n"), " ".join([name, *env.values()]), done.stdout + done.stderr)


def ptx_targets(build):
    with open(os.path.join(build, "CMakeFiles/ptx.dir/whole.ptx"), encoding="utf-8") as file:
        return [line.split()[1] for line in file if line.startswith(".target")]


def with_ninja(cmake, folder):
    source, build = os.path.join(folder, "source"), os.path.join(folder, "ninja")
    shutil.copytree(SOURCE, source)
    if not configure(cmake, source, build, "Ninja", "80;90") or not build_all(cmake, build):
        return
    check_programs(build, PROGRAMS)
    check_programs(build, PROGRAMS[:3], HEDDLE_STRICT="1")
    check_programs(build, PROGRAMS[:3], HEDDLE_DEVICE="interp")
    tap.ok(ptx_targets(build) == ["sm_80"], "CUDA_PTX_COMPILATION makes PTX", str(ptx_targets(build)))
    done = run(cmake, "--build", build, "--", "-n")
    tap.ok("no work to do" in done.stdout, "nothing is left to build", done.stdout)
    with open(os.path.join(source, "twice.h"), "a", encoding="utf-8") as file:
        file.write("\n")
    done = run(cmake, "--build", build, "--", "-n", "whole_Static", "separable")
    tap.ok("whole.cu.o" in done.stdout and "other.cu.o" not in done.stdout, "a header's change rebuilds what includes it",
           done.stdout)


def with_make(cmake, folder):
    build = os.path.join(folder, "make")
    if configure(cmake, SOURCE, build, "Unix Makefiles", "native") and build_all(cmake, build, "--target", "separable"):
        check_programs(build, ["separable"])


if not CMAKES:
    print("1..0 # SKIP there is no cmake")
    sys.exit(0)
for tool in CMAKES:
    with tempfile.TemporaryDirectory() as work:
        with_ninja(tool, work)
        with_make(tool, work)
tap.done()
