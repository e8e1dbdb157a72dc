#!/usr/bin/env python3
"""Whole programs on the CPU device: waiting, cooperative grids, swap loops, and what faults report.
Built by `heddle cc`, and by nvcc where there is one.

    test_e2e.py HEDDLE (cc|nvcc)
"""
import json
import os
import re
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
    source, out = os.path.join(HERE, name + ".cu"), os.path.join(folder, os.path.basename(name))
    if COMPILER == "nvcc":
        target = f"-gencode=arch=compute_{arch},code=compute_{arch}" if arch[-1] == "a" else f"-arch=compute_{arch}"
        argv = [NVCC, target, "-cudart", "shared", "-O2", "-diag-suppress", "177"]
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


def check_small_stacks(folder):
    """nvcc's own static runtime needs 24 KiB of a thread itself."""
    whiches = ("32", "64", "100", "2048", "main", "deep", "coroutine", "signal", "many")
    kinds = ((("-O2",), ("16", *whiches)), (("-O0", "-G"), whiches), (("-cudart", "static"), whiches)) if COMPILER == "nvcc" else \
        ((("-O2",), ("16", *whiches)), (("-O0",), whiches))
    for flags, those in kinds:
        program = build(folder, "small_stacks", "80", flags)
        for which in those if program else ():
            result = run(program, which)
            ok(result.stdout == "PASS\n", f"little stack {flags}: {which}", f"{result.returncode} {result.stdout}{result.stderr}")
        for which in ("main", "32") if program else ():
            result = run("/bin/sh", "-c", f"ulimit -s 64; exec {program} {which}")
            ok(result.stdout == "PASS\n", f"little stack {flags}: the program's limit, {which}", result.stdout + result.stderr)


def check_last_words(folder):
    program = build(folder, "last_words")
    for args, error in (((), "cudaErrorLaunchFailure"), (("store",), "cudaErrorIllegalAddress")) if program else ():
        for device in ("cpu", "interp"):
            result = run(program, *args, HEDDLE_DEVICE=device)
            ok(result.stdout == f"thread 0\nthread 1\n{error}\n", f"what was printed before {error}, {device}", result.stdout + result.stderr)


def check_races_that_gpus_win(folder):
    for flags in ((), ("-O0", "-G")) if COMPILER == "nvcc" else ((), ("-O0",)):
        for name in ("block_sum", "leaders"):
            program = build(folder, name, flags=flags)
            for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
                result = run(program, **env)
                ok("PASS" in result.stdout, f"{name} {flags}, {env or 'cpu'}", result.stdout + result.stderr)
    program = build(folder, "in_place")
    for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}) if program else ():
        result = run(program, **env)
        ok("PASS" in result.stdout, f"in_place, {env or 'cpu'}", result.stdout + result.stderr)


def check_clusters(folder):
    """In all levels; at 120, without optimisation, by the interpreter."""
    for arch, flags in (("90", ()), ("120", ("-O0", "-G"))) if COMPILER == "nvcc" else (("90", ()), ("90", ("-O0",))):
        program = build(folder, "clusters", arch, flags)
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok("PASS" in result.stdout, f"clusters {arch} {flags}, {env or 'cpu'}", result.stdout + result.stderr)


def check_tensor(folder):
    """heddle cc has no mma.h."""
    for name in ("gemm", "tensor") if COMPILER == "nvcc" else ("gemm",):
        program = build(folder, name, "80")
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok("PASS" in result.stdout, f"{name}, {env or 'cpu'}", result.stdout + result.stderr)


def check_pieces(folder):
    for flags in (("-O3",), ("-O0", "-G")) if COMPILER == "nvcc" else (("-O2",),):
        program = build(folder, "pieces", "80", flags)
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_SKIP_PASS": "gen_pieces"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok(result.stdout == "PASS\n" and not result.stderr, f"pieces {flags}, {env or 'cpu'}", result.stdout + result.stderr)


