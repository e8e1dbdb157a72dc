#!/usr/bin/env python3
"""
Programs of tests/cc/headers, one for each header of ours that has a namesake in a toolkit: built by heddle cc for several
targets and, where there is a toolkit, by nvcc with its headers. Each checks itself, and all of one name print the same.

    test_headers.py HEDDLE SOURCE_ROOT [NAME...]
"""
import glob
import os
import subprocess
import sys
import tempfile

HEDDLE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import cuda_toolkit  # noqa: E402

FOLDER = os.path.join(ROOT, "tests/cc/headers")
ARCHS = ("75", "80", "90", "120")
# How nvcc and clang are told what one of them does by itself.
NVCC_FLAGS = ["--extended-lambda", "-Wno-deprecated-gpu-targets"]
number = failed = 0


def ok(passed, name, detail=""):
    global number, failed
    number += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    if not passed:
        for line in detail.splitlines()[:20]:
            print("#", line)


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ, **env))


def first_line_words(source, word):
    """What the file says of itself: " * targets: 80 90"."""
    with open(source, encoding="utf-8") as file:
        for line in file:
            if line.startswith(f" * {word}: "):
                return line.split(":", 1)[1].split()
    return None


def compiled(compiler, arch, *words):
    if compiler == "nvcc":
        return run(cuda_toolkit.find_nvcc(), f"-arch=compute_{arch}", "-cudart=shared", "-std=c++17", *NVCC_FLAGS, *words)
    return run(HEDDLE, "cc", f"-arch=sm_{arch}", "-std=c++17", "-Wall", *words)


def output_of(compiler, source, arch, work):
    """What the program prints, or None when it does not build or is not right."""
    name = os.path.splitext(os.path.basename(source))[0]
    program = os.path.join(work, f"{name}-{arch}-{compiler}")
    libraries = [f"-l{library}" for library in first_line_words(source, "libraries") or []]
    done = compiled(compiler, arch, "-o", program, source, *libraries)
    env = {variable: program + ".so" for variable in first_line_words(source, "tool") or []}
    if env and done.returncode == 0:
        done = compiled(compiler, arch, "-o", program + ".so", source, "-DLIBRARY", "-shared", "-Xcompiler", "-fPIC")
    ok(done.returncode == 0 and (compiler == "nvcc" or not done.stderr), f"{name} builds with {compiler} for {arch}", done.stderr)
    if done.returncode:
        return None
    done = run(HEDDLE, "run", program, **env)
    right = done.returncode == 0 and done.stdout.endswith("all right\n")
    ok(right, f"{name} of {compiler} for {arch} is right", done.stdout + done.stderr)
    return done.stdout if right else None


def check(source, work):
    archs = first_line_words(source, "targets") or ARCHS
    outputs = {("heddle cc", arch): output_of("heddle cc", source, arch, work) for arch in archs}
    if cuda_toolkit.find_nvcc() and first_line_words(source, "toolkit") != ["no"]:
        outputs["nvcc", archs[-1]] = output_of("nvcc", source, archs[-1], work)
    said = set(outputs.values())
    ok(len(said) == 1, f"{os.path.basename(source)}: all print the same", "\n---\n".join(str(text) for text in said))


def main():
    wanted = sys.argv[3:]
    with tempfile.TemporaryDirectory() as work:
        for source in sorted(glob.glob(os.path.join(FOLDER, "*.cu"))):
            if not wanted or os.path.splitext(os.path.basename(source))[0] in wanted:
                check(source, work)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
