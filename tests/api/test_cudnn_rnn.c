/*
 * cuDNN's recurrent networks against plain loops: cells, directions, layers, biases, layouts,
 * lengths, projections, clips, skipped inputs, dropout; gradients against differences of the plain
 * loops.
 */
#include "cudnn_fixture.h"

enum { TIME = 4, MOST = 20 };

struct net {
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    cudnnRNNDataLayout_t layout;
    cudnnDataType_t type;
    int ways, layers, input, hidden, output, samples;
    bool skips, clips;
    int lengths[MOST];
    cudnnRNNDescriptor_t desc;
    cudnnRNNDataDescriptor_t x_desc, y_desc;
    cudnnTensorDescriptor_t h_desc, c_desc;
    size_t weights_B, reserve_B;
    void *weights, *reserve;
    double *w; /* weights as numbers */
    cudnnDropoutDescriptor_t dropout;
    const double *mask; /* of dropout: for each time, sample and number of a layer's input */
};

/* Arrays of numbers of the network's type, in memory of the device. */
static void *there(const struct net *net, const double *v, size_t n)
{
    void *p = memory(n * size_of(net->type));

    for (size_t i = 0; i < n; i++)
        put_at(net->type, p, (int64_t)i, v ? v[i] : NAN);
    return p;
}

static double *random_numbers(const struct net *net, size_t n)
{
    double *v = malloc((n + 1) * sizeof(*v));
    uint64_t room;

    for (size_t i = 0; i < n; i++) { /* what the type has */
        put_at(net->type, &room, 0, real_number());
        v[i] = get_at(net->type, &room, 0);
    }
    return v;
}

