/*
 * Pure instructions on all lanes at once: what the reference (reference.c) and the loops that
 * compilers make vectors of (kernels.c) have in common.
 */
#ifndef HD_SIM_ROWS_H
#define HD_SIM_ROWS_H

#include "ir/ir.h"
#include "isa/isa.h"

enum { SIM_LANES = 32 };

struct sim_op;

/* One instruction's registers: rows of 32 lanes, of several registers one row behind the other. */
struct sim_io {
    const struct sim_op *op;
    uint32_t *d; /* results of other lanes than those of the mask are dropped */
    const uint32_t *a, *b, *c;
    uint32_t mask;
    uint32_t pa, pb, pc; /* predicates: a bit for each lane */
    uint32_t pd, pe;     /* results */
};

typedef void sim_rows(struct sim_io *io);

/* Of an instruction, for the reference: its modifiers, and the IR's operation that it is. */
struct sim_sem {
    enum isa_op op; /* of the uniform datapath: that of the lanes */
    uint8_t mod[ISA_MODS];
    bool na, nb, nc; /* signs that are changed */
    bool aa, ab, ac; /* that are cleared */
    uint8_t lut, plut, shift;
    struct ir_instr in;
};

/* The value of an instruction's field, or `none` where it has no such operand. */
int64_t sim_field(const struct isa_insn *insn, enum isa_field field, int64_t none);
/* What an instruction is to the reference; false: it is not pure. */
bool sim_sem_of(const struct isa_insn *insn, struct sim_sem *out_sem);

/* One lane. */
struct sim_lane {
    uint64_t a, b, c;
    bool pa, pb, pc;
    uint64_t d;
    bool pd, pe;
};
void sim_sem_lane(const struct sim_sem *sem, struct sim_lane *lane);

#endif
