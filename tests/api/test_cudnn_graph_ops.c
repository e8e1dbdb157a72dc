/* cuDNN's backend by both engines: products, convolutions, norms, attention, blocks. */
#include "cudnn_graph_fixture.h"

/* ---- products of matrices */

/* Of a [batch, m, k] and b [batch of b, k, n], which stands for several of a's. */
static void product(const struct gt *a, const struct gt *b, double *c)
{
    int64_t r = a->rank, m = a->dims[r - 2], k = a->dims[r - 1], n = b->dims[r - 1];
    int64_t batches = a->n / m / k, of_b = b->n / k / n;

    for (int64_t z = 0; z < batches; z++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += got(a, (z * m + i) * k + l) *
                           got(b, (z / (batches / of_b) * k + l) * n + j);
                c[(z * m + i) * n + j] = sum;
            }
}

static void test_products(void)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT,    CUDNN_DATA_HALF,
                                            CUDNN_DATA_BFLOAT16, CUDNN_DATA_DOUBLE,
                                            CUDNN_DATA_INT8,     CUDNN_DATA_FP8_E4M3};
    double *expected = calloc(70000, sizeof(double));

    for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
        for (int turned = 0; turned < 4; turned++) {
            cudnnDataType_t to = types[t] == CUDNN_DATA_INT8     ? CUDNN_DATA_INT32
                                 : types[t] == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE
                                                                 : CUDNN_DATA_FLOAT;
            int64_t m = 37, k = 300, n = 70;
            int64_t sa[4] = {4 * m * k, m * k, turned & 1 ? 1 : k, turned & 1 ? m : 1};
            int64_t sb[4] = {2 * n * k, n * k, turned & 2 ? 1 : n, turned & 2 ? k : 1};
            struct gt *a = filled(gt_of(types[t], ROWS, DIMS(2, 4, m, k), sa));
            struct gt *b = filled(gt_of(types[t], ROWS, DIMS(2, 2, k, n), sb));
            struct gt *c = gt_of(to, turned == 2 ? CHANNELS_LAST : ROWS, DIMS(2, 4, m, n), NULL);
            op_matmul(a, b, c);
            product(a, b, expected);
            run(turned % 2);
            expect(c, expected, to == CUDNN_DATA_FLOAT ? 3e-5 : 1e-12, "a batch of products");
            clear();
        }
    free(expected);
}

/* relu(|a| b + bias) in half, its largest element, and the mask of what was cut: one kernel. */
static void test_epilogue(void)
{
    struct gt *a = filled(TENSOR(FLOAT, ROWS, 3, 50, 65)),
              *b = filled(TENSOR(HALF, ROWS, 3, 65, 300));
    struct gt *bias = filled(TENSOR(FLOAT, ROWS, 1, 1, 300)),
              *abs_a = TENSOR(FLOAT, VIRTUAL, 3, 50, 65);
    struct gt *v[3] = {TENSOR(FLOAT, VIRTUAL, 3, 50, 300), TENSOR(FLOAT, VIRTUAL, 3, 50, 300),
                       NULL};
    struct gt *y = TENSOR(HALF, ROWS, 3, 50, 300), *mask = TENSOR(BOOLEAN, ROWS, 3, 50, 300);
    struct gt *most = TENSOR(FLOAT, ROWS, 1, 1, 1), *zero = TENSOR(FLOAT, VALUE, 1, 1, 1);
    double *expected = calloc(45000, sizeof(double)), *cut = calloc(45000, sizeof(double)), top = 0;
    desc_t plan;

    op_pointwise(CUDNN_POINTWISE_ABS, a, NULL, NULL, abs_a);
    op_matmul(abs_a, b, v[0]);
    op_pointwise(CUDNN_POINTWISE_ADD, v[0], bias, NULL, v[1]);
    op_pointwise(CUDNN_POINTWISE_RELU_FWD, v[1], NULL, NULL, y);
    op_pointwise(CUDNN_POINTWISE_CMP_GT, v[1], zero, NULL, mask);
    need(plan_of(0, &plan));
    eq_u64((uint64_t)workspace_of(plan), 0, "nothing is kept between operations");
    for (int64_t i = 0; i < a->n; i++)
        give(a, i, got(a, i));
    for (int64_t z = 0; z < 3; z++)
        for (int64_t i = 0; i < 50; i++)
            for (int64_t j = 0; j < 300; j++) {
                double sum = got(bias, j);
                for (int64_t l = 0; l < 65; l++)
                    sum += fabs(got(a, (z * 50 + i) * 65 + l)) * got(b, (z * 65 + l) * 300 + j);
                expected[(z * 50 + i) * 300 + j] = fmax(sum, 0);
                cut[(z * 50 + i) * 300 + j] = fabs(sum) < 1e-4 ? -1 : sum > 0;
                top = fmax(top, sum);
            }
    for (int engine = 0; engine < 2; engine++) {
        run(engine);
        expect(y, expected, 1e-3, "a product with what follows it");
        for (int64_t i = 0; i < mask->n; i++)
            if (cut[i] < 0)
                cut[i] = got(mask, i);
        expect(mask, cut, 0, "and its mask");
    }
    op_reduce(CUDNN_REDUCE_TENSOR_MAX, v[1], most);
    for (int engine = 0; engine < 2; engine++) {
        run(engine);
        expect(most, &top, 1e-5, "and the largest element, which is another kernel");
        expect(y, expected, 1e-3, "beside the product");
    }
    free(expected);
    free(cut);
    clear();
}

