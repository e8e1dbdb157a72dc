/* Samples of devices, for who wants them (heddle/sample.h). */
#ifndef HD_CORE_DEBUG_SAMPLED_H
#define HD_CORE_DEBUG_SAMPLED_H

struct hal_kernel;
struct hal_sample;
/* hal_client_ops.sampled */
void core_sampled(const struct hal_kernel *kernel, const struct hal_sample *sample);

#endif
