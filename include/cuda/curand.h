/*
 * Heddle has no cuRAND: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<curand.h>)
#include_next <curand.h>
#elif __has_include(<../../nvidia/cu13/include/curand.h>)
#include <../../nvidia/cu13/include/curand.h>
#elif __has_include(<../../nvidia/curand/include/curand.h>)
#include <../../nvidia/curand/include/curand.h>
#else
#error "curand.h: Heddle has no cuRAND; name the folder of the vendor's header (-I)"
#endif
