/*
 * What instructions compute, beside operations of the IR of the same meaning: both on random
 * numbers, and on those that are special.
 */
#include "isa/isa.h"
#include "model/eval.h"
#include "sim/rows.h"

#include "support/tap.h"

struct row {
    const char *text; /* sources in R4, R6, R8, P1 */
    const char *src;  /* which of them, a b c p, the IR's sources are */
    struct ir_instr in;
    bool is_pred; /* the result is pd */
};

#define IN(...) {.op = IR_OP_##__VA_ARGS__}

static const struct row rows[] = {
    {"IADD3 R2, R4, R6, RZ", "ab", IN(ADD, .type = IR_S32), false},
    {"IADD3 R2, R4, -R6, RZ", "ab", IN(SUB, .type = IR_S32), false},
    {"IADD3 R2, P0, PT, R4, R6, RZ", "abz", IN(CARRY, .type = IR_U32), true},
    {"IADD3.X R2, P0, PT, R4, R6, RZ, P1, !PT", "abp", IN(CARRY, .type = IR_U32), true},
    {"IADD3.X R2, PT, PT, R4, R6, RZ, P1, !PT", "abp", IN(ADDC, .type = IR_U32), false},
    {"IMAD R2, R4, R6, RZ", "ab", IN(MUL, .type = IR_S32), false},
    {"IMAD.HI R2, R4, R6, RZ", "ab", IN(MULHI, .type = IR_S32), false},
    {"IMAD.HI.U32 R2, R4, R6, RZ", "ab", IN(MULHI, .type = IR_U32), false},
    {"IMAD.WIDE R2, R4, R6, RZ", "ab", IN(MULWIDE, .type = IR_S32), false},
    {"IMAD.WIDE.U32 R2, R4, R6, RZ", "ab", IN(MULWIDE, .type = IR_U32), false},
    {"IABS R2, R6", "b", IN(ABS, .type = IR_S32), false},
    {"IMNMX R2, R4, R6, PT", "ab", IN(MIN, .type = IR_S32), false},
    {"IMNMX.U32 R2, R4, R6, !PT", "ab", IN(MAX, .type = IR_U32), false},
    {"IMNMX.X2 R2, R4, R6, PT", "ab", IN(MIN, .type = IR_S16X2), false},
    {"IMNMX.U32.X2 R2, R4, R6, !PT", "ab", IN(MAX, .type = IR_U16X2), false},
    {"IADD2 R2, R4, R6", "ab", IN(ADD, .type = IR_S16X2), false},
    {"IADD.64 R2, R4, R6", "ab", IN(ADD, .type = IR_S64), false},
    {"IADD.64 R2, R4, -R6", "ab", IN(SUB, .type = IR_S64), false},
    {"VABSDIFF R2, R4, R6, R8", "abc", IN(SAD, .type = IR_S32), false},
    {"VABSDIFF.U32 R2, R4, R6, R8", "abc", IN(SAD, .type = IR_U32), false},
    {"ISETP.LT.AND P0, PT, R4, R6, PT, PT", "ab", IN(SETP, .type = IR_S32, .cmp = IR_LT), true},
    {"ISETP.GE.U32.AND P0, PT, R4, R6, PT, PT", "ab", IN(SETP, .type = IR_U32, .cmp = IR_GE), true},
    {"ISETP.NE.AND P0, PT, R4, R6, PT, PT", "ab", IN(SETP, .type = IR_S32, .cmp = IR_NE), true},
    {"LOP3 R2, PT, R4, R6, R8, 0xca, !PT", "abc", IN(LOP3, .type = IR_B32, .imm = 0xca), false},
    {"LOP3 R2, PT, R4, R6, R8, 0x35, !PT", "abc", IN(LOP3, .type = IR_B32, .imm = 0x35), false},
    {"SHF.L.U32 R2, R4, R6, RZ", "ab", IN(SHL, .type = IR_B32), false},
    {"SHF.R.U32.HI R2, RZ, R6, R8", "cb", IN(SHR, .type = IR_U32), false},
    {"SHF.R.S32.HI R2, RZ, R6, R8", "cb", IN(SHR, .type = IR_S32), false},
    {"SHF.L.U32.HI R2, R4, R6, R8", "acb", IN(SHFL_L, .type = IR_B32), false},
    {"SHF.R.U32 R2, R4, R6, R8", "acb", IN(SHFL_R, .type = IR_B32), false},
    {"SHF.L.W.U32.HI R2, R4, R6, R8", "acb", IN(SHFL_L, .type = IR_B32, .mods = IR_MOD_WRAP),
     false},
    {"SHF.R.W.U32 R2, R4, R6, R8", "acb", IN(SHFL_R, .type = IR_B32, .mods = IR_MOD_WRAP), false},
    {"PRMT R2, R4, R6, R8", "acb", IN(PRMT, .type = IR_B32), false},
    {"PRMT.B4E R2, R4, R6, R8", "acb", IN(PRMT, .type = IR_B32, .imm = IR_PRMT_B4E), false},
    {"PRMT.RC16 R2, R4, R6, R8", "acb", IN(PRMT, .type = IR_B32, .imm = IR_PRMT_RC16), false},
    {"BMSK R2, R4, R6", "ab", IN(BMSK, .type = IR_B32), false},
    {"BMSK.W R2, R4, R6", "ab", IN(BMSK, .type = IR_B32, .mods = IR_MOD_WRAP), false},
    {"SGXT R2, R4, R6", "ab", IN(SZEXT, .type = IR_S32), false},
    {"SGXT.W.U32 R2, R4, R6", "ab", IN(SZEXT, .type = IR_U32, .mods = IR_MOD_WRAP), false},
    {"SEL R2, R4, R6, P1", "pab", IN(SELECT, .type = IR_B32), false},
    {"IDP.4A.S.S R2, R4, R6, R8", "abc", IN(DP4A, .type = IR_S32, .type2 = IR_S32), false},
    {"IDP.4A.U.S R2, R4, R6, R8", "abc", IN(DP4A, .type = IR_U32, .type2 = IR_S32), false},
    {"IDP.2A.HI.S.U R2, R4, R6, R8", "abc",
     IN(DP2A, .type = IR_S32, .type2 = IR_U32, .mods = IR_MOD_HI), false},
    {"POPC R2, R6", "b", IN(POPC, .type = IR_B32), false},
    {"FLO R2, R6", "b", IN(BFIND, .type = IR_S32), false},
    {"FLO.U32 R2, R6", "b", IN(BFIND, .type = IR_U32), false},
    {"FLO.U32.SH R2, R6", "b", IN(BFIND, .type = IR_U32, .mods = IR_MOD_SHIFTAMT), false},
    {"BREV R2, R6", "b", IN(BREV, .type = IR_B32), false},
    {"FADD R2, R4, -R6", "ab", IN(FSUB, .type = IR_F32, .rnd = IR_RN), false},
    {"FADD.RP.FTZ R2, R4, R6", "ab", IN(FADD, .type = IR_F32, .rnd = IR_RP, .mods = IR_MOD_FTZ),
     false},
    {"FMUL.RZ.SAT R2, R4, R6", "ab", IN(FMUL, .type = IR_F32, .rnd = IR_RZ, .mods = IR_MOD_SAT),
     false},
    {"FFMA.RM R2, R4, R6, R8", "abc", IN(FMA, .type = IR_F32, .rnd = IR_RM), false},
    {"FMNMX.FTZ R2, R4, R6, PT", "ab", IN(FMIN, .type = IR_F32, .mods = IR_MOD_FTZ), false},
    {"FMNMX.NAN R2, R4, R6, !PT", "ab", IN(FMAX, .type = IR_F32, .mods = IR_MOD_NAN), false},
    {"FSETP.LTU.AND P0, PT, R4, R6, PT", "ab", IN(FSETP, .type = IR_F32, .cmp = IR_LTU), true},
    {"FSETP.NUM.FTZ.AND P0, PT, R4, R6, PT", "ab",
     IN(FSETP, .type = IR_F32, .cmp = IR_NUM, .mods = IR_MOD_FTZ), true},
    {"FSETP.NE.AND P0, PT, R4, R6, PT", "ab", IN(FSETP, .type = IR_F32, .cmp = IR_NE), true},
    {"FSEL R2, -R4, R6, PT", "a", IN(FNEG, .type = IR_F32), false},
    {"FSEL R2, |R4|, R6, PT", "a", IN(FABS, .type = IR_F32), false},
    {"MUFU.EX2 R2, R6", "b", IN(FEX2, .type = IR_F32, .rnd = IR_APPROX), false},
    {"MUFU.RSQ R2, R6", "b", IN(FRSQRT, .type = IR_F32, .rnd = IR_APPROX), false},
    {"MUFU.RCP R2, R6", "b", IN(FRCP, .type = IR_F32, .rnd = IR_APPROX), false},
    {"MUFU.SQRT R2, R6", "b", IN(FSQRT, .type = IR_F32, .rnd = IR_APPROX), false},
    {"MUFU.SIN R2, R6", "b", IN(FSIN, .type = IR_F32, .rnd = IR_APPROX), false},
    {"HADD2 R2, R4, -R6", "ab", IN(FSUB, .type = IR_F16X2, .rnd = IR_RN), false},
    {"HFMA2.RELU R2, R4, R6, R8", "abc",
     IN(FMA, .type = IR_F16X2, .rnd = IR_RN, .mods = IR_MOD_RELU), false},
    {"HMUL2.BF16_V2 R2, R4, R6", "ab", IN(FMUL, .type = IR_BF16X2, .rnd = IR_RN), false},
    {"HMNMX2 R2, R4, R6, !PT", "ab", IN(FMAX, .type = IR_F16X2), false},
    {"HSETP2.GT.AND P0, PT, R4, R6, PT", "ab", IN(FSETP, .type = IR_F16X2, .cmp = IR_GT), true},
    {"HSETP2.GT.AND.H1 P0, PT, R4, R6, PT", "ab",
     IN(FSETP, .type = IR_F16X2, .cmp = IR_GT, .mods = IR_MOD_HI), true},
    {"DADD R2, R4, -R6", "ab", IN(FSUB, .type = IR_F64, .rnd = IR_RN), false},
    {"DMUL.RM R2, R4, R6", "ab", IN(FMUL, .type = IR_F64, .rnd = IR_RM), false},
    {"DFMA R2, R4, R6, R8", "abc", IN(FMA, .type = IR_F64, .rnd = IR_RN), false},
    {"DSETP.GEU.AND P0, PT, R4, R6, PT", "ab", IN(FSETP, .type = IR_F64, .cmp = IR_GEU), true},
    {"F2F.F64.F32 R2, R6", "b", IN(CVT, .type = IR_F64, .type2 = IR_F32), false},
    {"F2F.F32.F64.RZ R2, R6", "b", IN(CVT, .type = IR_F32, .type2 = IR_F64, .rnd = IR_RZ), false},
    {"F2F.F16.F32 R2, R6", "b", IN(CVT, .type = IR_F16, .type2 = IR_F32, .rnd = IR_RN), false},
    {"F2I.S32.F32.RZ R2, R6", "b", IN(CVT, .type = IR_S32, .type2 = IR_F32, .rnd = IR_RZI), false},
    {"F2I.U64.F64 R2, R6", "b", IN(CVT, .type = IR_U64, .type2 = IR_F64, .rnd = IR_RNI), false},
    {"F2I.U8.F32.RP R2, R6", "b", IN(CVT, .type = IR_U8, .type2 = IR_F32, .rnd = IR_RPI), false},
    {"I2F.F32.S64 R2, R6", "b", IN(CVT, .type = IR_F32, .type2 = IR_S64, .rnd = IR_RN), false},
    {"I2F.F64.U32 R2, R6", "b", IN(CVT, .type = IR_F64, .type2 = IR_U32, .rnd = IR_RN), false},
    {"FRND.F32.RM R2, R6", "b", IN(CVT, .type = IR_F32, .type2 = IR_F32, .rnd = IR_RMI), false},
    {"F2FP.F16 R2, R4, R6, RZ", "ab", IN(CVTPACK, .type = IR_F16X2, .type2 = IR_F32, .rnd = IR_RN),
     false},
    {"F2FP.E4M3.SATFINITE R2, R4, R6, RZ", "ab",
     IN(CVTPACK, .type = IR_E4M3X2, .type2 = IR_F32, .rnd = IR_RN, .mods = IR_MOD_SATFINITE),
     false},
    {"F2FP.UNPACK.E5M2 R2, R6", "b", IN(CVTUNPACK, .type = IR_F16X2, .type2 = IR_E5M2X2), false},
};

