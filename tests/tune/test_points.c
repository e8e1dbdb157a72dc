/* Points of parameters as text, and back. */
#include "tap.h"
#include "tune/tune.h"

static struct hd_buf text;

static const char *print(const struct tune_point *point)
{
    hd_buf_clear(&text);
    tune_point_print(point, &text);
    return text.ptr;
}

static void test_each_value(void)
{
    unsigned wrong = 0, n = 0;

    for (unsigned i = 0; i < TUNE_PARAMETERS; i++)
        for (unsigned v = 0; v < tune_values((enum tune_parameter)i); v++) {
            struct tune_point point = {0}, again;

            point.choice[i] = (uint8_t)v;
            n++;
            wrong += tune_point_parse(hd_str_from(print(&point)),
                                      tune_target_of((enum tune_parameter)i), &again) != HD_OK ||
                     !tune_same(&point, &again) || tune_is_auto(&point) != !v;
        }
    eq_u64(wrong, 0, "%u values print and read back", n);
}

static void test_together(void)
{
    struct tune_point point;

    eq_u64(tune_point_parse(HD_STR("gen_full=off,lanes=64,ahead=auto"), TUNE_CPU, &point), HD_OK,
           "several choices");
    ok(!strcmp(print(&point), "lanes=64,gen_full=off"), "print in order, without what is auto");
    eq_u64(tune_number(&point, TUNE_LANES), 64, "a number is what it says");
    eq_u64(tune_number(&point, TUNE_AHEAD), 0, "auto is none");
    eq_u64(tune_skipped(&point, TUNE_CPU), 1u << (TUNE_CPU_FULL - TUNE_PASSES_CPU),
           "a pass that is off is left out");
    eq_u64(tune_skipped(&point, TUNE_ISA), 0, "on the other target nothing is");
}

static void test_refused(void)
{
    static const char *const bad[] = {
        "",          "lanes",        "lanes=",       "lanes=63",   "=64",        "lanes=64,",
        ",lanes=64", "registers=32", "isa_fold=off", "gen_full=1", "lanes = 64", "auto,auto"};
    struct tune_point point;

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        struct hd_str word = hd_str_from(bad[i]);
        bool refused = tune_point_parse(word, TUNE_CPU, &point) == HD_BAD_ARG;

        if (!strcmp(bad[i], "lanes=64,")) /* the comma ends the last one */
            ok(!refused, "'%s' is a point", bad[i]);
        else
            ok(refused, "'%s' is refused: %s", bad[i], hd_error_message());
    }
}

static void test_evaluators(void)
{
    enum tune_evaluator found;

    eq_u64(tune_evaluator_find("cycles", &found), HD_OK, "an evaluator by its name");
    eq_u64(found, TUNE_BY_CYCLES, "is that one");
    eq_u64(tune_evaluator_find("watts", &found), HD_NOT_FOUND, "another name is refused");
    ok(strstr(hd_error_message(), "time, cycles, instructions") != NULL, "with those there are: %s",
       hd_error_message());
}

int main(void)
{
    test_each_value();
    test_together();
    test_refused();
    test_evaluators();
    hd_buf_fini(&text);
    return done();
}
