/*
 * Entry point of the code generator (heddle-codegen, opened privately by jit_module.c).
 */
#ifndef HD_JIT_GEN_CODEGEN_H
#define HD_JIT_GEN_CODEGEN_H

#include "ir/ir.h"
#include "ir/shape.h"
#include "jit/jit.h"

struct gen_request {
    const struct ir_func *kernel;
    enum ir_launch_class cls;
    enum jit_path path;
    const char *features; /* LLVM feature string of the host, restricted to the path */
    bool verify;          /* run LLVM's verifier */
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
    bool waits_in_calls;
    bool uses_printf;
    bool has_run_cta;
};

struct gen_result {
    uint8_t *object; /* ELF relocatable; malloc'ed */
    size_t object_B;
    struct gen_facts facts;
    char error[512]; /* why it failed */
    char *llvm_text; /* with HEDDLE_DEBUG=llvm: before optimisation; malloc'ed */
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
