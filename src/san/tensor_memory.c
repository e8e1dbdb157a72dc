/* See tensor_memory.h. */
#include "san/tensor_memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/tensor.h"
#include "san/lanes.h"
#include "san/options.h"

enum { UNITS = IR_TENSOR_COLUMNS / IR_TENSOR_UNIT, WORDS = IR_TENSOR_COLUMNS / 64, CELL_B = 4 };

/* The tensor memory of a CTA. Masks have a bit for each UNIT. */
struct memory {
    uint32_t allocated, first; /* first: those that begin an allocation */
    uint32_t freed;            /* since they were allocated last */
    uint32_t ahead;            /* that the other block of the pair told of */
    bool relinquished;
    struct {
        const struct ir_instr *probe;
        uint32_t warp;
    } maker[UNITS];
    uint64_t written[IR_TENSOR_LANES][WORDS];
};

struct san_tensor_memories {
    struct hd_lock lock;
    struct hd_map map; /* number of the CTA -> struct memory */
};

/* ---- life */

bool san_tensor_memory_begin(struct san_launch *launch)
{
    unsigned users = 1u << SAN_MEMCHECK;
    if (san_options()->initcheck_space & SAN_INIT_SPACE_SHARED)
        users |= 1u << SAN_INITCHECK;
    if (!(launch->tools & users))
        return true;
    launch->tensor = hd_new(struct san_tensor_memories);
    if (!launch->tensor)
        return false;
    hd_lock_init(&launch->tensor->lock, HD_RANK_LEAF, "tensor memory of a launch");
    hd_map_init(&launch->tensor->map);
    return true;
}

void san_tensor_memory_end(struct san_launch *launch)
{
    struct hd_map_iter it = {0};

    if (!launch->tensor)
        return;
    while (hd_map_next(&launch->tensor->map, &it))
        hd_free(it.value);
    hd_map_fini(&launch->tensor->map);
    hd_lock_fini(&launch->tensor->lock);
    hd_free(launch->tensor);
    launch->tensor = NULL;
}

/* NULL: no memory. */
static struct memory *tensor_memory_locked(struct san_tensor_memories *all, uint64_t number)
{
    struct memory *m = hd_map_get_u64(&all->map, number);

    assert(hd_lock_held(&all->lock));
    if (m)
        return m;
    m = hd_new(struct memory);
    if (m && !hd_map_put_u64(&all->map, number, m)) {
        hd_free(m);
        m = NULL;
    }
    return m;
}

void san_tensor_memory_cta_end(struct san_cta *cta)
{
    struct san_tensor_memories *all = cta->launch->tensor;
    struct memory *m;

    if (!all)
        return;
    hd_lock_acquire(&all->lock);
    m = hd_map_get_u64(&all->map, cta->base->index);
    if (m)
        (void)hd_map_remove_u64(&all->map, cta->base->index);
    hd_lock_release(&all->lock);
    hd_free(m);
}

/* ---- one operation */

enum { WHY_MAX = 160 };

/* What is found wrong with it. */
struct wrong {
    enum hd_status status; /* HD_OK: the device does it all the same */
    bool any;
    unsigned block, lane, column;
    uint64_t size_B;
    bool reads;
    const char *of;
    char why[WHY_MAX];
};

struct operation {
    struct san_cta *cta;
    const struct ir_instr *probe;
    const struct ir_tensor *op;
    uint32_t warp, lane;
    struct ir_tensor_cta blocks; /* nblocks, own */
    struct memory *memory[IR_TENSOR_BLOCKS];
    uint32_t src[IR_TENSOR_MMA_SOURCES * SAN_LANES]; /* of lane 0 */
    struct wrong refused, unwritten;
};

/* False: no memory, or no pair, which the device says. */
static bool tensor_blocks_find_locked(struct operation *x)
{
    struct san_cta *cta = x->cta;
    const uint32_t *c = cta->launch->about.cluster;
    bool pair = x->op->flags >> IR_TENSOR_PAIR & 1;
    bool found = true;

    if (pair && (cta->rank | 1) >= c[0] * c[1] * c[2])
        return false;
    x->blocks.nblocks = pair ? IR_TENSOR_BLOCKS : 1;
    x->blocks.own = pair ? cta->rank & 1 : 0;
    for (unsigned i = 0; i < x->blocks.nblocks; i++) {
        uint64_t number = pair ? san_peer(cta, (cta->rank & ~1u) + i) : cta->base->index;
        x->memory[i] = tensor_memory_locked(cta->launch->tensor, number);
        found &= x->memory[i] != NULL;
    }
    return found;
}

