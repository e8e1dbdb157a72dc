"""Forms of tcgen05: tensor memory is filled, something is done, and all that is in use is read back.

Of forms for pairs (.cta_group::2) each of the two blocks has an input and an output of its own; the even one's first thread does it.
"""
import functools
import struct

import blocks
import cores
import numbers_exact as num
from blocks import IMAGE_B, THREADS
from products import Product, Shape

CONST_B = 256
COLUMNS = 128  # of tensor memory that a test uses
TENSOR_B = 128 * COLUMNS * 4
AT = IMAGE_B + CONST_B  # of tensor memory in the input


def vector(first, count):
    return "{{" + ", ".join(f"z{i}" for i in range(first, first + count)) + "}}"


CLUSTER_SYNC = ["barrier.cluster.arrive.aligned", "barrier.cluster.wait.aligned"]


def begin(group):
    """z6: where tensor memory begins; z7: that of the warp. It holds what the input says. q1: who does it."""
    lines = blocks.begin(IMAGE_B)
    lines += ["mov.u32 z8, slot", "shr.u32 z5, %t, 5", "setp.eq.u32 q0, z5, 0", "mov.u32 z9, bars", "setp.eq.u32 q1, %t, 0",
              "@q1 mbarrier.init.shared.b64 [z9], 1", "bar.sync 0"]
    if group == 2:
        lines += ["mov.u32 z5, %cluster_ctarank", "setp.eq.and.u32 q1, z5, 0, q1"]
    lines += [f"@!q0 bra skip{{name}}", f"tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [z8], 512",
              f"tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned; skip{{name}}: bar.sync 0",
              "ld.shared.b32 z6, [z8]", "shr.u32 z5, %t, 5", "and.b32 z7, z5, 3", "shl.b32 z7, z7, 21", "add.u32 z7, z7, z6",
              f"mad.wide.u32 y6, %t, {4 * COLUMNS}, %in"]
    lines += ["mov.u32 z141, z7"]
    lines += blocks.loop("fill", COLUMNS // 4, [f"ld.global.v4.b32 {vector(10, 4)}, [y6+{AT}]", f"tcgen05.st.sync.aligned.32x32b.x4.b32 [z141], {vector(10, 4)}",
                                                "add.u64 y6, y6, 16", "add.u32 z141, z141, 4"])
    return lines + ["tcgen05.wait::st.sync.aligned", "bar.sync 0"] + (CLUSTER_SYNC if group == 2 else [])


def free(group=1):
    return ["bar.sync 0", "@!q0 bra done{name}", f"tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 z6, 512; done{{name}}: bar.sync 0"]


def end(group=1):
    lines = ["tcgen05.fence::after_thread_sync", f"mad.wide.u32 y6, %t, {4 * COLUMNS}, %out", "mov.u32 z141, z7"]
    lines += blocks.loop("dump", COLUMNS // 4, [f"tcgen05.ld.sync.aligned.32x32b.x4.b32 {vector(10, 4)}, [z141]", "tcgen05.wait::ld.sync.aligned",
                                                f"st.global.v4.b32 [y6], {vector(10, 4)}", "add.u64 y6, y6, 16", "add.u32 z141, z141, 4"])
    return lines + free(group)


class Cells:
    def __init__(self, blob):
        words = struct.unpack_from(f"<{128 * COLUMNS}I", blob, AT)
        self.rows = [list(words[COLUMNS * i:COLUMNS * i + COLUMNS]) for i in range(128)]

    def bytes(self):
        return b"".join(struct.pack(f"<{COLUMNS}I", *row) for row in self.rows)


class Test:
    """A kernel: input is a shared image, 64 constants of 32 bits, tensor memory."""
    out_B = TENSOR_B
    count = 0
    group = 1

    def form(self):
        Test.count += 1
        lines = [line.replace("{name}", f"_{Test.count}") for line in begin(self.group) + self.lines()]
        return blocks.form(self.label, lines, AT + TENSOR_B, self.out_B, self.draw, self.oracle, "sm_100a", self.group == 2)

    def draw(self, rng):
        return rng.randbytes(IMAGE_B) + self.constants(rng).ljust(CONST_B, b"\0") + rng.randbytes(TENSOR_B)

    def constants(self, rng):
        del rng
        return b""

    def oracle(self, *blobs):
        """Of one block, or of both of a pair."""
        cells = [Cells(blob) for blob in blobs]
        self.change(cells, blobs)
        out = [c.bytes() for c in cells]
        return out if self.group == 2 else out[0]


# ---- loads and stores; where thread t has register r, as CuTe's copy traits of these shapes

