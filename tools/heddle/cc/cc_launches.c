/*
 * heddle cc: sources whose kernels launch kernels. clang refuses them as they are: each pass gets
 * its preprocessed text with the launches written in another way (src/clang/launches.c).
 */
#include "cc/cc.h"
#include "common/cli.h"

#include "clang/clang.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_MAX_B (1u << 30)

int cc_preprocess(const struct cc_job *job, const struct cc_list *words, const char *more,
                  const char *source, const char *object, const char *to, const char *log)
{
    struct cc_list cmd = {0};
    cc_list_add_all(&cmd, words);
    cc_list_add_split(&cmd, more, " ");
    if (object && job->depend_beside && !cc_is_one_of("-MT", job->host.at, job->host.len)) {
        cc_list_add(&cmd, "-MT"); /* or the rule would be of the text's */
        cc_list_add(&cmd, object);
    }
    cc_list_add(&cmd, source);
    cc_list_add(&cmd, "-o");
    cc_list_add(&cmd, to);
    return cc_exec_logged(job, &cmd, log);
}

/* The text has its headers, and the rule for make is written. */
void cc_drop_preprocessing(struct cc_list *words)
{
    static const char *const alone[] = {"-MD", "-MMD", "-MP"};
    static const char *const with_value[] = {"-include", "-MF", "-MT"};
    size_t kept = 0;
    for (size_t i = 0; i < words->len; i++) {
        bool goes = cc_is_one_of(words->at[i], alone, HD_COUNT_OF(alone));
        if (cc_is_one_of(words->at[i], with_value, HD_COUNT_OF(with_value)))
            i++;
        else if (!goes)
            words->at[kept++] = words->at[i];
    }
    assert(kept && kept <= words->len); /* the compiler's name, at least */
    words->at[words->len = kept] = NULL;
}

static enum hd_status rewrite(const char *path, enum clang_side side, bool *out_any)
{
    struct hd_buf text, plain, out;
    hd_buf_init(&text);
    hd_buf_init(&plain);
    hd_buf_init(&out);
    enum hd_status status = hd_file_read(path, SOURCE_MAX_B, &text);
    if (status == HD_OK && text.len) /* launches with blanks in their brackets, too */
        status = clang_dialect_put(text.ptr, "", &plain);
    if (status == HD_OK && text.len)
        status = clang_launches_put(plain.len ? plain.ptr : text.ptr, side, &out);
    *out_any = out.len != 0;
    if (status == HD_OK && out.len)
        status = hd_file_write(path, out.ptr, out.len);
    hd_buf_fini(&text);
    hd_buf_fini(&plain);
    hd_buf_fini(&out);
    return status;
}

int cc_launches(struct cc_job *job, struct cc_list *words, const char *object, bool on_host,
                const char **source)
{
    const char *text = cc_temp_path(job, *source, on_host ? ".host.cui" : ".device.cui");
    bool any = false;
    int rc = cc_preprocess(job, words, CLANG_LAUNCHES_WORDS " -w", *source, object, text, NULL);
    if (rc || job->dryrun)
        return rc;
    if (rewrite(text, on_host ? CLANG_HOST_SIDE : CLANG_DEVICE_SIDE, &any) != HD_OK) {
        cli_error("%s", hd_error_message());
        return 1;
    }
    if (any) {
        cc_drop_preprocessing(words);
        *source = text;
    }
    job->launches_in_kernels |= any;
    return 0;
}
