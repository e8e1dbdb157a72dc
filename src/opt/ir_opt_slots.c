/*
 * requires: compacted. keeps: cfg, dominance. breaks: liveness, shapes.
 *
 * Local variables whose address is only used, at constant offsets, by plain loads and stores become
 * SSA values: one slot per distinct (offset, size). Slots that overlap others stay in memory. Phis
 * go to iterated dominance frontiers of the stores (Cytron et al., TOPLAS 1991), then one walk over
 * the dominator tree renames.
 */
#include "opt/passes.h"

#include "base/mem.h"

#define NONE UINT32_MAX

/* One (variable, offset, size). */
struct slot {
    struct ir_var *var;
    int64_t offset_B;
    uint32_t size_B;
    bool keep;               /* overlaps another: stays in memory */
    HD_VEC(uint32_t) stores; /* blocks */
};

struct var_info {
    bool escapes;
};

/* An address derived from a variable. */
struct derived {
    struct ir_var *var;
    int64_t offset_B;
};

struct slots {
    struct ir_func *func;
    struct hd_arena tmp;
    struct ir_dom dom;
    struct hd_map info;      /* var -> struct var_info */
    struct derived *derived; /* by value id; var NULL = none */
    struct hd_map keys;      /* per (var, offset, size) -> index + 1 into at */
    HD_VEC(struct slot) at;
    uint32_t *phi_slot;         /* by value id of a phi that was placed here: slot + 1 */
    uint32_t first_new;         /* value ids from here on are new */
    HD_VEC(uint32_t) phi_slots; /* by value id - first_new */
    uint32_t *df_first;         /* dominance frontiers: df[df_first[b] .. df_first[b + 1]) */
    uint32_t *df;
    struct opt_replace replace;
    bool failed;
};

/* ---- which variables */

static bool slots_is_access(const struct ir_instr *instr)
{
    return (instr->op == IR_OP_LD || instr->op == IR_OP_ST) && instr->mem.sem == IR_SEM_WEAK &&
           (instr->mem.space == IR_SPACE_LOCAL || instr->mem.space == IR_SPACE_GENERIC) &&
           instr->type != IR_PRED;
}

static struct var_info *slots_info_of(struct slots *s, struct ir_var *var)
{
    struct var_info *info = hd_map_get_u64(&s->info, (uintptr_t)var);

    if (info)
        return info;
    info = hd_arena_new(&s->tmp, struct var_info);
    s->failed |= !hd_map_put_u64(&s->info, (uintptr_t)var, info);
    return info;
}

/* Passes the address on: the instruction's result is src0 plus a constant. */
static bool slots_derives(const struct ir_instr *instr, uint64_t *out_add)
{
    *out_add = 0;
    switch (instr->op) {
    case IR_OP_ADD:
        return ir_is_plain_add(instr) && ir_value_const(instr->src[1], out_add);
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        return instr->mem.space == IR_SPACE_LOCAL || instr->mem.space == IR_SPACE_GENERIC;
    case IR_OP_CVT:
        return opt_type_is_int(instr->type) && opt_type_is_int(instr->type2) &&
               !ir_has(instr, IR_MOD_SAT) && ir_type_bits(instr->type) >= 32 &&
               ir_type_bits(instr->type2) >= 32;
    default:
        return false;
    }
}

static int64_t slots_sign_extend(uint64_t bits, enum ir_type type)
{
    unsigned drop = 64 - ir_type_bits(type);

    return (int64_t)(bits << drop) >> drop;
}

/* Layout is a reverse postorder: an address is derived before it is used (but for phis). */
static void slots_derive(struct slots *s, struct ir_instr *instr)
{
    const struct derived *from;
    uint64_t add;

    if (instr->op == IR_OP_VARADDR && instr->var->space == IR_SPACE_LOCAL) {
        s->derived[instr->dst[0]->id] = (struct derived){instr->var, (int64_t)instr->imm};
        slots_info_of(s, instr->var);
        return;
    }
    for (uint32_t i = 0; i < instr->nsrc; i++) {
        from = &s->derived[instr->src[i]->id];
        if (!from->var)
            continue;
        if (i == 0 && slots_derives(instr, &add)) {
            add = (uint64_t)slots_sign_extend(add, instr->dst[0]->type);
            s->derived[instr->dst[0]->id] =
                (struct derived){from->var, (int64_t)((uint64_t)from->offset_B + add)};
            continue;
        }
        if (i != 0 || !slots_is_access(instr))
            slots_info_of(s, from->var)->escapes = true;
    }
}

