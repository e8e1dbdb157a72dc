/* Probes that count, made of the notes that lowering left. */
#include "ir/count.h"

#include <assert.h>

#include "ir/multimem.h"
#include "ir/probe.h"
#include "ir/tensor.h"
#include "ir/texture.h"

struct counting {
    struct ir_module *module;
    struct ir_instr *head; /* the note that becomes the probe of the open group; NULL: none */
    uint32_t first;        /* of its items */
    uint32_t instr;        /* of the last note */
    bool has_instr;
    struct ir_instr *atom; /* the probe of that instruction's first atomic */
};

/* Behind these other lanes may be together. */
static bool parts_lanes(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_BAR:
    case IR_OP_CALL:
    case IR_OP_CALLI:
    case IR_OP_WARPSYNC:
    case IR_OP_SHFL:
    case IR_OP_VOTE:
    case IR_OP_MATCH:
    case IR_OP_REDUX:
    case IR_OP_ELECT:
        return true;
    default:
        return ir_op_is_matrix(in->op);
    }
}

static void group_close(struct counting *c)
{
    struct ir_module *m = c->module;
    const struct ir_count_group group = {c->first, (uint32_t)m->count_items.len - c->first};

    if (!c->head)
        return;
    c->head->op = IR_OP_PROBE;
    c->head->imm = ir_probe_imm(IR_OP_NOTE, false, m->count_groups.len);
    m->arena.failed |= !hd_vec_push(&m->count_groups, group);
    c->head = NULL;
}

static struct ir_counted *of_last(const struct counting *c)
{
    return &c->module->counted.at[c->instr];
}

static void note_take(struct counting *c, struct ir_instr *note)
{
    uint32_t item = (uint32_t)note->imm;

    if (!c->head) {
        c->head = note;
        c->first = (uint32_t)c->module->count_items.len;
    }
    c->module->arena.failed |= !hd_vec_push(&c->module->count_items, item);
    c->instr = ir_count_instr(item);
    c->has_instr = true;
    c->atom = NULL;
    of_last(c)->ops = of_last(c)->window_B = 0; /* this may be another copy of its function */
    if (note != c->head)
        ir_instr_remove(note);
}

static bool is_branch(const struct counting *c, const struct ir_instr *in)
{
    return in->op == IR_OP_CBR && c->module->counted.at[c->instr].classes & IR_COUNT_BRANCH;
}

static void probe_branch(struct ir_instr *in, uint32_t instr)
{
    struct ir_builder b = {
        .func = in->block->func, .block = in->block, .before = in, .place = in->place};

    ir_build_instr(&b, IR_OP_PROBE, IR_VOID, 1, in->src, 0)->imm =
        ir_probe_imm(IR_OP_CBR, false, instr);
}

static bool is_counted_access(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LD:
    case IR_OP_ST:
    case IR_OP_ATOM:
    case IR_OP_LDMATRIX:
    case IR_OP_STMATRIX:
    case IR_OP_COPY:
    case IR_OP_REDUCE:
    case IR_OP_TENSORCOPY:
    case IR_OP_MULTIMEM:
        return in->mem.space != IR_SPACE_PARAM && in->mem.space != IR_SPACE_CONST;
    default:
        return false;
    }
}

static bool multimem_copies(const struct ir_instr *in)
{
    const struct ir_multimem m = ir_multimem_of(in);

    return ir_multimem_copies(&m);
}

static uint32_t access_operands(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_COPY:
    case IR_OP_REDUCE:
    case IR_OP_TENSORCOPY:
        return in->nsrc - ir_has(in, IR_MOD_POLICY);
    case IR_OP_MULTIMEM:
        return multimem_copies(in) ? in->nsrc : 1;
    default:
        return 1;
    }
}

static void probe_access(struct counting *c, struct ir_instr *in)
{
    struct ir_builder b = {
        .func = in->block->func, .block = in->block, .before = in, .place = in->place};
    struct ir_counted *counted = of_last(c);
    struct ir_instr *probe;

    /* A vector of atomics is one access, of whose elements each is an operation here. */
    if (in->op == IR_OP_ATOM && c->atom) {
        c->atom->mem.vec = (uint8_t)(HD_MAX(c->atom->mem.vec, 1) + 1);
        return;
    }
    probe = ir_build_instr(&b, IR_OP_PROBE_ACCESS, in->type, access_operands(in), in->src, 0);
    probe->imm = ir_probe_imm(in->op, false, c->instr);
    probe->mem = in->mem;
    counted->imm = in->imm;
    counted->registers = (uint8_t)(in->op == IR_OP_LDMATRIX ? in->ndst : in->nsrc - 1);
    if (in->op == IR_OP_ATOM)
        c->atom = probe;
}

/* ---- operations with a payload */

