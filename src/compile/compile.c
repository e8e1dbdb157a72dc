#include "compile.h"

#include "base/log.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "ptx/ptx.h"

static void dump_ptx(const struct compile_unit *unit)
{
    struct hd_buf text;

    if (!hd_debug(HD_DEBUG_PTX))
        return;
    hd_buf_init(&text);
    hd_buf_append(&text, unit->ptx, unit->len);
    hd_log_dump(HD_DEBUG_PTX, unit->name, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static void dump_ir(const struct ir_module *module, enum hd_debug_flag flag, const char *stage)
{
    struct hd_buf text;
    char heading[256];

    if (!hd_debug(flag))
        return;
    hd_buf_init(&text);
    ir_print_module(module, &text);
    snprintf(heading, sizeof(heading), "%s %s", module->name, stage);
    hd_log_dump(flag, heading, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

/* Parses every unit into `arena`, which owns the PTX modules until lowering is done. */
static enum hd_status parse_units(const struct compile_unit *units, size_t count,
                                  struct hd_arena *arena, struct ptx_module **modules)
{
    for (size_t i = 0; i < count; i++) {
        dump_ptx(&units[i]);
        HD_TRY(ptx_parse(arena, units[i].ptx, units[i].len, units[i].name, &modules[i]));
        HD_TRY(ptx_check(modules[i]));
    }
    return HD_OK;
}

static enum hd_status lower_units(const struct compile_unit *units, size_t count,
                                  struct ir_module **out_module)
{
    struct hd_arena arena;
    struct ptx_module **modules;
    enum hd_status status;

    hd_arena_init(&arena);
    modules = hd_arena_array(&arena, struct ptx_module *, count + 1);
    status = modules ? parse_units(units, count, &arena, modules)
                     : hd_error(HD_NO_MEMORY, "no memory for %zu PTX modules", count);
    if (status == HD_OK)
        status = lower_ptx((const struct ptx_module *const *)modules, count,
                           count ? units[0].name : "module", out_module);
    hd_arena_fini(&arena);
    return status;
}

static enum hd_status finish_module(struct ir_module *module, const struct compile_options *options)
{
    struct opt_options opt = {.validate = options->validate,
                              .keep_lines = module->debug,
                              .required_only = options->no_opt};

    dump_ir(module, HD_DEBUG_IR, "after lowering");
    if (options->validate || hd_debug(HD_DEBUG_VALIDATE))
        HD_TRY(ir_validate(module));
    HD_TRY(opt_run(module, &opt));
    dump_ir(module, HD_DEBUG_OPT, "optimised");
    return ir_layout_windows(module);
}

enum hd_status compile_ptx(const struct compile_unit *units, size_t count,
                           const struct compile_options *options, struct ir_module **out_module)
{
    static const struct compile_options defaults;
    struct ir_module *module = NULL;
    enum hd_status status;

    HD_TRY(lower_units(units, count, &module));
    status = finish_module(module, options ? options : &defaults);
    if (status != HD_OK) {
        ir_module_destroy(module);
        return status;
    }
    *out_module = module;
    return HD_OK;
}