/* Only so many rows, columns and elements of k as there are in each batch. */
static void test_limits(void)
{
    struct gt *a = filled(TENSOR(FLOAT, ROWS, 2, 3, 9, 20)),
              *b = filled(TENSOR(FLOAT, ROWS, 2, 3, 20, 11));
    struct gt *c = TENSOR(FLOAT, ROWS, 2, 3, 9, 11);
    struct gt *limits[3];
    const int of[3][2] = {{9, 4}, {5, 11}, {20, 7}};
    double expected[2 * 3 * 9 * 11];
    desc_t m = new_desc(D(MATMUL)), op = new_desc(D(OPERATION_MATMUL));

    for (int i = 0; i < 3; i++) {
        limits[i] = TENSOR(INT32, ROWS, 2, 1, 1, 1);
        for (int z = 0; z < 2; z++)
            give(limits[i], z, of[i][z]);
    }
    set_enum(m, A(MATMUL_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    set_real(m, A(MATMUL_PADDING_VALUE), -3);
    need(cudnnBackendFinalize(m));
    set_desc(op, A(OPERATION_MATMUL_DESC), m);
    op_end(op_tensors(op, A(OPERATION_MATMUL_ADESC), a, A(OPERATION_MATMUL_BDESC), b,
                      A(OPERATION_MATMUL_CDESC), c, A(OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC),
                      limits[0], A(OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC), limits[1],
                      A(OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC), limits[2], -1));
    for (int64_t i = 0; i < c->n; i++) {
        int64_t z = i / 297, h = i / 99, r = i / 11 % 9, j = i % 11;
        expected[i] = r < of[0][z] && j < of[1][z] ? 0 : -3;
        for (int64_t l = 0; expected[i] != -3 && l < of[2][z]; l++)
            ;
        if (expected[i] != -3)
            for (int64_t l = 0; l < of[2][z]; l++)
                expected[i] += got(a, (h * 9 + r) * 20 + l) * got(b, (h * 20 + l) * 11 + j);
    }
    run(0);
    expect(c, expected, 1e-5, "products of parts of matrices");
    clear();
}

static void test_complex(void)
{
    struct gt *a = gt_of(CUDNN_DATA_COMPLEX_FP32, ROWS, DIMS(2, 5, 7), NULL);
    struct gt *b = gt_of(CUDNN_DATA_COMPLEX_FP32, ROWS, DIMS(2, 7, 6), NULL);
    struct gt *c = gt_of(CUDNN_DATA_COMPLEX_FP32, ROWS, DIMS(2, 5, 6), NULL);
    const float *x = a->at, *y = b->at, *z = c->at;
    double worst = 0;

    for (int i = 0; i < 140; i++)
        ((float *)a->at)[i] = (float)real_number();
    for (int i = 0; i < 168; i++)
        ((float *)b->at)[i] = (float)real_number();
    op_matmul(a, b, c);
    run(0);
    for (int q = 0; q < 2; q++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 6; j++) {
                double re = 0, im = 0;
                for (int l = 0; l < 7; l++) {
                    const float *p = x + 2 * ((q * 5 + i) * 7 + l),
                                *r = y + 2 * ((q * 7 + l) * 6 + j);
                    re += (double)p[0] * (double)r[0] - (double)p[1] * (double)r[1];
                    im += (double)p[0] * (double)r[1] + (double)p[1] * (double)r[0];
                }
                const float *to = z + 2 * ((q * 5 + i) * 6 + j);
                worst = fmax(worst, fmax(fabs((double)to[0] - re), fabs((double)to[1] - im)));
            }
    ok(worst < 1e-5, "products of complex matrices are %g off", worst);
    clear();
}

/* Rows of three experts' in turns, by their matrices; and the matrices' gradients. */
static void test_groups(void)
{
    struct gt *x = filled(TENSOR(HALF, ROWS, 1, 200, 33)),
              *w = filled(gt_of(CUDNN_DATA_HALF, ROWS, DIMS(3, 33, 40), (int64_t[]){1320, 1, 33}));
    struct gt *first = TENSOR(INT32, ROWS, 6, 1, 1), *y = TENSOR(FLOAT, ROWS, 1, 200, 40);
    const int begin[7] = {0, 10, 10, 150, 160, 190, 200};
    double *expected = calloc(8000, sizeof(double)), *dw = calloc(3960, sizeof(double));
    desc_t op = new_desc(D(OPERATION_MOE_GROUPED_MATMUL));

    for (int i = 0; i < 6; i++)
        give(first, i, begin[i]);
    set_enum(op, A(OPERATION_MOE_GROUPED_MATMUL_MODE), CUDNN_TYPE_MOE_GROUPED_MATMUL_MODE, 0);
    op_end(op_tensors(op, A(OPERATION_MOE_GROUPED_MATMUL_TOKEN_DESC), x,
                      A(OPERATION_MOE_GROUPED_MATMUL_WEIGHT_DESC), w,
                      A(OPERATION_MOE_GROUPED_MATMUL_FIRST_TOKEN_OFFSET_DESC), first,
                      A(OPERATION_MOE_GROUPED_MATMUL_OUTPUT_DESC), y, -1));
    for (int q = 0; q < 6; q++)
        for (int r = begin[q]; r < begin[q + 1]; r++)
            for (int j = 0; j < 40; j++)
                for (int l = 0; l < 33; l++)
                    expected[r * 40 + j] += got(x, r * 33 + l) * got(w, (q % 3 * 33 + l) * 40 + j);
    run(0);
    expect(y, expected, 1e-5, "rows of groups");
    g.nops = 0;
    struct gt *dy = filled(TENSOR(FLOAT, ROWS, 1, 200, 40)), *to = TENSOR(FLOAT, ROWS, 3, 33, 40);
    op_end(op_tensors(new_desc(D(OPERATION_MOE_GROUPED_MATMUL_BWD)),
                      A(OPERATION_MOE_GROUPED_MATMUL_BWD_TOKEN_DESC), x,
                      A(OPERATION_MOE_GROUPED_MATMUL_BWD_DOUTPUT_DESC), dy,
                      A(OPERATION_MOE_GROUPED_MATMUL_BWD_FIRST_TOKEN_OFFSET_DESC), first,
                      A(OPERATION_MOE_GROUPED_MATMUL_BWD_DWEIGHT_DESC), to, -1));
    for (int q = 0; q < 6; q++)
        for (int r = begin[q]; r < begin[q + 1]; r++)
            for (int l = 0; l < 33; l++)
                for (int j = 0; j < 40; j++)
                    dw[(q % 3 * 33 + l) * 40 + j] += got(x, r * 33 + l) * got(dy, r * 40 + j);
    run(1);
    expect(to, dw, 1e-5, "gradients of groups' matrices");
    free(expected);
    free(dw);
    clear();
}

/* ---- convolutions */

static desc_t conv_desc(int64_t pad, int64_t stride)
{
    desc_t c = new_desc(D(CONVOLUTION));
    const int64_t pads[2] = {pad, pad}, strides[2] = {stride, stride}, ones[2] = {1, 1};

    set_enum(c, A(CONVOLUTION_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    set_enum(c, A(CONVOLUTION_CONV_MODE), CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    set_whole(c, A(CONVOLUTION_SPATIAL_DIMS), 2);
    set(c, A(CONVOLUTION_PRE_PADDINGS), CUDNN_TYPE_INT64, 2, pads);
    set(c, A(CONVOLUTION_POST_PADDINGS), CUDNN_TYPE_INT64, 2, pads);
    set(c, A(CONVOLUTION_FILTER_STRIDES), CUDNN_TYPE_INT64, 2, strides);
    set(c, A(CONVOLUTION_DILATIONS), CUDNN_TYPE_INT64, 2, ones);
    need(cudnnBackendFinalize(c));
    return c;
}

enum { CN = 2, CC = 6, CH = 9, CK = 8, CP = 5 }; /* 9 x 9 by 3 x 3, pad 1, stride 2: 5 x 5 */

/* Calls `each` with the indices of every product of a convolution. */
#define EACH_PRODUCT(...)                                                                          \
    for (int n = 0; n < CN; n++)                                                                   \
        for (int k = 0; k < CK; k++)                                                               \
            for (int c = 0; c < CC; c++)                                                           \
                for (int p = 0; p < CP * CP; p++)                                                  \
                    for (int r = 0; r < 9; r++) {                                                  \
                        int h_ = p / CP * 2 - 1 + r / 3, w_ = p % CP * 2 - 1 + r % 3;              \
                        if (h_ < 0 || h_ >= CH || w_ < 0 || w_ >= CH)                              \
                            continue;                                                              \
                        int64_t ix = ((int64_t)(n * CC + c) * CH + h_) * CH + w_;                  \
                        int64_t iw = (int64_t)(k * CC + c) * 9 + r;                                \
                        int64_t iy = (int64_t)(n * CK + k) * CP * CP + p;                          \
                        __VA_ARGS__                                                                \
                    }

static void test_convolutions(void)
{
    struct gt *x = filled(TENSOR(FLOAT, CHANNELS_LAST, CN, CC, CH, CH));
    struct gt *w = filled(TENSOR(FLOAT, CHANNELS_LAST, CK, CC, 3, 3));
    struct gt *bias = filled(TENSOR(FLOAT, ROWS, 1, CK, 1, 1)),
              *y = TENSOR(FLOAT, CHANNELS_LAST, CN, CK, CP, CP);
    struct gt *v[2] = {gt_of(CUDNN_DATA_FLOAT, VIRTUAL, DIMS(CN, CK, CP, CP), y->strides),
                       gt_of(CUDNN_DATA_FLOAT, VIRTUAL, DIMS(CN, CK, CP, CP), y->strides)};
    double *expected = calloc(4000, sizeof(double));
    desc_t op = new_desc(D(OPERATION_CONVOLUTION_FORWARD)), conv = conv_desc(1, 2);

    set_desc(op, A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC), conv);
    op_end(op_tensors(op, A(OPERATION_CONVOLUTION_FORWARD_X), x, A(OPERATION_CONVOLUTION_FORWARD_W),
                      w, A(OPERATION_CONVOLUTION_FORWARD_Y), v[0], -1));
    op_pointwise(CUDNN_POINTWISE_ADD, v[0], bias, NULL, v[1]);
    op_pointwise(CUDNN_POINTWISE_RELU_FWD, v[1], NULL, NULL, y);
    EACH_PRODUCT(expected[iy] += got(x, ix) * got(w, iw);)
    for (int64_t i = 0; i < y->n; i++)
        expected[i] = fmax(expected[i] + got(bias, i / (CP * CP) % CK), 0);
    for (int engine = 0; engine < 2; engine++) {
        run(engine);
        expect(y, expected, 1e-5, "relu of a convolution and a bias");
    }
    struct gt *dy = filled(TENSOR(FLOAT, ROWS, CN, CK, CP, CP)),
              *dx = TENSOR(FLOAT, ROWS, CN, CC, CH, CH);
    g.nops = 0;
    op = new_desc(D(OPERATION_CONVOLUTION_BACKWARD_DATA));
    set_desc(op, A(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), conv);
    op_end(op_tensors(op, A(OPERATION_CONVOLUTION_BWD_DATA_DX), dx,
                      A(OPERATION_CONVOLUTION_BWD_DATA_W), w, A(OPERATION_CONVOLUTION_BWD_DATA_DY),
                      dy, -1));
    memset(expected, 0, 4000 * sizeof(double));
    EACH_PRODUCT(expected[ix] += got(dy, iy) * got(w, iw);)
    run(0);
    expect(dx, expected, 1e-5, "the gradient by a convolution's data");
    struct gt *dw = TENSOR(FLOAT, CHANNELS_LAST, CK, CC, 3, 3);
    g.nops = 0;
    op = new_desc(D(OPERATION_CONVOLUTION_BACKWARD_FILTER));
    set_desc(op, A(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), conv);
    op_end(op_tensors(op, A(OPERATION_CONVOLUTION_BWD_FILTER_X), x,
                      A(OPERATION_CONVOLUTION_BWD_FILTER_DW), dw,
                      A(OPERATION_CONVOLUTION_BWD_FILTER_DY), dy, -1));
    memset(expected, 0, 4000 * sizeof(double));
    EACH_PRODUCT(expected[iw] += got(dy, iy) * got(x, ix);)
    run(1);
    expect(dw, expected, 1e-5, "the gradient by a convolution's filter");
    op = new_desc(D(OPERATION_CONVOLUTION_FORWARD));
    set_desc(op, A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC), conv);
    (void)op_tensors(op, A(OPERATION_CONVOLUTION_FORWARD_X), x, A(OPERATION_CONVOLUTION_FORWARD_W),
                     w, A(OPERATION_CONVOLUTION_FORWARD_Y), x, -1);
    eq_u64(cudnnBackendFinalize(op), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
           "a result of another size");
    free(expected);
    clear();
}

/* ---- windows */

static void test_windows(void)
{
    const cudnnFraction_t two[2] = {{2, 1}, {2, 1}}, three[2] = {{3, 1}, {3, 1}},
                          one[2] = {{1, 1}, {1, 1}};

    for (int mode = CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
         mode <= CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING; mode++) {
        struct gt *x = filled(TENSOR(FLOAT, CHANNELS_LAST, 2, 3, 7, 7)),
                  *y = TENSOR(FLOAT, ROWS, 2, 3, 4, 4);
        struct gt *index = TENSOR(INT8, ROWS, 2, 3, 4, 4), *dx = TENSOR(FLOAT, ROWS, 2, 3, 7, 7);
        bool is_max = mode == CUDNN_RESAMPLE_MAXPOOL;
        double expected[96], gradient[294] = {0}, which[96];
        desc_t r = new_desc(D(RESAMPLE)), op = new_desc(D(OPERATION_RESAMPLE_FWD));
        set_enum(r, A(RESAMPLE_MODE), CUDNN_TYPE_RESAMPLE_MODE, mode);
        set_enum(r, A(RESAMPLE_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
        set_enum(r, A(RESAMPLE_PADDING_MODE), CUDNN_TYPE_PADDING_MODE,
                 is_max ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD);
        set_whole(r, A(RESAMPLE_SPATIAL_DIMS), 2);
        set(r, A(RESAMPLE_WINDOW_DIMS), CUDNN_TYPE_FRACTION, 2, three);
        set(r, A(RESAMPLE_STRIDES), CUDNN_TYPE_FRACTION, 2, two);
        set(r, A(RESAMPLE_PRE_PADDINGS), CUDNN_TYPE_FRACTION, 2, one);
        set(r, A(RESAMPLE_POST_PADDINGS), CUDNN_TYPE_FRACTION, 2, one);
        need(cudnnBackendFinalize(r));
        set_desc(op, A(OPERATION_RESAMPLE_FWD_DESC), r);
        op_end(op_tensors(op, A(OPERATION_RESAMPLE_FWD_XDESC), x, A(OPERATION_RESAMPLE_FWD_YDESC),
                          y, A(OPERATION_RESAMPLE_FWD_IDXDESC), is_max ? index : NULL, -1));
        for (int64_t i = 0; i < 96; i++) {
            double sum = 0, most = -1e9;
            int64_t count = 0, at = 0;
            for (int64_t w = 0; w < 9; w++) {
                int64_t a = i / 4 % 4 * 2 - 1 + w / 3, b = i % 4 * 2 - 1 + w % 3;
                if (a < 0 || a > 6 || b < 0 || b > 6)
                    continue;
                double v = got(x, i / 16 * 49 + a * 7 + b);
                count++;
                sum += v;
                at = v > most ? w : at;
                most = fmax(most, v);
            }
            which[i] = (double)at;
            expected[i] =
                is_max ? most
                       : sum / (mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ? 9 : (double)count);
        }
        run(0);
        expect(y, expected, 1e-6, "pooled");
        if (is_max)
            expect(index, which, 0, "where maxima are");
        g.nops = 0;
        struct gt *dy = filled(TENSOR(FLOAT, ROWS, 2, 3, 4, 4));
        op = new_desc(D(OPERATION_RESAMPLE_BWD));
        set_desc(op, A(OPERATION_RESAMPLE_BWD_DESC), r);
        op_end(op_tensors(op, A(OPERATION_RESAMPLE_BWD_DXDESC), dx,
                          A(OPERATION_RESAMPLE_BWD_DYDESC), dy, A(OPERATION_RESAMPLE_BWD_IDXDESC),
                          is_max ? index : NULL, -1));
        for (int64_t i = 0; i < 96; i++) {
            int64_t count = 0;
            for (int pass = 0; pass < 2; pass++)
                for (int64_t w = 0; w < 9; w++) {
                    int64_t a = i / 4 % 4 * 2 - 1 + w / 3, b = i % 4 * 2 - 1 + w % 3;
                    if (a < 0 || a > 6 || b < 0 || b > 6)
                        continue;
                    count += !pass;
                    double part = is_max ? (double)(which[i] == (double)w)
                                         : 1 / (mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING
                                                    ? 9
                                                    : (double)count);
                    if (pass)
                        gradient[i / 16 * 49 + a * 7 + b] += part * got(dy, i);
                }
        }
        run(1);
        expect(dx, gradient, 1e-6, "the gradient of pooling");
        clear();
    }
}

/* ---- norms */

enum { NB = 4, NC = 6, NS = 12 };

/* Of group q the elements: which group x[i] is in. */
static int64_t group_of(cudnnBackendNormMode_t mode, int64_t i)
{
    return mode == CUDNN_INSTANCE_NORM ? i / NS
           : mode == CUDNN_BATCH_NORM  ? i / NS % NC
                                       : i / (NC * NS);
}

static void test_norms(void)
{
    static const cudnnBackendNormMode_t modes[] = {CUDNN_LAYER_NORM, CUDNN_RMS_NORM,
                                                   CUDNN_INSTANCE_NORM, CUDNN_BATCH_NORM};

    for (size_t m = 0; m < 4; m++) {
        bool rows = m < 2, rms = modes[m] == CUDNN_RMS_NORM, batch = modes[m] == CUDNN_BATCH_NORM;
        const int64_t of_stats[4] = {batch ? 1 : NB, rows ? 1 : NC, 1, 1};
        const int64_t of_scale[4] = {1, NC, rows ? 3 : 1, rows ? 4 : 1};
        struct gt *x = filled(TENSOR(FLOAT, m % 2 ? ROWS : CHANNELS_LAST, NB, NC, 3, 4)),
                  *y = TENSOR(HALF, ROWS, NB, NC, 3, 4);
        struct gt *scale = filled(gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_scale, NULL));
        struct gt *bias = filled(gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_scale, NULL));
        struct gt *mean = gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_stats, NULL);
        struct gt *inverse = gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_stats, NULL);
        struct gt *running[4], *dy = filled(TENSOR(FLOAT, ROWS, NB, NC, 3, 4)),
                               *dx = TENSOR(FLOAT, ROWS, NB, NC, 3, 4);
        struct gt *dscale = gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_scale, NULL);
        struct gt *dbias = gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_scale, NULL);
        double sums[32] = {0}, squares[32] = {0}, means[32], inverses[32], out[288], old[2][8];
        double along[32] = {0}, level[32] = {0}, ds[80] = {0}, db[80] = {0}, gradient[288];
        int64_t groups = mean->n;
        double n = (double)(x->n / groups);
        desc_t op = new_desc(D(OPERATION_NORM_FORWARD));
        set_enum(op, A(OPERATION_NORM_FWD_MODE), CUDNN_TYPE_NORM_MODE, modes[m]);
        set_enum(op, A(OPERATION_NORM_FWD_PHASE), CUDNN_TYPE_NORM_FWD_PHASE,
                 CUDNN_NORM_FWD_TRAINING);
        (void)op_tensors(op, A(OPERATION_NORM_FWD_XDESC), x, A(OPERATION_NORM_FWD_YDESC), y,
                         A(OPERATION_NORM_FWD_SCALE_DESC), scale, A(OPERATION_NORM_FWD_BIAS_DESC),
                         rms ? NULL : bias, A(OPERATION_NORM_FWD_MEAN_DESC), rms ? NULL : mean,
                         A(OPERATION_NORM_FWD_INV_VARIANCE_DESC), inverse,
                         A(OPERATION_NORM_FWD_EPSILON_DESC), number(0.125), -1);
        for (int i = 0; batch && i < 4; i++) {
            running[i] = filled(gt_of(CUDNN_DATA_FLOAT, ROWS, 4, of_stats, NULL));
            for (int64_t j = 0; i < 2 && j < groups; j++)
                old[i][j] = got(running[i], j);
        }
        if (batch)
            (void)op_tensors(op, A(OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC), running[0],
                             A(OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC), running[1],
                             A(OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC), running[2],
                             A(OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC), running[3],
                             A(OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC), number(0.25),
                             A(OPERATION_NORM_FWD_PEER_STAT_DESCS),
                             TENSOR(FLOAT, ROWS, 2, 4 * NC, 1, 1), -1); /* one peer: this device */
        op_end(op);
        for (int64_t i = 0; i < x->n; i++)
            sums[group_of(modes[m], i)] += got(x, i);
        for (int64_t q = 0; q < groups; q++)
            means[q] = rms ? 0 : sums[q] / n;
        for (int64_t i = 0; i < x->n; i++)
            squares[group_of(modes[m], i)] += pow(got(x, i) - means[group_of(modes[m], i)], 2);
        for (int64_t q = 0; q < groups; q++)
            inverses[q] = 1 / sqrt(squares[q] / n + 0.125);
        for (int64_t i = 0; i < x->n; i++) {
            int64_t q = group_of(modes[m], i), s = rows ? i % (NC * NS) : i / NS % NC;
            double normal = (got(x, i) - means[q]) * inverses[q];
            out[i] = normal * got(scale, s) + (rms ? 0 : got(bias, s));
            along[q] += got(dy, i) * got(scale, s) * normal / n;
            level[q] += rms ? 0 : got(dy, i) * got(scale, s) / n;
            ds[s] += got(dy, i) * normal;
            db[s] += got(dy, i);
        }
        for (int64_t i = 0; i < x->n; i++) {
            int64_t q = group_of(modes[m], i), s = rows ? i % (NC * NS) : i / NS % NC;
            double normal = (got(x, i) - means[q]) * inverses[q];
            gradient[i] = inverses[q] * (got(dy, i) * got(scale, s) - level[q] - normal * along[q]);
        }
        for (int engine = 0; engine < 2; engine++) {
            run(engine);
            expect(y, out, 1e-3, "a norm");
            if (!rms)
                expect(mean, means, 1e-5, "its means");
            expect(inverse, inverses, 1e-5, "its variances' inverse roots");
            for (int64_t q = 0; batch && q < groups; q++) {
                means[q + 8] = 0.75 * old[0][q] + 0.25 * means[q];
                inverses[q + 8] = 0.75 * old[1][q] + 0.25 * squares[q] / (n - 1);
            }
            if (batch) {
                expect(running[2], means + 8, 1e-5, "running means");
                expect(running[3], inverses + 8, 1e-5, "running variances");
            }
        }
        g.nops = 0;
        op = new_desc(D(OPERATION_NORM_BACKWARD));
        set_enum(op, A(OPERATION_NORM_BWD_MODE), CUDNN_TYPE_NORM_MODE, modes[m]);
        op_end(op_tensors(op, A(OPERATION_NORM_BWD_XDESC), x, A(OPERATION_NORM_BWD_DYDESC), dy,
                          A(OPERATION_NORM_BWD_SCALE_DESC), scale, A(OPERATION_NORM_BWD_MEAN_DESC),
                          rms ? NULL : mean, A(OPERATION_NORM_BWD_INV_VARIANCE_DESC), inverse,
                          A(OPERATION_NORM_BWD_DXDESC), dx, A(OPERATION_NORM_BWD_DSCALE_DESC),
                          dscale, A(OPERATION_NORM_BWD_DBIAS_DESC), dbias, -1));
        for (int engine = 0; engine < 2; engine++) {
            run(engine);
            expect(dx, gradient, 2e-5, "the gradient of a norm");
            expect(dscale, ds, 2e-5, "of its factors");
            expect(dbias, db, 2e-5, "of its summands");
        }
        g.nops = 0;
        op = new_desc(D(OPERATION_NORM_FORWARD));
        set_enum(op, A(OPERATION_NORM_FWD_MODE), CUDNN_TYPE_NORM_MODE, modes[m]);
        set_enum(op, A(OPERATION_NORM_FWD_PHASE), CUDNN_TYPE_NORM_FWD_PHASE,
                 CUDNN_NORM_FWD_INFERENCE);
        memset(y->at, 0, (size_t)y->span * 2);
        op_end(op_tensors(op, A(OPERATION_NORM_FWD_XDESC), x, A(OPERATION_NORM_FWD_YDESC), y,
                          A(OPERATION_NORM_FWD_SCALE_DESC), scale, A(OPERATION_NORM_FWD_BIAS_DESC),
                          rms ? NULL : bias, A(OPERATION_NORM_FWD_EPSILON_DESC), number(0.125),
                          batch ? (int)A(OPERATION_NORM_FWD_MEAN_DESC) : -1, mean,
                          A(OPERATION_NORM_FWD_INV_VARIANCE_DESC), inverse, -1));
        run(0);
        expect(y, out, 1e-3, "a norm for inference");
        clear();
    }
    struct gt *x = TENSOR(FLOAT, ROWS, NB, NC, 3, 4), *peer = TENSOR(FLOAT, ROWS, 2, NC, 1, 1);
    struct gt *y = TENSOR(FLOAT, ROWS, NB, NC, 3, 4);
    desc_t op = new_desc(D(OPERATION_NORM_FORWARD)), plan;
    set_enum(op, A(OPERATION_NORM_FWD_MODE), CUDNN_TYPE_NORM_MODE, CUDNN_BATCH_NORM);
    set_enum(op, A(OPERATION_NORM_FWD_PHASE), CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING);
    set(op, A(OPERATION_NORM_FWD_PEER_STAT_DESCS), CUDNN_TYPE_BACKEND_DESCRIPTOR, 2,
        (desc_t[]){peer->desc, peer->desc});
    op_end(op_tensors(op, A(OPERATION_NORM_FWD_XDESC), x, A(OPERATION_NORM_FWD_YDESC), y,
                      A(OPERATION_NORM_FWD_EPSILON_DESC), number(1), -1));
    eq_u64(plan_of(0, &plan), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "norms across devices");
    char text[200];
    cudnnGetLastErrorString(text, sizeof(text));
    ok(strstr(text, "CUDNN_ATTR_OPERATION_NORM_FWD_PEER_STAT_DESCS"), "which is told: %s", text);
    clear();
}

