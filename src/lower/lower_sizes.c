/*
 * What a kernel needs, read off the declarations of what it reaches: no instruction is lowered.
 *
 * A scan of each body, made once per program, notes what it names: shared variables, its own stack,
 * functions that it calls and the signatures of calls through pointers, and whether anything in it
 * looks as if it cannot be lowered. A kernel's sizes are a walk over these notes.
 */
#include "lower/lower_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define CALL_DEPTH_MAX 2000 /* of distinct functions; the walk recurses */

/* A shared variable; `key` tells them apart. */
struct shared_var {
    uintptr_t key;
    uint64_t order; /* of places: see ir_layout.c */
    uint64_t size_B, align_B;
};

/* What one body names. Immutable once it is in lower_program.reaches. */
struct lower_reach {
    struct hd_arena arena;
    HD_VEC(uint32_t) callees; /* by number; perhaps repeated */
    HD_VEC(struct shared_var) shared;
    HD_VEC(const struct ir_proto *) indirect;
    uint64_t frame_B;
    uint64_t align_B; /* of the frame */
    bool is_doubtful; /* lowering it may fail */
};

static void sizes_reach_destroy(struct lower_reach *reach)
{
    if (!reach)
        return;
    hd_vec_fini(&reach->callees);
    hd_vec_fini(&reach->shared);
    hd_vec_fini(&reach->indirect);
    hd_arena_fini(&reach->arena);
    hd_free(reach);
}

void lower_reaches_destroy(struct lower_program *program)
{
    for (size_t i = 0; program->reaches && i < program->bodies.len; i++)
        sizes_reach_destroy(program->reaches[i]);
    hd_free(program->reaches);
}

/* ---- the scan of a body */

struct scan {
    struct lower_program *program;
    const struct lower_body *body;
    struct lower_reach *reach;
    struct hd_map seen; /* variables of the function's stack that are named */
    enum hd_status status;
};

/* Variables of the kernel come first, then those of the modules by number, then the others. */
#define ORDER_MODULE (1ull << 48)
#define ORDER_OTHERS (1ull << 49)

static void sizes_scan_no_memory(struct scan *s)
{
    if (s->status == HD_OK)
        s->status = hd_error(HD_NO_MEMORY, "function %.*s", HD_STR_ARG(s->body->ptx->sym.name));
}

static void sizes_scan_shared(struct scan *s, const struct shared_var *var)
{
    s->reach->is_doubtful |= var->size_B > LOWER_SHARED_MAX_B;
    for (size_t i = 0; i < s->reach->shared.len; i++)
        if (s->reach->shared.at[i].key == var->key)
            return;
    if (!hd_vec_push(&s->reach->shared, *var))
        sizes_scan_no_memory(s);
}

static uint64_t sizes_place_in_function(const struct ptx_var *var)
{
    return (uint64_t)var->sym.srcloc.line << 12 | HD_MIN(var->sym.srcloc.col, 4095u);
}

static void sizes_scan_var(struct scan *s, const struct ptx_var *var, bool is_address)
{
    const struct ir_var *decl = hd_map_get_u64(&s->program->vars, (uintptr_t)var);
    enum ir_space space = decl ? decl->space : lower_space((enum ptx_space)var->space);
    bool is_kernel = s->body->ptx->is_entry;

    s->reach->is_doubtful |= space == IR_SPACE_GENERIC || (decl && !lower_var_defined(decl));
    if (space == IR_SPACE_SHARED) {
        const struct shared_var shared = {.key = decl ? (uintptr_t)decl : (uintptr_t)var,
                                          .order = decl        ? ORDER_MODULE + decl->index
                                                   : is_kernel ? sizes_place_in_function(var)
                                                               : ORDER_OTHERS +
                                                                     sizes_place_in_function(var),
                                          .size_B = decl ? decl->size_B : var->size_B,
                                          .align_B = HD_MAX(decl ? decl->align_B : var->align, 1u)};
        sizes_scan_shared(s, &shared);
    } else if (!decl && (space == IR_SPACE_LOCAL || (space == IR_SPACE_PARAM && is_address &&
                                                     !(var->is_param && is_kernel)))) {
        if (!hd_map_put_u64(&s->seen, (uintptr_t)var, s))
            sizes_scan_no_memory(s);
    }
}