/* What comes in over a back edge was derived after the phi had been looked at. */
static void slots_phis_escape(struct slots *s)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++)
        for (struct ir_instr *phi = s->func->blocks[b]->first; phi && phi->op == IR_OP_PHI;
             phi = phi->next)
            for (uint32_t i = 0; i < phi->nsrc; i++)
                if (s->derived[phi->src[i]->id].var)
                    slots_info_of(s, s->derived[phi->src[i]->id].var)->escapes = true;
}

/* ---- slots */

static struct slot *slot_find(struct slots *s, struct ir_var *var, int64_t offset_B,
                              uint32_t size_B)
{
    struct {
        const struct ir_var *var;
        int64_t offset_B;
        uint64_t size_B;
    } key = {var, offset_B, size_B};
    struct hd_str bytes = {(const char *)&key, sizeof(key)};
    uintptr_t index = (uintptr_t)hd_map_get(&s->keys, bytes);

    if (index)
        return &s->at.at[index - 1];
    bytes.ptr = hd_arena_alloc(&s->tmp, sizeof(key));
    memcpy((char *)bytes.ptr, &key, sizeof(key));
    if (!hd_vec_push(&s->at, (struct slot){.var = var, .offset_B = offset_B, .size_B = size_B}) ||
        !hd_map_put(&s->keys, bytes, (void *)(uintptr_t)s->at.len)) {
        s->failed = true;
        return NULL;
    }
    return &hd_vec_last(&s->at);
}

/* The variable that a load or store accesses, if it can become values. */
static const struct derived *slots_access_target(struct slots *s, const struct ir_instr *instr)
{
    const struct derived *d;

    if (!slots_is_access(instr) || instr->src[0]->id >= s->first_new)
        return NULL;
    d = &s->derived[instr->src[0]->id];
    if (!d->var || slots_info_of(s, d->var)->escapes)
        return NULL;
    return d;
}

static uint32_t slots_access_count(const struct ir_instr *instr)
{
    return instr->mem.vec ? instr->mem.vec : 1;
}

static struct slot *access_slot(struct slots *s, const struct ir_instr *instr, uint32_t element)
{
    const struct derived *d = slots_access_target(s, instr);
    uint32_t size_B = ir_type_bits(instr->type) / 8;

    if (!d)
        return NULL;
    return slot_find(s, d->var, d->offset_B + instr->mem.offset + (int64_t)element * size_B,
                     size_B);
}

static void collect_slots(struct slots *s)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        ir_foreach_instr(instr, s->func->blocks[b]) {
            if (!slots_access_target(s, instr))
                continue;
            for (uint32_t e = 0; e < slots_access_count(instr); e++) {
                struct slot *slot = access_slot(s, instr, e);
                if (!slot || instr->op != IR_OP_ST)
                    continue;
                if (!slot->stores.len || hd_vec_last(&slot->stores) != b)
                    s->failed |= !hd_vec_push(&slot->stores, b);
            }
        }
    }
}

static int compare_slots(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;

    if (x->var != y->var)
        return (uintptr_t)x->var < (uintptr_t)y->var ? -1 : 1;
    if (x->offset_B != y->offset_B)
        return x->offset_B < y->offset_B ? -1 : 1;
    return x->size_B < y->size_B ? -1 : x->size_B > y->size_B;
}

/*
 * Overlapping slots of different extent stay in memory together with everything they touch: a run
 * of slots, sorted by offset, that hang together is one cluster.
 */
