"""Several products in one kernel: they share operands, and code may keep these in memory from one to the next."""
import numbers_exact as num
import products
from products import Form, Product, Shape

# Between two products: its addresses need the memory that operands lie in.
STORE = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%w], {{ {a0} }}; "
ADDRESS = "shl.b32 %w, %t, 4; mov.u32 %c, rows; add.u32 %w, %w, %c;"


def merged(regs, a, b, c):
    """Registers of a product whose factors and sums are others of `regs`, or lists."""
    out = {}
    for operand, value in zip("abc", (a, b, c)):
        lists = value if isinstance(value, list) else [regs[f"{value}{i}"] for i in range(4) if f"{value}{i}" in regs]
        out |= {f"{operand}{i}": x for i, x in enumerate(lists)}
    return out


def instruction(p, d, a, b, c):
    return f"{p.name} " + ", ".join(products.names(x, p.count[o]) for x, o in ((d, "d"), (a, "a"), (b, "b"), (c, "c")))


def chain(name, between="", setup=""):
    """d = a * b + c; d += a * f; d += g * f; d += a * b"""
    p = Product(Shape(16, 8, 16), "f32", "f16", "f16", "f32")
    steps = [("a", "b", "c"), ("a", "f", "d"), ("g", "f", "d"), ("a", "b", "d")]
    sizes = {"a": 4, "b": 2, "c": 4, "f": 2, "g": 4}

    def draw(rng):
        one, other = p.draw(rng), p.draw(rng)
        return one | {f"f{i}": other[f"b{i}"] for i in range(2)} | {f"g{i}": other[f"a{i}"] for i in range(4)}

    def oracle(regs):
        d = None
        for a, b, c in steps:
            d = p.oracle(merged(regs, a, b, d if c == "d" else c))
        return d
    text = f"; {between}".join(instruction(p, "d", *step) for step in steps)
    form = Form(text, [(f"{o}{i}", 32) for o, n in sizes.items() for i in range(n)], [32] * 4, draw, oracle, setup)
    form.name = f"chain of mma, {name}"
    return form


def wide_chain():
    """Registers of 64 bits lie elsewhere than those of 32: f16, f64, f16 again."""
    p, q = Product(Shape(16, 8, 16), "f32", "f16", "f16", "f32"), Product(Shape(8, 8, 4), "f64", "f64", "f64", "f64")
    rename = {"a0": "x0", "b0": "y0", "c0": "z0", "c1": "z1"}

    def draw(rng):
        return p.draw(rng) | {rename[n]: x for n, x in q.draw(rng).items()}

    def oracle(regs):
        first = p.oracle(merged(regs, "a", "b", "c"))
        wide = q.oracle({n: regs[r] for n, r in rename.items()})
        return p.oracle(merged(regs, "a", "b", first)) + wide
    text = "; ".join((instruction(p, "d", "a", "b", "c"), f"{q.name} " + "{{ {d4}, {d5} }}, {{ {x0} }}, {{ {y0} }}, {{ {z0}, {z1} }}",
                      instruction(p, "d", "a", "b", "d")))
    sizes = {"a": 4, "b": 2, "c": 4}
    regs = [(f"{o}{i}", 32) for o, n in sizes.items() for i in range(n)] + [(n, 64) for n in rename.values()]
    form = Form(text, regs, [32] * 4 + [64] * 2, draw, oracle)
    form.name = "chain of mma, f64 between"
    return form


def in_flushing_code():
    """Sums keep denormals in a kernel all of whose other arithmetic flushes them."""
    p = Product(Shape(16, 8, 16), "f32", "bf16", "bf16", "f32")

    def tiny(rng):
        return rng.getrandbits(1) << 15 | rng.randrange(54, 64) << 7 | rng.getrandbits(7)

    def draw(rng):
        regs = {f"{o}{i}": [tiny(rng) << 16 | tiny(rng) for _ in range(32)] for o, n in (("a", 4), ("b", 2)) for i in range(n)}
        return regs | {f"c{i}": [rng.getrandbits(1) << 31 | rng.getrandbits(23) for _ in range(32)] for i in range(4)}

    def oracle(regs):
        return p.oracle(regs) + [[x & 0x80000000 for x in regs["c0"]]]
    text = f"add.ftz.f32 {{d4}}, {{c0}}, {{c0}}; {instruction(p, 'd', 'a', 'b', 'c')}"
    form = Form(text, [(f"{o}{i}", 32) for o, n in (("a", 4), ("b", 2), ("c", 4)) for i in range(n)], [32] * 5, draw, oracle)
    form.name = "mma in code that flushes"
    return form


