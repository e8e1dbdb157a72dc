/*
 * Loops over 32 lanes, compiled once for each level (SIM_LEVEL). Each reads all of a lane before it
 * writes to it, so results may be sources; what one has in a lane depends on that lane only.
 *
 * Rounding and flushing to zero are in the host's mode, which the caller sets.
 */
#include <math.h>

#include "base/float/approx.h"
#include "sim/kernels.h"
#include "sim/sim_private.h"

#ifdef __clang__
#define LANES                                                                                      \
    _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < SIM_LANES; i++)
#else
#define LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < SIM_LANES; i++)
#endif

#define KERNEL(name) static void lanes_##name(struct sim_io *io)

/* The sources and the result. */
#define TAKE(...)                                                                                  \
    const struct sim_op *op = io->op;                                                              \
    uint32_t *d = io->d;                                                                           \
    const uint32_t *a = io->a, *b = io->b, *c = io->c;                                             \
    (void)op, (void)d, (void)a, (void)b, (void)c

#define PAIR(x, i)      ((x)[i] | (uint64_t)(x)[SIM_LANES + (i)] << 32)
#define BIT(set, i)     ((set) >> (i) & 1u)
#define SIGNED(n, x, i) (((x)[i] ^ op->neg[n]) - op->neg[n])

/* ---- integers */

KERNEL(iadd3)
{
    TAKE();
    LANES d[i] = SIGNED(0, a, i) + SIGNED(1, b, i) + SIGNED(2, c, i);
}

KERNEL(iadd3_carry)
{
    TAKE();
    const uint32_t na = op->neg[0], nb = op->neg[1], nc = op->neg[2];
    const bool x = op->code;
    const uint32_t pa = x ? io->pa : 0, pb = x ? io->pb : 0;
    const uint64_t first = x ? 0 : (na & 1) + (nb & 1), second = x ? 0 : nc & 1;
    uint32_t pd = 0, pe = 0;

    LANES
    {
        uint64_t sum = (uint64_t)(a[i] ^ na) + (b[i] ^ nb) + first + BIT(pa, i);
        uint64_t sum2 = (uint64_t)(uint32_t)sum + (c[i] ^ nc) + second + BIT(pb, i);
        pd |= (uint32_t)(sum >> 32 != 0) << i;
        pe |= (uint32_t)(sum2 >> 32 != 0) << i;
        d[i] = (uint32_t)sum2;
    }
    io->pd = pd;
    io->pe = pe;
}

KERNEL(imad)
{
    TAKE();
    LANES d[i] = a[i] * b[i] + SIGNED(2, c, i);
}

KERNEL(imad_hi)
{
    TAKE();
    if (op->is_signed) {
        LANES d[i] =
            (uint32_t)((uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]) >> 32) + SIGNED(2, c, i);
    } else {
        LANES d[i] = (uint32_t)((uint64_t)a[i] * b[i] >> 32) + SIGNED(2, c, i);
    }
}

KERNEL(imad_wide)
{
    TAKE();
    const uint64_t nc = op->neg[2] ? UINT64_MAX : 0;

    if (op->is_signed) {
        LANES
        {
            uint64_t sum =
                (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]) + ((PAIR(c, i) ^ nc) - nc);
            d[i] = (uint32_t)sum;
            d[SIM_LANES + i] = (uint32_t)(sum >> 32);
        }
    } else {
        LANES
        {
            uint64_t sum = (uint64_t)a[i] * b[i] + ((PAIR(c, i) ^ nc) - nc);
            d[i] = (uint32_t)sum;
            d[SIM_LANES + i] = (uint32_t)(sum >> 32);
        }
    }
}

KERNEL(iabs)
{
    TAKE();
    LANES d[i] = (int32_t)b[i] < 0 ? 0 - b[i] : b[i];
}

KERNEL(imnmx)
{
    TAKE();
    const uint32_t bias = op->is_signed ? 1u << 31 : 0, pa = io->pa;

    LANES
    {
        bool less = (a[i] ^ bias) < (b[i] ^ bias);
        d[i] = less == (BIT(pa, i) != 0) ? a[i] : b[i];
    }
}

static uint32_t combined(const struct sim_op *op, uint32_t compared, uint32_t with)
{
    return op->how == 0 ? compared & with : op->how == 1 ? compared | with : compared ^ with;
}

