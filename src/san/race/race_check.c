/*
 * An access against what shadow has of the place.
 *
 * Most units were last accessed by nobody in this launch, by their own thread, or before a barrier:
 * that is seen by comparing numbers, for many units at once. The rest are asked one by one.
 */
#ifdef __x86_64__
#include <assert.h>

#include <immintrin.h>
#endif

#include "base/host.h"
#include "san/race/race_streams.h"

#define ALWAYS_INLINE inline __attribute__((always_inline)) /* into code for other CPUs */

/* ---- many at once */

static ALWAYS_INLINE bool check_is_stale(const struct race_simple *s, uint64_t epoch)
{
    return (epoch >> 32) - s->base >= s->ncta;
}

/*
 * Ordered before `mine`, or its own? All in numbers of 64 bits and without branches, so that
 * compilers take vectors.
 */
static ALWAYS_INLINE bool check_is_simple(const struct race_simple *s, uint64_t epoch,
                                          uint64_t mine)
{
    uint64_t clock = epoch & RACE_CLOCK_MAX;
    uint64_t floor =
        (uint32_t)(epoch >> (RACE_CLOCK_BITS + 5)) == s->own_warp ? s->warp_floor : s->floor;
    bool before = (epoch >> 32 == s->serial) & (clock < floor);

    return check_is_stale(s, epoch) | before | ((epoch ^ mine) >> RACE_CLOCK_BITS == 0);
}

static ALWAYS_INLINE bool check_all_simple(const struct race_simple *s,
                                           const uint64_t *restrict epochs,
                                           const uint64_t *restrict mine, uint32_t n)
{
    uint64_t bad = 0;

    for (uint32_t i = 0; i < n; i++)
        bad |= (epochs[i] & s->mask) < s->limit ? 0 : 1;
    if (HD_LIKELY(!bad))
        return true;
    bad = 0;
    for (uint32_t i = 0; i < n; i++)
        bad |= check_is_simple(s, epochs[i], mine[i]) ? 0 : 1;
    return !bad;
}

struct cells { /* of one page from one unit on */
    uint64_t *restrict writer, *restrict reader, *restrict second;
    uint32_t *restrict writer_is, *restrict reader_is, *restrict second_is;
};

/* False: some need a closer look, and nothing is done. */
static ALWAYS_INLINE bool check_run_write(const struct race_simple *s, const struct cells *c,
                                          const uint64_t *restrict mine, uint32_t n, uint32_t info)
{
    if (!check_all_simple(s, c->writer, mine, n) || !check_all_simple(s, c->reader, mine, n) ||
        (c->second && !check_all_simple(s, c->second, mine, n)))
        return false;
    for (uint32_t i = 0; i < n; i++)
        c->writer[i] = mine[i];
    for (uint32_t i = 0; i < n; i++)
        c->writer_is[i] = info;
    return true;
}

enum { RUN_MIN = 4, RUN_MAX = 64 };

/*
 * Two readers stay: one as long as it is not ordered before a later one, and one that came since:
 * the last of another warp, or any of another CTA, so that whoever writes there is not both.
 */
static ALWAYS_INLINE bool check_stays_second(const struct race_simple *s, uint64_t first,
                                             uint64_t second, uint64_t mine)
{
    bool own_warp = (first ^ mine) >> (RACE_CLOCK_BITS + 5) == 0;
    bool other_cta = (first ^ second) >> 32 != 0;

    return (own_warp | other_cta) & !check_is_stale(s, second);
}

static ALWAYS_INLINE void check_run_readers(const struct race_simple *s, const struct cells *c,
                                            const uint64_t *restrict mine, uint32_t n,
                                            uint32_t info)
{
    uint32_t first_stays[RUN_MAX], second_stays[RUN_MAX]; /* masks */
    uint64_t changes = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t first = c->reader[i];
        bool stays = !check_is_simple(s, first, mine[i]);
        bool keeps = check_stays_second(s, first, c->second[i], mine[i]);
        first_stays[i] = stays ? UINT32_MAX : 0;
        second_stays[i] = (stays & !keeps) ? 0 : UINT32_MAX;
        changes |= (stays & keeps) ? 0 : 1;
    }
    if (!changes)
        return; /* what all CTAs read: nobody's cache loses the line */
    for (uint32_t i = 0; i < n; i++) {
        c->reader[i] = first_stays[i] ? c->reader[i] : mine[i];
        c->second[i] = second_stays[i] ? c->second[i] : mine[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        c->reader_is[i] = (c->reader_is[i] & first_stays[i]) | (info & ~first_stays[i]);
        c->second_is[i] = (c->second_is[i] & second_stays[i]) | (info & ~second_stays[i]);
    }
}

