/* What cache.c and cache_dir.c share: the file format and the handle. Private to obj. */
#ifndef HD_OBJ_CACHE_PRIVATE_H
#define HD_OBJ_CACHE_PRIVATE_H

#include <stdatomic.h>

#include "obj/cache.h"

#define OBJ_CACHE_MAGIC     "HEDDLEC"
#define OBJ_CACHE_VERSION   1u
#define OBJ_CACHE_SUFFIX    ".code"
#define OBJ_CACHE_TEMPORARY "tmp-"
#define OBJ_CACHE_PATH_MAX  4096

struct obj_cache_header {
    char magic[8];
    uint32_t version;
    uint32_t header_B;
    struct obj_cache_key key;
    uint64_t payload_B;
    uint64_t checksum; /* XXH3 of the payload */
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct obj_cache_header) == 64, "file format");

struct obj_cache {
    char *dir;
    uint64_t cap_B;
    atomic_bool read_only;         /* a lasting error: stop trying to write */
    atomic_uint_least64_t grown_B; /* written by this process since it last looked at the whole */
    atomic_bool counted;           /* it has looked at least once */
};

/* After a write of size_B: looks at the whole directory when it may have passed the cap. */
void obj_cache_account_(struct obj_cache *cache, uint64_t size_B);

#endif
