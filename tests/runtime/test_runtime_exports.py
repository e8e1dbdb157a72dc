#!/usr/bin/env python3
"""libcudart exports what spec/api/runtime.def says, under the right version nodes, and nothing else.

    test_runtime_exports.py LIBCUDART SCRIPTS
"""
import subprocess
import sys

library, scripts = sys.argv[1:3]
sys.path.insert(0, scripts)
import gen_api  # noqa: E402
count = 0
failed = 0


def ok(passed, name, *notes):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}")
    for note in notes if not passed else ():
        print(f"# {note}")


table = gen_api.read_runtime()
rows = [(s, e.nodes, e.has_split) for e in table for s, _ in gen_api.symbols(e)]
lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                       check=True).stdout.splitlines()
exports = {}
for line in lines:
    address, kind, name = line.split()
    if kind != "A":  # the nodes themselves
        exports[name] = address

want = set()
for symbol, nodes, has_split in rows:
    if nodes in ("BOTH", "V13"):
        want.add(f"{symbol}@@libcudart.so.13")
    if nodes == "BOTH" or (nodes == "V12" and has_split):
        want.add(f"{symbol}@libcudart.so.12")
    elif nodes == "V12":
        want.add(f"{symbol}@@libcudart.so.12")
missing, extra = sorted(want - exports.keys()), sorted(exports.keys() - want)
ok(not missing, "every row of the table is exported", *missing[:10])
ok(not extra, "nothing else is exported", *extra[:10])

both = {s: (exports.get(f"{s}@@libcudart.so.13"), exports.get(f"{s}@libcudart.so.12"))
        for s, nodes, has_split in rows if nodes == "BOTH" or has_split}
split = {s for s, _, has_split in rows if has_split}
ok(all(a == b for s, (a, b) in both.items() if s not in split), "BOTH: one function behind both names")
same = [s for s, (a, b) in both.items() if s in split and a == b]
ok(not same, "a row for each version: two functions behind the name", *same)
keys = [(e.symbol, e.nodes) for e in table]
ok(len(set(keys)) == len(keys) and keys == sorted(keys), "the table is sorted and has no row twice")
dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
ok("[libcudart.so.13]" in dynamic, "soname is libcudart.so.13")
print(f"1..{count}")
sys.exit(failed > 0)
