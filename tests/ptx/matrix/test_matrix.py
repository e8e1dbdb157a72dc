#!/usr/bin/env python3
"""Matrix instructions against a model of their own, bit for bit, on every device (TAP).

    test_matrix.py --interp RUN_INTERP --driver RUN_DRIVER [--devices "opt cpu"] [--turns "cpu/avx2 cpu/generic"]
                   [--vectors N] [--seed N] [--forms TEXT] [--every] [--mma ARCH] [--ptxas]

--turns: further devices, of which each form runs on one. --forms: only those whose text has TEXT. --every: all pairs
of types and all selectors. --ptxas: asks the vendor's assembler instead whether it takes what is tested and refuses
what is refused here.
"""
import argparse
import copy
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "differential")]
import engine  # noqa: E402
import blocks  # noqa: E402
import chains  # noqa: E402
import cores  # noqa: E402
import fragments  # noqa: E402
import groups  # noqa: E402
import products  # noqa: E402
import refused  # noqa: E402
import tensors  # noqa: E402
import tiles  # noqa: E402

LANES = 32
HEAD = ".version 9.0\n.target {}\n.address_size 64\n"
ARCHES = ("sm_120a", "sm_100a", "sm_80", "sm_90a", "sm_103a", "sm_110a")
SHOWN = 8


def entry(name, form, most_in, most_out):
    """A kernel of one warp per vector; a register of a lane has eight bytes in memory."""
    regs = [f".reg .b{bits} {n};" for n, bits in form.regs] + [f".reg .b{bits} d{i};" for i, bits in enumerate(form.outs)]
    loads = [f"ld.global.b{bits} {n}, [%in+{256 * i}];" for i, (n, bits) in enumerate(form.regs)]
    stores = [f"st.global.b{bits} [%out+{256 * i}], d{i};" for i, bits in enumerate(form.outs)]
    if form.raw:
        regs = loads = stores = []
    operands = {n: n for n, _ in form.regs} | {f"d{i}": f"d{i}" for i in range(len(form.outs))}
    cluster = ".reqnctapercluster 2, 1, 1\n" if form.pair else ""
    return f""".visible .entry {name}(.param .u64 out, .param .u64 in)
{cluster}{{
  .reg .b64 %out, %in, %at; .reg .b32 %t, %c, %w; .reg .pred %p;
  {' '.join(regs)}
  ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
  mul.wide.u32 %at, %t, 8; add.u64 %in, %in, %at; add.u64 %out, %out, %at;
  mul.wide.u32 %at, %c, {256 * most_in}; add.u64 %in, %in, %at; mul.wide.u32 %at, %c, {256 * most_out}; add.u64 %out, %out, %at;
  {' '.join(loads)}
  {form.setup}
  {form.text.format(**operands)};
  {' '.join(stores)}
  ret;
}}
"""


class Batch:
    def __init__(self, forms, vectors, seed):
        self.forms, self.vectors = forms, vectors
        self.most_in = max(len(f.regs) for f in forms)
        self.most_out = max(len(f.outs) for f in forms)
        self.inputs = [[products.draw(f, seed, v) for v in range(vectors)] for f in forms]
        self.expected = [self.outputs(f, self.inputs[i]) for i, f in enumerate(forms)]

    def share(self, first, step):
        part = copy.copy(self)
        part.forms, part.inputs, part.expected = (each[first::step] for each in (self.forms, self.inputs, self.expected))
        return part

    @staticmethod
    def outputs(form, inputs):
        """Of each vector, or of each two, which a pair of blocks shares."""
        if not form.pair:
            return [form.oracle(regs) for regs in inputs]
        return [out for v in range(0, len(inputs), 2) for out in form.oracle(*inputs[v:v + 2])]

    def write(self, where):
        with open(f"{where}/ptx", "w", encoding="ascii") as file:
            file.write(HEAD.format(self.forms[0].arch) + tiles.SHARED + blocks.SHARED + "".join(entry(f"g{i}", f, self.most_in, self.most_out) for i, f in enumerate(self.forms)))
        out_B, in_B = (256 * n * self.vectors for n in (self.most_out, self.most_in))
        with open(f"{where}/job", "w", encoding="ascii") as file:
            file.write(f"{out_B} {in_B} {self.vectors}\n")
            file.writelines(f"g{i} {f.threads} 1 1\n" for i, f in enumerate(self.forms))
        with open(f"{where}/in", "wb") as file:
            for form, vectors in zip(self.forms, self.inputs):
                for regs in vectors:
                    file.write(b"".join(struct.pack("<32Q", *regs[n]) for n, _ in form.regs).ljust(256 * self.most_in, b"\0"))

    def check(self, number, out):
        form = self.forms[number]
        for v in range(self.vectors):
            for i in range(len(form.outs)):
                have = struct.unpack_from("<32Q", out, 256 * (v * self.most_out + i))
                for lane, want in enumerate(self.expected[number][v][i]):
                    if have[lane] != want:
                        return f"{form.name}: vector {v}, lane {lane}, result {i}: {have[lane]:#x}, the model says {want:#x}"
        return None

    def run(self, where, device):
        trouble = []
        for number, (out, why) in enumerate(device.run(where, len(self.forms))):
            what = self.check(number, out) if out is not None else f"{self.forms[number].name}: {why}"
            trouble += [what] if what else []
        return trouble


