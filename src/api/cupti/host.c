/* Metrics before and after a program is profiled: needs no device. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/cupti/profiler.h"
#include "base/mem.h"

struct CUpti_Profiler_Host_Object {
    uint64_t magic; /* of one that exists */
    struct cupti_columns columns;
};

#define OBJECT_MAGIC UINT64_C(0x74736f6849545043)

static bool host_is_object(const CUpti_Profiler_Host_Object *object)
{
    return object && object->magic == OBJECT_MAGIC;
}

/* ---- chips, objects */

CUPTI_EXPORT(cuptiProfilerHostGetSupportedChips)
CUptiResult
cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *pParams)
{
    if (!CUPTI_IS_PARAMS(pParams, ppChipNames))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->ppChipNames = cupti_chips(&pParams->numChips);
    return CUPTI_SUCCESS;
}

static CUptiResult host_check_type(CUpti_ProfilerType type)
{
    static _Atomic bool said;

    if (type == CUPTI_PROFILER_TYPE_PM_SAMPLING)
        return cupti_refuse("metrics of PM sampling", &said);
    return cupti_result(type == CUPTI_PROFILER_TYPE_RANGE_PROFILER ? CUPTI_SUCCESS
                                                                   : CUPTI_ERROR_INVALID_PARAMETER);
}

static CUptiResult host_check_chip(const char *name, const uint8_t *availability)
{
    if (!name && !availability)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (!name)
        name = cupti_availability_chip(availability);
    return cupti_result(name && cupti_is_chip(name) ? CUPTI_SUCCESS
                                                    : CUPTI_ERROR_INVALID_CHIP_NAME);
}

CUPTI_EXPORT(cuptiProfilerHostInitialize)
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *pParams)
{
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, pHostObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    result = host_check_type(pParams->profilerType);
    if (result == CUPTI_SUCCESS)
        result = host_check_chip(pParams->pChipName, pParams->pCounterAvailabilityImage);
    if (result != CUPTI_SUCCESS)
        return result;
    pParams->pHostObject = hd_new(struct CUpti_Profiler_Host_Object);
    if (!pParams->pHostObject)
        return cupti_result(CUPTI_ERROR_OUT_OF_MEMORY);
    pParams->pHostObject->magic = OBJECT_MAGIC;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerHostDeinitialize)
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *pParams)
{
    if (!CUPTI_IS_PARAMS(pParams, pHostObject) || !host_is_object(pParams->pHostObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->pHostObject->magic = 0;
    hd_free(pParams->pHostObject);
    return CUPTI_SUCCESS;
}

/* ---- which metrics there are */

CUPTI_EXPORT(cuptiProfilerHostGetBaseMetrics)
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params *pParams)
{
    if (!CUPTI_IS_PARAMS(pParams, numMetrics) || !host_is_object(pParams->pHostObject) ||
        (unsigned)pParams->metricType >= CUPTI_METRIC_TYPE__COUNT)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->ppMetricNames = cupti_base_metrics(pParams->metricType, &pParams->numMetrics);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerHostGetSubMetrics)
CUptiResult cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params *pParams)
{
    const char **subs;

    if (!CUPTI_IS_PARAMS(pParams, ppSubMetrics) || !host_is_object(pParams->pHostObject) ||
        (unsigned)pParams->metricType >= CUPTI_METRIC_TYPE__COUNT || !pParams->pMetricName)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    subs = cupti_sub_metrics(pParams->pMetricName, pParams->metricType, &pParams->numOfSubmetrics);
    if (!subs)
        return cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
    pParams->ppSubMetrics = subs;
    return CUPTI_SUCCESS;
}

/* What the name begins with: "smsp"; "": it does not say. */
static const char *host_unit_of(const struct metric *metric)
{
    const char *end = strstr(metric->name, "__");
    char text[32];

    if (!end || (size_t)(end - metric->name) >= sizeof(text))
        return "";
    memcpy(text, metric->name, (size_t)(end - metric->name));
    text[end - metric->name] = '\0';
    return cupti_name_keep(text);
}

CUPTI_EXPORT(cuptiProfilerHostGetMetricProperties)
CUptiResult
cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *pParams)
{
    const struct metric *metric;
    struct cupti_value value;

    if (!CUPTI_IS_PARAMS(pParams, metricType) || !host_is_object(pParams->pHostObject) ||
        !pParams->pMetricName)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (strchr(pParams->pMetricName, '.'))
        metric = cupti_value_find(pParams->pMetricName, &value) ? value.metric : NULL;
    else
        metric = cupti_metric_by_base(pParams->pMetricName);
    if (!metric)
        return cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
    pParams->pDescription = *metric->doc ? metric->doc : metric->label;
    pParams->pHwUnit = host_unit_of(metric);
    pParams->pDimUnit = metric->unit;
    pParams->metricType = cupti_metric_type(metric);
    return CUPTI_SUCCESS;
}

/* ---- config images */

CUPTI_EXPORT(cuptiProfilerHostConfigAddMetrics)
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *pParams)
{
    struct cupti_columns columns;
    struct cupti_value value;

    if (!CUPTI_IS_PARAMS(pParams, numMetrics) || !host_is_object(pParams->pHostObject) ||
        (pParams->numMetrics && !pParams->ppMetricNames))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    columns = pParams->pHostObject->columns;
    for (size_t i = 0; i < pParams->numMetrics; i++) {
        if (!cupti_value_find(pParams->ppMetricNames[i], &value))
            return cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
        cupti_value_columns(&value, &columns);
    }
    pParams->pHostObject->columns = columns;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerHostGetConfigImageSize)
