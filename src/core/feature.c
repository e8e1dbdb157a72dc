/* What programs look for on the device in vain: attributes that are 0 for lack of a feature. */
#include "base/log.h"
#include "base/str.h"
#include "core/core.h"

#include <stdatomic.h>

enum feature {
    FEATURE_NONE,
#define X(name, what, function) FEATURE_##name,
#include "features.def"
#undef X
    FEATURE_END
};

static const struct {
    const char *what, *function;
} features[FEATURE_END] = {
#define X(name, what, function) [FEATURE_##name] = {what, #function},
#include "features.def"
#undef X
};

struct lack {
    const char *name; /* of the attribute */
    enum feature feature;
};

static const struct lack lacks[CORE_ATTRIBUTE_END] = {
#define X(name, number, value)
#define LACKS(name, number, feature) [number] = {#name, FEATURE_##feature},
#include "device.def"
#undef X
};

void core_lacks_log(int number)
{
    static _Atomic bool logged[CORE_ATTRIBUTE_END];
    const struct lack *lack;

    if (!hd_debug(HD_DEBUG_LOAD) || number < 0 || number >= CORE_ATTRIBUTE_END)
        return;
    lack = &lacks[number];
    if (lack->feature != FEATURE_NONE && !atomic_exchange(&logged[number], true))
        hd_log_debug(HD_DEBUG_LOAD, "device attribute %s is 0: Heddle has no %s yet (%s)",
                     lack->name, features[lack->feature].what, features[lack->feature].function);
}

/* One line instead of one for each size of each kind of texture. */
void core_lacks_log_all(void)
{
    static _Atomic bool logged;
    struct hd_buf list;

    if (!hd_debug(HD_DEBUG_LOAD) || atomic_exchange(&logged, true))
        return;
    hd_buf_init(&list);
    for (unsigned i = FEATURE_NONE + 1; i < FEATURE_END; i++)
        hd_buf_printf(&list, "%s%s (%s)", i > FEATURE_NONE + 1 ? ", " : "", features[i].what,
                      features[i].function);
    hd_log_debug(HD_DEBUG_LOAD, "device properties are 0 where Heddle has no feature yet: %s",
                 list.ptr ? list.ptr : "");
    hd_buf_fini(&list);
}
