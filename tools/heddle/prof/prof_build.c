/*
 * See prof_build.h. Records come in the order of their blocks, which is that of a thread but of no
 * two: what needs a partner (ends of ranges, ids of handles) waits for it in a map.
 */
#include "prof/prof_build.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "check/check.h"
#include "common/cli.h"
#include "heddle/tap.h"
#include "prof/reader.h"
#include "prof/prof_alike.h"
#include "prof/prof_db.h"
#include "prof/prof_host.h"
#include "prof/prof_kernel.h"
#include "prof/prof_sample.h"

enum {
    EVENT_RUNTIME = 0,
    EVENT_DRIVER = 1,
    EVENT_OS_RUNTIME = 27,
    EVENT_MARK = 34,
    EVENT_PUSH_POP = 59,
    EVENT_START_END = 60,
    EVENT_DOMAIN_CREATE = 75,
    EVENT_OVERHEAD = 103,
    OVERHEAD_COMPILER = 2,
    NO_EVENT = 0xffffffff,
    /* nvtxPayloadType_t */
    NVTX_U64 = 1,
    NVTX_I64 = 2,
    NVTX_DOUBLE = 3,
    NVTX_U32 = 4,
    NVTX_I32 = 5,
    NVTX_FLOAT = 6,
    SEVERITY_WARNING = 2,
    SEVERITY_ERROR = 3,
    STATE_RUNNING = 1,
};
#define VM (INT64_C(1) << 48)

/* The beginning of a range, or an end that came first. */
struct open_range {
    const struct prof_nvtx *nvtx;
    uint32_t thread;
};

/* Rows of StringIds, found when the shape is first launched: demangling takes longer than a row. */
struct shape {
    const struct prof_shape *record; /* NULL: damaged */
    bool is_named;
    int64_t mangled, demangled, brief;
};

struct source {
    struct prof_reader reader;
    HD_VEC(int64_t) strings; /* of names: their rows + 1; 0: not looked for yet */
    HD_VEC(struct shape) shapes;
    struct hd_map ids; /* handle: index in `objects` + 1 */
    HD_VEC(const struct prof_object *) objects;
    HD_VEC(struct open_range) pushed; /* of all threads */
    struct hd_map ranges;             /* of start and end: index in `halves` + 1 */
    HD_VEC(struct open_range) halves;
    struct prof_frames frames;
};

struct build {
    struct prof_db db;
    int64_t nwaits;        /* of the operating system */
    struct hd_map threads; /* that have a name: by globalTid */
    struct prof_totals totals;
    HD_VEC(struct source) sources;
    uint64_t start_ns, end_ns;
    struct hd_map versioned; /* function of the runtime: its name with a version */
};

/* ---- small things */

static int64_t build_since(const struct build *b, uint64_t ns)
{
    return (int64_t)(ns - b->start_ns);
}

static int64_t build_global_pid(const struct source *s)
{
    return VM | (int64_t)(s->reader.head.pid & 0xffffff) << 24;
}

static int64_t build_global_tid(const struct source *s, uint32_t thread)
{
    return build_global_pid(s) | (thread & 0xffffff);
}

static void build_note_end(struct build *b, uint64_t ns)
{
    b->end_ns = HD_MAX(b->end_ns, ns);
}

/* Valid until the next call. */
static const char *build_text_of(struct source *s, uint32_t name)
{
    static char text[PROF_RECORD_MAX_B];
    struct hd_str str = prof_reader_name(&s->reader, name);

    (void)snprintf(text, sizeof(text), "%.*s", (int)str.len, str.ptr);
    return text;
}

static int64_t build_string_of(struct build *b, struct source *s, uint32_t name)
{
    int64_t *row = name && name <= s->strings.len ? &s->strings.at[name - 1] : NULL;

    if (!row)
        return prof_db_string(&b->db, build_text_of(s, name));
    assert(*row >= 0);
    if (!*row)
        *row = prof_db_string(&b->db, build_text_of(s, name)) + 1;
    return *row - 1;
}

/* ---- calls */

/* Nsight Systems calls functions of the runtime as CUPTI does: cudaMalloc_v3020. */
static void build_versions_init(struct hd_map *versioned)
{
    static const char *const rows[][2] = {
#define X(symbol, name) {#symbol, #name},
#include <api/cupti/cupti_names.inc>
#undef X
    };

    hd_map_init(versioned);
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        (void)!hd_map_put(versioned, hd_str_from(rows[i][0]), (void *)rows[i][1]);
}

