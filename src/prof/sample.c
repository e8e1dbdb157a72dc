/* See sample.h. */
#include "prof/sample.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "hal/interrupted.h"
#include "prof/spool.h"
#include "prof/threads.h"
#include "prof/unwind.h"

enum {
    SLOTS = 4096, /* threads at once */
    EXTENT_BLOCKS = 16,
    EXTENTS_MAX = 1 << 14,
    MODULES = 4096, /* a power of two */
    KERNEL_NAME_MAX = 1024,
    SIGNAL_STACK_B = 64 << 10,
};
#define EXTENT_B ((size_t)EXTENT_BLOCKS * PROF_BLOCK_B)

/* What the handler needs and a signal's stack, the program's perhaps, has no room for. */
struct room {
    struct prof_unwind unwind;
    uint64_t frames[PROF_DEPTH_MAX];
    _Alignas(64) char stack[SIGNAL_STACK_B];
};

/* A thread that is sampled. Threads that end leave their slots, with what is left of the block. */
struct slot {
    _Alignas(64) _Atomic uint32_t tid; /* 0: free */
    int timer;
    bool is_notified; /* the thread's name is in the file */
    struct room *room;
    struct prof_block *block; /* NULL: none yet, or no room */
};

static struct {
    bool is_on;
    const struct prof_settings *settings;
    prof_wanted_fn *wanted;
    uint64_t period_ns, tick_ns; /* the kernel looks at timers once in a tick */
    int sig;
    pthread_key_t key; /* the thread's slot; leaves it */
    char path[1024];
    struct prof_head *head; /* NULL: there is no file */
    uint8_t *_Atomic extents[EXTENTS_MAX];
    atomic_flag making; /* blocks; held in the handler only, with all signals blocked */
    _Atomic uint64_t modules[MODULES]; /* what they are known by; 0: free. Numbers are places + 1 */
    _Atomic uint32_t nstrings;
    struct slot slots[SLOTS];
} all = {.making = ATOMIC_FLAG_INIT};

static uint32_t sample_thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/*
 * What the handler uses, and what begins threads, are system calls as they are: the C library's
 * functions may be those of a sanitizer, which are for threads and moments that it knows.
 */
