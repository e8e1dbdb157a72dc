/*
 * Graphs of cuDNN's backend. A descriptor is a handle of a body, which has the attributes that were
 * set, as spec/api/cudnn_graph.def knows them. Bodies are counted: a descriptor that is a value of
 * another keeps living in it, and to ask for one fills a descriptor of the caller's with the body.
 * From cudnnBackendFinalize() on a body does not change.
 *
 * Graph, engine and plan: graph_lower.c makes a program of a graph's operations (klib/dnn_graph.h).
 * Both engines make one, the first with as few passes over memory as it can, the second with one
 * for each operation. A plan has a program, which an execution launches step by step.
 */
#ifndef HD_API_CUDNN_GRAPH_H
#define HD_API_CUDNN_GRAPH_H

#include "api/cudnn/dnn.h"

#include "base/vec.h"
#include "klib/dnn_graph.h"

enum graph_kind {
#define D(descriptor) GRAPH_##descriptor,
#define A(descriptor, name, type, most, use)
#include "api/cudnn_graph.def"
#undef D
#undef A
    GRAPH_KINDS
};

/* Engines by their index. */
enum graph_engine { GRAPH_ENGINE_FUSED, GRAPH_ENGINE_SINGLE, GRAPH_ENGINES };

struct graph_value {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    void *values; /* owned; of descriptors: bodies, with a reference to each */
};

struct graph_body {
    _Atomic uint32_t refs;
    enum graph_kind kind;
    bool finalized;
    HD_VEC(struct graph_value) values;
    struct dnn_program *program; /* of an engine's configuration: owned; of a plan: that one */
};

struct cudnnBackendDescriptor {
    struct graph_body *body;
};

/* ---- bodies */

struct graph_body *graph_body_create(enum graph_kind kind) HD_MUST_CHECK;
struct graph_body *graph_body_ref(struct graph_body *body);
void graph_body_unref(struct graph_body *body); /* or NULL */
const char *graph_kind_name(enum graph_kind kind);
const char *graph_attribute_name(cudnnBackendAttributeName_t name);
bool graph_kind_find(const char *name, enum graph_kind *out_kind);
bool graph_attribute_find(const char *name, cudnnBackendAttributeName_t *out_name);
/* Do programs set it, or does the library? */
bool graph_attribute_is_set(cudnnBackendAttributeName_t name);

/* Sets an attribute as cudnnBackendSetAttribute() does; descriptors are given as bodies. */
cudnnStatus_t graph_set(struct graph_body *body, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count, const void *values);
/* The same without its checks, for what the library finds itself. */
cudnnStatus_t graph_put(struct graph_body *body, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count, const void *values);
/* Required attributes are there, and what the kind's checks say (graph_check.c). */
cudnnStatus_t graph_finalize(struct graph_body *body);
cudnnStatus_t graph_check(struct graph_body *body);
size_t graph_type_size_B(cudnnBackendAttributeType_t type);

/* ---- attributes of a body; the names are those of attributes, shortened */

const struct graph_value *graph_find(const struct graph_body *body,
                                     cudnnBackendAttributeName_t name);
/* The value that is a descriptor, or NULL. */
struct graph_body *graph_body_at(const struct graph_body *body, cudnnBackendAttributeName_t name);
/* Of any type of numbers; `otherwise` where it was not set. */
int64_t graph_whole(const struct graph_body *body, cudnnBackendAttributeName_t name,
                    int64_t otherwise);
double graph_real(const struct graph_body *body, cudnnBackendAttributeName_t name,
                  double otherwise);

/* ---- the graph as a program */

/* Dimensions that an execution has in place of a tensor's. */
struct graph_override {
    int64_t uid;
    int rank;
    int64_t dims[DNN_DIMS], strides[DNN_DIMS];
};

/* `graph`: of kind OPERATIONGRAPH. The program is interned. */
cudnnStatus_t graph_lower(const struct graph_body *graph, enum graph_engine engine,
                          const struct graph_override *overrides, size_t noverrides,
                          struct dnn_program **out_program);
/* The one that is like it, with an owner more, which is made if there is none; NULL: no memory. */
struct dnn_program *graph_intern(const struct dnn_program *program);
/* With an owner more. */
struct dnn_program *graph_own(struct dnn_program *program);
/* A CUDA graph refers to it from now on. */
void graph_captured(struct dnn_program *program);
/* An owner less. Without any it goes when what was launched has run; if it was captured, never. */
void graph_disown(struct dnn_program *program); /* or NULL */
/* The uids of a program's slots, in their order. */
const int64_t *graph_slots(const struct dnn_program *program);

/* ---- texts (graph_json.c) */

/* `body` and what it refers to; NULL: no memory. Freed by the caller. */
char *graph_json_write(const struct graph_body *body);
/* Finalised, of the kind that is asked for. */
cudnnStatus_t graph_json_read(const char *text, size_t size_B, enum graph_kind kind,
                              struct graph_body **out_body);

#define GRAPH_FAIL(status, ...) dnn_fail(status, __func__, __VA_ARGS__)

#endif
