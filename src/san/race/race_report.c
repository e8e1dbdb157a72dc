/*
 * Hazards as findings: each by itself, or per pair of instructions at the end of the launch.
 *
 * Severity. Lanes of one warp: a warning, as of a program that takes a warp's lanes to go in step
 * ("Warp Level Programming"). Two volatile accesses, or a volatile write and an atomic: a warning;
 * each happens as it stands, in no order. The value that is there already is written again: for
 * information. All else is an error.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "san/options.h"
#include "san/race/race.h"

/* Hazards of a pair are counted by bytes, as NVIDIA's tool does; of a block copy not all. */
enum { HAZARD_MAX_B = 16 };

enum race_kind { RACE_RAW, RACE_WAR, RACE_WAW };
static const char *const kinds[] = {"RAW", "WAR", "WAW"};
static const char *const kind_words[] = {"hazard-raw", "hazard-war", "hazard-waw"};

/* One thread's part. */
struct side {
    uint32_t serial, thread, info;
    bool in_flight;
};
struct race_found {
    struct side side[2]; /* the lower number first */
    enum ir_space space;
    const char *why;            /* of the hazard; NULL: report_explain() */
    enum san_severity severity; /* the worst */
    uint64_t address, count;
};

/* ---- what kind of hazard */

static bool report_reads(uint32_t info)
{
    return info & RACE_READS;
}

static enum race_kind report_kind_of(const struct race_hazard *h)
{
    return report_reads(h->now_is) ? RACE_RAW : report_reads(h->before_is) ? RACE_WAR : RACE_WAW;
}

static struct side report_before_of(const struct race_hazard *h)
{
    bool in_flight = race_is_in_flight(h->before);
    uint32_t thread = race_thread_of(h->before);

    if (in_flight && report_reads(h->before_is) &&
        !h->why) /* of a product: the first thread of its warps */
        thread -= thread % (RACE_GROUP_WARPS * SAN_LANES);
    return (struct side){race_serial(h->before), thread, h->before_is, in_flight};
}

static bool report_in_one_warp(const struct race_cta *cta, const struct race_hazard *h)
{
    return !race_is_in_flight(h->before) && race_serial(h->before) == cta->serial &&
           race_thread_of(h->before) / SAN_LANES == h->thread / SAN_LANES;
}

/* What is in memory now; false: not known. Addresses may be bad ones, so the kernel reads. */
static bool report_value_at(const struct race_cta *cta, const struct race_hazard *h,
                            uint32_t size_B, uint64_t *out)
{
    const struct san_access *x = h->access;
    const char *shared = cta->san->base->shared;

    assert(size_B <= sizeof *out);
    *out = 0;
    if (x->space == IR_SPACE_TENSOR)
        return false;
    if (x->space == IR_SPACE_SHARED) {
        uint64_t window_B = cta->launch->san->about.shared_B;
        if (x->peer || !shared || h->address > window_B || size_B > window_B - h->address)
            return false;
        memcpy(out, shared + h->address, size_B);
        return true;
    }
    struct iovec to = {out, size_B}, from = {(void *)(uintptr_t)h->address, size_B};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size_B;
}

/*
 * Of a row of STMATRIX: in register j of the lanes 4 * r .. are the elements 2 * c and 2 * c + 1 of
 * row r, or of column r if it is transposed. Nothing, where lanes are missing.
 */
static uint32_t report_stored_row(const struct san_access *x, uint32_t lane, uint64_t offset,
                                  uint64_t *out)
{
    uint32_t imm = ir_probe_its_imm(x->probe), registers = imm >> IR_PROBE_REGISTERS_AT;
    uint32_t tile = imm & ((1u << IR_PROBE_REGISTERS_AT) - 1), r = lane % 8;
    uint32_t c = (uint32_t)offset / 4;

    if (offset % 4 || (uint32_t)__builtin_popcount(x->lanes) < HD_MIN(8 * registers, SAN_LANES) ||
        1 + lane / 8 >= x->probe->nsrc || (tile != IR_TILE_M8N8 && tile != IR_TILE_M8N8_TRANS))
        return 0;
    const uint64_t *from = x->operands[1 + lane / 8];
    if (tile == IR_TILE_M8N8) {
        *out = from[4 * r + c];
        return 4;
    }
    uint32_t half = 16 * (r % 2);
    *out = (from[8 * c + r / 2] >> half & 0xffff) | (from[8 * c + 4 + r / 2] >> half & 0xffff)
                                                        << 16;
    return 4;
}

