#!/usr/bin/env python3
"""Writes docs/binding.md: what each form of PTX becomes, made by the compiler itself. --check only compares."""
import itertools
import json
import os
import re
import subprocess
import sys
from collections import Counter, namedtuple

import gen_coverage
import gen_isa
import gen_packets
from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "tests/ptx", folder) for folder in ("accepts", "conformance", "matrix")]
sys.dont_write_bytecode = True
import explore  # noqa: E402
import forms  # noqa: E402

TARGET = os.path.join(ROOT, "docs/binding.md")
ISA = gen_isa.read(os.path.join(ROOT, "spec/isa"))
TOOL = "tests/codegen/binding"
MOST = 48  # forms of a row that are all compiled; of longer rows see independent()
TYPE_OF = {"p": "pred", "b": "b8", "h": "b16", "rs": "b16", "r": "b32", "f": "f32", "l": "b64", "rd": "b64", "fd": "f64", "q": "b128"}
LINE = 2  # of the instruction in module()
VERSION = ".version 9.0 .target {target} .address_size 64 "
HEAD = """.const .align 16 .b8 cst[128]; .extern .shared .align 128 .b8 smem[]; \
.global .texref tref; .global .surfref uref; .func helper() {{ ret; }} \
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 P[64]) {{ .local .align 16 .b8 loc[128]; .reg .b64 %in, %out, %lo, %hi; .reg .b32 %t, %word; """
TAKER = """.func taker(.param .align 32 .b8 x[64]) {{ .reg .b64 a<9>; """ + "".join(
    f"ld.param.b64 a{i}, [x+{8 * i}]; st.volatile.global.b64 [a0], a{i}; " for i in range(8)) + "ret; }} "
START = "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %lo, %t, 4096; add.u64 %in, %in, %lo; add.u64 %out, %out, %lo; "


def load(name, kind, at):
    if kind == "pred":
        return f"ld.volatile.global.b32 %word, [%in+{at}]; setp.ne.b32 {name}, %word, 0; "
    if kind == "b128":
        return f"ld.volatile.global.v2.b64 {{%lo, %hi}}, [%in+{at}]; mov.b128 {name}, {{%lo, %hi}}; "
    return f"ld.volatile.global.{kind} {name}, [%in+{at}]; "


def store(name, kind, at):
    if kind == "pred":
        return f"selp.b32 %word, 1, 0, {name}; st.volatile.global.b32 [%out+{at}], %word; "
    if kind == "b128":
        return f"mov.b128 {{%lo, %hi}}, {name}; st.volatile.global.v2.b64 [%out+{at}], {{%lo, %hi}}; "
    return f"st.volatile.global.{kind} [%out+{at}], {name}; "


def registers(text):
    """[(name, type)] of what an instruction names, in order."""
    names = dict.fromkeys(re.findall(r"%(?:p|b|h|rs|r|f|l|rd|fd|q)\d+\b", text))
    return [(n, TYPE_OF[re.match(r"%([a-z]+)", n)[1]]) for n in names]


def module(text, target="sm_120a"):
    """A kernel of three lines; what goes in comes from memory, what comes out goes there. Line 2 is the instruction."""
    regs = registers(text)
    operands = text.partition(" ")[2]
    first = re.match(r"\s*(\{[^}]*\}|[^,{]*)", operands)[0]
    carry = re.match(r"(addc|subc|madc)\b", text)
    before = "add.cc.u32 %word, %t, %t; " if carry else ""
    after = "addc.u32 %word, 0, 0; st.volatile.global.b32 [%out], %word; " if re.match(r"[a-z0-9]+(\.\w+)*\.cc\b", text) else ""
    decls = "".join(f".reg .{kind} {name}; " for name, kind in regs)
    loads = "".join(load(name, kind, 16 * i) for i, (name, kind) in enumerate(regs))
    outs = [] if "[" in first else registers(first)
    stores = "".join(store(name, kind, 16 * i) for i, (name, kind) in enumerate(outs))
    before += "targets: .branchtargets LAB, END; " if "targets" in text else ""
    label = f"LAB: st.volatile.global.b32 [%out], %t; END: " if "LAB" in text or "targets" in text else ""
    head = VERSION + HEAD
    if "[Q]" in text:  # an argument of a function that nobody knows
        head = VERSION + TAKER + HEAD
        before += "mov.b64 %lo, taker; st.volatile.global.b64 [%out], %lo; type: .callprototype _ (.param .align 32 .b8 x[64]); { .param .align 32 .b8 Q[64]; "
        after = "ld.volatile.global.b64 %lo, [%in]; call %lo, (Q), type; } "
    return head.format(target=target) + decls + START + loads + before + "\n" + text + "\n" + after + stores + label + "ret; }\n"


