/* heddle smi: devices and the processes that use them, as nvidia-smi shows them. See smi.h. */
#include "smi/smi.h"

#include <assert.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "common/cli.h"

static const char help[] =
    "usage: heddle smi [OPTIONS]\n"
    "       heddle smi dmon|pmon [-i ID] [-c COUNT] [-d SECONDS] [-s COLUMNS]\n"
    "       heddle smi topo -m\n"
    "\n"
    "Shows the devices, what keeps them busy, and your processes that use them: options, fields\n"
    "and the form of what it prints are nvidia-smi's. Within `heddle run` it is found as\n"
    "nvidia-smi as well.\n"
    "\n"
    "options:\n"
    "  -L, --list-gpus        one line for each device\n"
    "  -i, --id ID            only this device, by its index, UUID or PCI bus id; a comma list\n"
    "  -q, --query            all that is known\n"
    "  -d, --display PARTS    of that MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK,\n"
    "                         COMPUTE, PIDS, PERFORMANCE; a comma list\n"
    "  -x, --xml-format       as XML\n"
    "      --json             as JSON, with all that is known\n"
    "      --query-gpu LIST   these fields of each device, as CSV\n"
    "      --query-compute-apps LIST\n"
    "                         these fields of each process\n"
    "      --format FORMAT    csv[,noheader][,nounits], for these\n"
    "      --help-query-gpu, --help-query-compute-apps\n"
    "                         the fields that there are\n"
    "  -l, --loop SECONDS     again and again\n"
    "      --loop-ms MS       the same; -lms MS, too\n"
    "  -f, --filename FILE    into a file\n"
    "  -h, --help             this text\n"
    "\n"
    "dmon and pmon print a line for each device, or process, every second: -c so many times, -d\n"
    "so many seconds apart; -s which columns: p power and temperature, u utilisation, c clocks,\n"
    "m memory, t bytes copied.\n"
    "\n"
    "exit status: 0 done, 2 wrong usage, 6 no such device, 12 no NVML library, 255 otherwise\n";

enum command { SHOW, DMON, PMON, TOPO };

enum {
    OPT_QUERY_GPU = 256,
    OPT_QUERY_APPS,
    OPT_FORMAT,
    OPT_HELP_GPU,
    OPT_HELP_APPS,
    OPT_LOOP_MS,
    OPT_JSON,
};

