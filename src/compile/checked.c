/* See checked.h. */
#include "compile/checked.h"

#include "base/vec.h"
#include "obj/fingerprint.h"

_Static_assert(sizeof(struct ptx_extent) == 20, "file format");

typedef HD_VEC(struct ptx_extent) extent_list;

struct obj_cache_key compile_text_key(const struct compile_unit *unit)
{
    struct obj_cache_hash hash;

    obj_cache_hash_init(&hash);
    obj_cache_hash_bytes(&hash, unit->ptx, unit->len);
    return obj_cache_hash_final(&hash);
}

static struct obj_cache_key checked_key(struct obj_cache_key text)
{
    struct obj_fingerprint print;

    obj_fingerprint_init(&print, "checked");
    print.program = text;
    return obj_fingerprint_key(&print);
}

/* As a driver does, which knows no instruction of a later architecture. */
static enum hd_status check_arch(const struct ptx_module *module, unsigned max_arch)
{
    if (!max_arch || module->arch <= max_arch)
        return HD_OK;
    return hd_error(HD_NO_IMAGE, "%.*s: .target sm_%u is newer than this device, which is sm_%u",
                    HD_STR_ARG(module->name), module->arch, max_arch);
}

enum hd_status compile_parse_whole(const struct compile_unit *unit, unsigned max_arch,
                                   struct hd_arena *arena, struct ptx_module **out_module)
{
    HD_TRY(ptx_parse(arena, unit->ptx, unit->len, unit->name, out_module));
    HD_TRY(check_arch(*out_module, max_arch));
    return ptx_check(*out_module);
}

/* ---- a text that nobody knows */

static enum hd_status extents_collect(const struct ptx_module *module, extent_list *list)
{
    for (const struct ptx_func *f = module->funcs; f; f = f->next_func)
        if (f->has_body && !hd_vec_push(list, f->extent))
            return hd_error(HD_NO_MEMORY, "functions of %.*s", HD_STR_ARG(module->name));
    return HD_OK;
}

static enum hd_status check_slowly(const struct compile_unit *unit, unsigned max_arch,
                                   extent_list *list)
{
    struct ptx_module *module;
    struct hd_arena arena;
    enum hd_status status;

    hd_arena_init(&arena);
    status = compile_parse_whole(unit, max_arch, &arena, &module);
    if (status == HD_OK)
        status = extents_collect(module, list);
    hd_arena_fini(&arena);
    return status;
}

static bool extent_found(void *user, const struct ptx_extent *extent)
{
    extent_list *list = user;

    return hd_vec_push(list, *extent);
}

/* The order of errors is that of the whole parse, which is asked when there are any. */
static enum hd_status check_whole(const struct compile_unit *unit, unsigned max_arch,
                                  extent_list *list)
{
    enum hd_status status = ptx_verify(unit->ptx, unit->len, unit->name, extent_found, list);

    if (status == HD_OK || status == HD_NO_MEMORY)
        return status;
    list->len = 0;
    return check_slowly(unit, max_arch, list);
}

/* ---- opening */

static enum hd_status read_for_linker(const struct ptx_module *module)
{
    for (const struct ptx_func *f = module->funcs; f; f = f->next_func)
        if (f->extent.outlives)
            HD_TRY(ptx_func_read(f));
    return HD_OK;
}

static enum hd_status open_known(const struct compile_unit *unit, unsigned max_arch,
                                 const struct ptx_extent *extents, size_t count,
                                 struct ptx_module **out_module)
{
    struct ptx_module *module;
    enum hd_status status;

    HD_TRY(ptx_open(unit->ptx, unit->len, unit->name, extents, count, &module));
    status = check_arch(module, max_arch);
    if (status == HD_OK)
        status = read_for_linker(module);
    if (status != HD_OK) {
        ptx_close(module);
        return status;
    }
    *out_module = module;
    return HD_OK;
}

/* The entry holds the extents of all bodies, and nothing else. */
static enum hd_status open_from_cache(struct obj_cache *cache, struct obj_cache_key key,
                                      const struct compile_unit *unit, unsigned max_arch,
                                      struct ptx_module **out_module)
{
    struct obj_cache_entry entry;
    enum hd_status status = HD_NOT_FOUND;

    if (!obj_cache_get(cache, key, &entry))
        return HD_NOT_FOUND;
    if (entry.size_B % sizeof(struct ptx_extent) == 0)
        status = open_known(unit, max_arch, entry.bytes, entry.size_B / sizeof(struct ptx_extent),
                            out_module);
    obj_cache_entry_release(&entry);
    return status;
}

static enum hd_status open_unknown(struct obj_cache *cache, struct obj_cache_key key,
                                   const struct compile_unit *unit, unsigned max_arch,
                                   struct ptx_module **out_module)
{
    extent_list list = {0};
    enum hd_status status = check_whole(unit, max_arch, &list);

    if (status == HD_OK)
        status = open_known(unit, max_arch, list.at, list.len, out_module);
    if (status == HD_OK)
        (void)!obj_cache_put(cache, key, list.at, list.len * sizeof(*list.at));
    hd_vec_fini(&list);
    return status;
}

enum hd_status compile_checked_open(const struct compile_unit *unit, struct obj_cache_key text,
                                    unsigned max_arch, struct ptx_module **out_module)
{
    struct obj_cache_key key = checked_key(text);
    struct obj_cache *cache;
    enum hd_status status;

    HD_TRY(obj_cache_open(NULL, 0, &cache));
    status = open_from_cache(cache, key, unit, max_arch, out_module);
    if (status != HD_OK && status != HD_NO_IMAGE && status != HD_NO_MEMORY)
        status = open_unknown(cache, key, unit, max_arch, out_module);
    obj_cache_close(cache);
    return status;
}
