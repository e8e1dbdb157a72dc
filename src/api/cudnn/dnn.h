/* What the files of libcudnn share: descriptors, statuses, launches. */
#ifndef HD_API_CUDNN_DNN_H
#define HD_API_CUDNN_DNN_H

#pragma GCC visibility push(default) /* what the header declares is what the library exports */
#include <cudnn.h>
#pragma GCC visibility pop

#include <stdbool.h>

#include "api/lib_base/lib_compute.h"
#include "base/compiler.h"
#include "klib/dnn.h"
#include "klib/klib.h"

struct cudnnContext {
    struct lib_handle base;
};

/* Filters are tensors, too: K, C, spatial dimensions. */
struct cudnnTensorStruct {
    cudnnDataType_t type;
    int rank; /* 0: not set */
    int dims[CUDNN_DIM_MAX];
    int strides[CUDNN_DIM_MAX]; /* elements; of vectors of channels: vectors */
};

struct cudnnFilterStruct {
    struct cudnnTensorStruct t;
    cudnnTensorFormat_t format;
};

struct cudnnActivationStruct {
    bool is_set;
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coef, swish_beta;
};

struct cudnnOpTensorStruct {
    bool is_set;
    cudnnOpTensorOp_t op;
    cudnnDataType_t type;
    cudnnNanPropagation_t nan;
};

struct cudnnReduceTensorStruct {
    bool is_set;
    cudnnReduceTensorOp_t op;
    cudnnDataType_t type;
    cudnnNanPropagation_t nan;
    cudnnReduceTensorIndices_t indices;
    cudnnIndicesType_t indices_type;
};

struct cudnnPoolingStruct {
    int rank; /* of space; 0: not set */
    cudnnPoolingMode_t mode;
    cudnnNanPropagation_t nan;
    int window[CUDNN_DIM_MAX], pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

struct cudnnLRNStruct {
    unsigned n;
    double alpha, beta, k;
};

struct cudnnDropoutStruct {
    float dropout;
    void *states; /* of the caller's, in memory of the device */
    unsigned long long seed;
};

struct cudnnSpatialTransformerStruct {
    bool is_set;
    cudnnDataType_t type;
    int dims[4];
};

struct cudnnCTCLossStruct {
    bool is_set;
    cudnnDataType_t type;
    cudnnLossNormalizationMode_t norm;
    cudnnNanPropagation_t nan;
    cudnnCTCGradMode_t grad;
    int max_label;
};

struct cudnnConvolutionStruct {
    int rank; /* of space; 0: not set */
    int pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t type;
    cudnnMathType_t math;
    cudnnReorderType_t reorder;
    int groups;
};

extern const struct lib_info dnn_info;

/* ---- statuses; the thread's last error and the log say of which function, and why */

cudnnStatus_t dnn_fail(cudnnStatus_t status, const char *function, const char *fmt, ...)
    HD_PRINTF(3, 4);
/* The status of a driver's CUresult. */
cudnnStatus_t dnn_status(int cuda_result);
/* BAD_PARAM_NULL_POINTER, or SUCCESS if all of the arguments are there. */
#define DNN_NEEDS(...)                                                                             \
    do {                                                                                           \
        const void *pointers_[] = {__VA_ARGS__};                                                   \
        for (size_t i_ = 0; i_ < HD_COUNT_OF(pointers_); i_++)                                     \
            if (!pointers_[i_])                                                                    \
                return dnn_fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, __func__,                     \
                                "a pointer of %s is NULL", #__VA_ARGS__);                          \
    } while (0)
#define DNN_CHECK(condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return dnn_fail(CUDNN_STATUS_BAD_PARAM, __func__, __VA_ARGS__);                        \
    } while (0)
#define DNN_SUPPORTS(condition, ...)                                                               \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, __func__, __VA_ARGS__);                    \
    } while (0)

/* ---- tensors */

/* The enum klib_type of elements, -1: there is none. */
int dnn_type(cudnnDataType_t type);
/* Bytes of an element, of vectors one of them. */
size_t dnn_size_B(cudnnDataType_t type);
/* Elements of a vector of channels, else 1. */
int dnn_vector(cudnnDataType_t type);
/* As kernels have it, at `address`. */
struct klib_tensor dnn_tensor(const struct cudnnTensorStruct *t, const void *address);
/* Sets strides so that `format` lies without gaps. */
void dnn_pack(struct cudnnTensorStruct *t, cudnnTensorFormat_t format);
int64_t dnn_elements(const struct cudnnTensorStruct *t);
/* The same dimensions? */
bool dnn_same_dims(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b);
/* A factor of the host's: of doubles a double, else a float. */
double dnn_factor(const void *factor, const struct cudnnTensorStruct *t);

/* A number of any type. */
double dnn_value(cudnnDataType_t type, const void *value);

/* Bytes of dropout's states, and of a mask of so many elements. */
enum { DNN_DROPOUT_STATES_B = 256 };
static inline size_t dnn_mask_B(int64_t elements)
{
    return (size_t)(elements + 63) / 64 * 8;
}

struct klib_act dnn_act(const struct cudnnActivationStruct *act);

/* ---- launches */

/* Memory of the device. */
cudnnStatus_t dnn_alloc(void **out_address, size_t size_B);
void dnn_free(void *address); /* or NULL */

/* NULL: the kernel library is not there, which the last error says. */
const struct klib_dnn *dnn_klib(void);
/* Launches a kernel on tensors. */
cudnnStatus_t dnn_op(cudnnHandle_t handle, struct klib_dnn_op *op);
cudnnStatus_t dnn_launch(cudnnHandle_t handle, struct lib_kernel *kernel, const char *name,
                         heddle_native_fn *function, const void *params, size_t params_B,
                         uint64_t tiles, uint64_t ns);

#endif
