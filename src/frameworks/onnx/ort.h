/*
 * The part of ONNX Runtime's C interface that the provider uses, declared for it: public, stable
 * since its version 1.23, and the same in every later one, as functions are only added at the end.
 *
 * ONNX Runtime hands out tables of functions, `OrtApi` and `OrtEpApi`. Here a function is its place
 * in the table and its type; ORT(Name)(...) calls it. Results that are `struct ort_status *` are
 * NULL when all is well, else the caller's to pass on or release. What an execution provider
 * implements is a struct of functions, which begins with the version that it knows: ORT_VERSION.
 */
#ifndef HD_FRAMEWORKS_ONNX_ORT_H
#define HD_FRAMEWORKS_ONNX_ORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORT_VERSION 23

struct ort_status;
struct ort_env;
struct ort_session;
struct ort_session_options;
struct ort_run_options;
struct ort_value;
struct ort_type;  /* OrtTypeInfo */
struct ort_shape; /* OrtTensorTypeAndShapeInfo */
struct ort_memory_info;
struct ort_memory_device;
struct ort_pairs; /* OrtKeyValuePairs */
struct ort_logger;
struct ort_graph;
struct ort_node;
struct ort_value_info;
struct ort_attribute; /* OrtOpAttr */
struct ort_kernel_context;
struct ort_compute_context;
struct ort_support; /* OrtEpGraphSupportInfo */
struct ort_hardware;
struct ort_ep_device;
struct ort_stream;
struct ort_factory;
struct ort_fusion;

enum { ORT_FAIL = 1, ORT_NOT_IMPLEMENTED = 9 }; /* OrtErrorCode */
enum { ORT_TENSOR = 1 };                        /* ONNXType */
enum { ORT_STRING = 8, ORT_NO_ELEMENT = 0 };    /* types of elements, numbered as ONNX does */
enum { ORT_HARDWARE_CPU = 0, ORT_HARDWARE_GPU = 1 };
enum { ORT_MEMORY_CPU = 0, ORT_MEMORY_GPU = 1 }; /* OrtMemoryInfoDeviceType */
enum { ORT_DEVICE_ALLOCATOR = 0 };
enum ort_attribute_type {
    ORT_ATTRIBUTE_NONE,
    ORT_ATTRIBUTE_INT,
    ORT_ATTRIBUTE_INTS,
    ORT_ATTRIBUTE_FLOAT,
    ORT_ATTRIBUTE_FLOATS,
    ORT_ATTRIBUTE_STRING,
    ORT_ATTRIBUTE_STRINGS,
    ORT_ATTRIBUTE_GRAPH,
    ORT_ATTRIBUTE_TENSOR,
};

