/* Device images of any kind, except wrappers: those hold host pointers, which are trusted. */
#include "fuzz/fuzz.h"
#include "obj/fatbin.h"

static const struct obj_target targets[] = {
    {.cc = 120},
    {.cc = 90, .accept_any_variant = true},
};

static void read_entries(const struct obj_fatbin *fatbin)
{
    struct obj_entry entry;
    struct hd_buf buf = {0};
    size_t cursor_B = 0;

    while (obj_fatbin_next(fatbin, &cursor_B, &entry) == HD_OK) {
        hd_buf_clear(&buf);
        if (obj_entry_read(&entry, &buf) != HD_OK)
            break;
    }
    hd_buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct obj_fatbin fatbin;
    struct obj_ptx_list list;
    size_t at_B = 0;

    if (obj_image_identify(bytes, size_B) == OBJ_IMAGE_WRAPPER)
        return 0;
    for (size_t i = 0; i < HD_COUNT_OF(targets); i++) {
        if (obj_image_load_ptx(bytes, size_B, targets[i], &list) == HD_OK)
            obj_ptx_list_fini(&list);
    }
    while (obj_fatbin_scan(bytes, size_B, &at_B, &fatbin))
        read_entries(&fatbin);
    return 0;
}
