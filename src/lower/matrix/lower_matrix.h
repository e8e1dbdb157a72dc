/* Private to lower_matrix.c, lower_wmma.c and lower_wgmma.c. */
#ifndef HD_LOWER_MATRIX_LOWER_MATRIX_H
#define HD_LOWER_MATRIX_LOWER_MATRIX_H

#include "lower/lower_priv.h"

/* Says why the form is not lowered; false. */
bool lower_refuse(struct lower_fn *f, const char *why);
/* The type of elements of a matrix; IR_VOID: none have it. */
enum ir_type lower_element(enum ptx_type type);
/* Operation on bits, saturation, rounding; NULL, or why they do not go with the element types. */
const char *lower_mma_modifiers(const struct ptx_form *form, struct ir_mma *mma);
/* Registers {a, b, ..} of a fragment, or its only one; false after an error. */
bool lower_fragment(struct lower_fn *f, const struct ptx_operand *op, unsigned n, enum ir_type type,
                    struct ir_value **out);
bool lower_fragment_dst(struct lower_fn *f, const struct ptx_operand *op, unsigned n,
                        enum ir_type type, struct ir_value *const *v);
/* The product; `out` gets its results. False: no memory. */
bool lower_mma_emit(struct lower_fn *f, const struct ir_mma *mma, struct ir_value *const *src,
                    struct ir_value **out);

#endif
