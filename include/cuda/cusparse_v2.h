/* The name that programs of CUDA 4 and 5 include. */
#include "cusparse.h"
