#!/usr/bin/env python3
"""heddle prof --kernel: equal launches together, the line with the most excess sectors, and what stays when its reader, or a signal, ends it:
test_prof_groups.py HEDDLE"""
import csv
import glob
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from support import Bench, Tap

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strided.cu")
DURATION = "gpu__time_duration.sum"
LAUNCHES = 20
with open(SOURCE) as file:
    STRIDED = next(i for i, line in enumerate(file, 1) if "the strided line" in line)
HEAD = re.compile(r"^  (\w+)\([^)]*\) \((\d+), 1, 1\)x\((\d+), 1, 1\), (?:(\d+) launches, )?(.*), Device 0, CC ", re.M)


def default_signals():
    """Whoever runs the tests may have them ignored, as nohup does."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Programs(Bench):
    def __init__(self, folder):
        super().__init__(heddle, tap, folder, TMPDIR=folder)
        self.lines = self.build(SOURCE, "-lineinfo")
        shutil.move(self.lines, self.lines + "-lines")
        self.lines += "-lines"
        self.plain = self.build(SOURCE)

    def prof(self, program, *words, options=()):
        return self.run("prof", "--kernel", "-f", "-o", "report", "--roofline", "none", *options, program, *words)

    def show(self, *args):
        return self.run("prof", "kernels", *args, "report.sqlite").stdout

    def rows(self, sql):
        return sqlite3.connect(os.path.join(self.folder, "report.sqlite")).execute(sql).fetchall()

    def left(self):
        return [name for name in os.listdir(self.folder) if ".session-" in name or name.startswith("heddle-")]

    def start(self, *args, **more):
        return subprocess.Popen([heddle, *args], text=True, env=self.env, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, preexec_fn=default_signals, **more)


def test_groups(bench):
    got = bench.prof(bench.lines, str(LAUNCHES))
    heads = HEAD.findall(got.stdout)
    tap.eq([head[:4] for head in heads], [("columns", "2", "64", "20"), ("rows", "2", "64", "10"), ("rows", "2", "64", "10"), ("rows", "1", "128", "")],
           "a group for each kernel, grid, block and size of shared memory, in the order of their first launches; one launch is no group")
    tap.eq({head[4] for head in heads}, {"Context 1, Stream 1"}, "where they were")
    tap.ok("--print-summary none shows each" in got.stdout[:HEAD.search(got.stdout).start()] and got.stdout.count("shows each") == 1, "how each is seen is told once, before all",
           got.stdout[:400])
    tap.ok(not re.search(r"^    [A-Z].* 0$", got.stdout, re.M) and len(re.findall(r"^    \d+ more are 0$", got.stdout, re.M)) >= 8 and "--page raw lists them" in got.stdout,
           "what is 0 is counted, and has no rows", [line for line in got.stdout.splitlines() if line.endswith(" 0")])
    tap.ok(re.search(r"^    smsp__inst_executed_op_branch.* 0$", bench.show("--page", "raw"), re.M), "the raw page has them")
    tap.ok(re.search(r"^    Branch Instructions .* 0$", bench.show("--metrics", "smsp__inst_executed_op_branch.sum"), re.M), "and who names one")
    times = [value for value, in bench.rows(f"SELECT value FROM HEDDLE_METRICS m JOIN HEDDLE_LAUNCHES USING (launchId) WHERE m.name = '{DURATION}' AND "
                                            "demangledName LIKE 'columns%'")]
    line = next(line for line in bench.show("--page", "raw", "--metrics", DURATION).splitlines() if DURATION in line)
    numbers = [float(word.replace(",", "")) for word in line.split()[2:]]
    tap.ok(len(numbers) == 3 and abs(numbers[0] - statistics.median(times)) < 0.01 and numbers[1:] == [min(times), max(times)], "median, least and greatest",
           (line, times))
    line = next(line for line in got.stdout.splitlines() if "Executed Instructions" in line)
    tap.eq(len(line.split()), 4, "what does not differ is there once")
    each = bench.show("--print-summary", "none")
    tap.eq((len(HEAD.findall(each)), "launches," in each, "shows each" in each), (2 * LAUNCHES + 1, False, False), "each by itself")
    tap.eq(len(json.loads(bench.show("--json"))), 2 * LAUNCHES + 1, "JSON has each")
    tap.eq(len(list(csv.reader(io.StringIO(bench.show("--csv", "--page", "raw", "--metrics", DURATION))))), 2 + 2 * LAUNCHES + 1, "CSV, too")
    tap.eq(bench.run("prof", "--print-summary", "some", "kernels").returncode, 2, "a bad value")
    got = bench.run("ncu", "-i", "report", "--section", "LaunchStats")
    tap.eq(len(HEAD.findall(got.stdout)), 2 * LAUNCHES + 1, "ncu shows each, as Nsight Compute does")
    got = bench.run("ncu", "-i", "report", "--section", "LaunchStats", "--print-summary", "per-kernel")
    tap.eq(len(HEAD.findall(got.stdout)), 4, "unless it is asked for them together")


def test_sums(bench):
    text = bench.show("--page", "source")
    line = next(line for line in text.splitlines() if f"strided.cu:{STRIDED}" in line)
    want, = bench.rows(f"SELECT sum(value) FROM HEDDLE_SOURCE_METRICS JOIN HEDDLE_LAUNCHES USING (launchId) WHERE line = {STRIDED} AND demangledName LIKE "
                       "'columns%' AND HEDDLE_SOURCE_METRICS.name = 'smsp__inst_executed.sum'")
    tap.ok(float(line.split()[0].replace(",", "")) == want[0] > 0 and text.count("Sums of all launches") == 3, "lines of the source: sums of the group", line)
    tap.ok(line.endswith(": out[row * n + i] = in[row * n + i] + 1; /* the strided line */"), "with the text of the line", line)
    rows = list(csv.DictReader(io.StringIO(bench.show("--csv", "--page", "source"))))
    tap.eq({row["Source"][:18] for row in rows if row["Line"] == str(STRIDED)}, {"out[row * n + i] ="}, "CSV has the text, too")
    texts = {line["line"]: line["text"] for launch in json.loads(bench.show("--json", "--page", "source")) for line in launch["lines"]}
    tap.ok(texts[STRIDED].startswith("out[row"), "and JSON", texts)


def test_excess(bench):
    text = " ".join(bench.show("--section", "SourceCounters").split())
    found = re.search(rf"Uncoalesced accesses: (\d+) sectors where (\d+) would do, (\d+) % of this kernel's excess, are at (\S+):{STRIDED}: out\[row \* n", text)
    tap.ok(found and int(found[1]) > int(found[2]) and found[3] == "100" and found[4].endswith("strided.cu"), "the line with the most excess sectors, and its text", text)
    tap.eq(text.count("Uncoalesced"), 1, "not of a kernel without")
    notes = [note["text"] for launch in json.loads(bench.show("--json")) for note in launch["notes"]]
    tap.eq((len(notes), all(f"strided.cu:{STRIDED}" in note for note in notes)), (LAUNCHES, True), "JSON has it as a note of each launch")
    tap.ok("-lineinfo" not in bench.show() + bench.show("--page", "source"), "nothing to say of -lineinfo")


def test_places(bench):
    bench.prof(bench.plain, "2")
    text = bench.show("--page", "source")
    if bench.rows("SELECT 1 FROM HEDDLE_SOURCE_METRICS WHERE file LIKE '%.cu'"):
        tap.skip("this compiler writes lines unasked")
        return
    tap.eq(text.count("-lineinfo"), 1, "places of the PTX: -lineinfo is told once")
    tap.ok(re.search(r"are at ptx:\d+\s", bench.show("--section", "SourceCounters")), "and are what there is")
    tap.ok("-lineinfo" not in bench.show("--csv", "--page", "source") + bench.show("--json"), "not in what programs read")


def test_none(bench):
    got = bench.prof(bench.lines, "0")
    tap.ok(len(HEAD.findall(got.stdout)) == 1 and "shows each" not in got.stdout, "one launch", got.stdout)
    got = bench.prof(bench.lines, "0", options=("-k", "nobody"))
    tap.ok("no launch was counted; kernels that ran: rows\n" in got.stderr and not HEAD.findall(got.stdout), "none: which there were is told", got.stderr)
    got = bench.prof("true", options=("-k", "nobody"))
    tap.ok("no kernel ran" in got.stderr or "nothing was recorded" in got.stderr, "none at all", got.stderr)


def test_processes(bench):
    bench.prof(bench.lines, "5", "2")
    heads = HEAD.findall(bench.show("--section", "LaunchStats"))
    tap.eq([(head[0], head[3], head[4]) for head in heads], [("columns", "15", "3 contexts, 3 streams"), ("rows", "9", "3 contexts, 3 streams"),
                                                             ("rows", "6", "3 contexts, 3 streams"), ("rows", "3", "3 contexts, 3 streams")], "of several processes")


# ---- what stays

def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


def test_closed_pipe(bench):
    """A reader that goes away: in the middle of the text, and before any of it."""
    for args, is_told in ((("prof", "--kernel", "-f", "-o", "piped", "--roofline", "none", "--print-summary", "none"), True), (("advise", "--kernel"), False), (("ncu",), True)):
        for closed in (False, True):
            process = bench.start(*args, bench.lines, "200")
            if not closed:
                process.stdout.readline()
            process.stdout.close()
            process.wait(200)
            what = f"{args[0]}, {'a closed pipe' if closed else 'a reader of one line'}"
            tap.ok(process.returncode != 0 and "exists" not in process.stderr.read(), f"{what}: ends", process.returncode)
            tap.eq(bench.left(), [], f"{what}: nothing is left")
            process.stdin.close()
    tap.ok(os.path.exists(os.path.join(bench.folder, "piped.sqlite")), "but the report")


def test_signals(bench):
    """While the program runs: it decides. While the text is written: that ends."""
    script = f"{bench.lines} 2; exec sleep 100"
    for args in (("prof", "-f", "-o", "signalled"), ("advise",), ("ncu",)):
        for number, to in ((signal.SIGTERM, os.kill), (signal.SIGHUP, os.kill), (signal.SIGINT, os.killpg)):
            process = bench.start(*args, "sh", "-c", script)
            process.stdout.readline()
            to(process.pid, number)
            _, error = process.communicate(timeout=200)
            what = f"{args[0]}, {number.name}"
            tap.ok(process.returncode in (128 + number, -number), f"{what}: the program's end is the command's", (process.returncode, error))
            tap.eq(bench.left(), [], f"{what}: nothing is left")
    for number in (signal.SIGTERM, signal.SIGINT):
        process = bench.start("prof", "--kernel", "-f", "-o", "signalled", "--roofline", "none", "--print-summary", "none", bench.lines, "200")
        process.stdout.readline()
        process.stdout.read(1000)  # the text has begun, and is longer than a pipe
        tap.eq(bench.left(), [], f"{number.name} in the text: the recording is gone before it begins")
        process.send_signal(number)
        process.wait(200)
        tap.eq(process.returncode, -number, f"{number.name} ends it")
        process.communicate()


def test_other_process(bench):
    """SIGINT that is not a terminal's, to the command alone: what it does in a child ends with it."""
    process = bench.start("advise", "--kernel", "--json", "--min-gain", "0", "--prof", "--stats", bench.lines, "300")
    process.stdout.readline()
    process.stdout.read(100)  # tables of the recording: the program has ended
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=200)
    tap.ok(process.returncode in (0, -signal.SIGINT), "SIGINT to advise alone: it ends, or has ended", process.returncode)
    tap.eq(bench.left(), [], "and nothing is left")


