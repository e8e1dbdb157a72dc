/*
 * Matrix products and the loads and stores of their fragments. Which shapes, types and modifiers
 * go together is here, as tables; lower_support.c leaves all of that to this file and to
 * lower_wmma.c.
 */
#include "lower/matrix/lower_matrix.h"

#include <string.h>

typedef struct ir_value *val;

enum { SOURCES_MAX = 24, SELECTOR_OPERANDS = 2, SCALE_OPERANDS = 4 };

bool lower_refuse(struct lower_fn *f, const char *why)
{
    lower_fail_form(f, why);
    return false;
}

/* ---- products: families of element types */

/* What a product is by its kind or, without one, by the elements of a. */
enum family {
    HALVES,
    BHALVES,
    TF32,
    FP8,
    F8F6F4,
    MXF8F6F4,
    MXF4,
    MXF4NVF4,
    DOUBLES,
    BYTES,
    NIBBLES,
    BITS,
    NO_FAMILY
};

enum { DENSE = 1, SPARSE = 2 };

static const struct shape {
    enum family family;
    uint16_t m, n, k;
    unsigned may_be; /* DENSE, SPARSE */
} shapes[] = {
    {HALVES, 8, 8, 4, DENSE},
    {HALVES, 16, 8, 8, DENSE},
    {HALVES, 16, 8, 16, DENSE | SPARSE},
    {HALVES, 16, 8, 32, SPARSE},
    {BHALVES, 16, 8, 8, DENSE},
    {BHALVES, 16, 8, 16, DENSE | SPARSE},
    {BHALVES, 16, 8, 32, SPARSE},
    {TF32, 16, 8, 4, DENSE},
    {TF32, 16, 8, 8, DENSE | SPARSE},
    {TF32, 16, 8, 16, SPARSE},
    {FP8, 16, 8, 16, DENSE},
    {FP8, 16, 8, 32, DENSE},
    {FP8, 16, 8, 64, SPARSE},
    {F8F6F4, 16, 8, 32, DENSE},
    {F8F6F4, 16, 8, 64, SPARSE},
    {MXF8F6F4, 16, 8, 32, DENSE},
    {MXF8F6F4, 16, 8, 64, SPARSE},
    {MXF4, 16, 8, 64, DENSE},
    {MXF4, 16, 8, 128, SPARSE},
    {MXF4NVF4, 16, 8, 64, DENSE},
    {MXF4NVF4, 16, 8, 128, SPARSE},
    {DOUBLES, 8, 8, 4, DENSE},
    {DOUBLES, 16, 8, 4, DENSE},
    {DOUBLES, 16, 8, 8, DENSE},
    {DOUBLES, 16, 8, 16, DENSE},
    {BYTES, 8, 8, 16, DENSE},
    {BYTES, 16, 8, 16, DENSE},
    {BYTES, 16, 8, 32, DENSE | SPARSE},
    {BYTES, 16, 8, 64, SPARSE},
    {NIBBLES, 8, 8, 32, DENSE},
    {NIBBLES, 16, 8, 32, DENSE},
    {NIBBLES, 16, 8, 64, DENSE | SPARSE},
    {NIBBLES, 16, 8, 128, SPARSE},
    {BITS, 8, 8, 128, DENSE},
    {BITS, 16, 8, 128, DENSE},
    {BITS, 16, 8, 256, DENSE},
};

static const struct {
    enum ptx_mod mod;
    enum family family;
} kinds[] = {{PTX_MOD_KIND_F8F6F4, F8F6F4},
             {PTX_MOD_KIND_MXF8F6F4, MXF8F6F4},
             {PTX_MOD_KIND_MXF4, MXF4},
             {PTX_MOD_KIND_MXF4NVF4, MXF4NVF4}};

static bool matrix_family_is_scaled(enum family family)
{
    return family == MXF8F6F4 || family == MXF4 || family == MXF4NVF4;
}

