/* libcu++ declares __assert_fail() for both sides where assert() is off and the compiler is nvcc. */
#if !defined(NDEBUG) || !defined(__NVCC__)
#error "-DNDEBUG, by the name of nvcc"
#endif
#include <cassert>
#include <cstdio>

extern "C" __host__ __device__ void __assert_fail(const char *assertion, const char *file, unsigned line,
                                                  const char *function) noexcept __attribute__((noreturn));

__global__ void fail(int n)
{
    if (threadIdx.x == n)
        __assert_fail("n < 3", "some.h", 7, "fail");
}

int main(int argc, char **)
{
    if (argc > 3)
        __assert_fail("argc <= 3", "some.h", 8, "main");
    fail<<<1, 32>>>(40);
    bool none = cudaDeviceSynchronize() == cudaSuccess;
    fail<<<1, 32>>>(3);
    std::puts(none && cudaDeviceSynchronize() == cudaErrorAssert ? "all right" : "wrong");
    return 0;
}
