/*
 * How the tensor cores of a GPU add, for programs that want the bits of one (HEDDLE_MMA): products
 * and c are aligned to the largest exponent among them, cut after some bits, and added exactly; the
 * result is cut (f32) or rounded (f16). The architectures differ in how many bits that are and how
 * many products are added at once: spec/tensor_cores.def. Any thread.
 *
 * Without a rule sums are those of docs/decisions/0090.
 */
#ifndef HD_MODEL_TENSOR_CORE_H
#define HD_MODEL_TENSOR_CORE_H

#include "ir/ir.h"

enum ir_core_unit { IR_CORE_MMA, IR_CORE_WGMMA, IR_CORE_TCGEN05 };

enum { IR_CORE_SCALED_GROUP = 16, IR_CORE_SHORT_BITS = 10, IR_CORE_ZERO_EXPONENT = -126 };

/* For one kind of product. */
struct ir_core_rule {
    uint8_t fraction; /* bits */
    uint8_t step;     /* products that are added at once */
    bool is_short;    /* f32 results lack their last IR_CORE_SHORT_BITS bits */
    bool in_groups;   /* the products of a group are added first, exactly, then scaled */
};

/* Does the environment ask for a GPU's bits? */
bool ir_core_is_set(void);
/* False: it does not, or not for such products (integers, f64). `scaled`: with scales of blocks. */
bool ir_core_rule_find(enum ir_core_unit unit, enum ir_type a, enum ir_type b, bool scaled,
                       unsigned k, struct ir_core_rule *out) HD_MUST_CHECK;

/* Sums of such elements, which a device has to make as ir_core_sum() does. */
static inline bool ir_core_makes(enum ir_type a)
{
    return ir_type_is_float(a) && a != IR_F64 && ir_core_is_set();
}

/* The n products of an element of d, in the order of k. */
struct ir_core_products {
    enum ir_type a_type, b_type, scale_type, c_type, d_type;
    unsigned n;
    const float *a, *b;
    const float *scale_a, *scale_b; /* of each product; NULL: none */
};
/* c and their sum: a number of d's type, or none. */
float ir_core_sum(const struct ir_core_rule *rule, const struct ir_core_products *p, float c);

/* The exponent of the least normal number. */
int ir_core_least(enum ir_type type);
/* What an element is aligned by: denormals have the exponent of the least normal number. */
int ir_core_exponent(enum ir_type type, float x);

#endif
