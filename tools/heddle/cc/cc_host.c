/*
 * heddle cc: what the system has, and options for host passes that only GCC knows. Build systems
 * ask the system's compiler what it takes and hand that on behind -Xcompiler (Bazel
 * -fno-canonical-system-headers); clang makes an error of what it does not know. Such options are
 * left out, with a note. Or they ask the host compiler behind -Xcompiler what it is.
 */
#include "cc/cc.h"
#include "common/cli.h"

#include "clang/clang.h"

#include <stdio.h>
#include <string.h>

#define LOG_MAX_B (1u << 20)
#define UNKNOWN   "error: unknown argument: '"

/* Without asking: what nearly every build says. */
static bool is_usual(const char *word)
{
    static const char *const usual[] = {"-fPIC",
                                        "-fpic",
                                        "-fPIE",
                                        "-fpie",
                                        "-fopenmp",
                                        "-fvisibility=hidden",
                                        "-fvisibility-inlines-hidden"};
    return cc_is_one_of(word, usual, HD_COUNT_OF(usual));
}

/* Of code generation: -f, -m. Of warnings clang takes all, unknown ones in silence. */
static bool may_be_unknown(const char *word)
{
    return word[0] == '-' && (word[1] == 'f' || word[1] == 'm') && word[2] && !is_usual(word);
}

static void drop(struct cc_list *list, struct hd_str word)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->len; i++)
        if (!hd_str_is(word, list->at[i]))
            list->at[kept++] = list->at[i];
    list->len = kept;
    if (list->at) /* an empty list has no end yet */
        list->at[kept] = NULL;
}

static void drop_unknown(struct cc_job *job, const char *said)
{
    for (const char *at = said; (at = strstr(at, UNKNOWN));) {
        at += strlen(UNKNOWN);
        struct hd_str word = {at, strcspn(at, "'\n")};
        cli_note("the host compiler is clang, which has no %.*s", HD_STR_ARG(word));
        drop(&job->host, word);
        drop(&job->link, word); /* where options are forwarded to the linker, too */
    }
}

/* What clang says of a command of these words, and of those that it may not know. */
static enum hd_status ask(const char *clang, const char *command, const struct cc_list *words,
                          const char *log, struct hd_buf *said)
{
    struct clang_args args = {0};
    clang_args_add(&args, "%s", clang);
    clang_args_add_words(&args, command);
    for (size_t i = 0; i < words->len; i++)
        if (may_be_unknown(words->at[i]))
            clang_args_add(&args, "%s", words->at[i]);
    enum hd_status status = clang_run(&args, log);
    if (status == HD_OK)
        status = hd_file_read(log, LOG_MAX_B, said);
    clang_args_fini(&args);
    return status;
}

/* Scripts (ggml's CMakeLists.txt) learn the host compiler's name by `nvcc .c -Xcompiler --version`,
 * whether there is such a file or not: what it is asked about itself it answers alone. */
bool cc_host_is_asked(const struct cc_job *job)
{
    static const char *const questions[] = {"--version", "-dumpversion", "-dumpmachine"};
    for (size_t i = 0; i < job->host.len; i++)
        if (cc_is_one_of(job->host.at[i], questions, HD_COUNT_OF(questions)))
            return true;
    return false;
}

int cc_host_answer(struct cc_job *job)
{
    struct cc_list cmd = {0};
    cc_list_add(&cmd, job->paths.clang);
    cc_list_add_all(&cmd, &job->host);
    return cc_exec(job, &cmd);
}

void cc_drop_foreign(struct cc_job *job)
{
    struct hd_buf said;
    bool any = false;
    for (size_t i = 0; i < job->host.len; i++)
        any |= may_be_unknown(job->host.at[i]);
    if (!any || job->dryrun)
        return;
    hd_buf_init(&said);
    /* the driver's part, without compiling anything */
    if (ask(job->paths.clang, "-### -w -x c++ -c /dev/null", &job->host,
            cc_temp_path(job, "host", ".log"), &said) == HD_OK &&
        said.len)
        drop_unknown(job, said.ptr);
    hd_buf_fini(&said);
}

void cc_note_bare_host(struct cc_job *job)
{
    static const struct cc_list none;
    struct hd_buf said;
    hd_buf_init(&said);
    if (ask(job->paths.clang, "-w -x c++ -E -o /dev/null -include cstdlib /dev/null", &none,
            cc_temp_path(job, "host", ".log"), &said) == HD_OK &&
        said.len && strstr(said.ptr, "file not found"))
        cli_error("the system has no headers of C++, which host code needs, and the linker that "
                  "comes with them: install g++ (Debian, Ubuntu: apt-get install g++)");
    hd_buf_fini(&said);
}
