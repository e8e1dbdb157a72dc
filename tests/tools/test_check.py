#!/usr/bin/env python3
"""heddle check: test_check.py HEDDLE FAKE_PROCESS RECORDS

FAKE_PROCESS (tests/san) sends what the checker in a program would; RECORDS is a folder with a saved run and the text
that it is to become with several options. HEDDLE_GOLDEN=update rewrites these texts."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

from browser import FAINT, Browser, find_browser
from support import Tap, Tool, write

heddle, fake, records = (os.path.abspath(path) for path in sys.argv[1:4])
tap = Tap()
folder = tempfile.mkdtemp(prefix="heddle-check-")
tool = Tool(heddle, folder)
MIXED = os.path.join(records, "mixed.records")


def check(*args, env=None):
    return tool("check", *args, env=env)


def path(name):
    return os.path.join(folder, name)


def read(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


# ---- text

GOLDEN = {
    "default": [],
    "short": ["--quiet", "--demangle", "simple", "--show-backtrace", "no"],
    "mangled": ["--demangle", "no", "--show-backtrace", "device", "--strip-paths", "no", "--language", "fortran"],
    "long": ["--backtrace-short", "no", "--print-level", "info", "--print-session-details"],
    "apart": ["--group-findings", "no"],
    "limit": ["--print-limit", "2", "--prefix", "#", "--num-callers-host", "1", "--num-callers-device", "1"],
    "errors": ["--print-level", "error", "--show-backtrace=host"],
}


def test_golden():
    for name, args in GOLDEN.items():
        got = check(*args, "--read", MIXED)
        file = os.path.join(records, name + ".txt")
        if os.environ.get("HEDDLE_GOLDEN") == "update":
            write(file, got.stdout)
        with open(file, encoding="utf-8") as want:
            tap.eq(got.stdout, want.read(), f"text: {' '.join(args) or 'defaults'}")
        tap.eq((got.returncode, got.stderr), (0, ""), "and nothing else")
    with open(os.path.join(records, "default.txt"), encoding="utf-8") as file:
        tap.ok(all(line.startswith("========= ") for line in file), "every line has the prefix")


# ---- running

OTHERS = "========= Only memcheck ran. Others by --tool: initcheck (unset memory), racecheck (races), synccheck (barriers), schedcheck (order of blocks); or all"


def test_orders():
    got = check("--tool", "schedcheck", "--error-exitcode", "7", fake, "order", "rounding", "orders", "fork", "orders")
    lines = got.stdout.splitlines()
    tap.eq(lines[1:8],
           ["========= Error: Result depends on the order of blocks (1,0,0) and (2,0,0)",
            "=========     in launch 3 of kernel(float *, int), grid (4,1,1), block (64,1,1)",
            "=========     First order, block (1,0,0) before block (2,0,0): 01 00 00 00",
            "=========     2 times",
            "=========     In the first order last written by thread (3,0,0) in block (2,0,0) at axpy(float *, float, int)+0x30 in axpy.cuh:7",
            "=========         Device Frame: kernel(float *, int) in main.cu:20",
            "=========     In the second order last written by thread (35,0,0) in block (2,0,0) at axpy(float *, float, int)+0x30 in axpy.cuh:7"],
           "a finding of schedcheck")
    tap.eq(lines[-4:],
           ["========= 6 launches were run again in other orders, in 42 runs",
            "========= Launches that were not run again: 4, which launch kernels",
            "========= Runs that did not end in time: 2",
            "========= SCHEDCHECK SUMMARY: 2 results that depend on the order (1 error, 1 warning)"], "and its totals")
    tap.eq(got.returncode, 7, "an error of order is one")
    got = check("--tool", "schedcheck", "--error-exitcode", "7", fake, "rounding")
    tap.eq(got.returncode, 0, "rounding is none")


def test_run():
    got = check(fake, "say", "write", "api")
    lines = got.stdout.splitlines()
    tap.eq(got.returncode, 0, "errors alone do not change the exit status")
    tap.ok(lines[0] == "========= COMPUTE-SANITIZER" and "the program" in lines, "head, and the program's own output", got.stdout)
    tap.ok("=========     at axpy(float *, float, int)+0x30 in axpy.cuh:7" in lines and
           "=========         Device Frame: kernel(float *, int) in main.cu:20" in lines, "places", got.stdout)
    tap.ok(re.search(r"^=========         Host Frame: main \[0x[0-9a-f]+\] in fake_process$", got.stdout, re.M),
           "a host frame by the symbol table", got.stdout)
    tap.eq(lines[-1], "========= ERROR SUMMARY: 2 errors", "the total")
    got = check(fake)
    tap.eq(got.stdout, f"========= COMPUTE-SANITIZER\n{OTHERS}\n========= ERROR SUMMARY: 0 errors\n", "a program without errors")
    got = check("--tool", "memcheck", fake)
    tap.eq(got.stdout, "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", "who chose a tool knows that there are several")
    got = check("--leak-check", "full", "--tool", "memcheck,racecheck", fake, "leak", "leaked", "race", "hazard")
    tap.eq(got.stdout.splitlines()[-3:],
           ["========= LEAK SUMMARY: 1024 bytes leaked in 1 allocations",
            "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)",
            "========= ERROR SUMMARY: 2 errors"], "totals of each tool, then of all")
    got = check("--tool", "memcheck,racecheck", fake, "race")
    tap.eq(got.stdout.splitlines()[-1], "========= ERROR SUMMARY: 1 error", "the last total has the errors of the other tools")
    got = check("--tool", "memcheck,racecheck", fake, "hazard")
    tap.eq(got.stdout.splitlines()[-1], "========= ERROR SUMMARY: 0 errors", "but no warnings")
    test_orders()
    got = check("--leak-check", "full", fake)
    tap.ok("LEAK SUMMARY: 0 bytes leaked in 0 allocations\n" in got.stdout, "no leaks", got.stdout)


def test_status():
    for args, want, text in (
            (["--error-exitcode", "7", fake, "write"], 7, "ERROR SUMMARY: 1 error"),
            (["--error-exitcode=7", "--tool", "racecheck", fake, "race"], 7, "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"),
            (["--error-exitcode", "7", fake], 0, "ERROR SUMMARY: 0 errors"),
            (["--error-exitcode", "7", "--print-level", "error", fake, "hazard"], 0, "ERROR SUMMARY: 0 errors"),
            (["--error-exitcode", "7", fake, "write", "exit3"], 3, "Target application returned an error"),
            ([fake, "write", "kill"], 137, "Error: process didn't terminate successfully\n========= Target application"),
            ([fake, "write", "interrupt"], 130, "It was interrupted (SIGINT): what is shown is what was found until then, and incomplete\n"),
            ([fake, "quiet"], 255, "Error: Target application terminated before first instrumented API call"),
            (["--require-cuda-init", "no", fake, "quiet"], 0, "ERROR SUMMARY: 0 errors"),
            (["--require-cuda-init=no", "--", fake, "quiet", "exit3"], 3, "returned an error")):
        got = check(*args)
        tap.ok(got.returncode == want and text in got.stdout, f"exit status {want}: {text.splitlines()[0]}", (got.returncode, got.stdout, got.stderr))
    tap.ok("interrupted" not in check(fake, "kill").stdout, "other signals do not interrupt")
    got = check("--check-exit-code", "no", fake, "exit3")
    tap.ok(got.returncode == 3 and "returned an error" not in got.stdout, "it may be left untold", got.stdout)
    got = check(path("nothing"))
    tap.eq((got.returncode, got.stdout), (127, ""), "a program that is not there")
    text = write(path("no-program"), "\x7fELF, not")
    os.chmod(text, 0o755)
    tap.eq(check("--require-cuda-init", "no", text).returncode & ~1, 126, "a program that cannot be run")
    got = check("--launch-timeout", "1", "--kill", fake, "quiet", "wait")
    tap.ok(got.returncode == 137 and "No attachable process found." in got.stdout, "a program that takes too long", got.stdout)


def test_faults():
    unchecked = "Kernel bad(int *) failed and ended its context: what came after it did not run and was not checked. "
    first = unchecked + "Run --tool memcheck first and mend what it finds"
    for name, total in (("racecheck", "RACECHECK SUMMARY: 0 hazards"), ("initcheck", "ERROR SUMMARY: 0 errors"), ("synccheck", "ERROR SUMMARY: 0 errors"),
                        ("schedcheck", "SCHEDCHECK SUMMARY: 0 results")):
        got = check("--tool", name, "--json", path("f.json"), "--html", path("f.html"), "--save", path("f.rec"), fake, "fault")
        lines = got.stdout.splitlines()
        tap.ok(lines[-2].startswith(f"========= {total}") and lines[-1] == f"========= Warning: {first}", f"{name}: what a fault left unchecked is behind the total", got.stdout)
        tap.eq(json.loads(read("f.json"))["unchecked"], {"message": first, "kernel": "bad(int *)", "mangled": "_Z3badPi", "contexts": 1}, "and in JSON")
        tap.ok(f'<p id="unchecked">{first}.</p>' in read("f.html"), "and on the page")
    tap.eq(check("--read", path("f.rec")).stdout.splitlines()[-1], lines[-1], "and of what was kept")
    for args in (["--tool", "memcheck", fake, "write", "fault"], ["--tool", "synccheck", fake, "ended"]):
        tap.eq(check(*args).stdout.splitlines()[-1], f"========= Warning: {unchecked}Mend that, then check again", "what the tool told is to be mended")
    got = check("-q", fake, "fault", "fork", "fault")
    tap.ok("failed (and 1 more) and ended its context" in got.stdout, "of several the first", got.stdout)
    got = check("--tool", "racecheck", "--json", path("f.json"), "--html", path("f.html"), fake, "failed")
    tap.ok("not checked" not in got.stdout + read("f.html") and json.loads(read("f.json"))["unchecked"] is None, "nothing without a fault", got.stdout)


def test_limits():
    got = check("--print-limit", "2", "--group-findings", "no", fake, "x9", "write", "api")
    tap.eq(got.stdout.count("Invalid __global__"), 2, "so many are printed")
    tap.eq(got.stdout.splitlines()[-2:], ["========= ERROR SUMMARY: 10 errors", "========= ERROR SUMMARY: 8 errors were not printed. "
                                          "Use --print-limit option to adjust the number of printed errors"], "all are counted")
    got = check("--print-limit", "1", fake, "x9", "write", "api")
    tap.ok(got.stdout.count("Invalid __global__") == 1 and "=========     9 times\n" in got.stdout and "Program hit" not in got.stdout and
           got.stdout.endswith("ERROR SUMMARY: 10 errors\n========= ERROR SUMMARY: 1 error were not printed. Use --print-limit option to adjust the number "
                               "of printed errors\n"), "a group is printed as one", got.stdout)
    got = check("--print-limit", "0", "--group-findings=no", fake, "x150", "write")
    tap.eq(got.stdout.count("Invalid __global__"), 150, "no limit")
    got = check("--print-limit", "1", fake, "x65", "write", "kill")
    tap.ok("ERROR SUMMARY: 65 errors\n" in got.stdout, "of a process that was killed what it had told", got.stdout)


def test_groups():
    got = check("--print-limit", "3", fake, "y40", "write", "y2", "leak", "x2", "race", "fork", "write")
    lines = got.stdout.splitlines()
    at = lines.index("=========     by thread (0,0,0) in block (2,0,0)")
    tap.eq(lines[at - 2:at + 6],
           ["========= Invalid __global__ write of size 4 bytes", "=========     at axpy(float *, float, int)+0x30 in axpy.cuh:7",
            "=========     by thread (0,0,0) in block (2,0,0)", "=========     Address 0x7f6510c00fa0 is out of bounds",
            "=========     and is 1 bytes after the nearest allocation at 0x7f6510c00000 of size 4,000 bytes",
            "=========     41 times, by threads (0-39,0,0) in block (2,0,0)",
            "=========     at 0x7f6510c00fa0, 0x7f6510c00fa4, 0x7f6510c00fa8, all from 0x7f6510c00fa0 to 0x7f6510c0103c",
            "=========         Device Frame: kernel(float *, int) in main.cu:20"], "a group has the first finding, and how often, by whom and where")
    tap.ok("=========     2 times, 2048 bytes together\n=========     at 0x7879c0800000 to 0x7879c0800004\n" in got.stdout, "leaks add up", got.stdout)
    tap.ok(" in race.cu:51 [1016 hazards]\n=========     2 times\n" in got.stdout, "hazards too", got.stdout)
    got = check("--language", "fortran", "--group-findings", "yes", fake, "y8", "hazard", "y2", "write", "step", "write")
    tap.ok("=========     8 times, by threads (1-9,1,1) in block (3,1,1)\n" in got.stdout, "both threads of a hazard count, Fortran's from 1", got.stdout)
    tap.ok("=========     3 times, by some of threads (1-38,1,1) in block (3,1,1), in launches 3 to 4\n" in got.stdout, "launches", got.stdout)
    got = check(fake, "y2", "write", "y30", "write", "wait")
    tap.ok(got.stdout.count("Invalid __global__") == 1 and "ERROR SUMMARY: 32 errors" in got.stdout, "one that is printed while the program runs", got.stdout)
    got = check(fake, "write", "wait", "wait", "x2", "write")
    tap.ok(got.stdout.count("Invalid __global__") == 2 and "times, by" not in got.stdout and
           "========= 2 more times: Invalid __global__ write of size 4 bytes at axpy(float *, float, int)+0x30 in axpy.cuh:7\n" in got.stdout,
           "what comes of it later is told at the end", got.stdout)
    got = check(fake, "write", "x3", "failed", "write", "failed")
    tap.ok(got.stdout.count("Program hit cudaErrorIllegalAddress") == 1 and "ERROR SUMMARY: 6 errors" in got.stdout and
           "=========     4 times\n" in got.stdout, "calls that fail behind a kernel", got.stdout)
    got = check("--html", path("failed.html"), fake, "failed", "x2", "failed_elsewhere")
    tap.ok("========= 2 more calls failed with cudaErrorIllegalAddress, as all do behind a kernel that failed\n" in got.stdout and
           "ERROR SUMMARY: 3 errors" in got.stdout and got.stdout.count("Program hit") == 1, "elsewhere they are told together", got.stdout)
    tap.ok("2 more calls failed with cudaErrorIllegalAddress" in read("failed.html") and read("failed.html").count("Program hit") == 2, "on the page, too")
    hint = "========= Places in ptx are lines of the PTX: build with -lineinfo for lines of the source\n"
    got = check("--tool", "memcheck", fake, "nowhere", "nowhere")
    tap.eq(got.stdout.count(hint), 1, "-lineinfo is hinted at once")
    tap.ok(hint not in check(fake, "write").stdout and hint not in check("-q", fake, "nowhere").stdout, "where it would help, and not in quiet")


def test_terminal():
    def shown(*words, **env):
        return subprocess.run(["script", "-qec", " ".join([heddle, "check", fake, *words]), "/dev/null"], env=dict(tool.env, **env), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False).stdout

    if not shutil.which("script"):
        return tap.skip("no script(1), which makes a terminal")
    text = shown("write", "wait", "wait", TERM="xterm")
    tap.ok("========= \033[1;31mInvalid __global__ write of size 4 bytes\033[0m" in text, "titles have colours on a terminal", text)
    tap.ok(re.search(r"^heddle: check: [2-9] s, 1 finding so far", text, re.M), "progress after two seconds", text)
    text = shown("write", TERM="xterm", NO_COLOR="1") + shown("write", TERM="dumb") + check(fake, "write", "wait", "wait").stdout
    tap.ok("\033" not in text and "so far" not in text, "no colours with NO_COLOR, on dumb terminals and in pipes, which have no progress either", text)


def test_children():
    got = check(fake, "write", "fork", "api")
    tap.ok("ERROR SUMMARY: 2 errors" in got.stdout and "Program hit" in got.stdout, "a child is checked", got.stdout)
    begin = time.monotonic()
    got = check(fake, "write", "orphan", "api")
    tap.ok("ERROR SUMMARY: 2 errors" in got.stdout and time.monotonic() - begin > 0.2, "one is waited for after its parent ended", got.stdout)
    got = check("--target-processes", "application-only", fake, "write", "fork", "api")
    tap.ok("ERROR SUMMARY: 1 error\n" in got.stdout, "application-only", got.stdout)
    script = write(path("script"), f"#!/bin/sh\n{fake} write\n{fake} write api\nexit 5\n")
    os.chmod(script, 0o755)
    got = check("--print-session-details", script)
    tap.ok(got.returncode == 5 and "ERROR SUMMARY: 3 errors" in got.stdout and got.stdout.count("========= Process ") == 2, "programs of a script", got.stdout)
    for how, want in (("fake_process", 3), ("regex:^fake", 3), ("other", 0), ("exclude:fake_process", 0), ("exclude-tree:dash", 0 if os.path.realpath("/bin/sh").endswith("dash") else 3)):
        got = check("--target-processes-filter", how, "--require-cuda-init", "no", script)
        tap.ok(f"ERROR SUMMARY: {want} error" in got.stdout, f"--target-processes-filter {how}", got.stdout + got.stderr)
    got = check("--target-processes-filter", "regex:(", script)
    tap.ok(got.returncode == 2 and "no regular expression" in got.stderr, "a filter that is none", got.stderr)


def test_hostile():
    got = check(fake, "bad", "write")
    tap.ok(got.returncode == 1 and "Internal Error: a record of the program is malformed: the record lacks 'record'" in got.stdout and
           "ERROR SUMMARY: 1 error" in got.stdout, "a record that is none", got.stdout)
    got = subprocess.run([fake, "write"], capture_output=True, text=True, timeout=60,
                         env=dict(tool.env, HEDDLE_CHECK="socket=nobody-receives tools=memcheck"))
    tap.ok(got.returncode == 9 and "nobody receives findings" in got.stderr, "nobody receives", got.stderr)
    got = subprocess.run([fake, "write"], capture_output=True, text=True, timeout=60, env=dict(tool.env, HEDDLE_CHECK="tools=x"))
    tap.ok(got.returncode == 9 and "HEDDLE_CHECK, column 1: tool 'x' is unknown" in got.stderr, "HEDDLE_CHECK is malformed", got.stderr)


# ---- files

def test_log_file():
    got = check("--log-file", path("%q{WHERE}-%p-%%.log"), fake, "say", "write", env={"WHERE": "here"})
    names = [n for n in os.listdir(folder) if re.fullmatch(r"here-\d+-%\.log", n)]
    tap.ok(got.stdout == "the program\n" and len(names) == 1, "--log-file with a pattern", got.stdout)
    tap.ok(read(names[0]).endswith("ERROR SUMMARY: 1 error\n"), "it has the text")
    for bad in ("a%", "a%x", "a%q{X", "a%qX"):
        got = check("--log-file", path(bad), fake, "say")
        tap.ok(got.returncode == 1 and got.stdout == "" and "only %%, %p and %q{NAME}" in got.stderr, f"a pattern that is none: {bad}", got.stderr)
    got = check("--log-file", path("no/folder/x"), fake, "say")
    tap.ok(got.returncode == 1 and got.stdout == "" and "No such file" in got.stderr, "a file that cannot be", got.stderr)
    got = check("--json", path("no/folder/x"), fake, "say")
    tap.ok(got.returncode == 1 and got.stdout == "", "the program is not started when a result could not be written", got.stdout)


def test_save():
    ran = check("--save", path("a.rec"), "--tool", "memcheck", fake, "write", "fork", "api", "exit3")
    shown = check("--read", path("a.rec"))
    tap.eq((shown.stdout, shown.returncode), (ran.stdout, ran.returncode), "--read shows what --save kept")
    got = check("--read", path("a.rec"), "--print-level", "fatal", "--error-exitcode", "4")
    tap.ok("ERROR SUMMARY: 0 errors" in got.stdout, "with other options", got.stdout)
    with open(path("a.rec"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for name, text, why in (("empty", "x\n", ":1: this is no file of heddle check --save"),
                            ("cut", "\n".join(lines)[:-3], f":{len(lines)}: the line does not end"),
                            ("broken", "\n".join(lines[:3]) + "\n{]\n", ":4: column 2: a text is expected"),
                            ("strange", lines[0] + '\n{"record": "colour", "pid": 1}\n', ":2: the record lacks 'record'"),
                            ("lacking", lines[0] + '\n{"record": "finding", "pid": 1, "cause": "0x1"}\n', ":2: the record lacks 'tool'")):
        got = check("--read", write(path(name), text))
        tap.ok(got.returncode == 1 and why in got.stderr, f"--read of a bad file: {name}", got.stderr)
    tap.eq(check("--read", path("nothing")).returncode, 1, "--read of no file")


def test_xml():
    got = check("--save", path("a.xml"), "--xml", "--tool", "memcheck,racecheck", fake, "odd", "write", "race", "api", "leak")
    root = ET.parse(path("a.xml")).getroot()
    tap.eq((root.tag, [r.findtext("kind") for r in root]), ("ComputeSanitizerOutput", ["Precise", "Precise", "Race", "Api", "Leak"]), "XML")
    odd, inside, race, api = list(root)[:4]
    tap.eq(odd.findtext("what/text"), "<script>alert(\"1\")</script> & ]]> \u00e9 \ufffd", "texts are escaped")
    tap.eq([inside.findtext(f) for f in ("level", "what/space", "what/size", "what/direction", "what/address", "where/func", "where/path",
                                         "where/line", "who/threadIdx/x", "who/blockIdx/x", "deviceStack/frame[2]/func")],
           ["Error", "global", "4", "write", "0x7f6510c00fa0", "axpy(float *, float, int)", "/src/app/axpy.cuh", "7", "37", "2",
            "kernel(float *, int)"], "an access")
    tap.eq([api.findtext("what/" + f) for f in ("api", "error", "message", "result")],
           ["cudaMalloc", "cudaErrorMemoryAllocation", "out of memory", "2"], "a call")
    tap.ok(race.findtext("where/line") == "41" and race.findtext("other/where/line") == "51", "a race")
    frames = [f.findtext("func") for f in inside.findall("hostStack/frame")]
    tap.ok("main" in frames and frames.index("main") > 0, "host frames, the outermost first", frames)
    got = check("--suppressions", path("a.xml"), "--tool", "memcheck,racecheck", fake, "odd", "write", "race", "api", "leak")
    tap.ok("ERROR SUMMARY: 0 errors" in got.stdout and "SUPPRESSION SUMMARY: 5 errors suppressed" in got.stdout and
           "RACECHECK SUMMARY: 0 hazards" in got.stdout, "what XML has, it suppresses", got.stdout)
    got = check("--suppressions", path("a.xml"), fake, "hazard")
    tap.ok("ERROR SUMMARY: 0 errors" in got.stdout and "Potential WAW" in got.stdout and "SUPPRESSION" not in got.stdout, "and nothing else", got.stdout)


RECORD = "<ComputeSanitizerOutput>\n<record>\n<kind>{kind}</kind>\n{rest}\n</record>\n</ComputeSanitizerOutput>\n"


def suppressed(kind, rest, *words):
    file = write(path("s.xml"), RECORD.format(kind=kind, rest=rest))
    got = check("--suppressions", file, "--tool", "memcheck,racecheck", fake, *words)
    return got.returncode == 0 and "SUPPRESSION SUMMARY" in got.stdout


def test_suppressions():
    for kind, rest, word, want in (
            ("Precise", "", "write", True), ("Api", "", "write", False), ("Race", "", "race", True), ("Leak", "", "leak", True),
            ("Precise", "<what><size>4</size></what>", "write", True), ("Precise", "<what><size>8</size></what>", "write", False),
            ("Precise", "<where><func>axpy.*</func></where>", "write", True), ("Precise", "<where><func>axpy</func></where>", "write", False),
            ("Precise", "<where><func>_Z4axpyPffi</func><line>7</line></where>", "write", True),
            ("Precise", "<where><path>axpy.cuh</path></where>", "write", True), ("Precise", "<where><path>.*/main.cu</path></where>", "write", False),
            ("Precise", "<who><threadIdx><x>37</x></threadIdx></who>", "write", True),
            ("Precise", "<who><threadId><x>36</x></threadId></who>", "write", False),
            ("Precise", "<deviceStack><frame><func>axpy.*</func></frame><frame><path>main.cu</path></frame></deviceStack>", "write", True),
            ("Precise", "<deviceStack><frame/><frame/><frame/></deviceStack>", "write", False),
            ("Precise", "<hostStack><frame><func>main</func></frame></hostStack>", "write", True),
            ("Precise", "<hostStack><frame><func>__libc_start_main.*</func></frame></hostStack>", "write", False),
            ("Precise", "<hostStack><frame><func>_start</func></frame></hostStack>", "write", True),
            ("Precise", "<hostStack><frame><func>.*</func><module>fake_process</module></frame></hostStack>", "write", True),
            ("Precise", "<hostStack>" + 40 * "<frame/>" + "</hostStack>", "write", False),
            ("Precise", "<what><text>Invalid .* write of size [0-9]+ bytes</text></what>", "write", True),
            ("Precise", "<what><address>0x1</address></what>", "write", True),
            ("Api", "<what><api>cuda.*</api><result>2</result></what>", "api", True), ("Api", "<what><api>cu</api></what>", "api", False),
            ("Api", "<what><message>out of memory</message></what>", "api", True), ("Api", "<what><result>-1</result></what>", "api", False),
            ("Leak", "<what><text>Leaked 1,024 bytes at 0x1</text></what>", "leak", True),
            ("Race", "<level>Error</level><other><where><line>51</line></where></other>", "race", True),
            ("Race", "<other><where><line>52</line></where></other>", "race", False)):
        tap.eq(suppressed(kind, rest, word), want, f"suppression {kind} {rest[:70]}: {'fits' if want else 'does not fit'}")


def test_bad_suppressions():
    good = RECORD.format(kind="Api", rest="")
    for text, why in ((good.replace("</kind>", "</king>"), ":3: </king> where <kind> of line 3 is open"),
                      (RECORD.format(kind="Api", rest="<what>\n<colour>red</colour></what>"), ":5: <colour> is not known here"),
                      (RECORD.format(kind="Api", rest="<who><thread/></who>"), ":4: <thread> is not known here"),
                      (RECORD.format(kind="Api", rest="<what><size>many</size></what>"), ":4: <size> is no number: 'many'"),
                      (good.replace("<kind>Api</kind>", ""), ":2: <record> has no <kind>"),
                      (good.replace("ComputeSanitizerOutput", "Output"), ":1: <ComputeSanitizerOutput> is expected"),
                      (good.replace("<record>", "<record id='1'>"), ":2: '>' is expected: attributes are not taken"),
                      ("<!DOCTYPE x [<!ENTITY a 'b'>]>" + good, ":1: an element is expected"),
                      (good.replace("Api", "&nbsp;"), ":3: an unknown entity"), (good.replace("Api", "<![CDATA[Api"), "CDATA does not end"),
                      (good + "<x/>", ":7: text behind the end"), (good[:good.index("cord>\n</Comp")] + ">", "</re> where <record> of line 2 is open"),
                      (good.replace("<record>", "<record>words"), "text beside elements"), ("", ":1: an element is expected"),
                      ("<a>" * 40, "nested too deeply"), ("<!-- ", "a comment does not end"), ("<a>\n\n", ":1: <a> does not end")):
        got = check("--suppressions", write(path("bad.xml"), text), fake, "say")
        tap.ok(got.returncode == 1 and got.stdout == "" and why in got.stderr, f"bad suppressions: {why}", got.stderr)
    text = "\ufeff<?xml version='1.0'?>\n<!-- why -->\n" + good.replace("Api", "<![CDATA[Ap]]>&#105;").replace("<record>", "<!-- x --><record>")
    got = check("--suppressions", write(path("good.xml"), text.encode()), fake, "api")
    tap.ok("1 error suppressed" in got.stdout, "comments, CDATA, entities", got.stdout + got.stderr)


def test_json():
    check("--json", path("a.json"), "--leak-check", "full", "--print-limit", "1", "--suppressions",
          write(path("leaks.xml"), RECORD.format(kind="Leak", rest="")), fake, "odd", "x3", "write", "leak", "leaked", "info")
    got = json.loads(read("a.json"))
    tap.eq((got["version"], got["tools"], got["command"][1:3]), (1, ["memcheck"], ["odd", "x3"]), "JSON")
    tap.eq(got["totals"], {"errors": 4, "hazards": 0, "hazard_errors": 0, "hazard_warnings": 0, "orders": 0, "order_errors": 0, "leaked_B": 1024, "leaked_allocations": 1,
                           "suppressed": 1, "records_lost": 0, "processes": 1}, "totals")
    causes = got["causes"]
    tap.eq([(c["kind"], c["findings"], c["suppressed"]) for c in causes],
           [("odd<&>\"'", 1, False), ("invalid-write", 3, False), ("leak", 0, True)], "causes")
    with open(MIXED, encoding="utf-8") as file:
        lines = file.read().splitlines()
    again = next(line for line in lines if '"race"' in line).replace('0x3563bc69553c0a0b', '0x1').replace('"0x50"', '"0x70"')
    check("--json", path("unrolled.json"), "--html", path("unrolled.html"), "--read", write(path("unrolled"), "\n".join(lines + [again]) + "\n"))
    race = next(c for c in json.loads(read("unrolled.json"))["causes"] if c["kind"] == "race")
    tap.eq((race["findings"], race["count"], race["instructions"]), (2, 1016, 2), "two instructions of a line are one cause")
    tap.ok("2 instructions of these lines" in read("unrolled.html"), "also on the page")
    tap.eq((causes[1]["threads"][0]["thread"], causes[1]["threads"][0]["places"][1]),
           ([37, 0, 0], {"function": "kernel(float *, int)", "mangled": "_Z6kernelPfi", "file": "/src/app/main.cu", "line": 20}), "a place")
    tap.ok(any(f["function"] == "main" for f in causes[1]["launched_at"]), "a host stack", causes[1])
    other = next(line for line in lines if '"invalid-write"' in line).replace("_Z6kernelPfi", "_Z5otherPf")
    other = re.sub('"cause": "0x[0-9a-f]+"', '"cause": "0x7"', other)
    check("--json", path("two.json"), "--read", write(path("two"), "\n".join(lines + [other]) + "\n"))
    tap.eq([c["launch"]["kernel"] for c in json.loads(read("two.json"))["causes"] if c["kind"] == "invalid-write"], ["kernel(float *, int)", "other(float *)"],
           "a line in two kernels is a cause of each")
    other = again.replace("Read access", "Write access").replace('"cause": "0x1"', '"cause": "0x2"')
    check("--json", path("verbs.json"), "--read", write(path("verbs"), "\n".join(lines + [other]) + "\n"))
    tap.eq([[t["what"] for t in c["threads"]] for c in json.loads(read("verbs.json"))["causes"] if c["kind"] == "race"],
           [["Write access", "Read access"], ["Write access", "Write access"]], "two writes race otherwise than a write and a read")
    many = write(path("many"), "\n".join(lines + [next(line for line in lines if '"invalid-write"' in line)] * 3) + "\n")
    check("--save", path("many.xml"), "--xml", "--json", path("many.json"), "--read", many)
    check("--save", path("apart.xml"), "--xml", "--json", path("apart.json"), "--group-findings", "no", "--read", many)
    tap.ok(read("many.xml") == read("apart.xml") and read("many.xml").count("<record>") == 9 and read("many.json") == read("apart.json"),
           "XML has every finding, and JSON every cause, however text groups them", read("many.xml"))


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.bad, self.links, self.tags = [], [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [v for k, v in attrs if k in ("href", "src", "action", "style") or k.startswith("on")]
        if tag not in ("meta", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)


def contrast(a, b):
    """Of two colours #rrggbb, as WCAG 2 defines it."""
    def luminance(color):
        parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_html():
    source = write(path("main.cu"), "".join(f"line {n} <b>\n" for n in range(1, 30)))
    with open(MIXED, encoding="utf-8") as file:
        saved = file.read().replace("/src/app/axpy.cuh", source)
    check("--html", path("a.html"), "--read", write(path("html.rec"), saved))
    check("--html", path("odd.html"), fake, "odd", "x3", "write", "race")
    for name in ("a.html", "odd.html"):
        page = Page(read(name))
        tap.ok(not page.open and not page.bad and not page.links, f"{name}: tags are balanced, nothing is referred to", (page.open, page.bad, page.links))
        tap.ok(not page.tags & {"script", "link", "img", "iframe", "object", "b"} and "url(" not in read(name), "nothing of the program's is a tag", page.tags)
    text = read("odd.html")
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    for style, back in ((light, "#ffffff"), (dark[:dark.index("</style>")], "#16191d")):
        colors = dict(re.findall(r"--(error|warning|info): (#[0-9a-f]{6})", style))
        low = {word: color for word, color in colors.items() if contrast(color, back) < 4.5}
        tap.ok(len(colors) == 3 and not low, f"severities can be read on {back}", f"{colors} {low}")
    tap.ok("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;" in text and "memcheck, 3 times<" in text and "axpy.cuh:7" in text, "by group", text)
    tap.ok(text.count('" open>') == 1 and text.index('<details class="finding error" open>') < text.index('<details class="finding error">'), "the first one is open", text)
    summaries = [html.unescape(re.sub("<[^>]*>", "", part)) for part in re.findall("<summary>(.*?)</summary>", text, re.S)]
    tap.ok("Race in kernel(float *, int)racecheck, 508 hazardsWrite access at race.cu:41 and Read access at race.cu:51" in summaries, "a race names its kernel and both places", summaries)
    tap.ok("Put __syncthreads() between" in text.replace("&nbsp;", " ") or "Barriers order threads of one block" in text, "what to do", text)
    tap.ok("The file could not be read when" in text, "and that there is no source", text)
    text = read("a.html")
    tap.ok("<mark>    7  line 7 &lt;b&gt;</mark>" in text and "line 10 " in text and "line 11 " not in text, "lines of the source", text)
    tap.ok("<dd>launch 3 of kernel(float *, int), grid (4,1,1), block (64,1,1)</dd>" in text and "<td>did not run: <code>--tool synccheck</code></td>" in text,
           "the launch, and what did not run", text)
    source = write(path("race.cu"), "".join(f"line {n}\n" for n in range(1, 90)))
    check("--html", path("race.html"), "--read", write(path("race.rec"), saved.replace("/src/app/race.cu", source)))
    text = read("race.html")
    tap.ok('<mark>   41  line 41</mark> <span class="label">Write access</span>\n' in text and "   44  line 44\n    &vellip;\n   48  line 48\n" in text and
           '<mark>   51  line 51</mark> <span class="label">Read access</span>\n' in text, "both places of a race in one piece", text)
    check("--html", path("none.html"), "--tool", "memcheck", fake)
    tap.ok("Nothing was found." in read("none.html") and "<h2 id=\"found\"" not in read("none.html"), "a page without findings")
    test_page("race.html")


