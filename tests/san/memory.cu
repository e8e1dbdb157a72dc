/* Wrong uses of memory, one by name; test_memory_programs.py knows what the checker says of each. */
#include <stdio.h>
#include <string.h>

__device__ int table[10];
__constant__ int constants[4];

__global__ void store(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        p[i] = i; // out of bounds
}
__global__ void load4(const int4 *p, int4 *out) { out[threadIdx.x] = p[threadIdx.x]; }
__global__ void odd(char *p) { *(int *)(p + 1) = 3; }
__global__ void variable(int i) { table[i] = 1; }
__global__ void constant(int *out, int i) { *out = constants[i]; }
__global__ void window(int *out, int i)
{
    __shared__ int s[4];
    s[(threadIdx.x + i) & 63] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x & 3];
}
/* Addresses below 0 that a constant offset brings back, as compilers make them. */
__global__ void wrap(int *out, int step)
{
    __shared__ int s[64];
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        s[i] = i;
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s) - 64 * threadIdx.x;
    int sum = 0, x;
    for (int i = 0; i < 3; i++, at -= step) {
        asm volatile("ld.shared.b32 %0, [%1+192];" : "=r"(x) : "r"(at));
        sum += x;
    }
    out[threadIdx.x] = sum;
}
__device__ int *volatile kept[32]; /* compilers know what malloc() and free() do */
__global__ void heap(int what)
{
    kept[threadIdx.x] = (int *)malloc(16);
    int *p = kept[threadIdx.x];
    p[threadIdx.x] = 1;
    if (what == 1)
        p[4] = 1;
    if (what == 2)
        free(p + 1);
    if (what < 4)
        free(p);
    if (what == 3)
        free(p);
}
__global__ void add(const int *p, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = p[i] + i;
}
__global__ void count(int *p) { atomicAdd(p, 1); }
__global__ void half_shared(int *out)
{
    __shared__ int s[32];
    if (threadIdx.x < 16)
        s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void trap() { asm volatile("trap;"); }

static int host[64];
static int *p, *q;
static cudaStream_t a, b;
static cudaEvent_t event;

static int memcheck(const char *name)
{
    if (!strcmp(name, "after"))
        store<<<2, 64>>>(p, 100);
    else if (!strcmp(name, "before"))
        store<<<1, 1>>>(p - 1, 100);
    else if (!strcmp(name, "crossing"))
        load4<<<1, 26>>>((int4 *)((char *)p + 16), (int4 *)q);
    else if (!strcmp(name, "odd"))
        odd<<<1, 2>>>((char *)p);
    else if (!strcmp(name, "variable"))
        variable<<<1, 1>>>(10);
    else if (!strcmp(name, "constant"))
        constant<<<1, 1>>>(p, 4);
    else if (!strcmp(name, "shared"))
        window<<<1, 4>>>(p, 1);
    else if (!strcmp(name, "wrapped"))
        wrap<<<1, 4>>>(p, 0);
    else if (!strcmp(name, "wrapped_out"))
        wrap<<<1, 4>>>(p, 4);
    else if (!strcmp(name, "pageable"))
        store<<<1, 1>>>(host, 1);
    else if (!strcmp(name, "null"))
        store<<<1, 1>>>(NULL, 1);
    else if (!strcmp(name, "heap"))
        heap<<<1, 2>>>(1);
    else if (!strcmp(name, "invalid_free"))
        heap<<<1, 1>>>(2);
    else if (!strcmp(name, "double_free"))
        heap<<<1, 1>>>(3);
    else if (!strcmp(name, "heap_leak"))
        heap<<<1, 2>>>(4);
    else if (!strcmp(name, "fine"))
        store<<<2, 64>>>(p, 99);
    else if (!strcmp(name, "trap"))
        trap<<<1, 1>>>();
    else
        return 0;
    return 1;
}

static int life(const char *name)
{
    int *r = NULL;
    if (!strcmp(name, "freed")) {
        variable<<<1, 1>>>(0); /* the module's memory does not take p's place */
        cudaFree(p);
        store<<<1, 1>>>(p, 1);
    } else if (!strcmp(name, "free_twice")) {
        cudaFree(p);
        cudaFree(p);
    } else if (!strcmp(name, "registered")) {
        cudaHostRegister(host, sizeof(host), 0);
        store<<<1, 64>>>(host, 63);
        cudaDeviceSynchronize();
        cudaHostUnregister(host);
    } else if (!strcmp(name, "reset")) {
        cudaDeviceReset();
    } else if (!strcmp(name, "order")) {
        for (int i = 0; i < 50; i++) {
            cudaMallocAsync(&r, 4 * (64 - i), a);
            cudaMemsetAsync(r, 0, 4 * (64 - i), a);
            store<<<1, 64, 0, a>>>(r, 63 - i);
            cudaFreeAsync(r, a);
        }
    } else if (!strcmp(name, "early")) {
        cudaMallocAsync(&r, 256, a);
        store<<<1, 1, 0, b>>>(r, 1);
    } else if (!strcmp(name, "awaited")) {
        cudaMallocAsync(&r, 256, a);
        cudaEventRecord(event, a);
        cudaStreamWaitEvent(b, event, 0);
        store<<<1, 1, 0, b>>>(r, 1);
        cudaEventRecord(event, b);
        cudaStreamWaitEvent(a, event, 0);
        cudaFreeAsync(r, a);
    } else if (!strcmp(name, "late")) {
        cudaMallocAsync(&r, 256, a);
        cudaStreamSynchronize(a);
        store<<<1, 1, 0, b>>>(r, 1);
        cudaFreeAsync(r, a);
    } else {
        return 0;
    }
    return 1;
}

static int initcheck(const char *name)
{
    if (!strcmp(name, "part")) {
        cudaMemset(p, 0, 64);
        add<<<1, 64>>>(p, q);
    } else if (!strcmp(name, "all")) {
        cudaMemset(p, 0, 256);
        add<<<1, 64>>>(p, q);
        cudaMemcpy(host, q, 256, cudaMemcpyDeviceToHost);
    } else if (!strcmp(name, "atomic")) {
        count<<<1, 2>>>(p);
    } else if (!strcmp(name, "to_host")) {
        cudaMemcpy(host, p, 256, cudaMemcpyDeviceToHost);
    } else if (!strcmp(name, "half_shared")) {
        half_shared<<<1, 32>>>(q);
    } else if (!strcmp(name, "copied")) {
        cudaMemcpy(p, host, 128, cudaMemcpyHostToDevice);
        cudaMemcpy(q, p, 256, cudaMemcpyDeviceToDevice);
        add<<<1, 64>>>(q, p);
    } else if (!strcmp(name, "graph")) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
        cudaMemsetAsync(p, 0, 256, a);
        add<<<1, 64, 0, a>>>(p, q);
        cudaMemcpyAsync(host, q, 256, cudaMemcpyDeviceToHost, a);
        cudaStreamEndCapture(a, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, a);
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    cudaMalloc((void **)&p, 400);
    cudaMalloc((void **)&q, 512);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    if (!memcheck(name) && !life(name) && !initcheck(name))
        return 2;
    cudaDeviceSynchronize();
    return 0;
}
