/* See temporary.h. */
#include "common/temporary.h"

#include <assert.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/cli.h"

static const int temporary_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
static volatile pid_t temporary_child; /* for the handler */

/* What a terminal sends (Ctrl-C) reaches the child by itself. */
static void temporary_pass_on(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (temporary_child > 0 && sig != SIGPIPE && info->si_code != SI_KERNEL)
        (void)kill(temporary_child, sig);
}

static int temporary_remove_entry(const char *path, const struct stat *st, int type,
                                  struct FTW *where)
{
    (void)st, (void)type, (void)where;
    (void)remove(path);
    return 0;
}

/* The signals are held until the child and this process have each what is theirs. */
static int temporary_wait(const char *folder, temporary_work *work, void *state, int *out_status)
{
    struct sigaction before[HD_COUNT_OF(temporary_signals)],
        pass_on = {.sa_sigaction = temporary_pass_on, .sa_flags = SA_SIGINFO};
    sigset_t held, mask;
    int code = 0;

    (void)sigfillset(&held);
    (void)sigprocmask(SIG_SETMASK, &held, &mask);
    fflush(NULL);
    temporary_child = fork();
    if (!temporary_child) {
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        exit(work(folder, state));
    }
    for (size_t i = 0; i < HD_COUNT_OF(temporary_signals); i++)
        (void)sigaction(temporary_signals[i], &pass_on, &before[i]);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    while (temporary_child > 0 && (code = waitpid(temporary_child, out_status, 0)) < 0 &&
           errno == EINTR)
        ;
    if (temporary_child < 0)
        code = -1;
    temporary_child = 0;
    (void)nftw(folder, temporary_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < HD_COUNT_OF(temporary_signals); i++)
        (void)sigaction(temporary_signals[i], &before[i], NULL);
    return code;
}

int temporary_run(const char *prefix, temporary_work *work, void *state)
{
    const char *parent = getenv("TMPDIR");
    struct hd_buf path = {0};
    int status = 0, code = CLI_FAILED;

    assert(!temporary_child && !strchr(prefix, '/'));
    hd_buf_printf(&path, "%s/%s-XXXXXX", parent && *parent ? parent : "/tmp", prefix);
    if (path.failed || !mkdtemp(path.ptr))
        cli_error("%s: %s", path.ptr ? path.ptr : prefix, strerror(errno));
    else if (temporary_wait(path.ptr, work, state, &status) < 0)
        cli_error("%s", strerror(errno));
    else
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    hd_buf_fini(&path);
    if (WIFSIGNALED(status))
        (void)raise(WTERMSIG(status)); /* as it would have, had the work been done here */
    return code;
}
