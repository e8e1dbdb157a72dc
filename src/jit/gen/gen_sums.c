/*
 * Sums of matrix products that stay where they are.
 *
 * In the loops that products are for, sums are phis to which products add, and the results are what
 * the phis are in the next turn. A large tile is more than all vector registers, so all of it would
 * go through memory again and again: from the frame at the start of a region, to the area of the
 * products, back, and to the frame. Instead a phi and the result that takes its turn share their
 * slots, registers of a tile one after the other, and products are made in place.
 *
 * They can share them as nobody but the product reads the phi, which is over when the result is
 * there; and all living lanes are together, so none keeps an old result while others go on.
 *
 * What ldmatrix loads for products has slots one after the other, too, which it fills itself.
 */
#include "jit/gen/gen_flow.h"
#include "jit/gen/gen_products.h"

#include <assert.h>

static const struct ir_instr *only_user(struct gen *g, const struct ir_value *v)
{
    return gen_used_once(g, v) ? g->uses.users[g->uses.first[v->id]] : NULL;
}

/* All of a tile are phis of one block that this instruction alone reads. */
static bool are_phis_of(struct gen *g, struct ir_value *const *c, unsigned n,
                        const struct ir_instr *product)
{
    for (unsigned i = 0; i < n; i++) {
        const struct ir_instr *phi = c[i]->instr;
        if (!phi || phi->op != IR_OP_PHI || phi->block != c[0]->instr->block ||
            g->slots[c[i]->id].ptr[0] || only_user(g, c[i]) != product ||
            gen_shape(g, c[i])->kind != IR_SHAPE_VARYING)
            return false;
    }
    return true;
}

/* Results of the product that alone adds to these; NULL: they go elsewhere. */
static struct ir_value *const *next_sums(struct gen *g, struct ir_value *const *d, unsigned n)
{
    const struct ir_instr *user = only_user(g, d[0]), *from = d[0]->instr;
    if (!user || user->op != IR_OP_MMA || user->block != from->block ||
        !gen_is_made_of_tiles(ir_ext_mma(user)) || gen_tile_sums(ir_ext_mma(user)) != n)
        return NULL;
    const struct ir_mma *mma = ir_ext_mma(user);
    struct ir_value *const *c = user->src + ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b');
    for (unsigned t = 0; t < gen_tiles(mma); t++) {
        unsigned i = 0;
        while (i < n && c[t * n + i] == d[i] && only_user(g, d[i]) == user)
            i++;
        if (i == n)
            return user->dst + t * n;
    }
    return NULL;
}

/* Is each what the phi of the same number becomes, on the same way? */
static bool take_turns(struct gen *g, struct ir_value *const *c, struct ir_value *const *d,
                       unsigned n)
{
    const struct ir_instr *phi = c[0]->instr;
    uint32_t p = 0;
    while (p < phi->nsrc && phi->src[p] != d[0])
        p++;
    for (unsigned i = 0; i < n; i++) {
        if (p == phi->nsrc || c[i]->instr->src[p] != d[i] || g->slots[d[i]->id].ptr[0] ||
            gen_shape(g, d[i])->kind != IR_SHAPE_VARYING)
            return false;
    }
    return true;
}

static bool lanes_are_together(struct gen *g, const struct ir_block *b)
{
    return !g->nodes[g->node_of_block[b->id]].divergent;
}

/* The frame is there anyway where warps stop. */
static LLVMValueRef new_place(struct gen *g, unsigned n)
{
    if (g->is_kernel && g->unit->facts.has_barrier)
        return gen_gep(g, g->frame, gen_frame_alloc(g, (uint64_t)n * GEN_REGISTER_B, 64));
    return gen_alloca(g, LLVMArrayType2(g->t->i8, (uint64_t)n * GEN_REGISTER_B), 64, "");
}

static void share(struct gen *g, struct ir_value *const *c, struct ir_value *const *d, unsigned n)
{
    LLVMValueRef tile = new_place(g, n);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned h = 0; h < 2; h++) {
            LLVMValueRef at =
                h || i ? gen_gep(g, tile, i * GEN_REGISTER_B + h * GEN_REGISTER_B / 2) : tile;
            g->slots[c[i]->id].ptr[h] = g->slots[d[i]->id].ptr[h] = at;
        }
        g->place_of[c[i]->id] = g->place_of[d[i]->id] = GEN_SHARED;
    }
}

