"""Forms of wgmma: four warps, matrices in shared memory that descriptors describe, sums in registers."""
import struct

import blocks
import cores
import numbers_exact as num
from blocks import IMAGE_B, THREADS
from products import Product, Shape

CONST_B = 256
K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}


class Wgmma:
    def __init__(self, n, d, a, b, a_from="none", b_from="none", trans=(0, 0), scales=(1, 1), sparse=None, sat=False):
        self.n, self.d, self.a, self.b, self.scales, self.sparse, self.trans = n, d, a, b, scales, sparse, trans
        self.k = K[a] * (2 if sparse is not None else 1)
        self.stored = K[a]
        self.width = num.WIDTH[a]
        self.a_matrix = None if a_from == "registers" else blocks.Matrix(64, self.stored, self.width, a_from, trans[0])
        self.b_matrix = blocks.Matrix(n, self.k, num.WIDTH[b], b_from, trans[1])
        self.sums = n // 2 if d != "f16" else n // 4
        self.product = Product(Shape(16, 8, self.k), d, a, b, d, sparse=None if sparse is None else (sparse,), sat=sat, bits="and" if a == "b1" else "")
        words = ["wgmma.mma_async", "sp" if sparse is not None else "", "sync.aligned", f"m64n{n}k{self.k}", "satfinite" if sat else "", d, a, b,
                 "and.popc" if a == "b1" else ""]
        self.name = ".".join(w for w in words if w)
        self.label = f"{self.name} a {a_from} b {b_from} trans {trans} scales {scales}"

    def operands(self):
        regs = ", ".join(f"z{i}" for i in range(10, 10 + self.sums))
        out = ["{{" + regs + "}}", "y4" if self.a_matrix else "{{z150, z151, z152, z153}}", "y5"]
        if self.sparse is not None:
            out += ["z154", str(self.sparse)]
        out.append("q0")
        if self.d not in ("s32",):
            out += [str(s) for s in self.scales]
        if self.a in ("f16", "bf16"):
            out += [str(t) for t in self.trans[0 if self.a_matrix else 1:]]
        return ", ".join(out)

    def form(self):
        lines = blocks.begin(IMAGE_B) + blocks.descriptor("y4", IMAGE_B) + blocks.descriptor("y5", IMAGE_B + 8)
        lines += [f"ld.global.b32 z9, [%in+{IMAGE_B + 16}]", "setp.ne.b32 q0, z9, 0"]
        at = IMAGE_B + CONST_B
        lines += [f"ld.global.b32 z{150 + i}, [y1+{at + 512 * i}]" for i in range(5)]
        at += 5 * 512
        lines += [f"ld.global.b32 z{10 + i}, [y1+{at + 512 * i}]" for i in range(self.sums)]
        lines += ["wgmma.fence.sync.aligned", f"{self.name} {self.operands()}", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 0"]
        lines += [f"st.global.b32 [y2+{512 * i}], z{10 + i}" for i in range(self.sums)]
        return blocks.form(self.label, lines, at + 512 * self.sums, 512 * self.sums, self.draw, self.oracle, "sm_90a")

    def draw(self, rng):
        p, width = self.product, self.width
        image = bytearray()
        pool = [p.draw_register(rng, rng.choice((self.a, self.b)), width) & 0xffffffff for _ in range(512)]
        for _ in range(IMAGE_B // 4):
            image += rng.choice(pool).to_bytes(4, "little")
        a = self.a_matrix.encode(self.a_matrix.draw(rng, IMAGE_B)) if self.a_matrix else 0
        b = self.b_matrix.encode(self.b_matrix.draw(rng, IMAGE_B))
        out = bytes(image) + struct.pack("<QQI", a, b, rng.random() < 0.7).ljust(CONST_B, b"\0")
        out += b"".join(rng.choice(pool).to_bytes(4, "little") for _ in range(4 * THREADS))
        out += b"".join((p.draw_metadata(rng) if self.sparse is not None else 0).to_bytes(4, "little") for _ in range(THREADS))
        c = {"f16": "f16", "f32": "f32", "s32": "s32"}[self.d]
        return out + b"".join(p.draw_register(rng, c, num.WIDTH[c]).to_bytes(4, "little") for _ in range(self.sums * THREADS))

    def words(self, blob, at, reg):
        at += 512 * reg
        return struct.unpack_from("<128I", blob, at)

    def a_elements(self, blob):
        """{(row, stored column): bits}"""
        if self.a_matrix:
            return self.a_matrix.read(blob, struct.unpack_from("<Q", blob, IMAGE_B)[0])
        per, out = 32 // self.width, {}
        for reg in range(4):
            for t, word in enumerate(self.words(blob, IMAGE_B + CONST_B, reg)):
                row = t // 32 * 16 + t % 32 // 4 + 8 * (reg % 2)
                for j in range(per):
                    out[row, reg // 2 * 4 * per + t % 4 * per + j] = word >> (j * self.width) & (1 << self.width) - 1
        return out

    def bits_of(self, blob):
        """b1: elements are single bits, eight to a byte."""
        a = {(o, k): int.from_bytes(blob[at:at + 1], "little") >> k % 8 & 1 for (o, k), at in self.b1_bytes(self.a_matrix, blob, 0).items()} \
            if self.a_matrix else {(r, 32 * c + i): w >> i & 1 for (r, c), w in self.a_words(blob).items() for i in range(32)}
        b = {(o, k): int.from_bytes(blob[at:at + 1], "little") >> k % 8 & 1 for (o, k), at in self.b1_bytes(self.b_matrix, blob, 8).items()}
        return a, b

    def a_words(self, blob):
        out = {}
        for reg in range(4):
            for t, word in enumerate(self.words(blob, IMAGE_B + CONST_B, reg)):
                out[t // 32 * 16 + t % 32 // 4 + 8 * (reg % 2), reg // 2 * 4 + t % 4] = word
        return out

    @staticmethod
    def b1_bytes(matrix, blob, which):
        desc = struct.unpack_from("<Q", blob, IMAGE_B + which)[0]
        start, lead, stride = ((desc >> at & 0x3fff) << 4 for at in (0, 16, 32))
        bits, out = blocks.SWIZZLES[matrix.swizzle][0], {}
        for o in range(matrix.outer):
            for k in range(matrix.inner):
                at = start + matrix.offset(o, k, lead, stride)
                out[o, k] = at ^ (at >> 3) & ((1 << bits) - 1) << 4
        return out

    def oracle(self, blob):
        p = self.product
        accumulate = struct.unpack_from("<I", blob, IMAGE_B + 16)[0]
        if self.a == "b1":
            a, b = self.bits_of(blob)
        else:
            sign = self.scales[0] * self.scales[1] if self.d != "s32" else 1
            a = {at: sign * num.DECODE[self.a](bits) for at, bits in self.a_elements(blob).items()}
            b = {at: num.DECODE[self.b](bits) for at, bits in self.b_matrix.read(blob, struct.unpack_from("<Q", blob, IMAGE_B + 8)[0]).items()}
        b = {(k, col): x for (col, k), x in b.items()}
        meta = self.words(blob, IMAGE_B + CONST_B, 4)
        width = num.WIDTH[self.d]
        out = [[0] * THREADS for _ in range(self.sums)]
        columns = [p.stored_columns(row % 16, {"e0": meta[row // 16 * 32:row // 16 * 32 + 32]}) for row in range(64)]
        for reg in range(self.sums):
            c = self.words(blob, IMAGE_B + CONST_B + 5 * 512, reg)
            for t in range(THREADS):
                for part in range(32 // width):
                    i = reg * 32 // width + part
                    row, col = t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + t % 4 * 2 + i % 2
                    total = num.DECODE[self.d](c[t] >> part * width & (1 << width) - 1) if accumulate else 0
                    out[reg][t] |= p.encode(self.dot(a, b, total, row, col, columns[row])) << part * width
        return b"".join(struct.pack("<128I", *words) for words in out)

    def dot(self, a, b, total, row, col, columns):
        p = self.product
        if self.d == "s32":
            total += sum(a[row, j] & b[k, col] if self.a == "b1" else a[row, j] * b[k, col] for j, k in columns)
            return min(max(total, -2 ** 31), 2 ** 31 - 1) if p.sat else total
        if cores.arch:
            return cores.total([(a[row, j], b[k, col], 1.0, 1.0) for j, k in columns], total, (self.a, self.b, self.d, self.d, None), "wgmma")
        for j, k in columns:
            total = num.add_f32(a[row, j] * b[k, col], total)
        return total


def forms(every):
    layouts = ("none", "128", "64", "32")
    made = []
    for i, (d, a, b) in enumerate((("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"))):
        for j, (x, y) in enumerate((x, y) for x in ("registers",) + layouts for y in layouts):
            for t in range(4):
                if every or (5 * i + 3 * j + t) % 12 == 0:
                    ta = t // 2 if x != "registers" else 0
                    made.append(Wgmma(8 + 8 * (j % 3), d, a, b, x, y, trans=(ta, t % 2), scales=(1 - 2 * (j % 2), 1 - 2 * (t % 2))))
    others = [("f32", "tf32", "tf32"), *((d, a, b) for d in ("f16", "f32") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
              *(("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8"))]
    for i, types in enumerate(others):
        for j, (x, y) in enumerate((x, y) for x in ("registers",) + layouts for y in layouts):
            if every and (i + j) % 4 == 0 or (i + j) % 20 == 0:
                made.append(Wgmma(8 + 8 * (j % 3), *types, x, y, scales=(-1, 1), sat=types[0] == "s32" and j % 2 == 1))
    for x, y in (("registers", "128"), ("64", "none"), ("32", "32")):
        made.append(Wgmma(8, "s32", "b1", "b1", x, y))
    made += [Wgmma(256, "f32", "bf16", "bf16", "128", "128"), Wgmma(176, "f16", "f16", "f16", "registers", "64", (0, 1)), Wgmma(96, "s32", "s8", "s8", "none", "32")]
    for i, types in enumerate((("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), *others)):
        selectors = 2 if num.WIDTH[types[1]] >= 16 else 1
        for s in range(selectors):
            for x, y in (("registers", "128"), ("128", "64"), ("none", "none"), ("32", "128")) if every else ((("registers", "128"), ("64", "none"))[i % 2],):
                made.append(Wgmma(16, *types, x, y, sparse=s, trans=(0, i % 2 if i < 3 else 0)))
    return [f.form() for f in made]
