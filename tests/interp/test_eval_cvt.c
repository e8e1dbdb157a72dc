/* cvt: boundaries by hand, and random values against the host's conversions. */
#include <fenv.h>
#include <math.h>

#include "base/float/approx.h"
#include "eval_support.h"

struct row {
    enum ir_type to, from;
    enum ir_rnd rnd;
    bool ftz, sat;
    uint64_t a, want;
};

static const struct row rows[] = {
    {IR_S32, IR_S8, 0, 0, 0, 0x80, 0xffffff80},
    {IR_U8, IR_S32, 0, 0, 0, 0xffffff80, 0x80},
    {IR_U8, IR_S32, 0, 0, 1, 0xffffff80, 0},
    {IR_S8, IR_U32, 0, 0, 1, 0xffffff80, 0x7f},
    {IR_S16, IR_S64, 0, 0, 1, 0xffffffff00000000, 0x8000},
    {IR_U64, IR_S32, 0, 0, 1, 0xffffffff, 0},
    {IR_S64, IR_U64, 0, 0, 1, UINT64_MAX, INT64_MAX},
    {IR_S32, IR_F32, IR_RZI, 0, 0, 0x4f000000, 0x7fffffff},
    {IR_S32, IR_F32, IR_RZI, 0, 0, 0xff800000, 0x80000000},
    {IR_U32, IR_F32, IR_RZI, 0, 0, 0xbf800000, 0},
    {IR_U32, IR_F32, IR_RNI, 0, 0, 0x40200000, 2},
    {IR_U32, IR_F32, IR_RPI, 0, 0, 1, 1},
    {IR_U32, IR_F32, IR_RPI, 1, 0, 1, 0},
    {IR_S32, IR_F32, IR_RMI, 0, 0, 0xbf000000, 0xffffffff},
    {IR_S32, IR_F32, IR_RNI, 0, 0, 0x7fc00000, 0},
    {IR_S64, IR_F32, IR_RNI, 0, 0, 0x7fc00000, 0x8000000000000000},
    {IR_U32, IR_F64, IR_RZI, 0, 0, 0x7ff8000000000000, 0x80000000},
    {IR_S8, IR_F32, IR_RZI, 0, 0, 0x43800000, 0x7f},
    {IR_U16, IR_F64, IR_RZI, 0, 0, 0x40f0000000000000, 0xffff},
    {IR_S64, IR_F32, IR_RZI, 0, 0, 0xdf000000, 0x8000000000000000},
    {IR_U64, IR_F64, IR_RZI, 0, 0, 0x43f0000000000000, UINT64_MAX},
    {IR_F32, IR_U32, IR_RN, 0, 0, 0xffffffff, 0x4f800000},
    {IR_F32, IR_U32, IR_RZ, 0, 0, 0xffffffff, 0x4f7fffff},
    {IR_F32, IR_S64, IR_RM, 0, 0, 0x8000000000000001, 0xdf000000},
    {IR_F16, IR_U32, IR_RN, 0, 0, 70000, 0x7c00},
    {IR_F16, IR_U32, IR_RZ, 0, 0, 70000, 0x7bff},
    {IR_F16, IR_F32, IR_RN, 0, 0, 0x33000000, 0},
    {IR_F16, IR_F32, IR_RN, 0, 0, 0x33000001, 1},
    {IR_F16, IR_F32, IR_RZ, 0, 0, 0x477fffff, 0x7bff},
    {IR_F16, IR_F32, IR_RN, 0, 0, 0xffc00000, 0x7fff},
    {IR_BF16, IR_F32, IR_RN, 0, 0, 0x3f808000, 0x3f80},
    {IR_BF16, IR_F32, IR_RN, 0, 0, 0x3f818000, 0x3f82},
    {IR_BF16, IR_F32, IR_RN, 0, 0, 1, 0},
    {IR_BF16, IR_F32, IR_RZ, 0, 0, 0x3f81ffff, 0x3f81},
    {IR_F32, IR_F16, 0, 0, 0, 1, 0x33800000},
    {IR_F32, IR_BF16, 0, 0, 0, 0x0001, 0x00010000},
    {IR_F32, IR_F64, IR_RN, 0, 0, 0x47efffffefffffff, 0x7f7fffff},
    {IR_F32, IR_F64, IR_RN, 0, 0, 0x47effffff0000000, 0x7f800000},
    {IR_F32, IR_F64, IR_RN, 1, 0, 0x3690000000000001, 0},
    {IR_F32, IR_F64, IR_RN, 0, 0, 0x3690000000000001, 1},
    {IR_F64, IR_F32, 0, 0, 0, 1, 0x36a0000000000000},
    {IR_F64, IR_F32, 0, 1, 0, 1, 0},
    {IR_F32, IR_F32, IR_RNI, 0, 0, 0xbf000000, 0x80000000},
    {IR_F32, IR_F32, IR_RMI, 0, 0, 0x3fc00000, 0x3f800000},
    {IR_F32, IR_F32, IR_RND_NONE, 0, 1, 0x40000000, 0x3f800000},
    {IR_F64, IR_F64, IR_RPI, 0, 0, 0x3ff0000000000001, 0x4000000000000000},
    {IR_F16, IR_F16, IR_RNI, 0, 0, 0x3e00, 0x4000},
};

