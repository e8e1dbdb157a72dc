/*
 * heddle torch: what PyTorch's operators run on, compiled for the PyTorch that is there.
 *
 * The source (src/frameworks/torch) is installed with Heddle. A build is found by what went into
 * it: PyTorch's libraries, by their build ids; the source; the compiler's command (torch_key.c).
 * Processes that want the same one at a time wait for each other (torch_compile.c).
 *
 * Functions return 0, or an exit code after a message.
 */
#ifndef HEDDLE_TOOLS_TORCH_H
#define HEDDLE_TOOLS_TORCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "clang/clang.h"

struct torch_build {
    char root[PATH_MAX]; /* site-packages/torch */
    char version[64];
    char *layer; /* layer.cpp */
    const char *compiler;
    char folder[PATH_MAX];     /* of builds */
    char file[PATH_MAX + 128]; /* this one */
};

/* A text with printf's formats; false: it does not fit. */
bool torch_print(char *out, size_t size, const char *fmt, ...) HD_PRINTF(3, 4);

/* Where builds are kept. */
int torch_find_folder(struct torch_build *b);
/* From root and compiler: version, layer, folder, file. The caller's hd_free() for `layer`. */
int torch_find_file(struct torch_build *b);

/* clang 19, else GCC, which does as well. */
int torch_find_compiler(struct torch_build *b);
/*
 * The compiler's command: `root` is PyTorch's folder, `headers` Heddle's, `layer` a path of
 * layer.cpp, `out` what it writes.
 */
void torch_add_command(struct clang_args *args, const char *compiler, const char *root,
                       const char *headers, const char *layer, const char *out);
/* Makes `file`, if no other process did. */
int torch_compile(struct torch_build *b);

#endif
