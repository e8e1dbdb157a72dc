/* Operands: literals, registers, addresses. */
#include "lower/lower_priv.h"

#include <assert.h>
#include <string.h>

#include "base/float/softfp.h"

static uint64_t operand_float_bits(const struct ptx_operand *op, enum ir_type type)
{
    double d;
    float s;
    uint32_t bits;
    if (op->kind == PTX_OPND_F32) {
        bits = (uint32_t)op->u.bits;
        if (type != IR_F64)
            return bits;
        memcpy(&s, &bits, sizeof(s));
        d = s;
        uint64_t wide;
        memcpy(&wide, &d, sizeof(wide));
        return wide;
    }
    if (type != IR_F32)
        return op->u.bits;
    memcpy(&d, &op->u.bits, sizeof(d));
    s = (float)d;
    memcpy(&bits, &s, sizeof(bits));
    return bits;
}

/* An integer literal where a float is expected stands for its bits in untyped, its value in typed
 * use. */
static uint64_t operand_int_bits(const struct ptx_operand *op, enum ir_type type)
{
    double d = op->is_unsigned ? (double)op->u.bits : (double)(int64_t)op->u.bits;
    uint64_t wide;
    uint32_t bits;
    float s = (float)d;
    if (type == IR_F64) {
        memcpy(&wide, &d, sizeof(wide));
        return wide;
    }
    if (type == IR_F32) {
        memcpy(&bits, &s, sizeof(bits));
        return bits;
    }
    return op->u.bits;
}

/*
 * The shared memory that hardware of sm_80 and above keeps in every CTA for the system, of which
 * %reserved_smem_offset_1 names the part given to software: nvcc's cooperative groups keep barriers
 * and exchange buffers of tiles above a warp in it. Here it is an ordinary variable, there for
 * kernels that name it. It needs no initial value.
 */
static struct ir_value *operand_reserved_smem(struct lower_fn *f, uint64_t offset)
{
    static const char name[] = "__heddle_reserved_smem";
    struct ir_var *var = ir_module_find_var(f->job->module, name);
    if (!var) {
        var = ir_var_create(f->job->module, NULL, name, IR_SPACE_SHARED);
        var->linkage = IR_LINK_WEAK;
        var->size_B = LOWER_RESERVED_SMEM_B;
        var->align_B = 16;
    }
    struct ir_instr *in = lower_emit(f, IR_OP_VARADDR, IR_B64, 0, NULL, 1);
    in->var = var;
    in->imm = offset;
    return in->dst[0];
}

/* Which component or number of a special register an operand names: .x = 0, %envreg1 = 1. */
static uint32_t operand_sreg_part(const struct ptx_operand *op)
{
    if (op->index2 == PTX_SREG_ENVREG)
        return (uint32_t)op->index;
    return op->comp >= PTX_COMP_R ? (uint32_t)(op->comp - PTX_COMP_R)
           : op->comp             ? (uint32_t)(op->comp - PTX_COMP_X)
                                  : 0;
}

static bool operand_sreg_is_vector(uint32_t sreg)
{
    return sreg == PTX_SREG_TID || sreg == PTX_SREG_NTID || sreg == PTX_SREG_CTAID ||
           sreg == PTX_SREG_NCTAID || sreg == PTX_SREG_CLUSTERID || sreg == PTX_SREG_NCLUSTERID ||
           sreg == PTX_SREG_CLUSTER_CTAID || sreg == PTX_SREG_CLUSTER_NCTAID;
}

struct ir_value *lower_is_not_zero(struct lower_fn *f, struct ir_value *v)
{
    struct ir_value *both[] = {v, lower_const(f, IR_B32, 0)};
    struct ir_instr *r = lower_emit(f, IR_OP_SETP, IR_U32, 2, both, 1);
    r->cmp = IR_NE;
    return r->dst[0];
}

