/*
 * What of PTX is supported: opcodes by their row in spec/ptx_ops.def, modifiers by theirs in
 * spec/ptx_mods.def, here what types, spaces and modifiers they may have together.
 */
#include "lower/lower_priv.h"

static bool support_type_in_slice(const struct ptx_form *form, unsigned i)
{
    enum ptx_type t = (enum ptx_type)form->types[i];
    if (form->op == PTX_OP_CVT_PACK || form->op == PTX_OP_CVT ||
        form->op == PTX_OP_TENSORMAP_REPLACE)
        return true; /* support_types_in_slice() names them, or the lowering */
    bool packed_int = t == PTX_TYPE_U16X2 || t == PTX_TYPE_S16X2;
    unsigned op = form->op;
    if (t == PTX_TYPE_F32X2)
        return op == PTX_OP_ADD || op == PTX_OP_SUB || op == PTX_OP_MUL || op == PTX_OP_FMA;
    if (packed_int)
        return op == PTX_OP_ADD || op == PTX_OP_MIN || op == PTX_OP_MAX;
    return lower_type(t) != IR_VOID;
}

static bool support_is_half(enum ptx_type t)
{
    return t == PTX_TYPE_F16 || t == PTX_TYPE_BF16 || t == PTX_TYPE_F16X2 || t == PTX_TYPE_BF16X2;
}

static bool support_has_refused_modifier(const struct ptx_form *form)
{
    for (unsigned i = 0; i < form->nmods; i++) {
        if (!lower_mods[form->mods[i].id].is_lowered)
            return true;
    }
    return form->round2 != PTX_ROUND_NONE;
}

static bool support_is_video(const struct ptx_form *form)
{
    return form->op >= PTX_OP_VADD && form->op <= PTX_OP_VSET4;
}

static bool support_saturation_in_slice(const struct ptx_form *form)
{
    enum ptx_type t = ptx_form_type(form);
    bool high = form->half == PTX_HALF_HI;
    if (!form->sat || form->op == PTX_OP_CVT || form->op == PTX_OP_CVT_PACK ||
        support_is_video(form))
        return true;
    if (ptx_type_class(t) == PTX_CLASS_FLOAT)
        return t != PTX_TYPE_F64 && t != PTX_TYPE_F32X2;
    return t == PTX_TYPE_S32 && (form->op == PTX_OP_ADD || form->op == PTX_OP_SUB ||
                                 (high && (form->op == PTX_OP_MAD || form->op == PTX_OP_MAD24)));
}

static bool support_relu_in_slice(const struct ptx_form *form)
{
    enum ptx_type t = ptx_form_type(form);
    bool min_max = form->op == PTX_OP_MIN || form->op == PTX_OP_MAX;
    return !form->relu || form->op == PTX_OP_CVT ||
           (min_max && (t == PTX_TYPE_S32 || t == PTX_TYPE_S16X2)) ||
           (form->op == PTX_OP_FMA && support_is_half(ptx_form_type(form)));
}

/* Compares of integers have no unordered forms, those of floats no unsigned ones. */
static bool support_compare_in_slice(const struct ptx_form *form)
{
    unsigned i = form->op == PTX_OP_SET ? 1 : 0;
    bool is_float = ptx_type_class((enum ptx_type)form->types[i]) == PTX_CLASS_FLOAT;
    return is_float ? form->cmp < PTX_CMP_LO || form->cmp > PTX_CMP_HS : form->cmp <= PTX_CMP_HS;
}

static bool support_is_logic(unsigned subop)
{
    return subop == PTX_SUBOP_AND || subop == PTX_SUBOP_OR || subop == PTX_SUBOP_XOR;
}

/* Result and operands a and b of a video instruction; a comparison's result has no type. */
static bool support_video_types_in_slice(const struct ptx_form *form)
{
    bool set = form->op == PTX_OP_VSET || form->op == PTX_OP_VSET2 || form->op == PTX_OP_VSET4;
    bool shift = form->op == PTX_OP_VSHL || form->op == PTX_OP_VSHR;
    for (unsigned i = 0; i < form->ntypes; i++) {
        if (form->types[i] != PTX_TYPE_U32 && form->types[i] != PTX_TYPE_S32)
            return false;
    }
    return form->ntypes == (set ? 2 : 3) && (!shift || form->types[2] == PTX_TYPE_U32);
}

static bool support_pack_types_in_slice(const struct ptx_form *form)
{
    unsigned bits = ptx_type_bits(ptx_form_type(form));
    enum ptx_type_class kind = ptx_type_class(ptx_form_type(form));
    if ((kind != PTX_CLASS_UINT && kind != PTX_CLASS_SINT) || form->types[1] != PTX_TYPE_S32)
        return false;
    if (bits == 16)
        return form->ntypes == 2;
    return bits < 16 && form->ntypes == 3 && form->types[2] == PTX_TYPE_B32;
}

