/*
 * Fourier transforms: lines of complex or real numbers along one dimension of an array. A front
 * makes a transform of several dimensions of one pass for each.
 *
 * A plan is what a length needs (factors, roots of unity) for a way of going through memory. It is
 * a host's object, constant after its creation, and counted: equal ones are one. Kernels have its
 * address among their parameters, so it has to be there until they have run.
 *
 * A pass is one kernel, KLIB_FFT_LINES; a long line that several threads are to work at is three at
 * most (KLIB_FFT_COLUMNS, _ROWS, and one that goes between real and complex numbers), which hand
 * over through `work`.
 */
#ifndef HD_KLIB_FFT_H
#define HD_KLIB_FFT_H

#include <heddle/native.h>
#include <stdint.h>

enum klib_fft_kind { KLIB_FFT_C2C, KLIB_FFT_R2C, KLIB_FFT_C2R };

/* Of the numbers in memory; sums of both short ones are floats. */
enum klib_fft_type { KLIB_FFT_F32, KLIB_FFT_F64, KLIB_FFT_F16, KLIB_FFT_BF16 };

struct klib_fft_plan;

struct klib_fft_shape {
    int64_t n; /* real or complex numbers of a line */
    int64_t lines;
    int64_t in_stride, out_stride; /* elements */
    int64_t in_step, out_step;     /* from line to line, of the innermost counter */
    uint8_t kind, type;            /* enum klib_fft_kind, klib_fft_type */
    uint8_t alone;                 /* wants its single line done by several threads */
};

/* The parameters of all kernels here. Strides and steps count elements of their side. */
struct klib_fft {
    const struct klib_fft_plan *plan;
    const void *in;
    void *out;
    void *work; /* klib_fft_api.work_B() of it, where the plan is for several threads */
    int64_t counts[3], in_steps[3], out_steps[3]; /* of lines; [0] innermost */
    int64_t in_stride, out_stride;
    int64_t tile; /* lines, columns, rows or numbers of a tile */
    uint8_t inverse;
};

/* Kernels of a pass, in the order in which they run. */
struct klib_fft_step {
    uint32_t kernel; /* its number */
    heddle_native_fn *function;
    const char *name;
    uint64_t tiles, work_ns; /* of all */
    int64_t tile;
};
enum { KLIB_FFT_STEPS = 3 };
enum { KLIB_FFT_LINES, KLIB_FFT_COLUMNS, KLIB_FFT_ROWS, KLIB_FFT_HALVES, KLIB_FFT_KERNELS };

struct klib_fft_api {
    /* NULL: no memory. */
    const struct klib_fft_plan *(*create)(const struct klib_fft_shape *shape);
    void (*destroy)(const struct klib_fft_plan *plan); /* NULL: nothing */
    uint64_t (*work_B)(const struct klib_fft_plan *plan);
    /* How a pass over `lines` lines is launched; returns the number of kernels. */
    unsigned (*steps)(const struct klib_fft_plan *plan, int64_t lines, unsigned threads,
                      struct klib_fft_step steps[KLIB_FFT_STEPS]);
};

extern const struct klib_fft_api klib_fft_api;

#endif
