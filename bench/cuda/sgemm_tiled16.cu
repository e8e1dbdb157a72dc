/* Matrix product, 16 x 16 tiles and threads. */
#define TS 16
#include "sgemm_tiled.h"

int main(int argc, char **argv)
{
    return gemm_main("sgemm_tiled16", argc, argv, [](float *a, float *b, float *c, int n) {
        sgemm_tiled<<<dim3(n / TS, n / TS), dim3(TS, TS)>>>(a, b, c, n);
    });
}
