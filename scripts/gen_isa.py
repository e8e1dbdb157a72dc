#!/usr/bin/env python3
"""The tables of Heddle's ISA, from spec/isa: refuses what cannot be encoded or decoded in one way.

    scripts/gen_isa.py            writes the tables of docs/isa.md; --check only compares
    scripts/gen_isa.py --c FILE   writes the tables that src/isa includes
    --spec DIR                    reads the files from there
"""
import os
import re
import sys
from collections import namedtuple

from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TARGET = os.path.join(ROOT, "docs/isa.md")

Operand = namedtuple("Operand", "name kind low width negate absolute reuse doc")
Mod = namedtuple("Mod", "name low width values doc")
Count = namedtuple("Count", "name mods counts")
Use = namedtuple("Use", "operand flags fixed count mod opens closes")  # of an operand in an instruction
Insn = namedtuple("Insn", "name opcode uses mods immediate pipe feature doc")
Isa = namedtuple("Isa", "operands mods counts insns")

WORD = 128
# Forms: 0 registers; b an immediate, a constant, a uniform register; c likewise, with b where c is else.
WIDE_LOW = 32
WIDE_WIDTHS = {1: 32, 2: 27, 3: 6, 4: 32, 5: 27, 6: 6}
ALWAYS = ["opcode", "form", "guard", "stall", "yield", "write_sb", "read_sb", "wait", "reuse"]
KINDS = ["REG", "UREG", "PRED", "UPRED", "BARRIER", "UINT", "SINT", "TARGET", "SREG"]
IMMEDIATES = ["NONE", "INT", "F32", "F16X2", "F64"]
FLAGS = {"-": "ISA_MAY_NEGATE", "|": "ISA_MAY_CLEAR", "!": "ISA_MAY_NEGATE", "?": "ISA_MAY_NEGATE | ISA_USUALLY_NOT", "*": "ISA_ANY_FORM"}
MOST_OPERANDS, MOST_MODS = 10, 12


class Wrong(Exception):
    pass


def rows(text, macro):
    """The arguments of each row, and its line."""
    for row in re.finditer(rf"^{macro}\((.*)\)$", text, re.M):
        args = re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,"]+),?', row.group(1))
        yield [a[1:-1].replace('\\"', '"') if a.startswith('"') else a.strip() for a in args]


def bit(text):
    return None if text == "NONE" else int(text)


def use_of(text, isa):
    match = re.fullmatch(r"(\[?)(\w+)([-|!?*]*)(?:\.(\d+)|\.\[(\w+)\])?([-|!?*]*)(?::(\w+))?(\]?)", text)
    if not match:
        raise Wrong(f"operand {text} is not understood")
    opens, name, before, fixed, count, after, mod, closes = match.groups()
    if name not in isa.operands or (count and count not in isa.counts) or (mod and mod not in isa.mods):
        raise Wrong(f"operand {text}: there is no such operand, count or modifier")
    return Use(isa.operands[name], before + after, int(fixed or 1), isa.counts.get(count), isa.mods.get(mod), bool(opens), bool(closes))


def read(folder):
    texts = {}
    for name in ("fields", "instructions"):
        with open(os.path.join(folder, name + ".def"), encoding="utf-8") as file:
            texts[name] = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    isa = Isa({}, {}, {}, {})
    for name, kind, low, width, negate, absolute, reuse, doc in rows(texts["fields"], "OPERAND"):
        isa.operands[name] = Operand(name, kind, int(low), int(width), bit(negate), bit(absolute), bit(reuse), doc)
    for name, low, width, values, doc in rows(texts["fields"], "MOD"):
        isa.mods[name] = Mod(name, int(low), int(width), values.split("|"), doc)
    for name, mods, counts in rows(texts["fields"], "COUNT"):
        isa.counts[name] = Count(name, [isa.mods[m] for m in mods.split()], [0 if c == "-" else int(c) for c in counts.split()])
    for row in rows(texts["instructions"], "I"):
        try:
            name, opcode, uses, mods, immediate, pipe, feature, doc = row
            uses = [use_of(u, isa) for u in uses.split()]
            isa.insns[name] = Insn(name, int(opcode, 16), uses, [isa.mods[m] for m in mods.split()], immediate, pipe, feature, doc)
        except (ValueError, KeyError, Wrong) as error:
            raise Wrong(f"{row[0]}: {error}") from error
    listed = sum(len(re.findall(rf"^{m}\(", t, re.M)) for t in texts.values() for m in ("OPERAND", "MOD", "COUNT", "I"))
    if listed != sum(map(len, isa)):
        raise Wrong("a row is not understood, or a name is there twice")
    return isa


