/*
 * What is said about a fault: which kernel, thread, source line and access, as far as it is known.
 *
 * Faults that services find come with lanes and instruction. For the others there is the program
 * counter, from which the JIT tells the instruction (jit_instr_find), and the address.
 */
#include "base/lock.h"
#include "dev/cpu/device.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "interp/interp.h"
#include "model/multimem.h"

struct report {
    const struct cpu_guard *guard;
    struct cpu_job *job;
    struct cpu_cta *cta;          /* NULL: a copy */
    const struct ir_instr *instr; /* NULL: not known */
    const char *reason;           /* NULL: the status says it all */
    uint64_t address;
    uint32_t thread[3];
    bool has_thread;
    bool is_certain; /* instr: the code has its place */
};

static const struct ir_module *report_module_of(const struct report *r)
{
    return r->job->kernel->func->module;
}

/* ---- finding out */

/* The first thread that is to blame. */
static void report_find_thread(struct report *r)
{
    const struct cpu_blame *blame = &r->guard->blame;
    const uint32_t *block = r->job->launch.block;
    uint32_t number;

    if (!r->cta || !blame->lanes)
        return;
    number = blame->warp * 32 + (uint32_t)__builtin_ctz(blame->lanes);
    r->has_thread = number < block[0] * block[1] * block[2];
    if (r->has_thread)
        ir_thread_index(block, number, r->thread);
}

static bool report_is_access(const struct ir_instr *in)
{
    return ir_op_has(in->op, IR_F_LOAD) || ir_op_has(in->op, IR_F_STORE) ||
           ir_op_has(in->op, IR_F_ATOM);
}

/* How many operations the operand of one machine instruction may have passed through. */
#define FOLDED_DEPTH 3

/* Parameters are always there. */
static bool report_is_folded(const struct ir_instr *def)
{
    return def && ir_op_has(def->op, IR_F_LOAD) && def->mem.space != IR_SPACE_PARAM;
}

/* LLVM makes a load part of what uses it, and the machine instruction then has the user's place:
 * the nearest load that `in` depends on, a guess where there are several; NULL: there is none. */
static const struct ir_instr *report_folded_load(const struct ir_instr *in, unsigned depth)
{
    const struct ir_instr *def, *found = NULL;

    assert(depth <= FOLDED_DEPTH);
    for (uint32_t i = 0; i < in->nsrc && depth; i++) {
        def = in->src[i]->instr;
        if (report_is_folded(def))
            return def;
    }
    for (uint32_t i = 0; i < in->nsrc && depth && !found; i++) {
        def = in->src[i]->instr;
        found = def && ir_op_has(def->op, IR_F_PURE) ? report_folded_load(def, depth - 1) : NULL;
    }
    return found;
}

/* A store to the shared window met no address outside of what 32 bits reach from there. */
static bool report_stores_elsewhere(const struct report *r, const struct ir_instr *in)
{
    uint64_t from_window = r->guard->address - (uint64_t)(uintptr_t)r->cta->cta.shared;

    return in->op == IR_OP_ST && ir_space_is_shared(in->mem.space) && from_window > UINT32_MAX;
}

static void report_find_instr_at_pc(struct report *r)
{
    uint32_t instr_idx = jit_instr_find(r->job->kernel->jit, r->cta->code, r->guard->pc);
    if (!instr_idx && r->guard->caller) /* in a function that has no place of its own */
        instr_idx = jit_instr_find(r->job->kernel->jit, r->cta->code, r->guard->caller);
    const struct ir_instr *in =
        instr_idx ? ir_module_instr_at(report_module_of(r), instr_idx) : NULL;
    bool is_user = in && (!report_is_access(in) || report_stores_elsewhere(r, in));
    const struct ir_instr *load = is_user ? report_folded_load(in, FOLDED_DEPTH) : NULL;

    r->is_certain = in && !is_user;
    r->instr = load ? load : in;
}

static void report_find_instr(struct report *r)
{
    uint32_t instr_idx = r->guard->blame.instr_idx;

    if (!r->cta || r->cta->code->form == JIT_INTERP)
        return;
    if (instr_idx)
        r->instr = ir_module_instr_at(report_module_of(r), instr_idx);
    else if (r->guard->pc)
        report_find_instr_at_pc(r);
}

