"""The vendor's assembler as a judge of single instructions: yes or no, a file full of them at a time."""
import os
import re
import shutil
import subprocess

import forms

# (version, target, -arch): the newest, the families, and one from before .sync was asked for.
MACHINES = [("9.0", "sm_120a", "sm_120a"), ("9.0", "sm_100a", "sm_100a"), ("9.0", "sm_90a", "sm_90a"), ("9.0", "sm_103a", "sm_103a"),
            ("6.3", "sm_60", "sm_75"), ("3.2", "sm_30", "sm_75")]
CHUNK = 20000


def find():
    return shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


def head(version, target):
    return forms.HEAD.format(version=version, target=target, b128=".reg .b128 %q<20>; " if float(version) >= 8.3 else "")


def wrong_lines(where, machine, lines):
    """{number: message} of those it refuses, and how many it judged: a syntax error ends it."""
    version, target, arch = machine
    start = head(version, target)
    path = os.path.join(where, "ask.ptx")
    with open(path, "w", encoding="utf-8") as file:
        file.write(start + "\n".join(lines) + "\nno_such_instruction;\nret; }\n")
    said = subprocess.run([find(), f"-arch={arch}", path, "-o", os.path.join(where, "ask.cubin")], capture_output=True, text=True, check=False).stderr
    first = start.count("\n") + 1
    wrong = {}
    for number, why in re.findall(r", line (\d+); (?:error|fatal) *: (.*)", said):
        wrong.setdefault(int(number) - first, why)
    if not wrong:
        raise SystemExit(f"{machine}: {said[:500]}")
    done = len(lines) if len(lines) in wrong else max(wrong) + 1
    return wrong, done


def judge(where, machine, lines):
    """[message or None] for each line."""
    out = []
    while len(out) < len(lines):
        part = lines[len(out):len(out) + CHUNK]
        wrong, done = wrong_lines(where, machine, part)
        out += [wrong.get(i) for i in range(done)]
    return out


def verdicts(where, lines):
    """[message or None]: None where any machine takes it; the message is the first machine's."""
    answers = judge(where, MACHINES[0], lines)
    for machine in MACHINES[1:]:
        open_ = [i for i, why in enumerate(answers) if why]
        for i, why in zip(open_, judge(where, machine, [lines[i] for i in open_])):
            answers[i] = why and answers[i]
    return answers
