/* Code of expressions, and steps that end in it. See graph_lower.h. */
#include "api/cudnn/graph_lower.h"

#include <string.h>

#include "base/mem.h"

/* ---- softmax */

graph_v lower_lazy(struct lower *l, const struct graph_body *op, graph_v x)
{
    struct graph_node node = {.uid = NONE,
                              .state = VALUE_LAZY,
                              .same = NONE,
                              .op = op,
                              .args = {lower_resolve(l, x), NONE, NONE}};

    memcpy(node.dims, lower_node(l, x)->dims, sizeof(node.dims));
    lower_row_major(node.dims, node.strides);
    lower_node(l, node.args[0])->edges++;
    return l->engine == GRAPH_ENGINE_FUSED ? lower_add_node(l, &node)
                                           : lower_softmax_apart(l, op, x);
}

/* The value itself; a softmax that waited for a product becomes steps of its own. */
graph_v lower_expanded(struct lower *l, graph_v v)
{
    v = lower_resolve(l, v);
    if (v == NONE || lower_node(l, v)->state != VALUE_LAZY || l->status)
        return v;
    const struct graph_node node = *lower_node(l, v);
    lower_node(l, node.args[0])->edges--;
    graph_v made = lower_softmax_apart(l, node.op, node.args[0]);
    struct graph_node *same = lower_node(l, v);
    same->state = VALUE_SAME;
    same->same = made;
    lower_node(l, made)->edges += same->edges;
    lower_node(l, made)->to_read += same->to_read;
    return lower_resolve(l, v);
}

/* ---- code of a step */

static bool mark(struct lower *l, graph_v v, const int64_t *dims, graph_v on);
static void unmark(struct lower *l);
struct root;
static graph_v choose_producer(struct lower *l, const struct root *roots, size_t n,
                               const int64_t *dims);

struct builder {
    struct lower *l;
    const int64_t *dims;
    graph_v producer; /* what is in register 0, or NONE */
    graph_v root;     /* what is computed here in any case */
    bool *depends;    /* for each value: on the producer; NULL: none does */
    size_t ndepends;
    HD_VEC(struct dnn_code) code;
    struct {
        graph_v v;
        uint8_t r;
    } known[DNN_REGISTERS];
    int nknown, next; /* register */
};

/* Values that are computed again and again cost more than memory does. */
enum { COSTLY = 12, REGISTERS_LEFT = 8 };

static int size_of(struct lower *l, graph_v v, const int64_t *dims, int most)
{
    const struct graph_node *node;
    int n = 1;

    v = lower_resolve(l, v);
    if (v == NONE)
        return 0;
    node = lower_node(l, v);
    if (node->state != VALUE_CODE || !lower_same_dims(node->dims, dims))
        return 1;
    for (int i = 0; i < 3 && n < most; i++)
        n += size_of(l, node->args[i], dims, most - n);
    return n;
}

static void build_instruction(struct builder *b, struct dnn_code c)
{
    (void)LOWER_PUSH(b->l, &b->code, c);
}

static uint8_t build_load(struct builder *b, graph_v v)
{
    uint8_t r = (uint8_t)b->next++;

    build_instruction(
        b, (struct dnn_code){.op = DNN_LOAD, .r = r, .tensor = lower_node(b->l, v)->memory});
    return r;
}

