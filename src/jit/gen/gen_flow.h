/*
 * Between the files that deal with control flow and functions.
 */
#ifndef HD_JIT_GEN_GEN_FLOW_H
#define HD_JIT_GEN_GEN_FLOW_H

#include "jit/gen/gen.h"

/* gen_nodes.c: decides the mode, makes nodes and barrier sites, finds values that need slots. */
enum hd_status gen_nodes_build(struct gen *g);

/* The value in the first lane of the current mask. */
LLVMValueRef gen_first_active(struct gen *g, const struct ir_value *v);

/* gen_call.c: arguments and results of device functions in memory. */
void gen_store_args(struct gen *g);
void gen_entry_mask(struct gen *g);
void gen_store_results(struct gen *g, const struct ir_instr *ret);
/* The LLVM function of a device function, generating it if need be. */
LLVMValueRef gen_device_function(struct gen *g, const struct ir_func *func);

/* gen_main.c: generates `func` into `fn` with a fresh per-function state. */
enum hd_status gen_function(struct gen *parent, const struct ir_func *func, LLVMValueRef fn);
void gen_llvm_init(void);
const char *gen_cpu_name(enum jit_path path);

#endif
