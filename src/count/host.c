/* See host.h. */
#include "count/host.h"

#include <assert.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "count/file.h"
#include "count/perf.h"
#include "count/private.h"

enum { GROUPS = (COUNT_HOST_COUNT + COUNT_PERF_EVENTS - 1) / COUNT_PERF_EVENTS };

static const char *const names[] = {
#define X(id, config, name) name,
    COUNT_HOST_LIST(X)
#undef X
};

/* ---- a thread */

struct sample {
    uint64_t clock_ns, switches, faults;
    struct count_perf_values groups[GROUPS];
    bool has[GROUPS];
};

struct host_thread {
    pid_t pid; /* a child of fork() has none of the parent's counters */
    struct count_perf_group groups[GROUPS];
    struct sample entered;
};

static struct {
    pthread_once_t once;
    pthread_key_t key; /* struct host_thread */
    bool has_key;
    _Atomic bool has_reported;
} all = {.once = PTHREAD_ONCE_INIT};

static void thread_free(void *arg)
{
    struct host_thread *t = arg;

    for (int g = 0; g < GROUPS; g++)
        count_perf_close(&t->groups[g]);
    hd_free(t);
}

static void key_make(void)
{
    all.has_key = !pthread_key_create(&all.key, thread_free);
}

/* "3", or what else is there. */
static void paranoid_read(char *out, size_t size)
{
    struct hd_buf text;

    hd_buf_init(&text);
    (void)snprintf(out, size, "not known");
    if (hd_file_read("/proc/sys/kernel/perf_event_paranoid", 64, &text) == HD_OK)
        (void)snprintf(out, size, "%.*s", (int)strcspn(text.ptr, "\n"), text.ptr);
    hd_buf_fini(&text);
}

/* One line for the whole process: what is missing, and why. */
static void report_refused(const int errors[COUNT_HOST_COUNT])
{
    struct hd_buf text;
    char paranoid[32];
    int last = 0;

    hd_buf_init(&text);
    for (int e = 0; e < COUNT_HOST_COUNT; e++) {
        if (!errors[e])
            continue;
        if (last && errors[e] != last)
            hd_buf_printf(&text, " (%s: %s)", strerrorname_np(last), strerror(last));
        hd_buf_printf(&text, "%s%s", last ? ", " : "", names[e]);
        last = errors[e];
    }
    paranoid_read(paranoid, sizeof(paranoid));
    if (last && !atomic_exchange(&all.has_reported, true)) {
        hd_buf_printf(&text, " (%s: %s); perf_event_paranoid is %s", strerrorname_np(last),
                      strerror(last), paranoid);
        if (!text.failed)
            count_file_line('W', text.ptr);
    }
    hd_buf_fini(&text);
}

static void groups_open(struct host_thread *t)
{
    static const struct count_perf_event events[] = {
#define X(id, config, name) {PERF_TYPE_HARDWARE, config},
        COUNT_HOST_LIST(X)
#undef X
    };
    int errors[COUNT_HOST_COUNT] = {0};

    for (unsigned g = 0; g < GROUPS; g++) {
        unsigned first = g * COUNT_PERF_EVENTS;
        unsigned n = HD_MIN(COUNT_HOST_COUNT - first, (unsigned)COUNT_PERF_EVENTS);
        int error = count_perf_open(&t->groups[g], &events[first], n);
        assert(t->groups[g].n <= n && (error || t->groups[g].n == n));
        for (unsigned e = t->groups[g].n; e < n; e++)
            errors[first + e] = error;
    }
    report_refused(errors);
}

/* NULL: no memory. */
static struct host_thread *thread_get(void)
{
    struct host_thread *t;

    if (pthread_once(&all.once, key_make) || !all.has_key)
        return NULL;
    t = pthread_getspecific(all.key);
    if (t && t->pid == getpid())
        return t;
    if (!t)
        t = hd_new(struct host_thread);
    if (!t || pthread_setspecific(all.key, t)) {
        hd_free(t);
        return NULL;
    }
    for (int g = 0; g < GROUPS; g++)
        count_perf_close(&t->groups[g]);
    t->pid = getpid();
    groups_open(t);
    return t;
}

