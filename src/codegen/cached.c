/* Code of kernels in the code cache (obj/cache.h): an entry is an image of one kernel. */
#include <string.h>

#include "base/log.h"
#include "codegen/codegen.h"
#include "obj/fingerprint.h"

static struct obj_cache_key cached_key(const struct ir_func *kernel,
                                       const uint8_t program[ISA_KEY_BYTES],
                                       const struct codegen_options *options)
{
    uint8_t of_compiler[ISA_KEY_BYTES];
    struct obj_fingerprint print;
    struct obj_cache_key key;
    struct hd_buf tuning;

    obj_fingerprint_init(&print, "isa");
    codegen_image_key(program, of_compiler);
    memcpy(&print.program, of_compiler, sizeof(print.program));
    print.kernel = kernel->name;
    print.features = CODEGEN_DEVICE;
    print.registers = options->registers;
    print.profile = codegen_profile_hash(options->profile);
    hd_buf_init(&tuning);
    print.tuning = options->tuning ? tune_point_text(options->tuning, &tuning) : NULL;
    key = obj_fingerprint_key(&print);
    hd_buf_fini(&tuning);
    return key;
}

/* HD_NOT_FOUND, or why the entry is of no use. */
static enum hd_status cached_get(struct obj_cache *cache, struct obj_cache_key key,
                                 const struct ir_func *kernel, struct isa_code *out_code)
{
    const struct isa_kernel *made;
    struct obj_cache_entry entry;
    struct isa_image image;
    enum hd_status status;

    if (!obj_cache_get(cache, key, &entry))
        return HD_NOT_FOUND;
    status = isa_image_read(entry.bytes, entry.size_B, &image);
    obj_cache_entry_release(&entry);
    HD_TRY(status);
    made = isa_image_find(&image, hd_str_from(kernel->name));
    status = made ? codegen_image_take(made, kernel, out_code) : HD_NOT_FOUND;
    isa_image_fini(&image);
    return status;
}

static enum hd_status cached_put(struct obj_cache *cache, struct obj_cache_key key,
                                 const struct ir_func *kernel, const struct isa_code *code)
{
    struct isa_image image;
    struct hd_buf bytes;
    enum hd_status status;

    isa_image_init(&image);
    hd_buf_init(&bytes);
    status = codegen_image_add(&image, kernel, code);
    if (status == HD_OK)
        status = isa_image_write(&image, &bytes);
    if (status == HD_OK)
        status = obj_cache_put(cache, key, bytes.ptr, bytes.len);
    hd_buf_fini(&bytes);
    isa_image_fini(&image);
    return status;
}

enum hd_status codegen_kernel_cached(const struct ir_func *kernel,
                                     const uint8_t program[ISA_KEY_BYTES],
                                     const struct codegen_options *options,
                                     struct isa_code *out_code, bool *out_hit)
{
    struct obj_cache_key key = cached_key(kernel, program, options);
    struct obj_cache *cache;
    enum hd_status status;

    assert(!options->record); /* whose code does more than run */
    HD_TRY(obj_cache_open(NULL, 0, &cache));
    *out_hit = cached_get(cache, key, kernel, out_code) == HD_OK;
    status = *out_hit ? HD_OK : codegen_kernel(kernel, options, out_code);
    if (status == HD_OK && !*out_hit && cached_put(cache, key, kernel, out_code) != HD_OK)
        hd_log_debug(HD_DEBUG_CACHE, "not stored: %s", hd_error_message());
    obj_cache_close(cache);
    return status;
}
