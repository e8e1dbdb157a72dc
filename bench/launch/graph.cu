/* A thousand empty kernels: one by one, and as one graph. Times in microseconds, medians.
 * usage: graph      output: name,submit_us,complete_us and the ratio */
#include "../cuda/cu.h"

__global__ void empty()
{
}

enum { NODES = 1000, ROUNDS = 41 };

struct times {
    double submit[ROUNDS], complete[ROUNDS];
};

template <class F> static void round(struct times *t, int i, cudaStream_t s, F call)
{
    CK(cudaStreamSynchronize(s));
    double t0 = now_ms();
    call();
    t->submit[i] = (now_ms() - t0) * 1e3;
    CK(cudaStreamSynchronize(s));
    t->complete[i] = (now_ms() - t0) * 1e3;
}

static double report(const char *name, struct times *t)
{
    qsort(t->submit, ROUNDS, sizeof(double), bench_compare_double);
    qsort(t->complete, ROUNDS, sizeof(double), bench_compare_double);
    printf("%s,%.1f,%.1f\n", name, t->submit[ROUNDS / 2], t->complete[ROUNDS / 2]);
    return t->complete[ROUNDS / 2];
}

static void launch_all(cudaStream_t s)
{
    for (int i = 0; i < NODES; i++)
        empty<<<1, 1, 0, s>>>();
}

int main()
{
    static struct times alone, together;
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CK(cudaStreamCreate(&s));
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    launch_all(s);
    CK(cudaStreamEndCapture(s, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    /* In turns: what else the machine does harms both. */
    for (int i = 0; i < ROUNDS; i++) {
        round(&alone, i, s, [&] { launch_all(s); });
        round(&together, i, s, [&] { CK(cudaGraphLaunch(exec, s)); });
    }
    double ratio = report("1000 launches", &alone) / report("graph of 1000 kernels", &together);
    printf("ratio,%.2f\n", ratio);
    return 0;
}
