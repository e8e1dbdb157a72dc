/* The heap of device malloc(): a map knows every block. */
#include <stdlib.h>

#include "dev/cpu/domain.h"

void cpu_heap_init(struct cpu_heap *heap)
{
    hd_lock_init(&heap->lock, HD_RANK_LEAF, "device heap");
    hd_map_init(&heap->blocks);
}

void cpu_heap_fini(struct cpu_heap *heap)
{
    struct hd_map_iter it = {0};

    while (hd_map_next(&heap->blocks, &it))
        free((void *)(uintptr_t)it.key_u64);
    hd_map_fini(&heap->blocks);
    hd_lock_fini(&heap->lock);
}

void *cpu_heap_alloc(struct cpu_heap *heap, uint64_t limit_B, uint64_t size_B)
{
    void *block = NULL;

    hd_lock_acquire(&heap->lock);
    if (heap->used_B <= limit_B && size_B <= limit_B - heap->used_B)
        block = aligned_alloc(16, hd_align_up(HD_MAX(size_B, 1), 16));
    if (block && !hd_map_put_u64(&heap->blocks, (uintptr_t)block, (void *)(uintptr_t)size_B)) {
        free(block);
        block = NULL;
    }
    if (block)
        heap->used_B += size_B;
    hd_lock_release(&heap->lock);
    return block;
}

bool cpu_heap_free(struct cpu_heap *heap, void *ptr)
{
    void *size;
    bool found;

    if (!ptr)
        return true;
    hd_lock_acquire(&heap->lock);
    found = hd_map_find_u64(&heap->blocks, (uintptr_t)ptr, &size);
    if (found) {
        assert(heap->used_B >= (uintptr_t)size);
        heap->used_B -= (uintptr_t)size;
        hd_map_remove_u64(&heap->blocks, (uintptr_t)ptr);
        free(ptr);
    }
    hd_lock_release(&heap->lock);
    return found;
}

bool cpu_heap_contains(struct cpu_heap *heap, uint64_t address, uint64_t size_B)
{
    struct hd_map_iter it = {0};
    bool found = false;

    hd_lock_acquire(&heap->lock);
    while (!found && hd_map_next(&heap->blocks, &it)) {
        uint64_t block_B = (uintptr_t)it.value, at = address - it.key_u64;
        found = at <= block_B && size_B <= block_B - at;
    }
    hd_lock_release(&heap->lock);
    return found;
}
