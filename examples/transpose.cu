/* Transpose of rectangular matrices in dynamic shared memory: the tile's size is chosen at
 * launch. */
#include "example.h"

/* The padding column keeps the transposed reads free of bank conflicts. */
__global__ void transpose(const int *in, int *out, int rows, int cols)
{
    extern __shared__ int tile[]; /* blockDim.y rows of blockDim.x + 1 */
    int pitch = blockDim.x + 1;
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < cols && y < rows)
        tile[threadIdx.y * pitch + threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * blockDim.y + threadIdx.x;
    y = blockIdx.x * blockDim.x + threadIdx.y;
    if (x < rows && y < cols)
        out[y * rows + x] = tile[threadIdx.x * pitch + threadIdx.y];
}

static int wrong_elements(int rows, int cols, int side)
{
    const size_t size_B = (size_t)rows * cols * sizeof(int);
    int *in = (int *)malloc(size_B), *out = (int *)malloc(size_B), *dev_in, *dev_out, wrong = 0;
    dim3 block(side, side), grid((cols + side - 1) / side, (rows + side - 1) / side);

    for (int i = 0; i < rows * cols; i++)
        in[i] = i;
    CHECK(cudaMalloc(&dev_in, size_B));
    CHECK(cudaMalloc(&dev_out, size_B));
    CHECK(cudaMemcpy(dev_in, in, size_B, cudaMemcpyHostToDevice));
    transpose<<<grid, block, side *(side + 1) * sizeof(int)>>>(dev_in, dev_out, rows, cols);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(out, dev_out, size_B, cudaMemcpyDeviceToHost));
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < cols; x++)
            wrong += out[x * rows + y] != in[y * cols + x];
    CHECK(cudaFree(dev_in));
    CHECK(cudaFree(dev_out));
    free(in);
    free(out);
    return wrong;
}

int main()
{
    static const int shapes[][3] = {{512, 512, 32}, {300, 700, 16}, {1, 1000, 8}, {777, 33, 20}};
    int wrong = 0;

    for (const auto &s : shapes)
        wrong += wrong_elements(s[0], s[1], s[2]);
    return verdict(wrong == 0, "transpose: 4 shapes, %d wrong", wrong);
}
