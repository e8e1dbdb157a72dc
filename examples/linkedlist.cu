/* malloc and free in device code: every thread pushes nodes onto one of several lists with
 * atomicCAS, a second kernel
 * walks the lists, sums them up and frees the nodes. */
#include "example.h"

#define LISTS   16
#define THREADS 256
#define NODES   8 /* per thread */

struct node {
    int value;
    node *next;
};

__device__ node *heads[LISTS];

__device__ void push(node **head, node *item)
{
    unsigned long long *slot = (unsigned long long *)head;
    unsigned long long seen = *slot, found;

    /* Lock-free: retry until nobody came between the read and the exchange. */
    for (;;) {
        item->next = (node *)seen;
        __threadfence();
        found = atomicCAS(slot, seen, (unsigned long long)item);
        if (found == seen)
            return;
        seen = found;
    }
}

__global__ void build(int *failures)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;

    for (int i = 0; i < NODES; i++) {
        node *item = (node *)malloc(sizeof(node));

        if (!item) {
            atomicAdd(failures, 1);
            continue;
        }
        item->value = t * NODES + i;
        push(&heads[t % LISTS], item);
    }
}

__global__ void sum_and_free(int *count, unsigned long long *sum)
{
    node *item = heads[threadIdx.x];

    while (item) {
        node *next = item->next;

        atomicAdd(count, 1);
        atomicAdd(sum, (unsigned long long)item->value);
        free(item);
        item = next;
    }
    heads[threadIdx.x] = NULL;
}

int main()
{
    const unsigned long long n = THREADS * NODES, want = n * (n - 1) / 2;
    unsigned long long sum = 0, *dev_sum;
    int counters[2] = {0, 0}, *dev_counters; /* nodes found, allocations failed */

    CHECK(cudaMalloc(&dev_sum, sizeof(sum)));
    CHECK(cudaMalloc(&dev_counters, sizeof(counters)));
    CHECK(cudaMemset(dev_sum, 0, sizeof(sum)));
    CHECK(cudaMemset(dev_counters, 0, sizeof(counters)));
    build<<<THREADS / 64, 64>>>(dev_counters + 1);
    sum_and_free<<<1, LISTS>>>(dev_counters, dev_sum);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(&sum, dev_sum, sizeof(sum), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(counters, dev_counters, sizeof(counters), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dev_sum));
    CHECK(cudaFree(dev_counters));
    return verdict(sum == want && counters[0] == (int)n && counters[1] == 0,
                   "linkedlist: %d nodes in %d lists, sum %llu", counters[0], LISTS, sum);
}
