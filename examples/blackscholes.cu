/* Prices of European options in closed form: exp, log, sqrt and erfc, one option per thread, in
 * float and checked
 * against the host's double. */
#include "example.h"

#define OPTIONS    100000
#define RATE       0.02f
#define VOLATILITY 0.30f

struct option {
    float spot, strike, years;
};

template <class T> __host__ __device__ inline T normal_cdf(T d)
{
    return T(0.5) * erfc(-d * T(0.70710678118654752440));
}

/* Black, Scholes 1973: the call's price; the put follows from parity. */
template <class T> __host__ __device__ inline void price(const option &o, T &call, T &put)
{
    T s = o.spot, x = o.strike, t = o.years, root = VOLATILITY * sqrt(t);
    T d1 = (log(s / x) + (T(RATE) + T(0.5) * T(VOLATILITY) * T(VOLATILITY)) * t) / root;
    T discounted = x * exp(-T(RATE) * t);

    call = s * normal_cdf(d1) - discounted * normal_cdf(d1 - root);
    put = call + discounted - s;
}

__global__ void price_all(const option *options, float *call, float *put, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        price(options[i], call[i], put[i]);
}

static float uniform(unsigned i, float lo, float hi)
{
    i ^= i >> 16;
    i *= 0x7feb352du;
    i ^= i >> 15;
    i *= 0x846ca68bu;
    i ^= i >> 16;
    return lo + (hi - lo) * (float)(i >> 8) / 16777216.0f;
}

int main()
{
    static option options[OPTIONS];
    static float call[OPTIONS], put[OPTIONS];
    option *dev_options;
    float *dev_call, *dev_put;
    double worst = 0;

    for (unsigned i = 0; i < OPTIONS; i++)
        options[i] = {uniform(3 * i, 5, 30), uniform(3 * i + 1, 1, 100),
                      uniform(3 * i + 2, 0.25f, 10)};
    CHECK(cudaMalloc(&dev_options, sizeof(options)));
    CHECK(cudaMalloc(&dev_call, sizeof(call)));
    CHECK(cudaMalloc(&dev_put, sizeof(put)));
    CHECK(cudaMemcpy(dev_options, options, sizeof(options), cudaMemcpyHostToDevice));
    price_all<<<(OPTIONS + 127) / 128, 128>>>(dev_options, dev_call, dev_put, OPTIONS);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(call, dev_call, sizeof(call), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(put, dev_put, sizeof(put), cudaMemcpyDeviceToHost));
    for (int i = 0; i < OPTIONS; i++) {
        double want_call, want_put;

        price(options[i], want_call, want_put);
        worst = fmax(worst, fmax(fabs(call[i] - want_call), fabs(put[i] - want_put)));
    }
    CHECK(cudaFree(dev_options));
    CHECK(cudaFree(dev_call));
    CHECK(cudaFree(dev_put));
    return verdict(worst < 1e-4, "blackscholes: %d options, largest error %.2g", OPTIONS, worst);
}
