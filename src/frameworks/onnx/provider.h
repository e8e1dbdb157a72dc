/*
 * An execution provider for ONNX Runtime: its CUDAExecutionProvider, as far as programs see.
 *
 * The one that comes with onnxruntime-gpu holds machine code for GPUs only. This one takes the
 * nodes of a model, makes sessions of ONNX Runtime's own CPU provider of them, one for each
 * subgraph, and runs each as a native kernel over the device's memory. It is a plug-in, by ONNX
 * Runtime's interface for those (ort.h), in a library of its own: libheddle_onnx.so.
 *
 * Threads: ONNX Runtime runs a session from several threads at once; what is made for a session is
 * constant after that.
 */
#ifndef HD_FRAMEWORKS_ONNX_PROVIDER_H
#define HD_FRAMEWORKS_ONNX_PROVIDER_H

#include "cuda.h"
#include "frameworks/onnx/ort.h"

#define PROVIDER_NAME      "CUDAExecutionProvider"
#define PROVIDER_VENDOR_ID 0x10de /* NVIDIA's of PCI: devices' memory is known by it */

/* The device's memory, as ONNX Runtime allocates and copies. `ordinal` is CUDA's. */
struct ort_status *memory_info_create(int ordinal, struct ort_memory_info **out);
struct ort_status *memory_allocator_create(int ordinal, struct ort_allocator **out);
void memory_allocator_destroy(struct ort_allocator *allocator);
struct ort_status *memory_transfer_create(struct ort_transfer **out);

/* Which nodes of a graph the provider takes, in groups that can be one kernel each. */
struct ort_status *capability_find(const struct ort_graph *graph, struct ort_support *support);

/* What runs a group. */
struct ort_status *subgraph_create(CUcontext context, CUstream stream,
                                   const struct ort_graph *graph, const struct ort_node *fused,
                                   struct ort_compute **out);
void subgraph_destroy(struct ort_compute *compute);

#endif
