#!/usr/bin/env python3
"""One program per group of the CUDA APIs, built by `heddle cc`, and by nvcc with the shared and the static runtime.

    test_programs.py HEDDLE (cc|nvcc) [NAME...]
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

HEDDLE, COMPILER, ONLY = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
HERE = os.path.dirname(os.path.abspath(__file__))
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
AT_ONCE = 2
# The targets, in turn; what a program needs at least, and what its environment has to be.
ARCHS = ("75", "80", "90", "120")
NEEDS = {"launch": 90, "tensor_maps": 90, "occupancy": 90}
AT_MOST = {"green": 90}  # what the machine runs
ENV = {
    "peer": {"HEDDLE_DEVICES": "2"},
    "green": {"HEDDLE_MACHINE": "b200", "HEDDLE_THREADS": "16"},  # many SMs
}
RUNS = ({"HEDDLE_DEVICE": "cpu"}, {"HEDDLE_DEVICE": "interp"}, {"HEDDLE_DEVICE": "sim"})
GENERIC = "launch"  # by the least of the CPU's levels, too


def builds(name, number):
    """[(what it is called, command without source and output)]"""
    archs = [arch for arch in ARCHS if NEEDS.get(name, 0) <= int(arch) <= AT_MOST.get(name, 999)]
    shared, static = archs[number % len(archs)], archs[(number + 1) % len(archs)]
    if COMPILER == "cc":
        return [(f"cc {shared}", [HEDDLE, "cc", "-O2", f"-arch=compute_{shared}", "-lcuda"])]
    return [(f"{runtime} {arch}", [NVCC, f"-arch=compute_{arch}", "-cudart", runtime, "-O2", "-diag-suppress", "177",
                                   "-Wno-deprecated-declarations", "-lcuda"])
            for runtime, arch in (("shared", shared), ("static", static))]


def environments(name):
    runs = [dict(run, **ENV.get(name, {})) for run in RUNS]
    return runs + ([dict(runs[0], HEDDLE_CPU="generic")] if name == GENERIC else [])


def run(program, env):
    full = dict(os.environ, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M", **env)
    try:
        return subprocess.run([HEDDLE, "run", program], env=full, capture_output=True, text=True, timeout=120,
                              check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess([], -1, "it hangs\n", str(late.stdout))


def check(folder, name, number):
    """[(passed, name of the check, what to say)] of one program."""
    results = []
    for what, argv in builds(name, number):
        program = os.path.join(folder, f"{name}_{what.replace(' ', '_')}")
        built = subprocess.run([*argv, os.path.join(HERE, name + ".cu"), "-o", program], capture_output=True, text=True,
                               check=False)
        if built.returncode:
            results.append((False, f"{name}, {what}: build", built.stdout + built.stderr))
            continue
        for env in environments(name):
            result = run(program, env)
            words = " ".join(f"{key}={value}" for key, value in env.items())
            results.append((result.returncode == 0 and result.stdout == "PASS\n", f"{name}, {what}, {words}",
                            f"status {result.returncode}\n{result.stdout}{result.stderr}"))
        os.remove(program)
    return results


def main():
    if COMPILER == "nvcc" and not os.path.exists(NVCC):
        print("1..0 # SKIP no nvcc")
        return 0
    names = sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".cu"))
    count = failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(check, folder, name, number) for number, name in enumerate(names)
                if not ONLY or name in ONLY]
        for job in jobs:
            for passed, name, note in job.result():
                count += 1
                failed += not passed
                print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
                for line in note.splitlines() if not passed else ():
                    print("#", line)
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
