/*
 * wmma: fragments are opaque in PTX, so they are those of the matrix product (struct ir_mma), a
 * load or store of one is ordinary loads and stores of each lane's elements, and wmma.mma is one
 * product. m8n32 is the transposed product, with a and b exchanged. PTX gives f16 factors eight
 * registers; what is too many holds the first ones again.
 */
#include "lower/matrix/lower_matrix.h"

#include <string.h>

typedef struct ir_value *val;

enum { REGISTERS_MAX = 8, HALF_REGISTERS = 8, SOURCES_MAX = 24, ELEMENTS_MAX = 4 };

static const struct shape {
    uint16_t m, n, k;
    enum ir_type types[5]; /* of factors */
} shapes[] = {
    {16, 16, 16, {IR_F16, IR_BF16, IR_S8, IR_U8}},
    {8, 32, 16, {IR_F16, IR_BF16, IR_S8, IR_U8}},
    {32, 8, 16, {IR_F16, IR_BF16, IR_S8, IR_U8}},
    {16, 16, 8, {IR_TF32}},
    {8, 8, 4, {IR_F64}},
    {8, 8, 32, {IR_S4, IR_U4}},
    {8, 8, 128, {IR_B1}},
};

static const struct shape *wmma_shape_of(const struct ptx_form *form)
{
    for (size_t i = 0; i < HD_COUNT_OF(shapes); i++) {
        if (shapes[i].m == form->shape.m && shapes[i].n == form->shape.n &&
            shapes[i].k == form->shape.k)
            return &shapes[i];
    }
    return NULL;
}

static bool wmma_shape_has(const struct shape *s, enum ir_type type)
{
    for (size_t i = 0; i < HD_COUNT_OF(s->types) && type != IR_VOID; i++) {
        if (s->types[i] == type)
            return true;
    }
    return false;
}

static bool wmma_sums_to(enum ir_type factor, enum ir_type sum)
{
    switch (factor) {
    case IR_F16:
        return sum == IR_F16 || sum == IR_F32;
    case IR_BF16:
    case IR_TF32:
        return sum == IR_F32;
    case IR_F64:
        return sum == IR_F64;
    default:
        return sum == IR_S32;
    }
}

static bool wmma_shape_sums_to(const struct shape *s, enum ir_type sum)
{
    for (size_t i = 0; i < HD_COUNT_OF(s->types); i++) {
        if (s->types[i] != IR_VOID && wmma_sums_to(s->types[i], sum))
            return true;
    }
    return false;
}

static bool wmma_is_transposed(const struct shape *s)
{
    return s->m == 8 && s->n == 32;
}

/* Types of factors and of sums that go with the shape. */
static struct ir_mma wmma_product_of(const struct shape *s, enum ir_type a, enum ir_type b,
                                     enum ir_type c, enum ir_type d)
{
    bool swap = wmma_is_transposed(s);
    return (struct ir_mma){.m = swap ? s->n : s->m,
                           .n = swap ? s->m : s->n,
                           .k = s->k,
                           .a = swap ? b : a,
                           .b = swap ? a : b,
                           .c = c,
                           .d = d};
}

/* The operand of the product that wmma's a, b, c or d is. */
static char wmma_product_operand(const struct shape *s, char operand)
{
    if (!wmma_is_transposed(s))
        return operand;
    return operand == 'a' ? 'b' : operand == 'b' ? 'a' : operand;
}

/* Registers of a wmma fragment, not less than the product's. */
static unsigned wmma_fragment_registers(const struct ir_mma *mma, char operand, enum ir_type type)
{
    bool halves = type == IR_F16 && (operand == 'a' || operand == 'b');
    return halves ? HALF_REGISTERS : ir_mma_registers(mma, operand);
}

/* ---- a fragment in memory */

/*
 * `line` is the coordinate that lanes of different groups of four differ in: rows of a, columns of
 * b, rows of c (columns where the product is transposed); `along` is the other one.
 */
struct fragment {
    struct ir_mma mma;
    char operand;       /* of the product */
    enum ir_type type;  /* of elements */
    enum ir_type reg;   /* B32, B64 */
    unsigned registers; /* that PTX gives it */
    bool line_major;    /* elements of a line are beside each other */
    unsigned width;     /* bits of an element */
    unsigned per_reg;
    uint32_t default_stride;
    struct ir_mem mem;
    val base, stride_B; /* b64: the lane's first element; bytes between lines, or those along */
};

