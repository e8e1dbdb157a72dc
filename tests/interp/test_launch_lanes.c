/*
 * Lanes and each other's places: whether they are neighbours, in the same words, or apart, which
 * a compiler may find out for many accesses at once. The answers are those of a loop over the
 * threads.
 */
#include "launch_job.h"

#include <math.h>

enum { T = 128, WORDS = 1024, NAN_BITS = 0x7fffffff };

static struct hd_buf text;

static void text_begin(const char *start)
{
    text.len = 0;
    hd_buf_puts(&text, start);
}

/* ---- in line, or not: thread t at 2 * t - (t & mask) */

static const char place_of_thread[] =
    "  %6:b64 = const.b64 0x8\n  %7:b64 = ld.b64.param [%6]\n  %8:b32 = cvt.u32.u64 %7\n"
    "  %9:b32 = and.b32 %2, %8\n  %10:b32 = add.u32 %2, %2\n  %11:b32 = sub.u32 %10, %9\n"
    "  %12:b64 = mulwide.s32 %11, %4\n  %13:b64 = add.u64 %1, %12\n"
    "  %14:b64 = cvt.s64.s32 %11\n  %15:b64 = const.b64 0x100\n  %16:b64 = add.u64 %14, %15\n"
    "  %17:b32 = const.b32 0x2\n  %18:b64 = shl.b64 %16, %17\n  %19:b64 = add.u64 %1, %18\n";

static uint32_t place(uint32_t t, uint64_t mask)
{
    return 2 * t - (t & (uint32_t)mask);
}

static enum hd_status run_places(void *words, uint64_t mask, uint32_t threads)
{
    const void *params[] = {words, (const void *)(uintptr_t)mask};
    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE);
    hd_buf_puts(&text, place_of_thread);
    hd_buf_puts(&text, "  %20:b32 = ld.b32.global [%13]\n  %21:b32 = ld.b32.global [%13+16]\n"
                       "  %22:b32 = ld.b32.global [%19]\n  %23:b32 = ld.b32.global [%19+1024]\n"
                       "  %24:b32 = add.u32 %20, %21\n  %25:b32 = add.u32 %22, %23\n"
                       "  %26:b32 = add.u32 %24, %25\n  st.b32.global [%19+2048], %26\n"
                       "  ret\n}\n");
    return run(&(struct job){text.ptr, 1, threads, .params = params});
}

static void fill(uint32_t *words)
{
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i * i * 2654435761u;
}

static void test_places(uint64_t mask, uint32_t threads)
{
    static uint32_t words[WORDS], expected[WORDS];
    fill(words);
    fill(expected);
    for (uint32_t t = 0; t < threads; t++) {
        uint32_t *x = expected + place(t, mask);
        x[768] = x[0] + x[4] + x[256] + x[512];
    }
    eq_u64(run_places(words, mask, threads), HD_OK, "mask %#llx runs", (unsigned long long)mask);
    eq_mem(words, expected, sizeof(words), "%u threads find their places", threads);
}

static void test_places_between_words(void)
{
    static uint32_t words[WORDS];
    char *between = (char *)words + 2;
    eq_u64(run_places(between, UINT32_MAX, T), HD_MISALIGNED, "neighbours between words");
    eq_u64(fault.address, (uint64_t)(uintptr_t)between, "at the first one's address");
    eq_u64(run_places(between, 1, T), HD_MISALIGNED, "others");
}

