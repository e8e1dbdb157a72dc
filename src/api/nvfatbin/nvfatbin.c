/*
 * libnvfatbin: inputs are checked as far as the manual's results need, and kept; the container is
 * written when its size is asked for (obj/fatbin.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cuda_version.h"
#include "linker/linker.h"
#include "nvFatbin.h"
#include "obj/fatbin.h"

#define EXPORT __attribute__((visibility("default")))

/* The strings and the payload of each entry are owned. */
struct _nvFatbinHandle {
    HD_VEC(struct obj_fatbin_source) entries;
    enum obj_codec codec;
    uint64_t flags;
    struct hd_buf image;
    bool is_written; /* the image is of these entries */
};

EXPORT const char *nvFatbinGetErrorString(nvFatbinResult result)
{
    static const char *const texts[] = {
        [NVFATBIN_SUCCESS] = NULL,
        [NVFATBIN_ERROR_INTERNAL] = "internal error",
        [NVFATBIN_ERROR_ELF_ARCH_MISMATCH] = "the cubin is for another architecture",
        [NVFATBIN_ERROR_ELF_SIZE_MISMATCH] = "the cubin has another word size",
        [NVFATBIN_ERROR_MISSING_PTX_VERSION] = "the PTX has no .version",
        [NVFATBIN_ERROR_NULL_POINTER] = "null pointer",
        [NVFATBIN_ERROR_COMPRESSION_FAILED] = "compression failed",
        [NVFATBIN_ERROR_COMPRESSED_SIZE_EXCEEDED] = "the compressed data are too large",
        [NVFATBIN_ERROR_UNRECOGNIZED_OPTION] = "unrecognized option",
        [NVFATBIN_ERROR_INVALID_ARCH] = "invalid architecture",
        [NVFATBIN_ERROR_INVALID_NVVM] = "this is no LTO-IR",
        [NVFATBIN_ERROR_EMPTY_INPUT] = "the input is empty",
        [NVFATBIN_ERROR_MISSING_PTX_ARCH] = "the PTX has no .target",
        [NVFATBIN_ERROR_PTX_ARCH_MISMATCH] = "the PTX is for another architecture",
        [NVFATBIN_ERROR_MISSING_FATBIN] = "the object has no relocatable PTX",
        [NVFATBIN_ERROR_INVALID_INDEX] = "invalid index",
        [NVFATBIN_ERROR_IDENTIFIER_REUSE] = "the identifier is there for this architecture",
        [NVFATBIN_ERROR_INTERNAL_PTX_OPTION] = "internal error about options of PTX",
    };

    return (unsigned)result < HD_COUNT_OF(texts) ? texts[result] : "unknown result";
}

EXPORT nvFatbinResult nvFatbinVersion(unsigned int *major, unsigned int *minor)
{
    if (!major || !minor)
        return NVFATBIN_ERROR_NULL_POINTER;
    *major = __CUDA_API_VER_MAJOR__;
    *minor = __CUDA_API_VER_MINOR__;
    return NVFATBIN_SUCCESS;
}

/* ---- options */

/* What is not here has no meaning for entries of 64 bits for Linux, and is refused. */
static const struct option {
    const char *word;
    uint64_t flag;
    bool sets_codec;
    enum obj_codec codec;
} options_known[] = {
    {"-64", 0, false, OBJ_CODEC_RAW},
    {"-c", 0, false, OBJ_CODEC_RAW},
    {"-concat", 0, false, OBJ_CODEC_RAW},
    {"-cuda", 0, false, OBJ_CODEC_RAW},
    {"-host=linux", 0, false, OBJ_CODEC_RAW},
    {"-g", OBJ_FLAG_DEBUG, false, OBJ_CODEC_RAW},
    {"-compress-all", 0, false, OBJ_CODEC_RAW},
    {"-compress=true", 0, false, OBJ_CODEC_RAW},
    {"-compress=false", 0, true, OBJ_CODEC_RAW},
    {"-compress-mode=default", 0, true, OBJ_CODEC_ZSTD},
    {"-compress-mode=balance", 0, true, OBJ_CODEC_ZSTD},
    {"-compress-mode=size", 0, true, OBJ_CODEC_ZSTD},
    {"-compress-mode=speed", 0, true, OBJ_CODEC_LZ4},
    {"-compress-mode=none", 0, true, OBJ_CODEC_RAW},
};

