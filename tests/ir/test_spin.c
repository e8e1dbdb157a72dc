/* Which loops wait: against the definition on random functions, and in steps on large ones. */
#include "tap.h"

#include "analysis/spin.h"

enum { MAX_BLOCKS = 16, MAX_VALUES = 256 };

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

static struct ir_value *build_read(struct ir_builder *b, struct ir_value *address, enum ir_sem sem)
{
    struct ir_instr *in = ir_build_instr(b, IR_OP_LD, IR_PRED, 1, &address, 1);

    in->mem.sem = sem;
    return in->dst[0];
}

static struct ir_value *build_cas(struct ir_builder *b, struct ir_value *address,
                                  struct ir_value *expected, struct ir_value *value)
{
    struct ir_value *src[] = {address, expected, value};
    struct ir_instr *in = ir_build_instr(b, IR_OP_ATOM, IR_B32, 3, src, 1);

    in->mem.atom = IR_ATOM_CAS;
    return in->dst[0];
}

/* Any values anywhere, as far as the walk is concerned; loops that begin with their headers. */
static struct ir_func *random_func(struct ir_module *module, uint64_t *seed)
{
    struct ir_func *func = ir_func_create(module, "f");
    struct ir_builder b = {.func = func};
    enum ir_type args[] = {IR_PRED, IR_PRED};
    struct ir_value *values[MAX_VALUES];
    uint32_t n = 2, nblocks = 3 + below(seed, MAX_BLOCKS - 3);

    ir_func_set_proto(func, 2, args, 0, NULL);
    values[0] = func->args[0];
    values[1] = func->args[1];
    for (uint32_t i = 0; i < nblocks; i++)
        ir_block_create(func);
    for (uint32_t i = 0; i < nblocks; i++) {
        b.block = func->blocks[i];
        for (uint32_t k = below(seed, 4); k > 0; k--) {
            struct ir_value *a = values[below(seed, n)];
            values[n++] = below(seed, 3)
                              ? ir_build1(&b, IR_OP_NOT, IR_PRED, a)
                              : build_read(&b, a, below(seed, 4) ? IR_SEM_VOLATILE : IR_SEM_WEAK);
        }
        if (i + 1 < nblocks)
            ir_build_cbr(&b, values[n - 1 - below(seed, HD_MIN(n, 5))], func->blocks[i + 1],
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

/* ---- the definition */

static bool in_loop(const struct ir_loops *loops, uint32_t loop, uint32_t block)
{
    uint32_t l = loops->loop_of[block];

    while (l != IR_NO_BLOCK && l != loop)
        l = loops->loops[l].parent;
    return l == loop;
}

/* Adds the conditions of branches; whether something is new. */
static bool add_branches(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                         bool all, bool *set)
{
    bool changed = false;

    for (uint32_t i = loops->loops[loop].header; i <= loops->loops[loop].last; i++) {
        const struct ir_block *block = func->blocks[i];
        if (!in_loop(loops, loop, i) || block->nsuccs < 2)
            continue;
        if (all || !in_loop(loops, loop, block->succs[0]->id) ||
            !in_loop(loops, loop, block->succs[1]->id)) {
            changed |= !set[block->last->src[0]->id];
            set[block->last->src[0]->id] = true;
        }
    }
    return changed;
}

static bool add_operands(const struct ir_func *func, const struct ir_loops *loops, uint32_t loop,
                         const struct ir_instr *in, bool *set)
{
    bool changed = false;
    unsigned inside = 0;

    for (uint32_t s = 0; s < in->nsrc; s++) {
        changed |= !set[in->src[s]->id];
        set[in->src[s]->id] = true;
        inside += in->op == IR_OP_PHI && in_loop(loops, loop, in->block->preds[s]->id);
    }
    return (inside > 1 && add_branches(func, loops, loop, true, set)) || changed;
}

static bool waits_by_definition(const struct ir_func *func, const struct ir_loops *loops,
                                uint32_t loop, const struct ir_instr *read)
{
    bool set[MAX_VALUES] = {false}, changed = true;

    if (read->op != IR_OP_LD || read->mem.sem != IR_SEM_VOLATILE)
        return false;
    add_branches(func, loops, loop, false, set);
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < func->nblocks; i++) {
            if (!in_loop(loops, loop, i))
                continue;
            ir_foreach_instr(in, func->blocks[i])
                if (in->ndst && set[in->dst[0]->id])
                    changed |= add_operands(func, loops, loop, in, set);
        }
    }
    return set[read->dst[0]->id];
}

static void test_random(void)
{
    unsigned bad = 0, marks = 0, yes = 0, no = 0;

    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct ir_module *module = module_create();
        uint64_t state = seed;
        struct ir_func *func = random_func(module, &state);
        struct ir_dom dom;
        struct ir_loops loops;
        struct ir_spins spins;
        bool suspect[MAX_BLOCKS] = {false};

        if (ir_dom_compute(func, &module->arena, &dom) != HD_OK ||
            ir_loops_compute(func, &dom, &module->arena, &loops) != HD_OK ||
            !ir_spins_init(&spins, func, &loops, &module->arena))
            exit(1);
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(in, func->blocks[i])
                for (uint32_t l = loops.loop_of[i]; l != IR_NO_BLOCK; l = loops.loops[l].parent) {
                    bool want = waits_by_definition(func, &loops, l, in);
                    bad += ir_spin_waits(func, &loops, l, in, &module->arena) != want;
                    bad += ir_spins_wait(&spins, l, in) != want;
                    suspect[l] |= want;
                }
        ir_loops_mark_spins(func, &module->arena, &loops);
        for (uint32_t l = 0; l < loops.nloops; l++) {
            marks += loops.loops[l].spin_suspect != suspect[l];
            yes += suspect[l];
            no += !suspect[l];
        }
        ir_module_destroy(module);
    }
    eq_u64(bad, 0, "reads of random functions, one by one and with others between");
    eq_u64(marks, 0, "their loops");
    ok(yes > 500 && no > 500, "of which %u wait and %u do not", yes, no);
}

