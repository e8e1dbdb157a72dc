#include <cuda_runtime.h>

enum { LANES = 32 };

struct parameters {
    int *at;
    int value;
};
