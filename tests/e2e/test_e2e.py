#!/usr/bin/env python3
"""Whole programs on the CPU device: waiting, cooperative grids, swap loops, and what faults report.
Built by `heddle cc`, and by nvcc where there is one.

    test_e2e.py HEDDLE (cc|nvcc)
"""
import os
import shutil
import subprocess
import sys
import tempfile

HEDDLE, COMPILER = os.path.abspath(sys.argv[1]), sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
FAULTS = {
    "none": "cudaSuccess",
    "misaligned": "cudaErrorMisalignedAddress",
    "misaligned_atomic": "cudaErrorMisalignedAddress",
    "null_store": "cudaErrorIllegalAddress",
    "far_load": "cudaErrorIllegalAddress",
    "far_atomic": "cudaErrorIllegalAddress",
    "endless_recursion": "cudaErrorHardwareStackError",
    "trap": "cudaErrorLaunchFailure",
    "wild_call": "cudaErrorIllegalAddress",
    "null_store_in_waiter": "cudaErrorIllegalAddress",
    "endless_recursion_in_waiter": "cudaErrorHardwareStackError",
}
count = failed = 0


def ok(passed, name, note=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    for line in note.splitlines() if not passed else ():
        print("#", line)


def build(folder, name, arch="75", flags=()):
    source, out = os.path.join(HERE, name + ".cu"), os.path.join(folder, name)
    if COMPILER == "nvcc":
        argv = [NVCC, f"-arch=compute_{arch}", "-cudart", "shared", "-O2", "-diag-suppress", "177"]
    else:
        argv = [HEDDLE, "cc", "-O2", f"-arch=compute_{arch}"]
    result = subprocess.run([*argv, *flags, source, "-o", out], capture_output=True, text=True, check=False)
    if result.returncode:
        ok(False, f"{COMPILER} builds {name}", result.stdout + result.stderr)
        return None
    return out


def run(program, *args, **env):
    full = dict(os.environ, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M", **env)
    try:
        return subprocess.run([HEDDLE, "run", program, *args], env=full, capture_output=True, text=True,
                              timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], -1, "it hangs\n", "")


def check_program(folder, name, *flags):
    program = build(folder, name, flags=flags)
    for threads in ("1", "2") if program else ():
        result = run(program, HEDDLE_THREADS=threads)
        ok(result.returncode == 0 and "PASS" in result.stdout, f"{name}, {threads} threads",
           result.stdout + result.stderr)


def check_races_that_gpus_win(folder):
    for flags in ((), ("-O0", "-G")) if COMPILER == "nvcc" else ((), ("-O0",)):
        program = build(folder, "block_sum", flags=flags)
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok("PASS" in result.stdout, f"block_sum {flags}, {env or 'cpu'}", result.stdout + result.stderr)


def check_tensor(folder):
    """heddle cc has no mma.h."""
    for name in ("gemm", "tensor") if COMPILER == "nvcc" else ("gemm",):
        program = build(folder, name, "80")
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok("PASS" in result.stdout, f"{name}, {env or 'cpu'}", result.stdout + result.stderr)


def check_async_copies(folder):
    """libcu++'s barriers and pipelines, which come with nvcc: from sm_90 on with bulk copies."""
    for arch in ("80", "90"):
        for flags in (("-O3",), ("-O0", "-G")):
            program = build(folder, "async_copy", arch, (*flags, "-diag-suppress", "20054"))
            for device in ("cpu", "interp") if program else ():
                result = run(program, HEDDLE_DEVICE=device)
                ok(result.stdout == "PASS\n" and not result.stderr, f"async_copy, {arch} {flags} {device}",
                   result.stdout + result.stderr)


def check_faults(folder):
    program = build(folder, "faults")
    for case, error in FAULTS.items() if program else ():
        result = run(program, case)
        ok(result.returncode == 0 and result.stdout == f"{error} sticky\n", f"fault: {case}",
           f"status {result.returncode}\n{result.stdout}{result.stderr}")


def check_one_bad_kernel(folder):
    program = build(folder, "one_bad_kernel", "80")
    if not program:
        return
    result = run(program)
    ok(result.stdout == "PASS cudaErrorNotSupported\n", "a kernel that cannot be loaded harms no other",
       result.stdout + result.stderr)
    ok("lacking" in result.stderr and "mma.sync" in result.stderr, "stderr names kernel and instruction",
       result.stderr)


def main():
    if COMPILER == "nvcc" and not os.path.exists(NVCC):
        print("1..0 # SKIP no nvcc")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("grid_sync", "swap", "spin"):
            check_program(folder, name)
        check_program(folder, "thread_streams", "--default-stream", "per-thread")
        check_races_that_gpus_win(folder)
        check_tensor(folder)
        check_faults(folder)
        if COMPILER == "nvcc":
            check_async_copies(folder)
        check_one_bad_kernel(folder)
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
