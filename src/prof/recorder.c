/*
 * What the listener writes. Work is written when it is submitted, and found again by its packet's
 * number when it is complete: in a ring, for the device completes work at most as far behind as the
 * queues are long. What is overtaken there stays without times.
 */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/stack.h"
#include "hal/packet.h"
#include "heddle/tap.h"
#include "prof/osrt.h"
#include "prof/prof.h"
#include "prof/sample.h"
#include "prof/spool.h"

enum {
    PENDING = 1 << 20, /* a power of two */
    CALLS = 1024,      /* the same; entries that were looked at */
    SHAPES = 16,       /* the same; of a thread */
};

/* What is known of an entry of an API. */
struct known_call {
    _Atomic(const struct heddle_entry *) entry;
    uint32_t sync;         /* enum prof_sync_kind; 0: it does not wait */
    int16_t stream, event; /* offsets of the arguments; -1: none */
};

struct pending {
    _Atomic uint64_t id;
    struct prof_times *times;
};

static struct {
    struct prof_settings settings;
    uint64_t start_ns;
    _Atomic bool is_open;       /* what settings.capture waits for has come, and not ended */
    _Atomic bool is_over;       /* nothing opens it any more: settings.once */
    bool is_counting, is_timed; /* settings.skip or .count; .delay or .duration */
    _Atomic uint64_t launches;  /* when they count */
    struct pending *pending;
    _Atomic uint32_t nshapes;
    prof_device_fn *describe;
    _Atomic uint64_t devices; /* that were told: bits */
    struct hd_lock lock;      /* below */
    struct hd_map objects;    /* handles that an OBJECT record gave an id to */
} rec = {.lock = HD_LOCK_INIT(RECORD, "profiler")};

static HD_THREAD_LOCAL struct {
    const void *context, *stream; /* the last that were told */
    bool is_inside;               /* the recorder: a signal's handler writes nothing then */
    int32_t nvtx_level;           /* of the range that captures */
    struct prof_launch *launch;   /* the last of the call that the thread is in */
    uint64_t judged;              /* correlation of the last call whose work came; 0: none */
    bool is_taken;                /* some of that work is recorded, and so is its call */
    void *shapes;                 /* struct shape[SHAPES]; NULL: none so far, or no memory */
} own;

struct shape {
    struct heddle_work work;
    uint32_t arguments;          /* their name */
    uint32_t number, generation; /* of the spool; 0: of none */
};

/* ---- what is recorded now */

static bool recorder_in_time(uint64_t now_ns)
{
    uint64_t since_ms = (now_ns - rec.start_ns) / 1000000u;
    const struct prof_settings *s = &rec.settings;

    return since_ms >= s->delay_ms && (!s->duration_ms || since_ms - s->delay_ms < s->duration_ms);
}

static bool recorder_in_launches(void)
{
    uint64_t n = atomic_load_explicit(&rec.launches, memory_order_relaxed);
    const struct prof_settings *s = &rec.settings;

    return n >= s->skip && (!s->count || n - s->skip < s->count);
}

static bool recorder_is_wanted_at(uint64_t time_ns)
{
    return atomic_load_explicit(&rec.is_open, memory_order_relaxed) &&
           (!rec.is_timed || recorder_in_time(time_ns)) &&
           (!rec.is_counting || recorder_in_launches());
}

static bool recorder_is_wanted(const struct heddle_event *e)
{
    return recorder_is_wanted_at(e->time_ns);
}

/* ---- calls */

static int16_t recorder_offset_of(const struct heddle_entry *entry, const char *first,
                                  const char *second)
{
    for (uint32_t i = 0; i < entry->nargs; i++)
        if (!strcmp(entry->args[i].name, first) || !strcmp(entry->args[i].name, second))
            return (int16_t)entry->args[i].offset_B;
    return -1;
}

static bool recorder_begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static uint32_t recorder_sync_kind(const char *name)
{
    static const struct {
        const char *begin;
        uint32_t kind;
    } rows[] = {
        {"cuEventSynchronize", PROF_SYNC_EVENT},     {"cudaEventSynchronize", PROF_SYNC_EVENT},
        {"cuStreamWaitEvent", PROF_SYNC_WAIT_EVENT}, {"cudaStreamWaitEvent", PROF_SYNC_WAIT_EVENT},
        {"cuStreamSynchronize", PROF_SYNC_STREAM},   {"cudaStreamSynchronize", PROF_SYNC_STREAM},
        {"cuCtxSynchronize", PROF_SYNC_CONTEXT},     {"cudaDeviceSynchronize", PROF_SYNC_CONTEXT},
    };
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (recorder_begins(name, rows[i].begin))
            return rows[i].kind;
    return 0;
}

