/*
 * Whole kernels through the interpreter, from IR text: memory, barriers, warp collectives,
 * divergent loops, spin locks, recursion, indirect calls, printf, and every kind of fault.
 */
#include "launch_job.h"

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

/*
 * A warp of twenty threads: lanes that are not there count as zeros, their rows are not touched.
 * All elements of a and b are 1; rows 5 to 7 and 13 to 15 of a and columns 5 to 7 of b are missing.
 */
static void test_partial_product(void)
{
    static const char text[] = HEAD
        "var @s shared internal align 16 size 1024\n"
        "kernel @k visible {\n" PARAMS PROLOGUE
        "  %6:b32 = const.b32 0x3c003c00\n  %7:b32 = const.b32 0x0\n"
        "  %8:b32, %9:b32, %10:b32, %11:b32 = mma (16 8 16 f16 f16 f32 f32), %6, %6, %6, %6, %6, "
        "%6, %7, %7, %7, %7\n"
        "  st.b32.global [%3], %8\n  st.b32.global [%3+128], %9\n"
        "  %12:b64 = varaddr @s\n  %13:b32 = const.b32 0x10\n  %14:b64 = mulwide.u32 %2, %13\n"
        "  %15:b64 = add.u64 %12, %14\n  stmatrix.shared.m8n8 [%15], %6, %2\n"
        "  %16:b32, %17:b32 = ldmatrix.shared.m8n8 [%15]\n"
        "  st.b32.global [%3+256], %17\n  %18:b32 = movmatrix %6\n"
        "  st.b32.global [%3+384], %18\n  ret\n}\n";
    float product[2][32] = {{0}};
    uint32_t out[4][32] = {{0}};
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 20, .params = params}), HD_OK, "a part of a warp runs");
    memcpy(product, out, sizeof(product));
    for (unsigned i = 0; i < 20; i++) {
        unsigned col = 2 * (i % 4), row = i / 4;
        bad += product[0][i] != (col < 5 ? 16 : 0) || product[1][i] != (col + 1 < 5 ? 16 : 0);
        bad += out[2][i] != i; /* rows 8 to 15 are there, and their lanes up to 20 */
        bad += out[3][i] != (col + 1 < 5 ? 0x3c003c00 : col < 5 ? 0x3c00 : 0);
        bad += row > 4;
    }
    eq_u64(bad, 0, "what is missing counts as zeros");
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

/* A kernel whose arithmetic flushes denormals; its atomics do not. */
static void test_denormal_atom(void)
{
    static const char text[] = HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                                    "  %6:b32 = const.b32 0x4\n  %7:b32 = fadd.f32.rn.ftz %6, %2\n"
                                    "  st.b32.global [%1+4], %7\n"
                                    "  %8:b32 = atom.f32.global.add.relaxed.gpu [%1], %6\n"
                                    "  st.b32.global [%1+8], %8\n  ret\n}\n";
    uint32_t out[3] = {4, 99, 99};
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 1, .params = params}), HD_OK, "denormals run");
    ok(out[0] == 8 && out[1] == 0 && out[2] == 4, "%u %u %u", out[0], out[1], out[2]);
}

/* Some of the lanes that have parted add 100 and end; what the others meet at is not theirs. */
static void test_side_exit(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x0\n  %7:b32 = const.b32 0x1\n  %8:b32 = const.b32 0x2\n"
             "  %9:b32 = const.b32 0x64\n  %10:b32 = and.b32 %2, %7\n"
             "  %11:pred = setp.u32.ne %10, %6\n  cbr %11, bb3, bb1\n"
             "bb1:\n  %12:b32 = and.b32 %2, %8\n  %13:pred = setp.u32.ne %12, %6\n"
             "  cbr %13, bb2, bb3\n"
             "bb2:\n  %14:b32 = ld.b32.global [%3]\n  %15:b32 = add.u32 %14, %9\n"
             "  st.b32.global [%3], %15\n  br bb4\n"
             "bb3:\n  %16:b32 = ld.b32.global [%3]\n  %17:b32 = add.u32 %16, %7\n"
             "  st.b32.global [%3], %17\n  br bb4\n"
             "bb4:\n  ret\n}\n";
    uint32_t out[64] = {0};
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "two ways to the end run");
    for (unsigned i = 0; i < 64; i++)
        bad += out[i] != (i % 4 == 2 ? 100 : 1);
    eq_u64(bad, 0, "every lane takes one of them");
}

