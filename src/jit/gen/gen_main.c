/*
 * One kernel, from IR to LLVM IR: its functions and what calls them. gen_llvm.c goes on from there.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <string.h>

#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_FLUSH   0x9fc0u /* plus FTZ and DAZ */

void gen_instr(struct gen *g, const struct ir_instr *in)
{
    gen_srcloc_at(g, in);
    if (g->unit->singly) /* it is made again, in another way */
        return;
    if (g->unit->facts.may_spin && ir_polls(in))
        gen_note_poll(g);
    switch (in->op) {
    case IR_OP_CONST:
        return;
    case IR_OP_SREG:
        gen_sreg(g, in);
        return;
    case IR_OP_VARADDR:
    case IR_OP_FUNCADDR:
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
    case IR_OP_ISSPACEP:
        gen_addr(g, in);
        return;
    case IR_OP_LD:
        if (!gen_pieces(g, in))
            gen_load(g, in);
        return;
    case IR_OP_ST:
        if (!gen_pieces(g, in) && !gen_quads_store(g, in))
            gen_store(g, in);
        return;
    case IR_OP_ATOM:
        gen_atom(g, in);
        return;
    case IR_OP_COPY:
        gen_copy(g, in);
        return;
    case IR_OP_REDUCE:
        gen_reduce(g, in);
        return;
    case IR_OP_MBARRIER:
        gen_mbarrier(g, in);
        return;
    case IR_OP_TENSOR:
        gen_tensor(g, in);
        return;
    case IR_OP_TEX:
        gen_tex(g, in);
        return;
    case IR_OP_TENSORCOPY:
        gen_tensor_copy(g, in);
        return;
    case IR_OP_MULTIMEM:
        gen_multimem(g, in);
        return;
    case IR_OP_FENCE:
        gen_fence(g, in);
        return;
    case IR_OP_BAR:
        gen_barrier(g, in);
        return;
    case IR_OP_BUILTIN:
        gen_builtin(g, in);
        return;
    case IR_OP_PROBE:
    case IR_OP_PROBE_ACCESS:
        gen_probe(g, in);
        return;
    case IR_OP_CALL:
    case IR_OP_CALLI:
        gen_call(g, in);
        return;
    case IR_OP_ALLOCA:
    case IR_OP_STACKSAVE:
    case IR_OP_STACKRESTORE:
        gen_stack(g, in);
        return;
    case IR_OP_MMA:
    case IR_OP_LDMATRIX:
    case IR_OP_STMATRIX:
    case IR_OP_MOVMATRIX:
    case IR_OP_TENSOR_WARP:
        gen_matrix(g, in);
        return;
    case IR_OP_AGREE:
        gen_agree(g, in);
        return;
    case IR_OP_NANOSLEEP: {
        LLVMValueRef args[] = {g->cta, gen_first_active(g, in->src[0])};
        LLVMTypeRef types[] = {g->t->ptr, g->t->i32};
        LLVMValueRef table =
            gen_load_ctx(g, g->t->ptr, g->launch, offsetof(struct jit_launch, services));
        LLVMValueRef fn =
            gen_load_ctx(g, g->t->ptr, table, offsetof(struct jit_services, nanosleep));
        LLVMBuildCall2(g->b, LLVMFunctionType(g->t->void_, types, 2, false), fn, args, 2, "");
        return;
    }
    default:
        /* Prefetches would cost a host instruction per lane; what pays is gen_prefetch.c's. */
        if (ir_op_has(in->op, IR_F_HINT) || gen_warp(g, in))
            return;
        if (!ir_op_has(in->op, IR_F_PURE))
            gen_unsupported(g, in, "operation");
        else if (!gen_once_pure(g, in))
            gen_pure(g, in);
        return;
    }
}

/* ---- floating-point mode of the kernel */

struct fp_use {
    bool ftz, ieee, f64;
};

