/*
 * heddle gdb: GDB on the kernels of a program. It starts the user's gdb with our commands
 * (gdb/heddle-gdb.py), which start the program and connect to the server in it (src/dbg).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli.h"
#include "where.h"

enum { EXIT_NO_GDB = 127, SEPARATOR = '\x1f' };

static const char help[] =
    "usage: heddle gdb [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Debugs the kernels of a CUDA program with GDB: breakpoints, stepping by warps, variables,\n"
    "backtraces, watchpoints, and cuda-gdb's commands (`info cuda kernels`, `cuda block (1,0,0)\n"
    "thread (5,0,0)`, `set cuda break_on_launch all`). `run` begins; breakpoints may be set\n"
    "before. Compile with -G to see variables, with -lineinfo for lines.\n"
    "\n"
    "Options end at PROGRAM; everything behind it belongs to the program.\n"
    "\n"
    "options:\n"
    "  --host           debug the host program in the same session: as inferior 1, kernels as 2\n"
    "  --gdb FILE       the GDB to run, 13 or newer, with Python; default: gdb\n"
    "  -ex, -x, -batch, -q and other options of GDB are passed on\n"
    "  --help           this text\n"
    "\n"
    "exit status: GDB's; 2 wrong usage, 127 there is no GDB\n";

/* Options of GDB that have an argument of their own. */
static bool takes_argument(const char *option)
{
    static const char *const names[] = {"ex", "eval-command", "iex", "init-eval-command",
                                        "x",  "command",      "ix",  "init-command",
                                        "d",  "directory",    "cd",  "tty"};
    const char *name = option + strspn(option, "-");

    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The program and its arguments for the script, behind our own executable. */
static bool command_set(char **command)
{
    char own[4096];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    struct hd_buf text;

    if (n <= 0)
        return false;
    hd_buf_init(&text);
    hd_buf_append(&text, own, (size_t)n);
    for (; *command; command++)
        hd_buf_printf(&text, "%c%s", SEPARATOR, *command);
    bool worked = !text.failed && setenv("HEDDLE_GDB_COMMAND", text.ptr, 1) == 0;
    hd_buf_fini(&text);
    return worked;
}

struct gdb_args {
    const char *gdb;
    char **options; /* for GDB */
    int noptions;
    bool has_host;
    char **command;
};

/* -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct gdb_args *args)
{
    int i = 1;

    args->options = argv + 1;
    while (i < argc && argv[i][0] == '-') {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return CLI_OK;
        }
        bool is_gdb = strcmp(argv[i], "--gdb") == 0, is_host = strcmp(argv[i], "--host") == 0;
        int n = is_gdb || takes_argument(argv[i]) ? 2 : 1;
        if (i + n > argc) {
            cli_error("gdb: %s wants an argument", argv[i]);
            return CLI_USAGE;
        }
        if (is_gdb)
            args->gdb = argv[i + 1];
        args->has_host |= is_host;
        for (int k = 0; !is_gdb && !is_host && k < n; k++) /* over the ones that were ours */
            args->options[args->noptions++] = argv[i + k];
        i += n;
    }
    args->command = argv + i;
    if (i < argc)
        return -1;
    cli_error("gdb: which program? (see `heddle gdb --help`)");
    return CLI_USAGE;
}

int cmd_gdb(int argc, char **argv)
{
    struct gdb_args args = {.gdb = "gdb"};
    int code = parse(argc, argv, &args), n = 0;
    if (code >= 0)
        return code;
    char *script = where_script("heddle-gdb.py");
    if (!script)
        return cli_error("gdb: heddle-gdb.py of this Heddle was not found");
    struct hd_buf source;
    hd_buf_init(&source);
    hd_buf_printf(&source, "source %s", script);
    char **run = hd_alloc_array((size_t)args.noptions + 8, sizeof(*run));
    if (!run || source.failed || !command_set(args.command) ||
        (args.has_host && setenv("HEDDLE_GDB_HOST", "1", 1) != 0))
        return cli_error("gdb: out of memory");
    run[n++] = (char *)(uintptr_t)args.gdb;
    run[n++] = (char *)(uintptr_t)"-q";
    run[n++] = (char *)(uintptr_t)"-iex";
    run[n++] = source.ptr;
    for (int i = 0; i < args.noptions; i++)
        run[n++] = args.options[i];
    fflush(NULL);
    execvp(args.gdb, run);
    cli_error("gdb: %s: %s", args.gdb, strerror(errno));
    return errno == ENOENT ? EXIT_NO_GDB : CLI_FAILED;
}
