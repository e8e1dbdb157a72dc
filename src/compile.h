/*
 * The compiler's front door: PTX text in, one linked, optimised IR module out. Device backends turn
 * that module into their own code (hal.h: module_load). Stateless; any thread.
 */
#ifndef HD_COMPILE_H
#define HD_COMPILE_H

#include "ir/ir.h"

struct compile_unit {
    const char *name; /* for messages: source or kernel file */
    const char *ptx;
    size_t len;
};

struct compile_options {
    bool validate; /* validate the IR after every pass */
    bool no_opt;   /* only the required passes: the reference interpreter's view of the program */
};

/*
 * HD_BAD_PTX, HD_NOT_SUPPORTED, HD_UNRESOLVED, HD_NO_MEMORY; the message has the place.
 * The caller owns the module (ir_module_destroy). Windows are laid out.
 */
enum hd_status compile_ptx(const struct compile_unit *units, size_t count,
                           const struct compile_options *options, struct ir_module **out_module)
    HD_MUST_CHECK;

#endif
