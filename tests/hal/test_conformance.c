/*
 * What every device must do, run on each row of hal_backends: memory, packets of all kinds, order
 * in and between queues, parameters of any size, faults that stop one domain only, limits.
 *
 * The kernel exists twice: as IR for devices that compile it, and as a C function for the CPU
 * device, whose code generator is replaced here (it has tests of its own).
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/env.h"
#include "hal/hal.h"
#include "tap.h"
#include "bump_kernel.h"

#define WORDS 1000

static struct hal_device *device;
static struct ir_module *ir;
static struct hal_module *module;
static struct hal_kernel *kernel;
static struct hal_domain *domain;
static struct hal_queue *q, *q2;
static const char *name;

static void submit(struct hal_queue *queue, union hal_packet p)
{
    if (hal_packet_check(&p) != HD_OK)
        abort();
    while (queue->ops->submit(queue, &p, 1) == HD_BUSY)
        if (device->ops->wait(device, &queue->ring->retired, hal_queue_retired(queue) + 1,
                              TIMEOUT_NS))
            abort();
}

static bool drain(struct hal_queue *queue)
{
    return device->ops->wait(device, &queue->ring->retired, hal_queue_submitted(queue),
                             TIMEOUT_NS) == HD_OK;
}

static union hal_packet copy_packet(void *dst, const void *src, size_t size_B)
{
    union hal_packet p = {
        .copy = {.head.op = HAL_OP_COPY, .width_B = size_B, .height = 1, .depth = 1}};

    p.copy.dst = (uintptr_t)dst;
    p.copy.src = (uintptr_t)src;
    return p;
}

static union hal_packet sem_packet(enum hal_op op, const _Atomic uint64_t *at, uint64_t value)
{
    union hal_packet p = {.sem = {.head.op = (uint8_t)op, .value = value}};

    p.sem.address = (uintptr_t)at;
    return p;
}

static union hal_packet bump_packet(struct hal_queue *queue, uint32_t *p, uint32_t n, uint32_t grid,
                                    uint32_t block)
{
    union hal_packet d = {.dispatch = {.head.op = HAL_OP_DISPATCH,
                                       .kernel = kernel->id,
                                       .grid = {grid, 1, 1},
                                       .block = {(uint16_t)block, 1, 1},
                                       .params_B = BIG_B}};
    char *params;

    while (!(params = hal_queue_params(queue, &d.dispatch, NULL, BIG_B)))
        if (!drain(queue))
            abort();
    memcpy(params, &p, sizeof(p));
    memcpy(params + 392, &n, sizeof(n));
    return d;
}

/*
 * Memory that grids reach: of the device, since one that is elsewhere has no other. It is zeroed,
 * and used again by the next test.
 */
enum { ARENA_B = 1 << 20 };
static struct hal_mem *arena_mem;
static char *arena;

static bool arena_map(struct hal_device *of, struct hal_mem *mem)
{
    return of->ops->mem_map(mem, (uintptr_t)arena, 0, ARENA_B, HAL_PROT_READ_WRITE) == HD_OK;
}

static uint32_t *words(size_t n)
{
    if (n * sizeof(uint32_t) > ARENA_B)
        abort();
    memset(arena, 0, ARENA_B);
    return (uint32_t *)(void *)arena;
}

/* What the device tells its client. */
static unsigned failures;
static enum hd_status failed_status;

static void on_failed(struct hal_domain *failed, const struct hal_fault_site *place)
{
    (void)place;
    failures += failed == domain;
    failed_status = hal_domain_status(failed);
}

/* ---- the requirements */