enum ir_type lower_element(enum ptx_type type)
{
    switch (type) {
#define T(id)                                                                                      \
    case PTX_TYPE_##id:                                                                            \
        return IR_##id;
        T(F16)
        T(BF16)
        T(TF32)
        T(F32)
        T(F64)
        T(E4M3)
        T(E5M2)
        T(E3M2)
        T(E2M3)
        T(E2M1)
        T(UE8M0)
        T(UE4M3)
        T(S8)
        T(U8)
        T(S4)
        T(U4)
        T(S32)
        T(B1)
#undef T
    default:
        return IR_VOID;
    }
}

/* Without a kind. */
static enum family matrix_family_of_type(enum ir_type type)
{
    switch (type) {
    case IR_F16:
        return HALVES;
    case IR_BF16:
        return BHALVES;
    case IR_TF32:
        return TF32;
    case IR_E4M3:
    case IR_E5M2:
        return FP8;
    case IR_F64:
        return DOUBLES;
    case IR_S8:
    case IR_U8:
        return BYTES;
    case IR_S4:
    case IR_U4:
        return NIBBLES;
    case IR_B1:
        return BITS;
    default:
        return NO_FAMILY;
    }
}

static enum family matrix_family_of(const struct ptx_form *form, enum ir_type a)
{
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        if (ptx_form_has(form, kinds[i].mod))
            return kinds[i].family;
    }
    return matrix_family_of_type(a);
}

static bool matrix_family_takes(enum family family, enum ir_type type)
{
    bool narrow = type == IR_E3M2 || type == IR_E2M3 || type == IR_E2M1;
    if (family == F8F6F4 || family == MXF8F6F4)
        return narrow || matrix_family_of_type(type) == FP8;
    if (family == MXF4 || family == MXF4NVF4)
        return type == IR_E2M1;
    return matrix_family_of_type(type) == family;
}

static bool matrix_family_sums(enum family family, const struct ir_mma *mma)
{
    enum ir_type c = mma->c, d = mma->d;
    bool half = c == IR_F16 && d == IR_F16, single = c == IR_F32 && d == IR_F32;
    switch (family) {
    case HALVES: /* of m8n8k4, d may be wider than c */
        return half || single || (mma->m == 8 && c == IR_F16 && d == IR_F32);
    case FP8:
    case F8F6F4:
        return half || single;
    case BHALVES:
    case TF32:
    case MXF8F6F4:
    case MXF4:
    case MXF4NVF4:
        return single;
    case DOUBLES:
        return c == IR_F64 && d == IR_F64;
    default:
        return c == IR_S32 && d == IR_S32;
    }
}

/* Those that sparse matrices got late. */
static bool matrix_family_is_ordered(enum family family, enum ir_type d)
{
    return matrix_family_is_scaled(family) || family == F8F6F4 || (family == FP8 && d == IR_F16);
}

static bool matrix_family_has_shape(enum family family, const struct ir_mma *mma, unsigned kind)
{
    for (size_t i = 0; i < HD_COUNT_OF(shapes); i++) {
        const struct shape *s = &shapes[i];
        if (s->family == family && s->m == mma->m && s->n == mma->n && s->k == mma->k)
            return (s->may_be & kind) != 0;
    }
    return false;
}

/* ---- products: modifiers */

static void matrix_flag_set(struct ir_mma *mma, enum ir_mma_flag flag, bool on)
{
    mma->flags |= (uint16_t)((on ? 1u : 0u) << flag);
}

static bool matrix_is_set(const struct ir_mma *mma, enum ir_mma_flag flag)
{
    return (mma->flags >> flag & 1) != 0;
}

/* The layouts of a and b as written, PTX_MOD_ROW or PTX_MOD_COL; false: not two of them. */
static bool matrix_layouts_read(const struct ptx_form *form, enum ptx_mod out[2])
{
    unsigned n = 0;
    for (unsigned i = 0; i < form->nmods; i++) {
        enum ptx_mod mod = (enum ptx_mod)form->mods[i].id;
        if ((mod == PTX_MOD_ROW || mod == PTX_MOD_COL) && n++ < 2)
            out[n - 1] = mod;
    }
    return n == 2;
}

