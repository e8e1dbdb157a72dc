/* A record's text to the structures of check.h. What a record must have and lacks is an error. */
#include "check/check.h"

#include <assert.h>
#include <string.h>

#include "common/json_read.h"

static const char *const kinds[] = {
#define X(name, word) word,
    CHECK_RECORD_LIST(X)
#undef X
};

static enum hd_status record_lacks(const char *what)
{
    return hd_error(HD_CORRUPT, "the record lacks '%s', or it is of another kind", what);
}

/* ---- parts */

static enum hd_status record_text_of(const struct json_value *from, const char *key,
                                     const char **out)
{
    *out = json_text(json_get(from, key), NULL);
    return *out ? HD_OK : record_lacks(key);
}

static enum hd_status record_number_of(const struct json_value *from, const char *key,
                                       uint64_t *out)
{
    const struct json_value *value = json_get(from, key);

    *out = json_number(value, 0);
    return value && *out == json_number(value, 1) ? HD_OK : record_lacks(key);
}

static enum hd_status record_word_of(const struct json_value *from, const char *key,
                                     const char *const *words, size_t n, unsigned *out)
{
    const char *word;

    HD_TRY(record_text_of(from, key, &word));
    for (*out = 0; *out < n; ++*out)
        if (strcmp(words[*out], word) == 0)
            return HD_OK;
    return record_lacks(key);
}

static enum hd_status record_triple_of(const struct json_value *from, const char *key,
                                       uint32_t out[3])
{
    const struct json_value *list = json_get(from, key);
    int n = 0;

    if (!list || list->kind != JSON_ARRAY || list->len != 3)
        return record_lacks(key);
    json_foreach(it, list)
    {
        if (it->kind != JSON_NUMBER || it->is || it->number > UINT32_MAX)
            return record_lacks(key);
        out[n++] = (uint32_t)it->number;
    }
    return HD_OK;
}

/* An array of the key's elements; *out_n of them. */
static void *record_array_of(struct hd_arena *arena, const struct json_value *list, size_t elem_B,
                             size_t *out_n)
{
    bool is = list && list->kind == JSON_ARRAY && list->len;

    *out_n = is ? list->len : 0;
    return is ? hd_arena_try_alloc_array(arena, list->len, elem_B) : NULL;
}

static enum hd_status record_stack_of(struct hd_arena *arena, const struct json_value *from,
                                      const char *key, struct check_stack *out)
{
    const struct json_value *list = json_get(from, key);
    size_t n = 0;

    out->frames = record_array_of(arena, list, sizeof(*out->frames), &out->n);
    if (out->n && !out->frames)
        return hd_error(HD_NO_MEMORY, "out of memory");
    json_foreach(it, out->n ? list : NULL)
    {
        assert(n < out->n);
        struct check_frame *frame = &out->frames[n++];
        HD_TRY(record_number_of(it, "pc", &frame->pc));
        frame->module = json_text(json_get(it, "module"), "");
        frame->func = json_text(json_get(it, "func"), "");
    }
    return HD_OK;
}

static enum hd_status record_srclocs_of(struct hd_arena *arena, const struct json_value *from,
                                        struct check_actor *out)
{
    const struct json_value *list = json_get(from, "device");
    size_t n = 0;

    out->srclocs = record_array_of(arena, list, sizeof(*out->srclocs), &out->nplaces);
    if (!out->srclocs)
        return record_lacks("device");
    json_foreach(it, list)
    {
        assert(n < out->nplaces);
        struct check_srcloc *srcloc = &out->srclocs[n++];
        HD_TRY(record_text_of(it, "func", &srcloc->func));
        srcloc->file = json_text(json_get(it, "file"), "");
        srcloc->line = (uint32_t)json_number(json_get(it, "line"), 0);
        srcloc->column = (uint32_t)json_number(json_get(it, "column"), 0);
    }
    return HD_OK;
}

static enum hd_status record_actors_of(struct hd_arena *arena, const struct json_value *from,
                                       struct check_finding *f)
{
    const struct json_value *list = json_get(from, "actors");

