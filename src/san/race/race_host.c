/*
 * What the host reads and writes by itself, of managed and pinned memory: see race_streams.h.
 * Variables are managed memory, too, but where they lie in pages with other data of the program.
 *
 * The device runs in this process, with the host's addresses, so a page cannot be closed for one of
 * them alone. But when they do is ours: a call that submits work waits until that is done, and what
 * it accessed is known from shadow then. Before the call returns, pages are closed that the host
 * must not access yet, because nothing that it waited for is behind the work. They are open while
 * any thread is in a call or any work is left.
 *
 *     fill<<<..>>>(managed)   pages open, the kernel runs, its pages are closed
 *     managed[0]              a fault: told, the page is opened
 *     cudaStreamSynchronize() all open: the host knows that the kernel is done
 *
 * Only pages are closed of which all is used so: whoever accesses one races, and no system call
 * of a right program gets an address that it cannot read (EFAULT). Of a kernel that writes such
 * memory by volatile stores, or by atomics for the whole system, nothing counts: the host may wait
 * by that.
 *
 * Work that waits for the host never ends while the call waits: after racecheck-host-wait seconds
 * the program goes on, and the host is not looked at any more.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "base/clock.h"
#include "base/fault_hook.h"
#include "base/lock.h"
#include "base/mem.h"
#include "hal/packet.h"
#include "san/memory.h"
#include "san/options.h"
#include "san/race/race_streams.h"

enum { PAGE_B = RACE_PAGE_B, MANAGED = 4, PINNED = 2, REGISTERED = 8 };

/* A page that the host must not access until it knows of two operations, which may be the same. */
struct use {
    uint64_t va;
    bool reads; /* nor read; else only not write */
    struct san_order_op until[2];
};

static struct {
    struct hd_lock lock; /* all below */
    pthread_cond_t done;
    HD_VEC(uint64_t) work; /* ids of packets that have not retired */
    unsigned calls;        /* threads in calls */
    HD_VEC(struct use) uses;
    bool is_closed; /* what `uses` says is done */
    bool is_off;
} host = {.lock = HD_LOCK_INIT(SAN_HOST, "what the host accesses")};

static HD_THREAD_LOCAL struct {
    uint64_t submitted; /* the last packet of the call; 0 */
    uint64_t fault;     /* where an open page seemed closed, and how often in a row */
    unsigned faults;
} here;

/* ---- closing and opening */

static void host_protect(uint64_t va, uint64_t size_B, int prot)
{
    /* Memory that is gone meanwhile needs no opening. */
    (void)mprotect((void *)(uintptr_t)va, size_B, prot);
}

/* Neighbours of a kind at once. */
static void host_protect_all_locked(bool open)
{
    assert(hd_lock_held(&host.lock));
    for (size_t i = 0, n; i < host.uses.len; i += n) {
        const struct use *u = &host.uses.at[i];
        for (n = 1;
             i + n < host.uses.len && u[n].va == u->va + n * PAGE_B && u[n].reads == u->reads;)
            n++;
        host_protect(u->va, n * PAGE_B,
                     open       ? PROT_READ | PROT_WRITE
                     : u->reads ? PROT_NONE
                                : PROT_READ);
    }
    host.is_closed = !open;
}

static void host_open_locked(void)
{
    if (host.is_closed)
        host_protect_all_locked(true);
}

