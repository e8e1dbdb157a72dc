/*
 * What Heddle says to one instruction after the other. TEMPLATE is a module with an `@` where the
 * instruction belongs; instructions come from standard input, one a line. Answers one line each:
 * `ok`, or why not.
 *
 *     accepts TEMPLATE <INSTRUCTIONS
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lower/lower.h"

struct answer {
    char why[256];
};

static void refused(void *user, const struct lower_refusal *refusal)
{
    struct answer *answer = user;
    if (!answer->why[0])
        snprintf(answer->why, sizeof(answer->why), "lowering: %s", refusal->why);
}

static enum hd_status survey(const struct ptx_module *module, struct answer *answer)
{
    struct lower_program *program;
    HD_TRY(lower_program_create(&module, 1, "accepts", &program));
    enum hd_status status = lower_survey(program, refused, answer);
    lower_program_destroy(program);
    return status;
}

static enum hd_status ask(const struct hd_buf *text, struct answer *answer)
{
    struct hd_arena arena;
    struct ptx_module *module;
    hd_arena_init(&arena);
    enum hd_status status = ptx_parse(&arena, text->ptr, text->len, "accepts", &module);
    if (status == HD_OK)
        status = ptx_check(module);
    if (status == HD_OK)
        status = survey(module, answer);
    hd_arena_fini(&arena);
    return status;
}

static void answer_line(const struct hd_buf *module, const char *line)
{
    struct hd_buf text = {0};
    struct answer answer = {0};
    size_t before = (size_t)(strchr(module->ptr, '@') - module->ptr);
    hd_buf_printf(&text, "%.*s%s%s", (int)before, module->ptr, line, module->ptr + before + 1);
    if (ask(&text, &answer) != HD_OK)
        snprintf(answer.why, sizeof(answer.why), "%s", hd_error_message());
    puts(answer.why[0] ? answer.why : "ok");
    hd_buf_fini(&text);
}

int main(int argc, char **argv)
{
    struct hd_buf module = {0};
    char line[1024];
    if (argc != 2 || hd_file_read(argv[1], 1u << 20, &module) != HD_OK ||
        !strchr(module.ptr, '@')) {
        fprintf(stderr, "usage: accepts TEMPLATE <INSTRUCTIONS\n");
        return 2;
    }
    while (fgets(line, sizeof(line), stdin))
        answer_line(&module, line);
    hd_buf_fini(&module);
    return 0;
}
