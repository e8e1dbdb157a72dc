/*
 * Counts of blocks: those of a profile, for what compiles by them, and the marks of code that
 * records them (ir/profile.h).
 */
#include <pthread.h>
#include <string.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "codegen/mc.h"

enum hd_status codegen_profile_get(const struct ir_profile **out_profile)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    HD_FORK_MUTEX(codegen_profile, lock);
    static struct ir_profile profile;
    static bool is_read;
    const char *path = hd_env("HEDDLE_PROFILE_USE");
    enum hd_status status = HD_OK;

    *out_profile = NULL;
    if (!path)
        return HD_OK;
    pthread_mutex_lock(&lock);
    if (!is_read)
        status = ir_profile_read(path, &profile);
    if (status == HD_NOT_FOUND)
        status = hd_error(HD_BAD_ARG, "HEDDLE_PROFILE_USE=%s: there is no such file", path);
    is_read = status == HD_OK;
    pthread_mutex_unlock(&lock);
    if (status == HD_OK)
        *out_profile = &profile;
    return status;
}

uint32_t codegen_profile_hash(const struct ir_profile *profile)
{
    return profile ? HD_MAX((uint32_t)profile->hash, 1u) : 0;
}

void codegen_record_fini(struct codegen_record *record)
{
    ir_profile_fini(&record->funcs);
    hd_vec_fini(&record->marks);
}

enum hd_status profile_begin(struct codegen_unit *unit, const struct ir_func *func)
{
    const struct ir_profile *profile = unit->options->profile;
    struct codegen_record *record = unit->options->record;
    uint64_t hash;

    unit->profile = NULL;
    unit->recorded = 0;
    if ((!profile && !record) || codegen_is_routine(func))
        return HD_OK;
    if (!ir_profile_hash(func, &hash))
        return hd_error(HD_NO_MEMORY, "function %s: no memory for its profile", func->name);
    if (record) {
        const struct ir_profile_func *added =
            ir_profile_add(&record->funcs, hd_str_from(func->name), hash, func->nblocks);

        if (!added)
            return hd_error(HD_NO_MEMORY, "function %s: no memory for its profile", func->name);
        unit->recorded = (uint32_t)(added - record->funcs.funcs.at) + 1;
    }
    if (profile)
        unit->profile = ir_profile_find(profile, func->name, hash);
    if (unit->profile && unit->profile->blocks.len != func->nblocks)
        return hd_error(HD_BAD_ARG, "function %s has %u blocks, and %zu in the profile", func->name,
                        func->nblocks, unit->profile->blocks.len);
    if (profile && !unit->profile && ir_profile_names(profile, func->name))
        hd_log("function %s: the profile is of other code of that name and is not used; record it "
               "again with HEDDLE_PROFILE",
               func->name);
    return HD_OK;
}
