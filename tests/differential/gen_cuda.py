"""Random CUDA C, for real compilers to make kernels of: gen_cuda.py SEED prints one.

The same text is CUDA and C++: kernels `fuzz_SEED(out, in)` for a device, and for the host a function that does what
the grid does, thread after thread. So there are three answers: the host's, the reference interpreter's and that of
every level of CPU code; and every compiler (nvcc -O0 -G, nvcc -O3, heddle cc) makes other PTX of it.

A thread's state is a structure with scalars of several types, arrays and a nested structure. Phases are functions on
it: loops, switches with arms that fall through, early returns, goto out of loops, arrays indexed by what was computed,
64-bit arithmetic, calls that are inlined, not inlined, or recursive. Between phases, where control is
uniform, threads exchange words through shared memory between barriers, and through shuffles. Nothing is undefined in
C: shifts are masked, divisors and conversions guarded, signed sums wrap through unsigned types.
"""
import random
import sys

from gen_frame import BLOCKS, IN_WORDS, THREADS, block_of

OUT_ROWS = 26
OUT_B = 4 * OUT_ROWS * THREADS * BLOCKS
# Fields of the state, as lvalues of each type; N is an index that fits.
FIELDS = {
    "u": ["s->u0", "s->u1", "s->u2", "s->a[N8]", "s->p.x", "s->p.c[N4]"],
    "i": ["s->i0", "s->i1", "s->h[N4]", "s->p.y"],
    "w": ["s->w0", "s->w1", "s->p.z"],
    "f": ["s->f0", "s->f1", "s->g[N4]"],
}
C_TYPE = {"u": "unsigned", "i": "int", "w": "unsigned long long", "f": "float"}

HEAD = """
#ifdef __CUDACC__
#define ON __device__ static
#define APART __device__ static __noinline__
#else
#include <math.h>
#include <string.h>
extern "C" {
#include "batch.h"
}
#define ON static inline
#define APART static
#endif
typedef unsigned long long u64;
struct pair { unsigned x; int y; u64 z; unsigned char c[4]; };
struct state { unsigned u0, u1, u2, me, a[8]; int i0, i1; short h[4]; u64 w0, w1; float f0, f1, g[4]; struct pair p; };
ON unsigned bits_of(float x)
{
    union { float f; unsigned u; } v;
    v.f = x;
    return x == x ? v.u : 0x7fc00000u;
}
ON int to_int(float x) { return x > -2e9f && x < 2e9f ? (int)x : 77; }
ON int sdiv(int a, int b) { return b == 0 || b == -1 ? a : a / b; }
ON int srem(int a, int b) { return b == 0 || b == -1 ? a : a % b; }
ON int add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
ON int mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
ON u64 rotate(u64 a, unsigned n) { return a << (n & 63) | a >> (-n & 63); }
APART unsigned recurse(unsigned n, unsigned x) { return n ? recurse(n - 1, x * 3 + n) ^ n : x; }
APART unsigned apart(const unsigned *a, unsigned n, struct pair p)
{
    unsigned sum = p.x;
    for (unsigned i = 0; i < (n & 7); i++)
        sum = sum * 31 + a[i] + p.c[i & 3];
    return p.y < 0 ? sum : sum ^ (unsigned)(p.z >> 32);
}
ON struct pair swapped(struct pair p)
{
    struct pair q = {(unsigned)p.y, (int)p.x, p.z * 3, {p.c[3], p.c[2], p.c[1], p.c[0]}};
    return q;
}
ON void begin(struct state *s, const unsigned *in, unsigned id)
{
    s->u0 = in[id]; s->u1 = in[id + 7]; s->u2 = in[id + 14];
    for (int i = 0; i < 8; i++)
        s->a[i] = in[id + 64 * i];
    s->i0 = (int)in[id + 21]; s->i1 = (int)in[id + 28];
    for (int i = 0; i < 4; i++) {
        s->h[i] = (short)in[id + 33 + i];
        s->g[i] = (float)(in[id + 40 + i] & 1023u) * 0.375f;
        s->p.c[i] = (unsigned char)in[id + 50 + i];
    }
    s->w0 = (u64)in[id + 60] << 32 | in[id + 61]; s->w1 = in[id + 70];
    s->f0 = (float)(int)in[id + 80] * 1e-6f; s->f1 = (float)(in[id + 81] & 255u);
    s->p.x = in[id + 90]; s->p.y = (int)in[id + 91]; s->p.z = (u64)in[id + 92] * in[id + 93];
}
#define PUT(value) out[(row++) * STRIDE + id] = (unsigned)(value)
ON void end(const struct state *s, unsigned *out, unsigned id)
{
    unsigned row = 0;
    PUT(s->u0); PUT(s->u1); PUT(s->u2); PUT(s->i0); PUT(s->i1);
    PUT(s->w0); PUT(s->w0 >> 32); PUT(s->w1); PUT(s->w1 >> 32); PUT(bits_of(s->f0)); PUT(bits_of(s->f1));
    for (int i = 0; i < 8; i++)
        PUT(s->a[i]);
    PUT((unsigned short)s->h[0] | (unsigned)(unsigned short)s->h[3] << 16);
    PUT(bits_of(s->g[1])); PUT(s->p.x); PUT(s->p.y); PUT(s->p.z); PUT(s->p.z >> 32);
    PUT(s->p.c[0] | s->p.c[1] << 8 | s->p.c[2] << 16 | (unsigned)s->p.c[3] << 24);
}
""".replace("STRIDE", str(THREADS * BLOCKS))


