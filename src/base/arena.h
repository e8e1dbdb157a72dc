/*
 * Bump allocator: many small objects that die together (a PTX module, an IR function).
 *
 * Owner: whoever embeds the arena. Not thread-safe. Memory is zeroed. Blocks double from 4 KiB to
 * 1 MiB. Allocation never returns NULL: running out of host memory inside an arena sets
 * arena->failed and draws on a reserve of the process (1 MiB, and a static scratch block when that
 * is spent too), so builders need no check per node; whoever finishes a stage calls
 * hd_arena_status() once and drops the whole arena. Requests larger than 64 KiB must use
 * hd_arena_try_alloc(), which can fail.
 *
 *     struct hd_arena arena;
 *     hd_arena_init(&arena);
 *     struct node *n = hd_arena_new(&arena, struct node);
 *     ...
 *     enum hd_status status = hd_arena_status(&arena);
 *     hd_arena_fini(&arena);
 */
#ifndef HD_BASE_ARENA_H
#define HD_BASE_ARENA_H

#include "base/status.h"
#include "base/str.h"

struct hd_arena_block;

struct hd_arena {
    struct hd_arena_block *blocks; /* newest first */
    char *next;
    char *end;
    size_t used_B;
    bool failed;
    bool draws_reserve;
};

void hd_arena_init(struct hd_arena *arena);
void hd_arena_fini(struct hd_arena *arena);

/* Zeroed, 16-byte aligned; size_B <= 64 KiB. Never NULL, see above. */
void *hd_arena_alloc(struct hd_arena *arena, size_t size_B);
/* Zeroed, 16-byte aligned, any size; NULL (and arena->failed) when memory is short. */
void *hd_arena_try_alloc(struct hd_arena *arena, size_t size_B);
/* NUL-terminated copies. */
char *hd_arena_strndup(struct hd_arena *arena, const char *text, size_t len);
char *hd_arena_printf(struct hd_arena *arena, const char *fmt, ...) HD_PRINTF(2, 3);

/* HD_OK, or HD_NO_MEMORY once any allocation failed. */
enum hd_status hd_arena_status(const struct hd_arena *arena) HD_MUST_CHECK;

#define hd_arena_new(arena, type) ((type *)hd_arena_alloc((arena), sizeof(type)))
/* Arrays may exceed 64 KiB: NULL on failure. */
#define hd_arena_array(arena, type, count)                                                         \
    ((type *)hd_arena_try_alloc_array((arena), (count), sizeof(type)))
void *hd_arena_try_alloc_array(struct hd_arena *arena, size_t count, size_t elem_B);

#endif
