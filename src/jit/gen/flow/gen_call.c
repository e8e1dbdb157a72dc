/*
 * Calls of device functions that were not inlined (recursion, function pointers).
 *
 *   void f(ptr cta, ptr warp, i16 mask_lo, i16 mask_hi, i64 sp, ptr args, ptr results)
 *
 * Arguments and results are vectors in memory, one GEN_SLOT_B apart. `sp` is the offset of the
 * callee's frame in every lane's local window. The callee may end lanes: warp->alive is the truth.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define GEN_SLOT_B 512 /* 32 lanes of up to 128 bits */

static uint64_t half_size(enum ir_type type)
{
    return type == IR_PRED ? 2 : (uint64_t)ir_type_bits(type) / 8 * GEN_LANES;
}

static LLVMTypeRef memory_type(struct gen *g, enum ir_type type)
{
    return type == IR_PRED ? g->t->i16 : gen_vec(g, gen_scalar_type(g, type));
}

static void area_store(struct gen *g, LLVMValueRef area, uint32_t slot, enum ir_type type,
                       LLVMValueRef const x[GEN_HALVES], LLVMValueRef const keep[GEN_HALVES])
{
    assert(LLVMTypeOf(x[0]) == LLVMTypeOf(x[1]));
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at =
            gen_gep(g, area, (uint64_t)slot * GEN_SLOT_B + (uint64_t)h * half_size(type));
        LLVMValueRef v = x[h];
        if (keep && keep[h]) {
            LLVMValueRef old = LLVMBuildLoad2(g->b, memory_type(g, type), at, "");
            if (type == IR_PRED)
                old = LLVMBuildBitCast(g->b, old, g->t->mask, "");
            v = LLVMBuildSelect(g->b, keep[h], v, old, "");
        }
        if (type == IR_PRED)
            v = gen_bits(g, v);
        LLVMBuildStore(g->b, v, at);
    }
}

static struct gen_val area_load(struct gen *g, LLVMValueRef area, uint32_t slot, enum ir_type type)
{
    LLVMValueRef x[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at =
            gen_gep(g, area, (uint64_t)slot * GEN_SLOT_B + (uint64_t)h * half_size(type));
        x[h] = LLVMBuildLoad2(g->b, memory_type(g, type), at, "");
        if (type == IR_PRED)
            x[h] = LLVMBuildBitCast(g->b, x[h], g->t->mask, "");
    }
    return gen_v(g, x);
}

void gen_store_args(struct gen *g)
{
    assert(!g->is_kernel && g->args);
    for (uint32_t a = 0; a < g->func->proto.nparams; a++) {
        const struct ir_value *v = g->func->args[a];
        g->mask[0] = g->mask[1] = NULL;
        gen_set(g, v, area_load(g, g->args, a, v->type));
    }
}

void gen_entry_mask(struct gen *g)
{
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] = LLVMBuildBitCast(g->b, g->entry_mask[h], g->t->mask, "");
}

void gen_store_results(struct gen *g, const struct ir_instr *ret)
{
    assert(!g->is_kernel && ret->nsrc == g->func->proto.nresults);
    for (uint32_t s = 0; s < ret->nsrc; s++) {
        LLVMValueRef x[GEN_HALVES];
        gen_vector(g, ret->src[s], x);
        area_store(g, g->results, s, ret->src[s]->type, x, g->mask);
    }
}

static LLVMTypeRef function_type(struct gen *g)
{
    LLVMTypeRef types[] = {g->t->ptr, g->t->ptr, g->t->i16, g->t->i16,
                           g->t->i64, g->t->ptr, g->t->ptr};
    return LLVMFunctionType(g->t->void_, types, 7, false);
}

#define CALL_DEPTH_MAX                                                                             \
    100 /* of distinct functions that stay calls; each is generated inside its caller */

