/*
 * Which words of shared memory an access of LLVM's code is to, where addresses are constants
 * behind the start of the window: gen_promote.c.
 */
#include <string.h>

#include "jit/gen/post/gen_promote.h"

enum { STRIP_DEPTH = 6, REACH_DEPTH = 10 };

static bool is_word(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMFloatTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 8 * GEN_WORD_B);
}

unsigned gen_promote_words_in(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return is_word(type);
    unsigned n = LLVMGetVectorSize(type);
    return is_word(LLVMGetElementType(type)) && n <= GEN_LANES ? n : 0;
}

static bool is_add(LLVMValueRef v)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAdd;
}

/* How many bytes the second operand of an address counts; 0: it is made in another way. */
static int64_t unit_of(LLVMValueRef v)
{
    if (is_add(v))
        return 1;
    if (!LLVMIsAGetElementPtrInst(v) || LLVMGetNumOperands(v) != 2)
        return 0;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(v);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) / 8 : 0;
}

static bool is_constant64(LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) == 64;
}

/* Takes constants off an address. */
static LLVMValueRef strip(LLVMValueRef v, int64_t *at)
{
    for (unsigned depth = 0; depth < STRIP_DEPTH; depth++) {
        int64_t unit = unit_of(v);
        if (!LLVMIsAIntToPtrInst(v)) {
            if (!unit || !is_constant64(LLVMGetOperand(v, 1)))
                return v;
            *at += unit * LLVMConstIntGetSExtValue(LLVMGetOperand(v, 1));
        }
        v = LLVMGetOperand(v, 0);
    }
    return v;
}

/* Is it where the shared window begins, as the CTA has it? */
static bool is_window(LLVMValueRef cta, LLVMValueRef v)
{
    int64_t at = 0;
    return LLVMIsALoadInst(v) && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind &&
           strip(LLVMGetOperand(v, 0), &at) == cta && at == offsetof(struct jit_cta, shared);
}

static bool reaches(LLVMValueRef cta, LLVMValueRef v, unsigned depth)
{
    if (!LLVMIsAInstruction(v))
        return false;
    if (LLVMIsALoadInst(v) || depth == REACH_DEPTH)
        return is_window(cta, v) || depth == REACH_DEPTH;
    for (int i = 0; i < LLVMGetNumOperands(v); i++) {
        if (reaches(cta, LLVMGetOperand(v, (unsigned)i), depth + 1))
            return true;
    }
    return false;
}

bool gen_reaches_window(LLVMValueRef cta, LLVMValueRef v)
{
    return reaches(cta, v, 0);
}

static bool word_at(int64_t at_B, int *out)
{
    *out = (int)(at_B / GEN_WORD_B);
    return at_B >= 0 && at_B % GEN_WORD_B == 0 && at_B / GEN_WORD_B < GEN_WORDS_MAX;
}

/* All lanes from `ptr` on. */
static bool places_in_row(LLVMValueRef cta, LLVMValueRef ptr, struct gen_promote_access *a)
{
    int64_t at = 0;
    if (!is_window(cta, strip(ptr, &at)))
        return false;
    for (unsigned i = 0; i < a->n; i++) {
        if (a->word[i] >= 0 && !word_at(at + GEN_WORD_B * (int64_t)i, &a->word[i]))
            return false;
    }
    return true;
}

