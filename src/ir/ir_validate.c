/*
 * The validator: structure, CFG, SSA dominance, operand counts and widths. One error per function
 * is reported, with function, block and instruction in the message.
 */
#include "ir/ir.h"

#include <stdarg.h>

#include "base/mem.h"
#include "ir/analysis.h"
#include "ir/ir_names.h"

struct checker {
    const struct ir_func *func;
    struct hd_arena arena;
    const struct ir_value **values; /* by id */
    uint32_t *position;             /* by value id: place of the definition in its block */
    uint32_t *edges;                /* by block id, scratch: edges not yet matched */
    const struct ir_block *block;
    const struct ir_instr *instr;
};

static HD_PRINTF(2, 3) enum hd_status bad(const struct checker *c, const char *fmt, ...)
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
            return bad(c, __VA_ARGS__);                                                            \
    } while (0)

/* ---- structure */

static bool succ_count_ok(const struct ir_block *block)
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

static enum hd_status check_list(struct checker *c)
{
    const struct ir_instr *prev = NULL;
    bool phis = true;

    c->instr = NULL;
    REQUIRE(c->block->first, "empty block");
    ir_foreach_instr(instr, c->block) {
        c->instr = instr;
        REQUIRE(instr->op < IR_OP_COUNT, "unknown operation %u", instr->op);
        REQUIRE(instr->block == c->block, "instruction is linked into another block");
        REQUIRE(instr->prev == prev, "broken instruction list");
        REQUIRE(phis || instr->op != IR_OP_PHI, "phi after another instruction");
        REQUIRE(!ir_op_has(instr->op, IR_F_TERM) == (instr != c->block->last),
                "terminator in the middle of a block, or none at its end");
        phis &= instr->op == IR_OP_PHI;
        prev = instr;
    }
    REQUIRE(c->block->last == prev, "broken instruction list");
    REQUIRE(succ_count_ok(c->block), "wrong number of successors: %u", c->block->nsuccs);
    c->instr = NULL;
    return HD_OK;
}

static enum hd_status check_blocks(struct checker *c)
{
    const struct ir_func *func = c->func;

    REQUIRE(func->nblocks, "function without blocks");
    for (uint32_t i = 0; i < func->nblocks; i++) {
        c->block = func->blocks[i];
        REQUIRE(c->block->id == i, "block id is not its position %u", i);
        REQUIRE(c->block->func == func, "block of another function");
        HD_TRY(check_list(c));
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
static enum hd_status check_preds(struct checker *c)
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

static enum hd_status check_define(struct checker *c, const struct ir_value *value, uint32_t index,
                                   uint32_t position)
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

static enum hd_status check_definitions(struct checker *c)
{
    uint32_t position = 1;

    for (uint32_t i = 0; i < c->func->proto.nparams; i++)
        HD_TRY(check_define(c, c->func->args[i], i, 0));
    for (uint32_t i = 0; i < c->func->nblocks; i++) {
        c->block = c->func->blocks[i];
        ir_foreach_instr(instr, c->block) {
            c->instr = instr;
            for (uint32_t d = 0; d < instr->ndst; d++)
                HD_TRY(check_define(c, instr->dst[d], d, position));
            position++;
        }
    }
    c->instr = NULL;
    return HD_OK;
}

/* ---- dominance */

static bool available(const struct checker *c, const struct ir_dom *dom,
                      const struct ir_value *value, const struct ir_block *at, uint32_t position)
{
    if (!value->instr)
        return true;
    if (value->instr->block == at)
        return c->position[value->id] < position;
    return ir_dominates(dom, value->instr->block->id, at->id);
}

static enum hd_status check_uses(struct checker *c, const struct ir_dom *dom, uint32_t position)
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
        REQUIRE(available(c, dom, value, at, phi ? UINT32_MAX : position),
                "%%%u does not dominate this use", value->id);
    }
    return HD_OK;
}

/* ---- operands */

