/*
 * tcgen05: tensor memory and products in it. What is done is one TENSOR or TENSOR_WARP each, made
 * where it is issued (docs/decisions/0093), so waits and fences are no code, and a commit is an
 * arrival. What a product is says a register when it runs; only its kind is known here.
 */
#include "lower/lower_async.h"
#include "lower/matrix/lower_matrix.h"

#include <string.h>

#include "model/mbarrier.h"
#include "model/tensor.h"

typedef struct ir_value *val;

enum { WARP_REGISTERS = IR_TENSOR_REGISTERS_MAX, SCALE_D_MAX = 15, OFF_REGISTERS = 4 };

/* ---- what all have */

static bool tensor_is_pair(const struct ptx_form *form)
{
    return ptx_form_has(form, PTX_MOD_CTA_GROUP_2);
}

static const char *tensor_group_check(struct lower_fn *f, const struct ptx_form *form)
{
    enum ptx_mod group = tensor_is_pair(form) ? PTX_MOD_CTA_GROUP_2 : PTX_MOD_CTA_GROUP_1;
    if (!ptx_form_has(form, group))
        return ".cta_group is missing";
    enum ptx_mod *others = f->job->is_kernel ? &f->job->cta_group : &f->cta_group;
    if (*others != PTX_MOD_NONE && *others != group)
        return "other instructions of this kernel have another .cta_group";
    *others = group;
    return NULL;
}

static const char *tensor_form_check(struct lower_fn *f, const struct ptx_form *form,
                                     bool collective, bool grouped)
{
    if (collective && (!form->sync || !form->aligned))
        return ".sync.aligned is missing";
    return grouped ? tensor_group_check(f, form) : NULL;
}

static bool tensor_is_formed(struct lower_fn *f, const struct ptx_insn *in, bool collective,
                             bool grouped)
{
    const char *why = tensor_form_check(f, in->form, collective, grouped);
    if (why)
        lower_refuse(f, why);
    return !why;
}

static struct ir_instr *tensor_emit(struct lower_fn *f, const struct ir_tensor *op, val const *src)
{
    struct ir_tensor *kept = hd_arena_new(&f->job->module->arena, struct ir_tensor);
    enum ir_op what = op->op < IR_TENSOR_CP ? IR_OP_TENSOR_WARP : IR_OP_TENSOR;
    struct ir_instr *r =
        lower_emit(f, what, IR_VOID, ir_tensor_sources(op), src, ir_tensor_results(op));
    if (kept)
        *kept = *op;
    else
        lower_fail(f, HD_NO_MEMORY, "no memory for IR");
    r->ext = kept;
    return r;
}

/* An address in tensor memory: [register + number]. */
static val tensor_address(struct lower_fn *f, const struct ptx_operand *op)
{
    enum ir_space space = IR_SPACE_SHARED; /* whose addresses may have 32 bits, too */
    int64_t offset;
    val base = lower_address(f, op, &space, &offset);
    if (ir_type_bits(base->type) != 32)
        lower_fail(f, HD_BAD_PTX, "an address in tensor memory has 32 bits");
    base = lower_fit(f, base, ir_type_bits(base->type) == 32 ? IR_U32 : IR_U64, IR_B32);
    return offset ? lower_op2(f, IR_OP_ADD, IR_B32, base, lower_const(f, IR_B32, (uint64_t)offset))
                  : base;
}

static void tensor_flag_set(struct ir_tensor *op, enum ir_tensor_flag flag, bool on)
{
    op->flags |= (uint16_t)((on ? 1u : 0u) << flag);
}

/* An operation of the block or, when the form says so, of a pair. */
static struct ir_tensor grouped(enum ir_tensor_op what, const struct ptx_form *form)
{
    struct ir_tensor op = {.op = (uint8_t)what};
    tensor_flag_set(&op, IR_TENSOR_PAIR, tensor_is_pair(form));
    return op;
}

/* ---- allocation */

