/* The command line of heddle check: check_options.def, and src/san/options.def for processes. */
#include "check/check.h"

#include <assert.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "common/cli.h"
#include "san/process.h"
#include "san/tool.h"

enum kind {
    KIND_FLAG,
    KIND_YESNO,
    KIND_COUNT,
    KIND_CHOICE,
    KIND_TEXT,
    KIND_VARIABLE, /* other: the variable */
    KIND_ALIAS,    /* other: the name; also of REGEX */
    KIND_REGEX,
    KIND_NEEDLESS, /* doc: why; also of REFUSED */
    KIND_REFUSED,
    KIND_PROCESS, /* process */
    KIND_TOOL,
    KIND_HELP,
    KIND_VERSION,
};

struct row {
    const char *name;
    enum kind kind;
    char letter; /* 0: none */
    bool takes_value;
    size_t offset;
    const char *words; /* CHOICE */
    uint64_t max, fallback;
    const char *arg, *other, *doc;
    const struct san_option *process;
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct check_options, member)
static const struct row rows[] = {
    {"tool", KIND_TOOL, .takes_value = true, .arg = "LIST",
     .doc = "memcheck (default), racecheck, initcheck, synccheck, schedcheck; several are possible, or all"},
    {"help", KIND_HELP, 'h', .doc = "this text"},
    {"version", KIND_VERSION, 'v', .doc = "the version of Heddle"},
#define FLAG(member, name, letter, doc) {name, KIND_FLAG, letter, false, AT(member), NULL, 0, 0, NULL, NULL, doc, NULL},
#define CHECK_YESNO(member, name, def, doc) {name, KIND_YESNO, 0, true, AT(member), NULL, 0, def, "yes|no", NULL, doc, NULL},
#define CHECK_COUNT(member, name, letter, max, def, doc) {name, KIND_COUNT, letter, true, AT(member), NULL, max, def, "N", NULL, doc, NULL},
#define CHECK_CHOICE(member, name, words, def, doc) {name, KIND_CHOICE, 0, true, AT(member), words, 0, def, NULL, NULL, doc, NULL},
#define CHECK_TEXT(member, name, arg, doc) {name, KIND_TEXT, 0, true, AT(member), NULL, 0, 0, #arg, NULL, doc, NULL},
#define VARIABLE(name, variable, doc) {name, KIND_VARIABLE, 0, true, 0, NULL, 0, 0, "X", variable, doc, NULL},
#define ALIAS(name, of) {name, KIND_ALIAS, 0, true, 0, NULL, 0, 0, "NAME|KEY=TEXT", of, NULL, NULL},
#define REGEX_ALIAS(name, of) {name, KIND_REGEX, 0, true, 0, NULL, 0, 0, "KEY=EXPRESSION", of, NULL, NULL},
#define NEEDLESS(name, takes_value, why) {name, KIND_NEEDLESS, 0, takes_value, 0, NULL, 0, 0, NULL, NULL, why, NULL},
#define REFUSED(name, takes_value, why) {name, KIND_REFUSED, 0, takes_value, 0, NULL, 0, 0, NULL, NULL, why, NULL},
#include "check/check_options.def"
};
/* clang-format on */

/* Rows of options.def that only we write. */
static bool options_is_internal(const struct san_option *process)
{
    return !strcmp(process->name, "socket") || !strcmp(process->name, "root") ||
           !strcmp(process->name, "record-limit");
}

/* One that is off by default needs no value. */
static bool options_needs_value(const struct san_option *process)
{
    return process->kind != SAN_OPTION_YESNO || process->fallback;
}

static bool options_row_of_process(struct hd_str name, struct row *out)
{
    const struct san_option *process = san_option_find(name);

    if (!process || options_is_internal(process))
        return false;
    *out = (struct row){.name = process->name,
                        .kind = KIND_PROCESS,
                        .takes_value = options_needs_value(process),
                        .doc = process->doc,
                        .process = process};
    return true;
}

static bool options_find(struct hd_str name, struct row *out)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (hd_str_is(name, rows[i].name)) {
            *out = rows[i];
            return true;
        }
    return options_row_of_process(name, out);
}