static enum hd_status check_counts(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_op_info *info = &ir_op_infos[instr->op];
    const char *const *names;
    size_t nnames = ir_imm_names(instr->op, &names);

    REQUIRE(info->nsrc < 0 || instr->nsrc == (uint32_t)info->nsrc, "%u sources, want %d",
            instr->nsrc, info->nsrc);
    REQUIRE(info->ndst < 0 || instr->ndst == (uint32_t)info->ndst, "%u results, want %d",
            instr->ndst, info->ndst);
    REQUIRE(instr->op != IR_OP_PHI || instr->nsrc == c->block->npreds,
            "phi with %u operands in a block with %u predecessors", instr->nsrc, c->block->npreds);
    REQUIRE(instr->type < IR_TYPE_COUNT && instr->type2 < IR_TYPE_COUNT, "unknown type");
    REQUIRE(info->types == 1u << IR_VOID || (info->types >> instr->type) & 1,
            "type %s is not legal here", ir_type_name(instr->type));
    REQUIRE(!instr->ftz || (info->flags & IR_F_FTZ), ".ftz is not legal here");
    REQUIRE(!instr->sat || (info->flags & IR_F_SAT), ".sat is not legal here");
    REQUIRE(!instr->rnd || instr->rnd == IR_APPROX || (info->flags & IR_F_RND),
            "rounding is not legal here");
    REQUIRE(!nnames || instr->imm < nnames, "unknown variant %llu", (unsigned long long)instr->imm);
    return HD_OK;
}

/* The width that source `s` must have; IR_VOID: the special checks decide. */
static enum ir_type source_type(const struct ir_instr *instr, uint32_t s)
{
    enum ir_type t = ir_type_value(instr->type);

    switch (instr->op) {
    case IR_OP_SELECT:
        return s == 0 ? IR_PRED : t;
    case IR_OP_SHL:
    case IR_OP_SHR:
        return s == 1 ? IR_B32 : t;
    case IR_OP_ADDC:
    case IR_OP_CARRY:
    case IR_OP_SUBC:
    case IR_OP_BORROW:
        return s == 2 ? IR_PRED : t;
    case IR_OP_BFE:
        return s >= 1 ? IR_B32 : t;
    case IR_OP_BFI:
        return s >= 2 ? IR_B32 : t;
    case IR_OP_CVT:
        return ir_type_value(instr->type2);
    case IR_OP_ST:
    case IR_OP_ATOM:
        return s == 0 ? IR_VOID : t;
    case IR_OP_BAR:
        return s == 2 ? IR_PRED : IR_B32;
    case IR_OP_VOTE:
        return s == 0 ? IR_PRED : IR_B32;
    case IR_OP_MATCH:
        return s == 1 ? IR_B32 : t;
    case IR_OP_CBR:
        return IR_PRED;
    case IR_OP_ALLOCA:
    case IR_OP_STACKRESTORE:
        return IR_B64;
    case IR_OP_CVTPACK:
    case IR_OP_SHFL:
    case IR_OP_WARPSYNC:
    case IR_OP_ELECT:
    case IR_OP_NANOSLEEP:
    case IR_OP_SWITCH:
        return IR_B32;
    case IR_OP_PACK:
    case IR_OP_UNPACK:
    case IR_OP_LD:
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
    case IR_OP_ISSPACEP:
    case IR_OP_CALL:
    case IR_OP_CALLI:
    case IR_OP_BUILTIN:
    case IR_OP_RET:
        return IR_VOID;
    default:
        return t;
    }
}

static enum ir_type dest_type(const struct ir_instr *instr, uint32_t d)
{
    switch (ir_op_infos[instr->op].result) {
    case IR_RES_T:
        return ir_type_value(instr->type);
    case IR_RES_T2:
        return ir_type_value(instr->type2);
    case IR_RES_P:
        return IR_PRED;
    case IR_RES_W:
        return ir_type_bits(instr->type) == 16 ? IR_B32 : IR_B64;
    case IR_RES_B32:
        return IR_B32;
    case IR_RES_B64:
        return IR_B64;
    default:
        break;
    }
    switch (instr->op) {
    case IR_OP_LD:
    case IR_OP_ATOM:
        return ir_type_value(instr->type);
    case IR_OP_SHFL:
    case IR_OP_MATCH:
    case IR_OP_ELECT:
        return d ? IR_PRED : IR_B32;
    case IR_OP_VOTE:
        return instr->imm == IR_VOTE_BALLOT ? IR_B32 : IR_PRED;
    case IR_OP_BAR:
        return instr->imm == IR_BAR_RED_POPC ? IR_B32 : IR_PRED;
    default:
        return IR_VOID;
    }
}