bool lower_do_tensor_alloc(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ir_tensor op = grouped(IR_TENSOR_ALLOC, in->form);
    enum ptx_space space = ptx_form_space(in->form);
    if (!tensor_is_formed(f, in, true, true))
        return true;
    if (ptx_form_type(in->form) != PTX_TYPE_B32 ||
        (space != PTX_SPACE_GENERIC && space != PTX_SPACE_SHARED_CTA && space != PTX_SPACE_SHARED))
        return lower_refuse(f, "the address that is allocated is a .b32 in shared memory"), true;
    val columns = lower_src(f, &in->ops[1], IR_B32);
    struct ir_instr *r = tensor_emit(f, &op, &columns);
    if (!hd_vec_push(&f->waits, r))
        lower_fail(f, HD_NO_MEMORY, "no memory for IR");
    struct lower_memref to = lower_memref_of(f, &in->ops[0], space);
    val src[] = {to.address, r->dst[0]};
    lower_access_set(lower_emit(f, IR_OP_ST, IR_B32, 2, src, 0), &to, 1);
    return true;
}

void lower_tensor_waits(struct lower_fn *f)
{
    for (size_t i = 0; i < f->waits.len; i++) {
        /*
         * The instruction gets a block of its own, which is its own successor while it has to wait.
         */
        struct ir_instr *alloc = f->waits.at[i];
        struct ir_builder b = {.func = f->ir, .block = alloc->block, .srcloc = alloc->srcloc};
        struct ir_block *loop = ir_block_split_before(alloc);
        struct ir_block *after = ir_block_split_before(alloc->next);
        ir_build_br(&b, loop);
        b.block = loop;
        val wait = ir_build_const(&b, IR_B32, (uint32_t)IR_TENSOR_WAIT);
        ir_build_cbr(&b, ir_build_setp(&b, IR_OP_SETP, IR_U32, IR_EQ, alloc->dst[0], wait), loop,
                     after);
    }
}

bool lower_do_tensor_dealloc(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ir_tensor op = grouped(IR_TENSOR_DEALLOC, in->form);
    if (!tensor_is_formed(f, in, true, true))
        return true;
    if (ptx_form_type(in->form) != PTX_TYPE_B32)
        return lower_refuse(f, "an address in tensor memory is .b32"), true;
    val src[] = {lower_src(f, &in->ops[0], IR_B32), lower_src(f, &in->ops[1], IR_B32)};
    tensor_emit(f, &op, src);
    return true;
}

bool lower_do_tensor_relinquish(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ir_tensor op = grouped(IR_TENSOR_RELINQUISH, in->form);
    if (tensor_is_formed(f, in, true, true))
        tensor_emit(f, &op, NULL);
    return true;
}

/* ---- loads and stores */

static const struct {
    enum ptx_mod mod;
    enum ir_tensor_shape shape;
} shapes[] = {
    {PTX_MOD_G32X32B, IR_TENSOR_32X32B},         {PTX_MOD_G16X64B, IR_TENSOR_16X64B},
    {PTX_MOD_G16X128B, IR_TENSOR_16X128B},       {PTX_MOD_G16X256B, IR_TENSOR_16X256B},
    {PTX_MOD_G16X32BX2, IR_TENSOR_16X32BX2},     {PTX_MOD_G128X256B, IR_TENSOR_CP_128X256B},
    {PTX_MOD_G4X256B, IR_TENSOR_CP_4X256B},      {PTX_MOD_G128X128B, IR_TENSOR_CP_128X128B},
    {PTX_MOD_G64X128B, IR_TENSOR_CP_64X128B_02}, {PTX_MOD_G32X128B, IR_TENSOR_CP_32X128B}};

static bool tensor_shape_read(const struct ptx_form *form, struct ir_tensor *op)
{
    for (size_t i = 0; i < HD_COUNT_OF(shapes); i++) {
        if (ptx_form_has(form, shapes[i].mod)) {
            op->shape = (uint8_t)shapes[i].shape;
            return true;
        }
    }
    return false;
}

