/*
 * Descriptors as text: JSON that lists bodies, each after those that it refers to.
 *
 *     {"heddle_cudnn": 1, "bodies": [
 *       {"kind": "TENSOR", "CUDNN_ATTR_TENSOR_DIMENSIONS": [3, 2, 3], ...}, ...]}
 *
 * An attribute's list begins with the type of its values. Descriptors are indices of bodies, and
 * all else are integers: of a float or a double the bits. What the library finds is not written.
 * Reading sets and finalises bodies as a program does, so text is checked as calls are.
 */
#include "api/cudnn/graph.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FORMAT = 1 };

/* ---- writing */

struct writer {
    HD_VEC(const struct graph_body *) bodies; /* in the order of the text */
    HD_VEC(char) text;
    bool failed;
};

static void put(struct writer *w, const char *text)
{
    for (; *text; text++)
        if (!hd_vec_push(&w->text, *text))
            w->failed = true;
}

static void put_number(struct writer *w, int64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    put(w, text);
}

static int64_t index_of(const struct writer *w, const struct graph_body *body)
{
    for (size_t i = 0; i < w->bodies.len; i++)
        if (w->bodies.at[i] == body)
            return (int64_t)i;
    return -1;
}

/* Values of `n` integers each. */
static int64_t number_at(const struct graph_value *v, int64_t i)
{
    size_t size_B = graph_type_size_B(v->type);
    const char *at = v->values;

    return size_B == 1   ? at[i]
           : size_B == 4 ? ((const int32_t *)v->values)[i]
                         : ((const int64_t *)v->values)[i];
}

static bool is_written(const struct graph_value *v)
{
    return v->type != CUDNN_TYPE_HANDLE && v->type != CUDNN_TYPE_CHAR &&
           graph_attribute_is_set(v->name);
}

static void write_body(struct writer *w, const struct graph_body *body)
{
    if (index_of(w, body) >= 0)
        return;
    for (size_t i = 0; i < body->values.len; i++) {
        const struct graph_value *v = &body->values.at[i];
        for (int64_t j = 0;
             v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && is_written(v) && j < v->count; j++)
            write_body(w, ((struct graph_body **)v->values)[j]);
    }
    put(w, w->bodies.len ? ",\n  {\"kind\": \"" : "  {\"kind\": \"");
    put(w, graph_kind_name(body->kind));
    put(w, "\"");
    for (size_t i = 0; i < body->values.len; i++) {
        const struct graph_value *v = &body->values.at[i];
        if (!is_written(v))
            continue;
        put(w, ", \"");
        put(w, graph_attribute_name(v->name));
        put(w, "\": [");
        put_number(w, v->type);
        int64_t each = v->type == CUDNN_TYPE_FRACTION ? 2 : 1;
        for (int64_t j = 0; j < v->count * each; j++) {
            put(w, ", ");
            put_number(w, v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR
                              ? index_of(w, ((struct graph_body **)v->values)[j])
                              : number_at(v, j));
        }
        put(w, "]");
    }
    put(w, "}");
    if (!hd_vec_push(&w->bodies, body))
        w->failed = true;
}

char *graph_json_write(const struct graph_body *body)
{
    struct writer w = {0};
    const struct graph_body *config = graph_body_at(body, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);

    put(&w, "{\"heddle_cudnn\": ");
    put_number(&w, FORMAT);
    put(&w, ", \"bodies\": [\n");
    /* A plan is what its configuration makes. */
    write_body(&w, config ? config : body);
    put(&w, "]}\n");
    if (!hd_vec_push(&w.text, '\0'))
        w.failed = true;
    hd_vec_fini(&w.bodies);
    if (!w.failed)
        return w.text.at;
    hd_vec_fini(&w.text);
    return NULL;
}

/* ---- reading */

struct reader {
    const char *at, *end;
    HD_VEC(struct graph_body *) bodies;
    cudnnStatus_t status;
};

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (isspace((unsigned char)*r->at) || !*r->at))
        r->at++;
}

static void bad(struct reader *r, const char *what)
{
    if (!r->status)
        r->status =
            GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM,
                       "the text of a plan is not one of this library's: %s expected", what);
}

