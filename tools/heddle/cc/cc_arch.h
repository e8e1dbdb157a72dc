/* heddle cc: targets. "sm_90a", "compute_120", "arch=compute_80,code=[sm_80,compute_80]". */
#ifndef HEDDLE_TOOLS_CC_ARCH_H
#define HEDDLE_TOOLS_CC_ARCH_H

#include "cc/cc.h"

/* Adds an architecture, once each. CLI_OK, or CLI_USAGE after a message. */
int cc_arch_add(struct cc_job *job, const char *text);
/* `code` only says how far nvcc would compile. */
int cc_arch_add_gencode(struct cc_job *job, const char *text);
/* Prints the names that -arch takes, as compute_NN, sm_NN or both: build systems ask. */
void cc_arch_list(const struct cc_job *job);

/* The words of CUDA mode without an SDK; of a pass for the host, of one for the device. */
void cc_add_cuda_words(struct cc_list *cmd);
void cc_add_host_words(struct cc_list *cmd, struct cc_arch arch);
void cc_add_device_words(struct cc_list *cmd, struct cc_arch arch);
/* A device pass takes two runs, see clang/clang.h: the end of the first one's words, and the second
 * one's, made of the first's without that end. */
void cc_add_front_words(struct cc_list *front);
void cc_add_back_words(const struct cc_list *front, struct cc_list *back);
/* Between the runs, in place. 0, or 1 after a message. */
int cc_mend_ir(const struct cc_job *job, const char *path);
/* The PTX that clang wrote, into another file ("-": stdout), for what was asked for, with clusters
 * from the IR between the runs. 0, or 1 after a message. */
int cc_finish_ptx(const struct cc_job *job, const char *from, const char *ir, const char *to,
                  struct cc_arch arch);

#endif