static void test_memory(void)
{
    const struct hal_device_ops *ops = device->ops;
    size_t size_B = 8u << 20;
    char *at = mmap(NULL, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    uint64_t va = (uintptr_t)at + 4096;
    struct hal_mem *mem = NULL;

    if (!ok(!ops->mem_create(device, 6u << 20, false, &mem), "%s: private memory", name))
        return;
    ok(!ops->mem_map(mem, va, 0, 4u << 20, HAL_PROT_READ_WRITE), "%s: map", name);
    at[4096] = at[4095 + (4u << 20)] = 1;
    ops->mem_unmap(mem, va, 4u << 20);
    ok(!ops->mem_map(mem, va, 0, 4096, HAL_PROT_READ_WRITE), "%s: map again", name);
    eq_u64((unsigned char)at[4096], 1, "%s: pages stay the object's", name);
    ops->mem_discard(mem, 0, 4096);
    eq_u64((unsigned char)at[4096], 0, "%s: until they are discarded", name);
    eq_u64(ops->mem_map(mem, va + 4096, 0, 4096, HAL_PROT_READ), HD_NOT_SUPPORTED,
           "%s: private memory lies at one place", name);
    eq_u64(ops->mem_map(mem, va, 4u << 20, 4u << 20, HAL_PROT_READ), HD_BAD_ARG,
           "%s: a mapping ends with its object", name);
    ops->mem_unmap(mem, va, 4096);
    ops->mem_destroy(mem);
    munmap(at, size_B);
}

static void test_shareable_memory(void)
{
    const struct hal_device_ops *ops = device->ops;
    size_t size_B = 4u << 20;
    volatile char *at = mmap(NULL, 2 * size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t va = (uintptr_t)at, va2 = va + size_B;
    struct hal_mem *mem = NULL, *again = NULL;
    int fd = -1;

    if (!ok(!ops->mem_create(device, size_B, true, &mem), "%s: shareable memory", name))
        return;
    ok(!ops->mem_export(mem, &fd) && !ops->mem_import(device, fd, &again), "%s: import", name);
    eq_u64(again->size_B, size_B, "%s: it has the same size", name);
    ok(!ops->mem_map(mem, va, 4096, size_B - 4096, HAL_PROT_READ_WRITE) &&
           !ops->mem_map(again, va2, 0, size_B, HAL_PROT_READ),
       "%s: two places", name);
    at[0] = 5;
    eq_u64((unsigned char)at[size_B + 4096], 5, "%s: the same pages", name);
    ops->mem_unmap(mem, va, size_B - 4096);
    ops->mem_unmap(again, va2, size_B);
    ops->mem_destroy(mem);
    ok(!ops->mem_map(again, va, 4096, 4096, HAL_PROT_READ) && at[0] == 5,
       "%s: who imported it keeps it", name);
    ops->mem_unmap(again, va, 4096);
    ops->mem_destroy(again);
    close(fd);
    eq_u64(ops->mem_import(device, 0, &again), HD_BAD_ARG, "%s: import of something else", name);
    munmap((void *)at, 2 * size_B);
}

static void test_boxes(void)
{
    static uint8_t src[64 * 64], dst[64 * 64], want[64 * 64];
    union hal_packet p = copy_packet(dst + 5, src + 3, 20);

    for (size_t i = 0; i < sizeof(src); i++)
        src[i] = (uint8_t)(i * 7);
    p.copy.height = 10;
    p.copy.depth = 3;
    p.copy.dst_pitch_B = 33, p.copy.src_pitch_B = 40;
    p.copy.dst_slice_B = 600, p.copy.src_slice_B = 900;
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 10; y++)
            memcpy(want + 5 + z * 600 + y * 33, src + 3 + z * 900 + y * 40, 20);
    submit(q, p);
    p = (union hal_packet){.fill = {.head.op = HAL_OP_FILL,
                                    .width = 5,
                                    .height = 4,
                                    .pitch_B = 30,
                                    .value = 0xbeef,
                                    .elem_B = 2}};
    p.fill.dst = (uintptr_t)dst + 3000;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++)
            memcpy(want + 3000 + y * 30 + x * 2, "\xef\xbe", 2);
    submit(q, p);
    p = copy_packet(dst, src, 0);
    submit(q, p);
    ok(drain(q), "%s: boxes end", name);
    eq_mem(dst, want, sizeof(dst), "%s: 3D copy, 2D fill, empty copy", name);
}

