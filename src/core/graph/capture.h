/*
 * Stream capture (capture.c, capture_rules.c): what is given to a capturing stream becomes nodes
 * of a graph.
 *
 * A capture begins in one stream, its origin. Other streams join it when they wait for an event
 * that was recorded in it, and all leave it when it ends in the origin, to which all work must lead
 * back by then. Each stream of a capture has a set of nodes that the next one depends on; an event
 * that is recorded there gets a copy of the set, a capture point, in place of a position.
 *
 * Everything here is under core_graph_lock, but stream->capture and event->point, which may be
 * looked at without it: nobody but the stream's own calls depends on them.
 */
#ifndef HD_CORE_GRAPH_CAPTURE_H
#define HD_CORE_GRAPH_CAPTURE_H

#include "core/graph/graph.h"

/* Numbers are the API's. */
enum core_capture_mode { CORE_CAPTURE_GLOBAL, CORE_CAPTURE_THREAD_LOCAL, CORE_CAPTURE_RELAXED };
enum core_capture_status { CORE_CAPTURE_NONE, CORE_CAPTURE_ACTIVE, CORE_CAPTURE_INVALIDATED };

/* A vector, with references. */
struct core_capture_set {
    struct core_edge *at;
    size_t len, cap;
};

struct core_capture {
    uint64_t id;
    struct core_graph *graph; /* a reference; is_capturing */
    bool is_own;              /* the graph was made for it */
    bool is_invalid;
    enum core_capture_mode mode;
    pthread_t thread;            /* where it began */
    struct core_stream *origin;  /* leaves it before it is gone */
    struct core_stream *streams; /* by capture_next */
    struct core_capture *next, **link;
};

struct core_capture_point {
    uint64_t capture; /* its id; it may have ended */
    struct core_capture_set set;
};

/* What a stream has of its capture: made when it first joins one. */
struct core_capture_end {
    struct core_capture_set set;
    HD_VEC(void *) handles; /* of the set, as they were last asked for */
    HD_VEC(struct core_edge_data) data;
};

/* `graph` NULL: a new one. HD_CAPTURE_FORBIDS: the legacy stream; HD_BAD_STATE: it is capturing. */
enum hd_status core_capture_begin(struct core_stream *stream, enum core_capture_mode mode,
                                  struct core_graph *graph, struct core_node *const *from,
                                  const struct core_edge_data *data, size_t n) HD_MUST_CHECK;
/*
 * *out_graph: with a reference; NULL when the capture has failed, which ends it too. HD_BAD_STATE,
 * HD_CAPTURE_UNMATCHED, HD_CAPTURE_THREAD: it goes on; HD_CAPTURE_INVALID, HD_CAPTURE_UNJOINED.
 */
enum hd_status core_capture_end(struct core_stream *stream, struct core_graph **out_graph)
    HD_MUST_CHECK;
/* Is the stream capturing, into a graph that nobody else knows? */
bool core_capture_makes_graph(const struct core_stream *stream);
/* The stream is about to go: its capture, if it has one, can only fail. */
void core_capture_abandon(struct core_stream *stream);

struct core_capture_info {
    enum core_capture_status status;
    uint64_t id;
    struct core_graph *graph; /* borrowed: for its handle */
    void *const *nodes;       /* handles; valid until the stream is used again */
    const struct core_edge_data *data;
    size_t n;
    bool has_data;
};
enum hd_status core_capture_info(struct core_stream *stream, struct core_capture_info *out_info)
    HD_MUST_CHECK;
/* `set`: in place of what there is, else in addition. */
enum hd_status core_capture_update(struct core_stream *stream, struct core_node *const *from,
                                   const struct core_edge_data *data, size_t n, bool set)
    HD_MUST_CHECK;

/* Makes the body, which is taken over, the next node of a capturing stream. */
enum hd_status core_capture_add(struct core_stream *stream, struct core_body *body) HD_MUST_CHECK;
/* A capturing stream gets an executable graph: a child node. */
enum hd_status core_capture_exec(struct core_stream *stream, struct core_exec *exec) HD_MUST_CHECK;
/* Recording in a capturing stream; `external`: as a node. */
enum hd_status core_capture_record(struct core_stream *stream, struct core_event *event,
                                   bool external) HD_MUST_CHECK;
/* *out_done: it was done here, because the stream or the event's recording is captured. */
enum hd_status core_capture_wait(struct core_stream *stream, struct core_event *event,
                                 bool external, bool *out_done) HD_MUST_CHECK;
/* The event is recorded outside of captures. */
void core_capture_point_drop(struct core_event *event);
/* The event is gone, or the stream: nobody has a reference. */
void core_capture_event_fini(struct core_event *event);
void core_capture_stream_fini(struct core_stream *stream);

/* ---- what cannot be captured (capture_rules.c) */

/* Captures that are under way, in all contexts. */
extern _Atomic unsigned core_captures;
static inline bool core_capture_any(void)
{
    return HD_UNLIKELY(atomic_load_explicit(&core_captures, memory_order_relaxed) != 0);
}
static inline bool core_stream_is_capturing(const struct core_stream *stream)
{
    return HD_UNLIKELY(atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL);
}
/*
 * What cannot be captured fails, and the captures that it touches with it: work or waiting in a
 * capturing stream, in the legacy stream while a blocking one is capturing, for the whole context.
 */
enum hd_status core_capture_refuse_stream(struct core_stream *stream) HD_MUST_CHECK;
/*
 * The same for whatever reaches a stream's queue, or would on hardware, and was not captured. Takes
 * the lock of graphs only to refuse: captures of other streams hold no launch up.
 */
enum hd_status core_capture_check_stream(struct core_stream *stream) HD_MUST_CHECK;
enum hd_status core_capture_refuse_context(struct core_context *ctx) HD_MUST_CHECK;
enum hd_status core_capture_refuse_event(struct core_event *event) HD_MUST_CHECK;
/* Calls that may break a capture, as memory allocation may: who forbids them depends on modes. */
enum hd_status core_capture_refuse_unsafe(void) HD_MUST_CHECK;
/* The thread's mode; returns what it was. */
enum core_capture_mode core_capture_mode_exchange(enum core_capture_mode mode);

/* ---- between the two files */

extern struct core_capture *core_capture_list; /* all of core_captures */
/* By its id; NULL: it has ended. */
struct core_capture *core_capture_find_locked(uint64_t id);
/* What the stream is part of, or NULL. */
static inline struct core_capture *core_capture_of_locked(const struct core_stream *stream)
{
    assert(hd_lock_held(&core_graph_lock));
    return atomic_load_explicit(&stream->capture, memory_order_relaxed);
}

#endif
