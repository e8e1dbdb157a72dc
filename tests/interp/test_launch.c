/*
 * Whole kernels through the interpreter, from IR text: memory, barriers, warp collectives,
 * divergent loops, spin locks, recursion, indirect calls, printf, and every kind of fault.
 */
#include "interp/interp.h"
#include "tap.h"

static struct hd_buf printed;
static uint64_t forbidden; /* the one address that check() refuses */

static uint64_t var_address(void *ctx, const struct ir_var *var)
{
    return (uint64_t)(uintptr_t)(var->init ? (void *)var->init : ctx);
}
static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    return address != forbidden;
}
static void print(void *ctx, const char *text, size_t len)
{
    hd_buf_append(&printed, text, len);
}
static const struct interp_ops ops = {.var_address = var_address, .check = check, .print = print};

struct job {
    const char *text; /* kernel @k */
    uint32_t grid, block, dynamic_B;
    const void *params;
    bool cooperative;
};

static struct interp_fault fault;

static enum hd_status run(const struct job *job)
{
    struct ir_module *module = NULL;
    enum hd_status status = ir_read_module(job->text, strlen(job->text), "test", &module);
    if (status == HD_OK)
        status = ir_validate(module);
    if (status == HD_OK)
        status = ir_layout_windows(module);
    if (status == HD_OK) {
        struct interp_launch launch = {.kernel = ir_module_find_func(module, "k"),
                                       .grid = {job->grid, 1, 1},
                                       .block = {job->block, 1, 1},
                                       .dynamic_shared_B = job->dynamic_B,
                                       .params = job->params,
                                       .cooperative = job->cooperative,
                                       .ops = &ops};
        status = interp_launch(&launch, &fault);
    }
    if (status != HD_OK)
        diag("%s", hd_error_message());
    ir_module_destroy(module);
    return status;
}

#define HEAD "module \"t\" sm 75\nfile \"k.cu\"\n"
/* %0 = 0, %1 = params[0] (pointer), %2 = tid, %3 = &params[0][tid] (b32 elements) */
#define PARAMS                                                                                     \
    "  params 16\n  param \"p\" offset 0 size 8 align 8\n  param \"q\" offset 8 size 8 align 8\n"
#define PROLOGUE                                                                                   \
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n  %2:b32 = sreg.b32 tid.x\n"    \
    "  %4:b32 = const.b32 0x4\n  %5:b64 = mulwide.u32 %2, %4\n  %3:b64 = add.u64 %1, %5\n"

static void test_vecadd(void)
{
    static const char text[] = HEAD
        "kernel @k visible {\n" PARAMS "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param "
        "[%0]\n  %6:b64 = ld.b64.param [%0+8]\n"
        "  %2:b32 = sreg.b32 tid.x\n  %7:b32 = sreg.b32 ctaid.x\n  %8:b32 = sreg.b32 ntid.x\n"
        "  %9:b32 = mul.u32 %7, %8\n  %10:b32 = add.u32 %9, %2\n  %4:b32 = const.b32 0x4\n"
        "  %5:b64 = mulwide.u32 %10, %4\n  %3:b64 = add.u64 %1, %5\n  %11:b64 = add.u64 %6, %5\n"
        "  %12:b32 = ld.b32.global [%3]\n  %13:b32 = ld.b32.global [%11]\n"
        "  %14:b32 = fadd.f32.rn %12, %13\n  st.b32.global [%3], %14\n  ret\n}\n";
    float a[256], b[256];
    unsigned bad = 0;
    for (int i = 0; i < 256; i++) {
        a[i] = (float)i;
        b[i] = 0.5f;
    }
    const void *params[] = {a, b};
    eq_u64(run(&(struct job){text, 4, 64, .params = params}), HD_OK, "vecadd runs");
    for (int i = 0; i < 256; i++)
        bad += a[i] != (float)i + 0.5f;
    eq_u64(bad, 0, "vecadd is right");
}

