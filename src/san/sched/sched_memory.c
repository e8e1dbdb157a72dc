/* What a launch writes to: before it, after it, and how results differ. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mem.h"
#include "san/options.h"
#include "san/sched/schedcheck.h"

enum { LINE_B = 64, PAGE_B = 4096 };

/* ---- the heap of kernels */

struct heap_block {
    uint64_t base, size_B;
};

static struct {
    struct hd_lock lock;
    HD_VEC(struct heap_block) blocks;
} heap = {.lock = HD_LOCK_INIT(SAN_MEMORY, "schedcheck's heap")};

static size_t memory_heap_find_locked(uint64_t va)
{
    size_t i = heap.blocks.len;

    assert(hd_lock_held(&heap.lock));
    while (i && va - heap.blocks.at[i - 1].base >= heap.blocks.at[i - 1].size_B)
        i--;
    return i;
}

void sched_heap_add(uint64_t va, uint64_t size_B)
{
    const struct heap_block block = {va, size_B};

    hd_lock_acquire(&heap.lock);
    (void)!hd_vec_push(&heap.blocks, block); /* without memory it is not known */
    hd_lock_release(&heap.lock);
}

void sched_heap_remove(uint64_t va)
{
    hd_lock_acquire(&heap.lock);
    size_t i = memory_heap_find_locked(va);
    if (i) {
        heap.blocks.at[i - 1] = hd_vec_last(&heap.blocks);
        heap.blocks.len--;
    }
    hd_lock_release(&heap.lock);
}

static bool memory_heap_find(uint64_t va, struct heap_block *out)
{
    hd_lock_acquire(&heap.lock);
    size_t i = memory_heap_find_locked(va);
    if (i)
        *out = heap.blocks.at[i - 1];
    hd_lock_release(&heap.lock);
    return i != 0;
}

/* ---- parts */

/* Pages may be inaccessible: those of a mapping to which nobody has access. */
static bool memory_read_own(char *to, uint64_t va, uint64_t size_B)
{
    while (size_B) {
        const struct iovec local = {to, size_B}, remote = {(void *)(uintptr_t)va, size_B};
        ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

        if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
            memcpy(to, (const void *)(uintptr_t)va, size_B);
            return true;
        }
        if (n <= 0)
            return false;
        to += n;
        va += (uint64_t)n;
        size_B -= (uint64_t)n;
    }
    return true;
}

static char *memory_copy_of(const struct sched_part *part)
{
    char *copy = hd_alloc(part->size_B);

    if (copy && !memory_read_own(copy, part->base, part->size_B)) {
        hd_free(copy);
        return NULL;
    }
    return copy;
}

