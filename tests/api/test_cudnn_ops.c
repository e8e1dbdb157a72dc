/*
 * What cuDNN does to single tensors against plain loops: elementwise operations, activations,
 * reductions, softmax, pooling, local response and batch normalization, dropout, spatial
 * transformers, CTC; in all types and layouts, with factors; and which arguments are refused.
 */
#include "cudnn_fixture.h"

static const cudnnDataType_t reals[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF,
                                        CUDNN_DATA_BFLOAT16};
#define FOR_REALS(type)                                                                            \
    for (size_t r_ = 0; r_ < sizeof(reals) / sizeof(reals[0]); r_++)                               \
        for (cudnnDataType_t type = reals[r_], *once_ = &type; once_; once_ = NULL)

/* Factors of a tensor's type: `two` of them at once. */
struct factors {
    double alpha, beta;
    double a, b;
};
static struct factors factors_of(const struct tensor *t, double alpha, double beta)
{
    struct factors f = {alpha, beta, 0, 0};

    factor_of(t, alpha, &f.a);
    factor_of(t, beta, &f.b);
    return f;
}

/* want = alpha * want + beta * what t has. Where beta is 0 it gets NaN, which must not stay. */
static void blend(struct tensor *t, double *want, const struct factors *f)
{
    for (int64_t i = 0; i < elements(t); i++) {
        want[i] *= f->alpha;
        if (f->beta != 0)
            want[i] += f->beta * get(t, i);
        else if (size_of(t->type) > 1)
            put(t, i, NAN);
    }
}

static bool came(struct tensor *t, double *want, double allowed)
{
    bool is_fine = !cudaDeviceSynchronize() && is_near(t, want, allowed) && has_gaps_kept(t);

    free(want);
    return is_fine;
}

static double *zeros(const struct tensor *t)
{
    return calloc((size_t)elements(t), sizeof(double));
}

/* Element number in t of element i of `all`, whose dimensions t has, or 1. */
static int64_t number_in(const struct tensor *t, const struct tensor *all, int64_t i)
{
    int64_t at[CUDNN_DIM_MAX], n = 0;

    for (int d = all->rank - 1; d >= 0; d--) {
        at[d] = i % all->dims[d];
        i /= all->dims[d];
    }
    for (int d = 0; d < t->rank; d++)
        n = n * t->dims[d] + (t->dims[d] == 1 ? 0 : at[d]);
    return n;
}

/* ---- elementwise */

static void test_op(void)
{
    static const int dims[] = {2, 6, 5, 7}, some[] = {1, 6, 1, 7}, bias[] = {1, 6, 1, 1};
    cudnnOpTensorDescriptor_t desc;

    need(cudnnCreateOpTensorDescriptor(&desc));
    FOR_REALS(type)
    {
        for (int op = 0; op <= CUDNN_OP_TENSOR_NOT; op++) {
            struct tensor a = tensor_of(type, op % 2 ? NHWC : ODD, 4, dims);
            struct tensor b = tensor_of(type, NCHW, 4, op % 2 ? some : dims);
            struct tensor c = tensor_of(type, op % 3 ? ODD : NHWC, 4, dims);
            struct factors f = factors_of(&c, 2, op % 2 ? 1 : 0), g = factors_of(&c, 3, 0);
            fill_whole(&a, 9);
            fill_whole(&b, 9);
            fill_whole(&c, 9);
            for (int64_t i = 0; op == CUDNN_OP_TENSOR_SQRT && i < elements(&a); i++)
                put(&a, i, fabs(get(&a, i)));
            double *want = zeros(&c);
            for (int64_t i = 0; i < elements(&c); i++) {
                double x = 2 * get(&a, i), y = 3 * get(&b, number_in(&b, &c, i));
                want[i] = op == CUDNN_OP_TENSOR_ADD    ? x + y
                          : op == CUDNN_OP_TENSOR_MUL  ? x * y
                          : op == CUDNN_OP_TENSOR_MIN  ? fmin(x, y)
                          : op == CUDNN_OP_TENSOR_MAX  ? fmax(x, y)
                          : op == CUDNN_OP_TENSOR_SQRT ? sqrt(x)
                                                       : 1 - x;
            }
            struct factors only = {1, f.beta, 0, 0};
            blend(&c, want, &only);
            need(cudnnSetOpTensorDescriptor(desc, (cudnnOpTensorOp_t)op, CUDNN_DATA_FLOAT,
                                            CUDNN_PROPAGATE_NAN));
            need(cudnnOpTensor(handle, desc, &f.a, a.desc, a.at, &g.a, b.desc, b.at, &f.b, c.desc,
                               c.at));
            ok(came(&c, want, tolerance(type)), "operation %d, type %d", op, (int)type);
            tensor_free(&a);
            tensor_free(&b);
            tensor_free(&c);
        }
        struct tensor b = tensor_of(type, NCHW, 4, bias), c = tensor_of(type, NHWC, 4, dims);
        struct factors f = factors_of(&c, 2, 3);
        fill_whole(&b, 9);
        fill_whole(&c, 9);
        double *want = zeros(&c);
        for (int64_t i = 0; i < elements(&c); i++)
            want[i] = get(&b, number_in(&b, &c, i));
        blend(&c, want, &f);
        need(cudnnAddTensor(handle, &f.a, b.desc, b.at, &f.b, c.desc, c.at));
        ok(came(&c, want, 0), "a bias is added, type %d", (int)type);
        want = values_of(&c);
        for (int64_t i = 0; i < elements(&c); i++)
            want[i] *= 2;
        need(cudnnScaleTensor(handle, c.desc, c.at, &f.a));
        ok(came(&c, want, 0), "scaled, type %d", (int)type);
        want = zeros(&c);
        for (int64_t i = 0; i < elements(&c); i++)
            want[i] = get(&b, 1);
        void *value = (char *)b.at + size_of(type) * (size_t)offset_of(&b, 1);
        need(cudnnSetTensor(handle, c.desc, c.at, value));
        ok(came(&c, want, 0), "filled, type %d", (int)type);
        tensor_free(&b);
        tensor_free(&c);
    }
    /* NaN: told, or passed over. */
    struct tensor a = tensor_of(CUDNN_DATA_FLOAT, NCHW, 4, (int[]){1, 1, 1, 2});
    struct tensor b = tensor_of(CUDNN_DATA_FLOAT, NCHW, 4, (int[]){1, 1, 1, 2});
    float one = 1, zero = 0;
    for (int keep = 0; keep < 2; keep++) {
        put(&a, 0, NAN);
        put(&a, 1, 3);
        put(&b, 0, 4);
        put(&b, 1, NAN);
        need(cudnnSetOpTensorDescriptor(desc, CUDNN_OP_TENSOR_MAX, CUDNN_DATA_FLOAT,
                                        keep ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN));
        need(cudnnOpTensor(handle, desc, &one, a.desc, a.at, &one, b.desc, b.at, &zero, a.desc,
                           a.at));
        cudaDeviceSynchronize();
        ok(keep ? isnan(get(&a, 0)) && isnan(get(&a, 1)) : get(&a, 0) == 4 && get(&a, 1) == 3,
           "NaN is %s", keep ? "the largest" : "passed over");
    }
    fails(cudnnOpTensor(handle, desc, &one, a.desc, a.at, &one, NULL, b.at, &zero, a.desc, a.at),
          BAD_PARAM_NULL_POINTER);
    tensor_free(&a);
    tensor_free(&b);
    cudnnDestroyOpTensorDescriptor(desc);
}