/* Is what the interpreter met what the code met? */
static bool report_same_fault(const struct report *r, const struct interp_fault *fault)
{
    const struct ir_srcloc *srcloc = r->instr ? &r->instr->srcloc : NULL;

    if (fault->address == r->guard->address)
        return true;
    return srcloc && srcloc->line && fault->file && fault->line == srcloc->line &&
           !strcmp(fault->file, ir_source_file(report_module_of(r), srcloc));
}

static bool report_is_multimem(const struct report *r)
{
    const struct hal_device *device = r->cta->job->domain->base.device;
    struct ir_replicas replicas;

    return device->client.replicas && device->client.replicas(r->guard->address, &replicas);
}

/* ---- telling */

static bool report_has_address(enum hd_status status)
{
    return status == HD_ILLEGAL_ADDRESS || status == HD_MISALIGNED;
}

/* ", thread (0,0,0)", or of which warp one is when that is known. */
static void report_print_thread(struct hd_buf *text, const struct report *r)
{
    const uint32_t *block = r->job->launch.block;
    uint32_t threads = block[0] * block[1] * block[2], first, t[3], last[3];

    if (r->has_thread) {
        hd_buf_printf(text, ", thread (%u,%u,%u)", r->thread[0], r->thread[1], r->thread[2]);
        return;
    }
    if (!r->cta->running)
        return;
    first = r->cta->running->index * 32;
    ir_thread_index(block, first, t);
    ir_thread_index(block, HD_MIN(first + 32, threads) - 1, last);
    hd_buf_printf(text, ", one of the threads (%u,%u,%u) to (%u,%u,%u)", t[0], t[1], t[2], last[0],
                  last[1], last[2]);
}

static void report_print_place(struct hd_buf *text, const struct report *r)
{
    if (!r->instr)
        return;
    hd_buf_puts(text, ", ");
    if (r->instr->srcloc.line)
        ir_print_source(report_module_of(r), &r->instr->srcloc, text);
    else
        hd_buf_puts(text, "unknown line");
    if (report_has_address(r->guard->status)) {
        hd_buf_puts(text, ": ");
        ir_print_access(r->instr, text);
    }
}

/* What would tell more. */
static void report_print_hint(struct hd_buf *text, const struct report *r)
{
    bool has_line = r->instr && r->instr->srcloc.line;

    if (r->has_thread && has_line)
        return;
    hd_buf_printf(text, "; HEDDLE_DEVICE=interp names the %s",
                  has_line        ? "thread"
                  : r->has_thread ? "line"
                                  : "thread and the line");
}

/* ", rank 1 of cluster (0,0,0)" */
static void report_print_cluster(struct hd_buf *text, const struct cpu_cta *cta)
{
    const uint32_t *n = cta->cta.launch->cluster, *id = cta->cta.ctaid;

    if (cpu_cta_has_peers(cta))
        hd_buf_printf(text, ", rank %u of cluster (%u,%u,%u)", cta->cta.cluster_rank, id[0] / n[0],
                      id[1] / n[1], id[2] / n[2]);
}

/* ": 4 bytes behind the nearest allocation, 4000 bytes at 0x7f0000000000" */
static void report_print_nearest(struct hd_buf *text, const struct report *r)
{
    const struct hal_device *device = r->job->domain->base.device;
    uint64_t base, size_B, by_B;
    bool is_behind;

    if (r->guard->status != HD_ILLEGAL_ADDRESS || r->reason || !device->client.nearest ||
        !device->client.nearest(r->address, &base, &size_B))
        return;
    is_behind = r->address >= base;
    by_B = is_behind ? r->address - base - size_B : base - r->address;
    if (is_behind && r->address - base < size_B)
        return;
    hd_buf_printf(text, ": %llu byte%s %s the nearest allocation, %llu bytes at 0x%llx",
                  (unsigned long long)by_B, by_B == 1 ? "" : "s",
                  is_behind ? "behind the end of" : "in front of", (unsigned long long)size_B,
                  (unsigned long long)base);
}

