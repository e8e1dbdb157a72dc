/*
 * Clusters of several CTAs: their memory. Their barrier is in cluster_barrier.c.
 *
 * The shared windows lie side by side in one reservation (struct ir_window); what is between them
 * cannot be accessed. A cluster is one piece of work: its CTAs are stepped in turn by one thread
 * (turn.c), so that atomics on shared memory are plain operations in all of it, and what a CTA
 * leaves behind stays until all have ended.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "dev/cpu/cta/cta.h"
#include "dev/cpu/worker.h"
#include "interp/interp_cta.h"

#define MAX_FREE 4 /* clusters that a slot keeps */
#define PAGE_B   4096u
/* Whatever the size of the cluster, ranks that it does not have cannot be accessed. */
#define WINDOWS_B (IR_CLUSTER_MAX_CTAS * IR_CLUSTER_STRIDE_B)

/* ---- memory */

static bool windows_create(struct cpu_cluster *cluster)
{
    assert(cluster->window_B <= IR_CLUSTER_STRIDE_B && cluster->window_B % PAGE_B == 0);
    void *at = mmap(NULL, WINDOWS_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cluster->windows = at == MAP_FAILED ? NULL : at;
    for (uint32_t r = 0; cluster->windows && r < cluster->nctas; r++) {
        if (mprotect(cluster->windows + r * IR_CLUSTER_STRIDE_B, cluster->window_B,
                     PROT_READ | PROT_WRITE))
            return false;
    }
    return cluster->windows != NULL;
}

static struct cpu_cluster *cluster_create(uint32_t nctas, size_t block_B, uint64_t window_B)
{
    struct cpu_cluster *cluster = hd_new(struct cpu_cluster);
    bool ok = cluster != NULL;

    if (!ok)
        return NULL;
    cluster->nctas = nctas;
    cluster->window_B = window_B;
    cluster->interp = hd_new(struct interp_cluster);
    ok = cluster->interp && windows_create(cluster);
    for (uint32_t r = 0; ok && r < nctas; r++) {
        cluster->ctas[r] = cpu_cta_create(block_B);
        ok = cluster->ctas[r] != NULL;
        if (ok)
            cluster->ctas[r]->cluster = cluster;
    }
    if (!ok) {
        cpu_cluster_destroy(cluster);
        return NULL;
    }
    return cluster;
}

void cpu_cluster_destroy(struct cpu_cluster *cluster)
{
    for (uint32_t r = 0; r < cluster->nctas; r++)
        cpu_cta_destroy(cluster->ctas[r]);
    if (cluster->windows)
        munmap(cluster->windows, WINDOWS_B);
    if (cluster->interp)
        interp_cluster_fini(cluster->interp);
    hd_free(cluster->interp);
    hd_free(cluster);
}

/* Vector loads at the end of a window may look past it. */
static uint64_t window_need_B(const struct cpu_job *job)
{
    return hd_align_up(job->launch.shared_B + CPU_SHARED_SPARE_B, PAGE_B);
}

struct cpu_cluster *cpu_cluster_take(struct cpu_slot *slot, struct cpu_job *job,
                                     const struct cpu_form *form)
{
    uint32_t nctas = job->launch.cluster_ctas;
    struct cpu_cluster **link = &slot->free_clusters, *cluster;

    assert(nctas > 1 && nctas <= IR_CLUSTER_MAX_CTAS);
    for (; (cluster = *link); link = &cluster->next) {
        if (cluster->nctas == nctas && cluster->ctas[0]->block_B >= form->layout.end &&
            cluster->window_B >= window_need_B(job)) {
            *link = cluster->next;
            return cluster;
        }
    }
    cluster = cluster_create(nctas, form->layout.end, window_need_B(job));
    if (!cluster)
        hal_domain_fail(&job->domain->base, HD_NO_MEMORY, 0, NULL,
                        "out of host memory for a cluster");
    return cluster;
}

void cpu_cluster_give(struct cpu_slot *slot, struct cpu_cluster *cluster)
{
    unsigned kept = 0;

    for (uint32_t r = 0; r < cluster->nctas; r++) {
        cpu_watch_cta_end(cluster->ctas[r]);
        cpu_fibers_release(cluster->ctas[r]);
        cpu_inplace_release(cluster->ctas[r]);
    }
    for (const struct cpu_cluster *it = slot->free_clusters; it; it = it->next)
        kept++;
    if (kept >= MAX_FREE) {
        cpu_cluster_destroy(cluster);
        return;
    }
    cluster->next = slot->free_clusters;
    slot->free_clusters = cluster;
}

void cpu_cluster_start(struct cpu_cluster *cluster, struct cpu_job *job,
                       const struct cpu_form *form, uint32_t smid, uint64_t index)
{
    const uint32_t *block = job->launch.block;

    assert(cluster->nctas == job->launch.cluster_ctas && index < atomic_load(&job->total));
    cluster->live = block[0] * block[1] * block[2] * cluster->nctas;
    cluster->arrived = 0;
    interp_cluster_fini(cluster->interp);
    interp_cluster_init(cluster->interp, cluster->live);
    for (uint32_t r = 0; r < cluster->nctas; r++) {
        cpu_watch_cta_end(cluster->ctas[r]);
        cpu_cta_start_in(cluster, r, job, form, smid, index);
        if (HD_UNLIKELY(job->watch))
            cpu_watch_cta_begin(cluster->ctas[r]);
    }
}