static void test_transform(void)
{
    static const struct {
        cudnnDataType_t from, to;
        enum layout a, b;
    } cases[] = {{CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, NCHW, NHWC},
                 {CUDNN_DATA_HALF, CUDNN_DATA_DOUBLE, ODD, NCHW},
                 {CUDNN_DATA_INT8, CUDNN_DATA_INT8x4, NCHW, VECT_C},
                 {CUDNN_DATA_INT8x4, CUDNN_DATA_INT8x32, VECT_C, VECT_C},
                 {CUDNN_DATA_INT8x32, CUDNN_DATA_FLOAT, VECT_C, NHWC},
                 {CUDNN_DATA_FLOAT, CUDNN_DATA_INT32, NHWC, ODD},
                 {CUDNN_DATA_FLOAT, CUDNN_DATA_UINT8, NHWC, NCHW}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor x = tensor_of(cases[i].from, cases[i].a, 4, (int[]){2, 64, 3, 5});
        struct tensor y = tensor_of(cases[i].to, cases[i].b, 4, (int[]){2, 64, 3, 5});
        struct factors f = factors_of(&y, 1, 0);
        fill_whole(&x, 100);
        double *want = values_of(&x);
        for (int64_t e = 0; cases[i].to == CUDNN_DATA_UINT8 && e < elements(&x); e++)
            want[e] = fmax(want[e], 0);
        need(cudnnTransformTensor(handle, &f.a, x.desc, x.at, &f.b, y.desc, y.at));
        ok(came(&y, want, 0), "from type %d to type %d", (int)x.type, (int)y.type);
        tensor_free(&x);
        tensor_free(&y);
    }
}

