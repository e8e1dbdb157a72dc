#include "compile.h"

#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "compile/checked.h"
#include "compile/groups.h"
#include "ir/count.h"
#include "ir/probe.h"
#include "lower/lower.h"
#include "obj/fingerprint.h"
#include "opt/opt.h"
#include "ptx/ptx.h"

static void compile_dump_ptx(const struct compile_unit *unit)
{
    struct hd_buf text;

    if (!hd_debug(HD_DEBUG_PTX))
        return;
    hd_buf_init(&text);
    hd_buf_append(&text, unit->ptx, unit->len);
    hd_log_dump(HD_DEBUG_PTX, unit->name, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static void compile_dump_ir(const struct ir_module *module, enum hd_debug_flag flag,
                            const char *stage)
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

/* The module is `arena`'s. */
static enum hd_status compile_parse_unit(const struct compile_unit *unit, unsigned max_arch,
                                         struct hd_arena *arena, struct ptx_module **out_module)
{
    compile_dump_ptx(unit);
    return compile_parse_whole(unit, max_arch, arena, out_module);
}

/* Calls are inlined first; passes come behind the probes, which stay where they are. */
static enum hd_status count(struct ir_module *module, const struct compile_options *options,
                            enum opt_target target)
{
    struct opt_options opt = {.validate = options->validate, .required_only = true};

    HD_TRY(opt_run(module, &opt));
    if (!ir_count_insert(module))
        return hd_error(HD_NO_MEMORY, "counts");
    opt.required_only = options->no_opt;
    opt.target = target;
    HD_TRY(opt_run(module, &opt));
    return ir_count_finish(module) ? HD_OK : hd_error(HD_NO_MEMORY, "counts");
}

static enum hd_status compile_finish_module(struct ir_module *module,
                                            const struct compile_options *options,
                                            enum opt_target target)
{
    struct opt_options opt = {
        .validate = options->validate, .required_only = options->no_opt, .target = target};

    compile_dump_ir(module, HD_DEBUG_IR, "after lowering");
    if (options->validate || hd_debug(HD_DEBUG_VALIDATE))
        HD_TRY(ir_validate(module));
    assert(!module->arena.failed); /* the lowering said so */
    if (options->counts)
        HD_TRY(count(module, options, target));
    else if (!options->debug)
        HD_TRY(opt_run(module, &opt));
    if (options->probes && !ir_probe_insert(module, options->probes))
        return hd_error(HD_NO_MEMORY, "probes");
    compile_dump_ir(module, HD_DEBUG_OPT, "optimised");
    return ir_layout_windows(module);
}

/* A text has a key of its own, which the cache of checked texts wants, too: megabytes take time. */
static void compile_hash_unit(struct obj_cache_hash *hash, const struct compile_unit *unit,
                              struct obj_cache_key text)
{
    obj_cache_hash_str(hash, unit->name); /* messages and line tables hold it */
    obj_cache_hash_u64(hash, text.low);
    obj_cache_hash_u64(hash, text.high);
}

static uint64_t compile_options_hash(const struct compile_options *options)
{
    static const struct compile_options defaults;
    struct obj_cache_hash hash;

    options = options ? options : &defaults;
    obj_cache_hash_init(&hash);
#define X(type, name, doc) obj_cache_hash_u64(&hash, options->name);
    COMPILE_OPTION_LIST(X)
#undef X
    return obj_cache_hash_final(&hash).low;
}

static void compile_key_finish(const struct obj_cache_hash *units,
                               const struct compile_options *options, uint8_t out_key[16])
{
    struct obj_fingerprint print;
    struct obj_cache_key key;

    obj_fingerprint_init(&print, "program");
    print.program = obj_cache_hash_final(units);
    print.options = compile_options_hash(options);
    key = obj_fingerprint_key(&print);
    memcpy(out_key, &key.low, 8);
    memcpy(out_key + 8, &key.high, 8);
}

void compile_key(const struct compile_unit *units, size_t count,
                 const struct compile_options *options, uint8_t out_key[16])
{
    struct obj_cache_hash hash;

    obj_cache_hash_init(&hash);
    for (size_t i = 0; i < count; i++)
        compile_hash_unit(&hash, &units[i], compile_text_key(&units[i]));
    compile_key_finish(&hash, options, out_key);
}

enum hd_status compile_unit_check(const struct compile_unit *unit,
                                  const struct compile_options *options)
{
    struct ptx_module *module;
    struct hd_arena arena;
    enum hd_status status;

    hd_arena_init(&arena);
    status = compile_parse_unit(unit, options ? options->max_arch : 0, &arena, &module);
    hd_arena_fini(&arena);
    return status;
}

/* ---- programs */

struct compile_program {
    struct hd_arena arena; /* the PTX modules */
    struct ptx_module **modules;
    size_t nmodules; /* slots: NULL behind the one that failed */
    struct lower_program *lower;
    struct compile_options options;
    struct obj_cache_key units; /* texts and names */
    uint8_t key[16];
};

/* Of a text that is worth it, only what kernels will need: see ptx_close(). */
static enum hd_status compile_program_parse_unit(struct compile_program *program,
                                                 const struct compile_unit *unit,
                                                 struct obj_cache_key text,
                                                 struct ptx_module **out_module)
{
    const struct compile_options *options = &program->options;

    if (!options->on_demand || unit->len < COMPILE_CHECKED_MIN_B)
        return compile_parse_unit(unit, options->max_arch, &program->arena, out_module);
    compile_dump_ptx(unit);
    return compile_checked_open(unit, text, options->max_arch, out_module);
}

static enum hd_status compile_program_parse(struct compile_program *program,
                                            const struct compile_unit *units, size_t count)
{
    struct obj_cache_hash hash;

    obj_cache_hash_init(&hash);
    program->modules = hd_arena_array(&program->arena, struct ptx_module *, count + 1);
    if (!program->modules)
        return hd_error(HD_NO_MEMORY, "no memory for %zu PTX modules", count);
    program->nmodules = count + 1;
    for (size_t i = 0; i < count; i++) {
        struct obj_cache_key text = compile_text_key(&units[i]);

        compile_hash_unit(&hash, &units[i], text);
        HD_TRY(compile_program_parse_unit(program, &units[i], text, &program->modules[i]));
    }
    program->units = obj_cache_hash_final(&hash);
    compile_key_finish(&hash, &program->options, program->key);
    return HD_OK;
}

static enum hd_status compile_program_link(struct compile_program *program,
                                           const struct compile_unit *units, size_t count)
{
    const char *name = count ? units[0].name : "module";

    HD_TRY(compile_program_parse(program, units, count));
    if (compile_wants_groups(program->modules, count)) {
        HD_TRY(compile_parse_unit(&compile_groups, 0, &program->arena, &program->modules[count]));
        count++;
    }
    HD_TRY(lower_program_create((const struct ptx_module *const *)program->modules, count, name,
                                &program->lower));
    if (!program->options.relocatable)
        lower_program_is_whole(program->lower);
    lower_program_keep_ptx_lines(program->lower);
    if (program->options.debug)
        lower_program_keep_notes(program->lower);
    if (program->options.counts)
        lower_program_keep_counts(program->lower);
    if (program->options.probes)
        lower_program_keep_asyncs(program->lower);
    return HD_OK;
}

enum hd_status compile_program_create(const struct compile_unit *units, size_t count,
                                      const struct compile_options *options,
                                      struct compile_program **out_program)
{
    struct compile_program *program = hd_new(struct compile_program);
    enum hd_status status;

    if (!program)
        return hd_error(HD_NO_MEMORY, "program");
    hd_arena_init(&program->arena);
    if (options)
        program->options = *options;
    assert(units || !count);
    status = compile_program_link(program, units, count);
    if (status != HD_OK) {
        compile_program_destroy(program);
        return status;
    }
    *out_program = program;
    return HD_OK;
}

void compile_program_destroy(struct compile_program *program)
{
    if (!program)
        return;
    lower_program_destroy(program->lower);
    for (size_t i = 0; i < program->nmodules; i++)
        ptx_close(program->modules[i]);
    hd_arena_fini(&program->arena);
    hd_free(program);
}

const struct ir_module *compile_program_decls(const struct compile_program *program)
{
    return lower_program_decls(program->lower);
}

struct undefined {
    struct hd_buf *text;
    struct hd_map told; /* names */
    bool any;
};

/* As linkers say it. Once per name: where it is first used. */
static void compile_undefined_found(void *user, struct hd_str name, struct hd_str module,
                                    uint32_t line)
{
    struct undefined *u = user;
    const char *meaning = lower_unresolved_meaning(name);
    void *unused;

    u->any = true;
    if (hd_map_find(&u->told, name, &unused) || !hd_map_put(&u->told, name, u))
        return;
    hd_buf_printf(u->text, "error   : Undefined reference to '%.*s' in '%.*s' (line %u)%s%s\n",
                  HD_STR_ARG(name), HD_STR_ARG(module), line, meaning ? ": " : "",
                  meaning ? meaning : "");
}

bool compile_program_undefined(struct compile_program *program, struct hd_buf *out_text)
{
    struct undefined u = {.text = out_text};

    hd_map_init(&u.told);
    lower_program_undefined(program->lower, compile_undefined_found, &u);
    hd_map_fini(&u.told);
    return u.any;
}

struct survey {
    compile_refused_fn *refused;
    void *user;
};

static void compile_survey_refused(void *user, const struct lower_refusal *refusal)
{
    const struct survey *survey = user;

    survey->refused(survey->user, refusal->status);
}

enum hd_status compile_program_survey(struct compile_program *program, compile_refused_fn *refused,
                                      void *user)
{
    struct survey survey = {refused, user};

    return lower_survey(program->lower, compile_survey_refused, &survey);
}

bool compile_program_is_kernel(const struct compile_program *program, uint32_t index)
{
    return lower_program_is_kernel(program->lower, index);
}

const uint8_t *compile_program_key(const struct compile_program *program)
{
    return program->key;
}

void compile_code_key(const struct compile_program *program, enum opt_target target,
                      uint8_t out_key[16])
{
    struct obj_cache_hash hash;
    struct obj_cache_key key;

    obj_cache_hash_init(&hash);
    obj_cache_hash_bytes(&hash, program->key, sizeof(program->key));
    obj_cache_hash_str(&hash, opt_target_name(target));
    key = obj_cache_hash_final(&hash);
    memcpy(out_key, &key.low, 8);
    memcpy(out_key + 8, &key.high, 8);
}

void compile_image_key(const struct compile_program *program, enum opt_target target,
                       uint8_t out_key[16])
{
    struct compile_options options = program->options;
    struct obj_fingerprint print;
    struct obj_cache_key key;

    options.validate = options.on_demand = false;
    options.max_arch = 0;
    obj_fingerprint_init(&print, "image");
    print.program = program->units;
    print.options = compile_options_hash(&options);
    print.form = target;
    key = obj_fingerprint_key(&print);
    memcpy(out_key, &key.low, 8);
    memcpy(out_key + 8, &key.high, 8);
}

/* Destroys a module that cannot be finished. */
static enum hd_status compile_finish_or_destroy(struct ir_module *module,
                                                const struct compile_options *options,
                                                enum opt_target target,
                                                struct ir_module **out_module)
{
    enum hd_status status = compile_finish_module(module, options, target);

    if (status != HD_OK) {
        ir_module_destroy(module);
        return status;
    }
    *out_module = module;
    return HD_OK;
}

/* All that a kernel declares and reaches; single variables were checked by the lowering. */
static enum hd_status compile_check_shared(const struct ir_func *kernel)
{
    struct ir_window window;

    HD_TRY(ir_kernel_window(kernel, &window));
    if (window.shared_B <= LOWER_SHARED_MAX_B + LOWER_RESERVED_SMEM_B)
        return HD_OK;
    return hd_error(HD_BAD_PTX,
                    "%s: kernel %s has %llu bytes of static shared memory, the limit is %u",
                    kernel->module->name, kernel->name, (unsigned long long)window.shared_B,
                    LOWER_SHARED_MAX_B);
}

enum hd_status compile_kernel_sizes(struct compile_program *program, uint32_t index,
                                    struct ir_kernel_sizes *out_sizes)
{
    return lower_kernel_sizes(program->lower, index, out_sizes);
}

enum hd_status compile_kernel(struct compile_program *program, uint32_t index,
                              enum opt_target target, struct ir_module **out_module)
{
    struct ir_module *module;
    enum hd_status status;

    HD_TRY(lower_kernel(program->lower, index, &module));
    HD_TRY(compile_finish_or_destroy(module, &program->options, target, out_module));
    assert(ir_module_func_at(*out_module, index)); /* passes keep kernels and their numbers */
    assert((*out_module)->nfuncs > index);
    status = compile_check_shared(ir_module_func_at(*out_module, index));
    if (status != HD_OK)
        ir_module_destroy(*out_module);
    return status;
}

enum hd_status compile_ptx(const struct compile_unit *units, size_t count,
                           const struct compile_options *options, enum opt_target target,
                           struct ir_module **out_module)
{
    struct compile_program *program;
    struct ir_module *module;
    enum hd_status status;

    HD_TRY(compile_program_create(units, count, options, &program));
    status = lower_all(program->lower, &module);
    if (status == HD_OK)
        status = compile_finish_or_destroy(module, &program->options, target, out_module);
    compile_program_destroy(program);
    return status;
}
