/*
 * racecheck, inside: two accesses of one place, at least one a write, by two threads, of which none
 * happens before the other. docs/decisions/0123 says what counts as order and what is exact.
 *
 *     race.c          the tool: launches and CTAs
 *     race_access.c   accesses of a warp: which threads, which units; what they are
 *     race_check.c    one access against what the shadow has of the place
 *     race_quiet.c    reads that can meet no write, which are not looked at
 *     race_sync.c     what synchronises by its own operation: mbarriers, the cluster's barrier
 *     race_async.c    copies that a thread has to wait for
 *     race_products.c products that read while their warps go on
 *     race_tensor.c   cells of tensor memory
 *     race_bars.c     barriers of the CTA and of warps: who waits there, and who goes on
 *     race_flow.c     releasing and acquiring at places
 *     race_time.c     what threads know of each other: barriers, warps, fences
 *     race_syncvar.c    places that synchronise: what was released there, and to whom
 *     race_report.c   hazards: severity, counts, findings
 *     race_where.c    in whose window an address is, and its page of shadow
 *     race_shadow.c   pages of shadow: the last writer and readers of each unit of memory
 *     race_spin.c     by which reads loops wait
 *     race_probe.c    probes by number
 *
 * Time. A thread's accesses carry its clock, which steps when it releases something. Each thread
 * knows of each other one up to which clock it is ordered before it. That is stored compressed:
 * what the whole CTA knows of itself (`floor`), a warp of itself, a warp of other warps (`seen`),
 * and the rest as points and as references to places: "what was released there up to version v".
 *
 * Epoch: serial of the CTA << 32 | is it in flight << 31 | thread << 21 | clock. Serials are never
 * used again in a process, so that shadow of launches that have ended needs no cleaning: their
 * epochs are nobody's.
 *
 * Threads: a CTA's state belongs to its worker. Pages of global shadow have a lock each, places of
 * the launch one together, its findings another: all leaves, but that a page's lock is held while
 * places are asked and hazards noted.
 */
#ifndef HD_SAN_RACE_RACE_H
#define HD_SAN_RACE_RACE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/vec.h"
#include "san/sync/bars.h"
#include "san/memory.h"
#include "san/tool.h"

enum {
    RACE_CLOCK_BITS = 21,
    RACE_THREAD_BITS = 11,
    RACE_CLOCK_MAX = (1 << RACE_CLOCK_BITS) - 1,
    RACE_THREADS_MAX = SAN_WARPS * SAN_LANES,
    RACE_PAGE_SHIFT = 12,
    RACE_PAGE_B = 1 << RACE_PAGE_SHIFT,
    RACE_SHIFT_MAX = 2, /* units of 4 bytes at most */
};

static inline uint64_t race_epoch(uint32_t serial, uint32_t thread, uint32_t clock)
{
    return (uint64_t)serial << 32 | (uint64_t)thread << RACE_CLOCK_BITS | clock;
}
static inline uint32_t race_serial(uint64_t epoch)
{
    return (uint32_t)(epoch >> 32);
}
static inline uint32_t race_thread_of(uint64_t epoch)
{
    return (uint32_t)(epoch >> RACE_CLOCK_BITS) & (RACE_THREADS_MAX - 1);
}
/*
 * A write by an asynchronous copy that its thread has not waited for, or a read by a product: of
 * nobody's past, not even of that thread's. Its clock is above all others.
 */
static inline uint64_t race_in_flight(uint32_t serial, uint32_t thread)
{
    return race_epoch(serial, RACE_THREADS_MAX + thread, RACE_CLOCK_MAX);
}
static inline bool race_is_in_flight(uint64_t epoch)
{
    return epoch >> (RACE_CLOCK_BITS + RACE_THREAD_BITS - 1) & 1;
}
static inline uint32_t race_clock(uint64_t epoch)
{
    return (uint32_t)epoch & RACE_CLOCK_MAX;
}

/* ---- what an access was: probe number << 8 | flags */

