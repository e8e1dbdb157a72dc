/* The options: one table, which the reader and the help share. */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/words.h"
#include "ptxas/ptxas.h"

/* Files of options that name each other end here. */
#define NESTED_MAX 16
#define FILE_MAX_B ((size_t)16 << 20)
#define ROWS_MAX   64

struct reader {
    struct ptxas *p;
    enum ptxas_caller caller;
    unsigned nested;
    bool seen[ROWS_MAX];
};

enum form {
    FLAG,
    VALUE,  /* -o FILE, -o=FILE */
    JOINED, /* -O3, too */
    LIST,   /* like VALUE; each adds to those before */
};

struct row {
    const char *name;  /* --gpu-name */
    const char *brief; /* -arch */
    enum form form;
    /* False after a message. value: NULL for flags. */
    bool (*apply)(struct reader *r, const struct row *row, const char *value);
    size_t at;          /* a member of struct ptxas_options */
    const char *values; /* what the value may be, or how help calls it */
    const char *doc;
};

#define HANDLER(name) static bool name(struct reader *r, const struct row *row, const char *value)

static bool HD_PRINTF(2, 3) options_refuse(struct reader *r, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ptxas_say(r->p, PTXAS_FATAL, "%s", text);
    return false;
}

static void *options_member(struct reader *r, const struct row *row)
{
    return (char *)&r->p->options + row->at;
}

static const char *options_keep(struct reader *r, const char *text, size_t len)
{
    return hd_arena_strndup(&r->p->arena, text, len);
}

/* Of a list such as "true|false". */
static bool options_is_one_of(const char *value, const char *list)
{
    size_t len = strlen(value);

    for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == len && !strncmp(at, value, len))
            return true;
    return false;
}

/* ---- what options do */

/* A hint to an optimiser or about debug information: nothing here depends on it. */
HANDLER(hint)
{
    return true;
}

HANDLER(set)
{
    *(bool *)options_member(r, row) = true;
    return true;
}

HANDLER(text)
{
    *(const char **)options_member(r, row) = options_keep(r, value, strlen(value));
    return true;
}

HANDLER(boolean)
{
    return options_is_one_of(value, row->values) ||
           options_refuse(r, "'%s': expected true or false", value);
}

HANDLER(number)
{
    char *end;

    strtol(value, &end, 10);
    return (*value && !*end) || options_refuse(r, "'%s': expected a number", value);
}

HANDLER(one_of)
{
    return options_is_one_of(value, row->values) ||
           options_refuse(r, "Value '%s' is not defined for option '%s'", value, row->name);
}

HANDLER(not_implemented)
{
    return options_refuse(r, "Option '%s' is not implemented: %s", row->name, row->doc);
}

/* N, or a word for what the architecture has; what is too much is no limit. */
HANDLER(registers)
{
    char *end;
    long most = strtol(value, &end, 10);

    if (options_is_one_of(value, "archmax|archmin"))
        most = 0;
    else if (!*value || *end)
        return options_refuse(r, "Invalid value '%s' for option '%s'", value, row->name);
    else if (most < 0 || most > PTXAS_REGISTERS_MAX)
        ptxas_say(r->p, PTXAS_WARNING, "Too big %s value specified %ld, will be ignored", row->name,
                  most);
    if (row->at && most >= 0 && most <= PTXAS_REGISTERS_MAX)
        r->p->options.max_registers = (unsigned)most;
    return true;
}

HANDLER(target)
{
    struct ptxas_target *out = &r->p->options.target;

    if (!ptxas_target_read(value, out))
        return options_refuse(r, "Value '%s' is not defined for option '%s'", value, row->name);
    out->name = options_keep(r, value, strlen(value));
    return true;
}

HANDLER(entries)
{
    for (const char *at = value; *at; at += strcspn(at, ","), at += *at == ',')
        if (!hd_vec_push(&r->p->entries, options_keep(r, at, strcspn(at, ","))))
            return options_refuse(r, "out of memory");
    return true;
}

HANDLER(string)
{
    return ptxas_input_add(r->p, "application ptx input", value, strlen(value)) == HD_OK ||
           options_refuse(r, "out of memory");
}

