/* See cc_arch.h. */
#include "cc/cc_arch.h"

#include <stdio.h>
#include <string.h>

#include "cc/cc_options.h"
#include "clang/clang.h"
#include "common/cli.h"

#define PTX_MAX_B  ((size_t)1 << 30)
#define LLVM_MAX_B ((size_t)1 << 31)

static const char *after_prefix(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* "sm_90a", "compute_120", "native", "all"; false when malformed. */
static bool parse_arch(const char *text, struct cc_arch *out_arch)
{
    static const char *const prefixes[] = {"sm_", "compute_", "lto_"};
    static const char *const any[] = {"native", "all", "all-major"};
    const char *digits = NULL;
    *out_arch = (struct cc_arch){.cc = 90};
    for (size_t i = 0; i < HD_COUNT_OF(any); i++)
        if (strcmp(text, any[i]) == 0)
            return true;
    for (size_t i = 0; i < HD_COUNT_OF(prefixes) && !digits; i++)
        digits = after_prefix(text, prefixes[i]);
    size_t len = digits ? strspn(digits, "0123456789") : 0;
    uint64_t asked;
    if (!len || !hd_str_to_u64((struct hd_str){digits, len}, 10, &asked) || asked > 129)
        return false;
    out_arch->cc = (unsigned)asked;
    if (digits[len] == 'a' || digits[len] == 'f')
        out_arch->variant = digits[len++];
    return !digits[len];
}

int cc_arch_add(struct cc_job *job, const char *text)
{
    struct cc_arch arch;
    if (!parse_arch(text, &arch))
        return cc_usage("unknown architecture", text);
    if (!clang_arch(arch.cc))
        return cc_usage("architecture older than sm_50", text);
    for (size_t i = 0; i < job->archs.len; i++)
        if (job->archs.at[i].cc == arch.cc && job->archs.at[i].variant == arch.variant)
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

void cc_arch_list(const struct cc_job *job)
{
    static const unsigned archs[] = {50, 52, 53, 60, 61, 62,  70,  72,  75,  80,
                                     86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
    for (size_t i = 0; i < HD_COUNT_OF(archs) && job->list_virtual; i++)
        printf("compute_%u\n", archs[i]);
    for (size_t i = 0; i < HD_COUNT_OF(archs) && job->list_real; i++)
        printf("sm_%u\n", archs[i]);
}

/* ---- clang's words */

void cc_add_cuda_words(struct cc_list *cmd)
{
    cc_list_add_split(cmd, CLANG_CUDA_WORDS, " ");
}

void cc_add_host_words(struct cc_list *cmd, struct cc_arch arch)
{
    cc_list_addf(cmd, "--cuda-gpu-arch=sm_%u", clang_arch(arch.cc));
}

void cc_add_device_words(struct cc_list *cmd, struct cc_arch arch)
{
    struct hd_buf words;
    cc_list_add_split(cmd, CLANG_DEVICE_WORDS, " ");
    hd_buf_init(&words);
    clang_target_words(arch.cc, arch.variant, &words);
    if (words.failed)
        abort();
    cc_list_add_split(cmd, words.ptr, " ");
    hd_buf_fini(&words);
}

void cc_add_front_words(struct cc_list *front)
{
    cc_list_add_split(front, CLANG_FRONT_WORDS, " ");
}

void cc_add_back_words(const struct cc_list *front, struct cc_list *back)
{
    struct clang_args from = {0}, to = {0};
    for (size_t i = 0; i < front->len; i++)
        clang_args_add(&from, "%s", front->at[i]);
    clang_back_words(&from, &to);
    if (to.failed)
        abort();
    for (size_t i = 0; i < to.len; i++)
        cc_list_addf(back, "%s", to.at[i]);
    clang_args_fini(&from);
    clang_args_fini(&to);
}

/* Of a module that somebody loads: who has no more than that finds static variables by name. */
static bool keeps_statics(const struct cc_job *job)
{
    return !job->rdc &&
           (job->mode == CC_MODE_PTX || job->mode == CC_MODE_CUBIN || job->mode == CC_MODE_FATBIN);
}

int cc_mend_ir(const struct cc_job *job, const char *path)
{
    if (clang_ir_mend(path, keeps_statics(job)) == HD_OK)
        return 0;
    cli_error("%s", hd_error_message());
    return 1;
}

/* ---- PTX */

static enum hd_status write_text(const char *path, const struct hd_buf *text)
{
    if (strcmp(path, "-") != 0)
        return hd_file_write(path, text->ptr, text->len);
    bool worked = fwrite(text->ptr, 1, text->len, stdout) == text->len && fflush(stdout) == 0;
    return worked ? HD_OK : hd_error(HD_IO, "the output cannot be written");
}

static enum hd_status add_clusters(const char *ir_path, struct cc_arch arch, struct hd_buf *ptx)
{
    struct hd_buf ir;
    hd_buf_init(&ir);
    enum hd_status status = hd_file_read(ir_path, LLVM_MAX_B, &ir);
    if (status == HD_OK)
        status = clang_clusters_add(&ir, arch.cc, ptx);
    hd_buf_fini(&ir);
    return status;
}

int cc_finish_ptx(const struct cc_job *job, const char *from, const char *ir, const char *to,
                  struct cc_arch arch)
{
    struct hd_buf text;
    char target[16];
    snprintf(target, sizeof(target), "sm_%u%.1s", arch.cc, (char[2]){arch.variant, '\0'});
    hd_buf_init(&text);
    bool worked = hd_file_read(from, PTX_MAX_B, &text) == HD_OK &&
                  (!job->rdc || cc_statics_mend(&text) == HD_OK) &&
                  (!keeps_statics(job) || clang_statics_name(&text) == HD_OK) &&
                  add_clusters(ir, arch, &text) == HD_OK &&
                  clang_ptx_finish(&text, target) == HD_OK && write_text(to, &text) == HD_OK;
    hd_buf_fini(&text);
    if (!worked)
        cli_error("%s", hd_error_message());
    return worked ? 0 : 1;
}
