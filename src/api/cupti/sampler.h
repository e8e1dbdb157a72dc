/* PC sampling: sample.c has what clients set and take, cubin.c what stands for modules. */
#ifndef HD_API_CUPTI_SAMPLER_H
#define HD_API_CUPTI_SAMPLER_H

#include <cupti_pcsampling.h>

#include "api/cupti/cupti.h"
#include "heddle/sample.h"

enum { CUPTI_IMAGE_B = 16, CUPTI_CUBIN_B = 88, CUPTI_INSTR_B = 16 /* of a pcOffset */ };

/* Is it a struct of this interface, up to `last`? */
#define CUPTI_HAS_SIZE(params, last)                                                               \
    ((params) && (params)->size >= CUPTI_PCSAMPLING_STRUCT_SIZE(__typeof__(*(params)), last))

/* CUPTI_CUBIN_B bytes that stay. NULL: no memory. */
const void *cupti_cubin_keep(const uint8_t image[CUPTI_IMAGE_B]);
/* The number of that, as the client wants it made. */
uint64_t cupti_cubin_crc(const uint8_t image[CUPTI_IMAGE_B]);
/* Keeps its line, if it has one. */
void cupti_line_note(const struct heddle_sample *sample);

/* Ends all sampling. */
void cupti_sample_stop(void);

#endif
