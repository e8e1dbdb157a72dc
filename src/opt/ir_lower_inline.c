/*
 * requires: compacted. keeps: nothing of the cfg. breaks: dominance, liveness, shapes.
 *
 * Bottom-up over the call graph: a callee is complete before it is copied. Calls that close a cycle
 * stay, and so do calls that would make a function larger than INLINE_MAX, and those across units
 * of a module that keeps its units.
 */
#include "opt/passes.h"

#include <assert.h>

#include "base/mem.h"

#define INLINE_MAX    400000u  /* instructions of a function */
#define INLINE_TOTAL  2000000u /* instructions copied per module, beyond INLINE_FACTOR x its own */
#define INLINE_FACTOR 16u
#define INLINE_LARGE  4000u /* callees above this are copied into one caller only */

/* ---- copying a body */

struct copier {
    struct ir_func *caller;
    struct ir_func *callee;
    struct ir_value **values; /* by callee value id */
    struct ir_block **blocks; /* by callee block id */
    struct hd_map vars;       /* callee's variable -> copy */
    HD_VEC(struct ir_instr *) rets;
    const struct ir_instr *call;
    uint32_t inlined[2]; /* of the last place in the callee, and what it is in the caller */
};

static struct ir_var *inline_copy_var(struct copier *c, struct ir_var *var)
{
    struct ir_var *copy;

    if (!var || var->func != c->callee)
        return var;
    copy = hd_map_get_u64(&c->vars, (uintptr_t)var);
    if (copy)
        return copy;
    copy = ir_var_create(c->caller->module, c->caller, var->name, var->space);
    copy->linkage = var->linkage;
    copy->size_B = var->size_B;
    copy->align_B = var->align_B;
    copy->init = var->init;
    copy->init_B = var->init_B;
    copy->relocs = var->relocs;
    if (!hd_map_put_u64(&c->vars, (uintptr_t)var, copy))
        opt_failed(c->caller);
    return copy;
}

/* A place of the callee in the caller: the call is the outermost one that it was inlined at. */
static struct ir_srcloc inline_srcloc_in_caller(struct copier *c, struct ir_srcloc srcloc)
{
    struct ir_module *module = c->caller->module;
    uint32_t before = srcloc.inlined;
    struct ir_inline outer = {.func = c->callee->name, .at = c->call->srcloc};

    if (!c->call->srcloc.line || !srcloc.line)
        return srcloc;
    if (c->inlined[1] && c->inlined[0] == before) {
        srcloc.inlined = c->inlined[1];
        return srcloc;
    }
    if (before) {
        outer = module->inlines.at[before - 1];
        outer.at = inline_srcloc_in_caller(c, outer.at);
    }
    srcloc.inlined = ir_module_inline(module, outer.func, &outer.at);
    c->inlined[0] = before;
    c->inlined[1] = srcloc.inlined;
    return srcloc;
}

static struct ir_instr *inline_copy_instr(struct copier *c, struct ir_block *block,
                                          const struct ir_instr *from)
{
    struct ir_builder b = {.func = c->caller, .block = block};
    struct ir_instr *to =
        ir_build_instr(&b, from->op, from->type, from->nsrc, from->src, from->ndst);

    assert(from->block->func == c->callee);
    ir_instr_copy_fields(to, from);
    to->srcloc = inline_srcloc_in_caller(c, from->srcloc);
    to->var = inline_copy_var(c, from->var);
    for (uint32_t d = 0; d < to->ndst; d++) {
        to->dst[d]->type = from->dst[d]->type;
        c->values[from->dst[d]->id] = to->dst[d];
    }
    return to;
}

static void inline_copy_block(struct copier *c, const struct ir_block *from, struct ir_block *after)
{
    struct ir_block *to = c->blocks[from->id];
    struct hd_arena *arena = &c->caller->module->arena;

    ir_foreach_instr(instr, from) {
        struct ir_instr *copy;
        if (instr->op != IR_OP_RET) {
            inline_copy_instr(c, to, instr);
            continue;
        }
        copy = inline_copy_instr(c, to, instr);
        if (!hd_vec_push(&c->rets, copy))
            arena->failed = true;
        ir_block_set_succs(to, 1, &after);
    }
    if (from->nsuccs) {
        ir_block_set_succs(to, from->nsuccs, from->succs);
        for (uint32_t i = 0; i < to->nsuccs; i++)
            to->succs[i] = c->blocks[to->succs[i]->id];
    }
    if (!from->npreds)
        return;
    assert(!to->npreds);
    to->preds = hd_arena_try_alloc_array(arena, from->npreds, sizeof(*to->preds));
    to->npreds = to->preds ? from->npreds : 0;
    for (uint32_t i = 0; i < to->npreds; i++)
        to->preds[i] = c->blocks[from->preds[i]->id];
}

/* Results of the call: the returned values, merged where there are several returns. */
static void inline_bind_results(struct copier *c, struct ir_instr *call, struct ir_block *after,
                                struct opt_replace *replace)
{
    struct hd_arena *arena = &c->caller->module->arena;

