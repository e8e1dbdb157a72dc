/*
 * The host's side of memcheck: calls that fail, faults that no probe announced, leaks.
 *
 * Which calls are the program's: the outermost of a thread. What a call of the runtime asks of the
 * driver is told with --report-api-errors=all only.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/demangle.h"
#include "base/lock.h"
#include "san/memcheck/memcheck.h"
#include "san/options.h"
#include "san/stack.h"

/* ---- what a thread is in */

struct calling {
    unsigned depth;
    uint32_t errors; /* hd_error_count() when the outermost call began */
};
static HD_THREAD_LOCAL struct calling calling;

/* ---- errors by name */

struct api_error {
    const char *name;
    int64_t code;
    const char *text;
};

static const struct api_error driver_errors[] = {
#define X(name, code, text) {#name, code, text},
#include "api/cuda_errors.def"
#undef X
};
static const struct api_error runtime_errors[] = {
#define X(name, code, text) {#name, code, text},
#include "api/cudart_errors.def"
#undef X
};

static struct api_error api_error_of(const struct heddle_event *e)
{
    bool is_driver = e->kind == HEDDLE_EVENT_DRIVER;
    const struct api_error *table = is_driver ? driver_errors : runtime_errors;
    size_t n = is_driver ? HD_COUNT_OF(driver_errors) : HD_COUNT_OF(runtime_errors);

    for (size_t i = 0; i < n; i++)
        if (table[i].code == e->call.result)
            return table[i];
    return (struct api_error){is_driver ? "CUDA_ERROR_UNKNOWN" : "cudaErrorUnknown", e->call.result,
                              "unrecognized error code"};
}

/*
 * ---- answers that are no errors: what programs ask to know, and what the vendor's libraries ask
 * of a driver of the vendor's (entry without suffix, code)
 */

#define ANSWER_LIST(X)                                                                             \
    X("cudaEventQuery", 600)                                                                       \
    X("cudaStreamQuery", 600)                                                                      \
    X("cuEventQuery", 600)                                                                         \
    X("cuStreamQuery", 600)                                                                        \
    X("cudaDeviceEnablePeerAccess", 704)                                                           \
    X("cuCtxEnablePeerAccess", 704)                                                                \
    X("cudaDeviceDisablePeerAccess", 705)                                                          \
    X("cuCtxDisablePeerAccess", 705)                                                               \
    X("cuGetExportTable", 801)

/* Is it this entry, or it with _v2, _ptsz and the like? */
static bool api_is_entry(const char *symbol, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(symbol, name, len) && (!symbol[len] || symbol[len] == '_');
}

static bool api_is_answer(const char *symbol, int64_t code)
{
#define X(name, code_)                                                                             \
    if (code == (code_) && api_is_entry(symbol, name))                                             \
        return true;
    ANSWER_LIST(X)
#undef X
    return san_options()->ignore_getprocaddress && code == 500 &&
           api_is_entry(symbol, "cuGetProcAddress");
}

/* ---- calls that fail */

static bool api_is_free(const char *symbol)
{
    static const char *const names[] = {"cudaFree",  "cudaFreeHost",  "cudaFreeAsync",
                                        "cuMemFree", "cuMemFreeHost", "cuMemFreeAsync"};

    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (api_is_entry(symbol, names[i]))
            return true;
    return false;
}

/* Freed before, or never allocated: of what was freed both stacks. */
static struct san_block *api_say_freed(struct san_finding *f, const struct heddle_event *e)
{
    struct san_block *freed;
    uint64_t va;

    if (!api_is_free(e->call.entry->name) || !e->call.entry->nargs)
        return NULL;
    memcpy(&va, (const char *)e->call.args + e->call.entry->args[0].offset_B, sizeof(va));
    freed = san_memory_freed(va);
    if (!freed)
        return NULL;
    san_detail(f, "0x%llx is %s an allocation of size %llu bytes that was freed",
               (unsigned long long)va, va == freed->base ? "the start of" : "inside",
               (unsigned long long)freed->size_B);
    f->allocated = &freed->allocated;
    f->freed = &freed->freed;
    return freed;
}

