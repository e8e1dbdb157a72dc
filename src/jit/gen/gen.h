/*
 * Code generation from IR to LLVM IR: the private interface between the files of src/jit/gen.
 *
 * Everything here is built into one shared object (heddle-codegen) that is the only user of LLVM
 * and is opened privately, when the first kernel misses the code cache.
 *
 * How a warp is represented (docs/jit.md has the reasons and the measurements):
 *   - A value takes the form that its shape allows (struct gen_val): a scalar, a scalar per half,
 *     a base for another value's index, or vectors of 16 lanes, one per half. Code for several
 *     warps at once (gen_coarsen.c) has as many halves more; what is uniform is so in all of them.
 *   - A value that is used in another block lives in a slot (an alloca that SROA turns into SSA, or
 *     frame memory in dispatch mode); within a block the LLVM value is used directly.
 *   - Convergent blocks branch for real. Divergent blocks have a pending mask; control sweeps them
 *     in layout order, runs each under its mask, and goes on at the block where the lanes meet
 *     again.
 *
 * Two lifetimes: struct gen_unit is all that becomes one LLVM module, struct gen one function of
 * it. A function is generated inside of its first caller; they share the unit, nothing else.
 *
 * Folders, in the order in which a kernel comes through them:
 *   find/    analyses that decide before anything is emitted, and what those who emit ask them
 *   flow/    emits control flow: nodes, masks, suspend points, regions, entry points
 *   access/  emits loads and stores: a file for each form of access
 *   op/      emits all other operations
 *   post/    rewriters of LLVM IR, behind LLVM's optimiser
 * Here are what all of them use, and who calls them: gen_main.c, then gen_llvm.c.
 */
#ifndef HD_JIT_GEN_GEN_H
#define HD_JIT_GEN_GEN_H

#include <assert.h>

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "analysis/analysis.h"
#include "ir/ir.h"
#include "ir/probe.h"
#include "jit/launch_class.h"
#include "jit/gen/codegen.h"
#include "jit/jit.h"

#define GEN_LANES  16 /* of one half-warp */
#define GEN_LINE_B 64 /* of the caches */
#define GEN_HALVES 8  /* at most: of four warps at once */

/* A value's LLVM form. c[1] and on are set for AFFINE and VARYING only. */
struct gen_val {
    enum ir_shape_kind kind;
    int64_t stride;               /* AFFINE */
    const struct ir_shape *shape; /* BASE_INDEX: index, scale, extension */
    LLVMValueRef c[GEN_HALVES];
};

struct gen_slot {
    LLVMValueRef ptr[GEN_HALVES]; /* NULL = no slot */
};

/* Operands of a product that lie in memory while code goes on in the same block. */
#define GEN_FEW 24
struct gen_held {
    LLVMBasicBlockRef block; /* NULL = none */
    enum ir_type type;
    const struct ir_value *value[GEN_FEW];
};

/* Who has made the slots of a value. */
enum gen_slot_owner { GEN_SLOT_OWN, GEN_SLOT_SHARED, GEN_SLOT_LOADED };

struct region;     /* gen_lane_serial.c */
struct gen_run;    /* gen_products.c */
struct gen_tuples; /* gen_tuples.c */
struct gen_spin;   /* gen_spin.c */
struct gen_walk;   /* gen_walk.c */

/* What is known of a node: a block, or in dispatch mode a part of one (see gen_flow.c). */
struct gen_node {
    const struct ir_block *block;
    const struct ir_instr *first;
    const struct ir_instr *end; /* exclusive; NULL = to the end of the block */
    bool divergent;
    bool exit_only;   /* nothing but the end of the kernel: edges to it end lanes */
    bool may_be_over; /* convergent: lanes end on the ways here, which may have been all */
    uint32_t conv; /* block where this node's lanes are all together again; IR_NO_BLOCK = never */
    LLVMValueRef pend[GEN_HALVES]; /* i16 slots (divergent) */
    LLVMBasicBlockRef test;        /* divergent: checks the pending mask */
    LLVMBasicBlockRef body;
    LLVMBasicBlockRef whole; /* where all lanes come at once, known without masks; NULL: nowhere */
    LLVMBasicBlockRef tail;  /* divergent: goes to the next node of the sweep */
    const struct ir_instr *collective; /* dispatch: waits for the members of this operation */
    uint32_t site;                     /* dispatch: index of the barrier that ends this node */
    struct region *region;             /* runs lane by lane: see gen_lane_serial.c */
    bool bounds;                       /* no lane on edge `work`: later warps have none either */
    unsigned work;
};

/* A barrier in dispatch mode, and the lanes parked at it. */
struct gen_site {
    const struct ir_instr *bar;
    uint32_t next; /* node that goes on */
    LLVMValueRef parked[GEN_HALVES];
    LLVMValueRef id, generation;
};

/* gen_srcloc.c: which instruction is being generated. */
struct gen_srcloc {
    const struct ir_instr *at;       /* NULL: the start of the function */
    uint32_t *block_number;          /* by block: number of its first instruction */
    const struct ir_instr *numbered; /* with `number`: where counting stopped last */
    uint32_t number;
    LLVMMetadataRef scope; /* of debug information */
};

