/* The implementation is part of cuda_fp16.h; programs name this file too. */
#include "cuda_fp16.h"
