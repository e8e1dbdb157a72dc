#!/usr/bin/env python3
"""heddle prof: a program's report has what the program did, in every form: test_prof.py HEDDLE"""
import csv
import glob
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

import prof_invariants
from support import Bench, Tap, message

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prof.cu")
BYTES, ROUNDS = 4 << 12, 10


class Programs(Bench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder)
        self.program = self.build(SOURCE)

    def prof(self, name, *args, mode=(), code=0):
        got = self.run("prof", "-f", "-o", name, *args, self.program, *mode)
        tap.eq(got.returncode, code, f"{name}: the program's status")
        db = self.db(name)
        if not args[:1] == ("--limit",):  # what found no room may be a call
            tap.eq((prof_invariants.orphans(db), prof_invariants.early(db)), ([], []), f"{name}: kernels, copies and fills have their calls, which begin first")
        return got

    def db(self, name):
        return sqlite3.connect(os.path.join(self.folder, name + ".sqlite"))


def one(db, sql, *args):
    return db.execute(sql, args).fetchone()


def rows(db, sql):
    return db.execute(sql).fetchall()


KERNELS = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName WHERE value = ?"


def test_report(bench):
    bench.prof("all", "--trace=cuda,nvtx,osrt", "--export", "chrome,perfetto", "--html")
    db = bench.db("all")
    tap.eq((one(db, KERNELS, "scale")[0], one(db, KERNELS, "add")[0]), (ROUNDS, 1), "kernels by name")
    tap.eq(one(db, "SELECT s.value, gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSharedMemory FROM CUPTI_ACTIVITY_KIND_KERNEL k "
               "JOIN StringIds s ON s.id = k.demangledName JOIN StringIds m ON m.id = k.shortName WHERE m.value = 'add'"),
           ("void add<float>(float *, float const *, int)", 16, 1, 1, 64, 4, 1, 512), "its launch")
    tap.eq(rows(db, "SELECT copyKind, bytes, srcKind, dstKind FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start"), [(1, BYTES, 0, 2), (2, BYTES, 2, 0)],
           "copies")
    tap.eq(rows(db, "SELECT bytes, value, memKind FROM CUPTI_ACTIVITY_KIND_MEMSET"), [(BYTES, 0, 2)], "a fill")
    calls = dict(rows(db, "SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId GROUP BY value"))
    tap.eq([calls.get(name) for name in ("cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaMemcpy_v3020", "cudaStreamSynchronize_v3020", "cuLaunchKernel")],
           [ROUNDS + 1, 2, 2, ROUNDS, None], "calls of the runtime, without the driver's inside them")
    tap.eq(one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) JOIN StringIds "
               "ON id = nameId WHERE value = 'cudaLaunchKernel_v7000' AND r.start <= k.start AND k.end > k.start")[0], ROUNDS + 1,
           "each kernel begins behind the beginning of its call")
    tap.eq(rows(db, "SELECT text, eventType, count(*), count(end) FROM NVTX_EVENTS GROUP BY text ORDER BY min(start)"),
           [("rounds", 59, 1, 1), ("round", 60, ROUNDS, ROUNDS), ("between", 34, 1, 0), ("sums", 59, 1, 1)], "ranges and a mark")
    inside = one(db, "SELECT count(*) FROM NVTX_EVENTS n JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.start >= n.start AND k.end <= n.end WHERE text = 'rounds'")
    tap.eq(inside[0], ROUNDS, "kernels lie inside the range that waits for them")
    default, = one(db, "SELECT nullStreamId FROM TARGET_INFO_CUDA_CONTEXT_INFO")
    streams = dict(rows(db, "SELECT value, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName GROUP BY value, streamId"))
    tap.ok(streams["add"] == default != streams["scale"], "streams", f"{streams}, default {default}")
    tap.eq(one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType = 3 AND streamId = ?", streams["scale"])[0], ROUNDS,
           "waits for the stream")
    alloc = rows(db, "SELECT memoryOperationType, sum(bytes) FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memKind = 2 GROUP BY 1")
    tap.eq(alloc, [(0, 2 * BYTES), (1, 2 * BYTES)], "memory that came and went")
    test_waits(bench, db)
    test_sums(db)


