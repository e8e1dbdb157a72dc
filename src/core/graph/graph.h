/*
 * Graphs: nodes and edges that a program describes once (graph.c, graph_body.c, graph_clone.c), and
 * executable graphs made of them: a program of packets that a launch copies into a stream's ring
 * (graph_exec.c, graph_program.c, graph_run.c).
 *
 *     core_graph ── core_node* ── core_body (parameters) ── core_graph, of a child node
 *                        └── edges to and from other nodes of the same graph
 *     core_exec ── core_graph (a copy, not published) ── core_program: packets in order
 *
 * Owners: the program owns graphs, and executable graphs; a graph owns its nodes, a child node its
 * graph. Everything that nodes name (functions, events) is referenced by their bodies. An
 * executable graph shares nothing with the graph it was made from; its nodes remember the numbers
 * of those they were copied from.
 *
 * Threads: CUDA leaves it to the program to order its calls on one graph; core_graph_lock keeps
 * Heddle's own data whole when it does not. Functions called _locked want it held, all others of
 * core_graph_, core_node_ and core_exec_ take it. It is outside of every context's lock, so
 * references may be dropped under it, but those of graphs and executable graphs.
 */
#ifndef HD_CORE_GRAPH_GRAPH_H
#define HD_CORE_GRAPH_GRAPH_H

#include <assert.h>

#include "core/stream/copy.h"
#include "core/stream/extsem.h"
#include "core/stream/launch.h"
#include "core/stream/stream.h"
#include "heddle/tap.h"

extern struct hd_lock core_graph_lock;

/* Numbers are the API's. */
#define CORE_NODE_LIST(X)                                                                          \
    X(KERNEL, 0, kernel, "KERNEL")                                                                 \
    X(COPY, 1, copy, "MEMCPY")                                                                     \
    X(FILL, 2, fill, "MEMSET")                                                                     \
    X(HOST, 3, host, "HOST")                                                                       \
    X(CHILD, 4, child, "GRAPH")                                                                    \
    X(EMPTY, 5, empty, "EMPTY")                                                                    \
    X(WAIT, 6, event, "EVENT_WAIT")                                                                \
    X(RECORD, 7, event, "EVENT_RECORD")                                                            \
    X(SIGNAL_SEMAPHORES, 8, semaphores, "EXT_SEMAS_SIGNAL")                                        \
    X(WAIT_SEMAPHORES, 9, semaphores, "EXT_SEMAS_WAIT")                                            \
    X(ALLOC, 10, memory, "MEM_ALLOC")                                                              \
    X(FREE, 11, memory, "MEM_FREE")                                                                \
    X(BATCH, 12, batch, "BATCH_MEM_OP")                                                            \
    X(CONDITIONAL, 13, conditional, "CONDITIONAL")

enum core_node_type {
#define X(NAME, value, body, text) CORE_NODE_##NAME = (value),
    CORE_NODE_LIST(X)
#undef X
};

static inline bool core_node_has_semaphores(enum core_node_type type)
{
    return type == CORE_NODE_SIGNAL_SEMAPHORES || type == CORE_NODE_WAIT_SEMAPHORES;
}

/* The API's edge data. Everything but 0 allows overlap that order by queue does not need. */
struct core_edge_data {
    uint8_t from_port, to_port, type, reserved[5];
};

struct core_edge {
    struct core_node *node; /* the other end */
    struct core_edge_data data;
};

/* ---- what a node does */

/* Attributes of a kernel node; numbers and values are the API's. */
#define CORE_NODE_ATTRIBUTES CORE_STREAM_ATTRIBUTE_MAX

struct core_body_kernel {
    struct core_function *function; /* a reference */
    void *handle;                   /* what the program named it by: a function's or a kernel's */
    struct core_launch launch;      /* params and buffer point into `block` */
    uint8_t *block;                 /* packed parameters, then the pointers to them */
    uint32_t attribute_mask;
    uint8_t (*attributes)[CORE_STREAM_ATTRIBUTE_B]; /* by number; NULL: none was set */
    struct core_device_node *device_node; /* a reference; NULL: only the host changes it */
};

#define CORE_COPY_TEXT_B 256

struct core_body_copy {
    struct core_context *ctx; /* a reference; of a fill too, in the same place */
    struct core_copy copy;
    uint8_t *said; /* CORE_COPY_TEXT_B bytes: what the API was given; NULL: nothing */
};