static unsigned tensor_times_of(const struct ptx_form *form)
{
    static const enum ptx_mod times[] = {PTX_MOD_X1,  PTX_MOD_X2,  PTX_MOD_X4,  PTX_MOD_X8,
                                         PTX_MOD_X16, PTX_MOD_X32, PTX_MOD_X64, PTX_MOD_X128};
    for (unsigned i = 0; i < HD_COUNT_OF(times); i++) {
        if (ptx_form_has(form, times[i]))
            return 1u << i;
    }
    return 0;
}

static unsigned tensor_per_time(const struct ir_tensor *op)
{
    return op->shape == IR_TENSOR_16X256B ? 4 : op->shape == IR_TENSOR_16X128B ? 2 : 1;
}

static const char *tensor_move_read(struct lower_fn *f, const struct ptx_form *form,
                                    struct ir_tensor *op)
{
    const char *why = tensor_form_check(f, form, true, false);
    op->num = (uint8_t)tensor_times_of(form);
    tensor_flag_set(
        op, IR_TENSOR_PACK,
        ptx_form_has(form, op->op == IR_TENSOR_LD ? PTX_MOD_PACK_16B : PTX_MOD_UNPACK_16B));
    if (why)
        return why;
    if (!tensor_shape_read(form, op) || op->shape > IR_TENSOR_16X32BX2)
        return "loads and stores do not have this shape";
    if (!op->num || op->num * tensor_per_time(op) > 128)
        return "not so many of this shape";
    return NULL;
}

static const char *tensor_reduction_read(const struct ptx_form *form, struct ir_tensor *op)
{
    enum ir_type type = lower_type(ptx_form_type(form));
    op->type = type;
    tensor_flag_set(op, IR_TENSOR_MIN, form->subop == PTX_SUBOP_MIN);
    tensor_flag_set(op, IR_TENSOR_ABS, ptx_form_has(form, PTX_MOD_ABS));
    tensor_flag_set(op, IR_TENSOR_NAN, ptx_form_has(form, PTX_MOD_PROPAGATE_NAN));
    if (form->subop != PTX_SUBOP_MIN && form->subop != PTX_SUBOP_MAX)
        return "a reduction is .min or .max";
    if (type != IR_F32 && type != IR_U32 && type != IR_S32)
        return "a reduction is of .f32, .u32 or .s32";
    if (type != IR_F32 && (op->flags >> IR_TENSOR_ABS & 1 || op->flags >> IR_TENSOR_NAN & 1))
        return ".abs and .NaN are for .f32";
    if ((op->shape != IR_TENSOR_32X32B && op->shape != IR_TENSOR_16X32BX2) || op->num < 2 ||
        op->flags >> IR_TENSOR_PACK & 1)
        return "reductions are of two and more of .32x32b and .16x32bx2";
    return NULL;
}

/* The halves' distance, of 16x32bx2 alone. */
static bool tensor_offset_read(struct lower_fn *f, const struct ptx_operand *op,
                               struct ir_tensor *out)
{
    if (op->kind != PTX_OPND_INT || op->u.bits >= IR_TENSOR_COLUMNS)
        return lower_refuse(f, "the distance of the halves is a constant");
    out->offset = (uint32_t)op->u.bits;
    return true;
}

bool lower_do_tensor_load(struct lower_fn *f, const struct ptx_insn *in)
{
    struct ir_tensor op = {.op = IR_TENSOR_LD};
    bool reduces = ptx_form_has(in->form, PTX_MOD_RED);
    const char *why = tensor_move_read(f, in->form, &op);
    bool split = op.shape == IR_TENSOR_16X32BX2;
    if (!why && reduces)
        why = tensor_reduction_read(in->form, &op);
    else if (!why && (ptx_form_type(in->form) != PTX_TYPE_B32 || in->form->subop))
        why = "loads and stores are .b32";
    if (!why && (in->nops != 2u + reduces + split || in->ops[1 + reduces].kind != PTX_OPND_ADDR))
        why = "the operands are others";
    if (why)
        return lower_refuse(f, why), true;
    if (split && !tensor_offset_read(f, &in->ops[2 + reduces], &op))
        return true;
    unsigned n = tensor_per_time(&op) * op.num;
    val address = tensor_address(f, &in->ops[1 + reduces]);
    struct ir_instr *r = tensor_emit(f, &op, &address);
    lower_fragment_dst(f, &in->ops[0], n, IR_B32, r->dst);
    if (reduces)
        lower_dst(f, &in->ops[1], r->dst[n], IR_B32);
    return true;
}

