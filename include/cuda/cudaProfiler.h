/* cuProfilerStart() and cuProfilerStop(); declared with the rest of the driver API. */
#include "cuda.h"