static nvFatbinResult nvfatbin_option_read(nvFatbinHandle h, const char *word)
{
    if (!word)
        return NVFATBIN_ERROR_NULL_POINTER;
    for (size_t i = 0; i < HD_COUNT_OF(options_known); i++) {
        const struct option *o = &options_known[i];
        if (strcmp(word, o->word) != 0)
            continue;
        h->flags |= o->flag;
        if (o->sets_codec)
            h->codec = o->codec;
        return NVFATBIN_SUCCESS;
    }
    return NVFATBIN_ERROR_UNRECOGNIZED_OPTION;
}

/* ---- life */

EXPORT nvFatbinResult nvFatbinDestroy(nvFatbinHandle *handle_indirect)
{
    if (!handle_indirect || !*handle_indirect)
        return NVFATBIN_ERROR_NULL_POINTER;
    nvFatbinHandle h = *handle_indirect;
    for (size_t i = 0; i < h->entries.len; i++) {
        hd_free((void *)(uintptr_t)h->entries.at[i].payload);
        hd_free((void *)(uintptr_t)h->entries.at[i].source_name);
        hd_free((void *)(uintptr_t)h->entries.at[i].options);
    }
    hd_vec_fini(&h->entries);
    hd_buf_fini(&h->image);
    hd_free(h);
    *handle_indirect = NULL;
    return NVFATBIN_SUCCESS;
}

EXPORT nvFatbinResult nvFatbinCreate(nvFatbinHandle *handle_indirect, const char **options,
                                     size_t optionsCount)
{
    nvFatbinResult result = NVFATBIN_SUCCESS;

    if (!handle_indirect || (optionsCount && !options))
        return NVFATBIN_ERROR_NULL_POINTER;
    *handle_indirect = hd_new(struct _nvFatbinHandle);
    if (!*handle_indirect)
        return NVFATBIN_ERROR_INTERNAL;
    (*handle_indirect)->codec = OBJ_CODEC_ZSTD;
    hd_buf_init(&(*handle_indirect)->image);
    for (size_t i = 0; i < optionsCount && result == NVFATBIN_SUCCESS; i++)
        result = nvfatbin_option_read(*handle_indirect, options[i]);
    if (result != NVFATBIN_SUCCESS)
        (void)nvFatbinDestroy(handle_indirect);
    return result;
}

/* ---- entries */

static char *nvfatbin_copy(const void *bytes, size_t size)
{
    char *to = hd_alloc(size + 1);

    if (to) {
        memcpy(to, bytes, size);
        to[size] = '\0';
    }
    return to;
}

/* Adds a copy of what `from` names. */
static nvFatbinResult nvfatbin_entry_add(nvFatbinHandle h, struct obj_fatbin_source from)
{
    char *payload = nvfatbin_copy(from.payload, from.size_B);
    char *source = nvfatbin_copy(from.source_name ? from.source_name : "",
                                 from.source_name ? strlen(from.source_name) : 0);
    char *options =
        nvfatbin_copy(from.options ? from.options : "", from.options ? strlen(from.options) : 0);

    from.payload = payload;
    from.source_name = source;
    from.options = options;
    if (payload && source && options && hd_vec_push(&h->entries, from)) {
        h->is_written = false;
        return NVFATBIN_SUCCESS;
    }
    hd_free(payload);
    hd_free(source);
    hd_free(options);
    return NVFATBIN_ERROR_INTERNAL;
}

static bool nvfatbin_arch_read(const char *text, struct obj_fatbin_source *out)
{
    char *end;
    unsigned long arch = strtoul(text, &end, 10);

    if (*text < '1' || *text > '9' || arch < 10 || arch > 999)
        return false;
    out->arch = (unsigned)arch;
    out->variant = *end;
    return !*end || ((*end == 'a' || *end == 'f') && !end[1]);
}

static nvFatbinResult nvfatbin_input_check(nvFatbinHandle h, const void *code, size_t size,
                                           const char *arch, struct obj_fatbin_source *out)
{
    if (!h || !code || !arch)
        return NVFATBIN_ERROR_NULL_POINTER;
    if (!size)
        return NVFATBIN_ERROR_EMPTY_INPUT;
    out->payload = code;
    out->size_B = size;
    out->flags = h->flags;
    return nvfatbin_arch_read(arch, out) ? NVFATBIN_SUCCESS : NVFATBIN_ERROR_INVALID_ARCH;
}

