/*
 * heddle advise: reads a report, or has one made, asks each rule (src/advise), and prints
 * what they found, by what it would gain.
 */
#include "advise/advise_show.h"

#include <assert.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "common/cli.h"
#include "common/temporary.h"
#include "prof/prof_db.h"
#include "run.h"

enum {
    EXIT_FOUND = 3,
    OPT_JSON = 256,
    OPT_HTML,
    OPT_EXPLAIN,
    OPT_FAIL_ON,
    OPT_MIN_GAIN,
    OPT_RULES,
    OPT_LIMIT,
    OPT_PROF,
    OPT_KERNEL,
};

static const char help[] =
    "usage: heddle advise [OPTIONS] REPORT.sqlite\n"
    "       heddle advise [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Says what makes a program slow, and what would be gained by a change, from a report of "
    "`heddle\n"
    "prof` or Nsight Systems (its SQLite file), or from a run of the program that is recorded for\n"
    "it. Findings come in the order of their gain, which is replayed on the recorded timeline; "
    "what\n"
    "gains little is not told. Counters of `heddle prof --kernel`, where the report has some, "
    "tell\n"
    "of the kernels' inside.\n"
    "\n"
    "  -o, --output NAME        keep the recording, NAME.sqlite\n"
    "  -f, --force-overwrite    replace a recording of that name\n"
    "      --kernel             also count what the kernels execute, for findings inside them: "
    "the\n"
    "                           program runs twice, as counting makes its kernels take longer\n"
    "      --prof WORD          for the recording (with --kernel: the second, which counts): an\n"
    "                           option of `heddle prof`, or its value; more than once, in order\n"
    "      --json               findings as JSON\n"
    "  -w, --write FILE         write the findings there instead of to stdout\n"
    "      --html FILE          also write a page\n"
    "      --explain FILE       also write all evidence as a text for a language model "
    "(Markdown);\n"
    "                           nothing is sent anywhere\n"
    "      --min-gain PERCENT   tell nothing that gains less (default: 2; 0: all)\n"
    "      --fail-on SEVERITY   exit with 3 when a finding is that severe: low, medium, high\n"
    "      --limit EVENTS       judge only the beginning of a longer run (default: 8000000 calls,\n"
    "                           kernels and copies, which need about 1.5 GB of memory)\n"
    "      --rules              list the rules\n"
    "  -h, --help               this text\n"
    "\n"
    "exit status: of the program when that is not 0; 0 done, 1 failed, 2 wrong usage, 3 see\n"
    "--fail-on, 126 the program cannot be run, 127 it was not found\n";

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"force-overwrite", no_argument, NULL, 'f'},
    {"write", required_argument, NULL, 'w'},
    {"json", no_argument, NULL, OPT_JSON},
    {"html", required_argument, NULL, OPT_HTML},
    {"explain", required_argument, NULL, OPT_EXPLAIN},
    {"fail-on", required_argument, NULL, OPT_FAIL_ON},
    {"min-gain", required_argument, NULL, OPT_MIN_GAIN},
    {"limit", required_argument, NULL, OPT_LIMIT},
    {"kernel", no_argument, NULL, OPT_KERNEL},
    {"prof", required_argument, NULL, OPT_PROF},
    {"rules", no_argument, NULL, OPT_RULES},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct advise_args {
    const char *output, *to, *html, *explain;
    double min_gain;
    uint64_t limit;
    int fail_on; /* -1: nothing */
    bool json, overwrite, kernel;
    HD_VEC(char *) prof; /* words for `heddle prof` */
    char **rest;
};

/* ---- options */

static int bad_value(const char *option, const char *value)
{
    return cli_usage("%s: '%s' is not possible", option, value);
}

static int list_rules(void)
{
    for (size_t i = 0; i < advise_rule_count; i++)
        printf("  %-18s %s\n", advise_rules[i].id, advise_rules[i].title);
    return CLI_OK;
}

static int read_severity(struct advise_args *args)
{
    for (size_t i = 0; i < HD_COUNT_OF(advise_severity_words); i++)
        if (strcmp(optarg, advise_severity_words[i]) == 0) {
            args->fail_on = (int)i;
            return -1;
        }
    return bad_value("--fail-on", optarg);
}

static int read_percent(struct advise_args *args)
{
    char *end;
    double value = strtod(optarg, &end);

    if (end == optarg || *end || !(value >= 0 && value <= 100))
        return bad_value("--min-gain", optarg);
    args->min_gain = value / 100;
    return -1;
}

