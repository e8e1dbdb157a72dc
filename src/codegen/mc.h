/*
 * Machine code while it is made: instructions of the ISA whose registers are virtual.
 *
 * A virtual register is one or more units of 32 bits side by side, or one predicate, one uniform
 * register or one convergence barrier. Operands name the first unit that they are; how many, the
 * table of instructions says. Units below MC_UNITS are machine registers (R0 to RZ); PT is a
 * predicate of its own number.
 *
 * The code is nearly in SSA form: a unit has one definition, but for those of phis and of results
 * that a branch leaves in one of several ways. There is no undefined behaviour to exploit: a unit
 * that was never written holds anything.
 */
#ifndef HD_CODEGEN_MC_H
#define HD_CODEGEN_MC_H

#include "analysis/shape.h"
#include "base/arena.h"
#include "base/vec.h"
#include "codegen/codegen.h"
#include "ir/ir.h"
#include "isa/abi.h"

enum { MC_UNITS = 256, MC_NO_UNIT = 0 };

/* What a unit is; each has registers of its own. */
enum mc_class { MC_REG, MC_PRED, MC_BARRIER, MC_CLASSES };

/* Instructions that the ISA does not have; they are gone when words are made. */
enum mc_pseudo {
    MC_COPY = ISA_OPS, /* all copies of a struct mc_copies at once */
    MC_OPS
};

struct mc_copy {
    uint32_t to;             /* unit, or machine register */
    struct isa_operand from; /* register, predicate, number or constant */
};

struct mc_insn {
    struct isa_insn isa; /* .op is an enum isa_op, or an enum mc_pseudo */
    struct ir_srcloc srcloc;
    const struct ir_instr *from;  /* what it was selected for; NULL: made later */
    uint32_t guard;               /* unit of a predicate, or PT */
    uint32_t first_copy, ncopies; /* MC_COPY: in mc_func.copies */
    struct mc_block *target;      /* of a branch, BSSY; NULL: none */
    const struct ir_func *callee; /* of CALL */
    uint32_t mark; /* NOP of code that records: 1 + the block of the IR that it is executed with */
    bool is_spill; /* it moves a register to the frame or back */
    bool is_frame; /* its number is the frame's size times that */
    bool is_uniform;    /* all lanes of a warp compute the same, together */
    bool is_ordered;    /* volatile, or what other threads may wait for: it passes no access */
    uint32_t arguments; /* of a call or RET: reads so many registers from R4 on */
    uint32_t clobbered; /* a call: registers below this one, and all predicates, are lost */
};

struct mc_block {
    uint32_t id;
    HD_VEC(struct mc_insn) insns;
    struct mc_block *succs[2]; /* layout order; more: `more` */
    uint32_t nsuccs;
    struct mc_block **more; /* all nsuccs of them, if there are more than two */
    uint32_t loop_depth;
    uint64_t count; /* warps that came to it, by the profile of the function */
    uint32_t first; /* number of its first instruction; set by mc_number() */
    uint32_t word;  /* of its first word */
};

/* A virtual register. */
struct mc_vreg {
    uint32_t first; /* unit */
    uint16_t width; /* units */
    uint8_t class;
    uint8_t align;    /* units */
    int16_t assigned; /* machine register; -1: none yet */
    bool is_spilled;
    bool is_tiny; /* made by spilling: never again */
};

struct mc_unit {
    uint32_t vreg; /* of mc_func.vregs */
};

struct mc_func {
    const struct ir_func *ir;
    const struct codegen_settings *settings;
    const struct ir_profile_func *profile; /* NULL: there is none */
    uint64_t count_most;                   /* of its blocks; 0: nothing is chosen by them */
    struct hd_arena arena;
    bool failed;                      /* for want of memory */
    struct mc_vreg spare;             /* in the place of those that there was no memory for */
    struct mc_block spare_block;      /* likewise */
    HD_VEC(struct mc_block *) blocks; /* layout order; the entry first */
    HD_VEC(struct mc_vreg) vregs;
    HD_VEC(struct mc_unit) units; /* from MC_UNITS on; index: unit - MC_UNITS */
    HD_VEC(struct mc_copy) copies;
    uint32_t ninsns;
    uint32_t frame_B;    /* of local memory, spills included */
    uint32_t spilled_B;  /* thereof */
    bool has_stack;      /* R1 is the stack's */
    uint32_t frame_base; /* unit that holds it; MC_NO_UNIT: it is 0 */
    bool is_kernel;
};

void mc_init(struct mc_func *f, const struct ir_func *ir, const struct codegen_settings *settings,
             const struct ir_profile_func *profile);
void mc_fini(struct mc_func *f);
struct mc_block *mc_block_create(struct mc_func *f);
/* A new virtual register's first unit. */
uint32_t mc_vreg_create(struct mc_func *f, enum mc_class class, unsigned width);
static inline bool mc_is_virtual(int64_t unit)
{
    return unit >= MC_UNITS;
}
static inline struct mc_vreg *mc_vreg_of(struct mc_func *f, int64_t unit)
{
    assert(mc_is_virtual(unit) && ((size_t)unit - MC_UNITS < f->units.len || f->failed));
    if (HD_UNLIKELY(f->failed))
        return &f->spare;
    return &f->vregs.at[f->units.at[unit - MC_UNITS].vreg];
}
static inline struct mc_block *const *mc_succs(const struct mc_block *b)
{
    return b->more ? b->more : b->succs;
}