/* Letters of options.def's rows. */
static const struct {
    char letter;
    const char *name;
} process_letters[] = {{'s', "launch-skip"}, {'c', "launch-count"}};

/* "-c 3", "-q": those of compute-sanitizer. */
static bool options_find_letter(char letter, struct row *out)
{
    for (size_t i = 0; i < HD_COUNT_OF(process_letters); i++)
        if (letter == process_letters[i].letter)
            return options_find(hd_str_from(process_letters[i].name), out);
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].letter == letter) {
            *out = rows[i];
            return true;
        }
    return false;
}

/* ---- help */

static void options_print_words(const char *words, const char *separator)
{
    for (const char *at = words; *at; at += strlen(at) + 1)
        printf("%s%s", at == words ? "" : separator, at);
}

static const char *options_word_at(const char *words, uint64_t n)
{
    while (n--) {
        assert(*words);
        words += strlen(words) + 1;
    }
    return words;
}

/* What --help says above an option. */
static void options_print_heading(const char *name)
{
    static const struct {
        const char *first, *heading;
    } headings[] = {
        {"tool", "\nwhat:"},
        {"log-file", "\nwhat is printed:"},
        {"save", "\nfiles:"},
        {"error-exitcode", "\nthe program:"},
        {"machine", "\nas for heddle run:"},
        {"filter", "\nother names:"},
        {"target-processes", "\nwhich processes and kernels:"},
        {"show-backtrace", "\nall tools:"},
        {"leak-check", "\nmemcheck:"},
        {"racecheck-report", "\nracecheck:"},
        {"initcheck-address-space", "\ninitcheck:"},
        {"missing-barrier-init-is-fatal", "\nsynccheck:"},
        {"schedules", "\nschedcheck:"},
    };

    for (size_t i = 0; i < HD_COUNT_OF(headings); i++)
        if (strcmp(name, headings[i].first) == 0)
            cli_help(headings[i].heading);
}

#define DOC_COLUMN 6

/* Below the option's name: what it does, and its default unless that is "". */
static void options_print_doc(const char *doc, const char *fallback)
{
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_printf(&text, *fallback ? "%s (default %s)" : "%s", doc, fallback);
    putchar('\n');
    cli_help_option("", DOC_COLUMN, text.ptr ? text.ptr : doc);
    hd_buf_fini(&text);
}

static void options_print_process(const struct san_option *process)
{
    static const char *const args[] = {[SAN_OPTION_COUNT] = " N",
                                       [SAN_OPTION_TEXT] = " TEXT",
                                       [SAN_OPTION_FILTERS] = " NAME|KEY=TEXT"};
    char fallback[24];

    options_print_heading(process->name);
    fputs("  ", stdout);
    for (size_t i = 0; i < HD_COUNT_OF(process_letters); i++)
        if (strcmp(process->name, process_letters[i].name) == 0)
            printf("-%c, ", process_letters[i].letter);
    printf("--%s", process->name);
    if (process->kind == SAN_OPTION_YESNO)
        fputs(options_needs_value(process) ? " yes|no" : "", stdout);
    else if (process->kind != SAN_OPTION_CHOICE)
        fputs(args[process->kind], stdout);
    const char *between = " ";
    for (uint64_t i = 0; process->kind == SAN_OPTION_CHOICE && san_option_word(process, i); i++) {
        const char *word = san_option_word(process, i);
        printf("%s%s", *word ? between : "", word);
        between = *word ? "|" : between;
    }
    snprintf(fallback, sizeof(fallback), "%llu", (unsigned long long)process->fallback);
    options_print_doc(process->doc, process->kind == SAN_OPTION_YESNO
                                        ? process->fallback ? "yes" : "no"
                                    : process->kind == SAN_OPTION_COUNT ? fallback
                                    : process->kind == SAN_OPTION_CHOICE
                                        ? san_option_word(process, process->fallback)
                                        : "");
}