static bool options_words_read(struct reader *r, size_t count, const char *const *words);

static bool options_file_read(struct reader *r, const char *path)
{
    HD_VEC(const char *) words = {0};
    struct hd_buf file, word;
    bool good = true;

    hd_buf_init(&file);
    hd_buf_init(&word);
    if (hd_file_read(path, FILE_MAX_B, &file) != HD_OK)
        good = options_refuse(r, "Could not open options file '%s'", path);
    for (const char *at = file.ptr; good && at && hd_word_next(&at, &word); hd_buf_clear(&word))
        good = !word.failed && hd_vec_push(&words, options_keep(r, word.ptr, word.len));
    good = good && options_words_read(r, words.len, words.at);
    hd_vec_fini(&words);
    hd_buf_fini(&word);
    hd_buf_fini(&file);
    return good;
}

HANDLER(options_files)
{
    bool good = ++r->nested <= NESTED_MAX ||
                options_refuse(r, "Options files name each other: '%s'", value);

    for (const char *at = value; good && *at; at += strcspn(at, ","), at += *at == ',')
        good = options_file_read(r, options_keep(r, at, strcspn(at, ",")));
    r->nested--;
    return good;
}

/* ---- the table */

#define AT(name)    offsetof(struct ptxas_options, name)
#define TRUTH       "true|false"
#define LOAD_CACHE  "ca|cg|cs|cv|lu"
#define STORE_CACHE "wb|cg|cs|wt"

