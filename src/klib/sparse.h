/*
 * Sparse matrices: the kernels of cuSPARSE. All have the same parameters, of which each reads some:
 * sparse operands a, b, c, dense ones x, y, z, factors, and what is listed beside its name below.
 *
 * A sparse matrix is read by rows, whatever its format; one that is stored by columns is the
 * transposed one of rows. Sums are in the order of the row's entries on one thread, so results do
 * not depend on the number of threads. A tile is a range of rows, with about as many entries (and
 * rows) as any other; or a range of columns of a dense operand.
 */
#ifndef HD_KLIB_SPARSE_H
#define HD_KLIB_SPARSE_H

#include <heddle/native.h>
#include <stdbool.h>
#include <stdint.h>

/* COO is sorted by rows. BLOCKED_ELL's and SLICED_ELL's columns are -1 where there is no entry. */
enum klib_sparse_format {
    KLIB_CSR,
    KLIB_COO,
    KLIB_BSR,
    KLIB_BLOCKED_ELL,
    KLIB_SLICED_ELL,
};

struct klib_sparse_matrix {
    void *offsets; /* of rows, of block rows, of slices; COO: the rows */
    void *columns; /* or block columns */
    void *values;
    int64_t rows, cols;
    int64_t entries;                                 /* stored; COO needs it */
    int64_t offsets_step, columns_step, values_step; /* elements from problem to problem */
    int32_t block_rows, block_cols;                  /* SLICED_ELL: block_rows is a slice */
    int32_t width;                                   /* BLOCKED_ELL: blocks in a row */
    uint8_t format;                                  /* enum klib_sparse_format */
    uint8_t type;                                    /* enum klib_type of klib.h */
    uint8_t wide_offsets, wide_columns;              /* int64_t, else int32_t */
    uint8_t base;
    uint8_t blocks_by_columns; /* elements of a block */
};

/* Element (i, j) is at values + i * row_step + j * column_step. */
struct klib_dense_matrix {
    void *values;
    int64_t rows, cols;
    int64_t row_step, column_step, problem_step;
    uint8_t type;
    uint8_t is_conjugate;
};

struct klib_sparse_factor {
    const void *address; /* in memory of the device, or NULL */
    double value[2];     /* of the type of the sums */
    uint8_t type;        /* of what is at the address */
};

/*
 * Name; 0, or 1: one for each type of sums, 2: but whole numbers; what it does. Counts of row i go
 * to c's offset i + 1, or i if `only_counts`.
 */
