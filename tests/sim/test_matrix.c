/* Products and matrix loads against sums that are written out, with fragments as PTX has them. */
#include "sim/job.h"

static uint32_t in[64][32], out[64][32]; /* registers by lane */

/* Loads `n` registers of each lane to R8.., runs `text`, stores `nout` from R64 on. */
static enum hd_status run_regs(const char *text, unsigned n, unsigned nout)
{
    uint64_t params[2] = {(uintptr_t)in, (uintptr_t)out};
    struct hd_buf whole;
    enum hd_status status;

    hd_buf_init(&whole);
    hd_buf_puts(&whole, " S2R R0, SR_LANEID ;\n MOV R2, c[0x0][0x100] ;\n MOV R3, c[0x0][0x104] ;\n"
                        " IMAD.WIDE.U32 R4, R0, 0x4, R2 ;\n");
    for (unsigned i = 0; i < n; i++)
        hd_buf_printf(&whole, " LDG.E R%u, [R4.64+0x%x] ;\n", 8 + i, i * 128);
    hd_buf_puts(&whole, text);
    hd_buf_puts(&whole, " MOV R2, c[0x0][0x108] ;\n MOV R3, c[0x0][0x10c] ;\n"
                        " IMAD.WIDE.U32 R4, R0, 0x4, R2 ;\n");
    for (unsigned i = 0; i < nout; i++)
        hd_buf_printf(&whole, " STG.E [R4.64+0x%x], R%u ;\n", i * 128, 64 + i);
    hd_buf_puts(&whole, " EXIT ;\n");
    {
        const struct job job = {
            .text = whole.ptr, .block = 32, .dynamic_B = 4096, .params = params, .params_B = 16};

        status = job_run(&job);
    }
    hd_buf_fini(&whole);
    return status;
}

static uint32_t seed;

static int small(void)
{
    seed = seed * 1103515245 + 12345;
    return (int)(seed >> 20) % 7 - 3;
}

/* A small integer as f16. */
static uint32_t half_of(int v)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200};

    return v < 0 ? halves[-v] | 0x8000u : halves[v];
}

static void test_hmma(void)
{
    int a[16][16], b[16][8], c[16][8];
    unsigned wrong = 0;

    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++)
            a[i][k] = small();
    for (int k = 0; k < 16; k++)
        for (int j = 0; j < 8; j++)
            b[k][j] = small();
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            c[i][j] = small();
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned g = lane / 4, t = lane % 4;

        for (unsigned r = 0; r < 4; r++) {
            unsigned row = g + 8 * (r & 1), col = 2 * t + 8 * (r >> 1);
            float f = (float)c[g + 8 * (r >> 1)][2 * t + (r & 1)];

            in[r][lane] = half_of(a[row][col]) | half_of(a[row][col + 1]) << 16;
            memcpy(&in[8 + r][lane], &f, 4);
        }
        for (unsigned r = 0; r < 2; r++)
            in[4 + r][lane] = half_of(b[2 * t + 8 * r][g]) | half_of(b[2 * t + 1 + 8 * r][g]) << 16;
    }
    eq_u64(run_regs(" HMMA.M16N8.K32B.F32.F16 R64, R8, R12, R16, RZ ;\n", 12, 4), HD_OK,
           "a product of halves");
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned r = 0; r < 4; r++) {
            unsigned i = lane / 4 + 8 * (r >> 1), j = 2 * (lane % 4) + (r & 1);
            int sum = c[i][j];
            float got;

            for (int k = 0; k < 16; k++)
                sum += a[i][k] * b[k][j];
            memcpy(&got, &out[r][lane], 4);
            wrong += got != (float)sum;
        }
    eq_u64(wrong, 0, "each sum is right");
}

static void test_imma(void)
{
    int8_t a[16][32], b[32][8];
    unsigned wrong = 0;

    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 32; k++)
            a[i][k] = (int8_t)(20 * small());
    for (int k = 0; k < 32; k++)
        for (int j = 0; j < 8; j++)
            b[k][j] = (int8_t)(20 * small());
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned g = lane / 4, t = lane % 4;

        for (unsigned r = 0; r < 4; r++)
            memcpy(&in[r][lane], &a[g + 8 * (r & 1)][4 * t + 16 * (r >> 1)], 4);
        for (unsigned r = 0; r < 2; r++)
            for (unsigned k = 0; k < 4; k++)
                ((uint8_t *)&in[4 + r][lane])[k] = (uint8_t)b[4 * t + 16 * r + k][g];
        for (unsigned r = 0; r < 4; r++)
            in[8 + r][lane] = r;
    }
    eq_u64(run_regs(" IMMA.M16N8.K32B.S8.S8 R64, R8, R12, R16, RZ ;\n", 12, 4), HD_OK,
           "a product of bytes");
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned r = 0; r < 4; r++) {
            int sum = (int)r;

            for (int k = 0; k < 32; k++)
                sum += a[lane / 4 + 8 * (r >> 1)][k] * b[k][2 * (lane % 4) + (r & 1)];
            wrong += (int)out[r][lane] != sum;
        }
    eq_u64(wrong, 0, "each sum is right");
}

