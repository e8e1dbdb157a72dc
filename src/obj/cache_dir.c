/* The cache directory as a whole: counting, clearing, evicting. */
#include "obj/cache.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "obj/cache_private.h"

/* A temporary file older than this belongs to a process that died. */
#define TEMPORARY_LIFE_S 3600
/* After the first look, the directory is counted again when this share of the cap was written. */
#define RECOUNT_SHARE 16

/* Its time says when the directory was last counted. */
#define COUNTED        ".counted"
#define COUNTED_LIFE_S 60

#define KEY_DIGITS 32

struct cached_file {
    struct timespec used;
    uint64_t size_B;
    char name[KEY_DIGITS + sizeof(OBJ_CACHE_SUFFIX)];
};

enum file_kind { FILE_ENTRY, FILE_TEMPORARY, FILE_FOREIGN };

static enum file_kind classify(const char *name)
{
    if (!strncmp(name, OBJ_CACHE_TEMPORARY, sizeof(OBJ_CACHE_TEMPORARY) - 1))
        return FILE_TEMPORARY;
    for (size_t i = 0; i < KEY_DIGITS; i++)
        if (!isxdigit((unsigned char)name[i]))
            return FILE_FOREIGN;
    return strcmp(name + KEY_DIGITS, OBJ_CACHE_SUFFIX) ? FILE_FOREIGN : FILE_ENTRY;
}

/* Calls visit for each regular file. False when the directory cannot be read (errno is set). */
static bool walk(const char *path,
                 void (*visit)(int dir_fd, const char *name, const struct stat *st, void *arg),
                 void *arg)
{
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT;
    for (struct dirent *d; (d = readdir(dir));) {
        struct stat st;
        if (d->d_name[0] != '.' && fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            visit(dirfd(dir), d->d_name, &st, arg);
    }
    closedir(dir);
    return true;
}

static void visit_count(int dir_fd, const char *name, const struct stat *st, void *arg)
{
    struct obj_cache_stat *stat = arg;
    if (classify(name) == FILE_FOREIGN) {
        stat->foreign++;
        return;
    }
    stat->entries += classify(name) == FILE_ENTRY;
    stat->size_B += (uint64_t)st->st_size;
}

enum hd_status obj_cache_stat(const struct obj_cache *cache, struct obj_cache_stat *out_stat)
{
    *out_stat = (struct obj_cache_stat){0};
    if (cache && !walk(cache->dir, visit_count, out_stat))
        return hd_error(HD_IO, "%s: %s", cache->dir, strerror(errno));
    return HD_OK;
}

static void visit_clear(int dir_fd, const char *name, const struct stat *st, void *arg)
{
    struct obj_cache_stat *removed = arg;
    enum file_kind kind = classify(name);
    if (kind == FILE_FOREIGN) {
        removed->foreign++;
    } else if (unlinkat(dir_fd, name, 0) == 0) {
        removed->entries += kind == FILE_ENTRY;
        removed->size_B += (uint64_t)st->st_size;
    }
}

enum hd_status obj_cache_clear(struct obj_cache *cache, struct obj_cache_stat *out_removed)
{
    *out_removed = (struct obj_cache_stat){0};
    if (!cache)
        return HD_OK;
    if (!walk(cache->dir, visit_clear, out_removed))
        return hd_error(HD_IO, "%s: %s", cache->dir, strerror(errno));
    struct obj_cache_stat left;
    HD_TRY(obj_cache_stat(cache, &left));
    if (left.entries)
        return hd_error(HD_IO, "%s: %llu entries could not be removed", cache->dir,
                        (unsigned long long)left.entries);
    return HD_OK;
}

struct file_list {
    HD_VEC(struct cached_file) files;
    uint64_t size_B;
};

static void visit_list(int dir_fd, const char *name, const struct stat *st, void *arg)
{
    struct file_list *list = arg;
    enum file_kind kind = classify(name);
    if (kind == FILE_TEMPORARY && time(NULL) - st->st_mtime > TEMPORARY_LIFE_S)
        unlinkat(dir_fd, name, 0);
    if (kind != FILE_ENTRY)
        return;
    struct cached_file file = {.used = st->st_mtim, .size_B = (uint64_t)st->st_size};
    assert(strlen(name) + 1 == sizeof(file.name)); /* classify() */
    memcpy(file.name, name, sizeof(file.name));
    if (hd_vec_push(&list->files, file)) /* short of memory: evict among fewer */
        list->size_B += file.size_B;
}

static int by_use(const void *a, const void *b)
{
    const struct cached_file *fa = a, *fb = b;
    if (fa->used.tv_sec != fb->used.tv_sec)
        return fa->used.tv_sec < fb->used.tv_sec ? -1 : 1;
    return (fa->used.tv_nsec > fb->used.tv_nsec) - (fa->used.tv_nsec < fb->used.tv_nsec);
}

static uint64_t evict(const char *dir, struct file_list *list, uint64_t cap_B)
{
    uint64_t freed_B = 0;
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return 0;
    qsort(list->files.at, list->files.len, sizeof(list->files.at[0]), by_use);
    for (size_t i = 0; i < list->files.len && list->size_B - freed_B > cap_B / 4 * 3; i++)
        if (unlinkat(dir_fd, list->files.at[i].name, 0) == 0)
            freed_B += list->files.at[i].size_B;
    assert(freed_B <= list->size_B);
    close(dir_fd);
    return freed_B;
}

uint64_t obj_cache_trim(struct obj_cache *cache)
{
    struct file_list list = {0};
    uint64_t freed_B = 0;
    if (cache && walk(cache->dir, visit_list, &list) && list.size_B > cache->cap_B)
        freed_B = evict(cache->dir, &list, cache->cap_B);
    hd_vec_fini(&list.files);
    if (freed_B)
        hd_log_debug(HD_DEBUG_CACHE, "evicted %llu bytes", (unsigned long long)freed_B);
    return freed_B;
}

/*
 * Has somebody counted within the last minute? Else the caller is to: to look at each file of a
 * full cache takes as long as compiling a kernel. The time is that of a file, which needs no
 * content.
 */
static bool counted_lately(const struct obj_cache *cache)
{
    int dir_fd = open(cache->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    bool lately;
    int fd;

    if (dir_fd < 0)
        return false;
    lately = fstatat(dir_fd, COUNTED, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
             llabs((long long)(time(NULL) - st.st_mtime)) < COUNTED_LIFE_S;
    fd = lately ? -1 : openat(dir_fd, COUNTED, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        futimens(fd, NULL);
        close(fd);
    }
    close(dir_fd);
    return lately;
}

/*
 * A process counts the directory with its first write, unless another one just has, and when it has
 * written much itself.
 */
void obj_cache_account_(struct obj_cache *cache, uint64_t size_B)
{
    uint64_t grown_B = atomic_fetch_add(&cache->grown_B, size_B) + size_B;
    bool first = !atomic_exchange(&cache->counted, true);

    if (grown_B < cache->cap_B / RECOUNT_SHARE && (!first || counted_lately(cache)))
        return;
    atomic_store(&cache->grown_B, 0);
    obj_cache_trim(cache);
}
