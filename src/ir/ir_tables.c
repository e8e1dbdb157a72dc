#include "ir/ir.h"

#include <assert.h>

#include "ir/ir_names.h"

/*
 * Sets of instruction types, as bits by enum ir_type: the `types` column of spec/ir_ops.def. VOID
 * stands for "the row has no type".
 */
#define BIT(t) (1ull << (t))
#define PRED   BIT(IR_PRED)
#define I16    (BIT(IR_B16) | BIT(IR_U16) | BIT(IR_S16))
#define I32    (BIT(IR_B32) | BIT(IR_U32) | BIT(IR_S32))
#define I64    (BIT(IR_B64) | BIT(IR_U64) | BIT(IR_S64))
#define I16X2  (BIT(IR_U16X2) | BIT(IR_S16X2))
#define F16    (BIT(IR_F16) | BIT(IR_F16X2))
#define BF16   (BIT(IR_BF16) | BIT(IR_BF16X2))
#define F32    BIT(IR_F32)
#define F64    BIT(IR_F64)
#define NONE   BIT(IR_VOID)
#define I8     (BIT(IR_B8) | BIT(IR_U8) | BIT(IR_S8))
#define CVT    (I8 | I16 | I32 | I64 | BIT(IR_F16) | BIT(IR_BF16) | F32 | F64 | BIT(IR_TF32))
#define SMALL                                                                                      \
    (BIT(IR_E4M3X2) | BIT(IR_E5M2X2) | BIT(IR_E2M3X2) | BIT(IR_E3M2X2) | BIT(IR_UE8M0X2) |         \
     BIT(IR_E2M1X2))
#define TINY  (BIT(IR_E4M3) | BIT(IR_E5M2))
#define MEMOP (I16 | I32 | I64 | F16 | BF16 | F32 | F64 | BIT(IR_B128))
/* Everything a register can hold. */
#define ANY (ALL & ~(NONE | BIT(IR_E2M1) | BIT(IR_U4) | BIT(IR_S4) | BIT(IR_B1)))
#define ALL (BIT(IR_TYPE_COUNT) - 1)
_Static_assert(IR_TYPE_COUNT < 64, "type sets are 64 bits");

#define PURE   IR_F_PURE
#define COMM   IR_F_COMM
#define HINT   IR_F_HINT
#define FLOAT  IR_F_FLOAT
#define LOAD   IR_F_LOAD
#define STORE  IR_F_STORE
#define ATOM   IR_F_ATOM
#define CONV   IR_F_CONV
#define EFFECT IR_F_EFFECT
#define TERM   IR_F_TERM
#define RND    IR_F_RND
#define CMP    IR_F_CMP
#define TYPE2  IR_F_TYPE2
#define SPACE  IR_F_SPACE
#define ADDR   IR_F_ADDR
#define ORDER  IR_F_ORDER
#define IMM    IR_F_IMM

#define FTZ       IR_MOD_FTZ
#define SAT       IR_MOD_SAT
#define NOFTZ     IR_MOD_NOFTZ
#define NAN       IR_MOD_NAN
#define XORSIGN   IR_MOD_XORSIGN
#define RELU      IR_MOD_RELU
#define SATFINITE IR_MOD_SATFINITE
#define HI        IR_MOD_HI
#define WRAP      IR_MOD_WRAP
#define SHIFTAMT  IR_MOD_SHIFTAMT
#define NC        IR_MOD_NC
#define L2EVICT   IR_MODS_L2_EVICT
#define CACHE     (IR_MODS_HINTS | IR_MOD_POLICY)

const struct ir_op_info ir_op_infos[IR_OP_COUNT] = {
#define X(name_, text, dst_, src_, types_, mods_, flags_, doc_)                                    \
    [IR_OP_##name_] = {.name = text,                                                               \
                       .dst = dst_,                                                                \
                       .src = src_,                                                                \
                       .types = types_,                                                            \
                       .mods = mods_,                                                              \
                       .flags = flags_,                                                            \
                       .doc = doc_},
#include "ir_ops.def"
#undef X
};

