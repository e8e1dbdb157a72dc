/*
 * Windows. A shared variable has one offset in the whole module, because a device function may
 * serve several kernels; two variables overlap only when no kernel reaches both. Their order is
 * that of assemblers, packed: what functions declare, then what the module does. Programs read
 * vectors from arrays that are declared with the alignment of a float, and rely on it. Dynamic
 * shared memory starts at one offset for all kernels that use it: after the largest static part
 * among them.
 */
#include "ir/ir.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define CALL_DEPTH_MAX 2000 /* of distinct functions; walks recurse */

/* What one function names, gathered by one scan when a walk first reaches it. */
struct func_refs {
    HD_VEC(struct ir_func *) callees;
    HD_VEC(struct ir_var *) vars; /* shared, perhaps repeated */
    bool indirect;
    bool allocates; /* of its stack */
    bool clusters;  /* looks beyond its CTA */
    uint32_t epoch; /* walk that `state` belongs to */
    bool done;      /* else on the path */
    uint64_t depth_B;
};

struct graph {
    struct ir_module *module;
    struct hd_map refs;             /* func -> struct func_refs */
    HD_VEC(struct ir_func *) taken; /* functions whose address is taken; filled on demand */
    bool taken_known;
    uint32_t epoch;
    bool failed;
    bool too_deep;
};

/* One kernel's reach. */
struct walk {
    struct graph *g;
    struct hd_map seen; /* shared variables, by address */
    bool recursive;
    bool clusters;
    unsigned depth;
};

/* Why a walk did not succeed. */
static enum hd_status layout_walk_error(const struct graph *g)
{
    const struct ir_module *module = g->module;
    if (g->too_deep)
        return hd_error(HD_NOT_SUPPORTED, "%s: calls nest more than %d functions deep",
                        module->name, CALL_DEPTH_MAX);
    return hd_error(HD_NO_MEMORY, "%s: no memory to lay out windows", module->name);
}

static void layout_graph_init(struct graph *g, struct ir_module *module)
{
    *g = (struct graph){.module = module};
    hd_map_init(&g->refs);
}

static void layout_graph_fini(struct graph *g)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&g->refs, &it)) {
        struct func_refs *refs = it.value;
        hd_vec_fini(&refs->callees);
        hd_vec_fini(&refs->vars);
        hd_free(refs);
    }
    hd_map_fini(&g->refs);
    hd_vec_fini(&g->taken);
}

bool ir_instr_sees_cluster(const struct ir_instr *instr)
{
    if (instr->op == IR_OP_SREG)
        return instr->imm >= IR_SREG_CLUSTERID_X && instr->imm <= IR_SREG_IS_EXPLICIT_CLUSTER;
    if (instr->op == IR_OP_BAR)
        return ir_bar_is_cluster((enum ir_bar)instr->imm);
    if (instr->op == IR_OP_TENSOR || instr->op == IR_OP_TENSOR_WARP)
        return ((const struct ir_tensor *)instr->ext)->flags >> IR_TENSOR_PAIR & 1;
    return ir_op_has(instr->op, IR_F_SPACE) && instr->mem.space == IR_SPACE_SHARED_CLUSTER;
}

static bool layout_scan_instr(struct func_refs *refs, const struct ir_instr *instr)
{
    refs->clusters |= ir_instr_sees_cluster(instr);
    switch (instr->op) {
    case IR_OP_VARADDR:
        return instr->var->space != IR_SPACE_SHARED || hd_vec_push(&refs->vars, instr->var);
    case IR_OP_CALL:
        return hd_vec_push(&refs->callees, instr->callee);
    case IR_OP_CALLI:
        refs->indirect = true;
        return true;
    case IR_OP_ALLOCA:
        refs->allocates = true;
        return true;
    default:
        return true;
    }
}

static struct func_refs *layout_graph_refs(struct graph *g, struct ir_func *func)
{
    struct func_refs *refs = hd_map_get_u64(&g->refs, (uintptr_t)func);

    if (refs)
        return refs;
    assert(func->module == g->module);
    refs = hd_new(struct func_refs);
    if (!refs || !hd_map_put_u64(&g->refs, (uintptr_t)func, refs)) {
        hd_free(refs);
        g->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < func->nblocks; i++)
        ir_foreach_instr(instr, func->blocks[i])
            g->failed |= !layout_scan_instr(refs, instr);
    return refs;
}

