/* See status.h. */
#include "frameworks/onnx/status.h"

#include <stdio.h>

struct ort_api ort_api;

struct ort_status *status_no_memory(void)
{
    return ORT(CreateStatus)(ORT_FAIL, "Heddle: out of host memory");
}

struct ort_status *status_of_driver(const char *what, CUresult result)
{
    const char *name = NULL;
    char text[160];

    if (result == CUDA_SUCCESS)
        return NULL;
    (void)cuGetErrorName(result, &name);
    (void)snprintf(text, sizeof(text), "Heddle: %s: %s", what, name ? name : "unknown error");
    return ORT(CreateStatus)(ORT_FAIL, text);
}