/* The same in a loop that goes by 128 words, four times. */
static void test_places_in_loop(uint64_t mask)
{
    static uint32_t words[WORDS], out[T];
    const void *params[] = {words, (const void *)(uintptr_t)mask};
    unsigned bad = 0;
    fill(words);
    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE);
    hd_buf_puts(&text, place_of_thread);
    hd_buf_puts(
        &text, "  %20:b32 = const.b32 0x0\n  %21:b32 = const.b32 0x1\n  %22:b64 = const.b64 0x200\n"
               "  br bb1\n"
               "bb1:\n  %23:b64 = phi.b64 [bb0: %13], [bb1: %28]\n"
               "  %24:b32 = phi.b32 [bb0: %20], [bb1: %27]\n"
               "  %25:b32 = phi.b32 [bb0: %20], [bb1: %29]\n  %26:b32 = ld.b32.global [%23]\n"
               "  %30:b32 = ld.b32.global [%23+64]\n  %31:b32 = xor.b32 %26, %30\n"
               "  %27:b32 = add.u32 %24, %31\n  %28:b64 = add.u64 %23, %22\n"
               "  %29:b32 = add.u32 %25, %21\n  %32:pred = setp.u32.lt %29, %4\n"
               "  cbr %32, bb1, bb2\n"
               "bb2:\n  st.b32.global [%3+3584], %27\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < T; t++) {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t at = place(t, mask) + 128 * k;
            out[t] = (k ? out[t] : 0) +
                     ((at * at * 2654435761u) ^ ((at + 16) * (at + 16) * 2654435761u));
        }
        bad += words[896 + t] != out[t];
    }
    ok(ran && !bad, "mask %#llx in a loop", (unsigned long long)mask);
}

/* ---- shared memory: what one store leaves another load finds, and the other way round */

#define SHARED                                                                                     \
    HEAD "var @s shared internal align 4 size 2048\nkernel @k visible {\n" PARAMS PROLOGUE         \
         "  %6:b64 = varaddr @s\n  %7:b32 = cvt.u32.u64 %6\n  %8:b32 = const.b32 0x2\n"            \
         "  %9:b32 = shl.b32 %2, %8\n  %10:b32 = add.u32 %7, %9\n"

/* Threads exchange s[i] and s[j], and add to both: j is i + `apart`. */
struct exchange {
    const char *what;
    uint32_t by, apart; /* 0: i is 2 * t - (t & (apart - 1)); else by * (2 * t + 1) - 1 */
    bool pads;          /* a word behind every 32 */
    uint32_t threads;
};

static uint32_t padded(uint32_t i, const struct exchange *x)
{
    return x->pads ? i + (i >> 5) : i;
}

static uint32_t exchanged(uint32_t t, const struct exchange *x)
{
    return x->by ? x->by * (2 * t + 1) - 1 : 2 * t - (t & (x->apart - 1));
}

