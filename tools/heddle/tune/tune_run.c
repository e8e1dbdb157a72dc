/* See tune.h: one run. The program's output goes to a file, which is shown when it fails. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "common/child.h"
#include "common/cli.h"
#include "run.h"
#include "tune/tune.h"
#include "tune/tune_tool.h"

enum { SHOWN_B = 4096, OUTPUT_MAX_B = 64 << 20 }; /* of the end of what a program wrote */

/* A file of the session's folder. */
static void path_of(const struct tune_session *s, const char *name, char out[4096])
{
    (void)snprintf(out, 4096, "%s/%s", s->folder, name);
}

static bool set_path(const struct tune_session *s, const char *variable, const char *name)
{
    char path[4096];

    path_of(s, name, path);
    return setenv(variable, path, 1) == 0;
}

static bool append_env(const char *variable, const char *word)
{
    const char *old = getenv(variable);
    struct hd_buf text = {0};
    bool good;

    hd_buf_printf(&text, "%s%s%s", old && *old ? old : "", old && *old ? "," : "", word);
    good = !text.failed && setenv(variable, text.ptr, 1) == 0;
    hd_buf_fini(&text);
    return good;
}

struct become {
    const struct tune_session *session;
    bool (*set)(const struct tune_session *s);
};

/* In the child: an exit status when the program cannot be executed. */
static int become(void *state)
{
    const struct become *b = state;
    const struct tune_session *s = b->session;
    char path[4096];
    int fd;

    path_of(s, "output", path);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 || !b->set(s) ||
        (s->args->device && setenv("HEDDLE_DEVICE", s->args->device, 1)) || run_set_environment())
        return RUN_CANNOT;
    return run_execute(s->path, s->args->program);
}

static bool execute(struct tune_session *s, bool (*set)(const struct tune_session *s))
{
    uint64_t begin_ns = hd_clock_ns(CLOCK_MONOTONIC);
    struct become state = {s, set};
    int status = 0;
    bool good;

    child_signals_hold();
    good = child_run(become, &state, false, &status);
    child_signals_release();
    s->seconds += (double)(hd_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
    s->runs++;
    if (good && !status)
        return true;
    if (good) {
        struct hd_buf text = {0};
        char path[4096];
        size_t from;

        path_of(s, "output", path);
        if (hd_file_read(path, OUTPUT_MAX_B, &text) == HD_OK && text.len) {
            from = text.len > SHOWN_B ? text.len - SHOWN_B : 0;
            fprintf(stderr, "%s%s%s", from ? "...\n" : "", text.ptr + from,
                    text.ptr[text.len - 1] == '\n' ? "" : "\n");
        }
        hd_buf_fini(&text);
        cli_error("%s ended with status %d in run %u; nothing is chosen", s->args->program[0],
                  child_exit_code(status), s->runs);
    } else {
        cli_error("%s", strerror(errno));
    }
    return false;
}

/* ---- the profile of blocks, by which static costs are made */

static bool set_recording(const struct tune_session *s)
{
    return set_path(s, "HEDDLE_PROFILE", "profile");
}

bool tune_run_prepare(struct tune_session *s)
{
    if (s->evaluator->kind != TUNE_STATIC || hd_env("HEDDLE_PROFILE_USE"))
        return true;
    return execute(s, set_recording);
}

/* ---- a run with points */

static bool set_points(const struct tune_session *s)
{
    char profile[4096];

    path_of(s, "profile", profile);
    /* Costs are told by the profile; code is made as it will be without it. */
    if (access(profile, R_OK) == 0 && (setenv("HEDDLE_PROFILE_USE", profile, 1) ||
                                       !append_env("HEDDLE_SKIP_PASS", "isa_profile")))
        return false;
    /* All launches run the code that is to be judged. */
    return append_env("HEDDLE_DEBUG", "sync") && set_path(s, "HEDDLE_TUNING", "points") &&
           set_path(s, "HEDDLE_TUNE", "measured");
}

/* Processes of one run are one measurement. */
static void fold(const struct tune_session *s, struct tune_kernel *kernel)
{
    size_t n = 0;

    for (size_t i = 0; i < kernel->measures.len; i++) {
        struct tune_measure m = kernel->measures.at[i];
        size_t k = 0;

        while (k < n && (kernel->measures.at[k].evaluator != m.evaluator ||
                         !tune_same(&kernel->measures.at[k].point, &m.point)))
            k++;
        if (k < n && tune_evaluator(m.evaluator)->kind != TUNE_STATIC)
            kernel->measures.at[k].cost += m.cost;
        else if (k == n && tune_evaluator(m.evaluator) == s->evaluator)
            kernel->measures.at[n++] = m;
    }
    kernel->measures.len = n;
}

/* What all runs tell alike is kept once. */
static void drop_known(const struct tune_session *s, struct tune_kernel *kernel)
{
    const struct tune_kernel *known =
        tune_base_find(&s->base, kernel->device, kernel->name, kernel->hash);
    size_t n = 0;

    for (size_t i = 0; i < kernel->measures.len; i++) {
        const struct tune_measure *m = &kernel->measures.at[i];
        uint64_t cost;
        unsigned runs;

        if (!known || tune_evaluator(m->evaluator)->kind == TUNE_REPEATED ||
            !tune_median(known, m->evaluator, &m->point, &cost, &runs))
            kernel->measures.at[n++] = *m;
    }
    assert(n <= kernel->measures.len);
    kernel->measures.len = n;
}

static enum hd_status keep_measured(struct tune_session *s)
{
    struct tune_base fresh;
    enum hd_status status;

    tune_base_init(&fresh);
    status = tune_base_merge(&fresh, &s->measured);
    for (size_t i = 0; i < fresh.kernels.len; i++)
        drop_known(s, &fresh.kernels.at[i]);
    if (status == HD_OK)
        status = tune_base_merge(&s->base, &fresh);
    if (status == HD_OK)
        status = tune_base_write(&fresh, s->args->file);
    tune_base_fini(&fresh);
    return status;
}

static enum hd_status take_measured(struct tune_session *s)
{
    enum hd_status status;
    char path[4096];

    tune_base_fini(&s->measured);
    path_of(s, "measured", path);
    status = tune_base_read(path, &s->measured);
    if (status != HD_OK)
        tune_base_init(&s->measured);
    if (status == HD_NOT_FOUND)
        return hd_error(HD_NOT_FOUND,
                        "no kernel of the program was compiled for this device: it has none to "
                        "launch, or ended without exit()");
    HD_TRY(status);
    (void)unlink(path);
    for (size_t i = 0; i < s->measured.kernels.len; i++)
        fold(s, &s->measured.kernels.at[i]);
    return keep_measured(s);
}

bool tune_run(struct tune_session *s, const struct tune_base *chosen)
{
    struct hd_buf text = {0};
    enum hd_status status;
    char path[4096];

    assert(*s->folder == '/' && s->path); /* the program may change its folder */
    path_of(s, "points", path);
    tune_base_print(chosen, &text);
    status =
        text.failed ? hd_error(HD_NO_MEMORY, "no memory") : hd_file_write(path, text.ptr, text.len);
    hd_buf_fini(&text);
    if (status == HD_OK && !execute(s, set_points))
        return false;
    if (status == HD_OK)
        status = take_measured(s);
    if (status != HD_OK)
        cli_error("%s", hd_error_message());
    return status == HD_OK;
}
