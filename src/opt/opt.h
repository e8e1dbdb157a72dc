/*
 * The pass runner and the passes. A pass is a file, a verb and a bool: `bool ir_opt_x(struct
 * ir_func *)` (or module) returns whether it changed anything. ir_lower_* must run, ir_opt_* may:
 * the user can leave them out with HEDDLE_SKIP_PASS=ir_opt_cse,... . The pipeline is the table in
 * pipeline.c. The runner skips, prints (HEDDLE_DEBUG=opt), validates (HEDDLE_DEBUG=validate, always
 * in tests; the error names the pass that broke the IR) and times every pass.
 */
#ifndef HD_OPT_OPT_H
#define HD_OPT_OPT_H

#include "ir/ir.h"

struct opt_options {
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