KERNEL(isetp)
{
    TAKE();
    const uint32_t bias = op->is_signed ? 1u << 31 : 0;
    uint32_t less = 0, equal = 0, r;

    LANES
    {
        less |= (uint32_t)((a[i] ^ bias) < (b[i] ^ bias)) << i;
        equal |= (uint32_t)(a[i] == b[i]) << i;
    }
    r = (op->code & 1 ? less : 0) | (op->code & 2 ? equal : 0) |
        (op->code & 4 ? ~(less | equal) : 0);
    if (op->code & 8) /* X */
        r = (r & ~equal) | (io->pb & equal);
    io->pd = combined(op, r, io->pa);
    io->pe = combined(op, ~r, io->pa);
}

KERNEL(lea)
{
    TAKE();
    const uint32_t na = op->neg[0], shift = op->code;
    uint32_t pd = 0;

    LANES
    {
        uint64_t sum = (uint64_t)((a[i] << shift) ^ na) + b[i] + (na & 1);
        pd |= (uint32_t)(sum >> 32 != 0) << i;
        d[i] = (uint32_t)sum;
    }
    io->pd = pd;
}

KERNEL(lea_hi)
{
    TAKE();
    const uint32_t shift = op->code, pa = op->how ? io->pa : 0;
    uint32_t pd = 0;

    LANES
    {
        uint64_t pair = ((uint64_t)c[i] << 32 | a[i]) << shift;
        uint64_t sum = (pair >> 32) + b[i] + BIT(pa, i);
        pd |= (uint32_t)(sum >> 32 != 0) << i;
        d[i] = (uint32_t)sum;
    }
    io->pd = pd;
}

/* By halves of the table: of c, of b, of a. */
#define LOP3_LANES(then)                                                                           \
    uint32_t m[8], x[4];                                                                           \
    for (unsigned k = 0; k < 8; k++)                                                               \
        m[k] = 0 - BIT((uint32_t)op->code, k);                                                     \
    for (unsigned k = 0; k < 4; k++)                                                               \
        x[k] = m[2 * k] ^ m[2 * k + 1];                                                            \
    LANES                                                                                          \
    {                                                                                              \
        uint32_t t0 = m[0] ^ (c[i] & x[0]), t1 = m[2] ^ (c[i] & x[1]);                             \
        uint32_t t2 = m[4] ^ (c[i] & x[2]), t3 = m[6] ^ (c[i] & x[3]);                             \
        uint32_t u0 = t0 ^ (b[i] & (t0 ^ t1)), u1 = t2 ^ (b[i] & (t2 ^ t3));                       \
        uint32_t r = u0 ^ (a[i] & (u0 ^ u1));                                                      \
        then;                                                                                      \
        d[i] = r;                                                                                  \
    }

KERNEL(lop3)
{
    TAKE();
    switch (op->code) { /* the usual ones */
    case 0xc0:
        LANES d[i] = a[i] & b[i];
        return;
    case 0xfc:
        LANES d[i] = a[i] | b[i];
        return;
    case 0x3c:
        LANES d[i] = a[i] ^ b[i];
        return;
    case 0x96:
        LANES d[i] = a[i] ^ b[i] ^ c[i];
        return;
    default:
        break;
    }
    LOP3_LANES((void)0);
}

KERNEL(lop3_pred)
{
    TAKE();
    uint32_t pd = io->pa;

    LOP3_LANES(pd |= (uint32_t)(r != 0) << i);
    io->pd = pd;
}

/* A bit of `code` for each of eight cases, and of `how` for the second result. */
KERNEL(plop3)
{
    const struct sim_op *op = io->op;

    for (unsigned k = 0; k < 8; k++) {
        uint32_t lanes =
            (k & 4 ? io->pa : ~io->pa) & (k & 2 ? io->pb : ~io->pb) & (k & 1 ? io->pc : ~io->pc);

        io->pd |= op->code >> k & 1 ? lanes : 0;
        io->pe |= op->how >> k & 1 ? lanes : 0;
    }
}

/* code: 1 wraps, 2 HI, 4 of 64 bits. */
KERNEL(shf_l)
{
    TAKE();
    const bool wraps = op->code & 1, wide = op->code & 4;
    const uint32_t width = wide ? 64 : 32, half = op->code & 2 ? 32 : 0;

    LANES
    {
        uint32_t n = wraps ? b[i] & (width - 1) : b[i] < width ? b[i] : width;
        uint64_t pair = (uint64_t)c[i] << 32 | a[i];
        d[i] = (uint32_t)((n > 63 ? 0 : pair << (n & 63)) >> half);
    }
}

