/* See sample.h. */
#include "dev/cpu/sample.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "dev/cpu/fault/fault.h"
#include "dev/cpu/kernel.h"
#include "dev/cpu/signals.h"

enum { HITS = 4096, CODES = 16, PROBES = 64 /* of a full table */, SCAN_WORDS = 512 };

/* A program counter of the kernel's, or of a call that it made. */
struct hit {
    _Atomic uintptr_t pc; /* 0: free */
    _Atomic uint32_t count[HAL_SAMPLE_WHERE];
    uint32_t instr; /* number of the instruction, once it was asked for */
    bool is_asked;
};

struct code {
    _Atomic uintptr_t base;
    uintptr_t size_B;
    const struct jit_code *code;
};

struct cpu_samples {
    struct cpu_samples *next;
    const struct cpu_kernel *kernel; /* lock; NULL: it has gone */
    struct cpu_device *device;
    struct code codes[CODES];
    _Atomic uint32_t ncodes;
    _Atomic uint32_t elsewhere; /* somewhere in a CTA, in no code that is known */
    _Atomic uint32_t lost;      /* no room */
    struct hit hits[HITS];
};

_Atomic bool cpu_is_sampling;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct cpu_samples *all;
static unsigned nsampling; /* devices */

/* ---- in the signal handler */

static bool sample_in_code(const struct cpu_samples *s, uintptr_t pc)
{
    uint32_t n = atomic_load_explicit(&s->ncodes, memory_order_acquire);

    for (uint32_t i = 0; i < n; i++)
        if (pc - atomic_load_explicit(&s->codes[i].base, memory_order_relaxed) < s->codes[i].size_B)
            return true;
    return false;
}

static struct hit *sample_hit_of(struct cpu_samples *s, uintptr_t pc)
{
    uintptr_t hash = (pc ^ pc >> 12) * (uintptr_t)0x9e3779b97f4a7c15 >> 40;

    for (unsigned i = 0; i < PROBES; i++) {
        struct hit *p = &s->hits[(hash + i) % HITS];
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&p->pc, &found, pc) || found == pc)
            return p;
    }
    return NULL;
}

static void sample_note(struct cpu_samples *s, uintptr_t pc, enum hal_sample_where where)
{
    struct hit *hit = sample_hit_of(s, pc);

    atomic_fetch_add(hit ? &hit->count[where] : &s->lost, 1);
}

/* The innermost address of the kernel's on the stack: what was called returns there. */
CPU_READS_ANYTHING void cpu_samples_note(struct cpu_samples *s, uintptr_t pc, uintptr_t sp,
                                         uintptr_t frame)
{
    sp &= ~(uintptr_t)7;
    if (sample_in_code(s, pc)) {
        sample_note(s, pc, HAL_SAMPLE_IN_CODE);
        return;
    }
    for (unsigned i = 0; i < SCAN_WORDS && sp + i * 8 < frame; i++) {
        uintptr_t word = ((const volatile uintptr_t *)sp)[i];
        if (sample_in_code(s, word - 1)) {
            sample_note(s, word - 1, HAL_SAMPLE_IN_CALL);
            return;
        }
    }
    atomic_fetch_add(&s->elsewhere, 1);
}

/* ---- tables */

static void sample_code_add_locked(struct cpu_samples *s, const struct jit_code *code)
{
    uint32_t n = atomic_load(&s->ncodes);

    if (!code || !code->base || n == CODES)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (s->codes[i].code == code)
            return;
    s->codes[n].code = code;
    s->codes[n].size_B = code->size_B;
    atomic_store_explicit(&s->codes[n].base, code->base, memory_order_relaxed);
    atomic_store_explicit(&s->ncodes, n + 1, memory_order_release);
}

/* The JIT may have made better code meanwhile. */
static void sample_codes_look_locked(struct cpu_samples *s)
{
    for (unsigned c = 0; s->kernel && c < JIT_CLASS_COUNT; c++)
        sample_code_add_locked(s, atomic_load(&s->kernel->codes[c]));
}

static struct cpu_samples *sample_take_over_locked(void)
{
    struct cpu_samples *s = all;

    while (s && s->kernel)
        s = s->next;
    if (s) {
        atomic_store(&s->ncodes, 0);
        atomic_store(&s->elsewhere, 0);
        for (unsigned i = 0; i < HITS; i++) {
            struct hit *p = &s->hits[i];
            atomic_store(&p->pc, 0);
            for (int w = 0; w < HAL_SAMPLE_WHERE; w++)
                atomic_store(&p->count[w], 0);
            p->instr = 0;
            p->is_asked = false;
        }
        return s;
    }
    s = hd_new(struct cpu_samples);
    if (!s)
        return NULL;
    s->next = all;
    all = s;
    return s;
}

static struct cpu_samples *sample_find_locked(const struct cpu_kernel *kernel)
{
    struct cpu_samples *s = all;

    while (s && s->kernel != kernel)
        s = s->next;
    return s;
}

struct cpu_samples *cpu_samples_of(const struct cpu_kernel *kernel)
{
    struct cpu_samples *s;