/* name, place in OrtApi, result, parameters */
/* clang-format off */
#define ORT_FUNCTIONS(X)                                                                           \
    X(CreateStatus, 0, struct ort_status *, (int code, const char *message))                       \
    X(GetErrorMessage, 2, const char *, (const struct ort_status *))                               \
    X(CreateEnv, 3, struct ort_status *, (int level, const char *id, struct ort_env **))           \
    X(CreateSessionFromArray, 8, struct ort_status *, (const struct ort_env *, const void *, size_t, const struct ort_session_options *, struct ort_session **)) \
    X(Run, 9, struct ort_status *, (struct ort_session *, const struct ort_run_options *, const char *const *in, const struct ort_value *const *, size_t, const char *const *out, size_t, struct ort_value **)) \
    X(CreateSessionOptions, 10, struct ort_status *, (struct ort_session_options **))              \
    X(CreateTensorWithDataAsOrtValue, 49, struct ort_status *, (const struct ort_memory_info *, void *, size_t size_B, const int64_t *dims, size_t ndims, int type, struct ort_value **)) \
    X(GetTensorMutableData, 51, struct ort_status *, (struct ort_value *, void **))                \
    X(CastTypeInfoToTensorInfo, 55, struct ort_status *, (const struct ort_type *, const struct ort_shape **)) \
    X(GetOnnxTypeFromTypeInfo, 56, struct ort_status *, (const struct ort_type *, int *))          \
    X(GetTensorElementType, 60, struct ort_status *, (const struct ort_shape *, int *))            \
    X(GetDimensionsCount, 61, struct ort_status *, (const struct ort_shape *, size_t *))           \
    X(GetDimensions, 62, struct ort_status *, (const struct ort_shape *, int64_t *, size_t))       \
    X(GetSymbolicDimensions, 63, struct ort_status *, (const struct ort_shape *, const char **, size_t)) \
    X(GetTensorTypeAndShape, 65, struct ort_status *, (const struct ort_value *, struct ort_shape **)) \
    X(CreateCpuMemoryInfo, 69, struct ort_status *, (int allocator, int type, struct ort_memory_info **)) \
    X(KernelContext_GetInputCount, 88, struct ort_status *, (const struct ort_kernel_context *, size_t *)) \
    X(KernelContext_GetInput, 90, struct ort_status *, (const struct ort_kernel_context *, size_t, const struct ort_value **)) \
    X(KernelContext_GetOutput, 91, struct ort_status *, (struct ort_kernel_context *, size_t, const int64_t *, size_t, struct ort_value **)) \
    X(ReleaseEnv, 92, void, (struct ort_env *))                                                    \
    X(ReleaseStatus, 93, void, (struct ort_status *))                                              \
    X(ReleaseMemoryInfo, 94, void, (struct ort_memory_info *))                                     \
    X(ReleaseSession, 95, void, (struct ort_session *))                                            \
    X(ReleaseValue, 96, void, (struct ort_value *))                                                \
    X(ReleaseTensorTypeAndShapeInfo, 99, void, (struct ort_shape *))                               \
    X(ReleaseSessionOptions, 100, void, (struct ort_session_options *))                            \
    X(AddSessionConfigEntry, 130, struct ort_status *, (struct ort_session_options *, const char *, const char *)) \
    X(ReadOpAttr, 272, struct ort_status *, (const struct ort_attribute *, int type, void *, size_t, size_t *out_B)) \
    X(GetValueInfoName, 289, struct ort_status *, (const struct ort_value_info *, const char **))  \
    X(GetValueInfoTypeInfo, 290, struct ort_status *, (const struct ort_value_info *, const struct ort_type **)) \
    X(CreateKeyValuePairs, 295, void, (struct ort_pairs **))                                       \
    X(AddKeyValuePair, 296, void, (struct ort_pairs *, const char *, const char *))                \
    X(ReleaseKeyValuePairs, 300, void, (struct ort_pairs *))                                       \
    X(HardwareDevice_Type, 307, int, (const struct ort_hardware *))                                \
    X(GetEpApi, 317, const void *, (void))                                                         \
    X(GetTensorSizeInBytes, 318, struct ort_status *, (const struct ort_value *, size_t *))        \
    X(CreateMemoryInfo_V2, 320, struct ort_status *, (const char *, int device, uint32_t vendor, int32_t id, int type, size_t alignment_B, int allocator, struct ort_memory_info **)) \
    X(ValueInfo_GetValueProducer, 323, struct ort_status *, (const struct ort_value_info *, const struct ort_node **, size_t *)) \
    X(ValueInfo_GetInitializerValue, 326, struct ort_status *, (const struct ort_value_info *, const struct ort_value **)) \
    X(ValueInfo_IsConstantInitializer, 331, struct ort_status *, (const struct ort_value_info *, bool *)) \
    X(Graph_GetOnnxIRVersion, 335, struct ort_status *, (const struct ort_graph *, int64_t *))     \
    X(Graph_GetNumOperatorSets, 336, struct ort_status *, (const struct ort_graph *, size_t *))    \
    X(Graph_GetOperatorSets, 337, struct ort_status *, (const struct ort_graph *, const char **, int64_t *, size_t)) \
    X(Graph_GetNumNodes, 344, struct ort_status *, (const struct ort_graph *, size_t *))           \
    X(Graph_GetNodes, 345, struct ort_status *, (const struct ort_graph *, const struct ort_node **, size_t)) \
    X(Graph_GetParentNode, 346, struct ort_status *, (const struct ort_graph *, const struct ort_node **)) \
    X(Node_GetId, 348, struct ort_status *, (const struct ort_node *, size_t *))                   \
    X(Node_GetName, 349, struct ort_status *, (const struct ort_node *, const char **))            \
    X(Node_GetOperatorType, 350, struct ort_status *, (const struct ort_node *, const char **))    \
    X(Node_GetDomain, 351, struct ort_status *, (const struct ort_node *, const char **))          \
    X(Node_GetNumInputs, 353, struct ort_status *, (const struct ort_node *, size_t *))            \
    X(Node_GetInputs, 354, struct ort_status *, (const struct ort_node *, const struct ort_value_info **, size_t)) \
    X(Node_GetNumOutputs, 355, struct ort_status *, (const struct ort_node *, size_t *))           \
    X(Node_GetOutputs, 356, struct ort_status *, (const struct ort_node *, const struct ort_value_info **, size_t)) \
    X(Node_GetNumImplicitInputs, 357, struct ort_status *, (const struct ort_node *, size_t *))    \
    X(Node_GetImplicitInputs, 358, struct ort_status *, (const struct ort_node *, const struct ort_value_info **, size_t)) \
    X(Node_GetNumAttributes, 359, struct ort_status *, (const struct ort_node *, size_t *))        \
    X(Node_GetAttributes, 360, struct ort_status *, (const struct ort_node *, const struct ort_attribute **, size_t)) \
    X(OpAttr_GetTensorAttributeAsOrtValue, 362, struct ort_status *, (const struct ort_attribute *, struct ort_value **)) \
    X(OpAttr_GetType, 363, struct ort_status *, (const struct ort_attribute *, int *))             \
    X(OpAttr_GetName, 364, struct ort_status *, (const struct ort_attribute *, const char **))     \
    X(Node_GetNumSubgraphs, 365, struct ort_status *, (const struct ort_node *, size_t *))