static const char *matrix_layout_check(const struct ptx_form *form, struct ir_mma *mma)
{
    enum ptx_mod layout[2] = {PTX_MOD_ROW, PTX_MOD_COL};
    bool quads = mma->m == 8 && mma->a == IR_F16;
    if (!matrix_layouts_read(form, layout))
        return "the layouts of a and b are missing";
    if (!quads && (layout[0] != PTX_MOD_ROW || layout[1] != PTX_MOD_COL))
        return "with this shape the layouts are .row.col";
    matrix_flag_set(mma, IR_MMA_QUADS, quads);
    matrix_flag_set(mma, IR_MMA_A_COLUMNS, layout[0] == PTX_MOD_COL);
    matrix_flag_set(mma, IR_MMA_B_ROWS, layout[1] == PTX_MOD_ROW);
    return NULL;
}

const char *lower_mma_modifiers(const struct ptx_form *form, struct ir_mma *mma)
{
    bool popc = ptx_form_has(form, PTX_MOD_POPC), xor = ptx_form_has(form, PTX_MOD_XOR);
    bool and = ptx_form_has(form, PTX_MOD_AND), is_bits = mma->a == IR_B1;
    if (!form->sync || !form->aligned)
        return ".sync.aligned is missing";
    if (is_bits ? !popc || xor== and : popc || xor|| and)
        return is_bits ? "a product of bits is .xor.popc or .and.popc"
                       : ".popc is for products of bits";
    if (form->satfinite && mma->d != IR_S32)
        return ".satfinite is for integers here";
    if (form->satfinite && is_bits)
        return ".satfinite does not go with bits";
    if (form->round != PTX_ROUND_NONE && mma->d != IR_F64)
        return "a rounding is for .f64 here";
    matrix_flag_set(mma, IR_MMA_XOR, xor);
    matrix_flag_set(mma, IR_MMA_AND, and);
    matrix_flag_set(mma, IR_MMA_SAT, form->satfinite);
    mma->rnd = lower_rounding(form);
    return NULL;
}

/* ---- products: scales */

static unsigned matrix_written_scales(const struct ptx_form *form)
{
    return ptx_form_has(form, PTX_MOD_SCALE_VEC_1X)   ? 1
           : ptx_form_has(form, PTX_MOD_SCALE_VEC_2X) ? 2
           : ptx_form_has(form, PTX_MOD_SCALE_VEC_4X) ? 4
                                                      : 0;
}

static bool matrix_scales_go_together(enum family family, unsigned scales, enum ir_type type)
{
    if (family == MXF8F6F4)
        return scales == 1 && type == IR_UE8M0;
    if (family == MXF4)
        return scales == 2 && type == IR_UE8M0;
    return (scales == 2 && type == IR_UE8M0) ||
           (scales == 4 && (type == IR_UE4M3 || type == IR_UE8M0));
}

static const char *matrix_scale_check(const struct ptx_form *form, enum family family,
                                      struct ir_mma *mma)
{
    unsigned scales = matrix_written_scales(form);
    bool scaled = ptx_form_has(form, PTX_MOD_BLOCK_SCALE);
    if (!matrix_family_is_scaled(family))
        return scaled || scales || form->ntypes > 4 ? "scales need a kind that has them" : NULL;
    if (!scaled || form->ntypes != 5)
        return "this kind needs .block_scale and the type of scales";
    if (!scales)
        scales = family == MXF8F6F4 ? 1 : family == MXF4 ? 2 : 0;
    mma->scale = lower_element((enum ptx_type)form->types[4]);
    mma->scales = (uint8_t)scales;
    return matrix_scales_go_together(family, scales, mma->scale)
               ? NULL
               : "this kind does not have scales of this number and type";
}

/* ---- products: the whole */

