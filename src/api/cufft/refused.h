/* For functions whose declarations cufftXt.h has otherwise. */
#ifndef HD_API_CUFFT_REFUSED_H
#define HD_API_CUFFT_REFUSED_H

#include "api/lib_base/lib_base.h"

enum { REFUSED = 0x10 }; /* CUFFT_NOT_SUPPORTED */

extern const struct lib_info fft_info;

#endif