/* A name has one row: functions of the driver and of the runtime are never called alike. */
static int64_t build_call_name(struct build *b, struct source *s, const struct prof_call *r)
{
    uint32_t name = r->record.number;
    int64_t *row = name && name <= s->strings.len ? &s->strings.at[name - 1] : NULL;

    if (r->is_driver || !row || *row)
        return build_string_of(b, s, name);
    const char *text = build_text_of(s, name), *with = hd_map_get(&b->versioned, hd_str_from(text));
    *row = prof_db_string(&b->db, with ? with : text) + 1;
    return *row - 1;
}

static void build_put_call(struct build *b, struct source *s, const struct prof_call *r,
                           uint32_t thread)
{
    b->totals.calls++;
    build_note_end(b, r->end_ns);
    prof_db_row(&b->db, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, "iii iiii n",
                build_since(b, r->begin_ns), build_since(b, r->end_ns),
                (int64_t)(r->is_driver ? EVENT_DRIVER : EVENT_RUNTIME), build_global_tid(s, thread),
                (int64_t)r->correlation, build_call_name(b, s, r), (int64_t)r->result);
}

/* The call of a launch; none, while it has not returned. */
static void build_put_launch_call(struct build *b, struct source *s, const struct prof_launch *r,
                                  uint32_t thread)
{
    uint32_t call = atomic_load_explicit(&r->call, memory_order_acquire);

    if (!call)
        return;
    build_put_call(b, s,
                   &(struct prof_call){.record.number = call & ~PROF_LAUNCH_DRIVER,
                                       .begin_ns = r->begin_ns,
                                       .end_ns = r->begin_ns + r->duration_ns,
                                       .correlation = r->kernel.times.correlation,
                                       .is_driver = (call & PROF_LAUNCH_DRIVER) != 0},
                   thread);
}

static const struct prof_object *build_object_of(const struct source *s, uint64_t handle)
{
    size_t at = (size_t)(uintptr_t)hd_map_get_u64(&s->ids, handle);

    assert(at <= s->objects.len);
    return at ? s->objects.at[at - 1] : NULL;
}

static void build_put_sync(struct build *b, struct source *s, const struct prof_sync *r)
{
    const struct prof_object *context = build_object_of(s, r->context);
    const struct prof_object *stream = build_object_of(s, r->stream ? r->stream : r->context + 1);
    bool of_stream = stream && r->kind != PROF_SYNC_EVENT && r->kind != PROF_SYNC_CONTEXT;

    prof_db_row(&b->db, TABLE_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "iiii n iii n iin",
                build_since(b, r->begin_ns), build_since(b, r->end_ns),
                (int64_t)(context ? context->device : 0), (int64_t)(context ? context->id : 0),
                of_stream ? (int64_t)stream->id : (int64_t)NO_EVENT, (int64_t)r->correlation,
                build_global_pid(s), (int64_t)r->kind,
                r->event ? (int64_t)(r->event & 0xffffffff) : (int64_t)NO_EVENT);
}

/* ---- work */

/* What began and did not end is in no table, and is told. */
static bool build_work_ended(struct build *b, const struct prof_times *t, int64_t out_times[2])
{
    uint64_t end_ns = atomic_load_explicit(&t->end_ns, memory_order_acquire);

    if (!end_ns) {
        b->totals.incomplete++;
        return false;
    }
    build_note_end(b, end_ns);
    out_times[0] = build_since(b, atomic_load_explicit(&t->start_ns, memory_order_relaxed));
    out_times[1] = build_since(b, end_ns);
    return true;
}

/* Without its template arguments and parameters. */
static int64_t build_short_name(struct build *b, const char *demangled)
{
    char text[1024];
    size_t depth = 0, len = 0;

    for (const char *c = demangled; *c && len + 1 < sizeof(text); c++) {
        if (*c == '(' && !depth && strncmp(c, "(anonymous", 10) != 0)
            break;
        depth += *c == '<';
        if (!depth && *c == ' ')
            len = 0; /* behind the type of the result */
        else if (!depth)
            text[len++] = *c;
        depth -= *c == '>' && depth;
    }
    assert(len < sizeof(text));
    text[len] = '\0';
    const char *colon = strrchr(text, ':');
    return prof_db_string(&b->db, len ? colon ? colon + 1 : text : demangled);
}

/* NULL: it has none, or it is damaged. */
static const struct shape *build_shape_of(struct build *b, struct source *s, uint32_t number)
{
    struct shape *shape = number && number <= s->shapes.len ? &s->shapes.at[number - 1] : NULL;

    if (!shape || !shape->record)
        return NULL;
    if (shape->is_named)
        return shape;
    shape->mangled = build_string_of(b, s, shape->record->name);
    const char *demangled = check_demangle(build_text_of(s, shape->record->name), DEMANGLE_FULL);
    shape->demangled = prof_db_string(&b->db, demangled);
    shape->brief = build_short_name(b, demangled);
    shape->is_named = true;
    return shape;
}