static size_t row_at(const struct net *net, int t, int s)
{
    size_t n = 0;

    if (net->layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
        return (size_t)(s * TIME + t);
    if (net->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED)
        return (size_t)(t * net->samples + s);
    for (int k = 0; k < t; k++)
        for (int i = 0; i < net->samples; i++)
            n += k < net->lengths[i];
    return n + (size_t)s;
}

static size_t rows_of(const struct net *net)
{
    size_t n = 0;

    for (int s = 0; s < net->samples; s++)
        n += (size_t)net->lengths[s];
    return net->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? n
                                                                 : (size_t)(TIME * net->samples);
}

/* The numbers of a matrix or bias; NULL: there is none. */
static const double *part(const struct net *net, int pseudo, int id, bool is_bias, int *columns)
{
    cudnnTensorDescriptor_t m, b;
    cudnnDataType_t type;
    void *at[2];
    int rank, dims[3] = {0}, strides[3];

    need(cudnnCreateTensorDescriptor(&m));
    need(cudnnCreateTensorDescriptor(&b));
    need(cudnnGetRNNWeightParams(handle, net->desc, pseudo, net->weights_B, net->weights, id, m,
                                 &at[0], b, &at[1]));
    need(cudnnGetTensorNdDescriptor(is_bias ? b : m, 3, &type, &rank, dims, strides));
    *columns = dims[2];
    cudnnDestroyTensorDescriptor(m);
    cudnnDestroyTensorDescriptor(b);
    void *p = at[is_bias];
    return p ? net->w + ((char *)p - (char *)net->weights) / (ptrdiff_t)size_of(net->type) : NULL;
}

/* Row k of gate `gate` times v, and the bias. */
static double gate_sum(const struct net *net, int pseudo, int id, int k, const double *v)
{
    int columns, one;
    const double *m = part(net, pseudo, id, false, &columns);
    const double *b = part(net, pseudo, id, true, &one);
    double sum = b ? b[k] : 0;

    for (int i = 0; m && i < columns; i++)
        sum += m[k * columns + i] * v[i];
    return m ? sum : sum + v[k]; /* skipped */
}

static double sigma(double x)
{
    return 1 / (1 + exp(-x));
}

static double clip(const struct net *net, double c)
{
    return net->clips ? fmin(fmax(c, -0.3), 0.4) : c;
}

/* y by rows, hy and cy of layers and directions; x, hx, cx likewise. */
static void plain(const struct net *net, const double *x, const double *hx, const double *cx,
                  double *y, double *hy, double *cy)
{
    int gates = net->cell == CUDNN_LSTM ? 4 : net->cell == CUDNN_GRU ? 3 : 1;
    int hid = net->hidden, out = net->output;

    for (int s = 0; s < net->samples; s++) {
        double in[TIME][32], result[TIME][32];
        for (int t = 0; t < net->lengths[s]; t++)
            memcpy(in[t], x + row_at(net, t, s) * (size_t)net->input,
                   (size_t)net->input * sizeof(double));
        for (int p = 0; p < net->layers * net->ways; p++) {
            size_t state = (size_t)(p * net->samples + s);
            double h[16], c[16];
            memcpy(h, hx + state * (size_t)out, (size_t)out * sizeof(double));
            memcpy(c, cx + state * (size_t)hid, (size_t)hid * sizeof(double));
            for (int step = 0; step < net->lengths[s]; step++) {
                int t = p % net->ways ? net->lengths[s] - 1 - step : step;
                double full[16], next[16];
                for (int k = 0; k < hid; k++) {
                    double w[4], r[4];
                    for (int g = 0; g < gates; g++) {
                        w[g] = gate_sum(net, p, g, k, in[t]);
                        r[g] = gate_sum(net, p, gates + g, k, h);
                    }
                    if (net->cell == CUDNN_RNN_RELU)
                        full[k] = fmax(w[0] + r[0], 0);
                    if (net->cell == CUDNN_RNN_TANH)
                        full[k] = tanh(w[0] + r[0]);
                    if (net->cell == CUDNN_LSTM) {
                        c[k] = clip(net, sigma(w[1] + r[1]) * c[k] +
                                             sigma(w[0] + r[0]) * tanh(w[2] + r[2]));
                        full[k] = sigma(w[3] + r[3]) * tanh(c[k]);
                    }
                    if (net->cell == CUDNN_GRU) {
                        double z = sigma(w[1] + r[1]);
                        full[k] = (1 - z) * tanh(w[2] + sigma(w[0] + r[0]) * r[2]) + z * h[k];
                    }
                }
                for (int k = 0; k < out; k++)
                    next[k] = out < hid ? gate_sum(net, p, 2 * gates, k, full) : full[k];
                memcpy(h, next, (size_t)out * sizeof(double));
                memcpy(&result[t][p % net->ways * out], h, (size_t)out * sizeof(double));
            }
            memcpy(hy + state * (size_t)out, h, (size_t)out * sizeof(double));
            memcpy(cy + state * (size_t)hid, c, (size_t)hid * sizeof(double));
            if (p % net->ways == net->ways - 1)
                for (int t = 0; t < net->lengths[s]; t++)
                    for (int k = 0; k < out * net->ways; k++)
                        in[t][k] = result[t][k] *
                                   (net->mask && p < (net->layers - 1) * net->ways
                                        ? net->mask[(t * net->samples + s) * out * net->ways + k]
                                        : 1);
        }
        for (int t = 0; t < net->lengths[s]; t++)
            memcpy(y + row_at(net, t, s) * (size_t)(out * net->ways), in[t],
                   (size_t)(out * net->ways) * sizeof(double));
    }
}

static void net_init(struct net *net)
{
    double fill = 7;
    float fill_f = 7;
    uint16_t fill_h = klib_f16_of_f32(7);
    void *fills[] = {&fill_f, &fill, &fill_h};
    int pseudo = net->layers * net->ways;

    need(cudnnCreateRNNDescriptor(&net->desc));
    need(cudnnCreateRNNDataDescriptor(&net->x_desc));
    need(cudnnCreateRNNDataDescriptor(&net->y_desc));
    need(cudnnCreateTensorDescriptor(&net->h_desc));
    need(cudnnCreateTensorDescriptor(&net->c_desc));
    need(cudnnSetRNNDescriptor_v8(net->desc, CUDNN_RNN_ALGO_STANDARD, net->cell, net->bias,
                                  net->ways == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                                  net->skips ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT, net->type,
                                  net->type, CUDNN_DEFAULT_MATH, net->input, net->hidden,
                                  net->output, net->layers, net->dropout,
                                  CUDNN_RNN_PADDED_IO_ENABLED));
    if (net->clips)
        need(cudnnRNNSetClip_v9(net->desc, CUDNN_RNN_CLIP_MINMAX, -0.3, 0.4));
    need(cudnnSetRNNDataDescriptor(net->x_desc, net->type, net->layout, TIME, net->samples,
                                   net->input, net->lengths, fills[net->type]));
    need(cudnnSetRNNDataDescriptor(net->y_desc, net->type, net->layout, TIME, net->samples,
                                   net->output * net->ways, net->lengths, fills[net->type]));
    int h[] = {pseudo, net->samples, net->output}, c[] = {pseudo, net->samples, net->hidden};
    need(cudnnSetTensorNdDescriptor(net->h_desc, net->type, 3, h, (int[]){h[1] * h[2], h[2], 1}));
    need(cudnnSetTensorNdDescriptor(net->c_desc, net->type, 3, c, (int[]){c[1] * c[2], c[2], 1}));
    need(cudnnGetRNNWeightSpaceSize(handle, net->desc, &net->weights_B));
    need(cudnnGetRNNTempSpaceSizes(handle, net->desc, CUDNN_FWD_MODE_TRAINING, net->x_desc, NULL,
                                   &net->reserve_B));
    net->w = random_numbers(net, net->weights_B / size_of(net->type));
    net->weights = there(net, net->w, net->weights_B / size_of(net->type));
    net->reserve = memory(net->reserve_B);
}

static void net_fini(struct net *net)
{
    cudaFree(net->weights);
    cudaFree(net->reserve);
    free(net->w);
    cudnnDestroyRNNDescriptor(net->desc);
    cudnnDestroyRNNDataDescriptor(net->x_desc);
    cudnnDestroyRNNDataDescriptor(net->y_desc);
    cudnnDestroyTensorDescriptor(net->h_desc);
    cudnnDestroyTensorDescriptor(net->c_desc);
}

static bool near(const struct net *net, const void *got, const double *want, size_t n, double tol,
                 const char *what)
{
    for (size_t i = 0; i < n; i++) {
        double v = get_at(net->type, got, (int64_t)i);
        if (!(fabs(v - want[i]) <= tol * fmax(1, fabs(want[i])))) {
            diag("%s: element %zu is %.9g, not %.9g", what, i, v, want[i]);
            return false;
        }
    }
    return true;
}

/* The derivative of sum(y dy + hy dhy + cy dcy) by what is at `v`. */
static double slope(const struct net *net, double *v, const double *in[3], double *out[3],
                    const double *d[3], const size_t n[3])
{
    double side[2], kept = *v, h = 1e-6;

    for (int k = 0; k < 2; k++) {
        *v = kept + (k ? -h : h);
        plain(net, in[0], in[1], in[2], out[0], out[1], out[2]);
        side[k] = 0;
        for (int o = 0; o < 3; o++)
            for (size_t i = 0; i < n[o]; i++)
                side[k] += out[o][i] * d[o][i];
    }
    *v = kept;
    return (side[0] - side[1]) / (2 * h);
}

static void test_net(struct net *net, const char *name)
{
    net_init(net);
    size_t rows = rows_of(net), state = (size_t)(net->layers * net->ways * net->samples);
    size_t nx = rows * (size_t)net->input, ny = rows * (size_t)(net->output * net->ways),
           nh = state * (size_t)net->output, nc = state * (size_t)net->hidden,
           nw = net->weights_B / size_of(net->type);
    double tol = tolerance(net->type) * 4;
    bool is_lstm = net->cell == CUDNN_LSTM;
    double *x = random_numbers(net, nx), *hx = random_numbers(net, nh),
           *cx = random_numbers(net, nc);
    double *y = malloc(ny * 8), *hy = malloc(nh * 8), *cy = malloc(nc * 8);
    void *dev[] = {there(net, x, nx),    there(net, hx, nh),   there(net, cx, nc),
                   there(net, NULL, ny), there(net, NULL, nh), there(net, NULL, nc)};

    for (size_t i = 0; i < ny; i++)
        y[i] = 7;
    plain(net, x, hx, cx, y, hy, cy);
    for (int training = 0; training < 2; training++) {
        works(cudnnRNNForward(handle, net->desc,
                              training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, NULL,
                              net->x_desc, dev[0], net->y_desc, dev[3], net->h_desc, dev[1], dev[4],
                              net->c_desc, dev[2], dev[5], net->weights_B, net->weights, 0, NULL,
                              training ? net->reserve_B : 0, training ? net->reserve : NULL));
        cudaDeviceSynchronize();
        ok(near(net, dev[3], y, ny, tol, "y") && near(net, dev[4], hy, nh, tol, "hy") &&
               (!is_lstm || near(net, dev[5], cy, nc, tol, "cy")),
           "%s: %s", name, training ? "training" : "inference");
    }
    if (net->type == CUDNN_DATA_DOUBLE) {
        double *dy = random_numbers(net, ny), *dhy = random_numbers(net, nh),
               *dcy = random_numbers(net, nc);
        for (int t = 0; t < TIME; t++) /* what is behind an end counts nothing */
            for (int s = 0; s < net->samples; s++)
                for (int k = 0; t >= net->lengths[s] && k < net->output * net->ways &&
                                net->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
                     k++)
                    y[row_at(net, t, s) * (size_t)(net->output * net->ways) + (size_t)k] = 0;
        for (size_t i = 0; !is_lstm && i < nc; i++)
            dcy[i] = 0;
        void *g[] = {there(net, dy, ny),   there(net, dhy, nh),  there(net, dcy, nc),
                     there(net, NULL, nx), there(net, NULL, nh), there(net, NULL, nc)};
        void *dw = memory(net->weights_B);
        const double *in[] = {x, hx, cx}, *d[] = {dy, dhy, dcy};
        double *outs[] = {y, hy, cy};
        size_t n[] = {ny, nh, nc};
        works(cudnnRNNBackwardData_v8(handle, net->desc, NULL, net->y_desc, dev[3], g[0],
                                      net->x_desc, g[3], net->h_desc, dev[1], g[1], g[4],
                                      net->c_desc, dev[2], g[2], g[5], net->weights_B, net->weights,
                                      0, NULL, net->reserve_B, net->reserve));
        for (size_t i = 0; i < nw; i++)
            put_at(net->type, dw, (int64_t)i, 3);
        works(cudnnRNNBackwardWeights_v8(
            handle, net->desc, CUDNN_WGRAD_MODE_ADD, NULL, net->x_desc, dev[0], net->h_desc, dev[1],
            net->y_desc, dev[3], net->weights_B, dw, 0, NULL, net->reserve_B, net->reserve));
        cudaDeviceSynchronize();
        double *want = malloc((nx + nh + nc + nw) * 8);
        for (size_t i = 0; i < nx; i++)
            want[i] = slope(net, &x[i], in, outs, d, n);
        ok(near(net, g[3], want, nx, 1e-7, "dx"), "%s: the gradient of x", name);
        for (size_t i = 0; i < nh; i++)
            want[i] = slope(net, &hx[i], in, outs, d, n);
        ok(near(net, g[4], want, nh, 1e-7, "dhx"), "of the state");
        for (size_t i = 0; is_lstm && i < nc; i++)
            want[i] = slope(net, &cx[i], in, outs, d, n);
        if (is_lstm)
            ok(near(net, g[5], want, nc, 1e-7, "dcx"), "of the cell");
        for (size_t i = 0; i < nw; i++)
            want[i] = 3 + slope(net, &net->w[i], in, outs, d, n);
        ok(near(net, dw, want, nw, 1e-7, "dw"), "of the weights");
        free(want);
        free(dy);
        free(dhy);
        free(dcy);
        cudaFree(dw);
        for (int i = 0; i < 6; i++)
            cudaFree(g[i]);
    }
    free(x);
    free(hx);
    free(cx);
    free(y);
    free(hy);
    free(cy);
    for (int i = 0; i < 6; i++)
        cudaFree(dev[i]);
    net_fini(net);
}

static void test_nets(void)
{
    static const struct {
        const char *name;
        struct net net;
    } cases[] = {
#define NET(cell_, bias_, layout_, type_, ways_, layers_, in, hid, out, n)                         \
    .cell = cell_, .bias = CUDNN_RNN_##bias_, .layout = CUDNN_RNN_DATA_LAYOUT_##layout_,           \
    .type = CUDNN_DATA_##type_, .ways = ways_, .layers = layers_, .input = in, .hidden = hid,      \
    .output = out, .samples = n
        {"relu",
         {NET(CUDNN_RNN_RELU, SINGLE_INP_BIAS, SEQ_MAJOR_UNPACKED, DOUBLE, 1, 1, 3, 4, 4, 2)}},
        {"tanh, two layers",
         {NET(CUDNN_RNN_TANH, DOUBLE_BIAS, SEQ_MAJOR_UNPACKED, DOUBLE, 1, 2, 3, 4, 4, 2)}},
        {"lstm, both ways, two layers",
         {NET(CUDNN_LSTM, DOUBLE_BIAS, SEQ_MAJOR_UNPACKED, DOUBLE, 2, 2, 3, 3, 3, 3),
          .lengths = {3, 4, 1}}},
        {"lstm, packed",
         {NET(CUDNN_LSTM, NO_BIAS, SEQ_MAJOR_PACKED, DOUBLE, 2, 1, 2, 3, 3, 3),
          .lengths = {4, 2, 1}}},
        {"lstm, projected",
         {NET(CUDNN_LSTM, DOUBLE_BIAS, BATCH_MAJOR_UNPACKED, DOUBLE, 2, 2, 2, 4, 2, 2),
          .lengths = {2, 4}}},
        {"lstm, clipped",
         {NET(CUDNN_LSTM, SINGLE_REC_BIAS, SEQ_MAJOR_UNPACKED, DOUBLE, 1, 1, 2, 3, 3, 2),
          .clips = true}},
        {"gru, both ways, two layers",
         {NET(CUDNN_GRU, DOUBLE_BIAS, BATCH_MAJOR_UNPACKED, DOUBLE, 2, 2, 3, 3, 3, 2),
          .lengths = {4, 0}}},
        {"gru, bias of the input",
         {NET(CUDNN_GRU, SINGLE_INP_BIAS, SEQ_MAJOR_PACKED, DOUBLE, 1, 2, 2, 3, 3, 18),
          .lengths = {4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 1}}},
        {"gru, bias of the state",
         {NET(CUDNN_GRU, SINGLE_REC_BIAS, SEQ_MAJOR_UNPACKED, DOUBLE, 1, 1, 2, 3, 3, 1)}},
        {"tanh, skipped input",
         {NET(CUDNN_RNN_TANH, SINGLE_INP_BIAS, SEQ_MAJOR_UNPACKED, DOUBLE, 2, 2, 4, 4, 4, 2),
          .skips = true}},
        {"lstm of floats",
         {NET(CUDNN_LSTM, DOUBLE_BIAS, SEQ_MAJOR_UNPACKED, FLOAT, 2, 2, 5, 8, 8, 19)}},
        {"gru of halves",
         {NET(CUDNN_GRU, DOUBLE_BIAS, SEQ_MAJOR_UNPACKED, HALF, 1, 2, 5, 8, 8, 3)}},
#undef NET
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct net net = cases[i].net;
        bool has_lengths = false;
        for (int s = 0; s < net.samples; s++)
            has_lengths |= net.lengths[s] != 0;
        for (int s = 0; s < net.samples && !has_lengths; s++)
            net.lengths[s] = TIME;
        test_net(&net, cases[i].name);
    }
}

/* Of two layers with dropout between them the mask is what turns one result into the other. */
static void test_dropout(void)
{
    struct net net = {.cell = CUDNN_RNN_RELU,
                      .layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                      .type = CUDNN_DATA_DOUBLE,
                      .ways = 1,
                      .layers = 2,
                      .input = 8,
                      .hidden = 8,
                      .output = 8,
                      .samples = 17,
                      .skips = true};
    size_t states_B, n = TIME * 17 * 8, kept = 0, wrong = 0, same = 0;
    double *x = malloc(n * 8), *mask = malloc(n * 8), *first = malloc(n * 8);
    void *states;

    for (int s = 0; s < net.samples; s++)
        net.lengths[s] = TIME;
    need(cudnnDropoutGetStatesSize(handle, &states_B));
    states = memory(states_B);
    need(cudnnCreateDropoutDescriptor(&net.dropout));
    need(cudnnSetDropoutDescriptor(net.dropout, handle, 0.25F, states, states_B, 5));
    net_init(&net);
    /* The second layer passes on its input, the first one x: no state, an identity. */
    for (size_t i = 0; i < net.weights_B / 8; i++)
        ((double *)net.weights)[i] = net.w[i] = 0;
    int columns;
    double *identity = (double *)part(&net, 1, 0, false, &columns);
    for (int k = 0; k < 8; k++)
        ((double *)net.weights)[identity - net.w + k * 8 + k] = 1;
    for (size_t i = 0; i < n; i++)
        x[i] = 1 + below(100) / 100.0;
    void *dx = memory(n * 8), *dev = there(&net, x, n), *y = there(&net, NULL, n),
         *ones = there(&net, x, n);
    for (size_t i = 0; i < n; i++)
        ((double *)ones)[i] = 1;
    for (int round = 0; round < 2; round++) {
        works(cudnnRNNForward(handle, net.desc, CUDNN_FWD_MODE_TRAINING, NULL, net.x_desc, dev,
                              net.y_desc, y, net.h_desc, NULL, NULL, net.c_desc, NULL, NULL,
                              net.weights_B, net.weights, 0, NULL, net.reserve_B, net.reserve));
        works(cudnnRNNBackwardData_v8(handle, net.desc, NULL, net.y_desc, y, ones, net.x_desc, dx,
                                      net.h_desc, NULL, NULL, NULL, net.c_desc, NULL, NULL, NULL,
                                      net.weights_B, net.weights, 0, NULL, net.reserve_B,
                                      net.reserve));
        cudaDeviceSynchronize();
        for (size_t i = 0; i < n; i++) {
            mask[i] = ((double *)y)[i] / x[i];
            kept += mask[i] != 0;
            wrong += mask[i] != 0 && fabs(mask[i] - 4 / 3.0) > 1e-7;
            wrong += fabs(((double *)dx)[i] - mask[i]) > 1e-7;
            same += round && (first[i] != 0) == (mask[i] != 0);
        }
        memcpy(first, mask, n * 8);
    }
    ok(!wrong, "dropout, and the same on the way back");
    ok(kept > 2 * n * 7 / 10 && kept < 2 * n * 8 / 10, "three of four stay: %zu of %zu", kept,
       2 * n);
    ok(same < n * 3 / 4, "others at the second time: %zu of %zu alike", same, n);
    works(cudnnRNNForward(handle, net.desc, CUDNN_FWD_MODE_INFERENCE, NULL, net.x_desc, dev,
                          net.y_desc, y, net.h_desc, NULL, NULL, net.c_desc, NULL, NULL,
                          net.weights_B, net.weights, 0, NULL, 0, NULL));
    cudaDeviceSynchronize();
    ok(near(&net, y, x, n, 1e-12, "y"), "none in inference");
    net_fini(&net);
    cudnnDestroyDropoutDescriptor(net.dropout);
    cudaFree(states);
    cudaFree(dx);
    cudaFree(dev);
    cudaFree(y);
    cudaFree(ones);
    free(x);
    free(mask);
    free(first);
}

static void test_errors(void)
{
    cudnnRNNDescriptor_t d;
    cudnnRNNDataDescriptor_t data;
    cudnnRNNMode_t cell;
    int32_t hidden;
    int lengths[] = {2, 3}, n, t, w, got[2];
    cudnnDataType_t type;
    cudnnRNNDataLayout_t layout;
    size_t size_B;
    float fill = 2, fill_got = 0;

    need(cudnnCreateRNNDescriptor(&d));
    need(cudnnCreateRNNDataDescriptor(&data));
    fails(cudnnGetRNNWeightSpaceSize(handle, d, &size_B), BAD_PARAM);
#define SET(cell_, input, in, hid, proj, layers)                                                   \
    cudnnSetRNNDescriptor_v8(d, CUDNN_RNN_ALGO_STANDARD, cell_, CUDNN_RNN_DOUBLE_BIAS,             \
                             CUDNN_UNIDIRECTIONAL, input, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,      \
                             CUDNN_DEFAULT_MATH, in, hid, proj, layers, NULL, 0)
    works(SET(CUDNN_GRU, CUDNN_LINEAR_INPUT, 3, 4, 4, 1));
    works(cudnnGetRNNDescriptor_v8(d, NULL, &cell, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                   &hidden, NULL, NULL, NULL, NULL));
    ok(cell == CUDNN_GRU && hidden == 4, "as it was set");
    works(cudnnGetRNNWeightSpaceSize(handle, d, &size_B));
    eq_u64(size_B, 4 * (3 * 4 * (3 + 4) + 2 * 3 * 4), "weights of a GRU");
    fails(SET(CUDNN_GRU, CUDNN_LINEAR_INPUT, 3, 4, 2, 1), NOT_SUPPORTED);
    fails(SET(CUDNN_GRU, CUDNN_SKIP_INPUT, 3, 4, 4, 1), BAD_PARAM);
    fails(SET(CUDNN_LSTM, CUDNN_LINEAR_INPUT, 3, 4, 5, 1), BAD_PARAM);
    fails(SET(CUDNN_LSTM, CUDNN_LINEAR_INPUT, 3, 0, 0, 1), BAD_PARAM);
#undef SET
    fails(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                    3, 2, 4, lengths, NULL),
          BAD_PARAM);
    fails(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT,
                                    CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 2, 2, 4, lengths,
                                    NULL),
          BAD_PARAM);
    works(cudnnSetRNNDataDescriptor(
        data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 3, 2, 4, lengths, &fill));
    works(cudnnGetRNNDataDescriptor(data, &type, &layout, &t, &n, &w, 2, got, &fill_got));
    ok(t == 3 && n == 2 && w == 4 && got[1] == 3 && fill_got == 2, "data as they were set");
    works(cudnnBuildRNNDynamic(handle, d, 4));
    cudnnDestroyRNNDataDescriptor(data);
    cudnnDestroyRNNDescriptor(d);
}

int main(void)
{
    need(cudnnCreate(&handle));
    test_nets();
    test_dropout();
    test_errors();
    need(cudnnDestroy(handle));
    return done();
}
