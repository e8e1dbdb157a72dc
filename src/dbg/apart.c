/*
 * The server's thread as a process of its own in the program's memory.
 *
 * A debugger of the host program stops all threads of it. A process that shares its memory, but is
 * none of its threads, goes on and can tell of kernels. It is not traced, ends with the program,
 * and has what a thread of the C library needs from a thread that does nothing but wait.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "dbg/private.h"

enum { STACK_B = 1 << 20, PATIENCE_MS = 20 };

static _Thread_local bool is_apart, borrows, holds;
static _Thread_local pid_t own;
static pid_t program;

/* The process outlives the program by what its debugger still has to hear. */
bool dbg_is_alone(void)
{
    return is_apart && getppid() != program;
}

bool dbg_is_apart(void)
{
    return is_apart;
}

static void holder_set(void)
{
    if (!own)
        own = gettid();
    atomic_store_explicit(&dbg.holder, own, memory_order_relaxed);
}

/* The letter behind the name of its program says so. */
bool dbg_is_frozen(pid_t tid)
{
    char path[64], text[256], *end = NULL;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)dbg.pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        end = strrchr(text, ')');
    }
    return end && end[1] && end[2] == 't';
}

bool dbg_is_locked(void)
{
    return holds || dbg.core;
}

bool dbg_is_borrowing(void)
{
    return is_apart && borrows;
}

void dbg_lock(void)
{
    struct timespec until;

    assert(!holds);
    holds = true;
    if (!is_apart) {
        pthread_mutex_lock(&dbg.lock);
        holder_set();
        return;
    }
    do {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PATIENCE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        borrows = pthread_mutex_timedlock(&dbg.lock, &until) != 0;
    } while (borrows && !dbg_is_alone() &&
             !dbg_is_frozen(atomic_load_explicit(&dbg.holder, memory_order_relaxed)));
    if (!borrows)
        holder_set();
}

void dbg_unlock(void)
{
    assert(holds);
    holds = false;
    if (!is_apart || !borrows)
        pthread_mutex_unlock(&dbg.lock);
}

void dbg_wait(void)
{
    assert(holds && !dbg_is_borrowing());
    pthread_cond_wait(&dbg.changed, &dbg.lock);
    holder_set();
}

static int process_main(void *run)
{
    is_apart = true;
    own = 0;
    program = getppid();
    (void)((void *(*)(void *))run)(NULL);
    return 0;
}

static sem_t begun; /* the process is there, or cannot be */
static bool is_there;

/* Gives its thread-local memory to the process and touches it no more. */
static void *keeper(void *run)
{
    char *stack =
        mmap(NULL, STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    is_there =
        stack != MAP_FAILED && clone(process_main, stack + STACK_B,
                                     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, run) >= 0;
    sem_post(&begun);
    while (is_there)
        (void)syscall(SYS_pause); /* all signals are blocked */
    return NULL;
}

/* Waits for the process: a debugger that stops this program now would stop who makes it. */
int dbg_apart_create(pthread_t *out_thread, void *(*run)(void *))
{
    if (sem_init(&begun, 0, 0))
        return errno;
    int error = hd_thread_create(out_thread, NULL, keeper, (void *)run);
    if (error)
        return error;
    while (sem_wait(&begun))
        ;
    return is_there ? 0 : EAGAIN;
}
