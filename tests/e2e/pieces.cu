/* Accesses of 16 bytes by each lane in any order, by all lanes of a warp and by some. Says PASS, or what is wrong. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { THREADS = 256, BLOCKS = 8, N = THREADS * BLOCKS };

/* What `order` says of global memory, through any order of shared memory: the first `some` threads of each block. */
template <class T> __global__ void move(const T *from, T *to, const int *order, int some)
{
    __shared__ T tile[THREADS];
    int at = order[blockIdx.x * THREADS + threadIdx.x], mine = threadIdx.x * 37 % THREADS;

    if ((int)threadIdx.x < some)
        tile[mine] = from[at];
    __syncthreads();
    if ((int)threadIdx.x < some) {
        T x = tile[mine];
        x.y += 1;
        to[at] = x;
    }
}

/* As copies that run beside the block are written. */
__global__ void copy(const float4 *from, float4 *to, const int *order, int some)
{
    __shared__ float4 tile[THREADS];
    int at = order[blockIdx.x * THREADS + threadIdx.x], mine = threadIdx.x * 37 % THREADS;

    if ((int)threadIdx.x < some)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(&tile[mine])), "l"(from + at) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if ((int)threadIdx.x < some) {
        float4 x = tile[mine];
        x.y += 1;
        to[at] = x;
    }
}

static int order[N], *device_order;

template <class T, class K> static int check(const char *name, K kernel)
{
    static T from[N], to[N];
    T *device_from, *device_to;
    int bad = 0;

    cudaMalloc(&device_from, sizeof(from));
    cudaMalloc(&device_to, sizeof(to));
    for (int i = 0; i < N; i++)
        from[i].x = i, from[i].y = 2 * i + 1;
    cudaMemcpy(device_from, from, sizeof(from), cudaMemcpyHostToDevice);
    for (int some = THREADS; some > 0; some -= 45) {
        cudaMemset(device_to, 0, sizeof(to));
        kernel<<<BLOCKS, THREADS>>>(device_from, device_to, device_order, some);
        if (cudaMemcpy(to, device_to, sizeof(to), cudaMemcpyDeviceToHost) != cudaSuccess)
            return printf("%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
        for (int i = 0; i < N; i++) {
            T want = from[order[i]];
            want.y += 1;
            if (i % THREADS >= some)
                memset(&want, 0, sizeof(want));
            bad += memcmp(&want, &to[order[i]], sizeof(want)) != 0;
        }
    }
    if (bad)
        printf("%s: %d wrong\n", name, bad);
    return bad;
}

int main()
{
    srand(1);
    for (int i = 0; i < N; i++) { /* each change of places leaves a permutation */
        int j = rand() % (i + 1);
        order[i] = order[j], order[j] = i;
    }
    cudaMalloc(&device_order, sizeof(order));
    cudaMemcpy(device_order, order, sizeof(order), cudaMemcpyHostToDevice);
    int bad = check<float4>("float4", move<float4>) + check<uint4>("uint4", move<uint4>) + check<double2>("double2", move<double2>) +
              check<longlong2>("longlong2", move<longlong2>) + check<float4>("cp.async", copy);
    if (!bad)
        puts("PASS");
    return bad != 0;
}