static struct memory *tensor_own_of(const struct operation *x)
{
    assert(x->blocks.own < x->blocks.nblocks);
    return x->memory[x->blocks.own];
}

HD_PRINTF(3, 4)
static void tensor_refuse(struct operation *x, enum hd_status status, const char *fmt, ...)
{
    va_list args;

    x->refused.any = true;
    x->refused.status = status;
    va_start(args, fmt);
    vsnprintf(x->refused.why, sizeof x->refused.why, fmt, args);
    va_end(args);
}

/* ---- columns */

static uint32_t tensor_units_mask(uint32_t column, uint32_t ncolumns)
{
    uint32_t first = column / IR_TENSOR_UNIT, last = (column + ncolumns - 1) / IR_TENSOR_UNIT;

    assert(ncolumns && last < UNITS);
    return ((last - first < 31 ? 2u << (last - first) : 0u) - 1) << first;
}

static bool tensor_columns_are_legal(uint32_t n)
{
    return n >= IR_TENSOR_UNIT && n <= IR_TENSOR_COLUMNS && hd_is_pow2(n);
}

static void tensor_alloc(struct operation *x)
{
    uint32_t columns = x->src[0];

    if (!tensor_columns_are_legal(columns))
        tensor_refuse(x, HD_TRAP, "%u columns: they are allocated in powers of two from 32 to 512",
                      columns);
    else if (tensor_own_of(x)->relinquished)
        tensor_refuse(x, HD_TRAP, "the block has given up the right to allocate tensor memory");
}

static bool tensor_is_allocation(const struct memory *m, uint32_t address, uint32_t columns)
{
    uint32_t mask = tensor_units_mask(address, columns), first = 1u << address / IR_TENSOR_UNIT;
    uint32_t next = address + columns < IR_TENSOR_COLUMNS ? first << columns / IR_TENSOR_UNIT : 0;

    return (m->allocated & mask) == mask && (m->first & mask) == first &&
           (!(m->allocated & next) || m->first & next);
}

static void tensor_dealloc(struct operation *x)
{
    struct memory *m = tensor_own_of(x);
    uint32_t address = x->src[0], columns = x->src[SAN_LANES];
    bool lies = tensor_columns_are_legal(columns) && !(address % IR_TENSOR_UNIT) &&
                address < IR_TENSOR_COLUMNS && columns <= IR_TENSOR_COLUMNS - address;
    uint32_t mask = lies ? tensor_units_mask(address, columns) : 0;

    if (lies && tensor_is_allocation(m, address, columns)) {
        m->allocated &= ~mask;
        m->first &= ~mask;
        m->freed |= mask;
    } else if (mask & m->freed && !(mask & m->allocated)) {
        tensor_refuse(x, HD_ILLEGAL_ADDRESS, "%u columns from %u on, which were deallocated",
                      columns, address);
    } else {
        tensor_refuse(x, HD_ILLEGAL_ADDRESS,
                      "%u columns from %u on, which were not allocated together", columns, address);
    }
}

/* What is told once more, behind it: columns and address. Of a pair whoever comes first speaks for
 * both. */
static void tensor_allocated(struct operation *x)
{
    uint32_t columns = x->src[0], address = x->src[SAN_LANES];

    if (address == (uint32_t)IR_TENSOR_WAIT)
        return;
    uint32_t mask = tensor_units_mask(address, columns), unit = address / IR_TENSOR_UNIT;
    for (unsigned i = 0; i < x->blocks.nblocks; i++) {
        struct memory *m = x->memory[i];
        bool own = i == x->blocks.own, known = own && m->ahead & mask;

        m->ahead = own ? m->ahead & ~mask : m->ahead | mask;
        if (own) {
            m->maker[unit].probe = x->probe;
            m->maker[unit].warp = x->warp;
        }
        if (known)
            continue;
        m->allocated |= mask;
        m->freed &= ~mask;
        m->first |= 1u << unit;
        for (unsigned lane = 0; lane < IR_TENSOR_LANES; lane++)
            for (uint32_t c = address; c < address + columns; c += IR_TENSOR_UNIT)
                m->written[lane][c / 64] &= ~((uint64_t)UINT32_MAX << c % 64);
    }
}