/* A kernel of a graph launch has its node; NULL: of none. */
static void build_put_kernel(struct build *b, struct source *s, const struct prof_kernel *k,
                             const struct prof_node *node)
{
    const struct shape *shape = build_shape_of(b, s, k->record.number);
    uint64_t graph = node ? node->graph : 0;
    int64_t times[2];

    if (!shape || !build_work_ended(b, &k->times, times))
        return;
    assert(shape->is_named && shape->record);
    b->totals.kernels++;
    const struct prof_shape *r = shape->record;
    int64_t threads = (int64_t)r->grid[0] * r->grid[1] * r->grid[2] *
                      ((int64_t)r->block[0] * r->block[1] * r->block[2]);
    prof_db_row(
        &b->db, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, "iiii n iiiiiiin i iiiiii iiii i n i n i iii o",
        times[0], times[1], (int64_t)r->device, (int64_t)r->context, (int64_t)k->times.stream,
        (int64_t)k->times.correlation, build_global_pid(s), shape->demangled, shape->brief,
        shape->mangled, (int64_t)(r->is_cooperative ? 2 : 1), (int64_t)r->regs, (int64_t)r->grid[0],
        (int64_t)r->grid[1], (int64_t)r->grid[2], (int64_t)r->block[0], (int64_t)r->block[1],
        (int64_t)r->block[2], (int64_t)r->static_shared_B, (int64_t)r->dynamic_shared_B,
        (int64_t)r->local_B, (int64_t)r->local_B * threads, (int64_t)k->times.grid_id,
        graph ? (int64_t)(graph << 32 | node->node) : (int64_t)0, (int64_t)graph,
        (int64_t)r->cluster[0], (int64_t)r->cluster[1], (int64_t)r->cluster[2], r->arguments != 0,
        r->arguments ? build_string_of(b, s, r->arguments) : (int64_t)0);
}

/* ENUM_CUDA_MEM_KIND of an enum core_mem_kind. */
static int64_t build_memory_kind(uint32_t memory)
{
    switch (memory) {
    case 0:
        return 0;
    case 1:
        return 2;
    case 2:
    case 8:
        return 1;
    case 4:
        return 4;
    default:
        return 7;
    }
}

static bool build_is_host(uint32_t memory)
{
    return memory == 0 || memory == 2 || memory == 8;
}

static int64_t build_copy_kind(const struct prof_copy *r)
{
    bool from_host = build_is_host(r->src_memory), to_host = build_is_host(r->dst_memory);

    if (from_host)
        return to_host ? 9 : 1;
    if (to_host)
        return 2;
    return r->src_device != r->dst_device ? 10 : 8;
}

static void build_put_copy(struct build *b, struct source *s, const struct prof_copy *r)
{
    const struct prof_work *w = &r->work;
    int64_t times[2];

    if (!build_work_ended(b, &w->times, times))
        return;
    b->totals.copies++;
    bool is_peer = build_copy_kind(r) == 10;
    prof_db_row(&b->db, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, "iiii n iiiiiniii n i nn i nn", times[0],
                times[1], (int64_t)w->device, (int64_t)w->context, (int64_t)w->times.stream,
                (int64_t)w->times.correlation, build_global_pid(s), (int64_t)r->size_B,
                build_copy_kind(r), build_memory_kind(r->src_memory),
                build_memory_kind(r->dst_memory), (int64_t)(is_peer ? r->src_device : w->device),
                (int64_t)(is_peer ? r->dst_device : w->device),
                w->graph ? (int64_t)(w->graph << 32 | w->node) : (int64_t)0);
}

static void build_put_fill(struct build *b, struct source *s, const struct prof_fill *r)
{
    const struct prof_work *w = &r->work;
    int64_t times[2];

    if (!build_work_ended(b, &w->times, times))
        return;
    b->totals.fills++;
    prof_db_row(&b->db, TABLE_CUPTI_ACTIVITY_KIND_MEMSET, "iiii n iiiiiii", times[0], times[1],
                (int64_t)w->device, (int64_t)w->context, (int64_t)w->times.stream,
                (int64_t)w->times.correlation, build_global_pid(s), (int64_t)r->value,
                (int64_t)r->size_B, w->graph ? (int64_t)(w->graph << 32 | w->node) : (int64_t)0,
                build_memory_kind(r->memory));
}

/* ---- NVTX */

