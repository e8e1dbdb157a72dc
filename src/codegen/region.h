/*
 * Instructions of a block between two that nothing passes (fences), and what must come before what:
 * a graph over their units, over memory, and over uniform registers, which stay in their order.
 */
#ifndef HD_CODEGEN_REGION_H
#define HD_CODEGEN_REGION_H

#include "codegen/mc.h"

enum {
    REGION_MOST = 384,        /* instructions; longer ones are cut */
    REGION_PENDING_MOST = 48, /* accesses to memory that a later one is compared with */
};

struct region_ref {
    uint32_t unit;
    bool is_write, is_pred;
};

struct region_edge {
    uint32_t to, next; /* + 1 */
    int32_t latency;
};

struct region_node {
    const struct mc_insn *insn;
    uint32_t first_ref, nrefs;
    uint32_t edges; /* + 1 */
    uint32_t npreds;
    int32_t height;          /* cycles from its issue to the end of the region, at least */
    int32_t latency;         /* until the fence may be issued, if it reads a result; else 0 */
    int32_t earliest;        /* in an order that is being made */
    uint32_t waits_for;      /* likewise: instructions that are not in it yet */
    uint16_t pipe, occupies; /* it, for so many cycles */
};

struct region_reader {
    uint32_t node, next; /* + 1 */
};

/* Of a unit; valid where `region` is the region's number. */
struct region_unit {
    uint32_t region;
    uint32_t cursor; /* segment + 1, that its live ranges were looked up at last */
    uint32_t writer, readers, version;
    uint32_t reads, left; /* in the region; of an order that is being made */
    bool comes, leaves;   /* live at its start, and at its end */
    bool is_live;         /* in an order that is being made */
};

/* An access of memory. */
struct region_access {
    uint8_t spaces; /* a bit each; all: a generic address */
    uint8_t kind;
    int64_t base; /* unit, and which of its values */
    uint32_t version;
    int64_t offset, size_B;
    uint32_t node;
};

struct region {
    struct mc_func *f;
    const struct live *live;
    uint32_t number;
    struct region_unit *units; /* all of the function */

    struct region_node nodes[REGION_MOST];
    uint32_t nnodes;
    const struct mc_insn *fence; /* behind it, or NULL */

    HD_VEC(struct region_ref) refs; /* of a node those it reads first; each unit once */
    HD_VEC(struct region_edge) edges;
    HD_VEC(uint32_t) touched; /* units */
    /* Only while the graph is built. */
    HD_VEC(struct region_reader) readers;
    struct region_access pending[REGION_PENDING_MOST];
    uint32_t npending, uniform; /* the last node with uniform registers, + 1 */
};

/* live: of the function as it is; it must outlast the region. */
enum hd_status region_init(struct region *r, struct mc_func *f, const struct live *live)
    HD_MUST_CHECK;
void region_fini(struct region *r);
/*
 * The region that begins at instruction `first`; where the next one begins. Blocks and regions come
 * in the order of the code. Want of memory: mc_func.failed.
 */
uint32_t region_build(struct region *r, struct mc_block *b, uint32_t first);
#define region_foreach_ref(ref, r, node)                                                           \
    for (const struct region_ref *ref = &(r)->refs.at[(node)->first_ref],                          \
                                 *ref##_end = ref + (node)->nrefs;                                 \
         ref < ref##_end; ref++)
#define region_foreach_edge(edge, r, node)                                                         \
    for (const struct region_edge *edge = (node)->edges ? &(r)->edges.at[(node)->edges - 1]        \
                                                        : NULL;                                    \
         edge; edge = edge->next ? &(r)->edges.at[edge->next - 1] : NULL)

#endif
