/* Probes that count, made of the notes that lowering left. */
#include "ir/count.h"

#include <assert.h>

#include "ir/probe.h"
#include "ir/payload.h"

enum { SECTOR_B = 32 };

struct counting {
    struct ir_module *module;
    struct ir_instr *head; /* the note that becomes the probe of the open group; NULL: none */
    uint32_t first;        /* of its items */
    uint32_t instr;        /* of the last note */
    bool has_instr;
    struct ir_instr *atom;         /* the probe of that instruction's first atomic */
    bool is_issued_only;           /* by that note: it has no accesses */
    const struct ir_instr *access; /* the last probe of one, and how many this instruction has */
    uint32_t naccesses;
    bool *seen; /* by instruction: it has ended before */
};

/* Behind these other lanes may be together. */
static bool count_parts_lanes(const struct ir_instr *in)
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

static void count_group_close(struct counting *c)
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

static struct ir_counted *count_of_last(const struct counting *c)
{
    return &c->module->counted.at[c->instr];
}

static void count_note_take(struct counting *c, struct ir_instr *note)
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
    count_of_last(c)->ops = count_of_last(c)->window_B =
        0; /* this may be another copy of its function */
    c->is_issued_only = ir_count_kind(item) == IR_COUNT_ISSUE;
    c->naccesses = 0;
    if (note != c->head)
        ir_instr_remove(note);
}

static bool count_is_branch(const struct counting *c, const struct ir_instr *in)
{
    return in->op == IR_OP_CBR && c->module->counted.at[c->instr].classes & IR_COUNT_BRANCH;
}

static bool count_is_counted_access(const struct ir_instr *in)
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

static bool count_multimem_copies(const struct ir_instr *in)
{
    const struct ir_multimem m = ir_multimem_of(in);

    return ir_multimem_copies(&m);
}

static uint32_t count_access_operands(const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_COPY:
    case IR_OP_REDUCE:
    case IR_OP_TENSORCOPY:
        return in->nsrc - ir_has(in, IR_MOD_POLICY);
    case IR_OP_MULTIMEM:
        return count_multimem_copies(in) ? in->nsrc : 1;
    default:
        return 1;
    }
}

static void count_probe_access(struct counting *c, struct ir_instr *in)
{
    struct ir_builder b = {
        .func = in->block->func, .block = in->block, .before = in, .srcloc = in->srcloc};
    struct ir_counted *counted = count_of_last(c);
    struct ir_instr *probe;

    /* A vector of atomics is one access, of whose elements each is an operation here. */
    if (in->op == IR_OP_ATOM && c->atom) {
        c->atom->mem.vec = (uint8_t)(HD_MAX(c->atom->mem.vec, 1) + 1);
        return;
    }
    probe = ir_build_instr(&b, IR_OP_PROBE_ACCESS, in->type, count_access_operands(in), in->src, 0);
    probe->imm = ir_probe_imm(in->op, false, c->instr);
    probe->mem = in->mem;
    counted->imm = in->imm;
    counted->registers = (uint8_t)(in->op == IR_OP_LDMATRIX ? in->ndst : in->nsrc - 1);
    if (in->op == IR_OP_ATOM)
        c->atom = probe;
    c->access = probe;
    c->naccesses++;
}

/* ---- operations with a payload */

static void count_probe_payload(struct counting *c, struct ir_instr *in, uint32_t operands)
{
    struct ir_builder b = {
        .func = in->block->func, .block = in->block, .before = in, .srcloc = in->srcloc};

    assert(operands <= IR_PROBE_OPERANDS_MAX);
    ir_build_instr(&b, IR_OP_PROBE, IR_VOID, operands, in->src, 0)->imm =
        ir_probe_imm(in->op, false, c->instr);
}

