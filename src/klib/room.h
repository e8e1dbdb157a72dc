/*
 * Memory that a kernel needs while it runs: some that another one had before, so that its pages are
 * there. A few pieces are kept for all threads, no larger than KLIB_ROOM_KEPT_B each.
 */
#ifndef HD_KLIB_ROOM_H
#define HD_KLIB_ROOM_H

#include <stddef.h>

enum { KLIB_ROOM_KEPT_B = 32 << 20 };

/* At a boundary of 64 bytes; NULL: no memory. */
void *klib_room_get(size_t size_B);
/* NULL is nothing. */
void klib_room_put(void *room);

#endif
