/* Variables that nobody knows, or whose values are not possible. */
#include "base/env.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define NAME_MAX_B 48

static const char *const tool_names[] = {
#define X(name) name,
    HD_ENV_TOOL_LIST(X)
#undef X
};

static void warn_unknown(struct hd_str name)
{
    const char *nearest = hd_env_name(0);

    for (size_t i = 1; hd_env_name(i); i++)
        if (hd_str_distance(name, hd_env_name(i)) < hd_str_distance(name, nearest))
            nearest = hd_env_name(i);
    hd_log("%.*s is not a variable of Heddle; the nearest is %s", HD_STR_ARG(name), nearest);
}

static bool is_known(struct hd_str name)
{
    for (size_t i = 0; i < HD_COUNT_OF(tool_names); i++)
        if (hd_str_is(name, tool_names[i]))
            return true;
    for (size_t i = 0; hd_env_name(i); i++)
        if (hd_str_is(name, hd_env_name(i)))
            return true;
    return false;
}

void hd_env_warn(void)
{
    hd_debug_check();
    for (char **at = environ; at && *at && !hd_env_is_foreign(); at++) {
        struct hd_str name = {*at, strcspn(*at, "=")};
        if (hd_str_starts(name, "HEDDLE_") && name.len <= NAME_MAX_B && !is_known(name))
            warn_unknown(name);
    }
}

enum hd_status hd_env_check(void)
{
    enum hd_status status = HD_OK;

    for (size_t i = 0; hd_env_name(i) && status == HD_OK; i++) {
        struct hd_buf why;
        const char *value = hd_env(hd_env_name(i));
        hd_buf_init(&why);
        if (value && !hd_env_allows(hd_env_name(i), value, &why))
            status = hd_error(HD_BAD_ARG, "%s", why.ptr ? why.ptr : hd_env_name(i));
        hd_buf_fini(&why);
    }
    return status;
}