/* Dispatch mode, gen_dispatch.c: its barriers, and what it remembers of a sweep in the frame. */
struct gen_sweep {
    struct gen_site *sites;
    uint32_t nsites;
    LLVMValueRef progress, forced, spins;
    LLVMBasicBlockRef end;
};

/* by_region: which suspend points a region may end with; the region after number n is n + 1. */
struct gen_regions {
    uint32_t *first; /* by region: first of its ends in to[] */
    uint32_t *to;
    bool *descends;   /* by region: its warps run from the last to the first (gen_order.c) */
    bool *first_only; /* by region: only the first warp has anything to do (gen_bound.c) */
    /* by region: the last of those that run warp by warp without loops; 0: none (gen_unroll.c) */
    uint32_t *unrolled_to;
    uint32_t *warps; /* by such a region: how many have anything to do */
};

/* In the state that a warp returns: the warps behind it have nothing to do before the next suspend
 * point. */
#define GEN_BOUND 0x80000000u

/* What those who call a finished function, or compile it, know of it. */
struct gen_body {
    uint32_t nresume;           /* kernel: states that it can go on from */
    bool crowded;               /* more values live at some place than there are registers */
    bool alive_in_memory;       /* callees or dispatch mode change it behind our back */
    bool by_region;             /* all warps run through the suspend points alike (gen_regions.c) */
    bool bounded;               /* by_region: a state may have GEN_BOUND */
    bool unrolled;              /* by_region: there are runs of gen_unroll.c */
    bool leaves_early;          /* by_region: lanes may end before the last suspend point */
    uint64_t alive_at;          /* leaves_early: frame offset of the living lanes, i32 */
    uint64_t cta_area_B;        /* by_region: size of an area of CTA-uniform values */
    uint64_t once_B;            /* by_region: size of the slots of gen_once.c */
    struct gen_regions regions; /* in the unit's arena */
};

/* Of one function, in bytes: threads that run kernels have 8 MiB, as a rule (dev/cpu/worker.c). */
#define GEN_STACK_MAX_B "6291456"

/* LLVM's types, made once. */
struct gen_types {
    LLVMTypeRef void_, i1, i8, i16, i32, i64, i128, f16, f32, f64, ptr;
    LLVMTypeRef mask; /* <16 x i1> */
    LLVMTypeRef bits; /* the same as an integer */
    LLVMTypeRef all;  /* an integer with a bit for each lane of all halves */
};

/* All that becomes one LLVM module: a kernel, the functions that it calls, its entry points. */
struct gen_unit {
    const struct gen_request *req;
    enum jit_path path;        /* of the request */
    enum jit_launch_class cls; /* of the request, or its single */
    unsigned halves;           /* two for each warp that is run at once; 1: one after the other */
    bool singly; /* code for several warps, or halves, met what is made for one only */
    bool avx512;
    bool fp_ftz;   /* MXCSR flushes: .ftz needs no code */
    bool clusters; /* shared addresses have the CTA's rank: struct ir_window */
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMValueRef kernel; /* its body, which the entry points call */
    struct gen_types types;
    unsigned md_invariant;
    LLVMDIBuilderRef debug; /* gen_srcloc.c; NULL = no request.places */
    LLVMMetadataRef debug_file, debug_type;
    struct hd_arena arena;

    /* What the functions made so far leave behind. */
    struct gen_body body; /* the kernel's */
    struct gen_facts facts;
    uint64_t ir_instrs;
    char error[256]; /* first thing that could not be generated; "" = none */
    bool no_memory;  /* for a function that the kernel calls */
    bool deep;       /* a function needs more than GEN_STACK_MAX_B of the host's stack */
};

/*
 * One function of it, while it is generated. Starts zeroed but for what gen_function() names:
 * nothing comes from another function.
 */
struct gen {
    struct gen_unit *unit;
    struct gen_types *t;        /* the unit's */
    const struct ir_func *func; /* NULL: an entry point */
    unsigned depth;             /* of calls; the kernel's is 1 */
    bool is_kernel;
    LLVMValueRef fn;
    struct gen_body body; /* what is known so far */
    LLVMBuilderRef b, alloca_builder;
    struct hd_arena arena;

    /* What the IR says. */
    struct ir_shapes shapes;
    struct ir_liveness live;
    bool dispatch;
    bool alive_known_full; /* every lane is alive throughout */

    /* Parameters, and what is read from them first. */
    LLVMValueRef cta, warp, frame, launch; /* pointers */
    LLVMValueRef warp_index;               /* i32; of the first that runs */
    LLVMValueRef half_index;               /* i32; in code for halves */
    LLVMValueRef state, alive_at_start;    /* i32; kernel */
    LLVMValueRef tid[GEN_HALVES][3];       /* i32 by half and axis; kernel, X32 and X16 */
    LLVMValueRef cta_in, cta_out;          /* by_region: areas of CTA-uniform values */
    LLVMValueRef once;                     /* by_region: slots of gen_once.c */
    LLVMValueRef entry_mask[GEN_HALVES];   /* device function: i16 */
    LLVMValueRef args, results;            /* device function: pointers */

