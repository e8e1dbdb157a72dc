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

#include "base/str.h"

enum where_library {
#define X(name, text, file, folder, how) WHERE_##name,
#include "libraries.def"
#undef X
    WHERE_LIBRARY_COUNT
};

const char *where_library_text(enum where_library library);
const char *where_library_file(enum where_library library);
/* How programs under `heddle run` get it; spec/libraries.def. */
enum where_how { WHERE_NOT, WHERE_REFUSED, WHERE_LATE, WHERE_PRELOADED };
enum where_how where_library_how(enum where_library library);

/*
 * The library that does the work of a file of NVIDIA's, whichever its version: "libnvrtc.so.12". Those
 * that refuse it do not count.
 */
bool where_replaces(struct hd_str file_name, enum where_library *out_library);

/* The library's absolute path (kept for the process's life), or NULL when it is not there. */
const char *where_library(enum where_library library);

/* The path of the library that -lNAME means, as where_library(): "cublas"; NULL: it is not ours. */
const char *where_linked(const char *name);

/* A function of a library, and the pointer that gets its address. */
struct where_symbol {
    const char *name;
    void *slot;
};
/* Loads the library and these functions, for good; CLI_OK, or what went wrong was said. */
int where_load(enum where_library library, const struct where_symbol *wanted, size_t n);

/* An executable beside this one ("ptxas"), kept by the caller's hd_free(); NULL: there is none. */
char *where_tool(const char *name);

/* A script of ours, kept by the caller's hd_free(); NULL: there is none. */
char *where_script(const char *name);

/* The source of the layer for PyTorch, kept by the caller's hd_free(); NULL: there is none. */
char *where_torch(void);

/*
 * A folder that looks like a CUDA toolkit to those who only want its headers: `include` is
 * Heddle's. Kept by the caller's hd_free(); NULL: there is none.
 */
char *where_toolkit(void);

/* The folder of Heddle's CUDA headers (kept for the process's life), or NULL. */
const char *where_headers(void);

#endif
