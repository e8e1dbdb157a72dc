/*
 * Philox4x32-10 and what cuRAND makes of its words, for a block of a GPU's threads at a time.
 *
 * Sources: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); the documentation
 * of cuRAND's device interface: thread t that calls curand_init(seed, t, offset) and then curand4()
 * for the k-th time (from 0) has the cipher of counter (offset / 4 + k, t) under the key `seed`.
 *
 * Words and uniform numbers are a GPU's to the bit. What goes through a logarithm, a sine or an
 * exponential differs in the last bits: a GPU has sines from a unit of its own (__sincosf), whose
 * tables are not published. The steps before and after it are rounded as there.
 *
 * Loops are over whole groups of lanes: results behind the count that is asked for are undefined.
 */
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace heddle {

constexpr int BLOCK = 256; /* threads of a block of PyTorch's kernels */
constexpr int LANES = 16;

/* Of each thread of a block: what one curand4() gives. */
struct Words {
    alignas(64) uint32_t of[4][BLOCK];
};
struct Floats {
    alignas(64) float of[4][BLOCK];
};

/* The same code for processors with and without AVX2 and AVX-512, chosen when it is loaded. */
#if defined(__x86_64__)
#define HEDDLE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEDDLE_CLONES
#endif
#define HEDDLE_LANE static inline __attribute__((always_inline))

typedef uint64_t u64x8 __attribute__((vector_size(64)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x16 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef float f32x16 __attribute__((vector_size(64)));

/* GCC makes the same of loops. */
#if __has_builtin(__builtin_elementwise_fma)
#define HEDDLE_FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#define HEDDLE_SQRT(a)      __builtin_elementwise_sqrt(a)
#else
#define HEDDLE_FMA(a, b, c)                                                                        \
    ({                                                                                             \
        f32x16 a_ = (a), b_ = (b), c_ = (c), r_;                                                   \
        for (int i_ = 0; i_ < 16; i_++)                                                            \
            r_[i_] = __builtin_fmaf(a_[i_], b_[i_], c_[i_]);                                       \
        r_;                                                                                        \
    })
#define HEDDLE_SQRT(a)                                                                             \
    ({                                                                                             \
        f32x16 a_ = (a), r_;                                                                       \
        for (int i_ = 0; i_ < 16; i_++)                                                            \
            r_[i_] = __builtin_sqrtf(a_[i_]);                                                      \
        r_;                                                                                        \
    })
#endif

constexpr uint32_t PHILOX_M0 = 0xd2511f53, PHILOX_M1 = 0xcd9e8d57;
constexpr uint32_t PHILOX_W0 = 0x9e3779b9, PHILOX_W1 = 0xbb67ae85;

struct Counter {
    uint32_t c[4];
};

inline Counter philox(uint64_t seed, uint64_t counter, uint64_t thread)
{
    uint32_t a = static_cast<uint32_t>(counter), b = static_cast<uint32_t>(counter >> 32),
             c = static_cast<uint32_t>(thread), d = static_cast<uint32_t>(thread >> 32),
             k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t p = static_cast<uint64_t>(PHILOX_M0) * a, q = static_cast<uint64_t>(PHILOX_M1) * c;
        a = static_cast<uint32_t>(q >> 32) ^ b ^ k0;
        b = static_cast<uint32_t>(q);
        c = static_cast<uint32_t>(p >> 32) ^ d ^ k1;
        d = static_cast<uint32_t>(p);
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    return {{a, b, c, d}};
}

/*
 * The first `count` threads from `first` on, which is a multiple of BLOCK. A lane of 64 bits has
 * one word, and above it what nobody reads: so a product needs no shuffles.
 */
HEDDLE_CLONES static void philox_block(uint64_t seed, uint64_t counter, uint64_t first, int count,
                                       Words *out)
{
    const u64x8 lane = {0, 1, 2, 3, 4, 5, 6, 7};

    for (int j = 0; j < count; j += 8) {
        u64x8 a = u64x8{} + counter, b = u64x8{} + (counter >> 32),
              c = lane + (first + static_cast<uint64_t>(j)), d = u64x8{} + (first >> 32);
        uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
        for (int round = 0; round < 10; round++) {
            u64x8 p = (a & 0xffffffffu) * PHILOX_M0, q = (c & 0xffffffffu) * PHILOX_M1;
            a = q >> 32 ^ b ^ k0;
            b = q;
            c = p >> 32 ^ d ^ k1;
            d = p;
            k0 += PHILOX_W0;
            k1 += PHILOX_W1;
        }
        *reinterpret_cast<u32x8 *>(&out->of[0][j]) = __builtin_convertvector(a, u32x8);
        *reinterpret_cast<u32x8 *>(&out->of[1][j]) = __builtin_convertvector(b, u32x8);
        *reinterpret_cast<u32x8 *>(&out->of[2][j]) = __builtin_convertvector(c, u32x8);
        *reinterpret_cast<u32x8 *>(&out->of[3][j]) = __builtin_convertvector(d, u32x8);
    }
}

/* ---- from words to numbers */

constexpr float TWO_M32 = 2.3283064365386963e-10f, TWO_M33 = TWO_M32 / 2;
constexpr double TWO_M53 = 1.1102230246251565e-16;

/* (0, 1]; curand_uniform() */
inline float uniform_of(uint32_t x)
{
    return static_cast<float>(x) * TWO_M32 + TWO_M33;
}
/* curand_uniform2_double() */
inline double uniform_of(uint32_t x, uint32_t y)
{
    uint64_t z = x ^ static_cast<uint64_t>(y) << 21;
    return static_cast<double>(z) * TWO_M53 + TWO_M53 / 2;
}

/*
 * Lanes are given by reference: how they are passed by value depends on the processor that a
 * function is for.
 */

HEDDLE_LANE void uniform_of(const u32x16 &words, f32x16 &out)
{
    out = __builtin_convertvector(words, f32x16) * TWO_M32 + TWO_M33;
}

/* The natural logarithm of normal numbers, to about one unit in the last place. */
HEDDLE_LANE void log_of(const f32x16 &x, f32x16 &out)
{
    u32x16 bits = reinterpret_cast<u32x16>(x);
    u32x16 e = (bits - 0x3f2aaaabu) & 0xff800000u; /* so that m is in [2/3, 4/3) */
    f32x16 exponent = __builtin_convertvector(reinterpret_cast<i32x16>(e), f32x16) * 0x1p-23f;
    f32x16 m = reinterpret_cast<f32x16>(bits - e), f = m - 1.0f;
    f32x16 p = f32x16{} - 0.1294897050f;

    for (float c : {0.1400476247f, -0.1216715276f, 0.1400115937f, -0.1668230593f, 0.2001074702f,
                    -0.2499971688f, 0.3333320916f, -0.5f})
        p = HEDDLE_FMA(p, f, f32x16{} + c);
    f = HEDDLE_FMA(p, f * f, f);
    out = HEDDLE_FMA(exponent, f32x16{} + 0.693147182f, f);
}

/*
 * Sine and cosine of angles of [0, 2 pi]. The angle becomes turns as on a GPU: multiplied by a
 * factor close to 1 / (2 pi) and cut off, before its unit takes over.
 */
HEDDLE_LANE void sincos_of(const f32x16 &angle, f32x16 &sine, f32x16 &cosine)
{
    const f32x16 factor = f32x16{} + 0.15915493667125702f;
    f32x16 turns = angle * factor;
    i32x16 above = HEDDLE_FMA(angle, factor, -turns) < 0.0f; /* rounded up */

    turns = reinterpret_cast<f32x16>(reinterpret_cast<i32x16>(turns) + above);
    i32x16 quarter = __builtin_convertvector(turns * 4.0f + 0.5f, i32x16);
    f32x16 r = turns - __builtin_convertvector(quarter, f32x16) * 0.25f, z = r * r;
    f32x16 s = f32x16{} + 41.48467636f, c = f32x16{} + 59.36256027f;
    for (float k : {-76.69829559f, 81.60520935f, -41.34170151f, 6.283185307f})
        s = HEDDLE_FMA(s, z, f32x16{} + k);
    for (float k : {-85.44745636f, 64.93936157f, -19.73920880f, 1.0f})
        c = HEDDLE_FMA(c, z, f32x16{} + k);
    s *= r;
    i32x16 odd = -(quarter & 1), S = reinterpret_cast<i32x16>(s), C = reinterpret_cast<i32x16>(c);
    i32x16 changed = (S ^ C) & odd;
    sine = reinterpret_cast<f32x16>(S ^ changed ^ (quarter & 2) << 30);
    cosine = reinterpret_cast<f32x16>(C ^ changed ^ ((quarter + 1) & 2) << 30);
}

/* curand_normal2(): Box and Muller's method. */
HEDDLE_LANE void normal_of(const u32x16 &x, const u32x16 &y, f32x16 &first, f32x16 &second)
{
    const float scale = 1.462918046e-9f; /* 2 pi / 2^32 */
    f32x16 u, s, c;

    uniform_of(x, u);
    log_of(u, u);
    f32x16 radius = HEDDLE_SQRT(-2.0f * u);
    sincos_of(
        HEDDLE_FMA(__builtin_convertvector(y, f32x16), f32x16{} + scale, f32x16{} + scale / 2), s,
        c);
    first = s * radius;
    second = c * radius;
}

HEDDLE_CLONES static void uniform_block(const uint32_t *words, int count, float *out)
{
    for (int j = 0; j < count; j += LANES)
        uniform_of(*reinterpret_cast<const u32x16 *>(&words[j]),
                   *reinterpret_cast<f32x16 *>(&out[j]));
}

/* x * by + add, rounded once: GPUs fuse it. */
HEDDLE_CLONES static void fused_block(float *x, int count, float by, float add)
{
    for (int j = 0; j < count; j += LANES) {
        auto &v = *reinterpret_cast<f32x16 *>(&x[j]);
        v = HEDDLE_FMA(v, f32x16{} + by, f32x16{} + add);
    }
}

HEDDLE_CLONES static void normal_block(const uint32_t *x, const uint32_t *y, int count,
                                       float *first, float *second)
{
    for (int j = 0; j < count; j += LANES)
        normal_of(*reinterpret_cast<const u32x16 *>(&x[j]),
                  *reinterpret_cast<const u32x16 *>(&y[j]), *reinterpret_cast<f32x16 *>(&first[j]),
                  *reinterpret_cast<f32x16 *>(&second[j]));
}

/* One pair. */
HEDDLE_CLONES static void normal_of(uint32_t x, uint32_t y, float *first, float *second)
{
    f32x16 a, b;

    normal_of(u32x16{} + x, u32x16{} + y, a, b);
    *first = a[0];
    *second = b[0];
}

/* curand_normal2_double() */
inline std::pair<double, double> normal_of(const Counter &w)
{
    const double pi = 3.14159265358979323846;
    uint64_t z = w.c[2] ^ static_cast<uint64_t>(w.c[3]) << 21;
    double radius = std::sqrt(-2.0 * std::log(uniform_of(w.c[0], w.c[1])));
    double half_turns = static_cast<double>(z) * (TWO_M53 * 2) + TWO_M53;
    double quarter = std::floor(half_turns * 2 + 0.5), r = half_turns - quarter * 0.5;
    double s = std::sin(pi * r), c = std::cos(pi * r);
    int q = static_cast<int>(quarter);
    double a = q & 1 ? c : s, b = q & 1 ? s : c;

    return {radius * (q & 2 ? -a : a), radius * ((q + 1) & 2 ? -b : b)};
}

/* GPUs' fast functions of floats (__logf, __expf): by way of base 2. */
inline float fast_log(float x)
{
    return std::log2(x) * 0.693147182f;
}
inline float fast_exp(float x)
{
    return std::exp2(x * 1.44269502f);
}

/* One thread that draws as it goes. */
class Stream {
  public:
    Stream(uint64_t seed, uint64_t thread, uint64_t offset)
        : seed(seed), thread(thread), counter(offset / 4)
    {
    }
    uint32_t word()
    {
        if (at == 4) {
            block = philox(seed, counter++, thread);
            at = 0;
        }
        return block.c[at++];
    }
    float uniform()
    {
        return uniform_of(word());
    }
    float normal()
    {
        if (has_kept) {
            has_kept = false;
            return kept;
        }
        uint32_t x = word(), y = word();
        float first;
        normal_of(x, y, &first, &kept);
        has_kept = true;
        return first;
    }
    double normal_double()
    {
        Counter w;
        for (uint32_t &x : w.c)
            x = word();
        return normal_of(w).first;
    }

  private:
    uint64_t seed, thread, counter;
    Counter block{};
    int at = 4;
    bool has_kept = false;
    float kept = 0;
};

} // namespace heddle