bool lower_do_tensor_store(struct lower_fn *f, const struct ptx_insn *in)
{
    struct ir_tensor op = {.op = IR_TENSOR_ST};
    const char *why = tensor_move_read(f, in->form, &op);
    bool split = op.shape == IR_TENSOR_16X32BX2;
    val src[WARP_REGISTERS];
    if (!why && ptx_form_type(in->form) != PTX_TYPE_B32)
        why = "loads and stores are .b32";
    if (!why && in->nops != 2u + split)
        why = "another number of operands";
    if (why)
        return lower_refuse(f, why), true;
    if (split && !tensor_offset_read(f, &in->ops[1], &op))
        return true;
    src[0] = tensor_address(f, &in->ops[0]);
    if (lower_fragment(f, &in->ops[1 + split], tensor_per_time(&op) * op.num, IR_B32, src + 1))
        tensor_emit(f, &op, src);
    return true;
}

/* ---- copies from shared memory */

/* The destination's quarters are said where there is a choice, and nowhere else. */
static const char *tensor_quarters_read(const struct ptx_form *form, struct ir_tensor *op)
{
    bool four = ptx_form_has(form, PTX_MOD_WARPX4);
    bool crossed = ptx_form_has(form, PTX_MOD_WARPX2_02_13);
    bool paired = ptx_form_has(form, PTX_MOD_WARPX2_01_23);
    bool is_64 = op->shape == IR_TENSOR_CP_64X128B_02;
    if (paired && is_64)
        op->shape = IR_TENSOR_CP_64X128B_01;
    if ((crossed || paired) != is_64 || four != (op->shape == IR_TENSOR_CP_32X128B))
        return "this shape goes to other warps' lanes";
    return NULL;
}

/* .b8x16.b6x16_p32: from padded elements to bytes. */
static const char *tensor_formats_read(const struct ptx_form *form, struct ir_tensor *op)
{
    enum ptx_type from = form->ntypes == 2 ? (enum ptx_type)form->types[1] : PTX_TYPE_NONE;
    tensor_flag_set(op, IR_TENSOR_B6, from == PTX_TYPE_B6X16_P32);
    tensor_flag_set(op, IR_TENSOR_B4, from == PTX_TYPE_B4X16_P64);
    if (form->ntypes && (form->types[0] != PTX_TYPE_B8X16 ||
                         (from != PTX_TYPE_B6X16_P32 && from != PTX_TYPE_B4X16_P64)))
        return "elements become .b8x16 from .b6x16_p32 or .b4x16_p64";
    return NULL;
}

/* The two halves of 64 bits. */
static void tensor_pair_read(struct lower_fn *f, const struct ptx_operand *op, val *out)
{
    val whole = lower_src(f, op, IR_B64);
    for (uint64_t i = 0; i < 2; i++) {
        struct ir_instr *r = lower_emit(f, IR_OP_UNPACK, IR_B32, 1, &whole, 1);
        r->imm = i;
        out[i] = r->dst[0];
    }
}

bool lower_do_tensor_copy(struct lower_fn *f, const struct ptx_insn *in)
{
    struct ir_tensor op = grouped(IR_TENSOR_CP, in->form);
    const char *why = tensor_form_check(f, in->form, false, true);
    val src[3];
    if (!why && (!tensor_shape_read(in->form, &op) || op.shape < IR_TENSOR_CP_128X256B))
        why = "copies do not have this shape";
    why = why ? why : tensor_quarters_read(in->form, &op);
    why = why ? why : tensor_formats_read(in->form, &op);
    if (why)
        return lower_refuse(f, why), true;
    src[0] = tensor_address(f, &in->ops[0]);
    tensor_pair_read(f, &in->ops[1], src + 1);
    tensor_emit(f, &op, src);
    return true;
}

