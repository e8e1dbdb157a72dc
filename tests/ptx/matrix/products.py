"""Forms of mma: text, registers, and the product as the PTX ISA's chapters on fragments describe it."""
import random

import cores
import numbers_exact as num

ROUND = ("rn", "rz", "rm", "rp")


class Shape:
    def __init__(self, m, n, k):
        self.m, self.n, self.k = m, n, k
        self.text = f"m{m}n{n}k{k}"


class Form:
    """One instruction. regs: (name, bits) of what goes in, in order; text: with {name} where they go, {d} for results."""

    def __init__(self, text, regs, outs, draw, oracle, setup=""):
        self.text, self.regs, self.outs, self.draw, self.oracle, self.setup = text, regs, outs, draw, oracle, setup
        self.raw = False  # the text reads and writes memory itself
        self.pair = False  # two blocks of a cluster, with a vector each
        self.threads, self.arch, self.name = 32, "sm_120a", text


def names(prefix, count):
    return "{{" + ", ".join(f"{{{prefix}{i}}}" for i in range(count)) + "}}"


def factor_index(lane, i, per, lines):
    """(line, along) of element i of a lane: line is a row of a, a column of b."""
    group, thread = lane >> 2, lane % 4
    if lines == 16:
        return group + 8 * (i // per % 2), thread * per + i % per + 4 * per * (i // (2 * per))
    return group, thread * per + i % per + 4 * per * (i // per)


def sum_index(lane, i):
    return (lane >> 2) + 8 * (i // 2), lane % 4 * 2 + i % 2


def elements(regs, lane, width, container, reg_bits):
    """The elements of a lane's registers, lowest first; `width` bits at the bottom, of e2m1 in the middle of a byte."""
    shift = 2 if container == 8 and width == 4 else 0
    for reg in regs:
        for i in range(reg_bits // container):
            yield reg[lane] >> (i * container + shift) & (1 << width) - 1


def quad_a(lane, i, layout):
    line = lane % 4 + (4 if lane >= 16 else 0)
    return (line, i) if layout == "row" else (i % 4 + (4 if lane >= 16 else 0), lane % 4)


def quad_b(lane, i, layout):
    return (lane % 4, i + (4 if lane >= 16 else 0)) if layout == "row" else (i, lane % 4 + (4 if lane >= 16 else 0))


def quad_c(lane, i, dtype):
    if dtype == "f16":
        return lane % 4 + (4 if lane >= 16 else 0), i
    return (lane & 1) + (i & 2) + (4 if lane >= 16 else 0), (i & 4) + (lane & 2) + (i & 1)


DRAWN = (lambda rng: rng.uniform(-4, 4), lambda rng: rng.gauss(0, 1), lambda rng: float(rng.randrange(-8, 9)),
         lambda rng: rng.uniform(-1, 1) * 2.0 ** rng.randrange(-14, 14))


class Product:
    def __init__(self, shape, d, a, b, c, op="mma", layout=("row", "col"), mods="", kind="", sat=False, bits="", rnd="",
                 sparse=None, scale=None):
        self.shape, self.d, self.a, self.b, self.c, self.layout = shape, d, a, b, c, layout
        self.sat, self.bits, self.rnd, self.sparse, self.scale = sat, bits, rnd, sparse, scale
        self.box = 8 if kind in ("kind::f8f6f4", "kind::mxf8f6f4") else num.WIDTH[a]
        self.reg = 64 if d == "f64" else 32
        self.quads = shape.text == "m8n8k4" and a == "f16"
        self.stored = shape.k // 2 if sparse else shape.k
        copies = 4 if self.quads else 1
        count = {"a": shape.m * self.stored * self.box, "b": shape.k * shape.n * self.box,
                 "c": shape.m * shape.n * num.WIDTH[c], "d": shape.m * shape.n * num.WIDTH[d]}
        self.count = {k: v * copies // (32 * self.reg) for k, v in count.items()}
        words = [op, "sync.aligned", shape.text, *layout, kind]
        if scale:
            words += ["block_scale", f"scale_vec::{scale[1]}X"]
        words += [rnd, "satfinite" if sat else "", d, a, b, c, scale[0] if scale else "", f"{bits}.popc" if bits else ""]
        self.name = ".".join(w for w in words if w) + mods

    def form(self):
        regs = [(f"{o}{i}", self.reg) for o in "abc" for i in range(self.count[o])]
        text = f"{self.name} {names('d', self.count['d'])}, " + ", ".join(names(o, self.count[o]) for o in "abc")
        if self.sparse:
            regs.append(("e0", 32))
            text += f", {{e0}}, {self.sparse[0]}"
        if self.scale:
            for o, (byte, thread) in zip("xy", self.scale[2:]):
                regs.append((f"{o}0", 32))
                text += f", {{{{{{{o}0}}}}}}, {{{{{byte}, {thread}}}}}"
        return Form(text, regs, [self.reg] * self.count["d"], self.draw, self.oracle)

    # ---- what goes in

    def draw_element(self, rng, dtype):
        width, tame = num.WIDTH[dtype], getattr(rng, "tame", False)
        if dtype in ("f16", "bf16", "tf32", "f32", "f64") and rng.random() < (1 if tame else 0.9):
            x = rng.choice(DRAWN)(rng)
            if dtype == "f64":
                return num.f64_bits(x)
            return num.f16_bits(x) if dtype == "f16" else num.f32_bits(x) >> (16 if dtype == "bf16" else 0)
        if dtype in ("e5m2", "e4m3") and rng.random() < (1 if tame else 0.97):
            return rng.getrandbits(1) << 7 | rng.randrange(0x70)
        x = rng.getrandbits(width)
        return x if dtype[0] != "f" or rng.random() < 0.15 else x & ~(1 << width - 2)

    def draw_register(self, rng, dtype, box):
        shift = 2 if box == 8 and num.WIDTH[dtype] == 4 else 0
        return sum(self.draw_element(rng, dtype) << (i * box + shift) for i in range(self.reg // box))

    def draw(self, rng):
        boxes = {"a": (self.a, self.box), "b": (self.b, self.box), "c": (self.c, num.WIDTH[self.c])}
        out = {f"{o}{i}": [self.draw_register(rng, *boxes[o]) for _ in range(32)] for o in "abc" for i in range(self.count[o])}
        if self.sparse:
            out["e0"] = [self.draw_metadata(rng) for _ in range(32)]
        if self.scale:
            for o in "xy":
                out[f"{o}0"] = [self.draw_scales(rng) for _ in range(32)]
        return out

    def draw_metadata(self, rng):
        if self.a == "tf32":
            return sum(rng.choice((0b0100, 0b1110)) << 4 * i for i in range(8))
        return sum(rng.choice((0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)) << 4 * i for i in range(8))

    def draw_scales(self, rng):
        if self.scale[0] == "ue8m0":
            return sum((rng.randrange(100, 154) if rng.random() < 0.99 else rng.getrandbits(8)) << 8 * i for i in range(4))
        return sum((rng.randrange(0x7f) if rng.random() < 0.99 else 0x7f) << 8 * i for i in range(4))

    # ---- what comes out

    def oracle(self, regs):
        """{register: [32]} -> [[32] per result]."""
        take = {o: [regs[f"{o}{i}"] for i in range(self.count[o])] for o in "abc"}
        return self.quad_oracle(take) if self.quads else self.plain_oracle(take, regs)

    def matrix(self, regs, dtype, box, lanes, index):
        decode = num.DECODE[dtype]
        out = {}
        for lane in lanes:
            for i, bits in enumerate(elements(regs, lane, num.WIDTH[dtype], box, self.reg)):
                out[index(lane, i)] = decode(bits)
        return out

    def plain_oracle(self, take, regs):
        per, lanes = self.reg // self.box, range(32)
        a = self.matrix(take["a"], self.a, self.box, lanes, lambda l, i: factor_index(l, i, per, self.shape.m))
        b = self.matrix(take["b"], self.b, self.box, lanes, lambda l, i: factor_index(l, i, per, 8)[::-1])
        c = self.matrix(take["c"], self.c, num.WIDTH[self.c], lanes, sum_index)
        d = {(row, col): self.dot(a, b, c[row, col], row, col, regs) for row in range(self.shape.m) for col in range(self.shape.n)}
        return self.collect(d, lanes, sum_index)

    def quad_oracle(self, take):
        out = [[0] * 32 for _ in range(self.count["d"])]
        for quad in range(4):
            lanes = [4 * quad + i for i in range(4)] + [16 + 4 * quad + i for i in range(4)]
            a = self.matrix(take["a"], "f16", 16, lanes, lambda l, i: quad_a(l, i, self.layout[0]))
            b = self.matrix(take["b"], "f16", 16, lanes, lambda l, i: quad_b(l, i, self.layout[1]))
            c = self.matrix(take["c"], self.c, num.WIDTH[self.c], lanes, lambda l, i: quad_c(l, i, self.c))
            d = {(r, n): self.dot(a, b, c[r, n], r, n, {}) for r in range(8) for n in range(8)}
            self.collect(d, lanes, lambda l, i: quad_c(l, i, self.d), out)
        return out

    def collect(self, d, lanes, index, out=None):
        width = num.WIDTH[self.d]
        out = out or [[0] * 32 for _ in range(self.count["d"])]
        for lane in lanes:
            for i in range(self.reg // width * self.count["d"]):
                out[i * width // self.reg][lane] |= self.encode(d[index(lane, i)]) << (i * width % self.reg)
        return out

    def encode(self, x):
        return {"f16": num.f16_bits, "f32": num.f32_bits, "f64": num.f64_bits, "s32": lambda v: v & 0xffffffff}[self.d](x)

    def stored_columns(self, row, regs):
        """[(stored element, its column)] of a row of a."""
        if not self.sparse:
            return [(k, k) for k in range(self.shape.k)]
        bits = 2 * self.shape.k if self.a == "tf32" else self.shape.k // 2 if self.box == 4 else self.shape.k
        lane = row % 8 * 4
        if bits == 16:
            meta = regs["e0"][lane + self.sparse[0]] >> 16 * (row // 8)
        elif bits == 32 and self.box >= 16:  # a thread has 16 columns of row and row + 8, the next one the other 16
            parts = [regs["e0"][lane + 2 * self.sparse[0] + i] >> 16 * (row // 8) & 0xffff for i in range(2)]
            meta = parts[0] | parts[1] << 16
        elif bits == 32:
            meta = regs["e0"][lane + 2 * self.sparse[0] + row // 8]
        else:
            meta = regs["e0"][lane + row // 8] | regs["e0"][lane + 2 + row // 8] << 32
        if self.a == "tf32":  # one of two: 0b0100 or 0b1110
            return [(j, 2 * j + (meta >> 4 * j & 15 == 0b1110)) for j in range(self.stored)]
        if self.box == 4:  # two pairs of four
            return [(j, 8 * (j // 4) + 2 * (meta >> 2 * (j // 2) & 3) + j % 2) for j in range(self.stored)]
        return [(j, 4 * (j // 2) + (meta >> 2 * j & 3)) for j in range(self.stored)]

    def scale_at(self, regs, line, column, is_b):
        dtype, count, a, b = self.scale
        byte, thread = b if is_b else a
        lane = 4 * line + thread if is_b else line % 8 * 4 + 2 * thread + line // 8
        block = column // (self.shape.k // count)
        return num.DECODE[dtype](regs["y0" if is_b else "x0"][lane] >> 8 * (byte + block) & 0xff)

    def dot(self, a, b, total, row, col, regs):
        where = self.stored_columns(row, regs)
        if self.d == "s32":
            one = {"": lambda x, y: x * y, "xor": lambda x, y: x ^ y, "and": lambda x, y: x & y}[self.bits]
            total += sum(one(a[row, j], b[k, col]) for j, k in where)
            return min(max(total, -2 ** 31), 2 ** 31 - 1) if self.sat else total
        if cores.arch and self.d != "f64":
            scales = [(self.scale_at(regs, row, k, False), self.scale_at(regs, col, k, True)) if self.scale else (1.0, 1.0) for _, k in where]
            factors = [(a[row, j], b[k, col], *scale) for (j, k), scale in zip(where, scales)]
            return cores.total(factors, total, (self.a, self.b, self.c, self.d, self.scale and self.scale[0]), "mma", self.shape.k, bool(self.scale))
        for j, k in where:
            if self.d == "f64":
                total = num.fma_f64(a[row, j], b[k, col], total, self.rnd or "rn")
                continue
            product = a[row, j] * b[k, col]
            if self.scale:
                product = num.round_f32(product * (self.scale_at(regs, row, k, False) * self.scale_at(regs, col, k, True)))
            total = num.add_f32(product, total)
        return total


# ---- all of them

F8, F864 = ("e4m3", "e5m2"), ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def pairs(types, all_pairs):
    return [(a, b) for a in types for b in types] if all_pairs else [(a, types[(i + 1) % len(types)]) for i, a in enumerate(types)] + [(types[0], types[0])]


def dense(every):
    for layout in (("row", "col"), ("col", "row"), ("row", "row"), ("col", "col")):
        for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
            yield Product(Shape(8, 8, 4), d, "f16", "f16", c, layout=layout)
    for k in (8, 16):
        for d in ("f16", "f32"):
            yield Product(Shape(16, 8, k), d, "f16", "f16", d)
        yield Product(Shape(16, 8, k), "f32", "bf16", "bf16", "f32")
    for k in (4, 8):
        yield Product(Shape(16, 8, k), "f32", "tf32", "tf32", "f32")
    for k in (16, 32):
        for d in ("f16", "f32"):
            for a, b in pairs(F8, every):
                yield Product(Shape(16, 8, k), d, a, b, d)
    for d in ("f16", "f32"):
        for a, b in pairs(F864, every):
            yield Product(Shape(16, 8, 32), d, a, b, d, kind="kind::f8f6f4")
    for i, shape in enumerate((Shape(8, 8, 4), Shape(16, 8, 4), Shape(16, 8, 8), Shape(16, 8, 16))):
        for rnd in ("", *ROUND) if every else ("", ROUND[i]):
            yield Product(shape, "f64", "f64", "f64", "f64", rnd=rnd)
    for types, shapes in ((("s8", "u8"), (Shape(8, 8, 16), Shape(16, 8, 16), Shape(16, 8, 32))),
                          (("s4", "u4"), (Shape(8, 8, 32), Shape(16, 8, 32), Shape(16, 8, 64)))):
        for shape in shapes:
            for i, (a, b) in enumerate(pairs(types, every)):
                for sat in (False, True) if every else (i == 1,):
                    yield Product(shape, "s32", a, b, "s32", sat=sat)
    for shape in (Shape(8, 8, 128), Shape(16, 8, 128), Shape(16, 8, 256)):
        for bits in ("xor", "and"):
            yield Product(shape, "s32", "b1", "b1", "s32", bits=bits)


def sparse(every):
    def forms(shape, d, a, b, c, selectors, **more):
        late = more or (a in F8 and d == "f16")
        op = "mma.sp::ordered_metadata" if late or (a == "bf16" and shape.k == 32) else "mma.sp"
        for s in range(selectors) if every else (selectors - 1,):
            yield Product(shape, d, a, b, c, op=op, sparse=(s,), **more)
    for k, selectors in ((16, 4), (32, 2)):
        for d in ("f16", "f32"):
            yield from forms(Shape(16, 8, k), d, "f16", "f16", d, selectors)
        yield from forms(Shape(16, 8, k), "f32", "bf16", "bf16", "f32", selectors)
        yield from forms(Shape(16, 8, k // 2), "f32", "tf32", "tf32", "f32", selectors)
        for a, b in pairs(("s8", "u8"), every):
            yield from forms(Shape(16, 8, 2 * k), "s32", a, b, "s32", selectors // 2)
        for a, b in pairs(("s4", "u4"), every):
            yield from forms(Shape(16, 8, 4 * k), "s32", a, b, "s32", selectors // 2)
    for d in ("f16", "f32"):
        for a, b in pairs(F8, every):
            yield from forms(Shape(16, 8, 64), d, a, b, d, 1)
        for a, b in pairs(F864, every):
            yield from forms(Shape(16, 8, 64), d, a, b, d, 1, kind="kind::f8f6f4")
    # In another order.
    yield Product(Shape(16, 8, 64), "f32", "e4m3", "e5m2", "f32", kind="kind::f8f6f4.sp::ordered_metadata", sparse=(0,))
    yield Product(Shape(16, 8, 32), "f32", "f16", "f16", "f32", kind="sp", sparse=(1,))


def scaled(every):
    where = [((byte, ta), (3 - byte, tb)) for byte in range(4) for ta in range(2) for tb in range(4)]
    for i, (a, b) in enumerate(pairs(F864, every)):
        scale = ("ue8m0", 1, *where[i * 5 % len(where)])
        yield Product(Shape(16, 8, 32), "f32", a, b, "f32", kind="kind::mxf8f6f4", scale=scale)
        yield Product(Shape(16, 8, 64), "f32", a, b, "f32", op="mma.sp::ordered_metadata", kind="kind::mxf8f6f4", sparse=(0,), scale=scale)
    for kind, dtype, count in (("kind::mxf4", "ue8m0", 2), ("kind::mxf4nvf4", "ue8m0", 2), ("kind::mxf4nvf4", "ue4m3", 4), ("kind::mxf4nvf4", "ue8m0", 4)):
        for byte in (0, 2) if count == 2 else (0,):
            scale = (dtype, count, (byte, 1), (2 - byte if count == 2 else 0, 3))
            yield Product(Shape(16, 8, 64), "f32", "e2m1", "e2m1", "f32", kind=kind, scale=scale)
            yield Product(Shape(16, 8, 128), "f32", "e2m1", "e2m1", "f32", op="mma.sp::ordered_metadata", kind=kind, sparse=(0,), scale=scale)


def forms(every):
    return [p.form() for made in (dense, sparse, scaled) for p in made(every)]


def draw(form, seed, vector):
    rng = random.Random(f"{form.text} {seed} {vector}")
    rng.tame = bool(cores.arch) and vector % 2 == 0  # no NaN, no infinity: one of them in a tile is another way in the code
    return form.draw(rng)
