/*
 * The frame of the `heddle` command: one subcommand per file, listed in commands.def.
 *
 * Exit codes: 0 done, 1 the work failed (message on stderr), 2 wrong usage, or the code of the
 * program that a subcommand ran. Options before the subcommand (`heddle --json info`) and after it
 * (`heddle info --json`) mean the same; a subcommand asks cli_json() after it parsed its own.
 */
#ifndef HEDDLE_TOOLS_CLI_H
#define HEDDLE_TOOLS_CLI_H

#include "base/compiler.h"

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

/* Prints "heddle: <text>" on stderr; returns CLI_FAILED, so `return cli_error(...)` reads well. */
int cli_error(const char *fmt, ...) HD_PRINTF(1, 2);

#endif
