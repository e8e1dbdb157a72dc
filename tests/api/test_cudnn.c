/* cuDNN: handles, versions, errors, the log, descriptors of tensors and filters. */
#include <stddef.h>

#include "cudnn_fixture.h"

/* A function that the public header does not offer. */
cudnnStatus_t cudnnGetBackdoor(void);

static void test_cudnn(void)
{
    cudaStream_t stream = (cudaStream_t)8, got;
    int major = 0, minor = 0, patch = 1;
    char text[128] = "";

    eq_u64(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS, "cudnnCreate");
    eq_u64(cudnnCreate(NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to put it");
    eq_u64(cudnnGetStream(handle, &got), CUDNN_STATUS_SUCCESS, "cudnnGetStream");
    ok(!got, "the default stream");
    eq_u64(cudnnSetStream(handle, stream), CUDNN_STATUS_SUCCESS, "cudnnSetStream");
    eq_u64(cudnnGetStream(handle, &got), CUDNN_STATUS_SUCCESS, "cudnnGetStream");
    ok(got == stream, "the stream that was set");
    eq_u64(cudnnSetStream(NULL, stream), CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle");
    eq_u64(cudnnGetStream(handle, NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to put it");
    eq_u64(cudnnGetProperty(MAJOR_VERSION, &major), CUDNN_STATUS_SUCCESS, "major");
    eq_u64(cudnnGetProperty(MINOR_VERSION, &minor), CUDNN_STATUS_SUCCESS, "minor");
    eq_u64(cudnnGetProperty(PATCH_LEVEL, &patch), CUDNN_STATUS_SUCCESS, "patch");
    eq_u64(cudnnGetVersion(), (size_t)(major * 10000 + minor * 100 + patch), "the same version");
    eq_u64(cudnnGetProperty((libraryPropertyType)7, &major), CUDNN_STATUS_BAD_PARAM, "no property");
    eq_u64(cudnnGetProperty(MAJOR_VERSION, NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere");
    eq_u64(cudnnGetCudartVersion(), 13000, "of CUDA 13.0");
    eq_u64(cudnnGraphVersionCheck() | cudnnOpsVersionCheck() | cudnnCnnVersionCheck() |
               cudnnAdvVersionCheck(),
           CUDNN_STATUS_SUCCESS, "all parts have one version");
    eq_u64(cudnnGetBackdoor(), CUDNN_STATUS_NOT_SUPPORTED, "what computes is refused");
    cudnnGetLastErrorString(text, sizeof(text));
    eq_str(text, "cudnnGetBackdoor: Heddle's cuDNN does not have it", "by its name");
    cudnnGetLastErrorString(text, sizeof(text));
    eq_str(text, "", "which is told once");
    eq_str(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED), "CUDNN_STATUS_NOT_SUPPORTED", "text");
    eq_str(cudnnGetErrorString((cudnnStatus_t)7), "CUDNN_UNKNOWN_STATUS", "text of none");
    eq_u64(cudnnDestroy(handle), CUDNN_STATUS_SUCCESS, "cudnnDestroy");
    eq_u64(cudnnDestroy(NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle");
    eq_u64(cudnnGetMaxDeviceVersion(), 1210, "compute capability 12.1");
    handle = NULL;
}

static struct {
    unsigned calls;
    cudnnSeverity_t severity;
    char message[200];
} heard;

static void hear(cudnnSeverity_t severity, void *user, const cudnnDebug_t *debug, const char *text)
{
    ok(user == &heard && debug->cudnn_version == CUDNN_VERSION, "the caller's pointer, a version");
    heard.calls++;
    heard.severity = severity;
    snprintf(heard.message, sizeof(heard.message), "%s", text);
}

static void test_callback(void)
{
    unsigned mask;
    void *user;
    cudnnCallback_t function;

    works(cudnnSetCallback(CUDNN_SEV_ERROR_EN, &heard, hear));
    works(cudnnGetCallback(&mask, &user, &function));
    ok(mask == CUDNN_SEV_ERROR_EN && user == &heard && function == hear, "as it was set");
    fails(cudnnSetTensor4dDescriptor(NULL, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 1),
          BAD_PARAM_NULL_POINTER);
    ok(heard.calls == 1 && heard.severity == CUDNN_SEV_ERROR, "an error is told once");
    eq_str(heard.message, "cudnnSetTensor4dDescriptor: a pointer of tensorDesc is NULL", "which");
    works(cudnnSetCallback(0, NULL, NULL));
    fails(cudnnSetTensor4dDescriptor(NULL, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 1),
          BAD_PARAM_NULL_POINTER);
    eq_u64(heard.calls, 1, "nobody listens");
}

static void test_tensors(void)
{
    cudnnTensorDescriptor_t t;
    cudnnFilterDescriptor_t f;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int n, c, h, w, ns, cs, hs, ws, rank, dims[8], strides[8];
    size_t size_B;

    works(cudnnCreateTensorDescriptor(&t));
    works(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 4, 5));
    works(cudnnGetTensor4dDescriptor(t, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws));
    ok(type == CUDNN_DATA_HALF && n == 2 && c == 3 && h == 4 && w == 5 && ns == 60 && cs == 1 &&
           hs == 15 && ws == 3,
       "channels last");
    works(cudnnGetTensorSizeInBytes(t, &size_B));
    eq_u64(size_B, 240, "its bytes");
    works(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 2, 8, 4, 5));
    works(cudnnGetTensorNdDescriptor(t, 8, &type, &rank, dims, strides));
    ok(rank == 4 && dims[1] == 8 && strides[0] == 40 && strides[1] == 20, "strides count vectors");
    works(cudnnGetTensorSizeInBytes(t, &size_B));
    eq_u64(size_B, 320, "bytes of vectors");
    fails(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 2, 6, 4, 5),
          BAD_PARAM);
    fails(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_INT8x4, 2, 8, 4, 5),
          BAD_PARAM);
    fails(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 0, 4, 5),
          BAD_PARAM);
    fails(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, (cudnnDataType_t)99, 2, 1, 4, 5),
          BAD_PARAM);
    fails(cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, 9, dims, strides), NOT_SUPPORTED);
    fails(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2048, 2048, 2048, 1),
          NOT_SUPPORTED);
    works(cudnnSetTensor4dDescriptorEx(t, CUDNN_DATA_FLOAT, 2, 3, 4, 5, 100, 30, 7, 1));
    works(cudnnGetTensorSizeInBytes(t, &size_B));
    eq_u64(size_B, 4 * (100 + 60 + 21 + 4 + 1), "bytes up to the last element");
    works(cudnnSetTensorNdDescriptorEx(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5,
                                       (int[]){2, 3, 4, 5, 6}));
    fails(cudnnGetTensor4dDescriptor(t, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws), BAD_PARAM);
    works(cudnnDestroyTensorDescriptor(t));

    works(cudnnCreateFilterDescriptor(&f));
    works(cudnnSetFilter4dDescriptor(f, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 8, 3, 2, 2));
    works(cudnnGetFilter4dDescriptor(f, &type, &format, &n, &c, &h, &w));
    ok(format == CUDNN_TENSOR_NHWC && n == 8 && c == 3 && h == 2 && w == 2, "a filter");
    works(cudnnGetFilterSizeInBytes(f, &size_B));
    eq_u64(size_B, 384, "its bytes");
    works(cudnnGetFilterNdDescriptor(f, 2, &type, &format, &rank, dims));
    ok(rank == 4 && dims[0] == 8 && dims[1] == 3, "two of four dimensions");
    works(cudnnDestroyFilterDescriptor(f));
    fails(cudnnCreateTensorDescriptor(NULL), BAD_PARAM_NULL_POINTER);
}

/* A device that cannot call functions of this process refuses kernels, by a status. */
static void test_other_device(void)
{
    struct tensor t = tensor_of(CUDNN_DATA_FLOAT, NCHW, 4, (int[]){1, 2, 3, 4});
    float two = 2;

    need(cudnnCreate(&handle));
    fails(cudnnSetTensor(handle, t.desc, t.at, &two), NOT_SUPPORTED);
    need(cudnnDestroy(handle));
    tensor_free(&t);
}

int main(void)
{
    const char *device = getenv("HEDDLE_DEVICE");

    if (device && !strcmp(device, "interp"))
        test_other_device();
    test_cudnn();
    test_callback();
    test_tensors();
    return done();
}
