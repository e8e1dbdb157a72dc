/* A short vecadd from process start to exit; `start -nothing` leaves main at once. The
 * difference of the two
 * times is what a (warm) start of a CUDA program costs. */
#include "../cuda/cu.h"

__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
    enum { N = 4096 };
    float *a, *b, *c;

    if (argc > 1 && !strcmp(argv[1], "-nothing"))
        return 0;
    a = halloc<float>(N);
    b = halloc<float>(N);
    c = halloc<float>(N);
    fill_f(a, N, 1, -1, 1);
    fill_f(b, N, 2, -1, 1);
    float *da = dput(a, N), *db = dput(b, N), *dc = dalloc<float>(N);

    vecadd<<<cdiv(N, 256), 256>>>(da, db, dc, N);
    dsync();
    d2h(c, dc, N);
    return !chk_vecadd(a, b, c, N);
}
