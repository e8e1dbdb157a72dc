/*
 * oneDNN by its C interface of version 3, as its documentation has it
 * (https://uxlfoundation.github.io/oneDNN): its functions, how it is kept to the thread that calls
 * it, and primitives, code for one shape, which takes longer to make than many a product to compute
 * and so is kept. Files onednn_*.c are what is computed with it.
 */
#ifndef HD_KLIB_ONEDNN_OPEN_H
#define HD_KLIB_ONEDNN_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "klib/klib.h"

typedef void *dnnl_handle; /* of an engine, a stream, a descriptor, a primitive, memory */

struct dnnl_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
};

struct dnnl_arg {
    int what;
    dnnl_handle memory;
};

enum {
    DNNL_CPU = 1,
    DNNL_IN_ORDER = 1,
    DNNL_RUNTIME_SEQUENTIAL = 1,
    DNNL_RUNTIME_OPENMP = 2,
    DNNL_SCRATCHPAD_USER = 1,
    DNNL_FORMAT_ANY = 1,
    DNNL_FORWARD_TRAINING = 64,
    DNNL_CONVOLUTION_DIRECT = 1,
    DNNL_QUERY_IMPLEMENTATION = 8,
    DNNL_QUERY_SRC = 129,
    DNNL_QUERY_DIFF_SRC = 130,
    DNNL_QUERY_WEIGHTS = 131,
    DNNL_QUERY_DIFF_WEIGHTS = 132,
    DNNL_QUERY_DST = 133,
    DNNL_QUERY_DIFF_DST = 134,
    DNNL_QUERY_SCRATCHPAD = 136,
    DNNL_ARG_SRC = 1,
    DNNL_ARG_DST = 17,
    DNNL_ARG_WEIGHTS = 33,
    DNNL_ARG_SCRATCHPAD = 80,
    DNNL_ARG_DIFF_SRC = 129,
    DNNL_ARG_DIFF_DST = 145,
    DNNL_ARG_DIFF_WEIGHTS = 161,
};

/* Bits of dnnl_get_effective_cpu_isa() that one level adds to those below it. */
enum {
    DNNL_AVX2 = 0x7, /* all of its bits */
    DNNL_AVX2_VNNI = 0x8,
    DNNL_AVX512 = 0x20,
    DNNL_AVX512_VNNI = 0x40,
    DNNL_AVX512_BF16 = 0x80,
    DNNL_AMX_FP16 = 0x1000,
};

