/*
 * Redirecting a CUDA runtime that is linked statically into a program or library: every entry point
 * of it that has a name in .symtab gets a jump to ours, so that the embedded runtime never runs.
 *
 * Which functions belong to the embedded runtime: those named as entry points that our library
 * exports, and further cuda* / __cuda* functions that lie between them or among the runtime's own
 * internal functions (libcudart_static_*). Functions of the program that merely begin with "cuda"
 * lie elsewhere and are left alone. An entry point that our library lacks is redirected to a stub
 * that logs its name once and returns cudaErrorNotSupported: left alone it would run into the
 * vendor's code.
 *
 * Must run before other threads exist, and before the constructors that register device code.
 */
#ifndef HD_PRELOAD_REDIRECT_H
#define HD_PRELOAD_REDIRECT_H

#include "base/status.h"

struct redirect_result {
    unsigned redirected;
    unsigned stubbed;      /* not exported by our library */
    unsigned failed;       /* no room for a jump */
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

#endif
