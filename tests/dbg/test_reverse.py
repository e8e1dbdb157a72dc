#!/usr/bin/env python3
"""Going back in real GDB: test_reverse.py HEDDLE

What is seen on the way back is what was seen on the way forward, in the opposite order."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_bench import Bench, compilers, has, main, Source, tap  # noqa: E402

SOURCE = Source("history.cu")
line = SOURCE.line
TURNS = 6


def changes(text):
    """(old, new) of each change of a watched variable that is shown."""
    return re.findall(r"^Old value = (.*)\n^New value = (.*)$", text, re.M)


def test_watch(bench, name, what, thread):
    """A watched variable, forwards and backwards."""
    start = [f"break history.cu:{line('first')}", "run", f"cuda thread {thread}", "cuda record", "next", "next", "delete"]
    got = bench.gdb(name, start + [f"watch {what}"] + ["continue"] * TURNS + ["echo back\\n"] + ["reverse-continue"] * TURNS +
                    ["info breakpoints", "delete", "continue"], "120")
    there, _, back = got.partition("\nback\n")
    forward, backward = changes(there), changes(back)
    tap.eq(len(forward), TURNS, f"{name}: {what} changes on the way forward")
    # The stop after the last change is behind it: going back sees that one first.
    tap.eq([(new, old) for old, new in reversed(backward)], forward, f"{name}: {what} changes back, in the opposite order")
    has(got, r"%s$" % bench.plain(name, "120").strip(), f"{name}: {what}: the results are the same")


def test_reads(bench, name):
    got = bench.gdb(name, [f"break history.cu:{line('first')}", "run", "cuda thread 70", "cuda record", "delete",
                           f"tbreak history.cu:{line('end')} if threadIdx.x == 70", "continue", "rwatch turns", "reverse-continue", "print k",
                           "delete", "continue"], "120")
    has(got, r"hit Hardware read watchpoint \d+: turns$", f"{name}: the last read before")
    has(got, r"history.cu:%d" % line("total"), f"{name}: is where it should be")
    has(got, r"^\$1 = 105$", f"{name}: in the last turn that reads")
    has(got, r"%s$" % bench.plain(name, "120").strip(), f"{name}: the results are the same")


def test_conditions(bench, name):
    """Breakpoints with conditions, which only executing again can tell."""
    got = bench.gdb(name, [f"break history.cu:{line('first')}", "run", "cuda record", "delete", f"tbreak history.cu:{line('end')}", "continue",
                           f"break history.cu:{line('odd')} if k == 13 && threadIdx.x == 71", "reverse-continue", "print k", "print threadIdx.x",
                           "delete", f"break history.cu:{line('mix')} if k == 11", "reverse-continue", "up", "print k", "delete",
                           f"break history.cu:{line('body')} if k == 1000", "reverse-continue", "delete", "continue"], "120")
    has(got, r"^\$1 = 13$", f"{name}: back to where a condition held")
    has(got, r"^\$2 = 71$", f"{name}: in the thread that it held for")
    has(got, r"^\$3 = 11$", f"{name}: in a function")
    has(got, r"No more reverse-execution history", f"{name}: the beginning, where it never held")
    has(got, r"%s$" % bench.plain(name, "120").strip(), f"{name}: the results are the same")


def test_steps(bench, name):
    """A long history: back by statements, into functions, over them, and forwards again."""
    got = bench.gdb(name, [f"break history.cu:{line('first')}", "run", "cuda thread 5", "cuda record", "delete",
                           f"break history.cu:{line('body')} if k == 3000", "continue", "delete", "print v", "echo @\\n", "reverse-next",
                           "reverse-next", "reverse-stepi", "reverse-stepi", f"tbreak history.cu:{line('mix')}", "reverse-continue", "print k",
                           "reverse-finish", "print k", f"tbreak history.cu:{line('body')} if k == 3000", "continue", "print v", "continue"],
                    "3100")
    values = dict(re.findall(r"^\$(\d+) = (-?\d+)$", got, re.M))
    tap.eq(values.get("2"), "2999", f"{name}: reverse-continue into a function")
    tap.eq(values.get("3"), "2999", f"{name}: reverse-finish out of it")
    tap.ok(values.get("1") and values.get("1") == values.get("4"), f"{name}: forwards again, to the same value", got)
    has(got, r"%s$" % bench.plain(name, "3100").strip(), f"{name}: the results are the same")


def test_calls(bench, name, thread):
    """Out of a function, over its call and from line to line, back: GDB steps over the other warps, which come by the same places."""
    turns = (38, 34, 31, 27, 23, 12, 4)
    commands = [f"break history.cu:{line('first')}", "run", f"cuda thread {thread}", "cuda record", "delete",
                f"tbreak history.cu:{line('end')} if threadIdx.x == {thread}", "continue"]
    for k in turns:
        commands += [f"tbreak history.cu:{line('mix')} if k == {k} && threadIdx.x == {thread}", "reverse-continue", "up",
                     f'printf "\\nup %d %d\\n", k, threadIdx.x', "down", "reverse-finish", 'printf "\\nfinish %d %d\\n", k, threadIdx.x',
                     f"tbreak history.cu:{line('count')} if k == {k - 1} && threadIdx.x == {thread}", "reverse-continue", "reverse-next",
                     'printf "\\nnext %d %d\\n", k, threadIdx.x', "reverse-step", 'printf "\\nstep %d\\n", threadIdx.x']
    got = bench.gdb(name, commands + ["delete", "continue"], "40")
    for command, back in (("up", 0), ("finish", 0), ("next", 1)):
        found = [(int(k), int(x)) for k, x in re.findall(rf"^{command} (-?\d+) (\d+)$", got, re.M)]
        tap.eq(found, [(k - back, thread) for k in turns], f"{name}: thread {thread}: {'reverse-' * (command != 'up')}{command} in each turn")
    tap.eq(re.findall(r"^step (\d+)$", got, re.M), [str(thread)] * len(turns), f"{name}: thread {thread}: reverse-step stays in the thread")
    has(got, r"%s$" % bench.plain(name, "40").strip(), f"{name}: thread {thread}: the results are the same")


def test_warps(bench, name):
    """A breakpoint that three warps come by is hit three times in each turn, in both directions."""
    point = f"break history.cu:{line('body')}"
    again = ['printf "\\nat %d %d\\n", k, threadIdx.x / 32']
    got = bench.gdb(name, [f"break history.cu:{line('first')}", "run", "cuda record", "delete", point] + (["continue"] + again) * 12 +
                    ["echo back\\n"] + (["reverse-continue"] + again) * 11 + ["delete", "continue"], "40")
    there, _, back = got.partition("back\n")
    forward, backward = (re.findall(r"^at (\d+) (\d)$", text, re.M) for text in (there, back))
    tap.eq(sorted(forward), sorted((str(k), str(warp)) for k in range(4) for warp in range(3)), f"{name}: each warp in each turn, forwards")
    tap.eq(backward, forward[-2::-1], f"{name}: and backwards, in the opposite order")
    has(got, r"%s$" % bench.plain(name, "40").strip(), f"{name}: the results are the same")


def test_fault(bench, name):
    """From a fault to what made the address wrong."""
    got = bench.gdb(name, ["break astray", "run", "cuda record", "delete", "continue", "watch at", "reverse-continue", "print k == 19", "delete",
                           "continue"], "20", "astray")
    has(got, r"CUDA_EXCEPTION_14", f"{name}: the fault")
    has(got, r"^Old value = 1073741824$\s^New value = 18$", f"{name}: what made the address wrong")
    if name == "clang-G": # nvcc writes the register that `at` is in when it has counted k already
        has(got, r"^\$1 = true$", f"{name}: when")
    tap.eq(got.count("CUDA_EXCEPTION_14"), 2, f"{name}: forwards it comes again")


def sessions(folder):
    bench = Bench(folder, SOURCE)
    for name, *command in compilers():
        if not name.endswith("-G") or not bench.build(name, *command):
            continue
        for what, thread in (("v", 37), ("slow", 70), ("turns", 3), ("total", 0), ("seen[1]", 95)):
            if name != "nvcc-G" or what not in ("v", "slow"): # nvcc moves these from register to register
                test_watch(bench, name, what, thread)
        for test in (test_reads, test_conditions, test_steps, test_warps, test_fault):
            test(bench, name)
        for thread in (5, 71):
            test_calls(bench, name, thread)


main(sessions)
