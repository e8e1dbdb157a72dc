/*
 * When heddle check is killed, what it started has to end, too: nobody reads its records any more,
 * and nobody would end a program that hangs.
 *
 * The program itself asks the kernel for that (PR_SET_PDEATHSIG). Its children would have to, each
 * by itself. So there is a process that only waits until heddle check has gone: until a pipe ends
 * of which that has the other end. Then it looks for processes that have the session's socket,
 * whose name is like no other, in their environment.
 */
#include "check/check.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    ENVIRONMENT_MAX_B = 4 << 20,
    ROUNDS = 200, /* who forks faster than this looks is left */
    NAP_NS = 10000000,
    QUIET = 2, /* rounds in which nobody is found */
};

void check_guard_child(pid_t parent)
{
    (void)!prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has gone before */
        _exit(EXIT_FAILURE);
}

/* ---- the process that waits */

/* How many bytes of its environment there are. */
static size_t environment_read(int proc, const char *pid, char *out, size_t out_B)
{
    char path[300];
    size_t len = 0;
    ssize_t n = 1;

    snprintf(path, sizeof(path), "%s/environ", pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n > 0 && len < out_B) {
        n = read(fd, out + len, out_B - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return len;
}

static bool is_of_session(const char *environment, size_t len, const char *socket)
{
    static const char variable[] = "HEDDLE_CHECK=";

    for (size_t at = 0; at < len; at += strnlen(environment + at, len - at) + 1) {
        size_t n = strnlen(environment + at, len - at);
        if (n > strlen(variable) && !memcmp(environment + at, variable, strlen(variable)))
            return memmem(environment + at, n, socket, strlen(socket)) != NULL;
    }
    return false;
}

/* The number may be another process's by the time: the descriptor is not. */
static bool end_if_of_session(int proc, const char *name, const char *socket, char *buffer)
{
    pid_t pid = (pid_t)strtol(name, NULL, 10);
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    bool is = false;

    if (fd < 0)
        return false;
    size_t len = environment_read(proc, name, buffer, ENVIRONMENT_MAX_B);
    if (is_of_session(buffer, len, socket))
        is = syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
    close(fd);
    return is;
}

static bool end_all(const char *socket, char *buffer)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    bool any = false;

    while (dir && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]))
            any |= end_if_of_session(dirfd(dir), entry->d_name, socket, buffer);
    if (dir)
        closedir(dir);
    return any;
}

static HD_NORETURN void guard(int fd, const char *socket)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    char *buffer = hd_alloc(ENVIRONMENT_MAX_B);
    ssize_t n;
    char c;

    do
        n = read(fd, &c, 1);
    while (n < 0 && errno == EINTR);
    for (int round = 0, quiet = 0; n == 0 && buffer && round < ROUNDS && quiet < QUIET; round++) {
        quiet = end_all(socket, buffer) ? 0 : quiet + 1;
        nanosleep(&nap, NULL);
    }
    _exit(EXIT_SUCCESS);
}

/* Out of the terminal's reach, and of whoever reads what heddle check prints or connects to it. */
static void be_apart(int keep)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
        dup2(null, fd);
    for (long fd = STDERR_FILENO + 1, end = sysconf(_SC_OPEN_MAX); fd < HD_MIN(end, 1024); fd++)
        if (fd != keep)
            close((int)fd);
}

int check_guard_start(const char *socket)
{
    int ends[2], status;
    pid_t between;

    assert(socket[0]); /* all that have it in their environment are ended */
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    between = fork(); /* ends at once: the guard is no child of ours, which we would wait for */
    if (between == 0) {
        pid_t pid = fork();
        if (pid != 0)
            _exit(pid < 0);
        close(ends[1]);
        be_apart(ends[0]);
        guard(ends[0], socket);
    }
    close(ends[0]);
    if (between > 0 && waitpid(between, &status, 0) == between && status == 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

void check_guard_end(int fd)
{
    if (fd < 0)
        return;
    (void)!write(fd, "", 1);
    close(fd);
}
