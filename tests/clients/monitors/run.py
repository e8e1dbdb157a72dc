#!/usr/bin/env python3
"""What watches GPUs, beside processes that keep one busy:  heddle run PYTHON tests/clients/monitors/run.py [NAME...]

PYTHON has nvidia-ml-py, gpustat, nvitop and numpy. Two processes of ours have 96 and 32 MiB of the device; the kernel of the first runs
all the time. Prints a line of JSON per check (../harness.py)."""
import ctypes
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

MIB = 1 << 20
PATIENCE_S = 60
PTX = b""".version 7.0
.target sm_50
.address_size 64
.visible .entry hold(.param .u64 at)
{
    .reg .u64 %a;
    .reg .u32 %v;
    .reg .pred %p;
    ld.param.u64 %a, [at];
again:
    ld.volatile.global.u32 %v, [%a];
    setp.eq.u32 %p, %v, 0;
    @%p bra again;
    ret;
}
"""


def work(mebibytes, is_busy):
    """A process with so much memory, and a kernel that runs until a line comes."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function, memory, flag = (ctypes.c_void_p() for _ in range(5))

    def call(name, *args):
        result = getattr(cuda, name)(*args)
        if result:
            sys.exit(f"{name}: {result}")

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"hold")
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(mebibytes * MIB))
    call("cuMemHostAlloc", ctypes.byref(flag), ctypes.c_size_t(4), 0)
    word = ctypes.c_uint32.from_address(flag.value)
    word.value = 0
    if is_busy:
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(flag))
        call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
    print("ready", flush=True)
    sys.stdin.readline()
    word.value = 1
    call("cuCtxSynchronize")


if sys.argv[1:2] == ["--work"]:
    work(int(sys.argv[2]), sys.argv[3] == "busy")
    sys.exit(0)

import pynvml  # noqa: E402


class Worker:
    def __init__(self, mebibytes, kind):
        self.process = subprocess.Popen([sys.executable, __file__, "--work", str(mebibytes), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        if self.process.stdout.readline() != "ready\n":
            sys.exit("a worker did not begin")

    def end(self):
        self.process.communicate("\n", timeout=PATIENCE_S)


class Bench:
    """NVML, with both workers while it is entered."""

    def __enter__(self):
        pynvml.nvmlInit()
        self.device = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.workers = [Worker(96, "busy"), Worker(32, "idle")]
        self.await_gpu(lambda gpu: gpu >= 95)
        return self

    def await_gpu(self, good):
        for _ in range(PATIENCE_S * 20):
            if good(pynvml.nvmlDeviceGetUtilizationRates(self.device).gpu):
                return
            time.sleep(0.05)

    def pids(self):
        return [w.pid for w in self.workers]

    def __exit__(self, *_):
        for worker in self.workers:
            worker.end()
        pynvml.nvmlShutdown()


def tool(name, *args):
    """The output of a program that pip has put beside this Python."""
    return subprocess.run([os.path.join(os.path.dirname(sys.executable), name), *args], capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


def busy_and_idle():
    with Bench() as bench:
        busy = pynvml.nvmlDeviceGetUtilizationRates(bench.device).gpu >= 95
        for worker in bench.workers:
            worker.end()
        bench.await_gpu(lambda gpu: gpu == 0)
        idle = pynvml.nvmlDeviceGetUtilizationRates(bench.device).gpu
        bench.workers = []
    return (busy, idle), (True, 0), 0


def memory():
    with Bench() as bench:
        used = pynvml.nvmlDeviceGetMemoryInfo(bench.device).used // MIB
        infos = {p.pid: p.usedGpuMemory // MIB for p in pynvml.nvmlDeviceGetComputeRunningProcesses(bench.device)}
        return (used, *(infos[pid] for pid in bench.pids())), (128, 96, 32), 0


def shares():
    with Bench() as bench:
        samples = {s.pid: s.smUtil for s in pynvml.nvmlDeviceGetProcessUtilization(bench.device, 0)}
        return [samples[pid] for pid in bench.pids()], [100, 0], 5


def gpustat():
    with Bench() as bench:
        gpu = json.loads(tool("gpustat", "--json"))["gpus"][0]
        told = {p["pid"]: p["gpu_memory_usage"] for p in gpu["processes"]}
        return (gpu["utilization.gpu"], gpu["memory.used"], *(told[pid] for pid in bench.pids())), (100, 128, 96, 32), 5


def nvitop():
    with Bench() as bench:
        out = tool("nvitop", "-1")
        return [str(pid) in out for pid in bench.pids()] + ["128.0MiB" in out], [True] * 3, 0


def nvidia_smi():
    with Bench() as bench:
        rows = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True).stdout.splitlines()
        told = dict(map(int, row.split(", ")) for row in rows)
        return [told[pid] for pid in bench.pids()], [96, 32], 0


CHECKS = [("busy_and_idle", busy_and_idle), ("memory", memory), ("shares", shares), ("gpustat", gpustat), ("nvitop", nvitop), ("nvidia_smi", nvidia_smi)]

sys.exit(harness.main(CHECKS))
