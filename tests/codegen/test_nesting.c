/*
 * Branches inside of branches, and loops inside of loops, deeper than there are convergence
 * barriers: lanes of a warp go different ways at each, and have to find together where a shuffle
 * asks for all of them.
 */
#include "codegen/both.h"

enum { THREADS = 32, DEEPEST = 40 };

static uint32_t out[4 * THREADS];
static struct {
    uint64_t out;
} params;

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    const char *p = (const char *)(uintptr_t)address;

    return p >= (char *)out && p + size_B <= (char *)out + sizeof(out);
}
static const struct interp_ops services = {.check = check};

static void begin(struct hd_buf *text)
{
    hd_buf_puts(
        text, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) "
              "{\n.reg .b64 x, y; .reg .b32 t, s, u, i<64>; .reg .pred p, q;\n"
              "ld.param.u64 x, [out]; mov.u32 t, %tid.x; mul.wide.u32 y, t, 16; add.u64 x, x, y;\n"
              "mov.u32 s, t;\n");
}

static void end(const char *name, struct hd_buf *text)
{
    const struct interp_launch launch = {
        .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = &params, .ops = &services};

    hd_buf_puts(text, "shfl.sync.bfly.b32 u, s, 5, 31, -1;\nst.global.u32 [x], s;\n"
                      "st.global.u32 [x+4], u;\nret;\n}\n");
    hd_buf_putc(text, '\0');
    both_test(name, text, launch, out, sizeof(out));
    hd_buf_fini(text);
}

/* Lane t goes `t % (depth + 1)` deep, and does something on its way in and out; with `elses`, the
 * others do something else. */
static void test_branches(unsigned depth, bool elses)
{
    struct hd_buf text;
    char name[64];

    hd_buf_init(&text);
    begin(&text);
    hd_buf_printf(&text, "rem.u32 u, t, %u;\n", depth + 1);
    for (unsigned d = 0; d < depth; d++)
        hd_buf_printf(&text,
                      "mad.lo.u32 s, s, 1664525, %u;\nsetp.le.u32 p, u, %u;\n@p bra else%u;\n", d,
                      d, d);
    for (unsigned d = depth; d-- > 0;) {
        hd_buf_printf(&text, "xor.b32 s, s, %u;\nst.global.u32 [x+8], s;\n", d * 77);
        if (elses)
            hd_buf_printf(&text,
                          "bra.uni end%u;\nelse%u:\nsub.u32 s, s, %u;\nmul.lo.u32 s, s, s;\n"
                          "st.global.u32 [x+12], s;\nend%u:\n",
                          d, d, d + 3, d);
        else
            hd_buf_printf(&text, "else%u:\n", d);
    }
    snprintf(name, sizeof(name), "%u branches%s", depth, elses ? " with others" : "");
    end(name, &text);
}

/* Each runs once or twice, as a bit of what was computed says. */
static void test_loops(unsigned depth)
{
    struct hd_buf text;
    char name[64];

    hd_buf_init(&text);
    begin(&text);
    for (unsigned d = 0; d < depth; d++)
        hd_buf_printf(&text, "mov.u32 i%u, 0;\nloop%u:\nmad.lo.u32 s, s, 22695477, %u;\n", d, d, d);
    for (unsigned d = depth; d-- > 0;)
        hd_buf_printf(&text,
                      "st.global.u32 [x+8], s;\nadd.u32 i%u, i%u, 1;\nshr.u32 u, s, %u;\n"
                      "and.b32 u, u, 1;\n%ssetp.le.u32 p, i%u, u;\n@p bra loop%u;\n",
                      d, d, 7 + d % 16, d > 6 ? "mov.u32 u, 0;\n" : "", d, d);
    snprintf(name, sizeof(name), "%u loops", depth);
    end(name, &text);
}

int main(void)
{
    static const unsigned depths[] = {1, 8, 11, 12, 13, 16, 17, 24, DEEPEST};

    params.out = (uintptr_t)out;
    for (size_t i = 0; i < HD_COUNT_OF(depths); i++) {
        test_branches(depths[i], false);
        test_branches(depths[i], true);
        test_loops(depths[i]);
    }
    return done();
}
