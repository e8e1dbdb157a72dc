/*
 * Layers by cuDNN beside oneDNN's own primitives: convolutions, their gradients, attention and its
 * gradients. Each pair of runs is one after the other; medians of some pairs.
 *
 *     heddle run bench/out/layers [-c] [-m PAIRS] [-f TEXT]
 *
 * Lines: what, cuDNN's and oneDNN's microseconds, how many times as fast cuDNN is. oneDNN has the
 * same tensors as they lie: it chooses layouts, and its reorders from and to them count; "alone" is
 * its convolution without them. Attention is its matmul, softmax, matmul. -f: only lines that have
 * TEXT. -c: by processor time. oneDNN is found as by products.c; HEDDLE_THREADS=1 OMP_NUM_THREADS=1
 * compares one thread.
 */
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "measure.h"

static int pairs = 15;
static const char *only;
static cudnnHandle_t handle;

/* ---- oneDNN */

typedef void *md_t;
struct arg {
    int what;
    void *memory;
};
#define FUNCTIONS(X)                                                                               \
    X(engine_create, (void **, int, size_t))                                                       \
    X(stream_create, (void **, void *, unsigned))                                                  \
    X(stream_wait, (void *))                                                                       \
    X(memory_desc_create_with_strides, (md_t *, int, const int64_t *, int, const int64_t *))       \
    X(memory_desc_create_with_tag, (md_t *, int, const int64_t *, int, int))                       \
    X(memory_desc_equal, (md_t, md_t))                                                             \
    X(memory_create, (void **, md_t, void *, void *))                                              \
    X(matmul_primitive_desc_create, (void **, void *, md_t, md_t, md_t, md_t, void *))             \
    X(softmax_forward_primitive_desc_create, (void **, void *, int, int, md_t, md_t, int, void *)) \
    X(softmax_backward_primitive_desc_create,                                                      \
      (void **, void *, int, md_t, md_t, md_t, int, void *, void *))                               \
    X(reorder_primitive_desc_create, (void **, md_t, void *, md_t, void *, void *))                \
    X(convolution_forward_primitive_desc_create,                                                   \
      (void **, void *, int, int, md_t, md_t, md_t, md_t, const int64_t *, const int64_t *,        \
       const int64_t *, const int64_t *, void *))                                                  \
    X(convolution_backward_data_primitive_desc_create,                                             \
      (void **, void *, int, md_t, md_t, md_t, const int64_t *, const int64_t *, const int64_t *,  \
       const int64_t *, void *, void *))                                                           \
    X(convolution_backward_weights_primitive_desc_create,                                          \
      (void **, void *, int, md_t, md_t, md_t, md_t, const int64_t *, const int64_t *,             \
       const int64_t *, const int64_t *, void *, void *))                                          \
    X(primitive_create, (void **, void *))                                                         \
    X(primitive_execute, (void *, void *, int, const struct arg *))
static struct {
#define X(name, args) int(*name) args;
    FUNCTIONS(X)
#undef X
    md_t (*primitive_desc_query_md)(void *, int, int);
    void *engine, *stream;
} dnnl;

enum { SRC = 1, DST = 17, WEIGHTS = 33, DIFF_SRC = 129, DIFF_DST = 145, DIFF_WEIGHTS = 161 };
enum { F32 = 3, BF16 = 2, S32 = 4, S8 = 5 };

