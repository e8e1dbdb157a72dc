/*
 * Where records wait. A thread writes to one of a few lanes, whose lock it seldom shares; a lane
 * has a chunk of our own memory, and chunks that are full queue up. The library's thread, and
 * flushes, move records from there into buffers of the client's.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/cupti/cupti.h"
#include "base/mem.h"
#include "base/thread.h"

#define LANES      16u
#define CHUNK_B    ((size_t)64 << 10)
#define CHUNKS_MAX 1024u /* 64 MiB of records at most wait for the client */

struct chunk {
    struct chunk *next;
    size_t used_B;
    _Alignas(8) uint8_t bytes[CHUNK_B];
};

struct lane {
    _Alignas(64) atomic_flag held;
    struct chunk *chunk; /* held; NULL: none */
};

static struct lane lanes[LANES];
static _Atomic uint32_t next_lane;
static HD_THREAD_LOCAL struct lane *own_lane;

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t wake;  /* the thread: full is not empty, or the period changed */
    struct chunk *full, **full_end;
    struct chunk *spare;
    uint32_t nchunks;
    uint32_t period_ms;
    bool has_thread;
    bool wants_buffer; /* see `asked` */
} chunks = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .full_end = &chunks.full};

static _Atomic uint64_t dropped;
static _Atomic(CUpti_BuffersCallbackRequestFunc) request;
static _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;

/*
 * Has the client been asked for a buffer since the last flush? From the first record on it should
 * have one of its buffers out: kineto flushes only then. The thread whose call made that record
 * asks when the call returns, where it holds no lock of ours; records of other threads are left to
 * the library's thread.
 */
static _Atomic bool asked;
static HD_THREAD_LOCAL bool own_wrote; /* a record, since the thread looked at `asked` */

/* ---- writing */

static struct chunk *buffer_chunk_take(void)
{
    struct chunk *chunk;
    bool may_make;

    pthread_mutex_lock(&chunks.lock);
    chunk = chunks.spare;
    if (chunk)
        chunks.spare = chunk->next;
    may_make = !chunk && chunks.nchunks < CHUNKS_MAX;
    chunks.nchunks += may_make;
    assert(chunks.nchunks <= CHUNKS_MAX);
    pthread_mutex_unlock(&chunks.lock);
    if (may_make)
        chunk = malloc(sizeof(*chunk)); /* its pages are written once, by records */
    if (chunk)
        chunk->used_B = 0;
    return chunk;
}

static void buffer_thread_start_locked(void);

static void buffer_chunk_queue(struct chunk *chunk)
{
    assert(chunk->used_B <= CHUNK_B);
    chunk->next = NULL;
    pthread_mutex_lock(&chunks.lock);
    *chunks.full_end = chunk;
    chunks.full_end = &chunk->next;
    if (HD_UNLIKELY(!chunks.has_thread) && cupti_buffer_has_callbacks())
        buffer_thread_start_locked(); /* that of the parent is not in a child */
    pthread_cond_signal(&chunks.wake);
    pthread_mutex_unlock(&chunks.lock);
}

static void buffer_lane_acquire(struct lane *lane)
{
    while (atomic_flag_test_and_set_explicit(&lane->held, memory_order_acquire))
        sched_yield();
}

static void buffer_lane_release(struct lane *lane)
{
    atomic_flag_clear_explicit(&lane->held, memory_order_release);
}

static HD_NOINLINE void buffer_want(void)
{
    own_wrote = true;
    pthread_mutex_lock(&chunks.lock);
    if (!chunks.wants_buffer)
        pthread_cond_signal(&chunks.wake);
    chunks.wants_buffer = true;
    pthread_mutex_unlock(&chunks.lock);
}

static bool buffer_want_take(void)
{
    bool wants;

    pthread_mutex_lock(&chunks.lock);
    wants = chunks.wants_buffer;
    chunks.wants_buffer = false;
    pthread_mutex_unlock(&chunks.lock);
    return wants;
}

/* Room for a record; NULL: there is none. */
static uint8_t *buffer_lane_place(struct lane *lane, size_t size_B)
{
    uint8_t *place;

    assert(size_B && size_B % 8 == 0 && size_B <= CHUNK_B);
    if (lane->chunk && lane->chunk->used_B + size_B > CHUNK_B) {
        buffer_chunk_queue(lane->chunk);
        lane->chunk = NULL;
    }
    if (!lane->chunk)
        lane->chunk = buffer_chunk_take();
    if (!lane->chunk)
        return NULL;
    place = lane->chunk->bytes + lane->chunk->used_B;
    lane->chunk->used_B += size_B;
    return place;
}