static double act(int mode, double coef, double x)
{
    switch (mode) {
    case CUDNN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case CUDNN_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case CUDNN_ACTIVATION_TANH:
        return tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        return fmin(fmax(x, 0), coef);
    case CUDNN_ACTIVATION_ELU:
        return x > 0 ? x : coef * expm1(x);
    case CUDNN_ACTIVATION_SWISH:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

static void test_activation(void)
{
    static const int dims[] = {2, 3, 4, 300};
    cudnnActivationDescriptor_t desc;

    need(cudnnCreateActivationDescriptor(&desc));
    FOR_REALS(type)
    for (int mode = 0; mode <= CUDNN_ACTIVATION_SWISH; mode++) {
        double coef = 0.5, h = 1e-6;
        struct tensor x = tensor_of(type, NHWC, 4, dims), y = tensor_of(type, ODD, 4, dims);
        struct tensor dy = tensor_of(type, NCHW, 4, dims), dx = tensor_of(type, NHWC, 4, dims);
        struct factors f = factors_of(&y, 2, mode % 2 ? 0.5 : 0);
        fill_real(&x);
        fill_real(&y);
        fill_real(&dy);
        fill_real(&dx);
        for (int64_t i = 0; i < elements(&x); i++) /* not where there is no derivative */
            if (fabs(get(&x, i)) < 0.01 || fabs(get(&x, i) - coef) < 0.01)
                put(&x, i, 0.25);
        need(cudnnSetActivationDescriptor(desc, (cudnnActivationMode_t)mode, CUDNN_PROPAGATE_NAN,
                                          coef));
        double *want = zeros(&y), *dwant = zeros(&dx);
        for (int64_t i = 0; i < elements(&y); i++) {
            double v = get(&x, i);
            want[i] = act(mode, coef, v);
            dwant[i] = get(&dy, i) * (act(mode, coef, v + h) - act(mode, coef, v - h)) / (2 * h);
        }
        blend(&y, want, &f);
        need(cudnnActivationForward(handle, desc, &f.a, x.desc, x.at, &f.b, y.desc, y.at));
        ok(came(&y, want, tolerance(type)), "activation %d, type %d", mode, (int)type);
        for (int64_t i = 0; i < elements(&y); i++)
            put(&y, i, act(mode, coef, get(&x, i)));
        blend(&dx, dwant, &f);
        need(cudnnActivationBackward(handle, desc, &f.a, y.desc, y.at, dy.desc, dy.at, x.desc, x.at,
                                     &f.b, dx.desc, dx.at));
        ok(came(&dx, dwant, fmax(tolerance(type), 1e-8)), "its gradient");
        tensor_free(&x);
        tensor_free(&y);
        tensor_free(&dy);
        tensor_free(&dx);
    }
    cudnnDestroyActivationDescriptor(desc);
}

/* ---- reductions */

static double reduced(int op, double sum, double v)
{
    switch (op) {
    case CUDNN_REDUCE_TENSOR_MUL:
        return sum * v;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
        return v == 0 ? sum : sum * v;
    case CUDNN_REDUCE_TENSOR_MIN:
        return fmin(sum, v);
    case CUDNN_REDUCE_TENSOR_MAX:
        return fmax(sum, v);
    case CUDNN_REDUCE_TENSOR_AMAX:
        return fmax(sum, fabs(v));
    case CUDNN_REDUCE_TENSOR_NORM1:
        return sum + fabs(v);
    case CUDNN_REDUCE_TENSOR_NORM2:
        return sum + v * v;
    default:
        return sum + v;
    }
}

static void test_reduce(void)
{
    static const int in[] = {3, 6, 5, 7};
    static const int outs[][4] = {{1, 6, 1, 1}, {3, 1, 1, 1}, {1, 1, 1, 1},
                                  {3, 6, 5, 1}, {1, 6, 5, 7}, {3, 1, 5, 7}};
    cudnnReduceTensorDescriptor_t desc;

    need(cudnnCreateReduceTensorDescriptor(&desc));
    for (int op = 0; op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; op++)
        for (int o = 0; o < 6; o++) {
            cudnnDataType_t type = reals[o % 2];
            bool has_index = op >= CUDNN_REDUCE_TENSOR_MIN && op <= CUDNN_REDUCE_TENSOR_AMAX;
            bool is_product =
                op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS;
            struct tensor x = tensor_of(type, (enum layout)(o % 3 == 2 ? ODD : o % 3), 4, in);
            struct tensor y = tensor_of(type, NCHW, 4, outs[o]);
            struct factors f = factors_of(&y, 2, o % 2 ? 3 : 0);
            size_t size_B = 0;
            for (int64_t i = 0; i < elements(&x); i++) /* no two alike */
                put(&x, i, is_product ? 1 + (below(3) - 1) * 0.01 : (i * 37 % 631) / 64.0 - 4);
            fill_whole(&y, 5);
            need(cudnnSetReduceTensorDescriptor(
                desc, (cudnnReduceTensorOp_t)op, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
                has_index ? CUDNN_REDUCE_TENSOR_FLATTENED_INDICES : CUDNN_REDUCE_TENSOR_NO_INDICES,
                CUDNN_32BIT_INDICES));
            need(cudnnGetReductionIndicesSize(handle, desc, x.desc, y.desc, &size_B));
            eq_u64(size_B, has_index ? 4 * (size_t)elements(&y) : 0, "room for indices");
            int *indices = memory(size_B), wrong = 0;
            double *want = zeros(&y), n = (double)(elements(&x) / elements(&y));
            int *counts = calloc((size_t)elements(&y), sizeof(int)),
                *best = calloc((size_t)elements(&y), sizeof(int));
            for (int64_t i = 0; i < elements(&y); i++)
                want[i] = is_product                      ? 1
                          : op == CUDNN_REDUCE_TENSOR_MIN ? INFINITY
                          : op == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY
                                                          : 0;
            for (int64_t i = 0; i < elements(&x); i++) {
                int64_t to = number_in(&y, &x, i);
                double more = reduced(op, want[to], get(&x, i));
                if (more != want[to])
                    best[to] = counts[to];
                want[to] = more;
                counts[to]++;
            }
            for (int64_t i = 0; i < elements(&y); i++)
                want[i] = op == CUDNN_REDUCE_TENSOR_AVG     ? want[i] / n
                          : op == CUDNN_REDUCE_TENSOR_NORM2 ? sqrt(want[i])
                                                            : want[i];
            blend(&y, want, &f);
            need(cudnnReduceTensor(handle, desc, indices, size_B, NULL, 0, &f.a, x.desc, x.at, &f.b,
                                   y.desc, y.at));
            ok(came(&y, want, tolerance(type)), "reduction %d to %d x %d x %d x %d", op, outs[o][0],
               outs[o][1], outs[o][2], outs[o][3]);
            for (int64_t i = 0; has_index && i < elements(&y); i++)
                wrong += indices[i] != best[i];
            eq_u64((uint64_t)wrong, 0, "indices");
            free(counts);
            free(best);
            cudaFree(indices);
            tensor_free(&x);
            tensor_free(&y);
        }
    struct tensor dy = tensor_of(CUDNN_DATA_HALF, NHWC, 4, in),
                  db = tensor_of(CUDNN_DATA_HALF, NCHW, 4, outs[0]);
    struct factors f = factors_of(&db, 1, 0);
    fill_whole(&dy, 3);
    double *want = zeros(&db);
    for (int64_t i = 0; i < elements(&dy); i++)
        want[number_in(&db, &dy, i)] += get(&dy, i);
    need(cudnnConvolutionBackwardBias(handle, &f.a, dy.desc, dy.at, &f.b, db.desc, db.at));
    ok(came(&db, want, 0), "the gradient of a bias");
    fails(cudnnConvolutionBackwardBias(handle, &f.a, dy.desc, dy.at, &f.b, dy.desc, db.at),
          BAD_PARAM);
    tensor_free(&dy);
    tensor_free(&db);
    cudnnDestroyReduceTensorDescriptor(desc);
}

/* ---- softmax */

static void test_softmax(void)
{
    static const int dims[] = {3, 10, 5, 4};

    FOR_REALS(type)
    for (int c = 0; c < 6; c++) {
        int algo = c % 3, mode = c / 3;
        struct tensor x = tensor_of(type, c % 2 ? NHWC : NCHW, 4, dims),
                      y = tensor_of(type, c % 3 ? ODD : NCHW, 4, dims);
        struct tensor dy = tensor_of(type, NHWC, 4, dims), dx = tensor_of(type, NCHW, 4, dims);
        struct factors f = factors_of(&y, 2, c % 2 ? 0.5 : 0);
        fill_real(&x);
        fill_real(&y);
        fill_real(&dy);
        fill_real(&dx);
        double *want = zeros(&y), *dwant = zeros(&y), sums[64] = {0}, dots[64] = {0};
        for (int64_t i = 0; i < elements(&x); i++)
            sums[mode ? i / 200 * 20 + i % 20 : i / 200] += exp(get(&x, i));
        for (int64_t i = 0; i < elements(&x); i++) {
            double s = exp(get(&x, i)) / sums[mode ? i / 200 * 20 + i % 20 : i / 200];
            want[i] = algo == CUDNN_SOFTMAX_LOG ? log(s) : s;
        }
        double *plain = malloc((size_t)elements(&y) * sizeof(double));
        memcpy(plain, want, (size_t)elements(&y) * sizeof(double));
        blend(&y, want, &f);
        need(cudnnSoftmaxForward(handle, (cudnnSoftmaxAlgorithm_t)algo, (cudnnSoftmaxMode_t)mode,
                                 &f.a, x.desc, x.at, &f.b, y.desc, y.at));
        ok(came(&y, want, tolerance(type)), "softmax %d of mode %d, type %d", algo, mode,
           (int)type);
        for (int64_t i = 0; i < elements(&y); i++)
            put(&y, i, plain[i]);
        for (int64_t i = 0; i < elements(&y); i++)
            dots[mode ? i / 200 * 20 + i % 20 : i / 200] +=
                get(&dy, i) * (algo == CUDNN_SOFTMAX_LOG ? 1 : get(&y, i));
        for (int64_t i = 0; i < elements(&y); i++) {
            double dot = dots[mode ? i / 200 * 20 + i % 20 : i / 200], v = get(&y, i);
            dwant[i] =
                algo == CUDNN_SOFTMAX_LOG ? get(&dy, i) - exp(v) * dot : v * (get(&dy, i) - dot);
        }
        blend(&dx, dwant, &f);
        need(cudnnSoftmaxBackward(handle, (cudnnSoftmaxAlgorithm_t)algo, (cudnnSoftmaxMode_t)mode,
                                  &f.a, y.desc, y.at, dy.desc, dy.at, &f.b, dx.desc, dx.at));
        ok(came(&dx, dwant, tolerance(type)), "its gradient");
        free(plain);
        tensor_free(&x);
        tensor_free(&y);
        tensor_free(&dy);
        tensor_free(&dx);
    }
}

/* ---- pooling */

/* y of x; or adds y's gradient to x's. */
static void plain_pool(int mode, const int *window, const int *pad, const int *stride,
                       const struct tensor *x, const struct tensor *y, double *out,
                       const struct tensor *dy)
{
    int skip = 5 - x->rank, w[3] = {1, 1, 1}, p[3] = {0}, s[3] = {1, 1, 1};
    int in[3], o[3];

    for (int d = 0; d < 3; d++) {
        in[d] = dim3_of(x, d);
        o[d] = dim3_of(y, d);
        if (d >= skip) {
            w[d] = window[d - skip];
            p[d] = pad[d - skip];
            s[d] = stride[d - skip];
        }
    }
    for (int nc = 0; nc < x->dims[0] * x->dims[1]; nc++)
        for (int i = 0; i < o[0] * o[1] * o[2]; i++) {
            int first[3] = {i / o[2] / o[1] * s[0] - p[0], i / o[2] % o[1] * s[1] - p[1],
                            i % o[2] * s[2] - p[2]};
            int n = nc / x->dims[1], c = nc % x->dims[1], count = 0;
            int64_t to = number5(y, n, c, i / o[2] / o[1], i / o[2] % o[1], i % o[2]), best = -1;
            double sum = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int t = 0; t < w[0] * w[1] * w[2]; t++) {
                    int a = first[0] + t / w[2] / w[1], b = first[1] + t / w[2] % w[1],
                        e = first[2] + t % w[2];
                    if (a < 0 || b < 0 || e < 0 || a >= in[0] || b >= in[1] || e >= in[2])
                        continue;
                    int64_t at = number5(x, n, c, a, b, e);
                    if (pass && dy && mode != CUDNN_POOLING_MAX)
                        out[at] +=
                            get(dy, to) / (mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                                               ? count
                                               : w[0] * w[1] * w[2]);
                    if (pass)
                        continue;
                    count++;
                    sum += get(x, at);
                    if (best < 0 || get(x, at) > get(x, best))
                        best = at;
                }
            if (dy && mode == CUDNN_POOLING_MAX)
                out[best] += get(dy, to);
            if (!dy)
                out[to] = mode == CUDNN_POOLING_MAX ? get(x, best)
                          : mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                              ? sum / count
                              : sum / (w[0] * w[1] * w[2]);
        }
}

static void test_pool(void)
{
    static const struct {
        int rank, in[5], window[3], pad[3], stride[3];
    } cases[] = {{4, {2, 5, 9, 8}, {3, 2}, {1, 0}, {2, 2}},
                 {4, {2, 3, 6, 6}, {3, 3}, {1, 1}, {1, 1}},
                 {5, {1, 4, 5, 6, 7}, {2, 3, 3}, {1, 1, 0}, {2, 1, 3}}};
    cudnnPoolingDescriptor_t desc;

    need(cudnnCreatePoolingDescriptor(&desc));
    FOR_REALS(type)
    for (int c = 0; c < 3; c++)
        for (int mode = 0; mode < 3; mode++) {
            int rank = cases[c].rank, out[5];
            need(cudnnSetPoolingNdDescriptor(desc, (cudnnPoolingMode_t)mode, CUDNN_PROPAGATE_NAN,
                                             rank - 2, cases[c].window, cases[c].pad,
                                             cases[c].stride));
            struct tensor x = tensor_of(type, mode % 2 ? NCHW : NHWC, rank, cases[c].in);
            need(cudnnGetPoolingNdForwardOutputDim(desc, x.desc, rank, out));
            struct tensor y = tensor_of(type, mode ? NCHW : NHWC, rank, out),
                          dy = tensor_of(type, NHWC, rank, out),
                          dx = tensor_of(type, ODD, rank, cases[c].in);
            struct factors f = factors_of(&y, 2, mode % 2 ? 1 : 0);
            fill_real(&x);
            fill_whole(&y, 2);
            fill_whole(&dy, 4);
            fill_whole(&dx, 4);
            double *want = zeros(&y), *dwant = zeros(&dx);
            plain_pool(mode, cases[c].window, cases[c].pad, cases[c].stride, &x, &y, want, NULL);
            plain_pool(mode, cases[c].window, cases[c].pad, cases[c].stride, &x, &y, dwant, &dy);
            blend(&y, want, &f);
            blend(&dx, dwant, &f);
            need(cudnnPoolingForward(handle, desc, &f.a, x.desc, x.at, &f.b, y.desc, y.at));
            ok(came(&y, want, tolerance(type)), "pooling %d, shape %d, type %d", mode, c,
               (int)type);
            need(cudnnPoolingBackward(handle, desc, &f.a, y.desc, y.at, dy.desc, dy.at, x.desc,
                                      x.at, &f.b, dx.desc, dx.at));
            ok(came(&dx, dwant, tolerance(type)), "its gradient");
            tensor_free(&x);
            tensor_free(&y);
            tensor_free(&dy);
            tensor_free(&dx);
        }
    fails(
        cudnnSetPooling2dDescriptor(desc, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 0, 1, 0, 0, 1, 1),
        BAD_PARAM);
    cudnnDestroyPoolingDescriptor(desc);
}

/* ---- norms */

static void test_lrn(void)
{
    static const int dims[] = {2, 9, 3, 4};
    cudnnLRNDescriptor_t desc;

    need(cudnnCreateLRNDescriptor(&desc));
    FOR_REALS(type)
    for (unsigned n = 4; n < 6; n++) {
        double alpha = 0.5, beta = n == 4 ? 0.75 : 0.6, k = 1.5;
        struct tensor x = tensor_of(type, n % 2 ? NHWC : NCHW, 4, dims),
                      y = tensor_of(type, NCHW, 4, dims), dy = tensor_of(type, NHWC, 4, dims),
                      dx = tensor_of(type, ODD, 4, dims);
        struct factors f = factors_of(&y, 2, 0);
        need(cudnnSetLRNDescriptor(desc, n, alpha, beta, k));
        fill_real(&x);
        fill_real(&dy);
        int before = (int)(n - 1) / 2, behind = (int)n - 1 - before;
        double *want = zeros(&y), *dwant = zeros(&dx), *s = zeros(&y);
        for (int64_t i = 0; i < elements(&x); i++) {
            int c = (int)(i / 12 % 9);
            for (int j = -before; j <= behind; j++)
                if (c + j >= 0 && c + j < 9)
                    s[i] += pow(get(&x, i + 12 * j), 2);
            s[i] = k + alpha / n * s[i];
            want[i] = get(&x, i) * pow(s[i], -beta);
        }
        for (int64_t i = 0; i < elements(&x); i++) {
            int c = (int)(i / 12 % 9);
            dwant[i] += get(&dy, i) * pow(s[i], -beta);
            for (int j = -before; j <= behind; j++)
                if (c + j >= 0 && c + j < 9)
                    dwant[i + 12 * j] -= get(&dy, i) * get(&x, i) * beta * pow(s[i], -beta - 1) *
                                         2 * alpha / n * get(&x, i + 12 * j);
        }
        blend(&y, want, &f);
        need(cudnnLRNCrossChannelForward(handle, desc, CUDNN_LRN_CROSS_CHANNEL_DIM1, &f.a, x.desc,
                                         x.at, &f.b, y.desc, y.at));
        ok(came(&y, want, tolerance(type)), "response norm over %u, type %d", n, (int)type);
        for (int64_t i = 0; i < elements(&y); i++)
            put(&y, i, get(&x, i) * pow(s[i], -beta));
        blend(&dx, dwant, &f);
        need(cudnnLRNCrossChannelBackward(handle, desc, CUDNN_LRN_CROSS_CHANNEL_DIM1, &f.a, y.desc,
                                          y.at, dy.desc, dy.at, x.desc, x.at, &f.b, dx.desc,
                                          dx.at));
        ok(came(&dx, dwant, tolerance(type)), "its gradient");
        free(s);
        tensor_free(&x);
        tensor_free(&y);
        tensor_free(&dy);
        tensor_free(&dx);
    }
    fails(cudnnSetLRNDescriptor(desc, 17, 1, 1, 1), BAD_PARAM);
    cudnnDestroyLRNDescriptor(desc);
}

struct norm {
    struct tensor x, y, z, dy, dx, dz, scale, bias, mean, variance, save_mean, save_inverse, dscale,
        dbias;
};

static void test_norm_case(cudnnDataType_t type, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
                           enum layout layout)
{
    static const int dims[] = {3, 40, 4, 5};
    bool is_spatial = mode == CUDNN_BATCHNORM_SPATIAL;
    int each[] = {1, 40, is_spatial ? 1 : 4, is_spatial ? 1 : 5};
    cudnnDataType_t stat = type == CUDNN_DATA_DOUBLE ? type : CUDNN_DATA_FLOAT;
    struct tensor x = tensor_of(type, layout, 4, dims), y = tensor_of(type, layout, 4, dims),
                  z = tensor_of(type, NCHW, 4, dims), dy = tensor_of(type, NHWC, 4, dims),
                  dx = tensor_of(type, layout, 4, dims), dz = tensor_of(type, NHWC, 4, dims);
    struct tensor p[8]; /* scale, bias, running and saved mean and variance, gradients */
    cudnnActivationDescriptor_t relu;
    double epsilon = 1e-3, weight = 0.25, tol = tolerance(type) * 4;
    struct factors f = factors_of(&y, 2, 0.5), g = factors_of(&y, 1, 0), h = factors_of(&y, 2, 3);
    size_t size_B = 7;

    need(cudnnCreateActivationDescriptor(&relu));
    need(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
    for (int i = 0; i < 8; i++) {
        p[i] = tensor_of(stat, NCHW, 4, each);
        fill_real(&p[i]);
    }
    fill_real(&x);
    fill_real(&y);
    fill_real(&z);
    fill_real(&dy);
    fill_real(&dx);
    int64_t channels = elements(&p[0]), n = elements(&x), m = n / channels;
    bool has_act = ops != CUDNN_BATCHNORM_OPS_BN,
         has_z = ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
    double *mean = calloc((size_t)channels, 8), *var = calloc((size_t)channels, 8),
           *s1 = calloc((size_t)channels, 8), *s2 = calloc((size_t)channels, 8);
    double *want = zeros(&y), *plain = zeros(&y), *d = zeros(&y), *running = values_of(&p[2]),
           *running_var = values_of(&p[3]);
    for (int64_t i = 0; i < n; i++)
        mean[number_in(&p[0], &x, i)] += get(&x, i) / (double)m;
    for (int64_t i = 0; i < n; i++)
        var[number_in(&p[0], &x, i)] += pow(get(&x, i) - mean[number_in(&p[0], &x, i)], 2);
    for (int64_t c = 0; c < channels; c++) {
        running[c] = (1 - weight) * running[c] + weight * mean[c];
        running_var[c] = (1 - weight) * running_var[c] + weight * var[c] / (double)(m - 1);
        var[c] /= (double)m;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t c = number_in(&p[0], &x, i);
        plain[i] = (get(&x, i) - mean[c]) / sqrt(var[c] + epsilon) * get(&p[0], c) + get(&p[1], c) +
                   (has_z ? get(&z, i) : 0);
        want[i] = has_act ? fmax(plain[i], 0) : plain[i];
    }
    blend(&y, want, &f);
    need(cudnnBatchNormalizationForwardTrainingEx(
        handle, mode, ops, &f.a, &f.b, x.desc, x.at, z.desc, z.at, y.desc, y.at, p[0].desc, p[0].at,
        p[1].at, weight, p[2].at, p[3].at, epsilon, p[4].at, p[5].at, relu, NULL, 0, NULL, 0));
    ok(came(&y, want, tol), "norm of mode %d, operations %d, %s, type %d", (int)mode, (int)ops,
       layout_names[layout], (int)type);
    ok(came(&p[2], running, 1e-5) && came(&p[3], running_var, 1e-5), "running mean and variance");
    bool is_saved = true;
    for (int64_t c = 0; c < channels; c++)
        is_saved &= fabs(get(&p[4], c) - mean[c]) < 1e-5 &&
                    fabs(get(&p[5], c) * sqrt(var[c] + epsilon) - 1) < 1e-5;
    ok(is_saved, "what is saved");

    /* Backward: y as it is without factors. */
    for (int64_t i = 0; i < n; i++)
        put(&y, i, has_act ? fmax(plain[i], 0) : plain[i]);
    double *dzv = zeros(&y), *dsv = values_of(&p[6]), *dbv = values_of(&p[7]);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = number_in(&p[0], &x, i);
        dzv[i] = has_act && get(&y, i) <= 0 ? 0 : get(&dy, i);
        s1[c] += dzv[i];
        s2[c] += dzv[i] * (get(&x, i) - mean[c]) / sqrt(var[c] + epsilon);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t c = number_in(&p[0], &x, i);
        double inv = 1 / sqrt(var[c] + epsilon);
        d[i] = get(&p[0], c) * inv *
               (dzv[i] - s1[c] / (double)m - (get(&x, i) - mean[c]) * inv * s2[c] / (double)m);
    }
    for (int64_t c = 0; c < channels; c++) {
        dsv[c] = 2 * s2[c] + 3 * dsv[c];
        dbv[c] = 2 * s1[c] + 3 * dbv[c];
    }
    blend(&dx, d, &f);
    bool uses_saved = layout != NHWC;
    need(cudnnBatchNormalizationBackwardEx(
        handle, mode, ops, &f.a, &f.b, &h.a, &h.b, x.desc, x.at, y.desc, y.at, dy.desc, dy.at,
        dz.desc, dz.at, dx.desc, dx.at, p[0].desc, p[0].at, p[1].at, p[6].at, p[7].at, epsilon,
        uses_saved ? p[4].at : NULL, uses_saved ? p[5].at : NULL, relu, NULL, 0, NULL, 0));
    ok(came(&dx, d, tol * 4), "its gradient");
    ok(came(&p[6], dsv, tol * 4) && came(&p[7], dbv, tol * 4), "those of scale and bias");
    if (has_z)
        ok(came(&dz, dzv, tol), "and of what was added");
    else
        free(dzv);

    /* Inference with the saved numbers as estimates. */
    for (int64_t c = 0; c < channels; c++)
        put(&p[5], c, fabs(get(&p[5], c)));
    want = zeros(&y);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = number_in(&p[0], &x, i);
        want[i] = (get(&x, i) - get(&p[4], c)) / sqrt(get(&p[5], c) + epsilon) * get(&p[0], c) +
                  get(&p[1], c);
    }
    blend(&y, want, &g);
    need(cudnnBatchNormalizationForwardInference(handle, mode, &g.a, &g.b, x.desc, x.at, y.desc,
                                                 y.at, p[0].desc, p[0].at, p[1].at, p[4].at,
                                                 p[5].at, epsilon));
    ok(came(&y, want, tol), "inference");
    works(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, mode, ops, relu, x.desc,
                                                               &size_B));
    eq_u64(size_B, 0, "no reserve space");
    free(mean);
    free(var);
    free(s1);
    free(s2);
    free(plain);
    for (int i = 0; i < 8; i++)
        tensor_free(&p[i]);
    tensor_free(&x);
    tensor_free(&y);
    tensor_free(&z);
    tensor_free(&dx);
    tensor_free(&dy);
    tensor_free(&dz);
    cudnnDestroyActivationDescriptor(relu);
}