static void options_print_row(const struct row *row)
{
    char fallback[24];

    if (row->kind == KIND_NEEDLESS || row->kind == KIND_REFUSED)
        return;
    options_print_heading(row->name);
    if (row->letter)
        printf("  -%c, --%s", row->letter, row->name);
    else
        printf("  --%s", row->name);
    if (row->words || row->arg)
        putchar(' ');
    if (row->words)
        options_print_words(row->words, "|");
    else
        fputs(row->arg ? row->arg : "", stdout);
    if (row->other && !row->doc)
        printf("\n      %s--%s\n", row->kind == KIND_ALIAS ? "the same as " : "expressions for ",
               row->other);
    if (row->other && !row->doc)
        return;
    snprintf(fallback, sizeof(fallback), "%llu", (unsigned long long)row->fallback);
    options_print_doc(row->doc, row->kind == KIND_YESNO   ? row->fallback ? "yes" : "no"
                                : row->kind == KIND_COUNT ? fallback
                                : row->kind == KIND_CHOICE
                                    ? options_word_at(row->words, row->fallback)
                                    : "");
}

static const char help_head[] =
    "usage: heddle check [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       heddle check [OPTIONS] --read FILE\n"
    "\n"
    "Runs a CUDA program on Heddle, as `heddle run` does, and tells of errors of its kernels and\n"
    "calls. Which are looked for says --tool: accesses outside of memory (memcheck), races\n"
    "(racecheck), reads of what nobody wrote (initcheck), barriers that are used wrongly\n"
    "(synccheck), results that depend on the order in which blocks and warps run (schedcheck).\n"
    "\n"
    "    heddle check ./app                          memcheck alone\n"
    "    heddle check --tool racecheck ./app         races\n"
    "    heddle check --leak-check full ./app        and memory that was not freed\n"
    "    heddle check --html found.html ./app        a page with the lines of the source\n"
    "    heddle check --error-exitcode 1 ./tests     for scripts: 1 when there were errors\n"
    "\n"
    "Build with -lineinfo (nvcc, heddle cc), so that places are lines of the source. Options and\n"
    "output are those of compute-sanitizer; the command is that, too, when it is started under\n"
    "this name. An option that does not work here is refused. Options end at PROGRAM, or at "
    "`--`.\n";

static const char help_tail[] =
    "\n"
    "exit status: the program's; of --error-exitcode when that is 0 and there were errors;\n"
    "255 the program did not use CUDA; 128 and more: the signal that ended it; 1 it was not\n"
    "checked, 2 wrong usage, 126 the program cannot be run, 127 it was not found\n";

static void options_print_help(void)
{
    cli_help(help_head);
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        options_print_row(&rows[i]);
    for (size_t i = 0; i < san_option_count; i++)
        if (!options_is_internal(&san_option_rows[i]))
            options_print_process(&san_option_rows[i]);
    cli_help("\nrefused:\n");
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].kind == KIND_REFUSED) {
            printf("  --%s\n", rows[i].name);
            cli_help_option("", DOC_COLUMN, rows[i].doc);
        }
    cli_help(help_tail);
}

/* ---- values */

struct parser {
    struct check_options *options;
    int argc, at;
    char **argv;
};

static bool options_wrong(const struct parser *p, const char *name, const char *what)
{
    cli_usage("--%s: %s", name, what);
    return false;
}

static bool options_yes_or_no(struct hd_str word, bool *out)
{
    bool yes = hd_str_is(word, "yes") || hd_str_is(word, "true");

    *out = yes;
    return yes || hd_str_is(word, "no") || hd_str_is(word, "false");
}

static bool options_set_choice(const struct parser *p, const struct row *row, struct hd_str value,
                               unsigned *member)
{
    struct hd_buf takes = {0};
    unsigned n = 0;

    assert(row->words);
    for (const char *word = row->words; *word; word += strlen(word) + 1, n++) {
        if (hd_str_is(value, word)) {
            *member = n;
            hd_buf_fini(&takes);
            return true;
        }
        hd_buf_printf(&takes, "%s%s", n ? ", " : "it takes one of ", word);
    }
    options_wrong(p, row->name, takes.ptr ? takes.ptr : "");
    hd_buf_fini(&takes);
    return false;
}

