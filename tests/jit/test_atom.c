/*
 * Every atomic in every form the JIT has for it, against the interpreter: one address, one per lane
 * or neighbours (aligned for several at once or not), one operand or one per lane, result used or
 * not, all lanes or some, shared or global.
 * A kernel does several atomics, each on words of its own, so that their order does not
 * matter; the lanes of one atomic go in lane order on both sides.
 */
#include <stdarg.h>

#include "interp/interp.h"
#include "tap.h"

enum hd_status jit_harness_launch(const struct interp_launch *, struct interp_fault *);

enum { THREADS = 32, SLOTS = 34, MAX_CASES = 16 };

struct kernel {
    struct hd_buf text;
    unsigned next;  /* value number */
    unsigned cases; /* atomics so far */
    unsigned seed;  /* picks operations and types */
    bool shared, some_lanes;
};

static uint64_t initial[MAX_CASES * SLOTS], input[2][THREADS];
static struct {
    _Alignas(64) uint64_t mem[MAX_CASES * SLOTS], result[MAX_CASES * THREADS];
} want, got;

/* Appends a line that defines the next value; yields its number. */
static unsigned def(struct kernel *k, const char *type, const char *format, ...)
{
    va_list args;
    char line[200];
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    hd_buf_printf(&k->text, "  %%%u:%s = %s\n", k->next, type, line);
    return k->next++;
}

struct form {
    const char *type, *op;
    bool one_address, one_operand, used, neighbours;
};

/* %1 memory, %2 results, %3 input, %4 tid, %5 tid * 8 */
static void add_atomic(struct kernel *k, const struct form *f)
{
    const char *space = k->shared ? "shared" : "global";
    bool wide = strstr(f->type, "64") != NULL;
    const char *bits = wide ? "b64" : "b32";
    unsigned offset = k->cases * SLOTS * 8, address = 1, x, y, old;
    if (f->neighbours) { /* of every other case and type, not aligned for more than one */
        unsigned size = def(k, "b64", "const.b64 0x%x", wide ? 8 : 4);
        unsigned at = def(k, "b64", "cvt.u64.u32 %%4");
        at = def(k, "b64", "mul.u64 %%%u, %%%u", at, size);
        address = def(k, "b64", "add.u64 %%1, %%%u", at);
        offset += k->cases / 2 % 2 * 8;
    } else if (!f->one_address) {
        unsigned seven = def(k, "b32", "const.b32 0x5"), mask = def(k, "b32", "const.b32 0x78");
        unsigned at = def(k, "b32", "mul.u32 %%4, %%%u", seven);
        at = def(k, "b32", "add.u32 %%%u, %%5", at);
        at = def(k, "b32", "and.b32 %%%u, %%%u", at, mask);
        at = def(k, "b64", "cvt.u64.u32 %%%u", at);
        address = def(k, "b64", "add.u64 %%1, %%%u", at);
    }
    unsigned wide_tid = def(k, "b64", "cvt.u64.u32 %%5");
    unsigned lane = def(k, "b64", "add.u64 %%3, %%%u", wide_tid);
    x = def(k, bits, "ld.%s.global [%%%u]", bits, f->one_operand ? 3 : lane);
    y = def(k, bits, "ld.%s.global [%%%u+%u]", bits, lane, THREADS * 8);
    bool cas = !strcmp(f->op, "cas");
    char operands[64];
    snprintf(operands, sizeof(operands), cas ? "%%%u, %%%u" : "%%%u", x, y);
    if (!f->used) {
        hd_buf_printf(&k->text, "  atom.%s.%s.%s.relaxed.gpu [%%%u+%u], %s\n", f->type, space,
                      f->op, address, offset, operands);
    } else {
        old = def(k, bits, "atom.%s.%s.%s.relaxed.gpu [%%%u+%u], %s", f->type, space, f->op,
                  address, offset, operands);
        unsigned out = def(k, "b64", "add.u64 %%2, %%%u", wide_tid);
        hd_buf_printf(&k->text, "  st.%s.global [%%%u+%u], %%%u\n", bits, out,
                      k->cases * THREADS * 8, old);
    }
    k->cases++;
}