/* ---- cells: walks over what the operation says, of which the first ones may end it */

static void tensor_wrong_at(struct wrong *w, const struct ir_tensor_cells *cells, unsigned lane,
                            unsigned column)
{
    w->any = true;
    w->block = cells->block;
    w->lane = lane;
    w->column = column;
    w->size_B = (uint64_t)cells->nlanes * cells->ncolumns * CELL_B;
    w->reads = cells->use == IR_TENSOR_READS;
    w->of = cells->of;
}

static void tensor_check_cells(void *user, const struct ir_tensor_cells *cells)
{
    struct operation *x = user;
    unsigned end = cells->column + cells->ncolumns;

    if (x->refused.any)
        return;
    if (cells->lane + cells->nlanes > IR_TENSOR_LANES || end > IR_TENSOR_COLUMNS) {
        tensor_wrong_at(&x->refused, cells, cells->lane, cells->column);
        tensor_refuse(x, HD_ILLEGAL_ADDRESS, "tensor memory has 128 lanes of 512 columns");
        return;
    }
    const struct memory *m = x->memory[cells->block];
    uint32_t missing = tensor_units_mask(cells->column, cells->ncolumns) & ~m->allocated;
    if (!missing)
        return;
    unsigned first = (unsigned)__builtin_ctz(missing) * IR_TENSOR_UNIT;
    tensor_wrong_at(&x->refused, cells, cells->lane, HD_MAX(first, cells->column));
    tensor_refuse(x, HD_ILLEGAL_ADDRESS, "columns %u to %u %s", first, first + IR_TENSOR_UNIT - 1,
                  m->freed >> first / IR_TENSOR_UNIT & 1 ? "were deallocated"
                                                         : "are not allocated");
}

/* Bits of columns in the word of column `at`; *n: how many there are. */
static uint64_t tensor_bits_at(unsigned at, unsigned end, unsigned *n)
{
    *n = HD_MIN(end - at, 64 - at % 64);
    return (*n < 64 ? (UINT64_C(1) << *n) - 1 : ~UINT64_C(0)) << at % 64;
}

static void tensor_read_cells(void *user, const struct ir_tensor_cells *cells)
{
    struct operation *x = user;
    unsigned end = cells->column + cells->ncolumns, n;

    if (cells->use != IR_TENSOR_READS || x->unwritten.any)
        return;
    for (unsigned lane = cells->lane; lane < cells->lane + cells->nlanes; lane++) {
        for (unsigned at = cells->column; at < end; at += n) {
            uint64_t missing =
                tensor_bits_at(at, end, &n) & ~x->memory[cells->block]->written[lane][at / 64];
            if (!missing)
                continue;
            tensor_wrong_at(&x->unwritten, cells, lane,
                            at / 64 * 64 + (unsigned)__builtin_ctzll(missing));
            return;
        }
    }
}

static void tensor_write_cells(void *user, const struct ir_tensor_cells *cells)
{
    struct operation *x = user;

    if (cells->use == IR_TENSOR_READS)
        return;
    for (unsigned lane = cells->lane; lane < cells->lane + cells->nlanes; lane++) {
        unsigned end = cells->column + cells->ncolumns, from = ir_tensor_shifted(lane), n;

        assert(lane < IR_TENSOR_LANES && end <= IR_TENSOR_COLUMNS);
        for (unsigned at = cells->column; at < end; at += n) {
            uint64_t bits = tensor_bits_at(at, end, &n),
                     *word = &x->memory[cells->block]->written[lane][at / 64];
            if (cells->use == IR_TENSOR_WRITES)
                *word |= bits;
            else
                *word = (*word & ~bits) | (x->memory[cells->block]->written[from][at / 64] & bits);
        }
    }
}

static bool tensor_walk(struct operation *x, ir_tensor_visit *visit)
{
    struct ir_tensor_error error;

    if (ir_tensor_cells(x->op, &x->blocks, x->src, visit, x, &error))
        return true;
    tensor_refuse(x, error.status, "%s", error.why);
    x->refused.lane = x->src[0] >> 16;
    x->refused.column = x->src[0] & 0xffff;
    return false;
}

static void tensor_access_cells(struct operation *x)
{
    x->refused.reads = x->op->op == IR_TENSOR_LD;
    x->blocks.warp = x->warp;
    (void)(tensor_walk(x, tensor_check_cells) && !x->refused.any &&
           tensor_walk(x, tensor_read_cells) && tensor_walk(x, tensor_write_cells));
}