    if (!list || list->kind != JSON_ARRAY || list->len > CHECK_ACTORS_MAX)
        return record_lacks("actors");
    json_foreach(it, list)
    {
        assert(f->nactors < CHECK_ACTORS_MAX);
        struct check_actor *actor = &f->actors[f->nactors++];
        HD_TRY(record_triple_of(it, "thread", actor->thread));
        HD_TRY(record_triple_of(it, "block", actor->block));
        HD_TRY(record_number_of(it, "pc", &actor->pc));
        HD_TRY(record_srclocs_of(arena, it, actor));
        actor->verb = json_text(json_get(it, "verb"), "");
    }
    return HD_OK;
}

static enum hd_status record_sides_of(const struct json_value *from, struct check_finding *f)
{
    const struct json_value *list = json_get(from, "sides");

    if (!list)
        return HD_OK;
    if (list->kind != JSON_ARRAY || list->len > CHECK_ACTORS_MAX - f->nactors)
        return record_lacks("sides");
    json_foreach(it, list)
    {
        assert(f->nactors + f->nsides < CHECK_ACTORS_MAX);
        HD_TRY(record_text_of(it, "verb", &f->sides[f->nsides].verb));
        HD_TRY(record_text_of(it, "name", &f->sides[f->nsides].name));
        f->nsides++;
    }
    return HD_OK;
}

static enum hd_status record_details_of(const struct json_value *from, struct check_finding *f)
{
    const struct json_value *list = json_get(from, "details");

    if (!list || list->kind != JSON_ARRAY || list->len > SAN_DETAILS_MAX)
        return record_lacks("details");
    json_foreach(it, list)
    {
        if (it->kind != JSON_TEXT)
            return record_lacks("details");
        assert(f->ndetails < SAN_DETAILS_MAX);
        f->details[f->ndetails++] = it->text;
    }
    return HD_OK;
}

static enum hd_status record_launch_of(const struct json_value *from, struct check_finding *f)
{
    const struct json_value *launch = json_get(from, "launch");

    f->kernel = "";
    if (!launch)
        return HD_OK;
    f->has_launch = true;
    HD_TRY(record_number_of(launch, "number", &f->launch));
    HD_TRY(record_text_of(launch, "kernel", &f->kernel));
    HD_TRY(record_triple_of(launch, "grid", f->grid));
    return record_triple_of(launch, "block", f->block);
}

static enum hd_status record_call_of(const struct json_value *from, struct check_finding *f)
{
    const struct json_value *call = json_get(from, "call");

    f->call = f->error = f->message = "";
    if (!call)
        return HD_OK;
    f->error = json_text(json_get(call, "error"), "");
    f->message = json_text(json_get(call, "message"), "");
    f->code = json_signed(json_get(call, "code"), 0);
    return record_text_of(call, "name", &f->call);
}

/* ---- the records */

static enum hd_status record_read_finding(const struct json_value *from, struct check_record *r)
{
    struct check_finding *f = &r->finding;
    unsigned severity;

    HD_TRY(record_number_of(from, "cause", &f->cause));
    HD_TRY(record_text_of(from, "tool", &f->tool));
    HD_TRY(record_text_of(from, "kind", &f->kind));
    HD_TRY(record_text_of(from, "title", &f->title));
    HD_TRY(record_word_of(from, "severity", san_severity_words, HD_COUNT_OF(san_severity_words),
                          &severity));
    HD_TRY(record_number_of(from, "count", &f->count));
    f->severity = (enum san_severity)severity;
    f->has_address = json_get(from, "address") != NULL;
    f->address = json_number(json_get(from, "address"), 0);
    f->space = json_text(json_get(from, "space"), "");
    f->direction = json_text(json_get(from, "direction"), "");
    f->size_B = json_number(json_get(from, "size_B"), 0);
    HD_TRY(record_launch_of(from, f));
    HD_TRY(record_call_of(from, f));
    HD_TRY(record_actors_of(&r->arena, from, f));
    HD_TRY(record_sides_of(from, f));
    HD_TRY(record_details_of(from, f));
    HD_TRY(record_stack_of(&r->arena, from, "launch_stack", &f->launched));
    HD_TRY(record_stack_of(&r->arena, from, "stack", &f->host));
    HD_TRY(record_stack_of(&r->arena, from, "other_stack", &f->other));
    HD_TRY(record_stack_of(&r->arena, from, "allocated", &f->allocated));
    return record_stack_of(&r->arena, from, "freed", &f->freed);
}

static enum hd_status record_read_process(const struct json_value *from, struct check_record *r)
{
    const char *event;
    const struct json_value *list = json_get(from, "arguments");
    size_t n = 0;

