/* Code cache: keys, hits, damage, eviction, read-only places, concurrent writers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "obj/cache.h"
#include "tap.h"

static char root[64];

static struct obj_cache *open_cache(const char *name, uint64_t cap_B)
{
    char dir[128];
    snprintf(dir, sizeof(dir), "%s/%s", root, name);
    struct obj_cache *cache = NULL;
    if (obj_cache_open(dir, cap_B, &cache) != HD_OK || !cache)
        exit(1);
    return cache;
}

static struct obj_cache_key key_of(uint64_t n)
{
    struct obj_cache_hash hash;
    obj_cache_hash_init(&hash);
    obj_cache_hash_u64(&hash, n);
    return obj_cache_hash_final(&hash);
}

static bool same_key(struct obj_cache_key a, struct obj_cache_key b)
{
    return a.low == b.low && a.high == b.high;
}

static struct obj_cache_key key_of_pair(const char *a, const char *b)
{
    struct obj_cache_hash hash;
    obj_cache_hash_init(&hash);
    obj_cache_hash_str(&hash, a);
    obj_cache_hash_str(&hash, b);
    return obj_cache_hash_final(&hash);
}

static void test_keys(void)
{
    ok(same_key(key_of(1), key_of(1)), "same input, same key");
    ok(!same_key(key_of(1), key_of(2)), "other input, other key");
    ok(!same_key(key_of_pair("ab", "c"), key_of_pair("a", "bc")), "items are delimited");
    ok(!same_key(key_of_pair("", "a"), key_of_pair(NULL, "a")), "NULL is not the empty string");
}

static bool holds(struct obj_cache *cache, uint64_t n, const void *want, size_t size_B)
{
    struct obj_cache_entry entry;
    if (!obj_cache_get(cache, key_of(n), &entry))
        return false;
    bool same = entry.size_B == size_B && !memcmp(entry.bytes, want, size_B) &&
                (uintptr_t)entry.bytes % 64 == 0;
    obj_cache_entry_release(&entry);
    return same;
}

static void test_hit_and_miss(void)
{
    struct obj_cache *cache = open_cache("deep/er/hits", 0);
    struct obj_cache_entry entry;
    ok(!obj_cache_get(cache, key_of(1), &entry), "miss while there is no directory");
    ok(obj_cache_put(cache, key_of(1), "code", 4) == HD_OK, "first write makes the directory");
    ok(holds(cache, 1, "code", 4), "hit");
    ok(!obj_cache_get(cache, key_of(2), &entry), "miss");
    ok(obj_cache_put(cache, key_of(3), "", 0) == HD_OK && holds(cache, 3, "", 0), "empty entry");
    ok(obj_cache_put(cache, key_of(1), "code", 4) == HD_OK && holds(cache, 1, "code", 4),
       "written twice");
    struct stat st;
    ok(stat(obj_cache_dir(cache), &st) == 0 && (st.st_mode & 0777) == 0700, "directory is private");
    struct obj_cache_stat stat;
    ok(obj_cache_stat(cache, &stat) == HD_OK && stat.entries == 2, "two entries");
    ok(obj_cache_clear(cache, &stat) == HD_OK && stat.entries == 2, "cleared");
    ok(!obj_cache_get(cache, key_of(1), &entry), "and gone");
    obj_cache_close(cache);
}

/* The file of the only entry. */
static void entry_file(struct obj_cache *cache, uint64_t n, char *buf, size_t buf_B)
{
    struct obj_cache_key key = key_of(n);
    snprintf(buf, buf_B, "%s/%016llx%016llx.code", obj_cache_dir(cache),
             (unsigned long long)key.high, (unsigned long long)key.low);
}

