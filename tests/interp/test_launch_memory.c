/*
 * Kernels in IR text whose memory accesses and barriers the JIT has special forms for: addresses
 * with patterns, strong vectors, values that cross barriers, threads that leave before them.
 */
#include <sys/mman.h>

#include "launch_job.h"

/* p[i] = p[i] + tid for i = 2 * tid - (tid & (q - 1)), tid < 50: contiguous for some q only. */
static void test_computed_addresses(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = ld.b32.param [%0+8]\n  %7:b32 = const.b32 0x1\n  %8:b32 = sub.u32 %6, %7\n"
             "  %9:b32 = and.b32 %2, %8\n  %10:b32 = shl.b32 %2, %7\n  %11:b32 = sub.u32 %10, %9\n"
             "  %12:b64 = mulwide.u32 %11, %4\n  %13:b64 = add.u64 %1, %12\n"
             "  %14:b32 = const.b32 0x32\n  %15:pred = setp.u32.lt %2, %14\n  cbr %15, bb1, bb2\n"
             "bb1:\n  %16:b32 = ld.b32.global [%13]\n  %17:b32 = add.u32 %16, %2\n"
             "  st.b32.global [%13], %17\n  br bb2\nbb2:\n  ret\n}\n";
    for (uintptr_t q = 1; q <= 64; q *= 8) {
        uint32_t out[128], expected[128];
        for (uint32_t i = 0; i < 128; i++)
            out[i] = expected[i] = 1000 * i;
        for (uint32_t t = 0; t < 50; t++)
            expected[2 * t - (t & (uint32_t)(q - 1))] += t;
        const void *params[] = {out, (const void *)q};
        eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "addresses run");
        eq_mem(out, expected, sizeof(out), "addresses are right");
    }
}

enum { PAGE_B = 4096 };

/* Two pages that may be accessed between two that may not. */
static uint8_t *guarded_pages(void)
{
    uint8_t *p = mmap(NULL, 4 * PAGE_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + PAGE_B, 2 * PAGE_B, PROT_READ | PROT_WRITE))
        return NULL;
    return p + PAGE_B;
}

/* to[k t + c] = from[k t + c] for threads below `end`; indices are 32 bits or addresses 64. */
static void stride_text(struct hd_buf *text, unsigned bits, unsigned k, unsigned c, unsigned end,
                        bool indexed)
{
    hd_buf_puts(text, HEAD "kernel @k visible {\n" PARAMS PROLOGUE);
    hd_buf_puts(text, "  %6:b64 = const.b64 0x8\n  %7:b64 = ld.b64.param [%6]\n");
    hd_buf_printf(text, "  %%8:b32 = const.b32 %u\n  %%9:b32 = const.b32 %u\n", k, c);
    hd_buf_printf(text, "  %%10:b32 = const.b32 %u\n  %%11:b32 = const.b32 %u\n", bits / 8, end);
    if (indexed)
        hd_buf_puts(text, "  %12:b32 = mul.s32 %2, %8\n  %13:b32 = add.s32 %12, %9\n"
                          "  %14:b64 = mulwide.s32 %13, %10\n");
    else
        hd_buf_puts(text, "  %12:b32 = mul.u32 %8, %10\n  %13:b64 = mulwide.u32 %9, %10\n"
                          "  %18:b64 = mulwide.u32 %2, %12\n  %14:b64 = add.u64 %18, %13\n");
    hd_buf_puts(text, "  %15:b64 = add.u64 %1, %14\n  %16:b64 = add.u64 %7, %14\n"
                      "  %17:pred = setp.u32.lt %2, %11\n  cbr %17, bb1, bb2\n");
    hd_buf_printf(
        text,
        "bb1:\n  %%19:b%u = ld.b%u.global [%%16]\n  st.b%u.global [%%15], %%19\n  br bb2\n"
        "bb2:\n  ret\n}\n",
        bits, bits, bits);
}

/* The first element at the start of the pages, or the last one at their end. */
static bool stride_runs(uint8_t *to, uint8_t *from, unsigned bits, unsigned k, unsigned end,
                        bool at_end, bool indexed)
{
    enum { T = 64 };
    unsigned c = at_end ? k - 1 : 0, size_B = bits / 8, all_B = T * k * size_B;
    uint8_t want[2 * PAGE_B];
    struct hd_buf text;
    hd_buf_init(&text);
    stride_text(&text, bits, k, c, end, indexed);
    memset(to, 0x5a, 2 * PAGE_B);
    memset(want, 0x5a, sizeof(want));
    size_t at = at_end ? 2 * PAGE_B - all_B : 0;
    for (unsigned t = 0; t < end; t++) {
        size_t e = at + (size_t)(k * t + c) * size_B;
        memcpy(want + e, from + e, size_B);
    }
    const void *params[] = {to + at, from + at};
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    hd_buf_fini(&text);
    return ran && !memcmp(to, want, sizeof(want));
}

