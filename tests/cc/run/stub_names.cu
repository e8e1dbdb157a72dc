/* Kernels that stub_names.cpp, of another compiler, launches by their names. */
#include "stub_names.h"

namespace deep {
__global__ void fill(const struct parameters p)
{
    p.at[threadIdx.x] = p.value;
}
}

template <typename T> __global__ void twice(T *at)
{
    at[threadIdx.x] *= 2;
}
template __global__ void twice<int>(int *);
template __global__ void twice<float>(float *);

extern "C" __global__ void increment(int *at)
{
    at[threadIdx.x] += 1;
}

/* The length of its name has two digits, that of clang's name for it three. */
__global__ void of_a_length_of_86_bytes_which_a_compiler_writes_as_two_digits_of_its_mangled_form_____(int *at)
{
    at[threadIdx.x] += 100;
}

static __global__ void add_ten(int *at)
{
    at[threadIdx.x] += 10;
}

void launch_add_ten(int *at)
{
    add_ten<<<1, LANES>>>(at);
}