/* Behind a directive of a PTX text's head, comments left out; NULL. */
static const char *nvfatbin_directive(const char *at, const char *word)
{
    while (*at) {
        const char *end = at[0] == '/' && at[1] == '/'   ? strchr(at, '\n')
                          : at[0] == '/' && at[1] == '*' ? strstr(at + 2, "*/")
                                                         : at;
        if (!end)
            return NULL;
        if (end != at)
            at = end;
        else if (!strncmp(at, word, strlen(word)))
            return at + strlen(word) + strspn(at + strlen(word), " \t");
        else
            at++;
    }
    return NULL;
}

static nvFatbinResult nvfatbin_ptx_check(const char *text, struct obj_fatbin_source *entry)
{
    const char *version = nvfatbin_directive(text, ".version"),
               *target = nvfatbin_directive(text, ".target");
    unsigned major, minor, arch;

    if (!version || sscanf(version, "%3u.%3u", &major, &minor) != 2)
        return NVFATBIN_ERROR_MISSING_PTX_VERSION;
    if (!target || sscanf(target, "sm_%3u", &arch) != 1)
        return NVFATBIN_ERROR_MISSING_PTX_ARCH;
    entry->version_major = (uint16_t)major;
    entry->version_minor = (uint16_t)minor;
    return arch == entry->arch ? NVFATBIN_SUCCESS : NVFATBIN_ERROR_PTX_ARCH_MISMATCH;
}

EXPORT nvFatbinResult nvFatbinAddPTX(nvFatbinHandle handle, const char *code, size_t size,
                                     const char *arch, const char *identifier,
                                     const char *optionsCmdLine)
{
    struct obj_fatbin_source entry = {
        .kind = OBJ_ENTRY_PTX, .source_name = identifier, .options = optionsCmdLine};
    nvFatbinResult result = nvfatbin_input_check(handle, code, size, arch, &entry);

    if (result != NVFATBIN_SUCCESS)
        return result;
    entry.size_B = strnlen(code, size);
    char *text = nvfatbin_copy(code, entry.size_B);
    result = text ? nvfatbin_ptx_check(text, &entry) : NVFATBIN_ERROR_INTERNAL;
    hd_free(text);
    return result == NVFATBIN_SUCCESS ? nvfatbin_entry_add(handle, entry) : result;
}

EXPORT nvFatbinResult nvFatbinAddCubin(nvFatbinHandle handle, const void *code, size_t size,
                                       const char *arch, const char *identifier)
{
    struct obj_fatbin_source entry = {.kind = OBJ_ENTRY_CUBIN, .source_name = identifier};
    nvFatbinResult result = nvfatbin_input_check(handle, code, size, arch, &entry);

    if (result != NVFATBIN_SUCCESS)
        return result;
    if (linker_input_detect(code, size) != LINKER_CUBIN)
        return NVFATBIN_ERROR_INTERNAL;
    if (obj_cubin_arch(code, size) != entry.arch)
        return NVFATBIN_ERROR_ELF_ARCH_MISMATCH;
    return nvfatbin_entry_add(handle, entry);
}

/* LTO-IR of ours is a linked image, and goes where the driver finds those. */
EXPORT nvFatbinResult nvFatbinAddLTOIR(nvFatbinHandle handle, const void *code, size_t size,
                                       const char *arch, const char *identifier,
                                       const char *optionsCmdLine)
{
    struct obj_fatbin_source entry = {
        .kind = OBJ_ENTRY_LTOIR, .source_name = identifier, .options = optionsCmdLine};
    nvFatbinResult result = nvfatbin_input_check(handle, code, size, arch, &entry);
    enum linker_input is = LINKER_INPUT_COUNT;

    if (result != NVFATBIN_SUCCESS)
        return result;
    is = linker_input_detect(code, size);
    if (is == LINKER_CUBIN)
        entry.kind = OBJ_ENTRY_CUBIN;
    else if (is != LINKER_LTOIR)
        return NVFATBIN_ERROR_INVALID_NVVM;
    return nvfatbin_entry_add(handle, entry);
}

