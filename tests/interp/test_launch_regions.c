/*
 * What warps do between two barriers, where a compiler may let some of them do it for all, or end
 * before they come to it: the answers are those of a loop over the threads.
 */
#include "launch_job.h"

enum { T = 128 };

/* The same place for all threads, another in each turn, and overwritten behind the loop. */
static void test_uniform_loads_in_loop(void)
{
    static const char text[] = HEAD
        "var @s shared internal align 4 size 128\n"
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b64 = varaddr @s\n  %7:b64 = add.u64 %6, %5\n  st.b32.shared [%7], %2\n"
        "  %8:b64 = const.b64 0x8\n  %9:b64 = ld.b64.param [%8]\n  %10:b32 = cvt.u32.u64 %9\n"
        "  %11:b32 = const.b32 0x0\n  %12:b32 = const.b32 0x1\n  bar.sync\n  br bb1\n"
        "bb1:\n  %13:b32 = phi.b32 [bb0: %11], [bb1: %19]\n  %14:b32 = phi.b32 [bb0: %11], [bb1: "
        "%18]\n"
        "  %15:b64 = mulwide.u32 %13, %4\n  %16:b64 = add.u64 %6, %15\n"
        "  %17:b32 = ld.b32.shared [%16]\n  %18:b32 = add.u32 %14, %17\n"
        "  %19:b32 = add.u32 %13, %12\n  %20:pred = setp.u32.lt %19, %10\n  cbr %20, bb1, bb2\n"
        "bb2:\n  %21:b32 = add.u32 %18, %2\n  st.b32.shared [%7], %21\n  bar.sync\n"
        "  %22:b32 = ld.b32.shared [%7]\n  st.b32.global [%3], %22\n  ret\n}\n";
    uint32_t out[32];
    unsigned bad = 0;
    const void *params[] = {out, (const void *)(uintptr_t)20};
    eq_u64(run(&(struct job){text, 1, 32, .params = params}), HD_OK, "loads in a loop run");
    for (uint32_t i = 0; i < 32; i++)
        bad += out[i] != 190 + i;
    eq_u64(bad, 0, "each turn loads its own");
}

/* A division that is the same for all threads in each turn. */
static void test_uniform_division_in_loop(void)
{
    static const char text[] = HEAD
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %8:b64 = const.b64 0x8\n  %9:b64 = ld.b64.param [%8]\n  %10:b32 = cvt.u32.u64 %9\n"
        "  %11:b32 = const.b32 0x0\n  %12:b32 = const.b32 0x1\n  bar.sync\n  br bb1\n"
        "bb1:\n  %13:b32 = phi.b32 [bb0: %12], [bb1: %19]\n  %14:b32 = phi.b32 [bb0: %11], [bb1: "
        "%18]\n"
        "  %17:b32 = div.u32 %10, %13\n  %18:b32 = add.u32 %14, %17\n"
        "  %19:b32 = add.u32 %13, %12\n  %20:pred = setp.u32.le %19, %4\n  cbr %20, bb1, bb2\n"
        "bb2:\n  bar.sync\n  %21:b32 = div.u32 %18, %4\n  %22:b32 = add.u32 %21, %2\n"
        "  st.b32.global [%3], %22\n  ret\n}\n";
    uint32_t out[T];
    unsigned bad = 0;
    const void *params[] = {out, (const void *)(uintptr_t)60};
    eq_u64(run(&(struct job){text, 1, T, .params = params}), HD_OK, "divisions in a loop run");
    for (uint32_t i = 0; i < T; i++)
        bad += out[i] != (60 + 30 + 20 + 15) / 4 + i;
    eq_u64(bad, 0, "each turn divides by its own");
}

/* `test` makes %20 of the thread's number (%2) and %6 to %9, 0, 1, 40 and 96. */
struct guard {
    const char *what, *test;
    bool (*passes)(uint32_t t);
};

static bool below_40(uint32_t t)
{
    return t < 40;
}

static bool from_96(uint32_t t)
{
    return t >= 96;
}

static bool is_0(uint32_t t)
{
    return t == 0;
}

static bool is_40(uint32_t t)
{
    return t == 40;
}

static bool not_0(uint32_t t)
{
    return t != 0;
}

static bool doubled_below_96(uint32_t t)
{
    return 2 * t < 96;
}

static bool odd(uint32_t t)
{
    return t % 2 == 1;
}

static bool wraps(uint32_t t)
{
    return t - 96 < 40;
}