static const char *wmma_fragment_read(const struct ptx_form *form, char operand,
                                      struct fragment *out)
{
    const struct shape *s = wmma_shape_of(form);
    enum ir_type type = lower_element(ptx_form_type(form));
    bool row = ptx_form_has(form, PTX_MOD_ROW), col = ptx_form_has(form, PTX_MOD_COL);
    bool is_sum = operand == 'c' || operand == 'd';
    enum ir_space space = lower_space(ptx_form_space(form));
    if (!form->sync || !form->aligned)
        return ".sync.aligned is missing";
    if (!s)
        return "wmma does not have this shape";
    if (form->ntypes != 1 || !(is_sum ? wmma_shape_sums_to(s, type) : wmma_shape_has(s, type)))
        return "this shape does not have this element type";
    if (row == col)
        return "the layout is .row or .col";
    if (space != IR_SPACE_GENERIC && space != IR_SPACE_GLOBAL && space != IR_SPACE_SHARED)
        return "fragments are in global or shared memory";
    enum ir_type factor = is_sum ? s->types[0] : type, sum = is_sum ? type : IR_F32;
    if (!is_sum && type == IR_F64)
        sum = IR_F64;
    *out = (struct fragment){.mma = wmma_product_of(s, factor, factor, sum, sum),
                             .operand = wmma_product_operand(s, operand),
                             .type = type,
                             .mem.space = space};
    out->line_major = operand == 'b' ? col : is_sum && wmma_is_transposed(s) ? col : row;
    out->width = type == IR_B1 ? 1 : ir_type_bits(type);
    if (out->width < 8 && !out->line_major)
        return "elements of less than 8 bits: a is .row, b is .col";
    out->reg = type == IR_F64 ? IR_B64 : IR_B32;
    out->per_reg = ir_type_bits(out->reg) / out->width;
    out->registers = wmma_fragment_registers(&out->mma, out->operand, type);
    unsigned rows = operand == 'b' ? s->k : s->m, cols = operand == 'a' ? s->k : s->n;
    out->default_stride = row ? cols : rows;
    return NULL;
}

static val wmma_add(struct lower_fn *f, val a, val b)
{
    val src[] = {a, b};
    return lower_op(f, IR_OP_ADD, IR_U64, 2, src);
}

static val wmma_times(struct lower_fn *f, val a, uint64_t n)
{
    val src[] = {a, lower_const(f, IR_B64, n)};
    return n == 1 ? a : lower_op(f, IR_OP_MUL, IR_U64, 2, src);
}

static val wmma_product(struct lower_fn *f, val a, val b)
{
    val src[] = {a, b};
    return lower_op(f, IR_OP_MUL, IR_U64, 2, src);
}

/* The lane's group of four, or its number in it. */
static val wmma_lane_part(struct lower_fn *f, enum ir_op op, uint32_t n)
{
    struct ir_instr *lane = lower_emit(f, IR_OP_SREG, IR_B32, 0, NULL, 1);
    lane->imm = IR_SREG_LANEID;
    val src[] = {lane->dst[0], lower_const(f, IR_B32, n)};
    enum ir_type type = op == IR_OP_SHR ? IR_U32 : IR_B32;
    return lower_fit(f, lower_op(f, op, type, 2, src), IR_U32, IR_B64);
}

static uint64_t wmma_bytes(const struct fragment *w, unsigned n)
{
    return (uint64_t)n * w->width / 8;
}

