/* See roofline.h: how it is measured. */
#include "prof/roofline/roofline_measure.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "common/cli.h"

#define ROUNDS        3 /* more, where others were given the CPUs meanwhile: */
#define ROUNDS_MAX    10
#define SHARE         0.95 /* of the time that each thread had a CPU, in an undisturbed round */
#define ROUND_NS      UINT64_C(6000000)
#define ROUND_DRAM_NS UINT64_C(15000000)
/* Between two looks at the clock: some microseconds. */
#define LOOK_TURNS 8192u
#define LOOK_B     ((size_t)1 << 20)

struct measuring;

struct thread {
    pthread_t thread;
    struct measuring *all;
    int cpu; /* that it stays on */
    char *memory;
    /* of the round, this thread's: */
    double rate;
    double share; /* of the time in which it had a CPU */
};

struct measuring {
    const struct roofline_plan *plan;
    struct roofline *out;
    struct thread *threads;
    size_t memory_B;      /* of each thread */
    pthread_mutex_t gate; /* nobody begins before all have started, */
    bool is_given_up;     /* or one of them cannot */
    pthread_barrier_t barrier;
    /* of what is measured now: */
    double best, share; /* of the best round */
    bool is_over;
};

/* ---- one round of one thread: what it did a second */

static double madd_rate(void (*loop)(uint64_t), unsigned flop)
{
    uint64_t start_ns = hd_clock_ns(CLOCK_MONOTONIC), now_ns, turns = 0;

    do {
        loop(LOOK_TURNS);
        turns += LOOK_TURNS;
        now_ns = hd_clock_ns(CLOCK_MONOTONIC);
    } while (now_ns - start_ns < ROUND_NS);
    return (double)turns * flop / (double)(now_ns - start_ns) * 1e9;
}

/* A piece of what is gone through, from `at` on. */
static void read_piece(const struct thread *t, size_t set_B, size_t at, size_t piece_B)
{
    (void)set_B;
    t->all->plan->loops->read(t->memory + at, piece_B);
}

static void update_piece(const struct thread *t, size_t set_B, size_t at, size_t piece_B)
{
    t->all->plan->loops->update(t->memory + at / 2, t->memory + set_B / 2 + at / 2, piece_B / 2);
}

/* Of `moved_B` bytes for each byte that is gone through. */
static double sweep_rate(const struct thread *t, size_t set_B, uint64_t round_ns,
                         void (*piece)(const struct thread *, size_t, size_t, size_t),
                         double moved_B)
{
    uint64_t start_ns = hd_clock_ns(CLOCK_MONOTONIC), now_ns, done_B = 0;
    size_t piece_B = HD_MIN(set_B, LOOK_B), at = 0;

    assert(piece_B && piece_B % ROOFLINE_STEP_B == 0 && set_B <= t->all->memory_B);
    do {
        for (size_t looked_B = 0; looked_B < LOOK_B; looked_B += piece_B) {
            assert(at + piece_B <= set_B);
            piece(t, set_B, at, piece_B);
            done_B += piece_B;
            at += piece_B;
            if (at + piece_B > set_B)
                at = 0;
        }
        now_ns = hd_clock_ns(CLOCK_MONOTONIC);
    } while (now_ns - start_ns < round_ns);
    return (double)done_B * moved_B / (double)(now_ns - start_ns) * 1e9;
}

/* ---- rounds of all threads at once */

enum what { SP, DP, READ, UPDATE };

static double round_rate(const struct thread *t, enum what what, enum report_level level)
{
    const struct roofline_loops *loops = t->all->plan->loops;
    size_t set_B = t->all->plan->set_B[level];
    uint64_t round_ns = level == REPORT_LEVEL_DRAM ? ROUND_DRAM_NS : ROUND_NS;

    switch (what) {
    case SP:
        return madd_rate(loops->sp, loops->sp_flop);
    case DP:
        return madd_rate(loops->dp, loops->dp_flop);
    case READ:
        return sweep_rate(t, set_B, round_ns, read_piece, 1);
    case UPDATE:
        return sweep_rate(t, set_B, round_ns, update_piece, 1.5);
    }
    return 0;
}

/* What a core has for itself is not slower while it does something else in between. */
static bool is_of_core(enum what what, enum report_level level)
{
    return what == SP || what == DP || level == REPORT_LEVEL_L1 || level == REPORT_LEVEL_L2;
}

static void round_run(struct thread *t, enum what what, enum report_level level)
{
    uint64_t wall_ns = hd_clock_ns(CLOCK_MONOTONIC), cpu_ns = hd_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    assert(level < REPORT_LEVEL_COUNT);
    t->rate = round_rate(t, what, level);
    cpu_ns = hd_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    wall_ns = hd_clock_ns(CLOCK_MONOTONIC) - wall_ns;
    t->share = (double)HD_MAX(cpu_ns, 1u) / (double)HD_MAX(wall_ns, 1u);
    if (is_of_core(what, level)) {
        t->rate /= t->share;
        t->share = 1;
    }
}

