/*
 * Sixteen lanes that access memory at places of their own: one instruction where the host has it,
 * else one scalar access per lane. `ptrs` is <16 x ptr>, elements are integers aligned to their
 * size, `mask` NULL = every lane; lanes whose bit is clear touch no memory of the program and read
 * anything. `strong`: each lane's access happens, once, as written (volatile and the like).
 */
#ifndef HD_JIT_GEN_ACCESS_GEN_LANES_H
#define HD_JIT_GEN_ACCESS_GEN_LANES_H

#include "jit/gen/flow/gen_flow.h"

/* Does the host gather and scatter elements of this size itself? */
bool gen_lanes_native(const struct gen *g, uint64_t size_B);
LLVMValueRef gen_gather(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptrs, LLVMValueRef mask,
                        uint64_t size_B, bool strong);
/* In lane order: of lanes that store to one place, the last one's value stays. */
void gen_scatter(struct gen *g, LLVMValueRef x, LLVMValueRef ptrs, LLVMValueRef mask,
                 uint64_t size_B, bool strong);
/* Contiguous and masked. */
LLVMValueRef gen_masked_load(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, LLVMValueRef mask,
                             uint64_t size_B);
void gen_masked_store(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef mask,
                      uint64_t size_B);

#endif
