/* What the calls of the runtime API need besides: types, registered code. */
#ifndef HD_TESTS_FUZZ_RUNTIME_H
#define HD_TESTS_FUZZ_RUNTIME_H

#include "cuda_runtime_api.h"
#include "api/runtime/interop.h"

#include "fuzz_api.h"

/* Registers kernels and variables, as a program's constructors do. */
void fuzz_register(void);
const void *fuzz_func(struct fuzz *z);   /* what <<<>>> names */
const void *fuzz_symbol(struct fuzz *z); /* a variable */
enum cudaMemcpyKind fuzz_kind(struct fuzz *z);

#endif
