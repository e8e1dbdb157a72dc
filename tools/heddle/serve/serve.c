/* heddle serve: options, and the thread that takes snapshots. See serve.h. */
#include "serve/serve.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "common/cli.h"

static const char help[] =
    "usage: heddle serve [OPTIONS]\n"
    "\n"
    "Shows what your programs do with the devices while they run: a page for browsers at /,\n"
    "metrics with DCGM's names for Prometheus at /metrics, JSON at /api/v1/. Programs push "
    "metrics\n"
    "of their own to /push. The address is printed. Ctrl-C ends it.\n"
    "\n"
    "options:\n"
    "  -l, --listen ADDR:PORT  where (default: 127.0.0.1:9400; port 0: a free one). Other hosts\n"
    "                          need a token\n"
    "      --token-file FILE   whose first line clients have to give: `Authorization: Bearer ..`,\n"
    "                          or in the form that browsers get; of 16 to 255 letters, digits, "
    "-._~\n"
    "      --interval MS       between two looks at the devices (default: 1000)\n"
    "      --threshold NAME=N  what the page shows in red when it is more: utilization_percent,\n"
    "                          memory_percent, temperature_C, kernel_s, p99_ms, requests_per_s\n"
    "      --rate N            requests a second that one address may send (default: 500)\n"
    "      --connections N     at the same time (default: 512)\n"
    "      --no-kernels        do not ask programs which kernels run\n"
    "      --help              this text\n"
    "\n"
    "exit status: 0 it was ended, 1 it cannot listen or there are no devices, 2 wrong usage\n";

enum {
    OPT_TOKEN = 256,
    OPT_INTERVAL,
    OPT_THRESHOLD,
    OPT_RATE,
    OPT_CONNECTIONS,
    OPT_NO_KERNELS,
};

static const struct option options[] = {
    {"listen", required_argument, NULL, 'l'},
    {"token-file", required_argument, NULL, OPT_TOKEN},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"threshold", required_argument, NULL, OPT_THRESHOLD},
    {"rate", required_argument, NULL, OPT_RATE},
    {"connections", required_argument, NULL, OPT_CONNECTIONS},
    {"no-kernels", no_argument, NULL, OPT_NO_KERNELS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
    is_over = number;
}

/* ---- options */

static bool bad_value(const char *option, const char *value)
{
    cli_usage("%s: '%s' is not possible", option, value);
    return false;
}

static bool read_number(const char *option, uint64_t first, uint64_t last, uint64_t *out)
{
    assert(optarg && first <= last);
    return (hd_str_to_u64(hd_str_from(optarg), 10, out) && *out >= first && *out <= last) ||
           bad_value(option, optarg);
}

/* "ADDR:PORT", "[ADDR]:PORT", ":PORT" or "PORT". */
static bool read_listen(struct serve_options *o)
{
    const char *colon = strrchr(optarg, ':');
    const char *port = colon ? colon + 1 : optarg;
    size_t len = colon ? (size_t)(colon - optarg) : 0;
    const char *host = optarg;
    uint64_t number;

    if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (!hd_str_to_u64(hd_str_from(port), 10, &number) || number > 65535 || len >= sizeof(o->host))
        return bad_value("--listen", optarg);
    if (len)
        (void)snprintf(o->host, sizeof(o->host), "%.*s", (int)len, host);
    (void)snprintf(o->port, sizeof(o->port), "%u", (unsigned)number);
    return true;
}

/* It goes into a header and a form as it is. */
static bool read_token(struct serve_options *o)
{
    struct hd_buf text = {0};
    size_t len = 0;

    if (hd_file_read(optarg, 4096, &text) != HD_OK) {
        hd_buf_fini(&text);
        cli_error("%s", hd_error_message());
        return false;
    }
    while (text.ptr && text.ptr[len] &&
           (isalnum((unsigned char)text.ptr[len]) || strchr("-._~", text.ptr[len])))
        len++;
    bool good = len >= 16 && len < sizeof(o->token) &&
                (len == text.len || isspace((unsigned char)text.ptr[len]));
    if (good)
        (void)snprintf(o->token, sizeof(o->token), "%.*s", (int)len, text.ptr);
    else
        cli_error("the first line of %s is no token: 16 to 255 letters, digits, -._~", optarg);
    hd_buf_fini(&text);
    return good;
}

