/* What a build of the layer for PyTorch is found by. See torch.h. */
#include "torch/torch.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "common/cli.h"
#include "common/where.h"
#include "obj/cache.h"
#include "obj/elf.h"

bool torch_print(char *out, size_t size, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    return n > 0 && (size_t)n < size;
}

static int read_version(struct torch_build *b)
{
    static const char word[] = "__version__ = '";
    char path[PATH_MAX];
    struct hd_buf text;
    const char *at = NULL;

    hd_buf_init(&text);
    if (torch_print(path, sizeof(path), "%s/version.py", b->root) &&
        hd_file_read(path, 1 << 16, &text) == HD_OK)
        at = strstr(text.ptr, word);
    if (at)
        (void)snprintf(b->version, sizeof(b->version), "%.*s", (int)strcspn(at + strlen(word), "'"),
                       at + strlen(word));
    hd_buf_fini(&text);
    return at ? 0 : cli_error("no PyTorch: %s: it has no version.py with a version", b->root);
}

static int find_sources(struct torch_build *b)
{
    b->layer = where_torch();
    if (!b->layer)
        return cli_error("layer.cpp not found: this Heddle was installed without its PyTorch "
                         "layer; install it again");
    return 0;
}

int torch_find_folder(struct torch_build *b)
{
    struct obj_cache *cache;

    if (obj_cache_open(NULL, 0, &cache) != HD_OK)
        return cli_error("out of memory");
    const char *dir = obj_cache_dir(cache);
    bool good = torch_print(b->folder, sizeof(b->folder), "%s/torch", dir ? dir : "");
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
static int hash_library(struct obj_cache_hash *hash, const struct torch_build *b, const char *name)
{
    char path[PATH_MAX];
    struct obj_elf elf;
    struct obj_elf_section note;

    if (!torch_print(path, sizeof(path), "%s/lib/%s", b->root, name))
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
static int hash_sources(struct obj_cache_hash *hash, const struct torch_build *b)
{
    const char *slash = strrchr(b->layer, '/');
    assert(slash); /* where_torch() gives whole paths */
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

static int find_name(struct torch_build *b)
{
    struct obj_cache_hash hash;
    struct clang_args command = {0};

    obj_cache_hash_init(&hash);
    obj_cache_hash_str(&hash, cli_version());
    /* With names for folders: what is in them is hashed, or comes with the version, and the same
     * PyTorch in two places shares a build. */
    torch_add_command(&command, b->compiler, "torch", "headers", "layer/layer.cpp", "out");
    for (size_t i = 0; i < command.len; i++)
        obj_cache_hash_str(&hash, command.at[i]);
    int code = command.failed ? cli_error("out of memory") : 0;
    clang_args_fini(&command);
    code = code ? code : hash_library(&hash, b, "libtorch_cpu.so");
    code = code ? code : hash_library(&hash, b, "libtorch_cuda.so");
    code = code ? code : hash_library(&hash, b, "libc10_cuda.so");
    code = code ? code : hash_sources(&hash, b);
    if (code)
        return code;
    struct obj_cache_key key = obj_cache_hash_final(&hash);
    return torch_print(b->file, sizeof(b->file), "%s/%s-%016llx.so", b->folder, b->version,
                       (unsigned long long)key.low)
               ? 0
               : cli_error("%s: the path is too long", b->folder);
}

int torch_find_file(struct torch_build *b)
{
    assert(b->root[0] && b->compiler);
    int code = read_version(b);
    code = code ? code : find_sources(b);
    code = code ? code : torch_find_folder(b);
    return code ? code : find_name(b);
}