static void api_call_report(const struct heddle_event *e)
{
    const struct api_error error = api_error_of(e);
    struct san_block *freed;
    char name[96];
    struct san_stack stack;
    struct san_finding f = {
        .tool = "memcheck",
        .kind = "api-error",
        .severity = SAN_ERROR,
        .stack = &stack,
        .count = 1,
        .call = {.name = name, .error = error.name, .message = error.text, .code = error.code}};

    san_stack_take(&stack);
    san_call_name(e->call.entry->name, name, sizeof(name));
    snprintf(f.title, sizeof(f.title),
             "Program hit %s (error %lld) due to \"%s\" on CUDA API call to %s.", error.name,
             (long long)error.code, error.text, name);
    if (san_options()->report_api_errors >= SAN_API_EXTENDED && hd_error_count() != calling.errors)
        san_detail(&f, "%.190s", hd_error_message());
    freed = api_say_freed(&f, e);
    san_report(&f);
    san_block_unref(freed);
}

static void api_on_call(const struct heddle_event *e)
{
    unsigned mode = san_options()->report_api_errors;

    if (e->phase == HEDDLE_PHASE_BEGIN) {
        if (!calling.depth++)
            calling.errors = hd_error_count();
        return;
    }
    if (calling.depth)
        calling.depth--;
    if (!e->call.result || mode == SAN_API_NO || (calling.depth && mode != SAN_API_ALL) ||
        api_is_answer(e->call.entry->name, e->call.result))
        return;
    api_call_report(e);
}

/* ---- faults */

enum { EXPECTED_MAX = 64 };

/* Kernels whose launches fail by what was reported. */
static struct {
    pthread_mutex_t lock; /* the rest */
    char names[EXPECTED_MAX][128];
    unsigned n;
} expected = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(expected, expected.lock);

void memcheck_fault_expect(const struct san_launch *launch)
{
    pthread_mutex_lock(&expected.lock);
    if (expected.n < EXPECTED_MAX)
        snprintf(expected.names[expected.n++], sizeof(expected.names[0]), "%s",
                 launch->about.kernel->name);
    pthread_mutex_unlock(&expected.lock);
}

/* Names are compared as far as they are kept. */
static bool api_was_expected(const char *kernel)
{
    unsigned i;

    pthread_mutex_lock(&expected.lock);
    for (i = 0; i < expected.n; i++)
        if (!strncmp(expected.names[i], kernel, sizeof(expected.names[0]) - 1))
            break;
    bool found = i < expected.n;
    assert(expected.n <= EXPECTED_MAX);
    if (found && i != --expected.n)
        memcpy(expected.names[i], expected.names[expected.n], sizeof(expected.names[0]));
    pthread_mutex_unlock(&expected.lock);
    return found;
}

/* What the message says behind the kernel's name, which is said already. */
static const char *api_behind_kernel(const char *message, const char *mangled, const char *plain)
{
    static const char word[] = "kernel ";
    const char *name = message + strlen(word);

    if (strncmp(message, word, strlen(word)) != 0)
        return message;
    size_t len = strncmp(name, plain, strlen(plain)) == 0       ? strlen(plain)
                 : strncmp(name, mangled, strlen(mangled)) == 0 ? strlen(mangled)
                                                                : 0;
    return len ? name + len + strspn(name + len, ",: ") : message;
}

static void api_on_fault(const struct heddle_event *e)
{
    struct san_finding f = {.tool = "memcheck",
                            .kind = "fault",
                            .severity = SAN_FATAL,
                            .address = e->fault.address,
                            .has_address = e->fault.address != 0,
                            .count = 1};
    const uint32_t *block = e->fault.block, *thread = e->fault.thread;
    const char *message = e->fault.message;
    struct hd_buf name = {0};

    if (e->fault.kernel && api_was_expected(e->fault.kernel))
        return;
    snprintf(f.title, sizeof(f.title), "Hardware exception: %s",
             hd_status_text((enum hd_status)e->fault.status));
    if (e->fault.kernel)
        hd_demangle_or_name(e->fault.kernel, HD_DEMANGLE_FULL, &name);
    if (name.len && e->fault.file)
        san_detail(&f, "at %.100s in %.80s:%u", name.ptr, e->fault.file, e->fault.line);
    else if (name.len)
        san_detail(&f, "at %.180s", name.ptr);
    if (name.len)
        message = api_behind_kernel(message, e->fault.kernel, name.ptr);
    if (e->fault.has_block && e->fault.has_thread)
        san_detail(&f, "by thread (%u,%u,%u) in block (%u,%u,%u)", thread[0], thread[1], thread[2],
                   block[0], block[1], block[2]);
    else if (e->fault.has_block)
        san_detail(&f, "in block (%u,%u,%u)", block[0], block[1], block[2]);
    san_detail(&f, "%.190s", message);
    san_report(&f);
    hd_buf_fini(&name);
}

