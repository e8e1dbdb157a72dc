/*
 * The pass runner and the passes. A pass is a file, a verb and a bool: `bool ir_opt_x(struct
 * ir_func *)` (or module) returns whether it changed anything. ir_lower_* must run, ir_opt_* may:
 * the user can leave them out with HEDDLE_SKIP_PASS=ir_opt_cse,... . The pipeline is the table in
 * pipeline.c, followed by the one of the target: passes that suit one kind of device, which others
 * must not be given (target_cpu.c: scheduling, versions of loops). The runner skips, prints
 * (HEDDLE_DEBUG=opt), validates (HEDDLE_DEBUG=validate, always in tests; the error names the pass
 * that broke the IR) and times every pass.
 */
#ifndef HD_OPT_OPT_H
#define HD_OPT_OPT_H

#include "ir/ir.h"

/*
 * What code is made for: the common passes, and then the target's own. Name, text (what devices
 * say: hal_device_info.target), doc.
 */
#define OPT_TARGET_LIST(X)                                                                         \
    X(COMMON, "common", "what every device is given: no pass of its own")                          \
    X(CPU, "cpu", "code for a core of the host")
enum opt_target {
#define X(name, text, doc) OPT_TARGET_##name,
    OPT_TARGET_LIST(X)
#undef X
        OPT_TARGET_COUNT
};
/* The target of this name. HD_NOT_FOUND. */
enum hd_status opt_target_find(const char *name, enum opt_target *out_target) HD_MUST_CHECK;
const char *opt_target_name(enum opt_target target);

struct opt_options {
    enum opt_target target;
    bool validate;      /* validate after every pass */
    bool required_only; /* leave out every ir_opt_* */
    const char *only;   /* tests: run this one pass, once; NULL = the pipeline */
};

/* Runs the pipeline to a fixed point (bounded). HD_BAD_IR when a pass broke the module: a bug in
 * us. */
enum hd_status opt_run(struct ir_module *module, const struct opt_options *options) HD_MUST_CHECK;

/* Names and docs of the passes, for tools and docs. */
struct opt_pass_info {
    const char *name;
    const char *doc;
    bool required;
};
size_t opt_passes(const struct opt_pass_info **out_passes);

#endif
