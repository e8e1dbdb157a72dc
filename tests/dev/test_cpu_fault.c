/*
 * Faults and cancellation on the CPU device: who receives a signal, whatever handlers the program
 * has installed and when; kernels that never end are stopped, and nothing is left locked.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device_fixture.h"

static void *volatile nowhere = (void *)16;

static void count_cta(struct jit_cta *cta)
{
    params_of(cta)->out[cta->ctaid[0]]++;
}

static void wild_cta(struct jit_cta *cta)
{
    *(volatile uint32_t *)(uintptr_t)params_of(cta)->value = 1;
}

static _Atomic uint32_t endless_runs;

static void endless_cta(struct jit_cta *cta)
{
    (void)cta;
    for (;;)
        atomic_fetch_add(&endless_runs, 1);
}

/* Nearly always inside the device heap or the output's lock when the signal comes. */
static uint32_t hoard_run(struct jit_cta *cta, struct jit_warp *warp)
{
    const struct jit_services *s = cta->launch->services;
    uint64_t sizes[32] = {16}, blocks[32] = {0}, formats[32] = {(uintptr_t)""}, args[32] = {0};
    uint32_t results[32];

    for (;;) {
        atomic_fetch_add(&endless_runs, 1);
        s->malloc_(cta, warp, 1, sizes, blocks);
        s->free_(cta, warp, 1, blocks);
        s->vprintf_(cta, warp, 1, formats, args, results);
    }
    return 0;
}

static uint32_t wild_run(struct jit_cta *cta, struct jit_warp *warp)
{
    if (cta->ctaid[0] == 2 && warp->index == 1)
        *(volatile uint32_t *)nowhere = 1;
    return 0;
}

const struct fake_kernel fake_kernels[] = {
    {"count", {.run_cta = count_cta, .cost_ops = UINT64_MAX}},
    {"wild", {.run_cta = wild_cta, .cost_ops = UINT64_MAX}},
    {"wild_short", {.run_cta = wild_cta, .cost_ops = 1}},
    {"wild_warp", {.run = wild_run, .cost_ops = UINT64_MAX}},
    {"endless", {.run_cta = endless_cta, .cost_ops = UINT64_MAX}},
    {"hoard", {.run = hoard_run, .cost_ops = UINT64_MAX}},
    {0},
};

/* ---- signals */

static sigjmp_buf back;
static volatile int handled;

static void on_fault(int sig)
{
    (void)sig;
    handled++;
    siglongjmp(back, 1);
}

static void on_fault_info(int sig, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    on_fault(sig);
}

static bool grid_faults(struct fixture *f, const char *name)
{
    struct hal_queue *q = fixture_queue(f);
    struct params params = {.value = 16};
    union hal_packet p = fixture_dispatch(f, name, 1, 32, &params, sizeof(params));
    enum hd_status status;

    fixture_submit(q, &p);
    fixture_wait(q);
    q->ops->destroy(q);
    status = hal_domain_status(f->domain);
    fixture_heal(f);
    return status == HD_ILLEGAL_ADDRESS;
}

static bool kernel_faults(struct fixture *f)
{
    return grid_faults(f, "wild");
}

static bool host_faults(void)
{
    int before = handled;

    if (!sigsetjmp(back, 1))
        *(volatile int *)nowhere = 1;
    return handled == before + 1;
}

static void test_handlers(struct fixture *f)
{
    struct sigaction action = {.sa_sigaction = on_fault_info, .sa_flags = SA_SIGINFO}, old;

    ok(kernel_faults(f), "no handler: a kernel's fault is an error");
    sigaction(SIGSEGV, &action, &old);
    ok(old.sa_handler == SIG_DFL, "the program sees what it had");
    ok(kernel_faults(f) && !handled, "handler installed later: it does not see kernels' faults");
    ok(host_faults(), "but its own");
    ok(host_faults(), "again");
    sigaction(SIGSEGV, NULL, &old);
    ok(old.sa_sigaction == on_fault_info, "it reads back");
    ok(signal(SIGSEGV, SIG_IGN) != SIG_ERR && kernel_faults(f), "SIG_IGN");
    ok(signal(SIGSEGV, on_fault) == SIG_IGN && kernel_faults(f), "signal()");
    ok(host_faults(), "a handler without information");
    signal(SIGSEGV, SIG_DFL);
    ok(kernel_faults(f), "SIG_DFL");
}

