/*
 * Starting the program, and receiving records of it and its children.
 *
 * Two threads beside the main one. One accepts connections and reads records into a queue, so that
 * no program waits for the terminal. One waits for children: we are their reaper, also of those
 * whose parents have ended, and so know when the last one is gone. Then all connections are closed;
 * what is still in them is read, and the queue ends.
 */
#include "check/check.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "common/cli.h"
#include "run.h"

enum {
    BACKLOG = 128,
    RECORD_MAX_B = 1 << 20,
    QUEUE_MAX_B = 256 << 20, /* what waits to be shown; then processes wait */
};

struct item {
    struct item *next;
    size_t len;
    char text[];
};

struct check_run {
    pid_t child;
    int status;         /* of the child, when it has ended */
    bool all;           /* children of it are waited for as well */
    int listens, ended; /* ended: an eventfd, readable when no child is left */
    int guard;          /* check_guard.c */
    pthread_t reader, reaper;

    pthread_mutex_t mutex;
    pthread_cond_t cond;
    struct item *first, **last;
    size_t queued_B;
    bool is_complete; /* no record will come any more */
};

/* ---- the queue */

static void receive_queue_push(struct check_run *run, struct item *item)
{
    pthread_mutex_lock(&run->mutex);
    assert(!run->is_complete); /* nothing comes behind the end */
    while (run->queued_B > QUEUE_MAX_B)
        pthread_cond_wait(&run->cond, &run->mutex);
    if (item) {
        item->next = NULL;
        *run->last = item;
        run->last = &item->next;
        run->queued_B += item->len;
    } else {
        run->is_complete = true;
    }
    pthread_cond_broadcast(&run->cond);
    pthread_mutex_unlock(&run->mutex);
}

char *check_run_next(struct check_run *run, uint64_t until_ns, size_t *out_len, bool *out_timed_out)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    char *text = NULL;

    *out_timed_out = false;
    pthread_mutex_lock(&run->mutex);
    while (!run->first && !run->is_complete && !*out_timed_out) {
        if (until_ns == UINT64_MAX)
            pthread_cond_wait(&run->cond, &run->mutex);
        else
            *out_timed_out = pthread_cond_timedwait(&run->cond, &run->mutex, &until) == ETIMEDOUT;
    }
    struct item *item = run->first;
    if (item) {
        assert(run->queued_B >= item->len);
        *out_timed_out = false;
        run->first = item->next;
        run->last = item->next ? run->last : &run->first;
        run->queued_B -= item->len;
        pthread_cond_broadcast(&run->cond);
    }
    pthread_mutex_unlock(&run->mutex);
    if (item) {
        *out_len = item->len;
        text = hd_alloc(item->len + 1);
        if (text)
            memcpy(text, item->text, item->len);
        hd_free(item);
    }
    return text;
}

/* ---- the reader */

struct connections {
    HD_VEC(struct pollfd) fds; /* [0] ended, [1] listens, then processes */
    char *buffer;
};

/* Processes of others have no business here. */
static bool receive_is_own(int fd)
{
    struct ucred peer;
    socklen_t peer_B = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_B) == 0 &&
           (peer.uid == getuid() || peer.uid == 0);
}