/* -1, or an exit status. */
static int take_option(int option, struct advise_args *args)
{
    switch (option) {
    case 'o':
        args->output = optarg;
        return *optarg ? -1 : bad_value("--output", optarg);
    case 'f':
        args->overwrite = true;
        return -1;
    case 'w':
        args->to = optarg;
        return -1;
    case OPT_JSON:
        args->json = true;
        return -1;
    case OPT_HTML:
        args->html = optarg;
        return -1;
    case OPT_EXPLAIN:
        args->explain = optarg;
        return -1;
    case OPT_FAIL_ON:
        return read_severity(args);
    case OPT_MIN_GAIN:
        return read_percent(args);
    case OPT_LIMIT:
        return hd_str_to_u64(hd_str_from(optarg), 10, &args->limit) && args->limit
                   ? -1
                   : bad_value("--limit", optarg);
    case OPT_KERNEL:
        args->kernel = true;
        return -1;
    case OPT_PROF:
        return hd_vec_push(&args->prof, optarg) ? -1 : cli_error("out of memory");
    case OPT_RULES:
        return list_rules();
    case 'h':
        return cli_help(help);
    default:
        return CLI_USAGE;
    }
}

static int parse(int argc, char **argv, struct advise_args *args)
{
    int option;

    *args =
        (struct advise_args){.min_gain = 0.02, .limit = 8000000, .fail_on = -1, .json = cli_json()};
    optind = 1;
    while ((option = cli_getopt(argc, argv, "+o:fw:h", options)) != -1) {
        int code = take_option(option, args);
        if (code >= 0)
            return code;
    }
    args->rest = argv + optind;
    if (args->rest[0])
        return -1;
    return cli_usage("which report, or program?");
}

/* ---- the report */

static bool ends_with(const char *text, const char *suffix)
{
    size_t len = strlen(text), own = strlen(suffix);

    return len >= own && strcmp(text + len - own, suffix) == 0;
}

/* By its name or its first bytes; damaged ones are reports, too, and are told so. */
static bool is_report(const char *path)
{
    char head[15] = "";
    HD_AUTOFREE char *file = prof_db_path(path);
    int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    bool is = (file && ends_with(file, ".sqlite")) ||
              (fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
               memcmp(head, "SQLite format 3", sizeof(head)) == 0);

    if (fd >= 0)
        (void)close(fd);
    return is;
}

/* Runs `heddle prof`, with the user's options for it in the last run; an exit status. */
static int record(const struct advise_args *args, const char *name, bool counts)
{
    static char prof[] = "prof", kernel[] = "--kernel", no_show[] = "--no-show",
                quiet[] = "--quiet", output[] = "-o", overwrite[] = "-f", end[] = "--";
    HD_VEC(char *) words = {0};
    HD_AUTOFREE char *copy = hd_strdup(name);
    bool good = copy && hd_vec_push(&words, prof);

    assert(args->rest[0] && (!counts || args->kernel));
    /* What chooses a form of the command is its first option. The counters' own pages are not
     * wanted: a program of many launches would bury the findings under them. */
    if (counts)
        good = good && hd_vec_push(&words, kernel);
    for (size_t i = 0; i < args->prof.len && counts == args->kernel; i++)
        good = good && hd_vec_push(&words, args->prof.at[i]);
    good = good && hd_vec_push(&words, no_show) && hd_vec_push(&words, output) &&
           hd_vec_push(&words, copy);
    if (!args->output || counts) /* it is gone when that could be read */
        good = good && hd_vec_push(&words, quiet);
    if (args->overwrite)
        good = good && hd_vec_push(&words, overwrite);
    good = good && hd_vec_push(&words, end);
    for (char **word = args->rest; *word; word++)
        good = good && hd_vec_push(&words, *word);
    int argc = (int)words.len;
    int code =
        good && hd_vec_push(&words, NULL) ? cmd_prof(argc, words.at) : cli_error("out of memory");
    hd_vec_fini(&words);
    return code;
}

/* ---- output */

static enum hd_status write_to(const char *path, struct hd_buf *text)
{
    enum hd_status status = text->failed
                                ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                : hd_file_write(path, text->ptr ? text->ptr : "", text->len);
    hd_buf_fini(text);
    return status;
}

static enum hd_status print(const struct advise_args *args, const struct advise *a)
{
    struct hd_buf text = {0};

    if (args->json)
        advise_json(a, &text);
    else
        advise_text(a, &text);
    if (args->to)
        return write_to(args->to, &text);
    bool good = !text.failed && fwrite(text.ptr ? text.ptr : "", 1, text.len, stdout) == text.len &&
                fflush(stdout) == 0;
    hd_buf_fini(&text);
    return good ? HD_OK : hd_error(HD_IO, "the findings cannot be written");
}

static enum hd_status write_all(const struct advise_args *args, const struct advise *a)
{
    struct hd_buf text = {0};

