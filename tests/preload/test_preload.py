#!/usr/bin/env python3
"""Redirecting embedded runtimes: test_preload.py PRELOAD FAKE_CUDART PROGRAM_PIE PROGRAM_NO_PIE
PROGRAM_12 PROGRAM_LIBRARY PROGRAM_OPENS LIBRARY LIBRARY_THAT_NEEDS_IT
LOOKS_FOR_DEVICES PYTHON_MODULE..."""
import errno
import os
import shutil
import subprocess
import sys
import tempfile

preload, fake, pie, no_pie, cuda12, uses_library, opens, library, needs, looks, *modules = map(os.path.abspath, sys.argv[1:])
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


OPEN = """
import ctypes, os, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError as error:
        print(error)
mapped = {line.split()[-1] for line in open("/proc/self/maps")}
print(*sorted(path for path in mapped if path.startswith(os.environ["FOLDER"]) and "preload.so" not in path))
"""


def opened(*names):
    """The libraries below the folder that are there after a program opened these, relative to it."""
    result = run([sys.executable, "-c", OPEN, *names], {"FOLDER": folder})
    lines = result.stdout.splitlines() or [result.stderr]
    return lines[:-1], [os.path.relpath(path, folder) for path in lines[-1].split()]


CALLS = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
print(*(module.call(name) for name in sys.argv[2:]))
"""


def calls(module, *names, env=None, with_preload=True):
    """What callers of a module's C functions get: ours answer 8 (set device), 5 (synchronise), 12 or 13 (error)."""
    path = {"PYTHONPATH": os.path.dirname(module)}
    result = run([sys.executable, "-c", CALLS, os.path.basename(module).split(".")[0], *names], {**path, **(env or {})}, with_preload)
    return result.stdout.strip(), result.stderr


def check_python_modules():
    plain, per_thread, old, _ = modules
    names = ("_cudaSetDevice", "_cudaDeviceSynchronize", "_cudaGetLastError", "helper")
    out = calls(plain, *names, with_preload=False)
    ok(out[0] == "101 101 101 101", "a Python module calls the runtime it embeds", out)
    out = calls(plain, *names)
    ok(out == ("8 5 13 101", ""), "what it hands out is ours, and nothing else", out)
    out = calls(old, *names)
    ok(out == ("8 5 12 101", ""), "one for CUDA 12 gets its functions", out)
    out = calls(plain, "_cudaOfTomorrow")
    ok(out[0] == "801" and "newer than Heddle's runtime" in out[1], "what ours lacks is refused", out)
    out = calls(per_thread, "_cudaSetDevice", "_cudaDeviceSynchronize")
    ok(out == ("8 55", ""), "a module for per-thread streams gets those functions", out)
    out = calls(plain, "_cudaDeviceSynchronize", env={"CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM": "1"})
    ok(out == ("55", ""), "so does any where the package's variable asks for it", out)


PROVIDERS = """
import onnxruntime_pybind11_state as module
print(*module.registered)
"""


def check_provider():
    """ONNX Runtime's module is told of our provider once, when it has been made."""
    library = os.path.join(folder, "libheddle_onnx.so")
    path = {"PYTHONPATH": os.path.dirname(modules[3])}

    def registered(with_preload=True, **env):
        done = run([sys.executable, "-c", PROVIDERS], {**path, **env}, with_preload)
        return done.stdout + done.stderr
    ok(registered(with_preload=False) == "\n", "ONNX Runtime's module registers nothing by itself")
    out = registered()
    ok(out.startswith("\n") and "libheddle_onnx.so is not there" in registered(HEDDLE_DEBUG="load"), "nothing without the library, which is said", out)
    shutil.copy(fake, library)
    for env in ({}, {"STEPS": "1"}):
        out = registered(**env)
        ok(out == f"CUDAExecutionProvider {library}\n", f"the provider is registered once, {env}", out)
        out = registered(REFUSES="1", **env)
        ok(out == "\n", f"a refusal leaves the module as it is, {env}", out)
    out = registered(HEDDLE_ONNX="off")
    ok(out == "\n", "nothing with HEDDLE_ONNX=off", out)
    os.remove(library)


