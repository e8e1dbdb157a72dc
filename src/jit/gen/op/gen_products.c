/*
 * Matrix products that stand together (ir_opt_products): one call of the runtime makes them all, so
 * that each fragment is prepared once and sums stay in registers from product to product.
 *
 * A product of larger shape is one of tiles of 16 x 8. Tiles that add up products one after the
 * other are a chain; two chains with the same fragments of a are a unit (jit/jit_products.h).
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <string.h>

#include "jit/gen/op/gen_products.h"
#include "jit/jit_products.h"

enum { ROWS = GEN_TILE_ROWS, COLUMNS = GEN_TILE_COLUMNS, REGISTER_B = GEN_REGISTER_B };

struct fragment {
    struct ir_value *const *reg;
    unsigned n;
};

struct fragments {
    struct fragment of[JIT_PRODUCTS_MAX];
    unsigned n;
};

/* A tile of sums: what it starts with, where it ends, and in between. */
struct chain {
    struct ir_value *const *c;
    struct ir_value *const *d;
    uint16_t a[JIT_PRODUCTS_MAX], b[JIT_PRODUCTS_MAX];
    unsigned nsteps;
    bool done; /* in a unit */
};

struct gen_run {
    const struct ir_mma *mma;
    struct fragments a, b;
    struct chain chain[JIT_PRODUCTS_MAX];
    unsigned nchains, nproducts, ntiles;
};

static uint64_t products_area_B(const struct gen_run *r)
{
    return sizeof(struct jit_products_area) +
           REGISTER_B * ((uint64_t)r->a.n * gen_tile_a(r->mma) + r->b.n * gen_tile_b(r->mma) +
                         (uint64_t)r->nchains * gen_tile_sums(r->mma));
}

static unsigned products_fragment_number(struct fragments *of, struct ir_value *const *reg,
                                         unsigned n)
{
    for (unsigned i = 0; i < of->n; i++) {
        if (!memcmp(of->of[i].reg, reg, n * sizeof(*reg)))
            return i;
    }
    assert(of->n < JIT_PRODUCTS_MAX);
    of->of[of->n] = (struct fragment){reg, n};
    return of->n++;
}

/* Is one of these values a result of the run? */
static bool products_is_made_here(const struct gen_run *r, const struct ir_instr *first,
                                  struct ir_value *const *reg, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct ir_instr *from = reg[i]->instr, *in = first;
        for (unsigned k = 0; from && from->op == IR_OP_MMA && k < r->nproducts;
             k++, in = in->next) {
            if (in == from)
                return true;
        }
    }
    return false;
}

/* The chain that has these sums, which nobody else wants; NULL: none. */
static struct chain *products_chain_with(struct gen *g, struct gen_run *r,
                                         struct ir_value *const *c)
{
    unsigned n = gen_tile_sums(r->mma);
    for (unsigned i = 0; i < r->nchains; i++) {
        struct chain *chain = &r->chain[i];
        if (memcmp(chain->d, c, n * sizeof(*c)))
            continue;
        for (unsigned k = 0; k < n; k++) {
            if (!gen_used_once(g, c[k]))
                return NULL;
        }
        return chain;
    }
    return NULL;
}

/* Is there room for another product? */
static bool products_has_room(const struct gen_run *r)
{
    const struct ir_mma *mma = r->mma;
    const unsigned rows = mma->m / ROWS, columns = mma->n / COLUMNS, tiles = rows * columns;
    const unsigned registers =
        ir_mma_registers(mma, 'a') + ir_mma_registers(mma, 'b') + ir_mma_registers(mma, 'c');
    return r->ntiles + tiles <= JIT_PRODUCTS_MAX && r->a.n + rows <= JIT_PRODUCTS_A_MAX &&
           r->b.n + columns <= JIT_PRODUCTS_B_MAX &&
           products_area_B(r) + (uint64_t)registers * REGISTER_B <= JIT_PRODUCTS_AREA_B;
}