    /* Memory of the warp. */
    uint64_t frame_B;
    LLVMValueRef local_sp; /* i64: this function's frame in the local window */
    /* Registers in memory, of operands and of results; of few and of many (gen_matrix.c). */
    LLVMValueRef matrix[2][2];
    struct gen_held held;
    LLVMValueRef products_area;  /* gen_products.c */
    LLVMValueRef lane_addresses; /* [32 x i64] of those that are misaligned; NULL = not yet */
    LLVMValueRef dynamic_sp;     /* slot: end of that frame, moved by alloca; NULL = fixed */
    uint64_t local_frame_B;
    LLVMValueRef alive[GEN_HALVES]; /* i16 slots */

    /* Control flow. */
    struct gen_node *nodes;
    uint32_t nnodes;
    uint32_t *node_of_block; /* first node of a block */
    LLVMValueRef pending;    /* the nodes' pending masks in memory; NULL = a slot each */
    uint32_t npending;
    bool is_large;  /* gen_flow.c: of the code only loops have versions for all lanes */
    uint32_t nfull; /* instructions that have such a version */
    LLVMBasicBlockRef done;
    LLVMValueRef bound;   /* i32: GEN_BOUND or 0; bounded */
    LLVMValueRef leaving; /* i32: the state to return at `done`, 0 = the end; NULL = always that */
    LLVMValueRef state_switch; /* kernel: over the points where it goes on */
    struct gen_sweep sweep;
    struct gen_spin *spins;       /* gen_spin.c: by loop; NULL = not yet */
    LLVMValueRef spin_iterations; /* i32 slot: of loops that wait, since the warp goes on */

    /* Values, by their ids. */
    uint32_t *def_node;
    bool *cross;     /* needs a slot */
    bool *generated; /* gen_set() has been called */
    struct gen_slot *slots;
    bool *nan_raw;         /* an f32 result whose NaN is not canonical yet */
    struct gen_val *cache; /* valid when cache_epoch matches */
    uint32_t *cache_epoch;
    uint32_t epoch, epoch_next;
    uint64_t *frame_at; /* 1 + frame offset of the saved components, 0 = none */
    bool *cta_uniform;  /* with by_region */
    bool *cta_base;     /* the same, of a BASE_INDEX its base */
    uint64_t *cta_at;   /* 1 + offset in the areas, 0 = none */

    /* Made when first needed; NULL = not yet. */
    struct gen_val *phi_room; /* gen_edge.c */
    uint32_t nphi_room;
    struct gen_live_sets *live_sets; /* gen_live.c: of all suspend points */
    const struct ir_value **values;  /* with live_sets: by id */
    uint8_t *origin;                 /* gen_guess.c: by value id */
    struct gen_pattern **patterns;   /* gen_pattern.c: by value id */
    struct gen_rows **rows[3];       /* gen_rows.c: of all lanes, of two, of four; by value id */
    struct gen_run *products;        /* gen_products.c */
    struct gen_tuples *tuples;       /* gen_tuples.c */
    struct gen_walk *walk;           /* gen_value.c */
    enum gen_slot_owner *slot_owner; /* gen_sums.c: by value id; NULL = none */
    struct ir_uses uses;             /* gen_products.c */
    LLVMValueRef spare;              /* gen_lanes.c */
    /* gen_nontemporal.c: stores of whole lines go past the caches */
    bool nontemporal;
    LLVMValueRef lane_values;  /* gen_lanes.c: what a call loads */
    unsigned nlanes_inline;    /* gen_lanes.c: half-warp accesses made lane by lane in place */
    LLVMValueRef strict_lanes; /* gen_strict.c */
    LLVMValueRef probe_lanes[IR_PROBE_OPERANDS_MAX], probe_operands; /* gen_probe.c */

    /* Where generation is. */
    uint32_t cur;                  /* node */
    LLVMValueRef mask[GEN_HALVES]; /* <16 x i1>; NULL = all lanes run */
    bool cold;                     /* on the side of a guess that hardly ever runs */
    struct gen_srcloc srcloc;
    const struct ir_instr *products_until; /* those up to it are made already; NULL = none */
    const struct ir_instr *pieces_store;   /* made with the load in front of it (gen_pieces.c) */
    const struct ir_instr *quads_store;    /* made with the one in front of it (gen_quads.c) */
};

/* May code be generated that only makes it faster? */
static inline bool gen_optional(const struct gen *g)
{
    return g->unit->req->form == GEN_FAST;
}

static inline bool gen_does(const struct gen *g, enum gen_pass pass)
{
    return gen_optional(g) && !(g->unit->req->skip >> pass & 1);
}

/* The pass has done something for the code that is being made. */
static inline void gen_fired(const struct gen *g, enum gen_pass pass)
{
    assert(gen_does(g, pass));
    g->unit->facts.fired |= 1u << pass;
}

/* For assertions: one bit; a mask of lanes as a vector, and as 16 bits. */
static inline bool gen_is_one(const struct gen *g, LLVMValueRef x)
{
    return LLVMTypeOf(x) == g->t->i1;
}

static inline bool gen_is_mask(const struct gen *g, LLVMValueRef x)
{
    return LLVMTypeOf(x) == g->t->mask;
}