static void test_order(void)
{
    uint32_t *data = words(WORDS);
    static uint32_t back[WORDS];
    _Atomic uint64_t t0 = 0, t1 = 0;
    unsigned wrong = 0;

    submit(q, sem_packet(HAL_OP_TIMESTAMP, &t0, 0));
    for (int i = 0; i < 20; i++)
        submit(q, bump_packet(q, data, 3, 10, 100));
    submit(q, (union hal_packet){.head.op = HAL_OP_BARRIER});
    submit(q, copy_packet(back, data, sizeof(back)));
    submit(q, sem_packet(HAL_OP_TIMESTAMP, &t1, 0));
    ok(drain(q), "%s: grids end", name);
    for (int i = 0; i < WORDS; i++)
        wrong += back[i] != 60;
    eq_u64(wrong, 0, "%s: packets of a queue in order; large parameter blocks", name);
    ok(t0 && t1 >= t0, "%s: timestamps grow", name);
}

static void test_many_small(void)
{
    uint32_t *data = words(32);

    for (unsigned i = 0; i < 3 * HAL_RING_SLOTS; i++)
        submit(q, bump_packet(q, data, 1, 1, 32));
    ok(drain(q), "%s: three rings full of packets", name);
    eq_u64(data[31], 3 * HAL_RING_SLOTS, "%s: each ran once", name);
}

static void test_between_queues(void)
{
    uint32_t *data = words(WORDS);
    _Atomic uint64_t sem = 0;
    uint32_t seen = 0;

    submit(q2, sem_packet(HAL_OP_WAIT, &sem, 7));
    submit(q2, copy_packet(&seen, &data[WORDS - 1], 4));
    eq_u64(device->ops->wait(device, &q2->ring->retired, hal_queue_submitted(q2), 1000000),
           HD_TIMEOUT, "%s: a WAIT holds its queue", name);
    submit(q, bump_packet(q, data, 9, 10, 100));
    submit(q, sem_packet(HAL_OP_SIGNAL, &sem, 7));
    ok(drain(q) && drain(q2), "%s: SIGNAL releases it", name);
    eq_u64(seen, 9, "%s: what was written before the signal is seen behind the wait", name);
    submit(q, sem_packet(HAL_OP_WAIT, &q2->ring->retired, hal_queue_submitted(q2) + 1));
    submit(q2, (union hal_packet){.head.op = HAL_OP_NOP});
    ok(drain(q), "%s: waiting for another queue's position", name);
}

/* WAIT with every comparison and width: the queue goes on when the value makes it true. */
static void test_semaphores(void)
{
    static const struct {
        uint8_t compare, is_32;
        uint64_t value, no, yes;
    } rows[] = {
        {HAL_COMPARE_GEQ, 0, 5, 4, UINT64_MAX},
        {HAL_COMPARE_GEQ, 1, 5, 4, UINT32_MAX},
        {HAL_COMPARE_EQ, 0, 1ull << 40, 1ull << 41, 1ull << 40},
        {HAL_COMPARE_EQ, 1, 7, 8, 7},
        {HAL_COMPARE_AND, 0, 1ull << 33, 1, 3ull << 33},
        {HAL_COMPARE_AND, 1, 6, 9, 4},
        {HAL_COMPARE_NOR, 0, 0xff, ~0xffull, ~0x1ffull},
        {HAL_COMPARE_NOR, 1, 0xff, 0xffffff00, 0x7fffff00},
        {HAL_COMPARE_CYCLIC_GEQ, 0, UINT64_MAX - 1, UINT64_MAX - 2, 3},
        {HAL_COMPARE_CYCLIC_GEQ, 1, UINT32_MAX, UINT32_MAX - 1, 3},
    };

    for (unsigned i = 0; i < HD_COUNT_OF(rows); i++) {
        _Atomic uint64_t sem = rows[i].no;
        union hal_packet p = sem_packet(HAL_OP_WAIT, &sem, rows[i].value);
        union hal_packet s = sem_packet(HAL_OP_SIGNAL, &sem, rows[i].yes);

        p.sem.compare = rows[i].compare;
        p.sem.is_32 = s.sem.is_32 = rows[i].is_32;
        submit(q2, p);
        eq_u64(device->ops->wait(device, &q2->ring->retired, hal_queue_submitted(q2), 300000),
               HD_TIMEOUT, "%s: comparison %u holds", name, i);
        submit(q, s);
        ok(drain(q) && drain(q2), "%s: comparison %u lets go", name, i);
    }
}

