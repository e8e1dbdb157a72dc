/* What was found so far: counts, root causes, what is suppressed, and what is printed of it. */
#include "check/check.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "san/tool.h"

static const enum san_severity session_levels[] = {
    [LEVEL_AUTO] = SAN_WARNING, [LEVEL_INFO] = SAN_INFO,   [LEVEL_WARN] = SAN_WARNING,
    [LEVEL_ERROR] = SAN_ERROR,  [LEVEL_FATAL] = SAN_FATAL,
};

void check_session_init(struct check_session *s, const struct check_options *options)
{
    *s = (struct check_session){.options = options,
                                .out = stdout,
                                .tools = options->san.tools,
                                .leak_check = options->san.leak_check == SAN_LEAK_FULL,
                                .status = -1};
    hd_map_init(&s->by_hash);
    hd_map_init(&s->by_key);
    hd_arena_init(&s->keys);
}

static void session_free_record(struct check_record *record)
{
    if (record)
        check_record_fini(record);
    hd_free(record);
}

void check_session_fini(struct check_session *s)
{
    for (size_t i = 0; i < s->causes.len; i++) {
        session_free_record(s->causes.at[i].first);
        hd_vec_fini(&s->causes.at[i].more);
    }
    hd_vec_fini(&s->causes);
    hd_vec_fini(&s->groups);
    hd_vec_fini(&s->notes);
    hd_map_fini(&s->by_hash);
    hd_map_fini(&s->by_key);
    hd_arena_fini(&s->keys);
}

/* ---- lines */

void check_line(struct check_session *s, const char *fmt, ...)
{
    va_list args;

    fprintf(s->out, "%s ", s->options->prefix);
    va_start(args, fmt);
    vfprintf(s->out, fmt, args);
    va_end(args);
    putc('\n', s->out);
}

/* What comes from the program must not speak to the terminal. */
static void session_defuse(struct hd_buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)text->ptr[i] < ' ' && text->ptr[i] != '\n')
            text->ptr[i] = '?';
}

static const char *const session_colors[] = {[SAN_INFO] = "\033[36m",
                                             [SAN_WARNING] = "\033[1;33m",
                                             [SAN_ERROR] = "\033[1;31m",
                                             [SAN_FATAL] = "\033[1;31m"};

/* A finding, or the group that it stands for. */
static void session_print(struct check_session *s, const struct check_finding *f,
                          const struct check_group *group)
{
    struct hd_buf text = {0};
    const char *color = s->colors ? session_colors[f->severity] : "";

    check_text_finding(s->options, f, group, &text);
    session_defuse(&text);
    for (const char *at = text.ptr ? text.ptr : ""; *at; color = "") {
        size_t len = strcspn(at, "\n");
        check_line(s, "%s%.*s%s", color, (int)len, at, *color ? "\033[0m" : "");
        at += len + (at[len] == '\n');
    }
    check_line(s, "%s", "");
    s->has_ptx |= check_is_in_ptx(f);
    s->failed |= text.failed || fflush(s->out) != 0;
    hd_buf_fini(&text);
}

/* ---- causes */

/* NULL: no memory. */
static struct check_cause *session_cause_of(struct check_session *s, uint64_t hash)
{
    uintptr_t index = (uintptr_t)hd_map_get_u64(&s->by_hash, hash);

    assert(index <= s->causes.len);
    if (index)
        return &s->causes.at[index - 1];
    struct check_cause made = {0};
    if (!hd_vec_push(&s->causes, made))
        return NULL;
    if (!hd_map_put_u64(&s->by_hash, hash, (void *)(uintptr_t)s->causes.len)) {
        s->causes.len--;
        return NULL;
    }
    return &hd_vec_last(&s->causes);
}

/* How much a finding weighs in the totals: a race is one, whatever hazards it stands for. */
static uint64_t session_weight(const struct check_finding *f, uint64_t findings, uint64_t count)
{
    return check_is_race(f) ? findings : count;
}