/* ---- attention */

enum { AB = 2, AH = 4, AKV = 2, AQ = 19, AK = 35, AD = 24, AV = 16 };

/* Rows of queries that look at keys up to `lengths` and, if causal, to their own index. */
static void attention(const struct gt *q, const struct gt *k, const struct gt *v,
                      const int *lengths, bool is_causal, double scale, double *o, double *stats)
{
    for (int z = 0; z < AB * AH; z++)
        for (int i = 0; i < AQ; i++) {
            int kv = z / AH * AKV + z % AH / (AH / AKV);
            double s[AK], most = -INFINITY, sum = 0;
            for (int j = 0; j < AK; j++) {
                s[j] = 0;
                for (int d = 0; d < AD; d++)
                    s[j] += got(q, (z * AQ + i) * AD + d) * got(k, (kv * AK + j) * AD + d);
                s[j] = j >= lengths[z / AH] || (is_causal && j > i) ? -INFINITY : s[j] * scale;
                most = fmax(most, s[j]);
            }
            for (int j = 0; j < AK; j++)
                sum += exp(s[j] - most);
            for (int d = 0; d < AV; d++) {
                double x = 0;
                for (int j = 0; j < AK; j++)
                    x += exp(s[j] - most) / sum * got(v, (kv * AK + j) * AV + d);
                o[(z * AQ + i) * AV + d] = x;
            }
            stats[z * AQ + i] = most + log(sum);
        }
}

