/* See options.h. */
#include "san/options.h"

#include <stdio.h>
#include <string.h>

#include "base/demangle.h"
#include "base/text/expression.h"
#include "base/mem.h"
#include "san/tool.h"

const char *const san_severity_words[SAN_SEVERITY_COUNT] = {
#define X(name, word) word,
    SAN_SEVERITY_LIST(X)
#undef X
};

/* ---- the table */

/* Words of each choice, one behind the other. */
#define WORD(id, word)           word "\0"
#define CHOICE_WORDS(name, list) static const char words_##list[] = list(WORD);
SAN_CHOICE_LISTS(CHOICE_WORDS)

#define AT(member) offsetof(struct san_options, member)
const struct san_option san_option_rows[] = {
#define YESNO(member, name, def, doc) {name, SAN_OPTION_YESNO, AT(member), NULL, 0, 0, 1, def, doc},
#define COUNT(member, name, min, max, def, doc)                                                    \
    {name, SAN_OPTION_COUNT, AT(member), NULL, 0, min, max, def, doc},
#define CHOICE(member, name, list, def, doc)                                                       \
    {name, SAN_OPTION_CHOICE, AT(member), words_##list, sizeof(words_##list) - 1, 0, 0, def, doc},
#define TEXT(member, name, doc)    {name, SAN_OPTION_TEXT, AT(member), NULL, 0, 0, 0, 0, doc},
#define FILTERS(member, name, doc) {name, SAN_OPTION_FILTERS, AT(member), NULL, 0, 0, 0, 0, doc},
#include "san/options.def"
};
const size_t san_option_count = HD_COUNT_OF(san_option_rows);

const struct san_option *san_option_find(struct hd_str name)
{
    for (size_t i = 0; i < san_option_count; i++)
        if (hd_str_is(name, san_option_rows[i].name))
            return &san_option_rows[i];
    return NULL;
}

const char *san_option_word(const struct san_option *row, uint64_t value)
{
    const char *at = row->words, *end = row->words + row->words_B;

    assert(row->kind == SAN_OPTION_CHOICE);
    for (; value && at < end; value--)
        at += strlen(at) + 1;
    return at < end ? at : NULL;
}

static void *options_member_of(struct san_options *options, const struct san_option *row)
{
    return (char *)options + row->offset;
}

/* ---- life */

void san_options_init(struct san_options *options)
{
    *options = (struct san_options){0};
    for (size_t i = 0; i < san_option_count; i++) {
        const struct san_option *row = &san_option_rows[i];
        void *member = options_member_of(options, row);

        if (row->kind == SAN_OPTION_YESNO)
            *(bool *)member = row->fallback != 0;
        else if (row->kind == SAN_OPTION_COUNT)
            *(uint64_t *)member = row->fallback;
        else if (row->kind == SAN_OPTION_CHOICE)
            *(unsigned *)member = (unsigned)row->fallback;
    }
}

static void options_filter_fini(struct san_filter *filter)
{
    if (filter->key == SAN_FILTER_REGEX)
        regfree(&filter->regex);
    hd_free(filter->text);
}

static void options_filters_fini(struct san_filters *filters)
{
    for (size_t i = 0; i < filters->list.len; i++)
        options_filter_fini(&filters->list.at[i]);
    hd_vec_fini(&filters->list);
}

void san_options_fini(struct san_options *options)
{
    for (size_t i = 0; i < san_option_count; i++) {
        void *member = options_member_of(options, &san_option_rows[i]);
        if (san_option_rows[i].kind == SAN_OPTION_TEXT)
            hd_free(*(char **)member);
        else if (san_option_rows[i].kind == SAN_OPTION_FILTERS)
            options_filters_fini(member);
    }
    *options = (struct san_options){0};
}

/* ---- values */

static enum hd_status options_refuse(const struct san_option *row, struct hd_str value,
                                     const char *takes)
{
    return hd_error(HD_BAD_ARG, "%s: '%.*s' is not possible: it takes %s", row->name,
                    HD_STR_ARG(value), takes);
}

static enum hd_status options_set_yesno(const struct san_option *row, struct hd_str value,
                                        bool *member)
{
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}};

    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        for (int is = 0; is < 2; is++)
            if (hd_str_is(value, words[i][is])) {
                *member = is;
                return HD_OK;
            }
    return options_refuse(row, value, "yes or no");
}

static enum hd_status options_set_count(const struct san_option *row, struct hd_str value,
                                        uint64_t *member)
{
    char takes[64];
    uint64_t number;

    snprintf(takes, sizeof(takes), "a number, %llu to %llu", (unsigned long long)row->min,
             (unsigned long long)row->max);
    if (!hd_str_to_u64(value, 10, &number) || number < row->min || number > row->max)
        return options_refuse(row, value, takes);
    *member = number;
    return HD_OK;
}