static uint64_t state;

static uint64_t next_random(void)
{
    static const uint64_t special[] = {0,
                                       1,
                                       UINT64_MAX,
                                       INT32_MAX,
                                       UINT64_C(1) << 31,
                                       31,
                                       32,
                                       33,
                                       0x7f800000,
                                       0xff800001,
                                       0x3f800000,
                                       0x00000fff,
                                       0x7c003c00,
                                       UINT64_C(0x7ff0000000000000),
                                       UINT64_C(0xfff8000000000001),
                                       UINT64_C(0x41e0000000000000),
                                       UINT64_C(0x8000000000000000)};

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if (state % 3 == 0)
        return special[(state >> 32) % HD_COUNT_OF(special)];
    if (state % 3 == 1) /* a float, and a double, of moderate size */
        return (state & UINT64_C(0xc00fffff807fffff)) | UINT64_C(0x3ff00000) << 32 |
               (110 + state % 40) << 23;
    return state;
}

static unsigned registers_of(const struct isa_insn *insn, enum isa_field field)
{
    const struct isa_row *row = isa_row(insn->op);

    for (unsigned i = 0; i < row->noperands; i++)
        if (row->operands[i].field == field)
            return isa_registers(insn, i);
    return 0;
}

static uint64_t cut(uint64_t v, unsigned registers)
{
    return registers > 1 ? v : (uint32_t)v;
}

