/*
 * Which reads meet no write (analysis/conflicts.h): small kernels, with and without what it takes.
 */
#include "analysis/conflicts.h"
#include "tap.h"

#include "base/str.h"
#include "ir/probe.h"

#define HEAD                                                                                       \
    "module \"m\" sm 80\n"                                                                         \
    "var @s shared internal align 4 size 1024\n"                                                   \
    "var @g global internal align 4 size 64\n"                                                     \
    "func @f internal () -> () {\nbb0:\n  ret\n}\n"                                                \
    "kernel @k visible {\n  params 32\nbb0:\n"                                                     \
    "  %0:b64 = const.b64 0x0\n"                                                                   \
    "  %1:b64 = ld.b64.param [%0]\n"                                                               \
    "  %2:b64 = ld.b64.param [%0+8]\n"                                                             \
    "  %3:b32 = ld.b32.param [%0+16]\n"                                                            \
    "  %4:b32 = sreg.b32 tid.x\n"                                                                  \
    "  %5:b32 = const.b32 0x0\n"                                                                   \
    "  %6:b32 = const.b32 0x4\n"                                                                   \
    "  %7:b32 = shl.b32 %4, %6\n"                                                                  \
    "  %8:b64 = mulwide.s32 %4, %6\n"                                                              \
    "  %9:pred = setp.s32.lt %4, %3\n"                                                             \
    "  %10:pred = setp.s32.lt %3, %6\n"

/* "q" for each shared read that meets no write, "." for others; then what is written. */
static void describe(const struct ir_conflicts *c, const struct ir_func *kernel, struct hd_buf *out)
{
    for (uint32_t b = 0; b < kernel->nblocks; b++) {
        ir_foreach_instr(in, kernel->blocks[b]) {
            bool reads = in->op == IR_OP_PROBE_ACCESS && ir_probe_op(in) == IR_OP_LD &&
                         in->mem.space == IR_SPACE_SHARED;
            bool quiet = reads && c->is_quiet && c->is_quiet[ir_probe_number(in)];
            if (reads)
                hd_buf_printf(out, "%c", quiet ? 'q' : '.');
        }
    }
    hd_buf_printf(out, "|%s", c->knows_writes ? "" : "?");
    for (uint32_t i = 0; c->knows_writes && i < c->nwritten; i++)
        hd_buf_printf(out, " %c%u", c->written[i].kind == IR_ROOT_PARAM ? 'p' : 'v',
                      c->written[i].at);
}

static void check(const char *body, const char *want, const char *name)
{
    struct hd_buf text = {0}, got = {0};
    struct ir_module *module = NULL;

    hd_buf_printf(&text, "%s%s}\n", HEAD, body);
    if (!ok(ir_read_module(text.ptr, text.len, "t", &module) == HD_OK &&
                ir_validate(module) == HD_OK && ir_probe_insert(module, IR_PROBE_ALL),
            "%s: is IR", name)) {
        diag("%s", hd_error_message());
    } else {
        struct ir_func *kernel = ir_module_find_func(module, "k");
        struct ir_conflicts *c = ir_conflicts_create(kernel);
        if (c)
            describe(c, kernel, &got);
        eq_str(got.ptr, want, "%s", name);
        ir_conflicts_destroy(c);
    }
    ir_module_destroy(module);
    free(hd_buf_take(&text));
    free(hd_buf_take(&got));
}

#define WRITE_TILE "  st.b32.shared [%7], %4\n"
#define READ(n)    "  %" #n ":b32 = ld.b32.shared [%7+4]\n"
#define BAR        "  bar.sync %5\n"