static void session_add_to_totals(struct check_totals *t, const struct check_finding *f,
                                  uint64_t findings, uint64_t count)
{
    if (check_is_race(f)) {
        t->hazards += findings;
        t->hazard_errors += f->severity >= SAN_ERROR ? findings : 0;
        t->hazard_warnings += f->severity < SAN_ERROR ? findings : 0;
    } else if (strcmp(f->tool, "schedcheck") == 0) {
        t->orders += findings;
        t->order_errors += f->severity >= SAN_ERROR ? findings : 0;
    } else {
        t->errors += count;
    }
    if (check_is_leak(f)) {
        t->leaked_B += f->size_B * count;
        t->leaked_allocations += count;
    }
}

/* Without groups: at once, each by itself. */
static void session_print_alone(struct check_session *s, const struct check_finding *f)
{
    uint64_t limit = s->options->print_limit;

    if (limit && s->totals.printed >= limit) {
        s->totals.unprinted += session_weight(f, 1, f->count);
        return;
    }
    s->totals.printed++;
    session_print(s, f, NULL);
}

/* One that is neither suppressed nor hidden: it counts. */
static void session_show(struct check_session *s, struct check_cause *cause,
                         const struct check_finding *f)
{
    struct check_group *group = check_group_of(s, cause);

    assert(group && !group->suppressed);
    cause->findings++;
    cause->count += f->count;
    for (size_t i = 0; i < f->nactors; i++)
        san_extent_add_thread(&cause->extent, f->actors[i].thread, f->actors[i].block);
    if (f->has_launch)
        san_extent_add_launch(&cause->extent, f->launch);
    if (f->has_address)
        san_extent_add_address(&cause->extent, f->address);
    cause->extent.size_B += f->size_B;
    check_group_note_address(group, f);
    group->last_ns = hd_clock_ns(CLOCK_MONOTONIC);
    group->first_ns = group->first_ns ? group->first_ns : group->last_ns;
    session_add_to_totals(&s->totals, f, 1, f->count);
    if (s->xml)
        check_xml_finding(s->options, f, s->xml);
    if (!s->options->group_findings)
        session_print_alone(s, f);
}

/* Keeps the record when it is the first of its cause. */
static enum hd_status session_take_finding(struct check_session *s, struct check_record *record,
                                           bool *out_kept)
{
    const struct check_finding *f = &record->finding;
    assert(record->kind == CHECK_FINDING && f->severity < SAN_SEVERITY_COUNT);
    struct check_cause *cause = session_cause_of(s, f->cause);

    if (!cause)
        return hd_error(HD_NO_MEMORY, "out of memory");
    bool suppressed = check_rules_match(s->rules, f);
    bool hidden = f->severity < session_levels[s->options->print_level];
    /* One that is shown stands for the cause rather than one that is not. */
    if (!cause->first || ((cause->suppressed || cause->hidden) && !suppressed && !hidden)) {
        session_free_record(cause->first);
        cause->first = record;
        cause->suppressed = suppressed;
        cause->hidden = hidden;
        *out_kept = true;
    }
    if (*out_kept && !hidden && !check_group_join(s, cause))
        return hd_error(HD_NO_MEMORY, "out of memory");
    if (suppressed)
        s->totals.suppressed += session_weight(f, 1, f->count);
    else if (!hidden)
        session_show(s, cause, f);
    return HD_OK;
}

/* ---- what was only counted */

static enum hd_status session_take_more(struct check_session *s, const struct check_record *record)
{
    struct check_cause *cause = session_cause_of(s, record->cause);
    struct check_more more = {record->pid, record->findings, record->count, record->extent};
    struct check_group *group = cause ? check_group_of(s, cause) : NULL;

    if (group)
        group->last_ns = hd_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; cause && i < cause->more.len; i++)
        if (cause->more.at[i].pid == record->pid) {
            cause->more.at[i] = more;
            return HD_OK;
        }
    if (!cause || !hd_vec_push(&cause->more, more))
        return hd_error(HD_NO_MEMORY, "out of memory");
    return HD_OK;
}