/*
 * A lane writes what the others read behind the next barrier, and ends there; another one does so
 * after that, with what it had before. No wait lasts for them, but all see what they did.
 */
static void test_end_before_barrier(void)
{
    static const char text[] =
        HEAD "var @s shared internal align 4 size 8\n"
             "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b64 = varaddr @s\n  %7:b32 = const.b32 0x5\n  %8:b32 = const.b32 0x2a\n"
             "  %9:b32 = const.b32 0x6\n  %10:b32 = mul.u32 %2, %8\n  bar.sync\n"
             "  %11:pred = setp.u32.eq %2, %7\n  cbr %11, bb1, bb2\n"
             "bb1:\n  st.b32.shared [%6], %8\n  st.b32.global [%3], %10\n  exit\n"
             "bb2:\n  bar.sync\n  %12:b32 = ld.b32.shared [%6]\n"
             "  %13:pred = setp.u32.eq %2, %9\n  cbr %13, bb3, bb4\n"
             "bb3:\n  st.b32.shared [%6+4], %12\n  st.b32.global [%3], %10\n  exit\n"
             "bb4:\n  bar.sync\n  %14:b32 = ld.b32.shared [%6+4]\n  %15:b32 = add.u32 %12, %14\n"
             "  bar.sync\n  st.b32.global [%3], %15\n  ret\n}\n";
    uint32_t out[64] = {0};
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "early ends run");
    for (uint32_t i = 0; i < 64; i++)
        bad += out[i] != (i == 5 || i == 6 ? 42 * i : 84);
    eq_u64(bad, 0, "what lanes do before they end comes before the next barrier");
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

/* Lanes take a lock eight times each and wait for the others at a shuffle, however late. */
static void test_wait_for_spinner(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x0\n  %7:b32 = const.b32 0x1\n  %13:b32 = const.b32 0x8\n"
             "  %20:b32 = const.b32 0xffffffff\n  %21:b32 = const.b32 0x1f\n  br bb1\n"
             "bb1:\n  %14:b32 = phi.b32 [bb0: %6], [bb3: %14], [bb4: %15]\n"
             "  %8:b32 = atom.b32.global.cas.relaxed.gpu [%1], %6, %7\n"
             "  %9:pred = setp.u32.ne %8, %6\n  cbr %9, bb3, bb2\n"
             "bb2:\n  %10:b32 = ld.b32.global.volatile.sys [%1+4]\n"
             "  %11:b32 = add.u32 %10, %7\n  st.b32.global [%1+4], %11\n  fence.sc.gpu\n"
             "  %12:b32 = atom.b32.global.exch.relaxed.gpu [%1], %6\n  br bb3\n"
             "bb3:\n  cbr %9, bb1, bb4\n"
             "bb4:\n  %15:b32 = add.u32 %14, %7\n  %16:pred = setp.u32.lt %15, %13\n"
             "  cbr %16, bb1, bb5\n"
             "bb5:\n  %17:b32 = ld.b32.global.volatile.sys [%1+4]\n"
             "  st.b32.global [%3+8], %17\n"
             "  %18:b32, %19:pred = shfl.b32.idx %17, %21, %21, %20\n"
             "  st.b32.global [%3+136], %18\n  ret\n}\n";
    uint32_t out[2 + 32 + 32] = {0};
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 32, .params = params}), HD_OK, "lanes with a lock run");
    for (unsigned i = 0; i < 32; i++)
        bad += out[34 + i] != out[33];
    eq_u64(out[1], 256, "every lane had it eight times");
    eq_u64(bad, 0, "and all waited for the last lane");
}

