/* Assembled kernels: control flow, memory, barriers, faults. */
#include "sim/job.h"

/* R2, R3: the first parameter; R0: threadIdx.x; R4, R5: the parameter plus 4 * R0. */
#define PROLOGUE                                                                                   \
    " S2R R0, SR_TID_X ;\n MOV R2, c[0x0][0x100] ;\n MOV R3, c[0x0][0x104] ;\n"                    \
    " IMAD.WIDE.U32 R4, R0, 0x4, R2 ;\n"

static uint32_t out[1024];

static bool all_are(unsigned n, uint32_t f(unsigned i))
{
    for (unsigned i = 0; i < n; i++)
        if (out[i] != f(i)) {
            diag("%u: %#x, want %#x", i, out[i], f(i));
            return false;
        }
    return true;
}

static enum hd_status run_text(const char *text, uint32_t grid, uint32_t block)
{
    uint64_t pointer = (uintptr_t)out;
    const struct job job = {.text = text,
                            .grid = grid,
                            .block = block,
                            .dynamic_B = 4096,
                            .params = &pointer,
                            .params_B = 8,
                            .local_B = 64};

    memset(out, 0xcd, sizeof(out));
    return job_run(&job);
}

static uint32_t index_of(unsigned i)
{
    return i;
}

static void test_store(void)
{
    eq_u64(run_text(PROLOGUE " STG.E [R4.64], R0 ;\n EXIT ;\n", 1, 40), HD_OK, "a store");
    ok(all_are(40, index_of) && out[40] == 0xcdcdcdcd, "each of 40 threads stores");
}

static uint32_t parted(unsigned i)
{
    return i % 3 == 0 ? 100 + i : 200 + i;
}

static void test_divergence(void)
{
    const char *text = PROLOGUE "IMAD.HI.U32 R6, R0, 0x55555556, RZ ;\n"
                                " IMAD R6, R6, 0x3, RZ ;\n"
                                " ISETP.EQ.AND P0, PT, R6, R0, PT, PT ;\n"
                                " BSSY B0, join ;\n"
                                " @P0 BRA then ;\n"
                                " IADD3 R7, R0, 0xc8, RZ ;\n"
                                " BRA join ;\n"
                                "then:\n IADD3 R7, R0, 0x64, RZ ;\n"
                                "join:\n BSYNC B0 ;\n"
                                " VOTE.ALL R8, PT, PT ;\n"
                                " STG.E [R4.64], R7 ;\n"
                                " STG.E [R4.64+0x100], R8 ;\n EXIT ;\n";

    eq_u64(run_text(text, 1, 32), HD_OK, "lanes part and meet");
    ok(all_are(32, parted), "each side has its result");
    ok(out[64] == UINT32_MAX && out[95] == UINT32_MAX, "they go on together");
}

static uint32_t reversed(unsigned i)
{
    return 127 - i;
}

static void test_barrier(void)
{
    const char *text =
        PROLOGUE " IMAD R6, R0, 0x4, RZ ;\n STS [R6], R0 ;\n BAR.SYNC RZ, PT, 0x0, 0x0 ;\n"
                 " IADD3 R7, -R6, 0x1fc, RZ ;\n LDS R8, [R7] ;\n"
                 " STG.E [R4.64], R8 ;\n EXIT ;\n";

    eq_u64(run_text(text, 1, 128), HD_OK, "a barrier");
    ok(all_are(128, reversed), "shared memory, backwards");
}

static uint32_t sum_of(unsigned i)
{
    return i < 32 ? 32 * 31 / 2 : 0xcdcdcdcd;
}

static void test_shuffle(void)
{
    const char *text = PROLOGUE " MOV R6, R0 ;\n"
                                " SHFL.I.BFLY PT, R7, R6, 0x10, 0x1f ;\n IADD3 R6, R6, R7, RZ ;\n"
                                " SHFL.I.BFLY PT, R7, R6, 0x8, 0x1f ;\n IADD3 R6, R6, R7, RZ ;\n"
                                " SHFL.I.BFLY PT, R7, R6, 0x4, 0x1f ;\n IADD3 R6, R6, R7, RZ ;\n"
                                " SHFL.I.BFLY PT, R7, R6, 0x2, 0x1f ;\n IADD3 R6, R6, R7, RZ ;\n"
                                " SHFL.I.BFLY PT, R7, R6, 0x1, 0x1f ;\n IADD3 R6, R6, R7, RZ ;\n"
                                " STG.E [R4.64], R6 ;\n EXIT ;\n";

    eq_u64(run_text(text, 1, 32), HD_OK, "shuffles");
    ok(all_are(64, sum_of), "the sum of the lanes");
}