class Compiler:
    """What the tool says to line N of a module, remembered."""

    def __init__(self, tool):
        self.tool, self.said = tool, {}

    def ask(self, questions):
        """questions: (module, line)"""
        fresh = [q for q in dict.fromkeys(questions) if q not in self.said]
        if fresh:
            stream = b"".join(b"%d %d\n%s" % (line, len(text), text) for text, line in ((m.encode(), n) for m, n in fresh))
            out = subprocess.run([self.tool], input=stream, capture_output=True, check=True).stdout.decode().splitlines()
            assert len(out) == len(fresh)
            self.said.update(zip(fresh, map(json.loads, out)))
        return [self.said[q] for q in questions]


class Row:
    """A row of spec/ptx_forms.def: terms, of which each is a list of words; "" is that it is missing."""

    def __init__(self, line):
        ident, operands, *terms = line.split()
        self.op = next(op for op in forms.OPS.values() if op.ident == ident)
        self.text, self.operands = " ".join(terms), int(operands)
        self.terms = [([""] if t.endswith("?") else []) + t.rstrip("?").split("|") for t in terms]
        self.fixed = {}  # number of a term that changes nothing: the word that stands for all

    def count(self):
        total = 1
        for number, term in enumerate(self.terms):
            total *= 1 if number in self.fixed else len(term)
        return total

    def variants(self):
        """Words of each term."""
        return list(itertools.product(*([self.fixed[n]] if n in self.fixed else term for n, term in enumerate(self.terms))))

    def instructions(self, words):
        """With each list of operands that fits."""
        types = [w for w in words if w in forms.TYPES]
        mods = [w for w in words if w and w not in forms.TYPES]
        number = self.operands and self.operands + ("L2::cache_hint" in mods)
        lists = [split(o) for o in operands_of(self.op, mods, types)]
        if "L2::cache_hint" in self.op.mods and "L2::cache_hint" not in mods and len(lists) > 1:
            lists.pop()  # the one with a policy
        fit = [o for o in lists if not number or len(o) == number]
        return [" ".join([".".join([self.op.name, *filter(None, words)]), ", ".join(o)]).strip() + ";" for o in fit]


def split(operands):
    return re.findall(r"(?:\{[^}]*\}|\[[^]]*\]|[^,{\[])+", operands.replace(", ", ",")) if operands else []


def operands_of(op, mods, types):
    """As forms.operands() has them, and what that leaves out."""
    if op.name == "lop3" and set(mods) & {"or", "and"}:
        return ["%r1|%p1, %r2, %r3, %r4, 0x80, %p2"]
    if op.name == "cvt" and types[0].endswith("x4"):
        return [f"{forms.register(forms.TYPES[types[0]], 1)}, {{%f1, %f2, %f3, %f4}}, %r2"]
    if op.name.startswith("multimem.cp."):
        return ["[%l1], [%l2], %r1" + (", %h1" if "cp_mask" in mods else "")]
    if op.name == "st" and any(m.startswith("param") for m in mods):
        mods = [m for m in mods if not m.startswith("param")]
        return [o.replace("[%l1]", "[Q]") for o in forms.operands(op, mods, types)]
    return forms.operands(op, mods, types)


def binding(answers):
    """What a form becomes, of the answers to its instructions with several lists of operands: the first that is taken."""
    return next((a for a in answers if "refused" not in a), answers[-1] if answers else {"refused": "nobody knows such operands"})


def key(answer):
    return json.dumps(answer, sort_keys=True)


def ask_rows(compiler, rows):
    """[[(words, answer)]] of rows, asked at once."""
    wanted = [[(words, row.instructions(words)) for words in row.variants()] for row in rows]
    compiler.ask([(module(text), LINE) for row in wanted for _, texts in row for text in texts])
    return [[(words, binding(compiler.ask([(module(t), LINE) for t in texts]))) for words, texts in row] for row in wanted]


