/*
 * Gathers and scatters.
 *
 * A host that has an instruction for it gets one. For the others LLVM would make a branch per lane:
 * 32 blocks for every access, which predict badly and make every later pass of the compiler crawl.
 * Here lanes that do not run access a word of our own instead, so an access is straight code: one
 * select of addresses, then one scalar access per lane, in lane order (the last lane's value
 * stays). A function with very many of them calls a helper for the rest, one per element type, and
 * quick code calls one for each.
 */
#include "jit/gen/access/gen_lanes.h"
#include "jit/gen/gen_outline.h"

#include <assert.h>
#include <stdio.h>

/* Half-warp accesses that a function has in place, outside and inside loops; each is some 70 to 130
 * LLVM instructions. */
#define INLINE_MAX      32
#define INLINE_LOOP_MAX 96

/* Is there room for another one in place? What hardly ever runs needs none. */
static bool lanes_in_place(struct gen *g)
{
    if (g->cold)
        return false;
    bool loops = g->shapes.loops.loop_of[g->nodes[g->cur].block->id] != IR_NO_BLOCK;
    if (g->nlanes_inline >= (loops ? INLINE_LOOP_MAX : INLINE_MAX))
        return false;
    g->nlanes_inline++;
    return true;
}

bool gen_lanes_native(const struct gen *g, uint64_t size_B)
{
    return g->unit->avx512 && (size_B == 4 || size_B == 8);
}

/* A word that lanes without work read: constant, in the object. */
static LLVMValueRef lanes_spare_to_read(struct gen *g)
{
    LLVMValueRef word = LLVMGetNamedGlobal(g->unit->mod, "heddle_spare");
    if (word)
        return word;
    word = LLVMAddGlobal(g->unit->mod, g->t->i128, "heddle_spare");
    LLVMSetInitializer(word, LLVMConstNull(g->t->i128));
    LLVMSetLinkage(word, LLVMInternalLinkage);
    LLVMSetGlobalConstant(word, true);
    LLVMSetAlignment(word, 16);
    return word;
}

/*
 * Each lane's address, or that of the spare word where the mask is clear; <16 x i64>. Without an
 * instruction that blends vectors, lane by lane is cheaper.
 */
static LLVMValueRef lanes_addresses(struct gen *g, LLVMValueRef ptrs, LLVMValueRef mask,
                                    LLVMValueRef spare)
{
    assert(!mask || gen_is_mask(g, mask));
    LLVMValueRef at = LLVMBuildPtrToInt(g->b, ptrs, gen_vec(g, g->t->i64), "");
    if (!mask)
        return at;
    if (g->unit->path == JIT_GENERIC) {
        LLVMValueRef bits = gen_bits(g, mask), out = LLVMGetPoison(LLVMTypeOf(at));
        spare = LLVMBuildPtrToInt(g->b, spare, g->t->i64, "");
        for (unsigned l = 0; l < GEN_LANES; l++) {
            LLVMValueRef bit = LLVMBuildAnd(g->b, bits, gen_ci(g->t->bits, 1u << l), "");
            bit = LLVMBuildICmp(g->b, LLVMIntNE, bit, gen_no_bits(g), "");
            LLVMValueRef x = LLVMBuildExtractElement(g->b, at, gen_i32(g, l), "");
            x = LLVMBuildSelect(g->b, bit, x, spare, "");
            out = LLVMBuildInsertElement(g->b, out, x, gen_i32(g, l), "");
        }
        return out;
    }
    spare = gen_splat(g, LLVMBuildPtrToInt(g->b, spare, g->t->i64, ""));
    return LLVMBuildSelect(g->b, mask, at, spare, "");
}

static LLVMValueRef lane_ptr(struct gen *g, LLVMValueRef at, unsigned lane)
{
    LLVMValueRef x = LLVMBuildExtractElement(g->b, at, gen_i32(g, lane), "");
    return LLVMBuildIntToPtr(g->b, x, g->t->ptr, "");
}

static LLVMValueRef lanes_load_each(struct gen *g, LLVMTypeRef elem, LLVMValueRef at,
                                    unsigned align, bool strong)
{
    LLVMValueRef out = LLVMGetPoison(gen_vec(g, elem));
    for (unsigned l = 0; l < GEN_LANES; l++) {
        LLVMValueRef x = LLVMBuildLoad2(g->b, elem, lane_ptr(g, at, l), "");
        LLVMSetAlignment(x, align);
        LLVMSetVolatile(x, strong);
        out = LLVMBuildInsertElement(g->b, out, x, gen_i32(g, l), "");
    }
    return out;
}