    if (kernel->native)
        return NULL; /* it has no instructions of ours */
    pthread_mutex_lock(&lock);
    s = sample_find_locked(kernel);
    if (!s) {
        s = sample_take_over_locked();
        if (s) {
            s->kernel = kernel;
            s->device = cpu_device_of(kernel->base.module->device);
        }
    }
    if (s)
        sample_codes_look_locked(s);
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- telling */

static bool sample_wants_asking(const struct hit *p)
{
    return atomic_load(&p->pc) && !p->is_asked;
}

/* Instructions of the places of one code that have none yet. */
static void sample_ask_locked(struct cpu_samples *s, const struct code *code)
{
    uintptr_t *pcs = hd_alloc_array(HITS, sizeof(*pcs));
    uint32_t *numbers = hd_alloc_array(HITS, sizeof(*numbers)), n = 0, at = 0;
    const uintptr_t base = atomic_load(&code->base);

    for (unsigned i = 0; pcs && numbers && i < HITS; i++)
        if (sample_wants_asking(&s->hits[i]) && atomic_load(&s->hits[i].pc) - base < code->size_B)
            pcs[n++] = atomic_load(&s->hits[i].pc);
    if (n)
        jit_instrs_find(s->kernel->jit, code->code, pcs, numbers, n);
    for (unsigned i = 0; i < HITS && at < n; i++) {
        struct hit *p = &s->hits[i];
        if (!sample_wants_asking(p) || atomic_load(&p->pc) != pcs[at])
            continue;
        p->instr = numbers[at++];
        p->is_asked = true;
    }
    hd_free(pcs);
    hd_free(numbers);
}

static void sample_notify_locked(struct cpu_samples *s)
{
    struct hal_sample rest = {.lost = atomic_exchange(&s->lost, 0)};

    for (uint32_t i = 0; i < atomic_load(&s->ncodes); i++)
        sample_ask_locked(s, &s->codes[i]);
    for (unsigned i = 0; i < HITS; i++)
        if (s->hits[i].is_asked) {
            const struct ir_module *module = s->kernel->func->module;
            const struct ir_instr *in =
                s->hits[i].instr ? ir_module_instr_at(module, s->hits[i].instr) : NULL;
            struct hal_sample sample = {.instr = s->hits[i].instr};

            for (int w = 0; w < HAL_SAMPLE_WHERE; w++)
                sample.count[w] = atomic_exchange(&s->hits[i].count[w], 0);
            if (in && in->srcloc.line) {
                sample.line = in->srcloc.line;
                sample.file = ir_source_file(module, &in->srcloc);
            }
            if (sample.count[HAL_SAMPLE_IN_CODE] || sample.count[HAL_SAMPLE_IN_CALL])
                s->device->base.client.sampled(&s->kernel->base, &sample);
        }
    rest.count[HAL_SAMPLE_IN_CALL] = atomic_exchange(&s->elsewhere, 0);
    if (rest.count[HAL_SAMPLE_IN_CALL] || rest.lost)
        s->device->base.client.sampled(&s->kernel->base, &rest);
}

void cpu_samples_notify(struct hal_device *device)
{
    pthread_mutex_lock(&lock);
    for (struct cpu_samples *s = all; s; s = s->next)
        if (s->kernel && &s->device->base == device)
            sample_notify_locked(s);
    pthread_mutex_unlock(&lock);
}

void cpu_samples_leave(const struct cpu_kernel *kernel)
{
    struct cpu_samples *s;

    pthread_mutex_lock(&lock);
    s = sample_find_locked(kernel);
    if (s) {
        sample_notify_locked(s);
        atomic_store(&s->ncodes, 0);
        s->kernel = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the thread */

static void *sample_main(void *arg)
{
    struct cpu_device *dev = arg;
    uint64_t random = 1, period_ns;

    while ((period_ns = atomic_load(&dev->sample_period_ns))) {
        /*
         * Three quarters to five of the period, so that no loop of the program's keeps step with
         * it.
         */
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint64_t ns = period_ns - period_ns / 4 + (random >> 33) % (period_ns / 2 + 1);
        const struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
        for (struct cpu_samples *s = all; s; s = s->next)
            sample_codes_look_locked(s);
        pthread_mutex_unlock(&lock);
        for (unsigned i = 0; i < dev->nslots; i++)
            if (atomic_load_explicit(&dev->slots[i].busy, memory_order_relaxed))
                cpu_signals_sample(atomic_load(&dev->slots[i].tid));
    }
    return NULL;
}

static void sample_count_device(int change)
{
    pthread_mutex_lock(&lock);
    nsampling += (unsigned)change;
    atomic_store(&cpu_is_sampling, nsampling > 0);
    pthread_mutex_unlock(&lock);
}

enum hd_status cpu_sample(struct hal_device *device, uint64_t period_ns)
{
    struct cpu_device *dev = cpu_device_of(device);
    const uint64_t before_ns = atomic_exchange(&dev->sample_period_ns, period_ns);

    if (before_ns && !period_ns) {
        pthread_join(dev->sampler, NULL);
        sample_count_device(-1);
    }
    if (before_ns || !period_ns)
        return HD_OK;
    sample_count_device(1);
    if (!hd_thread_create(&dev->sampler, NULL, sample_main, dev))
        return HD_OK;
    atomic_store(&dev->sample_period_ns, 0);
    sample_count_device(-1);
    return hd_error(HD_NO_MEMORY, "the thread that samples cannot be started");
}
