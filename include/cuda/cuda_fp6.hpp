/* The implementation is part of cuda_fp6.h; programs name this file too. */
#include "cuda_fp6.h"
