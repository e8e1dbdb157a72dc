#!/usr/bin/env python3
"""Heddle accepts what the vendor's assembler accepts, form by form (TAP). Skipped without ptxas.

    test_accepts.py PTX_ACCEPTS [--ops "add mul"] [--part 1/3] [--most N] [--seed N] [--show N]

--ops: all that spec/ptx_forms.def has rows for if none are named; others may be, but their operands depend on more than the table says.
--most: forms to ask about of each opcode; --show: disagreements to tell of each opcode and direction. quirks.py has what is not counted.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import explore  # noqa: E402
import forms  # noqa: E402
import quirks  # noqa: E402
import vendor  # noqa: E402

tests = 0


def ok(good, name, details=()):
    global tests
    tests += 1
    print(f"{'ok' if good else 'not ok'} {tests} - {name}")
    for line in details:
        print(f"# {line}")


class Judges:
    """Both, asked together; keeps what they disagree about."""

    def __init__(self, where, program):
        self.where, self.program = where, program
        self.template = os.path.join(where, "one.ptx")
        with open(self.template, "w", encoding="utf-8") as file:
            file.write(vendor.head("9.0", "sm_120a") + "@\nret; }\n")
        self.asked, self.strict, self.lax = 0, [], []

    def ours(self, lines):
        text = "".join(f"{line}\n" for line in lines)
        said = subprocess.run([self.program, self.template], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
        assert len(said) == len(lines)
        return [None if why == "ok" else why for why in said]

    def ask(self, op, some):
        """The forms that one of them takes with any operands."""
        lines = [(form, forms.text(op, *form, ops)) for form in some for ops in forms.operands(op, *form)]
        if not lines:
            return []
        texts = [line for _, line in lines]
        self.asked += len(lines)
        taken = []
        for (form, line), ours, theirs in zip(lines, self.ours(texts), vendor.verdicts(self.where, texts)):
            if ours and not theirs and not quirks.known(quirks.THEIRS, op.name, line):
                self.strict.append((line, ours))
            if theirs and not ours and not quirks.known(quirks.OURS, op.name, line):
                self.lax.append((line, theirs))
            if not ours or not theirs:
                taken.append(form)
        return list(dict.fromkeys(taken))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--ops", default="")
    parser.add_argument("--part", default="1/1", help="of the opcodes: 2/3 is the second third")
    parser.add_argument("--most", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=4)
    args = parser.parse_args()
    if not vendor.find():
        print("1..0 # SKIP no ptxas")
        return 0
    known, failed = explore.known(), 0
    part, parts = map(int, args.part.split("/"))
    names = (args.ops.split() or forms.LIMITED)[part - 1::parts]
    with tempfile.TemporaryDirectory() as where:
        for name in names:
            op, judges = forms.OPS[name], Judges(where, args.program)
            explore.Walk(op, lambda some, op=op, judges=judges: judges.ask(op, some), args.most, args.seed).run(known.get(name, ()))
            details = [f"refused: {line}  {why}" for line, why in judges.strict[:args.show]] + [f"taken: {line}  {why}" for line, why in judges.lax[:args.show]]
            bad = len(judges.strict) + len(judges.lax)
            failed += bad != 0
            ok(not bad, f"{name}: {judges.asked} asked, {len(judges.strict)} refused by us only, {len(judges.lax)} taken by us only", details)
    print(f"1..{tests}")
    return failed != 0


sys.exit(main())
