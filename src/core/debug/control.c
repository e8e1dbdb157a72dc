#include "core/debug/control.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/thread.h"
#include "core/forked.h"
#include "hal/futex.h"
#include "hal/hal.h"

#define FILE_NAME "heddle-control"
#define FILE_B    65536u
#define STACK_B   (256u << 10)
#define MAGIC     0x72746e6f6c646448u
#define READY_NS  1000000000u /* the file is there a moment before its thread */
#define ALIVE_NS  20000000u   /* how often the other process is looked at */
#define REPORT_NS 5000000000u /* in which a report has to come */

struct control {
    uint64_t magic; /* with `ready` */
    int32_t pid, tid;
    _Atomic uint32_t ready;
    _Atomic uint32_t state;
    _Atomic uint32_t asked, answered; /* counts */
    int32_t status;                   /* this and below: with `answered` */
    char message[256];
    struct core_control_request request; /* with `asked` */
    char text[CORE_CONTROL_TEXT_B];      /* with `answered` */
};
_Static_assert(sizeof(struct control) <= FILE_B, "a process fits its file");

/* ---- the process that is asked */

static struct {
    struct control *file;
    int fd, pid;
    core_control_server serve;
    pthread_mutex_t asking; /* threads that ask this process itself, one at a time */
} own = {.fd = -1, .asking = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(own, own.asking);

static void *control_serve(void *unused)
{
    struct control *file = own.file;
    uint32_t done = 0, asked;

    (void)unused;
    file->tid = (int32_t)syscall(SYS_gettid);
    file->magic = MAGIC;
    atomic_store(&file->ready, 1);
    hal_futex_wake(&file->ready);
    for (;;) {
        while ((asked = atomic_load(&file->asked)) == done)
            hal_futex_wait(&file->asked, done, UINT64_MAX);
        struct core_control_request request = file->request;
        struct hd_buf text;
        hd_buf_init(&text);
        hd_error_clear();
        file->status = own.serve(&request, &text);
        snprintf(file->text, sizeof(file->text), "%s", text.ptr ? text.ptr : "");
        hd_buf_fini(&text);
        snprintf(file->message, sizeof(file->message), "%s", hd_error_message());
        done = asked;
        atomic_store(&file->answered, done);
        hal_futex_wake(&file->answered);
    }
    return NULL;
}

static int control_serve_start(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error = pthread_attr_init(&attr);

    if (error)
        return error;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_B);
    error = hd_thread_create(&thread, &attr, control_serve, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

/* The file is the parent's, and is not mapped here. */
void core_control_in_child(void)
{
    if (own.fd >= 0)
        close(own.fd);
    own.fd = -1;
    own.file = NULL;
}

enum hd_status core_control_start(core_control_server server)
{
    void *at;
    int error;

    assert(!own.file);
    HD_TRY(hal_shared_create(FILE_NAME, FILE_B, &own.fd, &at));
    madvise(at, FILE_B, MADV_DONTFORK);
    own.file = at;
    own.file->pid = own.pid = (int)getpid();
    own.serve = server;
    error = control_serve_start();
    if (!error)
        return HD_OK;
    hal_shared_destroy(own.fd, at, FILE_B);
    own.file = NULL;
    return hd_error(HD_NO_MEMORY, "no thread for checkpoints: %s", strerror(error));
}

void core_control_show(uint32_t state)
{
    if (own.file)
        atomic_store(&own.file->state, state);
}

/* ---- the one that asks */

struct other {
    int pid;
    int alive_fd; /* readable when the process has ended */
    int fd;
    struct control *file;
    bool is_own; /* the process itself: the file is where its server has it */
};

static void control_other_close(struct other *other)
{
    hal_shared_destroy(other->fd, other->is_own ? NULL : other->file, FILE_B);
    if (other->alive_fd >= 0)
        close(other->alive_fd);
}

static enum hd_status control_ended(int pid)
{
    return hd_error(HD_BAD_ARG, "there is no process %d", pid);
}

/* Opens /proc/<pid>/fd/<name> if it is a memory file of ours; else -1. */
static int control_file_open(int dir_fd, const char *name)
{
    static const char is[] = "/memfd:" FILE_NAME " (deleted)";
    char target[sizeof(is)];
    ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));

    if (len != sizeof(is) - 1 || memcmp(target, is, sizeof(is) - 1))
        return -1;
    return openat(dir_fd, name, O_RDWR | O_CLOEXEC);
}

/* A forked child has its parent's file too, which is not its own. */
static bool control_file_map(struct other *other)
{
    void *at = MAP_FAILED;

    if (hal_shared_size(other->fd) == FILE_B)
        at = mmap(NULL, FILE_B, PROT_READ | PROT_WRITE, MAP_SHARED, other->fd, 0);
    if (at == MAP_FAILED)
        return false;
    other->file = at;
    return true;
}

static bool control_file_is_its(const struct other *other)
{
    const struct control *file = other->file;

    if (!atomic_load(&file->ready))
        hal_futex_wait(&other->file->ready, 0, READY_NS);
    return atomic_load(&file->ready) && file->magic == MAGIC && file->pid == other->pid;
}

