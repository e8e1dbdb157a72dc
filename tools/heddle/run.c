/*
 * heddle run, heddle shell: start a program with Heddle's libraries in place of NVIDIA's.
 *
 * The libraries are preloaded by absolute path. They carry the sonames that programs ask for, so
 * the loader takes them wherever DT_RPATH or LD_LIBRARY_PATH point; libheddle_preload.so redirects
 * runtimes that are linked statically (src/preload). The environment is inherited, so a script or
 * an interpreter passes everything on to what it starts.
 */
#include "common/cli.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "common/program.h"
#include "run.h"
#include "common/where.h"

#define OPTIONS_HELP                                                                               \
    "  --machine M      the device identifies as this machine: t4, a100, h100, b200, rtx5090\n"    \
    "                   and others; a wrong name lists them (HEDDLE_MACHINE)\n"                    \
    "  --device KIND    `cpu` (default), `interp`, the slow reference, `sim`, the simulated "      \
    "GPU,\n"                                                                                       \
    "                   or `remote-cpu` and `remote-interp`, in a process of their own\n"          \
    "                   (HEDDLE_DEVICE)\n"                                                         \
    "  --cpu PATH       code path of the CPU device: avx512, avx2 or generic (HEDDLE_CPU)\n"       \
    "  --threads N      worker threads of the CPU device (HEDDLE_THREADS)\n"                       \
    "  --gdbserver AT   wait for a debugger at unix:PATH or :PORT (HEDDLE_GDBSERVER)\n"            \
    "  --requests NAMES count these NVTX ranges, for `heddle serve`: a comma list of NAME,\n"      \
    "                   NAME@DOMAIN, NAME* (HEDDLE_REQUESTS)\n"                                    \
    "  --debug FLAGS    comma list of debug flags; `help` lists them (HEDDLE_DEBUG)\n"

static const char run_help[] =
    "usage: heddle run [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a CUDA program on Heddle instead of NVIDIA's runtime and driver. The program needs no\n"
    "change: one that links libcudart or libcuda dynamically gets Heddle's, and one that was "
    "linked\n"
    "with the static runtime (nvcc's default) is redirected when it starts, provided that it was "
    "not\n"
    "stripped. Scripts and interpreters pass this on to the programs that they start.\n"
    "\n"
    "Options end at PROGRAM; everything behind it belongs to the program.\n"
    "\n"
    "options:\n" OPTIONS_HELP
    "  --no-check       run even if the program looks as if it could not work\n"
    "  -v, --verbose    print the environment and the command before running\n"
    "  -h, --help       this text\n"
    "\n"
    "Before running, the program is checked: device code without any PTX, and a stripped program\n"
    "with a static runtime, are errors that say how to rebuild. `heddle doctor PROGRAM` tells "
    "more.\n"
    "\n"
    "exit status: the program's; 1 the check failed, 2 wrong usage, 126 the program cannot be "
    "run,\n"
    "127 it was not found\n";

static const char shell_help[] =
    "usage: heddle shell [OPTIONS]\n"
    "\n"
    "Opens a shell (SHELL, or /bin/sh) in which every CUDA program runs on Heddle, as if it were\n"
    "started by `heddle run`: programs, interpreters, build systems and what they start. It is "
    "for\n"
    "work that is more than one command; what `heddle run` checks beforehand is not checked.\n"
    "\n"
    "options:\n" OPTIONS_HELP
    "  -v, --verbose    print the environment and the command before running\n"
    "  -h, --help       this text\n"
    "\n"
    "exit status: the shell's; 1 Heddle's libraries were not found, 2 wrong usage, 126 the shell\n"
    "cannot be run, 127 it was not found\n";

enum {
    OPT_MACHINE = 256,
    OPT_DEVICE,
    OPT_CPU,
    OPT_THREADS,
    OPT_DEBUG,
    OPT_GDBSERVER,
    OPT_REQUESTS,
    OPT_NO_CHECK,
};