bool lower_do_tensor_shift(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ir_tensor op = grouped(IR_TENSOR_SHIFT, in->form);
    if (!tensor_is_formed(f, in, false, true))
        return true;
    if (!ptx_form_has(in->form, PTX_MOD_DOWN))
        return lower_refuse(f, "rows are shifted .down"), true;
    val address = tensor_address(f, &in->ops[0]);
    tensor_emit(f, &op, &address);
    return true;
}

/* ---- products */

static const struct kind {
    enum ptx_mod mod;
    enum ir_tensor_kind kind;
    uint8_t scales[3]; /* how many a row of a may have; the first one is the default, if any is */
    bool has_default, divides, ws;
} kinds[] = {{PTX_MOD_KIND_F16, IR_TENSOR_KIND_F16, {0}, false, true, true},
             {PTX_MOD_KIND_TF32, IR_TENSOR_KIND_TF32, {0}, false, true, true},
             {PTX_MOD_KIND_F8F6F4, IR_TENSOR_KIND_F8F6F4, {0}, false, false, true},
             {PTX_MOD_KIND_I8, IR_TENSOR_KIND_I8, {0}, false, false, true},
             {PTX_MOD_KIND_MXF8F6F4, IR_TENSOR_KIND_MXF8F6F4, {1}, true, false, false},
             {PTX_MOD_KIND_MXF4, IR_TENSOR_KIND_MXF4, {2}, true, false, false},
             {PTX_MOD_KIND_MXF4NVF4, IR_TENSOR_KIND_MXF4NVF4, {2, 4}, false, false, false}};

static const struct kind *tensor_kind_of(const struct ptx_form *form)
{
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        if (ptx_form_has(form, kinds[i].mod))
            return &kinds[i];
    }
    return NULL;
}

/* .block32 is a scale for 32 elements of a row, .block16 one for 16. */
static unsigned tensor_written_scales(const struct ptx_form *form, const struct kind *kind)
{
    bool narrow = kind->kind == IR_TENSOR_KIND_MXF8F6F4;
    if (ptx_form_has(form, PTX_MOD_BLOCK32))
        return narrow ? 1 : 2;
    return ptx_form_has(form, PTX_MOD_BLOCK16)        ? 4
           : ptx_form_has(form, PTX_MOD_SCALE_VEC_1X) ? 1
           : ptx_form_has(form, PTX_MOD_SCALE_VEC_2X) ? 2
           : ptx_form_has(form, PTX_MOD_SCALE_VEC_4X) ? 4
           : kind->has_default                        ? kind->scales[0]
                                                      : 0;
}

static const char *tensor_scaling_read(const struct ptx_form *form, const struct kind *kind,
                                       struct ir_tensor *op)
{
    bool scaled = ptx_form_has(form, PTX_MOD_BLOCK_SCALE);
    unsigned n = tensor_written_scales(form, kind);
    if (!kind->scales[0])
        return scaled || n ? "scales need a kind that has them" : NULL;
    if (!scaled)
        return "this kind needs .block_scale";
    op->scales = (uint8_t)n;
    return n && (n == kind->scales[0] || n == kind->scales[1])
               ? NULL
               : "this kind does not have scales of this number";
}

struct product {
    const struct ptx_insn *in;
    const struct kind *kind;
    struct ir_tensor op;
    uint32_t idesc_at, off_at, enable_at, zeros_at; /* operands; 0: there is none */
};

static bool tensor_has(const struct product *p, enum ir_tensor_flag flag)
{
    return p->op.flags >> flag & 1;
}