static void slots_keep_overlaps(struct slots *s)
{
    struct slot **sorted = hd_arena_array(&s->tmp, struct slot *, s->at.len + 1);
    bool clustered = false;
    int64_t end = 0;
    size_t first = 0;

    if (!sorted) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < s->at.len; i++)
        sorted[i] = &s->at.at[i];
    qsort(sorted, s->at.len, sizeof(*sorted), compare_slots);
    for (size_t i = 0; i < s->at.len; i++) {
        struct slot *slot = sorted[i];
        bool outside =
            slot->offset_B < 0 || (uint64_t)slot->offset_B + slot->size_B > slot->var->size_B;
        if (i == 0 || slot->var != sorted[i - 1]->var || slot->offset_B >= end) {
            first = i;
            end = slot->offset_B;
            clustered = false;
        } else {
            for (size_t k = clustered ? i : first; k <= i; k++)
                sorted[k]->keep = true;
            clustered = true;
        }
        slot->keep |= outside;
        end = HD_MAX(end, slot->offset_B + slot->size_B);
    }
}

/* The elements of one vector access stay in memory together. Did that keep any more? */
static bool slots_keep_vectors(struct slots *s)
{
    bool changed = false;

    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        ir_foreach_instr(instr, s->func->blocks[b]) {
            uint32_t kept = 0, n = slots_access_count(instr);
            if (n < 2 || !slots_access_target(s, instr))
                continue;
            for (uint32_t e = 0; e < n; e++)
                kept += access_slot(s, instr, e)->keep;
            if (kept == 0 || kept == n)
                continue;
            for (uint32_t e = 0; e < n; e++)
                access_slot(s, instr, e)->keep = true;
            changed = true;
        }
    }
    return changed;
}

/* ---- phis */

static void slots_count_frontiers(struct slots *s, bool fill)
{
    for (uint32_t b = 0; b < s->func->nblocks; b++) {
        const struct ir_block *block = s->func->blocks[b];
        if (block->npreds < 2)
            continue;
        for (uint32_t p = 0; p < block->npreds; p++) {
            uint32_t runner = block->preds[p]->id;
            for (; runner != s->dom.idom[b]; runner = s->dom.idom[runner]) {
                if (fill)
                    s->df[s->df_first[runner + 1]++] = b;
                else
                    s->df_first[runner + 1]++;
            }
        }
    }
}

/* As lists in one array, by the same two-pass filling as everywhere. Duplicates do no harm. */
static bool slots_build_frontiers(struct slots *s)
{
    uint32_t n = s->func->nblocks, total = 0;

    s->df_first = hd_arena_array(&s->tmp, uint32_t, (size_t)n + 2);
    if (!s->df_first)
        return false;
    slots_count_frontiers(s, false);
    for (uint32_t b = 0; b < n; b++) {
        uint32_t count = s->df_first[b + 1];
        s->df_first[b + 1] = total;
        total += count;
    }
    s->df = hd_arena_array(&s->tmp, uint32_t, (size_t)total + 1);
    if (!s->df)
        return false;
    slots_count_frontiers(s, true);
    return true;
}

static enum ir_type slot_type(const struct slot *slot)
{
    switch (slot->size_B) {
    case 1:
        return IR_B8;
    case 2:
        return IR_B16;
    case 4:
        return IR_B32;
    case 8:
        return IR_B64;
    default:
        return IR_B128;
    }
}

static void slots_place_phi(struct slots *s, uint32_t index, struct ir_block *block)
{
    struct ir_instr *phi = ir_build_phi(block, slot_type(&s->at.at[index]));

    if (!phi->ndst)
        return;
    while (s->phi_slots.len <= phi->dst[0]->id - s->first_new && !s->failed)
        s->failed |= !hd_vec_push(&s->phi_slots, 0);
    if (!s->failed)
        s->phi_slots.at[phi->dst[0]->id - s->first_new] = index + 1;
}

static void slots_place_phis(struct slots *s)
{
    uint32_t n = s->func->nblocks;
    uint32_t *placed = hd_arena_array(&s->tmp, uint32_t, n);
    uint32_t *queued = hd_arena_array(&s->tmp, uint32_t, n);
    uint32_t *work = hd_arena_array(&s->tmp, uint32_t, n);

    if (!placed || !queued || !work || !slots_build_frontiers(s)) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < s->at.len && !s->failed; i++) {
        const struct slot *slot = &s->at.at[i];
        uint32_t depth = 0;
        for (size_t k = 0; !slot->keep && k < slot->stores.len; k++) {
            work[depth++] = slot->stores.at[k];
            queued[slot->stores.at[k]] = i + 1;
        }
        while (depth) {
            uint32_t b = work[--depth];
            for (uint32_t f = s->df_first[b]; f < s->df_first[b + 1]; f++) {
                uint32_t to = s->df[f];
                if (placed[to] == i + 1)
                    continue;
                placed[to] = i + 1;
                slots_place_phi(s, i, s->func->blocks[to]);
                if (queued[to] != i + 1) {
                    queued[to] = i + 1;
                    work[depth++] = to;
                }
            }
        }
    }
}

