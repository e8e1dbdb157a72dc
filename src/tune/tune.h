/*
 * Tuning: how code of a kernel is made is chosen for that kernel, by what was measured.
 *
 *     point.c   a point: what is chosen, for one kernel
 *     base.c    the file: kernels, what was measured of them, what was chosen
 *     search.c  strategies: which point to measure next
 *     use.c     what compilers ask (HEDDLE_TUNING), and what a process tells (HEDDLE_TUNE)
 *     listen.c  the time that launches take
 *
 * The file is text:
 *
 *     heddle-tuning 1
 *     kernel HASH DEVICE NAME
 *     applies NAME,NAME,...
 *     measured EVALUATOR COST POINT
 *     chosen POINT
 *
 * HASH (16 hexadecimal digits) is ir_profile_hash() of the kernel for its target: what was measured
 * and chosen is that of this code and no other. DEVICE names the code path: cpu-avx512, cpu-avx2,
 * cpu-generic, isa-sm120. `applies` are the parameters that do something to its code. Each
 * measurement has a line, and stays. POINT is "auto", or NAME=VALUE,... of what is not auto.
 *
 * Processes add to the file, and take turns by a lock on its folder. Any thread may call use.c; a
 * base belongs to one at a time.
 */
#ifndef HD_TUNE_TUNE_H
#define HD_TUNE_TUNE_H

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct ir_func;

/* ---- parameters and points */

enum tune_target { TUNE_CPU, TUNE_ISA, TUNE_TARGETS };

/* The choices, then the passes of both code generators, in the order of their tables. */
enum tune_parameter {
#define X(NAME, ...) TUNE_##NAME,
#include "tuning.def"
    TUNE_PASSES_CPU,
    TUNE_BEFORE_CPU_ = TUNE_PASSES_CPU - 1,
#define X(NAME, ...) TUNE_CPU_##NAME,
#include "gen_passes.def"
    TUNE_PASSES_ISA,
    TUNE_BEFORE_ISA_ = TUNE_PASSES_ISA - 1,
#define X(NAME, ...) TUNE_ISA_##NAME,
#include "codegen_passes.def"
    TUNE_PARAMETERS
};

enum { TUNE_VALUES_MOST = 16 };

/* The numbers of values: 0 is the first, "auto" or "on". */
struct tune_point {
    uint8_t choice[TUNE_PARAMETERS];
};
/* A bit for each parameter. */
struct tune_set {
    uint64_t bits[(TUNE_PARAMETERS + 63) / 64];
};

const char *tune_name(enum tune_parameter parameter);
/* The target's parameter of this name; TUNE_PARAMETERS: it has none. */
enum tune_parameter tune_parameter_find(struct hd_str name, enum tune_target target);
const char *tune_doc(enum tune_parameter parameter); /* "" of passes: their tables have it */
enum tune_target tune_target_of(enum tune_parameter parameter);
/* How many values there are, auto or on among them. */
unsigned tune_values(enum tune_parameter parameter);
/* A value as text: "auto", "64", "off". */
void tune_value_text(enum tune_parameter parameter, unsigned choice, char out_text[16]);
/* A choice's number; 0: auto. Not of passes. */
uint32_t tune_number(const struct tune_point *point, enum tune_parameter parameter);
/* Bits, in the order of the target's table, of the passes that are left out. */
uint32_t tune_skipped(const struct tune_point *point, enum tune_target target);

bool tune_is_auto(const struct tune_point *point);
bool tune_same(const struct tune_point *a, const struct tune_point *b);
/* HD_BAD_ARG with the reason. */
enum hd_status tune_point_parse(struct hd_str text, enum tune_target target,
                                struct tune_point *out_point) HD_MUST_CHECK;
void tune_point_print(const struct tune_point *point, struct hd_buf *out);
/* What identifies it, for caches: its text, in an empty buffer, or NULL if it chooses nothing. */
const char *tune_point_text(const struct tune_point *point, struct hd_buf *buf);

static inline void tune_set_add(struct tune_set *set, unsigned parameter)
{
    set->bits[parameter / 64] |= UINT64_C(1) << parameter % 64;
}
static inline bool tune_set_has(const struct tune_set *set, unsigned parameter)
{
    return set->bits[parameter / 64] >> parameter % 64 & 1;
}
/* The passes of a target whose bits are set, added. */
void tune_set_add_passes(struct tune_set *set, enum tune_target target, uint32_t passes);

/* ---- evaluators */

enum tune_evaluator {
#define EVALUATOR(NAME, ...) TUNE_BY_##NAME,
#include "tuning.def"
    TUNE_EVALUATORS
};
enum tune_cost_kind { TUNE_STATIC, TUNE_COUNTED, TUNE_REPEATED };

