#pragma once
#include <cuda_runtime.h>

extern __device__ int offset;
extern __managed__ int calls;
__device__ int part(int x);
__device__ int other(int x);
int other_on_host(int *result);
