/*
 * cuDNN's convolutions against plain loops: all directions, one to three dimensions of space,
 * types, layouts, pads, strides, dilations, groups, both modes, factors; fused bias and activation;
 * what queries answer, and which arguments are refused. Values are small whole numbers, so sums are
 * exact.
 */
#include "cudnn_fixture.h"

struct shape {
    int rank; /* of space */
    int n, c, k, groups;
    int in[3], filter[3], pad[3], stride[3], dilation[3];
};

static int conv_out(const struct shape *s, int d)
{
    return (s->in[d] + 2 * s->pad[d] - (s->filter[d] - 1) * s->dilation[d] - 1) / s->stride[d] + 1;
}

/* Adds every product once to the result: y of x and w, or whichever of them is not given. */
static void plain(const struct shape *s, bool is_flipped, const struct tensor *xt, double *x,
                  const struct tensor *wt, double *w, const struct tensor *yt, double *y,
                  int result)
{
    int f[3], o[3], stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0}, in[3];

    for (int d = 0; d < 3; d++) {
        f[d] = dim3_of(wt, d);
        o[d] = dim3_of(yt, d);
        in[d] = dim3_of(xt, d);
        if (d >= 3 - s->rank) {
            stride[d] = s->stride[d - 3 + s->rank];
            dilation[d] = s->dilation[d - 3 + s->rank];
            pad[d] = s->pad[d - 3 + s->rank];
        }
    }
    int kg = s->k / s->groups, cg = s->c / s->groups;
    for (int n = 0; n < s->n; n++)
        for (int k = 0; k < s->k; k++)
            for (int p = 0; p < o[0] * o[1] * o[2]; p++)
                for (int c = 0; c < cg; c++)
                    for (int t = 0; t < f[0] * f[1] * f[2]; t++) {
                        int pos[3] = {p / o[2] / o[1], p / o[2] % o[1], p % o[2]};
                        int tap[3] = {t / f[2] / f[1], t / f[2] % f[1], t % f[2]}, at[3];
                        bool inside = true;
                        for (int d = 0; d < 3; d++) {
                            at[d] = pos[d] * stride[d] - pad[d] + tap[d] * dilation[d];
                            inside &= at[d] >= 0 && at[d] < in[d];
                            if (is_flipped)
                                tap[d] = f[d] - 1 - tap[d];
                        }
                        if (!inside)
                            continue;
                        double *xp = &x[number5(xt, n, k / kg * cg + c, at[0], at[1], at[2])];
                        double *wp = &w[number5(wt, k, c, tap[0], tap[1], tap[2])];
                        double *yp = &y[number5(yt, n, k, pos[0], pos[1], pos[2])];
                        if (result == 0)
                            *yp += *xp * *wp;
                        else if (result == 1)
                            *xp += *yp * *wp;
                        else
                            *wp += *xp * *yp;
                    }
}

static cudnnConvolutionDescriptor_t conv_desc(const struct shape *s, bool is_flipped,
                                              cudnnDataType_t type)
{
    cudnnConvolutionDescriptor_t desc;

    need(cudnnCreateConvolutionDescriptor(&desc));
    need(cudnnSetConvolutionNdDescriptor(desc, s->rank, s->pad, s->stride, s->dilation,
                                         is_flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
                                         type));
    need(cudnnSetConvolutionGroupCount(desc, s->groups));
    return desc;
}

struct operands {
    struct tensor x, w, y;
};

static struct operands operands_of(const struct shape *s, cudnnDataType_t type, enum layout xl,
                                   enum layout wl, enum layout yl)
{
    int x[5] = {s->n, s->c}, w[5] = {s->k, s->c / s->groups}, y[5] = {s->n, s->k};

    for (int d = 0; d < s->rank; d++) {
        x[2 + d] = s->in[d];
        w[2 + d] = s->filter[d];
        y[2 + d] = conv_out(s, d);
    }
    return (struct operands){tensor_of(type, xl, s->rank + 2, x),
                             tensor_of(type, wl, s->rank + 2, w),
                             tensor_of(type, yl, s->rank + 2, y)};
}

