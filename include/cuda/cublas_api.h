/*
 * Heddle has no cuBLAS: this is the vendor's header, of a folder behind this one or of the wheels
 * that PyTorch came with, whose headers' folder is theirs to be found from.
 */
#if __has_include_next(<cublas_api.h>)
#include_next <cublas_api.h>
#elif __has_include(<../../nvidia/cu13/include/cublas_api.h>)
#include <../../nvidia/cu13/include/cublas_api.h>
#elif __has_include(<../../nvidia/cublas/include/cublas_api.h>)
#include <../../nvidia/cublas/include/cublas_api.h>
#else
#error "cublas_api.h: Heddle has no cuBLAS; name the folder of the vendor's header (-I)"
#endif
