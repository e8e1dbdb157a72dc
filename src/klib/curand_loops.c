/* CURAND_LOOPS is what this level's table is called. */
#include "klib/curand_loops.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"

/* Before a loop whose arrays do not overlap. */
#if defined(__clang__)
#define APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define APART _Pragma("GCC ivdep")
#endif

#define TWO_M32 0x1p-32
#define TWO_M53 0x1p-53

/* ---- XORWOW: Marsaglia, "Xorshift RNGs" (2003) */

#define WEYL 362437u

static inline uint32_t xorshift(uint32_t oldest, uint32_t newest)
{
    uint32_t t = oldest ^ oldest >> 2;

    return newest ^ newest << 4 ^ t ^ t << 1;
}

static void xorwow_1(uint32_t *restrict s, uint32_t stride, uint32_t n, uint32_t *restrict out)
{
    uint32_t *restrict v0 = s, *restrict v1 = v0 + stride, *restrict v2 = v1 + stride;
    uint32_t *restrict v3 = v2 + stride, *restrict v4 = v3 + stride, *restrict d = v4 + stride;

    APART
    for (uint32_t j = 0; j < n; j++) {
        uint32_t next = xorshift(v0[j], v4[j]);
        v0[j] = v1[j];
        v1[j] = v2[j];
        v2[j] = v3[j];
        v3[j] = v4[j];
        v4[j] = next;
        d[j] += WEYL;
        out[j] = next + d[j];
    }
}

/* Five steps renew all words, so that none is moved. */
static void xorwow_5(uint32_t *restrict s, uint32_t stride, uint32_t n, uint32_t *restrict out)
{
    uint32_t *restrict v0 = s, *restrict v1 = v0 + stride, *restrict v2 = v1 + stride;
    uint32_t *restrict v3 = v2 + stride, *restrict v4 = v3 + stride, *restrict d = v4 + stride;
    uint32_t *restrict o1 = out + n, *restrict o2 = o1 + n, *restrict o3 = o2 + n;
    uint32_t *restrict o4 = o3 + n;

    APART
    for (uint32_t j = 0; j < n; j++) {
        uint32_t a = xorshift(v0[j], v4[j]), b = xorshift(v1[j], a), c = xorshift(v2[j], b);
        uint32_t e = xorshift(v3[j], c), f = xorshift(v4[j], e), weyl = d[j];
        out[j] = a + weyl + WEYL;
        o1[j] = b + weyl + 2 * WEYL;
        o2[j] = c + weyl + 3 * WEYL;
        o3[j] = e + weyl + 4 * WEYL;
        o4[j] = f + weyl + 5 * WEYL;
        v0[j] = a;
        v1[j] = b;
        v2[j] = c;
        v3[j] = e;
        v4[j] = f;
        d[j] = weyl + 5 * WEYL;
    }
}

static void xorwow(uint32_t *state, uint32_t stride, uint32_t n, uint32_t draws, uint32_t *out)
{
    for (; draws >= 5; draws -= 5, out += 5 * (size_t)n)
        xorwow_5(state, stride, n, out);
    for (; draws; draws--, out += n)
        xorwow_1(state, stride, n, out);
}

/* ---- MRG32k3a: L'Ecuyer (1999) */

#define M1 4294967087u
#define M2 4294944443u

/* x modulo 2^32 - c, for x below 2^53. */
static inline uint32_t folded(uint64_t x, uint32_t c)
{
    uint64_t modulus = (1ull << 32) - c;

    x = (x >> 32) * c + (uint32_t)x;
    x = (x >> 32) * c + (uint32_t)x;
    return (uint32_t)(x >= modulus ? x - modulus : x);
}

