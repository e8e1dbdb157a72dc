/* Where probes go, and what they carry. */
#include "ir/probe.h"

#include "base/mem.h"
#include "ir/payload.h"

/* Of the set, in here: ends of threads. */
#define PROBE_ENDS (1u << 31)

/* A row for each operation that has one: what set it belongs to, and its operands. */
enum operands {
    OPERANDS_NONE,
    OPERANDS_ADDRESS, /* the first */
    OPERANDS_ALL,
    OPERANDS_BAR,  /* number and count */
    OPERANDS_MASK, /* the last: the members */
    OPERANDS_TEX,
    OPERANDS_WINDOWS, /* descriptors of an MMA */
    OPERANDS_MULTIMEM,
    OPERANDS_TENSOR_WARP,
};

struct row {
    bool is_access;
    uint8_t operands;
};

static const struct row rows[IR_OP_COUNT] = {
    [IR_OP_LD] = {true, OPERANDS_ADDRESS},
    [IR_OP_ST] = {true, OPERANDS_ADDRESS},
    [IR_OP_ATOM] = {true, OPERANDS_ADDRESS},
    [IR_OP_LDMATRIX] = {true, OPERANDS_ADDRESS},
    [IR_OP_STMATRIX] = {true, OPERANDS_ADDRESS},
    [IR_OP_COPY] = {true, OPERANDS_ALL},
    [IR_OP_REDUCE] = {true, OPERANDS_ALL},
    [IR_OP_MBARRIER] = {true, OPERANDS_ALL},
    [IR_OP_MULTIMEM] = {true, OPERANDS_MULTIMEM},
    [IR_OP_TENSORCOPY] = {true, OPERANDS_ALL},
    [IR_OP_BAR] = {false, OPERANDS_BAR},
    [IR_OP_WARPSYNC] = {false, OPERANDS_MASK},
    [IR_OP_SHFL] = {false, OPERANDS_MASK},
    [IR_OP_VOTE] = {false, OPERANDS_MASK},
    [IR_OP_MATCH] = {false, OPERANDS_MASK},
    [IR_OP_REDUX] = {false, OPERANDS_MASK},
    [IR_OP_ELECT] = {false, OPERANDS_MASK},
    [IR_OP_FENCE] = {false, OPERANDS_NONE},
    [IR_OP_EXIT] = {false, OPERANDS_NONE},
    [IR_OP_ASYNC] = {false, OPERANDS_ALL},
    [IR_OP_TEX] = {false, OPERANDS_TEX},
    [IR_OP_MMA] = {false, OPERANDS_WINDOWS},
    [IR_OP_TENSOR] = {false, OPERANDS_ALL},
    [IR_OP_TENSOR_WARP] = {false, OPERANDS_TENSOR_WARP},
};

/* Of all elements of a load, store or atomic, or of the probe of one. */
static uint64_t probe_access_B(const struct ir_instr *in)
{
    return (in->mem.vec ? in->mem.vec : 1u) * (uint64_t)((ir_type_bits(in->type) + 7) / 8);
}

/* A parameter at a constant place inside of the block: nobody can learn anything from it. */
static bool probe_is_plain_param(const struct ir_instr *in)
{
    uint32_t block_B = in->block->func->param_size_B;
    uint64_t at, size_B = probe_access_B(in);

    if (in->op != IR_OP_LD || in->mem.space != IR_SPACE_PARAM || !ir_value_const(in->src[0], &at))
        return false;
    at += (uint64_t)in->mem.offset;
    return at <= block_B && size_B <= block_B - at;
}

static bool probe_is_wanted(enum ir_space space, unsigned set)
{
    if (ir_space_is_shared(space))
        return set & IR_PROBE_SHARED;
    if (space == IR_SPACE_LOCAL || space == IR_SPACE_PARAM)
        return set & IR_PROBE_LOCAL;
    return space == IR_SPACE_GENERIC ? set & (IR_PROBE_GLOBAL | IR_PROBE_SHARED | IR_PROBE_LOCAL)
                                     : set & IR_PROBE_GLOBAL;
}

static bool probe_ends_thread(const struct ir_instr *in)
{
    return in->op == IR_OP_EXIT || (in->op == IR_OP_RET && in->block->func->is_kernel);
}

static const struct row *probe_row_of(const struct ir_instr *in)
{
    return &rows[probe_ends_thread(in) ? IR_OP_EXIT : in->op];
}

static bool probe_multimem_copies(const struct ir_instr *in)
{
    if (in->op != IR_OP_MULTIMEM)
        return false;
    const struct ir_multimem m = ir_multimem_of(in);
    return ir_multimem_copies(&m);
}

/* An access of generic memory as well. */
static bool probe_has_other_side(const struct ir_instr *in)
{
    return in->op == IR_OP_COPY || in->op == IR_OP_REDUCE || in->op == IR_OP_TENSORCOPY ||
           probe_multimem_copies(in);
}