static void lanes_store_each(struct gen *g, LLVMValueRef x, LLVMValueRef at, unsigned align,
                             bool strong)
{
    for (unsigned l = 0; l < GEN_LANES; l++) {
        LLVMValueRef v = LLVMBuildExtractElement(g->b, x, gen_i32(g, l), "");
        LLVMValueRef st = LLVMBuildStore(g->b, v, lane_ptr(g, at, l));
        LLVMSetAlignment(st, align);
        LLVMSetVolatile(st, strong);
    }
}

/* ---- out of line */

static void lanes_name_of(char name[48], const char *what, LLVMTypeRef elem, const char *how)
{
    snprintf(name, 48, "heddle_%s_%u%s", what, LLVMGetIntTypeWidth(elem), how);
}

/* Takes a constant off all addresses, which the function adds: a sum less for each call. */
static LLVMValueRef lanes_without_offset(struct gen *g, LLVMValueRef ptrs, LLVMValueRef *out_offset)
{
    LLVMValueRef sum = ptrs, more;

    *out_offset = gen_i64(g, 0);
    if (LLVMIsAIntToPtrInst(ptrs))
        sum = LLVMGetOperand(ptrs, 0);
    if (sum == ptrs || !LLVMIsABinaryOperator(sum) || LLVMGetInstructionOpcode(sum) != LLVMAdd)
        return ptrs;
    more = LLVMGetOperand(sum, 1);
    if (!LLVMIsAConstantDataVector(more))
        return ptrs;
    *out_offset = LLVMGetAggregateElement(more, 0);
    for (unsigned l = 1; l < GEN_LANES; l++) {
        if (LLVMGetAggregateElement(more, l) != *out_offset) {
            *out_offset = gen_i64(g, 0);
            return ptrs;
        }
    }
    return LLVMBuildIntToPtr(g->b, LLVMGetOperand(sum, 0), LLVMTypeOf(ptrs), "");
}

static LLVMValueRef lanes_with_offset(struct gen *g, LLVMValueRef ptrs, LLVMValueRef offset)
{
    return LLVMBuildGEP2(g->b, g->t->i8, ptrs, &offset, 1, "");
}

/*
 * Through memory where it hardly ever runs, which leaves all registers to the code around it; by
 * value beyond the limits above, where it may run as often as anything.
 */
static LLVMValueRef lanes_load_called(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs,
                                      LLVMValueRef mask, unsigned align)
{
    LLVMTypeRef vt = gen_vec(g, elem),
                params[] = {LLVMTypeOf(ptrs), g->t->i64, g->t->bits, g->t->ptr};
    LLVMValueRef args[4], x;
    char name[48];

    assert(LLVMGetIntTypeWidth(elem) <= 128);
    args[0] = lanes_without_offset(g, ptrs, &args[1]);
    args[2] = mask ? gen_bits(g, mask) : gen_full_bits(g);
    if (g->cold && !g->lane_values)
        g->lane_values = gen_alloca(g, LLVMArrayType2(g->t->i128, GEN_LANES), 64, "");
    args[3] = g->lane_values;
    lanes_name_of(name, "gather", elem, g->cold ? "_cold" : "");
    struct gen_outline outline =
        g->cold ? gen_outline_open(g, name, GEN_OUTLINE_COLD, g->t->void_, params, 4)
                : gen_outline_open(g, name, GEN_OUTLINE_ALWAYS, vt, params, 3);
    if (outline.is_new) {
        LLVMValueRef m = gen_mask_from_bits(g, LLVMGetParam(outline.fn, 2));
        LLVMValueRef at =
            lanes_with_offset(g, LLVMGetParam(outline.fn, 0), LLVMGetParam(outline.fn, 1));
        at = lanes_addresses(g, at, m, lanes_spare_to_read(g));
        x = lanes_load_each(g, elem, at, align, true);
        if (g->cold)
            LLVMSetAlignment(LLVMBuildStore(g->b, x, LLVMGetParam(outline.fn, 3)), 64);
        gen_outline_close(g, &outline, g->cold ? NULL : x);
    }
    x = gen_outline_call(g, &outline, args, g->cold ? 4 : 3);
    if (!g->cold)
        return x;
    x = LLVMBuildLoad2(g->b, vt, g->lane_values, "");
    LLVMSetAlignment(x, 64);
    return x;
}

