/* Jobs of native kernels: ranges of tiles, and what is said when one fails. */
#include "dev/cpu/native.h"

#include <dlfcn.h>
#include <signal.h>

#include "base/log.h"
#include "base/mem.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"

/* What a chunk of tiles of known cost lasts: long against taking it, short against a launch. */
#define CHUNK_NS 20000u
/* A launch of so much is short: as CPU_INLINE_OPS of compiled kernels. */
#define SHORT_NS 5000u

struct hal_kernel_info cpu_native_info(const struct cpu_kernel *kernel)
{
    assert(kernel->native);
    return (struct hal_kernel_info){.regs = 16, .max_threads = 1024};
}

enum hd_status cpu_native_check(const struct cpu_kernel *kernel)
{
    if (HD_LIKELY(!atomic_load_explicit(&kernel->native->withdrawn, memory_order_acquire)))
        return HD_OK;
    return hd_error(HD_NATIVE, "native kernel %s was unregistered", kernel->name);
}

bool cpu_native_is_short(const struct cpu_grid *grid)
{
    const struct hal_native *native = grid->kernel->native;

    return native->flags & HEDDLE_NATIVE_ANY_THREAD && native->tile_ns && grid->ctas <= SHORT_NS &&
           native->tile_ns <= SHORT_NS && native->tile_ns * grid->ctas <= SHORT_NS;
}

/* ---- one call */

struct run {
    struct cpu_job *job;
    struct heddle_native_call call;
    struct cpu_native_thrown thrown;
    int result;
};

static void run_setup(struct run *run, struct cpu_job *job, bool is_inline)
{
    const struct hal_queue *queue = &job->queue->base;
    const struct jit_launch *launch = &job->launch;
    struct heddle_native_call *call = &run->call;

    run->job = job;
    call->size_B = sizeof(*call);
    call->device = queue->ordinal;
    for (int i = 0; i < 3; i++) {
        call->grid[i] = launch->grid[i];
        call->block[i] = launch->block[i];
    }
    call->dynamic_shared_B = launch->dynamic_smem_B;
    call->params = launch->params;
    call->params_B = hal_ring_packet(queue->ring, hal_queue_retired(queue) + 1)->dispatch.params_B;
    call->user = job->native->user;
    call->context_id = queue->context_id;
    call->stream_id = queue->stream_id;
    call->grid_id = launch->grid_id;
    call->is_inline = is_inline;
}

/* A cancellation waits: nothing is known of what the function holds. */
static void run_body(void *arg)
{
    struct run *run = arg;

    cpu_guard_hold();
    run->result = cpu_native_enter(run->job->native->function, &run->call, &run->thrown);
    if (HD_UNLIKELY(run->thrown.exception != NULL)) {
        cpu_native_catch(&run->thrown, run->call.text, sizeof(run->call.text));
        run->call.code = 0;
    }
    cpu_guard_release();
}

/* ---- what went wrong */

static const char *signal_name(int sig)
{
    return sig == SIGSEGV  ? "SIGSEGV"
           : sig == SIGBUS ? "SIGBUS"
           : sig == SIGFPE ? "SIGFPE"
           : sig == SIGILL ? "SIGILL"
                           : "a signal";
}

static enum hd_status signal_status(const struct cpu_fault *fault)
{
    return fault->signal == SIGILL   ? HD_ILLEGAL_INSTRUCTION
           : fault->signal == SIGFPE ? HD_NATIVE
                                     : fault->status;
}

static int reported_code(const struct run *run)
{
    return run->call.code ? run->call.code : run->result;
}

/* Something did go wrong: which status it is, and a line about it. `fault`: NULL, none. */
static enum hd_status print_failure(struct hd_buf *text, const struct run *run,
                                    const struct cpu_fault *fault)
{
    const struct heddle_native_call *call = &run->call;

    hd_buf_printf(text, "native kernel %s", run->job->name);
    if (call->last - call->first == 1)
        hd_buf_printf(text, ", tile %llu: ", (unsigned long long)call->first);
    else
        hd_buf_printf(text, ", tiles %llu to %llu: ", (unsigned long long)call->first,
                      (unsigned long long)call->last - 1);
    if (fault && fault->signal) {
        Dl_info info;
        hd_buf_printf(text, "%s: %s", signal_name(fault->signal),
                      hd_status_text(signal_status(fault)));
        if (fault->signal == SIGSEGV || fault->signal == SIGBUS)
            hd_buf_printf(text, " 0x%llx", (unsigned long long)fault->address);
        if (fault->pc && dladdr((const void *)fault->pc, &info) && info.dli_fname) {
            if (info.dli_sname)
                hd_buf_printf(text, ", in %s of %s", info.dli_sname, info.dli_fname);
            else
                hd_buf_printf(text, ", at %s+0x%llx", info.dli_fname,
                              (unsigned long long)(fault->pc - (uintptr_t)info.dli_fbase));
        }
        return signal_status(fault);
    }
    if (fault || run->thrown.exception) {
        hd_buf_puts(text, fault ? fault->reason : call->text);
        return HD_NATIVE;
    }
    if (reported_code(run) == HEDDLE_NATIVE_ASSERTION) {
        hd_buf_printf(text, "assertion failed%s%s", *call->text ? ": " : "", call->text);
        return HD_ASSERT;
    }
    hd_buf_printf(text, "error %d%s%s", reported_code(run), call->code && *call->text ? ": " : "",
                  call->code ? call->text : "");
    return HD_NATIVE;
}

