/*
 * Rewriters of LLVM IR, behind LLVM's optimiser, and what they have in common.
 *
 * The POST rows of spec/gen_passes.def say which there are, in which order they run, and when. Each
 * is a function that looks at all of the module and says whether it has changed anything. One that
 * runs out of memory sets the unit's `no_memory`; the code is thrown away then.
 */
#ifndef HD_JIT_GEN_POST_GEN_POST_H
#define HD_JIT_GEN_POST_GEN_POST_H

#include "jit/gen/gen.h"

/* Runs them, in the best code or in quick code; what they have changed is in out->post_text with
 * HEDDLE_DEBUG=post. HD_NO_MEMORY; HD_JIT: the verifier, if asked for, found what one of them
 * broke. */
enum hd_status gen_post_run(struct gen_unit *u, bool quick, struct gen_result *out);
/* HD_JIT: the module is no valid LLVM IR behind `after`; HD_OK if nobody asked for the verifier. */
enum hd_status gen_post_verify(const struct gen_unit *u, const char *after, struct gen_result *out);

#define POST(run, ...) bool run(struct gen_unit *u);
#include "gen_passes.def"

/* ---- gen_prefix.c */
bool gen_is_call_of(LLVMValueRef v, const char *name);
/* Every instruction of the unit for which `by` has built something else before it: that takes its
 * place. True: there was one. */
typedef bool gen_replace(LLVMBuilderRef b, LLVMValueRef instr);
bool gen_replace_all(struct gen_unit *u, gen_replace *by);
/* How many lanes, from the first on, a constant mask has, when that is a power of two and not all;
 * 0: else. */
unsigned gen_prefix_of(LLVMValueRef mask);
/* Does it not matter what the lanes hold that a masked load leaves out? */
bool gen_is_nothing(LLVMValueRef passthru);

/* ---- gen_store_forward.c */
/* An access of `n` words at `at` bytes from a base, the first words of a value of `type`. */
struct gen_contiguous {
    bool is_store;
    LLVMValueRef value, base;
    LLVMTypeRef type;
    int64_t at;
    unsigned n;
};
bool gen_contiguous_of(LLVMValueRef i, struct gen_contiguous *out);
/* May it write to memory, or order accesses? */
bool gen_may_write(LLVMValueRef i);
/* The floats before their NaNs were made canonical; NULL: not such. */
LLVMValueRef gen_before_canonical(LLVMValueRef x);
/* An operation on floats that needs no canonical NaNs, as its own are made canonical? */
bool gen_computes_floats(LLVMValueRef i);

#endif