/* Masks, of 300 queries and 1,300 keys: blocks that have a bit, a band, both. */
static void test_blocks_of_attention(void)
{
    enum { Q = 300, K = 1300, S = 8, QB = 3, KB = 2 };
    double *o = calloc((size_t)Q * S, sizeof(double)), *p = calloc(K, sizeof(double));

    for (int variant = 1; variant < 4; variant++) {
        bool has_blocks = variant & 1, has_band = variant & 2;
        struct gt *q = filled(TENSOR(FLOAT, ROWS, 1, 1, Q, S)),
                  *k = filled(TENSOR(FLOAT, ROWS, 1, 1, K, S)),
                  *v = filled(TENSOR(FLOAT, ROWS, 1, 1, K, S)),
                  *out = TENSOR(FLOAT, ROWS, 1, 1, Q, S);
        struct gt *mask = TENSOR(UINT8, ROWS, 1, 1, QB, KB), *low = number(-INFINITY);
        struct gt *scores = TENSOR(FLOAT, VIRTUAL, 1, 1, Q, K),
                  *masked = TENSOR(FLOAT, VIRTUAL, 1, 1, Q, K);
        desc_t op = new_desc(D(OPERATION_SDPA_FWD)), graph;
        for (int i = 0; i < QB * KB; i++)
            give(mask, i, (37 * i + 11) % 256);
        (void)op_tensors(op, A(OPERATION_SDPA_FWD_QDESC), q, A(OPERATION_SDPA_FWD_KDESC), k,
                         A(OPERATION_SDPA_FWD_VDESC), v, A(OPERATION_SDPA_FWD_ODESC), out,
                         A(OPERATION_SDPA_FWD_SCALEDESC), number(0.5),
                         A(OPERATION_SDPA_FWD_BLOCK_MASK_DESC), has_blocks ? mask : NULL, -1);
        desc_t softmax = new_desc(D(OPERATION_SOFTMAX));
        need(cudnnBackendFinalize(
            op_tensors(softmax, A(OPERATION_SOFTMAX_XDESC), TENSOR(FLOAT, VIRTUAL, 1, 1, Q, K),
                       A(OPERATION_SOFTMAX_YDESC), TENSOR(FLOAT, VIRTUAL, 1, 1, Q, K), -1)));
        set_desc(op, A(OPERATION_SDPA_FWD_SOFTMAX_DESC), softmax);
        if (has_band) {
            desc_t band = new_desc(D(OPERATION_DIAGONAL_BAND_MASK));
            set_enum(band, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE),
                     CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_CMP_GE);
            op_end(op_tensors(band, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), scores,
                              A(OPERATION_DIAGONAL_BAND_MASK_BDESC), low,
                              A(OPERATION_DIAGONAL_BAND_MASK_YDESC), masked, -1));
            need(graph_of(&graph));
            g.nops = 0;
            set_desc(op, A(OPERATION_SDPA_FWD_SUBGRAPH), graph);
            set_whole(op, A(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), scores->uid);
            set_whole(op, A(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), masked->uid);
        }
        op_end(op);
        for (int i = 0; i < Q; i++) {
            double sum = 0;
            for (int j = 0; j < K; j++) {
                int byte = (int)got(mask, i / 128 * KB + j / 1024);
                bool sees = (!has_blocks || byte >> j / 128 % 8 & 1) && (!has_band || j <= i);
                double x = 0;
                for (int d = 0; d < S; d++)
                    x += got(q, i * S + d) * got(k, j * S + d);
                p[j] = sees ? exp(0.5 * x) : 0;
                sum += p[j];
            }
            for (int d = 0; d < S; d++) {
                double x = 0;
                for (int j = 0; j < K; j++)
                    x += p[j] * got(v, j * S + d);
                o[i * S + d] = sum > 0 ? x / sum : 0;
            }
        }
        for (int engine = 0; engine < 2; engine++) {
            run(engine);
            expect(out, o, 2e-5, "attention with a mask");
        }
        clear();
    }
    free(o);
    free(p);
}

