/* Private to src/model: elements of matrices as numbers. */
#ifndef HD_MODEL_MMA_H
#define HD_MODEL_MMA_H

#include "ir/mma.h"
#include "model/tensor_core.h"

/* An element as a number, exactly (eval_mma.c). */
float ir_mma_float(enum ir_type type, uint32_t bits);
int32_t ir_mma_integer(enum ir_type type, uint32_t bits);
float ir_mma_scale(enum ir_type type, uint32_t byte);
/* A sum as f16 or f32; NaN is canonical. */
uint32_t ir_mma_narrow(enum ir_type type, float sum);
/* ir_eval_mma() of a unit, whose tensor cores may add in another way. */
void ir_eval_mma_of(const struct ir_mma *mma, enum tcore_unit unit, const void *src, void *dst);

#endif