static enum hd_status options_set_choice(const struct san_option *row, struct hd_str value,
                                         unsigned *member)
{
    struct hd_buf takes = {0};
    const char *word;

    for (unsigned i = 0; (word = san_option_word(row, i)); i++) {
        if (*word && hd_str_is(value, word)) {
            hd_buf_fini(&takes);
            *member = i;
            return HD_OK;
        }
        if (*word)
            hd_buf_printf(&takes, "%s%s", takes.len ? ", " : "one of ", word);
    }
    enum hd_status status = options_refuse(row, value, takes.ptr ? takes.ptr : "another word");
    hd_buf_fini(&takes);
    return status;
}

static char *options_copy_text(struct hd_str text)
{
    char *made = hd_alloc(text.len + 1);

    if (made && text.len)
        memcpy(made, text.ptr, text.len);
    return made;
}

static enum hd_status options_set_text(const struct san_option *row, struct hd_str value,
                                       char **member)
{
    if (!value.len || memchr(value.ptr, '\0', value.len))
        return options_refuse(row, value, "a text");
    char *made = options_copy_text(value);
    if (!made)
        return hd_error(HD_NO_MEMORY, "%s: out of memory", row->name);
    hd_free(*member);
    *member = made;
    return HD_OK;
}

/* ---- filters of kernels */

static bool options_filter_key(struct hd_str word, enum san_filter_key *out)
{
#define X(id, whole, brief, doc)                                                                   \
    if (word.len && (hd_str_is(word, whole) || hd_str_is(word, brief)))                            \
        return *out = SAN_FILTER_##id, true;
    SAN_FILTER_LIST(X)
#undef X
    return false;
}

static enum hd_status options_filter_add(const struct san_option *row, enum san_filter_key key,
                                         struct hd_str text, struct san_filters *filters)
{
    struct san_filter filter = {.key = key, .text = options_copy_text(text)};

    if (!filter.text)
        return hd_error(HD_NO_MEMORY, "%s: out of memory", row->name);
    int bad = key == SAN_FILTER_REGEX ? hd_regex_compile(&filter.regex, filter.text) : 0;
    if (bad) {
        char why[128];
        regerror(bad, &filter.regex, why, sizeof(why));
        enum hd_status status = hd_error(HD_BAD_ARG, "%s: '%s' is no regular expression: %s",
                                         row->name, filter.text, why);
        hd_free(filter.text);
        return status;
    }
    if (!hd_vec_push(&filters->list, filter)) {
        options_filter_fini(&filter);
        return hd_error(HD_NO_MEMORY, "%s: out of memory", row->name);
    }
    return HD_OK;
}

/* "kns=a,kne=b,name"; a regular expression goes to the end, commas and all. */
static enum hd_status options_add_filters(const struct san_option *row, struct hd_str value,
                                          struct san_filters *filters)
{
    for (;;) {
        const char *behind = value.len ? memchr(value.ptr, ',', value.len) : NULL;
        size_t item_len = behind ? (size_t)(behind - value.ptr) : value.len;
        const char *equals = item_len ? memchr(value.ptr, '=', item_len) : NULL;
        struct hd_str word = {value.ptr, equals ? (size_t)(equals - value.ptr) : 0};
        enum san_filter_key key = SAN_FILTER_FUNCTION;

        if (!item_len || (equals && !options_filter_key(word, &key)) ||
            memchr(value.ptr, '\0', value.len))
            return options_refuse(row, value,
                                  "the function's NAME, or KEY=TEXT with a key of kernel_name "
                                  "(kne), kernel_substring (kns), regex");
        struct hd_str rest = equals ? (struct hd_str){equals + 1, value.len - word.len - 1} : value;
        const char *comma = key == SAN_FILTER_REGEX ? NULL : memchr(rest.ptr, ',', rest.len);
        struct hd_str text = {rest.ptr, comma ? (size_t)(comma - rest.ptr) : rest.len};
        if (!text.len)
            return options_refuse(row, value, "a text behind '='");
        HD_TRY(options_filter_add(row, key, text, filters));
        if (!comma)
            return HD_OK;
        value = (struct hd_str){comma + 1, rest.len - text.len - 1};
    }
}

/* "axpy" is the function of _Z4axpyIfEvPT_i, of _ZN4blas4axpyEv (as "blas::axpy", too) and axpy;
 * a mangled name is itself. */
static bool options_is_function(const char *kernel, const char *text)
{
    struct hd_buf name = {0};
    size_t len = strlen(text);

    if (strcmp(kernel, text) == 0)
        return true;
    hd_demangle_or_name(kernel, HD_DEMANGLE_SIMPLE, &name);
    const char *end = name.len >= len ? name.ptr + name.len - len : NULL;
    bool is = end && strcmp(end, text) == 0 &&
              (end == name.ptr || (end - name.ptr > 2 && !memcmp(end - 2, "::", 2)));
    hd_buf_fini(&name);
    return is;
}

static bool options_filter_matches(const struct san_filter *filter, const char *kernel)
{
    switch (filter->key) {
    case SAN_FILTER_FUNCTION:
        return options_is_function(kernel, filter->text);
    case SAN_FILTER_NAME:
        return strcmp(kernel, filter->text) == 0;
    case SAN_FILTER_SUBSTRING:
        return strstr(kernel, filter->text) != NULL;
    case SAN_FILTER_REGEX:
        return regexec(&filter->regex, kernel, 0, NULL, 0) == 0;
    }
    return false;
}

