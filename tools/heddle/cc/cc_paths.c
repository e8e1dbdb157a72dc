/* heddle cc: where headers and libraries are (where.h) and which compiler to run. */
#include "cc/cc.h"

#include "clang/clang.h"
#include "common/where.h"

enum hd_status cc_paths_find(struct cc_paths *out_paths, bool need_cudart)
{
    HD_TRY(clang_find(&out_paths->clang));
    out_paths->include_dir = where_headers();
    if (!out_paths->include_dir)
        return hd_error(HD_NOT_FOUND, "Heddle's CUDA headers not found: set HEDDLE_INCLUDE to the "
                                      "directory that holds cuda_runtime.h");
    out_paths->libdevice = where_library(WHERE_LIBDEVICE);
    out_paths->libcudart = where_library(WHERE_CUDART);
    out_paths->libcuda = where_library(WHERE_CUDA);
    out_paths->toolkit = where_toolkit();
    if (need_cudart && !out_paths->libcudart)
        return hd_error(HD_NOT_FOUND,
                        "libcudart.so.13 not found: set HEDDLE_LIBDIR, or link with -cudart none");
    return HD_OK;
}
