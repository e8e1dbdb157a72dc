/* What was found so far: counts, root causes, what is suppressed, and what is printed of it. */
#include "check/check.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "san/tool.h"

static const enum san_severity levels[] = {
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
}

static void record_free(struct check_record *record)
{
    if (record)
        check_record_fini(record);
    hd_free(record);
}

void check_session_fini(struct check_session *s)
{
    for (size_t i = 0; i < s->causes.len; i++) {
        record_free(s->causes.at[i].first);
        hd_vec_fini(&s->causes.at[i].more);
    }
    hd_vec_fini(&s->causes);
    hd_vec_fini(&s->groups);
    hd_vec_fini(&s->notes);
    hd_map_fini(&s->by_hash);
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
static void defuse(struct hd_buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)text->ptr[i] < ' ' && text->ptr[i] != '\n')
            text->ptr[i] = '?';
}

static void print_finding(struct check_session *s, const struct check_finding *f)
{
    struct hd_buf text = {0};

    check_text_finding(s->options, f, &text);
    defuse(&text);
    for (const char *at = text.ptr ? text.ptr : ""; *at;) {
        size_t len = strcspn(at, "\n");
        check_line(s, "%.*s", (int)len, at);
        at += len + (at[len] == '\n');
    }
    check_line(s, "%s", "");
    s->failed |= text.failed || fflush(s->out) != 0;
    hd_buf_fini(&text);
}

/* ---- causes */