KERNEL(shf_r)
{
    TAKE();
    const bool wraps = op->code & 1, wide = op->code & 4;
    const uint32_t width = wide ? 64 : 32, half = op->code & 2 ? 32 : 0;

    if (op->is_signed) {
        LANES
        {
            uint32_t n = wraps ? b[i] & (width - 1) : b[i] < width ? b[i] : width;
            int64_t pair = (int64_t)((uint64_t)c[i] << 32 | a[i]);
            d[i] = (uint32_t)((uint64_t)(pair >> (n > 63 ? 63 : n)) >> half);
        }
    } else {
        LANES
        {
            uint32_t n = wraps ? b[i] & (width - 1) : b[i] < width ? b[i] : width;
            uint64_t pair = (uint64_t)c[i] << 32 | a[i];
            d[i] = (uint32_t)((n > 63 ? 0 : pair >> (n & 63)) >> half);
        }
    }
}

/* Bytes by index; the selector is in b. */
KERNEL(prmt)
{
    TAKE();
    LANES
    {
        uint64_t pair = (uint64_t)c[i] << 32 | a[i];
        uint32_t r = 0;

        for (unsigned k = 0; k < 4; k++) {
            uint32_t nibble = b[i] >> (4 * k) & 15;
            uint32_t byte = (uint32_t)(pair >> (8 * (nibble & 7))) & 255;
            uint32_t sign = (0 - (byte >> 7)) & 255;
            r |= (nibble & 8 ? sign : byte) << (8 * k);
        }
        d[i] = r;
    }
}

KERNEL(sel)
{
    TAKE();
    const uint32_t pa = io->pa;
    LANES d[i] = BIT(pa, i) ? a[i] : b[i];
}

KERNEL(mov)
{
    TAKE();
    LANES d[i] = b[i];
}

KERNEL(iadd_64)
{
    TAKE();
    const uint64_t na = op->neg[0] ? UINT64_MAX : 0, nb = op->neg[1] ? UINT64_MAX : 0;

    LANES
    {
        uint64_t sum = ((PAIR(a, i) ^ na) - na) + ((PAIR(b, i) ^ nb) - nb);
        d[i] = (uint32_t)sum;
        d[SIM_LANES + i] = (uint32_t)(sum >> 32);
    }
}

KERNEL(popc)
{
    TAKE();
    LANES d[i] = (uint32_t)__builtin_popcount(b[i]);
}

/* ---- f32 */

#define FLOAT(n, x, i) hd_approx_float(((x)[i] & op->keep[n]) ^ op->flip[n])

static inline uint32_t float_result(float r)
{
    return r != r ? 0x7fffffffu : hd_approx_bits(r);
}

static inline uint32_t saturated(float r)
{
    r = r > 0.0f ? r : 0.0f;
    return hd_approx_bits(r < 1.0f ? r : 1.0f);
}

/* With the modifier SAT, or without. */
#define FLOAT_LANES(expression)                                                                    \
    TAKE();                                                                                        \
    if (op->sat) {                                                                                 \
        LANES d[i] = saturated(expression);                                                        \
    } else {                                                                                       \
        LANES d[i] = float_result(expression);                                                     \
    }

KERNEL(fadd){FLOAT_LANES(FLOAT(0, a, i) + FLOAT(1, b, i))}

KERNEL(fmul){FLOAT_LANES(FLOAT(0, a, i) * FLOAT(1, b, i))}

KERNEL(ffma)
{
    FLOAT_LANES(__builtin_fmaf(FLOAT(0, a, i), FLOAT(1, b, i), FLOAT(2, c, i)))
}

/* Denormals of an instruction with FTZ. */
static inline uint32_t flushed(uint32_t v, bool ftz)
{
    return ftz && !(v & 0x7f800000) ? v & 0x80000000u : v;
}

static inline bool is_nan(uint32_t v)
{
    return (v & 0x7fffffff) > 0x7f800000;
}

/* In the order of numbers, -0 before +0. */
static inline int32_t ordered(uint32_t v)
{
    return (int32_t)(v ^ (uint32_t)((int32_t)v >> 31) >> 1);
}

