/* See ptxas.h. */
#include "ptxas/ptxas.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "compile.h"
#include "obj/linked.h"
#include "ptx/ptx.h"
#include "ptxas/estimate.h"

/* ---- life */

void ptxas_init(struct ptxas *p)
{
    *p = (struct ptxas){.options = {.output = "elf.o"}};
    hd_arena_init(&p->arena);
    hd_buf_init(&p->error);
    hd_buf_init(&p->info);
    hd_buf_init(&p->image);
    p->options.target = (struct ptxas_target){.name = "sm_75", .cc = 75};
}

void ptxas_fini(struct ptxas *p)
{
    hd_vec_fini(&p->inputs);
    hd_vec_fini(&p->files);
    hd_vec_fini(&p->entries);
    hd_buf_fini(&p->error);
    hd_buf_fini(&p->info);
    hd_buf_fini(&p->image);
    hd_arena_fini(&p->arena);
}

enum hd_status ptxas_input_add(struct ptxas *p, const char *name, const char *text, size_t len)
{
    struct ptxas_input input = {
        .name = hd_arena_strndup(&p->arena, name, strlen(name)),
        .text = hd_arena_strndup(&p->arena, text, len),
        .len = len,
    };

    HD_TRY(hd_arena_status(&p->arena));
    return hd_vec_push(&p->inputs, input) ? HD_OK : hd_error(HD_NO_MEMORY, "input %s", name);
}

/* ---- modules and the target */

static bool assemble_same_family(unsigned a, unsigned b)
{
    return a / 10 == b / 10;
}

/* 'a' is one architecture, 'f' its family from there on, and plain PTX fits all later ones. */
static void assemble_target_check(struct ptxas *p, const struct ptx_module *module)
{
    const struct ptxas_target *to = &p->options.target;
    unsigned from = module->arch;
    char variant = module->arch_suffix;

    if (from > to->cc && (variant != 'f' || assemble_same_family(from, to->cc)))
        ptxas_say(p, PTXAS_FATAL,
                  "SM version specified by .target is higher than default SM version assumed: "
                  "'%.*s' has sm_%u%.1s, the target is %s",
                  HD_STR_ARG(module->name), from, &variant, to->name);
    else if (variant == 'a' && (from != to->cc || to->variant != 'a'))
        ptxas_say(p, PTXAS_FATAL,
                  "PTX with .target 'sm_%ua' cannot be compiled for architecture '%s'", from,
                  to->name);
    else if (variant == 'f' && !assemble_same_family(from, to->cc))
        ptxas_say(p, PTXAS_FATAL,
                  "Program with .target 'sm_%uf' cannot be compiled to different SM-family "
                  "architecture '%s'",
                  from, to->name);
}

static enum hd_status assemble_version_check(const struct ptx_module *module)
{
    if (ptxas_version_known(module->version_major, module->version_minor))
        return HD_OK;
    return hd_error(HD_BAD_VERSION, "%.*s:1:1: " PTX_UNSUPPORTED_VERSION, HD_STR_ARG(module->name),
                    module->version_major, module->version_minor);
}

static enum hd_status assemble_list_add(struct ptxas *p, const struct ptxas_input *input,
                                        const struct ptx_module *module, struct obj_ptx_list *list)
{
    struct obj_ptx ptx = {
        .text = hd_strdup(input->text),
        .len = input->len,
        .arch = module->arch,
        .variant = module->arch_suffix,
        .flags = p->options.debug ? OBJ_FLAG_DEBUG : 0,
        .source = hd_strdup(input->name),
        .options = hd_strdup(""),
    };

    if (ptx.text && ptx.source && ptx.options && hd_vec_reserve(list, list->len + 1)) {
        list->at[list->len++] = ptx;
        return HD_OK;
    }
    hd_free(ptx.text);
    hd_free(ptx.source);
    hd_free(ptx.options);
    return hd_error(HD_NO_MEMORY, "input %s", input->name);
}

/* Every input is looked at, whatever is wrong with the ones before. */
static enum hd_status assemble_input_read(struct ptxas *p, const struct ptxas_input *input,
                                          struct obj_ptx_list *list)
{
    struct ptx_module *module;
    struct hd_arena arena;
    enum hd_status status;