static void tile_find(struct gen *g, const struct ir_instr *product, struct ir_value *const *c,
                      struct ir_value *const *d, unsigned n)
{
    if (!are_phis_of(g, c, n, product) || !lanes_are_together(g, c[0]->instr->block))
        return;
    for (struct ir_value *const *next = d; next; next = next_sums(g, d, n))
        d = next;
    if (take_turns(g, c, d, n))
        share(g, c, d, n);
}

static void product_find(struct gen *g, const struct ir_instr *in)
{
    const struct ir_mma *mma = ir_ext_mma(in);
    if (!gen_is_made_of_tiles(mma) || !lanes_are_together(g, in->block))
        return;
    const unsigned n = gen_tile_sums(mma);
    struct ir_value *const *c = in->src + ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b');
    for (unsigned t = 0; t < gen_tiles(mma); t++)
        tile_find(g, in, c + t * n, in->dst + t * n, n);
}

/* ---- ldmatrix */

/* Does a product read it? */
static bool is_factor(const struct gen *g, const struct ir_value *v)
{
    for (uint32_t u = g->uses.first[v->id]; u < g->uses.first[v->id + 1]; u++) {
        if (g->uses.users[u]->op == IR_OP_MMA)
            return true;
    }
    return false;
}

static void loaded_find(struct gen *g, const struct ir_instr *in)
{
    if (!is_factor(g, in->dst[0]) || !lanes_are_together(g, in->block))
        return;
    for (unsigned i = 0; i < in->ndst; i++) {
        if (gen_shape(g, in->dst[i])->kind != IR_SHAPE_VARYING ||
            (g->shapes.temporal && g->shapes.temporal[in->dst[i]->id]))
            return;
    }
    LLVMTypeRef type = LLVMArrayType2(g->t->i8, (uint64_t)in->ndst * GEN_REGISTER_B);
    LLVMValueRef place = gen_alloca(g, type, 64, "");
    for (unsigned i = 0; i < in->ndst; i++) {
        for (unsigned h = 0; h < 2; h++)
            g->slots[in->dst[i]->id].ptr[h] =
                gen_gep(g, place, i * GEN_REGISTER_B + h * GEN_REGISTER_B / 2);
        g->place_of[in->dst[i]->id] = GEN_LOADED;
    }
}

static bool is_loaded(const struct gen *g, const struct ir_value *v)
{
    return g->place_of && g->place_of[v->id] == GEN_LOADED;
}

LLVMValueRef gen_loaded_place(const struct gen *g, const struct ir_instr *in)
{
    return is_loaded(g, in->dst[0]) ? g->slots[in->dst[0]->id].ptr[0] : NULL;
}

LLVMValueRef gen_fragment_place(struct gen *g, struct ir_value *const *reg, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!is_loaded(g, reg[i]) || reg[i]->instr != reg[0]->instr ||
            reg[i]->index != reg[0]->index + i)
            return NULL;
    }
    return g->slots[reg[0]->id].ptr[0];
}

void gen_places_find(struct gen *g)
{
    if (!gen_does(g, GEN_PASS_SUMS) || g->dispatch || gen_pairs(g) || !gen_uses_find(g))
        return;
    g->place_of = hd_arena_array(&g->arena, enum gen_place_of, g->func->nvalues + 1);
    for (uint32_t b = 0; g->place_of && b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b]) {
            if (in->op == IR_OP_MMA)
                product_find(g, in);
            if (in->op == IR_OP_LDMATRIX)
                loaded_find(g, in);
        }
    }
}

bool gen_has_place(const struct gen *g, const struct ir_value *v)
{
    return g->place_of && g->place_of[v->id] != GEN_PLACED_BY_SLOTS;
}

bool gen_is_in_place(const struct gen *g, const struct ir_value *v)
{
    return g->place_of && g->place_of[v->id] == GEN_SHARED;
}

bool gen_have_same_place(const struct gen *g, const struct ir_value *a, const struct ir_value *b)
{
    return gen_is_in_place(g, a) && g->slots[a->id].ptr[0] == g->slots[b->id].ptr[0];
}

LLVMValueRef gen_sums_place(struct gen *g, struct ir_value *const *c, struct ir_value *const *d,
                            unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!gen_have_same_place(g, c[i], d[i]))
            return NULL;
    }
    return g->slots[c[0]->id].ptr[0];
}

void gen_place_changed(struct gen *g, struct ir_value *const *d, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g->generated[d[i]->id] = true;
        g->cache_epoch[d[i]->id] = 0; /* who reads it reads its slot */
    }
}
