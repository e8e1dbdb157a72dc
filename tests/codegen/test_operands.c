/*
 * Each operation with each kind of operand at each place: a register, a parameter, which is a
 * constant of a bank, and a number; and what a word has no room for: many numbers, far parameters
 * and offsets. Code on the simulated GPU has to give the interpreter's bits.
 */
#include "codegen/both.h"

enum { THREADS = 32, OUTS = 27 };

struct op {
    const char *text; /* %d: what is read, in order */
    const char *type; /* of operands and result */
    unsigned n;
};
static const struct op ops[] = {
    {"add.u32", "b32", 2},        {"sub.u32", "b32", 2},        {"mul.lo.u32", "b32", 2},
    {"mul.hi.s32", "b32", 2},     {"mad.lo.s32", "b32", 3},     {"div.u32", "b32", 2},
    {"rem.s32", "b32", 2},        {"min.s32", "b32", 2},        {"max.u32", "b32", 2},
    {"abs.s32", "b32", 1},        {"neg.s32", "b32", 1},        {"and.b32", "b32", 2},
    {"or.b32", "b32", 2},         {"xor.b32", "b32", 2},        {"not.b32", "b32", 1},
    {"cnot.b32", "b32", 1},       {"shl.b32", "b32", 2},        {"shr.s32", "b32", 2},
    {"shr.u32", "b32", 2},        {"popc.b32", "b32", 1},       {"clz.b32", "b32", 1},
    {"brev.b32", "b32", 1},       {"bfe.s32", "b32", 3},        {"prmt.b32", "b32", 3},
    {"sad.s32", "b32", 3},        {"shf.l.wrap.b32", "b32", 3}, {"dp4a.u32.s32", "b32", 3},
    {"set.lt.u32.s32", "b32", 2}, {"add.rn.f32", "f32", 2},     {"sub.rn.f32", "f32", 2},
    {"mul.rn.f32", "f32", 2},     {"fma.rn.f32", "f32", 3},     {"min.f32", "f32", 2},
    {"div.rn.f32", "f32", 2},     {"sqrt.rn.f32", "f32", 1},    {"neg.f32", "f32", 1},
    {"add.u64", "b64", 2},        {"sub.u64", "b64", 2},        {"mul.lo.u64", "b64", 2},
    {"mul.hi.u64", "b64", 2},     {"div.s64", "b64", 2},        {"and.b64", "b64", 2},
    {"not.b64", "b64", 1},        {"neg.s64", "b64", 1},        {"min.s64", "b64", 2},
    {"add.rn.f64", "f64", 2},     {"sub.rn.f64", "f64", 2},     {"fma.rn.f64", "f64", 3},
    {"div.rn.f64", "f64", 2},     {"min.f64", "f64", 2},
};

static uint64_t out[OUTS * THREADS], in[3 * THREADS];
struct params {
    uint64_t out, in, a, b, c;
};
/* As many parameters as a kernel can have. */
static struct {
    struct params named;
    uint64_t more[(32764 - sizeof(struct params)) / 8];
} params;

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    const char *p = (const char *)(uintptr_t)address;

    return (p >= (char *)out && p + size_B <= (char *)out + sizeof(out)) ||
           (!write && p >= (char *)in && p + size_B <= (char *)in + sizeof(in));
}
static const struct interp_ops services = {.check = check};

static const char *number_of(const char *type, unsigned k)
{
    static const char *const ints[] = {"-7", "5", "1027"};
    static const char *const f32s[] = {"0fc0500000", "0f3f000000", "0f4b800001"};
    static const char *const f64s[] = {"0dc00a000000000000", "0d3fe0000000000001",
                                       "0d4170000000000000"};

    return type[0] == 'b' ? ints[k] : type[1] == '3' ? f32s[k] : f64s[k];
}

/* Operand k as digit `kind` says: 0 a register, 1 a parameter, 2 a number. */
static void operand(struct hd_buf *text, const struct op *op, unsigned k, unsigned kind)
{
    if (kind == 2)
        hd_buf_printf(text, ", %s", number_of(op->type, k));
    else
        hd_buf_printf(text, ", %s%u", kind ? "p" : "v", k);
}

static void kernel_text(struct hd_buf *text, const struct op *op)
{
    unsigned ways = op->n == 1 ? 3 : op->n == 2 ? 9 : 27, at = 0;

    hd_buf_printf(
        text,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, "
        ".param .u64 in, .param .b64 a, .param .b64 b, .param .b64 c) {\n"
        ".reg .b64 x<4>; .reg .b32 t; .reg .%s v<3>, p<3>, d;\n"
        "ld.param.u64 x0, [out];\nld.param.u64 x1, [in];\nmov.u32 t, %%tid.x;\n"
        "mul.wide.u32 x2, t, 8;\nadd.u64 x0, x0, x2;\nadd.u64 x1, x1, x2;\n",
        op->type);
    for (unsigned k = 0; k < 3; k++)
        hd_buf_printf(text, "ld.global.%s v%u, [x1+%u];\nld.param.%s p%u, [%c];\n", op->type, k,
                      8 * k * THREADS, op->type, k, 'a' + k);
    for (unsigned way = 0; way < ways; way++, at += 8 * THREADS) {
        hd_buf_printf(text, "%s d", op->text);
        for (unsigned k = 0, rest = way; k < op->n; k++, rest /= 3)
            operand(text, op, k, rest % 3);
        hd_buf_printf(text, ";\nst.global.%s [x0+%u], d;\n", op->type, at);
    }
    hd_buf_puts(text, "ret;\n}\n");
    hd_buf_putc(text, '\0');
}