static double build_payload_double(const struct prof_nvtx *r)
{
    double wide;
    float narrow;

    memcpy(&wide, &r->payload, sizeof(wide));
    memcpy(&narrow, &r->payload, sizeof(narrow));
    return r->payload_type == NVTX_DOUBLE ? wide : (double)narrow;
}

/* `end` is NULL: of a mark, or it did not come. */
static void build_put_range(struct build *b, struct source *s, const struct open_range *begin,
                            const struct open_range *end, int event)
{
    const struct prof_nvtx *r = begin->nvtx;
    int64_t payload = (int64_t)r->payload;
    unsigned type = r->payload_type;

    assert(r && (!end || end->nvtx));
    b->totals.ranges++;
    build_note_end(b, end ? end->nvtx->time_ns : r->time_ns);
    prof_db_row(&b->db, TABLE_NVTX_EVENTS, "ioiiii sion i ooO ooO nnn", build_since(b, r->time_ns),
                end != NULL, end ? build_since(b, end->nvtx->time_ns) : 0, (int64_t)event,
                (int64_t)r->range, (int64_t)r->category, (int64_t)r->color,
                build_text_of(s, r->text), build_global_tid(s, begin->thread), end != NULL,
                end ? build_global_tid(s, end->thread) : 0, (int64_t)r->domain, type == NVTX_U64,
                payload, type == NVTX_I64, payload, type == NVTX_DOUBLE, build_payload_double(r),
                type == NVTX_U32, payload & 0xffffffff, type == NVTX_I32, (int64_t)(int32_t)payload,
                type == NVTX_FLOAT, build_payload_double(r));
}

static void build_push(struct source *s, const struct open_range *range)
{
    (void)hd_vec_push(&s->pushed, *range); /* without memory the range is lost */
}

static void build_pop(struct build *b, struct source *s, const struct open_range *end)
{
    for (size_t i = s->pushed.len; i-- > 0;) {
        struct open_range begin = s->pushed.at[i];

        if (begin.thread != end->thread || begin.nvtx->domain != end->nvtx->domain)
            continue;
        memmove(&s->pushed.at[i], &s->pushed.at[i + 1],
                (s->pushed.len - i - 1) * sizeof(s->pushed.at[0]));
        s->pushed.len--;
        build_put_range(b, s, &begin, end, EVENT_PUSH_POP);
        return;
    }
}

/* One half of a range that has a number, or the partner of the one that waits. */
static void build_pair(struct build *b, struct source *s, const struct open_range *half)
{
    bool begins = half->nvtx->call == HEDDLE_NVTX_RANGE_START;
    size_t at = (size_t)(uintptr_t)hd_map_get_u64(&s->ranges, half->nvtx->range);

    if (at) {
        assert(at <= s->halves.len && s->halves.at[at - 1].nvtx); /* or it has its partner */
        const struct open_range *other = &s->halves.at[at - 1];
        if ((other->nvtx->call == HEDDLE_NVTX_RANGE_START) != begins)
            build_put_range(b, s, begins ? half : other, begins ? other : half, EVENT_START_END);
        (void)hd_map_remove_u64(&s->ranges, half->nvtx->range);
        s->halves.at[at - 1].nvtx = NULL;
        return;
    }
    if (hd_vec_push(&s->halves, *half))
        (void)!hd_map_put_u64(&s->ranges, half->nvtx->range, (void *)(uintptr_t)s->halves.len);
}

static void build_put_nvtx(struct build *b, struct source *s, const struct prof_nvtx *r,
                           uint32_t thread)
{
    struct open_range range = {r, thread};

    switch (r->call) {
    case HEDDLE_NVTX_MARK:
        build_put_range(b, s, &range, NULL, EVENT_MARK);
        return;
    case HEDDLE_NVTX_RANGE_PUSH:
        build_push(s, &range);
        return;
    case HEDDLE_NVTX_RANGE_POP:
        build_pop(b, s, &range);
        return;
    case HEDDLE_NVTX_RANGE_START:
    case HEDDLE_NVTX_RANGE_END:
        build_pair(b, s, &range);
        return;
    case HEDDLE_NVTX_DOMAIN_CREATE:
        prof_db_row(&b->db, TABLE_NVTX_EVENTS, "ini nnn si nn i nnn nnn nnn",
                    build_since(b, r->time_ns), (int64_t)EVENT_DOMAIN_CREATE,
                    build_text_of(s, r->domain_name), build_global_tid(s, thread),
                    (int64_t)r->domain);
        return;
    default:
        return;
    }
}