/* Tree reduction in dynamic shared memory: s[tid] = tid; for (n = 32; n; n >>= 1) ... */
static void test_reduction(void)
{
    static const char text[] = HEAD
        "var @s shared extern align 16 size 0 dynamic\n"
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b64 = varaddr @s\n  %7:b64 = add.u64 %6, %5\n  st.b32.shared [%7], %2\n"
        "  %8:b32 = const.b32 0x20\n  br bb1\n"
        "bb1:\n  %9:b32 = phi.b32 [bb0: %8], [bb3: %20]\n  bar.sync\n"
        "  %10:pred = setp.u32.lt %2, %9\n  cbr %10, bb2, bb3\n"
        "bb2:\n  %11:b64 = mulwide.u32 %9, %4\n  %12:b64 = add.u64 %7, %11\n"
        "  %13:b32 = ld.b32.shared [%12]\n  %14:b32 = ld.b32.shared [%7]\n"
        "  %15:b32 = add.u32 %13, %14\n  st.b32.shared [%7], %15\n  br bb3\n"
        "bb3:\n  %16:b32 = const.b32 0x1\n  %20:b32 = shr.u32 %9, %16\n  %17:b32 = const.b32 0x0\n"
        "  %18:pred = setp.u32.ne %20, %17\n  cbr %18, bb1, bb4\n"
        "bb4:\n  %19:pred = setp.u32.eq %2, %17\n  cbr %19, bb5, bb6\n"
        "bb5:\n  %21:b32 = ld.b32.shared [%7]\n  st.b32.global [%1], %21\n  br bb6\n"
        "bb6:\n  ret\n}\n";
    uint32_t out = 0;
    const void *params[] = {&out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, 256, .params = params}), HD_OK, "reduction runs");
    eq_u64(out, 63 * 64 / 2, "reduction is right");
}

static void test_shuffles(void)
{
    /* out[tid] = sum over the warp by bfly; then ballot(tid & 1); match.any(tid / 8); redux */
    static const char text[] = HEAD
        "kernel @k visible {\n" PARAMS PROLOGUE "  %6:b32 = const.b32 0x1f\n  %7:b32 = const.b32 "
        "0xffffffff\n  %8:b32 = const.b32 0x10\n  br bb1\n"
        "bb1:\n  %9:b32 = phi.b32 [bb0: %2], [bb1: %13]\n  %10:b32 = phi.b32 [bb0: %8], [bb1: "
        "%15]\n"
        "  %11:b32, %12:pred = shfl.b32.bfly %9, %10, %6, %7\n  %13:b32 = add.u32 %9, %11\n"
        "  %14:b32 = const.b32 0x1\n  %15:b32 = shr.u32 %10, %14\n  %16:b32 = const.b32 0x0\n"
        "  %17:pred = setp.u32.ne %15, %16\n  cbr %17, bb1, bb2\n"
        "bb2:\n  st.b32.global [%3], %13\n  %18:b32 = and.b32 %2, %14\n"
        "  %19:pred = setp.u32.ne %18, %16\n  %20:b32 = vote.ballot %19, %7\n"
        "  st.b32.global [%3+128], %20\n  %21:b32 = const.b32 0x3\n  %22:b32 = shr.u32 %2, %21\n"
        "  %23:b32 = match.b32.any %22, %7\n  st.b32.global [%3+256], %23\n"
        "  %24:b32 = redux.u32.max %2, %7\n  st.b32.global [%3+384], %24\n"
        "  %25:b32, %26:pred = elect %7\n  %27:b32 = select.b32 %26, %14, %16\n"
        "  st.b32.global [%3+512], %27\n  %28:b32 = activemask\n  st.b32.global [%3+640], %28\n  "
        "ret\n}\n";
    uint32_t out[6][32] = {{0}};
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 32, .params = params}), HD_OK, "collectives run");
    for (unsigned i = 0; i < 32; i++) {
        bad += out[0][i] != 496 || out[1][i] != 0xaaaaaaaa || out[2][i] != 0xffu << (i & 24);
        bad += out[3][i] != 31 || out[4][i] != (i == 0) || out[5][i] != 0xffffffff;
    }
    eq_u64(bad, 0, "collectives are right");
}

