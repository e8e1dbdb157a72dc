/* What listeners are told of calls: names, arguments, results, order; who is told, how long. */
#include "driver_fixture.h"
#include "core/core.h"
#include "core/notify.h"

/* The last events of a listener. */
struct heard {
    const char *begun, *ended;
    uint64_t begun_id, ended_id;
    int64_t result;
    unsigned begins, ends;
    uint32_t id;
};

static void on_call(void *user, const struct heddle_event *e)
{
    struct heard *h = user;

    if (e->phase == HEDDLE_PHASE_BEGIN) {
        h->begun = e->call.entry->name;
        h->begun_id = e->correlation;
        h->begins++;
    } else {
        h->ended = e->call.entry->name;
        h->ended_id = e->correlation;
        h->result = e->call.result;
        h->ends++;
    }
}

static struct heard heard;

#define TOLD(call, ...)                                                                            \
    do {                                                                                           \
        heard.begun = heard.ended = "";                                                            \
        success(call(__VA_ARGS__), #call);                                                         \
        eq_str(heard.begun, #call, "begin of " #call);                                             \
        eq_str(heard.ended, #call, "end of " #call);                                               \
        eq_u64(heard.ended_id, heard.begun_id, "one correlation");                                 \
    } while (0)

static void test_names(void)
{
    static char host[256];
    CUDA_MEMCPY2D box2 = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host};
    CUDA_MEMCPY3D box3 = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host};
    CUdeviceptr p = 0;

    TOLD(cuMemAlloc_v2, &p, sizeof(host));
    box2.dstMemoryType = box3.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box2.dstDevice = box3.dstDevice = p;
    box2.WidthInBytes = box2.Height = 8;
    box3.WidthInBytes = box3.Height = box3.Depth = 4;
    TOLD(cuMemcpy, p, (uintptr_t)host, sizeof(host));
    TOLD(cuMemcpyAsync, p, (uintptr_t)host, sizeof(host), NULL);
    TOLD(cuMemcpyHtoD_v2, p, host, sizeof(host));
    TOLD(cuMemcpyHtoDAsync_v2, p, host, sizeof(host), NULL);
    TOLD(cuMemcpyDtoH_v2, host, p, sizeof(host));
    TOLD(cuMemcpyDtoHAsync_v2, host, p, sizeof(host), NULL);
    TOLD(cuMemcpyDtoD_v2, p, p + 128, 128);
    TOLD(cuMemcpy2D_v2, &box2);
    TOLD(cuMemcpy2DUnaligned_v2, &box2);
    TOLD(cuMemcpy2DAsync_v2, &box2, NULL);
    TOLD(cuMemcpy3D_v2, &box3);
    TOLD(cuMemcpy3DAsync_v2, &box3, NULL);
    TOLD(cuMemsetD8_v2, p, 1, 64);
    TOLD(cuMemsetD8Async, p, 1, 64, NULL);
    TOLD(cuMemsetD16_v2, p, 1, 32);
    TOLD(cuMemsetD32_v2, p, 1, 16);
    TOLD(cuMemsetD32Async, p, 1, 16, NULL);
    TOLD(cuMemsetD2D8_v2, p, 16, 1, 8, 8);
    TOLD(cuMemsetD2D16Async, p, 16, 1, 4, 8, NULL);
    TOLD(cuMemFree_v2, p);
}

/* Delegating entry points and twins are told by their own names, once. */
static void test_own_names(void)
{
    CUevent event;
    unsigned begins;

    success(cuEventCreate(&event, 0), "event");
    TOLD(cuEventRecord, event, NULL);
    TOLD(cuEventRecord_ptsz, event, NULL);
    TOLD(cuEventRecordWithFlags, event, NULL, 0);
    begins = heard.begins;
    TOLD(cuEventDestroy, event);
    eq_u64(heard.begins, begins + 1, "what it is made of is not told");
    heard.ended = "";
    eq_u64(cuGraphicsUnregisterResource(NULL), CUDA_ERROR_INVALID_HANDLE, "a refused call");
    eq_str(heard.ended, "cuGraphicsUnregisterResource", "is told too");
    eq_u64((uint64_t)heard.result, CUDA_ERROR_INVALID_HANDLE, "with its result");
}

static const struct heddle_arg *arg(const struct heddle_entry *entry, const char *name)
{
    for (uint32_t i = 0; i < entry->nargs; i++)
        if (!strcmp(entry->args[i].name, name))
            return &entry->args[i];
    return NULL;
}

static void on_alloc(void *user, const struct heddle_event *e)
{
    const struct cuMemAlloc_v2_params *params = e->call.args;
    const struct heddle_arg *dptr = arg(e->call.entry, "dptr");
    const struct heddle_arg *size = arg(e->call.entry, "bytesize");

    (void)user;
    eq_u64(e->size_B, sizeof(*e), "size of the event");
    eq_u64(e->call.entry->nargs, 2, "two arguments");
    eq_u64(params->bytesize, 4096, "the size");
    ok(size && size->kind == HEDDLE_ARG_UINT && size->size_B == 8, "described");
    eq_str(size->type, "size_t", "its type");
    ok(dptr && dptr->kind == HEDDLE_ARG_POINTER && dptr->direction == HEDDLE_ARG_OUT,
       "an output pointer");
    eq_u64(dptr->target_B, 8, "to an address");
    eq_u64(dptr->offset_B, offsetof(struct cuMemAlloc_v2_params, dptr), "in its place");
    if (e->phase == HEDDLE_PHASE_END) {
        ok(e->time_ns >= e->begin_ns, "time goes on");
        ok(*params->dptr != 0, "the end sees what was written");
    }
}

static void test_arguments(void)
{
    CUdeviceptr p = 0;
    uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_alloc, NULL);

    success(cuMemAlloc_v2(&p, 4096), "alloc");
    heddle_tap_unsubscribe(id);
    success(cuMemFree_v2(p), "free");
}

