/*
 * Accesses of a warp: what they are to others, and shadow of the units that they touch. Lanes whose
 * bytes lie side by side are one run.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "san/options.h"
#include "san/race/race.h"

/* ---- what an access is */

static unsigned access_scope_flags(enum ir_scope scope)
{
    return scope == IR_SCOPE_CTA ? RACE_CTA : scope == IR_SCOPE_CLUSTER ? RACE_CLUSTER : 0;
}

static unsigned access_atomic_flags(struct race_launch *launch, const struct san_access *a)
{
    const struct ir_mem *mem = &a->probe->mem;
    enum ir_op op = ir_probe_op(a->probe);
    bool is_wide = op == IR_OP_TENSORCOPY || op == IR_OP_TEX; /* of the whole device */
    bool locks =
        op == IR_OP_ATOM && (mem->atom == IR_ATOM_CAS || race_polls(launch, a->probe, a->number));

    return (locks ? RACE_STRONG : RACE_ATOM) | (is_wide ? 0u : access_scope_flags(mem->scope));
}

static unsigned access_flags(struct race_launch *launch, const struct san_access *a)
{
    const struct ir_mem *mem = &a->probe->mem;
    unsigned reads = a->what == SAN_READ ? RACE_READS : 0;

    if (a->what == SAN_ATOMIC)
        return reads | access_atomic_flags(launch, a);
    if (mem->sem == IR_SEM_WEAK)
        return reads;
    if (mem->sem != IR_SEM_VOLATILE)
        return reads | RACE_STRONG | access_scope_flags(mem->scope);
    bool polls = reads && race_polls(launch, a->probe, a->number);
    return reads | (polls ? RACE_STRONG : RACE_VOLATILE);
}

/* ---- shadow of a stretch of memory */

struct stretch {
    struct race_access *a;
    uint32_t lane;   /* of its first bytes */
    uint64_t step_B; /* bytes of each lane */
    uint64_t address;
    uint64_t size_B;
};

static struct race_page *access_page_at(const struct stretch *s, uint64_t address, bool *locks)
{
    const struct san_access *x = s->a->access;

    return race_page_of(s->a->cta, x->space, address, x->peer, locks);
}

