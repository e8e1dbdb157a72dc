#include "klib/room.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"

enum { PIECES = 64, HEAD_B = 64 };

/* In front of the memory. */
struct piece {
    size_t size_B;
};
_Static_assert(sizeof(struct piece) <= HEAD_B, "a head has room for it");

static struct {
    pthread_mutex_t lock;
    unsigned n;
    struct piece *kept[PIECES];
} room = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *klib_room_get(size_t size_B)
{
    struct piece *p = NULL;

    pthread_mutex_lock(&room.lock);
    /* The one that was used last and is large enough. */
    for (unsigned i = room.n; i-- > 0 && !p;)
        if (room.kept[i]->size_B >= size_B) {
            p = room.kept[i];
            for (unsigned j = i; j + 1 < room.n; j++)
                room.kept[j] = room.kept[j + 1];
            room.n--;
        }
    pthread_mutex_unlock(&room.lock);
    if (!p) {
        size_t rounded_B = 4096;
        while (rounded_B < size_B + HEAD_B && rounded_B < KLIB_ROOM_KEPT_B)
            rounded_B *= 2;
        rounded_B = HD_MAX(rounded_B, (size_B + HEAD_B + HEAD_B - 1) / HEAD_B * HEAD_B);
        p = size_B < SIZE_MAX / 2 ? aligned_alloc(HEAD_B, rounded_B) : NULL;
        if (!p)
            return NULL;
        p->size_B = rounded_B - HEAD_B;
    }
    return (char *)p + HEAD_B;
}

void klib_room_put(void *at)
{
    struct piece *p = at ? (struct piece *)((char *)at - HEAD_B) : NULL;
    struct piece *gone = p && p->size_B < KLIB_ROOM_KEPT_B ? NULL : p;

    if (p && !gone) {
        pthread_mutex_lock(&room.lock);
        if (room.n == PIECES) { /* the one that was not used for longest */
            gone = room.kept[0];
            for (unsigned j = 0; j + 1 < room.n; j++)
                room.kept[j] = room.kept[j + 1];
            room.n--;
        }
        room.kept[room.n++] = p;
        pthread_mutex_unlock(&room.lock);
    }
    free(gone);
}