/* Without a line of help: accepted, and without effect here. */
/* clang-format off */
static const struct row rows[] = {
    {"output-file", "o", VALUE, text, AT(output), "FILE", "where the image goes (elf.o)"},
    {"gpu-name", "arch", VALUE, target, 0, "sm_NN", "sm_50 to sm_121a (sm_75); compute_NN only checks"},
    {"compile-only", "c", FLAG, set, AT(compile_only), NULL, "undefined functions and variables are left to a linker"},
    {"extensible-whole-program", "ewp", FLAG, set, AT(whole_extensible), NULL, "the same"},
    {"entry", "e", LIST, entries, 0, "NAME,...", "only these kernels are checked; the image keeps the others"},
    {"input-as-string", "ias", LIST, string, 0, "PTX", "an input by itself in place of its file"},
    {"options-file", "optf", LIST, options_files, 0, "FILE,...", "more options, from files"},
    {"verbose", "v", FLAG, set, AT(verbose), NULL, "print memory, registers and spills of each kernel"},
    {"warn-on-spills", "warn-spills", FLAG, set, AT(warn_spills), NULL, "warn when a kernel spills registers"},
    {"warn-on-local-memory-usage", "warn-lmem-usage", FLAG, set, AT(warn_local), NULL, "warn when a kernel uses local memory"},
    {"warn-on-double-precision-use", "warn-double-usage", FLAG, set, AT(warn_double), NULL, "warn when a kernel computes with doubles"},
    {"warning-as-error", "Werror", FLAG, set, AT(warnings_are_errors), NULL, "warnings are errors"},
    {"disable-warnings", "w", FLAG, set, AT(no_warnings), NULL, "no warnings"},
    {"device-debug", "g", FLAG, set, AT(debug), NULL, "the image is one for debugging"},
    {"generate-line-info", "lineinfo", FLAG, set, AT(line_info), NULL, "accepted: lines of the source are always kept"},
    {"suppress-debug-info", "suppress-debug-info", FLAG, set, AT(no_debug_info), NULL, "accepted with -g or -lineinfo"},
    {"maxrregcount", "maxrregcount", VALUE, registers, AT(max_registers), "N", "registers per thread, of kernels without bounds of their own; 16 at least"},
    {"override-directive-values", "override-directive-values", FLAG, set, AT(override_directives), NULL, "-maxrregcount comes before the bounds of kernels"},
    {"profile", "profile", VALUE, text, AT(profile), "FILE", "code that is fast where HEDDLE_PROFILE=FILE counted most; see docs/pgo.md"},
    {"compile-as-tools-patch", "astoolspatch", FLAG, not_implemented, 0, NULL, "it makes code for NVIDIA's tools"},
    {"sanitize", "sanitize", VALUE, not_implemented, 0, "TOOL", "HEDDLE_STRICT checks every access of a kernel"},
    {"list-version", "version-ls", FLAG, set, AT(list_versions), NULL, "print the versions of PTX that are read"},
    {"version", "V", FLAG, set, AT(version), NULL, "print the version"},
    {"help", "h", FLAG, set, AT(help), NULL, "print this text"},
    {"Ofast-compile", "Ofc", VALUE, one_of, 0, "0|min|mid|max", NULL},
    {"allow-expensive-optimizations", "allow-expensive-optimizations", VALUE, boolean, 0, TRUTH, NULL},
    {"compiler-annotations", "annotate", FLAG, hint, 0, NULL, NULL},
    {"def-load-cache", "dlcm", VALUE, one_of, 0, LOAD_CACHE, NULL},
    {"def-store-cache", "dscm", VALUE, one_of, 0, STORE_CACHE, NULL},
    {"device-function-maxrregcount", "func-maxrregcount", VALUE, registers, 0, "N", NULL},
    {"device-stack-protector", "device-stack-protector", VALUE, boolean, 0, TRUTH, NULL},
    {"disable-optimizer-constants", "disable-optimizer-consts", FLAG, hint, 0, NULL, NULL},
    {"dont-merge-basicblocks", "no-bb-merge", FLAG, hint, 0, NULL, NULL},
    {"fmad", "fmad", VALUE, boolean, 0, TRUTH, NULL},
    {"force-load-cache", "flcm", VALUE, one_of, 0, LOAD_CACHE, NULL},
    {"force-store-cache", "fscm", VALUE, one_of, 0, STORE_CACHE, NULL},
    {"g-tensor-memory-access-check", "g-tmem-access-check", FLAG, hint, 0, NULL, NULL},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", FLAG, hint, 0, NULL, NULL},
    {"legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", FLAG, hint, 0, NULL, NULL},
    {"machine", "m", JOINED, one_of, 0, "64", NULL},
    {"make-errors-visible-at-exit", "make-errors-visible-at-exit", FLAG, hint, 0, NULL, NULL},
    {"maxntid", "maxntid", VALUE, hint, 0, "N,...", NULL},
    {"minnctapersm", "minnctapersm", VALUE, number, 0, "N", NULL},
    {"opt-level", "O", JOINED, number, 0, "N", NULL},
    {"optimize-float-atomics", "opt-fp-atomics", FLAG, hint, 0, NULL, NULL},
    {"position-independent-code", "pic", VALUE, boolean, 0, TRUTH, NULL},
    {"preserve-relocs", "preserve-relocs", FLAG, hint, 0, NULL, NULL},
    {"regAllocOptLevel", "regAllocOptLevel", VALUE, number, 0, "N", NULL}, /* of no manual: Triton gives it */
    {"register-usage-level", "regUsageLevel", VALUE, number, 0, "0..10", NULL},
    {"return-at-end", "ret-end", FLAG, hint, 0, NULL, NULL},
    {"sp-bounds-check", "sp-bounds-check", FLAG, hint, 0, NULL, NULL},
    {"split-compile", "split-compile", VALUE, number, 0, "N", NULL},
    {"suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", FLAG, hint, 0, NULL, NULL},
    {"suppress-double-demote-warning", "suppress-double-demote-warning", FLAG, hint, 0, NULL, NULL},
    {"suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", FLAG, hint, 0, NULL, NULL},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", FLAG, hint, 0, NULL, NULL},
};
/* clang-format on */
_Static_assert(HD_COUNT_OF(rows) <= ROWS_MAX, "a bit per row");

/* Of a command line only: what names files, or asks for something else than assembling. */
static bool options_is_for_tools(const struct row *row)
{
    return row->apply == options_files || row->apply == string || row->at == AT(help) ||
           row->at == AT(list_versions) || row->at == AT(output) || row->at == AT(profile);
}

/* ---- words */

