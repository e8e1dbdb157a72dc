#!/usr/bin/env python3
"""Breakpoints in kernels of graphs, in kernels that kernels launch, and in launches that were submitted before: test_launches.py HEDDLE"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_bench import Bench, compilers, has, main, Source  # noqa: E402

SOURCE = Source("launches.cu")
line = SOURCE.line


def test_before(bench, name):
    """The breakpoint is there first."""
    gate = os.path.join(bench.folder, name + "-open")
    open(gate, "w").close()
    got = bench.gdb(name, [f"break launches.cu:{line('add')}", "run", "print n", "continue", "print n", "continue", "print n", "continue",
                           "print n", "continue"], "graph", gate)
    has(got, r"^\$1 = 1$\n(.*\n)*^\$2 = 2$\n(.*\n)*^\$3 = 1$\n(.*\n)*^\$4 = 2$", f"{name}: each kernel of a graph, each time")
    has(got, r"add<<<\(1,1,1\),\(64,1,1\)>>>", f"{name}: with its own launch")
    has(got, r"launches 6$", f"{name}: the results of the graph")


def test_after(bench, name, what, value, result):
    """The program has launched, or has its graph, when Ctrl-C stops it; the breakpoint comes then. It is real when the program goes on, and
    what begins after that stops."""
    gate = os.path.join(bench.folder, name + "-" + what)
    command = bench.command(name, ["run", f"break launches.cu:{line('add')}",
                                   "python gdb.events.cont.connect(lambda event: print('goes on', flush=True))", "continue",
                                   "shell touch " + gate, "continue", "print n", "bt", "delete", "continue"], what, gate)
    got = bench.interrupted(command, ["waits", "goes on"])
    has(got, r"received signal SIGINT", f"{name}: {what}: an interrupt before any breakpoint")
    has(got, r"^heddle: no kernel that can be shown runs", f"{name}: {what}: which says what it cannot show")
    has(got, r"^CUDA thread hit Breakpoint 1, add<<<", f"{name}: {what}: what was submitted before stops, too")
    has(got, r"^\$1 = %d$" % value, f"{name}: {what}: with its arguments")
    has(got, r"^launches %d$" % result, f"{name}: {what}: the results")


def test_children(bench, name):
    got = bench.gdb(name, ["break add", "run", "print n", "info cuda kernels", "bt", "delete", f"break launches.cu:{line('parent')}", "run",
                           "print threadIdx.x", "break add", "continue", "print n", "delete", "continue"], "children", "none")
    has(got, r"^CUDA thread hit Breakpoint 1, add<<<", f"{name}: a kernel that a kernel has launched")
    has(got, r"^\$1 = 10$", f"{name}: its arguments")
    has(got, r"^\*.* Active .* add$", f"{name}: it is listed")
    has(got, r"^CUDA thread hit Breakpoint 2, parent<<<", f"{name}: the one that launches")
    has(got, r"^\$3 = 10$", f"{name}: and from there to its child")
    has(got, r"launches 10$", f"{name}: the results")


def sessions(folder):
    bench = Bench(folder, SOURCE)
    for name, *command in compilers():
        if not name.endswith("-G"):
            continue
        if bench.build(name, *command):
            test_before(bench, name)
            test_after(bench, name, "queued", 3, 3)
            test_after(bench, name, "graph", 1, 6)
        if bench.build(name + "-children", *command, "-rdc=true", "-DCHILDREN", "-lcudadevrt"):
            test_children(bench, name + "-children")


main(sessions)
