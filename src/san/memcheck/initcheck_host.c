/*
 * What the host does to shadows: copies and fills, when they are complete. RETIRED of a packet
 * comes in the order of its stream, between the packet and what follows.
 *
 * Also memory that nothing was ever written to.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "hal/packet.h"
#include "san/memcheck/initcheck.h"
#include "san/options.h"

/* ---- packets on their way */

struct pending {
    union hal_packet packet;
    struct san_memory *memory; /* as it was when the packet was submitted */
    struct san_stack stack;    /* of the call */
};

static struct {
    pthread_mutex_t lock;
    struct hd_map packets; /* id -> struct pending */
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(pending, pending.lock);

static void host_pending_destroy(struct pending *p)
{
    if (!p)
        return;
    san_memory_unref(p->memory);
    hd_free(p);
}

/* What is not known to be written is taken for it. */
static void host_lose_track(void)
{
    struct san_memory *memory = san_memory_now();

    if (memory)
        initcheck_forget(memory);
    san_memory_unref(memory);
}

static bool host_changes_memory(uint32_t op)
{
    return op == HAL_OP_COPY || op == HAL_OP_FILL || op == HAL_OP_SIGNAL || op == HAL_OP_TIMESTAMP;
}

static void host_on_packet(const struct heddle_event *e)
{
    const struct heddle_kernel *kernel = e->packet.work ? e->packet.work->kernel : NULL;
    struct pending *p;
    bool kept = false;

    if (kernel && kernel->is_native)
        host_lose_track(); /* nobody knows what its function writes */
    if (!host_changes_memory(e->packet.op))
        return;
    p = hd_new(struct pending);
    if (p) {
        p->packet = *(const union hal_packet *)e->packet.packet;
        p->memory = san_memory_now();
        san_stack_take(&p->stack);
    }
    if (p && p->memory) {
        pthread_mutex_lock(&pending.lock);
        kept = hd_map_put_u64(&pending.packets, e->packet.id, p);
        pthread_mutex_unlock(&pending.lock);
    }
    if (kept)
        return;
    host_pending_destroy(p);
    host_lose_track();
}

/* ---- ranges of memory */

enum {
    MEMBER_MAX_B = 16, /* the largest alignment of a member */
    STRUCT_MAX_B = 64, /* a larger struct with one gap is told of */
};

/* What of [va, va + size_B) is checked: its shadow, where in it, and *size_B of it in one block. */
struct part {
    struct san_shadow *shadow; /* NULL: counts as initialised */
    uint64_t at;
};

static struct part host_part_of(const struct san_memory *memory, uint64_t va, uint64_t *size_B)
{
    struct san_block *block = san_memory_find(memory, va);
    int64_t next = san_memory_index(memory, va) + 1;

