/*
 * How the tensor cores of a GPU add, for programs that want the bits of one (HEDDLE_MMA): products
 * and c are aligned to the largest exponent among them, cut after some bits, and added exactly; the
 * result is cut (f32) or rounded (f16). The architectures differ in how many bits that are and how
 * many products are added at once: spec/tensor_cores.def. Any thread.
 *
 * tcore_sum() says what a sum is. Vectors of sums (struct tcore_vectors) have the same bits.
 */
#ifndef HD_TCORE_TCORE_H
#define HD_TCORE_TCORE_H

#include "base/compiler.h"
#include "base/host.h"

#include <stdbool.h>
#include <stdint.h>

enum tcore_unit { TCORE_MMA, TCORE_WGMMA, TCORE_TCGEN05 };

enum { TCORE_SCALED_GROUP = 16, TCORE_SHORT_BITS = 10, TCORE_ZERO_EXPONENT = -126 };

/* For one kind of product. */
struct tcore_rule {
    uint8_t fraction; /* bits */
    uint8_t step;     /* products that are added at once */
    bool is_short;    /* f32 results lack their last TCORE_SHORT_BITS bits */
    bool in_groups;   /* the products of a group are added first, exactly, then scaled */
};

struct tcore_kind {
    enum tcore_unit unit;
    unsigned bits;   /* of an element of a */
    bool is_fp8;     /* both factors are, and have no scales */
    bool is_grouped; /* 4 bits, scaled, and k of 64 at least */
};

/* Does the environment ask for a GPU's bits? */
bool tcore_is_set(void);
/* False: it does not. */
bool tcore_rule_find(const struct tcore_kind *kind, struct tcore_rule *out) HD_MUST_CHECK;

/* ---- the reference */

/* The n products of an element of d, in the order of k. least: the exponent of the least normal
 * number of a type, which denormals are aligned by. */
struct tcore_products {
    int a_least, b_least, scale_least, c_least;
    bool d_is_half; /* f16; else f32 */
    unsigned n;
    const float *a, *b;
    const float *scale_a, *scale_b; /* of each product; NULL: none */
};
/* c and their sum: a number of d's type, or none. */
float tcore_sum(const struct tcore_rule *rule, const struct tcore_products *p, float c);

/* ---- vectors */

enum {
    TCORE_ROWS = 16, /* of a tile of sums */
    TCORE_COLUMNS = 8,
    TCORE_K = 32,
    TCORE_STEPS = 4,
    TCORE_GROUPS = 8, /* words of exponents, of two or four products of one step */
    TCORE_HALF_LEAST = -14
};

/* How sums are held: tcore_vec.c. */
enum tcore_how { TCORE_DOUBLES, TCORE_SHORT, TCORE_WHOLE };

/* Products without scales that vectors make. */
struct tcore_form {
    struct tcore_rule rule;
    uint8_t k; /* of a fragment */
    int8_t a_least, b_least;
    uint8_t how;  /* enum tcore_how */
    bool is_wide; /* exponents have eight bits */
    bool c_is_half, d_is_half;
};
/* False: not such ones. */
bool tcore_form_init(struct tcore_form *f, const struct tcore_rule *rule, unsigned k, int a_least,
                     int b_least, bool c_is_half, bool d_is_half) HD_MUST_CHECK;

/* Prepared fragments: what is multiplied, exponents and signs. `lanes` are rows or columns. */
#define TCORE_FRAGMENT(lanes)                                                                      \
    {                                                                                              \
        union {                                                                                    \
            double x[TCORE_K][lanes];                                                              \
            float s[TCORE_K][lanes]; /* where those do */                                          \
        };                                                                                         \
        uint32_t exponent[TCORE_GROUPS][lanes];                                                    \
        uint32_t sign[TCORE_STEPS][lanes];                                                         \
        uint32_t some[TCORE_STEPS][lanes]; /* wide: which are not zero */                          \
        unsigned most;                     /* the largest exponent, as f32 have it */              \
    }
struct tcore_a TCORE_FRAGMENT(TCORE_ROWS) __attribute__((aligned(64)));
struct tcore_b TCORE_FRAGMENT(TCORE_COLUMNS) __attribute__((aligned(64)));

struct tcore_pair {
    const struct tcore_a *a;
    const struct tcore_b *b;
};

struct tcore_vectors {
    /* From numbers by k, after tcore_enter(false). */
    void (*prepare_a)(const struct tcore_form *f, const float (*x)[TCORE_ROWS], struct tcore_a *a);
    void (*prepare_b)(const struct tcore_form *f, const float (*x)[TCORE_COLUMNS],
                      struct tcore_b *b);
    /*
     * Adds the products of pairs, one after the other, to the columns of a tile, after
     * tcore_enter(true). False: some are no numbers, or out of the ordinary exponents; nothing is
     * changed.
     */
    bool (*add)(const struct tcore_form *f, const struct tcore_pair *pairs, unsigned n,
                float (*sum)[TCORE_ROWS]);
};
/* NULL: that level has none. has_popcount: AVX-512 with VPOPCNTDQ. */
const struct tcore_vectors *tcore_vectors_get(enum hd_host_level level, bool has_popcount);
/* The best that this host has, or NULL. */
const struct tcore_vectors *tcore_vectors_best(void);

/* The mode of floating point that vectors need. Returns the old one, for tcore_leave(). */
unsigned tcore_enter(bool adds);
void tcore_leave(unsigned mode);

#endif
