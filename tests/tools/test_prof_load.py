#!/usr/bin/env python3
"""heddle prof under load: a million launches, a thousand streams, kill -9 at any moment: test_prof_load.py HEDDLE"""
import csv
import glob
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from support import Bench, Tap

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prof_load.cu")
LAUNCHES, STREAMS = 1000000, 1000


class Programs(Bench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder)
        self.program = self.build(SOURCE)

    def run(self, *args):
        return super().run(*args, timeout=500)

    def lost_session(self, command):
        """The folder of a recording whose heddle was killed when the program had printed `done`."""
        process = subprocess.Popen([heddle, "prof", "-f", "-o", "lost", "sh", "-c", f"{command}; echo done; read x"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=self.env, cwd=self.folder)
        while process.stdout.readline() not in ("done\n", ""):
            pass
        process.kill()
        process.wait()
        process.stdin.close()
        return glob.glob(os.path.join(self.folder, "lost.sqlite.session-*"))[0]

    def recover(self, folder):
        """(status, the most memory that is not a file's, in MiB)"""
        process = subprocess.Popen([heddle, "prof", "recover", "-f", "-o", "found", folder], stderr=subprocess.DEVNULL, env=self.env, cwd=self.folder)
        most = 0
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                most = max([most] + [int(line.split()[1]) >> 10 for line in file if line.startswith("RssAnon")])
            time.sleep(0.02)
        return process.returncode, most

    def db(self, name):
        return sqlite3.connect(os.path.join(self.folder, name + ".sqlite"))


def one(db, sql):
    return db.execute(sql).fetchone()


def test_million(bench):
    folder = bench.lost_session(f"{bench.program} {LAUNCHES} {STREAMS}")
    spool = max(os.path.getsize(path) for path in glob.glob(os.path.join(folder, "*")))
    start = time.time()
    status, memory = bench.recover(folder)
    taken = time.time() - start
    size = os.path.getsize(os.path.join(bench.folder, "found.sqlite"))
    db = bench.db("found")
    kernels, streams = one(db, "SELECT count(*), count(DISTINCT streamId) FROM CUPTI_ACTIVITY_KIND_KERNEL")
    calls, = one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value = 'cudaLaunchKernel_v7000'")
    tap.eq((status, kernels, calls, streams), (0, LAUNCHES, LAUNCHES, STREAMS), "a million launches in a thousand streams, each with its call")
    tap.eq(one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_STREAM")[0], STREAMS, "the streams")
    tap.ok(size <= 200e6, "in at most 200 MB", f"{size / 1e6:.0f} MB")
    tap.ok(memory <= 64, "making the report takes little memory, however long the recording", f"{memory} MiB")
    for report, column, sql in (
            ("cuda_gpu_kern_sum", "Med (ns)", "SELECT end - start FROM CUPTI_ACTIVITY_KIND_KERNEL"),
            ("cuda_kern_exec_sum", "AMed (ns)", "SELECT r.end - r.start FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN CUPTI_ACTIVITY_KIND_KERNEL "
                                                "USING (correlationId)")):
        text = subprocess.run([heddle, "prof", "stats", "-r", report, "--format", "csv", "found.sqlite"], capture_output=True, text=True,
                              env=bench.env, cwd=bench.folder, timeout=300).stdout
        rows = list(csv.DictReader(text.splitlines()))
        tap.eq(float(rows[0][column]), statistics.median(row[0] for row in db.execute(sql)), f"{report}: the median of a million")
    print(f"# spool {spool / 1e6:.0f} MB, report {size / 1e6:.0f} MB at {(kernels + calls) / taken / 1e3:.0f} k events/s, {memory} MiB")
    shutil.rmtree(folder)


def test_killed(bench):
    """What had been recorded is whole: every kernel that ended has a call, or its call had not returned."""
    seed = random.randrange(1 << 30)
    print(f"# seed {seed}")
    chance = random.Random(seed)
    for i in range(8):
        wait = 0.5 + chance.random() * 0.5
        folder = bench.lost_session(f"timeout -s KILL {wait:.3f} {bench.program} 100000000 50")
        status, _ = bench.recover(folder)
        db = bench.db("found")
        launches = one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value = 'cudaLaunchKernel_v7000'")[0]
        alone = one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) "
                        "WHERE r.start IS NULL OR k.end < k.start")[0]
        tap.ok(status == 0 and launches > 0 and alone <= 1, f"killed after {wait:.3f} s", f"{status} {launches} {alone}")
        tap.eq(one(db, "PRAGMA integrity_check")[0], "ok", "the report is whole")
        shutil.rmtree(folder)


def main():
    with tempfile.TemporaryDirectory(prefix="heddle-prof-load-") as folder:
        bench = Programs(folder)
        for test in (test_million, test_killed):
            test(bench)
    tap.done()


main()
