/* Finding a device by name; apart, because only who links hal_backends can use it. */
#include <string.h>

#include "base/str.h"
#include "hal/hal.h"
#include "ir/profile.h"

enum hd_status hal_device_create(const char *name, const struct hal_client_ops *client,
                                 struct hal_device **out_device)
{
    struct hd_buf names;
    enum hd_status status;

    for (const struct hal_backend *b = hal_backends; b->name; b++) {
        if (strcmp(b->name, name) != 0)
            continue;
        if (ir_profile_is_recorded() && !b->records)
            return hd_error(
                HD_NOT_SUPPORTED,
                "HEDDLE_PROFILE: the %s device does not count blocks, HEDDLE_DEVICE=sim "
                "does",
                name);
        return b->create(client, out_device);
    }
    hd_buf_init(&names);
    for (const struct hal_backend *b = hal_backends; b->name; b++)
        hd_buf_printf(&names, " %s", b->name);
    status = hd_error(HD_NOT_FOUND, "no device is called '%s'; there are:%s", name,
                      names.ptr ? names.ptr : "");
    hd_buf_fini(&names);
    return status;
}
