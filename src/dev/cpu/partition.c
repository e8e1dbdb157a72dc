/*
 * Who takes which of a job's units.
 *
 * Short jobs, and those whose units may wait for one another, have one counter: units begin in the
 * order of their numbers. Others are cut into as many shares as there are slots. Who holds slot i
 * begins with share i, chunk by chunk, and goes on with what others have left. So in most of its
 * chunks a worker meets no other one, goes through memory in its order, and at the next launch of
 * the same shape works on what its caches, and its node's memory, have from this one.
 *
 * Counters only grow. The last chunk of a share has one taker, which counts the share as closed; a
 * job whose shares are all closed has no units left.
 */
#include <string.h>

#include "dev/cpu/device.h"

/* Chunks for each slot from which on shares are worth it: below, one line is as good as many. */
#define SHARE_CHUNKS 2u

/* What one takes at once is at most this part of what is left. */
#define CLAIM_OF_REST 16u

/*
 * What a thread takes at once grows to what lasts so long. Taking also waits for all stores before
 * it, 100 ns of a kernel that streams, and entering the guard sets MXCSR.
 */
#define CLAIM_NS 10000u

/* So many claims between two looks at the clock; by at most this factor one grows in between. */
#define PACE_CLAIMS 4u
#define PACE_GROWTH 8u

static uint32_t job_partitions(const struct cpu_job *job)
{
    return atomic_load_explicit(&job->npartitions, memory_order_relaxed);
}

void cpu_job_partition(struct cpu_job *job, struct cpu_partition *partitions, unsigned nslots)
{
    uint64_t total = atomic_load_explicit(&job->total, memory_order_relaxed);
    uint64_t each = total / nslots, rest = total % nslots, first = 0;

    assert(!job_partitions(job));
    if (job->in_order || nslots < 2 || each < SHARE_CHUNKS * job->chunk)
        return;
    for (unsigned i = 0; i < nslots; i++) {
        atomic_store_explicit(&partitions[i].next, first, memory_order_relaxed);
        first += each + (i < rest);
        partitions[i].end = first;
    }
    assert(first == total);
    atomic_store_explicit(&job->closed, 0, memory_order_relaxed);
    job->partitions = partitions;
    atomic_store_explicit(&job->npartitions, nslots, memory_order_relaxed);
}

/* Towards the end less, so that others who come then find something. */
static uint64_t chunk_size(const struct cpu_job *job, const struct cpu_chunk *chunk, uint64_t left)
{
    return HD_MAX(job->chunk, HD_MIN(chunk->wanted, left / CLAIM_OF_REST));
}

static bool take_of(struct cpu_job *job, struct cpu_partition *partition, struct cpu_chunk *chunk)
{
    uint64_t next = atomic_load_explicit(&partition->next, memory_order_relaxed), size;

    if (next >= partition->end)
        return false;
    size = chunk_size(job, chunk, partition->end - next);
    chunk->first = atomic_fetch_add(&partition->next, size);
    if (chunk->first >= partition->end)
        return false;
    chunk->end = HD_MIN(chunk->first + size, partition->end);
    if (chunk->end == partition->end)
        atomic_fetch_add(&job->closed, 1);
    return true;
}

bool cpu_job_take(struct cpu_job *job, const struct cpu_slot *slot, struct cpu_chunk *chunk)
{
    uint32_t npartitions = job_partitions(job), at;

    if (!npartitions) {
        uint64_t total = atomic_load_explicit(&job->total, memory_order_relaxed);
        uint64_t next = atomic_load_explicit(&job->next, memory_order_relaxed);
        uint64_t size = chunk_size(job, chunk, total - HD_MIN(next, total));

        chunk->first = atomic_fetch_add(&job->next, size);
        chunk->end = HD_MIN(chunk->first + size, total);
        return chunk->first < total;
    }
    for (; chunk->passed < npartitions; chunk->passed++) { /* a share once empty stays so */
        at = slot->index + chunk->passed;
        if (at >= npartitions)
            at -= npartitions;
        if (take_of(job, &job->partitions[at], chunk))
            return true;
    }
    return false;
}

void cpu_job_end(struct cpu_job *job)
{
    uint32_t npartitions = job_partitions(job);

    atomic_store(&job->next, atomic_load(&job->total));
    for (uint32_t i = 0; i < npartitions; i++)
        atomic_store(&job->partitions[i].next, job->partitions[i].end);
    if (npartitions)
        atomic_store(&job->closed, npartitions);
}

uint64_t cpu_job_begun(const struct cpu_job *job)
{
    uint32_t npartitions = job_partitions(job);
    uint64_t begun = 0, start = 0;

    if (!npartitions)
        return HD_MIN(atomic_load(&job->next), atomic_load(&job->total));
    for (uint32_t i = 0; i < npartitions; i++) {
        const struct cpu_partition *partition = &job->partitions[i];

        begun += HD_MIN(atomic_load(&partition->next), partition->end) - start;
        start = partition->end;
    }
    return begun;
}

/* Units that last CLAIM_NS if `last` have lasted took_ns. */
static uint64_t units_wanted(uint64_t last, uint64_t took_ns)
{
    uint64_t factor = HD_MIN(CLAIM_NS / (took_ns + 1), PACE_GROWTH);

    return factor ? last * factor : last / HD_MIN(took_ns / CLAIM_NS, PACE_GROWTH);
}

/* Blocks that may wait for others, and those that somebody looks at, go on as they have begun. */
void cpu_pace_keep(struct cpu_pace *pace, const struct cpu_job *job, struct cpu_chunk *chunk)
{
    uint64_t now_ns, took_ns;

    if (++pace->chunks < PACE_CLAIMS || job->in_order || cpu_job_exhausted(job))
        return;
    now_ns = hal_time_ns();
    took_ns = (now_ns - pace->since_ns) / pace->chunks;
    if (pace->since_ns)
        chunk->wanted = units_wanted(HD_MAX(chunk->wanted, job->chunk), took_ns);
    *pace = (struct cpu_pace){.since_ns = now_ns};
}
