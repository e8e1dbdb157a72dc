#!/usr/bin/env python3
"""What docs/debugging.md shows of bugs and how they are found is what is printed: test_bugs.py HEDDLE PAGE SOURCES [--show]

The page's section has blocks with lines `$ COMMAND` and, behind `$ heddle gdb ...`, `(gdb) COMMAND`; below each stands what it prints. A line
`...` stands for any lines; empty ones are left out. Addresses, spaces, and numbers of grids and processes, may be others. --show prints the section's blocks as they are
printed now, for whoever changes the page."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "../tools"))
from support import Tap, has_gdb  # noqa: E402

SECTION = "## Five bugs in a minute"
heddle, page, sources = (os.path.abspath(path) for path in sys.argv[1:4])
tap = Tap()


class Step:
    """A command of the page, and the lines below it."""

    def __init__(self, prompt, command):
        self.prompt, self.command = prompt, command
        self.want, self.got = [], []

    def __str__(self):
        return "%s %s" % (self.prompt, self.command)


def blocks():
    """The steps of each block of the section."""
    with open(page) as file:
        text = file.read().split("\n" + SECTION + "\n")[1].split("\n## ")[0]
    for block in re.findall(r"(?:^    .*\n)+", text, re.M):
        if not block.startswith("    $ "):
            continue # a piece of source
        steps = []
        for line in block.splitlines():
            start = re.match(r"    (\$|\(gdb\)) (.*)", line)
            if start:
                steps.append(Step(*start.groups()))
            else:
                steps[-1].want.append(line[4:])
        yield steps


def groups(steps):
    """Each command of the shell, with those of GDB behind it."""
    found = []
    for step in steps:
        if step.prompt == "$":
            found.append([step])
        else:
            found[-1].append(step)
    return found


def run(folder, group):
    words = shlex.split(group[0].command)
    env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    env.update(HEDDLE_THREADS="1", TMPDIR=folder, HEDDLE_CACHE=os.path.join(folder, "cache"), HOME=folder)
    if words[0] != "heddle":
        raise SystemExit("the page has a command that is not heddle's: " + group[0].command)
    words[0] = heddle
    if words[1] == "gdb":
        options = ["-batch", "-ex", "set width 0"]
        for number, step in enumerate(group[1:]):
            options += ["-ex", "echo \\n@%d@\\n" % number, "-ex", step.command]
        words[2:2] = options
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, cwd=folder, timeout=100)
    parts = re.split(r"\n?@\d+@\n", done.stdout)
    if words[1] == "gdb":
        parts = parts[1:]
    for step, text in zip(group[1:] or group, parts):
        step.got = [line for line in text.splitlines() if line.strip("= ")]


def same(line):
    """What must be equal of a line."""
    line = re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"\s+", " ", line.rstrip()))
    line = re.sub(r"\b(grid|process|Thread) \d+", r"\1", line)
    return re.sub(r"\S*/(\w+\.cu)", r"\1", line)


def fits(want, got):
    """Are these the lines? `...` is any number of them."""
    if not want:
        return not got
    if want[0] == "...":
        return any(fits(want[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and same(want[0]) == same(got[0]) and fits(want[1:], got[1:])


def main():
    show = "--show" in sys.argv
    if not has_gdb():
        tap.skip("no gdb 13 with Python")
        tap.done()
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(sources):
            shutil.copy(os.path.join(sources, name), folder)
        for steps in blocks():
            for group in groups(steps):
                run(folder, group)
            for step in steps:
                if show:
                    print("    %s" % step, *("    " + line for line in step.got), sep="\n")
                elif step.want or step.got:
                    tap.ok(fits(step.want, step.got), step, "want:\n%s\ngot:\n%s" % ("\n".join(step.want), "\n".join(step.got)))
            if show:
                print()
    if not show:
        tap.done()


main()
