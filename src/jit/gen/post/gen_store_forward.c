/*
 * Store-to-load forwarding: what a block has stored it does not load again.
 *
 * The last levels of a tree in shared memory run for the first warp only, one behind the other:
 * each loads parts of what the one before has stored. LLVM sees that for whole values; here parts
 * of a vector are taken out of the register by a permute, and the chain from level to level is one
 * addition and one permute instead of a store and the load that waits for it.
 *
 * Such a value is often the result of an operation on floats whose NaNs have been made canonical,
 * as bits in memory are. Where it goes into another operation on floats, which is made canonical
 * in its turn, the value before that does as well.
 */
#include <assert.h>
#include <string.h>

#include "jit/gen/post/gen_post.h"

enum { WORD_B = 4, WORDS = 64, STRIP_DEPTH = 4, NAN_BITS = 0x7fffffff };

/* 32 bits in memory, and the vector that holds them. */
struct word {
    int64_t at; /* bytes from the base */
    LLVMValueRef value;
    unsigned lane;
};

/* What is known of memory: all of it lies at one base. */
struct known {
    LLVMBuilderRef b;
    LLVMValueRef base;
    struct word words[WORDS];
    unsigned nwords;
};

static void forward_forget(struct known *k)
{
    k->base = NULL;
    k->nwords = 0;
}

static struct word *forward_word_at(struct known *k, int64_t at)
{
    for (unsigned i = 0; i < k->nwords; i++) {
        if (k->words[i].at == at)
            return &k->words[i];
    }
    return NULL;
}

static void forward_note(struct known *k, const struct gen_contiguous *a)
{
    if (a->base != k->base)
        forward_forget(k);
    k->base = a->base;
    for (unsigned i = 0; i < a->n; i++) {
        struct word *w = forward_word_at(k, a->at + WORD_B * (int64_t)i);
        if (!w && k->nwords == WORDS) /* the first, as they are no longer needed */
            memmove(k->words, k->words + 1, --k->nwords * sizeof(*w));
        w = w ? w : &k->words[k->nwords++];
        *w = (struct word){a->at + WORD_B * (int64_t)i, a->value, i};
    }
}

/* ---- what an instruction accesses */

/* Takes a constant off an address; false: it has none. */
static bool forward_strip(LLVMValueRef *p, int64_t *at)
{
    LLVMValueRef v = *p, k = NULL;
    if (LLVMIsAGetElementPtrInst(v) && LLVMGetNumOperands(v) == 2 &&
        LLVMGetGEPSourceElementType(v) == LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v))))
        k = LLVMGetOperand(v, 1);
    else if (LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAdd)
        k = LLVMGetOperand(v, 1);
    if (LLVMIsAIntToPtrInst(v)) {
        *p = LLVMGetOperand(v, 0);
        return true;
    }
    if (!k || !LLVMIsAConstantInt(k) || LLVMGetIntTypeWidth(LLVMTypeOf(k)) != 64)
        return false;
    *at += LLVMConstIntGetSExtValue(k);
    *p = LLVMGetOperand(v, 0);
    return true;
}

static void forward_place(struct gen_contiguous *a, LLVMValueRef ptr)
{
    a->base = ptr;
    for (unsigned depth = 0; depth < STRIP_DEPTH && forward_strip(&a->base, &a->at); depth++)
        ;
}

/* Vectors of words, as many as a warp has. */
static bool forward_is_words(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetVectorSize(type) > GEN_LANES)
        return false;
    LLVMTypeRef elem = LLVMGetElementType(type);
    LLVMTypeKind kind = LLVMGetTypeKind(elem);
    return kind == LLVMFloatTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(elem) == 8 * WORD_B);
}