static uint64_t sample_now_ns(void)
{
    struct timespec now;

    (void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sample_copy(void *to, const void *from, size_t size_B)
{
    for (size_t i = 0; i < size_B; i++)
        ((volatile char *)to)[i] = ((const char *)from)[i];
}

static size_t sample_length(const char *text, size_t most)
{
    size_t len = 0;

    while (len < most && text[len])
        len++;
    return len;
}

/* ---- the file, which has no descriptor: the program may close all */

static bool sample_take_room(int fd, uint64_t at, uint64_t size_B)
{
    return syscall(SYS_fallocate, fd, 0, at, size_B) == 0 ||
           ((errno == EOPNOTSUPP || errno == ENOSYS) &&
            syscall(SYS_ftruncate, fd, at + size_B) == 0);
}

static void *sample_map_room(int fd, uint64_t at, size_t size_B)
{
    long map = -1;

    if (sample_take_room(fd, at, size_B))
        map = syscall(SYS_mmap, NULL, size_B, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    return map == -1 ? NULL : (void *)map;
}

static void sample_file_open(void)
{
    const char *folder = all.settings->folder;
    int n = snprintf(all.path, sizeof(all.path), "%s/%d-XXXXXX" PROF_SUFFIX, folder, (int)getpid());
    int fd = -1;

    all.head = NULL;
    if (n > 0 && (size_t)n < sizeof(all.path))
        fd = mkostemps(all.path, (int)strlen(PROF_SUFFIX), O_CLOEXEC);
    struct prof_head *head = fd >= 0 ? sample_map_room(fd, 0, PROF_HEAD_B) : NULL;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (!head) {
        hd_log("%s: %s: host code of this process is not sampled", all.path, strerror(error));
        return;
    }
    prof_head_fill(head, true);
    all.head = head;
}

/* ---- in the handler: writing */

static uint8_t *sample_extent_make(uint64_t extent)
{
    uint64_t at = PROF_HEAD_B + extent * EXTENT_B;
    int fd = extent < EXTENTS_MAX && at + EXTENT_B <= all.settings->limit_B
                 ? (int)syscall(SYS_openat, AT_FDCWD, all.path, O_RDWR | O_CLOEXEC)
                 : -1;
    uint8_t *map = fd >= 0 ? sample_map_room(fd, at, EXTENT_B) : NULL;

    if (fd >= 0)
        (void)syscall(SYS_close, fd);
    return map;
}

/* NULL: there is no room. */
static struct prof_block *sample_block_make(void)
{
    struct prof_block *block = NULL;

    while (atomic_flag_test_and_set(&all.making))
        (void)syscall(SYS_sched_yield);
    uint64_t number = atomic_load(&all.head->blocks), extent = number / EXTENT_BLOCKS;
    if (extent < EXTENTS_MAX && !all.extents[extent])
        all.extents[extent] = sample_extent_make(extent);
    if (extent < EXTENTS_MAX && all.extents[extent]) {
        block = (struct prof_block *)(all.extents[extent] + number % EXTENT_BLOCKS * PROF_BLOCK_B);
        atomic_store(&block->used_B, sizeof(*block));
        atomic_store(&all.head->blocks, number + 1);
    }
    atomic_flag_clear(&all.making);
    return block;
}

/* A record of zeroes with its head; nobody knows of it before sample_record_done(). NULL: it is
 * lost. */
static void *sample_record_new(struct slot *s, enum prof_type type, size_t size_B)
{
    struct prof_record *record;

    size_B = (size_B + 7) & ~(size_t)7;
    assert(size_B <= PROF_RECORD_MAX_B);
    if (!s->block || atomic_load(&s->block->used_B) + size_B > PROF_BLOCK_B) {
        s->block = sample_block_make();
        if (s->block)
            s->block->thread = atomic_load(&s->tid);
    }
    if (!s->block) {
        atomic_fetch_add(&all.head->lost, 1);
        return NULL;
    }
    record = (struct prof_record *)((uint8_t *)s->block + atomic_load(&s->block->used_B));
    record->size_B = (uint16_t)size_B;
    record->type = (uint16_t)type;
    return record;
}

static void sample_record_done(struct slot *s, const struct prof_record *record)
{
    atomic_fetch_add_explicit(&s->block->used_B, record->size_B, memory_order_release);
}

static void sample_notify_name(struct slot *s)
{
    char name[16] = "";
    uint32_t id = atomic_fetch_add(&all.nstrings, 1) + 1;

    s->is_notified = true;
    (void)syscall(SYS_prctl, PR_GET_NAME, name);
    size_t len = sample_length(name, sizeof(name));
    struct prof_string *text = sample_record_new(s, PROF_STRING, sizeof(*text) + len);
    if (!text)
        return;
    text->id = id;
    text->len = (uint32_t)len;
    sample_copy(text->text, name, len);
    sample_record_done(s, &text->record);
    struct prof_thread *thread = sample_record_new(s, PROF_THREAD, sizeof(*thread));
    if (!thread)
        return;
    thread->thread = atomic_load(&s->tid);
    thread->name = id;
    sample_record_done(s, &thread->record);
}

/* ---- in the handler: what frames are in */

static uint64_t sample_mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ a >> 29;
}

/* Its number; 0: there is no room. */
static uint64_t sample_module_of(struct slot *s, uint64_t key, bool is_kernel, const char *name,
                                 size_t max_B)
{
    key += !key;
    for (size_t i = 0; i < 64; i++) {
        size_t at = (size_t)((key >> 20) + i) % MODULES;
        uint64_t there = atomic_load_explicit(&all.modules[at], memory_order_acquire);
        if (there == key)
            return at + 1;
        if (there || !atomic_compare_exchange_strong(&all.modules[at], &there, key)) {
            if (there == key)
                return at + 1;
            continue;
        }
        size_t len = sample_length(name, max_B);
        struct prof_module *r = sample_record_new(s, PROF_MODULE, sizeof(*r) + len);
        if (!r)
            return 0;
        r->record.number = (uint32_t)at + 1;
        r->is_kernel = is_kernel;
        r->len = (uint32_t)len;
        sample_copy(r->name, name, len);
        sample_record_done(s, &r->record);
        return at + 1;
    }
    return 0;
}

static uint64_t sample_frame_at(struct slot *s, const struct prof_unwind *u)
{
    const struct link_map *map = u->map;
    uint64_t key, module;

    if (!map)
        return u->pc & PROF_FRAME_ADDRESS;
    key = sample_mix(sample_mix(sample_mix(1, u->map_begin), u->map_end),
                     (uintptr_t)map ^ (uintptr_t)map->l_name);
    module = sample_module_of(s, key, false, map->l_name ? map->l_name : "", 4096);
    return module ? module << 48 | ((u->pc - map->l_addr) & PROF_FRAME_ADDRESS)
                  : u->pc & PROF_FRAME_ADDRESS;
}

static uint64_t sample_frame_of_kernel(struct slot *s, const char *name)
{
    uint64_t key = 2;

    for (size_t i = 0; i < KERNEL_NAME_MAX && name[i]; i++)
        key = sample_mix(key, (uint8_t)name[i]);
    return sample_module_of(s, key, true, name, KERNEL_NAME_MAX) << 48;
}

/* ---- the handler */

/* How many frames are in the room. */
static size_t sample_take_stack(struct slot *s, const void *context, enum prof_stack_end *out_end)
{
    struct room *room = s->room;
    struct prof_unwind *u = &room->unwind;
    struct hal_interrupted running;
    size_t n = 0, depth = all.settings->depth;
    enum prof_unwind_end end = PROF_UNWIND_MORE;

    prof_unwind_init(u, context);
    if (hal_interrupted_get(&running)) {
        room->frames[n++] = sample_frame_of_kernel(s, running.kernel);
        prof_unwind_continue(u, running.pc, running.sp, running.fp);
    }
    while (end == PROF_UNWIND_MORE && n < depth) {
        room->frames[n++] = sample_frame_at(s, u);
        end = prof_unwind_next(u);
    }
    *out_end = end == PROF_UNWIND_MORE   ? PROF_STACK_CUT
               : end == PROF_UNWIND_DONE ? PROF_STACK_WHOLE
                                         : PROF_STACK_BROKEN;
    return n;
}

static void take_sample(struct slot *s, const siginfo_t *info, const void *context)
{
    uint64_t time_ns = sample_now_ns();
    unsigned cpu = 0;
    enum prof_stack_end end;

    if (!all.head || !s->room || !all.wanted(time_ns))
        return;
    (void)syscall(SYS_getcpu, &cpu, NULL, NULL);
    /* A thread that ends is not asked what it did since the last tick: half of one, on average. */
    uint64_t end_ns = s->is_notified ? 0 : all.tick_ns / 2;
    if (!s->is_notified)
        sample_notify_name(s);
    size_t n = sample_take_stack(s, context, &end);
    struct prof_sample *r =
        sample_record_new(s, PROF_SAMPLE, sizeof(*r) + n * sizeof(r->frames[0]));
    if (!r)
        return;
    r->record.number = atomic_load(&s->tid);
    r->time_ns = time_ns;
    r->weight_ns = (1 + (uint64_t)HD_MAX(info->si_overrun, 0)) * all.period_ns + end_ns;
    r->cpu = cpu;
    r->nframes = (uint16_t)n;
    r->end = (uint16_t)end;
    for (size_t i = 0; i < n; i++)
        r->frames[i] = s->room->frames[i];
    sample_record_done(s, &r->record);
}

/* What another thread's timer sent before that thread ended is nobody's any more. */
static void sample_on_signal(int sig, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_value.sival_ptr - (uintptr_t)all.slots;
    int error = errno;

    (void)sig;
    if (info->si_code == SI_TIMER && at < sizeof(all.slots) && at % sizeof(all.slots[0]) == 0) {
        struct slot *s = &all.slots[at / sizeof(all.slots[0])];
        if (atomic_load(&s->tid) == sample_thread_id())
            take_sample(s, info, context);
    }
    errno = error;
}

/* ---- threads: system calls as they are, for sanitizers replace the C library's */

static struct timespec sample_time_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

static bool sample_timer_start(struct slot *s)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = all.sig, .sigev_value.sival_ptr = s};
    /* The first comes anywhere in a period: threads that are shorter than one count as well. */
    uint64_t first_ns = 1 + sample_mix(sample_now_ns(), sample_thread_id()) % all.period_ns;
    struct itimerspec times = {.it_interval = sample_time_of(all.period_ns),
                               .it_value = sample_time_of(first_ns)};

    event._sigev_un._tid = (int)sample_thread_id();
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &s->timer))
        return false;
    return syscall(SYS_timer_settime, s->timer, 0, &times, NULL) == 0;
}

