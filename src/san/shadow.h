/*
 * What is initialised: a bit for each byte of a range, 1 = somebody wrote it. Bits are only cleared
 * by san_shadow_copy() of what is not initialised.
 *
 * Threads: any at once. A word is changed by atomic operations, and only when it has to change, so
 * memory that is written again and again costs a load.
 */
#ifndef HD_SAN_SHADOW_H
#define HD_SAN_SHADOW_H

#include "base/compiler.h"

struct san_shadow {
    uint64_t size_B;      /* of the range that it stands for */
    _Atomic bool is_full; /* everything is known to be initialised; false: it may be */
    size_t mapped_B;      /* of its own memory; 0: by hd_alloc() */
    _Atomic uint64_t *words;
};

/* Nothing is initialised. Takes an eighth of the range, of which pages come on first use. NULL: no
 * memory. */
struct san_shadow *san_shadow_create(uint64_t size_B) HD_MUST_CHECK;
void san_shadow_destroy(struct san_shadow *shadow);

/* Ranges lie within the shadow's. */
void san_shadow_set(struct san_shadow *shadow, uint64_t at, uint64_t size_B);
void san_shadow_clear(struct san_shadow *shadow, uint64_t at, uint64_t size_B);
/* The first byte of the range that is not initialised; its end: there is none. */
uint64_t san_shadow_first_clear(const struct san_shadow *shadow, uint64_t at, uint64_t size_B);
uint64_t san_shadow_first_set(const struct san_shadow *shadow, uint64_t at, uint64_t size_B);
/* Is all of it initialised? Looks at all words until it was once. */
bool san_shadow_is_full(struct san_shadow *shadow);
/* Where the initialised bytes begin that go up to `at`, which is initialised. */
uint64_t san_shadow_run_begin(const struct san_shadow *shadow, uint64_t at);
/* How many bytes are initialised. */
uint64_t san_shadow_count(const struct san_shadow *shadow, uint64_t at, uint64_t size_B);
/* dst becomes what src is. The ranges may overlap in one shadow, as memmove()'s. */
void san_shadow_copy(struct san_shadow *dst, uint64_t dst_at, const struct san_shadow *src,
                     uint64_t src_at, uint64_t size_B);

/* Up to 64 bytes from `at` on: a mask of those that are not initialised. The quick question. */
static inline uint64_t san_shadow_missing(const struct san_shadow *shadow, uint64_t at,
                                          unsigned size_B)
{
    uint64_t wanted = size_B >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << size_B) - 1;
    unsigned bit = at & 63;
    const _Atomic uint64_t *w = &shadow->words[at >> 6];
    uint64_t bits = __atomic_load_n((const uint64_t *)w, __ATOMIC_RELAXED) >> bit;

    if (bit + size_B > 64)
        bits |= __atomic_load_n((const uint64_t *)w + 1, __ATOMIC_RELAXED) << (64 - bit);
    return wanted & ~bits;
}

#endif
