/* Programs and running launches; private to src/sim. */
#ifndef HD_SIM_SIM_PRIVATE_H
#define HD_SIM_SIM_PRIVATE_H

#include <assert.h>

#include "base/vec.h"
#include "ir/probe.h"
#include "ir/schedule.h"
#include "sim/hazard.h"
#include "sim/loops.h"
#include "sim/rows.h"
#include "sim/sim.h"

enum { SIM_NBARS = 16, SIM_MAX_THREADS = 1024, SIM_SCRATCH_ROWS = 136 };

struct sim_warp;
struct ir_tensor_memory;

/* What an operation did. */
enum sim_step {
    SIM_NEXT,   /* go on behind it */
    SIM_JUMPED, /* the warp's current group has its pc */
    SIM_STOP,   /* the group cannot go on now, or another is to have its turn; or a fault */
};

/* `mask`: lanes that execute it, one at least unless the operation has `always`. */
typedef enum sim_step sim_exec(struct sim_warp *w, const struct sim_op *op, uint32_t mask);

/* Where rows of an operand are. */
enum sim_base {
    SIM_BASE_REGS,    /* of the warp's registers */
    SIM_BASE_CONST,   /* of the launch's constants: numbers and words of constant banks */
    SIM_BASE_UNIFORM, /* copies of uniform registers, made before */
};

struct sim_src {
    uint8_t base; /* enum sim_base */
    uint8_t n;    /* registers; 0: there is no such source */
    uint8_t at;   /* the operand of the instruction */
    uint32_t row; /* of the base; of SIM_BASE_UNIFORM the number of the register */
};

struct sim_op {
    sim_exec *exec;
    sim_rows *rows;              /* of pure instructions: what they compute */
    const struct isa_insn *insn; /* everything that the word says */
    const struct sim_sem *sem;   /* what the reference needs; NULL: no pure instruction */
    struct sim_src src[3];       /* a, b, c */
    uint32_t keep[3], flip[3];   /* floating-point sources: bits that stay, that change */
    uint32_t neg[3];             /* sources with the opposite sign: all ones */
    uint32_t guard_not;          /* lanes where the predicate is the other way round: all or none */
    uint32_t d;                  /* row of the result */
    uint32_t target;             /* of a branch: operation */
    uint32_t mode;               /* floating-point mode that `rows` wants; 0: any */
    int32_t offset;              /* of an address */
    uint8_t nd;                  /* rows of the result */
    uint8_t guard, pd, pe;       /* predicates */
    uint8_t pa, pb, pc;
    uint8_t pa_not, pb_not, pc_not;
    uint8_t ubase;            /* a uniform register */
    uint8_t code;             /* which comparison, table or kind: what `rows` wants to know */
    uint8_t how;              /* likewise: how a comparison is combined */
    bool is_uniform_guard;    /* guard and results are uniform ones */
    bool is_uniform;          /* of the uniform datapath */
    bool has_uniform_source;  /* some source is SIM_BASE_UNIFORM */
    bool always;              /* executes even without any lane */
    bool ftz, sat, is_signed; /* modifiers that `rows` looks at */
};

/* A row of the launch's constants. */
struct sim_const {
    bool is_number;
    uint8_t bank;
    uint16_t offset;
    uint32_t number;
};

struct sim_program {
    struct sim_kernel kernel;
    char *name;
    uint32_t nops; /* and one behind the last, which faults */
    struct sim_op *ops;
    struct isa_insn *insns;
    struct sim_sem *sems;
    HD_VEC(struct sim_const) consts;
    HD_VEC(uint8_t) literals;
    HD_VEC(struct isa_reloc) relocs;
    HD_VEC(struct isa_function) functions;
    HD_VEC(struct isa_line) lines;
    uint32_t sink;   /* row that RZ writes, behind all registers */
    uint32_t nrows;  /* of a warp's register file that are zero at first */
    uint32_t nsinks; /* behind them: as many as RZ writes at once */
    uint32_t local_B, registers;
    bool has_calls;
    const struct ir_instr **probes; /* by number; NULL: nothing is probed */
    uint32_t nprobes;
};

/*
 * Rows of a register file: some that are zero, which RZ reads, then R0 and the others that the
 * program uses, then some that nobody reads, which RZ writes.
 */
enum { SIM_R0 = 16 };

/* Why a group does not run. */
enum sim_wait {
    SIM_RUNS,
    SIM_AT_BSYNC,    /* arg: barrier */
    SIM_AT_WARPSYNC, /* arg: mask */
    SIM_AT_BAR,      /* arg: number of the CTA's barrier */
    SIM_AT_CLUSTER,
};