static void sizes_scan_func(struct scan *s, const struct ptx_func *func, bool is_called)
{
    const struct ir_func *decl = lower_func_decl(s->program, func);

    if (!decl || !lower_program_has_body(s->program, decl->index))
        s->reach->is_doubtful |= !lower_is_builtin(func->sym.name);
    else if (is_called && !hd_vec_push(&s->reach->callees, decl->index))
        sizes_scan_no_memory(s);
}

/* What nvcc's cooperative groups keep in the system's part of a CTA: see reserved_smem(). */
static bool sizes_names_reserved(const struct ptx_operand *op)
{
    return op->kind == PTX_OPND_SREG &&
           (op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN ||
            op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET_END ||
            (op->index2 == PTX_SREG_RESERVED_SMEM_OFFSET && op->index == 1));
}

/* is_call: of a call, whose operands name variables without taking their addresses. */
static void sizes_scan_operand(struct scan *s, const struct ptx_operand *op, bool is_call)
{
    bool is_sym = op->kind == PTX_OPND_SYM;

    if (sizes_names_reserved(op)) {
        static const char name;
        const struct shared_var reserved = {.key = (uintptr_t)&name,
                                            .order = ORDER_OTHERS - 1,
                                            .size_B = LOWER_RESERVED_SMEM_B,
                                            .align_B = 16};
        sizes_scan_shared(s, &reserved);
    }
    if (is_sym || (op->kind == PTX_OPND_ADDR && op->base == PTX_OPND_SYM)) {
        const struct ptx_var *var = (const struct ptx_var *)op->u.sym;
        if (op->u.sym->kind == PTX_SYM_VAR)
            sizes_scan_var(s, var->def ? var->def : var, is_sym && !is_call);
        else if (op->u.sym->kind == PTX_SYM_FUNC && !is_call)
            sizes_scan_func(s, (const struct ptx_func *)op->u.sym, false);
    }
    for (uint32_t i = 0; i < op->nitems; i++)
        sizes_scan_operand(s, &op->items[i], is_call);
}

/* The parameters and results that a call through a pointer has; see call_indirect(). */
static void sizes_scan_indirect(struct scan *s, const struct ptx_insn *insn)
{
    const struct ptx_operand *sig = &insn->ops[3];
    const struct ptx_var *params = NULL, *rets = NULL;
    struct ir_proto *proto = hd_arena_new(&s->reach->arena, struct ir_proto);
    enum hd_status status;

    if (sig->kind == PTX_OPND_SYM && sig->u.sym->kind == PTX_SYM_PROTO) {
        params = ((const struct ptx_proto *)sig->u.sym)->params;
        rets = ((const struct ptx_proto *)sig->u.sym)->rets;
    } else if (sig->kind == PTX_OPND_SYM && sig->u.sym->kind == PTX_SYM_TARGETS) {
        const struct ptx_targets *t = (const struct ptx_targets *)sig->u.sym;
        if (t->count && t->items[0].kind == PTX_OPND_SYM &&
            t->items[0].u.sym->kind == PTX_SYM_FUNC) {
            params = ((const struct ptx_func *)t->items[0].u.sym)->params;
            rets = ((const struct ptx_func *)t->items[0].u.sym)->rets;
        }
    }
    s->reach->is_doubtful |= sig->kind != PTX_OPND_SYM;
    status = proto ? lower_proto(params, rets, &s->reach->arena, proto) : HD_NO_MEMORY;
    s->reach->is_doubtful |= status != HD_OK;
    if (status == HD_NO_MEMORY || (status == HD_OK && !hd_vec_push(&s->reach->indirect, proto)))
        sizes_scan_no_memory(s);
}