struct core_body_fill {
    struct core_context *ctx;
    uint64_t dst, pitch_B;
    uint32_t value, elem_B;
    uint64_t width, height;
};

struct core_body_host {
    void (*func)(void *);
    void *arg;
};

/* Operations of a stream on memory. */
struct core_body_batch {
    struct core_context *ctx; /* a reference */
    struct core_mem_op *ops;
    union hal_packet *packets; /* that do them */
    uint8_t *said; /* n times CORE_MEM_OP_TEXT_B: room for the API to tell them; or NULL */
    unsigned n;
};

#define CORE_MEM_OP_TEXT_B 48

struct core_graph_memory;
struct core_condition;

struct core_body_conditional {
    struct core_condition *condition; /* a reference (graph_condition.h) */
    int kind;                         /* enum core_condition_kind */
    size_t n;
    struct core_graph **graphs; /* owned */
    void **handles;             /* theirs, for the program, behind them */
};

struct core_body {
    enum core_node_type type;
    bool is_offered; /* CHILD: the program's graph, until the node is there */
    union {
        struct core_body_kernel kernel;
        struct core_body_copy copy;
        struct core_body_fill fill;
        struct core_body_host host;
        struct core_graph *child;         /* owned */
        struct core_event *event;         /* a reference */
        struct core_graph_memory *memory; /* a reference (graph_memory.h) */
        struct core_body_batch batch;
        struct core_extsem_ops semaphores; /* own; run anywhere */
        struct core_body_conditional conditional;
    };
};

/*
 * These check as a launch, a copy ... would, and copy all that they are given; nothing is left
 * behind on failure. core_body_fini() frees what they made.
 */
enum hd_status core_body_kernel(struct core_function *function, void *handle,
                                const struct core_launch *launch, struct core_body *out_body)
    HD_MUST_CHECK;
/* `said`: CORE_COPY_TEXT_B bytes, or NULL. */
enum hd_status core_body_copy(struct core_context *ctx, const struct core_copy *copy,
                              const void *said, struct core_body *out_body) HD_MUST_CHECK;
enum hd_status core_body_fill(struct core_context *ctx, const struct core_body_fill *fill,
                              struct core_body *out_body) HD_MUST_CHECK;
struct core_body core_body_host(void (*func)(void *), void *arg);
struct core_body core_body_event(enum core_node_type type, struct core_event *event);
enum hd_status core_body_batch(struct core_context *ctx, const struct core_mem_op *ops, unsigned n,
                               struct core_body *out_body) HD_MUST_CHECK;
/* Its type says whether they signal. */
enum hd_status core_body_semaphores(const struct core_extsem_ops *ops, struct core_body *out_body)
    HD_MUST_CHECK;
/* Takes a reference. */
struct core_body core_body_memory(enum core_node_type type, struct core_graph_memory *memory);
/* With n empty graphs. HD_BAD_ARG: the condition has a node already. */
enum hd_status core_body_conditional_locked(struct core_condition *condition, int kind, size_t n,
                                            struct core_body *out_body) HD_MUST_CHECK;
/* The graphs inside of it. */
static inline struct core_graph *const *core_body_graphs(const struct core_body *body,
                                                         size_t *out_n)
{
    *out_n = body->type == CORE_NODE_CHILD         ? 1
             : body->type == CORE_NODE_CONDITIONAL ? body->conditional.n
                                                   : 0;
    return body->type == CORE_NODE_CHILD ? &body->child : body->conditional.graphs;
}
/* A copy of the graph. HD_BAD_ARG: it was moved into another. */
enum hd_status core_body_child_locked(const struct core_graph *graph, struct core_body *out_body)
    HD_MUST_CHECK;
/* The graph itself, which becomes part of `parent` with the node, or the program's again. */
enum hd_status core_body_moved_locked(struct core_graph *graph, const struct core_graph *parent,
                                      struct core_body *out_body) HD_MUST_CHECK;
enum hd_status core_body_clone_locked(const struct core_body *body, struct core_body *out_body)
    HD_MUST_CHECK;
void core_body_fini_locked(struct core_body *body);
void core_body_fini(struct core_body *body);
/* The context its work belongs to, or NULL: it may run anywhere. */
struct core_context *core_body_context(const struct core_body *body);