static const char *matrix_mma_read(const struct ptx_form *form, struct ir_mma *mma)
{
    enum ir_type a = lower_element((enum ptx_type)form->types[1]);
    enum family family = matrix_family_of(form, a);
    /* Usually a part of the opcode; among the modifiers it means the same. */
    bool ordered = form->op == PTX_OP_MMA_SP_ORDERED_METADATA ||
                   ptx_form_has(form, PTX_MOD_SP_ORDERED_METADATA);
    bool sparse = ordered || form->op == PTX_OP_MMA_SP || ptx_form_has(form, PTX_MOD_SP);
    *mma = (struct ir_mma){.m = form->shape.m, .n = form->shape.n, .k = form->shape.k, .a = a};
    if (form->ntypes < 4)
        return "the types of d, a, b and c are missing";
    mma->d = lower_element((enum ptx_type)form->types[0]);
    mma->b = lower_element((enum ptx_type)form->types[2]);
    mma->c = lower_element((enum ptx_type)form->types[3]);
    if (family == NO_FAMILY || !matrix_family_takes(family, mma->a) ||
        !matrix_family_takes(family, mma->b) || (family == BHALVES && mma->a != mma->b))
        return "there is no product of these element types";
    if (!matrix_family_has_shape(family, mma, sparse ? SPARSE : DENSE))
        return "these element types do not have this shape";
    if (!matrix_family_sums(family, mma))
        return "the types of c and d do not go with those of a and b";
    matrix_flag_set(mma, IR_MMA_SPARSE, sparse);
    matrix_flag_set(mma, IR_MMA_ORDERED, ordered);
    matrix_flag_set(mma, IR_MMA_BYTES, family == F8F6F4 || family == MXF8F6F4);
    if (sparse && matrix_family_is_ordered(family, mma->d) && !matrix_is_set(mma, IR_MMA_ORDERED))
        return "this product is sparse with ::ordered_metadata only";
    const char *why = matrix_layout_check(form, mma);
    why = why ? why : lower_mma_modifiers(form, mma);
    return why ? why : matrix_scale_check(form, family, mma);
}

bool lower_fragment(struct lower_fn *f, const struct ptx_operand *op, unsigned n, enum ir_type type,
                    val *out)
{
    if (n == 1 && op->kind != PTX_OPND_VEC) {
        out[0] = lower_src(f, op, type);
        return true;
    }
    if (op->kind != PTX_OPND_VEC || op->nitems != n)
        return lower_refuse(f, "a fragment has another number of registers");
    for (unsigned i = 0; i < n; i++)
        out[i] = lower_src(f, &op->items[i], type);
    return true;
}

bool lower_fragment_dst(struct lower_fn *f, const struct ptx_operand *op, unsigned n,
                        enum ir_type type, val const *v)
{
    if (n == 1 && op->kind != PTX_OPND_VEC) {
        lower_dst(f, op, v[0], type);
        return true;
    }
    if (op->kind != PTX_OPND_VEC || op->nitems != n)
        return lower_refuse(f, "a fragment has another number of registers");
    for (unsigned i = 0; i < n; i++)
        lower_dst(f, &op->items[i], v[i], type);
    return true;
}

static bool matrix_selector_read(struct lower_fn *f, const struct ptx_operand *op,
                                 struct ir_mma *mma)
{
    if (op->kind != PTX_OPND_INT || op->u.bits > 3)
        return lower_refuse(f, "the sparsity selector is a constant of 0 to 3");
    mma->selector = (uint8_t)op->u.bits;
    if (ir_mma_selector_fits(mma))
        return true;
    return lower_refuse(f, "the sparsity selector is too big for this shape");
}

/* Scales, and {byte number, lane number}. */
static bool matrix_scales_read(struct lower_fn *f, const struct ptx_operand *ops, val *out)
{
    val where[2];
    if (!lower_fragment(f, &ops[0], 1, IR_B32, out) ||
        !lower_fragment(f, &ops[1], 2, IR_U16, where))
        return false;
    out[1] = lower_fit(f, where[0], IR_U16, IR_B32);
    out[2] = lower_fit(f, where[1], IR_U16, IR_B32);
    return true;
}

