/* The code cache: keys, lookup and writing. The directory as a whole: cache_dir.c. */
#include "obj/cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.h"
#include "base/mem.h"
#include "obj/cache_private.h"

/* An entry's modification time is renewed when it is older than this. */
#define TOUCH_AFTER_S 3600

_Static_assert(sizeof(XXH3_state_t) <= sizeof(struct obj_cache_hash), "state must fit");

static XXH3_state_t *cache_hash_state(const struct obj_cache_hash *hash)
{
    return (XXH3_state_t *)(uintptr_t)hash->state;
}

void obj_cache_hash_init(struct obj_cache_hash *hash)
{
    XXH3_INITSTATE(cache_hash_state(hash));
    XXH3_128bits_reset(cache_hash_state(hash));
    obj_cache_hash_u64(hash, OBJ_CACHE_VERSION);
}

void obj_cache_hash_bytes(struct obj_cache_hash *hash, const void *bytes, size_t len)
{
    obj_cache_hash_u64(hash, len);
    if (len)
        XXH3_128bits_update(cache_hash_state(hash), bytes, len);
}

void obj_cache_hash_str(struct obj_cache_hash *hash, const char *text)
{
    if (text)
        obj_cache_hash_bytes(hash, text, strlen(text));
    else
        obj_cache_hash_u64(hash, UINT64_MAX);
}

void obj_cache_hash_u64(struct obj_cache_hash *hash, uint64_t value)
{
    XXH3_128bits_update(cache_hash_state(hash), &value, sizeof(value));
}

struct obj_cache_key obj_cache_hash_final(const struct obj_cache_hash *hash)
{
    XXH128_hash_t digest = XXH3_128bits_digest(cache_hash_state(hash));
    return (struct obj_cache_key){.low = digest.low64, .high = digest.high64};
}

static const char *cache_home_dir(void)
{
    const char *home = hd_env_of_system("HOME");
    if (home && home[0] == '/')
        return home;
    /* With raised privileges who runs the program is not whose rights it has. */
    struct passwd *user = getpwuid(geteuid());
    return user ? user->pw_dir : NULL;
}

/* *out_dir is NULL when the cache is off. False when memory is short. */
static bool cache_choose_dir(const char *dir, char **out_dir)
{
    *out_dir = NULL;
    const char *tail = "";
    if (!dir)
        dir = hd_env("HEDDLE_CACHE");
    if (dir && !strcmp(dir, "off"))
        return true;
    if (!dir) {
        dir = hd_env_of_system("XDG_CACHE_HOME");
        tail = "/heddle";
        if (!dir || dir[0] != '/') {
            dir = cache_home_dir();
            tail = "/.cache/heddle";
        }
    }
    if (!dir)
        return true;
    struct hd_buf buf;
    hd_buf_init(&buf);
    hd_buf_printf(&buf, "%s%s", dir, tail);
    *out_dir = hd_buf_take(&buf);
    return *out_dir != NULL;
}

enum hd_status obj_cache_open(const char *dir, uint64_t cap_B, struct obj_cache **out_cache)
{
    *out_cache = NULL;
    char *path;
    if (!cache_choose_dir(dir, &path))
        return hd_error(HD_NO_MEMORY, "no memory to open the code cache");
    if (!path)
        return HD_OK;
    struct obj_cache *cache = hd_new(struct obj_cache);
    if (!cache) {
        hd_free(path);
        return hd_error(HD_NO_MEMORY, "no memory to open the code cache");
    }
    cache->dir = path;
    cache->cap_B = cap_B ? cap_B : OBJ_CACHE_CAP_DEFAULT_B;
    if (!cap_B)
        (void)hd_env_u64("HEDDLE_CACHE_SIZE", &cache->cap_B);
    *out_cache = cache;
    return HD_OK;
}

void obj_cache_close(struct obj_cache *cache)
{
    if (!cache)
        return;
    hd_free(cache->dir);
    hd_free(cache);
}

const char *obj_cache_dir(const struct obj_cache *cache)
{
    return cache ? cache->dir : NULL;
}

uint64_t obj_cache_cap_B(const struct obj_cache *cache)
{
    return cache ? cache->cap_B : 0;
}

/* False when the directory's name is too long for a path. */
static bool cache_entry_path(const struct obj_cache *cache, struct obj_cache_key key, char *buf,
                             size_t buf_B)
{
    int n = snprintf(buf, buf_B, "%s/%016llx%016llx" OBJ_CACHE_SUFFIX, cache->dir,
                     (unsigned long long)key.high, (unsigned long long)key.low);
    return n > 0 && (size_t)n < buf_B;
}

static bool cache_header_is_good(const struct obj_cache_header *head, size_t file_B,
                                 struct obj_cache_key key)
{
    assert(file_B >= sizeof(*head)); /* cache_map_entry() looked */
    if (memcmp(head->magic, OBJ_CACHE_MAGIC, sizeof(head->magic)) != 0 ||
        head->version != OBJ_CACHE_VERSION || head->header_B != sizeof(*head) ||
        head->key.low != key.low || head->key.high != key.high ||
        head->payload_B != file_B - sizeof(*head))
        return false;
    return XXH3_64bits(head + 1, (size_t)head->payload_B) == head->checksum;
}

