/*
 * Names under which stream 0 is the calling thread's own: nvcc --default-stream per-thread.
 * Included by cuda.h where CUDA_API_PER_THREAD_DEFAULT_STREAM is defined.
 * Made by scripts/gen_api.py from spec/api/driver.def.
 */
/* clang-format off */
#ifndef HEDDLE_CUDA_DRIVER_STREAMS_H
#define HEDDLE_CUDA_DRIVER_STREAMS_H

#define cuEventRecord                        cuEventRecord_ptsz
#define cuEventRecordWithFlags               cuEventRecordWithFlags_ptsz
#define cuGraphInstantiateWithParams         cuGraphInstantiateWithParams_ptsz
#define cuGraphLaunch                        cuGraphLaunch_ptsz
#define cuGraphUpload                        cuGraphUpload_ptsz
#define cuGraphicsMapResources               cuGraphicsMapResources_ptsz
#define cuGraphicsUnmapResources             cuGraphicsUnmapResources_ptsz
#define cuLaunchCooperativeKernel            cuLaunchCooperativeKernel_ptsz
#define cuLaunchHostFunc                     cuLaunchHostFunc_ptsz
#define cuLaunchKernel                       cuLaunchKernel_ptsz
#define cuLaunchKernelEx                     cuLaunchKernelEx_ptsz
#define cuMemAllocAsync                      cuMemAllocAsync_ptsz
#define cuMemAllocFromPoolAsync              cuMemAllocFromPoolAsync_ptsz
#define cuMemBatchDecompressAsync            cuMemBatchDecompressAsync_ptsz
#define cuMemDiscardAndPrefetchBatchAsync    cuMemDiscardAndPrefetchBatchAsync_ptsz
#define cuMemDiscardBatchAsync               cuMemDiscardBatchAsync_ptsz
#define cuMemFreeAsync                       cuMemFreeAsync_ptsz
#define cuMemMapArrayAsync                   cuMemMapArrayAsync_ptsz
#define cuMemPrefetchAsync_v2                cuMemPrefetchAsync_v2_ptsz
#define cuMemPrefetchBatchAsync              cuMemPrefetchBatchAsync_ptsz
#define cuMemcpy                             cuMemcpy_ptds
#define cuMemcpy2D_v2                        cuMemcpy2D_v2_ptds
#define cuMemcpy2DAsync_v2                   cuMemcpy2DAsync_v2_ptsz
#define cuMemcpy2DUnaligned_v2               cuMemcpy2DUnaligned_v2_ptds
#define cuMemcpy3D_v2                        cuMemcpy3D_v2_ptds
#define cuMemcpy3DAsync_v2                   cuMemcpy3DAsync_v2_ptsz
#define cuMemcpy3DBatchAsync_v2              cuMemcpy3DBatchAsync_v2_ptsz
#define cuMemcpy3DPeer                       cuMemcpy3DPeer_ptds
#define cuMemcpy3DPeerAsync                  cuMemcpy3DPeerAsync_ptsz
#define cuMemcpyAsync                        cuMemcpyAsync_ptsz
#define cuMemcpyAtoA_v2                      cuMemcpyAtoA_v2_ptds
#define cuMemcpyAtoD_v2                      cuMemcpyAtoD_v2_ptds
#define cuMemcpyAtoH_v2                      cuMemcpyAtoH_v2_ptds
#define cuMemcpyAtoHAsync_v2                 cuMemcpyAtoHAsync_v2_ptsz
#define cuMemcpyBatchAsync_v2                cuMemcpyBatchAsync_v2_ptsz
#define cuMemcpyDtoA_v2                      cuMemcpyDtoA_v2_ptds
#define cuMemcpyDtoD_v2                      cuMemcpyDtoD_v2_ptds
#define cuMemcpyDtoDAsync_v2                 cuMemcpyDtoDAsync_v2_ptsz
#define cuMemcpyDtoH_v2                      cuMemcpyDtoH_v2_ptds
#define cuMemcpyDtoHAsync_v2                 cuMemcpyDtoHAsync_v2_ptsz
#define cuMemcpyHtoA_v2                      cuMemcpyHtoA_v2_ptds
#define cuMemcpyHtoAAsync_v2                 cuMemcpyHtoAAsync_v2_ptsz
#define cuMemcpyHtoD_v2                      cuMemcpyHtoD_v2_ptds
#define cuMemcpyHtoDAsync_v2                 cuMemcpyHtoDAsync_v2_ptsz
#define cuMemcpyPeer                         cuMemcpyPeer_ptds
#define cuMemcpyPeerAsync                    cuMemcpyPeerAsync_ptsz
#define cuMemsetD16_v2                       cuMemsetD16_v2_ptds
#define cuMemsetD16Async                     cuMemsetD16Async_ptsz
#define cuMemsetD2D16_v2                     cuMemsetD2D16_v2_ptds
#define cuMemsetD2D16Async                   cuMemsetD2D16Async_ptsz
#define cuMemsetD2D32_v2                     cuMemsetD2D32_v2_ptds
#define cuMemsetD2D32Async                   cuMemsetD2D32Async_ptsz
#define cuMemsetD2D8_v2                      cuMemsetD2D8_v2_ptds
#define cuMemsetD2D8Async                    cuMemsetD2D8Async_ptsz
#define cuMemsetD32_v2                       cuMemsetD32_v2_ptds
#define cuMemsetD32Async                     cuMemsetD32Async_ptsz
#define cuMemsetD8_v2                        cuMemsetD8_v2_ptds
#define cuMemsetD8Async                      cuMemsetD8Async_ptsz
#define cuSignalExternalSemaphoresAsync      cuSignalExternalSemaphoresAsync_ptsz
#define cuStreamAddCallback                  cuStreamAddCallback_ptsz
#define cuStreamAttachMemAsync               cuStreamAttachMemAsync_ptsz
#define cuStreamBatchMemOp_v2                cuStreamBatchMemOp_v2_ptsz
#define cuStreamBeginCapture_v2              cuStreamBeginCapture_v2_ptsz
#define cuStreamBeginCaptureToGraph          cuStreamBeginCaptureToGraph_ptsz
#define cuStreamCopyAttributes               cuStreamCopyAttributes_ptsz
#define cuStreamEndCapture                   cuStreamEndCapture_ptsz
#define cuStreamGetAttribute                 cuStreamGetAttribute_ptsz
#define cuStreamGetCaptureInfo_v3            cuStreamGetCaptureInfo_v3_ptsz
#define cuStreamGetCtx                       cuStreamGetCtx_ptsz
#define cuStreamGetCtx_v2                    cuStreamGetCtx_v2_ptsz
#define cuStreamGetDevice                    cuStreamGetDevice_ptsz
#define cuStreamGetFlags                     cuStreamGetFlags_ptsz
#define cuStreamGetId                        cuStreamGetId_ptsz
#define cuStreamGetPriority                  cuStreamGetPriority_ptsz
#define cuStreamIsCapturing                  cuStreamIsCapturing_ptsz
#define cuStreamQuery                        cuStreamQuery_ptsz
#define cuStreamSetAttribute                 cuStreamSetAttribute_ptsz
#define cuStreamSynchronize                  cuStreamSynchronize_ptsz
#define cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz
#define cuStreamWaitEvent                    cuStreamWaitEvent_ptsz
#define cuStreamWaitValue32_v2               cuStreamWaitValue32_v2_ptsz
#define cuStreamWaitValue64_v2               cuStreamWaitValue64_v2_ptsz
#define cuStreamWriteValue32_v2              cuStreamWriteValue32_v2_ptsz
#define cuStreamWriteValue64_v2              cuStreamWriteValue64_v2_ptsz
#define cuWaitExternalSemaphoresAsync        cuWaitExternalSemaphoresAsync_ptsz
/* clang-format on */

#endif
