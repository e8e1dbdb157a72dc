/*
 * Launches that began and what may still be asked of them: their positions, what they are unordered
 * with, and where their accesses were. Also where memory was given out meanwhile. See
 * race_streams.h.
 */
#include <assert.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "san/race/race_streams.h"

enum { PASTS = 1024, BIRTHS = 4096 };

struct birth { /* memory that was given out behind operation `number` */
    uint64_t va, size_B, number;
};

static struct {
    struct hd_lock lock;  /* all below, and what race_streams.c and race_ops.c say is under it */
    race_pasts pasts;     /* by serials; PASTS at most */
    struct birth *births; /* a ring of BIRTHS */
    uint64_t nbirths;
} past_list = {.lock = HD_LOCK_INIT(SAN_STREAMS, "racecheck's streams")};

void race_streams_lock(void)
{
    hd_lock_acquire(&past_list.lock);
}

void race_streams_unlock(void)
{
    hd_lock_release(&past_list.lock);
}

bool race_streams_are_locked(void)
{
    return hd_lock_held(&past_list.lock);
}

bool race_pasts_start(void)
{
    if (!past_list.births)
        past_list.births = hd_alloc_array(BIRTHS, sizeof(*past_list.births));
    return past_list.births;
}

/* ---- one launch */

void race_past_forget_unordered(struct race_past *past)
{
    for (size_t i = 0; i < past->unordered.len; i++)
        race_past_unref(past->unordered.at[i]);
    hd_vec_fini(&past->unordered);
}

void race_past_unref(struct race_past *past)
{
    uint32_t before = past ? atomic_fetch_sub(&past->refs, 1) : UINT32_MAX;

    assert(before > 0);
    if (before > 1)
        return;
    assert(!past->live);
    race_past_forget_unordered(past);
    hd_vec_fini(&past->awaited);
    hd_vec_fini(&past->met);
    hd_free(past);
}

struct race_past *race_past_ref(struct race_past *past)
{
    uint32_t before = atomic_fetch_add(&past->refs, 1);

    assert(before > 0);
    (void)before;
    return past;
}

