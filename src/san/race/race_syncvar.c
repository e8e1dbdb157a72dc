/*
 * Places that synchronise: a word in memory that threads release at and acquire from, a barrier in
 * shared memory, the barrier of a cluster.
 *
 * A place keeps everything that was ever released there in this launch, each with the version of
 * the place that it made. Who acquires takes a reference with the current version instead of a
 * copy, so that a counter at which every CTA of a grid arrives costs each of them a few words. What
 * a releasing thread knew by other references is passed on as such ("passed"); a question goes from
 * place to place.
 *
 * An access before the store is told before it happens: a reader may have got what was there
 * before, and yet refer to the newer release. So the model may see more order than there was, never
 * less.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "san/race/race.h"

/* ---- knowledge */

enum { KNOW_MAX = 4096 };

void race_know_fini(struct race_know *know)
{
    hd_vec_fini(&know->points);
    hd_vec_fini(&know->refs);
}

void race_know_clear(struct race_know *know)
{
    know->points.len = know->refs.len = 0;
    know->all = false;
}

void race_know_point(struct race_know *know, uint64_t who, uint32_t clock)
{
    for (size_t i = 0; i < know->points.len; i++)
        if (know->points.at[i].who == who) {
            know->points.at[i].clock = HD_MAX(know->points.at[i].clock, clock);
            return;
        }
    know->all |= know->points.len >= KNOW_MAX ||
                 !hd_vec_push(&know->points, (struct race_point){who, clock});
}

void race_know_ref(struct race_know *know, const struct race_ref *ref)
{
    assert(ref->syncvar && ref->version);
    for (size_t i = know->refs.len; i--;) {
        struct race_ref *r = &know->refs.at[i];
        if (r->syncvar == ref->syncvar && r->by == ref->by && r->narrow == ref->narrow) {
            r->version = HD_MAX(r->version, ref->version);
            return;
        }
    }
    know->all |= know->refs.len >= KNOW_MAX || !hd_vec_push(&know->refs, *ref);
}

void race_know_join(struct race_know *know, const struct race_know *more)
{
    assert(know != more);
    know->all |= more->all;
    for (size_t i = 0; i < more->points.len; i++)
        race_know_point(know, more->points.at[i].who, more->points.at[i].clock);
    for (size_t i = 0; i < more->refs.len; i++)
        race_know_ref(know, &more->refs.at[i]);
}

/* ---- the places of a CTA or a launch */

void race_syncvars_init(struct race_syncvars *syncvars)
{
    memset(syncvars, 0, sizeof *syncvars);
    hd_map_init(&syncvars->map);
}

void race_syncvars_fini(struct race_syncvars *syncvars)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&syncvars->map, &it)) {
        struct race_syncvar *syncvar = it.value;
        hd_vec_fini(&syncvar->entries);
        hd_vec_fini(&syncvar->passed);
        hd_map_fini(&syncvar->newest);
        hd_free(syncvar);
    }
    hd_map_fini(&syncvars->map);
    atomic_store(&syncvars->n, 0);
}

struct race_syncvar *race_syncvar_get(struct race_syncvars *syncvars, uint64_t key)
{
    return hd_map_get_u64(&syncvars->map, key);
}

struct race_syncvar *race_syncvar_make(struct race_syncvars *syncvars, uint64_t key)
{
    struct race_syncvar *syncvar = race_syncvar_get(syncvars, key);

    if (syncvar || !(syncvar = hd_new(struct race_syncvar)))
        return syncvar;
    syncvar->key = key;
    hd_map_init(&syncvar->newest);
    if (!hd_map_put_u64(&syncvars->map, key, syncvar)) {
        hd_free(syncvar);
        return NULL;
    }
    atomic_fetch_add(&syncvars->n, 1);
    return syncvar;
}

/* ---- releases */

void race_syncvar_point(struct race_syncvar *syncvar, const struct race_release *how, uint64_t who,
                        uint32_t clock)
{
    uint32_t before = (uint32_t)(uintptr_t)hd_map_get_u64(&syncvar->newest, who);
    struct race_entry *old = before ? &syncvar->entries.at[before - 1] : NULL;

    assert(before <= syncvar->entries.len && (!old || old->who == who));
    assert(!old || old->version <= syncvar->version);
    syncvar->has_narrow |= !how->wide;
    if (old && old->clock == clock && old->by == how->by && (old->wide || !how->wide))
        return;
    /* Nobody refers to the older one: it need not be kept. */
    if (old && old->version > syncvar->read && old->by == how->by && (how->wide || !old->wide)) {
        old->clock = HD_MAX(old->clock, clock);
        old->version = syncvar->version;
        old->wide = how->wide;
        return;
    }
    uint32_t now = (uint32_t)syncvar->entries.len + 1;
    if (!hd_vec_push(&syncvar->entries,
                     (struct race_entry){who, clock, syncvar->version, how->by, before, how->wide}))
        return;
    if (!hd_map_put_u64(&syncvar->newest, who, (void *)(uintptr_t)now))
        syncvar->entries.len--;
}