static void test_attention(void)
{
    double *o = calloc(AB * AH * AQ * AV, sizeof(double)), stats[AB * AH * AQ];
    const int all[AB] = {AK, AK}, lengths[AB] = {30, 7};

    for (int variant = 0; variant < 4; variant++) {
        bool is_causal = variant & 1, is_padded = variant & 2;
        struct gt *q = filled(gt_of(CUDNN_DATA_FLOAT, ROWS, DIMS(AB, AH, AQ, AD),
                                    (int64_t[]){AQ * AH * AD, AD, AH * AD, 1}));
        struct gt *k = filled(TENSOR(FLOAT, ROWS, AB, AKV, AK, AD)),
                  *v = filled(TENSOR(HALF, ROWS, AB, AKV, AK, AV));
        struct gt *out = TENSOR(FLOAT, ROWS, AB, AH, AQ, AV),
                  *st = TENSOR(FLOAT, ROWS, AB, AH, AQ, 1);
        struct gt *p = TENSOR(FLOAT, VIRTUAL, AB, AH, AQ, AK),
                  *s = TENSOR(FLOAT, VIRTUAL, AB, AH, AQ, AK);
        struct gt *masked = TENSOR(FLOAT, VIRTUAL, AB, AH, AQ, AK),
                  *scores = TENSOR(FLOAT, VIRTUAL, AB, AH, AQ, AK);
        struct gt *length = TENSOR(INT32, ROWS, AB, 1, 1, 1),
                  *rows = TENSOR(INT32, ROWS, AB, 1, 1, 1);
        struct gt *low = number(-INFINITY);
        desc_t softmax = new_desc(D(OPERATION_SOFTMAX)), op = new_desc(D(OPERATION_SDPA_FWD)),
               graph;
        for (int z = 0; z < AB; z++) {
            give(length, z, lengths[z]);
            give(rows, z, AQ);
        }
        need(cudnnBackendFinalize(op_tensors(softmax, A(OPERATION_SOFTMAX_XDESC), p,
                                             A(OPERATION_SOFTMAX_YDESC), s,
                                             A(OPERATION_SOFTMAX_STATS_DESC), st, -1)));
        (void)op_tensors(op, A(OPERATION_SDPA_FWD_QDESC), q, A(OPERATION_SDPA_FWD_KDESC), k,
                         A(OPERATION_SDPA_FWD_VDESC), v, A(OPERATION_SDPA_FWD_ODESC), out,
                         A(OPERATION_SDPA_FWD_SCALEDESC), number(0.5), -1);
        set_desc(op, A(OPERATION_SDPA_FWD_SOFTMAX_DESC), softmax);
        if (is_padded)
            (void)op_tensors(op, A(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), rows,
                             A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), length, -1);
        if (is_causal) {
            desc_t band = new_desc(D(OPERATION_DIAGONAL_BAND_MASK));
            set_enum(band, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE),
                     CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_CMP_GE);
            op_end(op_tensors(band, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), scores,
                              A(OPERATION_DIAGONAL_BAND_MASK_BDESC), low,
                              A(OPERATION_DIAGONAL_BAND_MASK_YDESC), masked, -1));
            need(graph_of(&graph));
            g.nops = 0;
            set_desc(op, A(OPERATION_SDPA_FWD_SUBGRAPH), graph);
            set_whole(op, A(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), scores->uid);
            set_whole(op, A(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), masked->uid);
        }
        op_end(op);
        attention(q, k, v, is_padded ? lengths : all, is_causal, 0.5, o, stats);
        for (int engine = 0; engine < 2; engine++) {
            run(engine);
            expect(out, o, 2e-5, "attention");
            expect(st, stats, 2e-5, "the logarithms of its sums");
        }
        clear();
    }
    free(o);
}

