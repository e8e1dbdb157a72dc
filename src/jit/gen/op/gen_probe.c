/*
 * Probes (ir/probe.h): services->probe is told what the lanes come to, out of line, unless the
 * launch says that every address of theirs is fine (jit_launch.ranges). The test is made for each
 * form of address in its own way: scalars for the first and the last lane, or all lanes. What lanes
 * that do not run would access may fail it; then the service finds nothing wrong.
 */
#include "ir/probe.h"
#include "jit/gen/access/gen_access.h"

static LLVMValueRef wide(struct gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    bool vec = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    return LLVMBuildZExt(g->b, x, vec ? gen_vec(g, g->t->i64) : g->t->i64, "");
}

/* ---- what is known to be fine */

/* First address, and how many bytes behind it an access may begin; the latter is 0 at first. */
struct room {
    LLVMValueRef va, size_B;
};

static struct room room_of(struct gen *g, uint64_t access_B)
{
    LLVMValueRef ranges =
        gen_load_ctx(g, g->t->ptr, g->launch, offsetof(struct jit_launch, ranges));
    LLVMValueRef range =
        gen_gep(g, ranges, (uint64_t)gen_srcloc(g) * sizeof(struct ir_probe_range));
    LLVMValueRef at_size = gen_gep(g, range, offsetof(struct ir_probe_range, size_B));
    LLVMValueRef size = LLVMBuildLoad2(g->b, g->t->i64, at_size, "");
    LLVMSetOrdering(size, LLVMAtomicOrderingAcquire); /* va was written before */
    LLVMSetAlignment(size, 8);
    LLVMValueRef args[] = {size, gen_i64(g, access_B - 1)};
    return (struct room){
        .va = LLVMBuildLoad2(g->b, g->t->i64, range, ""),
        .size_B = gen_intrinsic(g, "llvm.usub.sat", &g->t->i64, 1, args, 2),
    };
}

/*
 * Addresses of windows may have 32 bits. They wrap together with the constant offset, so distances
 * are in their width as well.
 */
static LLVMValueRef distance(struct gen *g, LLVMValueRef x, LLVMValueRef va)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    bool vec = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    va = LLVMBuildTrunc(g->b, va, vec ? LLVMGetElementType(type) : type, "");
    return wide(g, LLVMBuildSub(g->b, x, vec ? gen_splat(g, va) : va, ""));
}

/* i1: a scalar address is outside. */
static LLVMValueRef is_outside(struct gen *g, const struct room *room, LLVMValueRef x)
{
    return LLVMBuildICmp(g->b, LLVMIntUGE, distance(g, x, room->va), room->size_B, "");
}

/* From the first lane of a half to the last. */
static int64_t span_B(const struct gen_val *val)
{
    return val->stride * (GEN_LANES - 1);
}

/* Lanes in line: the first and the last of each half. */
static LLVMValueRef ends_outside(struct gen *g, const struct room *room, const struct gen_val *val)
{
    LLVMValueRef any = gen_ci(g->t->i1, 0),
                 last = LLVMConstInt(LLVMTypeOf(val->c[0]), (uint64_t)span_B(val), true);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x = val->c[h];
        any = LLVMBuildOr(g->b, any, is_outside(g, room, x), "");
        x = LLVMBuildAdd(g->b, x, last, "");
        any = LLVMBuildOr(g->b, any, is_outside(g, room, x), "");
    }
    return any;
}

static LLVMValueRef lanes_outside(struct gen *g, const struct room *room, const struct ir_value *v)
{
    LLVMValueRef x[GEN_HALVES], any = gen_no_bits(g);
    gen_vector(g, v, x);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at = distance(g, x[h], room->va);
        at = LLVMBuildICmp(g->b, LLVMIntUGE, at, gen_splat(g, room->size_B), "");
        at = gen_bits(g, LLVMBuildAnd(g->b, at, gen_mask_or_full(g, h), ""));
        any = LLVMBuildOr(g->b, any, at, "");
    }
    return LLVMBuildICmp(g->b, LLVMIntNE, any, gen_no_bits(g), "");
}