    after->preds = hd_arena_try_alloc_array(arena, c->rets.len + 1, sizeof(*after->preds));
    if (!after->preds)
        return;
    for (size_t i = 0; i < c->rets.len; i++)
        after->preds[after->npreds++] = c->rets.at[i]->block;
    for (uint32_t d = call->ndst; d-- > 0;) {
        struct ir_instr *phi = ir_build_phi(after, call->dst[d]->type);
        for (uint32_t i = 0; i < phi->nsrc; i++)
            phi->src[i] = c->rets.at[i]->src[d];
        opt_replace_set(replace, call->dst[d], phi->dst[0]);
    }
    assert(after->npreds == c->rets.len);
    for (size_t i = 0; i < c->rets.len; i++) {
        c->rets.at[i]->op = IR_OP_BR;
        c->rets.at[i]->nsrc = 0;
    }
}

static bool inline_has_alloca(const struct ir_func *func)
{
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(instr, func->blocks[b])
            if (instr->op == IR_OP_ALLOCA)
                return true;
    return false;
}

/* What the callee takes from the stack with alloca goes back when it returns. */
static void inline_keep_stack(struct ir_instr *call, struct ir_block *after)
{
    struct ir_builder b = opt_before(call);
    struct ir_instr *save = ir_build_instr(&b, IR_OP_STACKSAVE, IR_VOID, 0, NULL, 1);

    b.block = after;
    b.before = after->first;
    ir_build_instr(&b, IR_OP_STACKRESTORE, IR_VOID, 1, save->dst, 0);
}

static bool inline_copier_init(struct copier *c, struct ir_instr *call)
{
    assert(call->callee != call->block->func && !call->callee->is_declaration);
    c->caller = call->block->func;
    c->callee = call->callee;
    c->call = call;
    c->values = hd_alloc_array((size_t)c->callee->nvalues + 1, sizeof(*c->values));
    c->blocks = hd_alloc_array((size_t)c->callee->nblocks + 1, sizeof(*c->blocks));
    hd_map_init(&c->vars);
    return c->values && c->blocks;
}

static void inline_copier_fini(struct copier *c)
{
    hd_free(c->values);
    hd_free(c->blocks);
    hd_map_fini(&c->vars);
    hd_vec_fini(&c->rets);
}

static void inline_call(struct ir_instr *call, struct opt_replace *replace)
{
    struct copier c = {0};
    struct ir_builder b = opt_before(call);
    struct ir_block *after;

    if (!inline_copier_init(&c, call)) {
        opt_failed(call->block->func);
        inline_copier_fini(&c);
        return;
    }
    assert(call->op == IR_OP_CALL && call->next);
    after = ir_block_split_before(call->next);
    if (inline_has_alloca(c.callee))
        inline_keep_stack(call, after);
    for (uint32_t i = 0; i < c.callee->proto.nparams; i++)
        c.values[c.callee->args[i]->id] = call->src[i];
    for (uint32_t i = 0; i < c.callee->nblocks; i++)
        c.blocks[i] = ir_block_create(c.caller);
    for (uint32_t i = 0; i < c.callee->nblocks; i++)
        inline_copy_block(&c, c.callee->blocks[i], after);
    /* Sources were copied as they are: point them at the copies. */
    for (uint32_t i = 0; i < c.callee->nblocks; i++)
        ir_foreach_instr(instr, c.blocks[i])
            for (uint32_t s = 0; s < instr->nsrc; s++)
                instr->src[s] = c.values[instr->src[s]->id];
    b.block = call->block;
    b.before = NULL;
    ir_build_br(&b, c.blocks[0]);
    inline_bind_results(&c, call, after, replace);
    ir_instr_remove(call);
    inline_copier_fini(&c);
}

/* ---- call graph */

struct node {
    struct ir_func *func;
    uint32_t size;  /* instructions */
    uint32_t calls; /* sites that call it */
    uint8_t state;  /* 0 new, 1 on the path, 2 done */
};

struct inliner {
    struct ir_module *module;
    struct hd_map nodes; /* func -> struct node */
    uint64_t budget;     /* instructions that may still be copied */
    bool changed;
};

static struct node *inline_node_of(struct inliner *in, const struct ir_func *func)
{
    return hd_map_get_u64(&in->nodes, (uintptr_t)func);
}

static bool inline_build_nodes(struct inliner *in)
{
    ir_foreach_func(func, in->module) {
        struct node *node = hd_new(struct node);
        if (!node || !hd_map_put_u64(&in->nodes, (uintptr_t)func, node)) {
            hd_free(node);
            return false;
        }
        node->func = func;
    }
    ir_foreach_func(func, in->module) {
        struct node *node = inline_node_of(in, func);
        for (uint32_t b = 0; b < func->nblocks; b++) {
            ir_foreach_instr(instr, func->blocks[b]) {
                node->size++;
                in->budget += INLINE_FACTOR;
                if (instr->op == IR_OP_CALL)
                    inline_node_of(in, instr->callee)->calls++;
            }
        }
    }
    return true;
}