static void test_norm(void)
{
    FOR_REALS(type)
    for (int i = 0; i < 6; i++)
        test_norm_case(type, i % 2 ? CUDNN_BATCHNORM_SPATIAL : CUDNN_BATCHNORM_PER_ACTIVATION,
                       (cudnnBatchNormOps_t)(i % 3),
                       i < 2   ? NCHW
                       : i < 4 ? NHWC
                               : ODD);
    cudnnTensorDescriptor_t x, scale, mean;
    cudnnDataType_t t;
    int n, dims[8], strides[8];
    need(cudnnCreateTensorDescriptor(&x));
    need(cudnnCreateTensorDescriptor(&scale));
    need(cudnnCreateTensorDescriptor(&mean));
    need(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 4, 5));
    works(cudnnDeriveNormTensorDescriptor(scale, mean, x, CUDNN_NORM_PER_CHANNEL, 1));
    works(cudnnGetTensorNdDescriptor(mean, 8, &t, &n, dims, strides));
    ok(t == CUDNN_DATA_FLOAT && n == 4 && dims[0] == 1 && dims[1] == 3 && dims[2] == 1, "derived");
    fails(cudnnDeriveNormTensorDescriptor(scale, mean, x, CUDNN_NORM_PER_CHANNEL, 2),
          NOT_SUPPORTED);
    fails(cudnnDeriveBNTensorDescriptor(scale, x, (cudnnBatchNormMode_t)9), BAD_PARAM);
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(scale);
    cudnnDestroyTensorDescriptor(mean);
}