static inline bool gen_is_bits(const struct gen *g, LLVMValueRef x)
{
    return LLVMTypeOf(x) == g->t->bits;
}

static inline int gen_halves(const struct gen *g)
{
    return (int)g->unit->halves;
}

/* Is this code for several warps at a time? */
static inline bool gen_is_coarse(const struct gen *g)
{
    return g->unit->halves > 2;
}

/* For half a warp? What is numbered is halves then. */
static inline bool gen_is_half(const struct gen *g)
{
    return g->unit->halves == 1;
}

/* May it access global memory? */
static inline bool gen_is_far(const struct ir_instr *in)
{
    return in->mem.space == IR_SPACE_GLOBAL || in->mem.space == IR_SPACE_GENERIC;
}

static inline bool gen_is_warp(const struct gen *g)
{
    return g->unit->halves == 2;
}

/* That run at once, or of which a half runs. */
static inline unsigned gen_warps(const struct gen *g)
{
    return HD_MAX(g->unit->halves / 2, 1u);
}

/* What follows is made for whole warps. */
static inline void gen_whole(struct gen *g)
{
    g->unit->singly |= gen_is_half(g);
}

/* What follows is made for one warp: true when it cannot be made, in code for more or less. */
static inline bool gen_singly(struct gen *g)
{
    g->unit->singly |= !gen_is_warp(g);
    return !gen_is_warp(g);
}

/* ---- gen_value.c: types, constants, values in and out of slots */
LLVMTypeRef gen_scalar_type(struct gen *g, enum ir_type type); /* iN */
LLVMTypeRef gen_vec(struct gen *g, LLVMTypeRef elem);          /* <16 x elem> */
LLVMTypeRef gen_float_type(struct gen *g, enum ir_type type);  /* float type of F16/F32/F64 */
LLVMValueRef gen_i32(struct gen *g, uint64_t v);
LLVMValueRef gen_i64(struct gen *g, uint64_t v);
LLVMValueRef gen_ci(LLVMTypeRef type, uint64_t v);
LLVMValueRef gen_splat(struct gen *g, LLVMValueRef scalar);
LLVMValueRef gen_splat_const(struct gen *g, LLVMTypeRef elem, uint64_t v); /* integer element */
LLVMValueRef gen_lanes(struct gen *g, LLVMTypeRef elem, int64_t stride);   /* <0, s, 2s, ..> */
LLVMValueRef gen_intrinsic(struct gen *g, const char *name, LLVMTypeRef *overload,
                           unsigned noverload, LLVMValueRef *args, unsigned nargs);
LLVMValueRef gen_call_rt(struct gen *g, const char *name, LLVMTypeRef ret, LLVMValueRef *args,
                         unsigned nargs);
/* The same for one warp, in code for several. */
LLVMValueRef gen_call_rt_warp(struct gen *g, const char *name, LLVMTypeRef ret, LLVMValueRef *args,
                              unsigned nargs);
LLVMValueRef gen_alloca(struct gen *g, LLVMTypeRef type, unsigned align, const char *name);
/* The same pointer, about which LLVM knows nothing: what it points at stays in memory. */
LLVMValueRef gen_opaque(struct gen *g, LLVMValueRef ptr);
LLVMValueRef gen_gep(struct gen *g, LLVMValueRef ptr, uint64_t offset_B);
LLVMValueRef gen_load_ctx(struct gen *g, LLVMTypeRef type, LLVMValueRef base, uint64_t offset_B);
LLVMBasicBlockRef gen_bb(struct gen *g, const char *name);

const struct ir_shape *gen_shape(struct gen *g, const struct ir_value *v);
/*
 * Can `v` be read where the builder is: is its definition certain to have run, by dominance, and is
 * it kept at the suspend points between? What an instruction takes as a source always can. Code
 * that looks further (a loop's step, say) asks first and does without.
 */
bool gen_value_available(struct gen *g, const struct ir_value *v);
/* What the slot of a value holds now, defined or not: for those who keep other lanes' values. */
struct gen_val gen_slot_peek(struct gen *g, const struct ir_value *v);
struct gen_val gen_get(struct gen *g, const struct ir_value *v);
struct gen_val gen_get_raw(struct gen *g, const struct ir_value *v); /* NaN not canonical */
struct gen_val gen_coerce(struct gen *g, struct gen_val val, enum ir_type type,
                          const struct ir_shape *want);
LLVMValueRef gen_scalar(struct gen *g, const struct ir_value *v); /* of a UNIFORM value */
LLVMValueRef gen_half(struct gen *g, const struct ir_value *v,
                      int h); /* scalar per half: UNIFORM or AFFINE 0 */
void gen_vector(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES]);
/* As computed: a NaN may have any payload. For consumers that read the value as a float. */
void gen_vector_raw(struct gen *g, const struct ir_value *v, LLVMValueRef out[GEN_HALVES]);
LLVMValueRef gen_canonical(struct gen *g, LLVMValueRef x); /* i32 or <16 x i32> holding f32 */
void gen_nan_find(struct gen *g);
void gen_vector_of(struct gen *g, struct gen_val val, enum ir_type type,
                   LLVMValueRef out[GEN_HALVES]);
