#include "klib/curand.h"

#include <heddle/curand_jump.h>
#include <heddle/curand_mtgp32_sets.h>
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/host.h"
#include "klib/curand_loops.h"

enum {
    PHILOX_TILE = 4096, /* words */
    MT_GROUP = 32,      /* generators of a tile */
    MT_OCTET = 8,       /* words that a generator gives at a time */
    MT_OCTETS = MT_WORDS / MT_OCTET,
    MTGP_STATE = 351,
    MTGP_BLOCK = 256, /* words that a generator gives at a time */
    SOBOL_TILE = 4096 /* points of one dimension */
};

/* A generator of MT19937: the block of words that it gives now. */
struct mt19937 {
    uint64_t blocks; /* that there were, with this one */
    uint32_t words[MT_WORDS];
};

struct mtgp32 {
    uint64_t blocks;
    uint32_t state[MTGP_STATE + MTGP_BLOCK];
    uint32_t words[MTGP_BLOCK]; /* the last block */
};

struct klib_rand_state {
    struct klib_rand_setup setup;
    /* The stream that is next, the next word, or the next point: written by the last tile. */
    _Atomic uint64_t at;
    _Atomic uint64_t done; /* tiles of the kernel that runs */
    _Atomic int running;
    uint8_t *is_ready; /* groups of streams, generators: seeded */
    union {
        uint32_t *words; /* of each group: six words of each of its streams, word by word */
        struct mt19937 *mt;
        struct mtgp32 *mtgp;
    } of;
};

/* ---- what a call is made of */

static bool is_sobol(uint32_t type)
{
    return type == KLIB_RAND_SOBOL32 || type == KLIB_RAND_SOBOL64;
}

/* An item takes `draws` words and becomes `numbers`, of size_B each. */
struct item {
    uint32_t draws, numbers, size_B;
};

static struct item item_of(uint32_t type, uint32_t as)
{
    bool is_mrg = type == KLIB_RAND_MRG32K3A;
    struct item item = {1, 1, 4};

    switch ((enum klib_rand_as)as) {
    case KLIB_RAND_BITS:
        item.size_B = type == KLIB_RAND_SOBOL64 ? 8 : 4;
        break;
    case KLIB_RAND_UNIFORM:
    case KLIB_RAND_POISSON:
        break;
    case KLIB_RAND_UNIFORM_F64:
        item = (struct item){is_mrg ? 1 : 2, 1, 8};
        break;
    case KLIB_RAND_NORMAL:
    case KLIB_RAND_LOG_NORMAL:
        item = (struct item){2, 2, 4};
        break;
    case KLIB_RAND_NORMAL_F64:
    case KLIB_RAND_LOG_NORMAL_F64:
        item = (struct item){is_mrg ? 2 : 4, 2, 8};
        break;
    }
    if (is_sobol(type) || type == KLIB_RAND_MTGP32)
        item.draws = item.numbers = 1;
    return item;
}

static const struct curand_loops *loops(void)
{
    if (hd_host_has(HD_HOST_AVX512))
        return &curand_loops_avx512;
    return hd_host_has(HD_HOST_AVX2) ? &curand_loops_avx2 : &curand_loops_generic;
}

/* ---- XORWOW's streams, 2^67 steps apart */

#define STREAMS_LOG2 67

static void xorwow_step(uint32_t *v)
{
    uint32_t t = v[0] ^ v[0] >> 2;

    memmove(v, v + 1, 4 * sizeof(*v));
    v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
}

/* Jumps by 2^(first + i) steps for each bit i of n. */
static void xorwow_jump(uint32_t *v, uint64_t n, int first)
{
    for (int row = first - HEDDLE_XORWOW_JUMP_FIRST; n; n >>= 1, row++) {
        uint32_t sum[5] = {0};
        if (!(n & 1))
            continue;
        for (int i = 0; i < 160; i++) {
            uint32_t mask = 0u - (heddle_xorwow_jump[row][i / 32] >> (i & 31) & 1u);
            for (int w = 0; w < 5; w++)
                sum[w] ^= v[w] & mask;
            xorwow_step(v);
        }
        memcpy(v, sum, sizeof(sum));
    }
}