    if (!block) {
        if (next < memory->n)
            *size_B = HD_MIN(*size_B, memory->base[next] - va);
        return (struct part){NULL, 0};
    }
    *size_B = HD_MIN(*size_B, block->size_B - (va - block->base));
    return (struct part){initcheck_shadow(block), va - block->base};
}

static void host_range_set(const struct san_memory *memory, uint64_t va, uint64_t size_B)
{
    while (size_B) {
        uint64_t n = size_B;
        struct part to = host_part_of(memory, va, &n);

        assert(n && n <= size_B);
        if (to.shadow)
            san_shadow_set(to.shadow, to.at, n);
        va += n;
        size_B -= n;
    }
}

/*
 * The first byte of a range that is not initialised; its end: there is none. Where all gaps are
 * like padding they are, if there are as many of them as structs would have: one element that is
 * missing in an array looks the same.
 */
static uint64_t host_first_wild(const struct san_shadow *shadow, uint64_t at, uint64_t size_B)
{
    uint64_t end = at + size_B, first = san_shadow_first_clear(shadow, at, size_B), gaps = 0;

    for (uint64_t gap = first; gap < end; gaps++) {
        uint64_t gap_end = san_shadow_first_set(shadow, gap, end - gap);
        /*
         * Padding: a struct's members are written one by one, and a copy of the struct has what is
         * between them, too. It is shorter than the alignment of the member behind it, which is
         * there.
         */
        unsigned align_B = 2;
        while (align_B <= gap_end - gap)
            align_B *= 2;
        if (gap <= at || align_B > MEMBER_MAX_B || gap_end % align_B != 0 ||
            end - gap_end < align_B || san_shadow_missing(shadow, gap_end, align_B))
            return first;
        gap = san_shadow_first_clear(shadow, gap_end, end - gap_end);
    }
    return gaps * STRUCT_MAX_B >= size_B ? end : first;
}

/* Copies what is known of it. The first byte that leaves checked memory without being initialised
 * goes to *wild, unless that is set. */
static void host_range_copy(const struct san_memory *memory, uint64_t dst, uint64_t src,
                            uint64_t size_B, uint64_t *wild)
{
    while (size_B) {
        uint64_t n = size_B;
        struct part to = host_part_of(memory, dst, &n), from = host_part_of(memory, src, &n);
        uint64_t clear;

        assert(n && n <= size_B);
        if (to.shadow && from.shadow)
            san_shadow_copy(to.shadow, to.at, from.shadow, from.at, n);
        else if (to.shadow)
            san_shadow_set(to.shadow, to.at, n);
        else if (from.shadow && !*wild) {
            clear = host_first_wild(from.shadow, from.at, n) - from.at;
            *wild = clear < n ? src + clear : 0;
        }
        dst += n;
        src += n;
        size_B -= n;
    }
}

/* ---- copies and fills */

static void host_report_copy(const struct pending *p, uint64_t wild)
{
    const struct hal_copy *c = &p->packet.copy;
    struct san_finding f = {.tool = "initcheck",
                            .kind = "uninitialized-copy",
                            .severity = SAN_ERROR,
                            .address = wild,
                            .has_address = true,
                            .stack = &p->stack,
                            .count = 1,
                            .space = "global",
                            .direction = "read",
                            .size_B = c->width_B * c->height * c->depth};
    struct san_block *block = san_memory_find(p->memory, wild);

    snprintf(f.title, sizeof(f.title),
             "Host API memory access error at host access to 0x%llx of size %llu bytes",
             (unsigned long long)c->src, (unsigned long long)f.size_B);
    san_detail(&f, "Uninitialized access at 0x%llx on access by cudaMemcpy source.",
               (unsigned long long)wild);
    if (block)
        f.allocated = &block->allocated;
    san_report(&f);
}

/* Rows that follow each other without a gap are one. */
static bool host_is_one_row(const struct hal_copy *c)
{
    return c->depth == 1 &&
           (c->height == 1 || (c->dst_pitch_B == c->width_B && c->src_pitch_B == c->width_B));
}

static void host_copy_apply(const struct pending *p)
{
    const struct hal_copy *c = &p->packet.copy;
    uint64_t wild = 0;

    if (host_is_one_row(c)) {
        host_range_copy(p->memory, c->dst, c->src, c->width_B * c->height, &wild);
    } else {
        for (uint64_t z = 0; z < c->depth; z++)
            for (uint64_t y = 0; y < c->height; y++)
                host_range_copy(p->memory, c->dst + z * c->dst_slice_B + y * c->dst_pitch_B,
                                c->src + z * c->src_slice_B + y * c->src_pitch_B, c->width_B,
                                &wild);
    }
    if (wild && san_options()->check_api_memory_access &&
        san_options()->initcheck_space & SAN_INIT_SPACE_GLOBAL)
        host_report_copy(p, wild);
}

static void host_fill_apply(const struct pending *p)
{
    const struct hal_fill *f = &p->packet.fill;

    for (uint64_t y = 0; y < f->height; y++)
        host_range_set(p->memory, f->dst + y * f->pitch_B, f->width * f->elem_B);
}

static void host_on_retired(const struct heddle_event *e)
{
    struct pending *p;

    if (!host_changes_memory(e->packet.op))
        return;
    const uint64_t id = e->packet.id;
    pthread_mutex_lock(&pending.lock);
    p = hd_map_get_u64(&pending.packets, id);
    if (p)
        (void)hd_map_remove_u64(&pending.packets, id);
    pthread_mutex_unlock(&pending.lock);
    if (!p)
        return;
    if (e->packet.status == HD_OK && e->packet.op == HAL_OP_COPY)
        host_copy_apply(p);
    else if (e->packet.op == HAL_OP_FILL)
        host_fill_apply(p);
    else if (e->packet.op != HAL_OP_COPY && !p->packet.sem.region)
        host_range_set(p->memory, p->packet.sem.address, p->packet.sem.is_32 ? 4 : 8);
    host_pending_destroy(p);
}

void initcheck_host(const struct heddle_event *e)
{
    san_memory_host(SAN_INITCHECK, e);
    if (e->kind == HEDDLE_EVENT_PACKET)
        host_on_packet(e);
    else if (e->kind == HEDDLE_EVENT_RETIRED)
        host_on_retired(e);
}

/* ---- unused memory */

/* The unwritten bytes of a range, from the first to the last. */
struct unused {
    uint64_t size_B, first, last;
};

static uint64_t host_last_clear(const struct san_shadow *shadow, uint64_t end)
{
    uint64_t at = end - 1;

    while (at && !san_shadow_missing(shadow, at, 1)) /* a kernel may write meanwhile */
        at--;
    return at;
}

static struct unused host_unused_of(const struct san_shadow *shadow, uint64_t size_B)
{
    struct unused u = {.size_B = size_B, .last = size_B - 1};

