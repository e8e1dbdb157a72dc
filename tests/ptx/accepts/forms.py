"""The tables of PTX as Python, and instructions of one opcode: modifiers, types, operands that fit them."""
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
ROW = re.compile(r'PTX_OP\((\w+), "([^"]+)", (\d+), (\d+), "([^"]*)", (.*?), "([^"]*)", \d+, \d+,')
REGISTERS = {1: "%p", 8: "%b", 16: "%h", 32: "%r", 64: "%l", 128: "%q"}
HEAD = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .align 16 .b8 P[64]) {{
.reg .b8 %b<20>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %l<20>; {b128}.reg .pred %p<20>;
"""
# Operands where the roles of the table leave them open: all that an opcode may have.
OPERANDS = {
    "applypriority": ["[%l1], 128"],
    "discard": ["[%l1], 128"],
    "createpolicy.fractional": ["%l1", "%l1, 0.5"],
    "createpolicy.range": ["%l1, [%l2], %r1, %r2"],
    "createpolicy.cvt": ["%l1, %l2"],
    "isspacep": ["%p1, %l1"],
    "mapa": ["%l1, %l2, %r1", "%r1, %r2, %r3"],
    "vote": ["%p1, %p2", "%r1, %p2", "%p1, %p2, %r1", "%r1, %p2, %r3"],
    "cp.async": ["[%l1], [%l2], 4", "[%l1], [%l2], 8", "[%l1], [%l2], 16", "[%l1], [%l2], 16, %r1", "[%l1], [%l2], 16, %p1",
                 "[%l1], [%l2], 16, %l3", "[%l1], [%l2], 16, %r1, %l3", "[%l1], [%l2], 16, %p1, %l3"],
    "st.async": ["[%l1], %r1", "[%l1], %l1", "[%l1], %r1, [%l2]", "[%l1], %l1, [%l2]", "[%l1], {%r1, %r2}, [%l2]", "[%l1], {%l1, %l2}, [%l2]",
                 "[%l1], {%r1, %r2, %r3, %r4}, [%l2]"],
    "red.async": ["[%l1], %r1", "[%l1], %l1", "[%l1], %r1, [%l2]", "[%l1], %l1, [%l2]"],
    "st.bulk": ["[%l1], %l2, 0", "[%l1], 16, 0"],
    "cp.async.bulk": ["[%l1], [%l2], %r1", "[%l1], [%l2], %r1, %l3", "[%l1], [%l2], %r1, [%l3]", "[%l1], [%l2], %r1, [%l3], %l4", "[%l1], [%l2], %r1, [%l3], %h1",
                      "[%l1], [%l2], %r1, [%l3], %h1, %l4", "[%l1], [%l2], %r1, %h1", "[%l1], [%l2], %r1, %l3, %h1",
                      "[%l1], [%l2], %r1, %r2, %r3, [%l3]", "[%l1], [%l2], %r1, %r2, %r3, [%l3], %l4"],
    "cp.async.bulk.prefetch": ["[%l1], %r1", "[%l1], %r1, %l2"],
    "cp.reduce.async.bulk": ["[%l1], [%l2], %r1", "[%l1], [%l2], %r1, %l3", "[%l1], [%l2], %r1, [%l3]"],
    "mbarrier.init": ["[%l1], %r1"],
    "mbarrier.expect_tx": ["[%l1], %r1"],
    "mbarrier.complete_tx": ["[%l1], %r1"],
    "mbarrier.arrive": ["%l1, [%l2]", "%l1, [%l2], %r1", "_, [%l2]", "_, [%l2], %r1"],
    "mbarrier.arrive_drop": ["%l1, [%l2]", "%l1, [%l2], %r1", "_, [%l2]", "_, [%l2], %r1"],
    "mbarrier.test_wait": ["%p1, [%l1], %l2", "%p1, [%l1], %r1"],
    "mbarrier.try_wait": ["%p1, [%l1], %l2", "%p1, [%l1], %r1", "%p1, [%l1], %l2, %r2", "%p1, [%l1], %r1, %r2"],
    "mbarrier.pending_count": ["%r1, %l1"],
    "clusterlaunchcontrol.try_cancel": ["[%l1], [%l2]"],
    "clusterlaunchcontrol.query_cancel": ["%p1, %q1", "%r1, %q1", "{%r1, %r2, %r3, %r4}, %q1"],
    "elect.sync": ["%r1|%p1, %r2", "_|%p1, %r2"],
    "fence.proxy": ["", "[%l1], 128"],
    "prefetch": ["[%l1]"],
}
for name in ("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"):
    OPERANDS[name] = ["%r1, 0, %p1", "%r1, 0, 64, %p1", "%p1, 0, %p2", "%p1, 0, 64, !%p2"]


def source(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def read_mods():
    found = {}
    for text, kind in re.findall(r'PTX_MOD\(\w+, "([^"]+)", (\w+),', source("spec/ptx_mods.def")):
        found.setdefault(kind, []).append(text)
    return found


TYPES = {name: int(bits) for name, bits in re.findall(r'PTX_TYPE\(\w+, "(\w+)", (\d+),', source("spec/ptx_types.def"))}
SPACES = ["const", "global", "local", "param", "param::entry", "param::func", "shared", "shared::cta", "shared::cluster"]
MODS = read_mods()
CLASS_OF = {text: kind for kind, texts in MODS.items() for text in texts}
CLASS_OF.update({space: "SPACE" for space in SPACES})


class Op:
    """A row of spec/ptx_ops.def."""

    def __init__(self, ident, name, least, most, roles, classes, own):
        self.ident = ident
        self.name, self.least, self.most, self.roles = name, int(least), int(most), roles
        self.classes = re.findall(r"M\((\w+)\)", classes)
        self.own = own.split()
        self.mods = [m for c in self.classes for m in {"SPACE": SPACES}.get(c, MODS.get(c, []))] + self.own
        self.has_type = "TYPE" in self.classes


def read_ops():
    text = source("spec/ptx_ops.def").split("#define M(class_)")[1]
    return {row[1]: Op(*row) for row in ROW.findall(text)}


def read_limited(ops):
    """Those that spec/ptx_forms.def has rows for, by the first word of each row or of its macro."""
    words = set(re.findall(r"^[A-Z_]+\((\w+),", source("spec/ptx_forms.def"), re.M) + re.findall(r"^[A-Z_]+\((\w+)\)", source("spec/ptx_forms.def"), re.M))
    return [name for name, op in ops.items() if op.ident in words]


OPS = read_ops()
LIMITED = read_limited(OPS)


def register(bits, n):
    return REGISTERS[max(bits, 8) if bits > 1 else bits] + str(n)


def vector(mods):
    return next((int(m[1]) for m in mods if m in ("v2", "v4", "v8")), 0)


def role_type(role, types, last):
    if not types:
        return "b32"
    if role in "1E" or role == "h" and len(types) == 2 and not last:
        return types[min(1, len(types) - 1)]
    return types[0]


def operand(role, n, last, mods, types):
    """One operand that fits a role, or None."""
    if role in "ux":
        return f"%r{n}"
    if role in "pP":
        return f"%p{n}"
    fixed = {"l": f"%l{n}", "i": "1", "A": "[P]" if any(m.startswith("param") for m in mods) else f"[%l{n}]"}
    if role in fixed:
        return fixed[role]
    bits = TYPES[role_type(role, types, last)]
    if bits == 1 and role_type(role, types, last) != "pred":
        bits = 8
    bits = bits * 2 if role == "w" and "wide" in mods else bits
    if bits > 128:
        return None
    many = vector(mods)
    if many and role in "dDsSEm":
        return "{" + ", ".join(register(bits, n * 8 % 16 + i) for i in range(many)) + "}"
    return register(bits, n)


def operands(op, mods, types):
    """Texts of operands, one for each number of them."""
    if op.name in OPERANDS:
        return OPERANDS[op.name]
    if op.name == "st" and any(m.startswith("param") for m in mods):
        return []  # those are a function's
    roles = op.roles.replace("*", "l") if op.name in ("atom", "red") else op.roles
    if op.name == "atom":
        roles = "dAssl" if "cas" in mods else "dAsl"
    if "*" in roles or "+" in roles or any(c in roles for c in "LTFX"):
        return []
    out = []
    for count in range(op.least, op.most + 1):
        texts = [operand(role, n + 1, n + 1 == count, mods, types) for n, role in enumerate(roles[:count])]
        if count <= len(roles) and None not in texts:
            out.append(", ".join(texts))
    return out


def dotted(op, mods, types):
    return ".".join([op.name, *mods, *types])


def text(op, mods, types, ops):
    return dotted(op, mods, types) + (" " + ops if ops else "") + ";"


def split(op, written):
    """(modifiers, types) of an opcode as it is written."""
    parts = written[len(op.name) + 1:].split(".") if len(written) > len(op.name) else []
    return tuple(p for p in parts if p not in TYPES), tuple(p for p in parts if p in TYPES)


def find_op(written):
    parts = written.split(".")
    while parts and ".".join(parts) not in OPS:
        parts.pop()
    return OPS.get(".".join(parts))
