/* Matrix product, 32 x 32 tiles and threads. */
#define TS 32
#include "sgemm_tiled.h"

int main(int argc, char **argv)
{
    return gemm_main("sgemm_tiled32", argc, argv, [](float *a, float *b, float *c, int n) {
        sgemm_tiled<<<dim3(n / TS, n / TS), dim3(TS, TS)>>>(a, b, c, n);
    });
}