def all_mods(insn):
    """Modifiers in the order in which they are decoded: the mnemonic's, then those of operands."""
    return insn.mods + [use.mod for use in insn.uses if use.mod]


def forms(insn):
    """Numbers of the forms that an instruction has."""
    wide = [use for use in insn.uses if "*" in use.flags]
    found = {0}
    for use in wide:
        scalar = use.operand.kind == "UREG"
        found |= {1} if scalar else {4, 5, 6} if use.operand.name == "c" else {1, 2, 3}
    return sorted(found)


def fields(insn, form, isa):
    """[(text, low, width)] of everything that a word of it has."""
    found = [(name, isa.operands[name].low, isa.operands[name].width) for name in ALWAYS]
    found.append(("guard's negation", isa.operands["guard"].negate, 1))
    for use in insn.uses:
        o = use.operand
        low, width = o.low, o.width
        if form and "*" in use.flags and (o.name == "c") == (form >= 4):
            low, width = WIDE_LOW, WIDE_WIDTHS[form]
        elif form >= 4 and o.name == "b":
            low = isa.operands["c"].low
        found.append((o.name, low, width))
        if set(use.flags) & set("-!?"):
            found.append((o.name + "'s sign", o.negate, 1))
        if "|" in use.flags:
            found.append((o.name + "'s magnitude", o.absolute, 1))
    return found + [(m.name, m.low, m.width) for m in all_mods(insn)]


def mask(parts):
    bits = 0
    for _, low, width in parts:
        bits |= ((1 << width) - 1) << low
    return bits


def overlap(parts):
    seen = {}
    for text, low, width in parts:
        for at in range(low, low + width):
            if at in seen:
                return f"{text} and {seen[at]} both have bit {at}"
            if at >= WORD:
                return f"{text} is behind the end of the word"
            seen[at] = text
    return None


def wrong_rows(isa):
    for o in isa.operands.values():
        if o.kind not in KINDS:
            yield f"{o.name}: {o.kind} is no kind of operand"
    for m in isa.mods.values():
        if len(m.values) > 1 << m.width:
            yield f"{m.name}: {len(m.values)} values in {m.width} bits"
        if m.width > 1 and len(m.values) <= 1 << (m.width - 1):
            yield f"{m.name}: {m.width} bits for {len(m.values)} values"
        if len(set(m.values)) != len(m.values):
            yield f"{m.name}: a value is there twice"
    for c in isa.counts.values():
        size = 1
        for m in c.mods:
            size *= len(m.values)
        if size != len(c.counts):
            yield f"count {c.name}: {len(c.counts)} counts, not {size}"


def unclear_words(mods):
    """Words that may be those of a modifier that is left out, or of one behind it."""
    for at, mod in enumerate(mods):
        for later in mods[at + 1:]:
            if mod.values[0] == "" and set(mod.values[1:]) & set(later.values):
                yield f"{mod.name} and {later.name} have a word in common, and the first may be missing"
            if later.values[0]:
                break


def wrong_insn(insn, isa):
    have = {m.name for m in all_mods(insn)}
    for use in insn.uses:
        if use.count and not {m.name for m in use.count.mods} <= have:
            yield f"the count {use.count.name} depends on a modifier that it does not have"
        if set(use.flags) & set("-!?") and use.operand.negate is None:
            yield f"the sign of {use.operand.name} has no bit"
        if "|" in use.flags and use.operand.absolute is None:
            yield f"the magnitude of {use.operand.name} has no bit"
        if "*" in use.flags and use.operand.name not in ("b", "c", "ub"):
            yield f"{use.operand.name} has no other form"
    if any("*" in use.flags for use in insn.uses) == (insn.immediate == "NONE") or insn.immediate not in IMMEDIATES:
        yield f"immediate {insn.immediate}"
    if len(insn.uses) > MOST_OPERANDS or len(all_mods(insn)) > MOST_MODS:
        yield "too many operands or modifiers"
    yield from unclear_words(insn.mods)
    if sum(use.opens for use in insn.uses) != sum(use.closes for use in insn.uses):
        yield "an address is not closed"
    for form in forms(insn):
        problem = overlap(fields(insn, form, isa))
        if problem:
            yield f"form {form}: {problem}"