static void test_stamps(void)
{
    uint32_t *data = words(WORDS);
    struct hal_stamp *stamp;
    uint64_t before_ns = hal_time_ns();
    union hal_packet p = bump_packet(q, data, 1, 10, 100);

    p.head.flags |= HAL_FLAG_STAMP;
    submit(q, p);
    ok(drain(q), "%s: stamped grid", name);
    stamp = hal_ring_stamp(q->ring, hal_queue_submitted(q));
    ok(stamp->start_ticks >= before_ns && stamp->end_ticks >= stamp->start_ticks &&
           stamp->end_ticks <= hal_time_ns(),
       "%s: a slot knows when its packet began and ended", name);
}

static void test_extension(void)
{
    struct hal_extension extension = {
        .size_B = sizeof(extension), .present = HAL_EXTENSION_PRIORITY | HAL_EXTENSION_SYNC_DOMAIN};
    uint32_t *data = words(32), *at = data;
    union hal_packet p = bump_packet(q, data, 1, 1, 32);
    uint32_t n = 2;
    char *params;

    submit(q, p);
    params = hal_queue_params(q, &p.dispatch, &extension, BIG_B);
    memcpy(params, &at, sizeof(at));
    memcpy(params + 392, &n, sizeof(n));
    ok(hal_dispatch_params(q->ring, &p.dispatch) == params &&
           hal_dispatch_extension(q->ring, &p.dispatch)->present == extension.present,
       "%s: an extension lies ahead of the parameters", name);
    submit(q, p);
    ok(drain(q), "%s: dispatch with an extension", name);
    eq_u64(data[31], 3, "%s: found its parameters", name);
}

/* What an indirect dispatch reads, and what the host changes while the queue is held. */
struct block {
    struct hal_indirect head;
    _Alignas(8) char params[BIG_B];
};

static void block_set(struct block *b, uint32_t enabled, uint32_t grid, const void *data,
                      uint32_t n)
{
    *b = (struct block){.head = {.enabled = enabled, .grid = {grid, 1, 1}}};
    memcpy(b->params, &data, sizeof(data));
    memcpy(b->params + 392, &n, sizeof(n));
}

static void test_indirect(void)
{
    static struct block blocks[3];
    uint32_t(*data)[32] = (uint32_t(*)[32])words(3 * 32), *nowhere = NULL;
    _Atomic uint64_t gate = 0;

    submit(q, sem_packet(HAL_OP_WAIT, &gate, 1));
    for (int i = 0; i < 3; i++) {
        union hal_packet p = bump_packet(q, nowhere, 99, 7, 32);
        struct block *b = &blocks[i];

        block_set(b, 0, 5, nowhere, 0);
        p.head.flags = HAL_FLAG_INDIRECT;
        memcpy(p.dispatch.params, &b, sizeof(b));
        submit(q, p);
    }
    block_set(&blocks[0], 1, 1, data[0], 4);
    block_set(&blocks[1], 0, 1, data[1], 5);
    block_set(&blocks[2], 1, 1, data[2], 6);
    submit(q2, sem_packet(HAL_OP_SIGNAL, &gate, 1));
    ok(drain(q2) && drain(q), "%s: indirect dispatches", name);
    eq_u64(data[0][31], 4, "%s: run as their block says when they begin", name);
    eq_u64(data[1][31], 0, "%s: not when it is disabled", name);
    eq_u64(data[2][31], 6, "%s: which harms no other", name);
    eq_u64(q->ring->params_released, q->params_taken, "%s: parameters are given back", name);
}

