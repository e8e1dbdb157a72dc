/*
 * What an access costs (ir/count.h), by vectors: of accesses as nearly all are, aligned and within
 * 2 GiB. Counters are those of ir_count_access(), which takes the others. Compiled once for each
 * level of the processor, as JIT_COUNT; the compiler makes vectors of the loops over lanes.
 *
 * An access is made into numbers of what its lanes come to: sectors, words of banks, addresses.
 * Lanes that do not take part have the number of one that does, so there is no number more. Where
 * it does not matter which lanes take part, they are moved to the front first, since most numbers
 * come in order.
 */
#include "jit/rt/jit_rt_count.h"

#include <string.h>

#include "ir/count.h"

#if defined(__AVX512CD__)
#include <immintrin.h>
#endif

enum { LANES = IR_COUNT_WARP, SECTOR_B = 32, SECTOR_LOG2 = 5, WORD_LOG2 = 2, SIZE_MAX_LOG2 = 4 };

#define FOR_LANES(lane) for (uint32_t lane = 0; lane < LANES; lane++)

/* clang-format off */
static const uint32_t bit_of[LANES] = {
#define B(n) 1u << (n), 1u << (n + 1), 1u << (n + 2), 1u << (n + 3)
    B(0), B(4), B(8), B(12), B(16), B(20), B(24), B(28),
#undef B
};
/* clang-format on */

struct access {
    uint32_t lanes, n, first; /* who takes part, how many, whose address the others have */
    unsigned size_log2;
    const uint64_t *address; /* of all: the caller's, or `filled` */
    uint64_t filled[LANES + 8];
};

struct costs {
    uint32_t sectors, wavefronts, ideal_wavefronts;
};

/* By lane; none is 0, as what stands in front of lane 0 is. */
struct numbers {
    _Alignas(64) uint32_t padding[LANES];
    uint32_t at[LANES];
};

static uint32_t count_vec_popcount(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}

static bool count_vec_goes_by_lane(uint32_t space, unsigned size_log2)
{
    return space == IR_COUNT_IN_LOCAL ||
           (space == IR_COUNT_IN_SHARED && size_log2 > (unsigned)WORD_LOG2);
}

/* Lanes that take part, one after the other; out[n - 1] once more from there on. */
#if defined(__AVX512CD__)
static void count_vec_to_front(const uint64_t *address, uint32_t lanes, uint64_t out[LANES + 8])
{
    const uint64_t last = address[31 - (uint32_t)__builtin_clz(lanes)];
    const __m512i rest = _mm512_set1_epi64((long long)last);
    uint32_t n = 0;

    for (uint32_t l = 0; l < LANES; l += 8) {
        __mmask8 mask = (__mmask8)(lanes >> l);
        __m512i x = _mm512_loadu_si512(address + l);
        _mm512_storeu_si512(out + n, _mm512_mask_compress_epi64(rest, mask, x));
        n += count_vec_popcount(mask);
    }
    for (; n < LANES; n += 8)
        _mm512_storeu_si512(out + n, rest);
}
#else
static void count_vec_to_front(const uint64_t *address, uint32_t lanes, uint64_t out[LANES + 8])
{
    uint32_t n = 0;

    for (uint32_t m = lanes; m; m &= m - 1)
        out[n++] = address[__builtin_ctz(m)];
    for (; n < LANES; n++)
        out[n] = out[n - 1];
}
#endif

/* False: too large, or not a power of two, or not aligned. */
static bool count_vec_access_read(struct access *a, uint32_t space, uint32_t lanes, uint64_t size_B,
                                  const uint64_t *address)
{
    uint64_t inside = 0;

    a->lanes = lanes;
    a->n = count_vec_popcount(lanes);
    a->first = (uint32_t)__builtin_ctz(lanes);
    a->size_log2 = (unsigned)__builtin_ctzll(size_B);
    a->address = lanes == UINT32_MAX ? address : a->filled;
    if (size_B >> a->size_log2 != 1 || a->size_log2 > SIZE_MAX_LOG2)
        return false;
    if (lanes != UINT32_MAX && count_vec_goes_by_lane(space, a->size_log2)) {
        FOR_LANES(l)
        a->filled[l] = lanes & bit_of[l] ? address[l] : address[a->first];
    } else if (lanes != UINT32_MAX) {
        count_vec_to_front(address, lanes, a->filled);
        a->lanes = (1u << a->n) - 1;
        a->first = a->n - 1;
    }
    FOR_LANES(l)
    inside |= a->address[l];
    return !(inside & (size_B - 1));
}

/* ---- numbers */

/* Those of offsets have room for four groups of lanes above them. */
enum { NUMBER_BITS = 31, OFFSET_BITS = 29 };