static void lanes_store_called(struct gen *g, LLVMValueRef x, LLVMValueRef ptrs, LLVMValueRef mask,
                               unsigned align)
{
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(x));
    LLVMTypeRef params[] = {LLVMTypeOf(ptrs), LLVMTypeOf(x), g->t->i64, g->t->bits};
    LLVMValueRef offset;
    ptrs = lanes_without_offset(g, ptrs, &offset);
    LLVMValueRef args[] = {ptrs, x, offset, mask ? gen_bits(g, mask) : gen_full_bits(g)};
    char name[48];

    lanes_name_of(name, "scatter", elem, g->cold ? "_cold" : "");
    struct gen_outline outline = gen_outline_open(
        g, name, g->cold ? GEN_OUTLINE_COLD : GEN_OUTLINE_ALWAYS, g->t->void_, params, 4);
    if (outline.is_new) {
        LLVMValueRef m = gen_mask_from_bits(g, LLVMGetParam(outline.fn, 3));
        LLVMValueRef spare = LLVMBuildAlloca(g->b, g->t->i128, "spare");
        LLVMValueRef at =
            lanes_with_offset(g, LLVMGetParam(outline.fn, 0), LLVMGetParam(outline.fn, 2));
        at = lanes_addresses(g, at, m, spare);
        lanes_store_each(g, LLVMGetParam(outline.fn, 1), at, align, true);
        gen_outline_close(g, &outline, NULL);
    }
    gen_outline_call(g, &outline, args, 4);
}

/* In place in the best code. `at`: <16 x i64>, of all lanes. */
static LLVMValueRef lanes_load_each_outlined(struct gen *g, LLVMTypeRef elem, LLVMValueRef at,
                                             unsigned align, bool strong)
{
    LLVMTypeRef params[] = {LLVMTypeOf(at)};
    char name[48];

    lanes_name_of(name, "load_each", elem, strong ? "_strong" : "");
    struct gen_outline outline =
        gen_outline_open(g, name, GEN_OUTLINE_QUICK, gen_vec(g, elem), params, 1);
    if (outline.is_new)
        gen_outline_close(g, &outline,
                          lanes_load_each(g, elem, LLVMGetParam(outline.fn, 0), align, strong));
    return gen_outline_call(g, &outline, &at, 1);
}

static void lanes_store_each_outlined(struct gen *g, LLVMValueRef x, LLVMValueRef at,
                                      unsigned align, bool strong)
{
    LLVMTypeRef params[] = {LLVMTypeOf(x), LLVMTypeOf(at)};
    LLVMValueRef args[] = {x, at};
    char name[48];

    lanes_name_of(name, "store_each", LLVMGetElementType(LLVMTypeOf(x)), strong ? "_strong" : "");
    struct gen_outline outline =
        gen_outline_open(g, name, GEN_OUTLINE_QUICK, g->t->void_, params, 2);
    if (outline.is_new) {
        lanes_store_each(g, LLVMGetParam(outline.fn, 0), LLVMGetParam(outline.fn, 1), align,
                         strong);
        gen_outline_close(g, &outline, NULL);
    }
    gen_outline_call(g, &outline, args, 2);
}

/* ---- */

static bool lanes_is_int_vector(LLVMTypeRef elem)
{
    return LLVMGetTypeKind(elem) == LLVMIntegerTypeKind;
}

static LLVMValueRef lanes_gather_native(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs,
                                        LLVMValueRef mask, unsigned align)
{
    assert(!mask || gen_is_mask(g, mask));
    LLVMTypeRef vt = gen_vec(g, elem);
    LLVMTypeRef over[] = {vt, LLVMTypeOf(ptrs)};
    if (!mask)
        mask = gen_splat_const(g, g->t->i1, 1);
    LLVMValueRef args[] = {ptrs, gen_i32(g, align), mask, LLVMConstNull(vt)};
    return gen_intrinsic(g, "llvm.masked.gather", over, 2, args, 4);
}

LLVMValueRef gen_gather(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs, LLVMValueRef mask,
                        uint64_t size_B, bool strong)
{
    assert(lanes_is_int_vector(elem) && LLVMGetIntTypeWidth(elem) == 8 * size_B);
    if (gen_lanes_native(g, size_B))
        return lanes_gather_native(g, elem, ptrs, mask, (unsigned)size_B);
    if (!lanes_in_place(g))
        return lanes_load_called(g, elem, ptrs, mask, (unsigned)size_B);
    LLVMValueRef at = lanes_addresses(g, ptrs, mask, lanes_spare_to_read(g));
    return lanes_load_each_outlined(g, elem, at, (unsigned)size_B, strong);
}

/* Where lanes without work store: on the stack, one per function. */
static LLVMValueRef lanes_spare_to_write(struct gen *g)
{
    if (!g->spare)
        g->spare = gen_alloca(g, g->t->i128, 16, "spare");
    return g->spare;
}

