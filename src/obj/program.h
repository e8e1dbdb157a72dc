/*
 * How a program or library uses the CUDA runtime, told from its ELF file alone.
 */
#ifndef HD_OBJ_PROGRAM_H
#define HD_OBJ_PROGRAM_H

#include "obj/elf.h"

/* name, text */
#define OBJ_RUNTIME_LIST(X)                                                                        \
    X(NONE, "none")         /* does not use the runtime by itself */                               \
    X(SHARED, "shared")     /* imports it */                                                       \
    X(EMBEDDED, "embedded") /* linked statically, its functions have names: can be redirected */   \
    X(STRIPPED, "stripped") /* linked statically, names are gone: cannot be redirected */

enum obj_runtime {
#define X(name, text) OBJ_RUNTIME_##name,
    OBJ_RUNTIME_LIST(X)
#undef X
};

/*
 * STRIPPED is concluded from device code (.nvFatBinSegment) without any way to register it: no
 * import and no function of the runtime. A stripped program without device code that embeds the
 * runtime looks like NONE.
 */
enum obj_runtime obj_program_runtime(const struct obj_elf *elf);
/*
 * The same, but NONE also for one without device code that imports the runtime: what a loader needs
 * to know of every library, without looking at the imports of large ones.
 */
enum obj_runtime obj_program_embedded(const struct obj_elf *elf);
const char *obj_runtime_text(enum obj_runtime runtime);

/* CUDA major version (11, 12, 13) of a SHARED or EMBEDDED runtime; 0 when unknown. */
unsigned obj_program_cuda_version(const struct obj_elf *elf);

/*
 * "cudaMalloc", "__cudaRegisterVar": an entry point of the runtime, or a name that looks like one.
 */
bool obj_is_runtime_name(struct hd_str name);
/* "cuMemAlloc_v2": the driver. */
bool obj_is_driver_name(struct hd_str name);

/* A library of CUDA beyond runtime and driver. */
struct obj_vendor_library {
    const char *soname;    /* its beginning */
    const char *what;      /* "cuBLAS" */
    const char *functions; /* how the names of its functions begin */
};

/* The row for a file's name or path; NULL for other files. */
const struct obj_vendor_library *obj_vendor_library(struct hd_str path);
/* The row whose functions have such names, "cublasCreate_v2"; NULL for other texts. */
const struct obj_vendor_library *obj_vendor_function(struct hd_str name);

#endif
