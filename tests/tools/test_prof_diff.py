#!/usr/bin/env python3
"""heddle prof diff, and what reads reports, on reports that are made, foreign and damaged: test_prof_diff.py HEDDLE"""
import csv
import io
import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from prof_report import Report
from support import Tap

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SEED = int(os.environ.get("HEDDLE_SEED", "11"))
FILES = 40


class Bench:
    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def prof(self, *args):
        env = {k: v for k, v in os.environ.items() if not k.startswith("HEDDLE_")}
        return subprocess.run([heddle, "prof", *args], capture_output=True, text=True, errors="replace", env=env, timeout=60, cwd=self.folder)

    def diff(self, *args, code=0):
        got = self.prof("diff", "--json", *args)
        tap.eq(got.returncode, code, f"diff {' '.join(args)}: status")
        return json.loads(got.stdout)

    def report(self, name, durations):
        """durations: {kernel: [ns]}; each launch takes 100 ns and there is a copy and a range."""
        report, time = Report(self.path(name)), 1000
        report.process(wall=10**9)
        for kernel, all_ns in durations.items():
            for duration in all_ns:
                report.api("cudaLaunchKernel_v7000", time, time + 100, corr=time)
                report.kernel(kernel, time + 50, time + 50 + duration, corr=time, grid=(len(all_ns) % 3 + 1, 1, 1))
                time += 200 + duration
        report.copy(time, time + 500, 4096)
        report.range("all", 1000, time, registered=True)
        for i in range(3):
            report.range(f"layer1.x2 step {i}, seq = {i * 7}", 1000 + i, 2000 + i)
        report.done()


def pairs(a, b):
    """The test once more, from its definition: (p, how often b is larger)."""
    u = sum((y > x) + (y == x) / 2 for x in a for y in b)
    n, m, both = len(a), len(b), a + b
    ties = sum(both.count(v) ** 3 - both.count(v) for v in set(both))
    sigma = math.sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))))
    return math.erfc(max(abs(u - n * m / 2) - 0.5, 0) / sigma / math.sqrt(2)), u / n / m


def by_name(diff):
    return {row["name"]: row for row in diff["rows"]}


def test_verdicts(bench):
    chance = random.Random(SEED)
    print(f"# HEDDLE_SEED={SEED}")
    noise = [[chance.randrange(900, 1100) for _ in range(40)] for _ in range(2)]
    slow = [[chance.randrange(4000, 4400) + extra for _ in range(50)] for extra in (0, 900)]
    bench.report("a.sqlite", {"same(int)": noise[0], "slow(int)": slow[0], "fast(int)": slow[1], "gone(int)": [70] * 9, "rare(int)": [5, 6]})
    bench.report("b.sqlite", {"same(int)": noise[1], "slow(int)": slow[1], "fast(int)": slow[0], "fresh(int)": [80] * 7, "rare(int)": [50, 60]})
    diff = bench.diff("a.sqlite", "b.sqlite")
    rows = by_name(diff)
    tap.eq({k: rows[f"{k}(int)"]["verdict"] for k in ("same", "slow", "fast", "gone", "fresh", "rare")},
           dict(same="same", slow="slower", fast="faster", gone="gone", fresh="new", rare="few"), "verdicts")
    p, superior = pairs(*noise)
    row = rows["same(int)"]
    tap.ok(math.isclose(row["p"], p, rel_tol=1e-6) and math.isclose(row["superior"], superior, rel_tol=1e-9), "the test is that of its definition",
           f"{row} {p} {superior}")
    p, superior = pairs(*slow)
    row = rows["slow(int)"]
    tap.ok(math.isclose(row["p"], p, rel_tol=1e-6, abs_tol=1e-12) and math.isclose(row["superior"], superior), "also with another result", f"{row} {p}")
    tap.eq([row["a"]["count"], row["a"]["total_ns"], row["b"]["total_ns"], row["a"]["median_ns"]],
           [50, sum(slow[0]), sum(slow[1]), (sorted(slow[0])[24] + sorted(slow[0])[25]) / 2], "counts, totals, medians")
    changes = [abs(r["change_ns"]) for r in diff["rows"]]
    tap.eq(changes, sorted(changes, reverse=True), "the largest change comes first")
    tap.ok("cudaLaunchKernel" in rows and ":all" in rows and "[CUDA memcpy Host-to-Device]" in rows, "calls, copies, ranges", list(rows))
    tap.eq(rows[":layer1.x2 step #, seq = #"]["a"]["count"], 3, "ranges without their numbers")
    tap.ok(":layer1.x2 step 2, seq = 14" in by_name(bench.diff("--exact", "a.sqlite", "b.sqlite")), "and with them")
    same = bench.diff("a.sqlite", "a.sqlite")
    tap.eq({r["verdict"] for r in same["rows"]} - {"few"}, {"same"}, "a report is itself")
    grid = [r["name"] for r in bench.diff("--by-grid", "-k", "kernel", "a.sqlite", "b.sqlite")["rows"]]
    tap.ok("same(int) <<<(2,1,1),(32,1,1)>>>" in grid and len(grid) == 6, "grids apart", grid)