/* What the lane stores into memory from `address` on, and how many bytes; 0: not known. */
static uint32_t report_stored(const struct san_access *x, uint32_t lane, uint64_t address,
                              uint64_t *out)
{
    const struct ir_instr *probe = x->probe;
    uint32_t element_B = ir_type_bits(probe->type) / 8;

    if (!x->operands)
        return 0;
    if (ir_probe_op(probe) == IR_OP_STMATRIX)
        return report_stored_row(x, lane, address - x->address[lane], out);
    if (ir_probe_op(probe) != IR_OP_ST || !element_B || element_B > 8)
        return 0;
    uint64_t at = (address - x->address[lane]) / element_B;
    if (1 + at >= probe->nsrc)
        return 0;
    *out = x->operands[1 + at][lane];
    return element_B;
}

/* What another lane of the same store puts there; false: it is no such lane. */
static bool report_stored_beside(const struct race_cta *cta, const struct race_hazard *h,
                                 uint64_t *out)
{
    const struct san_access *x = h->access;
    uint32_t lane = h->thread % SAN_LANES, other = race_thread_of(h->before) % SAN_LANES;

    if (!report_in_one_warp(cta, h) || h->before_is >> 8 != x->number || !(x->lanes >> other & 1) ||
        x->address[other] != x->address[lane])
        return false;
    return report_stored(x, other, h->address, out) == h->stored_B;
}

static bool report_writes_the_same(const struct race_cta *cta, const struct race_hazard *h)
{
    uint64_t value, mask = h->stored_B < 8 ? ((uint64_t)1 << 8 * h->stored_B) - 1 : UINT64_MAX;

    if (report_kind_of(h) != RACE_WAW || !h->stored_B)
        return false;
    return (report_stored_beside(cta, h, &value) || report_value_at(cta, h, h->stored_B, &value)) &&
           !((value ^ h->stored) & mask);
}

static enum san_severity report_severity_of(const struct race_cta *cta, const struct race_hazard *h)
{
    const unsigned strong = RACE_STRONG | RACE_ATOM | RACE_VOLATILE;

    if (report_writes_the_same(cta, h))
        return SAN_INFO;
    if (report_in_one_warp(cta, h))
        return SAN_WARNING;
    if ((h->before_is | h->now_is) & RACE_VOLATILE && h->before_is & strong && h->now_is & strong)
        return SAN_WARNING;
    return SAN_ERROR;
}

/* Global memory is all that is no other. */
static enum ir_space report_space(enum ir_space space)
{
    return space == IR_SPACE_SHARED || space == IR_SPACE_TENSOR ? space : IR_SPACE_GLOBAL;
}

static const char *report_space_word(enum ir_space space)
{
    return space == IR_SPACE_SHARED ? "shared" : space == IR_SPACE_TENSOR ? "tensor" : "global";
}

/* ---- actors */

struct stage { /* a CTA that may have ended, for an actor */
    struct ir_probe_cta base;
    struct san_cta cta;
};

static struct san_actor report_actor_of(const struct race_launch *launch, const struct side *side,
                                        struct stage *stage, const char *const verbs[2])
{
    const uint32_t *grid = launch->san->about.grid;
    uint32_t index = side->serial - launch->base;

    assert(index < launch->ncta && side->thread < RACE_THREADS_MAX);
    *stage = (struct stage){
        .base.ctaid = {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]},
        .base.index = index,
        .cta = {.base = &stage->base, .launch = (struct san_launch *)launch->san},
    };
    return (struct san_actor){
        .cta = &stage->cta,
        .at = race_probe(launch, side->info >> 8),
        .warp = side->thread / SAN_LANES,
        .lane = side->thread % SAN_LANES,
        .verb = verbs[report_reads(side->info)],
    };
}