/* Address of the lane's first element, and bytes from one line, or one row along, to the next. */
static void wmma_fragment_locate(struct lower_fn *f, struct fragment *w,
                                 const struct ptx_operand *at, const struct ptx_operand *stride)
{
    bool is_sum = w->operand == 'c' || w->operand == 'd';
    unsigned step = is_sum ? 2 : w->per_reg;
    val base = lower_address(f, at, &w->mem.space, &w->mem.offset);
    base = lower_fit(f, base, base->type == IR_B32 ? IR_U32 : IR_U64, IR_B64);
    val n = stride ? lower_src(f, stride, IR_U32) : lower_const(f, IR_B32, w->default_stride);
    n = lower_fit(f, n, IR_U32, IR_B64);
    if (w->width >= 8) {
        w->stride_B = wmma_times(f, n, w->width / 8);
    } else {
        val src[] = {wmma_times(f, n, w->width), lower_const(f, IR_B32, 3)};
        w->stride_B = lower_op(f, IR_OP_SHR, IR_U64, 2, src);
    }
    val group = wmma_lane_part(f, IR_OP_SHR, 2), thread = wmma_lane_part(f, IR_OP_AND, 3);
    if (w->line_major) {
        base = wmma_add(f, base, wmma_product(f, group, w->stride_B));
        base = wmma_add(f, base, wmma_times(f, thread, wmma_bytes(w, step)));
    } else {
        base = wmma_add(f, base, wmma_times(f, group, wmma_bytes(w, 1)));
        base = wmma_add(f, base, wmma_product(f, wmma_times(f, thread, step), w->stride_B));
    }
    w->base = base;
}

/* Address of element `j` of a register; *out_offset: constant bytes more. */
static val wmma_element_address(struct lower_fn *f, const struct fragment *w, unsigned reg,
                                unsigned j, int64_t *out_offset)
{
    struct ir_mma_coord p = ir_mma_coord_of(&w->mma, w->operand, reg, 0, j);
    unsigned line = w->operand == 'b' ? p.col : p.row, along = w->operand == 'b' ? p.row : p.col;
    if (w->type == IR_B1)
        along *= w->per_reg; /* the product counts words */
    unsigned strides = w->line_major ? line : along;
    *out_offset = w->mem.offset + (int64_t)wmma_bytes(w, w->line_major ? along : line);
    return strides ? wmma_add(f, w->base, wmma_times(f, w->stride_B, strides)) : w->base;
}

static void wmma_place_set(struct ir_instr *r, const struct fragment *w, int64_t offset)
{
    r->mem = w->mem;
    r->mem.offset = offset;
}

static enum ir_type wmma_piece_type(const struct fragment *w)
{
    return w->line_major || w->width == ir_type_bits(w->reg) ? w->reg
           : w->width == 8                                   ? IR_B8
                                                             : IR_B16;
}

/* A register in one piece where its elements are beside each other, else element by element. */
static val wmma_register_load(struct lower_fn *f, const struct fragment *w, unsigned reg)
{
    enum ir_type type = wmma_piece_type(w);
    unsigned n = ir_type_bits(w->reg) / ir_type_bits(type);
    val piece[ELEMENTS_MAX];
    assert(n <= ELEMENTS_MAX);
    for (unsigned j = 0; j < n; j++) {
        int64_t offset;
        val at = wmma_element_address(f, w, reg, j, &offset);
        struct ir_instr *r = lower_emit(f, IR_OP_LD, type, 1, &at, 1);
        wmma_place_set(r, w, offset);
        piece[j] = r->dst[0];
    }
    return n == 1 ? piece[0] : lower_op(f, IR_OP_PACK, w->reg, n, piece);
}

static void wmma_register_store(struct lower_fn *f, const struct fragment *w, unsigned reg, val v)
{
    enum ir_type type = wmma_piece_type(w);
    unsigned n = ir_type_bits(w->reg) / ir_type_bits(type);
    for (unsigned j = 0; j < n; j++) {
        int64_t offset;
        val src[] = {wmma_element_address(f, w, reg, j, &offset), v};
        if (n > 1) {
            struct ir_instr *cut = lower_emit(f, IR_OP_UNPACK, type, 1, &v, 1);
            cut->imm = j;
            src[1] = cut->dst[0];
        }
        wmma_place_set(lower_emit(f, IR_OP_ST, type, 2, src, 0), w, offset);
    }
}

static char wmma_operand_of(unsigned op)
{
    return op == PTX_OP_WMMA_LOAD_A   ? 'a'
           : op == PTX_OP_WMMA_LOAD_B ? 'b'
           : op == PTX_OP_WMMA_LOAD_C ? 'c'
                                      : 'd';
}