static bool cache_map_entry(int fd, struct obj_cache_key key, struct obj_cache_entry *out_entry)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) ||
        st.st_size < (off_t)sizeof(struct obj_cache_header))
        return false;
    size_t size_B = (size_t)st.st_size;
    void *map = mmap(NULL, size_B, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED)
        return false;
    const struct obj_cache_header *head = map;
    if (!cache_header_is_good(head, size_B, key)) {
        munmap(map, size_B);
        return false;
    }
    assert(head->payload_B == size_B - sizeof(*head));
    /* Renews the time of use now and then; on a read-only file system nothing happens. */
    if (time(NULL) - st.st_mtime > TOUCH_AFTER_S)
        (void)!futimens(fd, NULL);
    *out_entry = (struct obj_cache_entry){
        .bytes = head + 1, .size_B = (size_t)head->payload_B, .map = map, .map_B = size_B};
    return true;
}

bool obj_cache_get(struct obj_cache *cache, struct obj_cache_key key,
                   struct obj_cache_entry *out_entry)
{
    char path[OBJ_CACHE_PATH_MAX];
    if (!cache || !cache_entry_path(cache, key, path, sizeof(path)))
        return false;
    /* Whatever stands there: nobody may ever write what a FIFO waits for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        hd_log_debug(HD_DEBUG_CACHE, "miss %016llx%016llx", (unsigned long long)key.high,
                     (unsigned long long)key.low);
        return false;
    }
    bool hit = cache_map_entry(fd, key, out_entry);
    close(fd);
    if (!hit)
        unlink(path); /* damaged: the next writer replaces it */
    hd_log_debug(HD_DEBUG_CACHE, "%s %016llx%016llx", hit ? "hit" : "damaged entry",
                 (unsigned long long)key.high, (unsigned long long)key.low);
    return hit;
}

void obj_cache_entry_release(struct obj_cache_entry *entry)
{
    if (entry->map)
        munmap(entry->map, entry->map_B);
    *entry = (struct obj_cache_entry){0};
}

/* mkdir -p. Only the last component is private; the ones above follow the umask. */
static bool cache_make_dir(const char *dir)
{
    if (mkdir(dir, 0700) == 0 || errno == EEXIST)
        return true;
    if (errno != ENOENT)
        return false;
    char path[OBJ_CACHE_PATH_MAX];
    size_t len = strlen(dir);
    if (len >= sizeof(path))
        return false;
    memcpy(path, dir, len + 1);
    for (size_t i = 1; i < len; i++) {
        if (path[i] != '/')
            continue;
        path[i] = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return false;
        path[i] = '/';
    }
    return mkdir(dir, 0700) == 0 || errno == EEXIST;
}

static bool cache_write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Says why the cache takes no entry, once per call; a cause that will last stops further tries. */
static enum hd_status cache_put_failed(struct obj_cache *cache, const char *what, int error)
{
    bool lasting = error == EROFS || error == EACCES || error == EPERM || error == ENOTDIR ||
                   error == ENAMETOOLONG;
    if (lasting)
        atomic_store_explicit(&cache->read_only, true, memory_order_relaxed);
    hd_log_debug(HD_DEBUG_CACHE, "%s: %s: %s", cache->dir, what, strerror(error));
    return HD_IO;
}

static int cache_open_temporary(const struct obj_cache *cache, char *path, size_t path_B)
{
    static atomic_uint counter;
    int n = snprintf(path, path_B, "%s/" OBJ_CACHE_TEMPORARY "%lx-%x", cache->dir, (long)getpid(),
                     atomic_fetch_add(&counter, 1));
    if (n < 0 || (size_t)n >= path_B) {
        errno = ENAMETOOLONG;
        return -1;
    }
    unlink(path); /* left by a process that died with our id */
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

enum hd_status obj_cache_put(struct obj_cache *cache, struct obj_cache_key key, const void *bytes,
                             size_t size_B)
{
    if (!cache)
        return HD_NOT_SUPPORTED;
    if (atomic_load_explicit(&cache->read_only, memory_order_relaxed))
        return HD_IO;
    char path[OBJ_CACHE_PATH_MAX], temporary[OBJ_CACHE_PATH_MAX];
    if (!cache_entry_path(cache, key, path, sizeof(path)))
        return cache_put_failed(cache, "path", ENAMETOOLONG);
    int fd = cache_open_temporary(cache, temporary, sizeof(temporary));
    if (fd < 0 && errno == ENOENT && cache_make_dir(cache->dir))
        fd = cache_open_temporary(cache, temporary, sizeof(temporary));
    if (fd < 0)
        return cache_put_failed(cache, "cannot create a file", errno);
    assert(bytes || !size_B);
    struct obj_cache_header head = {
        .magic = OBJ_CACHE_MAGIC,
        .version = OBJ_CACHE_VERSION,
        .header_B = sizeof(head),
        .key = key,
        .payload_B = size_B,
        .checksum = XXH3_64bits(bytes, size_B),
    };
    bool written = cache_write_all(fd, &head, sizeof(head)) && cache_write_all(fd, bytes, size_B);
    int error = written ? 0 : errno;
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (error) {
        unlink(temporary);
        return cache_put_failed(cache, "cannot write an entry", error);
    }
    hd_log_debug(HD_DEBUG_CACHE, "wrote %016llx%016llx, %zu bytes", (unsigned long long)key.high,
                 (unsigned long long)key.low, size_B);
    obj_cache_account_(cache, size_B + sizeof(struct obj_cache_header));
    return HD_OK;
}
