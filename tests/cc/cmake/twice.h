#pragma once
__host__ __device__ inline int twice(int x)
{
    return 2 * x;
}