static void operands_free(struct operands *o)
{
    tensor_free(&o->x);
    tensor_free(&o->w);
    tensor_free(&o->y);
}

static cudnnStatus_t run(struct operands *o, cudnnConvolutionDescriptor_t desc, int result,
                         double alpha, double beta)
{
    double a, b;

    factor_of(&o->x, alpha, &a);
    factor_of(&o->x, beta, &b);
    if (result == 0)
        return cudnnConvolutionForward(handle, &a, o->x.desc, o->x.at, o->w.filter, o->w.at, desc,
                                       CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, &b,
                                       o->y.desc, o->y.at);
    if (result == 1)
        return cudnnConvolutionBackwardData(handle, &a, o->w.filter, o->w.at, o->y.desc, o->y.at,
                                            desc, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, NULL, 0, &b,
                                            o->x.desc, o->x.at);
    return cudnnConvolutionBackwardFilter(handle, &a, o->x.desc, o->x.at, o->y.desc, o->y.at, desc,
                                          CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, NULL, 0, &b,
                                          o->w.filter, o->w.at);
}

static bool is_right(const struct shape *s, cudnnDataType_t type, enum layout xl, enum layout wl,
                     enum layout yl, bool is_flipped, int result, double alpha, double beta)
{
    struct operands o = operands_of(s, type, xl, wl, yl);
    struct tensor *out = result == 0 ? &o.y : result == 1 ? &o.x : &o.w;
    cudnnConvolutionDescriptor_t desc = conv_desc(s, is_flipped, CUDNN_DATA_FLOAT);

    fill_whole(&o.x, 2);
    fill_whole(&o.w, 2);
    fill_whole(&o.y, 2);
    double *v[3] = {values_of(&o.y), values_of(&o.x), values_of(&o.w)};
    double *before = values_of(out), *want = v[result];
    if (beta == 0) /* NaN times 0 must not stay */
        for (int64_t i = 0; i < elements(out); i++)
            put(out, i, NAN);
    for (int64_t i = 0; i < elements(out); i++)
        want[i] = 0;
    plain(s, is_flipped, &o.x, v[1], &o.w, v[2], &o.y, v[0], result);
    for (int64_t i = 0; i < elements(out); i++)
        want[i] = alpha * want[i] + (beta != 0 ? beta * before[i] : 0);
    cudnnStatus_t status = run(&o, desc, result, alpha, beta);
    bool is_fine = !status && !cudaDeviceSynchronize() &&
                   is_near(out, want,
                           type == CUDNN_DATA_BFLOAT16 ? 4e-3
                           : type == CUDNN_DATA_HALF   ? 5e-4
                                                       : 0) &&
                   has_gaps_kept(out);
    if (status)
        diag("%s", cudnnGetErrorString(status));
    for (int i = 0; i < 3; i++)
        free(v[i]);
    free(before);
    cudnnDestroyConvolutionDescriptor(desc);
    operands_free(&o);
    return is_fine;
}

static const char *const results[] = {"forward", "data", "filter"};