/* ---- leaks */

static struct {
    _Atomic uint64_t bytes, allocations;
    _Atomic bool is_over; /* the process ends: all has been told */
} leaks;

static void api_leaked(uint64_t va, uint64_t size_B, bool on_heap, const struct san_stack *from)
{
    struct san_finding f = {.tool = "memcheck",
                            .kind = on_heap ? "heap-leak" : "leak",
                            .severity = SAN_ERROR,
                            .address = va,
                            .has_address = true,
                            .size_B = size_B,
                            .allocated = from,
                            .count = 1};

    snprintf(f.title, sizeof(f.title), "Leaked %llu bytes at 0x%llx%s", (unsigned long long)size_B,
             (unsigned long long)va, on_heap ? " on the device heap" : "");
    atomic_fetch_add(&leaks.bytes, size_B);
    atomic_fetch_add(&leaks.allocations, 1);
    san_report(&f);
}

static bool api_reports_leaks(void)
{
    return san_options()->leak_check == SAN_LEAK_FULL && !atomic_load(&leaks.is_over);
}

/* Memory of a device that the program asked for. */
static bool api_can_leak(const struct san_block *block)
{
    return (block->memory == 1 || block->memory == 4) &&
           (block->use == HEDDLE_MEMORY_PROGRAM || block->use == HEDDLE_MEMORY_ARRAY);
}

void memcheck_gone(struct san_block *block, bool with_context)
{
    if (with_context && api_reports_leaks() && api_can_leak(block))
        api_leaked(block->base, block->size_B, false, &block->allocated);
}

/* The heap of a context goes; NULL: of every one. */
static void api_heap_end(const void *context, bool reports)
{
    struct memcheck_heap_near block = {0};

    while (memcheck_heap_take(context, &block))
        if (reports && !block.is_freed)
            api_leaked(block.base, block.size_B, true, NULL);
}

static void api_context_end(const void *context)
{
    api_heap_end(context, api_reports_leaks() && san_options()->check_device_heap);
    pthread_mutex_lock(&expected.lock);
    expected.n = 0;
    pthread_mutex_unlock(&expected.lock);
}

void memcheck_finish(void)
{
    struct san_memory *memory = san_memory_now();

    for (uint32_t i = 0; memory && i < memory->n; i++)
        memcheck_gone(memory->block[i], true);
    san_memory_unref(memory);
    if (!api_reports_leaks())
        return;
    api_heap_end(NULL, san_options()->check_device_heap);
    atomic_store(&leaks.is_over, true);
    san_summary("memcheck", "leaked_B", atomic_load(&leaks.bytes));
    san_summary("memcheck", "leaked_allocations", atomic_load(&leaks.allocations));
}

/* ---- events */

void memcheck_host(const struct heddle_event *e)
{
    if (e->kind == HEDDLE_EVENT_MEMORY)
        memcheck_order_memory(e, true);
    san_memory_host(SAN_MEMCHECK, e);
    san_order_host(e);
    switch (e->kind) {
    case HEDDLE_EVENT_MEMORY:
        memcheck_order_memory(e, false);
        break;
    case HEDDLE_EVENT_PACKET:
        memcheck_order_packet(e);
        break;
    case HEDDLE_EVENT_DRIVER:
    case HEDDLE_EVENT_RUNTIME:
        api_on_call(e);
        break;
    case HEDDLE_EVENT_FAULT:
        api_on_fault(e);
        break;
    case HEDDLE_EVENT_OBJECT:
        if (e->object.is_destroyed && !strcmp(e->object.type, "context"))
            api_context_end(e->object.handle);
        break;
    default:
        break;
    }
}