static void sample_unblock(void)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, all.sig);
    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &ours, NULL, _NSIG / 8);
}

/* Threads that have no stack for signals get one: what is left of theirs may be too little. */
static void sample_stack_give(struct slot *s)
{
    stack_t own = {.ss_sp = s->room->stack, .ss_size = SIGNAL_STACK_B}, there;

    if (syscall(SYS_sigaltstack, NULL, &there) == 0 && there.ss_flags & SS_DISABLE)
        (void)syscall(SYS_sigaltstack, &own, NULL);
}

/* False: somebody still uses the room's stack, or has given it back. */
static bool sample_stack_take_back(const struct slot *s)
{
    stack_t none = {.ss_flags = SS_DISABLE}, there;

    if (syscall(SYS_sigaltstack, NULL, &there))
        return false;
    return there.ss_sp != s->room->stack || syscall(SYS_sigaltstack, &none, NULL) == 0;
}

static void sample_slot_leave(void *arg)
{
    struct slot *s = arg;
    struct room *room = s->room;

    if (atomic_load(&s->tid) != sample_thread_id())
        return;
    (void)syscall(SYS_timer_delete, s->timer);
    bool is_free = sample_stack_take_back(s);
    s->room = NULL; /* for a signal that still comes */
    s->is_notified = false;
    atomic_store_explicit(&s->tid, 0, memory_order_release);
    if (is_free)
        (void)syscall(SYS_munmap, room, sizeof(*room));
}

