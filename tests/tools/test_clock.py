#!/usr/bin/env python3
"""Recordings, advice, CUPTI's times and what is served while the clock of the day leaps by an hour: test_clock.py HEDDLE CUPTI-CLIENT..."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from support import Bench, Tap

tap = Tap()
HERE = os.path.dirname(os.path.abspath(__file__))
HOUR_NS = 3600 * 10**9


def library(folder):
    path = os.path.join(folder, "step_clock.so")
    got = subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-o", path, os.path.join(HERE, "step_clock.c")], capture_output=True, text=True,
                         check=False)
    tap.ok(got.returncode == 0, "the leaping clock builds", got.stderr)
    return path


def test_leaps(leaping):
    looks = "import time\nend = time.monotonic() + 0.1\nseen = set()\nwhile time.monotonic() < end: seen.add(round(time.time() / 3600))\nprint(len(seen))"
    got = subprocess.run([sys.executable, "-c", looks], env={**os.environ, "LD_PRELOAD": leaping}, capture_output=True, text=True, check=False)
    tap.ok(int(got.stdout or 0) >= 2, "it leaps", got.stdout + got.stderr)


def test_recording(bench, leaping):
    """Two processes, one after the other, in one report."""
    program = bench.build(os.path.join(HERE, "prof.cu"))
    begin = time.monotonic_ns()
    got = bench.run("prof", "-f", "-o", "run", "sh", "-c", f"{program}; {program}", LD_PRELOAD=leaping)
    taken = time.monotonic_ns() - begin
    tap.eq(got.returncode, 0, "a recording")
    db = sqlite3.connect(os.path.join(bench.folder, "run.sqlite"))
    tables = ["CUPTI_ACTIVITY_KIND_" + name for name in ("KERNEL", "RUNTIME", "MEMCPY", "MEMSET")]
    spans = [row for table in tables for row in db.execute(f"SELECT start, end FROM {table}")]
    spans += [row for row in db.execute("SELECT start, coalesce(end, start) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)")]
    tap.ok(len(spans) > 60 and all(0 <= start <= end <= taken for start, end in spans), "every event is within the time that the programs took",
           [row for row in spans if not 0 <= row[0] <= row[1] <= taken][:5])
    sql = ("SELECT count(*), sum(k.start < r.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
           "r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24")
    tap.eq(db.execute(sql).fetchone(), (22, 0), "no kernel begins before its launch")
    spans = [row for row in db.execute("SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY globalTid >> 24 ORDER BY 1")]
    tap.ok(len(spans) == 2 and spans[0][1] <= spans[1][0], "the processes do not overlap, as they did not", spans)
    began, = db.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
    tap.ok(-HOUR_NS / 60 < began - (time.time_ns() - taken) < HOUR_NS + HOUR_NS / 60, "the day's time is that of the beginning", began)
    got = bench.run("advise", "--json", "--min-gain", "0", "run.sqlite", LD_PRELOAD=leaping)
    tap.eq(got.returncode, 0, "advice")
    gains = [found["gain_ns"] for found in json.loads(got.stdout)["findings"]]
    tap.ok(gains and all(0 <= gain <= taken for gain in gains), "whose gains are possible", gains)


def test_clients(bench, leaping, clients):
    """Tests of CUPTI, which compare its times with each other."""
    for client in clients:
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        got = subprocess.run([client], env={**env, "HEDDLE_CACHE": bench.env["HEDDLE_CACHE"], "LD_PRELOAD": leaping}, capture_output=True, text=True,
                             timeout=200, check=False)
        failed = [line for line in got.stdout.splitlines() if line.startswith("not ok")]
        tap.ok(got.returncode == 0 and not failed, f"{os.path.basename(client)} passes", "\n".join(failed) + got.stderr)


def test_serve(bench, leaping):
    env = {**bench.env, "LD_PRELOAD": leaping, "HEDDLE_REGISTRY": os.path.join(bench.folder, "registry")}
    server = subprocess.Popen([bench.heddle, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        address = next(word.rstrip("/.,") for word in server.stdout.readline().split() if word.startswith("http://"))
        numbers, wrong = [], []
        for _ in range(8):
            bench.run("run", os.path.join(bench.folder, "prof"), **env)
            time.sleep(0.4)
            with urllib.request.urlopen(address + "/api/v1/snapshot", timeout=20) as answer:
                told = json.load(answer)
            numbers.append(told["snapshot"])
            for device in told["devices"]:
                percent = device["utilization_percent"]
                if percent is not None and not 0 <= percent <= 100 or device["kernel_busy_s"] > 60:
                    wrong.append(device)
        tap.ok(numbers == sorted(numbers) and numbers[-1] >= numbers[0] + 2, "serve looks once a second all the same", numbers)
        tap.eq(wrong, [], "and finds what is possible")
    finally:
        server.kill()
        server.wait()


def main():
    with tempfile.TemporaryDirectory(prefix="heddle-clock-") as folder:
        bench = Bench(sys.argv[1], tap, folder)
        leaping = library(folder)
        test_leaps(leaping)
        test_recording(bench, leaping)
        test_clients(bench, leaping, sys.argv[2:])
        test_serve(bench, leaping)
    tap.done()


main()