static void report_print(struct hd_buf *text, const struct report *r)
{
    const struct cpu_guard *g = r->guard;

    hd_buf_printf(text, "%s%s: %s", r->cta ? "kernel " : "", r->job->name,
                  g->status == HD_TIMEOUT ? "deadlock" : hd_status_text(g->status));
    if (report_has_address(g->status))
        hd_buf_printf(text, " 0x%llx", (unsigned long long)r->address);
    if (!r->cta)
        return;
    hd_buf_printf(text, " in block (%u,%u,%u)", r->cta->cta.ctaid[0], r->cta->cta.ctaid[1],
                  r->cta->cta.ctaid[2]);
    report_print_cluster(text, r->cta);
    if (g->status == HD_TIMEOUT) {
        cpu_print_waiters(r->cta, text);
        return;
    }
    report_print_thread(text, r);
    report_print_place(text, r);
    if (r->reason)
        hd_buf_printf(text, ": %s", r->reason);
    report_print_nearest(text, r);
    report_print_hint(text, r);
}

static void report_raise(const struct report *r, const char *message, bool is_logged)
{
    const struct cpu_guard *g = r->guard;
    struct hal_domain *domain = &r->job->domain->base;
    assert(r->cta || (!r->instr && !r->has_thread));
    struct hal_fault_site site = {.kernel = r->cta ? r->job->name : NULL,
                                  .block = r->cta ? r->cta->cta.ctaid : NULL,
                                  .thread = r->has_thread ? r->thread : NULL};

    if (r->instr && r->instr->srcloc.line) {
        site.file = ir_source_file(report_module_of(r), &r->instr->srcloc);
        site.line = r->instr->srcloc.line;
    }
    if (hal_domain_fail(domain, g->status, r->address, &site, message) && !is_logged)
        (void)!hd_error(g->status, "%s", domain->fault->message);
}

static void report_make(struct report *r)
{
    const struct cpu_guard *g = r->guard;
    struct hd_buf text;
    const char *said;

    r->reason = r->guard->blame.reason;
    if (!r->reason && r->cta && r->guard->status == HD_ILLEGAL_ADDRESS && r->guard->pc)
        r->reason = cpu_strict_reason(r->cta, r->guard->address);
    if (!r->reason && r->cta && r->guard->status == HD_ILLEGAL_ADDRESS && report_is_multimem(r))
        r->reason = ir_multimem_only;
    said = r->cta ? cpu_inplace_message(r->cta, g->status, g->address, r->reason) : NULL;
    hd_buf_init(&text);
    if (said) {
        hd_buf_puts(&text, said);
        report_print_nearest(&text, r);
        report_raise(r, text.ptr ? text.ptr : said, true);
        hd_buf_fini(&text);
        return;
    }
    report_find_thread(r);
    report_find_instr(r);
    /*
     * A signal says nothing of threads; its address is that of the first byte that is not there.
     * LLVM merges and reorders sums of what was loaded, so that their instructions have another's
     * place or none.
     */
    struct interp_fault fault;
    if (!r->has_thread && r->cta && r->guard->pc && r->guard->status == HD_ILLEGAL_ADDRESS &&
        cpu_replay(r->cta, &fault) && report_same_fault(r, &fault)) {
        r->has_thread = true;
        memcpy(r->thread, fault.tid, sizeof(r->thread));
        r->address = fault.address;
        if (!r->is_certain && fault.instr)
            r->instr = fault.instr;
    }
    report_print(&text, r);
    report_raise(r, text.ptr ? text.ptr : r->job->name, false);
    hd_buf_fini(&text);
}

/*
 * Finding out may take as long as compiling the kernel, and every worker may have met the same
 * fault: the first one reports, the others see that it is done.
 */
void cpu_fault_report(const struct cpu_guard *guard, struct cpu_job *job)
{
    static struct hd_lock lock = HD_LOCK_INIT(DEVICE, "fault report");
    struct report r = {.guard = guard, .job = job, .cta = guard->cta, .address = guard->address};

    assert(guard->status != HD_OK && !guard->active && !guard->held);
    if (job->is_rerun) {
        job->rerun_status = guard->status;
        return;
    }
    if (guard->status == HD_CANCELLED)
        return; /* who cancelled has raised it */
    cpu_job_end(job);
    hd_lock_acquire(&lock);
    if (hal_domain_status(&job->domain->base) == HD_OK)
        report_make(&r);
    hd_lock_release(&lock);
}

bool cpu_guarded(void (*body)(void *arg), void *arg, struct cpu_job *job, struct cpu_cta *cta)
{
    struct cpu_guard fault;

    if (HD_LIKELY(cpu_guard_run(body, arg, job, cta, &fault)))
        return true;
    cpu_fault_report(&fault, job);
    return false;
}
