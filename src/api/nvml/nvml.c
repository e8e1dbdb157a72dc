/* Initialisation, errors and what is asked of the system. */
#include "api/nvml/ml.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/lock.h"

/*
 * The driver whose interface Heddle's libcuda has: R580 is the one of CUDA 13.0. Clients parse the
 * numbers and compare them with what they need.
 */
#define DRIVER_VERSION "580.65.06"
#define NVML_VERSION   "13." DRIVER_VERSION

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static unsigned users; /* calls of init that no shutdown followed */

nvmlReturn_t ml_result(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
        return NVML_SUCCESS;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_DEVICE:
        return NVML_ERROR_INVALID_ARGUMENT;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return NVML_ERROR_MEMORY;
    case CUDA_ERROR_NO_DEVICE:
        return NVML_ERROR_NOT_FOUND;
    case CUDA_ERROR_NOT_SUPPORTED:
        return NVML_ERROR_NOT_SUPPORTED;
    default:
        return NVML_ERROR_UNKNOWN;
    }
}

nvmlReturn_t ml_ready(void)
{
    pthread_mutex_lock(&lock);
    bool is_ready = users > 0;
    pthread_mutex_unlock(&lock);
    if (is_ready)
        (void)heddle_devices_open(); /* a child of fork() opens its own */
    return is_ready ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t ml_give_text(char *out, unsigned length, const char *text)
{
    size_t size_B = strlen(text) + 1;

    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (length < size_B)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, size_B);
    return NVML_SUCCESS;
}

/* No device is no failure: nvmlDeviceGetCount_v2() says 0. */
static nvmlReturn_t start_driver(void)
{
    CUresult result = heddle_devices_open();
    return result == CUDA_ERROR_NO_DEVICE ? NVML_SUCCESS : ml_result(result);
}

HD_EXPORT nvmlReturn_t nvmlInit_v2(void)
{
    ML_TRY(start_driver());
    pthread_mutex_lock(&lock);
    users++;
    pthread_mutex_unlock(&lock);
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlInit, nvmlInit_v2);

/* The flags: go on without GPUs, do not attach them; both are what happens anyway. */
HD_EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    return flags & ~3u ? NVML_ERROR_INVALID_ARGUMENT : nvmlInit_v2();
}

HD_EXPORT nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t result = NVML_ERROR_UNINITIALIZED;

    pthread_mutex_lock(&lock);
    if (users) {
        users--;
        result = NVML_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

HD_EXPORT const char *nvmlErrorString(nvmlReturn_t result)
{
    static const char *const texts[] = {
        [NVML_SUCCESS] = "Success",
        [NVML_ERROR_UNINITIALIZED] = "Uninitialized",
        [NVML_ERROR_INVALID_ARGUMENT] = "Invalid Argument",
        [NVML_ERROR_NOT_SUPPORTED] = "Not Supported",
        [NVML_ERROR_NO_PERMISSION] = "Insufficient Permissions",
        [NVML_ERROR_ALREADY_INITIALIZED] = "Already Initialized",
        [NVML_ERROR_NOT_FOUND] = "Not Found",
        [NVML_ERROR_INSUFFICIENT_SIZE] = "Insufficient Size",
        [NVML_ERROR_INSUFFICIENT_POWER] = "Insufficient External Power",
        [NVML_ERROR_DRIVER_NOT_LOADED] = "Driver Not Loaded",
        [NVML_ERROR_TIMEOUT] = "Timeout",
        [NVML_ERROR_IRQ_ISSUE] = "Interrupt Request Issue",
        [NVML_ERROR_LIBRARY_NOT_FOUND] = "NVML Shared Library Not Found",
        [NVML_ERROR_FUNCTION_NOT_FOUND] = "Function Not Found",
        [NVML_ERROR_CORRUPTED_INFOROM] = "Corrupted infoROM",
        [NVML_ERROR_GPU_IS_LOST] = "GPU is lost",
        [NVML_ERROR_RESET_REQUIRED] = "GPU requires reset",
        [NVML_ERROR_OPERATING_SYSTEM] = "GPU access blocked by the operating system",
        [NVML_ERROR_LIB_RM_VERSION_MISMATCH] = "Driver/library version mismatch",
        [NVML_ERROR_IN_USE] = "In use by another client",
        [NVML_ERROR_MEMORY] = "Insufficient Memory",
        [NVML_ERROR_NO_DATA] = "No data",
        [NVML_ERROR_VGPU_ECC_NOT_SUPPORTED] = "ECC is not supported by vGPU",
        [NVML_ERROR_INSUFFICIENT_RESOURCES] = "Insufficient resources",
        [NVML_ERROR_FREQ_NOT_SUPPORTED] = "Frequency not supported",
        [NVML_ERROR_ARGUMENT_VERSION_MISMATCH] = "Argument version mismatch",
        [NVML_ERROR_DEPRECATED] = "Function is deprecated",
        [NVML_ERROR_NOT_READY] = "System is not ready",
        [NVML_ERROR_GPU_NOT_FOUND] = "GPU not found",
        [NVML_ERROR_INVALID_STATE] = "Invalid state",
        [NVML_ERROR_RESET_TYPE_NOT_SUPPORTED] = "Reset type not supported",
    };
    return (size_t)result < HD_COUNT_OF(texts) ? texts[result] : "Unknown Error";
}

HD_EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    ML_TRY(ml_ready());
    return ml_give_text(version, length, DRIVER_VERSION);
}

HD_EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    ML_TRY(ml_ready());
    return ml_give_text(version, length, NVML_VERSION);
}

HD_EXPORT nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *branchInfo,
                                                 unsigned int length)
{
    ML_TRY(ml_ready());
    if (!branchInfo)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (branchInfo->version != nvmlSystemDriverBranchInfo_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return ml_give_text(branchInfo->branch, HD_MIN(length, (unsigned)sizeof(branchInfo->branch)),
                        "r580_00");
}

/* As in the manual, this one needs no initialisation. */
HD_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *cudaDriverVersion)
{
    return cudaDriverVersion ? ml_result(cuDriverGetVersion(cudaDriverVersion))
                             : NVML_ERROR_INVALID_ARGUMENT;
}
ML_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

/* What the process was started as, cut to the length. */
HD_EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    char path[64];

    ML_TRY(ml_ready());
    if (!name || !length)
        return NVML_ERROR_INVALID_ARGUMENT;
    (void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return NVML_ERROR_NOT_FOUND;
    name[fread(name, 1, length - 1, file)] = '\0';
    fclose(file);
    return NVML_SUCCESS;
}
