/* Executions: of arrays, and of arrays with descriptors. */
#include <cuda.h>
#include <stdlib.h>

#include "api/cufft/fft.h"
#include "base/mem.h"

enum { ANY_KIND = 255 };

static cufftResult execute(const char *function, cufftHandle handle, uint8_t kind, uint8_t type,
                           const void *in, void *out, int direction)
{
    struct fft_plan *plan = fft_plan_of(handle);

    if (!plan || !plan->is_made)
        return fft_invalid(CUFFT_INVALID_PLAN, function,
                           plan ? "the plan has not been made" : "there is no such plan");
    const struct fft_problem *problem = &plan->problem;
    if (kind != ANY_KIND && (problem->kind != kind || problem->type != type))
        return fft_invalid(CUFFT_INVALID_VALUE, function, "the plan is for another type");
    if (problem->kind == KLIB_FFT_C2C && direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "there is no such direction");
    bool inverse =
        problem->kind == KLIB_FFT_C2C ? direction == CUFFT_INVERSE : problem->kind == KLIB_FFT_C2R;
    lib_log(&fft_info, LIB_LEVEL_INFO, "%s", function);
    return fft_run(plan, in, out, inverse, function);
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *idata, cufftComplex *odata, int direction)
{
    return execute(__func__, plan, KLIB_FFT_C2C, KLIB_FFT_F32, idata, odata, direction);
}

cufftResult cufftExecR2C(cufftHandle plan, cufftReal *idata, cufftComplex *odata)
{
    return execute(__func__, plan, KLIB_FFT_R2C, KLIB_FFT_F32, idata, odata, 0);
}

cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *idata, cufftReal *odata)
{
    return execute(__func__, plan, KLIB_FFT_C2R, KLIB_FFT_F32, idata, odata, 0);
}

cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *idata, cufftDoubleComplex *odata,
                         int direction)
{
    return execute(__func__, plan, KLIB_FFT_C2C, KLIB_FFT_F64, idata, odata, direction);
}

cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *idata, cufftDoubleComplex *odata)
{
    return execute(__func__, plan, KLIB_FFT_R2C, KLIB_FFT_F64, idata, odata, 0);
}

cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *idata, cufftDoubleReal *odata)
{
    return execute(__func__, plan, KLIB_FFT_C2R, KLIB_FFT_F64, idata, odata, 0);
}

cufftResult cufftXtExec(cufftHandle plan, void *input, void *output, int direction)
{
    return execute(__func__, plan, ANY_KIND, 0, input, output, direction);
}

/* ---- arrays with descriptors: of one device */

cufftResult cufftXtSetGPUs(cufftHandle handle, int nGPUs, int *whichGPUs)
{
    static _Atomic bool said;
    struct fft_plan *plan = fft_plan_of(handle);
    int devices = 0;

    if (!plan || plan->is_made)
        return fft_invalid(CUFFT_INVALID_PLAN, __func__,
                           plan ? "the plan has been made" : "there is no such plan");
    if (nGPUs < 1 || nGPUs > MAX_CUDA_DESCRIPTOR_GPUS || !whichGPUs)
        return fft_invalid(CUFFT_INVALID_VALUE, __func__, "devices are out of range");
    for (int i = 0; i < nGPUs; i++)
        if (cuDeviceGetCount(&devices) || whichGPUs[i] < 0 || whichGPUs[i] >= devices)
            return fft_invalid(CUFFT_INVALID_DEVICE, __func__, "there is no such device");
    if (nGPUs > 1) {
        lib_refuse(&fft_info, "cufftXtSetGPUs for several devices", &said);
        return CUFFT_NOT_SUPPORTED;
    }
    plan->gpus = nGPUs;
    plan->device = whichGPUs[0];
    return CUFFT_SUCCESS;
}

/* Bytes from the first number of a side to the last, of all its transforms. */
static size_t side_B(const struct fft_problem *problem, const struct fft_layout *layout,
                     bool is_out)
{
    int64_t last = (problem->batch - 1) * layout->dist;

    for (int i = 0; i < problem->rank; i++) {
        bool is_half =
            i == problem->rank - 1 && problem->kind == (is_out ? KLIB_FFT_R2C : KLIB_FFT_C2R);
        last += ((is_half ? problem->n[i] / 2 + 1 : problem->n[i]) - 1) * layout->stride[i];
    }
    return (size_t)(last + 1) * fft_number_B(problem, is_out);
}

static size_t format_B(struct fft_problem *problem, cufftXtSubFormat format)
{
    struct fft_layout in = problem->in, out = problem->out;
    bool in_place = format == CUFFT_XT_FORMAT_INPLACE || format == CUFFT_XT_FORMAT_INPLACE_SHUFFLED;

    if (problem->is_basic)
        fft_basic(problem, in_place, &in, &out);
    size_t in_B = side_B(problem, &in, false), out_B = side_B(problem, &out, true);
    return in_place ? HD_MAX(in_B, out_B) : format == CUFFT_XT_FORMAT_INPUT ? in_B : out_B;
}