/* What the second type of a form may be; one type is the rule. */
static bool support_types_in_slice(const struct ptx_form *form)
{
    enum ptx_type second = (enum ptx_type)form->types[1], first = ptx_form_type(form);
    if (support_is_video(form))
        return support_video_types_in_slice(form);
    switch (form->op) {
    case PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL:
    case PTX_OP_TENSORMAP_REPLACE:
        return form->ntypes == 2;
    case PTX_OP_CVT_PACK:
        return support_pack_types_in_slice(form);
    case PTX_OP_CVT:
        return lower_cvt_types(form);
    case PTX_OP_SET:
        return form->ntypes == 2 && first != PTX_TYPE_F64 && ptx_type_bits(first) <= 32 &&
               ptx_type_class(first) != PTX_CLASS_PRED && ptx_type_bits(first) >= 16;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_FMA:
        return form->ntypes <= 1 || (form->ntypes == 2 && first == PTX_TYPE_F32 && !form->ftz &&
                                     (second == PTX_TYPE_F16 || second == PTX_TYPE_BF16));
    case PTX_OP_SLCT:
        return form->ntypes == 2 && (second == PTX_TYPE_S32 || second == PTX_TYPE_F32);
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
        return form->ntypes == 2 && ptx_type_bits(second) == 32 &&
               ptx_type_class(second) != PTX_CLASS_FLOAT;
    default:
        return form->ntypes <= 1;
    }
}

static bool support_space_in_slice(const struct ptx_form *form)
{
    enum ptx_space space = ptx_form_space(form);
    bool must = form->op == PTX_OP_CVTA || form->op == PTX_OP_ISSPACEP;
    /* Lowerings that look at both spaces of a copy themselves. */
    lower_run_fn *const all[] = {lower_do_cp_async, lower_do_bulk, lower_do_bulk_reduce,
                                 lower_do_tensor_box, lower_do_tensormap_fenceproxy};
    for (size_t i = 0; i < HD_COUNT_OF(all); i++) {
        if (all[i] == lower_ops[form->op].run)
            return true;
    }
    if (form->nspaces > 1)
        return false;
    return lower_space(space) != IR_SPACE_GENERIC || (space == PTX_SPACE_GENERIC && !must);
}

/* Comparisons of video instructions are by their types; packed ones only add to c. */
static bool support_video_in_slice(const struct ptx_form *form)
{
    bool packed = form->op >= PTX_OP_VADD2;
    if (form->cmp > PTX_CMP_GE)
        return false;
    return !form->subop || form->subop == PTX_SUBOP_ADD ||
           (!packed && (form->subop == PTX_SUBOP_MIN || form->subop == PTX_SUBOP_MAX));
}

/* .abs goes with .xorsign, or with three sources of f32 and then alone. */
static bool support_min_max_in_slice(const struct ptx_insn *in)
{
    bool abs = ptx_form_has(in->form, PTX_MOD_ABS), three = in->nops > 3;
    bool xorsign = ptx_form_has(in->form, PTX_MOD_XORSIGN);
    if (three)
        return ptx_form_type(in->form) == PTX_TYPE_F32 && !xorsign;
    return abs == xorsign && !(abs && ptx_form_type(in->form) == PTX_TYPE_F64);
}

/* Logic of b32, arithmetic of integers, and of f32 min and max; .abs and .NaN are f32's. */
static bool support_redux_in_slice(const struct ptx_form *form)
{
    bool is_float = ptx_form_type(form) == PTX_TYPE_F32;
    bool min_max = form->subop == PTX_SUBOP_MIN || form->subop == PTX_SUBOP_MAX;
    bool words = ptx_form_has(form, PTX_MOD_ABS) || ptx_form_has(form, PTX_MOD_PROPAGATE_NAN);
    if (is_float)
        return min_max && !ptx_form_has(form, PTX_MOD_XORSIGN);
    return !words && (support_is_logic(form->subop) || form->subop == PTX_SUBOP_ADD || min_max);
}

/* 128 bits are only exchanged. */
static bool support_atom_scalar_in_slice(const struct ptx_form *form)
{
    bool swaps =
        form->subop == PTX_SUBOP_CAS || (form->subop == PTX_SUBOP_EXCH && form->op == PTX_OP_ATOM);
    return ptx_type_bits(ptx_form_type(form)) <= 64 || swaps;
}

