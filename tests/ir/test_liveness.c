/* Liveness against the dense data-flow equations, and in a function that dense sets do not fit. */
#include "tap.h"

#include "analysis/analysis.h"

enum { MAX_BLOCKS = 24, MAX_VALUES = 256 };

static struct ir_module *module_create(void)
{
    struct ir_module *module = NULL;

    if (ir_module_create("t", &module) != HD_OK)
        exit(1);
    return module;
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* Any values anywhere: liveness is defined without dominance. */
static struct ir_func *random_func(struct ir_module *module, uint64_t *seed)
{
    struct ir_func *func = ir_func_create(module, "f");
    struct ir_builder b = {.func = func};
    enum ir_type args[] = {IR_PRED, IR_PRED};
    struct ir_value *values[MAX_VALUES];
    uint32_t n = 2, nblocks = 2 + below(seed, MAX_BLOCKS - 2);

    ir_func_set_proto(func, 2, args, 0, NULL);
    values[0] = func->args[0];
    values[1] = func->args[1];
    for (uint32_t i = 0; i < nblocks; i++)
        ir_block_create(func);
    for (uint32_t i = 0; i < nblocks; i++) {
        struct ir_block *next = func->blocks[1 + below(seed, nblocks - 1)];
        b.block = func->blocks[i];
        for (uint32_t k = below(seed, 4); k > 0; k--) {
            struct ir_value *a = values[below(seed, n)];
            values[n++] = ir_build1(&b, IR_OP_NOT, IR_PRED, a);
        }
        if (below(seed, 8))
            ir_build_cbr(&b, values[below(seed, n)], next,
                         func->blocks[1 + below(seed, nblocks - 1)]);
        else
            ir_build_instr(&b, IR_OP_EXIT, IR_VOID, 0, NULL, 0);
    }
    ir_func_link_cfg(func);
    for (uint32_t i = 1; i < nblocks; i++) {
        struct ir_instr *phi = below(seed, 2) ? ir_build_phi(func->blocks[i], IR_PRED) : NULL;
        for (uint32_t p = 0; phi && p < phi->nsrc; p++)
            phi->src[p] = values[below(seed, n)];
    }
    return func;
}

typedef bool dense[MAX_BLOCKS][MAX_VALUES];

static bool dense_block(const struct ir_block *block, dense in, dense out, uint32_t nvalues)
{
    bool live[MAX_VALUES], changed;

    for (uint32_t s = 0; s < block->nsuccs; s++) {
        const struct ir_block *to = block->succs[s];
        for (uint32_t v = 0; v < nvalues; v++)
            out[block->id][v] |= in[to->id][v];
        for (const struct ir_instr *phi = to->first; phi->op == IR_OP_PHI; phi = phi->next)
            for (uint32_t p = 0; p < to->npreds; p++)
                if (to->preds[p] == block)
                    out[block->id][phi->src[p]->id] = true;
    }
    memcpy(live, out[block->id], sizeof(live));
    for (const struct ir_instr *in_ = block->last; in_; in_ = in_->prev) {
        for (uint32_t d = 0; d < in_->ndst; d++)
            live[in_->dst[d]->id] = false;
        for (uint32_t s = 0; s < in_->nsrc && in_->op != IR_OP_PHI; s++)
            live[in_->src[s]->id] = true;
    }
    changed = memcmp(live, in[block->id], nvalues) != 0;
    memcpy(in[block->id], live, sizeof(live));
    return changed;
}

static unsigned differ(struct ir_live_set set, const bool *want, uint32_t nvalues)
{
    unsigned bad = 0, n = 0;

    for (uint32_t i = 0; i < set.n; i++)
        bad += !want[set.ids[i]] || (i && set.ids[i] <= set.ids[i - 1]);
    for (uint32_t v = 0; v < nvalues; v++)
        n += want[v];
    return bad + (n != set.n);
}

static void test_random(void)
{
    unsigned bad = 0, tried = 0;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        static dense in, out;
        struct ir_module *module = module_create();
        uint64_t state = seed;
        struct ir_func *func = random_func(module, &state);
        struct ir_liveness live;
        bool changed = true;
        memset(in, 0, sizeof(in));
        memset(out, 0, sizeof(out));
        while (changed) {
            changed = false;
            for (uint32_t i = func->nblocks; i-- > 0;)
                changed |= dense_block(func->blocks[i], in, out, func->nvalues);
        }
        if (ir_liveness_compute(func, &module->arena, &live) != HD_OK)
            exit(1);
        for (uint32_t i = 0; i < func->nblocks; i++, tried++) {
            bad += differ(ir_live_in(&live, i), in[i], func->nvalues);
            bad += differ(ir_live_out(&live, i), out[i], func->nvalues);
        }
        ir_module_destroy(module);
    }
    eq_u64(bad, 0, "liveness of random functions");
    ok(tried > 5000, "blocks compared: %u", tried);
}

/* 50,000 blocks, 300,000 values that live for two blocks each, one that lives throughout. */
static void test_large(void)
{
    enum { BLOCKS = 50000, PER_BLOCK = 6 };
    struct ir_module *module = module_create();
    struct ir_func *func = ir_func_create(module, "f");
    struct ir_builder b = {.func = func};
    struct ir_value *whole = NULL, *last[PER_BLOCK] = {0};
    struct ir_liveness live;
    size_t total = 0;

    for (uint32_t i = 0; i < BLOCKS; i++)
        ir_block_create(func);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        b.block = func->blocks[i];
        for (uint32_t k = 0; k < PER_BLOCK; k++)
            last[k] = i ? ir_build2(&b, IR_OP_ADD, IR_B32, last[k], whole)
                        : ir_build_const(&b, IR_B32, k);
        if (!i)
            whole = last[0];
        if (i + 1 < BLOCKS)
            ir_build_br(&b, func->blocks[i + 1]);
        else
            ir_build_instr(&b, IR_OP_EXIT, IR_VOID, 0, NULL, 0);
    }
    ir_func_link_cfg(func);
    eq_u64(ir_liveness_compute(func, &module->arena, &live), HD_OK, "a large function");
    for (uint32_t i = 0; i < BLOCKS; i++)
        total += ir_live_in(&live, i).n;
    eq_u64(total, (size_t)(BLOCKS - 1) * (PER_BLOCK + 1) - 1, "as many entries as are live");
    ir_module_destroy(module);
}

int main(void)
{
    test_random();
    test_large();
    return done();
}