def test_waits(bench, db):
    waits = dict(rows(db, "SELECT value, count(*) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY value"))
    tap.eq((waits.get("usleep"), waits.get("pthread_cond_wait")), (1, 1), "waits of the program, and nobody else's")
    tap.ok(waits.get("pthread_mutex_lock", 0) < 100, "mutexes that are free are no waits", str(waits))
    tap.ok(one(db, "SELECT end - start FROM OSRT_API JOIN StringIds ON id = nameId WHERE value = 'usleep'")[0] >= 20000000, "how long it slept")
    tap.eq(one(db, "SELECT min(end - start) >= 1000, count(DISTINCT correlationId) = count(*), max(eventClass) FROM OSRT_API"), (1, 1, 27),
           "short ones are left out")
    thread, = one(db, "SELECT t.value FROM OSRT_API o JOIN StringIds s ON s.id = o.nameId JOIN ThreadNames n USING (globalTid) JOIN StringIds t "
                      "ON t.id = n.nameId WHERE s.value = 'pthread_cond_wait'")
    tap.eq(thread, "waiter", "whose it was")
    tap.eq(bench.run("prof", "-t", "cuda,gpu", bench.program).returncode, 2, "what cannot be traced is told")


def test_sums(db):
    busy = rows(db, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL "
                "SELECT start, end FROM CUPTI_ACTIVITY_KIND_MEMSET ORDER BY 1")
    union, reach = 0, 0
    for start, end in busy:
        union += max(0, end - max(start, reach))
        reach = max(reach, end)
    kernels, = one(db, "SELECT sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL")
    wall, = one(db, "SELECT duration FROM ANALYSIS_DETAILS")
    tap.ok(kernels <= sum(e - s for s, e in busy) and union <= wall and reach <= wall, "time of kernels <= busy time <= time of the run",
           f"{kernels} {union} {wall}")


def test_page(bench):
    """tests/tools/test_prof_page.py looks at pages in a browser; this one is of a program."""
    with open(os.path.join(bench.folder, "all.html")) as file:
        page = json.loads(file.read().split('<script type="application/json" id="data">')[1].split("</script>")[0])
    wall, = one(bench.db("all"), "SELECT duration FROM ANALYSIS_DETAILS")
    tap.eq((sum(c["ns"] for c in page["classes"]), page["end_ns"] - page["start_ns"]), (wall, wall), "where the time went is all of it")
    tap.eq((page["groups"]["kernel"]["n"], sum(row[1] for row in page["tables"]["kernel"])), (ROUNDS + 1, ROUNDS + 1), "kernels of the page")
    got = bench.run("prof", "-f", "-o", "other", "--html=named.html", bench.program)
    tap.ok(got.returncode == 0 and os.path.exists(os.path.join(bench.folder, "named.html")), "a page by its name", got.stderr)


def test_stats(bench):
    got = bench.run("prof", "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", "all.sqlite")
    table = list(csv.DictReader(io.StringIO(got.stdout)))
    tap.eq(list(table[0]), ["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Name"],
           "columns")
    row = next(row for row in table if row["Name"].startswith("scale"))
    db = bench.db("all")
    times = sorted(t for t, in rows(db, "SELECT end - start FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName WHERE value = 'scale'"))
    mean = sum(times) / len(times)
    deviation = (sum((t - mean) ** 2 for t in times) / (len(times) - 1)) ** 0.5
    want = [len(times), sum(times), times[0], times[-1], (times[4] + times[5]) / 2]
    have = [float(row[key]) for key in ("Instances", "Total Time (ns)", "Min (ns)", "Max (ns)", "Med (ns)")]
    tap.eq(have, want, "sums are those of the rows")
    tap.ok(abs(float(row["StdDev (ns)"]) - deviation) < 1 and abs(float(row["Avg (ns)"]) - mean) < 1, "mean and deviation", str(row))
    names = [line.split()[0] for line in bench.run("prof", "stats", "--report", "help").stdout.splitlines()]
    got = json.loads(bench.run("prof", "stats", "--json", "--report", ",".join(names), "all.sqlite").stdout)
    tap.ok(list(got) == names and all(bool(rows) != name.startswith(("host_samples", "heddle_kern_args")) for name, rows in got.items()),
           "every report has rows, but those of samples and of native kernels' arguments", str({k: len(v) for k, v in got.items()}))
    tap.eq(sum(row["Num Calls"] for row in got["cuda_api_sum"]), len(got["cuda_api_trace"]), "the summary counts what the trace lists")
    tap.ok({"cudaLaunchKernel", "cudaMalloc"} <= {row["Name"] for row in got["cuda_api_sum"] + got["cuda_api_trace"]} and
           got["cuda_kern_exec_sum"][0]["API Name"] == "cudaLaunchKernel", "reports show names without versions")
    text = bench.run("prof", "stats", "all.sqlite").stdout
    tap.eq(bench.run("prof", "stats", "all").stdout, text.replace("all.sqlite", "all"), "a report by the name that -o gave it")
    tap.ok("** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):" in text and "[CUDA memcpy Host-to-Device]" in text, "tables", text)