/* The last part that begins at or before the address. */
static size_t memory_index_of(const struct sched_memory *m, uint64_t va)
{
    size_t low = 0, high = m->parts.len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (m->parts.at[middle]->base <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool memory_insert(struct sched_memory *m, struct sched_part *part)
{
    size_t at = memory_index_of(m, part->base);

    if (!hd_vec_reserve(&m->parts, m->parts.len + 1))
        return false;
    memmove(&m->parts.at[at + 1], &m->parts.at[at], (m->parts.len - at) * sizeof(m->parts.at[0]));
    m->parts.at[at] = part;
    m->parts.len++;
    return true;
}

/* What a later run is the first to write to has been left alone by the usual one. */
static enum sched_skip memory_part_create(struct sched_memory *m, const struct sched_part *what,
                                          struct sched_part **out_part)
{
    struct sched_part *part;

    if (what->size_B > (san_options()->schedule_memory_MiB << 20) - m->saved_B)
        return SCHED_MEMORY;
    part = hd_new(struct sched_part);
    if (part) {
        *part = *what;
        part->before = memory_copy_of(part);
        part->after = part->reference = m->is_known ? part->before : NULL;
    }
    if (!part || !part->before || !memory_insert(m, part)) {
        if (part)
            hd_free(part->before);
        hd_free(part);
        return SCHED_UNKNOWN;
    }
    assert(part->size_B);
    m->saved_B += part->size_B;
    *out_part = part;
    return SCHED_NONE;
}

enum sched_skip sched_memory_touch(struct sched_memory *m, uint64_t va,
                                   struct sched_part **out_part)
{
    size_t i = memory_index_of(m, va);
    struct sched_part what = {0};
    struct heap_block of_heap;
    char byte;

    if (i && va - m->parts.at[i - 1]->base < m->parts.at[i - 1]->size_B) {
        *out_part = m->parts.at[i - 1];
        return SCHED_NONE;
    }
    what.block = san_memory_find(m->picture, va);
    if (what.block) {
        what.base = what.block->base;
        what.size_B = what.block->size_B;
    } else if (memory_heap_find(va, &of_heap)) {
        what.base = of_heap.base;
        what.size_B = of_heap.size_B;
    } else {
        /* Where nothing is the access fails, and nothing is written. */
        return memory_read_own(&byte, va, 1) ? SCHED_UNKNOWN : SCHED_NONE;
    }
    return memory_part_create(m, &what, out_part);
}

enum sched_skip sched_memory_touch_all(struct sched_memory *m)
{
    enum sched_skip skip = SCHED_NONE;
    struct sched_part *part;

    for (uint32_t i = 0; i < m->picture->n && skip != SCHED_MEMORY; i++) {
        const struct san_block *block = m->picture->block[i];

        if (block->use != HEDDLE_MEMORY_OWN)
            skip = sched_memory_touch(m, block->base, &part);
    }
    return skip == SCHED_MEMORY ? skip : SCHED_NONE; /* who cannot be read is not written either */
}

static void memory_part_free(struct sched_part *part)
{
    if (part->reference != part->after)
        hd_free(part->reference);
    if (part->after != part->before)
        hd_free(part->after);
    hd_free(part->before);
    hd_free(part);
}

void sched_memory_fini(struct sched_memory *m)
{
    for (size_t i = 0; i < m->parts.len; i++)
        memory_part_free(m->parts.at[i]);
    hd_vec_fini(&m->parts);
    san_memory_unref(m->picture);
    m->picture = NULL;
}

/* ---- results */

static const char *memory_now_of(const struct sched_part *part)
{
    return (const char *)(uintptr_t)part->base;
}

bool sched_memory_know(struct sched_memory *m)
{
    assert(!m->is_known);
    for (size_t i = 0; i < m->parts.len; i++) {
        struct sched_part *part = m->parts.at[i];

        part->after = part->reference = memory_copy_of(part);
        if (!part->after)
            return false;
    }
    m->is_known = true;
    return true;
}

bool sched_memory_refer(struct sched_memory *m)
{
    assert(m->is_known);
    for (size_t i = 0; i < m->parts.len; i++) {
        struct sched_part *part = m->parts.at[i];

        if (!memcmp(memory_now_of(part), part->after, part->size_B))
            continue;
        if (part->reference == part->after)
            part->reference = hd_alloc(part->size_B);
        if (!part->reference)
            return false;
        memcpy(part->reference, memory_now_of(part), part->size_B);
    }
    return true;
}

/* Only what differs is written, so that what nobody else changed stays untouched. */
static void memory_put(const struct sched_part *part, const char *from)
{
    char *to = (char *)(uintptr_t)part->base;

    for (uint64_t at = 0; at < part->size_B; at += PAGE_B) {
        uint64_t end = HD_MIN(at + PAGE_B, part->size_B);

        if (!memcmp(to + at, from + at, end - at))
            continue;
        for (uint64_t line = at; line < end; line += LINE_B) {
            uint64_t n = HD_MIN((uint64_t)LINE_B, end - line);

            if (memcmp(to + line, from + line, n))
                memcpy(to + line, from + line, n);
        }
    }
}

void sched_memory_rewind(struct sched_memory *m)
{
    for (size_t i = 0; i < m->parts.len; i++)
        memory_put(m->parts.at[i], m->parts.at[i]->before);
}

void sched_memory_finish(struct sched_memory *m)
{
    assert(m->is_known);
    for (size_t i = 0; i < m->parts.len; i++)
        memory_put(m->parts.at[i], m->parts.at[i]->after);
}

/* ---- how results differ */

struct format {
    unsigned width, fraction; /* bytes; bits of the fraction */
    uint64_t exponent_low, exponent_high;
};

/*
 * Numbers that programs compute with: others are taken for something else. An integer has the
 * exponent of such a number only when it is large.
 */
static const struct format formats[] = {
    {8, 52, 1023 - 200, 1023 + 200},
    {4, 23, 127 - 66, 127 + 66},
    {2, 10, 1, 30},             /* f16 */
    {2, 7, 127 - 40, 127 + 40}, /* bf16 */
};

struct judge {
    bool fits[HD_COUNT_OF(formats)];
    uint64_t ulps[HD_COUNT_OF(formats)];
    uint64_t limit;
    uint64_t was, is; /* of the part: what the words that differ add up to, as a set */
};

static uint64_t memory_word_at(const char *p, unsigned width)
{
    uint64_t word = 0;

    memcpy(&word, p, width);
    return word;
}

/* How far apart; UINT64_MAX: they are no such numbers. */
static uint64_t memory_distance(const struct format *f, uint64_t a, uint64_t b)
{
    uint64_t mask = (UINT64_C(1) << (f->width * 8 - 1 - f->fraction)) - 1;
    uint64_t low = (a < b ? a : b) >> f->fraction & mask,
             high = (a < b ? b : a) >> f->fraction & mask;

    if ((a ^ b) >> (f->width * 8 - 1) || low < f->exponent_low || high > f->exponent_high)
        return UINT64_MAX;
    return a < b ? b - a : a - b;
}

static void memory_judge_word(struct judge *j, const char *was, const char *is)
{
    for (size_t i = 0; i < HD_COUNT_OF(formats); i++) {
        const struct format *f = &formats[i];

        for (unsigned at = 0; j->fits[i] && at < 8; at += f->width) {
            uint64_t a = memory_word_at(was + at, f->width), b = memory_word_at(is + at, f->width);
            uint64_t d = a == b ? 0 : memory_distance(f, a, b);

            j->fits[i] = d <= j->limit;
            j->ulps[i] = HD_MAX(j->ulps[i], d);
        }
    }
}

/* Sums of these are the same for the same words in any order, and hardly for others. */
static uint64_t memory_fingerprint(const char *word)
{
    uint64_t x = (memory_word_at(word, 4) + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static void memory_judge_set(struct judge *j, const char *was, const char *is)
{
    for (unsigned at = 0; at < 8; at += 4) {
        if (!memcmp(was + at, is + at, 4))
            continue;
        j->was += memory_fingerprint(was + at);
        j->is += memory_fingerprint(is + at);
    }
}

static uint32_t memory_differing(const char *was, const char *is, unsigned n)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < n; i++)
        bytes += was[i] != is[i];
    return bytes;
}

/* Words of eight bytes; at the end there may be fewer. */
static void memory_compare_chunk(const struct sched_part *part, uint64_t at, uint64_t end,
                                 struct judge *j, struct sched_diff *diff)
{
    for (; at < end; at += 8) {
        unsigned n = (unsigned)HD_MIN((uint64_t)8, end - at);
        char was[8] = {0}, is[8] = {0};

        memcpy(was, part->reference + at, n);
        memcpy(is, memory_now_of(part) + at, n);
        if (!memcmp(was, is, 8))
            continue;
        if (!diff->part) {
            diff->part = part;
            diff->at = at;
        }
        diff->bytes += memory_differing(was, is, n);
        memory_judge_word(j, was, is);
        memory_judge_set(j, was, is);
    }
}

static void memory_compare_part(const struct sched_part *part, struct judge *j,
                                struct sched_diff *diff)
{
    uint64_t before = diff->bytes;

    j->was = j->is = 0;
    for (uint64_t at = 0; at < part->size_B; at += PAGE_B) {
        uint64_t end = HD_MIN(at + PAGE_B, part->size_B);

        if (memcmp(memory_now_of(part) + at, part->reference + at, end - at))
            memory_compare_chunk(part, at, end, j, diff);
    }
    diff->parts += diff->bytes > before;
    diff->is_moved &= j->was == j->is;
}

/* The word in which the first byte differs: of the width that explains it, else of four bytes. */
static void memory_show_first(struct sched_diff *diff)
{
    const struct sched_part *part = diff->part;
    uint64_t at = diff->at;

    /* One differs, or did: who else runs may have changed it since. */
    while (at + 1 < part->size_B && part->reference[at] == memory_now_of(part)[at])
        at++;
    diff->at = at - at % diff->width;
    if (diff->at + diff->width > part->size_B) {
        diff->width = 1;
        diff->at = at;
    }
    memcpy(diff->was, part->reference + diff->at, diff->width);
    memcpy(diff->is, memory_now_of(part) + diff->at, diff->width);
}

void sched_memory_compare(const struct sched_memory *m, struct sched_diff *out_diff)
{
    struct judge j = {.limit = san_options()->schedule_ulps};

    assert(m->is_known);
    *out_diff = (struct sched_diff){.width = 4, .is_moved = true};
    for (size_t i = 0; i < HD_COUNT_OF(formats); i++)
        j.fits[i] = m->floats & formats[i].width;
    for (size_t i = 0; i < m->parts.len; i++)
        memory_compare_part(m->parts.at[i], &j, out_diff);
    out_diff->is_moved &= out_diff->bytes != 0;
    if (!out_diff->bytes)
        return;
    for (size_t i = 0; i < HD_COUNT_OF(formats) && !out_diff->is_rounding; i++)
        if (j.fits[i]) {
            out_diff->is_rounding = true;
            out_diff->ulps = j.ulps[i];
            out_diff->width = formats[i].width;
        }
    memory_show_first(out_diff);
}