/* Calls the API, which is told to nobody. */
/* ---- only the ends of calls */

static struct {
    unsigned ends, others, late;
    uint64_t begin_ns, packet_ns;
} ends;

static void on_end(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->kind == HEDDLE_EVENT_PACKET) {
        ends.packet_ns = e->time_ns;
        return;
    }
    ends.ends += e->phase == HEDDLE_PHASE_END;
    ends.others += e->phase != HEDDLE_PHASE_END;
    ends.late += e->time_ns <= e->begin_ns;
    ends.begin_ns = e->begin_ns;
}

/* One that wants both halves gets neither of a call whose beginning was told to nobody. */
static void on_end_adds(void *user, const struct heddle_event *e)
{
    (void)e;
    if (!heard.id)
        heard.id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_call, user);
}

static void test_ends(void)
{
    uint32_t id =
        heddle_tap_subscribe(HEDDLE_KIND(DRIVER) | HEDDLE_KIND(PACKET) | HEDDLE_ENDS, on_end, NULL);
    uint32_t adds;
    CUdeviceptr p;

    success(cuMemAlloc_v2(&p, 64), "a call");
    ok(ends.ends == 1 && !ends.others && !ends.late, "its end alone, with both times");
    success(cuMemsetD8Async(p, 1, 64, NULL), "one that submits");
    ok(ends.packet_ns && ends.packet_ns == ends.begin_ns, "a packet has the time of its call");
    memset(&heard, 0, sizeof(heard));
    adds = heddle_tap_subscribe(HEDDLE_KIND(PACKET), on_end_adds, &heard);
    success(cuMemsetD8Async(p, 1, 64, NULL), "another listener comes in the middle");
    ok(!heard.begins && !heard.ends, "and is told nothing of that call");
    success(cuMemFree_v2(p), "of the next one");
    ok(heard.begins == 1 && heard.ends == 1, "both halves");
    heddle_tap_unsubscribe(heard.id);
    heddle_tap_unsubscribe(adds);
    heddle_tap_unsubscribe(id);
    success(cuCtxSynchronize(), "done");
}

static void on_call_calls(void *user, const struct heddle_event *e)
{
    size_t unused, total;

    (void)e;
    ++*(unsigned *)user;
    (void)cuMemGetInfo_v2(&unused, &total);
}