/* ---- renaming */

struct undo {
    uint32_t slot;
    struct ir_value *value;
};

struct rename {
    struct slots *s;
    struct ir_value **now; /* by slot; NULL = not written yet */
    HD_VEC(struct undo) undo;
    uint32_t *first_child;
    uint32_t *sibling;
};

static void slots_set_now(struct rename *r, uint32_t slot, struct ir_value *value)
{
    r->s->failed |= !hd_vec_push(&r->undo, (struct undo){slot, r->now[slot]});
    r->now[slot] = value;
}

/* The slot's value, or what an unwritten register reads as. */
static struct ir_value *slots_get_now(struct rename *r, uint32_t slot)
{
    struct ir_block *entry = r->s->func->blocks[0];
    struct ir_builder b = {.func = r->s->func, .block = entry, .before = entry->first};

    if (!r->now[slot]) {
        /* Not recorded for undo: the entry dominates everything. */
        struct ir_instr *undef =
            ir_build_instr(&b, IR_OP_UNDEF, slot_type(&r->s->at.at[slot]), 0, NULL, 1);
        if (!undef->ndst)
            return NULL;
        r->now[slot] = undef->dst[0];
    }
    return r->now[slot];
}

static uint32_t slot_index(const struct slots *s, const struct slot *slot)
{
    return (uint32_t)(slot - s->at.at);
}

static uint32_t phi_slot(const struct slots *s, const struct ir_instr *phi)
{
    uint32_t id = phi->dst[0]->id;

    if (id < s->first_new || id - s->first_new >= s->phi_slots.len)
        return 0;
    return s->phi_slots.at[id - s->first_new];
}

static void slots_rename_access(struct rename *r, struct ir_instr *instr)
{
    uint32_t n = slots_access_count(instr);

    for (uint32_t e = 0; e < n; e++)
        if (access_slot(r->s, instr, e)->keep)
            return;
    for (uint32_t e = 0; e < n; e++) {
        uint32_t slot = slot_index(r->s, access_slot(r->s, instr, e));
        if (instr->op == IR_OP_ST)
            slots_set_now(r, slot, opt_replace_get(&r->s->replace, instr->src[1 + e]));
        else if (slots_get_now(r, slot))
            opt_replace_set(&r->s->replace, instr->dst[e], r->now[slot]);
    }
    ir_instr_remove(instr);
}

static void slots_rename_block(struct rename *r, struct ir_block *block)
{
    ir_foreach_instr_safe(instr, block) {
        uint32_t slot = instr->op == IR_OP_PHI ? phi_slot(r->s, instr) : 0;
        if (slot)
            slots_set_now(r, slot - 1, instr->dst[0]);
        else if (slots_access_target(r->s, instr))
            slots_rename_access(r, instr);
    }
    for (uint32_t i = 0; i < block->nsuccs; i++) {
        struct ir_block *succ = block->succs[i];
        for (struct ir_instr *phi = succ->first; phi && phi->op == IR_OP_PHI; phi = phi->next) {
            uint32_t slot = phi_slot(r->s, phi);
            for (uint32_t p = 0; slot && p < succ->npreds; p++)
                if (succ->preds[p] == block)
                    phi->src[p] = slots_get_now(r, slot - 1);
        }
    }
}

struct frame {
    uint32_t block;
    uint32_t next_child;
    size_t undo;
};

static void slots_rename_walk(struct rename *r, struct frame *stack)
{
    struct ir_func *func = r->s->func;
    uint32_t depth = 0;

    stack[depth++] = (struct frame){0, r->first_child[0], 0};
    slots_rename_block(r, func->blocks[0]);
    while (depth && !r->s->failed) {
        struct frame *top = &stack[depth - 1];
        uint32_t child = top->next_child;
        if (child == NONE) {
            const size_t undo = top->undo;
            while (r->undo.len > undo) {
                struct undo last = hd_vec_pop(&r->undo);
                r->now[last.slot] = last.value;
            }
            depth--;
            continue;
        }
        top->next_child = r->sibling[child];
        stack[depth++] = (struct frame){child, r->first_child[child], r->undo.len};
        slots_rename_block(r, func->blocks[child]);
    }
}