static const struct guard guards[] = {
    {"tid < 40", "  %20:pred = setp.u32.lt %2, %8\n", below_40},
    {"tid < 40, signed", "  %20:pred = setp.s32.lt %2, %8\n", below_40},
    {"40 > tid", "  %20:pred = setp.u32.gt %8, %2\n", below_40},
    {"not tid >= 40", "  %19:pred = setp.u32.ge %2, %8\n  %20:pred = not.pred %19\n", below_40},
    {"tid >= 96", "  %20:pred = setp.u32.ge %2, %9\n", from_96},
    {"96 <= tid", "  %20:pred = setp.u32.le %9, %2\n", from_96},
    {"tid == 0", "  %20:pred = setp.u32.eq %2, %6\n", is_0},
    {"tid != 0", "  %20:pred = setp.u32.ne %2, %6\n", not_0},
    {"tid == 40", "  %20:pred = setp.u32.eq %2, %8\n", is_40},
    {"2 tid < 96", "  %18:b32 = shl.b32 %2, %7\n  %20:pred = setp.u32.lt %18, %9\n",
     doubled_below_96},
    {"tid & 1 > 0", "  %18:b32 = and.b32 %2, %7\n  %20:pred = setp.u32.gt %18, %6\n", odd},
    {"tid - 96 < 40", "  %18:b32 = sub.u32 %2, %9\n  %20:pred = setp.u32.lt %18, %8\n", wraps},
};

/*
 * Threads that pass add 1000 to their word between two barriers. With `carries` the others have
 * something to bring across the second one as well.
 */
static void test_guard(const struct guard *guard, bool carries, uint32_t threads)
{
    static const char before[] = HEAD "var @s shared internal align 4 size 512\n"
                                      "kernel @k visible {\n" PARAMS PROLOGUE
                                      "  %6:b32 = const.b32 0x0\n  %7:b32 = const.b32 0x1\n"
                                      "  %8:b32 = const.b32 0x28\n  %9:b32 = const.b32 0x60\n"
                                      "  %10:b64 = varaddr @s\n  %11:b64 = add.u64 %10, %5\n"
                                      "  st.b32.shared [%11], %2\n  %12:b32 = const.b32 0x3e8\n"
                                      "  %13:b32 = ld.b32.global [%3]\n  bar.sync\n";
    static const char after[] =
        "  cbr %20, bb1, bb2\n"
        "bb1:\n  %21:b32 = ld.b32.shared [%11]\n  %22:b32 = add.u32 %21, %12\n"
        "  st.b32.shared [%11], %22\n  br bb2\n"
        "bb2:\n  %23:b32 = phi.b32 [bb0: %6], [bb1: %7]\n"
        "  %24:b32 = add.u32 %13, %23\n  bar.sync\n  %25:b32 = ld.b32.shared [%11]\n";
    struct hd_buf text;
    uint32_t out[T];
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    hd_buf_init(&text);
    hd_buf_puts(&text, before);
    hd_buf_puts(&text, guard->test);
    hd_buf_puts(&text, after);
    hd_buf_puts(&text,
                carries ? "  %26:b32 = add.u32 %25, %24\n" : "  %26:b32 = add.u32 %25, %6\n");
    hd_buf_puts(&text, "  st.b32.global [%3], %26\n  ret\n}\n");
    for (uint32_t i = 0; i < T; i++)
        out[i] = 7 * i;
    bool ran = run(&(struct job){text.ptr, 1, threads, .params = params}) == HD_OK;
    for (uint32_t i = 0; i < threads; i++) {
        uint32_t passes = guard->passes(i);
        bad += out[i] != i + 1000 * passes + (carries ? 7 * i + passes : 0);
    }
    hd_buf_fini(&text);
    ok(ran && !bad, "%s, %u threads%s", guard->what, threads, carries ? ", and a value" : "");
}

