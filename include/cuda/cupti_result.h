/* CUPTI: results. Names and values as in NVIDIA's manual of CUPTI 13.0. */
#ifndef HEDDLE_CUDA_CUPTI_RESULT_H
#define HEDDLE_CUDA_CUPTI_RESULT_H

#include <stddef.h>

#ifndef CUPTIAPI
#define CUPTIAPI
#endif

/* Of a struct of parameters that ends with that member, as this version has it. */
#define CUPTI_PROFILER_STRUCT_SIZE(type_, lastfield_)                                              \
    (offsetof(type_, lastfield_) + sizeof(((type_ *)0)->lastfield_))

/* name, value, text */
#define HEDDLE_CUPTI_RESULT_LIST(X)                                                                \
    X(SUCCESS, 0, "no error")                                                                      \
    X(ERROR_INVALID_PARAMETER, 1, "a parameter is invalid")                                        \
    X(ERROR_INVALID_DEVICE, 2, "not a CUDA device")                                                \
    X(ERROR_INVALID_CONTEXT, 3, "not a context, or a null one")                                    \
    X(ERROR_INVALID_EVENT_DOMAIN_ID, 4, "unknown domain of events")                                \
    X(ERROR_INVALID_EVENT_ID, 5, "unknown event")                                                  \
    X(ERROR_INVALID_EVENT_NAME, 6, "unknown name of an event")                                     \
    X(ERROR_INVALID_OPERATION, 7, "the operation cannot be done now")                              \
    X(ERROR_OUT_OF_MEMORY, 8, "out of memory")                                                     \
    X(ERROR_HARDWARE, 9, "a fault of the device's monitoring hardware")                            \
    X(ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, 10, "the buffer is too small for the result")           \
    X(ERROR_API_NOT_IMPLEMENTED, 11, "the function is not implemented")                            \
    X(ERROR_MAX_LIMIT_REACHED, 12, "there is no further element")                                  \
    X(ERROR_NOT_READY, 13, "the object is not ready yet")                                          \
    X(ERROR_NOT_COMPATIBLE, 14, "the objects do not go together")                                  \
    X(ERROR_NOT_INITIALIZED, 15, "CUPTI could not be set up")                                      \
    X(ERROR_INVALID_METRIC_ID, 16, "unknown metric")                                               \
    X(ERROR_INVALID_METRIC_NAME, 17, "unknown name of a metric")                                   \
    X(ERROR_QUEUE_EMPTY, 18, "the stack or queue is empty")                                        \
    X(ERROR_INVALID_HANDLE, 19, "not a handle")                                                    \
    X(ERROR_INVALID_STREAM, 20, "not a stream")                                                    \
    X(ERROR_INVALID_KIND, 21, "unknown kind")                                                      \
    X(ERROR_INVALID_EVENT_VALUE, 22, "not a value of the event")                                   \
    X(ERROR_DISABLED, 23, "disabled by a conflicting setting")                                     \
    X(ERROR_INVALID_MODULE, 24, "not a module")                                                    \
    X(ERROR_INVALID_METRIC_VALUE, 25, "not a value of the metric")                                 \
    X(ERROR_HARDWARE_BUSY, 26, "another client uses the monitoring hardware")                      \
    X(ERROR_NOT_SUPPORTED, 27, "not supported")                                                    \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED, 28, "managed memory is not profiled")                      \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE, 29, "managed memory of the device is not")       \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES, 30, "nor that of devices apart")        \
    X(ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, 31, "nor under MPS")                              \
    X(ERROR_CDP_TRACING_NOT_SUPPORTED, 32, "kernels that launch kernels are not traced")           \
    X(ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, 33, "not on virtual devices")                        \
    X(ERROR_CUDA_COMPILER_NOT_COMPATIBLE, 34, "the compiler's version does not fit")               \
    X(ERROR_INSUFFICIENT_PRIVILEGES, 35, "the user may not do this")                               \
    X(ERROR_OLD_PROFILER_API_INITIALIZED, 36, "the older profiling interface is in use")           \
    X(ERROR_OPENACC_UNDEFINED_ROUTINE, 37, "a routine of OpenACC is missing")                      \
    X(ERROR_LEGACY_PROFILER_NOT_SUPPORTED, 38, "events and metrics are not on this device")        \
    X(ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39, "there is a subscriber already")               \
    X(ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40, "not allowed on this virtual device")  \
    X(ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, 41, "not with confidential computing")           \
    X(ERROR_CMP_DEVICE_NOT_SUPPORTED, 42, "not on CMP devices")                                    \
    X(ERROR_MIG_DEVICE_NOT_SUPPORTED, 43, "not on MIG devices")                                    \
    X(ERROR_SLI_DEVICE_NOT_SUPPORTED, 44, "not on SLI devices")                                    \
    X(ERROR_WSL_DEVICE_NOT_SUPPORTED, 45, "not under WSL")                                         \
    X(ERROR_INVALID_CHIP_NAME, 46, "unknown name of a chip")                                       \
    X(ERROR_UNKNOWN, 999, "an unknown error")

typedef enum {
#define X(name, value, text) CUPTI_##name = (value),
    HEDDLE_CUPTI_RESULT_LIST(X)
#undef X
        CUPTI_ERROR_FORCE_INT = 0x7fffffff
} CUptiResult;

#if defined(__cplusplus)
extern "C" {
#endif
/* The result's name; the message is a line about it. CUPTI_ERROR_INVALID_PARAMETER: no result. */
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **str);
CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **str);
#if defined(__cplusplus)
}
#endif

#endif
