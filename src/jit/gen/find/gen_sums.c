/*
 * Sums of matrix products that stay where they are.
 *
 * A product adds to sums that nobody reads again; in loops they are phis, and its results are what
 * the phis are in the next iteration. A large tile is more than all vector registers, so all of it
 * would go through memory again and again: from the frame at the start of a region, to the area of
 * the products, back, and to the frame. Instead all that a tile becomes shares its slots, registers
 * one after the other, and products are made in place.
 *
 * Values can share a place when none of them is live where another one is made. Lanes have to be
 * together there: one that left a loop would keep its result while others go on.
 *
 * What ldmatrix loads for products has slots one after the other, too, which it fills itself.
 */
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/op/gen_products.h"

#include <assert.h>
#include <string.h>

bool gen_is_made_of_tiles(const struct ir_mma *mma)
{
    const unsigned others = 1 << IR_MMA_SPARSE | 1 << IR_MMA_QUADS | 1 << IR_MMA_XOR |
                            1 << IR_MMA_AND | 1 << IR_MMA_MINUS | 1 << IR_MMA_SAT |
                            1 << IR_MMA_A_WINDOW | 1 << IR_MMA_B_WINDOW;
    if (mma->a == IR_E2M1 && !(mma->flags >> IR_MMA_BYTES & 1))
        return false;
    return !(mma->flags & others) && !mma->scales && mma->c == mma->d &&
           mma->m % GEN_TILE_ROWS == 0 && mma->n % GEN_TILE_COLUMNS == 0 &&
           ir_mma_register_bits(mma) == 32 && gen_tile_a(mma) <= 4;
}

enum { SUMS_MAX = 4, WEB_MAX = 16 };

struct tile {
    struct ir_value *v[SUMS_MAX];
};

/* Tiles that are to share a place. */
struct web {
    struct tile tile[WEB_MAX];
    unsigned ntiles, n; /* n: registers of a tile */
};

static bool sums_lanes_are_together(struct gen *g, const struct ir_block *b)
{
    return !g->nodes[g->node_of_block[b->id]].divergent;
}

/* ---- do two values share a place? */

static bool sums_holds(struct ir_live_set set, uint32_t id)
{
    uint32_t low = 0;
    for (uint32_t n = set.n; n > 1; n -= n / 2) {
        if (set.ids[low + n / 2] <= id)
            low += n / 2;
    }
    return set.n && set.ids[low] == id;
}

/* Does `later` come behind `in`, in its block? */
static bool sums_is_behind(const struct ir_instr *in, const struct ir_instr *later)
{
    while (in && in != later)
        in = in->next;
    return in != NULL;
}

/* Is `v` needed behind `in`, at a place of its block where it is made already? */
static bool sums_is_live_behind(struct gen *g, const struct ir_value *v, const struct ir_instr *in)
{
    const uint32_t b = in->block->id;
    if (v->instr->block == in->block ? sums_is_behind(in->next, v->instr)
                                     : !sums_holds(ir_live_in(&g->live, b), v->id))
        return false;
    if (sums_holds(ir_live_out(&g->live, b), v->id))
        return true;
    for (uint32_t u = g->uses.first[v->id]; u < g->uses.first[v->id + 1]; u++) {
        const struct ir_instr *user = g->uses.users[u];
        if (user->op != IR_OP_PHI && user->block == in->block && sums_is_behind(in->next, user))
            return true;
    }
    return false;
}

/* Phis are made at the start of their block, all at once. */
static bool sums_is_live_where_made(struct gen *g, const struct ir_value *v,
                                    const struct ir_value *made)
{
    const struct ir_instr *in = made->instr;
    if (in->op == IR_OP_PHI)
        return sums_holds(ir_live_in(&g->live, in->block->id), v->id) ||
               (v->instr->op == IR_OP_PHI && v->instr->block == in->block);
    return sums_is_live_behind(g, v, in);
}

static bool sums_go_together(struct gen *g, const struct web *w, const struct tile *a,
                             const struct tile *b)
{
    for (unsigned i = 0; i < w->n; i++) {
        if (sums_is_live_where_made(g, a->v[i], b->v[i]) ||
            sums_is_live_where_made(g, b->v[i], a->v[i]))
            return false;
    }
    return true;
}

/* ---- webs */

/* Phis of one block, or a tile of results of one product, which have no place yet. */
static bool sums_is_tile(struct gen *g, const struct web *w, struct ir_value *const *v)
{
    const struct ir_instr *first = v[0]->instr;
    if (!first || (first->op != IR_OP_PHI && first->op != IR_OP_MMA) ||
        !sums_lanes_are_together(g, first->block))
        return false;
    if (first->op == IR_OP_MMA && (!gen_is_made_of_tiles(ir_ext_mma(first)) ||
                                   gen_tile_sums(ir_ext_mma(first)) != w->n || v[0]->index % w->n))
        return false;
    for (unsigned i = 0; i < w->n; i++) {
        const struct ir_instr *in = v[i]->instr;
        bool fits = first->op == IR_OP_PHI ? in && in->op == IR_OP_PHI && in->block == first->block
                                           : in == first && v[i]->index == v[0]->index + i;
        if (!fits || g->slots[v[i]->id].ptr[0] || gen_shape(g, v[i])->kind != IR_SHAPE_VARYING)
            return false;
    }
    return true;
}