static void test_spin(void)
{
    /* Each lane takes a lock, adds one, and gives it back. */
    const char *text = PROLOGUE " MOV R10, 0x1 ;\n BSSY B0, out ;\n"
                                "again:\n ATOMG.E.CAS.U32 R6, PT, [R2.64], RZ, R10 ;\n"
                                " ISETP.NE.AND P0, PT, R6, RZ, PT, PT ;\n @P0 BRA again ;\n"
                                " LDG.E R7, [R2.64+0x4] ;\n IADD3 R7, R7, 0x1, RZ ;\n"
                                " STG.E [R2.64+0x4], R7 ;\n MEMBAR.SC.GPU ;\n"
                                " ATOMG.E.EXCH.U32 R6, PT, [R2.64], RZ, RZ ;\n"
                                "out:\n BSYNC B0 ;\n EXIT ;\n";
    uint64_t pointer = (uintptr_t)out;
    const struct job job = {
        .text = text, .grid = 3, .block = 64, .params = &pointer, .params_B = 8};

    out[0] = out[1] = 0;
    eq_u64(job_run(&job), HD_OK, "a spin lock of lanes of one warp");
    eq_u64(out[1], 192, "all have added one");
}

static uint32_t twice(unsigned i)
{
    return 2 * i + 1;
}

static void test_call(void)
{
    const char *text = PROLOGUE " MOV R10, R4 ;\n MOV R11, R5 ;\n MOV R4, R0 ;\n"
                                " CALL R2, f ;\n STG.E [R10.64], R4 ;\n EXIT ;\n"
                                "f:\n IADD3 R4, R4, R4, RZ ;\n IADD3 R4, R4, 0x1, RZ ;\n"
                                " RET R2 ;\n";

    eq_u64(run_text(text, 2, 33), HD_OK, "a call");
    ok(all_are(33, twice), "its result");
}

static uint32_t byte_of(unsigned i)
{
    return i % 2 ? 0xffffff80u + i : 0x80 + i;
}

static void test_local(void)
{
    const char *text = PROLOGUE " IADD3 R6, R0, 0x80, RZ ;\n STL.U8 [RZ+0x5], R6 ;\n"
                                " LDL.U8 R7, [RZ+0x5] ;\n LDL.S8 R8, [RZ+0x5] ;\n"
                                " LOP3 R9, PT, R0, 0x1, RZ, 0xc0 ;\n"
                                " ISETP.EQ.AND P0, PT, R9, RZ, PT, PT ;\n"
                                " SEL R7, R7, R8, P0 ;\n STG.E [R4.64], R7 ;\n EXIT ;\n";

    eq_u64(run_text(text, 1, 64), HD_OK, "local memory");
    ok(all_are(64, byte_of), "bytes with and without their sign");
}

static void fault(const char *name, const char *text, enum hd_status want, const char *message)
{
    eq_u64(run_text(text, 1, 32), want, "%s", name);
    ok(strstr(hd_error_message(), message) != NULL, "%s: the message says it", name);
}

