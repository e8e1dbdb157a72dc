/*
 * Latencies of a machine: spec/isa/sm120.def. The compiler sets control fields by them, the
 * simulator checks that they suffice.
 */
#ifndef HD_ISA_MACHINE_H
#define HD_ISA_MACHINE_H

#include "isa/isa.h"

enum isa_machine_cycles {
    ISA_GUARD_CYCLES,   /* from a predicate's write to an instruction that it guards */
    ISA_COUNTER_CYCLES, /* from raising a counter to a wait that sees it */
};

/* Of one of the four parts of an SM; registers: of a lane. */
enum isa_subcore { ISA_SUBCORE_WARPS, ISA_SUBCORE_REGISTERS, ISA_SUBCORE_REGISTERS_STEP };

/* Is a result there, and are sources free again, only when a counter says so? */
bool isa_is_variable(enum isa_op op);
/* Cycles from the issue of a writer of fixed latency to that of a reader. */
unsigned isa_latency(enum isa_op writer, enum isa_op reader);
unsigned isa_machine_cycles(enum isa_machine_cycles what);
/* For orders and estimates: how long one keeps its pipe; when a result is usually there. */
unsigned isa_issue_cycles(enum isa_op op);
unsigned isa_typical_latency(enum isa_op op);
unsigned isa_subcore(enum isa_subcore what);
/* The file's name: code is made for it. */
#define ISA_MACHINE "sm120"

#endif