/* Looks at each of the process's files; true when one is the right one. */
static bool control_files_search(struct other *other, DIR *dir)
{
    struct dirent *entry;

    while ((entry = readdir(dir))) {
        other->fd = control_file_open(dirfd(dir), entry->d_name);
        if (other->fd >= 0 && control_file_map(other) && control_file_is_its(other))
            return true;
        hal_shared_destroy(other->fd, other->file, FILE_B);
        other->fd = -1;
        other->file = NULL;
    }
    return false;
}

static enum hd_status control_files_open(int pid, DIR **out_dir)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    *out_dir = opendir(path);
    if (*out_dir)
        return HD_OK;
    if (errno == ENOENT)
        return control_ended(pid);
    return hd_error(HD_IO, "process %d may not be asked: %s", pid, strerror(errno));
}

static enum hd_status control_other_open(struct other *other, int pid)
{
    bool found;
    DIR *dir;

    *other = (struct other){.pid = pid, .fd = -1};
    other->alive_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (other->alive_fd < 0)
        return errno == ENOSYS ? hd_error(HD_NOT_SUPPORTED, "this system has no pidfd_open()")
                               : control_ended(pid);
    enum hd_status status = control_files_open(pid, &dir);
    if (status != HD_OK) {
        control_other_close(other);
        return status;
    }
    found = control_files_search(other, dir);
    closedir(dir);
    if (found) {
        /*
         * A process that asks itself looks at the one place that its server looks at:
         * ThreadSanitizer does not know that two are the same memory.
         */
        assert(other->file && !other->is_own);
        if (own.file && other->pid == own.pid && own.pid == (int)getpid()) {
            munmap(other->file, FILE_B);
            other->file = own.file;
            other->is_own = true;
        }
        return HD_OK;
    }
    control_other_close(other);
    return hd_error(HD_NOT_FOUND, "process %d does not use CUDA", pid);
}

enum hd_status core_control_look(int pid, struct core_control_view *out_view)
{
    struct other other;

    HD_TRY(control_other_open(&other, pid));
    out_view->state = atomic_load(&other.file->state);
    out_view->tid = other.file->tid;
    control_other_close(&other);
    return HD_OK;
}

/* What the process says; a status that it cannot have is none. */
static enum hd_status control_answer_read(const struct other *other, struct hd_buf *out_text)
{
    int32_t status = other->file->status;
    char message[sizeof(other->file->message)];

    memcpy(message, other->file->message, sizeof(message));
    message[sizeof(message) - 1] = 0;
    if (status == HD_OK) {
        const char *text = other->file->text;

        if (out_text)
            hd_buf_append(out_text, text, strnlen(text, sizeof(other->file->text)));
        return HD_OK;
    }
    if (status != HD_BAD_ARG && status != HD_BAD_STATE && status != HD_BUSY &&
        status != HD_NOT_SUPPORTED)
        status = HD_INTERNAL;
    return hd_error((enum hd_status)status, "process %d: %s", other->pid, message);
}

/* Whoever wants a report does not wait for what others have asked, nor for a process that is
 * stopped. */
static bool control_is_late(const struct core_control_request *request, uint64_t since_ns)
{
    return request->op == CORE_CONTROL_REPORT && hal_time_ns() - since_ns > REPORT_NS;
}

static enum hd_status control_late(const struct other *other)
{
    return hd_error(HD_BUSY, "process %d does not answer: it is stopped, or busy with a checkpoint",
                    other->pid);
}

/* The file's lock is held. */
static enum hd_status control_exchange_locked(struct other *other,
                                              const struct core_control_request *request,
                                              struct hd_buf *out_text)
{
    uint64_t since_ns = hal_time_ns();
    struct control *file = other->file;
    uint32_t number, answered;

    file->request = *request;
    number = atomic_load(&file->asked) + 1;
    atomic_store(&file->asked, number);
    hal_futex_wake(&file->asked);
    while ((answered = atomic_load(&file->answered)) != number) {
        hal_futex_wait(&file->answered, answered, ALIVE_NS);
        struct pollfd fd = {.fd = other->alive_fd, .events = POLLIN};
        if (poll(&fd, 1, 0) != 0)
            return control_ended(other->pid);
        if (control_is_late(request, since_ns))
            return control_late(other);
    }
    return control_answer_read(other, out_text);
}

static enum hd_status control_file_lock(const struct other *other,
                                        const struct core_control_request *request)
{
    bool waits = request->op != CORE_CONTROL_REPORT;
    const struct timespec nap = {.tv_nsec = ALIVE_NS};
    uint64_t since_ns = hal_time_ns();

    while (flock(other->fd, waits ? LOCK_EX : LOCK_EX | LOCK_NB)) {
        if (control_is_late(request, since_ns))
            return control_late(other);
        if (!waits)
            nanosleep(&nap, NULL);
    }
    return HD_OK;
}

enum hd_status core_control_ask(int pid, const struct core_control_request *request,
                                struct hd_buf *out_text)
{
    struct other other;

    HD_TRY(control_other_open(&other, pid));
    /*
     * Closing the file gives the lock back. A process that asks itself takes a lock of threads as
     * well: the file's lock orders processes, and says nothing of what its threads see of each
     * other's.
     */
    pthread_mutex_t *threads = other.is_own ? &own.asking : NULL;
    enum hd_status status;
    if (threads)
        pthread_mutex_lock(threads);
    status = control_file_lock(&other, request);
    if (status == HD_OK)
        status = control_exchange_locked(&other, request, out_text);
    control_other_close(&other);
    if (threads)
        pthread_mutex_unlock(threads);
    return status;
}