def test_recording_alone(bench):
    """SIGINT that is not a terminal's, to the command alone: it reaches the program, and the report is made."""
    for args in (("prof", "-f", "-o", "alone"), ("advise", "-f", "-o", "alone")):
        process = bench.start(*args, "sh", "-c", f"{bench.lines} 2; exec sleep 100")
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        tap.ok(process.returncode in (128 + signal.SIGINT, -signal.SIGINT) and os.path.exists(os.path.join(bench.folder, "alone.sqlite")), f"{args[0]}: SIGINT to it alone ends the program, and there is a report", (process.returncode, error))
        tap.ok(args[0] == "prof" or "was interrupted (signal 2)" in out, f"{args[0]}: which says so", out)


def test_counting_run(bench):
    """Ctrl-C is how a server ends: advise --kernel counts all the same. After another signal it says that it does not."""
    for number, has_counters in ((signal.SIGINT, True), (signal.SIGTERM, False)):
        process = bench.start("advise", "--kernel", "-f", "-o", "served", "-w", "served.txt", "sh", "-c", f"{bench.lines} 2; exec sleep 100")
        process.stdout.readline()
        process.send_signal(number)
        if has_counters:
            process.stdout.readline()  # of the second run
            process.send_signal(number)
        _, error = process.communicate(timeout=100)
        with open(os.path.join(bench.folder, "served.txt"), encoding="utf-8") as file:
            text = file.read()
        tap.eq(process.returncode, 128 + number, f"{number.name}: the program's end is the command's")
        tap.ok(f"was interrupted (signal {number:d})" in text, f"{number.name}: the findings say so", text)
        want = "once more: counting makes its kernels take longer; Ctrl-C ends it again" if has_counters else f"nothing is counted: signal {number:d} (Terminated)"
        tap.ok(want in error, f"{number.name}: which is told", error)
        tap.eq(bool(sqlite3.connect(os.path.join(bench.folder, "served.sqlite")).execute("SELECT 1 FROM sqlite_master WHERE name = 'HEDDLE_METRICS'").fetchall()),
               has_counters, f"{number.name}: the report has counters")
        tap.eq(bench.left(), [], f"{number.name}: nothing is left")