static void test_recursion(void)
{
    unsigned calls = 0, begins = heard.begins;
    uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_call_calls, &calls);

    success(cuCtxSynchronize(), "a call");
    eq_u64(calls, 2, "begin and end of it");
    eq_u64(heard.begins, begins + 1, "the other listener knows one call");
    heddle_tap_unsubscribe(id);
}

static void on_call_leaves(void *user, const struct heddle_event *e)
{
    struct heard *h = user;

    h->begins++;
    heddle_tap_unsubscribe(h->id);
    (void)e;
}

static struct heard late;

static void on_call_adds(void *user, const struct heddle_event *e)
{
    uint32_t *id = user;

    if (e->phase == HEDDLE_PHASE_BEGIN && !*id)
        *id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_call, &late);
}

static void test_subscription(void)
{
    uint32_t ids[32], n = 0, adder, added = 0;
    struct heard leaver = {0};

    eq_u64(heddle_tap_subscribe(0, on_call, NULL), 0, "no kind");
    eq_u64(heddle_tap_subscribe(HEDDLE_KIND(DRIVER), NULL, NULL), 0, "no function");
    heddle_tap_unsubscribe(0);
    heddle_tap_unsubscribe(12345);
    leaver.id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_call_leaves, &leaver);
    success(cuCtxSynchronize(), "a call");
    success(cuCtxSynchronize(), "another");
    eq_u64(leaver.begins, 1, "a listener can remove itself");
    while (n < HD_COUNT_OF(ids) &&
           (ids[n] = heddle_tap_subscribe(HEDDLE_KIND(MODULE), on_call, &late)))
        n++;
    eq_u64(n, 15, "sixteen listeners, with the first one");
    while (n)
        heddle_tap_unsubscribe(ids[--n]);
    eq_u64(heddle_tap_kinds, HEDDLE_KIND(DRIVER), "only its kind is wanted");
    adder = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_call_adds, &added);
    success(cuCtxSynchronize(), "a call");
    eq_u64(late.ends, late.begins, "no end without its begin");
    success(cuCtxSynchronize(), "another");
    ok(late.ends > 0, "then both");
    eq_u64(late.ends, late.begins, "of each");
    heddle_tap_unsubscribe(adder);
    heddle_tap_unsubscribe(added);
}

struct fault {
    unsigned count, retired_before;
    char kernel[16], message[512];
    void *context;
    uint64_t address, correlation;
    uint32_t status, block[3];
    bool has_block;
};

static void on_fault(void *user, const struct heddle_event *e)
{
    struct fault *fault = user;

    if (e->kind == HEDDLE_EVENT_RETIRED) {
        fault->retired_before += !fault->count;
        return;
    }
    fault->count++;
    snprintf(fault->kernel, sizeof(fault->kernel), "%s", e->fault.kernel ? e->fault.kernel : "");
    snprintf(fault->message, sizeof(fault->message), "%s", e->fault.message);
    fault->context = e->context;
    fault->correlation = e->correlation;
    fault->address = e->fault.address;
    fault->status = e->fault.status;
    fault->has_block = e->fault.has_block;
    memcpy(fault->block, e->fault.block, sizeof(fault->block));
}

/* In a context of its own, which it spoils. */
static void test_fault(void)
{
    struct fault fault = {0};
    uint64_t nowhere = 64;
    void *args[] = {&nowhere};
    CUcontext ctx, popped;
    CUmodule module;
    uint32_t id = heddle_tap_subscribe(HEDDLE_KIND(FAULT) | HEDDLE_KIND(RETIRED), on_fault, &fault);

    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    success(cuLaunchKernel(driver_function(module, "wild"), 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL),
            "a kernel that faults");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "faults");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "which sticks");
    success(cuCtxDestroy_v2(ctx), "destroy");
    eq_u64(fault.count, 1, "and is told once");
    eq_u64(fault.retired_before, 0, "before the work is retired");
    eq_str(fault.kernel, "wild", "of its kernel");
    ok(fault.context == ctx, "of its context");
    eq_u64(fault.correlation, 0, "of no call");
    eq_u64(fault.status, HD_ILLEGAL_ADDRESS, "with the status");
    eq_u64(fault.address, nowhere, "the address");
    ok(fault.has_block && !fault.block[0] && !fault.block[1] && !fault.block[2], "the block");
    ok(strstr(fault.message, "kernel wild: illegal device address 0x40"), "%s", fault.message);
    heddle_tap_unsubscribe(id);
    success(cuCtxPopCurrent_v2(&popped), "pop");
}

