/* Integer semantics: boundary values by hand, then random ones against other formulations. */
#include "eval_support.h"

struct row {
    const char *name;
    struct ev e;
    uint64_t a, b, c, d, want;
};

#define R(op_, type_, a, b, c, d, want, ...)                                                       \
    {#op_ "." #type_, {.op = IR_OP_##op_, .type = IR_##type_, __VA_ARGS__}, a, b, c, d, want}
#define M32   0xffffffffu
#define MIN32 0x80000000u

static const struct row rows[] = {
    R(ADD, U32, M32, 1, 0, 0, 0),
    R(ADD, S32, 0x7fffffff, 1, 0, 0, 0x7fffffff, .mods = IR_MOD_SAT),
    R(SUB, S32, MIN32, 1, 0, 0, MIN32, .mods = IR_MOD_SAT),
    R(MULHI, S32, M32, M32, 0, 0, 0),
    R(MULHI, U32, M32, M32, 0, 0, 0xfffffffe),
    R(MULHI, S64, UINT64_MAX, 2, 0, 0, UINT64_MAX),
    R(MULHI, U64, UINT64_MAX, UINT64_MAX, 0, 0, UINT64_MAX - 1),
    R(MULWIDE, S16, 0xffff, 2, 0, 0, 0xfffffffe),
    R(MULWIDE, U16, 0xffff, 0xffff, 0, 0, 0xfffe0001),
    R(MULWIDE, S32, MIN32, MIN32, 0, 0, 0x4000000000000000),
    R(MADHI_SAT, S32, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0, 0x7fffffff),
    R(MUL24LO, S32, 0xffffff, 0xffffff, 0, 0, 1),
    R(MUL24HI, U32, 0xffffff, 0xffffff, 0, 0, 0xfffffe00),
    R(DIV, S32, MIN32, M32, 0, 0, MIN32),
    R(DIV, S32, 7, 0, 0, 0, M32),
    R(DIV, S32, (uint32_t)-7, 2, 0, 0, (uint32_t)-3),
    R(DIV, U16, 100, 0, 0, 0, 0xffff),
    R(DIV, S64, 1ull << 63, UINT64_MAX, 0, 0, 1ull << 63),
    R(REM, S32, (uint32_t)-7, 2, 0, 0, M32),
    R(REM, S32, MIN32, M32, 0, 0, 0),
    R(REM, U32, 9, 0, 0, 0, 9),
    R(MIN, S16, 0x8000, 1, 0, 0, 0x8000),
    R(MAX, U16, 0x8000, 1, 0, 0, 0x8000),
    R(MIN, S16X2, 0x8000ffff, 0x00010001, 0, 0, 0x8000ffff),
    R(MAX, U16X2, 0x8000ffff, 0x00010001, 0, 0, 0x8000ffff),
    R(ADD, U16X2, 0xffffffff, 0x00010001, 0, 0, 0),
    R(ABS, S32, MIN32, 0, 0, 0, MIN32),
    R(SAD, S32, M32, 1, 10, 0, 12),
    R(SAD, U32, 1, M32, 10, 0, 8),
    R(DP4A, S32, 0xff02ff01, 0x01010101, 100, 0, 101, .type2 = IR_U32),
    R(DP2A, U32, 0x00020003, 0x04030201, 1, 0, 1 + 3 * 3 + 2 * 4, .type2 = IR_U32,
      .mods = IR_MOD_HI),
    R(ADDC, U32, M32, 0, 1, 0, 0),
    R(CARRY, U32, M32, 0, 1, 0, 1),
    R(CARRY, U64, UINT64_MAX, UINT64_MAX, 0, 0, 1),
    R(SUBC, U32, 0, 0, 1, 0, M32),
    R(BORROW, U32, 0, 0, 1, 0, 1),
    R(BORROW, U64, 0, UINT64_MAX, 1, 0, 1),
    R(NOT, PRED, 1, 0, 0, 0, 0),
    R(NOT, B16, 1, 0, 0, 0, 0xfffe),
    R(CNOT, B32, 0, 0, 0, 0, 1),
    R(SHL, B32, 1, 32, 0, 0, 0),
    R(SHL, B16, 1, 15, 0, 0, 0x8000),
    R(SHL, B64, 1, 0x80000000, 0, 0, 0),
    R(SHR, S32, MIN32, 99, 0, 0, M32),
    R(SHR, U32, MIN32, 31, 0, 0, 1),
    R(SHR, S16, 0x8000, 4, 0, 0, 0xf800),
    R(SHFL_L, B32, 0x89abcdef, 0x01234567, 8, 0, 0x23456789),
    R(SHFL_L, B32, 0x89abcdef, 0x01234567, 40, 0, 0x89abcdef),
    R(SHFL_L, B32, 0x89abcdef, 0x01234567, 40, 0, 0x23456789, .mods = IR_MOD_WRAP),
    R(SHFL_R, B32, 0x89abcdef, 0x01234567, 8, 0, 0x6789abcd),
    R(SHFL_R, B32, 0x89abcdef, 0x01234567, 32, 0, 0x01234567),
    R(LOP3, B32, 0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0, 0xc000c000, .imm = 0x80),
    R(LOP3, B32, 0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0, 0xff00ff00 ^ 0xf0f0f0f0 ^ 0xcccccccc,
      .imm = 0x96),
    R(PRMT, B32, 0x44332211, 0x88776655, 0x7410, 0, 0x88552211),
    R(PRMT, B32, 0x44332211, 0x88776655, 0xf8, 0, 0x1111ff00),
    R(PRMT, B32, 0x44332211, 0x88776655, 1, 0, 0x55443322, .imm = IR_PRMT_F4E),
    R(PRMT, B32, 0x44332211, 0x88776655, 1, 0, 0x77881122, .imm = IR_PRMT_B4E),
    R(PRMT, B32, 0x44332211, 0x88776655, 2, 0, 0x44333333, .imm = IR_PRMT_ECL),
    R(PRMT, B32, 0x44332211, 0x88776655, 2, 0, 0x33332211, .imm = IR_PRMT_ECR),
    R(PRMT, B32, 0x44332211, 0x88776655, 1, 0, 0x44334433, .imm = IR_PRMT_RC16),
    R(BFE, U32, 0x12345678, 4, 8, 0, 0x67),
    R(BFE, S32, 0x00000080, 4, 4, 0, 0xfffffff8),
    R(BFE, S32, MIN32, 31, 5, 0, M32),
    R(BFE, U32, M32, 40, 5, 0, 0),
    R(BFE, S32, MIN32, 40, 5, 0, M32),
    R(BFE, S64, 1ull << 63, 60, 10, 0, UINT64_MAX - 7),
    R(BFI, B32, 0xff, 0, 28, 8, 0xf0000000),
    R(BFI, B32, 0, M32, 4, 8, 0xfffff00f),
    R(BFIND, U32, 0, 0, 0, 0, M32),
    R(BFIND, S32, M32, 0, 0, 0, M32),
    R(BFIND, S32, MIN32, 0, 0, 0, 30),
    R(BFIND, U64, 1ull << 40, 0, 0, 0, 40),
    R(BFIND, U32, 1, 0, 0, 0, 31, .mods = IR_MOD_SHIFTAMT),
    R(FNS, B32, 0x00000014, 0, 1, 0, 2),
    R(FNS, B32, 0x00000014, 0, 2, 0, 4),
    R(FNS, B32, 0x00000014, 31, M32, 0, 4),
    R(FNS, B32, 0x00000014, 3, 0, 0, M32),
    R(BMSK, B32, 4, 8, 0, 0, 0xff0),
    R(BMSK, B32, 32, 8, 0, 0, 0),
    R(POLICY_FRACTIONAL, B64, 0x3f000000, 0, 0, 0, 1ull << 62 | 8, .mods = IR_MOD_L2_EVICT_LAST),
    R(POLICY_RANGE, B64, 64, 32, 32, 0, 2ull << 62 | 1 << 8 | 1, .imm = IR_POLICY_ELSE_FIRST,
      .mods = IR_MOD_L2_EVICT_NORMAL),
    R(POLICY_CVT, B64, 7, 0, 0, 0, 3ull << 62),
    R(BMSK, B32, 33, 8, 0, 0, 0x1fe, .mods = IR_MOD_WRAP),
    R(BMSK, B32, 0, 32, 0, 0, M32),
    R(SZEXT, S32, 0xf8, 4, 0, 0, 0xfffffff8),
    R(SZEXT, U32, 0xf8, 4, 0, 0, 8),
    R(SZEXT, S32, 0xf8, 32, 0, 0, 0xf8),
    R(SZEXT, S32, 0xf8, 36, 0, 0, 0xfffffff8, .mods = IR_MOD_WRAP),
    R(CLZ, B32, 0, 0, 0, 0, 32),
    R(CLZ, B64, 1, 0, 0, 0, 63),
    R(POPC, B64, UINT64_MAX, 0, 0, 0, 64),
    R(BREV, B32, 1, 0, 0, 0, MIN32),
    R(SETP, S32, MIN32, 1, 0, 0, 1, .cmp = IR_LT),
    R(SETP, U32, MIN32, 1, 0, 0, 0, .cmp = IR_LT),
    R(SETP, S16, 0xffff, 0, 0, 0, 0, .cmp = IR_GE),
    R(SELECT, B32, 1, 7, 8, 0, 7),
};

static void test_rows(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        eq_u64(ev4(r->e, r->a, r->b, r->c, r->d), r->want, "%s #%zu", r->name, i);
    }
}