LLVMValueRef gen_device_function(struct gen *g, const struct ir_func *func)
{
    char name[32];
    snprintf(name, sizeof(name), "heddle_func_%u", func->index);
    LLVMValueRef fn = LLVMGetNamedFunction(g->unit->mod, name);
    if (fn)
        return fn;
    fn = LLVMAddFunction(g->unit->mod, name, function_type(g));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    enum hd_status status = HD_UNRESOLVED;
    if (g->depth < CALL_DEPTH_MAX && !func->is_declaration)
        status = gen_function(g->unit, func, fn, g->depth + 1);
    g->unit->no_memory |= status == HD_NO_MEMORY;
    if (status != HD_OK)
        gen_error(g->unit, "function %s %s", func->name,
                  g->depth < CALL_DEPTH_MAX ? "has no code" : "is called too many functions deep");
    return fn;
}

struct call {
    LLVMValueRef args, results;
    LLVMValueRef sp;
};

static void call_emit(struct gen *g, const struct ir_func *callee, const struct call *c,
                      LLVMValueRef lo, LLVMValueRef hi)
{
    assert(gen_is_bits(g, lo) && gen_is_bits(g, hi) && !callee->is_kernel);
    LLVMValueRef fn = gen_device_function(g, callee);
    LLVMValueRef args[] = {g->cta, g->warp, lo, hi, c->sp, c->args, c->results};
    LLVMBuildCall2(g->b, function_type(g), fn, args, 7, "");
}

static LLVMValueRef callee_sp(struct gen *g)
{
    if (g->dynamic_sp) {
        LLVMValueRef sp = LLVMBuildLoad2(g->b, g->t->i64, g->dynamic_sp, "");
        uint64_t low = g->func->module->frame_align_B - 1;
        sp = LLVMBuildAdd(g->b, sp, gen_i64(g, low), "");
        return LLVMBuildAnd(g->b, sp, gen_i64(g, ~low), "");
    }
    /* Even an empty frame takes space, so that endless recursion ends. */
    uint64_t frame = HD_MAX(ir_func_frame_B(g->func), g->func->module->frame_align_B);
    return LLVMBuildAdd(g->b, g->local_sp, gen_i64(g, frame), "");
}

static LLVMValueRef area_new(struct gen *g, uint32_t slots)
{
    LLVMTypeRef type = LLVMArrayType2(g->t->i8, (uint64_t)(slots ? slots : 1) * GEN_SLOT_B);
    LLVMValueRef area = gen_alloca(g, type, 64, "");
    return area;
}

static bool proto_matches(const struct ir_func *f, const struct ir_proto *p)
{
    return !f->is_kernel && !f->is_declaration && f->proto.nparams == p->nparams &&
           f->proto.nresults == p->nresults &&
           !memcmp(f->proto.params, p->params, p->nparams * sizeof(*p->params)) &&
           !memcmp(f->proto.results, p->results, p->nresults * sizeof(*p->results));
}

/* Is the function's address taken anywhere? Only such functions can be behind a handle. */
static bool address_taken(const struct ir_module *m, const struct ir_func *func)
{
    if (func->address_taken)
        return true;
    for (const struct ir_var *v = m->vars; v; v = v->next) {
        for (const struct ir_reloc *r = v->relocs; r; r = r->next) {
            if (r->func == func)
                return true;
        }
    }
    ir_foreach_func(f, m) {
        for (uint32_t b = 0; b < f->nblocks; b++) {
            ir_foreach_instr(in, f->blocks[b]) {
                if (in->op == IR_OP_FUNCADDR && in->callee == func)
                    return true;
            }
        }
    }
    return false;
}

