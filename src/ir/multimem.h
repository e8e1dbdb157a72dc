/*
 * Multimem instructions: accesses to all replicas of a multicast object at once
 * (docs/decisions/0097). One model (ir_multimem.c) that the interpreter and generated code both
 * call, a thread at a time.
 *
 * A multimem address is mapped but not accessible. Whoever mapped it tells where the replicas are:
 * one per device, in the order of the devices (hal_device).
 *
 * Sources (IR_OP_MULTIMEM), behind the address: of a store or reduction the registers; of a copy
 * the generic address of the source, in shared memory, the bytes, b64, and which of each 16 bytes
 * are written, b32, which reductions have not. Results are those of loads, registers likewise.
 */
#ifndef HD_IR_MULTIMEM_H
#define HD_IR_MULTIMEM_H

#include "base/status.h"
#include "ir/ir.h"

enum ir_multimem_verb {
    IR_MULTIMEM_LOAD,  /* what the operation makes of all replicas */
    IR_MULTIMEM_STORE, /* to each replica */
    IR_MULTIMEM_RED,
    IR_MULTIMEM_COPY, /* blocks of 16 bytes */
    IR_MULTIMEM_COPY_RED,
    IR_MULTIMEM_VERBS
};

/* What generated code hands over as a word. */
struct ir_multimem {
    uint8_t verb;       /* enum ir_multimem_verb */
    uint8_t type;       /* enum ir_type of the elements */
    uint8_t atom;       /* enum ir_atom: what is done with them */
    uint8_t register_B; /* of one register: 1 to 8; maybe several elements */
    uint8_t registers;  /* together 4, 8 or 16 bytes */
    bool wide;          /* sums of f16 and bf16 are f32, those of e4m3 and e5m2 f16 */
    uint8_t unused[2];
};

enum { IR_MULTIMEM_REGISTERS = 8, IR_REPLICAS_MAX = 64 };

/* The immediate of IR_OP_MULTIMEM. */
uint64_t ir_multimem_imm(enum ir_multimem_verb verb, unsigned register_B, bool wide);
struct ir_multimem ir_multimem_of(const struct ir_instr *in);
/* What is wrong with the instruction's operands and fields, or NULL. */
const char *ir_multimem_check(const struct ir_instr *in);
static inline bool ir_multimem_copies(const struct ir_multimem *m)
{
    return m->verb >= IR_MULTIMEM_COPY;
}

/* Why there are none: a device's number, which has no memory bound there, or one of these. */
enum { IR_REPLICAS_NO_OBJECT = -1, IR_REPLICAS_READ_ONLY = -2 };

/* Where the replicas of a multimem address are, and how many bytes lie there in one piece. */
struct ir_replicas {
    uint32_t count;
    int lacks; /* of an answer that is no */
    uint64_t size_B;
    uint64_t at[IR_REPLICAS_MAX];
};

/* False: it is no multimem address, or memory is missing behind it. */
struct ir_replica_finder {
    bool (*find)(void *user, uint64_t address, struct ir_replicas *out_replicas);
    void *user;
};

/*
 * Loads, stores and reductions; `registers` are sources or results. HD_MISALIGNED,
 * HD_ILLEGAL_ADDRESS (ir_multimem_refusal), without messages.
 */
enum hd_status ir_multimem_access(const struct ir_multimem *m, struct ir_replica_finder finder,
                                  uint64_t address, uint64_t registers[IR_MULTIMEM_REGISTERS]);
/* Copies of size_B bytes, a multiple of 16 like `address`. */
enum hd_status ir_multimem_copy(const struct ir_multimem *m, struct ir_replica_finder finder,
                                uint64_t address, const void *src, uint64_t size_B, uint32_t bytes);
/* Why such an access is refused; why any other is, of a multimem address. */
extern const char ir_multimem_refusal[], ir_multimem_only[];

#endif