/* Adds the tiles of a product; false: it does not fit, and the run ends in front of it. */
static bool product_add(struct gen *g, struct gen_run *r, const struct ir_instr *first,
                        const struct ir_instr *in)
{
    const struct ir_mma *mma = r->mma;
    const unsigned columns = mma->n / COLUMNS, tiles = mma->m / ROWS * columns;
    const unsigned na = ir_mma_registers(mma, 'a'), nb = ir_mma_registers(mma, 'b');
    const unsigned nsums = gen_tile_sums(mma);
    struct ir_value *const *c = in->src + na + nb;
    if (!products_has_room(r) || products_is_made_here(r, first, in->src, na + nb))
        return false;
    for (unsigned i = 0; i < tiles; i++) {
        if (products_is_made_here(r, first, c + i * nsums, nsums) &&
            !products_chain_with(g, r, c + i * nsums))
            return false;
    }
    for (unsigned i = 0; i < tiles; i++) {
        struct chain *chain = products_chain_with(g, r, c + i * nsums);
        if (!chain) {
            chain = &r->chain[r->nchains++];
            chain->c = c + i * nsums, chain->nsteps = 0, chain->done = false;
        }
        chain->d = in->dst + i * nsums;
        chain->a[chain->nsteps] = (uint16_t)products_fragment_number(
            &r->a, in->src + i / columns * gen_tile_a(mma), gen_tile_a(mma));
        chain->b[chain->nsteps++] = (uint16_t)products_fragment_number(
            &r->b, in->src + na + i % columns * gen_tile_b(mma), gen_tile_b(mma));
    }
    r->nproducts++, r->ntiles += tiles;
    return true;
}

static bool products_is_alike(const struct ir_instr *in, const struct ir_mma *mma)
{
    return in->op == IR_OP_MMA && !memcmp(ir_ext_mma(in), mma, sizeof(*mma));
}

/* Returns the last product of the run. */
static const struct ir_instr *products_run_find(struct gen *g, struct gen_run *r,
                                                const struct ir_instr *first)
{
    const struct ir_instr *end = g->nodes[g->cur].end, *last = first;
    r->mma = ir_ext_mma(first);
    r->a.n = r->b.n = r->nchains = r->nproducts = r->ntiles = 0;
    for (const struct ir_instr *in = first; in && in != end && products_is_alike(in, r->mma);
         in = in->next) {
        if (!product_add(g, r, first, in))
            break;
        last = in;
    }
    assert(r->nproducts);
    return last;
}

/* ---- the list */

enum { HEAD = sizeof(struct jit_products) / sizeof(uint16_t) };

struct list {
    uint16_t number[HEAD + JIT_PRODUCTS_MAX * 8];
    unsigned n;
};

static void products_put(struct list *list, unsigned number)
{
    assert(list->n < HD_COUNT_OF(list->number));
    list->number[list->n++] = (uint16_t)number;
}

/* The next chain with the same fragments of a; NULL: none. */
static struct chain *products_partner(struct gen_run *r, const struct chain *chain)
{
    for (struct chain *other = r->chain; other < r->chain + r->nchains; other++) {
        if (other != chain && !other->done && other->nsteps == chain->nsteps &&
            !memcmp(other->a, chain->a, chain->nsteps * sizeof(chain->a[0])))
            return other;
    }
    return NULL;
}

static void products_unit_put(struct list *list, struct gen_run *r, struct chain *chain)
{
    chain->done = true;
    struct chain *other = products_partner(r, chain), *second = other ? other : chain;
    second->done = true;
    products_put(list, other ? 2 : 1);
    products_put(list, chain->nsteps);
    products_put(list, (unsigned)(chain - r->chain));
    products_put(list, (unsigned)(second - r->chain));
    for (unsigned i = 0; i < chain->nsteps; i++)
        products_put(list, chain->a[i]), products_put(list, chain->b[i]),
            products_put(list, second->b[i]);
}

static LLVMValueRef products_list_constant(struct gen *g, struct gen_run *r)
{
    struct list list = {.n = 0};
    LLVMValueRef number[HD_COUNT_OF(list.number)];
    unsigned nunits = 0;
    products_put(&list, r->a.n), products_put(&list, r->b.n), products_put(&list, r->nchains),
        products_put(&list, 0);
    products_put(&list, gen_tile_a(r->mma)), products_put(&list, gen_tile_b(r->mma));
    products_put(&list, gen_tile_sums(r->mma)), products_put(&list, 0);
    for (unsigned i = 0; i < r->nchains; i++) {
        if (!r->chain[i].done)
            products_unit_put(&list, r, &r->chain[i]), nunits++;
    }
    list.number[3] = (uint16_t)nunits;
    for (unsigned i = 0; i < list.n; i++)
        number[i] = gen_ci(g->t->i16, list.number[i]);
    LLVMValueRef all = LLVMConstArray2(g->t->i16, number, list.n);
    LLVMValueRef global = LLVMAddGlobal(g->unit->mod, LLVMTypeOf(all), "products");
    LLVMSetInitializer(global, all);
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetAlignment(global, 2);
    return global;
}