/* ---- dropout */

static void test_dropout(void)
{
    static const int dims[] = {2, 5, 30, 41};
    cudnnDropoutDescriptor_t desc, again;
    struct tensor x = tensor_of(CUDNN_DATA_FLOAT, NHWC, 4, dims),
                  y = tensor_of(CUDNN_DATA_FLOAT, ODD, 4, dims),
                  dx = tensor_of(CUDNN_DATA_FLOAT, NCHW, 4, dims);
    size_t states_B, mask_B;
    float p;
    void *states, *got;
    unsigned long long seed;

    need(cudnnCreateDropoutDescriptor(&desc));
    need(cudnnCreateDropoutDescriptor(&again));
    need(cudnnDropoutGetStatesSize(handle, &states_B));
    need(cudnnDropoutGetReserveSpaceSize(x.desc, &mask_B));
    states = memory(states_B);
    void *mask = memory(mask_B);
    fails(cudnnDropoutForward(handle, desc, x.desc, x.at, y.desc, y.at, mask, mask_B), BAD_PARAM);
    works(cudnnSetDropoutDescriptor(desc, handle, 0.25F, states, states_B, 77));
    works(cudnnGetDropoutDescriptor(desc, handle, &p, &got, &seed));
    ok(p == 0.25F && got == states && seed == 77, "as it was set");
    for (int64_t i = 0; i < elements(&x); i++)
        put(&x, i, 3);
    double *first = NULL;
    for (int round = 0; round < 3; round++) {
        int64_t kept = 0, wrong = 0, same = 0;
        if (round == 2) { /* the sequence from its begin */
            works(cudnnSetDropoutDescriptor(again, handle, 0.25F, states, states_B, 77));
            works(cudnnRestoreDropoutDescriptor(desc, handle, 0.25F, states, states_B, 77));
        }
        works(cudnnDropoutForward(handle, desc, x.desc, x.at, y.desc, y.at, mask, mask_B));
        works(cudnnDropoutBackward(handle, desc, y.desc, y.at, dx.desc, dx.at, mask, mask_B));
        cudaDeviceSynchronize();
        for (int64_t i = 0; i < elements(&y); i++) {
            double v = get(&y, i);
            kept += v != 0;
            wrong += v != 0 && v != 4;
            wrong += fabs(get(&dx, i) - v / 0.75) > 1e-5;
            same += first && (first[i] != 0) == (v != 0);
        }
        double share = (double)kept / (double)elements(&y);
        ok(!wrong && fabs(share - 0.75) < 0.02, "three of four stay: %g", share);
        if (!first)
            first = values_of(&y);
        else
            ok(round == 2 ? same == elements(&y) : same < elements(&y) * 3 / 4, "round %d", round);
    }
    fails(cudnnSetDropoutDescriptor(desc, handle, 1.5F, states, states_B, 77), BAD_PARAM);
    fails(cudnnSetDropoutDescriptor(desc, handle, 0.5F, states, 8, 77),
          BAD_PARAM_SIZE_INSUFFICIENT);
    fails(cudnnDropoutForward(handle, desc, x.desc, x.at, y.desc, y.at, mask, 8),
          BAD_PARAM_SIZE_INSUFFICIENT);
    free(first);
    cudaFree(states);
    cudaFree(mask);
    tensor_free(&x);
    tensor_free(&y);
    tensor_free(&dx);
    cudnnDestroyDropoutDescriptor(desc);
    cudnnDestroyDropoutDescriptor(again);
}

