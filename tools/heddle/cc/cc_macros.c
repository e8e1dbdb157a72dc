/*
 * heddle cc: the macros that nvcc defines by its options, for the passes that its manual names.
 * What depends on nothing but the version is in cuda_version.h.
 */
#include "cc/cc.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
    return (left > right) - (left < right);
}

/* __CUDA_ARCH_LIST__: each value of __CUDA_ARCH__ that the compilation has, ascending. */
static void add_arch_list(const struct cc_job *job, struct cc_list *cmd)
{
    unsigned *values = calloc(job->archs.len + 1, sizeof(*values));
    struct hd_buf text;
    if (!values)
        abort();
    hd_buf_init(&text);
    for (size_t i = 0; i < job->archs.len; i++)
        values[i] = job->archs.at[i].cc;
    qsort(values, job->archs.len, sizeof(*values), compare);
    for (size_t i = 0; i < job->archs.len; i++)
        if (!i || values[i] != values[i - 1])
            hd_buf_printf(&text, "%s%u0", text.len ? "," : "", values[i]);
    cc_list_addf(cmd, "-D__CUDA_ARCH_LIST__=%s", text.ptr);
    hd_buf_fini(&text);
    free(values);
}

void cc_add_macros(const struct cc_job *job, struct cc_list *cmd)
{
    add_arch_list(job, cmd);
    cc_list_add(cmd, "-D__NVCC_DIAG_PRAGMA_SUPPORT__=1");
    cc_list_add(cmd, "-D__CUDACC_DEVICE_ATOMIC_BUILTINS__=1");
}

void cc_add_cuda_macros(const struct cc_job *job, struct cc_list *cmd)
{
    cc_add_macros(job, cmd);
    if (job->extended_lambda)
        cc_list_add(cmd, "-D__CUDACC_EXTENDED_LAMBDA__=1");
    if (job->relaxed_constexpr)
        cc_list_add(cmd, "-D__CUDACC_RELAXED_CONSTEXPR__=1");
    if (job->extensible)
        cc_list_add(cmd, "-D__CUDACC_EWP__=1");
    if (job->debug_device && !job->optimize_device)
        cc_list_add(cmd, "-D__CUDACC_DEBUG__=1");
}
