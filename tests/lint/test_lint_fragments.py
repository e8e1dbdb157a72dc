#!/usr/bin/env python3
"""The check of short functions that are called once finds those, and nothing else."""
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/lint_fragments.py")


def function(name, *statements, words="static int"):
    return f"{words} {name}(int x)\n{{\n" + "".join(f"    {s};\n" for s in statements) + "    return x;\n}\n\n"


HELPER = function("help", "x += 1")
USER = function("use", "help(x)", words="int")

# what it is about, {file: text}, what the output must contain ("" = accepted)
CASES = [
    ("a helper that is called once", {"src/m/a.c": HELPER + USER}, "src/m: 1 short functions"),
    ("one below its caller", {"src/m/a.c": "static int help(int x);\n\n" + USER + HELPER}, "src/m: 1 short functions"),
    ("two of them", {"src/m/a.c": HELPER + USER, "src/m/b.c": HELPER + USER}, "src/m: 2 short functions"),
    ("a chain", {"src/m/a.c": function("one", "x++") + function("help", "one(x)") + USER}, "src/m: 2 short functions"),
    ("at most twelve lines", {"src/m/a.c": function("help", *["x++"] * 11) + USER}, "src/m: 1 short functions"),
    ("more than twelve", {"src/m/a.c": function("help", *["x++"] * 12) + USER}, ""),
    ("called twice", {"src/m/a.c": HELPER + USER + function("more", "help(x)", words="int")}, ""),
    ("called twice by one function", {"src/m/a.c": HELPER + function("use", "help(x)", "help(x + 1)", words="int")}, ""),
    ("not static", {"src/m/a.c": function("help", words="int") + USER}, ""),
    ("a callback", {"src/m/a.c": HELPER + function("use", "each(x, help)", words="int")}, ""),
    ("in a table, too", {"src/m/a.c": HELPER + "static int (*const table[])(int) = {help};\n\n" + USER}, ""),
    ("that calls itself", {"src/m/a.c": function("help", "help(x)")}, ""),
    ("in a comment and a text", {"src/m/a.c": HELPER + USER + '/* help() */\nconst char *t = "help()";\n'}, "src/m: 1 short functions"),
    ("folders that are modules", {"tools/heddle/m/a.c": HELPER + USER}, "tools/heddle/m: 1 short functions"),
    ("tests are free", {"tests/m/a.c": HELPER + USER}, ""),
]


def lint(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (what, files, want) in enumerate(CASES, 1):
        status, output = lint(files)
        good = (status == 1 and want in output) if want else (status == 0 and not output)
        failed += not good
        print(f"{'' if good else 'not '}ok {number} - {what}")
        if not good:
            print("# got: " + output.strip().replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
