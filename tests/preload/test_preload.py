#!/usr/bin/env python3
"""Redirecting embedded runtimes: test_preload.py PRELOAD FAKE_CUDART PROGRAM_PIE PROGRAM_NO_PIE
PROGRAM_12 PROGRAM_LIBRARY"""
import os
import shutil
import subprocess
import sys
import tempfile

preload, fake, pie, no_pie, cuda12, uses_library = map(os.path.abspath, sys.argv[1:7])
count = failed = 0


def ok(passed, name, note=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - {name}")
    if not passed:
        for line in str(note).splitlines():
            print("#", line)


def run(argv, env=None, with_preload=True):
    full = dict(os.environ, **(env or {}))
    full.pop("HEDDLE_LOG", None)
    if with_preload:
        full["LD_PRELOAD"] = os.path.join(folder, "libheddle_preload.so")
    return subprocess.run(argv, env=full, capture_output=True, text=True, timeout=60)


def want(last):
    return (f"constructor: 0 13000\nmalloc: 0 1\nfree: 0\nshort: 5\nlast: {last}\n"
            "future: 801 801\nmine: 77\n")


with tempfile.TemporaryDirectory() as folder:
    shutil.copy(preload, folder)
    shutil.copy(fake, os.path.join(folder, "libcudart.so.13"))
    plain = run([pie], with_preload=False)
    ok("constructor: 103 -1" in plain.stdout and "future: 3 7" in plain.stdout,
       "without preload the embedded runtime runs", plain.stdout)
    for name, program, last in (("PIE", pie, 13), ("no PIE", no_pie, 13), ("CUDA 12", cuda12, 12)):
        result = run([program])
        ok(result.returncode == 0 and result.stdout == want(last),
           f"{name}: every entry point is redirected, before constructors run",
           result.stdout + result.stderr)
        ok(result.stderr.count("cudaOfTheFuture is not supported") == 1,
           f"{name}: a missing entry point is named once", result.stderr)
        ok("__cudaShort" not in result.stderr, f"{name}: short functions are no problem",
           result.stderr)
    result = run([pie], {"HEDDLE_DEBUG": "load"})
    ok("embedded CUDA 13 runtime: 5 entry points redirected, 2 not supported" in result.stderr,
       "HEDDLE_DEBUG=load tells", result.stderr)
    result = run(["/bin/sh", "-c", f"echo shell; {pie}"])
    ok(result.stdout == "shell\n" + want(13), "a child of a shell is redirected, too",
       result.stdout + result.stderr)
    result = run([uses_library], {"HEDDLE_DEBUG": "load"})
    ok(result.stdout == "library: 0 13000\ncall: 0\n",
       "a runtime inside a library is redirected before the library's constructors",
       result.stdout + result.stderr)
    result = run(["/bin/sh", "-c", "echo hello"])
    ok(result.stdout == "hello\n" and result.stderr == "", "other programs notice nothing",
       result.stderr)
    if shutil.which("strip"):
        stripped = os.path.join(folder, "stripped")
        shutil.copy(pie, stripped)
        subprocess.run(["strip", stripped], check=True)
        result = run([stripped])
        ok("constructor: 103 -1" in result.stdout, "a stripped program is left alone",
           result.stdout)
    os.remove(os.path.join(folder, "libcudart.so.13"))
    result = run([pie])
    ok(result.returncode == 0 and "cannot load our libcudart.so.13" in result.stderr,
       "a missing libcudart is reported", result.stderr)
print(f"1..{count}")
sys.exit(failed != 0)
