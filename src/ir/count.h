/*
 * Counting what a kernel executes, instruction by instruction of its PTX.
 *
 * Lowering with counts puts a NOTE in front of what becomes of each instruction, whose imm is an
 * item (ir_count_item) of ir_module.counted. ir_count_insert() makes probes of them:
 *
 *     probe imm=NOTE    a group: these items are executed by the lanes that come here together
 *     probe %p imm=CBR  a branch, or what it is guarded by: %p says which lanes go
 *     probe.access ...  an access, as ir/probe.h has it
 *
 * The imm of the first (ir_probe_its_imm) is the number of the group, that of the others the number
 * of the instruction. Compiled code adds to counters for these (ir_count_word), without a call as
 * far as it can; an observer is told of the others, and of all by the interpreter.
 *
 * Since each instruction is counted before passes have changed anything, a count is that of the
 * PTX, the same on each device.
 */
#ifndef HD_IR_COUNT_H
#define HD_IR_COUNT_H

#include "ir/ir.h"

/* Of an instruction of PTX: name, doc. */
#define IR_COUNT_CLASS_LIST(X)                                                                     \
    X(FADD, "addition of f32")                                                                     \
    X(FMUL, "multiplication of f32")                                                               \
    X(FFMA, "fused multiplication and addition of f32")                                            \
    X(DADD, "addition of f64")                                                                     \
    X(DMUL, "multiplication of f64")                                                               \
    X(DFMA, "fused multiplication and addition of f64")                                            \
    X(HADD, "addition of f16 or bf16")                                                             \
    X(HMUL, "multiplication of f16 or bf16")                                                       \
    X(HFMA, "fused multiplication and addition of f16 or bf16")                                    \
    X(PACKED, "two of them at once")                                                               \
    X(INTEGER, "integers and bits")                                                                \
    X(CONVERSION, "between types")                                                                 \
    X(SPECIAL, "roots, reciprocals, sines, logarithms: of any type")                               \
    X(MEMORY, "accesses memory")                                                                   \
    X(LOAD, "reads memory")                                                                        \
    X(STORE, "writes memory")                                                                      \
    X(ATOMIC, "atomic, with a result")                                                             \
    X(REDUCTION, "atomic, without one")                                                            \
    X(GLOBAL, "names global memory")                                                               \
    X(SHARED, "names shared memory")                                                               \
    X(LOCAL, "names local memory")                                                                 \
    X(CONSTANT, "names constant memory or parameters")                                             \
    X(GENERIC, "names no space")                                                                   \
    X(CONTROL, "branches, calls, returns, ends")                                                   \
    X(BRANCH, "branches")                                                                          \
    X(BARRIER, "of the CTA or the cluster")                                                        \
    X(FENCE, "orders memory")                                                                      \
    X(INTER_THREAD, "exchanges values of a warp")                                                  \
    X(TENSOR, "multiplies matrices")                                                               \
    X(TEXTURE, "textures")                                                                         \
    X(SURFACE, "surfaces")                                                                         \
    X(MOVE, "moves and selects")                                                                   \
    X(MATRIX, "moves matrices between shared memory and registers")                                \
    X(COPY, "copies from global to shared memory, each lane for itself: cp.async")                 \
    X(BULK, "copies, reductions and stores of whole stretches or boxes: by a thread of its own")   \
    X(MULTIMEM, "accesses all replicas of a multicast object")                                     \
    X(PREFETCH, "a hint that something will be read")

enum ir_count_class {
#define X(name, doc) IR_COUNT_AT_##name,
    IR_COUNT_CLASS_LIST(X)
#undef X
        IR_COUNT_CLASSES
};
enum {
#define X(name, doc) IR_COUNT_##name = UINT64_C(1) << IR_COUNT_AT_##name,
    IR_COUNT_CLASS_LIST(X)
#undef X
};
_Static_assert(IR_COUNT_CLASSES <= 64, "a set fits");

/*
 * How lanes that come to an item execute its instruction: WHOLE, all of them. Of a guarded one the
 * warp ISSUEs it, and the lanes whose guard holds have it ON.
 */
enum ir_count_kind { IR_COUNT_WHOLE, IR_COUNT_ISSUE, IR_COUNT_ON };
#define IR_COUNT_KINDS 4u
static inline uint32_t ir_count_item(uint32_t instr, enum ir_count_kind kind)
{
    return instr * IR_COUNT_KINDS + kind;
}
static inline uint32_t ir_count_instr(uint32_t item)
{
    return item / IR_COUNT_KINDS;
}
static inline enum ir_count_kind ir_count_kind(uint32_t item)
{
    return (enum ir_count_kind)(item % IR_COUNT_KINDS);
}

