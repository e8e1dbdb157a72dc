/* heddle cc: targets. "sm_90a", "compute_120", "arch=compute_80,code=[sm_80,compute_80]". */
#ifndef HEDDLE_TOOLS_CC_ARCH_H
#define HEDDLE_TOOLS_CC_ARCH_H

#include "cc.h"

/* Adds an architecture, once each. CLI_OK, or CLI_USAGE after a message. */
int cc_arch_add(struct cc_job *job, const char *text);
/* `code` only says how far nvcc would compile. */
int cc_arch_add_gencode(struct cc_job *job, const char *text);

/* The words of CUDA mode without an SDK; of a pass for the host, of one for the device. */
void cc_add_cuda_words(struct cc_list *cmd);
void cc_add_host_words(struct cc_list *cmd, struct cc_arch arch);
void cc_add_device_words(struct cc_list *cmd, struct cc_arch arch);
/* Do the files of a rule for make, which a device pass wrote, name clusters? Then that pass with
 * these words writes LLVM text. */
bool cc_names_clusters(const char *rule);
void cc_add_cluster_words(struct cc_list *cmd);
/* The PTX that clang wrote, into another file ("-": stdout), for what was asked for, with clusters
 * from its LLVM text (or NULL). 0, or 1 after a message. */
int cc_finish_ptx(const struct cc_job *job, const char *from, const char *llvm, const char *to,
                  struct cc_arch arch);

#endif