def check_opening():
    """A vendor's libraries in a folder of theirs, as wheels have them."""
    wheel = os.path.join(folder, "wheel")
    os.mkdir(wheel)
    names = ("libnvrtc.so.13", "libcudart.so.13.0.88", "libcublas.so.13", "libnvrtcx.so.13", "libnvrtc.so.11")
    for name in names:
        shutil.copy(needs, os.path.join(wheel, name))
    os.symlink("libnvrtc.so.13", os.path.join(wheel, "libnvrtc.so"))
    shutil.copy(fake, os.path.join(folder, "libnvrtc.so.13"))
    for asked in ("libnvrtc.so.13", "libnvrtc.so"):
        errors, have = opened(os.path.join(wheel, asked))
        ok(not errors and have == ["libnvrtc.so.13"], f"{asked} by its path is ours", (errors, have))
    shutil.copy(fake, os.path.join(folder, "libcupti.so.13"))
    for asked in ("libcupti.so", "libcupti.so.2025.1.1"):
        shutil.copy(fake, os.path.join(wheel, asked))
        errors, have = opened(os.path.join(wheel, asked))
        ok(not errors and have == ["libcupti.so.13"], f"{asked}, a copy without a version, is ours", (errors, have))
    errors, have = opened("libnvrtc.so.13")
    ok(not errors and have == ["libnvrtc.so.13"], "by its name, too", (errors, have))
    script = os.path.join(wheel, "lib64", "libnvrtc.so")
    os.makedirs(os.path.dirname(script))
    with open(script, "w", encoding="utf-8") as file:
        file.write("INPUT(libnvrtc.so.13)\n")
    for asked in ("libnvrtc.so", script):
        errors, have = opened(asked)
        ok(not errors and have == ["libnvrtc.so.13"], f"{asked.removeprefix(folder + os.sep)} without a version, a linker script, is ours", (errors, have))
    errors, have = opened("libnvrt.so")
    ok(len(errors) == 1 and not have, "the beginning of a name is none of ours", (errors, have))
    errors, have = opened(os.path.join(wheel, "libcudart.so.13.0.88"))
    ok(not errors and have == ["libcudart.so.13"], "a file with the whole version", (errors, have))
    for asked in names[2:]:
        errors, have = opened(os.path.join(wheel, asked))
        ok("wheel/" + asked in have, f"{asked} is not ours and stays", (errors, have))
    missing = os.path.join(wheel, "no", "libnvrtc.so.13")
    errors, have = opened(missing)
    ok(len(errors) == 1 and missing in errors[0] and not have, "a path that is not there fails as ever", (errors, have))
    os.remove(os.path.join(folder, "libnvrtc.so.13"))
    errors, have = opened(os.path.join(wheel, "libnvrtc.so.13"))
    ok("wheel/libnvrtc.so.13" in have, "without one of ours the vendor's is opened", (errors, have))


def check_devices():
    """Files of the vendor's driver seem to be there; all others are what they are."""
    def seen(path, devices="1"):
        line = run([looks, path], {"HEDDLE_DEVICES": devices}).stdout
        return line[len(path) + 2:].strip()

    none = f"{errno.ENOENT} " * 6 + "other 0:0"
    there = f"0 0 0 0 {errno.EACCES} {errno.ENOENT} device 195:"
    if os.path.exists("/dev/nvidiactl"):
        print("# this machine has the vendor's driver: its files are its own")
        return
    ok(seen("/dev/nvidiactl") == there + "255", "/dev/nvidiactl", seen("/dev/nvidiactl"))
    ok(seen("/dev/nvidia0") == there + "0", "/dev/nvidia0", seen("/dev/nvidia0"))
    ok(seen("/dev/nvidia1", "2") == there + "1", "the second of two devices", seen("/dev/nvidia1", "2"))
    for path in ("/dev/nvidia1", "/dev/nvidia00", "/dev/nvidia0x", "/dev/nvidia", "/dev/nvidia-uvm", folder + "/nvidia0"):
        ok(seen(path) == none, f"{path} is not there", seen(path))
    ok(seen("/dev/null").startswith("0 0 0 0 "), "/dev/null is what it is", seen("/dev/null"))


def check_assembler():
    """A client's ptxas becomes ours; nvcc's stays."""
    vendor = os.path.join(folder, "vendor")
    os.mkdir(vendor)
    theirs, nvcc, ours = (os.path.join(vendor, name) for name in ("ptxas", "nvcc", "ours"))
    shutil.copy(os.path.realpath(shutil.which("echo")), theirs)
    shutil.copy(os.path.realpath(shutil.which("sh")), nvcc)
    with open(ours, "w") as script:
        script.write('#!/bin/sh\necho "ours: $*"\n')
    os.chmod(ours, 0o755)
    arguments = ["-arch=sm_90", "a b.ptx"]
    for way, command in (("directly", [theirs, *arguments]),
                         ("by a shell", ["sh", "-c", '"$0" "$@"; true', theirs, *arguments])):
        result = run(command, {"HEDDLE_PTXAS": ours})
        ok(result.stdout == "ours: -arch=sm_90 a b.ptx\n", f"started {way} it is ours", result.stdout + result.stderr)
    result = run([theirs, "x"])
    ok(result.stdout == "x\n", "without HEDDLE_PTXAS it stays", result.stdout)
    result = run([theirs, "x"], {"HEDDLE_PTXAS": theirs})
    ok(result.stdout == "x\n", "ours may have that name", result.stdout)
    result = run([theirs, "x"], {"HEDDLE_PTXAS": ours + "?"})
    ok(result.stdout == "x\n" and "cannot be run in place of" in result.stderr, "one that is not there is named",
       result.stdout + result.stderr)
    for way, script in (("nvcc", '"$0" x; true'), ("nvcc by a shell", 'sh -c "$0 x; true"; true')):
        result = run([nvcc, "-c", script, theirs], {"HEDDLE_PTXAS": ours})
        ok(result.stdout == "x\n", f"started by {way} it stays", result.stdout + result.stderr)


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
    check_python_modules()
    check_provider()
    check_opening()
    check_devices()
    check_assembler()
    os.remove(os.path.join(folder, "libcudart.so.13"))
    result = run([pie])
    ok(result.returncode == 0 and "cannot load our libcudart.so.13" in result.stderr,
       "a missing libcudart is reported", result.stderr)
print(f"1..{count}")
sys.exit(failed != 0)