def cell_of(shape, t, r):
    if shape == "32x32b":
        return t, r
    if shape == "16x64b":  # threads (2, 2, 8): half of the rows, column, row
        return t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2
    if shape == "16x128b":  # threads (4, 8), registers (2, n)
        return t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4
    if shape == "16x256b":  # threads (4, 8), registers (2, 2, n)
        return t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2
    return t % 16, r


PER = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
WIDE = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}


class Move(Test):
    def __init__(self, load, shape, times, pack=False, lane=0, column=0, split=0, red=""):
        self.load, self.shape, self.times, self.pack, self.split, self.red = load, shape, times, pack, split, red
        self.lane, self.column = lane, column
        self.regs = PER[shape] * times
        packing = (".pack::16b" if load else ".unpack::16b") if pack else ""
        kind = red.partition(".")[2] and "" or ".b32"
        self.name = f"tcgen05.{'ld' if load else 'st'}{'.red' if red else ''}.sync.aligned.{shape}.x{times}{packing}{'.' + red if red else kind}"
        self.label = f"{self.name} lane {lane} column {column} split {split}"
        self.out_B = 512 * (self.regs + bool(red)) if load else TENSOR_B

    def lines(self):
        address = f"[z7+{(self.lane << 16) + self.column}]"
        split = f", {self.split}" if self.shape == "16x32bx2" else ""
        if self.load:
            red = ", z139" if self.red else ""
            lines = [f"{self.name} {vector(10, self.regs)}{red}, {address}{split}", "tcgen05.wait::ld.sync.aligned"]
            lines += [f"st.global.b32 [y2+{512 * i}], z{10 + i}" for i in range(self.regs)]
            return lines + ([f"st.global.b32 [y2+{512 * self.regs}], z139"] if self.red else []) + free()
        lines = [f"ld.global.b32 z{10 + i}, [y1+{512 * (i % 64)}]" for i in range(self.regs)]
        lines += [f"{self.name} {address}{split}, {vector(10, self.regs)}", "tcgen05.wait::st.sync.aligned", "bar.sync 0"]
        return lines + end()

    def places(self, t, r):
        row, col = cell_of(self.shape, t % 32, r)
        row, col = row + self.lane + t // 32 * 32, col * (2 if self.pack else 1) + self.column
        if self.shape == "16x32bx2" and t % 32 >= 16:
            col += self.split
        return row, col

    def oracle(self, blob):
        cells, out = Cells(blob), []
        for r in range(self.regs):
            for t in range(THREADS):
                row, col = self.places(t, r)
                if self.load:
                    line = cells.rows[row]
                    out.append(line[col] & 0xffff | (line[col + 1] & 0xffff) << 16 if self.pack else line[col])
                else:
                    word = struct.unpack_from("<I", blob, 512 * (r % 64) + 4 * t)[0]
                    if self.pack:
                        cells.rows[row][col + 1] = word >> 16
                    cells.rows[row][col] = word & 0xffff if self.pack else word
        if not self.load:
            return cells.bytes()
        out += [self.reduced([out[r * THREADS + t] for r in range(self.regs)]) for t in range(THREADS)] if self.red else []
        return struct.pack(f"<{len(out)}I", *out)

    def reduced(self, words):
        op, dtype = self.red.split(".")[0], self.red.split(".")[-1]
        if dtype != "f32":
            values = [num.DECODE["s32"](w) if dtype == "s32" else w for w in words]
            return (min if op == "min" else max)(values) & 0xffffffff
        words = [w & 0x7fffffff if ".abs" in self.red else w for w in words]
        nans = [w for w in words if w & 0x7fffffff > 0x7f800000]
        rest = [w for w in words if w & 0x7fffffff <= 0x7f800000]
        if not rest or (nans and ".NaN" in self.red):
            return 0x7fffffff
        return (min if op == "min" else max)(rest, key=lambda w: ~w & 0xffffffff if w >> 31 else w | 1 << 31)


# ---- copies