static void sums_tile_add(struct gen *g, struct web *w, struct ir_value *const *v)
{
    struct tile tile = {{NULL}};
    if (w->ntiles == WEB_MAX || !sums_is_tile(g, w, v))
        return;
    for (unsigned i = 0; i < w->n; i++)
        tile.v[i] = v[i];
    for (unsigned t = 0; t < w->ntiles; t++) {
        if (w->tile[t].v[0] == v[0] || !sums_go_together(g, w, &w->tile[t], &tile))
            return;
    }
    w->tile[w->ntiles++] = tile;
}

static struct ir_value *const *first_sum(const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    return in->src + ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b');
}

/* What becomes this tile. */
static void sums_sources_add(struct gen *g, struct web *w, const struct tile *tile)
{
    const struct ir_instr *in = tile->v[0]->instr;
    if (in->op == IR_OP_MMA) {
        sums_tile_add(g, w, first_sum(in) + tile->v[0]->index);
        return;
    }
    for (uint32_t p = 0; p < in->nsrc; p++) {
        struct ir_value *from[SUMS_MAX];
        for (unsigned i = 0; i < w->n; i++)
            from[i] = tile->v[i]->instr->src[p];
        sums_tile_add(g, w, from);
    }
}

/* The phi of a block that is `v` when coming by edge `p`; NULL: none. */
static struct ir_value *sums_phi_of(const struct ir_block *b, uint32_t p, const struct ir_value *v)
{
    for (const struct ir_instr *in = b->first; in && in->op == IR_OP_PHI; in = in->next) {
        if (in->src[p] == v)
            return in->dst[0];
    }
    return NULL;
}

static void sums_phis_add(struct gen *g, struct web *w, const struct tile *tile,
                          const struct ir_block *b)
{
    for (uint32_t p = 0; p < b->npreds; p++) {
        struct ir_value *phi[SUMS_MAX];
        unsigned i = 0;
        while (i < w->n && (phi[i] = sums_phi_of(b, p, tile->v[i])))
            i++;
        if (i == w->n)
            sums_tile_add(g, w, phi);
    }
}

/* What this tile becomes. */
static void sums_results_add(struct gen *g, struct web *w, const struct tile *tile)
{
    const struct ir_value *v = tile->v[0];
    for (uint32_t u = g->uses.first[v->id]; u < g->uses.first[v->id + 1]; u++) {
        const struct ir_instr *in = g->uses.users[u];
        if (in->op == IR_OP_PHI)
            sums_phis_add(g, w, tile, in->block);
        if (in->op != IR_OP_MMA || !gen_is_made_of_tiles(ir_ext_mma(in)) ||
            gen_tile_sums(ir_ext_mma(in)) != w->n)
            continue;
        for (unsigned t = 0; t < gen_tiles(ir_ext_mma(in)); t++) {
            if (!memcmp(first_sum(in) + t * w->n, tile->v, w->n * sizeof(tile->v[0])))
                sums_tile_add(g, w, in->dst + t * w->n);
        }
    }
}

/* The frame is there anyway where warps stop. */
static LLVMValueRef sums_new_slots(struct gen *g, unsigned n)
{
    if (g->is_kernel && g->unit->facts.has_barrier)
        return gen_gep(g, g->frame, gen_frame_alloc(g, (uint64_t)n * GEN_REGISTER_B, 64));
    return gen_alloca(g, LLVMArrayType2(g->t->i8, (uint64_t)n * GEN_REGISTER_B), 64, "");
}

static void sums_web_slots(struct gen *g, const struct web *w)
{
    LLVMValueRef place = sums_new_slots(g, w->n);
    gen_fired(g, GEN_PASS_SUMS);
    for (unsigned i = 0; i < w->n; i++) {
        for (int h = 0; h < gen_halves(g); h++) {
            uint64_t at_B = i * GEN_REGISTER_B + h * GEN_REGISTER_B / 2;
            LLVMValueRef at = at_B ? gen_gep(g, place, at_B) : place;
            for (unsigned t = 0; t < w->ntiles; t++)
                g->slots[w->tile[t].v[i]->id].ptr[h] = at;
        }
        for (unsigned t = 0; t < w->ntiles; t++)
            g->slot_owner[w->tile[t].v[i]->id] = GEN_SLOT_SHARED;
    }
}