/* Elements that lie apart: what is between them stays, and what is beyond them is not touched. */
static void test_strides(void)
{
    uint8_t *to = guarded_pages(), *from = guarded_pages();
    if (!ok(to && from, "pages"))
        return;
    for (unsigned i = 0; i < 2 * PAGE_B; i++)
        from[i] = (uint8_t)(i * 37 ^ i >> 8);
    for (unsigned bits = 8; bits <= 64; bits *= 2) {
        unsigned wrong = 0;
        for (unsigned i = 0; i < 5 * 2 * 2 * 2; i++)
            wrong += !stride_runs(to, from, bits, 1 + i / 8, i % 2 ? 64 : 50, i / 2 % 2, i / 4 % 2);
        eq_u64(wrong, 0, "elements of %u bits, 1 to 5 apart", bits);
    }
    munmap(to - PAGE_B, 4 * PAGE_B);
    munmap(from - PAGE_B, 4 * PAGE_B);
}

/*
 * Rows of vectors: to[i] = (turns * from[i] + start) * factor for each of n elements, with a start
 * and a factor of each element's own, in turns that differ where threads part; i = tid + first in
 * 32 bits, for threads below `end`.
 */
struct row {
    unsigned bits, n, end;
    uint32_t first;
    bool parts, is_read; /* is_read: one element is stored alone, too */
    unsigned apart;      /* from row to row, in rows */
};

static size_t row_at(const struct row *r, unsigned t)
{
    return (size_t)(uint32_t)(t + r->first) * (r->bits / 8) * r->n * r->apart;
}

static void row_list(struct hd_buf *text, const struct row *r, unsigned first, const char *format)
{
    for (unsigned i = 0; i < r->n; i++)
        hd_buf_printf(text, format, i ? ", " : "", first + i, r->bits);
}

static void row_text(struct hd_buf *text, const struct row *r)
{
    hd_buf_puts(text, HEAD "kernel @k visible {\n" PARAMS PROLOGUE);
    hd_buf_printf(
        text,
        "  %%6:b64 = const.b64 0x8\n  %%7:b64 = ld.b64.param [%%6]\n"
        "  %%8:b32 = const.b32 0x%x\n  %%9:b32 = const.b32 0x%x\n  %%10:b32 = const.b32 0x%x\n"
        "  %%11:b32 = const.b32 0x3\n  %%12:b32 = const.b32 0x1\n",
        r->first, r->bits / 8 * r->n * r->apart, r->end);
    hd_buf_puts(text, "  %13:b32 = add.u32 %2, %8\n  %14:b64 = mulwide.u32 %13, %9\n"
                      "  %15:b64 = add.u64 %1, %14\n  %16:b64 = add.u64 %7, %14\n");
    hd_buf_printf(text, "  %%17:b32 = and.b32 %s, %%11\n", r->parts ? "%2" : "%12");
    for (unsigned i = 0; i < r->n; i++)
        hd_buf_printf(text, "  %%3%u:b%u = const.b%u 0x%x\n  %%4%u:b%u = const.b%u 0x%x\n", i,
                      r->bits, r->bits, i * 100, i, r->bits, r->bits, 30 + i);
    hd_buf_puts(text, "  %18:pred = setp.u32.lt %2, %10\n  cbr %18, bb1, bb4\nbb1:\n  ");
    row_list(text, r, 50, "%s%%%u:b%u");
    hd_buf_printf(text, " = ld.b%u.global.v%u [%%16]\n  br bb2\nbb2:\n", r->bits, r->n);
    for (unsigned i = 0; i < r->n; i++)
        hd_buf_printf(text, "  %%6%u:b%u = phi.b%u [bb1: %%3%u], [bb2: %%7%u]\n", i, r->bits,
                      r->bits, i, i);
    hd_buf_puts(text, "  %20:b32 = phi.b32 [bb1: %17], [bb2: %21]\n");
    for (unsigned i = 0; i < r->n; i++)
        hd_buf_printf(text, "  %%7%u:b%u = add.u%u %%6%u, %%5%u\n", i, r->bits, r->bits, i, i);
    hd_buf_puts(text, "  %21:b32 = sub.u32 %20, %12\n  %22:pred = setp.s32.ge %21, %12\n"
                      "  cbr %22, bb2, bb3\nbb3:\n");
    for (unsigned i = 0; i < r->n; i++)
        hd_buf_printf(text, "  %%8%u:b%u = mul.u%u %%7%u, %%4%u\n", i, r->bits, r->bits, i, i);
    hd_buf_printf(text, "  st.b%u.global.v%u [%%15], ", r->bits, r->n);
    row_list(text, r, 80, "%s%%%u");
    if (r->is_read)
        hd_buf_printf(text, "\n  st.b%u.global [%%15], %%51", r->bits);
    hd_buf_puts(text, "\n  br bb4\nbb4:\n  ret\n}\n");
}

static uint64_t row_element(const struct row *r, unsigned t, unsigned i, uint64_t from)
{
    uint64_t turns = r->parts && t % 4 > 1 ? t % 4 : 1;
    return (turns * from + i * 100) * (30 + i);
}