/* (address >> shift) - base; false: `bits` do not hold it. */
static bool count_vec_numbers_of(const struct access *a, unsigned shift, uint64_t base,
                                 unsigned bits, struct numbers *out)
{
    uint64_t far = 0;

    FOR_LANES(l)
    {
        uint64_t x = (a->address[l] >> shift) - base;
        far |= x - 1;
        out->padding[l] = 0;
        out->at[l] = (uint32_t)x;
    }
    return !(far >> bits);
}

static bool count_vec_numbers_near(const struct access *a, unsigned shift, struct numbers *out)
{
    uint64_t middle = UINT64_C(1) << (NUMBER_BITS - 1);

    return count_vec_numbers_of(a, shift, (a->address[a->first] >> shift) - middle, NUMBER_BITS,
                                out);
}

/* Of offsets, by groups of 1 << group_log2 lanes. */
static bool count_vec_numbers_by_group(const struct access *a, unsigned shift, unsigned group_log2,
                                       struct numbers *out)
{
    if (!count_vec_numbers_of(a, shift, UINT64_MAX, OFFSET_BITS - 1, out))
        return false;
    FOR_LANES(l)
    {
        uint32_t lane = a->lanes & bit_of[l] ? l : a->first;
        out->at[l] |= lane >> group_log2 << OFFSET_BITS;
    }
    return true;
}

/* By lane: how many lanes before it have the same number. */
#if defined(__AVX512CD__)
static __m512i count_vec_bits_in(__m512i x)
{
    const __m512i pairs = _mm512_set1_epi32(0x5555), fours = _mm512_set1_epi32(0x3333);
    const __m512i eights = _mm512_set1_epi32(0x0f0f), low = _mm512_set1_epi32(0xff);

    x = _mm512_sub_epi32(x, _mm512_and_si512(_mm512_srli_epi32(x, 1), pairs));
    x = _mm512_add_epi32(_mm512_and_si512(x, fours),
                         _mm512_and_si512(_mm512_srli_epi32(x, 2), fours));
    x = _mm512_and_si512(_mm512_add_epi32(x, _mm512_srli_epi32(x, 4)), eights);
    return _mm512_and_si512(_mm512_add_epi32(x, _mm512_srli_epi32(x, 8)), low);
}

static void before_count(const struct numbers *all, uint32_t out[LANES])
{
    const __m512i one = _mm512_set1_epi32(1);
    __m512i x[2], n[2];

    for (int h = 0; h < 2; h++) {
        x[h] = _mm512_load_si512(all->at + 16 * h);
        n[h] = count_vec_bits_in(_mm512_conflict_epi32(x[h]));
    }
    for (int d = 0; d < 16; d++) { /* all of the first half come before those of the second one */
        n[1] = _mm512_mask_add_epi32(n[1], _mm512_cmpeq_epi32_mask(x[1], x[0]), n[1], one);
        x[0] = _mm512_alignr_epi32(x[0], x[0], 1);
    }
    _mm512_storeu_si512(out, n[0]);
    _mm512_storeu_si512(out + 16, n[1]);
}
#else
static void before_count(const struct numbers *all, uint32_t out[LANES])
{
    memset(out, 0, LANES * sizeof(*out));
    for (uint32_t d = 1; d < LANES; d++)
        FOR_LANES(l)
    out[l] += all->at[l] == (all->at - d)[l];
}
#endif

/* Lanes whose number no lane before them has; false: numbers do not come in order. */
static bool count_vec_firsts_in_order(const struct numbers *all, uint32_t *out)
{
    const uint32_t *x = all->at;
    uint32_t changes = 0, falls = 0;

    FOR_LANES(l)
    {
        changes |= x[l] != (x - 1)[l] ? bit_of[l] : 0;
        falls |= x[l] < (x - 1)[l];
    }
    *out = changes;
    return !falls;
}

static uint32_t count_vec_firsts(const struct numbers *all)
{
    uint32_t out, before[LANES];

    if (count_vec_firsts_in_order(all, &out)) /* most are */
        return out;
    out = 0;
    before_count(all, before);
    FOR_LANES(l)
    out |= before[l] ? 0 : bit_of[l];
    return out;
}

/* ---- sectors */

static bool count_vec_sectors_global(const struct access *a, struct costs *out)
{
    struct numbers all;

    if (!count_vec_numbers_near(a, SECTOR_LOG2, &all))
        return false;
    out->sectors = count_vec_popcount(count_vec_firsts(&all));
    return true;
}

/* Of local memory words of 8 lanes share a sector; the further words of lanes lie alike. */
static bool count_vec_sectors_local(const struct access *a, struct costs *out)
{
    const unsigned shift = HD_MAX(a->size_log2, (unsigned)WORD_LOG2);
    struct numbers all;

    if (!count_vec_numbers_by_group(a, shift, 3, &all))
        return false;
    out->sectors = count_vec_popcount(count_vec_firsts(&all)) << (shift - WORD_LOG2);
    return true;
}

/* ---- banks */