/* The part of a stretch that lies in one page. */
static void access_in_page(const struct stretch *s, struct race_page *page, uint64_t from,
                           uint64_t size_B)
{
    struct race_access *a = s->a;
    uint32_t first = a->access->warp * SAN_LANES + s->lane;
    uint64_t mine[RACE_PAGE_B], offset = from - s->address, bits = from | size_B | s->step_B;

    if (!race_page_refine(page, bits & 1 ? 0 : bits & 2 ? 1 : 2))
        return;
    uint64_t unit_B = 1u << page->shift;
    uint32_t unit = (uint32_t)(from % RACE_PAGE_B) >> page->shift;
    uint32_t n = (uint32_t)(size_B >> page->shift);
    if (s->step_B == unit_B) { /* a unit for each thread: their epochs as they are */
        race_check(a, page, unit, n, &a->cta->epoch[first + offset / unit_B], from);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        mine[i] = a->cta->epoch[first + (offset + i * unit_B) / s->step_B];
    race_check(a, page, unit, n, mine, from);
}

/* Of lanes side by side. */
static bool access_is_idle(const struct stretch *s, const struct race_page *page, uint64_t from,
                           uint64_t part_B)
{
    uint64_t lanes = part_B / s->step_B, first = (from - s->address) / s->step_B;
    const uint64_t *mine = &s->a->cta->epoch[s->a->access->warp * SAN_LANES + s->lane + first];

    return lanes * s->step_B == part_B && first * s->step_B == from - s->address && lanes &&
           race_check_idle(s->a, page, from, (uint32_t)lanes, mine);
}

static void access_check_stretch(const struct stretch *s)
{
    for (uint64_t done_B = 0; done_B < s->size_B;) {
        uint64_t from = s->address + done_B;
        uint64_t part_B = HD_MIN(s->size_B - done_B, RACE_PAGE_B - from % RACE_PAGE_B);
        bool locks;
        struct race_page *page = access_page_at(s, from, &locks);
        locks &= page != NULL;
        if (locks && access_is_idle(s, page, from, part_B)) {
            done_B += part_B;
            continue;
        }
        if (locks)
            race_page_lock(page);
        if (page)
            access_in_page(s, page, from, part_B);
        if (locks)
            race_page_unlock(page);
        done_B += part_B;
    }
}

/* ---- the lanes of a warp */

static void access_check_lanes(struct race_access *a, uint32_t lane, uint32_t n)
{
    struct stretch s = {.a = a,
                        .lane = lane,
                        .step_B = a->access->size_B,
                        .address = a->access->address[lane],
                        .size_B = n * a->access->size_B};

    access_check_stretch(&s);
}

/* Most units: whoever was there before is ordered, as one comparison shows. */
static inline bool access_takes_unit(const struct race_access *a, struct race_page *page,
                                     uint32_t unit, uint64_t mine)
{
    const struct race_simple *s = &a->simple;
    uint64_t newest = HD_MAX(page->writer[unit] & s->mask, page->reader[unit] & s->mask);

    if (newest >= s->limit || page->second)
        return false;
    (a->writes ? page->writer : page->reader)[unit] = mine;
    (a->writes ? page->writer_is : page->reader_is)[unit] = a->info;
    return true;
}

/*
 * Lanes all over the place, one unit each: a page stays locked while they are in it. What is no
 * unit of its page, or lies in two, goes the long way.
 */
static void access_check_scattered(struct race_access *a, uint32_t lanes)
{
    const struct san_access *x = a->access;
    struct stretch s = {.a = a};
    struct race_page *page = NULL;
    uint64_t number = UINT64_MAX, size_B = x->size_B;
    bool locks = false;

    san_foreach_lane(l, lanes) {
        uint64_t at = x->address[l];
        if (at >> RACE_PAGE_SHIFT != number) {
            if (page && locks)
                race_page_unlock(page);
            number = at >> RACE_PAGE_SHIFT;
            page = access_page_at(&s, at, &locks);
            if (page && locks)
                race_page_lock(page);
        }
        if (!page)
            continue;
        if (size_B == 1u << page->shift && !(at & (size_B - 1))) {
            uint32_t unit = (uint32_t)(at % RACE_PAGE_B) >> page->shift;
            uint64_t mine = a->cta->epoch[x->warp * SAN_LANES + l];
            if (!access_takes_unit(a, page, unit, mine))
                race_check_unit(a, page, unit, mine, at);
            continue;
        }
        if (locks)
            race_page_unlock(page);
        page = NULL;
        number = UINT64_MAX;
        access_check_lanes(a, l, 1);
    }
    if (page && locks)
        race_page_unlock(page);
}

enum { RUN_MIN = 8 }; /* lanes, for which the way through access_check_lanes() pays */

/* Does any lane have RUN_MIN - 1 behind it that follow each other? */
static bool access_has_runs(uint32_t next)
{
    uint32_t two = next & next >> 1, four = two & two >> 2;

    _Static_assert(RUN_MIN - 1 == 4 + 3, "four and three, which overlap in none");
    return four & (two & two >> 1) >> 4;
}

/* Runs of lanes that access what lies side by side, then all others. */
static void access_check_all(struct race_access *a)
{
    const struct san_access *x = a->access;
    struct race_links links = race_links_of(x->address, x->size_B);
    uint32_t has_left = a->lanes & a->lanes << 1, next = links.next & has_left;
    uint32_t same = links.same & has_left;
    /* Two readers are kept: not those that read what both their neighbours read. */
    uint32_t left = a->writes ? a->lanes : a->lanes & ~(same & same >> 1), scattered = 0;

    if (!access_has_runs(next)) {
        scattered = left;
        left = 0;
    }
    while (left) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint32_t n = 1 + (uint32_t)__builtin_ctzll(~((uint64_t)next >> (lane + 1)));
        uint32_t run = (uint32_t)(((1ull << n) - 1) << lane);
        if (n >= RUN_MIN)
            access_check_lanes(a, lane, n);
        else
            scattered |= run;
        left &= ~run;
    }
    if (scattered)
        access_check_scattered(a, scattered);
}

/* ---- order through what they access */

static bool access_acquires(enum ir_sem sem)
{
    return sem == IR_SEM_ACQUIRE || sem == IR_SEM_ACQ_REL || sem == IR_SEM_SC;
}

static bool access_releases(enum ir_sem sem)
{
    return sem == IR_SEM_RELEASE || sem == IR_SEM_ACQ_REL || sem == IR_SEM_SC;
}

/* What a reader needs besides the read: race_flow.c says why. */
static enum race_pend access_pend_of(const struct san_access *x, unsigned flags)
{
    const struct ir_mem *mem = &x->probe->mem;

    if (access_acquires(mem->sem))
        return RACE_PEND_NOW;
    if (x->what == SAN_ATOMIC)
        return mem->atom == IR_ATOM_CAS && ir_probe_op(x->probe) == IR_OP_ATOM ? RACE_PEND_FENCE
                                                                               : RACE_PEND_NOW;
    return mem->sem == IR_SEM_VOLATILE && flags & RACE_STRONG ? RACE_PEND_NOW : RACE_PEND_FENCE;
}

