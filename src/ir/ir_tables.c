#include "ir/ir.h"

#include "ir/ir_names.h"

/*
 * Sets of instruction types, as bits by enum ir_type: the `types` column of spec/ir_ops.def. VOID
 * stands for "the row has no type".
 */
#define BIT(t) (1u << (t))
#define PRED   BIT(IR_PRED)
#define I16    (BIT(IR_B16) | BIT(IR_U16) | BIT(IR_S16))
#define I32    (BIT(IR_B32) | BIT(IR_U32) | BIT(IR_S32))
#define I64    (BIT(IR_B64) | BIT(IR_U64) | BIT(IR_S64))
#define S      (BIT(IR_S16) | BIT(IR_S32) | BIT(IR_S64))
#define F16    (BIT(IR_F16) | BIT(IR_F16X2))
#define BF16   (BIT(IR_BF16) | BIT(IR_BF16X2))
#define F32    BIT(IR_F32)
#define F64    BIT(IR_F64)
#define ANY    (~BIT(IR_VOID))
#define NONE   BIT(IR_VOID)

#define PURE   IR_F_PURE
#define COMM   IR_F_COMM
#define LOAD   IR_F_LOAD
#define STORE  IR_F_STORE
#define ATOM   IR_F_ATOM
#define CONV   IR_F_CONV
#define EFFECT IR_F_EFFECT
#define TERM   IR_F_TERM
#define FTZ    IR_F_FTZ
#define SAT    IR_F_SAT
#define RND    IR_F_RND

const struct ir_op_info ir_op_infos[IR_OP_COUNT] = {
#define X(name_, text, nsrc_, ndst_, result_, types_, flags_, doc_)                                \
    [IR_OP_##name_] = {.name = text,                                                               \
                       .nsrc = nsrc_,                                                              \
                       .ndst = ndst_,                                                              \
                       .result = IR_RES_##result_,                                                 \
                       .types = types_,                                                            \
                       .flags = flags_,                                                            \
                       .doc = doc_},
#include "ir_ops.def"
#undef X
};

#undef S

static const struct {
    const char *name;
    uint8_t bits;
    char kind;
} ir_type_infos[IR_TYPE_COUNT] = {
#define P 'P'
#define U 'U'
#define S 'S'
#define B 'B'
#define F 'F'
#define H 'H'
#define G 'G'
#undef NONE
#define NONE                                ' '
#define X(name_, text, bits_, lanes, kind_) [IR_##name_] = {text, bits_, kind_},
#include "ir_types.def"
#undef X
};

const char *ir_type_name(enum ir_type type)
{
    return type < IR_TYPE_COUNT ? ir_type_infos[type].name : "?";
}

unsigned ir_type_bits(enum ir_type type)
{
    return ir_type_infos[type].bits;
}

bool ir_type_is_signed(enum ir_type type)
{
    return ir_type_infos[type].kind == S;
}

bool ir_type_is_float(enum ir_type type)
{
    char kind = ir_type_infos[type].kind;
    return kind == F || kind == H || kind == G;
}

enum ir_type ir_type_value(enum ir_type type)
{
    switch (ir_type_infos[type].bits) {
    case 1:
        return IR_PRED;
    case 8:
        return IR_B8;
    case 16:
        return IR_B16;
    case 32:
        return IR_B32;
    case 64:
        return IR_B64;
    case 128:
        return IR_B128;
    default:
        return IR_VOID;
    }
}

static const char *const ir_sreg_names[IR_SREG_COUNT] = {
#define X(name, text, type) [IR_SREG_##name] = text,
    IR_SREG_LIST(X)
#undef X
};

const char *ir_sreg_name(enum ir_sreg sreg)
{
    return sreg < IR_SREG_COUNT ? ir_sreg_names[sreg] : "?";
}

enum ir_type ir_sreg_type(enum ir_sreg sreg)
{
    static const uint8_t types[IR_SREG_COUNT] = {
#define X(name, text, type) [IR_SREG_##name] = IR_##type,
        IR_SREG_LIST(X)
#undef X
    };
    return types[sreg];
}

const char *const ir_space_names[IR_SPACE_COUNT_] = {
    [IR_SPACE_GENERIC] = "generic", [IR_SPACE_GLOBAL] = "global", [IR_SPACE_CONST] = "const",
    [IR_SPACE_SHARED] = "shared",   [IR_SPACE_LOCAL] = "local",   [IR_SPACE_PARAM] = "param"};