static bool probe_only_reads(const struct ir_instr *in)
{
    return in->op == IR_OP_LD || in->op == IR_OP_LDMATRIX ||
           (in->op == IR_OP_MULTIMEM && ir_multimem_of(in).verb == IR_MULTIMEM_LOAD);
}

/* ---- what says in its payload what it accesses */

static bool probe_has_window(const struct ir_instr *in)
{
    return ir_ext_mma(in)->flags >> IR_MMA_B_WINDOW & 1;
}

static bool probe_reads_matrices(const struct ir_instr *in)
{
    enum ir_tensor_op op = (enum ir_tensor_op)ir_ext_tensor(in)->op;

    return op == IR_TENSOR_CP || op == IR_TENSOR_MMA;
}

/* Of operations with a payload; others: false. */
static bool probe_is_probed_by_payload(const struct ir_instr *in, unsigned set)
{
    switch (in->op) {
    case IR_OP_TEX:
        return (set & IR_PROBE_GLOBAL && ir_tex_has_texels(ir_ext_tex(in))) ||
               (set & IR_PROBE_WRITES && ir_tex_data_words(ir_ext_tex(in)));
    case IR_OP_MMA:
        return set & IR_PROBE_SHARED && probe_has_window(in);
    case IR_OP_TENSOR:
        return set & IR_PROBE_TENSOR || (set & IR_PROBE_SHARED && probe_reads_matrices(in));
    default:
        return set & IR_PROBE_TENSOR;
    }
}

static bool probe_is_probed(const struct ir_instr *in, unsigned set)
{
    const struct row *row = probe_row_of(in);

    if (in->op == IR_OP_BUILTIN)
        return set & IR_PROBE_HEAP && (in->imm == IR_BUILTIN_MALLOC || in->imm == IR_BUILTIN_FREE);
    if (in->op == IR_OP_TEX || in->op == IR_OP_MMA || in->op == IR_OP_TENSOR ||
        in->op == IR_OP_TENSOR_WARP)
        return probe_is_probed_by_payload(in, set);
    if (in->op == IR_OP_MBARRIER && set & IR_PROBE_SYNC)
        return true;
    if (probe_is_plain_param(in))
        return false;
    if (set & IR_PROBE_WRITES && row->is_access && !probe_only_reads(in) &&
        probe_is_wanted(in->mem.space, IR_PROBE_GLOBAL))
        return true;
    if (row->is_access)
        return probe_is_wanted(in->mem.space, set) ||
               (probe_has_other_side(in) && probe_is_wanted(IR_SPACE_GENERIC, set));
    if (probe_ends_thread(in))
        return set & (IR_PROBE_SYNC | PROBE_ENDS);
    return set & IR_PROBE_SYNC && (in->op == IR_OP_FENCE || row->operands);
}

static uint32_t probe_nsources(const struct ir_instr *in)
{
    return in->nsrc - (in->nsrc && ir_has(in, IR_MOD_POLICY));
}

static bool probe_has_values(const struct ir_instr *in)
{
    return (in->op == IR_OP_STMATRIX || (in->op == IR_OP_ST && ir_type_bits(in->type) <= 64)) &&
           probe_nsources(in) <= IR_PROBE_OPERANDS_MAX;
}

/* Handles and words, without the data. */
static uint32_t probe_tex_sources(const struct ir_instr *in)
{
    return in->nsrc - ir_tex_data_words(ir_ext_tex(in));
}

/* Of b, and of a if that is one; in the order of the sources. */
static struct ir_value *const *probe_descriptors(const struct ir_instr *in, uint32_t *n)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    bool both = mma->flags >> IR_MMA_A_WINDOW & 1;

    *n = both ? 4 : 2;
    return in->src + (both ? 0 : ir_mma_registers(mma, 'a'));
}

/* Operands of the probe: n from src. */
static struct ir_value *const *probe_sources(const struct ir_instr *in, unsigned set, uint32_t *n)
{
    switch ((enum operands)probe_row_of(in)->operands) {
    case OPERANDS_NONE:
        break;
    case OPERANDS_ADDRESS:
        *n = set & IR_PROBE_VALUES && probe_has_values(in) ? probe_nsources(in) : 1;
        return in->src;
    case OPERANDS_ALL:
        *n = probe_nsources(in);
        return in->src;
    case OPERANDS_BAR:
        *n = HD_MIN(in->nsrc, 2u);
        return in->src;
    case OPERANDS_MASK:
        *n = 1;
        return in->src + in->nsrc - 1;
    case OPERANDS_TEX:
        *n = probe_tex_sources(in);
        return in->src;
    case OPERANDS_WINDOWS:
        return probe_descriptors(in, n);
    case OPERANDS_MULTIMEM:
        *n = probe_multimem_copies(in) ? probe_nsources(in) : 1;
        return in->src;
    case OPERANDS_TENSOR_WARP:
        *n = HD_MIN(in->nsrc, ir_ext_tensor_warp(in)->op == IR_TENSOR_DEALLOC ? 2u : 1u);
        return in->src;
    }
    *n = 0;
    return NULL;
}

