/*
 * The code generator stays until the process is gone, and a thread may be compiling right to the
 * end. So nothing of LLVM's is destroyed at exit: its constructors register their destructors
 * here, since the linker takes this definition for all that is in the library. Where LLVM is a
 * shared library of its own they run, and a compilation that meets them is given up (jit_llvm.c).
 */
#include "jit/gen/codegen.h"

int __cxa_atexit(void (*destroy)(void *arg), void *arg, void *library);

int __cxa_atexit(void (*destroy)(void *arg), void *arg, void *library)
{
    (void)destroy, (void)arg, (void)library;
    return 0;
}