/* Rows of a in tensor memory, and not of one that is kept. */
static const char *tensor_shift_check(const struct product *p)
{
    const struct ptx_form *form = p->in->form;
    if (!tensor_has(p, IR_TENSOR_ASHIFT))
        return NULL;
    if (!tensor_has(p, IR_TENSOR_A_TENSOR) || p->kind->scales[0])
        return ".ashift is for a matrix a in tensor memory, without scales";
    if (ptx_form_has(form, PTX_MOD_COLLECTOR_A_USE) || ptx_form_has(form, PTX_MOD_COLLECTOR_A_FILL))
        return ".ashift does not go with .collector::a::use and ::fill";
    return NULL;
}

static const char *tensor_kind_read(struct product *p)
{
    const struct ptx_form *form = p->in->form;
    bool ws = form->op == PTX_OP_TCGEN05_MMA_WS || form->op == PTX_OP_TCGEN05_MMA_WS_SP;
    bool sparse = form->op == PTX_OP_TCGEN05_MMA_SP || form->op == PTX_OP_TCGEN05_MMA_WS_SP;
    p->kind = tensor_kind_of(form);
    if (!p->kind || (ws && !p->kind->ws))
        return "there is no product of this kind";
    if (ws && tensor_is_pair(form))
        return ".ws is for one block (.cta_group::1)";
    p->op = grouped(IR_TENSOR_MMA, form);
    p->op.kind = (uint8_t)p->kind->kind;
    tensor_flag_set(&p->op, IR_TENSOR_WS, ws);
    tensor_flag_set(&p->op, IR_TENSOR_SPARSE, sparse);
    tensor_flag_set(&p->op, IR_TENSOR_A_TENSOR, p->in->ops[1].kind == PTX_OPND_ADDR);
    tensor_flag_set(&p->op, IR_TENSOR_ASHIFT, ptx_form_has(form, PTX_MOD_ASHIFT));
    const char *why = tensor_shift_check(p);
    return why ? why : tensor_scaling_read(form, p->kind, &p->op);
}

/* d, a, b, metadata?, idesc, then scales or lanes that are off, enable-d, scale-d or a mask. */
static const char *tensor_operands_read(struct product *p)
{
    const struct ptx_insn *in = p->in;
    uint32_t at = tensor_has(p, IR_TENSOR_SPARSE) ? 4 : 3, left;
    bool ws = tensor_has(p, IR_TENSOR_WS);
    p->idesc_at = at++;
    if (p->op.scales)
        at += 2;
    else if (!ws && at < in->nops && in->ops[at].kind == PTX_OPND_VEC)
        p->off_at = at++;
    p->enable_at = at++;
    if (at > in->nops)
        return "operands are missing";
    left = in->nops - at;
    if (ws && left == 1) {
        p->zeros_at = at;
        return NULL;
    }
    if (left > 1 || (left && !p->kind->divides))
        return "too many operands";
    if (left && (in->ops[at].kind != PTX_OPND_INT || in->ops[at].u.bits > SCALE_D_MAX))
        return "scale-input-d is a constant of 0 to 15";
    if (left)
        p->op.scale_d = (uint8_t)in->ops[at].u.bits;
    return NULL;
}

static void tensor_matrices_read(struct lower_fn *f, const struct product *p, val *src)
{
    const struct ptx_operand *ops = p->in->ops;
    if (tensor_has(p, IR_TENSOR_A_TENSOR))
        src[IR_TENSOR_A] = tensor_address(f, &ops[1]);
    else
        tensor_pair_read(f, &ops[1], src + IR_TENSOR_A);
    tensor_pair_read(f, &ops[2], src + IR_TENSOR_B);
    src[IR_TENSOR_IDESC] = lower_src(f, &ops[p->idesc_at], IR_B32);
    if (tensor_has(p, IR_TENSOR_SPARSE))
        src[IR_TENSOR_METADATA] = tensor_address(f, &ops[3]);
    if (p->op.scales) {
        src[IR_TENSOR_SCALE_A] = tensor_address(f, &ops[p->idesc_at + 1]);
        src[IR_TENSOR_SCALE_B] = tensor_address(f, &ops[p->idesc_at + 2]);
    }
    if (p->zeros_at)
        tensor_pair_read(f, &ops[p->zeros_at], src + IR_TENSOR_ZEROS);
}