static const char *const access_verbs[] = {"Write access", "Read access"};
static const char *const thread_verbs[] = {"Write Thread", "Read Thread"};

/* Why it is one, where that is not plain. */
static void report_explain(struct san_finding *f, const struct side *one, const struct side *other,
                           const char *why)
{
    const unsigned strong = RACE_STRONG | RACE_ATOM | RACE_VOLATILE;
    uint32_t a = one->info, b = other->info;
    bool other_cta = one->serial != other->serial;

    if (why) {
        san_detail(f, "%s", why);
        return;
    }
    if (one->in_flight || other->in_flight) {
        const struct side *way = one->in_flight ? one : other;
        san_detail(f, report_reads(way->info)
                          ? "The read is of a product that was not waited for"
                          : "The write is an asynchronous copy, and its thread has not waited "
                            "for it");
        return;
    }
    if ((a | b) & RACE_UNFENCED) {
        san_detail(f, "A lock was taken by atomicCAS(), and there is no fence behind that");
        return;
    }
    if ((a | b) & RACE_HALF_FENCED && other_cta) {
        san_detail(f, "The fence behind taking a lock is for one block, the lock for several");
        return;
    }
    if (!(a & strong) || !(b & strong)) {
        if ((a | b) & (RACE_ATOM | RACE_STRONG))
            san_detail(f, "One access is atomic, the other is not");
        return;
    }
    if ((a | b) & RACE_CTA && other_cta)
        san_detail(f, "An atomic access whose scope is its block, and an access of another block");
    else if ((a | b) & RACE_VOLATILE)
        san_detail(f, "Both accesses are volatile or atomic, but nothing orders them");
    else
        san_detail(f, "An atomic access whose scope is its cluster, and an access of another one");
}

/* ---- one hazard */

static void report_report_hazard(struct race_cta *cta, const struct race_hazard *h,
                                 enum san_severity severity)
{
    enum race_kind kind = report_kind_of(h);
    const uint32_t *block = cta->san->base->ctaid;
    struct side before = report_before_of(h), now = {cta->serial, h->thread, h->now_is, false};
    struct stage stages[2];
    uint32_t value_B = h->stored_B ? h->stored_B : 4;
    struct san_finding f = {
        .tool = "racecheck",
        .kind = kind_words[kind],
        .severity = severity,
        .actors = {report_actor_of(cta->launch, &before, &stages[0], thread_verbs),
                   report_actor_of(cta->launch, &now, &stages[1], thread_verbs)},
        .nactors = 2,
        .address = h->address,
        .has_address = true,
        .launch = cta->launch->san,
        .space = report_space_word(h->access->space),
        .direction = report_reads(h->now_is) ? "read" : "write",
    };
    uint64_t value;

    if (!f.actors[0].at)
        f.actors[0].at = h->access->probe;
    if (!f.actors[1].at)
        f.actors[1].at = h->access->probe;
    snprintf(f.title, sizeof f.title,
             "%sPotential %s hazard detected at __%s__ 0x%" PRIx64 " in block (%u,%u,%u) :",
             report_in_one_warp(cta, h) ? "(Warp Level Programming) " : "", kinds[kind], f.space,
             h->address, block[0], block[1], block[2]);
    bool known = report_value_at(cta, h, value_B, &value);
    if (known && h->stored_B)
        san_detail(&f, "Current Value : %" PRIu64 ", Incoming Value : %" PRIu64, value, h->stored);
    else if (known)
        san_detail(&f, "Current Value : %" PRIu64, value);
    report_explain(&f, &before, &now, h->why);
    san_report(&f);
}

/* ---- pairs of instructions */

/* The one that a reader is shown of several, whatever order they came in. */
static bool report_is_earlier(const struct race_found *a, const struct race_found *b)
{
    for (int i = 0; i < 2; i++) {
        if (a->side[i].serial != b->side[i].serial)
            return a->side[i].serial < b->side[i].serial;
        if (a->side[i].thread != b->side[i].thread)
            return a->side[i].thread < b->side[i].thread;
    }
    return a->address < b->address;
}

