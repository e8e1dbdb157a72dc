/* The heap of device malloc(): host memory, counted against the limit; a map knows every block. */
#include <stdlib.h>

#include "base/map.h"
#include "dev/cpu/device.h"

#define HEAP_DEFAULT_B (8u << 20)

static struct hd_lock heap_lock = HD_LOCK_INIT(LEAF, "device heap");
static struct hd_map heap_blocks; /* address -> size */
static uint64_t heap_limit_B = HEAP_DEFAULT_B, heap_used_B;

uint64_t cpu_heap_limit(void)
{
    uint64_t limit_B;

    hd_lock_acquire(&heap_lock);
    limit_B = heap_limit_B;
    hd_lock_release(&heap_lock);
    return limit_B;
}

void cpu_heap_set_limit(uint64_t limit_B)
{
    hd_lock_acquire(&heap_lock);
    heap_limit_B = limit_B;
    hd_lock_release(&heap_lock);
}

void *cpu_heap_alloc(uint64_t size_B)
{
    void *block = NULL;

    hd_lock_acquire(&heap_lock);
    if (heap_used_B <= heap_limit_B && size_B <= heap_limit_B - heap_used_B)
        block = aligned_alloc(16, hd_align_up(HD_MAX(size_B, 1), 16));
    if (block && !hd_map_put_u64(&heap_blocks, (uintptr_t)block, (void *)(uintptr_t)size_B)) {
        free(block);
        block = NULL;
    }
    if (block)
        heap_used_B += size_B;
    hd_lock_release(&heap_lock);
    return block;
}

bool cpu_heap_free(void *ptr)
{
    void *size;
    bool found;

    if (!ptr)
        return true;
    hd_lock_acquire(&heap_lock);
    found = hd_map_find_u64(&heap_blocks, (uintptr_t)ptr, &size);
    if (found) {
        heap_used_B -= (uintptr_t)size;
        hd_map_remove_u64(&heap_blocks, (uintptr_t)ptr);
        free(ptr);
    }
    hd_lock_release(&heap_lock);
    return found;
}

void cpu_heap_clear(void)
{
    struct hd_map_iter it = {0};

    hd_lock_acquire(&heap_lock);
    while (hd_map_next(&heap_blocks, &it))
        free((void *)(uintptr_t)it.key_u64);
    hd_map_fini(&heap_blocks);
    hd_map_init(&heap_blocks);
    heap_used_B = 0;
    hd_lock_release(&heap_lock);
}
