#!/usr/bin/env python3
"""What racecheck says of races.cu, and the tools of boxes.cu, on both devices: test_race_programs.py HEDDLE (cc|nvcc)"""
import re
import subprocess

from programs import HEDDLE, build, environment, main, ok

RACES = ("alias far_alias through_pointer through_variable chosen counted tiles_before tiles_after halves rows "
         "sums_of_rows late_sums_of_rows "
         "copied_early copied_own_early copied_mbarrier_early").split()
NONE = "apart one_allocation far other_pointer tiles sums_of_one_row copied copied_all copied_own copied_mbarrier".split()
# (case of boxes.cu, tool, is something found)
BOXES = [("fine", "racecheck", False), ("early", "racecheck", True), ("again", "racecheck", True), ("fine", "memcheck", False),
         ("edge", "memcheck", False), ("beyond", "memcheck", True), ("fine", "initcheck", False), ("unwritten", "initcheck", True),
         ("fine", "synccheck", False), ("own_matrix", "racecheck", True), ("own_transposed", "racecheck", True),
         ("same_matrix", "racecheck", False), ("same_transposed", "racecheck", False)]


def check(program, name, device, tool, found):
    done = subprocess.run([HEDDLE, "check", "--tool", tool, program, name], env=environment(device), capture_output=True, text=True, timeout=100,
                          check=False)
    summary = re.search(r"(?:RACECHECK SUMMARY: (\d+) hazards? displayed|ERROR SUMMARY: (\d+) error)", done.stdout)
    some = summary and int(summary[1] or summary[2]) > 0
    ok(summary and bool(some) == found, f"{name}, {tool}, {device}: {'found' if found else 'nothing'}",
           done.stdout + done.stderr)
    ok("no error" in done.stdout or (tool == "memcheck" and found), f"{name}, {tool}, {device}: runs to its end", done.stdout)


def check_all(folder):
    races, boxes = build(folder, "races", 80), build(folder, "boxes", 90, "-lcuda")
    for kind in ("cpu", "interp", "sim"):
        for case in RACES + NONE if races else ():
            check(races, case, kind, "racecheck", case in RACES)
        for case, tool, found in BOXES if boxes else ():
            check(boxes, case, kind, tool, found)


main(check_all)