/* A packet that names a kernel that is gone faults its domain, whatever took its place. */
static void test_stale_kernel(void)
{
    struct hal_program program = {.name = "other", .nfuncs = ir->nfuncs};
    uint32_t bump = ir_module_find_func(ir, "bump")->index;
    struct hal_module *other;
    struct hal_kernel *gone, *heir;
    struct hal_domain *own;
    struct hal_queue *queue;
    uint32_t *data = words(32);
    int fd = -1;
    union hal_packet p = bump_packet(q, data, 1, 1, 32);

    submit(q, (union hal_packet){.head.op = HAL_OP_NOP});
    if (!ok(!device->ops->domain_create(device, &own) &&
                !device->ops->queue_create(own, 0, &queue) &&
                !device->ops->module_load(device, &program, &other) &&
                !device->ops->kernel_get(other, bump, ir, &gone),
            "%s: another module", name))
        return;
    p = bump_packet(queue, data, 1, 1, 32);
    p.dispatch.kernel = gone->id;
    device->ops->module_unload(other);
    ok(!device->ops->module_load(device, &program, &other) &&
           !device->ops->kernel_get(other, bump, ir, &heir) && heir->id != p.dispatch.kernel &&
           (uint32_t)heir->id == (uint32_t)p.dispatch.kernel,
       "%s: an index is used again, with another generation", name);
    submit(queue, p);
    ok(drain(queue), "%s: a stale id is no crash", name);
    eq_u64(hal_domain_status(own), HD_BAD_ARG, "%s: but a fault: %s", name, own->fault->message);
    eq_u64(hal_kernel_find(device, UINT64_MAX) != NULL, 0, "%s: an id out of range", name);
    if (own->memfd < 0) /* of a device elsewhere it is shared from the start */
        eq_u64(hal_domain_share(own, &fd), HD_BUSY, "%s: too late to share a domain", name);
    queue->ops->destroy(queue);
    if (ok(!device->ops->queue_create(own, 0, &queue), "%s: another queue", name)) {
        eq_u64(hal_queue_submitted(queue) | hal_queue_retired(queue), 0,
               "%s: positions begin again", name);
        queue->ops->destroy(queue);
    }
    device->ops->module_unload(other);
    device->ops->domain_destroy(own);
}

static void call(void *arg)
{
    ++*(int *)arg;
}

static union hal_packet call_packet(int *count, bool always)
{
    union hal_packet p = {.host_call = {.head.op = HAL_OP_HOST_CALL}};

    p.head.flags = always ? HAL_FLAG_ALWAYS : 0;
    p.host_call.func = (uintptr_t)call;
    p.host_call.arg = (uintptr_t)count;
    return p;
}

static void test_calls_and_faults(void)
{
    struct hal_domain *elsewhere = NULL;
    struct hal_queue *other;
    uint32_t *data = words(64);
    int calls = 0, skipped = 0, always = 0;
    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    submit(q, call_packet(&calls, false));
    ok(drain(q), "%s: host call", name);
    eq_u64((unsigned)calls, 1, "%s: was made once", name);
    submit(q, bump_packet(q, hole, 1, 1, 32));
    submit(q2, sem_packet(HAL_OP_WAIT, &q->ring->retired, hal_queue_submitted(q)));
    submit(q2, bump_packet(q2, data, 1, 1, 32));
    submit(q2, call_packet(&skipped, false));
    submit(q2, call_packet(&always, true));
    ok(drain(q) && drain(q2), "%s: everything retires after a fault", name);
    eq_u64(hal_domain_status(domain), HD_ILLEGAL_ADDRESS, "%s: status of the domain", name);
    eq_u64(failures, 1, "%s: the client is told once", name);
    eq_u64(failed_status, HD_ILLEGAL_ADDRESS, "%s: of what is in the domain", name);
    ok(*domain->fault->message, "%s: message: %s", name, domain->fault->message);
    eq_u64(data[0], 0, "%s: later grids of the domain are skipped", name);
    eq_u64((unsigned)(skipped * 2 + always), 1, "%s: host calls only when asked for", name);
    if (ok(!device->ops->domain_create(device, &elsewhere) &&
               !device->ops->queue_create(elsewhere, 0, &other),
           "%s: other domain", name)) {
        submit(other, bump_packet(other, data, 1, 1, 32));
        ok(drain(other) && data[31] == 1, "%s: goes on", name);
        other->ops->destroy(other);
        device->ops->domain_destroy(elsewhere);
    }
    munmap(hole, 4096);
}

