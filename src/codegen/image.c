/* Code of kernels in images: the compiler's numbers become names there, and numbers again. */
#include <codegen_sources.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/codegen.h"
#include "codegen/mc.h"

enum { MOST_CALLS = 64 /* that are inlined into each other */ };

void codegen_image_key(const uint8_t program[ISA_KEY_BYTES], uint8_t out_key[ISA_KEY_BYTES])
{
    uint64_t own = HEDDLE_CODEGEN_HASH; /* as good a hash as the other */

    memcpy(out_key, program, ISA_KEY_BYTES);
    for (unsigned i = 0; i < sizeof(own); i++)
        out_key[i] ^= (uint8_t)(own >> (8 * i));
}

/* ---- into an image */

struct adding {
    struct isa_kernel *to;
    const struct ir_module *module;
    uint32_t *files;   /* by number: where the name is, plus 1; 0: not there yet */
    uint32_t *inlined; /* likewise: its number in the image */
    bool failed;       /* for want of memory */
};

static uint32_t name_of(struct adding *a, const char *name)
{
    uint32_t at = isa_kernel_name(a->to, hd_str_from(name));

    a->failed |= at == UINT32_MAX;
    return at;
}

/* A file's number there. */
static uint32_t file_of(struct adding *a, uint32_t file)
{
    if (!file || file > a->module->files.len)
        return 0;
    if (!a->files[file])
        a->files[file] = name_of(a, a->module->files.at[file - 1]) + 1;
    return a->files[file];
}

static uint32_t inlined_of(struct adding *a, uint32_t number, unsigned depth)
{
    const struct ir_inline *call;
    struct isa_inline to = {0};

    if (!number || number > a->module->inlines.len || depth > MOST_CALLS)
        return 0;
    if (a->inlined[number])
        return a->inlined[number];
    call = &a->module->inlines.at[number - 1];
    to.func = name_of(a, call->func);
    to.file = file_of(a, call->at.file);
    if (to.file) {
        to.line = call->at.line;
        to.col = call->at.col;
        to.inlined = inlined_of(a, call->at.inlined, depth + 1);
    }
    a->failed |= !hd_vec_push(&a->to->inlines, to);
    return a->inlined[number] = (uint32_t)a->to->inlines.len;
}

static void lines_add(struct adding *a, const struct isa_code *code)
{
    struct isa_line last = {0};

    for (size_t i = 0; i < code->lines.len && !a->failed; i++) {
        struct isa_line line = code->lines.at[i];

        line.file = file_of(a, line.file);
        line.inlined = line.file ? inlined_of(a, line.inlined, 0) : 0;
        line.line = line.file ? line.line : 0;
        line.col = line.file ? line.col : 0;
        if (last.file == line.file && last.line == line.line && last.col == line.col &&
            last.inlined == line.inlined)
            continue;
        last = line;
        a->failed |= !hd_vec_push(&a->to->lines, line);
    }
}

static void tables_add(struct adding *a, const struct isa_code *code)
{
    for (size_t i = 0; i < code->relocs.len; i++) {
        const struct ir_var *var = a->module->vars;

        while (var->index != code->relocs.at[i].var) /* the code's, so there is one */
            var = var->next;
        a->failed |= !hd_vec_push(
            &a->to->relocs, (struct isa_reloc){code->relocs.at[i].offset_B, name_of(a, var->name)});
    }
    for (size_t i = 0; i < code->functions.len; i++) {
        const struct ir_func *func = ir_module_func_at(a->module, code->functions.at[i].index);

        a->failed |=
            !hd_vec_push(&a->to->functions, (struct isa_function){name_of(a, func->name),
                                                                  code->functions.at[i].offset});
    }
    lines_add(a, code);
}