struct tune_evaluator_info {
    const char *name, *unit, *doc;
    enum tune_target target;
    enum tune_cost_kind kind;
};
const struct tune_evaluator_info *tune_evaluator(enum tune_evaluator evaluator);
/* HD_NOT_FOUND, with those that there are. */
enum hd_status tune_evaluator_find(const char *name, enum tune_evaluator *out_evaluator)
    HD_MUST_CHECK;

/* ---- the file */

struct tune_measure {
    enum tune_evaluator evaluator;
    uint64_t cost;
    struct tune_point point;
};

struct tune_kernel {
    char *name;
    char device[24];
    uint64_t hash;
    struct tune_set applies;
    HD_VEC(struct tune_measure) measures; /* in the order in which they were made */
    bool is_chosen;
    struct tune_point chosen;
};

struct tune_base {
    HD_VEC(struct tune_kernel) kernels;
    struct hd_map by_key; /* of device, name and hash: index + 1 */
};

void tune_base_init(struct tune_base *base);
void tune_base_fini(struct tune_base *base);
/* The target whose code a device runs, by its name; false: it is no device. */
bool tune_device_target(struct hd_str device, enum tune_target *out_target);
/* NULL: it is not there. */
struct tune_kernel *tune_base_find(const struct tune_base *base, const char *device,
                                   const char *name, uint64_t hash);
/* The kernel; added where it is not there. NULL: no memory. Kernels move. */
struct tune_kernel *tune_base_add(struct tune_base *base, struct hd_str device, struct hd_str name,
                                  uint64_t hash);
/* Adds what `from` has: measurements behind those of `into`; what `from` chose stands. */
enum hd_status tune_base_merge(struct tune_base *into, const struct tune_base *from) HD_MUST_CHECK;
/* `name` is the file's in messages. HD_BAD_ARG with the line and the reason; HD_NO_MEMORY. */
enum hd_status tune_base_parse(struct hd_str text, const char *name, struct tune_base *out_base)
    HD_MUST_CHECK;
/* The same, HD_NOT_FOUND and HD_IO. On success tune_base_fini() frees it. */
enum hd_status tune_base_read(const char *path, struct tune_base *out_base) HD_MUST_CHECK;
void tune_base_print(const struct tune_base *base, struct hd_buf *out);
/* Adds the base to the file, which need not be there: all of it or, after an error, nothing. */
enum hd_status tune_base_write(const struct tune_base *base, const char *path) HD_MUST_CHECK;

/* ---- strategies */

struct tune_goal {
    enum tune_evaluator evaluator;
    unsigned runs;   /* measurements that a point needs; of points that are clearly worse, one */
    unsigned points; /* that are measured at most */
    uint64_t seed;   /* of what is drawn */
    double margin;   /* part of the cost by which a point must be better to be taken */
};

/*
 * The next point to be measured, given what the kernel's measurements say. False: the search is
 * over, and *out_point is the best. A strategy keeps nothing between calls: it looks again at what
 * was measured, from its first point on, so that it can be followed on what is stored as well.
 * *out_points: how many points it has looked at.
 */
typedef bool tune_next_fn(const struct tune_kernel *kernel, const struct tune_goal *goal,
                          struct tune_point *out_point, unsigned *out_points);
struct tune_strategy {
    const char *name, *doc;
    tune_next_fn *next;
};
/* The first is the usual one. */
const struct tune_strategy *tune_strategies(size_t *out_count);
/* HD_NOT_FOUND, with those that there are. */
enum hd_status tune_strategy_find(const char *name, const struct tune_strategy **out_strategy)
    HD_MUST_CHECK;
/* The median of what was measured of a point; false: nothing was. */
bool tune_median(const struct tune_kernel *kernel, enum tune_evaluator evaluator,
                 const struct tune_point *point, uint64_t *out_cost, unsigned *out_runs);

/* ---- in the process that compiles and runs (use.c) */

/*
 * What HEDDLE_TUNING chose for the code of a kernel on a device; auto where it says nothing.
 * HD_BAD_ARG: the file cannot be used; HD_NO_MEMORY.
 */
enum hd_status tune_find(const struct ir_func *kernel, const char *device,
                         struct tune_point *out_point) HD_MUST_CHECK;
/* HEDDLE_TUNING is read, so that what is wrong with it is told before anything runs. */
enum hd_status tune_start(void) HD_MUST_CHECK;
/* Is HEDDLE_TUNE set? */
bool tune_is_recorded(void);
/* Code of a kernel was made with that point; `applies`: parameters that can change it. */
void tune_compiled(const struct ir_func *kernel, const char *device, const struct tune_point *point,
                   const struct tune_set *applies);
/* A cost of a kernel that was compiled here; costs that are not static add up. */
void tune_cost(const char *kernel, enum tune_evaluator evaluator, uint64_t cost);

/* listen.c, in libcuda: adds what launches take. HD_NO_MEMORY. */
enum hd_status tune_listen(void) HD_MUST_CHECK;

#endif