/* Half of each warp goes through a barrier, the other half waits for them at a shuffle. */
static void test_wait_for_parked(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x1\n  %7:b32 = const.b32 0x0\n  %8:b32 = const.b32 0x8\n"
             "  %9:b32 = const.b32 0x10\n  %20:b32 = const.b32 0xffffffff\n"
             "  %21:b32 = const.b32 0x1f\n  %22:b32 = and.b32 %2, %21\n  br bb1\n"
             "bb1:\n  %10:b32 = phi.b32 [bb0: %7], [bb3: %13]\n"
             "  %11:b32 = phi.b32 [bb0: %7], [bb3: %14]\n"
             "  %12:b32, %16:pred = shfl.b32.idx %10, %7, %21, %20\n"
             "  %13:b32 = add.u32 %10, %6\n  %14:b32 = add.u32 %11, %12\n"
             "  %15:pred = setp.u32.lt %22, %9\n  cbr %15, bb2, bb3\n"
             "bb2:\n  %17:b32 = const.b32 0x20\n  bar.sync %6, %17\n  br bb3\n"
             "bb3:\n  %18:pred = setp.u32.lt %13, %8\n  cbr %18, bb1, bb4\n"
             "bb4:\n  st.b32.global [%3], %14\n  ret\n}\n";
    uint32_t out[64] = {0};
    unsigned bad = 0;
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "parked lanes run");
    for (unsigned i = 0; i < 64; i++)
        bad += out[i] != 7 * 8 / 2;
    eq_u64(bad, 0, "every shuffle had all its members");
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

/* A function with 100 results: the kernel adds them up. */
static void test_many_results(void)
{
    enum { N = 100 };
    struct hd_buf text;
    uint32_t out = 0;
    const void *params[] = {&out, NULL};
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD "func @many internal (%0:b32) -> (b32");
    for (int i = 1; i < N; i++)
        hd_buf_puts(&text, ", b32");
    hd_buf_puts(&text, ") {\nbb0:\n");
    for (int i = 1; i <= N; i++)
        hd_buf_printf(&text, "  %%%d:b32 = const.b32 %d\n", i, i);
    hd_buf_puts(&text, "  ret %1");
    for (int i = 2; i <= N; i++)
        hd_buf_printf(&text, ", %%%d", i);
    hd_buf_puts(&text, "\n}\nkernel @k visible {\n" PARAMS PROLOGUE "  %10:b32");
    for (int i = 1; i < N; i++)
        hd_buf_printf(&text, ", %%%d:b32", 10 + i);
    hd_buf_puts(&text, " = call @many, %2\n  %1000:b32 = const.b32 0\n");
    for (int i = 0; i < N; i++)
        hd_buf_printf(&text, "  %%%d:b32 = add.u32 %%%d, %%%d\n", 1001 + i, 1000 + i, 10 + i);
    hd_buf_printf(&text, "  st.b32.global [%%1], %%%d\n  ret\n}\n", 1000 + N);
    eq_u64(run(&(struct job){text.ptr, 1, 1, .params = params}), HD_OK, "100 results run");
    eq_u64(out, N * (N + 1) / 2, "every result arrives");
    hd_buf_fini(&text);
}

#ifndef interp_launch
/*
 * Bits 96.. of a register packed from 128 predicates, of which every third is true. The JIT packs
 * no single bits.
 */
static void test_pack_preds(void)
{
    struct hd_buf text;
    uint32_t out = 0, want = 0;
    const void *params[] = {&out, NULL};
    for (unsigned i = 96; i < 128; i++)
        want |= (i % 3 == 0 ? 1u : 0u) << (i - 96);
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD "kernel @k visible {\n" PARAMS PROLOGUE
                            "  %6:pred = const.pred 1\n  %7:pred = const.pred 0\n"
                            "  %8:b128 = pack.b128 %6");
    for (unsigned i = 1; i < 128; i++)
        hd_buf_puts(&text, i % 3 == 0 ? ", %6" : ", %7");
    hd_buf_puts(&text, "\n  %9:b32 = unpack.b32 %8, imm=3\n  st.b32.global [%1], %9\n"
                       "  ret\n}\n");
    eq_u64(run(&(struct job){text.ptr, 1, 1, .params = params}), HD_OK, "128 sources run");
    eq_u64(out, want, "every source arrives");
    hd_buf_fini(&text);
}
#endif

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

