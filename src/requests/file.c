/* The file: its places, counting, reading. See requests.h. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "registry/shared.h"
#include "requests/requests.h"

_Static_assert(sizeof(struct requests_file) == 2526272, "what is in shared memory");
_Static_assert(sizeof(struct reg_shared_head) == offsetof(struct requests_file, lost),
               "one layout");

static const struct reg_shared kind = {
    .suffix = ".requests.1",
    .head = {"HDLreq\r\n", REQUESTS_VERSION, REQUESTS_SERIES, sizeof(struct requests_file)}};

enum { FILL_PATIENCE_MS = 100 };

/* ---- places */

static uint32_t hash_of(const struct requests_name *name)
{
    const uint8_t *at = (const uint8_t *)name;
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < sizeof(*name); i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

static bool is_dead(uint64_t owner)
{
    return kill((pid_t)owner, 0) && errno == ESRCH;
}

/* Its owner when it is no longer being filled, or when its filler has ended. */
static uint64_t owner_of(struct requests_series *s)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    uint64_t owner = atomic_load(&s->owner);

    for (int i = 0; i < FILL_PATIENCE_MS && owner && owner != REQUESTS_READY && !is_dead(owner);
         i++) {
        (void)nanosleep(&nap, NULL);
        owner = atomic_load(&s->owner);
    }
    return owner;
}

/* True: it is that name's now, or was. */
static bool place_take(struct requests_series *s, const struct requests_name *name)
{
    uint64_t owner = owner_of(s);

    while (owner != REQUESTS_READY) {
        if (owner && !is_dead(owner))
            return false; /* somebody fills it for ever: it is no place */
        if (!atomic_compare_exchange_strong(&s->owner, &owner, (uint64_t)getpid())) {
            owner = owner_of(s);
            continue;
        }
        s->name = *name;
        atomic_store(&s->owner, REQUESTS_READY);
        return true;
    }
    return !memcmp(&s->name, name, sizeof(*name));
}

struct requests_series *requests_place(struct requests_file *file, const struct requests_name *name)
{
    uint32_t first = hash_of(name);

    for (uint32_t i = 0; i < REQUESTS_SERIES; i++) {
        struct requests_series *s = &file->series[(first + i) % REQUESTS_SERIES];
        if (place_take(s, name))
            return s;
    }
    return NULL;
}

void requests_count(struct requests_series *series, uint64_t ns)
{
    uint64_t max_ns = atomic_load_explicit(&series->max_ns, memory_order_relaxed);

    atomic_fetch_add_explicit(&series->counts[requests_bucket_of(ns)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&series->sum_ns, ns, memory_order_relaxed);
    while (ns > max_ns &&
           !atomic_compare_exchange_weak_explicit(&series->max_ns, &max_ns, ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

/* ---- the file */

enum hd_status requests_check(const void *bytes, size_t size_B)
{
    return reg_shared_check(&kind, bytes, size_B);
}

enum hd_status requests_make(struct requests_file **out_file)
{
    char path[256];
    void *file = NULL;

    if (!reg_shared_path(&kind, path, sizeof(path)))
        return hd_error(HD_NOT_FOUND, "HEDDLE_REGISTRY is off");
    enum hd_status status = reg_shared_make(&kind, path, &file);
    *out_file = file;
    return status;
}

const struct requests_file *requests_open(void)
{
    static _Atomic(void *) opened;

    return reg_shared_opened(&kind, &opened);
}

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

bool requests_read(const struct requests_file *file, uint32_t place, struct requests_read *out)
{
    const struct requests_series *s = &file->series[place];

    if (atomic_load(&s->owner) != REQUESTS_READY)
        return false;
    out->name = s->name;
    out->name.program[sizeof(out->name.program) - 1] = '\0';
    out->name.domain[sizeof(out->name.domain) - 1] = '\0';
    out->name.range[sizeof(out->name.range) - 1] = '\0';
    for (unsigned b = 0; b < REQUESTS_BUCKETS; b++)
        out->counts.at[b] = get(&s->counts[b]);
    out->sum_ns = get(&s->sum_ns);
    out->max_ns = get(&s->max_ns);
    return true;
}