static void text_of_exchange(const struct exchange *x)
{
    text_begin(SHARED);
    for (unsigned w = 0; w < 4; w++)
        hd_buf_printf(&text,
                      "  %%%u:b32 = ld.b32.global [%%3+%u]\n  st.b32.shared [%%10+%u], %%%u\n",
                      11 + w, 512 * w, 512 * w, 11 + w);
    hd_buf_printf(&text, "  bar.sync\n  %%15:b32 = const.b32 0x%x\n  %%16:b32 = const.b32 0x%x\n",
                  x->threads, x->by ? x->by : x->apart - 1);
    hd_buf_printf(&text,
                  "  %%17:b32 = const.b32 0x1\n  %%18:b32 = const.b32 0x5\n"
                  "  %%19:b32 = const.b32 0x%x\n  %%20:b32 = shl.b32 %%2, %%17\n"
                  "  %%40:pred = setp.u32.lt %%2, %%15\n  cbr %%40, bb1, bb2\nbb1:\n",
                  x->apart);
    hd_buf_puts(&text, x->by ? "  %21:b32 = or.b32 %20, %17\n  %22:b32 = mul.u32 %21, %16\n"
                               "  %23:b32 = sub.u32 %22, %17\n"
                             : "  %22:b32 = and.b32 %2, %16\n  %23:b32 = sub.u32 %20, %22\n");
    hd_buf_puts(&text, x->apart ? "  %24:b32 = add.u32 %23, %19\n"
                                : "  %38:b32 = shr.u32 %23, %8\n  %39:b32 = shl.b32 %38, %8\n"
                                  "  %24:b32 = add.u32 %39, %17\n");
    hd_buf_puts(&text, x->pads ? "  %25:b32 = shr.s32 %23, %18\n  %26:b32 = add.u32 %23, %25\n"
                                 "  %27:b32 = shr.s32 %24, %18\n  %28:b32 = add.u32 %24, %27\n"
                                 "  %29:b32 = shl.b32 %26, %8\n  %30:b32 = shl.b32 %28, %8\n"
                               : "  %29:b32 = shl.b32 %23, %8\n  %30:b32 = shl.b32 %24, %8\n");
    hd_buf_puts(&text, "  %31:b32 = add.u32 %7, %29\n  %32:b32 = add.u32 %7, %30\n"
                       "  %33:b32 = ld.b32.shared [%31]\n  %34:b32 = ld.b32.shared [%32]\n"
                       "  %37:b32 = add.u32 %34, %17\n  st.b32.shared [%31], %37\n  %35:b32 = "
                       "ld.b32.shared [%32]\n"
                       "  %36:b32 = add.u32 %33, %35\n  st.b32.shared [%32], %36\n  br bb2\n"
                       "bb2:\n  bar.sync\n");
    for (unsigned w = 0; w < 4; w++)
        hd_buf_printf(&text,
                      "  %%%u:b32 = ld.b32.shared [%%10+%u]\n  st.b32.global [%%3+%u], %%%u\n",
                      41 + w, 512 * w, 512 * w, 41 + w);
    hd_buf_puts(&text, "  ret\n}\n");
}

static void test_exchange(const struct exchange *x)
{
    uint32_t words[4 * T], expected[4 * T];
    const void *params[] = {words, NULL};
    for (uint32_t i = 0; i < 4 * T; i++)
        words[i] = expected[i] = i * i * 2654435761u;
    for (uint32_t t = 0; t < x->threads; t++) {
        uint32_t i = padded(exchanged(t, x), x), j = padded(exchanged(t, x) + x->apart, x);
        uint32_t before = expected[i];
        expected[i] = expected[j] + 1;
        expected[j] += before;
    }
    text_of_exchange(x);
    eq_u64(run(&(struct job){text.ptr, 1, T, .params = params}), HD_OK, "%s runs", x->what);
    eq_mem(words, expected, sizeof(words), "%s, %u apart", x->what, x->apart);
}

static const struct exchange exchanges[] = {
    {"words beside each other", 0, 1, false, T},
    {"every other word", 0, 2, false, T},
    {"four words", 0, 4, false, T},
    {"eight words", 0, 8, false, T},
    {"halves", 0, 16, false, T},
    {"warps", 0, 32, false, T},
    {"the first threads", 0, 8, false, 40},
    {"steps of one", 1, 1, true, T},
    {"steps of two", 2, 2, true, T / 2},
    {"steps of four", 4, 4, true, T / 4},
    {"steps of eight", 8, 8, true, 16},
    {"steps of four without padding", 4, 4, false, T / 4},
    {"both at one place", 2, 0, false, T / 2},
    {"the next words, every fourth", 2, 1, false, T / 2},
};

/* ---- a tree of sums, whose NaNs are one NaN in memory */

static uint32_t sum_of(uint32_t a, uint32_t b, uint32_t for_nan)
{
    float x, y;
    uint32_t bits;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    x += y;
    memcpy(&bits, &x, sizeof(bits));
    return x != x ? for_nan : bits;
}

