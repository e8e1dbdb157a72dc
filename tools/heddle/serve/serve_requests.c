/*
 * Requests: what programs count (src/requests) and what was pushed, with rates and percentiles of
 * the last time. What was counted some times ago is kept for that: a mark at each snapshot, and all
 * buckets every BASE_NS. See serve.h. Single-threaded.
 */
#include "serve/serve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "requests/requests.h"
#include "serve/serve_push.h"

#define RATE_NS ((uint64_t)10 * 1000 * 1000 * 1000)
#define BASE_NS ((uint64_t)10 * 1000 * 1000 * 1000)

enum {
    MARKS = 16,
    BASES = 7, /* of a minute, and the one before */
    PUSHED_MAX = SERVE_REQUESTS_MAX - (int)REQUESTS_SERIES,
};

const double serve_quantiles[SERVE_QUANTILES] = {0.5, 0.9, 0.99, 0.999};
const char *const serve_quantile_names[SERVE_QUANTILES] = {"p50", "p90", "p99", "p999"};

/* What was counted at some times: rings, the last at (n - 1) % length. */
struct history {
    struct {
        uint64_t time_ns;
        double count;
    } marks[MARKS];
    unsigned nmarks;
    uint64_t base_ns[BASES];
    unsigned nbases;
};

struct tracked {
    struct history history;
    struct requests_counts *bases[BASES]; /* NULL: nothing was counted */
};

struct tracked_push {
    char *key; /* NULL: the place is free */
    uint64_t seen;
    struct history history;
    unsigned nbounds;
    double bases[BASES][PUSH_BOUNDS_MAX];
};

static struct {
    uint64_t last_ns; /* the snapshot before; 0: none */
    struct tracked programs[REQUESTS_SERIES];
    struct tracked_push pushes[PUSHED_MAX];
    uint64_t now_ns, number;
} track;

/* 16 us to 34 s. */
static uint64_t requests_bound_ns(unsigned bound)
{
    return (uint64_t)1 << (14 + bound);
}

double serve_bound_s(unsigned bound)
{
    return (double)requests_bound_ns(bound) * 1e-9;
}

/* ---- history */

/* Not so often that the marks span less than RATE_NS. */
static void requests_mark(struct history *h, uint64_t time_ns, double count)
{
    assert(!h->nmarks || time_ns >= h->marks[(h->nmarks - 1) % MARKS].time_ns);
    if (h->nmarks && time_ns - h->marks[(h->nmarks - 1) % MARKS].time_ns < RATE_NS / (MARKS - 2))
        return;
    h->marks[h->nmarks % MARKS].time_ns = time_ns;
    h->marks[h->nmarks++ % MARKS].count = count;
}

/* Per second, since the oldest mark that is not older than RATE_NS, or the last before. */
static double requests_rate(const struct history *h, uint64_t now_ns, double count)
{
    unsigned n = HD_MIN(h->nmarks, (unsigned)MARKS), best = h->nmarks - 1;

    assert(!n || now_ns >= h->marks[best % MARKS].time_ns);
    for (unsigned i = 1; i <= n; i++) {
        best = h->nmarks - i;
        if (now_ns - h->marks[best % MARKS].time_ns >= RATE_NS)
            break;
    }
    double elapsed_s = n ? (double)(now_ns - h->marks[best % MARKS].time_ns) * 1e-9 : 0;
    double before = n ? h->marks[best % MARKS].count : count;
    return elapsed_s > 0 && count > before ? (count - before) / elapsed_s : 0;
}

/* The last base that is a minute old, or the oldest; BASES: there is none. */
static unsigned requests_window_base(const struct history *h, uint64_t now_ns)
{
    unsigned n = HD_MIN(h->nbases, (unsigned)BASES), base = BASES;

    for (unsigned i = 1; i <= n; i++) {
        base = (h->nbases - i) % BASES;
        if (now_ns - h->base_ns[base] >= (BASES - 1) * BASE_NS)
            break;
    }
    return base;
}