/* Rows that are nothing but masked become 0; a sink takes its part. */
static void test_softmax(void)
{
    struct gt *x = filled(TENSOR(FLOAT, ROWS, 1, 2, 3, 5)), *y = TENSOR(FLOAT, ROWS, 1, 2, 3, 5);
    struct gt *most = TENSOR(FLOAT, ROWS, 1, 2, 3, 1), *sum = TENSOR(FLOAT, ROWS, 1, 2, 3, 1);
    struct gt *sink = filled(TENSOR(FLOAT, ROWS, 1, 2, 1, 1));
    double expected[30], tops[6], sums[6];

    for (int i = 0; i < 5; i++)
        give(x, 5 + i, -INFINITY);
    for (int with = 0; with < 2; with++) {
        g.nops = 0;
        op_end(op_tensors(new_desc(D(OPERATION_SOFTMAX)), A(OPERATION_SOFTMAX_XDESC), x,
                          A(OPERATION_SOFTMAX_YDESC), y, A(OPERATION_SOFTMAX_MAX_DESC), most,
                          A(OPERATION_SOFTMAX_SUM_EXP_DESC), sum, A(OPERATION_SOFTMAX_SINK_DESC),
                          with ? sink : NULL, -1));
        for (int r = 0; r < 6; r++) {
            tops[r] = with ? got(sink, r / 3) : -INFINITY;
            for (int j = 0; j < 5; j++)
                tops[r] = fmax(tops[r], got(x, r * 5 + j));
            tops[r] = isinf(tops[r]) ? 0 : tops[r];
            sums[r] = with ? exp(got(sink, r / 3) - tops[r]) : 0;
            for (int j = 0; j < 5; j++)
                sums[r] += exp(got(x, r * 5 + j) - tops[r]);
            for (int j = 0; j < 5; j++)
                expected[r * 5 + j] = sums[r] == 0 ? 0 : exp(got(x, r * 5 + j) - tops[r]) / sums[r];
        }
        for (int engine = 0; engine < 2; engine++) {
            run(engine);
            expect(y, expected, 1e-6, "softmax");
            expect(most, tops, 1e-6, "its largest exponents");
            expect(sum, sums, 1e-6, "its sums");
        }
    }
    clear();
}

