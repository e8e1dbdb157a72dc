/* A kernel and what it may call: the steps in their order, and what functions share. */
#include "codegen/codegen.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "codegen/mc.h"
#include "isa/machine.h"

enum { SUBCORES = 4, LANES = 32, REGISTERS_MOST = 255 };

/* ---- functions */

static uint32_t registers_of(const struct ir_func *kernel, const struct codegen_options *options)
{
    const uint32_t *bound = kernel->reqntid[0] ? kernel->reqntid : kernel->maxntid;
    uint64_t threads = (uint64_t)bound[0] * HD_MAX(bound[1], 1u) * HD_MAX(bound[2], 1u), most;
    unsigned step = isa_subcore(ISA_SUBCORE_REGISTERS_STEP);

    if (options && options->registers)
        return HD_MIN(options->registers, REGISTERS_MOST);
    if (kernel->maxnreg)
        return HD_MIN(kernel->maxnreg, REGISTERS_MOST);
    if (!threads)
        return REGISTERS_MOST;
    threads = (threads + 31) / 32 * 32 * HD_MAX(kernel->minnctapersm, 1u);
    most = SUBCORES * LANES * isa_subcore(ISA_SUBCORE_REGISTERS) / threads / step * step;
    return (uint32_t)HD_MAX(HD_MIN(most, (uint64_t)REGISTERS_MOST), 16u);
}

