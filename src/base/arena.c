#include "base/arena.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

#define ARENA_ALIGN       16
#define ARENA_SMALL_MAX_B (64u << 10)
#define ARENA_BLOCK_MIN_B (1u << 10)
#define ARENA_BLOCK_MAX_B (16u << 20)
#define ARENA_RESERVE_B   (1u << 20)

struct hd_arena_block {
    HD_ALIGNED(ARENA_ALIGN) struct hd_arena_block *next;
};

_Static_assert(sizeof(struct hd_arena_block) % ARENA_ALIGN == 0, "payload follows the header");

/*
 * Where arenas draw from once host memory ran out: what they build stays in one piece until the
 * stage ends and sees the failure. Shared by all arenas; empty again when the last one that drew
 * from it is gone. A leaf lock, held for a few instructions.
 */
static struct {
    pthread_mutex_t lock;
    unsigned users;
    size_t used_B;
    HD_ALIGNED(ARENA_ALIGN) char bytes[ARENA_RESERVE_B];
} reserve = {.lock = PTHREAD_MUTEX_INITIALIZER};
HD_FORK_MUTEX(reserve, reserve.lock);

/* When the reserve is spent as well; its contents mean nothing to anybody. */
static HD_ALIGNED(ARENA_ALIGN) char arena_scratch[ARENA_SMALL_MAX_B];

static void *reserve_take(struct hd_arena *arena, size_t size_B)
{
    void *ptr = NULL;

    pthread_mutex_lock(&reserve.lock);
    reserve.users += !arena->draws_reserve;
    arena->draws_reserve = true;
    if (size_B <= ARENA_RESERVE_B - reserve.used_B) {
        ptr = reserve.bytes + reserve.used_B;
        reserve.used_B += size_B;
    }
    pthread_mutex_unlock(&reserve.lock);
    return ptr;
}

void hd_arena_init(struct hd_arena *arena)
{
    *arena = (struct hd_arena){0};
}

void hd_arena_fini(struct hd_arena *arena)
{
    struct hd_arena_block *block = arena->blocks;

    while (block) {
        struct hd_arena_block *next = block->next;
        hd_free(block);
        block = next;
    }
    if (arena->draws_reserve) {
        pthread_mutex_lock(&reserve.lock);
        assert(reserve.users && reserve.used_B <= ARENA_RESERVE_B);
        if (!--reserve.users) {
            memset(reserve.bytes, 0, reserve.used_B);
            reserve.used_B = 0;
        }
        pthread_mutex_unlock(&reserve.lock);
    }
    hd_arena_init(arena);
}

static char *arena_block_add(struct hd_arena *arena, size_t payload_B)
{
    struct hd_arena_block *block;
    size_t size_B;

    if (__builtin_add_overflow(payload_B, sizeof(*block), &size_B) || !(block = hd_alloc(size_B))) {
        arena->failed = true;
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    return (char *)(block + 1);
}

/* Starts a current block of at least need_B; blocks double with what was used so far. */
static bool arena_refill(struct hd_arena *arena, size_t need_B)
{
    size_t block_B = ARENA_BLOCK_MIN_B;
    size_t header_B = sizeof(struct hd_arena_block);
    char *payload;

    while (block_B < need_B + header_B || (block_B < arena->used_B && block_B < ARENA_BLOCK_MAX_B))
        block_B *= 2;
    payload = arena_block_add(arena, block_B - header_B);
    if (!payload)
        return false;
    assert(block_B - header_B >= need_B);
    arena->next = payload;
    arena->end = payload + block_B - header_B;
    return true;
}

void *hd_arena_try_alloc(struct hd_arena *arena, size_t size_B)
{
    size_t rounded_B;
    void *ptr;

    if (__builtin_add_overflow(size_B, (size_t)ARENA_ALIGN - 1, &rounded_B)) {
        arena->failed = true;
        return NULL;
    }
    rounded_B &= ~(size_t)(ARENA_ALIGN - 1);
    if (rounded_B > ARENA_SMALL_MAX_B) {
        /* A block of its own, so that the current one is not thrown away half empty. */
        ptr = arena_block_add(arena, rounded_B);
        arena->used_B += ptr ? rounded_B : 0;
        return ptr ? ptr : reserve_take(arena, rounded_B);
    }
    if (rounded_B > (size_t)(arena->end - arena->next) && !arena_refill(arena, rounded_B))
        return reserve_take(arena, rounded_B);
    assert(rounded_B <= (size_t)(arena->end - arena->next));
    ptr = arena->next;
    arena->next += rounded_B;
    arena->used_B += rounded_B;
    return ptr;
}

void *hd_arena_alloc(struct hd_arena *arena, size_t size_B)
{
    void *ptr;

    assert(size_B <= ARENA_SMALL_MAX_B);
    /* Zero bytes still deserve an address of their own. */
    ptr = hd_arena_try_alloc(arena, size_B ? size_B : 1);
    if (HD_LIKELY(ptr != NULL))
        return ptr;
    memset(arena_scratch, 0, size_B);
    return arena_scratch;
}

void *hd_arena_try_alloc_array(struct hd_arena *arena, size_t count, size_t elem_B)
{
    size_t size_B;

    if (__builtin_mul_overflow(count, elem_B, &size_B)) {
        arena->failed = true;
        return NULL;
    }
    return hd_arena_try_alloc(arena, size_B ? size_B : 1);
}

/* Room for a string of len bytes and its NUL; long ones degrade to "" when memory is short. */
static char *arena_text(struct hd_arena *arena, size_t len, size_t *out_len)
{
    char *text = len < SIZE_MAX ? hd_arena_try_alloc(arena, len + 1) : NULL;

    *out_len = text ? len : 0;
    if (text)
        return text;
    arena->failed = true;
    arena_scratch[0] = '\0';
    return arena_scratch;
}

char *hd_arena_strndup(struct hd_arena *arena, const char *text, size_t len)
{
    size_t copied;
    char *copy = arena_text(arena, len, &copied);

    if (copied)
        memcpy(copy, text, copied);
    return copy;
}

char *hd_arena_printf(struct hd_arena *arena, const char *fmt, ...)
{
    va_list args, again;
    size_t room;
    char *text;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = arena_text(arena, len > 0 ? (size_t)len : 0, &room);
    if (room)
        vsnprintf(text, room + 1, fmt, again);
    va_end(again);
    return text;
}

enum hd_status hd_arena_status(const struct hd_arena *arena)
{
    return arena->failed ? HD_NO_MEMORY : HD_OK;
}
