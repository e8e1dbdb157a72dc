/* The implementation is part of cuda_fp4.h; programs name this file too. */
#include "cuda_fp4.h"
