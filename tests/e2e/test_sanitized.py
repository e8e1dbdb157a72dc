#!/usr/bin/env python3
"""Host programs that are built with sanitizers: they start, their kernels run, faults of their own are reported and nothing of ours is.

    test_sanitized.py HEDDLE (cc|nvcc|nvcc-clang)
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap  # noqa: E402

HEDDLE, COMPILER = os.path.abspath(sys.argv[1]), sys.argv[2]
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sanitized.cu")
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
HOST = {"cc": "clang++-19", "nvcc": "g++", "nvcc-clang": "clang++-19"}[COMPILER]
# sanitizer: {the program's fault: what its report says}
FAULTS = {
    "address": {"overflow": "heap-buffer-overflow", "wild": "AddressSanitizer: SEGV", "leak": r"SUMMARY: AddressSanitizer: 10 byte\(s\) leaked in 1 allocation"},
    "leak": {"leak": r"SUMMARY: LeakSanitizer: 10 byte\(s\) leaked in 1 allocation"},
    "thread": {"race": "ThreadSanitizer: data race"},
    "undefined": {"undefined": "signed integer overflow"},
}
tap = Tap()


def build(folder, sanitizer, kind):
    out = os.path.join(folder, sanitizer + "-" + kind)
    flags = ["-arch=compute_80", "-O1", "-Xcompiler", f"-fsanitize={sanitizer}"]
    if COMPILER == "cc":
        argv = [HEDDLE, "cc", *flags]
    else:
        argv = [NVCC, *flags, "-cudart", kind, *(["-ccbin", HOST, "-allow-unsupported-compiler"] if COMPILER == "nvcc-clang" else [])]
    done = subprocess.run([*argv, SOURCE, "-o", out], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, f"{sanitizer}, {kind}: it builds", done.stdout + done.stderr)
    return None if done.returncode else out


def run(*argv):
    env = dict(os.environ, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M")
    for name in ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
        env.pop(name, None)
    try:
        return subprocess.run([HEDDLE, "run", *argv], env=env, capture_output=True, text=True, errors="replace", timeout=100, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess([], -1, "it hangs\n", str(late.stderr))


def has(sanitizer):
    """Is there a runtime for it?"""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "a")
        done = subprocess.run([HOST, f"-fsanitize={sanitizer}", "-x", "c++", "-", "-o", out], input="int main() { return 0; }", text=True,
                              capture_output=True, check=False)
        return not done.returncode and not subprocess.run([out], capture_output=True, check=False).returncode


def check(folder, sanitizer, kind):
    program = build(folder, sanitizer, kind)
    if not program:
        return
    for argv in ((program,), ("/bin/sh", "-c", program)):  # a script starts it
        done = run(*argv)
        tap.ok((done.returncode, done.stdout, done.stderr) == (0, "PASS\n", ""), f"{sanitizer}, {kind}: no report, {len(argv)}",
               f"{done.returncode} {done.stdout}{done.stderr}"[:4000])
    done = run(program, "fault")
    tap.ok(done.stdout == "PASS\n", f"{sanitizer}, {kind}: a kernel's fault is the kernel's", f"{done.returncode} {done.stdout}{done.stderr}"[:4000])
    for fault, words in FAULTS[sanitizer].items():
        done = run(program, fault)
        tap.ok(re.search(words, done.stderr) is not None, f"{sanitizer}, {kind}: the program's {fault}", f"{done.returncode} {done.stdout}{done.stderr}"[:4000])


def main():
    if COMPILER != "cc" and not os.path.exists(NVCC) or not shutil.which(HOST):
        print("1..0 # SKIP no nvcc or host compiler")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for sanitizer in filter(has, FAULTS):
            for kind in ("shared",) if COMPILER == "cc" else ("shared", "static"):
                check(folder, sanitizer, kind)
    return tap.done()


sys.exit(main())
