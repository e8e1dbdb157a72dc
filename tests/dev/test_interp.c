/* The reference device: packets, order between queues, a kernel, faults and limits. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "dev/interp/interp_device.h"
#include "ir/ir.h"
#include "tap.h"

/* p[tid] += *var */
static const char text[] =
    "module \"t\" sm 75\n"
    "var @one global visible align 4 size 4 init 01000000\n"
    "kernel @k visible {\n  params 8\n  param \"p\" offset 0 size 8 align 8\n"
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n  %2:b32 = sreg.b32 tid.x\n"
    "  %3:b32 = const.b32 0x4\n  %4:b64 = mulwide.u32 %2, %3\n  %5:b64 = add.u64 %1, %4\n"
    "  %6:b64 = varaddr @one\n  %7:b32 = ld.b32.global [%6]\n  %8:b32 = ld.b32.global [%5]\n"
    "  %9:b32 = add.u32 %7, %8\n  st.b32.global [%5], %9\n  ret\n}\n"
    /* The last block opens for all others. */
    "kernel @wait visible {\n  params 8\n  param \"p\" offset 0 size 8 align 8\n"
    "bb0:\n  %0:b64 = const.b64 0x0\n  %1:b64 = ld.b64.param [%0]\n  %2:b32 = sreg.b32 ctaid.x\n"
    "  %3:b32 = const.b32 0xc7\n  %4:b32 = const.b32 0x1\n  %5:b32 = const.b32 0x0\n"
    "  %6:pred = setp.u32.eq %2, %3\n  cbr %6, bb1, bb2\n"
    "bb1:\n  st.b32.global.volatile [%1], %4\n  br bb2\n"
    "bb2:\n  %7:b32 = ld.b32.global.volatile [%1]\n  %8:pred = setp.u32.eq %7, %5\n"
    "  cbr %8, bb2, bb3\nbb3:\n  ret\n}\n";

static struct hal_device *device;
static struct hal_domain *domain;
static struct hal_queue *queues[2];

static void submit(int q, union hal_packet p)
{
    while (queues[q]->ops->submit(queues[q], &p, 1) != HD_OK)
        ;
}