/* Is the next character that? Then it is read. */
static bool next(struct reader *r, char c)
{
    skip_space(r);
    if (r->status || r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static void need(struct reader *r, char c)
{
    const char what[] = {c, '\0'};

    if (!next(r, c))
        bad(r, what);
}

static void read_string(struct reader *r, char *text, size_t size_B)
{
    size_t n = 0;

    need(r, '"');
    while (!r->status && r->at < r->end && *r->at != '"' && n + 1 < size_B)
        text[n++] = *r->at++;
    text[n] = '\0';
    need(r, '"');
}

static int64_t read_number(struct reader *r)
{
    char text[24];
    size_t n = 0;

    skip_space(r);
    while (r->at < r->end && n + 1 < sizeof(text) &&
           (*r->at == '-' || isdigit((unsigned char)*r->at)))
        text[n++] = *r->at++;
    text[n] = '\0';
    if (!n)
        bad(r, "a number");
    return strtoll(text, NULL, 10);
}

/* The values of an attribute, after its name. */
static void read_values(struct reader *r, struct graph_body *body, const char *name)
{
    cudnnBackendAttributeName_t attribute;
    HD_VEC(int64_t) numbers = {0};
    HD_VEC(char) values = {0};

    need(r, '[');
    int64_t type = read_number(r);
    size_t size_B =
        type >= 0 && type < INT32_MAX ? graph_type_size_B((cudnnBackendAttributeType_t)type) : 0;
    size_t each_B = type == CUDNN_TYPE_FRACTION ? 8 : size_B;
    if (!graph_attribute_find(name, &attribute) || !size_B || type == CUDNN_TYPE_HANDLE)
        bad(r, "an attribute and the type of its values");
    while (!r->status && next(r, ',')) {
        int64_t number = read_number(r);
        if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
            if (number < 0 || (size_t)number >= r->bodies.len)
                bad(r, "the index of a body before");
            else
                number = (int64_t)(intptr_t)r->bodies.at[number];
        }
        if (!hd_vec_push(&numbers, number))
            r->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    need(r, ']');
    for (size_t i = 0; i < numbers.len && !r->status; i++)
        for (size_t b = 0; b < each_B; b++)
            if (!hd_vec_push(&values, ((const char *)&numbers.at[i])[b]))
                r->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!r->status)
        r->status = graph_set(body, attribute, (cudnnBackendAttributeType_t)type,
                              (int64_t)(values.len / size_B), values.at ? values.at : "");
    hd_vec_fini(&numbers);
    hd_vec_fini(&values);
}

static void read_body(struct reader *r)
{
    char text[96];
    enum graph_kind kind;

    need(r, '{');
    read_string(r, text, sizeof(text));
    need(r, ':');
    if (!r->status && strcmp(text, "kind"))
        bad(r, "\"kind\"");
    read_string(r, text, sizeof(text));
    if (!r->status && !graph_kind_find(text, &kind))
        bad(r, "a kind of descriptors");
    if (r->status)
        return;
    struct graph_body *body = graph_body_create(kind);
    if (!body || !hd_vec_push(&r->bodies, body)) {
        graph_body_unref(body);
        r->status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
        return;
    }
    while (!r->status && next(r, ',')) {
        read_string(r, text, sizeof(text));
        need(r, ':');
        if (!r->status)
            read_values(r, body, text);
    }
    need(r, '}');
    if (!r->status)
        r->status = graph_finalize(body);
}

cudnnStatus_t graph_json_read(const char *text, size_t size_B, enum graph_kind kind,
                              struct graph_body **out_body)
{
    struct reader r = {.at = text, .end = text + size_B};
    char name[32];

    *out_body = NULL;
    need(&r, '{');
    read_string(&r, name, sizeof(name));
    if (!r.status && strcmp(name, "heddle_cudnn"))
        bad(&r, "\"heddle_cudnn\"");
    need(&r, ':');
    if (!r.status && read_number(&r) != FORMAT)
        r.status = GRAPH_FAIL(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH,
                              "the text is of another format than %d", FORMAT);
    need(&r, ',');
    read_string(&r, name, sizeof(name));
    need(&r, ':');
    need(&r, '[');
    do
        read_body(&r);
    while (!r.status && next(&r, ','));
    need(&r, ']');
    need(&r, '}');
    if (!r.status && r.bodies.at[r.bodies.len - 1]->kind != kind)
        bad(&r, graph_kind_name(kind));
    if (!r.status)
        *out_body = graph_body_ref(r.bodies.at[r.bodies.len - 1]);
    for (size_t i = 0; i < r.bodies.len; i++)
        graph_body_unref(r.bodies.at[i]);
    hd_vec_fini(&r.bodies);
    return r.status;
}
