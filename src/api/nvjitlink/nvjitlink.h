/*
 * libnvJitLink on the linker that cuLinkCreate() uses: what its files share.
 *
 * One library stands for libnvJitLink.so.12 and .so.13: exports.c gives every function its names.
 * A handle belongs to one thread at a time, as the manual asks.
 */
#ifndef HD_API_NVJITLINK_NVJITLINK_H
#define HD_API_NVJITLINK_NVJITLINK_H

#include "base/str.h"
#include "base/vec.h"
#include "nvJitLink.h"
#include "obj/fatbin.h"

typedef HD_VEC(char *) jl_names;

struct jl_options {
    unsigned cc; /* 0: none was given */
    bool lto, ptx, time, verbose;
    bool drops_variables;        /* -optimize-unused-variables */
    jl_names kernels, variables; /* -kernels-used=, -variables-used= */
};

struct nvJitLink {
    struct jl_options options;
    bool refused; /* by nvJitLinkCreate(): nothing can be linked */
    struct obj_ptx_list inputs;
    bool only_ltoir; /* so are all inputs */
    /* Once it is complete; ptx with its NUL, ltoir with -lto: everything, to be linked again. */
    struct hd_buf image, ltoir, ptx;
    bool complete;
    struct hd_buf error, info;
};

/* Appends a line to the error log and returns the result. */
nvJitLinkResult jl_fail(struct nvJitLink *link, nvJitLinkResult result, const char *fmt, ...)
    HD_PRINTF(3, 4);
nvJitLinkResult jl_options_read(struct nvJitLink *link, uint32_t count, const char *const *options);

/* Every function, without nvJitLink: name, parameters. */
#define JL_FUNCTION_LIST(X)                                                                        \
    X(Create, nvJitLinkHandle *handle, uint32_t count, const char **options)                       \
    X(Destroy, nvJitLinkHandle *handle)                                                            \
    X(AddData, nvJitLinkHandle handle, nvJitLinkInputType type, const void *data, size_t size,     \
      const char *name)                                                                            \
    X(AddFile, nvJitLinkHandle handle, nvJitLinkInputType type, const char *path)                  \
    X(Complete, nvJitLinkHandle handle)                                                            \
    X(GetLinkedCubinSize, nvJitLinkHandle handle, size_t *out_size)                                \
    X(GetLinkedCubin, nvJitLinkHandle handle, void *out_cubin)                                     \
    X(GetLinkedPtxSize, nvJitLinkHandle handle, size_t *out_size)                                  \
    X(GetLinkedPtx, nvJitLinkHandle handle, char *out_ptx)                                         \
    X(GetLinkedLTOIRSize, nvJitLinkHandle handle, size_t *out_size)                                \
    X(GetLinkedLTOIR, nvJitLinkHandle handle, void *out_ltoir)                                     \
    X(GetErrorLogSize, nvJitLinkHandle handle, size_t *out_size)                                   \
    X(GetErrorLog, nvJitLinkHandle handle, char *out_log)                                          \
    X(GetInfoLogSize, nvJitLinkHandle handle, size_t *out_size)                                    \
    X(GetInfoLog, nvJitLinkHandle handle, char *out_log)

#define X(name, ...) nvJitLinkResult jl_##name(__VA_ARGS__);
JL_FUNCTION_LIST(X)
#undef X
nvJitLinkResult jl_Version12(unsigned *out_major, unsigned *out_minor);
nvJitLinkResult jl_Version13(unsigned *out_major, unsigned *out_minor);

#endif