def test_forms(bench):
    table = list(csv.DictReader(io.StringIO(bench.prof("diff", "--csv", "a.sqlite", "b.sqlite").stdout)))
    rows = by_name(bench.diff("a.sqlite", "b.sqlite"))
    tap.eq({r["Name"]: float(r["Total change (ns)"]) for r in table}, {k: r["change_ns"] for k, r in rows.items()}, "CSV and JSON agree")
    text = bench.prof("diff", "-n", "2", "a.sqlite", "b.sqlite").stdout
    tap.ok("more with smaller changes" in text and "slow(int)" in text, "a table", text)
    bench.report("hostile.sqlite", {"<script>alert(1)</script>&\"'": [5] * 6})
    tap.eq(bench.prof("diff", "--html", "diff.html", "a.sqlite", "hostile.sqlite").returncode, 0, "a page")
    with open(bench.path("diff.html")) as file:
        page = file.read()
    tap.ok("&lt;script&gt;alert(1)" in page and "<script" not in page and "cudaLaunchKernel" in page, "names are escaped", page)


def test_gate(bench):
    bench.diff("--fail-above", "10", "-k", "kernel", "a.sqlite", "b.sqlite", code=3)
    diff = bench.diff("--fail-above", "1000", "-k", "kernel", "--min-share", "5", "a.sqlite", "b.sqlite")
    tap.eq(diff["failures"], 0, "a wide gate")
    failing = [r["name"] for r in bench.diff("--fail-above", "10", "-k", "kernel", "--min-share", "5", "a.sqlite", "b.sqlite", code=3)["rows"] if r["fails"]]
    tap.eq(failing, ["slow(int)"], "what is slower by more than chance, and large, fails")
    bench.diff("--fail-above", "0", "a.sqlite", "a.sqlite")
    bench.report("more.sqlite", {"slow(int)": [4000] * 200})
    bench.report("less.sqlite", {"slow(int)": [4000] * 100})
    bench.diff("--fail-above", "50", "-k", "kernel", "less.sqlite", "more.sqlite", code=3)
    bench.diff("--fail-above", "50", "-k", "kernel", "more.sqlite", "less.sqlite")


def test_usage(bench):
    for args in ((), ("a.sqlite",), ("-k", "nothing", "a", "b"), ("--fail-above", "-1", "a", "b"), ("--fail-above", "nan", "a", "b"), ("--format", "x", "a", "b")):
        got = bench.prof("diff", *args)
        tap.ok(got.returncode == 2, "usage: " + " ".join(args), got.stderr)
    tap.eq(bench.prof("diff", "--help").returncode, 0, "help")
    db = sqlite3.connect(bench.path("foreign.sqlite"))
    db.execute("CREATE TABLE moz_places(id INTEGER)")
    db.commit()
    db.close()
    open(bench.path("empty.sqlite"), "w").close()
    os.mkdir(bench.path("folder"))
    for name in ("foreign.sqlite", "empty.sqlite", "absent.sqlite", "folder"):
        for args in (("diff", "a.sqlite", name), ("diff", name, "a.sqlite"), ("stats", name), ("export", "-t", "chrome", "-o", "x", name)):
            got = bench.prof(*args)
            tap.ok(got.returncode == 1 and got.stderr.startswith(f"heddle: prof: {name}: "), " ".join(args), got.stderr)


def test_many_ranges(bench):
    """Without names of domains a range costs as much as any other: these took longer than the bench waits."""
    report = Report(bench.path("ranges.sqlite"))
    for i in range(20000):
        report.range(f"range{i % 50}", i * 10, i * 10 + 5, registered=i % 2)
    report.done()
    table = list(csv.DictReader(io.StringIO(bench.prof("stats", "-r", "nvtx_sum", "--format", "csv", "ranges.sqlite").stdout)))
    tap.eq({r["Range"]: r["Instances"] for r in table}, {f":range{i}": "400" for i in range(50)}, "ranges by name, registered or not")
    got = bench.prof("export", "-t", "chrome", "-o", "ranges", "ranges.sqlite")
    with open(bench.path("ranges.json")) as file:
        names = {e["name"] for e in json.load(file)["traceEvents"]}
    tap.eq((got.returncode, names), (0, {f"range{i}" for i in range(50)}), "also in a trace")


# ---- damage: a message or a result, never a crash