enum hd_status core_body_attribute_set(struct core_body_kernel *kernel, unsigned number,
                                       const void *value) HD_MUST_CHECK;
/* From here on kernels may change the node. */
enum hd_status core_body_make_updatable(struct core_body_kernel *kernel) HD_MUST_CHECK;
void core_body_attribute_get(const struct core_body_kernel *kernel, unsigned number,
                             void *out_value);

/* ---- nodes and graphs (graph.c, graph_clone.c) */

struct core_node {
    struct core_object object;
    struct core_graph *graph; /* NULL: it was destroyed */
    struct core_body body;
    uint64_t id;     /* never reused */
    uint64_t origin; /* id of what it was copied from, or 0 */
    void *handle;    /* of that, or its own */
    size_t index;    /* in graph->nodes */
    bool is_disabled;
    uint32_t mark; /* of whoever walks the graph: unfinished predecessors, depth */
    HD_VEC(struct core_edge) from;
    HD_VEC(struct core_edge) to;
};

struct core_user_object;

struct core_graph_user {
    struct core_user_object *object;
    unsigned count;
};

struct core_graph {
    struct core_object object;
    uint64_t id;
    uint64_t origin;         /* id of the graph it was cloned from, or 0 */
    struct core_node *owner; /* the child node that it belongs to, or NULL */
    bool is_capturing;       /* streams add to it */
    bool is_moved;           /* the program made it, and gave it to `owner` */
    HD_VEC(struct core_node *) nodes;
    HD_VEC(struct core_graph_user) users;
    HD_VEC(struct core_condition *) conditions; /* references */
};

enum hd_status core_graph_create(struct core_graph **out_graph) HD_MUST_CHECK;
/* Nodes, too. False: it is a child, or another thread was first. */
bool core_graph_destroy(struct core_graph *graph);
/* HD_BAD_ARG: it was destroyed meanwhile. */
static inline HD_MUST_CHECK enum hd_status core_graph_check_locked(const struct core_graph *graph)
{
    assert(hd_lock_held(&core_graph_lock));
    return core_graph_is_live(graph) ? HD_OK : hd_error(HD_BAD_ARG, "the graph was destroyed");
}
enum hd_status core_node_check_locked(const struct core_node *node) HD_MUST_CHECK;

/*
 * Takes the body over, also on failure. `data` NULL: plain edges. HD_BAD_ARG when a node is not of
 * the graph or given twice, or for edge data that means nothing.
 */
enum hd_status core_node_add_locked(struct core_graph *graph, struct core_body *body,
                                    struct core_node *const *from,
                                    const struct core_edge_data *data, size_t n,
                                    struct core_node **out_node) HD_MUST_CHECK;
/* The node's own reference goes; edges with it. */
void core_node_remove_locked(struct core_node *node);
/* All or none. HD_BAD_ARG: other graphs, the node itself, an edge that exists or does not. */
enum hd_status core_edges_add_locked(struct core_graph *graph, struct core_node *const *from,
                                     struct core_node *const *to, const struct core_edge_data *data,
                                     size_t n) HD_MUST_CHECK;
enum hd_status core_edges_remove_locked(struct core_graph *graph, struct core_node *const *from,
                                        struct core_node *const *to,
                                        const struct core_edge_data *data, size_t n) HD_MUST_CHECK;
size_t core_edges_count_locked(const struct core_graph *graph);
/* Gives a node another body of its type, which is taken over if it can be; attributes stay. */
enum hd_status core_node_body_set_locked(struct core_node *node, struct core_body *body)
    HD_MUST_CHECK;
/*
 * Every node behind all it depends on; roots first, and whole levels together. `out_order` has room
 * for all nodes; `mark` is the level. HD_BAD_ARG: there is a cycle. The caller keeps the graph
 * still.
 */
enum hd_status core_graph_order(struct core_graph *graph, struct core_node **out_order)
    HD_MUST_CHECK;
/* Has it nodes that allocate or free memory? Then nodes and edges stay, and there are no copies. */
bool core_graph_has_memory_locked(const struct core_graph *graph);
/* The node copied from `original`, NULL when there is none. */
struct core_node *core_graph_find_locked(const struct core_graph *graph, uint64_t origin);
/* `publish`: handles are wanted; a copy that is inside of something needs none. */
enum hd_status core_graph_clone_locked(const struct core_graph *graph, bool publish,
                                       struct core_graph **out_graph) HD_MUST_CHECK;
