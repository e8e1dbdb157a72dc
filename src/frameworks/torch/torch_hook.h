/*
 * PyTorch in a process under `heddle run`: its operators are given kernels that run here, when it
 * first asks for devices.
 *
 * The wheels of PyTorch hold machine code only. What stands in for it (layer.cpp) is C++ against
 * the headers of the wheel, so `heddle torch` compiles it once for each build of PyTorch and keeps
 * it; this loads it. Nothing happens in processes that use PyTorch without a device, or before.
 *
 * Threads: any; the first caller of torch_hook_start() does the work, the others wait.
 */
#ifndef HD_FRAMEWORKS_TORCH_TORCH_HOOK_H
#define HD_FRAMEWORKS_TORCH_TORCH_HOOK_H

#include <stdbool.h>

/* False: HEDDLE_TORCH=off. */
bool torch_hook_is_on(void);

/* Is this one of PyTorch's libraries? The first of them brings NVIDIA's. */
bool torch_hook_is_part(const char *path);

/* Is this PyTorch's library of CUDA operators? */
bool torch_hook_is_named(const char *path);

/* It is being loaded from `path`. */
void torch_hook_found(const char *path);

/* Lets calls of one function go to another from now on; false if that cannot be. */
typedef bool torch_hook_redirect(void *from, void *to);

/* The process asks for devices: loads the layer, if PyTorch is there and has none. */
void torch_hook_start(torch_hook_redirect *redirect);

#endif
