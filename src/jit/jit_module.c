/*
 * Kernels of a module and their compiled variants, one per launch class.
 */
#include "jit/jit_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include <jit_sources.h>
#include "obj/cache.h"

#define JIT_CACHE_VERSION 94
/* A cache entry: this, then the object. */
struct entry_head {
    struct gen_facts facts;
    uint64_t object_B;
};

struct variant {
    const struct ir_func *kernel;
    enum ir_launch_class cls;
    struct jit_code code;
    struct jit_image image;
    struct variant *next;
};

struct jit_module {
    const struct ir_module *module;
    struct obj_cache *cache;
    struct obj_cache_key key; /* of the module's content */
    bool cacheable;
    enum jit_path path;
    struct hd_lock lock;
    struct variant *variants;
};

enum hd_status jit_module_create(const struct ir_module *module, const uint8_t key[16],
                                 struct jit_module **out_jit)
{
    struct jit_module *jit = hd_new(struct jit_module);
    *out_jit = NULL;
    if (!jit)
        return hd_error(HD_NO_MEMORY, "module %s", module->name);
    enum hd_status status = jit_path_get(&jit->path);
    if (status != HD_OK) {
        hd_free(jit);
        return status;
    }
    jit->module = module;
    jit->cacheable = key != NULL;
    if (key) {
        memcpy(&jit->key.low, key, 8);
        memcpy(&jit->key.high, key + 8, 8);
        if (obj_cache_open(NULL, 0, &jit->cache) != HD_OK)
            jit->cache = NULL; /* works without */
    }
    hd_lock_init(&jit->lock, HD_RANK_COMPILE, "jit module");
    *out_jit = jit;
    return HD_OK;
}

void jit_module_destroy(struct jit_module *jit)
{
    if (!jit)
        return;
    while (jit->variants) {
        struct variant *v = jit->variants;
        jit->variants = v->next;
        jit_image_fini(&v->image);
        hd_free(v);
    }
    obj_cache_close(jit->cache);
    hd_lock_fini(&jit->lock);
    hd_free(jit);
}

static struct obj_cache_key variant_key(const struct jit_module *jit, const struct variant *v)
{
    struct obj_cache_hash h;
    obj_cache_hash_init(&h);
    obj_cache_hash_u64(&h, jit->key.low);
    obj_cache_hash_u64(&h, jit->key.high);
    obj_cache_hash_u64(&h, JIT_SOURCES_HASH); /* other sources may generate other code */
    obj_cache_hash_u64(&h, v->cls);
    obj_cache_hash_u64(&h, jit->path);
    obj_cache_hash_str(&h, jit_features(jit->path));
    obj_cache_hash_str(&h, v->kernel->name);
    return obj_cache_hash_final(&h);
}

static enum hd_status variant_link(struct variant *v, const struct gen_facts *facts,
                                   const uint8_t *object, size_t object_B)
{
    HD_TRY(jit_link(object, object_B, &v->image));
    const char *name = facts->has_run_cta ? "heddle_run_cta" : "heddle_kernel";
    void *entry = jit_image_symbol(object, object_B, &v->image, name);
    if (!entry)
        return hd_error(HD_JIT, "kernel object of %s: no entry point", v->kernel->name);
    if (facts->has_run_cta)
        memcpy(&v->code.run_cta, &entry, sizeof(entry));
    else
        memcpy(&v->code.run, &entry, sizeof(entry));
    v->code.frame_B = facts->frame_B;
    v->code.mxcsr = facts->mxcsr;
    v->code.has_barrier = facts->has_barrier && (!facts->has_run_cta || facts->has_votes);
    v->code.simple_barriers = facts->simple_barriers;
    v->code.may_spin = facts->may_spin;
    v->code.waits_in_calls = facts->waits_in_calls;
    v->code.uses_printf = facts->uses_printf;
    v->code.cost_ops = facts->cost_ops;
    return HD_OK;
}

static bool variant_from_cache(struct jit_module *jit, struct variant *v)
{
    struct obj_cache_entry entry;
    struct entry_head head;
    if (!jit->cacheable || !obj_cache_get(jit->cache, variant_key(jit, v), &entry))
        return false;
    bool ok = entry.size_B >= sizeof(head);
    if (ok) {
        memcpy(&head, entry.bytes, sizeof(head));
        ok = head.object_B == entry.size_B - sizeof(head) &&
             variant_link(v, &head.facts, (const uint8_t *)entry.bytes + sizeof(head),
                          head.object_B) == HD_OK;
    }
    obj_cache_entry_release(&entry);
    return ok;
}