static void test_intervals(void)
{
    check(WRITE_TILE BAR READ(20) READ(21) BAR WRITE_TILE "  ret\n", "qq|", "a tile");
    check(WRITE_TILE READ(20) BAR READ(21) "  ret\n", ".q|", "one of two without a barrier");
    check(READ(20) BAR WRITE_TILE "  ret\n", "q|", "reads before");
    check(READ(20) WRITE_TILE "  ret\n", ".|", "no barrier at all");
    check("  br bb1\nbb1:\n" WRITE_TILE BAR READ(20) BAR "  cbr %10, bb1, bb2\nbb2:\n  ret\n", "q|",
          "a loop over tiles");
    check("  br bb1\nbb1:\n" WRITE_TILE BAR READ(20) "  cbr %10, bb1, bb2\nbb2:\n  ret\n", ".|",
          "whose next write is not behind a barrier");
    check(WRITE_TILE BAR "  cbr %9, bb1, bb2\nbb1:\n" READ(20) "  br bb2\nbb2:\n" BAR WRITE_TILE
                                                               "  ret\n",
          "q|", "reads by some threads");
    check(WRITE_TILE BAR "  cbr %9, bb1, bb2\nbb1:\n" READ(20) "  br bb3\nbb2:\n" WRITE_TILE
                                                               "  br bb3\nbb3:\n" BAR "  ret\n",
          ".|", "and writes by others");
    check("  cbr %9, bb1, bb2\nbb1:\n" BAR "  br bb2\nbb2:\n" READ(20) "  ret\n", ".|",
          "a barrier that some threads leave out");
    check("  cbr %10, bb1, bb2\nbb1:\n" BAR "  br bb2\nbb2:\n" READ(20) "  ret\n", "q|",
          "or all of them");
    check(WRITE_TILE "  bar.sync %6\n" READ(20) "  ret\n", ".|", "another barrier");
    check(WRITE_TILE "  %18:b32 = const.b32 0x20\n  bar.sync %5, %18\n" READ(20) "  ret\n", ".|",
          "a barrier of some warps");
    check(WRITE_TILE BAR "  %20:b32 = ld.b32.shared.volatile [%7]\n  ret\n", ".|", "volatile");
    check("  call @f\n" READ(20) "  ret\n", ".|?", "a call");
}

static void test_asynchronous(void)
{
    check("  %18:b64 = const.b64 0x10\n  %19:b64 = cvt.u64.u32 %7\n"
          "  copy.shared [%19], %1, %18, %18, %4, imm=0x10\n" BAR READ(20) "  ret\n",
          ".|", "a copy may come later");
    check(WRITE_TILE "  async %7, imm=0x10\n" BAR READ(20) "  ret\n", ".|", "as may this store");
    check("  %18:b64 = varaddr @s\n  %19:b64 = cvta.shared %18\n  st.b32 [%19], %4\n" READ(
              20) "  ret\n",
          ".|", "a generic write of shared memory");
}

static void test_writes(void)
{
    check("  %20:b64 = add.s64 %2, %8\n  st.b32.global [%20], %4\n  ret\n", "| p8", "a parameter");
    check("  %20:b64 = select.b64 %9, %1, %2\n  st.b32.global [%20], %4\n  ret\n", "| p0 p8",
          "one of two");
    check("  br bb1\nbb1:\n  %20:b64 = phi.b64 [bb0: %1], [bb1: %21]\n"
          "  %21:b64 = add.s64 %20, %8\n  st.b32.global [%20], %4\n  cbr %10, bb1, bb2\nbb2:\n"
          "  ret\n",
          "| p0", "a pointer that moves");
    check("  %20:b64 = varaddr @g\n  %21:b64 = add.s64 %20, %8\n"
          "  atom.u32.global.add [%21], %4\n  ret\n",
          "| v1", "a variable");
    check("  %20:b64 = ld.b64.global [%1]\n  st.b32.global [%20], %4\n  ret\n", "|?",
          "a pointer from memory");
    check("  %20:b64 = ld.b64.global [%1]\n  %21:b64 = shl.b64 %20, %6\n"
          "  %22:b64 = add.s64 %2, %21\n  st.b32.global [%22], %4\n  ret\n",
          "| p8", "an index from memory");
    check("  %20:b64 = shr.u64 %1, %6\n  %21:b64 = shl.b64 %20, %6\n"
          "  st.b32.global [%21], %4\n  ret\n",
          "| p0", "a pointer that is rounded");
    check("  %20:b64 = mul.s64 %8, %8\n  st.b32.global [%20], %4\n  ret\n", "|?", "a number");
    check("  %20:b64 = ld.b64.param [%8]\n  st.b32.global [%20], %4\n  ret\n", "|?",
          "a parameter, but which");
    check("  %20:b64 = add.s64 %1, %8\n  %21:b32 = ld.b32.global [%20]\n  ret\n", "|",
          "nothing is written");
}

int main(void)
{
    test_intervals();
    test_asynchronous();
    test_writes();
    return done();
}
