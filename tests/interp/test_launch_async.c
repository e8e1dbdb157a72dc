/* Block copies, in IR text: sizes, units, masks, and what is refused while they run. */
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

int main(void)
{
    test_copies();
    test_units();
    hd_buf_fini(&printed);
    return done();
}