static struct ir_value *operand_sreg_value(struct lower_fn *f, const struct ptx_operand *op)
{
    static const struct {
        uint16_t ptx, part;
    } table[IR_SREG_COUNT] = {
#define X(name, text, type, scope, ptx, part, doc) [IR_SREG_##name] = {PTX_SREG_##ptx, part},
#include "ir_sregs.def"
#undef X
    };
    uint32_t part = operand_sreg_part(op);
    if (op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN ||
        (op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET && op->index == 1))
        return operand_reserved_smem(f, 0);
    if (op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET_END)
        return operand_reserved_smem(f, LOWER_RESERVED_SMEM_B);
    if (op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET_CAP)
        return lower_const(f, IR_B32, LOWER_RESERVED_SMEM_B);
    if (op->index2 == PTX_SREG_IS_EXPLICIT_CLUSTER)
        return lower_is_not_zero(f, ir_build_sreg(&f->b, IR_SREG_IS_EXPLICIT_CLUSTER));
    if (op->index2 == PTX_SREG_CURRENT_GRAPH_EXEC)
        return lower_current_graph_exec(f);
    if (op->index2 == PTX_SREG_AGGR_SMEM_SIZE) {
        struct ir_value *part_of[] = {ir_build_sreg(&f->b, IR_SREG_TOTAL_SMEM_SIZE),
                                      lower_const(f, IR_B32, LOWER_RESERVED_SMEM_B)};
        return lower_op(f, IR_OP_ADD, IR_B32, 2, part_of);
    }
    for (unsigned i = 0; i < IR_SREG_COUNT; i++)
        if (table[i].ptx == op->index2 && table[i].part == part)
            return ir_build_sreg(&f->b, (enum ir_sreg)i);
    if (part == 3 && operand_sreg_is_vector(op->index2))
        return lower_const(f, IR_B32, 0);
    lower_fail(f, HD_NOT_SUPPORTED, "this special register is not supported");
    return lower_const(f, IR_B32, 0);
}

static const struct ptx_var *operand_var_of(const struct ptx_sym *sym)
{
    const struct ptx_var *var = (const struct ptx_var *)sym;
    return var->def ? var->def : var;
}

/* Byte offset of a kernel parameter in the parameter block. */
static uint64_t operand_param_offset(struct lower_fn *f, const struct ptx_var *var)
{
    return var->param_idx < f->ir->nparams ? f->ir->params[var->param_idx].offset_B : 0;
}

struct ir_value *lower_var_address(struct lower_fn *f, const struct ptx_var *var, int64_t offset)
{
    if (var->is_param && f->ptx->is_entry)
        return lower_const(f, IR_B64, operand_param_offset(f, var) + (uint64_t)offset);
    struct ir_var *ir = lower_find_var(f, var);
    if (!ir) {
        if (lower_space((enum ptx_space)var->space) == IR_SPACE_GENERIC)
            lower_fail(f, HD_NOT_SUPPORTED, "the variable's state space is not supported");
        else
            lower_fail(f, HD_UNRESOLVED, "unresolved external variable");
        return lower_const(f, IR_B64, 0);
    }
    if (ir->space == IR_SPACE_SHARED && ir->size_B > LOWER_SHARED_MAX_B)
        lower_fail(f, HD_BAD_PTX, "the variable has more shared memory than a kernel, 49152 bytes");
    struct ir_instr *in = lower_emit(f, IR_OP_VARADDR, IR_B64, 0, NULL, 1);
    in->var = ir;
    in->imm = (uint64_t)offset;
    return in->dst[0];
}

/* What `array[%r1+2]` adds to the array's address: the register is extended as its type says. */
static struct ir_value *operand_subscript_value(struct lower_fn *f, const struct ptx_operand *op)
{
    struct ptx_operand reg = *op->subscript;
    enum ir_type type = lower_type((enum ptx_type)reg.u.reg->type);
    reg.offset = 0;
    struct ir_value *index = lower_fit(f, lower_src(f, &reg, type), type, IR_B64);
    uint64_t size_B = ptx_var_element_B((const struct ptx_var *)op->u.sym);
    struct ir_value *src[] = {index, lower_const(f, IR_B64, size_B)};
    src[0] = lower_op(f, IR_OP_MUL, IR_B64, 2, src);
    src[1] = lower_const(f, IR_B64, (uint64_t)op->subscript->offset * size_B);
    return lower_op(f, IR_OP_ADD, IR_B64, 2, src);
}

static struct ir_value *operand_with_subscript(struct lower_fn *f, const struct ptx_operand *op,
                                               struct ir_value *base)
{
    if (!op->subscript)
        return base;
    struct ir_value *sum[] = {base, operand_subscript_value(f, op)};
    return lower_op(f, IR_OP_ADD, IR_B64, 2, sum);
}

static struct ir_value *operand_symbol_value(struct lower_fn *f, const struct ptx_operand *op)
{
    const struct ptx_sym *sym = op->u.sym;
    if (sym->kind == PTX_SYM_VAR)
        return operand_with_subscript(f, op, lower_var_address(f, operand_var_of(sym), op->offset));
    if (sym->kind == PTX_SYM_FUNC) {
        struct ir_func *ir = lower_find_func(f, (const struct ptx_func *)sym, false);
        if (ir) {
            struct ir_instr *in = lower_emit(f, IR_OP_FUNCADDR, IR_B64, 0, NULL, 1);
            in->callee = ir;
            return in->dst[0];
        }
        lower_fail_unresolved(f, sym->name);
        return lower_const(f, IR_B64, 0);
    }
    lower_fail(f, HD_NOT_SUPPORTED, "address of this kind of symbol");
    return lower_const(f, IR_B64, 0);
}

