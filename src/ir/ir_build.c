#include "ir/ir.h"

#include <assert.h>

static struct hd_arena *func_arena(const struct ir_func *func)
{
    return &func->module->arena;
}

/* An array of pointers; when memory is short *n becomes 0 (and the arena remembers). */
static void *ptr_array(struct ir_func *func, uint32_t *n)
{
    void *array;

    if (!*n)
        return NULL;
    array = hd_arena_try_alloc_array(func_arena(func), *n, sizeof(void *));
    if (!array)
        *n = 0;
    return array;
}

struct ir_block *ir_block_create(struct ir_func *func)
{
    struct ir_block *block = hd_arena_new(func_arena(func), struct ir_block);

    block->func = func;
    if (func->nblocks == func->blocks_cap) {
        uint32_t cap = func->blocks_cap ? func->blocks_cap * 2 : 8;
        struct ir_block **blocks = ptr_array(func, &cap);
        if (!blocks)
            return block;
        if (func->nblocks)
            memcpy(blocks, func->blocks, func->nblocks * sizeof(struct ir_block *));
        func->blocks = blocks;
        func->blocks_cap = cap;
    }
    assert(func->nblocks < func->blocks_cap);
    block->id = func->nblocks;
    func->blocks[func->nblocks++] = block;
    return block;
}

void ir_block_set_succs(struct ir_block *block, uint32_t n, struct ir_block *const *succs)
{
    if (n > block->nsuccs || !block->succs) {
        block->nsuccs = n;
        block->succs = ptr_array(block->func, &block->nsuccs);
    } else {
        block->nsuccs = n;
    }
    if (block->nsuccs)
        memmove(block->succs, succs, block->nsuccs * sizeof(struct ir_block *));
}

static void instr_link(struct ir_block *block, struct ir_instr *before, struct ir_instr *instr)
{
    assert(!before || before->block == block);
    assert(!instr->block && !block->first == !block->last);
    instr->block = block;
    instr->next = before;
    instr->prev = before ? before->prev : block->last;
    if (instr->prev)
        instr->prev->next = instr;
    else
        block->first = instr;
    if (before)
        before->prev = instr;
    else
        block->last = instr;
}

static void instr_unlink(struct ir_instr *instr)
{
    assert(instr->block);
    assert(!instr->prev || instr->prev->next == instr);
    assert(!instr->next || instr->next->prev == instr);
    if (instr->prev)
        instr->prev->next = instr->next;
    else
        instr->block->first = instr->next;
    if (instr->next)
        instr->next->prev = instr->prev;
    else
        instr->block->last = instr->prev;
    instr->prev = instr->next = NULL;
    instr->block = NULL;
}

/* The width of result `index`; for role `v` a default that the caller may overwrite. */
static enum ir_type result_type(enum ir_op op, enum ir_type type, uint32_t index)
{
    char role = ir_operand_role(ir_op_infos[op].dst, index);

    assert(role && role != '2'); /* type2 is not known yet */
    if (role == 'v')
        return op == IR_OP_VOTE ? IR_PRED : IR_B32;
    return ir_role_type(role, type, IR_VOID);
}

static struct ir_instr *instr_create(struct ir_func *func, enum ir_op op, enum ir_type type,
                                     uint32_t nsrc, uint32_t ndst)
{
    struct ir_instr *instr = hd_arena_new(func_arena(func), struct ir_instr);

    assert(op < IR_OP_COUNT && type < IR_TYPE_COUNT);
    instr->op = op;
    instr->type = type;
    instr->nsrc = nsrc;
    instr->src = ptr_array(func, &instr->nsrc);
    instr->ndst = ndst;
    instr->dst = ptr_array(func, &instr->ndst);
    for (uint32_t i = 0; i < instr->ndst; i++) {
        struct ir_value *value = hd_arena_new(func_arena(func), struct ir_value);
        value->id = func->nvalues++;
        value->type = result_type(op, type, i);
        value->instr = instr;
        value->index = i;
        instr->dst[i] = value;
    }
    return instr;
}

struct ir_instr *ir_build_instr(struct ir_builder *b, enum ir_op op, enum ir_type type,
                                uint32_t nsrc, struct ir_value *const *src, uint32_t ndst)
{
    struct ir_instr *instr = instr_create(b->func, op, type, nsrc, ndst);
    assert(b->block && b->block->func == b->func);

    for (uint32_t i = 0; i < instr->nsrc; i++)
        instr->src[i] = src[i];
    instr->srcloc = b->srcloc;
    instr_link(b->block, b->before, instr);
    return instr;
}