    hd_arena_init(&arena);
    status = ptx_parse(&arena, input->text, input->len, input->name, &module);
    if (status == HD_OK)
        status = assemble_version_check(module);
    if (status == HD_OK) {
        assemble_target_check(p, module);
        status = ptx_check(module);
    }
    if (status == HD_OK)
        status = assemble_list_add(p, input, module, list);
    if (status != HD_OK)
        ptxas_say_status(p, status);
    hd_arena_fini(&arena);
    return status;
}

static enum hd_status assemble_flow_check(struct ptxas *p)
{
    if (!p->flow || !p->flow(p->flow_payload, NULL))
        return HD_OK;
    return hd_error(HD_CANCELLED, "the compilation was cancelled");
}

/* ---- kernels */

static bool assemble_is_wanted(const struct ptxas *p, const struct ir_func *func)
{
    for (size_t i = 0; i < p->entries.len; i++)
        if (!strcmp(p->entries.at[i], func->name))
            return true;
    return !p->entries.len;
}

static double assemble_now_ms(void)
{
    return (double)hd_clock_ns(CLOCK_MONOTONIC) / 1e6;
}

static void assemble_kernel_print(struct ptxas *p, const char *name, const struct ptxas_estimate *e,
                                  double start_ms)
{
    struct hd_buf used;
    unsigned spilled_B = 4 * e->spilled;

    hd_buf_init(&used);
    hd_buf_printf(&used, "Used %u registers, used %u barriers", e->registers, e->barriers);
    if (e->stack_B)
        hd_buf_printf(&used, ", %llu bytes cumulative stack size", (unsigned long long)e->stack_B);
    if (e->shared_B)
        hd_buf_printf(&used, ", %llu bytes smem", (unsigned long long)e->shared_B);
    ptxas_say(p, PTXAS_INFO, "Compiling entry function '%s' for '%s'", name,
              p->options.target.name);
    ptxas_say(p, PTXAS_INFO, "Function properties for %s", name);
    hd_buf_printf(&p->info,
                  "    %llu bytes stack frame, %u bytes spill stores, %u bytes spill loads\n",
                  (unsigned long long)e->stack_B + spilled_B, spilled_B, spilled_B);
    ptxas_say(p, PTXAS_INFO, "%s", used.ptr ? used.ptr : "");
    ptxas_say(p, PTXAS_INFO, "Compile time = %.3f ms", assemble_now_ms() - start_ms);
    hd_buf_fini(&used);
}

/* Functions that a linker brings are not there to be looked at. */
static bool assemble_leaves_names(const struct ptxas *p)
{
    return p->options.compile_only || p->options.whole_extensible;
}

/* HD_NO_MEMORY; whatever else is wrong is told, and the next kernel is looked at. */
static enum hd_status assemble_kernel_look(struct ptxas *p, struct compile_program *program,
                                           const struct ir_func *decl)
{
    unsigned limit = p->options.max_registers ? p->options.max_registers : PTXAS_REGISTERS_MAX;
    struct ptxas_estimate estimate;
    struct ir_module *module;
    double start_ms = assemble_now_ms();
    enum hd_status status = compile_kernel(program, decl->index, OPT_TARGET_COMMON, &module);

    if (status == HD_UNRESOLVED && assemble_leaves_names(p))
        return HD_OK;
    if (status == HD_OK) {
        status = ptxas_estimate(ir_module_func_at(module, decl->index), limit, &estimate);
        ir_module_destroy(module);
    }
    if (status != HD_OK) {
        ptxas_say_status(p, status);
        return status == HD_NO_MEMORY ? status : HD_OK;
    }
    if (p->options.verbose)
        assemble_kernel_print(p, decl->name, &estimate, start_ms);
    const struct ptxas_estimate *e = &estimate;
    if (p->options.warn_spills && e->spilled)
        ptxas_say(p, PTXAS_WARNING,
                  "Registers are spilled to local memory in function '%s', %u bytes spill stores, "
                  "%u bytes spill loads (estimated)",
                  decl->name, 4 * e->spilled, 4 * e->spilled);
    if (p->options.warn_local && e->stack_B)
        ptxas_say(p, PTXAS_WARNING,
                  "Local memory used for function '%s', size of stack frame: %llu bytes",
                  decl->name, (unsigned long long)e->stack_B);
    if (p->options.warn_double && e->uses_doubles)
        ptxas_say(p, PTXAS_WARNING, "Double precision instructions are used in function '%s'",
                  decl->name);
    return HD_OK;
}

static uint64_t assemble_space_B(const struct ir_module *decls, enum ir_space space)
{
    uint64_t size_B = 0;

    for (const struct ir_var *v = decls->vars; v; v = v->next)
        size_B += v->space == space ? v->size_B : 0;
    return size_B;
}

