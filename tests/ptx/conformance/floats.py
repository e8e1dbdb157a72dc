"""Binary floating point on Python's integers: numbers are m * 2**e, rounding looks at every bit that is dropped."""
import math
import operator


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


def operate(fmt, op, xs, mode="rn", ftz=False, sat=False, relu=False, to=None):
    """add, sub, mul, fma, div, sqrt, rcp: exact, one rounding, then NaNs and the modifiers. to: the format of the result."""
    to = to or fmt
    sources = [fmt] * (len(xs) - 1) + [to] if to is not fmt else [fmt] * len(xs)
    nans = [x for x, f in zip(xs, sources) if f.take(x)[0] == "nan"]
    taken = [flush(f.take(x), f) if ftz else f.take(x) for x, f in zip(xs, sources)]
    kind, sign, m, e = OPERATIONS[op](taken, mode) if not nans else ("nan", 0, 0, 0)
    if kind == "nan":
        r = to.nan
        if to is F64:  # the first NaN, quieted, or the one that is made
            r = nans[0] | 1 << 51 if nans else 0xfff8 << 48
    elif kind == "inf":
        r = to.sign * sign | to.inf
    else:
        r = to.put(sign, m, e, mode)
        if ftz and m and is_tiny(to, sign, m, e, mode):
            r = to.sign * sign
    if sat:
        one = to.bias << to.frac_bits
        r = 0 if kind == "nan" or r & to.sign else min(r, one)
    return 0 if relu and r & to.sign and kind != "nan" else r


def flush(number, fmt):
    kind, sign, m, e = number
    return (kind, sign, 0, 0) if kind == "num" and not m >> fmt.frac_bits else number


def is_tiny(fmt, sign, m, e, mode):
    """Below the smallest normal number after rounding as if there were no smallest exponent?"""
    place = m.bit_length() - 1 + e - fmt.frac_bits
    rounded = round_to(m, e, place, mode, sign)
    return rounded.bit_length() - 1 + place < fmt.low + fmt.frac_bits


def add(xs, mode):
    (ka, sa, ma, ea), (kb, sb, mb, eb) = xs
    if "inf" in (ka, kb):
        if ka == kb and sa != sb:
            return "nan", 0, 0, 0
        return "inf", sa if ka == "inf" else sb, 0, 0
    if not ma and not mb:
        return "num", sa if sa == sb else int(mode == "rm"), 0, 0
    e = min(ea, eb) if ma and mb else ea if ma else eb
    a, b = (m << x - e if m else 0 for m, x in ((ma, ea), (mb, eb)))
    total = (-a if sa else a) + (-b if sb else b)
    sign = int(total < 0) if total else int(mode == "rm")
    return "num", sign, abs(total), e


def sub(xs, mode):
    kind, sign, m, e = xs[1]
    return add([xs[0], (kind, 1 - sign, m, e)], mode)


def mul(xs, _):
    (ka, sa, ma, ea), (kb, sb, mb, eb) = xs
    if "inf" in (ka, kb):
        zero = (ka == "num" and not ma) or (kb == "num" and not mb)
        return ("nan", 0, 0, 0) if zero else ("inf", sa ^ sb, 0, 0)
    return "num", sa ^ sb, ma * mb, ea + eb


def fma(xs, mode):
    product = mul(xs[:2], mode)
    return product if product[0] == "nan" else add([product, xs[2]], mode)


def div(xs, _):
    (ka, sa, ma, ea), (kb, sb, mb, eb) = xs
    sign = sa ^ sb
    if ka == "inf" or kb == "inf":
        return ("nan", 0, 0, 0) if ka == kb else ("inf", sign, 0, 0) if ka == "inf" else ("num", sign, 0, 0)
    if not mb:
        return ("inf", sign, 0, 0) if ma else ("nan", 0, 0, 0)
    q, r = divmod(ma << 200, mb)
    return "num", sign, q << 1 | bool(r), ea - eb - 201


def rcp(xs, mode):
    return div([("num", 0, 1, 0), xs[0]], mode)


