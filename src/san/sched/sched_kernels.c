/* schedcheck: kernels that were launched before, and runs that were made of them. */
#include "san/sched/schedcheck.h"

#include <string.h>

#include "base/lock.h"
#include "base/map.h"

static struct {
    pthread_mutex_t lock;
    struct hd_map times; /* hash of kernel and kind -> count */
} kernels = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(kernels, kernels.lock);

bool sched_kernel_allows(const struct san_launch *launch, enum sched_kind kind, uint64_t times)
{
    const char *name = launch->about.kernel->name;
    uint64_t key = hd_hash(name, strlen(name), kind), n;

    pthread_mutex_lock(&kernels.lock);
    n = (uintptr_t)hd_map_get_u64(&kernels.times, key) + 1;
    (void)!hd_map_put_u64(&kernels.times, key, (void *)(uintptr_t)n);
    pthread_mutex_unlock(&kernels.lock);
    return n <= times;
}

static struct {
    _Atomic uint64_t runs, unfinished;
} totals;

void sched_count_runs(uint32_t runs, bool finished)
{
    atomic_fetch_add(&totals.runs, runs);
    atomic_fetch_add(&totals.unfinished, !finished);
}

void sched_runs_summary(void)
{
    san_summary("schedcheck", "runs", atomic_load(&totals.runs));
    san_summary("schedcheck", "unfinished", atomic_load(&totals.unfinished));
}