static bool options_set_count(const struct parser *p, const struct row *row, struct hd_str value,
                              uint64_t *member)
{
    char takes[48];

    if (hd_str_to_u64(value, 10, member) && *member <= row->max)
        return true;
    snprintf(takes, sizeof(takes), "it takes a number, 0 to %llu", (unsigned long long)row->max);
    return options_wrong(p, row->name, takes);
}

static bool options_set_process(struct parser *p, const char *name, struct hd_str value)
{
    struct check_options *o = p->options;

    if (san_options_set(&o->san, hd_str_from(name), value) != HD_OK) {
        cli_usage("%s", hd_error_message());
        return false;
    }
    san_options_write(&o->line, name, value);
    if (strcmp(name, "target-processes-filter") == 0 &&
        san_process_check_filter(o->san.target_processes_filter) != HD_OK)
        return options_wrong(p, name, hd_error_message());
    return true;
}

/* The tool that begins so, or is at most two letters away; NULL: none. */
static const char *options_tool_meant(struct hd_str word)
{
    static const char *const names[] = {
#define X(NAME, name) #name,
        SAN_TOOL_LIST(X)
#undef X
    };
    char typed[16];

    snprintf(typed, sizeof(typed), "%.*s", (int)HD_MIN(word.len, sizeof(typed)), word.ptr);
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (word.len >= 3 &&
            (hd_str_starts(hd_str_from(names[i]), typed) || hd_str_distance(word, names[i]) <= 2))
            return names[i];
    return NULL;
}

/* True, with a message: a word of the list is no tool. */
static bool options_refuse_tool(struct hd_str list)
{
    for (size_t begin = 0, end; begin <= list.len; begin = end + 1) {
        struct san_options unused;
        const char *comma = memchr(list.ptr + begin, ',', list.len - begin);
        end = comma ? (size_t)(comma - list.ptr) : list.len;
        struct hd_str word = {list.ptr + begin, end - begin};

        san_options_init(&unused);
        bool is_known = san_options_set(&unused, HD_STR("tools"), word) == HD_OK;
        san_options_fini(&unused);
        if (is_known)
            continue;
        const char *meant = options_tool_meant(word);
        cli_usage("--tool: %s%s%s%s", hd_error_message(), meant ? "; did you mean " : "",
                  meant ? meant : "", meant ? "?" : "");
        return true;
    }
    return false;
}

static bool options_set_tool(struct parser *p, struct hd_str value)
{
    if (options_refuse_tool(value))
        return false;
    if (!p->options->tool_named)
        p->options->san.tools = 0;
    p->options->tool_named = true;
    return options_set_process(p, "tools", value);
}

/* "kns=EXPRESSION", "kne=EXPRESSION" */
static bool options_set_regex(struct parser *p, const struct row *row, struct hd_str value)
{
    static const struct {
        const char *key;
        bool whole;
    } keys[] = {{"kernel_substring=", 0}, {"kns=", 0}, {"kernel_name=", 1}, {"kne=", 1}};
    struct hd_buf filter = {0};
    bool set = false, known = false;

    for (size_t i = 0; i < HD_COUNT_OF(keys) && !known; i++) {
        size_t skip = strlen(keys[i].key);
        known = hd_str_starts(value, keys[i].key) && value.len > skip;
        if (!known)
            continue;
        hd_buf_printf(&filter, keys[i].whole ? "regex=^(%.*s)$" : "regex=%.*s",
                      (int)(value.len - skip), value.ptr + skip);
        set = options_set_process(p, row->other, (struct hd_str){filter.ptr, filter.len});
    }
    hd_buf_fini(&filter);
    return known ? set : options_wrong(p, row->name, "it takes kns=EXPRESSION or kne=EXPRESSION");
}

static bool options_set_variable(const struct parser *p, const struct row *row, const char *value)
{
    struct hd_buf why = {0};
    bool good = hd_env_allows(row->other, value, &why) && setenv(row->other, value, 1) == 0;

    if (!good)
        options_wrong(p, row->name, why.ptr ? why.ptr : value);
    hd_buf_fini(&why);
    return good;
}