/* Another entry may hold the slot: then `scratch` is filled. */
static const struct known_call *recorder_look_at(const struct heddle_entry *entry,
                                                 struct known_call *scratch)
{
    static struct known_call known[CALLS];
    struct known_call *slot = &known[((uintptr_t)entry / sizeof(*entry)) % CALLS];
    const struct heddle_entry *there = atomic_load_explicit(&slot->entry, memory_order_acquire);

    if (there == entry)
        return slot;
    scratch->sync = recorder_sync_kind(entry->name);
    scratch->stream = recorder_offset_of(entry, "hStream", "stream");
    scratch->event = recorder_offset_of(entry, "hEvent", "event");
    if (there)
        return scratch;
    hd_lock_acquire(&rec.lock);
    if (!atomic_load_explicit(&slot->entry, memory_order_relaxed)) {
        slot->sync = scratch->sync;
        slot->stream = scratch->stream;
        slot->event = scratch->event;
        atomic_store_explicit(&slot->entry, entry, memory_order_release);
    }
    hd_lock_release(&rec.lock);
    return scratch;
}

static uint64_t recorder_argument(const struct heddle_event *e, int16_t offset)
{
    uint64_t value = 0;

    if (offset >= 0)
        memcpy(&value, (const char *)e->call.args + offset, sizeof(value));
    return value;
}

static void recorder_write_sync(const struct heddle_event *e, const struct known_call *known)
{
    struct prof_sync *r = prof_new(SYNC, sync);

    if (!r)
        return;
    r->begin_ns = e->begin_ns;
    r->end_ns = e->time_ns;
    r->correlation = e->correlation;
    r->context = (uintptr_t)e->context;
    r->stream = recorder_argument(e, known->stream);
    r->event = recorder_argument(e, known->event);
    r->kind = known->sync;
    prof_done(&r->record);
}

/* Into the record of its kernel, if it fits. */
static bool recorder_complete_launch(const struct heddle_event *e, uint32_t name)
{
    struct prof_launch *r = own.launch;
    uint64_t duration_ns = e->time_ns - e->begin_ns;

    if (!r || r->kernel.times.correlation != e->correlation || e->call.result || !name ||
        duration_ns > UINT32_MAX)
        return false;
    r->begin_ns = e->begin_ns;
    r->duration_ns = (uint32_t)duration_ns;
    atomic_store_explicit(&r->call, name | (e->kind == HEDDLE_EVENT_DRIVER) * PROF_LAUNCH_DRIVER,
                          memory_order_release);
    return true;
}

static void recorder_write_call(const struct heddle_event *e)
{
    uint32_t name = prof_name_fixed(e->call.entry->title);
    struct prof_call *r;

    if (recorder_complete_launch(e, name))
        return;
    r = prof_new(CALL, call);
    if (!r)
        return;
    r->record.number = name;
    r->begin_ns = e->begin_ns;
    r->end_ns = e->time_ns;
    r->correlation = e->correlation;
    r->result = (int32_t)e->call.result;
    r->is_driver = e->kind == HEDDLE_EVENT_DRIVER;
    prof_done(&r->record);
}

static void recorder_open_range(void)
{
    atomic_store(&rec.is_open, !atomic_load(&rec.is_over));
}

static void recorder_close_range(void)
{
    if (rec.settings.once && atomic_load(&rec.is_open))
        atomic_store(&rec.is_over, true);
    atomic_store(&rec.is_open, false);
}

static void recorder_on_call(const struct heddle_event *e)
{
    struct known_call scratch;
    const struct known_call *known = recorder_look_at(e->call.entry, &scratch);

    if (own.judged == e->correlation ? own.is_taken : recorder_is_wanted(e)) {
        recorder_write_call(e);
        if (known->sync)
            recorder_write_sync(e, known);
    }
    own.launch = NULL;
    if (rec.settings.capture == PROF_CAPTURE_API) {
        /* cudaProfilerStart() itself is not in the range that it begins, cudaProfilerStop() is. */
        bool starts = !strcmp(e->call.entry->name, "cudaProfilerStart") ||
                      !strcmp(e->call.entry->name, "cuProfilerStart");

        if (starts)
            recorder_open_range();
        else if (!strcmp(e->call.entry->name, "cudaProfilerStop") ||
                 !strcmp(e->call.entry->name, "cuProfilerStop"))
            recorder_close_range();
    }
}