/* The words of each bank, lanes of a word once; added up over the groups the most of any. */
static uint32_t count_vec_passes(const uint8_t slot[LANES], uint32_t lanes, uint32_t banks)
{
    uint8_t words[LANES] = {0};
    uint32_t n = 0;

    for (uint32_t m = lanes; m; m &= m - 1)
        words[slot[__builtin_ctz(m)]]++;
    for (uint32_t from = 0; from < LANES; from += banks) {
        uint8_t most = 0;
        for (uint32_t b = from; b < from + banks; b++)
            most = HD_MAX(most, words[b]);
        n += most;
    }
    return n;
}

/*
 * Words of 8 bytes go by half warps and need two banks each, so that their banks are 16 pairs, and
 * those of 16 bytes go by quarters. Thus all groups of an access have 32 slots together.
 */
static bool wavefronts(const struct access *a, struct costs *out)
{
    const unsigned shift = HD_MAX(a->size_log2, (unsigned)WORD_LOG2);
    const unsigned group_log2 = 5 - (shift - WORD_LOG2), banks = 1u << group_log2;
    struct numbers all;
    uint8_t slot[LANES];
    uint32_t slots = 0, different, groups = 0;

    if (!count_vec_numbers_by_group(a, shift, group_log2, &all))
        return false;
    FOR_LANES(l)
    {
        uint32_t at = (all.at[l] & (banks - 1)) | all.at[l] >> OFFSET_BITS << group_log2;
        slots |= 1u << at;
        slot[l] = (uint8_t)at;
    }
    for (uint32_t from = 0; from < LANES; from += banks)
        groups += (slots >> from & (uint32_t)((UINT64_C(1) << banks) - 1)) != 0;
    different = count_vec_firsts(&all);
    out->ideal_wavefronts = groups;
    out->wavefronts = count_vec_popcount(slots) == count_vec_popcount(different)
                          ? groups
                          : count_vec_passes(slot, different, banks);
    return true;
}

/* ---- atomics */

/* The lanes that share the address that most share. Lanes that do not take part have a[first]. */
static uint32_t count_vec_most_alike(const struct access *a, const struct numbers *all)
{
    uint32_t before[LANES], most = 0;

    before_count(all, before);
    FOR_LANES(l)
    {
        uint32_t none = all->at[l] == all->at[a->first] ? LANES - a->n : 0;
        most = HD_MAX(most, before[l] + 1 - HD_MIN(none, before[l] + 1));
    }
    return most;
}

static bool count_vec_contention(const struct access *a, struct costs *out)
{
    struct numbers all;
    uint32_t different;
    bool in_order;

    if (!count_vec_numbers_near(a, 0, &all))
        return false;
    in_order = count_vec_firsts_in_order(&all, &different);
    out->ideal_wavefronts = 1;
    out->wavefronts = in_order && different == 1 ? a->n
                      : in_order && count_vec_popcount(different) == a->n
                          ? 1
                          : count_vec_most_alike(a, &all);
    return true;
}

/* ---- all of an access */

static bool count_vec_costs_of(const struct access *a, uint32_t space, bool is_atomic,
                               struct costs *out)
{
    if (space == IR_COUNT_IN_GLOBAL && !count_vec_sectors_global(a, out))
        return false;
    if (space == IR_COUNT_IN_LOCAL && !count_vec_sectors_local(a, out))
        return false;
    if (is_atomic)
        return count_vec_contention(a, out);
    return space != IR_COUNT_IN_SHARED || wavefronts(a, out);
}

static void count_vec_by_the_rules(uint64_t *words, uint32_t space, bool is_atomic, uint32_t lanes,
                                   uint64_t size_B, const uint64_t *address)
{
    const struct ir_count_access access = {.words = words,
                                           .space = (enum ir_count_space)space,
                                           .is_atomic = is_atomic,
                                           .lanes = lanes,
                                           .size_B = size_B,
                                           .address = address};

    ir_count_access(&access);
}

void JIT_COUNT(uint64_t *words, uint32_t space, uint32_t is_atomic, uint32_t lanes, uint64_t size_B,
               const uint64_t *address)
{
    struct access a;
    struct costs costs = {0};
    uint64_t bytes;

    if (!lanes)
        return;
    if (!count_vec_access_read(&a, space, lanes, size_B, address) ||
        !count_vec_costs_of(&a, space, is_atomic, &costs)) {
        count_vec_by_the_rules(words, space, is_atomic, lanes, size_B, address);
        return;
    }
    bytes = a.n * size_B;
    words[IR_COUNT_REQUESTS]++;
    words[IR_COUNT_LANES_IN] += a.n;
    words[IR_COUNT_BYTES] += bytes;
    words[IR_COUNT_SECTORS] += costs.sectors;
    words[IR_COUNT_IDEAL_SECTORS] += HD_MIN(costs.sectors, (bytes + SECTOR_B - 1) / SECTOR_B);
    words[IR_COUNT_WAVEFRONTS] += costs.wavefronts;
    words[IR_COUNT_IDEAL_WAVEFRONTS] += costs.ideal_wavefronts;
}