static void xorwow_skip(uint32_t *v, uint64_t n)
{
    for (uint64_t i = n & ((1u << HEDDLE_XORWOW_JUMP_FIRST) - 1); i; i--)
        xorwow_step(v);
    xorwow_jump(v, n >> HEDDLE_XORWOW_JUMP_FIRST, HEDDLE_XORWOW_JUMP_FIRST);
    v[5] += 362437u * (uint32_t)n;
}

/* As curand_init() of the device headers: five words and the counter. */
static void xorwow_init(uint64_t seed, uint32_t *v)
{
    uint32_t low = ((uint32_t)seed ^ 0xaad26b49u) * 1099087573u;
    uint32_t high = ((uint32_t)(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;

    v[0] = 123456789u + low;
    v[1] = 362436069u ^ low;
    v[2] = 521288629u + high;
    v[3] = 88675123u ^ high;
    v[4] = 5783321u + low;
    v[5] = 6615241u + high + low;
}

/* ---- MRG32k3a's streams, 2^76 steps apart */

struct matrix {
    uint32_t at[2][3][3]; /* of both recursions */
};

static const uint32_t moduli[] = {4294967087u, 4294944443u};

static struct matrix product(const struct matrix *a, const struct matrix *b)
{
    struct matrix r;

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 9; i++) {
            uint64_t sum = 0;
            for (int j = 0; j < 3; j++)
                sum += (uint64_t)a->at[k][i / 3][j] * b->at[k][j][i % 3] % moduli[k];
            r.at[k][i / 3][i % 3] = (uint32_t)(sum % moduli[k]);
        }
    return r;
}

static void apply(const struct matrix *a, uint32_t *v)
{
    uint32_t from[6];

    memcpy(from, v, sizeof(from));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            uint64_t sum = 0;
            for (int j = 0; j < 3; j++)
                sum += (uint64_t)a->at[k][i][j] * from[3 * k + j] % moduli[k];
            v[3 * k + i] = (uint32_t)(sum % moduli[k]);
        }
}

/* n times a step of `step`. */
static void apply_power(struct matrix step, uint64_t n, uint32_t *v)
{
    for (; n; n >>= 1) {
        if (n & 1)
            apply(&step, v);
        step = product(&step, &step);
    }
}

static const struct matrix mrg_step = {
    {{{0, 1, 0}, {0, 0, 1}, {4294967087u - 810728u, 1403580u, 0}},
     {{0, 1, 0}, {0, 0, 1}, {4294944443u - 1370589u, 0, 527612u}}}};
static struct matrix mrg_stream;
static pthread_once_t mrg_once = PTHREAD_ONCE_INIT;

static void mrg_find_stream(void)
{
    mrg_stream = mrg_step;
    for (int i = 0; i < 76; i++)
        mrg_stream = product(&mrg_stream, &mrg_stream);
}

static void mrg_init(uint64_t seed, uint32_t *v)
{
    uint64_t start = 12345, low = (uint32_t)seed ^ 0x55555555u;
    uint64_t high = (uint32_t)(seed >> 32) ^ 0xaaaaaaaau;

    for (int i = 0; i < 3; i++) {
        bool even = i % 2 == 0;
        v[i] = (uint32_t)(seed ? (even ? low : high) * start % moduli[0] : start);
        v[3 + i] = (uint32_t)(seed ? (even ? high : low) * start % moduli[1] : start);
    }
}

/* ---- streams */

static void streams_seed(struct klib_rand_state *s, uint64_t group)
{
    const struct klib_rand_setup *setup = &s->setup;
    bool is_mrg = setup->type == KLIB_RAND_MRG32K3A;
    uint64_t first = group * CURAND_GROUP, steps = setup->offset / setup->streams;
    uint64_t longer = setup->offset % setup->streams; /* the streams that gave one more */
    uint32_t v[6], *to = s->of.words + group * 6 * CURAND_GROUP;

    if (is_mrg)
        (void)pthread_once(&mrg_once, mrg_find_stream);
    for (uint64_t i = first; i < first + CURAND_GROUP; i++) {
        if (i == first || setup->is_seeded) {
            uint64_t seed = setup->seed + (setup->is_seeded ? i * 0x9e3779b97f4a7c15ull : 0);
            (is_mrg ? mrg_init : xorwow_init)(seed, v);
            if (is_mrg) {
                apply_power(mrg_step, steps, v);
                apply_power(mrg_stream, setup->is_seeded ? 0 : first, v);
            } else {
                xorwow_skip(v, steps);
                xorwow_jump(v, setup->is_seeded ? 0 : first, STREAMS_LOG2);
            }
        } else if (is_mrg) {
            apply(&mrg_stream, v);
        } else {
            xorwow_jump(v, 1, STREAMS_LOG2);
        }
        uint32_t one_more[6];
        memcpy(one_more, v, sizeof(v));
        if (i < longer) {
            if (is_mrg)
                apply(&mrg_step, one_more);
            else
                xorwow_skip(one_more, 1);
        }
        for (int w = 0; w < 6; w++)
            to[w * CURAND_GROUP + (int)(i - first)] = one_more[w];
    }
}