/* What all lanes are: shuffle (insert anything, x, 0), anything, zero; NULL: not such. */
static LLVMValueRef splatted(LLVMValueRef v)
{
    LLVMValueRef x = LLVMIsAShuffleVectorInst(v) ? LLVMGetOperand(v, 0) : NULL;
    if (!x || !LLVMIsAInsertElementInst(x) || !LLVMIsAConstantInt(LLVMGetOperand(x, 2)) ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(x, 2)))
        return NULL;
    for (unsigned i = 0; i < LLVMGetNumMaskElements(v); i++) {
        if (LLVMGetMaskValue(v, i) > 0)
            return NULL;
    }
    return LLVMGetOperand(x, 1);
}

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* Takes constants off the address of one lane; NULL: it is made in another way. */
static LLVMValueRef strip_lane(LLVMValueRef v, unsigned lane, int64_t *at)
{
    for (unsigned depth = 0; is_vector(v) && depth < STRIP_DEPTH; depth++) {
        if (LLVMIsAShuffleVectorInst(v)) {
            v = splatted(v);
            if (!v)
                return NULL;
            continue;
        }
        int64_t unit = unit_of(v);
        if (!unit && !LLVMIsAIntToPtrInst(v))
            return NULL;
        LLVMValueRef step = unit ? LLVMGetOperand(v, 1) : NULL;
        if (step && is_vector(step))
            step = LLVMIsConstant(step) ? LLVMGetAggregateElement(step, lane) : NULL;
        if (unit && !(step && is_constant64(step)))
            return NULL;
        *at += step ? unit * LLVMConstIntGetSExtValue(step) : 0;
        v = LLVMGetOperand(v, 0);
    }
    return is_vector(v) ? NULL : strip(v, at);
}

/* Lanes at constant distances from a common address. */
static bool places_apart(LLVMValueRef cta, LLVMValueRef ptrs, struct gen_promote_access *a)
{
    for (unsigned i = 0; i < a->n; i++) {
        int64_t at = 0;
        LLVMValueRef base = a->word[i] < 0 ? NULL : strip_lane(ptrs, i, &at);
        if (a->word[i] >= 0 && (!base || !is_window(cta, base) || !word_at(at, &a->word[i])))
            return false;
    }
    return true;
}

/* Lanes that do not run get no word. */
static bool mask_take(LLVMValueRef mask, struct gen_promote_access *a)
{
    for (unsigned i = 0; i < a->n; i++) {
        LLVMValueRef lane = LLVMIsConstant(mask) ? LLVMGetAggregateElement(mask, i) : NULL;
        if (!lane || !LLVMIsAConstantInt(lane))
            return false;
        a->word[i] = LLVMConstIntGetZExtValue(lane) ? 0 : -1;
    }
    return true;
}

bool gen_promote_access_of(LLVMValueRef cta, LLVMValueRef i, struct gen_promote_access *a)
{
    bool scatters = gen_is_call_of(i, "llvm.masked.scatter");
    bool gathers = gen_is_call_of(i, "llvm.masked.gather");
    bool stores = gen_is_call_of(i, "llvm.masked.store");
    bool loads = gen_is_call_of(i, "llvm.masked.load");
    memset(a, 0, sizeof(*a));
    a->is_store = LLVMIsAStoreInst(i) || scatters || stores;
    if (!a->is_store && !LLVMIsALoadInst(i) && !gathers && !loads)
        return false;
    a->n = gen_promote_words_in(LLVMTypeOf(a->is_store ? LLVMGetOperand(i, 0) : i));
    if (!a->n)
        return false;
    LLVMValueRef ptr = LLVMGetOperand(i, a->is_store);
    a->value = a->is_store ? LLVMGetOperand(i, 0) : NULL;
    if (LLVMIsAStoreInst(i) || LLVMIsALoadInst(i))
        return !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic &&
               places_in_row(cta, ptr, a);
    if (!mask_take(LLVMGetOperand(i, a->is_store ? 3 : 2), a))
        return false;
    if (!a->is_store && !gen_is_nothing(LLVMGetOperand(i, 3)))
        a->value = LLVMGetOperand(i, 3);
    return scatters || gathers ? places_apart(cta, ptr, a) : places_in_row(cta, ptr, a);
}

LLVMValueRef gen_window_start(LLVMValueRef store)
{
    int64_t at = 0;
    LLVMValueRef ptr = LLVMGetOperand(store, 1);
    for (unsigned l = 0; is_vector(ptr) && l < GEN_LANES; l++) {
        LLVMValueRef window = strip_lane(ptr, l, &at);
        if (window)
            return window;
    }
    return strip(ptr, &at);
}
