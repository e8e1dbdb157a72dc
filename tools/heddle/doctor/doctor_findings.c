/* What doctor has found out about a program: problems and notes. */
#include "doctor/doctor.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void push_text(struct doctor_report *report, bool problem, const char *fmt, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), fmt, args);
    const char *kept = hd_arena_strndup(&report->arena, text, strlen(text));
    (void)(problem ? hd_vec_push(&report->problems, kept) : hd_vec_push(&report->notes, kept));
}

void doctor_problem(struct doctor_report *report, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    push_text(report, true, fmt, args);
    va_end(args);
}

void doctor_note(struct doctor_report *report, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    push_text(report, false, fmt, args);
    va_end(args);
}

const char *doctor_state_text(enum doctor_state state)
{
    static const char *const texts[] = {"supported", "not supported yet", "missing", "unknown"};
    assert(state < HD_COUNT_OF(texts));
    return texts[state];
}

void doctor_report_fini(struct doctor_report *r)
{
    hd_vec_fini(&r->entries);
    hd_vec_fini(&r->libraries);
    hd_vec_fini(&r->forms);
    hd_vec_fini(&r->parsed);
    hd_vec_fini(&r->problems);
    hd_vec_fini(&r->notes);
    hd_arena_fini(&r->arena);
    program_close(&r->program);
}
