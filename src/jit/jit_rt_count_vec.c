/*
 * What an access costs (ir/count.h), by vectors: of accesses as nearly all are, aligned and within
 * 2 GiB. Counters are those of ir_count_access(), which takes the others. Compiled once for each
 * level of the processor, as JIT_COUNT; the compiler makes vectors of the loops over lanes.
 *
 * An access is made into numbers of what its lanes come to: sectors, words of banks, addresses.
 * Lanes that do not take part have the number of one that does, so there is no number more.
 */
#include "jit/jit_rt_count.h"

#include <string.h>

#include "ir/count.h"

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
    uint32_t lanes, n, first; /* who takes part, how many, one of them */
    unsigned size_log2;
    uint64_t address[LANES]; /* of others that of the first */
};

struct costs {
    uint32_t sectors, wavefronts, ideal_wavefronts;
};

/* By lane; none is 0, as what stands in front of lane 0 is. */
struct numbers {
    _Alignas(64) uint32_t padding[LANES];
    uint32_t at[LANES];
};

static uint32_t popcount(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}

/* False: too large, or not a power of two, or not aligned. */
static bool access_read(struct access *a, uint32_t lanes, uint64_t size_B, const uint64_t *address)
{
    uint64_t inside = 0, first;

    *a = (struct access){.lanes = lanes, .n = popcount(lanes)};
    a->first = (uint32_t)__builtin_ctz(lanes);
    a->size_log2 = (unsigned)__builtin_ctzll(size_B);
    if (size_B >> a->size_log2 != 1 || a->size_log2 > SIZE_MAX_LOG2)
        return false;
    first = address[a->first];
    FOR_LANES(l)
    {
        a->address[l] = lanes & bit_of[l] ? address[l] : first;
        inside |= a->address[l];
    }
    return !(inside & (size_B - 1));
}

/* ---- numbers */

/* Those of offsets have room for four groups of lanes above them. */
enum { NUMBER_BITS = 31, OFFSET_BITS = 29 };

/* (address >> shift) - base; false: `bits` do not hold it. */
static bool numbers_of(const struct access *a, unsigned shift, uint64_t base, unsigned bits,
                       struct numbers *out)
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

static bool numbers_near(const struct access *a, unsigned shift, struct numbers *out)
{
    uint64_t middle = UINT64_C(1) << (NUMBER_BITS - 1);

    return numbers_of(a, shift, (a->address[a->first] >> shift) - middle, NUMBER_BITS, out);
}

/* Of offsets, by groups of 1 << group_log2 lanes. */
static bool numbers_by_group(const struct access *a, unsigned shift, unsigned group_log2,
                             struct numbers *out)
{
    if (!numbers_of(a, shift, UINT64_MAX, OFFSET_BITS - 1, out))
        return false;
    FOR_LANES(l)
    {
        uint32_t lane = a->lanes & bit_of[l] ? l : a->first;
        out->at[l] |= lane >> group_log2 << OFFSET_BITS;
    }
    return true;
}

/* Lanes whose number no lane before them has. */
static uint32_t firsts(const struct numbers *all)
{
    const uint32_t *x = all->at;
    uint32_t changes = 0, falls = 0, again = 0, before[LANES] = {0};

    FOR_LANES(l)
    {
        changes |= x[l] != (x - 1)[l] ? bit_of[l] : 0;
        falls |= x[l] < (x - 1)[l];
    }
    if (!falls) /* most come in order */
        return changes;
    for (uint32_t d = 1; d < LANES; d++)
        FOR_LANES(l)
    before[l] |= x[l] == (x - d)[l];
    FOR_LANES(l)
    again |= before[l] ? bit_of[l] : 0;
    return ~again;
}

/* ---- sectors */

static bool sectors_global(const struct access *a, struct costs *out)
{
    struct numbers all;

    if (!numbers_near(a, SECTOR_LOG2, &all))
        return false;
    out->sectors = popcount(firsts(&all));
    return true;
}

/* Of local memory words of 8 lanes share a sector; the further words of lanes lie alike. */
static bool sectors_local(const struct access *a, struct costs *out)
{
    const unsigned shift = HD_MAX(a->size_log2, (unsigned)WORD_LOG2);
    struct numbers all;

    if (!numbers_by_group(a, shift, 3, &all))
        return false;
    out->sectors = popcount(firsts(&all)) << (shift - WORD_LOG2);
    return true;
}

/* ---- banks */

/* The words of each bank, lanes of a word once; added up over the groups the most of any. */
static uint32_t passes(const uint8_t slot[LANES], uint32_t lanes, uint32_t banks)
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

    if (!numbers_by_group(a, shift, group_log2, &all))
        return false;
    FOR_LANES(l)
    {
        uint32_t at = (all.at[l] & (banks - 1)) | all.at[l] >> OFFSET_BITS << group_log2;
        slots |= 1u << at;
        slot[l] = (uint8_t)at;
    }
    for (uint32_t from = 0; from < LANES; from += banks)
        groups += (slots >> from & (uint32_t)((UINT64_C(1) << banks) - 1)) != 0;
    different = firsts(&all);
    out->ideal_wavefronts = groups;
    out->wavefronts =
        popcount(slots) == popcount(different) ? groups : passes(slot, different, banks);
    return true;
}

/* ---- atomics */

/* The lanes that share the address that most share: each number with all others. */
static uint32_t most_alike(const struct access *a, const struct numbers *all)
{
    uint32_t alike[LANES] = {0}, twice[2 * LANES], most = 0;

    memcpy(twice, all->at, sizeof(all->at));
    memcpy(twice + LANES, all->at, sizeof(all->at));
    for (uint32_t d = 0; d < LANES; d++)
        FOR_LANES(l)
    alike[l] += all->at[l] == (twice + d)[l];
    FOR_LANES(l)
    {
        uint32_t none = all->at[l] == all->at[a->first] ? LANES - a->n : 0;
        most = HD_MAX(most, alike[l] - none);
    }
    return most;
}

static bool contention(const struct access *a, struct costs *out)
{
    struct numbers all;
    uint32_t different;

    if (!numbers_near(a, 0, &all))
        return false;
    different = popcount(firsts(&all));
    out->ideal_wavefronts = 1;
    out->wavefronts = different == 1 ? a->n : different == a->n ? 1 : most_alike(a, &all);
    return true;
}

/* ---- all of an access */

static bool costs_of(const struct access *a, uint32_t space, bool is_atomic, struct costs *out)
{
    if (space == IR_COUNT_IN_GLOBAL && !sectors_global(a, out))
        return false;
    if (space == IR_COUNT_IN_LOCAL && !sectors_local(a, out))
        return false;
    if (is_atomic)
        return contention(a, out);
    return space != IR_COUNT_IN_SHARED || wavefronts(a, out);
}

static void by_the_rules(uint64_t *words, uint32_t space, bool is_atomic, uint32_t lanes,
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
    if (!access_read(&a, lanes, size_B, address) || !costs_of(&a, space, is_atomic, &costs)) {
        by_the_rules(words, space, is_atomic, lanes, size_B, address);
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
