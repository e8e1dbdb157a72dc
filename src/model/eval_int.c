/* Integer and bit operations, after the pseudo-code of PTX ISA 9.7.1, 9.7.2 and 9.7.8. */
#include "model/eval_private.h"

uint64_t ir_int_extend(uint64_t v, unsigned w)
{
    return w == 0 || w >= 64 ? v : (uint64_t)((int64_t)(v << (64 - w)) >> (64 - w));
}

uint64_t ir_int_sat(int64_t v, unsigned w)
{
    int64_t max = (int64_t)((1ull << (w - 1)) - 1);
    return (uint64_t)(v > max ? max : v < -max - 1 ? -max - 1 : v);
}

static uint64_t int_abs(uint64_t v, bool is_signed, unsigned w)
{
    int64_t s = (int64_t)ir_int_extend(v, w);
    return is_signed && s < 0 ? 0 - (uint64_t)s : v;
}

uint64_t ir_int_div(bool is_signed, unsigned w, uint64_t a, uint64_t b)
{
    if (!b)
        return UINT64_MAX;
    /* In magnitudes nothing overflows: INT_MIN / -1 wraps back to INT_MIN. */
    uint64_t q = int_abs(a, is_signed, w) / int_abs(b, is_signed, w);
    bool negative = is_signed && (((a ^ b) >> (w - 1)) & 1);
    return negative ? 0 - q : q;
}

uint64_t ir_int_rem(bool is_signed, unsigned w, uint64_t a, uint64_t b)
{
    if (!b)
        return a;
    uint64_t r = int_abs(a, is_signed, w) % int_abs(b, is_signed, w);
    return is_signed && ((a >> (w - 1)) & 1) ? 0 - r : r;
}

uint64_t ir_int_mul24(bool is_signed, uint64_t a, uint64_t b)
{
    a &= 0xffffff;
    b &= 0xffffff;
    return is_signed ? ir_int_extend(a, 24) * ir_int_extend(b, 24) : a * b;
}

static int64_t int_piece(uint64_t v, unsigned index, unsigned bits, bool is_signed)
{
    uint64_t piece = (v >> (index * bits)) & ((1ull << bits) - 1);
    return (int64_t)(is_signed ? ir_int_extend(piece, bits) : piece);
}

uint64_t ir_int_dp(const struct ir_instr *in, uint64_t a, uint64_t b, uint64_t c)
{
    bool sa = in->type == IR_S32, sb = in->type2 == IR_S32;
    unsigned first = in->op == IR_OP_DP2A && ir_has(in, IR_MOD_HI) ? 2 : 0; /* of src1's bytes */
    unsigned count = in->op == IR_OP_DP4A ? 4 : 2;
    for (unsigned i = 0; i < count; i++)
        c += (uint64_t)(int_piece(a, i, 32 / count, sa) * int_piece(b, first + i, 8, sb));
    return c;
}

uint64_t ir_int_lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < 8; i++) {
        if ((table >> i) & 1)
            r |= ((i & 4) ? a : ~a) & ((i & 2) ? b : ~b) & ((i & 1) ? c : ~c);
    }
    return r;
}

/* Which of the eight source bytes goes into byte i in a mode other than idx. */
static unsigned prmt_source(unsigned mode, unsigned sel, unsigned i)
{
    switch (mode) {
    case IR_PRMT_F4E:
        return sel + i;
    case IR_PRMT_B4E:
        return (sel - i) & 7;
    case IR_PRMT_RC8:
        return sel;
    case IR_PRMT_ECL:
        return i > sel ? i : sel;
    case IR_PRMT_ECR:
        return i < sel ? i : sel;
    default: /* RC16 */
        return (sel & 1) * 2 + (i & 1);
    }
}

uint64_t ir_int_prmt(unsigned mode, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bytes = (b & 0xffffffff) << 32 | (a & 0xffffffff), r = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = (unsigned)(c >> (4 * i)) & 15;
        bool sign = mode == IR_PRMT_IDX && (nibble & 8);
        unsigned from = mode == IR_PRMT_IDX ? nibble & 7 : prmt_source(mode, c & 3, i);
        uint64_t byte = (bytes >> (8 * from)) & 0xff;
        if (sign)
            byte = (byte & 0x80) ? 0xff : 0;
        r |= byte << (8 * i);
    }
    return r;
}