/* Control goes to its target, whatever comes behind it. */
static inline bool mc_is_jump(const struct mc_insn *insn)
{
    return insn->isa.op == ISA_BRA && insn->guard == ISA_PT && !insn->isa.guard_not;
}
/* Where a block leads that does nothing but jump; itself without CODEGEN_JUMPS. */
struct mc_block *mc_through(const struct mc_func *f, struct mc_block *b);

/* Warps that fit into a part of an SM, if each thread has so many registers. */
double mc_warps_of(uint32_t registers);
/* How often a block runs: as the profile has it, else ten times for each loop around it. */
uint64_t mc_block_count(const struct mc_func *f, const struct mc_block *b);
/*
 * The same for what chooses by it: of a profile a million for the block that ran most, and 1 at
 * least, so that code that never ran is not for nothing.
 */
uint64_t mc_block_weight(const struct mc_func *f, const struct mc_block *b);

/* An instruction with no operand set, to be filled. */
struct mc_insn mc_insn_of(enum isa_op op);
void mc_mod_set(struct isa_insn *insn, enum isa_mod mod, unsigned value);
/* Which operand is the field; -1: none. */
int mc_operand_of(enum isa_op op, enum isa_field field);
static inline struct isa_operand mc_operand(enum isa_kind kind, int64_t value)
{
    return (struct isa_operand){.kind = kind, .value = value};
}
void mc_operand_set(struct isa_insn *insn, enum isa_field field, struct isa_operand operand);
/* The form of a word whose operand b this is. */
enum isa_form mc_form_of(const struct isa_operand *b);
struct mc_insn mc_move(int64_t to, struct isa_operand from);

/*
 * What an instruction reads and writes. Each is told as units side by side, machine registers
 * included (RZ, PT and what is no register are not). `partial`: what is written may keep a part of
 * what was there: the instruction is guarded.
 */
enum mc_access { MC_READ, MC_WRITE };
typedef void mc_visit_fn(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                         unsigned count, enum mc_class class);
void mc_visit(struct mc_func *f, struct mc_insn *insn, mc_visit_fn *visit, void *context);

/* Numbers instructions in layout order: mc_block.first, mc_func.ninsns. */
void mc_number(struct mc_func *f);
void mc_print(const struct mc_func *f, struct hd_buf *out);

/* ---- the steps, in their order (each a file) */

/*
 * converge.c: where lanes of a warp meet again. Lanes are remembered at the end of block `at`,
 * before its branch; or, with `at_entry`, on every edge into the loop whose header it is. They meet
 * at the start of block `meet`.
 */
enum {
    CONVERGE_BARRIERS = 16,       /* of a warp */
    CODEGEN_ROUTINE_BARRIERS = 4, /* the last of them: codegen_routine() */
    CONVERGE_MOST = CONVERGE_BARRIERS - CODEGEN_ROUTINE_BARRIERS, /* of other functions */
};
struct converge_point {
    uint32_t at, meet;
    bool at_entry;
};
struct converge {
    struct converge_point *points; /* outer ones first */
    uint32_t npoints;
    const bool *apart; /* by block: lanes of a warp may be apart there */
    struct ir_shapes *shapes;
};
enum hd_status converge_compute(const struct ir_func *func, struct hd_arena *arena,
                                struct converge *out) HD_MUST_CHECK;

/* select*.c: IR to instructions; HD_NOT_SUPPORTED with the place. */
struct codegen_unit;
enum hd_status select_func(struct codegen_unit *unit, const struct ir_func *func, bool vectorizes,
                           struct mc_func *out) HD_MUST_CHECK;
/*
 * profile.c: what a profile has of a function, unit->profile, and that it is to record,
 * unit->recorded. HD_BAD_ARG: the profile contradicts itself.
 */
enum hd_status profile_begin(struct codegen_unit *unit, const struct ir_func *func) HD_MUST_CHECK;
/* predicate.c: operations that only some lanes want, at the end of select_func(). */
enum hd_status predicate(struct mc_func *f) HD_MUST_CHECK;
/* live.c: where each unit is live. */
struct live_segment {
    uint32_t start, end; /* half positions: instruction n reads at 2n, writes at 2n + 1 */
    uint32_t next;       /* index + 1, rising; 0: the last */
};
struct live {
    HD_VEC(struct live_segment) segments;
    uint32_t *first; /* by unit, machine registers too: index + 1 of its first segment; 0: dead */
    uint32_t nunits;
};
/* Numbers the instructions. */
enum hd_status live_compute(struct mc_func *f, struct live *out) HD_MUST_CHECK;
void live_fini(struct live *live);
bool live_overlap(const struct live *live, uint32_t a, uint32_t b);
/* What is live where `b` is becomes `a`'s as well. */
void live_join(struct live *live, uint32_t a, uint32_t b);
#define live_foreach(seg, live, unit)                                                              \
    for (const struct live_segment *seg =                                                          \
             (live)->first[unit] ? &(live)->segments.at[(live)->first[unit] - 1] : NULL;           \
         seg; seg = seg->next ? &(live)->segments.at[seg->next - 1] : NULL)