static inline uint32_t with_sign(uint32_t v, uint32_t keep, uint32_t flip)
{
    return (v & keep) ^ flip;
}

KERNEL(fmnmx)
{
    TAKE();
    const uint32_t pa = io->pa;
    const bool ftz = op->ftz, nan_wins = op->code;

    LANES
    {
        uint32_t x = flushed(with_sign(a[i], op->keep[0], op->flip[0]), ftz);
        uint32_t y = flushed(with_sign(b[i], op->keep[1], op->flip[1]), ftz);
        uint32_t less = ordered(x) < ordered(y), want = BIT(pa, i);
        uint32_t r = less == want ? x : y;
        bool nx = is_nan(x), ny = is_nan(y);

        r = nx ? y : ny ? x : r;
        d[i] = (nx & ny) | (nan_wins & (nx | ny)) ? 0x7fffffffu : r;
    }
}

#define COMPARED(type, x, y)                                                                       \
    uint32_t less = 0, equal = 0, greater = 0, r;                                                  \
    LANES                                                                                          \
    {                                                                                              \
        type u = (x), v = (y);                                                                     \
        less |= (uint32_t)(u < v) << i;                                                            \
        equal |= (uint32_t)(u == v) << i;                                                          \
        greater |= (uint32_t)(u > v) << i;                                                         \
    }                                                                                              \
    r = (op->code & 1 ? less : 0) | (op->code & 2 ? equal : 0) | (op->code & 4 ? greater : 0) |    \
        (op->code & 8 ? ~(less | equal | greater) : 0);                                            \
    io->pd = combined(op, r, io->pa);                                                              \
    io->pe = combined(op, ~r, io->pa)

KERNEL(fsetp)
{
    TAKE();
    COMPARED(float, FLOAT(0, a, i), FLOAT(1, b, i));
}

static inline bool needs_slow_root(uint32_t a)
{
    uint32_t ea = a >> 23; /* with the sign */

    return ea - 26 > 254 - 26;
}

static inline bool needs_slow_division(uint32_t a, uint32_t b)
{
    int32_t ea = (int32_t)(a >> 23 & 255), eb = (int32_t)(b >> 23 & 255);

    return (ea < 26) | (ea == 255) | (eb < 2) | (eb > 252) | (ea - eb > 126) | (ea - eb < -124);
}

KERNEL(fchk)
{
    TAKE();
    uint32_t pd = 0;

    if (op->code) {
        LANES pd |= (uint32_t)needs_slow_root((a[i] & op->keep[0]) ^ op->flip[0]) << i;
    } else {
        LANES pd |= (uint32_t)needs_slow_division(a[i], b[i]) << i;
    }
    io->pd = pd;
}

KERNEL(fsel)
{
    TAKE();
    const uint32_t pa = io->pa;
    const bool ftz = op->ftz;

    LANES
    {
        uint32_t x = with_sign(a[i], op->keep[0], op->flip[0]);
        uint32_t y = with_sign(b[i], op->keep[1], op->flip[1]);
        d[i] = flushed(BIT(pa, i) ? x : y, ftz);
    }
}

/* ---- f64 */

#define NAN64   0xfff8000000000000u
#define QUIET64 0x0008000000000000u
#define DOUBLE_BITS(n, x, i)                                                                       \
    double_sign(PAIR(x, i), (uint64_t)op->keep[n] << 32 | 0xffffffff, (uint64_t)op->flip[n] << 32)

static inline bool is_nan64(uint64_t v)
{
    return (v & INT64_MAX) > 0x7ff0000000000000u;
}

static inline uint64_t double_sign(uint64_t v, uint64_t keep, uint64_t flip)
{
    return is_nan64(v) ? v : (v & keep) ^ flip;
}

static inline uint64_t double_result(double r, uint64_t x, uint64_t y, uint64_t z)
{
    uint64_t nan = is_nan64(z) ? z | QUIET64 : NAN64;

    nan = is_nan64(y) ? y | QUIET64 : nan;
    nan = is_nan64(x) ? x | QUIET64 : nan;
    return r != r ? nan : hd_approx_bits64(r);
}

