/*
 * What the files of libcufft share. A plan is a host's object that handles and graphs hold on to:
 * its tables are there until the last of them is gone and the work of its stream is done.
 */
#ifndef HD_API_CUFFT_FFT_H
#define HD_API_CUFFT_FFT_H

#pragma GCC visibility push(default) /* what the header declares is what the library exports */
#include <cufftXt.h>
#pragma GCC visibility pop

#include <stdatomic.h>
#include <stdbool.h>

#include "api/lib_base/lib_compute.h"
#include "base/compiler.h"
#include "klib/fft.h"
#include "klib/klib.h"

enum { FFT_RANK = 3 };

/* Where the numbers of one side are; strides and distances count numbers. */
struct fft_layout {
    int64_t stride[FFT_RANK], dist;
};

/* What is to be transformed. */
struct fft_problem {
    uint8_t kind, type; /* enum klib_fft_kind, klib_fft_type */
    int rank;
    int64_t n[FFT_RANK], batch;
    bool is_basic; /* without embed: real numbers in place are padded */
    struct fft_layout in, out;
};

/* A plan's transform along a dimension. */
struct fft_pass {
    const struct klib_fft_plan *plan;
    int dim;
};

struct fft_plan {
    struct lib_handle base;
    atomic_uint references;
    bool is_made, keeps_work, has_run, has_run_elsewhere;
    int gpus, device; /* of cufftXtSetGPUs(); 0: it was not called */
    long long properties[3];
    struct fft_problem problem;
    struct fft_pass passes[FFT_RANK];
    uint64_t between_B, work_B; /* of complex numbers between passes; of all */
    void *own_work, *work;
};

extern const struct lib_info fft_info;

cufftResult fft_status(int cuda_result);
/* The error of an argument, of that name. */
cufftResult fft_invalid(cufftResult status, const char *function, const char *what);

/* A handle's plan, NULL: none. */
struct fft_plan *fft_plan_of(cufftHandle handle);
/* Drops a reference. */
void fft_plan_unref(struct fft_plan *plan);

/* Checks, and fills in what passes it takes. The plan has not been made. */
cufftResult fft_plan_make(struct fft_plan *plan, const struct fft_problem *problem);
/* Bytes of a number of a side. */
size_t fft_number_B(const struct fft_problem *problem, bool is_out);

/* A side of a problem without embed. */
void fft_basic(struct fft_problem *problem, bool in_place, struct fft_layout *in,
               struct fft_layout *out);
cufftResult fft_run(struct fft_plan *plan, const void *in, void *out, bool inverse,
                    const char *function);

#endif
