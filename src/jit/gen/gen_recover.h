/* Errors that LLVM would end the process for: see gen_recover.c. */
#ifndef HD_JIT_GEN_GEN_RECOVER_H
#define HD_JIT_GEN_GEN_RECOVER_H

#include "jit/gen/gen.h"

/* Once per process. */
void gen_recover_init(void);
/*
 * Runs body(arg). False: LLVM met a fatal error, `why` says which; everything that the body made
 * with LLVM is lost and must not be touched. Does not nest.
 */
bool gen_recover(void (*body)(void *arg), void *arg, char *why, size_t why_B);
/* LLVM's error diagnostics become u->error. (By default they end the process as well.) */
void gen_recover_diagnostics(struct gen_unit *u);
/* Makes LLVM fail for real: an operation of another machine, for which there is no instruction. */
void gen_recover_break(struct gen_unit *u);

#endif