static void gen_main_fp_scan(const struct ir_func *f, struct fp_use *use)
{
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            bool cvt = in->op == IR_OP_CVT && (in->type == IR_F32 || in->type2 == IR_F32);
            bool f64 = in->type == IR_F64 || (in->op == IR_OP_CVT && in->type2 == IR_F64);
            if (ir_op_has(in->op, IR_F_ATOM) && ir_type_is_float(in->type)) {
                use->ieee = true; /* atomics keep denormals, of every type */
                continue;
            }
            if (!(ir_op_infos[in->op].mods & IR_MOD_FTZ))
                continue;
            use->f64 |= f64;
            /* bf16 is computed in f32 and keeps its denormals. */
            use->ieee |= in->type == IR_BF16 || in->type == IR_BF16X2 ||
                         (in->op == IR_OP_CVT && in->type2 == IR_BF16);
            if (in->type != IR_F32 && !cvt)
                continue;
            if (ir_has(in, IR_MOD_FTZ))
                use->ftz = true;
            else
                use->ieee = true;
        }
    }
}

static bool gen_main_fp_all_ftz(const struct ir_func *kernel)
{
    struct fp_use use = {0};
    gen_main_fp_scan(kernel, &use);
    ir_foreach_func(f, kernel->module) {
        if (!f->is_kernel)
            gen_main_fp_scan(f, &use);
    }
    return use.ftz && !use.ieee && !use.f64;
}

/* ---- functions */

static uint64_t gen_main_local_frame(const struct ir_func *f, bool *out_dynamic)
{
    uint64_t end = 0;
    for (const struct ir_var *v = f->vars; v; v = v->next) {
        if (v->space == IR_SPACE_LOCAL)
            end = HD_MAX(end, v->window_offset + v->size_B);
    }
    *out_dynamic = false;
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b])
            *out_dynamic |=
                in->op == IR_OP_ALLOCA || in->op == IR_OP_STACKSAVE || in->op == IR_OP_STACKRESTORE;
    }
    return end;
}

static void gen_main_context_values(struct gen *g)
{
    g->cta = LLVMGetParam(g->fn, 0);
    g->warp = LLVMGetParam(g->fn, 1);
    g->launch = gen_load_ctx(g, g->t->ptr, g->cta, offsetof(struct jit_cta, launch));
    g->local_sp = gen_i64(g, 0);
    if (g->is_kernel) {
        gen_body_values(g);
        return;
    }
    g->warp_index = gen_load_ctx(g, g->t->i32, g->warp, offsetof(struct jit_warp, index));
    g->frame = gen_load_ctx(g, g->t->ptr, g->warp, offsetof(struct jit_warp, frame));
    for (int h = 0; h < gen_halves(g); h++)
        g->entry_mask[h] = LLVMGetParam(g->fn, 2 + (unsigned)h);
    g->local_sp = LLVMGetParam(g->fn, 4);
    g->args = LLVMGetParam(g->fn, 5);
    g->results = LLVMGetParam(g->fn, 6);
}

static void gen_main_stack_setup(struct gen *g)
{
    bool dynamic;
    g->local_frame_B = gen_main_local_frame(g->func, &dynamic);
    LLVMValueRef end = LLVMBuildAdd(g->b, g->local_sp, gen_i64(g, g->local_frame_B), "");
    if (!g->is_kernel) {
        LLVMValueRef limit =
            gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, local_B));
        gen_fault_if(g, LLVMBuildICmp(g->b, LLVMIntUGT, end, limit, ""), HD_STACK_OVERFLOW, end);
    }
    if (!dynamic)
        return;
    g->dynamic_sp = g->is_kernel ? gen_gep(g, g->frame, gen_frame_alloc(g, 8, 8))
                                 : gen_alloca(g, g->t->i64, 8, "sp");
    if (!g->is_kernel) {
        LLVMBuildStore(g->b, end, g->dynamic_sp);
        return;
    }
    /* The frame starts zeroed: set the pointer on first entry only. */
    LLVMValueRef old = LLVMBuildLoad2(g->b, g->t->i64, g->dynamic_sp, "");
    LLVMValueRef unset = LLVMBuildICmp(g->b, LLVMIntEQ, old, gen_i64(g, 0), "");
    LLVMValueRef start = gen_i64(g, HD_MAX(ir_func_frame_B(g->func), 16u));
    LLVMBuildStore(g->b, LLVMBuildSelect(g->b, unset, start, old, ""), g->dynamic_sp);
}

