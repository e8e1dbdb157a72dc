/* The host as the CPU device sees it, for `heddle info`. */
#ifndef HEDDLE_TOOLS_INFO_H
#define HEDDLE_TOOLS_INFO_H

#include "base/compiler.h"

struct info_host {
    char model[128];    /* "AMD EPYC 9B45" */
    char features[512]; /* those that code generation cares for: "avx2 fma avx512f ..." */
    const char *path;   /* avx512, avx2 or generic */
    char level[512];    /* with the features beyond it that are used, or why it cannot be had */
    bool path_forced;   /* by HEDDLE_CPU */
    unsigned threads;   /* CPUs that this process may use, or HEDDLE_THREADS */
    const char *llvm;   /* the version that Heddle was built with */
};

void info_host_query(struct info_host *out_host);

#endif
