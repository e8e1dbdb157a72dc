/*
 * __nv_atomic_*: each operation and type by many threads, of which the results are known; orders and
 * scopes as they come. 16 bytes where the target has them, and vectors of floats.
 */
#include <cstdio>
#include <cstring>

typedef unsigned long long u64;
typedef unsigned __int128 u128;
struct alignas(8) pair {
    int key;
    float value;
};
struct alignas(16) wide {
    long long a, b;
};

struct state {
    wide exchanged, compared;
    u128 word, loaded;
    float4 four;
    float2 two;
    long long least64;
    u64 added64, most64, bits64;
    unsigned long words;
    double added_d;
    float added_f;
    int added, subtracted, least, taken[256], wins, locked, guarded;
    unsigned most, all_bits, any_bits, odd_bits;
    pair both;
    unsigned short half;
    unsigned char byte;
    int errors;
};

__global__ void arithmetic(state *s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = __nv_atomic_fetch_add(&s->added, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    if (at >= 0 && at < 256)
        __nv_atomic_add(&s->taken[at], 1, __NV_ATOMIC_SEQ_CST);
    __nv_atomic_sub(&s->subtracted, 3, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_min(&s->least, -i, __NV_ATOMIC_RELAXED);
    __nv_atomic_max(&s->most, 0x80000000u + i, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_CLUSTER);
    __nv_atomic_and(&s->all_bits, ~(1u << i % 8), __NV_ATOMIC_RELAXED);
    __nv_atomic_or(&s->any_bits, 1u << i % 16, __NV_ATOMIC_CONSUME);
    __nv_atomic_xor(&s->odd_bits, i, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_add(&s->added64, 1ull << 32, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_min(&s->least64, -((long long)i << 33), __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_max(&s->most64, ~0ull - 255 + i, __NV_ATOMIC_SEQ_CST);
    __nv_atomic_fetch_or(&s->bits64, 1ull << i % 64, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_add(&s->words, 2ul, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_add(&s->added_f, 0.5f, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_sub(&s->added_d, 0.25, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    pair now, then;
    __nv_atomic_load(&s->both, &now, __NV_ATOMIC_RELAXED);
    do {
        then.key = now.key + 1;
        then.value = now.value + 2;
    } while (!__nv_atomic_compare_exchange(&s->both, &now, &then, true, __NV_ATOMIC_ACQ_REL,
                                           __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE));
}

/* A lock and what it guards, by one thread of each block. */
__global__ void guard(state *s)
{
    int free = 0;
    while (!__nv_atomic_compare_exchange_n(&s->locked, &free, 1, false, __NV_ATOMIC_ACQUIRE,
                                           __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE))
        free = 0;
    s->guarded++;
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_store_n(&s->locked, 0, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
}

__global__ void single(state *s)
{
    int seven = 7, got;
    unsigned short expected = 4;
    s->half = 5;
    s->errors += __nv_atomic_compare_exchange_n(&s->half, &expected, (unsigned short)9, false,
                                                __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED) ||
                 expected != 5;
    s->errors += !__nv_atomic_compare_exchange_n(&s->half, &expected, (unsigned short)9, false,
                                                 __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED);
    __nv_atomic_store_n(&s->byte, (unsigned char)200, __NV_ATOMIC_RELEASE);
    s->errors += __nv_atomic_load_n(&s->byte, __NV_ATOMIC_ACQUIRE) != 200;
    s->errors += __nv_atomic_load_n(&s->half, __NV_ATOMIC_SEQ_CST) != 9;
    __nv_atomic_exchange(&s->wins, &seven, &got, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);
    s->errors += got != 0 || __nv_atomic_exchange_n(&s->wins, 8, __NV_ATOMIC_RELAXED) != 7;
#if __CUDA_ARCH__ >= 900
    u128 big = (u128)3 << 64 | 4;
    __nv_atomic_store_n(&s->word, big, __NV_ATOMIC_SEQ_CST);
    s->errors += __nv_atomic_load_n(&s->word, __NV_ATOMIC_ACQUIRE) != big;
    s->errors += __nv_atomic_exchange_n(&s->word, big + 1, __NV_ATOMIC_RELAXED) != big;
    s->errors += __nv_atomic_compare_exchange_n(&s->word, &big, (u128)0, false, __NV_ATOMIC_RELAXED,
                                                __NV_ATOMIC_RELAXED) ||
                 big != ((u128)3 << 64 | 5);
    s->errors += atomicCAS_system(&s->word, big, (u128)1 << 100) != big;
    s->errors += atomicExch_block(&s->word, (u128)0) != (u128)1 << 100;
#endif
}

#ifdef WIDE
__global__ void vectors(state *s)
{
    atomicAdd(&s->two, make_float2(1, 2));
    atomicAdd_block(&s->four, make_float4(1, 2, 3, 4));
    wide now = s->compared, old;
    do {
        old = now;
        now = atomicCAS(&s->compared, old, wide{old.a + 1, old.b - 1});
    } while (now.a != old.a || now.b != old.b);
    now = atomicExch(&s->exchanged, wide{threadIdx.x, -(long long)threadIdx.x});
    if (now.a != -now.b)
        atomicAdd(&s->errors, 1);
}
#endif

int main()
{
    state *s;
    int wrong = 0, n = 256;
    cudaMallocManaged(&s, sizeof(*s));
    memset((void *)s, 0, sizeof(*s));
    s->all_bits = ~0u;
    arithmetic<<<4, 64>>>(s);
    guard<<<64, 1>>>(s);
    single<<<1, 1>>>(s);
#ifdef WIDE
    vectors<<<1, 256>>>(s);
#endif
    if (cudaDeviceSynchronize() != cudaSuccess)
        return std::puts("a launch failed"), 1;
#define CHECK(is)                                                                                  \
    if (!(is))                                                                                     \
    printf("not so: %s\n", #is), wrong++
    CHECK(s->added == n);
    for (int i = 0; i < n; i++)
        wrong += s->taken[i] != 1;
    CHECK(s->subtracted == -3 * n);
    CHECK(s->least == 1 - n);
    CHECK(s->most == 0x80000000u + n - 1);
    CHECK(s->all_bits == 0xffffff00u);
    CHECK(s->any_bits == 0xffffu);
    CHECK(s->odd_bits == 0);
    CHECK(s->added64 == (u64)n << 32);
    CHECK(s->least64 == -((long long)(n - 1) << 33));
    CHECK(s->most64 == ~0ull);
    CHECK(s->bits64 == ~0ull);
    CHECK(s->words == 2ul * n);
    CHECK(s->added_f == n / 2);
    CHECK(s->added_d == -n / 4);
    CHECK(s->both.key == n && s->both.value == 2 * n);
    CHECK(s->guarded == 64);
    CHECK(s->errors == 0);
#ifdef WIDE
    CHECK(s->two.x == n && s->two.y == 2 * n);
    CHECK(s->four.x == n && s->four.y == 2 * n && s->four.z == 3 * n && s->four.w == 4 * n);
    CHECK(s->compared.a == n && s->compared.b == -n);
#endif
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