/* What stands behind the name, "" or "=value"; NULL when the word is another one. */
static const char *options_behind(const char *word, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(word, name, len) && (!word[len] || word[len] == '=') ? word + len : NULL;
}

/* `word` without its first dash. */
static const struct row *options_row_find(const char *word, const char **out_rest)
{
    bool is_long = *word == '-';

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        *out_rest =
            is_long ? options_behind(word + 1, rows[i].name) : options_behind(word, rows[i].brief);
        if (*out_rest)
            return &rows[i];
    }
    /* -O3 */
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (rows[i].form == JOINED && rows[i].brief[0] == word[0]) {
            *out_rest = word + 1;
            return &rows[i];
        }
    return NULL;
}

/* The option at words[*at], with its value; *at is moved to its last word. */
static bool option_read(struct reader *r, size_t count, const char *const *words, size_t *at)
{
    const char *word = words[*at], *rest, *value;
    const struct row *row = options_row_find(word + 1, &rest);

    if (!row || (r->caller == PTXAS_API && options_is_for_tools(row)))
        return options_refuse(r, "Unknown option '%s'", word + 1);
    bool *seen = &r->seen[row - rows];
    if (*seen && (row->form == VALUE || row->form == JOINED))
        ptxas_say(r->p, PTXAS_WARNING,
                  "incompatible redefinition for option '%s', the last value of this option was "
                  "used",
                  row->name);
    *seen = true;
    if (row->form == FLAG)
        return *rest ? options_refuse(r, "no argument expected after '%.*s'", (int)(rest - word),
                                      word)
                     : row->apply(r, row, NULL);
    if (*rest)
        return row->apply(r, row, rest + (*rest == '='));
    if (row->apply == number && row->form == JOINED && word[1] != '-')
        return true; /* -O alone */
    value = *at + 1 < count ? words[++*at] : NULL;
    return value ? row->apply(r, row, value)
                 : options_refuse(r, "argument expected after '%s'", word);
}

static bool options_words_read(struct reader *r, size_t count, const char *const *words)
{
    for (size_t i = 0; i < count; i++) {
        bool good;

        if (!words[i])
            good = options_refuse(r, "option %zu is a null pointer", i);
        else if (words[i][0] == '-' && words[i][1])
            good = option_read(r, count, words, &i);
        else if (r->caller == PTXAS_API)
            good = options_refuse(r, "Unknown option '%s'", words[i]);
        else
            good = hd_vec_push(&r->p->files, options_keep(r, words[i], strlen(words[i])));
        if (!good)
            return false;
    }
    return true;
}

/* Options that stand in each other's way. */
static void options_settle(struct ptxas *p)
{
    struct ptxas_options *o = &p->options;

    if (o->debug && o->line_info)
        ptxas_say(p, PTXAS_WARNING,
                  "Conflicting options --device-debug and --generate-line-info specified, ignoring "
                  "--generate-line-info option");
    if (o->no_debug_info && !o->debug && !o->line_info)
        ptxas_say(p, PTXAS_WARNING,
                  "Option suppress-debug-info requires option device-debug or lineinfo; ignoring "
                  "since latter is not specified");
}

bool ptxas_options_read(struct ptxas *p, enum ptxas_caller caller, size_t count,
                        const char *const *words)
{
    struct reader r = {.p = p, .caller = caller};

    if (!options_words_read(&r, count, words))
        return false;
    if (hd_arena_status(&p->arena) != HD_OK)
        return options_refuse(&r, "out of memory");
    options_settle(p);
    return true;
}

/* ---- help */

void ptxas_help(bool has_effect, void (*row)(const char *names, const char *doc))
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        char names[256];

        if ((rows[i].doc != NULL) != has_effect)
            continue;
        int n = snprintf(names, sizeof(names), "-%s, --%s%s%s", rows[i].brief, rows[i].name,
                         rows[i].values ? " " : "", rows[i].values ? rows[i].values : "");
        assert(n > 0 && (size_t)n < sizeof(names)); /* rows are ours */
        row(names, rows[i].doc ? rows[i].doc : "");
    }
}
