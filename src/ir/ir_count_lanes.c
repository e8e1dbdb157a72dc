/*
 * What an access costs a memory system of sectors and banks, as CUDA's programming guide has them:
 * sectors of 32 bytes; 32 banks of 4 bytes, which words of 8 bytes use by half warps and words of
 * 16 by quarters. Local memory is interleaved: a word of all lanes lies in 128 bytes.
 */
#include <assert.h>
#include <string.h>

#include "ir/count.h"

enum {
    SECTOR_B = 32,
    BANKS = 32,
    BANK_B = 4,
    NEAR = 2048, /* sectors that a small set tells apart */
    SLOTS_LOG2 = 9,
    SLOTS = 1 << SLOTS_LOG2, /* of a table: more than there are numbers */
    PIECES = 8,              /* sectors or words of a lane, at most that are told apart */
};

/* ---- how many different numbers there are */

/* What the lanes of an access come to: sectors, or words of memory. */
struct numbers {
    uint32_t n;
    uint64_t at[IR_COUNT_WARP * PIECES];
};

/* A table of numbers; where x is, or would be. */
static uint32_t slot_of(const uint64_t *at, const uint8_t *used, uint64_t x)
{
    uint32_t i = (uint32_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOTS_LOG2));

    while (used[i] && at[i] != x)
        i = (i + 1) % SLOTS;
    return i;
}

static uint32_t different_far(const struct numbers *all)
{
    uint64_t at[SLOTS];
    uint8_t used[SLOTS] = {0};
    uint32_t n = 0;

    for (uint32_t k = 0; k < all->n; k++) {
        uint32_t i = slot_of(at, used, all->at[k]);
        n += !used[i];
        used[i] = 1;
        at[i] = all->at[k];
    }
    return n;
}

static uint32_t different_near(const struct numbers *all, uint64_t min, uint64_t max)
{
    uint64_t bits[NEAR / 64];
    uint32_t n = 0;

    memset(bits, 0, ((max - min) / 64 + 1) * sizeof(bits[0]));
    for (uint32_t i = 0; i < all->n; i++)
        bits[(all->at[i] - min) / 64] |= UINT64_C(1) << (all->at[i] - min) % 64;
    for (uint64_t i = 0; i <= (max - min) / 64; i++)
        n += (uint32_t)__builtin_popcountll(bits[i]);
    return n;
}

static uint32_t different(struct numbers *all)
{
    uint64_t min = all->at[0], max = all->at[0];
    uint32_t changes = 1, falls = 0;

    for (uint32_t i = 1; i < all->n; i++) {
        changes += all->at[i] != all->at[i - 1];
        falls += all->at[i] < all->at[i - 1];
    }
    if (!falls) /* most come in order */
        return changes;
    for (uint32_t i = 1; i < all->n; i++) {
        min = HD_MIN(min, all->at[i]);
        max = HD_MAX(max, all->at[i]);
    }
    return max - min < NEAR ? different_near(all, min, max) : different_far(all);
}

/* Of each lane those of `unit_B` bytes. */
static void numbers_of(const struct ir_count_access *a, uint32_t lanes, uint64_t unit_B,
                       struct numbers *out)
{
    bool is_one = a->size_B <= unit_B && !(a->size_B & (a->size_B - 1));
    uint64_t inside = 0;

    out->n = 0;
    for (uint32_t m = lanes; is_one && m; m &= m - 1) {
        uint64_t at = a->address[__builtin_ctz(m)];
        inside |= at & (a->size_B - 1);
        out->at[out->n++] = at / unit_B;
    }
    if (is_one && !inside) /* aligned, as it has to be */
        return;
    out->n = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint64_t at = a->address[__builtin_ctz(m)];
        const uint64_t first = at / unit_B;
        const uint64_t last = (at + a->size_B - 1) / unit_B;
        for (uint64_t x = first; x - first <= last - first && x - first < PIECES; x++)
            out->at[out->n++] = x;
    }
}

/* ---- sectors */