/* The register that has the value. */
static uint8_t build(struct builder *b, graph_v v)
{
    struct lower *l = b->l;
    uint8_t r;

    v = lower_expanded(l, v);
    if (l->status || v == NONE)
        return 0;
    for (int i = 0; i < b->nknown; i++)
        if (b->known[i].v == v)
            return b->known[i].r;
    const struct graph_node *node = lower_node(l, v);
    bool fits = node->state == VALUE_CODE &&
                (lower_same_dims(node->dims, b->dims) || node->code.op == DNN_CONST);
    bool stays = v == b->root || (b->depends && (size_t)v < b->ndepends && b->depends[v]);
    if (fits && !stays && b->next > DNN_REGISTERS - 4 * REGISTERS_LEFT && node->code.op < DNN_LOAD)
        fits = false;
    if (fits && !stays && node->edges + HD_MAX(node->to_read, 0) > 1 &&
        size_of(l, v, b->dims, COSTLY + 1) > COSTLY)
        fits = false;
    if (!fits) {
        if (node->state != VALUE_MEMORY)
            (void)lower_memory(l, v);
        r = build_load(b, v);
    } else {
        struct dnn_code c = node->code;
        graph_v args[3];
        memcpy(args, node->args, sizeof(args));
        c.a = args[0] == NONE ? c.a : build(b, args[0]);
        c.b = build(b, args[1]);
        c.c = build(b, args[2]);
        c.r = r = (uint8_t)b->next++;
        build_instruction(b, c);
    }
    if (b->next >= DNN_REGISTERS || b->nknown == DNN_REGISTERS) {
        UNSUPPORTED(l, GRAPH_PATTERN, "a chain of more than %d elementwise operations",
                    DNN_REGISTERS);
        return 0;
    }
    b->known[b->nknown].v = v;
    b->known[b->nknown++].r = r;
    return r;
}

/* Moves the code to the program's. */
static struct dnn_range built(struct builder *b)
{
    struct dnn_range range = {(uint32_t)b->l->code.len, (uint32_t)b->code.len};

    for (size_t i = 0; i < b->code.len; i++)
        (void)LOWER_PUSH(b->l, &b->l->code, b->code.at[i]);
    hd_vec_fini(&b->code);
    return range;
}

void lower_operand(struct lower *l, struct dnn_step *step, int operand, graph_v x)
{
    int64_t dims[DNN_DIMS];
    struct builder b = {.l = l, .dims = dims, .producer = NONE, .root = NONE};

    if (x == NONE || l->status)
        return;
    memcpy(dims, lower_node(l, x)->dims, sizeof(dims));
    memcpy(step->operand_dims[operand], dims, sizeof(dims));
    /* What ends a step is stored by it, in place of the step's own result. */
    graph_v v = lower_resolve(l, x);
    if (l->engine == GRAPH_ENGINE_FUSED && lower_node(l, v)->state == VALUE_CODE) {
        struct root root = {v, v};
        bool ends = choose_producer(l, &root, 1, dims) != NONE;
        unmark(l);
        if (ends)
            (void)lower_memory(l, v);
    }
    uint8_t r = build(&b, x);
    /* The result is that of the last instruction. */
    if (!l->status && b.code.at[b.code.len - 1].r != r)
        build_instruction(&b, (struct dnn_code){.op = DNN_IDENTITY, .r = (uint8_t)b.next, .a = r});
    step->operands[operand] = built(&b);
}

/* ---- steps */

void lower_append(struct lower *l, const struct dnn_step *step)
{
    struct dnn_step s = *step;

    if (l->status)
        return;
    if (s.kind == DNN_STEP_CODE)
        lower_order_code(l, &s);
    else if (s.kind == DNN_STEP_REDUCE)
        lower_order_reduce(l, &s);
    s.is_wide = l->is_wide;
    (void)LOWER_PUSH(l, &l->steps, s);
}

graph_v lower_step(struct lower *l, const struct dnn_step *step)
{
    struct graph_node node = {.uid = NONE, .state = VALUE_STEP, .same = NONE, .step = *step};

    memcpy(node.dims, step->dims, sizeof(node.dims));
    lower_row_major(node.dims, node.strides);
    return lower_add_node(l, &node);
}

static struct dnn_step new_step(enum dnn_step_kind kind, const int64_t *dims)
{
    struct dnn_step s = {.kind = (uint8_t)kind};

    memcpy(s.dims, dims, sizeof(s.dims));
    for (int i = 0; i < DNN_STEP_TENSORS; i++)
        s.tensors[i] = -1;
    return s;
}

graph_v lower_reduce(struct lower *l, enum dnn_reduce mode, graph_v x, const int64_t *to)
{
    struct dnn_step s = new_step(DNN_STEP_REDUCE, to);

    s.mode = (uint8_t)mode;
    lower_operand(l, &s, 0, x);
    return lower_step(l, &s);
}