def reduce_rows(compiler, rows):
    """In rows of many forms, a term whose words make no difference, neither beside the first words of all terms nor beside the last, stands for
    its first word everywhere."""
    probes = []
    for row in rows:
        for n, term in enumerate(row.terms):
            for corner in (0, -1):
                rest = [t[corner] for t in row.terms]
                probes.append((row, n, [tuple(rest[:n] + [word] + rest[n + 1:]) for word in term]))
    compiler.ask([(module(text), LINE) for row, _, some in probes for words in some for text in row.instructions(words)])
    differs = set()
    for row, n, some in probes:
        said = [binding(compiler.ask([(module(t), LINE) for t in row.instructions(words)])) for words in some]
        if len({key(a) for a in said}) > 1 or "refused" in said[0]:
            differs.add((row, n))
    for row in rows:
        row.fixed = {n: term[0] for n, term in enumerate(row.terms) if (row, n) not in differs and len(term) > 1}


# ---- instructions without rows there: those that tests have

def own_registers(text, names):
    """The text with other names of registers: {name: bits}."""
    counts, to = {}, {}
    for name, bits in names.items():
        counts[bits] = counts.get(bits, 20) + 1
        to[name] = {1: "%p", 8: "%b", 16: "%h", 32: "%r", 64: "%l", 128: "%q"}[bits] + str(counts[bits])
    return text.format(**to)


def of_conformance():
    import test_conformance
    for each in test_conformance.MODULES:
        for row in each.rows():
            names = {f"s{i}": kind.bits for i, kind in enumerate(row.kinds)}
            results = {f"r{i}": bits for i, bits in enumerate(row.outs)}
            text = re.sub(r"\{(\d+)\}", r"{s\1}", row.text).replace("{d}", "{r0}").replace("{e}", "{r1}")
            text = own_registers(text, {**names, **results}).replace("%mem", "%l19").replace("%own", "%r19")
            if ";" not in text and "\n" not in text:
                yield module(text + ";"), LINE, text


def of_matrix():
    import test_matrix as suite
    kernels = suite.products.forms(True) + suite.tiles.forms() + suite.fragments.forms(True) + suite.groups.forms(True) + suite.tensors.forms(True)
    for form in kernels:
        head = suite.HEAD.format(form.arch) + suite.tiles.SHARED + suite.blocks.SHARED
        text = re.sub(r";[ ]*(?=\S)", ";\n", head + suite.entry("k", form, len(form.regs), len(form.outs)))
        for number, line in enumerate(text.splitlines(), 1):
            yield text, number, line


def of_lists():
    for path in explore.SEEDS:
        text = forms.source(path)
        target = re.search(r"\.target (\w+)", text)[1]
        for line in re.findall(r"^\t(?:@!?%\w+ )?([a-z][^;]*;)", text, re.M):
            yield module(line, target), LINE, line


def listed(compiler, limited):
    """{opcode: [(words, answer)]} of opcodes that are not in `limited`."""
    questions = {}
    for text, number, line in itertools.chain(of_lists(), of_conformance(), of_matrix()):
        dotted = re.match(r"\s*(?:@!?%?\w+\s+)?([a-z][\w.:]*)", line)
        op = dotted and forms.find_op(dotted[1])
        if op and op.name not in limited:
            questions.setdefault((op.name, tuple(dotted[1][len(op.name) + 1:].split("."))), (text, number))
    found = {}
    for (name, words), answer in zip(questions, compiler.ask(questions.values())):
        found.setdefault(name, []).append((words, answer))
    return found


# ---- tables of CUDA's side

Feature = namedtuple("Feature", "name calls attributes packets ptx")


def features():
    text = re.sub(r"/\*.*?\*/", "", forms.source("spec/features.def"), flags=re.S)
    rows = [re.findall(r'"([^"]*)"', row) for row in re.findall(r"CUDA_FEATURE\((.*?)\)\n", text, re.S)]
    return [Feature(name, *(part.split() for part in rest)) for name, *rest in rows]


def driver_calls():
    """{symbol: the CUDA version that introduced it}"""
    return {name: int(since) for name, since in re.findall(r"^X\((\w+), \w+, (\d+),", forms.source("spec/api/driver.def"), re.M)}


def launch_attributes():
    return {name: (verb, why) for name, verb, why in re.findall(r'^X\((\w+), \d+, (\w+), "([^"]*)"\)', forms.source("spec/api/launch_attributes.def"), re.M)}


def packets():
    """[names] of operations, of flags and of attributes of the extension."""
    text = forms.source("spec/packets.def")
    return [[row[0] for _, row in gen_packets.rows(text, name)] for name in ("HAL_OP_LIST", "HAL_FLAG_LIST", "HAL_EXTENSION_LIST")]


