/* Clocks, temperature and power: the host's CPUs', which are the device (sensors.h). */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "api/nvml/ml.h"
#include "api/nvml/sensors.h"
#include "base/clock.h"

static nvmlReturn_t driver_clock(CUdevice_attribute what, unsigned *out_MHz)
{
    ML_TRY(ml_attribute(what, out_MHz));
    *out_MHz /= 1000;
    return NVML_SUCCESS;
}

static nvmlReturn_t clock_check(nvmlDevice_t device, nvmlClockType_t type, const unsigned *clock,
                                unsigned *index)
{
    ML_TRY(ml_index(device, index));
    return clock && type >= NVML_CLOCK_GRAPHICS && type < NVML_CLOCK_COUNT
               ? NVML_SUCCESS
               : NVML_ERROR_INVALID_ARGUMENT;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                              unsigned int *clock)
{
    unsigned index;

    ML_TRY(clock_check(device, type, clock, &index));
    if (type == NVML_CLOCK_MEM)
        return driver_clock(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, clock);
    if (sensors_clock_MHz("", clock))
        return NVML_SUCCESS;
    return driver_clock(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, clock);
}

/* Where Linux does not say, what the driver says, but not less than now. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                                 unsigned int *clock)
{
    unsigned index;
    unsigned now = 0;

    ML_TRY(clock_check(device, type, clock, &index));
    if (type == NVML_CLOCK_MEM)
        return driver_clock(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, clock);
    if (sensors_max_clock_MHz("", clock))
        return NVML_SUCCESS;
    ML_TRY(driver_clock(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, clock));
    if (sensors_clock_MHz("", &now) && now > *clock)
        *clock = now;
    return NVML_SUCCESS;
}

/* There are no clocks for applications to choose. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                          nvmlClockId_t clockId, unsigned int *clockMHz)
{
    unsigned index;

    ML_TRY(clock_check(device, clockType, clockMHz, &index));
    if (clockId >= NVML_CLOCK_ID_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (clockId == NVML_CLOCK_ID_CURRENT)
        return nvmlDeviceGetClockInfo(device, clockType, clockMHz);
    return clockId == NVML_CLOCK_ID_CUSTOMER_BOOST_MAX
               ? nvmlDeviceGetMaxClockInfo(device, clockType, clockMHz)
               : NVML_ERROR_NOT_SUPPORTED;
}

HD_EXPORT nvmlReturn_t
nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *clocksEventReasons)
{
    unsigned index;
    struct ml_usage usage;

    ML_TRY(ml_index(device, &index));
    if (!clocksEventReasons)
        return NVML_ERROR_INVALID_ARGUMENT;
    ml_usage_get(index, &usage);
    *clocksEventReasons =
        usage.gpu_percent ? nvmlClocksEventReasonNone : nvmlClocksEventReasonGpuIdle;
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDeviceGetCurrentClocksEventReasons);

HD_EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(
    nvmlDevice_t device, unsigned long long *supportedClocksEventReasons)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!supportedClocksEventReasons)
        return NVML_ERROR_INVALID_ARGUMENT;
    *supportedClocksEventReasons = nvmlClocksEventReasonGpuIdle;
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetSupportedClocksThrottleReasons, nvmlDeviceGetSupportedClocksEventReasons);

/* ---- temperature */

HD_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device,
                                                 nvmlTemperature_t *temperature)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!temperature || temperature->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (temperature->version != nvmlTemperature_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return sensors_temperature_C("", &temperature->temperature) ? NVML_SUCCESS
                                                                : NVML_ERROR_NOT_SUPPORTED;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device,
                                                nvmlTemperatureSensors_t sensorType,
                                                unsigned int *temp)
{
    nvmlTemperature_t t = {.version = nvmlTemperature_v1, .sensorType = sensorType};

    ML_TRY(nvmlDeviceGetTemperatureV(device, &t));
    if (!temp)
        return NVML_ERROR_INVALID_ARGUMENT;
    *temp = (unsigned)t.temperature;
    return NVML_SUCCESS;
}

/* ---- power */

enum { SAMPLE_US = 20000 };

static uint64_t now_us(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC) / 1000;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                           unsigned long long *energy)
{
    unsigned index;
    uint64_t uJ;

    ML_TRY(ml_index(device, &index));
    if (!energy)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!sensors_energy_uJ("", &uJ))
        return NVML_ERROR_NOT_SUPPORTED;
    *energy = uJ / 1000;
    return NVML_SUCCESS;
}

/* Over a short time, in which it waits. A counter that began again is looked at once more. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
    unsigned index;
    uint64_t before_uJ, after_uJ;

    ML_TRY(ml_index(device, &index));
    if (!power)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < 2; i++) {
        if (!sensors_energy_uJ("", &before_uJ))
            return NVML_ERROR_NOT_SUPPORTED;
        uint64_t begin_us = now_us();
        usleep(SAMPLE_US);
        if (sensors_energy_uJ("", &after_uJ) && after_uJ >= before_uJ) {
            *power = (unsigned)((after_uJ - before_uJ) * 1000 / (now_us() - begin_us));
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_UNKNOWN;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
    unsigned index;
    uint64_t mW;

    ML_TRY(ml_index(device, &index));
    if (!limit)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!sensors_power_limit_mW("", &mW))
        return NVML_ERROR_NOT_SUPPORTED;
    *limit = (unsigned)mW;
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetEnforcedPowerLimit);
ML_ALIAS(nvmlDeviceGetPowerManagementDefaultLimit, nvmlDeviceGetEnforcedPowerLimit);