/* Lanes that hold the same handle go together, one handle after the other. */
static void call_indirect(struct gen *g, const struct ir_instr *in, const struct call *c)
{
    LLVMValueRef handle[GEN_HALVES], left[GEN_HALVES];
    gen_vector(g, in->src[0], handle);
    for (int h = 0; h < gen_halves(g); h++) {
        left[h] = gen_alloca(g, g->t->i16, 0, "");
        LLVMBuildStore(g->b, gen_mask_bits(g, h), left[h]);
    }
    LLVMBasicBlockRef loop = gen_bb(g, "targets"), bad = gen_bb(g, "bad_target"),
                      next = gen_bb(g, "next");
    LLVMBasicBlockRef end = gen_bb(g, "called");
    LLVMBuildBr(g->b, loop);
    LLVMPositionBuilderAtEnd(g->b, loop);
    LLVMValueRef saved[GEN_HALVES], bits[GEN_HALVES];
    gen_masks_copy(saved, g->mask);
    for (int h = 0; h < gen_halves(g); h++)
        g->mask[h] =
            LLVMBuildBitCast(g->b, LLVMBuildLoad2(g->b, g->t->i16, left[h], ""), g->t->mask, "");
    LLVMValueRef one = gen_pick_active(g, handle);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef same = LLVMBuildICmp(g->b, LLVMIntEQ, handle[h], gen_splat(g, one), "");
        bits[h] = gen_bits(g, LLVMBuildAnd(g->b, same, g->mask[h], ""));
        LLVMValueRef rest =
            LLVMBuildAnd(g->b, gen_bits(g, g->mask[h]), LLVMBuildNot(g->b, bits[h], ""), "");
        LLVMBuildStore(g->b, rest, left[h]);
    }
    LLVMValueRef sw = LLVMBuildSwitch(g->b, one, bad, 8);
    ir_foreach_func(f, g->func->module) {
        if (!proto_matches(f, ir_ext_proto(in)) || !address_taken(g->func->module, f))
            continue;
        LLVMBasicBlockRef bb = gen_bb(g, "target");
        LLVMAddCase(sw, gen_i64(g, JIT_FUNC_HANDLE(f->index)), bb);
        LLVMPositionBuilderAtEnd(g->b, bb);
        call_emit(g, f, c, bits[0], bits[1]);
        LLVMBuildBr(g->b, next);
    }
    LLVMPositionBuilderAtEnd(g->b, bad);
    gen_fault(g, gen_mask32(g), HD_ILLEGAL_ADDRESS, one);
    LLVMBuildUnreachable(g->b);
    LLVMPositionBuilderAtEnd(g->b, next);
    LLVMValueRef more = LLVMBuildOr(g->b, LLVMBuildLoad2(g->b, g->t->i16, left[0], ""),
                                    LLVMBuildLoad2(g->b, g->t->i16, left[1], ""), "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, more, gen_ci(g->t->i16, 0), ""), loop,
                    end);
    LLVMPositionBuilderAtEnd(g->b, end);
    gen_masks_copy(g->mask, saved);
}

void gen_call(struct gen *g, const struct ir_instr *in)
{
    uint32_t first = in->op == IR_OP_CALLI ? 1 : 0;
    struct call c = {
        .args = area_new(g, in->nsrc),
        .results = area_new(g, in->ndst),
        .sp = callee_sp(g),
    };
    for (uint32_t s = first; s < in->nsrc; s++) {
        LLVMValueRef x[GEN_HALVES];
        gen_vector(g, in->src[s], x);
        area_store(g, c.args, s - first, in->src[s]->type, x, NULL);
    }
    for (uint32_t d = 0; d < in->ndst; d++) {
        enum ir_type type = in->dst[d]->type;
        LLVMValueRef zero = LLVMConstNull(type == IR_PRED ? g->t->mask : memory_type(g, type));
        area_store(g, c.results, d, type, (LLVMValueRef[GEN_HALVES]){zero, zero}, NULL);
    }
    if (in->op == IR_OP_CALL)
        call_emit(g, in->callee, &c, gen_mask_bits(g, 0), gen_mask_bits(g, 1));
    else
        call_indirect(g, in, &c);
    gen_refresh_mask(g);
    for (uint32_t d = 0; d < in->ndst; d++)
        gen_set(g, in->dst[d], area_load(g, c.results, d, in->dst[d]->type));
}
