"""What an operand of a row is: how many bits, and which values are worth trying."""
import floats


class Kind:
    def __init__(self, bits, boundaries, draw_random):
        self.bits, self.boundaries, self.draw_random = bits, boundaries, draw_random

    def draw(self, rng):
        if self.boundaries and rng.random() < 0.4:
            return rng.choice(self.boundaries)
        return self.draw_random(rng)


def draw_int(bits):
    def draw(rng):
        x = rng.getrandbits(bits)
        how = rng.randrange(4)
        if how == 0:  # few bits
            return x & (1 << rng.randrange(1, bits + 1)) - 1
        if how == 1:  # a small negative number
            return -(x & (1 << rng.randrange(1, bits))) & (1 << bits) - 1
        return x
    return draw


def integer(bits):
    top, ones = 1 << bits - 1, (1 << bits) - 1
    edges = {0, 1, 2, ones, ones - 1, top, top - 1, top + 1}
    edges |= {v & ones for n in (7, 8, 15, 16, 31, 32) if n < bits for s in (1, -1) for v in (s << n, (s << n) - 1, (s << n) + 1)}
    return Kind(bits, sorted(edges), draw_int(bits))


def packed(element, count):
    """A register of `count` elements that are drawn by themselves."""
    bits = element.bits

    def draw(rng):
        return sum(element.draw(rng) << bits * i for i in range(count))
    return Kind(bits * count, [], draw)


def small(bits, limit):
    """A count or position: mostly near what it is compared with."""
    edges = [0, 1, limit - 1, limit, limit + 1, 255, 256, (1 << bits) - 1]
    return Kind(bits, edges, lambda rng: rng.randrange(limit + 2))


PRED = Kind(1, [], lambda rng: rng.getrandbits(1))
I8, I16, I32, I64 = (integer(n) for n in (8, 16, 32, 64))
BYTES, HALVES = packed(I8, 4), packed(I16, 2)
COUNT32 = small(32, 32)


def number(fmt):
    return Kind(fmt.bits, floats.edges(fmt), floats.draw_float(fmt))


def numbers_near(wide, narrow):
    """`wide` numbers that are hard to round to `narrow`, and any others."""
    draw_near, draw_any = floats.near(wide, narrow), floats.draw_float(wide)
    return Kind(wide.bits, floats.edges(wide), lambda rng: (draw_near if rng.random() < 0.7 else draw_any)(rng))


F16, BF16, F32, F64 = (number(f) for f in (floats.F16, floats.BF16, floats.F32, floats.F64))