static void copy_words(struct kernel *k, const char *from, unsigned from_at, const char *to,
                       unsigned to_at)
{
    unsigned wide = def(k, "b64", "cvt.u64.u32 %%5");
    unsigned src = def(k, "b64", "add.u64 %%%u, %%%u", from_at, wide);
    unsigned dst = def(k, "b64", "add.u64 %%%u, %%%u", to_at, wide);
    for (unsigned i = 0; i < MAX_CASES * SLOTS; i += THREADS) {
        unsigned v = def(k, "b64", "ld.b64.%s [%%%u+%u]", from, src, i * 8);
        hd_buf_printf(&k->text, "  st.b64.%s [%%%u+%u], %%%u\n", to, dst, i * 8, v);
    }
}

/* Which kernel: bits of one number. */
enum {
    SHARED = 1,
    SOME_LANES = 2,
    ONE_ADDRESS = 4,
    ONE_OPERAND = 8,
    USED = 16,
    NEIGHBOURS = 32,
    KERNELS = 64
};

static void add_floats(struct kernel *k, struct form f)
{
    static const char *const types[] = {"f32", "f64"};
    f.op = "add";
    for (unsigned t = 0; t < 2; t++) {
        f.type = types[t];
        add_atomic(k, &f);
    }
}

static void add_integers(struct kernel *k, struct form f, unsigned first, unsigned end)
{
    static const char *const ops[] = {"add", "min", "max", "and",  "or",
                                      "xor", "inc", "dec", "exch", "cas"};
    static const char *const signs[] = {"s32", "u64", "s64", "u32"}, *const plain[] = {"u64",
                                                                                       "u32"};
    for (unsigned o = first; o < end; o++) {
        f.op = ops[o];
        f.type = o < 3 ? signs[(o + k->seed) % 4] : plain[(o + k->seed) % 2];
        if (*ops[o] == 'i' || *ops[o] == 'd')
            f.type = "u32";
        add_atomic(k, &f);
    }
}

static void write_kernel(struct kernel *k, bool floats, const struct form *f)
{
    hd_buf_init(&k->text);
    hd_buf_printf(&k->text,
                  "module \"t\" sm 75\nvar @s shared internal align 16 size %u\n"
                  "kernel @k visible {\n  params 24\n  param \"m\" offset 0 size 8 align 8\n"
                  "  param \"o\" offset 8 size 8 align 8\n  param \"i\" offset 16 size 8 align 8\n"
                  "bb0:\n  %%0:b64 = const.b64 0x0\n  %%6:b64 = ld.b64.param [%%0]\n"
                  "  %%2:b64 = ld.b64.param [%%0+8]\n  %%3:b64 = ld.b64.param [%%0+16]\n"
                  "  %%4:b32 = sreg.b32 tid.x\n  %%7:b32 = const.b32 0x3\n"
                  "  %%5:b32 = shl.b32 %%4, %%7\n",
                  MAX_CASES * SLOTS * 8);
    if (k->shared)
        hd_buf_puts(&k->text, "  %1:b64 = varaddr @s\n");
    else
        hd_buf_puts(&k->text, "  %1:b64 = add.u64 %6, %0\n");
    k->next = 8;
    if (k->shared) {
        copy_words(k, "global", 6, "shared", 1);
        hd_buf_puts(&k->text, "  bar.sync\n");
    }
    if (k->some_lanes) {
        unsigned c = def(k, "b32", "const.b32 0x9"), z = def(k, "b32", "const.b32 0x0");
        unsigned a = def(k, "b32", "and.b32 %%4, %%%u", c);
        unsigned p = def(k, "pred", "setp.u32.ne %%%u, %%%u", a, z);
        hd_buf_printf(&k->text, "  cbr %%%u, bb1, bb2\nbb1:\n", p);
    }
    if (floats)
        add_floats(k, *f);
    else
        add_integers(k, *f, k->seed % 2 ? 0 : 3, k->seed % 2 ? 6 : 10);
    if (k->some_lanes)
        hd_buf_puts(&k->text, "  br bb2\nbb2:\n");
    if (k->shared) {
        hd_buf_puts(&k->text, "  bar.sync\n");
        copy_words(k, "shared", 1, "global", 6);
    }
    hd_buf_puts(&k->text, "  ret\n}\n");
}

