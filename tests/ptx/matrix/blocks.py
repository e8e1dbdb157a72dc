"""Forms that are whole kernels of a block of 128 threads: a blob of memory in, words out."""
import struct

from products import Form

SLOT_B = 256  # of one input or output in memory, see entry() in test_matrix.py
THREADS = 128
IMAGE_B = 32768
SHARED = f".shared .align 1024 .b8 image[{IMAGE_B}]; .shared .align 8 .b64 bars; .shared .align 4 .b32 slot;\n"


def slots(size_B):
    return (size_B + SLOT_B - 1) // SLOT_B


def to_slots(blob):
    blob = bytes(blob).ljust(slots(len(blob)) * SLOT_B, b"\0")
    return [list(words) for words in struct.iter_unpack("<32Q", blob)]


def from_slots(regs):
    return b"".join(struct.pack("<32Q", *regs[f"m{i}"]) for i in range(len(regs)))


def loop(name, times, lines):
    """z140 counts."""
    return ["mov.u32 z140, 0", f"{name}: add.u32 z140, z140, 1", *lines, f"setp.lt.u32 q2, z140, {times}", f"@q2 bra {name}"]


def begin(image_B):
    """%in and %out are those of the block, `image` holds what %in begins with, z0 is where it lies."""
    lines = [".reg .b32 z<160>", ".reg .b64 y<16>", ".reg .pred q<4>", "mul.wide.u32 %at, %t, 8", "sub.u64 %in, %in, %at", "sub.u64 %out, %out, %at",
             "mov.u32 z0, image", "mad.lo.u32 z1, %t, 16, z0", "mul.wide.u32 y0, %t, 16", "add.u64 y0, y0, %in"]
    step = 16 * THREADS
    lines += loop("image_next", image_B // step, ["ld.global.v4.b32 {{z2, z3, z4, z5}}, [y0]", "st.shared.v4.b32 [z1], {{z2, z3, z4, z5}}",
                                                  f"add.u64 y0, y0, {step}", f"add.u32 z1, z1, {step}"])
    return lines + ["fence.proxy.async", "bar.sync 0", "mul.wide.u32 y0, %t, 4", "add.u64 y1, y0, %in", "add.u64 y2, y0, %out",
                    "shr.u32 z1, z0, 4", "cvt.u64.u32 y3, z1"]


def descriptor(reg, at):
    """Register `reg`: the descriptor at byte `at` of the input, which says where in `image` a matrix begins."""
    return [f"ld.global.b64 {reg}, [%in+{at}]", f"add.u64 {reg}, {reg}, y3"]


def form(name, lines, in_B, out_B, draw, oracle, arch, pair=False):
    """draw(rng) -> bytes of in_B; oracle(bytes) -> bytes of out_B, or of a pair two of each. `name` is what --forms looks at."""
    text = ";\n  ".join(lines)
    made = Form(text, [(f"m{i}", 64) for i in range(slots(in_B))], [64] * slots(out_B),
                lambda rng: {f"m{i}": s for i, s in enumerate(to_slots(draw(rng)))},
                lambda *regs: [to_slots(out) for out in oracle(*map(from_slots, regs))] if pair else to_slots(oracle(from_slots(*regs))))
    made.raw, made.threads, made.arch, made.name, made.pair = True, THREADS, arch, name, pair
    return made


# ---- matrices in shared memory, as CuTe writes the layouts that descriptors stand for

SWIZZLES = {"none": (0, 16, 0), "128": (3, 128, 1), "64": (2, 64, 2), "32": (1, 32, 3)}  # bits, bytes of a run, code in bits 62-63


class Matrix:
    """Of `outer` rows (of a) or columns (of b) and `inner` columns or rows along k."""

    def __init__(self, outer, inner, width, swizzle, trans):
        self.outer, self.inner, self.width, self.swizzle, self.trans = outer, inner, width, swizzle, trans
        self.unit = 128 // width  # elements of 16 bytes

    def offset(self, o, k, lead, stride):
        """Bytes from the start, before the swizzle: Swizzle<B,4,3> o ((8,m),(T,2k)) or ((T,w,m),(8,k))."""
        t, run = self.unit, SWIZZLES[self.swizzle][1]
        if not self.trans:
            beyond = lead if self.swizzle == "none" else 16
            return o % 8 * run + o // 8 * stride + k // t * beyond + k % t * self.width // 8
        w = run // 16
        within = o % t * self.width // 8
        if self.swizzle == "none":
            return within + o // t * stride + k % 8 * 16 + k // 8 * lead
        return within + o // t % w * 16 + o // (t * w) * lead + k % 8 * run + k // 8 * stride

    def draw(self, rng, size_B):
        """(start, lead, stride) in bytes, of a matrix inside of `size_B`."""
        def some(most, step=16):
            return rng.randrange(0, max(most // step, 0) + 1) * step
        bits, run, _ = SWIZZLES[self.swizzle]
        pattern = 128 << bits
        while True:
            lead, stride = some(2048), some(2048)
            last = self.offset(self.outer - 1, self.inner - 1, lead, stride)
            if last + 2 * pattern <= size_B:
                break
        start = some(size_B - 2 * pattern - last, pattern)
        if not self.trans and bits and self.inner * self.width // 8 < run:
            start += some(run - self.inner * self.width // 8, 32)  # a later step along k
        return start, lead, stride

    def encode(self, place):
        start, lead, stride = place
        return start >> 4 | (lead >> 4) << 16 | (stride >> 4) << 32 | SWIZZLES[self.swizzle][2] << 62

    def read(self, image, descriptor_bits):
        """{(outer, inner): bits}"""
        start, lead, stride = ((descriptor_bits >> at & 0x3fff) << 4 for at in (0, 16, 32))
        bits, out = SWIZZLES[self.swizzle][0], {}
        for o in range(self.outer):
            for k in range(self.inner):
                at = start + self.offset(o, k, lead, stride)
                at ^= (at >> 3) & ((1 << bits) - 1) << 4
                out[o, k] = int.from_bytes(image[at:at + max(self.width // 8, 1)], "little")
        return out