/* name, its result, its arguments */
#define DNNL_FUNCTIONS(X)                                                                          \
    X(version, const struct dnnl_version *, (void))                                                \
    X(get_effective_cpu_isa, int, (void))                                                          \
    X(set_max_cpu_isa, int, (int isa))                                                             \
    X(engine_create, int, (dnnl_handle * out, int kind, size_t index))                             \
    X(stream_create, int, (dnnl_handle * out, dnnl_handle engine, unsigned flags))                 \
    X(stream_wait, int, (dnnl_handle stream))                                                      \
    X(stream_destroy, int, (dnnl_handle stream))                                                   \
    X(memory_desc_create_with_strides, int,                                                        \
      (dnnl_handle * out, int ndims, const int64_t *dims, int type, const int64_t *strides))       \
    X(memory_desc_create_with_tag, int,                                                            \
      (dnnl_handle * out, int ndims, const int64_t *dims, int type, int tag))                      \
    X(memory_desc_equal, int, (dnnl_handle a, dnnl_handle b))                                      \
    X(memory_desc_get_size, size_t, (dnnl_handle desc))                                            \
    X(memory_desc_destroy, int, (dnnl_handle desc))                                                \
    X(memory_create, int,                                                                          \
      (dnnl_handle * out, dnnl_handle desc, dnnl_handle engine, void *address))                    \
    X(memory_destroy, int, (dnnl_handle memory))                                                   \
    X(primitive_attr_create, int, (dnnl_handle * out))                                             \
    X(primitive_attr_set_scratchpad_mode, int, (dnnl_handle attr, int mode))                       \
    X(primitive_attr_destroy, int, (dnnl_handle attr))                                             \
    X(matmul_primitive_desc_create, int,                                                           \
      (dnnl_handle * out, dnnl_handle engine, dnnl_handle src, dnnl_handle weights,                \
       dnnl_handle bias, dnnl_handle dst, dnnl_handle attr))                                       \
    X(convolution_forward_primitive_desc_create, int,                                              \
      (dnnl_handle * out, dnnl_handle engine, int prop, int alg, dnnl_handle src,                  \
       dnnl_handle weights, dnnl_handle bias, dnnl_handle dst, const int64_t *strides,             \
       const int64_t *dilates, const int64_t *before, const int64_t *behind, dnnl_handle attr))    \
    X(convolution_backward_data_primitive_desc_create, int,                                        \
      (dnnl_handle * out, dnnl_handle engine, int alg, dnnl_handle diff_src, dnnl_handle weights,  \
       dnnl_handle diff_dst, const int64_t *strides, const int64_t *dilates,                       \
       const int64_t *before, const int64_t *behind, dnnl_handle hint, dnnl_handle attr))          \
    X(convolution_backward_weights_primitive_desc_create, int,                                     \
      (dnnl_handle * out, dnnl_handle engine, int alg, dnnl_handle src, dnnl_handle diff_weights,  \
       dnnl_handle diff_bias, dnnl_handle diff_dst, const int64_t *strides,                        \
       const int64_t *dilates, const int64_t *before, const int64_t *behind, dnnl_handle hint,     \
       dnnl_handle attr))                                                                          \
    X(reorder_primitive_desc_create, int,                                                          \
      (dnnl_handle * out, dnnl_handle src, dnnl_handle src_engine, dnnl_handle dst,                \
       dnnl_handle dst_engine, dnnl_handle attr))                                                  \
    X(primitive_desc_query, int, (dnnl_handle desc, int what, int index, void *out))               \
    X(primitive_desc_query_md, dnnl_handle, (dnnl_handle desc, int what, int index))               \
    X(primitive_desc_destroy, int, (dnnl_handle desc))                                             \
    X(primitive_create, int, (dnnl_handle * out, dnnl_handle desc))                                \
    X(primitive_execute, int,                                                                      \
      (dnnl_handle primitive, dnnl_handle stream, int nargs, const struct dnnl_arg *args))         \
    X(primitive_destroy, int, (dnnl_handle primitive))                                             \
    X(sgemm, int,                                                                                  \
      (char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,     \
       int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc))               \
    X(gemm_s8s8s32, int,                                                                           \
      (char transa, char transb, char offset_c, int64_t m, int64_t n, int64_t k, float alpha,      \
       const int8_t *a, int64_t lda, int8_t ao, const int8_t *b, int64_t ldb, int8_t bo,           \
       float beta, int32_t *c, int64_t ldc, const int32_t *co))

extern struct klib_dnnl {
    dnnl_handle engine;
    /* Of its OpenMP; NULL: it is built without. */
    int (*threads)(void);
    void (*set_threads)(int n);
#define X(name, result, args) result(*name) args;
    DNNL_FUNCTIONS(X)
#undef X
} klib_dnnl;

/* Its number of an element's type; 0: it is none of its. */
int klib_dnnl_type(enum klib_type type);

/* What its OpenMP would use for a call of this thread's; it goes back with klib_dnnl_leave(). */
int klib_dnnl_enter(void);
void klib_dnnl_leave(int threads);

/* ---- what is made for a shape */

/* More shapes than the layers of a network have; one is some tens of KiB. */
enum { KLIB_DNNL_KEPT = 256 };

/* The first member of what is kept. The key is compared as bytes, and part of what is kept. */
struct klib_dnnl_kept {
    const void *key;
    size_t key_B;
    uint64_t used;  /* when, for the one that goes */
    unsigned users; /* calls that run it */
    bool is_kept;
    void (*destroy)(struct klib_dnnl_kept *kept);
};

/* With one user more: what there is of that key, or what `create` makes. NULL: no memory. */
struct klib_dnnl_kept *klib_dnnl_get(const void *key, size_t key_B,
                                     struct klib_dnnl_kept *(*create)(const void *key));
void klib_dnnl_put(struct klib_dnnl_kept *kept);

/* Its scratchpad is each call's own, so that threads may run it at once. */
dnnl_handle klib_dnnl_attr(void);

/* ---- what a call needs beside it: as many as there were calls at once */

struct klib_dnnl_helper {
    struct klib_dnnl_helper *next;
    dnnl_handle stream;
    void *scratch;
    size_t scratch_B;
};

/* NULL: no memory for a scratch of that size. */
struct klib_dnnl_helper *klib_dnnl_helper_get(size_t scratch_B);
void klib_dnnl_helper_put(struct klib_dnnl_helper *h);

struct klib_dnnl_operand {
    int what;
    dnnl_handle desc;
    void *address;
};

/* Runs it, and waits. */
bool klib_dnnl_execute(dnnl_handle primitive, const struct klib_dnnl_helper *h,
                       const struct klib_dnnl_operand *operands, int count) HD_MUST_CHECK;

#endif
