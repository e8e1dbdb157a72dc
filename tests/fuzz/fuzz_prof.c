/* A recording of `heddle prof`, and its settings: any bytes must be read without harm. */
#include "fuzz/fuzz.h"
#include "prof/prof.h"
#include "prof/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct prof_reader reader;
    struct prof_cursor cursor = {0};
    const struct prof_record *record;
    struct prof_settings settings;
    char text[256];
    uint64_t sum = 0;

    (void)snprintf(text, sizeof(text), "%.*s", (int)HD_MIN(size_B, sizeof(text) - 1),
                   (const char *)bytes);
    (void)!prof_settings_read(text, &settings);
    /* Records are at multiples of 8 bytes, as in a file's pages. */
    uint8_t *copy = aligned_alloc(PROF_HEAD_B, (size_B / PROF_HEAD_B + 1) * PROF_HEAD_B);
    if (!copy)
        return 0;
    memcpy(copy, bytes, size_B);
    if (prof_reader_init(copy, size_B, &reader) == HD_OK) {
        while ((record = prof_reader_next(&reader, &cursor))) {
            for (size_t i = 0; i < record->size_B; i++)
                sum += ((const uint8_t *)record)[i];
            struct hd_str name = prof_reader_name(&reader, record->number);
            if (name.len)
                sum += (uint8_t)name.ptr[name.len - 1];
        }
        prof_reader_close(&reader);
    }
    free(copy);
    return sum == UINT64_MAX;
}
