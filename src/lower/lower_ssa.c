/*
 * Registers to SSA values.
 *
 * Where a register needs a phi is known before any instruction is lowered: in the iterated
 * dominance frontier of the blocks that write it (Cytron et al., TOPLAS 1991), found by one scan
 * of the PTX. The value at the end of a block is then that of its nearest dominator which writes
 * the register or has a phi for it, a binary search in the register's sites. So the cost follows
 * writes and reads, not registers times blocks, and no phi is made that nobody reads.
 *
 * Blocks are lowered dominators first: the value of a site above is there when it is asked for.
 */
#include "lower/lower_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A block that writes a register or has a phi for it, in the order of the dominator tree's walk. */
struct lower_site {
    uint32_t pre;   /* of the block in the walk */
    uint32_t block; /* id */
    uint32_t above; /* nearest site that dominates it, index + 1; 0 = none */
    bool joins;     /* different values may meet at its start: has a phi when it is read there */
};

/* The sites of one register, found when it is first read across blocks. */
struct lower_sites {
    struct lower_site *at;
    uint32_t n;
    bool known;
};

struct write {
    uint32_t reg, block;
};

struct lower_ssa {
    struct ir_dom dom;
    HD_VEC(struct write) writes;
    uint32_t *first;    /* by register: where its writers begin in `writers` */
    uint32_t *writers;  /* block ids */
    uint32_t *df_first; /* by block: where its dominance frontier begins in `df` */
    uint32_t *df;
    uint32_t *mark; /* by block: scratch of ssa_find_sites(), register + 1 .. */
    uint32_t *slot; /* .. and where the block is in its list */
    struct lower_sites *sites;
};

static enum hd_status ssa_no_memory(const struct lower_fn *f)
{
    return hd_error(HD_NO_MEMORY, "lowering %s", f->ir->name);
}

/* ---- who writes what */

static bool ssa_add_write(struct lower_fn *f, uint32_t reg, uint32_t block)
{
    size_t n = f->ssa->writes.len;
    if (n && f->ssa->writes.at[n - 1].reg == reg && f->ssa->writes.at[n - 1].block == block)
        return true;
    return hd_vec_push(&f->ssa->writes, (struct write){reg, block});
}

/* A destination, or the items of one. Sources that look alike do no harm: sites are candidates. */
static bool ssa_add_operand(struct lower_fn *f, const struct ptx_operand *op, uint32_t block)
{
    bool good = true;
    if (op->kind == PTX_OPND_REG && !op->u.reg->global)
        good = ssa_add_write(f, ptx_operand_reg_idx(op), block);
    for (uint32_t i = 0; good && op->kind != PTX_OPND_ADDR && i < op->nitems; i++)
        good = ssa_add_operand(f, &op->items[i], block);
    return good;
}

static bool ssa_add_insn(struct lower_fn *f, const struct ptx_insn *in, uint32_t block)
{
    bool carries = in->form->cc || in->form->op == PTX_OP_ADDC || in->form->op == PTX_OP_SUBC ||
                   in->form->op == PTX_OP_MADC;
    in = lower_spread(f, in);
    /* tcgen05.ld.red has two results. */
    if (in->form->op == PTX_OP_TCGEN05_LD && in->nops > 2 &&
        !ssa_add_operand(f, &in->ops[1], block))
        return false;
    return (!in->nops || ssa_add_operand(f, &in->ops[0], block)) &&
           (!carries || ssa_add_write(f, f->nregs - 1, block));
}

static bool ssa_add_block(struct lower_fn *f, const struct lower_block *b)
{
    for (const struct ptx_stmt *s = b->first; s && s != b->end; s = s->next) {
        if (s->kind == PTX_STMT_INSN && !ssa_add_insn(f, (const struct ptx_insn *)s, b->ir->id))
            return false;
    }
    return true;
}

/* Arguments arrive in registers of the entry. */
static bool ssa_add_arguments(struct lower_fn *f)
{
    for (const struct ptx_reg_decl *r = f->ptx->regs; r; r = r->next) {
        for (uint32_t i = 0; r->is_param && i < r->vec; i++)
            if (!ssa_add_write(f, r->base + i, f->ir->blocks[0]->id))
                return false;
    }
    return true;
}