/* One level: threads below k add what is k further. Sums that are no number become `for_nan`. */
static void text_of_level(uint32_t k, uint32_t for_nan, unsigned id, unsigned block)
{
    hd_buf_printf(&text, "  bar.sync\n  %%%u:b32 = const.b32 0x%x\n", id, k);
    hd_buf_printf(&text, "  %%%u:pred = setp.u32.lt %%2, %%%u\n", id + 1, id);
    hd_buf_printf(&text, "  cbr %%%u, bb%u, bb%u\nbb%u:\n", id + 1, block, block + 1, block);
    hd_buf_printf(&text, "  %%%u:b32 = ld.b32.shared [%%10]\n", id + 2);
    hd_buf_printf(&text, "  %%%u:b32 = ld.b32.shared [%%10+%u]\n", id + 3, 4 * k);
    hd_buf_printf(&text, "  %%%u:b32 = fadd.f32.rn %%%u, %%%u\n", id + 4, id + 2, id + 3);
    hd_buf_printf(&text, "  %%%u:pred = fsetp.f32.nan %%%u, %%%u\n", id + 5, id + 4, id + 4);
    hd_buf_printf(&text, "  %%%u:b32 = const.b32 0x%x\n", id + 6, for_nan);
    hd_buf_printf(&text, "  %%%u:b32 = select.b32 %%%u, %%%u, %%%u\n", id + 7, id + 5, id + 6,
                  id + 4);
    hd_buf_printf(&text, "  st.b32.shared [%%10], %%%u\n  br bb%u\nbb%u:\n",
                  for_nan == NAN_BITS ? id + 4 : id + 7, block + 1, block + 1);
}

/* `special` at one place, and the same with another sign at one that comes to it later. */
static void test_tree(uint32_t special, uint32_t at, uint32_t for_nan)
{
    uint32_t words[T], expected[T];
    const void *params[] = {words, NULL};
    unsigned id = 12, block = 1;
    for (uint32_t i = 0; i < T; i++)
        words[i] = expected[i] = i == at       ? special
                                 : i == at + 8 ? special ^ 0x80000000
                                               : 0x3f800000 + (i << 16);
    text_begin(SHARED "  %11:b32 = ld.b32.global [%3]\n  st.b32.shared [%10], %11\n");
    for (uint32_t k = T / 2; k; k /= 2, id += 8, block += 2) {
        text_of_level(k, for_nan, id, block);
        for (uint32_t t = 0; t < k; t++)
            expected[t] = sum_of(expected[t], expected[t + k], for_nan);
    }
    hd_buf_printf(&text, "  bar.sync\n  %%%u:b32 = ld.b32.shared [%%10]\n", id);
    hd_buf_printf(&text, "  st.b32.global [%%3], %%%u\n  ret\n}\n", id);
    eq_u64(run(&(struct job){text.ptr, 1, T, .params = params}), HD_OK, "a tree runs");
    eq_mem(words, expected, sizeof(words), "sums with %#x at %u, %#x for NaN", special, at,
           for_nan);
}

/* ---- the other half of a warp, without a barrier: lanes go in step where they do not part */

