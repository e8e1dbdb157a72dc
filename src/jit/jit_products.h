/*
 * Matrix products that are made together: what code of gen_products.c tells the helper of
 * jit_rt_products.c, as a constant list of numbers.
 *
 * An area starts with addresses of tiles of sums, 16 x 8, in which c is replaced by d, and of the
 * fragments of a, of 16 rows each, and of b, of 8 columns. All are registers of 32 lanes one after
 * the other, and in the area or elsewhere.
 */
#ifndef HD_JIT_JIT_PRODUCTS_H
#define HD_JIT_JIT_PRODUCTS_H

#include <stdint.h>

enum {
    JIT_PRODUCTS_AREA_B = 49152,
    JIT_PRODUCTS_MAX = 128, /* of tiles */
    JIT_PRODUCTS_A_MAX = 32,
    JIT_PRODUCTS_B_MAX = 64,
    JIT_PRODUCTS_TILES = 2 /* of a unit */
};

struct jit_products_area {
    uint32_t (*tile[JIT_PRODUCTS_MAX])[32];
    const uint32_t (*a[JIT_PRODUCTS_A_MAX])[32];
    const uint32_t (*b[JIT_PRODUCTS_B_MAX])[32];
};

/* One or two tiles to which products of the same fragments of a are added, one after the other. */
struct jit_products_unit {
    uint16_t ntiles, nsteps;
    uint16_t tile[JIT_PRODUCTS_TILES];
    /* nsteps times */
    struct jit_products_step {
        uint16_t a, b[JIT_PRODUCTS_TILES];
    } step[];
};

struct jit_products {
    uint16_t na, nb, ntiles, nunits;
    uint16_t a_registers, b_registers, sum_registers, unused; /* of a fragment, of a tile */
    /* then the units; all is of uint16_t */
};

static inline const struct jit_products_unit *jit_products_first(const struct jit_products *p)
{
    return (const struct jit_products_unit *)(p + 1);
}

static inline const struct jit_products_unit *jit_products_next(const struct jit_products_unit *u)
{
    return (const struct jit_products_unit *)(u->step + u->nsteps);
}

#endif