static void layout_graph_find_taken(struct graph *g)
{
    if (g->taken_known)
        return;
    g->taken_known = true;
    for (const struct ir_var *var = g->module->vars; var; var = var->next)
        for (const struct ir_reloc *r = var->relocs; r; r = r->next)
            g->failed |= r->func && !hd_vec_push(&g->taken, r->func);
    ir_foreach_func(func, g->module) {
        if (func->address_taken)
            g->failed |= !hd_vec_push(&g->taken, func);
        for (uint32_t i = 0; i < func->nblocks; i++)
            ir_foreach_instr(instr, func->blocks[i])
                if (instr->op == IR_OP_FUNCADDR)
                    g->failed |= !hd_vec_push(&g->taken, instr->callee);
    }
}

/*
 * The deepest stack at and below `func`; collects shared variables on the way. The native recursion
 * is as deep as the longest chain of distinct functions.
 */
static uint64_t layout_walk_func(struct walk *w, struct ir_func *func)
{
    struct graph *g = w->g;
    struct func_refs *refs = layout_graph_refs(g, func);
    uint64_t below = 0;

    if (!refs)
        return 0;
    if (refs->epoch == g->epoch) {
        w->recursive |= !refs->done;
        return refs->done ? refs->depth_B : 0;
    }
    if (w->depth == CALL_DEPTH_MAX) {
        g->too_deep = true;
        return 0;
    }
    w->depth++;
    refs->epoch = g->epoch;
    refs->done = false;
    for (size_t i = 0; i < refs->vars.len; i++)
        g->failed |= !hd_map_put_u64(&w->seen, (uintptr_t)refs->vars.at[i], refs->vars.at[i]);
    for (size_t i = 0; i < refs->callees.len; i++)
        below = HD_MAX(below, layout_walk_func(w, refs->callees.at[i]));
    w->recursive |= refs->allocates;
    w->clusters |= refs->clusters;
    if (refs->indirect) {
        w->recursive = true;
        layout_graph_find_taken(g);
        for (size_t i = 0; i < g->taken.len; i++)
            below = HD_MAX(below, layout_walk_func(w, g->taken.at[i]));
    }
    assert(w->depth && refs->epoch == g->epoch);
    w->depth--;
    refs->done = true;
    refs->depth_B = ir_func_frame_B(func);
    /* A frame that calls is never empty: endless recursion must end. */
    if (refs->callees.len || refs->indirect)
        refs->depth_B = below + HD_MAX(refs->depth_B, (uint64_t)func->module->frame_align_B);
    return refs->depth_B;
}

static void layout_walk_init(struct walk *w, struct graph *g)
{
    *w = (struct walk){.g = g};
    hd_map_init(&w->seen);
    g->epoch++;
}

/* ---- local frames */

uint64_t ir_func_frame_B(const struct ir_func *func)
{
    uint64_t end = 0;

    for (const struct ir_var *var = func->vars; var; var = var->next)
        if (var->space == IR_SPACE_LOCAL)
            end = HD_MAX(end, var->window_offset + var->size_B);
    assert(func->module->frame_align_B);
    return hd_align_up(end, func->module->frame_align_B);
}

static uint32_t layout_strictest_of(const struct ir_func *func)
{
    uint32_t align_B = IR_WINDOW_ALIGN_B;

    for (const struct ir_var *var = func->vars; var; var = var->next)
        if (var->space == IR_SPACE_LOCAL)
            align_B = HD_MAX(align_B, (uint32_t)HD_MIN(var->align_B, IR_LOCAL_ALIGN_MAX_B));
    return align_B;
}

void ir_align_frames(struct ir_module *module)
{
    module->frame_align_B = IR_WINDOW_ALIGN_B;
    ir_foreach_func(func, module)
        module->frame_align_B = HD_MAX(module->frame_align_B, layout_strictest_of(func));
}

static enum hd_status layout_place(struct ir_var *var, uint64_t at, uint64_t *out_end)
{
    uint64_t offset = hd_align_up(at, var->align_B ? var->align_B : 1);