enum race_flag {
    RACE_STRONG =
        1 << 0,         /* relaxed or more, or a volatile read or an atomic that a loop waits by */
    RACE_ATOM = 1 << 1, /* a read-modify-write that is not STRONG */
    RACE_VOLATILE = 1 << 2,    /* any other volatile access */
    RACE_CTA = 1 << 3,         /* ordered for its CTA only */
    RACE_CLUSTER = 1 << 4,     /* for its cluster only */
    RACE_READS = 1 << 5,       /* not a write */
    RACE_HALF_FENCED = 1 << 6, /* as UNFENCED, but a fence for the CTA is between */
    RACE_UNFENCED = 1 << 7,    /* behind the swap that took a lock, with no fence between */
};
static inline uint32_t race_info(uint32_t number, unsigned flags)
{
    return number << 8 | flags;
}

/* ---- shadow */

/* Arrays of coarser units stay until the page goes: race_check_idle() may be at them. */
enum { RACE_RETIRED = 12 };

/* A unit is 1 << shift bytes: 4, until somebody accesses less or across. */
struct race_page {
    _Atomic bool locked; /* of global shadow */
    _Atomic uint8_t shift;
    _Atomic uint32_t touched;           /* of global shadow: `base` of the launch that came last */
    uint64_t *writer, *reader, *second; /* epochs; 0: nobody. second: NULL, or another reader */
    uint32_t *writer_is, *reader_is, *second_is; /* race_info() */
    void *retired[RACE_RETIRED];
    uint8_t nretired;
};

/* Pages by address, of 48 bits. */
struct race_map;
struct race_map *race_map_create(void);
void race_map_destroy(struct race_map *map);
/* Makes it; NULL: no memory. */
struct race_page *race_map_page(struct race_map *map, uint64_t address);
bool race_shadow_start(void);
struct race_map *race_global(void); /* of global memory, after race_shadow_start() */
/* Its page, which the launch whose serials begin at `base` accesses. NULL: no memory. */
struct race_page *race_global_page(uint64_t address, uint32_t base);
/* The one that is there; NULL: nobody accessed anything in it. */
struct race_page *race_map_find(struct race_map *map, uint64_t address);
struct race_page *race_page_create(void);
void race_page_destroy(struct race_page *page);
/* Units of at most 1 << shift bytes; false: no memory. */
bool race_page_refine(struct race_page *page, unsigned shift) HD_MUST_CHECK;
bool race_page_add_second(struct race_page *page) HD_MUST_CHECK;
void race_page_lock(struct race_page *page);
void race_page_unlock(struct race_page *page);

/* ---- knowledge */

struct race_syncvar;

/* What was released at a place up to a version, as somebody of CTA `by` may see it. */
struct race_ref {
    struct race_syncvar *syncvar;
    uint32_t version;
    uint32_t by;
    bool narrow; /* only releases of that CTA */
};
/* All accesses of `who` (race_who_*) before `clock`. */
struct race_point {
    uint64_t who;
    uint32_t clock;
};
struct race_know {
    HD_VEC(struct race_point) points;
    HD_VEC(struct race_ref) refs;
    bool all; /* memory was short, or too much to keep: takes everything as ordered */
};

static inline uint64_t race_who_cta(uint32_t serial)
{
    return (uint64_t)serial << 12;
}
static inline uint64_t race_who_warp(uint32_t serial, uint32_t warp)
{
    return (uint64_t)serial << 12 | (1 + warp);
}
static inline uint64_t race_who_thread(uint32_t serial, uint32_t thread)
{
    return (uint64_t)serial << 12 | (64 + thread);
}
/* Its releasing accesses of a place, at that place. */
static inline uint64_t race_who_there(uint32_t serial, uint32_t thread)
{
    return (uint64_t)1 << 63 | race_who_thread(serial, thread);
}

void race_know_fini(struct race_know *know);
void race_know_clear(struct race_know *know);
void race_know_point(struct race_know *know, uint64_t who, uint32_t clock);
void race_know_ref(struct race_know *know, const struct race_ref *ref);
void race_know_join(struct race_know *know, const struct race_know *more);
static inline bool race_know_is_empty(const struct race_know *know)
{
    return !know->points.len && !know->refs.len && !know->all;
}

/* ---- places that synchronise */

