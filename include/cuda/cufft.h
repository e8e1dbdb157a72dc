/*
 * Heddle has no cuFFT: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<cufft.h>)
#include_next <cufft.h>
#elif __has_include(<../../nvidia/cu13/include/cufft.h>)
#include <../../nvidia/cu13/include/cufft.h>
#elif __has_include(<../../nvidia/cufft/include/cufft.h>)
#include <../../nvidia/cufft/include/cufft.h>
#else
#error "cufft.h: Heddle has no cuFFT; name the folder of the vendor's header (-I)"
#endif