static ALWAYS_INLINE bool check_run_read(const struct race_simple *s, const struct cells *c,
                                         const uint64_t *restrict mine, uint32_t n, uint32_t info)
{
    if (!check_all_simple(s, c->writer, mine, n))
        return false;
    if (c->second) {
        check_run_readers(s, c, mine, n, info);
        return true;
    }
    if (!check_all_simple(s, c->reader, mine, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        c->reader[i] = mine[i];
    for (uint32_t i = 0; i < n; i++)
        c->reader_is[i] = info;
    return true;
}

static ALWAYS_INLINE bool check_run_idle(const struct race_simple *s, const struct cells *c,
                                         const uint64_t *restrict mine, uint32_t n, uint32_t info)
{
    uint64_t changes = 0;

    (void)info;
    if (!check_all_simple(s, c->writer, mine, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t first = c->reader[i];
        bool stays = !check_is_simple(s, first, mine[i]);
        changes |= (stays & check_stays_second(s, first, c->second[i], mine[i])) ? 0 : 1;
    }
    return !changes;
}

/* ---- how the addresses of lanes follow each other */

static struct race_links check_links_plain(const uint64_t *at, uint64_t step_B)
{
    struct race_links links = {0, 0};

    for (uint32_t l = 1; l < SAN_LANES; l++) {
        links.same |= (uint32_t)(at[l] == at[l - 1]) << l;
        links.next |= (uint32_t)(at[l] == at[l - 1] + step_B) << l;
    }
    return links;
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static struct race_links check_links_avx512(const uint64_t *at,
                                                                               uint64_t step_B)
{
    struct race_links links = {0, 0};
    __m512i step = _mm512_set1_epi64((long long)step_B);

    for (unsigned i = 0; i < SAN_LANES; i += 8) {
        /* Of the first lane there is none before it: compared with itself, and left out. */
        __m512i before = _mm512_loadu_si512(at + (i ? i - 1 : 0));
        __m512i here = _mm512_loadu_si512(at + i);
        if (!i)
            before = _mm512_alignr_epi64(before, before, 7);
        links.same |= (uint32_t)_mm512_cmpeq_epi64_mask(here, before) << i;
        links.next |= (uint32_t)_mm512_cmpeq_epi64_mask(here, _mm512_add_epi64(before, step)) << i;
    }
    return (struct race_links){links.same & ~1u, links.next & ~1u};
}
#endif

typedef struct race_links links_fn(const uint64_t *at, uint64_t step_B);
typedef bool run_fn(const struct race_simple *s, const struct cells *c, const uint64_t *mine,
                    uint32_t n, uint32_t info);

#define RUNS(suffix, attributes)                                                                   \
    attributes static bool check_write_##suffix(const struct race_simple *s,                       \
                                                const struct cells *c, const uint64_t *mine,       \
                                                uint32_t n, uint32_t info)                         \
    {                                                                                              \
        return check_run_write(s, c, mine, n, info);                                               \
    }                                                                                              \
    attributes static bool check_read_##suffix(const struct race_simple *s, const struct cells *c, \
                                               const uint64_t *mine, uint32_t n, uint32_t info)    \
    {                                                                                              \
        return check_run_read(s, c, mine, n, info);                                                \
    }                                                                                              \
    attributes static bool check_idle_##suffix(const struct race_simple *s, const struct cells *c, \
                                               const uint64_t *mine, uint32_t n, uint32_t info)    \
    {                                                                                              \
        return check_run_idle(s, c, mine, n, info);                                                \
    }
RUNS(plain, )
#ifdef __x86_64__
RUNS(avx2, __attribute__((target("avx2"))))
RUNS(avx512, __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"))))
#endif

static struct {
    run_fn *write, *read, *idle;
    links_fn *links;
} runs = {check_write_plain, check_read_plain, check_idle_plain, check_links_plain};

struct race_links race_links_of(const uint64_t *at, uint64_t step_B)
{
    return runs.links(at, step_B);
}

void race_check_start(void)
{
#ifdef __x86_64__
    if (hd_host_has(HD_HOST_AVX512)) {
        runs.write = check_write_avx512;
        runs.read = check_read_avx512;
        runs.idle = check_idle_avx512;
        runs.links = check_links_avx512;
    } else if (hd_host_has(HD_HOST_AVX2)) {
        runs.write = check_write_avx2;
        runs.read = check_read_avx2;
        runs.idle = check_idle_avx2;
    }
#endif
}

/* ---- one by one */

/* Both accesses are as they should be for threads that meet without order. */
static bool check_may_meet(const struct race_cta *cta, uint64_t before, unsigned a, unsigned b)
{
    const unsigned strong = RACE_STRONG | RACE_ATOM | RACE_VOLATILE;
    uint32_t serial = race_serial(before);

    if (!(a & strong) || !(b & strong))
        return false;
    if (serial != cta->serial && (a | b) & RACE_CTA)
        return false;
    if ((a | b) & RACE_CLUSTER && !race_same_cluster(cta, serial))
        return false;
    if (!((a | b) & RACE_VOLATILE))
        return true;
    if (a & b & RACE_VOLATILE)
        return false;
    unsigned other = a & RACE_VOLATILE ? b : a, is_volatile = a & RACE_VOLATILE ? a : b;
    return is_volatile & RACE_READS || other & RACE_STRONG;
}

/* `a` is such a plain read, `b` an atomic. */
static bool check_is_first_guess(const struct race_cta *cta, uint32_t a, uint32_t b)
{
    const unsigned strong = RACE_STRONG | RACE_ATOM | RACE_VOLATILE;

    return a & RACE_READS && !(a & strong) && b & (RACE_STRONG | RACE_ATOM) &&
           race_begins_swap(race_probe(cta->launch, a >> 8));
}

/*
 * By places alone it is not if the earlier one had its lock without a fence, or without one that
 * reaches this thread, which has a lock too: had they come the other way round, nothing would order
 * them.
 */
static bool check_is_ordered(struct race_cta *cta, const struct race_hazard *h)
{
    const struct san_access *x = h->access;
    uint32_t thread = h->thread, before_is = h->before_is;
    uint64_t before = h->before, begin = x->address[thread % SAN_LANES];
    uint64_t key = race_where(cta, x->space, begin, x->peer).key;

    if (race_is_in_flight(before) && before_is & RACE_READS)
        return race_product_is_over(cta, thread, before, key);
    enum race_order order = race_ordered(cta, thread, before, key);
    bool locked = cta->warps[thread / SAN_LANES].locked >> thread % SAN_LANES & 1;
    bool lacks = before_is & RACE_UNFENCED ||
                 (before_is & RACE_HALF_FENCED && race_serial(before) != cta->serial);

    return order == RACE_ORDERED || (order == RACE_BY_PLACES && !(lacks && locked));
}

static void check_against(struct race_access *a, unsigned slot, uint64_t before, uint32_t before_is,
                          uint64_t mine, uint64_t address)
{
    struct race_reported reported = {before, mine};
    uint32_t thread = race_thread_of(mine);
    assert(race_serial(mine) == a->cta->serial && !race_is_in_flight(mine));
    struct race_hazard hazard = {.before = before,
                                 .before_is = before_is,
                                 .now_is = a->info,
                                 .thread = thread,
                                 .access = a->access,
                                 .address = address};

    if (check_is_stale(&a->simple, before) ||
        (a->reported[slot].before == before && a->reported[slot].mine == mine))
        return;
    if (!race_is_own(a->cta->launch, race_serial(before))) {
        a->reported[slot] = reported;
        race_streams_against(a->cta, &hazard);
        return;
    }
    if (check_is_ordered(a->cta, &hazard) ||
        check_may_meet(a->cta, before, before_is & 255, a->info & 255) ||
        check_is_first_guess(a->cta, before_is, a->info) ||
        check_is_first_guess(a->cta, a->info, before_is))
        return;
    a->reported[slot] = reported;
    race_note(a->cta, &hazard);
}

/* As check_run_readers(). */
static void check_read_unit(struct race_access *a, struct race_page *page, uint32_t unit,
                            uint64_t mine, uint64_t address)
{
    const struct race_simple *s = &a->simple;
    uint64_t first = page->reader[unit];

    if (!check_is_simple(s, page->writer[unit], mine))
        check_against(a, 0, page->writer[unit], page->writer_is[unit], mine, address);
    if (check_is_simple(s, first, mine)) {
        page->reader[unit] = mine;
        page->reader_is[unit] = a->info;
    } else if (race_page_add_second(page)) {
        if (check_stays_second(s, first, page->second[unit], mine))
            return;
        page->second[unit] = mine;
        page->second_is[unit] = a->info;
    }
}

void race_check_unit(struct race_access *a, struct race_page *page, uint32_t unit, uint64_t mine,
                     uint64_t address)
{
    if (a->writes) {
        const struct race_simple *s = &a->simple;

        if (!check_is_simple(s, page->writer[unit], mine))
            check_against(a, 0, page->writer[unit], page->writer_is[unit], mine, address);
        if (!check_is_simple(s, page->reader[unit], mine))
            check_against(a, 1, page->reader[unit], page->reader_is[unit], mine, address);
        if (page->second && !check_is_simple(s, page->second[unit], mine))
            check_against(a, 2, page->second[unit], page->second_is[unit], mine, address);
        page->writer[unit] = mine;
        page->writer_is[unit] = a->info;
    } else
        check_read_unit(a, page, unit, mine, address);
}

/* ---- both */

static bool check_run(const struct race_access *a, struct race_page *page, uint32_t at, uint32_t n,
                      const uint64_t *mine)
{
    struct cells c = {
        page->writer + at,    page->reader + at,    page->second ? page->second + at : NULL,
        page->writer_is + at, page->reader_is + at, page->second ? page->second_is + at : NULL};

    return (a->writes ? runs.write : runs.read)(&a->simple, &c, mine, n, a->info);
}

void race_check(struct race_access *a, struct race_page *page, uint32_t at, uint32_t n,
                const uint64_t *mine, uint64_t address)
{
    assert(n && at + n <= (uint32_t)RACE_PAGE_B >> page->shift);
    while (n) {
        uint32_t some = HD_MIN(n, (uint32_t)RUN_MAX);
        if (some < RUN_MIN || !check_run(a, page, at, some, mine))
            for (uint32_t i = 0; i < some; i++)
                race_check_unit(a, page, at + i, mine[i], address + ((uint64_t)i << page->shift));
        at += some;
        n -= some;
        mine += some;
        address += (uint64_t)some << page->shift;
    }
}

bool race_check_idle(const struct race_access *a, const struct race_page *page, uint64_t address,
                     uint32_t n, const uint64_t *mine)
{
    unsigned shift = atomic_load_explicit(&page->shift, memory_order_acquire);
    uint32_t at = (uint32_t)(address % RACE_PAGE_B) >> shift;
    uint64_t *second = __atomic_load_n(&page->second, __ATOMIC_ACQUIRE);
    struct cells c = {__atomic_load_n(&page->writer, __ATOMIC_ACQUIRE) + at,
                      __atomic_load_n(&page->reader, __ATOMIC_ACQUIRE) + at,
                      second ? second + at : NULL,
                      NULL,
                      NULL,
                      NULL};

    /* ThreadSanitizer is right that others write there; any value that was there will do. */
    return !HD_SANITIZES_THREADS && !a->writes && second && a->access->size_B == 1u << shift &&
           !(address & (a->access->size_B - 1)) && runs.idle(&a->simple, &c, mine, n, 0);
}