static void sizes_scan_insn(struct scan *s, const struct ptx_insn *insn)
{
    const struct ptx_operand *target = &insn->ops[1];
    bool is_call = insn->form->op == PTX_OP_CALL;
    const char *why;

    s->reach->is_doubtful |= !lower_in_slice(insn, &why);
    for (uint32_t i = 0; i < insn->nops; i++)
        if (!is_call || i != 3)
            sizes_scan_operand(s, &insn->ops[i], is_call);
    if (!is_call)
        return;
    if (target->kind == PTX_OPND_SYM && target->u.sym->kind == PTX_SYM_FUNC)
        sizes_scan_func(s, (const struct ptx_func *)target->u.sym, true);
    else
        sizes_scan_indirect(s, insn);
}

/* As ir_layout_windows() places what is left after optimising: all that is named. */
static void sizes_scan_frame(struct scan *s, const struct ptx_var *list)
{
    struct lower_reach *reach = s->reach;
    void *unused;

    for (const struct ptx_var *v = list; v; v = v->next) {
        if (!hd_map_find_u64(&s->seen, (uintptr_t)v, &unused))
            continue;
        reach->align_B = HD_MAX(reach->align_B, HD_MIN(v->align, IR_LOCAL_ALIGN_MAX_B));
        reach->frame_B = hd_align_up(reach->frame_B, HD_MAX(v->align, 1u)) + v->size_B;
    }
}

static enum hd_status sizes_scan_body(struct lower_program *program, const struct lower_body *body,
                                      struct lower_reach **out_reach)
{
    struct scan s = {.program = program, .body = body, .reach = hd_new(struct lower_reach)};

    *out_reach = s.reach;
    if (!s.reach)
        return hd_error(HD_NO_MEMORY, "function %.*s", HD_STR_ARG(body->ptx->sym.name));
    hd_arena_init(&s.reach->arena);
    hd_map_init(&s.seen);
    for (const struct ptx_stmt *stmt = body->ptx->body; stmt; stmt = stmt->next)
        if (stmt->kind == PTX_STMT_INSN)
            sizes_scan_insn(&s, (const struct ptx_insn *)stmt);
    s.reach->align_B = IR_WINDOW_ALIGN_B;
    sizes_scan_frame(&s, body->ptx->params);
    sizes_scan_frame(&s, body->ptx->rets);
    sizes_scan_frame(&s, body->ptx->vars);
    hd_map_fini(&s.seen);
    return s.status;
}

/* That of function number `index`, which has a body; of two threads the first one's stays. */
static enum hd_status sizes_reach_get(struct lower_program *program, uint32_t index,
                                      const struct lower_reach **out_reach)
{
    const struct lower_body *body = &program->bodies.at[index];
    struct lower_reach *reach = NULL;

    hd_lock_acquire(&program->lock);
    if (!program->reaches)
        program->reaches = hd_alloc_array(program->bodies.len + 1, sizeof(struct lower_reach *));
    if (program->reaches)
        *out_reach = program->reaches[index];
    hd_lock_release(&program->lock);
    if (!program->reaches)
        return hd_error(HD_NO_MEMORY, "functions of %s", program->decls->name);
    if (*out_reach)
        return HD_OK;
    HD_TRY(ptx_func_read(body->ptx));
    enum hd_status status = sizes_scan_body(program, body, &reach);
    if (status != HD_OK) {
        sizes_reach_destroy(reach);
        return status;
    }
    hd_lock_acquire(&program->lock);
    if (program->reaches[index]) {
        sizes_reach_destroy(reach);
        reach = program->reaches[index];
    }
    program->reaches[index] = reach;
    hd_lock_release(&program->lock);
    *out_reach = reach;
    return HD_OK;
}

/* ---- the walk of a kernel */

enum visit { NOT_SEEN, ON_PATH, DONE };