/* Only loops repeat the trips to memory. */
static bool sums_has_phi(const struct web *w)
{
    for (unsigned t = 0; t < w->ntiles; t++) {
        if (w->tile[t].v[0]->instr->op == IR_OP_PHI)
            return true;
    }
    return false;
}

static void sums_web_find(struct gen *g, struct ir_value *const *d, unsigned n)
{
    struct web w = {.n = n};
    sums_tile_add(g, &w, d);
    for (unsigned t = 0; t < w.ntiles; t++) {
        const struct tile tile = w.tile[t];
        sums_sources_add(g, &w, &tile);
        sums_results_add(g, &w, &tile);
    }
    if (w.ntiles > 1 && sums_has_phi(&w))
        sums_web_slots(g, &w);
}

static void sums_product_find(struct gen *g, const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    if (!gen_is_made_of_tiles(mma))
        return;
    const unsigned n = gen_tile_sums(mma);
    for (unsigned t = 0; t < gen_tiles(mma); t++)
        sums_web_find(g, in->dst + t * n, n);
}

/* ---- ldmatrix */

/* Does a product read it? */
static bool sums_is_factor(const struct gen *g, const struct ir_value *v)
{
    for (uint32_t u = g->uses.first[v->id]; u < g->uses.first[v->id + 1]; u++) {
        if (g->uses.users[u]->op == IR_OP_MMA)
            return true;
    }
    return false;
}

static void sums_loaded_find(struct gen *g, const struct ir_instr *in)
{
    if (!sums_is_factor(g, in->dst[0]) || !sums_lanes_are_together(g, in->block))
        return;
    for (unsigned i = 0; i < in->ndst; i++) {
        if (gen_shape(g, in->dst[i])->kind != IR_SHAPE_VARYING ||
            (g->shapes.temporal && g->shapes.temporal[in->dst[i]->id]))
            return;
    }
    LLVMTypeRef type = LLVMArrayType2(g->t->i8, (uint64_t)in->ndst * GEN_REGISTER_B);
    LLVMValueRef place = gen_alloca(g, type, 64, "");
    gen_fired(g, GEN_PASS_SUMS);
    for (unsigned i = 0; i < in->ndst; i++) {
        for (int h = 0; h < gen_halves(g); h++)
            g->slots[in->dst[i]->id].ptr[h] =
                gen_gep(g, place, i * GEN_REGISTER_B + h * GEN_REGISTER_B / 2);
        g->slot_owner[in->dst[i]->id] = GEN_SLOT_LOADED;
    }
}

static bool sums_is_loaded(const struct gen *g, const struct ir_value *v)
{
    return g->slot_owner && g->slot_owner[v->id] == GEN_SLOT_LOADED;
}

LLVMValueRef gen_loaded_slot(const struct gen *g, const struct ir_instr *in)
{
    return sums_is_loaded(g, in->dst[0]) ? g->slots[in->dst[0]->id].ptr[0] : NULL;
}

LLVMValueRef gen_fragment_slot(struct gen *g, struct ir_value *const *reg, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!sums_is_loaded(g, reg[i]) || reg[i]->instr != reg[0]->instr ||
            reg[i]->index != reg[0]->index + i)
            return NULL;
    }
    return g->slots[reg[0]->id].ptr[0];
}

void gen_sums_find(struct gen *g)
{
    if (!gen_does(g, GEN_PASS_SUMS) || g->dispatch || !gen_is_warp(g) || !gen_uses_find(g))
        return;
    g->slot_owner = hd_arena_array(&g->arena, enum gen_slot_owner, g->func->nvalues + 1);
    for (uint32_t b = 0; g->slot_owner && b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (in->op == IR_OP_MMA)
                sums_product_find(g, in);
            if (in->op == IR_OP_LDMATRIX)
                sums_loaded_find(g, in);
        }
    }
}

bool gen_slot_is_given(const struct gen *g, const struct ir_value *v)
{
    return g->slot_owner && g->slot_owner[v->id] != GEN_SLOT_OWN;
}

bool gen_slot_is_shared(const struct gen *g, const struct ir_value *v)
{
    return g->slot_owner && g->slot_owner[v->id] == GEN_SLOT_SHARED;
}

bool gen_slot_is_same(const struct gen *g, const struct ir_value *a, const struct ir_value *b)
{
    return gen_slot_is_shared(g, a) && g->slots[a->id].ptr[0] == g->slots[b->id].ptr[0];
}

LLVMValueRef gen_sums_slot(struct gen *g, struct ir_value *const *c, struct ir_value *const *d,
                           unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!gen_slot_is_same(g, c[i], d[i]))
            return NULL;
    }
    return g->slots[c[0]->id].ptr[0];
}

void gen_slot_changed(struct gen *g, struct ir_value *const *d, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g->generated[d[i]->id] = true;
        g->cache_epoch[d[i]->id] = 0; /* who reads it reads its slot */
    }
}