/* `to` and `from` are where index 0 is. */
static bool row_runs(const struct row *r, uint8_t *to, const uint8_t *from)
{
    enum { T = 64 };
    unsigned size_B = r->bits / 8, wrong = 0;
    const void *params[] = {to, from};
    struct hd_buf text;
    for (unsigned t = 0; t < T; t++)
        memset(to + row_at(r, t), 0x5a, size_B * r->n);
    hd_buf_init(&text);
    row_text(&text, r);
    bool ran = run(&(struct job){text.ptr, 1, T, .params = params}) == HD_OK;
    hd_buf_fini(&text);
    for (unsigned e = 0; e < T * r->n; e++) {
        unsigned t = e / r->n, i = e % r->n;
        size_t at = row_at(r, t) + i * size_B;
        uint64_t x = 0, from_x[2] = {0}, untouched = 0x5a5a5a5a5a5a5a5a;
        memcpy(from_x, from + at, size_B);
        if (r->is_read && i == 0)
            memcpy(from_x + 1, from + at + size_B, size_B);
        x = t >= r->end ? untouched : r->is_read && !i ? from_x[1] : row_element(r, t, i, *from_x);
        wrong += memcmp(to + at, &x, size_B) != 0;
    }
    return ran && !wrong;
}

static void test_rows(void)
{
    static uint8_t to[64 * 32 * 3], from[64 * 32 * 3];
    for (unsigned i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 37 ^ i >> 5);
    for (unsigned bits = 16; bits <= 64; bits *= 2) {
        for (unsigned i = 0; i < 32; i++) {
            struct row r = {bits, i & 1 ? 4 : 2, i & 2 ? 64 : 37, 0, i & 4, i & 8, i & 16 ? 3 : 1};
            ok(row_runs(&r, to, from), "%u of %u bits, %u threads%s%s, %u apart", r.n, bits, r.end,
               r.parts ? ", which part" : "", r.is_read ? ", one element alone" : "", r.apart);
        }
    }
}

/* Indices that go around: the first threads' rows are four billion rows behind the others'. */
static void test_rows_around(void)
{
    enum { ROW_B = 4 };
    const struct row r = {16, 2, 60, UINT32_MAX - 22, true, false, 1};
    const size_t all_B = ((size_t)UINT32_MAX + 1) * ROW_B;
    uint8_t *p[2];
    for (unsigned i = 0; i < 2; i++) {
        p[i] = mmap(NULL, all_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p[i] == MAP_FAILED || mprotect(p[i], PAGE_B, PROT_READ | PROT_WRITE) ||
            mprotect(p[i] + all_B - PAGE_B, PAGE_B, PROT_READ | PROT_WRITE)) {
            skip("no room for addresses");
            return;
        }
        for (unsigned k = 0; k < PAGE_B; k++)
            p[i][k] = p[i][all_B - 1 - k] = (uint8_t)(k * 91 + i);
    }
    ok(row_runs(&r, p[0], p[1]), "rows around the end of indices");
    for (unsigned i = 0; i < 2; i++)
        munmap(p[i], all_B);
}

enum { MATRIX = 4096 }; /* elements; results lie behind them */

/* p[MATRIX + y x_size + x] = p[(y w) q + x], whose products may go around. */
static void test_matrix(uint32_t width, uint32_t rows, uint32_t w, uint32_t q, bool is_signed)
{
    static uint32_t p[MATRIX + 1024];
    const void *params[] = {p, (void *)(uintptr_t)((uint64_t)w << 32 | q)};
    unsigned bad = 0;
    struct hd_buf text;

    for (uint32_t i = 0; i < HD_COUNT_OF(p); i++)
        p[i] = i < MATRIX ? i * 2654435761u : 0;
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                            "  %6:b32 = ld.b32.param [%0+8]\n  %7:b32 = ld.b32.param [%0+12]\n"
                            "  %8:b32 = sreg.b32 tid.y\n  %9:b32 = sreg.b32 ntid.x\n"
                            "  %10:b32 = mul.s32 %8, %7\n  %11:b32 = mul.s32 %10, %6\n"
                            "  %12:b32 = add.s32 %11, %2\n");
    hd_buf_printf(&text, "  %%13:b64 = mulwide.%c32 %%12, %%4\n", is_signed ? 's' : 'u');
    hd_buf_puts(&text, "  %14:b64 = add.u64 %1, %13\n  %15:b32 = ld.b32.global [%14]\n"
                       "  %16:b32 = mul.s32 %8, %9\n  %17:b32 = add.s32 %16, %2\n"
                       "  %18:b64 = mulwide.s32 %17, %4\n  %19:b64 = add.u64 %1, %18\n"
                       "  st.b32.global [%19+16384], %15\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, width, .rows = rows, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < width * rows; t++)
        bad += p[MATRIX + t] != (t / width * w * q + t % width) * 2654435761u;
    ok(ran && !bad, "%u rows of %u, %x times %x apart, %ssigned", rows, width, w, q,
       is_signed ? "" : "un");
    hd_buf_fini(&text);
}