static void test_pages(void)
{
    struct gt *pages = filled(TENSOR(HALF, ROWS, 9, 3, 4, 5)),
              *table = TENSOR(INT32, ROWS, 2, 1, 3, 1);
    struct gt *length = TENSOR(INT32, ROWS, 2, 1, 1, 1), *y = TENSOR(FLOAT, ROWS, 2, 3, 11, 5);
    double expected[330];

    for (int i = 0; i < 6; i++)
        give(table, i, (i * 5 + 2) % 9);
    give(length, 0, 11);
    give(length, 1, 6);
    op_end(op_tensors(new_desc(D(OPERATION_PAGED_CACHE_LOAD)),
                      A(OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC), pages,
                      A(OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC), table,
                      A(OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC), length,
                      A(OPERATION_PAGED_CACHE_LOAD_YDESC), y, -1));
    for (int i = 0; i < 330; i++) {
        int b = i / 165, h = i / 55 % 3, r = i / 5 % 11, d = i % 5;
        int page = ((b * 3 + r / 4) * 5 + 2) % 9;
        expected[i] = b && r >= 6 ? 0 : got(pages, ((page * 3 + h) * 4 + r % 4) * 5 + d);
    }
    run(0);
    expect(y, expected, 0, "rows of pages");
    clear();
}