static const struct option options[] = {
    {"list-gpus", no_argument, NULL, 'L'},
    {"id", required_argument, NULL, 'i'},
    {"query", no_argument, NULL, 'q'},
    {"display", required_argument, NULL, 'd'},
    {"xml-format", no_argument, NULL, 'x'},
    {"json", no_argument, NULL, OPT_JSON},
    {"query-gpu", required_argument, NULL, OPT_QUERY_GPU},
    {"query-compute-apps", required_argument, NULL, OPT_QUERY_APPS},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"help-query-gpu", no_argument, NULL, OPT_HELP_GPU},
    {"help-query-compute-apps", no_argument, NULL, OPT_HELP_APPS},
    {"loop", required_argument, NULL, 'l'},
    {"loop-ms", required_argument, NULL, OPT_LOOP_MS},
    {"filename", required_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct args {
    enum command command;
    const char *ids, *parts, *fields, *format, *file, *columns;
    enum smi_query query;
    bool is_list, is_query, is_xml, is_json, is_matrix;
    uint64_t period_ms; /* 0: once */
    uint64_t count;     /* of dmon and pmon; 0: for ever */
};

static volatile sig_atomic_t is_over;

static void smi_on_signal(int number)
{
    (void)number;
    is_over = 1;
}

static int smi_usage(const char *what, const char *text)
{
    cli_usage("%s '%s'", what, text);
    return SMI_USAGE;
}

/* -1 to go on, or the exit code. */
static int smi_set_number(const char *text, uint64_t times, uint64_t *out)
{
    uint64_t value;

    assert(text && times);
    if (!hd_str_to_u64(hd_str_from(text), 10, &value) || !value || value > 1000000)
        return smi_usage("no number from 1 on:", text);
    *out = value * times;
    return -1;
}

static int smi_set_fields(struct args *args, enum smi_query query, const char *list)
{
    args->query = query;
    args->fields = list;
    return smi_fields_check(query, list) == SMI_OK ? -1 : SMI_USAGE;
}

static int smi_give_help(enum smi_query query)
{
    smi_fields_help(query, stdout);
    return SMI_OK;
}

static int smi_apply_display(struct args *args, const char *value)
{
    if (args->command != SHOW)
        return smi_set_number(value, 1000, &args->period_ms);
    args->parts = value;
    return smi_details_check(value) ? -1 : smi_usage("no such part of -q:", value);
}

static int smi_apply_long(struct args *args, int option)
{
    switch (option) {
    case OPT_QUERY_GPU:
        return smi_set_fields(args, SMI_QUERY_GPU, optarg);
    case OPT_QUERY_APPS:
        return smi_set_fields(args, SMI_QUERY_APPS, optarg);
    case OPT_FORMAT:
        args->format = optarg;
        return -1;
    case OPT_HELP_GPU:
        return smi_give_help(SMI_QUERY_GPU);
    case OPT_HELP_APPS:
        return smi_give_help(SMI_QUERY_APPS);
    case OPT_LOOP_MS:
        return smi_set_number(optarg, 1, &args->period_ms);
    case OPT_JSON:
        args->is_json = true;
        return -1;
    default:
        return SMI_USAGE; /* getopt has said what is wrong */
    }
}

static int smi_apply(struct args *args, int option)
{
    switch (option) {
    case 'h':
        return cli_help(help);
    case 'L':
        args->is_list = true;
        return -1;
    case 'i':
        args->ids = optarg;
        return -1;
    case 'q':
        args->is_query = true;
        return -1;
    case 'x':
        args->is_xml = true;
        return -1;
    case 'm':
        args->is_matrix = true;
        return -1;
    case 'd':
        return smi_apply_display(args, optarg);
    case 'l':
        return smi_set_number(optarg, 1000, &args->period_ms);
    case 'c':
        return smi_set_number(optarg, 1, &args->count);
    case 's':
        args->columns = optarg;
        return strspn(optarg, "puctm") == strlen(optarg) ? -1
                                                         : smi_usage("no such columns:", optarg);
    case 'f':
        args->file = optarg;
        return -1;
    default:
        return smi_apply_long(args, option);
    }
}

static int smi_check(const struct args *args)
{
    static const char *const words[] = {"csv", "noheader", "nounits"};
    struct hd_str format = hd_str_from(args->format);
    size_t found = 0, commas = 0;

    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        found += hd_str_lists(format, words[i]);
    for (size_t i = 0; i < format.len; i++)
        commas += format.ptr[i] == ',';
    if (args->fields && (!hd_str_lists(format, "csv") || found != commas + 1))
        return smi_usage("--format is csv, with noheader and nounits, not",
                         args->format ? args->format : "");
    if (args->command == TOPO && !args->is_matrix)
        return smi_usage("topo shows a matrix:", "-m");
    return -1;
}

/* nvidia-smi has an option of one dash and several letters. */
static void smi_mend_lms(int argc, char **argv)
{
    static char long_form[] = "--loop-ms";

    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-lms"))
            argv[i] = long_form;
}

static int smi_parse(int argc, char **argv, struct args *args)
{
    static const char *const names[] = {[DMON] = "dmon", [PMON] = "pmon", [TOPO] = "topo"};
    static char name[] = "heddle smi";
    int code = -1, skip = 0;

    for (enum command c = DMON; argc > 1 && c <= TOPO; c++)
        if (!strcmp(argv[1], names[c])) {
            args->command = c;
            skip = 1;
        }
    if (skip && args->command != TOPO)
        args->period_ms = 1000;
    argv += skip;
    argc -= skip;
    argv[0] = name; /* getopt's messages begin with it */
    smi_mend_lms(argc, argv);
    optind = 0;
    for (int option;
         code < 0 && (option = cli_getopt(argc, argv, "hLi:qd:xl:f:c:s:m", options)) != -1;)
        code = smi_apply(args, option);
    if (code < 0 && optind < argc)
        code = smi_usage("unknown argument", argv[optind]);
    return code < 0 ? smi_check(args) : code;
}

/* ---- printing */

static void smi_print_fields(const struct args *args, const struct smi *smi, bool is_first,
                             FILE *out)
{
    struct hd_str format = hd_str_from(args->format);
    struct smi_format how = {!hd_str_lists(format, "noheader"), !hd_str_lists(format, "nounits")};

    if (how.has_heading && is_first)
        smi_fields_heading(args->query, args->fields, out);
    smi_fields_print(args->query, args->fields, smi, &how, out);
}

static bool smi_print(const struct args *args, const struct smi *smi, unsigned line, FILE *out)
{
    if (args->is_json)
        return smi_json(smi);
    if (args->command == DMON)
        smi_dmon(smi, args->columns ? args->columns : "puc", line, out);
    else if (args->command == PMON)
        smi_pmon(smi, line, out);
    else if (args->command == TOPO)
        smi_topology(smi, out);
    else if (args->fields)
        smi_print_fields(args, smi, line == 0, out);
    else if (args->is_list)
        smi_list(smi, out);
    else if (args->is_query || args->is_xml || args->parts)
        smi_details(smi, args->parts, args->is_xml, out);
    else
        smi_table(smi, out);
    return !fflush(out) && !ferror(out);
}

static void smi_pause_ms(uint64_t ms)
{
    struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)};

    (void)nanosleep(&time, NULL);
}

static int smi_show(const struct args *args, FILE *out)
{
    struct sigaction action = {.sa_handler = smi_on_signal};
    struct smi smi;

    if (args->period_ms)
        sigaction(SIGINT, &action, NULL);
    for (unsigned line = 0; !is_over; line++) {
        int code = smi_read(&smi);

        if (code != SMI_OK)
            return code;
        if (!smi_print(args, &smi, line, out))
            return SMI_FAILED;
        if (!args->period_ms || (args->count && line + 1 >= args->count))
            break;
        smi_pause_ms(args->period_ms);
    }
    return SMI_OK;
}

static int smi_choose_all(const char *ids)
{
    int code = SMI_OK;

    for (const char *at = ids; at && code == SMI_OK;) {
        size_t len = strcspn(at, ",");
        char one[128];

        snprintf(one, sizeof(one), "%.*s", (int)HD_MIN(len, sizeof(one)), at);
        code = smi_choose(one);
        at = at[len] ? at + len + 1 : NULL;
    }
    return code;
}

int cmd_smi(int argc, char **argv)
{
    struct args args = {.is_json = cli_json()};
    int code = smi_parse(argc, argv, &args);

    if (code >= 0)
        return code;
    code = smi_open();
    if (code == SMI_OK)
        code = smi_choose_all(args.ids);
    if (code != SMI_OK)
        return code;
    FILE *out = args.file ? fopen(args.file, "we") : stdout;
    if (!out) {
        cli_error("cannot write %s", args.file);
        return SMI_FAILED;
    }
    code = smi_show(&args, out);
    if (args.file && fclose(out))
        code = SMI_FAILED;
    return code;
}
