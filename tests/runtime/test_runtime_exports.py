#!/usr/bin/env python3
"""libcudart exports what spec/api/runtime.def says, under the right version nodes, and nothing else.

    test_runtime_exports.py LIBCUDART RUNTIME_DEF
"""
import re
import subprocess
import sys

library, table = sys.argv[1:3]
count = 0
failed = 0


def ok(passed, name, *notes):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}")
    for note in notes if not passed else ():
        print(f"# {note}")


with open(table, encoding="utf-8") as file:
    rows = re.findall(r"^X\((\w+), (\w+), (YES|NO)\)$", file.read(), re.M)
lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                       check=True).stdout.splitlines()
exports = {}
for line in lines:
    address, kind, name = line.split()
    if kind != "A":  # the nodes themselves
        exports[name] = address

want = set()
for symbol, nodes, _ in rows:
    if nodes in ("BOTH", "SPLIT", "V13"):
        want.add(f"{symbol}@@libcudart.so.13")
    if nodes in ("BOTH", "SPLIT"):
        want.add(f"{symbol}@libcudart.so.12")
    if nodes == "V12":
        want.add(f"{symbol}@@libcudart.so.12")
missing, extra = sorted(want - exports.keys()), sorted(exports.keys() - want)
ok(not missing, "every row of the table is exported", *missing[:10])
ok(not extra, "nothing else is exported", *extra[:10])

both = {s: (exports.get(f"{s}@@libcudart.so.13"), exports.get(f"{s}@libcudart.so.12"))
        for s, nodes, have in rows if nodes in ("BOTH", "SPLIT") and have == "YES"}
split = {s for s, nodes, _ in rows if nodes == "SPLIT"}
ok(all(a == b for s, (a, b) in both.items() if s not in split), "BOTH: one function behind both names")
same = [s for s, (a, b) in both.items() if s in split and a == b]
ok(not same, "SPLIT: two functions behind the name", *same)
ok(len({s for s, _, _ in rows}) == len(rows) and [r[0] for r in rows] == sorted(r[0] for r in rows),
   "the table is sorted and has no row twice")
dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
ok("[libcudart.so.13]" in dynamic, "soname is libcudart.so.13")
print(f"1..{count}")
sys.exit(failed > 0)
