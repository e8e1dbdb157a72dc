/*
 * What cooperative groups call in kernels: cudaCG*(), which NVIDIA's device library has and headers
 * of CUDA 12 call for groups of several grids. Here they are PTX that is linked to programs that
 * call them.
 *
 * A handle is the address of a grid's workspace, or of its record in a multi-device
 * launch (core/stream/mdc.c), which begin with their sizes. 0 is none: cudaErrorInvalidValue.
 */
#ifndef HD_COMPILE_GROUPS_H
#define HD_COMPILE_GROUPS_H

#include "compile.h"
#include "ptx/ptx.h"

/* Does one of the modules call what it does not define? */
bool compile_wants_groups(struct ptx_module *const *modules, size_t count);
extern const struct compile_unit compile_groups;

#endif