/* A test that few threads pass, on one of two ways that all threads go together. */
static void test_guard_on_one_way(uint64_t way)
{
    static const char text[] =
        HEAD "var @s shared internal align 4 size 512\n"
             "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x0\n  %7:b64 = const.b64 0x8\n  %8:b64 = ld.b64.param [%7]\n"
             "  %9:b32 = cvt.u32.u64 %8\n  %10:b64 = varaddr @s\n  %11:b64 = add.u64 %10, %5\n"
             "  st.b32.shared [%11], %2\n  %12:b32 = const.b32 0x3e8\n  %13:b32 = const.b32 0x10\n"
             "  bar.sync\n  %14:pred = setp.u32.ne %9, %6\n  cbr %14, bb1, bb3\n"
             "bb1:\n  %15:pred = setp.u32.lt %2, %13\n  cbr %15, bb2, bb4\n"
             "bb2:\n  %16:b32 = add.u32 %2, %12\n  st.b32.shared [%11], %16\n  br bb4\n"
             "bb3:\n  %17:b32 = add.u32 %12, %12\n  %18:b32 = add.u32 %2, %17\n"
             "  st.b32.shared [%11], %18\n  br bb4\n"
             "bb4:\n  bar.sync\n  %19:b32 = ld.b32.shared [%11]\n  st.b32.global [%3], %19\n"
             "  ret\n}\n";
    uint32_t out[T];
    unsigned bad = 0;
    const void *params[] = {out, (const void *)(uintptr_t)way};
    bool ran = run(&(struct job){text, 1, T, .params = params}) == HD_OK;
    for (uint32_t i = 0; i < T; i++)
        bad += out[i] != i + (!way ? 2000 : i < 16 ? 1000 : 0);
    ok(ran && !bad, "a guard on the way that is%s taken", way ? "" : " not");
}

/* What is made for one warp at a time, before a barrier: code for several is given up there. */
static void test_division_before_barrier(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE "  %6:b32 = const.b32 0x0\n"
             "  %7:b32 = ld.b32.global [%3]\n  %8:b64 = cvt.u64.u32 %7\n"
             "  %9:b64 = const.b64 0x7\n"
             "  %10:b64 = cvt.u64.u32 %2\n  %11:b64 = add.u64 %10, %9\n"
             "  %12:b64 = mul.u64 %8, %8\n  %13:b64 = rem.u64 %12, %11\n  bar.sync %6\n"
             "  %14:b32 = cvt.u32.u64 %13\n  st.b32.global [%3], %14\n  ret\n}\n";
    uint32_t a[128], wrong = 0;
    const void *params[] = {a, NULL};
    for (uint32_t i = 0; i < 128; i++)
        a[i] = i * 2654435761u;
    eq_u64(run(&(struct job){text, 1, 128, .params = params}), HD_OK, "a division runs");
    for (uint32_t i = 0; i < 128; i++) {
        uint64_t x = i * 2654435761u;
        wrong += a[i] != x * x % (i + 7);
    }
    eq_u64(wrong, 0, "and is right behind the barrier");
}

/* Blocks of rows and planes: every thread knows where it is, before a barrier and behind it. */
static void test_rows_of_threads(void)
{
    static const char text[] = HEAD
        "kernel @k visible {\n" PARAMS "  var $0 \"s\" shared internal align 4 size 4096\n" PROLOGUE
        "  %6:b32 = sreg.b32 tid.y\n  %7:b32 = sreg.b32 tid.z\n  %8:b32 = sreg.b32 ntid.x\n"
        "  %9:b32 = sreg.b32 ntid.y\n  %10:b32 = mul.u32 %7, %9\n  %11:b32 = add.u32 %10, %6\n"
        "  %12:b32 = mul.u32 %11, %8\n  %13:b32 = add.u32 %12, %2\n"
        "  %14:b32 = const.b32 0x2\n  %15:b32 = shl.b32 %13, %14\n  %16:b64 = varaddr $0\n"
        "  %17:b64 = cvt.u64.u32 %15\n  %18:b64 = add.u64 %16, %17\n"
        "  %19:b32 = const.b32 0x64\n  %20:b32 = mul.u32 %6, %19\n  %21:b32 = add.u32 %20, %2\n"
        "  %22:b32 = const.b32 0x2710\n  %23:b32 = mul.u32 %7, %22\n  %24:b32 = add.u32 %21, %23\n"
        "  st.b32.shared [%18], %24\n  %25:b32 = const.b32 0x0\n  bar.sync %25\n"
        "  %26:b32 = ld.b32.shared [%18]\n  %27:b32 = sub.u32 %26, %20\n"
        "  %28:b64 = add.u64 %1, %17\n  st.b32.global [%28], %27\n  ret\n}\n";
    static const uint32_t blocks[][3] = {{16, 16, 1}, {32, 8, 1}, {16, 4, 2}, {32, 2, 3},
                                         {16, 8, 3},  {48, 4, 2}, {32, 4, 2}, {64, 4, 1},
                                         {16, 2, 4},  {8, 8, 2}};
    for (unsigned i = 0; i < HD_COUNT_OF(blocks); i++) {
        const uint32_t *b = blocks[i];
        uint32_t out[1024] = {0}, wrong = 0;
        const void *params[] = {out, NULL};
        struct job job = {text, 1, b[0], .rows = b[1], .planes = b[2], .params = params};
        eq_u64(run(&job), HD_OK, "a block of %u x %u x %u threads runs", b[0], b[1], b[2]);
        for (uint32_t t = 0; t < b[0] * b[1] * b[2]; t++)
            wrong += out[t] != t % b[0] + t / b[0] / b[1] * 10000;
        eq_u64(wrong, 0, "and each knows where it is");
    }
}

