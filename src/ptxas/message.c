/* What is told, in ptxas's form. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptxas/ptxas.h"

/* By enum ptxas_severity. */
static const char *const severities[] = {
    [PTXAS_INFO] = "info   ",
    [PTXAS_WARNING] = "warning",
    [PTXAS_ERROR] = "error  ",
    [PTXAS_FATAL] = "fatal  ",
};

/* NULL: it is not wanted. */
static struct hd_buf *begin(struct ptxas *p, enum ptxas_severity *severity)
{
    if (*severity == PTXAS_WARNING && p->options.no_warnings)
        return NULL;
    if (*severity == PTXAS_WARNING && p->options.warnings_are_errors)
        *severity = PTXAS_ERROR;
    p->failed |= *severity >= PTXAS_ERROR;
    return *severity >= PTXAS_ERROR ? &p->error : &p->info;
}

void ptxas_say(struct ptxas *p, enum ptxas_severity severity, const char *fmt, ...)
{
    struct hd_buf *log = begin(p, &severity);
    char line[1024];
    va_list args;

    if (!log)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    hd_buf_printf(log, "ptxas %s : %s\n", severities[severity], line);
}

/* Of "NAME:7:3: text" the line; *out_text is behind it all. 0: there is none. */
static unsigned place_read(const char *at, const char **out_text)
{
    unsigned line = 0, column = 0;
    int read_B = 0;

    if (sscanf(at, ":%u:%u: %n", &line, &column, &read_B) == 2 && read_B)
        *out_text = at + read_B;
    else if (sscanf(at, ":%u: %n", &line, &read_B) == 1 && read_B)
        *out_text = at + read_B;
    return line;
}

void ptxas_say_status(struct ptxas *p, enum hd_status status)
{
    enum ptxas_severity severity = status == HD_BAD_VERSION ? PTXAS_FATAL : PTXAS_ERROR;
    const char *message = hd_error_message();

    p->failed = true;
    for (size_t i = 0; i < p->inputs.len; i++) {
        const char *name = p->inputs.at[i].name, *text = NULL;
        size_t len = strlen(name);
        unsigned line = strncmp(message, name, len) ? 0 : place_read(message + len, &text);

        if (!text)
            continue;
        hd_buf_printf(&p->error, "ptxas %s, line %u; %s : %s\n", name, line, severities[severity],
                      text);
        return;
    }
    ptxas_say(p, severity, "%s", message);
}
