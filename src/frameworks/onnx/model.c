/* See model.h. Numbers of fields are those of onnx.proto. */
#include "frameworks/onnx/model.h"

#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "frameworks/onnx/status.h"

/* ---- protocol buffers */

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

static void put_varint(struct hd_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        hd_buf_putc(out, (char)(value | 0x80));
    hd_buf_putc(out, (char)value);
}

static void put_int(struct hd_buf *out, unsigned field, int64_t value)
{
    put_varint(out, field << 3 | WIRE_VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(struct hd_buf *out, unsigned field, const void *at, size_t len)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    put_varint(out, len);
    hd_buf_append(out, at, len);
}

static void put_text(struct hd_buf *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* A message inside another one; what was written for it is freed. */
static void put_message(struct hd_buf *out, unsigned field, struct hd_buf *message)
{
    out->failed |= message->failed;
    if (!out->failed)
        put_bytes(out, field, message->ptr, message->len);
    hd_buf_fini(message);
}

/* ---- tensors and types */

struct dims {
    int64_t *at;
    size_t count;
};

static struct ort_status *read_dims(const struct ort_shape *shape, struct dims *out)
{
    ORT_TRY(ORT(GetDimensionsCount)(shape, &out->count));
    out->at = hd_alloc_array(out->count + 1, sizeof(*out->at));
    return out->at ? ORT(GetDimensions)(shape, out->at, out->count) : status_no_memory();
}

static struct ort_status *read_tensor(const struct ort_value *value, struct dims *out_dims,
                                      int *out_type, void **out_at, size_t *out_B)
{
    struct ort_shape *shape;

    ORT_TRY(ORT(GetTensorTypeAndShape)(value, &shape));
    struct ort_status *status = read_dims(shape, out_dims);
    if (!status)
        status = ORT(GetTensorElementType)(shape, out_type);
    ORT(ReleaseTensorTypeAndShapeInfo)(shape);
    ORT_TRY(status);
    ORT_TRY(ORT(GetTensorSizeInBytes)(value, out_B));
    /* only read */
    return ORT(GetTensorMutableData)((struct ort_value *)(uintptr_t)value, out_at);
}

/* TensorProto */
static struct ort_status *put_tensor(struct hd_buf *out, unsigned field, const char *name,
                                     const struct ort_value *value)
{
    struct dims dims = {0};
    struct hd_buf message;
    void *at = NULL;
    size_t size_B = 0;
    int type = ORT_NO_ELEMENT;

    struct ort_status *status = read_tensor(value, &dims, &type, &at, &size_B);
    if (!status && type == ORT_STRING)
        status = ORT(CreateStatus)(ORT_NOT_IMPLEMENTED, "Heddle: an attribute of strings");
    if (!status) {
        hd_buf_init(&message);
        for (size_t i = 0; i < dims.count; i++)
            put_int(&message, 1, dims.at[i]);
        put_int(&message, 2, type);
        put_text(&message, 8, name);
        put_bytes(&message, 9, at, size_B);
        put_message(out, field, &message);
    }
    hd_free(dims.at);
    return status;
}

/* TensorShapeProto, in TypeProto.Tensor. Without dimensions it may be a scalar, or of any rank. */
static struct ort_status *put_shape(struct hd_buf *out, const struct ort_shape *shape)
{
    struct dims dims = {0};
    struct hd_buf message, dim;
    const char **names = NULL;

    struct ort_status *status = read_dims(shape, &dims);
    if (!status) {
        names = hd_alloc_array(dims.count + 1, sizeof(*names));
        status = names ? ORT(GetSymbolicDimensions)(shape, names, dims.count) : status_no_memory();
    }
    if (!status && dims.count) {
        hd_buf_init(&message);
        for (size_t i = 0; i < dims.count; i++) {
            hd_buf_init(&dim);
            if (dims.at[i] >= 0)
                put_int(&dim, 1, dims.at[i]);
            else if (names[i] && *names[i])
                put_text(&dim, 2, names[i]);
            put_message(&message, 1, &dim);
        }
        put_message(out, 2, &message);
    }
    hd_free(names);
    hd_free(dims.at);
    return status;
}

/* ValueInfoProto */
static struct ort_status *put_value(struct hd_buf *out, unsigned field,
                                    const struct ort_value_info *value)
{
    const struct ort_type *type;
    const struct ort_shape *shape;
    const char *name;
    int element;
    struct hd_buf tensor, of, message;

    ORT_TRY(ORT(GetValueInfoName)(value, &name));
    ORT_TRY(ORT(GetValueInfoTypeInfo)(value, &type));
    ORT_TRY(ORT(CastTypeInfoToTensorInfo)(type, &shape));
    ORT_TRY(ORT(GetTensorElementType)(shape, &element));
    hd_buf_init(&tensor);
    put_int(&tensor, 1, element);
    struct ort_status *status = put_shape(&tensor, shape);
    hd_buf_init(&of);
    put_message(&of, 1, &tensor);
    hd_buf_init(&message);
    put_text(&message, 1, name);
    put_message(&message, 2, &of);
    put_message(out, field, &message);
    return status;
}

struct ort_status *model_element_of(const struct ort_value_info *value, int *out_type)
{
    const struct ort_type *type;
    const struct ort_shape *shape;
    int kind;

    *out_type = ORT_NO_ELEMENT;
    ORT_TRY(ORT(GetValueInfoTypeInfo)(value, &type));
    ORT_TRY(ORT(GetOnnxTypeFromTypeInfo)(type, &kind));
    if (kind != ORT_TENSOR)
        return NULL;
    ORT_TRY(ORT(CastTypeInfoToTensorInfo)(type, &shape));
    return shape ? ORT(GetTensorElementType)(shape, out_type) : NULL;
}

/* ---- nodes */

struct ort_status *model_inputs(const struct ort_node *node, const struct ort_value_info ***out_at,
                                size_t *out_count)
{
    *out_at = NULL;
    ORT_TRY(ORT(Node_GetNumInputs)(node, out_count));
    *out_at = hd_alloc_array(*out_count + 1, sizeof(void *));
    return *out_at ? ORT(Node_GetInputs)(node, *out_at, *out_count) : status_no_memory();
}

struct ort_status *model_outputs(const struct ort_node *node, const struct ort_value_info ***out_at,
                                 size_t *out_count)
{
    *out_at = NULL;
    ORT_TRY(ORT(Node_GetNumOutputs)(node, out_count));
    *out_at = hd_alloc_array(*out_count + 1, sizeof(void *));
    return *out_at ? ORT(Node_GetOutputs)(node, *out_at, *out_count) : status_no_memory();
}

/* The names of a node's values; one that is left out has the name "". */
static struct ort_status *put_names(struct hd_buf *out, unsigned field,
                                    const struct ort_value_info *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = "";
        if (values[i])
            ORT_TRY(ORT(GetValueInfoName)(values[i], &name));
        put_text(out, field, name);
    }
    return NULL;
}

/* The bytes of an attribute that is no tensor: its array, or its characters. */
static struct ort_status *read_attribute(const struct ort_attribute *attribute, int type,
                                         void **out_at, size_t *out_B)
{
    size_t size_B = 0;

    /* too little room is an error that tells how much it takes */
    struct ort_status *status = ORT(ReadOpAttr)(attribute, type, NULL, 0, &size_B);
    if (status)
        ORT(ReleaseStatus)(status);
    *out_B = size_B;
    *out_at = hd_alloc(size_B + 1);
    if (!*out_at)
        return status_no_memory();
    memset(*out_at, 0, size_B + 1);
    return size_B ? ORT(ReadOpAttr)(attribute, type, *out_at, size_B, out_B) : NULL;
}

/* Fields and types of AttributeProto, by ONNX Runtime's type. */
static const struct attribute_row {
    unsigned field, type;
} attribute_rows[] = {
    [ORT_ATTRIBUTE_INT] = {3, 2},    [ORT_ATTRIBUTE_INTS] = {8, 7},
    [ORT_ATTRIBUTE_FLOAT] = {2, 1},  [ORT_ATTRIBUTE_FLOATS] = {7, 6},
    [ORT_ATTRIBUTE_STRING] = {4, 3}, [ORT_ATTRIBUTE_STRINGS] = {9, 8},
    [ORT_ATTRIBUTE_TENSOR] = {5, 4},
};

static void put_elements(struct hd_buf *out, enum ort_attribute_type type, unsigned field,
                         const void *at, size_t size_B)
{
    const char *text = at, *end = text + size_B;

    switch (type) {
    case ORT_ATTRIBUTE_INT:
    case ORT_ATTRIBUTE_INTS:
        for (size_t i = 0; i < size_B / sizeof(int64_t); i++)
            put_int(out, field, ((const int64_t *)at)[i]);
        break;
    case ORT_ATTRIBUTE_FLOAT:
    case ORT_ATTRIBUTE_FLOATS:
        for (size_t i = 0; i < size_B / sizeof(float); i++) {
            put_varint(out, field << 3 | WIRE_32);
            hd_buf_append(out, (const float *)at + i, sizeof(float));
        }
        break;
    case ORT_ATTRIBUTE_STRING:
        put_text(out, field, text);
        break;
    case ORT_ATTRIBUTE_STRINGS: /* one behind the other, each with its 0 */
        for (; text < end; text += strlen(text) + 1)
            put_text(out, field, text);
        break;
    case ORT_ATTRIBUTE_NONE:
    case ORT_ATTRIBUTE_GRAPH:
    case ORT_ATTRIBUTE_TENSOR:
        break;
    }
}

static struct ort_status *put_attribute(struct hd_buf *out, const struct ort_attribute *attribute)
{
    const char *name;
    int type;

    ORT_TRY(ORT(OpAttr_GetName)(attribute, &name));
    ORT_TRY(ORT(OpAttr_GetType)(attribute, &type));
    if (type < 0 || (size_t)type >= HD_COUNT_OF(attribute_rows) || !attribute_rows[type].field)
        return ORT(CreateStatus)(ORT_NOT_IMPLEMENTED, "Heddle: an attribute of an unknown type");
    const struct attribute_row *row = &attribute_rows[type];
    struct ort_status *status;
    struct hd_buf message;
    hd_buf_init(&message);
    put_text(&message, 1, name);
    if (type == ORT_ATTRIBUTE_TENSOR) {
        struct ort_value *value = NULL;
        status = ORT(OpAttr_GetTensorAttributeAsOrtValue)(attribute, &value);
        if (!status)
            status = put_tensor(&message, row->field, "", value);
        ORT(ReleaseValue)(value);
    } else {
        void *at = NULL;
        size_t size_B;
        status = read_attribute(attribute, type, &at, &size_B);
        if (!status)
            put_elements(&message, (enum ort_attribute_type)type, row->field, at, size_B);
        hd_free(at);
    }
    put_int(&message, 20, row->type);
    put_message(out, 5, &message);
    return status;
}

static struct ort_status *put_attributes(struct hd_buf *out, const struct ort_node *node)
{
    size_t count;

    ORT_TRY(ORT(Node_GetNumAttributes)(node, &count));
    const struct ort_attribute **at = hd_alloc_array(count + 1, sizeof(*at));
    struct ort_status *status = at ? ORT(Node_GetAttributes)(node, at, count) : status_no_memory();
    for (size_t i = 0; i < count && !status; i++)
        if (at[i])
            status = put_attribute(out, at[i]);
    hd_free(at);
    return status;
}

typedef HD_VEC(const struct ort_value_info *) value_list;

/* Constants among a node's inputs are noted, each once. */
static struct ort_status *note_constants(value_list *constants,
                                         const struct ort_value_info *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_constant = false;
        size_t known = 0;
        if (values[i])
            ORT_TRY(ORT(ValueInfo_IsConstantInitializer)(values[i], &is_constant));
        while (is_constant && known < constants->len && constants->at[known] != values[i])
            known++;
        if (is_constant && known == constants->len && !hd_vec_push(constants, values[i]))
            return status_no_memory();
    }
    return NULL;
}

