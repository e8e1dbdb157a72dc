/*
 * Whether the lanes of a value are in line, from what it is computed of: gen_line.c.
 */
#ifndef HD_JIT_GEN_ACCESS_GEN_LINE_H
#define HD_JIT_GEN_ACCESS_GEN_LINE_H

#include "jit/gen/gen.h"

/*
 * *out (i1): lanes of `v` are not first + l * step after all. All of them run. false: nothing
 * better is known than to test `v` itself.
 */
bool gen_line_strays(struct gen *g, const struct ir_value *v, int64_t step, LLVMValueRef *out);
/* Lane 0 of both halves, and all lanes, made where we are. */
void gen_line_first(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES]);
void gen_line_vector(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES]);
/* i1: of lanes in line by a multiple of size_B, those of some half, with `offset`, are no multiple
 * of it. */
LLVMValueRef gen_line_misaligned(struct gen *g, const struct ir_value *v, uint64_t offset,
                                 uint64_t size_B);

#endif