/* Lanes that are at the same place and run together. */
struct sim_group {
    uint32_t mask;
    uint32_t pc; /* of an operation; a waiting group stays at it */
    uint32_t arg;
    uint8_t wait;    /* enum sim_wait */
    bool again;      /* its operation was issued, and has not been done */
    uint64_t cycle;  /* of the hazard checker */
    uint32_t polled; /* 1 + the operation by which it last looked for what it may wait for */
};

struct sim_warp {
    struct sim_run *run;
    struct sim_cta *cta;
    const uint32_t *base[3]; /* by enum sim_base */
    uint32_t *regs;
    uint32_t index;
    uint32_t exist; /* lanes that have a thread */
    uint32_t live;  /* of them, those that have not ended */
    uint32_t ngroups, current;
    struct sim_group groups[SIM_LANES];
    uint32_t pred[8]; /* the last is true */
    uint8_t upred;    /* a bit for each uniform predicate; bit 7 is set */
    uint32_t ureg[66];
    uint32_t barriers[16][SIM_LANES]; /* convergence barriers: whom the lane will meet */
    uint32_t at_cluster;              /* lanes that have arrived at the cluster's barrier */
    uint64_t generation[SIM_LANES];   /* in which round */
    struct sim_hazards *hazards;      /* NULL: they are not checked */
    struct sim_late *late;            /* NULL: results are there at once */
    bool has_waited;                  /* since its last barrier: see warp_turn() */
    bool has_passed;                  /* a lane's test of an mbarrier: others have their turn */
    /* What is behind is not zeroed. */
    _Alignas(64) uint32_t uniform[6][SIM_LANES];                /* rows of SIM_BASE_UNIFORM */
    _Alignas(64) uint32_t scratch[SIM_SCRATCH_ROWS][SIM_LANES]; /* results before they are masked */
};

struct sim_bar {
    uint32_t count;   /* expected, 0 = all; of the current round */
    uint32_t arrived; /* threads in the current round; 0 = idle */
    uint32_t votes;   /* of these with a true predicate */
    uint32_t by_warp[SIM_MAX_THREADS / SIM_LANES];
};

struct sim_cluster {
    uint32_t live, arrived;
    uint64_t generation;
    char *windows;
    size_t windows_B;
    struct ir_tensor_memory *tensor[IR_CLUSTER_MAX_CTAS]; /* by rank; NULL until it is used */
};

struct sim_cta {
    struct sim_run *run;
    struct sim_cta *next; /* of those that have ended */
    uint32_t id[3];
    uint32_t nthreads, nwarps, live;
    uint32_t smid, rank;
    char *shared;
    void *memory;          /* of everything else that it has */
    char *local;           /* windows of its threads, each local_step_B further */
    uint64_t local_map_B;  /* pages of their own; 0: they lie in `memory` */
    uint64_t local_used_B; /* of each: what is behind is zero */
    struct sim_warp *warps;
    struct sim_cluster *cluster;
    struct sim_cluster alone; /* that of a CTA by itself */
    struct sim_bar bars[SIM_NBARS];
    const uint8_t *order; /* of its warps, by the schedule; NULL: ascending */
    uint64_t dice;        /* interleaved: state of its numbers; 0: it is not */
    struct ir_probe_cta probe;
    bool is_observed;
};

/* Bytes that the device allows, from its answer to one question. */
struct sim_range {
    uint64_t start, size_B;
};

struct sim_run {
    const struct sim_program *program;
    const struct interp_launch *launch;
    struct interp_fault fault;
    enum hd_status status;
    uint64_t shared_B, local_B, local_step_B;
    uint32_t cluster[3];
    uint32_t cluster_ctas;         /* that share windows */
    uint64_t steps;                /* operations executed: the clock */
    struct sim_executed *executed; /* by operation; NULL: it is not counted */
    struct sim_loops loops;
    uint64_t effects;         /* what other threads can see: writes, barriers, ends */
    uint32_t mode;            /* floating-point mode of the host that is set */
    struct sim_range good[2]; /* last answers: to read, to write */
    struct {
        uint8_t *at;
        uint32_t size_B;
    } banks[3];
    uint32_t (*consts)[SIM_LANES];
    struct sim_cta *ended; /* CTAs whose memory others can have */
};

static inline struct sim_group *sim_group_of(struct sim_warp *w)
{
    return &w->groups[w->current];
}

static inline uint32_t sim_row_of(const struct sim_program *p, unsigned reg, bool is_result)
{
    return reg != ISA_RZ ? SIM_R0 + reg : is_result ? p->sink : 0;
}