static const struct option options[] = {
    {"machine", required_argument, NULL, OPT_MACHINE},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"cpu", required_argument, NULL, OPT_CPU},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"debug", required_argument, NULL, OPT_DEBUG},
    {"gdbserver", required_argument, NULL, OPT_GDBSERVER},
    {"requests", required_argument, NULL, OPT_REQUESTS},
    {"no-check", no_argument, NULL, OPT_NO_CHECK},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct run_args {
    const char *help;
    bool verbose;
    bool check;
    char **command; /* what follows the options */
};

/* An option that is a variable's value. */
static bool run_set_variable(const char *option, const char *variable, const char *value)
{
    struct hd_buf why;
    hd_buf_init(&why);
    bool good = hd_env_allows(variable, value, &why);
    if (!good)
        cli_error("%s: %s", option, why.ptr ? why.ptr : value);
    hd_buf_fini(&why);
    return good && setenv(variable, value, 1) == 0;
}

static bool run_apply_option(int option, struct run_args *args)
{
    switch (option) {
    case OPT_MACHINE:
        return run_set_variable("--machine", "HEDDLE_MACHINE", optarg);
    case OPT_DEVICE:
        return run_set_variable("--device", "HEDDLE_DEVICE", optarg);
    case OPT_CPU:
        return run_set_variable("--cpu", "HEDDLE_CPU", optarg);
    case OPT_THREADS:
        return run_set_variable("--threads", "HEDDLE_THREADS", optarg);
    case OPT_DEBUG:
        return run_set_variable("--debug", "HEDDLE_DEBUG", optarg);
    case OPT_GDBSERVER:
        return run_set_variable("--gdbserver", "HEDDLE_GDBSERVER", optarg);
    case OPT_REQUESTS:
        return run_set_variable("--requests", "HEDDLE_REQUESTS", optarg);
    case OPT_NO_CHECK:
        args->check = false;
        return true;
    case 'v':
        args->verbose = true;
        return true;
    default:
        return false; /* getopt has said what is wrong */
    }
}

/* -1 to go on, or the exit code. */
static int run_parse_args(int argc, char **argv, struct run_args *args)
{
    optind = 0; /* glibc: start afresh */
    for (int option; (option = cli_getopt(argc, argv, "+vh", options)) != -1;) {
        if (option == 'h')
            return cli_help(args->help);
        if (!run_apply_option(option, args))
            return CLI_USAGE;
    }
    args->command = argv + optind;
    return -1;
}

char *run_find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, F_OK) == 0 ? hd_strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/bin:/usr/bin"; at;) {
        size_t len = strcspn(at, ":");
        struct hd_buf file;
        struct stat st;
        hd_buf_init(&file);
        hd_buf_printf(&file, "%.*s/%s", len ? (int)len : 1, len ? at : ".", name);
        if (!file.failed && access(file.ptr, X_OK) == 0 && stat(file.ptr, &st) == 0 &&
            S_ISREG(st.st_mode))
            return hd_buf_take(&file);
        hd_buf_fini(&file);
        at = at[len] ? at + len + 1 : NULL;
    }
    return NULL;
}

int run_not_found(const char *name)
{
    struct stat st;
    bool is_here = !strchr(name, '/') && access(name, X_OK) == 0 && stat(name, &st) == 0 &&
                   S_ISREG(st.st_mode);

    cli_error("%s: not found%s%s%s", name, is_here ? " in PATH; did you mean ./" : "",
              is_here ? name : "", is_here ? "?" : "");
    return RUN_NOT_FOUND;
}

static int run_refuse_sass(const struct program *p)
{
    struct hd_buf found;
    hd_buf_init(&found);
    program_describe_images(p, &found);
    cli_error("%s holds machine code for NVIDIA GPUs only (%s), no PTX\n"
              "  rebuild it with PTX inside: nvcc -gencode arch=compute_80,code=compute_80, or\n"
              "  nvcc -arch=sm_80, which embeds both; --no-check runs it all the same",
              p->path, found.ptr ? found.ptr : "");
    hd_buf_fini(&found);
    return CLI_FAILED;
}