/* All together. */
static void round_add(struct measuring *all, int round)
{
    double sum = 0, share = 1;

    for (uint32_t i = 0; i < all->plan->threads; i++) {
        sum += all->threads[i].rate;
        share = HD_MIN(share, all->threads[i].share);
    }
    if (hd_fault(HD_FAULT_ROOFLINE_BUSY))
        share = 1;
    if (!round || sum > all->best) {
        all->best = sum;
        all->share = share;
    }
    all->is_over = round + 1 >= (all->share < SHARE ? ROUNDS_MAX : ROUNDS);
}

/* Thread 0 adds up, while the others wait. */
static void rounds(struct thread *t, enum what what, enum report_level level, double *best)
{
    struct measuring *all = t->all;

    assert(t >= all->threads && t < all->threads + all->plan->threads);
    for (int round = 0; !round || !all->is_over; round++) {
        (void)pthread_barrier_wait(&all->barrier);
        round_run(t, what, level);
        (void)pthread_barrier_wait(&all->barrier);
        if (t == all->threads)
            round_add(all, round);
        (void)pthread_barrier_wait(&all->barrier);
    }
    if (t != all->threads)
        return;
    *best = HD_MAX(*best, all->best);
    all->out->is_disturbed |= all->share < SHARE;
}

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    struct measuring *all = t->all;
    cpu_set_t cpu;

    CPU_ZERO(&cpu);
    CPU_SET((size_t)t->cpu, &cpu);
    (void)pthread_mutex_lock(&all->gate);
    (void)pthread_mutex_unlock(&all->gate);
    if (all->is_given_up)
        return NULL;
    (void)pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
    memset(t->memory, 0, all->memory_B); /* on its own node */
    rounds(t, SP, REPORT_LEVEL_L1, &all->out->peaks.sp_per_s);
    rounds(t, DP, REPORT_LEVEL_L1, &all->out->peaks.dp_per_s);
    for (int level = REPORT_LEVEL_COUNT; level-- > 0;) {
        if (!all->plan->set_B[level])
            continue;
        rounds(t, READ, (enum report_level)level, &all->out->peaks.bytes_per_s[level]);
        rounds(t, UPDATE, (enum report_level)level, &all->out->peaks.bytes_per_s[level]);
    }
    return NULL;
}

/* ---- threads */

/* As a device's memory: huge pages, where the host has them. */
static bool memory_map(struct measuring *all)
{
    for (uint32_t i = 0; i < all->plan->threads; i++) {
        void *at = mmap(NULL, all->memory_B, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return false;
        (void)madvise(at, all->memory_B, MADV_HUGEPAGE);
        all->threads[i].memory = at;
    }
    return true;
}

static void memory_unmap(struct measuring *all)
{
    for (uint32_t i = 0; i < all->plan->threads; i++)
        if (all->threads[i].memory)
            (void)munmap(all->threads[i].memory, all->memory_B);
}

static void threads_place(struct measuring *all)
{
    int cpu = -1;

    for (uint32_t i = 0; i < all->plan->threads; i++) {
        do
            cpu++;
        while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)cpu, &all->plan->cpus));
        assert(CPU_ISSET((size_t)cpu, &all->plan->cpus)); /* there are as many as threads */
        all->threads[i].cpu = cpu;
        all->threads[i].all = all;
    }
}

static enum hd_status threads_start(struct measuring *all)
{
    uint32_t n = 0;
    int error = 0;

    threads_place(all);
    (void)pthread_mutex_lock(&all->gate);
    while (n < all->plan->threads && !error) {
        error = pthread_create(&all->threads[n].thread, NULL, thread_main, &all->threads[n]);
        n += !error;
    }
    all->is_given_up = error != 0;
    (void)pthread_mutex_unlock(&all->gate);
    while (error && n)
        (void)pthread_join(all->threads[--n].thread, NULL);
    return error
               ? hd_error(HD_NO_MEMORY, "no threads to measure this host with: %s", strerror(error))
               : HD_OK;
}

static void threads_wait(struct measuring *all)
{
    for (uint32_t i = 0; i < all->plan->threads; i++) {
        struct timespec until;
        do {
            cli_progress("measuring this host, once");
            (void)clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec++;
        } while (pthread_timedjoin_np(all->threads[i].thread, NULL, &until) == ETIMEDOUT);
    }
    cli_progress_end();
}

enum hd_status roofline_measure(const struct roofline_plan *plan, struct roofline *out)
{
    struct measuring all = {
        .plan = plan, .out = out, .memory_B = ROOFLINE_STEP_B, .gate = PTHREAD_MUTEX_INITIALIZER};
    enum hd_status status;

    for (int level = 0; level < REPORT_LEVEL_COUNT; level++)
        all.memory_B = HD_MAX(all.memory_B, plan->set_B[level]);
    all.threads = hd_alloc_array(plan->threads, sizeof(*all.threads));
    if (all.threads && memory_map(&all) &&
        !pthread_barrier_init(&all.barrier, NULL, plan->threads)) {
        status = threads_start(&all);
        if (status == HD_OK)
            threads_wait(&all);
        (void)pthread_barrier_destroy(&all.barrier);
    } else {
        status = hd_error(HD_NO_MEMORY, "no memory to measure this host with");
    }
    if (all.threads)
        memory_unmap(&all);
    hd_free(all.threads);
    return status;
}