/* ---- work */

static void recorder_notify_object(const struct heddle_event *e, const void *handle,
                                   const char *type, uint32_t id)
{
    void *found;

    hd_lock_acquire(&rec.lock);
    bool is_known = hd_map_find_u64(&rec.objects, (uintptr_t)handle, &found) ||
                    !hd_map_put_u64(&rec.objects, (uintptr_t)handle, NULL);
    hd_lock_release(&rec.lock);
    if (is_known)
        return;
    uint32_t name = prof_name(type);
    struct prof_object *r = prof_new(OBJECT, object);
    if (!r)
        return;
    r->time_ns = e->time_ns;
    r->handle = (uintptr_t)handle;
    r->context = (uintptr_t)e->context;
    r->type = name;
    r->id = id;
    r->device = e->packet.work->device;
    prof_done(&r->record);
}

static void recorder_notify_device(uint32_t ordinal)
{
    uint64_t bit = UINT64_C(1) << ordinal % 64;
    char text[PROF_DEVICE_NAME_B] = "";
    struct prof_device device = {0};

    if (atomic_load_explicit(&rec.devices, memory_order_relaxed) & bit ||
        atomic_fetch_or(&rec.devices, bit) & bit)
        return;
    rec.describe(ordinal, &device, text);
    device.device = ordinal;
    device.name = prof_name(text);
    struct prof_device *r = prof_new(DEVICE, device);
    if (!r)
        return;
    device.record = r->record;
    *r = device;
    prof_done(&r->record);
}

static void recorder_fill_work(struct prof_work *r, const struct heddle_event *e)
{
    const struct heddle_work *w = e->packet.work;

    r->times.correlation = e->correlation;
    r->graph = w->graph;
    r->node = w->node;
    r->device = w->device;
    r->context = w->context_id;
    r->times.stream = w->stream_id;
}

/* ---- shapes of launches: a thread knows the last ones that it told */

static bool recorder_is_shape_of(const struct heddle_work *a, const struct heddle_work *b)
{
    return a->kernel == b->kernel && !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
           !memcmp(a->block, b->block, sizeof(a->block)) &&
           !memcmp(a->cluster, b->cluster, sizeof(a->cluster)) &&
           a->dynamic_shared_B == b->dynamic_shared_B && a->context_id == b->context_id &&
           a->device == b->device && a->is_cooperative == b->is_cooperative;
}

/* Its number; 0: no room. */
static uint32_t recorder_write_shape(const struct heddle_work *w, uint32_t arguments)
{
    uint32_t name = prof_name_fixed(w->kernel->name);
    struct prof_shape *r = prof_new(SHAPE, shape);

    if (!r)
        return 0;
    r->record.number = atomic_fetch_add(&rec.nshapes, 1) + 1;
    r->name = name;
    r->regs = w->kernel->regs;
    memcpy(r->grid, w->grid, sizeof(r->grid));
    memcpy(r->block, w->block, sizeof(r->block));
    memcpy(r->cluster, w->cluster, sizeof(r->cluster));
    r->dynamic_shared_B = w->dynamic_shared_B;
    r->static_shared_B = (uint32_t)w->kernel->static_shared_B;
    r->local_B = (uint32_t)w->kernel->local_B;
    r->device = w->device;
    r->context = w->context_id;
    r->is_cooperative = w->is_cooperative;
    r->arguments = arguments;
    uint32_t number = r->record.number;
    prof_done(&r->record);
    return number;
}

static uint32_t recorder_shape_of(const struct heddle_work *w)
{
    struct shape *shapes = hd_thread_block(&own.shapes, SHAPES * sizeof(*shapes));
    struct shape *s = shapes ? &shapes[((uintptr_t)w->kernel >> 4 ^ w->grid[0]) % SHAPES] : NULL;
    uint32_t generation = prof_spool_generation(), arguments = prof_name(w->arguments);

    if (HD_LIKELY(s && s->generation == generation && s->arguments == arguments &&
                  recorder_is_shape_of(&s->work, w)))
        return s->number;
    uint32_t number = recorder_write_shape(w, arguments);
    if (number && s)
        *s = (struct shape){*w, arguments, number, generation};
    return number;
}

