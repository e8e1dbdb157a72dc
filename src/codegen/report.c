/*
 * What code costs, statically (HEDDLE_DEBUG=counts), and code as JSON, for scripts
 * (HEDDLE_DEBUG=code).
 *
 * The estimate is that of one warp by itself: each block on its own, as often as a profile says, or
 * ten times for each loop around it. An instruction is issued when the one before has stalled and
 * the counters that it waits for are down, which results of usual latency (TYPICAL of the machine)
 * and sources are.
 */
#include "base/log.h"
#include "base/text/json.h"
#include "codegen/mc.h"
#include "isa/machine.h"

enum {
    SOURCES_CYCLES = 11, /* until a memory instruction has read its registers */
};

static size_t end_of(const struct mc_code *code, size_t block)
{
    return block + 1 < code->blocks.len ? code->blocks.at[block + 1]->word : code->insns.len;
}

static void add_block(struct codegen_cost *cost, const struct mc_func *f,
                      const struct mc_code *code, size_t block)
{
    uint64_t weight = mc_block_count(f, code->blocks.at[block]), cycle = 0;
    uint64_t busy[ISA_PIPES] = {0}, most = 0;
    uint64_t down[ISA_COUNTERS] = {0};
    size_t end = end_of(code, block);

    for (size_t i = code->blocks.at[block]->word; i < end; i++) {
        const struct isa_insn *insn = &code->insns.at[i].isa;
        const struct isa_control *control = &insn->control;

        for (unsigned k = 0; k < ISA_COUNTERS; k++)
            if (control->wait >> k & 1)
                cycle = HD_MAX(cycle, down[k]);
        if (control->read_sb != ISA_NO_SB)
            down[control->read_sb] = HD_MAX(down[control->read_sb], cycle + SOURCES_CYCLES);
        if (control->write_sb != ISA_NO_SB)
            down[control->write_sb] =
                HD_MAX(down[control->write_sb], cycle + isa_typical_latency(insn->op));
        cycle += control->stall;
        busy[isa_row(insn->op)->pipe] += isa_issue_cycles(insn->op);
        cost->instructions += weight;
        cost->stalls += weight * control->stall;
        cost->reused += weight * (unsigned)__builtin_popcount(control->reuse);
    }
    cost->cycles += weight * cycle;
    for (unsigned p = 0; p < ISA_PIPES; p++)
        most = HD_MAX(most, busy[p]);
    most = HD_MAX(most, end - code->blocks.at[block]->word);
    cost->busy += weight * most;
}

/* By the rule of schedule.c: warps hide each other's waiting, as far as pipes are free. */
uint64_t report_cost(const struct codegen_unit *unit)
{
    double warps = mc_warps_of(unit->code->registers);
    double hidden = (double)unit->cost.cycles / warps;

    return (uint64_t)(1000 * (HD_MAX(hidden, (double)unit->cost.busy) + hidden / 8));
}

/* ---- code */

static void insn_json(struct hd_json *json, const struct mc_insn *insn, size_t at)
{
    const struct isa_row *row = isa_row(insn->isa.op);
    const struct isa_control *control = &insn->isa.control;
    struct hd_buf text;
    unsigned sources = 0;

    hd_buf_init(&text);
    isa_print(&insn->isa, at * ISA_WORD_BYTES, &text);
    hd_json_open(json, NULL, '{');
    hd_json_str(json, "op", row->name);
    hd_json_str(json, "text", text.ptr);
    hd_json_u64(json, "stall", control->stall);
    hd_json_u64(json, "wait", control->wait);
    if (control->write_sb != ISA_NO_SB)
        hd_json_u64(json, "write", control->write_sb);
    if (control->read_sb != ISA_NO_SB)
        hd_json_u64(json, "read", control->read_sb);
    hd_json_u64(json, "reuse", (unsigned)__builtin_popcount(control->reuse));
    for (unsigned i = 0; i < row->noperands; i++) {
        const struct isa_operand *o = &insn->isa.operands[i];
        enum isa_field field = (enum isa_field)row->operands[i].field;

        sources +=
            isa_field(field)->reuse != ISA_NO_BIT && o->kind == ISA_KIND_REG && o->value != ISA_RZ;
        if (o->kind == ISA_KIND_IMMEDIATE)
            hd_json_i64(json, row->immediate == ISA_IMMEDIATE_INT ? "int" : "float",
                        (int32_t)o->value);
        else if (o->kind == ISA_KIND_CONSTANT)
            hd_json_i64(json, "constant", o->value);
        else if (o->kind == ISA_KIND_TARGET && insn->target)
            hd_json_i64(json, "target", (int64_t)insn->target->word - (int64_t)at - 1);
        else if (field == ISA_FIELD_OFFSET)
            hd_json_i64(json, "offset", o->value);
    }
    hd_json_u64(json, "sources", sources);
    if (insn->is_uniform)
        hd_json_bool(json, "uniform", true);
    if (insn->from) {
        hd_json_u64(json, "block", insn->from->block->id);
        text.len = 0;
        ir_print_instr(insn->from, &text);
        hd_json_str(json, "ir", text.ptr);
    }
    hd_json_close(json, '}');
    hd_buf_fini(&text);
}

static void code_json(const struct mc_func *f, const struct mc_code *code)
{
    struct hd_json json;

    hd_json_init(&json);
    json.on_line = true;
    hd_json_open(&json, NULL, '{');
    hd_json_str(&json, "function", f->ir->name);
    hd_json_bool(&json, "kernel", f->is_kernel);
    hd_json_open(&json, "blocks", '[');
    for (size_t k = 0; k < code->blocks.len; k++) {
        size_t end = end_of(code, k);

        hd_json_open(&json, NULL, '{');
        hd_json_u64(&json, "depth", code->blocks.at[k]->loop_depth);
        hd_json_open(&json, "instructions", '[');
        for (size_t i = code->blocks.at[k]->word; i < end; i++)
            insn_json(&json, &code->insns.at[i], i);
        hd_json_close(&json, ']');
        hd_json_close(&json, '}');
    }
    hd_json_close(&json, ']');
    hd_json_close(&json, '}');
    hd_log_dump(HD_DEBUG_CODE, f->ir->name, json.buf.ptr ? json.buf.ptr : "");
    hd_buf_fini(&json.buf);
}

void report_func(struct codegen_unit *unit, const struct mc_func *f, const struct mc_code *code)
{
    for (size_t i = 0; i < code->blocks.len; i++)
        add_block(&unit->cost, f, code, i);
    if (hd_debug(HD_DEBUG_CODE))
        code_json(f, code);
}

void report_kernel(const struct codegen_unit *unit, const char *name)
{
    const struct isa_code *code = unit->code;
    const struct codegen_cost *cost = &unit->cost;

    hd_log_debug(HD_DEBUG_COUNTS,
                 "kernel=%s words=%zu registers=%u spilled_B=%u instructions=%llu stalls=%llu "
                 "cycles=%llu reused=%llu",
                 name, code->words.len, code->registers, code->spilled_B,
                 (unsigned long long)cost->instructions, (unsigned long long)cost->stalls,
                 (unsigned long long)cost->cycles, (unsigned long long)cost->reused);
}
