/*
 * From a graph of operations to a program. Values are what operations read and make. One that is
 * elementwise is an expression until somebody needs it in memory, and then becomes part of that
 * step's code; one that a step makes waits for the code that follows it, if nobody else reads it.
 */
#ifndef HD_API_CUDNN_GRAPH_LOWER_H
#define HD_API_CUDNN_GRAPH_LOWER_H

#include "api/cudnn/graph.h"

/* An index of a value; those that operations may go without are NONE. */
typedef int graph_v;
enum { NONE = -1 };

enum value_state {
    VALUE_UNKNOWN, /* no operation has made it yet */
    VALUE_MEMORY,
    VALUE_CODE,
    VALUE_STEP, /* a step makes it, which is not in the program yet */
    VALUE_SAME, /* as another */
    /* A softmax that waits for a product: both are one step then. */
    VALUE_LAZY,
};

struct graph_node {
    int64_t uid;                     /* or NONE */
    const struct graph_body *tensor; /* or NULL */
    int64_t dims[DNN_DIMS];
    int64_t strides[DNN_DIMS]; /* in memory of ours */
    uint8_t state;             /* enum value_state */
    bool is_real;              /* not virtual: the caller's */
    bool depends, visited;     /* marks of a walk */
    int16_t memory;            /* MEMORY: index of a tensor */
    graph_v same;              /* SAME */
    struct dnn_code code;      /* CODE: a, b, c are unused */
    graph_v args[3];
    struct dnn_step step;        /* STEP */
    const struct graph_body *op; /* LAZY: or NULL; of args[0] */
    int to_read;                 /* operations that will */
    int edges;                   /* expressions that do */
    bool is_fused;               /* a lazy softmax that a step of attention computes */
    int found;                   /* of them, in a walk */
};

struct graph_storage {
    int64_t size_B, offset;
    int first, last; /* steps */
};

struct lower {
    const struct graph_body *graph;
    enum graph_engine engine;
    const struct graph_override *overrides;
    size_t noverrides;
    bool is_wide;
    HD_VEC(struct graph_node) nodes;
    HD_VEC(struct dnn_step) steps;
    HD_VEC(struct dnn_graph_tensor) tensors;
    HD_VEC(int32_t) storage_of; /* of each tensor: index of a storage, or -1 */
    HD_VEC(struct graph_storage) storages;
    HD_VEC(struct dnn_code) code;
    HD_VEC(int64_t) slots; /* uids */
    struct root {
        graph_v to, from;
    } *roots; /* stores to the caller's tensors that wait */
    size_t nroots, roots_cap;
    cudnnStatus_t status; /* the first failure */
};

#define DIM(rank, axis) (DNN_DIMS - (rank) + (axis))

/* Fails the lowering; the first one counts. */
void lower_fail(struct lower *l, cudnnStatus_t status, const char *fmt, ...) HD_PRINTF(3, 4);
#define UNSUPPORTED(l, status, ...) lower_fail(l, CUDNN_STATUS_NOT_SUPPORTED_##status, __VA_ARGS__)

