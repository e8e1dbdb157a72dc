/*
 * The listener: ranges that begin and end become durations. See requests.h.
 *
 * A thread's pushed ranges lie on a stack of its own, started ones in a table for all threads, by
 * their number: a range that is still open when PENDING later ones were started is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "heddle/tap.h"
#include "requests/requests.h"

enum {
    DEPTH = 64,     /* of pushed ranges that are kept */
    PENDING = 4096, /* a power of two */
    NAMES_MAX = 4096,
};

struct open_range {
    struct requests_series *series; /* NULL: it is not counted */
    uint64_t begin_ns;
    uint32_t domain;
};

struct stack {
    uint32_t depth; /* may be more than DEPTH */
    struct open_range at[DEPTH];
};

static struct {
    const char *list;
    struct requests_file *file;
    pthread_key_t stack;
    struct hd_lock lock;
    struct hd_map names; /* "domain\ntext" -> series, or NULL; under the lock */
    char program[64];
    struct {
        _Atomic uint64_t id;
        _Atomic(struct requests_series *) series;
        _Atomic uint64_t begin_ns;
    } pending[PENDING];
} own = {.lock = HD_LOCK_INIT(RECORD, "requests")};

/* ---- names */

/* Not in the middle of a character. */
static void copy_text(char *out, size_t size_B, const char *text)
{
    size_t len = strlen(text);

    if (len >= size_B)
        for (len = size_B - 1; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    memcpy(out, text, len);
}

/* *out_lost: it is asked for, and has no place. */
static struct requests_series *series_new(const char *domain, const char *text, bool *out_lost)
{
    struct requests_name name = {.range = ""};
    char range[sizeof(name.range)];

    *out_lost = false;
    if (!requests_list_find(own.list, domain, text, range))
        return NULL;
    copy_text(name.program, sizeof(name.program), own.program);
    copy_text(name.domain, sizeof(name.domain), domain);
    copy_text(name.range, sizeof(name.range), range);
    struct requests_series *series = requests_place(own.file, &name);
    *out_lost = !series;
    if (!series)
        atomic_fetch_add(&own.file->lost, 1);
    return series;
}

/* The map borrows its keys: what is kept has a copy. */
static void name_keep(const char *key, struct requests_series *series)
{
    char *kept = NULL;

    hd_lock_acquire(&own.lock);
    if (own.names.len < NAMES_MAX && !hd_map_find(&own.names, hd_str_from(key), &(void *){NULL}))
        kept = hd_strdup(key);
    if (kept && !hd_map_put(&own.names, hd_str_from(kept), series))
        hd_free(kept);
    hd_lock_release(&own.lock);
}

/* Texts with numbers in them would fill the map: beyond some, each is looked for again. */
static struct requests_series *series_of(const struct heddle_event *e)
{
    const char *domain = e->nvtx.domain_name ? e->nvtx.domain_name : "";
    const char *text = e->nvtx.text ? e->nvtx.text : "";
    char key[256];
    void *found = NULL;
    bool is_lost;
    int len = snprintf(key, sizeof(key), "%s\n%s", domain, text);
    struct hd_str view = {key, (size_t)len};

    if (len < 0 || (size_t)len >= sizeof(key))
        return series_new(domain, text, &is_lost);
    hd_lock_acquire(&own.lock);
    bool is_known = hd_map_find(&own.names, view, &found);
    hd_lock_release(&own.lock);
    if (is_known)
        return found;
    found = series_new(domain, text, &is_lost);
    if (!is_lost) /* each of those counts */
        name_keep(key, found);
    return found;
}

/* ---- ranges */

static struct stack *stack_get(void)
{
    struct stack *stack = pthread_getspecific(own.stack);

    if (!stack) {
        stack = hd_new(struct stack);
        if (stack && pthread_setspecific(own.stack, stack)) {
            hd_free(stack);
            stack = NULL;
        }
    }
    return stack;
}

static void finish(struct requests_series *series, uint64_t begin_ns, uint64_t end_ns)
{
    if (series)
        requests_count(series, end_ns > begin_ns ? end_ns - begin_ns : 0);
}

static void on_push(const struct heddle_event *e)
{
    struct stack *stack = stack_get();
    struct open_range range = {series_of(e), e->time_ns, e->nvtx.domain};

    if (stack && stack->depth < DEPTH)
        stack->at[stack->depth] = range;
    else if (range.series)
        atomic_fetch_add(&own.file->lost, 1);
    if (stack)
        stack->depth++;
}

/* Ends the innermost one of its domain. */
static void on_pop(const struct heddle_event *e)
{
    struct stack *stack = stack_get();

    if (!stack || !stack->depth)
        return;
    if (stack->depth > DEPTH) {
        stack->depth--;
        return;
    }
    for (uint32_t i = stack->depth; i > 0; i--) {
        struct open_range range = stack->at[i - 1];

        if (range.domain != e->nvtx.domain)
            continue;
        stack->depth--;
        memmove(&stack->at[i - 1], &stack->at[i], (stack->depth - (i - 1)) * sizeof(range));
        finish(range.series, range.begin_ns, e->time_ns);
        return;
    }
}

static void on_start(const struct heddle_event *e)
{
    struct requests_series *series = series_of(e);
    size_t at = e->nvtx.range % PENDING;

    if (!series)
        return;
    if (atomic_exchange(&own.pending[at].id, 0))
        atomic_fetch_add(&own.file->lost, 1);
    atomic_store(&own.pending[at].series, series);
    atomic_store(&own.pending[at].begin_ns, e->time_ns);
    atomic_store(&own.pending[at].id, e->nvtx.range);
}

static void on_end(const struct heddle_event *e)
{
    size_t at = e->nvtx.range % PENDING;
    uint64_t id = e->nvtx.range;
    struct requests_series *series = atomic_load(&own.pending[at].series);
    uint64_t begin_ns = atomic_load(&own.pending[at].begin_ns);

    if (atomic_compare_exchange_strong(&own.pending[at].id, &id, 0))
        finish(series, begin_ns, e->time_ns);
}

static void on_event(void *user, const struct heddle_event *e)
{
    (void)user;
    switch (e->nvtx.call) {
    case HEDDLE_NVTX_RANGE_PUSH:
        on_push(e);
        break;
    case HEDDLE_NVTX_RANGE_POP:
        on_pop(e);
        break;
    case HEDDLE_NVTX_RANGE_START:
        on_start(e);
        break;
    case HEDDLE_NVTX_RANGE_END:
        on_end(e);
        break;
    default:
        break;
    }
}

/* ---- the list */

static bool matches(struct hd_str word, const char *domain, const char *text, bool *out_is_prefix)
{
    const char *at = memchr(word.ptr, '@', word.len);
    size_t len = at ? (size_t)(at - word.ptr) : word.len;

    if (at && !hd_str_is((struct hd_str){at + 1, word.len - len - 1}, domain))
        return false;
    bool is_prefix = len && word.ptr[len - 1] == '*';
    *out_is_prefix = is_prefix && len > 1;
    if (is_prefix)
        return !strncmp(word.ptr, text, len - 1);
    return hd_str_is((struct hd_str){word.ptr, len}, text);
}

bool requests_list_find(const char *list, const char *domain, const char *text, char out_range[128])
{
    bool is_prefix = false;

    for (const char *at = list; *at;) {
        struct hd_str word = {at, strcspn(at, ",")};

        if (word.len && matches(word, domain, text, &is_prefix)) {
            const char *end = memchr(word.ptr, '@', word.len);
            int len = (int)(end ? (size_t)(end - word.ptr) : word.len);

            (void)snprintf(out_range, 128, "%.*s", is_prefix ? len : 127,
                           is_prefix ? word.ptr : text);
            return true;
        }
        at += word.len + (at[word.len] == ',');
    }
    return false;
}

bool requests_list_check(const char *list)
{
    for (const char *at = list;; at++) {
        size_t len = strcspn(at, ",");

        if (!len || *at == '@' || len > 190)
            return false;
        at += len;
        if (!*at)
            return true;
    }
}

enum hd_status requests_start(void)
{
    const char *list = hd_env("HEDDLE_REQUESTS");

    if (!list)
        return HD_OK;
    if (!requests_list_check(list))
        return hd_error(HD_BAD_ARG,
                        "HEDDLE_REQUESTS: '%s' is no list of NAME, NAME@DOMAIN and NAME*", list);
    if (requests_make(&own.file) != HD_OK) {
        hd_log("no requests are counted: %s", hd_error_message());
        return HD_OK;
    }
    own.list = list;
    (void)snprintf(own.program, sizeof(own.program), "%s", program_invocation_short_name);
    hd_map_init(&own.names);
    if (pthread_key_create(&own.stack, hd_free) ||
        !heddle_tap_subscribe(HEDDLE_KIND(NVTX), on_event, NULL))
        return hd_error(HD_BUSY, "too many listeners to count requests");
    return HD_OK;
}