/* Barriers: the highest number and one more, all where only the device knows; and features. */
static void words_look(struct isa_kernel *to)
{
    uint32_t *barriers = &to->properties[ISA_PROPERTY_BARRIERS];
    uint32_t all = isa_properties[ISA_PROPERTY_BARRIERS].most;

    for (size_t i = 0; i < to->words.len; i++) {
        enum isa_op op = isa_word_op(to->words.at[i]);
        unsigned feature = isa_row(op)->feature;
        struct isa_insn insn;
        const char *why;
        int at;

        if (feature != ISA_FEATURE_BASE)
            to->properties[ISA_PROPERTY_FEATURES] |= 1u << feature;
        if (op != ISA_BAR && op != ISA_BAR_R)
            continue;
        at = mc_operand_of(op, op == ISA_BAR ? ISA_FIELD_CTA_BAR : ISA_FIELD_B);
        why = isa_decode(to->words.at[i], &insn);
        assert(!why);
        if (why)
            continue;
        bool is_number =
            insn.operands[at].kind == ISA_KIND_UINT || insn.operands[at].kind == ISA_KIND_IMMEDIATE;
        uint64_t count = is_number ? (uint64_t)insn.operands[at].value + 1 : all;
        *barriers = (uint32_t)HD_MAX(*barriers, HD_MIN(count, (uint64_t)all));
    }
}

static enum hd_status properties_add(struct isa_kernel *to, const struct ir_func *kernel,
                                     const struct isa_code *code)
{
    const uint32_t *bound = kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid;
    uint64_t threads = (uint64_t)bound[0] * HD_MAX(bound[1], 1u) * HD_MAX(bound[2], 1u);
    uint64_t values[ISA_PROPERTIES] = {0};
    struct ir_window window;

    HD_TRY(ir_kernel_window(kernel, &window));
    values[ISA_PROPERTY_REGISTERS] = code->registers;
    values[ISA_PROPERTY_UNIFORM] = code->uniform_registers;
    values[ISA_PROPERTY_SHARED] = window.shared_B;
    values[ISA_PROPERTY_LOCAL] = code->local_B;
    values[ISA_PROPERTY_PARAM] = kernel->param_size_B;
    values[ISA_PROPERTY_THREADS] =
        HD_MIN(threads, (uint64_t)isa_properties[ISA_PROPERTY_THREADS].most);
    values[ISA_PROPERTY_SPILLED] = code->spilled_B;
    values[ISA_PROPERTY_SPILL_STORES] = code->spill_stores_B;
    values[ISA_PROPERTY_SPILL_LOADS] = code->spill_loads_B;
    values[ISA_PROPERTY_PROFILE] = code->profile;
    for (unsigned i = 0; i < ISA_PROPERTIES; i++) {
        if (values[i] > isa_properties[i].most)
            return hd_error(HD_NOT_SUPPORTED, "kernel %s: %llu %s, of %u at most", kernel->name,
                            (unsigned long long)values[i], isa_properties[i].doc,
                            isa_properties[i].most);
        to->properties[i] = (uint32_t)values[i];
    }
    words_look(to);
    return HD_OK;
}

static bool copy(void *vec, const void *from, size_t len, size_t elem_B)
{
    HD_VEC(char) *to = vec;

    if (!len)
        return true;
    to->at = hd_alloc_array(len, elem_B);
    if (!to->at)
        return false;
    memcpy(to->at, from, len * elem_B);
    to->len = to->cap = len;
    return true;
}
#define COPY(to, from) copy((to), (from)->at, (from)->len, sizeof(*(from)->at))

static enum hd_status kernel_fill(struct isa_kernel *to, const struct ir_func *kernel,
                                  const struct isa_code *code)
{
    struct adding a = {.to = to, .module = kernel->module};

    a.files = hd_alloc_array(kernel->module->files.len + 1, sizeof(*a.files));
    a.inlined = hd_alloc_array(kernel->module->inlines.len + 1, sizeof(*a.inlined));
    a.failed = !a.files || !a.inlined || !COPY(&to->words, &code->words) ||
               !COPY(&to->literals, &code->literals);
    if (!a.failed)
        tables_add(&a, code);
    hd_free(a.files);
    hd_free(a.inlined);
    if (a.failed)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its image", kernel->name);
    assert(!isa_kernel_check(to));
    return properties_add(to, kernel, code);
}

enum hd_status codegen_image_add(struct isa_image *image, const struct ir_func *kernel,
                                 const struct isa_code *code)
{
    struct isa_kernel *to = isa_image_add(image, hd_str_from(kernel->name));
    enum hd_status status;

    if (!to)
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its image", kernel->name);
    status = kernel_fill(to, kernel, code);
    if (status != HD_OK)
        isa_image_drop(image);
    return status;
}