/* The process of a number that another one had before: what that one told stays. */
static void session_retire_more(struct check_session *s, uint64_t pid)
{
    for (size_t i = 0; i < s->causes.len; i++)
        for (size_t m = 0; m < s->causes.at[i].more.len; m++)
            if (s->causes.at[i].more.at[m].pid == pid)
                s->causes.at[i].more.at[m].pid = 0;
}

static void session_total_more(struct check_session *s, struct check_cause *cause,
                               const struct check_more *more)
{
    static const struct check_finding unknown = {.tool = "", .kind = "", .severity = SAN_ERROR};
    const struct check_finding *f = cause->first ? &cause->first->finding : &unknown;
    uint64_t heavy = session_weight(f, more->findings, more->count);

    if (cause->suppressed) {
        s->totals.suppressed += heavy;
    } else if (!cause->hidden) {
        cause->findings += more->findings;
        cause->count += more->count;
        san_extent_join(&cause->extent, &more->extent);
        session_add_to_totals(&s->totals, f, more->findings, more->count);
        if (!cause->group || !s->options->group_findings)
            s->totals.unprinted += heavy;
    }
}

/* ---- printing groups */

enum {
    QUIET_MS = 500,     /* a group of which nothing came for so long is printed, */
    PATIENCE_MS = 2000, /* and one whose first came so long ago, whatever still comes */
};

/*
 * A kernel that failed took the context along, so every later call fails, too, with its error: the
 * first call that tells of it is a finding, those behind it are only counted.
 */
static bool session_is_aftermath(struct check_session *s, const struct check_group *group)
{
    static const int64_t lasting[] = {700, 702, 710, 714, 715, 716, 717, 718, 719};
    const struct check_finding *f = group->first;
    bool is_lasting = false;

    for (size_t i = 0; f->call[0] && i < HD_COUNT_OF(lasting); i++)
        is_lasting |= f->code == lasting[i];
    if (!is_lasting)
        return false;
    s->lasting = s->lasting ? s->lasting : f;
    return s->lasting != f && s->lasting->code == f->code;
}

/* Counts are those of check_group_sum(). */
static void session_print_group(struct check_session *s, struct check_group *group)
{
    uint64_t limit = s->options->print_limit;

    assert(!group->suppressed && !group->is_printed && !group->is_beyond_limit);
    group->is_aftermath = session_is_aftermath(s, group);
    if (group->is_aftermath)
        return;
    if (limit && s->totals.printed >= limit) {
        group->is_beyond_limit = true;
        return;
    }
    group->is_printed = true;
    group->printed_findings = group->findings;
    group->printed_count = group->count;
    s->totals.printed++;
    session_print(s, group->first, group);
}

static bool session_is_waiting(const struct check_group *group)
{
    return !group->suppressed && !group->is_printed && !group->is_beyond_limit &&
           !group->is_aftermath;
}

uint64_t check_session_print_quiet(struct check_session *s, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    bool is_summed = false;

    for (size_t i = 0; s->options->group_findings && i < s->groups.len; i++) {
        struct check_group *group = &s->groups.at[i];
        uint64_t due_ns = HD_MIN(group->last_ns + QUIET_MS * 1000000ull,
                                 group->first_ns + PATIENCE_MS * 1000000ull);
        if (!session_is_waiting(group))
            continue;
        if (due_ns > now_ns) {
            next_ns = HD_MIN(next_ns, due_ns);
            continue;
        }
        if (!is_summed)
            check_group_sum(s);
        is_summed = true;
        session_print_group(s, group);
    }
    return next_ns;
}