/* Ranges that were open when the process ended have no end. */
static void build_put_open_ranges(struct build *b, struct source *s)
{
    for (size_t i = 0; i < s->pushed.len; i++)
        build_put_range(b, s, &s->pushed.at[i], NULL, EVENT_PUSH_POP);
    for (size_t i = 0; i < s->halves.len; i++)
        if (s->halves.at[i].nvtx && s->halves.at[i].nvtx->call == HEDDLE_NVTX_RANGE_START)
            build_put_range(b, s, &s->halves.at[i], NULL, EVENT_START_END);
}

/* ---- the rest */

static void build_put_memory(struct build *b, struct source *s, const struct prof_memory *r)
{
    const struct prof_object *context = build_object_of(s, r->context);

    prof_db_row(&b->db, TABLE_CUDA_GPU_MEMORY_USAGE_EVENTS, "iiiii n iii nin nnnnnn",
                build_since(b, r->time_ns), build_global_pid(s),
                (int64_t)(context ? context->device : 0), (int64_t)(context ? context->id : 0),
                (int64_t)r->va, (int64_t)r->size_B, build_memory_kind(r->memory),
                (int64_t)r->is_freed, (int64_t)r->correlation);
}

static void build_put_osrt(struct build *b, struct source *s, const struct prof_osrt *r,
                           uint32_t thread)
{
    build_note_end(b, r->end_ns);
    prof_db_row(&b->db, TABLE_OSRT_API, "iiiiiiiii", build_since(b, r->begin_ns),
                build_since(b, r->end_ns), (int64_t)EVENT_OS_RUNTIME, build_global_tid(s, thread),
                ++b->nwaits, build_string_of(b, s, r->record.number), r->result, (int64_t)0,
                (int64_t)0);
}

static void build_put_compile(struct build *b, struct source *s, const struct prof_compile *r,
                              uint32_t thread)
{
    build_note_end(b, r->end_ns);
    prof_db_row(&b->db, TABLE_CUPTI_ACTIVITY_KIND_OVERHEAD, "iiiiiii", build_since(b, r->begin_ns),
                build_since(b, r->end_ns), (int64_t)EVENT_OVERHEAD, build_global_tid(s, thread),
                (int64_t)r->correlation, build_string_of(b, s, r->name),
                (int64_t)OVERHEAD_COMPILER);
}

static void build_put_fault(struct build *b, struct source *s, const struct prof_fault *r)
{
    prof_db_row(&b->db, TABLE_DIAGNOSTIC_EVENT, "iiiisi", build_since(b, r->time_ns), (int64_t)1,
                (int64_t)1, (int64_t)SEVERITY_ERROR, build_text_of(s, r->message),
                build_global_pid(s));
}

/* A thread that is sampled is in both files of its process. */
static void build_put_thread(struct build *b, struct source *s, const struct prof_thread *r)
{
    void *found;

    if (hd_map_find_u64(&b->threads, (uint64_t)build_global_tid(s, r->thread), &found))
        return;
    (void)!hd_map_put_u64(&b->threads, (uint64_t)build_global_tid(s, r->thread), NULL);
    prof_db_row(&b->db, TABLE_ThreadNames, "ini", build_string_of(b, s, r->name),
                build_global_tid(s, r->thread));
}

static void build_put_device(struct build *b, struct source *s, const struct prof_device *r)
{
    char uuid[HD_UUID_TEXT_B], bus[16], chip[16];
    int64_t bandwidth = (int64_t)r->memory_clock_kHz * 2000 * (r->bus_width / 8);

    hd_uuid_text(r->uuid, uuid);
    (void)snprintf(bus, sizeof(bus), "0000:%02x:00.0", r->pci_bus);
    (void)snprintf(chip, sizeof(chip), "CC%u.%u", r->cc_major, r->cc_minor);
    prof_db_row(
        &b->db, TABLE_TARGET_INFO_GPU, "iissi iiiii i s n s i nnnn i n iiiii iiiii nnn nnn iiii",
        VM >> 48, (int64_t)r->device, build_text_of(s, r->name), bus, (int64_t)0, (int64_t)r->l2_B,
        (int64_t)r->memory_B, bandwidth, (int64_t)r->clock_kHz * 1000, (int64_t)r->sms,
        (int64_t)r->device, uuid, chip, (int64_t)r->device, (int64_t)r->const_B,
        (int64_t)r->regs_per_block, (int64_t)r->shared_per_block_B, (int64_t)r->shared_per_block_B,
        (int64_t)r->shared_per_sm_B, (int64_t)r->regs_per_block, (int64_t)32, (int64_t)1,
        (int64_t)r->max_threads_per_sm / 32, (int64_t)r->max_blocks_per_sm, (int64_t)1024,
        (int64_t)r->cc_major, (int64_t)r->cc_minor, (int64_t)r->cc_major, (int64_t)r->cc_minor);
    prof_db_row(&b->db, TABLE_TARGET_INFO_CUDA_DEVICE, "iiisi", (int64_t)r->device,
                (int64_t)r->device, (int64_t)s->reader.head.pid, uuid, (int64_t)r->sms);
}