static void mrg32k3a_1(uint32_t *restrict s, uint32_t stride, uint32_t n, uint32_t *restrict out)
{
    uint32_t *restrict a0 = s, *restrict a1 = a0 + stride, *restrict a2 = a1 + stride;
    uint32_t *restrict b0 = a2 + stride, *restrict b1 = b0 + stride, *restrict b2 = b1 + stride;

    APART
    for (uint32_t j = 0; j < n; j++) {
        uint32_t p = folded(1403580ull * a1[j] + 810728ull * (M1 - a0[j]), 209);
        uint32_t q = folded(527612ull * b2[j] + 1370589ull * (M2 - b0[j]), 22853);
        a0[j] = a1[j];
        a1[j] = a2[j];
        a2[j] = p;
        b0[j] = b1[j];
        b1[j] = b2[j];
        b2[j] = q;
        out[j] = p - q + (p <= q ? M1 : 0);
    }
}

static void mrg32k3a(uint32_t *state, uint32_t stride, uint32_t n, uint32_t draws, uint32_t *out)
{
    for (; draws; draws--, out += n)
        mrg32k3a_1(state, stride, n, out);
}

/* ---- Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011) */

static void philox(uint64_t first, uint32_t n, uint32_t streams, uint64_t seed,
                   uint32_t *restrict out)
{
    unsigned shift = (unsigned)__builtin_ctz(streams);

    for (uint32_t j = 0; j < n; j++) {
        uint64_t counter = (first + j) >> shift;
        uint32_t a = (uint32_t)counter, b = (uint32_t)(counter >> 32);
        uint32_t c = (uint32_t)(first + j) & (streams - 1), d = 0;
        uint32_t k = (uint32_t)seed, l = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++) {
            uint64_t p = 0xd2511f53ull * a, q = 0xcd9e8d57ull * c;
            a = (uint32_t)(q >> 32) ^ b ^ k;
            b = (uint32_t)q;
            c = (uint32_t)(p >> 32) ^ d ^ l;
            d = (uint32_t)p;
            k += 0x9e3779b9u;
            l += 0xbb67ae85u;
        }
        out[4 * (size_t)j] = a;
        out[4 * (size_t)j + 1] = b;
        out[4 * (size_t)j + 2] = c;
        out[4 * (size_t)j + 3] = d;
    }
}

/* ---- MT19937: Matsumoto and Nishimura (1998) */

static inline uint32_t twist(uint32_t high, uint32_t low, uint32_t other)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);

    return other ^ y >> 1 ^ ((0u - (y & 1)) & 0x9908b0dfu);
}

static void mt19937_next(uint32_t *words)
{
    enum { M = 397, LEFT = MT_WORDS - M };
    uint32_t old[MT_WORDS];

    memcpy(old, words, sizeof(old));
    for (int i = 0; i < LEFT; i++)
        words[i] = twist(old[i], old[i + 1], old[i + M]);
    /* words[i - LEFT] is new, and long written */
    for (int from = LEFT; from < MT_WORDS - 1; from += LEFT) {
        int to = HD_MIN(from + LEFT, MT_WORDS - 1);
        uint32_t *restrict at = words + from;
        const uint32_t *restrict other = words + from - LEFT;
        for (int i = 0; i < to - from; i++)
            at[i] = twist(old[from + i], old[from + i + 1], other[i]);
    }
    words[MT_WORDS - 1] = twist(old[MT_WORDS - 1], words[0], words[M - 1]);
}

static void mt19937_temper(uint32_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t y = words[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        words[i] = y ^ y >> 18;
    }
}

#if defined(__AVX512F__)
#define VECTOR_WORDS 16
#elif defined(__AVX2__)
#define VECTOR_WORDS 8
#else
#define VECTOR_WORDS 4
#endif
typedef uint32_t vector __attribute__((vector_size(4 * VECTOR_WORDS)));

static void mt19937_sum(const uint32_t *state, const uint16_t *indices, uint32_t count,
                        uint32_t *sum)
{
    enum { VECTORS = 13, PART = VECTORS * VECTOR_WORDS }; /* as many as stay in registers */
    _Static_assert(MT_WORDS % PART == 0, "parts");

    for (int from = 0; from < MT_WORDS; from += PART) {
        vector part[VECTORS] = {{0}};
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *add = state + indices[i] + from;
#pragma GCC unroll 13
            for (int j = 0; j < VECTORS; j++) {
                vector v;
                memcpy(&v, add + j * VECTOR_WORDS, sizeof(v));
                part[j] ^= v;
            }
        }
        memcpy(sum + from, part, sizeof(part));
    }
}

