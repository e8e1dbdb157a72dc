/* The engine's functions: of native kernels whose parameters klib.h describes. */
#ifndef HD_KLIB_BLAS_H
#define HD_KLIB_BLAS_H

#include "base/compiler.h"
#include "klib/klib.h"

extern const struct klib_routine klib_routines[KLIB_ROUTINES];

/* The address of a call's argument, for one problem. */
void *klib_argument(const struct klib_call *call, uint32_t i, uint64_t problem);

int klib_blas(struct heddle_native_call *native);
int klib_gemm_run(struct heddle_native_call *native);
void klib_gemm_blocks(struct klib_gemm *g, uint64_t problems, unsigned threads);
uint64_t klib_gemm_ns(const struct klib_gemm *g, uint64_t problems);

/* ---- pieces of a product, for kernels that end it in another way */

/* Elements of k that are made floats at once: a slice of both panels stays in the L2. */
#define KLIB_SLICE 512
/* Sums of that many products of bytes are whole numbers below 2^24, which floats hold. */
#define KLIB_SLICE_I8 1024

/* Of `elements`, which are whole bytes together. */
int64_t klib_bytes(enum klib_type type, int64_t elements);

/* Where a problem's matrix is. */
const char *klib_base_of(const struct klib_matrix *x, uint64_t problem);

/* Is the matrix stored as the product has it, not transposed? */
static inline bool klib_lies(const struct klib_matrix *x)
{
    return x->op == 'N' || x->op == 'R';
}

/* m x n elements of C, and the rows of op(A) and columns of op(B) that they are made of. */
struct klib_block {
    const char *a, *b;
    char *c;
    int64_t m, n;
};
struct klib_block klib_block_at(const struct klib_gemm *g, uint64_t problem, int64_t row,
                                int64_t column, int64_t m, int64_t n);

/* BLAS's gemm on elements of its own types, into a block at `c`. */
void klib_gemm_direct(const struct klib_gemm *g, const struct klib_block *at, const void *alpha,
                      const void *beta, void *c, int64_t ldc);

/* Has the engine one call for a block and all: C = op(A) op(B), of floats with an alpha, or C +=
 * that? BLAS's own types are OpenBLAS's otherwise. */
bool klib_gemm_may_end(const struct klib_gemm *g, const void *alpha, const void *beta);
/* Makes that call. False: there is no such product, and C is as it was. */
bool klib_gemm_ends(const struct klib_gemm *g, const struct klib_block *at, const void *alpha,
                    const void *beta) HD_MUST_CHECK;

/* Sums of a block's products: floats, and of products of bytes whole numbers beside them. */
struct klib_sums {
    float *f;
    int32_t *i; /* or NULL */
    float *a, *b;
};
/* False: no memory. Whole numbers if the product's sums are. */
bool klib_sums_init(struct klib_sums *s, const struct klib_gemm *g, int64_t m, int64_t n)
    HD_MUST_CHECK;
void klib_sums_fini(struct klib_sums *s);
/* `scale`, or NULL: is given elements [k, k + w) of both panels, as floats, and may change them.
 * False: no memory. */
typedef void klib_panels_fn(const void *user, struct klib_sums *s, int64_t k, int64_t w);
bool klib_gemm_sums(const struct klib_gemm *g, const struct klib_block *at, struct klib_sums *s,
                    klib_panels_fn *scale, const void *user) HD_MUST_CHECK;

/* `rows` x `columns` floats of what is at `from`, whose columns are `ld` apart. */
void klib_widen(float *to, const char *from, enum klib_type type, int64_t ld, int64_t rows,
                int64_t columns);

#endif
