/* Launches the kernels of stub_names.cu as functions that some other file defines. */
#include "stub_names.h"

#include <cstdio>

namespace deep {
void fill(const struct parameters p);
}
template <typename T> void twice(T *at);
extern template void twice<int>(int *);
extern "C" void increment(int *at);
void of_a_length_of_86_bytes_which_a_compiler_writes_as_two_digits_of_its_mangled_form_____(int *at);
void launch_add_ten(int *at);

static void launch(const void *kernel, void *argument)
{
    void *arguments[] = {argument};
    cudaLaunchKernel(kernel, dim3(1), dim3(LANES), arguments, 0, 0);
}

int main()
{
    struct parameters p = {};
    void (*of_template)(int *) = twice<int>;

    p.value = 20;
    cudaMallocManaged(&p.at, LANES * sizeof(*p.at));
    launch((const void *)deep::fill, &p);
    launch((const void *)of_template, &p.at);
    launch((const void *)increment, &p.at);
    launch((const void *)of_a_length_of_86_bytes_which_a_compiler_writes_as_two_digits_of_its_mangled_form_____, &p.at);
    launch_add_ten(p.at);
    bool good = cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess;
    for (int i = 0; i < LANES; i++)
        good &= p.at[i] == 20 * 2 + 1 + 100 + 10;
    puts(good ? "all right" : "wrong");
    return !good;
}
