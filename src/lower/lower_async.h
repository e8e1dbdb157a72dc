/*
 * Private to src/lower: what asynchronous copies, bulk operations and mbarriers share.
 */
#ifndef HD_LOWER_LOWER_ASYNC_H
#define HD_LOWER_LOWER_ASYNC_H

#include "lower/lower_priv.h"

/* An address operand, and where it is. */
struct lower_memref {
    struct ir_value *address;
    enum ir_space space;
    int64_t offset;
};

struct lower_memref lower_memref_of(struct lower_fn *f, const struct ptx_operand *op,
                                    enum ptx_space space);
/* As one of the cluster, which can be told from rank to rank. */
struct lower_memref lower_cluster_memref(struct lower_fn *f, const struct ptx_operand *op,
                                         enum ptx_space space);
/* As a generic address, its offset added. */
struct ir_value *lower_generic(struct lower_fn *f, const struct lower_memref *p);
/* The memory fields of an access there. */
void lower_access_set(struct ir_instr *r, const struct lower_memref *p, unsigned vec);

/* An IR_OP_ASYNC without operand, if checkers want to know. */
void lower_report_async(struct lower_fn *f, enum ir_async what, uint64_t n);

/* lower_mbarrier.c: bytes (b64) have been written that the barrier at operand `at` expects. */
void lower_complete_tx(struct lower_fn *f, const struct ptx_operand *at, enum ptx_space space,
                       struct ir_value *bytes);

/* Arrives there as often as `number` (b64) says. */
void lower_arrive(struct lower_fn *f, const struct ptx_operand *at, enum ptx_space space,
                  struct ir_value *number);

/* Tells the barriers that the CTAs of a mask (b32) have at this place; `number`: b64. */
void lower_cast(struct lower_fn *f, const struct ptx_operand *at, enum ptx_space space,
                enum ir_mbarrier op, struct ir_value *ctas, struct ir_value *number);

/* lower_bulk.c */
bool lower_goes(const struct ptx_form *form, enum ptx_space to, enum ptx_space from);
/* Does the form have these modifiers only, up to NONE, besides types and spaces? */
bool lower_has_only(const struct ptx_form *form, const enum ptx_mod *allowed);
/* A size in bytes, as b64; NULL and an error when it cannot be one. */
struct ir_value *lower_bulk_size(struct lower_fn *f, const struct ptx_operand *op);
/* 16 bytes of zeros to the same place in each CTA of a mask (b32). */
void lower_zeros_cast(struct lower_fn *f, const struct lower_memref *to, struct ir_value *ctas);
/* A mask of 16 bits, as b32. */
struct ir_value *lower_cta_mask(struct lower_fn *f, const struct ptx_operand *op);
/* What a bulk reduction does; false: no such. */
bool lower_reduction(const struct ptx_form *form, enum ir_atom *out);

#endif
