/*
 * Graphs of cuDNN's backend for tests: tensors with memory of their own, operations by lists of
 * attributes, and runs of each engine. A tensor's elements are counted with the last dimension
 * fastest, whatever its strides are.
 */
#ifndef HD_TESTS_CUDNN_GRAPH_FIXTURE_H
#define HD_TESTS_CUDNN_GRAPH_FIXTURE_H

#include <stdarg.h>

#include "cudnn_fixture.h"

typedef cudnnBackendDescriptor_t desc_t;

#define D(name) CUDNN_BACKEND_##name##_DESCRIPTOR
#define A(name) CUDNN_ATTR_##name

struct gt {
    int64_t uid, rank, dims[8], strides[8], n, span;
    cudnnDataType_t type;
    bool is_virtual, by_value;
    desc_t desc;
    void *at;
};

enum { GTS = 40, OPS = 24, KEPT = 80 };
static struct {
    struct gt tensors[GTS];
    int ntensors;
    desc_t ops[OPS], kept[KEPT];
    int nops, nkept;
} g;

static inline desc_t new_desc(cudnnBackendDescriptorType_t type)
{
    desc_t d = NULL;

    need(cudnnBackendCreateDescriptor(type, &d));
    g.kept[g.nkept++] = d;
    return d;
}

static inline void set(desc_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       int64_t count, const void *values)
{
    need(cudnnBackendSetAttribute(d, name, type, count, values));
}