/* ---- the call */

/* Stores registers that have no place of their own at *at_B; gives their address to the area. */
static void products_fragments_store(struct gen *g, const struct fragments *of, LLVMValueRef area,
                                     uint64_t address_B, uint64_t *at_B)
{
    for (unsigned i = 0; i < of->n; i++) {
        LLVMValueRef place = gen_fragment_slot(g, of->of[i].reg, of->of[i].n);
        if (!place) {
            place = gen_gep(g, area, *at_B);
            gen_values_store(g, of->of[i].reg, of->of[i].n, IR_B32, place);
            *at_B += (uint64_t)REGISTER_B * of->of[i].n;
        }
        LLVMBuildStore(g->b, place, gen_gep(g, area, address_B + i * sizeof(void *)));
    }
}

static LLVMValueRef area(struct gen *g)
{
    if (!g->products_area)
        g->products_area = gen_alloca(g, LLVMArrayType2(g->t->i8, JIT_PRODUCTS_AREA_B), 64, "");
    return g->products_area;
}

/* A chain's own tile, or the place that its sums share (gen_sums.c). */
static LLVMValueRef products_tile_slots(struct gen *g, const struct gen_run *r,
                                        const struct chain *chain, LLVMValueRef own)
{
    LLVMValueRef shared = gen_sums_slot(g, chain->c, chain->d, gen_tile_sums(r->mma));
    return shared ? shared : own;
}

static void products_tile_finish(struct gen *g, const struct gen_run *r, const struct chain *chain,
                                 LLVMValueRef own)
{
    const unsigned n = gen_tile_sums(r->mma);
    if (gen_sums_slot(g, chain->c, chain->d, n)) {
        gen_slot_changed(g, chain->d, n);
        return;
    }
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef from = gen_gep(g, own, (uint64_t)REGISTER_B * k);
        gen_set(g, chain->d[k], gen_from_array(g, from, IR_B32));
    }
}

static void products_run_make(struct gen *g, struct gen_run *r)
{
    const uint64_t tile_B = (uint64_t)REGISTER_B * gen_tile_sums(r->mma);
    LLVMValueRef at = area(g);
    uint64_t words[2], sums_B = sizeof(struct jit_products_area);
    memcpy(words, r->mma, sizeof(words));
    products_fragments_store(g, &r->a, at, offsetof(struct jit_products_area, a), &sums_B);
    products_fragments_store(g, &r->b, at, offsetof(struct jit_products_area, b), &sums_B);
    for (unsigned i = 0; i < r->nchains; i++) {
        LLVMValueRef own = gen_gep(g, at, sums_B + i * tile_B);
        LLVMValueRef place = products_tile_slots(g, r, &r->chain[i], own);
        if (place == own)
            gen_values_store(g, r->chain[i].c, gen_tile_sums(r->mma), IR_B32, own);
        LLVMBuildStore(g->b, place, gen_gep(g, at, i * sizeof(void *)));
    }
    LLVMValueRef how = gen_mma_how(g);
    LLVMValueRef args[] = {gen_i64(g, words[0]), gen_i64(g, words[1]),         how,
                           gen_mask32(g),        products_list_constant(g, r), at};
    gen_call_rt(g, "jit_rt_products", g->t->void_, args, HD_COUNT_OF(args));
    for (unsigned i = 0; i < r->nchains; i++)
        products_tile_finish(g, r, &r->chain[i], gen_gep(g, at, sums_B + i * tile_B));
}

bool gen_products(struct gen *g, const struct ir_instr *in)
{
    if (g->products_until) { /* made with the first of its run */
        if (in == g->products_until)
            g->products_until = NULL;
        return true;
    }
    if (!gen_does(g, GEN_PASS_PRODUCTS) || !gen_is_made_of_tiles(ir_ext_mma(in)))
        return false;
    if (!g->products && !(g->products = hd_arena_array(&g->arena, struct gen_run, 1)))
        return false;
    const struct ir_instr *last = products_run_find(g, g->products, in);
    g->products_until = last == in ? NULL : last;
    gen_fired(g, GEN_PASS_PRODUCTS);
    products_run_make(g, g->products);
    return true;
}