static int open_onednn(void)
{
    const char *path = getenv("HEDDLE_ONEDNN");
    void *library = dlopen(path && *path && strcmp(path, "off") != 0 ? path : "libdnnl.so.3",
                           RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return 0;
#define X(name, args) *(void **)&dnnl.name = dlsym(library, "dnnl_" #name);
    FUNCTIONS(X)
#undef X
    *(void **)&dnnl.primitive_desc_query_md = dlsym(library, "dnnl_primitive_desc_query_md");
    CK(dnnl.engine_create(&dnnl.engine, 1, 0));
    CK(dnnl.stream_create(&dnnl.stream, dnnl.engine, 1));
    return 1;
}

/* Primitives that run one after the other. */
struct todo {
    int n, alone; /* alone: the one without reorders */
    struct {
        void *primitive;
        struct arg args[4];
        int nargs;
    } at[16];
};

static void execute(const struct todo *t, int first, int last)
{
    for (int i = first; i < last; i++)
        CK(dnnl.primitive_execute(t->at[i].primitive, dnnl.stream, t->at[i].nargs, t->at[i].args));
    CK(dnnl.stream_wait(dnnl.stream));
}

static void *memory(md_t md, void *address)
{
    void *m;

    CK(dnnl.memory_create(&m, md, dnnl.engine, address));
    return m;
}

static void add(struct todo *t, void *desc, int nargs, const int *what, void *const *memories)
{
    CK(dnnl.primitive_create(&t->at[t->n].primitive, desc));
    for (int i = 0; i < nargs; i++)
        t->at[t->n].args[i] = (struct arg){what[i], memories[i]};
    t->at[t->n++].nargs = nargs;
}

static void add_reorder(struct todo *t, md_t from, void *x, md_t to, void *y)
{
    void *desc;

    CK(dnnl.reorder_primitive_desc_create(&desc, from, dnnl.engine, to, dnnl.engine, NULL));
    add(t, desc, 2, (int[]){SRC, DST}, (void *[]){x, y});
}

/* ---- pairs of runs */

static void report(const char *what, void (*ours)(void *), void *user, const struct todo *t)
{
    static double a[1000], b[1000], c[1000], ratios[1000];

    if (only && !strstr(what, only))
        return;
    for (int i = -2; i < pairs; i++) {
        double t0 = now_us();
        ours(user);
        CK(cudaDeviceSynchronize());
        double t1 = now_us();
        execute(t, 0, t->n);
        double t2 = now_us();
        execute(t, t->alone, t->alone + 1);
        double t3 = now_us();
        if (i < 0)
            continue;
        a[i] = t1 - t0;
        b[i] = t2 - t1;
        c[i] = t3 - t2;
        ratios[i] = b[i] / a[i];
    }
    printf("%s, %.0f, %.0f us, %.2f; alone %.0f us\n", what, median(a, pairs), median(b, pairs),
           median(ratios, pairs), median(c, pairs));
    fflush(stdout);
}

static void *filled(size_t count, int type)
{
    void *p;

    CK(cudaMalloc(&p, count * (type == S8 ? 1 : type == BF16 ? 2 : 4)));
    for (size_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)i * 2654435761u >> 9;
        float f = (float)x * 0x1p-22f - 1;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (type == S8)
            ((int8_t *)p)[i] = (int8_t)(x % 21 - 10);
        else if (type == BF16)
            ((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
        else
            ((float *)p)[i] = f;
    }
    return p;
}

/* ---- convolutions */

enum pass { FORWARD, DATA, FILTER };

struct conv {
    const char *name;
    int n, c, h, k, r, stride, pad;
};

struct call {
    enum pass pass;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    void *xp, *wp, *yp;
};

static void run_conv(void *user)
{
    struct call *c = user;
    const float one = 1, zero = 0;

    if (c->pass == FORWARD)
        CK(cudnnConvolutionForward(handle, &one, c->x, c->xp, c->w, c->wp, c->conv,
                                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, NULL, 0, &zero,
                                   c->y, c->yp));
    else if (c->pass == DATA)
        CK(cudnnConvolutionBackwardData(handle, &one, c->w, c->wp, c->y, c->yp, c->conv,
                                        CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, NULL, 0, &zero, c->x,
                                        c->xp));
    else
        CK(cudnnConvolutionBackwardFilter(handle, &one, c->x, c->xp, c->y, c->yp, c->conv,
                                          CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, NULL, 0, &zero, c->w,
                                          c->wp));
}

static md_t plain(const int64_t *d, int type, int last)
{
    const int64_t rows[] = {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
    const int64_t pixels[] = {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};
    md_t md;

    CK(dnnl.memory_desc_create_with_strides(&md, 4, d, type, last ? pixels : rows));
    return md;
}

static void convolution(const struct conv *s, enum pass pass, int type, int last)
{
    static const char *const passes[] = {"forward", "data", "filter"};
    int out = (s->h + 2 * s->pad - s->r) / s->stride + 1, out_type = type == S8 ? F32 : type;
    const int64_t dims[3][4] = {
        {s->n, s->c, s->h, s->h}, {s->k, s->c, s->r, s->r}, {s->n, s->k, out, out}};
    const int64_t strides[] = {s->stride, s->stride}, none[] = {0, 0}, pads[] = {s->pad, s->pad};
    const int types[3] = {type, type, out_type};
    struct call c = {.pass = pass};
    void *p[3], *mine[3], *desc, *hint;
    md_t user[3], any[3];
    struct todo t = {0};
    char what[128];

    snprintf(what, sizeof(what), "%s %s %s %s", s->name,
             type == S8     ? "int8"
             : type == BF16 ? "bf16"
                            : "f32",
             last ? "NHWC" : "NCHW", passes[pass]);
    if (only && !strstr(what, only))
        return;
    for (int i = 0; i < 3; i++) {
        p[i] = filled((size_t)(dims[i][0] * dims[i][1] * dims[i][2] * dims[i][3]), types[i]);
        user[i] = plain(dims[i], types[i], last);
        CK(dnnl.memory_desc_create_with_tag(&any[i], 4, dims[i], types[i], 1));
    }
    if (last) /* oneDNN takes and leaves pixels as they are, with its best code */
        any[0] = user[0], any[2] = user[2];
    CK(dnnl.convolution_forward_primitive_desc_create(
        &hint, dnnl.engine, 64, 1, any[0], any[1], NULL, any[2], strides, none, pads, pads, NULL));
    desc = hint;
    if (pass == DATA)
        CK(dnnl.convolution_backward_data_primitive_desc_create(
            &desc, dnnl.engine, 1, any[0], any[1], any[2], strides, none, pads, pads, hint, NULL));
    else if (pass == FILTER)
        CK(dnnl.convolution_backward_weights_primitive_desc_create(&desc, dnnl.engine, 1, any[0],
                                                                   any[1], NULL, any[2], strides,
                                                                   none, pads, pads, hint, NULL));
    static const int queries[3][3] = {{129, 131, 133}, {130, 131, 134}, {129, 132, 134}};
    static const int args[3][3] = {
        {SRC, WEIGHTS, DST}, {DIFF_SRC, WEIGHTS, DIFF_DST}, {SRC, DIFF_WEIGHTS, DIFF_DST}};
    int made = pass == FORWARD ? 2 : pass == DATA ? 0 : 1;
    for (int i = 0; i < 3; i++) {
        md_t md = dnnl.primitive_desc_query_md(desc, queries[pass][i], 0);
        mine[i] = memory(user[i], p[i]);
        if (dnnl.memory_desc_equal(md, user[i]))
            continue;
        void *theirs = memory(md, (void *)(intptr_t)-1);
        if (i != made)
            add_reorder(&t, user[i], mine[i], md, theirs);
        mine[i] = theirs;
    }
    t.alone = t.n;
    add(&t, desc, 3, args[pass], mine);
    md_t md = dnnl.primitive_desc_query_md(desc, queries[pass][made], 0);
    if (!dnnl.memory_desc_equal(md, user[made]))
        add_reorder(&t, md, mine[made], user[made], memory(user[made], p[made]));

    cudnnDataType_t d = type == S8     ? CUDNN_DATA_INT8
                        : type == BF16 ? CUDNN_DATA_BFLOAT16
                                       : CUDNN_DATA_FLOAT;
    cudnnTensorFormat_t f = last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    CK(cudnnCreateTensorDescriptor(&c.x));
    CK(cudnnCreateTensorDescriptor(&c.y));
    CK(cudnnCreateFilterDescriptor(&c.w));
    CK(cudnnCreateConvolutionDescriptor(&c.conv));
    CK(cudnnSetTensor4dDescriptor(c.x, f, d, s->n, s->c, s->h, s->h));
    CK(cudnnSetFilter4dDescriptor(c.w, d, f, s->k, s->c, s->r, s->r));
    CK(cudnnSetTensor4dDescriptor(c.y, f, type == S8 ? CUDNN_DATA_FLOAT : d, s->n, s->k, out, out));
    CK(cudnnSetConvolution2dDescriptor(c.conv, s->pad, s->pad, s->stride, s->stride, 1, 1,
                                       CUDNN_CROSS_CORRELATION,
                                       type == S8 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT));
    c.xp = p[0];
    c.wp = p[1];
    c.yp = p[2];
    report(what, run_conv, &c, &t);
    for (int i = 0; i < 3; i++)
        cudaFree(p[i]);
}

/* ---- attention */

typedef cudnnBackendDescriptor_t desc_t;
#define D(name) CUDNN_BACKEND_##name##_DESCRIPTOR
#define A(name) CUDNN_ATTR_##name

static desc_t ops[32];
static int nops;
static int64_t uids[32];
static void *pointers[32];
static int nuids;

static void set(desc_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t n, const void *v)
{
    CK(cudnnBackendSetAttribute(d, name, type, n, v));
}

static desc_t make(cudnnBackendDescriptorType_t type)
{
    desc_t d;

    CK(cudnnBackendCreateDescriptor(type, &d));
    return d;
}

/* NULL at: virtual; by_value: a number of the host's. */
static desc_t tensor(const int64_t *dims, int turned, cudnnDataType_t type, void *at, int by_value)
{
    static int64_t uid = 1;
    int64_t strides[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}, align = 16;
    desc_t t = make(D(TENSOR));
    bool yes = true;

    if (turned) {
        strides[2] = 1;
        strides[3] = dims[2];
    }
    set(t, A(TENSOR_DATA_TYPE), CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(t, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 4, dims);
    set(t, A(TENSOR_STRIDES), CUDNN_TYPE_INT64, 4, strides);
    set(t, A(TENSOR_UNIQUE_ID), CUDNN_TYPE_INT64, 1, &uid);
    set(t, A(TENSOR_BYTE_ALIGNMENT), CUDNN_TYPE_INT64, 1, &align);
    if (!at)
        set(t, A(TENSOR_IS_VIRTUAL), CUDNN_TYPE_BOOLEAN, 1, &yes);
    if (by_value)
        set(t, A(TENSOR_IS_BY_VALUE), CUDNN_TYPE_BOOLEAN, 1, &yes);
    CK(cudnnBackendFinalize(t));
    if (at) {
        uids[nuids] = uid;
        pointers[nuids++] = at;
    }
    uid++;
    return t;
}

static void give(desc_t op, cudnnBackendAttributeName_t name, desc_t t)
{
    set(op, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t);
}

static void finish(desc_t op)
{
    CK(cudnnBackendFinalize(op));
    ops[nops++] = op;
}

static void matmul(desc_t a, desc_t b, desc_t c)
{
    desc_t m = make(D(MATMUL)), op = make(D(OPERATION_MATMUL));
    cudnnDataType_t f = CUDNN_DATA_FLOAT;

    set(m, A(MATMUL_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, 1, &f);
    CK(cudnnBackendFinalize(m));
    give(op, A(OPERATION_MATMUL_DESC), m);
    give(op, A(OPERATION_MATMUL_ADESC), a);
    give(op, A(OPERATION_MATMUL_BDESC), b);
    give(op, A(OPERATION_MATMUL_CDESC), c);
    finish(op);
}

static void pointwise(cudnnPointwiseMode_t mode, desc_t x, desc_t b, desc_t y)
{
    desc_t m = make(D(POINTWISE)), op = make(D(OPERATION_POINTWISE));
    cudnnDataType_t f = CUDNN_DATA_FLOAT;

    set(m, A(POINTWISE_MODE), CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(m, A(POINTWISE_MATH_PREC), CUDNN_TYPE_DATA_TYPE, 1, &f);
    CK(cudnnBackendFinalize(m));
    give(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), m);
    give(op, A(OPERATION_POINTWISE_XDESC), x);
    if (b)
        give(op, A(OPERATION_POINTWISE_BDESC), b);
    give(op, A(OPERATION_POINTWISE_YDESC), y);
    finish(op);
}

static void row_sums(desc_t x, desc_t y)
{
    desc_t m = make(D(REDUCTION)), op = make(D(OPERATION_REDUCTION));
    cudnnDataType_t f = CUDNN_DATA_FLOAT;
    cudnnReduceTensorOp_t mode = CUDNN_REDUCE_TENSOR_ADD;

    set(m, A(REDUCTION_OPERATOR), CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    set(m, A(REDUCTION_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, 1, &f);
    CK(cudnnBackendFinalize(m));
    give(op, A(OPERATION_REDUCTION_DESC), m);
    give(op, A(OPERATION_REDUCTION_XDESC), x);
    give(op, A(OPERATION_REDUCTION_YDESC), y);
    finish(op);
}

static void band_mask(desc_t x, desc_t low, desc_t y)
{
    desc_t op = make(D(OPERATION_DIAGONAL_BAND_MASK));
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_CMP_GE;

    set(op, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    give(op, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), x);
    give(op, A(OPERATION_DIAGONAL_BAND_MASK_BDESC), low);
    give(op, A(OPERATION_DIAGONAL_BAND_MASK_YDESC), y);
    finish(op);
}

struct planned {
    desc_t plan, pack;
};

static void run_plan(void *user)
{
    struct planned *p = user;

    CK(cudnnBackendExecute(handle, p->plan, p->pack));
}

static struct planned planned(void)
{
    desc_t graph = make(D(OPERATIONGRAPH)), engine = make(D(ENGINE)), config = make(D(ENGINECFG));
    struct planned p = {make(D(EXECUTION_PLAN)), make(D(VARIANT_PACK))};
    int64_t index = 0, size_B, n;
    void *workspace = NULL;

    set(graph, A(OPERATIONGRAPH_HANDLE), CUDNN_TYPE_HANDLE, 1, &handle);
    set(graph, A(OPERATIONGRAPH_OPS), CUDNN_TYPE_BACKEND_DESCRIPTOR, nops, ops);
    CK(cudnnBackendFinalize(graph));
    give(engine, A(ENGINE_OPERATION_GRAPH), graph);
    set(engine, A(ENGINE_GLOBAL_INDEX), CUDNN_TYPE_INT64, 1, &index);
    CK(cudnnBackendFinalize(engine));
    give(config, A(ENGINECFG_ENGINE), engine);
    CK(cudnnBackendFinalize(config));
    give(p.plan, A(EXECUTION_PLAN_ENGINE_CONFIG), config);
    CK(cudnnBackendFinalize(p.plan));
    CK(cudnnBackendGetAttribute(p.plan, A(EXECUTION_PLAN_WORKSPACE_SIZE), CUDNN_TYPE_INT64, 1, &n,
                                &size_B));
    if (size_B)
        CK(cudaMalloc(&workspace, (size_t)size_B));
    set(p.pack, A(VARIANT_PACK_UNIQUE_IDS), CUDNN_TYPE_INT64, nuids, uids);
    set(p.pack, A(VARIANT_PACK_DATA_POINTERS), CUDNN_TYPE_VOID_PTR, nuids, pointers);
    set(p.pack, A(VARIANT_PACK_WORKSPACE), CUDNN_TYPE_VOID_PTR, 1, &workspace);
    CK(cudnnBackendFinalize(p.pack));
    nops = nuids = 0;
    return p;
}

static md_t matrices(const int64_t *dims, int type, int turned)
{
    int64_t strides[] = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    int64_t sizes[] = {dims[0], dims[1], dims[2], dims[3]};
    md_t md;

    if (turned) {
        sizes[2] = dims[3], sizes[3] = dims[2];
        strides[2] = 1, strides[3] = dims[3];
    }
    CK(dnnl.memory_desc_create_with_strides(&md, 4, sizes, type, strides));
    return md;
}

static void add_matmul(struct todo *t, md_t a, void *x, md_t b, void *y, md_t c, void *z)
{
    void *desc;

    CK(dnnl.matmul_primitive_desc_create(&desc, dnnl.engine, a, b, NULL, c, NULL));
    add(t, desc, 3, (int[]){SRC, WEIGHTS, DST},
        (void *[]){memory(a, x), memory(b, y), memory(c, z)});
}

static void attention(int b, int h, int n, int size, int type, int causal, int backward)
{
    const int64_t rows[] = {b, h, n, size}, turned[] = {b, h, size, n}, all[] = {b, h, n, n};
    const int64_t ones[] = {1, 1, 1, 1}, row[] = {b, h, n, 1};
    size_t count = (size_t)(b * h * n * size), cells = (size_t)(b * h * n) * (size_t)n;
    cudnnDataType_t f = CUDNN_DATA_FLOAT, d = type == BF16 ? CUDNN_DATA_BFLOAT16 : f;
    static float scale = 0.125f, low = -INFINITY;
    struct todo t = {0};
    char what[128];

    snprintf(what, sizeof(what), "attention %d x %d x %d x %d %s%s %s", b, h, n, size,
             type == BF16 ? "bf16" : "f32", causal ? " causal" : "",
             backward ? "backward" : "forward");
    if (only && !strstr(what, only))
        return;
    void *q = filled(count, type), *k = filled(count, type), *v = filled(count, type);
    void *o = filled(count, type), *go = filled(count, type), *gq = filled(count, type);
    void *gk = filled(count, type), *gv = filled(count, type),
         *stats = filled((size_t)(b * h * n), F32);
    void *scores = filled(cells, F32), *parts = filled(cells, type), *gp = filled(cells, type);
    /* cuDNN's */
    desc_t tq = tensor(rows, 0, d, q, 0), tk = tensor(turned, 1, d, k, 0);
    desc_t s = tensor(all, 0, f, NULL, 0), scaled = tensor(all, 0, f, NULL, 0);
    desc_t factor = tensor(ones, 0, f, &scale, 1), masked = scaled;
    matmul(tq, tk, s);
    pointwise(CUDNN_POINTWISE_MUL, s, factor, scaled);
    if (causal) {
        masked = tensor(all, 0, f, NULL, 0);
        band_mask(scaled, tensor(ones, 0, f, &low, 1), masked);
    }
    if (!backward) {
        desc_t p = tensor(all, 0, f, NULL, 0), op = make(D(OPERATION_SOFTMAX));
        give(op, A(OPERATION_SOFTMAX_XDESC), masked);
        give(op, A(OPERATION_SOFTMAX_YDESC), p);
        give(op, A(OPERATION_SOFTMAX_STATS_DESC), tensor(row, 0, f, stats, 0));
        finish(op);
        matmul(p, tensor(rows, 0, d, v, 0), tensor(rows, 0, d, o, 0));
    } else {
        desc_t less = tensor(all, 0, f, NULL, 0), p = tensor(all, 0, f, NULL, 0);
        desc_t both = tensor(rows, 0, f, NULL, 0), delta = tensor(row, 0, f, NULL, 0);
        desc_t dp = tensor(all, 0, f, NULL, 0), rest = tensor(all, 0, f, NULL, 0);
        desc_t ds = tensor(all, 0, f, NULL, 0), dss = tensor(all, 0, f, NULL, 0);
        desc_t tgo = tensor(rows, 0, d, go, 0);
        pointwise(CUDNN_POINTWISE_SUB, masked, tensor(row, 0, f, stats, 0), less);
        pointwise(CUDNN_POINTWISE_EXP, less, NULL, p);
        pointwise(CUDNN_POINTWISE_MUL, tgo, tensor(rows, 0, d, o, 0), both);
        row_sums(both, delta);
        /* Views of virtual tensors with rows for columns. */
        desc_t pt = tensor(all, 1, f, NULL, 0), dst = tensor(all, 1, f, NULL, 0);
        desc_t reshape = make(D(OPERATION_RESHAPE)), again = make(D(OPERATION_RESHAPE));
        give(reshape, A(OPERATION_RESHAPE_XDESC), p);
        give(reshape, A(OPERATION_RESHAPE_YDESC), pt);
        finish(reshape);
        matmul(pt, tgo, tensor(rows, 0, d, gv, 0));
        matmul(tgo, tensor(turned, 1, d, v, 0), dp);
        pointwise(CUDNN_POINTWISE_SUB, dp, delta, rest);
        pointwise(CUDNN_POINTWISE_MUL, rest, p, ds);
        pointwise(CUDNN_POINTWISE_MUL, ds, factor, dss);
        matmul(dss, tensor(rows, 0, d, k, 0), tensor(rows, 0, d, gq, 0));
        give(again, A(OPERATION_RESHAPE_XDESC), dss);
        give(again, A(OPERATION_RESHAPE_YDESC), dst);
        finish(again);
        matmul(dst, tensor(rows, 0, d, q, 0), tensor(rows, 0, d, gk, 0));
    }
    struct planned plan = planned();
    /* oneDNN's */
    md_t r = matrices(rows, type, 0), rt = matrices(rows, type, 1), m = matrices(all, F32, 0);
    md_t mp = matrices(all, type, 0), mt = matrices(all, type, 1);
    void *forward, *desc;
    CK(dnnl.softmax_forward_primitive_desc_create(&forward, dnnl.engine, 64, 0x30000, m, mp, 3,
                                                  NULL));
    add_matmul(&t, r, q, rt, k, m, scores);
    add(&t, forward, 2, (int[]){SRC, DST}, (void *[]){memory(m, scores), memory(mp, parts)});
    if (!backward) {
        add_matmul(&t, mp, parts, r, v, r, o);
    } else {
        CK(dnnl.softmax_backward_primitive_desc_create(&desc, dnnl.engine, 0x30000, mp, mp, mp, 3,
                                                       forward, NULL));
        add_matmul(&t, mt, parts, r, go, r, gv);
        add_matmul(&t, r, go, rt, v, mp, gp);
        add(&t, desc, 3, (int[]){DST, DIFF_DST, DIFF_SRC},
            (void *[]){memory(mp, parts), memory(mp, gp), memory(mp, gp)});
        add_matmul(&t, mp, gp, r, k, r, gq);
        add_matmul(&t, mt, gp, r, q, r, gk);
    }
    report(what, run_plan, &plan, &t);
}

int main(int argc, char **argv)
{
    static const struct conv convs[] = {
        {"1x3x224 7x7/2 64", 1, 3, 224, 64, 7, 2, 3},
        {"1x64x56 3x3 64", 1, 64, 56, 64, 3, 1, 1},
        {"4x64x56 3x3 64", 4, 64, 56, 64, 3, 1, 1},
        {"4x256x56 1x1 64", 4, 256, 56, 64, 1, 1, 0},
        {"4x128x28 3x3 128", 4, 128, 28, 128, 3, 1, 1},
        {"4x256x28 3x3/2 256", 4, 256, 28, 256, 3, 2, 1},
        {"4x512x7 3x3 512", 4, 512, 7, 512, 3, 1, 1},
    };

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-c"))
            clock_used = CLOCK_PROCESS_CPUTIME_ID;
        else if (!strcmp(argv[i], "-m") && i + 1 < argc)
            pairs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-f") && i + 1 < argc)
            only = argv[++i];
    if (pairs < 1 || pairs > 1000) {
        fprintf(stderr, "layers: from 1 to 1000 pairs\n");
        return 2;
    }
    if (!open_onednn()) {
        fprintf(stderr, "layers: no oneDNN: %s\n", dlerror());
        return 1;
    }
    CK(cudnnCreate(&handle));
    for (int type = 0; type < 3; type++)
        for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++)
            for (int last = type == 2; last < 2; last++)
                for (int pass = FORWARD; pass <= (type == 2 ? FORWARD : FILTER); pass++)
                    if (type != 2 || i)
                        convolution(&convs[i], (enum pass)pass, (int[]){F32, BF16, S8}[type], last);
    for (int backward = 0; backward < 2; backward++)
        for (int causal = 0; causal < 2; causal++)
            for (int type = BF16; type <= F32; type++) {
                attention(1, 8, 512, 64, type, causal, backward);
                attention(1, 4, 2048, 64, type, causal, backward);
                attention(8, 12, 128, 64, type, causal, backward);
            }
    CK(cudnnDestroy(handle));
    return 0;
}