class Copy(Test):
    def __init__(self, shape, where="", packed="", swizzle="none", column=8, group=1):
        self.shape, self.where, self.packed, self.column, self.group = shape, where, packed, column, group
        rows, bits = shape.split("x")
        self.rows, self.pieces = int(rows), int(bits[:-1]) // 128
        self.matrix = blocks.Matrix(self.rows, self.pieces * 128 // 32, 32, swizzle, 0)
        self.name = ".".join(w for w in (f"tcgen05.cp.cta_group::{group}", shape, where, packed) if w)
        self.label = f"{self.name} {swizzle}"

    def constants(self, rng):
        return struct.pack("<Q", self.matrix.encode(self.matrix.draw(rng, IMAGE_B)))

    def lines(self):
        return blocks.descriptor("y4", IMAGE_B) + ["or.b64 y4, y4, 0x400000000000", f"@q1 {self.name} [z6+{self.column}], y4"] + signal(self.group) + end(self.group)

    def change(self, cells, blobs):
        for own, blob in zip(cells, blobs):
            self.copy(own, self.matrix.read(blob, struct.unpack_from("<Q", blobs[0], IMAGE_B)[0]))

    def copy(self, cells, words):
        for (row, i), word in words.items():
            for lane in self.lanes(row):
                cells.rows[lane][self.column + i] = word
        if not self.packed:
            return
        bits, shift = (6, 0) if "b6" in self.packed else (4, 2)
        for row in range(self.rows):
            for piece in range(self.pieces):
                whole = sum(words[row, 4 * piece + i] << 32 * i for i in range(4))
                for i in range(4):
                    word = sum((whole >> bits * (4 * i + j) & (1 << bits) - 1) << 8 * j + shift for j in range(4))
                    for lane in self.lanes(row):
                        cells.rows[lane][self.column + 4 * piece + i] = word

    def lanes(self, row):
        if self.shape == "4x256b":
            return [32 * row]
        if self.where == "warpx4":
            return [row + 32 * i for i in range(4)]
        if self.where == "warpx2::02_13":
            return [row, row + 64]
        if self.where == "warpx2::01_23":
            return [row % 32 + row // 32 * 64 + 32 * i for i in range(2)]
        return [row]


class Shift(Test):
    """Eight columns of lanes 0 to 30 of each quarter from the address on become those of the lane below."""

    def __init__(self, quarter=0, column=16, group=1):
        self.quarter, self.column, self.group = quarter, column, group
        self.label = self.name = f"tcgen05.shift.cta_group::{group}.down"

    def lines(self):
        return [f"@q1 {self.name} [z6+{(32 * self.quarter << 16) + self.column}]"] + signal(self.group) + end(self.group)

    def change(self, cells, blobs):
        del blobs
        for own in cells:
            old = [row[:] for row in own.rows]
            for lane in range(32 * self.quarter, 128):
                if lane % 32 != 31:
                    own.rows[lane][self.column:self.column + 8] = old[lane + 1][self.column:self.column + 8]


def signal(group=1):
    """What thread 0 did is over for everybody."""
    told = ["@q1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [z9]"]
    if group == 2:
        told = [".reg .b16 both", "mov.u16 both, 3", "@q1 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [z9], both"]
    return told + ["again{name}: mbarrier.try_wait.parity.shared.b64 q2, [z9], 0", "@!q2 bra again{name}", "bar.sync 0"]


# ---- products

KINDS = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
NUMBER = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1}
D_COL, A_COL, SCALE_A_COL, SCALE_B_COL, META_COL = 0, 64, 96, 104, 112


class Narrow(blocks.Matrix):
    """Elements below a byte in pieces of sixteen, with padding behind, or of 4 bits without."""

    def __init__(self, outer, inner, width, swizzle, trans, padded):
        super().__init__(outer, inner, 128 // 16 if padded else width, swizzle, trans)
        self.bits = width

    def read(self, image, descriptor_bits):
        start, lead, stride = ((descriptor_bits >> at & 0x3fff) << 4 for at in (0, 16, 32))
        swizzle, out = blocks.SWIZZLES[self.swizzle][0], {}
        for o in range(self.outer):
            for k in range(self.inner):
                at = start + self.offset(o, k // self.unit * self.unit, lead, stride)
                at ^= (at >> 3) & ((1 << swizzle) - 1) << 4
                piece = int.from_bytes(image[at:at + 16], "little")
                out[o, k] = piece >> k % self.unit * self.bits & (1 << self.bits) - 1
        return out


class Mma(Test):
    def __init__(self, kind, m, n, d, a, b, a_from="none", b_from="none", trans=(0, 0), minus=(0, 0), off=False, divide=None, scale=None,
                 sparse=False, ws=False, sat=False, ids=(0, 0), group=1, ashift=False, zeros=None):
        self.kind, self.m, self.n, self.d, self.a, self.b, self.trans, self.minus, self.off = kind, m, n, d, a, b, trans, minus, off
        self.divide, self.scale, self.sparse, self.ws, self.sat, self.ids = divide, scale, sparse, ws, sat, ids
        self.group, self.ashift, self.zeros, self.rows = group, ashift, zeros, m // group
        self.stored = KINDS[kind]
        self.k = self.stored * (2 if sparse else 1)
        padded = kind in ("f8f6f4", "mxf8f6f4")
        self.a_matrix = None if a_from == "tensor" else self.matrix(self.rows, self.stored, a, a_from, trans[0], padded)
        self.b_matrix = self.matrix(n // group + (zeros["shift"] if zeros else 0), self.k, b, b_from, trans[1], padded)
        self.product = Product(Shape(16, 8, self.k), d, a, b, d, sparse=(0,) if sparse else None, sat=sat)
        words = ["tcgen05.mma", "ws" if ws else "", "sp" if sparse else "", f"cta_group::{group}", f"kind::{kind}"]
        if scale:
            words += ["block_scale", f"scale_vec::{scale[1]}X"]
        self.name = ".".join(w for w in words + ["ashift" if ashift else ""] if w)
        self.label = f"{self.name} m{m}n{n} {d} {a} {b} a {a_from} b {b_from} trans {trans} minus {minus} off {off} divide {divide} scale {scale} zeros {zeros}"

    @staticmethod
    def matrix(outer, inner, dtype, swizzle, trans, padded):
        width = num.WIDTH[dtype]
        return blocks.Matrix(outer, inner, width, swizzle, trans) if width >= 8 else Narrow(outer, inner, width, swizzle, trans, padded)

    def idesc(self):
        number = dict(NUMBER, e2m1=1) if self.kind.startswith("mxf4") else NUMBER
        word = number[self.a] << 7 | number[self.b] << 10 | self.minus[0] << 13 | self.minus[1] << 14 | self.trans[0] << 15 | self.trans[1] << 16
        word |= self.n >> 3 << 17 | self.m >> 4 << 24 | self.sparse << 2
        if self.scale:
            return word | (self.scale[0] == "ue8m0") << 23 | self.ids[0] << 29 | self.ids[1] << 4
        return word | {"f16": 0, "f32": 1, "s32": 2}[self.d] << 4 | self.sat << 3 | (3 << 30 if self.zeros else 0)

    def zeros_word(self):
        z = self.zeros
        if not z:
            return 0
        return sum(c << 8 * i for i, c in enumerate(z["start"])) | sum(f << 32 + i for i, f in enumerate(z["first"])) | z.get("on", 1) << 39 | \
            z["skip"] << 40 | z["use"] << 48 | z["shift"] << 56

    def lines(self):
        a = "y4" if self.a_matrix else f"[z6+{A_COL}]"
        ops = [f"[z6+{D_COL}]", a, "y5"] + ([f"[z6+{META_COL}]"] if self.sparse else []) + ["z145"]
        if self.scale:
            ops += [f"[z6+{SCALE_A_COL}]", f"[z6+{SCALE_B_COL}]"]
        if self.off:
            ops.append(vector(146, 4 * self.group))
        ops.append("q3")
        if self.divide is not None:
            ops.append(str(self.divide))
        if self.zeros:
            ops.append("y8")
        lines = blocks.descriptor("y4", IMAGE_B) + blocks.descriptor("y5", IMAGE_B + 8)
        lines += [f"or.b64 {y}, {y}, 0x400000000000" for y in ("y4", "y5")]
        lines += [f"ld.global.b32 z{144 + i}, [%in+{IMAGE_B + 16 + 4 * i}]" for i in range(10)] + [f"ld.global.b64 y8, [%in+{IMAGE_B + 56}]"]
        return lines + ["setp.ne.b32 q3, z144, 0", f"@q1 {self.name} {', '.join(ops)}"] + signal(self.group) + end(self.group)

    # ---- what goes in

    def draw(self, rng):
        p, box = self.product, self.box()
        pool = [self.draw_word(rng) for _ in range(512)]
        image = struct.pack(f"<{IMAGE_B // 4}I", *rng.choices(pool, k=IMAGE_B // 4))
        a = self.a_matrix.encode(self.a_matrix.draw(rng, IMAGE_B)) if self.a_matrix else 0
        b = self.b_matrix.encode(self.b_matrix.draw(rng, IMAGE_B))
        off = [rng.getrandbits(32) if self.off else 0 for _ in range(8)]
        constants = struct.pack("<QQII8IQ", a, b, rng.random() < 0.7, self.idesc(), *off, self.zeros_word())
        rows = [[rng.getrandbits(32) for _ in range(COLUMNS)] for _ in range(128)]
        shift = 2 if box == 8 and num.WIDTH[self.a] == 4 else 0
        sums = [p.draw_register(rng, self.d, 32 if self.d != "f16" else 16) for _ in range(512)]
        factors = [sum(p.draw_element(rng, self.a) << (i * box + shift) for i in range(32 // box)) for _ in range(512)]
        metadata = [p.draw_metadata(rng) for _ in range(512)]
        for row in rows:
            row[:A_COL] = rng.choices(sums, k=A_COL)
            row[A_COL:SCALE_A_COL] = rng.choices(factors, k=SCALE_A_COL - A_COL)
            row[META_COL:] = rng.choices(metadata, k=COLUMNS - META_COL)
        if self.scale:
            self.draw_scales(rng, rows)
        return image + constants.ljust(CONST_B, b"\0") + b"".join(struct.pack(f"<{COLUMNS}I", *row) for row in rows)

    def draw_word(self, rng):
        dtype = rng.choice((self.a, self.b))
        width = num.WIDTH[dtype]
        if width in (4, 6):
            return rng.getrandbits(32)
        return self.product.draw_register(rng, dtype, width) & 0xffffffff

    def draw_scales(self, rng, rows):
        wild = rng.random() < 0.3
        for col in range(SCALE_A_COL, META_COL):
            for lane in range(32):
                if self.scale[0] == "ue8m0":
                    word = sum((rng.randrange(100, 154) if not wild or rng.random() < 0.98 else rng.getrandbits(8)) << 8 * i for i in range(4))
                else:
                    word = sum((rng.randrange(0x7f) if not wild or rng.random() < 0.98 else 0x7f) << 8 * i for i in range(4))
                for quarter in range(4):
                    rows[lane + 32 * quarter][col] = word
        if self.halves():  # each half of the columns has its scales in half of the lanes
            for col in range(SCALE_B_COL, META_COL):
                for lane in range(64, 128):
                    rows[lane][col] = rows[lane - 64][col] ^ (0x01010101 if self.scale[0] == "ue8m0" else 0x02020202)

    def box(self):
        return 8 if self.kind in ("f8f6f4", "mxf8f6f4") else num.WIDTH[self.a]

    # ---- what comes out

    def halves(self):
        """Two blocks have 64 rows each, and the halves of d's columns below each other."""
        return self.group == 2 and self.m == 128 and not self.sparse

    def lane(self, row):
        """Of a row of a block, CuTe's tmem_frg; 64 rows that are not for both halves have 16 in each quarter."""
        scattered = self.rows == 64 and not self.ws and not self.halves()
        return row % 16 + row // 16 * 32 if scattered else row

    def place(self, row, col):
        """Block, lane and column of an element of d."""
        block, own = divmod(row, self.rows)
        parts = 2 if self.halves() else 128 // self.rows if self.ws else 1
        part = self.n // parts
        return block, self.lane(own) + col // part * self.rows, col % part

    def a_elements(self, cells, blobs):
        """Of both blocks, by the descriptor that the first one has."""
        if self.a_matrix:
            read = [self.a_matrix.read(blob, struct.unpack_from("<Q", blobs[0], IMAGE_B)[0]) for blob in blobs]
            return {(r + g * self.rows, k): bits for g, matrix in enumerate(read) for (r, k), bits in matrix.items()}
        box, width = self.box(), num.WIDTH[self.a]
        shift, per, out = 2 if box == 8 and width == 4 else 0, 32 // box, {}
        for r in range(self.m):
            lane = self.lane(r % self.rows)
            lane += self.ashift and lane % 32 != 31
            for k in range(self.stored):
                out[r, k] = cells[r // self.rows].rows[lane][A_COL + k // per] >> (k % per * box + shift) & (1 << width) - 1
        return out

    def b_elements(self, blobs):
        read = [self.b_matrix.read(blob, struct.unpack_from("<Q", blobs[0], IMAGE_B + 8)[0]) for blob in blobs]
        shift = self.zeros["shift"] if self.zeros else 0
        whole = {(c + g * (self.n // self.group) - shift, k): num.DECODE[self.b](bits) for g, matrix in enumerate(read) for (c, k), bits in matrix.items()}
        return {(c, k): 0 if self.is_zero(c) else x for (c, k), x in whole.items() if c >= 0}

    def is_zero(self, col):
        """The manual's mask, from its least significant bit on."""
        z = self.zeros
        if not z or not z.get("on", 1):
            return False
        part = self.n // (128 // self.m)
        zero, spans = z["first"][col // part], (z["use"] + 1, z["skip"] + 1)
        left = max(spans[zero] - z["start"][col // part], 1)
        for _ in range(col % part):
            left -= 1
            if not left:
                zero = 1 - zero
                left = spans[zero]
        return zero == 1

    def columns(self, cells, row):
        if not self.sparse:
            return [(j, j) for j in range(self.k)]
        rows, row = cells[row // self.rows].rows, row % self.rows
        width, lane = num.WIDTH[self.a], self.lane(row // 16 * 16) + row % 8
        if width >= 16:  # CuTe's tmem_e_frg: ((8,2,8),(16,2)):((1,2048,16),(128,8)) for f16
            meta = sum((rows[lane + 8 * i][META_COL] >> 16 * (row % 16 // 8) & 0xffff) << 16 * i for i in range(2))
        else:
            meta = rows[self.lane(row)][META_COL] | rows[self.lane(row)][META_COL + 1] << 32
        if self.a == "tf32":
            return [(j, 2 * j + (meta >> 4 * j & 15 == 0b1110)) for j in range(self.stored)]
        if self.kind.startswith("mxf4"):
            return [(j, 8 * (j // 4) + 2 * (meta >> 2 * (j // 2) & 3) + j % 2) for j in range(self.stored)]
        return [(j, 4 * (j // 2) + (meta >> 2 * j & 3)) for j in range(self.stored)]

    def scale_of(self, cells, block, line, part, which):
        """CuTe's tmem_sf_frg; `line` is a row of a or a column of b, `part` a span of k that has one scale."""
        half = 0
        if which == 0 and self.group == 2 and self.m == 256:
            line %= self.rows
        if which == 1 and self.halves():
            half, line = divmod(line, self.n // 2)
        word = cells[block].rows[line % 32 + 64 * half][(SCALE_A_COL, SCALE_B_COL)[which] + line // 32]
        return num.DECODE[self.scale[0]](word >> 8 * (self.ids[which] + part) & 0xff)

    def change(self, cells, blobs):
        sign = -1 if self.minus[0] != self.minus[1] else 1
        a = {at: sign * num.DECODE[self.a](bits) for at, bits in self.a_elements(cells, blobs).items()}
        b = self.b_elements(blobs)
        accumulate = struct.unpack_from("<I", blobs[0], IMAGE_B + 16)[0]
        off = struct.unpack_from("<8I", blobs[0], IMAGE_B + 24)
        old = [[row[:] for row in own.rows] for own in cells]
        scale = functools.cache(lambda *where: self.scale_of(cells, *where))
        for row in range(self.m):
            columns = self.columns(cells, row)
            for col in range(self.n):
                block, lane, column = self.place(row, col)
                if off[4 * block + lane // 32] >> lane % 32 & 1:
                    continue
                total = num.DECODE[self.d](old[block][lane][column] & (1 << num.WIDTH[self.d]) - 1) if accumulate else 0
                if self.divide and accumulate:
                    total = num.round_f32(total * 2.0 ** -self.divide)
                cells[block].rows[lane][column] = self.product.encode(self.dot(scale, a, b, total, row, col, columns))

    def dot(self, scale, a, b, total, row, col, columns):
        if self.d == "s32":
            total += sum(a[row, j] * b[col, k] for j, k in columns)
            return min(max(total, -2 ** 31), 2 ** 31 - 1) if self.sat else total
        block, span = row // self.rows, self.scale and self.k // self.scale[1]
        if cores.arch:
            scales = [[scale(block, line, k // span, which) if self.scale else 1.0 for which, line in enumerate((row, col))] for _, k in columns]
            factors = [(a[row, j], b[col, k], *both) for (j, k), both in zip(columns, scales)]
            return cores.total(factors, total, (self.a, self.b, self.d, self.d, self.scale and self.scale[0]), "tcgen05", self.k, bool(self.scale))
        for j, k in columns:
            product = a[row, j] * b[col, k]
            if self.scale:
                product = num.round_f32(product * (scale(block, row, k // span, 0) * scale(block, col, k // span, 1)))
            total = num.add_f32(product, total)
        return total


# ---- all of them

def moves(every):
    made = []
    for i, shape in enumerate(PER):
        for load in (False, True):
            for j, times in enumerate((1, 2, 4, 8, 16, 32, 64, 128)):
                if times * PER[shape] > 128 or times * WIDE[shape] > COLUMNS or not (every or (i + j + load) % 3 == 0):
                    continue
                for pack in (False, True):
                    wide = times * WIDE[shape] * (1 + pack)
                    if wide > COLUMNS:
                        continue
                    column = min(COLUMNS - wide, 3 * j)
                    made.append(Move(load, shape, times, pack, 0 if shape == "32x32b" else 16 * (j % 2), column,
                                     min(5, COLUMNS - wide - column) if shape == "16x32bx2" else 0))
    return made


def reductions():
    return [Move(True, "32x32b", 4, red="max.f32"), Move(True, "32x32b", 16, red="min.abs.NaN.f32", column=7), Move(True, "16x32bx2", 8, red="min.s32", split=9),
            Move(True, "32x32b", 2, red="max.u32"), Move(True, "32x32b", 32, red="max.abs.f32")]


def copies():
    made = [Copy("128x256b", swizzle=s) for s in ("none", "128", "64", "32")] + [Copy("4x256b"), Copy("128x128b", swizzle="128"), Copy("128x128b")]
    made += [Copy("64x128b", w) for w in ("warpx2::02_13", "warpx2::01_23")] + [Copy("32x128b", "warpx4"), Copy("32x128b", "warpx4", column=31)]
    return made + [Copy("128x256b", packed="b8x16.b6x16_p32"), Copy("32x128b", "warpx4", "b8x16.b4x16_p64"), Copy("128x128b", packed="b8x16.b4x16_p64")]


def products(every):
    layouts = ("none", "128", "64", "32")
    types = [("f16", "f32", "f16", "f16"), ("f16", "f16", "f16", "f16"), ("f16", "f32", "bf16", "bf16"), ("tf32", "f32", "tf32", "tf32"),
             ("f8f6f4", "f32", "e4m3", "e5m2"), ("f8f6f4", "f16", "e5m2", "e2m1"), ("f8f6f4", "f32", "e2m3", "e3m2"), ("f8f6f4", "f32", "e2m1", "e4m3"),
             ("i8", "s32", "s8", "u8"), ("i8", "s32", "u8", "u8")]
    for i, (kind, d, a, b) in enumerate(types):
        wide = num.WIDTH[a] >= 8 and num.WIDTH[b] >= 8 and kind != "tf32"
        for j, (x, y) in enumerate((x, y) for x in ("tensor",) + layouts for y in layouts):
            if (i + j) % (3 if every else 17):
                continue
            m = (128, 64)[(i + j) % 2]
            trans = ((j // 2 % 2) if x != "tensor" and wide else 0, j % 2 if wide else 0)
            minus = (j % 2, j // 4 % 2) if kind != "i8" else (0, 0)
            yield Mma(kind, m, (16, 32, 48)[j % 3 if every else 0] if m == 128 else (8, 24)[j % 2], d, a, b, x, y, trans, minus, off=j % 3 == 0,
                      divide=(j % 4 or None) if kind in ("f16", "tf32") else None, sat=kind == "i8" and j % 2 == 1)
    for j, (a, b, x, y) in enumerate((("e4m3", "e4m3", "128", "128"), ("e2m1", "e3m2", "none", "64"), ("e5m2", "e2m3", "tensor", "32"), ("e2m3", "e2m1", "64", "none"))):
        if every or j % 2:
            yield Mma("mxf8f6f4", 128, 16 + 8 * j, "f32", a, b, x, y, scale=("ue8m0", 1), ids=(j, 3 - j))
    for j, (kind, scale) in enumerate((("mxf4", ("ue8m0", 2)), ("mxf4nvf4", ("ue8m0", 2)), ("mxf4nvf4", ("ue4m3", 4)), ("mxf4nvf4", ("ue8m0", 4)))):
        for k, (x, y) in enumerate((("128", "128"), ("tensor", "64"), ("none", "32"))):
            if every or j == k + 1:
                yield Mma(kind, 128, 40 if every else 16, "f32", "e2m1", "e2m1", x, y, scale=scale, ids=(0, 2) if scale[1] == 2 else (0, 0), minus=(k % 2, 0))
    for kind, d, a, b in (types[0], types[2], types[3], types[4], types[8]) if every else (types[0], types[8]):
        for m in (32, 64, 128) if every else (32,):
            yield Mma(kind, m, 64, d, a, b, "128", "none" if m == 64 else "64", ws=True)
        yield Mma(kind, 64, 64, d, a, b, "tensor", "128", ws=True)
    for kind, d, a, b in (types[0], types[3], types[4], types[8]):
        yield Mma(kind, 128, 16, d, a, b, "none", "128", sparse=True)
        if every or kind == "f16":
            yield Mma(kind, 64, 64, d, a, b, "tensor", "none", sparse=True, ws=True)
    yield Mma("mxf8f6f4", 128, 16, "f32", "e4m3", "e5m2", "32", "64", scale=("ue8m0", 1), sparse=True)
    yield Mma("mxf4nvf4", 128, 16, "f32", "e2m1", "e2m1", "tensor", "128", scale=("ue4m3", 4), sparse=True)


def shifts():
    return [Shift(), Shift(2, 40), Shift(group=2)]


def zeros(start, first, skip, use, shift=0, on=1):
    return {"start": start, "first": first, "skip": skip, "use": use, "shift": shift, "on": on}


def masks(every):
    """The examples of the manual, and spans that are over sooner than they begin."""
    f16, i8 = ("f16", "f32", "f16", "f16"), ("i8", "s32", "s8", "u8")
    for kind, d, a, b in (f16, i8) if every else (f16,):
        yield Mma(kind, 128, 64, d, a, b, "none", "128", ws=True, zeros=zeros((0, 0, 0, 0), (0, 0, 0, 0), 2, 3))
        yield Mma(kind, 64, 64, d, a, b, "tensor", "none", ws=True, zeros=zeros((0, 0, 0, 0), (1, 0, 0, 0), 2, 3))
        yield Mma(kind, 32, 128 if every else 64, d, a, b, "128", "64", ws=True, zeros=zeros((0, 1, 2, 1), (1, 1, 0, 0), 2, 3, 2))
        yield Mma(kind, 64, 64, d, a, b, "64", "128", trans=(0, 1), ws=True, zeros=zeros((200, 7, 0, 0), (0, 1, 0, 0), 4, 6, 19))
        yield Mma(kind, 128, 64, d, a, b, "none", "none", ws=True, zeros=zeros((0, 0, 0, 0), (1, 1, 1, 1), 4, 3, 32, 0))


def shifted(every):
    for group, m in ((1, 128), (2, 256), (2, 128)) if every else ((1, 128), (2, 128)):
        yield Mma("f16", m, 32, "f32", "bf16", "bf16", "tensor", "128", ashift=True, group=group)
        if every:
            yield Mma("i8", m, 32, "s32", "s8", "s8", "tensor", "none", ashift=True, group=group)


def pairs(every):
    """Products of two blocks."""
    yield Copy("128x256b", swizzle="128", group=2)
    yield Copy("32x128b", "warpx4", group=2)
    types = [("f16", "f32", "f16", "f16"), ("tf32", "f32", "tf32", "tf32"), ("f8f6f4", "f16", "e4m3", "e5m2"), ("f8f6f4", "f32", "e2m3", "e2m1"),
             ("i8", "s32", "s8", "u8"), ("f16", "f16", "f16", "f16")]
    for i, (kind, d, a, b) in enumerate(types if every else types[:1] + types[4:5]):
        n = 32 if kind == "i8" or not every else 48 - 16 * (i % 2)
        for m in (256, 128):
            wide = num.WIDTH[a] >= 8 and num.WIDTH[b] >= 8 and kind != "tf32"
            yield Mma(kind, m, n, d, a, b, "tensor" if i % 2 else "128", "64", (0, wide), off=m == 256, group=2, divide=3 if i == 0 else None)
            if every or kind == "f16":
                yield Mma(kind, m, 32, d, a, b, "none", "128", sparse=True, off=m == 128, group=2)
    scaled = [("mxf8f6f4", "e4m3", "e5m2", ("ue8m0", 1), (1, 2)), ("mxf4", "e2m1", "e2m1", ("ue8m0", 2), (2, 0)), ("mxf4nvf4", "e2m1", "e2m1", ("ue4m3", 4), (0, 0))]
    for i, (kind, a, b, scale, ids) in enumerate(scaled):
        for m in (256, 128):
            if every or (i + m // 128) % 2:
                yield Mma(kind, m, 64 if m == 128 else 48, "f32", a, b, "tensor" if i == 1 else "128", "64", scale=scale, ids=ids, group=2)
    yield Mma("mxf8f6f4", 256, 16, "f32", "e4m3", "e4m3", "none", "128", scale=("ue8m0", 1), sparse=True, group=2)


def more(every):
    """64 rows that are sparse, eight columns of 128 rows."""
    for kind, d, a, b in (("f16", "f32", "f16", "f16"), ("f8f6f4", "f32", "e4m3", "e4m3")):
        yield Mma(kind, 64, 16, d, a, b, "none", "128", sparse=True)
        yield Mma(kind, 128, 8, d, a, b, "128", "none")
        if every:
            yield Mma(kind, 64, 24, d, a, b, "tensor", "64", sparse=True)


def forms(every):
    made = moves(every) + reductions() + copies() + shifts()
    for some in (products, masks, shifted, pairs, more):
        made += list(some(every))
    return [t.form() for t in made]
