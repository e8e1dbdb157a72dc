#!/usr/bin/env python3
"""Numbers behind the decisions of our instruction set, from compiled programs: docs/isa-rationale.md.

    bench/isa_rationale.py [--build DIR] [--flavour F] [--only a,b] [--no-examples] [--jobs N] [--json FILE] [--write]

Programs are the 32 kernels of bench/cuda and those of examples/. Each is compiled for the simulated GPU and run at
its smallest size; HEDDLE_DEBUG=code gives its instructions, HEDDLE_DEBUG=counts what they cost. Then it is compiled
with less to work with (HEDDLE_CODEGEN): what that costs is a number of each section.

Shares are static: an instruction counts ten times for each loop around it, and each program as much as any other.
Nothing depends on the machine's speed. --write makes docs/isa-rationale.md.
"""
import collections
import concurrent.futures
import json
import os
import re
import statistics
import sys

import kernels
import rationale
import simulated
from kernels import NAMES, Setup
from tables.common import geomean, progress

sys.path.insert(0, os.path.join(kernels.ROOT, "scripts"))
import gen_isa  # noqa: E402

PAGE = os.path.join(kernels.ROOT, "docs/isa-rationale.md")
COUNTERS = 6
VARIANTS = {"counters": [5, 4, 3, 2, 1], "predicates": [6, 5, 4, 3, 2], "registers": [128, 96, 64, 48, 40, 32, 24]}
DEPTH_MOST = 8
ENDS = ("BRA", "EXIT", "RET", "BRX", "JMX")
COVERED = (4, 8, 12, 16, 20, 24, 32)  # widths of numbers


# ---- code


def weight_of(block):
    return 10 ** min(block["depth"], DEPTH_MOST)


class Shares:
    """Weights of a program's instructions by some key; of several programs, each counts the same."""

    def __init__(self):
        self.sum, self.programs = collections.Counter(), 0

    def add(self, weights):
        total = sum(weights.values())
        if total:
            self.programs += 1
            for key, weight in weights.items():
                self.sum[key] += weight / total

    def of(self, wanted):
        """Share of the keys for which wanted(key)."""
        return sum(w for key, w in self.sum.items() if wanted(key)) / self.programs if self.programs else 0.0

    def quantile(self, q):
        """The least key up to which a share q of the weight is."""
        left = q * self.programs - 1e-9
        for key in sorted(self.sum):
            left -= self.sum[key]
            if left <= 0:
                return key
        return max(self.sum, default=0)


def instructions(told):
    """(weight, instruction) of everything that a program has."""
    for function in told.code:
        for block in function["blocks"]:
            for insn in block["instructions"]:
                yield weight_of(block), insn


def shares(corpus, key_of):
    """Shares of key_of(instruction); None leaves it out."""
    found = Shares()
    for told in corpus.values():
        weights = collections.Counter()
        for weight, insn in instructions(told):
            key = key_of(insn)
            if key is not None:
                weights[key] += weight
        found.add(weights)
    return found


def signed_bits(n):
    """Width of the smallest two's complement number that is n."""
    return (n if n >= 0 else ~n).bit_length() + 1


# ---- dependence counters


def successors(function):
    """Numbers of the blocks behind each block."""
    starts, at = {}, 0
    for i, block in enumerate(function["blocks"]):
        starts[at] = i
        at += len(block["instructions"])
    behind, at = [], 0
    for i, block in enumerate(function["blocks"]):
        to, falls = set(), True
        for insn in block["instructions"]:
            at += 1
            if insn["op"] == "BRA" and at + insn["target"] in starts:
                to.add(starts[at + insn["target"]])
            falls = insn["text"].startswith("@") or insn["op"] not in ENDS
        behind.append(to | ({i + 1} if falls and i + 1 < len(function["blocks"]) else set()))
    return behind


def outstanding(function):
    """For each block, sets of counters that are up when each of its instructions is issued, after it has waited."""
    blocks, behind = function["blocks"], successors(function)
    at_start, work = [set() for _ in blocks], list(range(len(blocks)))
    found = [None] * len(blocks)
    while work:
        i = work.pop()
        up, here = set(at_start[i]), []
        for insn in blocks[i]["instructions"]:
            up = {k for k in up if not insn["wait"] >> k & 1}
            up |= {insn[w] for w in ("write", "read") if w in insn}
            here.append(len(up))
        found[i] = here
        for k in behind[i]:
            if not up <= at_start[k] or found[k] is None:
                at_start[k] |= up
                work.append(k)
    return found


