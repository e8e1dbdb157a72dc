/* heddle torch: its commands. See torch.h. */
#include "torch/torch.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "common/cli.h"

static const char help[] =
    "usage: heddle torch build [PATH]\n"
    "       heddle torch list [--json]\n"
    "       heddle torch clear\n"
    "\n"
    "PyTorch's wheels hold machine code of NVIDIA's GPUs, which does not run here. Heddle brings "
    "the\n"
    "source of a layer that lets PyTorch's CUDA operators run its CPU kernels over the device's\n"
    "memory. `heddle run` compiles it when a program first uses PyTorch on cuda, once for each "
    "build\n"
    "of PyTorch (ten to sixty seconds), and keeps it. This command does so beforehand, as in the\n"
    "recipe of a container, and shows what there is.\n"
    "\n"
    "commands:\n"
    "  build    compile for the PyTorch in the folder PATH (site-packages/torch); default: the "
    "one\n"
    "           that `python3` imports\n"
    "  list     what was compiled\n"
    "  clear    remove it\n"
    "\n"
    "options:\n"
    "  --library FILE  build for the PyTorch that this libtorch_cuda.so is of\n"
    "  --json          machine-readable output\n"
    "  -h, --help      this text\n"
    "\n"
    "environment:\n"
    "  HEDDLE_TORCH  off: PyTorch is left as it is\n"
    "  HEDDLE_CLANG  the compiler; default: clang 19, else c++ (GCC 11 or newer)\n"
    "  HEDDLE_CACHE  folder, in which `torch` is the one of these builds\n"
    "\n"
    "exit status: 0 done, 1 it cannot be compiled, 2 wrong usage\n";

/* The folder that `python3` imports PyTorch from. */
static int ask_python(char root[PATH_MAX])
{
    FILE *python = popen("python3 -c 'import importlib.util as u; s = u.find_spec(\"torch\"); "
                         "print(s.submodule_search_locations[0] if s else \"\")' 2>/dev/null",
                         "re");

    if (!python || !fgets(root, PATH_MAX, python))
        root[0] = '\0';
    if (python)
        (void)pclose(python);
    root[strcspn(root, "\n")] = '\0';
    return root[0] ? 0
                   : cli_error("python3 finds no PyTorch: pip install torch, or name its folder: "
                               "heddle torch build SITE-PACKAGES/torch");
}

static int find_root(struct torch_build *b, const char *library, const char *folder)
{
    static const char below[] = "/lib/libtorch_cuda.so";
    char given[PATH_MAX], path[PATH_MAX + sizeof(below)];

    if (library)
        (void)snprintf(given, sizeof(given), "%s", library);
    else if (folder)
        (void)snprintf(given, sizeof(given), "%s", folder);
    else if (ask_python(given))
        return CLI_FAILED;
    if (!realpath(given, b->root))
        return cli_error("%s: %s", given, strerror(errno));
    size_t len = strlen(b->root), tail = strlen(below);
    if (library && (len <= tail || strcmp(b->root + len - tail, below) != 0))
        return cli_error("%s: this is not PyTorch's lib/libtorch_cuda.so", library);
    if (library)
        b->root[len - tail] = '\0';
    (void)snprintf(path, sizeof(path), "%s%s", b->root, below);
    if (access(path, R_OK) != 0)
        return cli_error("%s: this PyTorch is built without CUDA, or is none: it has no "
                         "lib/libtorch_cuda.so; pip install torch brings one that has",
                         b->root);
    (void)snprintf(path, sizeof(path), "%s/include", b->root);
    if (access(path, R_OK) != 0)
        return cli_error("%s: this PyTorch comes without headers, against which Heddle compiles; "
                         "wheels of PyPI have them",
                         b->root);
    return 0;
}

/* Prints the path of the build. */
static int build(const char *library, const char *folder)
{
    struct torch_build b = {0};
    int code = find_root(&b, library, folder);

    code = code ? code : torch_find_compiler(&b);
    code = code ? code : torch_find_file(&b);
    if (!code && access(b.file, R_OK) != 0)
        code = torch_compile(&b);
    if (!code)
        puts(b.file);
    hd_free(b.layer);
    return code;
}

/* Calls `each` for the builds that are kept; the number of them, or -1 after a message. */
static int list_builds(int (*each)(const char *path, void *arg), void *arg)
{
    struct torch_build b = {0};
    struct dirent **names;

    if (torch_find_folder(&b))
        return -1;
    int n = scandir(b.folder, &names, NULL, alphasort), found = 0;
    if (n < 0 && errno != ENOENT)
        return cli_error("%s: %s", b.folder, strerror(errno)), -1;
    for (int i = 0; i < n; i++) {
        size_t len = strlen(names[i]->d_name);
        char path[2 * PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", b.folder, names[i]->d_name);
        if (len > 3 && !strcmp(names[i]->d_name + len - 3, ".so"))
            found += each(path, arg);
        hd_free(names[i]);
    }
    if (n >= 0)
        hd_free(names);
    return found;
}

static int print_one(const char *path, void *arg)
{
    struct hd_json *json = arg;

    if (json)
        hd_json_str(json, NULL, path);
    else
        puts(path);
    return 1;
}

static int list(bool as_json)
{
    struct hd_json json;
    int n;

    if (!as_json)
        return (n = list_builds(print_one, NULL)) < 0 ? CLI_FAILED : CLI_OK;
    hd_json_init(&json);
    hd_json_open(&json, NULL, '{');
    hd_json_open(&json, "builds", '[');
    n = list_builds(print_one, &json);
    hd_json_close(&json, ']');
    hd_json_close(&json, '}');
    hd_json_print(&json);
    return n < 0 ? CLI_FAILED : CLI_OK;
}

static int remove_one(const char *path, void *arg)
{
    return unlink(path) == 0;
}

static int clear(void)
{
    int n = list_builds(remove_one, NULL);

    if (n < 0)
        return CLI_FAILED;
    printf("removed %d builds\n", n);
    return CLI_OK;
}

int cmd_torch(int argc, char **argv)
{
    static const struct option options[] = {{"library", required_argument, NULL, 'l'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *library = NULL;
    bool as_json = cli_json();
    int option;

    while ((option = cli_getopt(argc, argv, "h", options)) != -1)
        if (option == 'l')
            library = optarg;
        else if (option == 'j')
            as_json = true;
        else if (option == 'h')
            return cli_help(help);
        else if (option == '?')
            return CLI_USAGE;
    const char *command = optind < argc ? argv[optind] : NULL;
    const char *folder = optind + 1 < argc ? argv[optind + 1] : NULL;
    if (!command)
        return cli_usage("which command? build, list or clear");
    if (!strcmp(command, "build") && argc - optind <= 2 && !(library && folder))
        return build(library, folder);
    if (!strcmp(command, "list") && !folder && !library)
        return list(as_json);
    if (!strcmp(command, "clear") && !folder && !library)
        return clear();
    return cli_usage("no such command: '%s'", command);
}
