/* The implementation is part of cuda_fp8.h; programs name this file too. */
#include "cuda_fp8.h"
