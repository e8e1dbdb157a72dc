/*
 * The functional core of the simulated GPU: runs kernels as words of Heddle's ISA (docs/isa.md,
 * docs/abi.md), a warp of 32 lanes at a time.
 *
 * A program is a kernel's code, decoded once: each word becomes an operation with the function that
 * executes it, the places of its registers and its modifiers, so that a launch only dispatches.
 * What instructions compute is spec/isa/semantics.def, which the plain reference executes lane by
 * lane; frequent ones have loops that the compiler makes vectors of (kernels.c): the same bits.
 *
 * What the device supplies, what it is told of faults and how CTAs become resident are those of the
 * reference interpreter (interp/interp.h); so are statuses and messages.
 *
 * Threads: a launch runs on the calling thread. Launches of one program may run concurrently.
 */
#ifndef HD_SIM_SIM_H
#define HD_SIM_SIM_H

#include "interp/interp.h"
#include "isa/abi.h"

struct sim_program;

/* What a program's code does not tell. */
struct sim_kernel {
    const char *name;
    const struct ir_module *module; /* of variables and source files; NULL: none are named */
    uint32_t params_B;
    uint32_t nfuncs; /* entries of the bank of functions */
    struct ir_window window;
    bool checks_hazards; /* launches stop where control fields let an instruction read too early */
    bool
        late_results; /* who reads too early reads the old value (sim/late.h); not with the above */
    bool counts;      /* launches count by instruction, which costs time */
};

/* HD_NOT_SUPPORTED: it is no kernel that can be launched. */
enum hd_status sim_kernel_of(const struct ir_func *kernel, struct sim_kernel *out_kernel)
    HD_MUST_CHECK;

/*
 * Decodes `code`, which is copied; `kernel`, but not what it points at, likewise. HD_BAD_IMAGE: a
 * word is no instruction; HD_NOT_SUPPORTED: one that is not executed yet, by name; HD_NO_MEMORY.
 */
enum hd_status sim_program_create(const struct isa_code *code, const struct sim_kernel *kernel,
                                  struct sim_program **out_program) HD_MUST_CHECK;
void sim_program_destroy(struct sim_program *program);

/* As the code says them. */
uint32_t sim_program_registers(const struct sim_program *program);
/* How many words it has. */
uint32_t sim_program_words(const struct sim_program *program);
uint32_t sim_program_frame_B(const struct sim_program *program);
/* Bytes of local memory that each thread of a launch has; stack_B: as in struct interp_launch. */
uint64_t sim_program_local_B(const struct sim_program *program, uint64_t stack_B);

/*
 * Kinds of thread instructions: name, and what Nsight Compute's metrics call it,
 * smsp__sass_thread_inst_executed_op_..._pred_on, which has none for the last two. A packed
 * instruction of f32 is two operations, one of halves is one.
 */
#define SIM_COUNT_LIST(X)                                                                          \
    X(FADD, "fadd")                                                                                \
    X(FMUL, "fmul")                                                                                \
    X(FFMA, "ffma")                                                                                \
    X(DADD, "dadd")                                                                                \
    X(DMUL, "dmul")                                                                                \
    X(DFMA, "dfma")                                                                                \
    X(HADD, "hadd")                                                                                \
    X(HMUL, "hmul")                                                                                \
    X(HFMA, "hfma")                                                                                \
    X(INTEGER, "integer")                                                                          \
    X(CONVERSION, "conversion")                                                                    \
    X(MEMORY, "memory")                                                                            \
    X(CONTROL, "control")                                                                          \
    X(SPECIAL, "special")                                                                          \
    X(OTHER, "other")

enum sim_count {
#define X(name, metric) SIM_COUNT_##name,
    SIM_COUNT_LIST(X)
#undef X
        SIM_COUNTS
};

/* How often a word was executed: by warps, by their lanes, by those where its guard holds. */
struct sim_executed {
    uint64_t warps, lanes, on;
};

/* Counts of a launch; without sim_kernel.counts, those behind the first are zero. */
struct sim_counts {
    struct sim_executed *words;      /* NULL, or the caller's: of each word of the code */
    uint64_t warp_instructions;      /* that warps executed, whoever of their lanes did */
    uint64_t thread_instructions;    /* the same for each lane, whatever the guard says */
    uint64_t thread_instructions_on; /* and for each lane where the guard holds */
    uint64_t by_kind[SIM_COUNTS];    /* of these, what they are; operations */
};

/* Operations of f32 and f64: a fused one is two. */
static inline uint64_t sim_counts_f32(const struct sim_counts *c)
{
    return c->by_kind[SIM_COUNT_FADD] + c->by_kind[SIM_COUNT_FMUL] + 2 * c->by_kind[SIM_COUNT_FFMA];
}
static inline uint64_t sim_counts_f64(const struct sim_counts *c)
{
    return c->by_kind[SIM_COUNT_DADD] + c->by_kind[SIM_COUNT_DMUL] + 2 * c->by_kind[SIM_COUNT_DFMA];
}

/*
 * Runs the whole grid; errors are those of interp_launch(), of whose launch `kernel` is not
 * looked at. out_fault and out_counts may be NULL; `instr` of a fault is always NULL.
 */
enum hd_status sim_launch(const struct sim_program *program, const struct interp_launch *launch,
                          struct interp_fault *out_fault, struct sim_counts *out_counts)
    HD_MUST_CHECK;

#endif