static void variant_to_cache(struct jit_module *jit, const struct variant *v,
                             const struct gen_result *result)
{
    struct entry_head head = {.object_B = result->object_B};
    size_t size_B = sizeof(head) + result->object_B;
    uint8_t *bytes = jit->cache ? hd_alloc(size_B) : NULL;
    if (!bytes)
        return;
    memcpy(&head.facts, &result->facts, sizeof(head.facts));
    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), result->object, result->object_B);
    if (obj_cache_put(jit->cache, variant_key(jit, v), bytes, size_B) != HD_OK)
        hd_log_debug(HD_DEBUG_CACHE, "not stored: %s", hd_error_message());
    hd_free(bytes);
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void shape_dump(const struct variant *v)
{
    struct hd_arena arena;
    struct ir_shapes shapes;
    struct hd_buf text;
    if (!hd_debug(HD_DEBUG_SHAPE))
        return;
    hd_arena_init(&arena);
    hd_buf_init(&text);
    if (ir_shapes_compute(v->kernel, v->cls, &arena, &shapes) == HD_OK) {
        ir_shapes_print(v->kernel, &shapes, &text);
        hd_log_dump(HD_DEBUG_SHAPE, v->kernel->name, text.ptr ? text.ptr : "");
    }
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
}

static enum hd_status variant_compile(struct jit_module *jit, struct variant *v)
{
    const struct gen_request req = {
        .kernel = v->kernel,
        .cls = v->cls,
        .path = jit->path,
        .features = jit_features(jit->path),
        .verify = hd_debug(HD_DEBUG_VALIDATE),
    };
    struct gen_result result = {0};
    uint64_t start = now_us();
    shape_dump(v);
    enum hd_status status = jit_codegen(&req, &result);
    if (result.llvm_text)
        hd_log_dump(HD_DEBUG_LLVM, v->kernel->name, result.llvm_text);
    if (result.asm_text)
        hd_log_dump(HD_DEBUG_ASM, v->kernel->name, result.asm_text);
    if (status == HD_OK)
        status = variant_link(v, &result.facts, result.object, result.object_B);
    hd_log_debug(HD_DEBUG_JIT, "%s %s for %s (%s): %llu us, %zu bytes, frame %llu",
                 status == HD_OK ? "compiled" : "could not compile", v->kernel->name,
                 ir_launch_class_name(v->cls), jit_path_name(jit->path),
                 (unsigned long long)(now_us() - start), result.object_B,
                 (unsigned long long)result.facts.frame_B);
    if (status == HD_OK && jit->cacheable)
        variant_to_cache(jit, v, &result);
    free(result.object);
    free(result.llvm_text);
    free(result.asm_text);
    return status;
}

static enum hd_status variant_make(struct jit_module *jit, const struct ir_func *kernel,
                                   enum ir_launch_class cls, struct variant **out)
{
    struct variant *v = hd_new(struct variant);
    if (!v)
        return hd_error(HD_NO_MEMORY, "kernel %s", kernel->name);
    v->kernel = kernel;
    v->cls = cls;
    if (variant_from_cache(jit, v)) {
        hd_log_debug(HD_DEBUG_JIT, "loaded %s for %s from the cache", kernel->name,
                     ir_launch_class_name(cls));
    } else {
        enum hd_status status = variant_compile(jit, v);
        if (status != HD_OK) {
            jit_image_fini(&v->image);
            hd_free(v);
            return status;
        }
    }
    v->next = jit->variants;
    jit->variants = v;
    *out = v;
    return HD_OK;
}

enum hd_status jit_kernel_get(struct jit_module *jit, const struct ir_func *kernel,
                              enum ir_launch_class cls, const struct jit_code **out_code)
{
    enum hd_status status = HD_OK;
    hd_lock_acquire(&jit->lock);
    struct variant *v = jit->variants;
    while (v && (v->kernel != kernel || v->cls != cls))
        v = v->next;
    if (!v)
        status = variant_make(jit, kernel, cls, &v);
    hd_lock_release(&jit->lock);
    *out_code = status == HD_OK ? &v->code : NULL;
    return status;
}
