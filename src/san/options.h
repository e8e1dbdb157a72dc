/*
 * What a checked process is told: HEDDLE_CHECK, one line, which `heddle check` writes.
 *
 *     socket=heddle-check-71-9f3c tools=memcheck,synccheck leak-check=full kernel-name=kns=gemm
 *
 * Words are separated by one blank; `name=value`, of the rows of options.def and `tools`. In a
 * value a blank, `%`, control characters and what is not ASCII stand as %XX. A word that is not
 * understood is an error that says where it is: no option is ever ignored.
 *
 * The tool uses the same functions for its command line, so both take and refuse the same values.
 */
#ifndef HD_SAN_OPTIONS_H
#define HD_SAN_OPTIONS_H

#include <regex.h>

#include "base/str.h"
#include "base/vec.h"

/* word of the option's value; the first is 0 */
#define SAN_TARGETS_LIST(X) X(TARGETS_APPLICATION, "application-only") X(TARGETS_ALL, "all")
#define SAN_BACKTRACE_LIST(X)                                                                      \
    X(BACKTRACE_NO, "no")                                                                          \
    X(BACKTRACE_HOST, "host") X(BACKTRACE_DEVICE, "device") X(BACKTRACE_YES, "yes")
#define SAN_LEAK_LIST(X) X(LEAK_NO, "no") X(LEAK_FULL, "full")
#define SAN_API_LIST(X)                                                                            \
    X(API_NO, "no") X(API_EXPLICIT, "explicit") X(API_EXTENDED, "extended") X(API_ALL, "all")
#define SAN_STREAM_RACES_LIST(X)                                                                   \
    X(STREAM_RACES_NO, "no")                                                                       \
    X(STREAM_RACES_BEFORE, "use-before-alloc")                                                     \
    X(STREAM_RACES_AFTER, "use-after-free") X(STREAM_RACES_ALL, "all") /* a set of bits */
#define SAN_RACE_REPORT_LIST(X)                                                                    \
    X(RACE_REPORT_NONE, "")                                                                        \
    X(RACE_REPORT_HAZARD, "hazard")                                                                \
    X(RACE_REPORT_ANALYSIS, "analysis") X(RACE_REPORT_ALL, "all") /* a set of bits */
/* In the order of enum san_severity. */
#define SAN_RACE_LEVEL_LIST(X)                                                                     \
    X(RACE_LEVEL_INFO, "info") X(RACE_LEVEL_WARN, "warn") X(RACE_LEVEL_ERROR, "error")
#define SAN_INIT_SPACE_LIST(X)                                                                     \
    X(INIT_SPACE_NONE, "")                                                                         \
    X(INIT_SPACE_GLOBAL, "global")                                                                 \
    X(INIT_SPACE_SHARED, "shared") X(INIT_SPACE_ALL, "all") /* a set of bits */

#define SAN_CHOICE_LISTS(X)                                                                        \
    X(targets, SAN_TARGETS_LIST)                                                                   \
    X(backtrace, SAN_BACKTRACE_LIST)                                                               \
    X(leak, SAN_LEAK_LIST)                                                                         \
    X(api, SAN_API_LIST)                                                                           \
    X(stream_races, SAN_STREAM_RACES_LIST)                                                         \
    X(race_report, SAN_RACE_REPORT_LIST)                                                           \
    X(race_level, SAN_RACE_LEVEL_LIST)                                                             \
    X(init_space, SAN_INIT_SPACE_LIST)
#define SAN_ENUMERATOR(id, word)    SAN_##id,
#define SAN_CHOICE_ENUM(name, list) enum san_##name{list(SAN_ENUMERATOR)};
SAN_CHOICE_LISTS(SAN_CHOICE_ENUM)
#undef SAN_CHOICE_ENUM
#undef SAN_ENUMERATOR

/* word, the short one, doc; "" and no '=' with it: the name alone */
#define SAN_FILTER_LIST(X)                                                                         \
    X(FUNCTION, "", "", "the function's name, without parameters and template arguments")          \
    X(NAME, "kernel_name", "kne", "the whole mangled name")                                        \
    X(SUBSTRING, "kernel_substring", "kns", "a part of it")                                        \
    X(REGEX, "regex", "kernel_regex", "an extended regular expression, found anywhere in it")
enum san_filter_key {
#define X(id, word, brief, doc) SAN_FILTER_##id,
    SAN_FILTER_LIST(X)
#undef X
};

struct san_filter {
    enum san_filter_key key;
    char *text;
    regex_t regex; /* REGEX */
};
struct san_filters {
    HD_VEC(struct san_filter) list;
};

struct san_options {
    unsigned tools; /* bits 1 << enum san_tool_id */
#define YESNO(member, name, def, doc)           bool member;
#define COUNT(member, name, min, max, def, doc) uint64_t member;
#define CHOICE(member, name, list, def, doc)    unsigned member;
#define TEXT(member, name, doc)                 char *member;
#define FILTERS(member, name, doc)              struct san_filters member;
#include "san/options.def"
};

/* Defaults. Whatever happens in the others, san_options_fini() frees what they made. */
void san_options_init(struct san_options *options);
void san_options_fini(struct san_options *options);
/* HD_NOT_FOUND: there is no such option; HD_BAD_ARG: what the value may be; HD_NO_MEMORY. */
enum hd_status san_options_set(struct san_options *options, struct hd_str name, struct hd_str value)
    HD_MUST_CHECK;
/* Reads a line; errors name the column. */
enum hd_status san_options_parse(struct san_options *options, const char *line) HD_MUST_CHECK;
/* Appends " name=value", without the blank in front of the first. */
void san_options_write(struct hd_buf *line, const char *name, struct hd_str value);

/* Is a kernel of this mangled name one that the filters take? */
bool san_options_take(const struct san_options *options, const char *kernel);

/* The rows, for help texts. */
enum san_option_kind {
    SAN_OPTION_YESNO,
    SAN_OPTION_COUNT,
    SAN_OPTION_CHOICE,
    SAN_OPTION_TEXT,
    SAN_OPTION_FILTERS
};
struct san_option {
    const char *name;
    enum san_option_kind kind;
    size_t offset;     /* of the member */
    const char *words; /* CHOICE: one behind the other; an empty one is no value */
    size_t words_B;
    uint64_t min, max, fallback; /* fallback: of YESNO and CHOICE as well */
    const char *doc;
};
extern const struct san_option san_option_rows[];
extern const size_t san_option_count;
/* NULL: there is none of this name. */
const struct san_option *san_option_find(struct hd_str name);
/* Word number `value` of a choice; NULL behind the last. */
const char *san_option_word(const struct san_option *row, uint64_t value);

/*
 * Those of this process: the defaults before san_record_start() and without HEDDLE_CHECK. They do
 * not change afterwards.
 */
const struct san_options *san_options(void);

#endif