CUptiResult
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *pParams)
{
    if (!CUPTI_IS_PARAMS(pParams, configImageSize) || !host_is_object(pParams->pHostObject))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->configImageSize = cupti_config_size_B(&pParams->pHostObject->columns);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerHostGetConfigImage)
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *pParams)
{
    if (!CUPTI_IS_PARAMS(pParams, pConfigImage) || !host_is_object(pParams->pHostObject) ||
        !pParams->pConfigImage)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    if (pParams->configImageSize < cupti_config_size_B(&pParams->pHostObject->columns))
        return cupti_result(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    cupti_config_write(&pParams->pHostObject->columns, pParams->pConfigImage);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerHostGetNumOfPasses)
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *pParams)
{
    struct cupti_columns columns;

    if (!CUPTI_IS_PARAMS(pParams, numOfPasses) ||
        !cupti_config_read(pParams->pConfigImage, pParams->configImageSize, &columns))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->numOfPasses = 1;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiProfilerHostGetMaxNumHardwareMetricsPerPass)
CUptiResult cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(
    CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params *pParams)
{
    CUptiResult result;

    if (!CUPTI_IS_PARAMS(pParams, maxMetricsPerPass))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    result = host_check_type(pParams->profilerType);
    if (result == CUPTI_SUCCESS)
        result = host_check_chip(pParams->pChipName, pParams->pCounterAvailabilityImage);
    if (result == CUPTI_SUCCESS)
        pParams->maxMetricsPerPass = metrics_count;
    return result;
}

/* ---- what was counted */

/* One range of an image of a client's. */
static bool host_range_read(const uint8_t *image, size_t size_B, size_t index,
                            struct cupti_columns *out_columns, struct cupti_range_row *out_row,
                            double *out_values)
{
    struct cupti_data_image head;

    if (!cupti_data_read(image, size_B, &head, out_columns) || index >= head.nranges)
        return false;
    cupti_data_range(image, out_columns, (uint32_t)index, out_row, out_values);
    return true;
}

static CUptiResult host_name_read(const uint8_t *image, size_t size_B, size_t index,
                                  const char *delimiter, char **out_name)
{
    double values[METRICS_MAX];
    struct cupti_columns columns;
    struct cupti_range_row row;

    if (!host_range_read(image, size_B, index, &columns, &row, values))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *out_name = cupti_range_name(&row, delimiter ? delimiter : "/");
    return cupti_result(*out_name ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY);
}

CUPTI_EXPORT(cuptiProfilerHostGetRangeName)
CUptiResult cuptiProfilerHostGetRangeName(CUpti_Profiler_Host_GetRangeName_Params *pParams)
{
    CUptiResult result;
    char *name;

    if (!CUPTI_IS_PARAMS(pParams, pRangeName))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    result = host_name_read(pParams->pCounterDataImage, pParams->counterDataImageSize,
                            pParams->rangeIndex, pParams->delimiter, &name);
    if (result == CUPTI_SUCCESS)
        pParams->pRangeName = name;
    return result;
}

CUPTI_EXPORT(cuptiRangeProfilerCounterDataGetRangeInfo)
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *pParams)
{
    CUptiResult result;
    char *name;

    if (!CUPTI_IS_PARAMS(pParams, rangeName))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    result = host_name_read(pParams->pCounterDataImage, pParams->counterDataImageSize,
                            pParams->rangeIndex, pParams->rangeDelimiter, &name);
    if (result != CUPTI_SUCCESS)
        return result;
    pParams->rangeName = cupti_name_keep(name);
    free(name);
    return cupti_result(pParams->rangeName ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY);
}

CUPTI_EXPORT(cuptiRangeProfilerGetCounterDataInfo)
CUptiResult
cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *pParams)
{
    struct cupti_data_image head;
    struct cupti_columns columns;

    if (!CUPTI_IS_PARAMS(pParams, numTotalRanges) ||
        !cupti_data_read(pParams->pCounterDataImage, pParams->counterDataImageSize, &head,
                         &columns))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    pParams->numTotalRanges = head.nranges;
    return CUPTI_SUCCESS;
}

static bool host_has_all(const struct cupti_columns *columns, const struct cupti_value *value)
{
    struct cupti_columns with = *columns;

    cupti_value_columns(value, &with);
    assert(with.count >= columns->count);
    return with.count == columns->count;
}

CUPTI_EXPORT(cuptiProfilerHostEvaluateToGpuValues)
CUptiResult
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *pParams)
{
    double values[METRICS_MAX];
    struct cupti_columns columns;
    struct cupti_range_row row;
    struct cupti_value value;

    if (!CUPTI_IS_PARAMS(pParams, pMetricValues) || !host_is_object(pParams->pHostObject) ||
        (pParams->numMetrics && (!pParams->ppMetricNames || !pParams->pMetricValues)) ||
        !host_range_read(pParams->pCounterDataImage, pParams->counterDataImageSize,
                         pParams->rangeIndex, &columns, &row, values))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    for (size_t i = 0; i < pParams->numMetrics; i++) {
        if (!cupti_value_find(pParams->ppMetricNames[i], &value) || !host_has_all(&columns, &value))
            return cupti_result(CUPTI_ERROR_INVALID_METRIC_NAME);
        pParams->pMetricValues[i] = cupti_value_of(&value, values, row.duration_ns);
    }
    return CUPTI_SUCCESS;
}