struct race_entry {
    uint64_t who;
    uint32_t clock;
    uint32_t version; /* of the place, with it */
    uint32_t by;      /* serial of the CTA that released it */
    uint32_t before;  /* index + 1 of an older one for the same who; 0: none */
    bool wide;        /* for other CTAs too */
};
struct race_passed { /* what whoever released here knew by another place */
    struct race_ref ref;
    uint32_t version, by;
    bool wide;
};
struct race_syncvar {
    uint64_t key;
    uint32_t version; /* counts releases */
    uint32_t read;    /* version up to which somebody has acquired */
    uint32_t done;    /* mbarriers: the version up to which phases are complete */
    bool parity;      /* mbarriers: of the current phase */
    bool has_narrow;
    HD_VEC(struct race_entry) entries;
    HD_VEC(struct race_passed) passed;
    struct hd_map newest; /* who -> index + 1 of its newest entry */
    uint64_t stamp;       /* of the question that came here last, and for whom */
    uint32_t stamped, stamped_by;
    bool stamped_narrow;
};
struct race_syncvars {
    struct hd_map map; /* key -> struct race_syncvar */
    uint64_t stamp;
    _Atomic uint32_t n;
};
void race_syncvars_init(struct race_syncvars *syncvars);
void race_syncvars_fini(struct race_syncvars *syncvars);
struct race_syncvar *race_syncvar_get(struct race_syncvars *syncvars,
                                      uint64_t key); /* NULL: there is none */
struct race_syncvar *race_syncvar_make(struct race_syncvars *syncvars,
                                       uint64_t key); /* NULL: no memory */

struct race_release {
    uint32_t by;
    bool wide;
};
void race_syncvar_point(struct race_syncvar *syncvar, const struct race_release *how, uint64_t who,
                        uint32_t clock);
void race_syncvar_pass(struct race_syncvar *syncvar, const struct race_release *how,
                       const struct race_know *know);
/*
 * Is an access of this epoch, of what begins at the place `key`, known by one of these references?
 * `places` gives stamps. If all of its CTA is, the clock before which.
 */
bool race_refs_cover(struct race_syncvars *syncvars, const struct race_know *know, uint64_t epoch,
                     uint64_t key, uint32_t *out_whole);
/* Does one of them know something of `who` that is behind the clock? */
bool race_refs_know(struct race_syncvars *syncvars, const struct race_know *know, uint64_t who,
                    uint32_t clock);

/* ---- CTAs */

/* A read of a place that may synchronise; what it saw is known when the thread goes on. */
enum race_pend { RACE_PEND_NONE, RACE_PEND_NOW, RACE_PEND_FENCE, RACE_PEND_PHASE };
struct race_pending {
    uint64_t key;
    uint8_t how; /* enum race_pend: it acquires by itself, with a fence, if that phase is over */
    bool narrow;
    bool local; /* place of the CTA, else of the launch */
    bool was_done;
    uint8_t parity;
    const uint64_t *word;
};
struct race_fence { /* the last fence of one width: what it puts in front of later writes */
    uint32_t clock, floor, warp_floor;
};
struct race_copy { /* to shared memory, on its way */
    uint64_t address;
    uint32_t size_B, group;
};
struct race_thread {
    HD_VEC(struct race_copy) copies; /* in order */
    uint32_t group;                  /* number of the one that is open */
    struct race_know know;
    struct race_know waits; /* acquired once there is a fence */
    struct race_pending pending;
    struct race_fence fence[2]; /* of the CTA; of all */
};
struct race_warp {
    uint32_t floor;
    uint32_t seen[SAN_WARPS]; /* of other warps, before these clocks */
    uint32_t fenced[2];       /* everybody's accesses before these clocks had a fence behind them */
    uint32_t pending;         /* lanes with a pending read */
    uint32_t knowing;         /* lanes whose `know` or `waits` is not empty */
    uint32_t fences;          /* lanes with a fence */
    uint32_t copying;         /* lanes that have used asynchronous copies */
    uint32_t locked;          /* lanes that took a lock since the last barrier of the CTA */
    uint32_t unfenced;        /* those with no fence since, */
    uint32_t half_fenced;     /* or with one for their CTA only */
    uint32_t in_sync;         /* lanes that wait in a __syncwarp() */
    uint32_t masks[SAN_LANES];
    struct race_know know;
};
enum { RACE_KNOWN = 256 };
struct race_known { /* all of that CTA before that clock */
    uint32_t serial, clock;
};
enum { RACE_GROUP_WARPS = 4, RACE_GROUPS = SAN_WARPS / RACE_GROUP_WARPS, RACE_PRODUCTS = 16 };
struct race_group { /* of warps that make a product together */
    /* By thread: groups of products that it closed; that it has waited for, and when it had. */
    uint32_t closed[RACE_GROUP_WARPS * SAN_LANES], done[RACE_GROUP_WARPS * SAN_LANES];
    uint32_t clock[RACE_PRODUCTS][RACE_GROUP_WARPS * SAN_LANES]; /* by number */
    uint32_t newest;                                             /* number of a group */
    HD_VEC(struct race_copy) reads; /* that are remembered; `group`: the number */
};
struct race_launch;
struct race_tensor;
struct race_cta {
    struct race_launch *launch;
    struct san_cta *san;
    struct race_cta *next; /* free ones */
    uint32_t serial, nthreads, nwarps;
    uint32_t floor, top; /* top: no clock is higher */
    uint32_t fenced[2];
    bool blind;  /* too many clocks: it is not watched any more */
    bool fences; /* somebody had one */
    bool lent;   /* others may have references to its places */
    struct race_know know;
    struct race_known known[RACE_KNOWN]; /* by serial */
    struct race_warp warps[SAN_WARPS];
    uint64_t epoch[RACE_THREADS_MAX];
    struct race_thread *threads; /* RACE_THREADS_MAX, or NULL while nobody needs them */
    struct race_group *groups;   /* RACE_GROUPS, likewise */
    struct race_tensor *tensor;  /* likewise */
    struct san_bars bars;
    uint32_t arrived_at[SAN_BARS][SAN_WARPS];
    struct race_syncvars syncvars;
    struct race_page **shared; /* pages of the window */
    uint32_t nshared;
};