static void count_payload(struct counting *c, struct ir_instr *in)
{
    struct ir_counted *counted = count_of_last(c);

    if (in->op == IR_OP_MMA) {
        /* Of a warp: of wgmma its 16 rows, and a quarter of b, which four warps read together. */
        const struct ir_mma *mma = ir_ext_mma(in);
        enum { WARPS = 4 };
        bool b_window = mma->flags >> IR_MMA_B_WINDOW & 1,
             a_window = mma->flags >> IR_MMA_A_WINDOW & 1;
        bool is_sparse = mma->flags >> IR_MMA_SPARSE & 1, by_quads = mma->flags >> IR_MMA_QUADS & 1;
        uint32_t line_B = mma->k * ir_type_bits(mma->b) / 8;

        counted->ops += (by_quads ? 4u : 1u) * 2 * mma->m * mma->n * mma->k / IR_COUNT_WARP;
        if (b_window)
            counted->window_B += mma->n * line_B / WARPS / IR_COUNT_WARP;
        if (a_window)
            counted->window_B += mma->m * (line_B >> is_sparse) / IR_COUNT_WARP;
    }
    if (in->op == IR_OP_TEX && ir_tex_has_texels(ir_ext_tex(in))) {
        counted->what.tex = *ir_ext_tex(in);
        count_probe_payload(c, in, in->nsrc - ir_tex_data_words(ir_ext_tex(in)));
    }
    if (in->op == IR_OP_TENSOR &&
        (ir_ext_tensor(in)->op == IR_TENSOR_MMA || ir_ext_tensor(in)->op == IR_TENSOR_CP)) {
        counted->what.tensor = *ir_ext_tensor(in);
        count_probe_payload(c, in, in->nsrc);
    }
}

/* ---- instructions */

static bool count_is_plain(const struct ir_instr *probe)
{
    enum ir_op op = ir_probe_op(probe);

    return op == IR_OP_LD || op == IR_OP_ST;
}

/* An instruction is an access if it is one wherever it stands: where its function is inlined. */
static void count_instr_end(struct counting *c)
{
    struct ir_counted *in = count_of_last(c);
    bool is_access = c->naccesses == 1 && count_is_plain(c->access);
    uint32_t size_B = is_access ? (uint32_t)ir_probe_size_B(c->access) : 0;

    if (!c->has_instr || c->is_issued_only)
        return;
    in->access_B = !c->seen[c->instr] || in->access_B == size_B ? size_B : 0;
    c->seen[c->instr] = true;
}

static void count_instr(struct counting *c, struct ir_instr *in)
{
    if (!c->has_instr)
        return;
    if (count_is_branch(c, in)) {
        const uint32_t instr = c->instr;
        struct ir_builder b = {
            .func = in->block->func, .block = in->block, .before = in, .srcloc = in->srcloc};

        ir_build_instr(&b, IR_OP_PROBE, IR_VOID, 1, in->src, 0)->imm =
            ir_probe_imm(IR_OP_CBR, false, instr);
    }
    if (count_is_counted_access(in))
        count_probe_access(c, in);
    count_payload(c, in);
}

static void count_block(struct counting *c, struct ir_block *block)
{
    c->has_instr = false;
    ir_foreach_instr_safe(in, block) {
        if (in->op == IR_OP_NOTE) {
            count_instr_end(c);
            count_note_take(c, in);
            continue;
        }
        count_instr(c, in);
        if (count_parts_lanes(in))
            count_group_close(c);
    }
    count_instr_end(c);
    count_group_close(c);
}

