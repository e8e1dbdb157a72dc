/* Which space an address is in: constants are in none of the others. */
#include <cstdio>

__constant__ int constant[4];
__device__ int global[4];

__global__ void kernel(int *o, const int *plain, int i)
{
    __shared__ int shared[4];
    int local[4] = {i, i, i, i};
    const int *addresses[] = {&constant[i], &global[i], &shared[i], &local[i], plain};

    o[0] = __isConstant(&constant[i]) && __isConstant(constant) && !__isGlobal(&constant[1]) && !__isShared(constant) && !__isLocal(constant);
    o[1] = __isGlobal(&global[i]) && !__isConstant(&global[i]) && !__isShared(global) && !__isLocal(global);
    o[2] = __isShared(&shared[i]) && !__isConstant(shared) && !__isGlobal(shared) && !__isLocal(shared);
    o[3] = __isLocal(&local[i]) && !__isConstant(local) && !__isGlobal(local) && !__isShared(local);
    o[4] = __isGlobal(plain) && !__isConstant(plain);
    o[5] = *(const int *)__cvta_constant_to_generic(__cvta_generic_to_constant(&constant[i])) == 5 + i;
    o[6] = addresses[i & 3] != 0;
}

int main()
{
    static const int values[4] = {5, 6, 7, 8};
    int *o, wrong = 0;
    void *from_host;

    cudaMallocManaged(&o, 64);
    cudaMemcpyToSymbol(constant, values, sizeof(values));
    cudaGetSymbolAddress(&from_host, constant); /* to a kernel that is global memory */
    kernel<<<1, 1>>>(o, (const int *)from_host, 2);
    cudaError_t error = cudaDeviceSynchronize();
    for (int i = 0; i < 7; i++)
        if (o[i] != 1)
            wrong += printf("%d is wrong\n", i) > 0;
    printf("%d wrong, %s\n", wrong, cudaGetErrorString(error));
    return wrong != 0;
}