/* Sorts the writes by register: a counting sort, so blocks stay in order. */
static bool ssa_sort_writes(struct lower_fn *f)
{
    struct lower_ssa *s = f->ssa;
    s->first = hd_arena_array(&f->arena, uint32_t, f->nregs + 2u);
    s->writers = hd_arena_array(&f->arena, uint32_t, s->writes.len + 1);
    if (!s->first || !s->writers)
        return false;
    for (size_t i = 0; i < s->writes.len; i++)
        s->first[s->writes.at[i].reg + 2]++;
    for (uint32_t r = 2; r < f->nregs + 2; r++)
        s->first[r] += s->first[r - 1];
    for (size_t i = 0; i < s->writes.len; i++)
        s->writers[s->first[s->writes.at[i].reg + 1]++] = s->writes.at[i].block;
    assert(!s->first[0]);
    assert(s->first[f->nregs] == s->writes.len);
    return true;
}

/* ---- dominance frontiers */

struct edge {
    uint32_t from, to; /* `to` is in the frontier of `from` */
};

struct edges {
    HD_VEC(struct edge) list;
    uint32_t *last; /* by block: the join that it got last, + 1 */
};

/* Walks up from a predecessor of `join` until blocks that dominate it, or that have it already. */
static bool ssa_frontier_walk(const struct lower_fn *f, struct edges *e, uint32_t from,
                              uint32_t join)
{
    const struct ir_dom *dom = &f->ssa->dom;
    while (from != IR_NO_BLOCK && from != dom->idom[join] && e->last[from] != join + 1) {
        e->last[from] = join + 1;
        if (!hd_vec_push(&e->list, (struct edge){from, join}))
            return false;
        assert(dom->depth[from] > 0 || dom->idom[from] == IR_NO_BLOCK);
        from = dom->idom[from];
    }
    return true;
}

static bool ssa_frontier_lists(struct lower_fn *f, const struct edges *e)
{
    struct lower_ssa *s = f->ssa;
    uint32_t n = f->ir->nblocks;
    s->df_first = hd_arena_array(&f->arena, uint32_t, n + 2u);
    s->df = hd_arena_array(&f->arena, uint32_t, e->list.len + 1);
    if (!s->df_first || !s->df)
        return false;
    for (size_t i = 0; i < e->list.len; i++)
        s->df_first[e->list.at[i].from + 2]++;
    for (uint32_t b = 2; b < n + 2; b++)
        s->df_first[b] += s->df_first[b - 1];
    for (size_t i = 0; i < e->list.len; i++)
        s->df[s->df_first[e->list.at[i].from + 1]++] = e->list.at[i].to;
    return true;
}

static bool ssa_find_frontiers(struct lower_fn *f)
{
    struct edges e = {.last = hd_arena_array(&f->arena, uint32_t, f->ir->nblocks + 1u)};
    bool good = e.last != NULL;
    for (uint32_t b = 0; good && b < f->ir->nblocks; b++) {
        const struct ir_block *block = f->ir->blocks[b];
        for (uint32_t p = 0; good && block->npreds > 1 && p < block->npreds; p++)
            good = ssa_frontier_walk(f, &e, block->preds[p]->id, b);
    }
    good = good && ssa_frontier_lists(f, &e);
    hd_vec_fini(&e.list);
    return good;
}

enum hd_status lower_ssa_begin(struct lower_fn *f)
{
    struct lower_ssa *s = f->ssa = hd_arena_new(&f->arena, struct lower_ssa);
    HD_TRY(hd_arena_status(&f->arena));
    HD_TRY(hd_arena_status(&f->job->module->arena)); /* else edges may be missing */
    HD_TRY(ir_dom_compute(f->ir, &f->arena, &s->dom));
    s->mark = hd_arena_array(&f->arena, uint32_t, f->ir->nblocks + 1u);
    s->slot = hd_arena_array(&f->arena, uint32_t, f->ir->nblocks + 1u);
    s->sites = hd_arena_array(&f->arena, struct lower_sites, f->nregs + 1u);
    bool good = s->mark && s->slot && s->sites && ssa_add_arguments(f);
    for (size_t i = 0; good && i < f->blocks.len; i++)
        good = ssa_add_block(f, &f->blocks.at[i]);
    good = good && ssa_sort_writes(f) && ssa_find_frontiers(f);
    hd_vec_fini(&s->writes);
    return good ? HD_OK : ssa_no_memory(f);
}

/* ---- the sites of a register */

