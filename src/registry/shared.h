/*
 * Files in shared memory that the user's processes write and others look at: how one is made, found
 * and refused. registry.h says what such a file promises.
 *
 * Each begins with a head that says what it is; the rest of a new one is 0. Its name is the
 * registry's (HEDDLE_REGISTRY, or /dev/shm/heddle-UID.1) with a suffix.
 */
#ifndef HD_REGISTRY_SHARED_H
#define HD_REGISTRY_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct reg_shared_head {
    uint8_t magic[8];
    uint32_t version, count; /* of what it has */
    uint64_t size_B;
};

struct reg_shared {
    const char *suffix;
    struct reg_shared_head head;
};

/* False: it is switched off, or too long. */
bool reg_shared_path(const struct reg_shared *kind, char *path, size_t path_B);
/* Of a file's bytes, whether they are of that kind. HD_BAD_VERSION, HD_CORRUPT. */
enum hd_status reg_shared_check(const struct reg_shared *kind, const void *bytes, size_t size_B)
    HD_MUST_CHECK;
/*
 * The file, mapped to be read by the first call that finds it, and for good: *opened is NULL at
 * first. NULL: there is none, or it is not to be used.
 */
const void *reg_shared_opened(const struct reg_shared *kind, _Atomic(void *) *opened);
/* Maps it to be read and written; makes it if there is none. HD_IO, HD_CORRUPT, HD_BAD_VERSION. */
enum hd_status reg_shared_make(const struct reg_shared *kind, const char *path, void **out_file)
    HD_MUST_CHECK;

#endif