static bool inline_worth_it(struct inliner *in, const struct node *caller,
                            const struct ir_instr *call)
{
    const struct node *callee = inline_node_of(in, call->callee);

    if (call->callee->is_declaration || !call->callee->nblocks || callee->state != 2)
        return false;
    if (in->module->keeps_units && callee->func->unit != caller->func->unit)
        return false;
    if (callee->size > INLINE_LARGE && callee->calls > 1)
        return false;
    assert(callee->func != caller->func); /* state 2 is behind us */
    return caller->size + callee->size <= INLINE_MAX && callee->size <= in->budget;
}

static void inline_into(struct inliner *in, struct node *node)
{
    struct ir_func *func = node->func;
    uint32_t nblocks = func->nblocks;
    struct opt_replace replace;
    bool any = false;

    if (!opt_replace_init(&replace, func))
        return;
    for (uint32_t b = 0; b < nblocks; b++) {
        /* From the end, so that the rest of a block moves once per call, not once per call before
         * it. */
        struct ir_instr *prev;
        for (struct ir_instr *instr = func->blocks[b]->last; instr; instr = prev) {
            prev = instr->prev;
            if (instr->op != IR_OP_CALL || in->module->arena.failed ||
                !inline_worth_it(in, node, instr))
                continue;
            node->size += inline_node_of(in, instr->callee)->size;
            assert(in->budget >= inline_node_of(in, instr->callee)->size);
            in->budget -= inline_node_of(in, instr->callee)->size;
            inline_call(instr, &replace);
            any = true;
        }
    }
    opt_replace_fini(&replace);
    if (any) {
        ir_func_link_cfg(func);
        ir_func_compact(func);
        in->changed = true;
    }
}

struct frame {
    struct node *node;
    uint32_t block;
    struct ir_instr *at;
};

/* The next callee that was not visited yet. */
static struct node *inline_next_callee(struct inliner *in, struct frame *frame)
{
    struct ir_func *func = frame->node->func;

    while (frame->block < func->nblocks) {
        struct ir_instr *instr = frame->at ? frame->at->next : func->blocks[frame->block]->first;
        if (!instr) {
            frame->block++;
            frame->at = NULL;
            continue;
        }
        frame->at = instr;
        if (instr->op == IR_OP_CALL && inline_node_of(in, instr->callee)->state == 0)
            return inline_node_of(in, instr->callee);
    }
    return NULL;
}

/* Depth first with a stack of our own: call chains in generated code can be long. */
static void inline_visit_from(struct inliner *in, struct node *root, struct frame *stack)
{
    uint32_t depth = 0;

    if (root->state)
        return;
    root->state = 1;
    stack[depth++] = (struct frame){.node = root};
    while (depth) {
        struct node *callee = inline_next_callee(in, &stack[depth - 1]);
        if (callee) {
            callee->state = 1;
            stack[depth++] = (struct frame){.node = callee};
            continue;
        }
        assert(stack[depth - 1].node->state == 1);
        inline_into(in, stack[--depth].node);
        stack[depth].node->state = 2;
    }
}

/* ---- shared variables of functions: one instance, whoever inlines the function */

static void inline_hoist_shared(struct ir_module *module, struct ir_func *func)
{
    struct ir_var *last = NULL;

    for (struct ir_var *var = func->vars, *next; var; var = next) {
        struct ir_var *global;
        next = var->next;
        if (var->space == IR_SPACE_LOCAL) {
            last = var;
            continue;
        }
        for (unsigned n = 0;; n++) {
            const char *name =
                hd_arena_printf(&module->arena, n ? "%s.%s.%u" : "%s.%s", func->name, var->name, n);
            if (ir_module_find_func(module, name) || ir_module_find_var(module, name))
                continue;
            var->name = name;
            break;
        }
        if (last)
            last->next = next;
        else
            func->vars = next;
        /* Instructions point at `var`: it takes the place of the one just made. */
        global = ir_var_create(module, NULL, var->name, var->space);
        assert(var->func == func && global->index == module->nvars - 1);
        var->func = NULL;
        var->index = global->index;
        var->next = NULL;
        for (struct ir_var **link = &module->vars; *link; link = &(*link)->next) {
            if (*link != global)
                continue;
            *link = var;
            break;
        }
        module->last_var = var;
        ((struct ir_symbol *)hd_map_get(&module->symbols, hd_str_from(var->name)))->var = var;
    }
    func->last_var = last;
}

bool ir_lower_inline(struct ir_module *module)
{
    struct inliner in = {.module = module, .budget = INLINE_TOTAL};
    struct hd_map_iter it = {0};
    struct frame *stack;
    size_t nfuncs = 0;

    hd_map_init(&in.nodes);
    ir_foreach_func(func, module) {
        nfuncs++;
        if (!func->is_kernel && func->vars)
            inline_hoist_shared(module, func);
    }
    stack = hd_alloc_array(nfuncs + 1, sizeof(*stack));
    if (stack && inline_build_nodes(&in)) {
        ir_foreach_func(func, module)
            inline_visit_from(&in, inline_node_of(&in, func), stack);
    } else {
        module->arena.failed = true;
    }
    while (hd_map_next(&in.nodes, &it))
        hd_free(it.value);
    hd_map_fini(&in.nodes);
    hd_free(stack);
    return in.changed;
}