static enum hd_status gen_main_function_analyse(struct gen *g)
{
    if (g->unit->req->form == GEN_SIMPLE)
        HD_TRY(ir_shapes_compute_dispatch(g->func, jit_launch_facts(g->unit->cls), &g->arena,
                                          &g->shapes));
    else
        HD_TRY(ir_shapes_compute(g->func, jit_launch_facts(g->unit->cls), &g->arena, &g->shapes));
    if (g->shapes.waits && !gen_spins_fit(g))
        HD_TRY(ir_shapes_compute_dispatch(g->func, jit_launch_facts(g->unit->cls), &g->arena,
                                          &g->shapes));
    HD_TRY(ir_liveness_compute(g->func, &g->arena, &g->live));
    return gen_nodes_build(g);
}

static void gen_main_function_begin(struct gen *g)
{
    assert(!g->func->is_declaration && g->func->nblocks);
    hd_arena_init(&g->arena);
    g->b = LLVMCreateBuilderInContext(g->unit->ctx);
    g->alloca_builder = LLVMCreateBuilderInContext(g->unit->ctx);
    gen_function_attributes(g->unit, g->fn);
    for (unsigned p = 1; p <= 2 && !g->is_kernel; p++) /* costs time where it is inlined */
        gen_attribute_add(g->unit, g->fn, p, "noalias", 0);
}

static enum hd_status gen_main_function_generate(struct gen *g)
{
    if (!gen_srcloc_init(g))
        return HD_NO_MEMORY;
    HD_TRY(gen_main_function_analyse(g));
    if (!gen_is_warp(g) && !gen_coarsen_wanted(g)) {
        g->unit->singly = true;
        return HD_NOT_SUPPORTED;
    }
    if (!gen_is_warp(g))
        g->unit->facts.fired |= 1u << (gen_is_half(g) ? GEN_PASS_HALVES : GEN_PASS_COARSEN);
    LLVMBasicBlockRef allocas = gen_bb(g, "allocas"), entry = gen_bb(g, "entry");
    LLVMPositionBuilderAtEnd(g->alloca_builder, allocas);
    LLVMPositionBuilderAtEnd(g->b, entry);
    gen_main_context_values(g);
    gen_main_stack_setup(g);
    gen_flow_run(g);
    LLVMBuildBr(g->alloca_builder, entry);
    return hd_arena_status(&g->arena);
}

static void gen_main_function_end(struct gen *g)
{
    LLVMDisposeBuilder(g->b);
    LLVMDisposeBuilder(g->alloca_builder);
    hd_arena_fini(&g->arena);
}

/* What all functions add to. */
static void gen_main_unit_account(const struct gen *g)
{
    struct gen_unit *u = g->unit;
    for (uint32_t b = 0; b < g->func->nblocks; b++)
        ir_foreach_instr(in, g->func->blocks[b])
            u->ir_instrs++;
    u->facts.waits_in_calls |= !g->is_kernel && u->facts.may_spin;
}

/* Calls, and the runtime for kernels, which takes locks that who submits a launch may hold. */
static bool gen_main_is_costly(const struct ir_instr *in)
{
    return in->op == IR_OP_CALL || in->op == IR_OP_CALLI ||
           (in->op == IR_OP_BUILTIN && in->imm == IR_BUILTIN_RUNTIME);
}

static uint64_t gen_main_cost_ops(const struct gen *g)
{
    uint64_t ops = 0;
    if (g->shapes.loops.nloops || g->shapes.loops.irreducible)
        return UINT64_MAX;
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b])
            ops += gen_main_is_costly(in) ? 1000000 : 1;
    }
    return ops;
}

