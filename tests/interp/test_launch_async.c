/* Block copies and barriers in shared memory, in IR text: what they do, and what they refuse. */
#include "model/eval.h"
#include "launch_job.h"

/*
 * s[16 t ..] gets t % 20 bytes of p[16 t ..] and zeroes; q[16 t ..] what the mask 0xf05a selects.
 */
static void test_copies(void)
{
    static const char text[] = HEAD
        "var @s shared extern align 16 size 0 dynamic\n"
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b64 = ld.b64.param [%0+8]\n  %7:b32 = const.b32 0x14\n  %8:b32 = rem.u32 %2, %7\n"
        "  %9:b64 = cvt.u64.u32 %8\n  %10:b64 = const.b64 0x10\n  %11:b32 = const.b32 0x10\n"
        "  %12:b64 = mulwide.u32 %2, %11\n  %13:b64 = varaddr @s\n  %14:b64 = add.u64 %13, %12\n"
        "  %15:b64 = add.u64 %1, %12\n  %16:b32 = const.b32 0xffff\n"
        "  copy.shared [%14], %15, %9, %10, %16, imm=0x10\n  bar.sync\n"
        "  %17:b64 = cvta.shared %14\n  %18:b64 = add.u64 %6, %12\n  %19:b32 = const.b32 0xf05a\n"
        "  copy.global [%18], %17, %10, %10, %19, imm=0x10\n  ret\n}\n";
    unsigned char in[40 * 16], out[40 * 16], want[40 * 16];
    const void *params[] = {in, out};
    for (unsigned i = 0; i < sizeof(in); i++) {
        in[i] = (unsigned char)(i * 7 + 1);
        out[i] = want[i] = 0xee;
        if (0xf05a >> i % 16 & 1)
            want[i] = i % 16 < i / 16 % 20 ? in[i] : 0;
    }
    eq_u64(run(&(struct job){text, 1, 40, 40 * 16, .params = params}), HD_OK, "copies run");
    eq_mem(out, want, sizeof(out), "copies are right");
}

/* One thread copies from p[q ..] to s[0 ..]; s[8 ..] is stored to p[0]. */
static enum hd_status copy_once(unsigned unit, uint64_t from, uint64_t size, void *p)
{
    static const char text[] =
        HEAD "var @s shared extern align 16 size 0 dynamic\n"
             "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b64 = ld.b64.param [%0+8]\n  %9:b64 = const.b64 0xffff\n  %10:b64 = and.b64 %6, "
             "%9\n  %11:b32 = const.b32 0x10\n"
             "  %12:b64 = shr.u64 %6, %11\n  %13:b64 = varaddr @s\n  %14:b64 = add.u64 %1, %10\n"
             "  %15:b32 = const.b32 0xffff\n  copy.shared [%13], %14, %12, %12, %15, imm=UNIT\n"
             "  %16:b64 = ld.b64.shared [%13+8]\n  st.b64.global [%1], %16\n  ret\n}\n";
    char mine[sizeof(text)];
    const char *at = strstr(text, "UNIT");
    const void *params[] = {p, (const void *)(uintptr_t)(size << 16 | from)};
    snprintf(mine, sizeof(mine), "%.*s0x%x%s", (int)(at - text), text, unit, at + 4);
    return run(&(struct job){mine, 1, 1, 64, .params = params});
}

static void test_units(void)
{
    _Alignas(16) uint64_t p[16];
    for (unsigned i = 0; i < 16; i++)
        p[i] = i * 0x0101010101010101ull;
    eq_u64(copy_once(4, 4, 16, p), HD_OK, "words");
    eq_u64(p[0], p[1] >> 32 | p[2] << 32, "arrive");
    eq_u64(copy_once(4, 2, 12, p), HD_MISALIGNED, "words, between them");
    eq_u64(copy_once(8, 8, 16, p), HD_OK, "doublewords");
    eq_u64(p[0], p[2], "arrive");
    eq_u64(copy_once(8, 4, 16, p), HD_MISALIGNED, "doublewords, between them");
    eq_u64(copy_once(16, 16, 32, p), HD_OK, "blocks");
    eq_u64(p[0], p[3], "arrive");
    eq_u64(copy_once(16, 16, 24, p), HD_MISALIGNED, "half a block");
    eq_u64(copy_once(16, 16, 80, p), HD_ILLEGAL_ADDRESS, "more than the window has");
}

/* ---- reductions: 96 bytes of p, at p + 256, into those at p */