void gen_set(struct gen *g, const struct ir_value *v, struct gen_val val);
struct gen_val gen_u(LLVMValueRef scalar);
struct gen_val gen_a(struct gen *g, LLVMValueRef const *halves, int64_t stride);
struct gen_val gen_v(struct gen *g, LLVMValueRef const *halves);
/* The base of half h where the shape is `whole`, from that of half 0. */
LLVMValueRef gen_whole_half(struct gen *g, LLVMValueRef base, int64_t stride, int h);
LLVMValueRef gen_pick_active(struct gen *g,
                             LLVMValueRef const x[GEN_HALVES]); /* the first running lane's */
LLVMValueRef gen_pick_lane(struct gen *g, LLVMValueRef const x[GEN_HALVES],
                           LLVMValueRef lane);                               /* i32 */
LLVMValueRef gen_pick_last(struct gen *g, LLVMValueRef const x[GEN_HALVES]); /* the last one's */
void gen_slots_create(struct gen *g);                                        /* gen_slots.c */
/* gen_sums.c: who has slots that others fill, or that a phi and its value of the next iteration
 * share; the latter are in the frame if warps stop. */
void gen_sums_find(struct gen *g);
bool gen_slot_is_given(const struct gen *g, const struct ir_value *v);
bool gen_slot_is_shared(const struct gen *g, const struct ir_value *v);
bool gen_slot_is_same(const struct gen *g, const struct ir_value *a, const struct ir_value *b);
/* Where a component lives in frame memory; used to save and restore around suspend points. */
uint64_t gen_frame_alloc(struct gen *g, uint64_t size_B, uint64_t align_B);
unsigned gen_components(const struct gen *g, const struct ir_shape *shape);
uint64_t gen_component_size(struct gen *g, const struct ir_value *v); /* bytes, in a slot */
LLVMTypeRef gen_component_type(struct gen *g, const struct ir_value *v);
void gen_store_phi(struct gen *g, const struct ir_value *phi, struct gen_val val,
                   LLVMValueRef const edge[GEN_HALVES], bool blend);

/* ---- gen_flow.c, gen_edge.c, gen_suspend.c */
void gen_flow_run(struct gen *g);
LLVMValueRef gen_mask_bits(struct gen *g, int h);    /* of the current mask */
LLVMValueRef gen_mask32(struct gen *g);              /* i32 of the current mask; singly */
LLVMValueRef gen_mask_of_warp(struct gen *g, int w); /* the same of warp w of several */
LLVMValueRef gen_mask_all(struct gen *g);            /* a bit for each lane */
LLVMValueRef gen_bits_of_all(struct gen *g, LLVMValueRef const mask[GEN_HALVES]); /* the same */
/* i32: the bits of a warp's halves. */
LLVMValueRef gen_bits_of_warp(struct gen *g, LLVMValueRef low, LLVMValueRef high);
LLVMValueRef gen_mask_or_full(struct gen *g, int h); /* <16 x i1>, all true when unmasked */
void gen_masks_or_full(struct gen *g, LLVMValueRef out[GEN_HALVES]); /* of all halves */
void gen_masks_copy(LLVMValueRef to[GEN_HALVES], LLVMValueRef const from[GEN_HALVES]);
LLVMValueRef gen_bits(struct gen *g, LLVMValueRef mask); /* as an integer */
LLVMValueRef gen_no_bits(struct gen *g);
LLVMValueRef gen_full_bits(struct gen *g);
/* All lanes: past the caches where `streams` says so. */
void gen_plain_store(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, uint64_t align_B);
LLVMValueRef gen_all_active(struct gen *g); /* i1: the current mask holds every lane */
/* Branches to `cold` when cond holds; the optimiser is told that this is rare. */
void gen_cond_br_cold(struct gen *g, LLVMValueRef cond, LLVMBasicBlockRef cold,
                      LLVMBasicBlockRef warm);
/* Leaves by services->fault, for the lanes of an i32. */
void gen_fault(struct gen *g, LLVMValueRef lanes, enum hd_status status, LLVMValueRef address);
/* The same when `cond` (i1) holds, for all running lanes; continues otherwise. */
void gen_fault_if(struct gen *g, LLVMValueRef cond, enum hd_status status, LLVMValueRef address);
/* Around what is done when `cond` holds, and ends with gen_fault(). NULL: it never holds. */
LLVMBasicBlockRef gen_fault_begin(struct gen *g, LLVMValueRef cond);
void gen_fault_end(struct gen *g, LLVMBasicBlockRef ok);
/* gen_srcloc.c: around all of the module; before each function; false: no memory. */
void gen_srcloc_begin(struct gen_unit *u);
void gen_srcloc_end(struct gen_unit *u);
bool gen_srcloc_init(struct gen *g);
/* What follows comes from this instruction. */
void gen_srcloc_at(struct gen *g, const struct ir_instr *in);
/* Number of that instruction (ir_module_instr_at). */
uint32_t gen_srcloc(struct gen *g);
void gen_refresh_mask(struct gen *g); /* after a call that may have ended lanes */
void gen_barrier(struct gen *g, const struct ir_instr *instr);