static void test_random(void)
{
    uint64_t seed = tap_seed();
    unsigned bad = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t a = tap_random(&seed) >> (tap_random(&seed) & 63);
        uint64_t b = tap_random(&seed) >> (tap_random(&seed) & 63);
        uint32_t x = (uint32_t)a, y = (uint32_t)b, n = (uint32_t)(b >> 20) & 31;
        bad += ev(DIV, S64, a, b | 1, 0) != (uint64_t)((int64_t)a / (int64_t)(b | 1));
        bad += ev(REM, S32, x, y | 1, 0) !=
               (uint32_t)((int64_t)(int32_t)x % (int64_t)(int32_t)(y | 1));
        bad += ev(MULHI, S32, x, y, 0) !=
               (uint32_t)((uint64_t)((int64_t)(int32_t)x * (int32_t)y) >> 32);
        bad += ev(LOP3, B32, x, y, n, .imm = 0xe8) != ((x & y) | (x & n) | (y & n));
        bad += ev(BFE, U32, x, n, 5) != ((x >> n) & 31);
        bad +=
            ev(SHFL_L, B32, x, x, n, .mods = IR_MOD_WRAP) != ((x << n) | (n ? x >> (32 - n) : 0));
        bad += ev(PRMT, B32, x, y, 0x0123) != __builtin_bswap32(x);
        bad += ev(BREV, B32, ev(BREV, B32, x, 0, 0), 0, 0) != x;
    }
    eq_u64(bad, 0, "random values agree");
}