class Cuda:
    def __init__(self, seed, size=8):
        self.rnd = random.Random(seed * 65537 + 11)
        self.seed, self.left, self.depth, self.count = seed, size, 0, 0
        self.lines, self.loops = [], 0

    # ---- expressions

    def place(self, kind):
        """An lvalue."""
        text = self.rnd.choice(FIELDS[kind])
        for n in (8, 4):
            if f"N{n}" in text:
                index = str(self.rnd.randrange(n)) if self.rnd.random() < 0.5 else f"({self.expr('u', 1)}) & {n - 1}"
                text = text.replace(f"N{n}", index)
        return text

    def leaf(self, kind):
        r = self.rnd
        if r.random() < 0.25:
            return {"u": lambda: f"{r.choice([0, 1, 31, 255, 65535, 0x80000000, r.getrandbits(32)])}u",
                    "i": lambda: f"({r.choice([0, 1, -1, 100, -32768, r.randrange(-9999, 9999)])})",
                    "w": lambda: f"{r.getrandbits(r.choice([3, 31, 40, 64]))}ull",
                    "f": lambda: f"{r.choice([0.0, 1.0, -0.5, 3.25, 1e10, 1e-3])}f"}[kind]()
        if kind == "u" and r.random() < 0.3:
            return r.choice(["s->me", f"in[({self.place('u')}) & {IN_WORDS - 1}]", f"in[s->me + {r.randrange(99)}]"])
        text = self.place(kind)
        return f"(unsigned){text}" if "p.c" in text else text  # not promoted to int

    def expr(self, kind, depth=2):
        r = self.rnd
        if depth == 0 or r.random() < 0.2:
            return self.leaf(kind)
        a, b = (lambda k=kind: self.expr(k, depth - 1)), (lambda k=kind: self.expr(k, depth - 1))
        n = lambda: f"(({self.expr('u', depth - 1)}) & 31)"  # noqa: E731
        return r.choice({
            "u": [lambda: f"({a()} + {b()})", lambda: f"({a()} * {b()})", lambda: f"({a()} ^ {b()})", lambda: f"({a()} - {b()})",
                  lambda: f"({a()} / ({b()} | 1u))", lambda: f"({a()} % ({b()} | 1u))", lambda: f"({a()} >> {n()})",
                  lambda: f"({a()} << {n()})", lambda: f"(unsigned)({self.expr('i', depth - 1)})",
                  lambda: f"(unsigned)({self.expr('w', depth - 1)} >> 17)", lambda: f"bits_of({self.expr('f', depth - 1)})",
                  lambda: f"({self.condition(depth - 1)} ? {a()} : {b()})", lambda: f"(unsigned char)({a()})"],
            "i": [lambda: f"add({a()}, {b()})", lambda: f"mul({a()}, {b()})", lambda: f"sdiv({a()}, {b()})",
                  lambda: f"srem({a()}, {b()})", lambda: f"({a()} >> {n()})", lambda: f"(int)({self.expr('u', depth - 1)})",
                  lambda: f"to_int({self.expr('f', depth - 1)})", lambda: f"(short)({a()})", lambda: f"(~{a()} & {b()})",
                  lambda: f"({self.condition(depth - 1)} ? {a()} : {b()})", lambda: f"({a()} < {b()} ? {a()} : {b()})"],
            "w": [lambda: f"({a()} + {b()})", lambda: f"({a()} * {b()})", lambda: f"({a()} ^ {b()})",
                  lambda: f"rotate({a()}, {self.expr('u', depth - 1)})", lambda: f"(u64)({self.expr('u', depth - 1)})",
                  lambda: f"(u64)(long long)({self.expr('i', depth - 1)})", lambda: f"((u64){n()} * {a()})",
                  lambda: f"({a()} / ({b()} | 1ull))", lambda: f"(u64)((long long)({a()}) >> {n()})"],
            "f": [lambda: f"({a()} + {b()})", lambda: f"({a()} * {b()})", lambda: f"({a()} - {b()})", lambda: f"({a()} / {b()})",
                  lambda: f"(float)({self.expr('i', depth - 1)})", lambda: f"fabsf({a()})", lambda: f"sqrtf(fabsf({a()}))",
                  lambda: f"({self.condition(depth - 1)} ? {a()} : {b()})", lambda: f"(float)({self.expr('w', depth - 1)})"],
        }[kind])()

    def condition(self, depth=1):
        r = self.rnd
        kind = r.choice("uuiwf")
        text = f"{self.expr(kind, depth)} {r.choice(['<', '>', '==', '!=', '<=', '>='])} {self.expr(kind, depth)}"
        if r.random() < 0.2:
            text = f"({text}) {r.choice(['&&', '||'])} ({self.expr('u', 0)} & {1 << r.randrange(5)}u)"
        return f"({text})"

    # ---- statements

    def emit(self, text):
        self.lines.append("    " * (self.depth + 1) + text)

    def name(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def assign(self):
        r, kind = self.rnd, self.rnd.choice("uuuiiwwff")
        if kind in "uw" and r.random() < 0.4:
            self.emit(f"{self.place(kind)} {r.choice(['+=', '^=', '-=', '*=', '|='])} {self.expr(kind)};")
        else:
            self.emit(f"{self.place(kind)} = {self.expr(kind)};")

    def block(self, inside_loop):
        self.emit("{")
        self.depth += 1
        for _ in range(self.rnd.randrange(1, 4)):
            self.statement(inside_loop)
        self.depth -= 1
        self.emit("}")

    def branch(self, inside_loop):
        self.emit(f"if {self.condition()}")
        self.block(inside_loop)
        if self.rnd.random() < 0.5:
            self.emit("else")
            self.block(inside_loop)

    def loop(self):
        r, i = self.rnd, self.name("i")
        self.loops += 1
        trips = r.choice(["3", "5", "8", f"({self.place('u')} & 7u)", f"({self.place('u')} & 7u)", "(s->me & 5u)"])
        kind = r.randrange(4)
        if kind == 0:
            self.emit(f"for (unsigned {i} = 0, n = {trips}; {i} < n; {i}++)")
        elif kind == 1:
            self.emit(f"_Pragma(\"unroll {r.choice([2, 4])}\") for (unsigned {i} = 0, n = {trips}; {i} < n; {i} += {r.choice([1, 2])})")
        elif kind == 2:
            self.emit(f"for (unsigned {i} = {trips}; {i}-- > 0;)")
        else:
            self.emit(f"{{ unsigned {i} = 0, {i}n = {trips};")  # braces: a case may not jump past it
            self.emit("do")
        self.emit("{")
        self.depth += 1
        self.emit(f"s->{r.choice(['u0', 'a[' + i + ' & 7]', 'p.x'])} += {i} * {self.expr('u', 1)};")
        for _ in range(r.randrange(1, 4)):
            self.statement(True)
        self.depth -= 1
        # continue in a do loop would miss a step in its body
        self.emit(f"}} while (++{i} < {i}n); }}" if kind == 3 else "}")
        self.loops -= 1

    def switch(self, inside_loop):
        r = self.rnd
        self.emit(f"switch ({self.expr('u', 1)} % {r.choice([3, 5, 9])}u) {{")
        for case in r.sample(range(9), r.randrange(2, 6)):
            self.emit(f"case {case}:")
            self.depth += 1
            self.statement(False)
            if r.random() < 0.7:
                self.emit("break;")
            self.depth -= 1
        if r.random() < 0.6:
            self.emit("default:")
            self.assign()
        self.emit("}")

    def nest(self):
        """goto out of two loops, as error paths and searches do."""
        i, j, out = self.name("i"), self.name("j"), self.name("out")
        self.emit(f"for (unsigned {i} = 0; {i} < 4; {i}++)")
        self.emit(f"    for (unsigned {j} = 0; {j} < ({self.place('u')} & 3u); {j}++) {{")
        self.emit(f"        {self.place('w')} += {self.expr('w', 1)} + {i} * {j};")
        self.emit(f"        if {self.condition()} goto {out};")
        self.emit("    }")
        self.emit(f"{self.place('i')} = {self.expr('i', 1)};")
        self.emit(f"{out}:;")

    def pointer(self):
        p = self.name("p")
        self.emit(f"unsigned *{p} = {self.condition()} ? s->a : &s->u0;")
        self.emit(f"*{p} ^= {self.expr('u')};")
        self.emit(f"{self.place('u')} += *{p};")

    def array(self):
        """A local array of its own."""
        r, t, i = self.rnd, self.name("t"), self.name("i")
        kind = r.choice(["unsigned char", "short", "unsigned", "unsigned long long"])
        self.emit(f"{kind} {t}[8];")
        self.emit(f"for (unsigned {i} = 0; {i} < 8; {i}++)")
        self.emit(f"    {t}[{i}] = ({kind})({self.expr('u', 1)} + {i} * 77u);")
        self.emit(f"{t}[{self.expr('u', 1)} & 7u] = ({kind}){self.expr('u', 1)};")
        self.emit(f"{self.place('w')} ^= {t}[{self.expr('u', 1)} & 7u];")

    def call(self):
        r = self.rnd
        self.emit(r.choice([
            lambda: f"{self.place('u')} = recurse({self.expr('u', 1)} & 3u, {self.expr('u', 1)});",
            lambda: f"{self.place('u')} ^= apart(s->a, {self.expr('u', 1)}, s->p);",
            lambda: "s->p = swapped(s->p);",
            lambda: f"if {self.condition()} {{ struct pair q = s->p; q.x += {self.expr('u', 1)}; s->p = swapped(q); }}"])())

    def statement(self, inside_loop):
        r = self.rnd.random()
        self.left -= 1
        if self.depth < 3 and r < 0.16:
            self.branch(inside_loop)
        elif self.depth < 3 and self.loops < 2 and r < 0.30:
            self.loop()
        elif self.depth < 3 and r < 0.37:
            self.switch(inside_loop)
        elif self.depth < 2 and r < 0.41:
            self.nest()
        elif r < 0.45:
            self.braced(self.pointer)
        elif r < 0.50:
            self.braced(self.array)
        elif r < 0.57:
            self.call()
        elif r < 0.60 and self.depth:
            self.emit(f"if {self.condition()} return;")
        elif r < 0.65 and inside_loop:
            self.emit(f"if {self.condition()} break;")
        else:
            self.assign()

    def braced(self, make):
        self.emit("{")
        make()
        self.emit("}")

    # ---- the program

    def phase(self, k):
        self.lines = []
        while True:
            self.statement(False)
            if self.left <= 0 or self.rnd.random() < 0.3:
                break
        return (f"ON void phase_{self.seed}_{k}(struct state *s, const unsigned *in)\n{{\n" + "\n".join(self.lines) + "\n}\n")

    def exchange(self, threads):
        """(device code, host code) of a step of all threads at once."""
        r = self.rnd
        src, dst = r.choice(["s.u0", "s.a[3]", "s.p.x"]), r.choice(["s.u1", "s.a[5]", "s.u2"])
        get = src.replace("s.", "t[w].")
        put = dst.replace("s.", "t[me].")
        kind = r.choice(["tile", "xor", "down", "idx"] if threads % 32 == 0 else ["tile"])
        if kind == "tile":
            n = r.randrange(1, threads)
            device = (f"    tile[me] = {src}; __syncthreads(); {dst} ^= tile[(me + {n}) % {threads}]; __syncthreads();\n")
            return device, f"(me + {n}) % {threads}", get, put
        n = r.choice([1, 2, 5, 16, 31])
        source = {"xor": f"me ^ {n}", "down": f"(me & 31) + {n} < 32 ? me + {n} : me", "idx": f"(me & ~31u) + {n}"}[kind]
        call = {"xor": "__shfl_xor_sync", "down": "__shfl_down_sync", "idx": "__shfl_sync"}[kind]
        return f"    {dst} ^= {call}(~0u, {src}, {n});\n", source, get, put

    def program(self):
        block = block_of(self.seed)
        threads = block[0] * block[1] * block[2]
        phases, device, host = [], "", ""
        while self.left > 0:
            k = len(phases)
            phases.append(self.phase(k))
            device += f"    phase_{self.seed}_{k}(&s, in);\n"
            host += f"        for (unsigned me = 0; me < {threads}; me++)\n            phase_{self.seed}_{k}(&t[me], in);\n"
            if self.left > 0 or k == 0:
                step, source, get, put = self.exchange(threads)
                device += step
                host += (f"        for (unsigned me = 0; me < {threads}; me++) {{ unsigned w = {source}; v[me] = {get}; }}\n"
                         f"        for (unsigned me = 0; me < {threads}; me++) {put} ^= v[me];\n")
        return "".join(phases) + FRAME.format(seed=self.seed, threads=threads, size=THREADS, device=device, host=host, blocks=BLOCKS)


FRAME = """#ifdef __CUDACC__
extern "C" __global__ void fuzz_{seed}(unsigned *out, const unsigned *in)
{{
    __shared__ unsigned tile[{size}];
    unsigned me = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, id = blockIdx.x * {size} + me;
    struct state s;
    tile[me] = 0;
    begin(&s, in, id);
    s.me = me;
{device}    end(&s, out, id);
}}
#else
static void host_{seed}(unsigned *out, const unsigned *in)
{{
    for (unsigned b = 0; b < {blocks}; b++) {{
        struct state t[{size}];
        unsigned v[{size}];
        for (unsigned me = 0; me < {threads}; me++) {{
            begin(&t[me], in, b * {size} + me);
            t[me].me = me;
        }}
{host}        for (unsigned me = 0; me < {threads}; me++)
            end(&t[me], out, b * {size} + me);
    }}
}}
#endif
"""

# The host's runner, a device of engine.py: what run_interp.c and run_driver.c are for the others.
TAIL = """
#ifndef __CUDACC__
static bool ready(void *, const struct batch *, char *, size_t) {{ return true; }}
static bool run_kernel(void *, const struct batch_kernel *k, void *out, char *, size_t)
{{
    static const struct {{ const char *name; void (*run)(unsigned *, const unsigned *); }} all[] = {{ {table} }};
    for (const auto &one : all)
        if (!strcmp(one.name, k->name))
            one.run((unsigned *)out, (const unsigned *)k->input);
    return true;
}}
int main(int, char **argv) {{ return batch_main(argv + 1, ready, run_kernel, nullptr); }}
#endif
"""


def source(seeds, size=8):
    """One file with a kernel per seed."""
    table = ", ".join(f'{{"fuzz_{seed}", host_{seed}}}' for seed in seeds)
    return HEAD + "".join(Cuda(seed, size).program() for seed in seeds) + TAIL.format(table=table)


if __name__ == "__main__":
    print(source([int(sys.argv[1]) if len(sys.argv) > 1 else 1]), end="")