enum { TURNS = 3 };

/*
 * Sums that go round a loop with two barriers: the old one is needed up to the first, or beyond
 * both (`both`), the new one from the second on; the loop is entered again with another value.
 */
static void test_turns(uint32_t threads, bool both)
{
    uint32_t p[128], total[128], sum[128], next[128];
    const void *params[] = {p, NULL};
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD
                "var @s shared internal align 4 size 1024\nkernel @k visible {\n" PARAMS PROLOGUE
                "  %6:b64 = varaddr @s\n  %7:b32 = cvt.u32.u64 %6\n  %8:b32 = const.b32 0x1\n"
                "  %9:b32 = const.b32 0x0\n  %10:b32 = mul.u32 %2, %4\n"
                "  %11:b32 = add.u32 %7, %10\n  %12:b32 = xor.b32 %2, %8\n"
                "  %13:b32 = mul.u32 %12, %4\n  %14:b32 = add.u32 %7, %13\n"
                "  %15:b32 = const.b32 0x3\n  %16:b32 = ld.b32.global [%3]\n  br bb1\n"
                "bb1:\n  %17:b32 = phi.b32 [bb0: %9], [bb4: %35]\n"
                "  %18:b32 = phi.b32 [bb0: %16], [bb4: %34]\n"
                "  %19:b32 = mul.u32 %18, %15\n  br bb2\n"
                "bb2:\n  %20:b32 = phi.b32 [bb1: %9], [bb2: %31]\n"
                "  %21:b32 = phi.b32 [bb1: %19], [bb2: %26]\n"
                "  st.b32.shared [%11], %21\n  bar.sync\n  %24:b32 = ld.b32.shared [%14]\n"
                "  %25:b32 = mul.u32 %21, %15\n  %26:b32 = add.u32 %24, %25\n  bar.sync\n");
    hd_buf_printf(&text, "  st.b32.shared [%%11+512], %s\n", both ? "%21" : "%26");
    hd_buf_puts(&text, "  %31:b32 = add.u32 %20, %8\n  %32:pred = setp.u32.lt %31, %15\n"
                       "  cbr %32, bb2, bb3\n"
                       "bb3:\n  br bb4\n"
                       "bb4:\n  bar.sync\n  %33:b32 = ld.b32.shared [%14+512]\n"
                       "  %34:b32 = add.u32 %26, %33\n  bar.sync\n"
                       "  %35:b32 = add.u32 %17, %8\n"
                       "  %36:pred = setp.u32.lt %35, %15\n  cbr %36, bb1, bb5\n"
                       "bb5:\n  st.b32.global [%3], %34\n  ret\n}\n");
    for (uint32_t t = 0; t < threads; t++)
        p[t] = total[t] = t * 2654435761u;
    bool ran = run(&(struct job){text.ptr, 1, threads, .params = params}) == HD_OK;
    for (unsigned outer = 0; outer < TURNS; outer++) {
        for (uint32_t t = 0; t < threads; t++)
            next[t] = total[t] * 3;
        for (unsigned turn = 0; turn < TURNS; turn++) {
            memcpy(sum, next, sizeof(sum));
            for (uint32_t t = 0; t < threads; t++)
                next[t] = sum[t] * 3 + sum[t ^ 1];
        }
        for (uint32_t t = 0; t < threads; t++)
            total[t] = next[t] + (both ? sum : next)[t ^ 1];
    }
    ok(ran && !memcmp(p, total, threads * sizeof(*p)), "sums of %u threads go round%s", threads,
       both ? ", beside the next ones" : "");
    hd_buf_fini(&text);
}

int main(void)
{
    hd_buf_init(&printed);
    test_rows_of_threads();
    test_division_before_barrier();
    test_uniform_loads_in_loop();
    test_uniform_division_in_loop();
    for (size_t i = 0; i < HD_COUNT_OF(guards); i++) {
        test_guard(&guards[i], false, T);
        test_guard(&guards[i], true, T);
        test_guard(&guards[i], false, 112);
    }
    test_guard_on_one_way(0);
    test_guard_on_one_way(1);
    hd_buf_fini(&printed);
    for (uint32_t threads = 32; threads <= 128; threads += 32) {
        test_turns(threads, false);
        test_turns(threads, true);
    }
    return done();
}