static void build_put_sample(struct build *b, struct source *s, const struct prof_sample *r)
{
    if (!r->weight_ns || r->nframes > (r->record.size_B - sizeof(*r)) / sizeof(r->frames[0]))
        return;
    build_note_end(b, r->time_ns);
    b->totals.samples++;
    b->totals.sampled_ns += r->weight_ns;
    prof_db_row(&b->db, TABLE_COMPOSITE_EVENTS, "iiiiii", (int64_t)b->totals.samples,
                build_since(b, r->time_ns), (int64_t)r->cpu, (int64_t)STATE_RUNNING,
                build_global_tid(s, r->record.number), (int64_t)r->weight_ns);
    prof_sample_put(&b->db, &s->frames, s->reader.head.exe, r, (int64_t)b->totals.samples);
}

/* Streams have their context's row beside them: what a report calls the default stream. */
static void build_put_object(struct build *b, struct source *s, const struct prof_object *r)
{
    const struct prof_object *context = build_object_of(s, r->context);
    bool is_null = r->handle == r->context + 1;
    int64_t context_id = context ? context->id : 0;

    if (strcmp(build_text_of(s, r->type), "stream") != 0)
        return;
    if (is_null)
        prof_db_row(&b->db, TABLE_TARGET_INFO_CUDA_CONTEXT_INFO, "i i iiiinin", (int64_t)r->id,
                    (int64_t)0, VM >> 48, (int64_t)s->reader.head.pid, (int64_t)r->device,
                    context_id, (int64_t)0);
    prof_db_row(&b->db, TABLE_TARGET_INFO_CUDA_STREAM, "iiiiiii", (int64_t)r->id, (int64_t)0,
                VM >> 48, (int64_t)s->reader.head.pid, context_id, (int64_t)0,
                (int64_t)(is_null ? 3 : 1));
}

static void build_put(struct build *b, struct source *s, const struct prof_record *record,
                      uint32_t thread)
{
    switch ((enum prof_type)record->type) {
    case PROF_CALL:
        build_put_call(b, s, (const struct prof_call *)record, thread);
        return;
    case PROF_KERNEL:
        build_put_kernel(b, s, (const struct prof_kernel *)record, NULL);
        return;
    case PROF_LAUNCH:
        build_put_launch_call(b, s, (const struct prof_launch *)record, thread);
        build_put_kernel(b, s, (const struct prof_kernel *)record, NULL);
        return;
    case PROF_NODE:
        build_put_kernel(b, s, (const struct prof_kernel *)record,
                         (const struct prof_node *)record);
        return;
    case PROF_COPY:
        build_put_copy(b, s, (const struct prof_copy *)record);
        return;
    case PROF_FILL:
        build_put_fill(b, s, (const struct prof_fill *)record);
        return;
    case PROF_SYNC:
        build_put_sync(b, s, (const struct prof_sync *)record);
        return;
    case PROF_MEMORY:
        build_put_memory(b, s, (const struct prof_memory *)record);
        return;
    case PROF_COMPILE:
        build_put_compile(b, s, (const struct prof_compile *)record, thread);
        return;
    case PROF_FAULT:
        build_put_fault(b, s, (const struct prof_fault *)record);
        return;
    case PROF_OSRT:
        build_put_osrt(b, s, (const struct prof_osrt *)record, thread);
        return;
    case PROF_NVTX:
        build_put_nvtx(b, s, (const struct prof_nvtx *)record, thread);
        return;
    case PROF_THREAD:
        build_put_thread(b, s, (const struct prof_thread *)record);
        return;
    case PROF_DEVICE:
        build_put_device(b, s, (const struct prof_device *)record);
        return;
    case PROF_OBJECT:
        build_put_object(b, s, (const struct prof_object *)record);
        return;
    case PROF_SAMPLE:
        build_put_sample(b, s, (const struct prof_sample *)record);
        return;
    case PROF_STRING:
    case PROF_SHAPE:
    case PROF_MODULE:
    case PROF_TYPE_COUNT:
        return;
    }
}

/* ---- sources */

static bool build_add_shape(struct source *s, const struct prof_shape *shape)
{
    uint32_t number = shape->record.number;

    /* Numbers are given in turn; a larger one than there can be is not believed. */
    if (!number || number > s->reader.size_B / sizeof(*shape))
        return true;
    while (s->shapes.len < number)
        if (!hd_vec_push(&s->shapes, (struct shape){0}))
            return false;
    s->shapes.at[number - 1].record = shape;
    return true;
}