/* A source that is RZ. */
static bool is_zero(const struct isa_insn *insn, enum isa_field field)
{
    return sim_field(insn, field, 0) == ISA_RZ;
}

static bool try_one(const struct row *row, const struct isa_insn *insn, const struct sim_sem *sem)
{
    unsigned nd = registers_of(insn, ISA_FIELD_D);
    struct sim_lane l = {.a = cut(next_random(), registers_of(insn, ISA_FIELD_A)),
                         .b = cut(next_random(), registers_of(insn, ISA_FIELD_B)),
                         .c = cut(next_random(), registers_of(insn, ISA_FIELD_C)),
                         .pa = true,
                         .pb = false};
    struct ir_bits src[4] = {{0}}, want;
    bool p1 = next_random() & 1;
    uint64_t got;

    if (is_zero(insn, ISA_FIELD_A))
        l.a = 0;
    if (is_zero(insn, ISA_FIELD_C))
        l.c = 0;
    l.pa = sim_field(insn, ISA_FIELD_PA, ISA_PT) == 1 ? p1 : !strstr(row->text, "!PT");
    if (sim_field(insn, ISA_FIELD_PB, ISA_PT) == ISA_PT)
        l.pb = insn->op != ISA_IADD3;
    for (unsigned i = 0; row->src[i]; i++)
        src[i].lo = row->src[i] == 'a'   ? l.a
                    : row->src[i] == 'b' ? l.b
                    : row->src[i] == 'c' ? l.c
                    : row->src[i] == 'p' ? p1
                                         : 0;
    for (unsigned i = 0; row->src[i]; i++) { /* the IR's sources have their type's width */
        unsigned bits = ir_type_bits(
            row->in.op == IR_OP_CVT || row->in.op == IR_OP_CVTUNPACK ? row->in.type2 : IR_B64);

        if (bits < 64)
            src[i].lo &= (UINT64_C(1) << bits) - 1;
    }
    sim_sem_lane(sem, &l);
    if (!ir_eval(&row->in, src, &want))
        return false;
    got = row->is_pred ? l.pd : cut(l.d, nd);
    if (got == want.lo)
        return true;
    diag("%s: a %#llx b %#llx c %#llx p %d: %#llx, want %#llx", row->text, (unsigned long long)l.a,
         (unsigned long long)l.b, (unsigned long long)l.c, p1, (unsigned long long)got,
         (unsigned long long)want.lo);
    return false;
}

int main(void)
{
    state = tap_seed() * UINT64_C(2654435761) + 1;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        struct ir_instr in = rows[i].in;
        struct row row = rows[i];
        struct isa_insn insn;
        struct sim_sem sem;
        unsigned right = 0;
        size_t at;
        const char *why = isa_parse(row.text, 0, NULL, NULL, &insn, &at);

        if (why || !sim_sem_of(&insn, &sem)) {
            ok(false, "%s: %s, at column %u", row.text, why ? why : "not pure", (unsigned)at);
            continue;
        }
        in.nsrc = (uint32_t)strlen(row.src);
        in.ndst = 1;
        row.in = in;
        while (right < 3000 && try_one(&row, &insn, &sem))
            right++;
        ok(right == 3000, "%s", row.text);
    }
    return done();
}