/* ---- steps */

enum { READS = 4 };

/* Loops one behind the other inside one loop, each with reads of which none matters, or a swap. */
static uint64_t steps_of(uint32_t n, bool swaps)
{
    struct ir_module *module = module_create();
    struct ir_func *func = ir_func_create(module, "f");
    struct ir_builder b = {.func = func};
    enum ir_type args[] = {IR_PRED, IR_B64, IR_B32};
    struct ir_dom dom;
    struct ir_loops loops;
    struct ir_spins spins;
    unsigned suspects = 0;

    ir_func_set_proto(func, 3, args, 0, NULL);
    for (uint32_t i = 0; i < n + 3; i++)
        ir_block_create(func);
    b.block = func->blocks[0];
    ir_build_br(&b, func->blocks[1]);
    for (uint32_t i = 1; i <= n; i++) {
        b.block = func->blocks[i];
        for (uint32_t k = 0; k < READS; k++)
            (void)build_read(&b, func->args[1], IR_SEM_VOLATILE);
        if (swaps)
            (void)build_cas(&b, func->args[1], func->args[2], func->args[2]);
        ir_build_cbr(&b, ir_build1(&b, IR_OP_NOT, IR_PRED, func->args[0]), func->blocks[i],
                     func->blocks[i + 1]);
    }
    b.block = func->blocks[n + 1];
    ir_build_cbr(&b, func->args[0], func->blocks[1], func->blocks[n + 2]);
    b.block = func->blocks[n + 2];
    ir_build_instr(&b, IR_OP_EXIT, IR_VOID, 0, NULL, 0);
    ir_func_link_cfg(func);
    if (ir_dom_compute(func, &module->arena, &dom) != HD_OK ||
        ir_loops_compute(func, &dom, &module->arena, &loops) != HD_OK ||
        !ir_spins_init(&spins, func, &loops, &module->arena))
        exit(1);
    ir_spins_mark(&spins, &loops);
    for (uint32_t l = 0; l < loops.nloops; l++)
        suspects += loops.loops[l].spin_suspect;
    eq_u64(suspects, 0, "none of %u loops waits", loops.nloops);
    ir_module_destroy(module);
    return spins.steps;
}

static void test_large(bool swaps)
{
    uint64_t small = steps_of(2000, swaps), large = steps_of(8000, swaps);

    ok(small > 2000 * READS, "each read is looked at: %llu steps", (unsigned long long)small);
    ok(large < 5 * small, "four times the loops, %llu steps: not much more than four times",
       (unsigned long long)large);
}

int main(void)
{
    test_random();
    test_large(false);
    test_large(true);
    return done();
}
