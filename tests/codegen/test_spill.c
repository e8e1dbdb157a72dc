/*
 * More values around a loop than there are registers: all are copied at once where the loop goes
 * on, kept in memory or not, in any order, predicates among them.
 */
#include "codegen/both.h"

enum { THREADS = 40, VALUES = 60, PREDICATES = 12 };

static uint64_t out[THREADS];

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    const char *p = (const char *)(uintptr_t)address;

    return p >= (char *)out && p + size_B <= (char *)out + sizeof(out);
}
static const struct interp_ops services = {.check = check};

/*
 * Value i becomes that of i + turn in each iteration, plus i where `adds`; likewise predicates. A
 * turn is a ring of copies, or several.
 */
static void kernel_text(struct hd_buf *text, unsigned registers, unsigned turn, bool adds)
{
    hd_buf_printf(text,
                  ".version 8.0\n.target sm_80\n.address_size 64\n"
                  ".visible .entry k(.param .u64 out) .maxnreg %u {\n"
                  ".reg .b64 o, x, d; .reg .b32 t, n, v<%d>, w<%d>; .reg .pred q, p<%d>, r<%d>;\n"
                  "ld.param.u64 o, [out];\nmov.u32 t, %%tid.x;\nmul.wide.u32 x, t, 8;\n"
                  "add.u64 o, o, x;\nand.b32 n, t, 7;\n",
                  registers, VALUES, VALUES, PREDICATES, PREDICATES);
    for (int i = 0; i < VALUES; i++)
        hd_buf_printf(text, i % 3 ? "mad.lo.u32 v%d, t, %d, 5;\n" : "mov.u32 v%d, %d;\n", i,
                      7 * i + 3);
    for (int i = 0; i < PREDICATES; i++)
        hd_buf_printf(text, "setp.gt.u32 p%d, t, %d;\n", i, 3 * i);
    hd_buf_puts(text, "loop:\n");
    for (unsigned i = 0; i < VALUES; i++)
        hd_buf_printf(text, adds ? "add.u32 w%u, v%u, %u;\n" : "mov.b32 w%u, v%u;\n", i,
                      (i + turn) % VALUES, i);
    for (unsigned i = 0; i < PREDICATES; i++)
        hd_buf_printf(text, i % 4 ? "mov.pred r%u, p%u;\n" : "not.pred r%u, p%u;\n", i,
                      (i + turn) % PREDICATES);
    for (int i = 0; i < VALUES; i++)
        hd_buf_printf(text, "mov.b32 v%d, w%d;\n", i, i);
    for (int i = 0; i < PREDICATES; i++)
        hd_buf_printf(text, "mov.pred p%d, r%d;\n", i, i);
    hd_buf_puts(text, "sub.u32 n, n, 1;\nsetp.gt.s32 q, n, 0;\n@q bra loop;\nmov.b64 d, 1;\n");
    for (int i = 0; i < VALUES; i++)
        hd_buf_printf(text, "cvt.u64.u32 x, v%d;\nmad.lo.u64 d, d, 1000003, x;\n", i);
    for (int i = 0; i < PREDICATES; i++)
        hd_buf_printf(text, "selp.b64 x, %d, 0, p%d;\nmad.lo.u64 d, d, 31, x;\n", i + 1, i);
    hd_buf_puts(text, "st.global.b64 [o], d;\nret;\n}\n");
    hd_buf_putc(text, '\0');
}

static void test_turn(unsigned registers, unsigned turn, bool adds)
{
    const uint64_t params[] = {(uintptr_t)out};
    const struct interp_launch launch = {
        .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = params, .ops = &services};
    struct hd_buf text;
    char name[64];

    hd_buf_init(&text);
    kernel_text(&text, registers, turn, adds);
    snprintf(name, sizeof(name), "%u registers, turned by %u%s", registers, turn,
             adds ? ", with sums" : "");
    memset(out, 0, sizeof(out));
    both_test(name, &text, launch, out, sizeof(out));
    hd_buf_fini(&text);
}

int main(void)
{
    static const unsigned registers[] = {16, 24, 40, 255}, turns[] = {0, 1, 7, 30};

    for (size_t r = 0; r < HD_COUNT_OF(registers); r++)
        for (size_t t = 0; t < HD_COUNT_OF(turns); t++) {
            test_turn(registers[r], turns[t], false);
            test_turn(registers[r], turns[t], true);
        }
    return done();
}
