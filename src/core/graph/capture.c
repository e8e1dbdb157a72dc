/* Stream capture: nodes of what streams are given. */
#include "core/graph/capture.h"

#include <assert.h>

#include "base/list.h"
#include "base/mem.h"
#include "core/stream/event.h"
#include "core/stream/stream_parts.h"

/* ---- sets of nodes */

static void capture_set_clear(struct core_capture_set *set)
{
    while (set->len)
        core_node_unref(hd_vec_pop(set).node);
}

static bool capture_set_has(const struct core_capture_set *set, const struct core_node *node)
{
    for (size_t i = 0; i < set->len; i++)
        if (set->at[i].node == node)
            return true;
    return false;
}

/* Nodes that the program destroyed meanwhile are left out. */
static enum hd_status capture_set_add(struct core_capture_set *set, const struct core_edge *edges,
                                      size_t n)
{
    if (!hd_vec_reserve(set, set->len + n))
        return hd_error(HD_NO_MEMORY, "stream capture");
    for (size_t i = 0; i < n; i++)
        if (edges[i].node->graph && !capture_set_has(set, edges[i].node)) {
            core_node_ref(edges[i].node);
            set->at[set->len++] = edges[i];
        }
    return HD_OK;
}

static enum hd_status capture_set_add_nodes(struct core_capture_set *set,
                                            struct core_node *const *nodes,
                                            const struct core_edge_data *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct core_edge edge = {.node = nodes[i]};

        if (data)
            edge.data = data[i];
        HD_TRY(capture_set_add(set, &edge, 1));
    }
    return HD_OK;
}

/* ---- streams of a capture */

static enum hd_status capture_stream_join(struct core_stream *stream, struct core_capture *capture)
{
    if (!stream->captured)
        stream->captured = hd_new(struct core_capture_end);
    if (!stream->captured)
        return hd_error(HD_NO_MEMORY, "stream capture");
    if (core_stream_is_blocking(stream))
        atomic_fetch_add(&stream->ctx->ncapturing, 1);
    stream->capture_next = capture->streams;
    capture->streams = stream;
    atomic_store_explicit(&stream->capture, capture, memory_order_release);
    return HD_OK;
}

static void capture_stream_leave(struct core_stream *stream)
{
    struct core_capture *capture = core_capture_of_locked(stream);
    struct core_stream **at = &capture->streams;

    while (*at != stream)
        at = &(*at)->capture_next;
    *at = stream->capture_next;
    if (core_stream_is_blocking(stream))
        atomic_fetch_sub(&stream->ctx->ncapturing, 1);
    capture_set_clear(&stream->captured->set);
    atomic_store_explicit(&stream->capture, NULL, memory_order_release);
}

void core_capture_stream_fini(struct core_stream *stream)
{
    if (!stream->captured)
        return;
    assert(!stream->captured->set.len);
    hd_vec_fini(&stream->captured->set);
    hd_vec_fini(&stream->captured->handles);
    hd_vec_fini(&stream->captured->data);
    hd_free(stream->captured);
}

/* ---- life */

/* The graph's reference goes to the caller. */
static struct core_graph *capture_destroy(struct core_capture *capture)
{
    struct core_graph *graph = capture->graph;

    while (capture->streams)
        capture_stream_leave(capture->streams);
    graph->is_capturing = false;
    hd_list_remove(capture);
    atomic_fetch_sub(&core_captures, 1);
    hd_free(capture);
    return graph;
}

/* Without a graph. The lock is not held: references of graphs go. */
static void capture_graph_drop(struct core_graph *graph, bool is_own)
{
    if (is_own)
        (void)core_graph_destroy(graph); /* the program may have been first */
    core_graph_unref(graph);
}

static enum hd_status capture_check_from(const struct core_graph *graph,
                                         struct core_node *const *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (from[i]->graph != graph)
            return hd_error(HD_BAD_ARG, "dependency %zu is not a node of the captured graph", i);
    return HD_OK;
}

static enum hd_status capture_begin_locked(struct core_stream *stream, struct core_capture *capture,
                                           struct core_node *const *from,
                                           const struct core_edge_data *data, size_t n)
{
    static uint64_t last_id;

    if (stream == stream->ctx->legacy)
        return hd_error(HD_CAPTURE_FORBIDS, "the legacy stream cannot be captured");
    if (core_capture_of_locked(stream))
        return hd_error(HD_BAD_STATE, "the stream is capturing already");
    HD_TRY(core_graph_check_locked(capture->graph));
    if (capture->graph->is_capturing)
        return hd_error(HD_BAD_STATE, "another capture adds to the graph");
    HD_TRY(capture_check_from(capture->graph, from, n));
    HD_TRY(capture_stream_join(stream, capture));
    capture->id = ++last_id;
    capture->origin = stream;
    capture->thread = pthread_self();
    capture->graph->is_capturing = true;
    hd_list_push(&core_capture_list, capture);
    atomic_fetch_add(&core_captures, 1);
    return capture_set_add_nodes(&stream->captured->set, from, data, n);
}

