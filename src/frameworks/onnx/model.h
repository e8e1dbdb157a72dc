/*
 * A subgraph of ONNX Runtime's as a model in ONNX's format (protocol buffers), from which a session
 * of its own can be made.
 *
 * Inputs and outputs of the model are those of the fused node that stands for the subgraph;
 * constant initializers become the model's own. Nodes with subgraphs, and values that are no
 * tensors or have strings, are the caller's to keep out.
 */
#ifndef HD_FRAMEWORKS_ONNX_MODEL_H
#define HD_FRAMEWORKS_ONNX_MODEL_H

#include "base/str.h"
#include "frameworks/onnx/ort.h"

/* Appends the model to `out`, whose `failed` says that there was no memory. */
struct ort_status *model_write(struct hd_buf *out, const struct ort_graph *graph,
                               const struct ort_node *fused);

/* A node's arrays, on the heap: hd_free() each. Optional ones that are left out are NULL. */
struct ort_status *model_inputs(const struct ort_node *node, const struct ort_value_info ***out_at,
                                size_t *out_count);
struct ort_status *model_outputs(const struct ort_node *node, const struct ort_value_info ***out_at,
                                 size_t *out_count);
/* The type of a tensor's elements; ORT_NO_ELEMENT: the value is no tensor. */
struct ort_status *model_element_of(const struct ort_value_info *value, int *out_type);

#endif