cufftResult cufftXtMalloc(cufftHandle handle, cudaLibXtDesc **descriptor, cufftXtSubFormat format)
{
    struct fft_plan *plan = fft_plan_of(handle);
    CUdeviceptr at;

    if (!plan || !plan->is_made)
        return fft_invalid(CUFFT_INVALID_PLAN, __func__,
                           plan ? "the plan has not been made" : "there is no such plan");
    if (!descriptor || (unsigned)format > CUFFT_XT_FORMAT_INPLACE_SHUFFLED)
        return fft_invalid(CUFFT_INVALID_VALUE, __func__, "there is no such format for one device");
    struct {
        cudaLibXtDesc library;
        cudaXtDesc array;
    } *made = hd_alloc(sizeof(*made));
    if (!made)
        return CUFFT_ALLOC_FAILED;
    size_t size_B = format_B(&plan->problem, format);
    int result = lib_context();
    if (!result)
        result = cuMemAlloc(&at, size_B);
    if (result) {
        hd_free(made);
        return fft_status(result);
    }
    made->array = (cudaXtDesc){.version = CUDA_XT_DESCRIPTOR_VERSION, .nGPUs = 1};
    made->array.GPUs[0] = plan->device;
    made->array.data[0] = (void *)(uintptr_t)at;
    made->array.size[0] = size_B;
    made->library = (cudaLibXtDesc){.version = CUDA_XT_DESCRIPTOR_VERSION,
                                    .descriptor = &made->array,
                                    .library = LIB_FORMAT_CUFFT,
                                    .subFormat = format};
    *descriptor = &made->library;
    return CUFFT_SUCCESS;
}

cufftResult cufftXtFree(cudaLibXtDesc *descriptor)
{
    if (!descriptor)
        return CUFFT_SUCCESS;
    int result = cuMemFree((CUdeviceptr)(uintptr_t)descriptor->descriptor->data[0]);
    hd_free(descriptor); /* both are one block */
    return fft_status(result);
}

cufftResult cufftXtMemcpy(cufftHandle handle, void *dstPointer, void *srcPointer,
                          cufftXtCopyType type)
{
    struct fft_plan *plan = fft_plan_of(handle);
    const cudaXtDesc *to, *from;
    int result;

    if (!plan)
        return fft_invalid(CUFFT_INVALID_PLAN, __func__, "there is no such plan");
    if (!dstPointer || !srcPointer || (unsigned)type > CUFFT_COPY_DEVICE_TO_DEVICE)
        return fft_invalid(CUFFT_INVALID_VALUE, __func__, "an address or the type is wrong");
    to = type == CUFFT_COPY_DEVICE_TO_HOST ? NULL : ((cudaLibXtDesc *)dstPointer)->descriptor;
    from = type == CUFFT_COPY_HOST_TO_DEVICE ? NULL : ((cudaLibXtDesc *)srcPointer)->descriptor;
    result = lib_wait(&plan->base);
    if (result)
        return fft_status(result);
    const void *source = from ? from->data[0] : srcPointer;
    size_t size_B = to && from ? HD_MIN(to->size[0], from->size[0]) : (to ? to : from)->size[0];
    result = cuMemcpy((CUdeviceptr)(uintptr_t)(to ? to->data[0] : dstPointer),
                      (CUdeviceptr)(uintptr_t)source, size_B);
    return fft_status(result);
}

static cufftResult execute_arrays(const char *function, cufftHandle plan, uint8_t kind,
                                  uint8_t type, const cudaLibXtDesc *input,
                                  const cudaLibXtDesc *output, int direction)
{
    if (!input || !output)
        return fft_invalid(CUFFT_INVALID_VALUE, function, "a descriptor's address is NULL");
    return execute(function, plan, kind, type, input->descriptor->data[0],
                   output->descriptor->data[0], direction);
}

cufftResult cufftXtExecDescriptor(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output,
                                  int direction)
{
    return execute_arrays(__func__, plan, ANY_KIND, 0, input, output, direction);
}

cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output,
                                     int direction)
{
    return execute_arrays(__func__, plan, KLIB_FFT_C2C, KLIB_FFT_F32, input, output, direction);
}

cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output,
                                     int direction)
{
    return execute_arrays(__func__, plan, KLIB_FFT_C2C, KLIB_FFT_F64, input, output, direction);
}

#define REAL_ARRAYS(Types, kind, type)                                                             \
    cufftResult cufftXtExecDescriptor##Types(cufftHandle plan, cudaLibXtDesc *input,               \
                                             cudaLibXtDesc *output)                                \
    {                                                                                              \
        return execute_arrays(__func__, plan, kind, type, input, output, 0);                       \
    }

REAL_ARRAYS(R2C, KLIB_FFT_R2C, KLIB_FFT_F32)
REAL_ARRAYS(C2R, KLIB_FFT_C2R, KLIB_FFT_F32)
REAL_ARRAYS(D2Z, KLIB_FFT_R2C, KLIB_FFT_F64)
REAL_ARRAYS(Z2D, KLIB_FFT_C2R, KLIB_FFT_F64)