struct walk {
    struct lower_program *program;
    HD_VEC(uint32_t) reached;           /* numbers of functions */
    const struct lower_reach **reaches; /* by number; NULL: not reached */
    HD_VEC(uint32_t) taken;             /* of those, what pointers may call */
    uint8_t *visits;                    /* by number: enum visit */
    uint64_t *depths;                   /* by number, when DONE */
    unsigned depth;
    uint64_t align_B;
    bool too_deep;
};

static enum hd_status sizes_walk_no_memory(const struct walk *w)
{
    return hd_error(HD_NO_MEMORY, "sizes of kernels of %s", w->program->decls->name);
}

static enum hd_status sizes_walk_enter(struct walk *w, uint32_t index)
{
    if (w->reaches[index])
        return HD_OK;
    HD_TRY(sizes_reach_get(w->program, index, &w->reaches[index]));
    w->align_B = HD_MAX(w->align_B, w->reaches[index]->align_B);
    return hd_vec_push(&w->reached, index) ? HD_OK : sizes_walk_no_memory(w);
}

/* Callees of all from number `from` on, which grow meanwhile. */
static enum hd_status sizes_walk_callees(struct walk *w, size_t *from)
{
    for (; *from < w->reached.len; ++*from) {
        const struct lower_reach *reach = w->reaches[w->reached.at[*from]];
        for (size_t i = 0; i < reach->callees.len; i++)
            HD_TRY(sizes_walk_enter(w, reach->callees.at[i]));
    }
    return HD_OK;
}

static bool sizes_calls_like(const struct walk *w, const struct ir_proto *proto)
{
    for (size_t i = 0; i < w->reached.len; i++) {
        const struct lower_reach *reach = w->reaches[w->reached.at[i]];
        for (size_t k = 0; k < reach->indirect.len; k++)
            if (ir_proto_equals(reach->indirect.at[k], proto))
                return true;
    }
    return false;
}

static bool sizes_calls_indirectly(const struct walk *w)
{
    for (size_t i = 0; i < w->reached.len; i++)
        if (w->reaches[w->reached.at[i]]->indirect.len)
            return true;
    return false;
}

/* All that pointers may lead to, as the lowering enters it. */
static enum hd_status sizes_walk_reach(struct walk *w, uint32_t kernel)
{
    const struct lower_program *p = w->program;
    size_t from = 0, before;

    HD_TRY(sizes_walk_enter(w, kernel));
    HD_TRY(sizes_walk_callees(w, &from));
    if (!sizes_calls_indirectly(w))
        return HD_OK;
    HD_TRY(lower_find_taken(w->program));
    do {
        before = w->reached.len;
        w->taken.len = 0;
        ir_foreach_func(decl, p->decls) {
            if (!decl->address_taken || decl->is_kernel ||
                !lower_program_has_body(p, decl->index) || !sizes_calls_like(w, &decl->proto))
                continue;
            HD_TRY(sizes_walk_enter(w, decl->index));
            if (!hd_vec_push(&w->taken, decl->index))
                return sizes_walk_no_memory(w);
        }
        HD_TRY(sizes_walk_callees(w, &from));
    } while (w->reached.len > before);
    return HD_OK;
}

/*
 * The deepest stack at and below a function. Calls are inlined where that can be: only those that
 * close a cycle and those through pointers have a frame of their own.
 */
