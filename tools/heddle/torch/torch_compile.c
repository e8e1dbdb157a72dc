/* Compiling the layer for PyTorch. See torch.h. */
#include "torch/torch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/cli.h"
#include "common/where.h"
#include "run.h"

int torch_find_compiler(struct torch_build *b)
{
    static char path[PATH_MAX];
    if (clang_find(&b->compiler) == HD_OK)
        return 0;
    char *found = run_find_program("c++");
    if (!found)
        return cli_error(
            "PyTorch needs a layer that is compiled once, and there is no compiler for it: "
            "install clang-19, or g++ 11 or newer");
    (void)snprintf(path, sizeof(path), "%s", found);
    hd_free(found);
    b->compiler = path;
    return 0;
}

void torch_add_command(struct clang_args *args, const char *compiler, const char *root,
                       const char *headers, const char *layer, const char *out)
{
    const char *slash = strrchr(layer, '/');
    assert(slash);

    clang_args_add(args, "%s", compiler);
    clang_args_add_words(args, "-std=c++20 -O2 -fPIC -shared -fvisibility=hidden -w -DUSE_CUDA");
    /* PyTorch's inline functions are visible to all; the layer calls its own, without tables. */
    clang_args_add_words(args, "-fno-plt -fno-semantic-interposition -Wl,-Bsymbolic-functions");
    clang_args_add(args, "-I%s/include", root);
    clang_args_add(args, "-I%s/include/torch/csrc/api/include", root);
    clang_args_add(args, "-I%s", headers);
    clang_args_add(args, "-I%s/..", headers); /* heddle/native.h */
    clang_args_add(args, "-I%.*s", (int)(slash - layer), layer);
    clang_args_add(args, "-o");
    clang_args_add(args, "%s", out);
    clang_args_add(args, "%s", layer);
    clang_args_add(args, "-L%s/lib", root);
    clang_args_add_words(args, "-lc10 -lc10_cuda -ltorch_cpu -ltorch_cuda "
                               "-Wl,--unresolved-symbols=ignore-all");
}

/* What runs as `pid` ends, with an account of it; the status of waitpid(). */
static int wait_with_progress(pid_t pid, const struct torch_build *b)
{
    uint64_t start_ns = hd_clock_ns(CLOCK_MONOTONIC);
    int status = 0;
    assert(pid > 0);

    for (;;) {
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            break;
        cli_progress("compiling Heddle's layer for PyTorch %s, once: %.0f s", b->version,
                     1e-9 * (double)(hd_clock_ns(CLOCK_MONOTONIC) - start_ns));
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    cli_progress_end();
    return status;
}

/* The compiler's messages go to `log`, a file. *out_compiled: it found nothing wrong. */
static int run_compiler(const struct clang_args *args, const char *log, const struct torch_build *b,
                        bool *out_compiled)
{
    pid_t pid;

    if (clang_start(args, log, &pid) != HD_OK)
        return cli_error("%s", hd_error_message());
    int status = wait_with_progress(pid, b);
    *out_compiled = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return 0;
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
static int compile(const struct torch_build *b)
{
    assert(b->file[0] == '/'); /* it is renamed to, and nothing else is */
    struct clang_args args = {0};
    char part[sizeof(b->file) + 32], log[sizeof(part)];

    if (!where_headers())
        return cli_error("Heddle's CUDA headers not found; set HEDDLE_INCLUDE to the folder that "
                         "holds cuda_runtime.h");
    (void)snprintf(part, sizeof(part), "%s.%ld", b->file, (long)getpid());
    (void)snprintf(log, sizeof(log), "%s.log", b->file);
    torch_add_command(&args, b->compiler, b->root, where_headers(), b->layer, part);
    bool compiled = false;
    int code = run_compiler(&args, log, b, &compiled);
    clang_args_fini(&args);
    if (compiled && rename(part, b->file) != 0)
        code = cli_error("%s: %s", b->file, strerror(errno));
    else if (!code && !compiled) {
        code = cli_error(
            "the layer for PyTorch %s does not compile; %s has everything:", b->version, log);
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
int torch_compile(struct torch_build *b)
{
    char lock[sizeof(b->file) + 8];
    assert(b->file[0] && b->folder[0] == '/');

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