static void test_matrices(void)
{
    static const uint32_t blocks[][2] = {{16, 8}, {16, 4}, {16, 3}, {32, 4}, {64, 2}, {48, 2}};
    static const uint32_t apart[][2] = {{1, 64},           {2, 9},           {16, 1u << 28},
                                        {8, 1u << 29},     {4, 0x40000002u}, {-1u, -64u},
                                        {-4u, 0x40000000u}};

    for (unsigned i = 0; i < HD_COUNT_OF(blocks) * HD_COUNT_OF(apart) * 2; i++) {
        const uint32_t *block = blocks[i / 2 % HD_COUNT_OF(blocks)];
        const uint32_t *by = apart[i / 2 / HD_COUNT_OF(blocks)];
        test_matrix(block[0], block[1], by[0], by[1], i & 1);
    }
}

/* Vectors that are accessed at once: each lane's and all lanes' own, 8 and 16 bytes. */
static void test_strong_vectors(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x10\n  %7:b64 = mulwide.u32 %2, %6\n  %8:b64 = add.u64 %1, %7\n"
             "  %9:b32 = const.b32 0x5\n  %10:pred = setp.u32.gt %2, %9\n  cbr %10, bb1, bb2\n"
             "bb1:\n  %11:b64, %12:b64 = ld.b64.global.relaxed.gpu.v2 [%8]\n"
             "  %13:b32, %14:b32 = ld.b32.global.acquire.gpu.v2 [%8+8]\n"
             "  %15:b16, %16:b16, %17:b16, %18:b16 = ld.b16.global.relaxed.gpu.v4 [%8]\n"
             "  %19:b32, %20:b32, %21:b32, %22:b32 = ld.b32.global.relaxed.gpu.v4 [%1]\n"
             "  %23:b64 = cvt.u64.u32 %14\n  %24:b64 = add.u64 %11, %23\n"
             "  %25:b64 = cvt.u64.u16 %16\n  %26:b64 = add.u64 %12, %25\n"
             "  %27:b64 = cvt.u64.u32 %21\n  %28:b64 = add.u64 %26, %27\n"
             "  st.b64.global.release.gpu.v2 [%8], %28, %24\n"
             "  st.b32.global.relaxed.gpu.v2 [%1+1024], %13, %22\n  br bb2\nbb2:\n  ret\n}\n";
    uint64_t out[130], expected[130];
    for (uint64_t i = 0; i < 130; i++)
        out[i] = expected[i] = i * 0x0123456789abcdefull;
    for (unsigned t = 6; t < 64; t++) {
        uint64_t a = out[2 * t], b = out[2 * t + 1];
        expected[2 * t] = b + (a >> 16 & 0xffff) + (uint32_t)out[1];
        expected[2 * t + 1] = a + (b >> 32);
        expected[128] = (uint32_t)b | out[1] >> 32 << 32;
    }
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "strong vectors run");
    eq_mem(out, expected, sizeof(out), "strong vectors are right");
}

/* Shared memory at constant distances between lanes: s[f(tid)] = tid, and s[f(tid)] again. */
struct pattern {
    const char *ir; /* %20 = f(%2); %1x are constants, see below */
    uint32_t (*f)(uint32_t t);
};

#define PATTERN(name, expr)                                                                        \
    static uint32_t name(uint32_t t)                                                               \
    {                                                                                              \
        return expr;                                                                               \
    }
PATTERN(by_two, 2 * t)
PATTERN(pairs, 2 * t - (t & 1))
PATTERN(eights, 2 * t - (t & 7) + 8)
PATTERN(swapped, t ^ 5)
PATTERN(padded, 2 * t + 1 + ((2 * t + 1) >> 5))
PATTERN(backwards, 63 - t)
PATTERN(by_three, 3 * t - 1 + 1)
PATTERN(below, t - 1)

static const struct pattern patterns[] = {
    {"%20:b32 = shl.b32 %2, %11\n", by_two},
    {"%21:b32 = and.b32 %2, %11\n  %22:b32 = shl.b32 %2, %11\n  %20:b32 = sub.u32 %22, %21\n",
     pairs},
    {"%21:b32 = and.b32 %2, %12\n  %22:b32 = shl.b32 %2, %11\n  %23:b32 = sub.u32 %22, %21\n"
     "  %20:b32 = add.u32 %23, %13\n",
     eights},
    {"%20:b32 = xor.b32 %2, %14\n", swapped},
    {"%21:b32 = shl.b32 %2, %11\n  %22:b32 = or.b32 %21, %11\n  %23:b32 = shr.u32 %22, %14\n"
     "  %20:b32 = add.u32 %22, %23\n",
     padded},
    {"%20:b32 = sub.u32 %15, %2\n", backwards},
    {"%21:b32 = const.b32 0x3\n  %20:b32 = mul.u32 %2, %21\n", by_three},
    {"%20:b32 = sub.u32 %2, %11\n", below},
};

