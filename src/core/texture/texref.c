/* See texref.h. */
#include "core/texture/texref.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "core/context.h"
#include "core/module/image.h"
#include "core/module/module.h"
#include "model/texture.h"

enum { FORMAT_FLOAT = 0x20, LEVELS_ALL = 99 }; /* CU_AD_FORMAT_FLOAT */

/* ---- life */

static void defaults_set(struct core_texref_state *state, const struct ir_reference_init *init)
{
    struct core_texture_desc *d = &state->desc;

    *d = (struct core_texture_desc){.format = FORMAT_FLOAT, .channels = 1, .max_level = LEVELS_ALL};
    for (unsigned i = 0; i < 3; i++)
        d->address[i] = IR_ADDRESS_CLAMP;
    if (!init)
        return;
    for (unsigned i = 0; i < 3; i++)
        d->address[i] = init->given >> i & 1 ? init->address[i] : IR_ADDRESS_CLAMP;
    d->filter = init->linear;
    d->flags = init->normalized ? CORE_TEXTURE_NORMALIZED : 0;
}

/* Not published yet: the caller says first what it is. */
static struct core_texref *texref_new(struct core_context *ctx,
                                      const struct ir_reference_init *init)
{
    struct core_texref *ref = core_handle_alloc(CORE_TEXREF);

    if (!ref)
        return NULL;
    ref->ctx = core_context_ref(ctx);
    hd_lock_init(&ref->lock, HD_RANK_EXEC, "texture reference");
    defaults_set(&ref->state, init);
    return ref;
}

enum hd_status core_texref_create(struct core_context *ctx, struct core_texref **out_ref)
{
    struct core_texref *ref = texref_new(ctx, NULL);

    if (!ref)
        return hd_error(HD_NO_MEMORY, "texture reference");
    *out_ref = core_texref_ref(ref);
    core_object_publish(&ref->object);
    return HD_OK;
}

/* A kernel that runs may still read by it. */
static void texture_drop(struct core_texture *texture)
{
    if (!texture)
        return;
    (void)!core_context_synchronize(texture->ctx);
    core_texture_destroy(texture);
    core_texture_unref(texture);
}

void core_texref_finalise(struct core_texref *ref)
{
    struct core_context *ctx = ref->ctx;

    texture_drop(ref->texture);
    core_array_unref(ref->state.array);
    hd_lock_fini(&ref->lock);
    core_handle_free(ref);
    core_context_unref(ctx);
}

bool core_texref_destroy(struct core_texref *ref)
{
    if (ref->has_module || !core_object_retire(&ref->object))
        return false;
    core_texref_unref(ref);
    return true;
}

/* ---- what is said */

struct core_texref_state core_texref_get(struct core_texref *ref)
{
    struct core_texref_state state;

    hd_lock_acquire(&ref->lock);
    state = ref->state;
    hd_lock_release(&ref->lock);
    return state;
}

static enum hd_status object_make(struct core_texref *ref, const struct core_texref_state *state,
                                  struct core_texture **out_texture)
{
    *out_texture = NULL;
    if (!state->is_bound)
        return HD_OK;
    if (ref->is_surface)
        return core_surface_create(ref->ctx, state->array, "", 0, out_texture);
    return core_texture_create(ref->ctx, &state->desc, "", 0, out_texture);
}

enum hd_status core_texref_set(struct core_texref *ref, const struct core_texref_state *state)
{
    struct core_array *array = state->array ? core_array_ref(state->array) : NULL, *old_array;
    struct core_texture *texture, *old;
    enum hd_status status;