enum { RACE_PROBE_CHUNK = 4096, RACE_PROBE_CHUNKS = 4096 };
struct race_launch {
    const struct san_launch *san;
    uint32_t base, ncta; /* serials */
    /* Epochs of global memory that may be unordered with it: serials from `low` on, `reach` of
     * them. */
    uint32_t low;
    uint64_t reach;
    struct race_past *past; /* what race_streams.c knows of it; NULL: it is with nobody at once */
    uint32_t cluster;       /* CTAs of a cluster */
    bool blind;
    bool sees_cluster;        /* addresses of shared memory have the rank in them */
    struct race_map *windows; /* shadow of shared memory, when CTAs reach into others' */
    struct hd_lock syncvars_lock;
    struct race_syncvars syncvars;
    HD_VEC(struct race_syncvars) lent; /* of CTAs that have ended */
    struct hd_lock found_lock;
    struct hd_map found; /* hash of the pair -> struct race_found */
    struct hd_map polls; /* probe number -> whether a loop waits by it */
    struct hd_map
        loops; /* function -> struct ir_loops, in loops_arena; NULL: there was no memory */
    struct hd_arena loops_arena;
    const struct ir_instr **_Atomic probes[RACE_PROBE_CHUNKS]; /* by number */
    struct race_quiet *quiet; /* race_quiet.c; NULL: every access is looked at */
};

/* Keeps the probe, for race_probe(). Every access asks, and most are of one that is kept. */
void race_probe_keep(struct race_launch *launch, const struct ir_instr *probe, uint32_t number);
static inline void race_remember(struct race_launch *launch, const struct ir_instr *probe,
                                 uint32_t number)
{
    uint32_t i = number / RACE_PROBE_CHUNK;
    const struct ir_instr **chunk = i < RACE_PROBE_CHUNKS ? launch->probes[i] : NULL;

    if (HD_UNLIKELY(!chunk ||
                    __atomic_load_n(&chunk[number % RACE_PROBE_CHUNK], __ATOMIC_RELAXED) != probe))
        race_probe_keep(launch, probe, number);
}
/* The probe of a number that an access had; NULL: memory was short. */
const struct ir_instr *race_probe(const struct race_launch *launch, uint32_t number);
/* Does a loop wait by what this reads? */
bool race_polls(struct race_launch *launch, const struct ir_instr *probe, uint32_t number);
/* Is it a plain read of what a compare-and-swap of the same function is tried on? */
bool race_begins_swap(const struct ir_instr *probe);
/* The next CTA state, of those that are free; NULL: no memory. */
struct race_cta *race_cta_take(void);
void race_cta_give(struct race_cta *cta);

/*
 * Reads that can meet no write of the launch, as analysis/conflicts.h finds them: of shared memory
 * while nobody writes any; of allocations that the kernel has no pointer to write to, as long as
 * all work is in one stream, and of memory that the host does not access by itself.
 */
