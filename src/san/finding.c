/* See finding.h. */
#include "san/finding.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "san/stack.h"
#include "san/tool.h"

enum {
    CALLS_MAX = 16, /* places that a record names: calls that were inlined into each other */
    PC_STEP_B = 16, /* what an instruction counts in "+0x90": as many bytes as on GPUs */
};

void san_detail(struct san_finding *finding, const char *fmt, ...)
{
    va_list args;

    assert(finding->ndetails <= SAN_DETAILS_MAX);
    if (finding->ndetails == SAN_DETAILS_MAX)
        return;
    va_start(args, fmt);
    vsnprintf(finding->details[finding->ndetails++], SAN_DETAIL_B, fmt, args);
    va_end(args);
}

/* ---- places */

static const char *kernel_of(const struct san_finding *f)
{
    return f->launch    ? f->launch->about.kernel->name
           : f->nactors ? f->actors[0].cta->launch->about.kernel->name
                        : NULL;
}

static const struct san_launch *launch_of(const struct san_finding *f)
{
    return f->launch ? f->launch : f->nactors ? f->actors[0].cta->launch : NULL;
}

/* Which instruction of its function it is, probes not counted. */
static uint64_t number_in_func(const struct ir_instr *at)
{
    const struct ir_func *func = at->block->func;
    uint64_t n = 0;

    for (uint32_t i = 0; i < func->nblocks; i++)
        ir_foreach_instr(in, func->blocks[i]) {
            if (in == at)
                return n;
            n += in->op != IR_OP_PROBE && in->op != IR_OP_PROBE_ACCESS;
        }
    return n;
}

static const struct ir_inline *call_of(const struct ir_module *module,
                                       const struct ir_srcloc *srcloc)
{
    return srcloc->inlined ? &module->inlines.at[srcloc->inlined - 1] : NULL;
}

/* Innermost first: where the instruction is, then where the functions around it were called. */
static void write_srclocs(struct hd_json *j, const struct ir_instr *at)
{
    const struct ir_module *module = at->block->func->module;
    const struct ir_srcloc *srcloc = &at->srcloc;

    hd_json_open(j, "device", '[');
    for (unsigned n = 0; srcloc && n < CALLS_MAX; n++) {
        const struct ir_inline *call = call_of(module, srcloc);
        bool named = call && call->func[0];

        hd_json_open(j, NULL, '{');
        hd_json_str(j, "func", named ? call->func : at->block->func->name);
        if (srcloc->file && srcloc->line) {
            hd_json_str(j, "file", ir_source_file(module, srcloc));
            hd_json_u64(j, "line", srcloc->line);
            if (srcloc->col)
                hd_json_u64(j, "column", srcloc->col);
        }
        hd_json_close(j, '}');
        srcloc = call ? &call->at : NULL;
    }
    hd_json_close(j, ']');
}

static void thread_of(const struct san_actor *actor, uint32_t out[3])
{
    assert(actor->lane < 32);
    ir_thread_index(actor->cta->launch->about.block, actor->warp * 32 + actor->lane, out);
}

static void write_actor(struct hd_json *j, const struct san_actor *actor)
{
    uint32_t thread[3];

    assert(actor->at && actor->lane < 32);
    assert(actor->warp * 32 + actor->lane < actor->cta->launch->nthreads);
    thread_of(actor, thread);
    hd_json_open(j, NULL, '{');
    hd_json_index(j, "thread", thread);
    hd_json_index(j, "block", actor->cta->base->ctaid);
    if (actor->verb)
        hd_json_str(j, "verb", actor->verb);
    if (actor->value_B) {
        hd_json_hex(j, "value", actor->value);
        hd_json_u64(j, "value_B", actor->value_B);
    }
    hd_json_hex(j, "pc", number_in_func(actor->at) * PC_STEP_B);
    write_srclocs(j, actor->at);
    hd_json_close(j, '}');
}

static void write_launch(struct hd_json *j, const struct san_launch *launch)
{
    hd_json_open(j, "launch", '{');
    hd_json_u64(j, "number", launch->number);
    hd_json_str(j, "kernel", launch->about.kernel->name);
    hd_json_index(j, "grid", launch->about.grid);
    hd_json_index(j, "block", launch->about.block);
    hd_json_close(j, '}');
}

static void write_call(struct hd_json *j, const struct san_finding *f)
{
    hd_json_open(j, "call", '{');
    hd_json_str(j, "name", f->call.name);
    hd_json_str(j, "error", f->call.error);
    hd_json_str(j, "message", f->call.message);
    hd_json_i64(j, "code", f->call.code);
    hd_json_close(j, '}');
}

