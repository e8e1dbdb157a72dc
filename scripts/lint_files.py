#!/usr/bin/env python3
"""Checks which files there are: nothing at the root that is not known, no binary files but inputs of tests and pictures; and in Python
files that no dictionary has a key twice, of which the first is lost without a word.

    lint_files.py [FOLDER]     the files of a folder, not those that git knows: for its test
"""
import ast
import os
import sys

from lint_text import ROOT, tracked

# A new one is added here, if it has to be at the root.
AT_ROOT = {".clang-format", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "meson.build",
           "meson_options.txt"}
# Inputs of tests, which are what they are, and pictures of pages.
BINARY_FOLDERS = ("tests/fuzz/corpus/", "docs/images/")


def is_binary(data):
    if b"\0" in data:
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def twice(tree):
    """(line, key) of each constant key that a dictionary has again."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        seen = set()
        for key in node.keys:
            if not isinstance(key, ast.Constant):
                continue
            name = (type(key.value), key.value)
            if name in seen:
                yield key.lineno, key.value
            seen.add(name)


def check(root, path):
    if "/" not in path and path not in AT_ROOT:
        yield f"{path}: not a file of the root; scripts/lint_files.py lists those"
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    if is_binary(data):
        if not path.startswith(BINARY_FOLDERS):
            yield f"{path}: a binary file"
    elif path.endswith(".py") or data.startswith(b"#!/usr/bin/env python3"):
        for line, key in twice(ast.parse(data, path)):
            yield f"{path}:{line}: {key!r} is a key of this dictionary already"


def paths_of(root):
    """What git knows of the project, or all that is in another folder, a test's."""
    if root == ROOT:
        return tracked()
    return sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)


def run(check_file):
    """The command of a check that looks at each file by itself: its exit status."""
    root = sys.argv[1] if len(sys.argv) > 1 else ROOT
    wrong = [problem for path in paths_of(root) for problem in check_file(root, path)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(run(check))
