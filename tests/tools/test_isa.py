#!/usr/bin/env python3
"""heddle as and heddle dis: what goes round comes back, options, messages, exit statuses. test_isa.py HEDDLE"""
import json
import os
import re
import subprocess
import sys
import tempfile

from support import Tap, write

heddle = sys.argv[1]
tap = Tap()
PROGRAM = """.kernel scale
.registers 8
.param 24
    [B------:R-:W0:-:S01] S2R R0, SR_TID_X ;
loop:
    [B0-----:R-:W-:-:S04] FFMA R1, R0, 2.5, -R1 ; // a comment
    [B------:R-:W-:Y:S05] @!P0 BRA loop ;
    EXIT
.kernel empty
    EXIT
"""


def run(*args, given=None):
    return subprocess.run([heddle, *args], input=given, capture_output=True, text=True, check=False)


def test_round(folder):
    source, image, again = (os.path.join(folder, name) for name in ("scale.s", "scale.hdimg", "again.hdimg"))
    write(source, PROGRAM)
    done = run("as", "-o", image, source)
    tap.ok(done.returncode == 0 and not done.stderr, "a program is assembled", done.stderr)
    listing = run("dis", image)
    tap.ok(listing.returncode == 0 and "FFMA R1, R0, 2.5, -R1 ;" in listing.stdout, "and printed", listing.stdout)
    done = run("as", "--output", again, "-", given=listing.stdout)
    with open(image, "rb") as first, open(again, "rb") as second:
        tap.ok(done.returncode == 0 and first.read() == second.read(), "its listing is assembled to the same image")
    words = run("dis", "--words", "--no-control", "-k", "empty", image).stdout
    tap.ok(re.fullmatch(r"\.kernel empty\n    EXIT ;  // 0000: [0-9a-f]{32}\n", words), "words and one kernel, without control", words)
    kernels = json.loads(run("dis", "--json", image).stdout)["kernels"]
    tap.ok([k["name"] for k in kernels] == ["scale", "empty"] and kernels[0]["registers"] == 8, "kernels and properties as JSON", kernels)
    insn = kernels[0]["instructions"][1]
    tap.ok((insn["mnemonic"], insn["stall"], insn["wait_mask"]) == ("FFMA", 4, 1), "an instruction and its control as JSON", insn)
    return image


def test_errors(folder, image):
    source = os.path.join(folder, "wrong.s")
    write(source, ".kernel a\n    FFMA R1\n    BRA there\n")
    done = run("as", "-o", os.path.join(folder, "none"), source)
    tap.ok(done.returncode == 1 and f"{source}:2:" in done.stderr and f"{source}:3:9: error: there is no label `there`" in done.stderr,
           "each mistake is told with its place", done.stderr)
    tap.ok(not os.path.exists(os.path.join(folder, "none")), "and no image is written")
    tap.ok(run("dis", source).returncode == 1, "a text is no image")
    done = run("dis", "-k", "other", image)
    tap.ok(done.returncode == 1 and "has no kernel other" in done.stderr, "a kernel that is not there", done.stderr)
    tap.ok(run("as").returncode == 2 and run("dis", "--wrong", image).returncode == 2, "wrong usage")
    done = run("as", os.path.join(folder, "missing"))
    tap.ok(done.returncode == 1 and "missing" in done.stderr, "a file that is not there", done.stderr)
    tap.ok("FFMA" in run("as", "--instructions").stdout, "a list of instructions")


def main():
    with tempfile.TemporaryDirectory() as folder:
        image = test_round(folder)
        test_errors(folder, image)
    tap.done()


if __name__ == "__main__":
    main()
