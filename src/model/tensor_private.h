/* Private to src/model: what tensor*.c share. */
#ifndef HD_MODEL_TENSOR_PRIVATE_H
#define HD_MODEL_TENSOR_PRIVATE_H

#include "model/tensor.h"

static inline struct ir_tensor_memory *ir_tensor_own(const struct ir_tensor_cta *cta)
{
    return cta->block[cta->own].memory;
}

struct ir_tensor_coord {
    unsigned lane, column;
};

/* Reports; false. */
static inline bool ir_tensor_refuse(struct ir_tensor_error *out, enum hd_status status, uint64_t at,
                                    const char *why)
{
    *out = (struct ir_tensor_error){status, at, why};
    return false;
}
/* Lanes and columns from an address on; false: they are not all allocated, in every block. */
bool ir_tensor_locate(const struct ir_tensor_cta *cta, uint32_t address, unsigned lanes,
                      unsigned columns, struct ir_tensor_coord *out, struct ir_tensor_error *error)
    HD_MUST_CHECK;
/* Two registers of the thread as one number. */
static inline uint64_t ir_tensor_pair(const struct ir_tensor_cta *cta, const uint32_t *src,
                                      unsigned reg)
{
    return src[reg * 32u + cta->lane] | (uint64_t)src[(reg + 1) * 32u + cta->lane] << 32;
}

/* model/tensor_alloc.c: of `columns` columns; IR_TENSOR_WAIT: not now. */
bool ir_tensor_allocate(const struct ir_tensor_cta *cta, uint32_t columns, uint32_t *out_address,
                        struct ir_tensor_error *error) HD_MUST_CHECK;
bool ir_tensor_deallocate(const struct ir_tensor_cta *cta, uint32_t address, uint32_t columns,
                          struct ir_tensor_error *error) HD_MUST_CHECK;

/* model/tensor_mma.c */
bool ir_tensor_mma(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                   struct ir_tensor_error *error) HD_MUST_CHECK;

/* Its part of ir_tensor_cells(). */
bool ir_tensor_mma_cells(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                         const uint32_t *src, ir_tensor_visit *visit, void *user,
                         struct ir_tensor_error *error) HD_MUST_CHECK;

/* Its part of ir_tensor_pieces(). */
bool ir_tensor_mma_pieces(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                          const uint32_t *src, ir_matrix_visit *visit, void *user) HD_MUST_CHECK;

#endif
