"""Sessions of real GDB for tests: a folder with programs, and gdb on them."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "../tools"))
from support import Tap, find_nvcc, has_gdb, variants  # noqa: E402,F401 (the tests take them from here)

heddle = os.path.abspath(sys.argv[1])
tap = Tap()


class Source:
    """A program of the tests; places in it have comments "mark:"."""

    def __init__(self, name):
        self.path = os.path.join(FOLDER, "programs", name)
        with open(self.path) as file:
            self.lines = file.read().splitlines()

    def line(self, mark):
        return next(i + 1 for i, text in enumerate(self.lines) if "mark: %s */" % mark in text)


def compilers():
    """(name, command...) of those that are there and tell a debugger something."""
    row = variants.current()
    clang = ("clang-G", *row.compiler(heddle, "cc"), *row.options("-G"))
    if not find_nvcc():
        tap.skip("no nvcc")
        return [clang]
    nvcc = [*row.compiler(heddle, "nvcc"), f"-arch=sm_{row.arch}"]  # nvlink takes no compute_ARCH
    return [clang, ("nvcc-G", *nvcc, "-G"), ("nvcc-lineinfo", *nvcc, "-lineinfo")]


def main(sessions):
    """Runs sessions(folder), if there is a GDB."""
    if has_gdb():
        with tempfile.TemporaryDirectory() as folder:
            sessions(folder)
    else:
        tap.skip("no gdb 13 with Python")
    tap.done()


class Bench:
    """A folder with the programs, and gdb on them."""

    def __init__(self, folder, source):
        self.folder = folder
        self.source = source
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
        self.env.update(HEDDLE_THREADS="1", TMPDIR=folder, HEDDLE_CACHE=os.path.join(folder, "cache"), HOME=folder, **variants.current().env())
        self.programs = {}

    def build(self, name, *command):
        path = os.path.join(self.folder, name)
        got = subprocess.run([*command, self.source.path, "-o", path], capture_output=True, text=True, env=self.env, timeout=200)
        if got.returncode:
            tap.ok(False, "builds " + name, got.stdout + got.stderr)
        else:
            self.programs[name] = path
        return got.returncode == 0

    def command(self, name, commands, *args):
        options = [part for command in commands for part in ("-ex", command)]
        return [heddle, "gdb", "-batch", "-ex", "set width 0", *options, self.programs[name], *args]

    def gdb(self, name, commands, *args):
        got = subprocess.run(self.command(name, commands, *args), capture_output=True, text=True, env=self.env, timeout=100)
        return got.stdout + got.stderr

    def interrupted(self, command, signs, pause_s=0):
        """What is printed by GDB, which gets Ctrl-C when each of the signs has come."""
        log = os.path.join(self.folder, "interrupt.log")

        def shown():
            with open(log, errors="replace") as file:
                return file.read()

        def press():
            """Once more if nothing comes of it: GDB forgets Ctrl-C between its announcement that the program goes on and when it does. Not soon:
            of a second one before the program has answered the first, on a busy machine, GDB makes that it is to give up."""
            before = shown()
            for tick in range(600):
                if tick % 200 == 0:
                    process.send_signal(signal.SIGINT)
                time.sleep(0.1)
                if shown() != before or process.poll() is not None:
                    return

        with open(log, "w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=self.env, start_new_session=True)
        for sign in signs:
            for _ in range(600):
                if sign in shown() or process.poll() is not None:
                    break
                time.sleep(0.1)
            time.sleep(pause_s)
            press()
        try:
            process.wait(timeout=60)
            return shown()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return shown() + "\n(hangs)"

    def plain(self, name, *args):
        got = subprocess.run([heddle, "run", self.programs[name], *args], capture_output=True, text=True, env=self.env,
                             timeout=100)
        return got.stdout


def has(text, pattern, name):
    tap.ok(re.search(pattern, text, re.M), name, "no %r in\n%s" % (pattern, text))


def lacks(text, pattern, name):
    tap.ok(not re.search(pattern, text, re.M), name, "%r in\n%s" % (pattern, text))
