/*
 * Addresses of all lanes at once, as loops that the compiler makes vectors of: kernels.c has them
 * once for each level of the host, memory.c for hosts without one.
 */
#ifndef HD_SIM_LOOPS_H
#define HD_SIM_LOOPS_H

#include "sim/rows.h"

/* A window that lanes access, or bytes that the device allows. */
struct sim_window {
    uint64_t start, last; /* addresses that are good: from start, and how much further at most */
    uint64_t low_bits;    /* of an address, which are zero when it is aligned */
    uint64_t base;        /* added to an address, it is the host's */
    uint64_t step_B;      /* and so much for each lane */
};

/* Where the host has what lanes access. Not 0: some lane of the mask accesses something else. */
static inline uint64_t sim_loop_find(const struct sim_window *window, uint32_t mask,
                                     const uint64_t *restrict addresses, char **restrict hosts)
{
    const struct sim_window w = *window;
    uint64_t bad = 0;

    for (unsigned i = 0; i < SIM_LANES; i++) {
        uint64_t wrong = (uint64_t)(addresses[i] - w.start > w.last) | (addresses[i] & w.low_bits);

        bad |= mask >> i & 1 ? wrong : 0;
        hosts[i] = (char *)(uintptr_t)(addresses[i] + w.base + i * w.step_B);
    }
    return bad;
}

/* Pairs of registers, and words of them, as addresses. */
static inline void sim_loop_wide(const uint32_t *restrict a, uint64_t add, uint64_t *restrict out)
{
    for (unsigned i = 0; i < SIM_LANES; i++)
        out[i] = (a[i] | (uint64_t)a[SIM_LANES + i] << 32) + add;
}

static inline void sim_loop_narrow(const uint32_t *restrict a, uint64_t add, uint64_t *restrict out)
{
    for (unsigned i = 0; i < SIM_LANES; i++)
        out[i] = a[i] + add;
}

/* Rows from `from` to `to`, in the lanes of the mask. */
static inline void sim_loop_blend(uint32_t *to, const uint32_t *from, unsigned nrows, uint32_t mask)
{
    for (unsigned r = 0; r < nrows; r++, to += SIM_LANES, from += SIM_LANES)
        for (unsigned i = 0; i < SIM_LANES; i++)
            to[i] = mask >> i & 1 ? from[i] : to[i];
}

/* Those of a level. */
struct sim_loops {
    uint64_t (*find)(const struct sim_window *window, uint32_t mask, const uint64_t *addresses,
                     char **hosts);
    void (*wide)(const uint32_t *a, uint64_t add, uint64_t *out);
    void (*narrow)(const uint32_t *a, uint64_t add, uint64_t *out);
    void (*blend)(uint32_t *to, const uint32_t *from, unsigned nrows, uint32_t mask);
};

#endif