/* ---- memory and variables */

static const char variables_ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                    ".visible .global .align 4 .b8 table[40];\n"
                                    ".visible .entry k() { ret; }\n";

struct memory {
    struct heddle_event last; /* MEMORY of `use` */
    unsigned use, nallocs, nfrees, nvariables;
    uint64_t table_va, table_B;
};

static void on_memory(void *user, const struct heddle_event *e)
{
    struct memory *memory = user;

    if (e->kind == HEDDLE_EVENT_MEMORY && e->memory.use == memory->use) {
        memory->last = *e;
        memory->nallocs += !e->memory.is_freed;
        memory->nfrees += e->memory.is_freed;
    }
    for (uint32_t i = 0; e->kind == HEDDLE_EVENT_MODULE && i < e->object.nvariables; i++) {
        const struct heddle_variable *v = &e->object.variables[i];

        memory->nvariables++;
        if (!strcmp(v->name, "table")) {
            memory->table_va = v->va;
            memory->table_B = v->size_B;
        }
    }
}

static void test_variables(struct memory *memory)
{
    CUdeviceptr table;
    CUmodule module;
    size_t table_B;

    memory->use = HEDDLE_MEMORY_MODULE;
    success(cuModuleLoadData(&module, variables_ptx), "a module with a variable");
    success(cuModuleGetGlobal_v2(&table, &table_B, module, "table"), "its address");
    eq_u64(memory->nvariables, 1, "its event has it");
    ok(memory->table_va == table && memory->table_B == 40, "where it is, by the byte");
    ok(memory->nallocs == 1 && table - memory->last.memory.va < memory->last.memory.size_B,
       "inside of memory that was told");
    success(cuModuleUnload(module), "unload");
    eq_u64(memory->nfrees, 1, "which goes");
}

static void test_memory(void)
{
    struct memory memory = {.use = HEDDLE_MEMORY_PROGRAM};
    CUdeviceptr ptr;
    CUstream stream;
    uint32_t id =
        heddle_tap_subscribe(HEDDLE_KIND(MEMORY) | HEDDLE_KIND(MODULE), on_memory, &memory);

    success(cuStreamCreate(&stream, 0), "stream");
    success(cuMemAlloc_v2(&ptr, 100), "allocation");
    ok(memory.nallocs == 1 && memory.last.memory.va == ptr && memory.last.memory.size_B == 100 &&
           !memory.last.stream,
       "is told, of no stream");
    success(cuMemFree_v2(ptr), "free");
    success(cuMemAllocAsync(&ptr, 100, stream), "allocation in a stream");
    ok(memory.nallocs == 2 && memory.last.stream == stream, "is told with it");
    success(cuMemFreeAsync(ptr, stream), "free in it");
    ok(memory.nfrees == 2 && memory.last.stream == stream && memory.last.memory.va == ptr,
       "as well");
    success(cuStreamDestroy_v2(stream), "destroy");
    memory = (struct memory){0};
    test_variables(&memory);
    heddle_tap_unsubscribe(id);
}

int main(void)
{
    CUcontext ctx;
    unsigned ends_before;

    setenv("HEDDLE_MEMORY", "256M", 1);
    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    heard.id = heddle_tap_subscribe(HEDDLE_KIND(DRIVER), on_call, &heard);
    test_names();
    test_own_names();
    test_arguments();
    test_recursion();
    test_subscription();
    heddle_tap_unsubscribe(heard.id);
    test_ends();
    test_memory();
    test_fault();
    ends_before = heard.ends;
    success(cuCtxDestroy_v2(ctx), "destroy");
    eq_u64(heard.ends, ends_before, "nobody listens any more");
    eq_u64(heddle_tap_kinds, 0, "which the taps see");
    return done();
}