def wrong(isa):
    """What the tables say that cannot be."""
    yield from wrong_rows(isa)
    taken = {}
    for insn in isa.insns.values():
        if insn.opcode in taken or insn.opcode >= 1 << isa.operands["opcode"].width:
            yield f"{insn.name}: opcode {insn.opcode:#x} is {taken.get(insn.opcode, 'too large')}"
        taken[insn.opcode] = insn.name
        for problem in wrong_insn(insn, isa):
            yield f"{insn.name}: {problem}"
    used = set(ALWAYS) | {u.operand.name for i in isa.insns.values() for u in i.uses}
    for name in isa.operands.keys() - used:
        yield f"operand {name} is used by no instruction"
    for name in isa.mods.keys() - {m.name for i in isa.insns.values() for m in all_mods(i)}:
        yield f"modifier {name} is used by no instruction"
    for name in isa.counts.keys() - {u.count.name for i in isa.insns.values() for u in i.uses if u.count}:
        yield f"count {name} is used by no instruction"


# ---- C

def identifier(text):
    return re.sub(r"\W", "_", text).upper()


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_use(use, isa):
    flags = [FLAGS[f] for f in use.flags]
    flags += ["ISA_OPENS"] * use.opens + ["ISA_CLOSES"] * use.closes
    count = list(isa.counts).index(use.count.name) + 1 if use.count else 0
    return f"{{ISA_FIELD_{identifier(use.operand.name)}, {use.fixed}, {count}, {int(use.mod is not None)}, {' | '.join(flags) or 0}}}"


def c_insn(insn, isa):
    used = {form: mask(fields(insn, form, isa)) for form in forms(insn)}
    masks = ", ".join(f"[{form}] = {{{m & (1 << 64) - 1:#x}, {m >> 64:#x}}}" for form, m in used.items())
    return "\n".join([
        f"    [ISA_{identifier(insn.name)}] = {{", f"        .name = {c_string(insn.name)}, .opcode = {insn.opcode:#x},",
        f"        .pipe = ISA_PIPE_{insn.pipe}, .feature = ISA_FEATURE_{insn.feature}, .immediate = ISA_IMMEDIATE_{insn.immediate},",
        f"        .doc = {c_string(insn.doc)},",
        f"        .noperands = {len(insn.uses)}, .nmods = {len(insn.mods)}, .nall_mods = {len(all_mods(insn))},",
        f"        .operands = {{{', '.join(c_use(u, isa) for u in insn.uses) or '{0}'}}},",
        f"        .mods = {{{', '.join('ISA_MOD_' + identifier(m.name) for m in all_mods(insn)) or 0}}},",
        f"        .used = {{{masks}}},", "    },"])


def c_tables(isa):
    out = ["/* Made by scripts/gen_isa.py of spec/isa. */", "#ifndef ISA_ROWS"]

    def enum(name, prefix, names, last):
        out.append(f"enum {name} {{")
        out.extend(f"    {prefix}{identifier(n)}," for n in names)
        out.append(f"    {last}\n}};")

    enum("isa_field", "ISA_FIELD_", isa.operands, "ISA_FIELDS")
    enum("isa_mod", "ISA_MOD_", isa.mods, "ISA_MODS")
    enum("isa_op", "ISA_", isa.insns, "ISA_OPS")
    enum("isa_pipe", "ISA_PIPE_", dict.fromkeys(i.pipe for i in isa.insns.values()), "ISA_PIPES")
    enum("isa_feature", "ISA_FEATURE_", dict.fromkeys(i.feature for i in isa.insns.values()), "ISA_FEATURES")
    for m in isa.mods.values():
        out.append(f"enum isa_{m.name.lower()} {{")
        out.extend(f"    ISA_{identifier(m.name)}_{identifier(v) or 'DEFAULT'} = {n}," for n, v in enumerate(m.values) if v != "-")
        out.append("};")
    out.append("#else")
    out.append("static const uint16_t op_of_opcode[512] = { /* + 1 */")
    out.extend(f"    [{i.opcode:#x}] = ISA_{identifier(i.name)} + 1," for i in isa.insns.values())
    out.append("};")
    out.append("const struct isa_field_row isa_fields[ISA_FIELDS] = {")
    for o in isa.operands.values():
        places = ", ".join("ISA_NO_BIT" if p is None else str(p) for p in (o.negate, o.absolute, o.reuse))
        out.append(f"    [ISA_FIELD_{identifier(o.name)}] = {{{c_string(o.name)}, ISA_KIND_{o.kind}, {o.low}, {o.width}, {places}}},")
    out.append("};\nstatic const struct isa_mod_row mod_rows[ISA_MODS] = {")
    for m in isa.mods.values():
        values = ", ".join("NULL" if v == "-" else c_string(v) for v in m.values)
        out.append(f"    [ISA_MOD_{identifier(m.name)}] = {{{c_string(m.name)}, {m.low}, {m.width}, {len(m.values)}, (const char *const[]){{{values}}}}},")
    out.append("};\nstatic const struct isa_count_row count_rows[] = {\n    {0},")
    for c in isa.counts.values():
        mods = ", ".join("ISA_MOD_" + identifier(m.name) for m in c.mods)
        counts = ", ".join(map(str, c.counts))
        out.append(f"    {{{len(c.mods)}, {{{mods}}}, (const uint8_t[]){{{counts}}}}},")
    out.append("};\nconst struct isa_row isa_rows[ISA_OPS] = {")
    out.extend(c_insn(i, isa) for i in isa.insns.values())
    out.append("};\n#endif")
    return "\n".join(out) + "\n"


