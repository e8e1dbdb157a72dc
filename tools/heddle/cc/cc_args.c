/* heddle cc: the command line, read by the table of cc_options.c. */
#include "cc/cc_arch.h"
#include "cc/cc_options.h"
#include "common/cli.h"

#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define GUESS_EDITS 3

/* The value inside an argument: "c++17" of "-std=c++17", "dir" of "-Idir"; NULL when this spelling
 * of the option is not what the argument begins with. *out_exact when it is nothing else. */
static const char *inside(const char *arg, const char *spelling, bool joined, bool *out_exact)
{
    size_t n = spelling ? strlen(spelling) : 0;
    if (!n || strncmp(arg, spelling, n) != 0)
        return NULL;
    *out_exact = !arg[n];
    return *out_exact || joined ? arg + n : arg[n] == '=' ? arg + n + 1 : NULL;
}

/*
 * The row for an argument; *out_value is the value inside it, or NULL. Exact names win over joined
 * ones: -lineinfo is not the library "ineinfo".
 */
static const struct cc_option *find_option(const char *arg, const char **out_value)
{
    const struct cc_option *joined = NULL;
    for (size_t i = 0; i < cc_option_count; i++) {
        const struct cc_option *opt = &cc_options[i];
        bool exact = false;
        const char *value = inside(arg, opt->longer, false, &exact);
        bool one_word = value != NULL;
        if (!value)
            value = inside(arg, opt->name, opt->form == CC_JOINED, &exact);
        if (!value || (!exact && opt->form == CC_FLAG))
            continue;
        if (exact || one_word || opt->form != CC_JOINED) {
            *out_value = exact ? NULL : value;
            return opt;
        }
        joined = opt;
        *out_value = value;
    }
    return joined;
}

/* `given` by -x: it is of all that is not for the linker, whatever its name is. */
static enum cc_lang lang_of_name(const char *path, enum cc_lang given)
{
    static const struct {
        const char *suffix;
        enum cc_lang lang;
    } suffixes[] = {
        {".cu", CC_LANG_CUDA}, {".cpp", CC_LANG_CXX}, {".cc", CC_LANG_CXX},   {".cxx", CC_LANG_CXX},
        {".C", CC_LANG_CXX},   {".c", CC_LANG_C},     {".s", CC_LANG_ASM},    {".S", CC_LANG_ASM},
        {".o", CC_LANG_LINK},  {".lo", CC_LANG_LINK}, {".obj", CC_LANG_LINK}, {".a", CC_LANG_LINK},
        {".so", CC_LANG_LINK},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < HD_COUNT_OF(suffixes); i++)
        if (strcmp(dot, suffixes[i].suffix) == 0)
            return given == CC_LANG_BY_NAME || suffixes[i].lang == CC_LANG_LINK ? suffixes[i].lang
                                                                                : given;
    return given == CC_LANG_BY_NAME || strstr(path, ".so.") ? CC_LANG_LINK : given;
}

/* nvcc hands names to a shell; Meson puts them in quotes for that. */
static const char *unquoted(const char *path)
{
    size_t len = strlen(path);
    bool quoted = len > 2 && path[0] == '"' && path[len - 1] == '"';
    return quoted ? cc_format("%.*s", (int)len - 2, path + 1) : path;
}

static void add_input(struct cc_parse *p, const char *word)
{
    const char *path = unquoted(word);
    struct cc_input input = {path, lang_of_name(path, CC_LANG_BY_NAME)};
    if (!hd_vec_push(&p->job->inputs, input))
        abort();
}

/* True when a word of a CC_MAYBE option's list begins the text: "reorder,default-stream-launch". */
static bool is_its_value(const struct cc_option *opt, const char *text)
{
    struct cc_list words = {0};
    assert(opt->form == CC_MAYBE && opt->arg);
    cc_list_add_split(&words, opt->arg, " ");
    for (size_t i = 0; i < words.len; i++) {
        size_t n = strlen(words.at[i]);
        if (strncmp(text, words.at[i], n) == 0 && (!text[n] || text[n] == ','))
            return true;
    }
    return false;
}

/* The argument behind the option, where it is its value; NULL otherwise. */
static const char *next_value(const struct cc_option *opt, char **argv, int *at, int argc)
{
    assert(*at <= argc);
    bool takes = *at < argc && (opt->form != CC_MAYBE || is_its_value(opt, argv[*at]));
    if (opt->form == CC_FLAG || !takes)
        return NULL;
    return argv[(*at)++];
}

