/*
 * Which NVTX ranges are open where a launch is made, for expressions of HEDDLE_COUNT
 * (range_filter.h). Pushed ranges are a thread's own; what it keeps of them goes with it.
 */
#include "count/ranges.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "count/count.h"
#include "heddle/tap.h"

enum { FILTERS = 16, DEPTH = 128 /* what lies deeper is not looked at */ };

struct open_range {
    char *text;    /* owned: domain, 0, name, 0 */
    uint64_t id;   /* of a started one */
    int32_t level; /* of a pushed one */
};

struct open_ranges {
    HD_VEC(struct open_range) list;
};

static struct {
    struct count_filter filters[2][FILTERS]; /* that include, that exclude */
    unsigned n[2];
    bool is_on;
    pthread_key_t key;    /* struct open_ranges of a thread, or NULL */
    pthread_mutex_t lock; /* a leaf: started */
    struct open_ranges started;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void count_ranges_clear(void)
{
    all.n[0] = all.n[1] = 0;
}

enum hd_status count_ranges_add(const char *text, size_t len, bool is_excluded)
{
    unsigned *n = &all.n[is_excluded];

    assert(*n <= FILTERS);
    if (*n == FILTERS)
        return hd_error(HD_BAD_ARG, "more than %d expressions of NVTX ranges", FILTERS);
    HD_TRY(count_filter_read(text, len, &all.filters[is_excluded][*n]));
    (*n)++;
    return HD_OK;
}

/* ---- what is open */

static const char *domain_of(const struct open_range *r)
{
    return r->text;
}

static const char *name_of(const struct open_range *r)
{
    return r->text + strlen(r->text) + 1;
}

/* Without memory it is not known. */
static void open_range(struct open_ranges *to, const struct heddle_event *e)
{
    const char *domain = e->nvtx.domain_name ? e->nvtx.domain_name : "";
    const char *name = e->nvtx.text ? e->nvtx.text : "";
    size_t domain_len = strlen(domain) + 1, name_len = strlen(name) + 1;
    struct open_range r = {hd_alloc(domain_len + name_len), e->nvtx.range, e->nvtx.level};

    if (!r.text)
        return;
    memcpy(r.text, domain, domain_len);
    memcpy(r.text + domain_len, name, name_len);
    if (!hd_vec_push(&to->list, r))
        hd_free(r.text);
}

static void close_range(struct open_ranges *from, size_t at)
{
    assert(at < from->list.len);
    hd_free(from->list.at[at].text);
    from->list.len--;
    memmove(&from->list.at[at], &from->list.at[at + 1],
            (from->list.len - at) * sizeof(from->list.at[0]));
}

static void ranges_free(void *ranges)
{
    struct open_ranges *r = ranges;

    while (r->list.len)
        close_range(r, r->list.len - 1);
    hd_vec_fini(&r->list);
    hd_free(r);
}

static void push(const struct heddle_event *e)
{
    struct open_ranges *own = pthread_getspecific(all.key);

    if (!own) {
        own = hd_new(struct open_ranges);
        if (!own || pthread_setspecific(all.key, own)) {
            hd_free(own);
            return;
        }
    }
    open_range(own, e);
}

/* The innermost of that domain. */
static void pop(const struct heddle_event *e)
{
    struct open_ranges *own = pthread_getspecific(all.key);
    const char *domain = e->nvtx.domain_name ? e->nvtx.domain_name : "";

    if (e->nvtx.level == -1)
        return; /* nothing was pushed */
    for (size_t i = own ? own->list.len : 0; i-- > 0;)
        if (!strcmp(domain_of(&own->list.at[i]), domain)) {
            close_range(own, i);
            return;
        }
}

static void end(uint64_t id)
{
    for (size_t i = all.started.list.len; i-- > 0;)
        if (all.started.list.at[i].id == id) {
            close_range(&all.started, i);
            return;
        }
}

static void on_nvtx(void *user, const struct heddle_event *e)
{
    (void)user;
    switch (e->nvtx.call) {
    case HEDDLE_NVTX_RANGE_PUSH:
        push(e);
        return;
    case HEDDLE_NVTX_RANGE_POP:
        pop(e);
        return;
    case HEDDLE_NVTX_RANGE_START:
    case HEDDLE_NVTX_RANGE_END:
        pthread_mutex_lock(&all.lock);
        if (e->nvtx.call == HEDDLE_NVTX_RANGE_START)
            open_range(&all.started, e);
        else
            end(e->nvtx.range);
        pthread_mutex_unlock(&all.lock);
        return;
    default:
        return;
    }
}

/* ---- filters */

static bool is_started_locked(const char *domain, const char *name)
{
    for (size_t i = 0; i < all.started.list.len; i++)
        if (!strcmp(domain_of(&all.started.list.at[i]), domain) &&
            !strcmp(name_of(&all.started.list.at[i]), name))
            return true;
    return false;
}

static bool holds(const struct count_filter *f)
{
    bool all_open = true;

    if (f->is_nested) {
        const struct open_ranges *own = pthread_getspecific(all.key);
        const char *stack[DEPTH];
        unsigned depth = 0;

        for (size_t i = 0; own && i < own->list.len && depth < DEPTH; i++)
            if (!strcmp(domain_of(&own->list.at[i]), f->domain[0]))
                stack[depth++] = name_of(&own->list.at[i]);
        return count_filter_fits(f, stack, depth);
    }
    pthread_mutex_lock(&all.lock);
    for (unsigned i = 0; i < f->n; i++)
        all_open = all_open && is_started_locked(f->domain[i], f->name[i]);
    pthread_mutex_unlock(&all.lock);
    return all_open;
}

bool count_ranges_take(void)
{
    bool is_wanted = !all.n[0];

    if (!all.is_on)
        return is_wanted && !all.n[1];
    for (unsigned i = 0; i < all.n[0] && !is_wanted; i++)
        is_wanted = holds(&all.filters[0][i]);
    for (unsigned i = 0; i < all.n[1] && is_wanted; i++)
        is_wanted = !holds(&all.filters[1][i]);
    return is_wanted;
}

enum hd_status count_ranges_start(const char *settings,
                                  uint32_t (*subscribe)(uint32_t, heddle_listener, void *))
{
    if (!settings || (!strstr(settings, "include=") && !strstr(settings, "exclude=")))
        return HD_OK;
    if (pthread_key_create(&all.key, ranges_free))
        return hd_error(HD_NO_MEMORY, "no memory for NVTX ranges");
    if (!subscribe(HEDDLE_KIND(NVTX), on_nvtx, NULL))
        return hd_error(HD_BUSY, "too many listeners for NVTX ranges");
    all.is_on = true;
    return HD_OK;
}