static void write_sides(struct hd_json *j, const struct san_finding *f)
{
    hd_json_open(j, "sides", '[');
    for (uint32_t i = 0; i < f->nsides; i++) {
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "verb", f->sides[i].verb);
        hd_json_str(j, "name", f->sides[i].name);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

void san_finding_write(struct hd_json *j, const struct san_finding *f, const char *program,
                       bool stacks)
{
    const struct san_launch *launch = launch_of(f);

    hd_json_str(j, "tool", f->tool);
    hd_json_str(j, "kind", f->kind);
    hd_json_str(j, "severity", san_severity_words[f->severity]);
    hd_json_str(j, "title", f->title);
    hd_json_u64(j, "count", f->count ? f->count : 1);
    if (f->has_address)
        hd_json_hex(j, "address", f->address);
    if (f->space)
        hd_json_str(j, "space", f->space);
    if (f->direction)
        hd_json_str(j, "direction", f->direction);
    if (f->size_B)
        hd_json_u64(j, "size_B", f->size_B);
    if (launch)
        write_launch(j, launch);
    if (f->call.name)
        write_call(j, f);
    hd_json_open(j, "actors", '[');
    for (uint32_t i = 0; i < f->nactors; i++)
        write_actor(j, &f->actors[i]);
    hd_json_close(j, ']');
    if (f->nsides)
        write_sides(j, f);
    hd_json_open(j, "details", '[');
    for (uint32_t i = 0; i < f->ndetails; i++)
        hd_json_str(j, NULL, f->details[i]);
    hd_json_close(j, ']');
    if (!stacks)
        return;
    san_stack_write(j, "launch_stack", launch ? launch->from : NULL, program);
    san_stack_write(j, "stack", f->stack, program);
    san_stack_write(j, "other_stack", f->other, program);
    san_stack_write(j, "allocated", f->allocated, program);
    san_stack_write(j, "freed", f->freed, program);
}

/* ---- of many findings */

void san_finding_extend(const struct san_finding *f, struct san_extent *extent)
{
    const struct san_launch *launch = launch_of(f);
    uint32_t thread[3];

    assert(f->nactors <= HD_COUNT_OF(f->actors));
    for (uint32_t i = 0; i < f->nactors; i++) {
        thread_of(&f->actors[i], thread);
        san_extent_add_thread(extent, thread, f->actors[i].cta->base->ctaid);
    }
    if (launch)
        san_extent_add_launch(extent, launch->number);
    if (f->has_address)
        san_extent_add_address(extent, f->address);
    extent->size_B += f->size_B;
}

void san_finding_write_extent(struct hd_json *j, const struct san_extent *extent)
{
    static const char *const ends[] = {"least", "greatest"};

    for (int i = 0; i < 2; i++) {
        hd_json_open(j, ends[i], '{');
        if (extent->has_threads) {
            hd_json_index(j, "thread", extent->thread[i]);
            hd_json_index(j, "block", extent->block[i]);
        }
        if (extent->has_launches)
            hd_json_u64(j, "launch", extent->launch[i]);
        if (extent->has_addresses)
            hd_json_hex(j, "address", extent->address[i]);
        hd_json_close(j, '}');
    }
    hd_json_u64(j, "size_B", extent->size_B);
}

/* ---- causes */

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    return hd_hash(bytes, len, hash);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return text ? mix(hash, text, strlen(text) + 1) : hash;
}

static uint64_t mix_srcloc(uint64_t hash, const struct ir_instr *at)
{
    const struct ir_module *module = at->block->func->module;
    const struct ir_srcloc *srcloc = &at->srcloc;
    uint64_t number = number_in_func(at);

    hash = mix(mix_text(hash, at->block->func->name), &number, sizeof(number));
    for (unsigned n = 0; srcloc && n < CALLS_MAX; n++) {
        const struct ir_inline *call = call_of(module, srcloc);
        uint32_t line = srcloc->line;

        if (srcloc->file)
            hash = mix_text(hash, ir_source_file(module, srcloc));
        hash = mix(hash, &line, sizeof(line));
        srcloc = call ? &call->at : NULL;
    }
    return hash;
}

static uint64_t mix_stack(uint64_t hash, const struct san_stack *stack)
{
    return stack ? mix(hash, stack->pc, stack->n * sizeof(stack->pc[0])) : hash;
}

uint64_t san_finding_cause(const struct san_finding *f)
{
    uint64_t hash = mix_text(mix_text(1, f->tool), f->kind);

    hash = mix_text(mix_text(hash, kernel_of(f)), f->call.name);
    for (uint32_t i = 0; i < f->nactors; i++)
        hash = mix_srcloc(hash, f->actors[i].at);
    for (uint32_t i = 0; i < f->nsides; i++)
        hash = mix_text(mix_text(hash, f->sides[i].verb), f->sides[i].name);
    /* The host is involved: where it was. Addresses differ between processes. */
    const struct san_stack *stack = f->stack ? f->stack : f->allocated;
    if (!f->nactors)
        hash = mix_stack(hash, stack);
    return f->nsides ? mix_stack(hash, f->other) : hash;
}