/* ---- objects */

static bool nvfatbin_is_there(const struct _nvFatbinHandle *h,
                              const struct obj_fatbin_source *entry)
{
    for (size_t i = 0; i < h->entries.len; i++) {
        const struct obj_fatbin_source *e = &h->entries.at[i];
        if (e->kind == entry->kind && e->arch == entry->arch && e->variant == entry->variant &&
            !strcmp(e->source_name, entry->source_name))
            return true;
    }
    return false;
}

static nvFatbinResult nvfatbin_reloc_add(nvFatbinHandle h, const struct obj_entry *from)
{
    char *source = nvfatbin_copy(from->source.ptr ? from->source.ptr : "", from->source.len);
    char *options = nvfatbin_copy(from->options.ptr ? from->options.ptr : "", from->options.len);
    nvFatbinResult result = NVFATBIN_ERROR_INTERNAL;
    struct hd_buf text;

    hd_buf_init(&text);
    if (source && options && obj_entry_read(from, &text) == HD_OK) {
        struct obj_fatbin_source entry = {
            .kind = OBJ_ENTRY_PTX,
            .arch = from->arch,
            .variant = from->variant,
            .version_major = from->version_major,
            .version_minor = from->version_minor,
            .flags = from->flags & OBJ_FLAG_DEBUG,
            .payload = text.ptr,
            .size_B = text.len,
            .source_name = source,
            .options = options,
        };
        result = nvfatbin_is_there(h, &entry) ? NVFATBIN_ERROR_IDENTIFIER_REUSE
                                              : nvfatbin_entry_add(h, entry);
    }
    hd_buf_fini(&text);
    hd_free(source);
    hd_free(options);
    return result;
}

static nvFatbinResult nvfatbin_container_add(nvFatbinHandle h, const struct obj_fatbin *fatbin,
                                             size_t *count)
{
    size_t cursor_B = 0;
    struct obj_entry entry;
    enum hd_status status;

    while ((status = obj_fatbin_next(fatbin, &cursor_B, &entry)) == HD_OK) {
        nvFatbinResult result =
            entry.kind == OBJ_ENTRY_PTX ? nvfatbin_reloc_add(h, &entry) : NVFATBIN_SUCCESS;
        if (result != NVFATBIN_SUCCESS)
            return result;
        *count += entry.kind == OBJ_ENTRY_PTX;
    }
    return status == HD_NOT_FOUND ? NVFATBIN_SUCCESS : NVFATBIN_ERROR_INTERNAL;
}

EXPORT nvFatbinResult nvFatbinAddReloc(nvFatbinHandle handle, const void *code, size_t size)
{
    size_t at_B = 0, count = 0;
    struct obj_fatbin fatbin;

    if (!handle || !code)
        return NVFATBIN_ERROR_NULL_POINTER;
    if (!size)
        return NVFATBIN_ERROR_EMPTY_INPUT;
    while (obj_fatbin_scan(code, size, &at_B, &fatbin)) {
        nvFatbinResult result = nvfatbin_container_add(handle, &fatbin, &count);
        if (result != NVFATBIN_SUCCESS)
            return result;
    }
    return count ? NVFATBIN_SUCCESS : NVFATBIN_ERROR_MISSING_FATBIN;
}

/* ---- the result */

EXPORT nvFatbinResult nvFatbinSize(nvFatbinHandle handle, size_t *size)
{
    if (!handle || !size)
        return NVFATBIN_ERROR_NULL_POINTER;
    if (!handle->is_written) {
        hd_buf_clear(&handle->image);
        if (obj_fatbin_write(handle->entries.at, handle->entries.len, handle->codec,
                             &handle->image) != HD_OK)
            return NVFATBIN_ERROR_INTERNAL;
        handle->is_written = true;
    }
    *size = handle->image.len;
    return NVFATBIN_SUCCESS;
}

EXPORT nvFatbinResult nvFatbinGet(nvFatbinHandle handle, void *buffer)
{
    if (!handle || !buffer)
        return NVFATBIN_ERROR_NULL_POINTER;
    if (!handle->is_written)
        return NVFATBIN_ERROR_INTERNAL;
    memcpy(buffer, handle->image.ptr, handle->image.len);
    return NVFATBIN_SUCCESS;
}