def counters_in_use(corpus):
    """Shares of instructions by how many counters are up, and {most of a kernel: kernels}."""
    found, most = Shares(), collections.Counter()
    for told in corpus.values():
        weights = collections.Counter()
        for function in told.code:
            up = outstanding(function)
            for block, here in zip(function["blocks"], up):
                for n in here:
                    weights[n] += weight_of(block)
            if function["kernel"]:
                most[max(n for here in up for n in here)] += 1
        found.add(weights)
    return found, most


# ---- with less


def waits(told):
    return sum(weight for weight, insn in instructions(told) if insn["wait"])


def compared(having, lacking):
    """What code with less costs, as ratios to code with all: geometric means."""
    good = [n for n in having if not lacking[n].error]
    pairs = [(having[n].kernels[k], lacking[n].kernels[k]) for n in good for k in having[n].kernels if k in lacking[n].kernels]
    run = [lacking[n].instructions() / having[n].instructions() for n in good if having[n].instructions()]
    waited = [waits(lacking[n]) / waits(having[n]) for n in good if waits(having[n])]
    return {"instructions": geomean(run), "waits": geomean(waited),
            **{w: geomean([b[w] / a[w] for a, b in pairs]) for w in ("registers", "stalls", "cycles")},
            "worst": max((b["cycles"] / a["cycles"] for a, b in pairs), default=1.0),
            "spilled_B": sum(b["spilled_B"] for _, b in pairs), "spilling": sum(b["spilled_B"] > 0 for _, b in pairs),
            "changed": sum(a != b for a, b in pairs), "kernels": len(pairs), "refused": len(having) - len(good)}


def most_named(corpus, letter):
    """{registers of a kind that a function uses: functions}: the highest number in its text, plus one."""
    found = collections.Counter()
    for told in corpus.values():
        for function in told.code:
            numbers = [int(n) for block in function["blocks"] for insn in block["instructions"]
                       for n in re.findall(rf"(?<![A-Z\w]){letter}(\d+)", insn["text"])]
            found[max(numbers, default=-1) + 1] += function["kernel"]
    return +found


# ---- operations of the IR


def operation(ir):
    """The operation of an instruction's text, with its modifiers."""
    return re.match(r"(?:.*? = )?(\S+)", ir).group(1)


def expansions(corpus):
    """{operation: (occurrences in the corpus, programs, instructions for each, share of all instructions)}"""
    occurs, uses, programs = collections.Counter(), collections.Counter(), collections.Counter()
    share = Shares()
    for told in corpus.values():
        weights = collections.Counter()
        for function in told.code:
            seen = set()
            for block in function["blocks"]:
                for insn in block["instructions"]:
                    name = operation(insn["ir"]) if "ir" in insn else "(copies, waits)"
                    uses[name] += 1
                    weights[name] += weight_of(block)
                    if "ir" in insn:
                        seen.add((insn["block"], insn["ir"]))
            occurs.update(operation(ir) for _, ir in seen)
        programs.update(weights.keys())
        share.add(weights)
    return {name: {"occurs": occurs[name], "programs": programs[name], "each": uses[name] / occurs[name],
                   "share": share.sum[name] / share.programs} for name in occurs}


# ---- the encoding


def encoding():
    """What the tables of spec/isa leave free."""
    isa = gen_isa.read(os.path.join(kernels.ROOT, "spec/isa"))
    free, used = {}, 0
    for insn in isa.insns.values():
        for form in gen_isa.forms(insn):
            bits = gen_isa.mask(gen_isa.fields(insn, form, isa))
            used |= bits
            free[insn.name, form] = gen_isa.WORD - bin(bits).count("1")
    opcode = isa.operands["opcode"].width
    return {"opcodes": 1 << opcode, "used": len({insn.opcode for insn in isa.insns.values()}), "instructions": len(isa.insns),
            "words": len(free), "free": free, "nowhere": gen_isa.WORD - bin(used).count("1")}


# ---- everything


