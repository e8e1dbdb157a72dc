__global__ void fill(int *out)
{
    out[threadIdx.x] = threadIdx.x * 2;
}

void launch(int *out, int n)
{
    fill<<<1, n>>>(out);
}
