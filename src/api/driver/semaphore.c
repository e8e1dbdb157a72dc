/* External semaphores: importing them, streams and nodes of graphs that signal and wait. */
#include "api/driver/graph/graph.h"

#include <assert.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/stream/extsem.h"

_Static_assert((int)CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD == (int)CORE_EXTSEM_BINARY &&
                   (int)CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD ==
                       (int)CORE_EXTSEM_TIMELINE,
               "types are cast");
_Static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) == CORE_EXTSEM_TEXT_B &&
                   sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) == CORE_EXTSEM_TEXT_B,
               "room for them");
_Static_assert(sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2) ==
                       sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS) &&
                   sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2) ==
                       sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS),
               "the same members");

/* ---- life */

static CUresult check_type(const char *api_name_, CUexternalSemaphoreHandleType type)
{
    API_CHECK((int)type >= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD &&
              type <= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32);
    if (type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
        type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "external semaphores by handles of type %d",
                     (int)type);
}

/* The descriptor belongs to the driver once this succeeds. */
CUresult drv_cuImportExternalSemaphore(CUexternalSemaphore *out,
                                       const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc)
{
    struct core_extsem *sem;
    enum hd_status status;

    API_CALL(cuImportExternalSemaphore);
    API_CHECK(out && desc && !desc->flags);
    API_CONTEXT(ctx);
    (void)ctx;
    API_TRY(check_type(api_name_, desc->type));
    status = core_extsem_create((enum core_extsem_kind)desc->type, desc->handle.fd, &sem);
    if (status != HD_OK)
        return status == HD_BAD_ARG ? CUDA_ERROR_INVALID_HANDLE : drv_result(status);
    close(desc->handle.fd);
    DRV_GIVE(extsem, out, sem);
    return CUDA_SUCCESS;
}

CUresult drv_cuDestroyExternalSemaphore(CUexternalSemaphore handle)
{
    API_CALL(cuDestroyExternalSemaphore);
    API_HANDLE(extsem, sem, handle);
    API_CHECK(core_extsem_destroy(sem));
    return CUDA_SUCCESS;
}

/* ---- several at once */

/* Empty, with room for n. */
static CUresult ops_make(const char *api_name_, struct core_extsem_ops *ops, unsigned n,
                         const CUexternalSemaphore *handles, const void *params)
{
    API_CHECK(handles && params);
    *ops = (struct core_extsem_ops){.at = hd_alloc_array(HD_MAX(n, 1u), sizeof(*ops->at)),
                                    .handles = (const void *const *)handles,
                                    .params = params};
    return ops->at ? CUDA_SUCCESS
                   : drv_error(CUDA_ERROR_OUT_OF_MEMORY, "%s: %u semaphores", api_name_, n);
}

static CUresult ops_add(const char *api_name_, struct core_extsem_ops *ops, uint64_t value)
{
    CUexternalSemaphore handle = (CUexternalSemaphore)(uintptr_t)ops->handles[ops->n];
    struct core_extsem *sem = core_extsem_lookup(handle);

    if (!sem)
        return drv_error(CUDA_ERROR_INVALID_HANDLE, "%s: %p is not a live external semaphore",
                         api_name_, (void *)handle);
    ops->at[ops->n++] = (struct core_extsem_op){sem, value};
    return CUDA_SUCCESS;
}

/* Flags are for semaphores of NvSciSync only. */
static CUresult signals_make(const char *api_name_, struct core_extsem_ops *ops, unsigned n,
                             const CUexternalSemaphore *handles,
                             const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params)
{
    API_TRY(ops_make(api_name_, ops, n, handles, params));
    ops->signals = true;
    for (unsigned i = 0; i < n; i++) {
        API_CHECK(!params[i].flags);
        API_TRY(ops_add(api_name_, ops, params[i].params.fence.value));
    }
    return CUDA_SUCCESS;
}

static CUresult waits_make(const char *api_name_, struct core_extsem_ops *ops, unsigned n,
                           const CUexternalSemaphore *handles,
                           const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params)
{
    API_TRY(ops_make(api_name_, ops, n, handles, params));
    for (unsigned i = 0; i < n; i++) {
        API_CHECK(!params[i].flags);
        API_TRY(ops_add(api_name_, ops, params[i].params.fence.value));
    }
    return CUDA_SUCCESS;
}

#define OPS(name)                                                                                  \
    __attribute__((cleanup(core_extsem_ops_fini))) struct core_extsem_ops name = {.n = 0}

/* ---- streams */

CUresult drv_cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *handles,
                                             const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
                                             unsigned n, CUstream stream_handle)
{
    OPS(ops);
    API_CALL(cuSignalExternalSemaphoresAsync);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, stream_handle);
    API_TRY(signals_make(api_name_, &ops, n, handles, params));
    return drv_result(core_stream_semaphores(stream, &ops));
}

CUresult drv_cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *handles,
                                           const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                           unsigned n, CUstream stream_handle)
{
    OPS(ops);
    API_CALL(cuWaitExternalSemaphoresAsync);
    API_CONTEXT(ctx);
    API_STREAM(ctx, stream, stream_handle);
    API_TRY(waits_make(api_name_, &ops, n, handles, params));
    return drv_result(core_stream_semaphores(stream, &ops));
}

/* ---- nodes of graphs */

CUresult graph_body_signals(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *p, struct core_body *out_body)
{
    OPS(ops);

    API_TRY(signals_make("graph node: signal of external semaphores", &ops, p->numExtSems,
                         p->extSemArray, p->paramsArray));
    return drv_result(core_body_semaphores(&ops, out_body));
}

CUresult graph_body_waits(const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p, struct core_body *out_body)
{
    OPS(ops);

    API_TRY(waits_make("graph node: wait for external semaphores", &ops, p->numExtSems,
                       p->extSemArray, p->paramsArray));
    return drv_result(core_body_semaphores(&ops, out_body));
}

/* The arrays are the node's, and stay until the node changes. */
CUresult drv_cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode node,
                                                          CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params)
{
    API_CALL(cuGraphExternalSemaphoresSignalNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_SIGNAL_SEMAPHORES);
    *params = (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS){
        .extSemArray = (CUexternalSemaphore *)(uintptr_t)body->semaphores.handles,
        .paramsArray = body->semaphores.params,
        .numExtSems = body->semaphores.n};
    return CUDA_SUCCESS;
}

CUresult drv_cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode node,
                                                        CUDA_EXT_SEM_WAIT_NODE_PARAMS *params)
{
    API_CALL(cuGraphExternalSemaphoresWaitNodeGetParams);
    API_CHECK(params);
    NODE_BODY(body, node, CORE_NODE_WAIT_SEMAPHORES);
    *params = (CUDA_EXT_SEM_WAIT_NODE_PARAMS){
        .extSemArray = (CUexternalSemaphore *)(uintptr_t)body->semaphores.handles,
        .paramsArray = body->semaphores.params,
        .numExtSems = body->semaphores.n};
    return CUDA_SUCCESS;
}
