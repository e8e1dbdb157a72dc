/* The instructions between a place and the suspend points next to it: see gen_walk.c. */
#ifndef HD_JIT_GEN_FIND_GEN_WALK_H
#define HD_JIT_GEN_FIND_GEN_WALK_H

#include "jit/gen/gen.h"

struct gen_walk {
    const struct ir_func *func;
    bool back;
    /* backwards: there is a way without a suspend point from the function's start */
    bool came_to_start;
    bool *seen; /* by block id: entered */
    uint32_t *stack, depth;
    uint32_t nblocks; /* entered so far; 0: still between the place and the end of its block */
    const struct ir_instr *next, *until;
};

/* In the function's arena; false = no memory. Good for any number of walks. */
bool gen_walk_init(struct gen *g, struct gen_walk *w);
/* Begins a walk: forwards with `in`, or backwards with what is before `in`. */
void gen_walk_from(struct gen_walk *w, const struct ir_instr *in);
void gen_walk_back_from(struct gen_walk *w, const struct ir_instr *in);
/* The same, not beyond `until`. */
void gen_walk_back_to(struct gen_walk *w, const struct ir_instr *in, const struct ir_instr *until);
/* The next instruction, suspend points included; what is beyond one is not part of the walk. */
const struct ir_instr *gen_walk_next(struct gen_walk *w);

#endif
