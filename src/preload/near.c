/* See near.h. */
#include "preload/near.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "preload/patch.h"

/* The runtime has some 450 entry points: 16 KiB hold a jump for each. */
#define POOL_B      (16u << 10)
#define NEAR_STEP_B (1u << 20)

static struct {
    uint8_t *base; /* NULL: none open */
    size_t used_B;
} pool;

static bool pool_map(uintptr_t addr)
{
    uint8_t *map = mmap((void *)addr, POOL_B, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (map == MAP_FAILED)
        return false;
    if ((uintptr_t)map != addr) { /* kernels before 4.17 take the address as a hint */
        munmap(map, POOL_B);
        return false;
    }
    pool.base = map;
    pool.used_B = 0;
    return true;
}

static bool pool_map_near(uintptr_t addr)
{
    uintptr_t at = (uintptr_t)hd_align_up(addr, NEAR_STEP_B);
    uintptr_t end = at + patch_near_range_B();
    for (; at < end; at += NEAR_STEP_B)
        if (pool_map(at))
            return true;
    return false;
}

uintptr_t near_jump(uintptr_t addr, uintptr_t target)
{
    assert(target);
    if ((!pool.base && !pool_map_near(addr)) || pool.used_B + PATCH_JUMP_MAX_B > POOL_B)
        return 0;
    uint8_t *code = pool.base + pool.used_B;
    size_t len = patch_write_jump(code, PATCH_JUMP_MAX_B, target);
    assert(len); /* fresh memory holds no landing pad and has room */
    pool.used_B += PATCH_JUMP_MAX_B;
    assert(pool.used_B <= POOL_B);
    return (uintptr_t)code;
}

void near_seal(void)
{
    if (!pool.base)
        return;
    if (mprotect(pool.base, POOL_B, PROT_READ | PROT_EXEC) != 0)
        hd_log("the system does not allow generated code (mprotect)");
    __builtin___clear_cache((char *)pool.base, (char *)pool.base + pool.used_B);
    /* The next object gets pages of its own: these stay executable and are not written again. */
    pool.base = NULL;
}