/* NULL: no memory. */
static struct check_cause *cause_of(struct check_session *s, uint64_t hash)
{
    uintptr_t index = (uintptr_t)hd_map_get_u64(&s->by_hash, hash);

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

static bool is_race(const struct check_finding *f)
{
    return strcmp(f->tool, "racecheck") == 0;
}

static bool is_of_order(const struct check_finding *f)
{
    return strcmp(f->tool, "schedcheck") == 0;
}

/* How much a finding weighs in the totals: a race is one, whatever hazards it stands for. */
static uint64_t weight(const struct check_finding *f, uint64_t findings, uint64_t count)
{
    return is_race(f) ? findings : count;
}

static void add_to_totals(struct check_totals *t, const struct check_finding *f, uint64_t findings,
                          uint64_t count)
{
    if (is_race(f)) {
        t->hazards += findings;
        t->hazard_errors += f->severity >= SAN_ERROR ? findings : 0;
        t->hazard_warnings += f->severity < SAN_ERROR ? findings : 0;
    } else if (is_of_order(f)) {
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

static void show_finding(struct check_session *s, const struct check_finding *f)
{
    const struct check_options *o = s->options;

    add_to_totals(&s->totals, f, 1, f->count);
    if (s->xml)
        check_xml_finding(o, f, s->xml);
    if (o->print_limit && s->totals.printed >= o->print_limit) {
        s->totals.unprinted += weight(f, 1, f->count);
        return;
    }
    s->totals.printed++;
    print_finding(s, f);
}

/* Keeps the record when it is the first of its cause. */
static enum hd_status take_finding(struct check_session *s, struct check_record *record,
                                   bool *out_kept)
{
    const struct check_finding *f = &record->finding;
    struct check_cause *cause = cause_of(s, f->cause);

    if (!cause)
        return hd_error(HD_NO_MEMORY, "out of memory");
    bool suppressed = check_rules_match(s->rules, f);
    bool hidden = f->severity < levels[s->options->print_level];
    /* One that is shown stands for the cause rather than one that is not. */
    if (!cause->first || ((cause->suppressed || cause->hidden) && !suppressed && !hidden)) {
        record_free(cause->first);
        cause->first = record;
        cause->suppressed = suppressed;
        cause->hidden = hidden;
        *out_kept = true;
    }
    if (suppressed) {
        s->totals.suppressed += weight(f, 1, f->count);
        cause->suppressed_findings++;
    } else if (!hidden) {
        cause->findings++;
        cause->count += f->count;
        show_finding(s, f);
    }
    return HD_OK;
}

/* ---- what was only counted */

static enum hd_status take_more(struct check_session *s, const struct check_record *record)
{
    struct check_cause *cause = cause_of(s, record->cause);
    struct check_more more = {record->pid, record->findings, record->count};

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
static void retire_more(struct check_session *s, uint64_t pid)
{
    for (size_t i = 0; i < s->causes.len; i++)
        for (size_t m = 0; m < s->causes.at[i].more.len; m++)
            if (s->causes.at[i].more.at[m].pid == pid)
                s->causes.at[i].more.at[m].pid = 0;
}

static void total_more(struct check_session *s, struct check_cause *cause,
                       const struct check_more *more)
{
    static const struct check_finding unknown = {.tool = "", .kind = "", .severity = SAN_ERROR};
    const struct check_finding *f = cause->first ? &cause->first->finding : &unknown;
    uint64_t heavy = weight(f, more->findings, more->count);

    if (cause->suppressed) {
        s->totals.suppressed += heavy;
    } else if (!cause->hidden) {
        cause->findings += more->findings;
        cause->count += more->count;
        add_to_totals(&s->totals, f, more->findings, more->count);
        s->totals.unprinted += heavy;
    }
}

/* ---- groups */

static void put_key(struct hd_buf *key, const char *text)
{
    hd_buf_append(key, text, strlen(text) + 1);
}

/* Tool, kind and lines; of what is the host's affair alone, the cause. */
static void make_key(const struct check_cause *cause, struct hd_buf *key)
{
    const struct check_finding *f = &cause->first->finding;

    hd_buf_clear(key);
    hd_buf_putc(key, cause->suppressed ? 's' : ' ');
    put_key(key, f->tool);
    put_key(key, f->kind);
    for (size_t i = 0; i < f->nactors; i++) {
        put_key(key, f->actors[i].places[0].file);
        put_key(key, f->actors[i].places[0].func);
        hd_buf_printf(key, "%u", f->actors[i].places[0].line);
    }
    for (size_t i = 0; i < f->nsides; i++) {
        put_key(key, f->sides[i].verb);
        put_key(key, f->sides[i].name);
    }
    if (!f->nactors || !f->actors[0].places[0].file[0])
        hd_buf_printf(key, "%llx", (unsigned long long)f->cause);
}

static bool add_to_group(struct check_session *s, struct hd_map *by_key, struct hd_arena *keys,
                         const struct check_cause *cause, const struct hd_buf *key)
{
    struct check_group made = {.first = &cause->first->finding, .suppressed = cause->suppressed};
    uintptr_t index = (uintptr_t)hd_map_get(by_key, (struct hd_str){key->ptr, key->len});

    if (key->failed)
        return false;
    if (!index) {
        char *kept = hd_arena_try_alloc(keys, key->len);
        if (!kept || !hd_vec_push(&s->groups, made))
            return false;
        memcpy(kept, key->ptr, key->len);
        index = s->groups.len;
        if (!hd_map_put(by_key, (struct hd_str){kept, key->len}, (void *)index))
            return false;
    }
    struct check_group *group = &s->groups.at[index - 1];
    group->findings += cause->findings;
    group->count += cause->count;
    group->causes++;
    group->severity = HD_MAX(group->severity, cause->first->finding.severity);
    return true;
}

static bool make_groups(struct check_session *s)
{
    struct hd_map by_key;
    struct hd_arena keys;
    struct hd_buf key = {0};
    bool made = true;

    hd_map_init(&by_key);
    hd_arena_init(&keys);
    for (size_t i = 0; i < s->causes.len && made; i++) {
        const struct check_cause *cause = &s->causes.at[i];
        if (!cause->first || cause->hidden)
            continue;
        make_key(cause, &key);
        made = add_to_group(s, &by_key, &keys, cause, &key);
    }
    hd_buf_fini(&key);
    hd_arena_fini(&keys);
    hd_map_fini(&by_key);
    return made;
}

bool check_session_total(struct check_session *s)
{
    for (size_t i = 0; i < s->causes.len; i++) {
        struct check_cause *cause = &s->causes.at[i];
        for (size_t m = 0; m < cause->more.len; m++)
            total_more(s, cause, &cause->more.at[m]);
        cause->more.len = 0;
    }
    if (s->told.leaks) {
        s->totals.leaked_B = s->told.leaked_B;
        s->totals.leaked_allocations = s->told.leaked_allocations;
    }
    return make_groups(s);
}

/* ---- records */

static void take_process(struct check_session *s, const struct check_record *record)
{
    if (!record->process.begins)
        return;
    s->totals.processes++;
    retire_more(s, record->pid);
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
static void take_order_summary(struct check_session *s, const struct check_record *record)
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

static void take_summary(struct check_session *s, const struct check_record *record)
{
    if (strcmp(record->name, "leaked_B") == 0)
        s->told.leaked_B += record->value;
    else if (strcmp(record->name, "leaked_allocations") == 0)
        s->told.leaked_allocations += record->value;
    if (strcmp(record->tool, "schedcheck") == 0)
        take_order_summary(s, record);
    s->told.leaks |= strncmp(record->name, "leaked", 6) == 0;
}

static enum hd_status take_session(struct check_session *s, const struct check_record *record)
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

static enum hd_status take_record(struct check_session *s, struct check_record *record,
                                  bool *out_kept)
{
    switch (record->kind) {
    case CHECK_PROCESS:
        take_process(s, record);
        return HD_OK;
    case CHECK_FINDING:
        return take_finding(s, record, out_kept);
    case CHECK_MORE:
        return take_more(s, record);
    case CHECK_SUMMARY:
        take_summary(s, record);
        return HD_OK;
    case CHECK_LOST:
        s->totals.lost += record->count;
        return HD_OK;
    case CHECK_SESSION:
        return take_session(s, record);
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
    status = take_record(s, record, &kept);
    if (!kept)
        record_free(record);
    return status;
}

/* ---- the end */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_orders(struct check_session *s)
{
    const struct check_totals *t = &s->totals;
    uint64_t warnings = t->orders - t->order_errors;

    if (!s->options->quiet)
        check_line(s, "%llu launch%s run again in other orders, in %llu run%s",
                   (unsigned long long)t->launches, t->launches == 1 ? " was" : "es were",
                   (unsigned long long)t->runs, plural(t->runs));
    for (size_t i = 0; i < s->notes.len; i++)
        check_line(s, "Launches that were not run again: %llu, which %s",
                   (unsigned long long)s->notes.at[i].value, s->notes.at[i].text);
    if (t->unfinished)
        check_line(s, "Runs that did not end in time: %llu", (unsigned long long)t->unfinished);
    check_line(s,
               "SCHEDCHECK SUMMARY: %llu result%s that depend%s on the order (%llu error%s, %llu "
               "warning%s)",
               (unsigned long long)t->orders, plural(t->orders), t->orders == 1 ? "s" : "",
               (unsigned long long)t->order_errors, plural(t->order_errors),
               (unsigned long long)warnings, plural(warnings));
}

void check_session_print_summary(struct check_session *s)
{
    const struct check_totals *t = &s->totals;
    unsigned errors = 1u << SAN_MEMCHECK | 1u << SAN_INITCHECK | 1u << SAN_SYNCCHECK;

    if ((s->tools & 1u << SAN_MEMCHECK) && s->leak_check)
        check_line(s, "LEAK SUMMARY: %llu bytes leaked in %llu allocations",
                   (unsigned long long)t->leaked_B, (unsigned long long)t->leaked_allocations);
    if (s->tools & 1u << SAN_RACECHECK)
        check_line(s, "RACECHECK SUMMARY: %llu hazard%s displayed (%llu error%s, %llu warning%s)",
                   (unsigned long long)t->hazards, plural(t->hazards),
                   (unsigned long long)t->hazard_errors, plural(t->hazard_errors),
                   (unsigned long long)t->hazard_warnings, plural(t->hazard_warnings));
    if (s->tools & 1u << SAN_SCHEDCHECK)
        print_orders(s);
    /* The last total of several tools is that of all: who reads nothing else must not read 0. */
    uint64_t all = t->errors + t->hazard_errors + t->order_errors;
    if ((s->tools & errors) || t->errors)
        check_line(s, "ERROR SUMMARY: %llu error%s", (unsigned long long)all, plural(all));
    if (t->unprinted)
        check_line(s,
                   "ERROR SUMMARY: %llu error%s were not printed. Use --print-limit option to "
                   "adjust the number of printed errors",
                   (unsigned long long)t->unprinted, plural(t->unprinted));
    if (t->suppressed)
        check_line(s, "SUPPRESSION SUMMARY: %llu error%s suppressed",
                   (unsigned long long)t->suppressed, plural(t->suppressed));
    if (t->lost)
        check_line(s, "Warning: %llu record%s of the program did not arrive in time",
                   (unsigned long long)t->lost, plural(t->lost));
}