/* NodeProto */
static struct ort_status *put_node(struct hd_buf *out, const struct ort_node *node,
                                   value_list *constants)
{
    const struct ort_value_info **in = NULL, **values = NULL;
    const char *name = "", *type = "", *domain = "";
    size_t nin = 0, nout = 0;
    struct hd_buf message;

    ORT_TRY(ORT(Node_GetName)(node, &name));
    ORT_TRY(ORT(Node_GetOperatorType)(node, &type));
    ORT_TRY(ORT(Node_GetDomain)(node, &domain));
    hd_buf_init(&message);
    struct ort_status *status = model_inputs(node, &in, &nin);
    if (!status)
        status = put_names(&message, 1, in, nin);
    if (!status)
        status = note_constants(constants, in, nin);
    if (!status)
        status = model_outputs(node, &values, &nout);
    if (!status)
        status = put_names(&message, 2, values, nout);
    put_text(&message, 3, name);
    put_text(&message, 4, type);
    if (!status)
        status = put_attributes(&message, node);
    put_text(&message, 7, domain);
    put_message(out, 1, &message);
    hd_free(in);
    hd_free(values);
    return status;
}

/* ---- the graph and the model */

static struct ort_status *put_nodes(struct hd_buf *out, const struct ort_graph *graph,
                                    value_list *constants)
{
    size_t count;

    ORT_TRY(ORT(Graph_GetNumNodes)(graph, &count));
    const struct ort_node **at = hd_alloc_array(count + 1, sizeof(*at));
    struct ort_status *status = at ? ORT(Graph_GetNodes)(graph, at, count) : status_no_memory();
    for (size_t i = 0; i < count && !status; i++)
        status = put_node(out, at[i], constants);
    hd_free(at);
    return status;
}