def devices_here(where, args, names):
    """Those of `names` that this host can be; a level of HEDDLE_CPU that it lacks is skipped."""
    levels = {n: n.partition(":")[0].partition("/")[2] for n in names.split()}
    _, lacking = engine.levels_here(args.driver, sorted(set(levels.values()) - {""}), where)
    for level, why in lacking:
        ok(True, f"{level} # SKIP {why}")
    lacking = {level for level, _ in lacking}
    return [engine.device(n, args.interp, args.driver) for n in levels if levels[n] not in lacking]


def check_devices(where, forms, args):
    batches = {}
    for arch, pair in sorted({(f.arch, f.pair) for f in forms}):
        vectors = args.vectors + args.vectors % 2 if pair else args.vectors
        batches[arch, pair] = Batch([f for f in forms if (f.arch, f.pair) == (arch, pair)], vectors, args.seed)
    turns = devices_here(where, args, args.turns)
    shares = [(device, 0, 1) for device in devices_here(where, args, args.devices)] + [(device, i, len(turns)) for i, device in enumerate(turns)]
    for device, first, step in shares:
        for (arch, pair), whole in batches.items():
            batch = whole.share(first, step)
            if not batch.forms:
                continue
            batch.write(where)
            bad = batch.run(where, device)
            ok(not bad, f"{device.name}: {len(batch.forms)} forms of {batch.vectors} vectors for {arch}{', pairs' if pair else ''}", bad)
        ok(not device.slower, f"{device.name}: every kernel runs in the form that was asked for", device.slower)


ARCH_OF = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}  # where they differ from the others'


def refusal_text(text):
    arch = ARCH_OF.get(text.partition(".")[0], "sm_120a")
    regs = "".join(f".reg .b{bits} %{p}<16>;" for bits, p in ((16, "h"), (32, "r"), (64, "l"))) + ".reg .pred %p<4>;"
    return f"{HEAD.format(arch)}{tiles.SHARED}.visible .entry g0(.param .u64 out, .param .u64 in) {{ {regs}\n{text};\nret; }}\n"


def check_refusals(where, args):
    device = engine.device("noopt", args.interp, args.driver)
    with open(f"{where}/job", "w", encoding="ascii") as file:
        file.write("8 8 1\ng0 32 1 1\n")
    with open(f"{where}/in", "wb") as file:
        file.write(bytes(8))
    for text, words in refused.CASES + refused.BY_MANUAL:
        with open(f"{where}/ptx", "w", encoding="ascii") as file:
            file.write(refusal_text(text))
        said = device.run(where, 1)[0][1]
        ok(said is not None and words in said, f"refused: {text}", [f"wanted: {words}", f"said: {said}"])


def assembles(where, text):
    path = f"{where}/one.ptx"
    for arch in ARCHES:
        with open(path, "w", encoding="ascii") as file:
            file.write(re.sub(r"(?m)^\.target .*", f".target {arch}", text))
        if not subprocess.run(["ptxas", "-arch", arch, "-O0", "-o", "/dev/null", path], capture_output=True, check=False).returncode:
            return True
    return False


def check_vendor(where, forms):
    for form in forms:
        if "scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0" in form.text:
            continue  # newer than PTX 9.0
        text = HEAD.format("sm_120a") + tiles.SHARED + blocks.SHARED + entry("g0", form, len(form.regs), len(form.outs))
        ok(assembles(where, text), f"ptxas takes {form.name}")
    for text, _ in refused.CASES:
        ok(not assembles(where, refusal_text(text)), f"ptxas refuses {text}")


count = failed = 0


def ok(passed, name, notes=()):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    if not passed:
        for line in list(notes)[:SHOWN]:
            print("#", str(line)[:400])
        if len(notes) > SHOWN:
            print(f"# and {len(notes) - SHOWN} more")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--interp")
    p.add_argument("--driver")
    p.add_argument("--devices", default="opt cpu")
    p.add_argument("--turns", default="")
    p.add_argument("--vectors", type=int, default=1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--forms", default="")
    p.add_argument("--every", action="store_true")
    p.add_argument("--part", default="1/1", help="of the forms: 2/3 is the second third")
    p.add_argument("--mma", choices=[*cores.KEPT], help="sums as this architecture's tensor cores make them")
    p.add_argument("--ptxas", action="store_true")
    args = p.parse_args()
    os.environ.pop("HEDDLE_MMA", None)
    if args.mma:
        cores.arch = os.environ["HEDDLE_MMA"] = args.mma
    forms = [f for f in products.forms(args.every) + chains.forms() + tiles.forms() + fragments.forms(args.every) + groups.forms(args.every) +
             tensors.forms(args.every) if args.forms in f.name]
    part, parts = map(int, args.part.split("/"))
    forms = forms[part - 1::parts]
    with tempfile.TemporaryDirectory(prefix="matrix-") as where:
        if args.ptxas:
            check_vendor(where, forms)
        else:
            check_devices(where, forms, args)
            check_refusals(where, args)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