/* Metadata and scales, behind a, b and c. */
static bool matrix_extras_read(struct lower_fn *f, const struct ptx_insn *in, struct ir_mma *mma,
                               val *out)
{
    const struct ptx_operand *op = &in->ops[4];
    if (matrix_is_set(mma, IR_MMA_SPARSE)) {
        if (!lower_fragment(f, op, 1, IR_B32, out++) || !matrix_selector_read(f, op + 1, mma))
            return false;
        op += SELECTOR_OPERANDS;
    }
    return !mma->scales ||
           (matrix_scales_read(f, op, out) && matrix_scales_read(f, op + 2, out + 3));
}

static unsigned matrix_operands_wanted(const struct ir_mma *mma)
{
    return 4u + (matrix_is_set(mma, IR_MMA_SPARSE) ? SELECTOR_OPERANDS : 0u) +
           (mma->scales ? SCALE_OPERANDS : 0u);
}

bool lower_mma_emit(struct lower_fn *f, const struct ir_mma *mma, val const *src, val *out)
{
    struct ir_mma *kept = hd_arena_new(&f->job->module->arena, struct ir_mma);
    enum ir_type reg = ir_mma_register_bits(mma) == 64 ? IR_B64 : IR_B32;
    unsigned n = ir_mma_registers(mma, 'd');
    struct ir_instr *r = lower_emit(f, IR_OP_MMA, IR_VOID, ir_mma_registers(mma, 's'), src, n);
    if (!kept) {
        lower_fail(f, HD_NO_MEMORY, "no memory for IR");
        return false;
    }
    *kept = *mma;
    r->ext = kept;
    for (unsigned i = 0; i < n; i++) {
        r->dst[i]->type = reg;
        out[i] = r->dst[i];
    }
    return true;
}

bool lower_do_mma(struct lower_fn *f, const struct ptx_insn *in)
{
    struct ir_mma mma;
    val src[SOURCES_MAX], dst[SOURCES_MAX];
    unsigned at = 0;
    const char *why = matrix_mma_read(in->form, &mma);
    if (!why && in->nops != matrix_operands_wanted(&mma))
        why = "another number of operands";
    if (why)
        return lower_refuse(f, why), true;
    enum ir_type reg = ir_mma_register_bits(&mma) == 64 ? IR_B64 : IR_B32;
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = ir_mma_registers(&mma, "abc"[i]);
        assert(at + n <= SOURCES_MAX);
        if (!lower_fragment(f, &in->ops[1 + i], n, reg, src + at))
            return true;
        at += n;
    }
    if (matrix_extras_read(f, in, &mma, src + at) && lower_mma_emit(f, &mma, src, dst))
        lower_fragment_dst(f, &in->ops[0], ir_mma_registers(&mma, 'd'), reg, dst);
    return true;
}

/* ---- rows of matrices */

static const struct tile {
    uint16_t m, n;
    bool trans;
    enum ptx_type type, from;
    unsigned most;      /* matrices */
    unsigned registers; /* of each */
    bool loads, stores;
    enum ir_tile tile;
} tiles[] = {
    {8, 8, false, PTX_TYPE_B16, PTX_TYPE_NONE, 4, 1, true, true, IR_TILE_M8N8},
    {8, 8, true, PTX_TYPE_B16, PTX_TYPE_NONE, 4, 1, true, true, IR_TILE_M8N8_TRANS},
    {16, 8, true, PTX_TYPE_B8, PTX_TYPE_NONE, 4, 1, false, true, IR_TILE_M16N8_TRANS},
    {16, 16, true, PTX_TYPE_B8, PTX_TYPE_NONE, 2, 2, true, false, IR_TILE_M16N16_TRANS},
    {8, 16, false, PTX_TYPE_B8X16, PTX_TYPE_B6X16_P32, 4, 1, true, false, IR_TILE_M8N16_B6},
    {8, 16, false, PTX_TYPE_B8X16, PTX_TYPE_B4X16_P64, 4, 1, true, false, IR_TILE_M8N16_B4},
    {16, 16, true, PTX_TYPE_B8X16, PTX_TYPE_B6X16_P32, 2, 2, true, false, IR_TILE_M16N16_TRANS_B6},
    {16, 16, true, PTX_TYPE_B8X16, PTX_TYPE_B4X16_P64, 2, 2, true, false, IR_TILE_M16N16_TRANS_B4},
};

