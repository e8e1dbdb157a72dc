/* Operands and legality of payloads: ir/payload.h. */
#include "ir/payload.h"

#include "ir/ir_ext.h"
#include "ir/ir_names.h"

enum { CHANNELS = 4 }; /* of a texel */

/* ---- textures and surfaces */

unsigned ir_tex_dimensions(const struct ir_tex *op)
{
    switch ((enum ir_tex_geometry)op->geometry) {
    case IR_TEX_1D:
    case IR_TEX_A1D:
        return 1;
    case IR_TEX_2D:
    case IR_TEX_A2D:
    case IR_TEX_2DMS:
    case IR_TEX_A2DMS:
        return 2;
    case IR_TEX_3D:
    case IR_TEX_CUBE:
    case IR_TEX_ACUBE:
        return 3;
    }
    return 0;
}

unsigned ir_tex_leading_words(const struct ir_tex *op)
{
    switch ((enum ir_tex_geometry)op->geometry) {
    case IR_TEX_A1D:
    case IR_TEX_A2D:
    case IR_TEX_ACUBE:
    case IR_TEX_2DMS:
        return 1;
    case IR_TEX_A2DMS:
        return 2;
    default:
        return 0;
    }
}

unsigned ir_tex_coordinates(const struct ir_tex *op)
{
    return ir_tex_leading_words(op) + ir_tex_dimensions(op);
}

static unsigned type_words(const struct ir_tex *op)
{
    return ir_type_bits((enum ir_type)op->type) == 64 ? 2 : 1;
}

unsigned ir_tex_data_words(const struct ir_tex *op)
{
    bool stores = op->what >= IR_TEX_SUST && op->what <= IR_TEX_SURED_P;
    return stores ? op->vec * type_words(op) : 0;
}

unsigned ir_tex_source_words(const struct ir_tex *op)
{
    unsigned dimensions = ir_tex_dimensions(op);
    if (op->what == IR_TEX_QUERY)
        return ir_tex_has(op, IR_TEX_LEVELED);
    if (op->what == IR_TEX_IS || op->what == IR_TEX_SUQ)
        return 0;
    return ir_tex_coordinates(op) + ir_tex_data_words(op) + (op->lod == IR_TEX_LEVEL) +
           (op->lod == IR_TEX_GRAD ? 2 * dimensions : 0) +
           (ir_tex_has(op, IR_TEX_OFFSETS) ? dimensions : 0) + ir_tex_has(op, IR_TEX_COMPARE);
}

unsigned ir_tex_result_words(const struct ir_tex *op)
{
    switch ((enum ir_tex_what)op->what) {
    case IR_TEX_FETCH:
    case IR_TEX_GATHER:
    case IR_TEX_SULD:
        return op->vec * type_words(op);
    case IR_TEX_QUERY:
    case IR_TEX_IS:
    case IR_TEX_SUQ:
        return 1;
    default:
        return 0;
    }
}

#define COUNT(...) +1u
static const char *check_numbers(const struct ir_tex *op)
{
    if (op->what >= (0u IR_TEX_WHAT_LIST(COUNT)) ||
        op->geometry >= (0u IR_TEX_GEOMETRY_LIST(COUNT)) ||
        op->lod >= (0u IR_TEX_LOD_LIST(COUNT)) || op->clamp >= (0u IR_TEX_CLAMP_LIST(COUNT)) ||
        op->flags >> (0u IR_TEX_FLAG_LIST(COUNT)))
        return "a texture instruction that there is not";
    return NULL;
}

const char *ir_tex_check(const struct ir_tex *op)
{
    bool query = op->what == IR_TEX_QUERY || op->what == IR_TEX_SUQ;
    const char *why = check_numbers(op);
    if (why)
        return why;
    if (query && op->select >= (0u IR_TEX_QUERY_LIST(COUNT)))
        return "a query that there is not";
    if (op->what == IR_TEX_GATHER && op->select >= CHANNELS)
        return "a component that there is not";
    if (op->vec < 1 || op->vec > CHANNELS ||
        ir_tex_result_words(op) + ir_tex_data_words(op) > CHANNELS)
        return "a vector of a texture instruction has 1, 2 or 4 words";
    if (ir_tex_is_surface(op) && (op->lod || op->flags))
        return "surfaces have neither levels nor samplers";
    return NULL;
}

/* ---- multimem */

enum { WIDE = 1 << 3, REGISTER_AT = 4, VERBS = 7 }; /* of the immediate */

uint64_t ir_multimem_imm(enum ir_multimem_verb verb, unsigned register_B, bool wide)
{
    return (uint64_t)verb | (wide ? WIDE : 0) | (uint64_t)register_B << REGISTER_AT;
}

struct ir_multimem ir_multimem_of(const struct ir_instr *in)
{
    return (struct ir_multimem){.verb = in->imm & VERBS,
                                .type = (uint8_t)in->type,
                                .atom = (uint8_t)in->mem.atom,
                                .register_B = (uint8_t)(in->imm >> REGISTER_AT),
                                .registers = HD_MAX(in->mem.vec, 1),
                                .wide = (in->imm & WIDE) != 0};
}

static bool values_have(struct ir_value *const *values, uint32_t n, unsigned bits)
{
    for (uint32_t i = 0; i < n; i++)
        if (ir_type_bits(values[i]->type) != bits)
            return false;
    return true;
}