/* Code whose register 0 is `producer`, and whose result is the last instruction's. */
static struct dnn_range build_from(struct lower *l, graph_v v, graph_v producer)
{
    int64_t dims[DNN_DIMS];
    struct builder b = {.l = l, .dims = dims, .producer = producer, .root = v, .next = 1};

    v = lower_resolve(l, v);
    if (v == producer)
        return (struct dnn_range){0, 0};
    memcpy(dims, lower_node(l, v)->dims, sizeof(dims));
    b.known[b.nknown++].v = producer;
    b.depends = hd_alloc_array(l->nodes.len, sizeof(bool));
    b.ndepends = b.depends ? l->nodes.len : 0;
    for (size_t i = 0; i < b.ndepends; i++)
        b.depends[i] = l->nodes.at[i].depends;
    unmark(l);
    uint8_t r = build(&b, v);
    if (!l->status && b.code.at[b.code.len - 1].r != r)
        build_instruction(&b, (struct dnn_code){.op = DNN_IDENTITY, .r = (uint8_t)b.next, .a = r});
    hd_free(b.depends);
    return built(&b);
}

/*
 * The value of that state that v is made of, elementwise, if nobody else reads what lies between;
 * the values are marked then.
 */
static graph_v only_source(struct lower *l, graph_v v, enum value_state state)
{
    struct root root = {v, v};
    int64_t dims[DNN_DIMS];

    v = lower_resolve(l, v);
    memcpy(dims, lower_node(l, v)->dims, sizeof(dims));
    for (graph_v p = (graph_v)l->nodes.len - 1; p >= 0; p--) {
        if (lower_node(l, p)->state != state || !lower_same_dims(lower_node(l, p)->dims, dims))
            continue;
        (void)mark(l, root.from, dims, p);
        bool fits = lower_node(l, p)->visited;
        /* One more edge of v is who asks. */
        for (size_t i = 0; i < l->nodes.len && fits; i++)
            if (l->nodes.at[i].depends)
                fits = l->nodes.at[i].to_read <= 0 && l->nodes.at[i].edges <= l->nodes.at[i].found;
        if (fits)
            return p;
        unmark(l);
    }
    return NONE;
}

/* A softmax of a product, times a matrix, as one step; NONE if it is not that. */
static graph_v attention(struct lower *l, graph_v a, graph_v b, const int64_t *dims,
                         const graph_v limits[3])
{
    struct dnn_step s = new_step(DNN_STEP_ATTENTION, dims);
    static const cudnnBackendAttributeName_t made[] = {CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC,
                                                       CUDNN_ATTR_OPERATION_SOFTMAX_MAX_DESC,
                                                       CUDNN_ATTR_OPERATION_SOFTMAX_SUM_EXP_DESC};

    if (l->status || l->engine != GRAPH_ENGINE_FUSED || (limits && limits[1] != NONE))
        return NONE;
    graph_v lazy = only_source(l, a, VALUE_LAZY);
    if (lazy == NONE)
        return NONE;
    unmark(l);
    graph_v x = lower_resolve(l, lower_node(l, lazy)->args[0]);
    const struct graph_body *op = lower_node(l, lazy)->op;
    graph_v product = only_source(l, x, VALUE_STEP);
    if (product == NONE)
        return NONE;
    const struct dnn_step from = lower_node(l, product)->step;
    bool has_limits = from.tensors[0] >= 0 || from.tensors[1] >= 0 || from.tensors[2] >= 0;
    if (from.kind != DNN_STEP_MATMUL || has_limits || from.flags & 1) {
        unmark(l);
        return NONE;
    }
    s.scores = build_from(l, x, product);
    (void)only_source(l, a, VALUE_LAZY);
    s.parts = build_from(l, a, lazy);
    s.flags = from.flags;
    for (int o = 0; o < 2; o++) {
        s.operands[o] = from.operands[o];
        memcpy(s.operand_dims[o], from.operand_dims[o], sizeof(s.operand_dims[o]));
    }
    lower_operand(l, &s, 2, b);
    if (op) {
        graph_v sink = lower_input(l, op, CUDNN_ATTR_OPERATION_SOFTMAX_SINK_DESC);
        s.tensors[0] = sink == NONE ? -1 : lower_memory(l, sink);
        for (int i = 0; i < 3 && !l->status; i++) {
            graph_v to = lower_output(l, op, made[i]);
            s.tensors[1 + i] = to == NONE ? -1 : lower_target(l, to);
        }
    }
    if (limits && limits[0] != NONE)
        s.tensors[4] = lower_memory(l, limits[0]);
    if (limits && limits[2] != NONE)
        s.tensors[5] = lower_memory(l, limits[2]);
    lower_node(l, lazy)->is_fused = true;
    return lower_step(l, &s);
}

