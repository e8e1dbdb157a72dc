/* See ptxas.h. */
#include "ptxas/ptxas.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codegen/codegen.h"
#include "compile.h"
#include "isa/machine.h"
#include "obj/linked.h"
#include "ptx/ptx.h"

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

/* What of a kernel its code does not tell. */
struct facts {
    uint64_t stack_B;     /* of it and what it may call, at most */
    uint64_t functions_B; /* of the bank of functions; 0: it is not read */
    bool uses_doubles;
};

static bool assemble_facts_find(const struct ir_func *kernel, const struct isa_kernel *made,
                                struct facts *out)
{
    struct ir_window window;

    if (ir_kernel_window(kernel, &window) != HD_OK)
        return false;
    *out = (struct facts){0};
    ir_foreach_func(func, kernel->module)
        for (uint32_t b = 0; b < func->nblocks; b++)
            ir_foreach_instr(in, func->blocks[b]) {
                out->uses_doubles |= in->type == IR_F64;
                if (in->op == IR_OP_CALLI)
                    out->functions_B = sizeof(uint64_t) * kernel->module->nfuncs;
            }
    if (made)
        out->stack_B = HD_MAX(made->properties[ISA_PROPERTY_LOCAL],
                              window.local_B + made->properties[ISA_PROPERTY_SPILLED]);
    return true;
}

static void assemble_kernel_print(struct ptxas *p, const struct isa_kernel *made,
                                  const struct facts *facts, double start_ms)
{
    const uint32_t *of = made->properties;
    uint64_t banks_B[] = {ISA_LAUNCH_PARAMS + of[ISA_PROPERTY_PARAM], made->literals.len,
                          facts->functions_B};
    struct hd_buf used;

    hd_buf_init(&used);
    hd_buf_printf(&used, "Used %u registers, used %u barriers", of[ISA_PROPERTY_REGISTERS],
                  of[ISA_PROPERTY_BARRIERS]);
    if (facts->stack_B)
        hd_buf_printf(&used, ", %llu bytes cumulative stack size",
                      (unsigned long long)facts->stack_B);
    if (of[ISA_PROPERTY_SHARED])
        hd_buf_printf(&used, ", %u bytes smem", of[ISA_PROPERTY_SHARED]);
    for (unsigned i = 0; i < HD_COUNT_OF(banks_B); i++)
        if (banks_B[i])
            hd_buf_printf(&used, ", %llu bytes cmem[%u]", (unsigned long long)banks_B[i], i);
    ptxas_say(p, PTXAS_INFO, "Compiling entry function '%s' for '%s'", made->name,
              p->options.target.name);
    ptxas_say(p, PTXAS_INFO, "Function properties for %s", made->name);
    hd_buf_printf(
        &p->info, "    %u bytes stack frame, %u bytes spill stores, %u bytes spill loads\n",
        of[ISA_PROPERTY_LOCAL], of[ISA_PROPERTY_SPILL_STORES], of[ISA_PROPERTY_SPILL_LOADS]);
    ptxas_say(p, PTXAS_INFO, "%s", used.ptr ? used.ptr : "");
    ptxas_say(p, PTXAS_INFO, "Compile time = %.3f ms", assemble_now_ms() - start_ms);
    hd_buf_fini(&used);
}

static void assemble_kernel_warn(struct ptxas *p, const char *name, const struct isa_kernel *made,
                                 const struct facts *facts)
{
    const uint32_t *of = made ? made->properties : (const uint32_t[ISA_PROPERTIES]){0};

    if (p->options.warn_spills && of[ISA_PROPERTY_SPILLED])
        ptxas_say(p, PTXAS_WARNING,
                  "Registers are spilled to local memory in function '%s', %u bytes spill stores, "
                  "%u bytes spill loads",
                  name, of[ISA_PROPERTY_SPILL_STORES], of[ISA_PROPERTY_SPILL_LOADS]);
    if (p->options.warn_local && of[ISA_PROPERTY_LOCAL])
        ptxas_say(p, PTXAS_WARNING,
                  "Local memory used for function '%s', size of stack frame: %u bytes", name,
                  of[ISA_PROPERTY_LOCAL]);
    if (p->options.warn_double && facts->uses_doubles)
        ptxas_say(p, PTXAS_WARNING, "Double precision instructions are used in function '%s'",
                  name);
}

