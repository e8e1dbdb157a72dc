/* heddle tune: what is best for the code of each kernel, by trying. See tune_tool.h. */
#include <assert.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/mem.h"
#include "common/cli.h"
#include "common/temporary.h"
#include "run.h"
#include "tune/tune_tool.h"

#define DEFAULT_FILE "heddle.tuning"

static const char help[] =
    "usage: heddle tune [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       heddle tune --replay [OPTIONS]\n"
    "       heddle tune --list [--json]\n"
    "\n"
    "Runs a program again and again, with other choices for how code of its kernels is made, and\n"
    "keeps for each kernel what was best: on the CPU device lanes that run side by side, "
    "prefetches,\n"
    "unrolling and the optional passes; on the simulated GPU registers, the order of instructions\n"
    "and its passes. Results of kernels stay the same. Everything that was measured is kept in a\n"
    "file; a kernel that has a choice there keeps it until its code is another one. Programs use\n"
    "the choices with HEDDLE_TUNING=FILE in their environment.\n"
    "\n"
    "The program must do the same in each run, and end by itself. What it prints goes nowhere,\n"
    "unless it fails.\n"
    "\n"
    "options:\n"
    "  -o, --file FILE         what was measured and chosen (default: " DEFAULT_FILE ")\n"
    "  -d, --device DEVICE     cpu or sim (default: HEDDLE_DEVICE, or cpu)\n"
    "  -e, --evaluator NAME    what is to become small: time on cpu, cycles (the default) or\n"
    "                          instructions on sim; --list explains them\n"
    "  -s, --strategy NAME     descent (the default), random or exhaustive\n"
    "  -k, --kernel NAME       only the kernel of this name, as PTX has it\n"
    "  -p, --points N          points that are tried of a kernel at most (default: 100)\n"
    "  -r, --runs N            measurements of each point, of times (default: 3); the choice is\n"
    "                          measured twice as often beside the code as it was\n"
    "      --margin PERCENT    by which a point must be better (default: 2 of times, else 0.1)\n"
    "      --seed N            of what a strategy draws (default: 0)\n"
    "      --budget SECONDS    after which no new points are tried\n"
    "      --again             search kernels that have a choice as well\n"
    "      --replay            run nothing: what a strategy would find by the file's measurements\n"
    "      --list              what may be chosen, and by what it is judged\n"
    "      --json              machine-readable output\n"
    "  -h, --help              this text\n"
    "\n"
    "exit status: 0 done, 1 a run or the file failed, 2 wrong usage, 126 the program cannot be "
    "run,\n"
    "127 it was not found\n";

enum { RUNS = 3, POINTS = 100, MOST = 1000000 };

enum {
    OPTION_SEED = 256,
    OPTION_MARGIN,
    OPTION_BUDGET,
    OPTION_AGAIN,
    OPTION_REPLAY,
    OPTION_LIST,
    OPTION_JSON
};

static const struct option options[] = {
    {"file", required_argument, NULL, 'o'},
    {"device", required_argument, NULL, 'd'},
    {"evaluator", required_argument, NULL, 'e'},
    {"strategy", required_argument, NULL, 's'},
    {"kernel", required_argument, NULL, 'k'},
    {"points", required_argument, NULL, 'p'},
    {"runs", required_argument, NULL, 'r'},
    {"margin", required_argument, NULL, OPTION_MARGIN},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"budget", required_argument, NULL, OPTION_BUDGET},
    {"again", no_argument, NULL, OPTION_AGAIN},
    {"replay", no_argument, NULL, OPTION_REPLAY},
    {"list", no_argument, NULL, OPTION_LIST},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct reading {
    struct tune_args args;
    const char *evaluator; /* NULL: the device's */
    double margin;         /* percent; below 0: the evaluator's */
    unsigned runs;         /* 0: the evaluator's */
    bool list, help;
};

static bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    if (hd_str_to_u64(hd_str_from(text), 10, out) && *out >= least && *out <= most)
        return true;
    cli_usage("'%s': a number from %llu to %llu is possible", text, (unsigned long long)least,
              (unsigned long long)most);
    return false;
}

static bool read_real(const char *text, double most, double *out)
{
    char *end;

    *out = strtod(text, &end);
    if (end != text && !*end && *out >= 0 && *out <= most)
        return true;
    cli_usage("'%s': a number from 0 to %g is possible", text, most);
    return false;
}

static bool read_count(const char *text, unsigned *out)
{
    uint64_t n;

    if (!read_number(text, 1, MOST, &n))
        return false;
    *out = (unsigned)n;
    return true;
}

