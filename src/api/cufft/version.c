#include "api/cufft/version.h"

#include <cufft.h>

const int fft_version[3] = {CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH};