static void test_other_half(bool first_read)
{
    uint32_t words[T];
    const void *params[] = {words, NULL};
    unsigned bad = 0;

    text_begin(SHARED "  st.b32.shared [%10], %2\n");
    if (first_read)
        hd_buf_puts(&text, "  bar.sync\n");
    hd_buf_puts(&text, "  %11:b32 = const.b32 0x40\n  %12:b32 = xor.b32 %10, %11\n"
                       "  %13:b32 = ld.b32.shared [%12]\n  %14:b32 = const.b32 0x3e8\n"
                       "  st.b32.shared [%10], %14\n  %15:b32 = ld.b32.shared [%10]\n"
                       "  %16:b32 = add.u32 %13, %15\n  st.b32.global [%3], %16\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < T; t++)
        bad += words[t] != (t ^ 16) + 1000;
    ok(ran && !bad, "the other half's words, read %s", first_read ? "first" : "behind a store");
}

/* ---- warps whose upper lanes do not run, at places of which much is known */

/* Of XLA's sort: LLVM 19 turned the masks of the halves into each other for ever
 * (gen_workarounds.c). */
static void test_known_bits(uint32_t threads)
{
    uint32_t words[T];
    const void *params[] = {words, NULL};
    unsigned bad = 0;

    text_begin(SHARED
               "  st.b32.shared [%10], %2\n  bar.sync\n  %11:b64 = cvt.u64.u32 %2\n"
               "  %12:b32 = const.b32 0x1\n  %13:b64 = const.b64 0x2\n  %14:b64 = const.b64 0x38\n"
               "  %15:b64 = shl.b64 %11, %12\n  %16:b64 = and.b64 %15, %13\n"
               "  %17:b64 = shl.b64 %11, %8\n  %18:b64 = and.b64 %17, %14\n"
               "  %19:b64 = or.b64 %16, %18\n  %20:b64 = shl.b64 %19, %8\n"
               "  %21:b64 = const.b64 0x8\n  %22:b64 = xor.b64 %20, %21\n"
               "  %23:b64 = add.s64 %6, %22\n  %24:b32 = ld.b32.shared [%23]\n"
               "  %25:b32 = ld.b32.shared [%23+4]\n  %26:b32 = add.u32 %24, %25\n"
               "  st.b32.global [%3], %26\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, threads, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < threads; t++) {
        uint32_t at = ((2 * t & 2) | (4 * t & 56)) ^ 2;
        bad += at + 1 < threads && words[t] != 2 * at + 1;
    }
    ok(ran && !bad, "%u threads at places of which much is known", threads);
}

/* Every thread stores its numbers where its block has them in a row. */
static void test_thread_numbers(const uint32_t block[3])
{
    static uint32_t words[1024];
    const void *params[] = {words, NULL};
    uint32_t bx = block[0], by = block[1], bz = block[2];
    unsigned bad = 0;

    memset(words, 0xff, sizeof(words));
    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                    "  %6:b32 = sreg.b32 tid.y\n  %7:b32 = sreg.b32 tid.z\n"
                    "  %8:b32 = sreg.b32 ntid.x\n  %9:b32 = sreg.b32 ntid.y\n"
                    "  %10:b32 = mul.u32 %7, %9\n  %11:b32 = add.u32 %10, %6\n"
                    "  %12:b32 = mul.u32 %11, %8\n  %13:b32 = add.u32 %12, %2\n"
                    "  %14:b64 = mulwide.u32 %13, %4\n  %15:b64 = add.u64 %1, %14\n"
                    "  %16:b32 = const.b32 0x400\n  %17:b32 = mul.u32 %7, %16\n"
                    "  %18:b32 = add.u32 %17, %6\n  %19:b32 = mul.u32 %18, %16\n"
                    "  %20:b32 = add.u32 %19, %2\n  st.b32.global [%15], %20\n  ret\n}\n");
    bool ran =
        run(&(struct job){text.ptr, 1, bx, .rows = by, .planes = bz, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < bx * by * bz; t++)
        bad += words[t] != ((t / bx / by) << 20 | (t / bx % by) << 10 | t % bx);
    ok(ran && !bad, "threads of blocks of %u x %u x %u have their numbers", bx, by, bz);
}

static void test_all_numbers(void)
{
    static const uint32_t blocks[][3] = {{1023, 1, 1}, {1, 1024, 1}, {1, 1, 64}, {3, 341, 1},
                                         {341, 3, 1},  {8, 8, 16},   {7, 9, 16}, {31, 33, 1},
                                         {33, 31, 1},  {5, 3, 64},   {2, 8, 64}, {511, 2, 1}};
    for (size_t i = 0; i < HD_COUNT_OF(blocks); i++)
        test_thread_numbers(blocks[i]);
}

/* ---- who has the same: of numbers of few bits, of many; all lanes, or those with odd numbers */

static uint32_t number_of(uint32_t t, uint32_t mask)
{
    return (t * t * 2654435761u >> 7) & mask;
}

static uint32_t matches_of(uint32_t t, uint32_t mask, uint32_t members)
{
    uint32_t same = 0;

    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t other = t / 32 * 32 + lane;
        same |= (uint32_t)(number_of(other, mask) == number_of(t, mask)) << lane;
    }
    return same & members;
}

