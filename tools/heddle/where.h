/*
 * Where the libraries of this Heddle are: HEDDLE_LIBDIR, then the build tree that the executable is
 * part of, then an installation around it. Paths are absolute and without links, so that they hold
 * in whatever directory a program changes to.
 */
#ifndef HEDDLE_TOOLS_WHERE_H
#define HEDDLE_TOOLS_WHERE_H

#include <limits.h>

#include "base/compiler.h"

/* name, text, file, folder in the build tree */
#define WHERE_LIBRARY_LIST(X)                                                                      \
    X(CUDART, "cudart", "libcudart.so.13", "src/api/runtime")                                      \
    X(CUDART12, "cudart12", "libcudart.so.12", "src/api/runtime")                                  \
    X(CUDA, "cuda", "libcuda.so.1", "src/api/driver")                                              \
    X(PRELOAD, "preload", "libheddle_preload.so", "src/preload")

enum where_library {
#define X(name, text, file, folder) WHERE_##name,
    WHERE_LIBRARY_LIST(X)
#undef X
        WHERE_LIBRARY_COUNT
};

const char *where_library_text(enum where_library library);
const char *where_library_file(enum where_library library);

/* The library's absolute path (kept for the process's life), or NULL when it is not there. */
const char *where_library(enum where_library library);

#endif
