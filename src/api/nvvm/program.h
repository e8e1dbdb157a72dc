/*
 * Programs of libnvvm: modules of NVVM IR, and what compiling made.
 *
 *     nvvm.c       the entry points: checks, copies results out
 *     options.c    words of the command line -> struct nv_options
 *     dialect.c    text of LLVM 7's dialect -> text that clang 19 reads
 *     intrinsics.c NVVM's own intrinsics by LLVM's
 *     flush.c      -ftz=1: what the functions of a module need for it
 *     build.c      a folder with the modules -> clang -> PTX and log
 *
 * Threads: a program is used by one thread at a time, as the manual asks; different ones by any.
 */
#ifndef HD_API_NVVM_PROGRAM_H
#define HD_API_NVVM_PROGRAM_H

#include "base/str.h"
#include "base/vec.h"
#include "nvvm.h"

struct nv_module {
    char *name;
    struct hd_buf bytes; /* text or bitcode, as given */
    bool lazy;           /* only what others need of it, without verification */
};

struct _nvvmProgram {
    HD_VEC(struct nv_module) modules;
    struct hd_buf log, result; /* result: PTX with its NUL, or an image */
    bool compiled;
};

struct nv_options {
    char target[16]; /* "sm_90a" */
    unsigned cc;     /* 90 */
    char variant;    /* 'a', 'f' or 0 */
    bool lto, plain; /* plain: -opt=0 */
    bool ftz, fast_sqrt, fast_div, no_fma;
};

/* False, with the reason in the log, when a word is not known or its value is not. */
bool nv_options_read(struct nv_options *o, int n, const char *const *words, struct hd_buf *log);
/* "compute_90a" -> 90 and 'a'; false: it is none. */
bool nv_arch_read(const char *text, unsigned *out_cc, char *out_variant);

/*
 * Appends text of LLVM 7's dialect, in which pointers have types, as clang 19 reads it. What is
 * newer stays as it is.
 */
void nv_dialect_convert(const char *text, size_t len, struct hd_buf *out);

/* Is it bitcode, bare or in its wrapper? */
bool nv_is_bitcode(const char *bytes, size_t len);

/* Renames the intrinsics that nv_intrinsics defines, in text or bitcode; true: there are some. */
bool nv_intrinsics_rename(char *bytes, size_t len);
/* The module, as text, that defines them. */
extern const char nv_intrinsics[];

/* Appends LLVM's own text of a module with its functions marked as flushing. */
void nv_flush_mark(const char *text, size_t len, struct hd_buf *out);

/* Reads and checks the modules; `result` is empty before, and stays so. */
nvvmResult nv_verify(struct _nvvmProgram *program);
/* All of it. */
nvvmResult nv_build(struct _nvvmProgram *program, const struct nv_options *options);

#endif
