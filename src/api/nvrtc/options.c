/* The command line of nvrtcCompileProgram(): a table of the manual's options. */
#include "api/nvrtc/program.h"

#include <limits.h>
#include <stdlib.h>

#include "base/mem.h"

struct reader {
    struct rtc_options *o;
    struct hd_buf *log;
    const char *option; /* as the program wrote it, for messages */
};

enum value { VALUE_NONE, VALUE_NEEDED, VALUE_MAYBE };

struct option {
    const char *name, *alias; /* without dashes; alias may be NULL */
    enum value value;
    bool (*read)(struct reader *r, const struct option *option, const char *value);
    const char *words; /* for clang; %s is the value */
};

static bool options_bad_value(const struct reader *r, const char *value)
{
    hd_buf_printf(r->log, "nvrtc: error: invalid value for %s: '%s'\n", r->option,
                  value ? value : "");
    return false;
}

/* ---- what options do */

/* Words in which %s, where there is one, ends the text. */
static bool options_pass(struct reader *r, const struct option *option, const char *value)
{
    const char *hole = strstr(option->words, "%s");

    if (hole)
        clang_args_add(&r->o->clang, "%.*s%s", (int)(hole - option->words), option->words, value);
    else
        clang_args_add_words(&r->o->clang, option->words);
    return true;
}

/* Known, and without a meaning for PTX that is compiled when it is loaded. */
static bool options_ignore(struct reader *r, const struct option *option, const char *value)
{
    return true;
}

static bool options_refuse(struct reader *r, const struct option *option, const char *value)
{
    hd_buf_printf(r->log, "nvrtc: error: %s: %s\n", r->option, option->words);
    return false;
}

static bool options_boolean(const struct reader *r, const char *value, bool *out)
{
    *out = !value || !strcmp(value, "true") || !strcmp(value, "on") || !strcmp(value, "1");
    if (*out || !strcmp(value, "false") || !strcmp(value, "off") || !strcmp(value, "0"))
        return true;
    return options_bad_value(r, value);
}

/* Words that hold when the value is true. */
static bool options_when_true(struct reader *r, const struct option *option, const char *value)
{
    bool is;

    if (!options_boolean(r, value, &is))
        return false;
    if (is)
        clang_args_add_words(&r->o->clang, option->words);
    return true;
}

static bool options_when_false(struct reader *r, const struct option *option, const char *value)
{
    bool is;

    if (!options_boolean(r, value, &is))
        return false;
    if (!is)
        clang_args_add_words(&r->o->clang, option->words);
    return true;
}

static bool options_contract(struct reader *r, const struct option *option, const char *value)
{
    bool is;

    if (!options_boolean(r, value, &is))
        return false;
    clang_args_add(&r->o->clang, "-ffp-contract=%s", is ? "fast" : "off");
    return true;
}

static bool options_architecture(struct reader *r, const struct option *option, const char *value)
{
    static const char *const prefixes[] = {"compute_", "sm_", "lto_"};
    struct rtc_options *o = r->o;
    const char *digits = NULL;
    uint64_t cc = 0;

    for (size_t i = 0; i < HD_COUNT_OF(prefixes) && !digits; i++)
        if (!strncmp(value, prefixes[i], strlen(prefixes[i])))
            digits = value + strlen(prefixes[i]);
    size_t n = digits ? strspn(digits, "0123456789") : 0;
    char variant = digits ? digits[n] : '\0';
    if (!n || !hd_str_to_u64((struct hd_str){digits, n}, 10, &cc) || cc < 50 || cc > 129 ||
        (variant && (digits[n + 1] || (variant != 'a' && variant != 'f'))))
        return options_bad_value(r, value);
    o->cc = (unsigned)cc;
    o->variant = variant;
    o->is_virtual = value[0] == 'c';
    o->lto |= value[0] == 'l';
    (void)snprintf(o->target, sizeof(o->target), "sm_%s", digits);
    return true;
}

static bool options_standard(struct reader *r, const struct option *option, const char *value)
{
    static const char *const known[] = {"c++03", "c++11", "c++14", "c++17", "c++20", "c++23"};

    for (size_t i = 0; i < HD_COUNT_OF(known); i++)
        if (!strcmp(value, known[i])) {
            clang_args_add(&r->o->clang, "-std=%s", value);
            return true;
        }
    return options_bad_value(r, value);
}

/* ---- lines in front of the source, behind our own headers, which know no macros of programs */

