/* Descriptors of cuDNN's backend: made, described by attributes, finalised, asked. */
#include "api/cudnn/graph.h"

#include <string.h>

#include "base/mem.h"

/* ---- the table */

enum graph_use { USE_REQUIRED, USE_OPTIONAL, USE_COMPUTED };

/* Types of attributes beside the API's, as the table has them. */
enum { CUDNN_TYPE_SCALAR = 1000, CUDNN_TYPE_SEED, CUDNN_TYPE_CONSTANT, TYPE_OF = 2000 };
#define CUDNN_TYPE_OF(kind) (TYPE_OF + GRAPH_##kind)

struct attribute {
    enum graph_kind kind;
    cudnnBackendAttributeName_t name;
    const char *text;
    int type;
    int32_t most;
    enum graph_use use;
};

static const struct attribute attributes[] = {
#define D(descriptor)
#define A(descriptor, name, type, most, use)                                                       \
    {GRAPH_##descriptor, CUDNN_ATTR_##name, "CUDNN_ATTR_" #name, CUDNN_TYPE_##type, most,          \
     USE_##use},
#include "api/cudnn_graph.def"
#undef D
#undef A
};

static const struct {
    const char *text;
    cudnnBackendDescriptorType_t type;
} kinds[] = {
#define D(descriptor) {#descriptor, CUDNN_BACKEND_##descriptor##_DESCRIPTOR},
#define A(descriptor, name, type, most, use)
#include "api/cudnn_graph.def"
#undef D
#undef A
};

static const struct attribute *attribute_of(cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < HD_COUNT_OF(attributes); i++)
        if (attributes[i].name == name)
            return &attributes[i];
    return NULL;
}

const char *graph_kind_name(enum graph_kind kind)
{
    return kinds[kind].text;
}

const char *graph_attribute_name(cudnnBackendAttributeName_t name)
{
    const struct attribute *a = attribute_of(name);

    return a ? a->text : "an attribute that there is not";
}

bool graph_kind_find(const char *name, enum graph_kind *out_kind)
{
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++)
        if (!strcmp(kinds[i].text, name)) {
            *out_kind = (enum graph_kind)i;
            return true;
        }
    return false;
}

bool graph_attribute_find(const char *name, cudnnBackendAttributeName_t *out_name)
{
    for (size_t i = 0; i < HD_COUNT_OF(attributes); i++)
        if (!strcmp(attributes[i].text, name)) {
            *out_name = attributes[i].name;
            return true;
        }
    return false;
}

bool graph_attribute_is_set(cudnnBackendAttributeName_t name)
{
    return attribute_of(name)->use != USE_COMPUTED;
}

size_t graph_type_size_B(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return sizeof(void *);
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
        return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
        return 1;
    case CUDNN_TYPE_FRACTION: /* numerator and denominator */
        return 16;
    default: /* float, int and enumerations */
        return type >= 0 && type <= CUDNN_TYPE_RESHAPE_MODE ? 4 : 0;
    }
}

/* ---- bodies */

struct graph_body *graph_body_create(enum graph_kind kind)
{
    struct graph_body *body = hd_new(struct graph_body);

    if (!body)
        return NULL;
    atomic_store(&body->refs, 1);
    body->kind = kind;
    return body;
}

struct graph_body *graph_body_ref(struct graph_body *body)
{
    (void)atomic_fetch_add_explicit(&body->refs, 1, memory_order_relaxed);
    return body;
}

static void value_fini(struct graph_value *value)
{
    if (value->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < value->count; i++)
            graph_body_unref(((struct graph_body **)value->values)[i]);
    hd_free(value->values);
}

void graph_body_unref(struct graph_body *body)
{
    if (!body || atomic_fetch_sub_explicit(&body->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < body->values.len; i++)
        value_fini(&body->values.at[i]);
    hd_vec_fini(&body->values);
    if (body->kind == GRAPH_ENGINECFG)
        graph_disown(body->program);
    hd_free(body);
}

const struct graph_value *graph_find(const struct graph_body *body,
                                     cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < body->values.len; i++)
        if (body->values.at[i].name == name)
            return &body->values.at[i];
    return NULL;
}

struct graph_body *graph_body_at(const struct graph_body *body, cudnnBackendAttributeName_t name)
{
    const struct graph_value *v = graph_find(body, name);

    return v && v->count && v->type == CUDNN_TYPE_BACKEND_DESCRIPTOR
               ? *(struct graph_body **)v->values
               : NULL;
}

int64_t graph_whole(const struct graph_body *body, cudnnBackendAttributeName_t name,
                    int64_t otherwise)
{
    const struct graph_value *v = graph_find(body, name);

    if (!v || !v->count)
        return otherwise;
    return graph_type_size_B(v->type) == 8   ? *(const int64_t *)v->values
           : graph_type_size_B(v->type) == 1 ? *(const int8_t *)v->values
                                             : *(const int32_t *)v->values;
}