static inline const uint32_t *sim_src_rows(const struct sim_warp *w, const struct sim_op *op,
                                           unsigned i)
{
    return w->base[op->src[i].base] +
           (op->src[i].base == SIM_BASE_UNIFORM ? 2 * i : op->src[i].row) * SIM_LANES;
}
static inline uint32_t *sim_reg_rows(struct sim_warp *w, unsigned reg, bool is_result)
{
    return w->regs + sim_row_of(w->run->program, reg, is_result) * SIM_LANES;
}

/* Lanes where a predicate of the operation is true. */
static inline uint32_t sim_pred(const struct sim_warp *w, const struct sim_op *op, unsigned pred,
                                bool negate)
{
    uint32_t lanes = op->is_uniform ? -(w->upred >> pred & 1u) : w->pred[pred];

    return negate ? ~lanes : lanes;
}

static inline void sim_set_pred(struct sim_warp *w, const struct sim_op *op, unsigned pred,
                                uint32_t mask, uint32_t value)
{
    if (pred == ISA_PT)
        return;
    if (op->is_uniform)
        w->upred = (uint8_t)((w->upred & ~(1u << pred)) | (value & 1) << pred);
    else
        w->pred[pred] = (w->pred[pred] & ~mask) | (value & mask);
}

static inline uint64_t sim_pair(const uint32_t *rows, unsigned lane)
{
    return rows[lane] | (uint64_t)rows[SIM_LANES + lane] << 32;
}

