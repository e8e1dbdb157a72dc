/* A spin lock taken by all lanes of all warps. Lanes of one warp compete with each other: this
 * only ends on devices
 * with independent thread scheduling (Volta and later), where the holder runs on while its
 * neighbours spin. */
#include "example.h"

#define BLOCKS  8
#define THREADS 96

struct account {
    int lock;
    int balance; /* not atomic: protected by the lock */
    int transactions;
};

__device__ void lock(int *l)
{
    while (atomicCAS(l, 0, 1) != 0)
        ;
    __threadfence(); /* what the last holder wrote is visible now */
}

__device__ void unlock(int *l)
{
    __threadfence();
    atomicExch(l, 0);
}

__global__ void deposit(account *a, int amount)
{
    lock(&a->lock);
    /* volatile: read and write memory inside the critical section */
    volatile account *v = a;

    v->balance = v->balance + amount + (int)threadIdx.x % 3;
    v->transactions = v->transactions + 1;
    unlock(&a->lock);
}

int main()
{
    const int n = BLOCKS * THREADS;
    account result = {0, 0, 0}, *dev_account;
    int want = 0;

    for (int i = 0; i < n; i++)
        want += 5 + i % THREADS % 3;
    CHECK(cudaMalloc(&dev_account, sizeof(account)));
    CHECK(cudaMemcpy(dev_account, &result, sizeof(account), cudaMemcpyHostToDevice));
    deposit<<<BLOCKS, THREADS>>>(dev_account, 5);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(&result, dev_account, sizeof(account), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dev_account));
    return verdict(result.balance == want && result.transactions == n && result.lock == 0,
                   "spinlock: %d transactions, balance %d", result.transactions, result.balance);
}