/* The same of OrtEpApi. */
#define ORT_EP_FUNCTIONS(X)                                                                        \
    X(CreateEpDevice, 0, struct ort_status *, (struct ort_factory *, const struct ort_hardware *, const struct ort_pairs *metadata, const struct ort_pairs *options, struct ort_ep_device **)) \
    X(EpGraphSupportInfo_AddNodesToFuse, 2, struct ort_status *, (struct ort_support *, const struct ort_node *const *, size_t, const struct ort_fusion *)) \
    X(EpDevice_AddAllocatorInfo, 5, struct ort_status *, (struct ort_ep_device *, const struct ort_memory_info *)) \
    X(MemoryDevice_GetDeviceType, 9, int, (const struct ort_memory_device *))                      \
    X(MemoryDevice_GetVendorId, 11, uint32_t, (const struct ort_memory_device *))
/* clang-format on */

struct ort_base {
    const void *const *(*get_api)(uint32_t version); /* NULL: it is older than that version */
    const char *(*get_version)(void);
};

struct ort_fusion { /* OrtNodeFusionOptions */
    uint32_t version;
    bool drops_constants; /* the fused node gets no constant initializers as inputs */
};

struct ort_allocator {
    uint32_t version;
    void *(*alloc)(struct ort_allocator *, size_t);
    void (*free)(struct ort_allocator *, void *);
    const struct ort_memory_info *(*info)(const struct ort_allocator *);
    void *(*reserve)(struct ort_allocator *, size_t);
    struct ort_status *(*stats)(const struct ort_allocator *, struct ort_pairs **); /* or NULL */
    void *(*alloc_on_stream)(struct ort_allocator *, size_t, struct ort_stream *);  /* or NULL */
};

struct ort_transfer { /* OrtDataTransferImpl */
    uint32_t version;
    void (*release)(struct ort_transfer *);
    bool (*can_copy)(const struct ort_transfer *, const struct ort_memory_device *from,
                     const struct ort_memory_device *to);
    struct ort_status *(*copy)(struct ort_transfer *, const struct ort_value **from,
                               struct ort_value **to, struct ort_stream **, size_t count);
};

struct ort_compute { /* OrtNodeComputeInfo: a subgraph that was compiled */
    uint32_t version;
    struct ort_status *(*create_state)(struct ort_compute *, struct ort_compute_context *,
                                       void **out_state);
    struct ort_status *(*compute)(struct ort_compute *, void *state, struct ort_kernel_context *);
    void (*release_state)(struct ort_compute *, void *state);
};

struct ort_ep {
    uint32_t version;
    const char *(*name)(const struct ort_ep *);
    struct ort_status *(*get_capability)(struct ort_ep *, const struct ort_graph *,
                                         struct ort_support *);
    struct ort_status *(*compile)(struct ort_ep *, const struct ort_graph **,
                                  const struct ort_node **fused, size_t count,
                                  struct ort_compute **, struct ort_node **contexts);
    void (*release_computes)(struct ort_ep *, struct ort_compute **, size_t);
    void *optional[16]; /* NULL */
};

struct ort_factory { /* OrtEpFactory */
    uint32_t version;
    const char *(*name)(const struct ort_factory *);
    const char *(*vendor)(const struct ort_factory *);
    struct ort_status *(*devices)(struct ort_factory *, const struct ort_hardware *const *, size_t,
                                  struct ort_ep_device **, size_t max, size_t *out_count);
    struct ort_status *(*create_ep)(struct ort_factory *, const struct ort_hardware *const *,
                                    const struct ort_pairs *const *, size_t,
                                    const struct ort_session_options *, const struct ort_logger *,
                                    struct ort_ep **);
    void (*release_ep)(struct ort_factory *, struct ort_ep *);
    uint32_t (*vendor_id)(const struct ort_factory *);
    const char *(*own_version)(const struct ort_factory *);
    void *check_compiled; /* or NULL */
    struct ort_status *(*create_allocator)(struct ort_factory *, const struct ort_memory_info *,
                                           const struct ort_pairs *, struct ort_allocator **);
    void (*release_allocator)(struct ort_factory *, struct ort_allocator *);
    struct ort_status *(*create_transfer)(struct ort_factory *, struct ort_transfer **);
    bool (*has_streams)(const struct ort_factory *);
    void *optional[16]; /* NULL */
};

/* The functions, as ONNX Runtime handed them out: one set for the process. */
extern struct ort_api {
#define X(name, at, result, parameters) result(*name) parameters;
    ORT_FUNCTIONS(X)
    ORT_EP_FUNCTIONS(X)
#undef X
} ort_api;

#define ORT(name) ort_api.name

/* Leaves the function with the status unless it is NULL. */
#define ORT_TRY(...)                                                                               \
    do {                                                                                           \
        struct ort_status *ort_try_status = (__VA_ARGS__);                                         \
        if (ort_try_status)                                                                        \
            return ort_try_status;                                                                 \
    } while (0)

#endif