/* Is it time for another? Where it goes; BASES: no. */
static unsigned requests_next_base(struct history *h, uint64_t now_ns)
{
    unsigned last = (h->nbases + BASES - 1) % BASES;

    if (h->nbases && now_ns - h->base_ns[last] < BASE_NS)
        return BASES;
    h->base_ns[h->nbases % BASES] = now_ns;
    return h->nbases++ % BASES;
}

/* ---- programs */

/* The first time: what appears while we look counts from 0 at the snapshot before. */
static void requests_begin(struct tracked *t, const struct requests_read *r, uint64_t total)
{
    bool is_new = track.last_ns != 0;

    assert(!t->history.nmarks && !t->history.nbases);
    requests_mark(&t->history, is_new ? track.last_ns : track.now_ns, is_new ? 0 : (double)total);
    t->history.base_ns[0] = is_new ? track.last_ns : track.now_ns;
    t->history.nbases = 1;
    t->bases[0] = is_new ? NULL : hd_new(struct requests_counts);
    if (t->bases[0])
        *t->bases[0] = r->counts;
}

static void requests_subtract(struct requests_counts *from, const struct requests_counts *what)
{
    for (unsigned b = 0; what && b < REQUESTS_BUCKETS; b++)
        from->at[b] -= HD_MIN(from->at[b], what->at[b]);
}

static void requests_keep_base(struct tracked *t, const struct requests_read *r)
{
    unsigned place = requests_next_base(&t->history, track.now_ns);

    if (place == BASES)
        return;
    if (!t->bases[place])
        t->bases[place] = hd_new(struct requests_counts);
    if (t->bases[place])
        *t->bases[place] = r->counts;
}

static void requests_quantiles(const struct requests_counts *counts, double out_s[SERVE_QUANTILES],
                               uint64_t max_ns)
{
    for (unsigned q = 0; q < SERVE_QUANTILES; q++)
        out_s[q] = (double)HD_MIN(requests_quantile_ns(counts, serve_quantiles[q]), max_ns) * 1e-9;
}

static void requests_program_add(struct serve_snapshot *s, struct tracked *t,
                                 const struct requests_read *r)
{
    static struct requests_counts window;
    assert(s->nrequests < SERVE_REQUESTS_MAX);
    struct serve_request *out = &s->requests[s->nrequests++];
    uint64_t total = requests_total(&r->counts);

    if (!t->history.nmarks)
        requests_begin(t, r, total);
    (void)snprintf(out->program, sizeof(out->program), "%s", r->name.program);
    (void)snprintf(out->domain, sizeof(out->domain), "%s", r->name.domain);
    (void)snprintf(out->name, sizeof(out->name), "%s", r->name.range);
    out->count = total;
    out->sum_s = (double)r->sum_ns * 1e-9;
    out->max_s = (double)r->max_ns * 1e-9;
    out->per_s = requests_rate(&t->history, track.now_ns, (double)total);
    window = r->counts;
    unsigned base = requests_window_base(&t->history, track.now_ns);
    assert(base < BASES);
    requests_subtract(&window, t->bases[base]);
    out->has_window = requests_total(&window) > 0;
    requests_quantiles(&window, out->window_s, r->max_ns);
    requests_quantiles(&r->counts, out->all_s, r->max_ns);
    for (unsigned b = 0; b < SERVE_BOUNDS; b++)
        out->below[b] = requests_below(&r->counts, requests_bound_ns(b));
    requests_mark(&t->history, track.now_ns, (double)total);
    requests_keep_base(t, r);
}

static void requests_programs_read(struct serve_snapshot *s)
{
    static struct requests_read r;
    const struct requests_file *file = requests_open();

    if (!file)
        return;
    for (uint32_t i = 0; i < REQUESTS_SERIES; i++)
        if (requests_read(file, i, &r))
            requests_program_add(s, &track.programs[i], &r);
    s->requests_lost = atomic_load(&file->lost);
}

/* ---- pushes */

static struct tracked_push *requests_push_of(const struct push_histogram *h)
{
    struct tracked_push *free_one = NULL;
    struct hd_buf key = {0};