static bool receive_accept_one(struct check_run *run, struct connections *c)
{
    int fd = accept4(run->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return false;
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    if (!receive_is_own(fd) || !hd_vec_push(&c->fds, entry))
        close(fd);
    return true;
}

/* False: the connection has ended. */
static bool receive_one(struct check_run *run, struct connections *c, int fd)
{
    ssize_t n = recv(fd, c->buffer, RECORD_MAX_B, 0);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    assert(n <= RECORD_MAX_B);
    struct item *item = hd_alloc(sizeof(*item) + (size_t)n);
    if (item) {
        item->len = (size_t)n;
        memcpy(item->text, c->buffer, (size_t)n);
        receive_queue_push(run, item);
    }
    return true;
}

static void receive_all(struct check_run *run, struct connections *c)
{
    assert(c->fds.len >= 2);
    for (size_t i = 2; i < c->fds.len; i++) {
        if (!c->fds.at[i].revents || receive_one(run, c, c->fds.at[i].fd))
            continue;
        close(c->fds.at[i].fd);
        c->fds.at[i--] = hd_vec_last(&c->fds);
        c->fds.len--;
    }
}

static void receive_close_all(struct connections *c)
{
    for (size_t i = 2; i < c->fds.len; i++)
        close(c->fds.at[i].fd);
    hd_vec_fini(&c->fds);
    hd_free(c->buffer);
}

/* Until no process is left and nothing is left to read. */
static void *receive_read_records(void *arg)
{
    struct check_run *run = arg;
    struct connections c = {.buffer = hd_alloc(RECORD_MAX_B)};
    bool is_last = false;

    if (!c.buffer || !hd_vec_push(&c.fds, (struct pollfd){.fd = run->ended, .events = POLLIN}) ||
        !hd_vec_push(&c.fds, (struct pollfd){.fd = run->listens, .events = POLLIN}))
        is_last = true;
    for (;;) {
        int ready = poll(c.fds.at, c.fds.len, is_last ? 0 : -1);
        if (is_last && ready <= 0)
            break;
        if (!is_last && c.fds.at[0].revents) {
            is_last = true;
            c.fds.at[0].fd = -1;
        }
        if (c.fds.at[1].revents)
            (void)receive_accept_one(run, &c);
        receive_all(run, &c);
    }
    receive_close_all(&c);
    receive_queue_push(run, NULL);
    return NULL;
}

/* ---- children */

static void *receive_reap(void *arg)
{
    struct check_run *run = arg;
    bool child_ended = false;

    while (!child_ended || run->all) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            break;
        if (pid == run->child) {
            run->status = status;
            child_ended = true;
        }
    }
    uint64_t one = 1;
    (void)!write(run->ended, &one, sizeof(one));
    return NULL;
}

static _Atomic pid_t forward_to;

static void receive_forward(int signal)
{
    pid_t child = atomic_load(&forward_to);

    if (child > 0)
        kill(child, signal);
}

/* Ctrl-C goes to the program, which is in the foreground with us; we still tell what it did. */
static void receive_set_signals(pid_t child)
{
    assert(child > 0); /* others are groups of processes, or all */
    atomic_store(&forward_to, child);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, receive_forward);
    signal(SIGHUP, receive_forward);
}

void check_run_kill(struct check_run *run)
{
    assert(run->child > 0);
    kill(run->child, SIGKILL);
}

/* ---- starting */

static int receive_open_socket(char *name, size_t name_B)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -1;
    snprintf(name, name_B, "heddle-check-%ld-%016llx", (long)getpid(), (unsigned long long)random);
    size_t len = strlen(name);
    memcpy(at.sun_path + 1, name, len);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t at_B = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, at_B) || listen(fd, BACKLOG))) {
        close(fd);
        return -1;
    }
    return fd;
}

static void receive_write_number(struct hd_buf *line, const char *name, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    san_options_write(line, name, hd_str_from(text));
}

/* A file is to have everything, a suppression may be about anything; to print, the first do. */
static uint64_t receive_record_limit(const struct check_options *o)
{
    return o->suppressions || o->save ? 0 : o->print_limit;
}

static bool receive_set_check(const struct check_options *o, const char *socket)
{
    struct hd_buf line = {0};

    san_options_write(&line, "socket", hd_str_from(socket));
    receive_write_number(&line, "root", (uint64_t)getpid());
    receive_write_number(&line, "record-limit", receive_record_limit(o));
    hd_buf_printf(&line, " %s", o->line.ptr ? o->line.ptr : "");
    bool set = !line.failed && setenv("HEDDLE_CHECK", line.ptr, 1) == 0;
    hd_buf_fini(&line);
    return set;
}

