/* Every half and bfloat16 as a char, on both sides: toward zero, into the range, 0 for what is no number. */
#include <cmath>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { ALL = 65536 };

template <class T> __host__ __device__ T from_bits(unsigned bits)
{
    unsigned short b = (unsigned short)bits;
    T v;
    memcpy(&v, &b, sizeof(b));
    return v;
}

__host__ __device__ int both(__half v)
{
    return (__half2char_rz(v) & 255) << 8 | __half2uchar_rz(v);
}

__host__ __device__ int both(__nv_bfloat16 v)
{
    return (__bfloat162char_rz(v) & 255) << 8 | __bfloat162uchar_rz(v);
}

template <class T> __host__ __device__ int by_operators(T v)
{
    return ((signed char)v & 255) << 8 | (unsigned char)v;
}

template <class T> __global__ void convert(int *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    T v = from_bits<T>(i);
    out[i] = both(v) << 16 | by_operators(v);
}

static int limited(float f, float lo, float hi)
{
    return f != f ? 0 : (int)fminf(fmaxf(truncf(f), lo), hi);
}

template <class T> static int check(const char *name)
{
    int *out, wrong = 0;
    cudaMallocManaged(&out, ALL * sizeof(int));
    convert<T><<<ALL / 256, 256>>>(out);
    cudaDeviceSynchronize();
    for (unsigned i = 0; i < ALL; i++) {
        T v = from_bits<T>(i);
        int want = (limited((float)v, -128, 127) & 255) << 8 | limited((float)v, 0, 255);
        bool good = out[i] == (want << 16 | want) && both(v) == want && by_operators(v) == want;
        if (!good && wrong++ < 5)
            std::printf("%s %04x: %08x, host %04x, wanted %04x\n", name, i, (unsigned)out[i], (unsigned)both(v), (unsigned)want);
    }
    cudaFree(out);
    return wrong;
}

int main()
{
    if (check<__half>("half") + check<__nv_bfloat16>("bfloat16") == 0)
        std::puts("all right");
}
