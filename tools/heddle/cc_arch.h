/* heddle cc: targets. "sm_90a", "compute_120", "arch=compute_80,code=[sm_80,compute_80]". */
#ifndef HEDDLE_TOOLS_CC_ARCH_H
#define HEDDLE_TOOLS_CC_ARCH_H

#include "cc.h"

/* Adds the newest architecture that clang 19 knows and the asked one includes; once each. CLI_OK,
 * or CLI_USAGE after a message. */
int cc_arch_add(struct cc_job *job, const char *text);
/* `code` only says how far nvcc would compile. */
int cc_arch_add_gencode(struct cc_job *job, const char *text);

#endif
