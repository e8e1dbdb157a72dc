/*
 * What every device must do, run on each row of hal_backends: memory, packets of all kinds, order
 * in and between queues, parameters of any size, faults that stop one domain only, limits.
 *
 * The kernel exists twice: as IR for devices that compile it, and as a C function for the CPU
 * device, whose code generator is replaced here (it has tests of its own).
 */
#include <sys/mman.h>

#include "hal/hal.h"
#include "tap.h"
#include "../dev/fake_jit.h"

#define WORDS      1000
#define BIG_B      400 /* parameter block that does not fit the packet */
#define TIMEOUT_NS 20000000000u

/* p[global thread] += n, where p and n are the first and the last 8 bytes of the parameters. */
static const char kernel_text[] =
    "module \"t\" sm 75\n"
    "kernel @bump visible {\n  params 400\n"
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n"
    "  %2:b32 = ld.b32.param [%0+392]\n  %3:b32 = sreg.b32 tid.x\n"
    "  %4:b32 = sreg.b32 ctaid.x\n  %5:b32 = sreg.b32 ntid.x\n  %6:b32 = mul.u32 %4, %5\n"
    "  %7:b32 = add.u32 %6, %3\n  %8:b32 = const.b32 0x4\n  %9:b64 = mulwide.u32 %7, %8\n"
    "  %10:b64 = add.u64 %1, %9\n  %11:b32 = ld.b32.global [%10]\n  %12:b32 = add.u32 %11, %2\n"
    "  st.b32.global [%10], %12\n  ret\n}\n";

static void bump_cta(struct jit_cta *cta)
{
    const char *params = cta->launch->params;
    volatile uint32_t *p = *(uint32_t *const *)params;
    uint32_t n = *(const uint32_t *)(params + 392), block = cta->launch->block[0];

    for (uint32_t t = 0; t < block; t++)
        p[cta->ctaid[0] * block + t] += n;
}

const struct fake_kernel fake_kernels[] = {
    {"bump", {.run_cta = bump_cta, .cost_ops = UINT64_MAX}},
    {0},
};

static struct hal_device *device;
static struct ir_module *ir;
static struct hal_module *module;
static struct hal_kernel *kernel;
static struct hal_fault fault;
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

    while (!(params = hal_queue_params(queue, BIG_B, &d.dispatch.params_ring_B)))
        if (!drain(queue))
            abort();
    d.dispatch.params_va = (uintptr_t)params;
    memcpy(params, &p, sizeof(p));
    memcpy(params + 392, &n, sizeof(n));
    return d;
}

/* ---- the requirements */