/* ---- what is said */

static bool tensor_is_on(const struct san_cta *cta, enum san_tool_id tool)
{
    return cta->launch->tools >> tool & 1 && !cta->launch->is_quiet;
}

static struct san_finding tensor_finding_of(const struct san_cta *cta, const struct ir_instr *at,
                                            uint32_t warp, uint32_t lane)
{
    return (struct san_finding){.severity = SAN_ERROR,
                                .actors = {{.cta = cta, .at = at, .warp = warp, .lane = lane}},
                                .nactors = 1,
                                .launch = cta->launch,
                                .count = 1,
                                .space = "tensor"};
}

static void tensor_say_where(struct san_finding *f, const struct operation *x,
                             const struct wrong *w)
{
    f->address = (uint64_t)w->lane << 16 | w->column;
    f->has_address = true;
    san_detail(f, "Access at lane %u, column %u%s%s%s", w->lane, w->column, w->of ? " of " : "",
               w->of ? w->of : "",
               w->block == x->blocks.own ? "" : ", in the other block of the pair");
}

/* The whole of a product's matrix, or of an access. */
static void tensor_name_access(struct san_finding *f, const struct wrong *w, const char *word)
{
    f->direction = w->reads ? "read" : "write";
    f->size_B = w->size_B;
    snprintf(f->title, sizeof f->title, "%s __tensor__ %s%s of size %llu bytes", word,
             *word == 'U' ? "memory " : "", f->direction, (unsigned long long)w->size_B);
}

static const char *const verbs[] = {
    [IR_TENSOR_ALLOC] = "allocation", [IR_TENSOR_DEALLOC] = "deallocation",
    [IR_TENSOR_LD] = "load",          [IR_TENSOR_ST] = "store",
    [IR_TENSOR_CP] = "copy",          [IR_TENSOR_SHIFT] = "shift",
    [IR_TENSOR_MMA] = "product"};

static enum hd_status tensor_say_refused(const struct operation *x)
{
    const struct wrong *w = &x->refused;
    struct san_finding f = tensor_finding_of(x->cta, x->probe, x->warp, x->lane);

    f.tool = "memcheck";
    if (w->size_B) {
        f.kind = w->reads ? "invalid-read" : "invalid-write";
        tensor_name_access(&f, w, "Invalid");
        tensor_say_where(&f, x, w);
    } else {
        f.kind = "invalid-tensor-operation";
        snprintf(f.title, sizeof f.title, "Invalid tensor memory %s", verbs[x->op->op]);
    }
    san_detail(&f, "%s", w->why);
    san_report(&f);
    if (w->status != HD_OK)
        san_memcheck.failed(x->cta);
    return w->status;
}

/* ---- the whole */

static void tensor_follow_locked(struct operation *x)
{
    if (ir_probe_is_after(x->probe))
        tensor_allocated(x);
    else if (x->op->op == IR_TENSOR_ALLOC)
        tensor_alloc(x);
    else if (x->op->op == IR_TENSOR_DEALLOC)
        tensor_dealloc(x);
    else if (x->op->op == IR_TENSOR_RELINQUISH)
        tensor_own_of(x)->relinquished = true;
    else
        tensor_access_cells(x);
}

static enum hd_status tensor_do_operation(struct operation *x, const uint64_t *const *operands)
{
    struct san_tensor_memories *all = x->cta->launch->tensor;

    for (unsigned i = 0; i < IR_TENSOR_MMA_SOURCES && operands[i]; i++)
        x->src[i * SAN_LANES] = (uint32_t)operands[i][x->lane];
    hd_lock_acquire(&all->lock);
    if (tensor_blocks_find_locked(x))
        tensor_follow_locked(x);
    hd_lock_release(&all->lock);
    if (x->unwritten.any && tensor_is_on(x->cta, SAN_INITCHECK)) {
        struct san_finding f = tensor_finding_of(x->cta, x->probe, x->warp, x->lane);

        f.tool = "initcheck";
        f.kind = "uninitialized-read";
        tensor_name_access(&f, &x->unwritten, "Uninitialized");
        tensor_say_where(&f, x, &x->unwritten);
        san_report(&f);
    }
    return x->refused.any && tensor_is_on(x->cta, SAN_MEMCHECK) ? tensor_say_refused(x) : HD_OK;
}

