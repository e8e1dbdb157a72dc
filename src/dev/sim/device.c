/* The engine that runs machine code. */
#include <inttypes.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/probe.h"
#include "codegen/codegen.h"
#include "dev/interp/interp_device.h"
#include "dev/sim/sim_device.h"
#include "sim/sim.h"
#include "tune/tune.h"

static void code_dump(const struct ir_func *func, const struct isa_code *code)
{
    struct isa_insn insn;
    struct hd_buf text;

    hd_buf_init(&text);
    for (size_t i = 0; i < code->words.len && !isa_decode(code->words.at[i], &insn); i++) {
        hd_buf_printf(&text, "%04zx ", i * ISA_WORD_BYTES);
        isa_print_control(&insn.control, &text);
        hd_buf_putc(&text, ' ');
        isa_print(&insn, i * ISA_WORD_BYTES, &text);
        hd_buf_putc(&text, '\n');
    }
    hd_log_dump(HD_DEBUG_ISA, func->name, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static bool is_asked_for(const char *what)
{
    const char *value = hd_env("HEDDLE_SIM");

    return value && !strcmp(value, what);
}

/* What kernels of a module are made from beside their IR. */
struct sim_module {
    bool has_key; /* else nothing of it is in the code cache */
    uint8_t key[ISA_KEY_BYTES];
    struct isa_image image; /* code that an assembler made; without kernels where there is none */
};

static void engine_close(void *context)
{
    struct sim_module *module = context;

    isa_image_fini(&module->image);
    hd_free(module);
}

/* What an image has of kernels, if it is of this program and by this compiler. */
static void image_open(const struct hal_program *program, struct isa_image *out_image)
{
    uint8_t key[ISA_KEY_BYTES];
    struct isa_image image;
    const char *why = NULL;

    codegen_image_key(program->assembled_key, key);
    if (isa_image_read(program->assembled, program->assembled_B, &image) != HD_OK) {
        hd_log_debug(HD_DEBUG_LOAD, "%s: its code is not taken: %s", program->name,
                     hd_error_message());
        return;
    }
    if (memcmp(image.key, key, sizeof(key)) != 0)
        why = "it is of another program, or by another version of the compiler";
    hd_log_debug(HD_DEBUG_LOAD, "%s: code of %zu kernels in its image%s%s", program->name,
                 image.kernels.len, why ? " is not taken: " : "", why ? why : "");
    image.ptx = NULL; /* not there when module_load is over */
    image.ptx_B = 0;
    if (why)
        isa_image_fini(&image);
    else
        *out_image = image;
}

static void *engine_open(const struct hal_program *program)
{
    struct sim_module *module = hd_new(struct sim_module);

    if (!module)
        return NULL;
    isa_image_init(&module->image);
    module->has_key = program->key;
    if (program->key)
        memcpy(module->key, program->key, sizeof(module->key));
    if (program->assembled)
        image_open(program, &module->image);
    return module;
}

/* Code of a kernel, and what it records. */
struct sim_code {
    struct sim_program *program;
    struct codegen_record record;
};

static void engine_release(void *context)
{
    struct sim_code *code = context;

    sim_program_destroy(code->program);
    codegen_record_fini(&code->record);
    hd_free(code);
}

/*
 * Code of the image, where nothing else is asked for than it was made with, or of the cache, or
 * compiled. Nobody has put probes into what an image has. `module`: NULL without memory.
 */
static enum hd_status words_get(const struct sim_module *module, const struct ir_func *func,
                                const struct codegen_options *options, struct isa_code *out_words)
{
    struct hd_compile_note note = {.name = func->name, .form = CODEGEN_DEVICE};
    bool is_asked = !module || options->record || tune_is_recorded();
    const struct isa_kernel *made = NULL;
    uint32_t profile = codegen_profile_hash(options->profile);
    enum hd_status status;
    bool hit = false;

    if (!is_asked && !func->module->has_probes && tune_is_auto(options->tuning))
        made = isa_image_find(&module->image, hd_str_from(func->name));
    if (made && profile && made->properties[ISA_PROPERTY_PROFILE] != profile)
        made = NULL;
    if (made && codegen_image_take(made, func, out_words) == HD_OK)
        return HD_OK;
    hd_compile_begin(&note);
    /* Who checks the compiler, or wants to hear what it does, wants it to compile. */
    if (is_asked || !module->has_key || options->checks || hd_debug(HD_DEBUG_ISA) ||
        hd_debug(HD_DEBUG_CODE) || hd_debug(HD_DEBUG_COUNTS))
        status = codegen_kernel(func, options, out_words);
    else
        status = codegen_kernel_cached(func, module->key, options, out_words, &hit);
    hd_compile_end(&note, hit, status);
    if (hit)
        hd_log_debug(HD_DEBUG_JIT, "loaded %s from the cache", func->name);
    return status;
}

static enum hd_status engine_compile(const struct ir_func *func, void *module, void **out_code)
{
    struct codegen_options options = {.checks = is_asked_for("hazards")};
    struct isa_code words = {0};
    struct tune_point tuning;
    struct sim_kernel kernel;
    struct sim_code *code;
    enum hd_status status;

    HD_TRY(sim_kernel_of(func, &kernel));
    HD_TRY(codegen_profile_get(&options.profile));
    HD_TRY(tune_find(func, CODEGEN_DEVICE, &tuning));
    options.tuning = &tuning;
    code = hd_new(struct sim_code);
    if (!code)
        return hd_error(HD_NO_MEMORY, "kernel %s", func->name);
    ir_profile_init(&code->record.funcs);
    options.record = ir_profile_is_recorded() ? &code->record : NULL;
    kernel.checks_hazards = options.checks;
    kernel.counts = is_asked_for("counts") || options.record;
    status = words_get(module, func, &options, &words);
    if (status == HD_OK && hd_debug(HD_DEBUG_ISA))
        code_dump(func, &words);
    if (status == HD_OK)
        status = sim_program_create(&words, &kernel, &code->program);
    isa_code_fini(&words);
    if (status == HD_OK)
        *out_code = code;
    else
        engine_release(code);
    return status;
}

static void engine_describe(const void *context, struct hal_kernel_info *info)
{
    const struct sim_code *code = context;

    info->regs = sim_program_registers(code->program);
    info->local_B = sim_program_frame_B(code->program);
}

/* A line of names and values; that of the kernel is the last, whatever is in it. */
static void counts_log(const struct interp_launch *l, const struct sim_counts *counts)
{
    static const char *const names[] = {
#define X(name, metric) metric,
        SIM_COUNT_LIST(X)
#undef X
    };
    struct hd_buf line;

    hd_buf_init(&line);
    for (unsigned i = 0; i < SIM_COUNTS; i++)
        hd_buf_printf(&line, "%s=%" PRIu64 " ", names[i], counts->by_kind[i]);
    if (!line.failed)
        hd_log("counts: grid=%u,%u,%u block=%u,%u,%u inst=%" PRIu64 " thread_inst=%" PRIu64
               " thread_inst_pred_on=%" PRIu64 " %skernel=%s",
               l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
               counts->warp_instructions, counts->thread_instructions,
               counts->thread_instructions_on, line.ptr, l->kernel->name);
    hd_buf_fini(&line);
}

/* Adds what a launch executed to the process's profile. */
static enum hd_status record_add(const struct codegen_record *record,
                                 const struct sim_executed *words)
{
    struct ir_profile counted;
    enum hd_status status;

    ir_profile_init(&counted);
    status = ir_profile_merge(&counted, &record->funcs);
    for (size_t i = 0; i < record->marks.len && status == HD_OK; i++) {
        const struct codegen_mark *mark = &record->marks.at[i];

        counted.funcs.at[mark->func].blocks.at[mark->block] =
            (struct ir_profile_count){words[mark->word].warps, words[mark->word].lanes};
    }
    if (status == HD_OK)
        ir_profile_record(&counted);
    ir_profile_fini(&counted);
    return status;
}

static enum hd_status engine_launch(const void *context, const struct interp_launch *launch,
                                    struct interp_fault *out_fault, uint64_t *out_instructions)
{
    const struct sim_code *code = context;
    struct sim_counts counts = {0};
    enum hd_status status = HD_OK;

    if (code->record.marks.len) {
        counts.words = hd_alloc_array(sim_program_words(code->program), sizeof(*counts.words));
        if (!counts.words)
            return hd_error(HD_NO_MEMORY, "kernel %s: no memory for its profile",
                            launch->kernel->name);
    }
    status = sim_launch(code->program, launch, out_fault, &counts);
    *out_instructions = counts.warp_instructions;
    if (status == HD_OK && tune_is_recorded())
        tune_cost(launch->kernel->name, TUNE_BY_INSTRUCTIONS, counts.warp_instructions);
    if (status == HD_OK && counts.words)
        status = record_add(&code->record, counts.words);
    if (status == HD_OK && is_asked_for("counts"))
        counts_log(launch, &counts);
    hd_free(counts.words);
    return status;
}

enum hd_status sim_device_create(const struct hal_client_ops *client,
                                 struct hal_device **out_device)
{
    static const struct refdev_engine engine = {.name = "sim",
                                                .description = "simulated GPU",
                                                .knows_registers = true,
                                                .open = engine_open,
                                                .close = engine_close,
                                                .compile = engine_compile,
                                                .release = engine_release,
                                                .describe = engine_describe,
                                                .launch = engine_launch};

    const struct ir_profile *profile;

    /* What is wrong with a profile, or with tuning, is told before anything runs. */
    HD_TRY(codegen_profile_get(&profile));
    HD_TRY(tune_start());
    if (ir_profile_is_recorded())
        HD_TRY(ir_profile_record_start());
    return refdev_create(&engine, client, out_device);
}