static enum hd_status check_widths(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    for (uint32_t s = 0; s < instr->nsrc; s++) {
        enum ir_type want = source_type(instr, s);
        REQUIRE(want == IR_VOID || instr->src[s]->type == want, "source %u is %s, want %s", s,
                ir_type_name(instr->src[s]->type), ir_type_name(want));
    }
    for (uint32_t d = 0; d < instr->ndst; d++) {
        enum ir_type want = dest_type(instr, d);
        REQUIRE(want == IR_VOID || instr->dst[d]->type == want, "result %u is %s, want %s", d,
                ir_type_name(instr->dst[d]->type), ir_type_name(want));
    }
    return HD_OK;
}

static enum hd_status check_memory(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    const struct ir_mem *mem = &instr->mem;
    uint32_t vec = mem->vec ? mem->vec : 1;
    bool window = mem->space == IR_SPACE_SHARED || mem->space == IR_SPACE_LOCAL ||
                  mem->space == IR_SPACE_PARAM;

    REQUIRE(instr->nsrc >= 1, "no address");
    REQUIRE(instr->src[0]->type == IR_B64 || (window && instr->src[0]->type == IR_B32),
            "address is %s", ir_type_name(instr->src[0]->type));
    REQUIRE(mem->space <= IR_SPACE_PARAM && mem->sem <= IR_SEM_VOLATILE &&
                mem->scope <= IR_SCOPE_SYS && mem->cache <= IR_CACHE_NC,
            "memory fields out of range");
    REQUIRE(hd_is_pow2(vec) && vec <= 8, "vector of %u elements", vec);
    switch (instr->op) {
    case IR_OP_LD:
        REQUIRE(instr->ndst == vec, "%u results, want %u", instr->ndst, vec);
        break;
    case IR_OP_ST:
        REQUIRE(instr->nsrc == vec + 1, "%u sources, want %u", instr->nsrc, vec + 1);
        REQUIRE(mem->space != IR_SPACE_CONST, "store to constant memory");
        break;
    default:
        REQUIRE(instr->nsrc == (mem->atom == IR_ATOM_CAS ? 3u : 2u), "%u sources", instr->nsrc);
        REQUIRE(instr->ndst <= 1 && vec == 1, "%u results", instr->ndst);
    }
    return HD_OK;
}