/* The result of a reduction outlives later rounds of its barrier, in divergent code too. */
static void test_bar_result_kept(void)
{
    static const char text[] =
        HEAD "kernel @k visible {\n" PARAMS PROLOGUE
             "  %6:b32 = const.b32 0x1\n  %7:b32 = const.b32 0x5\n  %8:b32 = const.b32 0x0\n"
             "  %9:pred = setp.u32.lt %2, %7\n"
             "  %10:b32 = bar.red_popc %8, %8, %9\n  cbr %9, bb1, bb2\n"
             "bb1:\n  bar.sync\n  br bb3\n"
             "bb2:\n  bar.sync\n  br bb3\n"
             "bb3:\n  %11:b32 = add.u32 %10, %6\n  st.b32.global [%3], %11\n  ret\n}\n";
    uint32_t out[64];
    const void *params[] = {out, NULL};
    eq_u64(run(&(struct job){text, 1, 64, .params = params}), HD_OK, "barriers in both arms run");
    ok(out[0] == 6 && out[63] == 6, "the result of bar.red is kept");
}

/*
 * Many values across many barriers: rows of a table, of which the even ones are read by thread and
 * the odd ones are the same for all. Every tenth is needed in between as well.
 */
static void test_carried(void)
{
    enum { N = 160, T = 64 };
    static uint32_t rows[N][T];
    const void *params[] = {rows, NULL};
    uint32_t want[T] = {0}, sum = 4 * N;
    struct hd_buf text;
    unsigned wrong = 0;
    for (unsigned i = 0; i < N * T; i++)
        rows[i / T][i % T] = i * 2654435761u;
    hd_buf_init(&text);
    hd_buf_puts(&text, HEAD "kernel @k visible {\n" PARAMS PROLOGUE);
    hd_buf_printf(&text, "  %%%u:b32 = const.b32 0\n", sum);
    for (unsigned i = 0; i < N; i++) {
        hd_buf_printf(&text, "  %%%u:b32 = ld.b32.global [%%%d+%u]\n  bar.sync\n", 10 + i,
                      i % 2 ? 1 : 3, 4 * T * i);
        if (i % 10 == 9)
            hd_buf_printf(&text, "  %%%u:b32 = xor.b32 %%%u, %%%u\n", sum + 1, sum, 10 + i / 2);
        sum += i % 10 == 9;
    }
    for (unsigned i = 0; i < N; i++, sum++)
        hd_buf_printf(&text, "  %%%u:b32 = add.u32 %%%u, %%%u\n", sum + 1, sum, 10 + i);
    hd_buf_printf(&text, "  st.b32.global [%%3], %%%u\n  ret\n}\n", sum);
    for (unsigned t = 0; t < T; t++) {
        for (unsigned i = 9; i < N; i += 10)
            want[t] ^= rows[i / 2][i / 2 % 2 ? 0 : t];
        for (unsigned i = 0; i < N; i++)
            want[t] += rows[i][i % 2 ? 0 : t];
    }
    eq_u64(run(&(struct job){text.ptr, 1, T, .params = params}), HD_OK, "160 barriers run");
    for (unsigned t = 0; t < T; t++)
        wrong += rows[0][t] != want[t];
    eq_u64(wrong, 0, "every value gets across them");
    hd_buf_fini(&text);
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
    FAULT("tensor memory", "  %6:b32 = ld.b32.tensor [%0]\n", HD_NOT_SUPPORTED);
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
    test_partial_product();
    test_divergence();
    test_same_target();
    test_denormal_atom();
    test_side_exit();
    test_end_before_barrier();
    test_spin_lock();
    test_locked_turns();
    test_wait_for_spinner();
    test_wait_for_parked();
    test_endless_loop();
    test_swap_sum();
    test_recursion();
    test_printf();
    test_barriers();
    test_bar_result_kept();
    test_carried();
    test_many_results();
#ifndef interp_launch /* the JIT's harness runs CTAs one by one and checks no addresses */
    test_pack_preds();
    test_grid_barrier();
    test_faults();
#endif
    hd_buf_fini(&printed);
    return done();
}