def full_report(path):
    report = Report(path)
    report.process(wall=100000)
    report.thread("main")
    for i in range(60):
        at = 1000 + i * 1000
        report.api(f"call{i % 7}_v3020", at, at + 300, corr=i)
        report.kernel(f"kernel{i % 5}<int>(int *)", at + 100, at + 700, corr=i, stream=7 + i % 3)
        report.range(f"range{i % 4}", at, at + 900, registered=i % 2)
        report.osrt("poll", at, at + 50, tid=101)
    report.copy(500, 900, 4096)
    report.fill(400, 450, 4096)
    report.sync(2000, 2600)
    report.compile("kernel0", 1000, 1090)
    report.memory(10, 4096)
    return report.done()


def flip(path, chance):
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        for _ in range(chance.choice((1, 8, 64, 500))):
            file.seek(chance.randrange(size))
            file.write(bytes([chance.randrange(256)]))


def truncate(path, chance):
    os.truncate(path, chance.randrange(os.path.getsize(path)))


def tables(db):
    return [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def drop(path, chance):
    """A table less, or a column."""
    db = sqlite3.connect(path)
    table = chance.choice(tables(db))
    if chance.random() < 0.3:
        db.execute(f"DROP TABLE {table}")
    else:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if not row[5]]
        left = set(columns) - {chance.choice(columns)} or {"rowid"}
        db.execute(f"CREATE TABLE other AS SELECT {', '.join(sorted(left))} FROM {table}")
        db.execute(f"DROP TABLE {table}")
        db.execute(f"ALTER TABLE other RENAME TO {table}")
    db.commit()
    db.close()


def retype(path, chance):
    """Columns of any type, and in them anything: NULL, text, blobs, numbers too large, times that end before they begin."""
    db = sqlite3.connect(path)
    for table in tables(db):
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        db.execute(f"CREATE TABLE other AS SELECT * FROM {table}")
        db.execute(f"DROP TABLE {table}")
        db.execute(f"ALTER TABLE other RENAME TO {table}")
        for column in columns:
            if chance.random() < 0.3:
                value = chance.choice((None, "text", b"\xff\xfe\x00", -1, 2**63 - 1, -2**63, 1.5, float("inf"), "\u2028</script>" * 50))
                db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid % ? = 0", (value, chance.choice((1, 2, 7))))
    db.commit()
    db.close()


def schema(path, chance):
    """Objects that are called as tables and are none."""
    db = sqlite3.connect(path)
    table = chance.choice(tables(db))
    db.execute(f"ALTER TABLE {table} RENAME TO other")
    db.execute(chance.choice((f"CREATE VIEW {table} AS SELECT * FROM {table}", f"CREATE VIEW {table} AS SELECT 1", f"CREATE VIEW {table} AS SELECT * FROM other",
                              f"CREATE TABLE {table}(x)")))
    db.commit()
    db.close()


def test_damage(bench):
    full_report(bench.path("good.sqlite"))
    names = [line.split()[0] for line in bench.prof("stats", "--report", "help").stdout.splitlines()]
    commands = [("stats", "-r", ",".join(names), "bad.sqlite"), ("export", "-t", "chrome", "-o", "out", "bad.sqlite"),
                ("export", "-t", "perfetto", "-o", "out", "bad.sqlite"), ("export", "-t", "html", "-o", "out", "bad.sqlite"), ("diff", "bad.sqlite", "good.sqlite"), ("diff", "--json", "good.sqlite", "bad.sqlite")]
    for command in commands:
        got = bench.prof(*["good.sqlite" if word == "bad.sqlite" else word for word in command])
        tap.ok(got.returncode == 0, f"undamaged: {command[0]}", got.stderr)
    wrong, messages = [], 0
    for seed in range(SEED, SEED + FILES):
        for damage in (flip, truncate, drop, retype, schema):
            shutil.copy(bench.path("good.sqlite"), bench.path("bad.sqlite"))
            damage(bench.path("bad.sqlite"), random.Random(seed))
            command = commands[seed % len(commands)]
            try:
                got = bench.prof(*command)
            except subprocess.TimeoutExpired:
                wrong.append(f"{damage.__name__} {seed} {command}: no end")
                continue
            messages += got.returncode == 1
            if got.returncode not in (0, 1) or (got.returncode == 1 and not got.stderr.startswith("heddle: prof: ")):
                wrong.append(f"{damage.__name__} {seed} {command}: {got.returncode} {got.stderr[-300:]}")
    tap.eq(wrong, [], f"{FILES * 5} damaged files: no crash, a message")
    tap.ok(messages > FILES, "most are refused with a message", messages)


def main():
    with tempfile.TemporaryDirectory(prefix="heddle-diff-") as folder:
        bench = Bench(folder)
        for test in (test_verdicts, test_forms, test_gate, test_usage, test_many_ranges, test_damage):
            test(bench)
    tap.done()


main()