def check_products(folder):
    """The interpreter makes products one by one."""
    everywhere = ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_SKIP_PASS": "gen_sums"},
                  {"HEDDLE_SKIP_PASS": "gen_products"}, {"HEDDLE_FAULT": "jit.fast"})
    for flags in (("-O3",), ("-O0", "-G")) if COMPILER == "nvcc" else (("-O2",),):
        program = build(folder, "products", "80", flags)
        want = run(program, HEDDLE_DEVICE="interp").stdout if program else ""
        ok(want.count("cudaSuccess") == 16, f"products {flags}, interp", want)
        for env in everywhere if program else ():
            result = run(program, **env)
            told = result.stderr if "HEDDLE_FAULT" not in env else ""
            ok(result.stdout == want and not told, f"products {flags}, {env or 'cpu'}", result.stdout + result.stderr + want)


def check_library_products(folder):
    """Whole multiplications, as libraries make them."""
    program = build(folder, "../../bench/tensor/gemm", "80", ("-std=c++17",))
    for env, n in (({}, "384"), ({"HEDDLE_CPU": "avx2"}, "256"), ({"HEDDLE_CPU": "generic"}, "128"), ({"HEDDLE_DEVICE": "interp"}, "128")) if program else ():
        result = run(program, n, "-r", "1", "-w", "1", **env)
        ok(result.stdout.count(",PASS\n") == 4 and not result.stderr, f"gemm of {n}, {env or 'cpu'}", result.stdout + result.stderr)


def check_tensor_cores(folder):
    """Products of several warps, and in tensor memory."""
    for name, arch in (("wgmma", "90a"), ("wgmma_tma", "90a"), ("tcgen05", "100a"), ("tensor_memory", "100a")):
        program = build(folder, name, arch)
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok(result.stdout == "PASS\n" and not result.stderr, f"{name}, {env or 'cpu'}", result.stdout + result.stderr)


def check_tensor_memory(folder):
    """What is not given back, and who waits for ever."""
    told = {
        "forgets": ("cudaErrorLaunchFailure", "the block ends with tensor memory allocated"),
        "one_forgets": ("cudaErrorLaunchFailure", "block (1,0,0)", "the block ends with tensor memory allocated"),
        "waits_for_itself": ("cudaErrorLaunchTimeout", "deadlock", "loop with tensor_warp"),
        "waits_for_the_other": ("cudaErrorLaunchTimeout", "deadlock", "loop with tensor_warp"),
        "others_want_more": ("cudaErrorLaunchFailure", "the blocks of a pair allocate different numbers of columns"),
        "alone": ("cudaErrorLaunchFailure", "a pair of blocks needs a cluster of an even number of blocks"),
    }
    program = build(folder, "tensor_memory", "100a")
    interpreted = {"HEDDLE_FAULT": "jit.fast,jit.plain,jit.simple"}
    for how, (error, *words) in told.items() if program else ():
        for env in ({}, {"HEDDLE_DEVICE": "interp"}, interpreted):
            result = run(program, how, HEDDLE_WATCHDOG="1", **env)
            ok(result.stdout == f"{error}\n" and all(w in result.stderr for w in words), f"tensor memory: {how}, {env or 'cpu'}",
               result.stdout + result.stderr)


def check_async_copies(folder):
    """libcu++'s barriers and pipelines, which come with nvcc: from sm_90 on with bulk copies."""
    for arch in ("80", "90"):
        for flags in (("-O3",), ("-O0", "-G")):
            program = build(folder, "async_copy", arch, (*flags, "-diag-suppress", "20054"))
            for device in ("cpu", "interp") if program else ():
                result = run(program, HEDDLE_DEVICE=device)
                ok(result.stdout == "PASS\n" and not result.stderr, f"async_copy, {arch} {flags} {device}",
                   result.stdout + result.stderr)


