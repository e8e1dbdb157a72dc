/*
 * Where the files of this Heddle are: HEDDLE_LIBDIR (headers: HEDDLE_INCLUDE), then the build tree
 * that the executable is part of, then the installation around it. The last is the way from bindir
 * to libdir as Meson was told them, so an installation may be moved as a whole, and DESTDIR works.
 * Paths are absolute and without links, so that they hold in whatever directory a program changes
 * to. Single-threaded.
 */
#ifndef HEDDLE_TOOLS_WHERE_H
#define HEDDLE_TOOLS_WHERE_H

#include <limits.h>

#include "base/compiler.h"

/* name, text, file, folder in the build tree, put into programs by `heddle run` */
#define WHERE_LIBRARY_LIST(X)                                                                      \
    X(CUDART, "cudart", "libcudart.so.13", "src/api/runtime", true)                                \
    X(CUDART12, "cudart12", "libcudart.so.12", "src/api/runtime", true)                            \
    X(CUDA, "cuda", "libcuda.so.1", "src/api/driver", true)                                        \
    X(PRELOAD, "preload", "libheddle_preload.so", "src/preload", true)                             \
    X(CODEGEN, "codegen", "libheddle-codegen.so", "src/jit", false)                                \
    X(LIBDEVICE, "libdevice", "heddle-libdevice.bc", "src/libdevice", false)

enum where_library {
#define X(name, text, file, folder, run) WHERE_##name,
    WHERE_LIBRARY_LIST(X)
#undef X
        WHERE_LIBRARY_COUNT
};

const char *where_library_text(enum where_library library);
const char *where_library_file(enum where_library library);
/* True for what `heddle run` preloads. */
bool where_library_runs(enum where_library library);

/* The library's absolute path (kept for the process's life), or NULL when it is not there. */
const char *where_library(enum where_library library);

/* The folder of Heddle's CUDA headers (kept for the process's life), or NULL. */
const char *where_headers(void);

#endif