static void test_dmma(void)
{
    double a[8][4], b[4][8], got;
    unsigned wrong = 0;

    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++) {
            a[i][k] = small() + 0.5;
            b[k][i] = small() - 0.25;
        }
    for (unsigned lane = 0; lane < 32; lane++) {
        uint64_t bits;

        memcpy(&bits, &a[lane / 4][lane % 4], 8);
        in[0][lane] = (uint32_t)bits;
        in[1][lane] = (uint32_t)(bits >> 32);
        memcpy(&bits, &b[lane % 4][lane / 4], 8);
        in[4][lane] = (uint32_t)bits;
        in[5][lane] = (uint32_t)(bits >> 32);
    }
    eq_u64(run_regs(" DMMA.M8N8K4 R64, R8, R12, RZ ;\n", 6, 4), HD_OK, "a product of doubles");
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned r = 0; r < 2; r++) {
            uint64_t bits = out[2 * r][lane] | (uint64_t)out[2 * r + 1][lane] << 32;
            double sum = 0;

            for (int k = 0; k < 4; k++)
                sum += a[lane / 4][k] * b[k][2 * (lane % 4) + r];
            memcpy(&got, &bits, 8);
            wrong += got != sum;
        }
    eq_u64(wrong, 0, "each sum is right");
}

static void test_ldsm(void)
{
    unsigned wrong = 0;

    for (unsigned lane = 0; lane < 32; lane++)
        in[0][lane] = lane * 0x10001 + 0x1000000;
    eq_u64(run_regs(" IMAD R6, R0, 0x4, RZ ;\n STS [R6], R8 ;\n BAR.SYNC RZ, PT, 0x0, 0x0 ;\n"
                    " LOP3 R7, PT, R0, 0x7, RZ, 0xc0 ;\n IMAD R7, R7, 0x10, RZ ;\n"
                    " LDSM.M8N8.1 R64, [R7] ;\n LDSM.M8N8.T.1 R65, [R7] ;\n MOVM R66, R64 ;\n",
                    1, 3),
           HD_OK, "a matrix from shared memory");
    for (unsigned lane = 0; lane < 32; lane++) {
        wrong += out[0][lane] != in[0][lane]; /* row i, word j are word 4 * i + j */
        wrong += out[2][lane] != out[1][lane];
    }
    eq_u64(wrong, 0, "rows as they lie there, and MOVM transposes as LDSM does");
    eq_u64(out[1][0], (in[0][0] & 0xffff) | (in[0][4] & 0xffff) << 16, "a column");
}

static void test_mbarrier(void)
{
    /* Lane 0 copies 32 words to shared memory; all wait for the phase. */
    const char *text = " MOV R20, 0x1 ;\n MOV R21, RZ ;\n MOV R22, 0x80 ;\n MOV R23, RZ ;\n"
                       " ISETP.EQ.AND P0, PT, R0, RZ, PT, PT ;\n"
                       " @P0 SYNCS.INIT R30, PT, [RZ+0x200], R20 ;\n WARPSYNC 0xffffffff ;\n"
                       " UMOV UR4, 0x200 ;\n MOV R24, RZ ;\n MOV R25, RZ ;\n"
                       " @P0 SYNCS.ARRIVE.TX R30, PT, [RZ+0x200], R22 ;\n"
                       " @P0 UBLKCP.SHARED.GLOBAL [R24.64], [R2.64], R22, RZ, [UR4] ;\n"
                       " MOV R26, RZ ;\n MOV R27, RZ ;\n BSSY B0, out ;\n"
                       "wait:\n SYNCS.TRY.PARITY R30, P1, [RZ+0x200], R26 ;\n @!P1 BRA wait ;\n"
                       "out:\n BSYNC B0 ;\n IMAD R6, R0, 0x4, RZ ;\n LDS R64, [R6] ;\n";
    unsigned wrong = 0;

    for (unsigned lane = 0; lane < 32; lane++)
        in[0][lane] = 7 * lane + 1;
    eq_u64(run_regs(text, 1, 1), HD_OK, "a bulk copy, and its mbarrier");
    for (unsigned lane = 0; lane < 32; lane++)
        wrong += out[0][lane] != in[0][lane];
    eq_u64(wrong, 0, "the bytes are there");
}

int main(void)
{
    hd_buf_init(&job_printed);
    seed = 33;
    test_hmma();
    test_imma();
    test_dmma();
    test_ldsm();
    test_mbarrier();
    hd_buf_fini(&job_printed);
    return done();
}