static void drain(int q)
{
    struct hal_queue *queue = queues[q];
    enum hd_status status =
        device->ops->wait(device, &queue->ring->retired, hal_queue_submitted(queue), 60000000000u);
    ok(status == HD_OK, "queue %d drains", q);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void test_packets(void)
{
    static uint32_t a[64], b[64];
    static _Atomic uint64_t sem, time_ns;
    int calls = 0;
    submit(1, (union hal_packet){
                  .sem = {.head.op = HAL_OP_WAIT, .address = (uintptr_t)&sem, .value = 5}});
    submit(1, (union hal_packet){.copy = {.head.op = HAL_OP_COPY,
                                          .dst = (uintptr_t)b,
                                          .src = (uintptr_t)a,
                                          .width_B = sizeof a,
                                          .height = 1,
                                          .depth = 1}});
    submit(0, (union hal_packet){.fill = {.head.op = HAL_OP_FILL,
                                          .dst = (uintptr_t)a,
                                          .width = 64,
                                          .height = 1,
                                          .value = 7,
                                          .elem_B = 4}});
    submit(0, (union hal_packet){.host_call = {.head.op = HAL_OP_HOST_CALL,
                                               .func = (uintptr_t)count_call,
                                               .arg = (uintptr_t)&calls}});
    submit(0, (union hal_packet){
                  .sem = {.head.op = HAL_OP_TIMESTAMP, .address = (uintptr_t)&time_ns}});
    submit(0, (union hal_packet){
                  .sem = {.head.op = HAL_OP_SIGNAL, .address = (uintptr_t)&sem, .value = 5}});
    drain(1);
    drain(0);
    ok(b[0] == 7 && b[63] == 7, "the copy waited for the fill");
    ok(calls == 1 && time_ns != 0, "host call and timestamp");
    eq_u64(device->ops->wait(device, &sem, 6, 1000000), HD_TIMEOUT, "wait gives up");
}

static union hal_packet dispatch(const struct hal_kernel *kernel, const void *pointer)
{
    union hal_packet p = {.dispatch = {.head.op = HAL_OP_DISPATCH,
                                       .kernel = kernel->id,
                                       .grid = {1, 1, 1},
                                       .block = {32, 1, 1},
                                       .params_B = 8}};
    memcpy(p.dispatch.params, &pointer, sizeof pointer);
    return p;
}

/* Blocks that poll what only the last of two hundred writes, without a cooperative launch. */
static void test_waiting(struct ir_module *ir, struct hal_module *module)
{
    static uint32_t flag;
    struct hal_kernel *kernel = NULL;
    const struct ir_func *func = ir_module_find_func(ir, "wait");
    union hal_packet p;

    ok(device->ops->kernel_get(module, func->index, ir, &kernel) == HD_OK, "a kernel that waits");
    p = dispatch(kernel, &flag);
    p.dispatch.grid[0] = 200;
    submit(0, p);
    drain(0);
    eq_u64(flag, 1, "the last block has its turn, too");
}

static void test_kernel(struct ir_module *ir)
{
    static uint32_t one = 1, values[32];
    uint64_t var = (uintptr_t)&one;
    struct hal_module *module = NULL;
    struct hal_kernel *kernel = NULL, *again = NULL;
    struct hal_kernel_info info;
    int calls = 0;
    const struct ir_func *func = ir_module_find_func(ir, "k");
    struct hal_program program = {.name = "test", .nfuncs = ir->nfuncs, .nvars = 1, .var_va = &var};
    ok(device->ops->module_load(device, &program, &module) == HD_OK, "load");
    ok(device->ops->kernel_get(module, func->index, ir, &kernel) == HD_OK, "kernel");
    ok(device->ops->kernel_get(module, ir->nfuncs, ir, &again) == HD_NOT_FOUND,
       "no kernel of another number");
    ok(device->ops->kernel_get(module, func->index, ir, &again) == HD_OK && again == kernel,
       "the same kernel");
    ok(device->ops->kernel_info(kernel, &info) == HD_OK && info.params_B == 8, "info");
    submit(0, dispatch(kernel, values));
    submit(0, dispatch(kernel, values));
    drain(0);
    ok(values[0] == 2 && values[31] == 2, "two launches ran");
    test_waiting(ir, module);
    submit(0, dispatch(kernel, (void *)0x1000));
    submit(0, (union hal_packet){.host_call = {.head.op = HAL_OP_HOST_CALL,
                                               .func = (uintptr_t)count_call,
                                               .head.flags = HAL_FLAG_ALWAYS,
                                               .arg = (uintptr_t)&calls}});
    submit(1, dispatch(kernel, values));
    drain(0);
    drain(1);
    eq_u64(hal_domain_status(domain), HD_ILLEGAL_ADDRESS, "a wild store faults the domain");
    eq_u64(domain->fault->address, 0x1000, "its address");
    ok(strstr(domain->fault->message, "thread (0,0,0)") != NULL, "its thread: %s",
       domain->fault->message);
    eq_u64(calls, 1, "calls that must happen do");
    device->ops->module_unload(module);
}

enum { FLEETING_B = 1 << 20 };
static _Atomic bool is_over;

static void *come_and_go(void *memory)
{
    while (!atomic_load(&is_over))
        if (mprotect(memory, FLEETING_B, PROT_NONE) ||
            mprotect(memory, FLEETING_B, PROT_READ | PROT_WRITE))
            abort();
    return NULL;
}

static union hal_packet fleeting(int kind, const void *memory, const void *other)
{
    if (kind == 0)
        return (union hal_packet){.fill = {.head.op = HAL_OP_FILL,
                                           .dst = (uintptr_t)memory,
                                           .width = FLEETING_B,
                                           .height = 1,
                                           .value = 7,
                                           .elem_B = 1}};
    return (union hal_packet){.copy = {.head.op = HAL_OP_COPY,
                                       .dst = (uintptr_t)(kind == 1 ? memory : other),
                                       .src = (uintptr_t)(kind == 1 ? other : memory),
                                       .width_B = FLEETING_B,
                                       .height = 1,
                                       .depth = 1}};
}

/* Another thread takes memory away between the look at it and the copy, or in the middle of it. */
static void test_fleeting(void)
{
    static char other[FLEETING_B];
    unsigned faults = 0, wrong = 0, waits = 0;
    pthread_t thread;
    char *memory =
        mmap(NULL, FLEETING_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || pthread_create(&thread, NULL, come_and_go, memory))
        abort();
    for (int i = 0; i < 300; i++) {
        submit(0, fleeting(i % 3, memory, other));
        waits += device->ops->wait(device, &queues[0]->ring->retired,
                                   hal_queue_submitted(queues[0]), UINT64_MAX) == HD_OK;
        enum hd_status status = hal_domain_status(domain);
        faults += status != HD_OK;
        wrong += status != HD_OK && status != HD_ILLEGAL_ADDRESS;
        if (status != HD_OK)
            device->ops->domain_reset(domain);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    ok(!wrong && waits == 300, "memory that comes and goes: %u faults", faults);
    submit(0, fleeting(0, memory, other));
    submit(0, fleeting(2, memory, other));
    drain(0);
    ok(memory[0] == 7 && other[FLEETING_B - 1] == 7, "a fill and a copy once it stays");
    munmap(memory, FLEETING_B);
}

/* Rows behind the memory: the first ends it, the others would take an hour. */
static void test_many_rows(void)
{
    static char last[2];

    submit(0, (union hal_packet){.fill = {.head.op = HAL_OP_FILL,
                                          .dst = (uintptr_t)last,
                                          .pitch_B = 1 << 20,
                                          .width = 1,
                                          .height = 1u << 31,
                                          .value = 7,
                                          .elem_B = 1}});
    drain(0);
    ok(last[0] == 7 && hal_domain_status(domain) == HD_ILLEGAL_ADDRESS, "the first row is filled");
    ok(domain->fault->address > (uintptr_t)last,
       "the address is that of the row that is not there");
    device->ops->domain_reset(domain);
}

int main(void)
{
    struct ir_module *ir = NULL;
    if (!ok(ir_read_module(text, strlen(text), "t", &ir) == HD_OK &&
                ir_layout_windows(ir) == HD_OK && interp_device_create(NULL, &device) == HD_OK,
            "set up"))
        return done();
    ok(device->ops->domain_create(device, &domain) == HD_OK, "domain");
    for (int i = 0; i < 2; i++)
        ok(device->ops->queue_create(domain, 0, &queues[i]) == HD_OK, "queue");
    test_packets();
    test_fleeting();
    test_many_rows();
    test_kernel(ir);
    ok(hal_limit_set(domain, HAL_LIMIT_HEAP_B, 1 << 24) == HD_OK &&
           hal_limit_get(domain, HAL_LIMIT_HEAP_B) == 1 << 24,
       "limits");
    for (int i = 0; i < 2; i++)
        queues[i]->ops->destroy(queues[i]);
    device->ops->domain_destroy(domain);
    device->ops->destroy(device);
    ir_module_destroy(ir);
    return done();
}