int run_check_program(const char *path)
{
    struct program p;
    if (program_open(path, &p) != HD_OK)
        return 0; /* scripts and others: exec decides */
    int code = 0;
    if (p.runtime == OBJ_RUNTIME_STRIPPED)
        code = cli_error("%s was linked with NVIDIA's static runtime and stripped: without symbols "
                         "it cannot be redirected\n"
                         "  do not strip it, or rebuild it with: nvcc -cudart shared; --no-check "
                         "runs it all the same",
                         path);
    else if (program_is_static(&p))
        code = cli_error("%s is linked statically, with the C library: nothing can be redirected\n"
                         "  link it without -static; --no-check runs it all the same",
                         path);
    else if (p.kind == OBJ_IMAGE_HOST_ELF && program_has_code(&p) && !program_count_usable(&p, 0))
        code = run_refuse_sass(&p);
    program_close(&p);
    return code;
}

/* Once: shells nest. */
bool run_prepend(const char *variable, const char *text)
{
    const char *old = getenv(variable);
    size_t len = strlen(text);
    struct hd_buf value;
    if (old && !strncmp(old, text, len) && (!old[len] || old[len] == ':'))
        return true;
    hd_buf_init(&value);
    hd_buf_printf(&value, "%s%s%s", text, old && *old ? ":" : "", old ? old : "");
    bool worked = !value.failed && setenv(variable, value.ptr, 1) == 0;
    hd_buf_fini(&value);
    return worked;
}

static void run_add_folder(struct hd_buf *folders, const char *file)
{
    const char *slash = strrchr(file, '/');
    assert(slash); /* where_library() gives whole paths */
    size_t len = (size_t)(slash - file);
    if (folders->len && len <= folders->len &&
        !strncmp(folders->ptr + folders->len - len, file, len))
        return;
    hd_buf_printf(folders, "%s%.*s", folders->len ? ":" : "", (int)len, file);
}

/* The runtime of 13 alone is legitimate, and so is an installation without CUPTI. */
static bool run_may_be_missing(enum where_library library)
{
    return library == WHERE_CUDART12 || library == WHERE_CUPTI || library == WHERE_CUPTI12;
}

/*
 * What sanitizers of the program have to know of our libraries: they come before a libasan.so, from
 * which they take nothing, and ThreadSanitizer does not see how their threads wait for each other.
 */
static bool run_set_sanitizers(void)
{
    return run_prepend("ASAN_OPTIONS", "verify_asan_link_order=0") &&
           run_prepend("TSAN_OPTIONS", "ignore_noninstrumented_modules=1");
}

/* LD_PRELOAD for what is linked, LD_LIBRARY_PATH for what is opened by name later. */
static int run_set_libraries(void)
{
    struct hd_buf preload, folders;
    hd_buf_init(&preload);
    hd_buf_init(&folders);
    int code = 0;
    for (enum where_library i = 0; i < WHERE_LIBRARY_COUNT && !code; i++) {
        enum where_how how = where_library_how(i);
        const char *path = how == WHERE_NOT ? NULL : where_library(i);
        if (path && strpbrk(path, " :"))
            code = cli_error("the loader takes no blanks and colons in '%s'", path);
        else if (path && how == WHERE_PRELOADED)
            hd_buf_printf(&preload, "%s%s", preload.len ? ":" : "", path);
        else if (how == WHERE_PRELOADED && !run_may_be_missing(i))
            code = cli_error("%s not found; set HEDDLE_LIBDIR", where_library_file(i));
        if (path && i != WHERE_PRELOAD)
            run_add_folder(&folders, path);
    }
    assert(code || preload.failed || preload.len); /* some may not be missing */
    if (!code && (preload.failed || folders.failed || !run_prepend("LD_PRELOAD", preload.ptr) ||
                  !run_prepend("LD_LIBRARY_PATH", folders.ptr) || !run_set_sanitizers()))
        code = cli_error("out of memory");
    hd_buf_fini(&preload);
    hd_buf_fini(&folders);
    return code;
}

/* Clients that start an assembler of their own find ours; what the user has set stays. */
static const char *const ptxas_variables[] = {"HEDDLE_PTXAS", "TRITON_PTXAS_PATH",
                                              "TRITON_PTXAS_BLACKWELL_PATH"};

