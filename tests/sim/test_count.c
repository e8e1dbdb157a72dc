/* What launches count: exactly, of small kernels whose lanes part, are guarded, and loop. */
#include "sim/job.h"

static uint32_t out[1024];

static bool run_text(const char *text, uint32_t grid, uint32_t block)
{
    uint64_t pointer = (uintptr_t)out;
    const struct job job = {
        .text = text, .grid = grid, .block = block, .params = &pointer, .params_B = 8};

    return job_run(&job) == HD_OK;
}

static uint64_t by(enum sim_count kind)
{
    return job_counts.by_kind[kind];
}

static void test_kinds(void)
{
    const char *text = " FADD R1, R2, R3 ;\n FMUL R1, R2, R3 ;\n FMUL R1, R2, R3 ;\n"
                       " FFMA R1, R2, R3, R4 ;\n FFMA R1, R2, R3, R4 ;\n FFMA R1, R2, R3, R4 ;\n"
                       " DADD R6, R2, R4 ;\n DMUL R6, R2, R4 ;\n DFMA R6, R2, R4, R8 ;\n"
                       " HADD2 R1, R2, R3 ;\n HMUL2 R1, R2, R3 ;\n HFMA2 R1, R2, R3, R4 ;\n"
                       " MUFU.RCP R1, R2 ;\n FSETP.GT.AND P0, PT, R1, R2, PT ;\n"
                       " IADD3 R1, R2, R3, RZ ;\n IMAD R1, R2, R3, R4 ;\n MOV R1, R2 ;\n EXIT ;\n";

    ok(run_text(text, 3, 40), "a kernel of one of each kind");
    eq_u64(by(SIM_COUNT_FADD), 3 * 40, "sums");
    eq_u64(by(SIM_COUNT_FMUL), 3 * 40 * 2, "products");
    eq_u64(by(SIM_COUNT_FFMA), 3 * 40 * 3, "fused ones");
    eq_u64(sim_counts_f32(&job_counts), 3 * 40 * (1 + 2 + 6), "operations of f32");
    eq_u64(by(SIM_COUNT_DADD) + by(SIM_COUNT_DMUL), 3 * 40 * 2, "of doubles");
    eq_u64(sim_counts_f64(&job_counts), 3 * 40 * 4, "operations of f64");
    eq_u64(by(SIM_COUNT_HADD) + by(SIM_COUNT_HMUL) + by(SIM_COUNT_HFMA), 3 * 40 * 3, "of halves");
    eq_u64(by(SIM_COUNT_SPECIAL), 3 * 40, "the special function unit");
    eq_u64(by(SIM_COUNT_INTEGER), 3 * 40 * 2, "integers");
    eq_u64(by(SIM_COUNT_CONTROL), 3 * 40, "the end");
    eq_u64(by(SIM_COUNT_OTHER), 3 * 40 * 2, "a comparison and a move");
    eq_u64(job_counts.warp_instructions, 3 * 2 * 18, "instructions of two warps of three CTAs");
    eq_u64(job_counts.thread_instructions, 3 * 40 * 18, "and of their threads");
    eq_u64(job_counts.thread_instructions_on, 3 * 40 * 18, "none of which is guarded");
}

static void test_guard(void)
{
    const char *text = " S2R R0, SR_TID_X ;\n ISETP.LT.U32.AND P0, PT, R0, 0x5, PT, PT ;\n"
                       " @P0 FADD R1, R2, R3 ;\n @!P0 FMUL R1, R2, R3 ;\n"
                       " @!PT FFMA R1, R2, R3, R4 ;\n EXIT ;\n";

    ok(run_text(text, 1, 64), "guarded instructions");
    eq_u64(by(SIM_COUNT_FADD), 5, "lanes where the guard holds");
    eq_u64(by(SIM_COUNT_FMUL), 59, "and where it does not");
    eq_u64(by(SIM_COUNT_FFMA), 0, "nobody");
    eq_u64(job_counts.warp_instructions, 2 * 6, "warps issue them all");
    eq_u64(job_counts.thread_instructions, 64 * 6, "with all their lanes");
    eq_u64(job_counts.thread_instructions_on, 64 * 4, "and one of two holds");
}

static void test_divergence(void)
{
    const char *text = " S2R R0, SR_TID_X ;\n ISETP.LT.U32.AND P0, PT, R0, 0x5, PT, PT ;\n"
                       " BSSY B0, join ;\n @P0 BRA then ;\n FMUL R1, R2, R3 ;\n BRA join ;\n"
                       "then:\n FADD R1, R2, R3 ;\n FADD R1, R2, R3 ;\n"
                       "join:\n BSYNC B0 ;\n FFMA R1, R2, R3, R4 ;\n EXIT ;\n";

    ok(run_text(text, 1, 32), "lanes part and meet");
    eq_u64(by(SIM_COUNT_FADD), 5 * 2, "one side");
    eq_u64(by(SIM_COUNT_FMUL), 27, "the other one");
    eq_u64(by(SIM_COUNT_FFMA), 32, "all");
    eq_u64(job_counts.warp_instructions, 4 + 2 + 2 + 2 + 2, "each side meets the others itself");
    eq_u64(by(SIM_COUNT_CONTROL), 32 + 5 + 27 + 32 + 32, "and a meeting is one for each lane");
}

/* A loop of as many rounds as the number of the lane, and a barrier that warps wait at. */
static void test_rounds(void)
{
    const char *text = " S2R R0, SR_TID_X ;\n LOP3 R1, PT, R0, 0x1f, RZ, 0xc0, !PT ;\n"
                       " BSSY B0, out ;\n"
                       "again:\n FADD R2, R2, R3 ;\n IADD3 R1, R1, -0x1, RZ ;\n"
                       " ISETP.GE.AND P0, PT, R1, RZ, PT, PT ;\n @P0 BRA again ;\n"
                       "out:\n BSYNC B0 ;\n BAR.SYNC RZ, PT, 0x0, 0x0 ;\n FMUL R2, R2, R3 ;\n"
                       " EXIT ;\n";

    ok(run_text(text, 2, 96), "a loop and a barrier");
    eq_u64(by(SIM_COUNT_FADD), 2 * 3 * 32 * 33 / 2, "rounds of all lanes");
    eq_u64(by(SIM_COUNT_FMUL), 2 * 96, "once behind the barrier");
}

/* A lock that one lane has at a time: tries are counted as they come, never less than one each. */
static void test_retries(void)
{
    const char *text = " MOV R2, c[0x0][0x100] ;\n MOV R3, c[0x0][0x104] ;\n MOV R10, 0x1 ;\n"
                       " BSSY B0, out ;\n"
                       "again:\n ATOMG.E.CAS.U32 R6, PT, [R2.64], RZ, R10 ;\n"
                       " ISETP.NE.AND P0, PT, R6, RZ, PT, PT ;\n @P0 BRA again ;\n"
                       " FADD R1, R2, R3 ;\n ATOMG.E.EXCH.U32 R6, PT, [R2.64], RZ, RZ ;\n"
                       "out:\n BSYNC B0 ;\n EXIT ;\n";

    memset(out, 0, sizeof(out));
    ok(run_text(text, 1, 32), "a lock");
    eq_u64(by(SIM_COUNT_FADD), 32, "each has it once");
    ok(by(SIM_COUNT_MEMORY) > 64, "and asks for it more often: %llu",
       (unsigned long long)by(SIM_COUNT_MEMORY));
}

int main(void)
{
    test_kinds();
    test_guard();
    test_divergence();
    test_rounds();
    test_retries();
    hd_buf_fini(&job_printed);
    return done();
}
