#!/usr/bin/env python3
"""Redirecting embedded runtimes: test_preload.py PRELOAD FAKE_CUDART PROGRAM_PIE PROGRAM_NO_PIE
PROGRAM_12 PROGRAM_LIBRARY PROGRAM_OPENS LIBRARY LIBRARY_THAT_NEEDS_IT"""
import os
import shutil
import subprocess
import sys
import tempfile

preload, fake, pie, no_pie, cuda12, uses_library, opens, library, needs = map(os.path.abspath, sys.argv[1:10])
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
    return (f"constructor: 0 13000\nmalloc: 0 1\nfree: 0\nshort: 5 9\nlast: {last}\n"
            "own: 7 13000\nmine: 77\n")


with tempfile.TemporaryDirectory() as folder:
    shutil.copy(preload, folder)
    shutil.copy(fake, os.path.join(folder, "libcudart.so.13"))
    plain = run([pie], with_preload=False)
    ok("constructor: 103 -1" in plain.stdout and "own: 7 -1" in plain.stdout,
       "without preload the embedded runtime runs", plain.stdout)
    for name, program, last in (("PIE", pie, 13), ("no PIE", no_pie, 13), ("CUDA 12", cuda12, 12)):
        result = run([program])
        ok(result.returncode == 0 and result.stdout == want(last),
           f"{name}: every entry point is redirected, before constructors run",
           result.stdout + result.stderr)
        ok(result.stderr.count("cudaDeviceGetNvSciSyncAttributes of the embedded CUDA runtime cannot be redirected") == 1
           and result.stderr.count("\n") == 1 + (last == 12), f"{name}: what our library lacks is named, nothing else",
           result.stderr)
    result = run([pie], {"HEDDLE_DEBUG": "load"})
    ok("embedded CUDA 13 runtime: 6 entry points redirected, 1 not" in result.stderr,
       "HEDDLE_DEBUG=load tells", result.stderr)
    result = run(["/bin/sh", "-c", f"echo shell; {pie}"])
    ok(result.stdout == "shell\n" + want(13), "a child of a shell is redirected, too",
       result.stdout + result.stderr)
    result = run([uses_library], {"HEDDLE_DEBUG": "load"})
    ok(result.stdout == "library: 0 13000\ncall: 0\n",
       "a runtime inside a library is redirected before the library's constructors",
       result.stdout + result.stderr)
    result = run([opens, "1", library], with_preload=False)
    ok("the embedded runtime ran" in result.stdout, "without preload it runs in a library that is opened",
       result.stdout)
    result = run([opens, "20", library, needs])
    lines = result.stdout.splitlines()
    ok(result.returncode == 0 and lines[-1:] == ["opened"] and set(lines[:-1]) == {"library: 0 13000"},
       "a library opened later is redirected before its constructors, every time; so is one that it needs",
       result.stdout + result.stderr)
    result = run([opens, "2", os.path.relpath(library)])
    ok(result.returncode == 0, "a library opened by a relative path", result.stdout + result.stderr)
    deep = os.path.join(folder, "deep", "er")
    os.makedirs(deep)
    result = run([opens, "2", shutil.copy(library, deep)])
    ok(result.returncode == 0, "a library below the folder of our own", result.stdout + result.stderr)
    result = run([sys.executable, "-c", f"import ctypes; print(ctypes.CDLL({library!r}).library_call())"])
    ok(result.stdout.endswith("0\n") and "library: 0 13000" in result.stdout, "an interpreter opens one",
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
