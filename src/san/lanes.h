/*
 * The lanes of an access at once: what memcheck and initcheck ask of every one, without a branch
 * per lane. 32 addresses that a warp accesses are mostly one range, or one place.
 */
#ifndef HD_SAN_LANES_H
#define HD_SAN_LANES_H

#include "san/tool.h"

enum { SAN_LANES = 32 };

#define san_foreach_lane(lane, lanes_)                                                             \
    for (uint32_t lane##_left = (lanes_), lane;                                                    \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

/* Is every byte of every lane in [base, base + size_B)? Sizes are below 2^63. */
static inline bool san_lanes_are_in(const struct san_access *a, uint64_t base, uint64_t size_B)
{
    const uint64_t *address = a->address;
    uint64_t limit = size_B - a->size_B, wrong = 0;

    if (size_B < a->size_B)
        return false;
    /* The top bit of one of both is set when the distance from the base is above the limit. */
    if (a->lanes == UINT32_MAX) {
        for (unsigned i = 0; i < SAN_LANES; i++) {
            uint64_t at = address[i] - base;

            wrong |= at | (limit - at);
        }
    } else {
        san_foreach_lane(i, a->lanes) {
            uint64_t at = address[i] - base;

            wrong |= at | (limit - at);
        }
    }
    return !(wrong >> 63);
}

static inline bool san_lanes_are_aligned(const struct san_access *a)
{
    uint64_t bits = 0, align_B = a->align_B & -a->align_B; /* of three words: one */

    if (align_B <= 1)
        return true;
    if (a->lanes == UINT32_MAX) {
        for (unsigned i = 0; i < SAN_LANES; i++)
            bits |= a->address[i];
    } else {
        san_foreach_lane(i, a->lanes)
            bits |= a->address[i];
    }
    return !(bits & (align_B - 1));
}

/*
 * Do the lanes that are there access one range without holes, in order: the first the lowest
 * address? *out_size_B: of the whole.
 */
static inline bool san_lanes_are_range(const struct san_access *a, uint64_t *out_va,
                                       uint64_t *out_size_B)
{
    uint32_t first = (uint32_t)__builtin_ctz(a->lanes), run = a->lanes >> first;
    uint64_t va = a->address[first], wrong = 0;
    unsigned n = run == UINT32_MAX ? SAN_LANES : (unsigned)__builtin_ctz(~run);

    if (n < SAN_LANES && run >> n)
        return false; /* a hole */
    for (unsigned i = 0; i < n; i++)
        wrong |= a->address[first + i] ^ (va + i * a->size_B);
    *out_va = va;
    *out_size_B = n * a->size_B;
    return !wrong;
}

#endif