/* Of a call that launches one kernel; others have no room for the call. */
static struct prof_kernel *recorder_new_launch(void)
{
    struct prof_launch *r = prof_new(LAUNCH, launch);

    own.launch = r;
    return r ? &r->kernel : NULL;
}

static struct prof_kernel *recorder_new_node(const struct heddle_work *w)
{
    struct prof_node *r = prof_new(NODE, node);

    if (!r)
        return NULL;
    r->graph = w->graph;
    r->node = w->node;
    return &r->kernel;
}

static struct prof_times *recorder_write_kernel(const struct heddle_event *e,
                                                struct prof_record **out)
{
    const struct heddle_work *w = e->packet.work;
    uint32_t shape = recorder_shape_of(w);
    struct prof_kernel *r;

    if (w->graph)
        r = recorder_new_node(w);
    else
        r = e->correlation && !own.launch ? recorder_new_launch() : prof_new(KERNEL, kernel);
    if (!r)
        return NULL;
    r->record.number = shape;
    r->times.correlation = e->correlation;
    r->times.grid_id = w->grid_id;
    r->times.stream = w->stream_id;
    *out = &r->record;
    return &r->times;
}

static struct prof_times *recorder_write_copy(const struct heddle_event *e,
                                              struct prof_record **out)
{
    const struct heddle_work *w = e->packet.work;
    struct prof_copy *r = prof_new(COPY, copy);

    if (!r)
        return NULL;
    recorder_fill_work(&r->work, e);
    r->size_B = w->size_B;
    r->dst = w->dst;
    r->src = w->src;
    r->dst_memory = (uint8_t)w->dst_memory;
    r->src_memory = (uint8_t)w->src_memory;
    r->dst_device = w->dst_device;
    r->src_device = w->src_device;
    *out = &r->work.record;
    return &r->work.times;
}

static struct prof_times *recorder_write_fill(const struct heddle_event *e,
                                              struct prof_record **out)
{
    const struct heddle_work *w = e->packet.work;
    struct prof_fill *r = prof_new(FILL, fill);

    if (!r)
        return NULL;
    recorder_fill_work(&r->work, e);
    r->size_B = w->size_B;
    r->dst = w->dst;
    r->value = w->value;
    r->memory = w->dst_memory;
    *out = &r->work.record;
    return &r->work.times;
}

/* Waits, signals and host calls of a stream are no work of the device. */
static void recorder_on_packet(const struct heddle_event *e)
{
    const struct heddle_work *w = e->packet.work;
    bool wanted = w && recorder_is_wanted(e);
    struct prof_record *record;
    struct prof_times *times = NULL;

    if (rec.is_counting && w && w->kernel)
        atomic_fetch_add_explicit(&rec.launches, 1, memory_order_relaxed);
    if (w && e->correlation) {
        /*
         * A call is recorded if its work is, though the range ends, or the last launch is counted,
         * while it is open.
         */
        own.is_taken = wanted || (own.judged == e->correlation && own.is_taken);
        own.judged = e->correlation;
    }
    if (!wanted)
        return;
    /* What the numbers in records are; handles, which calls have, are given theirs. */
    if (own.context != e->context || own.stream != e->stream) {
        own.context = e->context;
        own.stream = e->stream;
        recorder_notify_device(w->device);
        recorder_notify_object(e, e->context, "context", w->context_id);
        recorder_notify_object(e, w->is_default_stream ? (const char *)e->context + 1 : e->stream,
                               "stream", w->stream_id);
    }
    if (w->kernel)
        times = recorder_write_kernel(e, &record);
    else if (e->packet.op == HAL_OP_COPY)
        times = recorder_write_copy(e, &record);
    else if (e->packet.op == HAL_OP_FILL)
        times = recorder_write_fill(e, &record);
    if (!times)
        return;
    prof_done(record);
    const uint64_t id = e->packet.id;
    struct pending *slot = &rec.pending[id % PENDING];
    slot->times = times;
    atomic_store_explicit(&slot->id, id, memory_order_release);
}

static void recorder_on_done(const struct heddle_event *e)
{
    struct pending *slot = &rec.pending[e->packet.id % PENDING];
    struct prof_times *times;

    if (atomic_load_explicit(&slot->id, memory_order_acquire) != e->packet.id)
        return;
    times = slot->times;
    atomic_store_explicit(&times->start_ns, e->packet.start_ns, memory_order_relaxed);
    atomic_store_explicit(&times->end_ns, e->packet.end_ns, memory_order_release);
}

/* ---- the rest */