/* ---- counters: an array of 64-bit words: of groups, then of instructions */

/* Of a group: how often a warp came to it, and the lanes that did. */
enum { IR_COUNT_WARPS, IR_COUNT_LANES, IR_COUNT_GROUP_WORDS };
/* Memory as counters tell it apart. CLUSTER: shared memory of the cluster's other CTAs. */
enum ir_count_space {
    IR_COUNT_IN_GLOBAL,
    IR_COUNT_IN_SHARED,
    IR_COUNT_IN_LOCAL,
    IR_COUNT_IN_CLUSTER,
    IR_COUNT_IN_TEXTURE, /* texels of textures and surfaces */
    IR_COUNT_SPACES
};
/* Of an instruction in one space: name, doc. */
#define IR_COUNT_ACCESS_LIST(X)                                                                    \
    X(REQUESTS, "warps that access it")                                                            \
    X(LANES_IN, "their lanes")                                                                     \
    X(BYTES, "their bytes")                                                                        \
    X(SECTORS, "of 32 bytes; of shared memory and texels: 0")                                      \
    X(IDEAL_SECTORS, "that as many bytes side by side would need, at most those that there are")   \
    X(WAVEFRONTS, "passes over the banks of shared memory; of atomics elsewhere the lanes that "   \
                  "share the address that most share")                                             \
    X(IDEAL_WAVEFRONTS, "passes without a conflict")
enum {
#define X(name, doc) IR_COUNT_##name,
    IR_COUNT_ACCESS_LIST(X)
#undef X
        IR_COUNT_ACCESS_WORDS
};
/*
 * Of an instruction: lanes that a branch takes, warps whose lanes part; warps and lanes that access
 * memory and have not said so (ir_count_settle()); operations of products whose shape only a
 * register tells; then its accesses.
 */
enum {
    IR_COUNT_TAKEN,
    IR_COUNT_DIVERGENT,
    IR_COUNT_SILENT_WARPS,
    IR_COUNT_SILENT_LANES,
    IR_COUNT_OPS,
    IR_COUNT_ACCESSES,
    IR_COUNT_INSTR_WORDS = IR_COUNT_ACCESSES + IR_COUNT_SPACES * IR_COUNT_ACCESS_WORDS
};

static inline size_t ir_count_group_word(uint32_t group)
{
    return (size_t)group * IR_COUNT_GROUP_WORDS;
}
static inline size_t ir_count_instr_word(const struct ir_module *module, uint32_t instr)
{
    return ir_count_group_word((uint32_t)module->count_groups.len) +
           (size_t)instr * IR_COUNT_INSTR_WORDS;
}
static inline size_t ir_count_access_word(const struct ir_module *module, uint32_t instr,
                                          enum ir_count_space space)
{
    return ir_count_instr_word(module, instr) + IR_COUNT_ACCESSES + space * IR_COUNT_ACCESS_WORDS;
}
static inline size_t ir_count_words(const struct ir_module *module)
{
    return ir_count_instr_word(module, (uint32_t)module->counted.len);
}

/* An access by the lanes of a warp that make it together; addresses in the terms of the space. */
enum { IR_COUNT_WARP = 32 };
struct ir_count_access {
    uint64_t *words; /* of the instruction in this space: IR_COUNT_ACCESS_WORDS */
    enum ir_count_space space;
    bool is_atomic;
    uint32_t lanes;
    uint64_t size_B;
    const uint64_t *address;
};
/* Adds what it costs. */
void ir_count_access(const struct ir_count_access *a);

/*
 * May code leave it to ir_count_settle() that there was this access? That knows of it from the
 * groups that have it (ir_counted.access_B), and takes those that nobody has told for accesses by
 * 32 lanes side by side, at the beginning of a sector, and without a conflict; of words of up to 4
 * bytes also for accesses by fewer, without one. Whoever leaves it adds the difference.
 */
bool ir_count_is_settled(const struct ir_module *module, const struct ir_instr *probe);
/* To the counters of a module that are added up: accesses that were left to it. */
void ir_count_settle(const struct ir_module *module, uint64_t *words);

/* Probes instead of the NOTEs of a module with counts. False: no memory. */
bool ir_count_insert(struct ir_module *module) HD_MUST_CHECK;
/* When passes are through: numbers the probes. False: no memory. */
bool ir_count_finish(struct ir_module *module) HD_MUST_CHECK;

#endif