bool ir_count_insert(struct ir_module *module)
{
    struct counting c = {.module = module};

    assert(module->has_counts && !module->has_notes);
    c.seen = hd_arena_array(&module->arena, bool, module->counted.len + 1);
    if (!c.seen)
        return false;
    ir_foreach_func(func, module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            count_block(&c, func->blocks[i]);
    if (module->counted.len >= 1u << IR_PROBE_IMM_BITS ||
        module->count_groups.len >= 1u << IR_PROBE_IMM_BITS)
        return hd_error(HD_NOT_SUPPORTED, "too many instructions to count") == HD_OK;
    return !module->arena.failed;
}

/* ---- counters */

bool ir_count_is_settled(const struct ir_module *module, const struct ir_instr *probe)
{
    return module->counted.at[ir_probe_its_imm(probe)].access_B != 0;
}

static void count_space_set(struct ir_counted *in, enum ir_space space, bool is_first)
{
    bool is_shared = space == IR_SPACE_SHARED;

    if ((!is_shared && space != IR_SPACE_GLOBAL) || (!is_first && is_shared != in->is_shared))
        in->access_B = 0;
    in->is_shared = is_shared;
}

bool ir_count_finish(struct ir_module *module)
{
    bool *seen = hd_arena_array(&module->arena, bool, module->counted.len + 1);

    ir_foreach_func(func, module) {
        for (uint32_t i = 0; i < func->nblocks; i++) {
            ir_foreach_instr(in, func->blocks[i]) {
                uint32_t instr = in->op == IR_OP_PROBE_ACCESS ? ir_probe_its_imm(in) : 0;
                if (!seen || in->op != IR_OP_PROBE_ACCESS)
                    continue;
                count_space_set(&module->counted.at[instr], in->mem.space, !seen[instr]);
                seen[instr] = true;
            }
        }
    }
    ir_probe_finish(module);
    return seen != NULL;
}

/* How often instructions came to their accesses. */
static void count_silent_add(const struct ir_module *m, uint64_t *words)
{
    for (uint32_t g = 0; g < m->count_groups.len; g++) {
        const struct ir_count_group *group = &m->count_groups.at[g];
        const uint64_t *own = words + ir_count_group_word(g);
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            uint32_t item = m->count_items.at[i];
            uint64_t *of = words + ir_count_instr_word(m, ir_count_instr(item));
            if (ir_count_kind(item) == IR_COUNT_ISSUE)
                continue;
            of[IR_COUNT_SILENT_WARPS] += own[IR_COUNT_WARPS];
            of[IR_COUNT_SILENT_LANES] += own[IR_COUNT_LANES];
        }
    }
}

void ir_count_settle(const struct ir_module *m, uint64_t *words)
{
    count_silent_add(m, words);
    for (uint32_t i = 0; i < m->counted.len; i++) {
        const struct ir_counted *in = &m->counted.at[i];
        uint64_t *of = words + ir_count_instr_word(m, i);
        if (in->access_B) {
            uint64_t *access =
                words +
                ir_count_access_word(m, i, in->is_shared ? IR_COUNT_IN_SHARED : IR_COUNT_IN_GLOBAL);
            uint64_t warps = of[IR_COUNT_SILENT_WARPS] - access[IR_COUNT_REQUESTS];
            uint64_t lanes = of[IR_COUNT_SILENT_LANES] - access[IR_COUNT_LANES_IN];
            uint64_t ideal = in->access_B <= 4 ? 1 : in->access_B <= 8 ? 2 : 4;
            uint64_t sectors = in->access_B * IR_COUNT_WARP / SECTOR_B;

            access[IR_COUNT_REQUESTS] += warps;
            access[IR_COUNT_LANES_IN] += lanes;
            access[IR_COUNT_BYTES] += lanes * in->access_B;
            access[IR_COUNT_SECTORS] += in->is_shared ? 0 : warps * sectors;
            access[IR_COUNT_IDEAL_SECTORS] += in->is_shared ? 0 : warps * sectors;
            access[IR_COUNT_WAVEFRONTS] += in->is_shared ? warps * ideal : 0;
            access[IR_COUNT_IDEAL_WAVEFRONTS] += in->is_shared ? warps * ideal : 0;
        }
        of[IR_COUNT_SILENT_WARPS] = of[IR_COUNT_SILENT_LANES] = 0;
    }
}
