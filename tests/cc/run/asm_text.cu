/* Text as an operand of assembly: constraint "C" (Inline PTX Assembly in CUDA, 1.2). */
#include <cstdio>
#include <cstring>

__device__ constexpr char wide[] = "wide";
static __device__ const char lane[] = "%laneid";
struct member {
    static constexpr char text[] = "sub";
};
template <int N> struct names;
template <> struct names<0> {
    static constexpr char text[] = "add";
};
template <> struct names<1> {
    static constexpr char text[] = "mul.lo";
};
namespace deep {
constexpr char lines[] = "{\n\t.reg .u32 t;\n\tmov.u32 t, 40;\n\tadd";
constexpr char nothing[] = "";
}

template <int N> __device__ int apply(int a, int b)
{
    int r;

    asm volatile("%3.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b), "C"(names<N>::text) : "memory");
    return r;
}

template <const char *TEXT> __device__ int applied(int a, int b)
{
    int r;

    asm("%1.s32 %0, %2, %3;" : "=r"(r) : "C"(TEXT), "r"(a), "r"(b));
    return r;
}

template <typename T> __device__ void both(T *out)
{
    static constexpr char local[] = "min";
    static constexpr char type[] = "s32";
    int r = 9;

    asm("%1.%2 %0, %0, %3;" : "+r"(r) : "C"(local), "C"(type), "r"(4));
    asm("{ %1.%2 %0, %0, 3; %4.%2 %0, %0, 1; }" : "+r"(r) : "C"(local), "C"(type), "r"(4), "C"(names<0>::text));
    out[8] = r;
}

__global__ void kernel(long long *out, int a)
{
    long long r;
    unsigned u;

    asm("mul.%1.s32 %0,%2,%3;" : "=l"(r) : "C"(wide), "r"(a), "n"(7));
    out[0] = r;
    out[1] = apply<0>(5, 3);
    out[2] = apply<1>(5, 3);
    out[3] = applied<member::text>(5, 3);
    asm("mov.u32 %0, %1;" : "=r"(u) : "C"(lane));
    out[4] = u;
    asm("%1.u32 %0, t, 2;\n\t}" : "=r"(u) : "C"(deep::lines));
    out[5] = u;
    asm("add%2.u32 %0, %1, 2;" : "=r"(u) : "r"(a), "C"(deep::nothing));
    out[6] = u - a;
    asm("mov.u32 %0, %%laneid; %1.u32 %0, %2, 2;" : "=r"(u) : "C"(names<0>::text), "r"(5));
    out[7] = u;
    both(out);
}

int main()
{
    static const long long want[] = {7ll << 30, 8, 15, 2, 0, 42, 2, 7, 4};
    long long *out;
    int wrong = 0;

    cudaMallocManaged(&out, sizeof(want));
    kernel<<<1, 1>>>(out, 1 << 30);
    cudaError_t error = cudaDeviceSynchronize();
    for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++)
        if (out[i] != want[i])
            wrong += printf("%u: %lld\n", i, out[i]);
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(error));
    return wrong != 0;
}
