/*
 * Code that many places of a function need, as a function of its own: LLVM compiles it once. Quick
 * code calls it; the best code has it in every place, unless it is said to stay apart.
 *
 *     struct gen_apart apart = gen_apart_open(g, name, GEN_APART_QUICK, ret, params, n);
 *     if (apart.is_new)
 *         gen_apart_close(g, &apart, compute(g, LLVMGetParam(apart.fn, 0)));
 *     return gen_apart_call(g, &apart, args, n);
 *
 * Between open and close the builder is in the body, which has parameters and nothing else: no
 * blocks, no variables on the stack but its own. The name says all that its code depends on. It
 * has a frame pointer, so that who finds it in a fault finds its caller (dev/cpu/fault.c).
 */
#ifndef HD_JIT_GEN_GEN_APART_H
#define HD_JIT_GEN_GEN_APART_H

#include "jit/gen/gen.h"

enum gen_apart_kind {
    GEN_APART_QUICK,  /* in quick code */
    GEN_APART_ALWAYS, /* in any code */
};

struct gen_apart {
    LLVMTypeRef type;
    LLVMValueRef fn;
    bool is_new;
    LLVMBasicBlockRef saved; /* where the builder was */
};

struct gen_apart gen_apart_open(struct gen *g, const char *name, enum gen_apart_kind kind,
                                LLVMTypeRef ret, LLVMTypeRef *params, unsigned nparams);
/* `result`: NULL where it returns none. */
void gen_apart_close(struct gen *g, const struct gen_apart *apart, LLVMValueRef result);
LLVMValueRef gen_apart_call(struct gen *g, const struct gen_apart *apart, LLVMValueRef *args,
                            unsigned nargs);
/* Will the best code have its body in place of a call? */
bool gen_apart_is_inlined(struct gen_unit *u, LLVMValueRef fn);

#endif