/* Both arms of a branch lead to the same block, with other operands: whole warps, lanes, brx. */
static void test_same_target(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = sreg.b32 ctaid.x\n  %7:b32 = const.b32 0x0\n  %8:b32 = const.b32 0x64\n"
             "  %9:b32 = add.u32 %2, %8\n  %10:pred = setp.u32.ne %6, %7\n"
             "  %12:b32 = const.b32 0x200\n  %13:b32 = mul.u32 %6, %12\n"
             "  %14:b64 = mulwide.u32 %6, %12\n  %15:b64 = add.u64 %3, %14\n  cbr %10, bb1, bb1\n"
             "bb1:\n  %11:b32 = phi.b32 [bb0: %2], [bb0: %9]\n  st.b32.global [%15], %11\n"
             "  %16:b32 = const.b32 0x1\n  %17:b32 = and.b32 %2, %16\n"
             "  %18:pred = setp.u32.eq %17, %7\n  cbr %18, bb2, bb2\n"
             "bb2:\n  %19:b32 = phi.b32 [bb1: %8], [bb1: %2]\n  st.b32.global [%15+256], %19\n"
             "  ret\n}\n";
    uint32_t out[2][2][64];
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 2, 64, .params = params}), HD_OK, "twofold edges run");
    for (unsigned c = 0; c < 2; c++) {
        for (unsigned i = 0; i < 64; i++)
            bad += out[c][0][i] != (c ? i : i + 100) || out[c][1][i] != (i & 1 ? i : 100);
    }
    eq_u64(bad, 0, "each edge has its own operand");
}

/* Collatz steps: every lane loops another number of times; odd lanes leave early by exit. */
static void test_divergence(void)
{
    static const char text[] = HEAD
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b32 = const.b32 0x1\n  %7:b32 = add.u32 %2, %6\n  %8:b32 = const.b32 0x0\n  br bb1\n"
        "bb1:\n  %9:b32 = phi.b32 [bb0: %7], [bb4: %20]\n  %10:b32 = phi.b32 [bb0: %8], [bb4: "
        "%21]\n"
        "  %11:pred = setp.u32.eq %9, %6\n  cbr %11, bb5, bb2\n"
        "bb2:\n  %12:b32 = and.b32 %9, %6\n  %13:pred = setp.u32.eq %12, %6\n  cbr %13, bb3, bb6\n"
        "bb3:\n  %14:b32 = const.b32 0x3\n  %15:b32 = mul.u32 %9, %14\n  %16:b32 = add.u32 %15, "
        "%6\n  br bb4\n"
        "bb6:\n  %17:b32 = shr.u32 %9, %6\n  br bb4\n"
        "bb4:\n  %20:b32 = phi.b32 [bb3: %16], [bb6: %17]\n  %21:b32 = add.u32 %10, %6\n  br bb1\n"
        "bb5:\n  st.b32.global [%3], %10\n  exit\n}\n";
    uint32_t out[64];
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "collatz runs");
    for (unsigned i = 0; i < 64; i++) {
        unsigned n = 0;
        for (unsigned v = i + 1; v != 1; n++)
            v = (v & 1) ? 3 * v + 1 : v / 2;
        bad += out[i] != n;
    }
    eq_u64(bad, 0, "collatz is right");
}

/* while (atomicCAS(lock, 0, 1)); counter++ with plain accesses; atomicExch(lock, 0) */
static void test_spin_lock(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x0\n  %7:b32 = const.b32 0x1\n  br bb1\n"
             "bb1:\n  %8:b32 = atom.b32.global.cas.relaxed.gpu [%1], %6, %7\n"
             "  %9:pred = setp.u32.ne %8, %6\n  cbr %9, bb1, bb2\n"
             "bb2:\n  %10:b32 = ld.b32.global [%1+4]\n  %11:b32 = add.u32 %10, %7\n"
             "  st.b32.global [%1+4], %11\n  fence.sc.gpu\n"
             "  %12:b32 = atom.b32.global.exch.relaxed.gpu [%1], %6\n  ret\n}\n";
    uint32_t out[2] = {0, 0};
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 3, 96, .params = params}), HD_OK, "spin lock runs");
    eq_u64(out[1], 288, "every thread had the lock once");
}