static void test_reduction(enum ir_type type, enum ir_atom atom, const char *name)
{
    static const char head[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b64 = const.b64 0x100\n  %7:b64 = add.u64 %1, %6\n  %8:b64 = const.b64 0x60\n";
    _Alignas(16) unsigned char p[512], want[512];
    unsigned size_B = ir_type_bits(type) / 8;
    uint64_t seed = 7;
    const void *params[] = {p, NULL};
    struct hd_buf text;
    hd_buf_init(&text);
    hd_buf_puts(&text, head);
    hd_buf_printf(&text, "  reduce.%s.global.%s [%%1], %%7, %%8\n  ret\n}\n", ir_type_name(type),
                  name);
    for (unsigned i = 0; i < sizeof(p); i++)
        p[i] = (unsigned char)(tap_random(&seed) >> 40);
    memcpy(want, p, sizeof(p));
    for (unsigned at = 0; at < 96; at += size_B) {
        uint64_t x = 0, y = 0;
        memcpy(&x, p + at, size_B);
        memcpy(&y, p + 256 + at, size_B);
        x = ir_eval_atom(atom, type, false, x, y, 0);
        memcpy(want + at, &x, size_B);
    }
    eq_u64(run(&(struct job){text.ptr, 1, 1, .params = params}), HD_OK, "a reduction runs");
    eq_mem(p, want, sizeof(p), "%s", name);
    hd_buf_fini(&text);
}

static void test_reductions(void)
{
    test_reduction(IR_U32, IR_ATOM_ADD, "add");
    test_reduction(IR_S32, IR_ATOM_MIN, "min");
    test_reduction(IR_U32, IR_ATOM_MAX, "max");
    test_reduction(IR_U32, IR_ATOM_INC, "inc");
    test_reduction(IR_U32, IR_ATOM_DEC, "dec");
    test_reduction(IR_B64, IR_ATOM_AND, "and");
    test_reduction(IR_B32, IR_ATOM_OR, "or");
    test_reduction(IR_B64, IR_ATOM_XOR, "xor");
    test_reduction(IR_S64, IR_ATOM_MAX, "max");
    test_reduction(IR_F32, IR_ATOM_ADD, "add");
    test_reduction(IR_F64, IR_ATOM_ADD, "add");
    test_reduction(IR_F16, IR_ATOM_ADD, "add");
    test_reduction(IR_F16, IR_ATOM_MIN, "min");
    test_reduction(IR_BF16, IR_ATOM_MAX, "max");
}

/* ---- barriers */

/* One step of one thread: an operation, and the operand: of a test, 100 is the state of the last
 * arrival. */
struct step {
    const char *op;
    unsigned operand;
    uint64_t want; /* what a test says; of an arrival, the arrivals that were missing before */
};

enum { LAST_STATE = 100, NOTHING = 99 };

static const struct step steps[] = {
    {"init", 2, NOTHING},
    {"test_parity", 0, 0},
    {"test_parity", 1, 1},
    {"arrive", 1, 2},
    {"test", LAST_STATE, 0},
    {"expect_tx", 16, NOTHING},
    {"arrive", 1, 1},
    {"test", LAST_STATE, 0},
    {"complete_tx", 12, NOTHING},
    {"test", LAST_STATE, 0},
    {"complete_tx", 4, NOTHING},
    {"test", LAST_STATE, 1},
    {"test_parity", 0, 1},
    {"test_parity", 1, 0},
    {"complete_tx", 8, NOTHING},
    {"arrive", 2, 2},
    {"test", LAST_STATE, 0},
    {"expect_tx", 8, NOTHING},
    {"test", LAST_STATE, 1},
    {"drop", 1, 2},
    {"test", LAST_STATE, 0},
    {"arrive", 1, 1},
    {"test", LAST_STATE, 1},
    {"arrive", 1, 1},
    {"test", LAST_STATE, 1},
    {"init", 0xfffff, NOTHING},
    {"arrive", 0xffffe, 0xfffff},
    {"arrive", 1, 1},
    {"test", LAST_STATE, 1},
};

static unsigned put(struct hd_buf *text, unsigned *next, const char *what, unsigned a, unsigned b)
{
    hd_buf_printf(text, "  %%%u:", *next);
    hd_buf_printf(text, what, a, b);
    return (*next)++;
}

static void put_step(struct hd_buf *text, unsigned *next, const struct step *s, unsigned *state,
                     unsigned at)
{
    bool tests = !strncmp(s->op, "test", 4);
    unsigned x = s->operand == LAST_STATE
                     ? *state
                     : put(text, next, "b64 = const.b64 0x%x\n", s->operand, 0);
    if (s->want == NOTHING) {
        hd_buf_printf(text, "  mbarrier.%s.shared [%%6+8], %%%u\n", s->op, x);
        return;
    }
    hd_buf_printf(text, "  %%%u:%s = mbarrier.%s.shared [%%6+8], %%%u\n", *next,
                  tests ? "pred" : "b64", s->op, x);
    unsigned r = (*next)++;
    if (tests) {
        hd_buf_printf(text, "  %%%u:b64 = select.b64 %%%u, %%8, %%0\n", *next, r);
        r = (*next)++;
    } else {
        *state = r;
        r = put(text, next, "b64 = shr.u64 %%%u, %%7\n", r, 0);
        r = put(text, next, "b64 = and.b64 %%%u, %%9\n", r, 0);
    }
    hd_buf_printf(text, "  st.b64.global [%%1+%u], %%%u\n", 8 * at, r);
}

static void test_barrier_steps(void)
{
    uint64_t out[HD_COUNT_OF(steps)];
    const void *params[] = {out, NULL};
    unsigned next = 10, state = 0;
    struct hd_buf text;
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD "var @s shared extern align 16 size 0 dynamic\n"
                            "kernel @k visible {\n" PARAMS PROLOGUE
                            "  %6:b64 = varaddr @s\n  %7:b32 = const.b32 0x14\n"
                            "  %8:b64 = const.b64 0x1\n  %9:b64 = const.b64 0xfffff\n");
    for (unsigned i = 0; i < HD_COUNT_OF(steps); i++)
        put_step(&text, &next, &steps[i], &state, i);
    hd_buf_puts(&text, "  ret\n}\n");
    for (unsigned i = 0; i < HD_COUNT_OF(steps); i++)
        out[i] = NOTHING;
    eq_u64(run(&(struct job){text.ptr, 1, 1, 64, .params = params}), HD_OK, "a barrier runs");
    for (unsigned i = 0; i < HD_COUNT_OF(steps); i++)
        eq_u64(out[i], steps[i].want, "%s", steps[i].op);
    hd_buf_fini(&text);
}