static void streams_tile(struct klib_rand_state *s, const struct klib_rand *call, uint64_t at,
                         uint64_t tile)
{
    const struct curand_loops *l = loops();
    struct item item = item_of(s->setup.type, call->as);
    bool is_mrg = s->setup.type == KLIB_RAND_MRG32K3A;
    uint64_t streams = s->setup.streams, end = at + call->n / item.numbers;
    uint64_t group = (at / CURAND_GROUP + tile) % (streams / CURAND_GROUP);
    uint32_t *words = s->of.words + group * 6 * CURAND_GROUP, drawn[CURAND_DRAWS * CURAND_GROUP];

    if (!s->is_ready[group]) {
        streams_seed(s, group);
        s->is_ready[group] = 1;
    }
    for (uint64_t row = group * CURAND_GROUP, rows; row < end; row += rows * streams) {
        uint64_t low = HD_MAX(row, at), high = HD_MIN(row + CURAND_GROUP, end);
        rows = 1;
        if (low >= high)
            continue;
        uint32_t n = (uint32_t)(high - low);
        if (n == CURAND_GROUP)
            rows = HD_MIN(CURAND_DRAWS / item.draws, (end - high) / streams + 1);
        (is_mrg ? l->mrg32k3a : l->xorwow)(words + (low - row), CURAND_GROUP, n,
                                           (uint32_t)rows * item.draws, drawn);
        for (uint64_t i = 0; i < rows; i++)
            l->convert(call, is_mrg, drawn + i * item.draws * n, n,
                       (char *)call->to + (low + i * streams - at) * item.numbers * item.size_B);
    }
}

/* ---- words */

/* `count` words of the call's, from word `first` on. */
static void emit(const struct klib_rand *call, struct item item, const uint32_t *words,
                 uint64_t count, uint64_t first)
{
    char *to = (char *)call->to + first / item.draws * item.numbers * item.size_B;
    uint32_t apart[4 * CURAND_GROUP];

    assert(first % item.draws == 0 && count % item.draws == 0);
    if (item.draws == 1) {
        if (call->state->setup.type == KLIB_RAND_MTGP32)
            loops()->convert_single(call, words, (uint32_t)count, to);
        else
            loops()->convert(call, false, words, (uint32_t)count, to);
        return;
    }
    for (uint64_t items = count / item.draws, n; items; items -= n) {
        n = HD_MIN(items, (uint64_t)CURAND_GROUP);
        for (uint64_t j = 0; j < n; j++)
            for (uint64_t i = 0; i < item.draws; i++)
                apart[i * n + j] = words[j * item.draws + i];
        loops()->convert(call, false, apart, (uint32_t)n, to);
        words += n * item.draws;
        to += n * item.numbers * item.size_B;
    }
}

/* Those of `words`, which are [first, first + n) of the sequence, that the call has: [at, end). */
static void emit_part(const struct klib_rand *call, struct item item, const uint32_t *words,
                      uint64_t first, uint64_t n, uint64_t at, uint64_t end)
{
    uint64_t low = HD_MAX(first, at), high = HD_MIN(first + n, end);

    if (low < high)
        emit(call, item, words + (low - first), high - low, low - at);
}

static void philox_tile(const struct klib_rand_state *s, const struct klib_rand *call,
                        struct item item, uint64_t at, uint64_t end, uint64_t tile)
{
    uint32_t words[PHILOX_TILE + 8];
    uint64_t first = at + tile * PHILOX_TILE, count = HD_MIN((uint64_t)PHILOX_TILE, end - first);
    uint64_t block = first / 4, blocks = (first + count + 3) / 4 - block;

    loops()->philox(block, (uint32_t)blocks, s->setup.streams, s->setup.seed, words);
    emit(call, item, words + first % 4, count, first - at);
}

#include "klib/curand_mt19937.inc"