/* Vectors of f32 in global memory, added; and of halves, with .noftz, of at most 16 bytes. */
static bool support_atom_vector_in_slice(const struct ptx_form *form)
{
    enum ptx_type t = ptx_form_type(form);
    enum ir_space space = lower_space(ptx_form_space(form));
    bool extreme = form->subop == PTX_SUBOP_MIN || form->subop == PTX_SUBOP_MAX;
    if (space != IR_SPACE_GLOBAL && space != IR_SPACE_GENERIC)
        return false;
    if (form->vec * ptx_type_bits(t) > 128 || form->noftz != support_is_half(t))
        return false;
    return form->subop == PTX_SUBOP_ADD ? support_is_half(t) || t == PTX_TYPE_F32
                                        : extreme && support_is_half(t);
}

/* The variant inside the opcode: shfl's mode, redux's operation, a second result. */
static bool support_variant_in_slice(const struct ptx_insn *insn)
{
    const struct ptx_form *form = insn->form;
    unsigned subop = form->subop, mode = form->mode;
    if (support_is_video(form))
        return support_video_in_slice(form);
    switch (form->op) {
    case PTX_OP_CVT:
        return lower_cvt_variant(insn);
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        return support_min_max_in_slice(insn);
    case PTX_OP_CVT_PACK:
        return form->sat && insn->nops == (form->ntypes == 3 ? 4 : 3);
    case PTX_OP_SET:
    case PTX_OP_SETP:
        return support_compare_in_slice(form) && (support_is_logic(subop) || !subop) &&
               (subop != 0) == (insn->nops == 4);
    case PTX_OP_LOP3:
        return (subop != 0) == (insn->ops[0].kind == PTX_OPND_PAIR);
    case PTX_OP_SHFL:
    case PTX_OP_TESTP:
    case PTX_OP_VOTE:
        return mode != 0;
    case PTX_OP_MATCH:
        return mode == PTX_MOD_ALL || mode == PTX_MOD_ANY;
    case PTX_OP_REDUX:
        return support_redux_in_slice(form);
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_CTA_RED:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CTA_RED:
        return subop == PTX_SUBOP_POPC || subop == PTX_SUBOP_AND || subop == PTX_SUBOP_OR;
    case PTX_OP_MUL24:
    case PTX_OP_MAD24:
        return form->half != PTX_HALF_WIDE;
    case PTX_OP_MAD:
    case PTX_OP_MADC:
        return !(form->cc || form->op == PTX_OP_MADC) || form->half != PTX_HALF_WIDE;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        return form->vec <= 1 ? support_atom_scalar_in_slice(form)
                              : support_atom_vector_in_slice(form);
    default:
        return true;
    }
}

/* d|p, where there is a p. */
static bool support_results_in_slice(const struct ptx_insn *insn)
{
    if (!insn->nops || insn->ops[0].kind != PTX_OPND_PAIR)
        return true;
    switch (insn->form->op) {
    case PTX_OP_SETP:
    case PTX_OP_SHFL:
    case PTX_OP_ELECT_SYNC:
        return true;
    case PTX_OP_MATCH:
        return insn->form->mode == PTX_MOD_ALL;
    case PTX_OP_LOP3:
        return insn->form->subop != 0;
    default:
        return false;
    }
}

static bool support_is_matrix(unsigned op)
{
    return op >= PTX_OP_WMMA_LOAD_A && op <= PTX_OP_TCGEN05_FENCE_AFTER_THREAD_SYNC;
}

static bool support_is_texture(unsigned op)
{
    return op >= PTX_OP_TEX && op <= PTX_OP_SUQ;
}

static bool support_is_multimem(unsigned op)
{
    return op >= PTX_OP_MULTIMEM_LD_REDUCE && op <= PTX_OP_MULTIMEM_CP_REDUCE_ASYNC_BULK;
}

bool lower_in_slice(const struct ptx_insn *insn, const char **out_why)
{
    const struct ptx_form *form = insn->form;
    *out_why = NULL;
    if (!lower_ops[form->op].run)
        *out_why = "the instruction is not supported";
    else if (support_is_matrix(form->op))
        return true; /* lower_matrix.c and its kin ask for more than is asked here */
    else if (support_is_texture(form->op))
        return true; /* so does lower_texture.c */
    else if (support_is_multimem(form->op))
        return true; /* spec/ptx_forms.def says it all */
    else if (!support_types_in_slice(form))
        *out_why = "this combination of types is not supported";
    for (unsigned i = 0; i < form->ntypes && !*out_why; i++) {
        if (!support_type_in_slice(form, i))
            *out_why = "the type is not supported";
    }
    if (*out_why)
        return false;
    if (!support_space_in_slice(form))
        *out_why = "the state space is not supported";
    else if (support_has_refused_modifier(form) || !support_saturation_in_slice(form) ||
             !support_relu_in_slice(form))
        *out_why = "a modifier is not supported";
    else if (!support_variant_in_slice(insn))
        *out_why = "this variant is not supported";
    else if (!support_results_in_slice(insn))
        *out_why = "a second result is not supported";
    return !*out_why;
}