/* Thread 0 waits for the others, most of them of its own warp, which add up before they arrive. */
static void test_waiting(void)
{
    static const char text[] = HEAD
        "var @s shared extern align 16 size 0 dynamic\n"
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b64 = varaddr @s\n  %7:b32 = const.b32 0x0\n  %8:b64 = const.b64 0x1\n"
        "  %9:pred = setp.u32.eq %2, %7\n  cbr %9, bb1, bb2\n"
        "bb1:\n  %10:b64 = const.b64 0x2f\n  mbarrier.init.shared [%6], %10\n"
        "  st.b32.shared [%6+8], %7\n  br bb2\n"
        "bb2:\n  bar.sync\n  cbr %9, bb3, bb4\n"
        "bb3:\n  %11:pred = mbarrier.test_parity.shared.acquire [%6], %0\n  cbr %11, bb5, bb3\n"
        "bb4:\n  atom.u32.shared.add.relaxed [%6+8], %2\n"
        "  mbarrier.arrive.shared.release [%6], %8\n  br bb6\n"
        "bb5:\n  %12:b32 = ld.b32.shared [%6+8]\n  st.b32.global [%1], %12\n  br bb6\n"
        "bb6:\n  ret\n}\n";
    uint32_t out = 0;
    const void *params[] = {&out, NULL};
    eq_u64(run(&(struct job){text, 1, 48, 64, .params = params}), HD_OK, "waiting runs");
    eq_u64(out, 47 * 48 / 2, "everybody is waited for");
}

/* A barrier that the shared window does not hold, and one between two words. */
static void test_bad_barriers(void)
{
    static const char text[] =
        HEAD "var @s shared extern align 16 size 0 dynamic\n"
             "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b64 = ld.b64.param [%0+8]\n  mbarrier.arrive.shared [%6], %0\n  ret\n}\n";
    const void *odd[] = {NULL, (const void *)4}, *past[] = {NULL, (const void *)64};
    eq_u64(run(&(struct job){text, 1, 1, 64, .params = odd}), HD_MISALIGNED, "between words");
    eq_u64(run(&(struct job){text, 1, 1, 64, .params = past}), HD_ILLEGAL_ADDRESS, "past the end");
}

int main(void)
{
    test_copies();
    test_units();
    test_reductions();
    test_barrier_steps();
    test_waiting();
    test_bad_barriers();
    hd_buf_fini(&printed);
    return done();
}
