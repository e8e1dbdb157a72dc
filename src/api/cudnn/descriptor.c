/*
 * cuDNN's backend descriptors: named attributes with typed values, which describe tensors,
 * operations and graphs of them. They are kept as they are given. What would run a graph is an
 * engine, of which there is none yet: a heuristic finds 0 of them, and descriptors of engines and
 * plans are refused. So clients that ask what can run a convolution get an answer that they know
 * (XLA and cudnn_frontend: no engine configuration), and no error in the middle of describing it,
 * which cudnn_frontend throws as an exception through code that is not written for exceptions.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/vec.h"
#include "api/cudnn/dnn.h"
#include "api/cudnn/refuse.h"

struct attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    void *values; /* owned */
};

struct cudnnBackendDescriptor {
    cudnnBackendDescriptorType_t type;
    bool finalized;
    HD_VEC(struct attribute) attributes;
};

static size_t value_size_B(cudnnBackendAttributeType_t type)
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
        return type <= CUDNN_TYPE_LAST ? 4 : 0;
    }
}

static bool needs_engine(cudnnBackendDescriptorType_t type)
{
    return type == CUDNN_BACKEND_ENGINE_DESCRIPTOR || type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR ||
           type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
                                           cudnnBackendDescriptor_t *descriptor)
{
    static _Atomic bool said;

    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (needs_engine(descriptorType))
        return cudnn_refuse("cudnnBackendCreateDescriptor of an engine", &said);
    *descriptor = hd_new(struct cudnnBackendDescriptor);
    if (!*descriptor)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    (*descriptor)->type = descriptorType;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    if (!descriptor)
        return CUDNN_STATUS_SUCCESS;
    for (size_t i = 0; i < descriptor->attributes.len; i++)
        hd_free(descriptor->attributes.at[i].values);
    hd_vec_fini(&descriptor->attributes);
    hd_free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static struct attribute *find(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < descriptor->attributes.len; i++)
        if (descriptor->attributes.at[i].name == name)
            return &descriptor->attributes.at[i];
    return NULL;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType,
                                       int64_t elementCount, const void *arrayOfElements)
{
    size_t size_B = value_size_B(attributeType);

    if (!descriptor || (elementCount && !arrayOfElements))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (descriptor->finalized || !size_B || elementCount < 0 || elementCount > INT32_MAX)
        return CUDNN_STATUS_BAD_PARAM;
    struct attribute *attribute = find(descriptor, attributeName);
    void *values = hd_alloc_array((size_t)elementCount + 1, size_B);
    if (!values || (!attribute && !hd_vec_push(&descriptor->attributes, (struct attribute){0}))) {
        hd_free(values);
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    if (!attribute)
        attribute = &descriptor->attributes.at[descriptor->attributes.len - 1];
    if (elementCount)
        memcpy(values, arrayOfElements, (size_t)elementCount * size_B);
    hd_free(attribute->values);
    *attribute = (struct attribute){attributeName, attributeType, elementCount, values};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    descriptor->finalized = true;
    return CUDNN_STATUS_SUCCESS;
}

/* What cuDNN works out of a graph: how many engines there are for it. */
static bool is_engine_count(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    return descriptor->finalized && name == CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT &&
           descriptor->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
}

static bool is_engines(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name)
{
    return descriptor->finalized && name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
           descriptor->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType,
                                       int64_t requestedElementCount, int64_t *elementCount,
                                       void *arrayOfElements)
{
    static _Atomic bool said;
    static int64_t none = 0;
    struct attribute engine_count = {attributeName, CUDNN_TYPE_INT64, 1, &none};
    struct attribute engines = {attributeName, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &none};

    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct attribute *attribute = find(descriptor, attributeName);
    if (is_engine_count(descriptor, attributeName))
        attribute = &engine_count;
    if (is_engines(descriptor, attributeName)) {
        attribute = &engines;
        (void)cudnn_refuse("engines for a graph", &said);
    }
    if (!attribute || attribute->type != attributeType || requestedElementCount < 0)
        return CUDNN_STATUS_BAD_PARAM;
    if (elementCount)
        *elementCount = attribute->count;
    int64_t n = attribute->count < requestedElementCount ? attribute->count : requestedElementCount;
    if (arrayOfElements && n)
        memcpy(arrayOfElements, attribute->values, (size_t)n * value_size_B(attributeType));
    return CUDNN_STATUS_SUCCESS;
}
