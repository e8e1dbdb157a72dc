/* The implementation is part of cuda_bf16.h; programs name this file too. */
#include "cuda_bf16.h"