static bool build_add_object(struct source *s, const struct prof_object *object)
{
    return hd_vec_push(&s->objects, object) &&
           hd_map_put_u64(&s->ids, object->handle, (void *)(uintptr_t)s->objects.len);
}

/* What other records mean by their numbers and handles. */
static enum hd_status build_source_look(struct source *s)
{
    struct prof_cursor cursor = {0};
    const struct prof_record *record;
    bool good = true;

    while (s->strings.len < s->reader.names.len && good)
        good = hd_vec_push(&s->strings, 0);
    while (good && (record = prof_reader_next(&s->reader, &cursor))) {
        if (record->type == PROF_OBJECT)
            good = build_add_object(s, (const struct prof_object *)record);
        else if (record->type == PROF_SHAPE)
            good = build_add_shape(s, (const struct prof_shape *)record);
        else if (record->type == PROF_MODULE)
            good = prof_frames_add(&s->frames, (const struct prof_module *)record);
    }
    s->reader.damaged = 0;
    return good ? HD_OK : hd_error(HD_NO_MEMORY, "no memory");
}

static void build_source_fini(struct source *s)
{
    hd_map_fini(&s->ids);
    hd_map_fini(&s->ranges);
    hd_vec_fini(&s->strings);
    hd_vec_fini(&s->shapes);
    hd_vec_fini(&s->objects);
    hd_vec_fini(&s->pushed);
    hd_vec_fini(&s->halves);
    prof_frames_fini(&s->frames);
    prof_reader_close(&s->reader);
}

static enum hd_status build_source_add(struct build *b, const char *path)
{
    struct source s = {0};

    HD_TRY(prof_reader_open(path, &s.reader));
    hd_map_init(&s.ids);
    hd_map_init(&s.ranges);
    hd_map_init(&s.frames.by_frame);
    enum hd_status status = build_source_look(&s);
    if (status == HD_OK && !hd_vec_push(&b->sources, s))
        status = hd_error(HD_NO_MEMORY, "no memory");
    if (status != HD_OK)
        build_source_fini(&s);
    return status;
}

static bool build_is_spool(const char *name)
{
    size_t len = strlen(name), suffix = strlen(PROF_SUFFIX);

    return len > suffix && strcmp(name + len - suffix, PROF_SUFFIX) == 0;
}

/* A file that cannot be read is told, the others are in the report. */
static enum hd_status build_sources_open(struct build *b, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    enum hd_status status = HD_OK;

    if (!dir)
        return hd_error(HD_IO, "%s: %s", folder, strerror(errno));
    while (status != HD_NO_MEMORY && (entry = readdir(dir))) {
        struct hd_buf path = {0};
        if (!build_is_spool(entry->d_name))
            continue;
        hd_buf_printf(&path, "%s/%s", folder, entry->d_name);
        status = path.failed ? hd_error(HD_NO_MEMORY, "no memory") : build_source_add(b, path.ptr);
        if (status != HD_OK)
            cli_error("%s", hd_error_message());
        hd_buf_fini(&path);
    }
    closedir(dir);
    if (status == HD_NO_MEMORY)
        return status;
    return b->sources.len ? HD_OK : hd_error(HD_NOT_FOUND, "nothing was recorded");
}

static void build_put_source(struct build *b, struct source *s)
{
    struct prof_cursor cursor = {0};
    const struct prof_record *record;
    char text[128];

    if (!s->reader.head.is_samples) {
        b->totals.processes++;
        prof_db_row(&b->db, TABLE_PROCESSES, "iis", build_global_pid(s),
                    (int64_t)s->reader.head.pid, s->reader.head.exe);
    }
    while ((record = prof_reader_next(&s->reader, &cursor)))
        build_put(b, s, record, cursor.thread);
    build_put_open_ranges(b, s);
    b->totals.lost += s->reader.head.lost;
    b->totals.damaged += s->reader.damaged;
    if (!s->reader.head.lost)
        return;
    (void)snprintf(text, sizeof(text), "%llu records found no room in the recording's file",
                   (unsigned long long)s->reader.head.lost);
    prof_db_row(&b->db, TABLE_DIAGNOSTIC_EVENT, "iiiisi", (int64_t)0, (int64_t)1, (int64_t)1,
                (int64_t)SEVERITY_WARNING, text, build_global_pid(s));
}

/* ---- what the report says of itself */

static void build_put_pair(struct build *b, enum prof_table table, const char *name,
                           const char *value)
{
    prof_db_row(&b->db, table, "ss", name, value);
}