static void options_put_line(struct hd_buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hd_buf_putc(out, text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
}

static bool define(struct reader *r, const struct option *option, const char *value)
{
    struct hd_buf *out = &r->o->prologue;
    size_t name_B = strcspn(value, "=");

    hd_buf_puts(out, "#define ");
    options_put_line(out, value, name_B);
    hd_buf_putc(out, ' ');
    if (value[name_B])
        options_put_line(out, value + name_B + 1, strlen(value + name_B + 1));
    else
        hd_buf_putc(out, '1');
    hd_buf_putc(out, '\n');
    return true;
}

static bool options_undefine(struct reader *r, const struct option *option, const char *value)
{
    hd_buf_puts(&r->o->prologue, "#undef ");
    options_put_line(&r->o->prologue, value, strlen(value));
    hd_buf_putc(&r->o->prologue, '\n');
    return true;
}

/* A file of the working directory is looked for there first. */
static bool include(struct reader *r, const struct option *option, const char *value)
{
    char path[PATH_MAX];

    hd_buf_puts(&r->o->prologue, "#include \"");
    value = realpath(value, path) ? path : value;
    options_put_line(&r->o->prologue, value, strlen(value));
    hd_buf_puts(&r->o->prologue, "\"\n");
    return true;
}

static bool options_set_lto(struct reader *r, const struct option *option, const char *value)
{
    r->o->lto = true;
    return options_ignore(r, option, value);
}

static bool options_set_default_device(struct reader *r, const struct option *option,
                                       const char *value)
{
    r->o->default_device = true;
    return true;
}

static bool options_set_no_source_include(struct reader *r, const struct option *option,
                                          const char *value)
{
    r->o->no_source_include = true;
    return true;
}

static bool options_set_syntax_only(struct reader *r, const struct option *option,
                                    const char *value)
{
    r->o->syntax_only = true;
    return true;
}

#define FAST_DIV  "-mllvm -nvptx-prec-divf32=0"
#define FAST_SQRT "-mllvm -nvptx-prec-sqrtf32=0"
#define FLUSH     "-fgpu-flush-denormals-to-zero"
#define NO_PCH    "precompiled headers are not there yet"

/* clang-format off */
static const struct option options[] = {
    {"gpu-architecture", "arch", VALUE_NEEDED, options_architecture, NULL},
    {"define-macro", "D", VALUE_NEEDED, define, NULL},
    {"undefine-macro", "U", VALUE_NEEDED, options_undefine, NULL},
    {"include-path", "I", VALUE_NEEDED, options_pass, "-I%s"},
    {"pre-include", "include", VALUE_NEEDED, include, NULL},
    {"no-source-include", NULL, VALUE_NONE, options_set_no_source_include, NULL},
    {"std", NULL, VALUE_NEEDED, options_standard, NULL},
    {"device-as-default-execution-space", "default-device", VALUE_NONE, options_set_default_device, NULL},
    {"relocatable-device-code", "rdc", VALUE_MAYBE, options_when_true, "-fgpu-rdc"},
    {"device-c", "dc", VALUE_NONE, options_pass, "-fgpu-rdc"},
    {"device-w", "dw", VALUE_NONE, options_ignore, NULL},
    {"extensible-whole-program", "ewp", VALUE_NONE, options_pass, "-fgpu-rdc"},
    {"dlink-time-opt", "dlto", VALUE_NONE, options_set_lto, NULL},
    {"gen-opt-lto", NULL, VALUE_NONE, options_ignore, NULL},
    {"optix-ir", NULL, VALUE_NONE, options_refuse, "OptiX IR is a format of NVIDIA's that is not public"},
    {"device-debug", "G", VALUE_NONE, options_pass, "-g -O0"},
    {"generate-line-info", "lineinfo", VALUE_NONE, options_pass, "-gline-tables-only"},
    {"dopt", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"Ofast-compile", "Ofc", VALUE_NEEDED, options_ignore, NULL},
    {"ptxas-options", "Xptxas", VALUE_NEEDED, options_ignore, NULL},
    {"maxrregcount", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"ftz", NULL, VALUE_MAYBE, options_when_true, FLUSH},
    {"prec-sqrt", NULL, VALUE_MAYBE, options_when_false, FAST_SQRT},
    {"prec-div", NULL, VALUE_MAYBE, options_when_false, FAST_DIV},
    {"fmad", NULL, VALUE_MAYBE, options_contract, NULL},
    {"use_fast_math", NULL, VALUE_NONE, options_pass, "-fgpu-approx-transcendentals " FLUSH " " FAST_DIV " " FAST_SQRT},
    {"extra-device-vectorization", NULL, VALUE_NONE, options_ignore, NULL},
    {"modify-stack-limit", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"device-stack-protector", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"jump-table-density", "jtd", VALUE_NEEDED, options_ignore, NULL},
    {"builtin-move-forward", NULL, VALUE_MAYBE, options_when_false, "-DHEDDLE_RTC_NO_MOVE_FORWARD"},
    {"builtin-initializer-list", NULL, VALUE_MAYBE, options_when_false, "-DHEDDLE_RTC_NO_INITIALIZER_LIST"},
    {"disable-warnings", "w", VALUE_NONE, options_pass, "-w"},
    {"Wreorder", NULL, VALUE_NONE, options_pass, "-Wreorder"},
    {"Werror", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"restrict", NULL, VALUE_NONE, options_ignore, NULL},
    {"device-int128", NULL, VALUE_NONE, options_ignore, NULL},
    {"device-float128", NULL, VALUE_NONE, options_refuse, "clang has no __float128 for devices"},
    {"optimization-info", "opt-info", VALUE_NEEDED, options_ignore, NULL},
    {"display-error-number", "err-no", VALUE_NONE, options_ignore, NULL},
    {"no-display-error-number", "no-err-no", VALUE_NONE, options_ignore, NULL},
    {"diag-error", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"diag-suppress", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"diag-warn", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"brief-diagnostics", "brief-diag", VALUE_MAYBE, options_ignore, NULL},
    {"split-compile", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"fdevice-syntax-only", NULL, VALUE_NONE, options_set_syntax_only, NULL},
    {"minimal", NULL, VALUE_NONE, options_ignore, NULL},
    {"no-cache", NULL, VALUE_NONE, options_ignore, NULL},
    {"time", NULL, VALUE_NEEDED, options_refuse, "times are not written"},
    {"fdevice-time-trace", NULL, VALUE_NEEDED, options_refuse, "traces are not written"},
    {"frandom-seed", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"version-ident", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"pch", NULL, VALUE_NONE, options_ignore, NULL}, /* by itself, where that helps */
    {"create-pch", NULL, VALUE_NEEDED, options_refuse, NO_PCH},
    {"use-pch", NULL, VALUE_NEEDED, options_refuse, NO_PCH},
    {"pch-dir", NULL, VALUE_NEEDED, options_ignore, NULL},
    {"pch-verbose", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"pch-messages", NULL, VALUE_MAYBE, options_ignore, NULL},
    {"instantiate-templates-in-pch", NULL, VALUE_MAYBE, options_ignore, NULL},
};
/* clang-format on */

/* ---- reading */

/* What follows the name in a word: "=value", nothing, or, for -D -I -U, the value itself. */
static const char *options_after_name(const char *text, const char *name)
{
    size_t n = name ? strlen(name) : 0;

    if (!name || strncmp(text, name, n) != 0)
        return NULL;
    if (!text[n] || text[n] == '=')
        return text + n;
    return n == 1 && strchr("DIU", *name) ? text + n : NULL;
}

static const struct option *options_find(const char *word, const char **out_rest)
{
    const char *text = word + 1 + (word[0] == '-' && word[1] == '-');

    if (word[0] != '-' || !*text)
        return NULL;
    for (size_t i = 0; i < HD_COUNT_OF(options); i++) {
        *out_rest = options_after_name(text, options[i].name);
        if (!*out_rest)
            *out_rest = options_after_name(text, options[i].alias);
        if (*out_rest)
            return &options[i];
    }
    return NULL;
}

/* Returns how many words were used, or 0 after a message. */
static int options_read_one(struct reader *r, int n, const char *const *words)
{
    const char *rest;
    const struct option *option = words[0] ? options_find(words[0], &rest) : NULL;

    r->option = words[0] ? words[0] : "NULL";
    if (!option) {
        hd_buf_printf(r->log, "nvrtc: error: unrecognized option %s found\n", r->option);
        return 0;
    }
    const char *value = *rest == '=' ? rest + 1 : *rest ? rest : NULL;
    bool takes_next = !value && option->value == VALUE_NEEDED && n > 1 && words[1];
    if (takes_next)
        value = words[1];
    if (!value && option->value == VALUE_NEEDED) {
        hd_buf_printf(r->log, "nvrtc: error: missing value for %s\n", r->option);
        return 0;
    }
    if (value && option->value == VALUE_NONE) {
        (void)options_bad_value(r, value);
        return 0;
    }
    return option->read(r, option, value) ? 1 + takes_next : 0;
}

bool rtc_options_read(struct rtc_options *o, int n, const char *const *words, struct hd_buf *log)
{
    struct reader r = {.o = o, .log = log};

    *o = (struct rtc_options){.cc = 75, .target = "sm_75", .is_virtual = true};
    hd_buf_init(&o->prologue);
    clang_args_add(&o->clang, "-std=c++17");
    for (int i = 0, used; i < n; i += used) {
        used = options_read_one(&r, n - i, words + i);
        if (!used)
            return false;
    }
    return true;
}

void rtc_options_fini(struct rtc_options *o)
{
    hd_buf_fini(&o->prologue);
    clang_args_fini(&o->clang);
}