#define SIM_FOR_LANES(lane, lanes)                                                                 \
    for (uint32_t lane##_left = (lanes), lane = 0;                                                 \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

/* select.c */
struct sim_loops sim_loops_get(void);
/* The function that executes an instruction, and what it needs; NULL: there is none. */
sim_exec *sim_exec_of(const struct isa_insn *insn);
/* Its loop over rows, with op->mode; NULL: the reference. */
sim_rows *sim_rows_of(const struct isa_insn *insn, struct sim_op *op);

/* fail.c: ends the launch; the message gets the place appended. */
enum sim_step sim_fail(struct sim_warp *w, unsigned lane, enum hd_status status, const char *format,
                       ...) HD_PRINTF(4, 5);
/* The status of a launch whose threads wait for ever. */
void sim_deadlock(struct sim_cta *cta);

/* pure.c */
/* As MXCSR has it: all exceptions masked; to nearest, down, up, to zero; denormals are zeros. */
enum { SIM_MODE_USUAL = 0x1f80, SIM_MODE_ROUND_AT = 13, SIM_MODE_FTZ = 0x8040 };
/* Sets the floating-point mode of the host; 0: the usual one. */
void sim_mode(struct sim_run *run, uint32_t mode);
sim_exec sim_exec_pure, sim_exec_simple, sim_exec_uniform;
/* Rows from `from` to `to`, in the lanes of the mask. */
static inline void sim_blend(const struct sim_warp *w, uint32_t *to, const uint32_t *from,
                             unsigned nrows, uint32_t mask)
{
    w->run->loops.blend(to, from, nrows, mask);
}
bool sim_fetch_uniform(struct sim_warp *w, const struct sim_op *op, uint32_t mask);
/* A word of a constant bank; false: it is outside. */
bool sim_bank_word(const struct sim_run *run, unsigned bank, int64_t offset, uint32_t *out_word);

/* count.c: what a launch executed. */
void sim_counts_of(const struct sim_run *run, struct sim_counts *out);

/* group.c */
/* The current group waits; it stays at its operation. */
enum sim_step sim_group_wait(struct sim_warp *w, enum sim_wait wait, uint32_t arg);
/* Lanes of group `g` become one of their own, the last. */
struct sim_group *sim_group_split(struct sim_warp *w, uint32_t g, uint32_t lanes);
/* A group goes on behind its operation. */
void sim_group_release(struct sim_group *g);
/* Looks whether waiting groups can go on, since lanes ended or left. */
/* Lanes that have met are held no more: they may come there again without having parted. */
void sim_lanes_let_go(struct sim_warp *w, uint32_t barrier, uint32_t lanes);
void sim_groups_settle(struct sim_warp *w);
/* Lanes of the current group wait; the others go on. */
enum sim_step sim_lanes_wait(struct sim_warp *w, uint32_t lanes, enum sim_wait wait, uint32_t arg);
void sim_group_remove(struct sim_warp *w, uint32_t g);

/* flow.c */
sim_exec sim_exec_bra, sim_exec_brx, sim_exec_jmx, sim_exec_call, sim_exec_call_ind, sim_exec_ret,
    sim_exec_exit, sim_exec_bssy, sim_exec_bsync, sim_exec_break, sim_exec_bmov, sim_exec_warpsync,
    sim_exec_yield, sim_exec_nop, sim_exec_bpt, sim_exec_lepc, sim_exec_end;

/* barrier.c */
sim_exec sim_exec_bar, sim_exec_cluster_bar;
void sim_lanes_gone(struct sim_warp *w, uint32_t lanes);
void sim_settle_cluster(struct sim_warp *w);
void sim_cluster_init(struct sim_cluster *cluster, uint32_t live);
void sim_cluster_fini(struct sim_cluster *cluster);

/* warp.c */
sim_exec sim_exec_s2r, sim_exec_vote, sim_exec_shfl, sim_exec_match, sim_exec_redux, sim_exec_elect,
    sim_exec_p2r, sim_exec_r2p, sim_exec_r2ur, sim_exec_nanosleep;

/* memory.c */
struct sim_access {
    enum ir_space space;
    uint32_t size_B; /* of each lane's bytes, which lie at a multiple of it */
    bool write;
};
/* Of each lane of the mask the host's address of its bytes; false after a fault. */
bool sim_hosts(struct sim_warp *w, uint32_t mask, const struct sim_access *access,
               const uint64_t addresses[SIM_LANES], char *out_hosts[SIM_LANES]);
/* One lane's, with an alignment of its own; NULL after a fault. */
void *sim_host(struct sim_warp *w, unsigned lane, enum ir_space space, uint64_t address,
               uint64_t size_B, uint64_t align_B, bool write);
/* The operation's addresses: registers, uniform register and offset. */
void sim_addresses(const struct sim_warp *w, const struct sim_op *op, enum ir_space space,
                   uint64_t out_addresses[SIM_LANES]);
enum ir_space sim_space_of(enum isa_op op);
/* Reads or writes generic memory for a system function; false: it must not. */
bool sim_read(struct sim_warp *w, unsigned lane, uint64_t address, void *out, size_t size_B);
bool sim_write(struct sim_warp *w, unsigned lane, uint64_t address, const void *bytes,
               size_t size_B);
uint64_t sim_own_window(const struct sim_cta *cta);
/* Does a generic address lie in the shared memory of the cluster? */
bool sim_is_shared(const struct sim_warp *w, uint64_t address, uint64_t size_B);
char *sim_local(const struct sim_warp *w, unsigned lane);
/* Before its first write to shared memory after a barrier a warp lets others run. */
bool sim_shared_first(struct sim_warp *w);
void sim_order(unsigned sem);
sim_exec sim_exec_load, sim_exec_store, sim_exec_ldc, sim_exec_uldc, sim_exec_cvta, sim_exec_qspc,
    sim_exec_membar, sim_exec_mapa, sim_exec_ctarank;

/* atomic.c */
sim_exec sim_exec_atom;

/* matrix.c */
sim_exec sim_exec_ldsm, sim_exec_stsm, sim_exec_movm, sim_exec_mma, sim_exec_gmma;

/* async.c */
sim_exec sim_exec_syncs, sim_exec_ldgsts, sim_exec_ublkcp, sim_exec_ublkred, sim_exec_utma,
    sim_exec_multimem;

/* texture.c */
sim_exec sim_exec_tex, sim_exec_txq, sim_exec_surface;

/* tensor.c */
sim_exec sim_exec_utcalloc, sim_exec_utccp, sim_exec_utcmma, sim_exec_utcbar, sim_exec_ldtm,
    sim_exec_sttm;

/* system.c */
sim_exec sim_exec_syscall;

/* probe.c */
/* Before the CTA's first operation, and after its last. False: no memory. */
bool sim_observe(struct sim_cta *cta);
void sim_observe_end(struct sim_cta *cta);
/* The pair at `addresses` says where in local memory the probe's number and operands are. */
enum sim_step sim_probe(struct sim_warp *w, const uint32_t *addresses, uint32_t mask);

/* cta.c */
struct sim_placement {
    uint32_t ctaid[3];
    uint32_t smid, rank;
    struct sim_cluster *cluster; /* NULL: a CTA by itself */
};
struct sim_cta *sim_cta_start(struct sim_run *run, const struct sim_placement *placement);
void sim_cta_end(struct sim_cta *cta);
/* Frees those that have ended. */
void sim_ctas_free(struct sim_run *run);
/* A turn for each warp. True when any lane executed something. */
bool sim_cta_round(struct sim_cta *cta);

#endif