/* x^(2^2048 2^i) modulo the minimal polynomial: where it has ones. */
static struct mt_jump {
    uint32_t count;
    uint16_t indices[MT_WORDS * 32];
} mt_jumps[13];
static pthread_once_t mt_once = PTHREAD_ONCE_INIT;

static void mt_square(const uint32_t *a, uint32_t *square)
{
    enum { DEGREE = 19937, TOP = DEGREE / 32, BIT = DEGREE % 32 };
    uint32_t wide[2 * MT_WORDS + 1] = {0}, high[MT_WORDS + 1];

    for (int i = 0; i < MT_WORDS * 32; i++)
        if (a[i / 32] >> (i & 31) & 1)
            wide[i / 16] |= 1u << (2 * i & 31);
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i <= MT_WORDS; i++) {
            high[i] = wide[TOP + i] >> BIT;
            if (TOP + i + 1 < 2 * MT_WORDS)
                high[i] |= wide[TOP + i + 1] << (32 - BIT);
            any |= high[i] != 0;
        }
        wide[TOP] &= (1u << BIT) - 1;
        memset(wide + TOP + 1, 0, (2 * MT_WORDS - TOP) * sizeof(*wide));
        for (size_t e = 0; any && e < HD_COUNT_OF(mt_exponents); e++) {
            unsigned word = mt_exponents[e] / 32, bit = mt_exponents[e] % 32;
            for (int i = 0; i < MT_WORDS; i++) {
                wide[word + i] ^= high[i] << bit;
                if (bit)
                    wide[word + i + 1] ^= high[i] >> (32 - bit);
            }
        }
    }
    memcpy(square, wide, MT_WORDS * sizeof(*square));
}

static void mt_find_jumps(void)
{
    uint32_t bits[MT_WORDS];

    memcpy(bits, mt_first_jump, sizeof(bits));
    for (size_t i = 0; i < HD_COUNT_OF(mt_jumps); i++, mt_square(bits, bits)) {
        struct mt_jump *jump = &mt_jumps[i];
        for (uint32_t bit = 0; bit < MT_WORDS * 32; bit++)
            if (bits[bit / 32] >> (bit & 31) & 1)
                jump->indices[jump->count++] = (uint16_t)bit;
    }
}

static void mt_advance(uint32_t *words, const struct mt_jump *jump)
{
    uint32_t all[19937 + MT_WORDS + MT_WORDS], sum[MT_WORDS];

    memcpy(all, words, MT_WORDS * sizeof(*words));
    for (int i = MT_WORDS; i < 19937 + MT_WORDS; i += MT_WORDS) {
        memcpy(all + i, all + i - MT_WORDS, MT_WORDS * sizeof(*all));
        loops()->mt19937_next(all + i);
    }
    loops()->mt19937_sum(all, jump->indices, jump->count, sum);
    memcpy(words, sum, sizeof(sum));
}

static void mt_seed(struct klib_rand_state *s, uint64_t group)
{
    uint64_t first = group * MT_GROUP, seed = s->setup.seed;
    struct mt19937 *mt = s->of.mt + first;

    (void)pthread_once(&mt_once, mt_find_jumps);
    mt->words[0] = (uint32_t)seed ^ (uint32_t)(seed >> 32);
    for (uint32_t i = 1; i < MT_WORDS; i++)
        mt->words[i] = 1812433253u * (mt->words[i - 1] ^ mt->words[i - 1] >> 30) + i;
    for (int bit = 0; first >> bit; bit++)
        if (first >> bit & 1)
            mt_advance(mt->words, &mt_jumps[bit]);
    for (int i = 1; i < MT_GROUP; i++) {
        memcpy(mt[i].words, mt[i - 1].words, sizeof(mt->words));
        mt_advance(mt[i].words, &mt_jumps[0]);
    }
}

/*
 * The generators give eight words each by turns. Octet k of a block is not its words 8 k to
 * 8 k + 7: on a GPU eight threads share a generator and keep such words as they can renew without
 * the others, which rocRAND (library/src/rng/mt19937_octo_engine.hpp) describes.
 */
static uint32_t mt_octet_word(uint32_t k, uint32_t lane)
{
    static const uint16_t alone[] = {0, 113, 170, 283, 340, 397, 510, 567};
    static const uint16_t sevens[] = {1, 57, 114, 171, 227, 284, 341, 398, 454, 511, 568};

    return k ? sevens[(k - 1) / 7] + 7 * lane + (k - 1) % 7 : alone[lane];
}