static void pass_one(struct race_syncvar *syncvar, const struct race_release *how,
                     const struct race_ref *ref)
{
    for (size_t i = syncvar->passed.len; i--;) {
        struct race_passed *p = &syncvar->passed.at[i];
        if (p->ref.syncvar == ref->syncvar && p->ref.by == ref->by && p->by == how->by &&
            p->ref.version >= ref->version && p->ref.narrow == ref->narrow && p->wide == how->wide)
            return;
        if (syncvar->passed.len - i > 64)
            break; /* one more does no harm */
    }
    if (!hd_vec_push(&syncvar->passed,
                     (struct race_passed){*ref, syncvar->version, how->by, how->wide}))
        return;
}

void race_syncvar_pass(struct race_syncvar *syncvar, const struct race_release *how,
                       const struct race_know *know)
{
    for (size_t i = 0; i < know->points.len; i++)
        race_syncvar_point(syncvar, how, know->points.at[i].who, know->points.at[i].clock);
    for (size_t i = 0; i < know->refs.len; i++) {
        const struct race_ref *ref = &know->refs.at[i];
        /* What everybody sees there anyway needs no reference. */
        if (ref->syncvar != syncvar || syncvar->has_narrow)
            pass_one(syncvar, how, ref);
    }
}

/* ---- questions */

struct race_question {
    uint64_t who[4], key, stamp; /* the last one: only at the place `key` */
    uint32_t clock, left;        /* references that are followed before we believe anything */
    uint32_t whole;              /* found: the whole CTA is known before this clock */
};

static bool may_use(const struct race_ref *ref, uint32_t version, uint32_t by, bool wide)
{
    return version <= ref->version && (by == ref->by || (wide && !ref->narrow));
}

static bool entries_cover(const struct race_ref *ref, struct race_question *q)
{
    const struct race_syncvar *syncvar = ref->syncvar;

    for (unsigned i = 0; i < HD_COUNT_OF(q->who) - (syncvar->key != q->key); i++) {
        uint32_t at = (uint32_t)(uintptr_t)hd_map_get_u64(&syncvar->newest, q->who[i]);
        while (at) {
            const struct race_entry *e = &syncvar->entries.at[at - 1];
            assert(e->who == q->who[i] && e->before < at); /* older and older: it ends */
            if (e->clock > q->clock && may_use(ref, e->version, e->by, e->wide)) {
                q->whole = i ? 0 : e->clock;
                return true;
            }
            at = e->before;
        }
    }
    return false;
}

typedef HD_VEC(struct race_ref) ref_stack;

static bool ask_next(ref_stack *stack, const struct race_ref *ref, struct race_question *q)
{
    struct race_syncvar *syncvar = ref->syncvar;

    if (syncvar->stamp == q->stamp && syncvar->stamped >= ref->version &&
        syncvar->stamped_by == ref->by && (ref->narrow || !syncvar->stamped_narrow))
        return true;
    if (!q->left--)
        return false;
    syncvar->stamp = q->stamp;
    syncvar->stamped = ref->version;
    syncvar->stamped_by = ref->by;
    syncvar->stamped_narrow = ref->narrow;
    return hd_vec_push(stack, *ref);
}

static bool refs_cover(const struct race_know *know, struct race_question *q, ref_stack *stack)
{
    for (size_t i = 0; i < know->refs.len; i++)
        if (!ask_next(stack, &know->refs.at[i], q))
            return true;
    while (stack->len) {
        struct race_ref ref = hd_vec_pop(stack);
        if (entries_cover(&ref, q))
            return true;
        for (size_t i = 0; i < ref.syncvar->passed.len; i++) {
            const struct race_passed *p = &ref.syncvar->passed.at[i];
            if (may_use(&ref, p->version, p->by, p->wide) && !ask_next(stack, &p->ref, q))
                return true;
        }
    }
    return false;
}

bool race_refs_know(struct race_syncvars *syncvars, const struct race_know *know, uint64_t who,
                    uint32_t clock)
{
    struct race_question q = {.who = {who, who, who, who},
                              .key = UINT64_MAX,
                              .stamp = ++syncvars->stamp,
                              .clock = clock,
                              .left = 4096};
    ref_stack stack = {0};
    bool known = refs_cover(know, &q, &stack);

    hd_vec_fini(&stack);
    return known;
}

bool race_refs_cover(struct race_syncvars *syncvars, const struct race_know *know, uint64_t epoch,
                     uint64_t key, uint32_t *out_whole)
{
    uint32_t serial = race_serial(epoch), thread = race_thread_of(epoch);
    struct race_question q = {
        .who = {race_who_cta(serial), race_who_warp(serial, thread / SAN_LANES),
                race_who_thread(serial, thread), race_who_there(serial, thread)},
        .key = key,
        .stamp = ++syncvars->stamp,
        .clock = race_clock(epoch),
        .left = 4096,
    };
    ref_stack stack = {0};
    bool covered = refs_cover(know, &q, &stack);

    hd_vec_fini(&stack);
    *out_whole = q.whole;
    return covered;
}
