/*
 * Which registers an instruction reads and writes, in one numbering of all that a warp has:
 * R0 to R254, P0 to P6, UR0 to UR62, UP0 to UP6. RZ, PT and what else holds a constant are none.
 * Convergence barriers are not among them.
 */
#ifndef HD_ISA_ACCESS_H
#define HD_ISA_ACCESS_H

#include "isa/isa.h"

enum {
    ISA_UNIT_PRED = 256,
    ISA_UNIT_UREG = 264,
    ISA_UNIT_UPRED = 328,
    ISA_UNITS = 336,
};

/* Registers side by side. */
struct isa_span {
    uint16_t first;
    uint8_t count;
    bool is_condition; /* of the guard, or of a branch: must be there earlier */
};

enum { ISA_MOST_READS = ISA_MOST_OPERANDS + 2, ISA_MOST_WRITES = 6 };

struct isa_access {
    uint8_t nreads, nwrites;
    struct isa_span reads[ISA_MOST_READS], writes[ISA_MOST_WRITES];
};

/* Is the operand in this field written? GMMA reads it too. */
static inline bool isa_is_result(const struct isa_insn *insn, enum isa_field field)
{
    enum isa_op op = insn->op;

    switch (field) {
    case ISA_FIELD_D:
    case ISA_FIELD_PD:
    case ISA_FIELD_PE:
    case ISA_FIELD_UPD:
    case ISA_FIELD_UPE:
        return true;
    case ISA_FIELD_UD: /* of these it is an address */
        return op != ISA_UTCMMA && op != ISA_UTCCP && op != ISA_UTCSHIFT &&
               !(op == ISA_UTCALLOC && isa_mod_value(insn, ISA_MOD_TC_ALLOC) == ISA_TC_ALLOC_FREE);
    case ISA_FIELD_E:
        return op == ISA_LDTM;
    default:
        return false;
    }
}
void isa_access(const struct isa_insn *insn, struct isa_access *out);

#endif
