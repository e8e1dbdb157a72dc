/* User objects: what a program wants to live as long as the graphs that use it. */
#include <assert.h>

#include "core/graph/graph.h"

enum hd_status core_user_object_create(void (*destroy)(void *), void *arg, unsigned count,
                                       struct core_user_object **out_object)
{
    struct core_user_object *object = core_handle_alloc(CORE_USER_OBJECT);

    assert(count);
    if (!object)
        return hd_error(HD_NO_MEMORY, "user object");
    object->destroy = destroy;
    object->arg = arg;
    atomic_store(&object->count, count);
    core_object_publish(&object->object);
    *out_object = core_user_object_ref(object);
    return HD_OK;
}

void core_user_object_finalise(struct core_user_object *object)
{
    core_handle_free(object);
}

enum hd_status core_user_object_retain(struct core_user_object *object, unsigned count)
{
    uint64_t before = atomic_load(&object->count);

    do {
        if (!before)
            return hd_error(HD_BAD_ARG, "the user object was destroyed");
        if (before + count > INT32_MAX)
            return hd_error(HD_BAD_ARG, "more than %d references to a user object", INT32_MAX);
    } while (!atomic_compare_exchange_weak(&object->count, &before, before + count));
    return HD_OK;
}

enum hd_status core_user_object_release(struct core_user_object *object, unsigned count)
{
    uint64_t before = atomic_load(&object->count);

    do {
        if (before < count)
            return hd_error(HD_BAD_ARG, "%u references to a user object are released, it has %llu",
                            count, (unsigned long long)before);
    } while (!atomic_compare_exchange_weak(&object->count, &before, before - count));
    if (before == count && core_object_retire(&object->object)) {
        object->destroy(object->arg);
        core_user_object_unref(object);
    }
    return HD_OK;
}

void core_users_release(struct core_graph_user *users, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (core_user_object_release(users[i].object, users[i].count) != HD_OK)
            hd_error_clear(); /* the program released more than was its own */
        core_user_object_unref(users[i].object);
    }
}

/* ---- of graphs */

static struct core_graph_user *user_find(struct core_graph *graph,
                                         const struct core_user_object *object)
{
    for (size_t i = 0; i < graph->users.len; i++)
        if (graph->users.at[i].object == object)
            return &graph->users.at[i];
    return NULL;
}

static enum hd_status user_add_locked(struct core_graph *graph, struct core_user_object *object,
                                      unsigned count, bool move)
{
    struct core_graph_user *user = user_find(graph, object);

    HD_TRY(core_graph_check_locked(graph));
    if (!user && !hd_vec_reserve(&graph->users, graph->users.len + 1))
        return hd_error(HD_NO_MEMORY, "user object of a graph");
    if (!move)
        HD_TRY(core_user_object_retain(object, count));
    if (user) {
        user->count += count;
        return HD_OK;
    }
    graph->users.at[graph->users.len++] =
        (struct core_graph_user){core_user_object_ref(object), count};
    return HD_OK;
}

enum hd_status core_graph_user_retain(struct core_graph *graph, struct core_user_object *object,
                                      unsigned count, bool move)
{
    enum hd_status status;

    hd_lock_acquire(&core_graph_lock);
    status = user_add_locked(graph, object, count, move);
    hd_lock_release(&core_graph_lock);
    return status;
}

static bool user_take_locked(struct core_graph *graph, struct core_user_object *object,
                             unsigned count)
{
    struct core_graph_user *user = user_find(graph, object);

    assert(hd_lock_held(&core_graph_lock));
    if (!user || user->count < count)
        return false;
    user->count -= count;
    if (!user->count) {
        core_user_object_unref(object); /* the caller has another one */
        *user = hd_vec_last(&graph->users);
        graph->users.len--;
    }
    return true;
}

enum hd_status core_graph_user_release(struct core_graph *graph, struct core_user_object *object,
                                       unsigned count)
{
    bool taken;

    hd_lock_acquire(&core_graph_lock);
    taken = user_take_locked(graph, object, count);
    hd_lock_release(&core_graph_lock);
    return taken ? core_user_object_release(object, count)
                 : hd_error(HD_BAD_ARG, "the graph has no %u references to the user object", count);
}
