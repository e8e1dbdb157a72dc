/*
 * See precompile.h: as many workers as there are CPUs take shares of the work, until none is left.
 * One that dies has its kernel counted as failed, and another goes on behind that kernel.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "common/cli.h"
#include "precompile/precompile.h"

/* An image is shared by workers when it has more than that for each: parsing it takes a while. */
#define SHARE_B ((size_t)512 << 10)

struct running {
    pid_t pid;
    struct precompile_event at; /* what it said last */
};

struct pool {
    struct precompile *p;
    HD_VEC(struct precompile_share) shares;
    _Atomic uint32_t *next;
    int events[2];
    struct running *workers; /* p->workers of them */
    size_t made;
    int code;
};

/* ---- what workers say */

static struct precompile_file *pool_file(struct pool *pool, const struct precompile_event *event)
{
    assert(event->share < pool->shares.len);
    return &pool->p->files.at[pool->p->images.at[pool->shares.at[event->share].image].file];
}

static void pool_failed(struct pool *pool, const struct precompile_event *event, const char *kernel)
{
    struct precompile *p = pool->p;
    struct precompile_file *file = pool_file(pool, event);
    struct precompile_failure failure = {.file = (size_t)(file - p->files.at)};

    failure.why = hd_arena_strndup(&p->arena, event->why, strlen(event->why));
    if (kernel)
        failure.kernel = hd_arena_strndup(&p->arena, kernel, strlen(kernel));
    file->failed++;
    if (!hd_vec_push(&p->failures, failure))
        pool->code = cli_error("memory is short");
}

static void pool_take(struct pool *pool, const struct precompile_event *event)
{
    struct running *worker = &pool->workers[event->worker];

    assert(event->worker < pool->p->workers && event->share < pool->shares.len);
    worker->at = *event;
    switch ((enum precompile_event_kind)event->kind) {
    case EVENT_DEVICE:
        pool->p->device_name = hd_arena_strndup(&pool->p->arena, event->name, strlen(event->name));
        break;
    case EVENT_LOAD:
        break;
    case EVENT_NONE:
        pool_file(pool, event)->without_ptx++;
        break;
    case EVENT_KERNEL:
        cli_progress("%zu kernels, image %u of %zu: %s", pool->made,
                     pool->shares.at[event->share].image + 1, pool->p->images.len, event->name);
        break;
    case EVENT_MADE:
        pool->made++;
        pool_file(pool, event)->kernels++;
        break;
    case EVENT_IMAGE:
        pool_failed(pool, event, NULL);
        break;
    case EVENT_FAILED:
        pool_failed(pool, event, event->name);
        break;
    case EVENT_FATAL:
        if (pool->code == CLI_OK) /* the others say the same */
            pool->code = cli_error("%s", event->why);
        break;
    }
}

/* ---- workers */

/* `after`: the event of a worker that died, which this one takes over from; or NULL. */
static bool pool_start(struct pool *pool, uint32_t number, const struct precompile_event *after)
{
    struct precompile_worker worker = {.p = pool->p,
                                       .shares = pool->shares.at,
                                       .nshares = (uint32_t)pool->shares.len,
                                       .next = pool->next,
                                       .events = pool->events[1],
                                       .number = number,
                                       .share = (uint32_t)pool->shares.len};
    pid_t child;

    if (after) {
        worker.share = after->share;
        worker.position = after->position + 1;
    }
    fflush(NULL);
    child = fork();
    if (!child) {
        close(pool->events[0]);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (pool->p->device && setenv("HEDDLE_DEVICE", pool->p->device, 1))
            exit(CLI_FAILED);
        exit(precompile_work(&worker));
    }
    pool->workers[number] = (struct running){.pid = child};
    if (child < 0)
        pool->code = cli_error("a worker cannot be started: %s", strerror(errno));
    return child > 0;
}

/* All that workers have said so far; the pipe does not block. */
static void pool_read(struct pool *pool)
{
    struct precompile_event event;
    ssize_t n;

    while ((n = read(pool->events[0], &event, sizeof(event))) == (ssize_t)sizeof(event))
        pool_take(pool, &event);
}