static void probe_payload(struct counting *c, struct ir_instr *in, uint32_t operands)
{
    struct ir_builder b = {
        .func = in->block->func, .block = in->block, .before = in, .place = in->place};

    assert(operands <= IR_PROBE_OPERANDS_MAX);
    ir_build_instr(&b, IR_OP_PROBE, IR_VOID, operands, in->src, 0)->imm =
        ir_probe_imm(in->op, false, c->instr);
}

/* Of a warp: of wgmma its 16 rows, and a quarter of b, which four warps read together. */
static void count_product(struct ir_counted *counted, const struct ir_mma *mma)
{
    enum { WARPS = 4 };
    bool b_window = mma->flags >> IR_MMA_B_WINDOW & 1, a_window = mma->flags >> IR_MMA_A_WINDOW & 1;
    bool is_sparse = mma->flags >> IR_MMA_SPARSE & 1, by_quads = mma->flags >> IR_MMA_QUADS & 1;
    uint32_t line_B = mma->k * ir_type_bits(mma->b) / 8;

    counted->ops += (by_quads ? 4u : 1u) * 2 * mma->m * mma->n * mma->k / IR_COUNT_WARP;
    if (b_window)
        counted->window_B += mma->n * line_B / WARPS / IR_COUNT_WARP;
    if (a_window)
        counted->window_B += mma->m * (line_B >> is_sparse) / IR_COUNT_WARP;
}

static void count_payload(struct counting *c, struct ir_instr *in)
{
    struct ir_counted *counted = of_last(c);

    if (in->op == IR_OP_MMA)
        count_product(counted, ir_ext_mma(in));
    if (in->op == IR_OP_TEX && ir_tex_has_texels(ir_ext_tex(in))) {
        counted->what.tex = *ir_ext_tex(in);
        probe_payload(c, in, in->nsrc - ir_tex_data_words(ir_ext_tex(in)));
    }
    if (in->op == IR_OP_TENSOR &&
        (ir_ext_tensor(in)->op == IR_TENSOR_MMA || ir_ext_tensor(in)->op == IR_TENSOR_CP)) {
        counted->what.tensor = *ir_ext_tensor(in);
        probe_payload(c, in, in->nsrc);
    }
}

static void count_block(struct counting *c, struct ir_block *block)
{
    c->has_instr = false;
    ir_foreach_instr_safe(in, block) {
        if (in->op == IR_OP_NOTE) {
            note_take(c, in);
            continue;
        }
        if (c->has_instr && is_branch(c, in))
            probe_branch(in, c->instr);
        if (c->has_instr && is_counted_access(in))
            probe_access(c, in);
        if (c->has_instr)
            count_payload(c, in);
        if (parts_lanes(in))
            group_close(c);
    }
    group_close(c);
}

bool ir_count_insert(struct ir_module *module)
{
    struct counting c = {.module = module};

    assert(module->has_counts && !module->has_notes);
    ir_foreach_func(func, module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            count_block(&c, func->blocks[i]);
    if (module->counted.len >= 1u << IR_PROBE_IMM_BITS ||
        module->count_groups.len >= 1u << IR_PROBE_IMM_BITS)
        return hd_error(HD_NOT_SUPPORTED, "too many instructions to count") == HD_OK;
    return !module->arena.failed;
}

/* ---- counters */

static void settle_probe(const struct ir_instr *probe, uint64_t *words)
{
    const struct ir_module *m = probe->block->func->module;
    uint32_t instr = ir_probe_its_imm(probe);
    uint64_t *n = words + ir_count_instr_word(m, instr) + IR_COUNT_WHOLE_WARPS;
    bool is_shared = ir_space_is_shared(probe->mem.space);
    uint64_t *access =
        words + ir_count_access_word(m, instr, is_shared ? IR_COUNT_IN_SHARED : IR_COUNT_IN_GLOBAL);
    uint64_t size_B, ideal;

    if (!*n)
        return;
    size_B = ir_probe_size_B(probe);
    ideal = !is_shared ? 0 : size_B <= 4 ? 1 : size_B <= 8 ? 2 : 4;
    access[IR_COUNT_REQUESTS] += *n;
    access[IR_COUNT_LANES_IN] += *n * IR_COUNT_WARP;
    access[IR_COUNT_BYTES] += *n * IR_COUNT_WARP * size_B;
    access[IR_COUNT_WAVEFRONTS] += *n * ideal;
    access[IR_COUNT_IDEAL_WAVEFRONTS] += *n * ideal;
    *n = 0;
}

void ir_count_settle(const struct ir_module *module, uint64_t *words)
{
    ir_foreach_func(func, module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i])
                if (in->op == IR_OP_PROBE_ACCESS)
                    settle_probe(in, words);
}
