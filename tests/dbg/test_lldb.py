#!/usr/bin/env python3
"""Real LLDB against `heddle run --gdbserver :PORT`, as docs/debugging.md says: test_lldb.py HEDDLE

Skipped without an LLDB."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_bench import Bench, compilers, has, heddle, lacks, Source, tap  # noqa: E402

BUGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/bugs")


def find_lldb():
    names = ["lldb", *("lldb-%d" % version for version in range(30, 13, -1))]
    return next((path for path in map(shutil.which, names) if path), None)


def until_there(path):
    deadline = time.monotonic() + 30
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.05)


class Session:
    def __init__(self, bench, lldb):
        self.bench, self.lldb = bench, lldb

    def __call__(self, program, commands):
        """What LLDB prints to these commands, the program with it."""
        place = os.path.join(self.bench.folder, "socket")
        script = os.path.join(self.bench.folder, "commands")
        with open(script, "w") as file:
            file.write("\n".join(["settings set target.process.disable-memory-cache true",
                                  "process connect --plugin gdb-remote unix-connect://" + place, *commands, ""]))
        with subprocess.Popen([heddle, "run", "--gdbserver", "unix:" + place, program], stdout=subprocess.PIPE,
                              text=True, env=self.bench.env) as server:
            until_there(place)
            try:
                got = subprocess.run([self.lldb, "--no-use-colors", "-x",
                                      "-o", "settings set interpreter.stop-command-source-on-error false",
                                      "-s", script, "-o", "kill", "-o", "quit"],
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, env=self.bench.env)
                text = got.stdout + got.stderr
            except subprocess.TimeoutExpired as late:
                text = "%s\n(LLDB does not end)" % late.stdout
            try:
                text += "\n" + server.communicate(timeout=20)[0]
            except subprocess.TimeoutExpired:
                server.kill()
                text += server.communicate()[0] + "\n(the program does not end)"
        return text


def block(session, program, name):
    """Two threads of a block, shared memory, a watchpoint in it."""
    text = session(program, [
        "breakpoint set -f sum.cu -l 12", "continue", "continue", "bt", "frame variable t half", "p part[t]", "register read threadIdx_x",
        "thread select 40", "frame variable t", "thread select 2", "frame variable t half", "p part[t + 2]",
        "watchpoint set expression -w write -s 4 -- &part[3]", "next", "breakpoint delete 1", "watchpoint delete 1", "continue"])
    has(text, r"thread #2, stop reason = breakpoint 1\.1", name + ": a breakpoint by line")
    has(text, r"\* frame #0: .*sum\(in=0x[0-9a-f]+, out=0x[0-9a-f]+\) at sum\.cu:12", name + ": a backtrace with arguments")
    has(text, r"\(int\) t = 0\n\(int\) half = 64", name + ": variables")
    has(text, r"p part\[t\]\n\(int\) (\$0 = )?1$", name + ": shared memory")
    has(text, r"threadIdx_x = 0x00000000", name + ": registers")
    tap.eq(re.findall(r"^\(int\) t = (\d+)", text, re.M), ["0", "38", "0"], name + ": each thread has its variables")
    has(text, r"\(int\) (\$\d+ = )?3$", name + ": shared memory by an expression")
    has(text, r"stop reason = (step over|watchpoint 1)", name + ": a step, or a thread of the warp that writes what is watched")
    has(text, r"exited with status = 0", name + ": it goes on to the end")
    has(text, r"^sum \d+", name + ": the program's own output")
    lacks(text, r"does not end", name + ": everything ends")


def killed(session, program, name):
    text = session(program, ["breakpoint set -f sum.cu -l 12", "continue", "continue"])
    has(text, r"stop reason = breakpoint", name + ": it stops before it is killed")
    lacks(text, r"^sum|does not end|unexpected response", name + ": kill ends the program")


def main():
    lldb = find_lldb()
    if not lldb:
        tap.skip("no lldb")
    else:
        with tempfile.TemporaryDirectory() as folder:
            for name, *command in compilers():
                if name == "nvcc-lineinfo":  # no variables
                    continue
                bench = Bench(folder, Source(os.path.join(BUGS, "sum.cu")))
                if bench.build(name, *command):
                    session = Session(bench, lldb)
                    block(session, bench.programs[name], name)
                    killed(session, bench.programs[name], name)
    tap.done()


main()