    if (var->size_B > INT32_MAX || offset + var->size_B > INT32_MAX)
        return hd_error(HD_LAUNCH_LIMIT, "%s: %llu bytes do not fit a 32-bit window", var->name,
                        (unsigned long long)var->size_B);
    assert(offset >= at && hd_is_pow2(HD_MAX(var->align_B, 1u)));
    var->window_offset = offset;
    *out_end = offset + var->size_B;
    return HD_OK;
}

static enum hd_status layout_place_locals(struct ir_func *func)
{
    uint64_t end = 0;

    for (struct ir_var *var = func->vars; var; var = var->next)
        if (var->space == IR_SPACE_LOCAL)
            HD_TRY(layout_place(var, end, &end));
    return HD_OK;
}

/* ---- shared variables */

typedef HD_VEC(uint32_t) kernel_list;
typedef HD_VEC(struct ir_var *) var_list;

static int layout_by_index(const void *a, const void *b)
{
    const struct ir_var *x = *(struct ir_var *const *)a, *y = *(struct ir_var *const *)b;

    return x->index < y->index ? -1 : x->index > y->index;
}

static bool layout_list_vars(struct ir_var *vars, var_list *list)
{
    bool ok = true;

    for (struct ir_var *var = vars; var; var = var->next)
        if (var->space == IR_SPACE_SHARED)
            ok = ok && hd_vec_push(list, var);
    return ok;
}

/* In the order of places. A module has its variables as they came into use. */
static bool layout_list_shared(const struct ir_module *module, var_list *list)
{
    bool ok = true;
    size_t at;

    ir_foreach_func(func, module)
        ok = ok && layout_list_vars(func->vars, list);
    at = list->len;
    ok = ok && layout_list_vars(module->vars, list);
    if (ok && list->len > at)
        qsort(&list->at[at], list->len - at, sizeof(list->at[0]), layout_by_index);
    return ok;
}

struct placer {
    struct graph g;
    var_list vars;
    struct hd_map users;   /* shared variable -> kernel_list */
    HD_VEC(uint64_t) tops; /* by kernel: end of what is placed for it */
    uint64_t dynamic_B;    /* where dynamic shared memory starts */
};

static bool layout_placer_add_kernel(struct placer *p, struct ir_func *kernel)
{
    struct hd_map_iter it = {0};
    struct walk w;
    bool ok = hd_vec_push(&p->tops, 0);

    assert(kernel->is_kernel);
    layout_walk_init(&w, &p->g);
    layout_walk_func(&w, kernel);
    while (ok && hd_map_next(&w.seen, &it)) {
        kernel_list *list = hd_map_get_u64(&p->users, it.key_u64);
        if (!list) {
            list = hd_new(kernel_list);
            ok = list && hd_map_put_u64(&p->users, it.key_u64, list);
            if (!ok)
                hd_free(list);
        }
        ok = ok && hd_vec_push(list, (uint32_t)p->tops.len - 1);
    }
    hd_map_fini(&w.seen);
    return ok && !p->g.failed && !p->g.too_deep;
}

static uint64_t layout_highest_top(const struct placer *p, const kernel_list *list)
{
    uint64_t top = 0;

    for (size_t i = 0; i < list->len; i++)
        top = HD_MAX(top, p->tops.at[list->at[i]]);
    return top;
}

static enum hd_status layout_place_shared(struct placer *p, struct ir_var *var)
{
    const kernel_list *list = hd_map_get_u64(&p->users, (uintptr_t)var);
    uint64_t end = 0;

    assert(var->space == IR_SPACE_SHARED);
    var->window_offset = 0;
    if (!list || var->is_dynamic_shared)
        return HD_OK;
    HD_TRY(layout_place(var, layout_highest_top(p, list), &end));
    for (size_t i = 0; i < list->len; i++)
        p->tops.at[list->at[i]] = end;
    return HD_OK;
}

static enum hd_status layout_each_shared(struct placer *p,
                                         enum hd_status (*f)(struct placer *, struct ir_var *))
{
    for (size_t i = 0; i < p->vars.len; i++)
        HD_TRY(f(p, p->vars.at[i]));
    return HD_OK;
}

