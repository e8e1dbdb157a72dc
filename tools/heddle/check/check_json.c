/* Causes and totals as JSON. docs/check.md has the members. */
#include "check/check.h"

#include <assert.h>
#include <string.h>

#include "base/text/json.h"
#include "base/mem.h"
#include "san/tool.h"

static void put_actor(struct hd_json *j, const struct check_actor *actor)
{
    assert(actor->nplaces);
    hd_json_open(j, NULL, '{');
    if (actor->verb[0])
        hd_json_str(j, "what", actor->verb);
    hd_json_index(j, "thread", actor->thread);
    hd_json_index(j, "block", actor->block);
    hd_json_hex(j, "pc", actor->pc);
    hd_json_open(j, "places", '[');
    for (size_t i = 0; i < actor->nplaces; i++) {
        const struct check_srcloc *srcloc = &actor->srclocs[i];
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "function", check_demangle(srcloc->func, DEMANGLE_FULL));
        hd_json_str(j, "mangled", srcloc->func);
        hd_json_str(j, "file", srcloc->file[0] ? srcloc->file : NULL);
        hd_json_u64(j, "line", srcloc->line);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

static void put_stack(struct hd_json *j, const char *key, const struct check_stack *stack)
{
    if (!stack->n)
        return;
    hd_json_open(j, key, '[');
    for (size_t i = 0; i < stack->n; i++) {
        const struct check_frame *frame = &stack->frames[i];
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "function", check_demangle(check_frame_func(frame), DEMANGLE_FULL));
        hd_json_str(j, "module", frame->module[0] ? frame->module : NULL);
        hd_json_hex(j, "pc", frame->pc);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void put_launch(struct hd_json *j, const struct check_finding *f)
{
    if (!f->has_launch)
        return;
    hd_json_open(j, "launch", '{');
    hd_json_u64(j, "number", f->launch);
    hd_json_str(j, "kernel", check_demangle(f->kernel, DEMANGLE_FULL));
    hd_json_str(j, "mangled", f->kernel);
    hd_json_index(j, "grid", f->grid);
    hd_json_index(j, "block", f->block);
    hd_json_close(j, '}');
}

static void put_call(struct hd_json *j, const struct check_finding *f)
{
    if (!f->call[0])
        return;
    hd_json_open(j, "call", '{');
    hd_json_str(j, "name", f->call);
    hd_json_str(j, "error", f->error);
    hd_json_str(j, "message", f->message);
    hd_json_i64(j, "code", f->code);
    hd_json_close(j, '}');
}

static void put_access(struct hd_json *j, const struct check_finding *f)
{
    if (f->has_address)
        hd_json_hex(j, "address", f->address);
    if (f->space[0])
        hd_json_str(j, "space", f->space);
    if (f->direction[0])
        hd_json_str(j, "direction", f->direction);
    if (f->size_B)
        hd_json_u64(j, "size_B", f->size_B);
}

static void put_sides(struct hd_json *j, const struct check_finding *f)
{
    if (!f->nsides)
        return;
    hd_json_open(j, "calls", '[');
    for (size_t i = 0; i < f->nsides; i++) {
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "what", f->sides[i].verb);
        hd_json_str(j, "name", f->sides[i].name);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void put_finding(struct hd_json *j, const struct check_finding *f, enum san_severity worst)
{
    hd_json_str(j, "tool", f->tool);
    hd_json_str(j, "kind", f->kind);
    hd_json_str(j, "severity", san_severity_words[worst]);
    hd_json_str(j, "title", f->title);
    put_access(j, f);
    put_launch(j, f);
    put_call(j, f);
    hd_json_open(j, "threads", '[');
    for (size_t i = 0; i < f->nactors; i++)
        put_actor(j, &f->actors[i]);
    hd_json_close(j, ']');
    put_sides(j, f);
    hd_json_open(j, "details", '[');
    for (size_t i = 0; i < f->ndetails; i++)
        hd_json_str(j, NULL, f->details[i]);
    hd_json_close(j, ']');
    put_stack(j, "launched_at", &f->launched);
    put_stack(j, "called_at", &f->host);
    put_stack(j, "other_called_at", &f->other);
    put_stack(j, "allocated_at", &f->allocated);
    put_stack(j, "freed_at", &f->freed);
}

static void put_group(struct hd_json *j, const struct check_group *group)
{
    assert(group->first && group->severity < SAN_SEVERITY_COUNT);
    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "findings", group->findings);
    hd_json_u64(j, "count", group->count);
    hd_json_u64(j, "instructions", group->causes);
    hd_json_bool(j, "suppressed", group->suppressed);
    put_finding(j, group->first, group->severity);
    hd_json_close(j, '}');
}

static void put_totals(struct hd_json *j, const struct check_totals *t)
{
    hd_json_open(j, "totals", '{');
    hd_json_u64(j, "errors", t->errors);
    hd_json_u64(j, "hazards", t->hazards);
    hd_json_u64(j, "hazard_errors", t->hazard_errors);
    hd_json_u64(j, "hazard_warnings", t->hazard_warnings);
    hd_json_u64(j, "orders", t->orders);
    hd_json_u64(j, "order_errors", t->order_errors);
    hd_json_u64(j, "leaked_B", t->leaked_B);
    hd_json_u64(j, "leaked_allocations", t->leaked_allocations);
    hd_json_u64(j, "suppressed", t->suppressed);
    hd_json_u64(j, "records_lost", t->lost);
    hd_json_u64(j, "processes", t->processes);
    hd_json_close(j, '}');
}

/* What the totals leave out; NULL: nothing. */
static void put_unchecked(struct hd_json *j, const struct check_session *s)
{
    const char *kernel = s->fault.kernel ? s->fault.kernel : "";
    struct hd_buf text = {0};

    check_session_unchecked(s, &text);
    if (text.len) {
        hd_json_open(j, "unchecked", '{');
        hd_json_str(j, "message", text.ptr);
        hd_json_str(j, "kernel", *kernel ? check_demangle(kernel, DEMANGLE_FULL) : NULL);
        hd_json_str(j, "mangled", *kernel ? kernel : NULL);
        hd_json_u64(j, "contexts", s->totals.faults);
        hd_json_close(j, '}');
    } else {
        hd_json_str(j, "unchecked", NULL);
    }
    hd_buf_fini(&text);
}

static void put_tools(struct hd_json *j, unsigned tools)
{
    hd_json_open(j, "tools", '[');
#define X(NAME, name)                                                                              \
    if (tools & 1u << SAN_##NAME)                                                                  \
        hd_json_str(j, NULL, #name);
    SAN_TOOL_LIST(X)
#undef X
    hd_json_close(j, ']');
}

enum hd_status check_json_write(const struct check_session *s, const char *path)
{
    struct hd_json j;

    hd_json_init(&j);
    hd_json_open(&j, NULL, '{');
    hd_json_u64(&j, "version", 1);
    put_tools(&j, s->tools);
    hd_json_open(&j, "command", '[');
    for (char **word = s->options->command; *word; word++)
        hd_json_str(&j, NULL, *word);
    hd_json_close(&j, ']');
    put_totals(&j, &s->totals);
    put_unchecked(&j, s);
    hd_json_open(&j, "causes", '[');
    for (size_t i = 0; i < s->groups.len; i++)
        put_group(&j, &s->groups.at[i]);
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    hd_buf_putc(&j.buf, '\n');
    enum hd_status status = j.buf.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                                         : hd_file_write(path, j.buf.ptr, j.buf.len);
    hd_buf_fini(&j.buf);
    return status;
}