/*
 * Warnings and code generation flags mean the same to clang; those that differ are rows. Code
 * generation is the host's alone where a build asks for what nvcc does (-ffast-math).
 */
static bool is_clangs(const struct cc_job *job, const char *arg)
{
    bool generates = arg[1] == 'f' || (arg[1] == 'm' && arg[2]);

    return arg[1] == 'W' || (generates && !job->forward_compiler);
}

/* The option whose name is nearest to the word's, if it is near: a wrong letter in four. */
static const char *nearest_option(const char *arg)
{
    struct hd_str word = {arg, strcspn(arg, "=")};
    unsigned least = 1 + (unsigned)HD_MIN(word.len / 4, (size_t)GUESS_EDITS);
    const char *nearest = NULL;

    for (size_t i = 0; i < cc_option_count; i++) {
        const char *names[] = {cc_options[i].name, cc_options[i].longer};
        for (size_t k = 0; k < HD_COUNT_OF(names); k++) {
            unsigned n = names[k] ? hd_str_distance(word, names[k]) : least;
            if (n < least) {
                least = n;
                nearest = names[k];
            }
        }
    }
    return nearest;
}

static int refuse_unknown(const char *arg)
{
    const char *nearest = nearest_option(arg);

    return nearest ? cli_usage("unknown option: '%s'; did you mean %s?", arg, nearest)
                   : cc_usage("unknown option", arg);
}

/* -linenfo is no library, but another option that begins so, with a mistake. */
static bool is_misspelt(const struct cc_option *opt, const char *arg, const char *value)
{
    const char *nearest =
        value && !strncmp(arg, "-l", 2) && !strcmp(opt->name, "-l") ? nearest_option(arg) : NULL;

    assert(opt->form == CC_JOINED || strcmp(opt->name, "-l") != 0);
    return nearest && !strncmp(nearest, "-l", 2) && strlen(nearest) > strlen("-lto") + 1;
}

/* An option that has no row: clang's, or by -forward-unknown-to-... that of a host tool. */
static int parse_unknown(struct cc_job *job, const char *arg)
{
    if (strncmp(arg, "-Wl,", 4) == 0) {
        cc_list_add(&job->link, arg);
    } else if (is_clangs(job, arg)) {
        cc_list_add(&job->compile, arg);
    } else if (job->forward_compiler || job->forward_linker) {
        if (job->forward_compiler)
            cc_list_add(&job->host, arg);
        cc_list_add(&job->link, arg);
    } else {
        return refuse_unknown(arg);
    }
    return CLI_OK;
}

/* One argument and, where the option has one, its value. */
static int parse_one(struct cc_parse *p, int argc, char **argv, int *at)
{
    assert(*at < argc);
    const char *arg = argv[(*at)++], *value = NULL;
    if (arg[0] != '-' || arg[1] == 0) {
        add_input(p, arg);
        return CLI_OK;
    }
    const struct cc_option *opt = find_option(arg, &value);
    if (!opt)
        return parse_unknown(p->job, arg);
    if (is_misspelt(opt, arg, value))
        return refuse_unknown(arg);
    if (!value && strcmp(arg, "-O") == 0)
        value = ""; /* stands alone, too */
    if (!value)
        value = next_value(opt, argv, at, argc);
    if (!value && opt->form != CC_FLAG && opt->form != CC_MAYBE)
        return cc_usage("value missing after", arg);
    return opt->apply(p, opt, value);
}

static int check(const struct cc_job *job)
{
    bool one_output =
        job->mode == CC_MODE_LINK || job->mode == CC_MODE_LIB || job->mode == CC_MODE_DLINK;
    if (job->help || job->version || job->list_virtual || job->list_real)
        return CLI_OK;
    if (job->inputs.len == 0)
        return cc_usage("no input", "heddle cc");
    if (job->output && !one_output && job->inputs.len > 1)
        return cc_usage("-o with several inputs and no link", job->output);
    if (job->run && job->mode != CC_MODE_LINK)
        return cc_usage("nothing is linked that could run", "-run");
    return CLI_OK;
}