static void test_match(uint32_t mask, uint32_t members)
{
    uint32_t words[T];
    const void *params[] = {words, NULL};
    unsigned bad = 0;

    for (uint32_t t = 0; t < T; t++)
        words[t] = t * t * 2654435761u >> 7;
    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE);
    hd_buf_printf(&text,
                  "  %%6:b32 = ld.b32.global [%%3]\n  %%7:b32 = const.b32 %#x\n"
                  "  %%8:b32 = and.b32 %%6, %%7\n  %%9:b32 = const.b32 %#x\n"
                  "  %%10:b32 = sreg.b32 laneid\n  %%11:b32 = const.b32 0x1\n"
                  "  %%12:b32 = shl.b32 %%11, %%10\n  %%13:b32 = and.b32 %%12, %%9\n"
                  "  %%14:b32 = const.b32 0x0\n  %%15:pred = setp.u32.ne %%13, %%14\n"
                  "  cbr %%15, bb1, bb2\nbb1:\n  %%16:b32 = match.b32.any %%8, %%9\n"
                  "  st.b32.global [%%3], %%16\n  br bb2\nbb2:\n  ret\n}\n",
                  mask, members);
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < T; t++)
        bad += members >> t % 32 & 1 && words[t] != matches_of(t, mask, members);
    ok(ran && !bad, "lanes of %#x with the same of bits %#x", members, mask);
}

static void test_matches(void)
{
    static const uint32_t masks[] = {0, 1, 0x84, 0xff, 0xffff, 0x1ffff, 0x7fffffff, UINT32_MAX};

    for (size_t i = 0; i < HD_COUNT_OF(masks); i++) {
        test_match(masks[i], UINT32_MAX);
        test_match(masks[i], 0xaaaaaaaa);
    }
}

/* ---- 0 by what becomes 0 */

static void test_quotient(void)
{
    uint32_t words[T];
    const void *params[] = {words, NULL};
    unsigned bad = 0;

    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                    "  %6:b32 = popc.s32 %2\n  %7:b32 = const.b32 0x0\n"
                    "  %8:b32 = fdiv.f32.full.ftz %7, %6\n  %9:b32 = fma.f32.rz %2, %2, %8\n"
                    "  st.b32.global [%3], %9\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < T; t++)
        bad += words[t] != NAN_BITS;
    ok(ran && !bad, "0 by numbers that are flushed is no number");
}

/* ---- a fused multiply-add, rounded down, that leaves a whole number: see gen_floor_is_sum() */

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* scale and start: bits of f32. */
static void test_whole_sum(uint32_t scale, uint32_t start, uint32_t flush)
{
    static const uint32_t special[] = {0,          0x80000000, 1,          0x7fffff,  0x3f800000,
                                       0x40000000, 0xff800000, 0x7f800000, 0x7fc00000};
    uint32_t words[T], from[T];
    const void *params[] = {words, NULL};
    unsigned bad = 0;

    for (uint32_t t = 0; t < T; t++) /* integers over the scale and their neighbours, and others */
        from[t] = t < HD_COUNT_OF(special) ? special[t]
                  : t < 100                ? 0x3b820821 + (t - 50) * (t % 2 ? 1 : 0x21041)
                                           : 0x3f7fffff - t * 7919 * (t % 3);
    memcpy(words, from, sizeof(words));
    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE "  %6:b32 = ld.b32.global [%3]\n");
    hd_buf_printf(&text,
                  "  %%7:b32 = const.b32 %#x\n  %%8:b32 = const.b32 %#x\n"
                  "  %%9:b32 = cvt.f32.f32%s.sat %%6\n  %%10:b32 = fma.f32.rm%s %%9, %%7, %%8\n"
                  "  st.b32.global [%%3], %%10\n  ret\n}\n",
                  scale, start, flush ? ".ftz" : "", flush ? ".ftz" : "");
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < T; t++) {
        float x = float_of(from[t]);
        double of_unit = x > 0 ? x < 1 ? x : 1 : 0;
        double sum = floor(of_unit * float_of(scale)) + float_of(start);
        bad += float_of(words[t]) != (float)sum;
    }
    ok(ran && !bad, "whole numbers from %#x on, up to %#x: %u wrong", start, scale, bad);
}