    if (args->html) {
        advise_html(a, &text);
        HD_TRY(write_to(args->html, &text));
    }
    if (args->explain) {
        advise_prompt(a, &text);
        HD_TRY(write_to(args->explain, &text));
    }
    return print(args, a);
}

/* ---- the whole */

static bool is_severe(const struct advise_args *args, const struct advise *a)
{
    for (size_t i = 0; args->fail_on >= 0 && i < a->findings.len; i++)
        if ((int)a->findings.at[i].severity >= args->fail_on)
            return true;
    return false;
}

static int advise_report(const struct advise_args *args, const char *report, const char *shown,
                         int interrupted)
{
    struct advise a = {.path = report,
                       .limit = args->limit,
                       .min_gain = args->min_gain,
                       .interrupted = interrupted};
    enum hd_status status = advise_load(&a);

    if (status == HD_OK)
        status = advise_judge(&a);
    a.path = shown;
    if (status == HD_OK)
        status = write_all(args, &a);
    bool severe = is_severe(args, &a);
    advise_fini(&a);
    if (status != HD_OK)
        return cli_error("%s", hd_error_message());
    return severe ? EXIT_FOUND : CLI_OK;
}

/* The signal that ended a program of this exit status; 0: none. */
static int signal_of(int code)
{
    return code > 128 && code < 128 + NSIG ? code - 128 : 0;
}

/*
 * Counting makes kernels take many times as long, so what is counted is of a second run, and the
 * times of the first stay the program's. Its status. Input that can be read again is.
 */
static int count_kernels(const struct advise_args *args, const char *report, off_t input,
                         bool was_interrupted)
{
    struct hd_buf counted = {0};
    int code = CLI_FAILED;

    assert(args->kernel);
    hd_buf_printf(&counted, "%s.counted.sqlite", report);
    if (input >= 0)
        (void)lseek(STDIN_FILENO, input, SEEK_SET);
    cli_note("the program runs once more: counting makes its kernels take longer%s",
             was_interrupted ? "; Ctrl-C ends it again" : "");
    if (counted.failed)
        (void)cli_error("out of memory");
    else
        code = record(args, counted.ptr, true);
    if (!counted.failed && access(counted.ptr, F_OK) == 0) {
        if (advise_merge(report, counted.ptr) != HD_OK)
            code = cli_error("%s", hd_error_message());
        (void)unlink(counted.ptr);
    }
    hd_buf_fini(&counted);
    return code;
}

/* Records the program in that report, and judges it. */
static int advise_recording(const struct advise_args *args, const char *report, const char *shown)
{
    bool was = args->output && !args->overwrite && access(report, F_OK) == 0;
    off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    int code = record(args, report, false);

    if (was || code == RUN_CANNOT || code == RUN_NOT_FOUND || access(report, F_OK) != 0)
        return code ? code : CLI_FAILED;
    int sig = signal_of(code);
    /* A server's end is Ctrl-C; other signals are those of faults, or of who wants no more. */
    if (args->kernel && sig && sig != SIGINT)
        cli_note("nothing is counted: signal %d (%s) ended the program, which does not run again",
                 sig, strsignal(sig));
    if (args->kernel && (!sig || sig == SIGINT)) {
        int counting = count_kernels(args, report, input, sig != 0);
        if (counting == CLI_USAGE && !code) /* --prof */
            return CLI_USAGE;
        code = code ? code : counting;
    }
    int own = advise_report(args, report, shown, sig);
    return code ? code : own;
}

/* Nobody wants to keep the recording. */
static int advise_in_folder(const char *folder, void *state)
{
    const struct advise_args *args = state;
    struct hd_buf report = {0};

    hd_buf_printf(&report, "%s/run.sqlite", folder);
    int code = report.failed ? cli_error("out of memory")
                             : advise_recording(args, report.ptr, args->rest[0]);
    hd_buf_fini(&report);
    return code;
}

static int advise_program(struct advise_args *args)
{
    struct hd_buf report = {0};

    if (!args->output)
        return temporary_run("heddle-advise", advise_in_folder, args);
    hd_buf_printf(&report, "%s%s", args->output,
                  ends_with(args->output, ".sqlite") ? "" : ".sqlite");
    int code =
        report.failed ? cli_error("out of memory") : advise_recording(args, report.ptr, report.ptr);
    hd_buf_fini(&report);
    return code;
}

int cmd_advise(int argc, char **argv)
{
    struct advise_args args;
    int code = parse(argc, argv, &args);

    if (code < 0 && !args.rest[1] && is_report(args.rest[0]))
        code = advise_report(&args, args.rest[0], args.rest[0], 0);
    else if (code < 0)
        code = advise_program(&args);
    hd_vec_fini(&args.prof);
    return code;
}
