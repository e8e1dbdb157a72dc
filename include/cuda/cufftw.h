/*
 * cuFFTW: the interface of FFTW 3 on cuFFT. Names and values as in FFTW's documentation; what there
 * is of it as in NVIDIA's. Arrays may be the host's or the device's; fftw_execute() returns when the
 * result is there. docs/cufft.md says what differs.
 */
#ifndef HEDDLE_CUDA_CUFFTW_H
#define HEDDLE_CUDA_CUFFTW_H

#include <stddef.h>
#include <stdio.h>

#include "cufft.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define FFTW_FORWARD  (-1)
#define FFTW_INVERSE  1
#define FFTW_BACKWARD 1

/* Flags change nothing: there is one way to compute. */
#define FFTW_MEASURE        (0U)
#define FFTW_DESTROY_INPUT  (1U << 0)
#define FFTW_UNALIGNED      (1U << 1)
#define FFTW_EXHAUSTIVE     (1U << 3)
#define FFTW_PRESERVE_INPUT (1U << 4)
#define FFTW_PATIENT        (1U << 5)
#define FFTW_ESTIMATE       (1U << 6)
#define FFTW_WISDOM_ONLY    (1U << 21)

typedef double fftw_complex[2];
typedef float fftwf_complex[2];

/* A dimension: its length, and the distances between elements of input and output. */
typedef struct {
    int n, is, os;
} fftw_iodim;
typedef struct {
    ptrdiff_t n, is, os;
} fftw_iodim64;
typedef fftw_iodim fftwf_iodim;
typedef fftw_iodim64 fftwf_iodim64;

/* For both precisions: F is the prefix, R a real number, C a complex one. */
#define HEDDLE_CUFFTW(F, R, C)                                                                     \
    typedef struct F##plan_s *F##plan;                                                             \
    F##plan CUFFTAPI F##plan_dft_1d(int n, C *in, C *out, int sign, unsigned flags);               \
    F##plan CUFFTAPI F##plan_dft_2d(int n0, int n1, C *in, C *out, int sign, unsigned flags);      \
    F##plan CUFFTAPI F##plan_dft_3d(int n0, int n1, int n2, C *in, C *out, int sign,               \
                                    unsigned flags);                                               \
    F##plan CUFFTAPI F##plan_dft(int rank, const int *n, C *in, C *out, int sign, unsigned flags); \
    F##plan CUFFTAPI F##plan_dft_r2c_1d(int n, R *in, C *out, unsigned flags);                     \
    F##plan CUFFTAPI F##plan_dft_r2c_2d(int n0, int n1, R *in, C *out, unsigned flags);            \
    F##plan CUFFTAPI F##plan_dft_r2c_3d(int n0, int n1, int n2, R *in, C *out, unsigned flags);    \
    F##plan CUFFTAPI F##plan_dft_r2c(int rank, const int *n, R *in, C *out, unsigned flags);       \
    F##plan CUFFTAPI F##plan_dft_c2r_1d(int n, C *in, R *out, unsigned flags);                     \
    F##plan CUFFTAPI F##plan_dft_c2r_2d(int n0, int n1, C *in, R *out, unsigned flags);            \
    F##plan CUFFTAPI F##plan_dft_c2r_3d(int n0, int n1, int n2, C *in, R *out, unsigned flags);    \
    F##plan CUFFTAPI F##plan_dft_c2r(int rank, const int *n, C *in, R *out, unsigned flags);       \
    F##plan CUFFTAPI F##plan_many_dft(                                                             \
        int rank, const int *n, int batch, C *in, const int *inembed, int istride, int idist,      \
        C *out, const int *onembed, int ostride, int odist, int sign, unsigned flags);             \
    F##plan CUFFTAPI F##plan_many_dft_r2c(                                                         \
        int rank, const int *n, int batch, R *in, const int *inembed, int istride, int idist,      \
        C *out, const int *onembed, int ostride, int odist, unsigned flags);                       \
    F##plan CUFFTAPI F##plan_many_dft_c2r(                                                         \
        int rank, const int *n, int batch, C *in, const int *inembed, int istride, int idist,      \
        R *out, const int *onembed, int ostride, int odist, unsigned flags);                       \
    F##plan CUFFTAPI F##plan_guru_dft(int rank, const F##iodim *dims, int batch_rank,              \
                                      const F##iodim *batch_dims, C *in, C *out, int sign,         \
                                      unsigned flags);                                             \
    F##plan CUFFTAPI F##plan_guru_dft_r2c(int rank, const F##iodim *dims, int batch_rank,          \
                                          const F##iodim *batch_dims, R *in, C *out,               \
                                          unsigned flags);                                         \
    F##plan CUFFTAPI F##plan_guru_dft_c2r(int rank, const F##iodim *dims, int batch_rank,          \
                                          const F##iodim *batch_dims, C *in, R *out,               \
                                          unsigned flags);                                         \
    F##plan CUFFTAPI F##plan_guru64_dft(int rank, const F##iodim64 *dims, int batch_rank,          \
                                        const F##iodim64 *batch_dims, C *in, C *out, int sign,     \
                                        unsigned flags);                                           \
    F##plan CUFFTAPI F##plan_guru64_dft_r2c(int rank, const F##iodim64 *dims, int batch_rank,      \
                                            const F##iodim64 *batch_dims, R *in, C *out,           \
                                            unsigned flags);                                       \
    F##plan CUFFTAPI F##plan_guru64_dft_c2r(int rank, const F##iodim64 *dims, int batch_rank,      \
                                            const F##iodim64 *batch_dims, C *in, R *out,           \
                                            unsigned flags);                                       \
    void CUFFTAPI F##execute(const F##plan plan);                                                  \
    void CUFFTAPI F##execute_dft(const F##plan plan, C *in, C *out);                               \
    void CUFFTAPI F##execute_dft_r2c(const F##plan plan, R *in, C *out);                           \
    void CUFFTAPI F##execute_dft_c2r(const F##plan plan, C *in, R *out);                           \
    void CUFFTAPI F##destroy_plan(F##plan plan);                                                   \
    void *CUFFTAPI F##malloc(size_t n);                                                            \
    void CUFFTAPI F##free(void *pointer);                                                          \
    void CUFFTAPI F##cleanup(void);                                                                \
    void CUFFTAPI F##set_timelimit(double seconds);                                                \
    /* There is nothing to tell: 0, nothing is printed, written or read. */                        \
    double CUFFTAPI F##cost(const F##plan plan);                                                   \
    void CUFFTAPI F##flops(const F##plan plan, double *add, double *mul, double *fma);             \
    void CUFFTAPI F##print_plan(const F##plan plan);                                               \
    void CUFFTAPI F##export_wisdom_to_file(FILE *file);                                            \
    int CUFFTAPI F##import_wisdom_from_file(FILE *file);

HEDDLE_CUFFTW(fftw_, double, fftw_complex)
HEDDLE_CUFFTW(fftwf_, float, fftwf_complex)
#undef HEDDLE_CUFFTW

#if defined(__cplusplus)
}
#endif

#endif