def test_error_exits(bench):
    for args, code in ((("prof", "-o", "none/such"), 1), (("prof", "-f", "-o", "bad", "--html=none/such.html"), 1), (("advise", "--html", "none/such.html"), 1),
                       (("advise", "-w", "none/such.txt"), 1), (("advise", "--prof", "--section", "--prof", "None"), 2)):
        got = bench.run(*args, bench.lines, "1")
        tap.eq((got.returncode, bench.left()), (code, []), f"{' '.join(args)}: an error, and nothing is left")
    text = os.path.join(bench.folder, "text")
    with open(text, "w") as file:
        file.write("no program")
    for command in ("prof", "advise", "ncu"):
        got = bench.run(command, text)
        tap.eq((got.returncode, bench.left()), (126, []), f"{command}: what cannot be executed")


def test_piles(bench):
    """Reports that nobody named: when there are many, it is told how they go. Not of one with a name."""
    for i in range(1, 5):
        got = bench.run("prof", bench.lines, "0")
        tap.eq(("there are 3 reports of earlier runs: -o NAME names one" in got.stderr, f"report{i}.sqlite" in got.stderr), (i == 4, True), f"report{i}")
    got = bench.run("prof", "-f", "-o", "named", bench.lines, "0")
    tap.ok("earlier runs" not in got.stderr, "a report with a name", got.stderr)


def test_names(bench):
    name = os.path.basename(bench.lines)
    for command in ("run", "prof", "advise"):
        got = bench.run(command, name)
        tap.ok(got.returncode == 127 and f"did you mean ./{name}?" in got.stderr, f"{command}: a program of the current folder is named", got.stderr)
        got = bench.run(command, "no-such-program")
        tap.ok(got.returncode == 127 and "did you mean" not in got.stderr, f"{command}: none is not", got.stderr)
        got = bench.run(command, "cache")
        tap.ok("did you mean" not in got.stderr, f"{command}: nor a folder", got.stderr)


with tempfile.TemporaryDirectory(prefix="heddle-groups-") as top:
    b = Programs(top)
    for test in (test_groups, test_sums, test_excess, test_places, test_none, test_processes, test_closed_pipe, test_signals, test_other_process, test_recording_alone, test_counting_run, test_error_exits, test_piles, test_names):
        test(b)
tap.done()
