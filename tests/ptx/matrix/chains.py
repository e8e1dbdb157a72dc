"""Several products in one kernel: they share operands, and code may keep these in memory from one to the next."""
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


def forms():
    return [chain("nothing between"), chain("stmatrix between", STORE, ADDRESS), wide_chain(), in_flushing_code()]
