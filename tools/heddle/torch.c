/*
 * heddle torch: what PyTorch's operators run on, compiled for the PyTorch that is there.
 *
 * The source (src/frameworks/torch) is installed with Heddle. A build is found by what went into
 * it: PyTorch's libraries, by their build ids; the source; the compiler. Processes that want the
 * same one at a time wait for each other.
 */
#include "common/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "clang/clang.h"
#include "common/where.h"
#include "obj/cache.h"
#include "obj/elf.h"
#include "run.h"

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

struct build {
    char root[PATH_MAX]; /* site-packages/torch */
    char version[64];
    char *layer; /* layer.cpp */
    const char *compiler;
    char folder[PATH_MAX]; /* of builds */
    char file[PATH_MAX + 128];
};

/* ---- what is built, and where it is kept */

/* A text with printf's formats; false: it does not fit. */
static bool HD_PRINTF(3, 4) print_path(char *out, size_t size, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    return n > 0 && (size_t)n < size;
}

static int read_version(struct build *b)
{
    static const char word[] = "__version__ = '";
    char path[PATH_MAX];
    struct hd_buf text;
    const char *at = NULL;

    hd_buf_init(&text);
    if (print_path(path, sizeof(path), "%s/version.py", b->root) &&
        hd_file_read(path, 1 << 16, &text) == HD_OK)
        at = strstr(text.ptr, word);
    if (at)
        (void)snprintf(b->version, sizeof(b->version), "%.*s", (int)strcspn(at + strlen(word), "'"),
                       at + strlen(word));
    hd_buf_fini(&text);
    return at ? 0 : cli_error("no PyTorch: %s: it has no version.py with a version", b->root);
}

static int find_sources(struct build *b)
{
    b->layer = where_torch();
    if (!b->layer)
        return cli_error("layer.cpp not found: this Heddle was installed without its PyTorch "
                         "layer; install it again");
    return 0;
}

/* GCC does as well: it is what most people have. */
static int find_compiler(struct build *b)
{
    static char path[PATH_MAX];
    if (clang_find(&b->compiler) == HD_OK)
        return 0;
    char *found = run_find_program("c++");
    if (!found)
        return cli_error("PyTorch %s needs a layer that is compiled once, and there is no compiler "
                         "for it: install clang-19, or g++ 11 or newer",
                         b->version);
    (void)snprintf(path, sizeof(path), "%s", found);
    hd_free(found);
    b->compiler = path;
    return 0;
}

static int find_folder(struct build *b)
{
    struct obj_cache *cache;

    if (obj_cache_open(NULL, 0, &cache) != HD_OK)
        return cli_error("out of memory");
    const char *dir = obj_cache_dir(cache);
    bool good = print_path(b->folder, sizeof(b->folder), "%s/torch", dir ? dir : "");
    obj_cache_close(cache);
    if (!dir)
        return cli_error("the cache is off (HEDDLE_CACHE), and the layer of PyTorch has to be kept "
                         "somewhere");
    return good ? 0 : cli_error("%s: the path is too long", dir);
}

static int hash_file(struct obj_cache_hash *hash, const char *path)
{
    struct hd_buf text;

    hd_buf_init(&text);
    enum hd_status status = hd_file_read(path, 1 << 22, &text);
    if (status == HD_OK)
        obj_cache_hash_bytes(hash, text.ptr ? text.ptr : "", text.len);
    hd_buf_fini(&text);
    return status == HD_OK ? 0 : cli_error("%s: %s", path, hd_error_message());
}

/* The linker's id of a library's content. */
static int hash_library(struct obj_cache_hash *hash, const struct build *b, const char *name)
{
    char path[PATH_MAX];
    struct obj_elf elf;
    struct obj_elf_section note;

    if (!print_path(path, sizeof(path), "%s/lib/%s", b->root, name))
        return cli_error("%s: the path is too long", b->root);
    if (obj_elf_open_file(path, &elf) != HD_OK)
        return cli_error("%s: %s", path, hd_error_message());
    bool found = obj_elf_section_find(&elf, ".note.gnu.build-id", &note);
    if (found)
        obj_cache_hash_bytes(hash, note.bytes, note.size_B);
    obj_cache_hash_u64(hash, elf.size_B);
    obj_elf_close(&elf);
    return 0;
}

/* All files beside layer.cpp. */
static int hash_sources(struct obj_cache_hash *hash, const struct build *b)
{
    const char *slash = strrchr(b->layer, '/');
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct dirent **names;
    int code = 0;

    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - b->layer), b->layer);
    int n = scandir(folder, &names, NULL, alphasort);
    if (n < 0)
        return cli_error("%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && !code)
            code = hash_file(hash, path);
        hd_free(names[i]);
    }
    hd_free(names);
    return code;
}

static int find_file(struct build *b)
{
    struct obj_cache_hash hash;
    obj_cache_hash_init(&hash);
    obj_cache_hash_str(&hash, cli_version());
    obj_cache_hash_str(&hash, b->compiler);
    int code = hash_library(&hash, b, "libtorch_cpu.so");
    code = code ? code : hash_library(&hash, b, "libtorch_cuda.so");
    code = code ? code : hash_library(&hash, b, "libc10_cuda.so");
    code = code ? code : hash_sources(&hash, b);
    if (code)
        return code;
    struct obj_cache_key key = obj_cache_hash_final(&hash);
    return print_path(b->file, sizeof(b->file), "%s/%s-%016llx.so", b->folder, b->version,
                      (unsigned long long)key.low)
               ? 0
               : cli_error("%s: the path is too long", b->folder);
}