def test_page(name):
    if not find_browser():
        return tap.skip("no browser")
    browser = Browser(folder)
    for width in (1280, 400):
        for dark in (False, True):
            browser.open(path(name), width, 900, dark, has_script=False)
            what = f"{width} px, {'dark' if dark else 'light'}"
            tap.eq(browser.js(FAINT), [], f"{what}: texts can be read")
            tap.eq(browser.js("[...document.querySelectorAll('.title')].map(e => getComputedStyle(e, '::before').textIndent)"), ["0px"] * 5,
                   f"{what}: triangles are beside the bar at the left")
            tap.ok(browser.js("document.documentElement.scrollWidth") <= width, f"{what}: nothing is beside the page")
            tap.eq(browser.js("[...document.querySelectorAll('.finding')].map(e => e.open)"), [True, False, False, False, False], f"{what}: the worst is open")
    tap.eq(browser.messages, [], "the browser has nothing to say")
    browser.close()


# ---- options

def test_options():
    for args, why in (
            ([], "which program?"), (["--tool", "memchek", fake], "--tool: tool 'memchek' is unknown; there are memcheck, initcheck, racecheck, synccheck, schedcheck, all; did you mean memcheck?"),
            (["--tool", "race", fake], "did you mean racecheck?"), (["--tool", "memcheck,racechek", fake], "did you mean racecheck?"),
            (["--tool", "xyz", fake], "schedcheck, all ("), (["--tool", "", fake], "tool '' is unknown"),
            (["--destroy-on-device-error", "kernel", fake], "--destroy-on-device-error kernel: an error of a kernel always ends its context here"),
            *(([f"--{name}", "-", fake], f"--{name} -: stdout has the text") for name in ("json", "html", "save", "log-file")),
            (["--tool"], "--tool: there is no value behind it"), (["--colour", fake], "unknown option '--colour'"), (["-z", fake], "unknown option '-z'"),
            (["--print-limits", fake], "unknown option '--print-limits'; did you mean --print-limit"), (["--leaks", fake], "unknown option '--leaks'; did you mean --leak-check"),
            (["--racecheck", fake], "unknown option '--racecheck'; did you mean --tool racecheck"),
            (["--print-limit", "many", fake], "--print-limit: it takes a number"), (["--error-exitcode", "256", fake], "0 to 255"),
            (["--demangle", "some", fake], "it takes one of full, simple, no"), (["--check-exit-code", "maybe", fake], "it takes yes or no"),
            (["--leak-check", "maybe", fake], "leak-check: 'maybe' is not possible: it takes one of no, full"),
            (["--xml", fake], "--xml: --save FILE says where it goes"), (["--kill", fake], "--kill: --launch-timeout N says when"),
            (["--read", MIXED, fake], "--read shows a file"), (["--kernel-name", "gem=m", fake], "KEY=TEXT"),
            (["--kernel-regex", "kns=(", fake], "no regular expression"), (["--kernel-regex", "x", fake], "it takes kns=EXPRESSION"),
            (["--coredump-name", "x", fake], "--coredump-name: --generate-coredump asks for one"),
            (["--nvtx", "true", fake], "--nvtx: NVTX is not read"), (["--mode", "attach", fake], "it takes one of launch-and-attach, launch"),
            (["--socket", "x", fake], "unknown option '--socket'"), (["--machine", "k80", fake], "--machine: HEDDLE_MACHINE=k80 is not possible")):
        got = check(*args)
        tap.ok(got.returncode == 2 and got.stdout == "" and why in got.stderr, f"refused: {' '.join(a for a in args if a != fake)}", got.stderr)
    tap.ok(not os.path.exists(path("-")), "no file is called -")
    got = check("--tool", "all", "--destroy-on-device-error", "context", fake, "race", "write")
    tap.ok("RACECHECK SUMMARY: 1 hazard " in got.stdout and "SCHEDCHECK SUMMARY: 0 " in got.stdout and got.stdout.endswith("ERROR SUMMARY: 2 errors\n"), "all tools", got.stdout)
    got = tool("--json", "check", fake)
    tap.ok(got.returncode == 2 and "--json takes a file here" in got.stderr, "heddle --json check", got.stderr)
    got = check("--xml", "yes", "--save", path("o.xml"), "-s", "1", "-c", "2", "--port", "1", "--max-connections=5", "--nvtx=false", fake)
    tap.ok(got.returncode == 2, "what is refused is, with whatever value", got.stderr)
    got = check("--xml", "yes", "--save", path("o.xml"), "-s", "1", "-c", "2", "--port", "1", "--max-connections=5", "--tool", "memcheck", "--tool",
                "racecheck", "--kernel-regex", "kne=a.*", "--filter", "kns=b", "--track-unused-memory", "--padding", "32", "-q", "--threads", "2", fake)
    tap.ok(got.returncode == 0 and got.stdout == "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
           "========= ERROR SUMMARY: 0 errors\n", "what is taken", got.stdout + got.stderr)