static enum hd_status assemble_kernels_look(struct ptxas *p, struct compile_program *program)
{
    const struct ir_module *decls = compile_program_decls(program);

    if (p->options.verbose) {
        uint64_t const_B = assemble_space_B(decls, IR_SPACE_CONST);

        ptxas_say(p, PTXAS_INFO,
                  "registers and spills are estimates of Heddle, which assigns none");
        if (const_B)
            ptxas_say(p, PTXAS_INFO, "%llu bytes gmem, %llu bytes cmem[3]",
                      (unsigned long long)assemble_space_B(decls, IR_SPACE_GLOBAL),
                      (unsigned long long)const_B);
        else
            ptxas_say(p, PTXAS_INFO, "%llu bytes gmem",
                      (unsigned long long)assemble_space_B(decls, IR_SPACE_GLOBAL));
    }
    ir_foreach_func(decl, decls) {
        if (!compile_program_is_kernel(program, decl->index) || !assemble_is_wanted(p, decl))
            continue;
        HD_TRY(assemble_flow_check(p));
        HD_TRY(assemble_kernel_look(p, program, decl));
    }
    return HD_OK;
}

/* ---- the program */

static void assemble_refused(void *user, enum hd_status status)
{
    if (status != HD_UNRESOLVED)
        ptxas_say_status(user, status);
}

static enum hd_status assemble_program_check(struct ptxas *p, struct compile_program *program)
{
    for (size_t i = 0; i < p->entries.len; i++) {
        bool found = false;

        ir_foreach_func(decl, compile_program_decls(program))
            found |= compile_program_is_kernel(program, decl->index) &&
                     !strcmp(decl->name, p->entries.at[i]);
        if (!found)
            ptxas_say(p, PTXAS_FATAL, "Unknown function %s", p->entries.at[i]);
    }
    /* A line of the linker's is "error   : text". */
    struct hd_buf lines;
    hd_buf_init(&lines);
    if (!assemble_leaves_names(p) && compile_program_undefined(program, &lines)) {
        p->failed = true;
        for (const char *at = lines.ptr; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
            hd_buf_printf(&p->error, "ptxas %.*s\n", (int)strcspn(at, "\n"), at);
    }
    hd_buf_fini(&lines);
    if (!p->entries.len)
        HD_TRY(compile_program_survey(program, assemble_refused, p));
    return p->failed ? HD_OK : assemble_kernels_look(p, program);
}

static enum hd_status assemble_program_make(struct ptxas *p, const struct obj_ptx_list *list)
{
    const struct compile_options options = {.no_opt = true,
                                            .relocatable = assemble_leaves_names(p)};
    struct compile_unit *units = hd_alloc_array(list->len + 1, sizeof(*units));
    struct compile_program *program;
    enum hd_status status;

    if (!units)
        return hd_error(HD_NO_MEMORY, "assembling");
    for (size_t i = 0; i < list->len; i++)
        units[i] = (struct compile_unit){list->at[i].source, list->at[i].text, list->at[i].len};
    status = compile_program_create(units, list->len, &options, &program);
    hd_free(units);
    if (status == HD_OK) {
        status = assemble_program_check(p, program);
        compile_program_destroy(program);
    }
    if (status != HD_OK)
        ptxas_say_status(p, status);
    return status;
}

static enum hd_status assemble(struct ptxas *p, struct obj_ptx_list *list)
{
    /* The first error. */
    enum hd_status first = HD_OK;
    for (size_t i = 0; i < p->inputs.len && first != HD_NO_MEMORY; i++) {
        enum hd_status status = assemble_input_read(p, &p->inputs.at[i], list);

        first = first == HD_OK ? status : first;
    }
    HD_TRY(first);
    if (p->failed)
        return HD_BAD_PTX;
    HD_TRY(assemble_flow_check(p));
    HD_TRY(assemble_program_make(p, list));
    if (p->failed)
        return HD_BAD_PTX;
    return p->options.target.is_virtual ? HD_OK
                                        : obj_linked_write(list, p->options.target.cc, &p->image);
}

enum hd_status ptxas_assemble(struct ptxas *p)
{
    struct obj_ptx_list list = {0};
    enum hd_status status = assemble(p, &list);

    obj_ptx_list_fini(&list);
    if (status != HD_OK)
        ptxas_say(p, PTXAS_FATAL, "Ptx assembly aborted due to errors");
    return status;
}