static enum hd_status tensor_by_lane(struct san_cta *cta, const struct san_sync *at,
                                     const struct ir_tensor *op, uint32_t lane)
{
    struct operation x = {.cta = cta, .probe = at->probe, .op = op, .warp = at->warp, .lane = lane};

    return tensor_do_operation(&x, at->operands);
}

/* The threads of a warp that there are and that have not ended. */
static uint32_t tensor_living(const struct san_cta *cta, uint32_t warp)
{
    uint32_t n = cta->launch->nthreads - warp * SAN_LANES;

    return (n >= SAN_LANES ? UINT32_MAX : (1u << n) - 1) & ~cta->ended_lanes[warp];
}

static void tensor_say_part(struct san_cta *cta, const struct san_sync *at,
                            const struct ir_tensor *op)
{
    struct san_finding f =
        tensor_finding_of(cta, at->probe, at->warp, (uint32_t)__builtin_ctz(at->lanes));

    if (!tensor_is_on(cta, SAN_MEMCHECK))
        return;
    f.tool = "memcheck";
    f.kind = "invalid-tensor-operation";
    snprintf(f.title, sizeof f.title, "Invalid tensor memory %s", verbs[op->op]);
    san_detail(&f, "by %d threads of the warp: all %d have to execute it together",
               __builtin_popcount(at->lanes), __builtin_popcount(tensor_living(cta, at->warp)));
    san_report(&f);
}

/* Told after it lane by lane, or for all at once: the first lane says it. */
static enum hd_status tensor_after(struct san_cta *cta, const struct san_sync *at)
{
    const struct ir_instr *in = at->probe->prev;

    assert(in && in->op == IR_OP_TENSOR_WARP && ir_ext_tensor_warp(in)->op == IR_TENSOR_ALLOC);
    if (!(at->lanes & 1))
        return HD_OK;
    return tensor_by_lane(cta, at, ir_ext_tensor_warp(in), 0);
}

enum hd_status san_tensor_memory_access(struct san_cta *cta, const struct san_sync *at)
{
    enum hd_status status = HD_OK, said;

    if (!cta->launch->tensor)
        return HD_OK;
    if (ir_probe_is_after(at->probe))
        return tensor_after(cta, at);
    const struct ir_instr *in = ir_probed(at->probe);
    if (in->op == IR_OP_TENSOR_WARP) {
        const struct ir_tensor *op = ir_ext_tensor_warp(in);
        if (op->op != IR_TENSOR_RELINQUISH && at->lanes != tensor_living(cta, at->warp))
            tensor_say_part(cta, at, op);
        return tensor_by_lane(cta, at, op, (uint32_t)__builtin_ctz(at->lanes));
    }
    san_foreach_lane(lane, at->lanes) {
        said = tensor_by_lane(cta, at, ir_ext_tensor(in), lane);
        status = status == HD_OK ? said : status;
    }
    return status;
}

/* ---- what is left */

/* The first allocation; how many columns there are in all. */
static unsigned tensor_find_left(struct san_cta *cta, struct memory *out)
{
    struct san_tensor_memories *all = cta->launch->tensor;
    const struct memory *m;

    hd_lock_acquire(&all->lock);
    m = hd_map_get_u64(&all->map, cta->base->index);
    if (m)
        *out = *m;
    hd_lock_release(&all->lock);
    return m ? (unsigned)__builtin_popcount(m->allocated) * IR_TENSOR_UNIT : 0;
}

enum hd_status san_tensor_memory_left(struct san_cta *cta)
{
    struct memory m;
    unsigned columns = cta->launch->tensor ? tensor_find_left(cta, &m) : 0;

    if (!columns || !tensor_is_on(cta, SAN_MEMCHECK))
        return HD_OK;
    unsigned unit = (unsigned)__builtin_ctz(m.allocated);
    if (!m.maker[unit].probe)
        return HD_OK; /* the device says so */
    struct san_finding f = tensor_finding_of(cta, m.maker[unit].probe, m.maker[unit].warp, 0);
    f.tool = "memcheck";
    f.kind = "tensor-memory-leak";
    snprintf(f.title, sizeof f.title, "Tensor memory is not deallocated");
    san_detail(&f, "%u columns from %u on are allocated when the block ends, %u in all",
               IR_TENSOR_UNIT, unit * IR_TENSOR_UNIT, columns);
    san_report(&f);
    san_memcheck.failed(cta);
    return HD_TRAP;
}