/* The lanes of d that stay as they are: none, or as the operand says; false after an error. */
static bool tensor_off_read(struct lower_fn *f, const struct product *p, val *src)
{
    unsigned n = OFF_REGISTERS * (tensor_has(p, IR_TENSOR_PAIR) ? IR_TENSOR_BLOCKS : 1);
    return !p->off_at || lower_fragment(f, &p->in->ops[p->off_at], n, IR_B32, src + IR_TENSOR_OFF);
}

bool lower_do_tensor_mma(struct lower_fn *f, const struct ptx_insn *in)
{
    struct product p = {.in = in};
    val src[IR_TENSOR_MMA_SOURCES], zero = lower_const(f, IR_B32, 0);
    const char *why = tensor_form_check(f, in->form, false, true);
    why = why ? why : tensor_kind_read(&p);
    why = why ? why : tensor_operands_read(&p);
    if (why)
        return lower_refuse(f, why), true;
    for (unsigned i = 0; i < HD_COUNT_OF(src); i++)
        src[i] = zero;
    src[IR_TENSOR_D] = tensor_address(f, &in->ops[0]);
    tensor_matrices_read(f, &p, src);
    src[IR_TENSOR_ENABLE_D] =
        lower_op3(f, IR_OP_SELECT, IR_B32, lower_pred(f, &in->ops[p.enable_at]),
                  lower_const(f, IR_B32, 1), zero);
    if (tensor_off_read(f, &p, src))
        tensor_emit(f, &p.op, src);
    return true;
}

/* ---- order */

static const char *tensor_commit_check(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ptx_space space = ptx_form_space(form);
    const char *why = tensor_form_check(f, form, false, true);
    if (why)
        return why;
    if (!ptx_form_has(form, PTX_MOD_MBARRIER_ARRIVE_ONE) || ptx_form_type(form) != PTX_TYPE_B64)
        return "it is .mbarrier::arrive::one.b64";
    if (space != PTX_SPACE_GENERIC && space != PTX_SPACE_SHARED_CLUSTER)
        return "a barrier is in .shared::cluster or generic memory";
    if (in->nops != 1u + ptx_form_has(form, PTX_MOD_MULTICAST_CLUSTER))
        return "a mask of blocks goes with .multicast::cluster";
    return NULL;
}

/* Everything is complete: an arrival, at the barriers of all blocks that are to know. */
bool lower_do_tensor_commit(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ptx_space space = ptx_form_space(in->form);
    const char *why = tensor_commit_check(f, in);
    val one = lower_const(f, IR_B64, 1);
    if (why)
        return lower_refuse(f, why), true;
    lower_report_async(f, IR_ASYNC_TENSOR_COMMIT, 0);
    if (ptx_form_has(in->form, PTX_MOD_MULTICAST_CLUSTER))
        lower_cast(f, &in->ops[0], space, IR_MBARRIER_CAST_ARRIVE, lower_cta_mask(f, &in->ops[1]),
                   one);
    else
        lower_arrive(f, &in->ops[0], space, one);
    return true;
}

/* Waits for loads and stores, which are over. */
bool lower_do_tensor_wait(struct lower_fn *f, const struct ptx_insn *in)
{
    if (tensor_is_formed(f, in, true, false))
        lower_report_async(f,
                           in->form->op == PTX_OP_TCGEN05_WAIT_LD ? IR_ASYNC_TENSOR_WAIT_LD
                                                                  : IR_ASYNC_TENSOR_WAIT_ST,
                           0);
    return true;
}

bool lower_do_tensor_fence(struct lower_fn *f, const struct ptx_insn *in)
{
    (void)f, (void)in;
    return true;
}