enum hd_status core_capture_begin(struct core_stream *stream, enum core_capture_mode mode,
                                  struct core_graph *graph, struct core_node *const *from,
                                  const struct core_edge_data *data, size_t n)
{
    struct core_capture *capture = hd_new(struct core_capture);
    enum hd_status status = HD_OK;

    if (!capture)
        return hd_error(HD_NO_MEMORY, "stream capture");
    capture->mode = mode;
    capture->is_own = !graph;
    if (graph)
        capture->graph = core_graph_ref(graph);
    else
        status = core_graph_create(&capture->graph);
    if (status != HD_OK) {
        hd_free(capture);
        return status;
    }
    hd_lock_acquire(&core_graph_lock);
    status = capture_begin_locked(stream, capture, from, data, n);
    if (status == HD_OK) {
        hd_lock_release(&core_graph_lock);
        return HD_OK;
    }
    graph = capture->graph;
    n = capture->is_own;
    if (capture->link)
        (void)capture_destroy(capture);
    else
        hd_free(capture);
    hd_lock_release(&core_graph_lock);
    capture_graph_drop(graph, n);
    return status;
}

/* What marked nodes depend on; did that mark more? Captured nodes stand behind what they need. */
static bool capture_mark_back(const struct core_graph *graph)
{
    bool more = false;

    for (size_t i = graph->nodes.len; i-- > 0;) {
        const struct core_node *node = graph->nodes.at[i];

        for (size_t k = 0; k < node->from.len && node->mark; k++) {
            more |= !node->from.at[k].node->mark;
            node->from.at[k].node->mark = 1;
        }
    }
    return more;
}

/* Marks what leads to the origin. */
static void capture_mark_joined(const struct core_capture *capture)
{
    const struct core_capture_set *end = &capture->origin->captured->set;

    for (size_t i = 0; i < capture->graph->nodes.len; i++)
        capture->graph->nodes.at[i]->mark = 0;
    for (size_t i = 0; i < end->len; i++)
        end->at[i].node->mark = 1;
    while (capture_mark_back(capture->graph))
        ;
}

/* After capture_mark_joined(): does all that the stream was given? */
static bool capture_stream_is_joined(const struct core_stream *stream)
{
    const struct core_capture_set *set = &stream->captured->set;

    for (size_t i = 0; i < set->len; i++)
        if (set->at[i].node->graph && !set->at[i].node->mark)
            return false;
    return true;
}