/* ---- spatial transformers */

static double pixel(const struct tensor *x, int n, int c, double i, double j)
{
    bool inside = i >= 0 && j >= 0 && i < x->dims[2] && j < x->dims[3];

    return inside ? get(x, number5(x, n, c, 0, (int)i, (int)j)) : 0;
}

static double sampled(const struct tensor *x, int n, int c, double gx, double gy)
{
    double px = (gx + 1) / 2 * (x->dims[3] - 1), py = (gy + 1) / 2 * (x->dims[2] - 1);
    double j = floor(px), i = floor(py), fx = px - j, fy = py - i;

    return pixel(x, n, c, i, j) * (1 - fy) * (1 - fx) + pixel(x, n, c, i, j + 1) * (1 - fy) * fx +
           pixel(x, n, c, i + 1, j) * fy * (1 - fx) + pixel(x, n, c, i + 1, j + 1) * fy * fx;
}

static void test_spatial(void)
{
    static const int in[] = {2, 3, 6, 5}, out[] = {2, 3, 4, 7};
    cudnnSpatialTransformerDescriptor_t desc;
    cudnnDataType_t type = CUDNN_DATA_DOUBLE;

    need(cudnnCreateSpatialTransformerDescriptor(&desc));
    need(cudnnSetSpatialTransformerNdDescriptor(desc, CUDNN_SAMPLER_BILINEAR, type, 4, out));
    struct tensor theta = tensor_of(type, NCHW, 3, (int[]){2, 2, 3}),
                  dtheta = tensor_of(type, NCHW, 3, (int[]){2, 2, 3}),
                  grid = tensor_of(type, NCHW, 4, (int[]){2, 4, 7, 2}),
                  dgrid = tensor_of(type, NCHW, 4, (int[]){2, 4, 7, 2}),
                  x = tensor_of(type, NHWC, 4, in), dx = tensor_of(type, NCHW, 4, in),
                  y = tensor_of(type, NCHW, 4, out), dy = tensor_of(type, NHWC, 4, out);
    struct factors f = factors_of(&y, 2, 0.5), g = factors_of(&y, 1, 0);
    fill_real(&theta);
    fill_real(&x);
    fill_real(&y);
    fill_real(&dy);
    fill_real(&dx);
    double *want = zeros(&grid);
    for (int i = 0; i < 56; i++) {
        double u = i % 7 / 3.0 - 1, v = i / 7 % 4 / 1.5 - 1;
        for (int k = 0; k < 2; k++) {
            int64_t at = i / 28 * 6 + 3 * k;
            want[2 * i + k] = get(&theta, at) * u + get(&theta, at + 1) * v + get(&theta, at + 2);
        }
    }
    works(cudnnSpatialTfGridGeneratorForward(handle, desc, theta.at, grid.at));
    ok(came(&grid, want, 1e-12), "the grid");
    want = zeros(&y);
    for (int64_t i = 0; i < elements(&y); i++) {
        int64_t at = (i / 84 * 28 + i % 28) * 2;
        want[i] = sampled(&x, (int)(i / 84), (int)(i / 28 % 3), get(&grid, at), get(&grid, at + 1));
    }
    blend(&y, want, &f);
    works(cudnnSpatialTfSamplerForward(handle, desc, &f.a, x.desc, x.at, grid.at, &f.b, y.desc,
                                       y.at));
    ok(came(&y, want, 1e-12), "samples");

    /* Gradients by differences: the sum of y times dy. */
    double h = 1e-6, *dxw = zeros(&dx), *dgw = zeros(&dgrid);
    for (int64_t i = 0; i < elements(&y); i++) {
        int n = (int)(i / 84), c = (int)(i / 28 % 3);
        int64_t at = (i / 84 * 28 + i % 28) * 2;
        double u = get(&grid, at), v = get(&grid, at + 1), d = get(&dy, i);
        dgw[at] += d * (sampled(&x, n, c, u + h, v) - sampled(&x, n, c, u - h, v)) / (2 * h);
        dgw[at + 1] += d * (sampled(&x, n, c, u, v + h) - sampled(&x, n, c, u, v - h)) / (2 * h);
        for (int64_t k = (n * 3 + c) * 30; k < (n * 3 + c + 1) * 30; k++) {
            double old = get(&x, k), base = sampled(&x, n, c, u, v);
            put(&x, k, old + 1);
            dxw[k] += d * (sampled(&x, n, c, u, v) - base);
            put(&x, k, old);
        }
    }
    blend(&dx, dxw, &f);
    works(cudnnSpatialTfSamplerBackward(handle, desc, &f.a, x.desc, x.at, &f.b, dx.desc, dx.at,
                                        &g.a, dy.desc, dy.at, grid.at, &g.b, dgrid.at));
    ok(came(&dx, dxw, 1e-9), "the gradient of the image");
    ok(came(&dgrid, dgw, 1e-7), "the gradient of the grid");
    want = zeros(&dtheta);
    for (int i = 0; i < 56; i++) {
        double u = i % 7 / 3.0 - 1, v = i / 7 % 4 / 1.5 - 1;
        for (int k = 0; k < 2; k++) {
            int64_t at = i / 28 * 6 + 3 * k;
            want[at] += get(&dgrid, 2 * i + k) * u;
            want[at + 1] += get(&dgrid, 2 * i + k) * v;
            want[at + 2] += get(&dgrid, 2 * i + k);
        }
    }
    works(cudnnSpatialTfGridGeneratorBackward(handle, desc, dgrid.at, dtheta.at));
    ok(came(&dtheta, want, 1e-10), "the gradient of the map");
    fails(cudnnSetSpatialTransformerNdDescriptor(desc, CUDNN_SAMPLER_BILINEAR, type, 5,
                                                 (int[]){1, 1, 1, 1, 1}),
          NOT_SUPPORTED);
    fails(
        cudnnSpatialTfSamplerForward(handle, desc, &f.a, y.desc, x.at, grid.at, &f.b, x.desc, y.at),
        BAD_PARAM);
    tensor_free(&theta);
    tensor_free(&dtheta);
    tensor_free(&grid);
    tensor_free(&dgrid);
    tensor_free(&x);
    tensor_free(&dx);
    tensor_free(&y);
    tensor_free(&dy);
    cudnnDestroySpatialTransformerDescriptor(desc);
}