    if (!shadow)
        return u;
    u.size_B = size_B - san_shadow_count(shadow, 0, size_B);
    if (u.size_B) {
        u.first = san_shadow_first_clear(shadow, 0, size_B);
        u.last = host_last_clear(shadow, size_B);
    }
    return u;
}

static double host_percent(uint64_t part, uint64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

static bool host_is_reported(const struct unused *u, uint64_t size_B)
{
    return u->size_B && host_percent(u->size_B, size_B) >= (double)san_options()->unused_threshold;
}

static void host_say_unused(struct san_finding *f, const struct unused *u, uint64_t size_B,
                            uint64_t base)
{
    unsigned long long first = u->first, last = u->last, va = base, n = u->size_B;

    f->size_B = u->size_B;
    if (u->size_B == size_B)
        san_detail(f, "Not written any memory.");
    else if (u->last - u->first + 1 == u->size_B)
        san_detail(f, "Not written %llu bytes at offset 0x%llx (0x%llx)", n, first, va + first);
    else
        san_detail(
            f, "Not written %llu bytes between offset 0x%llx (0x%llx) and offset 0x%llx (0x%llx)",
            n, first, va + first, last, va + last);
}

static void host_report_unused(const struct san_block *block, const struct unused *u)
{
    struct san_finding f = {.tool = "initcheck",
                            .kind = "unused-memory",
                            .severity = SAN_ERROR,
                            .address = block->base,
                            .has_address = true,
                            .space = "global",
                            .allocated = &block->allocated,
                            .count = 1};

    snprintf(f.title, sizeof(f.title),
             "Unused __global__ memory in allocation 0x%llx of size %llu bytes",
             (unsigned long long)block->base, (unsigned long long)block->size_B);
    host_say_unused(&f, u, block->size_B, block->base);
    san_detail(&f, "%.4g%% of allocation were unused.", host_percent(u->size_B, block->size_B));
    san_report(&f);
}

void initcheck_unused_shared(const struct san_cta *cta, const struct san_shadow *shadow)
{
    struct unused u = host_unused_of(shadow, shadow->size_B);
    const uint32_t *at = cta->base->ctaid;
    uint32_t before;
    struct san_finding f = {.tool = "initcheck",
                            .kind = "unused-shared-memory",
                            .severity = SAN_ERROR,
                            .space = "shared",
                            .launch = cta->launch,
                            .count = 1};

    if (!host_is_reported(&u, shadow->size_B))
        return;
    before = atomic_fetch_add(&initcheck_launch_of(cta)->unused_reports, 1);
    if (before >= san_options()->unused_shared_limit)
        return;
    snprintf(f.title, sizeof(f.title),
             "Unused __shared__ memory in allocation of size %llu bytes in block (%u,%u,%u)",
             (unsigned long long)shadow->size_B, at[0], at[1], at[2]);
    host_say_unused(&f, &u, shadow->size_B, 0);
    san_detail(&f, "These unused bytes represent %.4g%% of the shared memory.",
               host_percent(u.size_B, shadow->size_B));
    san_report(&f);
}

/* Memory that is freed in a stream may still be written by what was submitted before. */
static void host_look_for_unused(const struct san_block *block)
{
    struct unused u;

    if (!san_options()->track_unused_memory || !initcheck_has_shadow(block) ||
        block->use == HEDDLE_MEMORY_ARRAY || /* rows have padding */
        block->is_freed_in_stream || !(san_options()->initcheck_space & SAN_INIT_SPACE_GLOBAL))
        return;
    u = host_unused_of(atomic_load(&block->shadow), block->size_B);
    if (host_is_reported(&u, block->size_B))
        host_report_unused(block, &u);
}

static _Atomic bool is_over;

void initcheck_gone(struct san_block *block, bool with_context)
{
    (void)with_context;
    if (!atomic_load(&is_over))
        host_look_for_unused(block);
}

void initcheck_finish(void)
{
    struct san_memory *memory = san_memory_now();

    for (uint32_t i = 0; memory && i < memory->n; i++)
        host_look_for_unused(memory->block[i]);
    atomic_store(&is_over, true);
    san_memory_unref(memory);
}