/* i1: the service has to be told. */
static LLVMValueRef is_to_notify(struct gen *g, const struct ir_instr *in, uint64_t size_B)
{
    struct room room = room_of(g, size_B);
    struct gen_val val = gen_get(g, in->src[0]);
    if (val.kind == IR_SHAPE_UNIFORM)
        return is_outside(g, &room, val.c[0]);
    /* Lanes between two that are inside are inside, unless they go all the way round. */
    if (val.kind == IR_SHAPE_AFFINE && span_B(&val) == (int32_t)span_B(&val))
        return ends_outside(g, &room, &val);
    return lanes_outside(g, &room, in->src[0]);
}

/* ---- telling */

/* The operands as words. Made before the test, because later code may use what it needed. */
struct words {
    LLVMValueRef x[IR_PROBE_OPERANDS_MAX][GEN_HALVES];
};

static LLVMValueRef plus_offset(struct gen *g, LLVMValueRef address, int64_t offset)
{
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(address));
    return LLVMBuildAdd(g->b, address, gen_splat_const(g, type, (uint64_t)offset), "");
}

static void words_make(struct gen *g, const struct ir_instr *in, struct words *words)
{
    assert(in->nsrc <= IR_PROBE_OPERANDS_MAX);
    for (uint32_t i = 0; i < in->nsrc; i++) {
        LLVMValueRef *x = words->x[i];
        gen_vector(g, in->src[i], x);
        for (int h = 0; h < gen_halves(g); h++) {
            if (!i && in->mem.offset)
                x[h] = plus_offset(g, x[h], in->mem.offset);
            if (ir_type_bits(in->src[i]->type) < 64)
                x[h] = wide(g, x[h]);
        }
    }
}

/* 32 words for operand i; one set serves all probes of a function. */
static LLVMValueRef operand_store(struct gen *g, LLVMValueRef const *words, int first, uint32_t i)
{
    int n = HD_MIN(gen_halves(g) - first, 2);
    if (!g->probe_lanes[i])
        g->probe_lanes[i] = gen_new_array(g, IR_B64);
    for (int h = 0; h < n; h++)
        LLVMBuildStore(g->b, words[first + h],
                       gen_gep(g, g->probe_lanes[i], (uint64_t)h * 8 * GEN_LANES));
    return g->probe_lanes[i];
}

LLVMValueRef gen_probe_lanes(struct gen *g, LLVMValueRef const words[GEN_HALVES], int warp)
{
    return operand_store(g, words, 2 * warp, 0);
}

static void notify(struct gen *g, const struct ir_instr *in, const struct words *words)
{
    LLVMTypeRef table = LLVMArrayType2(g->t->ptr, IR_PROBE_OPERANDS_MAX + 1);
    if (!g->probe_operands)
        g->probe_operands = gen_alloca(g, table, 8, "operands");
    for (uint32_t i = 0; i < in->nsrc; i++)
        LLVMBuildStore(g->b, operand_store(g, words->x[i], 0, i),
                       gen_gep(g, g->probe_operands, 8ull * i));
    LLVMBuildStore(g->b, LLVMConstNull(g->t->ptr), gen_gep(g, g->probe_operands, 8ull * in->nsrc));
    LLVMValueRef args[] = {gen_mask32(g), gen_i32(g, gen_srcloc(g)), g->probe_operands};
    gen_service(g, offsetof(struct jit_services, probe), g->t->void_, args, 3);
}

void gen_probe(struct gen *g, const struct ir_instr *in)
{
    uint64_t size_B = in->op == IR_OP_PROBE_ACCESS ? ir_probe_size_B(in) : 0;
    struct words words;
    if (gen_count(g, in))
        return;
    words_make(g, in, &words);
    if (size_B && gen_count_access(g, in, words.x[0]))
        return;
    if (!size_B || g->func->module->has_counts) {
        notify(g, in, &words);
        return;
    }
    LLVMBasicBlockRef cold = gen_bb(g, "tell"), on = gen_bb(g, "told");
    gen_cond_br_cold(g, is_to_notify(g, in, size_B), cold, on);
    LLVMPositionBuilderAtEnd(g->b, cold);
    notify(g, in, &words);
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, on);
}