/* Functions that a linker brings are not there to be looked at. */
static bool assemble_leaves_names(const struct ptxas *p)
{
    return p->options.compile_only || p->options.whole_extensible;
}

/* Bounds of the kernel's own come before the option. */
static uint32_t assemble_limit(const struct ptxas *p, const struct ir_func *kernel)
{
    bool has_own = kernel->maxnreg || kernel->maxntid[0] || kernel->reqntid[0];

    if (!p->options.max_registers || (has_own && !p->options.override_directives))
        return 0;
    return HD_MAX(p->options.max_registers, PTXAS_REGISTERS_MIN);
}

/* A kernel that has no form in Heddle's ISA is still PTX, which other devices run. */
static enum hd_status assemble_kernel_code(struct ptxas *p, const struct ir_func *kernel,
                                           struct isa_image *image)
{
    struct tune_point tuning;
    const struct codegen_options options = {
        .registers = assemble_limit(p, kernel), .profile = p->profile, .tuning = &tuning};
    struct isa_code code = {0};
    enum hd_status status = HD_OK;

    if (image->kernels.len >= ISA_MOST_KERNELS)
        status =
            hd_error(HD_NOT_SUPPORTED, "an image has code of %d kernels at most", ISA_MOST_KERNELS);
    if (status == HD_OK)
        status = tune_find(kernel, CODEGEN_DEVICE, &tuning);
    if (status == HD_OK)
        status = codegen_kernel(kernel, &options, &code);
    if (status == HD_OK)
        status = codegen_image_add(image, kernel, &code);
    isa_code_fini(&code);
    if (status == HD_OK || status == HD_NO_MEMORY)
        return status;
    ptxas_say(p, PTXAS_WARNING,
              "No code for Heddle's GPU of function '%s', only PTX, which other devices run: %s",
              kernel->name, hd_error_message());
    return HD_OK;
}

static enum hd_status assemble_kernel_report(struct ptxas *p, const struct ir_func *kernel,
                                             struct isa_image *image, double start_ms)
{
    const struct isa_kernel *made;
    struct facts facts;

    HD_TRY(assemble_kernel_code(p, kernel, image));
    made = isa_image_find(image, hd_str_from(kernel->name));
    if (!assemble_facts_find(kernel, made, &facts))
        return hd_error(HD_NO_MEMORY, "kernel %s", kernel->name);
    if (made && p->options.verbose)
        assemble_kernel_print(p, made, &facts, start_ms);
    assemble_kernel_warn(p, kernel->name, made, &facts);
    return HD_OK;
}

/* HD_NO_MEMORY; whatever else is wrong is told, and the next kernel is looked at. */
static enum hd_status assemble_kernel_look(struct ptxas *p, struct compile_program *program,
                                           const struct ir_func *decl, struct isa_image *image)
{
    struct ir_module *module;
    double start_ms = assemble_now_ms();
    enum hd_status status = compile_kernel(program, decl->index, OPT_TARGET_COMMON, &module);

    if (status == HD_UNRESOLVED && assemble_leaves_names(p))
        return HD_OK;
    if (status == HD_OK) {
        status = assemble_kernel_report(p, ir_module_func_at(module, decl->index), image, start_ms);
        ir_module_destroy(module);
    }
    if (status == HD_OK)
        return HD_OK;
    ptxas_say_status(p, status);
    return status == HD_NO_MEMORY ? status : HD_OK;
}

static uint64_t assemble_space_B(const struct ir_module *decls, enum ir_space space)
{
    uint64_t size_B = 0;

    for (const struct ir_var *v = decls->vars; v; v = v->next)
        size_B += v->space == space ? v->size_B : 0;
    return size_B;
}

