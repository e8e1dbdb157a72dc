/* heddle cc: argument vectors, temporary files, running commands, finding the installation. */
#include "cc/cc.h"
#include "cc/cc_options.h"
#include "common/cli.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define PROGRESS_MS 500

void cc_list_add(struct cc_list *list, const char *text)
{
    /* Keeps a NULL behind the last element, as exec wants. */
    if (!hd_vec_reserve(list, list->len + 2))
        abort();
    assert(text && (!list->len || !list->at[list->len]));
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

void cc_list_add_split(struct cc_list *list, const char *text, const char *separators)
{
    while (*(text += strspn(text, separators))) {
        size_t n = strcspn(text, separators);
        cc_list_addf(list, "%.*s", (int)n, text);
        text += n;
    }
}

/* What nvcc makes of the text: commas become blanks outside of double quotes, backslashes go. */
static void forwarded(const char *text, struct hd_buf *out)
{
    bool quoted = false;

    for (; *text; text++) {
        if (*text == '\\' && text[1]) {
            hd_buf_putc(out, *++text);
            continue;
        }
        quoted ^= *text == '"';
        hd_buf_putc(out, *text == ',' && !quoted ? ' ' : *text);
    }
}

void cc_list_add_forwarded(struct cc_list *list, const char *text)
{
    struct hd_buf line = {0}, word = {0};
    bool is_word = false;
    char quote = 0;

    forwarded(text, &line);
    for (const char *at = line.ptr ? line.ptr : "";; at++) {
        if (!quote && (!*at || *at == ' ' || *at == '\t')) {
            if (is_word)
                cc_list_addf(list, "%s", word.ptr ? word.ptr : "");
            hd_buf_clear(&word);
            is_word = false;
        } else if (*at && (*at == quote || (!quote && strchr("\"'", *at)))) {
            quote = quote ? 0 : *at;
            is_word = true;
        } else if (*at) {
            bool escapes =
                *at == '\\' && at[1] && quote != '\'' && (!quote || strchr("\"\\$`", at[1]));

            hd_buf_putc(&word, *(at += escapes));
            is_word = true;
        }
        if (!*at)
            break;
    }
    hd_buf_fini(&line);
    hd_buf_fini(&word);
}

bool cc_is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Quotes an argument when a shell would split it, so that printed commands can be pasted. */
void cc_print_words(const struct cc_list *words)
{
    for (size_t i = 0; i < words->len; i++) {
        bool plain = words->at[i][0] && !strpbrk(words->at[i], " \t\"'$&|;<>()*?\\");
        fprintf(stderr, plain ? "%s%s" : "%s'%s'", i ? " " : "", words->at[i]);
    }
    fputc('\n', stderr);
}

static void print_command(const struct cc_job *job, const struct cc_list *command)
{
    if (job->as_nvcc)
        fputs("#$ ", stderr);
    cc_print_words(command);
}

/* -time: a line for each command. */
static void add_time(const struct cc_job *job, const char *program, const struct timespec *start)
{
    struct timespec end;
    bool to_stdout = strcmp(job->time_file, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(job->time_file, "a");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (!file) {
        cli_error("%s: %s", job->time_file, strerror(errno));
        return;
    }
    fprintf(file, "%s, %.1f ms\n", program,
            (double)(end.tv_sec - start->tv_sec) * 1e3 +
                (double)(end.tv_nsec - start->tv_nsec) / 1e6);
    if (!to_stdout)
        (void)fclose(file);
}

/* Shows what a command does as long as it runs. Not when make or its like called: several of us
 * would write to one line. */
static void show_progress(const struct cc_job *job, pid_t pid, const struct timespec *start)
{
    int child = getpgrp() == getpid() ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd end = {.fd = child, .events = POLLIN};

    if (child < 0)
        return;
    while (poll(&end, 1, PROGRESS_MS) == 0) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        cli_progress("%s, %d s", job->doing, (int)(now.tv_sec - start->tv_sec));
    }
    cli_progress_end();
    (void)close(child);
}

static int wait_for(pid_t pid, const char *program)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    if (WIFSIGNALED(status)) {
        cli_error("%s died of signal %d", program, WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

int cc_exec_logged(const struct cc_job *job, const struct cc_list *command, const char *log)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    struct timespec start;
    assert(command->len && !command->at[command->len]);
    if (job->verbose)
        print_command(job, command);
    if (job->dryrun)
        return 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    int err = posix_spawn_file_actions_init(&files);
    if (!err && log)
        err = posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!err)
        err = posix_spawnp(&pid, command->at[0], &files, NULL, (char *const *)(void *)command->at,
                           environ);
    (void)posix_spawn_file_actions_destroy(&files);
    if (err) {
        cli_error("cannot run %s: %s", command->at[0], strerror(err));
        return 127;
    }
    if (job->doing)
        show_progress(job, pid, &start);
    int rc = wait_for(pid, command->at[0]);
    if (job->time_file)
        add_time(job, command->at[0], &start);
    return rc;
}

int cc_exec(const struct cc_job *job, const struct cc_list *command)
{
    return cc_exec_logged(job, command, NULL);
}

size_t cc_stem_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - path) : strlen(path);
}

const char *cc_stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    assert(cc_stem_len(path) >= (size_t)(name - path)); /* of the same name */
    return cc_format("%.*s", (int)(cc_stem_len(path) - (size_t)(name - path)), name);
}

static const char *make_temp_dir(void)
{
    const char *base = getenv("TMPDIR");
    char *path = (char *)(uintptr_t)cc_format("%s/heddle-cc-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path)) {
        cli_error("cannot make a directory in %s: %s", base ? base : "/tmp", strerror(errno));
        exit(1);
    }
    return path;
}

const char *cc_temp_path(struct cc_job *job, const char *source, const char *suffix)
{
    const char *path;
    if (job->keep)
        return cc_format("%s%s%s%s", job->keep_dir ? job->keep_dir : "", job->keep_dir ? "/" : "",
                         cc_stem(source), suffix);
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
    for (size_t i = 0; i < job->temps.len; i++) {
        assert(!strncmp(job->temps.at[i], job->temp_dir, strlen(job->temp_dir)));
        (void)unlink(job->temps.at[i]);
    }
    (void)rmdir(job->temp_dir);
}

int cc_usage(const char *what, const char *text)
{
    return cli_usage("%s: '%s'", what, text);
}