/* -1 to go on, or the exit code. */
static int options_apply(struct parser *p, const struct row *row, const char *text)
{
    struct check_options *o = p->options;
    void *member = (char *)o + row->offset;
    struct hd_str value = hd_str_from(text);
    bool good = true;

    assert(row->offset < sizeof(*o) && p->at <= p->argc);
    switch (row->kind) {
    case KIND_FLAG:
    case KIND_YESNO:
        good =
            options_yes_or_no(value, member) || options_wrong(p, row->name, "it takes yes or no");
        break;
    case KIND_COUNT:
        good = options_set_count(p, row, value, member);
        break;
    case KIND_CHOICE:
        good = options_set_choice(p, row, value, member);
        break;
    case KIND_TEXT:
        *(const char **)member = text;
        good = value.len || options_wrong(p, row->name, "it takes a text");
        break;
    case KIND_VARIABLE:
        good = options_set_variable(p, row, text);
        break;
    case KIND_ALIAS:
        good = options_set_process(p, row->other, value);
        break;
    case KIND_REGEX:
        good = options_set_regex(p, row, value);
        break;
    case KIND_NEEDLESS:
        break;
    case KIND_REFUSED:
        good = options_wrong(p, row->name, row->doc);
        break;
    case KIND_PROCESS:
        good = options_set_process(p, row->name, value);
        break;
    case KIND_TOOL:
        good = options_set_tool(p, value);
        break;
    case KIND_HELP:
        options_print_help();
        return CLI_OK;
    case KIND_VERSION:
        printf("heddle %s\n", cli_version());
        return CLI_OK;
    }
    return good ? -1 : CLI_USAGE;
}

/* ---- words */

/* The value of an option without '=': the next word, or none. */
static const char *options_next_value(struct parser *p, const struct row *row)
{
    const char *next = p->at < p->argc ? p->argv[p->at] : NULL;
    bool unused;

    if (row->takes_value) {
        p->at += next != NULL;
        return next;
    }
    if (next && row->kind != KIND_HELP && row->kind != KIND_VERSION &&
        options_yes_or_no(hd_str_from(next), &unused))
        return p->at++, next;
    return "yes";
}

/* The option that begins as the name does, for more than half of it, or has the name of a tool as
 * its value; NULL: none does. */
static const char *options_meant(struct hd_str name)
{
    size_t best = HD_MAX(name.len / 2, (size_t)3);
    const char *meant = NULL;

#define X(NAME, tool)                                                                              \
    if (hd_str_is(name, #tool))                                                                    \
        return "tool " #tool;
    SAN_TOOL_LIST(X)
#undef X
    for (size_t i = 0; i < HD_COUNT_OF(rows) + san_option_count; i++) {
        bool is_own = i < HD_COUNT_OF(rows);
        const struct san_option *process = is_own ? NULL : &san_option_rows[i - HD_COUNT_OF(rows)];
        const char *candidate = is_own ? rows[i].name : process->name;
        size_t same = 0;
        while (same < name.len && candidate[same] == name.ptr[same])
            same++;
        if (same <= best || (process && options_is_internal(process)))
            continue;
        best = same;
        meant = candidate;
    }
    return meant;
}

static int options_parse_word(struct parser *p, const char *word)
{
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    struct hd_str name = {word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 1) - 1};
    struct row row;
    bool known = word[1] == '-' ? options_find(name, &row)
                                : word[1] && !word[2] && options_find_letter(word[1], &row);

    if (!known) {
        const char *meant = word[1] == '-' ? options_meant(name) : NULL;
        return cli_usage("unknown option '%s'%s%s%s", word, meant ? "; did you mean --" : "",
                         meant ? meant : "", meant ? "?" : "");
    }
    const char *value = equals ? equals + 1 : options_next_value(p, &row);
    if (!value) {
        options_wrong(p, row.name, "there is no value behind it");
        return CLI_USAGE;
    }
    return options_apply(p, &row, value);
}

/* Options that make no sense together. */
static int options_check_together(const struct check_options *o)
{
    const char *why = NULL;

    const struct {
        const char *option, *file;
    } written[] = {
        {"log-file", o->log_file}, {"save", o->save}, {"json", o->json}, {"html", o->html}};
    for (size_t i = 0; i < HD_COUNT_OF(written); i++)
        if (written[i].file && !strcmp(written[i].file, "-"))
            return cli_usage("--%s -: stdout has the text and what the program prints; name a file",
                             written[i].option);
    if (o->destroy == DESTROY_KERNEL)
        why =
            "--destroy-on-device-error kernel: an error of a kernel always ends its context here; "
            "only `context` is possible";
    else if (o->read && o->command[0])
        why = "--read shows a file and runs no program";
    else if (!o->read && !o->command[0])
        why = "which program?";
    else if (o->xml && !o->save)
        why = "--xml: --save FILE says where it goes";
    else if (o->kill && !o->launch_timeout)
        why = "--kill: --launch-timeout N says when";
    else if (o->coredump_name && !o->generate_coredump)
        why = "--coredump-name: --generate-coredump asks for one";
    else if (cli_json())
        why = "--json takes a file here: heddle check --json FILE";
    if (!why)
        return -1;
    return cli_usage("%s", why);
}

static void options_set_defaults(struct check_options *o)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        void *member = (char *)o + rows[i].offset;
        if (rows[i].kind == KIND_YESNO)
            *(bool *)member = rows[i].fallback != 0;
        else if (rows[i].kind == KIND_COUNT)
            *(uint64_t *)member = rows[i].fallback;
        else if (rows[i].kind == KIND_CHOICE)
            *(unsigned *)member = (unsigned)rows[i].fallback;
    }
    o->prefix = "=========";
}

