/* Kernels that launch kernels, in the ways that launches are written. */
#include <cstdio>

#include "launches.h"

static int failed;
#define CHECK(cond) ((cond) ? (void)0 : (void)(printf("line %d: %s\n", __LINE__, #cond), failed = 1))
#define LAUNCH(kernel, n) kernel<<<1, n>>> /* configured in a macro <<<1, 2>>> */

/* ---- names */

template <class T> __global__ void add(T *out, T value)
{
    atomicAdd(out, value);
}

template <class T, int N> __global__ void add_many(T *out, const T (*)[N] = nullptr)
{
    if (threadIdx.x < N)
        atomicAdd(out, T(1));
}

static __global__ void add_static(int *out)
{
    atomicAdd(out, 10);
}

namespace
{
__global__ void add_unnamed(int *out)
{
    atomicAdd(out, 100);
}
} // namespace

namespace outer
{
namespace inner
{
__global__ void add(int *out, int value)
{
    atomicAdd(out, value);
}
} // namespace inner

struct with_kernels {
    static constexpr int threads = 4;
    template <bool B> static __device__ int times(int n)
    {
        return B ? n : 0;
    }
    int *out;
    __device__ void launch() const
    {
        inner::add<<<1, with_kernels::times<true>(with_kernels::threads)>>>(this->out, 1);
    }
};
} // namespace outer

__global__ void names(int *out)
{
    const char *text = "not<<<a, launch>>>(\"";
    const char *raw = R"x(not<<<1, "1">>>(one) {{{)x";
    int thousand = 1'000, zero = text[0] == raw[0] ? 0 : 1; // not <<<1, 1>>>(one)

    add<<<1, 1>>>(&out[0], thousand + zero);
    add<int><<<dim3(1, 2), dim3{2, 1, 1}>>>(&out[1], 3);
    ::add<float> <<< 1,
        1, 0 >>> ((float *)&out[2],
                  1.5f);
    add_many<int, (3 > 2 ? 3 : 2)><<<1, 32>>>(&out[3]);
    add_static<<<1, 1>>>(&out[4]);
    ::add_unnamed<<<1, 1, 0, cudaStreamTailLaunch>>>(&out[4]);
    ::outer::inner::add<<<1, 2>>>(&out[5], 7);
    if (zero == 12)
        LAUNCH(add_static, 1)(&out[6]);
    else
        LAUNCH(add_static, 3)(&out[6]);
    outer::with_kernels{&out[7]}.launch();
    threadIdx.x == 0 ? add<<<1, 1>>>(&out[8], 5) : add<<<1, 1>>>(&out[8], 500);
    [&] { add<<<1, 1>>>(&out[9], 8); }();
    for (int i = 0; i < 3; add<<<1, 1>>>(&out[10], ++i))
        ;
}

/* ---- arguments */

__global__ void arguments(int *out)
{
    wide w = {{1, 2, 3, 4, 5}, true};

    elsewhere<<<1, 1>>>(w, make_float4(1, 2, 3, 4), true, -2, 0.5, out);
    elsewhere<<<1, 1>>>(wide(), float4(), false, 0, 0, out + 1);
}

/* ---- whose code it is */

__host__ __device__ void both(int *out)
{
    add<<<1, 1>>>(out, 20);
}

__global__ void calls_both(int *out)
{
    both(out);
}

template <class F> __global__ void call(F f)
{
    f();
}

template <class F, class G> void run_both(F f, G g)
{
    call<<<1, 1>>>(f);
    g();
}

static void lambdas(int *out)
{
    run_both([=] __device__() { add<<<1, 1>>>(out, 1); }, [&]() { add<<<1, 1>>>(out + 1, 2); });
    [&](int n) { add<<<1, n>>>(out + 2, 3); }(2);
}

/* ---- what the device's runtime says */

__global__ void runtime(int *out)
{
    int device = -1;
    cudaStream_t stream;

    out[0] = cudaGetDevice(&device) == cudaSuccess && device == 0;
    out[1] = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    add_static<<<1, 1, 0, stream>>>(out + 2);
    out[3] = cudaStreamDestroy(stream);
    add_static<<<1, 5000>>>(out + 4);
    out[5] = cudaGetLastError() != cudaSuccess;
    out[6] = cudaGetLastError();
    int *memory = nullptr;
    out[7] = cudaMalloc(&memory, sizeof(int)) == cudaSuccess && memory && cudaFree(memory) == cudaSuccess;
}

int main(void)
{
    static const int want[] = {1000, 12, 0, 3, 110, 14, 30, 4, 5, 8, 6};
    int *out;

    CHECK(cudaMallocManaged(&out, 256) == cudaSuccess);
    cudaMemset(out, 0, 256);
    names<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < 11; i++)
        if (i != 2 && out[i] != want[i])
            printf("names: [%d] is %d and should be %d\n", i, out[i], want[i]), failed = 1;
    CHECK(*(float *)&out[2] == 1.5f);

    cudaMemset(out, 0, 256);
    arguments<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(out[0] == 15 + 100 + 10 + 1000 - 2 + 5);
    CHECK(out[1] == 0);

    cudaMemset(out, 0, 256);
    both(out);
    calls_both<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(out[0] == 40);

    cudaMemset(out, 0, 256);
    lambdas(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(out[0] == 1 && out[1] == 2 && out[2] == 6);

    cudaMemset(out, 0, 256);
    runtime<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(out[0] == 1 && out[1] == 0 && out[2] == 10 && out[3] == 0);
    CHECK(out[4] == 0 && out[5] == 1 && out[6] == 0 && out[7] == 1);
    printf(failed ? "" : "all right\n");
    return failed;
}