/* ---- compiling */

static void add_words(struct clang_args *args, const struct build *b, const char *out)
{
    const char *headers = where_headers(), *slash = strrchr(b->layer, '/');

    clang_args_add(args, "%s", b->compiler);
    clang_args_add_words(args, "-std=c++20 -O2 -fPIC -shared -fvisibility=hidden -w -DUSE_CUDA");
    clang_args_add(args, "-I%s/include", b->root);
    clang_args_add(args, "-I%s/include/torch/csrc/api/include", b->root);
    clang_args_add(args, "-I%s", headers);
    clang_args_add(args, "-I%s/..", headers); /* heddle/native.h */
    clang_args_add(args, "-I%.*s", (int)(slash - b->layer), b->layer);
    clang_args_add(args, "-o");
    clang_args_add(args, "%s", out);
    clang_args_add(args, "%s", b->layer);
    clang_args_add(args, "-L%s/lib", b->root);
    clang_args_add_words(args, "-lc10 -lc10_cuda -ltorch_cpu -ltorch_cuda "
                               "-Wl,--unresolved-symbols=ignore-all");
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

/* What runs as `pid` ends, with an account of it; the status of waitpid(). */
static int wait_with_progress(pid_t pid, const struct build *b)
{
    struct timespec start;
    int status = 0;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            break;
        cli_progress("compiling Heddle's layer for PyTorch %s, once: %.0f s", b->version,
                     seconds_since(&start));
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    cli_progress_end();
    return status;
}

/* The compiler's messages go to `log`, a file. */
static int run_compiler(const struct clang_args *args, const char *log, const struct build *b)
{
    posix_spawn_file_actions_t files;
    char **own = hd_env_of_child();
    pid_t pid;

    if (!own || args->failed || posix_spawn_file_actions_init(&files)) {
        hd_free(own);
        return cli_error("out of memory");
    }
    int error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error =
            posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (!error)
        error = posix_spawn(&pid, args->at[0], &files, NULL, args->at, own);
    (void)posix_spawn_file_actions_destroy(&files);
    hd_free(own);
    if (error)
        return cli_error("cannot run %s: %s", args->at[0], strerror(error));
    int status = wait_with_progress(pid, b);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : CLI_FAILED;
}

/* The first lines that say "error". */
static void print_errors(const char *log)
{
    struct hd_buf text;
    unsigned lines = 0;

    hd_buf_init(&text);
    if (hd_file_read(log, 1 << 20, &text) == HD_OK)
        for (char *line = text.ptr; line && *line && lines < 5;) {
            char *end = line + strcspn(line, "\n");
            bool last = !*end;
            *end = '\0';
            if (strstr(line, "error")) {
                fprintf(stderr, "  %s\n", line);
                lines++;
            }
            line = last ? NULL : end + 1;
        }
    hd_buf_fini(&text);
}

/* To a name of this process, and renamed: no other process sees half a file. */
static int compile(const struct build *b)
{
    struct clang_args args = {0};
    char part[sizeof(b->file) + 32], log[sizeof(part)];

    if (!where_headers())
        return cli_error("Heddle's CUDA headers not found; set HEDDLE_INCLUDE to the folder that "
                         "holds cuda_runtime.h");
    (void)snprintf(part, sizeof(part), "%s.%ld", b->file, (long)getpid());
    (void)snprintf(log, sizeof(log), "%s.log", b->file);
    add_words(&args, b, part);
    int code = run_compiler(&args, log, b);
    clang_args_fini(&args);
    if (!code && rename(part, b->file) != 0)
        code = cli_error("%s: %s", b->file, strerror(errno));
    else if (code) {
        cli_error("the layer for PyTorch %s does not compile; %s has everything:", b->version, log);
        print_errors(log);
    }
    (void)unlink(part);
    if (!code)
        (void)unlink(log);
    return code;
}

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* One process compiles, others wait for it and find the file. */
static int compile_alone(struct build *b)
{
    char lock[sizeof(b->file) + 8];

    if (!make_folders(b->folder))
        return cli_error("%s: %s", b->folder, strerror(errno));
    (void)snprintf(lock, sizeof(lock), "%s.lock", b->file);
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return cli_error("%s: %s", lock, strerror(errno));
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    int code = access(b->file, R_OK) == 0 ? 0 : compile(b);
    (void)unlink(lock);
    (void)close(fd);
    return code;
}

/* ---- commands */

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

static int find_root(struct build *b, const char *library, const char *folder)
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
    struct build b = {0};
    int code = find_root(&b, library, folder);

    code = code ? code : read_version(&b);
    code = code ? code : find_sources(&b);
    code = code ? code : find_compiler(&b);
    code = code ? code : find_folder(&b);
    code = code ? code : find_file(&b);
    if (!code && access(b.file, R_OK) != 0)
        code = compile_alone(&b);
    if (!code)
        puts(b.file);
    hd_free(b.layer);
    return code;
}

/* Calls `each` for the builds that are kept; the number of them, or -1 after a message. */
static int list_builds(int (*each)(const char *path, void *arg), void *arg)
{
    struct build b = {0};
    struct dirent **names;

    if (find_folder(&b))
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

static int list(void)
{
    struct hd_json json;
    int n;

    if (!cli_json())
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
    int option;

    while ((option = cli_getopt(argc, argv, "h", options)) != -1)
        if (option == 'l')
            library = optarg;
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
        return list();
    if (!strcmp(command, "clear") && !folder && !library)
        return clear();
    return cli_usage("no such command: '%s'", command);
}
