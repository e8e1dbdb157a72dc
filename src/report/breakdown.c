/* See breakdown.h. */
#include "report/breakdown.h"

#include <assert.h>
#include <stdlib.h>

#include "base/compiler.h"

const struct report_time_text report_time_texts[REPORT_TIME_COUNT] = {
#define X(NAME, title, meaning) [REPORT_TIME_##NAME] = {title, meaning},
    REPORT_TIME_LIST(X)
#undef X
};

void report_breakdown_init(struct report_breakdown *b)
{
    *b = (struct report_breakdown){.start_ns = INT64_MAX, .end_ns = INT64_MIN};
}

void report_breakdown_span(struct report_breakdown *b, int64_t start_ns, int64_t end_ns)
{
    assert(start_ns <= end_ns);
    b->start_ns = HD_MIN(b->start_ns, start_ns);
    b->end_ns = HD_MAX(b->end_ns, end_ns);
}

bool report_breakdown_add(struct report_breakdown *b, enum report_time_class source,
                          int64_t start_ns, int64_t end_ns)
{
    struct report_edge begin = {start_ns, 1, (uint8_t)source}, end = {end_ns, -1, (uint8_t)source};

    assert(source < REPORT_TIME_SOURCES && start_ns <= end_ns);
    return hd_vec_push(&b->edges, begin) && hd_vec_push(&b->edges, end);
}

static int breakdown_by_time(const void *a, const void *b)
{
    const struct report_edge *x = a, *y = b;

    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* `open`: how much of each source is going on. */
static enum report_time_class breakdown_class(const int64_t *open)
{
    for (enum report_time_class i = REPORT_TIME_KERNEL; i < REPORT_TIME_API; i++)
        if (open[i] && (i != REPORT_TIME_COMPILE || open[REPORT_TIME_API]))
            return i;
    return open[REPORT_TIME_API] ? REPORT_TIME_API : REPORT_TIME_HOST;
}

static void breakdown_sweep(struct report_breakdown *b)
{
    int64_t now = b->edges.at[0].time_ns, open[REPORT_TIME_SOURCES] = {0};

    assert(b->start_ns <= now);
    b->class_ns[REPORT_TIME_BEFORE] = now - b->start_ns;
    for (size_t i = 0; i < b->edges.len; i++) {
        struct report_edge edge = b->edges.at[i];
        int64_t passed = edge.time_ns - now;
        assert(passed >= 0); /* edges are sorted */
        b->class_ns[breakdown_class(open)] += passed;
        if (open[REPORT_TIME_KERNEL] && open[REPORT_TIME_COPY])
            b->overlap_ns += passed;
        open[edge.source] += edge.step;
        now = edge.time_ns;
    }
    for (size_t i = 0; i < REPORT_TIME_SOURCES; i++)
        assert(!open[i]); /* what began has ended */
    b->class_ns[REPORT_TIME_AFTER] = b->end_ns - now;
}

void report_breakdown_finish(struct report_breakdown *b)
{
    if (b->edges.len) {
        qsort(b->edges.at, b->edges.len, sizeof(b->edges.at[0]), breakdown_by_time);
        report_breakdown_span(b, b->edges.at[0].time_ns, hd_vec_last(&b->edges).time_ns);
        breakdown_sweep(b);
    } else if (b->end_ns >= b->start_ns) {
        b->class_ns[REPORT_TIME_BEFORE] = b->end_ns - b->start_ns;
    } else {
        b->start_ns = b->end_ns = 0;
    }
}

void report_breakdown_fini(struct report_breakdown *b)
{
    hd_vec_fini(&b->edges);
}