static bool read_threshold(struct serve_options *o)
{
    static const char *const names[] = {
#define X(name, value, doc) #name,
        SERVE_THRESHOLD_LIST(X)
#undef X
    };
    const char *equals = strchr(optarg, '=');
    struct hd_str name = {optarg, equals ? (size_t)(equals - optarg) : 0};
    char *end;

    for (size_t i = 0; equals && i < HD_COUNT_OF(names); i++) {
        double value = strtod(equals + 1, &end);

        if (!hd_str_is(name, names[i]) || !equals[1] || *end || !isfinite(value))
            continue;
        o->thresholds[i] = value;
        return true;
    }
    return bad_value("--threshold", optarg);
}

static bool take_option(int option, struct serve_options *o)
{
    switch (option) {
    case 'l':
        return read_listen(o);
    case OPT_TOKEN:
        return read_token(o);
    case OPT_INTERVAL:
        return read_number("--interval", 100, 60000, &o->interval_ms);
    case OPT_THRESHOLD:
        return read_threshold(o);
    case OPT_RATE:
        return read_number("--rate", 1, 1000000, &o->rate);
    case OPT_CONNECTIONS:
        return read_number("--connections", 4, 10000, &o->connections);
    case OPT_NO_KERNELS:
        o->has_kernels = false;
        return true;
    default:
        return false; /* getopt has said what is wrong */
    }
}

/* -1, or an exit status. */
static int parse(int argc, char **argv, struct serve_options *o)
{
    static char name[] = "heddle serve";

    *o = (struct serve_options){.host = "127.0.0.1",
                                .port = "9400",
                                .interval_ms = 1000,
                                .rate = 500,
                                .connections = 512,
                                .has_kernels = true,
                                .thresholds = {
#define X(name, value, doc) value,
                                    SERVE_THRESHOLD_LIST(X)
#undef X
                                }};
    argv[0] = name;
    optind = 0;
    for (int option; (option = cli_getopt(argc, argv, "l:h", options)) != -1;) {
        if (option == 'h')
            return cli_help(help);
        if (!take_option(option, o))
            return CLI_USAGE;
    }
    if (optind < argc) {
        cli_error("unknown argument '%s'", argv[optind]);
        return CLI_USAGE;
    }
    return -1;
}

/* ---- the thread that looks */

static void publish(const struct serve_snapshot *s, const struct serve_options *o)
{
    struct hd_buf texts[SERVE_TEXT_COUNT] = {0};
    struct serve_counts counts;

    serve_history_add(s);
    serve_http_count(&counts);
    serve_metrics_write(s, &counts, SERVE_PROMETHEUS, &texts[SERVE_TEXT_PROMETHEUS]);
    serve_metrics_write(s, &counts, SERVE_OPENMETRICS, &texts[SERVE_TEXT_OPENMETRICS]);
    for (enum serve_api i = 0; i < SERVE_API_COUNT; i++)
        serve_api_write(s, o, i, &texts[SERVE_TEXT_API + i]);
    serve_http_publish(texts);
}

/* Until then, whatever signals come. */
static void sleep_until(uint64_t time_ns)
{
    struct timespec at = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};

    while (!is_over && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static void run(const struct serve_options *o, struct serve_snapshot *s)
{
    uint64_t next_ns = reg_now_ns();

    while (!is_over) {
        next_ns = HD_MAX(next_ns + o->interval_ms * 1000000u, reg_now_ns());
        sleep_until(next_ns);
        if (!is_over && serve_sample(o->has_kernels && serve_http_wants_kernels(), s))
            publish(s, o);
        serve_http_tidy();
    }
}

static int serve(const struct serve_options *o, struct serve_snapshot *s)
{
    struct sigaction action = {.sa_handler = on_signal};

    int code = serve_http_listen(o);
    if (code != CLI_OK)
        return code;
    if (serve_sample_open(o) != CLI_OK || !serve_sample(false, s))
        return CLI_FAILED;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setpriority(PRIO_PROCESS, 0, 10); /* programs come first; threads inherit it */
    code = serve_http_open();
    if (code == CLI_OK) {
        publish(s, o);
        code = serve_http_start();
    }
    if (code != CLI_OK)
        return code;
    run(o, s);
    serve_http_stop();
    serve_history_fini();
    if (serve_sample_is_asking()) /* perhaps for seconds */
        _exit(fflush(NULL) ? CLI_FAILED : CLI_OK);
    return CLI_OK;
}

int cmd_serve(int argc, char **argv)
{
    struct serve_options o;
    int code = parse(argc, argv, &o);

    if (code >= 0)
        return code;
    struct serve_snapshot *s = hd_new(struct serve_snapshot);
    if (!s)
        return cli_error("out of memory");
    code = serve(&o, s);
    hd_free(s);
    return code;
}
