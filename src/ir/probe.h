/*
 * Probes: how a checker or a counter learns what the threads of a kernel do, on every device.
 *
 * ir_probe_insert() puts a PROBE in front of each operation that somebody wants to see (behind it,
 * for what only the result tells). A PROBE has the type, the memory fields and the operands of what
 * it stands for, and its own imm says what that is; a device that meets one calls the observer of
 * the launch with the operands of the lanes that run it. Nothing that a program computes changes.
 *
 *     probe.access.b32.global [%3+12], imm=0x..      // an LD.b32 of %3 + 12 comes next
 *     probe imm=0x..                                 // a BAR
 *
 * Which operands a probe has: of an access the address, of a store with VALUES what it stores as
 * well; of COPY, REDUCE, TENSORCOPY and MBARRIER all; of MULTIMEM the address, of its copies all;
 * of BAR number and count, if there are any; of warp operations the member mask; of malloc(), told
 * after it, the size and the result; of free() the pointer; of TEX handles and words, without what
 * is stored; of MMA the descriptors of matrices in shared memory; of TENSOR all; of TENSOR_WARP
 * what is no data, and once more after an allocation columns and result. Nothing else has any. What
 * more there is to know the operation says (ir_probed()).
 *
 * A device calls, in this order and for each CTA on one thread at a time (that of the worker):
 *
 *     launch_begin                       before any CTA of the launch
 *     cta_begin, probe ..., cta_end      a CTA; CTAs of a launch on several threads at once
 *     launch_end                         after the last
 *
 * Lanes. `lanes` are those that execute the operation together; the interpreter has one at a time.
 * Operands are arrays of 32 words, of which those of other lanes mean nothing. Words narrower than
 * 64 bits are extended by zeroes. A missing operand is NULL. Matrix operations of a warp are told
 * for all of its lanes at once, on every device.
 *
 * Order. A thread's probes come in program order. Threads of a CTA come in any order that their
 * barriers allow: compiled code runs a warp as far as it can before the next one has its turn.
 *
 * Addresses are as the instruction has them, with the constant mem.offset: offsets of the window in
 * shared and local memory, else addresses. Those of 32 bits wrap with that offset.
 */
#ifndef HD_IR_PROBE_H
#define HD_IR_PROBE_H

#include <assert.h>
#include <stdatomic.h>

#include "ir/ir.h"
#include "ir/schedule.h"

/* What messages say of a kernel that an observer ended. */
#define IR_PROBE_ENDED "heddle check ended it and says where"

struct ir_conflicts;
struct ir_probe_launch;
struct ir_replicas;
struct ir_texture;

/* What is wanted, a set: name, bit, doc. */
#define IR_PROBE_LIST(X)                                                                           \
    X(GLOBAL, 0, "accesses of global, constant and generic memory, with copies and textures")      \
    X(SHARED, 1, "accesses of shared memory, with the matrices that products read there")          \
    X(LOCAL, 2, "accesses of local memory and parameters")                                         \
    X(SYNC, 3, "barriers, warp operations, fences, groups of copies, the end of threads")          \
    X(HEAP, 4, "malloc and free of kernels: the result of one, the operand of the other")          \
    X(VALUES, 5, "with stores what they store, as far as that fits")                               \
    X(WRITES, 6, "of what GLOBAL has only what changes memory")                                    \
    X(APART, 7, "nothing more is told, but warps run one by one, in any order (ir/schedule.h)")    \
    X(TENSOR, 8, "operations on tensor memory; the end of threads of modules that allocate any")

enum {
#define X(name, bit, doc) IR_PROBE_##name = 1u << (bit),
    IR_PROBE_LIST(X)
#undef X
        IR_PROBE_ALL = 63 | IR_PROBE_TENSOR, /* that is told */
};

/*
 * imm of a probe: what operation it stands for, whether that has happened, its imm, and the probe's
 * own number in its module (ir_module_instr_at). A thread that ends is told as EXIT, before, also
 * where it returns from a kernel.
 */
#define IR_PROBE_IMM_BITS 23
_Static_assert(IR_OP_COUNT <= 256, "an operation fits 8 bits");
static inline uint64_t ir_probe_imm(enum ir_op op, bool after, uint64_t imm)
{
    assert(imm < 1u << IR_PROBE_IMM_BITS);
    return (uint64_t)op | (uint64_t)after << 8 | imm << 9;
}
static inline bool ir_is_probe(const struct ir_instr *instr)
{
    return instr->op == IR_OP_PROBE || instr->op == IR_OP_PROBE_ACCESS;
}
static inline enum ir_op ir_probe_op(const struct ir_instr *probe)
{
    assert(ir_is_probe(probe));
    return (enum ir_op)(probe->imm & 255);
}
static inline bool ir_probe_is_after(const struct ir_instr *probe)
{
    return probe->imm >> 8 & 1;
}
static inline uint32_t ir_probe_its_imm(const struct ir_instr *probe)
{
    return (uint32_t)(probe->imm >> 9) & ((1u << IR_PROBE_IMM_BITS) - 1);
}
static inline uint32_t ir_probe_number(const struct ir_instr *probe)
{
    return (uint32_t)(probe->imm >> 32);
}
/* Of LDMATRIX and STMATRIX its imm has the number of registers as well, from here on. */
#define IR_PROBE_REGISTERS_AT 8
/* Of FENCE its imm is enum ir_scope; of ASYNC as ir_async_imm() packs it. */
/*
 * The probes of a module by their numbers, and how many numbers there are; NULL elsewhere. The
 * caller frees the array; NULL: no memory.
 */
const struct ir_instr **ir_probes_by_number(const struct ir_module *module, uint32_t *out_n)
    HD_MUST_CHECK;