static unsigned matrix_times_of(const struct ptx_form *form)
{
    return ptx_form_has(form, PTX_MOD_X1)   ? 1
           : ptx_form_has(form, PTX_MOD_X2) ? 2
           : ptx_form_has(form, PTX_MOD_X4) ? 4
                                            : 0;
}

static const struct tile *matrix_tile_find(const struct ptx_form *form, bool stores)
{
    for (size_t i = 0; i < HD_COUNT_OF(tiles); i++) {
        const struct tile *t = &tiles[i];
        if ((stores ? t->stores : t->loads) && form->shape.m == t->m && form->shape.n == t->n &&
            !form->shape.k && ptx_form_has(form, PTX_MOD_TRANS) == t->trans &&
            form->types[0] == t->type && form->types[1] == t->from && form->ntypes <= 2)
            return t;
    }
    return NULL;
}

/* How many registers; 0 after an error. */
static unsigned matrix_tile_registers(struct lower_fn *f, const struct ptx_form *form,
                                      const struct tile *tile)
{
    unsigned times = matrix_times_of(form);
    enum ir_space space = lower_space(ptx_form_space(form));
    const char *why = !form->sync || !form->aligned ? ".sync.aligned is missing"
                      : !tile ? "there are no matrices of this shape, type and transposition"
                      : !times || times > tile->most ? "not so many matrices of this shape"
                      : space != IR_SPACE_SHARED && space != IR_SPACE_GENERIC
                          ? "matrices are in shared memory"
                          : NULL;
    if (!why)
        return times * tile->registers;
    lower_fail_form(f, why);
    return 0;
}

/* The address, and where it is. */
static val matrix_tile_address(struct lower_fn *f, const struct ptx_insn *in, unsigned operand,
                               struct ir_mem *out)
{
    *out = (struct ir_mem){.space = lower_space(ptx_form_space(in->form))};
    return lower_address(f, &in->ops[operand], &out->space, &out->offset);
}

bool lower_do_ldmatrix(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct tile *tile = matrix_tile_find(in->form, false);
    unsigned n = matrix_tile_registers(f, in->form, tile);
    struct ir_mem mem;
    if (!n)
        return true;
    val src = matrix_tile_address(f, in, 1, &mem);
    struct ir_instr *r = lower_emit(f, IR_OP_LDMATRIX, IR_VOID, 1, &src, n);
    r->imm = tile->tile;
    r->mem = mem;
    lower_fragment_dst(f, &in->ops[0], n, IR_B32, r->dst);
    return true;
}

bool lower_do_stmatrix(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct tile *tile = matrix_tile_find(in->form, true);
    unsigned n = matrix_tile_registers(f, in->form, tile);
    struct ir_mem mem;
    val src[SOURCES_MAX];
    if (!n)
        return true;
    src[0] = matrix_tile_address(f, in, 0, &mem);
    if (!lower_fragment(f, &in->ops[1], n, IR_B32, src + 1))
        return true;
    struct ir_instr *r = lower_emit(f, IR_OP_STMATRIX, IR_VOID, 1 + n, src, 0);
    r->imm = tile->tile;
    r->mem = mem;
    return true;
}

bool lower_do_movmatrix(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    if (!form->sync || !form->aligned || !ptx_form_has(form, PTX_MOD_TRANS) || form->shape.m != 8 ||
        form->shape.n != 8 || form->shape.k || ptx_form_type(form) != PTX_TYPE_B16)
        return lower_refuse(f, "movmatrix is .sync.aligned.m8n8.trans.b16"), true;
    val a = lower_src(f, &in->ops[1], IR_B32);
    lower_dst(f, &in->ops[0], lower_op(f, IR_OP_MOVMATRIX, IR_VOID, 1, &a), IR_B32);
    return true;
}