static void recorder_on_memory(const struct heddle_event *e)
{
    struct prof_memory *r = recorder_is_wanted(e) ? prof_new(MEMORY, memory) : NULL;

    if (!r)
        return;
    r->time_ns = e->time_ns;
    r->va = e->memory.va;
    r->size_B = e->memory.size_B;
    r->correlation = e->correlation;
    r->context = (uintptr_t)e->context;
    r->memory = e->memory.memory;
    r->is_freed = e->memory.is_freed;
    prof_done(&r->record);
}

static void recorder_on_compile(const struct heddle_event *e)
{
    if (e->phase != HEDDLE_PHASE_END || !recorder_is_wanted(e))
        return;
    uint32_t name = prof_name(e->compile.name), form = prof_name(e->compile.form);
    struct prof_compile *r = prof_new(COMPILE, compile);
    if (!r)
        return;
    r->begin_ns = e->begin_ns;
    r->end_ns = e->time_ns;
    r->correlation = e->correlation;
    r->name = name;
    r->form = form;
    r->cache_hit = e->compile.cache_hit;
    r->status = e->compile.status;
    prof_done(&r->record);
}

static void recorder_on_fault(const struct heddle_event *e)
{
    uint32_t kernel = prof_name(e->fault.kernel), message = prof_name(e->fault.message);
    struct prof_fault *r = prof_new(FAULT, fault);

    if (!r)
        return;
    r->time_ns = e->time_ns;
    r->kernel = kernel;
    r->message = message;
    r->status = e->fault.status;
    prof_done(&r->record);
}

static void recorder_write_nvtx(const struct heddle_event *e)
{
    uint32_t text = prof_name(e->nvtx.text), domain = prof_name(e->nvtx.domain_name);
    struct prof_nvtx *r = prof_new(NVTX, nvtx);

    if (!r)
        return;
    r->time_ns = e->time_ns;
    r->range = e->nvtx.range;
    r->payload = e->nvtx.payload;
    r->call = e->nvtx.call;
    r->domain = e->nvtx.domain;
    r->domain_name = domain;
    r->text = text;
    r->level = e->nvtx.level;
    r->category = e->nvtx.category;
    r->color_type = e->nvtx.color_type;
    r->color = e->nvtx.color;
    r->payload_type = e->nvtx.payload_type;
    prof_done(&r->record);
}

static bool recorder_is_the_range(const struct heddle_event *e)
{
    const char *domain = e->nvtx.domain_name ? e->nvtx.domain_name : "";

    return e->nvtx.text && !strcmp(e->nvtx.text, rec.settings.range) &&
           !strcmp(domain, rec.settings.domain);
}

/* The first range of that name that is open captures, until it ends. */
static void recorder_look_for_nvtx(const struct heddle_event *e)
{
    static _Atomic uint64_t open; /* 0: none; a range's number, or a thread's with the top bit */
    const uint64_t of_thread = UINT64_C(1) << 63 | e->thread;
    uint64_t none = 0, it;

    switch (e->nvtx.call) {
    case HEDDLE_NVTX_RANGE_PUSH:
    case HEDDLE_NVTX_RANGE_START:
        it = e->nvtx.call == HEDDLE_NVTX_RANGE_PUSH ? of_thread : e->nvtx.range;
        if (!recorder_is_the_range(e) || !atomic_compare_exchange_strong(&open, &none, it))
            return;
        own.nvtx_level = e->nvtx.level;
        recorder_open_range();
        return;
    case HEDDLE_NVTX_RANGE_POP:
    case HEDDLE_NVTX_RANGE_END:
        it = e->nvtx.call == HEDDLE_NVTX_RANGE_POP ? of_thread : e->nvtx.range;
        if (it == of_thread && e->nvtx.level != own.nvtx_level)
            return;
        if (atomic_compare_exchange_strong(&open, &it, 0))
            recorder_close_range();
        return;
    default:
        return;
    }
}

/* Ends belong to the range that they end, beginnings to the one that they begin. */
static void recorder_on_nvtx(const struct heddle_event *e)
{
    bool ends = e->nvtx.call == HEDDLE_NVTX_RANGE_POP || e->nvtx.call == HEDDLE_NVTX_RANGE_END;

    if (ends && recorder_is_wanted(e))
        recorder_write_nvtx(e);
    if (rec.settings.capture == PROF_CAPTURE_NVTX)
        recorder_look_for_nvtx(e);
    if (!ends && recorder_is_wanted(e))
        recorder_write_nvtx(e);
}