/* The first that begins behind the serial. */
static size_t behind(const race_pasts *pasts, uint32_t serial)
{
    size_t low = 0, high = pasts->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pasts->at[middle]->base <= serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct race_past *race_pasts_find(const race_pasts *pasts, uint32_t serial)
{
    size_t i = behind(pasts, serial);
    struct race_past *past = i ? pasts->at[i - 1] : NULL;

    return past && serial - past->base < past->n ? past : NULL;
}

bool race_past_insert_locked(struct race_past *past)
{
    size_t at = behind(&past_list.pasts, past->base);

    assert(race_streams_are_locked() && past->n);
    if (past_list.pasts.len == PASTS) {
        race_past_unref(past_list.pasts.at[0]);
        memmove(&past_list.pasts.at[0], &past_list.pasts.at[1], (PASTS - 1) * sizeof(past));
        past_list.pasts.len--;
        at = behind(&past_list.pasts, past->base);
    }
    if (!hd_vec_reserve(&past_list.pasts, past_list.pasts.len + 1))
        return false;
    memmove(&past_list.pasts.at[at + 1], &past_list.pasts.at[at],
            (past_list.pasts.len - at) * sizeof(past));
    past_list.pasts.at[at] = race_past_ref(past);
    past_list.pasts.len++;
    assert(!at || past_list.pasts.at[at - 1]->base + past_list.pasts.at[at - 1]->n <= past->base);
    return true;
}

/* Those that began before and are not ordered before it. */
bool race_past_collect_locked(struct race_past *past, uint32_t *low)
{
    for (size_t i = 0; i < past_list.pasts.len; i++) {
        struct race_past *other = past_list.pasts.at[i];
        if (other->base >= past->base ||
            san_order_is_before(other->position.op, &past->position.after))
            continue;
        if (!hd_vec_push(&past->unordered, other))
            return false;
        race_past_ref(other);
        *low = HD_MIN(*low, other->base);
    }
    return true;
}

/* ---- which of them */

const struct ir_instr *race_past_probe_locked(const struct race_past *past, uint32_t number)
{
    assert(race_streams_are_locked());
    if (past->is_gone)
        return NULL;
    if (past->live)
        return race_probe(past->live, number);
    for (size_t i = 0; i < past->met.len; i++)
        if (past->met.at[i].number == number)
            return past->met.at[i].at;
    return NULL;
}

void race_pasts_collect_locked(const struct san_order_position *position, race_pasts *out)
{
    assert(race_streams_are_locked());
    for (size_t i = 0; i < past_list.pasts.len; i++) {
        struct race_past *past = past_list.pasts.at[i];
        if (past->live || past->is_gone || san_order_is_ordered(&past->position, position))
            continue;
        if (!hd_vec_push(out, past))
            return;
        race_past_ref(past);
    }
}

void race_pasts_unknown_locked(const struct san_order_clock *clock, race_pasts *out)
{
    assert(race_streams_are_locked());
    for (size_t i = 0; i < past_list.pasts.len; i++) {
        struct race_past *past = past_list.pasts.at[i];
        if (past->live || past->is_gone || san_order_is_before(past->position.op, clock))
            continue;
        if (!hd_vec_push(out, past))
            return;
        race_past_ref(past);
    }
}

void race_pasts_fini(race_pasts *pasts)
{
    for (size_t i = 0; i < pasts->len; i++)
        race_past_unref(pasts->at[i]);
    hd_vec_fini(pasts);
}

/* ---- order */

static bool has_heard(const struct race_past *past, const struct race_past *of)
{
    for (size_t i = 0; i < past->awaited.len; i++)
        if (past->awaited.at[i] == of->base)
            return true;
    return false;
}

/* Began later, and before this one has ended; or not in the snapshot: ordered, or not known. */
struct race_past *race_past_unordered_locked(const struct race_past *past, uint32_t serial)
{
    struct race_past *other = serial < past->base ? race_pasts_find(&past->unordered, serial)
                                                  : race_pasts_find(&past_list.pasts, serial);

    if (!other || has_heard(past, other) || has_heard(other, past))
        return NULL;
    return san_order_is_ordered(&other->position, &past->position) ? NULL : other;
}

bool race_past_is_ordered(struct race_launch *launch, uint32_t serial)
{
    bool ordered = true;

    if (!launch->past)
        return true;
    race_streams_lock();
    ordered = !race_past_unordered_locked(launch->past, serial);
    race_streams_unlock();
    return ordered;
}

/* The first birth at or behind the operation. */
static uint64_t birth_behind_locked(uint64_t number)
{
    uint64_t high = past_list.nbirths, low = high > BIRTHS ? high - BIRTHS : 0;

    assert(race_streams_are_locked());
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (past_list.births[middle % BIRTHS].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool race_is_renewed_locked(uint64_t va, struct san_order_op a, struct san_order_op b)
{
    uint64_t first = HD_MIN(a.number, b.number), last = HD_MAX(a.number, b.number);

    for (uint64_t i = birth_behind_locked(first); i < past_list.nbirths; i++) {
        const struct birth *birth = &past_list.births[i % BIRTHS];
        if (birth->number >= last)
            return false;
        if (va - birth->va < birth->size_B)
            return true;
    }
    return false;
}

bool race_is_renewed(uint64_t va, struct san_order_op a, struct san_order_op b)
{
    race_streams_lock();
    bool renewed = race_is_renewed_locked(va, a, b);
    race_streams_unlock();
    return renewed;
}

/* ---- what the taps tell */

void race_memory_is_born(uint64_t va, uint64_t size_B)
{
    uint64_t now;

    race_streams_lock();
    now = san_order_now();
    assert(!past_list.nbirths || past_list.births[(past_list.nbirths - 1) % BIRTHS].number <= now);
    past_list.births[past_list.nbirths++ % BIRTHS] = (struct birth){va, size_B, now};
    race_streams_unlock();
}

void race_pasts_lose_code(void)
{
    race_streams_lock();
    for (size_t i = 0; i < past_list.pasts.len; i++)
        past_list.pasts.at[i]->is_gone |= !past_list.pasts.at[i]->live;
    race_streams_unlock();
}
