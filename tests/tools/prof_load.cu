/* What tests/tools/test_prof_load.py records: prof_load LAUNCHES STREAMS */
#include <cstdio>
#include <cstdlib>

__global__ void nothing()
{
}

int main(int argc, char **argv)
{
    int launches = atoi(argv[1]), n = atoi(argv[2]);
    cudaStream_t *streams = (cudaStream_t *)calloc(n, sizeof(*streams));

    for (int i = 0; i < n; i++)
        if (cudaStreamCreate(&streams[i]))
            return 1;
    printf("begin\n");
    fflush(stdout);
    for (int i = 0; i < launches; i++) {
        nothing<<<1, 1, 0, streams[i % n]>>>();
        if (i % 1000 == 0)
            cudaDeviceSynchronize();
    }
    return cudaDeviceSynchronize() != 0;
}