def sqrt(xs, _):
    kind, sign, m, e = xs[0]
    if sign and (kind == "inf" or m):
        return "nan", 0, 0, 0
    if kind == "inf" or not m:
        return xs[0]
    shift = 200 + (e & 1)
    root = math.isqrt(m << shift)
    return "num", 0, root << 1 | (root * root != m << shift), (e - shift) // 2 - 1


OPERATIONS = {"add": add, "sub": sub, "mul": mul, "fma": fma, "div": div, "rcp": rcp, "sqrt": sqrt}


def key(fmt, x):
    """A number's place in the order; -0 and +0 are neighbours."""
    magnitude = x & fmt.sign - 1
    return -magnitude - 1 if x & fmt.sign else magnitude


def min_max(fmt, xs, largest, nan_wins=False, xorsign=False, absolute=False, ftz=False):
    if ftz:
        xs = [x & fmt.sign if not x & fmt.inf and fmt.take(x)[0] == "num" else x for x in xs]
    sign = 0
    if xorsign:
        sign = (xs[0] ^ xs[1]) & fmt.sign
    if xorsign or absolute:
        xs = [x & ~fmt.sign for x in xs]
    nans = [x for x in xs if fmt.take(x)[0] == "nan"]
    if len(nans) == len(xs) or (nans and nan_wins):
        return nans[0] | 1 << 51 if fmt is F64 else fmt.nan
    return (max if largest else min)((x for x in xs if x not in nans), key=lambda x: key(fmt, x)) | sign


def compare(fmt, cmp, a, b, ftz=False):
    """The ordered and unordered comparisons of PTX."""
    if ftz:
        a, b = (x & fmt.sign if not x & fmt.inf else x for x in (a, b))
    if "nan" in (fmt.take(a)[0], fmt.take(b)[0]):
        return cmp == "nan" or (cmp.endswith("u") and cmp != "num")
    if cmp in ("num", "nan"):
        return cmp == "num"
    x, y = (-(v & fmt.sign - 1) if v & fmt.sign else v for v in (a, b))
    return ORDER[cmp[:2]](x, y)


ORDER = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}

F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
TF32 = Format(8, 10)
E5M2, E4M3 = Format(5, 2), Format(4, 3, "nan")
E3M2, E2M3, E2M1 = (Format(e, m, "numbers") for e, m in ((3, 2), (2, 3), (2, 1)))


def edges(fmt):
    """Bit patterns at the ends of everything."""
    one = fmt.bias << fmt.frac_bits
    base = [0, 1, 2, (1 << fmt.frac_bits) - 1, 1 << fmt.frac_bits, (1 << fmt.frac_bits) + 1, one - 1, one, one + 1,
            fmt.max - 1, fmt.max]
    if fmt is F64:
        base += [fmt.inf]
    elif fmt.top == "ieee":
        base += [fmt.inf, fmt.inf + 1, fmt.nan, fmt.inf | 1 << fmt.frac_bits - 1]
    if fmt.top == "nan":
        base += [fmt.nan]
    return base + [b | fmt.sign for b in base] + [ONLY_NAN64] * (fmt is F64)


# Of two NaNs of f64 either may be the result, so there is one only, which signals.
ONLY_NAN64 = 0xfff4000000000001


def draw_float(fmt):
    def draw(rng):
        how = rng.randrange(4)
        frac = rng.getrandbits(fmt.frac_bits)
        if how == 0:  # few digits: sums and products are ties
            frac &= -1 << rng.randrange(fmt.frac_bits + 1)
        exp = rng.getrandbits(fmt.exp_bits)
        if how in (1, 2):  # near 1
            exp = max(0, min((1 << fmt.exp_bits) - 1, fmt.bias + rng.randrange(-12, 13)))
        x = (rng.getrandbits(1) << fmt.exp_bits | exp) << fmt.frac_bits | frac
        return ONLY_NAN64 if fmt is F64 and fmt.take(x)[0] == "nan" else x
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
