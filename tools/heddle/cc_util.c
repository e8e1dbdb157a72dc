/* heddle cc: argument vectors, temporary files, running commands, finding the installation. */
#include "cc.h"

#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void cc_list_add(struct cc_list *list, const char *text)
{
    /* Keeps a NULL behind the last element, as exec wants. */
    if (!hd_vec_reserve(list, list->len + 2))
        abort();
    list->at[list->len++] = text;
    list->at[list->len] = NULL;
}

void cc_list_add_all(struct cc_list *list, const struct cc_list *more)
{
    for (size_t i = 0; i < more->len; i++)
        cc_list_add(list, more->at[i]);
}

static const char *format_args(const char *fmt, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    return text;
}

const char *cc_format(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = format_args(fmt, args);
    va_end(args);
    return text;
}

void cc_list_addf(struct cc_list *list, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cc_list_add(list, format_args(fmt, args));
    va_end(args);
}

void cc_list_add_split(struct cc_list *list, const char *commas)
{
    while (*commas) {
        size_t n = strcspn(commas, ",");
        if (n)
            cc_list_addf(list, "%.*s", (int)n, commas);
        commas += n + (commas[n] == ',');
    }
}

/* Quotes an argument when a shell would split it, so that printed commands can be pasted. */
static void print_command(const struct cc_list *command)
{
    for (size_t i = 0; i < command->len; i++) {
        bool plain = command->at[i][0] && !strpbrk(command->at[i], " \t\"'$&|;<>()*?\\");
        fprintf(stderr, plain ? "%s%s" : "%s'%s'", i ? " " : "", command->at[i]);
    }
    fputc('\n', stderr);
}

int cc_exec(const struct cc_job *job, const struct cc_list *command)
{
    pid_t pid;
    int status;
    if (job->verbose)
        print_command(command);
    if (job->dryrun)
        return 0;
    int err =
        posix_spawnp(&pid, command->at[0], NULL, NULL, (char *const *)(void *)command->at, environ);
    if (err) {
        fprintf(stderr, "heddle cc: cannot run %s: %s\n", command->at[0], strerror(err));
        return 127;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "heddle cc: %s died of signal %d\n", command->at[0], WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

const char *cc_stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return cc_format("%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

static const char *make_temp_dir(void)
{
    const char *base = getenv("TMPDIR");
    char *path = (char *)(uintptr_t)cc_format("%s/heddle-cc-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) {
        fprintf(stderr, "heddle cc: cannot make a directory in %s: %s\n", base ? base : "/tmp",
                strerror(errno));
        exit(1);
    }
    return path;
}

const char *cc_temp_path(struct cc_job *job, const char *source, const char *suffix)
{
    const char *path;
    if (job->keep)
        return cc_format("%s%s", cc_stem(source), suffix);
    if (!job->temp_dir)
        job->temp_dir = job->dryrun ? "/tmp" : make_temp_dir();
    path = cc_format("%s/%zu-%s%s", job->temp_dir, job->temps.len, cc_stem(source), suffix);
    cc_list_add(&job->temps, path);
    return path;
}

void cc_temp_cleanup(struct cc_job *job)
{
    if (job->dryrun || !job->temp_dir)
        return;
    for (size_t i = 0; i < job->temps.len; i++)
        (void)unlink(job->temps.at[i]);
    (void)rmdir(job->temp_dir);
}
