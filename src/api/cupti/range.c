/*
 * The range profiler. While one is started, launches of its context that fall into a range run
 * kernels that count. A launch is put into its range when its PACKET is told, on the thread that
 * launches; its counters come when it is over, and find the range by the launch's numbers.
 *
 * Threads: everything is under one lock, which is held for no call of the driver's.
 */
#include <assert.h>
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/cupti/profiler.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "heddle/count.h"

struct range {
    struct range *next;  /* in the order in which they began */
    struct range *outer; /* that it was pushed in */
    uint32_t level;      /* 1: the outermost */
    uint32_t waiting;    /* launches whose counters have not come */
    bool is_wanted;      /* it becomes one of the image */
    bool is_lost;        /* a launch was not counted */
    struct cupti_range_row row;
    double values[]; /* by column */
};

/* A launch that is on its way. */
struct waiting {
    uint32_t correlation, grid_id;
    struct range *range; /* the innermost; NULL: it has come */
};

struct config {
    struct cupti_columns columns;
    uint8_t *image; /* the client's */
    size_t image_B;
    CUpti_ProfilerRange mode;
    uint64_t max_ranges;
    uint32_t first_level, levels;
};

struct CUpti_RangeProfiler_Object {
    CUpti_RangeProfiler_Object *next;
    CUcontext ctx;
    bool is_configured, is_started;
    struct config config;
    struct cupti_columns columns; /* of the image that the client wants to set up, */
    uint32_t max_ranges;          /* and its ranges */
    struct range *first, *last, *open;
    uint64_t nwanted, ndropped; /* since the start */
    uint64_t number;            /* of the next range that has no name */
    HD_VEC(struct waiting) waiting;
    size_t done; /* entries before it have come */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static CUpti_RangeProfiler_Object *objects;
static uint32_t nstarted;

/* ---- ranges */

static bool range_is_wanted_level(const struct config *c, uint32_t level)
{
    return level >= c->first_level && level - c->first_level < c->levels;
}

/* Appends it; NULL: no memory. */
static struct range *range_create(CUpti_RangeProfiler_Object *o)
{
    const size_t size_B = sizeof(struct range) + o->config.columns.count * sizeof(double);
    struct range *range = hd_alloc(size_B);

    assert(o->is_started && o->config.columns.count <= METRICS_MAX);
    if (!range)
        return NULL;
    memset(range, 0, size_B);
    range->outer = o->open;
    range->level = o->open ? o->open->level + 1 : 1;
    range->is_wanted =
        o->config.mode == CUPTI_AutoRange || range_is_wanted_level(&o->config, range->level);
    if (range->is_wanted && o->nwanted++ >= o->config.max_ranges) {
        range->is_wanted = false;
        o->ndropped++;
    }
    if (o->last)
        o->last->next = range;
    else
        o->first = range;
    o->last = range;
    return range;
}

static void range_clear_all(CUpti_RangeProfiler_Object *o)
{
    while (o->first) {
        struct range *next = o->first->next;
        hd_free(o->first);
        o->first = next;
    }
    o->last = o->open = NULL;
    o->waiting.len = o->done = 0;
}

/* A range around one kernel; NULL: it is not wanted. */
static struct range *range_of_kernel(CUpti_RangeProfiler_Object *o)
{
    struct range *range = range_create(o);