static void raise_failure(const struct run *run, const struct cpu_fault *fault,
                          struct hal_native_end *out_end)
{
    struct cpu_job *job = run->job;
    bool is_reported = !fault && !run->thrown.exception;
    bool recovers = out_end && is_reported && job->native->flags & HEDDLE_NATIVE_RECOVERS &&
                    reported_code(run) != HEDDLE_NATIVE_ASSERTION;
    struct hal_fault_site site = {.kernel = job->name};
    enum hd_status status;
    struct hd_buf text;

    hd_buf_init(&text);
    status = print_failure(&text, run, fault);
    if (out_end) {
        out_end->status = status;
        snprintf(out_end->message, sizeof(out_end->message), "%s", text.ptr ? text.ptr : job->name);
    }
    if (!recovers &&
        hal_domain_fail(&job->domain->base, status, fault ? fault->address : 0, &site,
                        text.ptr ? text.ptr : job->name) &&
        !out_end)
        (void)!hd_error(status, "%s", text.ptr ? text.ptr : job->name);
    hd_buf_fini(&text);
}

/* False: the launch is over. */
static bool run_tiles(struct run *run, uint64_t first, uint64_t last,
                      struct hal_native_end *out_end)
{
    struct cpu_fault fault;

    run->call.first = first;
    run->call.last = last;
    run->call.code = 0;
    run->call.text[0] = '\0';
    run->thrown.exception = NULL;
    run->result = 0;
    if (HD_UNLIKELY(!cpu_guarded_native(run_body, run, run->job, &fault))) {
        if (fault.status != HD_CANCELLED) /* who cancelled has raised it */
            raise_failure(run, &fault, out_end);
        else if (out_end)
            *out_end = (struct hal_native_end){HD_CANCELLED, "the work was cancelled"};
        return false;
    }
    if (HD_LIKELY(!run->result && !run->call.code && !run->thrown.exception))
        return true;
    raise_failure(run, NULL, out_end);
    return false;
}

/* ---- jobs */

static bool should_stop(const struct cpu_slot *slot)
{
    return slot->stop_sem &&
           atomic_load_explicit(slot->stop_sem, memory_order_acquire) >= slot->stop_value;
}

static void native_run(struct cpu_job *job, struct cpu_slot *slot)
{
    bool asked_for_help = job->start_ns == 0;
    struct cpu_chunk chunk = {.wanted = 0};
    struct cpu_pace pace = {0};
    struct run run;

    run_setup(&run, job, false);
    hal_serial_enter();
    while (!should_stop(slot) && !cpu_job_exhausted(job)) {
        if (HD_UNLIKELY(hal_domain_status(&job->domain->base) != HD_OK)) {
            cpu_job_end(job);
            break;
        }
        if (!cpu_job_take(job, slot, &chunk))
            break;
        if (!run_tiles(&run, chunk.first, chunk.end, NULL)) {
            cpu_job_end(job);
            break;
        }
        cpu_pace_keep(&pace, job, &chunk);
        if (!asked_for_help && !cpu_job_exhausted(job) &&
            hal_time_ns() - job->start_ns > CPU_WAKE_AFTER_NS) {
            asked_for_help = true;
            cpu_wake_more(slot->device);
        }
    }
    hal_serial_leave();
}

void cpu_native_setup(struct cpu_job *job, const struct cpu_device *dev, uint64_t tiles)
{
    const struct hal_native *native = job->native;
    uint64_t chunk = native->tile_ns ? CHUNK_NS / native->tile_ns : 1;

    job->run = native_run;
    job->in_order = false;
    job->chunk = HD_MAX(HD_MIN(chunk, tiles / (dev->nslots * 4u)), 1);
    atomic_store_explicit(&job->spins, !(native->flags & HEDDLE_NATIVE_ANY_THREAD),
                          memory_order_relaxed);
}

void cpu_native_run_all(struct cpu_job *job, struct hal_native_end *out_end)
{
    uint64_t tiles = atomic_load_explicit(&job->total, memory_order_relaxed);
    struct run run;

    run_setup(&run, job, out_end != NULL);
    if (!out_end) /* else it may call us, which enters as well */
        hal_serial_enter();
    (void)run_tiles(&run, 0, tiles, out_end);
    if (!out_end)
        hal_serial_leave();
}