static bool options_any_matches(const struct san_filters *filters, const char *kernel)
{
    for (size_t i = 0; i < filters->list.len; i++)
        if (options_filter_matches(&filters->list.at[i], kernel))
            return true;
    return false;
}

bool san_options_take(const struct san_options *options, const char *kernel)
{
    return (!options->kernel_name.list.len || options_any_matches(&options->kernel_name, kernel)) &&
           !options_any_matches(&options->kernel_name_exclude, kernel);
}

/* ---- tools */

static enum hd_status options_add_tool(struct san_options *options, struct hd_str word)
{
#define X(NAME, name)                                                                              \
    if (hd_str_is(word, #name)) {                                                                  \
        options->tools |= 1u << SAN_##NAME;                                                        \
        return HD_OK;                                                                              \
    }
    SAN_TOOL_LIST(X)
#undef X
#define X(NAME, name) ", " #name
    static const char all[] = SAN_TOOL_LIST(X) ", all";
#undef X
    if (hd_str_is(word, "all")) {
        options->tools |= (1u << SAN_TOOL_COUNT) - 1;
        return HD_OK;
    }
    return hd_error(HD_BAD_ARG, "tool '%.*s' is unknown; there are %s", HD_STR_ARG(word), all + 2);
}

static enum hd_status options_add_tools(struct san_options *options, struct hd_str list)
{
    for (;;) {
        const char *comma = list.len ? memchr(list.ptr, ',', list.len) : NULL;
        struct hd_str word = {list.ptr, comma ? (size_t)(comma - list.ptr) : list.len};

        HD_TRY(options_add_tool(options, word));
        if (!comma)
            return HD_OK;
        list = (struct hd_str){comma + 1, list.len - word.len - 1};
    }
}

enum hd_status san_options_set(struct san_options *options, struct hd_str name, struct hd_str value)
{
    const struct san_option *row = san_option_find(name);

    if (hd_str_is(name, "tools"))
        return options_add_tools(options, value);
    if (!row)
        return hd_error(HD_NOT_FOUND, "there is no option '%.*s'", HD_STR_ARG(name));
    void *member = options_member_of(options, row);
    switch (row->kind) {
    case SAN_OPTION_YESNO:
        return options_set_yesno(row, value, member);
    case SAN_OPTION_COUNT:
        return options_set_count(row, value, member);
    case SAN_OPTION_CHOICE:
        return options_set_choice(row, value, member);
    case SAN_OPTION_TEXT:
        return options_set_text(row, value, member);
    case SAN_OPTION_FILTERS:
        return options_add_filters(row, value, member);
    }
    return HD_BAD_ARG;
}

/* ---- the line */

static bool options_stands_for_itself(char c)
{
    return c > ' ' && c < 127 && c != '%';
}

void san_options_write(struct hd_buf *line, const char *name, struct hd_str value)
{
    hd_buf_printf(line, "%s%s=", line->len ? " " : "", name);
    for (size_t i = 0; i < value.len; i++) {
        if (options_stands_for_itself(value.ptr[i]))
            hd_buf_putc(line, value.ptr[i]);
        else
            hd_buf_printf(line, "%%%02x", (unsigned char)value.ptr[i]);
    }
}

static int options_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: something in it is not written as san_options_write() does. */
static bool options_unescape(struct hd_str text, struct hd_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            int high = i + 2 < text.len ? options_hex_digit(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? options_hex_digit(text.ptr[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (!options_stands_for_itself(c)) {
            return false;
        }
        hd_buf_putc(out, c);
    }
    return true;
}

static enum hd_status options_parse_word(struct san_options *options, struct hd_str word)
{
    const char *equals = memchr(word.ptr, '=', word.len);
    struct hd_str name = {word.ptr, equals ? (size_t)(equals - word.ptr) : 0};
    struct hd_buf value = {0};

    if (!name.len)
        return hd_error(HD_BAD_ARG, "there is no NAME=VALUE");
    if (!options_unescape((struct hd_str){equals + 1, word.len - name.len - 1}, &value)) {
        hd_buf_fini(&value);
        return hd_error(HD_BAD_ARG, "a character in it has to be written as %%XX");
    }
    enum hd_status status =
        value.failed ? hd_error(HD_NO_MEMORY, "out of memory")
                     : san_options_set(options, name, (struct hd_str){value.ptr, value.len});
    hd_buf_fini(&value);
    return status;
}

enum hd_status san_options_parse(struct san_options *options, const char *line)
{
    for (const char *at = line;; at++) {
        struct hd_str word = {at, strcspn(at, " ")};
        enum hd_status status = options_parse_word(options, word);

        if (status != HD_OK) {
            HD_AUTOFREE char *why = hd_strdup(hd_error_message());
            return hd_error(status, "HEDDLE_CHECK, column %zu: %s", (size_t)(at - line) + 1,
                            why ? why : "");
        }
        at += word.len;
        if (!*at)
            return HD_OK;
    }
}
