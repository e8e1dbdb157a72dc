/*
 * Multimem instructions: accesses to all replicas of a multicast object at once
 * (docs/decisions/0097). One model (model/multimem.c) that the interpreter and generated code both
 * call, a thread at a time.
 *
 * A multimem address is mapped but not accessible. Whoever mapped it tells where the replicas are:
 * one per device, in the order of the devices (hal_client_ops). Operands: ir/payload.h.
 */
#ifndef HD_MODEL_MULTIMEM_H
#define HD_MODEL_MULTIMEM_H

#include "base/status.h"
#include "ir/payload.h"

enum { IR_REPLICAS_MAX = 64 };

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
