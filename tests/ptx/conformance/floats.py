"""Binary floating point on Python's integers: numbers are m * 2**e, rounding looks at every bit that is dropped."""


class Format:
    """top: what the largest exponent holds. "ieee": infinities and NaNs; "nan": numbers, all ones is the NaN; "numbers"."""

    def __init__(self, exp_bits, frac_bits, top="ieee"):
        self.exp_bits, self.frac_bits, self.top = exp_bits, frac_bits, top
        self.bits = 1 + exp_bits + frac_bits
        self.sign = 1 << self.bits - 1
        self.bias = (1 << exp_bits - 1) - 1
        self.low = 1 - self.bias - frac_bits  # exponent of the smallest denormal
        self.inf = ((1 << exp_bits) - 1) << frac_bits
        self.max = {"ieee": self.inf - 1, "nan": self.sign - 2, "numbers": self.sign - 1}[top]
        self.nan = self.sign - 1

    def take(self, x):
        """("nan" or "inf" or "num", sign, m, e) of these bits."""
        sign, magnitude = int(bool(x & self.sign)), x & self.sign - 1
        if magnitude > self.max:
            return ("inf" if self.top == "ieee" and magnitude == self.inf else "nan"), sign, 0, 0
        exp, frac = magnitude >> self.frac_bits, magnitude & (1 << self.frac_bits) - 1
        return "num", sign, frac | bool(exp) << self.frac_bits, self.low + max(exp - 1, 0)

    def put(self, sign, m, e, mode="rn", random=None):
        """m * 2**e rounded; random: (number, its bits) for mode rs."""
        if m == 0:
            return self.sign * sign
        place = max(m.bit_length() - 1 + e - self.frac_bits, self.low)
        m = round_to(m, e, place, mode, sign, random)
        bits = (place - self.low << self.frac_bits) + m
        if bits > self.max:
            bits = self.overflow(mode, sign)
        return self.sign * sign | bits

    def overflow(self, mode, sign):
        if mode == "rz" or mode == ("rp" if sign else "rm"):
            return self.max
        return self.infinity()

    def infinity(self):
        return {"ieee": self.inf, "nan": self.nan, "numbers": self.max}[self.top]


def round_to(m, e, place, mode, sign, random=None):
    """m * 2**e as a multiple of 2**place."""
    if e >= place:
        return m << e - place
    drop = place - e
    keep, rest, half = m >> drop, m & (1 << drop) - 1, 1 << drop - 1
    if mode == "rs":
        number, bits = random
        return keep + ((rest << bits) + (number << drop) >= 1 << drop + bits)
    up = {"rn": rest > half or (rest == half and keep & 1), "rna": rest >= half, "rz": False,
          "rm": sign and rest, "rp": not sign and rest}[mode]
    return keep + bool(up)


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
TF32 = Format(8, 10)
E5M2, E4M3 = Format(5, 2), Format(4, 3, "nan")
E3M2, E2M3, E2M1 = (Format(e, m, "numbers") for e, m in ((3, 2), (2, 3), (2, 1)))


def edges(fmt):
    """Bit patterns at the ends of everything."""
    one = fmt.bias << fmt.frac_bits
    base = [0, 1, 2, (1 << fmt.frac_bits) - 1, 1 << fmt.frac_bits, (1 << fmt.frac_bits) + 1, one - 1, one, one + 1,
            fmt.max - 1, fmt.max]
    if fmt.top == "ieee":
        base += [fmt.inf, fmt.inf + 1, fmt.nan, fmt.inf | 1 << fmt.frac_bits - 1]
    if fmt.top == "nan":
        base += [fmt.nan]
    return base + [b | fmt.sign for b in base]


def draw_float(fmt):
    def draw(rng):
        how = rng.randrange(4)
        frac = rng.getrandbits(fmt.frac_bits)
        if how == 0:  # few digits: sums and products are ties
            frac &= -1 << rng.randrange(fmt.frac_bits + 1)
        exp = rng.getrandbits(fmt.exp_bits)
        if how in (1, 2):  # near 1
            exp = max(0, min((1 << fmt.exp_bits) - 1, fmt.bias + rng.randrange(-12, 13)))
        return (rng.getrandbits(1) << fmt.exp_bits | exp) << fmt.frac_bits | frac
    return draw


def near(wide, narrow):
    """Numbers of `wide` around those of `narrow`, around the middles between them and around its ends."""
    def draw(rng):
        x = rng.randrange(narrow.max + 2)
        kind, _, m, e = narrow.take(min(x, narrow.max))
        assert kind == "num"
        m, e = (m << 8) + rng.choice((0, 0, 128, 128, rng.randrange(256))), e - 8
        m = (m << 20) + rng.choice((0, 0, -1, 1, rng.randrange(-1000, 1000)))
        return wide.put(rng.getrandbits(1), max(m, 0), e - 20, "rz")
    return draw