static void test_damage(void)
{
    struct obj_cache *cache = open_cache("damage", 0);
    char path[256];
    entry_file(cache, 7, path, sizeof(path));
    struct hd_buf good;
    hd_buf_init(&good);
    if (obj_cache_put(cache, key_of(7), "some code", 9) != HD_OK ||
        hd_file_read(path, 1 << 20, &good) != HD_OK)
        exit(1);
    size_t hits = 0, left = 0;
    for (size_t len = 0; len < good.len; len++) {
        hits += hd_file_write(path, good.ptr, len) == HD_OK && holds(cache, 7, "some code", 9);
        left += access(path, F_OK) == 0;
    }
    eq_u64(hits, 0, "no truncated entry is used");
    eq_u64(left, 0, "and each is removed");
    for (size_t at = 0; at < good.len; at++) {
        good.ptr[at] ^= 0x10;
        struct obj_cache_entry entry;
        bool reserved = at >= 48 && at < 64;
        if (hd_file_write(path, good.ptr, good.len) == HD_OK &&
            obj_cache_get(cache, key_of(7), &entry)) {
            hits += !reserved;
            obj_cache_entry_release(&entry);
        }
        good.ptr[at] ^= 0x10;
    }
    eq_u64(hits, 0, "no entry with a flipped bit is used");
    ok(hd_file_write(path, good.ptr, good.len) == HD_OK && holds(cache, 7, "some code", 9),
       "the undamaged file is");
    char other[256];
    entry_file(cache, 8, other, sizeof(other));
    ok(rename(path, other) == 0 && !holds(cache, 8, "some code", 9),
       "an entry under another key's name is not used");
    ok(mkfifo(path, 0600) == 0 && !holds(cache, 7, "some code", 9),
       "a FIFO in its place is a miss");
    ok(obj_cache_put(cache, key_of(7), "some code", 9) == HD_OK && holds(cache, 7, "some code", 9),
       "and is replaced");
    (void)unlink(path);
    ok(symlink("/dev/zero", path) == 0 && !holds(cache, 7, "some code", 9),
       "a link to a device is a miss");
    (void)unlink(path);
    ok(mkdir(path, 0700) == 0 && !holds(cache, 7, "", 0), "a directory in its place is a miss");
    hd_buf_fini(&good);
    obj_cache_close(cache);
}

static void test_eviction(void)
{
    struct obj_cache *cache = open_cache("evict", 100000);
    static char code[10000];
    char path[256];
    for (uint64_t n = 0; n < 9; n++) {
        if (obj_cache_put(cache, key_of(n), code, sizeof(code)) != HD_OK)
            exit(1);
        entry_file(cache, n, path, sizeof(path));
        struct timespec times[2] = {{.tv_sec = 1000000 + (time_t)(n ^ 1)},
                                    {.tv_sec = 1000000 + (time_t)(n ^ 1)}};
        utimensat(AT_FDCWD, path, times, 0);
    }
    snprintf(path, sizeof(path), "%s/notes.txt", obj_cache_dir(cache));
    ok(hd_file_write(path, "mine", 4) == HD_OK, "a foreign file");
    ok(holds(cache, 1, code, sizeof(code)), "entry 1, the oldest, is used");
    ok(obj_cache_put(cache, key_of(9), code, sizeof(code)) == HD_OK, "one more passes the cap");
    struct obj_cache_stat stat;
    ok(obj_cache_stat(cache, &stat) == HD_OK && stat.size_B <= 75000 && stat.entries == 7,
       "evicted to 3/4 of the cap: %llu entries", (unsigned long long)stat.entries);
    ok(holds(cache, 1, code, sizeof(code)), "the one just used stays");
    ok(!holds(cache, 0, code, sizeof(code)) && !holds(cache, 3, code, sizeof(code)),
       "those used longest ago went");
    ok(holds(cache, 9, code, sizeof(code)), "the new one is there");
    eq_u64(stat.foreign, 1, "the foreign file is left alone");
    obj_cache_close(cache);
}

/* Entries of one more handle, which stands for a process: how many bytes there are then. */
static uint64_t size_after_write(uint64_t cap_B, uint64_t n)
{
    struct obj_cache *cache = open_cache("count", cap_B);
    static char code[10000];
    struct obj_cache_stat stat = {0};
    if (obj_cache_put(cache, key_of(n), code, sizeof(code)) != HD_OK ||
        obj_cache_stat(cache, &stat) != HD_OK)
        exit(1);
    obj_cache_close(cache);
    return stat.size_B;
}

static void test_counting(void)
{
    const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    uint64_t full_B = 0;
    char path[256];
    for (uint64_t n = 0; n < 20; n++)
        full_B = size_after_write(10000000, n);
    ok(full_B >= 200000, "twenty processes write %llu bytes", (unsigned long long)full_B);
    ok(size_after_write(170000, 20) > full_B, "somebody has just counted: nobody else does");
    snprintf(path, sizeof(path), "%s/count/.counted", root);
    eq_u64(utimensat(AT_FDCWD, path, old, 0), 0, "a minute later");
    ok(size_after_write(170000, 21) <= 127500, "the next one counts, and evicts");
    ok(size_after_write(20000, 22) <= 15000, "who writes much itself counts as well");
}

