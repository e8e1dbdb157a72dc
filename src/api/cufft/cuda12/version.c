#include "api/cufft/version.h"

/* Of CUDA 12.9. */
const int fft_version[3] = {11, 4, 1};