static void report_count_pair(struct race_cta *cta, const struct race_hazard *h,
                              enum san_severity severity)
{
    struct race_launch *launch = cta->launch;
    struct race_found f = {
        .side = {report_before_of(h), {cta->serial, h->thread, h->now_is, false}},
        .space = report_space(h->access->space),
        .why = h->why,
        .severity = severity,
        .address = h->address,
        .count = HD_MIN(h->access->size_B, (uint64_t)HAZARD_MAX_B),
    };
    if (f.side[0].info >> 8 > f.side[1].info >> 8) {
        struct side swap = f.side[0];
        f.side[0] = f.side[1];
        f.side[1] = swap;
    }
    uint64_t key =
        (uint64_t)(f.side[0].info >> 8) << 32 | (f.side[1].info & ~255u) | (unsigned)f.space;

    hd_lock_acquire(&launch->found_lock);
    struct race_found *have = hd_map_get_u64(&launch->found, key);
    if (have) {
        f.count += have->count;
        f.severity = HD_MAX(f.severity, have->severity);
        if (severity < have->severity ||
            (severity == have->severity && !report_is_earlier(&f, have)))
            memcpy(f.side, have->side, sizeof f.side), f.address = have->address, f.why = have->why;
        *have = f;
    } else if ((have = hd_new(struct race_found))) {
        *have = f;
        if (!hd_map_put_u64(&launch->found, key, have))
            hd_free(have);
    }
    hd_lock_release(&launch->found_lock);
}

static void report_report_pair(struct race_launch *launch, const struct race_found *found)
{
    struct stage stages[2];
    struct san_finding f = {
        .tool = "racecheck",
        .kind = "race",
        .severity = found->severity,
        .title = "Race reported between",
        .actors = {report_actor_of(launch, &found->side[0], &stages[0], access_verbs),
                   report_actor_of(launch, &found->side[1], &stages[1], access_verbs)},
        .nactors = 2,
        .address = found->address,
        .has_address = true,
        .launch = launch->san,
        .count = found->count,
        .space = report_space_word(found->space),
    };

    if (!f.actors[0].at || !f.actors[1].at)
        return; /* memory was short when they were seen */
    report_explain(&f, &found->side[0], &found->side[1], found->why);
    san_report(&f);
}

static int report_by_number(const void *a, const void *b)
{
    const struct race_found *const *x = a, *const *y = b;

    for (int i = 0; i < 2; i++)
        if ((*x)->side[i].info >> 8 != (*y)->side[i].info >> 8)
            return (*x)->side[i].info >> 8 < (*y)->side[i].info >> 8 ? -1 : 1;
    return (int)(*x)->space - (int)(*y)->space;
}

void race_report(struct race_launch *launch)
{
    HD_VEC(struct race_found *) list = {0};
    struct hd_map_iter it = {0};

    while (hd_map_next(&launch->found, &it))
        if (!hd_vec_push(&list, (struct race_found *)it.value))
            report_report_pair(launch, it.value);
    if (list.len)
        qsort(list.at, list.len, sizeof *list.at, report_by_number);
    for (size_t i = 0; i < list.len; i++)
        report_report_pair(launch, list.at[i]);
    for (it = (struct hd_map_iter){0}; hd_map_next(&launch->found, &it);)
        hd_free(it.value);
    hd_vec_fini(&list);
    hd_map_fini(&launch->found);
}

/* ---- both */

void race_note(struct race_cta *cta, const struct race_hazard *hazard)
{
    const struct san_options *o = san_options();
    struct race_hazard h = *hazard;
    enum san_severity severity;

    assert(h.before && (!report_reads(h.before_is) || !report_reads(h.now_is)));
    if (!report_reads(h.now_is))
        h.stored_B = report_stored(h.access, h.thread % SAN_LANES, h.address, &h.stored);
    severity = report_severity_of(cta, &h);
    if ((unsigned)severity < o->racecheck_level)
        return;
    if (o->racecheck_report & SAN_RACE_REPORT_HAZARD)
        report_report_hazard(cta, &h, severity);
    if (o->racecheck_report & SAN_RACE_REPORT_ANALYSIS)
        report_count_pair(cta, &h, severity);
}
