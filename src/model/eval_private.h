/* Private to eval*.c: helpers that the expressions in spec/ir_semantics.def are made of. */
#ifndef HD_MODEL_EVAL_PRIVATE_H
#define HD_MODEL_EVAL_PRIVATE_H

#include "base/float/softfp.h"
#include "model/eval.h"

typedef unsigned __int128 ir_u128;
typedef __int128 ir_i128;

/* model/eval_int.c: w = width in bits, values zero- (u) or sign-extended (s) from it. */
uint64_t ir_int_extend(uint64_t v, unsigned w);
uint64_t ir_int_sat(int64_t v, unsigned w);
uint64_t ir_int_div(bool is_signed, unsigned w, uint64_t a, uint64_t b);
uint64_t ir_int_rem(bool is_signed, unsigned w, uint64_t a, uint64_t b);
uint64_t ir_int_mul24(bool is_signed, uint64_t a, uint64_t b);
uint64_t ir_int_dp(const struct ir_instr *in, uint64_t a, uint64_t b, uint64_t c);
uint64_t ir_int_lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table);
uint64_t ir_int_prmt(unsigned mode, uint64_t a, uint64_t b, uint64_t c);
uint64_t ir_int_bfe(bool is_signed, unsigned w, uint64_t a, uint64_t b, uint64_t c);
uint64_t ir_int_bfi(unsigned w, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint64_t ir_int_bfind(bool is_signed, unsigned w, uint64_t a, bool shift_amount);
uint64_t ir_int_fns(uint64_t mask, uint64_t base, int32_t offset);
uint64_t ir_int_bmsk(uint64_t a, uint64_t b, bool wrap);
uint64_t ir_int_szext(bool is_signed, uint64_t a, uint64_t b, bool wrap);
uint64_t ir_int_clz(unsigned w, uint64_t a);
uint64_t ir_int_brev(unsigned w, uint64_t a);
/* A cache policy of form 1 fractional, 2 range, 3 cvt: bits that only devices look at. */
uint64_t ir_int_policy(const struct ir_instr *in, unsigned form);
bool ir_int_compare(enum ir_cmp cmp, bool is_signed, unsigned w, uint64_t a, uint64_t b);

/* model/eval_float.c: one element of one instruction. */
struct ir_fp {
    const struct ir_instr *in;
    const struct hd_fp_format *fmt;
    enum hd_fp_round rnd;
    bool ftz;
};
/* The format of an element of a floating-point type; NULL for other types. */
const struct hd_fp_format *ir_fp_format(enum ir_type type);
enum hd_fp_round ir_fp_round(enum ir_rnd rnd);
uint64_t ir_fp_add(const struct ir_fp *f, uint64_t a, uint64_t b);
uint64_t ir_fp_sub(const struct ir_fp *f, uint64_t a, uint64_t b);
uint64_t ir_fp_mul(const struct ir_fp *f, uint64_t a, uint64_t b);
uint64_t ir_fp_fma(const struct ir_fp *f, uint64_t a, uint64_t b, uint64_t c);
uint64_t ir_fp_div(const struct ir_fp *f, uint64_t a, uint64_t b);
uint64_t ir_fp_rcp(const struct ir_fp *f, uint64_t a);
uint64_t ir_fp_sqrt(const struct ir_fp *f, uint64_t a);
uint64_t ir_fp_approx(const struct ir_fp *f, uint64_t a);
uint64_t ir_fp_min(const struct ir_fp *f, uint64_t a, uint64_t b, bool want_max);
uint64_t ir_fp_neg(const struct ir_fp *f, uint64_t a);
uint64_t ir_fp_abs(const struct ir_fp *f, uint64_t a);
uint64_t ir_fp_copysign(const struct ir_fp *f, uint64_t a, uint64_t b);
bool ir_fp_compare(const struct ir_fp *f, uint64_t a, uint64_t b);
bool ir_fp_test(const struct ir_fp *f, uint64_t a);

/* model/eval_cvt.c */
uint64_t ir_cvt(const struct ir_instr *in, uint64_t a);
/* random: upper half for `high`, lower for `low`. */
uint64_t ir_cvtpack(const struct ir_instr *in, uint64_t high, uint64_t low, uint64_t random);
uint64_t ir_cvtunpack(const struct ir_instr *in, uint64_t a);

#endif