static size_t host_use_at_locked(uint64_t va)
{
    size_t low = 0, high = host.uses.len;

    assert(hd_lock_held(&host.lock) && va % PAGE_B == 0);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (host.uses.at[middle].va < va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void host_use_add_locked(const struct use *use)
{
    size_t at = host_use_at_locked(use->va);
    struct use *have = at < host.uses.len ? &host.uses.at[at] : NULL;

    assert(use->until[0].number && use->until[0].number <= use->until[1].number);
    if (have && have->va == use->va) {
        if (use->reads || !have->reads)
            *have = *use;
        return;
    }
    if (!hd_vec_reserve(&host.uses, host.uses.len + 1))
        return;
    memmove(&host.uses.at[at + 1], &host.uses.at[at], (host.uses.len - at) * sizeof(*use));
    host.uses.at[at] = *use;
    host.uses.len++;
}

/* ---- which pages */

/* The part of a page that is the block's, if nothing else can be in the page; else nothing. */
struct part {
    uint64_t va, end;
};

static bool is_of_host(const struct san_block *block)
{
    return block->memory == MANAGED || block->memory == PINNED || block->memory == REGISTERED;
}

/* In pages that have nothing but such. */
static bool host_is_variable(const struct san_block *block)
{
    return block->memory == MANAGED && block->use == HEDDLE_MEMORY_MODULE;
}

static struct part host_part_of(const struct san_block *block, uint64_t page)
{
    uint64_t end = block->base + block->size_B;
    struct part part = {HD_MAX(page, block->base), HD_MIN(page + PAGE_B, end)};
    bool is_shared = (block->base % PAGE_B && !host_is_variable(block)) ||
                     (block->memory == REGISTERED && end % PAGE_B);

    return is_shared && part.end - part.va < PAGE_B ? (struct part){0} : part;
}

struct look {
    race_pasts pasts;       /* that the host does not know of */
    uint32_t fresh;         /* `base` of the first that nobody looked at */
    struct race_past *last; /* that was found */
    bool has_signals;       /* one of them tells the host by memory, as was seen now */
    const struct san_memory *memory;
};

/* Neighbours are mostly of the same. */
static struct race_past *host_past_of(struct look *look, uint64_t epoch)
{
    uint32_t serial = race_serial(epoch);

    if (!epoch)
        return NULL;
    if (!look->last || serial - look->last->base >= look->last->n)
        look->last = race_pasts_find(&look->pasts, serial);
    return look->last;
}

static struct race_past *host_plain_of(struct look *look, uint64_t epoch, uint32_t info)
{
    struct race_past *past = host_past_of(look, epoch);

    return past && !past->reports_host && !(info & (RACE_STRONG | RACE_VOLATILE)) ? past : NULL;
}

/* A write that the host may see when it comes, and what was before it. */
static bool host_is_signal(struct race_past *past, uint32_t info)
{
    if (info & RACE_READS || !(info & (RACE_STRONG | RACE_VOLATILE | RACE_ATOM)))
        return false;
    if (!(info & RACE_ATOM))
        return true;
    race_streams_lock();
    const struct ir_instr *probe = race_past_probe_locked(past, info >> 8);
    race_streams_unlock();
    return !probe || probe->mem.scope == IR_SCOPE_SYS;
}

static void host_look_for_signal(struct look *look, uint64_t epoch, uint32_t info)
{
    struct race_past *past = host_past_of(look, epoch);

    if (past && !past->reports_host && host_is_signal(past, info))
        past->reports_host = look->has_signals = true;
}

/* Is all of the part accessed by launches that the host does not know of? And all of it written? */
static bool host_is_used(struct look *look, const struct race_page *page, struct part part,
                         struct use *use)
{
    uint64_t first = part.va % PAGE_B, last = (part.end - 1) % PAGE_B;
    bool all = true;

    assert(part.va < part.end && first <= last);
    use->reads = true;
    for (uint64_t u = first >> page->shift; u <= last >> page->shift; u++) {
        const struct race_past *past = host_plain_of(look, page->writer[u], page->writer_is[u]);
        if (!past) {
            use->reads = false;
            past = host_plain_of(look, page->reader[u], page->reader_is[u]);
        }
        if (!past && page->second)
            past = host_plain_of(look, page->second[u], page->second_is[u]);
        host_look_for_signal(look, page->writer[u], page->writer_is[u]);
        all &= past != NULL;
        if (past) {
            struct san_order_op op = past->position.op;

            if (!use->until[0].number || op.number < use->until[0].number)
                use->until[0] = op;
            if (op.number > use->until[1].number)
                use->until[1] = op;
        }
    }
    return all;
}

/* The first block of the host's in the page, from number *i on; NULL: there is none. */
static const struct san_block *host_block_in_page(const struct san_memory *memory, uint64_t page,
                                                  int64_t *i)
{
    for (; *i < memory->n && memory->base[*i] < page + PAGE_B; ++*i) {
        const struct san_block *block = memory->block[*i];
        if (block->base + block->size_B > page && is_of_host(block))
            return block;
    }
    return NULL;
}

static const struct san_block *host_first_in_page(const struct san_memory *memory, uint64_t page,
                                                  int64_t *i)
{
    *i = HD_MAX(san_memory_index(memory, page), 0);
    return host_block_in_page(memory, page, i);
}

/* Variables share pages of their own, of which nothing else is anybody's: all are to be used. */
static bool host_is_page_used(struct look *look, struct race_page *page, struct use *use)
{
    bool used = true, reads = true;
    int64_t i;

    for (const struct san_block *block = host_first_in_page(look->memory, use->va, &i);
         used && block; ++i, block = host_block_in_page(look->memory, use->va, &i)) {
        struct part part = host_part_of(block, use->va);
        used = part.va < part.end && host_is_used(look, page, part, use);
        reads &= use->reads;
    }
    use->reads = reads;
    return used;
}

static void host_look_at_page_locked(struct look *look, uint64_t va)
{
    struct race_page *page = race_map_find(race_global(), va);
    struct use use = {.va = va};

    if (!page || atomic_load(&page->touched) < look->fresh)
        return;
    race_page_lock(page);
    bool used = host_is_page_used(look, page, &use);
    race_page_unlock(page);
    if (used)
        host_use_add_locked(&use);
}

/* Of rows without gaps: others leave something of each page. */
static void host_look_at_span_locked(const struct san_memory *memory, const struct race_span *span,
                                     struct san_order_op op)
{
    uint64_t end = span->va + span->width_B;

    if (!span->width_B || span->height != 1 || span->depth != 1)
        return;
    for (uint64_t va = span->va & ~(uint64_t)(PAGE_B - 1); va < end; va += PAGE_B) {
        const struct san_block *block = san_memory_find(memory, HD_MAX(va, span->va));
        bool is_whole = block && is_of_host(block) && !host_is_variable(block);
        struct part part = is_whole ? host_part_of(block, va) : (struct part){0};
        if (part.va < part.end && part.va >= span->va && part.end <= end)
            host_use_add_locked(&(struct use){va, span->writes, {op, op}});
    }
}

/* What ended since somebody looked last. */
static bool host_take_fresh(struct look *look, const struct san_order_clock *clock)
{
    look->fresh = UINT32_MAX;
    race_streams_lock();
    race_pasts_unknown_locked(clock, &look->pasts);
    for (size_t i = 0; i < look->pasts.len; i++) {
        if (!look->pasts.at[i]->is_looked_at)
            look->fresh = HD_MIN(look->fresh, look->pasts.at[i]->base);
        look->pasts.at[i]->is_looked_at = true;
    }
    race_streams_unlock();
    return look->fresh != UINT32_MAX;
}

static bool reports_host(const struct look *look, const struct use *use)
{
    for (size_t i = 0; i < look->pasts.len; i++)
        if (look->pasts.at[i]->reports_host &&
            (look->pasts.at[i]->position.op.number == use->until[0].number ||
             look->pasts.at[i]->position.op.number == use->until[1].number))
            return true;
    return false;
}

static void host_look_locked(const struct san_order_clock *clock, const struct san_memory *memory)
{
    struct look look = {.memory = memory};
    race_ops ops = {0};

    assert(hd_lock_held(&host.lock) && !host.is_closed);
    if (host_take_fresh(&look, clock)) {
        for (uint32_t i = 0; i < look.memory->n; i++) {
            const struct san_block *block = look.memory->block[i];
            uint64_t end = block->base + block->size_B;
            if (!is_of_host(block))
                continue;
            for (uint64_t va = block->base & ~(uint64_t)(PAGE_B - 1); va < end; va += PAGE_B)
                host_look_at_page_locked(&look, va);
        }
        size_t kept = 0;
        for (size_t i = 0; look.has_signals && i < host.uses.len; i++) {
            struct use use = host.uses.at[i];
            if (!reports_host(&look, &use))
                host.uses.at[kept++] = use;
        }
        if (look.has_signals)
            host.uses.len = kept;
    }
    race_ops_fresh(clock, &ops);
    for (size_t i = 0; i < ops.len; i++)
        for (unsigned k = 0; k < RACE_SPANS; k++)
            host_look_at_span_locked(memory, &ops.at[i]->span[k], ops.at[i]->position.op);
    race_ops_fini(&ops);
    race_pasts_fini(&look.pasts);
}

static bool host_on_fault(int sig, siginfo_t *info, void *context);

static void host_close_locked(void)
{
    struct san_memory *memory = san_memory_now();
    struct san_order_clock clock;

    assert(hd_lock_held(&host.lock) && !host.calls && !host.work.len);
    if (!memory)
        return;
    san_order_host_clock(&clock);
    host_look_locked(&clock, memory);
    /* Also what is no memory of the program's any more. */
    size_t kept = 0;
    for (size_t i = 0; i < host.uses.len; i++) {
        struct use use = host.uses.at[i];
        int64_t unused;
        if (host_first_in_page(memory, use.va, &unused) &&
            !san_order_is_before(use.until[0], &clock) &&
            !san_order_is_before(use.until[1], &clock))
            host.uses.at[kept++] = use;
    }
    host.uses.len = kept;
    san_memory_unref(memory);
    if (host.uses.len && !hd_fault_hook_set(host_on_fault))
        host.is_off = true;
    if (host.uses.len && !host.is_off)
        host_protect_all_locked(false);
}

/* ---- what the host did */

static bool host_is_write(const void *context, const struct use *use)
{
#ifdef __x86_64__
    const ucontext_t *uc = context;

    (void)use;
    return uc->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context; /* not known: the least that it can be */
    return !use->reads;
#endif
}

static uintptr_t host_pc_of(const void *context)
{
    const ucontext_t *uc = context;

#ifdef __x86_64__
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)uc->uc_mcontext.pc;
#else
    (void)uc;
    return 0;
#endif
}

/* Without the frames of the signal. */
static void host_stack_of_fault(const void *context, struct san_stack *out)
{
    uintptr_t pc = host_pc_of(context);
    uint32_t first = 0;

    san_stack_take(out);
    while (first < out->n && out->pc[first] != pc)
        first++;
    if (first == out->n)
        return;
    out->n -= first;
    memmove(out->pc, out->pc + first, out->n * sizeof(out->pc[0]));
}

static struct race_op *host_access_create(uint64_t va, bool write, const void *context)
{
    struct race_op *op = hd_new(struct race_op);

    if (!op)
        return NULL;
    op->refs = 1;
    op->span[0] = (struct race_span){va, 1, 1, 0, 1, 0, write};
    snprintf(op->name, sizeof(op->name), "the host");
    host_stack_of_fault(context, &op->stack);
    return op;
}

static void host_report_past(struct race_past *past, uint64_t epoch, uint32_t info, uint64_t va,
                             struct race_op *op)
{
    race_between_report(&(struct race_between){.past = {past},
                                               .op = {NULL, op},
                                               .epoch = {epoch},
                                               .info = {info, op->span[0].writes ? 0 : RACE_READS},
                                               .address = va,
                                               .count = 1,
                                               .is_host = true});
}

/* The last writer; for a write the readers as well. */
static bool host_report_launches(uint64_t va, struct race_op *op,
                                 const struct san_order_clock *clock)
{
    struct race_page *page = race_map_find(race_global(), va);
    struct look look = {0};
    uint64_t epoch[3] = {0};
    uint32_t info[3] = {0};
    bool reported = false;

    if (!page)
        return false;
    race_page_lock(page);
    uint64_t u = va % PAGE_B >> page->shift;
    epoch[0] = page->writer[u];
    info[0] = page->writer_is[u];
    epoch[1] = op->span[0].writes ? page->reader[u] : 0;
    info[1] = page->reader_is[u];
    epoch[2] = op->span[0].writes && page->second ? page->second[u] : 0;
    info[2] = page->second ? page->second_is[u] : 0;
    race_page_unlock(page);
    race_streams_lock();
    race_pasts_unknown_locked(clock, &look.pasts);
    race_streams_unlock();
    for (unsigned i = 0; i < 3 && !reported; i++) {
        struct race_past *past = host_plain_of(&look, epoch[i], info[i]);
        if (past)
            host_report_past(past, epoch[i], info[i], va, op);
        reported = past;
    }
    race_pasts_fini(&look.pasts);
    return reported;
}

static void host_report_ops(uint64_t va, struct race_op *op, const struct san_order_clock *clock)
{
    race_ops ops = {0};
    bool write = op->span[0].writes;

    race_ops_at(va, write, clock, &ops);
    if (ops.len) /* one stands for all */
        race_between_report(&(struct race_between){
            .op = {ops.at[0], op},
            .info = {race_op_writes(ops.at[0], va) ? 0 : RACE_READS, write ? 0 : RACE_READS},
            .address = va,
            .count = 1,
            .is_host = true});
    race_ops_fini(&ops);
}

/* The page of an access that faults is open from now on, until a call returns. */
static bool host_take_use(uint64_t va, struct use *out)
{
    uint64_t page = va & ~(uint64_t)(PAGE_B - 1);
    bool found = false;

    hd_lock_acquire(&host.lock);
    size_t at = host_use_at_locked(page);
    if (host.is_closed && at < host.uses.len && host.uses.at[at].va == page) {
        *out = host.uses.at[at];
        host_protect(page, PAGE_B, PROT_READ | PROT_WRITE);
        found = true;
    }
    hd_lock_release(&host.lock);
    return found;
}

static bool host_on_fault(int sig, siginfo_t *info, void *context)
{
    uint64_t va = (uintptr_t)info->si_addr;
    struct use use;

    if (sig != SIGSEGV || info->si_code != SEGV_ACCERR)
        return false;
    struct san_block *block = san_memory_live(va);
    bool is_known = block && is_of_host(block), is_closed;
    san_block_unref(block);
    /* Another thread may have opened it meanwhile; what goes on faulting is the program's own. */
    here.faults = here.fault == va ? here.faults + 1 : 0;
    here.fault = va;
    if (here.faults >= 3)
        return false;
    is_closed = host_take_use(va, &use); /* maybe beside the variables of the page */
    if (is_closed) {
        const bool write = host_is_write(context, &use);
        struct race_op *op = host_access_create(va, write, context);
        if (op) {
            struct san_order_clock clock;
            san_order_host_clock(&clock);
            if (!host_report_launches(va, op, &clock))
                host_report_ops(va, op, &clock);
            race_op_unref(op);
        }
    }
    return is_known || is_closed;
}

/* ---- calls and work */

static bool host_is_on(void)
{
    return san_options()->racecheck_host_wait_s;
}

void race_host_call_begin(void)
{
    if (!host_is_on())
        return;
    here.submitted = 0;
    hd_lock_acquire(&host.lock);
    host.calls++;
    host_open_locked();
    hd_lock_release(&host.lock);
}

/* Is nothing of that left, nor of what was submitted before? */
static bool host_is_done_locked(uint64_t packet)
{
    assert(hd_lock_held(&host.lock));
    for (size_t i = 0; i < host.work.len; i++)
        if (host.work.at[i] <= packet)
            return false;
    return true;
}

void race_host_call_end(void)
{
    if (!host_is_on())
        return;
    hd_lock_acquire(&host.lock);
    assert(host.calls > 0);
    if (here.submitted) {
        const uint64_t packet = here.submitted;
        uint64_t wait_s = san_options()->racecheck_host_wait_s;
        uint64_t end_ns = hd_clock_ns(CLOCK_MONOTONIC) + wait_s * 1000000000u;
        struct timespec until = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};

        while (!host.is_off && !host_is_done_locked(packet)) {
            if (hd_clock_ns(CLOCK_MONOTONIC) >= end_ns)
                host.is_off = true;
            else
                hd_lock_wait_until(&host.lock, &host.done, &until);
        }
    }
    if (!--host.calls && !host.work.len && !host.is_off)
        host_close_locked();
    hd_lock_release(&host.lock);
}

void race_host_submit(const struct heddle_event *e)
{
    if (!host_is_on())
        return;
    hd_lock_acquire(&host.lock);
    host_open_locked();
    if (!hd_vec_push(&host.work, e->packet.id))
        host.is_off = true;
    hd_lock_release(&host.lock);
    if (e->correlation)
        here.submitted = e->packet.id;
}

void race_host_retire(const struct heddle_event *e)
{
    if (!host_is_on())
        return;
    hd_lock_acquire(&host.lock);
    for (size_t i = 0; i < host.work.len; i++)
        if (host.work.at[i] == e->packet.id) {
            memmove(&host.work.at[i], &host.work.at[i + 1],
                    (host.work.len - i - 1) * sizeof(host.work.at[0]));
            host.work.len--;
            break;
        }
    pthread_cond_broadcast(&host.done);
    hd_lock_release(&host.lock);
}

bool race_host_start(void)
{
    pthread_condattr_t attributes;
    bool fine;

    if (pthread_condattr_init(&attributes))
        return false;
    fine = !pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) &&
           !pthread_cond_init(&host.done, &attributes);
    pthread_condattr_destroy(&attributes);
    return fine;
}
