/* HEDDLE_SKIP_PASS and HEDDLE_CODEGEN, and choices of tuning. */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "codegen/codegen.h"

static const struct limit {
    const char *name;
    size_t offset;
    uint32_t least, most;
} limits[] = {
#define X(name, least, most, doc) {#name, offsetof(struct codegen_settings, name), least, most},
    CODEGEN_LIMIT_LIST(X)
#undef X
};

static const char *const passes[] = {
#define X(NAME, text, ...) text,
#include "codegen_passes.def"
};

static uint32_t *limit_of(struct codegen_settings *settings, const struct limit *limit)
{
    return (uint32_t *)(void *)((char *)settings + limit->offset);
}

/* "counters=5" */
static enum hd_status set_limit(struct codegen_settings *settings, struct hd_str word)
{
    const char *equals = memchr(word.ptr, '=', word.len);
    struct hd_str name = {word.ptr, equals ? (size_t)(equals - word.ptr) : word.len};

    for (size_t i = 0; equals && i < HD_COUNT_OF(limits); i++) {
        char *end;
        unsigned long n;

        if (!hd_str_is(name, limits[i].name))
            continue;
        n = strtoul(equals + 1, &end, 10);
        if (end != word.ptr + word.len || n < limits[i].least || n > limits[i].most)
            return hd_error(HD_BAD_ARG,
                            "HEDDLE_CODEGEN: '%.*s': a number from %u to %u is possible",
                            HD_STR_ARG(word), limits[i].least, limits[i].most);
        *limit_of(settings, &limits[i]) = (uint32_t)n;
        return HD_OK;
    }
    return hd_error(HD_BAD_ARG,
                    "HEDDLE_CODEGEN: '%.*s' is no limit=number; limits are in docs/codegen.md",
                    HD_STR_ARG(word));
}

enum hd_status codegen_settings_read(struct codegen_settings *out)
{
    struct hd_str skip = hd_str_from(hd_env("HEDDLE_SKIP_PASS"));
    struct hd_str list = hd_str_from(hd_env("HEDDLE_CODEGEN"));

    *out = (struct codegen_settings){0};
    for (size_t i = 0; i < HD_COUNT_OF(limits); i++)
        *limit_of(out, &limits[i]) = limits[i].most;
    for (unsigned i = 0; i < CODEGEN_PASSES; i++)
        out->skipped |= (uint32_t)hd_str_lists(skip, passes[i]) << i;
    while (list.len) {
        const char *comma = memchr(list.ptr, ',', list.len);
        struct hd_str word = {list.ptr, comma ? (size_t)(comma - list.ptr) : list.len};
        size_t used = word.len + (comma != NULL);

        if (word.len)
            HD_TRY(set_limit(out, word));
        list = (struct hd_str){list.ptr + used, list.len - used};
    }
    return HD_OK;
}

void codegen_settings_tune(struct codegen_settings *settings, const struct tune_point *tuning)
{
    uint32_t registers = tune_number(tuning, TUNE_REGISTERS);

    settings->skipped |= tune_skipped(tuning, TUNE_ISA);
    settings->order = tune_number(tuning, TUNE_ORDER);
    if (registers)
        settings->registers = HD_MIN(settings->registers, registers);
}