graph_v lower_matmul(struct lower *l, graph_v a, graph_v b, const int64_t *dims,
                     const graph_v limits[3], double padding)
{
    struct dnn_step s = new_step(DNN_STEP_MATMUL, dims);
    graph_v whole = padding == 0 ? attention(l, a, b, dims, limits) : NONE;

    if (whole != NONE)
        return whole;

    s.numbers[2] = lower_node(l, a)->dims[DNN_DIMS - 1];
    s.reals[0] = padding;
    for (int i = 0; limits && i < 3; i++)
        if (limits[i] != NONE)
            s.tensors[i] = lower_memory(l, limits[i]);
    lower_operand(l, &s, 0, a);
    lower_operand(l, &s, 1, b);
    lower_order_matmul(l, &s);
    return lower_step(l, &s);
}

/* ---- memory */

static enum dnn_type number_type(const struct lower *l)
{
    return l->is_wide ? DNN_F64 : DNN_F32;
}

/* Some of the workspace for a value. */
static int16_t new_memory(struct lower *l, const int64_t *dims, const int64_t *strides)
{
    struct dnn_graph_tensor t = {
        .where = DNN_WORKSPACE, .type = (uint8_t)number_type(l), .ragged = -1};
    struct graph_storage storage = {.first = INT32_MAX, .last = -1};

    memcpy(t.dims, dims, sizeof(t.dims));
    memcpy(t.strides, strides, sizeof(t.strides));
    if (lower_span(dims, strides) < lower_elements(dims))
        lower_row_major(t.dims, t.strides);
    storage.size_B = lower_span(t.dims, t.strides) * (l->is_wide ? 8 : 4);
    (void)LOWER_PUSH(l, &l->storages, storage);
    return lower_add_tensor(l, &t, (int32_t)l->storages.len - 1);
}

/* Marks what a root is made of: how many expressions read each value, what depends on `on`. */
static bool mark(struct lower *l, graph_v v, const int64_t *dims, graph_v on)
{
    v = lower_resolve(l, v);
    if (v == NONE)
        return false;
    struct graph_node *node = lower_node(l, v);
    node->found++;
    if (node->visited)
        return node->depends;
    node->visited = true;
    node->depends = v == on;
    if (node->state == VALUE_CODE && lower_same_dims(node->dims, dims) && v != on)
        for (int i = 0; i < 3; i++)
            if (mark(l, node->args[i], dims, on))
                lower_node(l, v)->depends = true;
    return lower_node(l, v)->depends;
}

static void unmark(struct lower *l)
{
    for (size_t i = 0; i < l->nodes.len; i++) {
        l->nodes.at[i].visited = l->nodes.at[i].depends = false;
        l->nodes.at[i].found = 0;
    }
}

/* A step whose code may be that of these roots: nobody else reads what lies between. */
static graph_v choose_producer(struct lower *l, const struct root *roots, size_t n,
                               const int64_t *dims)
{
    for (graph_v p = (graph_v)l->nodes.len - 1; p >= 0; p--) {
        if (l->nodes.at[p].state != VALUE_STEP || !lower_same_dims(l->nodes.at[p].dims, dims))
            continue;
        bool fits = true;
        for (size_t i = 0; i < n; i++)
            (void)mark(l, roots[i].from, dims, p);
        if (!l->nodes.at[p].visited)
            fits = false;
        for (size_t v = 0; v < l->nodes.len && fits; v++) {
            const struct graph_node *node = &l->nodes.at[v];
            bool is_root = false;
            for (size_t i = 0; i < n; i++)
                is_root = is_root || lower_resolve(l, roots[i].from) == (graph_v)v;
            if (node->depends && !is_root)
                fits = node->to_read <= 0 && node->edges <= node->found;
        }
        if (fits)
            return p; /* marked */
        unmark(l);
    }
    return NONE;
}

