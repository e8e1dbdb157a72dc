/*
 * Lists that a member leaves without being searched for, because it knows the pointer that points
 * at it. The members hold what the list needs; the list is a pointer to the first, or NULL:
 *
 *     struct hal_queue *next, **link; (in struct hal_queue: link is NULL outside of a list)
 *
 *     hd_list_push(&domain->queues, queue);
 *     for (struct hal_queue *q = domain->queues; q; q = q->next)
 *         ...
 *     hd_list_remove(queue);
 *
 * Both evaluate their arguments several times. Threads: the owner of the list locks it.
 */
#ifndef HD_BASE_LIST_H
#define HD_BASE_LIST_H

#include <assert.h>

#define hd_list_push(list, item)                                                                   \
    do {                                                                                           \
        (item)->link = (list);                                                                     \
        (item)->next = *(list);                                                                    \
        if ((item)->next)                                                                          \
            (item)->next->link = &(item)->next;                                                    \
        *(list) = (item);                                                                          \
    } while (0)

#define hd_list_remove(item)                                                                       \
    do {                                                                                           \
        assert(*(item)->link == (item));                                                           \
        *(item)->link = (item)->next;                                                              \
        if ((item)->next)                                                                          \
            (item)->next->link = (item)->link;                                                     \
        (item)->link = NULL;                                                                       \
    } while (0)

#endif
