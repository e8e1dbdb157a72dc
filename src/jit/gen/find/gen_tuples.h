/*
 * Elements of vector accesses that stay in the order of memory.
 */
#ifndef HD_JIT_GEN_FIND_GEN_TUPLES_H
#define HD_JIT_GEN_FIND_GEN_TUPLES_H

#include "jit/gen/access/gen_access.h"

enum { TUPLE_MAX = 4 };

struct gen_tuple {
    unsigned n;
    struct ir_value *const *v; /* n values; their vectors in a row are memory's order */
    bool is_struck;            /* one of them is needed lane by lane */
};

/* Finds them. After slots and regions. */
void gen_tuples_find(struct gen *g);

/* What `v` is an element of; NULL: its vectors have a lane's value at the lane's place. */
const struct gen_tuple *gen_tuple_of(const struct gen *g, const struct ir_value *v);

/* The lanes' mask of a half, NULL = all, as one of the vector that holds `v`. */
LLVMValueRef gen_tuple_mask(struct gen *g, const struct ir_value *v, LLVMValueRef mask);

/*
 * Operand `s` of an operation that makes an element of a tuple, where the operations for the
 * elements have different scalars there: the vectors, alike for all of them; false: they have not.
 */
bool gen_tuple_scalars(struct gen *g, const struct ir_instr *in, uint32_t s,
                       LLVMValueRef out[GEN_HALVES]);

/* n vectors of lanes become n vectors in the order of memory, and back. */
void gen_tuple_from_lanes(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n);
void gen_tuple_to_lanes(struct gen *g, LLVMValueRef x[][GEN_HALVES], unsigned n);

#endif
