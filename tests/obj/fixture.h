/* PTX and containers that several obj tests use. */
#ifndef HD_TESTS_OBJ_FIXTURE_H
#define HD_TESTS_OBJ_FIXTURE_H

#include "obj/fatbin.h"
#include "tap.h"

static const char fixture_ptx[] = "//\n// a comment\n//\n\n.version 8.5\n.target sm_90\n"
                                  ".address_size 64\n\n.visible .entry empty()\n{\n\tret;\n}\n";

static inline struct obj_fatbin_source fixture_source(unsigned arch, char variant, const char *text)
{
    return (struct obj_fatbin_source){
        .kind = OBJ_ENTRY_PTX,
        .arch = arch,
        .variant = variant,
        .version_major = 8,
        .version_minor = 5,
        .payload = text,
        .size_B = strlen(text),
    };
}

static inline struct obj_fatbin_source fixture_cubin(unsigned arch)
{
    static const char elf[64] = "\x7f"
                                "ELF\x02\x01\x01\x41\x08";
    return (struct obj_fatbin_source){
        .kind = OBJ_ENTRY_CUBIN, .arch = arch, .payload = elf, .size_B = sizeof(elf)};
}

/* A copy of the buffer in an allocation of exactly its size, so that ASan sees any overrun. */
static inline uint8_t *fixture_exact(const struct hd_buf *buf, size_t size_B)
{
    uint8_t *bytes = malloc(size_B ? size_B : 1);
    if (bytes)
        memcpy(bytes, buf->ptr, size_B);
    return bytes;
}

/* Reads every entry and payload; the first error, or HD_OK. */
static inline enum hd_status fixture_read_all(const void *bytes, size_t size_B)
{
    struct obj_fatbin fatbin;
    HD_TRY(obj_fatbin_open(bytes, size_B, &fatbin));
    size_t cursor_B = 0;
    for (;;) {
        struct obj_entry entry;
        enum hd_status status = obj_fatbin_next(&fatbin, &cursor_B, &entry);
        if (status == HD_NOT_FOUND)
            return HD_OK;
        HD_TRY(status);
        struct hd_buf buf;
        hd_buf_init(&buf);
        status = obj_entry_read(&entry, &buf);
        hd_buf_fini(&buf);
        HD_TRY(status);
    }
}

#endif
