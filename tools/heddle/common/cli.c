/* Names, errors, help, options and progress of the command line: one style for all subcommands. */
#include "common/cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

#define PROGRESS_AFTER_NS 2000000000u
#define PROGRESS_EVERY_NS 100000000u
#define LINE_MAX_B        512
#define HELP_COLUMNS      100

/* Options farther away than this from what was typed are no guesses. */
#define GUESS_EDITS 3

static const char *command_name, *command_called = "heddle";

static struct {
    uint64_t begin_ns, last_ns;
    bool shown;
} progress;

void cli_set_name(const char *name, const char *called)
{
    command_name = name;
    command_called = called;
}

const char *cli_name(void)
{
    return command_name ? command_name : "heddle";
}

static void print_message(const char *kind, const char *fmt, va_list args)
{
    cli_progress_end();
    fprintf(stderr, "%sheddle:%s ", cli_style(stderr, CLI_BOLD), cli_style(stderr, CLI_PLAIN));
    if (command_name)
        fprintf(stderr, "%s: ", command_name);
    fputs(kind, stderr);
    vfprintf(stderr, fmt, args);
}

int cli_error(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_message("", fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return CLI_FAILED;
}

void cli_note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_message("note: ", fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

int cli_usage(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    print_message("", fmt, args);
    va_end(args);
    fprintf(stderr, " (see `%s --help`)\n", command_called);
    return CLI_USAGE;
}

int cli_help(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        size_t heading = *text != ' ' && length && text[length - 1] == ':' ? length
                         : strncmp(text, "usage:", 6) == 0                 ? 6
                         : strncmp(text, "exit status:", 12) == 0          ? 12
                                                                           : 0;
        if (heading)
            printf("%s%.*s%s", cli_style(stdout, CLI_BOLD), (int)heading, text,
                   cli_style(stdout, CLI_PLAIN));
        printf("%.*s\n", (int)(length - heading), text + heading);
        text += length + (text[length] == '\n');
    }
    return fflush(stdout) ? CLI_FAILED : CLI_OK;
}

void cli_help_option(const char *name, int column, const char *doc)
{
    int at = *name ? printf("  %s", name) : 0;

    if (*name && at + 2 > column) {
        fputc('\n', stdout);
        at = 0;
    }
    while (*doc) {
        int length = 0, room = HELP_COLUMNS - column;

        /* As many words as there is room for, and one at least. */
        for (int n = 0; doc[n]; n = n + (doc[n] == ' ')) {
            n += (int)strcspn(doc + n, " ");
            if (length && n > room)
                break;
            length = n;
        }
        printf("%*s%.*s\n", column - at, "", length, doc);
        doc += length + (int)strspn(doc + length, " ");
        at = 0;
    }
}

/* No option is called that, or begins so. */
static void refuse_unknown(const char *typed, size_t length, const struct option *longs)
{
    const struct option *nearest = NULL;
    unsigned least = 1 + (unsigned)(length / 3 < GUESS_EDITS ? length / 3 : GUESS_EDITS);

    for (const struct option *o = longs; o->name; o++) {
        unsigned n = hd_str_distance((struct hd_str){typed, length}, o->name);
        if (n < least) {
            nearest = o;
            least = n;
        }
    }
    (void)cli_usage("unknown option '--%.*s'%s%s%s", (int)length, typed,
                    nearest ? "; did you mean --" : "", nearest ? nearest->name : "",
                    nearest ? "?" : "");
}

/* Why getopt_long() did not take a word that begins with two dashes. */
static void refuse_long(const char *word, const struct option *longs)
{
    size_t length = strcspn(word += 2, "=");
    const struct option *match = NULL, *second = NULL;

    for (const struct option *o = longs; o->name; o++) {
        if (strncmp(o->name, word, length) != 0)
            continue;
        if (strlen(o->name) == length) {
            match = o;
            second = NULL;
            break;
        }
        second = match ? o : NULL;
        match = match ? match : o;
    }
    if (!match)
        refuse_unknown(word, length, longs);
    else if (second)
        (void)cli_usage("option '--%.*s' can be --%s or --%s", (int)length, word, match->name,
                        second->name);
    else if (word[length])
        (void)cli_usage("option '--%s' takes no value", match->name);
    else
        (void)cli_usage("option '--%s' needs a value", match->name);
}

int cli_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
    int before = optind ? optind : 1;

    opterr = 0;
    int option = getopt_long(argc, argv, shorts, longs, NULL);
    if (option != '?')
        return option;
    /* A word of short options is passed only with its last letter, a long one always. */
    const char *word = argv[optind - 1];
    const char *known = optopt ? strchr(shorts, optopt) : NULL;
    if (optind > before && strncmp(word, "--", 2) == 0)
        refuse_long(word, longs);
    else if (known && known[1] == ':')
        (void)cli_usage("option '-%c' needs a value", optopt);
    else
        (void)cli_usage("unknown option '-%c'", optopt);
    return option;
}

/* Is that a terminal that can do more than print lines? */
static bool is_terminal(FILE *to)
{
    const char *term = getenv("TERM");

    return isatty(fileno(to)) && term && strcmp(term, "dumb") != 0;
}

const char *cli_style(FILE *to, enum cli_style style)
{
    static const char *const sequences[] = {"\033[1m",  "\033[2m",  "\033[31m",
                                            "\033[33m", "\033[32m", "\033[0m"};
    const char *unwanted = getenv("NO_COLOR");

    _Static_assert(HD_COUNT_OF(sequences) == CLI_PLAIN + 1, "a sequence for each style");
    return is_terminal(to) && !(unwanted && *unwanted) ? sequences[style] : "";
}

void cli_progress(const char *fmt, ...)
{
    char line[LINE_MAX_B];
    struct winsize window;
    int columns = 79;
    uint64_t now = hd_clock_ns(CLOCK_MONOTONIC);
    va_list args;

    if (!progress.begin_ns)
        progress.begin_ns = now;
    if (now - progress.begin_ns < PROGRESS_AFTER_NS || now - progress.last_ns < PROGRESS_EVERY_NS ||
        !is_terminal(stderr))
        return;
    int length = snprintf(line, sizeof(line), "heddle: %s: ", cli_name());
    va_start(args, fmt);
    (void)vsnprintf(line + length, sizeof(line) - (size_t)length, fmt, args);
    va_end(args);
    /* A line that wraps could not be replaced. */
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
        columns = window.ws_col - 1;
    fprintf(stderr, "\r\033[K%.*s", columns, line);
    (void)fflush(stderr);
    progress.last_ns = now;
    progress.shown = true;
}

void cli_progress_end(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.begin_ns = progress.last_ns = 0;
    progress.shown = false;
}
