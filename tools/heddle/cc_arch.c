/* See cc_arch.h. */
#include "cc_arch.h"

#include <stdio.h>
#include <string.h>

#include "cc_options.h"
#include "cli.h"

static const char *after_prefix(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* clang 19 stops at sm_90a: newer targets get sm_90, whose PTX every newer device accepts. */
static unsigned clang_arch(unsigned asked)
{
    static const unsigned known[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
    unsigned best = 0;
    for (size_t i = 0; i < HD_COUNT_OF(known); i++)
        if (known[i] <= asked)
            best = known[i];
    return best;
}

/* "sm_90a", "compute_120", "native", "all"; false when malformed. */
static bool parse_arch(const char *text, struct cc_arch *out_arch)
{
    static const char *const prefixes[] = {"sm_", "compute_", "lto_"};
    static const char *const any[] = {"native", "all", "all-major"};
    const char *digits = NULL;
    *out_arch = (struct cc_arch){.asked = 90};
    for (size_t i = 0; i < HD_COUNT_OF(any); i++)
        if (strcmp(text, any[i]) == 0)
            return true;
    for (size_t i = 0; i < HD_COUNT_OF(prefixes) && !digits; i++)
        digits = after_prefix(text, prefixes[i]);
    size_t len = digits ? strspn(digits, "0123456789") : 0;
    uint64_t asked;
    if (!len || !hd_str_to_u64((struct hd_str){digits, len}, 10, &asked) || asked > 999)
        return false;
    out_arch->asked = (unsigned)asked;
    if (digits[len] == 'a' || digits[len] == 'f')
        out_arch->variant = digits[len++];
    return !digits[len];
}

int cc_arch_add(struct cc_job *job, const char *text)
{
    struct cc_arch arch;
    if (!parse_arch(text, &arch))
        return cc_usage("unknown architecture", text);
    arch.arch = clang_arch(arch.asked);
    if (!arch.arch)
        return cc_usage("architecture older than sm_50", text);
    if (arch.asked != 90 || arch.variant != 'a')
        arch.variant = 0;
    if (arch.asked > 90)
        fprintf(stderr, "heddle cc: note: %s becomes compute_90, the newest that clang 19 knows\n",
                text);
    for (size_t i = 0; i < job->archs.len; i++)
        if (job->archs.at[i].arch == arch.arch && job->archs.at[i].variant == arch.variant)
            return CLI_OK;
    if (!hd_vec_push(&job->archs, arch))
        abort();
    return CLI_OK;
}

int cc_arch_add_gencode(struct cc_job *job, const char *text)
{
    const char *arch = strstr(text, "arch=");
    char name[32];
    if (!arch)
        return cc_usage("no arch= in -gencode", text);
    arch += strlen("arch=");
    size_t n = strcspn(arch, ",");
    if (n >= sizeof name)
        return cc_usage("unknown architecture", arch);
    memcpy(name, arch, n);
    name[n] = 0;
    return cc_arch_add(job, name);
}
