/*
 * Binary floating point in integers: exact results, one rounding, any of the five rounding modes.
 *
 * A number is taken apart (hd_fp_unpack), operated on without rounding, and put together once
 * (hd_fp_pack) in whatever format the result has. So f16, bf16, f32 and f64 arithmetic, fused
 * multiply-add, directed rounding and conversions are all the same few functions, independent of
 * the host's floating-point environment. About 20 to 50 ns per operation: for the reference
 * interpreter, constant folding and atomics, not for speed.
 *
 *     struct hd_fp x = hd_fp_unpack(&hd_fp_f32, a), y = hd_fp_unpack(&hd_fp_f32, b);
 *     bits = hd_fp_pack(&hd_fp_f32, hd_fp_mul(x, y), HD_FP_RZ, false);
 *
 * Pure functions on values; any thread.
 */
#ifndef HD_BASE_FLOAT_SOFTFP_H
#define HD_BASE_FLOAT_SOFTFP_H

#include "base/compiler.h"

/* What the largest exponent stands for: infinities and NaNs; numbers and, all ones, the NaN;
 * numbers. */
enum hd_fp_top { HD_FP_TOP_IEEE, HD_FP_TOP_NAN, HD_FP_TOP_NUMBERS };

struct hd_fp_format {
    uint8_t frac_bits;
    uint8_t exp_bits;
    enum hd_fp_top top;
};

extern const struct hd_fp_format hd_fp_f16, hd_fp_bf16, hd_fp_f32, hd_fp_f64;
/* Of tensor cores; tf32 in its 19 bits. */
extern const struct hd_fp_format hd_fp_tf32, hd_fp_e4m3, hd_fp_e5m2, hd_fp_e3m2, hd_fp_e2m3,
    hd_fp_e2m1;

/* To nearest even, towards zero, down, up, to nearest with ties away from zero. */
enum hd_fp_round { HD_FP_RN, HD_FP_RZ, HD_FP_RM, HD_FP_RP, HD_FP_RNA };

enum hd_fp_class { HD_FP_ZERO, HD_FP_FINITE, HD_FP_INF, HD_FP_NAN };

/* FINITE: (mant + something in (0, 1) when sticky) * 2^exp, mant != 0. */
struct hd_fp {
    enum hd_fp_class cls;
    bool sign;
    bool sticky;
    int exp;
    unsigned __int128 mant;
};

/* Denormals are exact numbers. */
struct hd_fp hd_fp_unpack(const struct hd_fp_format *fmt, uint64_t bits);
/*
 * Rounds once. NaN becomes all ones but the sign: PTX's canonical NaN, or the largest number of a
 * format without NaN, which is what overflow gives there, too. flush: a result whose
 * exponent is below the smallest normal one, after rounding as if exponents were unbounded, becomes
 * a zero of its sign.
 */
uint64_t hd_fp_pack(const struct hd_fp_format *fmt, struct hd_fp x, enum hd_fp_round rnd,
                    bool flush);

/*
 * Stochastic rounding: `random`, a number of `bits` bits, is added below the last place that is
 * kept, and what is below that place is dropped.
 */
uint64_t hd_fp_pack_random(const struct hd_fp_format *fmt, struct hd_fp x, uint64_t random,
                           unsigned bits);
/* The largest finite number. */
uint64_t hd_fp_max(const struct hd_fp_format *fmt);

struct hd_fp hd_fp_neg(struct hd_fp a);
/* rnd gives the sign of an exact zero difference. */
struct hd_fp hd_fp_add(struct hd_fp a, struct hd_fp b, enum hd_fp_round rnd);
/* Exact for mantissas of 64 bits at most. */
struct hd_fp hd_fp_mul(struct hd_fp a, struct hd_fp b);
struct hd_fp hd_fp_fma(struct hd_fp a, struct hd_fp b, struct hd_fp c, enum hd_fp_round rnd);
struct hd_fp hd_fp_div(struct hd_fp a, struct hd_fp b);
struct hd_fp hd_fp_sqrt(struct hd_fp a);
/* The nearest integral number in that direction, as a number; keeps the sign of zero. */
struct hd_fp hd_fp_integral(struct hd_fp a, enum hd_fp_round rnd);

/* |value| and its sign. */
struct hd_fp hd_fp_from_u64(bool sign, uint64_t magnitude);
/* Rounds to an integer of `bits` bits, saturating; NaN gives 0. The result is sign-extended. */
uint64_t hd_fp_to_int(struct hd_fp a, enum hd_fp_round rnd, unsigned bits, bool is_signed);

bool hd_fp_is_nan(const struct hd_fp_format *fmt, uint64_t bits);
bool hd_fp_is_denormal(const struct hd_fp_format *fmt, uint64_t bits);
uint64_t hd_fp_sign_mask(const struct hd_fp_format *fmt);

/* -1, 0, 1, or 2 when one is NaN; -0 equals +0. */
int hd_fp_compare(const struct hd_fp_format *fmt, uint64_t a, uint64_t b);

#endif
