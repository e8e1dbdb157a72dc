/* Bits of initialised bytes. */
#include "san/shadow.h"

#include <assert.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/mem.h"

enum { WORD = 64, SMALL_B = 64 << 10 };

/* Larger ones by pages, which the system gives when they are first touched. */
static void *words_take(struct san_shadow *shadow, size_t size_B)
{
    void *words;

    if (size_B < SMALL_B)
        return hd_alloc(size_B);
    if (hd_fault_alloc())
        return NULL;
    words = mmap(NULL, size_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (words == MAP_FAILED)
        return NULL;
    shadow->mapped_B = size_B;
    return words;
}

struct san_shadow *san_shadow_create(uint64_t size_B)
{
    struct san_shadow *shadow = hd_new(struct san_shadow);

    assert(size_B);
    if (!shadow)
        return NULL;
    shadow->size_B = size_B;
    /* One word more: the quick question may load it. */
    shadow->words = words_take(shadow, (size_t)(size_B / WORD + 2) * sizeof(uint64_t));
    if (!shadow->words) {
        hd_free(shadow);
        return NULL;
    }
    return shadow;
}

void san_shadow_destroy(struct san_shadow *shadow)
{
    if (!shadow)
        return;
    if (shadow->mapped_B)
        (void)munmap((void *)shadow->words, shadow->mapped_B);
    else
        hd_free((void *)shadow->words);
    hd_free(shadow);
}

/* The bits of a range that lie in the word of `at`, and how many bytes these are. */
static uint64_t mask_at(uint64_t at, uint64_t size_B, uint64_t *out_step_B)
{
    unsigned bit = at % WORD;
    uint64_t n = HD_MIN(size_B, (uint64_t)WORD - bit);

    *out_step_B = n;
    return (n == WORD ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << bit;
}

/* The bits of bytes up to `at` in its word. */
static uint64_t mask_upto(uint64_t at)
{
    return ~UINT64_C(0) >> (WORD - 1 - at % WORD);
}

static uint64_t load(const struct san_shadow *shadow, uint64_t at)
{
    return atomic_load_explicit(&shadow->words[at / WORD], memory_order_relaxed);
}

void san_shadow_set(struct san_shadow *shadow, uint64_t at, uint64_t size_B)
{
    assert(at <= shadow->size_B && size_B <= shadow->size_B - at);
    while (size_B) {
        _Atomic uint64_t *word = &shadow->words[at / WORD];
        uint64_t step_B, mask = mask_at(at, size_B, &step_B);

        if (!~mask)
            atomic_store_explicit(word, mask, memory_order_relaxed);
        else if (mask & ~atomic_load_explicit(word, memory_order_relaxed))
            atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
        at += step_B;
        size_B -= step_B;
    }
}

void san_shadow_clear(struct san_shadow *shadow, uint64_t at, uint64_t size_B)
{
    assert(at <= shadow->size_B && size_B <= shadow->size_B - at);
    atomic_store_explicit(&shadow->is_full, false, memory_order_relaxed);
    while (size_B) {
        uint64_t step_B, mask = mask_at(at, size_B, &step_B);

        atomic_fetch_and_explicit(&shadow->words[at / WORD], ~mask, memory_order_relaxed);
        at += step_B;
        size_B -= step_B;
    }
}

/* The first byte whose bit, after `flip`, is 1. */
static uint64_t first(const struct san_shadow *shadow, uint64_t at, uint64_t size_B, uint64_t flip)
{
    uint64_t end = at + size_B;

    assert(at <= shadow->size_B && size_B <= shadow->size_B - at);
    while (at < end) {
        uint64_t step_B, mask = mask_at(at, end - at, &step_B);
        uint64_t found = (load(shadow, at) ^ flip) & mask;

        while (!found && !~mask && end - at >= 2 * WORD) { /* whole words, quickly */
            at += WORD;
            found = load(shadow, at) ^ flip;
        }

        if (found)
            return at / WORD * WORD + (unsigned)__builtin_ctzll(found);
        at += step_B;
    }
    return end;
}

uint64_t san_shadow_first_clear(const struct san_shadow *shadow, uint64_t at, uint64_t size_B)
{
    return first(shadow, at, size_B, ~UINT64_C(0));
}

bool san_shadow_is_full(struct san_shadow *shadow)
{
    if (!atomic_load_explicit(&shadow->is_full, memory_order_relaxed) &&
        san_shadow_first_clear(shadow, 0, shadow->size_B) == shadow->size_B)
        atomic_store_explicit(&shadow->is_full, true, memory_order_relaxed);
    return atomic_load_explicit(&shadow->is_full, memory_order_relaxed);
}

uint64_t san_shadow_run_begin(const struct san_shadow *shadow, uint64_t at)
{
    assert(at < shadow->size_B);
    for (uint64_t word = at / WORD, bits = mask_upto(at);; bits = ~UINT64_C(0)) {
        uint64_t clear = ~load(shadow, word * WORD) & bits;

        if (clear)
            return word * WORD + WORD - (unsigned)__builtin_clzll(clear);
        if (!word--)
            return 0;
    }
}

uint64_t san_shadow_first_set(const struct san_shadow *shadow, uint64_t at, uint64_t size_B)
{
    return first(shadow, at, size_B, 0);
}

uint64_t san_shadow_count(const struct san_shadow *shadow, uint64_t at, uint64_t size_B)
{
    uint64_t count = 0;

    assert(at <= shadow->size_B && size_B <= shadow->size_B - at);
    while (size_B) {
        uint64_t step_B, mask = mask_at(at, size_B, &step_B);

        count += (unsigned)__builtin_popcountll(load(shadow, at) & mask);
        at += step_B;
        size_B -= step_B;
    }
    return count;
}

static void piece_copy(struct san_shadow *dst, uint64_t dst_at, const struct san_shadow *src,
                       uint64_t src_at, unsigned size_B)
{
    uint64_t missing = san_shadow_missing(src, src_at, size_B);
    uint64_t step_B, mask;

    assert(size_B && size_B <= WORD);
    for (unsigned done = 0; done < size_B; done += (unsigned)step_B) {
        _Atomic uint64_t *word = &dst->words[(dst_at + done) / WORD];
        uint64_t clear = missing >> done << (dst_at + done) % WORD;

        mask = mask_at(dst_at + done, size_B - done, &step_B);
        clear &= mask;
        atomic_fetch_or_explicit(word, mask & ~clear, memory_order_relaxed);
        if (!clear)
            continue;
        atomic_store_explicit(&dst->is_full, false, memory_order_relaxed);
        atomic_fetch_and_explicit(word, ~clear, memory_order_relaxed);
    }
}

void san_shadow_copy(struct san_shadow *dst, uint64_t dst_at, const struct san_shadow *src,
                     uint64_t src_at, uint64_t size_B)
{
    bool backwards = dst == src && dst_at > src_at;

    assert(dst_at <= dst->size_B && size_B <= dst->size_B - dst_at);
    assert(src_at <= src->size_B && size_B <= src->size_B - src_at);
    for (uint64_t done = 0; done < size_B; done += WORD) {
        unsigned n = (unsigned)HD_MIN(size_B - done, (uint64_t)WORD);
        uint64_t at = backwards ? size_B - done - n : done;

        piece_copy(dst, dst_at + at, src, src_at + at, n);
    }
}