/* What came of a group after it was printed. */
static void session_print_later(struct check_session *s, const struct check_group *group)
{
    uint64_t all = session_weight(group->first, group->findings, group->count);
    uint64_t reported = session_weight(group->first, group->printed_findings, group->printed_count);
    struct hd_buf text = {0};

    if (all <= reported)
        return;
    check_text_short(s->options, group->first, &text);
    session_defuse(&text);
    check_line(s, "%llu more time%s: %s", (unsigned long long)(all - reported),
               all - reported == 1 ? "" : "s", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

void check_session_total(struct check_session *s)
{
    for (size_t i = 0; i < s->causes.len; i++) {
        struct check_cause *cause = &s->causes.at[i];
        for (size_t m = 0; m < cause->more.len; m++)
            session_total_more(s, cause, &cause->more.at[m]);
        cause->more.len = 0;
    }
    if (s->reported.leaks) {
        s->totals.leaked_B = s->reported.leaked_B;
        s->totals.leaked_allocations = s->reported.leaked_allocations;
    }
    check_group_sum(s);
    check_group_drop_empty(s);
    for (size_t i = 0; i < s->groups.len; i++) {
        struct check_group *group = &s->groups.at[i];
        bool is_waiting = session_is_waiting(group);
        if (is_waiting && s->options->group_findings)
            session_print_group(s, group);
        else if (is_waiting) /* it was printed; pages do not show it */
            group->is_aftermath = session_is_aftermath(s, group);
        else if (group->is_printed)
            session_print_later(s, group);
        s->totals.aftermath += group->is_aftermath ? group->count : 0;
        if (group->is_beyond_limit)
            s->totals.unprinted += session_weight(group->first, group->findings, group->count);
    }
}

/* ---- records */

static void session_take_process(struct check_session *s, const struct check_record *record)
{
    if (!record->process.begins)
        return;
    s->totals.processes++;
    session_retire_more(s, record->pid);
    if (!s->options->print_session_details)
        return;
    struct hd_buf command = {0};
    for (size_t i = 0; i < record->process.narguments; i++)
        hd_buf_printf(&command, " %s", record->process.arguments[i]);
    check_line(s, "Process %llu, child of %llu: %s, started as%s", (unsigned long long)record->pid,
               (unsigned long long)record->process.parent, record->process.exe,
               command.ptr ? command.ptr : "");
    hd_buf_fini(&command);
}

/* "launches", "runs", "unfinished"; "skipped: WHY". */
static void session_take_order_summary(struct check_session *s, const struct check_record *record)
{
    struct check_note note = {.value = record->value};

    if (strcmp(record->name, "launches") == 0)
        s->totals.launches += record->value;
    else if (strcmp(record->name, "runs") == 0)
        s->totals.runs += record->value;
    else if (strcmp(record->name, "unfinished") == 0)
        s->totals.unfinished += record->value;
    if (strncmp(record->name, "skipped: ", 9))
        return;
    for (size_t i = 0; i < s->notes.len; i++)
        if (strcmp(s->notes.at[i].text, record->name + 9) == 0) {
            s->notes.at[i].value += record->value;
            return;
        }
    snprintf(note.text, sizeof(note.text), "%s", record->name + 9);
    s->failed |= !hd_vec_push(&s->notes, note);
}

/* "fault: KERNEL", "ended: KERNEL" */
static void session_take_fault(struct check_session *s, const struct check_record *record)
{
    size_t len = strlen(record->name) + 1 - 7;

    s->totals.faults++;
    if (s->fault.kernel)
        return;
    char *kernel = hd_arena_try_alloc(&s->keys, len);
    s->failed |= !kernel;
    if (kernel)
        memcpy(kernel, record->name + 7, len);
    s->fault.kernel = kernel;
    s->fault.is_reported = record->name[0] == 'e';
}

static void session_take_summary(struct check_session *s, const struct check_record *record)
{
    if (!strncmp(record->name, "fault: ", 7) || !strncmp(record->name, "ended: ", 7))
        session_take_fault(s, record);
    if (strcmp(record->name, "leaked_B") == 0)
        s->reported.leaked_B += record->value;
    else if (strcmp(record->name, "leaked_allocations") == 0)
        s->reported.leaked_allocations += record->value;
    if (strcmp(record->tool, "schedcheck") == 0)
        session_take_order_summary(s, record);
    s->reported.leaks |= strncmp(record->name, "leaked", 6) == 0;
}

static enum hd_status session_take_session(struct check_session *s,
                                           const struct check_record *record)
{
    struct san_options asked;

    if (!record->session.tools) {
        s->status = record->session.status;
        return HD_OK;
    }
    san_options_init(&asked);
    enum hd_status status =
        san_options_set(&asked, HD_STR("tools"), hd_str_from(record->session.tools));
    s->tools = asked.tools;
    s->leak_check = record->session.leak_check;
    san_options_fini(&asked);
    return status;
}

static enum hd_status session_take_record(struct check_session *s, struct check_record *record,
                                          bool *out_kept)
{
    switch (record->kind) {
    case CHECK_PROCESS:
        session_take_process(s, record);
        return HD_OK;
    case CHECK_FINDING:
        return session_take_finding(s, record, out_kept);
    case CHECK_MORE:
        return session_take_more(s, record);
    case CHECK_SUMMARY:
        session_take_summary(s, record);
        return HD_OK;
    case CHECK_LOST:
        s->totals.lost += record->count;
        return HD_OK;
    case CHECK_SESSION:
        return session_take_session(s, record);
    case CHECK_RECORD_COUNT:
        break;
    }
    return HD_CORRUPT;
}

enum hd_status check_session_take(struct check_session *s, const char *text, size_t len)
{
    struct check_record *record = hd_new(struct check_record);
    bool kept = false;

    if (!record)
        return hd_error(HD_NO_MEMORY, "out of memory");
    enum hd_status status = check_record_read(text, len, record);
    if (status != HD_OK) {
        hd_free(record);
        return status;
    }
    if (s->save)
        fprintf(s->save, "%.*s\n", (int)len, text);
    status = session_take_record(s, record, &kept);
    if (!kept)
        session_free_record(record);
    return status;
}

/* ---- the end */

static const char *session_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void session_print_orders(struct check_session *s)
{
    const struct check_totals *t = &s->totals;
    uint64_t warnings = t->orders - t->order_errors;

    if (!s->options->quiet)
        check_line(s, "%llu launch%s run again in other orders, in %llu run%s",
                   (unsigned long long)t->launches, t->launches == 1 ? " was" : "es were",
                   (unsigned long long)t->runs, session_plural(t->runs));
    for (size_t i = 0; i < s->notes.len; i++)
        check_line(s, "Launches that were not run again: %llu, which %s",
                   (unsigned long long)s->notes.at[i].value, s->notes.at[i].text);
    if (t->unfinished)
        check_line(s, "Runs that did not end in time: %llu", (unsigned long long)t->unfinished);
    check_line(s,
               "SCHEDCHECK SUMMARY: %llu result%s that depend%s on the order (%llu error%s, %llu "
               "warning%s)",
               (unsigned long long)t->orders, session_plural(t->orders), t->orders == 1 ? "s" : "",
               (unsigned long long)t->order_errors, session_plural(t->order_errors),
               (unsigned long long)warnings, session_plural(warnings));
}

/* In front of the totals, because who wants the total reads the last line. */
static void session_print_hints(struct check_session *s)
{
    static const char *const finds[] = {
        [SAN_MEMCHECK] = "memory",
        [SAN_RACECHECK] = "races",
        [SAN_INITCHECK] = "unset memory",
        [SAN_SYNCCHECK] = "barriers",
        [SAN_SCHEDCHECK] = "order of blocks",
    };
    static const char *const names[] = {
#define X(NAME, name) [SAN_##NAME] = #name,
        SAN_TOOL_LIST(X)
#undef X
    };
    struct hd_buf others = {0};

    _Static_assert(HD_COUNT_OF(finds) == SAN_TOOL_COUNT, "each tool says what it finds");
    if (s->totals.aftermath && s->options->group_findings) {
        struct hd_buf error = {0};
        assert(s->lasting);
        hd_buf_puts(&error, s->lasting->error);
        session_defuse(&error);
        check_line(s, "%llu more call%s failed with %s, as all do behind a kernel that failed",
                   (unsigned long long)s->totals.aftermath, session_plural(s->totals.aftermath),
                   error.ptr ? error.ptr : "the same");
        hd_buf_fini(&error);
    }
    if (s->has_ptx)
        check_line(
            s, "Places in ptx are lines of the PTX: build with -lineinfo for lines of the source");
    if (s->options->tool_named || s->options->read || !s->totals.processes)
        return;
    for (unsigned i = 0; i < SAN_TOOL_COUNT; i++)
        if (!(s->tools & 1u << i))
            hd_buf_printf(&others, "%s%s (%s)", others.len ? ", " : "", names[i], finds[i]);
    check_line(s, "Only memcheck ran. Others by --tool: %s; or all", others.ptr ? others.ptr : "");
    hd_buf_fini(&others);
}

void check_session_unchecked(const struct check_session *s, struct hd_buf *out)
{
    const char *kernel = s->fault.kernel ? s->fault.kernel : "";
    bool is_reported = s->fault.is_reported || s->tools & 1u << SAN_MEMCHECK;

    if (!s->totals.faults)
        return;
    if (*kernel)
        hd_buf_printf(out, "Kernel %s failed", check_demangle(kernel, s->options->demangle));
    else
        hd_buf_puts(out, "A copy failed");
    if (s->totals.faults > 1)
        hd_buf_printf(out, " (and %llu more)", (unsigned long long)s->totals.faults - 1);
    hd_buf_printf(out,
                  " and ended its context: what came after it did not run and was not "
                  "checked. %s",
                  is_reported ? "Mend that, then check again"
                              : "Run --tool memcheck first and mend what it finds");
    session_defuse(out);
}

void check_session_print_summary(struct check_session *s)
{
    struct hd_buf unchecked = {0};
    const struct check_totals *t = &s->totals;
    assert(t->hazards == t->hazard_errors + t->hazard_warnings);
    unsigned errors = 1u << SAN_MEMCHECK | 1u << SAN_INITCHECK | 1u << SAN_SYNCCHECK;

    if (!s->options->quiet)
        session_print_hints(s);
    if ((s->tools & 1u << SAN_MEMCHECK) && s->leak_check)
        check_line(s, "LEAK SUMMARY: %llu bytes leaked in %llu allocations",
                   (unsigned long long)t->leaked_B, (unsigned long long)t->leaked_allocations);
    if (s->tools & 1u << SAN_RACECHECK)
        check_line(s, "RACECHECK SUMMARY: %llu hazard%s displayed (%llu error%s, %llu warning%s)",
                   (unsigned long long)t->hazards, session_plural(t->hazards),
                   (unsigned long long)t->hazard_errors, session_plural(t->hazard_errors),
                   (unsigned long long)t->hazard_warnings, session_plural(t->hazard_warnings));
    if (s->tools & 1u << SAN_SCHEDCHECK)
        session_print_orders(s);
    /* The last total of several tools is that of all: who reads nothing else must not read 0. */
    uint64_t all = t->errors + t->hazard_errors + t->order_errors;
    if ((s->tools & errors) || t->errors)
        check_line(s, "ERROR SUMMARY: %llu error%s", (unsigned long long)all, session_plural(all));
    if (t->unprinted)
        check_line(s,
                   "ERROR SUMMARY: %llu error%s were not printed. Use --print-limit option to "
                   "adjust the number of printed errors",
                   (unsigned long long)t->unprinted, session_plural(t->unprinted));
    if (t->suppressed)
        check_line(s, "SUPPRESSION SUMMARY: %llu error%s suppressed",
                   (unsigned long long)t->suppressed, session_plural(t->suppressed));
    if (t->lost)
        check_line(s, "Warning: %llu record%s of the program did not arrive in time",
                   (unsigned long long)t->lost, session_plural(t->lost));
    check_session_unchecked(s, &unchecked); /* last: the totals are not those of the program */
    if (unchecked.len)
        check_line(s, "Warning: %s", unchecked.ptr);
    hd_buf_fini(&unchecked);
}
