/*
 * heddle gdb: GDB on the kernels of a program. It starts the user's gdb with our commands
 * (gdb/heddle-gdb.py), which start the program and connect to the server in it (src/dbg). For a
 * core dump they start this command once more, as its server.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "common/cli.h"
#include "dbg/dbg.h"
#include "common/where.h"
#include "run.h"

enum { EXIT_NO_GDB = 127, SEPARATOR = '\x1f' };

static const char help[] =
    "usage: heddle gdb [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "       heddle gdb [OPTIONS] [PROGRAM] --core FILE\n"
    "       heddle gdb -p PID\n"
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
    "  --core FILE      look at a core dump of kernels, which a program wrote that failed with\n"
    "                   CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1\n"
    "  --gdbserver AT   with --core: no GDB, but wait for a debugger at unix:PATH or :PORT\n"
    "  -p, --pid PID    show what the kernels of a process do now, and who waits for whom, as\n"
    "                   `heddle ps PID` does: they cannot be stopped\n"
    "  --gdb FILE       the GDB to run, 13 or newer, with Python; default: gdb\n"
    "  -ex, -x, -batch, -q and other options of GDB are passed on\n"
    "  -h, --help       this text\n"
    "\n"
    "exit status: GDB's; 1 the core dump cannot be read, or the process not asked, 2 wrong usage,\n"
    "127 there is no GDB, or no such program\n";

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
    const char *core, *server, *pid; /* NULL: not given */
    char **options;                  /* for GDB */
    int noptions;
    bool has_host;
    char **command;
};

/* What an option's argument is for: ours, or NULL for GDB. */
static const char **own_option(struct gdb_args *args, const char *name)
{
    const struct {
        const char *name;
        const char **to;
    } rows[] = {{"--gdb", &args->gdb},  {"--core", &args->core},
                {"-core", &args->core}, {"-c", &args->core},
                {"-p", &args->pid},     {"-pid", &args->pid},
                {"--pid", &args->pid},  {"--gdbserver", &args->server}};

    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (strcmp(name, rows[i].name) == 0)
            return rows[i].to;
    return NULL;
}

/* `PROGRAM --core FILE`: nothing else may follow, or it is the program's. */
static void core_behind_program(struct gdb_args *args)
{
    char **c = args->command;

    if (args->core || !c[0] || !c[1])
        return;
    if (strncmp(c[1], "--core=", 7) == 0 && !c[2])
        args->core = c[1] + 7;
    else if (own_option(args, c[1]) == &args->core && c[2] && !c[3])
        args->core = c[2];
    if (args->core)
        c[1] = NULL;
}

/* -1 to go on, or the exit code. */
static int parse(int argc, char **argv, struct gdb_args *args)
{
    int i = 1;

    args->options = argv + 1;
    while (i < argc && argv[i][0] == '-') {
        const char **own = own_option(args, argv[i]);
        int n = own || takes_argument(argv[i]) ? 2 : 1;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return cli_help(help);
        assert(args->noptions < i);
        if (i + n > argc)
            return cli_usage("option '%s' needs a value", argv[i]);
        if (own)
            *own = argv[i + 1];
        else if (strcmp(argv[i], "--host") == 0)
            args->has_host = true;
        else if (strncmp(argv[i], "--core=", 7) == 0)
            args->core = argv[i] + 7;
        else if (strncmp(argv[i], "--pid=", 6) == 0)
            args->pid = argv[i] + 6;
        else
            for (int k = 0; k < n; k++) /* over the ones that were ours */
                args->options[args->noptions++] = argv[i + k];
        i += n;
    }
    args->command = argv + i;
    core_behind_program(args);
    if (args->server && !args->core)
        return cli_usage("--gdbserver is for --core; `heddle run` has it for programs");
    if (args->pid && (i < argc || args->core || args->has_host))
        return cli_usage("-p PID stands alone: nothing is started");
    return i < argc || args->core || args->pid ? -1 : cli_usage("which program?");
}

/*
 * Threads of compiled kernels have no place between two instructions of PTX at which they could be
 * stopped, so what can be had of a process that was not started for a debugger is what it answers.
 */
static int attach(const char *pid)
{
    char *ps[] = {(char *)(uintptr_t)"ps", (char *)(uintptr_t)pid, NULL};
    int code = cmd_ps(2, ps);

    if (code == CLI_OK && fflush(stdout) == 0)
        fprintf(stderr,
                "heddle: gdb: kernels of a process that was not started with `heddle gdb` are "
                "compiled code and cannot be stopped: `heddle gdb PROGRAM`, then a breakpoint "
                "and `run`, or `gdb -p %s` for the host program\n",
                pid);
    return code;
}

static int core_failed(const struct gdb_args *args)
{
    return cli_error("%s: %s", args->core, hd_error_message());
}

int cmd_gdb(int argc, char **argv)
{
    struct gdb_args args = {.gdb = "gdb"};
    int code = parse(argc, argv, &args), n = 0;
    if (code >= 0)
        return code;
    if (args.pid)
        return attach(args.pid);
    if (args.server)
        return dbg_core_serve(args.core, args.server) == HD_OK ? CLI_OK : core_failed(&args);
    if (args.core && dbg_core_check(args.core) != HD_OK)
        return core_failed(&args);
    HD_AUTOFREE char *path = args.core ? NULL : run_find_program(args.command[0]);
    if (!args.core && !path)
        return run_not_found(args.command[0]);
    char *script = where_script("heddle-gdb.py");
    if (!script)
        return cli_error("heddle-gdb.py of this Heddle was not found");
    struct hd_buf source;
    hd_buf_init(&source);
    hd_buf_printf(&source, "source %s", script);
    char **run = hd_alloc_array((size_t)args.noptions + 8, sizeof(*run));
    if (!run || source.failed || !command_set(args.command) ||
        (args.has_host && setenv("HEDDLE_GDB_HOST", "1", 1) < 0) ||
        (args.core && setenv("HEDDLE_GDB_CORE", args.core, 1) < 0))
        return cli_error("out of memory");
    run[n++] = (char *)(uintptr_t)args.gdb;
    run[n++] = (char *)(uintptr_t)"-q";
    run[n++] = (char *)(uintptr_t)"-iex";
    run[n++] = source.ptr;
    for (int i = 0; i < args.noptions; i++)
        run[n++] = args.options[i];
    assert(n == args.noptions + 4 && !run[n]);
    fflush(NULL);
    execvp(args.gdb, run);
    cli_error("%s: %s", args.gdb, strerror(errno));
    return errno == ENOENT ? EXIT_NO_GDB : CLI_FAILED;
}
