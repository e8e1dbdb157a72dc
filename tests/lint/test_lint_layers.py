#!/usr/bin/env python3
"""The layer check finds each kind of wrong include, and accepts each right one."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SCRIPT = os.path.join(ROOT, "scripts/lint_layers.py")

# Headers that include another one; the others are empty.
INCLUDED = {"src/core/deep.h": '#include "core/deeper.h"\n', "src/core/deeper.h": '#include "hal/hal.h"\n'}
HEADERS = [*INCLUDED, "src/base/str.h", "src/ir/ir.h", "src/ptx/ptx.h", "src/hal/hal.h", "src/jit/jit.h",
           "src/core/core.h", "src/compile.h", "src/obj/fatbin.h", "spec/ops.def", "src/dev/cpu/cpu.h",
           "include/heddle/heddle.h"]

# file, its include, what the output must contain ("" = accepted)
CASES = [
    ("src/ir/a.c", '"base/str.h"', ""),
    ("src/ir/a.c", '"ir/ir.h"', ""),
    ("src/ir/a.c", '"ir.h"', ""),
    ("src/ir/a.c", "<string.h>", ""),
    ("src/ir/a.c", '"ops.def"', ""),
    ("src/lower/a.c", '"ptx/ptx.h"', ""),
    ("src/core/a.c", '"compile.h"', ""),
    ("src/dev/cpu/a.c", '"jit/jit.h"', ""),
    ("src/api/driver/a.c", '"core/core.h"', ""),
    ("tests/ir/a.c", '"dev/cpu/cpu.h"', ""),
    ("tools/heddle/a.c", '"obj/fatbin.h"', ""),
    ("src/base/a.c", '"ir/ir.h"', "src/base/a.c:2: base may not include src/ir/ir.h"),
    ("src/ir/a.c", '"ptx/ptx.h"', "ir may not include src/ptx/ptx.h"),
    ("src/core/a.c", '"dev/cpu/cpu.h"', "core may not include src/dev/cpu/cpu.h"),
    ("src/core/a.c", '"jit/jit.h"', "core may not include src/jit/jit.h"),
    ("src/dev/cpu/a.c", '"core/core.h"', "dev/cpu may not include src/core/core.h"),
    ("src/api/driver/a.c", '"hal/hal.h"', "api/driver may not include src/hal/hal.h"),
    ("src/api/driver/a.c", '"core/deep.h"',
     "must not see src/hal/hal.h, through src/core/deep.h -> src/core/deeper.h -> src/hal/hal.h"),
    ("src/core/a.c", '"core/deep.h"', ""),
    ("src/libdevice/a.c", '"base/str.h"', "libdevice may not include src/base/str.h"),
    ("src/ir/a.c", '"../hal/hal.h"', "ir may not include src/hal/hal.h"),
    ("src/ir/a.c", '"nowhere.h"', "is not in the project"),
    ("src/new/a.c", '"base/str.h"', "module 'new' has no row"),
    ("examples/a.c", '"base/str.h"', "examples may not include src/base/str.h"),
]


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def lint(root):
    run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def case(path, include):
    with tempfile.TemporaryDirectory() as root:
        for header in HEADERS:
            write(root, header, INCLUDED.get(header, ""))
        write(root, path, f"/* line 1 */\n#include {include}\n")
        return lint(root)


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (path, include, want) in enumerate(CASES, 1):
        status, output = case(path, include)
        good = (status == 1 and want in output) if want else (status == 0 and not output)
        failed += not good
        print(f"{'' if good else 'not '}ok {number} - {path} with {include} is "
              f"{'refused' if want else 'accepted'}")
        if not good:
            print("# got: " + output.strip().replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
