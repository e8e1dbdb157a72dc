/* What instructions of PTX are counted as (ir/count.h). */
#include "ir/count.h"
#include "lower/lower_priv.h"

/* ---- what an instruction computes with */

enum kind { KIND_OTHER, KIND_HALF, KIND_SINGLE, KIND_DOUBLE };

static enum kind kind_of(enum ptx_type type)
{
    switch (type) {
    case PTX_TYPE_F16:
    case PTX_TYPE_BF16:
    case PTX_TYPE_F16X2:
    case PTX_TYPE_BF16X2:
        return KIND_HALF;
    case PTX_TYPE_F32:
    case PTX_TYPE_F32X2:
        return KIND_SINGLE;
    case PTX_TYPE_F64:
        return KIND_DOUBLE;
    default:
        return KIND_OTHER;
    }
}

static uint64_t packed(enum ptx_type type)
{
    return type == PTX_TYPE_F16X2 || type == PTX_TYPE_BF16X2 || type == PTX_TYPE_F32X2
               ? IR_COUNT_PACKED
               : 0;
}

static uint64_t arithmetic(const struct ptx_form *form, uint64_t half, uint64_t single,
                           uint64_t double_)
{
    enum ptx_type type = ptx_form_type(form);
    const uint64_t by_kind[] = {IR_COUNT_INTEGER, half, single, double_};

    return by_kind[kind_of(type)] | packed(type);
}

/* ---- what it accesses */

static uint64_t space_of(const struct ptx_form *form)
{
    switch (ptx_form_space(form)) {
    case PTX_SPACE_GLOBAL:
        return IR_COUNT_GLOBAL;
    case PTX_SPACE_LOCAL:
        return IR_COUNT_LOCAL;
    case PTX_SPACE_CONST:
    case PTX_SPACE_PARAM:
        return IR_COUNT_CONSTANT;
    case PTX_SPACE_GENERIC:
        return IR_COUNT_GENERIC;
    default:
        return IR_COUNT_SHARED;
    }
}

static uint64_t memory(const struct ptx_form *form, uint64_t how)
{
    return IR_COUNT_MEMORY | how | space_of(form);
}

/* cp.async.bulk, with .tensor, and cp.reduce.async.bulk: by where they go, or where from. */
static uint64_t bulk(const struct ptx_form *form, uint64_t out)
{
    uint64_t classes = IR_COUNT_MEMORY | IR_COUNT_BULK;

    if (form->nspaces == 2 && form->spaces[1] == PTX_SPACE_GLOBAL)
        return classes | IR_COUNT_LOAD;
    return classes | out | (form->spaces[0] == PTX_SPACE_GLOBAL ? 0 : IR_COUNT_SHARED);
}

/* ---- by the name of the opcode, for those with many relatives */

#define MULTIMEM (IR_COUNT_MEMORY | IR_COUNT_GLOBAL | IR_COUNT_MULTIMEM)

static const struct {
    const char *prefix;
    uint64_t classes;
} families[] = {
    {"bar.warp", IR_COUNT_INTER_THREAD},
    {"bar", IR_COUNT_BARRIER},
    {"membar", IR_COUNT_FENCE},
    {"fence", IR_COUNT_FENCE},
    {"mbarrier", IR_COUNT_MEMORY | IR_COUNT_SHARED},
    {"wmma.load", IR_COUNT_MEMORY | IR_COUNT_LOAD | IR_COUNT_GENERIC},
    {"wmma.store", IR_COUNT_MEMORY | IR_COUNT_STORE | IR_COUNT_GENERIC},
    {"wmma.mma", IR_COUNT_TENSOR},
    {"wgmma.mma", IR_COUNT_TENSOR},
    {"mma", IR_COUNT_TENSOR},
    {"tcgen05.mma", IR_COUNT_TENSOR},
    {"tcgen05.cp", IR_COUNT_MEMORY | IR_COUNT_SHARED | IR_COUNT_BULK},
    {"ldmatrix", IR_COUNT_MEMORY | IR_COUNT_LOAD | IR_COUNT_SHARED | IR_COUNT_MATRIX},
    {"stmatrix", IR_COUNT_MEMORY | IR_COUNT_STORE | IR_COUNT_SHARED | IR_COUNT_MATRIX},
    {"multimem.ld", MULTIMEM | IR_COUNT_LOAD},
    {"multimem.red", MULTIMEM | IR_COUNT_REDUCTION},
    {"multimem.cp.reduce", MULTIMEM | IR_COUNT_BULK | IR_COUNT_REDUCTION},
    {"multimem.cp", MULTIMEM | IR_COUNT_BULK | IR_COUNT_STORE},
    {"multimem", MULTIMEM | IR_COUNT_STORE},
    {"prefetch", IR_COUNT_PREFETCH},
    {"tensormap.cp", IR_COUNT_MEMORY | IR_COUNT_STORE},
    {"st.bulk", IR_COUNT_MEMORY | IR_COUNT_STORE | IR_COUNT_BULK | IR_COUNT_SHARED},
    {"tex", IR_COUNT_TEXTURE},
    {"tld4", IR_COUNT_TEXTURE},
    {"suld", IR_COUNT_SURFACE | IR_COUNT_LOAD},
    {"sust", IR_COUNT_SURFACE | IR_COUNT_STORE},
    {"sured", IR_COUNT_SURFACE | IR_COUNT_REDUCTION},
    {"shfl", IR_COUNT_INTER_THREAD},
    {"vote", IR_COUNT_INTER_THREAD},
    {"match", IR_COUNT_INTER_THREAD},
    {"redux", IR_COUNT_INTER_THREAD},
    {"elect", IR_COUNT_INTER_THREAD},
    {"activemask", IR_COUNT_INTER_THREAD},
    {"cvt", IR_COUNT_CONVERSION},
    {"v", IR_COUNT_INTEGER}, /* video instructions */
};