    HD_TRY(record_text_of(from, "event", &event));
    r->process.begins = strcmp(event, "begin") == 0;
    if (!r->process.begins)
        return strcmp(event, "end") == 0 ? HD_OK : record_lacks("event");
    HD_TRY(record_number_of(from, "parent", &r->process.parent));
    HD_TRY(record_text_of(from, "exe", &r->process.exe));
    r->process.arguments =
        record_array_of(&r->arena, list, sizeof(*r->process.arguments), &r->process.narguments);
    json_foreach(it, r->process.arguments ? list : NULL) r->process.arguments[n++] =
        json_text(it, "");
    r->process.narguments = n;
    return HD_OK;
}

/* Of the process's side san_finding_write_extent(): what it does not say is not known. */
static enum hd_status record_extent_of(const struct json_value *from, struct san_extent *out)
{
    static const char *const ends[] = {"least", "greatest"};

    for (int i = 0; i < 2; i++) {
        const struct json_value *end = json_get(from, ends[i]);
        struct san_extent one = {.has_threads = json_get(end, "thread") != NULL,
                                 .has_launches = json_get(end, "launch") != NULL,
                                 .has_addresses = json_get(end, "address") != NULL};
        if (one.has_threads) {
            HD_TRY(record_triple_of(end, "thread", one.thread[0]));
            HD_TRY(record_triple_of(end, "block", one.block[0]));
            san_extent_add_thread(out, one.thread[0], one.block[0]);
        }
        if (one.has_launches) {
            HD_TRY(record_number_of(end, "launch", &one.launch[0]));
            san_extent_add_launch(out, one.launch[0]);
        }
        if (one.has_addresses) {
            HD_TRY(record_number_of(end, "address", &one.address[0]));
            san_extent_add_address(out, one.address[0]);
        }
    }
    out->size_B = json_number(json_get(from, "size_B"), 0);
    return HD_OK;
}

static enum hd_status record_read_more(const struct json_value *from, struct check_record *r)
{
    HD_TRY(record_number_of(from, "cause", &r->cause));
    HD_TRY(record_number_of(from, "findings", &r->findings));
    HD_TRY(record_extent_of(from, &r->extent));
    return record_number_of(from, "count", &r->count);
}

static enum hd_status record_read_summary(const struct json_value *from, struct check_record *r)
{
    HD_TRY(record_text_of(from, "tool", &r->tool));
    HD_TRY(record_text_of(from, "name", &r->name));
    return record_number_of(from, "value", &r->value);
}

static enum hd_status record_read_session(const struct json_value *from, struct check_record *r)
{
    const struct json_value *leaks = json_get(from, "leak_check");

    r->session.tools = json_text(json_get(from, "tools"), NULL);
    r->session.leak_check = leaks && leaks->is;
    r->session.status = (int)json_signed(json_get(from, "status"), 0);
    return HD_OK;
}

static enum hd_status record_read_kind(const struct json_value *from, struct check_record *r)
{
    unsigned kind;

    HD_TRY(record_word_of(from, "record", kinds, HD_COUNT_OF(kinds), &kind));
    r->kind = (enum check_record_kind)kind;
    HD_TRY(record_number_of(from, "pid", &r->pid));
    switch (r->kind) {
    case CHECK_PROCESS:
        return record_read_process(from, r);
    case CHECK_FINDING:
        return record_read_finding(from, r);
    case CHECK_MORE:
        return record_read_more(from, r);
    case CHECK_SUMMARY:
        return record_read_summary(from, r);
    case CHECK_LOST:
        return record_number_of(from, "count", &r->count);
    case CHECK_SESSION:
        return record_read_session(from, r);
    case CHECK_RECORD_COUNT:
        break;
    }
    return record_lacks("record");
}

enum hd_status check_record_read(const char *text, size_t len, struct check_record *out)
{
    const struct json_value *root;

    *out = (struct check_record){0};
    hd_arena_init(&out->arena);
    enum hd_status status = json_read(&out->arena, text, len, &root);
    if (status == HD_OK)
        status = record_read_kind(root, out);
    if (status == HD_OK)
        status = hd_arena_status(&out->arena);
    if (status != HD_OK)
        hd_arena_fini(&out->arena);
    return status;
}

void check_record_fini(struct check_record *record)
{
    hd_arena_fini(&record->arena);
}
