/*
 * heddle cc's options: one table. A row has nvcc's two spellings, how the option takes its value,
 * what it does, and a line of help; the parser, `heddle cc --help` and shell completion read it.
 */
#ifndef HEDDLE_TOOLS_CC_OPTIONS_H
#define HEDDLE_TOOLS_CC_OPTIONS_H

#include "cc/cc.h"

enum cc_form {
    CC_FLAG,   /* -c */
    CC_VALUE,  /* -std c++17, -std=c++17 */
    CC_JOINED, /* -IDIR, -I DIR, -I=DIR for the long spelling */
    CC_MAYBE,  /* like VALUE; followed by something else than one of `arg`'s words, it has none */
};

/* What parsing carries along. */
struct cc_parse {
    struct cc_job *job;
    enum cc_lang lang; /* of all sources (-x) */
    unsigned nested;   /* options files that are being read */
};

struct cc_option {
    const char *name;   /* "-o" */
    const char *longer; /* "--output-file", or NULL */
    enum cc_form form;
    /* CLI_OK, or CLI_USAGE after a message. value is NULL for flags. */
    int (*apply)(struct cc_parse *p, const struct cc_option *opt, const char *value);
    const char *arg;   /* for apply: clang's spelling, words, a reason */
    size_t at;         /* for apply: a mode, or the offset of a member of cc_job */
    const char *value; /* how help calls the value */
    const char *doc;   /* NULL: accepted, without effect */
};

extern const struct cc_option cc_options[];
extern const size_t cc_option_count;

/* Parses arguments, from the first. CLI_OK, or CLI_USAGE after a message. */
int cc_parse_words(struct cc_parse *p, int argc, char **argv);
/* Parses the words of a file as if they stood in the command line. */
int cc_optfile_parse(struct cc_parse *p, const char *path);

/* "heddle: cc: <what>: '<text>'"; returns CLI_USAGE. */
int cc_usage(const char *what, const char *text);

#endif
