/* The loop of plain multiply-adds alone, which the other programs run beside their products.
 * usage: plain [-q]      output: plain,GFLOP/s */
#include "tensor.h"

int main(int argc, char **argv)
{
    const int turns = 5000;
    float *out = dalloc<float>(BLOCKS * THREADS);
    auto plain = [&] { fma_loop<<<BLOCKS, THREADS>>>(out, turns, 0.5f); };
    double best = 0;

    rounds_choose(argc, argv);
    warm_up(plain);
    for (int i = 0; i < rounds; i++)
        best = fmax(best, rate(2.0 * 8 * BLOCKS * THREADS * turns, plain));
    printf("plain,%.1f\n", best);
    return 0;
}