static void recorder_dispatch(const struct heddle_event *e)
{
    switch ((enum heddle_event_kind)e->kind) {
    case HEDDLE_EVENT_DRIVER:
    case HEDDLE_EVENT_RUNTIME:
        recorder_on_call(e);
        return;
    case HEDDLE_EVENT_PACKET:
        recorder_on_packet(e);
        return;
    case HEDDLE_EVENT_DONE:
        recorder_on_done(e);
        return;
    case HEDDLE_EVENT_MEMORY:
        recorder_on_memory(e);
        return;
    case HEDDLE_EVENT_COMPILE:
        recorder_on_compile(e);
        return;
    case HEDDLE_EVENT_FAULT:
        recorder_on_fault(e);
        return;
    case HEDDLE_EVENT_NVTX:
        recorder_on_nvtx(e);
        return;
    default:
        return;
    }
}

static void recorder_on_event(void *user, const struct heddle_event *e)
{
    bool was_inside = own.is_inside;

    (void)user;
    if (!prof_spool_head())
        return;
    own.is_inside = true;
    recorder_dispatch(e);
    own.is_inside = was_inside;
}

/* ---- waits of the operating system */

static void recorder_on_osrt(const char *name, uint64_t begin_ns, uint64_t end_ns, int64_t result)
{
    if (own.is_inside || !prof_spool_head() || begin_ns < rec.start_ns ||
        !recorder_is_wanted_at(end_ns))
        return;
    own.is_inside = true;
    uint32_t number = prof_name_fixed(name); /* a record of its own, if it is new: before ours */
    struct prof_osrt *r = prof_new(OSRT, osrt);
    if (r) {
        r->record.number = number;
        r->begin_ns = begin_ns;
        r->end_ns = end_ns;
        r->result = result;
        prof_done(&r->record);
    }
    own.is_inside = false;
}

/* ---- the process */

static void recorder_open_spool(void)
{
    if (prof_spool_open(rec.settings.folder, rec.settings.limit_B) != HD_OK)
        hd_log("%s", hd_error_message());
    else
        rec.start_ns = prof_spool_head()->start_ns;
}

/* What the parent waits for is not the child's, whose file is another one. */
static void recorder_in_child(void)
{
    (void)madvise(rec.pending, PENDING * sizeof(rec.pending[0]), MADV_DONTNEED);
    memset(&own, 0, sizeof(own));
    atomic_store(&rec.nshapes, 0);
    hd_map_init(&rec.objects); /* another thread may have been changing it: not freed */
    atomic_store(&rec.devices, 0);
    recorder_open_spool();
    if (rec.settings.sample_Hz)
        prof_sample_in_child();
}

enum hd_status prof_start(prof_device_fn *describe)
{
    const char *text = hd_env("HEDDLE_PROF");

    if (!text)
        return HD_OK;
    HD_TRY(prof_settings_read(text, &rec.settings));
    rec.pending = mmap(NULL, PENDING * sizeof(rec.pending[0]), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rec.pending == MAP_FAILED)
        return hd_error(HD_NO_MEMORY, "no memory for a recording");
    rec.is_counting = rec.settings.skip || rec.settings.count;
    rec.is_timed = rec.settings.delay_ms || rec.settings.duration_ms;
    atomic_store(&rec.is_open, rec.settings.capture == PROF_CAPTURE_ALWAYS);
    rec.describe = describe;
    hd_map_init(&rec.objects);
    recorder_open_spool();
    (void)pthread_atfork(NULL, NULL, recorder_in_child);
    (void)atexit(heddle_tap_settle); /* what is complete by then is told */
    const uint32_t kinds = (HEDDLE_KIND_ALL & ~HEDDLE_KIND(RETIRED)) | HEDDLE_OUTERMOST |
                           HEDDLE_ENDS | HEDDLE_PLAIN | HEDDLE_ARGUMENTS;
    if (!heddle_tap_subscribe(kinds, recorder_on_event, NULL))
        return hd_error(HD_BUSY, "too many listeners for a profiler");
    /* If `heddle prof` has put its library in front. */
    __typeof__(heddle_osrt_listen) *listen;
    *(void **)&listen = dlsym(RTLD_DEFAULT, OSRT_LISTEN);
    if (listen)
        listen(recorder_on_osrt);
    if (rec.settings.sample_Hz)
        prof_sample_start(&rec.settings, recorder_is_wanted_at);
    return HD_OK;
}
