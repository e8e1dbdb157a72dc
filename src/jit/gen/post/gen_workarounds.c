/*
 * Workarounds for faults of LLVM 19.
 *
 * It selects a wrong instruction for some masked three-operand logic on AVX-512:
 *
 *     y = select k, (x & c) | (y & ~c), y        with x from memory
 *
 * becomes vpternlogd with the truth table of another order of operands, when the value that is kept
 * where the mask is not set is also one of the three, and the load another. (Two of the patterns
 * for memory operands are mixed up; the C intrinsics show it as well.) So the two stay apart: what
 * is chosen goes through an empty piece of assembly, which costs nothing but the masking.
 */
#include <assert.h>
#include <string.h>

#include "jit/gen/post/gen_post.h"

enum { ELEMENTS_MAX = 256 };

static LLVMValueRef strip(LLVMValueRef v)
{
    while (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    return v;
}

static bool is_copysign(LLVMValueRef v)
{
    return LLVMIsAIntrinsicInst(v) &&
           LLVMGetIntrinsicID(LLVMGetCalledValue(v)) ==
               LLVMLookupIntrinsicID("llvm.copysign", strlen("llvm.copysign"));
}

static bool is_logic(LLVMValueRef v)
{
    return LLVMIsABinaryOperator(v) &&
           (LLVMGetInstructionOpcode(v) == LLVMAnd || LLVMGetInstructionOpcode(v) == LLVMOr ||
            LLVMGetInstructionOpcode(v) == LLVMXor);
}

/* Is `kept` an operand somewhere in an expression of logic? */
static bool is_operand(LLVMValueRef kept, LLVMValueRef expr, unsigned depth)
{
    enum { DEPTH = 4 }; /* three operands fit into one instruction */

    expr = strip(expr);
    if (expr == kept)
        return true;
    if (depth == DEPTH || !(is_logic(expr) || is_copysign(expr)))
        return false;
    return is_operand(kept, LLVMGetOperand(expr, 0), depth + 1) ||
           is_operand(kept, LLVMGetOperand(expr, 1), depth + 1);
}

static bool is_expression(LLVMValueRef v)
{
    return is_copysign(v) || (is_logic(v) && (is_logic(strip(LLVMGetOperand(v, 0))) ||
                                              is_logic(strip(LLVMGetOperand(v, 1)))));
}

/* Of a vector of whole bytes; 0: of anything else. */
static unsigned bits_of(LLVMTypeRef type)
{
    LLVMTypeRef elem;
    unsigned bits = 0;

    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return 0;
    elem = LLVMGetElementType(type);
    if (LLVMGetTypeKind(elem) == LLVMFloatTypeKind || LLVMGetTypeKind(elem) == LLVMDoubleTypeKind)
        bits = LLVMGetTypeKind(elem) == LLVMFloatTypeKind ? 32 : 64;
    else if (LLVMGetTypeKind(elem) == LLVMIntegerTypeKind)
        bits = LLVMGetIntTypeWidth(elem);
    return bits < 8 ? 0 : bits * LLVMGetVectorSize(type);
}

/* n elements of the vectors, one behind the other, from number `first` on. */
static LLVMValueRef elements(LLVMBuilderRef b, LLVMValueRef lo, LLVMValueRef hi, unsigned first,
                             unsigned n)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(lo)));
    LLVMValueRef which[ELEMENTS_MAX];

    assert(n <= ELEMENTS_MAX);
    for (unsigned i = 0; i < n; i++)
        which[i] = LLVMConstInt(i32, first + i, false);
    return LLVMBuildShuffleVector(b, lo, hi, LLVMConstVector(which, n), "");
}

/* Nothing is known of the result but that it is v, which a register of the class holds. */
static LLVMValueRef unknown(LLVMBuilderRef b, LLVMValueRef v, const char *class)
{
    LLVMTypeRef type = LLVMTypeOf(v), fn = LLVMFunctionType(type, &type, 1, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(fn, "", 0, class, strlen(class), false, false,
                                            LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(b, fn, nothing, &v, 1, "");
}

static LLVMValueRef apart_integer(LLVMBuilderRef b, LLVMValueRef v)
{
    return unknown(b, v, "=r,0");
}

/* Register by register. */
static LLVMValueRef apart(LLVMBuilderRef b, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    unsigned half = LLVMGetVectorSize(type) / 2;

    if (bits_of(type) > 512)
        return elements(b, apart(b, elements(b, v, v, 0, half)),
                        apart(b, elements(b, v, v, half, half)), 0, 2 * half);
    return unknown(b, v, "=v,0");
}

/* Whole registers, or vectors that are some of them. */
static bool is_whole(LLVMTypeRef type)
{
    unsigned bits = bits_of(type);

    return bits >= 128 && hd_is_pow2(bits) && LLVMGetVectorSize(type) <= ELEMENTS_MAX;
}

static bool work_around_select(LLVMBuilderRef b, LLVMValueRef select)
{
    bool changed = false;
    if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(select, 0))) != LLVMVectorTypeKind)
        return false;
    for (unsigned side = 1; side <= 2; side++) {
        LLVMValueRef chosen = LLVMGetOperand(select, side), expr = strip(chosen);
        LLVMValueRef kept = strip(LLVMGetOperand(select, 3 - side));

        if (!is_expression(expr) || !is_whole(LLVMTypeOf(expr)) || !is_operand(kept, expr, 0))
            continue;
        LLVMPositionBuilderBefore(b, select);
        expr = LLVMBuildBitCast(b, apart(b, expr), LLVMTypeOf(chosen), "");
        LLVMSetOperand(select, side, expr);
        changed = true;
    }
    return changed;
}