static struct slot *sample_slot_take(void)
{
    static _Atomic uint32_t hint;
    uint32_t first = atomic_load_explicit(&hint, memory_order_relaxed), tid = sample_thread_id();

    for (uint32_t i = 0; i < SLOTS; i++) {
        uint32_t at = (first + i) % SLOTS, none = 0;
        if (atomic_load_explicit(&all.slots[at].tid, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&all.slots[at].tid, &none, tid))
            continue;
        atomic_store_explicit(&hint, at, memory_order_relaxed);
        return &all.slots[at];
    }
    return NULL;
}

/* Threads that cannot be sampled run as they are, and are counted as lost. */
static void sample_thread_begins(void)
{
    struct slot *s = sample_slot_take();
    long room = s ? syscall(SYS_mmap, NULL, sizeof(struct room), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                  : -1;

    if (room == -1) {
        if (s)
            atomic_store(&s->tid, 0);
        if (all.head)
            atomic_fetch_add(&all.head->lost, 1);
        return;
    }
    s->room = (struct room *)room;
    (void)pthread_setspecific(all.key, s);
    sample_stack_give(s);
    sample_unblock();
    if (!sample_timer_start(s) && all.head)
        atomic_fetch_add(&all.head->lost, 1);
}

/* Samples of the thread before it said that it is Heddle's: as if there were none. */
static void sample_withdraw(struct prof_block *block, uint32_t tid)
{
    uint64_t end = atomic_load_explicit(&block->used_B, memory_order_acquire), at = sizeof(*block);

    while (at < end) {
        struct prof_record *record = (struct prof_record *)((uint8_t *)block + at);
        if (record->type == PROF_SAMPLE && record->number == tid)
            ((struct prof_sample *)record)->weight_ns = 0;
        at += record->size_B;
    }
}

/* It is Heddle's. A sanitizer takes its time before it runs the function that says so. */
static void sample_thread_is_ours(void)
{
    struct slot *s = pthread_getspecific(all.key);

    if (s) {
        struct prof_block *block = s->block; /* the slot may be another's behind the next line */
        sample_slot_leave(s);
        if (block)
            sample_withdraw(block, sample_thread_id());
    }
    (void)pthread_setspecific(all.key, NULL);
}

void prof_sample_in_child(void)
{
    struct slot *own = all.is_on ? pthread_getspecific(all.key) : NULL;

    if (!all.is_on)
        return;
    /* What a child has of its parent's. */
    for (size_t i = 0; i < EXTENTS_MAX && all.extents[i]; i++) {
        (void)munmap(all.extents[i], EXTENT_B);
        all.extents[i] = NULL;
    }
    if (all.head)
        (void)munmap(all.head, PROF_HEAD_B);
    all.head = NULL;
    atomic_flag_clear(&all.making);
    for (size_t i = 0; i < MODULES; i++)
        atomic_store_explicit(&all.modules[i], 0, memory_order_relaxed);
    atomic_store(&all.nstrings, 0);
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &all.slots[i];
        s->block = NULL;
        s->is_notified = false;
        if (s == own || !atomic_load(&s->tid))
            continue;
        if (s->room)
            (void)syscall(SYS_munmap, s->room, sizeof(*s->room));
        s->room = NULL;
        atomic_store(&s->tid, 0);
    }
    sample_file_open();
    if (!own)
        return;
    atomic_store(&own->tid, sample_thread_id());
    (void)sample_timer_start(own);
}