static void sample_take(const struct host_thread *t, struct sample *out)
{
    struct rusage usage = {0};

    *out = (struct sample){.clock_ns = hd_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    if (!getrusage(RUSAGE_THREAD, &usage)) {
        out->switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
        out->faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
    }
    for (int g = 0; g < GROUPS; g++)
        out->has[g] = count_perf_read(&t->groups[g], &out->groups[g]);
}

/* ---- a launch: sums of its threads */

struct metered {
    uint64_t correlation, grid_id;
    struct hd_lock lock; /* below */
    uint32_t threads;
    int tids[256]; /* of those threads, as far as they fit */
    uint64_t clock_ns, switches, faults;
    struct count_perf_values groups[GROUPS];
    unsigned have[GROUPS]; /* events that every thread had */
};

static void *meter_begin(const struct hal_dispatch *p)
{
    struct metered *m = hd_new(struct metered);

    if (!m)
        return NULL;
    m->correlation = p->head.correlation;
    m->grid_id = p->grid_id;
    hd_lock_init(&m->lock, HD_RANK_LEAF, "host counters");
    for (int g = 0; g < GROUPS; g++)
        m->have[g] = COUNT_PERF_EVENTS;
    return m;
}

static void meter_enter(void *launch)
{
    struct host_thread *t = thread_get();

    (void)launch;
    if (t)
        sample_take(t, &t->entered);
}

/* A thread may come more than once. */
static void thread_note_locked(struct metered *m)
{
    int tid = gettid();

    assert(hd_lock_held(&m->lock));
    for (uint32_t i = 0; i < m->threads && i < HD_COUNT_OF(m->tids); i++)
        if (m->tids[i] == tid)
            return;
    if (m->threads < HD_COUNT_OF(m->tids))
        m->tids[m->threads] = tid;
    m->threads++;
}

static void meter_leave(void *launch)
{
    struct metered *m = launch;
    struct host_thread *t = thread_get();
    struct sample now;

    if (!t)
        return;
    sample_take(t, &now);
    hd_lock_acquire(&m->lock);
    thread_note_locked(m);
    m->clock_ns += now.clock_ns - t->entered.clock_ns;
    m->switches += now.switches - t->entered.switches;
    m->faults += now.faults - t->entered.faults;
    for (int g = 0; g < GROUPS; g++) {
        bool has = now.has[g] && t->entered.has[g];
        m->have[g] = HD_MIN(m->have[g], has ? t->groups[g].n : 0);
        if (has) {
            const struct count_perf_values *before = &t->entered.groups[g], *after = &now.groups[g];
            struct count_perf_values *sum = &m->groups[g];
            sum->enabled_ns += after->enabled_ns - before->enabled_ns;
            sum->running_ns += after->running_ns - before->running_ns;
            for (int e = 0; e < COUNT_PERF_EVENTS; e++)
                sum->values[e] += after->values[e] - before->values[e];
        }
    }
    hd_lock_release(&m->lock);
}

static void meter_end(void *launch)
{
    struct metered *m = launch;
    double least = 1;
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_printf(&text, "%llu\t%llu\t%u\t%llu\t%llu\t%llu", (unsigned long long)m->correlation,
                  (unsigned long long)m->grid_id, m->threads, (unsigned long long)m->clock_ns,
                  (unsigned long long)m->switches, (unsigned long long)m->faults);
    for (unsigned e = 0; e < COUNT_HOST_COUNT; e++) {
        const struct count_perf_values *g = &m->groups[e / COUNT_PERF_EVENTS];
        bool has = e % COUNT_PERF_EVENTS < m->have[e / COUNT_PERF_EVENTS] && m->threads;
        hd_buf_printf(
            &text, "\t%.0f",
            has ? count_perf_scale(g->values[e % COUNT_PERF_EVENTS], g->enabled_ns, g->running_ns)
                : -1);
        if (has && g->enabled_ns)
            least = HD_MIN(least, (double)g->running_ns / (double)g->enabled_ns);
    }
    hd_buf_printf(&text, "\t%.4f", least * 100);
    if (!text.failed)
        count_file_line('H', text.ptr);
    hd_buf_fini(&text);
    hd_lock_fini(&m->lock);
    hd_free(m);
}

const struct hal_meter *count_meter(void)
{
    static const struct hal_meter meter = {meter_begin, meter_enter, meter_leave, meter_end};

    return count_has_host() ? &meter : NULL;
}