def test_traces(bench):
    with open(os.path.join(bench.folder, "all.json")) as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel" and e["ph"] == "X"]
    tap.eq(len(kernels), ROUNDS + 1, "Chrome: kernels")
    tap.eq(prof_invariants.bad_arrows(trace), [], "each has an arrow from its call")
    tap.eq({e["tid"] for e in kernels}, {e["args"]["stream"] for e in kernels}, "tracks are streams")
    packets = perfetto(os.path.join(bench.folder, "all.perfetto-trace"))
    opened, names, balanced = {}, [], True
    for time, event in packets:
        kind, track = event[9][0], event[11][0]
        if kind == 1:
            opened[track] = opened.get(track, 0) + 1
            names.append(event[23][0].decode())
        elif kind == 2:
            opened[track] -= 1
            balanced = balanced and opened[track] >= 0
    tap.ok(balanced and not any(opened.values()), "Perfetto: slices end")
    tap.eq(sum(n.startswith("scale(") for n in names), ROUNDS, "and are the kernels")


def perfetto(path):
    """(time, event) in the order of time, as a reader sorts them; those of one moment stay as they are."""
    with open(path, "rb") as file:
        packets = [message(p) for p in message(file.read())[1]]
    return sorted(((p[8][0], message(p[11][0])) for p in packets if 11 in p), key=lambda pair: pair[0])


def test_ranges(bench):
    bench.prof("api", "-c", "cudaProfilerApi")
    tap.eq(one(bench.db("api"), KERNELS, "scale")[0], 3, "between cudaProfilerStart() and cudaProfilerStop()")
    bench.prof("nvtx", "-c", "nvtx", "-p", "sums")
    db = bench.db("nvtx")
    tap.eq(one(db, "SELECT count(*) FROM sqlite_master WHERE name = 'OSRT_API'")[0], 0, "waits are recorded when asked for")
    tap.eq((one(db, KERNELS, "scale")[0], one(db, KERNELS, "add")[0]), (0, 1), "inside a range")
    bench.prof("some", "--launch-skip", "2", "--launch-count", "5")
    tap.eq(one(bench.db("some"), KERNELS, "scale")[0], 5, "from the third launch on, five")
    got = bench.prof("late", "--delay", "1000")
    tap.ok(" 0 kernels" in got.stderr, "nothing before the delay", got.stderr)