int cc_parse_words(struct cc_parse *p, int argc, char **argv)
{
    for (int at = 0; at < argc;) {
        int rc = parse_one(p, argc, argv, &at);
        if (rc != CLI_OK)
            return rc;
    }
    return CLI_OK;
}

/* "-name" or "--name". */
static bool is_word(const char *arg, const char *name)
{
    return arg[0] == '-' && strcmp(arg + 1 + (arg[1] == '-'), name) == 0;
}

int cc_parse(int argc, char **argv, struct cc_job *out_job)
{
    struct cc_parse p = {out_job, CC_LANG_BY_NAME, 0};
    for (int i = 1; i < argc; i++) { /* they hold for the whole line, wherever they stand */
        out_job->forward_compiler |= is_word(argv[i], "forward-unknown-to-host-compiler");
        out_job->forward_linker |= is_word(argv[i], "forward-unknown-to-host-linker");
    }
    if (out_job->as_nvcc)
        cc_list_add(&out_job->compile, "-D__NVCC__=1");
    int rc = cc_parse_words(&p, argc - 1, argv + 1);
    if (rc != CLI_OK)
        return rc;
    for (size_t i = 0; i < out_job->inputs.len; i++) { /* -x, too, and the last one counts */
        struct cc_input *input = &out_job->inputs.at[i];
        input->lang = lang_of_name(input->path, p.lang);
    }
    if (out_job->archs.len == 0 && cc_arch_add(out_job, "sm_90") != CLI_OK)
        return CLI_USAGE;
    return check(out_job);
}

#define HELP_COLUMN 40
#define REFUSED     "refused"

/* Where the groups of the table begin; the last has no heading of its own. */
static const struct {
    const char *first, *text;
} headings[] = {
    {"-o", "what is made:"},
    {"-arch", "\ndevice code:"},
    {"-x", "\nas in every compiler:"},
    {"-Xcompiler", "\nhost compiler and linker:"},
    {"-keep", "\nthe command itself:"},
    {"-expt-relaxed-constexpr", "\nfor programs and build systems that ask:"},
};

static void print_option(const struct cc_option *opt)
{
    char text[128];
    bool is_other = opt->longer && strcmp(opt->longer + 1, opt->name) != 0; /* -c, --compile */

    snprintf(text, sizeof(text), "%s%s%s%s%s", opt->name, is_other ? ", " : "",
             is_other ? opt->longer : "", opt->value ? " " : "", opt->value ? opt->value : "");
    for (size_t i = 0; i < HD_COUNT_OF(headings); i++)
        if (strcmp(opt->name, headings[i].first) == 0)
            cli_help(headings[i].text);
    cli_help_option(text, HELP_COLUMN, opt->doc);
}

/* The names of those that `is_one` takes, as one paragraph. */
static void print_names(const char *heading, bool (*is_one)(const struct cc_option *opt))
{
    struct hd_buf text;

    hd_buf_init(&text);
    for (size_t i = 0; i < cc_option_count; i++)
        if (is_one(&cc_options[i]))
            hd_buf_printf(&text, "%s%s", text.len ? " " : "", cc_options[i].name);
    cli_help(heading);
    cli_help_option("", 2, text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static bool is_ignored(const struct cc_option *opt)
{
    return !opt->doc;
}

static bool is_refused(const struct cc_option *opt)
{
    return opt->doc && !strncmp(opt->doc, REFUSED, strlen(REFUSED));
}

void cc_print_help(void)
{
    cli_help(
        "usage: heddle cc [OPTIONS] FILES\n\n"
        "Compiles CUDA C++ (.cu) with clang 19 and Heddle's own headers, C and C++ as they "
        "are, and\n"
        "links with Heddle's runtime. Options are nvcc's; each can be written with one dash or "
        "with\n"
        "two. -W*, -f* and -m* go to clang.\n\n");
    for (size_t i = 0; i < cc_option_count; i++)
        if (!is_ignored(&cc_options[i]) && !is_refused(&cc_options[i]))
            print_option(&cc_options[i]);
    print_names("\naccepted, without effect:", is_ignored);
    print_names("\nrefused, with the reason and what to use instead:", is_refused);
    cli_help("\nenvironment: HEDDLE_CLANG, HEDDLE_INCLUDE, HEDDLE_LIBDIR (docs/envvars.md)\n"
             "\n"
             "exit status: 0 done, 2 wrong usage, else of the first command that failed\n");
}