static bool receive_set_coredump(const struct check_options *o)
{
    if (!o->generate_coredump)
        return true;
    return setenv("CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "1", 1) == 0 &&
           (!o->coredump_name || setenv("CUDA_COREDUMP_FILE", o->coredump_name, 1) == 0);
}

static bool receive_set_blocking(void)
{
    const char *flags = getenv("HEDDLE_DEBUG");
    struct hd_buf value = {0};

    hd_buf_printf(&value, "%s%ssync", flags ? flags : "", flags && *flags ? "," : "");
    bool set = !value.failed && setenv("HEDDLE_DEBUG", value.ptr, 1) == 0;
    hd_buf_fini(&value);
    return set;
}

/* "a.so,b.so" */
static bool receive_set_preload(const char *list)
{
    HD_AUTOFREE char *colons = hd_strdup(list);

    for (char *at = colons; at && *at; at++)
        *at = *at == ',' ? ':' : *at;
    return colons && run_prepend("LD_PRELOAD", colons);
}

static HD_NORETURN void receive_be_child(const struct check_options *o, const char *path,
                                         const char *socket, pid_t parent)
{
    check_guard_child(parent);
    if (!receive_set_check(o, socket) || !receive_set_coredump(o) ||
        (o->force_blocking_launches && !receive_set_blocking()) || run_set_environment() ||
        (o->preload_library && !receive_set_preload(o->preload_library)))
        _exit(CLI_FAILED);
    _exit(run_execute(path, o->command));
}

static struct check_run *receive_run_create(const struct check_options *o)
{
    struct check_run *run = hd_new(struct check_run);
    pthread_condattr_t attr;

    if (!run)
        return NULL;
    pthread_mutex_init(&run->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&run->cond, &attr);
    pthread_condattr_destroy(&attr);
    run->last = &run->first;
    run->all = o->san.target_processes == SAN_TARGETS_ALL;
    run->ended = eventfd(0, EFD_CLOEXEC);
    run->listens = run->guard = -1;
    return run;
}

static void receive_run_free(struct check_run *run)
{
    if (run->listens >= 0)
        close(run->listens);
    if (run->ended >= 0)
        close(run->ended);
    pthread_cond_destroy(&run->cond);
    pthread_mutex_destroy(&run->mutex);
    hd_free(run);
}

static bool receive_start_child(struct check_run *run, const struct check_options *o,
                                const char *path)
{
    char name[64];

    run->listens = receive_open_socket(name, sizeof(name));
    if (run->listens < 0 || run->ended < 0) {
        cli_error("no socket for records: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t own = getpid();
    if (run->all)
        run->guard = check_guard_start(name);
    (void)!prctl(PR_SET_CHILD_SUBREAPER, 1);
    run->child = fork();
    if (run->child == 0)
        receive_be_child(o, path, name, own);
    if (run->child < 0)
        cli_error("fork: %s", strerror(errno));
    return run->child > 0;
}

static bool receive_start_threads(struct check_run *run, const char *as)
{
    int error = pthread_create(&run->reader, NULL, receive_read_records, run);

    if (!error)
        error = pthread_create(&run->reaper, NULL, receive_reap, run);
    if (error) {
        cli_error("no thread: %s", strerror(error));
        check_run_kill(run);
    }
    return !error;
}

struct check_run *check_run_start(const struct check_options *o)
{
    HD_AUTOFREE char *path = run_find_program(o->command[0]);
    struct check_run *run = path ? receive_run_create(o) : NULL;

    if (!run) {
        cli_error("%s: %s", o->command[0], path ? "out of memory" : "not found");
        return NULL;
    }
    if (!receive_start_child(run, o, path)) {
        receive_run_free(run);
        return NULL;
    }
    receive_set_signals(run->child);
    if (!receive_start_threads(run, o->as))
        exit(CLI_FAILED); /* a thread may be using `run` */
    return run;
}

int check_run_finish(struct check_run *run)
{
    pthread_join(run->reader, NULL);
    pthread_join(run->reaper, NULL);
    atomic_store(&forward_to, 0);
    assert(run->child > 0);
    int status = run->status;
    check_guard_end(run->guard);
    receive_run_free(run);
    return status;
}
