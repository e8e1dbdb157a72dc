/* Kernels that wait for what comes when a line is written to the program; for tests of heddle ps. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern "C" __global__ void hang(volatile int *flag)
{
    __shared__ int turns;
    atomicAdd_system((int *)flag + 1, 1);
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;"); /* mark: barrier */
    while (!flag[0]) { /* mark: loop */
    }
    if (threadIdx.x >= 32)
        asm volatile("bar.sync 1, 64;");
    turns = 1;
    atomicAdd_system((int *)flag + 2, turns);
}

static volatile int *shared_flag;

/* A program's own idea of Ctrl-C. */
static void on_interrupt(int number)
{
    shared_flag[0] = number == SIGINT;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char line[16];
    int *flag;

    if (!strcmp(how, "first"))
        signal(SIGINT, on_interrupt);
    cudaMallocManaged(&flag, 3 * sizeof(int));
    memset(flag, 0, 3 * sizeof(int));
    shared_flag = flag;
    if (!strcmp(how, "later"))
        signal(SIGINT, on_interrupt);
    if (strcmp(how, "idle")) {
        hang<<<2, 64>>>(flag);
        while (shared_flag[1] < 128) {
        }
    }
    printf("runs\n");
    fflush(stdout);
    if (*how || fgets(line, sizeof(line), stdin))
        flag[0] |= !*how;
    if (!strcmp(how, "idle"))
        pause();
    printf("done %d %s\n", (cudaDeviceSynchronize(), flag[2]), cudaGetErrorString(cudaGetLastError()));
    return 0;
}