static inline void set_desc(desc_t d, cudnnBackendAttributeName_t name, desc_t value)
{
    set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static inline void set_whole(desc_t d, cudnnBackendAttributeName_t name, int64_t value)
{
    set(d, name, CUDNN_TYPE_INT64, 1, &value);
}

static inline void set_enum(desc_t d, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int value)
{
    set(d, name, type, 1, &value);
}

static inline void set_real(desc_t d, cudnnBackendAttributeName_t name, double value)
{
    set(d, name, CUDNN_TYPE_DOUBLE, 1, &value);
}

/* ---- tensors */

enum order { ROWS, CHANNELS_LAST, VIRTUAL, VALUE };

static inline void dense(const int64_t *dims, int64_t rank, bool channels_last, int64_t *strides)
{
    int64_t n = 1;

    for (int64_t d = rank - 1; d >= 0; d--) {
        if (channels_last && d == 1)
            continue;
        strides[d] = n * (channels_last && d ? dims[1] : 1);
        n *= dims[d];
    }
    if (channels_last) {
        strides[1] = 1;
        strides[0] = n / dims[0] * dims[1];
    }
}

static inline struct gt *gt_of(cudnnDataType_t type, enum order order, int64_t rank,
                               const int64_t *dims, const int64_t *strides)
{
    struct gt *t = &g.tensors[g.ntensors++];
    int64_t alignment = 16;
    bool yes = true;

    ok(g.ntensors <= GTS, "room for a tensor");
    *t = (struct gt){.uid = 100 + g.ntensors, .rank = rank, .type = type, .n = 1, .span = 1};
    memcpy(t->dims, dims, (size_t)rank * sizeof(*dims));
    if (strides)
        memcpy(t->strides, strides, (size_t)rank * sizeof(*strides));
    else
        dense(dims, rank, order == CHANNELS_LAST, t->strides);
    for (int64_t d = 0; d < rank; d++) {
        t->n *= dims[d];
        t->span += (dims[d] - 1) * t->strides[d];
    }
    t->is_virtual = order == VIRTUAL;
    t->by_value = order == VALUE;
    t->desc = new_desc(D(TENSOR));
    set(t->desc, A(TENSOR_DATA_TYPE), CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(t->desc, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, rank, t->dims);
    set(t->desc, A(TENSOR_STRIDES), CUDNN_TYPE_INT64, rank, t->strides);
    set_whole(t->desc, A(TENSOR_UNIQUE_ID), t->uid);
    set_whole(t->desc, A(TENSOR_BYTE_ALIGNMENT), alignment);
    if (t->is_virtual)
        set(t->desc, A(TENSOR_IS_VIRTUAL), CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (t->by_value)
        set(t->desc, A(TENSOR_IS_BY_VALUE), CUDNN_TYPE_BOOLEAN, 1, &yes);
    need(cudnnBackendFinalize(t->desc));
    if (!t->is_virtual && (cudaMallocManaged(&t->at, (size_t)t->span * 8, cudaMemAttachGlobal) ||
                           cudaMemset(t->at, 0, (size_t)t->span * 8)))
        ok(false, "memory for a tensor");
    return t;
}

#define DIMS(...)                                                                                  \
    sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[])                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define TENSOR(type, order, ...) gt_of(CUDNN_DATA_##type, order, DIMS(__VA_ARGS__), NULL)

static inline int64_t at_of(const struct gt *t, int64_t i)
{
    int64_t offset = 0;

    for (int64_t d = t->rank - 1; d >= 0; d--) {
        offset += i % t->dims[d] * t->strides[d];
        i /= t->dims[d];
    }
    return offset;
}

static inline double got(const struct gt *t, int64_t i)
{
    return t->type == CUDNN_DATA_BOOLEAN ? ((const uint8_t *)t->at)[at_of(t, i)]
           : t->type == CUDNN_DATA_FP8_E4M3
               ? (double)klib_f32_of_e4m3(((const uint8_t *)t->at)[at_of(t, i)])
           : t->type == CUDNN_DATA_FP8_E8M0
               ? (double)klib_f32_of_ue8m0(((const uint8_t *)t->at)[at_of(t, i)])
               : get_at(t->type, t->at, at_of(t, i));
}

static inline void give(struct gt *t, int64_t i, double x)
{
    if (t->type == CUDNN_DATA_BOOLEAN)
        ((uint8_t *)t->at)[at_of(t, i)] = x != 0;
    else if (t->type == CUDNN_DATA_FP8_E4M3)
        ((uint8_t *)t->at)[at_of(t, i)] = klib_e4m3_of_f32((float)x);
    else
        put_at(t->type, t->at, at_of(t, i), x);
}

static inline struct gt *filled(struct gt *t)
{
    bool whole = t->type == CUDNN_DATA_INT8 || t->type == CUDNN_DATA_INT32;

    for (int64_t i = 0; i < t->n; i++)
        give(t, i,
             whole                           ? below(21) - 10
             : t->type == CUDNN_DATA_BOOLEAN ? below(2)
                                             : real_number());
    return t;
}

static inline struct gt *number(double x)
{
    struct gt *t = gt_of(CUDNN_DATA_FLOAT, VALUE, 4, (int64_t[]){1, 1, 1, 1}, NULL);

    give(t, 0, x);
    return t;
}

/* ---- operations */

static inline void op_end(desc_t op)
{
    need(cudnnBackendFinalize(op));
    g.ops[g.nops++] = op;
}

static inline desc_t op_of(cudnnBackendDescriptorType_t type)
{
    return new_desc(type);
}

/* Pairs of an attribute and a tensor, NULL: not given; ended by attribute -1. */
static inline desc_t op_tensors(desc_t op, ...)
{
    va_list args;
    int name;

    va_start(args, op);
    while ((name = va_arg(args, int)) >= 0) {
        const struct gt *t = va_arg(args, const struct gt *);
        if (t)
            set_desc(op, (cudnnBackendAttributeName_t)name, t->desc);
    }
    va_end(args);
    return op;
}

static inline desc_t pointwise_desc(cudnnPointwiseMode_t mode)
{
    desc_t pw = new_desc(D(POINTWISE));

    set_enum(pw, A(POINTWISE_MODE), CUDNN_TYPE_POINTWISE_MODE, mode);
    set_enum(pw, A(POINTWISE_MATH_PREC), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    return pw;
}

static inline void op_pointwise_of(desc_t pw, const struct gt *x, const struct gt *b,
                                   const struct gt *t, const struct gt *y)
{
    desc_t op = new_desc(D(OPERATION_POINTWISE));

    need(cudnnBackendFinalize(pw));
    set_desc(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), pw);
    op_end(op_tensors(op, A(OPERATION_POINTWISE_XDESC), x, A(OPERATION_POINTWISE_BDESC), b,
                      A(OPERATION_POINTWISE_TDESC), t, A(OPERATION_POINTWISE_YDESC), y, -1));
}

static inline void op_pointwise(cudnnPointwiseMode_t mode, const struct gt *x, const struct gt *b,
                                const struct gt *t, const struct gt *y)
{
    op_pointwise_of(pointwise_desc(mode), x, b, t, y);
}

static inline void op_reduce(cudnnReduceTensorOp_t mode, const struct gt *x, const struct gt *y)
{
    desc_t r = new_desc(D(REDUCTION)), op = new_desc(D(OPERATION_REDUCTION));

    set_enum(r, A(REDUCTION_OPERATOR), CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, (int)mode);
    set_enum(r, A(REDUCTION_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    need(cudnnBackendFinalize(r));
    set_desc(op, A(OPERATION_REDUCTION_DESC), r);
    op_end(op_tensors(op, A(OPERATION_REDUCTION_XDESC), x, A(OPERATION_REDUCTION_YDESC), y, -1));
}

static inline void op_matmul(const struct gt *a, const struct gt *b, const struct gt *c)
{
    desc_t m = new_desc(D(MATMUL)), op = new_desc(D(OPERATION_MATMUL));

    set_enum(m, A(MATMUL_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    need(cudnnBackendFinalize(m));
    set_desc(op, A(OPERATION_MATMUL_DESC), m);
    op_end(op_tensors(op, A(OPERATION_MATMUL_ADESC), a, A(OPERATION_MATMUL_BDESC), b,
                      A(OPERATION_MATMUL_CDESC), c, -1));
}

/* ---- plans */

static inline cudnnStatus_t graph_of(desc_t *graph)
{
    *graph = new_desc(D(OPERATIONGRAPH));
    set(*graph, A(OPERATIONGRAPH_HANDLE), CUDNN_TYPE_HANDLE, 1, &handle);
    set(*graph, A(OPERATIONGRAPH_OPS), CUDNN_TYPE_BACKEND_DESCRIPTOR, g.nops, g.ops);
    return cudnnBackendFinalize(*graph);
}

static inline cudnnStatus_t plan_of(int64_t engine_index, desc_t *plan)
{
    desc_t graph, engine = new_desc(D(ENGINE)), config = new_desc(D(ENGINECFG));

    *plan = new_desc(D(EXECUTION_PLAN));
    need(graph_of(&graph));
    set_desc(engine, A(ENGINE_OPERATION_GRAPH), graph);
    set_whole(engine, A(ENGINE_GLOBAL_INDEX), engine_index);
    need(cudnnBackendFinalize(engine));
    set_desc(config, A(ENGINECFG_ENGINE), engine);
    cudnnStatus_t status = cudnnBackendFinalize(config);
    if (status)
        return status;
    set_desc(*plan, A(EXECUTION_PLAN_ENGINE_CONFIG), config);
    return cudnnBackendFinalize(*plan);
}

static inline int64_t workspace_of(desc_t plan)
{
    int64_t size_B = -1, n;

    need(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_WORKSPACE_SIZE), CUDNN_TYPE_INT64, 1, &n,
                                  &size_B));
    return size_B;
}

static inline desc_t pack_of(void *workspace)
{
    desc_t pack = new_desc(D(VARIANT_PACK));
    int64_t uids[GTS], n = 0;
    void *pointers[GTS];

    for (int i = 0; i < g.ntensors; i++)
        if (!g.tensors[i].is_virtual) {
            uids[n] = g.tensors[i].uid;
            pointers[n++] = g.tensors[i].at;
        }
    set(pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, n, uids);
    set(pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, n, pointers);
    set(pack, A(VARIANT_PACK_WORKSPACE), CUDNN_TYPE_VOID_PTR, 1, &workspace);
    need(cudnnBackendFinalize(pack));
    return pack;
}

/* Runs the operations that there are with an engine. */
static inline void run(int64_t engine)
{
    desc_t plan;
    void *workspace = NULL;

    need(plan_of(engine, &plan));
    int64_t size_B = workspace_of(plan);
    if (size_B && cudaMalloc(&workspace, (size_t)size_B))
        ok(false, "memory for a workspace");
    /* What a plan reads of it it has written before. */
    if (size_B)
        (void)cudaMemset(workspace, 0xff, (size_t)size_B);
    need(cudnnBackendExecute(handle, plan, pack_of(workspace)));
    eq_u64(cudaDeviceSynchronize(), cudaSuccess, "the plan ran");
    (void)cudaFree(workspace);
}

/* Forgets all tensors and operations. */
static inline void clear(void)
{
    for (int i = 0; i < g.nkept; i++)
        (void)cudnnBackendDestroyDescriptor(g.kept[i]);
    for (int i = 0; i < g.ntensors; i++)
        (void)cudaFree(g.tensors[i].at);
    memset(&g, 0, sizeof(g));
}

/* Each element is what is expected, which is given by number. */
static inline void expect(const struct gt *t, const double *expected, double tolerance_of,
                          const char *what)
{
    for (int64_t i = 0; i < t->n; i++) {
        double x = got(t, i), e = expected[i];
        bool same = (isnan(x) && isnan(e)) || x == e || fabs(x - e) <= tolerance_of * (1 + fabs(e));
        if (!same) {
            ok(false, "%s: element %lld is %g, not %g", what, (long long)i, x, e);
            return;
        }
    }
    ok(true, "%s", what);
}

#endif
