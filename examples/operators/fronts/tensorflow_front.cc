// Operators of TensorFlow: tf.load_op_library("build/tensorflow_front.so").rmsnorm_rope(...).
#include "plugin.h"

#include <cctype>
#include <string>

#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "xla/stream_executor/stream.h"

namespace tf = tensorflow;

static const char *const types[] = {"float32", "int32", "uint8"};

// rmsnorm_rope is RmsnormRope here; Python's wrapper is rmsnorm_rope again.
static std::string camel(const char *name)
{
    std::string text;
    for (bool upper = true; *name; upper = *name++ == '_')
        if (*name != '_')
            text += upper ? (char)toupper(*name) : *name;
    return text;
}

static void describe(const tf::Tensor &from, plugin_tensor *to)
{
    to->at = const_cast<char *>(from.tensor_data().data());
    to->rank = from.dims();
    for (int i = 0; i < from.dims(); i++)
        to->dims[i] = from.dim_size(i);
}

class PluginKernel : public tf::OpKernel {
  public:
    explicit PluginKernel(tf::OpKernelConstruction *context) : OpKernel(context), op(plugin_table())
    {
        while (camel(op->name) != type_string())
            op++;
        for (int i = 0; i < PLUGIN_ATTRIBUTES && op->attributes[i].name; i++)
            OP_REQUIRES_OK(context, context->GetAttr(op->attributes[i].name, &attributes[i]));
    }

    void Compute(tf::OpKernelContext *context) override
    {
        plugin_call call = {};
        std::copy(attributes, attributes + PLUGIN_ATTRIBUTES, call.attributes);
        for (int i = 0; i < context->num_inputs(); i++) {
            OP_REQUIRES(context, context->input(i).dims() <= PLUGIN_DIMS,
                        tf::errors::InvalidArgument(op->name, ": too many dimensions"));
            describe(context->input(i), &call.in[i]);
        }
        const char *wrong = op->shapes(&call);
        OP_REQUIRES(context, !wrong,
                    tf::errors::InvalidArgument(op->name, ": ", wrong ? wrong : ""));
        for (int i = 0; i < context->num_outputs(); i++) {
            tf::Tensor *output;
            tf::TensorShape shape(tf::gtl::ArraySlice<int64_t>(call.out[i].dims, call.out[i].rank));
            OP_REQUIRES_OK(context, context->allocate_output(i, shape, &output));
            describe(*output, &call.out[i]);
        }
        tf::Tensor workspace; // what gets its memory next runs behind this, in the same stream
        if (op->workspace_B) {
            OP_REQUIRES_OK(context,
                           context->allocate_temp(tf::DT_UINT8, {(int64_t)op->workspace_B(&call)},
                                                  &workspace));
            call.workspace = const_cast<char *>(workspace.tensor_data().data());
        }
        void *stream = context->op_device_context()->stream()->platform_specific_handle().stream;
        wrong = op->enqueue(&call, static_cast<CUstream_st *>(stream));
        OP_REQUIRES(context, !wrong, tf::errors::Internal(op->name, ": ", wrong ? wrong : ""));
    }

  private:
    const plugin_op *op;
    float attributes[PLUGIN_ATTRIBUTES] = {};
};

static tf::Status declare(const plugin_op *op, tf::OpRegistrationData *data)
{
    tf::OpDefBuilder builder(camel(op->name));
    for (int i = 0; i < plugin_count(op->in); i++)
        builder.Input(std::string(op->in[i].name) + ": " + types[op->in[i].type]);
    for (int i = 0; i < plugin_count(op->out); i++)
        builder.Output(std::string(op->out[i].name) + ": " + types[op->out[i].type]);
    for (int i = 0; i < PLUGIN_ATTRIBUTES && op->attributes[i].name; i++)
        builder.Attr(std::string(op->attributes[i].name) +
                     ": float = " + std::to_string(op->attributes[i].value));
    return builder.SetShapeFn(tf::shape_inference::UnknownShape).Finalize(data);
}

static bool register_all()
{
    for (const plugin_op *op = plugin_table(); op->name; op++) {
        tf::OpRegistry::Global()->Register(
            [op](tf::OpRegistrationData *data) { return declare(op, data); });
        tf::kernel_factory::OpKernelRegistrar(
            tf::KernelDefBuilder(camel(op->name).c_str()).Device(tf::DEVICE_GPU).Build(), op->name,
            [](tf::OpKernelConstruction *context) -> tf::OpKernel * {
                return new PluginKernel(context);
            });
    }
    return true;
}

static const bool registered = register_all();
