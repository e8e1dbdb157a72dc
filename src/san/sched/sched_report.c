/* What is said of a launch whose result depends on the order. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "san/options.h"
#include "san/sched/schedcheck.h"

enum { NAME_B = 96 };

static const char *const kind_words[] = {
#define X(name, word, text) word,
    SCHED_KIND_LIST(X)
#undef X
};

static const char *const kind_texts[] = {
#define X(name, word, text) text,
    SCHED_KIND_LIST(X)
#undef X
};

static const struct sched_plan *plan_of(const struct sched_search *s)
{
    assert(s->at < s->nplans);
    return &s->plans[s->at];
}

/* ---- names */

/* "block (3,0,0)", "cluster (1,0,0)". */
static void unit_name(const struct san_launch *launch, uint64_t unit, char out[NAME_B])
{
    const struct ir_probe_launch *a = &launch->about;
    bool clusters = a->units < (uint64_t)a->grid[0] * a->grid[1] * a->grid[2];
    uint32_t at[3];

    for (int i = 0; i < 3; i++) {
        uint32_t n = clusters ? a->grid[i] / a->cluster[i] : a->grid[i];

        at[i] = (uint32_t)(unit % n);
        unit /= n;
    }
    snprintf(out, NAME_B, "%s (%u,%u,%u)", clusters ? "cluster" : "block", at[0], at[1], at[2]);
}

static void item_name(const struct san_launch *launch, uint32_t item, char out[NAME_B])
{
    if (plan_of(&sched_launch_of(launch)->search)->kind == SCHED_KIND_WARPS)
        snprintf(out, NAME_B, "warp %u", item);
    else
        unit_name(launch, item, out);
}

static void plan_name(const struct sched_plan *p, char out[NAME_B])
{
    const char *what = p->kind == SCHED_KIND_WARPS ? "warps" : "blocks";

    if (p->kind == SCHED_KIND_TURNS)
        snprintf(out, NAME_B, "warps interleaved, seed %llu", (unsigned long long)p->seed);
    else if (p->seed)
        snprintf(out, NAME_B, "%s in the order of seed %llu", what, (unsigned long long)p->seed);
    else
        snprintf(out, NAME_B, "%s backwards", what);
}

/* The two orders. */
static void order_names(const struct san_launch *launch, char usual[2 * NAME_B],
                        char other[2 * NAME_B])
{
    const struct sched_search *s = &sched_launch_of(launch)->search;
    char a[NAME_B], b[NAME_B];

    if (s->has_pair) {
        item_name(launch, s->pair[0], a);
        item_name(launch, s->pair[1], b);
        snprintf(usual, 2 * NAME_B, "%.80s before %.80s", a, b);
        snprintf(other, 2 * NAME_B, "%.80s before %.80s", b, a);
        return;
    }
    plan_name(plan_of(s), b);
    snprintf(usual, 2 * NAME_B, "%s",
             plan_of(s)->kind == SCHED_KIND_TURNS ? "one after the other" : "ascending");
    snprintf(other, 2 * NAME_B, "%s", b);
}

/* "block (3,0,0)" without the first word, for a pair. */
static const char *number_part(const char *name)
{
    return strchr(name, ' ') + 1;
}

static void title(const struct san_launch *launch, char out[SAN_DETAIL_B])
{
    const struct sched_search *s = &sched_launch_of(launch)->search;
    char a[NAME_B], b[NAME_B], where[NAME_B];

    /* Of warps: in which blocks. */
    where[0] = '\0';
    if (plan_of(s)->kind == SCHED_KIND_WARPS && s->end - s->first == 1) {
        const uint32_t *g = launch->about.grid;
        snprintf(where, NAME_B, " of block (%u,%u,%u)", (uint32_t)(s->first % g[0]),
                 (uint32_t)(s->first / g[0] % g[1]), (uint32_t)(s->first / g[0] / g[1]));
    }
    if (!s->has_pair) {
        snprintf(out, SAN_DETAIL_B, "Result depends on %s%s", kind_texts[plan_of(s)->kind], where);
        return;
    }
    item_name(launch, s->pair[0], a);
    item_name(launch, s->pair[1], b);
    snprintf(out, SAN_DETAIL_B, "Result depends on the order of %.*ss %.50s and %.50s%.50s",
             (int)(number_part(a) - a - 1), a, number_part(a), number_part(b), where);
}

/* ---- values */

static double number_of(const uint8_t *bytes, unsigned width)
{
    float f;
    double d;

    if (width == 8) {
        memcpy(&d, bytes, 8);
        return d;
    }
    memcpy(&f, bytes, 4);
    return f;
}