static const struct {
    const char *name;
    uint8_t bits;
    uint8_t lanes;
    char kind;
    uint8_t element;
} ir_type_infos[IR_TYPE_COUNT] = {
#define P 'P'
#define U 'U'
#define S 'S'
#define B 'B'
#define F 'F'
#define H 'H'
#define G 'G'
#define E 'E'
#undef NONE
#define NONE ' '
#define X(name_, text, bits_, lanes_, kind_, element_)                                             \
    [IR_##name_] = {text, bits_, lanes_, kind_, IR_##element_},
#include "ir_types.def"
#undef X
};

const char *ir_type_name(enum ir_type type)
{
    return type < IR_TYPE_COUNT ? ir_type_infos[type].name : "?";
}

unsigned ir_type_bits(enum ir_type type)
{
    assert(type < IR_TYPE_COUNT);
    return ir_type_infos[type].bits;
}

unsigned ir_type_lanes(enum ir_type type)
{
    return ir_type_infos[type].lanes;
}

enum ir_type ir_type_element(enum ir_type type)
{
    assert(type < IR_TYPE_COUNT);
    return (enum ir_type)ir_type_infos[type].element;
}

bool ir_type_is_signed(enum ir_type type)
{
    return ir_type_infos[type].kind == S;
}

bool ir_type_is_float(enum ir_type type)
{
    char kind = ir_type_infos[type].kind;
    return kind == F || kind == H || kind == G || kind == E;
}

/* ---- operand roles */

uint32_t ir_operands_min(const char *roles)
{
    uint32_t n = 0;

    for (; *roles; roles++)
        n += roles[1] != '?' && roles[1] != '*' && *roles != '?' && *roles != '*';
    return n;
}

uint32_t ir_operands_max(const char *roles)
{
    uint32_t n = 0;

    for (; *roles; roles++) {
        if (*roles == '*')
            return UINT32_MAX;
        n += *roles != '?';
    }
    return n;
}

int ir_operands_fixed(const char *roles)
{
    uint32_t min = ir_operands_min(roles);

    return min == ir_operands_max(roles) ? (int)min : -1;
}

char ir_operand_role(const char *roles, uint32_t index)
{
    for (; *roles; roles++) {
        if (*roles == '?')
            continue;
        if (roles[1] == '*' || !index--)
            return *roles;
    }
    return 0;
}

enum ir_type ir_type_of_bits(unsigned bits)
{
    switch (bits) {
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

enum ir_type ir_type_value(enum ir_type type)
{
    return ir_type_of_bits(ir_type_infos[type].bits);
}

enum ir_type ir_role_type(char role, enum ir_type type, enum ir_type type2)
{
    switch (role) {
    case 't':
        return ir_type_value(type);
    case '2':
        return ir_type_value(type2);
    case 'w':
        return ir_type_of_bits(2 * ir_type_bits(type));
    case 'p':
        return IR_PRED;
    case 'i':
        return IR_B32;
    case 'l':
        return IR_B64;
    default:
        assert(role == 'a' || role == 'v');
        return IR_VOID;
    }
}

enum ir_type ir_src_type(const struct ir_instr *instr, uint32_t index)
{
    /* The policy stands behind the operands of the row. */
    bool is_policy = ir_has(instr, IR_MOD_POLICY) && index + 1 == instr->nsrc;
    char role = is_policy ? 'l' : ir_operand_role(ir_op_infos[instr->op].src, index);

    assert(role && index < instr->nsrc);
    return ir_role_type(role, instr->type, instr->type2);
}

enum ir_type ir_dst_type(const struct ir_instr *instr, uint32_t index)
{
    char role = ir_operand_role(ir_op_infos[instr->op].dst, index);

    assert(role);
    return ir_role_type(role, instr->type, instr->type2);
}

static const char *const ir_sreg_names[IR_SREG_COUNT] = {
#define X(name, text, type, scope, ptx, part, doc) [IR_SREG_##name] = text,
#include "ir_sregs.def"
#undef X
};

static const struct {
    uint8_t type;
    uint8_t scope;
} ir_sreg_infos[IR_SREG_COUNT] = {
#define X(name, text, type, scope, ptx, part, doc) [IR_SREG_##name] = {IR_##type, IR_SREG_##scope},
#include "ir_sregs.def"
#undef X
};

const char *ir_sreg_name(enum ir_sreg sreg)
{
    return sreg < IR_SREG_COUNT ? ir_sreg_names[sreg] : "?";
}

enum ir_type ir_sreg_type(enum ir_sreg sreg)
{
    assert(sreg < IR_SREG_COUNT);
    return (enum ir_type)ir_sreg_infos[sreg].type;
}

enum ir_sreg_scope ir_sreg_scope(enum ir_sreg sreg)
{
    assert(sreg < IR_SREG_COUNT);
    return (enum ir_sreg_scope)ir_sreg_infos[sreg].scope;
}

#define TEXT(id, text, ...) [id] = (text),
const char *const ir_space_names[IR_SPACE_COUNT_] = {IR_SPACE_LIST(TEXT)};
const char *const ir_rnd_names[IR_RND_COUNT_] = {IR_RND_LIST(TEXT)};
const char *const ir_cmp_names[IR_CMP_COUNT_] = {IR_CMP_LIST(TEXT)};
const char *const ir_atom_names[IR_ATOM_COUNT_] = {IR_ATOM_LIST(TEXT)};
const char *const ir_sem_names[IR_SEM_COUNT_] = {IR_SEM_LIST(TEXT)};
const char *const ir_mma_names[IR_MMA_COUNT_] = {IR_MMA_LIST(TEXT)};
const char *const ir_tensor_op_names[IR_TENSOR_OP_COUNT_] = {IR_TENSOR_OP_LIST(TEXT)};
const char *const ir_tensor_shape_names[IR_TENSOR_SHAPE_COUNT_] = {IR_TENSOR_SHAPE_LIST(TEXT)};
const char *const ir_tensor_kind_names[IR_TENSOR_KIND_COUNT_] = {IR_TENSOR_KIND_LIST(TEXT)};
const char *const ir_tensor_flag_names[IR_TENSOR_FLAG_COUNT_] = {IR_TENSOR_FLAG_LIST(TEXT)};
const char *const ir_tex_what_names[IR_TEX_WHATS_] = {IR_TEX_WHAT_LIST(TEXT)};
const char *const ir_tex_geometry_names[IR_TEX_GEOMETRIES_] = {IR_TEX_GEOMETRY_LIST(TEXT)};
const char *const ir_tex_lod_names[IR_TEX_LODS_] = {IR_TEX_LOD_LIST(TEXT)};
const char *const ir_tex_clamp_names[IR_TEX_CLAMPS_] = {IR_TEX_CLAMP_LIST(TEXT)};
const char *const ir_tex_flag_names[IR_TEX_FLAGS_] = {IR_TEX_FLAG_LIST(TEXT)};
const char *const ir_scope_names[IR_SCOPE_COUNT_] = {IR_SCOPE_LIST(TEXT)};
const char *const ir_cache_names[IR_CACHE_COUNT_] = {IR_CACHE_LIST(TEXT)};
const char *const ir_linkage_names[IR_LINK_COUNT_] = {IR_LINK_LIST(TEXT)};
const char *const ir_mod_names[IR_MOD_COUNT] = {
#define X(name, text, doc) [IR_MOD_BIT_##name] = text,
#include "ir_mods.def"
};

static const char *const prmt_names[] = {IR_PRMT_LIST(TEXT)};
static const char *const testp_names[] = {IR_TESTP_LIST(TEXT)};
static const char *const bar_names[] = {IR_BAR_LIST(TEXT)};
static const char *const shfl_names[] = {IR_SHFL_LIST(TEXT)};
static const char *const vote_names[] = {IR_VOTE_LIST(TEXT)};
static const char *const redux_names[] = {IR_REDUX_LIST(TEXT)};
static const char *const match_names[] = {IR_MATCH_LIST(TEXT)};
static const char *const tile_names[] = {IR_TILE_LIST(TEXT)};
static const char *const level_names[] = {IR_LEVEL_LIST(TEXT)};
static const char *const policy_names[] = {IR_POLICY_LIST(TEXT)};
static const char *const mbarrier_names[] = {IR_MBARRIER_LIST(TEXT)};
static const char *const builtin_names[] = {IR_BUILTIN_LIST(TEXT)};
#undef TEXT

bool ir_space_is_window(enum ir_space space)
{
    enum { ADDRESS, WINDOW };
    static const bool is_window[] = {
#define X(id, text, kind) [id] = (kind) == WINDOW,
        IR_SPACE_LIST(X)
#undef X
    };

    assert(space < IR_SPACE_COUNT_);
    return is_window[space];
}

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
    case IR_OP_LDMATRIX:
    case IR_OP_STMATRIX:
        return NAMES(tile_names);
    case IR_OP_PREFETCH:
        return NAMES(level_names);
    case IR_OP_POLICY_FRACTIONAL:
    case IR_OP_POLICY_RANGE:
        return NAMES(policy_names);
    case IR_OP_MBARRIER:
        return NAMES(mbarrier_names);
    case IR_OP_BUILTIN:
        return NAMES(builtin_names);
    default:
        return 0;
    }
#undef NAMES
}
