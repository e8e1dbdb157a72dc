/* Attributes of streams by the runtime's names. */
#include "runtime_fixture.h"

int main(void)
{
    cudaLaunchAttributeValue value = {{0}}, got;
    cudaStream_t one = NULL, two = NULL;
    float data[16];

    eq_error(cudaStreamCreate(&one), cudaSuccess, "stream");
    eq_error(cudaStreamCreate(&two), cudaSuccess, "stream");
    value.accessPolicyWindow.base_ptr = data;
    value.accessPolicyWindow.num_bytes = sizeof(data);
    value.accessPolicyWindow.hitRatio = 0.5f;
    eq_error(cudaStreamSetAttribute(one, cudaLaunchAttributeAccessPolicyWindow, &value),
             cudaSuccess, "set");
    eq_error(cudaStreamCopyAttributes(two, one), cudaSuccess, "copy");
    eq_error(cudaStreamGetAttribute(two, cudaLaunchAttributeAccessPolicyWindow, &got), cudaSuccess,
             "get");
    ok(got.accessPolicyWindow.base_ptr == data && got.accessPolicyWindow.num_bytes == sizeof(data),
       "the window of the other one");
    eq_error(cudaStreamGetAttribute(one, cudaLaunchAttributeSynchronizationPolicy, &got),
             cudaSuccess, "get");
    eq_u64((unsigned)got.syncPolicy, cudaSyncPolicyAuto, "what was never set");
    value.accessPolicyWindow.hitRatio = 2;
    eq_error(cudaStreamSetAttribute(one, cudaLaunchAttributeAccessPolicyWindow, &value),
             cudaErrorInvalidValue, "a ratio of 2");
    eq_error(cudaStreamSetAttribute(one, cudaLaunchAttributeCooperative, &value),
             cudaErrorInvalidValue, "no attribute of streams");
    eq_error(cudaStreamSetAttribute(one, cudaLaunchAttributeAccessPolicyWindow, NULL),
             cudaErrorInvalidValue, "null");
    eq_error(cudaStreamGetAttribute(one, cudaLaunchAttributeAccessPolicyWindow, NULL),
             cudaErrorInvalidValue, "null");
    eq_error(cudaStreamDestroy(two), cudaSuccess, "destroy");
    eq_error(cudaStreamCopyAttributes(one, two), cudaErrorInvalidResourceHandle, "a stale stream");
    eq_error(cudaGetLastError(), cudaErrorInvalidResourceHandle, "is the last error");
    eq_error(cudaStreamDestroy(one), cudaSuccess, "destroy");
    return done();
}