static bool forward_is_plain(LLVMValueRef access)
{
    return !LLVMGetVolatile(access) && LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

bool gen_contiguous_of(LLVMValueRef i, struct gen_contiguous *out)
{
    LLVMValueRef mask = NULL, ptr;
    *out = (struct gen_contiguous){.is_store = LLVMIsAStoreInst(i) ||
                                               gen_is_call_of(i, "llvm.masked.store")};
    out->value = out->is_store ? LLVMGetOperand(i, 0) : i;
    if (LLVMIsAStoreInst(i) || LLVMIsALoadInst(i)) {
        ptr = LLVMGetOperand(i, out->is_store);
        if (!forward_is_plain(i))
            return false;
    } else if (out->is_store || gen_is_call_of(i, "llvm.masked.load")) {
        ptr = LLVMGetOperand(i, out->is_store);
        mask = LLVMGetOperand(i, out->is_store ? 3 : 2);
    } else {
        return false;
    }
    out->type = LLVMTypeOf(out->value);
    if (!forward_is_words(out->type) ||
        (mask && !out->is_store && !gen_is_nothing(LLVMGetOperand(i, 3))))
        return false;
    out->n = mask ? gen_prefix_of(mask) : LLVMGetVectorSize(out->type);
    forward_place(out, ptr);
    return out->n > 0;
}

bool gen_may_write(LLVMValueRef i)
{
    static const char name[] = "memory";
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op != LLVMCall)
        return op == LLVMStore || op == LLVMFence || op == LLVMAtomicRMW ||
               op == LLVMAtomicCmpXchg || (op == LLVMLoad && !forward_is_plain(i));
    if (gen_is_call_of(i, "llvm.masked.load"))
        return false;
    LLVMAttributeRef memory =
        LLVMGetCalledValue(i) && LLVMIsAFunction(LLVMGetCalledValue(i))
            ? LLVMGetEnumAttributeAtIndex(LLVMGetCalledValue(i), LLVMAttributeFunctionIndex,
                                          LLVMGetEnumAttributeKindForName(name, sizeof(name) - 1))
            : NULL;
    return !memory || LLVMGetEnumAttributeValue(memory);
}

/* ---- loads of what is known */

/* The vector that holds all words of a load, in order; *out_first: from which lane on. */
static LLVMValueRef forward_holder_of(struct known *k, const struct gen_contiguous *load,
                                      unsigned *out_first)
{
    const struct word *first = forward_word_at(k, load->at);
    if (load->base != k->base || !first ||
        LLVMGetVectorSize(LLVMTypeOf(first->value)) != LLVMGetVectorSize(load->type))
        return NULL;
    *out_first = first->lane;
    for (unsigned i = 1; i < load->n; i++) {
        const struct word *w = forward_word_at(k, load->at + WORD_B * (int64_t)i);
        if (!w || w->value != first->value || w->lane != first->lane + i)
            return NULL;
    }
    return first->value;
}

/*
 * Lanes from `first` on in front, of which the first n matter; the others stay as near as possible,
 * as moves inside 128 bits take one clock and others three.
 */
static LLVMValueRef forward_to_front(struct known *k, LLVMValueRef x, unsigned first, unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
    LLVMValueRef pick[GEN_LANES];
    unsigned size = LLVMGetVectorSize(LLVMTypeOf(x)), block = 1;
    assert(first + n <= size && size <= GEN_LANES);
    if (!first)
        return x;
    while (block < first + n)
        block *= 2;
    for (unsigned i = 0; i < size; i++)
        pick[i] = LLVMConstInt(i32, (i & ~(block - 1)) | ((i + first) & (block - 1)), false);
    return LLVMBuildShuffleVector(k->b, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(pick, size), "");
}

#define RANGE "llvm.x86.avx512.mask.range.ps.512"

static LLVMValueRef forward_without_bitcast(LLVMValueRef x)
{
    return LLVMIsABitCastInst(x) ? LLVMGetOperand(x, 0) : x;
}

static bool forward_is_float(LLVMValueRef x)
{
    return LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(x))) == LLVMFloatTypeKind;
}

/* All lanes of a constant that matter. */
static bool forward_is_canonical_nan(LLVMValueRef x)
{
    for (unsigned i = 0; LLVMIsConstant(x) && i < LLVMGetVectorSize(LLVMTypeOf(x)); i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(x, i);
        bool is_nan =
            lane && LLVMIsAConstantInt(lane) && LLVMConstIntGetZExtValue(lane) == NAN_BITS;
        if (!is_nan && !(lane && LLVMIsUndef(lane)))
            return false;
    }
    return LLVMIsConstant(x);
}

