// Asynchronous copies as CUDA programs write them: __pipeline_memcpy_async, cuda::barrier with states and drops,
// cuda::pipeline shared by a block, with and without roles. Says PASS, or what is wrong.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;
typedef cuda::barrier<cuda::thread_scope_block> block_barrier;

enum { THREADS = 128, ITEMS = 16, N = THREADS * ITEMS };

// Blocks of 16 bytes, turned round by thread; of every other one the last 6 bytes are zeroes.
__global__ void primitives(const int4 *in, int4 *out)
{
    __shared__ int4 s[THREADS];
    for (int i = 0; i < ITEMS; i++) {
        unsigned t = threadIdx.x;
        __pipeline_memcpy_async(&s[t], &in[i * THREADS + t], 16, i & 1 ? 6 : 0);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        out[i * THREADS + t] = s[THREADS - 1 - t];
        __syncthreads();
    }
}

// Every thread adds what its right neighbour left; half of the threads leave after half of the turns.
__global__ void barriers(int *out)
{
    __shared__ block_barrier bar;
    __shared__ int s[2][THREADS];
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        init(&bar, THREADS);
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) {
        if (i == ITEMS / 2 && t >= THREADS / 2) {
            bar.arrive_and_drop();
            break;
        }
        s[i & 1][t] = t * 3 + i;
        block_barrier::arrival_token token = bar.arrive();
        sum += i;
        bar.wait(std::move(token));
        sum += s[i & 1][(t + 1) % (i < ITEMS / 2 ? THREADS : THREADS / 2)];
    }
    out[t] = sum;
}

// Two stages; all threads copy and all compute.
__global__ void unified(const int *in, int *out)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int s[2][THREADS];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, sum = 0;
    for (int next = 0, i = 0; i < ITEMS; i++) {
        for (; next < ITEMS && next < i + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[next & 1][t], &in[next * THREADS + t], sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        __syncthreads();
        sum = sum * 3 + s[i & 1][t ^ 1];
        __syncthreads();
        pipe.consumer_release();
    }
    out[t] = sum;
}

// The first warp copies, the others compute.
__global__ void roles(const int *in, int *out)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ alignas(16) int s[2][THREADS];
    auto block = cg::this_thread_block();
    int t = threadIdx.x, sum = 0;
    auto role = t < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    for (int i = 0; i < ITEMS; i++) {
        if (t < 32) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[i & 1][4 * t], &in[i * THREADS + 4 * t], cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum = sum * 3 + s[i & 1][t ^ 1];
            pipe.consumer_release();
        }
    }
    out[t] = sum;
}

// A whole group copies what one barrier waits for.
__global__ void group_copy(const int *in, int *out)
{
    __shared__ block_barrier bar;
    __shared__ alignas(16) int s[N / 2];
    auto block = cg::this_thread_block();
    int t = threadIdx.x, sum = 0;
    if (t == 0)
        init(&bar, THREADS);
    block.sync();
    for (int half = 0; half < 2; half++) {
        cuda::memcpy_async(block, s, in + half * (N / 2), cuda::aligned_size_t<16>(sizeof(s)), bar);
        bar.arrive_and_wait();
        for (int i = 0; i < ITEMS / 2; i++)
            sum = sum * 3 + s[i * THREADS + (t ^ 5)];
        block.sync();
    }
    out[t] = sum;
}

static int in[4 * N], out[4 * N], bad;

static void expect(const char *what, int at, int want)
{
    if (out[at] != want && !bad++)
        printf("%s: %d is %d, not %d\n", what, at, out[at], want);
}

static int folded(int t)
{
    unsigned sum = 0;
    for (int i = 0; i < ITEMS; i++)
        sum = sum * 3 + (unsigned)in[i * THREADS + t];
    return (int)sum;
}

static void fetch(int *d_out, const char *what)
{
    cudaError_t e = cudaMemcpy(out, d_out, sizeof(out), cudaMemcpyDeviceToHost);
    if (e != cudaSuccess && !bad++)
        printf("%s: %s\n", what, cudaGetErrorString(e));
}

static void check_primitives()
{
    for (int i = 0; i < 4 * N; i++) {
        int item = i / 4 / THREADS, t = i / 4 % THREADS, word = in[4 * (item * THREADS + THREADS - 1 - t) + i % 4];
        int cut = i % 4 == 2 ? word & 0xffff : i % 4 == 3 ? 0 : word;
        expect("primitives", i, item & 1 ? cut : word);
    }
}

static void check_barriers()
{
    for (int t = 0; t < THREADS; t++) {
        int sum = 0;
        for (int i = 0; i < (t < THREADS / 2 ? ITEMS : ITEMS / 2); i++)
            sum += i + (t + 1) % (i < ITEMS / 2 ? THREADS : THREADS / 2) * 3 + i;
        expect("barriers", t, sum);
    }
}

int main()
{
    int *d_in, *d_out;
    for (int i = 0; i < 4 * N; i++)
        in[i] = (int)(i * 0x01234567u + 0x0badcafeu);
    cudaMalloc(&d_in, sizeof(in));
    cudaMalloc(&d_out, sizeof(out));
    cudaMemcpy(d_in, in, sizeof(in), cudaMemcpyHostToDevice);

    primitives<<<1, THREADS>>>((const int4 *)d_in, (int4 *)d_out);
    fetch(d_out, "primitives");
    check_primitives();
    barriers<<<3, THREADS>>>(d_out);
    fetch(d_out, "barriers");
    check_barriers();
    unified<<<2, THREADS>>>(d_in, d_out);
    fetch(d_out, "unified");
    for (int t = 0; t < THREADS; t++)
        expect("unified", t, folded(t ^ 1));
    roles<<<2, THREADS>>>(d_in, d_out);
    fetch(d_out, "roles");
    for (int t = 32; t < THREADS; t++)
        expect("roles", t, folded(t ^ 1));
    group_copy<<<2, THREADS>>>(d_in, d_out);
    fetch(d_out, "group_copy");
    for (int t = 0; t < THREADS; t++)
        expect("group_copy", t, folded(t ^ 5));
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad != 0;
}