void race_quiet_begin(struct race_launch *launch);
void race_quiet_end(struct race_launch *launch);
/* Need this one not be looked at? If so, code is told where it need not ask. */
bool race_is_quiet(struct race_cta *cta, const struct san_access *access);

/* ---- where (race_where.c) */

/* The key of a place, of the CTA (`local`) or of the launch. */
struct race_where {
    uint64_t key;
    bool local;
};
struct race_where race_where(const struct race_cta *cta, enum ir_space space, uint64_t address,
                             uint32_t peer);
/* The page of an address in a window, where CTAs reach into others'. NULL: no memory. */
struct race_page *race_window_page(const struct race_cta *cta, uint64_t address, uint32_t peer);
/* Where the shadow of an address is; NULL: nowhere. `locks`: it takes race_page_lock(). */
static inline struct race_page *race_page_of(const struct race_cta *cta, enum ir_space space,
                                             uint64_t address, uint32_t peer, bool *locks)
{
    *locks = space != IR_SPACE_SHARED || cta->launch->windows;
    if (space != IR_SPACE_SHARED)
        return race_global_page(address, cta->launch->base);
    if (*locks)
        return race_window_page(cta, address, peer);
    return address >> RACE_PAGE_SHIFT < cta->nshared ? cta->shared[address >> RACE_PAGE_SHIFT]
                                                     : NULL; /* outside: memcheck's */
}
bool race_same_cluster(const struct race_cta *cta, uint32_t serial);
/* The serial of a CTA of the cluster. */
uint32_t race_peer(const struct race_cta *cta, uint32_t rank);

/* ---- time (race_time.c) */

struct race_thread *race_threads(struct race_cta *cta); /* NULL: no memory; the CTA is blind then */
/*
 * How is `epoch`, not 0, ordered before what this thread does now? By barriers, program order or
 * launches; or only by places where one released and another acquired. Both are of what begins at
 * the place `key`: by which it synchronises is ordered at that very place.
 */
enum race_order { RACE_NOT_ORDERED, RACE_BY_PLACES, RACE_ORDERED };
enum race_order race_ordered(struct race_cta *cta, uint32_t thread, uint64_t epoch, uint64_t key);
/* Does this thread know something of `who` that is behind the clock? race_threads() is there. */
bool race_knows(struct race_cta *cta, uint32_t thread, uint64_t who, uint32_t clock);
/* All lanes' clocks step: what they did so far can be told apart from what comes. */
void race_step(struct race_cta *cta, uint32_t warp, uint32_t lanes);
void race_fence(struct race_cta *cta, uint32_t warp, uint32_t lanes, enum ir_scope scope);
/* Everybody in the CTA knows of everybody; of the warp; of these lanes. */
void race_meet_cta(struct race_cta *cta);
void race_meet_warp(struct race_cta *cta, uint32_t warp);
void race_meet_lanes(struct race_cta *cta, uint32_t warp, uint32_t lanes);
/* Waiting lanes get to know those that came. Masks by warp. */
void race_meet_some(struct race_cta *cta, const uint32_t *come, const uint32_t *waiting,
                    const uint32_t *arrived_at);
/* Lanes come and do not wait: the clock before which all that they did is. */
uint32_t race_arrive(struct race_cta *cta, uint32_t warp, uint32_t lanes);
/* The lanes that a warp began with. */
uint32_t race_lanes(const struct race_cta *cta, uint32_t warp);
/* What was pending of these lanes is known now. Before anything else that they do. */
void race_settle(struct race_cta *cta, uint32_t warp, uint32_t lanes);

/* ---- order through places (race_flow.c) */

/* Releases what a thread did before its last fence, or with `now` all that it did. */
void race_publish(struct race_cta *cta, uint32_t thread, struct race_where at, bool wide, bool now);
void race_pend(struct race_cta *cta, uint32_t thread, const struct race_pending *pending);
struct race_syncvars *race_syncvars_of(struct race_cta *cta, bool local);
/* mbarriers: the parity of the current phase; a place gets to know of phases that are over. */
bool race_mbarrier_parity(const uint64_t *word);
void race_mbarrier_follow(struct race_syncvar *syncvar, const uint64_t *word);

/* ---- accesses and synchronisation */

enum hd_status race_access(struct san_cta *san, const struct san_access *access);
enum hd_status race_sync(struct san_cta *san, const struct san_sync *sync);

