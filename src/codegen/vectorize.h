/* Loads that become one: see vectorize.c. Private to codegen. */
#ifndef HD_CODEGEN_VECTORIZE_H
#define HD_CODEGEN_VECTORIZE_H

#include "base/arena.h"
#include "ir/ir.h"

struct vectorize_load {
    const struct ir_instr *first; /* where it stands */
    int64_t offset;               /* of its first byte */
    uint32_t bytes;               /* 8 or 16 */
    uint32_t unit;                /* the selector's: where its words are */
};

/*
 * By the id of each load's first result: what it is a part of; NULL: it stays alone. In the arena.
 * `frame_moves`: the function's frame is not at a fixed place. HD_NO_MEMORY.
 */
enum hd_status vectorize(const struct ir_func *func, bool frame_moves, struct hd_arena *arena,
                         struct vectorize_load ***out_of) HD_MUST_CHECK;

#endif