/* Of a clone that was not published, or not handed out. */
void core_graph_discard_locked(struct core_graph *graph);

/* ---- user objects (user_object.c): what a program wants to outlive the graphs that use it */

struct core_user_object {
    struct core_object object;
    void (*destroy)(void *);
    void *arg;
    _Atomic uint64_t count; /* of the program and of graphs; at 0 destroy(arg) runs */
};

enum hd_status core_user_object_create(void (*destroy)(void *), void *arg, unsigned count,
                                       struct core_user_object **out_object) HD_MUST_CHECK;
enum hd_status core_user_object_retain(struct core_user_object *object, unsigned count)
    HD_MUST_CHECK;
/* May run the destructor: no lock is held. HD_BAD_ARG: more than there are. */
enum hd_status core_user_object_release(struct core_user_object *object, unsigned count)
    HD_MUST_CHECK;
/* `move`: the caller's references become the graph's. */
enum hd_status core_graph_user_retain(struct core_graph *graph, struct core_user_object *object,
                                      unsigned count, bool move) HD_MUST_CHECK;
enum hd_status core_graph_user_release(struct core_graph *graph, struct core_user_object *object,
                                       unsigned count) HD_MUST_CHECK;
/* Gives back what a graph had; without a lock. */
void core_users_release(struct core_graph_user *users, size_t n);

/* ---- executable graphs (graph_exec.c, graph_exec_node.c, graph_update.c, graph_program.c) */

/* A conditional node: each run of it that is over counts; the queue of a launch waits for it. */
struct core_join {
    uint64_t joined; /* waits that were submitted */
    _Atomic uint64_t done;
};

/* One thing of a launch. */
struct core_step {
    enum {
        CORE_STEP_PACKETS,
        CORE_STEP_DISPATCH,
        CORE_STEP_RECORD,
        CORE_STEP_WAIT,
        CORE_STEP_SEMAPHORES,
        CORE_STEP_JOIN
    } kind;
    uint32_t first, count; /* packets */
    const void *params;    /* of a dispatch whose parameters do not fit its packet */
    uint32_t params_B;
    struct core_event *event;                 /* of the node's body */
    const struct core_extsem_ops *semaphores; /* of the node's body */
    struct core_join *join;                   /* of a branch */
};

/* A kernel that the device must be able to run in blocks of this size (kernel_prepare). */
struct core_need {
    struct hal_kernel *kernel;
    uint32_t grid[3], block[3];
};

struct core_program {
    HD_VEC(union hal_packet) packets;
    HD_VEC(uint32_t) nodes;        /* of each packet the number of its node in `graph` */
    HD_VEC(uint32_t) first, after; /* what `graph` shows: for listeners only */
    struct heddle_graph graph;
    HD_VEC(struct core_step) steps;
    HD_VEC(struct core_need) needs;
    HD_VEC(struct core_graph_memory *) allocs; /* of nodes of the graph */
    HD_VEC(struct core_graph_memory *) frees;
    HD_VEC(struct core_branch *) branches; /* owned */
    uint32_t ngrids;                       /* dispatches */
    struct core_bus_bytes bytes;           /* that a run copies */
    bool asks;         /* a kernel asks about the graph: it needs environments */
    bool is_updatable; /* kernels may change nodes: blocks outside belong to it */
};

#define CORE_EXEC_AUTO_FREE     1u
#define CORE_EXEC_UPLOAD        2u
#define CORE_EXEC_DEVICE_LAUNCH 4u
#define CORE_EXEC_USE_PRIORITY  8u

struct core_exec {
    struct core_object object;
    struct core_context *ctx; /* a reference */
    uint64_t ctx_id;          /* of the context's life: a reset begins another */
    unsigned flags;
    struct hd_lock lock; /* all below: outside of streams */
    struct core_graph *graph;
    struct core_program program;
    bool has_memory;                    /* it allocates or frees */
    bool is_stale;                      /* nodes changed since the program was made */
    bool is_uploaded;                   /* `upload` is what the graph is now */
    struct core_upload *upload;         /* what the device can launch (graph_env.h), or NULL */
    uint64_t joined;                    /* launches with an environment */
    _Atomic uint64_t done;              /* those of them that are over; in their order */
    const _Atomic uint64_t *last_queue; /* of the last launch */
    uint64_t last_position;
};

