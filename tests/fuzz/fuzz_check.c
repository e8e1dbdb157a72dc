/*
 * What heddle check and a checked process read from elsewhere, told apart by the first byte:
 * records, suppressions, and the line of HEDDLE_CHECK. A record that is read is shown as well.
 */
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "tools/heddle/check/check.h"
#include "tools/heddle/common/cli.h"
#include "san/process.h"

/* Of main.c, which is not part of this. */
int cli_error(const char *fmt, ...)
{
    return CLI_FAILED;
}

/* References in the C library's expressions may take any time when something is matched. */
static bool is_cheap(const uint8_t *bytes, size_t size_B)
{
    return !memchr(bytes, '\\', size_B);
}

static void fuzz_options(const char *line)
{
    struct san_options options;

    san_options_init(&options);
    if (san_options_parse(&options, line) == HD_OK) {
        san_options_take(&options, "_Z6kernelPfi");
        if (options.target_processes_filter &&
            san_process_check_filter(options.target_processes_filter) != HD_OK)
            hd_error_clear();
    }
    san_options_fini(&options);
}

static FILE *nowhere(void)
{
    static FILE *file;

    if (!file)
        file = fopen("/dev/null", "we");
    return file;
}

static void fuzz_record(const char *text, size_t len, struct check_rules *rules)
{
    static const struct check_options options = {.san.show_backtrace = SAN_BACKTRACE_YES};
    struct check_record record;
    struct hd_buf out = {0};

    if (check_record_read(text, len, &record) != HD_OK)
        return;
    if (record.kind == CHECK_FINDING) {
        check_text_finding(&options, &record.finding, NULL, &out);
        check_xml_finding(&options, &record.finding, nowhere());
        check_rules_match(rules, &record.finding);
    }
    hd_buf_fini(&out);
    check_record_fini(&record);
}

static void fuzz_rules(const char *text, size_t len)
{
    static const char finding[] =
        "{\"record\": \"finding\", \"pid\": 1, \"cause\": \"0x1\", \"tool\": \"memcheck\", "
        "\"kind\": "
        "\"invalid-write\", \"title\": \"Invalid __global__ write of size 4 bytes\", \"severity\": "
        "\"error\", \"count\": 1, \"actors\": [{\"thread\": [1,2,3], \"block\": [4,5,6], \"pc\": "
        "\"0x30\", \"device\": [{\"func\": \"_Z1kPf\", \"file\": \"/a/b.cu\", \"line\": 7}]}], "
        "\"details\": [], \"launch_stack\": [{\"pc\": \"0x40\", \"func\": \"main\"}]}";
    struct check_rules *rules = NULL;

    if (check_rules_parse(text, len, "input", &rules) == HD_OK)
        fuzz_record(finding, sizeof(finding) - 1, rules);
    check_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    HD_AUTOFREE char *line = hd_alloc(size_B + 1);

    if (!line || !size_B)
        return 0;
    memcpy(line, bytes, size_B);
    if (bytes[0] == '{')
        fuzz_record((const char *)bytes, size_B, NULL);
    else if (bytes[0] == '<' && is_cheap(bytes, size_B))
        fuzz_rules((const char *)bytes, size_B);
    else if (is_cheap(bytes, size_B))
        fuzz_options(line);
    return 0;
}