    hd_lock_acquire(&ref->lock);
    status = object_make(ref, state, &texture);
    old = status == HD_OK ? ref->texture : NULL;
    old_array = status == HD_OK ? ref->state.array : array;
    if (status == HD_OK) {
        /* What was submitted before reads what it read. */
        if (ref->va) {
            uint64_t handle = texture ? (uintptr_t)core_texture_handle(texture) : 0;
            (void)!core_context_synchronize(ref->ctx);
            memcpy((void *)(uintptr_t)ref->va, &handle, sizeof(handle));
        }
        ref->state = *state;
        ref->texture = texture;
    }
    hd_lock_release(&ref->lock);
    texture_drop(old);
    core_array_unref(old_array);
    return status;
}

/* ---- of modules */

static struct core_texref *make_locked(struct core_module *module, const struct ir_var *var)
{
    struct core_texref *ref =
        texref_new(module->ctx, (const struct ir_reference_init *)(const void *)var->init);

    if (!ref)
        return NULL;
    ref->has_module = true;
    ref->is_surface = var->reference == IR_REF_SURFACE;
    ref->va = module->var_va[var->index];
    ref->next = module->texrefs;
    module->texrefs = ref;
    core_object_publish(&ref->object);
    return ref;
}

enum hd_status core_module_texref(struct core_module *module, const char *name, bool is_surface,
                                  struct core_texref **out_ref)
{
    const struct ir_var *var = ir_module_find_var(core_image_decls(module->image), name);
    struct core_texref *ref = NULL;
    bool closing;

    if (!var || var->reference != (is_surface ? IR_REF_SURFACE : IR_REF_TEXTURE))
        return hd_error(HD_NOT_FOUND, "there is no %s reference %s in the module",
                        is_surface ? "surface" : "texture", name);
    hd_lock_acquire(&module->lock);
    closing = module->closing;
    if (!closing) {
        const uint64_t va = module->var_va[var->index];
        ref = module->texrefs;
        while (ref && ref->va != va)
            ref = ref->next;
    }
    if (!closing && !ref)
        ref = make_locked(module, var);
    if (ref)
        *out_ref = core_texref_ref(ref);
    hd_lock_release(&module->lock);
    if (ref)
        return HD_OK;
    return closing ? hd_error(HD_BAD_ARG, "the module was unloaded")
                   : hd_error(HD_NO_MEMORY, "texture reference");
}

/* What a .samplerref says for itself: nothing else does. */
static enum hd_status sampler_create(struct core_module *module, const struct ir_var *var)
{
    void *at = (void *)(uintptr_t)module->var_va[var->index];
    struct core_texref_state state;
    struct core_texture *sampler;
    uint64_t handle;

    defaults_set(&state, (const struct ir_reference_init *)(const void *)var->init);
    if (var->init)
        state.desc.unnormalized =
            ((const struct ir_reference_init *)(const void *)var->init)->unnormalized;
    HD_TRY(core_sampler_create(module->ctx, &state.desc, (uintptr_t)at, &sampler));
    if (!hd_vec_push(&module->samplers, sampler)) {
        texture_drop(sampler);
        return hd_error(HD_NO_MEMORY, "sampler");
    }
    handle = (uintptr_t)core_texture_handle(sampler);
    memcpy(at, &handle, sizeof(handle));
    return HD_OK;
}

enum hd_status core_module_samplers_create(struct core_module *module)
{
    for (const struct ir_var *v = core_image_decls(module->image)->vars; v; v = v->next)
        if (v->reference == IR_REF_SAMPLER && module->var_va[v->index])
            HD_TRY(sampler_create(module, v));
    return HD_OK;
}

void core_module_references_destroy(struct core_module *module)
{
    struct core_texref *ref;

    while ((ref = module->texrefs)) {
        module->texrefs = ref->next;
        core_object_retire(&ref->object);
        /* A call that has the reference may go on: it finds no variable. */
        hd_lock_acquire(&ref->lock);
        ref->va = 0;
        hd_lock_release(&ref->lock);
        core_texref_unref(ref);
    }
    for (size_t i = 0; i < module->samplers.len; i++)
        texture_drop(module->samplers.at[i]);
    hd_vec_fini(&module->samplers);
}