/* Stores values of the same dimensions, with one step. */
static void emit(struct lower *l, const struct root *roots, const int16_t *tensors, size_t n)
{
    int64_t dims[DNN_DIMS];
    struct builder b = {.l = l, .dims = dims, .producer = NONE, .root = NONE};

    if (l->status)
        return;
    memcpy(dims, lower_node(l, lower_resolve(l, roots[0].from))->dims, sizeof(dims));
    b.producer = choose_producer(l, roots, n, dims);
    b.ndepends = l->nodes.len;
    b.depends = hd_alloc_array(b.ndepends, sizeof(bool));
    for (size_t i = 0; b.depends && i < b.ndepends; i++)
        b.depends[i] = l->nodes.at[i].depends;
    unmark(l);
    if (!b.depends) {
        lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
        return;
    }
    struct dnn_step step = new_step(DNN_STEP_CODE, dims);
    if (b.producer != NONE) {
        step = lower_node(l, b.producer)->step;
        b.known[b.nknown].v = b.producer;
        b.known[b.nknown++].r = 0;
        b.next = 1;
    }
    for (size_t i = 0; i < n && !l->status; i++) {
        b.root = lower_resolve(l, roots[i].from);
        uint8_t r = build(&b, roots[i].from);
        build_instruction(&b, (struct dnn_code){.op = DNN_STORE, .a = r, .tensor = tensors[i]});
    }
    step.code = built(&b);
    for (size_t i = 0; i < n; i++) {
        graph_v v = lower_resolve(l, roots[i].from);
        struct graph_node *from = lower_node(l, v);
        if (from->state == VALUE_STEP || (from->state == VALUE_CODE && b.depends[v])) {
            from->state = VALUE_MEMORY;
            from->memory = tensors[i];
        }
    }
    hd_free(b.depends);
    lower_append(l, &step);
}

void lower_store(struct lower *l, graph_v v, int16_t memory)
{
    struct root root = {v, v};

    emit(l, &root, &memory, 1);
}

/* Stores of the caller's tensors that wait, those of the same dimensions as root `r`. */
void lower_emit_roots(struct lower *l, size_t r)
{
    enum { MOST = 12 };
    struct root group[MOST];
    int16_t tensors[MOST];
    int64_t dims[DNN_DIMS];
    size_t n = 0, left = 0;

    memcpy(dims, lower_node(l, l->roots[r].to)->dims, sizeof(dims));
    struct root first = l->roots[r];
    group[n++] = first;
    for (size_t i = 0; i < l->nroots; i++) {
        struct root root = l->roots[i];
        if (i == r)
            continue;
        if (n < MOST && l->engine == GRAPH_ENGINE_FUSED &&
            lower_same_dims(lower_node(l, root.to)->dims, dims))
            group[n++] = root;
        else
            l->roots[left++] = root;
    }
    l->nroots = left;
    for (size_t i = 0; i < n && !l->status; i++) {
        const struct graph_node to = *lower_node(l, group[i].to);
        tensors[i] = lower_real_tensor(l, &to);
    }
    emit(l, group, tensors, n);
    for (size_t i = 0; i < n; i++) {
        struct graph_node *to = lower_node(l, group[i].to);
        to->state = VALUE_MEMORY;
        to->memory = tensors[i];
    }
}