#define DOUBLE_LANES(expression, z)                                                                \
    TAKE();                                                                                        \
    LANES                                                                                          \
    {                                                                                              \
        uint64_t x = DOUBLE_BITS(0, a, i), y = DOUBLE_BITS(1, b, i), w = (z);                      \
        double u = hd_approx_double(x), v = hd_approx_double(y), t = hd_approx_double(w);          \
        uint64_t r = double_result((expression), x, y, w);                                         \
        (void)t;                                                                                   \
        d[i] = (uint32_t)r;                                                                        \
        d[SIM_LANES + i] = (uint32_t)(r >> 32);                                                    \
    }

KERNEL(dadd){DOUBLE_LANES(u + v, 0)}

KERNEL(dmul){DOUBLE_LANES(u * v, 0)}

KERNEL(dfma){DOUBLE_LANES(__builtin_fma(u, v, t), DOUBLE_BITS(2, c, i))}

KERNEL(dsetp)
{
    TAKE();
    COMPARED(double, hd_approx_double(DOUBLE_BITS(0, a, i)),
             hd_approx_double(DOUBLE_BITS(1, b, i)));
}

/* ---- f16: sums and products of f32 have bits enough to round a second time */

#ifdef __F16C__
#include <immintrin.h>

static inline void halves_of(const uint32_t *x, uint32_t keep, uint32_t flip, float out[2][16])
{
    uint16_t half[2][16];

    for (unsigned i = 0; i < 16; i++) {
        uint32_t v = (x[i] & keep) ^ flip;
        half[0][i] = (uint16_t)v;
        half[1][i] = (uint16_t)(v >> 16);
    }
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 16; i += 8)
            _mm256_storeu_ps(&out[k][i], _mm256_cvtph_ps(_mm_loadu_si128((void *)&half[k][i])));
}

static inline uint32_t half_result(float r, uint32_t half)
{
    return r != r ? 0x7fffu : half;
}

#define HALF_LANES(expression)                                                                     \
    TAKE();                                                                                        \
    for (unsigned first = 0; first < SIM_LANES; first += 16) {                                     \
        float x[2][16], y[2][16], r[2][16];                                                        \
        uint16_t half[2][16];                                                                      \
                                                                                                   \
        halves_of(a + first, op->keep[0], op->flip[0], x);                                         \
        halves_of(b + first, op->keep[1], op->flip[1], y);                                         \
        for (unsigned k = 0; k < 2; k++)                                                           \
            for (unsigned i = 0; i < 16; i++)                                                      \
                r[k][i] = (expression);                                                            \
        for (unsigned k = 0; k < 2; k++)                                                           \
            for (unsigned i = 0; i < 16; i += 8)                                                   \
                _mm_storeu_si128((void *)&half[k][i],                                              \
                                 _mm256_cvtps_ph(_mm256_loadu_ps(&r[k][i]), 0));                   \
        for (unsigned i = 0; i < 16; i++)                                                          \
            d[first + i] = half_result(r[0][i], half[0][i]) | half_result(r[1][i], half[1][i])     \
                                                                  << 16;                           \
    }

KERNEL(hadd2){HALF_LANES(x[k][i] + y[k][i])}

KERNEL(hmul2){HALF_LANES(x[k][i] * y[k][i])}

KERNEL(f16_to_f32)
{
    TAKE();
    float x[2][16];

    for (unsigned first = 0; first < SIM_LANES; first += 16) {
        halves_of(b + first, op->keep[1], op->flip[1], x);
        for (unsigned i = 0; i < 16; i++)
            d[first + i] = float_result(x[0][i]);
    }
}

KERNEL(f32_to_f16)
{
    TAKE();
    for (unsigned first = 0; first < SIM_LANES; first += 8) {
        float x[8];
        uint16_t half[8];

        for (unsigned i = 0; i < 8; i++)
            x[i] = FLOAT(1, b, first + i);
        _mm_storeu_si128((void *)half, _mm256_cvtps_ph(_mm256_loadu_ps(x), 0));
        for (unsigned i = 0; i < 8; i++)
            d[first + i] = half_result(x[i], half[i]);
    }
}
#endif

/* ---- approximations, in the usual mode */

#define MUFU(name, function)                                                                       \
    KERNEL(name)                                                                                   \
    {                                                                                              \
        TAKE();                                                                                    \
        LANES d[i] = float_result(function(FLOAT(1, b, i)));                                       \
    }
