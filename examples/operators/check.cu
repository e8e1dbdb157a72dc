/* The operators as a C++ program calls them, by the table of plugin.h, against plain loops. */
#include "../example.h"
#include "operators.cu"

static double worst;

static float random_value(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 23) - 1;
}

static void compare(const float *got, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        worst = fmax(worst, fabs(got[i] - want[i]) / (1 + fabs(want[i])));
}

static const plugin_op *op_of(const char *name)
{
    const plugin_op *op = plugin_table();
    while (op->name && strcmp(op->name, name))
        op++;
    return op;
}

/* Managed memory: both sides read it. */
static plugin_tensor tensor(int rank, int64_t a, int64_t b, int64_t c, size_t element_B)
{
    plugin_tensor made = {nullptr, {a, b, c}, rank};
    CHECK(cudaMallocManaged(&made.at, (size_t)(a * b * c) * element_B));
    return made;
}

static bool call(const plugin_op *op, plugin_call *call)
{
    for (int i = 0; i < PLUGIN_ATTRIBUTES; i++)
        call->attributes[i] = op->attributes[i].value;
    const char *wrong = op->shapes(call);
    if (!wrong && op->workspace_B)
        CHECK(cudaMalloc(&call->workspace, op->workspace_B(call)));
    for (int i = 0; !wrong && i < plugin_count(op->out); i++) {
        size_t n = 1;
        for (int k = 0; k < call->out[i].rank; k++)
            n *= (size_t)call->out[i].dims[k];
        CHECK(cudaMallocManaged(&call->out[i].at, n * sizeof(float)));
    }
    if (!wrong)
        wrong = op->enqueue(call, nullptr);
    if (wrong)
        fprintf(stderr, "%s: %s\n", op->name, wrong);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(call->workspace));
    return !wrong;
}

/* y, and how the sum of y * d_y grows with x and with weight, one number at a time. */
static double norm_row(const float *x, const float *weight, int position, int dim, double *y)
{
    double squares = 0;
    for (int i = 0; i < dim; i++)
        squares += (double)x[i] * x[i];
    double r = 1 / sqrt(squares / dim + 1e-6);
    for (int i = 0; i < dim / 2; i++) {
        double turn = position * pow(10000, -2.0 * i / dim);
        double re = x[i] * r * weight[i], im = x[i + dim / 2] * r * weight[i + dim / 2];
        y[i] = re * cos(turn) - im * sin(turn);
        y[i + dim / 2] = re * sin(turn) + im * cos(turn);
    }
    return r;
}

static bool check_norm(unsigned *seed)
{
    enum { TOKENS = 5, HEADS = 3, DIM = 80, ALL = TOKENS * HEADS * DIM };
    plugin_call forward = {{tensor(3, TOKENS, HEADS, DIM, 4), tensor(1, DIM, 1, 1, 4),
                            tensor(1, TOKENS, 1, 1, 4), tensor(3, TOKENS, HEADS, DIM, 4)}};
    plugin_call backward = forward;
    float *x = (float *)forward.in[0].at, *weight = (float *)forward.in[1].at;
    float *d_y = (float *)forward.in[3].at;
    int *positions = (int *)forward.in[2].at;
    static double y[ALL], d_x[ALL], d_weight[DIM];
    for (int i = 0; i < ALL; i++)
        x[i] = random_value(seed), d_y[i] = random_value(seed);
    for (int i = 0; i < DIM; i++)
        weight[i] = 1 + random_value(seed) / 2;
    for (int i = 0; i < TOKENS; i++)
        positions[i] = 7 * i;
    for (int row = 0; row < TOKENS * HEADS; row++) {
        const float *at = x + row * DIM, *g = d_y + row * DIM;
        double dot = 0, r = norm_row(at, weight, positions[row / HEADS], DIM, y + row * DIM);
        for (int i = 0; i < DIM; i++) /* d_y · y as the function of x: its part along x goes */
            dot += y[row * DIM + i] * g[i] / DIM;
        for (int i = 0; i < DIM; i++) {
            int half = DIM / 2, k = i % half;
            double turn = positions[row / HEADS] * pow(10000, -2.0 * k / DIM);
            double back = i < half ? g[k] * cos(turn) + g[k + half] * sin(turn)
                                   : g[k + half] * cos(turn) - g[k] * sin(turn);
            d_x[row * DIM + i] = r * (back * weight[i] - at[i] * r * dot);
            d_weight[i] += back * at[i] * r;
        }
    }
    if (!call(op_of("rmsnorm_rope"), &forward) || !call(op_of("rmsnorm_rope_grad"), &backward))
        return false;
    compare((float *)forward.out[0].at, y, ALL);
    compare((float *)backward.out[0].at, d_x, ALL);
    compare((float *)backward.out[1].at, d_weight, DIM);
    return true;
}

static bool check_gemv(unsigned *seed)
{
    enum { ROWS = 37, COLUMNS = 320, GROUP = 64, GROUPS = COLUMNS / GROUP };
    plugin_call forward = {{tensor(2, ROWS, COLUMNS / 2, 1, 1), tensor(2, ROWS, GROUPS, 1, 4),
                            tensor(1, COLUMNS, 1, 1, 4), tensor(1, ROWS, 1, 1, 4)}};
    plugin_call backward = forward;
    uint8_t *weights = (uint8_t *)forward.in[0].at;
    float *scales = (float *)forward.in[1].at, *x = (float *)forward.in[2].at;
    float *d_y = (float *)forward.in[3].at;
    static double y[ROWS], d_x[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS / 2; i++)
        weights[i] = (uint8_t)(random_value(seed) * 128);
    for (int i = 0; i < ROWS * GROUPS; i++)
        scales[i] = random_value(seed);
    for (int i = 0; i < COLUMNS; i++)
        x[i] = random_value(seed);
    for (int row = 0; row < ROWS; row++) {
        d_y[row] = random_value(seed);
        for (int i = 0; i < COLUMNS; i++) {
            int byte = weights[(row * COLUMNS + i) / 2];
            double weight =
                ((i % 2 ? byte >> 4 : byte & 15) - 8) * (double)scales[row * GROUPS + i / GROUP];
            y[row] += weight * x[i];
            d_x[i] += weight * d_y[row];
        }
    }
    if (!call(op_of("int4_gemv"), &forward) || !call(op_of("int4_gemv_grad"), &backward))
        return false;
    compare((float *)forward.out[0].at, y, ROWS);
    compare((float *)backward.out[0].at, d_x, COLUMNS);
    return true;
}

int main()
{
    unsigned seed = 1;
    plugin_call empty = {};
    bool refused = op_of("rmsnorm_rope")->shapes(&empty) && op_of("int4_gemv")->shapes(&empty);
    bool ran = check_norm(&seed) && check_gemv(&seed);
    return verdict(ran && refused && worst < 1e-5, "four operators, largest relative error %.1e",
                   worst);
}