static void test_kernel(const char *name, const struct hd_buf *text)
{
    const struct interp_launch launch = {
        .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = &params, .ops = &services};

    both_test(name, text, launch, out, sizeof(out));
}

static void test_op(const struct op *op)
{
    struct hd_buf text;

    hd_buf_init(&text);
    kernel_text(&text, op);
    test_kernel(op->text, &text);
    hd_buf_fini(&text);
}

/* More numbers of 64 bits than the bank of literals holds. */
static void test_many_numbers(void)
{
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_puts(&text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k("
                       ".param .u64 out, .param .u64 in, .param .b64 a, .param .b64 b, "
                       ".param .b64 c) {\n.reg .b64 x; .reg .f64 d;\nld.param.u64 x, [out];\n"
                       "ld.param.f64 d, [a];\n");
    for (unsigned i = 0; i < 9000; i++)
        hd_buf_printf(&text, "fma.rn.f64 d, d, 0d%016llx, 0d%016llx;\n",
                      0x3ff0000000000003ull + 2 * i, 0xbff0000000000001ull + i);
    hd_buf_puts(&text, "st.global.f64 [x], d;\nret;\n}\n");
    hd_buf_putc(&text, '\0');
    test_kernel("18,000 numbers", &text);
    hd_buf_fini(&text);
}

/* The end of the longest list of parameters; by number, and by an index of either sign. */
static void test_many_params(void)
{
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_puts(
        &text,
        ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k("
        ".param .u64 out, .param .u64 in, .param .b64 a, .param .b64 b, .param .b64 c, "
        ".param .align 8 .b8 more[32720]) {\n.reg .b64 x, y, i, m; .reg .b32 t; .reg .b16 h;\n"
        "ld.param.u64 x, [out];\nmov.u32 t, %tid.x;\nmul.wide.u32 i, t, 8;\n"
        "add.u64 x, x, i;\nld.param.b64 y, [more+32712];\nst.global.b64 [x], y;\n"
        "ld.param.u16 h, [more+32718];\nst.global.u16 [x+256], h;\n"
        "mov.b64 m, more;\nsub.s64 m, m, i;\nld.param.b64 y, [m+32712];\n"
        "st.global.b64 [x+512], y;\nadd.s64 m, m, 40512;\nld.param.b64 y, [m+-40000];\n"
        "st.global.b64 [x+768], y;\nret;\n}\n");
    hd_buf_putc(&text, '\0');
    test_kernel("the last parameter", &text);
    hd_buf_fini(&text);
}

/* Offsets of shared memory that no word has room for. */
static void test_far_offsets(void)
{
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_puts(&text,
                ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k("
                ".param .u64 out, .param .u64 in, .param .b64 a, .param .b64 b, .param .b64 c) {\n"
                ".shared .align 16 .b8 tile[512];\n.shared .align 8 .b64 bar;\n"
                ".reg .b64 x, i; .reg .b32 t, r, m, w, far; .reg .pred p;\nld.param.u64 x, [out];\n"
                "mov.u32 far, %ntid.x;\nshl.b32 far, far, 19;\nmov.u32 t, %tid.x;\nmul.wide.u32 i, "
                "t, 8;\nadd.u64 x, x, i;\n"
                "mov.b32 r, tile;\nshl.b32 m, t, 4;\nadd.u32 m, m, r;\nsub.u32 m, m, far;\n"
                "st.shared.v4.u32 [m+16777216], {t, t, t, t};\nbar.sync 0;\n"
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {w}, [m+16777216];\n"
                "st.global.u32 [x], w;\nbar.sync 0;\n"
                "stmatrix.sync.aligned.m8n8.x1.shared.b16 [m+16777216], {t};\nbar.sync 0;\n"
                "ld.shared.u32 w, [m+16777216];\nst.global.u32 [x+256], w;\n"
                "mov.b32 m, bar;\nsub.u32 m, m, far;\n"
                "setp.eq.u32 p, t, 0;\n@p mbarrier.init.shared.b64 [m+16777216], 32;\n"
                "bar.sync 0;\nmbarrier.arrive.shared.b64 i, [m+16777216];\nbar.sync 0;\n"
                "mbarrier.test_wait.shared.b64 p, [m+16777216], i;\nselp.u32 w, 1, 0, "
                "p;\nst.global.u32 [x+512], w;\nret;\n}\n");
    hd_buf_putc(&text, '\0');
    test_kernel("far offsets", &text);
    hd_buf_fini(&text);
}

int main(void)
{
    uint64_t dice = tap_seed();

    for (unsigned i = 0; i < 3 * THREADS; i++)
        in[i] = tap_random(&dice);
    params.named = (struct params){(uintptr_t)out, (uintptr_t)in, UINT64_C(0xc0280000c1280003),
                                   UINT64_C(0x4008000040080001), UINT64_C(0x3ff0000041200007)};
    for (size_t i = 0; i < HD_COUNT_OF(params.more); i++)
        params.more[i] = tap_random(&dice);
    for (size_t i = 0; i < HD_COUNT_OF(ops); i++)
        test_op(&ops[i]);
    test_many_numbers();
    test_many_params();
    test_far_offsets();
    return done();
}
