/* Strategies on costs that are known: what they find, and that it is the same again. */
#include "tap.h"
#include "tune/tune.h"

/* What a point costs: the best is lanes=64, ahead=4, gen_full=off. `noise` in thousandths. */
static uint64_t cost_of(const struct tune_point *point, unsigned run, unsigned noise)
{
    uint64_t cost = 1000000;

    cost += tune_number(point, TUNE_LANES) == 64 ? 0 : 400000;
    cost += 20000 * (uint64_t)llabs((int64_t)tune_number(point, TUNE_AHEAD) - 4);
    cost += point->choice[TUNE_CPU_FULL] ? 0 : 50000;
    cost += point->choice[TUNE_CPU_GUESS] ? 30000 : 0;
    return cost + cost * (run * 7 % 3) * noise / 1000;
}

static struct tune_kernel kernel_begin(void)
{
    struct tune_kernel kernel = {.device = "cpu-avx2"};

    tune_set_add(&kernel.applies, TUNE_LANES);
    tune_set_add(&kernel.applies, TUNE_AHEAD);
    tune_set_add(&kernel.applies, TUNE_CPU_FULL);
    tune_set_add(&kernel.applies, TUNE_CPU_GUESS);
    return kernel;
}

/* Measures until the strategy is done; the number of measurements. */
static unsigned follow(const struct tune_strategy *strategy, struct tune_kernel *kernel,
                       const struct tune_goal *goal, unsigned noise, struct tune_point *out_best,
                       unsigned *out_points)
{
    unsigned n = 0;

    while (n < 100000 && strategy->next(kernel, goal, out_best, out_points)) {
        struct tune_measure measure = {
            .evaluator = goal->evaluator, .cost = cost_of(out_best, n, noise), .point = *out_best};

        if (!hd_vec_push(&kernel->measures, measure))
            break;
        n++;
    }
    return n;
}

static bool is_best(const struct tune_point *point)
{
    return tune_number(point, TUNE_LANES) == 64 && tune_number(point, TUNE_AHEAD) == 4 &&
           point->choice[TUNE_CPU_FULL] && !point->choice[TUNE_CPU_GUESS];
}

static void test_strategy(const struct tune_strategy *strategy)
{
    struct tune_goal goal = {
        .evaluator = TUNE_BY_TIME, .runs = 1, .points = 1000, .margin = 0.001, .seed = 5};
    struct tune_kernel kernel = kernel_begin();
    struct tune_point best, again;
    unsigned points, more, measured = follow(strategy, &kernel, &goal, 0, &best, &points);

    ok(is_best(&best), "%s finds the best", strategy->name);
    ok(points >= measured && measured, "in %u points, of which it measured %u", points, measured);
    ok(!strategy->next(&kernel, &goal, &again, &more) && tune_same(&best, &again) && more == points,
       "and again on what is stored");
    goal.points = 4;
    ok(!strategy->next(&kernel, &goal, &again, &more) && more == 4, "it stops where it should");
    goal.evaluator = TUNE_BY_CYCLES;
    ok(strategy->next(&kernel, &goal, &again, &more) && tune_is_auto(&again),
       "by another evaluator it begins anew");
    hd_vec_fini(&kernel.measures);
}

static void test_noise(void)
{
    const struct tune_goal goal = {
        .evaluator = TUNE_BY_TIME, .runs = 3, .points = 1000, .margin = 0.01};
    struct tune_kernel kernel = kernel_begin();
    size_t n;
    const struct tune_strategy *descent = tune_strategies(&n);
    struct tune_point best, none = {0};
    unsigned points, runs, single = 0;
    uint64_t cost;

    follow(descent, &kernel, &goal, 20, &best, &points);
    ok(is_best(&best), "the best is found though runs differ by 4 %%");
    ok(tune_median(&kernel, TUNE_BY_TIME, &none, &cost, &runs) && runs == 3,
       "points are measured more than once");
    for (size_t i = 0; i < kernel.measures.len; i++) {
        (void)tune_median(&kernel, TUNE_BY_TIME, &kernel.measures.at[i].point, &cost, &runs);
        single += runs == 1;
    }
    ok(single > 0, "but for %u that were clearly worse", single);
    hd_vec_fini(&kernel.measures);
}

static void test_seeds(void)
{
    struct tune_goal goal = {.evaluator = TUNE_BY_TIME, .runs = 1, .points = 8};
    const struct tune_strategy *random;
    unsigned points, alike = 0;

    eq_u64(tune_strategy_find("random", &random), HD_OK, "a strategy by its name");
    for (goal.seed = 0; goal.seed < 8; goal.seed++) {
        struct tune_kernel one = kernel_begin(), two = kernel_begin();
        struct tune_goal other = goal;
        struct tune_point best;

        other.seed = goal.seed + 1;
        follow(random, &one, &goal, 0, &best, &points);
        follow(random, &two, &other, 0, &best, &points);
        alike += one.measures.len == two.measures.len &&
                 tune_same(&one.measures.at[2].point, &two.measures.at[2].point);
        hd_vec_fini(&one.measures);
        hd_vec_fini(&two.measures);
    }
    ok(alike < 8, "other seeds draw other points");
}

static void test_nothing(void)
{
    const struct tune_goal goal = {.evaluator = TUNE_BY_TIME, .runs = 1, .points = 100};
    size_t n;
    const struct tune_strategy *all = tune_strategies(&n);

    for (size_t i = 0; i < n; i++) {
        struct tune_kernel kernel = {.device = "cpu-avx2"};
        struct tune_point best;
        unsigned points;

        eq_u64(follow(&all[i], &kernel, &goal, 0, &best, &points), 1,
               "%s of nothing to choose looks at one point", all[i].name);
        ok(tune_is_auto(&best), "which is the code as it is");
        hd_vec_fini(&kernel.measures);
    }
}

int main(void)
{
    size_t n;
    const struct tune_strategy *all = tune_strategies(&n);

    for (size_t i = 0; i < n; i++)
        test_strategy(&all[i]);
    test_noise();
    test_seeds();
    test_nothing();
    return done();
}