/* By words of 4 bytes, of which those of 8 lanes share a sector. */
static uint64_t sectors_local(const struct ir_count_access *a)
{
    struct numbers all;

    all.n = 0;
    for (uint32_t m = a->lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint64_t first = a->address[lane] / BANK_B;
        uint64_t last = (a->address[lane] + a->size_B - 1) / BANK_B;
        for (uint64_t x = first; x <= last && x - first < PIECES; x++)
            all.at[all.n++] = x * (IR_COUNT_WARP * BANK_B / SECTOR_B) + lane / (SECTOR_B / BANK_B);
    }
    return different(&all);
}

/* ---- banks */

static bool was_before(const struct numbers *all, uint32_t i)
{
    for (uint32_t j = i; j--;)
        if (all->at[j] == all->at[i])
            return true;
    return false;
}

/* The different words of the bank that has most. */
static uint64_t passes(const struct numbers *all)
{
    uint64_t last[BANKS];
    uint8_t words[BANKS] = {0}, most = 0;

    for (uint32_t i = 0; i < all->n; i++) {
        uint64_t bank = all->at[i] % BANKS;
        if (words[bank] && (last[bank] == all->at[i] || (words[bank] > 1 && was_before(all, i))))
            continue;
        last[bank] = all->at[i];
        words[bank]++;
        most = HD_MAX(most, words[bank]);
    }
    return most;
}

static uint32_t lanes_at_once(uint64_t size_B)
{
    return size_B <= 4 ? IR_COUNT_WARP : size_B <= 8 ? IR_COUNT_WARP / 2 : IR_COUNT_WARP / 4;
}

static void count_banks(const struct ir_count_access *a)
{
    uint32_t step = lanes_at_once(a->size_B);
    uint32_t part = step == IR_COUNT_WARP ? ~0u : (1u << step) - 1;
    struct numbers all;

    for (uint32_t from = 0; from < IR_COUNT_WARP; from += step) {
        uint32_t lanes = a->lanes & part << from;
        if (!lanes)
            continue;
        numbers_of(a, lanes, BANK_B, &all);
        a->words[IR_COUNT_WAVEFRONTS] += passes(&all);
        a->words[IR_COUNT_IDEAL_WAVEFRONTS]++;
    }
}

/* ---- atomics: lanes of one address come one after the other */

static void count_contention(const struct ir_count_access *a)
{
    uint64_t at[SLOTS];
    uint8_t lanes[SLOTS] = {0}, most = 0;

    for (uint32_t m = a->lanes; m; m &= m - 1) {
        uint64_t x = a->address[__builtin_ctz(m)];
        uint32_t i = slot_of(at, lanes, x);
        at[i] = x;
        lanes[i]++;
        most = HD_MAX(most, lanes[i]);
    }
    a->words[IR_COUNT_WAVEFRONTS] += most;
    a->words[IR_COUNT_IDEAL_WAVEFRONTS]++;
}

void ir_count_access(const struct ir_count_access *a)
{
    uint64_t *words = a->words, sectors = 0, bytes;

    assert(a->lanes && a->size_B);
    bytes = (uint64_t)__builtin_popcount(a->lanes) * a->size_B;
    words[IR_COUNT_REQUESTS]++;
    words[IR_COUNT_LANES_IN] += (uint64_t)__builtin_popcount(a->lanes);
    words[IR_COUNT_BYTES] += bytes;
    if (a->space == IR_COUNT_IN_GLOBAL) {
        struct numbers all;
        numbers_of(a, a->lanes, SECTOR_B, &all);
        sectors = different(&all);
    }
    if (a->space == IR_COUNT_IN_LOCAL)
        sectors = sectors_local(a);
    words[IR_COUNT_SECTORS] += sectors;
    words[IR_COUNT_IDEAL_SECTORS] += HD_MIN(sectors, (bytes + SECTOR_B - 1) / SECTOR_B);
    if (a->space == IR_COUNT_IN_SHARED && !a->is_atomic)
        count_banks(a);
    else if (a->is_atomic)
        count_contention(a);
}
