#!/usr/bin/env python3
"""The check of words finds those that have a standard one, where they mean it."""
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/lint_words.py")

# file, a line of it, what the output must contain ("" = accepted)
CASES = [
    ("src/jit/a.c", "/* in every turn of the loop */", 'src/jit/a.c:1: "turn" is iteration'),
    ("src/opt/a.h", "uint64_t turns;", '"turns" is iteration'),
    ("docs/jit.md", "Turns of a loop", '"Turns" is iteration'),
    ("src/jit/a.c", "/* an alloca that SROA turns into SSA */", ""),
    ("src/jit/a.c", "/* warps run in turn */", ""),
    ("src/jit/gen/a.c", "gen_carry_save(g, set);", '"gen_carry_save" is coarsen, live'),
    ("src/jit/gen/a.c", "gen_load_pieces(g, at); gen_address_stride_of(g);", ""),
    ("src/jit/a.c", "/* it turns out that CTAs take turns */", ""),
    ("src/dev/cpu/a.c", "/* CTAs take turns; a turn is short */", ""),
    ("src/core/a.c", "/* a kernel's twin */", '"twin" is debug variant'),
    ("src/api/driver/a.c", "/* its _ptsz twin */", ""),
    ("src/core/a.c", "struct party *p;", '"party" is multi-device'),
    ("src/core/a.c", "/* grids of a family */", '"family" is device runtime'),
    ("src/ptx/a.c", "/* a family of architectures */", ""),
    ("src/jit/a.py", "turns = 3", ""),
]


def lint(path, line):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(line + "\n")
        run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (path, line, want) in enumerate(CASES, 1):
        status, output = lint(path, line)
        good = (status == 1 and want in output) if want else (status == 0 and not output)
        failed += not good
        print(f"{'' if good else 'not '}ok {number} - {path}: {line}")
        if not good:
            print("# got: " + output.strip().replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
