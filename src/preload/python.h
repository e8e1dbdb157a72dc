/*
 * Python modules that are changed when Python has made them.
 *
 * Some embed a stripped runtime and hand its functions out.
 *
 * cuda.bindings.runtime calls the CUDA runtime through a module of its own (`_bindings.cyruntime`,
 * since 13.4 `_internal.runtime`), a shared object that embeds NVIDIA's static runtime without a
 * symbol table: there is no name to redirect by (redirect.h). But the module exports one C function
 * for each of the runtime's, `_cudaMalloc` for cudaMalloc() and with its signature, as a capsule in
 * its dictionary `__pyx_capi__`, where Cython's `cimport` looks for them: all callers get theirs
 * there. So these capsules are pointed to ours, right after the module was executed and before
 * anybody can have imported from it. See docs/decisions/0104.
 *
 * ONNX Runtime's module is told of our execution provider, frameworks/onnx, in place of its own for
 * CUDA, whose kernels are machine code. See docs/decisions/0158.
 *
 * Only Python's stable ABI is used, and only functions: CPython 3.8 and later.
 */
#ifndef HD_PRELOAD_PYTHON_H
#define HD_PRELOAD_PYTHON_H

#include "preload/redirect.h"

/* Whether a file's name is that of such a module: to be asked before the file is opened. */
bool python_is_hooked(const char *path);

/*
 * Lets the module be changed when Python has executed it. Called while the object is being loaded,
 * before its initialisation; it stays loaded, as Python never unloads modules.
 * Nothing happens to an object of such a name that is no such module.
 * HD_NOT_SUPPORTED, HD_BAD_IMAGE.
 */
enum hd_status python_hook(const char *path, uintptr_t base, redirect_library library, void *arg)
    HD_MUST_CHECK;

#endif