static uint64_t sizes_walk_depth(struct walk *w, uint32_t index)
{
    const struct lower_reach *reach = w->reaches[index];
    bool stays = reach->indirect.len;
    uint64_t below = 0, frame_B = reach->frame_B;

    if (w->visits[index] == DONE)
        return w->depths[index];
    if (w->depth == CALL_DEPTH_MAX) {
        w->too_deep = true;
        return 0;
    }
    w->depth++;
    w->visits[index] = ON_PATH;
    for (size_t i = 0; i < reach->callees.len; i++) {
        if (w->visits[reach->callees.at[i]] == ON_PATH)
            stays = true;
        else
            below = HD_MAX(below, sizes_walk_depth(w, reach->callees.at[i]));
    }
    for (size_t i = 0; reach->indirect.len && i < w->taken.len; i++)
        if (w->visits[w->taken.at[i]] != ON_PATH)
            below = HD_MAX(below, sizes_walk_depth(w, w->taken.at[i]));
    w->depth--;
    w->visits[index] = DONE;
    frame_B = hd_align_up(frame_B, stays ? w->align_B : 8);
    w->depths[index] = below + (stays ? HD_MAX(frame_B, w->align_B) : frame_B);
    return w->depths[index];
}

static int sizes_by_order(const void *a, const void *b)
{
    const struct shared_var *x = a, *y = b;

    return x->order < y->order ? -1 : x->order > y->order;
}

/* In the order of their places. */
static enum hd_status sizes_walk_shared(const struct walk *w, uint64_t *out_B)
{
    HD_VEC(struct shared_var) vars = {0};
    struct hd_map seen;
    uint64_t size_B = 0;
    bool ok = true;

    hd_map_init(&seen);
    for (size_t i = 0; i < w->reached.len; i++) {
        const struct lower_reach *reach = w->reaches[w->reached.at[i]];
        for (size_t k = 0; ok && k < reach->shared.len; k++) {
            const struct shared_var var = reach->shared.at[k];
            void *unused;

            if (!hd_map_find_u64(&seen, var.key, &unused))
                ok = hd_map_put_u64(&seen, var.key, &seen) && hd_vec_push(&vars, var);
        }
    }
    if (vars.len)
        qsort(vars.at, vars.len, sizeof(vars.at[0]), sizes_by_order);
    for (size_t i = 0; i < vars.len; i++)
        size_B = hd_align_up(size_B, vars.at[i].align_B) + vars.at[i].size_B;
    *out_B = size_B;
    hd_vec_fini(&vars);
    hd_map_fini(&seen);
    return ok ? HD_OK : sizes_walk_no_memory(w);
}

static enum hd_status sizes_walk_kernel(struct walk *w, uint32_t index,
                                        struct ir_kernel_sizes *out_sizes)
{
    size_t n = w->program->bodies.len + 1;

    w->reaches = hd_alloc_array(n, sizeof(*w->reaches));
    w->visits = hd_alloc_array(n, sizeof(*w->visits));
    w->depths = hd_alloc_array(n, sizeof(*w->depths));
    if (!w->reaches || !w->visits || !w->depths)
        return sizes_walk_no_memory(w);
    HD_TRY(sizes_walk_reach(w, index));
    HD_TRY(sizes_walk_shared(w, &out_sizes->shared_B));
    out_sizes->local_B = hd_align_up(sizes_walk_depth(w, index), w->align_B);
    out_sizes->is_doubtful =
        w->too_deep || out_sizes->shared_B > LOWER_SHARED_MAX_B + LOWER_RESERVED_SMEM_B;
    for (size_t i = 0; i < w->reached.len; i++)
        out_sizes->is_doubtful |= w->reaches[w->reached.at[i]]->is_doubtful;
    return HD_OK;
}

enum hd_status lower_kernel_sizes(struct lower_program *program, uint32_t index,
                                  struct ir_kernel_sizes *out_sizes)
{
    struct walk w = {.program = program, .align_B = IR_WINDOW_ALIGN_B};
    enum hd_status status;

    *out_sizes = (struct ir_kernel_sizes){0};
    if (!lower_program_is_kernel(program, index))
        return hd_error(HD_NOT_FOUND, "function %u of %s is not a kernel with a body", index,
                        program->decls->name);
    status = sizes_walk_kernel(&w, index, out_sizes);
    hd_free(w.reaches);
    hd_free(w.visits);
    hd_free(w.depths);
    hd_vec_fini(&w.reached);
    hd_vec_fini(&w.taken);
    return status;
}