/* ---- one function per instruction family; each emits and gen_set()s the results */
void gen_instr(struct gen *g, const struct ir_instr *instr);
/*
 * Pure operations. An emitter gets the sources as scalars or as <16 x iN> (all alike) and gives the
 * result in the same form; NULL = no native form, gen_eval() takes over. `out_type` of a source is
 * its IR value type; predicates are i1.
 */
struct gen_emit {
    const struct ir_instr *in;
    LLVMValueRef src[4];
    bool vec;
};
LLVMValueRef gen_emit_int(struct gen *g, const struct gen_emit *e);
LLVMValueRef gen_emit_float(struct gen *g, const struct gen_emit *e);
LLVMValueRef gen_emit_approx(struct gen *g, const struct gen_emit *e);
LLVMValueRef gen_emit_cvt(struct gen *g, const struct gen_emit *e);
LLVMValueRef gen_emit_half(struct gen *g, const struct gen_emit *e);
LLVMValueRef gen_emit_small(struct gen *g, const struct gen_emit *e);
LLVMValueRef gen_emit_bits(struct gen *g, const struct gen_emit *e); /* what gen_emit_int leaves */
/* n, of which LLVM knows nothing: the count of a shift or rotation of elements of `width` bits. */
LLVMValueRef gen_hide_count(struct gen *g, LLVMValueRef n, unsigned width);
void gen_pure(struct gen *g, const struct ir_instr *instr);
void gen_eval(struct gen *g, const struct ir_instr *instr); /* any PURE op through jit_rt_eval */
/* Constants and types in the form of the operands. */
LLVMValueRef gen_k(struct gen *g, bool vec, LLVMTypeRef elem, uint64_t v);
LLVMValueRef gen_kf(struct gen *g, bool vec, LLVMTypeRef elem, double v);
LLVMTypeRef gen_type_as(struct gen *g, bool vec, LLVMTypeRef elem);
LLVMValueRef gen_flush(struct gen *g, bool vec,
                       LLVMValueRef x); /* f32 in i32: denormal -> signed zero */
/* FMIN, FMAX: bits of two elements, and the same as floats that compare alike. */
LLVMValueRef gen_min_max(struct gen *g, bool vec, const struct ir_instr *in,
                         LLVMValueRef const bits[2], LLVMValueRef const x[2]);
LLVMRealPredicate gen_real_predicate(enum ir_cmp c);
/*
 * AVX-512: by the class of x, the result is `y`, x or a constant. One digit per class, from the
 * lowest: quiet NaN, signalling NaN, zero, one, -inf, +inf, negative, positive. Digits: 0 y, 1 x,
 * 3 NaN, 4 -inf, 5 +inf, 6 infinity of x's sign, 8 +0 (Intel SDM, VFIXUPIMMPS).
 */
LLVMValueRef gen_fix_up(struct gen *g, LLVMValueRef y, LLVMValueRef x, uint32_t table);
#define GEN_FIX_NANS 0x11111100u /* y for NaNs */
/* gen_float_range.c: what an f32 cannot be. */
bool gen_never_denormal(const struct ir_value *v);
bool gen_never_signals(struct gen *g, const struct ir_value *v); /* no signalling NaN */
/* A fused multiply-add, rounded down, of a number from 0 to 1 and constants, of which the sum has
 * no fraction: expf() cuts its argument into pieces so. */
bool gen_floor_is_sum(const struct ir_instr *in);
/* gen_half.c: f16 and bf16 bits (i16) to f32 and back; NaN becomes 0x7fff. */
LLVMValueRef gen_half_widen(struct gen *g, bool vec, enum ir_type t, LLVMValueRef x);
LLVMValueRef gen_half_narrow(struct gen *g, bool vec, enum ir_type t, LLVMValueRef x,
                             bool toward_zero);
LLVMValueRef gen_half_saturate(struct gen *g, bool vec, enum ir_type t, LLVMValueRef r);
/* f64 to f32, and p + c in f64, rounded to odd: a later rounding to fewer bits is right. */
LLVMValueRef gen_odd_f32(struct gen *g, bool vec, LLVMValueRef x);
LLVMValueRef gen_odd_sum_f64(struct gen *g, bool vec, LLVMValueRef p, LLVMValueRef c);
/* f64 to f32 in a directed rounding (gen_cvt.c). */
LLVMValueRef gen_directed_f32(struct gen *g, bool vec, LLVMValueRef x, enum ir_rnd rnd);
void gen_load(struct gen *g, const struct ir_instr *instr);
/* gen_address_stride.c: `value` (uniform; NULL = none) times `scale`, plus `constant`. */
struct gen_address_stride {
    const struct ir_value *value;
    int64_t scale, constant;
};
enum gen_stride_by { GEN_BY_ITERATION, GEN_BY_THREAD, GEN_BY_CTA };
/* From one iteration of the loop around the current node, thread or CTA to the next, as far as one
 * can see; false: not at all, or not known. */
bool gen_address_stride_of(struct gen *g, const struct ir_value *v, enum gen_stride_by by,
                           struct gen_address_stride *out);
/* gen_prefetch.c: does a load of the current node go by a variable from one iteration of its loop
 * to the next, by the size of the grid, say? */
