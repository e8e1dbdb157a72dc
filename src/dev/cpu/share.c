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

static uint32_t job_shares(const struct cpu_job *job)
{
    return atomic_load_explicit(&job->nshares, memory_order_relaxed);
}

void cpu_job_share(struct cpu_job *job, struct cpu_share *shares, unsigned nslots)
{
    uint64_t total = atomic_load_explicit(&job->total, memory_order_relaxed);
    uint64_t each = total / nslots, rest = total % nslots, first = 0;

    assert(!job_shares(job));
    if (job->in_order || nslots < 2 || each < SHARE_CHUNKS * job->chunk)
        return;
    for (unsigned i = 0; i < nslots; i++) {
        atomic_store_explicit(&shares[i].next, first, memory_order_relaxed);
        first += each + (i < rest);
        shares[i].end = first;
    }
    assert(first == total);
    atomic_store_explicit(&job->closed, 0, memory_order_relaxed);
    job->shares = shares;
    atomic_store_explicit(&job->nshares, nslots, memory_order_relaxed);
}

/* Towards the end less, so that others who come then find something. */
static uint64_t claim_size(const struct cpu_job *job, const struct cpu_claim *claim, uint64_t left)
{
    return HD_MAX(job->chunk, HD_MIN(claim->wanted, left / CLAIM_OF_REST));
}

static bool take_in_order(struct cpu_job *job, struct cpu_claim *claim)
{
    uint64_t total = atomic_load_explicit(&job->total, memory_order_relaxed);
    uint64_t next = atomic_load_explicit(&job->next, memory_order_relaxed);
    uint64_t size = claim_size(job, claim, total - HD_MIN(next, total));

    claim->first = atomic_fetch_add(&job->next, size);
    claim->end = HD_MIN(claim->first + size, total);
    return claim->first < total;
}

static bool take_of(struct cpu_job *job, struct cpu_share *share, struct cpu_claim *claim)
{
    uint64_t next = atomic_load_explicit(&share->next, memory_order_relaxed), size;

    if (next >= share->end)
        return false;
    size = claim_size(job, claim, share->end - next);
    claim->first = atomic_fetch_add(&share->next, size);
    if (claim->first >= share->end)
        return false;
    claim->end = HD_MIN(claim->first + size, share->end);
    if (claim->end == share->end)
        atomic_fetch_add(&job->closed, 1);
    return true;
}

bool cpu_job_take(struct cpu_job *job, const struct cpu_slot *slot, struct cpu_claim *claim)
{
    uint32_t nshares = job_shares(job), at;

    if (!nshares)
        return take_in_order(job, claim);
    for (; claim->passed < nshares; claim->passed++) { /* a share once empty stays so */
        at = slot->index + claim->passed;
        if (at >= nshares)
            at -= nshares;
        if (take_of(job, &job->shares[at], claim))
            return true;
    }
    return false;
}

void cpu_job_end(struct cpu_job *job)
{
    uint32_t nshares = job_shares(job);

    atomic_store(&job->next, atomic_load(&job->total));
    for (uint32_t i = 0; i < nshares; i++)
        atomic_store(&job->shares[i].next, job->shares[i].end);
    if (nshares)
        atomic_store(&job->closed, nshares);
}

uint64_t cpu_job_begun(const struct cpu_job *job)
{
    uint32_t nshares = job_shares(job);
    uint64_t begun = 0, start = 0;

    if (!nshares)
        return HD_MIN(atomic_load(&job->next), atomic_load(&job->total));
    for (uint32_t i = 0; i < nshares; i++) {
        const struct cpu_share *share = &job->shares[i];

        begun += HD_MIN(atomic_load(&share->next), share->end) - start;
        start = share->end;
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
void cpu_pace_keep(struct cpu_pace *pace, const struct cpu_job *job, struct cpu_claim *claim)
{
    uint64_t now_ns, took_ns;

    if (++pace->claims < PACE_CLAIMS || job->in_order || cpu_job_exhausted(job))
        return;
    now_ns = hal_time_ns();
    took_ns = (now_ns - pace->since_ns) / pace->claims;
    if (pace->since_ns)
        claim->wanted = units_wanted(HD_MAX(claim->wanted, job->chunk), took_ns);
    *pace = (struct cpu_pace){.since_ns = now_ns};
}
