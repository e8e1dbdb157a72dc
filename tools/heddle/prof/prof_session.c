/* See prof_session.h. */
#include "prof/prof_session.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/cli.h"

/* SIGPIPE is ignored: messages may have no reader. */
static const int session_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
static struct sigaction session_before[HD_COUNT_OF(session_signals)];
static bool session_is_open;
/* For the handler. */
static volatile pid_t session_primary;
static volatile sig_atomic_t session_pending;

/* ---- signals */

/* A terminal's Ctrl-C goes to the program by itself, what else comes is passed on: it decides, and
 * what it did until then is reported. */
static void session_handle(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (session_primary > 0 && info->si_code != SI_KERNEL)
        (void)kill(session_primary, sig);
    else if (!session_primary)
        session_pending = sig;
}

static void session_hold_signals(void)
{
    session_pending = 0;
    for (size_t i = 0; i < HD_COUNT_OF(session_signals); i++) {
        struct sigaction own = {.sa_sigaction = session_handle, .sa_flags = SA_SIGINFO};
        if (session_signals[i] == SIGPIPE)
            own = (struct sigaction){.sa_handler = SIG_IGN};
        (void)sigaction(session_signals[i], NULL, &session_before[i]);
        if (session_before[i].sa_handler != SIG_IGN) /* as under nohup */
            (void)sigaction(session_signals[i], &own, NULL);
    }
}

static void session_restore_signals(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(session_signals); i++)
        (void)sigaction(session_signals[i], &session_before[i], NULL);
}

/* ---- the folder */

/* False: it has files, and they stay. */
static bool session_remove(const char *folder, bool with_files)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir && with_files && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    return rmdir(folder) == 0;
}

char *prof_session_begin(const char *report)
{
    struct hd_buf name = {0};
    char *folder = NULL;

    assert(!session_is_open && !session_primary);
    session_hold_signals();
    hd_buf_printf(&name, "%s.session-XXXXXX", report);
    if (!name.failed && mkdtemp(name.ptr)) {
        folder = realpath(name.ptr, NULL);
        if (!folder)
            (void)rmdir(name.ptr);
    }
    session_is_open = folder != NULL;
    if (!folder) {
        cli_error("%s: %s", name.ptr ? name.ptr : report, strerror(errno));
        session_restore_signals();
    }
    hd_buf_fini(&name);
    return folder;
}

void prof_session_end(char *folder, bool is_kept)
{
    assert(session_is_open && !session_primary);
    if (!session_remove(folder, !is_kept) && is_kept)
        cli_error("what was recorded is in %s", folder);
    free(folder);
    session_is_open = false;
    session_restore_signals();
    if (session_pending)
        (void)raise(session_pending);
}

/* ---- the program */

/* The primary's status, when it or all have ended. */
static int session_wait(pid_t child, bool all)
{
    int status = 0, one;
    pid_t pid;

    while ((pid = waitpid(all ? -1 : child, &one, 0)) > 0 || errno == EINTR) {
        if (pid != child)
            continue;
        status = one;
        if (!all)
            break;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int prof_session_run(int (*become)(const void *state), const void *state, bool all)
{
    sigset_t all_signals, before;

    assert(session_is_open && !session_primary);
    (void)!prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    /* No signal between the fork and the moment at which both know whose it is. */
    (void)sigfillset(&all_signals);
    (void)sigprocmask(SIG_SETMASK, &all_signals, &before);
    pid_t child = fork();
    if (!child)
        session_restore_signals();
    else if (child > 0)
        session_primary = child;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0)
        return cli_error("%s", strerror(errno));
    if (!child)
        _exit(become(state));
    int code = session_wait(child, all);
    session_primary = 0;
    return code;
}
