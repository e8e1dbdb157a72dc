/*
 * What all subcommands of `heddle` have in common on the command line: names, errors, help,
 * options, progress.
 *
 * Exit codes: 0 done, 1 the work failed (message on stderr), 2 wrong usage, or the code of the
 * program that a subcommand ran. Options before the subcommand (`heddle --json info`) and after it
 * (`heddle info --json`) mean the same; a subcommand asks cli_json() after it parsed its own.
 *
 * An error is one line, `heddle: COMMAND: what: where; what to do`, on stderr. Colours and progress
 * are for people: they are written to terminals only, and not when NO_COLOR is set or TERM is dumb.
 * Threads: the main one.
 */
#ifndef HEDDLE_TOOLS_CLI_H
#define HEDDLE_TOOLS_CLI_H

#include "base/compiler.h"

#include <stdio.h>

struct option;

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
};

#define X(name, summary) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef X

/* True when the user gave --json before the subcommand. */
bool cli_json(void);

/* The version text, "0.1.0". */
const char *cli_version(void);

/*
 * How the user called the command: what messages begin with, and what explains it, of which
 * ` --help` is said. {"run", "heddle run"}, or {"nsys", "nsys"} of an executable of that name.
 */
void cli_set_name(const char *name, const char *called);
const char *cli_name(void);

/* Prints "heddle: COMMAND: <text>" on stderr; returns CLI_FAILED, so `return cli_error(...)` reads
 * well. */
int cli_error(const char *fmt, ...) HD_PRINTF(1, 2);

/* Likewise of what is no error, but perhaps not what the user expects: "... note: <text>". */
void cli_note(const char *fmt, ...) HD_PRINTF(1, 2);

/* An error of wrong usage, with a word on where the help is; returns CLI_USAGE. */
int cli_usage(const char *fmt, ...) HD_PRINTF(1, 2);

/* Prints a help text on stdout: its headings, which are lines from the first column on that end in
 * a colon, stand out on terminals. Returns CLI_OK, or CLI_FAILED when it cannot be written. */
int cli_help(const char *text);

/* A line of such a text, made of a table's row: "  NAME   what it does", with the second part from
 * `column` on, on more lines as it needs. */
void cli_help_option(const char *name, int column, const char *doc);

/* getopt_long(), with errors in the words of the others: '?' after one. Every option of `longs` has
 * a `val` and no `flag`. */
int cli_getopt(int argc, char **argv, const char *shorts, const struct option *longs);

enum cli_style {
    CLI_BOLD,
    CLI_DIM,
    CLI_RED,
    CLI_YELLOW,
    CLI_GREEN,
    CLI_PLAIN, /* ends the others */
};

/* The escape sequence of a style; "" where there are no colours. */
const char *cli_style(FILE *to, enum cli_style style);

/*
 * Shows what a long work does now: from two seconds after the first call on, ten times a second at
 * most, in one line of a terminal that the next one replaces. cli_progress_end() removes it; what
 * else is printed on stderr comes after that.
 */
void cli_progress(const char *fmt, ...) HD_PRINTF(1, 2);
void cli_progress_end(void);

#endif