void *cupti_record_begin(CUpti_ActivityKind kind)
{
    size_t size_B = cupti_record_size(kind);
    CUpti_Activity *record;

    if (HD_UNLIKELY(!atomic_load_explicit(&asked, memory_order_relaxed)))
        buffer_want();
    if (!own_lane)
        own_lane = &lanes[atomic_fetch_add(&next_lane, 1) % LANES];
    buffer_lane_acquire(own_lane);
    record = (CUpti_Activity *)buffer_lane_place(own_lane, size_B);
    if (!record) {
        buffer_lane_release(own_lane);
        atomic_fetch_add(&dropped, 1);
        return NULL;
    }
    memset(record, 0, size_B);
    record->kind = kind;
    return record;
}

void cupti_record_end(void)
{
    assert(own_lane && own_lane->chunk && own_lane->chunk->used_B);
    buffer_lane_release(own_lane);
}

uint64_t cupti_buffer_dropped(void)
{
    return atomic_exchange(&dropped, 0);
}

/* ---- handing out */

/* The client's buffer that is being filled. */
static struct {
    pthread_mutex_t lock;
    uint8_t *bytes; /* NULL: none */
    size_t size_B, used_B, records, max_records;
} lent = {.lock = PTHREAD_MUTEX_INITIALIZER};

static HD_THREAD_LOCAL bool is_handing; /* a client's callback that flushes would wait for itself */

static void buffer_complete_locked(void)
{
    CUpti_BuffersCallbackCompleteFunc func = atomic_load(&complete);
    uint8_t *bytes = lent.bytes;

    assert(is_handing && lent.used_B <= lent.size_B);
    lent.bytes = NULL;
    if (bytes && func)
        func(NULL, 0, bytes, lent.size_B, lent.used_B);
}

static bool buffer_has_room_locked(size_t size_B)
{
    return lent.bytes && lent.used_B + size_B <= lent.size_B &&
           (!lent.max_records || lent.records < lent.max_records);
}

static void buffer_request_locked(void)
{
    CUpti_BuffersCallbackRequestFunc func = atomic_load(&request);

    atomic_store(&asked, true);
    lent.bytes = NULL;
    lent.size_B = lent.max_records = lent.used_B = lent.records = 0;
    if (func)
        func(&lent.bytes, &lent.size_B, &lent.max_records);
}

static void buffer_record_hand_locked(CUpti_Activity *record)
{
    size_t size_B = cupti_record_size(record->kind);

    assert(is_handing && size_B);
    if (!buffer_has_room_locked(size_B)) {
        buffer_complete_locked();
        buffer_request_locked();
    }
    if (!buffer_has_room_locked(size_B)) { /* the client lends nothing, or too little */
        buffer_complete_locked();
        atomic_fetch_add(&dropped, 1);
        return;
    }
    cupti_record_convert(record, cupti_clock_convert);
    memcpy(lent.bytes + lent.used_B, record, size_B);
    lent.used_B += size_B;
    lent.records++;
}

static void buffer_hand_out(bool all)
{
    struct chunk *list, *next;

    assert(!is_handing);
    if (all)
        heddle_tap_settle();
    pthread_mutex_lock(&lent.lock);
    is_handing = true;
    if (all)
        for (size_t i = 0; i < LANES; i++) {
            struct chunk *chunk;
            buffer_lane_acquire(&lanes[i]);
            chunk = lanes[i].chunk;
            lanes[i].chunk = NULL;
            buffer_lane_release(&lanes[i]);
            if (chunk)
                buffer_chunk_queue(chunk);
        }
    pthread_mutex_lock(&chunks.lock);
    list = chunks.full;
    chunks.full = NULL;
    chunks.full_end = &chunks.full;
    pthread_mutex_unlock(&chunks.lock);
    if (list)
        cupti_clock_update();
    for (; list; list = next) {
        next = list->next;
        size_t at = 0;
        while (at < list->used_B) {
            CUpti_Activity *record = (CUpti_Activity *)(list->bytes + at);
            at += cupti_record_size(record->kind);
            buffer_record_hand_locked(record);
        }
        assert(at == list->used_B);
        pthread_mutex_lock(&chunks.lock);
        list->next = chunks.spare;
        chunks.spare = list;
        pthread_mutex_unlock(&chunks.lock);
    }
    if (all) {
        buffer_complete_locked();
        (void)buffer_want_take();
        atomic_store(&asked, false);
    }
    is_handing = false;
    pthread_mutex_unlock(&lent.lock);
}

