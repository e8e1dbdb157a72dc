/*
 * heddle check, which is compute-sanitizer as well: runs a program and shows what the checker in
 * its processes finds. check.h says what is where.
 */
#include "check/check.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/json.h"
#include "base/mem.h"
#include "common/cli.h"
#include "run.h"
#include "san/tool.h"

enum {
    EXIT_NO_CUDA = 255,
    SAVED_LINE_MAX_B = 1 << 20,
};
#define PROGRESS_NS 2000000000ull
#define SAVED_HEAD  "heddle-check 1"

/* ---- files */

static FILE *open_file(const char *option, const char *pattern, const char *mode)
{
    HD_AUTOFREE char *name = check_file_name(option, pattern);
    FILE *file = name ? fopen(name, mode) : NULL;

    if (name && !file)
        cli_error("--%s: %s: %s", option, name, strerror(errno));
    return file;
}

/* Also that what is written at the end can be written. */
static bool try_file(const char *option, const char *pattern)
{
    FILE *file = pattern ? open_file(option, pattern, "ae") : NULL;

    if (file)
        fclose(file);
    return file || !pattern;
}

/* What was asked for, so that a saved file is shown as the run was. */
static void save_head(struct check_session *s)
{
    struct hd_buf tools = {0};
    struct hd_json j;

#define X(NAME, name)                                                                              \
    if (s->tools & 1u << SAN_##NAME)                                                               \
        hd_buf_printf(&tools, "%s" #name, tools.len ? "," : "");
    SAN_TOOL_LIST(X)
#undef X
    hd_json_init(&j);
    j.on_line = true;
    hd_json_open(&j, NULL, '{');
    hd_json_str(&j, "record", "session");
    hd_json_u64(&j, "pid", 0);
    hd_json_str(&j, "tools", tools.ptr);
    hd_json_bool(&j, "leak_check", s->leak_check);
    hd_json_close(&j, '}');
    fprintf(s->save, SAVED_HEAD "\n%s\n", j.buf.ptr ? j.buf.ptr : "");
    s->failed |= j.buf.failed || tools.failed;
    hd_buf_fini(&j.buf);
    hd_buf_fini(&tools);
}

static bool open_files(struct check_session *s)
{
    const struct check_options *o = s->options;

    if (o->log_file && !(s->out = open_file("log-file", o->log_file, "we")))
        return false;
    if (o->suppressions && !(s->rules = check_rules_read(o->suppressions)))
        return false;
    FILE *save = o->save ? open_file("save", o->save, "we") : NULL;
    if (o->save && !save)
        return false;
    s->xml = o->xml ? save : NULL;
    s->save = o->xml ? NULL : save;
    if (s->xml)
        check_xml_begin(s->xml);
    if (s->save)
        save_head(s);
    return try_file("json", o->json) && try_file("html", o->html);
}

static bool close_file(FILE *file)
{
    if (!file || file == stdout)
        return fflush(stdout) == 0;
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

static bool close_files(struct check_session *s)
{
    if (s->xml)
        check_xml_end(s->xml);
    if (s->save)
        fprintf(s->save, "{\"record\": \"session\", \"pid\": 0, \"status\": %d}\n", s->status);
    bool good = close_file(s->xml);
    good = close_file(s->save) && good;
    good = close_file(s->out) && good;
    if (!good)
        cli_error("a file could not be written: %s", strerror(errno));
    return good && !s->failed;
}

static bool write_form(const struct check_session *s, const char *option, const char *pattern,
                       enum hd_status (*write)(const struct check_session *s, const char *path))
{
    HD_AUTOFREE char *name = pattern ? check_file_name(option, pattern) : NULL;

    if (!pattern)
        return true;
    if (!name || write(s, name) != HD_OK) {
        cli_error("--%s: %s", option, hd_error_message());
        return false;
    }
    return true;
}

/* ---- records */

static void take(struct check_session *s, const char *text, size_t len)
{
    if (check_session_take(s, text, len) == HD_OK)
        return;
    check_line(s, "Internal Error: a record of the program is malformed: %s", hd_error_message());
    s->failed = true;
}

/* So that nobody takes a program that is slower under the checker for one that hangs: at 2, 4, 8 ..
 * seconds, in lines of its own, because the program writes to the terminal, too. */
static void report_progress(const struct check_session *s, uint64_t *next_ns, uint64_t begin_ns)
{
    uint64_t passed_ns = hd_clock_ns(CLOCK_MONOTONIC) - begin_ns;
    uint64_t found = s->totals.errors + s->totals.hazards + s->totals.orders;

    if (begin_ns + passed_ns < *next_ns)
        return;
    fprintf(stderr, "heddle: %s: %.0f s, %llu finding%s so far\n", cli_name(),
            (double)passed_ns / 1e9, (unsigned long long)found, found == 1 ? "" : "s");
    *next_ns = begin_ns + 2 * passed_ns;
}

/* 0, or an exit status: the program was not started. */
static int run_program(struct check_session *s)
{
    const struct check_options *o = s->options;
    struct check_run *run = check_run_start(o);
    uint64_t begin_ns = hd_clock_ns(CLOCK_MONOTONIC), quiet_ns = UINT64_MAX;
    uint64_t progress_ns = isatty(STDERR_FILENO) && !o->quiet ? begin_ns + PROGRESS_NS : UINT64_MAX;
    uint64_t launch_ns =
        o->launch_timeout ? begin_ns + o->launch_timeout * 1000000000u : UINT64_MAX;
    bool timed_out;
    char *text;
    size_t len;

    if (!run)
        return RUN_NOT_FOUND;
    for (;;) {
        uint64_t until_ns = HD_MIN(HD_MIN(launch_ns, progress_ns), quiet_ns);
        text = check_run_next(run, until_ns, &len, &timed_out);
        if (!text && !timed_out)
            break;
        assert(!text || !timed_out);
        if (text) {
            launch_ns = UINT64_MAX;
            take(s, text, len);
        } else if (hd_clock_ns(CLOCK_MONOTONIC) >= launch_ns) {
            launch_ns = UINT64_MAX;
            check_line(s, "Error: No attachable process found. %s timed-out.", o->as);
            if (o->kill)
                check_run_kill(run);
            else
                check_line(s, "Awaiting target completion.");
            fflush(s->out);
        }
        report_progress(s, &progress_ns, begin_ns);
        uint64_t now_ns = hd_clock_ns(CLOCK_MONOTONIC);
        if (now_ns >= quiet_ns || quiet_ns == UINT64_MAX) /* none is due before that one */
            quiet_ns = check_session_print_quiet(s, now_ns);
        hd_free(text);
    }
    s->status = check_run_finish(run);
    return 0;
}

static int bad_file(const char *path, size_t line, const char *why)
{
    return cli_error("--read: %s:%zu: %s", path, line, why);
}

static int read_lines(struct check_session *s, FILE *file)
{
    const char *path = s->options->read;
    HD_AUTOFREE char *line = hd_alloc(SAVED_LINE_MAX_B);

    for (size_t n = 1; line && fgets(line, SAVED_LINE_MAX_B, file); n++) {
        size_t len = strlen(line);
        if (!len || line[len - 1] != '\n')
            return bad_file(path, n, "the line does not end");
        line[len - 1] = '\0';
        if (n == 1 && strcmp(line, SAVED_HEAD) != 0)
            return bad_file(path, n, "this is no file of heddle check --save");
        if (n > 1 && check_session_take(s, line, len - 1) != HD_OK)
            return bad_file(path, n, hd_error_message());
    }
    return ferror(file) || !line ? cli_error("--read: %s cannot be read", path) : 0;
}

static int read_saved(struct check_session *s)
{
    FILE *file = fopen(s->options->read, "re");
    int code =
        file ? read_lines(s, file) : cli_error("--read: %s: %s", s->options->read, strerror(errno));

    if (file)
        fclose(file);
    return code;
}

/* ---- the end */

/* The signal by which somebody ended it; NULL: it was an error of its own. */
static const char *interruption(int status)
{
    switch (status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0) {
    case SIGINT:
        return "SIGINT";
    case SIGQUIT:
        return "SIGQUIT";
    case SIGTERM:
        return "SIGTERM";
    case SIGHUP:
        return "SIGHUP";
    default:
        return NULL;
    }
}

static void print_end(struct check_session *s)
{
    const struct check_options *o = s->options;
    bool ended = s->status >= 0;

    if (ended && !s->totals.processes && o->require_cuda_init)
        check_line(s, "Error: Target application terminated before first instrumented API call");
    if (ended && !s->totals.processes && o->require_cuda_init && !o->quiet)
        check_line(s, "It made no call of CUDA. If it need not, --require-cuda-init no");
    if (ended && o->check_exit_code && s->status) {
        if (WIFSIGNALED(s->status))
            check_line(s, "Error: process didn't terminate successfully");
        check_line(s, "Target application returned an error");
    }
    if (interruption(s->status))
        check_line(s,
                   "It was interrupted (%s): what is shown is what was found until then, and "
                   "incomplete",
                   interruption(s->status));
    check_session_print_summary(s);
}

static int result(const struct check_session *s)
{
    const struct check_options *o = s->options;
    bool found = s->totals.errors || s->totals.hazards || s->totals.order_errors;

    if (s->status > 0) /* the program's own, as shells have it */
        return WIFEXITED(s->status) ? WEXITSTATUS(s->status) : 128 + WTERMSIG(s->status);
    if (s->status == 0 && !s->totals.processes && o->require_cuda_init)
        return EXIT_NO_CUDA;
    return found ? (int)o->error_exitcode : CLI_OK;
}

static int finish(struct check_session *s)
{
    check_session_total(s);
    print_end(s);
    bool written = write_form(s, "json", s->options->json, check_json_write);
    written &= write_form(s, "html", s->options->html, check_html_write);
    written &= close_files(s);
    return written ? result(s) : CLI_FAILED;
}

static int check(const struct check_options *options)
{
    struct check_session s;

    check_session_init(&s, options);
    int code = open_files(&s) ? 0 : CLI_FAILED;
    s.colors = s.out == stdout && *cli_style(stdout, CLI_BOLD);
    if (!code && !options->quiet)
        check_line(&s, "COMPUTE-SANITIZER");
    if (!code)
        fflush(s.out);
    if (!code)
        code = options->read ? read_saved(&s) : run_program(&s);
    if (!code)
        code = finish(&s);
    check_rules_free(s.rules);
    check_session_fini(&s);
    return code;
}

/* A program that cannot work on Heddle is refused as `heddle run` does. */
static int run_or_read(const struct check_options *o)
{
    if (o->read)
        return check(o);
    HD_AUTOFREE char *path = run_find_program(o->command[0]);
    if (!path)
        return run_not_found(o->command[0]);
    return run_check_program(path) ? CLI_FAILED : check(o);
}

int cmd_check(int argc, char **argv)
{
    struct check_options options;
    int code = check_options_parse(argc, argv, &options);

    if (code < 0)
        code = run_or_read(&options);
    check_options_fini(&options);
    return code;
}
