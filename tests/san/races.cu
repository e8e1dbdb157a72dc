/* Races and none, one by name; test_race_programs.py knows which. What compiled code need not ask
 * about is what these try. */
#include <cstdio>
#include <cstring>

__device__ int table[4096];
__device__ int *pointer;

/* Reads where it does not write, unless both are the same. */
__global__ void shift(int *out, const int *in) { out[threadIdx.x + 1] = in[threadIdx.x]; }
__global__ void shift_far(int *out, int at, const int *in)
{
    out[blockIdx.x * blockDim.x + threadIdx.x + at] = in[threadIdx.x];
}
__global__ void through_pointer(const int *in)
{
    pointer[threadIdx.x + 1] = in[threadIdx.x];
}
__global__ void through_variable(const int *in) { table[threadIdx.x + 1] = in[threadIdx.x]; }
__global__ void chosen(int *a, int *b, int which, const int *in)
{
    int *to = which ? a : b;
    to[threadIdx.x + 1] = in[threadIdx.x];
}
__global__ void counts(int *out, const int *in) { atomicAdd(out + in[threadIdx.x], 1); }

template <bool before, bool after> __global__ void tiles(int *out, const int *in, int n)
{
    __shared__ int tile[128];
    int sum = 0;
    for (int i = 0; i < n; i++) {
        tile[threadIdx.x] = in[threadIdx.x];
        if (before)
            __syncthreads();
        for (int k = 0; k < 128; k++)
            sum += tile[k];
        if (after)
            __syncthreads();
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}
/* Half of the block writes what the other half reads, each behind a barrier of its own. */
__global__ void halves(int *out)
{
    __shared__ int s[128];
    s[threadIdx.x] = 1;
    if (threadIdx.x < 64) {
        __syncthreads();
        out[threadIdx.x] = s[threadIdx.x + 64];
    } else {
        __syncthreads();
        s[threadIdx.x] = 2;
    }
}
__global__ void rows(int *out)
{
    __shared__ int s[32][33];
    s[threadIdx.y][threadIdx.x] = 1;
    if (threadIdx.y == 0)
        __syncwarp();
    else
        __syncthreads(); /* not of all */
    out[threadIdx.x] = s[threadIdx.x][threadIdx.y];
}

/* Two stages of copies, as pipelines have them; `left` groups may be on their way at each read. */
template <int left, bool own> __global__ void copied(int *out, const int *in, int n)
{
    __shared__ int stage[2][128];
    int sum = 0;
    for (int i = -1; i < n; i++) {
        if (i + 1 < n) {
            unsigned to = (unsigned)__cvta_generic_to_shared(&stage[(i + 1) & 1][threadIdx.x]);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
                         "l"(in + (i + 1) * 128 + threadIdx.x)
                         : "memory");
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (i < 0)
            continue;
        asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
        if (!own)
            __syncthreads();
        sum += stage[i & 1][own ? threadIdx.x : 127 - threadIdx.x];
        if (!own)
            __syncthreads();
    }
    out[threadIdx.x] = sum;
}
template <bool waits> __global__ void copied_mbarrier(int *out, const int *in)
{
    __shared__ int stage[128];
    __shared__ unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned to = (unsigned)__cvta_generic_to_shared(&stage[threadIdx.x]);

    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 128;" ::"r"(bar) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory");
    for (unsigned done = !waits; !done;)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(bar)
                     : "memory");
    out[threadIdx.x] = stage[127 - threadIdx.x];
}

/* Each row of the block adds to the same words. GPUs give the sum of one row: all have read theirs
 * before one is written. (PolyBench's mvt) */
template <bool one> __global__ void sums_of_rows(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (one && threadIdx.y)
        return;
    for (int k = 0; k < n; k++)
        out[i] += in[k];
}
/* The same with the sum in a register until the end. */
__global__ void late_sums_of_rows(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = out[i];
    for (int k = 0; k < n; k++)
        sum += in[k];
    out[i] = sum;
}

static void run(const char *name, int *p, int *q)
{
    if (!strcmp(name, "apart"))
        shift<<<1, 128>>>(p, q);
    else if (!strcmp(name, "alias"))
        shift<<<1, 128>>>(p, p);
    else if (!strcmp(name, "one_allocation"))
        shift<<<1, 128>>>(p, p + 256);
    else if (!strcmp(name, "far"))
        shift_far<<<2, 128>>>(p, 256, p);
    else if (!strcmp(name, "far_alias"))
        shift_far<<<2, 128>>>(p, 64, p);
    else if (!strcmp(name, "through_pointer") || !strcmp(name, "other_pointer")) {
        cudaMemcpyToSymbol(pointer, &p, sizeof p);
        through_pointer<<<1, 128>>>(name[0] == 't' ? p : q);
    } else if (!strcmp(name, "through_variable")) {
        int *at;
        cudaGetSymbolAddress((void **)&at, table);
        through_variable<<<1, 128>>>(at);
    } else if (!strcmp(name, "chosen"))
        chosen<<<1, 128>>>(p, q, 0, q);
    else if (!strcmp(name, "counted"))
        counts<<<1, 128>>>(p, p);
    else if (!strcmp(name, "tiles"))
        tiles<true, true><<<2, 128>>>(p, q, 3);
    else if (!strcmp(name, "tiles_before"))
        tiles<false, true><<<2, 128>>>(p, q, 3);
    else if (!strcmp(name, "tiles_after"))
        tiles<true, false><<<2, 128>>>(p, q, 3);
    else if (!strcmp(name, "halves"))
        halves<<<1, 128>>>(p);
    else if (!strcmp(name, "rows"))
        rows<<<1, dim3(32, 32)>>>(p);
    else if (!strcmp(name, "sums_of_rows"))
        sums_of_rows<false><<<2, dim3(32, 8)>>>(p, q, 9);
    else if (!strcmp(name, "sums_of_one_row"))
        sums_of_rows<true><<<2, dim3(32, 8)>>>(p, q, 9);
    else if (!strcmp(name, "late_sums_of_rows"))
        late_sums_of_rows<<<2, dim3(32, 8)>>>(p, q, 9);
    else if (!strcmp(name, "copied"))
        copied<1, false><<<2, 128>>>(p, q, 4);
    else if (!strcmp(name, "copied_all"))
        copied<0, false><<<2, 128>>>(p, q, 4);
    else if (!strcmp(name, "copied_own"))
        copied<1, true><<<2, 128>>>(p, q, 4);
    else if (!strcmp(name, "copied_early"))
        copied<2, false><<<2, 128>>>(p, q, 4);
    else if (!strcmp(name, "copied_own_early"))
        copied<2, true><<<2, 128>>>(p, q, 4);
    else if (!strcmp(name, "copied_mbarrier"))
        copied_mbarrier<true><<<1, 128>>>(p, q);
    else if (!strcmp(name, "copied_mbarrier_early"))
        copied_mbarrier<false><<<1, 128>>>(p, q);
}

int main(int argc, char **argv)
{
    int *p, *q;

    cudaMalloc(&p, 4096 * sizeof *p);
    cudaMalloc(&q, 4096 * sizeof *q);
    cudaMemset(p, 0, 4096 * sizeof *p);
    cudaMemset(q, 0, 4096 * sizeof *q);
    run(argc > 1 ? argv[1] : "", p, q);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