static void test_shapes(void)
{
    static const struct shape shapes[] = {
        {2, 2, 3, 5, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {2, 1, 4, 6, 1, {7, 7}, {1, 1}, {0, 0}, {1, 1}, {1, 1}},
        {2, 2, 4, 6, 2, {11, 10}, {3, 2}, {2, 0}, {2, 3}, {1, 2}},
        {2, 1, 6, 6, 6, {8, 8}, {5, 3}, {2, 1}, {2, 1}, {1, 1}},
        {2, 3, 2, 3, 1, {5, 6}, {2, 2}, {3, 2}, {3, 4}, {2, 3}}, /* taps outside, gaps */
        {1, 2, 3, 4, 1, {19}, {4}, {3}, {2}, {2}},
        {3, 1, 2, 3, 1, {5, 6, 7}, {3, 2, 3}, {1, 0, 2}, {2, 1, 2}, {1, 2, 1}},
        {2, 2, 70, 40, 1, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},   /* more than a slice */
        {2, 2, 20, 33, 1, {40, 30}, {3, 3}, {1, 1}, {2, 2}, {1, 1}}, /* more than a block */
        {2, 2, 40, 40, 40, {11, 8}, {3, 3}, {1, 0}, {2, 1}, {1, 2}}, /* depthwise */
        {2, 2, 1100, 3, 1, {3, 3}, {1, 1}, {0, 0}, {1, 1}, {1, 1}},
        /* Another engine's, where it is there: many images, many channels, groups, gaps. */
        {2, 9, 20, 24, 1, {10, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {2, 1, 24, 200, 1, {9, 10}, {3, 3}, {0, 1}, {2, 1}, {1, 2}},
        {2, 3, 64, 32, 4, {13, 12}, {3, 3}, {1, 2}, {1, 2}, {1, 1}},
        {2, 3, 96, 96, 96, {14, 15}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {1, 3, 32, 48, 1, {70}, {5}, {2}, {2}, {1}},
        {3, 2, 16, 20, 1, {6, 7, 8}, {3, 3, 3}, {1, 1, 1}, {1, 2, 1}, {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (int result = 0; result < 3; result++) {
            bool is_fine = true;
            for (int l = 0; l < 8 && is_fine; l++) {
                enum layout xl = l & 1 ? NHWC : NCHW, wl = l & 2 ? NHWC : NCHW,
                            yl = l & 4 ? NHWC : NCHW;
                is_fine = is_right(&shapes[i], CUDNN_DATA_FLOAT, xl, wl, yl, l % 3 == 1, result,
                                   l % 2 ? 1 : 2, l % 3 ? 0 : 3);
                if (!is_fine)
                    diag("x %s, filter %s, y %s", layout_names[xl], layout_names[wl],
                         layout_names[yl]);
            }
            ok(is_fine, "shape %zu, %s, all layouts", i, results[result]);
        }
}

static void test_types(void)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF,
                                            CUDNN_DATA_BFLOAT16};
    static const struct shape shape = {2, 2, 8, 12, 2, {9, 7}, {3, 3}, {1, 1}, {2, 1}, {1, 1}};
    static const struct shape depthwise = {2, 2, 8, 8, 8, {9, 7}, {3, 3}, {1, 1}, {2, 1}, {1, 1}};
    static const struct shape large = {2, 3, 24, 32, 1, {12, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (int result = 0; result < 3; result++) {
            bool is_fine =
                is_right(&depthwise, types[i], NHWC, NHWC, NHWC, false, result, 2, result ? 1 : 0);
            for (int l = 0; l < 3; l++)
                is_fine &= is_right(&shape, types[i],
                                    l == 0   ? ODD
                                    : l == 1 ? NCHW
                                             : NHWC,
                                    l == 1 ? NCHW : NHWC, l == 0 ? ODD : NHWC, false, result, 1,
                                    l ? 0 : 1);
            for (int l = 0; l < 4; l++)
                is_fine &= is_right(&large, types[i], l & 1 ? NHWC : NCHW, NCHW,
                                    l & 2 ? NHWC : NCHW, false, result, 1, l == 3 ? 1 : 0);
            ok(is_fine, "type %d, %s", (int)types[i], results[result]);
        }
    /* Results that round. */
    struct operands o = operands_of(&shape, CUDNN_DATA_FLOAT, NCHW, NCHW, NCHW);
    cudnnConvolutionDescriptor_t desc = conv_desc(&shape, false, CUDNN_DATA_FLOAT);
    fill_real(&o.x);
    fill_real(&o.w);
    double *x = values_of(&o.x), *w = values_of(&o.w),
           *y = calloc((size_t)elements(&o.y), sizeof(*y));
    plain(&shape, false, &o.x, x, &o.w, w, &o.y, y, 0);
    works(run(&o, desc, 0, 1, 0));
    cudaDeviceSynchronize();
    ok(is_near(&o.y, y, 1e-5), "real numbers");
    free(x);
    free(w);
    free(y);
    cudnnDestroyConvolutionDescriptor(desc);
    operands_free(&o);
}

/* Bytes: y is bytes, which saturate, or floats. */
static void test_bytes(void)
{
    static const struct {
        cudnnDataType_t x, w, y;
        enum layout layout;
        int c;
    } cases[] = {{CUDNN_DATA_INT8, CUDNN_DATA_INT8, CUDNN_DATA_INT8, NHWC, 12},
                 {CUDNN_DATA_INT8, CUDNN_DATA_INT8, CUDNN_DATA_FLOAT, NHWC, 12},
                 {CUDNN_DATA_UINT8, CUDNN_DATA_INT8, CUDNN_DATA_FLOAT, NCHW, 12},
                 {CUDNN_DATA_INT8x4, CUDNN_DATA_INT8x4, CUDNN_DATA_INT8x4, VECT_C, 12},
                 {CUDNN_DATA_UINT8x4, CUDNN_DATA_INT8x4, CUDNN_DATA_INT8x4, VECT_C, 8},
                 {CUDNN_DATA_INT8x32, CUDNN_DATA_INT8x32, CUDNN_DATA_INT8x32, VECT_C, 64}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shape s = {2, 2, cases[i].c, 32, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
        enum layout l = cases[i].layout;
        struct tensor x = tensor_of(cases[i].x, l, 4, (int[]){2, s.c, 6, 7});
        struct tensor w = tensor_of(cases[i].w, l, 4, (int[]){32, s.c, 3, 3});
        struct tensor y = tensor_of(cases[i].y, l, 4, (int[]){2, 32, 6, 7});
        struct operands o = {x, w, y};
        cudnnConvolutionDescriptor_t desc = conv_desc(&s, false, CUDNN_DATA_INT32);
        fill_whole(&o.x, 90);
        fill_whole(&o.w, 9);
        double *xv = values_of(&x), *wv = values_of(&w),
               *yv = calloc((size_t)elements(&y), sizeof(*yv));
        plain(&s, false, &x, xv, &w, wv, &y, yv, 0);
        for (int64_t e = 0; e < elements(&y); e++) {
            yv[e] *= 0.0625;
            if (size_of(y.type) == 1)
                yv[e] = fmax(-128, fmin(127, nearbyint(yv[e])));
        }
        works(run(&o, desc, 0, 0.0625, 0));
        cudaDeviceSynchronize();
        ok(is_near(&y, yv, 0), "types %d, %d, %d", (int)x.type, (int)w.type, (int)y.type);
        free(xv);
        free(wv);
        free(yv);
        cudnnDestroyConvolutionDescriptor(desc);
        operands_free(&o);
    }
}

static void test_fused(void)
{
    static const struct shape shapes[] = {
        {2, 2, 6, 10, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {2, 4, 24, 40, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}};
    cudnnActivationDescriptor_t act;
    float alpha1 = 2, alpha2 = 3, zero = 0;

    need(cudnnCreateActivationDescriptor(&act));
    for (int l = 0; l < 8; l++) {
        const struct shape s = shapes[l / 4];
        enum layout layout = l & 1 ? NHWC : NCHW;
        struct operands o = operands_of(&s, CUDNN_DATA_FLOAT, layout, layout, layout);
        struct tensor z = tensor_of(CUDNN_DATA_FLOAT, ODD, 4, o.y.dims);
        struct tensor bias = tensor_of(CUDNN_DATA_FLOAT, NCHW, 4, (int[]){1, s.k, 1, 1});
        cudnnConvolutionDescriptor_t desc = conv_desc(&s, false, CUDNN_DATA_FLOAT);
        bool is_relu = l & 2;
        fill_whole(&o.x, 2);
        fill_whole(&o.w, 2);
        fill_whole(&z, 5);
        fill_whole(&bias, 9);
        double *x = values_of(&o.x), *w = values_of(&o.w), *zv = values_of(&z),
               *b = values_of(&bias), *y = calloc((size_t)elements(&o.y), sizeof(*y));
        plain(&s, false, &o.x, x, &o.w, w, &o.y, y, 0);
        for (int64_t i = 0; i < elements(&o.y); i++) {
            y[i] = alpha1 * y[i] + alpha2 * zv[i] + b[i / 63 % s.k];
            if (is_relu && y[i] < 0)
                y[i] = 0;
        }
        need(cudnnSetActivationDescriptor(
            act, is_relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
            CUDNN_NOT_PROPAGATE_NAN, 0));
        works(cudnnConvolutionBiasActivationForward(
            handle, &alpha1, o.x.desc, o.x.at, o.w.filter, o.w.at, desc,
            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, NULL, 0, &alpha2, z.desc, z.at,
            bias.desc, bias.at, act, o.y.desc, o.y.at));
        cudaDeviceSynchronize();
        ok(is_near(&o.y, y, 0), "%d images of %s with bias, z and %s", s.n, layout_names[layout],
           is_relu ? "relu" : "nothing");
        fails(cudnnConvolutionBiasActivationForward(
                  handle, &alpha1, o.x.desc, o.x.at, o.w.filter, o.w.at, desc,
                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, NULL, 0, &zero, z.desc, z.at,
                  o.x.desc, bias.at, act, o.y.desc, o.y.at),
              BAD_PARAM);
        free(x);
        free(w);
        free(y);
        free(zv);
        free(b);
        cudnnDestroyConvolutionDescriptor(desc);
        tensor_free(&z);
        tensor_free(&bias);
        operands_free(&o);
    }
    cudnnDestroyActivationDescriptor(act);
}

static void test_queries(void)
{
    static const struct shape s = {2, 2, 4, 6, 2, {11, 10}, {3, 2}, {2, 0}, {2, 3}, {1, 2}};
    struct operands o = operands_of(&s, CUDNN_DATA_FLOAT, NCHW, NCHW, NCHW);
    cudnnConvolutionDescriptor_t desc = conv_desc(&s, true, CUDNN_DATA_FLOAT);
    int n, c, h, w, pad[2], stride[2], dilation[2], length, count, groups;
    cudnnConvolutionFwdAlgoPerf_t perf[9];
    cudnnConvolutionBwdDataAlgoPerf_t data[9];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[9];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t type;
    cudnnMathType_t math;
    size_t size_B = 77;

    works(cudnnGetConvolution2dForwardOutputDim(desc, o.x.desc, o.w.filter, &n, &c, &h, &w));
    ok(n == 2 && c == 6 && h == conv_out(&s, 0) && w == conv_out(&s, 1), "the size of the output");
    works(cudnnGetConvolutionNdDescriptor(desc, 2, &length, pad, stride, dilation, &mode, &type));
    ok(length == 2 && pad[0] == 2 && stride[1] == 3 && dilation[1] == 2 &&
           mode == CUDNN_CONVOLUTION && type == CUDNN_DATA_FLOAT,
       "the descriptor as it was set");
    works(cudnnSetConvolutionMathType(desc, CUDNN_TENSOR_OP_MATH));
    works(cudnnGetConvolutionMathType(desc, &math));
    works(cudnnGetConvolutionGroupCount(desc, &groups));
    ok(math == CUDNN_TENSOR_OP_MATH && groups == 2, "math and groups");

    works(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &count));
    eq_u64(count, CUDNN_CONVOLUTION_FWD_ALGO_COUNT, "so many algorithms");
    works(cudnnGetConvolutionForwardAlgorithm_v7(handle, o.x.desc, o.w.filter, desc, o.y.desc, 9,
                                                 &n, perf));
    ok(n == count && perf[0].algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
           !perf[0].status && perf[0].memory == 0 && perf[0].determinism == CUDNN_DETERMINISTIC &&
           perf[0].mathType == CUDNN_TENSOR_OP_MATH && perf[n - 1].status,
       "the best comes first");
    works(cudnnFindConvolutionForwardAlgorithm(handle, o.x.desc, o.w.filter, desc, o.y.desc, 1, &n,
                                               perf));
    ok(n == 1 && !perf[0].status && perf[0].time >= 0, "measured");
    works(cudnnGetConvolutionForwardWorkspaceSize(handle, o.x.desc, o.w.filter, desc, o.y.desc,
                                                  perf[0].algo, &size_B));
    eq_u64(size_B, 0, "no workspace");
    works(cudnnFindConvolutionBackwardDataAlgorithmEx(handle, o.w.filter, o.w.at, o.y.desc, o.y.at,
                                                      desc, o.x.desc, o.x.at, 9, &n, data, NULL,
                                                      0));
    ok(n == CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT && !data[0].status && data[0].time >= 0, "data");
    works(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, o.x.desc, o.x.at, o.y.desc, o.y.at,
                                                        desc, o.w.filter, o.w.at, 2, &n, filter,
                                                        NULL, 0));
    ok(n == 2 && !filter[0].status && filter[0].time >= 0, "filter");

    fails(cudnnConvolutionForward(NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  CUDNN_CONVOLUTION_FWD_ALGO_GEMM, NULL, 0, NULL, NULL, NULL),
          BAD_PARAM_NULL_POINTER);
    float one = 1, zero = 0;
    fails(cudnnConvolutionForward(handle, &one, o.x.desc, o.x.at, o.w.filter, o.w.at, desc,
                                  CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, NULL, 0, &zero, o.y.desc,
                                  o.y.at),
          NOT_SUPPORTED);
    fails(cudnnConvolutionForward(handle, &one, o.x.desc, o.x.at, o.w.filter, o.w.at, desc,
                                  CUDNN_CONVOLUTION_FWD_ALGO_GEMM, NULL, 0, &zero, o.x.desc,
                                  o.y.at),
          BAD_PARAM_SHAPE_MISMATCH);
    works(cudnnSetConvolutionGroupCount(desc, 1));
    fails(cudnnConvolutionForward(handle, &one, o.x.desc, o.x.at, o.w.filter, o.w.at, desc,
                                  CUDNN_CONVOLUTION_FWD_ALGO_GEMM, NULL, 0, &zero, o.y.desc,
                                  o.y.at),
          BAD_PARAM);
    struct tensor h16 = tensor_of(CUDNN_DATA_HALF, NCHW, 4, o.y.dims);
    works(cudnnSetConvolutionGroupCount(desc, 2));
    fails(cudnnConvolutionForward(handle, &one, o.x.desc, o.x.at, o.w.filter, o.w.at, desc,
                                  CUDNN_CONVOLUTION_FWD_ALGO_GEMM, NULL, 0, &zero, h16.desc,
                                  h16.at),
          NOT_SUPPORTED_DATA_TYPE);
    fails(cudnnSetConvolution2dDescriptor(desc, 0, 0, 0, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT),
          BAD_PARAM);
    fails(cudnnSetConvolutionGroupCount(desc, 0), BAD_PARAM);
    tensor_free(&h16);
    cudnnDestroyConvolutionDescriptor(desc);
    operands_free(&o);
}

/* A captured graph computes with what its tensors have when it runs. */
static void test_graph(void)
{
    static const struct shape s = {2, 2, 6, 10, 1, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
    struct operands o = operands_of(&s, CUDNN_DATA_FLOAT, NCHW, NCHW, NCHW);
    cudnnConvolutionDescriptor_t desc = conv_desc(&s, false, CUDNN_DATA_FLOAT);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    fill_whole(&o.w, 2);
    cudaStreamCreate(&stream);
    works(cudnnSetStream(handle, stream));
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    works(run(&o, desc, 0, 1, 0));
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 2; i++) {
        fill_whole(&o.x, 2);
        double *x = values_of(&o.x), *w = values_of(&o.w),
               *y = calloc((size_t)elements(&o.y), sizeof(*y));
        plain(&s, false, &o.x, x, &o.w, w, &o.y, y, 0);
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        ok(is_near(&o.y, y, 0), "launch %d of the graph", i);
        free(x);
        free(w);
        free(y);
    }
    works(cudnnSetStream(handle, NULL));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudnnDestroyConvolutionDescriptor(desc);
    operands_free(&o);
}

int main(void)
{
    need(cudnnCreate(&handle));
    test_shapes();
    test_types();
    test_bytes();
    test_fused();
    test_queries();
    test_graph();
    need(cudnnDestroy(handle));
    return done();
}