static enum hd_status capture_check_end(const struct core_stream *stream,
                                        const struct core_capture *capture)
{
    if (!capture)
        return hd_error(HD_BAD_STATE, "the stream is not capturing");
    if (capture->origin != stream)
        return hd_error(HD_CAPTURE_UNMATCHED, "the capture began in another stream");
    if (capture->mode != CORE_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return hd_error(HD_CAPTURE_THREAD, "the capture began in another thread");
    return HD_OK;
}

static enum hd_status capture_check_result(const struct core_capture *capture)
{
    if (capture->is_invalid)
        return hd_error(HD_CAPTURE_INVALID, "an operation failed during the capture");
    capture_mark_joined(capture);
    for (const struct core_stream *s = capture->streams; s; s = s->capture_next)
        if (!capture_stream_is_joined(s))
            return hd_error(HD_CAPTURE_UNJOINED, "a forked stream was not joined to the first one");
    return HD_OK;
}

enum hd_status core_capture_end(struct core_stream *stream, struct core_graph **out_graph)
{
    struct core_capture *capture;
    struct core_graph *graph;
    enum hd_status status;
    bool is_own;

    *out_graph = NULL;
    hd_lock_acquire(&core_graph_lock);
    capture = core_capture_of_locked(stream);
    status = capture_check_end(stream, capture);
    if (status != HD_OK) {
        hd_lock_release(&core_graph_lock);
        return status;
    }
    status = capture_check_result(capture);
    is_own = capture->is_own;
    graph = capture_destroy(capture);
    hd_lock_release(&core_graph_lock);
    if (status == HD_OK)
        *out_graph = graph;
    else
        capture_graph_drop(graph, is_own);
    return status;
}

bool core_capture_makes_graph(const struct core_stream *stream)
{
    bool makes;

    hd_lock_acquire(&core_graph_lock);
    makes = core_capture_of_locked(stream) && core_capture_of_locked(stream)->is_own;
    hd_lock_release(&core_graph_lock);
    return makes;
}

void core_capture_abandon(struct core_stream *stream)
{
    struct core_graph *graph = NULL;
    struct core_capture *capture;
    bool is_own = false;

    if (!core_stream_is_capturing(stream))
        return;
    hd_lock_acquire(&core_graph_lock);
    capture = core_capture_of_locked(stream);
    if (capture && capture->origin == stream) {
        is_own = capture->is_own;
        graph = capture_destroy(capture);
    } else if (capture) { /* a stream may go once all it was given leads back */
        capture_mark_joined(capture);
        capture->is_invalid |= !capture_stream_is_joined(stream);
        capture_stream_leave(stream);
    }
    hd_lock_release(&core_graph_lock);
    if (graph)
        capture_graph_drop(graph, is_own);
}

/* ---- adding */

static enum hd_status capture_check_valid(const struct core_capture *capture)
{
    if (!capture)
        return hd_error(HD_BAD_STATE, "the stream is not capturing");
    return capture->is_invalid
               ? hd_error(HD_CAPTURE_INVALID, "an operation failed during the capture")
               : HD_OK;
}

static enum hd_status capture_connect(const struct core_capture_set *set, struct core_node *node)
{
    for (size_t i = 0; i < set->len; i++)
        if (set->at[i].node->graph)
            HD_TRY(
                core_edges_add_locked(node->graph, &set->at[i].node, &node, &set->at[i].data, 1));
    return HD_OK;
}

/* Takes the body over. */
static enum hd_status capture_add_locked(struct core_stream *stream, struct core_body *body)
{
    struct core_capture *capture = core_capture_of_locked(stream);
    enum hd_status status = capture_check_valid(capture);
    struct core_node *node;

    if (status != HD_OK) {
        core_body_fini_locked(body);
        return status;
    }
    status = core_node_add_locked(capture->graph, body, NULL, NULL, 0, &node);
    if (status == HD_OK)
        status = capture_connect(&stream->captured->set, node);
    if (status == HD_OK) {
        const struct core_edge edge = {.node = node};
        capture_set_clear(&stream->captured->set);
        status = capture_set_add(&stream->captured->set, &edge, 1);
    }
    capture->is_invalid = status != HD_OK;
    return status;
}

enum hd_status core_capture_add(struct core_stream *stream, struct core_body *body)
{
    enum hd_status status;

    hd_lock_acquire(&core_graph_lock);
    status = capture_add_locked(stream, body);
    hd_lock_release(&core_graph_lock);
    return status;
}

enum hd_status core_capture_exec(struct core_stream *stream, struct core_exec *exec)
{
    struct core_body body;
    enum hd_status status;

    hd_lock_acquire(&exec->lock);
    hd_lock_acquire(&core_graph_lock);
    status = core_body_child_locked(exec->graph, &body);
    if (status == HD_OK)
        status = capture_add_locked(stream, &body);
    hd_lock_release(&core_graph_lock);
    hd_lock_release(&exec->lock);
    return status;
}

/* ---- events */

static void capture_point_free(struct core_capture_point *point)
{
    if (!point)
        return;
    capture_set_clear(&point->set);
    hd_vec_fini(&point->set);
    hd_free(point);
}

void core_capture_event_fini(struct core_event *event)
{
    capture_point_free(atomic_exchange(&event->point, NULL));
}

void core_capture_point_drop(struct core_event *event)
{
    if (HD_LIKELY(!atomic_load_explicit(&event->point, memory_order_acquire)))
        return;
    hd_lock_acquire(&core_graph_lock);
    core_capture_event_fini(event);
    hd_lock_release(&core_graph_lock);
}

static enum hd_status capture_record_locked(struct core_stream *stream, struct core_event *event)
{
    struct core_capture *capture = core_capture_of_locked(stream);
    struct core_capture_point *point;
    enum hd_status status = capture_check_valid(capture);

    HD_TRY(status);
    point = hd_new(struct core_capture_point);
    if (!point)
        return hd_error(HD_NO_MEMORY, "recording of an event");
    point->capture = capture->id;
    status = capture_set_add(&point->set, stream->captured->set.at, stream->captured->set.len);
    if (status != HD_OK)
        capture_point_free(point);
    else
        capture_point_free(atomic_exchange(&event->point, point));
    return status;
}

enum hd_status core_capture_record(struct core_stream *stream, struct core_event *event,
                                   bool external)
{
    struct core_body body;
    enum hd_status status;

    hd_lock_acquire(&core_graph_lock);
    if (external) {
        body = core_body_event(CORE_NODE_RECORD, event);
        status = capture_add_locked(stream, &body);
    } else {
        status = capture_record_locked(stream, event);
    }
    hd_lock_release(&core_graph_lock);
    return status;
}

/* The stream comes to a point of another stream's capture, or of its own. */
static enum hd_status capture_join_locked(struct core_stream *stream,
                                          const struct core_capture_point *point)
{
    struct core_capture *its = core_capture_of_locked(stream),
                        *other = core_capture_find_locked(point->capture);

    if (!other) {
        if (its)
            its->is_invalid = true;
        return hd_error(HD_CAPTURED_EVENT, "the event was recorded in a capture that has ended");
    }
    HD_TRY(capture_check_valid(other));
    if (its && its != other) {
        its->is_invalid = other->is_invalid = true;
        return hd_error(HD_CAPTURE_MERGE, "the event was recorded in another capture");
    }
    if (stream == stream->ctx->legacy) {
        other->is_invalid = true;
        return hd_error(HD_CAPTURE_IMPLICIT, "the legacy stream waits for a captured event");
    }
    if (!its)
        HD_TRY(capture_stream_join(stream, other));
    return capture_set_add(&stream->captured->set, point->set.at, point->set.len);
}

static enum hd_status capture_wait_locked(struct core_stream *stream, struct core_event *event,
                                          bool external)
{
    const struct core_capture_point *point = atomic_load(&event->point);
    struct core_body body;

    if (external && core_capture_of_locked(stream)) {
        body = core_body_event(CORE_NODE_WAIT, event);
        return capture_add_locked(stream, &body);
    }
    if (point)
        return capture_join_locked(stream, point);
    core_capture_of_locked(stream)->is_invalid = true;
    return hd_error(HD_CAPTURE_ISOLATION,
                    "a capturing stream waits for an event that was not recorded in the capture");
}

enum hd_status core_capture_wait(struct core_stream *stream, struct core_event *event,
                                 bool external, bool *out_done)
{
    enum hd_status status = HD_OK;

    hd_lock_acquire(&core_graph_lock);
    *out_done = core_capture_of_locked(stream) || atomic_load(&event->point);
    if (*out_done)
        status = capture_wait_locked(stream, event, external);
    hd_lock_release(&core_graph_lock);
    return status;
}

/* ---- questions */

static enum hd_status capture_info_fill(struct core_capture_end *end,
                                        struct core_capture_info *info)
{
    size_t n = end->set.len;

    end->handles.len = end->data.len = 0;
    if (!hd_vec_reserve(&end->handles, n + 1) || !hd_vec_reserve(&end->data, n + 1))
        return hd_error(HD_NO_MEMORY, "stream capture");
    for (size_t i = 0; i < n; i++) {
        static const struct core_edge_data plain;
        const struct core_edge *edge = &end->set.at[i];

        end->handles.at[i] = core_node_handle(edge->node);
        end->data.at[i] = edge->data;
        info->has_data |= memcmp(&edge->data, &plain, sizeof(plain)) != 0;
    }
    info->nodes = end->handles.at;
    info->data = end->data.at;
    info->n = n;
    return HD_OK;
}

static enum hd_status capture_info_locked(struct core_stream *stream,
                                          struct core_capture_info *info)
{
    const struct core_capture *capture = core_capture_of_locked(stream);

    if (stream == stream->ctx->legacy && atomic_load(&stream->ctx->ncapturing))
        return hd_error(HD_CAPTURE_IMPLICIT, "a blocking stream is capturing");
    if (!capture)
        return HD_OK;
    info->status = capture->is_invalid ? CORE_CAPTURE_INVALIDATED : CORE_CAPTURE_ACTIVE;
    info->id = capture->id;
    info->graph = capture->graph;
    return capture->is_invalid ? HD_OK : capture_info_fill(stream->captured, info);
}

enum hd_status core_capture_info(struct core_stream *stream, struct core_capture_info *out_info)
{
    enum hd_status status;

    *out_info = (struct core_capture_info){.status = CORE_CAPTURE_NONE};
    if (!core_capture_any())
        return HD_OK;
    hd_lock_acquire(&core_graph_lock);
    status = capture_info_locked(stream, out_info);
    hd_lock_release(&core_graph_lock);
    return status;
}

static enum hd_status capture_update_locked(struct core_stream *stream,
                                            struct core_node *const *from,
                                            const struct core_edge_data *data, size_t n, bool set)
{
    struct core_capture *capture = core_capture_of_locked(stream);

    HD_TRY(capture_check_valid(capture));
    HD_TRY(capture_check_from(capture->graph, from, n));
    if (set)
        capture_set_clear(&stream->captured->set);
    return capture_set_add_nodes(&stream->captured->set, from, data, n);
}

enum hd_status core_capture_update(struct core_stream *stream, struct core_node *const *from,
                                   const struct core_edge_data *data, size_t n, bool set)
{
    enum hd_status status;

    hd_lock_acquire(&core_graph_lock);
    status = capture_update_locked(stream, from, data, n, set);
    hd_lock_release(&core_graph_lock);
    return status;
}
