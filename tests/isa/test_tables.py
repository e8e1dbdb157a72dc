#!/usr/bin/env python3
"""What the ISA's generator refuses: test_tables.py GENERATOR FIELDS. Each row of WRONG breaks the tables in one place."""
import os
import shutil
import subprocess
import sys
import tempfile

GENERATOR, SPEC = sys.argv[1], os.path.dirname(sys.argv[2])
WRONG = [  # file, text, text in its place, what is said
    ("instructions", "I(FMUL, 0x021,", "I(FMUL, 0x022,", "FFMA: opcode 0x22 is FMUL"),
    ("instructions", "I(NOP, 0x0ac,", "I(NOP, 0x2ac,", "NOP: opcode 0x2ac is too large"),
    ("instructions", '"d a b* pa!", "", INT, ALU, BASE, "a where', '"d a x* pa!", "", INT, ALU, BASE, "a where', "SEL: operand x*: there is no such operand"),
    ("instructions", 'I(FADD, 0x020, "d a-| b*-|", "rnd ftz sat"', 'I(FADD, 0x020, "d a-| b*-|", "rnd ftz sat mma_a8"', "FADD: form 0: mma_a8 and rnd both have bit 79"),
    ("instructions", 'I(MOV, 0x012, "d b*", "", INT', 'I(MOV, 0x012, "d b*", "", NONE', "MOV: immediate NONE"),
    ("instructions", 'I(EXIT, 0x0a5, "pa!"', 'I(EXIT, 0x0a5, "[pa!"', "EXIT: an address is not closed"),
    ("instructions", 'I(RET, 0x0a4, "a.2"', 'I(RET, 0x0a4, "a.[sz]"', "RET: the count sz depends on a modifier that it does not have"),
    ("instructions", 'I(LDS, 0x062, "d.[sz] [a ubase offset]"', 'I(LDS, 0x062, "d.[sz] [a ubase offset bank]"', "LDS: form 0: bank and offset both have bit 54"),
    ("fields", 'MOD(sat, 77, 1, "|SAT"', 'MOD(sat, 77, 1, "|SAT|MORE"', "sat: 3 values in 1 bits"),
    ("fields", 'MOD(hi, 80, 1,', 'MOD(hi, 80, 2,', "hi: 2 bits for 2 values"),
    ("fields", 'MOD(relu, 104, 1, "|RELU"', 'MOD(relu, 104, 1, "|SAT"', "sat and relu have a word in common"),
    ("fields", 'COUNT(wide, "wide", "1 2")', 'COUNT(wide, "wide", "1 2 4")', "count wide: 3 counts, not 2"),
    ("fields", "OPERAND(lane, UINT, 32,", "OPERAND(lane, NUMBER, 32,", "lane: NUMBER is no kind of operand"),
    ("fields", 'MOD(tm_wait, 72, 1, "LD|ST", "for what")', 'MOD(tm_wait, 72, 1, "LD|ST", "for what")\nMOD(spare, 72, 1, "|Q", "")', "modifier spare is used by no"),
]


def run(folder):
    out = os.path.join(folder, "out")
    return subprocess.run([sys.executable, GENERATOR, "--spec", folder, "--c", out], capture_output=True, text=True, check=False)


def main():
    print(f"1..{len(WRONG) + 1}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text, wrong, said) in enumerate([("fields", "", "", "")] + WRONG, 1):
            for file in ("fields", "instructions"):
                shutil.copy(os.path.join(SPEC, file + ".def"), folder)
            path = os.path.join(folder, name + ".def")
            with open(path, encoding="utf-8") as file:
                have = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(have.replace(text, wrong, 1) if text else have)
            done = run(folder)
            right = text in have and said in done.stderr and (done.returncode != 0) == bool(said)
            failed += not right
            print(f"{'ok' if right else 'not ok'} {number} - {said or 'the tables as they are'}")
            if not right:
                print(f"# said: {done.stderr}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
