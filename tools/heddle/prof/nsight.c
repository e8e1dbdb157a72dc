/* See nsight.h. */
#include "prof/nsight.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "common/cli.h"

static const char *const suffixes[] = {".nsys-rep", ".ncu-rep", ".sqlite"};

void nsight_push(struct nsight_words *words, const char *word)
{
    char *copy = hd_strdup(word);

    if (copy && hd_vec_push(&words->at, copy))
        return;
    hd_free(copy);
    words->failed = true;
}

void nsight_fini(struct nsight_words *words)
{
    for (size_t i = 0; i < words->at.len; i++)
        hd_free(words->at.at[i]);
    hd_vec_fini(&words->at);
}

bool nsight_has(const char *list, const char *word, size_t len)
{
    while (list && *list) {
        size_t n = strcspn(list, " ");
        if (n == len && !memcmp(list, word, n))
            return true;
        list += n;
        list += strspn(list, " ");
    }
    return false;
}

/* ---- options */

static int refuse_value(const struct nsight_option *o, const char *value)
{
    return cli_usage("--%s=%s: %s%s%s", o->name, value, o->why ? o->why : "Heddle does not do that",
                     o->values ? "; possible: " : "", o->values ? o->values : "");
}

/* -1, or an exit status. */
static int take(const struct nsight_option *o, const char *value, void *state,
                struct nsight_words *words)
{
    assert((value != NULL) == (o->kind != NSIGHT_FLAG));
    bool is_on = o->kind != NSIGHT_SWITCH || !strcmp(value, "true");

    if (o->kind == NSIGHT_SWITCH && !is_on && strcmp(value, "false") != 0)
        return refuse_value(o, value);
    if (o->values && value && !nsight_has(o->values, value, strlen(value)))
        return refuse_value(o, value);
    if (o->take)
        return o->take(state, value) ? -1 : CLI_USAGE;
    if (o->word && is_on) {
        nsight_push(words, o->word);
        if (o->kind == NSIGHT_VALUE)
            nsight_push(words, value);
    }
    return -1;
}

static const struct nsight_option *find(const struct nsight_option *options, size_t n,
                                        const char *word, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if ((len == 1 && options[i].letter == *word) ||
            (strlen(options[i].name) == len && !memcmp(options[i].name, word, len)))
            return &options[i];
    return NULL;
}

/* The value that follows `word`, which has none in itself; *at moves on. NULL: it lacks. */
static const char *next_value(const struct nsight_option *o, char **argv, int *at)
{
    const char *next = argv[*at + 1];

    if (o->kind == NSIGHT_SWITCH && !(next && nsight_has("true false", next, strlen(next))))
        return "true";
    if (next)
        ++*at;
    return next;
}

int nsight_parse(const char *help, const struct nsight_option *options, size_t n, char **argv,
                 void *state, struct nsight_words *words, char ***out_rest)
{
    int at = 1;

    for (; argv[at] && argv[at][0] == '-' && argv[at][1]; at++) {
        const char *word = argv[at];
        bool is_long = word[1] == '-';
        const char *name = word + 1 + is_long;
        size_t len = is_long ? strcspn(name, "=") : 1;
        const char *value = name[len] ? name + len + (name[len] == '=') : NULL;

        if (!strcmp(word, "--")) {
            at++;
            break;
        }
        if (!strcmp(word, "--help") || !strcmp(word, "-h"))
            return cli_help(help);
        const struct nsight_option *o = find(options, n, name, len);
        if (!o || (o->kind == NSIGHT_FLAG && value))
            return cli_usage("Heddle does not have %.*s", (int)(len + (size_t)(name - word)), word);
        if (o->kind != NSIGHT_FLAG && !value && !(value = next_value(o, argv, &at)))
            return cli_usage("option '%s' needs a value", word);
        int code = take(o, value, state, words);
        if (code >= 0)
            return code;
    }
    *out_rest = argv + at;
    return -1;
}

int nsight_prof(struct nsight_words *words)
{
    int argc = (int)words->at.len;

    assert(words->failed || (argc && !strcmp(words->at.at[0], "prof")));
    if (words->failed || !hd_vec_push(&words->at, NULL))
        return cli_error("out of memory");
    words->at.len--; /* what ends it is no word */
    return cmd_prof(argc, words->at.at);
}

/* ---- names */

char *nsight_report_name(const char *name)
{
    struct hd_buf out = {0};
    char host[65] = "";

    (void)gethostname(host, sizeof(host) - 1);
    for (const char *c = name; *c; c++) {
        size_t len = strcspn(c, "}");
        char variable[128];

        if (*c != '%') {
            hd_buf_putc(&out, *c);
        } else if (c[1] == '%' || c[1] == 'h') {
            hd_buf_puts(&out, *++c == '%' ? "%" : host);
        } else if (c[1] == 'q' && c[2] == '{' && c[len] && len - 3 < sizeof(variable)) {
            (void)snprintf(variable, sizeof(variable), "%.*s", (int)(len - 3), c + 3);
            hd_buf_puts(&out, getenv(variable) ? getenv(variable) : "");
            c += len;
        } else {
            cli_error("%s: Heddle replaces %%h, %%q{NAME} and %%%% in a name", name);
            hd_buf_fini(&out);
            return NULL;
        }
    }
    for (size_t i = 0; i < HD_COUNT_OF(suffixes); i++) {
        size_t len = strlen(suffixes[i]);
        if (out.len > len && !strcmp(out.ptr + out.len - len, suffixes[i])) {
            out.len -= len;
            out.ptr[out.len] = '\0';
        }
    }
    if (out.failed)
        cli_error("out of memory");
    return hd_buf_take(&out);
}

char *nsight_report_file(const char *name)
{
    struct hd_buf out = {0};
    size_t len = strlen(name);

    for (size_t i = 0; i < HD_COUNT_OF(suffixes); i++) {
        size_t own = strlen(suffixes[i]);
        if (len > own && !strcmp(name + len - own, suffixes[i])) {
            len -= own;
            break;
        }
    }
    hd_buf_printf(&out, "%.*s.sqlite", (int)len, name);
    if (out.ptr && access(out.ptr, F_OK) != 0 && !access(name, F_OK)) {
        hd_buf_clear(&out);
        hd_buf_puts(&out, name);
    }
    return hd_buf_take(&out);
}