static uint64_t probe_imm_of(const struct ir_instr *in, bool after)
{
    uint64_t imm = ir_op_has(in->op, IR_F_IMM) ? in->imm : 0;

    if (in->op == IR_OP_LDMATRIX)
        imm |= (uint64_t)in->ndst << IR_PROBE_REGISTERS_AT;
    if (in->op == IR_OP_STMATRIX)
        imm |= (uint64_t)(in->nsrc - 1) << IR_PROBE_REGISTERS_AT;
    if (in->op == IR_OP_FENCE)
        imm = in->mem.scope;
    return ir_probe_imm(probe_ends_thread(in) ? IR_OP_EXIT : in->op, after, imm);
}

static void probe_before(struct ir_builder *b, const struct ir_instr *in, unsigned set)
{
    bool is_access = probe_row_of(in)->is_access;
    enum ir_op op = is_access ? IR_OP_PROBE_ACCESS : IR_OP_PROBE;
    struct ir_value *const *src;
    struct ir_instr *probe;
    uint32_t n;

    src = probe_sources(in, set, &n);
    probe = ir_build_instr(b, op, is_access ? in->type : IR_VOID, n, src, 0);
    probe->imm = probe_imm_of(in, false);
    if (is_access)
        probe->mem = in->mem;
}

static void probe_heap(struct ir_builder *b, struct ir_instr *in)
{
    bool after = in->imm == IR_BUILTIN_MALLOC;
    struct ir_value *src[2] = {in->src[0], after ? in->dst[0] : NULL};

    assert(!ir_op_has(in->op, IR_F_TERM));
    if (after)
        b->before = in->next;
    ir_build_instr(b, IR_OP_PROBE, IR_VOID, after ? 2 : 1, src, 0)->imm = probe_imm_of(in, after);
}

static bool probe_allocates_tensor(const struct ir_instr *in)
{
    return in->op == IR_OP_TENSOR_WARP && ir_ext_tensor_warp(in)->op == IR_TENSOR_ALLOC;
}

static void probe_allocated(struct ir_builder *b, struct ir_instr *in)
{
    struct ir_value *src[2] = {in->src[0], in->dst[0]};

    b->before = in->next;
    ir_build_instr(b, IR_OP_PROBE, IR_VOID, 2, src, 0)->imm = probe_imm_of(in, true);
}

static bool probe_module_allocates_tensor(const struct ir_module *module)
{
    ir_foreach_func(func, module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i])
                if (probe_allocates_tensor(in))
                    return true;
    return false;
}

static void probe_block(struct ir_builder *b, unsigned set)
{
    ir_foreach_instr_safe(in, b->block) {
        if (!probe_is_probed(in, set))
            continue;
        b->before = in;
        b->srcloc = in->srcloc;
        if (in->op == IR_OP_BUILTIN)
            probe_heap(b, in);
        else
            probe_before(b, in, set);
        if (probe_allocates_tensor(in))
            probe_allocated(b, in);
    }
}

/* Numbers are those of ir_module_instr_at(). */
void ir_probe_finish(struct ir_module *module)
{
    uint64_t number = 0;

    module->has_probes = true;
    ir_foreach_func(func, module) {
        for (uint32_t i = 0; i < func->nblocks; i++) {
            ir_foreach_instr(in, func->blocks[i]) {
                number++;
                if (ir_is_probe(in))
                    in->imm |= number << 32;
            }
        }
    }
}

const struct ir_instr **ir_probes_by_number(const struct ir_module *module, uint32_t *out_n)
{
    uint32_t n = ir_module_size(module) + 1;
    const struct ir_instr **probes = hd_alloc_array(n, sizeof(*probes));

    if (!probes)
        return NULL;
    ir_foreach_func(func, module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i])
                if (ir_is_probe(in))
                    probes[ir_probe_number(in)] = in;
    *out_n = n;
    return probes;
}

bool ir_probe_insert(struct ir_module *module, unsigned set)
{
    if (set & IR_PROBE_TENSOR && probe_module_allocates_tensor(module))
        set |= PROBE_ENDS;
    ir_foreach_func(func, module) {
        struct ir_builder b = {.func = func};

        for (uint32_t i = 0; i < func->nblocks; i++) {
            b.block = func->blocks[i];
            probe_block(&b, set);
        }
    }
    ir_probe_finish(module);
    module->runs_apart = set & IR_PROBE_APART;
    return !module->arena.failed;
}

const struct ir_instr *ir_probed(const struct ir_instr *probe)
{
    assert(!ir_probe_is_after(probe) && probe->next);
    return probe->next;
}

uint64_t ir_probe_size_B(const struct ir_instr *probe)
{
    assert(probe->op == IR_OP_PROBE_ACCESS);
    switch (ir_probe_op(probe)) {
    case IR_OP_LD:
    case IR_OP_ST:
    case IR_OP_ATOM:
        return probe_access_B(probe);
    case IR_OP_LDMATRIX:
    case IR_OP_STMATRIX:
        return 16;
    default:
        return 0;
    }
}