static void gen_main_unit_take_kernel(const struct gen *g)
{
    struct gen_unit *u = g->unit;
    assert(!g->body.by_region || (!g->dispatch && u->facts.simple_barriers));
    u->body = g->body;
    u->facts.frame_B = gen_is_half(g) ? 2 * hd_align_up(g->frame_B, 64)
                                      : hd_align_up(g->frame_B / gen_warps(g), 64);
    u->facts.cost_ops = gen_main_cost_ops(g);
    u->facts.warps = gen_warps(g);
}

enum hd_status gen_function(struct gen_unit *u, const struct ir_func *func, LLVMValueRef fn,
                            unsigned depth)
{
    struct gen g = {.unit = u,
                    .t = &u->types,
                    .func = func,
                    .fn = fn,
                    .depth = depth,
                    .is_kernel = func->is_kernel};
    gen_main_function_begin(&g);
    enum hd_status status = gen_main_function_generate(&g);
    gen_main_unit_account(&g);
    if (g.is_kernel)
        gen_main_unit_take_kernel(&g);
    gen_main_function_end(&g);
    return status;
}

/* ---- the unit */

void gen_types_init(struct gen_unit *u)
{
    u->types = (struct gen_types){
        .void_ = LLVMVoidTypeInContext(u->ctx),
        .i1 = LLVMInt1TypeInContext(u->ctx),
        .i8 = LLVMInt8TypeInContext(u->ctx),
        .i16 = LLVMInt16TypeInContext(u->ctx),
        .i32 = LLVMInt32TypeInContext(u->ctx),
        .i64 = LLVMInt64TypeInContext(u->ctx),
        .i128 = LLVMInt128TypeInContext(u->ctx),
        .f16 = LLVMHalfTypeInContext(u->ctx),
        .f32 = LLVMFloatTypeInContext(u->ctx),
        .f64 = LLVMDoubleTypeInContext(u->ctx),
        .ptr = LLVMPointerTypeInContext(u->ctx, 0),
        .mask = LLVMVectorType(LLVMInt1TypeInContext(u->ctx), GEN_LANES),
        .bits = LLVMIntTypeInContext(u->ctx, GEN_LANES),
        .all = LLVMIntTypeInContext(u->ctx, u->halves * GEN_LANES),
    };
    u->md_invariant = LLVMGetMDKindIDInContext(u->ctx, "invariant.load", 14);
}

/* Can warps run to their end one after the other? In dispatch mode they have a frame. */
static bool gen_main_never_suspends(const struct gen_unit *u)
{
    return !u->body.nresume && !u->facts.frame_B && !u->facts.waits_in_calls &&
           !u->req->kernel->module->runs_apart;
}

static enum hd_status gen_main_unit_build(struct gen_unit *u)
{
    u->kernel = LLVMAddFunction(u->mod, "heddle_body", gen_body_type(u));
    LLVMSetLinkage(u->kernel, LLVMInternalLinkage);
    u->fp_ftz = gen_main_fp_all_ftz(u->req->kernel);
    u->facts.mxcsr = u->fp_ftz ? MXCSR_FLUSH : MXCSR_DEFAULT;
    struct ir_window window;
    HD_TRY(ir_kernel_window(u->req->kernel, &window));
    u->clusters = window.clusters;
    HD_TRY(gen_function(u, u->req->kernel, u->kernel, 1));
    if (u->singly) /* unfinished: it is made again, in another way */
        return HD_JIT;
    if (u->body.by_region || gen_main_never_suspends(u))
        gen_run_cta(u);
    else
        gen_run_warp(u);
    gen_attribute_add(u, u->kernel, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "alwaysinline",
                      0);
    return hd_arena_status(&u->arena);
}

enum hd_status gen_unit_build(struct gen_unit *u)
{
    hd_arena_init(&u->arena);
    enum hd_status status = gen_main_unit_build(u);
    hd_arena_fini(&u->arena);
    return status;
}