static uint64_t by_family(struct hd_str text)
{
    for (size_t i = 0; i < HD_COUNT_OF(families); i++)
        if (hd_str_starts(text, families[i].prefix))
            return families[i].classes;
    return 0;
}

uint64_t lower_count_classes(const struct ptx_form *form)
{
    switch ((enum ptx_op)form->op) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        return arithmetic(form, IR_COUNT_HADD, IR_COUNT_FADD, IR_COUNT_DADD);
    case PTX_OP_MUL:
        return arithmetic(form, IR_COUNT_HMUL, IR_COUNT_FMUL, IR_COUNT_DMUL);
    case PTX_OP_FMA:
    case PTX_OP_MAD:
        return arithmetic(form, IR_COUNT_HFMA, IR_COUNT_FFMA, IR_COUNT_DFMA);
    case PTX_OP_DIV:
        return arithmetic(form, IR_COUNT_SPECIAL, IR_COUNT_SPECIAL, IR_COUNT_SPECIAL);
    case PTX_OP_RCP:
    case PTX_OP_SQRT:
    case PTX_OP_RSQRT:
    case PTX_OP_SIN:
    case PTX_OP_COS:
    case PTX_OP_LG2:
    case PTX_OP_EX2:
    case PTX_OP_TANH:
        return IR_COUNT_SPECIAL;
    case PTX_OP_ABS:
    case PTX_OP_NEG:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_SET:
    case PTX_OP_SETP:
    case PTX_OP_TESTP:
    case PTX_OP_COPYSIGN:
        return kind_of(ptx_form_type(form)) == KIND_OTHER ? IR_COUNT_INTEGER : 0;
    case PTX_OP_ADDC:
    case PTX_OP_SUBC:
    case PTX_OP_MADC:
    case PTX_OP_MUL24:
    case PTX_OP_MAD24:
    case PTX_OP_SAD:
    case PTX_OP_REM:
    case PTX_OP_POPC:
    case PTX_OP_CLZ:
    case PTX_OP_BFIND:
    case PTX_OP_FNS:
    case PTX_OP_BREV:
    case PTX_OP_BFE:
    case PTX_OP_BFI:
    case PTX_OP_SZEXT:
    case PTX_OP_BMSK:
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR:
    case PTX_OP_NOT:
    case PTX_OP_CNOT:
    case PTX_OP_LOP3:
    case PTX_OP_SHF:
    case PTX_OP_SHL:
    case PTX_OP_SHR:
    case PTX_OP_PRMT:
        return IR_COUNT_INTEGER;
    case PTX_OP_MOV:
    case PTX_OP_SELP:
    case PTX_OP_SLCT:
    case PTX_OP_CVTA:
        return IR_COUNT_MOVE;
    case PTX_OP_LD:
    case PTX_OP_LDU:
        return memory(form, IR_COUNT_LOAD);
    case PTX_OP_ST:
        return memory(form, IR_COUNT_STORE);
    case PTX_OP_ATOM:
        return memory(form, IR_COUNT_ATOMIC);
    case PTX_OP_RED:
        return memory(form, IR_COUNT_REDUCTION);
    case PTX_OP_ST_ASYNC:
    case PTX_OP_TENSORMAP_REPLACE:
        return memory(form, IR_COUNT_STORE);
    case PTX_OP_RED_ASYNC:
        return memory(form, IR_COUNT_REDUCTION);
    case PTX_OP_CP_ASYNC:
        return IR_COUNT_MEMORY | IR_COUNT_LOAD | IR_COUNT_COPY;
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
        return IR_COUNT_MEMORY | IR_COUNT_SHARED;
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_ASYNC_BULK_TENSOR:
        return bulk(form, IR_COUNT_STORE);
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
        return bulk(form, IR_COUNT_REDUCTION);
    case PTX_OP_CP_ASYNC_BULK_PREFETCH:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
        return IR_COUNT_PREFETCH;
    case PTX_OP_BRA:
    case PTX_OP_BRX_IDX:
        return IR_COUNT_CONTROL | IR_COUNT_BRANCH;
    case PTX_OP_CALL:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
        return IR_COUNT_CONTROL;
    default:
        return by_family(form->text);
    }
}