uint64_t ir_int_bfe(bool is_signed, unsigned w, uint64_t a, uint64_t b, uint64_t c)
{
    unsigned pos = b & 0xff, len = c & 0xff, msb = w - 1;
    unsigned sign_at = pos + len - 1 > msb ? msb : pos + len - 1;
    uint64_t sign = is_signed && len ? (a >> sign_at) & 1 : 0, r = 0;
    for (unsigned i = 0; i <= msb; i++) {
        bool inside = i < len && pos + i <= msb;
        r |= (inside ? (a >> (pos + i)) & 1 : sign) << i;
    }
    return r;
}

uint64_t ir_int_bfi(unsigned w, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    unsigned pos = c & 0xff, len = d & 0xff;
    for (unsigned i = 0; i < len && pos + i < w; i++)
        b = (b & ~(1ull << (pos + i))) | ((a >> i) & 1) << (pos + i);
    return b;
}

uint64_t ir_int_bfind(bool is_signed, unsigned w, uint64_t a, bool shift_amount)
{
    if (is_signed && ((a >> (w - 1)) & 1))
        a = ~ir_int_extend(a, w);
    if (!a)
        return 0xffffffff;
    unsigned pos = 63 - (unsigned)__builtin_clzll(a);
    return shift_amount ? w - 1 - pos : pos;
}

uint64_t ir_int_fns(uint64_t mask, uint64_t base, int32_t offset)
{
    if (base > 31)
        return 0xffffffff;
    if (!offset)
        return ((mask >> base) & 1) ? base : 0xffffffff;
    int64_t left = offset < 0 ? -(int64_t)offset : offset;
    for (int pos = (int)base; pos >= 0 && pos < 32; pos += offset > 0 ? 1 : -1) {
        if (((mask >> pos) & 1) && --left == 0)
            return (uint64_t)pos;
    }
    return 0xffffffff;
}

uint64_t ir_int_bmsk(uint64_t a, uint64_t b, bool wrap)
{
    uint64_t pos = a & 31, len = b & 31;
    if (!wrap) {
        pos = a > 32 ? 32 : a;
        len = b > 32 ? 32 : b;
    }
    return (((1ull << len) - 1) << pos) & 0xffffffff;
}

uint64_t ir_int_szext(bool is_signed, uint64_t a, uint64_t b, bool wrap)
{
    uint64_t len = wrap ? b & 31 : b;
    if (!len)
        return 0;
    if (len >= 32)
        return a;
    a &= (1ull << len) - 1;
    return is_signed ? ir_int_extend(a, (unsigned)len) : a;
}

uint64_t ir_int_clz(unsigned w, uint64_t a)
{
    return a ? (unsigned)__builtin_clzll(a) - (64 - w) : w;
}

uint64_t ir_int_brev(unsigned w, uint64_t a)
{
    uint64_t r = 0;
    for (unsigned i = 0; i < w; i++)
        r |= ((a >> i) & 1) << (w - 1 - i);
    return r;
}

uint64_t ir_int_policy(const struct ir_instr *in, unsigned form)
{
    uint64_t priority = (in->mods & IR_MODS_L2_EVICT) >> IR_MOD_BIT_L2_EVICT_NORMAL;
    return (uint64_t)form << 62 | in->imm << 8 | priority;
}

bool ir_int_compare(enum ir_cmp cmp, bool is_signed, unsigned w, uint64_t a, uint64_t b)
{
    int64_t sa = (int64_t)ir_int_extend(a, w), sb = (int64_t)ir_int_extend(b, w);
    bool less = is_signed ? sa < sb : a < b;
    switch (cmp) {
    case IR_EQ:
        return a == b;
    case IR_NE:
        return a != b;
    case IR_LT:
        return less;
    case IR_LE:
        return less || a == b;
    case IR_GT:
        return !less && a != b;
    case IR_GE:
        return !less;
    case IR_EQU: /* of floating point only, these */
    case IR_NEU:
    case IR_LTU:
    case IR_LEU:
    case IR_GTU:
    case IR_GEU:
    case IR_NUM:
    case IR_NAN:
        break;
    }
    return false;
}