extern int __sigaction(int sig, const struct sigaction *action, struct sigaction *old);

/* As a library does that found the C library's sigaction() before ours. */
static void test_behind_our_back(struct fixture *f)
{
    struct sigaction action = {.sa_sigaction = on_fault_info, .sa_flags = SA_SIGINFO};
    int before = handled;

    __sigaction(SIGSEGV, &action, NULL);
    usleep(20000); /* longer than the time between two looks */
    ok(kernel_faults(f) && handled == before, "a handler installed behind our back");
    ok(host_faults(), "sees its own faults");
    signal(SIGSEGV, SIG_DFL);
}

static void *blocked_main(void *arg)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    ok(kernel_faults(arg), "a thread that blocks all signals waits for a kernel that faults");
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    usleep(20000); /* longer than the time between two looks */
    ok(kernel_faults(arg), "one that blocks them later too");
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    usleep(20000);
    ok(grid_faults(arg, "wild_short"), "and one that runs the kernel as it submits it");
    return NULL;
}

static void test_blocked(struct fixture *f)
{
    pthread_t thread;

    pthread_create(&thread, NULL, blocked_main, f);
    pthread_join(thread, NULL);
}

/* The mask of blocked signals of a thread of ours; 0 for other threads. */
static uint64_t blocked_by(const char *task)
{
    char path[64], line[128], comm[32] = "";
    uint64_t mask = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file)) {
        sscanf(line, "Name: %31s", comm);
        sscanf(line, "SigBlk: %" SCNx64, &mask);
    }
    if (file)
        fclose(file);
    return strncmp(comm, "heddle-", 7) ? 0 : mask;
}

static bool blocks(uint64_t mask, int sig)
{
    return mask >> (sig - 1) & 1;
}

struct seen {
    unsigned threads, wrong;
};

static void look_at_threads(struct seen *seen)
{
    DIR *tasks = opendir("/proc/self/task");

    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        uint64_t mask = blocked_by(entry->d_name);

        seen->threads += mask != 0;
        seen->wrong += mask && (!blocks(mask, SIGTERM) || !blocks(mask, SIGCHLD));
        seen->wrong += mask && (blocks(mask, SIGSEGV) || blocks(mask, SIGURG));
    }
    if (tasks)
        closedir(tasks);
}

static void test_signals_of_the_program(struct fixture *f)
{
    struct seen seen = {0};

    while (seen.threads < f->device->info.units && !seen.wrong) {
        seen = (struct seen){0};
        look_at_threads(&seen);
        usleep(1000); /* a worker has its name when it takes signals */
    }
    eq_u64(seen.wrong, 0, "threads of ours leave the program's signals alone");
}

static void test_message(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    struct params params = {0};
    union hal_packet p = fixture_dispatch(f, "wild_warp", 4, 64, &params, sizeof(params));
    const struct hal_fault *fault = f->domain->fault;

    fixture_submit(q, &p);
    fixture_wait(q);
    ok(strstr(fault->message, "kernel wild_warp") && strstr(fault->message, "0x10"),
       "the message names kernel and address: %s", fault->message);
    ok(strstr(fault->message, "block (2,0,0)") && strstr(fault->message, "(32,0,0) to (63,0,0)"),
       "block and warp");
    ok(fault->known == HAL_FAULT_HAS_BLOCK && fault->block[0] == 2, "for tools as well");
    q->ops->destroy(q);
    fixture_heal(f);
}

/* ---- cancellation */

static void wait_for_runs(void)
{
    atomic_store(&endless_runs, 0);
    while (!atomic_load(&endless_runs))
        usleep(100);
}