/* ---- start */

extern int __libc_allocate_rtsig(int high);
/* The C library's own, whoever stands before it. */
extern int __sigaction(int sig, const struct sigaction *action, struct sigaction *old);

void prof_sample_start(const struct prof_settings *settings, prof_wanted_fn *wanted)
{
    struct timespec tick = {0};
    struct sigaction action = {.sa_sigaction = sample_on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    __typeof__(heddle_threads_watch) *watch;

    *(void **)&watch = dlsym(RTLD_DEFAULT, THREADS_WATCH);
    if (!PROF_CAN_UNWIND || HD_SANITIZES_THREADS || !watch) {
        hd_log("host code is not sampled: %s",
               !PROF_CAN_UNWIND       ? "it takes a C library of 2.35 or later"
               : HD_SANITIZES_THREADS ? "this is a build with ThreadSanitizer"
                                      : "libheddle_threads.so is missing");
        return;
    }
    all.settings = settings;
    all.wanted = wanted;
    all.period_ns = 1000000000u / settings->sample_Hz;
    (void)clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    all.tick_ns = (uint64_t)tick.tv_nsec;
    all.sig = __libc_allocate_rtsig(false);
    sigfillset(&action.sa_mask);
    if (all.sig < 0 || __sigaction(all.sig, &action, NULL) ||
        pthread_key_create(&all.key, sample_slot_leave)) {
        hd_log("host code is not sampled: there is no signal left for it");
        return;
    }
    all.is_on = true;
    sample_file_open();
    watch(all.sig, sample_thread_begins);
    hd_thread_on_start(sample_thread_is_ours);
    sample_thread_begins();
}