static void slots_rename_all(struct slots *s)
{
    uint32_t n = s->func->nblocks;
    struct rename r = {.s = s};
    struct frame *stack = hd_arena_array(&s->tmp, struct frame, (size_t)n + 1);

    r.now = hd_arena_array(&s->tmp, struct ir_value *, s->at.len + 1);
    r.first_child = hd_arena_array(&s->tmp, uint32_t, n);
    r.sibling = hd_arena_array(&s->tmp, uint32_t, n);
    if (!stack || !r.now || !r.first_child || !r.sibling) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        r.first_child[i] = r.sibling[i] = NONE;
    for (uint32_t i = n; i-- > 1;) {
        r.sibling[i] = r.first_child[s->dom.idom[i]];
        r.first_child[s->dom.idom[i]] = i;
    }
    slots_rename_walk(&r, stack);
    hd_vec_fini(&r.undo);
}

/* ---- the pass */

static bool slots_has_locals(const struct ir_func *func)
{
    for (const struct ir_var *var = func->vars; var; var = var->next)
        if (var->space == IR_SPACE_LOCAL)
            return true;
    return false;
}

static bool slots_any_to_promote(const struct slots *s)
{
    for (size_t i = 0; i < s->at.len; i++)
        if (!s->at.at[i].keep)
            return true;
    return false;
}

/* Variables that nothing mentions any more take no stack. */
static void slots_drop_unused(struct ir_func *func, struct slots *s)
{
    struct ir_var **link = &func->vars;
    struct hd_map used;

    hd_map_init(&used);
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(instr, func->blocks[b])
            if (instr->op == IR_OP_VARADDR)
                s->failed |= !hd_map_put_u64(&used, (uintptr_t)instr->var, instr->var);
    func->last_var = NULL;
    while (*link) {
        void *found;
        if (s->failed || (*link)->space != IR_SPACE_LOCAL ||
            hd_map_find_u64(&used, (uintptr_t)*link, &found)) {
            func->last_var = *link;
            link = &(*link)->next;
        } else {
            *link = (*link)->next;
        }
    }
    hd_map_fini(&used);
}

static bool slots_promote(struct slots *s)
{
    struct ir_func *func = s->func;

    s->first_new = func->nvalues;
    s->derived = hd_arena_array(&s->tmp, struct derived, (size_t)func->nvalues + 1);
    if (!s->derived || ir_dom_compute(func, &s->tmp, &s->dom) != HD_OK) {
        s->failed = true;
        return false;
    }
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(instr, func->blocks[b])
            slots_derive(s, instr);
    slots_phis_escape(s);
    collect_slots(s);
    if (s->failed)
        return false;
    slots_keep_overlaps(s);
    while (!s->failed && slots_keep_vectors(s))
        ;
    if (s->failed || !slots_any_to_promote(s) || !opt_replace_init(&s->replace, func))
        return false;
    slots_place_phis(s);
    slots_rename_all(s);
    s->replace.changed &= !s->failed; /* some phis may lack operands: the module is refused */
    opt_replace_fini(&s->replace);
    return !s->failed;
}

bool ir_opt_slots(struct ir_func *func)
{
    struct slots s = {.func = func};
    bool changed;

    if (!slots_has_locals(func))
        return false;
    hd_arena_init(&s.tmp);
    changed = slots_promote(&s);
    if (changed) {
        ir_opt_dce(func);
        slots_drop_unused(func, &s);
    }
    for (size_t i = 0; i < s.at.len; i++)
        hd_vec_fini(&s.at.at[i].stores);
    hd_vec_fini(&s.at);
    hd_vec_fini(&s.phi_slots);
    hd_map_fini(&s.keys);
    hd_map_fini(&s.info);
    hd_arena_fini(&s.tmp);
    if (s.failed)
        opt_failed(func);
    return changed;
}
