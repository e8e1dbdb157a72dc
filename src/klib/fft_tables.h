/* Cores and lines: factors, and tables of roots of unity, computed as doubles. */
#ifndef HD_KLIB_FFT_TABLES_H
#define HD_KLIB_FFT_TABLES_H

#include "klib/fft_plan.h"

/* NULL: no memory. */
struct fft_core *fft_core_create(int64_t n, const struct fft_ops *ops);
void fft_core_destroy(struct fft_core *core);
struct fft_line *fft_line_create(int64_t n, const struct fft_ops *ops);
void fft_line_destroy(struct fft_line *line);

/* Passes over a number, about, that a core of length n makes; of all of Bluestein's. */
double fft_core_cost(int64_t n, const struct fft_ops *ops);
/* Likewise of a line alone; 0: n has no two factors. */
double fft_line_cost(int64_t n, const struct fft_ops *ops);
bool fft_is_smooth(int64_t n);
/* Of a core's longer buffer. */
int64_t fft_core_span(int64_t n);

/* exp(-2 pi i k / n) for k < count, as the numbers of `ops`. */
void *fft_roots(int64_t n, int64_t count, const struct fft_ops *ops);

/* Of 64-byte alignment; freed with free(). */
void *fft_memory(size_t size_B);

/* What this host is to use. */
const struct fft_ops *fft_ops_of(bool doubles);

#endif
