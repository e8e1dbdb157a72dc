/* Functions of cuFFT that there are not: each fails, and says its name once. */
#include "api/cufft/refused.h"

#define X(name) LIB_REFUSED(int, name, &fft_info, REFUSED)
#include "api/cufft_refused.def"