/* "03 00 00 00 (int 3, float 4.2e-45)" */
static void value_text(const uint8_t *bytes, unsigned width, char *out, size_t out_B)
{
    size_t n = 0;
    int64_t wide = 0;
    int32_t word = 0;

    for (unsigned i = 0; i < width; i++)
        n += (size_t)snprintf(out + n, out_B - n, "%s%02x", i ? " " : "", bytes[i]);
    if (width == 8) {
        memcpy(&wide, bytes, 8);
        snprintf(out + n, out_B - n, " (int %lld, double %.17g)", (long long)wide,
                 number_of(bytes, 8));
    } else if (width == 4) {
        memcpy(&word, bytes, 4);
        snprintf(out + n, out_B - n, " (int %d, float %.9g)", word, number_of(bytes, 4));
    }
}

static void say_value(struct san_finding *f, const char *which, const char *order,
                      const uint8_t *bytes, unsigned width)
{
    char value[100];

    value_text(bytes, width, value, sizeof(value));
    san_detail(f, "%s order, %s: %s", which, order, value);
}

static void say_where(struct san_finding *f, const struct sched_diff *d)
{
    const struct sched_part *part = d->part;
    const char *name = part->block ? part->block->name : NULL;
    const char *many = d->bytes == 1 ? "" : "s", *one = d->bytes == 1 ? "s" : "";

    if (name)
        san_detail(
            f,
            "%llu byte%s differ%s, the first at offset %llu of the variable %s of size %llu bytes",
            (unsigned long long)d->bytes, many, one, (unsigned long long)d->at, name,
            (unsigned long long)part->size_B);
    else
        san_detail(f,
                   "%llu byte%s differ%s, the first at 0x%llx, offset %llu of %s 0x%llx of size "
                   "%llu bytes",
                   (unsigned long long)d->bytes, many, one,
                   (unsigned long long)(part->base + d->at), (unsigned long long)d->at,
                   part->block ? "the allocation at" : "the heap's block at",
                   (unsigned long long)part->base, (unsigned long long)part->size_B);
    if (d->parts > 1)
        san_detail(f, "and others in %u more", d->parts - 1);
    if (d->is_moved)
        san_detail(
            f, "The same words are there in another order, as in a list in the order of arrival");
    else if (d->is_rounding)
        san_detail(f, "by %llu units in the last place of %s at most: rounding",
                   (unsigned long long)d->ulps,
                   d->width == 8   ? "double"
                   : d->width == 4 ? "float"
                                   : "half");
}

static void say_result(struct san_finding *f, const struct san_launch *launch)
{
    const struct sched_search *s = &sched_launch_of(launch)->search;
    const struct sched_diff *d = &s->diff;
    char usual[2 * NAME_B], other[2 * NAME_B], plan[NAME_B];

    order_names(launch, usual, other);
    if (d->failed != HD_OK) {
        san_detail(f, "First order, %s: no error", usual);
        san_detail(f, "Second order, %s: %s", other, hd_status_text(d->failed));
    } else {
        say_where(f, d);
        say_value(f, "First", usual, d->was, d->width);
        say_value(f, "Second", other, d->is, d->width);
    }
    if (!s->has_pair)
        return;
    plan_name(plan_of(s), plan);
    if (s->is_simple)
        san_detail(f, "All others are in ascending order; found with %s, in %u runs", plan,
                   s->runs);
    else
        san_detail(f, "Those before them are in the order of \"%s\"; found in %u runs", plan,
                   s->runs);
}

void sched_report(const struct san_launch *launch)
{
    struct sched_search *s = &sched_launch_of(launch)->search;
    const struct sched_diff *d = &s->diff;
    struct san_finding f = {.tool = "schedcheck",
                            .kind = kind_words[plan_of(s)->kind],
                            .severity = sched_diff_is_mild(d) ? SAN_WARNING : SAN_ERROR,
                            .launch = launch,
                            .count = 1,
                            .space = "global"};

    assert(d->failed != HD_OK || (d->part && d->at < d->part->size_B));
    title(launch, f.title);
    if (d->failed == HD_OK) {
        f.address = d->part->base + d->at;
        f.has_address = true;
        f.size_B = d->bytes;
        f.allocated = d->part->block ? &d->part->block->allocated : NULL;
    }
    say_result(&f, launch);
    static const char *const verbs[] = {"In the first order last written by thread",
                                        "In the second order last written by thread"};
    for (int i = 0; i < 2; i++) {
        const struct sched_writer *w = &s->writers[i];
        if (w->at)
            f.actors[f.nactors++] = (struct san_actor){
                .cta = &w->cta, .at = w->at, .warp = w->warp, .lane = w->lane, .verb = verbs[i]};
    }
    san_report(&f);
}