def test_environment():
    seen = write(path("seen"), '#!/bin/sh\necho "$HEDDLE_CHECK"\necho "$HEDDLE_DEBUG $HEDDLE_DEVICE"\necho "$LD_PRELOAD"\n')
    os.chmod(seen, 0o755)
    got = check("--require-cuda-init", "no", "--leak-check", "full", "--kernel-name", "kns=a b%", "--force-blocking-launches", "--device",
                "interp", "--preload-library", "/lib/a.so,/lib/b.so", "-q", seen, env={"HEDDLE_DEBUG": "launch"})
    line, debug, preload = got.stdout.splitlines()[:3]
    tap.ok(re.fullmatch(r"socket=heddle-check-\d+-[0-9a-f]{16} root=\d+ record-limit=100 leak-check=full kernel-name=kns=a%20b%25 tools=memcheck", line),
           "HEDDLE_CHECK", line)
    tap.eq(debug, "launch,sync interp", "launches that block, the device")
    tap.ok(preload.startswith("/lib/a.so:/lib/b.so:") and "libheddle_preload.so" in preload, "libraries", preload)


def test_name():
    link = path("compute-sanitizer")
    os.symlink(heddle, link)
    got = subprocess.run([link, "--error-exitcode", "3", fake, "write"], env=tool.env, capture_output=True, text=True, timeout=60)
    tap.ok(got.returncode == 3 and "ERROR SUMMARY: 1 error" in got.stdout, "as compute-sanitizer", got.stdout + got.stderr)
    got = subprocess.run([link], env=tool.env, capture_output=True, text=True, timeout=60)
    tap.ok(got.returncode == 2 and got.stderr.startswith("heddle: compute-sanitizer: which program?"), "its name is in messages", got.stderr)
    lies = os.path.join(os.path.dirname(heddle), "cuda/compute-sanitizer/compute-sanitizer")
    tap.ok(os.path.realpath(lies) == os.path.realpath(heddle), "it lies in a folder of its own", lies)


test_golden()
test_run()
test_status()
test_faults()
test_limits()
test_groups()
test_terminal()
test_children()
test_hostile()
test_log_file()
test_save()
test_xml()
test_suppressions()
test_bad_suppressions()
test_json()
test_html()
test_options()
test_environment()
test_name()
tap.done()