MUFU(rcp, hd_approx_rcp)
MUFU(rsq, hd_approx_rsqrt)
MUFU(sqrt, __builtin_sqrtf)
MUFU(ex2, hd_approx_ex2)
MUFU(lg2, hd_approx_lg2)
MUFU(sin, hd_approx_sin)
MUFU(cos, hd_approx_cos)
MUFU(tanh, hd_approx_tanh)
#undef MUFU

/* ---- conversions */

KERNEL(i2f_s32)
{
    TAKE();
    LANES d[i] = hd_approx_bits((float)(int32_t)b[i]);
}

KERNEL(i2f_u32)
{
    TAKE();
    LANES d[i] = hd_approx_bits((float)b[i]);
}

static inline void put_pair(uint32_t *d, unsigned i, uint64_t v)
{
    d[i] = (uint32_t)v;
    d[SIM_LANES + i] = (uint32_t)(v >> 32);
}

KERNEL(i2d_s32)
{
    TAKE();
    LANES put_pair(d, i, hd_approx_bits64((double)(int32_t)b[i]));
}

KERNEL(i2d_u32)
{
    TAKE();
    LANES put_pair(d, i, hd_approx_bits64((double)b[i]));
}

/* Numbers beyond the range become its ends, NaN 0; the conversion itself never sees them. */
static inline uint32_t to_s32(float x)
{
    bool high = x >= 0x1p31f, low = x < -0x1p31f;
    int32_t r = (int32_t)((high | low | (x != x)) ? 0.0f : x);

    return high ? INT32_MAX : low ? 1u << 31 : (uint32_t)r;
}

static inline uint32_t to_u32(float x)
{
    bool high = x >= 0x1p32f, upper = x >= 0x1p31f;
    float y = upper ? x - 0x1p31f : x;
    int32_t r = (int32_t)((high | !(x > 0.0f)) ? 0.0f : y);

    return high ? UINT32_MAX : (uint32_t)r + (upper ? 1u << 31 : 0);
}

KERNEL(f2i_s32)
{
    TAKE();
    LANES d[i] = to_s32(__builtin_rintf(FLOAT(1, b, i)));
}

KERNEL(f2i_u32)
{
    TAKE();
    LANES d[i] = to_u32(__builtin_rintf(FLOAT(1, b, i)));
}

KERNEL(f2i_s32_rz)
{
    TAKE();
    LANES d[i] = to_s32(FLOAT(1, b, i));
}

KERNEL(f2i_u32_rz)
{
    TAKE();
    LANES d[i] = to_u32(FLOAT(1, b, i));
}

KERNEL(d2i_s32_rz)
{
    TAKE();
    LANES
    {
        double x = hd_approx_double(DOUBLE_BITS(1, b, i));
        bool high = x >= 0x1p31, low = x <= -0x1p31, nan = x != x;
        int32_t r = (int32_t)((high | low | nan) ? 0.0 : x);
        d[i] = high ? INT32_MAX : (low | nan) ? 1u << 31 : (uint32_t)r;
    }
}

KERNEL(f2d)
{
    TAKE();
    LANES
    {
        uint32_t v = with_sign(b[i], op->keep[1], op->flip[1]);
        put_pair(d, i, hd_approx_bits64((double)hd_approx_float(v)));
    }
}

KERNEL(d2f)
{
    TAKE();
    LANES d[i] = float_result((float)hd_approx_double(DOUBLE_BITS(1, b, i)));
}

/* ---- addresses */

static uint64_t loop_find(const struct sim_window *window, uint32_t mask, const uint64_t *addresses,
                          char **hosts)
{
    return sim_loop_find(window, mask, addresses, hosts);
}

static void loop_wide(const uint32_t *a, uint64_t add, uint64_t *out)
{
    sim_loop_wide(a, add, out);
}

static void loop_narrow(const uint32_t *a, uint64_t add, uint64_t *out)
{
    sim_loop_narrow(a, add, out);
}

static void loop_blend(uint32_t *to, const uint32_t *from, unsigned nrows, uint32_t mask)
{
    sim_loop_blend(to, from, nrows, mask);
}

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)
extern const struct sim_kernels GLUE(sim_kernels_, SIM_LEVEL);
const struct sim_kernels GLUE(sim_kernels_, SIM_LEVEL) = {
#define X(name) .name = lanes_##name,
    SIM_KERNELS(X)
#undef X
        .loops = {loop_find, loop_wide, loop_narrow, loop_blend},
};