const char *const ir_rnd_names[IR_RND_COUNT_] = {
    [IR_RND_NONE] = "", [IR_RN] = "rn",   [IR_RZ] = "rz",         [IR_RM] = "rm",
    [IR_RP] = "rp",     [IR_RNA] = "rna", [IR_RNI] = "rni",       [IR_RZI] = "rzi",
    [IR_RMI] = "rmi",   [IR_RPI] = "rpi", [IR_APPROX] = "approx", [IR_FULL] = "full"};
const char *const ir_cmp_names[IR_CMP_COUNT_] = {
    [IR_EQ] = "eq",   [IR_NE] = "ne",   [IR_LT] = "lt",   [IR_LE] = "le",   [IR_GT] = "gt",
    [IR_GE] = "ge",   [IR_EQU] = "equ", [IR_NEU] = "neu", [IR_LTU] = "ltu", [IR_LEU] = "leu",
    [IR_GTU] = "gtu", [IR_GEU] = "geu", [IR_NUM] = "num", [IR_NAN] = "nan"};
const char *const ir_atom_names[IR_ATOM_COUNT_] = {
    [IR_ATOM_ADD] = "add",   [IR_ATOM_MIN] = "min", [IR_ATOM_MAX] = "max", [IR_ATOM_INC] = "inc",
    [IR_ATOM_DEC] = "dec",   [IR_ATOM_AND] = "and", [IR_ATOM_OR] = "or",   [IR_ATOM_XOR] = "xor",
    [IR_ATOM_EXCH] = "exch", [IR_ATOM_CAS] = "cas"};
const char *const ir_sem_names[IR_SEM_COUNT_] = {
    [IR_SEM_WEAK] = "weak",        [IR_SEM_RELAXED] = "relaxed", [IR_SEM_ACQUIRE] = "acquire",
    [IR_SEM_RELEASE] = "release",  [IR_SEM_ACQ_REL] = "acq_rel", [IR_SEM_SC] = "sc",
    [IR_SEM_VOLATILE] = "volatile"};
const char *const ir_scope_names[IR_SCOPE_COUNT_] = {[IR_SCOPE_CTA] = "cta",
                                                     [IR_SCOPE_CLUSTER] = "cluster",
                                                     [IR_SCOPE_GPU] = "gpu",
                                                     [IR_SCOPE_SYS] = "sys"};
const char *const ir_cache_names[IR_CACHE_COUNT_] = {
    [IR_CACHE_DEFAULT] = "", [IR_CACHE_CA] = "ca", [IR_CACHE_CG] = "cg",
    [IR_CACHE_CS] = "cs",    [IR_CACHE_LU] = "lu", [IR_CACHE_CV] = "cv",
    [IR_CACHE_WB] = "wb",    [IR_CACHE_WT] = "wt", [IR_CACHE_NC] = "nc"};
const char *const ir_linkage_names[IR_LINK_COUNT_] = {[IR_LINK_LOCAL] = "internal",
                                                      [IR_LINK_VISIBLE] = "visible",
                                                      [IR_LINK_WEAK] = "weak",
                                                      [IR_LINK_EXTERN] = "extern",
                                                      [IR_LINK_COMMON] = "common"};

static const char *const prmt_names[] = {"idx", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
static const char *const testp_names[] = {"finite",     "infinite", "number",
                                          "notanumber", "normal",   "subnormal"};
static const char *const bar_names[] = {"sync", "arrive", "red_popc", "red_and", "red_or"};
static const char *const shfl_names[] = {"up", "down", "bfly", "idx"};
static const char *const vote_names[] = {"all", "any", "uni", "ballot"};
static const char *const redux_names[] = {"add", "min", "max", "and", "or", "xor"};
static const char *const match_names[] = {"any", "all"};
static const char *const builtin_names[] = {"vprintf", "assertfail", "malloc", "free"};

size_t ir_imm_names(enum ir_op op, const char *const **out_names)
{
#define NAMES(array) (*out_names = (array), HD_COUNT_OF(array))
    switch (op) {
    case IR_OP_SREG:
        return NAMES(ir_sreg_names);
    case IR_OP_PRMT:
        return NAMES(prmt_names);
    case IR_OP_FTESTP:
        return NAMES(testp_names);
    case IR_OP_BAR:
        return NAMES(bar_names);
    case IR_OP_SHFL:
        return NAMES(shfl_names);
    case IR_OP_VOTE:
        return NAMES(vote_names);
    case IR_OP_REDUX:
        return NAMES(redux_names);
    case IR_OP_MATCH:
        return NAMES(match_names);
    case IR_OP_BUILTIN:
        return NAMES(builtin_names);
    default:
        return 0;
    }
#undef NAMES
}
