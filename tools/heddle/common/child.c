/* See child.h. */
#include "common/child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

/* SIGPIPE is ignored: messages may have no reader. */
static const int child_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
static struct sigaction child_before[HD_COUNT_OF(child_signals)];
static bool child_is_held;
/* For the handler. */
static volatile pid_t child_pid;
static volatile sig_atomic_t child_pending;

static void child_handle(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (child_pid > 0 && info->si_code != SI_KERNEL)
        (void)kill(child_pid, sig);
    else if (!child_pid)
        child_pending = sig;
}

void child_signals_hold(void)
{
    assert(!child_is_held && !child_pid);
    child_is_held = true;
    child_pending = 0;
    for (size_t i = 0; i < HD_COUNT_OF(child_signals); i++) {
        struct sigaction own = {.sa_sigaction = child_handle, .sa_flags = SA_SIGINFO};
        if (child_signals[i] == SIGPIPE)
            own = (struct sigaction){.sa_handler = SIG_IGN};
        (void)sigaction(child_signals[i], NULL, &child_before[i]);
        if (child_before[i].sa_handler != SIG_IGN) /* as under nohup */
            (void)sigaction(child_signals[i], &own, NULL);
    }
}

static void child_signals_restore(void)
{
    assert(child_is_held && !child_pid);
    for (size_t i = 0; i < HD_COUNT_OF(child_signals); i++)
        (void)sigaction(child_signals[i], &child_before[i], NULL);
    child_is_held = false;
}

void child_signals_release(void)
{
    child_signals_restore();
    if (child_pending)
        (void)raise(child_pending);
}

/* The child's status, when it or all have ended. */
static bool child_wait(pid_t child, bool all, int *out_status)
{
    int status;
    pid_t pid;
    bool good = false;

    while ((!good || all) &&
           ((pid = waitpid(all ? -1 : child, &status, 0)) > 0 || errno == EINTR)) {
        if (pid != child)
            continue;
        assert(WIFEXITED(status) || WIFSIGNALED(status));
        *out_status = status;
        good = true;
    }
    return good;
}

bool child_run(int (*work)(void *state), void *state, bool all, int *out_status)
{
    sigset_t every, before;

    assert(child_is_held && !child_pid);
    fflush(NULL);
    /* No signal between the fork and the moment at which both know whose it is. */
    (void)sigfillset(&every);
    (void)sigprocmask(SIG_SETMASK, &every, &before);
    pid_t child = fork();
    if (!child)
        child_signals_restore();
    else if (child > 0)
        child_pid = child;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (!child)
        exit(work(state));
    bool good = child > 0 && child_wait(child, all, out_status);
    child_pid = 0;
    return good;
}

int child_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
