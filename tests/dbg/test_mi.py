#!/usr/bin/env python3
"""GDB's machine interface against `heddle run --gdbserver :PORT`, with the commands that VS Code's C++ debugger gives: test_mi.py HEDDLE

The program that GDB reads is the `heddle` command, as docs/debugging.md says."""
import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_bench import Bench, compilers, heddle, main, Source, tap  # noqa: E402

SOURCE = Source("program.cu")
line = SOURCE.line
PATIENCE_S = 60
SCRIPT = os.path.join(os.path.dirname(heddle), "heddle-gdb.py")


class Gdb:
    """A GDB that speaks MI."""

    def __init__(self, env):
        self.process = subprocess.Popen(["gdb", "-nx", "--interpreter=mi"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=env)
        self.lines, self.log, self.token, self.stops = queue.Queue(), [], 1000, []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for text in self.process.stdout:
            self.lines.put(text.rstrip("\n"))
        self.lines.put(None)

    def until(self, wanted):
        """The first record that fits; stops that come before are kept."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                text = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                text = None
            if text is None:
                return "(nothing)"
            self.log.append(text)
            if text.startswith("*stopped"):
                self.stops.append(text)
            if wanted(text):
                return text

    def __call__(self, command):
        """Its result record."""
        self.token += 1
        start = "%d^" % self.token
        self.log.append("-> %d%s" % (self.token, command))
        self.process.stdin.write("%d%s\n" % (self.token, command))
        self.process.stdin.flush()
        return self.until(lambda text: text.startswith(start))[len(start):]

    def console(self, command):
        """What a command of GDB's own prints."""
        at = len(self.log)
        result = self('-interpreter-exec console "%s"' % command.replace('"', '\\"'))
        return result + "".join(text[2:-1].replace('\\"', '"').replace("\\n", "\n") for text in self.log[at:] if text[:1] == "~")

    def stop(self):
        """The next stop that was not asked for yet."""
        if not self.stops:
            self.until(lambda text: text.startswith("*stopped"))
        return self.stops.pop(0) if self.stops else "(none)"

    def go(self, command):
        result = self(command)
        return self.stop() if result.startswith("running") else result

    def end(self):
        try:
            self("-gdb-exit")
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def has(gdb, text, pattern, name):
    tap.ok(re.search(pattern, text), name, "no %r in\n%s\n%s" % (pattern, text[:400], "\n".join(line[:200] for line in gdb.log[-20:])))


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def session(name, gdb, address):
    gdb('-interpreter-exec console "source %s"' % SCRIPT)
    for command in ("set osabi none", "set breakpoint pending on", "set pagination off"):
        gdb('-interpreter-exec console "%s"' % command)
    gdb("-enable-pretty-printing")
    has(gdb, gdb("-file-exec-and-symbols " + heddle), "^done", f"{name}: reads the heddle command")
    has(gdb, gdb("-target-select remote " + address), "^connected", f"{name}: connects")
    gdb.stops.clear()
    has(gdb, gdb('-break-insert -f -c "blockIdx.x == 0" program.cu:%d' % line("call")), r'^done,bkpt=\{number="1".*pending', f"{name}: a breakpoint before the code is there")
    stop = gdb.go("-exec-continue")
    has(gdb, stop, r'reason="breakpoint-hit".*func="kern".*line="%d".*thread-id="2"' % line("call"), f"{name}: stops at it")
    threads = gdb("-thread-info")
    tap.eq(len(re.findall(r'\{id="\d+",target-id="', threads)), 65, f"{name}: a thread for each of the blocks', and the host's")
    has(gdb, threads, r'name="\(0,0,0\)/\(5,0,0\)"', f"{name}: with their places as names")
    frames = gdb("-stack-list-frames --thread 2 0 20")
    has(gdb, frames, r'^done,stack=\[frame=\{level="0".*func="kern".*fullname="%s"' % re.escape(SOURCE.path), f"{name}: frames")
    variables = gdb("-stack-list-variables --thread 2 --frame 0 1")
    has(gdb, variables, r'\{name="n",arg="1",value="64"\}', f"{name}: arguments")
    has(gdb, variables, r'\{name="i",value="0"\}', f"{name}: variables")
    has(gdb, gdb('-var-create --thread 2 --frame 0 - * "p"'), r'name="var1",numchild="1".*type="pair"', f"{name}: a variable with parts")
    has(gdb, gdb("-var-list-children --simple-values var1"), r'children=\[child=\{name="var1.(public|a)"', f"{name}: its parts")
    has(gdb, gdb("-var-list-children --simple-values var1.public"), r'exp="a".*value="0"', f"{name}: and theirs")
    has(gdb, gdb('-data-evaluate-expression --thread 7 --frame 0 "i"'), r'^done,value="5"', f"{name}: an expression, in another thread")
    has(gdb, gdb("-data-evaluate-expression --thread 7 --frame 0 threadIdx"), r'^done,value="\{x = 5, y = 0, z = 0\}"', f"{name}: threadIdx")
    has(gdb, gdb.console("p threadIdx"), r"= \{x = \d+, y = 0, z = 0\}", f"{name}: p threadIdx in the console")
    has(gdb, gdb.console("info cuda kernels"), r"\n\* +0 .* kern\n", f"{name}: cuda-gdb's commands in the console")
    has(gdb, gdb.go("-exec-step --thread 2"), r'reason="end-stepping-range".*func="helper"', f"{name}: steps into a function")
    has(gdb, gdb("-stack-list-frames --thread 2 0 20"), r'level="0".*func="helper".*level="1".*func="kern"', f"{name}: which is a frame")
    has(gdb, gdb.go("-exec-finish --thread 2"), r'reason="function-finished".*func="kern".*return-value="1"', f"{name}: steps out of it")
    has(gdb, gdb.go("-exec-next --thread 2"), r'reason="end-stepping-range".*func="kern"', f"{name}: steps over a line")
    gdb("-break-delete 1")
    gdb('-break-insert program.cu:%d' % line("store"))
    has(gdb, gdb('-break-condition 2 "threadIdx.x == 9"'), "^done", f"{name}: a condition of a breakpoint that is there")
    has(gdb, gdb.go("-exec-continue"), r'reason="breakpoint-hit".*bkptno="2"', f"{name}: stops there")
    has(gdb, gdb("-data-evaluate-expression threadIdx.x"), r'value="9"', f"{name}: in the thread that it holds for")
    gdb("-break-delete 2")
    has(gdb, gdb.go("-exec-continue"), r'reason="exited-normally"', f"{name}: the program's end")


def interrupted(name, gdb, address):
    """The pause button."""
    gdb('-interpreter-exec console "source %s"' % SCRIPT)
    gdb('-interpreter-exec console "set osabi none"')
    gdb("-gdb-set mi-async on")
    gdb("-file-exec-and-symbols " + heddle)
    has(gdb, gdb("-target-select remote " + address), "^connected", f"{name}: connects once more")
    gdb.stops.clear()
    gdb("-break-insert -f spin")
    has(gdb, gdb.go("-exec-continue"), r'func="spin"', f"{name}: a kernel that spins")
    gdb("-break-delete 1")
    gdb("-exec-continue --all")
    gdb("-exec-interrupt --all")
    has(gdb, gdb.stop(), r'signal-name="(SIGINT|0)".*func="spin"', f"{name}: is paused")
    has(gdb, gdb('-data-evaluate-expression "*(int*)flag = 1"'), r'value="1"', f"{name}: memory is changed")
    has(gdb, gdb.go("-exec-continue --all"), r'reason="exited-normally"', f"{name}: and it ends")


def run(bench, name, talk, *args):
    number = port()
    process = subprocess.Popen([heddle, "run", "--gdbserver", ":%d" % number, bench.programs[name], *args], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=bench.env)
    tap.eq(process.stderr.readline(), "heddle: waits for a debugger at :%d\n" % number, f"{name}: the program says that it waits")
    gdb = Gdb(bench.env)
    talk(gdb, "localhost:%d" % number)
    gdb.end()
    try:
        return process.communicate(timeout=PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0] + "(hangs)"


def sessions(folder):
    bench = Bench(folder, SOURCE)
    for name, *command in compilers():
        if not name.endswith("-G") or not bench.build(name, *command):
            continue
        said = run(bench, name, lambda *it: session(name, *it))
        tap.eq(said, bench.plain(name), f"{name}: the results are the same")
        said = run(bench, name, lambda *it: interrupted(name, *it), "spin")
        tap.eq(said, "spin 1 7\n", f"{name}: what the kernel that was paused says")


main(sessions)
