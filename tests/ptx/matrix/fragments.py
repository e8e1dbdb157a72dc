"""Forms of wmma: matrices are loaded from memory, multiplied and stored, so that fragments may be whatever they like."""
import numbers_exact as num
from products import Form, Product, Shape

SLOT_B = 256  # of one input in memory, see entry() in test_matrix.py


def registers(shape, dtype, operand):
    """How many registers PTX gives a fragment."""
    if dtype == "f16" and operand in "ab":
        return 8
    rows = {"a": shape.m, "b": shape.k, "c": shape.m}[operand]
    cols = {"a": shape.k, "b": shape.n, "c": shape.n}[operand]
    return rows * cols * num.WIDTH[dtype] // (32 * (64 if dtype == "f64" else 32))


class Matrix:
    """A matrix in memory: lines of `stride` elements."""

    def __init__(self, rows, cols, dtype, layout, stride):
        self.rows, self.cols, self.dtype, self.layout = rows, cols, dtype, layout
        self.width = num.WIDTH[dtype]
        self.lines, self.length = (rows, cols) if layout == "row" else (cols, rows)
        self.stride = stride or self.length
        self.size_B = (self.lines * self.stride * self.width // 8 + SLOT_B - 1) // SLOT_B * SLOT_B

    def bit(self, row, col):
        line, at = (row, col) if self.layout == "row" else (col, row)
        return (line * self.stride + at) * self.width

    def read(self, memory):
        decode, mask = num.DECODE[self.dtype], (1 << self.width) - 1
        return {(r, c): decode(memory >> self.bit(r, c) & mask) for r in range(self.rows) for c in range(self.cols)}

    def fill(self, draw):
        return sum(draw() << self.bit(r, c) for r in range(self.rows) for c in range(self.cols))


def operand(shape, dtype, letter, names):
    n = registers(shape, dtype, letter)
    return "{{" + ", ".join(f"{names}{i}" for i in range(n)) + "}}" if n > 1 else "{{" + f"{names}0" + "}}"


class Wmma:
    def __init__(self, shape, types, layouts, pad=0, bits="", sat=False, rnd="", space=""):
        self.shape, self.types, self.layouts, self.pad, self.space = shape, types, layouts, pad, space
        d, a, b, c = types
        self.product = Product(shape, d, a, b, c, bits=bits, sat=sat, rnd=rnd)
        dims = ((shape.m, shape.k), (shape.k, shape.n), (shape.m, shape.n), (shape.m, shape.n))
        self.matrices = []
        for (rows, cols), dtype, layout in zip(dims, (a, b, c, d), layouts):
            step = 128 // num.WIDTH[dtype]  # strides are multiples of sixteen bytes
            natural = cols if layout == "row" else rows
            self.matrices.append(Matrix(rows, cols, dtype, layout, (natural + step - 1) // step * step + pad * step if pad else None))
        words = ["wmma.mma", f"{bits}.popc" if bits else "", "sync.aligned", *layouts[:2], shape.text, rnd]
        words += [d, c] if a == "f16" else [d, a, b, c]
        self.mma = ".".join(w for w in words if w) + (".satfinite" if sat else "")

    def transfer(self, name, letter, i, base, names):
        m = self.matrices[i]
        stride = f", {m.stride}" if self.pad else ""
        head = f"wmma.{name}.sync.aligned.{m.layout}.{self.shape.text}{self.space}.{m.dtype}"
        regs = operand(self.shape, m.dtype, letter, names)
        return f"{head} {regs}, [{base}]{stride}" if name != "store.d" else f"{head} [{base}], {regs}{stride}"

    def form(self):
        reg = ".b64" if self.types[0] == "f64" else ".b32"
        lines = [f".reg {reg} {x}<8>" for x in ("fa", "fb", "fc", "fd")]
        lines += ["mul.wide.u32 %at, %t, 8", "sub.u64 %in, %in, %at", "sub.u64 %out, %out, %at"]
        at = 0
        for i, letter in enumerate("abc"):
            lines.append(self.transfer(f"load.{letter}", letter, i, f"%in+{at}", f"f{letter}"))
            at += self.matrices[i].size_B
        parts = [operand(self.shape, dtype, x, f"f{y}") for dtype, x, y in zip(self.types, "cabc", "dabc")]
        lines += [f"{self.mma} {', '.join(parts)}", self.transfer("store.d", "c", 3, "%out", "fd")]
        text = ";\n  ".join(lines)
        regs = [(f"m{i}", 64) for i in range(sum(m.size_B for m in self.matrices[:3]) // SLOT_B)]
        form = Form(text, regs, [64] * (self.matrices[3].size_B // SLOT_B), self.draw, self.oracle)
        form.raw = True
        return form

    def draw(self, rng):
        memory, at = 0, 0
        for m in self.matrices[:3]:
            memory |= m.fill(lambda m=m: self.product.draw_element(rng, m.dtype)) << 8 * at
            at += m.size_B
        words = [memory >> 64 * i & (1 << 64) - 1 for i in range(at // 8)]
        return {f"m{i}": words[32 * i:32 * i + 32] for i in range(at // SLOT_B)}

    def oracle(self, regs):
        words = [w for i in range(len(regs)) for w in regs[f"m{i}"]]
        memory = sum(w << 64 * i for i, w in enumerate(words))
        loaded, out = [], 0
        for m in self.matrices[:3]:
            loaded.append(m.read(memory))
            memory >>= 8 * m.size_B
        a, b, c = loaded
        d = self.matrices[3]
        for row in range(self.shape.m):
            for col in range(self.shape.n):
                out |= self.product.encode(self.product.dot(a, b, c[row, col], row, col, {})) << d.bit(row, col)
        words = [out >> 64 * i & (1 << 64) - 1 for i in range(d.size_B // 8)]
        return [words[32 * i:32 * i + 32] for i in range(len(words) // 32)]


LAYOUTS = [(a, b, c, d) for a in ("row", "col") for b in ("row", "col") for c in ("row", "col") for d in ("row", "col")]


def forms(every):
    made, turn = [], 0

    def add(shape, types, layouts, **more):
        nonlocal turn
        first = turn
        for n, one in enumerate(layouts):
            if every or n % 8 == first % 8:
                made.append(Wmma(shape, types, one, pad=turn % 3, **more).form())
                turn += 1
    for shape in (Shape(16, 16, 16), Shape(8, 32, 16), Shape(32, 8, 16)):
        for d, c in (("f16", "f16"), ("f32", "f32"), ("f16", "f32"), ("f32", "f16")):
            add(shape, (d, "f16", "f16", c), LAYOUTS)
        add(shape, ("f32", "bf16", "bf16", "f32"), LAYOUTS)
        for dtype in ("s8", "u8"):
            add(shape, ("s32", dtype, dtype, "s32"), LAYOUTS, sat=dtype == "s8")
    add(Shape(16, 16, 8), ("f32", "tf32", "tf32", "f32"), LAYOUTS)
    add(Shape(8, 8, 4), ("f64", "f64", "f64", "f64"), LAYOUTS, rnd="rz")
    narrow = [("row", "col", c, d) for c in ("row", "col") for d in ("row", "col")]
    for dtype in ("s4", "u4"):
        add(Shape(8, 8, 32), ("s32", dtype, dtype, "s32"), narrow)
    for bits in ("xor", "and"):
        add(Shape(8, 8, 128), ("s32", "b1", "b1", "s32"), narrow, bits=bits)
    return made

