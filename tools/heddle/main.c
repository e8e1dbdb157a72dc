/* The `heddle` command: options that hold for every subcommand, and the dispatch table. */
#include "common/cli.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/str.h"

/* Commands farther away than this from what was typed are no guesses. */
#define GUESS_EDITS 2

struct cli_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct cli_command commands[] = {
#define X(name, summary) {#name, summary, cmd_##name},
#include "commands.def"
#undef X
    {NULL, NULL, NULL},
};

static bool want_json;

bool cli_json(void)
{
    return want_json;
}

const char *cli_version(void)
{
    return HEDDLE_VERSION;
}

static void print_help(FILE *out)
{
    const char *bold = cli_style(out, CLI_BOLD), *plain = cli_style(out, CLI_PLAIN);

    fprintf(out,
            "%susage:%s heddle [--json] COMMAND [ARGUMENTS]\n\n"
            "Runs, compiles and examines CUDA programs without NVIDIA software.\n\n"
            "%scommands:%s\n",
            bold, plain, bold, plain);
    for (const struct cli_command *c = commands; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->summary);
    fprintf(out,
            "\n%soptions:%s\n"
            "  --json      machine-readable output where the command has one\n"
            "  --version   print the version\n"
            "  -h, --help  print this text; `heddle COMMAND --help` explains a command\n",
            bold, plain);
}

static void print_version(void)
{
    if (want_json)
        printf("{\"name\": \"heddle\", \"version\": \"%s\"}\n", cli_version());
    else
        printf("heddle %s\n", cli_version());
}

static const struct cli_command *find_command(const char *name)
{
    for (const struct cli_command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *nearest = NULL;
    unsigned least = GUESS_EDITS + 1;

    for (const struct cli_command *c = commands; c->name; c++) {
        unsigned n = hd_str_distance(hd_str_from(name), c->name);
        if (n < least && n < strlen(c->name)) {
            nearest = c->name;
            least = n;
        }
    }
    return cli_usage("unknown command '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

/* A name of the executable that stands for a command; NULL for `heddle` itself. */
static const struct cli_command *command_by_name(const char *path)
{
    static const char *const names[][2] = {{"ptxas", "ptxas"},    {"nvcc", "cc"},
                                           {"heddle-nvcc", "cc"}, {"cuda-checkpoint", "checkpoint"},
                                           {"nvidia-smi", "smi"}, {"compute-sanitizer", "check"},
                                           {"nsys", "nsys"},      {"ncu", "ncu"}};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (strcmp(name, names[i][0]) == 0) {
            const struct cli_command *command = find_command(names[i][1]);
            assert(command); /* rows are ours */
            return command;
        }
    return NULL;
}

/* `alias` is the name by which the executable was called, when that stands for the command. */
static void set_name(const struct cli_command *command, const char *alias)
{
    static char called[64];

    int n = snprintf(called, sizeof(called), "heddle %s", command->name);
    assert(n > 0 && (size_t)n < sizeof(called));
    cli_set_name(alias ? alias : command->name, alias ? alias : called);
}

static int run_command(const struct cli_command *command, const char *alias, int argc, char **argv)
{
    set_name(command, alias);
    assert(argc > 0 && command->run);
    if (command->run != cmd_help && hd_env_check() != HD_OK) {
        cli_error("%s", hd_error_message());
        return CLI_USAGE;
    }
    return command->run(argc, argv);
}

int cmd_help(int argc, char **argv)
{
    static char ask[] = "--help";
    const struct cli_command *command = argc > 1 ? find_command(argv[1]) : NULL;

    if (argc > 2 ||
        (argc == 2 && !command && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
        return refuse_command(argv[1]);
    if (command && command->run != cmd_help) {
        set_name(command, NULL);
        return command->run(2, (char *[]){argv[1], ask, NULL});
    }
    print_help(stdout);
    return CLI_OK;
}

int main(int argc, char **argv)
{
    const struct cli_command *command = argc ? command_by_name(argv[0]) : NULL;
    bool version = false;
    int at = 1;
    if (command) {
        const char *slash = strrchr(argv[0], '/');
        return run_command(command, slash ? slash + 1 : argv[0], argc, argv);
    }
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--json") == 0)
            want_json = true;
        else if (strcmp(argv[at], "--version") == 0)
            version = true;
        else if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            print_help(stdout);
            return CLI_OK;
        } else {
            return cli_usage("unknown option '%s'", argv[at]);
        }
    }
    if (version) {
        print_version();
        return CLI_OK;
    }
    if (at == argc) {
        print_help(stderr);
        return CLI_USAGE;
    }
    command = find_command(argv[at]);
    if (!command)
        return refuse_command(argv[at]);
    return run_command(command, NULL, argc - at, argv + at);
}
