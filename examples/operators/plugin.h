/*
 * A plug-in operator: what a framework has to know to call CUDA kernels as one operation.
 *
 * A library of operators exports plugin_table(). The fronts beside this file make of each row an
 * operator of PyTorch, JAX, ONNX Runtime or TensorFlow; none of them knows what it computes. They
 * call, in this order:
 *
 *     shapes        checks the inputs and says how large the outputs are; nothing is on the device
 *     workspace_B   memory that the kernels need for themselves
 *     enqueue       launches them in a stream, and returns without waiting
 *
 * These are called by several threads at a time, and keep nothing of a call. Each text that they
 * return says what is wrong, and lives as long as the library; NULL is success.
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define PLUGIN_VALUES     8 /* inputs or outputs, with the row that ends them */
#define PLUGIN_DIMS       4
#define PLUGIN_ATTRIBUTES 4

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum plugin_type {
    PLUGIN_F32,
    PLUGIN_I32,
    PLUGIN_U8,
};

/* Dense, the last dimension fastest, in memory of the device and aligned for any vector type. */
struct plugin_tensor {
    void *at;
    int64_t dims[PLUGIN_DIMS];
    int32_t rank;
};

struct plugin_call {
    struct plugin_tensor in[PLUGIN_VALUES];
    struct plugin_tensor out[PLUGIN_VALUES]; /* dims and rank are written by shapes() */
    float attributes[PLUGIN_ATTRIBUTES];
    void *workspace;
};

struct plugin_value {
    const char *name;
    int32_t type; /* enum plugin_type */
};

struct plugin_attribute {
    const char *name;
    float value; /* unless the caller gives another */
};

/*
 * `gradient` names the operator of this table that gives the gradients, or is NULL. That one takes
 * all inputs and behind them the gradients of all outputs; its outputs are named for the inputs
 * that they are the gradients of, with "d_" in front. Inputs without one have no gradient.
 */
struct plugin_op {
    const char *name;
    struct plugin_value in[PLUGIN_VALUES], out[PLUGIN_VALUES];
    struct plugin_attribute attributes[PLUGIN_ATTRIBUTES];
    const char *gradient;
    const char *(*shapes)(struct plugin_call *call);
    size_t (*workspace_B)(const struct plugin_call *call); /* NULL: none */
    const char *(*enqueue)(const struct plugin_call *call, struct CUstream_st *stream);
};

/* Ends with an operator without a name. */
const struct plugin_op *plugin_table(void);

static inline int plugin_count(const struct plugin_value *values)
{
    int n = 0;
    while (n < PLUGIN_VALUES && values[n].name)
        n++;
    return n;
}

#ifdef __cplusplus
}
#endif
#endif
