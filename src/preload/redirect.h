/*
 * Redirecting a CUDA runtime that is linked statically into a program or library: every entry point
 * of it that has a name in .symtab gets a jump to ours, so that the embedded runtime never runs.
 *
 * Which functions are redirected: those whose names are rows of spec/api/runtime.def, nothing else.
 * Programs have functions of their own that begin with cuda or __cuda, and nvcc writes such into
 * them (__cudaRegisterLinkedBinary_*, __cudaUnregisterBinaryUtil): these run, and what they call is
 * redirected. Neither a name's shape nor its place tells them apart: the linker puts the runtime's
 * internal functions in front of the program's, or behind.
 *
 * Must run before other threads exist, and before the constructors that register device code.
 */
#ifndef HD_PRELOAD_REDIRECT_H
#define HD_PRELOAD_REDIRECT_H

#include "base/status.h"

struct redirect_result {
    unsigned redirected;
    unsigned failed;       /* no room for a jump, or our library lacks it */
    unsigned cuda_version; /* major version of the embedded runtime: 11, 12 or 13 */
    bool stripped;         /* device code inside, no runtime by name: cannot be redirected */
};

/* Gives the dlopen handle of our libcudart, or NULL; called only when it is needed. */
typedef void *(*redirect_library)(void *arg);

/*
 * path: the ELF file; base: what the loader added to its addresses. HD_OK with an all-zero result
 * when the file has no static runtime, which costs a look at its headers and symbols.
 */
enum hd_status redirect_object(const char *path, uintptr_t base, redirect_library library,
                               void *arg, struct redirect_result *out_result) HD_MUST_CHECK;

/*
 * Lets calls of a function that has PATCH_JUMP_MAX_B or more, and that nobody is in, go to another;
 * false when the system keeps its code as it is.
 */
bool redirect_function(void *from, void *to);

#endif