/* The same lock taken q times by every thread; a loop that lanes leave only by ending. */
static void test_locked_turns(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x0\n  %7:b32 = const.b32 0x1\n  %13:b32 = const.b32 0x5\n  br "
             "bb1\n"
             "bb1:\n  %14:b32 = phi.b32 [bb0: %6], [bb3: %14], [bb4: %15]\n"
             "  %8:b32 = atom.b32.global.cas.relaxed.gpu [%1], %6, %7\n"
             "  %9:pred = setp.u32.ne %8, %6\n  cbr %9, bb3, bb2\n"
             "bb2:\n  %10:b32 = ld.b32.global.volatile.sys [%1+4]\n  %11:b32 = add.u32 %10, %7\n"
             "  st.b32.global [%1+4], %11\n  fence.sc.gpu\n"
             "  %12:b32 = atom.b32.global.exch.relaxed.gpu [%1], %6\n  br bb3\n"
             "bb3:\n  cbr %9, bb1, bb4\n"
             "bb4:\n  %15:b32 = add.u32 %14, %7\n  %16:pred = setp.u32.lt %15, %13\n"
             "  cbr %16, bb1, bb5\n"
             "bb5:\n  ret\n}\n";
    uint32_t out[2] = {0, 0};
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 3, 48, .params = params}), HD_OK, "lock in a loop runs");
    eq_u64(out[1], 3 * 48 * 5, "every thread had the lock five times");
}

/* Collatz again, without a lock: a loop without end but for the end of its lanes. */
static void test_endless_loop(void)
{
    static const char text[] = HEAD
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b32 = const.b32 0x1\n  %7:b32 = add.u32 %2, %6\n  %8:b32 = const.b32 0x0\n  br bb1\n"
        "bb1:\n  %9:b32 = phi.b32 [bb0: %7], [bb2: %13], [bb4: %18]\n"
        "  %10:b32 = phi.b32 [bb0: %8], [bb2: %11], [bb4: %11]\n"
        "  %11:b32 = add.u32 %10, %6\n  st.b32.global [%3], %10\n"
        "  %12:b32 = and.b32 %9, %6\n  %13:b32 = shr.u32 %9, %6\n"
        "  %14:pred = setp.u32.eq %12, %6\n  cbr %14, bb3, bb2\n"
        "bb2:\n  br bb1\n"
        "bb3:\n  %15:pred = setp.u32.eq %9, %6\n  cbr %15, bb5, bb4\n"
        "bb4:\n  %16:b32 = const.b32 0x3\n  %17:b32 = mul.u32 %9, %16\n"
        "  %18:b32 = add.u32 %17, %6\n  br bb1\n"
        "bb5:\n  ret\n}\n";
    uint32_t out[64];
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "endless loop ends");
    for (unsigned i = 0; i < 64; i++) {
        unsigned n = 0;
        for (unsigned v = i + 1; v != 1; n++)
            v = (v & 1) ? 3 * v + 1 : v / 2;
        bad += out[i] != n;
    }
    eq_u64(bad, 0, "every lane took its turns");
}

/* out[tid & 3] += tid, by compare-and-swap until it succeeds; shared memory first, then global. */
static void test_swap_sum(void)
{
    static const char text[] = HEAD
        "var @s shared internal align 16 size 16\n"
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b32 = const.b32 0x3\n  %7:b32 = and.b32 %2, %6\n  %8:b64 = mulwide.u32 %7, %4\n"
        "  %9:b64 = add.u64 %1, %8\n  %10:b64 = varaddr @s\n  %11:b64 = add.u64 %10, %8\n"
        "  %12:b32 = const.b32 0x0\n  st.b32.shared [%11], %12\n  bar.sync\n  br bb1\n"
        "bb1:\n  %13:b32 = phi.b32 [bb0: %12], [bb1: %15]\n  %14:b32 = add.u32 %13, %2\n"
        "  %15:b32 = atom.b32.shared.cas.relaxed.cta [%11], %13, %14\n"
        "  %16:pred = setp.u32.ne %15, %13\n  cbr %16, bb1, bb2\n"
        "bb2:\n  bar.sync\n  %17:b32 = ld.b32.shared [%11]\n  %18:b32 = ld.b32.global [%9]\n  br "
        "bb3\n"
        "bb3:\n  %19:b32 = phi.b32 [bb2: %18], [bb3: %21]\n  %20:b32 = add.u32 %19, %17\n"
        "  %21:b32 = atom.b32.global.cas.relaxed.gpu [%9], %19, %20\n"
        "  %22:pred = setp.u32.eq %21, %19\n  cbr %22, bb4, bb3\n"
        "bb4:\n  ret\n}\n";
    uint32_t out[4] = {0};
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 2, 64, .params = params}), HD_OK, "sum by swaps runs");
    for (uint32_t i = 0; i < 4; i++) /* 16 threads each add 16 * i + 4 * (0 + .. + 15), twice */
        eq_u64(out[i], 2 * 16 * (16 * i + 4 * 120), "sum %u", i);
}

