/* See process.h. */
#include "base/text/expression.h"
#include "san/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PARENTS_MAX = 256,        /* that a process is looked for in */
    COMMAND_MAX_B = 16 << 10, /* of the arguments that a record has */
};

/* "" when it cannot be read. */
static void exe_of(pid_t pid, char *out, size_t out_B)
{
    char link[32];

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t len = readlink(link, out, out_B - 1);
    out[len > 0 ? len : 0] = '\0';
}

const char *san_process_exe(void)
{
    static char path[PATH_MAX];

    if (!path[0])
        exe_of(getpid(), path, sizeof(path));
    return path;
}

/* 0 when it is not known: "PID (NAME) STATE PARENT ..", where NAME may hold anything. */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[512];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[len] = '\0';
    const char *behind = strrchr(text, ')');
    return behind && strlen(behind) > 4 ? (pid_t)strtol(behind + 4, NULL, 10) : 0;
}

/* ---- the filter: NAME, regex:RE, exclude:NAME, exclude-tree:NAME */

enum rule_kind { RULE_NAME, RULE_REGEX, RULE_EXCLUDE, RULE_EXCLUDE_TREE };

struct rule {
    enum rule_kind kind;
    char text[256];
};

static const char *const prefixes[] = {"", "regex:", "exclude:", "exclude-tree:"};

/* The next one at *at, which moves behind it. HD_NOT_FOUND at the end. */
static enum hd_status rule_next(const char **at, struct rule *out)
{
    size_t len = strcspn(*at, ",");

    if (!**at)
        return HD_NOT_FOUND;
    out->kind = RULE_NAME;
    for (enum rule_kind k = RULE_REGEX; k <= RULE_EXCLUDE_TREE; k++)
        if (strncmp(*at, prefixes[k], strlen(prefixes[k])) == 0)
            out->kind = k;
    size_t skip = strlen(prefixes[out->kind]);
    if (len <= skip || len - skip >= sizeof(out->text))
        return hd_error(HD_BAD_ARG, "target-processes-filter: '%.*s' has no name, or a long one",
                        (int)len, *at);
    snprintf(out->text, sizeof(out->text), "%.*s", (int)(len - skip), *at + skip);
    *at += len;
    *at += **at == ',';
    return HD_OK;
}

static enum hd_status regex_matches(const char *text, const char *name, bool *out)
{
    regex_t regex;

    if (hd_regex_compile(&regex, text))
        return hd_error(HD_BAD_ARG, "target-processes-filter: '%s' is no regular expression", text);
    *out = regexec(&regex, name, 0, NULL, 0) == 0;
    regfree(&regex);
    return HD_OK;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_below(const char *name)
{
    pid_t pid = getpid();

    for (int n = 0; pid > 1 && n < PARENTS_MAX; n++) {
        char exe[PATH_MAX];
        exe_of(pid, exe, sizeof(exe));
        if (strcmp(file_name(exe), name) == 0)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

/* Names that are wanted win over none; what is excluded wins over all. */
static enum hd_status apply_filter(const char *filter, const char *exe, bool *out)
{
    bool asks = false, matches = false, excluded = false;
    struct rule rule;
    enum hd_status status;

    while ((status = rule_next(&filter, &rule)) == HD_OK) {
        bool is = strcmp(file_name(exe), rule.text) == 0;
        if (rule.kind == RULE_REGEX)
            HD_TRY(regex_matches(rule.text, file_name(exe), &is));
        if (rule.kind == RULE_EXCLUDE_TREE)
            is = is_below(rule.text);
        if (rule.kind >= RULE_EXCLUDE) {
            excluded |= is;
        } else {
            asks = true;
            matches |= is;
        }
    }
    *out = !excluded && (matches || !asks);
    return status == HD_NOT_FOUND ? HD_OK : status;
}

enum hd_status san_process_check_filter(const char *filter)
{
    bool unused;

    return apply_filter(filter, "", &unused);
}

enum hd_status san_process_is_wanted(const struct san_options *options, bool *out)
{
    *out = options->target_processes == SAN_TARGETS_ALL || !options->root ||
           options->root == (uint64_t)getpid();
    if (!*out || !options->target_processes_filter)
        return HD_OK;
    return apply_filter(options->target_processes_filter, san_process_exe(), out);
}

/* ---- the record */

static void write_arguments(struct hd_json *j)
{
    static char text[COMMAND_MAX_B];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    if (file)
        fclose(file);
    text[len] = '\0';
    hd_json_open(j, "arguments", '[');
    for (size_t at = 0; at < len; at += strlen(text + at) + 1)
        hd_json_str(j, NULL, text + at);
    hd_json_close(j, ']');
}

void san_process_write(struct hd_json *j)
{
    hd_json_u64(j, "parent", (uint64_t)getppid());
    hd_json_str(j, "exe", san_process_exe());
    write_arguments(j);
}
