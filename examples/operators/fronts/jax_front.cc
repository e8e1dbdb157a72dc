// One handler of XLA's for every operator of the table: it is called with the operator's name.
#include "plugin.h"

#include <cstring>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static void describe(const ffi::AnyBuffer &buffer, plugin_tensor *tensor)
{
    tensor->at = buffer.untyped_data();
    tensor->rank = (int32_t)buffer.dimensions().size();
    for (int i = 0; i < tensor->rank && i < PLUGIN_DIMS; i++)
        tensor->dims[i] = buffer.dimensions()[i];
}

static ffi::Error call(CUstream_st *stream, ffi::ScratchAllocator scratch,
                       ffi::RemainingArgs inputs, ffi::RemainingRets outputs, std::string_view name,
                       ffi::Span<const float> attributes)
{
    const plugin_op *op = plugin_table();
    while (op->name && op->name != name)
        op++;
    if (!op->name || (int)inputs.size() != plugin_count(op->in) ||
        (int)outputs.size() != plugin_count(op->out) || attributes.size() > PLUGIN_ATTRIBUTES)
        return ffi::Error::InvalidArgument("no such operator: " + std::string(name));
    plugin_call call = {};
    std::copy(attributes.begin(), attributes.end(), call.attributes);
    for (size_t i = 0; i < inputs.size(); i++)
        describe(inputs.get<ffi::AnyBuffer>(i).value(), &call.in[i]);
    const char *wrong = op->shapes(&call);
    for (size_t i = 0; i < outputs.size(); i++)
        describe(*outputs.get<ffi::AnyBuffer>(i).value(), &call.out[i]);
    size_t workspace_B = !wrong && op->workspace_B ? op->workspace_B(&call) : 0;
    if (workspace_B) {
        auto at = scratch.Allocate(workspace_B);
        if (!at)
            return ffi::Error::Internal("no memory for a workspace");
        call.workspace = *at;
    }
    if (!wrong)
        wrong = op->enqueue(&call, stream);
    return wrong ? ffi::Error::InvalidArgument(std::string(name) + ": " + wrong)
                 : ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(plugin_call_handler, call,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<CUstream_st *>>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("op")
                                  .Attr<ffi::Span<const float>>("attributes"),
                              {ffi::Traits::kCmdBufferCompatible});