def tame(rng, dtype):
    """Nothing that is denormal, or whose sums can be; zeros, and now and then what is no number."""
    if dtype not in ("f16", "bf16", "tf32", "f32"):
        return rng.getrandbits(num.WIDTH[dtype]) & (0xb7 if dtype in ("e4m3", "e5m2") else 0xff)
    special = rng.random()
    x = rng.choice((0.0, -0.0, float("inf"), float("nan"))) if special < 0.002 else 0.0 if special < 0.1 else rng.gauss(0, 1) * 2.0 ** rng.randrange(-6, 6)
    return num.f16_bits(x) if dtype == "f16" else num.f32_bits(x) >> (16 if dtype == "bf16" else 0)


def edge(rng):
    """Sums that cancel down to the least normal number, or to half of it: what is small are factors, or c, or neither."""
    small = rng.choice("abc ")

    def element(rng, dtype):
        sign = rng.getrandbits(1)
        if rng.random() < 0.8:
            return 0
        if dtype == "f32":
            return sign << 31 | (23 if small == "c" else 24) << 23 | rng.randrange(2)
        if small == "c" and rng.random() < 0.5:
            return sign << 15 | 75 << 7
        return sign << 15 | (70 if small in "ab" else 71) << 7 | rng.choice((0, 1, 2))
    return element


def tiles(types, k, element, name):
    """Two rows and three columns of tiles, each the sum of two products and c; between them somebody looks at a sum."""
    p = Product(Shape(16, 8, k), *types)
    where = [(row, col) for row in range(2) for col in range(3)]
    sizes = {f"a{row}{step}_": p.count["a"] for row in range(2) for step in range(2)}
    sizes |= {f"b{col}{step}_": p.count["b"] for col in range(3) for step in range(2)}
    sizes |= {f"c{row}{col}_": p.count["c"] for row, col in where}
    regs = [(f"{prefix}{i}", 32) for prefix, n in sizes.items() for i in range(n)]
    count = p.count["d"]

    def results(prefix):
        return "{{" + ", ".join(f"{{d{i}}}" for i in range(prefix * count, (prefix + 1) * count)) + "}}"

    def step_text(i, row, col, step):
        c = products.names(f"c{row}{col}_", count) if step == 0 else results(i)
        return f"{p.name} {results(i)}, {products.names(f'a{row}{step}_', p.count['a'])}, {products.names(f'b{col}{step}_', p.count['b'])}, {c}"

    def draw(rng):
        out, one = {}, element(rng) if element is edge else element
        for prefix, n in sizes.items():
            dtype = {"a": p.a, "b": p.b, "c": p.c}[prefix[0]]
            width = 32 if dtype == "tf32" else num.WIDTH[dtype]
            for i in range(n):
                out[f"{prefix}{i}"] = [sum(one(rng, dtype) << j for j in range(0, 32, width)) if p.c != "s32" or prefix[0] != "c" else rng.getrandbits(32) for _ in range(32)]
        return out

    def at(regs, prefix, operand):
        return {f"{operand}{i}": regs[f"{prefix}{i}"] for i in range(sizes[prefix])}

    def oracle(regs):
        first, last = [], []
        for row, col in where:
            c = at(regs, f"c{row}{col}_", "c")
            for step, out in enumerate((first, last)):
                out.append(p.oracle(at(regs, f"a{row}{step}_", "a") | at(regs, f"b{col}{step}_", "b") | c))
                c = {f"c{i}": x for i, x in enumerate(out[-1])}
        return [x for tile in last for x in tile] + [first[1][0]]
    lines = [step_text(i, row, col, 0) for i, (row, col) in enumerate(where)]
    lines.append(f"mov.b32 {{d{len(where) * count}}}, {{d{count}}}")
    lines += [step_text(i, row, col, 1) for i, (row, col) in enumerate(where)]
    form = Form("; ".join(lines), regs, [32] * (len(where) * count + 1), draw, oracle)
    form.name = f"tiles of {p.name}, {name}"
    return form


def all_tiles():
    f32 = [("bf16", 16, tame, "tame"), ("bf16", 16, edge, "at the edge"), ("bf16", 8, tame, "tame"), ("f16", 16, tame, "tame"), ("tf32", 8, tame, "tame")]
    made = [tiles(("f32", t, t, "f32"), k, element, name) for t, k, element, name in f32]
    made += [tiles(("f32", "e4m3", "e5m2", "f32"), 32, tame, "tame"), tiles(("f16", "f16", "f16", "f16"), 16, tame, "tame")]
    made += [tiles(("s32", a, b, "s32"), 32, tame, "any") for a in ("s8", "u8") for b in ("s8", "u8")]
    return made + [tiles(("s32", "s4", "u4", "s32"), 64, tame, "any"), tiles(("s32", "u4", "s4", "s32"), 32, tame, "any")]


def forms():
    return all_tiles() + [chain("nothing between"), chain("stmatrix between", STORE, ADDRESS), wide_chain(), in_flushing_code()]
