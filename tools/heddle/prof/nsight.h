/*
 * What `heddle nsys` and `heddle ncu` share: options of Nsight's commands become those of `heddle
 * prof`.
 *
 * A command has a table of the options that mean the same here, or whose only possible value is
 * what Heddle does anyhow. Each other option, and each other value, is refused by its name, so that
 * no script believes that something was recorded which was not.
 */
#ifndef HEDDLE_TOOLS_NSIGHT_H
#define HEDDLE_TOOLS_NSIGHT_H

#include "base/str.h"
#include "base/vec.h"

enum nsight_kind {
    NSIGHT_FLAG,   /* it has no value */
    NSIGHT_VALUE,  /* it has one */
    NSIGHT_SWITCH, /* true (also without a value), or false */
};

struct nsight_words {
    HD_VEC(char *) at; /* owned; for cmd_prof() */
    bool failed;       /* memory is short */
};

struct nsight_option {
    const char *name;
    char letter; /* 0: none */
    enum nsight_kind kind;
    const char *word;   /* of `heddle prof`, before the value; NULL: nothing is passed on */
    const char *values; /* the only ones, between blanks; NULL: any */
    const char *why;    /* others are refused; NULL: it says so */
    /* Instead of passing the value on; NULL value: of a flag. False: refused, with a message. */
    bool (*take)(void *state, const char *value);
};

/* A copy of a word. */
void nsight_push(struct nsight_words *words, const char *word);
void nsight_fini(struct nsight_words *words);
/*
 * Reads options from argv[1] on; *out_rest is what follows them. -1, or an exit status: of wrong
 * usage, or when `help` was asked for.
 */
int nsight_parse(const char *help, const struct nsight_option *options, size_t n, char **argv,
                 void *state, struct nsight_words *words, char ***out_rest);
/* cmd_prof() with these words. */
int nsight_prof(struct nsight_words *words);
/* Is the word one of `list`, which are between blanks? */
bool nsight_has(const char *list, const char *word, size_t len);
/* A report's name as a user gives it, without .nsys-rep or .ncu-rep, and with %h, %q{NAME} and
 * %% replaced; NULL after a message. Owned by the caller. */
char *nsight_report_name(const char *name);
/* The file of a report that was given by its name, with a suffix or without. Owned by the caller.
 */
char *nsight_report_file(const char *name);

#endif
