/* Versions of PTX, and architectures. */
#include <string.h>

#include "ptxas/ptxas.h"

/* "Release History" of the PTX manual: the last minor version of each major one. */
static const struct {
    unsigned major, last;
} releases[] = {{1, 5}, {2, 3}, {3, 2}, {4, 3}, {5, 0}, {6, 5}, {7, 8}, {8, 8}, {9, 1}};

bool ptxas_version_known(unsigned major, unsigned minor)
{
    for (size_t i = 0; i < HD_COUNT_OF(releases); i++)
        if (releases[i].major == major)
            return minor <= releases[i].last;
    return false;
}

size_t ptxas_versions(int (*out_versions)[2])
{
    size_t n = 0;

    for (size_t i = 0; i < HD_COUNT_OF(releases); i++)
        for (unsigned minor = 0; minor <= releases[i].last; minor++, n++)
            if (out_versions) {
                out_versions[n][0] = (int)releases[i].major;
                out_versions[n][1] = (int)minor;
            }
    return n;
}

void ptxas_list_versions(struct hd_buf *out)
{
    for (size_t i = 0; i < HD_COUNT_OF(releases); i++)
        for (unsigned minor = 0; minor <= releases[i].last; minor++)
            hd_buf_printf(out, "%u.%u\n", releases[i].major, minor);
}

#define ARCH_OLDEST 50

static const struct {
    unsigned cc;
    const char *variants;
} targets[] = {
#define PTX_TARGET(cc, variants) {cc, variants},
#include "ptx_targets.def"
#undef PTX_TARGET
};

size_t ptxas_architectures(int *out_ccs)
{
    size_t n = 0;

    for (size_t i = 0; i < HD_COUNT_OF(targets); i++) {
        if (targets[i].cc < ARCH_OLDEST)
            continue;
        if (out_ccs)
            out_ccs[n] = (int)targets[i].cc;
        n++;
    }
    return n;
}

static bool target_exists(unsigned cc, char variant)
{
    for (size_t i = 0; i < HD_COUNT_OF(targets); i++)
        if (targets[i].cc == cc)
            return cc >= ARCH_OLDEST && (!variant || strchr(targets[i].variants, variant));
    return false;
}

bool ptxas_target_read(const char *name, struct ptxas_target *out_target)
{
    static const char *const prefixes[] = {"sm_", "compute_", "lto_"};
    struct ptxas_target target = {.name = name};

    for (size_t i = 0; i < HD_COUNT_OF(prefixes); i++) {
        size_t n = strlen(prefixes[i]), digits;
        uint64_t cc;

        if (strncmp(name, prefixes[i], n) != 0)
            continue;
        digits = strspn(name + n, "0123456789");
        if (!hd_str_to_u64((struct hd_str){name + n, digits}, 10, &cc) || cc > 999)
            return false;
        target.cc = (unsigned)cc;
        target.variant = name[n + digits];
        target.is_virtual = i > 0;
        *out_target = target;
        return (!target.variant || !name[n + digits + 1]) &&
               target_exists(target.cc, target.variant);
    }
    return false;
}