def wrong_features(rows):
    """What the table of features lacks, or names that nobody has."""
    calls, attributes, parts = driver_calls(), launch_attributes(), [n for some in packets() for n in some]
    for column, known, all_of in (("calls", calls, False), ("attributes", attributes, True), ("packets", parts, True), ("ptx", forms.OPS, False)):
        named = {word for row in rows for word in getattr(row, column)}
        yield from (f"spec/features.def: {word} is none of the {column}" for word in sorted(named - set(known)))
        yield from (f"spec/features.def: {word} of the {column} is in no row" for word in known if all_of and word not in named)


# ---- the page

def merge(lists):
    """Tuples of lists of words, joined where they differ in one place."""
    for n in reversed(range(len(lists[0]))):
        merged = {}
        for each in lists:
            merged.setdefault(each[:n] + each[n + 1:], []).extend(w for w in each[n] if w not in merged.get(each[:n] + each[n + 1:], ()))
        lists = [rest[:n] + (tuple(words),) + rest[n:] for rest, words in merged.items()]
    return lists


def fold_row(row, found):
    """[(lists of words, answer)]: what becomes the same, in as few products as there are."""
    groups = {}
    for words, answer in found:
        lists = tuple(tuple(row.terms[n]) if n in row.fixed else (word,) for n, word in enumerate(words))
        groups.setdefault(key(answer), (answer, []))[1].append(lists)
    return [(lists, answer) for answer, some in groups.values() for lists in merge(some)]


def fold_list(found):
    groups = {}
    for words, answer in found:
        groups.setdefault((key(answer), len(words)), (answer, []))[1].append(tuple((w,) for w in words))
    return [(lists, answer) for answer, some in groups.values() for lists in merge(some)]


def without_repeats(some):
    """Lists of words in their order, but for those whose forms others have, too."""
    texts = {lists: {".".join(filter(None, words)) for words in itertools.product(*lists)} for lists in dict.fromkeys(some)}
    seen, keep = set(), set()
    for lists in sorted(texts, key=lambda each: -len(texts[each])):
        if not texts[lists] <= seen:
            keep.add(lists)
        seen |= texts[lists]
    return [lists for lists in texts if lists in keep]


def word_sets():
    """{words: name} of the lists that spec/ptx_forms.def has names for."""
    sets = {}
    for name, text in re.findall(r'^#define (\w+) +((?:"[^"]*"|\w+| )+)$', forms.source("spec/ptx_forms.def"), re.M):
        whole = "".join(quoted or "|".join(next(w for w, n in sets.items() if n == word)) for quoted, word in re.findall(r'"([^"]*)"|(\w+)', text))
        if re.fullmatch(r"[\w:]+(\|[\w:]+){2,}", whole):
            sets[tuple(whole.split("|"))] = name
    return sets


SETS = word_sets()


def text_of(name, lists):
    for words in lists:
        real = named([w for w in words if w])
        if real:
            name += "." + (real[0] if len(real) == 1 else "{" + ",".join(real) + "}") + ("?" if "" in words else "")
    return name


def named(words):
    """With names for the lists in it."""
    for some in sorted(SETS, key=len, reverse=True):
        if set(some) <= set(words):
            at = next(i for i, word in enumerate(words) if word in some)
            words = [w for i, w in enumerate(words) if i == at or w not in some]
            words[at] = SETS[some]
    return list(words)


def counted(names):
    return ", ".join(name + (f" ×{n}" if n > 1 else "") for name, n in names.items())


def sequences(answer):
    """The texts for IR and ISA."""
    ir = Counter(name for name in answer["ir"] if name != "const")
    isa = Counter(name for name in answer["isa"] if name != "NOP")
    text = counted({f"`{name}`": isa[name] for name in ISA.insns if isa[name]})
    return counted(ir) or "-", text.replace("`CALL`", f"`CALL` of a routine ({answer['routines']} words)") or "-"


def machine_features(answer):
    return sorted({ISA.insns[name].feature for name in answer["isa"]} - {"BASE"})


def why_of(answer, name):
    """A message without the place and the text of the instruction."""
    why = re.sub(r"^module:[\d:]+ |^in k: instruction `[^`]*`: |^function k: ", "", answer["refused"])
    why = re.sub(r"^in k: instruction `[^`]*`: |^function k: ", "", why)
    return re.sub(rf"'{re.escape(name)}[^']*'", f"'{name}'", re.sub(r": (%|[a-z_.]+ \[).*", "", why))