static void test_faults(void)
{
    fault("misaligned", PROLOGUE " STG.E [R4.64+0x2], R0 ;\n EXIT ;\n", HD_MISALIGNED,
          "write of 4 bytes at global address");
    fault("null", " STG.E [RZ.64+0x10], R0 ;\n EXIT ;\n", HD_ILLEGAL_ADDRESS,
          "write of 4 bytes at illegal global address 0x10");
    fault("shared", PROLOGUE " LDS R0, [R0+0x1000] ;\n EXIT ;\n", HD_ILLEGAL_ADDRESS,
          "illegal shared address");
    fault("trap", " BPT.TRAP 0x0 ;\n EXIT ;\n", HD_TRAP, "trap");
    fault("bank", " MOV R0, c[0x0][0x110] ;\n EXIT ;\n", HD_ILLEGAL_ADDRESS, "bank of constants");
    fault("end", " NOP ;\n", HD_ILLEGAL_ADDRESS, "behind the end of the code");
    fault("call of nothing", " CALL.IND R2, RZ ;\n EXIT ;\n", HD_ILLEGAL_ADDRESS,
          "indirect call through 0");
    fault("deadlock",
          PROLOGUE " ISETP.EQ.AND P0, PT, R0, RZ, PT, PT ;\n"
                   " @P0 WARPSYNC 0x3 ;\n @P0 EXIT ;\n BAR.SYNC RZ, PT, 0x1, 0x40 ;\n EXIT ;\n",
          HD_TIMEOUT, "deadlock");
    job_forbidden = (uintptr_t)&out[7];
    fault("forbidden", PROLOGUE " STG.E [R4.64], R0 ;\n EXIT ;\n", HD_ILLEGAL_ADDRESS,
          "thread (7,0,0)");
    job_forbidden = 0;
}

static void test_uniform(void)
{
    const char *text = PROLOGUE " ULDC.64 UR4, c[0x0][URZ+0x100] ;\n S2UR UR6, SR_CTAID_X ;\n"
                                " UIMAD UR7, UR6, 0x20, URZ ;\n IADD3 R6, R0, UR7, RZ ;\n"
                                " IMAD R7, R6, 0x4, RZ ;\n STG [R7+UR4], R6 ;\n EXIT ;\n";

    eq_u64(run_text(text, 3, 32), HD_OK, "uniform registers");
    ok(all_are(96, index_of), "as offsets and in addresses");
}

static void test_cluster(void)
{
    /* Each CTA writes its rank to the next one's shared memory. */
    const char *text = PROLOGUE " S2R R6, SR_CLUSTER_CTARANK ;\n IADD3 R7, R6, 0x1, RZ ;\n"
                                " LOP3 R7, PT, R7, 0x1, RZ, 0xc0 ;\n MAPA R8, RZ, R7 ;\n"
                                " STS [R8], R6 ;\n UCGABAR.ARV ;\n UCGABAR.WAIT ;\n"
                                " MAPA R8, RZ, R6 ;\n LDS R9, [R8] ;\n S2R R10, SR_CTAID_X ;\n"
                                " IMAD.WIDE.U32 R4, R10, 0x4, R2 ;\n"
                                " STG.E [R4.64], R9 ;\n EXIT ;\n";
    uint64_t pointer = (uintptr_t)out;
    const struct job job = {.text = text,
                            .grid = 4,
                            .block = 32,
                            .cluster = 2,
                            .dynamic_B = 64,
                            .params = &pointer,
                            .params_B = 8};

    eq_u64(job_run(&job), HD_OK, "clusters");
    ok(out[0] == 1 && out[1] == 0 && out[2] == 1 && out[3] == 0, "shared memory of the neighbour");
}

static void test_printf(void)
{
    static const char format[] = "thread %d\n";
    uint64_t params[2] = {(uintptr_t)out, (uintptr_t)format};
    const struct job job = {
        .text = " S2R R0, SR_TID_X ;\n STL [RZ+0x10], R0 ;\n MOV R4, c[0x0][0x108] ;\n"
                " MOV R5, c[0x0][0x10c] ;\n STL.64 [RZ], R4 ;\n MOV R6, 0x10 ;\n MOV R7, RZ ;\n"
                " CVTA.LOCAL R6, R6 ;\n STL.64 [RZ+0x8], R6 ;\n MOV R8, RZ ;\n MOV R9, RZ ;\n"
                " SYSCALL R10, R8, 0x0 ;\n EXIT ;\n",
        .block = 3,
        .params = params,
        .params_B = 16,
        .local_B = 32};

    eq_u64(job_run(&job), HD_OK, "printf");
    eq_str(job_printed.ptr ? job_printed.ptr : "", "thread 0\nthread 1\nthread 2\n", "its text");
}

int main(void)
{
    hd_buf_init(&job_printed);
    test_store();
    test_divergence();
    test_barrier();
    test_shuffle();
    test_spin();
    test_call();
    test_local();
    test_faults();
    test_uniform();
    test_cluster();
    test_printf();
    hd_buf_fini(&job_printed);
    return done();
}
