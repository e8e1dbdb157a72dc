#!/usr/bin/env python3
"""Do all sources that can change compiled code take part in its cache key?

    test_sources.py ROOT heddle_sources.h

Which folders those are follows from the layers: whatever src/compile and src/jit may use.
"""
import os
import subprocess
import sys
import tempfile

root, header = sys.argv[1:]
sys.path.insert(0, os.path.join(root, "scripts"))
from lint_layers import ARROWS  # noqa: E402

count = 0


def ok(passed, name):
    global count
    count += 1
    print("%sok %d - %s" % ("" if passed else "not ", count, name))


def closure(modules):
    todo, seen = list(modules), set()
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += ARROWS[module]
    return seen | {"base"}


def sources(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
            if name.endswith((".c", ".h", ".def"))]


def digest(folder, scratch):
    out = os.path.join(scratch, "out.h")
    subprocess.run([os.path.join(root, "scripts/hash_sources"), out, out + ".d", "NAME", folder], check=True)
    return [line for line in open(out) if line.startswith("#define")]


hashed = open(header).read()
for module in sorted(closure({"compile", "jit"})):
    missing = [p for p in sources(os.path.join(root, "src", module)) if os.path.relpath(p, root) not in hashed]
    ok(not missing, "src/%s takes part %s" % (module, " ".join(missing[:3])))
missing = [p for p in sources(os.path.join(root, "spec")) if os.path.relpath(p, root) not in hashed]
ok(not missing, "spec/ takes part %s" % " ".join(missing[:3]))
ok("src/compile.h" in hashed, "src/compile.h takes part")
with tempfile.TemporaryDirectory() as scratch:
    folder = os.path.join(scratch, "spec")
    os.mkdir(folder)
    for name in ("a.def", "b.c", "c.h"):
        open(os.path.join(folder, name), "w").write("one")
    before = digest(folder, scratch)
    for name in ("a.def", "b.c", "c.h"):
        open(os.path.join(folder, name), "w").write("two")
        after = digest(folder, scratch)
        ok(after != before, "another %s, another hash" % name)
        before = after
print("1..%d" % count)