int check_options_parse(int argc, char **argv, struct check_options *out)
{
    struct parser p = {.options = out, .argc = argc, .argv = argv, .at = 1};

    const char *slash = strrchr(argv[0], '/');

    *out = (struct check_options){.as = slash ? slash + 1 : argv[0]};
    san_options_init(&out->san);
    options_set_defaults(out);
    while (p.at < argc && argv[p.at][0] == '-' && argv[p.at][1]) {
        const char *word = argv[p.at++];
        if (strcmp(word, "--") == 0)
            break;
        int code = options_parse_word(&p, word);
        if (code >= 0)
            return code;
    }
    out->command = argv + p.at;
    if (!out->tool_named && !options_set_process(&p, "tools", HD_STR("memcheck")))
        return CLI_FAILED;
    return options_check_together(out);
}

void check_options_fini(struct check_options *options)
{
    san_options_fini(&options->san);
    hd_buf_fini(&options->line);
}

/* ---- names of files */

/* What a % stands for; *at moves behind it. False: nothing. */
static bool options_put_escape(struct hd_buf *name, const char **at)
{
    char c = *(*at)++;

    if (c == '%') {
        hd_buf_putc(name, '%');
    } else if (c == 'p') {
        hd_buf_printf(name, "%ld", (long)getpid());
    } else if (c == 'q' && **at == '{' && strchr(*at, '}')) {
        size_t len = strcspn(*at + 1, "}");
        HD_AUTOFREE char *variable = hd_alloc(len + 1);
        if (!variable)
            return false;
        memcpy(variable, *at + 1, len);
        hd_buf_puts(name, getenv(variable) ? getenv(variable) : "");
        *at += len + 2;
    } else {
        return false;
    }
    return true;
}

char *check_file_name(const char *option, const char *pattern)
{
    struct hd_buf name = {0};

    for (const char *at = pattern; *at;) {
        if (*at != '%') {
            hd_buf_putc(&name, *at++);
            continue;
        }
        at++;
        if (!*at || !options_put_escape(&name, &at)) {
            cli_error("--%s: in '%s' only %%%%, %%p and %%q{NAME} may follow a %%", option,
                      pattern);
            hd_buf_fini(&name);
            return NULL;
        }
    }
    char *made = hd_buf_take(&name);
    if (!made)
        cli_error("--%s: out of memory", option);
    return made;
}