static bool access_takes_lock(struct race_launch *launch, const struct san_access *x)
{
    return ir_probe_op(x->probe) == IR_OP_ATOM && x->probe->mem.atom == IR_ATOM_CAS &&
           !access_acquires(x->probe->mem.sem) && race_polls(launch, x->probe, x->number);
}

static void access_flow(struct race_cta *cta, const struct san_access *x, unsigned flags)
{
    struct race_warp *warp = &cta->warps[x->warp];
    bool wide = !(flags & RACE_CTA), now = access_releases(x->probe->mem.sem);
    enum race_pend how = access_pend_of(x, flags);

    for (uint32_t m = x->lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m), thread = x->warp * SAN_LANES + lane;
        struct race_where at = race_where(cta, x->space, x->address[lane], x->peer);
        struct race_pending read = {
            .key = at.key, .how = (uint8_t)how, .narrow = !wide, .local = at.local};
        if (!(flags & RACE_READS) && (now || warp->fences >> lane & 1))
            race_publish(cta, thread, at, wide, now);
        if (x->what != SAN_WRITE)
            race_pend(cta, thread, &read);
    }
    if (now && x->what != SAN_READ)
        race_step(cta, x->warp, x->lanes);
    if (access_takes_lock(cta->launch, x)) {
        warp->locked |= x->lanes;
        warp->unfenced |= x->lanes;
        warp->half_fenced &= ~x->lanes;
    }
}

/* ---- all */

static struct race_simple access_simple_of(const struct race_cta *cta, const struct san_access *x)
{
    /* Shadow of the window was that of other CTAs before. */
    bool window = x->space == IR_SPACE_SHARED && !cta->launch->windows;

    return (struct race_simple){
        .mask = window ? ~race_epoch(0, RACE_THREADS_MAX - 1, 0) : UINT64_MAX,
        .limit = race_epoch(window ? cta->serial : cta->launch->low, 0, window ? cta->floor : 0),
        .base = window ? cta->serial : cta->launch->low,
        .ncta = window ? 1 : cta->launch->reach,
        .serial = cta->serial,
        .own_warp = (uint32_t)(cta->epoch[x->warp * SAN_LANES] >> (RACE_CLOCK_BITS + 5)),
        .floor = cta->floor,
        .warp_floor = HD_MAX(cta->floor, cta->warps[x->warp].floor),
    };
}

static void access_check_some(struct race_cta *cta, const struct san_access *x, uint32_t lanes,
                              unsigned flags)
{
    struct race_access a = {.cta = cta,
                            .access = x,
                            .lanes = lanes,
                            .info = race_info(x->number, flags),
                            .writes = x->what != SAN_READ,
                            .simple = access_simple_of(cta, x)};

    access_check_all(&a);
}

enum hd_status race_access(struct san_cta *san, const struct san_access *x)
{
    struct race_cta *cta = san->own[SAN_RACECHECK];

    if (!cta || cta->blind || !x->lanes || !x->size_B)
        return HD_OK;
    if (ir_probe_op(x->probe) == IR_OP_MBARRIER)
        return HD_OK; /* synchronisation */
    if (x->is_async && !san_options()->racecheck_memcpy_async)
        return HD_OK;
    if (x->space != IR_SPACE_SHARED &&
        !(x->space == IR_SPACE_GLOBAL && san_options()->racecheck_global))
        return HD_OK;
    assert(x->warp < cta->nwarps);
    race_go_on(cta, x->warp, x->lanes);
    if (x->what == SAN_READ && race_is_quiet(cta, x))
        return HD_OK;
    race_remember(cta->launch, x->probe, x->number);
    unsigned flags = access_flags(cta->launch, x);
    const struct race_warp *warp = &cta->warps[x->warp];
    uint32_t unfenced = warp->unfenced & x->lanes, half = warp->half_fenced & x->lanes;
    if (HD_LIKELY(!(unfenced | half))) {
        access_check_some(cta, x, x->lanes, flags);
    } else {
        access_check_some(cta, x, x->lanes & ~unfenced & ~half, flags);
        access_check_some(cta, x, unfenced, flags | RACE_UNFENCED);
        access_check_some(cta, x, half, flags | RACE_HALF_FENCED);
    }
    if (flags & (RACE_STRONG | RACE_ATOM | RACE_VOLATILE))
        access_flow(cta, x, flags);
    if (ir_probe_op(x->probe) == IR_OP_MMA)
        race_product_read(cta, x);
    return HD_OK;
}