static int ssa_by_pre(const void *a, const void *b)
{
    uint32_t x = ((const struct lower_site *)a)->pre, y = ((const struct lower_site *)b)->pre;
    return x < y ? -1 : x > y;
}

typedef HD_VEC(struct lower_site) site_list;

static bool ssa_add_site(struct lower_ssa *s, site_list *list, uint32_t reg, uint32_t block,
                         bool joins)
{
    if (s->mark[block] == reg + 1) {
        list->at[s->slot[block]].joins |= joins;
        return true;
    }
    s->mark[block] = reg + 1;
    s->slot[block] = (uint32_t)list->len;
    return hd_vec_push(
        list, (struct lower_site){.pre = s->dom.pre[block], .block = block, .joins = joins});
}

/* Writers, and all joins that two values can reach: the list grows as it is worked off. */
static enum hd_status ssa_find_sites(struct lower_fn *f, uint32_t reg)
{
    struct lower_ssa *s = f->ssa;
    struct lower_sites *sites = &s->sites[reg];
    site_list list = {0};
    bool good = true;
    for (uint32_t i = s->first[reg]; good && i < s->first[reg + 1]; i++)
        good = ssa_add_site(s, &list, reg, s->writers[i], false);
    for (size_t i = 0; good && i < list.len; i++) {
        uint32_t block = list.at[i].block;
        for (uint32_t d = s->df_first[block]; good && d < s->df_first[block + 1]; d++)
            good = ssa_add_site(s, &list, reg, s->df[d], true);
    }
    sites->at = hd_arena_array(&f->arena, struct lower_site, list.len + 1);
    good = good && sites->at;
    if (good && list.len)
        memcpy(sites->at, list.at, list.len * sizeof(*list.at));
    sites->n = good ? (uint32_t)list.len : 0;
    hd_vec_fini(&list);
    if (!good)
        return ssa_no_memory(f);
    if (sites->n)
        qsort(sites->at, sites->n, sizeof(*sites->at), ssa_by_pre);
    /*
     * In the order of the walk a site's nearest site above is found on the path to the one before.
     */
    for (uint32_t i = 1; i < sites->n; i++) {
        uint32_t above = i; /* index + 1 of the site before */
        while (above && !ir_dominates(&s->dom, sites->at[above - 1].block, sites->at[i].block))
            above = sites->at[above - 1].above;
        assert(above <= i && sites->at[i - 1].pre < sites->at[i].pre);
        sites->at[i].above = above;
    }
    assert(!sites->n || !sites->at[0].above);
    sites->known = true;
    return HD_OK;
}

/* The last site whose walk number is at most `pre`: index + 1, 0 = none. */
static uint32_t ssa_last_site(const struct lower_sites *sites, uint32_t pre)
{
    uint32_t low = 0, high = sites->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sites->at[middle].pre <= pre)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- reads and writes */

static uint64_t ssa_key(uint32_t block, uint32_t reg)
{
    return (uint64_t)block << 32 | reg;
}

static struct ir_value *known(const struct lower_fn *f, uint32_t block, uint32_t reg)
{
    return hd_map_get_u64(&f->defs, ssa_key(block, reg));
}

static void ssa_define(struct lower_fn *f, uint32_t block, uint32_t reg, struct ir_value *v)
{
    if (!hd_map_put_u64(&f->defs, ssa_key(block, reg), v) && f->status == HD_OK)
        f->status = ssa_no_memory(f);
}

/* What nobody wrote; once per register, at the start of the function. */
static struct ir_value *ssa_undefined(struct lower_fn *f, uint32_t reg)
{
    struct ir_block *entry = f->ir->blocks[0];
    struct ir_builder b = {.func = f->ir, .block = entry, .before = entry->first};
    struct ir_value *v = known(f, entry->id, reg);
    if (v)
        return v;
    v = ir_build_instr(&b, IR_OP_UNDEF, f->reg_types[reg], 0, NULL, 1)->dst[0];
    assert(!known(f, entry->id, reg));
    ssa_define(f, entry->id, reg, v);
    return v;
}

static struct ir_value *join(struct lower_fn *f, uint32_t block, uint32_t reg)
{
    struct ir_instr *phi = ir_build_phi(f->ir->blocks[block], f->reg_types[reg]);
    ssa_define(f, block, reg, phi->dst[0]);
    assert(phi->block->id == block);
    if (!hd_vec_push(&f->phis, (struct lower_phi){phi, reg}) && f->status == HD_OK)
        f->status = ssa_no_memory(f);
    return phi->dst[0];
}

