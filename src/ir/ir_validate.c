/*
 * The validator: structure, CFG, SSA dominance, operand counts and widths. One error per function
 * is reported, with function, block and instruction in the message.
 */
#include "ir/ir.h"

#include <stdarg.h>

#include "base/mem.h"
#include "ir/cfg.h"
#include "ir/ir_ext.h"
#include "ir/ir_names.h"
#include "ir/payload.h"

struct checker {
    const struct ir_func *func;
    struct hd_arena arena;
    const struct ir_value **values; /* by id */
    uint32_t *position;             /* by value id: place of the definition in its block */
    uint32_t *edges;                /* by block id, scratch: edges not yet matched */
    const struct ir_block *block;
    const struct ir_instr *instr;
};

static HD_PRINTF(2, 3) enum hd_status validate_bad(const struct checker *c, const char *fmt, ...)
{
    enum hd_status status;
    struct hd_buf text, why;
    va_list args;
    char message[256];

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    hd_buf_init(&text);
    hd_buf_init(&why);
    if (c->instr)
        ir_print_instr(c->instr, &text);
    if (c->block)
        hd_buf_printf(&why, " bb%u:", c->block->id);
    status = hd_error(HD_BAD_IR, "%s:%s %s%s%s", c->func->name, why.ptr ? why.ptr : "", message,
                      text.ptr ? " in: " : "", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
    hd_buf_fini(&why);
    return status;
}

#define REQUIRE(cond, ...)                                                                         \
    do {                                                                                           \
        if (!(cond))                                                                               \
            return validate_bad(c, __VA_ARGS__);                                                   \
    } while (0)

/* ---- structure */

static bool validate_succ_count_ok(const struct ir_block *block)
{
    switch (block->last->op) {
    case IR_OP_BR:
        return block->nsuccs == 1;
    case IR_OP_CBR:
        return block->nsuccs == 2;
    case IR_OP_SWITCH:
        return block->nsuccs >= 1;
    default:
        return block->nsuccs == 0;
    }
}

static enum hd_status validate_check_list(struct checker *c)
{
    const struct ir_instr *prev = NULL;
    bool phis = true;

    c->instr = NULL;
    REQUIRE(c->block->first, "empty block");
    ir_foreach_instr(instr, c->block) {
        REQUIRE(instr->op < IR_OP_COUNT, "unknown operation %u", instr->op); /* cannot be printed */
        c->instr = instr;
        REQUIRE(instr->block == c->block, "instruction is linked into another block");
        REQUIRE(instr->prev == prev, "broken instruction list");
        REQUIRE(phis || instr->op != IR_OP_PHI, "phi after another instruction");
        REQUIRE(!ir_op_has(instr->op, IR_F_TERM) == (instr != c->block->last),
                "terminator in the middle of a block, or none at its end");
        phis &= instr->op == IR_OP_PHI;
        prev = instr;
    }
    REQUIRE(c->block->last == prev, "broken instruction list");
    REQUIRE(validate_succ_count_ok(c->block), "wrong number of successors: %u", c->block->nsuccs);
    c->instr = NULL;
    return HD_OK;
}

static enum hd_status validate_check_blocks(struct checker *c)
{
    const struct ir_func *func = c->func;

    REQUIRE(func->nblocks, "function without blocks");
    for (uint32_t i = 0; i < func->nblocks; i++) {
        c->block = func->blocks[i];
        REQUIRE(c->block->id == i, "block id is not its position %u", i);
        REQUIRE(c->block->func == func, "block of another function");
        HD_TRY(validate_check_list(c));
        for (uint32_t s = 0; s < c->block->nsuccs; s++) {
            const struct ir_block *succ = c->block->succs[s];
            REQUIRE(succ && succ->id < func->nblocks && func->blocks[succ->id] == succ,
                    "successor %u is not in the function", s);
            c->edges[succ->id]++;
        }
    }
    for (uint32_t i = 0; i < func->nblocks; i++) {
        c->block = func->blocks[i];
        REQUIRE(c->edges[i] == c->block->npreds, "%u predecessors listed, %u edges arrive",
                c->block->npreds, c->edges[i]);
        c->edges[i] = 0;
    }
    c->block = NULL;
    REQUIRE(!func->blocks[0]->npreds, "the entry block has predecessors");
    return HD_OK;
}

/* Every predecessor names this block as often as it is listed. */
static enum hd_status validate_check_preds(struct checker *c)
{
    for (uint32_t i = 0; i < c->func->nblocks; i++) {
        c->block = c->func->blocks[i];
        for (uint32_t p = 0; p < c->block->npreds; p++) {
            const struct ir_block *pred = c->block->preds[p];
            REQUIRE(pred->id < c->func->nblocks && c->func->blocks[pred->id] == pred,
                    "predecessor %u is not in the function", p);
            if (p && c->block->preds[p - 1] == pred)
                continue; /* counted with its first mention */
            for (uint32_t s = 0; s < pred->nsuccs; s++)
                c->edges[pred->id] += pred->succs[s] == c->block;
        }
        for (uint32_t p = 0; p < c->block->npreds; p++) {
            uint32_t id = c->block->preds[p]->id;
            REQUIRE(c->edges[id], "bb%u is listed as predecessor but does not branch here", id);
            c->edges[id]--;
        }
    }
    c->block = NULL;
    return HD_OK;
}

static enum hd_status validate_check_define(struct checker *c, const struct ir_value *value,
                                            uint32_t index, uint32_t position)
{
    REQUIRE(value, "missing result %u", index);
    REQUIRE(value->id < c->func->nvalues, "value id %%%u out of range", value->id);
    REQUIRE(!c->values[value->id], "value %%%u defined twice", value->id);
    REQUIRE(value->instr == c->instr && value->index == index, "result %u does not know its place",
            index);
    REQUIRE(value->type == ir_type_value(value->type) && value->type != IR_VOID,
            "value %%%u has type %s", value->id, ir_type_name(value->type));
    c->values[value->id] = value;
    c->position[value->id] = position;
    return HD_OK;
}

static enum hd_status validate_check_definitions(struct checker *c)
{
    uint32_t position = 1;

    for (uint32_t i = 0; i < c->func->proto.nparams; i++)
        HD_TRY(validate_check_define(c, c->func->args[i], i, 0));
    for (uint32_t i = 0; i < c->func->nblocks; i++) {
        c->block = c->func->blocks[i];
        ir_foreach_instr(instr, c->block) {
            c->instr = instr;
            for (uint32_t d = 0; d < instr->ndst; d++)
                HD_TRY(validate_check_define(c, instr->dst[d], d, position));
            position++;
        }
    }
    c->instr = NULL;
    return HD_OK;
}

/* ---- dominance */

static bool validate_available(const struct checker *c, const struct ir_dom *dom,
                               const struct ir_value *value, const struct ir_block *at,
                               uint32_t position)
{
    if (!value->instr)
        return true;
    if (value->instr->block == at)
        return c->position[value->id] < position;
    return ir_dominates(dom, value->instr->block->id, at->id);
}

static enum hd_status validate_check_uses(struct checker *c, const struct ir_dom *dom,
                                          uint32_t position)
{
    const struct ir_instr *instr = c->instr;
    bool phi = instr->op == IR_OP_PHI;

    for (uint32_t s = 0; s < instr->nsrc; s++) {
        const struct ir_value *value = instr->src[s];
        const struct ir_block *at = phi ? c->block->preds[s] : c->block;
        REQUIRE(value, "operand %u is missing", s);
        REQUIRE(value->id < c->func->nvalues && c->values[value->id] == value,
                "operand %u (%%%u) is not defined in this function", s, value->id);
        if (!ir_dominates(dom, 0, at->id))
            continue; /* unreachable code may say anything */
        REQUIRE(validate_available(c, dom, value, at, phi ? UINT32_MAX : position),
                "%%%u does not dominate this use", value->id);
    }
    return HD_OK;
}

/* ---- operands */

/* Those that the row has: all but a cache policy. */
static uint32_t validate_row_sources(const struct ir_instr *instr)
{
    return instr->nsrc - (instr->nsrc && ir_has(instr, IR_MOD_POLICY));
}

static enum hd_status validate_check_counts(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_op_info *info = &ir_op_infos[instr->op];
    uint32_t nsrc = validate_row_sources(instr);

    REQUIRE(nsrc >= ir_operands_min(info->src) && nsrc <= ir_operands_max(info->src),
            "%u sources, want %u%s", nsrc, ir_operands_min(info->src),
            ir_operands_fixed(info->src) < 0 ? " or more" : "");
    REQUIRE(instr->ndst >= ir_operands_min(info->dst) && instr->ndst <= ir_operands_max(info->dst),
            "%u results, want %u%s", instr->ndst, ir_operands_min(info->dst),
            ir_operands_fixed(info->dst) < 0 ? " or more" : "");
    REQUIRE(instr->op != IR_OP_PHI || instr->nsrc == c->block->npreds,
            "phi with %u operands in a block with %u predecessors", instr->nsrc, c->block->npreds);
    return HD_OK;
}

static bool validate_several(uint32_t bits)
{
    return (bits & (bits - 1)) != 0;
}

static enum hd_status validate_check_words(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    uint32_t illegal = instr->mods & ~ir_op_infos[instr->op].mods;
    const char *const *names;
    size_t nnames = ir_imm_names(instr->op, &names);

    REQUIRE(instr->mods >> IR_MOD_COUNT == 0, "unknown modifiers %#x", instr->mods);
    REQUIRE(!illegal, ".%s is not legal here", ir_mod_names[__builtin_ctz(illegal)]);
    REQUIRE(!validate_several(instr->mods & IR_MODS_L1) &&
                !validate_several(instr->mods & IR_MODS_L2_EVICT) &&
                !validate_several(instr->mods & IR_MODS_L2_SIZE),
            "two hints of one kind");
    REQUIRE(instr->rnd < IR_RND_COUNT_ && instr->cmp < IR_CMP_COUNT_,
            "unknown rounding or compare");
    REQUIRE(!instr->rnd || instr->rnd == IR_APPROX || ir_op_has(instr->op, IR_F_RND),
            "rounding is not legal here");
    REQUIRE(!instr->cmp || ir_op_has(instr->op, IR_F_CMP), "a comparison is not legal here");
    REQUIRE(!instr->imm || ir_op_has(instr->op, IR_F_IMM), "a number is not legal here");
    REQUIRE(!instr->imm_hi || instr->type == IR_B128, "too many bits");
    REQUIRE(!nnames || instr->imm < nnames, "unknown variant %llu", (unsigned long long)instr->imm);
    return HD_OK;
}

static enum hd_status validate_check_mem_words(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_mem *mem = &instr->mem;
    bool any = false;

#define MEM(type, name) any |= mem->name != 0;
#include "ir_fields.def"
    REQUIRE(!any || ir_op_has(instr->op, IR_F_SPACE) || ir_op_has(instr->op, IR_F_ORDER),
            "memory fields are not legal here");
    REQUIRE(mem->space < IR_SPACE_COUNT_ && mem->atom < IR_ATOM_COUNT_ &&
                mem->sem < IR_SEM_COUNT_ && mem->scope < IR_SCOPE_COUNT_ &&
                mem->cache < IR_CACHE_COUNT_,
            "memory fields out of range");
    return HD_OK;
}

/* Variables, functions and payloads where they belong, and only there. */
static enum hd_status validate_check_references(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const char *why = NULL;
    bool wants_ext = false;

    REQUIRE(!instr->var || instr->op == IR_OP_VARADDR, "a variable is not legal here");
    REQUIRE(!instr->callee || instr->op == IR_OP_CALL || instr->op == IR_OP_FUNCADDR,
            "a function is not legal here");
    switch (instr->op) {
#define X(op_, name, type)                                                                         \
    case IR_OP_##op_:                                                                              \
        wants_ext = true;                                                                          \
        why = instr->ext ? ir_ext_check_##name(instr->ext) : NULL;                                 \
        break;
#include "ir_ext.def"
#undef X
    default:
        break;
    }
    REQUIRE(!instr->ext == !wants_ext, wants_ext ? "no payload" : "a payload is not legal here");
    REQUIRE(!why, "%s", why);
    return HD_OK;
}

/* An address has 64 bits; 32 do in a window, and where windows and generic addresses convert. */
static bool validate_address_ok(const struct ir_instr *instr, enum ir_type type)
{
    bool window = ir_space_is_window(instr->mem.space);

    return type == IR_B64 || (type == IR_B32 && (window || !ir_op_has(instr->op, IR_F_ADDR)));
}

static enum hd_status validate_check_widths(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    for (uint32_t s = 0; s < instr->nsrc; s++) {
        enum ir_type want = ir_src_type(instr, s), is = instr->src[s]->type;
        REQUIRE(want == IR_VOID || is == want, "source %u is %s, want %s", s, ir_type_name(is),
                ir_type_name(want));
        REQUIRE(ir_operand_role(ir_op_infos[instr->op].src, s) != 'a' ||
                    validate_address_ok(instr, is),
                "address is %s", ir_type_name(is));
    }
    for (uint32_t d = 0; d < instr->ndst; d++) {
        enum ir_type want = ir_dst_type(instr, d);
        REQUIRE(want == IR_VOID || instr->dst[d]->type == want, "result %u is %s, want %s", d,
                ir_type_name(instr->dst[d]->type), ir_type_name(want));
    }
    return HD_OK;
}

/* ---- what single operations ask for besides: the table `specials` below */

static uint32_t validate_vector_len(const struct ir_instr *instr)
{
    return instr->mem.vec ? instr->mem.vec : 1;
}

static enum hd_status validate_check_vector(struct checker *c)
{
    uint32_t vec = validate_vector_len(c->instr);

    REQUIRE(hd_is_pow2(vec) && vec <= 8 && c->instr->mem.vec != 1, "vector of %u elements", vec);
    return HD_OK;
}

static enum hd_status validate_check_load(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    HD_TRY(validate_check_vector(c));
    REQUIRE(instr->ndst == validate_vector_len(instr), "%u results, want %u", instr->ndst,
            validate_vector_len(instr));
    return HD_OK;
}

static enum hd_status validate_check_store(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    HD_TRY(validate_check_vector(c));
    REQUIRE(validate_row_sources(instr) == validate_vector_len(instr) + 1, "%u sources, want %u",
            validate_row_sources(instr), validate_vector_len(instr) + 1);
    REQUIRE(instr->mem.space != IR_SPACE_CONST, "store to constant memory");
    return HD_OK;
}

static enum hd_status validate_check_atom(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    REQUIRE(validate_row_sources(instr) == (instr->mem.atom == IR_ATOM_CAS ? 3u : 2u), "%u sources",
            validate_row_sources(instr));
    REQUIRE(validate_vector_len(instr) == 1, "vector of %u elements", validate_vector_len(instr));
    return HD_OK;
}

static enum hd_status validate_check_reduce(struct checker *c)
{
    enum ir_atom atom = c->instr->mem.atom;

    REQUIRE(atom != IR_ATOM_CAS && atom != IR_ATOM_EXCH, "reduction by .%s", ir_atom_names[atom]);
    REQUIRE(ir_type_bits(c->instr->type) <= 64, "elements of %u bits",
            ir_type_bits(c->instr->type));
    return HD_OK;
}

static enum hd_status validate_check_copy(struct checker *c)
{
    uint64_t unit = c->instr->imm & ~(uint64_t)IR_COPY_CASTS;

    REQUIRE(unit == 4 || unit == 8 || unit == 16, "copy in units of %llu bytes",
            (unsigned long long)unit);
    REQUIRE(c->instr->mem.space != IR_SPACE_CONST, "copy to constant memory");
    return HD_OK;
}

static enum hd_status validate_check_cvt(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    REQUIRE(instr->type2 != IR_TF32, "second type tf32 is not legal here");
    REQUIRE(instr->type != IR_TF32 || instr->type2 == IR_F32, "tf32 from %s",
            ir_type_name(instr->type2));
    REQUIRE(instr->rnd != IR_RS, "random bits are not legal here");
    return HD_OK;
}

static enum hd_status validate_check_cvtpack(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    REQUIRE(ir_type_lanes(instr->type) == 2, "type %s is not legal here",
            ir_type_name(instr->type));
    REQUIRE((instr->nsrc == 3) == (instr->rnd == IR_RS), "%u sources", instr->nsrc);
    return HD_OK;
}

static enum hd_status validate_check_cvtunpack(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    bool is_scale = instr->type2 == IR_UE8M0X2;

    REQUIRE(instr->type == (is_scale ? IR_BF16X2 : IR_F16X2), "%s from %s",
            ir_type_name(instr->type), ir_type_name(instr->type2));
    REQUIRE(is_scale || instr->type2 == IR_E4M3X2 || instr->type2 == IR_E5M2X2 ||
                instr->type2 == IR_E2M3X2 || instr->type2 == IR_E3M2X2 || instr->type2 == IR_E2M1X2,
            "second type %s is not legal here", ir_type_name(instr->type2));
    return HD_OK;
}

static enum hd_status validate_check_signature(struct checker *c, const struct ir_proto *proto,
                                               uint32_t first)
{
    const struct ir_instr *instr = c->instr;

    REQUIRE(instr->nsrc - first == proto->nparams, "%u arguments, want %u", instr->nsrc - first,
            proto->nparams);
    REQUIRE(instr->ndst == proto->nresults, "%u results, want %u", instr->ndst, proto->nresults);
    for (uint32_t i = 0; i < proto->nparams; i++)
        REQUIRE(instr->src[first + i]->type == proto->params[i], "argument %u is %s, want %s", i,
                ir_type_name(instr->src[first + i]->type), ir_type_name(proto->params[i]));
    for (uint32_t i = 0; i < proto->nresults; i++)
        REQUIRE(instr->dst[i]->type == proto->results[i], "result %u is %s, want %s", i,
                ir_type_name(instr->dst[i]->type), ir_type_name(proto->results[i]));
    return HD_OK;
}

static enum hd_status validate_check_builtin(struct checker *c)
{
    static const enum ir_type params[][5] = {
        [IR_BUILTIN_VPRINTF] = {IR_B64, IR_B64},
        [IR_BUILTIN_ASSERTFAIL] = {IR_B64, IR_B64, IR_B32, IR_B64, IR_B64},
        [IR_BUILTIN_MALLOC] = {IR_B64},
        [IR_BUILTIN_FREE] = {IR_B64},
        [IR_BUILTIN_RUNTIME] = {IR_B64, IR_B64}};
    static const uint32_t counts[] = {2, 5, 1, 1, 2};
    static const enum ir_type results[] = {IR_B32, IR_VOID, IR_B64, IR_VOID, IR_B64};
    uint64_t which = c->instr->imm;
    struct ir_proto proto = {.nparams = counts[which],
                             .params = params[which],
                             .nresults = results[which] != IR_VOID,
                             .results = &results[which]};

    return validate_check_signature(c, &proto, 0);
}

static enum hd_status validate_check_unpack(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    unsigned bits = ir_type_bits(instr->type), from = ir_type_bits(instr->src[0]->type);

    REQUIRE(instr->imm < from / bits, "piece %llu of %u bits in %u", (unsigned long long)instr->imm,
            bits, from);
    return HD_OK;
}

static enum hd_status validate_check_pack(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    unsigned bits = ir_type_bits(instr->type), total = 0;

    REQUIRE(instr->nsrc, "nothing to pack");
    for (uint32_t s = 0; s < instr->nsrc; s++) {
        REQUIRE(instr->src[s]->type == instr->src[0]->type, "sources of unequal width");
        total += ir_type_bits(instr->src[s]->type);
    }
    REQUIRE(total == bits, "%u bits packed into %u", total, bits);
    return HD_OK;
}

static enum hd_status validate_check_sreg(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    REQUIRE(ir_type_bits(instr->type) == ir_type_bits(ir_sreg_type((enum ir_sreg)instr->imm)),
            "wrong width for this special register");
    return HD_OK;
}

static enum hd_status validate_check_varaddr(struct checker *c)
{
    const struct ir_var *var = c->instr->var;

    REQUIRE(var, "no variable");
    REQUIRE(!var->func || var->func == c->func, "variable of another function");
    return HD_OK;
}

static enum hd_status validate_check_note(struct checker *c)
{
    REQUIRE(!c->instr->nsrc || (uint32_t)c->instr->imm < c->func->nregs,
            "the function has %u registers to note", c->func->nregs);
    return HD_OK;
}

static enum hd_status validate_check_funcaddr(struct checker *c)
{
    REQUIRE(c->instr->callee, "no function");
    return HD_OK;
}

static enum hd_status validate_check_call(struct checker *c)
{
    const struct ir_func *callee = c->instr->callee;

    REQUIRE(callee && !callee->is_kernel, "no callee, or a kernel");
    return validate_check_signature(c, &callee->proto, 0);
}

static enum hd_status validate_check_calli(struct checker *c)
{
    return validate_check_signature(c, ir_ext_proto(c->instr), 1);
}

static enum hd_status validate_check_ret(struct checker *c)
{
    struct ir_proto proto = {.nparams = c->func->proto.nresults, .params = c->func->proto.results};

    return validate_check_signature(c, &proto, 0);
}

/* `dst` of the instruction is b32 or a predicate, as its variant says. */
static enum hd_status validate_check_result(struct checker *c, bool wide)
{
    enum ir_type is = c->instr->dst[0]->type;

    REQUIRE(is == (wide ? IR_B32 : IR_PRED), "result 0 is %s, want %s", ir_type_name(is),
            wide ? "b32" : "pred");
    return HD_OK;
}

static enum hd_status validate_check_vote(struct checker *c)
{
    return validate_check_result(c, c->instr->imm == IR_VOTE_BALLOT);
}

static enum hd_status validate_check_bar(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    bool reduces = instr->imm >= IR_BAR_RED_POPC;

    REQUIRE(instr->ndst == reduces, "%u sources, %u results", instr->nsrc, instr->ndst);
    REQUIRE(!reduces || instr->nsrc == 3, "reduction without a predicate");
    REQUIRE(!ir_bar_is_cluster((enum ir_bar)instr->imm) || !instr->nsrc,
            "the barrier of the cluster has no operands");
    return reduces ? validate_check_result(c, instr->imm == IR_BAR_RED_POPC) : HD_OK;
}

static enum hd_status validate_check_match(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    REQUIRE(instr->ndst == 1 + (instr->imm == 1), "%u results", instr->ndst);
    return HD_OK;
}

static enum hd_status validate_check_mma(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_mma *mma = ir_ext_mma(instr);
    enum ir_type reg = ir_mma_register_bits(mma) == 64 ? IR_B64 : IR_B32;
    unsigned nsrc = ir_mma_registers(mma, 's'), ndst = ir_mma_registers(mma, 'd');

    REQUIRE(instr->nsrc == nsrc, "%u registers, want %u", instr->nsrc, nsrc);
    REQUIRE(instr->ndst == ndst, "%u results, want %u", instr->ndst, ndst);
    for (uint32_t i = 0; i < nsrc + ndst; i++) {
        enum ir_type is = i < nsrc ? instr->src[i]->type : instr->dst[i - nsrc]->type;
        REQUIRE(is == reg, "register %u is %s, want %s", i, ir_type_name(is), ir_type_name(reg));
    }
    return HD_OK;
}

static enum hd_status validate_check_tensor(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_tensor *t = instr->ext;

    REQUIRE(instr->nsrc == ir_tensor_sources(t), "%u registers, want %u", instr->nsrc,
            ir_tensor_sources(t));
    REQUIRE(instr->ndst == ir_tensor_results(t), "%u results, want %u", instr->ndst,
            ir_tensor_results(t));
    REQUIRE((instr->op == IR_OP_TENSOR) == (t->op >= IR_TENSOR_CP), "a warp's, or a thread's");
    return HD_OK;
}

/* Handles, then words. */
static enum hd_status validate_check_tex(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_tex *tex = ir_ext_tex(instr);
    uint32_t handles = 1 + (tex->flags >> IR_TEX_SAMPLER & 1);
    uint32_t nsrc = handles + ir_tex_source_words(tex), ndst = ir_tex_result_words(tex);

    REQUIRE(instr->nsrc == nsrc, "%u operands, want %u", instr->nsrc, nsrc);
    REQUIRE(instr->ndst == ndst, "%u results, want %u", instr->ndst, ndst);
    for (uint32_t i = 0; i < nsrc; i++) {
        enum ir_type is = instr->src[i]->type, want = i < handles ? IR_B64 : IR_B32;
        REQUIRE(is == want, "operand %u is %s, want %s", i, ir_type_name(is), ir_type_name(want));
    }
    return HD_OK;
}

/* Sixteen rows are two registers; there are 32 rows at most. */
static enum hd_status validate_check_tile(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    bool stores = instr->op == IR_OP_STMATRIX;
    uint32_t n = stores ? instr->nsrc - 1 : instr->ndst;
    bool is_short = instr->imm < IR_TILE_M16N16_TRANS || instr->imm == IR_TILE_M8N16_B6 ||
                    instr->imm == IR_TILE_M8N16_B4;

    REQUIRE(n == 1 || n == 2 || n == 4, "%u registers", n);
    REQUIRE(n > 1 || is_short, "half a matrix");
    REQUIRE(!stores || instr->imm <= IR_TILE_M16N8_TRANS, "no such store");
    REQUIRE(stores || instr->imm != IR_TILE_M16N8_TRANS, "no such load");
    return HD_OK;
}

static enum hd_status validate_check_mbarrier(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    enum ir_mbarrier op = (enum ir_mbarrier)instr->imm;
    bool tests = ir_mbarrier_tests(op);
    enum ir_type want = tests ? IR_PRED : IR_B64;

    REQUIRE(tests ? instr->ndst == 1 : !instr->ndst || ir_mbarrier_arrives(op), "%u results",
            instr->ndst);
    REQUIRE(!instr->ndst || instr->dst[0]->type == want, "result 0 is %s, want %s",
            ir_type_name(instr->dst[0]->type), ir_type_name(want));
    REQUIRE(ir_space_is_shared(instr->mem.space) || instr->mem.space == IR_SPACE_GENERIC,
            "a barrier is in shared memory");
    return HD_OK;
}

static enum hd_status validate_check_tensor_copy(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_tensor_what what = ir_tensor_unpack(instr->imm);

    REQUIRE(what.way < IR_TENSOR_WAYS && what.mode < IR_TENSOR_MODES && what.rank >= 1 &&
                what.rank <= IR_TENSOR_RANK_MAX && what.atom <= IR_ATOM_XOR,
            "no such copy: %llu", (unsigned long long)instr->imm);
    REQUIRE(what.rank >= 3 || what.mode < IR_TENSOR_PIXELS, "%u dimensions of images", what.rank);
    REQUIRE(instr->nsrc ==
                IR_TENSOR_OPERAND_0 + ir_tensor_coordinates(&what) + ir_tensor_infos(&what),
            "%u operands", instr->nsrc);
    for (uint32_t i = IR_TENSOR_OPERAND_0; i < instr->nsrc; i++)
        REQUIRE(instr->src[i]->type == IR_B32, "operand %u has no 32 bits", i);
    REQUIRE(ir_space_is_shared(instr->mem.space), "a box is in shared memory");
    REQUIRE(!what.casts || instr->mem.space == IR_SPACE_SHARED_CLUSTER, "a multicast in a CTA");
    return HD_OK;
}

static enum hd_status validate_check_multimem(struct checker *c)
{
    const char *why = ir_multimem_check(c->instr);

    REQUIRE(!why, "%s", why);
    return HD_OK;
}

typedef enum hd_status check_fn(struct checker *c);

static check_fn *const specials[IR_OP_COUNT] = {
    [IR_OP_LD] = validate_check_load,
    [IR_OP_ST] = validate_check_store,
    [IR_OP_ATOM] = validate_check_atom,
    [IR_OP_PACK] = validate_check_pack,
    [IR_OP_UNPACK] = validate_check_unpack,
    [IR_OP_SREG] = validate_check_sreg,
    [IR_OP_VARADDR] = validate_check_varaddr,
    [IR_OP_FUNCADDR] = validate_check_funcaddr,
    [IR_OP_NOTE] = validate_check_note,
    [IR_OP_CALL] = validate_check_call,
    [IR_OP_CALLI] = validate_check_calli,
    [IR_OP_BUILTIN] = validate_check_builtin,
    [IR_OP_RET] = validate_check_ret,
    [IR_OP_CVT] = validate_check_cvt,
    [IR_OP_CVTPACK] = validate_check_cvtpack,
    [IR_OP_CVTUNPACK] = validate_check_cvtunpack,
    [IR_OP_VOTE] = validate_check_vote,
    [IR_OP_BAR] = validate_check_bar,
    [IR_OP_MATCH] = validate_check_match,
    [IR_OP_COPY] = validate_check_copy,
    [IR_OP_REDUCE] = validate_check_reduce,
    [IR_OP_MMA] = validate_check_mma,
    [IR_OP_TENSOR] = validate_check_tensor,
    [IR_OP_TENSOR_WARP] = validate_check_tensor,
    [IR_OP_TEX] = validate_check_tex,
    [IR_OP_LDMATRIX] = validate_check_tile,
    [IR_OP_STMATRIX] = validate_check_tile,
    [IR_OP_MBARRIER] = validate_check_mbarrier,
    [IR_OP_TENSORCOPY] = validate_check_tensor_copy,
    [IR_OP_MULTIMEM] = validate_check_multimem,
};

static enum hd_status validate_check_instr(struct checker *c, const struct ir_dom *dom,
                                           uint32_t position)
{
    check_fn *special = specials[c->instr->op];

    HD_TRY(validate_check_counts(c));
    const struct ir_instr *instr = c->instr;
    REQUIRE(instr->type < IR_TYPE_COUNT && instr->type2 < IR_TYPE_COUNT, "unknown type");
    REQUIRE(ir_op_takes(instr->op, instr->type), "type %s is not legal here",
            ir_type_name(instr->type));
    if (ir_op_has(instr->op, IR_F_TYPE2))
        REQUIRE(ir_op_takes(instr->op, instr->type2), "second type %s is not legal here",
                ir_type_name(instr->type2));
    else
        REQUIRE(instr->type2 == IR_VOID, "a second type is not legal here");
    HD_TRY(validate_check_words(c));
    HD_TRY(validate_check_mem_words(c));
    HD_TRY(validate_check_references(c));
    HD_TRY(validate_check_uses(c, dom, position));
    HD_TRY(validate_check_widths(c));
    return special ? special(c) : HD_OK;
}

static enum hd_status validate_check_func(struct checker *c)
{
    const struct ir_func *func = c->func;
    struct ir_dom dom;

    c->values = hd_arena_array(&c->arena, const struct ir_value *, (size_t)func->nvalues + 1);
    c->position = hd_arena_array(&c->arena, uint32_t, (size_t)func->nvalues + 1);
    c->edges = hd_arena_array(&c->arena, uint32_t, (size_t)func->nblocks + 1);
    if (!c->values || !c->position || !c->edges)
        return hd_error(HD_NO_MEMORY, "%s: no memory to validate", func->name);
    HD_TRY(validate_check_blocks(c));
    HD_TRY(validate_check_preds(c));
    HD_TRY(validate_check_definitions(c));
    HD_TRY(ir_dom_compute(func, &c->arena, &dom));
    uint32_t position = 1;
    for (uint32_t i = 0; i < c->func->nblocks; i++) {
        c->block = c->func->blocks[i];
        ir_foreach_instr(instr, c->block) {
            c->instr = instr;
            HD_TRY(validate_check_instr(c, &dom, position++));
        }
    }
    c->instr = NULL;
    c->block = NULL;
    return HD_OK;
}

enum hd_status ir_validate_func(const struct ir_func *func)
{
    struct checker c = {.func = func};
    enum hd_status status;

    if (func->is_declaration)
        return HD_OK;
    hd_arena_init(&c.arena);
    status = validate_check_func(&c);
    hd_arena_fini(&c.arena);
    return status;
}

enum hd_status ir_validate(const struct ir_module *module)
{
    HD_TRY(hd_arena_status(&module->arena));
    ir_foreach_func(func, module)
        HD_TRY(ir_validate_func(func));
    return HD_OK;
}