static enum hd_status check_signature(struct checker *c, const struct ir_proto *proto,
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

static enum hd_status check_builtin(struct checker *c)
{
    static const enum ir_type params[][5] = {
        [IR_BUILTIN_VPRINTF] = {IR_B64, IR_B64},
        [IR_BUILTIN_ASSERTFAIL] = {IR_B64, IR_B64, IR_B32, IR_B64, IR_B64},
        [IR_BUILTIN_MALLOC] = {IR_B64},
        [IR_BUILTIN_FREE] = {IR_B64}};
    static const uint32_t counts[] = {2, 5, 1, 1};
    static const enum ir_type results[] = {IR_B32, IR_VOID, IR_B64, IR_VOID};
    uint64_t which = c->instr->imm;
    struct ir_proto proto = {.nparams = counts[which],
                             .params = params[which],
                             .nresults = results[which] != IR_VOID,
                             .results = &results[which]};

    return check_signature(c, &proto, 0);
}

static enum hd_status check_pieces(struct checker *c)
{
    const struct ir_instr *instr = c->instr;
    unsigned bits = ir_type_bits(instr->type), total = 0;

    if (instr->op == IR_OP_UNPACK) {
        unsigned from = ir_type_bits(instr->src[0]->type);
        REQUIRE(instr->imm < from / bits, "piece %llu of %u bits in %u",
                (unsigned long long)instr->imm, bits, from);
        return HD_OK;
    }
    REQUIRE(instr->nsrc, "nothing to pack");
    for (uint32_t s = 0; s < instr->nsrc; s++) {
        REQUIRE(instr->src[s]->type == instr->src[0]->type, "sources of unequal width");
        total += ir_type_bits(instr->src[s]->type);
    }
    REQUIRE(total == bits, "%u bits packed into %u", total, bits);
    return HD_OK;
}

static enum hd_status check_special(struct checker *c)
{
    const struct ir_instr *instr = c->instr;

    switch (instr->op) {
    case IR_OP_LD:
    case IR_OP_ST:
    case IR_OP_ATOM:
        return check_memory(c);
    case IR_OP_PACK:
    case IR_OP_UNPACK:
        return check_pieces(c);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
    case IR_OP_ISSPACEP:
        REQUIRE(instr->src[0]->type == IR_B64 || instr->src[0]->type == IR_B32, "address is %s",
                ir_type_name(instr->src[0]->type));
        return HD_OK;
    case IR_OP_SREG:
        REQUIRE(ir_type_bits(instr->type) == ir_type_bits(ir_sreg_type((enum ir_sreg)instr->imm)),
                "wrong width for this special register");
        return HD_OK;
    case IR_OP_VARADDR:
        REQUIRE(instr->var, "no variable");
        REQUIRE(!instr->var->func || instr->var->func == c->func, "variable of another function");
        return HD_OK;
    case IR_OP_FUNCADDR:
        REQUIRE(instr->callee, "no function");
        return HD_OK;
    case IR_OP_CALL:
        REQUIRE(instr->callee && !instr->callee->is_kernel, "no callee, or a kernel");
        return check_signature(c, &instr->callee->proto, 0);
    case IR_OP_CALLI:
        REQUIRE(instr->nsrc && instr->src[0]->type == IR_B64 && instr->proto,
                "no function handle or prototype");
        return check_signature(c, instr->proto, 1);
    case IR_OP_BUILTIN:
        return check_builtin(c);
    case IR_OP_RET: {
        struct ir_proto proto = {.nparams = c->func->proto.nresults,
                                 .params = c->func->proto.results};
        return check_signature(c, &proto, 0);
    }
    case IR_OP_BAR:
        REQUIRE(instr->nsrc <= 3 && instr->ndst == (instr->imm >= IR_BAR_RED_POPC),
                "%u sources, %u results", instr->nsrc, instr->ndst);
        REQUIRE(instr->imm < IR_BAR_RED_POPC || instr->nsrc == 3, "reduction without a predicate");
        return HD_OK;
    case IR_OP_MATCH:
        REQUIRE(instr->ndst == 1 + (instr->imm == 1), "%u results", instr->ndst);
        return HD_OK;
    default:
        return HD_OK;
    }
}

static enum hd_status check_instrs(struct checker *c, const struct ir_dom *dom)
{
    uint32_t position = 1;

    for (uint32_t i = 0; i < c->func->nblocks; i++) {
        c->block = c->func->blocks[i];
        ir_foreach_instr(instr, c->block) {
            c->instr = instr;
            HD_TRY(check_counts(c));
            HD_TRY(check_uses(c, dom, position++));
            HD_TRY(check_widths(c));
            HD_TRY(check_special(c));
        }
    }
    c->instr = NULL;
    c->block = NULL;
    return HD_OK;
}

static enum hd_status check_func(struct checker *c)
{
    const struct ir_func *func = c->func;
    struct ir_dom dom;

    c->values = hd_arena_array(&c->arena, const struct ir_value *, (size_t)func->nvalues + 1);
    c->position = hd_arena_array(&c->arena, uint32_t, (size_t)func->nvalues + 1);
    c->edges = hd_arena_array(&c->arena, uint32_t, (size_t)func->nblocks + 1);
    if (!c->values || !c->position || !c->edges)
        return hd_error(HD_NO_MEMORY, "%s: no memory to validate", func->name);
    HD_TRY(check_blocks(c));
    HD_TRY(check_preds(c));
    HD_TRY(check_definitions(c));
    HD_TRY(ir_dom_compute(func, &c->arena, &dom));
    return check_instrs(c, &dom);
}

enum hd_status ir_validate_func(const struct ir_func *func)
{
    struct checker c = {.func = func};
    enum hd_status status;

    if (func->is_declaration)
        return HD_OK;
    hd_arena_init(&c.arena);
    status = check_func(&c);
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
