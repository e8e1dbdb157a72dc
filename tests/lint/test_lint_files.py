#!/usr/bin/env python3
"""The check of files finds what does not belong, and accepts what does."""
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/lint_files.py")

# file, what is in it, what the output must contain ("" = accepted)
CASES = [
    ("README.md", b"text\n", ""),
    ("src/a.c", b"int a;\n", ""),
    ("src/umlaut.md", "schön\n".encode(), ""),
    ("tests/fuzz/corpus/elf/a", b"\x7fELF\0", ""),
    ("docs/images/a.png", b"\x89PNG\0", ""),
    ("docs/a.png", b"\x89PNG\0", "docs/a.png: a binary file"),
    ("scripts/a.py", b'A = {"a": 1, "b": 2, **{"a": 3}}\n', ""),
    ("scripts/a.py", b'A = {1: 1, "1": 2, True: 3}\n', ""),
    ("jit-29219.dump", b"text\n", "jit-29219.dump: not a file of the root"),
    ("radixsort.jit", b"", "radixsort.jit: not a file of the root"),
    ("src/a.so", b"\x7fELF\0", "src/a.so: a binary file"),
    ("tests/a.bin", b"\xff\xfe", "tests/a.bin: a binary file"),
    ("scripts/a.py", b'A = {\n    "san": 1,\n    "hal": 2,\n    "san": 3,\n}\n', "scripts/a.py:4: 'san' is a key"),
    ("scripts/a", b'#!/usr/bin/env python3\nA = [{1: 1, 1: 2}]\n', "scripts/a:2: 1 is a key"),
]


def lint(path, data):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), "wb") as file:
            file.write(data)
        run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (path, data, want) in enumerate(CASES, 1):
        status, output = lint(path, data)
        good = (status == 1 and want in output) if want else (status == 0 and not output)
        failed += not good
        print(f"{'' if good else 'not '}ok {number} - {path} is {'refused' if want else 'accepted'}")
        if not good:
            print("# got: " + output.strip().replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