static void test_memory(void)
{
    size_t size_B = 8u << 20;
    char *at = mmap(NULL, size_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    ok(device->ops->mem_bind(device, at + 4096, 4u << 20) == HD_OK, "%s: bind", name);
    at[4096] = at[4095 + (4u << 20)] = 1;
    device->ops->mem_unbind(device, at + 4096, 4u << 20, true);
    ok(device->ops->mem_bind(device, at + 4096, 4096) == HD_OK, "%s: bind again", name);
    eq_u64((unsigned char)at[4096], 1, "%s: kept pages keep their contents", name);
    device->ops->mem_unbind(device, at + 4096, 4096, false);
    munmap(at, size_B);
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
    static uint32_t data[WORDS], back[WORDS];
    _Atomic uint64_t t0 = 0, t1 = 0;
    unsigned wrong = 0;

    memset(data, 0, sizeof(data));
    submit(q, sem_packet(HAL_OP_TIMESTAMP, &t0, 0));
    for (int i = 0; i < 20; i++)
        submit(q, bump_packet(q, data, 3, 10, 100));
    submit(q, (union hal_packet){.head.op = HAL_OP_BARRIER});
    submit(q, copy_packet(back, data, sizeof(data)));
    submit(q, sem_packet(HAL_OP_TIMESTAMP, &t1, 0));
    ok(drain(q), "%s: grids end", name);
    for (int i = 0; i < WORDS; i++)
        wrong += back[i] != 60;
    eq_u64(wrong, 0, "%s: packets of a queue in order; large parameter blocks", name);
    ok(t0 && t1 >= t0, "%s: timestamps grow", name);
}

static void test_many_small(void)
{
    static uint32_t data[32];

    memset(data, 0, sizeof(data));
    for (int i = 0; i < 3 * HAL_RING_SLOTS; i++)
        submit(q, bump_packet(q, data, 1, 1, 32));
    ok(drain(q), "%s: three rings full of packets", name);
    eq_u64(data[31], 3 * HAL_RING_SLOTS, "%s: each ran once", name);
}

static void test_between_queues(void)
{
    static uint32_t data[WORDS];
    _Atomic uint64_t sem = 0;
    uint32_t seen = 0;

    memset(data, 0, sizeof(data));
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

static void call(void *arg)
{
    ++*(int *)arg;
}

static union hal_packet call_packet(int *count, bool always)
{
    union hal_packet p = {.host_call = {.head.op = HAL_OP_HOST_CALL, .always = always}};

    p.host_call.func = (uintptr_t)call;
    p.host_call.arg = (uintptr_t)count;
    return p;
}

static void test_calls_and_faults(void)
{
    struct hal_fault other_fault = {0};
    struct hal_queue *other;
    static uint32_t data[64];
    int calls = 0, skipped = 0, always = 0;
    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(data, 0, sizeof(data));
    submit(q, call_packet(&calls, false));
    ok(drain(q), "%s: host call", name);
    eq_u64((unsigned)calls, 1, "%s: was made once", name);
    submit(q, bump_packet(q, hole, 1, 1, 32));
    submit(q2, sem_packet(HAL_OP_WAIT, &q->ring->retired, hal_queue_submitted(q)));
    submit(q2, bump_packet(q2, data, 1, 1, 32));
    submit(q2, call_packet(&skipped, false));
    submit(q2, call_packet(&always, true));
    ok(drain(q) && drain(q2), "%s: everything retires after a fault", name);
    eq_u64(hal_fault_status(&fault), HD_ILLEGAL_ADDRESS, "%s: status of the domain", name);
    ok(*fault.message, "%s: message: %s", name, fault.message);
    eq_u64(data[0], 0, "%s: later grids of the domain are skipped", name);
    eq_u64((unsigned)(skipped * 2 + always), 1, "%s: host calls only when asked for", name);
    if (ok(!device->ops->queue_create(device, &other_fault, &other), "%s: other domain", name)) {
        submit(other, bump_packet(other, data, 1, 1, 32));
        ok(drain(other) && data[31] == 1, "%s: goes on", name);
        other->ops->destroy(other);
    }
    munmap(hole, 4096);
}

static void test_limits(void)
{
    const struct hal_device_ops *ops = device->ops;

    ok(!ops->limit_set(device, HAL_LIMIT_HEAP_B, 64u << 20), "%s: heap limit", name);
    eq_u64(ops->limit_get(device, HAL_LIMIT_HEAP_B), 64u << 20, "%s: is kept", name);
    ok(device->info.units >= 1 && device->info.name && !strcmp(device->info.name, name), "%s: info",
       name);
}

static bool open_device(const struct hal_backend *backend)
{
    uint32_t block[3] = {100, 1, 1}, small[3] = {32, 1, 1};
    struct hal_kernel_info info;

    name = backend->name;
    memset(&fault, 0, sizeof(fault));
    return ok(!backend->create(&device), "%s: create", name) &&
           ok(!device->ops->module_load(device, ir, NULL, NULL, 0, &module), "%s: module", name) &&
           ok(!device->ops->kernel_get(module, ir_module_find_func(ir, "bump"), &kernel),
              "%s: kernel", name) &&
           ok(!device->ops->kernel_info(kernel, &info) && info.params_B == BIG_B, "%s: info",
              name) &&
           ok(!device->ops->kernel_prepare(kernel, block) &&
                  !device->ops->kernel_prepare(kernel, small),
              "%s: prepare", name) &&
           ok(!device->ops->queue_create(device, &fault, &q) &&
                  !device->ops->queue_create(device, &fault, &q2),
              "%s: queues", name);
}

static void close_device(void)
{
    q->ops->destroy(q);
    q2->ops->destroy(q2);
    device->ops->module_unload(module);
    device->ops->destroy(device);
}

int main(void)
{
    for (const struct hal_backend *b = hal_backends; b->name; b++) {
        if (ir_read_module(kernel_text, strlen(kernel_text), "t", &ir) != HD_OK ||
            ir_layout_windows(ir) != HD_OK)
            abort();
        if (!open_device(b))
            return done();
        test_memory();
        test_boxes();
        test_order();
        test_many_small();
        test_between_queues();
        test_limits();
        test_calls_and_faults();
        close_device();
        ir_module_destroy(ir);
    }
    return done();
}
