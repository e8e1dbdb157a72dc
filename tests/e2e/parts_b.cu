/* See parts_a.cu. */
#include "parts.h"

struct square : shape {
    int side;
    __device__ square(int side) : side(side) {}
    __device__ int area() override { return side * side; }
};

static __device__ int same() { return 2; }

__device__ int counter = 33;
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int helper(int x) { return x + 2; }
__device__ int squared(int x) { return x * x; }
__device__ int (*functions[2])(int) = {helper, squared};
__device__ shape *make_shape(int side) { return new square(side); }
__device__ int other_instance() { return instance(100); }
__device__ int other_same() { return same(); }