/* Components of vector registers, negated sources (video instructions) and registers declared
 * outside of functions (which no ABI allows) have no meaning here. */
static bool operand_plain_reg(struct lower_fn *f, const struct ptx_operand *op)
{
    bool is_scalar = op->u.reg->vec > 1 ? op->comp : !op->comp;
    if (is_scalar && !op->negate && !op->u.reg->global)
        return true;
    lower_fail(f, HD_NOT_SUPPORTED, "register of this kind");
    return false;
}

#define VECTOR_MAX 16

/* The type of each of the equal parts that `type` is cut into; IR_VOID when they are not. */
static enum ir_type operand_part_type(struct lower_fn *f, const struct ptx_operand *op,
                                      enum ir_type type)
{
    unsigned bits = op->nitems ? ir_type_bits(type) / op->nitems : 0;
    if (bits * op->nitems != ir_type_bits(type) || op->nitems > VECTOR_MAX)
        return IR_VOID;
    for (uint32_t i = 0; i < op->nitems; i++) {
        const struct ptx_operand *item = &op->items[i];
        if (item->kind == PTX_OPND_REG && !item->u.reg->global &&
            ir_type_bits(f->reg_types[ptx_operand_reg_idx(item)]) != bits)
            return IR_VOID;
    }
    return bits == 8    ? IR_B8
           : bits == 16 ? IR_B16
           : bits == 32 ? IR_B32
           : bits == 64 ? IR_B64
                        : IR_VOID;
}

/* {a, b, ..}: packed, first item lowest */
static struct ir_value *operand_vector_value(struct lower_fn *f, const struct ptx_operand *op,
                                             enum ir_type type)
{
    struct ir_value *items[VECTOR_MAX];
    enum ir_type part = operand_part_type(f, op, type);
    if (part == IR_VOID) {
        lower_fail(f, HD_NOT_SUPPORTED, "vector operand of this shape");
        return lower_const(f, type, 0);
    }
    for (uint32_t i = 0; i < op->nitems; i++)
        items[i] = lower_src(f, &op->items[i], part);
    return lower_op(f, IR_OP_PACK, ir_type_value(type), op->nitems, items);
}

/* %r1+4 */
static struct ir_value *operand_offset_value(struct lower_fn *f, struct ir_value *v, int64_t offset)
{
    if (v->type != IR_B16 && v->type != IR_B32 && v->type != IR_B64) {
        lower_fail(f, HD_NOT_SUPPORTED, "an offset to a register of this size");
        return v;
    }
    struct ir_value *src[] = {v, lower_const(f, v->type, (uint64_t)offset)};
    return lower_op(f, IR_OP_ADD, v->type, 2, src);
}

struct ir_value *lower_src(struct lower_fn *f, const struct ptx_operand *op, enum ir_type type)
{
    struct ir_value *v;
    switch (op->kind) {
    case PTX_OPND_REG:
        if (!operand_plain_reg(f, op))
            return lower_const(f, type, 0);
        v = lower_reg_read(f, ptx_operand_reg_idx(op));
        if (op->invert && v->type != IR_PRED)
            lower_fail(f, HD_BAD_PTX, "'!' before a register that is no predicate");
        else if (op->invert)
            v = lower_op(f, IR_OP_NOT, IR_PRED, 1, &v);
        if (op->offset)
            v = operand_offset_value(f, v, op->offset);
        break;
    case PTX_OPND_INT:
        return lower_const(f, type, operand_int_bits(op, type));
    case PTX_OPND_F32:
    case PTX_OPND_F64:
        return lower_const(f, type, operand_float_bits(op, type));
    case PTX_OPND_SREG:
        v = operand_sreg_value(f, op);
        break;
    case PTX_OPND_SYM:
        v = operand_symbol_value(f, op);
        break;
    case PTX_OPND_VEC:
        return operand_vector_value(f, op, type);
    default:
        lower_fail(f, HD_NOT_SUPPORTED, "operand of this kind");
        return lower_const(f, type, 0);
    }
    return lower_fit(f, v, type, type);
}

struct ir_value *lower_pred(struct lower_fn *f, const struct ptx_operand *op)
{
    return lower_src(f, op, IR_PRED);
}

bool lower_is_reg(const struct lower_fn *f, const struct ptx_operand *op, unsigned bits)
{
    return op->kind == PTX_OPND_REG && !op->u.reg->global &&
           ir_type_bits(f->reg_types[ptx_operand_reg_idx(op)]) == bits;
}