def measure(programs, jobs):
    """The corpus {program: Told}, and {(limit, number): {program: Told}}."""
    wanted = [("", 0, n) for n in programs] + [(limit, number, n) for limit, numbers in VARIANTS.items()
                                               for number in numbers for n in programs]
    results = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(simulated.told, programs[n], {"HEDDLE_CODEGEN": f"{limit}={number}"} if limit else {}, "counts,code"):
                (limit, number, n) for limit, number, n in wanted}
        for i, run in enumerate(concurrent.futures.as_completed(runs)):
            limit, number, n = runs[run]
            results[limit, number][n] = run.result()
            progress(f"{i + 1} of {len(wanted)}: {n} {limit and f'with {limit}={number}'}")
    progress("")
    corpus = results.pop(("", 0))
    failed = {n: t.error for n, t in corpus.items() if t.error}
    if failed:
        raise SystemExit("\n".join(f"{n}: {why}" for n, why in failed.items()))
    return corpus, results


def numbers_of(corpus, variants):
    """Everything that the page says, as one object."""
    up, most = counters_in_use(corpus)
    widths = {"integers": shares(corpus, lambda i: signed_bits(i["int"]) if "int" in i else None),
              "offsets": shares(corpus, lambda i: signed_bits(i["offset"]) if "offset" in i else None),
              "targets": shares(corpus, lambda i: signed_bits(i["target"]) if "target" in i else None),
              "constants": shares(corpus, lambda i: i["constant"].bit_length() if "constant" in i else None),
              "stalls": shares(corpus, lambda i: i["stall"])}
    floats = shares(corpus, lambda i: i["float"] & 0xffff == 0 if "float" in i else None)
    reads = shares(corpus, lambda i: "reuse" if i["reuse"] else "read" if i["sources"] else None)
    sources = [sum(w * i[key] for w, i in instructions(t)) for t in corpus.values() for key in ("reuse", "sources")]
    return {
        "programs": len(corpus), "kernels": sum(len(t.kernels) for t in corpus.values()),
        "instructions": sum(len(b["instructions"]) for t in corpus.values() for f in t.code for b in f["blocks"]),
        "counters": {n: up.of(lambda k, n=n: k == n) for n in range(COUNTERS + 1)}, "counters_most": dict(sorted(most.items())),
        "less": {f"{limit}={n}": compared(corpus, told) for (limit, n), told in variants.items()},
        "predicates_most": dict(sorted(most_named(corpus, "P").items())), "uniform_most": dict(sorted(most_named(corpus, "UR").items())),
        "barriers_most": dict(sorted(most_named(corpus, "B").items())),
        "uniform": shares(corpus, lambda i: bool(i.get("uniform"))).of(bool),
        "widths": {name: {q: found.quantile(q / 100) for q in (50, 95, 99, 100)} for name, found in widths.items()},
        "covered": {name: {w: found.of(lambda bits, w=w: bits <= w) for w in COVERED} for name, found in widths.items()},
        "operands": {kind: shares(corpus, lambda i, kind=kind: kind in i).of(bool) for kind in ("int", "float", "constant")},
        "short_floats": floats.of(bool), "long_stalls": widths["stalls"].of(lambda cycles: cycles > 7),
        "nops": shares(corpus, lambda i: i["op"] == "NOP").of(bool),
        "reused": statistics.mean(r / max(s, 1) for r, s in zip(sources[::2], sources[1::2])),
        "reusing": reads.of(lambda k: k == "reuse"),
        "encoding": encoding(), "operations": expansions(corpus),
    }


def main():
    p = simulated.arguments(__doc__, "docs/isa-rationale.md")
    p.add_argument("--no-examples", action="store_true", help="without the programs of examples/")
    args = p.parse_args()
    setup = Setup(args.build)
    if not args.no_build:
        simulated.build(setup, args.flavour)
    programs = simulated.corpus(setup, args.flavour, args.only.split(","), lambda n: kernels.tiny_args(n) + simulated.ONCE, not args.no_examples)
    numbers = numbers_of(*measure(programs, args.jobs))
    text = rationale.page(numbers)
    if args.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)
    if args.json:
        numbers["encoding"]["free"] = {f"{name} form {form}": bits for (name, form), bits in numbers["encoding"]["free"].items()}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(numbers, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