const char *ir_multimem_check(const struct ir_instr *in)
{
    const struct ir_multimem m = ir_multimem_of(in);
    unsigned total_B = m.registers * m.register_B, bits = 8u * m.register_B;
    uint32_t loads = m.verb == IR_MULTIMEM_LOAD ? m.registers : 0;
    if (m.verb >= IR_MULTIMEM_VERBS || in->imm >> (REGISTER_AT + 4) ||
        (in->mem.space != IR_SPACE_GLOBAL && in->mem.space != IR_SPACE_GENERIC))
        return "no such multimem access";
    if (m.atom == IR_ATOM_CAS || m.atom == IR_ATOM_EXCH || ir_type_bits(in->type) < 8)
        return "no such multimem reduction";
    if (ir_multimem_copies(&m)) {
        const bool masks = m.verb == IR_MULTIMEM_COPY;
        if (in->nsrc != 3u + masks || in->ndst)
            return "a multimem copy of that many operands";
        if (!values_have(in->src + 1, 2, 64) || (masks && !values_have(in->src + 3, 1, 32)))
            return "the operands of a multimem copy have other types";
        return NULL;
    }
    if (m.registers > IR_MULTIMEM_REGISTERS || !hd_is_pow2(total_B) || total_B < 4 ||
        total_B > 16 || bits < ir_type_bits(in->type))
        return "multimem registers of that size";
    if (in->ndst != loads || in->nsrc - 1 != m.registers - loads)
        return "a multimem access of that many registers";
    if (!values_have(in->dst, loads, bits) || !values_have(in->src + 1, in->nsrc - 1, bits))
        return "multimem registers of another size";
    return NULL;
}

/* ---- tensor copies */

unsigned ir_tensor_coordinates(const struct ir_tensor_what *what)
{
    return what->mode == IR_TENSOR_ROWS4 ? IR_TENSOR_RANK_MAX : what->rank;
}

unsigned ir_tensor_infos(const struct ir_tensor_what *what)
{
    if (what->mode == IR_TENSOR_PIXELS)
        return what->rank - 2;
    return what->mode == IR_TENSOR_PIXELS_W || what->mode == IR_TENSOR_PIXELS_W_128 ? 2 : 0;
}

/* ---- tensor memory */

unsigned ir_tensor_registers(const struct ir_tensor *op)
{
    static const uint8_t of_one[] = {[IR_TENSOR_32X32B] = 1,
                                     [IR_TENSOR_16X64B] = 1,
                                     [IR_TENSOR_16X128B] = 2,
                                     [IR_TENSOR_16X256B] = 4,
                                     [IR_TENSOR_16X32BX2] = 1};
    return of_one[op->shape] * op->num;
}

unsigned ir_tensor_sources(const struct ir_tensor *op)
{
    static const uint8_t n[] = {[IR_TENSOR_ALLOC] = 1,
                                [IR_TENSOR_DEALLOC] = 2,
                                [IR_TENSOR_LD] = 1,
                                [IR_TENSOR_ST] = 1,
                                [IR_TENSOR_CP] = 3,
                                [IR_TENSOR_SHIFT] = 1,
                                [IR_TENSOR_MMA] = IR_TENSOR_MMA_SOURCES};
    return n[op->op] + (op->op == IR_TENSOR_ST ? ir_tensor_registers(op) : 0);
}

unsigned ir_tensor_results(const struct ir_tensor *op)
{
    if (op->op == IR_TENSOR_LD)
        return ir_tensor_registers(op) + (op->type != IR_VOID);
    return op->op == IR_TENSOR_ALLOC;
}

/* ---- what is legal */

static bool is_movement(const struct ir_tensor *op)
{
    return op->op == IR_TENSOR_LD || op->op == IR_TENSOR_ST;
}

const char *ir_ext_check_tensor(const struct ir_tensor *op)
{
    bool reduces = op->type != IR_VOID;

    if (op->op >= IR_TENSOR_OP_COUNT_)
        return "no operation on tensor memory";
    if (is_movement(op) && (op->shape > IR_TENSOR_16X32BX2 || !hd_is_pow2(op->num) ||
                            op->num > 128 || ir_tensor_registers(op) > 128))
        return "no such movement of tensor memory";
    if (reduces && (op->op != IR_TENSOR_LD ||
                    (op->type != IR_F32 && op->type != IR_U32 && op->type != IR_S32)))
        return "no such reduction";
    if (op->op == IR_TENSOR_CP &&
        (op->shape < IR_TENSOR_CP_128X256B || op->shape >= IR_TENSOR_SHAPE_COUNT_))
        return "no such copy to tensor memory";
    if (is_movement(op) && ir_tensor_has(op, IR_TENSOR_PAIR))
        return "loads and stores are of one block";
    if (op->op == IR_TENSOR_MMA &&
        (op->kind >= IR_TENSOR_KIND_COUNT_ ||
         (ir_tensor_has(op, IR_TENSOR_WS) &&
          (ir_tensor_has(op, IR_TENSOR_PAIR) || ir_tensor_has(op, IR_TENSOR_ASHIFT))) ||
         (ir_tensor_has(op, IR_TENSOR_ASHIFT) && !ir_tensor_has(op, IR_TENSOR_A_TENSOR))))
        return "no such product";
    return NULL;
}