static uint64_t cvt(enum ir_type to, enum ir_type from, enum ir_rnd rnd, uint64_t a)
{
    return ev4((struct ev){.op = IR_OP_CVT, .type = to, .type2 = from, .rnd = rnd}, a, 0, 0, 0);
}

static void test_random(void)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    static const enum ir_rnd rnds[] = {IR_RN, IR_RZ, IR_RM, IR_RP};
    static const enum ir_rnd rints[] = {IR_RNI, IR_RZI, IR_RMI, IR_RPI};
    float (*const integral[])(float) = {rintf, truncf, floorf, ceilf};
    uint64_t seed = tap_seed();
    unsigned bad[4] = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t r = tap_random(&seed) >> (tap_random(&seed) & 63);
        uint32_t bits = (uint32_t)tap_random(&seed);
        if (i & 4)
            bits = (bits & 0x807fffff) | (uint32_t)(120 + bits % 40) << 23;
        volatile float x = hd_approx_float(bits);
        volatile double w = x == x ? (double)x * 1.2345678912345 : 0;
        fesetround(modes[i & 3]);
        volatile float from_s = (float)(int64_t)r, narrow = (float)w;
        /*
         * As a signed number: below 2^63 the same, and clang turns 0 into -0 on the unsigned way.
         */
        volatile double from_u = (double)(int64_t)r;
        fesetround(FE_TONEAREST);
        float whole = integral[i & 3](x);
        bad[0] += cvt(IR_F32, IR_S64, rnds[i & 3], r) != hd_approx_bits(from_s);
        bad[1] += cvt(IR_F64, IR_U64, rnds[i & 3], r) != hd_approx_bits64(from_u) && r >> 63 == 0;
        bad[2] += cvt(IR_F32, IR_F64, rnds[i & 3], hd_approx_bits64(w)) != hd_approx_bits(narrow);
        if (whole == whole) {
            bad[3] += cvt(IR_F32, IR_F32, rints[i & 3], bits) != hd_approx_bits(whole);
            if (fabsf(whole) < 0x1p62f)
                bad[3] += cvt(IR_S64, IR_F32, rints[i & 3], bits) != (uint64_t)(int64_t)whole;
        }
    }
    eq_u64(bad[0], 0, "f32 from s64");
    eq_u64(bad[1], 0, "f64 from u64");
    eq_u64(bad[2], 0, "f32 from f64");
    eq_u64(bad[3], 0, "integral values");
}

int main(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct ev e = {.op = IR_OP_CVT,
                       .type = r->to,
                       .type2 = r->from,
                       .rnd = r->rnd,
                       .mods = (r->ftz ? IR_MOD_FTZ : 0u) | (r->sat ? IR_MOD_SAT : 0u)};
        eq_u64(ev4(e, r->a, 0, 0, 0), r->want, "%s.%s #%zu", ir_type_name(r->to),
               ir_type_name(r->from), i);
    }
    eq_u64(ev(CVTPACK, F16X2, 0x3f800000, 0xc0000000, 0), 0x3c00c000, "cvt.rn.f16x2.f32");
    eq_u64(ev(CVTPACK, BF16X2, 0x3f800000, 0xc0000000, 0, .mods = IR_MOD_RELU), 0x3f800000, "relu");
    test_random();
    return done();
}