static void mt_tile(struct klib_rand_state *s, const struct klib_rand *call, struct item item,
                    uint64_t at, uint64_t end, uint64_t tile)
{
    enum { ROW = MT_GROUP * MT_OCTET };
    uint64_t row_words = (uint64_t)s->setup.streams * MT_OCTET;
    uint64_t group = (at / ROW + tile) % (s->setup.streams / MT_GROUP);
    struct mt19937 *mt = s->of.mt + group * MT_GROUP;
    uint32_t words[ROW];

    if (!s->is_ready[group]) {
        mt_seed(s, group);
        s->is_ready[group] = 1;
    }
    for (uint64_t octet = at / row_words; octet * row_words + group * ROW < end; octet++) {
        uint64_t first = octet * row_words + group * ROW, blocks = octet / MT_OCTETS + 1;
        uint32_t k = (uint32_t)(octet % MT_OCTETS);
        if (first + ROW <= at)
            continue;
        for (int i = 0; i < MT_GROUP; i++) {
            for (; mt[i].blocks < blocks; mt[i].blocks++)
                loops()->mt19937_next(mt[i].words);
            for (uint32_t lane = 0; lane < MT_OCTET; lane++)
                words[i * MT_OCTET + (int)lane] = mt[i].words[mt_octet_word(k, lane)];
        }
        loops()->mt19937_temper(words, ROW);
        emit_part(call, item, words, first, ROW, at, end);
    }
}

/* ---- MTGP32 */

struct mtgp32_set {
    uint32_t position, shift_1, shift_2, recursion[4], tempering[4];
};
#define HEDDLE_MTGP32(position, shift_1, shift_2, a, b, c, d, e, f, g, h)                          \
    {position, shift_1, shift_2, {a, b, c, d}, {e, f, g, h}},
static const struct mtgp32_set mtgp32_sets[] = {HEDDLE_MTGP32_SETS};
#undef HEDDLE_MTGP32

static void mtgp32_seed(struct mtgp32 *g, const struct mtgp32_set *set, uint32_t seed)
{
    uint32_t hidden = set->recursion[2] ^ set->recursion[3] << 16, byte = hidden;

    byte += byte >> 16;
    byte += byte >> 8;
    memset(g->state, (int)(byte & 0xff), MTGP_STATE * sizeof(*g->state));
    g->state[0] = seed;
    g->state[1] = hidden;
    for (uint32_t i = 1; i < MTGP_STATE; i++)
        g->state[i] ^= 1812433253u * (g->state[i - 1] ^ g->state[i - 1] >> 30) + i;
}

static uint32_t sum_of(const uint32_t *entries, uint32_t bits)
{
    uint32_t sum = 0;

    for (int i = 0; i < 4; i++)
        sum ^= entries[i] & (0u - (bits >> i & 1));
    return sum;
}

static void mtgp32_next(struct mtgp32 *g, const struct mtgp32_set *set)
{
    uint32_t *state = g->state;

    for (uint32_t i = 0; i < MTGP_BLOCK; i++) {
        uint32_t x = (state[i] & 0xfff80000u) ^ state[i + 1];
        x ^= x << set->shift_1;
        uint32_t y = x ^ state[i + set->position] >> set->shift_2;
        uint32_t next = y ^ sum_of(set->recursion, y);
        state[MTGP_STATE + i] = next;
        uint32_t t = state[i + set->position - 1];
        t ^= t >> 16;
        t ^= t >> 8;
        g->words[i] = next ^ sum_of(set->tempering, t);
    }
    memmove(state, state + MTGP_BLOCK, MTGP_STATE * sizeof(*state));
    g->blocks++;
}

static void mtgp32_tile(struct klib_rand_state *s, const struct klib_rand *call, struct item item,
                        uint64_t at, uint64_t end, uint64_t tile)
{
    uint64_t which = (at / MTGP_BLOCK + tile) % s->setup.streams;
    uint64_t row_words = (uint64_t)s->setup.streams * MTGP_BLOCK, seed = s->setup.seed;
    struct mtgp32 *g = &s->of.mtgp[which];

    if (!s->is_ready[which]) {
        mtgp32_seed(g, &mtgp32_sets[which], (uint32_t)(seed ^ seed >> 32) + (uint32_t)which + 1);
        s->is_ready[which] = 1;
    }
    for (uint64_t row = at / row_words; row * row_words + which * MTGP_BLOCK < end; row++) {
        uint64_t first = row * row_words + which * MTGP_BLOCK;
        if (first + MTGP_BLOCK <= at)
            continue;
        while (g->blocks <= row)
            mtgp32_next(g, &mtgp32_sets[which]);
        emit_part(call, item, g->words, first, MTGP_BLOCK, at, end);
    }
}