class Bindings:
    """All that the compiler says."""

    def __init__(self, tool):
        compiler = Compiler(tool)
        lines = subprocess.run([tool, "--forms"], capture_output=True, text=True, check=True).stdout.splitlines()
        self.rows = [Row(line) for line in lines]
        reduce_rows(compiler, [row for row in self.rows if row.count() > MOST])
        self.found = {}  # opcode: [(lists of words, answer)]
        for row, found in zip(self.rows, ask_rows(compiler, self.rows)):
            self.found.setdefault(row.op.name, []).extend(fold_row(row, found))
        for name, found in listed(compiler, set(self.found)).items():
            self.found[name] = fold_list(found)
        self.compiled = len(compiler.said)

    def refused(self):
        """[(text of forms, why)]"""
        return list(dict.fromkeys((text_of(name, lists), why_of(answer, name)) for name in forms.OPS for lists, answer in self.found.get(name, ()) if "refused" in answer))

    def missing(self):
        """Opcodes of which no form is compiled."""
        return [name for name in forms.OPS if all("refused" in answer for _, answer in self.found.get(name, ()))]


HEAD_OF_PAGE = """# From PTX to code, and from CUDA to packets

Generated by `scripts/gen_binding.py`: it compiles a kernel for each form of PTX and lists what the compiler made of it. Forms are those of `spec/ptx_forms.def`; of
instructions without rows there, those that `tests/ptx/forms`, `tests/ptx/conformance` and `tests/ptx/matrix` have. A form that becomes nothing fails the
test `codegen_binding`, and those that are refused are listed [below](#refused). [codegen.md](codegen.md) is about the compiler, [ptx-coverage.md](ptx-coverage.md) about results and
tests, [isa.md](isa.md) about the instructions of the last column.

"""
READING = """## How to read it

`add.{u32,s32}` stands for two forms, `.ftz?` for one that may be missing. Names in capitals stand for the lists below. In instructions of very many forms (`ld`, `st`, `atom`, ...) a
word of a list stands for the others too where it makes no difference beside the first and beside the last words of all other lists.

IR is what the lowering makes, without constants. Passes come next, so that operations and code need not match one by one. The code is counted, not in order, and without
`NOP`; `-` is no code at all: a hint, a value that stays where it is, or one that goes into the instruction that reads it. Sources are in registers; numbers and parameters
often save an instruction. A line may have `MOV`s of its neighbourhood, pairs of registers for example. "Routines" are functions of the compiler for rare
cases (`src/codegen/routines.ptx`). A machine needs the features of the last column (`spec/isa`), where there is one.

PTX, CUDA and sm behind a name are the first that have the instruction.

"""
GROWTH = """## Later versions

PTX, packets and code each have a version, and each grows in its own way. One rule is the same: what is not known is refused, by name and before anything runs. Nothing is passed over.

- **PTX**: a text of a later major version than {newest} is refused as a whole (`CUDA_ERROR_UNSUPPORTED_PTX_VERSION`). One of a later minor version is read: an opcode, a modifier or a type that no table has is an error of its line. An instruction of a later
  12.x or 13.x release needs a row in `spec/ptx_ops.def` or `spec/ptx_forms.def`, a lowering, and code: without it `codegen_binding` fails.
- **Targets**: a target that `spec/ptx_targets.def` does not have is an error of the text. A new one is a row there; its new instructions are rows as above.
- **The API**: entry points of a later release are rows with their `since`; `cuGetProcAddress` gives a program the newest one that is not later than what it asked for. A launch attribute with a number that is in no row is an invalid value.
- **Packets**: reserved fields and flags are zero, and a device refuses others; so a later field means by zero what there was before. The version of a ring is compared as a whole. An attribute of the extension has a bit that says it is there: a device
  that does not know the bit refuses the packet ([launch-protocol.md](launch-protocol.md)).
- **Code**: a decoder refuses reserved opcodes, values of modifiers and bits that an instruction does not use. A new modifier takes spare bits, with zero as its old meaning. An image has the version of the set and the features it uses; a loader compares them
  with those of the machine before anything runs ([isa.md](isa.md#growth)). The version changes only where an old word would mean something else.
- **The call convention** ([abi.md](abi.md)) belongs to the version of the set: registers, banks and numbers of system functions. New system functions get new numbers.

"""


def anchor(name):
    return re.sub(r"[^a-z0-9_]", "", name)


def cuda_text(version):
    return f"{version // 1000}.{version % 1000 // 10}"