double graph_real(const struct graph_body *body, cudnnBackendAttributeName_t name, double otherwise)
{
    const struct graph_value *v = graph_find(body, name);

    if (!v || !v->count)
        return otherwise;
    return v->type == CUDNN_TYPE_FLOAT ? (double)*(const float *)v->values
                                       : *(const double *)v->values;
}

static bool takes(const struct attribute *a, cudnnBackendAttributeType_t type)
{
    if (a->type == CUDNN_TYPE_SCALAR)
        return type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE;
    if (a->type == CUDNN_TYPE_SEED)
        return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
    if (a->type == CUDNN_TYPE_CONSTANT)
        return type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_INT64;
    return (int)type == (a->type >= TYPE_OF ? CUDNN_TYPE_BACKEND_DESCRIPTOR : a->type);
}

/* The kind that an attribute's descriptors are of; GRAPH_KINDS: any. */
static enum graph_kind kind_of(const struct attribute *a)
{
    return a->type == CUDNN_TYPE_SEED ? GRAPH_TENSOR
           : a->type >= TYPE_OF       ? (enum graph_kind)(a->type - TYPE_OF)
                                      : GRAPH_KINDS;
}

cudnnStatus_t graph_put(struct graph_body *body, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    size_t size_B = graph_type_size_B(type);
    struct graph_value *value = (struct graph_value *)graph_find(body, name);
    void *copy = hd_alloc_array((size_t)count + 1, size_B);
    if (!copy || (!value && !hd_vec_push(&body->values, (struct graph_value){.name = name}))) {
        hd_free(copy);
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory for %s",
                          graph_attribute_name(name));
    }
    if (!value)
        value = &body->values.at[body->values.len - 1];
    if (count)
        memcpy(copy, values, (size_t)count * size_B);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < count; i++)
            (void)graph_body_ref(((struct graph_body **)copy)[i]);
    value_fini(value);
    *value = (struct graph_value){name, type, count, copy};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t graph_set(struct graph_body *body, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    const struct attribute *a = attribute_of(name);

    if (!a || a->kind != body->kind)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "%s (%d) is no attribute of %s",
                          graph_attribute_name(name), (int)name, graph_kind_name(body->kind));
    if (body->finalized || a->use == USE_COMPUTED)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "%s cannot be set: %s", a->text,
                          body->finalized ? "its descriptor is finalised"
                                          : "the library finds its value");
    if (!takes(a, type))
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                          "%s has values of type %d, not of %d", a->text, a->type, (int)type);
    if (count < 0 || count > a->most)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND, "%s has at most %d values, not %lld",
                          a->text, (int)a->most, (long long)count);
    if (count && !values)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "%s: the values are NULL", a->text);
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++) {
        enum graph_kind is = ((struct graph_body *const *)values)[i]->kind;
        if (kind_of(a) != GRAPH_KINDS && is != kind_of(a))
            return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                              "%s takes descriptors of %s, not of %s", a->text,
                              graph_kind_name(kind_of(a)), graph_kind_name(is));
    }
    return graph_put(body, name, type, count, values);
}

cudnnStatus_t graph_finalize(struct graph_body *body)
{
    for (size_t i = 0; i < HD_COUNT_OF(attributes); i++) {
        const struct attribute *a = &attributes[i];
        if (a->kind == body->kind && a->use == USE_REQUIRED) {
            const struct graph_value *v = graph_find(body, a->name);
            if (!v || !v->count)
                return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "%s needs %s",
                                  graph_kind_name(body->kind), a->text);
        }
    }
    cudnnStatus_t status = graph_check(body);
    if (!status)
        body->finalized = true;
    return status;
}

/* ---- the API's functions */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
                                           cudnnBackendDescriptor_t *descriptor)
{
    if (!descriptor)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor's place is NULL");
    *descriptor = NULL;
    for (size_t i = 0; i < HD_COUNT_OF(kinds); i++) {
        if (kinds[i].type != descriptorType)
            continue;
        *descriptor = hd_new(struct cudnnBackendDescriptor);
        if (*descriptor)
            (*descriptor)->body = graph_body_create((enum graph_kind)i);
        if (*descriptor && (*descriptor)->body)
            return CUDNN_STATUS_SUCCESS;
        hd_free(*descriptor);
        *descriptor = NULL;
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                          "no memory for a descriptor");
    }
    return GRAPH_FAIL(CUDNN_STATUS_NOT_SUPPORTED, "there are no descriptors of type %d",
                      (int)descriptorType);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    if (!descriptor)
        return CUDNN_STATUS_SUCCESS;
    graph_body_unref(descriptor->body);
    hd_free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