def check_tensor_copies(folder):
    """Tensor maps and libcu++'s copies by them, which come with nvcc."""
    for arch, flags in (("90", ("-O3",)), ("90", ("-O0", "-G")), ("120", ("-O3",))):
        program = build(folder, "tensor_copy", arch, (*flags, "-diag-suppress", "20054"))
        for env in ({}, {"HEDDLE_CPU": "avx2"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok(result.stdout == "PASS\n" and not result.stderr, f"tensor_copy, {arch} {flags} {env or 'cpu'}",
               result.stdout + result.stderr)


def check_faults(folder):
    program = build(folder, "faults")
    for case, error in FAULTS.items() if program else ():
        result = run(program, case)
        ok(result.returncode == 0 and result.stdout == f"{error} sticky\n", f"fault: {case}",
           f"status {result.returncode}\n{result.stdout}{result.stderr}")


def check_deadlocks(folder):
    """Threads that only wait for each other: the launch ends, and the message says who waits where."""
    program = build(folder, "deadlock", "80", ("-lineinfo",))
    told = {
        "mbarrier": ("loop with mbarrier", "deadlock.cu:21", "64 of 96 threads"),
        "keep_lock": ("loop with atom",),
        "lonely_barrier": ("barrier 3, where 32 of 96 threads",),
        "barrier_and_poll": ("loop with ld", "deadlock.cu:44", "barrier 0, where 64 of 96 threads"),
    }
    interpreted = {"HEDDLE_FAULT": "jit.fast,jit.plain,jit.simple"}
    for how, words in told.items() if program else ():
        for env in ({}, {"HEDDLE_CPU": "generic"}, {"HEDDLE_DEVICE": "interp"}, interpreted):
            result = run(program, how, HEDDLE_WATCHDOG="1", **env)
            ok(result.stdout == "cudaErrorLaunchTimeout\n" and all(w in result.stderr for w in ("deadlock", *words)),
               f"{how}, {env or 'cpu'}", result.stdout + result.stderr)


def check_machines():
    """Every machine of the table is one that the variable takes, and the device says what the table does."""
    with open(os.path.join(HERE, "..", "..", "spec", "machines.def"), encoding="utf-8") as file:
        machines = re.findall(r'^M\((\w+), "(.*?)",(.*?)\)\)$', file.read(), re.M | re.S)
    for name, product, attributes in machines:
        want = dict(re.findall(r"A\((\w+), ([0-9< ]+)", attributes))
        result = subprocess.run([HEDDLE, "info", "--json"], env=dict(os.environ, HEDDLE_MACHINE=name), capture_output=True,
                                text=True, timeout=60, check=False)
        device = json.loads(result.stdout or "{}").get("devices", [{}])[0]
        ok(device.get("compute_capability") == f"{want['COMPUTE_CAPABILITY_MAJOR']}.{want['COMPUTE_CAPABILITY_MINOR']}" and
           device.get("multiprocessors") == int(want["MULTIPROCESSOR_COUNT"]) and
           device.get("shared_memory_per_block_optin") == int(want["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]) and
           device.get("name", "").startswith(f"Heddle {product} on"), f"machine {name}", result.stdout + result.stderr)


def check_dynamic(folder):
    """Kernels that launch kernels: the vendor's device runtime library is left out when the program loads."""
    interpreted = {"HEDDLE_FAULT": "jit.fast,jit.plain,jit.simple"}
    for arch in ("80", "90"):
        program = build(folder, "dynamic", arch, ("-rdc=true", "-lcudadevrt"))
        for env in ({"HEDDLE_THREADS": "1"}, {"HEDDLE_THREADS": "2"}, {"HEDDLE_CPU": "generic"}, interpreted,
                    {"HEDDLE_STRICT": "1"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok(result.stdout == "cudaErrorInvalidValue, no error\nPASS\n", f"dynamic, {arch} {env}",
               result.stdout + result.stderr)


def check_device_graphs(folder):
    """Graphs that kernels launch and change."""
    interpreted = {"HEDDLE_FAULT": "jit.fast,jit.plain,jit.simple"}
    for runtime in ("shared", "static") if COMPILER == "nvcc" else ("shared",):
        program = build(folder, "device_graphs", "90", ("-rdc=true", "-lcudadevrt", "-cudart", runtime))
        for env in ({"HEDDLE_THREADS": "1"}, {"HEDDLE_THREADS": "2"}, {"HEDDLE_CPU": "generic"}, interpreted,
                    {"HEDDLE_STRICT": "1"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok(result.stdout == "PASS\n", f"device_graphs, {runtime} {env}", result.stdout + result.stderr)


def check_relaunch(folder):
    """What kernels do with graphs, in the headers of heddle cc."""
    program = build(folder, "relaunch", "80")
    for env in ({"HEDDLE_THREADS": "2"}, {"HEDDLE_DEVICE": "interp"}) if program else ():
        result = run(program, **env)
        ok(result.stdout == "PASS\n", f"relaunch {env}", result.stdout + result.stderr)


def check_conditional(folder):
    for arch in ("80", "90"):
        program = build(folder, "conditional", arch, ("-rdc=true", "-lcudadevrt"))
        for env in ({"HEDDLE_THREADS": "1"}, {"HEDDLE_THREADS": "2"}, {"HEDDLE_STRICT": "1"},
                    {"HEDDLE_DEVICE": "interp"}) if program else ():
            result = run(program, **env)
            ok(result.stdout == "PASS\n", f"conditional, {arch} {env}", result.stdout + result.stderr)


def build_parts(folder):
    """Two objects, the second from an archive."""
    parts = {name: os.path.join(folder, name) for name in ("parts_a.o", "parts_b.o", "libparts_b.a", "parts")}
    flags = [NVCC, "-arch=compute_80", "-rdc=true", "-cudart", "shared"]
    for argv in (["-dc", os.path.join(HERE, "parts_a.cu"), "-o", parts["parts_a.o"]],
                 ["-dc", os.path.join(HERE, "parts_b.cu"), "-o", parts["parts_b.o"]],
                 ["-lib", parts["parts_b.o"], "-o", parts["libparts_b.a"]],
                 [parts["parts_a.o"], parts["libparts_b.a"], "-lcuda", "-o", parts["parts"]]):
        result = subprocess.run([*flags, *argv], capture_output=True, text=True, check=False)
        if result.returncode:
            ok(False, "nvcc builds parts", result.stdout + result.stderr)
            return None
    return parts


def check_parts(folder):
    """Relocatable device code, linked by nvcc and by cuLink*."""
    parts = build_parts(folder)
    for device in ("cpu", "interp") if parts else ():
        result = run(parts["parts"], parts["parts_a.o"], parts["libparts_b.a"], HEDDLE_DEVICE=device)
        ok(result.returncode == 0 and "PASS" in result.stdout, f"parts, {device}", result.stdout + result.stderr)


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
        for name in ("graphs", "grid_sync", "swap", "spin"):
            check_program(folder, name)
        check_program(folder, "thread_streams", "--default-stream", "per-thread")
        check_small_stacks(folder)
        check_last_words(folder)
        check_races_that_gpus_win(folder)
        check_tensor(folder)
        check_pieces(folder)
        check_products(folder)
        check_clusters(folder)
        check_faults(folder)
        check_deadlocks(folder)
        check_dynamic(folder)
        check_conditional(folder)
        check_device_graphs(folder)
        if COMPILER == "cc":  # nvcc wants relocatable code for this: device_graphs
            check_relaunch(folder)
        if COMPILER == "nvcc":
            check_library_products(folder)
            check_tensor_cores(folder)
            check_tensor_memory(folder)
            check_async_copies(folder)
            check_parts(folder)
            check_tensor_copies(folder)
        check_one_bad_kernel(folder)
    check_machines()
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
