/* heddle cc: passes of clang, and once more where it refuses NVIDIA's dialect (clang/dialect.c). */
#include "cc/cc.h"
#include "common/cli.h"

#include "clang/clang.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX_B (1u << 30)

static int run(const struct cc_job *job, const struct cc_list *words, const struct cc_list *tail,
               const char *source, const char *to, const char *log)
{
    struct cc_list cmd = {0};
    assert(words->len && source);
    cc_list_add_all(&cmd, words);
    if (isatty(STDERR_FILENO))
        cc_list_add(&cmd, "-fcolor-diagnostics");
    cc_list_add_all(&cmd, tail);
    cc_list_add(&cmd, source);
    if (to) {
        cc_list_add(&cmd, "-o");
        cc_list_add(&cmd, to);
    }
    return cc_exec_logged(job, &cmd, log);
}

static void print_log(const char *path)
{
    struct hd_buf log;
    hd_buf_init(&log);
    if (hd_file_read(path, TEXT_MAX_B, &log) == HD_OK && log.len)
        (void)fwrite(log.ptr, 1, log.len, stderr);
    hd_buf_fini(&log);
}

/* Changes the preprocessed text, if there is anything to change in it. */
static enum hd_status rewrite(const char *path, const char *log_path, bool *out_any)
{
    struct hd_buf text, log, out;
    hd_buf_init(&text);
    hd_buf_init(&log);
    hd_buf_init(&out);
    *out_any = false;
    enum hd_status status = hd_file_read(path, TEXT_MAX_B, &text);
    if (status == HD_OK)
        status = hd_file_read(log_path, TEXT_MAX_B, &log);
    if (status == HD_OK && text.len && log.len)
        status = clang_dialect_put(text.ptr, log.ptr, &out);
    if (status == HD_OK && out.len) {
        *out_any = true;
        status = hd_file_write(path, out.ptr, out.len);
    }
    hd_buf_fini(&text);
    hd_buf_fini(&log);
    hd_buf_fini(&out);
    return status;
}

/* Does the log name a call of a function of the other side? */
static bool is_of_sides(const char *log_path)
{
    struct hd_buf log;
    hd_buf_init(&log);
    bool is = hd_file_read(log_path, TEXT_MAX_B, &log) == HD_OK && log.len &&
              (strstr(log.ptr, "__ function from __") || strstr(log.ptr, "__ function in __"));
    hd_buf_fini(&log);
    return is;
}

int cc_pass(struct cc_job *job, const struct cc_list *words, const struct cc_list *tail,
            const char *source, const char *to)
{
    const char *log = job->dryrun ? NULL : cc_temp_path(job, source, ".log");
    const char *text = NULL;
    struct cc_list own = {0}, deferring = {0};
    bool any = true, rules = cc_is_one_of("-MD", words->at, words->len) ||
                             cc_is_one_of("-MMD", words->at, words->len);
    int rc = run(job, words, tail, source, to, log);
    if (job->dryrun)
        return rc;
    assert(log);
    if (rc && is_of_sides(log)) {
        /* nvcc asks only what a pass emits whether it may call what it calls: where __CUDA_ARCH__
         * chooses a function, the other side's callers see the wrong one and are none of it. */
        cc_list_add_all(&deferring, words);
        cc_list_add(&deferring, "-fgpu-defer-diag");
        words = &deferring;
        rc = run(job, words, tail, source, to, log);
    }
    for (int i = 0; rc && any && i < CLANG_DIALECT_TRIES; i++) {
        if (!text) {
            text = cc_temp_path(job, source, ".dialect.cui");
            if (cc_preprocess(job, words, "-E -w", source, rules ? to : NULL, text, "/dev/null"))
                break;
            cc_list_add_all(&own, words);
            cc_drop_preprocessing(&own);
        }
        if (rewrite(text, log, &any) != HD_OK) {
            cli_error("%s", hd_error_message());
            break;
        }
        if (any)
            rc = run(job, &own, tail, text, to, log);
    }
    print_log(log);
    return rc;
}