/* Sequences of a batch one behind the other: what is behind a sequence is not touched. */
static void test_ragged(void)
{
    const int64_t dims[4] = {3, 2, 4, 5}, strides[4] = {40, 5, 10, 1};
    const int64_t lengths[3] = {4, 1, 3};
    struct gt *x = filled(TENSOR(FLOAT, ROWS, 3, 2, 4, 5)),
              *offsets = TENSOR(INT32, ROWS, 4, 1, 1, 1);
    struct gt *y;
    bool right = true;

    g.ntensors++;
    y = &g.tensors[g.ntensors - 1];
    *y = (struct gt){.uid = 900, .rank = 4, .type = CUDNN_DATA_FLOAT, .n = 120, .span = 120};
    memcpy(y->dims, dims, sizeof(dims));
    memcpy(y->strides, strides, sizeof(strides));
    y->desc = new_desc(D(TENSOR));
    set_enum(y->desc, A(TENSOR_DATA_TYPE), CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    set(y->desc, A(TENSOR_DIMENSIONS), CUDNN_TYPE_INT64, 4, dims);
    set(y->desc, A(TENSOR_STRIDES), CUDNN_TYPE_INT64, 4, strides);
    set_whole(y->desc, A(TENSOR_UNIQUE_ID), 900);
    set_whole(y->desc, A(TENSOR_BYTE_ALIGNMENT), 16);
    set_desc(y->desc, A(TENSOR_RAGGED_OFFSET_DESC), offsets->desc);
    need(cudnnBackendFinalize(y->desc));
    (void)cudaMallocManaged(&y->at, 120 * sizeof(float), cudaMemAttachGlobal);
    for (int i = 0; i < 120; i++)
        ((float *)y->at)[i] = -7;
    for (int b = 0, at = 0; b < 4; at += b < 3 ? (int)lengths[b] * 10 : 0, b++)
        give(offsets, b, at);
    op_pointwise(CUDNN_POINTWISE_IDENTITY, x, NULL, NULL, y);
    run(0);
    for (int b = 0, at = 0; b < 3; at += (int)lengths[b] * 10, b++)
        for (int r = 0; r < lengths[b]; r++)
            for (int h = 0; h < 2; h++)
                for (int d = 0; d < 5; d++)
                    right = right && (double)((float *)y->at)[at + r * 10 + h * 5 + d] ==
                                         got(x, ((b * 2 + h) * 4 + r) * 5 + d);
    for (int i = 80; i < 120; i++)
        right = right && ((float *)y->at)[i] == -7;
    ok(right, "ragged rows, and nothing behind them");
    clear();
}

/* ---- blocks with scales */

static void test_blocks(void)
{
    struct gt *x = filled(TENSOR(FLOAT, ROWS, 1, 6, 64)), *q = TENSOR(FP8_E4M3, ROWS, 1, 6, 64);
    struct gt *scale = gt_of(CUDNN_DATA_FP8_E8M0, ROWS, DIMS(1, 6, 2), NULL),
              *back = TENSOR(FLOAT, ROWS, 1, 6, 64);
    int32_t block = 32, blocks[3] = {1, 1, 32};
    double expected[384], scales[12];
    desc_t op = new_desc(D(OPERATION_BLOCK_SCALE_QUANTIZE));

    set(op, A(OPERATION_BLOCK_SCALE_QUANTIZE_BLOCK_SIZE), CUDNN_TYPE_INT32, 1, &block);
    op_end(op_tensors(op, A(OPERATION_BLOCK_SCALE_QUANTIZE_XDESC), x,
                      A(OPERATION_BLOCK_SCALE_QUANTIZE_YDESC), q,
                      A(OPERATION_BLOCK_SCALE_QUANTIZE_SCALE_DESC), scale, -1));
    for (int i = 0; i < 12; i++) {
        double most = 0;
        for (int j = 0; j < 32; j++)
            most = fmax(most, fabs(got(x, i * 32 + j)));
        scales[i] = exp2(ceil(log2(most / 448)));
    }
    run(0);
    expect(scale, scales, 0, "a power of two for each block");
    for (int i = 0; i < 384; i++)
        expected[i] = got(x, i) / scales[i / 32];
    expect(q, expected, 0.07, "blocks by their scales");
    g.nops = 0;
    op = new_desc(D(OPERATION_BLOCK_SCALE_DEQUANTIZE));
    set(op, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE), CUDNN_TYPE_INT32, 3, blocks);
    op_end(op_tensors(op, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC), q,
                      A(OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC), scale,
                      A(OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC), back, -1));
    for (int i = 0; i < 384; i++)
        expected[i] = got(q, i) * scales[i / 32];
    run(1);
    expect(back, expected, 0, "and back");
    clear();
}

int main(void)
{
    need(cudnnCreate(&handle));
    test_products();
    test_epilogue();
    test_limits();
    test_complex();
    test_groups();
    test_convolutions();
    test_windows();
    test_norms();
    test_attention();
    test_blocks_of_attention();
    test_softmax();
    test_pages();
    test_ragged();
    test_blocks();
    works(cudnnDestroy(handle));
    return done();
}
