#!/usr/bin/env python3
"""The check of calls between a module's files finds knots, and nothing else."""
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/lint_calls.py")


def function(name, *calls, words="int"):
    return f"{words} {name}(int x)\n{{\n" + "".join(f"    {call}(x);\n" for call in calls) + "    return x;\n}\n\n"


# what it is about, {file: text}, what the output must contain ("" = accepted)
CASES = [
    ("a line", {"src/m/a.c": function("a", "b"), "src/m/b.c": function("b", "c"), "src/m/c.c": function("c")}, ""),
    ("two ways down", {"src/m/a.c": function("a", "b", "c"), "src/m/b.c": function("b", "c"), "src/m/c.c": function("c")}, ""),
    ("there and back", {"src/m/a.c": function("a", "b"), "src/m/b.c": function("b", "a")}, "src/m: 1 calls"),
    ("a circle of three", {"src/m/a.c": function("a", "b"), "src/m/b.c": function("b", "c"), "src/m/c.c": function("c", "a")}, "src/m: 1 calls"),
    ("two circles with a file in common",
     {"src/m/a.c": function("a", "b", "c"), "src/m/b.c": function("b", "a"), "src/m/c.c": function("c", "a")}, "src/m: 2 calls"),
    ("in subfolders of a module", {"src/m/x/a.c": function("a", "b"), "src/m/y/b.c": function("b", "a")}, "src/m: 1 calls"),
    ("a function by its address", {"src/m/a.c": "int (*const at)(int) = b;\n\n" + function("a"), "src/m/b.c": function("b", "a")}, "src/m: 1 calls"),
    ("a macro in front", {"src/m/a.c": function("a", "b", words="HD_EXPORT int"), "src/m/b.c": function("b", "a")}, "src/m: 1 calls"),
    ("static functions", {"src/m/a.c": function("a", "b", words="static int"), "src/m/b.c": function("b", "a")}, ""),
    ("a static one of the same name", {"src/m/a.c": function("a", "b"), "src/m/b.c": function("b", "a") + function("a", words="static int")}, ""),
    ("comments and texts", {"src/m/a.c": function("a", "b"), "src/m/b.c": '/* a() */\nconst char *t = "a()";\n\n' + function("b")}, ""),
    ("a struct of the name", {"src/m/a.c": function("a", "b"), "src/m/b.c": "struct a {\n    int x;\n};\n\n" + function("b")}, ""),
    ("two modules", {"src/m/a.c": function("a", "b"), "src/n/b.c": function("b", "a")}, ""),
    ("folders that are modules", {"src/api/m/a.c": function("a", "b"), "src/api/n/b.c": function("b", "a")}, ""),
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
