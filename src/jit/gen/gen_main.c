/*
 * One kernel, from IR to LLVM IR: its functions and what calls them. gen_llvm.c goes on from there.
 */
#include "jit/gen/gen_flow.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_FLUSH   0x9fc0u /* plus FTZ and DAZ */

void gen_unsupported(struct gen *g, const struct ir_instr *in, const char *why)
{
    if (g->error[0])
        return;
    snprintf(g->error, sizeof(g->error), "%s: %s%s%s", g->func->name,
             in ? ir_op_infos[in->op].name : "", in ? ": " : "", why);
}

void gen_instr(struct gen *g, const struct ir_instr *in)
{
    gen_place_at(g, in);
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
        gen_load(g, in);
        return;
    case IR_OP_ST:
        gen_store(g, in);
        return;
    case IR_OP_ATOM:
        gen_atom(g, in);
        return;
    case IR_OP_FENCE:
        LLVMBuildFence(g->b, LLVMAtomicOrderingSequentiallyConsistent,
                       in->mem.scope == IR_SCOPE_CTA, "");
        return;
    case IR_OP_BAR:
        gen_barrier(g, in);
        return;
    case IR_OP_BUILTIN:
        gen_builtin(g, in);
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
    case IR_OP_NANOSLEEP: {
        LLVMValueRef args[] = {g->cta, gen_first_active(g, in->src[0])};
        LLVMTypeRef types[] = {g->t_ptr, g->t_i32};
        LLVMValueRef table =
            gen_load_ctx(g, g->t_ptr, g->launch, offsetof(struct jit_launch, services));
        LLVMValueRef fn =
            gen_load_ctx(g, g->t_ptr, table, offsetof(struct jit_services, nanosleep));
        LLVMBuildCall2(g->b, LLVMFunctionType(g->t_void, types, 2, false), fn, args, 2, "");
        return;
    }
    default:
        /* Prefetches would cost a host instruction per lane; what pays is gen_prefetch.c's. */
        if (ir_op_has(in->op, IR_F_HINT) || gen_warp(g, in))
            return;
        if (ir_op_has(in->op, IR_F_PURE))
            gen_pure(g, in);
        else
            gen_unsupported(g, in, "operation");
        return;
    }
}

/* ---- floating-point mode of the kernel */

struct fp_use {
    bool ftz, ieee, f64;
};