static enum hd_status layout_find_dynamic_start(struct placer *p, struct ir_var *var)
{
    const kernel_list *list = hd_map_get_u64(&p->users, (uintptr_t)var);

    if (list && var->is_dynamic_shared) {
        uint64_t align = HD_MAX(var->align_B, IR_WINDOW_ALIGN_B);
        p->dynamic_B = hd_align_up(HD_MAX(p->dynamic_B, layout_highest_top(p, list)), align);
    }
    return HD_OK;
}

static enum hd_status layout_place_dynamic(struct placer *p, struct ir_var *var)
{
    if (var->is_dynamic_shared)
        var->window_offset = p->dynamic_B;
    return HD_OK;
}

static void layout_placer_fini(struct placer *p)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&p->users, &it)) {
        kernel_list *list = it.value;
        hd_vec_fini(list);
        hd_free(list);
    }
    hd_map_fini(&p->users);
    hd_vec_fini(&p->vars);
    hd_vec_fini(&p->tops);
    layout_graph_fini(&p->g);
}

static enum hd_status layout_place_all(struct placer *p)
{
    ir_align_frames(p->g.module);
    ir_foreach_func(func, p->g.module)
        HD_TRY(layout_place_locals(func));
    ir_foreach_func(func, p->g.module)
        if (func->is_kernel && !layout_placer_add_kernel(p, func))
            return layout_walk_error(&p->g);
    if (!layout_list_shared(p->g.module, &p->vars))
        return layout_walk_error(&p->g);
    HD_TRY(layout_each_shared(p, layout_place_shared));
    /* Twice: a later variable may raise the start above an earlier one's alignment. */
    HD_TRY(layout_each_shared(p, layout_find_dynamic_start));
    HD_TRY(layout_each_shared(p, layout_find_dynamic_start));
    assert(p->dynamic_B % IR_WINDOW_ALIGN_B == 0);
    return layout_each_shared(p, layout_place_dynamic);
}

enum hd_status ir_layout_windows(struct ir_module *module)
{
    struct placer p = {0};
    enum hd_status status;

    layout_graph_init(&p.g, module);
    hd_map_init(&p.users);
    status = layout_place_all(&p);
    layout_placer_fini(&p);
    return status;
}

static uint64_t layout_shared_B_of(const struct walk *w, const var_list *vars)
{
    uint64_t size_B = 0;

    for (size_t i = 0; i < vars->len; i++)
        if (hd_map_get_u64(&w->seen, (uintptr_t)vars->at[i]))
            size_B = hd_align_up(size_B, HD_MAX(vars->at[i]->align_B, 1u)) + vars->at[i]->size_B;
    return size_B;
}

static uint64_t layout_dynamic_offset_of(const struct walk *w)
{
    struct hd_map_iter it = {0};
    uint64_t end = 0, dynamic_B = 0;

    while (hd_map_next(&w->seen, &it)) {
        const struct ir_var *var = it.value;
        end = HD_MAX(end, var->window_offset + var->size_B);
        if (var->is_dynamic_shared)
            dynamic_B = var->window_offset;
    }
    return dynamic_B ? dynamic_B : hd_align_up(end, IR_WINDOW_ALIGN_B);
}

enum hd_status ir_kernel_window(const struct ir_func *kernel, struct ir_window *out_window)
{
    var_list vars = {0};
    struct graph g;
    struct walk w;
    enum hd_status status;

    *out_window = (struct ir_window){0};
    layout_graph_init(&g, kernel->module);
    layout_walk_init(&w, &g);
    g.failed |= !layout_list_shared(g.module, &vars);
    out_window->local_align_B = kernel->module->frame_align_B;
    out_window->local_B = layout_walk_func(&w, (struct ir_func *)kernel);
    assert(out_window->local_B % out_window->local_align_B == 0);
    out_window->recursive = w.recursive;
    out_window->clusters = w.clusters;
    out_window->shared_B = layout_shared_B_of(&w, &vars);
    out_window->dynamic_offset_B = layout_dynamic_offset_of(&w);
    status = g.failed || g.too_deep ? layout_walk_error(&g) : HD_OK;
    hd_vec_fini(&vars);
    hd_map_fini(&w.seen);
    layout_graph_fini(&g);
    return status;
}
