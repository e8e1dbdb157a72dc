/* What threads of kernels ask of the CUDA runtime: core answers (hal_client_ops.runtime). */
#include <string.h>

#include "dev/cpu/fault/fault.h"
#include "dev/cpu/queue.h"
#include "ir/device_runtime.h"

void cpu_runtime_call(struct cpu_job *job, struct ir_runtime_io *io)
{
    struct cpu_queue *queue = HD_CONTAINER_OF(job, struct cpu_queue, job);

    assert(job->domain->base.device->client.runtime); /* core makes the launches of programs */
    job->domain->base.device->client.runtime->call(
        &queue->base, (struct hal_kernel *)(uintptr_t)job->kernel, &job->children, io);
}

/* A fault leaves by the guard. */
static bool runtime_read(struct ir_runtime_io *io, uint64_t va, void *to, uint32_t size_B)
{
    (void)io;
    memcpy(to, (const void *)(uintptr_t)va, size_B);
    return true;
}

/* What the lane's pointers name is read and written where its fault is the kernel's. */
static void runtime_lane(struct cpu_job *job, struct ir_runtime_io *io, const uint64_t *words)
{
    memcpy(io->args, words, sizeof(io->args));
    cpu_guard_hold();
    cpu_runtime_call(job, io);
    cpu_guard_release();
    if (io->out_B)
        memcpy((void *)(uintptr_t)io->out_va, io->out, io->out_B);
}

void cpu_runtime_warp(struct cpu_cta *cta, const struct jit_warp *warp, uint32_t lanes,
                      const uint64_t *call, const uint64_t *args, uint64_t *out_result)
{
    const struct jit_launch *launch = cta->cta.launch;
    struct cpu_job *job = cta->job;
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    uint64_t at = ir_cta_number(launch->grid, cta->cta.ctaid);

    for (unsigned lane = 0; lane < 32; lane++) {
        struct ir_runtime_io io = {.call = (enum ir_runtime_call)call[lane],
                                   .grid_id = launch->grid_id,
                                   .read = runtime_read,
                                   .thread = at * threads + warp->index * 32 + lane};

        if (!(lanes >> lane & 1))
            continue;
        runtime_lane(job, &io, (const uint64_t *)(uintptr_t)args[lane]);
        out_result[lane] = io.result;
    }
}
