/*
 * Heddle has no cuSOLVER: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<cusolverDn.h>)
#include_next <cusolverDn.h>
#elif __has_include(<../../nvidia/cu13/include/cusolverDn.h>)
#include <../../nvidia/cu13/include/cusolverDn.h>
#elif __has_include(<../../nvidia/cusolver/include/cusolverDn.h>)
#include <../../nvidia/cusolver/include/cusolverDn.h>
#else
#error "cusolverDn.h: Heddle has no cuSOLVER; name the folder of the vendor's header (-I)"
#endif
