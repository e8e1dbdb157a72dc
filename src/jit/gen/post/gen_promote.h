/* Accesses of known words of shared memory, in LLVM's code: between gen_promote.c and the file that
 * finds them, gen_promote_access.c. */
#ifndef HD_JIT_GEN_POST_GEN_PROMOTE_H
#define HD_JIT_GEN_POST_GEN_PROMOTE_H

#include "jit/gen/post/gen_post.h"

enum { GEN_WORD_B = 4, GEN_WORDS_MAX = 4096 };

/* An access of shared memory: the words of its lanes, -1: that lane does not run. */
struct gen_promote_access {
    bool is_store;
    unsigned n;
    LLVMValueRef value; /* store: what; load: what lanes hold that do not run, NULL: anything */
    int word[GEN_LANES];
};

/* Is `i` an access of known words of the window? `cta`: the function's parameter, which has it. */
bool gen_promote_access_of(LLVMValueRef cta, LLVMValueRef i, struct gen_promote_access *out);
/* Is an address made from that of the window? */
bool gen_reaches_window(LLVMValueRef cta, LLVMValueRef v);
/* Of a vector of words, or a word: how many; 0: of another type. */
unsigned gen_promote_words_in(LLVMTypeRef type);
/* Where the window begins, as the address of a store to it has it. */
LLVMValueRef gen_window_start(LLVMValueRef store);

#endif