static void pool_ended(struct pool *pool, uint32_t number, int status)
{
    struct running *worker = &pool->workers[number];
    struct precompile_event after;

    assert(worker->pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)));
    worker->pid = 0;
    if (!WIFSIGNALED(status)) {
        if (status && pool->code == CLI_OK)
            pool->code = CLI_FAILED; /* it has said why */
        return;
    }
    if (worker->at.kind != EVENT_LOAD && worker->at.kind != EVENT_KERNEL) {
        pool->code = cli_error("a worker was ended by signal %d", WTERMSIG(status));
        return;
    }
    after = worker->at;
    (void)snprintf(after.why, sizeof(after.why), "the process that %s it was ended by signal %d",
                   after.kind == EVENT_LOAD ? "loaded" : "compiled", WTERMSIG(status));
    pool_failed(pool, &after, after.kind == EVENT_KERNEL ? after.name : NULL);
    if (pool->code == CLI_OK)
        (void)pool_start(pool, number, after.kind == EVENT_KERNEL ? &after : NULL);
}

/* Until all have ended, of which the pipe says nothing: one looks ten times a second. */
static void pool_wait(struct pool *pool, uint32_t running)
{
    bool is_stopped = false;
    int status;
    pid_t pid;

    while (running) {
        struct pollfd told = {.fd = pool->events[0], .events = POLLIN};

        (void)!poll(&told, 1, 100);
        pool_read(pool);
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            uint32_t number = 0;

            while (number < pool->p->workers && pool->workers[number].pid != pid)
                number++;
            assert(number < pool->p->workers); /* there are no other children */
            pool_read(pool);                   /* its last words */
            pool_ended(pool, number, status);
            running -= !pool->workers[number].pid;
        }
        for (uint32_t i = 0; pool->code != CLI_OK && !is_stopped && i < pool->p->workers; i++)
            if (pool->workers[i].pid > 0)
                (void)kill(pool->workers[i].pid, SIGTERM);
        is_stopped = pool->code != CLI_OK;
    }
}

static int pool_run(struct pool *pool)
{
    struct precompile *p = pool->p;
    uint32_t running = 0;

    for (uint32_t i = 0; i < p->images.len; i++) {
        size_t n = p->images.at[i].size_B == SIZE_MAX ? 1 : p->images.at[i].size_B / SHARE_B + 1;
        uint32_t step = (uint32_t)HD_MIN(n, (size_t)p->workers);

        for (uint32_t first = 0; first < step; first++)
            if (!hd_vec_push(&pool->shares, (struct precompile_share){i, first, step}))
                return cli_error("memory is short");
    }
    if (pipe2(pool->events, O_CLOEXEC) || fcntl(pool->events[0], F_SETFL, O_NONBLOCK))
        return cli_error("workers: %s", strerror(errno));
    while (running < p->workers && running < pool->shares.len && pool_start(pool, running, NULL))
        running++;
    pool_wait(pool, running);
    close(pool->events[0]);
    close(pool->events[1]);
    cli_progress_end();
    return pool->code;
}

int precompile_run(struct precompile *p)
{
    struct pool pool = {.p = p, .events = {-1, -1}};
    void *shared =
        mmap(NULL, sizeof(*pool.next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code;

    p->failures.len = 0;
    p->device_name = NULL;
    for (size_t i = 0; i < p->files.len; i++) {
        struct precompile_file *file = &p->files.at[i];

        file->without_ptx = file->kernels = file->failed = 0;
    }
    if (shared == MAP_FAILED)
        return cli_error("workers: %s", strerror(errno));
    pool.next = shared;
    pool.workers = hd_alloc_array(p->workers, sizeof(*pool.workers));
    code = pool.workers ? pool_run(&pool) : cli_error("memory is short");
    hd_free(pool.workers);
    hd_vec_fini(&pool.shares);
    (void)munmap(shared, sizeof(*pool.next));
    return code;
}
