/* Fields: values by number, of which other calls give most. */
#include "api/nvml/ml.h"

static void field_power(nvmlDevice_t device, nvmlFieldValue_t *v,
                        nvmlReturn_t (*get)(nvmlDevice_t device, unsigned *out))
{
    v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    v->nvmlReturn = get(device, &v->value.uiVal);
}

static void field_bytes(unsigned index, nvmlFieldValue_t *v, bool to_host)
{
    struct ml_usage usage;

    ml_usage_get(index, &usage);
    v->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    v->value.ullVal = to_host ? usage.to_host_B : usage.to_device_B;
    v->nvmlReturn = NVML_SUCCESS;
}

static void field_get(nvmlDevice_t device, unsigned index, nvmlFieldValue_t *v)
{
    v->timestamp = (long long)ml_time_us();
    v->latencyUsec = 0;
    switch (v->fieldId) {
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
        v->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        v->nvmlReturn = nvmlDeviceGetTotalEnergyConsumption(device, &v->value.ullVal);
        break;
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
        field_power(device, v, nvmlDeviceGetPowerUsage);
        break;
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
        field_power(device, v, nvmlDeviceGetEnforcedPowerLimit);
        break;
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES:
        field_bytes(index, v, v->fieldId == NVML_FI_DEV_PCIE_COUNT_TX_BYTES);
        break;
    default:
        v->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount,
                                                nvmlFieldValue_t *values)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!values || valuesCount <= 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < valuesCount; i++)
        field_get(device, index, &values[i]);
    return NVML_SUCCESS;
}