/* ---- out of one */

struct taking {
    const struct isa_kernel *from;
    const struct ir_module *module;
    uint32_t *inlined;        /* by number: the module's, or 0 */
    uint32_t from_file, file; /* the last one: there, and the module's */
};

/* The module's number of a file; 0: it has no such one. */
static uint32_t file_again(struct taking *t, uint32_t file)
{
    if (file == t->from_file)
        return t->file;
    t->from_file = file;
    t->file = 0;
    for (uint32_t i = 0; file && !t->file && i < t->module->files.len; i++)
        if (!strcmp(t->module->files.at[i], isa_kernel_text(t->from, file - 1)))
            t->file = i + 1;
    return t->file;
}

static void inlined_find(struct taking *t)
{
    size_t guess = 0, count = t->module->inlines.len;

    for (size_t i = 0; i < t->from->inlines.len; i++) {
        const struct isa_inline *call = &t->from->inlines.at[i];
        struct ir_srcloc at = {.file = file_again(t, call->file),
                               .line = call->line,
                               .col = call->col,
                               .inlined = t->inlined[call->inlined]};

        for (size_t n = 0; n < count; n++, guess = (guess + 1) % count) {
            const struct ir_inline *have = &t->module->inlines.at[guess];

            if (have->at.file == at.file && have->at.line == at.line && have->at.col == at.col &&
                have->at.inlined == at.inlined &&
                !strcmp(have->func, isa_kernel_text(t->from, call->func))) {
                t->inlined[i + 1] = (uint32_t)guess + 1;
                break;
            }
        }
    }
}

static enum hd_status numbers_take(struct taking *t, struct isa_code *code)
{
    for (size_t i = 0; i < code->relocs.len; i++) {
        const char *name = isa_kernel_text(t->from, code->relocs.at[i].var);
        const struct ir_var *var = ir_module_find_var(t->module, name);

        if (!var)
            return hd_error(HD_UNRESOLVED, "kernel %s: there is no variable %s", t->from->name,
                            name);
        code->relocs.at[i].var = var->index;
    }
    for (size_t i = 0; i < code->functions.len; i++) {
        const char *name = isa_kernel_text(t->from, code->functions.at[i].index);
        const struct ir_func *func = ir_module_find_func(t->module, name);

        if (!func)
            return hd_error(HD_UNRESOLVED, "kernel %s: there is no function %s", t->from->name,
                            name);
        code->functions.at[i].index = func->index;
    }
    inlined_find(t);
    for (size_t i = 0; i < code->lines.len; i++) {
        struct isa_line *line = &code->lines.at[i];

        line->file = file_again(t, line->file);
        line->inlined = t->inlined[line->inlined];
    }
    return HD_OK;
}

enum hd_status codegen_image_take(const struct isa_kernel *made, const struct ir_func *kernel,
                                  struct isa_code *out_code)
{
    struct taking t = {.from = made, .module = kernel->module};
    struct isa_code code = {.registers = made->properties[ISA_PROPERTY_REGISTERS],
                            .uniform_registers = made->properties[ISA_PROPERTY_UNIFORM],
                            .spilled_B = made->properties[ISA_PROPERTY_SPILLED],
                            .spill_stores_B = made->properties[ISA_PROPERTY_SPILL_STORES],
                            .spill_loads_B = made->properties[ISA_PROPERTY_SPILL_LOADS],
                            .local_B = made->properties[ISA_PROPERTY_LOCAL],
                            .profile = made->properties[ISA_PROPERTY_PROFILE]};
    enum hd_status status;

    t.inlined = hd_alloc_array(made->inlines.len + 1, sizeof(*t.inlined));
    if (t.inlined && COPY(&code.words, &made->words) && COPY(&code.literals, &made->literals) &&
        COPY(&code.relocs, &made->relocs) && COPY(&code.functions, &made->functions) &&
        COPY(&code.lines, &made->lines))
        status = numbers_take(&t, &code);
    else
        status = hd_error(HD_NO_MEMORY, "kernel %s: no memory for its code", kernel->name);
    hd_free(t.inlined);
    if (status == HD_OK)
        *out_code = code;
    else
        isa_code_fini(&code);
    return status;
}