#define FIB                                                                                        \
    "func @fib internal (%0:b32) -> (b32) {\n  var $0 \"x\" local internal align 4 size 4\n"       \
    "bb0:\n  %1:b32 = const.b32 0x2\n  %2:b64 = varaddr $0\n  st.b32.local [%2], %0\n"             \
    "  %3:pred = setp.u32.lt %0, %1\n  cbr %3, bb1, bb2\n"                                         \
    "bb1:\n  ret %0\n"                                                                             \
    "bb2:\n  %4:b32 = const.b32 0x1\n  %5:b32 = sub.u32 %0, %4\n  %6:b32 = call @fib, %5\n"        \
    "  %7:b32 = ld.b32.local [%2]\n  %8:b32 = sub.u32 %7, %1\n  %9:b32 = call @fib, %8\n"          \
    "  %10:b32 = add.u32 %6, %9\n  ret %10\n}\n"

static void test_recursion(void)
{
    static const char text[] =
        HEAD FIB "kernel @k visible {\n" PARAMS PROLOGUE
                 "  %6:b64 = funcaddr @fib\n  %7:b32 = calli (b32) -> (b32), %6, %2\n"
                 "  st.b32.global [%3], %7\n  ret\n}\n";
    static const char endless[] =
        HEAD "func @f internal (%0:b32) -> (b32) {\nbb0:\n  %1:b32 = call @f, %0\n  ret %1\n}\n"
             "kernel @k visible {\n" PARAMS PROLOGUE "  %6:b32 = call @f, %2\n  ret\n}\n";
    static const char wild[] = HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                                    "  %6:b32 = calli (b32) -> (b32), %0, %2\n  ret\n}\n";
    uint32_t out[10];
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 10, .params = params}), HD_OK, "recursion runs");
    eq_u64(out[9], 34, "fib(9), by an indirect call");
    eq_u64(run(&(struct job){endless, 1, 1, .params = params}), HD_STACK_OVERFLOW,
           "endless recursion");
    eq_u64(run(&(struct job){wild, 1, 1, .params = params}), HD_ILLEGAL_ADDRESS, "wild call");
}

static void test_printf(void)
{
    static const char text[] = HEAD
        "var @fmt const visible align 1 size 16 init 7469642025642c2025730a00\n"
        "var @str const visible align 1 size 4 init 796f7500\n"
        "kernel @k visible {\n" PARAMS "  var $0 \"args\" local internal align 8 size 16\n" PROLOGUE
        "  %6:b64 = varaddr $0\n  st.b32.local [%6], %2\n  %7:b64 = varaddr @str\n"
        "  st.b64.local [%6+8], %7\n  %8:b64 = varaddr @fmt\n  %9:b64 = cvta.local %6\n"
        "  %10:b32 = builtin.vprintf %8, %9\n  st.b32.global [%3], %10\n  ret\n}\n";
    uint32_t out[2];
    const void *params[] = {out, NULL};
    hd_buf_clear(&printed);
    eq_u64(run(&(struct job){text, 1, 2, .params = params}), HD_OK, "printf runs");
    eq_str(printed.ptr, "tid 0, you\ntid 1, you\n", "printf prints");
    eq_u64(out[0], 2, "printf counts");
}