    hd_buf_printf(&key, "%s\n%s\n%s", h->job, h->name, h->labels);
    for (size_t i = 0; !key.failed && i < PUSHED_MAX; i++) {
        struct tracked_push *t = &track.pushes[i];

        if (t->key && !strcmp(t->key, key.ptr)) {
            hd_buf_fini(&key);
            return t;
        }
        if (!t->key && !free_one)
            free_one = t;
    }
    if (free_one && !key.failed) {
        *free_one = (struct tracked_push){.nbounds = h->nbounds, .key = hd_buf_take(&key)};
        return free_one;
    }
    hd_buf_fini(&key);
    return NULL;
}

/* The bound that the part does not exceed; of what is beyond the last, that last one. */
static double requests_push_quantile(const struct push_histogram *h, const double *before,
                                     double quantile)
{
    assert(h->nbounds && h->nbounds <= PUSH_BOUNDS_MAX);
    double all = h->below[h->nbounds - 1] - (before ? before[h->nbounds - 1] : 0);

    for (unsigned b = 0; b + 1 < h->nbounds; b++)
        if (h->below[b] - (before ? before[b] : 0) >= quantile * all)
            return h->bounds[b];
    return h->nbounds > 1 ? h->bounds[h->nbounds - 2] : 0;
}

/* A program that was started again counts from 0, with other buckets perhaps. */
static bool requests_goes_on(const struct tracked_push *t, const struct push_histogram *h)
{
    const struct history *past = &t->history;

    return t->nbounds == h->nbounds &&
           (!past->nmarks || past->marks[(past->nmarks - 1) % MARKS].count <= h->count);
}

static uint64_t requests_whole(double count)
{
    return count > 0 && count < 1e18 ? (uint64_t)count : 0;
}

static void requests_push_add(void *arg, const struct push_histogram *h)
{
    struct serve_snapshot *s = arg;
    struct tracked_push *t = requests_push_of(h);

    if (!t || s->nrequests == SERVE_REQUESTS_MAX)
        return;
    if (!requests_goes_on(t, h)) {
        t->history = (struct history){.nmarks = 0};
        t->nbounds = h->nbounds;
    }
    struct serve_request *out = &s->requests[s->nrequests++];
    unsigned base = requests_window_base(&t->history, track.now_ns);
    const double *before = base < BASES ? t->bases[base] : NULL;
    out->is_pushed = true;
    (void)snprintf(out->program, sizeof(out->program), "%s", h->job);
    (void)snprintf(out->name, sizeof(out->name), "%s%s%s%s", h->name, *h->labels ? "{" : "",
                   h->labels, *h->labels ? "}" : "");
    out->count = requests_whole(h->count);
    out->sum_s = h->sum;
    out->per_s = requests_rate(&t->history, track.now_ns, h->count);
    out->has_window = before && h->count > before[h->nbounds - 1];
    for (unsigned q = 0; q < SERVE_QUANTILES; q++) {
        out->window_s[q] = requests_push_quantile(h, before, serve_quantiles[q]);
        out->all_s[q] = requests_push_quantile(h, NULL, serve_quantiles[q]);
    }
    requests_mark(&t->history, track.now_ns, h->count);
    base = requests_next_base(&t->history, track.now_ns);
    if (base < BASES)
        memcpy(t->bases[base], h->below, sizeof(h->below));
    t->seen = track.number;
}

static void requests_pushes_forget(void)
{
    for (size_t i = 0; i < PUSHED_MAX; i++)
        if (track.pushes[i].key && track.pushes[i].seen != track.number) {
            hd_free(track.pushes[i].key);
            track.pushes[i].key = NULL;
        }
}

void serve_requests_read(struct serve_snapshot *out)
{
    track.now_ns = reg_now_ns();
    assert(track.now_ns >= track.last_ns && out->number > track.number);
    track.number = out->number;
    requests_programs_read(out);
    push_histograms(requests_push_add, out);
    requests_pushes_forget();
    track.last_ns = track.now_ns;
}
