/* heddle replay: tries the forms of a reported kernel again. */
#include "replay.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cli.h"
#include "base/text/json.h"

#define LIMIT_DEFAULT_S 60

static const char help[] =
    "usage: heddle replay [--cpu PATH] [--run] [--limit SECONDS] [--json] REPORT\n"
    "\n"
    "Reads a report that a program left in HEDDLE_REPORT=dir when a kernel could not be made in\n"
    "its fast form, compiles that kernel in each form, and says which work and why the others do\n"
    "not. Attach the report to a bug report: it holds the kernel, not your data.\n"
    "\n"
    "options:\n"
    "  --cpu PATH       compile for avx512, avx2 or generic instead of the report's path\n"
    "  --run            launch it too, on a small grid with made-up arguments, in each form and "
    "on\n"
    "                   the reference interpreter, and compare the bytes it wrote\n"
    "  --limit SECONDS  for each attempt; default 60\n"
    "  --json           machine-readable output\n"
    "  -h, --help       this text\n"
    "\n"
    "exit status: 0 every form works and gives the same, 1 not, or no such report, 2 wrong usage\n";

struct options {
    const char *file;
    const char *cpu;
    unsigned limit_s;
    bool run, json;
};

/* Of one form; the last row, JIT_FORM_COUNT, is the reference device. */
struct outcome {
    enum replay_end compile_end, run_end;
    struct jit_replay compile;
    struct replay_launch run;
};

struct replay {
    struct options options;
    struct jit_report report;
    enum jit_path path;
    char features[512];
    struct outcome at[JIT_FORM_COUNT + 1];
};

/* ---- processes */

/* Reads exactly size_B bytes before the deadline. */
static bool replay_read_within(int fd, void *out, size_t size_B, unsigned limit_s)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char *at = out;

    while (size_B) {
        int n = poll(&ready, 1, (int)limit_s * 1000);
        if (n <= 0 && errno == EINTR)
            continue;
        ssize_t got = n > 0 ? read(fd, at, size_B) : -1;
        if (got <= 0)
            return false;
        at += got;
        size_B -= (size_t)got;
    }
    return true;
}

enum replay_end replay_apart(void (*work)(void *arg, void *out), void *arg, void *out,
                             size_t size_B, unsigned limit_s)
{
    int ends[2], status = 0;

    assert(size_B && limit_s);
    fflush(NULL);
    if (pipe(ends))
        return REPLAY_CRASHED;
    pid_t child = fork();
    if (child == 0) {
        alarm(limit_s);
        work(arg, out);
        _exit(write(ends[1], out, size_B) != (ssize_t)size_B);
    }
    close(ends[1]);
    bool got = child > 0 && replay_read_within(ends[0], out, size_B, limit_s + 1);
    if (child > 0 && !got)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    if (got)
        return REPLAY_FINE;
    bool late = WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGKILL);
    return late ? REPLAY_LATE : REPLAY_CRASHED;
}

/* ---- the work */

struct attempt {
    struct replay *replay;
    enum jit_form form;
};

static void replay_compile_work(void *arg, void *out)
{
    const struct attempt *a = arg;
    struct jit_replay *result = out;

    if (jit_replay_form(&a->replay->report, a->replay->path, a->replay->features, a->form,
                        result) != HD_OK)
        snprintf(result->reason, sizeof(result->reason), "%s", hd_error_message());
}

static void replay_run_work(void *arg, void *out)
{
    const struct attempt *a = arg;

    replay_launch(&a->replay->report, a->replay->path, a->form, out);
}

static void replay_form(struct replay *r, enum jit_form form)
{
    struct outcome *o = &r->at[form];
    struct attempt attempt = {r, form};
    unsigned limit_s = r->options.limit_s;

    assert(form <= JIT_FORM_COUNT);
    if (form < JIT_FORM_COUNT) {
        o->compile_end =
            replay_apart(replay_compile_work, &attempt, &o->compile, sizeof(o->compile), limit_s);
        if (o->compile_end == REPLAY_FINE && !o->compile.works)
            o->compile_end = REPLAY_FAILED;
    }
    if (!r->options.run || o->compile_end != REPLAY_FINE)
        return;
    o->run_end = replay_apart(replay_run_work, &attempt, &o->run, sizeof(o->run), limit_s);
    if (o->run_end == REPLAY_FINE && !o->run.worked)
        o->run_end = REPLAY_FAILED;
}

static const char *replay_end_text(enum replay_end end)
{
    static const char *const texts[] = {
#define X(name, text) text,
        REPLAY_END_LIST(X)
#undef X
    };
    assert(end < HD_COUNT_OF(texts));
    return texts[end];
}

static const char *replay_row_name(enum jit_form form)
{
    return form < JIT_FORM_COUNT ? jit_form_name(form) : "reference";
}

/* Is this row as it should be? */
static bool replay_row_is_fine(const struct replay *r, enum jit_form form)
{
    const struct outcome *o = &r->at[form], *want = &r->at[JIT_FORM_COUNT];

    assert(form <= JIT_FORM_COUNT);
    if (o->compile_end != REPLAY_FINE)
        return false;
    return !r->options.run || (o->run_end == REPLAY_FINE && o->run.hash == want->run.hash);
}

/* ---- output */