def instruction_part(bindings, name, ptx, sm, doc, cuda):
    out = f"\n### {name}\n{doc[0].upper()}{doc[1:]}. PTX {ptx // 10}.{ptx % 10}, CUDA {cuda_text(cuda[ptx])}, sm_{sm}.\n\n"
    rows = {}
    for lists, answer in bindings.found.get(name, ()):
        if "refused" not in answer:
            rows.setdefault((*sequences(answer), ", ".join(machine_features(answer))), []).append(lists)
    machine = any(key[2] for key in rows)
    out += "| PTX | IR | code |" + (" machine |" if machine else "") + "\n|---|---|---|" + ("---|" if machine else "") + "\n"
    for (ir, isa, needs), some in rows.items():
        forms_text = "<br>".join(f"`{text_of(name, lists)}`" for lists in without_repeats(some))
        out += f"| {forms_text} | {ir} | {isa} |" + (f" {needs} |" if machine else "") + "\n"
    return out


def features_part():
    calls, attributes = driver_calls(), launch_attributes()
    kinds = dict(zip(("operation", "flag", "extension"), packets()))
    out = "## Features of CUDA\n\nFrom `spec/features.def`. CUDA is the first release that has all of the calls named. An attribute of launches that is a hint is accepted and changes nothing; the packet has a place for it all the same.\n\n"
    out += "| feature | CUDA | calls | launch attributes | packets | PTX |\n|---|---|---|---|---|---|\n"
    for row in features():
        since = max((calls[c] for c in row.calls), default=0)
        parts = [", ".join(f"{n.lower()}" + ("" if kind == "operation" else f" ({kind})") for n in row.packets if n in names) for kind, names in kinds.items()]
        named = ", ".join(f"{a} ({attributes[a][0].lower()})" for a in row.attributes)
        links = ", ".join(f"[{n}](#{anchor(n)})" for n in row.ptx)
        out += f"| {row.name} | {cuda_text(since) if since else '-'} | {', '.join(f'`{c}`' for c in row.calls) or '-'} | {named or '-'} | {', '.join(p for p in parts if p) or '-'} | {links or '-'} |\n"
    return out + "\n"


def refused_part(bindings):
    out = "## Refused\n\nForms of the tables that have no binding, and what the compiler says. `tests/codegen/test_binding.py` has the same list.\n\n| PTX | why |\n|---|---|\n"
    return out + "".join(f"| `{text}` | {why} |\n" for text, why in bindings.refused()) + "\n"


def page(bindings):
    cuda = {int(ptx): int(version) for ptx, version in re.findall(r"PTX_VERSION\((\d+), (\d+)\)", forms.source("spec/ptx_versions.def"))}
    text = HEAD_OF_PAGE + f"{len(bindings.found)} instructions, {sum(map(len, bindings.found.values()))} groups of forms, {bindings.compiled} kernels.\n\n"
    text += READING
    body = ""
    for heading, part in gen_coverage.sections():
        body += f"\n## {heading[0].upper()}{heading[1:]}\n"
        for name, ptx, sm, doc, _ in part:
            body += instruction_part(bindings, name, int(ptx), sm, doc, cuda)
    text += "| name | words |\n|---|---|\n" + "".join(f"| {name} | {', '.join(words)} |\n" for words, name in SETS.items() if re.search(rf"[.{{,]{name}\b", body)) + "\n"
    newest = re.search(r"current version is '(\d+\.\d+)'", forms.source("src/ptx/ptx.h"))[1]
    return text + features_part() + GROWTH.format(newest=newest) + refused_part(bindings).rstrip("\n") + "\n" + body


def is_current(build):
    """Is the tool in this build folder one of these sources?"""
    said = subprocess.run(["ninja", "-C", build, "-n", TOOL], capture_output=True, text=True, check=False).stdout
    return "no work to do" in said


def main():
    build = os.path.join(ROOT, os.environ.get("BUILD", "build"))
    tool = sys.argv[sys.argv.index("--tool") + 1] if "--tool" in sys.argv else os.path.join(build, TOOL)
    if "--tool" not in sys.argv and not (os.path.exists(tool) and is_current(build)):
        print("docs/binding.md: there is no build of these sources to ask: run `make`")
        return "--check" not in sys.argv  # the test codegen_binding compares
    wrong = list(wrong_features(features()))
    if wrong:
        print("\n".join(wrong))
        return 1
    have = ""
    if os.path.exists(TARGET):
        have = forms.source("docs/binding.md")
    return settle(TARGET, have, page(Bindings(tool)), "gen_binding.py")


if __name__ == "__main__":
    sys.exit(main())
