/*
 * The last two minutes, for pages that are opened later: what each device was used and how many
 * requests of each kind came, at each look. See serve.h.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "serve/serve.h"

enum {
    KEPT_MS = 120000, /* as the page keeps */
    POINTS = 512,     /* of a curve: with more looks in two minutes, the last ones */
};

/* A ring. */
struct curve {
    uint64_t time_ms[POINTS];
    float value[POINTS];
    uint32_t first, n;
};

/* Of one kind of request. */
struct kind {
    char program[64], domain[64], name[128];
    bool is_pushed;
    struct curve per_s;
};

static struct {
    struct curve devices[SMI_DEVICES_MAX];
    unsigned index[SMI_DEVICES_MAX], ndevices;
    HD_VEC(struct kind *) kinds; /* that came in the last two minutes */
} history;

static void forget(struct curve *c, uint64_t now_ms)
{
    assert(c->n <= POINTS && c->first < POINTS);
    while (c->n && c->time_ms[c->first] + KEPT_MS < now_ms) {
        c->first = (c->first + 1) % POINTS;
        c->n--;
    }
}

static void add(struct curve *c, uint64_t now_ms, double value)
{
    forget(c, now_ms);
    if (c->n == POINTS) {
        c->first = (c->first + 1) % POINTS;
        c->n--;
    }
    assert(c->n < POINTS);
    uint32_t at = (c->first + c->n++) % POINTS;
    c->time_ms[at] = now_ms;
    c->value[at] = (float)value;
}

/* NULL: no memory. */
static struct kind *kind_of(const struct serve_request *r)
{
    for (size_t i = 0; i < history.kinds.len; i++) {
        struct kind *k = history.kinds.at[i];
        if (k->is_pushed == r->is_pushed && !strcmp(k->name, r->name) &&
            !strcmp(k->program, r->program) && !strcmp(k->domain, r->domain))
            return k;
    }
    struct kind *k = history.kinds.len < SERVE_REQUESTS_MAX ? hd_new(struct kind) : NULL;
    if (!k || !hd_vec_push(&history.kinds, k)) {
        hd_free(k);
        return NULL;
    }
    memcpy(k->program, r->program, sizeof(k->program));
    memcpy(k->domain, r->domain, sizeof(k->domain));
    memcpy(k->name, r->name, sizeof(k->name));
    k->is_pushed = r->is_pushed;
    return k;
}

static void forget_kinds(uint64_t now_ms)
{
    size_t kept = 0;

    for (size_t i = 0; i < history.kinds.len; i++) {
        struct kind *k = history.kinds.at[i];
        forget(&k->per_s, now_ms);
        if (k->per_s.n)
            history.kinds.at[kept++] = k;
        else
            hd_free(k);
    }
    history.kinds.len = kept;
}

void serve_history_add(const struct serve_snapshot *s)
{
    assert(s->smi.ngpus <= SMI_DEVICES_MAX && s->nrequests <= SERVE_REQUESTS_MAX);
    history.ndevices = s->smi.ngpus;
    for (unsigned i = 0; i < s->smi.ngpus; i++) {
        history.index[i] = s->smi.gpus[i].index;
        if (s->smi.gpus[i].gpu != SMI_NONE)
            add(&history.devices[i], s->time_ms, (double)s->smi.gpus[i].gpu);
    }
    for (unsigned i = 0; i < s->nrequests; i++) {
        struct kind *k = kind_of(&s->requests[i]);
        if (k)
            add(&k->per_s, s->time_ms, s->requests[i].per_s);
    }
    forget_kinds(s->time_ms);
}

static void put_curve(struct hd_json *j, const char *key, const struct curve *c)
{
    hd_json_open(j, key, '[');
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t at = (c->first + i) % POINTS;
        hd_json_open(j, NULL, '[');
        hd_json_u64(j, NULL, c->time_ms[at]);
        hd_json_double(j, NULL, (double)c->value[at]);
        hd_json_close(j, ']');
    }
    hd_json_close(j, ']');
}

void serve_history_write(struct hd_json *j)
{
    hd_json_open(j, "history", '{');
    hd_json_open(j, "devices", '[');
    for (unsigned i = 0; i < history.ndevices; i++) {
        hd_json_open(j, NULL, '{');
        hd_json_u64(j, "index", history.index[i]);
        put_curve(j, "utilization_percent", &history.devices[i]);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    hd_json_open(j, "requests", '[');
    for (size_t i = 0; i < history.kinds.len; i++) {
        const struct kind *k = history.kinds.at[i];
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "program", k->program);
        hd_json_str(j, "domain", k->domain);
        hd_json_str(j, "name", k->name);
        hd_json_str(j, "source", k->is_pushed ? "push" : "nvtx");
        put_curve(j, "requests_per_s", &k->per_s);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

void serve_history_fini(void)
{
    forget_kinds(UINT64_MAX);
    hd_vec_fini(&history.kinds);
}
