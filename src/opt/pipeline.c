/*
 * The pass runner and the pipeline: the table `common` read from top to bottom, then the table of
 * the target (target_cpu.c). A group is repeated while it makes progress, a few times at most.
 */
#include "opt/opt.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "opt/passes.h"

union pass_run {
    bool (*on_MODULE)(struct ir_module *);
    bool (*on_FUNC)(struct ir_func *);
};

enum pass_scope { SCOPE_MODULE, SCOPE_FUNC };

static const struct pass {
    const char *name;
    enum pass_scope scope;
    union pass_run run;
} passes[OPT_PASS_COUNT] = {
#define X(name_, scope_, doc) [OPT_PASS_##name_] = {#name_, SCOPE_##scope_, {.on_##scope_ = name_}},
    OPT_PASS_LIST(X)
#undef X
};

static const struct opt_pass_info infos[OPT_PASS_COUNT] = {
#define X(name_, scope, doc_)                                                                      \
    [OPT_PASS_##name_] = {                                                                         \
        .name = #name_, .doc = doc_, .required = sizeof(#name_) > 9 && (#name_)[3] == 'l'},
    OPT_PASS_LIST(X)
#undef X
};

static const struct opt_step common[] = {
    {0, 1, OPT_PASS_ir_lower_inline},     {0, 1, OPT_PASS_ir_opt_dead_funcs},
    {1, 1, OPT_PASS_ir_opt_simplify_cfg}, {1, 1, OPT_PASS_ir_opt_copy},
    {1, 1, OPT_PASS_ir_opt_fold},         {1, 1, OPT_PASS_ir_opt_slots},
    {2, 3, OPT_PASS_ir_opt_copy},         {2, 3, OPT_PASS_ir_opt_space},
    {2, 3, OPT_PASS_ir_opt_fold},         {2, 3, OPT_PASS_ir_opt_cse},
    {2, 3, OPT_PASS_ir_opt_dce},          {2, 3, OPT_PASS_ir_opt_simplify_cfg},
    {2, 3, OPT_PASS_ir_opt_if_convert},   {3, 2, OPT_PASS_ir_opt_address},
    {3, 2, OPT_PASS_ir_opt_fold},         {3, 2, OPT_PASS_ir_opt_cse},
};

/* What follows the common steps. */
static const struct target {
    const char *name;
    const struct opt_step *steps;
    size_t nsteps;
} targets[OPT_TARGET_COUNT] = {
#define X(NAME, text, doc) [OPT_TARGET_##NAME] = {.name = text},
    OPT_TARGET_LIST(X)
#undef X
        [OPT_TARGET_CPU]
            .steps = opt_cpu_steps,
    [OPT_TARGET_CPU].nsteps = OPT_CPU_STEPS,
};

struct runner {
    struct ir_module *module;
    const struct opt_options *options;
    struct hd_str skip; /* HEDDLE_SKIP_PASS */
};

size_t opt_passes(const struct opt_pass_info **out_passes)
{
    *out_passes = infos;
    return OPT_PASS_COUNT;
}

enum hd_status opt_target_find(const char *name, enum opt_target *out_target)
{
    for (unsigned i = 0; i < OPT_TARGET_COUNT; i++) {
        if (strcmp(targets[i].name, name) == 0) {
            *out_target = (enum opt_target)i;
            return HD_OK;
        }
    }
    return hd_error(HD_NOT_FOUND, "the optimiser has no target '%s'", name);
}

const char *opt_target_name(enum opt_target target)
{
    assert(target < OPT_TARGET_COUNT);
    return targets[target].name;
}

/* Of the code generators, which look at the list themselves. */
static bool is_generators(struct hd_str name)
{
    static const char *const names[] = {
#define X(NAME, text, ...) text,
#define OLD(text, NAME)    text,
#include "gen_passes.def"
#define X(NAME, text, ...) text,
#include "codegen_passes.def"
    };
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (hd_str_is(name, names[i]))
            return true;
    return false;
}

/* Not a pass of its own: what ir_lower_inline does across the modules that were linked. */
#define INLINE_UNITS "ir_opt_inline_units"

static bool is_optional(struct hd_str name)
{
    if (is_generators(name) || hd_str_is(name, INLINE_UNITS))
        return true;
    for (size_t i = 0; i < OPT_PASS_COUNT; i++)
        if (hd_str_is(name, passes[i].name))
            return !infos[i].required;
    return false;
}

/* A name that is misspelt would leave out nothing. */
static enum hd_status check_skip_list(struct hd_str list)
{
    while (list.len) {
        const char *comma = memchr(list.ptr, ',', list.len);
        struct hd_str name = {list.ptr, comma ? (size_t)(comma - list.ptr) : list.len};
        size_t used = name.len + (comma != NULL);

        if (name.len && !is_optional(name))
            return hd_error(HD_BAD_ARG, "HEDDLE_SKIP_PASS: '%.*s' is no pass that can be left out",
                            (int)name.len, name.ptr);
        list = (struct hd_str){list.ptr + used, list.len - used};
    }
    return HD_OK;
}

static bool skipped(const struct runner *r, enum opt_pass id)
{
    return !infos[id].required &&
           (r->options->required_only || hd_str_lists(r->skip, passes[id].name));
}

/*
 * What every pass finds and leaves (passes.h), cheap enough to be asked each time; ir_validate()
 * asks the rest. A function that ran out of memory may be anything.
 */
static void assert_sound(const struct ir_func *func)
{
    if (func->module->arena.failed)
        return;
    assert(func->nblocks && func->blocks[0]->npreds == 0);
    for (uint32_t i = 0; i < func->nblocks; i++) {
        const struct ir_block *b = func->blocks[i];
        assert(b->id == i && b->func == func);
        assert(b->last && ir_op_has(b->last->op, IR_F_TERM));
        assert(b->last->op != IR_OP_BR || b->nsuccs == 1);
        assert(b->last->op != IR_OP_CBR || (b->nsuccs == 2 && b->last->nsrc == 1));
        assert(b->first->op != IR_OP_PHI || b->first->nsrc == b->npreds);
        assert(!b->first->prev && !b->last->next);
    }
}

static bool run_on_funcs(const struct runner *r, const struct pass *pass)
{
    bool changed = false;

    ir_foreach_func(func, r->module) {
        if (func->is_declaration || r->module->arena.failed)
            continue;
        assert_sound(func);
        changed |= pass->run.on_FUNC(func);
        assert_sound(func);
    }
    return changed;
}

static void dump(const struct runner *r, const struct pass *pass, double ms)
{
    struct hd_buf text;
    char heading[128];

    hd_buf_init(&text);
    ir_print_module(r->module, &text);
    snprintf(heading, sizeof(heading), "%s after %s (%.3f ms)", r->module->name, pass->name, ms);
    hd_log_dump(HD_DEBUG_OPT, heading, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static double now_ms(void)
{
    return (double)hd_clock_ns(CLOCK_MONOTONIC) / 1e6;
}

static enum hd_status run_pass(const struct runner *r, enum opt_pass id, bool *out_changed)
{
    const struct pass *pass = &passes[id];
    double start = hd_debug(HD_DEBUG_OPT) ? now_ms() : 0;
    bool changed;

    changed = pass->scope == SCOPE_MODULE ? pass->run.on_MODULE(r->module) : run_on_funcs(r, pass);
    *out_changed |= changed;
    HD_TRY(hd_arena_status(&r->module->arena));
    if (changed && hd_debug(HD_DEBUG_OPT))
        dump(r, pass, now_ms() - start);
    enum hd_status status = HD_OK;
    if (r->options->validate || hd_debug(HD_DEBUG_VALIDATE))
        status = ir_validate(r->module);
    if (status == HD_BAD_IR) {
        char why[512];
        snprintf(why, sizeof(why), "%s", hd_error_message());
        return hd_error(HD_BAD_IR, "%s broke the IR: %s", pass->name, why);
    }
    return status;
}

static enum hd_status run_group(const struct runner *r, const struct opt_step *from,
                                const struct opt_step *to)
{
    for (unsigned round = 0; round < from->rounds; round++) {
        bool changed = false;
        for (const struct opt_step *step = from; step < to; step++)
            if (!skipped(r, step->pass))
                HD_TRY(run_pass(r, step->pass, &changed));
        if (!changed)
            break;
    }
    return HD_OK;
}

static enum hd_status run_steps(const struct runner *r, const struct opt_step *steps, size_t nsteps)
{
    const struct opt_step *end = steps + nsteps;

    for (const struct opt_step *from = steps, *to; from < end; from = to) {
        for (to = from; to < end && to->group == from->group; to++)
            ;
        HD_TRY(run_group(r, from, to));
    }
    return HD_OK;
}

static enum hd_status run_only(const struct runner *r)
{
    bool changed = false;

    for (unsigned id = 0; id < OPT_PASS_COUNT; id++)
        if (!strcmp(passes[id].name, r->options->only))
            return run_pass(r, (enum opt_pass)id, &changed);
    return hd_error(HD_NOT_FOUND, "there is no pass %s", r->options->only);
}

static void compact_all(struct ir_module *module)
{
    ir_foreach_func(func, module)
        if (!func->is_declaration)
            ir_func_compact(func);
}

enum hd_status opt_run(struct ir_module *module, const struct opt_options *options)
{
    struct runner r = {
        .module = module, .options = options, .skip = hd_str_from(hd_env("HEDDLE_SKIP_PASS"))};
    const struct target *target = &targets[options->target];

    assert(options->target < OPT_TARGET_COUNT);
    HD_TRY(hd_arena_status(&module->arena));
    HD_TRY(check_skip_list(r.skip));
    module->keeps_units = hd_str_lists(r.skip, INLINE_UNITS);
    compact_all(module);
    if (options->only) {
        HD_TRY(run_only(&r));
    } else {
        HD_TRY(run_steps(&r, common, HD_COUNT_OF(common)));
        HD_TRY(run_steps(&r, target->steps, target->nsteps));
    }
    compact_all(module);
    return hd_arena_status(&module->arena);
}