def test_ends(bench):
    bench.prof("fail", mode=["fail"], code=3)
    bench.prof("killed", mode=["kill"], code=128 + signal.SIGKILL)
    db = bench.db("killed")
    tap.eq((one(db, KERNELS, "scale")[0], one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY")[0]), (ROUNDS, 2), "a program that is killed is reported")
    bench.prof("fork", mode=["fork"])
    db = bench.db("fork")
    tap.eq(rows(db, "SELECT count(DISTINCT globalPid), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), [(2, 2 * (ROUNDS + 1))], "a child is a process")
    tap.eq(one(db, "SELECT count(*) FROM PROCESSES")[0], 2, "of the report")
    tap.eq(bench.run("prof", "export", "--type", "chrome", "fork.sqlite").returncode, 0, "as a trace")
    with open(os.path.join(bench.folder, "fork.json"), encoding="utf-8") as file:
        tap.eq(prof_invariants.bad_arrows(json.load(file)), [], "whose arrows stay in their process")
    db.executescript("CREATE TABLE few AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 3; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; "
                     "ALTER TABLE few RENAME TO CUPTI_ACTIVITY_KIND_RUNTIME")
    tap.eq(bench.run("prof", "export", "--type", "chrome", "fork.sqlite").returncode, 0, "a report that lacks calls")
    with open(os.path.join(bench.folder, "fork.json"), encoding="utf-8") as file:
        bad = prof_invariants.bad_arrows(json.load(file))
        tap.ok(bad and {kind for kind, *_ in bad} == {"none"}, "has fewer arrows, whole ones", bad)
    tap.eq(glob.glob(os.path.join(bench.folder, "*.session-*")), [], "nothing is left beside the reports")


def test_recover(bench):
    """heddle itself is killed: the folder has what was recorded."""
    process = subprocess.Popen([heddle, "prof", "-o", "lost", "sh", "-c", f"{bench.program}; echo done; read x"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=bench.env, cwd=bench.folder)
    tap.eq(process.stdout.readline(), "done\n", "the program ran")
    process.kill()
    process.wait()
    process.stdin.close()
    folder, = glob.glob(os.path.join(bench.folder, "lost.sqlite.session-*"))
    got = bench.run("prof", "recover", "-o", "found", folder)
    tap.eq((got.returncode, one(bench.db("found"), KERNELS, "scale")[0]), (0, ROUNDS), "recover makes a report of it")
    spool = max(glob.glob(os.path.join(folder, "*.spool")), key=os.path.getsize)
    with open(spool, "r+b") as file:  # a record that is longer than its block
        file.seek(4096 + 8)
        file.write(b"\xf8\xff")
    got = bench.run("prof", "recover", "-f", "-o", "found", folder)
    tap.ok(got.returncode == 0 and "damaged" in got.stderr, "a damaged block is told, the rest is there", got.stderr)
    with open(spool, "r+b") as file:
        file.write(b"nonsense")
    for other in set(glob.glob(os.path.join(folder, "*.spool"))) - {spool}:
        os.unlink(other)
    got = bench.run("prof", "recover", "-f", "-o", "found", folder)
    tap.ok(got.returncode == 1 and "no recording" in got.stderr, "what is no recording is refused", got.stderr)
    shutil.rmtree(folder)


def test_limit(bench):
    got = bench.prof("small", "--limit", "1")
    tap.ok("found no room" in got.stderr, "what does not fit is counted", got.stderr)


def test_errors(bench):
    tap.eq(bench.run("prof").returncode, 2, "no program")
    tap.eq(bench.run("prof", "--capture-range", "never", "x").returncode, 2, "a bad value")
    tap.eq(bench.run("prof", "-c", "nvtx", "x").returncode, 2, "a range without a name")
    tap.eq(bench.run("prof", "no-such-program").returncode, 127, "no such program")
    got = bench.run("prof", "-o", "all", bench.program)
    tap.ok(got.returncode == 1 and "--force-overwrite" in got.stderr, "a report is not replaced unasked", got.stderr)
    tap.eq(bench.run("prof", "stats", "--report", "nothing", "all.sqlite").returncode, 1, "no such report")
    with open(os.path.join(bench.folder, "bad.sqlite"), "wb") as file:
        file.write(b"SQLite format 3\0" + bytes(range(256)) * 64)
    for args in (["stats", "bad.sqlite"], ["export", "-t", "chrome", "bad.sqlite"], ["stats", "absent.sqlite"], ["export", "-t", "none", "all.sqlite"]):
        got = bench.run("prof", *args)
        tap.ok(got.returncode == 1 and got.stderr.startswith("heddle: prof: "), " ".join(args), got.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="heddle-prof-") as folder:
        bench = Programs(folder)
        for test in (test_report, test_page, test_stats, test_traces, test_ranges, test_ends, test_recover, test_limit, test_errors):
            test(bench)
    tap.done()


main()
