/*
 * Accesses of 16 bytes by the lanes of a warp, which gen/gen_pieces.c calls. Addresses are of the
 * program's memory and aligned, as code has checked; those of lanes outside of `mask` are anything.
 * Registers are arrays of 32 lanes: four of words or two of double words.
 */
#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "jit/jit_private.h"

enum { LANES = 32, PIECE_B = 16, LINE_B = 64 };

struct piece {
    unsigned char bytes[PIECE_B];
};

static struct piece *piece_at(uint64_t address)
{
    return (struct piece *)(uintptr_t)address;
}

/* ---- lane by lane: a piece is n elements */

#define INLINE static inline __attribute__((always_inline))

INLINE char *element(void *regs, unsigned n, unsigned i, unsigned lane)
{
    return (char *)regs + (size_t)(i * LANES + lane) * (PIECE_B / n);
}

INLINE void n_load(unsigned n, uint32_t mask, const uint64_t *address, void *regs)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct piece x = {{0}};
        if (mask >> lane & 1)
            x = *piece_at(address[lane]);
        for (unsigned i = 0; i < n; i++)
            memcpy(element(regs, n, i, lane), x.bytes + i * (PIECE_B / n), PIECE_B / n);
    }
}

INLINE void n_store(unsigned n, uint32_t mask, const uint64_t *address, void *regs)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct piece x;
        if (!(mask >> lane & 1))
            continue;
        for (unsigned i = 0; i < n; i++)
            memcpy(x.bytes + i * (PIECE_B / n), element(regs, n, i, lane), PIECE_B / n);
        *piece_at(address[lane]) = x;
    }
}

/* ---- all lanes */

#if defined(__x86_64__)
#include <immintrin.h>

INLINE void square_transpose(uint32_t n, __m128 x[4])
{
    if (n == 4) {
        _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]);
        return;
    }
    __m128 upper = _mm_movehl_ps(x[1], x[0]);
    x[0] = _mm_movelh_ps(x[0], x[1]);
    x[1] = upper;
}

/* Four lanes of words, or two of double words, are a square, which is transposed. */
INLINE void squares_load(uint32_t n, const uint64_t *address, char *regs)
{
    for (unsigned lane = 0; lane < LANES; lane += n) {
        __m128 x[4];
        for (unsigned i = 0; i < n; i++)
            x[i] = _mm_loadu_ps((const float *)(const void *)piece_at(address[lane + i]));
        square_transpose(n, x);
        for (unsigned i = 0; i < n; i++)
            _mm_storeu_ps((float *)(void *)element(regs, n, i, lane), x[i]);
    }
}

INLINE void squares_store(uint32_t n, const uint64_t *address, char *regs)
{
    for (unsigned lane = 0; lane < LANES; lane += n) {
        __m128 x[4];
        for (unsigned i = 0; i < n; i++)
            x[i] = _mm_loadu_ps((const float *)(const void *)element(regs, n, i, lane));
        square_transpose(n, x);
        for (unsigned i = 0; i < n; i++)
            _mm_storeu_ps((float *)(void *)piece_at(address[lane + i]), x[i]);
    }
}

/* With AVX-512 lanes i, i + 4, i + 8 and i + 12 become a vector; four of them are transposed. */
#define AVX512 __attribute__((target("avx512f,avx512dq")))

AVX512 static inline __m512i four_load(const uint64_t *address)
{
    const __m128i *a = (const void *)piece_at(address[0]), *b = (const void *)piece_at(address[4]);
    const __m128i *c = (const void *)piece_at(address[8]), *d = (const void *)piece_at(address[12]);
    __m512i x = _mm512_castsi128_si512(_mm_loadu_si128(a));
    x = _mm512_inserti32x4(x, _mm_loadu_si128(b), 1);
    x = _mm512_inserti32x4(x, _mm_loadu_si128(c), 2);
    return _mm512_inserti32x4(x, _mm_loadu_si128(d), 3);
}

AVX512 static inline void four_store(const uint64_t *address, __m512i x)
{
    _mm_storeu_si128((void *)piece_at(address[0]), _mm512_castsi512_si128(x));
    _mm_storeu_si128((void *)piece_at(address[4]), _mm512_extracti32x4_epi32(x, 1));
    _mm_storeu_si128((void *)piece_at(address[8]), _mm512_extracti32x4_epi32(x, 2));
    _mm_storeu_si128((void *)piece_at(address[12]), _mm512_extracti32x4_epi32(x, 3));
}