static void operand_write_reg(struct lower_fn *f, uint32_t reg, struct ir_value *v,
                              enum ir_type type)
{
    v = lower_fit(f, v, type, f->reg_types[reg]);
    if (f->insn->guard.kind != PTX_OPND_NONE && !f->cur->guarded) {
        struct ir_value *pick[] = {lower_pred(f, &f->insn->guard), v, lower_reg_read(f, reg)};
        v = lower_op(f, IR_OP_SELECT, f->reg_types[reg], 3, pick);
    }
    lower_reg_write(f, reg, v);
}

void lower_dst(struct lower_fn *f, const struct ptx_operand *op, struct ir_value *v,
               enum ir_type type)
{
    if (op->kind == PTX_OPND_SINK)
        return;
    if (op->kind == PTX_OPND_REG && !operand_plain_reg(f, op))
        return;
    if (op->kind == PTX_OPND_REG) {
        operand_write_reg(f, ptx_operand_reg_idx(op), v, type);
        return;
    }
    if (op->kind == PTX_OPND_PAIR) {
        lower_dst(f, &op->items[0], v, type);
        return;
    }
    if (op->kind != PTX_OPND_VEC || !op->nitems) {
        lower_fail(f, HD_BAD_PTX, "destination is not a register");
        return;
    }
    enum ir_type part = operand_part_type(f, op, v->type);
    if (part == IR_VOID) {
        lower_fail(f, HD_NOT_SUPPORTED, "vector destination of this shape");
        return;
    }
    struct ir_value *piece[VECTOR_MAX];
    for (uint32_t i = 0; i < op->nitems; i++) {
        struct ir_instr *in = lower_emit(f, IR_OP_UNPACK, part, 1, &v, 1);
        in->imm = i;
        piece[i] = in->dst[0];
    }
    for (uint32_t i = 0; i < op->nitems; i++)
        lower_dst(f, &op->items[i], piece[i], part);
}

struct ir_value *lower_address(struct lower_fn *f, const struct ptx_operand *op,
                               enum ir_space *space, int64_t *out_offset)
{
    bool param_local = *space == IR_SPACE_PARAM && !f->ptx->is_entry;
    *out_offset = op->offset;
    if (op->base == PTX_OPND_REG) {
        struct ptx_operand reg = {
            .kind = PTX_OPND_REG, .u.reg = op->u.reg, .index = op->index, .comp = op->comp};
        if (!operand_plain_reg(f, &reg))
            return lower_const(f, IR_B64, 0);
        struct ir_value *v = lower_reg_read(f, ptx_operand_reg_idx(&reg));
        if (ir_type_bits(v->type) != 32 && ir_type_bits(v->type) != 64) {
            lower_fail(f, HD_BAD_PTX, "an address register has 32 or 64 bits");
            return lower_const(f, IR_B64, 0);
        }
        if (param_local)
            *space = IR_SPACE_LOCAL;
        if (ir_space_is_shared(*space) || *space == IR_SPACE_LOCAL)
            return v;
        return lower_fit(f, v, IR_U64, IR_B64);
    }
    if (op->base == PTX_OPND_SYM && op->u.sym->kind == PTX_SYM_VAR) {
        const struct ptx_var *var = operand_var_of(op->u.sym);
        bool kernel_param = var->is_param && f->ptx->is_entry;
        enum ir_space own = lower_space((enum ptx_space)var->space);
        bool is_own = *space == own || (ir_space_is_shared(*space) && own == IR_SPACE_SHARED);
        bool is_generic = *space == IR_SPACE_GENERIC && own != IR_SPACE_CONST &&
                          own != IR_SPACE_PARAM; /* those need cvta */
        if (!is_generic && !is_own) {
            lower_fail(f, HD_BAD_PTX, "the variable is in another state space");
            return lower_const(f, IR_B64, 0);
        }
        if (*space == IR_SPACE_PARAM && !kernel_param)
            *space = IR_SPACE_LOCAL;
        if (*space == IR_SPACE_GENERIC)
            *space = own;
        if (kernel_param) {
            *out_offset += (int64_t)operand_param_offset(f, var);
            return operand_with_subscript(f, op, lower_const(f, IR_B64, 0));
        }
        return operand_with_subscript(f, op, lower_var_address(f, var, 0));
    }
    if (op->base == PTX_OPND_INT)
        return lower_const(f, IR_B64, op->u.bits);
    lower_fail(f, HD_NOT_SUPPORTED, "address of this kind");
    return lower_const(f, IR_B64, 0);
}
