#!/usr/bin/env python3
"""The kernel library's CUDA C++ (src/klib/cuda): its test programs, built by `heddle cc`, on the devices
cpu and interp; without optimisation, too; and built by nvcc, where there is one, with every warning an error.

    test_klib.py HEDDLE SOURCE_ROOT (run|debug|nvcc)
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HEDDLE, ROOT, MODE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
HEADERS = os.path.join(ROOT, "src/klib/cuda")
PROGRAMS = sorted(glob.glob(os.path.join(ROOT, "tests/klib/*.cu")))
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
NVCC_ARCHS = ("80", "90", "120")
count = failed = 0


def ok(passed, name, note=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    for line in note.splitlines()[:30] if not passed else ():
        print("#", line)


def run(*argv, **env):
    try:
        return subprocess.run(argv, env=dict(os.environ, HEDDLE_MEMORY="256M", **env), capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired as e:
        return subprocess.CompletedProcess(argv, -1, str(e.stdout), "it hangs\n")


def check_program(folder, source, flags, devices):
    name = os.path.basename(source)
    program = os.path.join(folder, name[:-3])
    done = run(HEDDLE, "cc", "-std=c++17", "-Wall", "-Wextra", f"-I{HEADERS}", *flags, source, "-o", program)
    ok(done.returncode == 0 and not done.stderr, f"heddle cc builds {name} {' '.join(flags)}", done.stderr)
    for device in devices if done.returncode == 0 else ():
        done = run(program, HEDDLE_DEVICE=device)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("ok")]
        ok(done.returncode == 0 and "1.." in done.stdout, f"{name} {' '.join(flags)} on {device}", "\n".join(lines) + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for source in PROGRAMS:
            if MODE == "run":
                check_program(folder, source, ["-O2", "-arch=sm_80"], ("cpu", "interp"))
            elif MODE == "debug":
                check_program(folder, source, ["-O0", "-G", "-arch=sm_80"], ("cpu",))
                check_program(folder, source, ["-O2", "-arch=sm_70"], ("cpu",))
            elif os.path.exists(NVCC):
                targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in NVCC_ARCHS]
                done = run(NVCC, "-std=c++17", "-Werror", "all-warnings", *targets, f"-I{HEADERS}", "-c", source, "-o", os.path.join(folder, "nvcc.o"))
                ok(done.returncode == 0, f"nvcc builds {os.path.basename(source)}", done.stdout + done.stderr)
            else:
                ok(True, "nvcc # SKIP there is none")
        if MODE == "run":  # each header brings what it needs
            for header in sorted(glob.glob(os.path.join(HEADERS, "*.cuh"))):
                done = run(HEDDLE, "cc", "-x", "cu", "-std=c++17", "-Wall", "-ptx", "-arch=sm_80", header, "-o", os.path.join(folder, "h.ptx"))
                ok(done.returncode == 0 and not done.stderr, f"{os.path.basename(header)} alone", done.stderr)
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
