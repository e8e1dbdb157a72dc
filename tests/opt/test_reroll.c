/*
 * ir_opt_reroll on the loops of a sparse product as nvcc writes them, with counts, bounds and
 * places that fit and that do not: a thread has the same sum with the pass and without.
 */
#include "tap.h"

#include <limits.h>

#include "interp/interp.h"
#include "opt/opt.h"

enum { THREADS = 64, ITEMS = 256 };

/* Of a thread: turns of the small loop, where it begins, how far behind it the big one begins,
 * where that ends, whether it runs. */
struct task {
    int32_t turns, from, skew, to, runs;
};

struct launch {
    float *out;
    const struct task *tasks;
    const int32_t *index; /* minus what all begins at */
    const float *values;  /* likewise */
    const float *x;
};

/* Numbers of values are those of the text. */
static void kernel_text(struct hd_buf *t, unsigned factor, const char *until)
{
    unsigned v = 100;

    hd_buf_puts(t, "module \"reroll\" sm 75\nkernel @k visible {\n  params 40\nbb0:\n"
                   "  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n"
                   "  %2:b64 = ld.b64.param [%0+8]\n  %3:b64 = ld.b64.param [%0+16]\n"
                   "  %4:b64 = ld.b64.param [%0+24]\n  %5:b64 = ld.b64.param [%0+32]\n"
                   "  %6:b32 = sreg.b32 tid.x\n  %7:b32 = const.b32 0x14\n"
                   "  %8:b64 = mulwide.u32 %6, %7\n  %9:b64 = add.u64 %2, %8\n"
                   "  %10:b32 = ld.b32.global [%9]\n  %11:b32 = ld.b32.global [%9+4]\n"
                   "  %12:b32 = ld.b32.global [%9+8]\n  %13:b32 = ld.b32.global [%9+12]\n"
                   "  %14:b32 = ld.b32.global [%9+16]\n  %15:b32 = const.b32 0x4\n"
                   "  %16:b32 = const.b32 0x0\n  %17:b32 = const.b32 0x1\n"
                   "  %18:b32 = const.b32 0xffffffff\n  %19:b64 = const.b64 0x4\n"
                   "  %20:b64 = mulwide.u32 %6, %15\n  %21:b64 = add.u64 %1, %20\n");
    hd_buf_printf(t, "  %%22:b32 = const.b32 %u\n  %%23:b64 = const.b64 %u\n", factor, 4 * factor);
    hd_buf_puts(t, "  %24:pred = setp.u32.eq %10, %16\n  cbr %24, bb3, bb1\n"
                   "bb1:\n  %25:b64 = mulwide.s32 %11, %15\n  %26:b64 = add.u64 %3, %25\n"
                   "  %27:b64 = add.u64 %4, %25\n  br bb2\n"
                   "bb2:\n  %28:b32 = phi.b32 [bb1: %10], [bb2: %29]\n"
                   "  %30:b32 = phi.b32 [bb1: %11], [bb2: %31]\n"
                   "  %32:b32 = phi.b32 [bb1: %16], [bb2: %33]\n"
                   "  %34:b64 = phi.b64 [bb1: %26], [bb2: %35]\n"
                   "  %36:b64 = phi.b64 [bb1: %27], [bb2: %37]\n"
                   "  %38:b32 = ld.b32.global [%34]\n  %39:b64 = mulwide.s32 %38, %15\n"
                   "  %40:b64 = add.u64 %5, %39\n  %41:b32 = ld.f32.global [%40]\n"
                   "  %42:b32 = ld.f32.global [%36]\n  %33:b32 = fma.f32.rn %41, %42, %32\n"
                   "  %31:b32 = add.u32 %30, %17\n  %35:b64 = add.u64 %34, %19\n"
                   "  %37:b64 = add.u64 %36, %19\n  %29:b32 = add.u32 %28, %18\n"
                   "  %43:pred = setp.u32.ne %29, %16\n  cbr %43, bb2, bb3\n"
                   "bb3:\n  %44:b32 = phi.b32 [bb0: %16], [bb2: %33]\n"
                   "  %45:b32 = phi.b32 [bb0: %11], [bb2: %31]\n"
                   "  %46:pred = setp.u32.eq %14, %16\n  cbr %46, bb6, bb4\n"
                   "bb4:\n  %47:b32 = add.u32 %45, %12\n  %48:b64 = mulwide.s32 %47, %15\n"
                   "  %49:b64 = add.u64 %3, %48\n  %50:b64 = add.u64 %4, %48\n"
                   "  %51:b64 = add.u64 %50, %19\n  br bb5\n"
                   "bb5:\n  %52:b32 = phi.b32 [bb4: %47], [bb5: %53]\n"
                   "  %54:b32 = phi.b32 [bb4: %44], [bb5: %55]\n"
                   "  %56:b64 = phi.b64 [bb4: %49], [bb5: %57]\n"
                   "  %58:b64 = phi.b64 [bb4: %51], [bb5: %59]\n");
    for (unsigned i = 0; i < factor; i++, v += 6) {
        hd_buf_printf(t, "  %%%u:b32 = ld.b32.global [%%56+%u]\n", v, 4 * i);
        hd_buf_printf(t, "  %%%u:b64 = mulwide.s32 %%%u, %%15\n", v + 1, v);
        hd_buf_printf(t, "  %%%u:b64 = add.u64 %%5, %%%u\n", v + 2, v + 1);
        hd_buf_printf(t, "  %%%u:b32 = ld.f32.global [%%%u]\n", v + 3, v + 2);
        hd_buf_printf(t, "  %%%u:b32 = ld.f32.global [%%58%+d]\n", v + 4, 4 * (int)i - 4);
        hd_buf_printf(t, "  %%%u:b32 = fma.f32.rn %%%u, %%%u, %%%u\n", i == factor - 1 ? 55 : v + 5,
                      v + 3, v + 4, i ? v - 1 : 54);
    }
    hd_buf_puts(t, "  %57:b64 = add.u64 %56, %23\n  %59:b64 = add.u64 %58, %23\n"
                   "  %53:b32 = add.u32 %52, %22\n");
    hd_buf_printf(t, "  %%60:pred = setp.%s %%53, %%13\n  cbr %%60, bb5, bb6\n", until);
    hd_buf_puts(t, "bb6:\n  %61:b32 = phi.b32 [bb3: %44], [bb5: %55]\n"
                   "  st.f32.global [%21], %61\n  ret\n}\n");
}