static void dump(const struct mc_func *f, const char *when)
{
    struct hd_buf text;
    char heading[256];

    if (!hd_debug(HD_DEBUG_ISA))
        return;
    hd_buf_init(&text);
    mc_print(f, &text);
    snprintf(heading, sizeof(heading), "%s %s", f->ir->name, when);
    hd_log_dump(HD_DEBUG_ISA, heading, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

/* What makes code faster and takes registers. */
struct eagerness {
    bool reorders, vectorizes;
};

/* Selects a function and gives it registers. */
static enum hd_status allocate(struct codegen_unit *unit, const struct ir_func *func, uint32_t most,
                               struct eagerness eager, struct mc_func *f, uint32_t *out_used)
{
    if (codegen_is_routine(func))
        most = CODEGEN_ROUTINE_REGS;
    HD_TRY(select_func(unit, func, eager.vectorizes, f));
    dump(f, "selected");
    if (codegen_does(f->settings, CODEGEN_PREDICATE))
        HD_TRY(predicate(f));
    if (codegen_does(f->settings, CODEGEN_COALESCE)) {
        HD_TRY(coalesce(f));
        dump(f, "coalesced");
    }
    if (eager.reorders) {
        HD_TRY(schedule(f, most));
        dump(f, "in order");
    }
    return assign_registers(f, most, out_used);
}

/* Pressure is a number, registers have neighbours: an order that fits by its number may spill. */
static enum hd_status allocate_best(struct codegen_unit *unit, const struct ir_func *func,
                                    uint32_t most, struct mc_func *f, uint32_t *out_used)
{
    const struct codegen_settings *settings = &unit->settings;
    struct eagerness eager = {
        .reorders = !unit->module->debug && codegen_does(settings, CODEGEN_SCHEDULE),
        .vectorizes = !unit->module->debug && codegen_does(settings, CODEGEN_VECTORIZE)};
    enum hd_status status = allocate(unit, func, most, eager, f, out_used);
    struct mc_func plain;
    uint32_t used;

    if ((!eager.reorders && !eager.vectorizes) ||
        (status == HD_OK ? !f->spilled_B : status != HD_NOT_SUPPORTED))
        return status;
    if (allocate(unit, func, most, (struct eagerness){0}, &plain, &used) == HD_OK &&
        (status != HD_OK || plain.spilled_B <= f->spilled_B)) {
        mc_fini(f);
        *f = plain;
        *out_used = used;
        return HD_OK;
    }
    mc_fini(&plain);
    return status;
}

static enum hd_status compile_allocated(struct codegen_unit *unit, struct mc_func *f, uint32_t used)
{
    dump(f, "with registers");
    if (unit->checks)
        HD_TRY(check_alloc(f));
    HD_TRY(finish_func(unit, f));
    unit->code->registers = HD_MAX(unit->code->registers, used);
    unit->code->spilled_B += f->spilled_B;
    if (f->is_kernel)
        unit->code->local_B = f->frame_B;
    return HD_OK;
}

static enum hd_status compile_func(struct codegen_unit *unit, const struct ir_func *func,
                                   uint32_t most)
{
    struct isa_function function = {.index = func->index,
                                    .offset = (uint32_t)unit->code->words.len * ISA_WORD_BYTES};
    struct mc_func f;
    uint32_t used = 0;
    enum hd_status status;

    if (!codegen_is_routine(func) && !hd_vec_push(&unit->code->functions, function))
        return hd_error(HD_NO_MEMORY, "function %s: no memory", func->name);
    HD_TRY(profile_begin(unit, func));
    status = allocate_best(unit, func, most, &f, &used);
    if (status == HD_OK)
        status = compile_allocated(unit, &f, used);
    mc_fini(&f);
    return status;
}

/* What the functions of the module do that all code of the kernel has to know. */
static void look_through(struct codegen_unit *unit)
{
    ir_foreach_func(func, unit->module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i]) {
                unit->has_indirect_calls |= in->op == IR_OP_CALLI;
                unit->has_stack |=
                    in->op == IR_OP_CALL || in->op == IR_OP_CALLI || in->op == IR_OP_ALLOCA;
            }
}

/* Functions whose address may be in a variable, where something is called by its address. */
static bool want_addressed(struct codegen_unit *unit)
{
    bool ok = true;

    if (!unit->has_indirect_calls)
        return true;
    ir_foreach_func(func, unit->module)
        if (func->address_taken && codegen_is_callable(func))
            ok = ok && codegen_want(unit, func);
    return ok;
}

/* ---- a kernel */

static void resolve_calls(struct codegen_unit *unit, const uint32_t *starts)
{
    for (size_t i = 0; i < unit->calls.len; i++) {
        const struct codegen_call *call = &unit->calls.at[i];
        struct isa_word *word = &unit->code->words.at[call->word];
        struct isa_insn insn;
        const char *why = isa_decode(*word, &insn);
        size_t w = 0;

        assert(!why && insn.op == ISA_CALL);
        (void)why;
        while (unit->wanted.at[w] != call->callee)
            w++;
        insn.operands[mc_operand_of(ISA_CALL, ISA_FIELD_TARGET)].value =
            ((int64_t)starts[w] - call->word - 1) * ISA_WORD_BYTES;
        why = isa_encode(&insn, word);
        assert(!why);
    }
}

static enum hd_status compile_all(struct codegen_unit *unit, const struct ir_func *kernel,
                                  uint32_t most)
{
    HD_VEC(uint32_t) starts = {0};
    enum hd_status status;

    if (!want_addressed(unit))
        return hd_error(HD_NO_MEMORY, "kernel %s: no memory", kernel->name);
    status = compile_func(unit, kernel, most);
    for (size_t i = 0; i < unit->wanted.len && status == HD_OK; i++) {
        if (!hd_vec_push(&starts, (uint32_t)unit->code->words.len))
            status = hd_error(HD_NO_MEMORY, "kernel %s: no memory", kernel->name);
        else
            status = compile_func(unit, unit->wanted.at[i], most);
    }
    if (status == HD_OK && unit->failed)
        status = hd_error(HD_NO_MEMORY, "kernel %s: no memory", kernel->name);
    if (status == HD_OK)
        resolve_calls(unit, starts.at);
    hd_vec_fini(&starts);
    return status;
}

/* For `heddle tune`: which choices there are for this code, and what it costs. */
static void report_tuning(const struct codegen_unit *unit, const struct ir_func *kernel)
{
    static const struct tune_point none;
    const struct tune_point *tuning = unit->options->tuning;
    struct tune_set applies = {0};

    if (!tune_is_recorded())
        return;
    tune_set_add_passes(&applies, TUNE_ISA, ~(1u << CODEGEN_PROFILE));
    tune_set_add(&applies, TUNE_REGISTERS);
    tune_set_add(&applies, TUNE_ORDER);
    tune_compiled(kernel, CODEGEN_DEVICE, tuning ? tuning : &none, &applies);
    tune_cost(kernel->name, TUNE_BY_CYCLES, report_cost(unit));
}

enum hd_status codegen_kernel(const struct ir_func *kernel, const struct codegen_options *options,
                              struct isa_code *out_code)
{
    static const struct codegen_options defaults;
    struct codegen_unit unit = {
        .module = kernel->module, .code = out_code, .options = options ? options : &defaults};
    struct ir_window window;
    enum hd_status status;

    *out_code = (struct isa_code){0};
    HD_TRY(codegen_settings_read(&unit.settings));
    if (unit.options->tuning)
        codegen_settings_tune(&unit.settings, unit.options->tuning);
    HD_TRY(ir_kernel_window(kernel, &window));
    unit.clusters = window.clusters;
    unit.checks = unit.options->checks;
    out_code->profile = codegen_profile_hash(unit.options->profile);
    look_through(&unit);
    status =
        compile_all(&unit, kernel, HD_MIN(registers_of(kernel, options), unit.settings.registers));
    hd_vec_fini(&unit.calls);
    hd_vec_fini(&unit.wanted);
    if (status == HD_OK) {
        report_kernel(&unit, kernel->name);
        report_tuning(&unit, kernel);
    } else
        isa_code_fini(out_code);
    return status;
}
