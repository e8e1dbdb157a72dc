// Operators of ONNX Runtime, in the domain "plugins", on its CUDA execution provider:
//
//     options.register_custom_ops_library("build/onnx_front.so")
//
// An attribute that a model's node does not have takes the table's value.
#include "plugin.h"

#include <onnxruntime_c_api.h>

#include <vector>

struct front_op {
    OrtCustomOp base; // first: ONNX Runtime knows only this
    const plugin_op *op;
};

struct front_kernel {
    const OrtApi *api;
    const plugin_op *op;
    float attributes[PLUGIN_ATTRIBUTES];
};

static const plugin_op *op_of(const OrtCustomOp *base)
{
    return reinterpret_cast<const front_op *>(base)->op;
}

static ONNXTensorElementDataType type_of(const plugin_value &value)
{
    static const ONNXTensorElementDataType types[] = {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
                                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8};
    return types[value.type];
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        OrtStatus *status_ = (call);                                                               \
        if (status_)                                                                               \
            return status_;                                                                        \
    } while (0)

static OrtStatus *create(const OrtCustomOp *base, const OrtApi *api, const OrtKernelInfo *info,
                         void **kernel)
{
    const plugin_op *op = op_of(base);
    front_kernel *made = new front_kernel{api, op, {}};
    for (int i = 0; i < PLUGIN_ATTRIBUTES && op->attributes[i].name; i++) {
        made->attributes[i] = op->attributes[i].value;
        OrtStatus *absent =
            api->KernelInfoGetAttribute_float(info, op->attributes[i].name, &made->attributes[i]);
        if (absent)
            api->ReleaseStatus(absent);
    }
    *kernel = made;
    return nullptr;
}

static OrtStatus *describe(const OrtApi *api, const OrtValue *value, plugin_tensor *tensor)
{
    OrtTensorTypeAndShapeInfo *info;
    size_t rank = 0;
    TRY(api->GetTensorTypeAndShape(value, &info));
    OrtStatus *status = api->GetDimensionsCount(info, &rank);
    if (!status && rank > PLUGIN_DIMS)
        status = api->CreateStatus(ORT_INVALID_ARGUMENT, "too many dimensions");
    if (!status)
        status = api->GetDimensions(info, tensor->dims, rank);
    api->ReleaseTensorTypeAndShapeInfo(info);
    tensor->rank = (int32_t)rank;
    return status ? status : api->GetTensorMutableData(const_cast<OrtValue *>(value), &tensor->at);
}

static OrtStatus *compute(void *at, OrtKernelContext *context)
{
    front_kernel *kernel = static_cast<front_kernel *>(at);
    const OrtApi *api = kernel->api;
    const plugin_op *op = kernel->op;
    plugin_call call = {};
    const OrtValue *input = nullptr;
    void *stream = nullptr;
    TRY(api->KernelContext_GetGPUComputeStream(context, &stream));
    for (int i = 0; i < PLUGIN_ATTRIBUTES; i++)
        call.attributes[i] = kernel->attributes[i];
    for (int i = 0; i < plugin_count(op->in); i++) {
        TRY(api->KernelContext_GetInput(context, i, &input));
        TRY(describe(api, input, &call.in[i]));
    }
    const char *wrong = op->shapes(&call);
    for (int i = 0; !wrong && i < plugin_count(op->out); i++) {
        OrtValue *output;
        TRY(api->KernelContext_GetOutput(context, i, call.out[i].dims, (size_t)call.out[i].rank,
                                         &output));
        TRY(api->GetTensorMutableData(output, &call.out[i].at));
    }
    size_t workspace_B = !wrong && op->workspace_B ? op->workspace_B(&call) : 0;
    OrtAllocator *memory = nullptr;
    if (workspace_B) {
        const OrtMemoryInfo *where;
        TRY(api->GetTensorMemoryInfo(input, &where));
        TRY(api->KernelContext_GetAllocator(context, where, &memory));
        TRY(api->AllocatorAlloc(memory, workspace_B, &call.workspace));
    }
    if (!wrong)
        wrong = op->enqueue(&call, static_cast<CUstream_st *>(stream));
    if (memory) { // what gets it next runs behind this, in the same stream
        OrtStatus *status = api->AllocatorFree(memory, call.workspace);
        api->ReleaseAllocator(memory);
        TRY(status);
    }
    return wrong ? api->CreateStatus(ORT_INVALID_ARGUMENT, wrong) : nullptr;
}

static OrtCustomOp callbacks()
{
    OrtCustomOp base = {};
    base.version = ORT_API_VERSION;
    base.CreateKernelV2 = create;
    base.KernelComputeV2 = compute;
    base.KernelDestroy = [](void *kernel) { delete static_cast<front_kernel *>(kernel); };
    base.GetName = [](const OrtCustomOp *op) { return op_of(op)->name; };
    base.GetExecutionProviderType = [](const OrtCustomOp *) { return "CUDAExecutionProvider"; };
    base.GetInputTypeCount = [](const OrtCustomOp *op) {
        return (size_t)plugin_count(op_of(op)->in);
    };
    base.GetOutputTypeCount = [](const OrtCustomOp *op) {
        return (size_t)plugin_count(op_of(op)->out);
    };
    base.GetInputType = [](const OrtCustomOp *op, size_t i) { return type_of(op_of(op)->in[i]); };
    base.GetOutputType = [](const OrtCustomOp *op, size_t i) { return type_of(op_of(op)->out[i]); };
    base.GetInputCharacteristic = [](const OrtCustomOp *, size_t) { return INPUT_OUTPUT_REQUIRED; };
    base.GetOutputCharacteristic = [](const OrtCustomOp *, size_t) {
        return INPUT_OUTPUT_REQUIRED;
    };
    base.GetInputMemoryType = [](const OrtCustomOp *, size_t) { return OrtMemTypeDefault; };
    base.GetStartVersion = [](const OrtCustomOp *) { return 1; };
    base.GetEndVersion = [](const OrtCustomOp *) { return 1000; };
    return base;
}

// ONNX Runtime finds it by this name. The domain and its operators live as long as this library.
extern "C" __attribute__((visibility("default"))) OrtStatus *
RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base)
{
    static std::vector<front_op> ops;
    const OrtApi *api = base->GetApi(ORT_API_VERSION);
    OrtCustomOpDomain *domain;
    if (!api) // an older ONNX Runtime than the headers; no call of it can say so
        return nullptr;
    if (ops.empty())
        for (const plugin_op *op = plugin_table(); op->name; op++)
            ops.push_back({callbacks(), op});
    TRY(api->CreateCustomOpDomain("plugins", &domain));
    for (front_op &op : ops)
        TRY(api->CustomOpDomain_Add(domain, &op.base));
    return api->AddCustomOpDomain(options, domain);
}
