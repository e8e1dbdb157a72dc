/*
 * Outlined code: what many places of a function need, as a function of its own, which LLVM
 * compiles once. Quick code calls it; the best code has it inlined, unless it is for all code.
 *
 *     struct gen_outline outline = gen_outline_open(g, name, GEN_OUTLINE_QUICK, ret, params, n);
 *     if (outline.is_new)
 *         gen_outline_close(g, &outline, compute(g, LLVMGetParam(outline.fn, 0)));
 *     return gen_outline_call(g, &outline, args, n);
 *
 * Between open and close the builder is in the body, which has parameters and nothing else: no
 * blocks, no variables on the stack but its own. The name says all that its code depends on. It
 * has a frame pointer, so that who finds it in a fault finds its caller (dev/cpu/fault/fault.c).
 */
#ifndef HD_JIT_GEN_GEN_OUTLINE_H
#define HD_JIT_GEN_GEN_OUTLINE_H

#include "jit/gen/gen.h"

enum gen_outline_kind {
    GEN_OUTLINE_QUICK,  /* called in quick code only */
    GEN_OUTLINE_ALWAYS, /* called in any code */
    GEN_OUTLINE_COLD,   /* called in any code, hardly ever: it returns nothing, and without AVX-512
                           it keeps all registers, so that it costs the code around it none */
};

struct gen_outline {
    LLVMTypeRef type;
    LLVMValueRef fn;
    bool is_new;
    LLVMBasicBlockRef saved; /* where the builder was */
};

struct gen_outline gen_outline_open(struct gen *g, const char *name, enum gen_outline_kind kind,
                                    LLVMTypeRef ret, LLVMTypeRef *params, unsigned nparams);
/* `result`: NULL where it returns none. */
void gen_outline_close(struct gen *g, const struct gen_outline *outline, LLVMValueRef result);
LLVMValueRef gen_outline_call(struct gen *g, const struct gen_outline *outline, LLVMValueRef *args,
                              unsigned nargs);
/* Will the best code have its body in place of a call? */
bool gen_outline_is_inlined(struct gen_unit *u, LLVMValueRef fn);

#endif