static int run_set_tools(void)
{
    char *ptxas = where_tool("ptxas");
    bool worked = true;
    for (size_t i = 0; ptxas && i < HD_COUNT_OF(ptxas_variables); i++)
        worked = setenv(ptxas_variables[i], ptxas, 0) == 0 && worked;
    hd_free(ptxas);
    char *self = where_tool("heddle"); /* for what the preload has it do */
    if (self)
        worked = setenv("HEDDLE_TOOL", self, 1) == 0 && worked;
    hd_free(self);
    return worked ? 0 : cli_error("out of memory");
}

static bool run_prepend_folder(const char *folder, const char *below)
{
    struct hd_buf path;
    hd_buf_init(&path);
    hd_buf_printf(&path, "%s/%s", folder, below);
    bool worked = !path.failed && run_prepend("PATH", path.ptr);
    hd_buf_fini(&path);
    return worked;
}

/*
 * Clients that compile look for a toolkit, build systems for nvcc; the user's come first. But
 * nvidia-smi is ours, as its library is: the vendor's would not know these devices.
 */
static int run_set_toolkit(void)
{
    char *nvcc = run_find_program("nvcc"), *folder = where_toolkit();
    bool worked = true;
    if (folder && !nvcc)
        worked = run_prepend_folder(folder, "bin") &&
                 (getenv("CUDA_HOME") || setenv("CUDA_PATH", folder, 0) == 0);
    if (folder)
        worked = run_prepend_folder(folder, "smi") && worked;
    hd_free(folder);
    hd_free(nvcc);
    return worked ? 0 : cli_error("out of memory");
}

static void run_print_command(char **command)
{
    static const char *const shown[] = {
        "LD_PRELOAD",    "LD_LIBRARY_PATH",   "HEDDLE_MACHINE",
        "HEDDLE_DEVICE", "HEDDLE_CPU",        "HEDDLE_THREADS",
        "HEDDLE_DEBUG",  "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH",
        "CUDA_PATH"};
    for (size_t i = 0; i < HD_COUNT_OF(shown); i++)
        if (getenv(shown[i]))
            fprintf(stderr, "%s=%s \\\n", shown[i], getenv(shown[i]));
    for (; *command; command++)
        fprintf(stderr, "%s%c", *command, command[1] ? ' ' : '\n');
}

int run_set_environment(void)
{
    return run_set_libraries() || run_set_tools() || run_set_toolkit() ? CLI_FAILED : 0;
}

int run_execute(const char *path, char **command)
{
    assert(command[0]);
    fflush(NULL);
    execv(path, command);
    if (errno == ENOEXEC) /* a script without #! line: execvp() hands it to the shell */
        execvp(path, command);
    int error = errno;
    cli_error("%s: %s", path, strerror(error));
    return error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT;
}

/* Ranges reach libcuda when NVTX's header finds it; another tool of the user's stays. */
static int run_set_requests(void)
{
    const char *driver = where_library(WHERE_CUDA);
    bool wanted = hd_env("HEDDLE_REQUESTS") && driver;

    return wanted && setenv("NVTX_INJECTION64_PATH", driver, 0) ? cli_error("out of memory") : 0;
}

static int run_start(const char *path, const struct run_args *args)
{
    if ((args->check && run_check_program(path)) || run_set_environment() || run_set_requests())
        return CLI_FAILED;
    if (args->verbose)
        run_print_command(args->command);
    return run_execute(path, args->command);
}

static int run_find_and_start(const struct run_args *args)
{
    assert(args->command[0]);
    char *path = run_find_program(args->command[0]);
    if (!path)
        return run_not_found(args->command[0]);
    int code = run_start(path, args);
    hd_free(path);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct run_args args = {.help = run_help, .check = true};
    int code = run_parse_args(argc, argv, &args);
    if (code >= 0)
        return code;
    if (!args.command[0])
        return cli_usage("which program?");
    return run_find_and_start(&args);
}

int cmd_shell(int argc, char **argv)
{
    struct run_args args = {.help = shell_help};
    int code = run_parse_args(argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.command[0])
        return cli_usage("it takes no program: heddle run %s", args.command[0]);
    char *shell = getenv("SHELL");
    args.command = (char *[]){shell && *shell ? shell : "/bin/sh", NULL};
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fputs("heddle: CUDA programs started here run on Heddle; `exit` leaves\n", stderr);
    return run_find_and_start(&args);
}