/* ---- points */

/*
 * Number i is the sum of the vectors of the bits of i's Gray code, which is linear: it is that of i
 * without its lowest byte, and of this byte.
 */
#define SOBOL(name, word, bits, how)                                                               \
    static void name(const struct klib_rand *call, uint64_t at, uint64_t tile)                     \
    {                                                                                              \
        uint64_t points = call->n / call->dimensions;                                              \
        uint64_t tiles = (points + SOBOL_TILE - 1) / SOBOL_TILE, dimension = tile / tiles;         \
        uint64_t first = tile % tiles * SOBOL_TILE, end = HD_MIN(first + SOBOL_TILE, points);      \
        const word *vectors = (const word *)call->vectors + dimension * (bits);                    \
        word constant = call->constants ? ((const word *)call->constants)[dimension] : 0;          \
        struct item item =                                                                         \
            item_of((bits) == 64 ? KLIB_RAND_SOBOL64 : KLIB_RAND_SOBOL32, call->as);               \
        word low[256], x[256];                                                                     \
                                                                                                   \
        low[0] = constant;                                                                         \
        for (unsigned i = 1; i < 256; i++)                                                         \
            low[i] = low[i - 1] ^ vectors[__builtin_ctz(i)];                                       \
        for (uint64_t i = first, n; i < end; i += n) {                                             \
            word base = (word)(at + i) & ~(word)255, gray = base ^ base >> 1, sum = 0;             \
            uint32_t from = (uint32_t)(at + i) & 255;                                              \
            n = HD_MIN(end - i, 256 - from);                                                       \
            for (unsigned k = 0; gray; k++, gray >>= 1)                                            \
                sum ^= gray & 1 ? vectors[k] : 0;                                                  \
            for (uint64_t j = 0; j < n; j++)                                                       \
                x[j] = sum ^ low[from + j];                                                        \
            loops()->how(call, x, (uint32_t)n,                                                     \
                         (char *)call->to + (dimension * points + i) * item.size_B);               \
        }                                                                                          \
    }
SOBOL(sobol32_tile, uint32_t, 32, convert_single)
SOBOL(sobol64_tile, uint64_t, 64, convert64)
#undef SOBOL

/* ---- the kernel */

static int generate(struct heddle_native_call *native)
{
    const struct klib_rand *call = native->params;
    struct klib_rand_state *s = call->state;
    struct item item = item_of(s->setup.type, call->as);
    uint64_t at = atomic_load_explicit(&s->at, memory_order_acquire), end, next;

    if (s->setup.type == KLIB_RAND_XORWOW || s->setup.type == KLIB_RAND_MRG32K3A) {
        next = (at + call->n / item.numbers) % s->setup.streams;
    } else if (is_sobol(s->setup.type)) {
        next = at + call->n / call->dimensions;
    } else {
        at = (at + item.draws - 1) / item.draws * item.draws;
        next = at + call->n / item.numbers * item.draws;
    }
    end = next;
    for (uint64_t tile = native->first; tile < native->last; tile++)
        switch ((enum klib_rand_type)s->setup.type) {
        case KLIB_RAND_XORWOW:
        case KLIB_RAND_MRG32K3A:
            streams_tile(s, call, at, tile);
            break;
        case KLIB_RAND_PHILOX:
            philox_tile(s, call, item, at, end, tile);
            break;
        case KLIB_RAND_MT19937:
            mt_tile(s, call, item, at, end, tile);
            break;
        case KLIB_RAND_MTGP32:
            mtgp32_tile(s, call, item, at, end, tile);
            break;
        case KLIB_RAND_SOBOL32:
            sobol32_tile(call, at, tile);
            break;
        case KLIB_RAND_SOBOL64:
            sobol64_tile(call, at, tile);
            break;
        }
    uint64_t tiles = native->last - native->first;
    if (atomic_fetch_add_explicit(&s->done, tiles, memory_order_acq_rel) + tiles == call->tiles) {
        atomic_store_explicit(&s->done, 0, memory_order_relaxed);
        atomic_store_explicit(&s->at, next, memory_order_release);
        atomic_fetch_sub_explicit(&s->running, 1, memory_order_release);
    }
    return 0;
}

