/*
 * Sparse systems, solved directly: for each type of elements once, sparse_direct.inc. Rows and
 * columns are numbered anew before, by reverse Cuthill and McKee, so that factors stay narrow.
 */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "klib/solver.h"

#define SIZE(i)   (*(const int64_t *)args[i])
#define NUMBER(i) (*(const double *)args[i])

static void *scratch(int64_t n, size_t size_B)
{
    return malloc((size_t)HD_MAX(n, 1) * size_B);
}

/* Where a matrix has elements: rows by their offsets, numbered from `base`. */
struct pattern {
    int64_t n;
    const int *rows, *columns;
    int base;
};

static int64_t first_of(const struct pattern *a, int64_t row)
{
    return a->rows[row] - a->base;
}

/* Neighbours of each row in A + A^T, which may repeat; false: no memory. */
static bool neighbours(const struct pattern *a, int64_t **out_starts, int64_t **out_ends)
{
    int64_t n = a->n, *starts = calloc((size_t)n + 2, sizeof(*starts));
    int64_t *ends = scratch(2 * (first_of(a, n) - first_of(a, 0)), sizeof(*ends));

    if (!starts || !ends) {
        free(starts);
        free(ends);
        return false;
    }
    for (int pass = 0; pass < 2; pass++) {
        /* Counted two places further, then filled one further: what is left are the starts. */
        for (int64_t i = 0; i < n; i++)
            for (int64_t p = first_of(a, i); p < first_of(a, i + 1); p++) {
                int64_t j = a->columns[p] - a->base;
                if (i == j)
                    continue;
                if (!pass) {
                    starts[i + 2]++;
                    starts[j + 2]++;
                } else {
                    ends[starts[i + 1]++] = j;
                    ends[starts[j + 1]++] = i;
                }
            }
        for (int64_t i = 0; !pass && i < n; i++)
            starts[i + 2] += starts[i + 1];
    }
    *out_starts = starts;
    *out_ends = ends;
    return true;
}

static void sort_by_degree(int64_t *at, int64_t n, const int64_t *starts)
{
    for (int64_t i = 1; i < n; i++) {
        int64_t one = at[i], degree = starts[one + 1] - starts[one], j = i;
        for (; j && starts[at[j - 1] + 1] - starts[at[j - 1]] > degree; j--)
            at[j] = at[j - 1];
        at[j] = one;
    }
}

/*
 * Breadth first from `root`, neighbours of low degree first; `order` gets the nodes, `seen` is set
 * to `mark`. Returns how many.
 */
static int64_t breadth_first(const int64_t *starts, const int64_t *ends, int64_t root,
                             int64_t *order, int64_t *seen, int64_t mark)
{
    int64_t n = 1;

    order[0] = root;
    seen[root] = mark;
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = n;
        for (int64_t p = starts[order[i]]; p < starts[order[i] + 1]; p++)
            if (seen[ends[p]] != mark) {
                seen[ends[p]] = mark;
                order[n++] = ends[p];
            }
        sort_by_degree(order + begin, n - begin, starts);
    }
    return n;
}

/* order[new] = old. NULL: no memory. free() it. */
static int64_t *new_order(const struct pattern *a, bool is_wanted)
{
    int64_t n = a->n, done = 0, mark = 1, *order = scratch(n, sizeof(*order));
    int64_t *starts = NULL, *ends = NULL, *seen = calloc((size_t)n + 1, sizeof(*seen));

    for (int64_t i = 0; order && i < n; i++)
        order[i] = i;
    if (!order || !seen || (is_wanted && !neighbours(a, &starts, &ends))) {
        free(order);
        free(seen);
        return NULL;
    }
    for (int64_t i = 0; is_wanted && i < n; i++) {
        if (seen[i])
            continue;
        /* From the node that is reached last the graph is long and narrow. */
        int64_t root = i, found = 0;
        for (int pass = 0; pass < 3; pass++) {
            found = breadth_first(starts, ends, root, order + done, seen, mark++);
            root = order[done + found - 1];
        }
        done += found;
    }
    for (int64_t i = 0; is_wanted && i < n / 2; i++) {
        int64_t one = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = one;
    }
    free(starts);
    free(ends);
    free(seen);
    return order;
}

static int64_t *inverse_of(const int64_t *order, int64_t n)
{
    int64_t *place = scratch(n, sizeof(*place));

    for (int64_t i = 0; place && i < n; i++)
        place[order[i]] = i;
    return place;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

#define NAME2(p, n) klib_solve_##p##n
#define NAME1(p, n) NAME2(p, n)
#define NAME(n)     NAME1(P, n)

#define P          s
#define T          float
#define R          float
#define CONJ(x)    (x)
#define REAL_OF(x) (x)
#define ABS(x)     fabsf(x)
#define SQRT(x)    sqrtf(x)
#define HYPOT      hypotf
#include "klib/sparse_direct.inc"
#define P          d
#define T          double
#define R          double
#define CONJ(x)    (x)
#define REAL_OF(x) (x)
#define ABS(x)     fabs(x)
#define SQRT(x)    sqrt(x)
#define HYPOT      hypot
#include "klib/sparse_direct.inc"
#define P          c
#define T          float complex
#define R          float
#define CONJ(x)    conjf(x)
#define REAL_OF(x) crealf(x)
#define ABS(x)     cabsf(x)
#define SQRT(x)    sqrtf(x)
#define HYPOT      hypotf
#include "klib/sparse_direct.inc"
#define P          z
#define T          double complex
#define R          double
#define CONJ(x)    conj(x)
#define REAL_OF(x) creal(x)
#define ABS(x)     cabs(x)
#define SQRT(x)    sqrt(x)
#define HYPOT      hypot
#include "klib/sparse_direct.inc"