static struct ort_status *put_constants(struct hd_buf *out, const value_list *constants)
{
    for (size_t i = 0; i < constants->len; i++) {
        const struct ort_value *value = NULL;
        const char *name;
        ORT_TRY(ORT(GetValueInfoName)(constants->at[i], &name));
        ORT_TRY(ORT(ValueInfo_GetInitializerValue)(constants->at[i], &value));
        ORT_TRY(put_tensor(out, 5, name, value));
    }
    return NULL;
}

/* Inputs that are constants are the model's own, and no inputs of it. */
static struct ort_status *put_interface(struct hd_buf *out, const struct ort_node *fused)
{
    const struct ort_value_info **in = NULL, **values = NULL;
    size_t nin = 0, nout = 0;

    struct ort_status *status = model_inputs(fused, &in, &nin);
    for (size_t i = 0; i < nin && !status; i++) {
        bool is_constant = false;
        status = ORT(ValueInfo_IsConstantInitializer)(in[i], &is_constant);
        if (!status && !is_constant)
            status = put_value(out, 11, in[i]);
    }
    if (!status)
        status = model_outputs(fused, &values, &nout);
    for (size_t i = 0; i < nout && !status; i++)
        status = put_value(out, 12, values[i]);
    hd_free(in);
    hd_free(values);
    return status;
}