/* ---- distributions: numbers in (0, 1], as cuRAND's headers make them */

static inline float uniform(uint32_t x)
{
    return (float)x * (float)TWO_M32 + (float)(TWO_M32 / 2);
}
static inline double uniform_53(uint32_t x, uint32_t y)
{
    uint64_t z = x ^ (uint64_t)y << 21;

    return (double)(int64_t)z * TWO_M53 + TWO_M53 / 2;
}
#define MRG_SCALE 2.3283065498378288e-10 /* 1 / m1 */
static inline uint32_t mrg_bits(uint32_t z)
{
    return (uint32_t)(int64_t)((double)z * 1.000000048662);
}

/* log(u), for u in [2^-33, 1]. */
static inline float log_of(float u)
{
    union {
        float value;
        int32_t bits;
    } x = {.value = u};
    int32_t e = (x.bits - 0x3f3504f3) >> 23; /* of a mantissa from sqrt(1/2) to sqrt(2) */

    x.bits -= e * (1 << 23);
    float s = (x.value - 1.0f) / (x.value + 1.0f), z = s * s;
    float series = 2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9 + z * (2.0f / 11))));
    return (float)e * 0.693147182f + (float)e * -1.90465421e-9f + (2.0f * s + s * z * series);
}

/* The sine of y + 1/2 parts of a turn of 2^32. */
static inline float sine(uint32_t y)
{
    uint32_t quadrant = (y + (1u << 29)) >> 30;
    float a = ((float)(int32_t)(y - (quadrant << 30)) + 0.5f) * 1.46291807926715968e-9f;
    float z = a * a;
    float s = a + a * z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z / 362880)));
    float c = 1.0f + z * (-0.5f + z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320))));
    float value = quadrant & 1 ? c : s;

    return quadrant & 2 ? -value : value;
}

/* A pair of normal numbers of each pair of words: Box and Muller. */
static void normal_pairs(const uint32_t *restrict x, bool is_mrg, uint32_t n, float mean,
                         float deviation, float *restrict to)
{
    const uint32_t *restrict y = x + n;
    float u[CURAND_GROUP];

    for (uint32_t from = 0; from < n; from += CURAND_GROUP) {
        uint32_t count = HD_MIN(n - from, (uint32_t)CURAND_GROUP);
        uint32_t turn[CURAND_GROUP];
        float *restrict at = to + 2 * (size_t)from;
        if (is_mrg) {
            for (uint32_t j = 0; j < count; j++)
                u[j] = (float)((double)x[from + j] * MRG_SCALE);
            for (uint32_t j = 0; j < count; j++)
                turn[j] = mrg_bits(y[from + j]);
        } else {
            for (uint32_t j = 0; j < count; j++)
                u[j] = uniform(x[from + j]);
            memcpy(turn, y + from, count * sizeof(*turn));
        }
        APART
        for (uint32_t j = 0; j < count; j++) {
            float radius = sqrtf(-2.0f * log_of(u[j]));
            at[2 * j] = mean + deviation * (radius * sine(turn[j]));
            at[2 * j + 1] = mean + deviation * (radius * sine(turn[j] + (1u << 30)));
        }
    }
}

static void normal_pairs_f64(const uint32_t *x, bool is_mrg, uint32_t n, double mean,
                             double deviation, double *to)
{
    for (uint32_t j = 0; j < n; j++, x++) {
        double u, v; /* v: half turns */
        if (is_mrg) {
            u = (double)x[0] * MRG_SCALE;
            v = 2 * ((double)x[n] * MRG_SCALE);
        } else {
            u = uniform_53(x[0], x[n]);
            v = 2 * uniform_53(x[2 * (size_t)n], x[3 * (size_t)n]);
        }
        double radius = sqrt(-2 * log(u)), angle = 3.14159265358979323846 * v;
        to[2 * (size_t)j] = mean + deviation * (radius * sin(angle));
        to[2 * (size_t)j + 1] = mean + deviation * (radius * cos(angle));
    }
}