static bool forward_calls(LLVMValueRef x, const char *intrinsic)
{
    LLVMValueRef called = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
    size_t len;
    return called && !strcmp(LLVMGetValueName2(called, &len), intrinsic);
}

/* With AVX-512 in one operation: gen_canonical(). */
static LLVMValueRef forward_before_fix_up(LLVMValueRef x)
{
    x = forward_without_bitcast(x);
    if (!forward_calls(x, "llvm.x86.avx512.mask.fixupimm.ps.512"))
        return NULL;
    LLVMValueRef table = LLVMGetAggregateElement(LLVMGetOperand(x, 2), 0);
    return LLVMConstIntGetZExtValue(table) == GEN_FIX_NANS ? LLVMGetOperand(x, 1) : NULL;
}

/* The floats before their NaNs were made canonical: select (x uno 0), NaN, x; NULL: not such. */
LLVMValueRef gen_before_canonical(LLVMValueRef x)
{
    LLVMValueRef fixed = forward_before_fix_up(x);
    if (fixed)
        return fixed;
    if (!LLVMIsASelectInst(x) || !forward_is_canonical_nan(LLVMGetOperand(x, 1)))
        return NULL;
    LLVMValueRef test = LLVMGetOperand(x, 0), raw = forward_without_bitcast(LLVMGetOperand(x, 2));
    bool is_nan = LLVMIsAFCmpInst(test) && LLVMGetFCmpPredicate(test) == LLVMRealUNO &&
                  LLVMGetOperand(test, 0) == raw && LLVMIsConstant(LLVMGetOperand(test, 1));
    return is_nan && forward_is_float(raw) ? raw : NULL;
}

bool gen_computes_floats(LLVMValueRef i)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    return op == LLVMFAdd || op == LLVMFSub || op == LLVMFMul || forward_calls(i, RANGE);
}

static bool forward_only_computes(LLVMValueRef x)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use)) {
        if (!gen_computes_floats(LLVMGetUser(use)))
            return false;
    }
    return true;
}

/* Views of `load` as floats that only operations on floats read: they need no canonical NaNs. */
static void forward_raw(LLVMValueRef load, LLVMValueRef raw)
{
    LLVMUseRef next;
    if (forward_is_float(load)) {
        if (forward_only_computes(load))
            LLVMReplaceAllUsesWith(load, raw);
        return;
    }
    for (LLVMUseRef use = LLVMGetFirstUse(load); use; use = next) {
        LLVMValueRef view = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (LLVMIsABitCastInst(view) && LLVMTypeOf(view) == LLVMTypeOf(raw) &&
            forward_only_computes(view))
            LLVMReplaceAllUsesWith(view, raw);
    }
}

/* Replaces a load; false: not all that it reads is known. */
static bool forward(struct known *k, LLVMValueRef load, const struct gen_contiguous *a)
{
    unsigned first;
    LLVMValueRef x = forward_holder_of(k, a, &first);
    if (!x)
        return false;
    LLVMPositionBuilderBefore(k->b, load);
    LLVMValueRef raw = gen_before_canonical(x);
    if (raw)
        forward_raw(load, forward_to_front(k, raw, first, a->n));
    x = forward_to_front(k, x, first, a->n);
    LLVMReplaceAllUsesWith(load, LLVMBuildBitCast(k->b, x, a->type, ""));
    return true;
}

static bool forward_in(struct known *k, LLVMBasicBlockRef block)
{
    bool changed = false;
    LLVMValueRef next;
    forward_forget(k);
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
        struct gen_contiguous a;
        next = LLVMGetNextInstruction(i);
        bool known = gen_contiguous_of(i, &a);
        if (known && a.is_store) {
            forward_note(k, &a);
        } else if (gen_may_write(i)) {
            forward_forget(k);
        } else if (known && forward(k, i, &a)) {
            LLVMInstructionEraseFromParent(i);
            changed = true;
        }
    }
    return changed;
}

bool gen_store_forward(struct gen_unit *u)
{
    bool changed = false;
    struct known k = {.b = LLVMCreateBuilderInContext(LLVMGetModuleContext(u->mod))};

    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            changed |= forward_in(&k, b);
    }
    LLVMDisposeBuilder(k.b);
    return changed;
}
