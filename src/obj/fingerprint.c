#include "obj/fingerprint.h"

#include <assert.h>
#include <obj/heddle_sources.h>

#include "base/log.h"

void obj_fingerprint_init(struct obj_fingerprint *print, const char *stage)
{
    *print = (struct obj_fingerprint){
        .stage = stage,
        .sources = HEDDLE_SOURCES_HASH,
        .skip_passes = hd_env("HEDDLE_SKIP_PASS"),
        .codegen = hd_env("HEDDLE_CODEGEN"),
    };
}

static void add_STR(struct obj_cache_hash *hash, const char *text)
{
    obj_cache_hash_str(hash, text);
}

static void add_U64(struct obj_cache_hash *hash, uint64_t value)
{
    obj_cache_hash_u64(hash, value);
}

static void add_KEY(struct obj_cache_hash *hash, struct obj_cache_key key)
{
    obj_cache_hash_u64(hash, key.low);
    obj_cache_hash_u64(hash, key.high);
}

struct obj_cache_key obj_fingerprint_key(const struct obj_fingerprint *print)
{
    struct obj_cache_hash hash;

    assert(print->stage && print->sources); /* obj_fingerprint_init() was called */
    obj_cache_hash_init(&hash);
#define X(kind, name, doc) add_##kind(&hash, print->name);
    OBJ_FINGERPRINT_LIST(X)
#undef X
    return obj_cache_hash_final(&hash);
}