static void replay_print_text(const struct replay *r)
{
    const struct jit_report *report = &r->report;

    printf("kernel   %.*s, %.*s\n", (int)report->kernel.len, report->kernel.ptr,
           (int)report->launch_class.len, report->launch_class.ptr);
    printf("from     Heddle %.*s on %.*s, path %.*s, LLVM %.*s\n", (int)report->version.len,
           report->version.ptr, (int)report->cpu.len, report->cpu.ptr, (int)report->path.len,
           report->path.ptr, (int)report->llvm.len, report->llvm.ptr);
    printf("was      %.*s: %.*s\n", (int)report->form.len, report->form.ptr,
           (int)report->reason.len, report->reason.ptr);
    printf("here     path %s %s\n", jit_path_name(r->path), r->features);
    for (enum jit_form f = 0; f <= (r->options.run ? JIT_FORM_COUNT : JIT_INTERP); f++) {
        const struct outcome *o = &r->at[f];
        printf("%-12s", replay_row_name(f));
        if (f < JIT_INTERP)
            printf(" compiles: %s, %.1f ms, %llu bytes", replay_end_text(o->compile_end),
                   (double)o->compile.time_us / 1e3, (unsigned long long)o->compile.object_B);
        if (r->options.run && o->compile_end == REPLAY_FINE)
            printf(" runs: %s, %016llx", replay_end_text(o->run_end),
                   (unsigned long long)o->run.hash);
        else if (f == JIT_INTERP)
            printf(" no code");
        printf("%s%s%s%s\n", o->compile.reason[0] ? ": " : "", o->compile.reason,
               o->run.reason[0] ? ": " : "", o->run.reason);
    }
}

static void replay_print_json(const struct replay *r)
{
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
#define X(name, doc) hd_json_view(&j, #name, r->report.name);
    JIT_REPORT_FIELD_LIST(X)
#undef X
    hd_json_str(&j, "replay_path", jit_path_name(r->path));
    hd_json_str(&j, "replay_features", r->features);
    hd_json_open(&j, "forms", '[');
    for (enum jit_form f = 0; f <= (r->options.run ? JIT_FORM_COUNT : JIT_INTERP); f++) {
        const struct outcome *o = &r->at[f];
        hd_json_open(&j, NULL, '{');
        hd_json_str(&j, "form", replay_row_name(f));
        hd_json_str(&j, "compiles", replay_end_text(o->compile_end));
        hd_json_u64(&j, "time_us", o->compile.time_us);
        hd_json_u64(&j, "object_B", o->compile.object_B);
        hd_json_str(&j, "reason", o->compile.reason);
        hd_json_str(&j, "runs", r->options.run ? replay_end_text(o->run_end) : NULL);
        hd_json_u64(&j, "hash", o->run.hash);
        hd_json_str(&j, "run_reason", o->run.reason);
        hd_json_bool(&j, "fine", replay_row_is_fine(r, f));
        hd_json_close(&j, '}');
    }
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    hd_json_print(&j);
}

/* ---- the command */

static bool replay_path_named(const char *name, enum jit_path *out)
{
    for (int p = JIT_GENERIC; p <= JIT_AVX512; p++) {
        if (strcmp(name, jit_path_name((enum jit_path)p)))
            continue;
        *out = (enum jit_path)p;
        return true;
    }
    return false;
}

static int replay_choose_path(struct replay *r)
{
    const struct jit_report *report = &r->report;

    if (r->options.cpu) {
        if (!replay_path_named(r->options.cpu, &r->path)) {
            cli_error("--cpu %s: expected avx512, avx2 or generic", r->options.cpu);
            return CLI_USAGE;
        }
        return CLI_OK;
    }
    if (!jit_report_path(report, &r->path))
        return cli_error("the report's path '%.*s' is not known", (int)report->path.len,
                         report->path.ptr);
    snprintf(r->features, sizeof(r->features), "%.*s", (int)report->features.len,
             report->features.ptr);
    return CLI_OK;
}

/* CLI_OK, or what to end with; *out_over: nothing is left to do. */
static int replay_options_parse(int argc, char **argv, struct options *o, bool *out_over)
{
    uint64_t n;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            *out_over = true;
            return cli_help(help);
        }
        if (!strcmp(argv[i], "--json")) {
            o->json = true;
        } else if (!strcmp(argv[i], "--run")) {
            o->run = true;
        } else if (!strcmp(argv[i], "--cpu") && i + 1 < argc) {
            o->cpu = argv[++i];
        } else if (!strcmp(argv[i], "--limit") && i + 1 < argc &&
                   hd_str_to_u64(hd_str_from(argv[i + 1]), 10, &n) && n && n <= 86400) {
            o->limit_s = (unsigned)n;
            i++;
        } else if (argv[i][0] == '-' || o->file) {
            return cli_usage("unexpected argument '%s'", argv[i]);
        } else {
            o->file = argv[i];
        }
    }
    if (o->file)
        return CLI_OK;
    return cli_usage("no report given");
}

int cmd_replay(int argc, char **argv)
{
    static struct replay r;
    bool over = false, fine = true;

    r.options = (struct options){.limit_s = LIMIT_DEFAULT_S, .json = cli_json()};
    int code = replay_options_parse(argc, argv, &r.options, &over);
    if (code != CLI_OK || over)
        return code;
    if (jit_report_read(r.options.file, &r.report) != HD_OK)
        return cli_error("%s", hd_error_message());
    code = replay_choose_path(&r);
    if (code == CLI_OK && r.options.run && !r.report.ptx.len)
        code = cli_error("the report holds no PTX, so its kernel cannot be launched");
    for (int f = JIT_FORM_COUNT; code == CLI_OK && f >= 0; f--) {
        replay_form(&r, (enum jit_form)f);
        fine &= replay_row_is_fine(&r, (enum jit_form)f);
    }
    if (code == CLI_OK)
        r.options.json ? replay_print_json(&r) : replay_print_text(&r);
    jit_report_fini(&r.report);
    return code != CLI_OK ? code : fine ? CLI_OK : CLI_FAILED;
}