static void fp_scan(const struct ir_func *f, struct fp_use *use)
{
    for (uint32_t b = 0; b < f->nblocks; b++) {
        ir_foreach_instr(in, f->blocks[b]) {
            bool cvt = in->op == IR_OP_CVT && (in->type == IR_F32 || in->type2 == IR_F32);
            bool f64 = in->type == IR_F64 || (in->op == IR_OP_CVT && in->type2 == IR_F64);
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

static bool fp_all_ftz(const struct ir_func *kernel)
{
    struct fp_use use = {0};
    fp_scan(kernel, &use);
    ir_foreach_func(f, kernel->module) {
        if (!f->is_kernel)
            fp_scan(f, &use);
    }
    return use.ftz && !use.ieee && !use.f64;
}

/* ---- functions */

static void add_attr(struct gen *g, LLVMValueRef fn, const char *name, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(g->ctx, name, (unsigned)strlen(name), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

static void add_enum_attr(struct gen *g, LLVMValueRef fn, LLVMAttributeIndex at, const char *name,
                          uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->ctx, kind, value));
}

void gen_function_attributes(struct gen *g, LLVMValueRef fn)
{
    const LLVMAttributeIndex self = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    add_attr(g, fn, "prefer-vector-width", g->avx512 ? "512" : "256");
    add_attr(g, fn, "min-legal-vector-width", g->avx512 ? "512" : "256");
    add_attr(g, fn, "target-features", g->req->features);
    add_attr(g, fn, "target-cpu", gen_cpu_name(g->path));
    add_attr(g, fn, "denormal-fp-math", g->fp_ftz ? "preserve-sign,preserve-sign" : "ieee,ieee");
    add_enum_attr(g, fn, self, "nounwind", 0);
    add_enum_attr(g, fn, self, "alignstack", 64);
}

static uint64_t local_frame(const struct ir_func *f, bool *out_dynamic)
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

static void context_values(struct gen *g)
{
    g->cta = LLVMGetParam(g->fn, 0);
    g->warp = LLVMGetParam(g->fn, 1);
    g->launch = gen_load_ctx(g, g->t_ptr, g->cta, offsetof(struct jit_cta, launch));
    g->local_sp = gen_i64(g, 0);
    if (g->is_kernel) {
        gen_body_values(g);
        return;
    }
    g->warp_index = gen_load_ctx(g, g->t_i32, g->warp, offsetof(struct jit_warp, index));
    g->frame = gen_load_ctx(g, g->t_ptr, g->warp, offsetof(struct jit_warp, frame));
    for (int h = 0; h < 2; h++)
        g->entry_mask[h] = LLVMGetParam(g->fn, 2 + (unsigned)h);
    g->local_sp = LLVMGetParam(g->fn, 4);
    g->args = LLVMGetParam(g->fn, 5);
    g->results = LLVMGetParam(g->fn, 6);
}

static void stack_setup(struct gen *g)
{
    bool dynamic;
    g->local_frame_B = local_frame(g->func, &dynamic);
    LLVMValueRef end = LLVMBuildAdd(g->b, g->local_sp, gen_i64(g, g->local_frame_B), "");
    if (!g->is_kernel) {
        LLVMValueRef limit =
            gen_load_ctx(g, g->t_i64, g->launch, offsetof(struct jit_launch, local_B));
        gen_fault_if(g, LLVMBuildICmp(g->b, LLVMIntUGT, end, limit, ""), HD_STACK_OVERFLOW, end);
    }
    g->dynamic_sp = NULL;
    if (!dynamic)
        return;
    g->dynamic_sp = g->is_kernel ? gen_gep(g, g->frame, gen_frame_alloc(g, 8, 8))
                                 : gen_alloca(g, g->t_i64, 8, "sp");
    if (!g->is_kernel) {
        LLVMBuildStore(g->b, end, g->dynamic_sp);
        return;
    }
    /* The frame starts zeroed: set the pointer on first entry only. */
    LLVMValueRef old = LLVMBuildLoad2(g->b, g->t_i64, g->dynamic_sp, "");
    LLVMValueRef unset = LLVMBuildICmp(g->b, LLVMIntEQ, old, gen_i64(g, 0), "");
    LLVMValueRef start = gen_i64(g, HD_MAX(hd_align_up(g->local_frame_B, 16), 16));
    LLVMBuildStore(g->b, LLVMBuildSelect(g->b, unset, start, old, ""), g->dynamic_sp);
}

static enum hd_status function_analyse(struct gen *g)
{
    if (g->req->form == GEN_SIMPLE)
        HD_TRY(ir_shapes_compute_dispatch(g->func, g->req->cls, &g->arena, &g->shapes));
    else
        HD_TRY(ir_shapes_compute(g->func, g->req->cls, &g->arena, &g->shapes));
    HD_TRY(ir_liveness_compute(g->func, &g->arena, &g->live));
    return gen_nodes_build(g);
}

enum hd_status gen_function(struct gen *parent, const struct ir_func *func, LLVMValueRef fn)
{
    assert(!func->is_declaration && func->nblocks);
    struct gen child = *parent, *g = &child;
    hd_arena_init(&g->arena);
    g->outer = parent;
    g->func = func;
    g->fn = fn;
    g->depth++;
    g->is_kernel = func->is_kernel;
    g->dispatch = false;
    g->nnodes = g->nsites = g->nresume = 0;
    g->frame_B = g->cta_area_B = g->once_B = 0;
    g->origin = NULL;
    g->spare = NULL;
    g->nlanes_inline = 0;
    g->carries = NULL;
    g->patterns = NULL;
    g->strict_lanes = NULL;
    g->mask[0] = g->mask[1] = NULL;
    g->b = LLVMCreateBuilderInContext(g->ctx);
    g->alloca_builder = LLVMCreateBuilderInContext(g->ctx);
    gen_function_attributes(g, fn);
    for (unsigned p = 1; p <= 2 && !func->is_kernel; p++) /* costs time where it is inlined */
        add_enum_attr(g, fn, p, "noalias", 0);
    enum hd_status status = gen_place_init(g) ? function_analyse(g) : HD_NO_MEMORY;
    if (status == HD_OK) {
        LLVMBasicBlockRef allocas = gen_bb(g, "allocas");
        g->entry = gen_bb(g, "entry");
        LLVMPositionBuilderAtEnd(g->alloca_builder, allocas);
        LLVMPositionBuilderAtEnd(g->b, g->entry);
        context_values(g);
        stack_setup(g);
        status = gen_flow_run(g);
        assert(!g->by_region || (func->is_kernel && !g->dispatch && g->facts.simple_barriers));
        LLVMBuildBr(g->alloca_builder, g->entry);
    }
    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(in, func->blocks[b])
            g->ir_instrs++;
    parent->ir_instrs = g->ir_instrs;
    parent->facts.may_spin |= g->facts.may_spin;
    parent->facts.waits_in_calls |=
        g->facts.waits_in_calls || (!func->is_kernel && g->facts.may_spin);
    if (func->is_kernel) {
        parent->facts = g->facts;
        parent->facts.frame_B = hd_align_up(g->frame_B, 64);
        parent->nresume = g->nresume;
        parent->dispatch = g->dispatch;
        parent->by_region = g->by_region;
        parent->leaves_early = g->leaves_early;
        parent->alive_at = g->alive_at;
        parent->alive_in_memory = g->alive_in_memory;
        parent->cta_area_B = g->cta_area_B;
        parent->once_B = g->once_B;
        parent->crowded = g->crowded;
        uint64_t ops = 0;
        for (uint32_t b = 0; b < func->nblocks; b++) {
            ir_foreach_instr(in, func->blocks[b])
                ops += in->op == IR_OP_CALL || in->op == IR_OP_CALLI ? 1000000 : 1;
        }
        bool loops = g->shapes.loops.nloops || g->shapes.loops.irreducible;
        parent->facts.cost_ops = loops ? UINT64_MAX : ops;
    }
    if (status == HD_OK)
        status = hd_arena_status(&g->arena);
    parent->no_memory |= g->no_memory;
    if (g->error[0] && !parent->error[0])
        memcpy(parent->error, g->error, sizeof(parent->error));
    LLVMDisposeBuilder(g->b);
    LLVMDisposeBuilder(g->alloca_builder);
    hd_arena_fini(&g->arena);
    return status;
}

/* ---- module */

void gen_types_init(struct gen *g)
{
    g->t_void = LLVMVoidTypeInContext(g->ctx);
    g->t_i1 = LLVMInt1TypeInContext(g->ctx);
    g->t_i8 = LLVMInt8TypeInContext(g->ctx);
    g->t_i16 = LLVMInt16TypeInContext(g->ctx);
    g->t_i32 = LLVMInt32TypeInContext(g->ctx);
    g->t_i64 = LLVMInt64TypeInContext(g->ctx);
    g->t_i128 = LLVMInt128TypeInContext(g->ctx);
    g->t_f16 = LLVMHalfTypeInContext(g->ctx);
    g->t_f32 = LLVMFloatTypeInContext(g->ctx);
    g->t_f64 = LLVMDoubleTypeInContext(g->ctx);
    g->t_ptr = LLVMPointerTypeInContext(g->ctx, 0);
    g->t_mask = gen_vec(g, g->t_i1);
    g->md_invariant = LLVMGetMDKindIDInContext(g->ctx, "invariant.load", 14);
}

static enum hd_status module_build(struct gen *g)
{
    LLVMValueRef body = LLVMAddFunction(g->mod, "heddle_body", gen_body_type(g));
    LLVMSetLinkage(body, LLVMInternalLinkage);
    g->fp_ftz = fp_all_ftz(g->req->kernel);
    HD_TRY(gen_function(g, g->req->kernel, body));
    g->facts.mxcsr = g->fp_ftz ? MXCSR_FLUSH : MXCSR_DEFAULT;
    bool stops = g->nresume || g->dispatch || g->facts.frame_B || g->facts.waits_in_calls;
    g->b = LLVMCreateBuilderInContext(g->ctx);
    if (g->by_region || !stops)
        gen_run_cta(g, body);
    else
        gen_run_warp(g, body);
    LLVMDisposeBuilder(g->b);
    add_enum_attr(g, body, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "alwaysinline", 0);
    return hd_arena_status(&g->arena);
}

enum hd_status gen_module_build(struct gen *g)
{
    hd_arena_init(&g->arena);
    enum hd_status status = module_build(g);
    hd_arena_fini(&g->arena);
    return status;
}