/* Why instantiating or updating failed; numbers are the API's. */
enum core_instantiate_result {
    CORE_INSTANTIATE_OK = 0,
    CORE_INSTANTIATE_ERROR = 1,
    CORE_INSTANTIATE_STRUCTURE = 2,
    CORE_INSTANTIATE_UNSUPPORTED = 3,
    CORE_INSTANTIATE_CONTEXTS = 4,
    CORE_INSTANTIATE_CONDITION = 5,
};

struct core_exec_failure {
    int result;
    void *node, *from; /* handles, or NULL */
};

/* `ctx`: where what has none runs. */
enum hd_status core_exec_create(struct core_graph *graph, struct core_context *ctx, unsigned flags,
                                struct core_exec **out_exec, struct core_exec_failure *out_why)
    HD_MUST_CHECK;
bool core_exec_destroy(struct core_exec *exec);
/* Behind what the stream and earlier launches of the same executable graph have to do. */
enum hd_status core_exec_launch(struct core_exec *exec, struct core_stream *stream) HD_MUST_CHECK;
/* Makes the program, so that the first launch need not. */
enum hd_status core_exec_upload(struct core_exec *exec, struct core_stream *stream) HD_MUST_CHECK;
/* Gives the copy of `node` another body, which is taken over, also on failure. */
enum hd_status core_exec_body_set(struct core_exec *exec, struct core_node *node,
                                  struct core_body *body) HD_MUST_CHECK;
enum hd_status core_exec_enable(struct core_exec *exec, struct core_node *node, bool enable)
    HD_MUST_CHECK;
enum hd_status core_exec_is_enabled(struct core_exec *exec, struct core_node *node,
                                    bool *out_enabled) HD_MUST_CHECK;
/* HD_BUSY when the graphs differ in more than parameters; the reason is in *out_why. */
enum hd_status core_exec_update(struct core_exec *exec, struct core_graph *graph,
                                struct core_exec_failure *out_why) HD_MUST_CHECK;

/* Of a graph that was checked. HD_NO_MEMORY. */
enum hd_status core_program_make(struct core_graph *graph, struct core_program *program)
    HD_MUST_CHECK;
void core_program_fini(struct core_program *program);

/* How far a program has been submitted (graph_run.c). */
struct core_run {
    struct core_program *program;
    size_t step;      /* the next one */
    uint32_t done;    /* packets of it */
    uint32_t grid_id; /* of the last dispatch; the program's have the numbers from here on */
};

/* So much at most: packets, and parameters that do not fit them. */
struct core_part {
    uint32_t packets, params_B;
};
#define CORE_PART_ALL ((struct core_part){UINT32_MAX, UINT32_MAX})

struct core_run core_run_begin(struct core_context *ctx, struct core_program *program);
bool core_run_is_over(const struct core_run *run);
/* What comes next of the program, in stream order; the position behind it. */
enum hd_status core_stream_run(struct core_stream *stream, struct core_run *run,
                               struct core_part part, const _Atomic uint64_t *after,
                               uint64_t after_value, uint64_t *out_position) HD_MUST_CHECK;

/*
 * Submits a program in parts that leave room in the ring, each behind the one before (graph_feed.c)
 * for threads that must not wait for the device: those of its host calls.
 */
struct core_feed {
    struct core_stream *stream; /* used by nobody else, and idle but for the call that feeds it */
    struct core_run run;
    bool always; /* goes on after a fault */
    /* Submits what comes behind the program; few packets. */
    enum hd_status (*behind)(struct core_feed *feed);
    void (*fail)(struct core_feed *feed); /* a later part could not be submitted; NULL: nothing */
};
/* The first part of feed->run; what fails later fails the context. Lives until `behind`. */
enum hd_status core_feed_run(struct core_feed *feed) HD_MUST_CHECK;

/* ---- text (graph_dot.c) */

enum hd_status core_graph_dot(struct core_graph *graph, const char *path, unsigned flags)
    HD_MUST_CHECK;

#endif
