#!/usr/bin/env python3
"""Host and kernels in one session of real GDB, `heddle gdb --host`: test_host.py HEDDLE"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_bench import Bench, compilers, has, main, Source, tap  # noqa: E402

SOURCE = Source("both.cu")
line = SOURCE.line


class HostBench(Bench):
    def command(self, name, commands, *args):
        command = super().command(name, commands, *args)
        return command[:2] + ["--host"] + command[2:]


def may_trace():
    """GDB starts programs of its own here (containers may forbid that)."""
    got = subprocess.run(["gdb", "-nx", "-batch", "-ex", "run", "-ex", "print 1 + 41", "--args", "/bin/true"], capture_output=True, text=True,
                         timeout=60)
    return "exited normally" in got.stdout


def test_both(bench, name):
    got = bench.gdb(name, [f"break both.cu:{line('host')}", f"break both.cu:{line('device')}", "run", "bt", "print turn", "next",
                           "continue", "info threads", "bt", "print n", "info cuda kernels", "cuda thread 5", "print i", "next",
                           "thread 1.1", "bt", "info cuda warps", "continue", "print turn", "delete", "continue"], "t", "3")
    has(got, r'^Thread 1\.1 .* hit Breakpoint 1, prepare \(.*turn=0\) at .*both.cu:%d$' % line("host"), f"{name}: a breakpoint of the host")
    has(got, r"^#1 .* turns \(.*both.cu:%d$" % (line("launch") - 1), f"{name}: the host's frames")
    has(got, r"^\$1 = 0$", f"{name}: the host's variables")
    has(got, r"^%d\s.*return turn" % (line("host") + 1), f"{name}: a step in the host")
    has(got, r'^Thread 2\.2 "\(0,0,0\)/\(0,0,0\)" hit Breakpoint 2\.\d, add \(.*both.cu:%d$' % line("device"), f"{name}: a breakpoint of a kernel")
    has(got, r'^ +1\.1 +Thread 0x', f"{name}: info threads has the host's")
    has(got, r'^\* 2\.2 +Thread 2 "\(0,0,0\)/\(0,0,0\)"', f"{name}: and the kernel's")
    has(got, r"^\$2 = 1$", f"{name}: the kernel's variables")
    has(got, r"^\* +0 .* \(1,1,1\) \(64,1,1\)", f"{name}: cuda-gdb's commands")
    has(got, r"^\$3 = 5$", f"{name}: another thread of it")
    has(got, r"^%d\s*\}$" % (line("device") + 1), f"{name}: a step in the kernel")
    has(got, r"^#\d+ .* main \(argc=3", f"{name}: the host's frames while a kernel is stopped")
    has(got, r"^\*? +0 0xffffffff 0x00000000 ", f"{name}: the kernel's warps while the host is looked at")
    has(got, r'^Thread .* hit Breakpoint (1, prepare|2\.\d, add)', f"{name}: goes on")
    has(got, r"both 203 6$", f"{name}: the results")
    has(got, r"^\[Inferior 1 \(process \d+\) exited with code 03\]$", f"{name}: the end, with the exit code")


def test_fault(bench, name):
    got = bench.gdb(name, [f"break both.cu:{line('wild')}", "run", "delete", "continue", "bt", "continue", "continue"], "w")
    has(got, r"received signal CUDA_EXCEPTION_14, Warp Illegal Address\.$", f"{name}: an exception")
    has(got, r"both.cu:%d$" % line("wild"), f"{name}: where")
    has(got, r"wild an illegal memory access was encountered$", f"{name}: the program gets the error")


def test_interrupt(bench, name):
    """Ctrl-C stops the host, a kernel in its midst as well."""
    command = bench.command(name, [f"break both.cu:{line('spin')}", "run", "delete", "continue", "info threads", "thread 2.2", "bt", "print *flag",
                                   "set var *(int *)flag = 1", "continue"], "s")
    got = bench.interrupted(command, ["CUDA thread hit Breakpoint 1"], 2)
    has(got, r"received signal SIGINT", f"{name}: an interrupt")
    has(got, r"^#0 .*spin \(", f"{name}: the kernel is shown")
    has(got, r"^\$1 = 0$", f"{name}: its variables")
    has(got, r"spun 1$", f"{name}: and goes on with what was changed")


def test_goes_on(bench, name):
    """Where GDB itself decides that a breakpoint is none: it steps over it with everybody else held."""
    got = bench.gdb(name, [f"break both.cu:{line('device')} -force-condition if n > 1.5", "run", "print n", "delete", "continue"])
    has(got, r"^\$1 = 2$", f"{name}: a condition that GDB computes")
    has(got, r"^both 203 6$", f"{name}: the results")
    got = bench.gdb(name, [f"break both.cu:{line('device')}", "ignore 1 1", "run", "print threadIdx.x", "delete", "continue"])
    has(got, r"^\$1 = 32$", f"{name}: a breakpoint that is ignored once")
    has(got, r"^both 203 6$", f"{name}: the results")


def test_again(bench, name):
    got = bench.gdb(name, [f"break both.cu:{line('device')}", "run", "run", "bt", "delete", "continue"])
    has(got, r"(?s)hit Breakpoint 1.*hit Breakpoint 1", f"{name}: run starts both again")
    has(got, r"exited normally", f"{name}: which end")


def sessions(folder):
    if not may_trace():
        tap.skip("GDB may not start programs here")
        return
    bench = HostBench(folder, SOURCE)
    for name, *command in compilers():
        options = ["-g", "-Xcompiler", "-O0"] if name == "nvcc-G" else ["-g", "-O0"]
        if name.endswith("-G") and bench.build(name, *command, *options):
            for test in (test_both, test_fault, test_interrupt, test_goes_on, test_again):
                test(bench, name)
    for _ in range(100): # the server may end a moment after GDB
        left = [entry for entry in os.listdir(folder) if entry.startswith("heddle-gdb-")]
        if not left:
            break
        time.sleep(0.1)
    tap.eq(left, [], "no files are left")


main(sessions)