static void test_limits(void)
{
    int32_t values[HAL_ATTRIBUTE_END];
    struct hal_domain *other;

    if (!ok(!device->ops->domain_create(device, &other), "%s: second domain", name))
        return;
    eq_u64(hal_limit_get(other, HAL_LIMIT_PRINTF_B), 1u << 20, "%s: default limit", name);
    for (int i = 0; i < HAL_LIMIT_COUNT; i++) {
        ok(!hal_limit_set(other, (enum hal_limit)i, 12345), "%s: limit %d", name, i);
        eq_u64(hal_limit_get(other, (enum hal_limit)i), 12345, "%s: is what was set", name);
        ok(hal_limit_get(domain, (enum hal_limit)i) != 12345, "%s: in one domain", name);
    }
    eq_u64(hal_limit_set(other, HAL_LIMIT_STACK_B, 1u << 30), HD_BAD_ARG, "%s: too much", name);
    device->ops->domain_destroy(other);
    hal_device_attributes(device, values);
    eq_u64((unsigned)values[HAL_ATTRIBUTE_MULTIPROCESSOR_COUNT], device->info.units,
           "%s: describes itself", name);
    eq_u64((unsigned)values[HAL_ATTRIBUTE_MAX_BLOCK_DIM_Z], 64, "%s: defaults of the table", name);
    ok(device->info.units >= 1 && device->info.name && !strcmp(device->info.name, name), "%s: info",
       name);
}

/* Clusters change nothing for a kernel that does not look at them. */
static void test_clusters(void)
{
    struct hal_domain *own = NULL;
    struct hal_queue *queue;
    uint32_t *data = words(64);
    union hal_packet p;

    if (!ok(!device->ops->domain_create(device, &own) && !device->ops->queue_create(own, 0, &queue),
            "%s: domain for clusters", name))
        return;
    p = bump_packet(queue, data, 1, 2, 32);
    p.dispatch.cluster[0] = p.dispatch.cluster[1] = p.dispatch.cluster[2] = 1;
    submit(queue, p);
    ok(drain(queue) && data[63] == 1, "%s: clusters of one CTA", name);
    p = bump_packet(queue, data, 1, 2, 32);
    p.dispatch.cluster[0] = 2;
    p.dispatch.cluster[1] = p.dispatch.cluster[2] = 1;
    submit(queue, p);
    ok(drain(queue) && data[63] == 2, "%s: clusters of two", name);
    eq_u64(hal_domain_status(own), HD_OK, "%s: and all is well: %s", name, own->fault->message);
    queue->ops->destroy(queue);
    device->ops->domain_destroy(own);
}

/* A second device of the kind: it shares nothing but the host. */
struct second {
    struct hal_device *device;
    struct hal_module *module;
    struct hal_kernel *kernel;
    struct hal_domain *domain;
    struct hal_queue *queue;
    struct hal_mem *mem; /* the first one's arena */
};

static bool second_map(struct second *s)
{
    const struct hal_device_ops *ops = s->device->ops;
    int fd = -1;
    bool fine = !device->ops->mem_export(arena_mem, &fd) &&
                !ops->mem_import(s->device, fd, &s->mem) && arena_map(s->device, s->mem);

    close(fd);
    return fine;
}

static void second_unmap(struct second *s)
{
    s->device->ops->mem_unmap(s->mem, (uintptr_t)arena, ARENA_B);
    s->device->ops->mem_destroy(s->mem);
    if (!arena_map(device, arena_mem))
        abort();
}

