/* What the debugger's tests look at; they find places by the comments "mark:". */
#include <stdio.h>

struct pair {
    int a;
    float b[2];
};

__device__ int counter;

namespace space {
__managed__ pair both = {7, {0.5f, 1.5f}};
}
__managed__ int many[3] = {1, 2, 3};

__device__ __noinline__ int helper(int x, pair *p)
{
    int y = x * 3; /* mark: helper */
    p->a += y;
    return y + 1;
}

__device__ __forceinline__ int twice(int v)
{
    int w = v + v; /* mark: twice */
    return w;
}

extern "C" __global__ void kern(int *out, const float *in, int n)
{
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x; /* mark: first */
    pair p;
    p.a = i; /* mark: pair */
    p.b[0] = 0.5f;
    p.b[1] = 1.5f;
    if (i < n) {
        tile[threadIdx.x] = in[i];
        __syncthreads();
        int h = helper(i, &p); /* mark: call */
        h += twice(h);         /* mark: inlined */
        out[i] = h + (int)tile[threadIdx.x] + p.a; /* mark: store */
    }
}

struct three {
    double a, b, c;
};

__device__ __noinline__ float half_of(float x)
{
    return x / 2;
}

__device__ __noinline__ three make(double x)
{
    three t;
    t.a = x;
    t.b = 2 * x;
    t.c = 3 * x;
    return t;
}

extern "C" __global__ void returns(float *out)
{
    float f = half_of(threadIdx.x + 1.0f);
    three t = make(f);
    out[threadIdx.x] = (float)t.c;
}

extern "C" __global__ void count(int *out)
{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    if (threadIdx.x % 2)
        atomicAdd(&total, (int)threadIdx.x); /* mark: odd */
    else
        atomicAdd(&counter, 1); /* mark: even */
    __syncthreads();
    if (threadIdx.x == 0) /* mark: together */
        out[blockIdx.x] = total;
}

extern "C" __global__ void wild(int *p)
{
    p[threadIdx.x * 1000000000l] = 1; /* mark: wild */
}

extern "C" __global__ void spin(volatile int *flag, int *out)
{
    while (!*flag) { /* mark: spin */
    }
    *out = 7;
}

static void say(const char *what, const int *values, int n)
{
    printf("%s", what);
    for (int i = 0; i < n; i++)
        printf(" %d", values[i]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "kern";
    many[1] = space::both.a + 13;
    int *out;
    float *in;
    cudaMallocManaged(&out, 64 * sizeof(int));
    cudaMallocManaged(&in, 64 * sizeof(float));
    for (int i = 0; i < 64; i++)
        in[i] = (float)i;
    if (what[0] == 'k') {
        kern<<<2, 32>>>(out, in, 64);
        cudaDeviceSynchronize();
        say("kern", out, 64);
    } else if (what[0] == 'c') {
        count<<<2, 64>>>(out);
        cudaDeviceSynchronize();
        say("count", out, 2);
    } else if (what[0] == 'r') {
        returns<<<1, 32>>>(in);
        cudaDeviceSynchronize();
        printf("returns %g\n", in[31]);
    } else if (what[0] == 'w') {
        wild<<<1, 32>>>(out);
        printf("wild %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    } else if (what[0] == 's') {
        out[0] = out[1] = 0;
        spin<<<1, 32>>>(out, out + 1);
        if (what[4])
            say(what, NULL, 0);
        cudaDeviceSynchronize();
        say("spin", out, 2);
    }
    return argc > 2 ? 3 : 0;
}