/* A descriptor that is as it was made. */
cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
    DNN_NEEDS(descriptor);
    struct graph_body *body = graph_body_create(descriptor->body->kind);
    if (!body)
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                          "no memory for a descriptor");
    graph_body_unref(descriptor->body);
    descriptor->body = body;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType,
                                       int64_t elementCount, const void *arrayOfElements)
{
    const cudnnBackendDescriptor_t *given = arrayOfElements;

    DNN_NEEDS(descriptor);
    if (attributeType != CUDNN_TYPE_BACKEND_DESCRIPTOR || !given || elementCount <= 0 ||
        elementCount > 1000)
        return graph_set(descriptor->body, attributeName, attributeType, elementCount,
                         arrayOfElements);
    struct graph_body **bodies = hd_alloc_array((size_t)elementCount, sizeof(struct graph_body *));
    if (!bodies)
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory for %s",
                          graph_attribute_name(attributeName));
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; i < elementCount && !status; i++) {
        if (!given[i])
            status = GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "%s: descriptor %lld is NULL",
                                graph_attribute_name(attributeName), (long long)i);
        else if (!given[i]->body->finalized)
            status = GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                                "%s: descriptor %lld, of %s, is not finalised",
                                graph_attribute_name(attributeName), (long long)i,
                                graph_kind_name(given[i]->body->kind));
        else
            bodies[i] = given[i]->body;
    }
    if (!status)
        status = graph_set(descriptor->body, attributeName, attributeType, elementCount, bodies);
    hd_free(bodies);
    return status;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    DNN_NEEDS(descriptor);
    if (descriptor->body->finalized)
        return CUDNN_STATUS_SUCCESS;
    return graph_finalize(descriptor->body);
}

/* Fills the caller's descriptors. */
static cudnnStatus_t give(struct graph_body *const *bodies, int64_t n,
                          cudnnBackendDescriptor_t *into, const char *text)
{
    for (int64_t i = 0; i < n; i++) {
        if (!into[i])
            return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                              "%s: descriptor %lld to be filled is NULL", text, (long long)i);
        if (into[i]->body->kind != bodies[i]->kind)
            return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "%s fills descriptors of %s, not of %s", text,
                              graph_kind_name(bodies[i]->kind),
                              graph_kind_name(into[i]->body->kind));
        struct graph_body *old = into[i]->body;
        into[i]->body = graph_body_ref(bodies[i]);
        graph_body_unref(old);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* A body as text, which is made when it is asked for. */
static cudnnStatus_t text_of(const struct graph_body *body, int64_t requested, int64_t *out_count,
                             char *out)
{
    char *text = graph_json_write(body);

    if (!text)
        return GRAPH_FAIL(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                          "no memory for the text of %s", graph_kind_name(body->kind));
    int64_t size = (int64_t)strlen(text);
    if (out_count)
        *out_count = size;
    if (out && requested)
        memcpy(out, text, (size_t)HD_MIN(size, requested));
    hd_free(text);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType,
                                       int64_t requestedElementCount, int64_t *elementCount,
                                       void *arrayOfElements)
{
    const struct attribute *a = attribute_of(attributeName);

    DNN_NEEDS(descriptor);
    const struct graph_body *body = descriptor->body;
    if (!a || a->kind != body->kind || requestedElementCount < 0)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "%s (%d) cannot be asked of %s",
                          graph_attribute_name(attributeName), (int)attributeName,
                          graph_kind_name(body->kind));
    if (!takes(a, attributeType))
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                          "%s has values of type %d, not of %d", a->text, a->type,
                          (int)attributeType);
    if (!body->finalized)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                          "%s is asked of %s before it is finalised", a->text,
                          graph_kind_name(body->kind));
    if (attributeType == CUDNN_TYPE_CHAR)
        return text_of(body, requestedElementCount, elementCount, arrayOfElements);
    const struct graph_value *v = graph_find(body, attributeName);
    if (v && v->type != attributeType)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "%s was set with type %d", a->text,
                          (int)v->type);
    if (!v && a->use != USE_COMPUTED && a->most == 1)
        return GRAPH_FAIL(CUDNN_STATUS_BAD_PARAM, "%s was not set", a->text);
    int64_t count = v ? v->count : 0, n = HD_MIN(count, requestedElementCount);
    if (elementCount)
        *elementCount = count;
    if (!arrayOfElements || !n)
        return CUDNN_STATUS_SUCCESS;
    if (elementCount && attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        *elementCount = n;
    if (attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return give(v->values, n, arrayOfElements, a->text);
    memcpy(arrayOfElements, v->values, (size_t)n * graph_type_size_B(attributeType));
    return CUDNN_STATUS_SUCCESS;
}