#define LOWER_PUSH(l, vec, ...)                                                                    \
    (hd_vec_push(vec, __VA_ARGS__)                                                                 \
         ? true                                                                                    \
         : (lower_fail((l), CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory"),      \
            false))

/* ---- dimensions */

bool lower_same_dims(const int64_t *a, const int64_t *b);
int64_t lower_elements(const int64_t *dims);
void lower_row_major(const int64_t *dims, int64_t *strides);
/* Elements from the first to the last. */
int64_t lower_span(const int64_t *dims, const int64_t *strides);

/* ---- values */

graph_v lower_add_node(struct lower *l, const struct graph_node *node);
int16_t lower_add_tensor(struct lower *l, const struct dnn_graph_tensor *t, int32_t storage);
/* The caller's tensor as one of the program's. */
int16_t lower_real_tensor(struct lower *l, const struct graph_node *node);
/* The value itself; a softmax that waited for a product becomes steps of its own. */
graph_v lower_expanded(struct lower *l, graph_v v);
/* Stores of the caller's tensors that wait, those of the same dimensions as root `r`. */
void lower_emit_roots(struct lower *l, size_t r);
/* The dimensions of steps that are code, or reductions, in an order that memory has. */
void lower_order_code(struct lower *l, struct dnn_step *s);
void lower_order_reduce(struct lower *l, struct dnn_step *s);

/* Of a tensor's descriptor; NONE of NULL. */
graph_v lower_value(struct lower *l, const struct graph_body *tensor);
/* That an operation reads: counts it. */
graph_v lower_input(struct lower *l, const struct graph_body *op, cudnnBackendAttributeName_t name);
graph_v lower_output(struct lower *l, const struct graph_body *op,
                     cudnnBackendAttributeName_t name);
static inline struct graph_node *lower_node(struct lower *l, graph_v v)
{
    return &l->nodes.at[v];
}
/* The value itself, where it is another's name. */
graph_v lower_resolve(struct lower *l, graph_v v);
enum dnn_type lower_type(struct lower *l, const struct graph_body *tensor);
int lower_rank(struct lower *l, graph_v v);

/* ---- what makes values */

/* Elementwise, of the dimensions that are given. */
graph_v lower_code(struct lower *l, enum dnn_code_op op, const int64_t *dims, graph_v a, graph_v b,
                   graph_v c, const double p[4]);
/* The same, of the larger dimensions of both. */
graph_v lower_binary(struct lower *l, enum dnn_code_op op, graph_v a, graph_v b);
graph_v lower_unary(struct lower *l, enum dnn_code_op op, graph_v a);
graph_v lower_select(struct lower *l, graph_v condition, graph_v yes, graph_v no);
graph_v lower_number(struct lower *l, double x);
graph_v lower_index(struct lower *l, const int64_t *dims, int dim);
/* Random numbers: cudnnRngDistribution_t and its two parameters; seed and offset may be NONE. */
graph_v lower_random(struct lower *l, const int64_t *dims, int distribution, double p0, double p1,
                     graph_v seed, graph_v offset);
/* Of dimensions where `to` has 1. */
graph_v lower_reduce(struct lower *l, enum dnn_reduce mode, graph_v x, const int64_t *to);
/* Matrices are the last two dimensions; overrides of m, n and k, or NONE. */
graph_v lower_matmul(struct lower *l, graph_v a, graph_v b, const int64_t *dims,
                     const graph_v limits[3], double padding);
/* Turns operands 0 and 1 whose other dimension lies in memory. */
void lower_order_matmul(struct lower *l, struct dnn_step *step);
/* A softmax of x, whose other results the operation says, if there is one. */
graph_v lower_lazy(struct lower *l, const struct graph_body *op, graph_v x);
/* The same as steps of their own. */
graph_v lower_softmax_apart(struct lower *l, const struct graph_body *op, graph_v x);
/* A value that a step makes. */
graph_v lower_step(struct lower *l, const struct dnn_step *step);
/* A view of memory: as `x`, with other dimensions and strides, from element `offset`. */
graph_v lower_view(struct lower *l, graph_v x, const int64_t *dims, const int64_t *strides,
                   int64_t offset);
/* A step's operand: code that makes the value. */
void lower_operand(struct lower *l, struct dnn_step *step, int operand, graph_v x);

/* What operations of another graph make of a value: of its tensor `in` that of `out`. */
graph_v lower_nested(struct lower *l, const struct graph_body *graph, int64_t in, graph_v value,
                     int64_t out);
/* The value of an operation's result. */
void lower_define(struct lower *l, graph_v to, graph_v from);
/* The value in memory: index of a tensor. */
int16_t lower_memory(struct lower *l, graph_v v);
/* Memory that a step writes by itself: the caller's, or some of ours. */
int16_t lower_target(struct lower *l, graph_v v);
/* Stores a value there. */
void lower_store(struct lower *l, graph_v v, int16_t memory);
/* Appends a step without code, which writes such memory. */
void lower_append(struct lower *l, const struct dnn_step *step);

/* ---- operations (graph_ops.c, graph_norm.c, graph_attention.c) */

void lower_operation(struct lower *l, const struct graph_body *op);
void lower_norm_forward(struct lower *l, const struct graph_body *op);
void lower_norm_backward(struct lower *l, const struct graph_body *op);
void lower_bn_finalize(struct lower *l, const struct graph_body *op);
void lower_bn_weights(struct lower *l, const struct graph_body *op);
void lower_genstats(struct lower *l, const struct graph_body *op);
void lower_softmax(struct lower *l, const struct graph_body *op, graph_v x, graph_v y);
void lower_band_mask(struct lower *l, const struct graph_body *op);
void lower_paged(struct lower *l, const struct graph_body *op);
void lower_sdpa(struct lower *l, const struct graph_body *op);

#endif
