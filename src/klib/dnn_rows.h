/*
 * Rows of tensors as floats or doubles: n elements `step` apart from `offset` on, of any type.
 * Numbers of less than 32 bits are exact in both.
 */
#ifndef HD_KLIB_DNN_ROWS_H
#define HD_KLIB_DNN_ROWS_H

#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "klib/dnn.h"
#include "klib/dnn_math.h"
#include "klib/halves.h"
#include "klib/klib.h"

static inline int64_t dnn_channel(const struct klib_tensor *t, int64_t c)
{
    if (t->vector > 1)
        return c / t->vector * t->strides[1] + c % t->vector;
    return c * t->strides[1];
}

static inline double dnn_saturated(double f, double least, double most)
{
    f = nearbyint(f);
    return f < least ? least : f > most ? most : f == f ? f : 0;
}

static inline uint8_t dnn_ue8m0_of(double f)
{
    int exponent;

    /* Up to the next power of two, as quantisers do. */
    if (!(f > 0))
        return f == f ? 0 : 255;
    double mantissa = frexp(f, &exponent);
    exponent += 126 + (mantissa > 0.5);
    return (uint8_t)(exponent < 0 ? 0 : exponent > 254 ? 254 : exponent);
}

#define DNN_LOAD(T, expr)                                                                          \
    do {                                                                                           \
        const T *e = (const T *)base + offset;                                                     \
        if (step == 1)                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                      \
                T v = e[i];                                                                        \
                to[i] = expr;                                                                      \
            }                                                                                      \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                T v = e[i * step];                                                                 \
                to[i] = expr;                                                                      \
            }                                                                                      \
    } while (0);                                                                                   \
    break

#define DNN_STORE(T, expr)                                                                         \
    do {                                                                                           \
        T *e = (T *)base + offset;                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                          \
            REAL v = from[i];                                                                      \
            e[i * step] = expr;                                                                    \
        }                                                                                          \
    } while (0);                                                                                   \
    break

#define REAL           float
#define DNN_NAME(name) name##_f32
#define DNN_MATH(name) name##f
#include "klib/dnn_rows.inc"
#undef REAL
#undef DNN_NAME
#undef DNN_MATH
#define REAL           double
#define DNN_NAME(name) name##_f64
#define DNN_MATH(name) name
#include "klib/dnn_rows.inc"
#undef REAL
#undef DNN_NAME
#undef DNN_MATH

#undef DNN_LOAD
#undef DNN_STORE

#endif