void gen_scatter(struct gen *g, LLVMValueRef x, LLVMValueRef ptrs, LLVMValueRef mask,
                 uint64_t size_B, bool strong)
{
    assert(LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(x))) == 8 * size_B);
    if (gen_lanes_native(g, size_B)) {
        LLVMTypeRef over[] = {LLVMTypeOf(x), LLVMTypeOf(ptrs)};
        if (!mask)
            mask = gen_splat_const(g, g->t->i1, 1);
        LLVMValueRef args[] = {x, ptrs, gen_i32(g, size_B), mask};
        gen_intrinsic(g, "llvm.masked.scatter", over, 2, args, 4);
        return;
    }
    if (!lanes_in_place(g)) {
        lanes_store_called(g, x, ptrs, mask, (unsigned)size_B);
        return;
    }
    LLVMValueRef at = lanes_addresses(g, ptrs, mask, mask ? lanes_spare_to_write(g) : NULL);
    lanes_store_each_outlined(g, x, at, (unsigned)size_B, strong);
}

/* ---- contiguous */

static bool lanes_masked_native(const struct gen *g, uint64_t size_B)
{
    if (g->unit->path == JIT_AVX512)
        return size_B <= 8;
    return g->unit->path == JIT_AVX2 && (size_B == 4 || size_B == 8);
}

static LLVMValueRef lane_ptrs(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr)
{
    LLVMValueRef index = gen_lanes(g, g->t->i64, 1);
    return LLVMBuildGEP2(g->b, elem, ptr, &index, 1, "");
}

/* Both sides of "every lane runs"; the builder is left in `full`. */
struct split {
    LLVMBasicBlockRef full, part, join;
};

static struct split lanes_split_full(struct gen *g, LLVMValueRef mask)
{
    assert(gen_is_mask(g, mask) && !LLVMIsConstant(mask));
    struct split s = {gen_bb(g, "full"), gen_bb(g, "part"), gen_bb(g, "join")};
    LLVMValueRef all = LLVMBuildICmp(g->b, LLVMIntEQ, gen_bits(g, mask), gen_full_bits(g), "");
    LLVMBuildCondBr(g->b, all, s.full, s.part);
    LLVMPositionBuilderAtEnd(g->b, s.full);
    return s;
}

static LLVMValueRef lanes_plain_load(struct gen *g, LLVMTypeRef vt, LLVMValueRef ptr,
                                     uint64_t size_B)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, vt, ptr, "");
    LLVMSetAlignment(x, (unsigned)size_B);
    return x;
}

LLVMValueRef gen_masked_load(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, LLVMValueRef mask,
                             uint64_t size_B)
{
    LLVMTypeRef vt = gen_vec(g, elem);
    if (!mask)
        return lanes_plain_load(g, vt, ptr, size_B);
    if (lanes_masked_native(g, size_B)) {
        LLVMTypeRef over[] = {vt, g->t->ptr};
        LLVMValueRef args[] = {ptr, gen_i32(g, size_B), mask, LLVMConstNull(vt)};
        return gen_intrinsic(g, "llvm.masked.load", over, 2, args, 4);
    }
    struct split s = lanes_split_full(g, mask);
    LLVMValueRef x[2];
    x[0] = lanes_plain_load(g, vt, ptr, size_B);
    LLVMBuildBr(g->b, s.join);
    LLVMPositionBuilderAtEnd(g->b, s.part);
    x[1] = gen_gather(g, elem, lane_ptrs(g, elem, ptr), mask, size_B, false);
    LLVMBuildBr(g->b, s.join);
    LLVMPositionBuilderAtEnd(g->b, s.join);
    LLVMValueRef phi = LLVMBuildPhi(g->b, vt, "");
    LLVMAddIncoming(phi, x, (LLVMBasicBlockRef[]){s.full, s.part}, 2);
    return phi;
}

void gen_masked_store(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef mask,
                      uint64_t size_B)
{
    LLVMTypeRef vt = LLVMTypeOf(x);
    if (!mask) {
        gen_plain_store(g, x, ptr, size_B);
        return;
    }
    if (lanes_masked_native(g, size_B) || LLVMIsConstant(mask)) { /* a constant costs no branches */
        LLVMTypeRef over[] = {vt, g->t->ptr};
        LLVMValueRef args[] = {x, ptr, gen_i32(g, size_B), mask};
        gen_intrinsic(g, "llvm.masked.store", over, 2, args, 4);
        return;
    }
    struct split s = lanes_split_full(g, mask);
    LLVMSetAlignment(LLVMBuildStore(g->b, x, ptr), (unsigned)size_B);
    LLVMBuildBr(g->b, s.join);
    LLVMPositionBuilderAtEnd(g->b, s.part);
    gen_scatter(g, x, lane_ptrs(g, LLVMGetElementType(vt), ptr), mask, size_B, false);
    LLVMBuildBr(g->b, s.join);
    LLVMPositionBuilderAtEnd(g->b, s.join);
}