static void test_wide(void)
{
    struct ir_instr in = {.op = IR_OP_PACK, .type = IR_B128, .nsrc = 2};
    struct ir_bits src[2] = {{1, 0}, {2, 0}}, out, piece;
    ok(ir_eval(&in, src, &out) && out.lo == 1 && out.hi == 2, "pack to b128");
    in = (struct ir_instr){.op = IR_OP_UNPACK, .type = IR_B32, .nsrc = 1, .imm = 2};
    ok(ir_eval(&in, &out, &piece) && piece.lo == 2 && piece.hi == 0, "unpack from b128");
    in.op = IR_OP_SREG;
    ok(!ir_eval(&in, src, &out), "special registers are no function of bits");
}

static void test_atoms(void)
{
    eq_u64(ir_eval_atom(IR_ATOM_INC, IR_U32, false, 5, 5, 0), 0, "inc wraps at the bound");
    eq_u64(ir_eval_atom(IR_ATOM_DEC, IR_U32, false, 0, 5, 0), 5, "dec wraps at 0");
    eq_u64(ir_eval_atom(IR_ATOM_DEC, IR_U32, false, 9, 5, 0), 5, "dec above the bound");
    eq_u64(ir_eval_atom(IR_ATOM_MIN, IR_S32, false, M32, 1, 0), M32, "min.s32");
    eq_u64(ir_eval_atom(IR_ATOM_CAS, IR_B64, false, 7, 7, 9), 9, "cas hits");
    eq_u64(ir_eval_atom(IR_ATOM_CAS, IR_B64, false, 7, 6, 9), 7, "cas misses");
    eq_u64(ir_eval_atom(IR_ATOM_ADD, IR_F32, false, 0x3f800000, 0x3f800000, 0), 0x40000000, "f32");
    eq_u64(ir_eval_atom(IR_ATOM_ADD, IR_F16X2, true, 0x3c004000, 0x3c003c00, 0), 0x40004200,
           "f16x2");
    eq_u64(ir_eval_redux(IR_REDUX_MAX, IR_S32, M32, 0), 0, "redux max.s32");
}

int main(void)
{
    test_rows();
    test_random();
    test_wide();
    test_atoms();
    return done();
}
