/* Between the files of modules; not for others. */
#ifndef HD_CORE_MODULE_MODULE_PARTS_H
#define HD_CORE_MODULE_MODULE_PARTS_H

#include "base/compiler.h"

struct core_module;

/* ---- module_vars.c */

/* Memory for the variables, and their values. What a failure leaves goes with the module. */
enum hd_status core_module_vars_create(struct core_module *module) HD_MUST_CHECK;
/* What it shares with other modules of its library is theirs, or nobody's. Also called again. */
void core_module_vars_leave(struct core_module *module);

/* ---- module.c */

/* Its library, if it has one, finds it no more. Also called again. */
void core_module_unlist(struct core_module *module);

#endif