static bool second_open(struct second *s, const struct hal_backend *backend)
{
    uint32_t index = ir_module_find_func(ir, "bump")->index, small[3] = {32, 1, 1};
    struct hal_program program = {.name = "second", .nfuncs = ir->nfuncs};

    *s = (struct second){0};
    return !backend->create(NULL, &s->device) &&
           !s->device->ops->module_load(s->device, &program, &s->module) &&
           !s->device->ops->kernel_get(s->module, index, ir, &s->kernel) &&
           !s->device->ops->kernel_prepare(s->kernel, small, small) &&
           !s->device->ops->domain_create(s->device, &s->domain) &&
           !s->device->ops->queue_create(s->domain, 0, &s->queue) && second_map(s);
}

static bool second_drain(const struct second *s)
{
    return s->device->ops->wait(s->device, &s->queue->ring->retired, hal_queue_submitted(s->queue),
                                TIMEOUT_NS) == HD_OK;
}

static union hal_packet second_bump(const struct second *s, uint32_t *p)
{
    union hal_packet d = bump_packet(s->queue, p, 1, 1, 32);

    d.dispatch.kernel = s->kernel->id;
    return d;
}

static void test_two_devices(const struct hal_backend *backend)
{
    uint32_t *data = words(64);
    _Atomic uint64_t go = 0;
    struct second s;

    if (!ok(second_open(&s, backend), "%s: a second device", name))
        return;
    /* q waits for the second device, which waits for the host. */
    submit(s.queue, sem_packet(HAL_OP_WAIT, &go, 1));
    submit(s.queue, second_bump(&s, data));
    submit(q, sem_packet(HAL_OP_WAIT, &s.queue->ring->retired, 2));
    submit(q, bump_packet(q, data, 1, 1, 32));
    eq_u64(device->ops->wait(device, &q->ring->retired, hal_queue_submitted(q), 2000000),
           HD_TIMEOUT, "%s: a device waits for another", name);
    atomic_store(&go, 1);
    ok(drain(q) && second_drain(&s), "%s: both go on", name);
    eq_u64(data[31], 2, "%s: one after the other", name);
    submit(s.queue, second_bump(&s, (uint32_t *)16));
    ok(second_drain(&s), "%s: a fault of the second one", name);
    eq_u64(hal_domain_status(s.domain), HD_ILLEGAL_ADDRESS, "%s: is its own", name);
    submit(q, bump_packet(q, data, 1, 1, 32));
    ok(drain(q) && !hal_domain_status(domain) && data[31] == 3, "%s: the first goes on", name);
    s.queue->ops->destroy(s.queue);
    s.device->ops->domain_destroy(s.domain);
    s.device->ops->module_unload(s.module);
    second_unmap(&s);
    s.device->ops->destroy(s.device);
    submit(q, bump_packet(q, data, 1, 1, 32));
    ok(drain(q) && data[31] == 4, "%s: and outlives it", name);
}

/* Code made offline: a device takes its own kind, and says which it does not take. */
static void test_image(void)
{
    static const char bytes[64] = "no device's";
    const struct hal_program program = {.name = "offline",
                                        .nfuncs = 1,
                                        .image = bytes,
                                        .image_B = sizeof(bytes),
                                        .image_kind = "abacus"};
    struct hal_module *none = NULL;

    eq_u64(device->ops->module_load(device, &program, &none), HD_NOT_SUPPORTED,
           "%s: an image of another kind is refused", name);
    ok(!none && strstr(hd_error_message(), "abacus") && strstr(hd_error_message(), name),
       "%s: by name: %s", name, hd_error_message());
}

/* Code that is not what it should be: nobody minds. */
static void test_assembled(void)
{
    static const uint8_t bytes[64] = "\177ELF", key[16] = {1};
    const uint64_t va[1] = {0};
    const struct hal_program program = {.name = "assembled",
                                        .nfuncs = 1,
                                        .var_va = va,
                                        .assembled = bytes,
                                        .assembled_B = sizeof(bytes),
                                        .assembled_key = key};
    struct hal_module *made = NULL;

    eq_u64(device->ops->module_load(device, &program, &made), HD_OK,
           "%s: damaged code beside the IR does not matter", name);
    if (made)
        device->ops->module_unload(made);
}