static void build_put_environment(struct build *b, const char *key, int number, const char *value)
{
    prof_db_row(&b->db, TABLE_TARGET_INFO_SYSTEM_ENV, "issis", VM, "", key, (int64_t)number, value);
}

static void build_put_host(struct build *b)
{
    struct utsname system;
    char text[512];

    assert(b->db.db);
    if (uname(&system))
        return;
    build_put_environment(b, "Hostname", 619, system.nodename);
    (void)snprintf(text, sizeof(text), "%s %s", system.sysname, system.release);
    build_put_environment(b, "OsDescription", 605, text);
    (void)snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    build_put_environment(b, "CpuCores", 1, text);
    build_put_environment(b, "CudaDriverVersion", 611, "13000");
}

static void build_put_session(struct build *b, const struct prof_head *first, char *const *command)
{
    char utc[64], local[64], name[64];
    time_t seconds = (time_t)(first->start_real_ns / 1000000000u);
    struct tm tm;

    (void)strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &tm));
    (void)strftime(local, sizeof(local), "%Y-%m-%dT%H:%M:%S%z", localtime_r(&seconds, &tm));
    prof_db_row(&b->db, TABLE_TARGET_INFO_SESSION_START_TIME, "issi", (int64_t)first->start_real_ns,
                utc, local, (int64_t)first->start_ns);
    prof_db_row(&b->db, TABLE_ANALYSIS_DETAILS, "iiii", VM, build_since(b, b->end_ns), (int64_t)0,
                build_since(b, b->end_ns));
    build_put_pair(b, TABLE_META_DATA_EXPORT, "EXPORT_PRODUCT_NAME", "Heddle");
    build_put_pair(b, TABLE_META_DATA_EXPORT, "EXPORT_PRODUCT_VERSION", cli_version());
    build_put_pair(b, TABLE_META_DATA_EXPORT, "EXPORT_SCHEMA_VERSION", "3.24.14");
    build_put_pair(b, TABLE_META_DATA_EXPORT, "EXPORT_SCHEMA_VERSION_MAJOR", "3");
    build_put_pair(b, TABLE_META_DATA_EXPORT, "EXPORT_SCHEMA_VERSION_MINOR", "24");
    build_put_pair(b, TABLE_META_DATA_EXPORT, "EXPORT_SCHEMA_VERSION_MICRO", "14");
    build_put_pair(b, TABLE_META_DATA_CAPTURE, "CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node");
    for (size_t i = 0; command && command[i]; i++) {
        (void)snprintf(name, sizeof(name), i ? "PROCESS_0:ARGUMENT_%zu" : "PROCESS_0:COMMAND",
                       i - 1);
        build_put_pair(b, TABLE_META_DATA_CAPTURE, name, command[i]);
    }
    build_put_host(b);
}

static enum hd_status build_write_report(struct build *b, const char *folder, char *const *command,
                                         const char *path, enum prof_roofline roofline)
{
    assert(b->sources.len); /* or nothing was recorded */
    const struct prof_head *first = &b->sources.at[0].reader.head;

    for (size_t i = 1; i < b->sources.len; i++)
        if (b->sources.at[i].reader.head.start_ns < first->start_ns)
            first = &b->sources.at[i].reader.head;
    b->start_ns = b->end_ns = first->start_ns;
    HD_TRY(prof_db_create(path, &b->db));
    for (size_t i = 0; i < b->sources.len; i++)
        build_put_source(b, &b->sources.at[i]);
    assert(b->end_ns >= b->start_ns); /* which only grew */
    build_put_session(b, first, command);
    HD_TRY(prof_kernel_add(&b->db, folder, b->start_ns, &b->totals.counted));
    if (b->totals.counted) {
        HD_TRY(prof_alike_make(&b->db));
        HD_TRY(prof_roofline_add(&b->db, roofline));
    }
    HD_TRY(prof_host_add(&b->db, folder));
    if (b->totals.counted)
        HD_TRY(prof_alike_index(&b->db));
    return prof_db_finish(&b->db, path);
}

enum hd_status prof_build(const char *folder, char *const *command, const char *path,
                          enum prof_roofline roofline, struct prof_totals *out)
{
    struct build b = {0};
    enum hd_status status = build_sources_open(&b, folder);

    build_versions_init(&b.versioned);
    hd_map_init(&b.threads);
    if (status == HD_OK)
        status = build_write_report(&b, folder, command, path, roofline);
    hd_map_fini(&b.versioned);
    hd_map_fini(&b.threads);
    for (size_t i = 0; i < b.sources.len; i++)
        build_source_fini(&b.sources.at[i]);
    hd_vec_fini(&b.sources);
    *out = b.totals;
    return status;
}
