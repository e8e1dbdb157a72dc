/* Host and kernels in one session; the tests find places by the comments "mark:". */
#include <stdio.h>
#include <stdlib.h>

__global__ void add(int *v, int n)
{
    int i = threadIdx.x;
    v[i] += n; /* mark: device */
}

__global__ void spin(volatile int *flag)
{
    while (!*flag) { /* mark: spin */
    }
}

__global__ void wild(int *v)
{
    v[threadIdx.x * 1000000000l + 1000000000l] = 1; /* mark: wild */
}

static int prepare(int *v, int turn)
{
    v[0] = turn * 100; /* mark: host */
    return turn + 1;
}

static void turns(int *v)
{
    for (int turn = 0; turn < 3; turn++) {
        int n = prepare(v, turn);
        add<<<1, 64>>>(v, n); /* mark: launch */
        cudaDeviceSynchronize();
    }
    printf("both %d %d\n", v[0], v[63]);
}

int main(int argc, char **argv)
{
    char what = argc > 1 ? argv[1][0] : 't';
    int *v;
    cudaMallocManaged(&v, 64 * sizeof(int));
    if (what == 's') {
        spin<<<1, 32>>>(v + 1);
        cudaDeviceSynchronize();
        printf("spun %d\n", v[1]);
    } else if (what == 'w') {
        wild<<<1, 32>>>(v);
        printf("wild %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    } else {
        turns(v);
    }
    fflush(stdout);
    return argc > 2 ? 3 : 0;
}