    if (!range)
        return NULL;
    range->row.name_B = 1 + (uint64_t)snprintf(range->row.name, sizeof(range->row.name), "%llu",
                                               (unsigned long long)o->number++);
    return range->is_wanted ? range : NULL;
}

/* Does a launch that is made now have a range, of which it may be one of several? */
static bool range_has(const CUpti_RangeProfiler_Object *o)
{
    if (o->config.mode == CUPTI_AutoRange)
        return true;
    for (const struct range *r = o->open; r; r = r->outer)
        if (r->is_wanted)
            return true;
    return false;
}

static CUpti_RangeProfiler_Object *range_started_of(const void *context)
{
    for (CUpti_RangeProfiler_Object *o = objects; o; o = o->next)
        if (o->is_started && o->ctx == context)
            return o;
    return NULL;
}

/* ---- launches */

static void range_launch_add(CUpti_RangeProfiler_Object *o, const struct heddle_event *event)
{
    const struct heddle_work *work = event->packet.work;
    struct range *range = NULL;

    assert(o->is_started && o->is_configured);
    if (range_has(o))
        range = o->config.mode == CUPTI_AutoRange ? range_of_kernel(o) : o->open;
    if (!range)
        return;
    const struct waiting waiting = {(uint32_t)event->correlation, work->grid_id, range};
    if (hd_vec_push(&o->waiting, waiting))
        range->waiting++;
    else
        range->is_lost = true;
}

static void range_on_packet(void *user, const struct heddle_event *event)
{
    CUpti_RangeProfiler_Object *o;

    (void)user;
    if (!event->packet.work->grid[0])
        return;
    pthread_mutex_lock(&lock);
    o = range_started_of(event->context);
    if (o)
        range_launch_add(o, event);
    pthread_mutex_unlock(&lock);
}

/*
 * A subscription of its own, while some object is started: clients start and stop in callbacks,
 * whose subscription must stay as it is to tell the end of the call.
 */
static void range_listen(void)
{
    static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
    HD_FORK_MUTEX(changing, changing);
    static uint32_t subscription;
    bool is_wanted;

    pthread_mutex_lock(&changing);
    pthread_mutex_lock(&lock);
    is_wanted = nstarted > 0;
    pthread_mutex_unlock(&lock);
    if (is_wanted && !subscription)
        subscription = heddle_tap_subscribe(HEDDLE_KIND(PACKET), range_on_packet, NULL);
    if (!is_wanted && subscription) {
        heddle_tap_unsubscribe(subscription);
        subscription = 0;
    }
    pthread_mutex_unlock(&changing);
}

static int range_takes(void *user, void *context, const char *kernel)
{
    const CUpti_RangeProfiler_Object *o;
    bool taken;

    (void)user;
    (void)kernel;
    pthread_mutex_lock(&lock);
    o = range_started_of(context);
    taken = o && range_has(o);
    pthread_mutex_unlock(&lock);
    return taken;
}

/* The kernel runs without counters, so its launch stays among those that wait: Stop finds it. */
static void range_failed(void *user, void *context, const char *kernel, const char *why)
{
    (void)user;
    (void)context;
    (void)kernel;
    (void)why;
}

/* The launch's range; it does not wait for it any more. */
static struct range *range_waiting_take(CUpti_RangeProfiler_Object *o,
                                        const struct heddle_counted *l)
{
    struct range *range = NULL;

    for (size_t i = o->done; i < o->waiting.len && !range; i++) {
        struct waiting *w = &o->waiting.at[i];
        if (!w->range || w->correlation != l->correlation || w->grid_id != l->grid_id)
            continue;
        range = w->range;
        w->range = NULL;
        assert(range->waiting);
        range->waiting--;
    }
    while (o->done < o->waiting.len && !o->waiting.at[o->done].range)
        o->done++;
    assert(o->done <= o->waiting.len);
    if (o->done == o->waiting.len)
        o->waiting.len = o->done = 0;
    return range;
}

static void range_add(CUpti_RangeProfiler_Object *o, struct range *range,
                      const struct heddle_counted *launch)
{
    double values[METRICS_MAX] = {0};

    metrics_add(launch, values);
    for (; range; range = range->outer) {
        range->row.nlaunches++;
        range->row.duration_ns += launch->end_ns - launch->begin_ns;
        for (uint32_t i = 0; i < o->config.columns.count; i++)
            range->values[i] += values[o->config.columns.metric[i]];
    }
}

static void range_notified(void *user, const struct heddle_counted *launch)
{
    struct range *range = NULL;

    (void)user;
    pthread_mutex_lock(&lock);
    for (CUpti_RangeProfiler_Object *o = objects; o && !range; o = o->next) {
        range = range_waiting_take(o, launch);
        if (range)
            range_add(o, range, launch);
    }
    pthread_mutex_unlock(&lock);
}

static const struct heddle_count_listener listener = {
    .takes = range_takes, .told = range_notified, .failed = range_failed};

/* ---- objects */

static bool range_is_object_locked(const CUpti_RangeProfiler_Object *object)
{
    const CUpti_RangeProfiler_Object *o = objects;

    while (o && o != object)
        o = o->next;
    return o != NULL;
}

static CUptiResult range_enable_locked(CUcontext ctx, CUpti_RangeProfiler_Object **out_object)
{
    CUpti_RangeProfiler_Object *o = objects;

    while (o && o->ctx != ctx)
        o = o->next;
    if (o)
        return CUPTI_ERROR_INVALID_OPERATION;
    o = hd_new(struct CUpti_RangeProfiler_Object);
    if (!o)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    o->ctx = ctx;
    o->next = objects;
    objects = o;
    *out_object = o;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiRangeProfilerEnable)
CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *pParams)
{
    CUcontext ctx;
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, pRangeProfilerObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    ctx = cupti_profiled_context(pParams->ctx);
    if (!ctx)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    pthread_mutex_lock(&lock);
    result = range_enable_locked(ctx, &pParams->pRangeProfilerObject);
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

static CUptiResult range_start_locked(CUpti_RangeProfiler_Object *o)
{
    if (!o->is_configured || o->is_started)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (!nstarted && heddle_count_start(&listener))
        return CUPTI_ERROR_HARDWARE_BUSY;
    nstarted++;
    o->is_started = true;
    return CUPTI_SUCCESS;
}

static void range_stop_locked(CUpti_RangeProfiler_Object *o)
{
    if (!o->is_started)
        return;
    assert(nstarted);
    o->is_started = false;
    o->open = NULL;
    if (--nstarted)
        return;
    heddle_count_stop();
}

static void range_object_destroy_locked(CUpti_RangeProfiler_Object *object)
{
    CUpti_RangeProfiler_Object **at = &objects;

    assert(range_is_object_locked(object));
    range_stop_locked(object);
    while (*at != object)
        at = &(*at)->next;
    *at = object->next;
    range_clear_all(object);
    hd_vec_fini(&object->waiting);
    hd_free(object);
}

CUPTI_EXPORT(cuptiRangeProfilerDisable)
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *pParams)
{
    bool is_object;

    if (!CUPTI_IS_PARAMS(pParams, pRangeProfilerObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pthread_mutex_lock(&lock);
    is_object = range_is_object_locked(pParams->pRangeProfilerObject);
    if (is_object)
        range_object_destroy_locked(pParams->pRangeProfilerObject);
    pthread_mutex_unlock(&lock);
    range_listen();
    return cupti_result(is_object ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

void cupti_range_stop(void)
{
    pthread_mutex_lock(&lock);
    while (objects)
        range_object_destroy_locked(objects);
    pthread_mutex_unlock(&lock);
    range_listen();
}

/* ---- what is counted, and where it goes */

static bool range_are_metrics(const char **names, size_t n, struct cupti_columns *out_columns)
{
    struct cupti_value value;

    *out_columns = (struct cupti_columns){0};
    for (size_t i = 0; i < n; i++) {
        if (!cupti_value_find(names[i], &value))
            return false;
        cupti_value_columns(&value, out_columns);
    }
    return true;
}

CUPTI_EXPORT(cuptiRangeProfilerGetCounterDataSize)
CUptiResult
cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *pParams)
{
    CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;
    struct cupti_columns columns;

    if (!CUPTI_IS_PARAMS(pParams, counterDataSize) ||
        (pParams->numMetrics && !pParams->pMetricNames) || !pParams->maxNumOfRanges)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (!range_are_metrics(pParams->pMetricNames, pParams->numMetrics, &columns))
        return cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
    pParams->counterDataSize = cupti_data_size_B(&columns, pParams->maxNumOfRanges);
    pthread_mutex_lock(&lock);
    if (pParams->counterDataSize && range_is_object_locked(pParams->pRangeProfilerObject)) {
        pParams->pRangeProfilerObject->columns = columns;
        pParams->pRangeProfilerObject->max_ranges = (uint32_t)pParams->maxNumOfRanges;
        result = CUPTI_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

static CUptiResult range_image_init_locked(const CUpti_RangeProfiler_Object *o, uint8_t *image,
                                           size_t size_B)
{
    if (!o->max_ranges)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (size_B < cupti_data_size_B(&o->columns, o->max_ranges))
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    cupti_data_write(&o->columns, o->max_ranges, image);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiRangeProfilerCounterDataImageInitialize)
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *pParams)
{
    CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

    if (!CUPTI_IS_PARAMS(pParams, pCounterData) || !pParams->pCounterData)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pthread_mutex_lock(&lock);
    if (range_is_object_locked(pParams->pRangeProfilerObject))
        result = range_image_init_locked(pParams->pRangeProfilerObject, pParams->pCounterData,
                                         pParams->counterDataSize);
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

static bool range_config_read(const CUpti_RangeProfiler_SetConfig_Params *p, struct config *out)
{
    struct cupti_data_image head;
    struct cupti_columns wanted;

    *out = (struct config){.image = p->pCounterDataImage,
                           .image_B = p->counterDataImageSize,
                           .mode = p->range,
                           .max_ranges = p->maxRangesPerPass,
                           .first_level = p->minNestingLevel ? p->minNestingLevel : 1,
                           .levels = p->numNestingLevels ? p->numNestingLevels : 1};
    if (!(p->range == CUPTI_AutoRange || p->range == CUPTI_UserRange) ||
        (unsigned)p->replayMode >= CUPTI_Replay_COUNT || p->replayMode == CUPTI_Replay_INVALID ||
        (p->range == CUPTI_UserRange && p->replayMode == CUPTI_KernelReplay) ||
        !p->maxRangesPerPass || !cupti_config_read(p->pConfig, p->configSize, &wanted) ||
        !cupti_data_read(out->image, out->image_B, &head, &out->columns))
        return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < wanted.count; i++) {
        while (at < out->columns.count && out->columns.metric[at] < wanted.metric[i])
            at++;
        if (at == out->columns.count || out->columns.metric[at] != wanted.metric[i])
            return false;
    }
    return true;
}

static CUptiResult range_configure_locked(CUpti_RangeProfiler_Object *o,
                                          const struct config *config)
{
    if (!range_is_object_locked(o))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (o->is_started)
        return CUPTI_ERROR_INVALID_OPERATION;
    range_clear_all(o);
    o->nwanted = o->ndropped = o->number = 0;
    o->config = *config;
    o->is_configured = true;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiRangeProfilerSetConfig)
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *pParams)
{
    struct config config;
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, targetNestingLevel) || !range_config_read(pParams, &config))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pthread_mutex_lock(&lock);
    result = range_configure_locked(pParams->pRangeProfilerObject, &config);
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

/* ---- start and stop */

CUPTI_EXPORT(cuptiRangeProfilerStart)
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *pParams)
{
    CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;

    if (!CUPTI_IS_PARAMS(pParams, pRangeProfilerObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pthread_mutex_lock(&lock);
    if (range_is_object_locked(pParams->pRangeProfilerObject))
        result = range_start_locked(pParams->pRangeProfilerObject);
    pthread_mutex_unlock(&lock);
    range_listen();
    return cupti_result(result);
}

/* NULL: no such object, or it is not started. */
static CUcontext range_context_of_started(const CUpti_RangeProfiler_Object *object)
{
    CUcontext ctx = NULL;

    pthread_mutex_lock(&lock);
    if (range_is_object_locked(object) && object->is_started)
        ctx = object->ctx;
    pthread_mutex_unlock(&lock);
    return ctx;
}

/* Whatever has not come by now never will. */
static void range_lost_mark_locked(CUpti_RangeProfiler_Object *o)
{
    for (size_t i = o->done; i < o->waiting.len; i++)
        for (struct range *r = o->waiting.at[i].range; r; r = r->outer)
            r->is_lost = true;
    o->waiting.len = o->done = 0;
}

CUPTI_EXPORT(cuptiRangeProfilerStop)
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *pParams)
{
    CUpti_RangeProfiler_Object *o;
    CUcontext ctx;

    if (!CUPTI_IS_PARAMS(pParams, isAllPassSubmitted))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    o = pParams->pRangeProfilerObject;
    ctx = range_context_of_started(o);
    if (!ctx)
        return cupti_result(CUPTI_ERROR_INVALID_OPERATION);
    cupti_context_wait(ctx);
    pthread_mutex_lock(&lock);
    if (range_is_object_locked(o)) {
        range_lost_mark_locked(o);
        range_stop_locked(o);
    }
    pthread_mutex_unlock(&lock);
    range_listen();
    pParams->passIndex = 0;
    pParams->targetNestingLevel = 1;
    pParams->isAllPassSubmitted = 1;
    return CUPTI_SUCCESS;
}

/* ---- ranges of the program's */

/* The names around it, and its own. False: too long. */
static bool range_name_fill(struct cupti_range_row *row, const struct range *outer,
                            const char *name)
{
    const size_t before = outer ? outer->row.name_B : 0, own = strlen(name) + 1;

    assert(before <= sizeof(row->name));
    if (own > sizeof(row->name) - before)
        return false;
    if (outer)
        memcpy(row->name, outer->row.name, before);
    memcpy(row->name + before, name, own);
    row->name_B = before + own;
    return true;
}

static CUptiResult range_push_locked(CUpti_RangeProfiler_Object *o, const char *name)
{
    struct cupti_range_row row = {0};
    struct range *range;

    if (!range_is_object_locked(o) || !range_name_fill(&row, o->open, name))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!o->is_started)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (o->config.mode != CUPTI_UserRange)
        return CUPTI_SUCCESS;
    range = range_create(o);
    if (!range)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    assert(range->outer == o->open);
    range->row = row;
    o->open = range;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiRangeProfilerPushRange)
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *pParams)
{
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, pRangeName) || !pParams->pRangeName)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pthread_mutex_lock(&lock);
    result = range_push_locked(pParams->pRangeProfilerObject, pParams->pRangeName);
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