static void test_instead(void)
{
    uint32_t index = ir_module_find_func(ir, "idle")->index, small[3] = {32, 1, 1};
    struct hal_kernel *idle;
    uint32_t *data = words(32);

    if (!device->ops->kernel_instead) {
        skip("no kernel in the place of another");
        return;
    }
    if (!ok(!device->ops->kernel_get(module, index, ir, &idle) &&
                !device->ops->kernel_prepare(idle, small, small),
            "%s: a second kernel", name))
        return;
    device->ops->kernel_instead(kernel, idle);
    submit(q, bump_packet(q, data, 1, 1, 32));
    ok(drain(q) && data[0] == 0, "%s: runs in the place of the first", name);
    device->ops->kernel_instead(kernel, NULL);
    submit(q, bump_packet(q, data, 1, 1, 32));
    ok(drain(q) && data[0] == 1, "%s: and no more", name);
}

static bool open_device(const struct hal_backend *backend)
{
    uint32_t block[3] = {100, 1, 1}, small[3] = {32, 1, 1};
    struct hal_program program = {.name = "test", .nfuncs = ir->nfuncs};
    struct hal_kernel_info info;

    const struct hal_client_ops client = {.failed = on_failed};

    name = backend->name;
    failures = 0;
    return ok(!backend->create(&client, &device), "%s: create", name) &&
           ok(!device->ops->mem_create(device, ARENA_B, true, &arena_mem) &&
                  (arena = mmap(NULL, ARENA_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) !=
                      MAP_FAILED &&
                  arena_map(device, arena_mem),
              "%s: memory for grids", name) &&
           ok(!device->ops->module_load(device, &program, &module), "%s: module", name) &&
           ok(!device->ops->kernel_get(module, ir_module_find_func(ir, "bump")->index, ir, &kernel),
              "%s: kernel", name) &&
           ok(!device->ops->kernel_info(kernel, &info) && info.params_B == BIG_B, "%s: info",
              name) &&
           ok(!device->ops->kernel_prepare(kernel, block, block) &&
                  !device->ops->kernel_prepare(kernel, small, small),
              "%s: prepare", name) &&
           ok(!device->ops->domain_create(device, &domain) &&
                  !device->ops->queue_create(domain, 0, &q) &&
                  !device->ops->queue_create(domain, 0, &q2),
              "%s: queues", name);
}

static void close_device(void)
{
    q->ops->destroy(q);
    q2->ops->destroy(q2);
    device->ops->domain_destroy(domain);
    device->ops->module_unload(module);
    device->ops->mem_unmap(arena_mem, (uintptr_t)arena, ARENA_B);
    device->ops->mem_destroy(arena_mem);
    munmap(arena, ARENA_B);
    device->ops->destroy(device);
}

/* Users can ask for it. */
static void test_setting(const char *kind)
{
    struct hd_buf why;

    hd_buf_init(&why);
    ok(hd_env_allows("HEDDLE_DEVICE", kind, &why), "HEDDLE_DEVICE allows it");
    hd_buf_fini(&why);
}

int main(void)
{
    for (const struct hal_backend *b = hal_backends; b->name; b++) {
        if (ir_read_module(kernel_text, strlen(kernel_text), "t", &ir) != HD_OK ||
            ir_layout_windows(ir) != HD_OK)
            abort();
        if (!open_device(b))
            return done();
        test_setting(b->name);
        test_memory();
        test_shareable_memory();
        test_boxes();
        test_order();
        test_many_small();
        test_between_queues();
        test_semaphores();
        test_stamps();
        test_extension();
        test_indirect();
        test_stale_kernel();
        test_limits();
        test_clusters();
        test_image();
        test_assembled();
        test_instead();
        test_two_devices(b);
        test_calls_and_faults();
        close_device();
        ir_module_destroy(ir);
    }
    return done();
}