static struct ir_module *module(const struct hd_buf *text, bool roll)
{
    struct ir_module *m = NULL;
    struct opt_options options = {.validate = true, .only = "ir_opt_reroll"};

    if (ir_read_module(text->ptr, text->len, "reroll", &m) != HD_OK) {
        diag("%s", hd_error_message());
        return NULL;
    }
    if (roll) {
        eq_u64(opt_run(m, &options), HD_OK, "the pass runs");
        eq_u64(m->funcs->nblocks, 9, "it makes a loop");
    }
    eq_u64(ir_layout_windows(m), HD_OK, "laid out");
    return m;
}

/* Most tasks are what a compiler makes of one loop; the others differ from that in something. */
static void tasks_make(struct task *tasks, int32_t base, uint32_t factor, bool exact,
                       uint64_t *seed)
{
    for (int i = 0; i < THREADS; i++) {
        int32_t n = (int32_t)(tap_random(seed) % 40), from = (int32_t)(tap_random(seed) % 64);
        struct task t = {
            .turns = n % (int32_t)factor, .from = base + from, .runs = n >= (int32_t)factor};
        t.to = t.from + n;
        switch (tap_random(seed) % 8) {
        case 0:
            t.turns = (int32_t)(tap_random(seed) % 7);
            break;
        case 1:
            t.skew = (int32_t)(tap_random(seed) % 5);
            break;
        case 2:
            t.to = exact ? t.to : t.from + (int32_t)(tap_random(seed) % 48) - 3;
            t.runs = 1;
            break;
        }
        if (exact) /* the big loop only ends where it meets its bound */
            t.to = t.from + t.turns + t.skew + (int32_t)factor * (1 + n / (int32_t)factor);
        tasks[i] = t;
    }
}

static enum hd_status launch(const struct ir_module *m, const struct launch *params)
{
    struct interp_launch l = {
        .kernel = m->funcs, .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = params};

    return interp_launch(&l, NULL);
}

static void compare(unsigned factor, const char *until, int32_t base, bool exact, size_t aside_B)
{
    static int32_t index[ITEMS + 1];
    static float values[ITEMS + 1], x[ITEMS];
    float plain[THREADS], rolled[THREADS];
    struct task tasks[THREADS];
    struct hd_buf text = {0};
    uint64_t seed = tap_seed();

    kernel_text(&text, factor, until);
    struct ir_module *a = module(&text, false), *b = module(&text, true);
    for (int i = 0; i < ITEMS; i++) {
        index[i] = (int32_t)(tap_random(&seed) % ITEMS);
        values[i] = (float)(int32_t)tap_random(&seed) / 1e8f;
        x[i] = (float)(int32_t)tap_random(&seed) / 1e7f;
    }
    /* A range of threads begins at element 0. */
    struct launch p = {
        plain, tasks, (const int32_t *)((uintptr_t)index - 4 * (uintptr_t)(intptr_t)base),
        (const float *)((uintptr_t)values - 4 * (uintptr_t)(intptr_t)base + aside_B), x};
    for (int round = 0; a && b && round < 20; round++) {
        tasks_make(tasks, base, factor, exact, &seed);
        memset(plain, 0, sizeof(plain));
        memset(rolled, 0, sizeof(rolled));
        p.out = plain;
        enum hd_status status = launch(a, &p);
        p.out = rolled;
        eq_u64(launch(b, &p), status, "both end alike");
        ok(aside_B ? status != HD_OK : status == HD_OK, "as expected");
        if (status == HD_OK)
            eq_mem(rolled, plain, sizeof(plain), "sums are the same");
    }
    ir_module_destroy(a);
    ir_module_destroy(b);
    hd_buf_fini(&text);
}

int main(void)
{
    for (unsigned factor = 2; factor <= 8; factor *= 2) {
        compare(factor, "s32.lt", 0, false, 0);
        compare(factor, "s32.lt", -40, false, 0);
        compare(factor, "s32.lt", INT_MAX - 200, false, 0);
        compare(factor, "u32.lt", 0, false, 0);
        compare(factor, "u32.ne", 0, true, 0);
        compare(factor, "s32.lt", 0, false, 2);
    }
    return done();
}