bool lower_do_wmma_load(struct lower_fn *f, const struct ptx_insn *in)
{
    struct fragment w;
    val regs[REGISTERS_MAX];
    const char *why = wmma_fragment_read(in->form, wmma_operand_of(in->form->op), &w);
    if (why)
        return lower_refuse(f, why), true;
    unsigned n = ir_mma_registers(&w.mma, w.operand);
    assert(n <= w.registers && w.registers <= REGISTERS_MAX);
    wmma_fragment_locate(f, &w, &in->ops[1], in->nops > 2 ? &in->ops[2] : NULL);
    for (unsigned i = 0; i < w.registers; i++)
        regs[i] = i < n ? wmma_register_load(f, &w, i) : regs[i % n];
    lower_fragment_dst(f, &in->ops[0], w.registers, w.reg, regs);
    return true;
}

bool lower_do_wmma_store(struct lower_fn *f, const struct ptx_insn *in)
{
    struct fragment w;
    val regs[REGISTERS_MAX];
    const char *why = wmma_fragment_read(in->form, 'd', &w);
    if (why)
        return lower_refuse(f, why), true;
    assert(w.registers <= REGISTERS_MAX);
    wmma_fragment_locate(f, &w, &in->ops[0], in->nops > 2 ? &in->ops[2] : NULL);
    if (!lower_fragment(f, &in->ops[1], w.registers, w.reg, regs))
        return true;
    for (unsigned i = 0; i < w.registers; i++)
        wmma_register_store(f, &w, i, regs[i]);
    return true;
}

/* ---- the product */

/* f16 factors are not written: .f32.f16 are d and c. */
static const char *wmma_mma_read(const struct ptx_form *form, const struct shape *s,
                                 struct ir_mma *mma)
{
    enum ir_type type[4] = {IR_VOID, IR_F16, IR_F16, IR_VOID};
    if (!s)
        return "wmma does not have this shape";
    if (form->ntypes != 2 && form->ntypes != 4)
        return "the types of d, a, b and c are missing";
    for (unsigned i = 0; i < form->ntypes; i++)
        type[form->ntypes == 2 ? 3 * i : i] = lower_element((enum ptx_type)form->types[i]);
    if (!wmma_shape_has(s, type[1]) || type[1] != type[2] ||
        (form->ntypes == 4 && type[1] == IR_F16))
        return "this shape does not have these element types";
    if (!wmma_sums_to(type[1], type[0]) || !wmma_sums_to(type[1], type[3]))
        return "the types of c and d do not go with those of a and b";
    unsigned n = 0;
    for (unsigned i = 0; i < form->nmods; i++)
        n += form->mods[i].id == PTX_MOD_ROW || form->mods[i].id == PTX_MOD_COL;
    if (n != 2)
        return "the layouts of a and b are missing";
    *mma = wmma_product_of(s, type[1], type[2], type[3], type[0]);
    return lower_mma_modifiers(form, mma);
}

static bool wmma_factors_read(struct lower_fn *f, const struct ptx_insn *in, const struct shape *s,
                              const struct ir_mma *mma, enum ir_type reg, val *src)
{
    unsigned first = ir_mma_registers(mma, 'a');
    for (unsigned i = 0; i < 2; i++) {
        char operand = wmma_product_operand(s, "ab"[i]);
        val all[REGISTERS_MAX];
        unsigned n = ir_mma_registers(mma, operand);
        if (!lower_fragment(f, &in->ops[1 + i],
                            wmma_fragment_registers(mma, operand, operand == 'a' ? mma->a : mma->b),
                            reg, all))
            return false;
        memcpy(src + (operand == 'a' ? 0 : first), all, n * sizeof(all[0]));
    }
    return true;
}

bool lower_do_wmma_mma(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct shape *s = wmma_shape_of(in->form);
    struct ir_mma mma;
    val src[SOURCES_MAX], dst[REGISTERS_MAX];
    const char *why = wmma_mma_read(in->form, s, &mma);
    if (why)
        return lower_refuse(f, why), true;
    enum ir_type reg = ir_mma_register_bits(&mma) == 64 ? IR_B64 : IR_B32;
    unsigned factors = ir_mma_registers(&mma, 'a') + ir_mma_registers(&mma, 'b');
    assert(ir_mma_registers(&mma, 's') <= SOURCES_MAX);
    if (wmma_factors_read(f, in, s, &mma, reg, src) &&
        lower_fragment(f, &in->ops[3], ir_mma_registers(&mma, 'c'), reg, src + factors) &&
        lower_mma_emit(f, &mma, src, dst))
        lower_fragment_dst(f, &in->ops[0], ir_mma_registers(&mma, 'd'), reg, dst);
    return true;
}