static inline double polynomial(const double *c, int degree, double x)
{
    double sum = c[degree];

    while (degree--)
        sum = sum * x + c[degree];
    return sum;
}

/*
 * The inverse of the normal distribution, for p up to 1/2: M. J. Wichura's algorithm AS 241, PPND16
 * (Applied Statistics 37, 1988).
 */
static double normal_inverse(double p)
{
    static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                               1.9715909503065514427e+3, 1.3731693765509461125e+4,
                               4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double b[] = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                               5.76949722146069140550e0,  3.64784832476320460504e0,
                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    double q = p - 0.5;

    if (q >= -0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(a, 7, r) / polynomial(b, 7, r);
    }
    double r = sqrt(-log(p));
    if (r <= 5)
        return -polynomial(c, 7, r - 1.6) / polynomial(d, 7, r - 1.6);
    return -polynomial(e, 7, r - 5) / polynomial(f, 7, r - 5);
}

/* Both tails have the precision of the words. */
static double normal_of_32(uint32_t x)
{
    bool is_upper = x > 0x80000000u;
    double z = normal_inverse((double)(is_upper ? ~x : x) * TWO_M32 + TWO_M32 / 2);

    return is_upper ? -z : z;
}
static double normal_of_64(uint64_t x)
{
    x >>= 11;
    bool is_upper = x > 1ull << 52;
    double z =
        normal_inverse((double)(is_upper ? (1ull << 53) - 1 - x : x) * TWO_M53 + TWO_M53 / 2);

    return is_upper ? -z : z;
}

static inline uint32_t discrete(const struct klib_discrete *d, uint32_t x)
{
    double u = (double)x * TWO_M32 + TWO_M32;
    uint32_t i = (uint32_t)(u * d->count);

    i = HD_MIN(i, d->count - 1);
    return d->shift + (u < d->limit[i] ? i : d->other[i]);
}

/* The least number whose distribution is u. */
static uint32_t discrete_inverse(const struct klib_discrete *d, double u)
{
    uint32_t low = 0, high = d->count - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (d->sums[middle] < u)
            low = middle + 1;
        else
            high = middle;
    }
    return d->shift + low;
}

static void exponentials(float *at, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        at[j] = expf(at[j]);
}
static void exponentials_f64(double *at, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++)
        at[j] = exp(at[j]);
}

static void convert(const struct klib_rand *call, bool is_mrg, const uint32_t *restrict x,
                    uint32_t n, void *to)
{
    uint32_t *restrict words = to;
    float *restrict f = to, mean = (float)call->mean, deviation = (float)call->deviation;
    double *restrict d = to;

    switch ((enum klib_rand_as)call->as) {
    case KLIB_RAND_BITS:
        if (!is_mrg) {
            memcpy(to, x, n * sizeof(*x));
            break;
        }
        for (uint32_t j = 0; j < n; j++)
            words[j] = mrg_bits(x[j]);
        break;
    case KLIB_RAND_UNIFORM:
        if (is_mrg)
            for (uint32_t j = 0; j < n; j++)
                f[j] = (float)((double)x[j] * MRG_SCALE);
        else
            for (uint32_t j = 0; j < n; j++)
                f[j] = uniform(x[j]);
        break;
    case KLIB_RAND_UNIFORM_F64:
        if (is_mrg)
            for (uint32_t j = 0; j < n; j++)
                d[j] = (double)x[j] * MRG_SCALE;
        else
            for (uint32_t j = 0; j < n; j++)
                d[j] = uniform_53(x[j], x[n + j]);
        break;
    case KLIB_RAND_NORMAL:
    case KLIB_RAND_LOG_NORMAL:
        normal_pairs(x, is_mrg, n, mean, deviation, f);
        if (call->as == KLIB_RAND_LOG_NORMAL)
            exponentials(f, 2 * n);
        break;
    case KLIB_RAND_NORMAL_F64:
    case KLIB_RAND_LOG_NORMAL_F64:
        normal_pairs_f64(x, is_mrg, n, call->mean, call->deviation, d);
        if (call->as == KLIB_RAND_LOG_NORMAL_F64)
            exponentials_f64(d, 2 * n);
        break;
    case KLIB_RAND_POISSON:
        for (uint32_t j = 0; j < n; j++)
            words[j] = discrete(&call->discrete, is_mrg ? mrg_bits(x[j]) : x[j]);
        break;
    }
}