/* When memory ran out the instruction has no result: hand out something to hold on to. */
static struct ir_value *first_result(struct ir_builder *b, struct ir_instr *instr)
{
    return instr->ndst ? instr->dst[0] : hd_arena_new(func_arena(b->func), struct ir_value);
}

struct ir_value *ir_build_const(struct ir_builder *b, enum ir_type type, uint64_t bits)
{
    struct ir_instr *instr = ir_build_instr(b, IR_OP_CONST, type, 0, NULL, 1);
    unsigned width = ir_type_bits(type);

    assert(type == ir_type_value(type));
    instr->imm = width < 64 ? bits & ((1ull << width) - 1) : bits;
    return first_result(b, instr);
}

struct ir_value *ir_build1(struct ir_builder *b, enum ir_op op, enum ir_type type,
                           struct ir_value *a)
{
    return first_result(b, ir_build_instr(b, op, type, 1, &a, 1));
}

struct ir_value *ir_build2(struct ir_builder *b, enum ir_op op, enum ir_type type,
                           struct ir_value *a, struct ir_value *c)
{
    struct ir_value *src[] = {a, c};
    return first_result(b, ir_build_instr(b, op, type, 2, src, 1));
}

struct ir_value *ir_build3(struct ir_builder *b, enum ir_op op, enum ir_type type,
                           struct ir_value *a, struct ir_value *c, struct ir_value *d)
{
    struct ir_value *src[] = {a, c, d};
    return first_result(b, ir_build_instr(b, op, type, 3, src, 1));
}

struct ir_value *ir_build_sreg(struct ir_builder *b, enum ir_sreg sreg)
{
    struct ir_instr *instr = ir_build_instr(b, IR_OP_SREG, ir_sreg_type(sreg), 0, NULL, 1);

    assert(sreg < IR_SREG_COUNT);
    instr->imm = sreg;
    return first_result(b, instr);
}

struct ir_value *ir_build_setp(struct ir_builder *b, enum ir_op setp_op, enum ir_type type,
                               enum ir_cmp cmp, struct ir_value *a, struct ir_value *c)
{
    struct ir_value *src[] = {a, c};
    struct ir_instr *instr = ir_build_instr(b, setp_op, type, 2, src, 1);

    assert(ir_op_has(setp_op, IR_F_CMP));
    instr->cmp = cmp;
    return first_result(b, instr);
}

struct ir_value *ir_build_cvt(struct ir_builder *b, enum ir_type to, enum ir_type from,
                              enum ir_rnd rnd, struct ir_value *a)
{
    struct ir_instr *instr = ir_build_instr(b, IR_OP_CVT, to, 1, &a, 1);

    instr->type2 = from;
    instr->rnd = rnd;
    return first_result(b, instr);
}

void ir_build_br(struct ir_builder *b, struct ir_block *target)
{
    assert(!b->before); /* a terminator is last */
    ir_build_instr(b, IR_OP_BR, IR_VOID, 0, NULL, 0);
    ir_block_set_succs(b->block, 1, &target);
}

void ir_build_cbr(struct ir_builder *b, struct ir_value *pred, struct ir_block *if_true,
                  struct ir_block *if_false)
{
    struct ir_block *succs[] = {if_true, if_false};

    assert(!b->before);
    ir_build_instr(b, IR_OP_CBR, IR_VOID, 1, &pred, 0);
    ir_block_set_succs(b->block, 2, succs);
}

struct ir_instr *ir_build_phi(struct ir_block *block, enum ir_type type)
{
    struct ir_instr *phi = instr_create(block->func, IR_OP_PHI, type, block->npreds, 1);

    assert(phi->nsrc <= block->npreds);
    instr_link(block, block->first, phi);
    return phi;
}

void ir_instr_remove(struct ir_instr *instr)
{
    instr_unlink(instr);
}

void ir_instr_move_before(struct ir_instr *instr, struct ir_instr *before)
{
    assert(instr != before);
    assert(before->block && before->block->func == instr->block->func);
    instr_unlink(instr);
    instr_link(before->block, before, instr);
}

void ir_instr_append(struct ir_block *block, struct ir_instr *instr)
{
    if (instr->block)
        instr_unlink(instr);
    instr_link(block, NULL, instr);
}