/* ---- CTC */

/* The probability of labels: the sum over all paths, tried one by one. */
static double ctc_plain(const double *p, int time, int letters, const int *labels, int length)
{
    double sum = 0;
    int paths = 1;

    for (int t = 0; t < time; t++)
        paths *= letters;
    for (int path = 0; path < paths; path++) {
        int left = path, before = 0, n = 0;
        double product = 1;
        bool fits = true;
        for (int t = 0; t < time; t++, left /= letters) {
            int letter = left % letters;
            product *= p[t * letters + letter];
            if (letter && letter != before) {
                fits &= n < length && labels[n] == letter;
                n++;
            }
            before = letter;
        }
        if (fits && n == length)
            sum += product;
    }
    return sum;
}

static void test_ctc(void)
{
    enum { TIME = 5, SAMPLES = 4, LETTERS = 4 };
    int labels[] = {1, 2, 3, 3, 2, 2, 2, 1}, lengths[] = {2, 2, 0, 4}, times[] = {5, 4, 3, 5};
    struct tensor x = tensor_of(CUDNN_DATA_FLOAT, NCHW, 3, (int[]){TIME, SAMPLES, LETTERS}),
                  d = tensor_of(CUDNN_DATA_FLOAT, NCHW, 3, (int[]){TIME, SAMPLES, LETTERS});
    cudnnCTCLossDescriptor_t desc;
    float *costs = memory(SAMPLES * sizeof(float));
    int *there = memory(sizeof(labels) + sizeof(lengths) + sizeof(times));
    size_t size_B;

    memcpy(there, labels, sizeof(labels));
    memcpy(there + 8, lengths, sizeof(lengths));
    memcpy(there + 12, times, sizeof(times));
    need(cudnnCreateCTCLossDescriptor(&desc));
    for (int mode = 0; mode < 3; mode++) { /* 0: probabilities; 2: labels in the device's memory */
        double p[SAMPLES][TIME * LETTERS], *want = zeros(&d);
        bool is_fine = true;
        fill_real(&x);
        for (int s = 0; s < SAMPLES; s++)
            for (int t = 0; t < TIME; t++) {
                double sum = 0;
                for (int k = 0; k < LETTERS; k++)
                    sum += exp(get(&x, (t * SAMPLES + s) * LETTERS + k));
                for (int k = 0; k < LETTERS; k++) {
                    int64_t at = (t * SAMPLES + s) * LETTERS + k;
                    p[s][t * LETTERS + k] = exp(get(&x, at)) / sum;
                    if (!mode)
                        put(&x, at, p[s][t * LETTERS + k]);
                }
            }
        if (mode == 2)
            need(cudnnSetCTCLossDescriptor_v9(desc, CUDNN_DATA_FLOAT,
                                              CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                                              CUDNN_CTC_ZERO_OOB_GRADIENTS, 255));
        else
            need(cudnnSetCTCLossDescriptorEx(desc, CUDNN_DATA_FLOAT,
                                             mode ? CUDNN_LOSS_NORMALIZATION_SOFTMAX
                                                  : CUDNN_LOSS_NORMALIZATION_NONE,
                                             CUDNN_NOT_PROPAGATE_NAN));
        if (mode == 2) {
            works(cudnnCTCLoss_v8(handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, desc, x.desc, x.at,
                                  there, there + 8, there + 12, costs, d.desc, d.at, 0, NULL));
        } else {
            works(cudnnGetCTCLossWorkspaceSize(handle, x.desc, d.desc, labels, lengths, times,
                                               CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, desc, &size_B));
            void *workspace = memory(size_B);
            works(cudnnCTCLoss(handle, x.desc, x.at, labels, lengths, times, costs, d.desc, d.at,
                               CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, desc, workspace, size_B));
            cudaDeviceSynchronize();
            fails(cudnnCTCLoss(handle, x.desc, x.at, labels, lengths, times, costs, d.desc, d.at,
                               CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, desc, workspace, 4),
                  BAD_PARAM_SIZE_INSUFFICIENT);
            cudaFree(workspace);
        }
        cudaDeviceSynchronize();
        /* The last sample's labels need six steps, and there are five. */
        const int *own = labels;
        for (int s = 0; s < SAMPLES; own += lengths[s++]) {
            double all = ctc_plain(p[s], times[s], LETTERS, own, lengths[s]), h = 1e-6;
            double cost = all > 0 ? -log(all) : 0;
            is_fine &= fabs((double)costs[s] - cost) < 1e-5;
            for (int t = 0; t < times[s] && all > 0; t++)
                for (int k = 0; k < LETTERS; k++) {
                    double *row = &p[s][t * LETTERS], kept[LETTERS], side[2];
                    memcpy(kept, row, sizeof(kept));
                    for (int sign = 0; sign < 2; sign++) { /* the activation goes up, and down */
                        double up = exp(sign ? -h : h), sum = 1 + kept[k] * (up - 1);
                        for (int j = 0; j < LETTERS; j++)
                            row[j] = kept[j] * (j == k ? up : 1) / sum;
                        side[sign] = -log(ctc_plain(p[s], times[s], LETTERS, own, lengths[s]));
                    }
                    memcpy(row, kept, sizeof(kept));
                    want[(t * SAMPLES + s) * LETTERS + k] = (side[0] - side[1]) / (2 * h);
                }
        }
        ok(is_fine, "costs are those of all paths, mode %d", mode);
        ok(came(&d, want, 1e-5), "gradients");
    }
    fails(cudnnSetCTCLossDescriptor(desc, CUDNN_DATA_HALF), BAD_PARAM);
    cudaFree(costs);
    cudaFree(there);
    tensor_free(&x);
    tensor_free(&d);
    cudnnDestroyCTCLossDescriptor(desc);
}

int main(void)
{
    need(cudnnCreate(&handle));
    test_op();
    test_transform();
    test_activation();
    test_reduce();
    test_softmax();
    test_pool();
    test_lrn();
    test_norm();
    test_dropout();
    test_spatial();
    test_ctc();
    need(cudnnDestroy(handle));
    return done();
}
