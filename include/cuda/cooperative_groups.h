/*
 * Cooperative groups: blocks, grids, clusters, tiles and coalesced threads. reduce.h, scan.h and
 * memcpy_async.h are in the folder of the same name.
 */
#ifndef HEDDLE_CUDA_COOPERATIVE_GROUPS_H
#define HEDDLE_CUDA_COOPERATIVE_GROUPS_H

/* By this name a toolkit's headers beside the program know that they are not needed any more. */
#define _COOPERATIVE_GROUPS_H_

#include "cuda_runtime.h"

#if defined(__CUDA__) && __cplusplus >= 201103L
#include "heddle/cg_base.h"
#include "heddle/cg_tile.h"
#endif

#endif