/* clang-format off */
#define KLIB_SPARSE_LIST(X)                                                                        \
    X(spmm, 1, "y = alpha a x + beta y")                                                           \
    X(spmm_scatter, 1, "y = alpha a^T x + beta y; a tile is columns of y")                         \
    X(spsm, 2, "y = alpha a^-1 x of a triangle; a tile is columns of y. p[0]: first zero pivot")   \
    X(sddmm, 1, "c = alpha (x y) where c has entries + beta c")                                    \
    X(to_dense, 1, "y = a")                                                                        \
    X(dense_count, 1, "counts entries of x above alpha")                                           \
    X(dense_fill, 1, "c = entries of x above alpha; b has the offsets")                            \
    X(dense_gather, 1, "the values of c = x where c has blocks")                                   \
    X(vector, 1, "n[0]: enum klib_sparse_vector")                                                  \
    X(spgemm, 1, "c = alpha a b, by c's offsets; n[0]: + beta c, n[1]: it has columns, n[2]: them only")\
    X(geam, 1, "c = alpha a + beta b, c has offsets")                                              \
    X(compress_count, 1, "counts entries of a above alpha")                                        \
    X(compress, 1, "c = entries of a above alpha, c has offsets")                                  \
    X(to_bsr, 1, "c = a, c has offsets")                                                           \
    X(to_csr, 1, "c = a")                                                                          \
    X(quantile, 1, "p[0] = the n[0]th smallest magnitude of x or, if n[1], of a's values")         \
    X(band, 2, "solves systems of p[0..4], diagonals, for y: struct klib_sparse_band")             \
    X(ilu, 2, "a = its LU; p[0]: first zero pivot; n[0]: pivots up to n[1], p[1], become beta")    \
    X(ic, 2, "a's lower triangle = its Cholesky factor; p[0]: first zero pivot")                   \
    X(count_products, 0, "counts entries of a b; p[0][tile]: products")                            \
    X(count_work, 0, "p[0][tile]: products of a b")                                                \
    X(count_sum, 0, "counts entries of a + b")                                                     \
    X(count_blocks, 0, "counts blocks of a in block rows as c's")                                  \
    X(scan, 0, "c's n[0] counts become offsets; their sum to p[0] (int), p[1] (int64_t)")          \
    X(copy, 1, "c = a + beta c, of the same rows; offsets alone if n[0]")            \
    X(transpose, 0, "c = a^T; without values if n[0]")                                             \
    X(offsets, 0, "p[0]: int offsets of a's rows, which are COO's")                                \
    X(rows, 0, "p[0]: int rows of a's entries")                                                    \
    X(sort_rows, 0, "a's columns within rows, and p[0]")                                           \
    X(sort_entries, 0, "a's rows and columns (n[0]: by columns), and p[0]")                        \
    X(identity, 0, "p[0]: n[0] ints")                                                              \
    X(set_diagonal, 0, "a's diagonal = p[0]")                                                      \
    X(find_diagonal, 0, "p[0]: the first row of a without an entry there, or -1")                  \
    X(color, 0, "p[0]: int colors of a's rows, p[1]: how many, p[2]: reordering or NULL")
/* clang-format on */
enum klib_sparse_kernel {
#define X(name, typed, what) KLIB_SPARSE_##name,
    KLIB_SPARSE_LIST(X)
#undef X
        KLIB_SPARSE_KERNELS
};

/* a: entries `columns`, `values`, one row; y: dense. */
enum klib_sparse_vector {
    KLIB_SPARSE_AXPBY,   /* y = alpha a + beta y */
    KLIB_SPARSE_GATHER,  /* a = y, elements of any type */
    KLIB_SPARSE_SCATTER, /* y = a, likewise */
    KLIB_SPARSE_ROTATE,  /* of the plane by alpha, beta: cosine, sine */
    KLIB_SPARSE_DOT,     /* p[0] = a y */
};

struct klib_sparse {
    uint32_t kernel;                          /* enum klib_sparse_kernel */
    uint8_t sums;                             /* enum klib_type: F32, F64, C32, C64, I32 */
    uint8_t is_conjugate;                     /* a is */
    uint8_t is_transposed, is_upper, is_unit; /* spsm; the triangle is that of a as it is stored */
    uint8_t only_counts;
    uint32_t row_tiles; /* of each problem, or chunk of columns */
    uint32_t chunk;     /* columns of y in a tile */
    uint32_t chunks;
    struct klib_sparse_matrix a, b, c;
    struct klib_dense_matrix x, y;
    struct klib_sparse_factor alpha, beta;
    void *p[5];
    int64_t n[6];
};

/* What n of `band` is: element i of a diagonal of problem q is at i * step + q * problem_step. */
enum klib_sparse_band {
    KLIB_BAND_WIDTH, /* diagonals below, as many as above: 1 (p[1..3]), or 2 */
    KLIB_BAND_STEP,
    KLIB_BAND_PROBLEM_STEP,
    KLIB_BAND_PROBLEMS, /* `chunk` in a tile; 1: a tile is `chunk` columns of y */
    KLIB_BAND_PIVOTS,   /* rows are exchanged */
};

/* The member of struct klib. */
struct klib_sparse_library {
    heddle_native_fn
        *run; /* of a struct klib_sparse; tiles: problems x chunks x rows, rows fastest */
    const char *names[KLIB_SPARSE_KERNELS];
};
extern const struct klib_sparse_library klib_sparse_library;

#endif
