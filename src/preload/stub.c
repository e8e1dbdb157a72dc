/* See stub.h. */
#include "preload/stub.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "preload/patch.h"

/* The runtime's entry points are some 440: 32 KiB hold a stub for each. */
#define POOL_B        (64u << 10)
#define NEAR_STEP_B   (1u << 20)
#define NOT_SUPPORTED 801 /* cudaErrorNotSupported */

struct stub_pool {
    uint8_t *base;
    size_t used_B;
};

struct stub_name {
    char *name;
    atomic_bool logged;
};

static struct stub_pool stubs, near_jumps;

static int stub_report(struct stub_name *stub)
{
    if (!atomic_exchange(&stub->logged, true))
        hd_log("%s is not supported", stub->name);
    return NOT_SUPPORTED;
}

static bool pool_map(struct stub_pool *pool, void *hint, int flags)
{
    void *map =
        mmap(hint, POOL_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (map == MAP_FAILED)
        return false;
    if (hint && map != hint) {
        munmap(map, POOL_B);
        return false;
    }
    *pool = (struct stub_pool){.base = map};
    return true;
}

/* Room for one function; NULL when the pool is full. */
static uint8_t *pool_take(struct stub_pool *pool)
{
    if (!pool->base || pool->used_B + PATCH_STUB_MAX_B > POOL_B)
        return NULL;
    uint8_t *code = pool->base + pool->used_B;
    pool->used_B += PATCH_STUB_MAX_B;
    return code;
}

uintptr_t stub_not_supported(const char *name)
{
    if (!stubs.base && !pool_map(&stubs, NULL, 0))
        return 0;
    struct stub_name *stub = hd_new(struct stub_name);
    uint8_t *code = pool_take(&stubs);
    if (!stub || !code || !(stub->name = hd_strdup(name))) {
        hd_free(stub);
        return 0;
    }
    patch_write_stub(code, (uintptr_t)stub_report, (uintptr_t)stub);
    return (uintptr_t)code;
}

static bool near_map(uintptr_t addr)
{
    uintptr_t at = (uintptr_t)hd_align_up(addr, NEAR_STEP_B);
    uintptr_t end = at + patch_near_range_B();
    for (; at < end; at += NEAR_STEP_B)
        if (pool_map(&near_jumps, (void *)at, MAP_FIXED_NOREPLACE))
            return true;
    return false;
}

uintptr_t stub_near_jump(uintptr_t addr, uintptr_t target)
{
    if (!near_jumps.base && !near_map(addr))
        return 0;
    uint8_t *code = pool_take(&near_jumps);
    return code && patch_write_jump(code, PATCH_STUB_MAX_B, target) ? (uintptr_t)code : 0;
}

static void pool_seal(struct stub_pool *pool)
{
    if (!pool->base)
        return;
    if (mprotect(pool->base, POOL_B, PROT_READ | PROT_EXEC) != 0)
        hd_log("the system does not allow generated code (mprotect)");
    __builtin___clear_cache((char *)pool->base, (char *)pool->base + pool->used_B);
    /* The next object gets pages of its own: these stay executable and are not written again. */
    *pool = (struct stub_pool){0};
}

void stub_seal(void)
{
    pool_seal(&stubs);
    pool_seal(&near_jumps);
}
