#!/usr/bin/env python3
"""The tables of variants.py, and that each test of a tool uses them: test_variants.py"""
import collections
import glob
import importlib.machinery
import importlib.util
import itertools
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../tools")]
import variants  # noqa: E402
from support import Tap  # noqa: E402

tap = Tap()
# A compiler by its name, where a test would start it.
OWN_BUILDER = re.compile(r'(?<!compiler\()heddle, "cc"|\brun\("cc"|\btool\("cc", *[^")]*\.cu|find_nvcc\(\), ')


def text_of(path):
    with open(os.path.join(variants.ROOT, path), encoding="utf-8") as file:
        return file.read()


def test_table():
    rows = variants.table()
    tap.eq(len({row.name for row in rows}), len(rows), "names of rows are unique")
    values = {column: {getattr(row, column) for row in rows} for column in variants.COLUMNS}
    tap.eq((values["builder"], values["code"]), ({"cc", "shared", "static"}, {"O3", "G"}), "every builder, with and without optimisation")
    for a, b in itertools.combinations(variants.COLUMNS, 2):
        have = {(getattr(row, a), getattr(row, b)) for row in rows}
        tap.eq(set(itertools.product(values[a], values[b])) - have, set(), f"every pair of {a} and {b}")


def test_tests():
    """Each test of a tool is listed; what varies builds by the table only, and meson runs it so."""
    listed = {test.path: test for test in variants.tests()}
    there = {os.path.relpath(path, variants.ROOT) for folder in ("tools", "dbg") for path in glob.glob(os.path.join(variants.ROOT, "tests", folder, "test_*.py"))}
    tap.eq(set(listed), there, "tests.txt lists the tests of tests/tools and tests/dbg, and no other")
    tap.eq(list(listed), sorted(listed), "in order")
    for path, test in listed.items():
        text, build = text_of(path), text_of(os.path.join(os.path.dirname(path), "meson.build"))
        name = os.path.basename(path)[len("test_"):-len(".py")]
        runs = re.search(rf"variants_py, files\('test_{name}\.py'\)|variants_py, files\('test_' \+ name", build)
        if test.mode == "none":
            tap.ok(test.reason, f"{path} says why it does not vary")
        elif test.mode in ("both", "one"):
            tap.ok(runs, f"meson.build runs {path} by variants.py")
            tap.ok(not OWN_BUILDER.search(text), f"{path} starts no compiler by itself", OWN_BUILDER.findall(text))
            tap.ok(not test.left_out or test.reason, f"{path} says why it leaves rows out")
        else:
            tap.ok(False, f"{path}: {test.mode} is none of both, one, none")


def test_clients():
    """Programs of others compile in their process: what varies for them is in scripts/clients, and none starts a compiler."""
    paths = [path for path in glob.glob(os.path.join(variants.ROOT, "tests/clients/*/*.py")) if "/suites/" not in path]
    tap.ok(paths, "there are clients")
    compiler = re.compile(OWN_BUILDER.pattern + r"|nvcc|clang\+\+")
    tap.eq([path for path in paths if compiler.search(text_of(os.path.relpath(path, variants.ROOT)))], [], "none of them starts a compiler")
    spec = importlib.util.spec_from_loader("clients", importlib.machinery.SourceFileLoader("clients", os.path.join(variants.ROOT, "scripts/clients")))
    clients = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(clients)
    tap.eq(set(clients.MACHINES), {row.arch for row in variants.table()}, "scripts/clients knows a machine of each architecture")
    taken = [clients.row_of(number) for number in range(len(clients.CLIENTS))]
    every = {(row.level, row.arch) for row in variants.table()}
    default = (variants.table()[0].level, variants.table()[0].arch)
    tap.eq({(row.level, row.arch) for row in taken}, every - {default}, "all clients together take each level with each architecture")


def test_rotation():
    names = {row.name for row in variants.table()}
    varying = [test for test in variants.tests() if test.mode != "none"]
    for seed in range(len(names)):
        seen = collections.Counter(row.name for test in varying for row in variants.drawn(test.path, seed=seed))
        tap.eq(set(seen), names, f"one run of all tests sees every row, seed {seed}")
    one, = [row for row in variants.drawn(varying[0].path) if not row.is_default]
    other, = [row for row in variants.drawn(varying[0].path, seed=1) if not row.is_default]
    tap.ok(one.name != other.name, "HEDDLE_SEED draws others")
    for test in varying:
        every = {row.name for row in variants.drawn(test.path, every=True)}
        want = {row.name for row in variants.table() if row.is_default or test.takes(row)} - ({variants.table()[0].name} if test.mode == "one" else set())
        tap.eq(every, want, f"--every: {test.path}")
    tap.eq(variants.drawn("tests/tools/test_nothing.py"), None, "a test that is not listed has no rows")


def test_stream():
    """Runs become one stream; what fails, crashes, plans nothing or is skipped is seen."""
    texts = {
        "fine": ('print("ok 1 - a\\nok 2 # SKIP b\\n1..2")', ["ok 1 - a [cc]", "ok 2 - [cc] # SKIP b"], False),
        "fails": ('print("not ok 1 - a\\n1..1")', ["not ok 1 - a [cc]"], True),
        "dies": ('print("ok 1 - a"); import sys; sys.exit(3)', ["ok 1 - a [cc]", "# dies [cc] ended with 3"], True),
        "empty": ("pass", ["# empty [cc] ended with 0"], True),
        "skipped": ('print("1..0 # SKIP no gdb")', ["ok 1 - [cc] # SKIP no gdb"], False),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, want, failed) in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            code = ("import sys; sys.path.insert(0, sys.argv[1]); import variants; s = variants.Stream(); s.run(variants.table()[0], sys.argv[2], []); "
                    "print(s.failed)")
            got = subprocess.run([sys.executable, "-c", code, HERE, os.path.join(folder, name)], capture_output=True, text=True, check=False)
            tap.eq(got.stdout.splitlines(), want + [str(failed)], f"a run that is {name}")


def test_skipped():
    """Without nvcc, and on a host of one level: rows are skipped by name."""
    test = os.path.join(variants.ROOT, "tests/tools/test_each_tool.py")
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import variants; variants.find_nvcc = lambda: None; variants.host_levels = lambda heddle: []\n"
            "variants.Stream.run = lambda self, row, test, args: self.line('ok 1 - ran', row)\n"
            "variants.main(['--every', sys.argv[2], 'heddle'])")
    got = subprocess.run([sys.executable, "-c", code, HERE, test], capture_output=True, text=True, check=False).stdout
    want = {"cc": "ran", "cc-generic": "ran", "cc-avx2": "no avx2 on this machine"}
    told = {name: why or "ran" for name, why in re.findall(r"^ok \d+ - .*?\[([\w-]+)\](?: # SKIP (.*))?$", got, re.M)}
    tap.eq(told, {row.name: want.get(row.name, "no nvcc") for row in variants.table()}, "what cannot run here is skipped by its name, and why")


for test in (test_table, test_tests, test_clients, test_rotation, test_stream, test_skipped):
    test()
tap.done()