/* coalesce.c: makes one register of both sides of copies where it can; copies of itself go. */
enum hd_status coalesce(struct mc_func *f) HD_MUST_CHECK;
/* schedule.c: the order of instructions in blocks, for `most` registers. */
enum hd_status schedule(struct mc_func *f, uint32_t most) HD_MUST_CHECK;
/* spill.c: the registers marked is_spilled live in local memory, predicates in registers. */
enum hd_status spill_rewrite(struct mc_func *f) HD_MUST_CHECK;
/* assign.c: gives every virtual register one below `most`, spilling what does not fit. */
enum hd_status assign_registers(struct mc_func *f, uint32_t most, uint32_t *out_used) HD_MUST_CHECK;
/*
 * What finish.c makes of a function: instructions on machine registers in the order of their words,
 * and where blocks begin. Branches have a target, whose `word` is its index here.
 */
struct mc_code {
    HD_VEC(struct mc_insn) insns;
    HD_VEC(struct mc_block *) blocks; /* that have instructions, in order */
};
/* control.c: sets control fields; may insert NOPs. A counter that an instruction has keeps it. */
enum hd_status control_set(struct mc_func *f, struct mc_code *code) HD_MUST_CHECK;
/* check_control.c, check_alloc.c: of fields and registers, by other means. HD_BAD_IR: a bug. */
enum hd_status check_control(const struct mc_func *f, const struct mc_code *code) HD_MUST_CHECK;
enum hd_status check_alloc(struct mc_func *f) HD_MUST_CHECK;
/* layout.c: the order of blocks. */
enum hd_status layout(struct mc_func *f) HD_MUST_CHECK;
/* finish.c: copies become instructions, blocks are laid out, words are made. */
enum hd_status finish_func(struct codegen_unit *unit, struct mc_func *f) HD_MUST_CHECK;

/* report.c: adds what the function costs to the unit's; tells it, and the kernel, when asked. */
void report_func(struct codegen_unit *unit, const struct mc_func *f, const struct mc_code *code);
void report_kernel(const struct codegen_unit *unit, const char *name);
/* Cycles of a part of an SM for a thousand warps of the kernel, by estimate. */
uint64_t report_cost(const struct codegen_unit *unit);

/* ---- what the functions of a kernel share */

/* Sums, each block by mc_block_count(). */
struct codegen_cost {
    uint64_t instructions;
    uint64_t stalls; /* cycles */
    uint64_t cycles; /* with waiting for counters, as long as is usual */
    uint64_t busy;   /* cycles for which the busiest pipe of each block, or the issue, is kept */
    uint64_t reused; /* sources that come out of the operand cache */
};

struct codegen_call {
    uint32_t word; /* of the CALL */
    const struct ir_func *callee;
};
struct codegen_unit {
    const struct ir_module *module;
    struct isa_code *code;
    bool failed;    /* for want of memory */
    bool clusters;  /* looks beyond its CTA: shared addresses count from rank 0's window */
    bool has_stack; /* there are calls or allocations of stack */
    bool has_indirect_calls;
    bool checks; /* struct codegen_options */
    struct codegen_settings settings;
    const struct codegen_options *options;
    const struct ir_profile_func *profile; /* of the function; NULL: there is none */
    uint32_t recorded; /* 1 + the function's number in options->record; 0: it does not record */
    struct codegen_cost cost;
    HD_VEC(struct codegen_call) calls;
    HD_VEC(const struct ir_func *) wanted; /* functions that are called or whose address is taken */
};
/*
 * Offset in the bank of literals of eight bytes. CODEGEN_NO_LITERAL: there are as many as operands
 * can name. An address has no other place: it comes in anyway.
 */
#define CODEGEN_NO_LITERAL UINT32_MAX
uint32_t codegen_literal(struct codegen_unit *unit, uint64_t bits);
uint32_t codegen_address_literal(struct codegen_unit *unit, const struct ir_var *var,
                                 uint64_t addend);
/* Kernels are no callees, though their addresses are taken to be launched. */
static inline bool codegen_is_callable(const struct ir_func *func)
{
    return !func->is_kernel && !func->is_declaration;
}
/* The function's code is part of the kernel's. */
bool codegen_want(struct codegen_unit *unit, const struct ir_func *func);
/*
 * Functions in integers for what has no sequence of its own (routines.ptx); their calls cost
 * CODEGEN_ROUTINE_REGS registers only, and the last CODEGEN_ROUTINE_BARRIERS barriers, which no
 * other function uses. NULL: no memory.
 */
enum { CODEGEN_ROUTINE_REGS = 16 };
const struct ir_func *codegen_routine(const char *name);
bool codegen_is_routine(const struct ir_func *func);

#endif
