/*
 * What is kept between programs, in the cache of compiled code.
 *
 * The front: heddle/rtc.h, which stands before every program, compiled ahead, because parsing it
 * takes longer than most programs. clang's precompiled form of a header fits one command line. It
 * is made when a command line comes for the second time, so that one that never comes again costs
 * nothing; and always for programs that bring files, whose math.h it must not find. The key has all
 * that it depends on: the words, the compiler, our headers. A program that compiles without it only
 * says that it is of no use, whatever the reason: it is not tried again.
 *
 * Results: what clang wrote for a text that includes no file, which is then all that it depends on
 * besides. Clients compile the same small programs in every process, CuPy an empty one.
 */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/nvrtc/program.h"

#define FRONT_MAX_B (64u << 20)
#define FRONT_KEY   "nvrtc front"
/* An entry of one byte: there is none for these words. */
#define NO_FRONT "-"

static struct obj_cache *cache; /* NULL: there is none */

static void cache_open(void)
{
    (void)!obj_cache_open(NULL, 0, &cache);
}

static void cache_open_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, cache_open);
}

/* ---- the key */

static void hash_file(struct obj_cache_hash *hash, const char *path)
{
    struct stat st = {.st_size = 0};

    (void)!stat(path, &st);
    obj_cache_hash_str(hash, path);
    obj_cache_hash_u64(hash, (uint64_t)st.st_size);
    obj_cache_hash_u64(hash, (uint64_t)st.st_mtim.tv_sec);
    obj_cache_hash_u64(hash, (uint64_t)st.st_mtim.tv_nsec);
}

static void hash_folder(struct obj_cache_hash *hash, const char *folder)
{
    struct dirent **names = NULL;
    char path[PATH_MAX + 256];
    int n = scandir(folder, &names, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
            hash_file(hash, path);
        }
        free(names[i]);
    }
    free(names);
}

/* `what` keeps fronts, notes that words came once, and results apart. */
static struct obj_cache_key key_of(const struct clang_args *words, const char *what)
{
    static const char *const folders[] = {"", "/heddle", "/heddle/rtc"};
    struct obj_cache_hash hash;
    char path[PATH_MAX];

    obj_cache_hash_init(&hash);
    obj_cache_hash_str(&hash, what);
    hash_file(&hash, words->at[0]);
    for (size_t i = 0; i < words->len; i++)
        obj_cache_hash_str(&hash, words->at[i]);
    for (size_t i = 0; i < HD_COUNT_OF(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", rtc_headers(), folders[i]);
        hash_folder(&hash, path);
    }
    return obj_cache_hash_final(&hash);
}

static bool came_before(const struct clang_args *words)
{
    struct obj_cache_key key = key_of(words, "nvrtc words");
    struct obj_cache_entry entry;

    if (!obj_cache_get(cache, key, &entry)) {
        (void)!obj_cache_put(cache, key, "", 1);
        return false;
    }
    obj_cache_entry_release(&entry);
    return true;
}

/* ---- making it */

/* The file at `path`; false, without a word, when the compiler does not like it. */
static bool front_make(const struct clang_args *words, const char *path)
{
    struct clang_args args = {0};
    char log[PATH_MAX];

    for (size_t i = 0; i < words->len; i++)
        clang_args_add(&args, "%s", words->at[i]);
    rtc_put_headers(&args);
    clang_args_add_words(&args, "-Xclang -emit-pch");
    clang_args_add(&args, "%s/heddle/rtc.h", rtc_headers());
    clang_args_add(&args, "-o");
    clang_args_add(&args, "%s", path);
    (void)snprintf(log, sizeof(log), "%s.log", path);
    bool worked = clang_run(&args, log) == HD_OK;
    clang_args_fini(&args);
    return worked;
}

static bool front_keep(const char *path, struct obj_cache_key key)
{
    struct hd_buf bytes;

    hd_buf_init(&bytes);
    bool worked = hd_file_read(path, FRONT_MAX_B, &bytes) == HD_OK && bytes.len;
    if (worked)
        (void)!obj_cache_put(cache, key, bytes.ptr, bytes.len);
    hd_buf_fini(&bytes);
    return worked;
}

bool rtc_front_get(const struct clang_args *words, bool always, const char *path)
{
    struct obj_cache_entry entry;

    cache_open_once();
    if (words->failed)
        return false;
    if (!cache)
        return always && front_make(words, path);
    struct obj_cache_key key = key_of(words, FRONT_KEY);
    if (!obj_cache_get(cache, key, &entry)) {
        bool wanted = came_before(words) || always;
        return wanted && front_make(words, path) && front_keep(path, key);
    }
    bool worked = entry.size_B > 1 && hd_file_write(path, entry.bytes, entry.size_B) == HD_OK;
    obj_cache_entry_release(&entry);
    return worked;
}

void rtc_front_refuse(const struct clang_args *words)
{
    if (cache)
        (void)!obj_cache_put(cache, key_of(words, FRONT_KEY), NO_FRONT, 1);
}

/* ---- results */

struct result {
    uint64_t log_B, ptx_B; /* both follow */
};

bool rtc_result_key(const struct clang_args *words, const char *text, struct obj_cache_key *out_key)
{
    struct obj_cache_hash hash;

    cache_open_once();
    if (!cache || words->failed)
        return false;
    *out_key = key_of(words, "nvrtc result");
    obj_cache_hash_init(&hash);
    obj_cache_hash_u64(&hash, out_key->low);
    obj_cache_hash_u64(&hash, out_key->high);
    hash_file(&hash, rtc_libdevice());
    obj_cache_hash_str(&hash, text);
    *out_key = obj_cache_hash_final(&hash);
    return true;
}

bool rtc_result_get(struct obj_cache_key key, struct hd_buf *log, struct hd_buf *ptx)
{
    struct obj_cache_entry entry;
    struct result head;

    if (!obj_cache_get(cache, key, &entry))
        return false;
    const char *bytes = (const char *)entry.bytes + sizeof(head);
    size_t size_B = entry.size_B - sizeof(head);
    bool whole = entry.size_B >= sizeof(head);
    if (whole) {
        memcpy(&head, entry.bytes, sizeof(head));
        whole = head.log_B <= size_B && head.ptx_B == size_B - head.log_B;
    }
    if (whole) {
        hd_buf_append(log, bytes, head.log_B);
        hd_buf_append(ptx, bytes + head.log_B, head.ptx_B);
    }
    obj_cache_entry_release(&entry);
    return whole;
}

void rtc_result_put(struct obj_cache_key key, const struct hd_buf *log, const struct hd_buf *ptx)
{
    struct result head = {log->len, ptx->len};
    struct hd_buf bytes;

    hd_buf_init(&bytes);
    hd_buf_append(&bytes, &head, sizeof(head));
    if (log->len)
        hd_buf_append(&bytes, log->ptr, log->len);
    hd_buf_append(&bytes, ptx->ptr, ptx->len);
    if (!bytes.failed)
        (void)!obj_cache_put(cache, key, bytes.ptr, bytes.len);
    hd_buf_fini(&bytes);
}