static void test_whole_sums(void)
{
    for (uint32_t flush = 0; flush < 2; flush++) {
        test_whole_sum(0x437c0000, 0x4b400001, flush); /* expf(): 252, 12582913 */
        test_whole_sum(0x3f800000, 0x4b000000, flush); /* 1, 2^23 */
        test_whole_sum(0x4a800000, 0x4b000000, flush); /* 2^22, the same */
        test_whole_sum(0x42a3d70a, 0x4b3c614e, flush); /* 81.92, 12345678 */
    }
}

/* ---- the same in sixteen lanes, of which the first does not run, computed by the reference */

static void test_row_numbers(void)
{
    enum { X = 16, Y = 6 };
    static const uint16_t halves[Y] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
    uint32_t words[X * Y];
    const void *params[] = {words, NULL};
    unsigned bad = 0;

    memset(words, 0xff, sizeof(words));
    text_begin(HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                    "  %6:b32 = sreg.b32 tid.y\n  %7:b32 = const.b32 0x10\n"
                    "  %8:b32 = mul.u32 %6, %7\n  %9:b32 = add.u32 %8, %2\n"
                    "  %10:b64 = mulwide.u32 %9, %4\n  %11:b64 = add.u64 %1, %10\n"
                    "  %12:b32 = const.b32 0x1\n  %13:b32 = and.b32 %2, %12\n"
                    "  %14:pred = setp.u32.eq %13, %12\n  cbr %14, bb1, bb2\n"
                    "bb1:\n  %15:b64 = cvt.u64.u32 %6\n  %16:b16 = cvt.f16.u64.rm %15\n"
                    "  %17:b32 = cvt.u32.u16 %16\n  st.b32.global [%11], %17\n  br bb2\n"
                    "bb2:\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, X, .rows = Y, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < X * Y; t++)
        bad += words[t] != (t % 2 ? halves[t / X] : UINT32_MAX);
    ok(ran && !bad, "numbers of rows become halves where the first lane does not run");
}

int main(void)
{
    static const uint64_t masks[] = {0, 1, 7, 15, 31, 63, 127, UINT32_MAX, 0xfffffff7};
    hd_buf_init(&printed);
    hd_buf_init(&text);
    for (size_t i = 0; i < HD_COUNT_OF(masks); i++) {
        test_places(masks[i], T);
        test_places(masks[i], 100);
        test_places_in_loop(masks[i]);
    }
    test_places_between_words();
    for (size_t i = 0; i < HD_COUNT_OF(exchanges); i++)
        test_exchange(&exchanges[i]);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t for_nan = i ? 0x41200000 : NAN_BITS;
        test_tree(0x3f800000, 5, for_nan);
        test_tree(0x7fc00123, 100, for_nan);
        test_tree(0xffc00000, 3, for_nan);
        test_tree(0x7f800000, 1, for_nan);
        test_tree(0x7f800001, 9, for_nan);
    }
    test_other_half(false);
    test_other_half(true);
    test_known_bits(16);
    test_known_bits(23);
    test_known_bits(T);
    test_all_numbers();
    test_matches();
    test_quotient();
    test_whole_sums();
    test_row_numbers();
    hd_buf_fini(&text);
    hd_buf_fini(&printed);
    return done();
}
