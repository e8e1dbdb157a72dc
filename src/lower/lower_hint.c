/*
 * What programs say about caches: modifiers of accesses, a policy behind their other sources, and
 * instructions that are nothing but hints. (docs/decisions/0004)
 */
#include "lower/lower_priv.h"

#include <assert.h>

typedef struct ir_value *val;

static uint32_t hints_of(const struct ptx_form *form)
{
    uint32_t set = 0;
    for (unsigned m = 0; m < form->nmods; m++)
        set |= lower_mods[form->mods[m].id].ir & IR_MODS_HINTS;
    return set;
}

void lower_policy_source(struct lower_fn *f, const struct ptx_insn *in, uint32_t at, val *src,
                         uint32_t *n)
{
    bool wanted = ptx_form_has(in->form, PTX_MOD_L2_CACHE_HINT);
    if (wanted != (in->nops > at))
        lower_fail(f, HD_BAD_PTX, "a cache policy and .L2::cache_hint need each other");
    else if (wanted)
        src[(*n)++] = lower_src(f, &in->ops[at], IR_B64);
}

void lower_access_hints(struct ir_instr *r, const struct ptx_form *form)
{
    assert(ir_op_infos[r->op].mods & IR_MOD_POLICY);
    r->mods |= hints_of(form);
    ir_set_mod(r, IR_MOD_POLICY, ptx_form_has(form, PTX_MOD_L2_CACHE_HINT));
}

/* prefetch.global.L1 [a]; prefetch.global.L2::evict_last [a]; prefetch.tensormap [a]; prefetchu */
bool lower_do_prefetch(struct lower_fn *f, const struct ptx_insn *in)
{
    const struct ptx_form *form = in->form;
    enum ir_space space = lower_space(ptx_form_space(form));
    int64_t offset;
    val address = lower_address(f, &in->ops[0], &space, &offset);
    struct ir_instr *r = lower_emit(f, IR_OP_PREFETCH, IR_VOID, 1, &address, 0);
    r->mem.space = space;
    r->mem.offset = offset;
    r->mods = hints_of(form);
    if (form->op == PTX_OP_PREFETCHU)
        r->imm = IR_LEVEL_UNIFORM;
    else if (ptx_form_has(form, PTX_MOD_TENSORMAP))
        r->imm = IR_LEVEL_TENSORMAP;
    else if (ptx_form_has(form, PTX_MOD_L1))
        r->imm = IR_LEVEL_L1;
    else if (ptx_form_has(form, PTX_MOD_L2) || (r->mods & IR_MODS_L2_EVICT))
        r->imm = IR_LEVEL_L2;
    else
        lower_fail(f, HD_BAD_PTX, "a cache level is missing");
    return true;
}

/* applypriority.global.L2::evict_normal [a], 128; discard.global.L2 [a], 128 */
bool lower_do_line_hint(struct lower_fn *f, const struct ptx_insn *in)
{
    bool discard = in->form->op == PTX_OP_DISCARD;
    enum ir_space space = lower_space(ptx_form_space(in->form));
    int64_t offset;
    val address = lower_address(f, &in->ops[0], &space, &offset);
    enum ir_op op = discard ? IR_OP_DISCARD : IR_OP_APPLYPRIORITY;
    struct ir_instr *r = lower_emit(f, op, IR_VOID, 1, &address, 0);
    r->mem.space = space;
    r->mem.offset = offset;
    if (!discard)
        r->mods = hints_of(in->form);
    if (in->ops[1].kind != PTX_OPND_INT)
        lower_fail(f, HD_BAD_PTX, "the size is not a constant");
    r->imm = in->ops[1].u.bits;
    return true;
}

/* pmevent 7; pmevent.mask 0x80 */
bool lower_do_pmevent(struct lower_fn *f, const struct ptx_insn *in)
{
    bool mask = ptx_form_has(in->form, PTX_MOD_MASK);
    uint64_t bits = in->ops[0].u.bits;
    if (in->ops[0].kind != PTX_OPND_INT || bits > (mask ? 0xffffu : 15u)) {
        lower_fail(f, HD_BAD_PTX, "there are events 0 to 15");
        return true;
    }
    lower_emit(f, IR_OP_PMEVENT, IR_VOID, 0, NULL, 0)->imm = mask ? bits : 1u << bits;
    return true;
}

/* The first priority is for the accesses that are meant, the second for the others. */
static void policy_priorities(struct lower_fn *f, const struct ptx_form *form, struct ir_instr *r)
{
    bool ok = true, first = true;
    for (unsigned m = 0; m < form->nmods; m++) {
        uint32_t priority = lower_mods[form->mods[m].id].ir & IR_MODS_L2_EVICT;
        if (priority && first)
            r->mods = priority;
        else if (priority == IR_MOD_L2_EVICT_FIRST)
            r->imm = IR_POLICY_ELSE_FIRST;
        else if (priority)
            ok &= priority == IR_MOD_L2_EVICT_UNCHANGED;
        first &= !priority;
    }
    if (!ok || first)
        lower_fail(f, HD_BAD_PTX, "a priority, and .L2::evict_first or unchanged for the others");
}

bool lower_do_policy(struct lower_fn *f, const struct ptx_insn *in)
{
    enum ir_space space = IR_SPACE_GENERIC;
    int64_t offset = 0;
    struct ir_instr *r;
    if (in->form->op == PTX_OP_CREATEPOLICY_CVT) {
        val property = lower_src(f, &in->ops[1], IR_B64);
        r = lower_emit(f, IR_OP_POLICY_CVT, IR_B64, 1, &property, 1);
    } else if (in->form->op == PTX_OP_CREATEPOLICY_FRACTIONAL) {
        val all =
            in->nops > 1 ? lower_src(f, &in->ops[1], IR_F32) : lower_const(f, IR_F32, 0x3f800000);
        r = lower_emit(f, IR_OP_POLICY_FRACTIONAL, IR_B64, 1, &all, 1);
        policy_priorities(f, in->form, r);
    } else {
        val at = lower_fit(f, lower_address(f, &in->ops[1], &space, &offset), IR_B64, IR_B64);
        val sum[] = {at, lower_const(f, IR_B64, (uint64_t)offset)};
        val src[] = {lower_op(f, IR_OP_ADD, IR_B64, 2, sum), lower_src(f, &in->ops[2], IR_U32),
                     lower_src(f, &in->ops[3], IR_U32)};
        r = lower_emit(f, IR_OP_POLICY_RANGE, IR_B64, 3, src, 1);
        policy_priorities(f, in->form, r);
    }
    lower_dst(f, &in->ops[0], r->dst[0], IR_B64);
    return true;
}