static void test_bad_places(void)
{
    struct obj_cache *cache = NULL;
    struct obj_cache_entry entry;
    char file[128], below[160];
    ok(obj_cache_open("off", 0, &cache) == HD_OK && !cache, "`off` gives no cache");
    ok(obj_cache_put(NULL, key_of(1), "x", 1) == HD_NOT_SUPPORTED &&
           !obj_cache_get(NULL, key_of(1), &entry) && !obj_cache_dir(NULL),
       "no cache works like an empty one");
    snprintf(file, sizeof(file), "%s/file", root);
    snprintf(below, sizeof(below), "%s/dir", file);
    ok(hd_file_write(file, "", 0) == HD_OK, "a file where a directory should be");
    ok(obj_cache_open(below, 0, &cache) == HD_OK, "opens");
    ok(obj_cache_put(cache, key_of(1), "x", 1) == HD_IO, "cannot be written");
    ok(obj_cache_put(cache, key_of(1), "x", 1) == HD_IO, "and is not tried again");
    ok(!obj_cache_get(cache, key_of(1), &entry), "and holds nothing");
    obj_cache_close(cache);
    if (access("/dev/full", W_OK) != 0) {
        skip("no /dev/full");
        return;
    }
    ok(obj_cache_open("/dev/full", 0, &cache) == HD_OK &&
           obj_cache_put(cache, key_of(1), "x", 1) == HD_IO,
       "a device as directory");
    obj_cache_close(cache);
}

/* A limit on file size stands for a full disk: both fail in the middle of write(). */
static void test_full_disk(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct obj_cache *cache = open_cache("full", 0);
        static char code[1 << 20];
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
        bool refused = obj_cache_put(cache, key_of(1), code, sizeof(code)) == HD_IO;
        struct obj_cache_stat stat;
        bool clean = obj_cache_stat(cache, &stat) == HD_OK && stat.entries == 0 && stat.size_B == 0;
        bool small = obj_cache_put(cache, key_of(2), code, 100) == HD_OK;
        _exit(refused && clean && small ? 0 : 1);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    ok(status == 0, "a write that fails half-way leaves nothing behind, the next one works");
}

static int hammer(uint64_t seed)
{
    struct obj_cache *cache = open_cache("race", 20000);
    char code[512];
    for (int i = 0; i < 300; i++) {
        uint64_t n = tap_random(&seed) % 64;
        struct obj_cache_entry entry;
        memset(code, (int)n, sizeof(code));
        if (obj_cache_get(cache, key_of(n), &entry)) {
            if (entry.size_B != sizeof(code) || memcmp(entry.bytes, code, sizeof(code)))
                return 1;
            obj_cache_entry_release(&entry);
        } else if (obj_cache_put(cache, key_of(n), code, sizeof(code)) != HD_OK) {
            return 2;
        }
    }
    return 0;
}

static void test_concurrent(void)
{
    fflush(stdout);
    int failed = 0;
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            _exit(hammer((uint64_t)i));
    for (int i = 0; i < 4; i++) {
        int status = 1;
        wait(&status);
        failed += status != 0;
    }
    eq_u64(failed, 0, "four processes that read, write and evict");
}

static void report_speed(void)
{
    struct obj_cache *cache = open_cache("speed", 0);
    static char code[100000];
    if (obj_cache_put(cache, key_of(1), code, sizeof(code)) != HD_OK)
        return;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < 200; i++)
        holds(cache, 1, code, 1);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double us = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 200e3;
    diag("lookup of 100 KB: %.1f us", us);
    obj_cache_close(cache);
}

int main(void)
{
    snprintf(root, sizeof(root), "/tmp/heddle-cache-XXXXXX");
    if (!mkdtemp(root))
        return 1;
    test_keys();
    test_hit_and_miss();
    test_damage();
    test_eviction();
    test_counting();
    test_bad_places();
    test_full_disk();
    test_concurrent();
    report_speed();
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    ok(system(command) == 0, "removed");
    return done();
}
