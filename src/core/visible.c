/*
 * CUDA_VISIBLE_DEVICES: which devices a program sees, in which order. As CUDA documents it: a comma
 * list of indices or of UUIDs (GPU-..., as many digits as tell the device from the others); the
 * list ends before the first entry that names no device, so -1 and the empty list hide all. A
 * device that is named twice ends the list too.
 */
#include <ctype.h>
#include <strings.h>

#include "base/str.h"
#include "core/device.h"

void core_uuid_text(const uint8_t uuid[16], char out_text[CORE_UUID_TEXT_B])
{
    (void)snprintf(out_text, CORE_UUID_TEXT_B, "GPU-");
    hd_uuid_text(uuid, out_text + strlen("GPU-"));
}

/* The one device whose UUID begins so; -1 when none or several do. */
static int find_uuid(struct hd_str text, const uint8_t (*uuids)[16], unsigned count)
{
    char own[CORE_UUID_TEXT_B];
    int found = -1;

    for (unsigned i = 0; i < count; i++) {
        core_uuid_text(uuids[i], own);
        if (text.len > strlen(own) || strncasecmp(own, text.ptr, text.len))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

static int find(struct hd_str text, const uint8_t (*uuids)[16], unsigned count)
{
    uint64_t index;

    if (text.len > 4 && !strncasecmp(text.ptr, "GPU-", 4))
        return find_uuid(text, uuids, count);
    return hd_str_to_u64(text, 10, &index) && index < count ? (int)index : -1;
}

static struct hd_str trim(struct hd_str text)
{
    while (text.len && isspace((unsigned char)*text.ptr))
        text.ptr++, text.len--;
    while (text.len && isspace((unsigned char)text.ptr[text.len - 1]))
        text.len--;
    return text;
}

unsigned core_visible_parse(const char *list, const uint8_t (*uuids)[16], unsigned count,
                            unsigned *out_order)
{
    unsigned visible = 0;

    while (list) {
        const char *comma = strchr(list, ',');
        size_t len = comma ? (size_t)(comma - list) : strlen(list);
        int device = find(trim((struct hd_str){list, len}), uuids, count);

        for (unsigned i = 0; i < visible && device >= 0; i++)
            if (out_order[i] == (unsigned)device)
                device = -1;
        if (device < 0)
            break;
        out_order[visible++] = (unsigned)device;
        list = comma ? comma + 1 : NULL;
    }
    return visible;
}
