/*
 * Entry point of the code generator (heddle-codegen, opened privately by jit_module.c).
 */
#ifndef HD_JIT_GEN_CODEGEN_H
#define HD_JIT_GEN_CODEGEN_H

#include "ir/ir.h"
#include "jit/launch_class.h"
#include "jit/jit.h"

/* Bits of gen_request.skip, what is left out of the fast form, and of gen_facts.fired. */
enum gen_pass {
#define X(NAME, ...) GEN_PASS_##NAME,
#include "gen_passes.def"
    GEN_PASS_COUNT
};
_Static_assert(GEN_PASS_COUNT <= 32, "a bit each");

/* How much the generator dares: the forms that are generated (jit.h). */
enum gen_form {
#define X(name, text, doc) GEN_##name = JIT_##name,
    JIT_GENERATED_FORM_LIST(X)
#undef X
};

/*
 * How long LLVM may take. Quick code is made some 5 times sooner and runs some 2 times slower; the
 * results are the same.
 */
enum gen_effort {
    GEN_BEST,  /* as long as it needs */
    GEN_SOON,  /* quick code for kernels that would take it long */
    GEN_MANY,  /* and for others, because the launch has many CTAs */
    GEN_QUICK, /* quick code for every kernel */
};

/* jit_rt_async.c: what is accessed, besides the unit of a copy or the operation on a barrier. */
enum {
    JIT_ASYNC_SHARED = 1 << 8, /* a shared window of the cluster */
    JIT_ASYNC_STRICT = 1 << 9, /* in strict code */
};

struct gen_request {
    const struct ir_func *kernel;
    /* NULL, or set while the kernel is read, and: it must not be read any more. Both are looked at
     * by other threads. */
    _Atomic bool *reads;
    const _Atomic bool *ending;
    enum jit_launch_class cls;
    enum jit_path path;
    enum gen_form form;
    const char *features; /* LLVM feature string of the host, restricted to the path */
    enum gen_effort effort;
    bool alone; /* no other CPU makes the best code meanwhile: quick code only if that takes long */
    uint32_t skip; /* 1 << enum gen_pass */
    bool strict;   /* services->check is asked about what is outside of the device's space */
    bool srclocs;  /* the object has .debug_line, whose lines are numbers of instructions */
    bool coarsen;  /* several warps also where they do not seem worth while */
    bool halves;   /* half a warp at a time also where it does not seem worth while */
    bool whole;    /* no half a warp at a time */
    /* What tuning chose (spec/tuning.def); 0: as the generator judges. */
    uint32_t warps;    /* at once, at most */
    uint32_t ahead;    /* iterations or CTAs that prefetches reach */
    uint32_t unrolled; /* instructions of a run of unrolled regions */
    bool verify;       /* run LLVM's verifier */
    bool count_only;   /* stop before LLVM's part: result.work and facts, no object */
    bool break_llvm;   /* HD_FAULT_JIT_LLVM: LLVM is to meet a fatal error */
    bool crash;        /* HD_FAULT_JIT_CRASH: a wild access */
    bool shallow;      /* HD_FAULT_JIT_STACK: any stack frame is too large */
    bool hang;         /* HD_FAULT_JIT_HANG: a loop without end */
};

/* Goes into the object cache beside the code. */
struct gen_facts {
    uint64_t frame_B;
    uint64_t cost_ops;
    uint32_t mxcsr;
    bool has_barrier;
    bool has_votes; /* some barrier reduces predicates */
    bool simple_barriers;
    bool may_spin;
    bool in_order;
    bool waits_in_calls;
    bool has_run_cta;
    uint32_t warps;   /* that are run at once */
    bool quick;       /* GEN_BEST would give other code */
    bool many;        /* GEN_SOON would as well: it is for launches of many CTAs */
    uint32_t best_us; /* about how long that takes LLVM; 0 when not quick */
    uint32_t fired;   /* 1 << enum gen_pass: those that did something */
};

/* What was made of how much: the same on every machine, so tests can bound it. */
struct gen_work {
    uint64_t ir_instrs; /* of the kernel and the functions made with it */
    uint64_t llvm_instrs, llvm_blocks;
};

struct gen_result {
    uint8_t *object; /* ELF relocatable; malloc'ed */
    size_t object_B;
    struct gen_facts facts;
    struct gen_work work;
    char error[512]; /* why it failed */
    char *llvm_text; /* with HEDDLE_DEBUG=llvm: before optimisation; malloc'ed */
    char *post_text; /* with HEDDLE_DEBUG=post: behind each rewriter; malloc'ed */
    char *asm_text;  /* with HEDDLE_DEBUG=asm */
};

/* Name of the one exported symbol and its type. Any thread; LLVM contexts are per call. */
#define GEN_ENTRY "heddle_codegen_compile"
typedef enum hd_status gen_compile_fn(const struct gen_request *req, struct gen_result *out);
#define GEN_VERSION "heddle_codegen_llvm_version"
typedef const char *gen_version_fn(void);

HD_EXPORT gen_compile_fn heddle_codegen_compile;
HD_EXPORT gen_version_fn heddle_codegen_llvm_version;

#endif
