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
    listed = run("objdump", image)
    tap.ok(listed.returncode == 0 and re.search(r"registers +uniform .* code +kernel\n +8 +0 +0 +0 +0 +0 +24 +64  scale\n", listed.stdout),
           "objdump lists kernels with registers and sizes", listed.stdout)
    entry = json.loads(run("objdump", "--json", image).stdout)["files"][0]["entries"][0]
    tap.ok((entry["kind"], entry["arch"], entry["machine"], entry["ptx"]) == ("image", 120, "sm120", []), "as JSON, too", entry)
    tap.ok([(k["name"], k["code_B"]) for k in entry["kernels"]] == [("scale", 64), ("empty", 16)], "with its kernels", entry)
    return image


# Two modules, two kernels; a line of a source; an address, a literal, a function that is called.
MODULE = """.version 8.0
.target sm_80
.address_size 64
.global .u32 total[4];
.file 1 "scale it.cu"
.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<4>; .reg .pred %p;
    .param .b32 a; .param .b32 b;
    ld.param.b32 %r1, [x];
    setp.lt.s32 %p, %r1, 1000; @!%p bra out;
    shl.b32 %r1, %r1, 1;
    st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r1, [b];
out: st.param.b32 [r], %r1; ret;
}
.visible .entry scale(.param .u64 p)
{
    .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f64 %d<4>;
    .param .b32 a; .param .b32 b;
    ld.param.u64 %rd1, [p];
    .loc 1 12 5
    ld.global.f64 %d1, [%rd1];
    .loc 1 13 9
    mul.f64 %d2, %d1, 0d3FF3333333333333;
    st.global.f64 [%rd1], %d2;
    ld.global.u32 %r1, [%rd1];
    st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r1, [b];
    mov.u64 %rd2, total;
    st.global.u32 [%rd2+8], %r1;
    ret;
}
"""
OTHER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry other() { bar.sync 4; ret; }
"""


def test_ptxas(folder):
    """What ptxas writes, dis prints, as takes back, objdump lists."""
    names = [os.path.join(folder, name) for name in ("scale.ptx", "other.ptx", "k.cubin", "again.hdimg")]
    write(names[0], MODULE)
    write(names[1], OTHER)
    done = run("ptxas", "-arch=sm_90", "-v", "-o", names[2], names[0], names[1])
    tap.ok(done.returncode == 0 and "No code" not in done.stderr, "ptxas makes an image of two files", done.stderr)
    used = dict(re.findall(r"properties for (\w+)\n.*\n.*Used (\d+) registers", done.stderr))
    text = run("dis", names[2]).stdout
    for want in (".arch 90\n", ".key ", ".kernel scale\n", ".literal 0x3ff3333333333333\n", ".literal total\n", ".function twice 0x", '.loc "scale it.cu" 13 9\n', "] DMUL R", ".kernel other\n", ".barriers 5\n"):
        tap.ok(want in text, f"its listing has {want.strip()}", text)
    done = run("as", "-o", names[3], "-", given=text)
    tap.ok(done.returncode == 0 and run("dis", names[3]).stdout == text, "which is assembled to the same code", done.stderr)
    kernels = json.loads(run("dis", "--json", names[2]).stdout)["kernels"]
    tap.eq([str(k["registers"]) for k in kernels], [used["scale"], used["other"]], "registers are those of -v")
    product = next(i for i in kernels[0]["instructions"] if i.get("mnemonic") == "DMUL")
    tap.eq((product["file"], product["line"], product["column"]), ("scale it.cu", 13, 9), "an instruction has its line")
    tap.ok(any(i.get("variable") == "total" for i in kernels[0]["literals"]), "a literal its variable", kernels[0]["literals"])
    tap.eq([f["name"] for f in kernels[0]["functions"]], ["scale", "twice"], "functions their names")
    entry = json.loads(run("objdump", "--json", names[2]).stdout)["files"][0]["entries"][0]
    tap.eq([(k["name"], k["registers"]) for k in entry["kernels"]], [(k["name"], k["registers"]) for k in kernels], "objdump agrees")
    tap.eq([(p["source"], p["arch"]) for p in entry["ptx"]], [(names[0], 80), (names[1], 80)], "and has the PTX")
    listed = run("objdump", names[2], os.path.join(folder, "missing"))
    tap.ok(listed.returncode == 1 and "image sm_90" in listed.stdout and "missing" in listed.stderr, "a file that is missing", listed.stderr)
    with open(names[2], "rb") as file:
        image = file.read()
    write_bytes(names[3], image[:-8])
    tap.ok(run("objdump", names[3]).returncode == 1 and run("dis", names[3]).returncode == 1, "an image that ends early is refused")


def write_bytes(path, data):
    with open(path, "wb") as file:
        file.write(data)


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
        test_ptxas(folder)
        test_errors(folder, image)
    tap.done()


if __name__ == "__main__":
    main()
