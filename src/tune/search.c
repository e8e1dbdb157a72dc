/*
 * Strategies. Each follows its way from the start on what was measured, and stops where it wants a
 * measurement that is not there: nothing else has to be kept, and what was stored years ago can be
 * followed without running anything.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tune/tune.h"

enum { ROUNDS = 3 }; /* in which descent goes through the parameters */

/* A point that is so much worse when it is measured first is not measured again. */
#define CLEARLY_WORSE 1.1

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool tune_median(const struct tune_kernel *kernel, enum tune_evaluator evaluator,
                 const struct tune_point *point, uint64_t *out_cost, unsigned *out_runs)
{
    HD_AUTOFREE uint64_t *costs = hd_alloc_array(kernel->measures.len + 1, sizeof(*costs));
    size_t n = 0;

    *out_runs = 0;
    for (size_t i = 0; costs && i < kernel->measures.len; i++) {
        const struct tune_measure *m = &kernel->measures.at[i];

        if (m->evaluator == evaluator && tune_same(&m->point, point))
            costs[n++] = m->cost;
    }
    if (!n)
        return false;
    qsort(costs, n, sizeof(*costs), by_size);
    *out_cost = costs[n / 2];
    *out_runs = (unsigned)n;
    return true;
}

/* ---- a search on what is known */

struct search {
    const struct tune_kernel *kernel;
    const struct tune_goal *goal;
    struct tune_point best, wanted; /* wanted: when is_stuck */
    uint64_t best_cost;
    unsigned points;
    bool is_stuck; /* until `wanted` is measured */
};

/* False: it cannot go on. */
static bool look_at(struct search *s, const struct tune_point *point, uint64_t *out_cost)
{
    const struct tune_goal *goal = s->goal;
    unsigned runs;
    bool known = tune_median(s->kernel, goal->evaluator, point, out_cost, &runs);
    bool is_worse = known && s->points && (double)*out_cost > CLEARLY_WORSE * (double)s->best_cost;

    if (s->is_stuck || s->points >= goal->points)
        return false;
    s->points++;
    if (known && (runs >= goal->runs || is_worse))
        return true;
    s->wanted = *point;
    s->is_stuck = true;
    return false;
}

/* The code as it is without tuning: every search begins there. */
static bool begin(struct search *s)
{
    return look_at(s, &s->best, &s->best_cost);
}

/* Takes the point if it is better. False: the search cannot go on. */
static bool try(struct search *s, const struct tune_point *point, bool *out_taken)
{
    uint64_t cost;

    *out_taken = false;
    if (!look_at(s, point, &cost))
        return false;
    if ((double)cost < (double)s->best_cost * (1 - s->goal->margin)) {
        s->best = *point;
        s->best_cost = cost;
        *out_taken = true;
    }
    return true;
}

static bool end(const struct search *s, struct tune_point *out_point, unsigned *out_points)
{
    *out_point = s->is_stuck ? s->wanted : s->best;
    *out_points = s->points;
    return s->is_stuck;
}

/* ---- strategies */

/* One parameter after the other, the best value of each, until none of them gains. */
static bool descent_next(const struct tune_kernel *kernel, const struct tune_goal *goal,
                         struct tune_point *out_point, unsigned *out_points)
{
    struct search s = {.kernel = kernel, .goal = goal};
    bool goes_on = begin(&s), gained = true, taken;

    for (unsigned round = 0; round < ROUNDS && gained && goes_on; round++) {
        gained = false;
        for (unsigned i = 0; i < TUNE_PARAMETERS && goes_on; i++) {
            struct tune_point at = s.best;

            for (unsigned v = 0; v < tune_values((enum tune_parameter)i) && goes_on; v++) {
                struct tune_point point = at;

                point.choice[i] = (uint8_t)v;
                if (!tune_set_has(&kernel->applies, i) || v == at.choice[i])
                    continue;
                goes_on = try(&s, &point, &taken);
                gained |= taken;
            }
        }
    }
    return end(&s, out_point, out_points);
}

/* Points that are drawn: each parameter keeps its value in half of them. */
static bool random_next(const struct tune_kernel *kernel, const struct tune_goal *goal,
                        struct tune_point *out_point, unsigned *out_points)
{
    struct search s = {.kernel = kernel, .goal = goal};
    uint64_t state = goal->seed;
    bool goes_on = begin(&s), taken;

    for (unsigned n = 1; n < goal->points && goes_on; n++) {
        struct tune_point point = {0};

        for (unsigned i = 0; i < TUNE_PARAMETERS; i++) {
            uint64_t drawn = state += UINT64_C(0x9e3779b97f4a7c15);

            /* splitmix64 (Steele, Lea, Flood 2014) */
            drawn = (drawn ^ drawn >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            drawn = (drawn ^ drawn >> 27) * UINT64_C(0x94d049bb133111eb);
            drawn ^= drawn >> 31;

            if (tune_set_has(&kernel->applies, i) && drawn & 1)
                point.choice[i] = (uint8_t)((drawn >> 1) % tune_values((enum tune_parameter)i));
        }
        goes_on = try(&s, &point, &taken);
    }
    return end(&s, out_point, out_points);
}

/* Combinations come as a number is counted up, of which each parameter is a digit. */
static bool exhaustive_next(const struct tune_kernel *kernel, const struct tune_goal *goal,
                            struct tune_point *out_point, unsigned *out_points)
{
    struct search s = {.kernel = kernel, .goal = goal};
    struct tune_point point = {0};
    bool goes_on = begin(&s), taken;

    while (goes_on) {
        unsigned i = 0;

        while (i < TUNE_PARAMETERS && (!tune_set_has(&kernel->applies, i) ||
                                       ++point.choice[i] == tune_values((enum tune_parameter)i)))
            point.choice[i++] = 0;
        goes_on = i < TUNE_PARAMETERS && try(&s, &point, &taken);
    }
    return end(&s, out_point, out_points);
}

static const struct tune_strategy strategies[] = {
    {"descent", "one parameter after the other, the best value of each, until none gains",
     descent_next},
    {"random", "points that are drawn", random_next},
    {"exhaustive", "all combinations of values, in order", exhaustive_next},
};

const struct tune_strategy *tune_strategies(size_t *out_count)
{
    *out_count = HD_COUNT_OF(strategies);
    return strategies;
}

enum hd_status tune_strategy_find(const char *name, const struct tune_strategy **out_strategy)
{
    struct hd_buf names = {0};
    enum hd_status status;

    for (size_t i = 0; i < HD_COUNT_OF(strategies); i++) {
        if (!strcmp(strategies[i].name, name)) {
            *out_strategy = &strategies[i];
            hd_buf_fini(&names);
            return HD_OK;
        }
        hd_buf_printf(&names, "%s%s", i ? ", " : "", strategies[i].name);
    }
    status = hd_error(HD_NOT_FOUND, "there is no strategy '%s'; there are %s", name,
                      names.ptr ? names.ptr : "");
    hd_buf_fini(&names);
    return status;
}