/* The lanes low <= tid < high take part. */
static void check_pattern(const struct pattern *p, uint32_t low, uint32_t high)
{
    static const char head[] = HEAD
        "var @s shared extern align 16 size 0 dynamic\n"
        "kernel @k visible {\n" PARAMS PROLOGUE "  %6:b64 = varaddr @s\n  %7:b32 = cvt.u32.u64 %6\n"
        "  %10:b32 = const.b32 0x0\n  %11:b32 = const.b32 0x1\n  %12:b32 = const.b32 0x7\n"
        "  %13:b32 = const.b32 0x8\n  %14:b32 = const.b32 0x5\n  %15:b32 = const.b32 0x3f\n"
        "  %16:b32 = const.b32 0x2\n  %8:b32 = shl.b32 %2, %16\n  %9:b32 = add.u32 %7, %8\n"
        "  st.b32.shared [%9], %10\n  st.b32.shared [%9+256], %10\n  st.b32.shared [%9+512], %10\n"
        "  bar.sync\n  ";
    static const char tail[] =
        "  %30:b32 = shl.b32 %20, %16\n  %31:b32 = add.u32 %7, %30\n"
        "  %32:b32 = const.b32 %LOW\n  %33:b32 = sub.u32 %2, %32\n  %34:b32 = const.b32 %COUNT\n"
        "  %35:pred = setp.u32.lt %33, %34\n  cbr %35, bb1, bb2\n"
        "bb1:\n  st.b32.shared [%31], %2\n  %36:b32 = ld.b32.shared [%31]\n  br bb2\n"
        "bb2:\n  %37:b32 = phi.b32 [bb0: %10], [bb1: %36]\n  bar.sync\n"
        "  st.b32.global [%3], %37\n  %38:b32 = ld.b32.shared [%9]\n  st.b32.global [%3+256], %38\n"
        "  %39:b32 = ld.b32.shared [%9+256]\n  st.b32.global [%3+512], %39\n  ret\n}\n";
    uint32_t out[192], expected[192] = {0};
    const void *params[] = {out, NULL};
    struct hd_buf text;
    hd_buf_init(&text);
    hd_buf_printf(&text, "%s%s", head, p->ir);
    for (const char *c = tail; *c; c++) {
        if (!strncmp(c, "%LOW", 4) || !strncmp(c, "%COUNT", 6)) {
            hd_buf_printf(&text, "0x%x", c[1] == 'L' ? low : high - low);
            c += c[1] == 'L' ? 3 : 5;
        } else {
            hd_buf_append(&text, c, 1);
        }
    }
    for (uint32_t t = low; t < high; t++) {
        expected[t] = t;
        if (p->f(t) < 128)
            expected[64 + p->f(t)] = t;
    }
    eq_u64(run(&(struct job){text.ptr, 1, 64, 1024, .params = params}), HD_OK, "pattern runs");
    eq_mem(out, expected, sizeof(out), "pattern is right");
    hd_buf_fini(&text);
}

static void test_patterns(void)
{
    for (unsigned i = 0; i < HD_COUNT_OF(patterns); i++)
        check_pattern(&patterns[i], 1, i & 1 ? 64 : 41);
}

/* Values of all shapes cross barriers in a loop; bar.red counts; the last warp may be partial. */
/* clang-format off */
#define REGIONS(next, more) HEAD \
    "var @s shared extern align 16 size 0 dynamic\n" \
    "kernel @k visible {\n" PARAMS PROLOGUE \
    "  %6:b64 = varaddr @s\n  %7:b64 = add.u64 %6, %5\n  %8:b32 = const.b32 0x0\n" \
    "  %9:b32 = const.b32 0x3\n  %10:b32 = mul.u32 %2, %9\n  %11:b32 = const.b32 0x1\n" next \
    "bb1:\n  %12:b32 = phi.b32 [bb0: %8], [bb1: %25]\n  %13:b32 = phi.b32 [bb0: %10], [bb1: %24]\n" \
    "  st.b32.shared [%7], %13\n  bar.sync\n  %14:b32 = xor.b32 %2, %11\n" \
    "  %15:b64 = mulwide.u32 %14, %4\n  %16:b64 = add.u64 %6, %15\n" \
    "  %17:b32 = ld.b32.shared [%16]\n  %22:b32 = mul.u32 %13, %9\n  %18:b32 = add.u32 %22, %17\n" \
    "  %19:b32 = and.b32 %18, %11\n  %20:pred = setp.u32.ne %19, %8\n" \
    "  %21:b32 = bar.red_popc %8, %8, %20\n  %23:b32 = add.u32 %18, %21\n" \
    "  %24:b32 = select.b32 %20, %23, %18\n  %25:b32 = add.u32 %12, %11\n" \
    "  %26:b32 = const.b32 0x4\n  %27:pred = setp.u32.lt %25, %26\n  cbr %27, bb1, bb2\n" \
    "bb2:\n  %28:b32 = add.u32 %24, %21\n  st.b32.global [%3], %28\n  ret\n" more "}\n"