/* Operands of a probe at most, which a NULL follows. */
#define IR_PROBE_OPERANDS_MAX 20
/* What a probe that is told before it stands for: the instruction behind it. */
const struct ir_instr *ir_probed(const struct ir_instr *probe);
/* How many bytes of each lane an access is of that has no operand for it; else 0. */
uint64_t ir_probe_size_B(const struct ir_instr *probe);

/*
 * What observers ask of the operands of an operation with a payload. The object that TEX names by a
 * handle, or the address of one; NULL: none. Programs have bad pointers: these are read with care.
 */
const struct ir_texture *ir_probed_object(const struct ir_probe_launch *about, uint64_t handle);
struct ir_tensor_map;
struct ir_tensor_copy;
bool ir_probed_map(uint64_t va, struct ir_tensor_map *out) HD_MUST_CHECK;
/* The copy of a lane of TENSORCOPY, whose immediate is `imm`. False: the device will refuse it. */
bool ir_probed_copy(uint64_t imm, const uint64_t *const *operands, uint32_t lane,
                    const struct ir_tensor_map *map, struct ir_tensor_copy *out) HD_MUST_CHECK;

/*
 * Puts probes into every function with a body. What a set does not name gets none. After all else
 * that changes the module: it fixes the order of what is probed, and numbers do not move. False: no
 * memory.
 */
bool ir_probe_insert(struct ir_module *module, unsigned set) HD_MUST_CHECK;
/* Of a module that has probes from elsewhere (ir/count.h): numbers them. */
void ir_probe_finish(struct ir_module *module);

/*
 * Where every access of one probe is fine for the rest of the launch, so that compiled code need
 * not ask: an address in the terms of the instruction (mem.offset is not added), and how many bytes
 * from there. The observer sets it once, va first; a pair whose size is 0 says nothing.
 */
struct ir_probe_range {
    uint64_t va;
    _Atomic uint64_t size_B;
};

struct ir_probe_launch {
    const struct ir_func *kernel;
    uint32_t grid[3], block[3], cluster[3]; /* cluster: at least 1 */
    uint64_t shared_B;                      /* static and dynamic */
    uint32_t dynamic_shared_B;
    bool cooperative;
    const void *params;    /* kernel->param_size_B bytes */
    const void *workspace; /* of a cooperative launch: what its threads meet in; else NULL */
    uint64_t workspace_B;
    const uint64_t *vars;          /* addresses by ir_var.index, 0 of shared ones */
    struct ir_probe_range *ranges; /* by number of the probe; NULL: this device always asks */
    const struct ir_conflicts *conflicts; /* if the observer wants them; NULL: not known */
    /* As struct hal_device has it; NULL: this device has none. */
    const struct ir_texture_table *textures;
    /* hal_device.program_replicas; NULL: this device has none. */
    bool (*replicas)(uint64_t address, struct ir_replicas *out_replicas);
    uint64_t grid_id;     /* of the dispatch packet */
    uint64_t correlation; /* of the launch call; 0: nobody listens */
    /* About its order (ir/schedule.h): */
    uint64_t units; /* CTAs, or clusters: what starts by itself */
    bool may_wait;  /* its CTAs may wait for each other: those that are resident take turns */
    bool in_turns;  /* several take turns, unless a schedule says otherwise */
    uint32_t residents_max; /* so many CTAs can be resident, at least; cooperative: all */
};

struct ir_probe_cta {
    void *launch;     /* the observer's, of launch_begin() */
    void *own;        /* the observer's: cta_begin() sets it */
    uint64_t *counts; /* likewise: ir_count_words() of them, if the module has counts */
    uint32_t ctaid[3];
    uint64_t index; /* ctaid as a number: x first */
    uint32_t smid;
    char *shared; /* its window in memory */
    char *local;  /* thread t's window is t * local_B further; t counts x first. NULL: not known */
    uint64_t local_B;
};

/* All are called on the thread of a worker; none may wait for the host. */
struct ir_observer {
    bool wants_conflicts;
    /* It adds up: CTAs come in any order, and those that follow each other on a thread may be told
     * as one, whose number changes. */
    bool adds_up;
    /* What the observer keeps of the launch; NULL: no memory, and the launch fails. */
    void *(*launch_begin)(const struct ir_probe_launch *launch);
    void (*launch_end)(void *launch);
    /* False: no memory. */
    bool (*cta_begin)(struct ir_probe_cta *cta);
    /* Some threads may not have ended: the CTA failed, or was ended. */
    void (*cta_end)(struct ir_probe_cta *cta);
    /*
     * HD_OK, or what the CTA fails with: HD_ILLEGAL_ADDRESS, HD_MISALIGNED, HD_TRAP. Other CTAs go
     * on, and the launch fails in the end. `warp` counts warps of the CTA.
     */
    enum hd_status (*probe)(struct ir_probe_cta *cta, uint32_t warp, uint32_t lanes,
                            const struct ir_instr *probe, const uint64_t *const *operands);
    /*
     * May be NULL: launches run once, as they come. Else each runs on one thread, and nothing else
     * on any device beside it as long as it is alone (hal_serial.c); when a run is over, and how it
     * `ended`, the observer says how the grid runs next. NULL: it was the last. The first run is
     * the usual one, and a failure of it is that of the launch; others fail for nobody. Asked only
     * where wants_runs() says so, and not when the first run failed or the launch could not be
     * alone.
     */
    const struct ir_schedule *(*next_run)(void *launch, enum hd_status ended);
    bool (*wants_runs)(void *launch);
    /* The launch could not be alone, or waits for something else: it runs once. */
    void (*give_up)(void *launch, bool waits);
};

#endif