static void fill(bool floats)
{
    uint64_t seed = 7;
    static const double values[] = {1.0, -2.5, 0x1p-30, 3e7, -0.0, 1e-3, 7.25, -1e9};
    for (unsigned i = 0; i < MAX_CASES * SLOTS; i++) {
        uint64_t r = tap_random(&seed) >> 20;
        initial[i] = r % 3 ? r % 4 : r << 21;
        if (floats)
            initial[i] = 0;
    }
    for (unsigned i = 0; i < 2 * THREADS; i++) {
        uint64_t r = tap_random(&seed) >> 20;
        uint64_t v = r % 3 ? r % 4 : r << 21 | r;
        if (floats) { /* the low half is read as f32, the whole as f64 */
            float f = (float)values[r % 8];
            memcpy(&v, &values[r / 8 % 8], 8);
            memcpy(&v, &f, 4);
        }
        input[i / THREADS][i % THREADS] = v;
    }
}

static enum hd_status launch(enum hd_status (*run)(const struct interp_launch *,
                                                   struct interp_fault *),
                             struct ir_module *module, void *mem, void *result)
{
    const void *params[] = {mem, result, input};
    static const struct interp_ops ops;
    struct interp_launch l = {.kernel = ir_module_find_func(module, "k"),
                              .grid = {1, 1, 1},
                              .block = {THREADS, 1, 1},
                              .params = params,
                              .ops = &ops};
    memcpy(mem, initial, sizeof(initial));
    memset(result, 0, sizeof(got.result));
    return run(&l, NULL);
}

static void check(unsigned which, unsigned round, bool floats)
{
    struct kernel k = {
        .shared = which & SHARED, .some_lanes = which & SOME_LANES, .seed = which * 7 / 3 + round};
    struct form f = {.one_address = which & ONE_ADDRESS,
                     .one_operand = which & ONE_OPERAND,
                     .used = which & USED,
                     .neighbours = which & NEIGHBOURS};
    struct ir_module *module = NULL;
    char name[80];
    snprintf(name, sizeof(name), "%s, %s, %s lanes, form %u, round %u",
             floats ? "float sums" : "integers", k.shared ? "shared" : "global",
             k.some_lanes ? "some" : "all", which / 4, round);
    fill(floats);
    write_kernel(&k, floats, &f);
    bool fine = k.cases <= MAX_CASES &&
                ir_read_module(k.text.ptr, k.text.len, "test", &module) == HD_OK &&
                ir_validate(module) == HD_OK && ir_layout_windows(module) == HD_OK &&
                launch(interp_launch, module, want.mem, want.result) == HD_OK &&
                launch(jit_harness_launch, module, got.mem, got.result) == HD_OK;
    if (!fine)
        diag("%s", hd_error_message());
    ok(fine, "%s run", name);
    eq_mem(got.mem, want.mem, sizeof(want.mem), "%s: memory", name);
    eq_mem(got.result, want.result, sizeof(want.result), "%s: results", name);
    if (module)
        ir_module_destroy(module);
    hd_buf_fini(&k.text);
}

/* Argument: rounds, each with other types and operations; without one a sample. */
int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
    for (unsigned i = 0; i < KERNELS && !rounds; i += 5) {
        check(i, i, false);
        check(KERNELS - 1 - i, i, i % 2);
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < KERNELS; i++) {
            check(i, round, false);
            check(i, round, true);
        }
    }
    return done();
}