/* Rows of four words in each part of 128 bits. */
AVX512 static inline void transpose(__m512i x[4])
{
    __m512i a = _mm512_unpacklo_epi32(x[0], x[1]), b = _mm512_unpackhi_epi32(x[0], x[1]);
    __m512i c = _mm512_unpacklo_epi32(x[2], x[3]), d = _mm512_unpackhi_epi32(x[2], x[3]);
    x[0] = _mm512_unpacklo_epi64(a, c);
    x[1] = _mm512_unpackhi_epi64(a, c);
    x[2] = _mm512_unpacklo_epi64(b, d);
    x[3] = _mm512_unpackhi_epi64(b, d);
}

AVX512 static void words_load(const uint64_t *address, uint32_t (*regs)[LANES])
{
    for (unsigned h = 0; h < LANES; h += 16) {
        __m512i x[4];
        for (unsigned i = 0; i < 4; i++)
            x[i] = four_load(address + h + i);
        transpose(x);
        for (unsigned i = 0; i < 4; i++)
            _mm512_storeu_si512(regs[i] + h, x[i]);
    }
}

AVX512 static void words_store(const uint64_t *address, uint32_t (*regs)[LANES])
{
    for (unsigned h = 0; h < LANES; h += 16) {
        __m512i x[4];
        for (unsigned i = 0; i < 4; i++)
            x[i] = _mm512_loadu_si512(regs[i] + h);
        transpose(x);
        for (unsigned i = 0; i < 4; i++)
            four_store(address + h + i, x[i]);
    }
}

static bool all_load(uint32_t path, uint32_t n, const uint64_t *address, void *regs)
{
    if (path == JIT_AVX512 && n == 4)
        words_load(address, regs);
    else if (n == 4)
        squares_load(4, address, regs);
    else
        squares_load(2, address, regs);
    return true;
}

static bool all_store(uint32_t path, uint32_t n, const uint64_t *address, void *regs)
{
    if (path == JIT_AVX512 && n == 4)
        words_store(address, regs);
    else if (n == 4)
        squares_store(4, address, regs);
    else
        squares_store(2, address, regs);
    return true;
}

#else

static bool all_load(uint32_t path, uint32_t n, const uint64_t *address, void *regs)
{
    (void)path, (void)n, (void)address, (void)regs;
    return false;
}

static bool all_store(uint32_t path, uint32_t n, const uint64_t *address, void *regs)
{
    (void)path, (void)n, (void)address, (void)regs;
    return false;
}

#endif

/* ---- what code calls */

/* Of lanes that take no part registers become zero. */
void jit_rt_pieces_load(uint32_t path, uint32_t n, uint32_t mask, const uint64_t *address,
                        void *regs);
void jit_rt_pieces_load(uint32_t path, uint32_t n, uint32_t mask, const uint64_t *address,
                        void *regs)
{
    if (mask != UINT32_MAX || !all_load(path, n, address, regs)) {
        assert(n == 2 || n == 4);
        if (n == 4)
            n_load(4, mask, address, regs);
        else
            n_load(2, mask, address, regs);
    }
}

void jit_rt_pieces_store(uint32_t path, uint32_t n, uint32_t mask, const uint64_t *address,
                         void *regs);
void jit_rt_pieces_store(uint32_t path, uint32_t n, uint32_t mask, const uint64_t *address,
                         void *regs)
{
    if (mask != UINT32_MAX || !all_store(path, n, address, regs)) {
        assert(n == 2 || n == 4);
        if (n == 4)
            n_store(4, mask, address, regs);
        else
            n_store(2, mask, address, regs);
    }
}

/*
 * Programs start copies iterations before they use them, as GPUs do not wait for them. Here the
 * copy itself waits, so what it takes in the next iteration is asked for in this one: one piece
 * asks for its line.
 */
static inline void next_prefetch(uint64_t from, uint64_t more_B)
{
    if (more_B && from % LINE_B < PIECE_B)
        __builtin_prefetch(piece_at(from + more_B), 0, 2);
}

/* From global to shared memory; more_B: to what the next iteration copies, 0 = not known. */
void jit_rt_pieces(uint32_t mask, uint64_t more_B, const uint64_t *from, const uint64_t *to);
void jit_rt_pieces(uint32_t mask, uint64_t more_B, const uint64_t *from, const uint64_t *to)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        *piece_at(to[lane]) = *piece_at(from[lane]);
        next_prefetch(from[lane], more_B);
    }
}

/* ---- external names */

static const struct {
    const char *name;
    void *address;
} names[] = {
    {"jit_rt_pieces", (void *)jit_rt_pieces},
    {"jit_rt_pieces_load", (void *)jit_rt_pieces_load},
    {"jit_rt_pieces_store", (void *)jit_rt_pieces_store},
};

void *jit_rt_pieces_lookup(const char *name)
{
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        if (!strcmp(names[i].name, name))
            return names[i].address;
    }
    return NULL;
}