static uint64_t plan(struct klib_rand *call)
{
    static const uint16_t picoseconds[] = {[KLIB_RAND_BITS] = 400,
                                           [KLIB_RAND_UNIFORM] = 400,
                                           [KLIB_RAND_UNIFORM_F64] = 1000,
                                           [KLIB_RAND_NORMAL] = 1500,
                                           [KLIB_RAND_NORMAL_F64] = 20000,
                                           [KLIB_RAND_LOG_NORMAL] = 5000,
                                           [KLIB_RAND_LOG_NORMAL_F64] = 30000,
                                           [KLIB_RAND_POISSON] = 3000};
    const struct klib_rand_setup *setup = &call->state->setup;
    struct item item = item_of(setup->type, call->as);
    uint64_t items = call->n / item.numbers, words = items * item.draws, all = UINT64_MAX;

    switch ((enum klib_rand_type)setup->type) {
    case KLIB_RAND_XORWOW:
    case KLIB_RAND_MRG32K3A:
        all = setup->streams / CURAND_GROUP;
        call->tiles = items / CURAND_GROUP + 2;
        break;
    case KLIB_RAND_PHILOX:
        call->tiles = (words + PHILOX_TILE - 1) / PHILOX_TILE;
        break;
    case KLIB_RAND_MT19937:
        all = setup->streams / MT_GROUP;
        call->tiles = words / (MT_GROUP * MT_OCTET) + 2;
        break;
    case KLIB_RAND_MTGP32:
        all = setup->streams;
        call->tiles = words / MTGP_BLOCK + 2;
        break;
    case KLIB_RAND_SOBOL32:
    case KLIB_RAND_SOBOL64:
        call->tiles = (call->n / call->dimensions + SOBOL_TILE - 1) / SOBOL_TILE * call->dimensions;
        break;
    }
    call->tiles = HD_MIN(call->tiles, all);
    return (call->n * picoseconds[call->as] + 999) / 1000;
}

static void destroy(struct klib_rand_state *state)
{
    if (!state)
        return;
    free(state->is_ready);
    free(state->of.words);
    free(state);
}

static struct klib_rand_state *create(const struct klib_rand_setup *setup)
{
    struct klib_rand_state *s = calloc(1, sizeof(*s));
    size_t parts = setup->streams, part_B = 0;

    if (!s)
        return NULL;
    s->setup = *setup;
    switch ((enum klib_rand_type)setup->type) {
    case KLIB_RAND_XORWOW:
    case KLIB_RAND_MRG32K3A:
        assert(setup->streams % CURAND_GROUP == 0);
        part_B = 6 * sizeof(uint32_t);
        atomic_init(&s->at, setup->offset % setup->streams);
        break;
    case KLIB_RAND_MT19937:
        assert(setup->streams % MT_GROUP == 0 && setup->streams <= 1u << HD_COUNT_OF(mt_jumps));
        part_B = sizeof(struct mt19937);
        break;
    case KLIB_RAND_MTGP32:
        assert(setup->streams <= HD_COUNT_OF(mtgp32_sets));
        part_B = sizeof(struct mtgp32);
        break;
    case KLIB_RAND_PHILOX:
    case KLIB_RAND_SOBOL32:
    case KLIB_RAND_SOBOL64:
        atomic_init(&s->at, setup->offset);
        return s;
    }
    s->is_ready = calloc(parts, 1);
    s->of.words = calloc(parts, part_B);
    if (s->is_ready && s->of.words)
        return s;
    destroy(s);
    return NULL;
}

static uint32_t type(const struct klib_rand_state *state)
{
    return state->setup.type;
}

static void launched(struct klib_rand_state *state, int more)
{
    atomic_fetch_add_explicit(&state->running, more, memory_order_relaxed);
}

static bool is_idle(const struct klib_rand_state *state)
{
    return atomic_load_explicit(&state->running, memory_order_acquire) <= 0;
}

const struct klib_curand klib_curand = {.generate = generate,
                                        .create = create,
                                        .destroy = destroy,
                                        .type = type,
                                        .plan = plan,
                                        .launched = launched,
                                        .is_idle = is_idle};