static void buffer_lend(void)
{
    assert(!is_handing);
    pthread_mutex_lock(&lent.lock);
    is_handing = true;
    if (buffer_want_take() && !atomic_load(&asked))
        buffer_request_locked();
    is_handing = false;
    pthread_mutex_unlock(&lent.lock);
}

void cupti_buffer_after_call(void)
{
    if (HD_LIKELY(!own_wrote))
        return;
    own_wrote = false;
    if (!atomic_load(&asked) && !is_handing && cupti_buffer_has_callbacks())
        buffer_lend();
}

CUptiResult cupti_buffer_flush(void)
{
    if (is_handing || !cupti_buffer_has_callbacks())
        return CUPTI_ERROR_INVALID_OPERATION;
    buffer_hand_out(true);
    return CUPTI_SUCCESS;
}

/* ---- the library's thread */

static void buffer_wait_locked(void)
{
    struct timespec until;
    uint64_t ns;

    if (!chunks.period_ms) {
        pthread_cond_wait(&chunks.wake, &chunks.lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns = (uint64_t)until.tv_nsec + (uint64_t)chunks.period_ms * 1000000u;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    (void)pthread_cond_clockwait(&chunks.wake, &chunks.lock, CLOCK_MONOTONIC, &until);
}

static void *buffer_thread_run(void *arg)
{
    (void)arg;
    for (;;) {
        bool is_timed, wants_buffer;

        pthread_mutex_lock(&chunks.lock);
        if (!chunks.full && !chunks.wants_buffer)
            buffer_wait_locked();
        wants_buffer = chunks.wants_buffer;
        is_timed = chunks.period_ms && !chunks.full && !wants_buffer;
        pthread_mutex_unlock(&chunks.lock);
        if (wants_buffer)
            buffer_lend();
        buffer_hand_out(is_timed);
    }
    return NULL;
}

/* Without a thread, records wait for flushes. */
static void buffer_thread_start_locked(void)
{
    pthread_attr_t attr;
    pthread_t id;

    if (chunks.has_thread || pthread_attr_init(&attr))
        return;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    chunks.has_thread = !hd_thread_create(&id, &attr, buffer_thread_run, NULL);
    (void)pthread_attr_destroy(&attr);
}

void cupti_buffer_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                            CUpti_BuffersCallbackCompleteFunc completed)
{
    atomic_store(&request, requested);
    atomic_store(&complete, completed);
    atomic_store(&asked, false);
    pthread_mutex_lock(&chunks.lock);
    buffer_thread_start_locked();
    pthread_mutex_unlock(&chunks.lock);
}

bool cupti_buffer_has_callbacks(void)
{
    return atomic_load(&request) && atomic_load(&complete);
}

void cupti_buffer_period(uint32_t ms)
{
    pthread_mutex_lock(&chunks.lock);
    chunks.period_ms = ms;
    pthread_cond_signal(&chunks.wake);
    pthread_mutex_unlock(&chunks.lock);
}

/* ---- fork(): what the parent recorded is the parent's */

static void buffer_fork_prepare(void)
{
    pthread_mutex_lock(&chunks.lock);
}

static void buffer_fork_parent(void)
{
    pthread_mutex_unlock(&chunks.lock);
}

static void buffer_fork_child(void)
{
    struct chunk *next;

    chunks.lock = lent.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    chunks.wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    chunks.has_thread = false;
    for (; chunks.full; chunks.full = next) {
        next = chunks.full->next;
        chunks.full->next = chunks.spare;
        chunks.spare = chunks.full;
    }
    chunks.full_end = &chunks.full;
    for (size_t i = 0; i < LANES; i++) {
        atomic_flag_clear(&lanes[i].held);
        if (lanes[i].chunk)
            lanes[i].chunk->used_B = 0;
    }
    lent.used_B = lent.records = 0;
    is_handing = own_wrote = chunks.wants_buffer = false;
    atomic_store(&dropped, 0);
}

__attribute__((constructor)) static void buffer_fork_init(void)
{
    (void)pthread_atfork(buffer_fork_prepare, buffer_fork_parent, buffer_fork_child);
}