/* clang-format on */
static const char regions_text[] = REGIONS("  br bb1\n", "");
/* Threads from 70 on leave before the first barrier, after a store or at once. */
#define LEAVE(to)                                                                                  \
    "  %40:b32 = const.b32 0x46\n  %41:pred = setp.u32.ge %2, %40\n  cbr %41, " to ", bb1\n"
static const char leaving_text[] = REGIONS(LEAVE("bb9"), "bb9:\n  exit\n");
static const char storing_text[] =
    REGIONS(LEAVE("bb9"), "bb9:\n  st.b32.global [%3+512], %40\n  exit\n");

static void regions_expected(uint32_t n, uint32_t *acc)
{
    uint32_t s[128], votes = 0;
    for (uint32_t i = 0; i < n; i++)
        acc[i] = 3 * i;
    for (unsigned turn = 0; turn < 4; turn++) {
        memcpy(s, acc, n * sizeof(*s));
        votes = 0;
        for (uint32_t i = 0; i < n; i++) {
            acc[i] = 3 * acc[i] + s[i ^ 1];
            votes += acc[i] & 1;
        }
        for (uint32_t i = 0; i < n; i++)
            acc[i] += acc[i] & 1 ? votes : 0;
    }
    for (uint32_t i = 0; i < n; i++)
        acc[i] += votes;
}

static void test_regions(void)
{
    static const uint32_t sizes[] = {128, 100, 6};
    for (unsigned k = 0; k < HD_COUNT_OF(sizes); k++) {
        uint32_t out[128] = {0}, expected[128] = {0};
        const void *params[] = {out, NULL};
        regions_expected(sizes[k], expected);
        eq_u64(run(&(struct job){regions_text, 1, sizes[k], 512, .params = params}), HD_OK,
               "barriers in a loop run");
        eq_mem(out, expected, sizeof(out), "values cross barriers");
    }
}

static void test_leaving(void)
{
    uint32_t out[256] = {0}, expected[256] = {0};
    const void *params[] = {out, NULL};
    regions_expected(70, expected);
    eq_u64(run(&(struct job){leaving_text, 1, 128, 512, .params = params}), HD_OK,
           "threads leave before barriers");
    eq_mem(out, expected, sizeof(out), "the others go on");
    for (unsigned i = 70; i < 128; i++)
        expected[128 + i] = 70;
    eq_u64(run(&(struct job){storing_text, 1, 128, 512, .params = params}), HD_OK,
           "threads store and leave");
    eq_mem(out, expected, sizeof(out), "both are right");
}

/* A loop whose step is computed after the load that it moves on, as compilers do for sm_120. */
static void test_late_step(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE "  %6:b32 = const.b32 0x0\n  br bb1\n"
             "bb1:\n  %7:b64 = phi.b64 [bb0: %3], [bb1: %13]\n"
             "  %8:b32 = phi.b32 [bb0: %6], [bb1: %14]\n  %9:b32 = phi.b32 [bb0: %6], [bb1: %10]\n"
             "  %15:b32 = ld.b32.global [%7]\n  %10:b32 = add.u32 %9, %15\n"
             "  %11:b32 = ld.b32.param [%0+8]\n  %12:b64 = mulwide.u32 %11, %4\n"
             "  %13:b64 = add.u64 %7, %12\n  %16:b32 = const.b32 0x1\n"
             "  %14:b32 = add.u32 %8, %16\n  %17:pred = setp.u32.lt %14, %4\n"
             "  cbr %17, bb1, bb2\n"
             "bb2:\n  st.b32.global [%3], %10\n  ret\n}\n";
    uint32_t a[256], bad = 0;
    const void *params[] = {a, (const void *)64};
    for (uint32_t i = 0; i < 256; i++)
        a[i] = i * i;
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "a late step runs");
    for (uint32_t i = 0; i < 64; i++)
        bad += a[i] != i * i + (i + 64) * (i + 64) + (i + 128) * (i + 128) + (i + 192) * (i + 192);
    eq_u64(bad, 0, "and walks as it should");
}

/*
 * Where local variables start: the address of v, and of one in a function that a kernel with
 * little of its own calls, of each thread, modulo what they ask for.
 */
static void test_aligned_locals(void)
{
    static const char text[] = HEAD
        "func @f internal (%0:b64) -> () {\n"
        "  var $0 \"w\" local internal align 512 size 7\nbb0:\n"
        "  %1:b64 = varaddr $0\n  %2:b64 = cvta.local %1\n"
        "  %3:b64 = const.b64 0x1ff\n  %4:b64 = and.b64 %2, %3\n"
        "  st.b64.global [%0], %4\n  ret\n}\n"
        "kernel @k visible {\n" PARAMS "  var $0 \"v\" local internal align 256 size 3\n" PROLOGUE
        "  %6:b64 = varaddr $0\n  %7:b64 = cvta.local %6\n"
        "  %8:b64 = const.b64 0xff\n  %9:b64 = and.b64 %7, %8\n"
        "  %10:b32 = const.b32 0x10\n  %11:b64 = mulwide.u32 %2, %10\n"
        "  %12:b64 = add.u64 %1, %11\n  st.b64.global [%12], %9\n"
        "  %13:b64 = const.b64 0x8\n  %14:b64 = add.u64 %12, %13\n  call @f, %14\n"
        "  ret\n}\n";
    uint64_t out[128], expected[128] = {0};
    const void *params[] = {out, NULL};
    memset(out, 0xff, sizeof(out));
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "aligned locals run");
    eq_mem(out, expected, sizeof(out), "all start where they ask for");
}

