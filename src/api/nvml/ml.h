/*
 * libnvidia-ml.so.1 on the driver API and the registry: what its files share. Devices are all that
 * there are, whichever the driver shows to this process; a device's number here is the one that
 * CUDA_VISIBLE_DEVICES uses. What is the same for all, the driver's first is asked. Thread-safe.
 */
#ifndef HD_API_NVML_ML_H
#define HD_API_NVML_ML_H

#include "api/driver/cuda_abi.h"
#include "base/compiler.h"
#include <stdint.h>

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

/* NVML_ERROR_UNINITIALIZED outside of nvmlInit_v2() and the last nvmlShutdown(). */
nvmlReturn_t ml_ready(void);
/* What a failure of the driver is called here. */
nvmlReturn_t ml_result(CUresult result);
/* Copies a text with its NUL; NVML_ERROR_INSUFFICIENT_SIZE when it does not fit. */
nvmlReturn_t ml_give_text(char *out, unsigned length, const char *text);

/* The number of a device; NVML_ERROR_UNINITIALIZED, NVML_ERROR_INVALID_ARGUMENT. */
nvmlReturn_t ml_index(nvmlDevice_t device, unsigned *index);
unsigned ml_device_count(void);
nvmlDevice_t ml_device_at(unsigned index);
/* Of one that there is. */
void ml_uuid(unsigned index, CUuuid *out_uuid);
/* That is the same for all. */
nvmlReturn_t ml_attribute(CUdevice_attribute what, unsigned *out);

/* usage.c: what the user's processes do with a device, together. */
struct ml_usage {
    unsigned gpu_percent, copy_percent;
    uint64_t memory_B;
    uint64_t to_device_B, to_host_B;     /* ever, of the processes that run */
    uint64_t to_device_Bps, to_host_Bps; /* per second, lately */
};
void ml_usage_get(unsigned index, struct ml_usage *out_usage);
/* Microseconds since 1970. */
uint64_t ml_time_us(void);

/* A name of before versions, for the function of the newest. */
#define ML_ALIAS(name, newest)                                                                     \
    __asm__(".globl " #name "\n.type " #name ", %function\n.set " #name ", " #newest)

#define ML_TRY(expr)                                                                               \
    do {                                                                                           \
        nvmlReturn_t ml_result_ = (expr);                                                          \
        if (ml_result_ != NVML_SUCCESS)                                                            \
            return ml_result_;                                                                     \
    } while (0)

#endif
