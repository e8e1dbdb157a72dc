/*
 * Texture and surface references: what the variables of type .texref and .surfref of a module name.
 * A program says how and what one reads, call by call; each time that makes a texture object
 * (texture_object.h), whose handle the variable gets. Work that was submitted before reads as
 * before: a change waits for it. A reference without a module has no variable.
 *
 * Owners: a module's references and samplers go with it; others by core_texref_destroy(). Threads:
 * any; calls on one reference take turns.
 */
#ifndef HD_CORE_TEXTURE_TEXREF_H
#define HD_CORE_TEXTURE_TEXREF_H

#include "base/lock.h"
#include "core/handle.h"
#include "core/texture/texture_object.h"

/* How it reads, and what: `array` and the like count when something is bound. */
struct core_texref_state {
    struct core_texture_desc desc;
    struct core_array *array; /* of desc.array, with the reference's own reference; or NULL */
    bool is_bound;
};

struct core_texref {
    struct core_object object;
    struct core_context *ctx;
    bool is_surface;
    bool has_module;
    struct hd_lock lock;
    uint64_t va; /* of the variable, while its module is loaded; under the lock */
    struct core_texref_state state;
    struct core_texture *texture; /* what the variable names; NULL: nothing */
    struct core_texref *next;     /* of the module */
};

enum hd_status core_texref_create(struct core_context *ctx, struct core_texref **out_ref)
    HD_MUST_CHECK;
/* False: it is a module's, or was destroyed. */
bool core_texref_destroy(struct core_texref *ref);
/* The same one each time. HD_NOT_FOUND: the module has no such variable of that type. */
enum hd_status core_module_texref(struct core_module *module, const char *name, bool is_surface,
                                  struct core_texref **out_ref) HD_MUST_CHECK;

/* What is said now. The array lives on as long as the caller changes nothing. */
struct core_texref_state core_texref_get(struct core_texref *ref);
/* All of it is said anew; nothing changes when it cannot be so. Errors: core_texture_create(). */
enum hd_status core_texref_set(struct core_texref *ref, const struct core_texref_state *state)
    HD_MUST_CHECK;

/* Of a module's life. */
enum hd_status core_module_samplers_create(struct core_module *module) HD_MUST_CHECK;
void core_module_references_destroy(struct core_module *module);

#endif