static enum hd_status assemble_kernels_look(struct ptxas *p, struct compile_program *program,
                                            struct isa_image *image)
{
    const struct ir_module *decls = compile_program_decls(program);

    if (p->options.verbose) {
        uint64_t const_B = assemble_space_B(decls, IR_SPACE_CONST);

        ptxas_say(p, PTXAS_INFO,
                  "registers and spills are those of code for Heddle's own GPU, " ISA_MACHINE);
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
        HD_TRY(assemble_kernel_look(p, program, decl, image));
    }
    return HD_OK;
}

/* ---- the program */

static void assemble_refused(void *user, enum hd_status status)
{
    if (status != HD_UNRESOLVED)
        ptxas_say_status(user, status);
}

static enum hd_status assemble_program_check(struct ptxas *p, struct compile_program *program,
                                             struct isa_image *image)
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
    return p->failed ? HD_OK : assemble_kernels_look(p, program, image);
}

/* As a loader compiles, so that the code is what it would make. */
static enum hd_status assemble_program_make(struct ptxas *p, const struct obj_ptx_list *list,
                                            struct isa_image *image)
{
    const struct compile_options options = {.relocatable = assemble_leaves_names(p)};
    struct compile_unit *units = hd_alloc_array(list->len + 1, sizeof(*units));
    struct compile_program *program;
    uint8_t key[ISA_KEY_BYTES];
    enum hd_status status;

    if (!units)
        return hd_error(HD_NO_MEMORY, "assembling");
    for (size_t i = 0; i < list->len; i++)
        units[i] = (struct compile_unit){*list->at[i].source ? list->at[i].source : "ptx",
                                         list->at[i].text, list->at[i].len};
    status = compile_program_create(units, list->len, &options, &program);
    hd_free(units);
    if (status == HD_OK) {
        compile_image_key(program, OPT_TARGET_COMMON, key);
        codegen_image_key(key, image->key);
        status = assemble_program_check(p, program, image);
        compile_program_destroy(program);
    }
    if (status != HD_OK)
        ptxas_say_status(p, status);
    return status;
}

static enum hd_status assemble_image_write(struct ptxas *p, const struct obj_ptx_list *list,
                                           struct isa_image *image)
{
    enum hd_status status;
    struct hd_buf ptx;

    hd_buf_init(&ptx);
    status = obj_linked_modules(list, &ptx);
    if (status == HD_OK && ptx.failed)
        status = hd_error(HD_NO_MEMORY, "no memory for an image");
    image->arch = p->options.target.cc;
    image->ptx = ptx.ptr;
    image->ptx_B = ptx.len;
    if (status == HD_OK)
        status = isa_image_write(image, &p->image);
    hd_buf_fini(&ptx);
    return status;
}

static enum hd_status assemble(struct ptxas *p, struct obj_ptx_list *list, struct isa_image *image)
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
    HD_TRY(assemble_program_make(p, list, image));
    if (p->failed)
        return HD_BAD_PTX;
    return p->options.target.is_virtual ? HD_OK : assemble_image_write(p, list, image);
}

enum hd_status ptxas_assemble(struct ptxas *p)
{
    struct obj_ptx_list list = {0};
    struct ir_profile profile;
    struct isa_image image;
    enum hd_status status;

    isa_image_init(&image);
    ir_profile_init(&profile);
    p->profile = &profile;
    status = p->options.profile ? ir_profile_read(p->options.profile, &profile)
                                : codegen_profile_get(&p->profile);
    if (status == HD_OK)
        status = assemble(p, &list, &image);
    else
        ptxas_say(p, PTXAS_FATAL, "%s", hd_error_message());
    p->profile = NULL;
    ir_profile_fini(&profile);
    isa_image_fini(&image);
    obj_ptx_list_fini(&list);
    if (status != HD_OK)
        ptxas_say(p, PTXAS_FATAL, "Ptx assembly aborted due to errors");
    return status;
}