static CUptiResult range_pop_locked(CUpti_RangeProfiler_Object *o)
{
    if (!range_is_object_locked(o))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!o->is_started || (o->config.mode == CUPTI_UserRange && !o->open))
        return CUPTI_ERROR_INVALID_OPERATION;
    if (o->open)
        o->open = o->open->outer;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiRangeProfilerPopRange)
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *pParams)
{
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, pRangeProfilerObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pthread_mutex_lock(&lock);
    result = range_pop_locked(pParams->pRangeProfilerObject);
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

/* ---- into the image */

static bool range_is_open(const CUpti_RangeProfiler_Object *o, const struct range *range)
{
    const struct range *r = o->open;

    while (r && r != range)
        r = r->outer;
    return r != NULL;
}

/* False: it is lost. */
static bool range_write(const struct config *c, const struct range *range)
{
    double values[METRICS_MAX];

    assert(range->is_wanted && (!range->waiting || range->is_lost));
    for (uint32_t i = 0; i < c->columns.count; i++)
        values[c->columns.metric[i]] = range->values[i];
    return !range->is_lost && cupti_data_add(c->image, &c->columns, &range->row, values);
}

/* Is it still the image that was configured? */
static bool range_image_is_fine(const struct config *c)
{
    struct cupti_data_image head;
    struct cupti_columns columns;

    return cupti_data_read(c->image, c->image_B, &head, &columns) &&
           columns.count == c->columns.count &&
           !memcmp(columns.metric, c->columns.metric, columns.count * sizeof(columns.metric[0]));
}

/* What is over. The rest stays for the next time. */
static CUptiResult range_decode_locked(CUpti_RangeProfiler_Object *o, uint64_t *out_dropped)
{
    bool is_all = true;

    if (!o->is_configured)
        return CUPTI_ERROR_INVALID_OPERATION;
    if (!range_image_is_fine(&o->config))
        return CUPTI_ERROR_INVALID_PARAMETER;
    *out_dropped = o->ndropped;
    for (struct range *r = o->first; r; r = r->next) {
        if (r->waiting && !r->is_lost)
            is_all = false;
        else if (range_is_open(o, r))
            is_all = false;
        else if (r->is_wanted && !range_write(&o->config, r))
            ++*out_dropped;
        r->is_wanted &= range_is_open(o, r) || (r->waiting && !r->is_lost);
    }
    if (is_all)
        range_clear_all(o);
    o->nwanted = o->ndropped = 0;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiRangeProfilerDecodeData)
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *pParams)
{
    CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;
    uint64_t dropped = 0;
    CUcontext ctx;

    if (!CUPTI_IS_PARAMS(pParams, numOfRangeDropped))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    ctx = range_context_of_started(pParams->pRangeProfilerObject);
    if (ctx) /* launches of ranges are over when the next one begins, as far as clients know */
        cupti_context_wait(ctx);
    pthread_mutex_lock(&lock);
    if (range_is_object_locked(pParams->pRangeProfilerObject))
        result = range_decode_locked(pParams->pRangeProfilerObject, &dropped);
    pthread_mutex_unlock(&lock);
    pParams->numOfRangeDropped = dropped;
    return cupti_result(result);
}