/* Barriers of the CTA and of warps (race_bars.c): IR_OP_BAR but for the cluster's, IR_OP_WARPSYNC,
 * IR_OP_EXIT. */
void race_bar(struct race_cta *cta, const struct san_sync *sync, enum ir_bar kind);
void race_warpsync(struct race_cta *cta, const struct san_sync *sync);
void race_threads_end(struct race_cta *cta, const struct san_sync *sync);
/* Lanes do something: what was pending is known, and where they seemed to wait somebody opened. */
void race_go_on(struct race_cta *cta, uint32_t warp, uint32_t lanes);
/* IR_OP_ASYNC (race_async.c) */
void race_async(struct race_cta *cta, const struct san_sync *sync);
/* What a product reads, one lane's, is in flight (race_products.c). After it was looked at. */
void race_product_read(struct race_cta *cta, const struct san_access *access);
/* wgmma.commit_group, and wait_group, which leaves so many. */
void race_product_group(struct race_cta *cta, const struct san_sync *sync, bool waits,
                        uint32_t left);
/* Of an epoch that is a product's read in flight: is it for the thread? */
bool race_product_is_over(struct race_cta *cta, uint32_t thread, uint64_t epoch, uint64_t key);
void race_products_end(struct race_cta *cta);
void race_products_free(struct race_cta *cta);

/* Tensor memory (race_tensor.c): operations; waits and commits of IR_OP_ASYNC. */
enum hd_status race_tensor(struct san_cta *san, const struct san_sync *at);
void race_tensor_async(struct race_cta *cta, const struct san_sync *sync, enum ir_async what);
/* A thread arrives there, if that is a commit; it has. */
void race_tensor_publish(struct race_cta *cta, uint32_t thread, struct race_where at);
void race_tensor_committed(struct race_cta *cta, uint32_t thread);
void race_tensor_end(struct race_cta *cta);
void race_tensor_free(struct race_cta *cta);

/* One side of a hazard that is told: the earlier access, from shadow, and this one. */
struct race_hazard {
    uint64_t before;
    uint32_t before_is, now_is;
    uint32_t thread; /* of the CTA, now */
    const struct san_access *access;
    uint64_t address;  /* of the bytes in question */
    uint64_t stored;   /* writes: what comes; race_note() finds out */
    uint32_t stored_B; /* 0: not known */
    const char *why;   /* NULL: as the accesses say */
};
/*
 * `n` units of a page from `unit` on against shadow, which then has this access too, each by the
 * thread of the epoch in `mine`; `address` is that of the first. Caller holds the page.
 */
struct race_reported { /* one lane against one other access is one hazard, in however many units */
    uint64_t before, mine;
};
struct race_simple {     /* what is ordered without further questions; 64 bits each, for vectors */
    uint64_t base, ncta; /* serials whose epochs count there: of the launch, or of the CTA */
    uint64_t serial;     /* own */
    uint32_t own_warp;   /* epochs of the own warp have this from bit RACE_CLOCK_BITS + 5 on */
    uint64_t floor, warp_floor;
    uint64_t mask, limit; /* an epoch whose bits of the mask are below is simple in any case */
};
struct race_access {
    struct race_cta *cta;
    const struct san_access *access;
    uint32_t lanes; /* of the access, that this is about */
    uint32_t info;
    bool writes;
    struct race_simple simple;
    struct race_reported reported[3]; /* writer, reader, second */
};
void race_check(struct race_access *a, struct race_page *page, uint32_t unit, uint32_t n,
                const uint64_t *mine, uint64_t address);
/*
 * Would a read leave everything as it is, and is it no hazard? Without the lock: most of what a
 * grid reads is read by all of it. May say no.
 */
bool race_check_idle(const struct race_access *a, const struct race_page *page, uint64_t address,
                     uint32_t n, const uint64_t *mine);
/* One of them. */
void race_check_unit(struct race_access *a, struct race_page *page, uint32_t unit, uint64_t mine,
                     uint64_t address);

/* Lanes whose address is that of the lane before, or step_B behind it. */
struct race_links {
    uint32_t same, next;
};
struct race_links race_links_of(const uint64_t *at, uint64_t step_B);
void race_check_start(void); /* chooses code for this CPU */

void race_note(struct race_cta *cta, const struct race_hazard *hazard);
void race_report(struct race_launch *launch); /* at its end: what was counted */

#endif