/* Sobol's sequences and MTGP32: a number of each word, by the inverse of the distribution. */
#define SINGLE(name, word, to_uniform, to_uniform_f64, to_normal, to_normal_f64)                   \
    static void name(const struct klib_rand *call, const word *restrict x, uint32_t n, void *to)   \
    {                                                                                              \
        float *restrict f = to, mean = (float)call->mean, deviation = (float)call->deviation;      \
        double *restrict d = to;                                                                   \
        uint32_t *restrict words = to;                                                             \
                                                                                                   \
        switch ((enum klib_rand_as)call->as) {                                                     \
        case KLIB_RAND_BITS:                                                                       \
            memcpy(to, x, n * sizeof(*x));                                                         \
            break;                                                                                 \
        case KLIB_RAND_UNIFORM:                                                                    \
            for (uint32_t j = 0; j < n; j++)                                                       \
                f[j] = to_uniform(x[j]);                                                           \
            break;                                                                                 \
        case KLIB_RAND_UNIFORM_F64:                                                                \
            for (uint32_t j = 0; j < n; j++)                                                       \
                d[j] = to_uniform_f64(x[j]);                                                       \
            break;                                                                                 \
        case KLIB_RAND_NORMAL:                                                                     \
        case KLIB_RAND_LOG_NORMAL:                                                                 \
            for (uint32_t j = 0; j < n; j++)                                                       \
                f[j] = mean + deviation * (float)to_normal(x[j]);                                  \
            if (call->as == KLIB_RAND_LOG_NORMAL)                                                  \
                exponentials(f, n);                                                                \
            break;                                                                                 \
        case KLIB_RAND_NORMAL_F64:                                                                 \
        case KLIB_RAND_LOG_NORMAL_F64:                                                             \
            for (uint32_t j = 0; j < n; j++)                                                       \
                d[j] = call->mean + call->deviation * to_normal_f64(x[j]);                         \
            if (call->as == KLIB_RAND_LOG_NORMAL_F64)                                              \
                exponentials_f64(d, n);                                                            \
            break;                                                                                 \
        case KLIB_RAND_POISSON:                                                                    \
            for (uint32_t j = 0; j < n; j++)                                                       \
                words[j] = discrete_inverse(&call->discrete, to_uniform_f64(x[j]));                \
            break;                                                                                 \
        }                                                                                          \
    }
static inline double uniform_32(uint32_t x)
{
    return (double)x * TWO_M32 + TWO_M32;
}
static inline float uniform_of_64(uint64_t x)
{
    return uniform((uint32_t)(x >> 32));
}
static inline double uniform_64(uint64_t x)
{
    return (double)(int64_t)(x >> 11) * TWO_M53 + TWO_M53 / 2;
}
static double normal_of_high(uint64_t x)
{
    return normal_of_32((uint32_t)(x >> 32));
}
SINGLE(convert_single, uint32_t, uniform, uniform_32, normal_of_32, normal_of_32)
SINGLE(convert64, uint64_t, uniform_of_64, uniform_64, normal_of_high, normal_of_64)
#undef SINGLE

const struct curand_loops CURAND_LOOPS = {.xorwow = xorwow,
                                          .mrg32k3a = mrg32k3a,
                                          .philox = philox,
                                          .mt19937_next = mt19937_next,
                                          .mt19937_temper = mt19937_temper,
                                          .mt19937_sum = mt19937_sum,
                                          .convert = convert,
                                          .convert64 = convert64,
                                          .convert_single = convert_single};
