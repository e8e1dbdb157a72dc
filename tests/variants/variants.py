#!/usr/bin/env python3
"""What the tests of the tools vary: table.txt has the ways to build and run a program, tests.txt which test takes which.

A test builds its programs by variants.current() and knows no compiler; this file runs it once for each of its rows, as one TAP stream:

    variants.py [--every] TEST.py HEDDLE ARGUMENTS...

Without --every a test runs with the default row and one more. Which one is a rotation over tests.txt, so that one run of all the tests
sees every row; HEDDLE_SEED=N turns it by N. Rows that need nvcc, or a CPU that the host is not, are skipped by name."""
import functools
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from cuda_toolkit import find_nvcc  # noqa: E402

COLUMNS = ("builder", "arch", "code", "level")
ENV = "TEST_VARIANT"


class Variant:
    def __init__(self, name, builder, arch, code, level):
        self.name, self.builder, self.arch, self.code, self.level = name, builder, arch, code, level
        self.is_default = False

    def missing(self, heddle):
        """Why it cannot run here, or None."""
        if self.builder != "cc" and not find_nvcc():
            return "no nvcc"
        if self.level not in ("best", "generic") and self.level not in host_levels(heddle):
            return f"no {self.level} on this machine"
        return None

    def env(self):
        return {} if self.level == "best" else {"HEDDLE_CPU": self.level}

    def options(self, *own):
        """Its own, but for what `own` decides: an architecture, or what code is like."""
        words = [word for option in own for word in option.split()]
        arch = [] if any(re.match(r"-(arch|gencode)|--gpu", word) for word in words) else [f"-arch=compute_{self.arch}"]
        code = [] if any(re.fullmatch(r"-G|-O\d|-lineinfo", word) for word in words) else {"O3": ["-O3"], "G": ["-O0", "-G"]}[self.code]
        return [*arch, *code, *own]

    def compiler(self, heddle, builder=None):
        """The first words of its command; `builder` instead of its own, of which nvcc takes the runtime of the row."""
        builder = builder or self.builder
        if builder == "cc":
            return [heddle, "cc"]
        runtime = self.builder if self.builder != "cc" else "static"
        return [find_nvcc(), "-cudart", runtime]

    def command(self, heddle, source, program, *own):
        """What builds a program. libcuda is that of the toolkit folder beside the command."""
        libraries = [] if self.builder == "cc" else ["-L", os.path.join(os.path.dirname(heddle), "cuda/lib64/stubs")]
        return [*self.compiler(heddle), *self.options(*own), source, "-o", program, *libraries]


@functools.cache
def lacks(heddle, level):
    """Why the host cannot run a level of HEDDLE_CPU; None when it can."""
    said = subprocess.run([heddle, "info", "--json"], capture_output=True, text=True, env={**os.environ, "HEDDLE_CPU": level}, check=False).stdout
    said = json.loads(said)["cpu"]["level"]
    return said if "lacks" in said else None


def host_levels(heddle):
    """The levels of HEDDLE_CPU besides generic that the host has."""
    return [level for level in ("avx2", "avx512") if not lacks(heddle, level)]


def levels(heddle):
    """The levels that a test of all of them goes through: with another row than the default only that row's."""
    row = current()
    return ("avx512", "avx2", "generic") if row.is_default else (row.level if row.level != "best" else (host_levels(heddle) or ["generic"])[-1],)


def lines(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [line.split(None, 4) for line in file if line.strip() and not line.startswith("#")]


def table():
    rows = [Variant(*(word.strip() for word in line)) for line in lines("table.txt")]
    rows[0].is_default = True
    return rows


class Test:
    def __init__(self, path, mode, rest):
        self.path, self.mode = path, mode
        found = re.match(r"-(\w+)=(\w+) +", rest)
        self.left_out = (found[1], found[2]) if found else None
        self.reason = rest[found.end():] if found else rest

    def takes(self, row):
        return not self.left_out or getattr(row, self.left_out[0]) != self.left_out[1]


def tests():
    with open(os.path.join(HERE, "tests.txt"), encoding="utf-8") as file:
        found = [line.split(None, 2) for line in file if line.strip() and not line.startswith("#")]
    return [Test(line[0], line[1], line[2].strip() if len(line) > 2 else "") for line in found]


def drawn(path, every=False, seed=0):
    """The rows that a test runs with; None: tests.txt says that it does not vary."""
    varying = [test for test in tests() if test.mode != "none"]
    at = next((i for i, test in enumerate(varying) if test.path == path), None)
    if at is None:
        return None
    rows = [row for row in table() if row.is_default or varying[at].takes(row)]
    more = rows[1:]
    if every:
        return rows if varying[at].mode == "both" else more
    one = more[(at + seed) % len(more)]
    return [rows[0], one] if varying[at].mode == "both" else [one]


def current():
    """The row of this run; the default where a test is started by itself."""
    name = os.environ.get(ENV)
    return next(row for row in table() if row.name == name) if name else table()[0]


# ---- running a test

class Stream:
    """Several runs as one TAP stream."""

    def __init__(self):
        self.count, self.failed = 0, False

    def line(self, text, row):
        match = re.match(r"(ok|not ok) \d+(.*)", text)
        if re.match(r"1\.\.\d", text):
            return re.match(r"1\.\.0\s*#\s*SKIP(.*)", text)
        if not match:
            print(text)
            return None
        self.count += 1
        self.failed = self.failed or match[1] == "not ok"
        name, hash_, directive = match[2].partition(" # ")
        print(f"{match[1]} {self.count}{name or ' -'} [{row.name}]{hash_}{directive}", flush=True)
        return None

    def skip(self, why, row):
        self.count += 1
        print(f"ok {self.count} - [{row.name}] # SKIP {why}", flush=True)

    def run(self, row, test, args):
        process = subprocess.Popen([sys.executable, test, *args], stdout=subprocess.PIPE, text=True, errors="replace", env={**os.environ, ENV: row.name})
        before, skipped = self.count, None
        for text in process.stdout:
            skipped = self.line(text.rstrip("\n"), row) or skipped
        code = process.wait()
        if skipped:
            self.skip(skipped[1].strip(), row)
        elif code or self.count == before:
            self.failed = True
            print(f"# {os.path.basename(test)} [{row.name}] ended with {code}", flush=True)


def main(args):
    every = args[:1] == ["--every"]
    test, *rest = args[1:] if every else args
    rows = drawn(os.path.relpath(os.path.realpath(test), ROOT), every, int(os.environ.get("HEDDLE_SEED", "0")))
    if rows is None:
        sys.exit(f"variants.py: tests/variants/tests.txt does not say what {test} varies")
    stream = Stream()
    for row in rows:
        why = row.missing(os.path.abspath(rest[0]))
        if why and len(rows) == 1:  # the test has other builders
            row, why = table()[0], None
        if why:
            stream.skip(why, row)
        else:
            stream.run(row, test, rest)
    print(f"1..{stream.count}")
    sys.exit(stream.failed)


if __name__ == "__main__":
    main(sys.argv[1:])