static bool read_option(struct reading *r, int option, const char *value)
{
    struct tune_args *args = &r->args;

    switch (option) {
    case 'o':
        args->file = value;
        return true;
    case 'd':
        args->device = value;
        return true;
    case 'e':
        r->evaluator = value;
        return true;
    case 'k':
        args->kernel = value;
        return true;
    case 's':
        if (tune_strategy_find(value, &args->strategy) == HD_OK)
            return true;
        cli_usage("%s", hd_error_message());
        return false;
    case 'p':
        return read_count(value, &args->goal.points);
    case 'r':
        return read_count(value, &r->runs);
    case OPTION_SEED:
        return read_number(value, 0, UINT64_MAX, &args->goal.seed);
    case OPTION_MARGIN:
        return read_real(value, 100, &r->margin);
    case OPTION_BUDGET:
        return read_real(value, 1e9, &args->budget_s);
    case OPTION_AGAIN:
        return args->again = true;
    case OPTION_REPLAY:
        return args->replay = true;
    case OPTION_LIST:
        return r->list = true;
    case OPTION_JSON:
        return args->json = true;
    case 'h':
        return r->help = true;
    default:
        return false; /* cli_getopt() has said why */
    }
}

/* By the device, unless it is named. */
static bool read_evaluator(struct reading *r)
{
    const char *device = r->args.device ? r->args.device : hd_env("HEDDLE_DEVICE");
    bool is_sim = device && !strcmp(device, "sim");
    struct tune_goal *goal = &r->args.goal;
    const struct tune_evaluator_info *info;

    if (device && !is_sim && strcmp(device, "cpu") != 0) {
        cli_usage("the %s device makes no code that could be tuned: cpu and sim do", device);
        return false;
    }
    goal->evaluator = is_sim ? TUNE_BY_CYCLES : TUNE_BY_TIME;
    if (r->evaluator && tune_evaluator_find(r->evaluator, &goal->evaluator) != HD_OK) {
        cli_usage("%s", hd_error_message());
        return false;
    }
    info = tune_evaluator(goal->evaluator);
    if (!r->args.replay && (info->target == TUNE_ISA) != is_sim) {
        cli_usage("'%s' is measured on the %s device: -d %s", info->name,
                  info->target == TUNE_ISA ? "sim" : "cpu",
                  info->target == TUNE_ISA ? "sim" : "cpu");
        return false;
    }
    goal->runs = info->kind == TUNE_REPEATED ? r->runs ? r->runs : RUNS : 1;
    goal->margin = (r->margin >= 0 ? r->margin : info->kind == TUNE_REPEATED ? 2 : 0.1) / 100;
    return true;
}

static bool read_args(struct reading *r, int argc, char **argv)
{
    size_t n;
    int option;

    *r = (struct reading){.margin = -1};
    r->args = (struct tune_args){.file = DEFAULT_FILE,
                                 .strategy = tune_strategies(&n),
                                 .goal = {.points = POINTS},
                                 .json = cli_json()};
    while ((option = cli_getopt(argc, argv, "+o:d:e:s:k:p:r:h", options)) != -1)
        if (!read_option(r, option, optarg))
            return false;
    r->args.program = argv + optind;
    return r->help || r->list || read_evaluator(r);
}

static int work(const char *folder, void *state)
{
    struct tune_session *s = state;

    s->folder = folder;
    return tune_session_run(s);
}

static int replay(struct tune_session *s)
{
    bool good = tune_session_replay(s) && tune_show(s);

    tune_session_fini(s);
    return good ? CLI_OK : CLI_FAILED;
}

int cmd_tune(int argc, char **argv)
{
    struct tune_session session = {0};
    struct reading r;
    int code;

    if (!read_args(&r, argc, argv))
        return CLI_USAGE;
    if (r.help)
        return cli_help(help);
    if (r.list)
        return tune_show_parameters(r.args.json) ? CLI_OK : CLI_FAILED;
    assert(r.args.strategy && r.args.goal.points);
    session.args = &r.args;
    session.evaluator = tune_evaluator(r.args.goal.evaluator);
    if (r.args.replay)
        return *r.args.program ? cli_usage("--replay runs nothing") : replay(&session);
    if (!*r.args.program)
        return cli_usage("which program?");
    HD_AUTOFREE char *path = run_find_program(r.args.program[0]);
    if (!path)
        return run_not_found(r.args.program[0]);
    code = run_check_program(path);
    if (code)
        return code;
    session.path = path;
    code = temporary_run("heddle-tune", work, &session);
    tune_session_fini(&session);
    return code;
}