bool gen_prefetch_jumps(struct gen *g, const struct ir_instr *in);
void gen_store(struct gen *g, const struct ir_instr *instr);
/* gen_strided.c: stores of lanes `stride` bytes apart, when gen_is_spread(). */
bool gen_is_spread(const struct gen *g, int64_t stride, uint64_t size_B);
void gen_store_strided(struct gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef mask,
                       int64_t stride, uint64_t size_B);
/* 16 elements `stride` bytes apart, all of which may be read. */
LLVMValueRef gen_load_strided(struct gen *g, LLVMTypeRef elem, LLVMValueRef ptr, int64_t stride,
                              uint64_t size_B);
/* Four elements of 32 bits from, or to, each of 16 places: a vector of lanes each. */
void gen_load_pieces(struct gen *g, LLVMValueRef const at[GEN_LANES], LLVMValueRef out[4]);
void gen_store_pieces(struct gen *g, LLVMValueRef const at[GEN_LANES], LLVMValueRef const x[4]);
/* gen_guess.c: does the value come from thread numbers and arithmetic, not from lanes' loads? */
bool gen_is_computed(struct gen *g, const struct ir_value *v);
/* i1: in some half the running lanes of x are not first[h] + step * lane; fills in first[h]. */
LLVMValueRef gen_lanes_stray(struct gen *g, LLVMValueRef const x[GEN_HALVES],
                             LLVMValueRef first[GEN_HALVES], int64_t step);
/* i1: 32-bit indices first + step * lane wrap around, among `lanes` lanes; inside some half. */
LLVMValueRef gen_index_wraps(struct gen *g, LLVMValueRef first, int64_t step, bool is_signed,
                             unsigned lanes);
LLVMValueRef gen_lanes_wrap(struct gen *g, LLVMValueRef const first[GEN_HALVES], int64_t step,
                            bool is_signed);
/* gen_range.c. i1: the predicate is `want` in all threads of the block, as far as the ranges of
 * what it compares tell, in any warp alike. NULL: they do not. */
LLVMValueRef gen_block_has(struct gen *g, const struct ir_value *p, bool want);
/* gen_range.c: how many bits of a value may be set, from the lowest on. */
unsigned gen_bits_at_most(struct gen *g, const struct ir_value *v);
/*
 * gen_range.c. i1: the integer that makes an affine index is one of 32 bits in all lanes of the
 * block, so that it does not wrap anywhere; `tests` of halves are the alternative. NULL: not known.
 */
LLVMValueRef gen_index_fits(struct gen *g, const struct ir_value *index, bool is_signed,
                            unsigned tests);
/* i64: how much more half h has of a value that is affine than half 0, modulo 2^32 if `wraps`, or
 * as integers of which it is known that they do not. NULL: not known. */
LLVMValueRef gen_half_apart(struct gen *g, const struct ir_value *v, int h, bool wraps);
/* gen_pattern.c: shared memory at constant distances between lanes; false = not such an access. */
bool gen_pattern_load(struct gen *g, const struct ir_instr *instr);
bool gen_pattern_store(struct gen *g, const struct ir_instr *instr);
/* gen_table.c: a load from a few words of a variable, permuted out of a vector; false: no such. */
bool gen_table_load(struct gen *g, const struct ir_instr *instr);
/* Is it known that lanes are not `step` apart? */
/* The distances in bytes of a half's lanes from its first one; whether the second half is `step`
 * further than the first one is known, too. False: they are not constant. */
bool gen_pattern_distances(struct gen *g, const struct ir_value *address, int64_t out[GEN_LANES],
                           bool *out_goes_on, int64_t *out_step);
bool gen_pattern_is_sparse(struct gen *g, const struct ir_value *v, int64_t step);
/* gen_strong.c: vectors that must be accessed at once; false = not such an access. */
bool gen_strong_load(struct gen *g, const struct ir_instr *instr);
bool gen_strong_store(struct gen *g, const struct ir_instr *instr);
void gen_atom(struct gen *g, const struct ir_instr *instr);
void gen_fence(struct gen *g, const struct ir_instr *in); /* gen_strong.c */
/* gen_async.c */
/* Calls a function that reports faults itself: it is told where it is, before these arguments. */
void gen_call_here(struct gen *g, const char *name, LLVMValueRef const *args, unsigned n);
/* gen_pieces.c: a load of 16 bytes with the store behind it that takes all, or that store; false:
 * neither. */
bool gen_pieces(struct gen *g, const struct ir_instr *in);
void gen_copy(struct gen *g, const struct ir_instr *instr);
void gen_reduce(struct gen *g, const struct ir_instr *instr);
void gen_tensor_copy(struct gen *g, const struct ir_instr *instr);
void gen_multimem(struct gen *g, const struct ir_instr *instr);
void gen_mbarrier(struct gen *g, const struct ir_instr *instr);
void gen_tensor(struct gen *g, const struct ir_instr *instr);
void gen_lane_addresses(struct gen *g, const struct ir_instr *in,
                        LLVMValueRef out[GEN_HALVES]);            /* <16 x i64> */
