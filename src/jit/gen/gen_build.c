/*
 * Types, constants, and what instructions of all kinds are built with.
 */
#include "jit/gen/gen.h"

#include <assert.h>
#include <string.h>

LLVMTypeRef gen_scalar_type(struct gen *g, enum ir_type type)
{
    switch (ir_type_bits(type)) {
    case 1:
        return g->t->i1;
    case 8:
        return g->t->i8;
    case 16:
        return g->t->i16;
    case 32:
        return g->t->i32;
    case 64:
        return g->t->i64;
    default:
        return g->t->i128;
    }
}

LLVMTypeRef gen_vec(struct gen *g, LLVMTypeRef elem)
{
    return LLVMVectorType(elem, GEN_LANES);
}

LLVMTypeRef gen_float_type(struct gen *g, enum ir_type type)
{
    return type == IR_F64 ? g->t->f64 : type == IR_F32 ? g->t->f32 : g->t->f16;
}

LLVMValueRef gen_ci(LLVMTypeRef type, uint64_t v)
{
    return LLVMConstInt(type, v, false);
}

LLVMValueRef gen_i32(struct gen *g, uint64_t v)
{
    return LLVMConstInt(g->t->i32, v, false);
}

LLVMValueRef gen_i64(struct gen *g, uint64_t v)
{
    return LLVMConstInt(g->t->i64, v, false);
}

LLVMValueRef gen_splat_const(struct gen *g, LLVMTypeRef elem, uint64_t v)
{
    LLVMValueRef lanes[GEN_LANES];
    for (unsigned i = 0; i < GEN_LANES; i++)
        lanes[i] = LLVMConstInt(elem, v, false);
    return LLVMConstVector(lanes, GEN_LANES);
}

LLVMValueRef gen_splat(struct gen *g, LLVMValueRef scalar)
{
    assert(LLVMGetTypeKind(LLVMTypeOf(scalar)) != LLVMVectorTypeKind);
    if (LLVMIsConstant(scalar)) {
        LLVMValueRef lanes[GEN_LANES];
        for (unsigned i = 0; i < GEN_LANES; i++)
            lanes[i] = scalar;
        return LLVMConstVector(lanes, GEN_LANES);
    }
    LLVMTypeRef vt = gen_vec(g, LLVMTypeOf(scalar));
    LLVMValueRef v = LLVMBuildInsertElement(g->b, LLVMGetPoison(vt), scalar, gen_i32(g, 0), "");
    LLVMValueRef zeros = gen_splat_const(g, g->t->i32, 0);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(vt), zeros, "");
}

LLVMValueRef gen_lanes(struct gen *g, LLVMTypeRef elem, int64_t stride)
{
    LLVMValueRef lanes[GEN_LANES];
    for (unsigned i = 0; i < GEN_LANES; i++)
        lanes[i] = LLVMConstInt(elem, (uint64_t)(stride * i), true);
    return LLVMConstVector(lanes, GEN_LANES);
}

LLVMValueRef gen_intrinsic(struct gen *g, const char *name, LLVMTypeRef *overload,
                           unsigned noverload, LLVMValueRef *args, unsigned nargs)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    assert(id); /* LLVM knows the name */
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->unit->mod, id, overload, noverload);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->unit->ctx, id, overload, noverload);
    return LLVMBuildCall2(g->b, type, fn, args, nargs, "");
}

LLVMValueRef gen_call_rt_warp(struct gen *g, const char *name, LLVMTypeRef ret, LLVMValueRef *args,
                              unsigned nargs)
{
    LLVMTypeRef types[20];
    assert(nargs <= HD_COUNT_OF(types));
    for (unsigned i = 0; i < nargs; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(ret, types, nargs, false);
    LLVMValueRef fn = LLVMGetNamedFunction(g->unit->mod, name);
    if (!fn)
        fn = LLVMAddFunction(g->unit->mod, name, type);
    return LLVMBuildCall2(g->b, type, fn, args, nargs, "");
}

LLVMValueRef gen_call_rt(struct gen *g, const char *name, LLVMTypeRef ret, LLVMValueRef *args,
                         unsigned nargs)
{
    (void)gen_singly(g);
    return gen_call_rt_warp(g, name, ret, args, nargs);
}

LLVMValueRef gen_alloca(struct gen *g, LLVMTypeRef type, unsigned align, const char *name)
{
    LLVMValueRef a = LLVMBuildAlloca(g->alloca_builder, type, name);
    if (align)
        LLVMSetAlignment(a, align);
    return a;
}

LLVMValueRef gen_opaque(struct gen *g, LLVMValueRef ptr)
{
    LLVMTypeRef type = LLVMFunctionType(g->t->ptr, &g->t->ptr, 1, false);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(type, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, nothing, &ptr, 1, "");
}

LLVMValueRef gen_gep(struct gen *g, LLVMValueRef ptr, uint64_t offset_B)
{
    if (!offset_B)
        return ptr;
    LLVMValueRef index = gen_i64(g, offset_B);
    return LLVMBuildGEP2(g->b, g->t->i8, ptr, &index, 1, "");
}

/* Launch facts never change while the kernel runs. */
LLVMValueRef gen_load_ctx(struct gen *g, LLVMTypeRef type, LLVMValueRef base, uint64_t offset_B)
{
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, gen_gep(g, base, offset_B), "");
    LLVMSetMetadata(v, g->unit->md_invariant,
                    LLVMMetadataAsValue(g->unit->ctx, LLVMMDNodeInContext2(g->unit->ctx, NULL, 0)));
    return v;
}

LLVMBasicBlockRef gen_bb(struct gen *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->unit->ctx, g->fn, name);
}