static void test_barriers(void)
{
    /* Warp 1 arrives at barrier 1 (count 64), warp 0 waits there; then red.popc; then exits. */
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x20\n  %7:b32 = const.b32 0x1\n  %8:b32 = const.b32 0x40\n"
             "  %9:pred = setp.u32.lt %2, %6\n  cbr %9, bb1, bb2\n"
             "bb1:\n  bar.sync %7, %8\n  br bb3\n"
             "bb2:\n  bar.arrive %7, %8\n  br bb3\n"
             "bb3:\n  %10:b32 = const.b32 0x5\n  %11:pred = setp.u32.lt %2, %10\n"
             "  %12:b32 = const.b32 0x0\n  %13:b32 = bar.red_popc %12, %12, %11\n"
             "  st.b32.global [%3], %13\n  cbr %11, bb4, bb5\n"
             "bb4:\n  exit\n"
             "bb5:\n  bar.sync\n  %14:b32 = add.u32 %13, %7\n  st.b32.global [%3], %14\n  ret\n}\n";
    static const char stuck[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x1\n  %7:b32 = const.b32 0x40\n  bar.sync %6, %7\n  ret\n}\n";
    uint32_t out[64];
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "named barriers run");
    ok(out[0] == 5 && out[63] == 6, "bar.red, and ended threads are not waited for");
    eq_u64(run(&(struct job){stuck, 1, 32, .params = params}), HD_TIMEOUT, "a deadlock is found");
}

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

HD_UNUSED static void test_grid_barrier(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x1\n  %7:b32 = atom.u32.global.add.relaxed.gpu [%1], %6\n"
             "  %8:b32 = sreg.b32 nctaid.x\n  br bb1\n"
             "bb1:\n  %9:b32 = ld.b32.global.volatile.sys [%1]\n  %10:pred = setp.u32.lt %9, %8\n"
             "  cbr %10, bb1, bb2\n"
             "bb2:\n  ret\n}\n";
    uint32_t out[1] = {0};
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 20, 1, .params = params, .cooperative = true}), HD_OK,
           "a cooperative grid waits for itself");
}

HD_UNUSED static void test_faults(void)
{
#define FAULT(name, body, status)                                                                  \
    do {                                                                                           \
        static const char text[] = HEAD "kernel @k visible {\n" PARAMS PROLOGUE body "  ret\n}\n"; \
        eq_u64(run(&(struct job){text, 1, 2, .params = params}), status, name);                    \
    } while (0)
    uint32_t out[4] = {0};
    const void *params[] = {out, NULL};
    forbidden = (uint64_t)(uintptr_t)&out[1];
    FAULT("illegal store", "  st.b32.global [%3], %2 !1:42\n", HD_ILLEGAL_ADDRESS);
    ok(fault.tid[0] == 1 && fault.line == 42 && fault.address == forbidden, "place of the fault");
    forbidden = 0;
    FAULT("null load", "  %6:b32 = ld.b32.global [%0]\n", HD_ILLEGAL_ADDRESS);
    FAULT("misaligned", "  %6:b32 = ld.b32.global [%1+2]\n", HD_MISALIGNED);
    FAULT("past shared memory", "  %6:b32 = ld.b32.shared [%0+64]\n", HD_ILLEGAL_ADDRESS);
    FAULT("past the parameters", "  %6:b32 = ld.b32.param [%0+16]\n", HD_ILLEGAL_ADDRESS);
    static const char trap[] = HEAD "kernel @k visible {\n" PARAMS PROLOGUE "  trap\n}\n";
    eq_u64(run(&(struct job){trap, 1, 1, .params = params}), HD_TRAP, "trap");
    eq_u64(run(&(struct job){trap, 1, 1025, .params = params}), HD_LAUNCH_LIMIT, "block too large");
}

int main(void)
{
    hd_buf_init(&printed);
    test_vecadd();
    test_reduction();
    test_shuffles();
    test_divergence();
    test_same_target();
    test_spin_lock();
    test_locked_turns();
    test_endless_loop();
    test_swap_sum();
    test_recursion();
    test_printf();
    test_barriers();
    test_regions();
    test_leaving();
    test_computed_addresses();
    test_patterns();
    test_strong_vectors();
#ifndef interp_launch /* the JIT's harness runs CTAs one by one and checks no addresses */
    test_grid_barrier();
    test_faults();
#endif
    hd_buf_fini(&printed);
    return done();
}