# ---- the manual

def escape(text):
    return text.replace("|", "\\|")


def operand_text(use):
    text = use.operand.name + "".join(f for f in use.flags if f in "-|*!").replace("?", "!")
    count = f"×{use.fixed}" if use.fixed > 1 else f"×{use.count.name}" if use.count else ""
    return ("[" if use.opens else "") + text + count + ("]" if use.closes else "")


def diagram(insn, isa):
    """The fields of its form for registers, from the highest bit down."""
    parts = sorted((p for p in fields(insn, 0, isa) if p[0] not in ALWAYS + ["guard's negation"]), key=lambda p: -p[1])
    return " ".join(f"{name}[{low + width - 1}:{low}]" if width > 1 else f"{name}[{low}]" for name, low, width in parts)


def insn_table(isa):
    lines = ["| opcode | instruction | operands | modifiers | pipe | needs | what it does |", "|---|---|---|---|---|---|---|"]
    for i in isa.insns.values():
        operands = escape(" ".join(operand_text(u) for u in i.uses))
        mods = ", ".join(m.name for m in i.mods)
        lines.append(f"| {i.opcode:#05x} | `{i.name}` | {operands} | {mods} | {i.pipe} | {'' if i.feature == 'BASE' else i.feature} | {escape(i.doc)} |")
    return lines


def field_table(isa):
    lines = ["| operand | bits | kind | sign, magnitude | meaning |", "|---|---|---|---|---|"]
    for o in isa.operands.values():
        extra = ", ".join(str(b) for b in (o.negate, o.absolute) if b is not None)
        lines.append(f"| {o.name} | {o.low + o.width - 1}:{o.low} | {o.kind} | {extra} | {escape(o.doc)} |")
    return lines


def mod_table(isa):
    lines = ["| modifier | bits | values from 0 on | meaning |", "|---|---|---|---|"]
    for m in isa.mods.values():
        values = ", ".join("(none)" if v == "" else "reserved" if v == "-" else v for v in m.values)
        if len(m.values) > 16:
            values = f"{m.values[0]}, {m.values[1]} ... {m.values[-1]}"
        lines.append(f"| {m.name} | {m.low + m.width - 1}:{m.low} | {values} | {escape(m.doc)} |")
    return lines


def encoding_table(isa):
    lines = ["| instruction | fields beside those of every word |", "|---|---|"]
    return lines + [f"| `{i.name}` | {diagram(i, isa)} |" for i in isa.insns.values()]


def document(isa):
    with open(TARGET, encoding="utf-8") as file:
        have = file.read()
    want = have
    for name, make in (("instructions", insn_table), ("fields", field_table), ("modifiers", mod_table), ("encodings", encoding_table)):
        table = f"<!-- table {name} -->\n" + "\n".join(make(isa)) + "\n<!-- end -->"
        want = re.sub(rf"<!-- table {name} -->\n.*?<!-- end -->", lambda _, t=table: t, want, flags=re.S)
    return settle(TARGET, have, want, "gen_isa.py")


def main():
    args = sys.argv[1:]
    folder = args[args.index("--spec") + 1] if "--spec" in args else os.path.join(ROOT, "spec/isa")
    try:
        isa = read(folder)
        problems = list(wrong(isa))
    except Wrong as error:
        problems = [str(error)]
    if problems:
        print("\n".join(f"spec/isa: {problem}" for problem in problems), file=sys.stderr)
        return 1
    if "--c" in args:
        with open(args[args.index("--c") + 1], "w", encoding="utf-8") as file:
            file.write(c_tables(isa))
        return 0
    return document(isa)


if __name__ == "__main__":
    sys.exit(main())