static struct ort_status *put_operator_sets(struct hd_buf *out, const struct ort_graph *graph)
{
    size_t count;
    struct hd_buf message;

    ORT_TRY(ORT(Graph_GetNumOperatorSets)(graph, &count));
    const char **domains = hd_alloc_array(count + 1, sizeof(*domains));
    int64_t *versions = hd_alloc_array(count + 1, sizeof(*versions));
    struct ort_status *status = domains && versions
                                    ? ORT(Graph_GetOperatorSets)(graph, domains, versions, count)
                                    : status_no_memory();
    for (size_t i = 0; i < count && !status; i++) {
        hd_buf_init(&message);
        put_text(&message, 1, domains[i]);
        put_int(&message, 2, versions[i]);
        put_message(out, 8, &message);
    }
    hd_free(domains);
    hd_free(versions);
    return status;
}

struct ort_status *model_write(struct hd_buf *out, const struct ort_graph *graph,
                               const struct ort_node *fused)
{
    struct hd_buf message;
    value_list constants = {0};
    int64_t version;

    ORT_TRY(ORT(Graph_GetOnnxIRVersion)(graph, &version));
    put_int(out, 1, version);
    ORT_TRY(put_operator_sets(out, graph));
    hd_buf_init(&message);
    put_text(&message, 2, "subgraph");
    struct ort_status *status = put_nodes(&message, graph, &constants);
    if (!status)
        status = put_interface(&message, fused);
    if (!status)
        status = put_constants(&message, &constants);
    put_message(out, 7, &message);
    hd_vec_fini(&constants);
    if (!status && out->failed)
        return status_no_memory();
    return status;
}