/*
 * As products of matrices have it: four words of each thread from a row of a tile go to a column in
 * shared memory, and others come from a row there. Rows lie `row` words apart; `mask` scatters the
 * threads over them.
 */
static void test_tile(uint32_t threads, uint32_t row, uint32_t mask)
{
    enum { SIDE = 64, IN = 1 << 14 };
    static uint32_t words[2 * IN], tile[16 * SIDE];
    struct hd_buf text;
    unsigned bad = 0;
    const void *params[] = {words, NULL};

    memset(tile, 0, sizeof(tile));
    for (uint32_t i = 0; i < 2 * IN; i++)
        words[i] = i < IN ? i * 2654435761u : 0;
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD
                "var @s shared internal align 16 size 4096\nkernel @k visible {\n" PARAMS PROLOGUE
                "  %6:b64 = varaddr @s\n  %7:b32 = cvt.u32.u64 %6\n");
    hd_buf_printf(&text, "  %%8:b32 = const.b32 0x%x\n  %%9:b32 = const.b32 0x%x\n", row, mask);
    hd_buf_puts(&text, "  %10:b32 = const.b32 0x3\n  %11:b32 = and.b32 %2, %10\n"
                       "  %12:b32 = const.b32 0x2\n  %13:b32 = shr.u32 %2, %12\n"
                       "  %14:b32 = xor.b32 %13, %9\n  %15:b32 = mul.u32 %14, %8\n"
                       "  %16:b32 = shl.b32 %11, %12\n  %17:b32 = add.u32 %15, %16\n"
                       "  %18:b64 = mulwide.s32 %17, %4\n  %19:b64 = add.u64 %1, %18\n"
                       "  %20:b32, %21:b32, %22:b32, %23:b32 = ld.b32.global.nc.v4 [%19]\n"
                       "  %24:b32 = const.b32 0xa\n  %25:b32 = shl.b32 %11, %24\n"
                       "  %26:b32 = shl.b32 %13, %12\n  %27:b32 = add.u32 %25, %26\n"
                       "  %28:b32 = add.u32 %7, %27\n  st.b32.shared [%28], %20\n"
                       "  st.b32.shared [%28+256], %21\n  st.b32.shared [%28+512], %22\n"
                       "  st.b32.shared [%28+768], %23\n  bar.sync\n"
                       "  %29:b32 = const.b32 0xf\n  %30:b32 = and.b32 %2, %29\n"
                       "  %31:b32 = shl.b32 %30, %4\n  %32:b32 = add.u32 %7, %31\n"
                       "  %33:b32 = shr.u32 %2, %4\n  %34:b32 = const.b32 0x8\n"
                       "  %35:b32 = shl.b32 %33, %34\n  %36:b32 = add.u32 %32, %35\n"
                       "  %37:b32, %38:b32, %39:b32, %40:b32 = ld.b32.shared.v4 [%36]\n"
                       "  st.b32.global.v4 [%19+65536], %37, %38, %39, %40\n  ret\n}\n");
    bool ran = run(&(struct job){text.ptr, 1, threads, .params = params}) == HD_OK;
    for (uint32_t t = 0; t < threads; t++) {
        for (uint32_t j = 0; j < 4; j++)
            tile[(t % 4 * 4 + j) * SIDE + t / 4] = words[((t / 4) ^ mask) * row + t % 4 * 4 + j];
    }
    for (uint32_t t = 0; t < threads; t++) {
        const uint32_t *have = words + IN + ((t / 4) ^ mask) * row + t % 4 * 4;
        const uint32_t *want = tile + t / 16 * SIDE + t % 16 * 4;
        bool reads_all = t % 16 * 4 + 3 < threads / 4;
        bad += reads_all && memcmp(have, want, 16);
    }
    ok(ran && !bad, "a tile of %u threads, rows %u apart, mask %u", threads, row, mask);
    hd_buf_fini(&text);
}

/* The value numbered *at gets 31 times itself and word `k` behind address %`address`, `n` times. */
static void window_reads(struct hd_buf *text, const char *space, unsigned address, unsigned n,
                         unsigned step, unsigned *at)
{
    for (unsigned k = 0; k < n; k++, *at += 3) {
        hd_buf_printf(text, "  %%%u:b32 = ld.b32.%s [%%%u+%u]\n", *at + 1, space, address,
                      4 * k * step);
        hd_buf_printf(text, "  %%%u:b32 = mul.u32 %%%u, %%12\n", *at + 2, *at);
        hd_buf_printf(text, "  %%%u:b32 = add.u32 %%%u, %%%u\n", *at + 3, *at + 2, *at + 1);
    }
}