LLVMValueRef gen_window_base(struct gen *g, enum ir_space space); /* i64; NULL: host addresses */
LLVMValueRef gen_local_lanes(struct gen *g, int h); /* <16 x i32>: each lane's local window */
void gen_addr(struct gen *g, const struct ir_instr *instr);   /* VARADDR, CVTA, CVTA_TO, ISSPACEP */
bool gen_warp(struct gen *g, const struct ir_instr *instr);   /* collectives */
void gen_agree(struct gen *g, const struct ir_instr *in);     /* IR_OP_AGREE */
void gen_matrix(struct gen *g, const struct ir_instr *instr); /* gen_matrix.c */
/* gen_products.c: makes a product and those behind it, or it was made with one; false: neither. */
bool gen_products(struct gen *g, const struct ir_instr *in);
/* gen_rows.c: an ldmatrix whose rows lie at known distances; false: they do not. */
bool gen_rows_load(struct gen *g, const struct ir_instr *in);
/* Of rows of 16 bytes in shared memory: how far they are from the first lane's, a multiple of 16.
 * False: that is not known, or not all lanes run. Then the first, checked for all. */
bool gen_row_distances(struct gen *g, const struct ir_instr *in, int64_t out[2 * GEN_LANES]);
LLVMValueRef gen_first_row(struct gen *g, const struct ir_instr *in);
/* The same from the first of each n lanes, 4 or 2. */
bool gen_group_distances(struct gen *g, const struct ir_instr *in, unsigned n,
                         int64_t out[2 * GEN_LANES]);
/* How far the addresses of each n lanes are apart; false: that is not known, or not all run. */
bool gen_group_step(struct gen *g, const struct ir_value *address, unsigned n, int64_t *out_step_B);
/* gen_quads.c: stores of which four lanes have a row; false: it is no such. */
bool gen_quads_store(struct gen *g, const struct ir_instr *in);
/* Finds g->uses; false: no memory. */
bool gen_uses_find(struct gen *g);
/* Is it one operand of one instruction? Memory may run out: no. */
bool gen_used_once(struct gen *g, const struct ir_value *v);
/*
 * Room for up to `n` registers of one instruction, which all instructions share; sources first to
 * end - 1 stored there, results loaded from there, 32 lanes of `type` each.
 */
enum gen_area { GEN_OPERANDS, GEN_RESULTS };
LLVMValueRef gen_registers_room(struct gen *g, enum gen_area which, uint32_t n);
/* The same, for who knows what operands lie there already (struct gen_held). */
LLVMValueRef gen_registers_area(struct gen *g, enum gen_area which, uint32_t n);
uint64_t gen_register_half_B(enum ir_type type); /* of one register of half a warp */
void gen_registers_store(struct gen *g, const struct ir_instr *in, uint32_t first, uint32_t end,
                         enum ir_type type, LLVMValueRef area);
void gen_registers_load(struct gen *g, const struct ir_instr *in, enum ir_type type,
                        LLVMValueRef area);
void gen_tex(struct gen *g, const struct ir_instr *instr); /* gen_texture.c */
void gen_sreg(struct gen *g, const struct ir_instr *instr);
/* Thread number along an axis of lane 0 of half h of a warp, by division. */
LLVMValueRef gen_tid_start(struct gen *g, LLVMValueRef index, int h, unsigned axis);
void gen_builtin(struct gen *g, const struct ir_instr *instr);
void gen_probe(struct gen *g, const struct ir_instr *instr); /* gen_probe.c */
/* gen_count.c: false: a probe that does not count, or not without a call. */
bool gen_count(struct gen *g, const struct ir_instr *probe);
/* The same of an access, whose addresses are <16 x i64>. */
bool gen_count_access(struct gen *g, const struct ir_instr *probe,
                      LLVMValueRef const addresses[GEN_HALVES]);
/* gen_probe.c: an array of those of a warp. */
LLVMValueRef gen_probe_lanes(struct gen *g, LLVMValueRef const addresses[GEN_HALVES], int warp);
void gen_call(struct gen *g, const struct ir_instr *instr);
void gen_stack(struct gen *g, const struct ir_instr *instr); /* ALLOCA, STACKSAVE, STACKRESTORE */

/* Remembers the first thing that cannot be compiled; generation goes on to keep the LLVM IR well
 * formed. */
void gen_unsupported(struct gen *g, const struct ir_instr *instr, const char *why);
/* The same for what is no instruction's fault. */
void gen_error(struct gen_unit *u, const char *format, ...) HD_PRINTF(2, 3);

/* A 32-lane array of the value in memory (for services and jit_rt_*); inactive lanes hold
 * anything. */
LLVMValueRef gen_to_array(struct gen *g, const struct ir_value *v);
LLVMValueRef gen_array_of(struct gen *g, struct gen_val val, enum ir_type type);
/* Reads such an array as a VARYING value of `type`. */
struct gen_val gen_from_array(struct gen *g, LLVMValueRef array, enum ir_type type);
LLVMValueRef gen_new_array(struct gen *g, enum ir_type type);
/* Calls services-><member at offset>(cta, warp, ...). */
LLVMValueRef gen_service(struct gen *g, uint64_t member_offset, LLVMTypeRef ret, LLVMValueRef *args,
                         unsigned nargs);

#endif
