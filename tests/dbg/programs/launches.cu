/* Kernels that are launched in other ways, or before there is a breakpoint; the tests find places by the comments "mark:". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" __global__ void add(int *v, int n)
{
    int i = threadIdx.x;
    if (i == 0)
        v[0] += n; /* mark: add */
}

static const char *gate; /* a file that the test makes */

static void wait_for_gate(void *unused)
{
    (void)unused;
    printf("waits\n");
    fflush(stdout);
    while (access(gate, F_OK) != 0)
        usleep(1000);
}

/* The kernel is submitted before there is a breakpoint, and begins after. */
static void queued(int *v)
{
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaLaunchHostFunc(s, wait_for_gate, NULL);
    add<<<1, 32, 0, s>>>(v, 3);
    cudaStreamSynchronize(s);
}

static void graph(int *v)
{
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    add<<<1, 32, 0, s>>>(v, 1);
    add<<<1, 64, 0, s>>>(v, 2);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    wait_for_gate(NULL);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
}

#ifdef CHILDREN
extern "C" __global__ void parent(int *v)
{
    if (threadIdx.x == 0)
        add<<<1, 32>>>(v, (int)(blockIdx.x + 1) * 10); /* mark: parent */
}

static void children(int *v)
{
    parent<<<1, 32>>>(v);
    cudaDeviceSynchronize();
}
#else
static void children(int *v)
{
    (void)v;
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    int *v;
    gate = argc > 2 ? argv[2] : "";
    cudaMallocManaged(&v, sizeof(int));
    *v = 0;
    if (strcmp(what, "queued") == 0)
        queued(v);
    else if (strcmp(what, "graph") == 0)
        graph(v);
    else
        children(v);
    printf("launches %d\n", *v);
    return 0;
}