/*
 * ---- masks that are bits of integers, of which LLVM 19 never makes up its mind
 *
 * Its combiner turns logic of two such masks into the bits of integer logic; X86's own turns those
 * bits back where the bits of both operands are at hand as masks. Both find something to do for
 * ever. Other operands of the logic may turn out to be all ones or zeros on the way, and logic of
 * the masks' bits becomes logic of masks. So of two integers whose masks meet, one has a mask there
 * that nothing else uses: it is gone when the logic is one of integers.
 */

enum { MEET_MAX = 16, MEET_DEPTH = 6 };

/* Uses of masks of integers in one expression. */
struct meeting {
    LLVMValueRef user[MEET_MAX];
    unsigned side[MEET_MAX];
    unsigned n;
};

static bool is_mask_type(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           LLVMGetElementType(type) == LLVMInt1TypeInContext(LLVMGetTypeContext(type)) &&
           LLVMGetVectorSize(type) >= 8;
}

static bool is_integer(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind;
}

static bool is_mask_of_integer(LLVMValueRef v)
{
    return LLVMIsABitCastInst(v) && is_mask_type(LLVMTypeOf(v)) && is_integer(LLVMGetOperand(v, 0));
}

/* Logic of masks, or of integers that may be their bits. */
static bool is_junction(LLVMValueRef v)
{
    return is_mask_type(LLVMTypeOf(v)) ? is_logic(v) || LLVMIsASelectInst(v)
                                       : is_logic(v) && is_integer(v);
}

/* Puts the bits of masks elsewhere, or tests them. */
static bool is_way(LLVMValueRef v)
{
    if (LLVMIsAICmpInst(v))
        return true;
    return is_integer(v) && (LLVMIsABitCastInst(v) || LLVMIsAZExtInst(v) || LLVMIsATruncInst(v) ||
                             (LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMShl));
}

static void meet(struct meeting *m, LLVMValueRef v, unsigned depth)
{
    assert(depth <= MEET_DEPTH);
    for (unsigned side = 0; side < (unsigned)LLVMGetNumOperands(v); side++) {
        LLVMValueRef from = LLVMGetOperand(v, side);

        if (is_mask_of_integer(from) && m->n < MEET_MAX) {
            m->user[m->n] = v;
            m->side[m->n++] = side;
        } else if ((is_junction(from) || is_way(from)) && depth < MEET_DEPTH) {
            meet(m, from, depth + 1);
        }
    }
}

static bool is_apart(LLVMValueRef v)
{
    return LLVMIsACallInst(v) && LLVMIsAInlineAsm(LLVMGetCalledValue(v));
}

/* The expression's masks of other integers than the first become its own. */
static bool work_around_junction(LLVMBuilderRef b, LLVMValueRef junction)
{
    struct meeting m = {0};
    bool changed = false;
    LLVMValueRef mask, integer, first = NULL;

    meet(&m, junction, 0);
    for (unsigned i = 0; i < m.n; i++) {
        mask = LLVMGetOperand(m.user[i], m.side[i]);
        integer = LLVMGetOperand(mask, 0);
        if (!first)
            first = integer;
        if (integer == first || is_apart(integer))
            continue;
        LLVMPositionBuilderBefore(b, m.user[i]);
        mask = LLVMBuildBitCast(b, apart_integer(b, integer), LLVMTypeOf(mask), "");
        LLVMSetOperand(m.user[i], m.side[i], mask);
        changed = true;
    }
    return changed;
}

/* May the integer's bits be at hand as a mask? */
static bool has_mask(LLVMValueRef integer, unsigned depth)
{
    if (LLVMIsAConstant(integer))
        return true;
    for (LLVMUseRef use = LLVMGetFirstUse(integer); use; use = LLVMGetNextUse(use))
        if (is_mask_of_integer(LLVMGetUser(use)))
            return true;
    return depth < MEET_DEPTH && is_logic(integer) &&
           has_mask(LLVMGetOperand(integer, 0), depth + 1) &&
           has_mask(LLVMGetOperand(integer, 1), depth + 1);
}

/* Of the bits of integer logic. */
static bool work_around_mask(LLVMBuilderRef b, LLVMValueRef mask)
{
    LLVMValueRef logic = LLVMGetOperand(mask, 0), v;
    unsigned side;

    if (!is_logic(logic) || !has_mask(LLVMGetOperand(logic, 0), 0) ||
        !has_mask(LLVMGetOperand(logic, 1), 0))
        return false;
    side = LLVMIsAConstant(LLVMGetOperand(logic, 1)) ? 0 : 1;
    v = LLVMGetOperand(logic, side);
    LLVMPositionBuilderBefore(b, logic);
    LLVMSetOperand(logic, side, apart_integer(b, v));
    return true;
}

static bool work_around(LLVMBuilderRef b, LLVMValueRef i)
{
    bool changed = LLVMIsASelectInst(i) && work_around_select(b, i);
    if (is_junction(i))
        changed |= work_around_junction(b, i);
    else if (is_mask_of_integer(i))
        changed |= work_around_mask(b, i);
    return changed;
}

bool gen_workarounds(struct gen_unit *u)
{
    bool changed = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(u->mod));

    for (LLVMValueRef f = LLVMGetFirstFunction(u->mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
                changed |= work_around(b, i);
    LLVMDisposeBuilder(b);
    return changed;
}
