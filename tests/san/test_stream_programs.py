#!/usr/bin/env python3
"""What racecheck says of programs with several streams, on both devices.

    test_stream_programs.py HEDDLE (cc|nvcc)
"""
import json
import os
import re
import subprocess

from programs import COMPILER, HEDDLE, build, environment, main, ok

# What the text has, where it is not plain.
TEXTS = {
    "two_bad": [r"Error: Race between streams reported between Write access at fill\(int \*, int\)\+0x[0-9a-f]+ in streams\.cu:18",
                r"and Read access at add\(int \*, int const \*\)\+0x[0-9a-f]+ in streams\.cu:25 \[12000 hazards\]",
                r"Address 0x[0-9a-f]+, in stream 1 and stream 2, which nothing orders", r"at kernel launch time", r"at the other call"],
    "write_after_read_bad": [r"between Read access at add\(", r"and Write access at fill\("],
    "default_and_free_bad": [r"in a default stream and stream 3, which nothing orders"],
    "kernel_and_copy_bad": [r"between Write access at fill\(", r"and Read access by cudaMemcpyAsync \[12000 hazards\]"],
    "copy_and_kernel_bad": [r"between Write access at fill\(", r"and Read access by cudaMemcpyAsync \[12000 hazards\]"],
    "copy_and_fill_bad": [r"between Write access by cudaMemcpyAsync", r"and Write access by cudaMemsetAsync \[4 hazards\]", r"at the first call"],
    "columns_bad": [r"between Write access by cudaMemset2DAsync"],
    "host_reads_bad": [r"Error: Race between host and device reported between Write access at fill\(", r"and Read access by the host",
                       r"in stream 1 and the host, which nothing orders", r"Host Frame: host_reads_bad\(\)"],
    "host_writes_bad": [r"between Read access at add\(", r"and Write access by the host"],
    "variable_read_bad": [r"between Write access at fill\(", r"and Read access by the host", r"Host Frame: variable_read_bad\(\)"],
    "variable_written_bad": [r"between Read access at add\(", r"and Write access by the host"],
    "few_read_bad": [r"between Write access at fill_few\(", r"and Read access by the host"],
    "pinned_read_bad": [r"between Write access by cudaMemcpyAsync", r"and Read access by the host"],
    "pinned_written_bad": [r"between Read access by cudaMemcpyAsync", r"and Write access by the host"],
    "own_faults_bad": [r"caught 2", r"and Read access by the host"],
    "graph_branches_bad": [r"in parts of a graph that no edge orders"],
}


OPTIONS = {"kernel_waits_for_host": ("--racecheck-host-wait", "1")}


def check(program, name, device, *more, tool="racecheck"):
    env = environment(device)
    result = subprocess.run([HEDDLE, "check", "--tool", tool, *more, program, name], env=env, capture_output=True,
                            text=True, timeout=120, check=False)
    return result.stdout + result.stderr


def hazards(text):
    found = re.search(r"RACECHECK SUMMARY: (\d+) hazard", text)
    return int(found[1]) if found else -1


def check_case(program, name, device):
    text = check(program, name, device, *OPTIONS.get(name, ()))
    missing = [p for p in TEXTS.get(name, []) if not re.search(p, text)]
    racy = name.endswith("_bad")
    ok((hazards(text) > 0) == racy and hazards(text) >= 0 and not missing, f"{name}, {device}", f"missing {missing}\n{text}")


def check_forms(program, folder):
    path = os.path.join(folder, "found.json")
    check(program, "kernel_and_copy_bad", "cpu", "--json", path)
    with open(path, encoding="utf-8") as file:
        cause = json.load(file)["causes"][0]
    ok(cause["kind"] == "race-streams" and cause["calls"] == [{"what": "Read access", "name": "cudaMemcpyAsync"}] and
       cause["threads"][0]["places"][0]["line"] == 18 and cause["other_called_at"], "JSON has both sides", str(cause))
    page = os.path.join(folder, "found.html")
    check(program, "copy_and_fill_bad", "cpu", "--html", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    ok("Race between streams" in text and "cudaMemcpyAsync" in text, "and HTML", text)
    xml = os.path.join(folder, "found.xml")
    check(program, "kernel_and_copy_bad", "cpu", "--xml", "--save", xml)
    text = check(program, "kernel_and_copy_bad", "cpu", "--suppressions", xml)
    ok(hazards(text) == 0 and "SUPPRESSION SUMMARY: " in text, "what was saved as XML suppresses it", text)
    text = check(program, "columns_bad", "cpu", "--suppressions", xml)
    ok(hazards(text) > 0, "and nothing else", text)
    text = check(program, "two_bad", "cpu", tool="memcheck,racecheck")
    ok(hazards(text) == 1 and text.rstrip().endswith("ERROR SUMMARY: 1 error"), "with memcheck, in one total", text)
    text = check(program, "host_reads_bad", "cpu", "--racecheck-host-wait", "0")
    ok(hazards(text) == 0, "the host may be left out", text)
    text = check(program, "two_bad", "cpu", "--kernel-name", "kns=add")
    ok(hazards(text) == 0, "of kernels that the filter takes", text)


def check_all(folder):
    program = build(folder, "streams", 75)
    if program:
        names = subprocess.run([HEDDLE, "run", program], capture_output=True, text=True, check=False).stdout.split()
        ok(len(names) > 20, "it has cases", str(names))
        if COMPILER == "cc": # a page of the program's data may have anything in it
            names.remove("few_read_bad")
        for name in names:
            for device in ("cpu", "interp", "sim"):
                check_case(program, name, device)
        check_forms(program, folder)


main(check_all)
