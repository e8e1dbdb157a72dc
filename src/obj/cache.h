/*
 * On-disk cache of compiled code.
 *
 * One directory, one file per entry, named by the entry's 128-bit key. The key is the XXH3 hash of
 * everything that went into the code (PTX, options, machine, CPU features, versions): a key never
 * changes its meaning, so entries are written once and never updated. Nobody locks anything:
 *  - a writer fills a temporary file and renames it; readers see all of it or nothing;
 *  - a reader checks magic, version, key, size and checksum, so a torn, truncated or foreign file
 *    is a miss, and it is removed;
 *  - two processes that compile the same thing write the same entry twice; the last rename wins;
 *  - a directory that cannot be written, a full disk or no directory at all cost the cache, not the
 *    program: obj_cache_put() says so in its status, which callers may ignore.
 * Entries hold native code that gets executed: files of other users (root excepted) are not used,
 * and a directory that we create is mode 0700.
 *
 * Size: after a write that takes the directory above the cap, the entries that were used longest
 * ago go, down to 3/4 of the cap. Use is the file's modification time, renewed at most once an
 * hour.
 *
 * Threads: an opened cache may be used by any number of threads. A lookup is open, fstat, mmap and
 * one pass of XXH3: well below 50 us for an entry of 100 KB.
 *
 * Environment: HEDDLE_CACHE (directory, or `off`), HEDDLE_CACHE_SIZE (cap, e.g. 512M).
 *
 *     struct obj_cache_hash hash;
 *     obj_cache_hash_init(&hash);
 *     obj_cache_hash_str(&hash, ptx);
 *     obj_cache_hash_u64(&hash, cpu_features);
 *     struct obj_cache_key key = obj_cache_hash_final(&hash);
 *     struct obj_cache_entry entry;
 *     if (obj_cache_get(cache, key, &entry)) {
 *         link_code(entry.bytes, entry.size_B);
 *         obj_cache_entry_release(&entry);
 *     } else {
 *         ...compile...
 *         (void)!obj_cache_put(cache, key, code, code_B);
 *     }
 */
#ifndef HD_OBJ_CACHE_H
#define HD_OBJ_CACHE_H

#include "base/status.h"
#include "base/str.h"

#define OBJ_CACHE_CAP_DEFAULT_B ((uint64_t)1 << 30)

struct obj_cache;

struct obj_cache_key {
    uint64_t low;
    uint64_t high;
};

/* Streaming hash; each item is delimited, so ("ab","c") and ("a","bc") differ. */
struct obj_cache_hash {
    uint64_t HD_ALIGNED(64) state[80]; /* XXH3 state, private */
};

void obj_cache_hash_init(struct obj_cache_hash *hash);
void obj_cache_hash_bytes(struct obj_cache_hash *hash, const void *bytes, size_t len);
void obj_cache_hash_str(struct obj_cache_hash *hash,
                        const char *text); /* NULL is distinct from "" */
void obj_cache_hash_u64(struct obj_cache_hash *hash, uint64_t value);
struct obj_cache_key obj_cache_hash_final(const struct obj_cache_hash *hash);

/* A mapped entry; the bytes are read-only, 64-byte aligned, and stay valid until released, even
 * when the file is evicted meanwhile. */
struct obj_cache_entry {
    const void *bytes;
    size_t size_B;
    void *map;
    size_t map_B;
};

/*
 * Opens the cache in `dir`; NULL takes HEDDLE_CACHE, $XDG_CACHE_HOME/heddle or ~/.cache/heddle in
 * this order. cap_B 0 takes HEDDLE_CACHE_SIZE or the default. Creates nothing yet. *out_cache is
 * NULL with HD_OK when the cache is off or there is no place for it: every function below takes a
 * NULL cache, in which nothing is ever found. Only HD_NO_MEMORY fails.
 */
enum hd_status obj_cache_open(const char *dir, uint64_t cap_B, struct obj_cache **out_cache)
    HD_MUST_CHECK;
void obj_cache_close(struct obj_cache *cache);
/* The directory; NULL for a NULL cache. */
const char *obj_cache_dir(const struct obj_cache *cache);
uint64_t obj_cache_cap_B(const struct obj_cache *cache);

/* True on a hit. Never fails in any other way. */
bool obj_cache_get(struct obj_cache *cache, struct obj_cache_key key,
                   struct obj_cache_entry *out_entry);
void obj_cache_entry_release(struct obj_cache_entry *entry);

/*
 * Writes an entry. HD_IO when the directory cannot be made or written (and this process stops
 * trying) or the disk is full; HD_NOT_SUPPORTED when the cache is off. Safe to ignore. Errors are
 * logged under the debug flag `cache` only.
 */
enum hd_status obj_cache_put(struct obj_cache *cache, struct obj_cache_key key, const void *bytes,
                             size_t size_B) HD_MUST_CHECK;

struct obj_cache_stat {
    uint64_t entries;
    uint64_t size_B;
    uint64_t foreign; /* files in the directory that are not ours: never touched */
};

/* Counts the directory; all zero when it does not exist. HD_IO when it cannot be read. */
enum hd_status obj_cache_stat(const struct obj_cache *cache, struct obj_cache_stat *out_stat)
    HD_MUST_CHECK;
/* Removes every entry and leftover of ours; counts what went. Others may use the cache
 * meanwhile. */
enum hd_status obj_cache_clear(struct obj_cache *cache, struct obj_cache_stat *out_removed)
    HD_MUST_CHECK;
/* Evicts now; put does it by itself. Returns bytes freed. */
uint64_t obj_cache_trim(struct obj_cache *cache);

#endif