static void test_cancel(struct fixture *f, const char *name)
{
    struct hal_queue *q = fixture_queue(f), *q2 = fixture_queue(f);
    static uint32_t out[64];
    struct params params = {.out = out};
    union hal_packet p = fixture_dispatch(f, name, 64, 32, &params, sizeof(params));

    fixture_submit(q, &p);
    wait_for_runs();
    hal_domain_stop(f->domain, 1000000);
    ok(hal_queue_is_idle(q), "%s: stopped", name);
    eq_u64(hal_domain_status(f->domain), HD_CANCELLED, "%s: the domain says why", name);
    f->device->ops->domain_reset(f->domain);
    eq_u64(hal_domain_status(f->domain), HD_OK, "%s: reset", name);
    memset(out, 0, sizeof(out));
    p = fixture_dispatch(f, "count", 64, 32, &params, sizeof(params));
    fixture_submit(q2, &p);
    fixture_wait(q2);
    eq_u64(out[63], 1, "%s: and it works again", name);
    q->ops->destroy(q);
    q2->ops->destroy(q2);
}

static void *stopper_main(void *arg)
{
    struct fixture *f = arg;

    wait_for_runs();
    f->device->ops->domain_cancel(f->domain);
    return NULL;
}

/* The thread that waits works too, so it is one of those that must be stopped. */
static void test_cancel_waiter(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    struct params params = {0};
    union hal_packet p = fixture_dispatch(f, "endless", 64, 32, &params, sizeof(params));
    pthread_t stopper;

    pthread_create(&stopper, NULL, stopper_main, f);
    fixture_submit(q, &p);
    fixture_wait(q);
    pthread_join(stopper, NULL);
    eq_u64(hal_domain_status(f->domain), HD_CANCELLED, "a waiting thread comes back");
    q->ops->destroy(q);
    f->device->ops->domain_reset(f->domain);
}

/* A domain that is stopped while another one works. */
static void test_others_go_on(struct fixture *f)
{
    struct hal_domain *other = NULL;
    struct hal_queue *q = fixture_queue(f), *q2 = NULL;
    static uint32_t out[5000];
    struct params params = {.out = out};
    union hal_packet p = fixture_dispatch(f, "endless", 1, 32, &params, sizeof(params));
    union hal_packet p2 = fixture_dispatch(f, "count", 5000, 32, &params, sizeof(params));
    unsigned wrong = 0;

    if (!ok(!f->device->ops->domain_create(f->device, &other) &&
                !f->device->ops->queue_create(other, 0, &q2),
            "two domains"))
        return;
    fixture_submit(q, &p);
    wait_for_runs();
    for (int i = 0; i < 50; i++)
        fixture_submit(q2, &p2);
    hal_domain_stop(f->domain, 0);
    fixture_wait(q2);
    for (unsigned i = 0; i < HD_COUNT_OF(out); i++)
        wrong += out[i] != 50;
    eq_u64(wrong, 0, "the other one's work is done");
    eq_u64(hal_domain_status(other), HD_OK, "without a fault");
    q->ops->destroy(q);
    q2->ops->destroy(q2);
    f->device->ops->domain_destroy(other);
    f->device->ops->domain_reset(f->domain);
}

static void test_exit(struct fixture *f)
{
    struct hal_queue *q = fixture_queue(f);
    struct params params = {0};
    union hal_packet p = fixture_dispatch(f, "endless", 8, 32, &params, sizeof(params));

    hal_device_stop(f->device, 0);
    eq_u64(hal_domain_status(f->domain), HD_OK, "exit: nothing happens to idle domains");
    fixture_submit(q, &p);
    wait_for_runs();
    hal_device_stop(f->device, 1000000);
    ok(hal_queue_is_idle(q), "exit: nothing runs any more");
    q->ops->destroy(q);
}

int main(void)
{
    struct fixture f;

    if (!ok(fixture_init(&f), "device"))
        return done();
    test_handlers(&f);
    test_behind_our_back(&f);
    test_blocked(&f);
    test_signals_of_the_program(&f);
    test_message(&f);
    for (int i = 0; i < 5; i++) {
        test_cancel(&f, "endless");
        test_cancel(&f, "hoard");
    }
    test_cancel_waiter(&f);
    test_others_go_on(&f);
    test_exit(&f);
    fixture_fini(&f);
    return done();
}