int16_t lower_memory(struct lower *l, graph_v v)
{
    if (l->status || v == NONE)
        return 0;
    if (lower_node(l, v)->state == VALUE_UNKNOWN && lower_node(l, v)->is_real) {
        const struct graph_node node = *lower_node(l, v);
        int16_t memory = lower_real_tensor(l, &node);
        lower_node(l, v)->memory = memory;
        lower_node(l, v)->state = VALUE_MEMORY;
    }
    for (size_t i = 0; i < l->nroots; i++)
        if (l->roots[i].to == v) {
            lower_emit_roots(l, i);
            break;
        }
    v = lower_expanded(l, v);
    struct graph_node *node = lower_node(l, v);
    if (node->state == VALUE_MEMORY || l->status)
        return node->memory;
    if (node->state == VALUE_UNKNOWN) {
        lower_fail(l, CUDNN_STATUS_BAD_PARAM, "virtual tensor %lld is read before it is made",
                   (long long)node->uid);
        return 0;
    }
    int64_t dims[DNN_DIMS], strides[DNN_DIMS];
    memcpy(dims, node->dims, sizeof(dims));
    memcpy(strides, node->strides, sizeof(strides));
    int16_t memory = new_memory(l, dims, strides);
    struct root root = {v, v};
    emit(l, &root, &memory, 1);
    node = lower_node(l, v);
    node->state = VALUE_MEMORY;
    node->memory = memory;
    return memory;
}

int16_t lower_target(struct lower *l, graph_v v)
{
    const struct graph_node node = *lower_node(l, v);
    int16_t memory =
        node.is_real ? lower_real_tensor(l, &node) : new_memory(l, node.dims, node.strides);

    lower_node(l, v)->memory = memory;
    lower_node(l, v)->state = VALUE_MEMORY;
    return memory;
}

graph_v lower_view(struct lower *l, graph_v x, const int64_t *dims, const int64_t *strides,
                   int64_t offset)
{
    int16_t memory = lower_memory(l, x);
    struct graph_node node = {.uid = NONE, .state = VALUE_MEMORY, .same = NONE};

    memcpy(node.dims, dims, sizeof(node.dims));
    memcpy(node.strides, strides, sizeof(node.strides));
    if (l->status)
        return lower_add_node(l, &node);
    struct dnn_graph_tensor t = l->tensors.at[memory];
    memcpy(t.dims, dims, sizeof(t.dims));
    memcpy(t.strides, strides, sizeof(t.strides));
    t.offset += offset * (t.where == DNN_WORKSPACE ? (l->is_wide ? 8 : 4) : 1);
    node.memory = lower_add_tensor(l, &t, l->storage_of.at[memory]);
    return lower_add_node(l, &node);
}

void lower_define(struct lower *l, graph_v to, graph_v from)
{
    if (to == NONE || l->status)
        return;
    from = lower_resolve(l, from);
    struct graph_node *node = lower_node(l, to), *of = lower_node(l, from);
    if (!lower_same_dims(node->dims, of->dims)) {
        from = lower_code(l, DNN_IDENTITY, node->dims, from, NONE, NONE, NULL);
        node = lower_node(l, to);
        of = lower_node(l, from);
    }
    if (node->is_real && of->state == VALUE_MEMORY) {
        from = lower_unary(l, DNN_IDENTITY, from);
        node = lower_node(l, to);
        of = lower_node(l, from);
    }
    if (node->is_real && !l->is_wide && lower_elements(node->dims) > 1) {
        enum dnn_type type = lower_type(l, node->tensor);
        if (type == DNN_I32 || type == DNN_I64) {
            /* Floats do not hold all integers: all again, with doubles. */
            l->is_wide = true;
            l->status = CUDNN_STATUS_RUNTIME_IN_PROGRESS;
            return;
        }
    }
    if (of->state != VALUE_MEMORY && !of->tensor &&
        lower_span(node->dims, node->strides) >= lower_elements(node->dims))
        memcpy(of->strides, node->strides, sizeof(of->strides));
    node->state = VALUE_SAME;
    node->same = from;
    of->to_read += node->to_read;
    if (node->is_real) {
        if (l->nroots == l->roots_cap) {
            size_t cap = l->roots_cap ? 2 * l->roots_cap : 16;
            struct root *more = hd_realloc(l->roots, cap * sizeof(*more));
            if (!more) {
                lower_fail(l, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
                return;
            }
            l->roots = more;
            l->roots_cap = cap;
        }
        of->edges++;
        l->roots[l->nroots++] = (struct root){to, from};
    }
    if (l->engine == GRAPH_ENGINE_SINGLE)
        (void)lower_memory(l, to);
}
