/* Parameters, points, evaluators: spec/tuning.def. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tune/tune.h"

static const struct parameter {
    const char *name, *doc;
    enum tune_target target;
    const char *values; /* NULL: of a pass */
} parameters[TUNE_PARAMETERS] = {
#define X(NAME, name_, target_, values_, doc_)                                                     \
    [TUNE_##NAME] = {.name = name_, .doc = doc_, .target = TUNE_##target_, .values = values_},
#include "tuning.def"
#define X(NAME, name_, ...) [TUNE_CPU_##NAME] = {.name = name_, .doc = "", .target = TUNE_CPU},
#include "gen_passes.def"
#define X(NAME, name_, ...) [TUNE_ISA_##NAME] = {.name = name_, .doc = "", .target = TUNE_ISA},
#include "codegen_passes.def"
};

const char *tune_name(enum tune_parameter parameter)
{
    assert(parameter < TUNE_PARAMETERS);
    return parameters[parameter].name;
}

enum tune_parameter tune_parameter_find(struct hd_str name, enum tune_target target)
{
    unsigned i = 0;

    while (i < TUNE_PARAMETERS &&
           (parameters[i].target != target || !hd_str_is(name, parameters[i].name)))
        i++;
    return (enum tune_parameter)i;
}

const char *tune_doc(enum tune_parameter parameter)
{
    return parameters[parameter].doc;
}

enum tune_target tune_target_of(enum tune_parameter parameter)
{
    return parameters[parameter].target;
}

/* ---- values */

unsigned tune_values(enum tune_parameter parameter)
{
    const char *values = parameters[parameter].values;
    unsigned n = 2;

    for (; values && *values; values++)
        n += *values == ',';
    assert(n <= TUNE_VALUES_MOST);
    return n;
}

static struct hd_str value_of(enum tune_parameter parameter, unsigned choice)
{
    const char *values = parameters[parameter].values;

    assert(choice < tune_values(parameter));
    if (!values)
        return choice ? HD_STR("off") : HD_STR("on");
    if (!choice)
        return HD_STR("auto");
    for (; choice > 1; choice--)
        values = strchr(values, ',') + 1;
    return (struct hd_str){values, strcspn(values, ",")};
}

void tune_value_text(enum tune_parameter parameter, unsigned choice, char out_text[16])
{
    struct hd_str value = value_of(parameter, choice);

    (void)snprintf(out_text, 16, "%.*s", HD_STR_ARG(value));
}

uint32_t tune_number(const struct tune_point *point, enum tune_parameter parameter)
{
    uint64_t n = 0;

    if (point->choice[parameter])
        (void)hd_str_to_u64(value_of(parameter, point->choice[parameter]), 10, &n);
    return (uint32_t)n;
}

static unsigned first_pass(enum tune_target target)
{
    return target == TUNE_CPU ? TUNE_PASSES_CPU : TUNE_PASSES_ISA;
}

static unsigned end_of_passes(enum tune_target target)
{
    return target == TUNE_CPU ? TUNE_PASSES_ISA : TUNE_PARAMETERS;
}

uint32_t tune_skipped(const struct tune_point *point, enum tune_target target)
{
    uint32_t bits = 0;

    for (unsigned i = first_pass(target); i < end_of_passes(target); i++)
        bits |= (uint32_t)(point->choice[i] != 0) << (i - first_pass(target));
    return bits;
}

void tune_set_add_passes(struct tune_set *set, enum tune_target target, uint32_t passes)
{
    for (unsigned i = first_pass(target); i < end_of_passes(target); i++)
        if (passes >> (i - first_pass(target)) & 1)
            tune_set_add(set, i);
}

/* ---- points */

bool tune_same(const struct tune_point *a, const struct tune_point *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool tune_is_auto(const struct tune_point *point)
{
    static const struct tune_point none;

    return tune_same(point, &none);
}

void tune_point_print(const struct tune_point *point, struct hd_buf *out)
{
    const char *comma = "";

    if (tune_is_auto(point))
        hd_buf_puts(out, "auto");
    for (unsigned i = 0; i < TUNE_PARAMETERS; i++) {
        struct hd_str value = value_of((enum tune_parameter)i, point->choice[i]);

        if (!point->choice[i])
            continue;
        hd_buf_printf(out, "%s%s=%.*s", comma, parameters[i].name, HD_STR_ARG(value));
        comma = ",";
    }
}

const char *tune_point_text(const struct tune_point *point, struct hd_buf *buf)
{
    if (!tune_is_auto(point))
        tune_point_print(point, buf);
    return buf->ptr;
}

/* NAME=VALUE */
static enum hd_status take_choice(struct hd_str word, enum tune_target target,
                                  struct tune_point *point)
{
    const char *equals = memchr(word.ptr, '=', word.len);
    struct hd_str name = {word.ptr, equals ? (size_t)(equals - word.ptr) : word.len};
    struct hd_str value = {word.ptr + name.len + 1, equals ? word.len - name.len - 1 : 0};
    enum tune_parameter i = equals ? tune_parameter_find(name, target) : TUNE_PARAMETERS;

    if (i == TUNE_PARAMETERS)
        return hd_error(HD_BAD_ARG, "'%.*s' is no parameter of this device with a value",
                        HD_STR_ARG(word));
    for (unsigned choice = 0; choice < tune_values(i); choice++) {
        if (hd_str_eq(value, value_of(i, choice))) {
            point->choice[i] = (uint8_t)choice;
            return HD_OK;
        }
    }
    return hd_error(HD_BAD_ARG, "'%.*s' is no value of %s", HD_STR_ARG(value), parameters[i].name);
}

enum hd_status tune_point_parse(struct hd_str text, enum tune_target target,
                                struct tune_point *out_point)
{
    *out_point = (struct tune_point){0};
    if (hd_str_is(text, "auto"))
        return HD_OK;
    do {
        HD_TRY(take_choice(hd_str_take(&text, ','), target, out_point));
    } while (text.len);
    return HD_OK;
}

/* ---- evaluators */

static const struct tune_evaluator_info evaluators[TUNE_EVALUATORS] = {
#define EVALUATOR(NAME, name_, unit_, target_, kind_, doc_)                                        \
    [TUNE_BY_##NAME] = {.name = name_,                                                             \
                        .unit = unit_,                                                             \
                        .doc = doc_,                                                               \
                        .target = TUNE_##target_,                                                  \
                        .kind = TUNE_##kind_},
#include "tuning.def"
};

const struct tune_evaluator_info *tune_evaluator(enum tune_evaluator evaluator)
{
    assert(evaluator < TUNE_EVALUATORS);
    return &evaluators[evaluator];
}

enum hd_status tune_evaluator_find(const char *name, enum tune_evaluator *out_evaluator)
{
    static const char names[] =
#define EVALUATOR(NAME, name_, ...) ", " name_
#include "tuning.def"
        ;

    for (unsigned i = 0; i < TUNE_EVALUATORS; i++) {
        if (!strcmp(evaluators[i].name, name)) {
            *out_evaluator = (enum tune_evaluator)i;
            return HD_OK;
        }
    }
    return hd_error(HD_NOT_FOUND, "there is no evaluator '%s'; there are %s", name, names + 2);
}