static uint32_t window_sum(uint32_t sum, const uint32_t *words, unsigned n, unsigned step)
{
    for (unsigned k = 0; k < n; k++)
        sum = sum * 31 + words[k * step];
    return sum;
}

/* Threads that read n words `step` apart from global memory, of which they may read no others. */
static void test_windows(uint8_t *pages, unsigned n, unsigned step, bool at_end)
{
    enum { T = 64 };
    uint32_t out[T], want[T], *from = (uint32_t *)pages;
    unsigned at = 13;
    struct hd_buf text;
    if (at_end)
        from += 2 * PAGE_B / 4 - (T + (n - 1) * step);
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                            "  %6:b64 = const.b64 0x8\n  %7:b64 = ld.b64.param [%6]\n"
                            "  %8:b64 = mulwide.u32 %2, %4\n  %9:b64 = add.u64 %7, %8\n"
                            "  %10:b64 = add.u64 %1, %8\n  %12:b32 = const.b32 0x1f\n"
                            "  %13:b32 = const.b32 0x7\n");
    window_reads(&text, "global", 9, n, step, &at);
    hd_buf_printf(&text, "  st.b32.global [%%10], %%%u\n  ret\n}\n", at);
    for (unsigned t = 0; t < T; t++)
        want[t] = window_sum(7, from + t, n, step);
    const void *params[] = {out, from};
    eq_u64(run(&(struct job){text.ptr, 1, T, .params = params}), HD_OK, "windows run");
    eq_mem(out, want, sizeof(out), "%u windows, %u words apart", n, step);
    hd_buf_fini(&text);
}

/* In shared memory, of which the words change between two rounds. */
static void test_windows_change(unsigned threads, unsigned n)
{
    enum { WORDS = 128 };
    uint32_t out[WORDS], want[WORDS], words[2 * WORDS];
    unsigned at = 20;
    struct hd_buf text;
    for (unsigned i = 0; i < 2 * WORDS; i++)
        words[i] = i * 2654435761u;
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD
                "var @s shared internal align 4 size 1024\nkernel @k visible {\n" PARAMS PROLOGUE
                "  %6:b64 = const.b64 0x8\n  %7:b64 = ld.b64.param [%6]\n"
                "  %8:b64 = mulwide.u32 %2, %4\n  %9:b64 = add.u64 %7, %8\n"
                "  %10:b64 = add.u64 %1, %8\n  %12:b32 = const.b32 0x1f\n"
                "  %13:b64 = varaddr @s\n  %14:b64 = add.u64 %13, %8\n"
                "  %15:b32 = ld.b32.global [%9]\n  %16:b32 = ld.b32.global [%9+256]\n"
                "  %17:b32 = ld.b32.global [%9+512]\n  %18:b32 = ld.b32.global [%9+768]\n"
                "  %20:b32 = const.b32 0x7\n  st.b32.shared [%14], %15\n"
                "  st.b32.shared [%14+256], %16\n  bar.sync\n");
    window_reads(&text, "shared", 14, n, 1, &at);
    hd_buf_puts(&text, "  bar.sync\n  st.b32.shared [%14], %17\n"
                       "  st.b32.shared [%14+256], %18\n  bar.sync\n");
    window_reads(&text, "shared", 14, n, 1, &at);
    hd_buf_printf(&text, "  st.b32.global [%%10], %%%u\n  ret\n}\n", at);
    for (unsigned t = 0; t < threads; t++)
        want[t] = window_sum(window_sum(7, words + t, n, 1), words + WORDS + t, n, 1);
    const void *params[] = {out, words};
    eq_u64(run(&(struct job){text.ptr, 1, threads, .params = params}), HD_OK, "windows run");
    eq_mem(out, want, threads * sizeof(*out), "%u windows of %u threads that change", n, threads);
    hd_buf_fini(&text);
}

static void test_sliding(void)
{
    uint8_t *pages = guarded_pages();
    if (!ok(pages, "pages"))
        return;
    for (unsigned i = 0; i < 2 * PAGE_B; i++)
        pages[i] = (uint8_t)(i * 37 ^ i >> 8);
    static const unsigned counts[] = {5, 20, 90}, steps[] = {1, 3, 17};
    for (unsigned i = 0; i < 9; i++)
        test_windows(pages, counts[i / 3], steps[i % 3], i % 2);
    munmap(pages - PAGE_B, 4 * PAGE_B);
    test_windows_change(64, 33);
    test_windows_change(64, 17);
}

int main(void)
{
    hd_buf_init(&printed);
    test_sliding();
    test_aligned_locals();
    test_computed_addresses();
    test_strides();
    test_rows();
    test_rows_around();
    test_matrices();
    test_strong_vectors();
    test_patterns();
    test_regions();
    test_leaving();
    for (uint32_t mask = 0; mask < 4; mask++) {
        test_tile(256, 16, mask);
        test_tile(256, 20, mask);
        test_tile(256, 252, mask);
        test_tile(230, 200, mask);
    }
    hd_buf_fini(&printed);
    test_late_step();
    return done();
}