/* The value that reaches `block` from its sites; NULL when nothing does. */
static struct ir_value *ssa_reaching(struct lower_fn *f, uint32_t block, uint32_t reg)
{
    const struct lower_ssa *s = f->ssa;
    const struct lower_sites *sites = &s->sites[reg];
    uint32_t i = ssa_last_site(sites, s->dom.pre[block]);
    for (; i; i = sites->at[i - 1].above) {
        const struct lower_site *site = &sites->at[i - 1];
        struct ir_value *v;
        if (!ir_dominates(&s->dom, site->block, block))
            continue;
        if ((v = known(f, site->block, reg)))
            return v;
        if (site->joins)
            return join(f, site->block, reg);
    }
    return NULL;
}

/* The value at the end of `block`, or where its lowering has come to. */
static struct ir_value *ssa_read_at(struct lower_fn *f, uint32_t block, uint32_t reg)
{
    struct ir_value *v = known(f, block, reg);
    assert(reg < f->nregs && block < f->ir->nblocks);
    if (v)
        return v;
    if (!f->ssa->sites[reg].known && f->status == HD_OK)
        f->status = ssa_find_sites(f, reg);
    v = ssa_reaching(f, block, reg);
    v = v ? v : ssa_undefined(f, reg);
    ssa_define(f, block, reg, v);
    return v;
}

struct ir_value *lower_reg_read(struct lower_fn *f, uint32_t reg)
{
    return ssa_read_at(f, f->b.block->id, reg);
}

/* Every write must have been seen by lower_ssa_begin(), or joins of it are missing. */
static bool ssa_is_writer(const struct lower_fn *f, uint32_t block, uint32_t reg)
{
    uint32_t low = f->ssa->first[reg], high = f->ssa->first[reg + 1];
    while (low < high) { /* in the order of blocks */
        uint32_t middle = low + (high - low) / 2;
        if (f->ssa->writers[middle] == block)
            return true;
        if (f->ssa->writers[middle] < block)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* For debuggers, which may change a register: its value is nobody else's. */
static struct ir_value *ssa_note(struct lower_fn *f, uint32_t reg, struct ir_value *v)
{
    if (hd_map_get_u64(&f->noted, (uintptr_t)v)) {
        struct ir_value *p = lower_const(f, IR_PRED, 1);
        v = lower_op3(f, IR_OP_SELECT, f->reg_types[reg], p, v, v);
    }
    if (!hd_map_put_u64(&f->noted, (uintptr_t)v, v) && f->status == HD_OK)
        f->status = ssa_no_memory(f);
    lower_emit(f, IR_OP_NOTE, IR_VOID, 1, &v, 0)->imm = reg;
    return v;
}

void lower_reg_write(struct lower_fn *f, uint32_t reg, struct ir_value *v)
{
    assert(ssa_is_writer(f, f->b.block->id, reg));
    if (f->job->module->has_notes && reg < f->ptx->nregs)
        v = ssa_note(f, reg, v);
    ssa_define(f, f->b.block->id, reg, v);
}

/* Reading may make more phis: the list grows while it is worked off. */
enum hd_status lower_ssa_finish(struct lower_fn *f)
{
    for (size_t i = 0; i < f->phis.len && f->status == HD_OK; i++) {
        struct lower_phi p = f->phis.at[i];
        assert(f->job->module->arena.failed || p.phi->nsrc == p.phi->block->npreds);
        for (uint32_t s = 0; s < p.phi->nsrc; s++)
            p.phi->src[s] = ssa_read_at(f, p.phi->block->preds[s]->id, p.reg);
    }
    for (size_t i = 0; i < f->phis.len && f->job->module->has_notes; i++)
        if (f->phis.at[i].reg < f->ptx->nregs) {
            /* From a join on the register is the phi. */
            struct ir_builder b = {.func = f->ir, .block = f->phis.at[i].phi->block};
            struct ir_instr *first = f->phis.at[i].phi;

            while (first->op == IR_OP_PHI || first->op == IR_OP_NOTE)
                first = first->next;
            b.before = first;
            ir_build_instr(&b, IR_OP_NOTE, IR_VOID, 1, f->phis.at[i].phi->dst, 0)->imm =
                IR_NOTE_JOIN | f->phis.at[i].reg;
        }
    return f->status;
}
